# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bones make one body: links of a divided limb, twist bones, details, stubs, pads.

A rule takes the tree of candidates and merges a group of bones into the group that it hangs on.
The rules run in the order of `merge_bones`."""

from __future__ import annotations

import math
from typing import Dict, List, Optional, Sequence

from .algebra import Vector3
from .body_graph import Tree
from .body_rest import COINCIDENT, Grid, Rest, mean_point, nearest_on

# Lengths as shares of the size of the figure.
IN_LINE = 0.985             # cosine: links of one limb
TWIST_NEAR = 0.05           # from the line of the limb
TWIST_FROM, TWIST_TO = 0.05, 0.95
DETAIL = 0.065              # reach of a branch that is too small to matter
DETAIL_NAMED = 0.12         # of a finger or a toe
DETAIL_FACE = 0.20          # of a part of the face: its skin may be that of the whole head
DETAIL_KEPT = 0.025         # of a hand, a foot, a head or a limb
CHAIN_LINKS = 4             # so many alike links are a chain, however small they are
CHAIN_ALIKE = 2.0           # ratio of the lengths of alike links
STUB_NEAR = 0.02            # distance of the joints of a stub and its parent
STUB_LINK = 0.3             # of the parent's extent: a stub begins where its parent begins
STUB_EXTENT, STUB_EXTENT_SKIN = 0.12, 0.20
PAD_REACH = 1.6             # of the parent's radius
PAIR_NEAR = 0.05            # from the mirrored place of a partner
SHORT_LINK = 0.03
SHORT_RATIO = 2.5           # a neighbour that is longer by this factor

SMALL_PARTS = frozenset(("finger", "toe", "face"))
KEPT_PARTS = frozenset(("neck", "head", "hand", "foot", "thigh", "shin", "upper_arm",
                        "forearm"))
NO_STUBS = frozenset(("thigh", "shin", "foot", "upper_arm", "forearm", "hand", "neck", "head",
                      "tail", "rope", "wing", "fin", "feather"))
PELVIS_PARTS = frozenset(("spine", "pelvis"))


class Groups:
    """The tree of candidates while its bones are merged. A group has the name of its top bone."""

    def __init__(self, rest: Rest, tree: Tree, reasons: List[str]) -> None:
        self.rest, self.tree, self.reasons = rest, tree, reasons
        self.order = list(tree.order)
        self.parent = dict(tree.parent)
        self.joint = dict(tree.joint)
        self.members: Dict[int, List[int]] = {i: [i] for i in tree.order}
        self.children: Dict[int, List[int]] = {i: [] for i in tree.order}
        for i in tree.order:
            if self.parent[i] >= 0:
                self.children[self.parent[i]].append(i)

        # Bones without a body give tips: end markers, controls of fingers.
        self.below: List[List[int]] = rest.children
        self._reach: Dict[int, float] = {}

    # ---- the tree ----

    def tops(self) -> List[int]:
        return [i for i in self.order if i in self.members]

    def may_merge(self, i: int) -> bool:
        """A bone that the user has given a body stays one."""
        return self.parent[i] >= 0 and not any(self.rest.forced[k] for k in self.members[i])

    def merge(self, i: int, reason: str) -> None:
        """Group i becomes part of the group that it hangs on."""
        up = self.parent[i]
        for k in self.members.pop(i):
            self.members[up].append(k)
            self.reasons[k] = self.reasons[k] or reason
        self.children[up].remove(i)
        for k in self.children.pop(i):
            self.parent[k] = up
            self.children[up].append(k)

    def subtree(self, i: int) -> List[int]:
        """The groups below a group, itself first."""
        out = [i]
        for k in out:
            out += self.children[k]
        return out

    # ---- measures ----

    def bones_below(self, i: int) -> List[int]:
        return [bone for k in self.subtree(i) for bone in self.members[k]]

    def tips(self, bones: Sequence[int]) -> List[Vector3]:
        """The ends of bones, and of the bones without a body that hang on them."""
        rest, seen = self.rest, set(bones)
        out = [end for b in bones for end in (rest.heads[b], rest.tails[b])]
        waiting = list(bones)
        while waiting:
            for k in self.below[waiting.pop()]:
                if k not in seen and k not in self.tree.parent and rest.deforms[k]:
                    seen.add(k)
                    out.append(rest.heads[k])
                    waiting.append(k)
        return out

    def branch_reach(self, i: int, beyond: float) -> float:
        """How far 95 % of a branch reaches from its joint. If its bones alone reach far beyond a
        limit, the skin is not asked."""
        rest, bones, joint = self.rest, self.bones_below(i), self.joint[i]
        far = max(math.dist(joint, rest.heads[b]) for b in bones)
        if far > 2 * beyond:
            return far
        if rest.whole_skin and rest.skin is not None:
            return rest.skin.reach(bones, joint, 0.95)
        return max(math.dist(joint, p) for p in self.tips(bones))

    def extent(self, i: int) -> float:
        """How far a group itself reaches from its joint."""
        rest, joint = self.rest, self.joint[i]
        if rest.whole_skin and rest.skin is not None:
            return rest.skin.reach(self.members[i], joint, 0.95)
        ends = [rest.tails[b] for b in self.members[i]] + [self.joint[k] for k in self.children[i]]
        return max(math.dist(joint, p) for p in ends)

    def target(self, i: int) -> Optional[Vector3]:
        """The mean joint of the groups that hang on a group."""
        below = [self.joint[k] for k in self.children[i]]
        return mean_point(below) if below else None

    def link(self, i: int) -> float:
        """The length of a group: from its joint to those of its children, else to its tail."""
        target = self.target(i)
        tails = [self.rest.tails[b] for b in self.members[i]]
        if target is not None:
            return math.dist(self.joint[i], target)
        return max(math.dist(self.joint[i], p) for p in tails)

    def part(self, i: int) -> str:
        return self.rest.words[i].part

    def in_chain(self, i: int) -> bool:
        """Whether a group is a link of a chain of alike links."""
        count, length = 1, self.link(i)

        def alike(k: int) -> bool:
            other = self.link(k)
            return max(other, length) <= CHAIN_ALIKE * min(other, length)

        k = i
        while self.parent[k] >= 0 and len(self.children[self.parent[k]]) == 1:
            k = self.parent[k]
            if not alike(k):
                break
            count += 1
        k = i
        while len(self.children[k]) == 1:
            k = self.children[k][0]
            if not alike(k):
                break
            count += 1
        return count >= CHAIN_LINKS

    def partner(self, i: int) -> int:
        """A group on the same parent that is its mirror image, by its side or by its place; -1:
        none."""
        rest, up = self.rest, self.parent[i]
        words, near = rest.words[i], PAIR_NEAR * rest.size
        for k in self.children[up] if up >= 0 else ():
            other = rest.words[k]
            if k == i:
                continue
            if words.side and other.side and words.side != other.side and \
                    words.words ^ other.words <= {"l", "r", "left", "right"}:
                return k
            a, b, middle = self.joint[i], self.joint[k], self.joint[up]
            apart = [abs(a[n] - b[n]) for n in range(3)]
            axis = max(range(3), key=lambda n: apart[n])
            if apart[axis] > near and all(apart[n] < near for n in range(3) if n != axis) and \
                    abs(a[axis] + b[axis] - 2 * middle[axis]) < near and \
                    abs(self.link(i) - self.link(k)) < 0.2 * self.link(i):
                return k
        return -1


# ---- the rules ----

def _merge_refused(groups: Groups) -> None:
    """Bones that the user has refused. If all bones of a piece are, it has no body."""
    reason = "set to Not Simulated"
    for i in reversed(groups.tops()):
        if groups.rest.refused[i] and groups.parent[i] >= 0:
            groups.merge(i, reason)
        elif groups.rest.refused[i]:
            for k in groups.members.pop(i):
                groups.reasons[k] = reason


def _merge_twins(groups: Groups) -> None:
    """Two candidates with the same head and tail."""
    rest = groups.rest
    for i in reversed(groups.tops()):
        up = groups.parent[i]
        if groups.may_merge(i) and rest.coincide(i, up) and \
                abs(rest.lengths[i] - rest.lengths[up]) <= 1e-3 * rest.lengths[i]:
            groups.merge(i, f"coincides with '{rest.bones[up].blender_name}'")


def _merge_spans(groups: Groups) -> None:
    """Links in line over which one bone without a body lies: a limb that the rig divides."""
    rest = groups.rest
    others = [k for k in range(len(rest.bones))
              if k not in groups.parent and rest.has_length[k]]
    grid = Grid(0.005 * rest.size, ((k, rest.heads[k]) for k in others))

    for top in groups.tops():
        if top not in groups.members:
            continue
        over = [k for _, k in grid.near(rest.heads[top]) if rest.in_line(top, k, IN_LINE) and
                rest.lengths[k] > 0.98 * rest.lengths[top] and
                math.dist(rest.heads[k], rest.heads[top]) <= 0.02 * rest.lengths[k]]

        # The shortest counts: a longer one may be a control of the whole limb. One that is as long
        # as the link itself says that the link is whole.
        span = min(over, key=lambda k: (rest.lengths[k], k), default=-1)
        if span < 0 or rest.lengths[span] < 1.1 * rest.lengths[top]:
            continue
        last = top
        while True:
            follow = [k for k in groups.children[top] if groups.may_merge(k) and
                      math.dist(rest.heads[k], rest.tails[last]) <= 0.02 * rest.lengths[k] and
                      rest.in_line(last, k, IN_LINE)]
            last = next((k for k in follow if
                         rest.to_bone(rest.tails[k], span) <= 0.03 * rest.lengths[span]), -1)
            if last < 0:
                break
            groups.merge(last, f"a part of '{rest.bones[top].blender_name}'")


def _merge_twists(groups: Groups) -> None:
    """Helpers that turn with a limb: by their name, or leaves that lie on the line of the limb."""
    rest = groups.rest
    for i in reversed(groups.tops()):
        if not groups.may_merge(i):
            continue
        beside = [k for k in groups.children[groups.parent[i]]
                  if k != i and groups.children[k] and groups.link(k) > groups.link(i)]
        if rest.words[i].is_twist or not groups.children[i] and \
                groups.part(i) not in KEPT_PARTS and any(_is_on_line(groups, i, k) for k in beside):
            groups.merge(i, "twist bone")


def _is_on_line(groups: Groups, i: int, k: int) -> bool:
    """Whether a leaf begins and points along the limb of its parent that ends at the joint of k."""
    start, end = groups.joint[groups.parent[i]], groups.joint[k]
    near = TWIST_NEAR * math.dist(start, end)
    apart, t = nearest_on(groups.joint[i], start, end)
    return (apart <= near and TWIST_FROM < t < TWIST_TO and
            nearest_on(groups.rest.tails[i], start, end)[0] <= 2 * near)


def _detail_limit(part: str) -> float:
    if part == "face":
        return DETAIL_FACE
    if part in KEPT_PARTS:
        return DETAIL_KEPT
    return DETAIL_NAMED if part in SMALL_PARTS else DETAIL


def _merge_details(groups: Groups) -> None:
    """Branches that are too small to matter. What hangs on a detail is a detail."""
    rest = groups.rest
    for i in groups.tops():
        if i not in groups.members or not groups.may_merge(i):
            continue
        part = groups.part(i)
        limit = _detail_limit(part)
        below = groups.subtree(i)
        if any(rest.forced[bone] for bone in groups.bones_below(i)):
            continue
        if groups.branch_reach(i, limit * rest.size) > limit * rest.size:
            continue
        if part not in SMALL_PARTS and groups.in_chain(i):
            continue
        for k in reversed(below):
            groups.merge(k, "small detail")


def _merge_stubs(groups: Groups) -> None:
    """Short groups that begin where their parent begins: the halves of a pelvis, a collar bone
    inside of the chest."""
    rest = groups.rest
    limit = (STUB_EXTENT_SKIN if rest.whole_skin else STUB_EXTENT) * rest.size
    for i in groups.tops():
        if i not in groups.members or not groups.may_merge(i) or groups.part(i) in NO_STUBS:
            continue
        up = groups.parent[i]
        apart = math.dist(groups.joint[i], groups.joint[up])
        if groups.parent[up] < 0:           # a root has no joint: the heads are compared
            apart = math.dist(rest.heads[i], rest.heads[up])
        if apart > STUB_NEAR * rest.size or apart > STUB_LINK * groups.link(up):
            continue
        if groups.extent(i) < limit and not groups.in_chain(i):
            groups.merge(i, "stub at the joint of its parent")


def _merge_pads(groups: Groups) -> None:
    """Flesh beside a branch, and halves of a pelvis."""
    rest, paired = groups.rest, {}
    for i in groups.tops():
        paired[i] = groups.partner(i) >= 0
    for i in reversed(groups.tops()):
        up = groups.parent[i]
        if not groups.may_merge(i):
            continue
        words = rest.words[i]
        if words.part == "pelvis" and words.side and groups.part(up) in PELVIS_PARTS and \
                not _is_hip(groups, i):
            groups.merge(i, "half of the pelvis")
        elif not groups.children[i] and len(groups.children[up]) > 1 and \
                (words.part == "flesh" or
                 paired[i] and words.part == "other" and _is_pad(groups, i, up)):
            groups.merge(i, "flesh on its parent")


def _is_hip(groups: Groups, i: int) -> bool:
    """Whether a bone that is named hip is a thigh: a shin hangs on it."""
    return any(groups.part(k) in ("shin", "foot") for k in groups.children[i])


def _is_pad(groups: Groups, i: int, up: int) -> bool:
    """Whether a leaf lies within 1.6 radii of its parent. The radius follows from the area and the
    length of the parent's skin."""
    rest = groups.rest
    if not rest.whole_skin or rest.skin is None:
        return False
    area = sum(rest.share[b] for b in groups.members[up]) * rest.skin.area
    length = max(groups.link(up), groups.extent(up) / 2, 1e-9)
    radius = area / (2 * math.pi * length)
    return rest.skin.reach(groups.bones_below(i), groups.joint[i], 0.95) < PAD_REACH * radius


def _merge_short_links(groups: Groups) -> None:
    """Inner links that are short beside a neighbour go to their shorter neighbour."""
    rest = groups.rest
    for i in groups.tops():
        if i not in groups.members or len(groups.children[i]) != 1 or groups.parent[i] < 0:
            continue
        child, up, own = groups.children[i][0], groups.parent[i], groups.link(i)
        around = {child: groups.link(child), up: groups.link(up)}
        if own > SHORT_LINK * rest.size or max(around.values()) < SHORT_RATIO * own:
            continue
        if groups.in_chain(i):
            continue
        shorter = min(around, key=lambda k: around[k])
        if shorter == child and groups.part(child) == "head":
            shorter = up
        if shorter == up and groups.may_merge(i):
            groups.merge(i, "short link")
        elif shorter == child and groups.may_merge(child):
            groups.merge(child, f"one body with '{rest.bones[i].blender_name}'")


def merge_bones(rest: Rest, tree: Tree, reasons: List[str]) -> Groups:
    """The groups of candidates that are one body each. Writes the reasons of the others."""
    groups = Groups(rest, tree, reasons)
    for rule in (_merge_refused, _merge_twins, _merge_spans, _merge_twists, _merge_details,
                 _merge_stubs, _merge_pads, _merge_short_links):
        rule(groups)
    return groups


# ---- bones without a body ----

def follow_bodies(rest: Rest, groups: Groups, body_of: List[int]) -> None:
    """Bones without a body move with the body of the bone that they lie on, else of a bone that
    begins or ends where they begin, else of the first bone above that has one."""
    reach, members = 0.005 * rest.size, groups.tree.order
    heads = Grid(reach, ((k, rest.heads[k]) for k in members))
    tails = Grid(reach, ((k, rest.tails[k]) for k in members))
    for i in [i for i, body in enumerate(body_of) if body < 0]:
        up = rest.parents[i]
        above = body_of[up] if up >= 0 else -1
        begin = heads.near(rest.heads[i])
        on = [(abs(rest.lengths[i] - rest.lengths[k]), k) for _, k in begin if rest.coincide(i, k)]
        if on:
            body_of[i] = body_of[min(on)[1]]
            continue

        # Several bodies may meet at its head: that of the bone above is the best of them.
        near = COINCIDENT * rest.lengths[i]
        meet = [body_of[k] for d, k in sorted(begin) if d <= near] or \
            [body_of[k] for d, k in sorted(tails.near(rest.heads[i])) if d <= near]
        body_of[i] = above if above in meet or not meet else meet[0]
