# SPDX-License-Identifier: GPL-3.0-or-later
"""Motions of bodies over time, as the library takes them and as a document has them."""

from __future__ import annotations

from array import array
from typing import Dict, List, Sequence

from .binding import edit

Rows = Sequence[Sequence[float]]            # poses, a sample each


def sample_times(count: int, rate: float) -> array[float]:
    """Times [s] of samples."""
    return array("d", [n / rate for n in range(count)])


def path_of(rows: Rows, rate: float) -> edit.Path:
    """The path of a body through poses at an even rate [1/s]."""
    return edit.Path(sample_times(len(rows), rate),
                     array("d", [v for row in rows for v in row[:3]]),
                     array("d", [v for row in rows for v in row[3:]]))


def split(values: Sequence[float], width: int) -> List[List[float]]:
    """Flat numbers, so many in each row."""
    return [list(values[n:n + width]) for n in range(0, len(values), width)]


def path_fields(path: edit.Path) -> Dict[str, object]:
    """The `curve` of a driven body in a document."""
    return {"time": list(path.time), "position": split(path.position, 3),
            "orientation": split(path.orientation, 4)}


def start_fields(path: edit.Path) -> Dict[str, object]:
    """The `curve` of a body that stands at the start of a path."""
    return {"time": [0.0], "position": [list(path.position[:3])],
            "orientation": [list(path.orientation[:4])]}


def spring_fields(spring: edit.FollowSpring) -> Dict[str, object]:
    """The `follow` of a joint in a document."""
    width, times = len(spring.target) // len(spring.time), list(spring.time)
    target = list(spring.target) if width == 1 else split(spring.target, width)
    out: Dict[str, object] = {"stiffness": spring.frequency, "damping": spring.damping,
                              "curve": {"time": times, "value": target}}
    if spring.weight is not None:
        out["weight"] = {"time": times, "value": list(spring.weight)}
    return out
