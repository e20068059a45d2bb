# SPDX-License-Identifier: GPL-3.0-or-later
"""The words in the name of a bone: its side, and the part of a body that it names.

A name is divided into whole words, so that a ribbon is no rib, a string no ring and a whip no hip.
Names are the last evidence of the body plan: they decide about limits, about what is too small to
matter and about helpers, but never about what a bone hangs on."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import FrozenSet, NamedTuple, Tuple

# Words that say nothing about the body: prefixes of exporters and of rigs.
EMPTY = frozenset(
    "def org mch ctrl bip biped valve bone joint jnt b skeleton mixamorig rig cc base node".split())

SIDES = {"l": "L", "left": "L", "r": "R", "right": "R"}
TWIST = frozenset(("twist", "roll"))
END = frozenset(("end", "nub", "site"))
ROOT = frozenset("root master world origin armature global reference".split())

# The first part of which a name has a word counts: "LeftHandRing" is a finger, not a hand.
PARTS = (
    ("flesh", "breast boob bust glute butt buttock belly"),
    ("finger", "finger fingers thumb pinky digit palm metacarpal knuckle"),
    ("toe", "toe toes"),
    ("face", "face jaw eye eyes eyelid eyelids lid brow eyebrow lip lips tongue teeth nose nostril "
             "cheek chin ear ears temple forehead mouth whisker beak"),
    ("feather", "feather feathers"), ("wing", "wing"), ("fin", "fin fins"),
    ("hand", "hand wrist forefoot forepaw"), ("foot", "foot ankle heel hoof paw hindfoot hindpaw"),
    ("forearm", "forearm lowerarm lowarm elbow"),
    ("shin", "shin calf knee lowerleg lowleg tibia"),
    ("thigh", "thigh upperleg upleg femur leg hindleg"),
    ("collar", "clavicle collar collarbone shoulder scapula"),
    ("upper_arm", "upperarm uparm arm humerus frontleg foreleg"),
    ("tail", "tail"),
    ("rope", "rope chain hair ponytail braid tentacle cable cord strap string ribbon antenna "
             "tassel vine mane crest beard"),
    ("neck", "neck"), ("head", "head skull"),
    ("chest", "chest upperchest ribcage ribs rib thorax sternum"),
    ("spine", "spine torso abdomen stomach waist lumbar lowerback back trunk vertebra body"),
    ("pelvis", "pelvis hips hip"),
)
PART_OF_WORD = {word: (rank, part) for rank, (part, text) in enumerate(PARTS)
                for word in text.split()}

# These words name a finger or a toe only beside a side or a hand: a ring may be a thing.
FINGERS = frozenset("index middle mid ring little f".split())
TOES = frozenset(("ball",))

# Two words that are one: "UpLeg", "upper_arm".
COMPOUNDS = frozenset(
    "upperarm lowerarm lowarm forearm upperleg lowerleg lowleg upleg uparm forefoot forepaw "
    "hindfoot hindpaw hindleg frontleg foreleg lowerback upperchest collarbone".split())

# The front legs of an animal are its arms.
FRONT = frozenset(("front", "fore"))
FRONT_PARTS = {"thigh": "upper_arm", "shin": "forearm", "foot": "hand", "toe": "finger"}

# Words before which a side may stand without a gap: "leftleg", "rhand".
LIMBS = ("upperarm|lowerarm|forearm|upperleg|lowerleg|upleg|shoulder|clavicle|thigh|ankle|elbow|"
         "wrist|calf|shin|knee|foot|hand|arm|leg|toe|hip")
GLUED = re.compile(rf"(left|right|l|r)({LIMBS})$")
PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Words(NamedTuple):
    """What the name of a bone says."""
    words: FrozenSet[str]
    side: str               # "L", "R", ""
    part: str               # of PARTS, or "other"
    last: str               # word that is no side

    @property
    def is_twist(self) -> bool:
        return not TWIST.isdisjoint(self.words)

    @property
    def is_end(self) -> bool:
        return self.last in END

    @property
    def is_root(self) -> bool:
        return not ROOT.isdisjoint(self.words) and self.part == "other"


def split_name(name: str) -> Tuple[str, ...]:
    """The whole words of a name, in lower case and without numbers."""
    found = []
    for piece in PIECES.findall(name.rsplit(":", 1)[-1]):
        word = piece.lower()
        glued = GLUED.match(word)
        found += glued.groups() if glued else [word]

    out = []
    for word in found:
        if out and out[-1] + word in COMPOUNDS:
            out[-1] += word
        elif word not in EMPTY:
            out.append(word)
    return tuple(out)


@lru_cache(maxsize=4096)
def read_name(name: str) -> Words:
    words = split_name(name)
    side = next((SIDES[word] for word in reversed(words) if word in SIDES), "")
    known = [PART_OF_WORD[word] for word in words if word in PART_OF_WORD]

    # A finger by its own name.
    whole = frozenset(words)
    if not whole.isdisjoint(FINGERS) and (side or "hand" in whole):
        known.append(PART_OF_WORD["finger"])
    if not whole.isdisjoint(TOES) and side:
        known.append(PART_OF_WORD["toe"])
    part = min(known)[1] if known else "other"
    if part == "head" and side:
        part = "face"                       # a half of the skull
    if not whole.isdisjoint(FRONT):
        part = FRONT_PARTS.get(part, part)
    last = next((word for word in reversed(words) if word not in SIDES), "")
    return Words(whole, side, part, last)
