# SPDX-License-Identifier: GPL-3.0-or-later
"""Points of the skin that stand out of the bodies: heels, toes, ears, muzzles.

A capsule of the median radius leaves parts of the skin outside. Those that stand out farthest
become contact points of the body, so that they touch the ground and do not sink into it."""

from __future__ import annotations

import math
from typing import Dict, List, Optional, Sequence, Tuple

from .algebra import Vector, Vector3, sub
from .body_plan import BodyPlan, BodyShape
from .bone_bodies import BoneBody, bone_metres, in_bone
from .shot import Shot, SkinShot

FOLLOWS_MIN = 0.5           # weight of a body from which on a vertex moves with it
OUTSIDE_MIN = 0.003         # of the figure's height: how far a point must stand out
POINTS_MAX = 20             # per body
VERTICES_MAX = 20000        # that are looked at

Pair = Tuple[float, Vector3]    # (distance outside of the shape, point); armature units


def _outside(shape: BodyShape, axes: Sequence[Vector3], point: Vector) -> float:
    """The distance of a point from the surface of a shape; negative inside."""
    off = sub(point, shape.centre)
    x, y, z = (sum(a * b for a, b in zip(off, axis)) for axis in axes)
    if shape.kind == "box":
        gaps = [abs(v) - edge / 2 for v, edge in zip((x, y, z), shape.edges)]
        return math.hypot(*(max(gap, 0.0) for gap in gaps)) or max(gaps)
    along = max(abs(z) - shape.length / 2, 0.0)
    return math.hypot(x, y, along) - shape.radius


def _body_of_vertex(skin: SkinShot, plan: BodyPlan, v: int) -> int:
    """The body that a vertex moves with; -1: it is between bodies."""
    sums: Dict[int, float] = {}
    for k in range(skin.offsets[v], skin.offsets[v + 1]):
        body = plan.body_of[skin.bones[k]]
        sums[body] = sums.get(body, 0.0) + skin.weights[k]
    best = max(sums, key=lambda body: sums[body], default=-1)
    return best if best >= 0 and sums[best] >= FOLLOWS_MIN * sum(sums.values()) else -1


def _spread(found: List[Pair], apart: float) -> List[Vector3]:
    """The points that stand out farthest, none of them near another."""
    out: List[Vector3] = []
    for _distance, point in sorted(found, reverse=True):
        if all(math.dist(point, other) > apart for other in out):
            out.append(point)
        if len(out) == POINTS_MAX:
            break
    return out


def outline(shot: Shot, plan: Optional[BodyPlan],
            bodies: Sequence[Optional[BoneBody]]) -> Dict[int, List[Vector3]]:
    """Contact points of bodies by bone, in the axes of the body [m]."""
    skin = shot.skin
    if skin is None or plan is None or not plan.whole_skin:
        return {}
    tolerance = OUTSIDE_MIN * plan.height
    axes = [body.shape.axes() for body in plan.bodies]
    found: Dict[int, List[Pair]] = {}
    count = len(skin.offsets) - 1
    for v in range(0, count, max(1, count // VERTICES_MAX)):
        k = _body_of_vertex(skin, plan, v)
        if k < 0:
            continue
        x, y, z = skin.vertices[3 * v:3 * v + 3]
        distance = _outside(plan.bodies[k].shape, axes[k], (x, y, z))
        if distance > tolerance:
            found.setdefault(k, []).append((distance, (x, y, z)))

    out: Dict[int, List[Vector3]] = {}
    for k, pairs in found.items():
        bone, shape = plan.bodies[k].bone, plan.bodies[k].shape
        body = bodies[bone]
        if body is None or shot.bones[bone].settings.shape != "AUTO":
            continue
        metres = bone_metres(shot, bone)
        apart = 0.35 * max(shape.radius, min(shape.edges) / 2)
        out[bone] = [body.point([metres * v for v in in_bone(shot.bones[bone], point)])
                     for point in _spread(pairs, apart)]
    return out
