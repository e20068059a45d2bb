# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints of bones for inverse kinematics.

The body of a bone has the bone's axes, its origin is the middle of the bone. A joint without limits
is a ball. A joint with limits, locks or stiffness of its axes is a row of hinges about the axes
that are free, in the order of the bone's Euler angles, so that every limit is the angle that the
user has typed in. Motion of the animation that goals may not change (locked axes, locations) is a
joint with stiffness 1: it moves as it is animated. The animation of every joint is the base that
goals change."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from .algebra import (AXES, IDENTITY, Pose, Quaternion, Vector, q_about, q_conj, q_mul, q_rotate,
                      twist_about)
from .binding import rig as rigs
from .binding import scene as documents
from .bone_bodies import half_length
from .ik_shot import IkShot, Moving
from .keys import ROTATION_PROPERTIES
from .shot import BoneShot
from .work import Work

ANIMATED_TOL = 1e-5         # [rad] a smaller change of an angle is rounding of Blender's matrices
LOCKED_RANGE = math.radians(0.01)       # an axis with a smaller range is locked
FRAMES_PER_SLICE = 200      # of one bone, between two yields
GIMBAL_TOL = 1e-9
Z_TO_AXIS = {"X": q_about((0, 1, 0), math.pi / 2), "Y": q_about((1, 0, 0), -math.pi / 2),
             "Z": IDENTITY}

Limit = Tuple[str, str, str, float, float]      # (bone, axis, joint, low, high)


@dataclass(frozen=True)
class BoneMotion:
    """The animation of a bone in its parent's axes, a value per frame."""
    turns: List[Tuple[float, ...]]              # from rest
    heads: List[List[float]]                    # x, y, z in axes of its rest [m]; empty: fixed
    angles: List[List[float]]                   # about the axes of its hinges; empty: no hinges


@dataclass(frozen=True)
class _Part:
    """A joint of the row that a bone turns and moves by."""
    name: str
    kind: str                                   # "hinge", "slide", "ball"
    values: Sequence[Any]                       # q, a value per frame
    axis: str = ""
    spin: Quaternion = IDENTITY                 # z to the axis
    before: Quaternion = IDENTITY               # a constant turn between the last joint and this
    limits: Optional[Sequence[float]] = None
    stiffness: float = 0.0                      # 1: moves as it is animated


# ---- angles ----

def angles_of(q: Quaternion, outer: str) -> Tuple[List[float], List[float]]:
    """The two sets of angles about three axes, outermost first ("ZYX"), that make the rotation."""
    m = [q_rotate(q, axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]   # columns
    a, b, c = ("XYZ".index(axis) for axis in outer)
    e = 1.0 if (a, b, c) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
    middle = math.asin(max(-1.0, min(1.0, e * m[c][a])))
    if abs(m[c][a]) < 1 - GIMBAL_TOL:
        first = math.atan2(-e * m[c][b], m[c][c])
        last = math.atan2(-e * m[b][a], m[a][a])
    else:                                       # gimbal lock: all of it is the first angle
        first, last = math.atan2(e * m[b][c], m[b][b]), 0.0
    other = [math.remainder(v, 2 * math.pi) for v in (first + math.pi, math.pi - middle,
                                                      last + math.pi)]
    return [first, middle, last], other


def _outside(angles: Sequence[float], outer: str, bone: BoneShot) -> float:
    """How far angles are outside the limits."""
    off = 0.0
    for axis, angle in zip(outer, angles):
        low, high = bone.limits.get(axis, (-math.pi, math.pi))
        if axis in bone.locked:
            low = high = 0.0
        off += max(low - angle, 0.0, angle - high)
    return off


def _near(angle: float, last: float) -> float:
    """The same angle, whole turns further on, that is nearest to another."""
    return last + math.remainder(angle - last, 2 * math.pi)


def angles_after(turn: Quaternion, outer: str, bone: BoneShot,
                 last: Optional[Sequence[float]]) -> List[float]:
    """The angles of a rotation: those near the last ones, or at first those within the limits."""
    if last is None:
        return min(angles_of(turn, outer), key=lambda a: _outside(a, outer, bone))
    sets = [[_near(a, b) for a, b in zip(angles, last)] for angles in angles_of(turn, outer)]
    return min(sets, key=lambda a: sum(abs(x - y) for x, y in zip(a, last)))


def free_axes(bone: BoneShot) -> List[str]:
    """The axes about which a bone may turn."""
    narrow = {axis for axis, (low, high) in bone.limits.items() if high - low < LOCKED_RANGE}
    return [axis for axis in "XYZ" if axis not in bone.locked and axis not in narrow]


def _is_ball(ik: IkShot, i: int) -> bool:
    """Whether a bone turns about all axes in the same way."""
    bone, joint = ik.shot.bones[i], ik.joints[i]
    return not (joint.kind or bone.limits or bone.locked or len(set(joint.stiffness)) > 1)


# ---- the animation ----

def read_motions(ik: IkShot, bodies: Sequence[int],
                 library: Optional[str] = None) -> Work[Dict[int, BoneMotion]]:
    """Generator: the animation of all bones that have bodies."""
    shot, out = ik.shot, {}
    metres = shot.metres
    rig = rigs.Rig([rigs.Bone(bone.rest, bone.parent, flags=bone.flags) for bone in shot.bones],
                   library=library)
    joints, width = rig.joints(shot.poses), 7 * len(shot.bones)
    yield 0.02, "reading the animation"

    for i in bodies:
        bone, outer = shot.bones[i], ik.joints[i].order[::-1]
        columns = [joints[7 * i + k::width] for k in range(7)]
        turns: List[Tuple[float, ...]] = list(zip(*columns[3:]))
        heads: List[List[float]] = []
        if not bone.connected and bone.parent >= 0:
            heads = [[metres * x for x in column] for column in columns[:3]]

        angles: List[List[float]] = []
        if not _is_ball(ik, i) and not ik.joints[i].kind and free_axes(bone):
            last = None
            for n, turn in enumerate(turns):
                last = angles_after(turn, outer, bone, last)
                angles.append(last)
                if n % FRAMES_PER_SLICE == FRAMES_PER_SLICE - 1:
                    yield 0.03, "reading the animation"
        out[i] = BoneMotion(turns, heads, angles)
        yield 0.03, "reading the animation"
    return out


def _varies(values: Sequence[float], tolerance: float) -> bool:
    return max(values) - min(values) > tolerance


# ---- joints ----

@dataclass
class JointBuilder:
    """Adds bodies and joints to a scene."""
    ik: IkShot
    scene: documents.Scene
    motions: Dict[int, BoneMotion]
    poses: Sequence[float]                      # [frame][body][7]
    body_index: Dict[str, int]                  # grows with bodies between hinges
    stiffness: Dict[str, float] = field(default_factory=dict)       # by joint
    movable: Dict[str, List[str]] = field(default_factory=dict)     # bone: its joints that may move
    limits: List[Limit] = field(default_factory=list)
    base: Dict[str, Sequence[Any]] = field(default_factory=dict)    # joint: q, a value per frame
    bone_of: Dict[str, str] = field(default_factory=dict)           # joint: the bone that it moves

    def __post_init__(self) -> None:
        self.shot = self.ik.shot
        self.metres = self.shot.metres
        self._taken: Set[str] = {bone.name for bone in self.shot.bones}

    def pose(self, i: int) -> List[float]:
        """The pose of a bone's body at the first frame."""
        k = 7 * self.body_index[self.shot.bones[i].name]
        return list(self.poses[k:k + 7])

    def frame_in(self, pose: Pose, point: Vector, turn: Quaternion) -> Dict[str, Any]:
        """A frame of the world in the axes of a body, as a document has it."""
        back = q_conj(pose[3:])
        return {"position": list(q_rotate(back, [a - b for a, b in zip(point, pose[:3])])),
                "orientation": list(q_mul(back, turn))}

    def unused_name(self, name: str) -> str:
        """A name that no bone and no body has."""
        while name in self._taken or name in self.body_index:
            name += "'"
        return name

    def add_joint(self, i: int, parent: str, parent_pose: Pose) -> None:
        """The joint of a bone that goals may turn."""
        bone, joint, motion = self.shot.bones[i], self.ik.joints[i], self.motions[i]
        if joint.kind in ("hinge", "slide"):
            self._add_robot_joint(i, parent, parent_pose)
            return
        if _is_ball(self.ik, i):
            parts = [_Part(bone.name, "ball", motion.turns, stiffness=joint.stiffness[0])]
            end: Quaternion = IDENTITY
        elif motion.angles:
            parts, end = self._hinges(i)
        else:
            parts, end = self._animated(i)
        self._add_row(i, parent, parent_pose, [*self._slides(i), *parts], end)

    def add_follower(self, i: int, parent: str, parent_pose: Pose) -> None:
        """A bone that moves with a body, and as it is animated."""
        parts, end = self._animated(i)
        self._add_row(i, parent, parent_pose, [*self._slides(i), *parts], end)

    def _animated(self, i: int) -> Tuple[List[_Part], Quaternion]:
        """(parts, constant turn after them) of a bone that no goal turns."""
        turns = self.motions[i].turns
        if all(abs(sum(a * b for a, b in zip(turn, turns[0]))) > 1 - ANIMATED_TOL ** 2 / 8
               for turn in turns):
            return [], turns[0]
        return [_Part(self.shot.bones[i].name, "ball", turns, stiffness=1.0)], IDENTITY

    def _hinges(self, i: int) -> Tuple[List[_Part], Quaternion]:
        """Hinges about the free axes, and hinges of stiffness 1 about those that are locked but
        animated. The turn about an axis that is locked and still is constant."""
        bone, joint = self.shot.bones[i], self.ik.joints[i]
        still: Quaternion = IDENTITY
        parts: List[_Part] = []
        free = free_axes(bone)
        for k, axis in enumerate(joint.order[::-1]):
            values = [row[k] for row in self.motions[i].angles]
            if axis not in free and not _varies(values, ANIMATED_TOL):
                still = q_mul(still, q_about(AXES[axis], values[0]))
                continue
            limits = bone.limits.get(axis) if axis in free else None
            parts.append(_Part(
                self.unused_name(f"{bone.name}.{axis}"), "hinge", values, axis, Z_TO_AXIS[axis],
                still, limits if limits and limits[1] - limits[0] < 2 * math.pi else None,
                1.0 if axis not in free else joint.stiffness["XYZ".index(axis)]))
            still = IDENTITY
        return parts, still

    def _slides(self, i: int) -> List[_Part]:
        """Slides of stiffness 1 for a bone whose head moves in its parent's axes."""
        bone, out = self.shot.bones[i], []
        tolerance = 1e-5 * self.metres * bone.length
        for axis, column in zip("XYZ", self.motions[i].heads):
            values = [x - column[0] for x in column]
            if _varies(values, tolerance):
                out.append(_Part(self.unused_name(f"{bone.name}.move{axis}"), "slide", values, axis,
                                 Z_TO_AXIS[axis], stiffness=1.0))
        return out

    def _head(self, i: int) -> List[float]:
        pose = self.pose(i)
        return [p + d for p, d in zip(pose[:3], q_rotate(
            pose[3:], (0, -half_length(self.shot, i), 0)))]

    def _add_row(self, i: int, parent: str, parent_pose: Pose, parts: Sequence[_Part],
                 end: Quaternion) -> None:
        """Joints one after the other, with bodies without size between them; a fixed joint if
        there are none. end: a constant turn after them."""
        bone, pose = self.shot.bones[i], self.pose(i)
        child: Dict[str, Any] = {"position": [0.0, -half_length(self.shot, i), 0.0]}
        socket = q_mul(pose[3:], q_conj(self.motions[i].turns[0]))
        frame = self.frame_in(parent_pose, self._head(i), socket)
        if not parts:
            frame["orientation"] = list(q_mul(frame["orientation"], end))
            self.scene.joints.append(documents.Joint(bone.name, "fixed", [parent, bone.name],
                                                     frames=[frame, child]))

        for part in parts:
            is_last = part is parts[-1]
            to = bone.name if is_last else self._add_body_between(part.name)
            up = q_mul(frame["orientation"], part.before)
            inner: Dict[str, Any] = {"orientation": list(part.spin)}
            if is_last:
                inner = {**child, "orientation": list(q_mul(q_conj(end), part.spin))}
            first = part.values[0]
            self._add(part, bone.name, documents.Joint(
                part.name, part.kind, [parent, to],
                q=list(first) if part.kind == "ball" else first,
                frames=[{**frame, "orientation": list(q_mul(up, part.spin))}, inner]))
            parent, frame = to, {"orientation": [1.0, 0.0, 0.0, 0.0]}

    def _add(self, part: _Part, bone: str, joint: documents.Joint) -> None:
        if part.limits:
            joint.limits = list(part.limits)
            self.limits.append((bone, part.axis, joint.name, part.limits[0], part.limits[1]))
        if part.stiffness > 0:
            self.stiffness[joint.name] = min(part.stiffness, 1.0)
        if part.stiffness < 1:
            self.movable.setdefault(bone, []).append(joint.name)
        self.base[joint.name] = part.values
        self.bone_of[joint.name] = bone
        self.scene.joints.append(joint)

    def _add_body_between(self, name: str) -> str:
        """A body without size; returns its name."""
        name = self.unused_name(f"{name} (between)")
        self.body_index[name] = len(self.body_index)
        self.scene.bodies.append(documents.Body(name))
        return name

    # ---- robots ----

    def _add_robot_joint(self, i: int, parent: str, parent_pose: Pose) -> None:
        bone, joint, turns = self.shot.bones[i], self.ik.joints[i], self.motions[i].turns
        unit, spin = AXES[joint.axis], Z_TO_AXIS[joint.axis]
        if joint.sign < 0:
            spin = q_mul(spin, (0.0, 1.0, 0.0, 0.0))
        socket = q_mul(self.pose(i)[3:], q_conj(turns[0]))
        head, index = self._head(i), "XYZ".index(joint.axis)
        limits: Optional[Sequence[float]] = joint.limits
        if joint.kind == "hinge":
            values = self._hinge_values(i, unit)
        else:
            at, width = 16 * i + 12 + index, 16 * len(self.shot.bones)
            values = [joint.sign * self.metres * v for v in self.shot.basis[at::width]]
            head = [p - d for p, d in zip(head, q_rotate(
                socket, [x * joint.sign * values[0] for x in unit]))]
            limits = [v * self.metres for v in limits] if limits else None

        frames = [self.frame_in(parent_pose, head, q_mul(socket, spin)),
                  {"position": [0.0, -half_length(self.shot, i), 0.0],
                   "orientation": list(spin)}]
        part = _Part(bone.name, joint.kind, values, joint.axis, limits=limits,
                     stiffness=joint.stiffness[index])
        self._add(part, bone.name, documents.Joint(bone.name, joint.kind, [parent, bone.name],
                                                   q=values[0], frames=frames))

    def _hinge_values(self, i: int, unit: Vector) -> List[float]:
        """The angle of a robot's hinge per frame, with whole turns if the bone's rotation mode has
        angles, and within its limits if it can be."""
        bone, joint = self.shot.bones[i], self.ik.joints[i]
        values = [joint.sign * twist_about(turn, unit) for turn in self.motions[i].turns]
        if bone.rotation not in ROTATION_PROPERTIES:
            values[0] = _near(values[0], joint.sign * bone.near["XYZ".index(joint.axis)])
        if joint.limits and not joint.limits[0] <= values[0] <= joint.limits[1]:
            values[0] = _near(values[0], (joint.limits[0] + joint.limits[1]) / 2)
        for n in range(1, len(values)):
            values[n] = _near(values[n], values[n - 1])
        return values

    def add_mimics(self, moving: Moving) -> None:
        joints = {joint.name: joint for joint in self.scene.joints}
        size = self.metres / self.shot.unit
        for i, source in self.ik.mimic_sources.items():
            joint, mimic = self.ik.joints[i], self.ik.joints[i].mimic
            if mimic is None or i not in moving.turns or source not in moving.turns:
                continue
            scaled = mimic.scaled(joint.kind, self.ik.joints[source].kind, size)
            joints[self.shot.bones[i].name].mimic = {
                **scaled.fields(), "joint": self.shot.bones[source].name}
