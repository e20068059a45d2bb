# SPDX-License-Identifier: GPL-3.0-or-later
"""Elbows and knees by their names, and how far joints turn if nothing else tells it."""

from __future__ import annotations

import math
from typing import Sequence

from .shot import BoneShot, ancestors
from .words import read_name

HINGE_RANGE = math.radians(140)
HINGE_OVERSTRETCH = math.radians(5)
TAIL_RANGE = (math.radians(70), math.radians(30))       # cone and twist of what swings
WIDE_RANGE = (math.radians(120), math.radians(100))     # cone and twist of bones that follow
UNIVERSAL_RANGE = (-0.8, 0.8)                           # [rad]


def is_lower_limb(bones: Sequence[BoneShot], i: int) -> bool:
    """Whether a bone begins at an elbow or a knee. A "leg" below an upper leg is a shin."""
    part = read_name(bones[i].blender_name).part
    if part in ("forearm", "shin"):
        return True
    return part in ("thigh", "upper_arm") and any(
        read_name(bones[a].blender_name).part == part for a in ancestors(bones, i))
