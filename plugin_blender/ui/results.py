# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the result of a bake, to the bones themselves or to the control bones that move them."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..blender import mute, pose_controls, takes, write
from ..blender.rna import Action, Armature
from ..core.algebra import Pose
from ..core.bake import Result
from ..core.binding import rig as rigs
from ..core.plan import Plan
from ..core.wanted import Receipt, wanted_bones, wanted_poses
from ..core.work import Work
from .jobs import check_playback


@dataclass(frozen=True)
class Written:
    """What was written, and how it plays."""
    action: Action
    words: str                              # for the message of the operator
    error: float                            # of a bone's length or rad
    warnings: Tuple[str, ...]
    receipt: Optional[Receipt] = None       # if control bones got the keys


class Writer:
    """The way of a result into the file. It is made, and refuses, before the work begins; the
    armature plays its source then. target: see takes.TARGETS."""

    def __init__(self, ob: Armature, plan: Plan, target: str) -> None:
        settings = plan.shot.settings
        self.plan, self.rigging = plan, None
        if settings.write_to != "CONTROLS":
            write.check(ob, target, plan.keyed)
            return

        self.bones = wanted_bones(plan)
        names = [plan.shot.bones[i].blender_name for i in self.bones]
        locked = [not settings.channels & kind for kind in (rigs.LOCATION, rigs.ROTATION)]
        self.rigging = pose_controls.find_rigging(
            ob, names, plan.shot.frame_start, settings.exact_controls, (locked[0], locked[1]))
        pose_controls.check(ob, self.rigging, target)
        write.check(ob, target, self.rigging.controls)

    def pose(self, ob: Armature, result: Result) -> Work[Result]:
        """Generator: the result with the channels that get keys. It changes nothing."""
        if self.rigging is None:
            return result
        frames, wanted = self._wanted(result)
        with takes.source(ob):
            channels = yield from pose_controls.solve(ob, self.rigging, frames, wanted)
        return Result(channels, result.frames, result.expected, result.poses)

    def _wanted(self, result: Result) -> Tuple[Sequence[float], List[List[Pose]]]:
        wanted = wanted_poses(self.plan, result.poses, self.bones)
        first, last = result.frames
        step = (last - first) / max(1, len(wanted) - 1)
        return [first + step * n for n in range(len(wanted))], wanted

    def write(self, ob: Armature, result: Result, target: str, name: str,
              made: Dict[str, Any]) -> Work[Written]:
        """Generator: writes a result of `pose` as a take, and checks how it plays. made: how (see
        take_edit.made_of)."""
        action, kept = yield from takes.write_take(ob, result.channels, target, name, made)
        if self.rigging is None:
            muted = mute.mute_others(ob, result.channels) if ob.skel.mute_constraints else ""
            error, seen = yield from check_playback(ob, result)
            return Written(action, muted, error, (*kept, *seen))

        muted = mute.mute_modifiers(ob, result.channels)
        receipt = yield from pose_controls.measure(
            ob, self.rigging, result.channels, *self._wanted(result))
        warnings = (*kept, *self.plan.shot.warnings, *receipt.warnings)
        return Written(action, receipt.words + muted, receipt.position[0], warnings, receipt)
