# SPDX-License-Identifier: GPL-3.0-or-later
"""The bones at rest, as the rules of the body plan see them: points, lengths, words, skin.

All distances are compared with the size of the figure, so that no rule depends on units."""

from __future__ import annotations

import math
from typing import Dict, Iterable, List, Mapping, Optional, Protocol, Sequence, Set, Tuple

from .algebra import Vector, Vector3
from .shot import BoneShot
from .words import Words, read_name

COINCIDENT = 1e-3           # of a bone's length: ends that are nearer coincide
ALONG = 0.999               # cosine: bones that lie in the same direction
LENGTH_MIN = 1e-4           # of the longest bone: shorter bones have no body
TAILS_TRUE = 0.6            # of the bones with children must end at one, or tails are not trusted
TAIL_NEAR = 0.15            # of a bone's length: it passes a child
TAIL_TURN = 0.5             # cosine: a leaf that turns more against its parent has no true tail
SKIN_MIN = 1e-5             # of the skin's area: a bone that has less carries no skin
SKIN_REACH = 0.4            # of the deform bones' box: a smaller skin is a prop, not the figure's
SKIN_BONES = 0.2            # of the deform bones: if fewer carry skin, it is not the figure's
BODY_ROLES = ("DYNAMIC", "DRIVEN", "PINNED", "SOFT")


class FittedShape(Protocol):
    """A shape that the library has fitted to the skin of a body."""

    @property
    def kind(self) -> str: ...

    @property
    def centre(self) -> Sequence[float]: ...

    @property
    def orientation(self) -> Sequence[float]: ...

    @property
    def length(self) -> float: ...

    @property
    def radius(self) -> float: ...

    @property
    def edges(self) -> Sequence[float]: ...

    @property
    def inside(self) -> float: ...


class SkinLike(Protocol):
    """What the rules ask about the skin; skelpy.fit.Skin answers."""

    @property
    def area(self) -> float: ...

    @property
    def closed(self) -> bool: ...

    @property
    def low(self) -> Sequence[float]: ...

    @property
    def high(self) -> Sequence[float]: ...

    def shares(self) -> Sequence[float]: ...

    def shared(self) -> Mapping[Tuple[int, int], float]: ...

    def shared_middle(self, a: int, b: int) -> Optional[Sequence[float]]: ...

    def reach(self, bones: Sequence[int], point: Sequence[float], fraction: float = 0.95
              ) -> float: ...

    def assign(self, body_of_bone: Sequence[int], body_count: int) -> None: ...

    def shape(self, body: int, joint: Sequence[float], target: Optional[Sequence[float]] = None,
              leaf: bool = False, radii: Sequence[float] = ()) -> Optional[FittedShape]: ...

    def volumes(self) -> Sequence[Tuple[float, Sequence[float]]]: ...


# ---- points ----

def point3(v: Vector) -> Vector3:
    return (v[0], v[1], v[2])


def mean_point(points: Sequence[Vector]) -> Vector3:
    n = len(points)
    return (sum(p[0] for p in points) / n, sum(p[1] for p in points) / n,
            sum(p[2] for p in points) / n)


def unit(v: Vector) -> Vector3:
    """The direction of a vector; +z if it has none."""
    n = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return (v[0] / n, v[1] / n, v[2] / n) if n > 0 else (0.0, 0.0, 1.0)


def nearest_on(point: Vector, head: Vector, tail: Vector) -> Tuple[float, float]:
    """(distance of a point from a segment, parameter 0 to 1 of the nearest point on it)."""
    ax, ay, az = tail[0] - head[0], tail[1] - head[1], tail[2] - head[2]
    px, py, pz = point[0] - head[0], point[1] - head[1], point[2] - head[2]
    square = ax * ax + ay * ay + az * az
    t = (px * ax + py * ay + pz * az) / square if square > 0 else 0.0
    t = min(max(t, 0.0), 1.0)
    return math.dist((px, py, pz), (t * ax, t * ay, t * az)), t


class Grid:
    """Points in cubic cells: the points near another one are found without asking all."""

    def __init__(self, reach: float, points: Iterable[Tuple[int, Vector]]) -> None:
        self.reach = reach or 1.0
        self._cells: Dict[Tuple[int, int, int], List[Tuple[int, Vector]]] = {}
        for key, point in points:
            self._cells.setdefault(self._cell(point), []).append((key, point))

    def _cell(self, p: Vector) -> Tuple[int, int, int]:
        r = self.reach
        return math.floor(p[0] / r), math.floor(p[1] / r), math.floor(p[2] / r)

    def near(self, point: Vector, within: Optional[float] = None) -> List[Tuple[float, int]]:
        """(distance, key) of the points within a distance, at most that of the grid."""
        limit, (x, y, z) = self.reach if within is None else within, self._cell(point)
        out = []
        for n in range(27):
            for key, other in self._cells.get(
                    (x + n // 9 - 1, y + n // 3 % 3 - 1, z + n % 3 - 1), ()):
                d = math.dist(point, other)
                if d <= limit:
                    out.append((d, key))
        return out


def _box(points: Sequence[Vector]) -> Tuple[Vector3, Vector3]:
    if not points:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    return (point3([min(p[k] for p in points) for k in range(3)]),
            point3([max(p[k] for p in points) for k in range(3)]))


def longest_edge(low: Vector, high: Vector) -> float:
    return max(b - a for a, b in zip(low, high))


# ---- bones ----

class Rest:
    """The bones at rest, which of them the user has given a body, and the skin."""

    def __init__(self, bones: Sequence[BoneShot], skin: Optional[SkinLike],
                 only: Optional[Set[int]]) -> None:
        self.bones = bones
        self.heads: List[Vector3] = [point3(bone.ends[:3]) for bone in bones]
        self.tails: List[Vector3] = [point3(bone.ends[3:]) for bone in bones]
        self.lengths = [bone.length for bone in bones]
        self.parents = [bone.parent for bone in bones]
        self.words: List[Words] = [read_name(bone.blender_name) for bone in bones]
        self.children: List[List[int]] = [[] for _ in bones]
        for i, up in enumerate(self.parents):
            if up >= 0:
                self.children[up].append(i)

        # A bone that the user has chosen has a body, whatever the rules say.
        longest = max(self.lengths, default=0.0)
        self.has_length = [length >= LENGTH_MIN * longest > 0 for length in self.lengths]
        self.refused = [bone.settings.role == "NONE" for bone in bones]
        self.forced = [self.has_length[i] and not self.refused[i] and
                       (bone.settings.role in BODY_ROLES or only is not None and i in only)
                       for i, bone in enumerate(bones)]

        any_deform = any(bone.deform for bone in bones)
        self.deforms = [bone.deform or not any_deform for bone in bones]
        if not self._are_tails_true():
            self._correct_tails()
        self._take_skin(skin)
        self._shared_with: Optional[List[List[Tuple[float, int]]]] = None

    def _are_tails_true(self) -> bool:
        """Whether bones point at their children: importers may leave them turned by 90 degrees."""
        good = total = 0
        for i, children in enumerate(self.children):
            below = [k for k in children if self.deforms[k]] if self.deforms[i] else []
            near = TAIL_NEAR * self.lengths[i]
            if below:
                total += 1
                good += any(self.to_bone(self.heads[k], i) <= near <
                            math.dist(self.heads[k], self.heads[i]) for k in below)
        return good >= TAILS_TRUE * total

    def _correct_tails(self) -> None:
        """A bone ends at the mean of its children, a leaf goes on as its parent does."""
        for i, children in enumerate(self.children):
            head, up = self.heads[i], self.parents[i]
            far = [k for k in children if math.dist(self.heads[k], head) > 0.01 * self.lengths[i]]
            if far:
                self.tails[i] = mean_point([self.heads[k] for k in far])
            elif up >= 0 and math.dist(head, self.heads[up]) > 0:
                along = unit([a - b for a, b in zip(head, self.heads[up])])
                own = unit([a - b for a, b in zip(self.tails[i], head)])
                if sum(a * b for a, b in zip(own, along)) >= TAIL_TURN:
                    continue
                length = self.lengths[i]
                if self.words[i].part != "head":
                    length = min(length, math.dist(head, self.heads[up]))
                self.tails[i] = point3([head[k] + length * along[k] for k in range(3)])
            self.lengths[i] = math.dist(head, self.tails[i]) or self.lengths[i]

    def _take_skin(self, skin: Optional[SkinLike]) -> None:
        """Sets the size. A skin that covers only a small part of the figure, as a sword in a hand
        does, gives no evidence about the other bones."""
        ends = [end for i, at in enumerate(self.heads) if self.deforms[i]
                for end in (at, self.tails[i])]
        low, high = _box(ends or self.heads)
        self.skin, self.share = skin, [0.0] * len(self.bones)
        self.shared: Mapping[Tuple[int, int], float] = {}
        self.whole_skin = False
        if skin is not None:
            self.share, self.shared = list(skin.shares()), skin.shared()
            carriers = sum(share > SKIN_MIN for share in self.share)
            self.whole_skin = (
                longest_edge(skin.low, skin.high) >= SKIN_REACH * longest_edge(low, high) and
                carriers >= SKIN_BONES * sum(self.deforms))
        if self.whole_skin and skin is not None:
            low, high = point3(skin.low), point3(skin.high)
        self.low, self.high = low, high
        self.size = longest_edge(low, high) or max(self.lengths, default=0.0) or 1.0

    def carries_skin(self, i: int) -> bool:
        return self.share[i] > SKIN_MIN

    def shares_skin(self, a: int, b: int) -> float:
        """The skin that two bones share, as a share of the smaller of their skins."""
        least = min(self.share[a], self.share[b])
        both = self.shared.get((a, b), 0.0) or self.shared.get((b, a), 0.0)
        return both / least if least > SKIN_MIN else 0.0

    def skin_neighbours(self, i: int) -> List[Tuple[float, int]]:
        """(shared skin as a share of the bone's own skin, other bone), largest first."""
        if self._shared_with is None:
            self._shared_with = [[] for _ in self.bones]
            for (a, b), both in self.shared.items():
                for one, other in ((a, b), (b, a)):
                    if self.share[one] > SKIN_MIN:
                        self._shared_with[one].append((both / self.share[one], other))
            for row in self._shared_with:
                row.sort(key=lambda pair: (-pair[0], pair[1]))
        return self._shared_with[i]

    def weight(self, i: int) -> float:
        """How much of the figure a bone is: its skin, else its length."""
        return self.share[i] if self.whole_skin else self.lengths[i] / self.size

    def coincide(self, a: int, b: int) -> bool:
        """Whether bone b has the head of bone a and points the same way. The lengths may differ:
        one may be divided into several links."""
        near = COINCIDENT * min(self.lengths[a], self.lengths[b])
        if math.dist(self.heads[a], self.heads[b]) > near:
            return False
        return self.in_line(a, b, ALONG)

    def in_line(self, a: int, b: int, cosine: float) -> bool:
        along = sum((self.tails[a][k] - self.heads[a][k]) * (self.tails[b][k] - self.heads[b][k])
                    for k in range(3))
        return along >= cosine * self.lengths[a] * self.lengths[b]

    def to_bone(self, point: Vector, i: int) -> float:
        """The distance of a point from a bone."""
        return nearest_on(point, self.heads[i], self.tails[i])[0]
