# SPDX-License-Identifier: GPL-3.0-or-later
"""The bodies of the body plan, seen from their bones.

The body plan is made at rest, in the axes and units of the armature. Everything after it needs the
same in the axes of each bone, in metres at the first frame: where the body is, what shape it has,
where its joint is and along which axis its limits are measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import List, Optional, Sequence, Tuple

from .algebra import (AXES, IDENTITY, ORIGIN, Quaternion, Vector, Vector3, across, cross, dot,
                      norm, q_about, q_conj, q_mul, q_of_matrix, q_rotate, sub, times)
from .body_plan import Body, BodyPlan
from .body_shape import capsule_volume
from .scales import scale_at
from .shot import BoneShot, Shot

RADIUS_DEFAULT = 0.12       # of a bone's length
BONE_IN_BODY = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)   # axes of the bone in a body along it


@dataclass(frozen=True)
class Shape:
    """The shape of a body, centred at its centre of mass, z along its length [m]."""
    kind: str = "capsule"   # or "box"
    length: float = 0.0     # of a capsule, between the centres of the caps
    radius: float = 0.0
    edges: Vector3 = ORIGIN     # of a box

    @property
    def reach(self) -> float:
        """From the middle to an end."""
        return max(self.edges) / 2 if self.kind == "box" else self.length / 2 + self.radius

    @property
    def volume(self) -> float:
        if self.kind == "box":
            return self.edges[0] * self.edges[1] * self.edges[2]
        return capsule_volume(self.length, self.radius)

    def extent(self, direction: Vector) -> float:
        """From the centre to the farthest point along a direction of unit length in body axes; of
        a capsule without its radius."""
        if self.kind == "box":
            return sum(abs(a * b) for a, b in zip(direction, self.edges)) / 2
        return abs(direction[2]) * self.length / 2

    def scaled(self, factor: float) -> Shape:
        x, y, z = (edge * factor for edge in self.edges)
        return replace(self, length=self.length * factor, radius=self.radius * factor,
                       edges=(x, y, z))


@dataclass(frozen=True)
class BoneBody:
    """The body of a bone and the joint that attaches it, in the axes of the bone, from its head."""
    centre: Vector3         # of mass [m]
    axes: Quaternion        # the bone's axes in those of the body
    shape: Shape
    anchor: Vector3 = ORIGIN                # the joint [m]
    limb: Quaternion = q_conj(BONE_IN_BODY)     # z is the axis of cone and twist
    part: str = "other"                     # anatomical part
    hinge: Optional[Tuple[Vector3, float, float]] = None    # axis, low, high [rad] from rest
    cone: float = math.radians(50)          # of a ball joint, from rest [rad]
    twist: float = math.radians(25)

    def point(self, at: Vector = ORIGIN) -> Vector3:
        """A point of the bone [m] in the axes of its body, from the centre of mass."""
        return q_rotate(self.axes, sub(at, self.centre))


def capsule_of(length: float, radius: float) -> Tuple[float, float]:
    """(length between the centres of the caps, radius) of a capsule along a bone. radius 0: from
    the length."""
    radius = min(max(radius or RADIUS_DEFAULT * length, 0.02 * length), 0.6 * length)
    return max(length - 2 * radius, 0.1 * length), radius


def bone_metres(shot: Shot, i: int) -> float:
    """Metres per unit of the axes of a bone, at the first frame."""
    return shot.metres * scale_at(shot, i)[1]


def half_length(shot: Shot, i: int) -> float:
    """Half the length of a bone [m], at the first frame."""
    return 0.5 * shot.bones[i].length * bone_metres(shot, i)


def along_bone(shot: Shot, i: int) -> BoneBody:
    """A capsule along the bone, with the joint at its head. The link of a robot has the centre of
    mass of the robot's document."""
    bone, centre = shot.bones[i], (0.0, half_length(shot, i), 0.0)
    if bone.robot and bone.robot.com and bone.robot.inertia:
        x, y, z = (v * shot.metres for v in bone.robot.com)
        centre = (x, y, z)
    metres = bone_metres(shot, i)
    length, radius = capsule_of(bone.length * metres, bone.settings.radius * metres)
    return BoneBody(centre, BONE_IN_BODY, Shape("capsule", length, radius))


# ---- bodies of the plan ----

def turn_between(a: Vector, b: Vector) -> Quaternion:
    """The shortest rotation that turns one direction into another."""
    axis, cosine = cross(a, b), dot(a, b)
    if norm(axis) > 1e-9 * norm(a) * norm(b):
        return q_about(axis, math.atan2(norm(axis), cosine))
    return IDENTITY if cosine >= 0 else q_about(across(a), math.pi)


class _Bone:
    """Turns points and directions of the armature at rest into those of a bone."""

    def __init__(self, bone: BoneShot) -> None:
        self.head, self.back = bone.rest[12:15], q_conj(q_of_matrix(bone.rest))

    def point(self, at: Vector) -> Vector3:
        return q_rotate(self.back, sub(at, self.head))

    def direction(self, along: Vector) -> Vector3:
        return q_rotate(self.back, along)


def in_bone(bone: BoneShot, point: Vector) -> Vector3:
    """A point of the armature at rest in the axes of a bone, from its head."""
    return _Bone(bone).point(point)


def _limb_axis(plan: BodyPlan, k: int) -> Vector:
    """From the joint of a body towards the middle of the joints below it, else of the body."""
    body = plan.bodies[k]
    ends = [other.joint for other in plan.bodies if other.parent == k]
    end = [sum(each) / len(ends) for each in zip(*ends)] if ends else body.shape.centre
    along = sub(end, body.joint)
    if norm(along) < 1e-3 * (body.shape.length + 2 * body.shape.radius + max(body.shape.edges)):
        along = sub(body.shape.centre, body.joint)
    return along if norm(along) > 0 else q_rotate(body.shape.orientation, AXES["Z"])


def _own_shape(bone: BoneShot, fitted: Shape, centre: Vector3,
               axes: Quaternion) -> Tuple[Shape, Vector3, Quaternion]:
    """The shape, its centre and the bone's axes in the body: those of the user, where he has set
    them; in units of the bone."""
    settings = bone.settings
    if settings.shape == "AUTO":
        if settings.radius > 0 and fitted.kind == "capsule":
            whole = fitted.length + 2 * fitted.radius
            fitted = replace(fitted, radius=settings.radius,
                             length=max(whole - 2 * settings.radius, 0.0))
        return fitted, centre, axes

    x, y, z = settings.shape_size
    if settings.shape == "BOX":
        shape = Shape("box", edges=(x, y, z))
    else:
        radius = max(x, y) / 2
        shape = Shape("capsule", max(z - 2 * radius, 0.0), radius)
    a, b, c = settings.shape_rotation
    turn = q_mul(q_about(AXES["Z"], c), q_mul(q_about(AXES["Y"], b), q_about(AXES["X"], a)))
    dx, dy, dz = settings.shape_offset
    return shape, (dx, dy, dz), q_conj(turn)


def _bone_body(shot: Shot, plan: BodyPlan, k: int) -> BoneBody:
    body: Body = plan.bodies[k]
    bone, given = shot.bones[body.bone], body.shape
    frame, metres = _Bone(bone), bone_metres(shot, body.bone)

    # The shape, at first in units of the armature.
    axes = q_conj(q_mul(frame.back, given.orientation))
    shape, centre, axes = _own_shape(
        bone, Shape(given.kind, given.length, given.radius, given.edges),
        frame.point(given.centre), axes)

    hinge = body.hinge
    if hinge is not None:
        hinge = (frame.direction(hinge[0]), *hinge[1:])
    limb = turn_between(AXES["Z"], frame.direction(_limb_axis(plan, k)))
    x, y, z = times(centre, metres)
    u, v, w = times(frame.point(body.joint), metres)
    return BoneBody((x, y, z), axes, shape.scaled(metres), (u, v, w), limb, body.part, hinge,
                    body.cone, body.twist)


def bone_bodies(shot: Shot, plan: Optional[BodyPlan],
                roles: Sequence[str]) -> Tuple[Optional[BoneBody], ...]:
    """The body of every bone that has one. Without a plan, as for robots, bodies lie along their
    bones."""
    out: List[Optional[BoneBody]] = []
    for i, role in enumerate(roles):
        if role == "NONE":
            out.append(None)
        elif plan is None or plan.body_of[i] < 0 or plan.bodies[plan.body_of[i]].bone != i:
            out.append(along_bone(shot, i))
        else:
            out.append(_bone_body(shot, plan, plan.body_of[i]))
    return tuple(out)
