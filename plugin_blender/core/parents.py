# SPDX-License-Identifier: GPL-3.0-or-later
"""The parent body of a bone: the body that its own body is attached to."""

from __future__ import annotations

import math
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

from .shot import BoneShot, ancestors

COINCIDENT_TOL = 1e-3       # of a bone's length: distance of ends that coincide


class Parent(NamedTuple):
    bone: int               # the bone whose body it is; -1: there is none
    coincident: bool        # found through a coincident bone


NO_PARENT = Parent(-1, False)


class ParentBodies:
    """Maps each bone to the body that it attaches to: the body of the nearest ancestor that has
    one, or that of a coincident bone of an ancestor. Coincident bones have the same head and tail
    at rest: rigs such as Rigify control the deform bones by them (DEF and ORG pairs)."""

    def __init__(self, bones: Sequence[BoneShot], has_body: Callable[[int], bool]) -> None:
        self.bones, self.has_body = bones, has_body
        self._known: Dict[int, Parent] = {}
        self._coincident: Dict[int, List[int]] = {}

        # A grid of heads: coincident bones lie in the same cell or in one beside it.
        self._ends = [bone.ends for bone in bones]
        self._cell_size = COINCIDENT_TOL * max((bone.length for bone in bones), default=1.0) or 1.0
        self._cells: Dict[Tuple[int, ...], List[int]] = {}
        for k, ends in enumerate(self._ends):
            self._cells.setdefault(self._cell(ends), []).append(k)

    def _cell(self, ends: Sequence[float]) -> Tuple[int, ...]:
        return tuple(math.floor(v / self._cell_size) for v in ends[:3])

    def _coincident_body(self, a: int) -> int:
        """A bone with a body that coincides with bone a; -1: none."""
        if a not in self._coincident:
            ends, near = self._ends[a], COINCIDENT_TOL * self.bones[a].length
            x, y, z = self._cell(ends)
            around = sorted(k for n in range(27) for k in self._cells.get(
                (x + n // 9 - 1, y + n // 3 % 3 - 1, z + n % 3 - 1), ()))
            self._coincident[a] = [k for k in around if k != a and
                                   all(abs(p - q) <= near for p, q in zip(ends, self._ends[k]))]
        return next((k for k in self._coincident[a] if self.has_body(k)), -1)

    def _is_attached(self, k: int, i: int) -> bool:
        """Whether bone k is attached to bone i, directly or through others."""
        while k >= 0 and k != i:
            k = self.of(k).bone
        return k == i

    def forget(self) -> None:
        """To be called after has_body has changed its answers."""
        self._known.clear()

    def of(self, i: int) -> Parent:
        if i in self._known:
            return self._known[i]

        self._known[i] = NO_PARENT          # while it is being looked for: cycles end here
        tried = False
        for a in ancestors(self.bones, i):
            own = self.has_body(a)
            k = a if own else -1
            if not own and not self.bones[a].robot:
                k = self._coincident_body(a)
            tried = tried or k >= 0 and not own
            if k >= 0 and not (tried and self._is_attached(k, i)):
                self._known[i] = Parent(k, not own)
                break
        return self._known[i]


def parents_of(bones: Sequence[BoneShot], roles: Sequence[str]) -> Tuple[Parent, ...]:
    """The parent body of every bone. Nothing attaches to a soft mass."""
    found = ParentBodies(bones, lambda k: roles[k] not in ("NONE", "SOFT"))
    return tuple(found.of(i) for i in range(len(roles)))
