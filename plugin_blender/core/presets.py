# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets of an armature, and the springs that pull bones towards their animation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List

from .shot import BoneShot, Settings, Shot


@dataclass(frozen=True)
class Preset:
    follow: float           # [Hz] natural frequency of the springs towards the animation; 0: none
    damping: float          # damping ratio of these springs
    friction: float         # multiplier of the friction in joints
    roots: str              # role of bones that have no parent body


PRESETS = {
    "RAGDOLL": Preset(follow=0.0, damping=1.0, friction=1.0, roots="DYNAMIC"),
    "TAIL": Preset(follow=0.0, damping=1.0, friction=0.3, roots="DRIVEN"),
    "FOLLOW": Preset(follow=8.0, damping=1.0, friction=0.3, roots="DRIVEN"),
    "SOFT": Preset(follow=0.0, damping=0.3, friction=0.3, roots="DRIVEN"),
}


def follow_frequencies(shot: Shot, bone: BoneShot) -> List[float]:
    """The natural frequency [Hz] of the spring that pulls a bone towards its animation: at every
    sampled frame, or one number for all frames. The bone's own value counts, else the armature's,
    else the preset's."""
    settings = shot.settings
    own = shot.follow_at.get(bone.blender_name) or [bone.settings.follow]
    common = shot.follow_at.get("") or [settings.follow]

    out = []
    for n in range(max(len(own), len(common))):
        given = (own[n % len(own)], common[n % len(common)], PRESETS[settings.preset].follow)
        out.append(next(frequency for frequency in given if frequency >= 0))
    return out


def follows(shot: Shot, bone: BoneShot) -> bool:
    """Whether a spring pulls a bone towards its animation in some frame."""
    return max(follow_frequencies(shot, bone)) > 0


def damping_ratio(settings: Settings) -> float:
    """The damping ratio of the springs towards the animation."""
    return settings.damping if settings.damping >= 0 else PRESETS[settings.preset].damping
