# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies of bones: shape, mass, inertia, soft masses.

A bone with a body is a capsule along the bone: z of the body is y of the bone, and the centre of
mass is the middle of the bone unless a robot's document says otherwise. All in SI units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, Sequence, Tuple

from .algebra import ORIGIN, Pose, Vector, Vector3, q_rotate, rotate_inertia
from .binding import scene as documents
from .presets import PRESETS
from .scales import scale_at
from .shot import BoneShot, Shot

RADIUS_DEFAULT = 0.12       # of a bone's length
SOFTNESS_MIN = 1e-3
BONE_IN_BODY = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)   # axes of the bone in its body


@dataclass(frozen=True)
class Size:
    """The capsule of a bone and its mass."""
    length: float           # between the centres of the caps [m]
    radius: float           # [m]
    mass: float             # [kg]

    @property
    def reach(self) -> float:
        """From the middle to an end."""
        return self.length / 2 + self.radius


def half_length(shot: Shot, i: int) -> float:
    """Half the length of a bone [m], at the first frame."""
    return 0.5 * shot.bones[i].length * shot.metres * scale_at(shot, i)[1]


def point_in_body(shot: Shot, i: int, point: Vector = ORIGIN) -> Vector3:
    """A point of a bone (from its head in its axes [m]) in the axes of its body, from its centre
    of mass."""
    bone, middle = shot.bones[i], (0.0, half_length(shot, i), 0.0)
    if bone.robot and bone.robot.com and bone.robot.inertia:
        x, y, z = (v * shot.metres for v in bone.robot.com)
        middle = (x, y, z)
    return q_rotate(BONE_IN_BODY, [a - b for a, b in zip(point, middle)])


# ---- sizes ----

def capsule_of(length: float, radius: float) -> Tuple[float, float]:
    """(length between the centres of the caps, radius) of a bone's capsule. radius 0: from its
    length."""
    radius = min(max(radius or RADIUS_DEFAULT * length, 0.02 * length), 0.6 * length)
    return max(length - 2 * radius, 0.1 * length), radius


def _given_mass(bone: BoneShot) -> float:
    """The mass that a bone was given [kg]; 0: none. The number in the panel has single precision:
    if it is that of the robot's document, the document's number is used."""
    given, of_robot = bone.settings.mass, bone.robot.mass if bone.robot else 0.0
    return of_robot if abs(given - of_robot) <= 1e-6 * of_robot else given


def body_sizes(shot: Shot, roles: Sequence[str]) -> Dict[int, Size]:
    """The sizes of all bones with a body, by bone."""
    settings = shot.settings
    capsules: Dict[int, Tuple[float, float]] = {}
    volumes: Dict[int, float] = {}
    for i, bone in enumerate(shot.bones):
        if roles[i] == "NONE":
            continue
        metres = shot.object_scale * scale_at(shot, i)[1] * shot.unit
        length, radius = capsule_of(bone.length * metres,
                                    (bone.settings.radius or bone.thickness) * metres)
        capsules[i] = length, radius
        volumes[i] = math.pi * radius ** 2 * (length + 4 / 3 * radius)
        if settings.mass_from == "MESH" and bone.volume > 0:
            volumes[i] = bone.volume * (shot.object_scale * shot.unit) ** 3

    # The bones whose mass is not given share the rest of the total mass by their volumes.
    given = {i: _given_mass(shot.bones[i]) for i in capsules}
    free, taken = sum(volumes[i] for i in given if not given[i]), sum(given.values())
    density = settings.density
    if settings.total_mass > taken and free > 0:
        density = (settings.total_mass - taken) / free
    return {i: Size(*capsule, given[i] or density * volumes[i])
            for i, capsule in capsules.items()}


# ---- bodies of a document ----

def make_body(shot: Shot, i: int, role: str, size: Size, pose: Pose) -> documents.Body:
    """The body of a bone. A driven one is fixed as long as it has no path."""
    bone, robot = shot.bones[i], shot.bones[i].robot
    body = documents.Body(
        name=bone.name, mass=size.mass, position=list(pose[:3]), orientation=list(pose[3:7]),
        shape={"type": "capsule", "length": size.length, "radius": size.radius})
    if role in ("DRIVEN", "PINNED"):
        body.motion = "fixed"
    body.collide = True if bone.settings.collide else None

    # A link has the inertia of the robot's document, and touches with its end.
    if robot and robot.inertia:
        scale = shot.object_scale
        body.inertia = [v * scale ** 2 for v in rotate_inertia(robot.inertia, BONE_IN_BODY)]
        end = (0.0, 2 * half_length(shot, i), 0.0)
        body.shape, body.contacts = None, [list(point_in_body(shot, i, end))]
        body.estimated = robot.estimated or None
        if body.estimated == "mass" and size.mass != robot.mass:    # the user gave the mass
            body.estimated = "inertia"
    return body


def make_soft_mass(shot: Shot, i: int, parent: str, size: Size, pose: Pose,
                   gravity: float) -> documents.Wobble:
    """A soft mass that sags by `softness` of its length under its weight: c x^3 = m g. It turns
    like a ball, because its axes are those of its parent body."""
    bone, mass = shot.bones[i], size.mass
    sag = max(bone.settings.softness, SOFTNESS_MIN) * (size.length + 2 * size.radius)

    # The cubic spring c x^3 has the stiffness 3 c sag^2 about the sag.
    c, damping = mass * gravity / sag ** 3, PRESETS["SOFT"].damping
    stiffness = 3 * mass * gravity / sag
    d = 2 * damping * math.sqrt(stiffness * mass)

    # It turns with the frequency with which it shifts.
    inertia = 0.4 * mass * (size.length / 2 + size.radius) ** 2
    angular = stiffness / mass * inertia
    return documents.Wobble(
        name=bone.name, body=parent, mass=mass, position=list(pose[:3]), inertia=[inertia] * 3,
        axis=list(q_rotate(pose[3:7], (0, 0, 1))),
        longitudinal={"c": c, "d": d}, transversal={"c": c, "d": d},
        angular={"a": angular, "b": 2 * damping * math.sqrt(angular * inertia)})
