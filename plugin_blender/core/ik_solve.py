# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverse kinematics without Blender: an IkShot in, channels and a report out."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .bake import Result
from .binding import scene as documents
from .binding import skelpy
from .bone_bodies import half_length
from .ik_build import IkPlan, moving_parent, plan_ik
from .ik_keys import goal_limits
from .ik_shot import IkShot, bone_number
from .key_reduction import key_count, reduce_channels, tolerance_words
from .keys import Channel, keys_of
from .playback import ExpectedTarget, expected_of
from .work import Work

SLICE_MS = 8.0              # solving between two yields
JUMPS_NAMED = 3             # jumps that are named one by one
START_MOVED_TOL = 1e-3      # [rad] and [m]: a smaller change of the first frame is not reported
LIMIT_TOL = 1e-6            # of the range: a joint this near its limit is at it
TARGET_TOL = 1e-3           # of a bone's length: a target that has moved


@dataclass(frozen=True)
class Step:
    """A jump of a bone, or how far its first frame was moved."""
    frame: float
    bone: str
    size: float
    unit: str                               # "rad" or "m"

    @property
    def words(self) -> str:
        if self.unit == "rad":
            return f"{math.degrees(self.size):.3g} degrees"
        return f"{self.size:.3g} {self.unit}"


@dataclass(frozen=True)
class IkReport:
    frame_count: int
    missed: List[float]                     # frames in which a goal was not reached
    worst: float                            # [m] or [rad]: the largest error of a goal
    worst_frame: float
    worst_goal: str
    distance: float                         # [m] of that goal
    angle: float                            # [rad]
    limits: Dict[str, int]                  # "bone axis": frames in which it is at its limit
    microseconds: float                     # per frame
    bone_count: int
    jumps: List[Step]
    moved: Optional[Step]                   # how the first frame was moved
    playback_error: Optional[float] = None  # of a bone's length or rad; None: not checked
    key_count: int = 0                      # keys of the curves that were written
    key_tolerance: str = ""                 # that they were reduced by, in words

    @property
    def words(self) -> str:
        """Goals that were missed, jumps, a first frame that was moved, as a sentence."""
        words = "all goals reached"
        if self.missed:
            words = (f"{len(self.missed)} of {self.frame_count} frames not reached, the first "
                     f"{self.missed[0]}; worst at {self.worst_frame}: '{self.worst_goal}' off by "
                     f"{self.distance:.3g} m, {self.angle:.3g} rad")
        return words + jump_words(self.jumps, self.moved)


def jump_words(jumps: Sequence[Step], moved: Optional[Step]) -> str:
    words = ""
    for jump in jumps[:JUMPS_NAMED]:
        words += f"; '{jump.bone}' jumps by {jump.words} at frame {jump.frame}"
    if len(jumps) > JUMPS_NAMED:
        words += f"; there are {len(jumps) - JUMPS_NAMED} more jumps"
    if moved:
        why = "" if jumps else " so that the motion has no jump"
        words += (f". Frame {moved.frame} was moved by {moved.words} ('{moved.bone}'){why}; turn "
                  "on Hold Start to keep it")
    return words


@dataclass(frozen=True)
class IkResult(Result):
    report: IkReport


# ---- the animation ----

def _base_of(plan: IkPlan, scene: skelpy.Scene) -> Tuple[array[float], array[float]]:
    """(q, poses) of the animation: [frame][q_count] and [frame][body][7], flat."""
    shot, width = plan.shot, scene.q_count
    frames = len(shot.frames)
    with skelpy.State(scene) as state:
        q, start = array("d", state.q) * frames, state.poses
    for name, values in plan.base.items():
        at = scene.joint_q_offset(scene.find_joint(name))
        columns = zip(*values) if isinstance(values[0], (tuple, list)) else (values,)
        for k, column in enumerate(columns):
            q[at + k::width] = array("d", column) * (frames // len(column))
    poses = plan.rig.poses(shot.poses, scene.body_count, shot.objects, start)
    return q, poses * (frames * 7 * scene.body_count // len(poses))


def start_motion(plan: IkPlan, scene: skelpy.Scene) -> skelpy.IkMotion:
    """All frames, on top of the animation; not yet solved."""
    settings = plan.ik.settings
    base, poses = _base_of(plan, scene)
    seed = None
    if settings.smooth and len(plan.shot.frames) > 1:   # the first frame may be far from the pose
        with skelpy.Ik(scene, mode="pose") as first:
            seed, _ = first.solve()
    options: Dict[str, Any] = {"posture": "base"} if settings.posture else {}
    return skelpy.IkMotion(scene, seed=seed, base=base, base_poses=poses, **options)


# ---- the result ----

def _expected_targets(plan: IkPlan, samples: Sequence[int]) -> Tuple[ExpectedTarget, ...]:
    """The targets that goals do not move."""
    shot, out = plan.shot, []
    for goal in plan.ik.goals:
        length = 1.0
        if goal.bone:
            length = 2 * half_length(shot, bone_number(shot, goal.bone)) / shot.unit
        for at, matrices, rides in ((goal.at, goal.target, goal.rides),
                                    (goal.pole_at, goal.pole, goal.pole_rides)):
            if at and matrices and moving_parent(shot, plan.moving.turns, rides) < 0:
                out.append(ExpectedTarget(goal.name, at,
                                          [matrices[16 * k:16 * k + 16] for k in samples],
                                          TARGET_TOL * length))
    return tuple(out)


def _with_whole_turns(plan: IkPlan, scene: skelpy.Scene, motion: skelpy.IkMotion,
                      channels: Sequence[Channel]) -> List[Channel]:
    """The channels, where hinges of robots have the coordinates that were found, with whole turns:
    poses do not tell an angle beyond half a turn from one on the other side, nor how far a mimic
    joint has to turn."""
    shot, out = plan.shot, []
    at = {bone.blender_name: i for i, bone in enumerate(shot.bones)}
    for channel in channels:
        i = at[channel.group]
        joint, name = plan.ik.joints[i], shot.bones[i].name
        if joint.kind == "hinge" and channel.path.endswith(".rotation_euler") and \
                channel.index == "XYZ".index(joint.axis) and name in plan.base:
            q = motion.q[scene.joint_q_offset(scene.find_joint(name))::scene.q_count]
            keys = channel.keys[:]
            keys[1::2] = array("f", [joint.sign * v for v in q])
            channel = replace(channel, keys=keys)
        out.append(channel)
    return out


def _step(plan: IkPlan, step: Dict[str, Any]) -> Step:
    # The library counts samples from the first frame; the user's frames may be farther apart.
    frame = plan.shot.frames[step["frame"] - plan.shot.frame_start]
    names = {bone.name: bone.blender_name for bone in plan.shot.bones}
    name = plan.bone_of.get(step["joint"]) or step["joint"]
    return Step(frame, names.get(name, name), step["size"], step["unit"])


def steps_of(plan: IkPlan, motion: skelpy.IkMotion) -> Tuple[List[Step], Optional[Step]]:
    """(jumps in the order of the frames, how the first frame was moved or None)."""
    moved = motion.start_moved
    start = _step(plan, moved) if moved is not None and moved["size"] > START_MOVED_TOL else None
    return [_step(plan, jump) for jump in motion.jumps], start


def _errors(goals: Sequence[documents.Goal], n: int,
            receipt: Dict[str, Any]) -> List[Tuple[float, int]]:
    """(distance or angle, number of the goal) of a frame, of goals that are not turned off."""
    weights = [goal.weight[n] if isinstance(goal.weight, list) else goal.weight for goal in goals]
    return [(max(off["distance"], off["angle"]), k) for k, off in enumerate(receipt["goals"])
            if weights[k] > 0]


def ik_report(plan: IkPlan, scene: skelpy.Scene, motion: skelpy.IkMotion) -> IkReport:
    frames, goals = plan.shot.frames, plan.scene.goals
    receipts: List[Dict[str, Any]] = motion.receipts
    off = [max(_errors(goals, n, each), default=(0.0, 0)) for n, each in enumerate(receipts)]
    missed = [n for n, (error, _goal) in enumerate(off) if error > plan.ik.settings.tolerance]
    worst = max(range(len(off)), key=lambda n: off[n])
    goal = off[worst][1]

    limits: Dict[str, int] = {}
    q, width = motion.q, scene.q_count
    for bone, axis, joint, low, high in plan.limits:
        values = q[scene.joint_q_offset(scene.find_joint(joint))::width]
        near = LIMIT_TOL * (high - low)
        count = sum(1 for v in values if v <= low + near or v >= high - near)
        if count:
            limits[f"{bone} {axis}"] = count

    jumps, moved = steps_of(plan, motion)
    error = receipts[worst]["goals"][goal]
    return IkReport(
        len(frames), [frames[n] for n in missed], off[worst][0], frames[worst],
        goals[goal].name or "", error["distance"], error["angle"], limits,
        sum(each["us"] for each in receipts) / max(1, len(receipts)), len(plan.own_bodies), jumps,
        moved)


def solve(ik: IkShot, library: Optional[str] = None) -> Work[IkResult]:
    """Generator: solves the goals of every frame."""
    plan = yield from plan_ik(ik, library)
    yield 0.05, "building the scene"
    values = skelpy.DocumentValues(plan.scene)
    for _ in values.advance():
        yield 0.06, "building the scene"
    scene = skelpy.Scene.from_values(values, library)
    yield 0.1, "solving"

    shot = ik.shot
    first, last = shot.frames[0], shot.frames[-1]
    with start_motion(plan, scene) as motion:
        done = False
        while not done:
            done = motion.advance(SLICE_MS)
            yield 0.1 + 0.75 * motion.progress, "solving"
        channels = yield from keys_of(plan, motion.poses, first, shot.frame_step, library)
        yield 0.85, "solving"
        channels = _with_whole_turns(plan, scene, motion, channels)
        yield 0.85, "solving"
        channels = yield from reduce_channels(plan, channels, goal_limits(plan), library)
        expected = expected_of(plan, motion.poses, first, shot.frame_step)
        expected = replace(expected, targets=_expected_targets(plan, expected.samples))
        yield 0.85, "solving"
        poses = array("d", motion.poses)
        report = replace(ik_report(plan, scene, motion), key_count=key_count(channels),
                         key_tolerance=tolerance_words(shot.settings))
    yield 0.86, "writing keys"
    return IkResult(channels, (first, last), expected, poses, report)
