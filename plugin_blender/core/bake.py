# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake Physics without Blender: a plan in, channels and a report out.

The document reader runs once per bake, on a document of the first frame alone. Paths of driven
bodies, springs towards the animation and start velocities go to the library as arrays."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Tuple

from .algebra import angle_between, pose_rows
from .binding import edit, rig as rigs
from .binding import skelpy
from .bone_bodies import half_length
from .build import Build, build_scene, with_motions
from .errors import UserError
from .key_reduction import key_count, reduce_channels, tolerance_words
from .keys import Channel, keys_of
from .paths import sample_times
from .plan import Plan
from .playback import Expected, expected_of, is_soft_and_connected
from .presets import damping_ratio, follow_frequencies, follows
from .report import BakeReport, bake_report
from .roles import VELOCITY_FRAMES
from .work import Work

JUMP = 0.25                 # of a bone's length, and rad: in one frame, and not before or after it
STILL_TOL = 1e-7            # m and quaternion components per frame: a body that does not move
SLICE_MS = 8.0              # simulation between two yields


@dataclass(frozen=True)
class Result:
    """Channels to write, and the poses that they must play."""
    channels: List[Channel]
    frames: Tuple[float, float]             # first and last
    expected: Expected
    poses: Sequence[float]                  # [frame][body][7]

    @property
    def bones(self) -> List[str]:
        """Names of the bones that get keys."""
        return sorted({channel.group for channel in self.channels})


@dataclass(frozen=True)
class BakeResult(Result):
    build: Build
    report: BakeReport


# ---- the animation ----

def start_poses(scene: skelpy.Scene) -> Sequence[float]:
    with skelpy.State(scene) as state:
        return state.poses


def _moves(poses: Sequence[float], width: int, a: int, b: int) -> bool:
    return max(abs(x - y) for x, y in zip(poses[a * width:(a + 1) * width],
                                          poses[b * width:(b + 1) * width])) > STILL_TOL


def _jumps(plan: Plan, poses: Sequence[float]) -> Dict[int, str]:
    """{sample: bone}: a bone that moves much farther to the next sample than before and after."""
    shot, found = plan.shot, {}
    for i in plan.own_bodies:
        rows = pose_rows(poses, 7 * plan.body_count, 7 * plan.body_index[shot.bones[i].name])
        length = 2 * half_length(shot, i)
        steps = [math.dist(a[:3], b[:3]) / length + angle_between(a[3:], b[3:])
                 for a, b in zip(rows, rows[1:])]
        for k, step in enumerate(steps):
            beside = sum(steps[max(k - 1, 0):k + 2]) - step
            if plan.roles[i] == "DYNAMIC" and step > JUMP + 5 * beside:
                found.setdefault(k, shot.bones[i].name)
    return found


def _start_velocities(build: Build, scene: skelpy.Scene
                      ) -> Tuple[Optional[Sequence[float]], List[str]]:
    """(6 numbers per body, warnings): the velocities of the animation as it arrives at the first
    frame; if it rests before that or jumps, as it goes on; None if it stands still or jumps there,
    too. scene: has joint coordinates for all bodies."""
    plan, shot = build.plan, build.plan.shot
    width, n = 7 * plan.body_count, VELOCITY_FRAMES
    poses = build.reader.poses(shot.before_poses, plan.body_count, shot.before_objects,
                               start_poses(scene))
    middle = shot.before.index(shot.frame_start)
    parts = [part for part, at in (((middle - n, middle), middle - 1),
                                   ((middle, middle + n), middle))
             if _moves(poses, width, at, at + 1)]

    jumps = _jumps(plan, poses) if parts else {}
    first, words = None, ""
    for begin, last in parts:
        cut = next((k for k in range(begin, last) if k in jumps), None)
        if cut is None:
            first = begin
            break
        words = words or f"'{jumps[cut]}' jumps from frame {shot.before[cut]} to " \
            f"{shot.before[cut + 1]}: bones start "

    warnings = []
    if words:
        warnings = [words + ("at rest" if first is None else "as the animation goes on after that")]
    if first is None:
        return None, warnings
    part = poses[first * width:(first + n + 1) * width]
    state = skelpy.Inverse(scene, part, shot.fps).state(middle - first)
    return state.velocities, warnings


def _follow_springs(build: Build, scene: skelpy.Scene) -> Dict[str, edit.FollowSpring]:
    """Springs that pull joints towards the animation. scene: see _start_velocities."""
    plan, shot = build.plan, build.plan.shot
    poses = build.reader.poses(shot.poses, plan.body_count, shot.objects, start_poses(scene))
    q, width = skelpy.Inverse(scene, poses, shot.sample_rate).q, scene.q_count
    samples = len(poses) // (7 * plan.body_count)
    times, damping = sample_times(samples, shot.sample_rate), damping_ratio(shot.settings)
    offsets = [scene.joint_q_offset(k) for k in range(scene.joint_count)] + [width]

    springs: Dict[str, edit.FollowSpring] = {}
    bones = {bone.name: bone for bone in shot.bones}
    for k, joint in enumerate(build.scene.joints):
        frequencies = follow_frequencies(shot, bones[joint.bodies[1]])
        highest = max(frequencies)
        if highest <= 0 or joint.type == "fixed":
            continue
        first, last = offsets[k], offsets[k + 1]
        target = array("d")
        for n in range(samples):
            target.extend(q[n * width + first:n * width + last])

        # A spring of frequency f pulls in proportion to f^2.
        weight = None
        if min(frequencies) < highest:
            weight = [(each / highest) ** 2 for each in frequencies]
        springs[joint.name] = edit.FollowSpring(highest, damping, times, target, weight)
    return springs


def _scene_to_read_by(build: Build, base: skelpy.Scene, driven: skelpy.Scene) -> skelpy.Scene:
    """The scene to read joint coordinates by: a tree. Simulated chains whose end is held as well
    close a loop through the world; here their ends are free."""
    children = {joint.bodies[1] for joint in build.scene.joints}
    held = [body.name for body in build.scene.bodies if body.name in children and body.motion]
    if not held:
        return driven
    paths = {name: path for name, path in build.motions.paths.items() if name not in held}
    return edit.edit_scene(base, paths=paths, free=held)


def prepare(plan: Plan, library: Optional[str] = None) -> Work[Tuple[Build, skelpy.Scene]]:
    """Generator: the build with all its motions, and the scene to bake."""
    build = build_scene(plan, library)
    yield 0.05, "building the scene"

    base = skelpy.Scene.from_document(build.scene, library)
    scene = base
    if build.motions.paths:
        scene = edit.edit_scene(base, paths=build.motions.paths)
    yield 0.07, "building the scene"

    shot = plan.shot
    has_springs = len(shot.frames) > 1 and any(
        follows(shot, bone) and role == "DYNAMIC" for bone, role in zip(shot.bones, plan.roles))
    if not (has_springs or shot.before):
        return build, scene

    tree = _scene_to_read_by(build, base, scene)
    springs: Dict[str, edit.FollowSpring] = {}
    velocities: Dict[str, Sequence[float]] = {}
    warnings: List[str] = []
    if has_springs:
        yield 0.1, "reading the animation"
        springs = _follow_springs(build, tree)
    if shot.before:
        found, warnings = _start_velocities(build, tree)
        if found is not None:
            free = [body.name for body in build.scene.bodies if body.motion is None]
            at = {name: 6 * plan.body_index[name] for name in free}
            velocities = {name: list(found[k:k + 6]) for name, k in at.items()}

    build = with_motions(build, springs, velocities, warnings)
    if springs or velocities:
        scene = edit.edit_scene(base, build.motions.paths, springs, velocities)
    return build, scene


# ---- the bake ----

def _more(found: Sequence[object]) -> str:
    return f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""


def _warn_of_soft_bones(plan: Plan) -> List[str]:
    shot = plan.shot
    found = [bone.blender_name for bone, role in zip(shot.bones, plan.roles)
             if is_soft_and_connected(bone, role)]
    if not found or not shot.settings.channels & rigs.LOCATION:
        return []
    return [f"'{found[0]}'{_more(found)} is connected to its parent, so only its rotation wobbles. "
            "Disconnect it (Edit Mode > Bone > Relations > Connected) to let it move as well"]


def warn_of_mimics(scene: skelpy.Scene) -> List[str]:
    """In the words of `skel bake`."""
    found = list(scene.mimics.items())
    if not found:
        return []
    follower, (source, *_) = found[0]
    names = scene.joint_names
    return [f"joint '{names[follower]}' mimics '{names[source]}'{_more(found)}: dynamics has no "
            "such constraint, it moves on its own"]


def _advance(job: skelpy.Bake, plan: Plan) -> bool:
    try:
        return job.advance(SLICE_MS)
    except skelpy.SkelError as error:
        if plan.shot.settings.integrator == "conserving":
            raise
        raise UserError(f"The solver failed: {error}. Set Solver to Fast, then bake again"
                        ) from None


def bake(plan: Plan, library: Optional[str] = None) -> Work[BakeResult]:
    """Generator: simulates from the first frame to the last."""
    build, scene = yield from prepare(plan, library)
    yield 0.15, "simulating"

    shot = plan.shot
    with skelpy.Bake(scene) as job:
        done = False
        while not done:
            done = _advance(job, plan)
            yield 0.15 + 0.7 * job.progress, "simulating"
        channels = yield from keys_of(plan, job.poses, shot.frame_start, shot.frame_step, library)
        channels = yield from reduce_channels(plan, channels, library=library)
        expected = expected_of(plan, job.poses, shot.frame_start, shot.frame_step)
        poses = array("d", job.poses)
        report = bake_report(job, shot, [*build.warnings, *warn_of_mimics(scene),
                                         *_warn_of_soft_bones(plan)])
    last = shot.frame_start + (len(job.frames) - 1) * shot.frame_step
    report = replace(report, key_count=key_count(channels),
                     key_tolerance=tolerance_words(shot.settings))
    yield 0.86, "writing keys"
    return BakeResult(channels, (shot.frame_start, last), expected, poses, build, report)
