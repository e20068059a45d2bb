# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes robots: armatures of them, their shapes, and joint coordinates."""

import json
import math
from typing import Any, List, Mapping, Optional, Sequence, Set, Tuple

import bpy
from mathutils import Matrix, Quaternion, Vector

from ..core import robot_shapes
from ..core.algebra import compose
from ..core.errors import UserError
from ..core.keys import escape
from ..core.robot_import import Robot, RobotBone
from . import read_robots
from .rna import ID, Armature, Context, Object, PoseBone
from .write import add_text

ORANGE, DARK, GREY = (0.93, 0.55, 0.16, 1), (0.28, 0.32, 0.4, 1), (0.7, 0.72, 0.75, 1)
AT_ORIGIN = (0, 0, 0, 1, 0, 0, 0)


# ---- joint coordinates ----

def _put(bone: PoseBone, value: float) -> None:
    """Sets the coordinate of a joint [rad or Blender units]."""
    found = read_robots.joint_channel(bone)
    if found is None:
        return
    name, index, sign = found
    if name == "rotation_euler" and len(bone.rotation_mode) != 3:   # the mode has no angles
        bone.rotation_mode = "XYZ"
    getattr(bone, name)[index] = sign * value


def set_joint(bone: PoseBone, value: float) -> None:
    """Sets a joint of a robot, within its limits."""
    if read_robots.joint_channel(bone) is not None:
        limits = read_robots.joint_limits(bone)
        _put(bone, min(max(value, limits[0]), limits[1]) if limits is not None else value)


def set_joints(ob: Armature, values: Mapping[str, float], unit: float, keep_limits: bool,
               key: Optional[float]) -> None:
    """Sets joints by name [rad and m]. key: the frame to key them at, or None."""
    put = set_joint if keep_limits else _put
    for bone in read_robots.joint_bones(ob):
        put(bone, values[bone["joint"]] / (unit if bone["joint_type"] == "slide" else 1.0))
        found = read_robots.joint_channel(bone)
        if key is not None and found and "joint_mimic" not in bone:     # mimics have drivers
            name, index, _sign = found
            bone.keyframe_insert(name, index=index, frame=key, group=bone.name)
    ob.update_tag()


# ---- bones ----


def _add_bones(context: Context, ob: Armature, robot: Robot, unit: float) -> None:
    """Adds edit bones, which Blender allows in edit mode only."""
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


def _lock(pose_bone: PoseBone, bone: RobotBone, unit: float) -> None:
    """Locks, limits and custom properties of one bone."""
    pose_bone.rotation_mode = "XYZ"
    free = bone.kind in ("ball", "free")
    pose_bone.lock_scale = (True,) * 3
    pose_bone.lock_location = (bone.kind != "free",) * 3
    pose_bone.lock_rotation = (not free,) * 3
    locks: Any = {"hinge": pose_bone.lock_rotation, "slide": pose_bone.lock_location}
    for axis in "xyz":
        setattr(pose_bone, f"lock_ik_{axis}", not free)
    index = "XYZ".index(bone.axis)
    if bone.kind == "hinge":
        locks["hinge"][index] = False
        setattr(pose_bone, f"lock_ik_{bone.axis.lower()}", False)
        if bone.limits and max(map(abs, bone.limits)) <= math.pi:
            low, high = sorted(bone.sign * v for v in bone.limits)
            setattr(pose_bone, f"use_ik_limit_{bone.axis.lower()}", True)
            setattr(pose_bone, f"ik_min_{bone.axis.lower()}", min(low, 0.0))
            setattr(pose_bone, f"ik_max_{bone.axis.lower()}", max(high, 0.0))
    elif bone.kind == "slide":
        locks["slide"][index] = False
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
    if bone.mimic:
        pose_bone["joint_mimic"] = json.dumps(bone.mimic.fields())
    if bone.drive:
        pose_bone["joint_drive"] = [float(v) for v in bone.drive]
    if bone.mass > 0:
        pose_bone.skel.mass = pose_bone["mass"] = float(bone.mass)
        pose_bone["com"] = [float(v) / unit for v in bone.com]
        pose_bone["inertia"] = [float(v) for v in bone.inertia or ()]
    if bone.estimated:
        pose_bone["mass_estimated"] = bone.estimated


def _add_mimics(ob: Armature, unit: float) -> None:
    """Adds drivers to mimic joints. Their expressions are simple, so that Blender evaluates them
    without Python."""
    bones = {bone["joint"]: bone for bone in read_robots.joint_bones(ob)}
    for name, mimic in read_robots.mimics_of(ob).items():
        bone, source = bones[name], bones[mimic.joint]
        own_channel, source_channel = (read_robots.joint_channel(each) for each in (bone, source))
        assert own_channel and source_channel
        label, index, sign = own_channel
        from_label, from_index, from_sign = source_channel
        own = sign / (unit if bone["joint_type"] == "slide" else 1.0)
        factor = own * mimic.multiplier * from_sign * (
            unit if source["joint_type"] == "slide" else 1.0)
        driver = bone.driver_add(label, index).driver
        driver.type = "SCRIPTED"
        variable = driver.variables.new()
        variable.name, variable.type = "q", "SINGLE_PROP"
        variable.targets[0].id = ob
        variable.targets[0].data_path = \
            f'pose.bones["{escape(source.name)}"].{from_label}[{from_index}]'
        driver.expression = f"{factor!r} * q + {own * mimic.offset!r}"


# ---- shapes ----


def _attach(context: Context, ob: Armature, name: str, bone: str, matrix: Any,
            shape: robot_shapes.Mesh, color: Sequence[float]) -> Object:
    """Adds a mesh that is parented to a bone. matrix: of the mesh in the armature at rest."""
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


def _pose_matrix(pose: Sequence[float], unit: float) -> Any:
    return Matrix.Translation(Vector(pose[:3]) / unit) @ \
        Quaternion(pose[3:]).to_matrix().to_4x4()


def _find_mesh(filename: str, folder: str, warnings: List[str]) -> Optional[str]:
    """The path of a mesh file; None if there is none, or if it is refused, with a warning."""
    try:
        return robot_shapes.find_mesh(filename, folder)
    except UserError as error:
        if str(error) not in warnings:
            warnings.append(str(error))
        return None


def _add_visuals(context: Context, ob: Armature, robot: Robot, folder: str, unit: float,
                 warnings: List[str]) -> Tuple[int, int]:
    """Adds the visuals of a URDF; returns how many were added and how many left out."""
    made, left = 0, 0
    for visual in robot.visuals or ():
        bone = robot.bone_of.get(visual.link, visual.link)
        pose = compose(robot.links.get(visual.link, AT_ORIGIN), visual.pose)
        shape, scale = None, Matrix.Diagonal((1 / unit,) * 3 + (1,))
        if visual.kind != "mesh":
            shape = robot_shapes.shape_of(visual)
        else:
            path = _find_mesh(visual.filename, folder, warnings)
            shape = robot_shapes.read_mesh(path) if path else None
            scale = scale @ Matrix.Diagonal((*visual.size, 1))
            holder = ob.pose.bones[bone] if bone else ob
            holder["meshes"] = "\n".join(filter(None, [holder.get("meshes", ""),
                                                       visual.filename]))
        if shape is None:
            left += 1
            continue
        _attach(context, ob, f"{visual.link} visual", bone, _pose_matrix(pose, unit) @ scale,
                shape, visual.color or GREY)
        made += 1
    return made, left


def _add_shapes(context: Context, ob: Armature, robot: Robot, unit: float) -> None:
    """Adds a bar along every link and a drum around every hinge, so that renders show them."""
    wide = 0.028 * robot.reach / unit
    for bone in robot.bones:
        rest = ob.data.bones[bone.name]
        if bone.frame:
            continue
        place, turn = rest.matrix_local, Matrix.Rotation(-math.pi / 2, 4, "X")
        if not bone.stub:
            middle = Matrix.Translation((0, rest.length / 2, 0))
            _attach(context, ob, f"{bone.name} bar", bone.name, place @ middle @ turn,
                    robot_shapes.cylinder(wide, rest.length), ORANGE)
        if bone.kind == "hinge":
            axis = Matrix.Identity(4) if bone.axis == "Z" else turn
            _attach(context, ob, f"{bone.name} joint", bone.name, place @ axis,
                    robot_shapes.cylinder(1.5 * wide, 3.4 * wide), DARK)
        elif bone.kind == "slide":
            _add_rod(context, ob, bone, place, wide, unit)


def _add_rod(context: Context, ob: Armature, bone: RobotBone, place: Any, wide: float,
             unit: float) -> None:
    """Adds the rod of a slide, as long as its range, and the sleeve that it moves in."""
    way = max(map(abs, bone.limits or (0.0,))) / unit
    toward = Matrix.Identity(4) if bone.axis == "Z" else Matrix.Rotation(-math.pi / 2, 4, "X")
    if way > 0:
        _attach(context, ob, f"{bone.name} rod", bone.name,
                place @ toward @ Matrix.Translation((0, 0, -bone.sign * way / 2)),
                robot_shapes.cylinder(0.6 * wide, way), ORANGE)
    if bone.parent:
        _attach(context, ob, f"{bone.name} sleeve", bone.parent, place @ toward,
                robot_shapes.box((2.6 * wide,) * 3), DARK)


# ---- the whole ----


def _blocks() -> Set[ID]:
    """All data blocks of the kinds that a robot consists of."""
    data = bpy.data
    return {*data.objects, *data.armatures, *data.meshes, *data.texts}


def make_robot(context: Context, robot: Robot, text: str, folder: str, shapes: bool,
               unit: float) -> Tuple[str, List[str]]:
    """Adds the armature of a robot, selected and active. Returns (a summary, warnings). If it
    fails, it leaves nothing behind."""
    if context.mode == "POSE":
        bpy.ops.object.mode_set(mode="OBJECT")
    before, active = _blocks(), context.view_layer.objects.active
    try:
        return _make_robot(context, robot, text, folder, shapes, unit)
    except BaseException:
        bpy.data.batch_remove(_blocks() - before)
        context.view_layer.objects.active = active
        raise


def _make_robot(context: Context, robot: Robot, text: str, folder: str, shapes: bool,
                unit: float) -> Tuple[str, List[str]]:
    data = bpy.data.armatures.new(robot.name)
    ob = bpy.data.objects.new(robot.name, data)
    context.collection.objects.link(ob)
    _add_bones(context, ob, robot, unit)
    for bone in robot.bones:
        _lock(ob.pose.bones[bone.name], bone, unit)
    ob["skel_source"] = add_text(f"{robot.name} (source)", text)
    ob["skel_robot"] = json.dumps({"joints": robot.joints, "poses": robot.poses,
                                   "notes": robot.notes, "source": robot.source,
                                   "reach": robot.reach})
    _add_mimics(ob, unit)
    warnings: List[str] = list(robot.warnings)
    words = f"{robot.name}: {len(read_robots.joint_bones(ob))} joints"
    if shapes and robot.visuals is not None:
        made, left = _add_visuals(context, ob, robot, folder, unit, warnings)
        words += f", {made} shapes" + (f", {left} meshes not found or not readable" if left else "")
    elif shapes:
        _add_shapes(context, ob, robot, unit)
    for other in context.selected_objects:
        other.select_set(False)
    ob.select_set(True)
    context.view_layer.objects.active = ob
    return words, warnings
