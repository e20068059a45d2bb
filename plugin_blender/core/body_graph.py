# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bones may be bodies, and what each of them hangs on.

First the candidates are found, then edges between them without a direction, then a root. The edges
point away from the root, whatever the hierarchy of the armature says: a tail whose bones run from
its tip to the pelvis hangs on the pelvis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from .algebra import Vector3
from .body_rest import Grid, Rest, mean_point, point3
from .shot import ancestors

# Distances as shares of the size of the figure.
HANDLE_FAR = 0.15           # from its parent: a bone that may be a handle
HANDLE_SHARED = 0.05        # of its skin, shared with another bone
HANDLE_RATIO = 10.0         # times the skin that it shares with its parent
ENDS_NEAR = 0.005           # ends of two bones that meet
TWIN_NEAR, TWIN_FAR = 0.03, 0.20
TWIN_CLIMB = 12             # parents that are looked at
SHARED_MIN = 0.02           # of the smaller of two skins
GAP_MAX = 0.25              # pieces that are farther apart stay apart
GAP_WEIGHT = 2.0            # a piece is added to one that is heavier by this factor
MAIN_PIECE = 0.6            # of the figure: its top may be the root
MAIN_BRANCH = 0.8           # of the figure: no branch of such a root is heavier
CENTRAL = frozenset(("spine", "pelvis"))


@dataclass(frozen=True)
class Edge:
    """Two candidates that a joint connects."""
    a: int
    b: int
    joint: Vector3          # at rest, in the armature
    why: str                # "parent", "twin", "ends", "skin", "near"


@dataclass(frozen=True)
class Tree:
    """The candidates, oriented. Parents come first in `order`."""
    order: Tuple[int, ...]
    parent: Dict[int, int]              # -1: a root
    joint: Dict[int, Vector3]           # to the parent; the head of a root
    pieces: Tuple[Tuple[int, ...], ...]     # one per root, the heaviest first
    edges: Tuple[Edge, ...]


# ---- candidates ----

def find_candidates(rest: Rest) -> Tuple[List[int], List[str]]:
    """(bones that may be bodies, reasons of all others). A bone that the user has refused stays a
    candidate, so that others may hang on its place; it becomes part of a neighbour."""
    reasons = [_why_no_candidate(rest, i) for i in range(len(rest.bones))]
    for i, forced in enumerate(rest.forced):
        if forced:
            reasons[i] = ""
    return [i for i, reason in enumerate(reasons) if not reason], reasons


def _why_no_candidate(rest: Rest, i: int) -> str:
    if not rest.has_length[i]:
        return "it has no length"
    if not rest.deforms[i]:
        return "not a deform bone"
    if rest.whole_skin:
        return "" if rest.carries_skin(i) else "no skin follows it"

    # Without skin there are only names to tell markers from bones.
    below, words = rest.children[i], rest.words[i]
    if words.is_end and not below and rest.parents[i] >= 0:
        return "end marker"
    if words.is_root and rest.parents[i] < 0 and len(below) == 1:
        return "root without a body"
    return ""


# ---- edges ----

class _Pieces:
    """Sets of connected candidates."""

    def __init__(self, members: Sequence[int], weights: Dict[int, float]) -> None:
        self._up = {i: i for i in members}
        self.weight = dict(weights)

    def find(self, i: int) -> int:
        while self._up[i] != i:
            self._up[i] = self._up[self._up[i]]
            i = self._up[i]
        return i

    def join(self, a: int, b: int) -> bool:
        """False if they were connected before."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        self._up[b] = a
        self.weight[a] += self.weight[b]
        return True

    def count(self) -> int:
        return sum(i == up for i, up in self._up.items())


class Graph:
    """Connects candidates by the evidence of the rig."""

    def __init__(self, rest: Rest, candidates: Sequence[int], join_all: bool = False) -> None:
        self.rest, self.candidates, self.join_all = rest, candidates, join_all
        self.is_candidate = [False] * len(rest.bones)
        for i in candidates:
            self.is_candidate[i] = True
        self.edges: List[Edge] = []
        self.weights = {i: max(rest.weight(i), 1e-12) for i in candidates}
        self.pieces = _Pieces(candidates, self.weights)
        self.near_ends = Grid(ENDS_NEAR * rest.size, (
            (2 * i + k, end) for i in candidates
            for k, end in enumerate((rest.heads[i], rest.tails[i]))))

        # Candidates that lie on a bone that is none, as Rigify's deform bones on its ORG bones.
        self._heads = Grid(ENDS_NEAR * rest.size, ((i, rest.heads[i]) for i in candidates))
        self._twins: Dict[int, int] = {}

    def connect(self) -> None:
        self._by_hierarchy()
        self.hierarchy_pieces = _Pieces(self.candidates, self.weights)
        for edge in self.edges:
            self.hierarchy_pieces.join(edge.a, edge.b)
        if self.pieces.count() == 1:
            return
        self._by_twins(TWIN_NEAR)
        self._by_ends()
        self._by_twins(TWIN_FAR)
        self._by_skin()
        self._by_distance()

    def _add(self, a: int, b: int, joint: Vector3, why: str) -> None:
        if self.pieces.join(a, b):
            self.edges.append(Edge(a, b, joint, why))

    def _by_hierarchy(self) -> None:
        for i in self.candidates:
            above = ancestors(self.rest.bones, i)
            up = next((a for a in above if self.is_candidate[a]), -1)
            if up >= 0 and not self._is_handle(i, up):
                self._add(up, i, self.rest.heads[i], "parent")

    def _is_handle(self, i: int, up: int) -> bool:
        """Whether a bone hangs far from its parent, but on another bone: a foot under the root,
        where an animator moves it."""
        rest = self.rest
        if rest.to_bone(rest.heads[i], up) <= HANDLE_FAR * rest.size:
            return False
        if rest.whole_skin:
            with_parent = rest.shared.get((up, i), 0.0) or rest.shared.get((i, up), 0.0)
            with_parent /= max(rest.share[i], 1e-12)
            return any(share > HANDLE_SHARED and share > HANDLE_RATIO * with_parent
                       for share, other in rest.skin_neighbours(i) if other != up)

        # Without skin: its head is the end of a bone that it is not above.
        ends = (key for _, key in self.near_ends.near(rest.heads[i]) if key % 2)
        return any(key // 2 not in (i, up) and i not in ancestors(rest.bones, key // 2)
                   for key in ends)

    # ---- twins ----

    def twin_of(self, a: int) -> int:
        """A candidate that lies on a bone that is none: same head, same direction; -1: none."""
        if a not in self._twins:
            rest, found = self.rest, []
            for _, k in self._heads.near(rest.heads[a]):
                if k != a and rest.coincide(a, k):
                    found.append((abs(rest.lengths[a] - rest.lengths[k]), k))
            self._twins[a] = min(found)[1] if found else -1
        return self._twins[a]

    def _by_twins(self, limit: float) -> None:
        """A bone hangs on the candidate that coincides with one of the bones above it."""
        rest = self.rest
        tops = {i for i in self.candidates} - {edge.b for edge in self.edges
                                               if edge.why == "parent"}
        for i in sorted(tops):
            for a in ancestors(rest.bones, i)[:TWIN_CLIMB]:
                twin = self.twin_of(a) if not self.is_candidate[a] else -1
                if twin < 0 or twin == i:
                    continue
                if self.pieces.find(twin) == self.pieces.find(i):
                    break           # it hangs where it belongs
                if rest.to_bone(rest.heads[i], a) <= limit * rest.size:
                    self._add(twin, i, rest.heads[i], "twin")
                    break

    # ---- ends, skin, distance ----

    def _by_ends(self) -> None:
        """Bones whose ends meet at rest; those that share most skin first."""
        rest, found = self.rest, []
        for i in self.candidates:
            for k, end in enumerate((rest.heads[i], rest.tails[i])):
                for d, key in self.near_ends.near(end):
                    other, at = key // 2, key % 2
                    if other > i and self.pieces.find(other) != self.pieces.find(i):
                        # A head on a tail is a usual joint, two tails are the rarest.
                        found.append((-round(rest.shares_skin(i, other), 3),
                                      (1, 0, 2)[k + at], d, i, other, mean_point(
                                          [end, (rest.heads, rest.tails)[at][other]])))
        for *_, i, other, joint in sorted(found):
            self._add(i, other, joint, "ends")

    def _by_skin(self) -> None:
        rest, found = self.rest, []
        for a, b in rest.shared:
            if self.is_candidate[a] and self.is_candidate[b] and a != b:
                share = rest.shares_skin(a, b)
                if share > SHARED_MIN:
                    found.append((-share, a, b))
        for _, a, b in sorted(found):
            if self.pieces.find(a) != self.pieces.find(b):
                middle = rest.skin.shared_middle(a, b) if rest.skin else None
                self._add(a, b, self._joint_near(a, b, point3(middle) if middle else None), "skin")

    def _joint_near(self, a: int, b: int, middle: Optional[Vector3]) -> Vector3:
        """The end of one of two bones that lies on the other, else the middle of the skin that
        they share: the middle is a poor joint if there is an end of a bone."""
        rest = self.rest
        ends = [(rest.to_bone(end, other), end) for i, other in ((a, b), (b, a))
                for end in (rest.heads[i], rest.tails[i])]
        gap, end = min(ends)
        return end if middle is None or gap <= TWIN_NEAR * rest.size else middle

    def _top(self, i: int) -> int:
        above = ancestors(self.rest.bones, i)
        return above[-1] if above else i

    def _by_distance(self) -> None:
        """The nearest bone of a heavier piece; the lightest piece first. Pieces of equal weight
        that nothing connects, as the strands of a curtain, and pieces of different hierarchies
        stay apart."""
        tops, alone = {i: self._top(i) for i in self.candidates}, set()
        while self.pieces.count() > 1:
            waiting = {self.pieces.find(i) for i in self.candidates} - alone
            if not waiting:
                return
            piece = min(waiting, key=lambda k: (self.pieces.weight[k], k))
            own = [i for i in self.candidates if self.pieces.find(i) == piece]
            heavier = [k for k in self.candidates
                       if self._may_join(piece, self.pieces.find(k), tops[k] == tops[own[0]])]

            gap, i, k = min(((self._gap(i, k), i, k) for i in own for k in heavier),
                            default=(math.inf, -1, -1))
            if k >= 0 and (gap <= GAP_MAX * self.rest.size or self.join_all):
                self._add(k, i, self._joint_near(i, k, None), "near")
            else:
                alone.add(piece)

    def _gap(self, i: int, k: int) -> float:
        """The distance of a bone's end from another bone; a tail is rarely where it hangs."""
        rest = self.rest
        return min(rest.to_bone(rest.heads[i], k), 2 * rest.to_bone(rest.tails[i], k))

    def _may_join(self, piece: int, other: int, same_top: bool) -> bool:
        if piece == other:
            return False
        weight = self.pieces.weight
        return self.join_all or same_top and weight[other] >= GAP_WEIGHT * weight[piece]

    # ---- the root ----

    def orient(self) -> Tree:
        """Roots, and the edges away from them."""
        members: Dict[int, List[int]] = {}
        for i in self.candidates:
            members.setdefault(self.pieces.find(i), []).append(i)
        links: Dict[int, List[Edge]] = {i: [] for i in self.candidates}
        for edge in self.edges:
            links[edge.a].append(edge)
            links[edge.b].append(edge)

        order: List[int] = []
        parent: Dict[int, int] = {}
        joint: Dict[int, Vector3] = {}
        pieces = sorted(members.values(), key=lambda some: -sum(self.weights[i] for i in some))
        for some in pieces:
            root = self._root(some, links)
            parent[root], joint[root] = -1, self.rest.heads[root]
            self._walk(root, links, order, parent, joint)
        return Tree(tuple(order), parent, joint, tuple(tuple(some) for some in pieces),
                    tuple(self.edges))

    @staticmethod
    def _walk(root: int, links: Dict[int, List[Edge]], order: List[int], parent: Dict[int, int],
              joint: Dict[int, Vector3]) -> None:
        waiting = [root]
        while waiting:
            i = waiting.pop(0)
            order.append(i)
            for edge in links[i]:
                other = edge.b if edge.a == i else edge.a
                if other not in parent:
                    parent[other], joint[other] = i, edge.joint
                    waiting.append(other)

    def _heaviest_branches(self, some: Sequence[int], links: Dict[int, List[Edge]]
                           ) -> Dict[int, float]:
        """For each bone: the weight of the heaviest branch, if it were the root."""
        order: List[int] = []
        parent: Dict[int, int] = {some[0]: -1}
        self._walk(some[0], links, order, parent, {})
        below = {i: self.weights[i] for i in order}
        for i in reversed(order):
            if parent[i] >= 0:
                below[parent[i]] += below[i]

        total, worst = below[some[0]], {}
        for i in order:
            around = [below[k] for k in (e.b if e.a == i else e.a for e in links[i])
                      if parent[k] == i]
            worst[i] = max([*around, total - below[i]]) / total
        return worst

    def _root(self, some: Sequence[int], links: Dict[int, List[Edge]]) -> int:
        """The top of the hierarchy if there is one; else the most central bone, of those that are
        named spine or pelvis if there are any, and of those the one that carries the thighs."""
        tops: Dict[int, int] = {}
        for i in some:
            tops.setdefault(self.hierarchy_pieces.find(i), i)
        worst = self._heaviest_branches(some, links)

        total = sum(self.weights[i] for i in some)
        piece, top = max(tops.items(), key=lambda pair: self.hierarchy_pieces.weight[pair[0]])
        main = self.hierarchy_pieces.weight[piece] >= MAIN_PIECE * total
        if len(tops) > 1 and not (main and worst[top] <= MAIN_BRANCH):
            named = [i for i in some if self.rest.words[i].part in CENTRAL and
                     not self.rest.words[i].side]
            carriers = [i for i in named if any(
                self.rest.words[e.b if e.a == i else e.a].part == "thigh" for e in links[i])]
            named = carriers or named
            top = min(named or some, key=lambda i: (round(worst[i], 6), i))

        # A bone that the user has refused cannot be a root: the nearest other bone is, and of
        # several the heaviest.
        seen, ring = {top}, [top]
        while ring and all(self.rest.refused[i] for i in ring):
            around = {e.b if e.a == i else e.a for i in ring for e in links[i]}
            ring = sorted(around - seen)
            seen |= around
        allowed = [i for i in ring if not self.rest.refused[i]]
        return max(allowed, key=lambda i: self.weights[i]) if allowed else top


def build_tree(rest: Rest, candidates: Sequence[int], join_all: bool = False) -> Tree:
    graph = Graph(rest, candidates, join_all)
    graph.connect()
    return graph.orient()
