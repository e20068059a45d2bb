# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a bake: what the panel shows and what is saved to a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from .binding import skelpy
from .shot import Shot

HEAD = ("integrator", "solver", "step", "steps", "rejected_steps", "evaluations", "order",
        "wall_seconds")


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


def bake_report(job: skelpy.Bake, shot: Shot, warnings: List[str]) -> BakeReport:
    """The report of a bake that is done. warnings: about the scene."""
    frames = [shot.frame_start + k * shot.frame_step for k in range(job.samples_done)]
    rows = [{"frame": frame, "time": k / job.fps, **job.report(k)}
            for k, frame in enumerate(frames)]
    return BakeReport(shot.name, (frames[0], frames[-1]), job.summary, rows,
                      (*job.warnings, *warnings))
