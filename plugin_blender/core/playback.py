# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether new keys play as computed: the expected poses of some frames, compared with the poses
that Blender evaluates."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import List, Optional, Protocol, Sequence, Tuple

from .algebra import Matrix, angle_between
from .binding import rig as rigs
from .bone_bodies import half_length
from .key_reduction import tolerance_of
from .shot import BoneShot, Shot, ancestors

PLAYBACK_TOL = 1e-3         # of a bone's length, and rad: keys that play as computed


class Played(Protocol):
    """The parts of a plan that a playback is compared with."""

    @property
    def shot(self) -> Shot: ...

    @property
    def roles(self) -> Sequence[str]: ...

    @property
    def body_index(self) -> dict[str, int]: ...

    @property
    def body_count(self) -> int: ...

    @property
    def own_bodies(self) -> Sequence[int]: ...

    def reader(self, library: Optional[str] = None) -> rigs.Rig: ...


@dataclass(frozen=True)
class ExpectedTarget:
    """Where the target of a goal was when it was read, if it does not move with the bones."""
    goal: str
    at: Tuple[str, str]                     # (object, bone)
    matrices: Sequence[Matrix]              # [frame][16]
    tolerance: float                        # Blender units


@dataclass(frozen=True)
class Expected:
    """The computed poses of some frames."""
    plan: Played
    frames: List[float]
    samples: List[int]                      # the numbers of these frames among all samples
    poses: array[float]                     # [frame][body][7]
    targets: Tuple[ExpectedTarget, ...] = ()


def expected_of(plan: Played, poses: Sequence[float], first: float, step: float) -> Expected:
    """The first frame, the last, and one between."""
    width = 7 * plan.body_count
    count = len(poses) // width
    samples = sorted({0, count // 2, count - 1})
    rows = array("d")
    for k in samples:
        rows.extend(poses[k * width:(k + 1) * width])
    return Expected(plan, [first + k * step for k in samples], samples, rows)


def is_soft_and_connected(bone: BoneShot, role: str) -> bool:
    """Whether a bone cannot move with its soft mass, because connected bones have no location."""
    return role == "SOFT" and bone.connected


def playback_errors(expected: Expected, matrices: Sequence[float],
                    objects: Sequence[float]) -> List[Tuple[float, str, float]]:
    """(error, bone, frame): the largest error of each bone, parents first, in lengths of the bone
    or rad. matrices: of the bones in the rig, [frame][bone][16]; objects: of the armature object,
    as Blender evaluates them."""
    plan, out = expected.plan, []
    shot, count = plan.shot, plan.body_count
    got = plan.reader().poses(matrices, count, objects)
    has_location = shot.settings.channels & rigs.LOCATION   # else bones are at their parents
    for i in plan.own_bodies:
        bone, length, worst = shot.bones[i], 2 * half_length(shot, i), (-1.0, "", 0.0)
        for n, frame in enumerate(expected.frames):
            k = 7 * (n * count + plan.body_index[bone.name])
            a, b = expected.poses[k:k + 7], got[k:k + 7]
            error = angle_between(a[3:], b[3:])
            if has_location and not is_soft_and_connected(bone, plan.roles[i]):
                error = max(error, math.dist(a[:3], b[:3]) / length)
            worst = max(worst, (error, bone.blender_name, frame))
        out.append(worst)
    return out


def warn_of_moved_targets(targets: Sequence[ExpectedTarget], frames: Sequence[float],
                          places: Sequence[Sequence[Matrix]]) -> List[str]:
    """Targets that the new keys move, although the goals were solved for where they were.
    places: [frame][target][16]."""
    out = []
    for k, target in enumerate(targets):
        distance, frame = max((math.dist(target.matrices[n][12:15], row[k][12:15]), frames[n])
                              for n, row in enumerate(places))
        if distance > target.tolerance:
            out.append(f"The target of the goal '{target.goal}' moves with the bones that goals "
                       f"move: at frame {frame:g} it is {distance:.3g} units from where it was "
                       "when the goal was solved. Parent it to a bone, or give it keys")
    return out


def playback_limits(expected: Expected) -> List[float]:
    """What playback_errors may be: PLAYBACK_TOL, and the tolerances of the keys, which add up along
    a chain: the location of the bone and of all above it, and their angles times the distance."""
    plan = expected.plan
    shot, (distance, angle) = plan.shot, tolerance_of(plan.shot.settings)
    heads, out = [bone.rest[12:15] for bone in shot.bones], []
    for i in plan.own_bodies:
        above = ancestors(shot.bones, i)
        path, off = 0.0, distance
        for below, up in zip([i, *above], above):
            path += math.dist(heads[below], heads[up]) * shot.metres
            off += distance + angle * path
        turned = angle * (1 + len(above))
        out.append(PLAYBACK_TOL + max(turned, off / (2 * half_length(shot, i))))
    return out


def warn_of_playback(errors: Sequence[Tuple[float, str, float]],
                     limits: Sequence[float]) -> List[str]:
    """The first bone that does not play as computed; its children move with it. limits: of
    playback_limits."""
    for (error, bone, frame), limit in zip(errors, limits):
        if error > limit:
            return [f"'{bone}' does not play as computed: it is off by {error:.2g} of its length "
                    f"(or rad) at frame {frame:g}. A constraint, driver or strip acts on top of "
                    "its keys"]
    return []
