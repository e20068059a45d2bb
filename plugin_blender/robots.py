# SPDX-License-Identifier: GPL-3.0-or-later
"""Robots: import a DH table, a URDF or a bundled robot as an armature; move its joints; give the DH
table or the URDF of bones back.

What a bone's axes mean is in convert_robot.py. Of the joint a bone keeps custom properties:
  joint, joint_type (hinge, slide, ball, fixed, free), joint_axis (Y, Z), joint_sign (1, -1),
  joint_limits (rad, or Blender units), dh (its row, as JSON)
A hinge is one angle of rotation_euler, a slide one number of location: sign times q. All others are
locked, for IK too. Limits are IK limits where they fit in half a turn to either side; a Limit
Rotation constraint could not hold a wrist that turns further than that."""

import json
import math
import os

import bpy
from bpy.props import (BoolProperty, EnumProperty, FloatProperty, StringProperty)
from mathutils import Matrix, Quaternion, Vector

from . import bl_read, convert, convert_robot, ops, pipeline

BUNDLED = os.path.join(os.path.dirname(__file__), "robots")
CONVENTIONS = (
    ("standard", "Standard", "A = Rz(theta) Tz(d) Tx(a) Rx(alpha): frame i ends link i"),
    ("modified", "Modified", "A = Rx(alpha) Tx(a) Rz(theta) Tz(d), as Craig has it: frame i "
     "begins link i"),
)
_items = []                     # of the list of robots; Blender wants them kept


def bundled():
    """{name: path} of the robots that come with the add-on, or lie in the sources beside it."""
    folder = BUNDLED
    if not os.path.isdir(folder):
        folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "samples", "robots")
    if not os.path.isdir(folder):
        return {}
    return {name[:-5]: os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".json")}


def _presets(_self, _context):
    if not _items:
        _items.append(("NONE", "From a File", "Choose a DH table or a URDF"))
        for name, path in bundled().items():
            with open(path, encoding="utf-8") as file:
                label = json.load(file).get("name", name)
            _items.append((name, label, f"The {label} that comes with Skel"))
    return _items


# ---- joints of pose bones ----

def _channel(bone):
    """(property, index, sign) that is the joint's coordinate; None where it has none."""
    kind = bone.get("joint_type", "")
    if kind not in ("hinge", "slide"):
        return None
    index = "XYZ".index(bone.get("joint_axis", "Z"))
    return ("rotation_euler" if kind == "hinge" else "location", index,
            float(bone.get("joint_sign", 1)))


def joint_value(bone):
    found = _channel(bone)
    return found[2] * getattr(bone, found[0])[found[1]] if found else 0.0


def set_joint(bone, value):
    """Within its limits."""
    found, limits = _channel(bone), bone.get("joint_limits")
    if found is None:
        return
    if limits is not None:
        value = min(max(value, limits[0]), limits[1])
    getattr(bone, found[0])[found[1]] = found[2] * value


def _slider(name, subtype, what, **more):
    return FloatProperty(name=name, subtype=subtype, get=joint_value, set=set_joint, **more,
                         description=f"Of the robot's {what}; it stops at the limits")


def joint_bones(ob):
    """Bones that are hinges or slides, in the order of q."""
    found = {bone["joint"]: bone for bone in ob.pose.bones if _channel(bone)}
    order = robot_data(ob).get("joints") or list(found)
    return [found[name] for name in order if name in found]


def robot_data(ob):
    try:
        return json.loads(ob.get("skel_robot", "{}"))
    except ValueError:
        return {}


# ---- building ----

def _add_bones(context, ob, robot, unit):
    """Edit bones; there is no other way to make them than in edit mode."""
    context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        for bone in robot.bones:
            edit = ob.data.edit_bones.new(bone.name)
            edit.head, edit.tail = Vector(bone.head) / unit, Vector(bone.tail) / unit
            edit.align_roll(Vector(bone.z))
            if bone.parent:
                edit.parent = ob.data.edit_bones[bone.parent]
            edit.use_deform = not bone.frame
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")


def _lock(pose_bone, bone, unit):
    """Locks, limits and custom properties of one bone."""
    pose_bone.rotation_mode = "XYZ"
    free = bone.kind in ("ball", "free")
    pose_bone.lock_scale = (True,) * 3
    pose_bone.lock_location = (bone.kind != "free",) * 3
    pose_bone.lock_rotation = (not free,) * 3
    for axis in "xyz":
        setattr(pose_bone, f"lock_ik_{axis}", not free)
    index = "XYZ".index(bone.axis)
    if bone.kind == "hinge":
        pose_bone.lock_rotation[index] = False
        setattr(pose_bone, f"lock_ik_{bone.axis.lower()}", False)
        if bone.limits and max(map(abs, bone.limits)) <= math.pi:
            low, high = sorted(bone.sign * v for v in bone.limits)
            setattr(pose_bone, f"use_ik_limit_{bone.axis.lower()}", True)
            setattr(pose_bone, f"ik_min_{bone.axis.lower()}", min(low, 0.0))
            setattr(pose_bone, f"ik_max_{bone.axis.lower()}", max(high, 0.0))
    elif bone.kind == "slide":
        pose_bone.lock_location[index] = False
    if bone.frame:
        pose_bone["joint_type"], pose_bone["robot_frame"] = "fixed", 1
        return
    pose_bone["joint"], pose_bone["joint_type"] = bone.joint, bone.kind
    pose_bone["joint_axis"], pose_bone["joint_sign"] = bone.axis, int(bone.sign)
    if bone.limits:
        scale = unit if bone.kind == "slide" else 1.0
        pose_bone["joint_limits"] = [float(v) / scale for v in bone.limits]
    if bone.row:
        pose_bone["dh"] = bone.row


def _attach(context, ob, name, bone, matrix, shape, color):
    """A mesh that goes with a bone. matrix: where it is in the armature at rest."""
    points, faces = shape
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    mesh.update()
    child = bpy.data.objects.new(name, mesh)
    context.collection.objects.link(child)
    child.color = color
    child.parent = ob
    if bone:
        rest = ob.data.bones[bone]
        child.parent_type, child.parent_bone = "BONE", bone
        end = rest.matrix_local @ Matrix.Translation((0, rest.length, 0))
        child.matrix_parent_inverse = end.inverted()
    child.matrix_basis = matrix
    return child


def _pose_matrix(pose, unit):
    return Matrix.Translation(Vector(pose[:3]) / unit) @ \
        Quaternion(pose[3:]).to_matrix().to_4x4()


def _add_visuals(context, ob, robot, text, folder, unit):
    """What the URDF shows; (attached, left out)."""
    made, left = 0, 0
    for visual in convert_robot.visuals_of(text):
        bone = robot.bone_of.get(visual.link, visual.link)
        pose = convert_robot.compose(robot.links.get(visual.link, [0, 0, 0, 1, 0, 0, 0]),
                                     visual.pose)
        shape, scale = None, Matrix.Diagonal((1 / unit,) * 3 + (1,))
        if visual.kind != "mesh":
            shape = convert_robot.shape_of(visual)
        else:
            path = convert_robot.find_mesh(visual.filename, folder)
            shape = convert_robot.read_mesh(path) if path else None
            scale = scale @ Matrix.Diagonal((*visual.size, 1))
            holder = ob.pose.bones[bone] if bone else ob
            holder["meshes"] = "\n".join(filter(None, [holder.get("meshes", ""),
                                                       visual.filename]))
        if shape is None:
            left += 1
            continue
        _attach(context, ob, f"{visual.link} visual", bone, _pose_matrix(pose, unit) @ scale,
                shape, visual.color or (0.7, 0.72, 0.75, 1))
        made += 1
    return made, left


def _add_shapes(context, ob, robot, unit):
    """A bar along every link and a drum about every joint, so that the robot shows in renders."""
    wide = 0.028 * robot.reach / unit
    for bone in robot.bones:
        rest = ob.data.bones[bone.name]
        if bone.frame:
            continue
        place, turn = rest.matrix_local, Matrix.Rotation(-math.pi / 2, 4, "X")
        if not bone.stub:
            middle = Matrix.Translation((0, rest.length / 2, 0))
            _attach(context, ob, f"{bone.name} bar", bone.name, place @ middle @ turn,
                    convert_robot.cylinder(wide, rest.length), (0.93, 0.55, 0.16, 1))
        if bone.kind == "hinge":
            axis = Matrix.Identity(4) if bone.axis == "Z" else turn
            _attach(context, ob, f"{bone.name} joint", bone.name, place @ axis,
                    convert_robot.cylinder(1.5 * wide, 3.4 * wide), (0.28, 0.32, 0.4, 1))
        elif bone.kind == "slide":
            _add_rod(context, ob, bone, place, wide, unit)


def _add_rod(context, ob, bone, place, wide, unit):
    """Of a slide: a rod that is as long as it may be pulled out, and the sleeve it moves in."""
    way = max(map(abs, bone.limits or (0.0,))) / unit
    toward = Matrix.Identity(4) if bone.axis == "Z" else Matrix.Rotation(-math.pi / 2, 4, "X")
    if way > 0:
        _attach(context, ob, f"{bone.name} rod", bone.name,
                place @ toward @ Matrix.Translation((0, 0, -bone.sign * way / 2)),
                convert_robot.cylinder(0.6 * wide, way), (0.93, 0.55, 0.16, 1))
    if bone.parent:
        _attach(context, ob, f"{bone.name} sleeve", bone.parent, place @ toward,
                convert_robot.box((2.6 * wide,) * 3), (0.28, 0.32, 0.4, 1))


def build(context, robot, text, folder, shapes, unit):
    """(armature object, words)."""
    data = bpy.data.armatures.new(robot.name)
    ob = bpy.data.objects.new(robot.name, data)
    context.collection.objects.link(ob)
    _add_bones(context, ob, robot, unit)
    for bone in robot.bones:
        _lock(ob.pose.bones[bone.name], bone, unit)
    source = bpy.data.texts.new(f"{robot.name} (source)")
    source.from_string(text)
    ob["skel_source"] = source.name
    ob["skel_robot"] = json.dumps({"joints": robot.joints, "poses": robot.poses,
                                   "mimic": robot.mimic, "notes": robot.notes,
                                   "source": robot.source, "reach": robot.reach})
    words = f"{robot.name}: {len(joint_bones(ob))} joints"
    if shapes and text.lstrip().startswith("<"):
        made, left = _add_visuals(context, ob, robot, text, folder, unit)
        words += f", {made} shapes" + (f", {left} meshes not found or not readable" if left else "")
    elif shapes:
        _add_shapes(context, ob, robot, unit)
    for other in context.selected_objects:
        other.select_set(False)
    ob.select_set(True)
    context.view_layer.objects.active = ob
    return ob, words


class _Short:
    """Operators that are done at once."""

    def execute(self, context):
        try:
            words = self.run(context)
        except (*ops.FAILURES, UnicodeDecodeError, SyntaxError) as error:
            self.report({"ERROR"}, str(error) or type(error).__name__)
            return {"CANCELLED"}
        self.report({"INFO"}, words)
        return {"FINISHED"}


class SKEL_OT_import_robot(_Short, bpy.types.Operator):
    """Import a robot as an armature: one that comes with Skel, a DH table (JSON or CSV) or a
    URDF"""
    bl_idname = "skel.import_robot"
    bl_label = "Import Robot"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(name="Robot", items=_presets,
                         description="A robot that comes with Skel, or your own file")
    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"SKIP_SAVE"},
                             description="DH table (skel-dh/1 or CSV), URDF or skel-scene/1")
    filter_glob: StringProperty(default="*.json;*.csv;*.urdf;*.xml", options={"HIDDEN"})
    shapes: BoolProperty(name="Shapes", default=True, description="Attach the meshes of a URDF, or "
                         "simple bars and drums where there are none")

    @classmethod
    def poll(cls, context):
        return context.mode == "OBJECT" or context.mode == "POSE"

    def invoke(self, context, _event):
        if self.preset == "NONE" and not self.filepath:
            context.window_manager.fileselect_add(self)
            return {"RUNNING_MODAL"}
        return self.execute(context)

    def run(self, context):
        path = bpy.path.abspath(self.filepath) if self.filepath else bundled().get(self.preset)
        if not path:
            raise convert.Refused("Choose a robot or a file")
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
        name = os.path.splitext(os.path.basename(path))[0]
        robot = convert_robot.robot_of(text, name)
        unit = context.scene.unit_settings.scale_length
        if context.mode == "POSE":
            bpy.ops.object.mode_set(mode="OBJECT")
        return build(context, robot, text, os.path.dirname(path), self.shapes, unit)[1]


class _OnRobot:
    @classmethod
    def poll(cls, context):
        ob = ops.armature(context)
        if ob is None or not joint_bones(ob):
            cls.poll_message_set("Select a robot that Skel has imported")
            return False
        return context.mode != "EDIT_ARMATURE"


class SKEL_OT_set_joints(_OnRobot, _Short, bpy.types.Operator):
    """Set all joints of the robot: to a named pose of its table, or to numbers in the order of its
    joints. With auto-keying on, the joints are keyed"""
    bl_idname = "skel.set_joints"
    bl_label = "Set Joints"
    bl_options = {"REGISTER", "UNDO"}

    values: StringProperty(name="Joints", options={"SKIP_SAVE"}, description="A number per joint: "
                           "radians and metres, as 0, 0.5, -1.2. Empty: all zero")
    pose: StringProperty(name="Pose", options={"SKIP_SAVE"},
                         description="Name of a pose that the robot came with")
    degrees: BoolProperty(name="Degrees", default=False, description="Angles are in degrees")
    keep_limits: BoolProperty(name="Keep Limits", default=True,
                              description="Joints stop at their limits")

    def run(self, context):
        ob = ops.armature(context)
        data, bones = robot_data(ob), joint_bones(ob)
        unit = context.scene.unit_settings.scale_length
        if self.pose:
            values = data.get("poses", {}).get(self.pose)
            if values is None:
                known = ", ".join(data.get("poses", {})) or "none"
                raise convert.Refused(f"There is no pose '{self.pose}'; there are: {known}")
        else:
            angles = {k for k, bone in enumerate(bones) if bone["joint_type"] == "hinge"}
            values = convert_robot.parse_joints(self.values or "0 " * len(bones), len(bones),
                                                angles if self.degrees else ())
        q = {bone["joint"]: value for bone, value in zip(bones, values)}
        if self.pose or not self.values:
            q = convert_robot.apply_mimic(data.get("mimic", []), data.get("joints", []), q)
        scene = context.scene
        key = scene.frame_current if scene.tool_settings.use_keyframe_insert_auto else None
        for bone in bones:
            value = q[bone["joint"]] / (unit if bone["joint_type"] == "slide" else 1.0)
            self.put(bone, value, key)
        ob.update_tag()
        context.view_layer.update()
        return f"{len(bones)} joints set"

    def put(self, bone, value, key):
        name, index, sign = _channel(bone)
        if self.keep_limits:
            set_joint(bone, value)
        else:
            getattr(bone, name)[index] = sign * value
        if key is not None:
            bone.keyframe_insert(name, index=index, frame=key, group=bone.name)


# ---- the way back ----

def read_chain(ob, unit):
    """Bones at rest as ChainBones, in the armature's axes, scaled as the object is."""
    scale = ob.matrix_world.median_scale * unit
    out = []
    for pose_bone in bl_read.ordered(ob):
        bone = pose_bone.bone
        flat = bl_read.flat(bone.matrix_local)
        each = convert_robot.ChainBone(
            pose_bone.name, bone.parent.name if bone.parent else "",
            [v * scale for v in flat[12:15]], convert.q_of(flat), bone.length * scale)
        if "joint_type" in pose_bone:
            each.kind, each.frame = pose_bone["joint_type"], bool(pose_bone.get("robot_frame", 0))
            each.axis = pose_bone.get("joint_axis", "Z")
            each.sign = float(pose_bone.get("joint_sign", 1))
            each.joint = pose_bone.get("joint", "")
            limits = pose_bone.get("joint_limits")
            if limits is not None:
                each.limits = [v * (scale if each.kind == "slide" else 1.0) for v in limits]
        else:
            _by_locks(pose_bone, each)
        out.append(each)
    return out


def _by_locks(pose_bone, each):
    """The joint of a bone that is no robot's: by its IK limits and locks."""
    ranges, locked = bl_read._limits(pose_bone)
    free = [axis for axis in "XYZ" if axis not in locked and
            not (axis in ranges and ranges[axis][1] - ranges[axis][0] < 1e-4)]
    if not free:
        each.kind = "fixed"
    elif len(free) == 1:
        each.kind, each.axis, each.limits = "hinge", free[0], ranges.get(free[0])
    elif len(free) == 2:
        raise convert.Refused(f"'{each.name}' turns about two axes. Lock one of them (Bone "
                              "properties > Inverse Kinematics), or none")


def _tip(ob, context, named):
    if named:
        if named not in ob.pose.bones:
            raise convert.Refused(f"There is no bone '{named}'")
        return named
    active = context.active_pose_bone
    if active is not None and active.id_data == ob:
        return active.name
    frames = [bone.name for bone in ob.pose.bones if bone.get("robot_frame", 0)]
    if "tool" in frames or len(frames) == 1:
        return "tool" if "tool" in frames else frames[0]
    ends = [bone.name for bone in ob.pose.bones if not bone.children]
    if len(ends) != 1:
        raise convert.Refused("Make the last bone of the chain active: this armature has several "
                              "ends")
    return ends[0]


class _OnArmature:
    @classmethod
    def poll(cls, context):
        return ops.armature(context) is not None and context.mode != "EDIT_ARMATURE"


class SKEL_OT_extract_dh(_OnArmature, _Short, bpy.types.Operator):
    """Write the Denavit-Hartenberg table of the chain that ends at the active bone (of a robot: at
    its tool), to a file or to a text in the text editor"""
    bl_idname = "skel.extract_dh"
    bl_label = "Extract DH Table"
    bl_options = {"REGISTER", "UNDO"}

    convention: EnumProperty(name="Convention", items=CONVENTIONS, default="standard",
                             description="Which of the two conventions")
    tip: StringProperty(name="Tip", options={"SKIP_SAVE"},
                        description="Last bone of the chain. Empty: the active one")
    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"SKIP_SAVE"},
                             description="File to write: .json or .csv. Empty: a text in the text "
                             "editor")
    snap: FloatProperty(name="Snap", default=convert_robot.SNAP, min=0.0, max=0.01, precision=7,
                        description="Radians, and parts of the reach: axes that are nearer to "
                        "parallel or to meeting than this are taken to be it")

    def run(self, context):
        ob = ops.armature(context)
        bl_read.check_object(ob)
        path = bpy.path.abspath(self.filepath) if self.filepath else ""
        bones = read_chain(ob, context.scene.unit_settings.scale_length)
        tip = _tip(ob, context, self.tip)
        text = convert_robot.table_of(ob.name, bones, tip, self.convention,
                                      path.lower().endswith(".csv"), self.snap)
        if path:
            pipeline.save(path, text)
            return f"Wrote {path}"
        block = bpy.data.texts.new(f"{ob.name} DH {self.convention}.json")
        block.from_string(text)
        return f"'{block.name}' in the text editor"


class SKEL_OT_export_urdf(_OnArmature, _Short, bpy.types.Operator):
    """Save the armature as URDF. A robot that came from a URDF goes back as it was, with its masses
    and meshes; any other is made of its bones"""
    bl_idname = "skel.export_urdf"
    bl_label = "Export URDF"
    bl_options = {"REGISTER"}

    filepath: StringProperty(name="File", subtype="FILE_PATH", description="File to write")
    filter_glob: StringProperty(default="*.urdf", options={"HIDDEN"})
    from_bones: BoolProperty(name="From the Bones", default=False, description="Make it of the "
                             "bones as they are now, even where the robot's source is there")

    def invoke(self, context, _event):
        if not self.filepath:
            self.filepath = bpy.path.clean_name(ops.armature(context).name) + ".urdf"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context):
        if not self.filepath:
            raise convert.Refused("Name a file to write")
        ob = ops.armature(context)
        source = bpy.data.texts.get(ob.get("skel_source", ""))
        if source is not None and not self.from_bones:
            with convert_robot.skelpy.Scene.from_json(source.as_string()) as scene:
                text = scene.to_urdf()
        else:
            text = convert_robot.urdf_of(ob.name, read_chain(
                ob, context.scene.unit_settings.scale_length))
        path = bpy.path.ensure_ext(bpy.path.abspath(self.filepath), ".urdf")
        pipeline.save(path, text)
        return f"Wrote {path}"


def draw_add(self, _context):
    self.layout.operator_menu_enum("skel.import_robot", "preset", text="Robot (Skel)",
                                   icon="ARMATURE_DATA")


def draw_import(self, _context):
    self.layout.operator("skel.import_robot", text="Robot (DH table, URDF)").preset = "NONE"


CLASSES = (SKEL_OT_import_robot, SKEL_OT_set_joints, SKEL_OT_extract_dh, SKEL_OT_export_urdf)


def register():
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.PoseBone.skel_angle = _slider("Angle", "ANGLE", "hinge")
    bpy.types.PoseBone.skel_distance = _slider("Distance", "DISTANCE", "slide", precision=4)
    bpy.types.VIEW3D_MT_armature_add.append(draw_add)
    bpy.types.TOPBAR_MT_file_import.append(draw_import)


def unregister():
    bpy.types.TOPBAR_MT_file_import.remove(draw_import)
    bpy.types.VIEW3D_MT_armature_add.remove(draw_add)
    del bpy.types.PoseBone.skel_distance
    del bpy.types.PoseBone.skel_angle
    _items.clear()
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
