# SPDX-License-Identifier: GPL-3.0-or-later
"""The work itself, without Blender: a Shot in, channels and a report out.

Long work is a generator that yields (fraction, words) often, so that whoever drives it can draw a
progress bar, stop it, or run it to its end. Its result is what it returns (`yield from`)."""

import copy
import errno
import json
import math
import os
import re
import stat
import tempfile
from array import array
from dataclasses import dataclass, field
from typing import Any, Dict, List

from . import convert
from .binding import rig as rigs
from .binding import skelpy

JUMP = 0.25         # of a bone's length, and radians: in one frame, and not before or after it
STILL = 1e-7        # m and parts of a turn between frames: what does not move
LAST_FRAME = 1048574    # of Blender's time line
SLICE = 8.0         # ms of simulation between two yields
FORMULA = re.compile("'*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")     # as a spreadsheet sees a cell
KEYED = 60000       # bones times frames whose keys are made between two yields


@dataclass
class Wanted:
    """Where bones were computed to be in some frames: what the keys must play."""
    shot: convert.Shot
    built: convert.Build
    frames: List[float]
    picks: List[int]                        # which these are of all
    poses: Any                              # [frame][body][7], flat
    targets: List[Any] = field(default_factory=list)    # of goals: convert_ik.Aimed


@dataclass
class Result:
    text: str                               # the scene document
    channels: List[convert.Channel]
    frames: Any                             # (first, last) that were written
    report: Dict[str, Any] = field(default_factory=dict)
    wanted: Any = None

    @property
    def bones(self):
        """Names of the bones that get keys."""
        return sorted({channel.group for channel in self.channels})


def run(work):
    """To the end, in one go; the result."""
    try:
        while True:
            next(work)
    except StopIteration as stop:
        return stop.value


def _text(built):
    pieces = []
    for piece in convert.text_of(built.scene):
        pieces.append(piece)
        yield 0.1, "writing the scene"
    return "".join(pieces)


def _start(scene):
    with skelpy.State(scene) as state:
        return state.poses


def _moves(poses, width, a, b):
    return max(abs(x - y) for x, y in zip(poses[a * width:(a + 1) * width],
                                          poses[b * width:(b + 1) * width])) > STILL


def _ways(shot, built, poses, i):
    """How far a bone goes from sample to sample, in lengths of it and radians."""
    rows = convert.rows_of(poses, 7 * built.body_count, 7 * built.body_of[shot.bones[i].name])
    length, out = 2 * convert.half(shot, i), []
    for a, b in zip(rows, rows[1:]):
        out.append(math.dist(a[:3], b[:3]) / length + convert.turn_between(a[3:], b[3:]))
    return out


def _jumps(shot, built, poses):
    """{sample: bone} where one goes much further to the next sample than before and after."""
    found = {}
    for i in built.parts:
        ways = _ways(shot, built, poses, i)
        for k, way in enumerate(ways):
            beside = sum(ways[max(k - 1, 0):k + 2]) - way
            if built.roles[i] == "DYNAMIC" and way > JUMP + 5 * beside:
                found.setdefault(k, shot.bones[i].name)
    return found


def _velocities(shot, built, scene):
    """As the animation comes to the first frame; where it rests before or jumps, as it goes on;
    None where it stands still, or jumps there, too."""
    width = 7 * built.body_count
    poses = built.rig.poses(shot.before_poses, built.body_count, shot.before_objects,
                            _start(scene))
    middle = shot.before.index(shot.frame_start)
    parts = [part for part, at in (((middle - 4, middle), middle - 1),
                                   ((middle, middle + 4), middle))
             if _moves(poses, width, at, at + 1)]
    jumps, first, words = _jumps(shot, built, poses) if parts else {}, None, ""
    for begin, last in parts:
        cut = next((k for k in range(begin, last) if k in jumps), None)
        if cut is None:
            first = begin
            break
        words = words or f"'{jumps[cut]}' jumps from frame {shot.before[cut]} to " \
            f"{shot.before[cut + 1]}: bones start "
    if words:
        built.warnings.append(words + ("at rest" if first is None else "as it goes on after that"))
    if first is None:
        return None
    part = poses[first * width:(first + 5) * width]
    return skelpy.Inverse(scene, part, shot.fps).state(middle - first).velocities


def _tree(built, text, library):
    """The scene to read an animation by. Hands that are held close loops through the world, which
    tell no joint coordinates more than the tree does: here they are free."""
    held = {joint.bodies[1] for joint in built.scene.joints}
    if not any(body.name in held and body.motion for body in built.scene.bodies):
        return skelpy.Scene.from_json(text, library)
    scene = copy.copy(built.scene)
    scene.bodies = [copy.copy(body) for body in built.scene.bodies]
    for body in scene.bodies:
        if body.name in held and body.motion:
            if body.curve:
                body.position = body.curve["position"][0]
                body.orientation = body.curve["orientation"][0]
            body.motion = body.curve = None
    return skelpy.Scene.from_json("".join(convert.text_of(scene)), library)


def prepare(shot, library=None):
    """(built, text): the scene with the animation in it."""
    built = convert.build(shot, library)
    yield 0.05, "reading"
    poses = None
    if len(shot.frames) > 1:
        poses = built.rig.poses(shot.poses, built.body_count, shot.objects)
        convert.animate(shot, built, poses, None, None)
    yield 0.07, "reading"
    follow = poses is not None and any(
        convert.follows(shot, bone) and role == "DYNAMIC"
        for bone, role in zip(shot.bones, built.roles))
    text = yield from _text(built)
    if not (follow or shot.before):
        return built, text
    scene = _tree(built, text, library)
    changed = False
    if follow:
        poses = built.rig.poses(shot.poses, built.body_count, shot.objects, _start(scene))
        yield 0.1, "reading the animation"
        offsets = [scene.joint_q_offset(k) for k in range(scene.joint_count)] + [scene.q_count]
        q = skelpy.Inverse(scene, poses, shot.sampled).q
        convert.animate(shot, built, poses, q, offsets)
        changed = True
    if shot.before:
        velocities = _velocities(shot, built, scene)
        if velocities is not None:
            convert.set_velocities(built, velocities)
            changed = True
    if changed:
        text = yield from _text(built)
    return built, text


def _thinned(numbers, width, stride, samples):
    """Those of the frames that get keys; of the first where there are not as many."""
    if stride > 1 and len(numbers) // width not in (1, samples):
        rows = (numbers[n:n + width] for n in range(0, len(numbers), stride * width))
        numbers = array(numbers.typecode, b"".join(row.tobytes() for row in rows))
    return numbers if len(numbers) // width in (1, samples) else numbers[:width]


def _part(numbers, width, start, count):
    """So many samples, of numbers that may be one sample for all."""
    if numbers is None or len(numbers) == width:
        return numbers
    return numbers[start * width:(start + count) * width]


def keys_of(shot, built, poses, first, step):
    """Generator: channels with names, of poses [frame][body][7]. first, step: frames."""
    width, bones = 7 * built.body_count, 16 * len(shot.bones)
    samples = len(poses) // width
    matrices = convert.matrices_for(shot, built)
    if matrices is not None:
        matrices = _thinned(matrices, bones, shot.stride, samples)
    objects = _thinned(shot.objects, 16, shot.stride, samples)
    keys, count = [], max(1, KEYED // len(shot.bones))
    for start in range(0, samples, count):
        if keys:
            yield 0.86, "making keys"
            built.writer.go_on(keys)
        more = built.writer.channels(
            _part(poses, width, start, count), built.body_count, _part(objects, 16, start, count),
            _part(matrices, bones, start, count), float(first + start * step), float(step))
        keys = [a + b for a, b in zip(keys, more)] if keys else more
    return convert.name_channels(shot, built, keys)


def wanted_of(shot, built, poses, first, step):
    """The first frame, the last and one between."""
    width = 7 * built.body_count
    samples = len(poses) // width
    picks = sorted({0, samples // 2, samples - 1})
    rows = array("d")
    for k in picks:
        rows.extend(poses[k * width:(k + 1) * width])
    return Wanted(shot, built, [first + k * step for k in picks], picks, rows)


def _is_held(bone, role):
    """Whether it is a soft mass that its bone cannot follow, since it takes no location."""
    return role == "SOFT" and bone.connected


def _more(found):
    return f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""


def soft_warning(shot, built):
    """Names the first of the soft bones that are connected."""
    found = [bone.own for bone, role in zip(shot.bones, built.roles) if _is_held(bone, role)]
    if not found or not shot.settings.channels & rigs.LOCATION:
        return []
    return [f"'{found[0]}'{_more(found)} is connected to its parent: only its rotation wobbles. "
            "Disconnect it (Edit Mode > Bone > Relations > Connected), and it moves, too"]


def off_by(wanted, matrices, objects):
    """[(how far, bone, frame)]: the worst of each bone, parents first, of what plays, as matrices
    of the rig [frame][bone][16] and of its object, in lengths of the bone or radians."""
    shot, built, each = wanted.shot, wanted.built, []
    got = built.rig.poses(matrices, built.body_count, objects)
    moves = shot.settings.channels & rigs.LOCATION      # else bones are where their parents are
    for i in built.parts:
        bone, length, worst = shot.bones[i], 2 * convert.half(shot, i), (-1.0, "", 0.0)
        for n, frame in enumerate(wanted.frames):
            k = 7 * (n * built.body_count + built.body_of[bone.name])
            a, b = wanted.poses[k:k + 7], got[k:k + 7]
            off = convert.turn_between(a[3:], b[3:])
            if moves and not _is_held(bone, built.roles[i]):
                off = max(off, math.dist(a[:3], b[:3]) / length)
            worst = max(worst, (off, bone.own, frame))
        each.append(worst)
    return each


def gone_from(wanted, places):
    """What to say of targets that went elsewhere with the bones: [frame][target][16 floats]."""
    words = []
    for k, target in enumerate(wanted.targets):
        far, frame = max((math.dist(target.places[n][12:15], row[k][12:15]), wanted.frames[n])
                         for n, row in enumerate(places))
        if far > target.least:
            words.append(f"The target of the goal '{target.goal}' moves with the bones that goals "
                         f"move: at frame {frame:g} it is {far:.3g} units from where the goal "
                         "looked for it. Parent it to a bone, or give it keys")
    return words


def _advance(job, shot):
    try:
        return job.advance(SLICE)
    except skelpy.SkelError as error:
        if shot.settings.integrator == "conserving":
            raise
        raise convert.Refused(f"The method gave up: {error}. Choose the method Robust, then bake "
                              "again") from None


def bake(shot, library=None):
    """Physics, from the first frame to the last."""
    built, text = yield from prepare(shot, library)
    scene = skelpy.Scene.from_json(text, library)
    yield 0.15, "simulating"
    with skelpy.Bake(scene) as job:
        done = False
        while not done:
            done = _advance(job, shot)
            yield 0.15 + 0.7 * job.progress, "simulating"
        channels = yield from keys_of(shot, built, job.poses, shot.frame_start, shot.frame_step)
        wanted = wanted_of(shot, built, job.poses, shot.frame_start, shot.frame_step)
        report = report_of(job, shot)
        report["loud"] = [*job.warnings, *built.warnings, *mimic_warning(scene),
                          *soft_warning(shot, built)]
        report["warnings"] = list(report["loud"])
    last = shot.frame_start + (len(job.frames) - 1) * shot.frame_step
    yield 0.86, "writing keys"
    return Result(text, channels, (shot.frame_start, last), report, wanted)


def mimic_warning(scene):
    """As `skel bake` says it; none where no joint goes with another."""
    found = list(scene.mimics.items())
    if not found:
        return []
    (follower, (leader, _factor, _offset)), names = found[0], scene.joint_names
    return [f"joint '{names[follower]}' mimics '{names[leader]}'{_more(found)}: dynamics has no "
            "such constraint, it moves on its own"]


def report_of(job, shot):
    """What the report panel shows and saves: the receipt, and energies and momenta per frame."""
    frames = [shot.frame_start + k * shot.frame_step for k in range(job.samples_done)]
    rows = [{"frame": frame, "time": k / job.fps, **job.report(k)}
            for k, frame in enumerate(frames)]
    return {"name": shot.name, "summary": job.summary, "rows": rows, "warnings": job.warnings,
            "frames": (frames[0], frames[-1])}


def report_csv(report):
    """A line per frame, with the columns of `skel bake --report R.csv`."""
    lines = []
    for row in report["rows"]:
        flat = {}
        for name, value in row.items():
            if isinstance(value, list):
                flat.update({f"{name}_{axis}": v for axis, v in zip("xyz", value)})
            else:
                flat[name] = value
        if not lines:
            lines.append(",".join(flat))
        lines.append(",".join(repr(value) for value in flat.values()))
    return "\n".join(lines) + "\n"


def report_json(report):
    """As `skel bake --report R.json`, a skel-report/1."""
    summary, frames = dict(report["summary"]), []
    summary.pop("warning_count")
    summary["order"] = summary.pop("last_order")
    head = {name: summary.pop(name) for name in ("integrator", "solver", "step", "steps",
                                                 "rejected_steps", "evaluations", "order",
                                                 "wall_seconds")}
    for row in report["rows"]:
        work = {name[5:]: value for name, value in row.items() if name.startswith("work_")}
        rest = {name: value for name, value in row.items() if not name.startswith("work_")}
        frames.append({**rest, "work": work})
    return json.dumps({"format": "skel-report/1", "scene": report["name"], **head,
                       "summary": summary, "warnings": report["warnings"], "frames": frames},
                      ensure_ascii=False, indent=1) + "\n"


def save(path, text):
    """The file whole or not at all: written beside its place under a name that nothing else has,
    synced, renamed. A link stays one."""
    target, beside = os.path.realpath(path), None
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            raise OSError(errno.EINVAL, "is no file that could be replaced")
        handle, beside = tempfile.mkstemp(prefix=".skel-", dir=os.path.dirname(target))
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _mode_of(target))
        os.replace(beside, target)
        beside = None
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        if beside is not None:
            os.remove(beside)


def _mode_of(path):
    """The mode of the file that is to be replaced, or that of an ordinary new one."""
    if os.path.exists(path):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def track_frames(text, fps):
    """The frames of Blender, whole or not, that the samples of a track are at."""
    given = convert.json_of(text, "The file")
    try:
        first, count, rate = int(given["frame_start"]), len(given["position"]), float(given["fps"])
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise convert.Refused(f"The file is not a skel-track/1: {error}") from None
    if not 0 < rate < math.inf:
        raise convert.Refused(f"The track has {rate:g} samples a second: \"fps\" must be above 0")
    if not count:
        raise convert.Refused("The track has no samples")
    step = fps / rate
    if abs(step - round(step)) < 1e-6:
        step = round(step)
    frames = [first + k * step for k in range(count)]
    if max(-first, frames[-1]) > LAST_FRAME:
        raise convert.Refused(f"The track goes from frame {first:g} to {frames[-1]:g}. Blender has "
                              f"frames from -{LAST_FRAME} to {LAST_FRAME}")
    return frames


def track(shot, text, frames, library=None):
    """A skel-track/1 of this armature's scene, as keys. frames: of track_frames."""
    built = convert.build(shot, library)
    for body in built.scene.bodies:         # names and their order are all that counts here
        body.motion = "fixed" if body.motion == "driven" and not body.curve else body.motion
    document = "".join(convert.text_of(built.scene))
    scene = skelpy.Scene.from_json(document, library)
    yield 0.2, "reading the track"
    given = rigs.Track(scene, text)
    if given.fps <= 0:
        raise convert.Refused("The file is a pose, not a track")
    step = frames[1] - frames[0] if len(frames) > 1 else 1
    yield 0.5, "writing keys"
    channels = yield from keys_of(shot, built, given.poses, frames[0], step)
    wanted = wanted_of(shot, built, given.poses, frames[0], step)
    return Result(document, channels, (frames[0], frames[-1]), wanted=wanted)


# ---- inverse dynamics ----

def for_inverse(shot):
    """The shot as inverse dynamics wants it: all bones free, nothing touches, no stops, no
    friction; ball joints where the rig does not say otherwise."""
    out = copy.copy(shot)
    out.settings = copy.copy(shot.settings)
    out.settings.preset, out.settings.ground, out.settings.start_velocity = "RAGDOLL", False, False
    out.settings.friction = out.settings.follow = 0.0
    out.colliders, out.bones, out.follow_at = [], [], {}
    for bone in shot.bones:
        bone = copy.copy(bone)
        bone.settings = copy.copy(bone.settings)
        if bone.settings.role in ("DRIVEN", "PINNED", "SOFT"):
            bone.settings.role = "DYNAMIC"
        bone.settings.follow = 0.0
        if bone.settings.joint == "AUTO" and not (bone.limits or bone.locked):
            bone.settings.joint = "BALL"
        out.bones.append(bone)
    return out


def inverse(shot, cutoff=0.0, library=None):
    """Torques of the animation: channels of custom properties, and the lines of a table."""
    built = convert.build(shot, library)
    for joint in built.scene.joints:
        joint.limits = joint.mimic = None
    if any(body.motion == "driven" for body in built.scene.bodies):     # the base of a robot
        poses = built.rig.poses(shot.poses, built.body_count, shot.objects)
        convert.animate(shot, built, poses, None, None)
    text = "".join(convert.text_of(built.scene))
    scene = skelpy.Scene.from_json(text, library)
    yield 0.7, "reading the animation"
    poses = built.rig.poses(shot.poses, built.body_count, shot.objects, _start(scene))
    forces = skelpy.Inverse(scene, poses, shot.sampled, cutoff)
    yield 0.8, "finding the torques"
    result = Result(text, [], (shot.frames[0], shot.frames[-1]))
    result.report = {"summary": forces.summary, "table": _table(shot, built, scene, forces),
                     "warnings": scene.warnings}
    torque, power, each = forces.torque, forces.power, shot.stride
    frames, own = shot.frames[::each], {bone.name: bone.own for bone in shot.bones}
    for k, joint in enumerate(built.scene.joints):
        bone, first = own[joint.bodies[1]], scene.joint_dof_offset(k)
        names = convert.columns(joint)
        for n, name in enumerate(names):
            label = f"skel_{name}" if len(names) == 1 else f"skel_torque_{name[1:]}"
            values = torque[first + n::each * scene.dof]
            result.channels.append(_property(bone, label, frames, values))
        if names:
            values = power[k::each * scene.joint_count]
            result.channels.append(_property(bone, "skel_power", frames, values))
        yield 0.9, "writing curves"
    return result


def _property(bone, label, frames, values):
    path = f'pose.bones["{convert.escape(bone)}"]["{label}"]'
    return convert.Channel(path, 0, bone, convert.pairs(frames, values))


def _table(shot, built, scene, forces):
    """Lines of CSV, with the columns that `skel inverse` has."""
    head, columns, samples = ["frame", "time"], [], len(shot.frames)
    for k, joint in enumerate(built.scene.joints):
        for n, name in enumerate(convert.columns(joint)):
            head.append(f"{joint.name}.{name}")
            columns.append(forces.torque[scene.joint_dof_offset(k) + n::scene.dof])
        if convert.columns(joint):
            head.append(f"{joint.name}.power")
            columns.append(forces.power[k::scene.joint_count])
    children = {joint.bodies[1] for joint in built.scene.joints}
    for body in built.scene.bodies:
        if body.name not in children and body.motion is None:
            k = 6 * built.body_of[body.name]
            for n, name in enumerate(("fx", "fy", "fz", "tx", "ty", "tz")):
                head.append(f"{body.name}.residual.{name}")
                columns.append(forces.residual[k + n::6 * scene.body_count])
    lines = [",".join(_quote(name) for name in head)]
    for n in range(0, samples, shot.stride):
        row = [str(shot.frames[n]), repr(n / shot.sampled)] + [repr(c[n]) for c in columns]
        lines.append(",".join(row))
    return lines


def _quote(name):
    """A name as a cell of CSV, written as the library does: what a spreadsheet would take for a
    formula gets an apostrophe, what begins with apostrophes and a formula one more."""
    if FORMULA.match(name):
        name = "'" + name
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n\r') else name
