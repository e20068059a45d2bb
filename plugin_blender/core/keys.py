# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of bones: poses of bodies to channels with the names of Blender's F-curves."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from typing import List, Optional, Protocol, Sequence, Tuple

from .binding import rig as rigs
from .scales import BoneScale
from .shot import Shot, all_ancestors
from .work import Work

BONE_FRAMES_PER_SLICE = 60000       # bones times frames whose keys are made between two yields
ROTATION_PROPERTIES = {rigs.QUATERNION: "rotation_quaternion",
                       rigs.AXIS_ANGLE: "rotation_axis_angle"}
KEYED_PROPERTIES = ("location", "scale", "rotation_euler", *ROTATION_PROPERTIES.values())
BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]')        # in a data path, with its name


@dataclass(frozen=True)
class Channel:
    """The keys of one F-curve."""
    path: str
    index: int
    group: str
    keys: array[float]                      # frame, value, frame, value, ... (single precision)
    # Bezier keys: frame and value of the left and the right handle, 4 per key. None: linear keys.
    handles: Optional[array[float]] = None
    # Not None: the curve stays as it is outside of the keys; this is its value if it has no keys.
    hold: Optional[float] = None

    @property
    def is_still(self) -> bool:
        """Whether one key would do: it has the same value in all frames."""
        return self.handles is not None and len(self.keys) == 4 and self.keys[1] == self.keys[3]

    @property
    def span(self) -> Tuple[float, float]:
        """The first and the last frame at which the curve gets keys."""
        beside = 0.0 if self.hold is None else 1.0
        return self.keys[0] - beside, self.keys[-2] + beside


class Rigged(Protocol):
    """The parts of a plan that keys are made from."""

    @property
    def shot(self) -> Shot: ...

    @property
    def bones(self) -> Sequence[rigs.Bone]: ...

    @property
    def scales(self) -> Sequence[BoneScale]: ...

    @property
    def body_count(self) -> int: ...

    def writer(self, library: Optional[str] = None) -> rigs.Rig: ...


def escape(name: str) -> str:
    """A name as it stands in a data path."""
    return name.replace("\\", "\\\\").replace('"', '\\"')


def bone_of(path: str) -> str:
    """The name of the bone that a data path leads through; "" if there is none."""
    found = BONE.match(path)
    return re.sub(r"\\(.)", r"\1", found[1]) if found else ""


def interleave(frames: Sequence[float], values: Sequence[float]) -> array[float]:
    """Keys of values at frames; no arithmetic."""
    out = array("f", bytes(8 * len(frames)))
    out[0::2], out[1::2] = array("f", frames), array("f", values)
    return out


# ---- samples ----

def _known_matrices(plan: Rigged) -> Optional[array[float]]:
    """[sample][bone][16]: the matrices of bones that get no keys, or not all: the poses of bones
    that physics does not move, the basis of others. The library ignores the rest."""
    shot, bones = plan.shot, plan.bones
    count = len(bones)
    shown = [i for i, bone in enumerate(bones) if bone.channels]
    needed = {a for a in all_ancestors(shot.bones, shown) if not bones[a].channels}
    needed |= {i for i in shown if bones[i].channels != rigs.LOCATION | rigs.ROTATION and
               not shot.bones[i].connected}
    if not needed:
        return None

    out = array("f", rigs.STILL) * (len(shot.poses) // 16)
    for i in needed:
        posed = (bones[i].flags or 0) & rigs.POSED
        source = shot.poses if posed else shot.basis
        numbers = 12 if shot.bones[i].connected and not posed else 16
        for k in range(16 * i, 16 * i + numbers):
            out[k::16 * count] = source[k::16 * count]
    return out


def thin(numbers: array[float], width: int, stride: int, samples: int) -> array[float]:
    """The samples of the frames that get keys; the first sample if there are not as many."""
    if stride > 1 and len(numbers) // width not in (1, samples):
        rows = (numbers[n:n + width] for n in range(0, len(numbers), stride * width))
        numbers = array(numbers.typecode, b"".join(row.tobytes() for row in rows))
    return numbers if len(numbers) // width in (1, samples) else numbers[:width]


def _part(numbers: Sequence[float], width: int, start: int, count: int) -> Sequence[float]:
    """`count` samples from `start` on; numbers may be one sample for all frames."""
    if len(numbers) == width:
        return numbers
    return numbers[start * width:(start + count) * width]


# ---- channels ----

def name_channels(plan: Rigged, keys: Sequence[array[float]]) -> List[Channel]:
    """The library's channels with the names of Blender's F-curves. A bone also gets keys of its
    scale at the first frame if constraints make it, or if it is animated and the bone has
    children."""
    out: List[Channel] = []
    at = 0
    parents = {bone.parent for bone in plan.shot.bones}
    for i, (bone, data) in enumerate(zip(plan.shot.bones, plan.bones)):
        head = f'pose.bones["{escape(bone.blender_name)}"]'
        rotation = ROTATION_PROPERTIES.get(data.rotation or rigs.QUATERNION, "rotation_euler")
        for name, width in zip(("location", rotation), data.widths):
            for index in range(width):
                out.append(Channel(f"{head}.{name}", index, bone.blender_name, keys[at]))
                at += 1

        scale, stretched = plan.scales[i]
        if data.channels and (stretched or bone.scales and i in parents):
            first, last = keys[at - 1][0], keys[at - 1][-2]
            for index, size in enumerate(scale):
                held = array("f", (first, size, last, size) if last > first else (first, size))
                out.append(Channel(f"{head}.scale", index, bone.blender_name, held))
    return out


def keys_of(plan: Rigged, poses: Sequence[float], first: float, step: float,
            library: Optional[str] = None) -> Work[List[Channel]]:
    """Generator: the channels of poses [frame][body][7]. first, step: frames of the keys."""
    shot, writer = plan.shot, plan.writer(library)
    width, bones = 7 * plan.body_count, 16 * len(shot.bones)
    samples = len(poses) // width
    matrices = _known_matrices(plan)
    if matrices is not None:
        matrices = thin(matrices, bones, shot.stride, samples)
    objects = thin(shot.objects, 16, shot.stride, samples)

    keys: List[array[float]] = []
    count = max(1, BONE_FRAMES_PER_SLICE // len(shot.bones))
    for start in range(0, samples, count):
        if keys:
            yield 0.86, "making keys"
            writer.go_on(keys)
        more = writer.channels(
            _part(poses, width, start, count), plan.body_count, _part(objects, 16, start, count),
            None if matrices is None else _part(matrices, bones, start, count),
            float(first + start * step), float(step))
        keys = [a + b for a, b in zip(keys, more)] if keys else more
    return name_channels(plan, keys)
