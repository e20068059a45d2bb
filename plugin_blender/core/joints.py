# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints of bones: type, axes, limits and friction.

A joint comes from the robot's document, else from the limits and locks of the rig, else from the
body plan. Angles of the rig count from its rest pose, angles of the document from the first
frame."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Tuple

from .algebra import (AXES, ORIGIN, Pose, Quaternion, Vector, angle_about, q_about, q_conj, q_mul,
                      q_of_matrix, q_rotate, twist_about)
from .anatomy import HINGE_OVERSTRETCH, HINGE_RANGE, TAIL_RANGE, UNIVERSAL_RANGE, WIDE_RANGE
from .binding import rig as rigs
from .binding import scene as documents
from .bodies import Size
from .bone_bodies import BONE_IN_BODY, BoneBody
from .errors import UserError
from .presets import PRESETS, follows
from .shot import WORLD, BoneShot, RobotShot, Shot

LOCKED_RANGE = math.radians(1)      # an axis with a smaller range does not turn
TWIST_LOCKED = 1e-3                 # [rad] limit to either side of a locked axis of a ball joint
FRICTION_SHARE = 0.06               # of the torque that the weight of a bone has about its joint

Range = Tuple[float, float]


@dataclass(frozen=True)
class JointChoice:
    """A joint type as the panel offers it."""
    label: str
    tip: str
    settings: Tuple[str, ...] = ()                  # of the bone, besides the limits
    limits: Tuple[str, ...] = ("cone", "twist")     # settings of custom limits
    on_root: bool = False                           # a root bone has this joint to the world


CHOICES = {
    "AUTO": JointChoice("Automatic", "From the limits and locks of the bone. Without them, "
                        "knees and elbows are hinges, all others are ball joints"),
    "BALL": JointChoice("Ball", "Turns in all directions"),
    "HINGE": JointChoice("Hinge", "Turns about one axis", ("axis",), ("limit_low", "limit_high")),
    "UNIVERSAL": JointChoice("Universal", "Turns about the X and Z axes of the bone, without "
                             "twist"),
    "FIXED": JointChoice("Fixed", "Does not turn"),
    "PLANAR": JointChoice("Planar", "Slides in a plane and turns in it, as a character of a side "
                          "view does. Axis points out of the plane (automatic: X). On a bone "
                          "without a parent, the plane stands still in the world",
                          ("axis",), (), on_root=True),
    "SCREW": JointChoice("Screw", "Turns about an axis and moves along it at the same time, as a "
                         "bolt in its nut does. Automatic axis: Y, along the bone",
                         ("axis", "pitch"), ("limit_low", "limit_high"), on_root=True),
}


@dataclass(frozen=True)
class BallLimits:
    """Of a ball joint: a cone about a direction, and twist; from rest."""
    centre_x: float
    centre_z: float
    cone: float
    twist: Range


# ---- angles of the rig ----

def rotation_from_rest(shot: Shot, i: int, up: Optional[int] = None) -> Quaternion:
    """The rotation of a bone from rest relative to its parent bone, or to another bone `up` (-1:
    the armature), at the first frame."""
    bone, p = shot.bones[i], shot.bones[i].parent
    now, rest = q_of_matrix(shot.poses[16 * i:16 * i + 16]), q_of_matrix(bone.rest)
    if up is not None:
        p = up
    elif bone.flags & rigs.KEEPS_ROTATION:
        p = -1
    if p < 0:
        return q_mul(q_conj(rest), now)
    above, above_rest = shot.poses[16 * p:16 * p + 16], shot.bones[p].rest
    turn = q_mul(q_of_matrix(above), q_conj(q_of_matrix(above_rest)))
    return q_mul(q_conj(q_mul(turn, rest)), now)


def _free_axes(bone: BoneShot) -> Dict[str, Optional[Range]]:
    """The axes about which the rig lets a bone turn, and their ranges (None: a whole turn)."""
    free: Dict[str, Optional[Range]] = {}
    for axis in "XYZ":
        limits = bone.limits.get(axis)
        if axis in bone.locked or limits and limits[1] - limits[0] < LOCKED_RANGE:
            continue
        free[axis] = limits if limits and limits[1] - limits[0] < 2 * math.pi else None
    return free


def _custom_range(bone: BoneShot) -> Range:
    """The angles that the user has set."""
    low, high = bone.settings.limit_low, bone.settings.limit_high
    if low > high:
        raise UserError(f"The joint of '{bone.blender_name}' turns from {math.degrees(low):.4g}° "
                        f"to {math.degrees(high):.4g}°. Set From below To, in its panel")
    return low, high


# ---- joint types ----

class _JointMaker:
    """Sets type, axes and limits of the joint of one bone."""

    def __init__(self, shot: Shot, i: int, up: int, body: BoneBody, joint: documents.Joint,
                 pose: Pose, parent_pose: Pose) -> None:
        self.shot, self.i, self.up, self.bone, self.joint = shot, i, up, shot.bones[i], joint
        self.body, self.pose, self.parent_pose = body, pose, parent_pose
        self.bone_axes = q_mul(pose[3:7], body.axes)        # of the bone in the world
        self.at = joint.anchor or ORIGIN                    # the joint in the world

    def _hinge(self, axis: Vector, limits: Optional[Range], up: Optional[int] = None) -> None:
        """About an axis of the bone, at the first frame. up: see rotation_from_rest."""
        now = twist_about(rotation_from_rest(self.shot, self.i, up), axis)
        self.joint.type = "hinge"
        self.joint.axis = list(q_rotate(self.bone_axes, axis))
        if limits:
            self.joint.limits = [limits[0] - now, limits[1] - now]

    def _universal(self, first: str, second: str, ranges: Sequence[Optional[Range]]) -> None:
        """Turns about the first axis at rest, then about the second axis of the bone. A range of
        a whole turn is no limit."""
        basis = rotation_from_rest(self.shot, self.i)
        now = [twist_about(basis, AXES[axis]) for axis in (first, second)]
        self.joint.type = "universal"
        self.joint.axis = list(q_rotate(q_mul(self.bone_axes, q_about(AXES[second], -now[1])),
                                        AXES[first]))
        self.joint.axis2 = list(q_rotate(self.bone_axes, AXES[second]))
        if any(ranges):
            self.joint.limits = [[span[0] - at, span[1] - at] if span else [-math.pi, math.pi]
                                 for span, at in zip(ranges, now)]

    def _planar(self) -> None:
        """In the plane across an axis of the bone, at the first frame."""
        axis = self.bone.settings.axis
        self.joint.type = "planar"
        self.joint.axis = list(q_rotate(self.bone_axes, AXES[axis if axis != "AUTO" else "X"]))

    def _screw(self) -> None:
        """About an axis of the bone, at the first frame. Limits count from rest, over all turns
        that the bone has moved along the axis until then."""
        settings, shot = self.bone.settings, self.shot
        if settings.pitch == 0:
            raise UserError(f"The screw joint of '{self.bone.blender_name}' has a pitch of 0. Set "
                            "Pitch to the distance of one turn, or choose a hinge")
        axis = settings.axis if settings.axis != "AUTO" else "Y"
        limits = self.bone.limits.get(axis) if settings.limits == "AUTO" else None
        self._hinge(AXES[axis], _custom_range(self.bone) if settings.limits == "CUSTOM" else limits)
        self.joint.type, self.joint.pitch = "screw", shot.metres * settings.pitch / (2 * math.pi)

        now = twist_about(rotation_from_rest(shot, self.i), AXES[axis])
        along = shot.basis[16 * self.i + 12 + "XYZ".index(axis)] / settings.pitch   # [turns]
        turns = round(along - now / (2 * math.pi))
        if self.joint.limits:
            self.joint.limits = [angle - 2 * math.pi * turns for angle in self.joint.limits]

    def _ball(self, limits: Optional[BallLimits], axes: Quaternion = q_conj(BONE_IN_BODY),
              up: Optional[int] = None) -> None:
        """axes: of the limits in the bone; z is the axis of cone and twist. up: see
        rotation_from_rest."""
        if limits is None:
            return

        # The outer frame stands in the middle of the cone, the inner frame moves with the bone.
        centre = q_mul(q_about(AXES["Z"], limits.centre_z), q_about(AXES["X"], limits.centre_x))
        rest = q_mul(self.bone_axes, q_conj(rotation_from_rest(self.shot, self.i, up)))
        middle = q_mul(q_mul(rest, centre), axes)
        back = q_conj(self.parent_pose[3:7])
        self.joint.frames = [
            {"position": self._place_in(self.parent_pose),
             "orientation": list(q_mul(back, middle))},
            {"position": self._place_in(self.pose),
             "orientation": list(q_mul(self.body.axes, axes))}]
        self.joint.anchor = None
        self.joint.limits = {"cone": min(limits.cone, math.pi), "twist": list(limits.twist)}

    def _place_in(self, pose: Pose) -> List[float]:
        """The place of the joint in a body."""
        return list(q_rotate(q_conj(pose[3:7]), [a - b for a, b in zip(self.at, pose[:3])]))

    # ---- where they come from ----

    def from_rig(self) -> None:
        """The limits and locks of the rig."""
        bone, free = self.bone, _free_axes(self.bone)
        kind = bone.settings.joint
        if kind == "AUTO":
            kind = ("FIXED", "HINGE", "UNIVERSAL", "BALL")[len(free)]

        if kind == "FIXED":
            self.joint.type = "fixed"
        elif kind == "HINGE":
            named = bone.settings.axis
            axis = named if named != "AUTO" else next(iter(free), "X")
            self._hinge(AXES[axis], bone.limits.get(axis))
        elif kind == "UNIVERSAL":
            # The last Euler angle turns the others: it is the first axis.
            both = (list(free) + [a for a in "XZ" if a not in free])[:2]
            second, first = sorted(both, key=bone.order.index)
            self._universal(first, second, [free.get(first), free.get(second)])
        else:
            self._ball(_ball_limits(free))

    def from_robot(self, robot: RobotShot) -> None:
        """The robot's document; coordinates of the scene are zero at the first frame."""
        joint = self.joint
        joint.type, joint.name = robot.kind if robot.turns else "fixed", robot.joint or joint.name
        if robot.kind not in ("hinge", "slide"):
            return
        joint.axis = list(q_rotate(self.bone_axes, [robot.sign * v for v in AXES[robot.axis]]))
        if robot.limits:
            metres = self.shot.metres if robot.kind == "slide" else 1.0
            now = robot_coordinate(self.shot, self.i)
            joint.limits = [v * metres - now for v in robot.limits]

    def from_choice(self) -> None:
        """A joint that slides, which no rig suggests: the user has chosen it."""
        bone = self.bone
        if bone.connected:
            raise UserError(f"The bone '{bone.blender_name}' cannot slide, because it is connected "
                            "to its parent. Turn off Connected (Bone properties > Relations)")
        if bone.settings.joint == "SCREW":
            self._screw()
        else:
            self._planar()

    def from_plan(self) -> None:
        """The body plan, or what the user has set."""
        bone, body = self.bone, self.body
        kind, limits = bone.settings.joint, bone.settings.limits
        led = follows(self.shot, bone)      # the animation needs no guess at joint types
        swings = self.shot.settings.preset == "TAIL"
        if kind == "AUTO":
            kind = "HINGE" if body.hinge and not led and not swings else "BALL"

        if kind == "FIXED":
            self.joint.type = "fixed"
        elif kind == "HINGE":
            self._hinge_of_plan()
        elif kind == "UNIVERSAL":
            span = _custom_range(bone) if limits == "CUSTOM" else UNIVERSAL_RANGE
            self._universal("X", "Z", [None if limits == "NONE" else span] * 2)
        elif limits == "CUSTOM":
            cone, twist = bone.settings.cone, bone.settings.twist
            self._ball(BallLimits(0.0, 0.0, cone, (-twist, twist)))
        elif limits != "NONE":
            cone, twist = body.cone, body.twist
            if swings:
                cone, twist = TAIL_RANGE
            elif led:                       # wide, but the bone does not turn over
                cone, twist = WIDE_RANGE
            self._ball(BallLimits(0.0, 0.0, cone, (-twist, twist)), body.limb, self.up)

    def _hinge_of_plan(self) -> None:
        """The axis and the range that the user has set, else those of the plan."""
        settings, up = self.bone.settings, self.up
        if settings.axis == "AUTO" and self.body.hinge:
            axis, *span = self.body.hinge
        else:
            axis, span = AXES[settings.axis if settings.axis != "AUTO" else "X"], \
                [-HINGE_OVERSTRETCH, HINGE_RANGE]
        limits: Optional[Range] = (span[0], span[1])
        if settings.limits == "CUSTOM":
            limits = _custom_range(self.bone)
        self._hinge(axis, None if settings.limits == "NONE" else limits, up)


def _ball_limits(free: Dict[str, Optional[Range]]) -> Optional[BallLimits]:
    """The cone and the twist of the rig's limits. The cone is the larger of the two ranges; if one
    of the two axes is free, it is the range of the other."""
    spans = [free.get(axis) or (0.0, 0.0) for axis in "XZ"]
    turns = (-math.pi, math.pi) if "Y" in free else (-TWIST_LOCKED, TWIST_LOCKED)
    twist = free.get("Y") or turns
    cone = max((high - low) / 2 for low, high in spans)
    if not any(free.get(axis) for axis in "XZ"):
        cone = math.pi if "X" in free or "Z" in free else TWIST_LOCKED
    if cone >= math.pi and twist[1] - twist[0] >= 2 * math.pi:
        return None
    return BallLimits(sum(spans[0]) / 2, sum(spans[1]) / 2, cone, twist)


# ---- the joint of a bone ----

def make_joint(shot: Shot, i: int, up: int, body: BoneBody, pose: Pose, parent_pose: Pose,
               size: Size, gravity: float) -> documents.Joint:
    """The joint of a bone. Its friction is a share of the torque of the bone's weight; a plane that
    stands still in the world has none. up: the bone of the parent body; -1: the world."""
    bone, settings = shot.bones[i], shot.settings
    at = [p + d for p, d in zip(pose[:3], q_rotate(pose[3:7], body.point(body.anchor)))]
    joint = documents.Joint(type="ball", name=f"{bone.name}.joint", anchor=at,
                            bodies=[shot.bones[up].name if up >= 0 else WORLD, bone.name])

    maker = _JointMaker(shot, i, up, body, joint, pose, parent_pose)
    if CHOICES[bone.settings.joint].on_root:
        maker.from_choice()
    elif bone.robot and bone.settings.joint == "AUTO":
        maker.from_robot(bone.robot)
    elif (bone.limits or bone.locked) and bone.settings.limits not in ("CUSTOM", "NONE"):
        maker.from_rig()
    else:
        maker.from_plan()

    if joint.type == "fixed":
        joint.anchor = list(pose[:3])
        return joint
    if joint.type == "planar" and up < 0:
        return joint
    share = FRICTION_SHARE * PRESETS[settings.preset].friction * settings.friction * \
        bone.settings.friction
    joint.friction = share * size.mass * gravity * size.shape.reach
    return joint


# ---- joints of robots ----

def robot_coordinate(shot: Shot, i: int) -> float:
    """The coordinate [rad or m] of a robot's joint at the first frame. Angles count whole turns if
    the bone's rotation mode has angles."""
    bone, robot = shot.bones[i], shot.bones[i].robot
    assert robot is not None
    axis = "XYZ".index(robot.axis)
    if robot.kind == "hinge" and bone.rotation in (rigs.QUATERNION, rigs.AXIS_ANGLE):
        return robot.sign * angle_about(q_of_matrix(shot.basis[16 * i:16 * i + 16]), axis)
    if robot.kind == "hinge":
        return robot.sign * bone.near[axis]
    return robot.sign * shot.metres * shot.basis[16 * i + 12 + axis]


def add_mimics(shot: Shot, scene: documents.Scene) -> None:
    """Mimic joints, in coordinates that are zero at the first frame."""
    joints = {joint.name: joint for joint in scene.joints}
    at = {bone.robot.joint: i for i, bone in enumerate(shot.bones) if bone.robot}
    for bone in shot.bones:
        robot = bone.robot
        if not robot or not robot.mimic or robot.joint not in joints or \
                robot.mimic.joint not in joints:
            continue
        i, source = at[robot.joint], at[robot.mimic.joint]
        source_robot = shot.bones[source].robot
        assert source_robot is not None
        mimic = robot.mimic.scaled(robot.kind, source_robot.kind, shot.object_scale)
        shift = mimic.multiplier * robot_coordinate(shot, source) - robot_coordinate(shot, i)
        joints[robot.joint].mimic = replace(mimic, offset=mimic.offset + shift).fields()
