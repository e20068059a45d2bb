# SPDX-License-Identifier: GPL-3.0-or-later
"""Where bones are wanted: poses of bodies as poses of bones in the armature, and how far from them
bones are that follow control bones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple

from .algebra import (Pose, add, compose, mean_scale, norm, q_conj, q_mul, q_of_matrix, q_rotate,
                      seen_from, sub, times)
from .keys import thin
from .plan import Plan

TOL = 1e-4                  # of a bone's length: bones that are where they are wanted
ANGLE_TOL = math.radians(0.05)


def wanted_bones(plan: Plan) -> List[int]:
    """The bones that control bones are to move: those that get keys and deform, or have a body."""
    own = set(plan.own_bodies)
    return [i for i, data in enumerate(plan.bones)
            if data.channels and (plan.shot.bones[i].deform or i in own)]


def wanted_poses(plan: Plan, poses: Sequence[float], some: Sequence[int]) -> List[List[Pose]]:
    """[frame][bone]: the poses of some bones in the armature. poses: [frame][body][7], world."""
    shot, width = plan.shot, 7 * plan.body_count
    samples = len(poses) // width
    objects = thin(shot.objects, 16, shot.stride, samples)
    out: List[List[Pose]] = []
    for n in range(samples):
        at = 16 * n if len(objects) > 16 else 0
        matrix = objects[at:at + 16]
        place = [*matrix[12:15], *q_of_matrix(matrix)]
        size = mean_scale(matrix)
        row: List[Pose] = []
        for i in some:
            data = plan.bones[i]
            k = n * width + 7 * (data.body or 0)
            body = poses[k:k + 7]
            world = compose(body, data.offset or ())
            seen = seen_from(place, [*times(world[:3], 1 / shot.unit), *world[3:]])
            row.append([*times(seen[:3], 1 / size), *seen[3:]])
        out.append(row)
    return out


# ---- how far bones are from where they are wanted ----

@dataclass(frozen=True)
class Miss:
    """The difference between two poses of a bone."""
    position: float                         # of its head or tail, in lengths of the bone
    angle: float                            # between the directions of the bone [rad]
    twist: float                            # about its length [rad]


def miss(wanted: Pose, got: Pose, length: float) -> Miss:
    """How far a bone is from where it is wanted."""
    turn = q_mul(q_conj(wanted[3:]), got[3:])
    along = q_rotate(turn, (0.0, 1.0, 0.0))
    angle = math.atan2(math.hypot(along[0], along[2]), along[1])
    twist = abs(math.remainder(2 * math.atan2(turn[2], turn[0]), 2 * math.pi))
    head = sub(got[:3], wanted[:3])
    tail = add(head, sub(q_rotate(got[3:], (0.0, length, 0.0)),
                         q_rotate(wanted[3:], (0.0, length, 0.0))))
    apart = max(norm(head), norm(tail))
    return Miss(apart / (length or 1.0), angle, twist)


@dataclass(frozen=True)
class Receipt:
    """The largest errors of bones that follow control bones: (error, bone, frame)."""
    controls: int                           # control bones that got keys
    switches: int                           # properties that got keys
    position: Tuple[float, str, float]      # in lengths of the bone
    angle: Tuple[float, str, float]         # rad
    twist: Tuple[float, str, float]         # rad
    warnings: Tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """For the message of an operator."""
        return (f"; {self.controls} control bones, off by at most {self.position[0]:.1e} of a "
                f"bone's length ('{self.position[1]}')")


class Errors:
    """Collects the errors of bones, frame by frame. located: they get keys of their location; if
    not, only directions count."""

    def __init__(self, names: Sequence[str], lengths: Sequence[float],
                 located: bool = True) -> None:
        self.names, self.lengths, self.located = list(names), list(lengths), located
        self.worst: Dict[str, List[Tuple[float, float]]] = {
            name: [(0.0, 0.0)] * 3 for name in self.names}

    def add(self, frame: float, wanted: Sequence[Pose], got: Sequence[Pose]) -> None:
        for name, length, a, b in zip(self.names, self.lengths, wanted, got):
            found = miss(a, b if self.located else (*a[:3], *b[3:]), length)
            worst = self.worst[name]
            for k, error in enumerate((found.position, found.angle, found.twist)):
                if error > worst[k][0]:
                    worst[k] = error, frame

    def largest(self, k: int) -> Tuple[float, str, float]:
        """(error, bone, frame); k: 0 position, 1 angle, 2 twist."""
        return max(((self.worst[name][k][0], name, self.worst[name][k][1])
                    for name in self.names), default=(0.0, "", 0.0))

    def off(self, k: int, tolerance: float) -> List[str]:
        """The bones whose error is larger, the worst first."""
        found = [name for name in self.names if self.worst[name][k][0] > tolerance]
        return sorted(found, key=lambda name: -self.worst[name][k][0])

    def receipt(self, controls: int, switches: int, lost: Sequence[str], exact: bool) -> Receipt:
        """exact: all tweak bones got keys."""
        warnings = (*_warn_of_lost(lost), *self._warn_of_position(exact), *self._warn_of_twist())
        return Receipt(controls, switches, self.largest(0), self.largest(1), self.largest(2),
                       warnings)

    def _warn_of_position(self, exact: bool) -> List[str]:
        names = self.off(0, 10 * TOL)
        if not names:
            return []
        error, frame = self.worst[names[0]][0]
        return [f"{_list(names)} cannot follow the result exactly by control bones: '{names[0]}' "
                f"is off by {error:.2g} of its length at frame {frame:g}. "
                f"{'Write' if exact else 'Turn Exact on, or write'} keys to the deform bones"]

    def _warn_of_twist(self) -> List[str]:
        names = self.off(2, 20 * ANGLE_TOL)
        if not names:
            return []
        error, frame = self.worst[names[0]][2]
        return [f"The twist about the own length of {_list(names)} cannot follow: '{names[0]}' is "
                f"off by {math.degrees(error):.2g} degrees at frame {frame:g}; its position is not "
                "affected"]


def _warn_of_lost(names: Sequence[str]) -> List[str]:
    if not names:
        return []
    return [f"No control bone moves {_list(names)}: unlock a bone that it follows, or write keys "
            "to the deform bones"]


def _list(names: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
