# SPDX-License-Identifier: GPL-3.0-or-later
"""The skeleton of bodies after bones were merged: parents, joints, ends, mirror pairs.

Bodies have indices of their own, parents first."""

from __future__ import annotations

import math
from typing import List, Optional, Sequence, Set, Tuple

from .algebra import Vector, Vector3, dot, sub
from .body_merge import Groups
from .body_rest import Rest, mean_point, point3, unit
from .shot import ancestors

MIRROR_NEAR = 0.05          # of the size: distance of a joint from the mirror image of its partner
MIRROR_OFF = 0.005          # of the size: a body that is nearer to the plane lies on it
MIRROR_SHARE = 0.7          # of the bodies must have a partner or lie on the plane
MIRROR_PAIRS = 2


class Plane:
    """The mirror plane: a coordinate axis and the place on it."""

    def __init__(self, axis: int, at: float) -> None:
        self.axis, self.at = axis, at

    def mirror(self, p: Vector) -> Vector3:
        return point3([2 * self.at - v if k == self.axis else v for k, v in enumerate(p)])

    def turn(self, d: Vector) -> Vector3:
        """The mirror image of a direction."""
        return point3([-v if k == self.axis else v for k, v in enumerate(d)])

    def side(self, p: Vector) -> float:
        return p[self.axis] - self.at


class Skeleton:
    def __init__(self, rest: Rest, groups: Groups, up: Vector) -> None:
        self.rest, self.groups, self.up = rest, groups, unit(up)
        tops = groups.tops()
        place = {top: n for n, top in enumerate(tops)}
        self.tops = tops
        self.members = [groups.members[i] for i in tops]
        self.bone = [self._shown_by(i) for i in tops]
        self.parent = [place[groups.parent[i]] if groups.parent[i] >= 0 else -1 for i in tops]
        self.joint: List[Vector3] = [groups.joint[i] for i in tops]
        self.children: List[List[int]] = [[place[k] for k in groups.children[i]] for i in tops]
        self.words = [rest.words[i] for i in self.bone]

        self.end: List[Vector3] = []
        for n in range(len(tops)):
            self.end.append(self._end_of(n))
        self.depth = [0.0] * len(tops)      # length of the longest way down a branch
        for n in reversed(range(len(tops))):
            self.depth[n] = self.link(n) + max((self.depth[k] for k in self.children[n]),
                                               default=0.0)
        self.plane, self.partner = self._find_mirror()

    def __len__(self) -> int:
        return len(self.tops)

    def _shown_by(self, top: int) -> int:
        """The bone whose keys show a body: one that the user has chosen, else the highest in the
        armature's own hierarchy, so that the others follow it."""
        rest, members = self.rest, self.groups.members[top]
        chosen = [k for k in members if rest.forced[k]]
        if chosen:
            return chosen[0]
        allowed = [k for k in ancestors(rest.bones, top) if k in members and not rest.refused[k]]
        return allowed[-1] if allowed else top

    # ---- ends ----

    def target(self, n: int) -> Optional[Vector3]:
        """The mean joint of the bodies that hang on a body."""
        below = [self.joint[k] for k in self.children[n]]
        return mean_point(below) if below else None

    def _end_of(self, n: int) -> Vector3:
        """The far end of a body. A leaf ends at its end marker or at the tips of its fingers, else
        at its tail."""
        rest, joint = self.rest, self.joint[n]
        target = self.target(n)
        if target is not None and math.dist(target, joint) > 1e-3 * rest.size:
            return target
        top = self.tops[n]
        markers = [rest.heads[k] for k in rest.children[top]
                   if k not in self.groups.tree.parent and rest.words[k].is_end]
        if markers:
            return mean_point(markers)

        inside = set(self.members[n])
        tips = [k for k in self.members[n] if k != top and
                not any(c in inside for c in rest.children[k])]
        if tips and self._has_digits(n):
            return mean_point([rest.tails[k] for k in tips])
        return max((rest.heads[top], rest.tails[top]), key=lambda p: math.dist(p, joint))

    def _has_digits(self, n: int) -> bool:
        return any(self.rest.words[k].part in ("finger", "toe") for k in self.members[n][1:])

    def direction(self, n: int) -> Vector3:
        return unit(sub(self.end[n], self.joint[n]))

    def link(self, n: int) -> float:
        return math.dist(self.end[n], self.joint[n])

    def height_of(self, p: Vector) -> float:
        return dot(p, self.up)

    # ---- mirror ----

    def _find_mirror(self) -> Tuple[Optional[Plane], List[int]]:
        """The plane for which most bodies have a partner, and the partners: the body itself on the
        plane, -1 if there is none."""
        best: Tuple[int, Optional[Plane], List[int]] = (0, None, [-1] * len(self))
        level = [k for k in range(3) if abs(self.up[k]) < 0.5] if len(self) > 1 else []
        for axis in level:
            values = sorted(p[axis] for p in self.joint)
            for at in {values[len(values) // 2], self.joint[0][axis]}:
                plane = Plane(axis, at)
                partner = self._partners(plane)
                found = sum(k >= 0 for k in partner)
                pairs = sum(k >= 0 and k != n for n, k in enumerate(partner)) // 2
                if found > best[0] and pairs >= MIRROR_PAIRS and found >= MIRROR_SHARE * len(self):
                    best = found, plane, partner
        return best[1], best[2]

    def _partners(self, plane: Plane) -> List[int]:
        """From the roots down: a partner hangs on the partner of the parent, so that the links of a
        level rope are no pairs."""
        near, out = MIRROR_NEAR * self.rest.size, [-1] * len(self)
        roots = [n for n, up in enumerate(self.parent) if up < 0]
        for n, up in enumerate(self.parent):
            on_plane = up < 0 or out[up] == up
            if out[n] >= 0 or not on_plane and out[up] < 0:
                continue
            off = max(abs(plane.side(self.joint[n])), abs(plane.side(self.end[n])))
            beside = roots if up < 0 else self.children[out[up]]
            if off > MIRROR_OFF * self.rest.size:
                self._pair(n, [k for k in beside if k != n and out[k] < 0], plane, out)
            if out[n] < 0 and on_plane and off < near / 2:
                out[n] = n
        return out

    def _pair(self, n: int, some: Sequence[int], plane: Plane, out: List[int]) -> None:
        """Pairs a body with the one of some that is its mirror image."""
        near = MIRROR_NEAR * self.rest.size
        image, tip = plane.mirror(self.joint[n]), plane.mirror(self.end[n])
        found = [(math.dist(image, self.joint[k]) + math.dist(tip, self.end[k]), k) for k in some
                 if math.dist(image, self.joint[k]) <= near and
                 plane.side(self.end[n]) * plane.side(self.end[k]) <= 0]
        if found and min(found)[0] <= 2.5 * near:
            k = min(found)[1]
            out[n], out[k] = k, n

    def sides(self) -> List[str]:
        """By name, else by the names of the bodies above, else by the mirror plane. Left is +x of a
        figure that faces -y."""
        out = [words.side for words in self.words]
        for n, up in enumerate(self.parent):
            if not out[n] and up >= 0 and self.partner[n] not in (-1, n):
                out[n] = out[up]
        sign = self._left_sign(out)
        for n in range(len(self)):
            if not out[n] and self.plane and self.partner[n] not in (-1, n):
                out[n] = "L" if sign * self.plane.side(self.joint[n]) > 0 else "R"
        return out

    def _left_sign(self, sides: Sequence[str]) -> float:
        """+1 if left is on the positive side of the mirror plane."""
        if not self.plane:
            return 1.0
        votes = sum((1 if sides[n] == "L" else -1) * self.plane.side(self.joint[n])
                    for n in range(len(self)) if sides[n])
        return -1.0 if votes < 0 else 1.0

    # ---- walks ----

    def above(self, n: int) -> List[int]:
        out = []
        while self.parent[n] >= 0:
            n = self.parent[n]
            out.append(n)
        return out

    def below(self, n: int) -> List[int]:
        """The bodies of a branch, its first body first."""
        out = [n]
        for k in out:
            out += self.children[k]
        return out

    def chain(self, n: int) -> List[int]:
        """A body and those that continue it, along the longest way."""
        out = [n]
        while self.children[out[-1]]:
            out.append(max(self.children[out[-1]], key=lambda k: self.depth[k]))
        return out

    def middle_bodies(self) -> Set[int]:
        return {n for n in range(len(self)) if self.partner[n] == n}
