# SPDX-License-Identifier: GPL-3.0-or-later
"""Import of a skel-track/1 as keys."""

from __future__ import annotations

import math
from typing import List, Optional, Sequence

from .bake import Result
from .binding import rig as rigs
from .binding import skelpy
from .build import build_scene
from .errors import UserError, parse_json
from .key_reduction import reduce_channels
from .keys import keys_of
from .plan import Plan
from .playback import expected_of
from .work import Work

LAST_FRAME = 1048574        # of Blender's timeline


def track_frames(text: str, fps: float) -> List[float]:
    """The frames of Blender, whole or not, at which the samples of a track are."""
    given = parse_json(text, "The file")
    try:
        first, count, rate = int(given["frame_start"]), len(given["position"]), float(given["fps"])
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise UserError(f"The file is not a skel-track/1: {error}") from None
    if not 0 < rate < math.inf:
        raise UserError(f"The track has {rate:g} samples per second: \"fps\" must be above 0")
    if not count:
        raise UserError("The track has no samples")

    step = fps / rate
    if abs(step - round(step)) < 1e-6:
        step = round(step)
    frames = [first + k * step for k in range(count)]
    if max(-first, frames[-1]) > LAST_FRAME:
        raise UserError(f"The track goes from frame {first:g} to {frames[-1]:g}. Blender has "
                        f"frames from -{LAST_FRAME} to {LAST_FRAME}")
    return frames


def import_track(plan: Plan, text: str, frames: Sequence[float],
                 library: Optional[str] = None) -> Work[Result]:
    """Generator: a skel-track/1 of this armature's scene as keys. frames: of track_frames."""
    # Only the names of the bodies and their order count here.
    scene = skelpy.Scene.from_document(build_scene(plan, library).scene, library)
    yield 0.2, "reading the track"
    track = rigs.Track(scene, text)
    if track.fps <= 0:
        raise UserError("The file is a pose, not a track")

    step = frames[1] - frames[0] if len(frames) > 1 else 1
    yield 0.5, "making keys"
    channels = yield from keys_of(plan, track.poses, frames[0], step, library)
    channels = yield from reduce_channels(plan, channels, library=library)
    return Result(channels, (frames[0], frames[-1]),
                  expected_of(plan, track.poses, frames[0], step), track.poses)
