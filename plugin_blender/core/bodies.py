# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies of bones in a document: shape, mass, inertia, soft masses. All in SI units."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence

from .algebra import Pose, q_rotate, rotate_inertia
from .binding import scene as documents
from .body_plan import BodyPlan
from .bone_bodies import (BONE_IN_BODY, BoneBody, Shape, along_bone, bone_bodies,
                          half_length)
from .plan import Plan
from .presets import PRESETS
from .roles import body_plan_of
from .shot import BoneShot, Shot, ancestors

SOFTNESS_MIN = 1e-3
STRAND_PARTS = ("tail", "rope", "other")
STRAND_LINKS = 4            # links that make a strand
SPHERE = 1e-6               # of its radius: a shorter capsule is a sphere


@dataclass(frozen=True)
class Size:
    """The shape of a body and its mass."""
    shape: Shape
    mass: float             # [kg]


# ---- masses ----

def _given_mass(bone: BoneShot) -> float:
    """The mass that a bone was given [kg]; 0: none. The number in the panel has single precision:
    if it is that of the robot's document, the document's number is used."""
    given, of_robot = bone.settings.mass, bone.robot.mass if bone.robot else 0.0
    return of_robot if abs(given - of_robot) <= 1e-6 * of_robot else given


def _weights(shot: Shot, plan: Optional[BodyPlan],
             shapes: Mapping[int, Shape]) -> Dict[int, float]:
    """The mass [kg] that each body has if the user gives none, by bone."""
    density, source = shot.settings.density, shot.settings.mass_from
    cubic = shot.metres ** 3
    out = {i: density * shape.volume for i, shape in shapes.items()}
    if plan is None or source == "LENGTH":
        return out
    whole = plan.total_mass(density, shot.metres)
    for body in plan.bodies:
        if body.bone in out:
            out[body.bone] = density * body.volume * cubic if source == "MESH" else \
                whole * body.mass_share
    return out


def body_masses(shot: Shot, plan: Optional[BodyPlan], shapes: Mapping[int, Shape]
                ) -> Dict[int, float]:
    """The masses of bodies [kg], by bone. Bodies whose mass is not given share the rest of the
    total mass."""
    weights = _weights(shot, plan, shapes)
    given = {i: _given_mass(shot.bones[i]) for i in shapes}
    free, taken = sum(weights[i] for i in given if not given[i]), sum(given.values())
    factor = 1.0
    if shot.settings.total_mass > taken and free > 0:
        factor = (shot.settings.total_mass - taken) / free
    return {i: given[i] or factor * weights[i] for i in shapes}


def body_sizes(plan: Plan) -> Dict[int, Size]:
    """The sizes of all bodies, by bone."""
    shapes = {i: body.shape for i, body in enumerate(plan.bodies) if body is not None}
    masses = body_masses(plan.shot, plan.body_plan, shapes)
    return {i: Size(shape, masses[i]) for i, shape in shapes.items()}


def bone_masses(shot: Shot, some: Sequence[int],
                library: Optional[str] = None) -> Dict[int, float]:
    """The masses [kg] of some bones. A body whose bone is not among them counts for the first bone
    above it that is."""
    if any(bone.robot for bone in shot.bones):
        return body_masses(shot, None, {i: along_bone(shot, i).shape for i in some})
    whole = replace(shot, settings=replace(shot.settings, only_selected=False))
    plan = body_plan_of(whole, library)
    roles = ["DYNAMIC" if k >= 0 and plan.bodies[k].bone == i else "NONE"
             for i, k in enumerate(plan.body_of)]
    shapes = {i: body.shape for i, body in enumerate(bone_bodies(shot, plan, roles))
              if body is not None}

    out = {i: 0.0 for i in some}
    for i, mass in body_masses(shot, plan, shapes).items():
        at = next((k for k in (i, *ancestors(shot.bones, i)) if k in out), None)
        if at is not None:
            out[at] += mass
    return out


# ---- bodies of a document ----

def shape_fields(shape: Shape) -> Dict[str, object]:
    """The shape of a body in a document."""
    if shape.kind == "box":
        return {"type": "box", "size": list(shape.edges)}
    if shape.length <= SPHERE * shape.radius:
        return {"type": "sphere", "radius": shape.radius}
    return {"type": "capsule", "length": shape.length, "radius": shape.radius}


def strands(plan: Optional[BodyPlan]) -> Dict[int, int]:
    """The collision groups of ropes, tails and strands of hair, by bone: links of one strand do not
    collide with each other, which would cost more than it shows, but with all other bodies."""
    bodies = plan.bodies if plan else ()
    children = [sum(1 for body in bodies if body.parent == k) for k in range(len(bodies))]
    length: List[int] = []                  # of the strand up to each body
    top: List[int] = []                     # the first body of its strand
    for k, body in enumerate(bodies):
        up, loose = body.parent, body.part in STRAND_PARTS
        goes_on = loose and up >= 0 and length[up] > 0 and children[up] == 1
        before = length[up] if goes_on else 0
        length.append(before + 1 if loose else 0)
        top.append(top[up] if goes_on else k)

    longest: Dict[int, int] = {}
    for k, first in enumerate(top):
        longest[first] = max(longest.get(first, 0), length[k])
    return {bodies[k].bone: first + 1 for k, first in enumerate(top)
            if longest[first] >= STRAND_LINKS}


def make_body(shot: Shot, i: int, role: str, own: BoneBody, size: Size, pose: Pose,
              group: int = 0) -> documents.Body:
    """The body of a bone. A driven one is fixed as long as it has no path. group: see strands."""
    bone, robot = shot.bones[i], shot.bones[i].robot
    body = documents.Body(
        name=bone.name, mass=size.mass, position=list(pose[:3]), orientation=list(pose[3:7]),
        shape=shape_fields(size.shape))
    if role in ("DRIVEN", "PINNED"):
        body.motion = "fixed"
    if bone.settings.collide:
        body.collide = group or True

    # A link has the inertia of the robot's document, and touches with its end.
    if robot and robot.inertia:
        scale = shot.object_scale
        body.inertia = [v * scale ** 2 for v in rotate_inertia(robot.inertia, BONE_IN_BODY)]
        end = (0.0, 2 * half_length(shot, i), 0.0)
        body.shape, body.contacts = None, [list(own.point(end))]
        body.estimated = robot.estimated or None
        if body.estimated == "mass" and size.mass != robot.mass:    # the user gave the mass
            body.estimated = "inertia"
    return body


def make_soft_mass(shot: Shot, i: int, parent: str, size: Size, pose: Pose,
                   gravity: float) -> documents.Wobble:
    """A soft mass that sags by `softness` of its length under its weight: c x^3 = m g. It turns
    like a ball, because its axes are those of its parent body."""
    bone, mass = shot.bones[i], size.mass
    sag = 2 * max(bone.settings.softness, SOFTNESS_MIN) * size.shape.reach

    # The cubic spring c x^3 has the stiffness 3 c sag^2 about the sag.
    c, damping = mass * gravity / sag ** 3, PRESETS["SOFT"].damping
    stiffness = 3 * mass * gravity / sag
    d = 2 * damping * math.sqrt(stiffness * mass)

    # It turns with the frequency with which it shifts.
    inertia = 0.4 * mass * size.shape.reach ** 2
    angular = stiffness / mass * inertia
    return documents.Wobble(
        name=bone.name, body=parent, mass=mass, position=list(pose[:3]), inertia=[inertia] * 3,
        axis=list(q_rotate(pose[3:7], (0, 0, 1))),
        longitudinal={"c": c, "d": d}, transversal={"c": c, "d": d},
        angular={"a": angular, "b": 2 * damping * math.sqrt(angular * inertia)})
