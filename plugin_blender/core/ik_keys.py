# SPDX-License-Identifier: GPL-3.0-or-later
"""How exact the keys of bones must be so that their goals stay reached.

The error of every bone of a chain moves its end: by the angle times the distance of the end, at
most. The bones of a chain share the tolerance of the goals, so that a goal that is reached before
keys are removed is off by no more than twice the tolerance afterwards."""

from __future__ import annotations

import math
from typing import Dict, List

from .ik_build import IkPlan
from .ik_shot import GoalShot, bone_number
from .key_reduction import Tolerance
from .shot import Shot, ancestors


def _reaches(shot: Shot, path: List[int]) -> List[float]:
    """[m] for every bone of a path from a tip upwards: how far the tail of the tip can be from the
    head of the bone."""
    out, reach = [], shot.bones[path[0]].length
    for k, i in enumerate(path):
        if k > 0:
            reach += math.dist(shot.bones[i].rest[12:15], shot.bones[path[k - 1]].rest[12:15])
        out.append(reach * shot.metres)
    return out


def _path(plan: IkPlan, goal: GoalShot) -> List[int]:
    """The bone of a goal and all bones above it."""
    tip = bone_number(plan.shot, goal.bone)
    return [tip, *ancestors(plan.shot.bones, tip)]


def goal_limits(plan: IkPlan) -> Dict[str, Tolerance]:
    """{bone: (m, rad)} of bones that goals move. For a goal of the centre of mass all bones count
    as one long chain."""
    shot, tolerance = plan.shot, plan.ik.settings.tolerance
    moved, out = set(plan.own_bodies), {}
    for goal in plan.ik.goals:
        if goal.kind == "CENTRE":
            path = sorted(moved)
            reaches = [sum(bone.length for bone in shot.bones) * shot.metres] * len(path)
        else:
            path = _path(plan, goal)
            reaches = _reaches(shot, path)
        count = sum(1 for i in path if i in moved)
        for i, reach in zip(path, reaches):
            if i in moved:
                name = shot.bones[i].blender_name
                limit = (tolerance / count / 2, tolerance / count / 2 / max(reach, 1.0))
                before = out.get(name, limit)
                out[name] = (min(limit[0], before[0]), min(limit[1], before[1]))
    return out
