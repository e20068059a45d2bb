# SPDX-License-Identifier: BSD-3-Clause
"""Inverse kinematics: one pose (Ik), or every frame of a scene (IkMotion).

A goal is a dict with the fields of the document, of one frame: {"body": "hand", "position": [..]}.
"""

import ctypes as C
from array import array

from . import _ffi
from ._own import _buffer, _check, _Closing, _create, _doubles, _plain, _Samples, make

MODES = ("pose", "track")
METHODS = ("damped", "newton")
ROOTS = ("held", "shifts", "moves")
STARTS = ("free", "held")
TARGETS = ("position", "look_at", "pole", "centre_of_mass")  # in the order of SKEL_GOAL_*
ORIENTATION = 8


def _choice(what, value, names):
    if value not in names:
        raise ValueError(f"{what}: is {value!r}, must be one of {', '.join(names)}")
    return names.index(value)


def _kind(fields):
    kinds = [k for k, name in enumerate(TARGETS) if name in fields]
    if not kinds and "orientation" in fields:
        return 0
    if len(kinds) != 1:
        raise ValueError(f"a goal has one of {', '.join(TARGETS)}, not {sorted(fields)}")
    return kinds[0]


def _mask(scene, desc, fields, keep):
    """`joints` and `chain`; the list is kept alive in `keep`."""
    joints, chain = fields.pop("joints", None), fields.pop("chain", None)
    if joints is not None:
        numbers = [_ffi.WORLD if name == "world" else scene.find_joint(name) for name in joints]
        keep.append((C.c_int32 * len(numbers))(*numbers))
        desc.joints, desc.joint_count = keep[-1], len(numbers)
    if isinstance(chain, str):
        desc.chain_root = scene.find_body(chain)
    elif chain is not None:
        desc.chain_depth = chain


def _goal(scene, fields, keep):
    """The dict as skel_goal_desc."""
    desc, fields = make(scene._lib, _ffi.GoalDesc), dict(fields)
    desc.kind = _kind(fields)
    fields.pop("name", None)
    _mask(scene, desc, fields, keep)
    if TARGETS[desc.kind] in fields:
        fields["position"] = fields.pop(TARGETS[desc.kind])
        desc.parts = sum(1 << "xyz".index(axis) for axis in fields.pop("axes", "xyz"))
    if "orientation" in fields:
        desc.parts |= ORIENTATION
    if desc.kind in (1, 2):
        desc.parts = 0
    for name in ("body", "relative_to", "from", "to"):
        if name in fields:
            setattr(desc, name, scene.find_body(fields.pop(name)))
    for name, value in fields.items():
        place = dict(_ffi.GoalDesc._fields_).get(name)
        if place is None or name in ("struct_size", "kind", "parts", "joint_count", "chain_depth",
                                     "chain_root", "reserved"):
            raise ValueError(f"{name}: is not a field of a goal")
        setattr(desc, name, place(*value) if issubclass(place, C.Array) else value)
    return desc


def _receipt(struct, residuals):
    """reached, residual, ...; goals: how far each is off; us, the time it took, last."""
    fields = _plain(struct)
    us = fields.pop("us")
    fields["reached"] = bool(fields["reached"])
    fields["goals"] = [{"distance": residuals[i], "angle": residuals[i + 1]}
                       for i in range(0, len(residuals), 2)]
    return {**fields, "us": us}


def _settings(desc, scene, keep, options):
    """Options of the document's `ik` into the desc; arrays are kept alive in `keep`."""
    for name, names in (("mode", MODES), ("method", METHODS), ("root", ROOTS)):
        if options.get(name) is not None:
            setattr(desc, name, _choice(name, options[name], names))
    for name in ("tolerance", "max_ms", "max_iterations", "max_restarts"):
        if options.get(name) is not None:
            setattr(desc, name, options[name])
    for name, count in (("stiffness", scene.dof), ("max_step", scene.dof),
                        ("posture", scene.q_count)):
        if options.get(name) is not None:
            numbers, pointer = _doubles(options[name], count, name)
            keep.append(numbers)
            setattr(desc, name, pointer)
    unknown = set(options) - {"mode", "method", "root", "tolerance", "max_ms", "max_iterations",
                              "max_restarts", "stiffness", "max_step", "posture"}
    if unknown:
        raise TypeError(f"{', '.join(sorted(unknown))}: no such setting")


def _scene_desc(scene):
    desc = make(scene._lib, _ffi.IkMotionDesc)
    _check(scene._lib, scene._lib.skel_scene_ik(scene._p, C.byref(desc)))
    return desc


class Ik(_Closing):
    """A solver for one pose of a scene.

    goals: dicts, or None: those of the scene at its first frame, with its settings. Settings as in
    the document; stiffness and max_step have a number per degree of freedom, posture is q."""

    def __init__(self, scene, goals=None, **settings):
        lib, keep = scene._lib, []
        if goals is None:
            motion = _scene_desc(scene)
            desc = _ffi.IkDesc.from_buffer_copy(motion.ik.contents)
        else:
            motion, desc = None, make(lib, _ffi.IkDesc)
            listed = [_goal(scene, goal, keep) for goal in goals]
            keep.append((_ffi.GoalDesc * len(listed))(*listed))
            desc.model, desc.goals = scene._model, keep[-1]
            desc.goal_count = len(listed)
        desc.goal_stride = C.sizeof(_ffi.GoalDesc)
        _settings(desc, scene, keep, settings)
        self._lib, self._counts = lib, (scene.q_count, scene.dof, 7 * scene.body_count)
        self.goal_count = desc.goal_count
        self._owner = _create(lib, lib.skel_ik_create, lib.skel_ik_destroy, C.byref(desc),
                              needs=(scene._owner,))
        for i in range(desc.goal_count if motion is not None else 0):
            self._start(i, motion.tracks[i])
        with_seed = motion is not None and bool(motion.seed)
        self.seed = array("d", motion.seed[:scene.q_count]) if with_seed else None
        self._scene = scene

    def _start(self, goal, track):
        """The targets of the first frame."""
        self.set_target(goal, track.positions[:3] if track.position_count else None,
                        track.orientations[:4] if track.orientation_count else None)
        if track.weight_count:
            self.set_weight(goal, track.weights[0])

    def set_target(self, goal, position=None, orientation=None):
        (p, to), (o, turn) = ((None, None) if x is None else _doubles(x, n, "target")
                              for x, n in ((position, 3), (orientation, 4)))
        _check(self._lib, self._lib.skel_ik_set_target(self._p, goal, to, turn))

    def set_weight(self, goal, weight):
        _check(self._lib, self._lib.skel_ik_set_weight(self._p, goal, weight))

    def set_roots(self, poses):
        """Where free, fixed and driven roots are, from poses (7 numbers per body)."""
        _, pointer = kept = _doubles(poses, self._counts[2], "poses")
        _check(self._lib, self._lib.skel_ik_set_roots(self._p, pointer))
        del kept

    def solve(self, q=None):
        """(q, receipt) from the seed q; None: the scene's seed, or its pose."""
        if q is None:
            q = self.seed if self.seed is not None else self._current()
        numbers, pointer = _doubles(q, self._counts[0], "q")
        receipt, error = make(self._lib, _ffi.IkReceipt), make(self._lib, _ffi.Error)
        _check(self._lib, self._lib.skel_ik_solve(self._p, pointer, C.byref(receipt),
                                                  C.byref(error)), error)
        return numbers, _receipt(receipt, self._residuals())

    def _current(self):
        state = _create(self._lib, self._lib.skel_state_create, self._lib.skel_state_destroy,
                        self._scene._model)
        q, pointer = _buffer(self._counts[0])
        _check(self._lib, self._lib.skel_state_get_q(state.pointer, pointer))
        return q

    def _residuals(self):
        numbers = []
        for goal in range(self.goal_count):
            distance, angle = C.c_double(), C.c_double()
            _check(self._lib, self._lib.skel_ik_get_residual(
                self._p, goal, C.byref(distance), C.byref(angle)))
            numbers += [distance.value, angle.value]
        return numbers

    @property
    def poses(self):
        """Of the last answer, 7 numbers per body."""
        poses, pointer = _buffer(self._counts[2])
        _check(self._lib, self._lib.skel_ik_get_poses(self._p, pointer))
        return poses

    @property
    def active(self):
        """True for every degree of freedom whose limit holds the last answer back."""
        active = (C.c_int32 * max(1, self._counts[1]))()
        _check(self._lib, self._lib.skel_ik_get_active(self._p, active))
        return [bool(x) for x in active[:self._counts[1]]]


class IkMotion(_Samples):
    """The goals of a scene, frame by frame. Drive it with `advance` from a timer, or call `run`.

    What is None comes from the scene; seed: "current", "mid" or q. Settings as at Ik; the posture
    may be "base", too.
    base: the animation that the goals change, q of every frame, one after the other. base_poses:
    where it has free roots, 7 numbers per frame and body (of others they do not count).
    start: "free", the first frame may take another pose where else joints would jump, or "held".
    causal: no frame knows those after it; what tracking loses stays lost."""

    _name = "skel_ik_motion"

    def __init__(self, scene, seed=None, base=None, base_poses=None, start=None, causal=False,
                 **settings):
        lib, keep, desc = scene._lib, [], _scene_desc(scene)
        ik = _ffi.IkDesc.from_buffer_copy(desc.ik.contents)
        if settings.get("posture") == "base":
            desc.base_posture = 1
            del settings["posture"]
        _settings(ik, scene, keep, settings)
        desc.ik = C.pointer(ik)
        for name, given, width in (("base", base, scene.q_count),
                                   ("base_poses", base_poses, 7 * scene.body_count)):
            if given is not None:
                numbers, pointer = _doubles(given, desc.sample_count * width, name)
                keep.append(numbers)
                setattr(desc, name, pointer)
        if seed == "current":
            desc.seed = None
        elif seed is not None:
            numbers, desc.seed = _doubles(scene.middle() if seed == "mid" else seed,
                                          scene.q_count, "seed")
            keep.append(numbers)
        if start is not None:
            desc.start = _choice("start", start, STARTS)
        desc.causal = bool(causal)
        self._lib, self._bodies, self._q_count = lib, scene.body_count, scene.q_count
        self._joint_names = scene.joint_names
        self.body_names, self.fps, self.goal_count = (scene.body_names, desc.sample_rate,
                                                      ik.goal_count)
        first = scene.frames.start
        self.frames = range(first, first + desc.sample_count)
        self.goal_names = [lib.skel_scene_goal_name(scene._p, i).decode()
                           for i in range(ik.goal_count)]
        self._owner = _create(lib, lib.skel_ik_motion_start, lib.skel_ik_motion_destroy,
                              C.byref(desc), needs=(scene._owner, keep))

    def advance(self, max_ms=50.0):
        """Works for about max_ms (0: one solve; negative: to the end). True when all is done."""
        return _check(self._lib, self._lib.skel_ik_motion_advance(self._p, max_ms)) != _ffi.MORE

    @property
    def receipts(self):
        """A dict per sample, as in the track."""
        done, n = self.samples_done, 2 * self.goal_count
        off = self._view("residuals", n)
        structs = self._call("receipts")
        return [_receipt(structs[k], off[n * k:n * (k + 1)]) for k in range(done)]

    @property
    def reached(self):
        """Whether all samples so far are."""
        return all(receipt["reached"] for receipt in self.receipts)


    def _jump(self, struct):
        name = self._joint_names[struct.joint] if struct.joint >= 0 else "world"
        return {"frame": self.frames[struct.sample], "joint": name, "size": struct.size,
                "unit": "m" if struct.is_length else "rad"}

    @property
    def jumps(self):
        """[{frame, joint, size, unit}]: where no continuous motion was found, as in the track."""
        found = []
        for index in range(self._call("jump_count")):
            struct = make(self._lib, _ffi.IkJump)
            _check(self._lib, self._lib.skel_ik_motion_get_jump(self._p, index, C.byref(struct)))
            found.append(self._jump(struct))
        return found

    @property
    def start_moved(self):
        """How far the first frame is from where the seed leads, as a jump; None: it was kept."""
        struct = make(self._lib, _ffi.IkJump)
        _check(self._lib, self._lib.skel_ik_motion_get_start(self._p, C.byref(struct)))
        return self._jump(struct) if struct.size > 0 else None

    @property
    def repaired(self):
        """How many frames were found another way than from the frame before."""
        return self._call("repaired_count")


def jacobian(scene, poses, body, point=(0.0, 0.0, 0.0)):
    """6 x dof, flat, rows first: velocity and angular velocity of a point of a body (name or
    index), in the world, of the joint velocities."""
    index = scene.find_body(body) if isinstance(body, str) else body
    (given, p_poses), (at, p_at) = (_doubles(poses, 7 * scene.body_count, "poses"),
                                    _doubles(point, 3, "point"))
    numbers, pointer = _buffer(6 * scene.dof)
    _check(scene._lib, scene._lib.skel_jacobian(scene._model, p_poses, index, p_at, pointer))
    return numbers
