# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes to control bones: poses the controls of a rig, frame by frame, so that its deform bones are
where they are wanted, and makes channels of their values.

Controls are set level by level (core/controls.py), and Blender evaluates the armature after each.
A control whose own constraints act on top of its keys is corrected once: if M is where it came to
be and W where it is wanted, its basis becomes basis M^-1 W. If a deform bone follows its control
not rigidly (Copy Rotation in other axes, two targets), the rest of the error, X = T D^-1 of the
deform bone, is applied to the control until it is small enough."""

import math
from array import array
from dataclasses import dataclass
from typing import Dict, List, Sequence, Set, Tuple

from mathutils import Matrix, Quaternion

from ..core.algebra import Pose, compose
from ..core.controls import ALL, Control, Found, RigBone, Switch, arrange, trace
from ..core.errors import UserError
from ..core.keys import KEYED_PROPERTIES as MOVED, Channel, bone_of, escape, interleave
from ..core.wanted import TOL, Errors, Receipt, miss
from ..core.work import Work
from . import animation, compat, read_controls
from .puppet import Puppet
from .rna import Armature, PoseBone
from .stage import PoseSamples, Stage
from .statics import Value

SAMPLES_MAX = 6             # frames at which it is found out which tweaks are needed
SWEEPS_MAX = 12             # corrections of a control that is not followed rigidly
GAIN_MIN = 0.9              # a correction must reduce the error to this part
Poses = Sequence[Sequence[Pose]]        # [frame][bone]


@dataclass(frozen=True)
class Rigging:
    """The controls of the wanted bones of an armature."""
    names: Tuple[str, ...]                  # of the wanted bones
    bones: Tuple[RigBone, ...]
    switches: Tuple[Switch, ...]
    found: Found
    exact: bool                             # tweaks as well, needed or not
    located: bool                           # locations get keys

    @property
    def controls(self) -> List[str]:
        """Names of the bones that may get keys."""
        return [self.bones[c.bone].name for c in self.found.controls]

    @property
    def wanted(self) -> List[int]:
        return read_controls.find(self.names, self.bones)

    @property
    def lost(self) -> List[str]:
        return [self.bones[i].name for i in self.found.lost]

    def arranged(self, chosen: Sequence[Control]) -> Tuple[Control, ...]:
        values = {switch.path: switch.value for switch in self.switches}
        return arrange(self.bones, self.found, values, chosen)


def find_rigging(ob: Armature, names: Sequence[str], frame: float, exact: bool,
                 locked: Tuple[bool, bool] = (False, False)) -> Rigging:
    """Traces the controls of bones. frame: at which constraints count as they are."""
    puppet = Puppet(ob)
    try:
        puppet.go_to(frame)
        bones, switches = read_controls.read_rig(puppet, locked)
    finally:
        puppet.close()
    found = trace(bones, read_controls.find(names, bones), switches)
    if not found.controls:
        raise UserError(f"No control bone moves the bones of '{ob.name}' that get keys. Set Write "
                        "Keys To to Deform Bones (panel Output)")
    return Rigging(tuple(names), tuple(bones), tuple(switches), found, exact, not locked[0])


def check(ob: Armature, rigging: Rigging, target: str) -> None:
    """Refuses what would not play as before outside of the range."""
    if target == "NLA":
        raise UserError("Keys of control bones cannot be written to an NLA strip: outside of it "
                        "the controls would fall back to their rest pose. Write to a new action")
    data = ob.animation_data
    tracks = animation.active_tracks(data) if data and data.use_nla else []
    keyed = {f'pose.bones["{escape(name)}"]' for name in rigging.controls}
    for track in tracks:
        for strip in track.strips:
            moved = compat.paths_of(strip.action) if strip.action else set()
            if any(path.rpartition(".")[0] in keyed for path in moved):
                raise UserError(
                    f"The NLA strip '{strip.name}' moves control bones. New keys would replace it "
                    "also outside of the range. Bake the strips to an action first (NLA editor > "
                    "Edit > Bake Action), or write keys to the deform bones")


# ---- one control ----

class _Handle:
    """A control of the puppet."""

    def __init__(self, puppet: Puppet, control: Control) -> None:
        self.puppet, self.control, self.at = puppet, control, control.bone
        self.bone: PoseBone = puppet.ob.pose.bones[control.bone]
        parent = self.bone.parent
        self.parent = puppet.index[parent.name] if parent else -1
        self.wanted = Matrix()
        self.values: List[array] = []           # per frame: location, rotation
        mode = self.bone.rotation_mode
        self.property = read_controls.rotation_property(mode)

    # ---- poses ----

    def _rests(self) -> Dict[str, Matrix]:
        if self.parent < 0:
            return {}
        return {"parent_matrix_local": self.bone.parent.bone.matrix_local}

    def local(self, matrix: Matrix, parent: Matrix, invert: bool = True) -> Matrix:
        """The basis of a pose in the armature, or the pose of a basis."""
        given = self._rests()
        if given:
            given["parent_matrix"] = parent
        bone = self.bone.bone
        return bone.convert_local_to_pose(matrix, bone.matrix_local, invert=invert, **given)

    def set(self, basis: Matrix) -> None:
        """Sets the free channels, continuing from what they were."""
        location, rotation, _scale = basis.decompose()
        for k, free in enumerate(self.control.location):
            if free:
                self.bone.location[k] = location[k]
        if any(self.control.rotation):
            self._turn(rotation)

    def correct(self, by: Matrix) -> None:
        """Adds a motion, given in the axes of the control."""
        self.set(self.bone.matrix_basis @ by)

    def _turn(self, q: Quaternion) -> None:
        bone, free = self.bone, self.control.rotation
        axes = [k for k in range(3) if free[k]]
        if len(axes) == 1:                      # the rotation about this axis
            q = _about(axes[0], 2 * math.atan2(q[1 + axes[0]], q[0]))
        if self.property == "rotation_euler":
            angles = q.to_euler(bone.rotation_mode, bone.rotation_euler)
            for k in axes:
                bone.rotation_euler[k] = angles[k]
            return
        if len(axes) == 2:
            angles = q.to_euler("XYZ")
            angles[free.index(False)] = 0.0
            q = angles.to_quaternion()
        if self.property == "rotation_quaternion":
            near = bone.rotation_quaternion
            bone.rotation_quaternion = q if q.dot(near) >= 0 else -q
        else:
            bone.rotation_axis_angle = _axis_angle(q, bone.rotation_axis_angle)

    def state(self) -> array:
        return array("f", (*self.bone.location, *getattr(self.bone, self.property)))

    def restore(self, state: array) -> None:
        self.bone.location = state[:3]
        setattr(self.bone, self.property, state[3:])

    # ---- channels ----

    def paths(self) -> List[Tuple[str, int, int]]:
        """(data path, index, place in the state) of the channels that get keys."""
        head = f'pose.bones["{escape(self.bone.name)}"]'
        out = [(f"{head}.location", k, k) for k in range(3) if self.control.location[k]]
        free = self.control.rotation
        if any(free) and self.property != "rotation_euler":
            free = (*ALL, True)
        out += [(f"{head}.{self.property}", k, 3 + k) for k, each in enumerate(free) if each]
        return out


def _about(axis: int, angle: float) -> Quaternion:
    return Quaternion([1.0 if k == axis else 0.0 for k in range(3)], angle)


def _axis_angle(q: Quaternion, near: Sequence[float]) -> Tuple[float, ...]:
    """Angle and axis, with the axis on the side of an earlier one."""
    axis, angle = q.to_axis_angle()
    if sum(a * b for a, b in zip(axis, near[1:])) < 0:
        axis, angle = -axis, -angle
    return (angle + 2 * math.pi * round((near[0] - angle) / (2 * math.pi)), *axis)


def _matrix(pose: Pose) -> Matrix:
    return Matrix.LocRotScale(pose[:3], Quaternion(pose[3:]), None)


def _pose(matrix: Matrix) -> Pose:
    location, rotation, _scale = matrix.decompose()
    return (*location, *rotation)


# ---- one frame ----

class _Solver:
    """Poses controls so that the wanted bones are where they are wanted."""

    def __init__(self, puppet: Puppet, rigging: Rigging, chosen: Sequence[Control]) -> None:
        self.puppet, self.rigging = puppet, rigging
        self.handles = [_Handle(puppet, c) for c in rigging.arranged(chosen)]
        self.by_bone = {handle.at: handle for handle in self.handles}
        self.place = {bone: k for k, bone in enumerate(rigging.wanted)}
        self.lengths = [rigging.bones[i].length for i in rigging.wanted]
        owns = [h.control.level + 2 for h in self.handles if h.control.own]
        self.updates = max([*owns, *(h.control.level + 1 for h in self.handles)], default=0)
        for path, value in rigging.found.switches:
            puppet.set_value(path, value)

    def solve(self, frame: float, wanted: Sequence[Pose]) -> None:
        """Evaluates a frame and poses all controls."""
        self.puppet.go_to(frame)
        poses: Dict[int, Matrix] = {}           # of controls as they will be
        for now in range(self.updates):
            for handle in self.handles:
                control = handle.control
                if control.level == now:
                    handle.wanted = _matrix(compose(wanted[self.place[control.guide]],
                                                    control.offset))
                    parent = self._parent(handle, poses)
                    handle.set(handle.local(handle.wanted, parent))
                    poses[handle.at] = handle.local(handle.bone.matrix_basis, parent, False)
                elif control.own and control.level == now - 1:
                    got = self.puppet.matrix(handle.at)
                    handle.correct(got.inverted_safe() @ handle.wanted)
            self.puppet.update()
        self._sweep(wanted)

    def _parent(self, handle: _Handle, poses: Dict[int, Matrix]) -> Matrix:
        """The matrix of a control's parent: as evaluated, or, if it moves rigidly with another
        control, as it will be."""
        if handle.parent < 0:
            return Matrix()
        base = handle.control.base
        if base < 0:
            return self.puppet.matrix(handle.parent)
        if base == handle.parent:
            return poses[base]
        return poses[base] @ self.puppet.matrix(base).inverted_safe() @ \
            self.puppet.matrix(handle.parent)

    # ---- controls that are not followed rigidly ----

    def _error(self, handles: Sequence[_Handle], wanted: Sequence[Pose]) -> float:
        """The largest error of the guides of some controls, in lengths and rad."""
        out = 0.0
        for handle in handles:
            k = self.place[handle.control.guide]
            found = miss(wanted[k], _pose(self.puppet.matrix(handle.control.guide)),
                         self.lengths[k])
            turned = max(found.angle, found.twist) if handle.control.rotation == ALL else 0.0
            out = max(out, turned, found.position if any(handle.control.location) else 0.0)
        return out

    def _sweep(self, wanted: Sequence[Pose]) -> None:
        """Corrects controls by the errors of their guides, as long as that helps."""
        soft = [handle for handle in self.handles if handle.control.soft]
        error = self._error(soft, wanted)
        for _ in range(SWEEPS_MAX):
            if error <= TOL / 2:
                return
            before = [handle.state() for handle in soft]
            for level in sorted({handle.control.level for handle in soft}):
                for handle in soft:
                    if handle.control.level == level:
                        self._pull(handle, wanted)
                self.puppet.update()

            after = self._error(soft, wanted)
            if after > GAIN_MIN * error:
                for handle, state in zip(soft, before):
                    handle.restore(state)
                self.puppet.update()
                return
            error = after

    def _pull(self, handle: _Handle, wanted: Sequence[Pose]) -> None:
        """The motion X = T D^-1 that would bring the guide to its place, done by the control."""
        guide = handle.control.guide
        place, got = _matrix(wanted[self.place[guide]]), _pose(self.puppet.matrix(guide))
        motion = place @ _matrix(got).inverted_safe()
        now = self.puppet.matrix(handle.at)
        handle.correct(now.inverted_safe() @ motion @ now)

    # ---- results ----

    def got(self) -> List[Pose]:
        """The poses of the wanted bones."""
        return [_pose(self.puppet.matrix(i)) for i in self.rigging.wanted]

    def keep(self) -> None:
        """The values of this frame become keys."""
        for handle in self.handles:
            handle.values.append(handle.state())


# ---- all frames ----

def _channels_of(handles: Sequence[_Handle]) -> Set[Tuple[str, int]]:
    return {(path, index) for handle in handles for path, index, _at in handle.paths()}


def _needed_tweaks(puppet: Puppet, rigging: Rigging, frames: Sequence[float],
                   wanted: Poses) -> Work[List[Control]]:
    """Generator: the tweaks without which a bone is not where it is wanted, at some frames."""
    main = [c for c in rigging.found.controls if not c.tweak]
    tweaks = {c.bone: c for c in rigging.found.controls if c.tweak}
    if rigging.exact or not tweaks:
        return list(tweaks.values())
    solver = _Solver(puppet, rigging, main)
    errors = Errors(rigging.names, solver.lengths, rigging.located)
    count = min(SAMPLES_MAX, len(frames))
    for n in sorted({round(k * (len(frames) - 1) / max(1, count - 1)) for k in range(count)}):
        solver.solve(frames[n], wanted[n])
        errors.add(frames[n], wanted[n], solver.got())
        yield 0.86, "posing control bones"
    off = {*errors.off(0, TOL)}
    return [tweaks[c] for name, chain in zip(rigging.names, rigging.found.chains) if name in off
            for c in chain if c in tweaks]


def solve(ob: Armature, rigging: Rigging, frames: Sequence[float],
          wanted: Poses) -> Work[List[Channel]]:
    """Generator: the channels of the controls and switches that bring bones to their wanted poses.
    ob: plays its source. The armature is not changed."""
    puppet = Puppet(ob)
    try:
        every = [_Handle(puppet, c) for c in rigging.found.controls]
        channels = _channels_of(every) | {(path, 0) for path, _value in rigging.found.switches}
        puppet.go_to(frames[0])
        for handle in every:                    # angles continue from the animation
            handle.restore(puppet.state(handle.at, handle.property))
        puppet.free(channels)
        tweaks = yield from _needed_tweaks(puppet, rigging, frames, wanted)
        main = [c for c in rigging.found.controls if not c.tweak]
        chosen = {c.bone: c for c in (*main, *tweaks)}
        solver = _Solver(puppet, rigging, list(chosen.values()))
        for n, frame in enumerate(frames):
            solver.solve(frame, wanted[n])
            solver.keep()
            yield 0.86 + 0.08 * n / len(frames), "posing control bones"
        return _make_channels(ob, rigging, solver.handles, frames)
    finally:
        puppet.close()


def _make_channels(ob: Armature, rigging: Rigging, handles: Sequence[_Handle],
                   frames: Sequence[float]) -> List[Channel]:
    """The channels of controls and switches. They hold the value that the armature has now outside
    of the frames. One that stays has keys at the first frame and the last only."""
    rows = [(path, index, [state[at] for state in handle.values])
            for handle in handles for path, index, at in handle.paths()]
    rows += [(path, 0, [value]) for path, value in rigging.found.switches]

    out = []
    for path, index, values in rows:
        keys = interleave(frames, values) if any(value != values[0] for value in values) else \
            interleave((frames[0], frames[-1]), (values[0], values[0]))
        out.append(Channel(path, index, bone_of(path) or ob.name, keys,
                           hold=float(Value(ob, path, index).get())))
    return out


def measure(ob: Armature, rigging: Rigging, channels: Sequence[Channel], frames: Sequence[float],
            wanted: Poses) -> Work[Receipt]:
    """Generator: how far bones are from where they are wanted while the keys play."""
    place = rigging.wanted
    errors = Errors(rigging.names, [rigging.bones[i].length for i in place], rigging.located)
    stage, samples = Stage(ob, ()), None
    try:
        for n, frame in enumerate(frames):
            samples = PoseSamples(ob)
            samples.add_poses(stage.evaluate(frame))
            rows = samples.poses
            got = [_pose(_of(rows[16 * i:16 * i + 16])) for i in place]
            errors.add(frame, wanted[n], got)
            yield 0.97, "checking the keys"
    finally:
        stage.close()
    bones = {channel.group for channel in channels if channel.path.rpartition(".")[2] in MOVED}
    return errors.receipt(len(bones), len(rigging.found.switches), rigging.lost,
                          rigging.exact)


def _of(m: array) -> Matrix:
    return Matrix((m[0::4], m[1::4], m[2::4], m[3::4]))
