# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a bake: what the panel shows and what is saved to a file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Collection, Dict, List, Optional, Sequence, Tuple

from .binding import skelpy
from .shot import Shot
from .wanted import Receipt

HEAD = ("integrator", "solver", "step", "steps", "rejected_steps", "evaluations", "order",
        "wall_seconds")

# Warnings of the library that have other words for animators.
ADJUSTED = r"the start velocities violated the joints by ([\d.e+-]+) m/s; they were projected"
OVERLAP = "overlap at the start"            # in a warning of the library
ADJUSTED_MIN = 0.01                         # [m/s] less cannot be seen
REWORDED = (
    (ADJUSTED,
     r"The first frames move faster than the joints allow, by \1 m/s. The start velocities were "
     "adjusted"),
)


@dataclass(frozen=True)
class Problem:
    """A warning, and where to look."""
    text: str
    bone: str = ""
    frame: Optional[int] = None


class Located(str):
    """A warning that says itself where to look. In all other ways it is its text."""

    bone: str
    frame: Optional[int]

    def __new__(cls, text: str, bone: str = "", frame: Optional[int] = None) -> Located:
        out = super().__new__(cls, text)
        out.bone, out.frame = bone, frame
        return out


def problem_of(warning: str, bones: Collection[str]) -> Problem:
    """A warning with the first bone and the first frame that it names. Names are in quotes; a joint
    has the name of its bone."""
    text = str(warning)
    for pattern, words in REWORDED:
        text = re.sub(pattern, words, text)
    text = text[:1].upper() + text[1:]
    if isinstance(warning, Located):
        return Problem(text, warning.bone, warning.frame)

    named = re.findall(r"'(.*?)'(?!\w)", warning)
    bone = next((name for each in named for name in (each, re.sub(r"\.joint$", "", each))
                 if name in bones), "")
    frame = re.search(r"\bframes? (-?\d+)\b", warning)
    return Problem(text, bone, int(frame[1]) if frame else None)


def can_be_seen(warning: str) -> bool:
    """Whether a warning is about something that an animator could see."""
    adjusted = re.match(ADJUSTED, warning)
    return adjusted is None or float(adjusted[1]) >= ADJUSTED_MIN


@dataclass(frozen=True)
class BakeReport:
    name: str
    frames: Tuple[int, int]                 # first and last
    summary: Dict[str, Any]                 # of the whole bake, as skelpy.Bake.summary
    rows: List[Dict[str, Any]]              # energies, momenta and work of every frame
    warnings: Tuple[str, ...]
    playback_error: Optional[float] = None  # of a bone's length or rad; None: not checked
    key_count: int = 0                      # keys of the curves that were written
    key_tolerance: str = ""                 # that they were reduced by, in words
    bones: Tuple[str, ...] = ()             # names, to find those that warnings name
    receipt: Optional[Receipt] = None       # of keys of control bones

    @property
    def problems(self) -> Tuple[Problem, ...]:
        """The warnings in words for animators, with where to look."""
        bones = set(self.bones)
        return tuple(problem_of(warning, bones) for warning in self.warnings
                     if can_be_seen(warning))

    @property
    def headline(self) -> str:
        """The first line that a user reads."""
        count = len(self.problems)
        if not count:
            return f"OK, frames {self.frames[0]} to {self.frames[1]}"
        return "1 thing to look at" if count == 1 else f"{count} things to look at"

    def csv(self) -> str:
        """A line per frame, with the columns of `skel bake --report R.csv`."""
        lines: List[str] = []
        for row in self.rows:
            flat: Dict[str, float] = {}
            for name, value in row.items():
                if isinstance(value, list):
                    flat.update({f"{name}_{axis}": v for axis, v in zip("xyz", value)})
                else:
                    flat[name] = value
            if not lines:
                lines.append(",".join(flat))
            lines.append(",".join(repr(value) for value in flat.values()))
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """The skel-report/1 of `skel bake --report R.json`."""
        summary = dict(self.summary)
        summary.pop("warning_count")
        summary["order"] = summary.pop("last_order")
        head = {name: summary.pop(name) for name in HEAD}

        frames = []
        for row in self.rows:
            work = {name[5:]: value for name, value in row.items() if name.startswith("work_")}
            rest = {name: value for name, value in row.items() if not name.startswith("work_")}
            frames.append({**rest, "work": work})
        return json.dumps({"format": "skel-report/1", "scene": self.name, **head,
                           "summary": summary, "warnings": list(self.warnings), "frames": frames},
                          ensure_ascii=False, indent=1) + "\n"


def _of_interest(shot: Shot, warnings: Sequence[str]) -> List[str]:
    """The warnings of the library without those about bodies that overlap at the start if there are
    no obstacles: bodies of one character may overlap."""
    return [each for each in warnings if shot.colliders or OVERLAP not in each]


def bake_report(job: skelpy.Bake, shot: Shot, warnings: List[str]) -> BakeReport:
    """The report of a bake that is done. warnings: about the scene."""
    frames = [shot.frame_start + k * shot.frame_step for k in range(job.samples_done)]
    rows = [{"frame": frame, "time": k / job.fps, **job.report(k)}
            for k, frame in enumerate(frames)]
    return BakeReport(shot.name, (frames[0], frames[-1]), job.summary, rows,
                      (*_of_interest(shot, job.warnings), *warnings),
                      bones=tuple(bone.blender_name for bone in shot.bones))
