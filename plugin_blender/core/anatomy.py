# SPDX-License-Identifier: GPL-3.0-or-later
"""Which part of a human or animal body a bone is, by its name, and how far such joints turn."""

from __future__ import annotations

import math
import re
from typing import Sequence

from .shot import BoneShot, ancestors

# Words in the names of bones, and the part that they mean. The first match counts.
PARTS = (
    ("shin|calf|knee|lower.?leg|leg.?lower|forearm|fore.?arm|lower.?arm|arm.?lower|elbow", "hinge"),
    ("toe|finger|thumb|index|middle|ring|pinky|little|digit|(?<![a-z])(f_|ball_[lr])", "finger"),
    ("hand|wrist|palm", "hand"), ("foot|ankle|heel", "foot"), ("hips", "spine"),
    ("thigh|upper.?leg|hip|leg", "hip"),
    ("clavicle|collar|shoulder", "collar"), ("upper.?arm|arm", "shoulder"),
    ("neck|head|skull", "neck"), ("spine|chest|torso|abdomen|belly|waist|pelvis|rib", "spine"),
    ("tail|rope|chain|hair|ear|tentacle|cable|strap", "tail"),
)
UPPER_LEG = "thigh|up(per)?.?leg|leg.?up"

# Cone and twist to either side [degrees].
BALL_RANGES_DEG = {
    "finger": (40, 5), "hand": (50, 20), "foot": (35, 15), "hip": (60, 30), "collar": (20, 10),
    "shoulder": (85, 45), "neck": (40, 45), "spine": (25, 20), "tail": (70, 30),
    "other": (50, 25)}
HINGE_RANGE = math.radians(140)
HINGE_OVERSTRETCH = math.radians(5)
WIDE_RANGE = (math.radians(120), math.radians(100))     # cone and twist of bones that follow
UNIVERSAL_RANGE = (-0.8, 0.8)                           # [rad]


def _part_by_name(name: str) -> str:
    low = name.lower()
    return next((part for words, part in PARTS if re.search(words, low)), "other")


def part_of(bones: Sequence[BoneShot], i: int) -> str:
    """The part that a bone is: a key of BALL_RANGES_DEG, or "hinge" for knees and elbows. A "leg"
    below an upper leg is a shin."""
    part = _part_by_name(bones[i].name)
    if part != "hip" or re.search(UPPER_LEG, bones[i].name.lower()):
        return part

    above = (bones[a].name for a in ancestors(bones, i))
    hip = next((name for name in above if _part_by_name(name) == "hip"), "")
    return "hinge" if re.search(UPPER_LEG, hip.lower()) else part
