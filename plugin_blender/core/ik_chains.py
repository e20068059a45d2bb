# SPDX-License-Identifier: GPL-3.0-or-later
"""How many bones may move for a goal, by the structure of the rig.

A limb ends where the body begins: at the first bone above it that also carries another part of
about the same reach. An arm ends below the chest, which carries the other arm; a forearm that
carries a twist bone as well does not end it. Names, as whole words, only tell a collar bone or a
hip joint from the limb itself."""

from __future__ import annotations

import math
import re
from typing import FrozenSet, List, Sequence

from .shot import BoneShot

CHAIN_MAX = 4               # bones of a limb that move
LIMB_BONES = 3              # a limb that has these is whole: foot, shin and thigh
BRANCH_SHARE = 0.5          # of the reach of the limb: a shorter part beside it is no branch
GIRDLE = frozenset(("shoulder", "clavicle", "collar", "collarbone", "hip", "hips", "pelvis"))
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def words_of(name: str) -> FrozenSet[str]:
    """The words of a name in lower case: "LeftUpLeg", "thigh.L" and "LHipJoint" have left, up and
    leg; thigh and l; l, hip and joint."""
    return frozenset(word.lower() for word in WORD.findall(re.sub(r"\b([LR])(?=[A-Z])", r"\1 ",
                                                                  name)))


def children_of(bones: Sequence[BoneShot]) -> List[List[int]]:
    """The children of every bone."""
    out: List[List[int]] = [[] for _ in bones]
    for i, bone in enumerate(bones):
        if bone.parent >= 0:
            out[bone.parent].append(i)
    return out


def reaches(bones: Sequence[BoneShot]) -> List[float]:
    """How far each bone and the bones below it reach from the head of its parent: the longest way
    down its children."""
    below = [bone.length for bone in bones]
    out = below[:]
    for i in reversed(range(len(bones))):           # parents come first
        up = bones[i].parent
        if up >= 0:
            out[i] = below[i] + math.dist(bones[i].rest[12:15], bones[up].rest[12:15])
            below[up] = max(below[up], out[i])
    return out


def branches(bones: Sequence[BoneShot], children: Sequence[Sequence[int]],
             reach: Sequence[float], up: int, limb: int) -> bool:
    """Whether a bone carries another part beside one of its children, the limb."""
    return any(reach[other] >= BRANCH_SHARE * reach[limb] for other in children[up]
               if other != limb and bones[other].deform == bones[limb].deform)


def guess_chain(bones: Sequence[BoneShot], tip: int) -> int:
    """The chain length of a goal of a bone; 0, up to the root, for a rig that has no limbs: a rope,
    or a robot."""
    if any(bone.robot for bone in bones):
        return 0
    children, reach = children_of(bones), reaches(bones)
    count, at = 1, tip
    while bones[at].parent >= 0:
        up = bones[at].parent
        if branches(bones, children, reach, up, at):
            return min(count, CHAIN_MAX)
        if count >= LIMB_BONES and words_of(bones[up].name) & GIRDLE:
            return count
        count, at = count + 1, up
    return 0
