# SPDX-License-Identifier: GPL-3.0-or-later
"""Removal of keys that a curve does not need: keys at every frame in, few Bezier keys out.

What is promised: at every frame that was computed, the location of a bone relative to its parent is
within the first tolerance [m] and within 0.0001 of the bone's length of the computed one, and its
rotation relative to its parent within the second tolerance [rad]. Bones farther down a chain add
the errors of those above them. The curves of one location or rotation have their keys at the same
frames; a curve that stays has one value, and a location that stays at that of the bone has no curve
if it had none before."""

from __future__ import annotations

import math
from array import array
from dataclasses import replace
from typing import Dict, List, Mapping, Optional, Protocol, Sequence, Tuple

from .binding import rig as rigs
from .keys import Channel
from .scales import scale_at
from .shot import Settings, Shot
from .work import Work

Tolerance = Tuple[float, float]         # [m] and [rad]
KINDS = {"location": rigs.VECTOR, "rotation_quaternion": rigs.QUATERNION,
         "rotation_axis_angle": rigs.AXIS_ANGLE}
LENGTH_SHARE = 1e-4                     # of its length: ends of small bones must stay together
KEPT_SHARE = 0.99                       # of the tolerance; the rest is left to Blender's arithmetic
CURVES_PER_SLICE = 300                  # curves that are reduced between two yields


class Sampled(Protocol):
    """The part of a plan that tolerances are taken from."""

    @property
    def shot(self) -> Shot: ...


def tolerance_of(settings: Settings) -> Tolerance:
    """The tolerances of the settings, which are in mm and degrees. Control bones have keys at every
    frame: their errors would add up to more than bones may be off by (wanted.TOL)."""
    if settings.write_to == "CONTROLS":
        return 0.0, 0.0
    return settings.key_tolerance / 1000, math.radians(settings.key_angle_tolerance)


def tolerance_words(settings: Settings) -> str:
    """The tolerances as the report states them."""
    if max(tolerance_of(settings)) <= 0:
        return "every frame"
    return f"{settings.key_tolerance:.3g} mm, {settings.key_angle_tolerance:.3g}°"


def key_count(channels: Sequence[Channel]) -> int:
    """The number of keys of some curves that have no other keys."""
    beside = sum(2 for channel in channels if channel.hold is not None)
    return beside + sum(1 if channel.is_still else len(channel.keys) // 2 for channel in channels)


def location_scale(shot: Shot, i: int) -> float:
    """Metres per unit of a bone's location: the scale of the armature and of the bone's parent."""
    up = shot.bones[i].parent
    return shot.metres * (max(scale_at(shot, up)) if up >= 0 and shot.poses else 1.0)


def _still(channel: Channel, value: float) -> Channel:
    """A channel that has one value in all frames: two keys, which a curve of its own need not
    have."""
    first, last = channel.keys[0], channel.keys[-2]
    third = (channel.keys[2] - first) / 3
    ends = (first, last) if last > first else (first,)
    return replace(channel, keys=array("f", [x for frame in ends for x in (frame, value)]),
                   handles=array("f", [x for frame in ends for x in
                                       (frame - third, value, frame + third, value)]))


def _stays_at(channels: Sequence[Channel], place: Sequence[float], tolerance: float) -> bool:
    """Whether a location stays within the tolerance of a place."""
    off = 0.0
    for channel, value in zip(channels, place):
        values = channel.keys[1::2]
        off += max(max(values) - value, value - min(values)) ** 2
    return math.sqrt(off) <= KEPT_SHARE * tolerance


def _with_rows(channel: Channel, rows: array[float]) -> Channel:
    """A channel with keys of the library: frame, value, and the same of both handles."""
    if len(rows) == rigs.KEY_NUMBERS:
        return _still(channel, rows[1])
    keys, handles = array("f", bytes(len(rows) // 3 * 4)), array("f", bytes(len(rows) // 3 * 8))
    for k in range(2):
        keys[k::2] = rows[k::rigs.KEY_NUMBERS]
    for k in range(4):
        handles[k::4] = rows[k + 2::rigs.KEY_NUMBERS]
    return replace(channel, keys=keys, handles=handles)


def _reduce(plan: Sampled, i: int, name: str, channels: List[Channel], tolerance: Tolerance,
            library: Optional[str]) -> List[Channel]:
    """The channels of one location or rotation of a bone; none for a location that stays where the
    bone is. name: of the property."""
    shot, limit = plan.shot, tolerance[1]
    bone = shot.bones[i]
    kind = KINDS.get(name, bone.rotation)
    if name == "location":
        limit = min(tolerance[0] / location_scale(shot, i), LENGTH_SHARE * bone.length)
        place = shot.basis[16 * i + 12:16 * i + 15]
        if place and limit > 0 and _stays_at(channels, place, limit):
            # Where nothing moves it, the bone is there without keys.
            return [_still(channel, value) for channel, value in zip(channels, place)
                    if bone.slides]
    if limit <= 0:
        return channels
    rows = rigs.reduce_keys([channel.keys for channel in channels], kind, limit, library)
    return [_with_rows(channel, row) for channel, row in zip(channels, rows)]


def reduce_channels(plan: Sampled, channels: Sequence[Channel],
                    limits: Mapping[str, Tolerance] = {},
                    library: Optional[str] = None) -> Work[List[Channel]]:
    """Generator: the channels with as few keys as the settings' tolerances allow, or as they are if
    these are 0. limits: of bones that must be more exact, by Blender's names."""
    shot, general = plan.shot, tolerance_of(plan.shot.settings)
    if max(general) <= 0 or not channels or len(channels[0].keys) < 4:
        return list(channels)

    index = {bone.blender_name: i for i, bone in enumerate(shot.bones)}
    groups: Dict[str, List[Channel]] = {}
    for channel in channels:
        groups.setdefault(channel.path, []).append(channel)

    out: List[Channel] = []
    seen = 0
    for path, group in groups.items():
        name, bone = path.rpartition(".")[2], group[0].group
        if name != "scale":                     # the keys of a scale are few already
            least = limits.get(bone, general)
            group = _reduce(plan, index[bone], name, group,
                            (min(general[0], least[0]), min(general[1], least[1])), library)
        out += group
        if len(out) >= seen + CURVES_PER_SLICE:
            seen = len(out)
            yield 0.86, "removing keys"
    return out or list(channels)
