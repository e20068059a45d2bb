# SPDX-License-Identifier: BSD-3-Clause
"""skelpy: libskel for Python. Standard library only; all arithmetic stays in C.

    import skelpy
    scene = skelpy.Scene.from_file("samples/double_pendulum.json")
    bake = skelpy.Bake(scene).run()
    print(bake.pose(-1, "lower"), bake.summary["energy_drift"])

Poses are 7 numbers (x y z of the centre of mass, quaternion w x y z, body to world), velocities 6
(v in the world, omega in body axes). SI units, radians.
"""

import ctypes as C
from array import array

from . import _ffi
from ._ffi import ignore_environment, use_library
from ._own import (SkelError, _buffer, _check, _Closing, _create, _doubles, _flat_view, _plain,
                   _Samples)
from .ik import Ik, IkMotion, jacobian

__all__ = ["Bake", "Flight", "Ik", "IkMotion", "Inverse", "Scene", "SkelError", "State",
           "accelerations", "bake", "check", "fk", "flight", "ignore_environment", "inverse",
           "jacobian", "use_library", "version"]


def _number_of(name_of, name):
    """The number of an integrator or solver; the library holds the list."""
    names = {}
    for number in range(64):
        text = name_of(number)
        if text is not None:
            names[text.decode()] = number
    if name not in names:
        raise ValueError(f"is {name!r}, must be one of {', '.join(names)}")
    return names[name]


_CONVENTIONS = ("standard", "modified")


def _text_of(lib, write, *arguments, error=None):
    """A text that C writes into a buffer: asked for its length first."""
    needed = C.c_size_t()
    tail = () if error is None else (C.byref(error),)
    status = write(*arguments, None, 0, C.byref(needed), *tail)
    if status != _ffi.E_BUFFER:
        _check(lib, status, error)
    text = C.create_string_buffer(needed.value + 1)
    _check(lib, write(*arguments, text, len(text), None, *tail), error)
    return text.value.decode()


class Scene(_Closing):
    """A parsed document: model, start and bake settings. Immutable. It may be a `skel-scene/1`, a
    DH table (`skel-dh/1` or CSV) or a URDF."""

    def __init__(self, owner, lib):
        self._owner, self._lib = owner, lib

    @classmethod
    def from_json(cls, text, library=None):
        lib = _ffi.load(library)
        data = text.encode() if isinstance(text, str) else bytes(text)
        return cls(_create(lib, lib.skel_scene_parse, lib.skel_scene_destroy, data, len(data)), lib)

    @classmethod
    def from_file(cls, path, library=None):
        with open(path, "rb") as file:
            return cls.from_json(file.read(), library)

    def to_json(self):
        """The document again; parsed, it gives the same bits."""
        return _text_of(self._lib, self._lib.skel_scene_write, self._p)

    def to_urdf(self):
        """The whole tree as URDF."""
        return _text_of(self._lib, self._lib.skel_scene_write_urdf, self._p, error=_ffi.Error())

    def _dh_desc(self, convention="standard", root=None, tip=None, snap=1e-6, csv=False,
                 parallel_tolerance=1e-3):
        return _ffi.SceneDhDesc(convention=_CONVENTIONS.index(convention), snap=snap, is_csv=csv,
                                root=root and root.encode(), tip=tip and tip.encode(),
                                parallel_tolerance=parallel_tolerance)

    def to_dh(self, *chain, **more):
        """The DH table of a chain, as `skel-dh/1` or CSV. Arguments: convention="standard", root,
        tip, snap=1e-6, csv=False, parallel_tolerance=1e-3 (rad: axes nearer to parallel are read as
        parallel where their common normal is far away; 0: never)."""
        desc = self._dh_desc(*chain, **more)
        return _text_of(self._lib, self._lib.skel_scene_write_dh, self._p, C.byref(desc),
                        error=_ffi.Error())

    def dh_report(self, *chain, **more):
        """What the table of to_dh, with the same arguments, costs: lines that begin with
        "warning: " or "receipt: "."""
        desc = self._dh_desc(*chain, **more)
        return _text_of(self._lib, self._lib.skel_scene_dh_report, self._p, C.byref(desc),
                        error=_ffi.Error()).splitlines()

    @property
    def named_frames(self):
        """{name: (body index or -1, pose in the body)} of links, frames and tool."""
        found = {}
        for i in range(self._lib.skel_scene_frame_count(self._p)):
            body, pose = C.c_int32(), _ffi.Double7()
            self._lib.skel_scene_get_frame(self._p, i, C.byref(body), pose)
            name = self._lib.skel_scene_frame_name(self._p, i).decode()
            found[name] = (body.value, list(pose))
        return found

    @property
    def named_poses(self):
        """{name: q} of the document."""
        found = {}
        for i in range(self._lib.skel_scene_pose_count(self._p)):
            address = self._lib.skel_scene_pose_q(self._p, i)
            q = (C.c_double * self.q_count).from_address(address)
            found[self._lib.skel_scene_pose_name(self._p, i).decode()] = list(q)
        return found

    @property
    def _model(self):
        return self._lib.skel_scene_model(self._p)

    @property
    def name(self):
        return (self._lib.skel_scene_name(self._p) or b"").decode()

    @property
    def warnings(self):
        """What dynamics has to say of the document: estimated masses, friction left out."""
        found = []
        while True:
            text = self._lib.skel_scene_warning(self._p, len(found))
            if text is None:
                return found
            found.append(text.decode("utf-8", "replace"))

    @property
    def fps(self):
        return self._lib.skel_scene_fps(self._p)

    @property
    def frames(self):
        """The frame numbers of a bake, as a range."""
        return range(self._lib.skel_scene_frame_start(self._p),
                     self._lib.skel_scene_frame_end(self._p) + 1)

    @property
    def body_count(self):
        return self._lib.skel_model_body_count(self._model)

    @property
    def joint_count(self):
        return self._lib.skel_model_joint_count(self._model)

    @property
    def q_count(self):
        """Joint coordinates, in the order of the joints (ball: 4 numbers)."""
        return self._lib.skel_model_q_count(self._model)

    @property
    def dof(self):
        """Joint velocities, in the order of the joints (ball: 3 numbers). Free roots add none."""
        return self._lib.skel_model_dof(self._model)

    @property
    def gravity(self):
        gravity = _ffi.Double3()
        self._lib.skel_model_gravity(self._model, gravity)
        return list(gravity)

    @property
    def body_names(self):
        name = self._lib.skel_model_body_name
        return [name(self._model, i).decode() for i in range(self.body_count)]

    @property
    def joint_names(self):
        name = self._lib.skel_model_joint_name
        return [name(self._model, i).decode() for i in range(self.joint_count)]

    def find_body(self, name):
        """Index of a body; -1 for "world"; KeyError where there is none."""
        index = self._lib.skel_model_find_body(self._model, name.encode())
        if index < _ffi.WORLD:
            raise KeyError(name)
        return index

    def find_joint(self, name):
        index = self._lib.skel_model_find_joint(self._model, name.encode())
        if index < 0:
            raise KeyError(name)
        return index

    def joint_q_offset(self, joint):
        return self._lib.skel_model_joint_q_offset(self._model, joint)

    def joint_dof_offset(self, joint):
        return self._lib.skel_model_joint_dof_offset(self._model, joint)

    @property
    def mimics(self):
        """{joint: (leader, multiplier, offset)}: q of joint = multiplier * q of leader + offset.

        Leaders go with no joint themselves: chains are followed to their end.
        """
        found, factor, offset = {}, (C.c_double * 1)(), (C.c_double * 1)()
        for joint in range(self.joint_count):
            leader = self._lib.skel_model_joint_leader(self._model, joint, factor, offset)
            if leader >= 0:
                found[joint] = (leader, factor[0], offset[0])
        return found

    def body(self, index):
        """mass, inertia, position, ... of a body, as a dict; pinned as [[from, to], ...]."""
        desc = _ffi.BodyDesc()
        _check(self._lib, self._lib.skel_model_get_body(self._model, index, C.byref(desc)))
        fields = {key: value for key, value in _plain(desc).items() if "curve" not in key}
        fields["name"] = desc.name.decode()
        times = desc.pinned[:2 * fields.pop("pinned_count")] if desc.pinned else []
        fields["pinned"] = [list(pair) for pair in zip(times[::2], times[1::2])]
        return fields

    def middle(self):
        """Joint coordinates in the middle of the limits; zero (ball: no turn) where none are."""
        q, pointer = _buffer(self.q_count)
        _check(self._lib, self._lib.skel_scene_middle(self._p, pointer))
        return q

    def ik(self, **overrides):
        """The scene's goals, solved to the end: an IkMotion; overrides as there."""
        return IkMotion(self, **overrides).run()

    def check_dynamics(self):
        """Raises SkelError where a dynamic body lacks mass or inertia."""
        error = _ffi.Error()
        _check(self._lib, self._lib.skel_model_check_dynamics(self._model, C.byref(error)), error)


class State(_Closing):
    """Where the bodies of a scene are and how they move, at one time; starts at time 0."""

    def __init__(self, scene):
        lib = scene._lib
        self._lib, self.scene = lib, scene
        self._owner = _create(lib, lib.skel_state_create, lib.skel_state_destroy, scene._model,
                              needs=(scene._owner,))
        self._counts = {"poses": 7 * scene.body_count, "velocities": 6 * scene.body_count,
                        "q": scene.q_count, "qd": scene.dof}

    def _get(self, what):
        numbers, pointer = _buffer(self._counts[what])
        _check(self._lib, getattr(self._lib, f"skel_state_get_{what}")(self._p, pointer))
        return numbers

    def _set(self, what, values):
        numbers, pointer = _doubles(values, self._counts[what], what)
        _check(self._lib, getattr(self._lib, f"skel_state_set_{what}")(self._p, pointer))

    poses = property(lambda s: s._get("poses"), lambda s, v: s._set("poses", v))
    velocities = property(lambda s: s._get("velocities"), lambda s, v: s._set("velocities", v))
    q = property(lambda s: s._get("q"), lambda s, v: s._set("q", v))
    qd = property(lambda s: s._get("qd"), lambda s, v: s._set("qd", v))
    time = property(lambda s: s._lib.skel_state_time(s._p),
                    lambda s, t: s._lib.skel_state_set_time(s._p, t))

    def project(self):
        """Closes the joints; returns how far they were off: (gap, speed)."""
        gap, speed, error = C.c_double(), C.c_double(), _ffi.Error()
        _check(self._lib, self._lib.skel_state_project(
            self._p, C.byref(gap), C.byref(speed), C.byref(error)), error)
        return gap.value, speed.value

    def accelerations(self, solver="tree"):
        """(linear, angular): 3 numbers per body each, world axes and body axes."""
        error, count = _ffi.Error(), 3 * self.scene.body_count
        (linear, p_linear), (angular, p_angular) = _buffer(count), _buffer(count)
        _check(self._lib, self._lib.skel_accelerations(
            self._p, _number_of(self._lib.skel_solver_name, solver), p_linear, p_angular,
            C.byref(error)), error)
        return linear, angular

    def step(self, h, integrator="auto", solver="tree"):
        error = _ffi.Error()
        desc = _ffi.StepDesc(h=h)
        desc.integrator = _number_of(self._lib.skel_integrator_name, integrator)
        desc.solver = _number_of(self._lib.skel_solver_name, solver)
        _check(self._lib, self._lib.skel_step(self._p, C.byref(desc), C.byref(error)), error)

    def inverse_dynamics(self, linear, angular):
        """What the accelerations take beyond the scene's own forces: (torque per degree of freedom,
        wrench 6 numbers per joint, residual 6 numbers per body)."""
        error, scene = _ffi.Error(), self.scene
        count = 3 * scene.body_count
        (a, p_a), (w, p_w) = _doubles(linear, count, "linear"), _doubles(angular, count, "angular")
        (torque, p_t), (wrench, p_j) = _buffer(scene.dof), _buffer(6 * scene.joint_count)
        residual, p_r = _buffer(6 * scene.body_count)
        _check(self._lib, self._lib.skel_inverse_dynamics(
            self._p, p_a, p_w, p_t, p_j, p_r, C.byref(error)), error)
        return torque, wrench, residual

    def report(self):
        row = _ffi.ReportRow()
        _check(self._lib, self._lib.skel_report(self._p, C.byref(row)))
        return _plain(row)


class Bake(_Samples):
    """A scene baked to frames. Drive it with `advance` from a timer, or call `run`.

    What is None comes from the scene. Closing it early is how to cancel."""

    _name = "skel_bake"

    def __init__(self, scene, fps=None, frame_start=None, frame_end=None, integrator=None,
                 step=None, tolerance=None, solver=None, preroll=None):
        lib = scene._lib
        start = scene.frames.start if frame_start is None else frame_start
        end = scene.frames.stop - 1 if frame_end is None else frame_end
        if end < start:
            raise ValueError(f"frame_end: is {end}, must be at least frame_start ({start})")
        desc = _ffi.BakeDesc()
        _check(lib, lib.skel_scene_bake_desc(scene._p, C.byref(desc)))
        desc.model = scene._model
        if end - start >= 2**31 - 1:
            raise ValueError(f"frame_end: is {end}, makes more than 2147483647 frames")
        desc.sample_count = end - start + 1
        if fps is not None:
            desc.sample_rate = fps
        if step is not None:
            desc.step = step
        if tolerance is not None:
            desc.tolerance = tolerance
        if preroll is not None:
            desc.preroll = preroll
        if integrator is not None:
            desc.integrator = _number_of(lib.skel_integrator_name, integrator)
        if solver is not None:
            desc.solver = _number_of(lib.skel_solver_name, solver)
        self._lib, self._bodies, self._q_count = lib, scene.body_count, scene.q_count
        self.body_names, self._said = scene.body_names, scene.warnings
        self.fps, self.frames = desc.sample_rate, range(start, end + 1)
        self._owner = _create(lib, lib.skel_bake_start, lib.skel_bake_destroy, C.byref(desc),
                              needs=(scene._owner,))

    def advance(self, max_ms=50.0):
        """Works for about max_ms (0: one step; negative: to the end). True when all is done."""
        status = self._lib.skel_bake_advance(self._p, max_ms)
        if status < 0:
            error = _ffi.Error()
            self._lib.skel_bake_error(self._p, C.byref(error))
            _check(self._lib, status, error)
        return status != _ffi.MORE

    @property
    def velocities(self):
        """[sample][body][6], flat, without a copy."""
        return self._view("velocities", 6 * self._bodies)

    def pose(self, sample, body):
        """x y z, w x y z of one body (index or name); sample counts from 0, or from the end."""
        done = self.samples_done
        sample = sample + done if sample < 0 else sample
        body = self.body_names.index(body) if isinstance(body, str) else body
        if not (0 <= sample < done and 0 <= body < self._bodies):
            raise IndexError(f"sample {sample} of {done}, body {body} of {self._bodies}")
        first = 7 * (sample * self._bodies + body)
        return tuple(self.poses[first:first + 7])

    def report(self, sample):
        """Energies, works, momenta and joint gap at one sample, as a dict."""
        row = _ffi.ReportRow()
        _check(self._lib, self._lib.skel_bake_report(self._p, sample, C.byref(row)))
        return _plain(row)

    @property
    def reports(self):
        return [self.report(sample) for sample in range(self.samples_done)]

    @property
    def summary(self):
        """The receipt of the whole bake so far, as a dict."""
        summary = _ffi.BakeSummary()
        _check(self._lib, self._lib.skel_bake_get_summary(self._p, C.byref(summary)))
        fields = _plain(summary)
        fields["integrator"] = self._lib.skel_integrator_name(summary.integrator).decode()
        fields["solver"] = self._lib.skel_solver_name(summary.solver).decode()
        return fields

    @property
    def warnings(self):
        """Of the motion, and what dynamics has to say of the document (Scene.warnings)."""
        return [self._lib.skel_bake_warning(self._p, i).decode("utf-8", "replace")
                for i in range(self.summary["warning_count"])] + self._said


class _Samples(_Closing):
    """What Inverse and Flight share: arrays [sample][...] in the library's own memory."""

    def _view(self, address, width):
        return _flat_view(self._owner, address, self.samples * width)


class Inverse(_Samples):
    """The forces of a motion: poses [sample][body][7] at an even rate, flat.

    Views, flat: q, qd, qdd, torque (dof each), power (one per joint), wrench (6 per joint),
    residual (6 per body), uncertainty (one, in N). `contacts(sample)` has the contact forces that
    were found, `flags` what is special about a sample (SKEL_INVERSE_*)."""

    ACROSS_EVENT, LAW, UNSOLVED = 1, 2, 4

    def __init__(self, scene, poses, rate, cutoff=0.0, start=0.0):
        lib, per = scene._lib, 7 * scene.body_count
        numbers = array("d", poses)
        if len(numbers) % per:
            raise ValueError(f"poses: has {len(numbers)} numbers, must have {per} per sample")
        desc = _ffi.InverseDesc(sample_count=len(numbers) // per, model=scene._model,
                                sample_rate=rate, cutoff=cutoff, start=start)
        desc.poses = C.cast(numbers.buffer_info()[0], _ffi.Doubles)
        self._lib, self.scene, self.samples = lib, scene, desc.sample_count
        self._owner = _create(lib, lib.skel_inverse_create, lib.skel_inverse_destroy,
                              C.byref(desc), needs=(scene._owner,))
        self._widths = {"q": scene.q_count, "qd": scene.dof, "qdd": scene.dof,
                        "torque": scene.dof, "power": scene.joint_count,
                        "wrench": 6 * scene.joint_count, "residual": 6 * scene.body_count,
                        "uncertainty": 1}

    def _array(self, what):
        return self._view(getattr(self._lib, f"skel_inverse_{what}")(self._p), self._widths[what])

    q = property(lambda s: s._array("q"))
    qd = property(lambda s: s._array("qd"))
    qdd = property(lambda s: s._array("qdd"))
    torque = property(lambda s: s._array("torque"))
    power = property(lambda s: s._array("power"))
    wrench = property(lambda s: s._array("wrench"))
    residual = property(lambda s: s._array("residual"))
    uncertainty = property(lambda s: s._array("uncertainty"))

    @property
    def flags(self):
        """One number per sample: the sum of ACROSS_EVENT, LAW and UNSOLVED, or 0."""
        address = self._lib.skel_inverse_flags(self._p)
        return list((C.c_int32 * self.samples).from_address(address))

    def contacts(self, sample):
        """What touches at a sample: dictionaries with body and other (numbers, -1: the world),
        ground (-1: two shapes touch), point, normal, force (on body, world axes), depth, law."""
        if not 0 <= sample < self.samples:
            raise IndexError(f"sample: is {sample}, must be 0 to {self.samples - 1}")
        out = []
        for k in range(self._lib.skel_inverse_contact_count(self._p, sample)):
            contact = _ffi.InverseContact()
            _check(self._lib, self._lib.skel_inverse_get_contact(self._p, sample, k,
                                                                 C.byref(contact)))
            out.append(_plain(contact))
        return out

    def state(self, sample):
        """A State at one sample of the (filtered) motion."""
        state = State(self.scene)
        _check(self._lib, self._lib.skel_inverse_get_state(self._p, sample, state._p, None, None))
        return state

    @property
    def summary(self):
        """Order, cutoff, how well the poses fit the joints, how much of the torque is noise."""
        summary = _ffi.InverseSummary()
        _check(self._lib, self._lib.skel_inverse_get_summary(self._p, C.byref(summary)))
        return _plain(summary)


class Flight(_Samples):
    """The flight of a free skeleton from pose to pose (7 numbers per body each) in `time` seconds.

    turns: whole turns beyond the short way round; None: the way with the least momentum."""

    def __init__(self, scene, take_off, landing, time, fps=None, turns=None,
                 about=(0.0, 0.0, 0.0)):
        lib, count = scene._lib, 7 * scene.body_count
        a, p_a = _doubles(take_off, count, "take_off")
        b, p_b = _doubles(landing, count, "landing")
        desc = _ffi.FlightDesc(model=scene._model, duration=time, tolerance=1e-10,
                               sample_rate=scene.fps if fps is None else fps,
                               has_turns=turns is not None, turns=turns or 0)
        desc.take_off, desc.landing, desc.about = p_a, p_b, _ffi.Double3(*about)
        self._lib, self._bodies, self._q_count = lib, scene.body_count, scene.q_count
        self._owner = _create(lib, lib.skel_flight_solve, lib.skel_flight_destroy, C.byref(desc),
                              needs=(scene._owner,))
        self.samples = lib.skel_flight_sample_count(self._p)

    @property
    def poses(self):
        """[sample][body][7], flat."""
        return self._view(self._lib.skel_flight_poses(self._p), 7 * self._bodies)

    @property
    def velocities(self):
        """[sample][body][6], flat."""
        return self._view(self._lib.skel_flight_velocities(self._p), 6 * self._bodies)

    @property
    def q(self):
        """[sample][q_count], flat."""
        return self._view(self._lib.skel_flight_q(self._p), self._q_count)

    @property
    def summary(self):
        """The receipt: momentum, take-off velocity, how exactly the landing is met."""
        summary = _ffi.FlightSummary()
        _check(self._lib, self._lib.skel_flight_get_summary(self._p, C.byref(summary)))
        return _plain(summary)


def inverse(scene, track, cutoff=0.0):
    """Forces of a motion: a finished Bake, or the text of a skel-track/1."""
    if isinstance(track, Bake):
        return Inverse(scene, track.poses, track.fps, cutoff)
    lib, data = scene._lib, track.encode() if isinstance(track, str) else bytes(track)
    owner = _create(lib, lib.skel_track_parse, lib.skel_track_destroy, data, len(data),
                    scene._model)
    count = 7 * scene.body_count * lib.skel_track_frame_count(owner.pointer)
    poses = (C.c_double * count).from_address(lib.skel_track_poses(owner.pointer))
    return Inverse(scene, poses, lib.skel_track_fps(owner.pointer), cutoff)


def flight(scene, take_off, landing, time, **options):
    """The Flight from pose to pose; options as there."""
    return Flight(scene, take_off, landing, time, **options)


def bake(scene_json, library=None, **overrides):
    """Bakes a document (text, or a skelpy.scene.Scene) to the end."""
    text = scene_json if isinstance(scene_json, (str, bytes)) else scene_json.to_json()
    return Bake(Scene.from_json(text, library), **overrides).run()


def fk(scene, q):
    """Poses (7 numbers per body) of joint coordinates q; roots where the scene has them."""
    (given, p_q), (poses, p_poses) = _doubles(q, scene.q_count, "q"), _buffer(7 * scene.body_count)
    _check(scene._lib, scene._lib.skel_fk(scene._model, p_q, p_poses))
    return poses


def accelerations(scene, solver="tree"):
    """(linear, angular) of all bodies at the scene's start: 3 numbers per body each."""
    with State(scene) as state:
        return state.accelerations(solver)


def check(text, library=None):
    """Everything wrong with a document: lines "error: PATH: ..." and "warning: PATH: ..."."""
    lib = _ffi.load(library)
    data = text.encode() if isinstance(text, str) else bytes(text)
    needed, capacity = C.c_size_t(), 4096
    while True:
        lines = C.create_string_buffer(capacity)
        lib.skel_scene_check(data, len(data), lines, capacity, C.byref(needed))
        if needed.value < capacity:
            return lines.value.decode("utf-8", "replace").splitlines()
        capacity = needed.value + 1


def version(library=None):
    return _ffi.load(library).skel_version().decode()
