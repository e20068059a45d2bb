# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads joints of robots, and bones as robots."""

from dataclasses import replace
from typing import Any, Dict, List, Optional, Tuple

from ..core.algebra import angle_about, q_of_matrix
from ..core.robot_export import ChainBone, joint_from_locks
from ..core.robot_properties import read_robot_data
from ..core.scales import check_object_scale
from ..core.shot import Mimic, RobotShot
from .read import limits_of, parents_first, robot_of
from .rna import Armature, PoseBone
from .stage import flat


def has_joints(ob: Armature) -> bool:
    """Whether it is a robot that can be moved. The properties of its bones may be wrong."""
    return any(bone.get("joint_type") in ("hinge", "slide") for bone in ob.pose.bones)


def joint_channel(bone: PoseBone) -> Optional[Tuple[str, int, float]]:
    """(property, index, sign) of the joint's coordinate; None if it has none."""
    robot = robot_of(bone)
    if robot is None or robot.kind not in ("hinge", "slide"):
        return None
    return ("rotation_euler" if robot.kind == "hinge" else "location", "XYZ".index(robot.axis),
            robot.sign)


def joint_limits(bone: PoseBone) -> Optional[Tuple[float, float]]:
    """(low, high) of a robot's joint; None if it has none."""
    robot = robot_of(bone)
    return robot.limits if robot else None


def joint_value(bone: PoseBone) -> float:
    """The coordinate of a robot's joint [rad or Blender units]. In a rotation mode without angles
    (the import has XYZ), an angle is within half a turn."""
    found = joint_channel(bone)
    if not found:
        return 0.0
    name, index, sign = found
    if name == "rotation_euler" and len(bone.rotation_mode) != 3:
        return sign * angle_about(bone.matrix_basis.to_quaternion(), index)
    return sign * getattr(bone, name)[index]


def robot_data(ob: Armature) -> Dict[str, Any]:
    """The data of a robot that its armature keeps: joints in the order of q, poses, reach."""
    return read_robot_data(ob.name, ob.get("skel_robot", "{}"))


def joint_bones(ob: Armature) -> List[PoseBone]:
    """Bones of hinges and slides, in the order of q."""
    found = {bone["joint"]: bone for bone in ob.pose.bones if joint_channel(bone)}
    order = robot_data(ob).get("joints") or list(found)
    return [found[name] for name in order if name in found]


def mimics_of(ob: Armature) -> Dict[str, Mimic]:
    """The mimic joints of a robot, by name."""
    out = {}
    for bone in ob.pose.bones:
        robot = robot_of(bone) if joint_channel(bone) else None
        if robot and robot.mimic:
            out[bone["joint"]] = robot.mimic
    return out


def _with_link(bone: ChainBone, robot: RobotShot, unit: float, size: float) -> ChainBone:
    """A bone with the joint and link of a robot. unit: [m] per Blender unit, with the scale of the
    object; size: that scale alone."""
    bone = replace(bone, kind=robot.kind, axis=robot.axis, sign=robot.sign, joint=robot.joint,
                   frame=robot.frame, mass=robot.mass, mimic=robot.mimic)
    if robot.mass > 0:
        bone = replace(bone, com=[v * unit for v in robot.com or ()],
                       inertia=[v * size ** 2 for v in robot.inertia or ()],
                       estimated=robot.estimated)
    if robot.drive:
        velocity, effort = robot.drive
        velocity = velocity * (size if robot.kind == "slide" else 1.0)
        bone = replace(bone, drive=(velocity, effort))
    if robot.limits:
        scale = unit if robot.kind == "slide" else 1.0
        bone = replace(bone, limits=[v * scale for v in robot.limits])
    return bone


def read_chain(ob: Armature, unit: float) -> List[ChainBone]:
    """Bones at rest, in the armature's axes, with the scale of the object."""
    check_object_scale(ob.name, flat(ob.matrix_world))
    scale = ob.matrix_world.median_scale * unit
    out: List[ChainBone] = []
    for pose_bone in parents_first(ob):
        bone = pose_bone.bone
        rest = flat(bone.matrix_local)
        each = ChainBone(
            pose_bone.name, bone.parent.name if bone.parent else "",
            [v * scale for v in rest[12:15]], q_of_matrix(rest), bone.length * scale)
        robot = robot_of(pose_bone)
        if robot:
            each = _with_link(each, robot, scale, scale / unit)
        else:
            kind, axis, limits = joint_from_locks(pose_bone.name, *limits_of(pose_bone))
            each = replace(each, kind=kind, axis=axis, limits=limits, mass=pose_bone.skel.mass,
                           radius=pose_bone.skel.radius * scale)
        out.append(each)

    kinds = {each.joint: each.kind for each in out}
    return [replace(each, mimic=each.mimic.scaled(each.kind, kinds.get(each.mimic.joint),
                                                  scale / unit))
            if each.mimic else each for each in out]
