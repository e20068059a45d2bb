# SPDX-License-Identifier: GPL-3.0-or-later
"""Joint types and ranges of bodies: hinges with their axes, balls with cone and twist.

Angles count from rest. A hinge bends about the axis about which it is bent at rest, in the same
direction; a straight knee swings the shin back, a straight elbow swings the forearm forward."""

from __future__ import annotations

import math
from typing import Dict, List, Optional, Tuple

from .algebra import Vector3, cross, dot, norm
from .body_parts import Parts, forward_of
from .body_rest import unit
from .body_skeleton import Skeleton

Hinge = Tuple[Vector3, float, float]

BENT = math.radians(5)              # a limb that is bent less at rest shows no axis
OVERSTRETCH = math.radians(5)       # beyond straight, of a limb that is straight at rest
HINGE_RANGE = math.radians(140)     # from straight
ANIMAL_RANGE = math.radians(110)    # of a hock and a carpus

# Cone and twist to either side [degrees]. Those of neck and spine are for all links together.
BALL_RANGES_DEG: Dict[str, Tuple[float, float]] = {
    "pelvis": (25, 20), "spine": (25, 20), "chest": (25, 20), "neck": (40, 45), "head": (30, 30),
    "collar": (20, 10), "upper_arm": (85, 45), "forearm": (50, 25), "hand": (50, 20),
    "finger": (40, 5), "thigh": (60, 30), "shin": (50, 25), "foot": (35, 15), "toe": (40, 5),
    "tail": (40, 15), "rope": (70, 30), "wing": (80, 30), "feather": (10, 5), "fin": (10, 5),
    "face": (5, 5), "flesh": (20, 10), "other": (50, 25)}
SCAPULA_DEG = (30, 10)              # of an animal
TRUNK = ("pelvis", "spine", "chest")
BACKWARD = ("shin", "hand")         # a straight one swings back: knee, carpus; others forward


def ball_ranges(skeleton: Skeleton, parts: Parts) -> List[Tuple[float, float]]:
    """Cone and twist [rad] of every body, as if it had a ball joint."""
    s, out = skeleton, []
    links = {TRUNK: 0, ("neck",): 0}
    for some in links:
        links[some] = max(1, sum(s.parent[n] >= 0 for n in parts.bodies(*some)))
    for part in parts.parts:
        cone, twist = BALL_RANGES_DEG.get(part, BALL_RANGES_DEG["other"])
        if part == "collar" and parts.creature == "animal":
            cone, twist = SCAPULA_DEG
        share = next((count for some, count in links.items() if part in some), 1)
        out.append((math.radians(cone) / share, math.radians(twist) / share))
    return out


def hinges(skeleton: Skeleton, parts: Parts) -> List[Optional[Hinge]]:
    """The hinge of every body; None: a ball joint."""
    forward = forward_of(skeleton, parts)
    return [_hinge(skeleton, parts, n, forward) for n in range(len(skeleton))]


def _hinge(s: Skeleton, parts: Parts, n: int, forward: Vector3) -> Optional[Hinge]:
    part, up = parts.parts[n], s.parent[n]
    animal = parts.creature == "animal"
    if up < 0 or part not in (("shin", "forearm", "foot", "hand") if animal else
                              ("shin", "forearm")):
        return None
    if part == "shin" and parts.parts[up] not in ("thigh", "shin") or \
            part == "forearm" and parts.parts[up] not in ("upper_arm", "forearm"):
        return None

    before, own = unit([a - b for a, b in zip(s.joint[n], s.joint[up])]), s.direction(n)
    axis = cross(before, own)
    bend = math.atan2(norm(axis), dot(before, own))
    outer = part in ("foot", "hand")
    span = ANIMAL_RANGE if outer else HINGE_RANGE
    if bend > BENT:
        return unit(axis), -bend, max(span - bend, 0.0)
    if outer:
        return None

    # a x d = swing: the axis about which a limb along d begins to move in that direction.
    swing = [-v for v in forward] if part in BACKWARD else forward
    axis = cross(own, swing)
    if norm(axis) < 0.1:
        return None
    return unit(axis), -OVERSTRETCH, span
