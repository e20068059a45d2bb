# SPDX-License-Identifier: GPL-3.0-or-later
"""Robots: import a DH table, a URDF or a bundled robot as an armature; move its joints; give the DH
table or the URDF of bones back.

What a bone's axes mean is in core/convert_robot.py. Of the joint a bone keeps custom properties:
  joint, joint_type (hinge, slide, ball, fixed, free), joint_axis (Y, Z), joint_sign (1, -1),
  joint_limits (rad, or Blender units), joint_mimic (what it goes with, as JSON: rad and m; a driver
  moves it), joint_drive (velocity and effort that it can do: rad, m, N m, N), dh (its row, as
  JSON), mass (kg), com (from the bone's head in its axes, Blender units), inertia (about com in
  the bone's axes, xx yy zz xy xz yz, kg m²), mass_estimated (mass or inertia: which of them the
  library has estimated because the document does not give it)
A hinge is one angle of rotation_euler, a slide one number of location: sign times q. All others are
locked, for IK too. Limits are IK limits where they fit in half a turn to either side; a Limit
Rotation constraint could not hold a wrist that turns further than that."""

import os

import bpy
from bpy.props import (BoolProperty, EnumProperty, FloatProperty, StringProperty)

from ..blender import read, write
from ..core import convert, convert_robot, pipeline
from ..core.binding import skelpy
from . import operators

CONVENTIONS = (
    ("standard", "Standard", "A = Rz(theta) Tz(d) Tx(a) Rx(alpha): frame i ends link i"),
    ("modified", "Modified", "A = Rx(alpha) Tx(a) Rz(theta) Tz(d), as Craig has it: frame i "
     "begins link i"),
)
WARNINGS = 8                    # of a file that are told one by one
_items = []                     # of the list of robots; Blender wants them kept


def _presets(_self, _context):
    if not _items:
        _items.append(("NONE", "From a File", "Choose a DH table or a URDF"))
        for name, path in convert_robot.bundled().items():
            with open(path, encoding="utf-8") as file:
                label = convert.json_of(file.read(), path).get("name", name)
            _items.append((name, label, f"The {label} that comes with Skel"))
    return _items


def _slider(name, subtype, what, **more):
    return FloatProperty(name=name, subtype=subtype, get=read.joint_value,
                         set=write.set_joint, options=set(), **more,
                         description=f"Of the robot's {what}; it stops at the limits")


class SKEL_OT_import_robot(operators.Short, bpy.types.Operator):
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
        path = convert_robot.bundled().get(self.preset)
        if self.filepath:
            path = bpy.path.abspath(self.filepath)
        if not path:
            raise convert.Refused("Choose a robot or a file")
        with open(path, "rb") as file:
            data = file.read()
        name = os.path.basename(path)
        try:
            text = convert_robot.text_of(data)
            robot = convert_robot.robot_of(text, os.path.splitext(name)[0])
        except operators.FAILURES as error:
            raise convert.Refused(f"{name}: {operators.words_of(error)}") from None
        words = write.make_robot(context, robot, text, os.path.dirname(path), self.shapes,
                                    context.scene.unit_settings.scale_length)
        for warning in robot.warnings[:WARNINGS]:
            self.report({"WARNING"}, f"{name}: {warning}")
        if len(robot.warnings) > WARNINGS:
            self.report({"WARNING"}, f"{name}: {len(robot.warnings) - WARNINGS} more warnings; "
                        "'skel check' tells them all")
        return words


class _OnRobot:
    @classmethod
    def poll(cls, context):
        ob = operators.armature(context)
        if ob is None or not read.has_joints(ob):
            cls.poll_message_set("Select a robot that Skel has imported")
            return False
        return operators.not_editing(cls, context)


class SKEL_OT_set_joints(_OnRobot, operators.Short, bpy.types.Operator):
    """Set all joints of the robot: to a named pose of its table, or to numbers in the order of its
    joints. With auto-keying on, the joints are keyed"""
    bl_idname = "skel.set_joints"
    bl_label = "Set Joints"
    bl_options = {"REGISTER", "UNDO"}

    values: StringProperty(name="Joints", options={"SKIP_SAVE"}, description="A number per joint: "
                           "radians and metres, as 0, 0.5, -1.2. Joints that go with others may be "
                           "left out. Empty: all zero")
    pose: StringProperty(name="Pose", options={"SKIP_SAVE"},
                         description="Name of a pose that the robot came with")
    degrees: BoolProperty(name="Degrees", default=False, description="Angles are in degrees")
    keep_limits: BoolProperty(name="Keep Limits", default=True,
                              description="Joints stop at their limits")

    def run(self, context):
        ob = operators.armature(context)
        data, bones, mimics = read.robot_data(ob), read.joint_bones(ob), read.mimics(ob)
        names = [bone["joint"] for bone in bones]
        if self.pose:
            values = data.get("poses", {}).get(self.pose)
            if values is None:
                known = ", ".join(data.get("poses", {})) or "none"
                raise convert.Refused(f"There is no pose '{self.pose}'; there are: {known}")
            order = data.get("joints") or names
            if len(values) != len(order):
                raise convert.Refused(f"The pose '{self.pose}' has {len(values)} numbers, but the "
                                      f"robot has {len(order)} joints")
            q = dict(zip(order, values))
        else:
            angles = {bone["joint"] for bone in bones if bone["joint_type"] == "hinge"}
            q = convert_robot.parse_joints(self.values or "0 " * len(names), names,
                                           angles if self.degrees else (), mimics)
        q = convert_robot.apply_mimics(mimics, q)
        write.set_joints(ob, q, context.scene.unit_settings.scale_length, self.keep_limits,
                            operators.key_frame(context.scene))
        context.view_layer.update()
        return f"{len(bones)} joints set"


class SKEL_OT_extract_dh(operators.OnArmature, operators.Short, bpy.types.Operator):
    """Write the Denavit-Hartenberg table of the chain that ends at the active bone (else at the
    tool or the only end), to a file or to a text in the text editor"""
    bl_idname = "skel.extract_dh"
    bl_label = "Extract DH Table"
    bl_options = {"REGISTER", "UNDO"}

    convention: EnumProperty(name="Convention", items=CONVENTIONS, default="standard",
                             description="Which of the two conventions")
    tip: StringProperty(name="Tip", options={"SKIP_SAVE"},
                        description="Last bone of the chain. Empty: the active one, else the tool "
                        "or the only end")
    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"SKIP_SAVE"},
                             description="File to write: .json or .csv. Empty: a text in the text "
                             "editor")
    snap: FloatProperty(name="Snap", default=convert_robot.SNAP, min=0.0, max=0.01, precision=7,
                        options={"SKIP_SAVE"},
                        description="Radians, and parts of the reach: axes that are nearer to "
                        "parallel or to meeting than this are taken to be it. A value that you set "
                        "alone decides which axes are parallel; else axes whose common normal is "
                        "far away are read as parallel, too")

    def run(self, context):
        ob = operators.armature(context)
        read.check_object(ob)
        path = bpy.path.abspath(self.filepath) if self.filepath else ""
        bones = read.read_chain(ob, context.scene.unit_settings.scale_length)
        active = context.active_pose_bone
        tip = convert_robot.tip_of(bones, self.tip or (
            active.name if active is not None and active.id_data == ob else ""))
        table = convert_robot.table_of(
            ob.name, bones, tip, self.convention, path.lower().endswith(".csv"),
            self.snap if self.properties.is_property_set("snap") else None)
        for warning in table.warnings:
            self.report({"WARNING"}, warning)

        if path:
            pipeline.save(path, table.text)
            return f"Wrote {path}, up to '{tip}': {table.cost}"
        name = write.add_text(f"{ob.name} DH {self.convention}.json", table.text)
        return f"'{name}' in the text editor, up to '{tip}': {table.cost}"


class SKEL_OT_export_urdf(operators.OnArmature, operators.Short, bpy.types.Operator):
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
            self.filepath = bpy.path.clean_name(operators.armature(context).name) + ".urdf"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context):
        if not self.filepath:
            raise convert.Refused("Name a file to write")
        ob = operators.armature(context)
        read.check_object(ob)
        source = bpy.data.texts.get(str(ob.get("skel_source", "")))
        if source is not None and not self.from_bones:
            with skelpy.Scene.from_json(source.as_string()) as scene:
                text = scene.to_urdf()
        else:
            text = convert_robot.urdf_of(ob.name, read.read_chain(
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
_register, _unregister = bpy.utils.register_classes_factory(CLASSES)


def register():
    _register()
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
    _unregister()
