# SPDX-License-Identifier: BSD-3-Clause
"""Inverse kinematics: one pose (Ik), or every frame of a scene (IkMotion).

A goal is a dict with the fields of the document: {"body": "hand", "position": [0.3, -0.4, 1.2]}.
"""

from __future__ import annotations

import ctypes as C
from array import array
from typing import TYPE_CHECKING, Any, Dict, Iterable, Mapping, Optional, Sequence, Union

from . import _ffi
from ._arrays import doubles, zeros
from ._handles import Closing, Job, check_status, create
from ._structs import make, plain

if TYPE_CHECKING:
    from ._parsed_scene import Scene

Goal = Mapping[str, Any]
Receipt = Dict[str, Any]        # the fields of skel_ik_receipt, and the residuals of all goals

MODES = {"pose": _ffi.IK_POSE, "track": _ffi.IK_TRACK}
METHODS = {"damped": _ffi.IK_DAMPED, "newton": _ffi.IK_NEWTON}
ROOTS = {"held": _ffi.IK_ROOT_HELD, "shifts": _ffi.IK_ROOT_SHIFTS, "moves": _ffi.IK_ROOT_MOVES}
STARTS = {"free": _ffi.IK_START_FREE, "held": _ffi.IK_START_HELD}

_CHOICES = {"mode": MODES, "method": METHODS, "root": ROOTS}
_NUMBERS = ("tolerance", "max_ms", "max_iterations", "max_restarts")
_ARRAYS = ("stiffness", "max_step", "posture")


def _choice(what: str, value: str, names: Mapping[str, int]) -> int:
    if value not in names:
        raise ValueError(f"{what}: is {value!r}, must be one of {', '.join(names)}")
    return names[value]


# ---- settings ------------------------------------------------------------------------------------

def _apply_settings(desc: _ffi.IkDesc, scene: Scene, keep: list[Any],
                    settings: Mapping[str, Any]) -> None:
    """Writes settings of the document's `ik` into the desc. Arrays are kept alive in `keep`."""
    unknown = set(settings) - {*_CHOICES, *_NUMBERS, *_ARRAYS}
    given = {name: value for name, value in settings.items() if value is not None}
    counts = {"stiffness": scene.dof, "max_step": scene.dof, "posture": scene.q_count}
    for name, names in _CHOICES.items():
        if name in given:
            setattr(desc, name, _choice(name, given[name], names))
    for name in _NUMBERS:
        if name in given:
            setattr(desc, name, given[name])
    for name in _ARRAYS:
        if name in given:
            numbers, pointer = doubles(given[name], counts[name], name)
            keep.append(numbers)
            setattr(desc, name, pointer)
    if unknown:
        raise TypeError(f"{', '.join(sorted(unknown))}: no such setting")


def _scene_desc(scene: Scene) -> _ffi.IkMotionDesc:
    """The goals and settings of the scene."""
    desc = make(scene._lib, _ffi.IkMotionDesc)
    check_status(scene._lib, scene._lib.skel_scene_get_ik_desc(scene._p, C.byref(desc)))
    return desc


def _receipt(struct: _ffi.IkReceipt, residuals: Sequence[float]) -> Receipt:
    """skel_ik_receipt as a dict. goals: the distance [m] and angle [rad] of each goal to its
    target. us: the time of the solve [us], last."""
    fields = plain(struct)
    us = fields.pop("us")
    fields["reached"] = bool(fields["reached"])
    fields["goals"] = [{"distance": residuals[i], "angle": residuals[i + 1]}
                       for i in range(0, len(residuals), 2)]
    return {**fields, "us": us}


# ---- solvers -------------------------------------------------------------------------------------

class Ik(Closing):
    """A solver for one pose of a scene.

    goals: dicts as in the document; the settings of the scene do not apply to them. None: the goals
    of the scene, with its settings. Of a list with a value per frame, the first value counts.
    settings: as in the document. stiffness and max_step have a number per degree of freedom,
    posture has q_count numbers."""

    def __init__(self, scene: Scene, goals: Optional[Iterable[Goal]] = None,
                 **settings: Any) -> None:
        lib = scene._lib
        keep: list[Any] = []
        if goals is not None:
            scene = scene.with_goals(goals)
        motion = _scene_desc(scene)
        desc = _ffi.IkDesc.from_buffer_copy(motion.ik.contents)
        _apply_settings(desc, scene, keep, settings)

        self._lib = lib
        self._scene = scene
        self._body_count = scene.body_count
        self._q_count = scene.q_count
        self._dof = scene.dof
        self.goal_count: int = desc.goal_count
        self.seed: Optional[array[float]] = None
        self._owner = create(lib, lib.skel_ik_create, lib.skel_ik_destroy, C.byref(desc),
                             needs=(scene._owner,))
        self._start(motion)

    def _start(self, motion: _ffi.IkMotionDesc) -> None:
        """The targets, weights and seed of the first frame."""
        for goal in range(self.goal_count):
            track = motion.tracks[goal]
            self.set_target(goal, track.positions[:3] if track.position_count else None,
                            track.orientations[:4] if track.orientation_count else None)
            if track.weight_count:
                self.set_weight(goal, track.weights[0])
        if motion.seed:
            self.seed = array("d", motion.seed[:self._q_count])

    def set_target(self, goal: int, position: Optional[Iterable[float]] = None,
                   orientation: Optional[Iterable[float]] = None) -> None:
        """The target of a goal: x y z [m], w x y z. None leaves the one that it has."""
        place, p_place = (None, None) if position is None else doubles(position, 3, "target")
        turn, p_turn = (None, None) if orientation is None else doubles(orientation, 4, "target")
        check_status(self._lib, self._lib.skel_ik_set_target(self._p, goal, p_place, p_turn))

    def set_weight(self, goal: int, weight: float) -> None:
        check_status(self._lib, self._lib.skel_ik_set_weight(self._p, goal, weight))

    def set_roots(self, poses: Iterable[float]) -> None:
        """The poses of free, fixed and driven roots, from poses of all bodies (7 numbers each)."""
        numbers, pointer = doubles(poses, 7 * self._body_count, "poses")
        check_status(self._lib, self._lib.skel_ik_set_roots(self._p, pointer))

    def solve(self, q: Optional[Iterable[float]] = None) -> tuple[array[float], Receipt]:
        """(q, receipt) from the seed q; None: the seed of the scene, or its initial pose."""
        if q is None:
            q = self.seed if self.seed is not None else self._initial_q()
        numbers, pointer = doubles(q, self._q_count, "q")

        receipt, error = make(self._lib, _ffi.IkReceipt), make(self._lib, _ffi.Error)
        status = self._lib.skel_ik_solve(self._p, pointer, C.byref(receipt), C.byref(error))
        check_status(self._lib, status, error)
        return numbers, _receipt(receipt, self._residuals())

    def _initial_q(self) -> array[float]:
        state = create(self._lib, self._lib.skel_state_create, self._lib.skel_state_destroy,
                       self._scene._model)
        q, pointer = zeros(self._q_count)
        check_status(self._lib, self._lib.skel_state_get_q(state.pointer, pointer))
        return q

    def _residuals(self) -> list[float]:
        """Distance [m] and angle [rad] of every goal to its target."""
        numbers = []
        for goal in range(self.goal_count):
            distance, angle = C.c_double(), C.c_double()
            check_status(self._lib, self._lib.skel_ik_get_residual(
                self._p, goal, C.byref(distance), C.byref(angle)))
            numbers += [distance.value, angle.value]
        return numbers

    @property
    def poses(self) -> array[float]:
        """The poses of the last solution, 7 numbers per body."""
        poses, pointer = zeros(7 * self._body_count)
        check_status(self._lib, self._lib.skel_ik_get_poses(self._p, pointer))
        return poses

    @property
    def active(self) -> list[bool]:
        """For every degree of freedom, whether its limit is active in the last solution."""
        active = (C.c_int32 * max(1, self._dof))()
        check_status(self._lib, self._lib.skel_ik_get_active(self._p, active))
        return [bool(number) for number in active[:self._dof]]


class IkMotion(Job):
    """The goals of a scene, frame by frame. Call `advance` from a timer, or `run`.

    Arguments that are None have the value of the scene. Settings as in Ik.
    seed: "current", "mid" or q. posture: q, or "base".
    base: the animation that the goals change, q of all frames, flat. base_poses: the poses of its
    free roots, 7 numbers per frame and body; other bodies are ignored.
    start: "free" (the first frame may take another pose if joints would jump otherwise) or "held".
    causal: True: no frame depends on later frames, and a target that is lost stays lost."""

    _prefix = "skel_ik_motion"

    def __init__(self, scene: Scene, seed: Union[None, str, Iterable[float]] = None,
                 base: Optional[Iterable[float]] = None,
                 base_poses: Optional[Iterable[float]] = None, start: Optional[str] = None,
                 causal: bool = False, **settings: Any) -> None:
        lib, desc = scene._lib, _scene_desc(scene)
        keep: list[Any] = []
        ik = _ffi.IkDesc.from_buffer_copy(desc.ik.contents)
        if isinstance(settings.get("posture"), str) and settings["posture"] == "base":
            desc.base_posture = 1
            del settings["posture"]
        _apply_settings(ik, scene, keep, settings)
        desc.ik = C.pointer(ik)

        for name, given, width in (("base", base, scene.q_count),
                                   ("base_poses", base_poses, 7 * scene.body_count)):
            if given is not None:
                numbers, pointer = doubles(given, desc.sample_count * width, name)
                keep.append(numbers)
                setattr(desc, name, pointer)
        self._choose_seed(desc, scene, keep, seed)
        if start is not None:
            desc.start = _choice("start", start, STARTS)
        desc.causal = bool(causal)

        self._lib = lib
        self._body_count = scene.body_count
        self._q_count = scene.q_count
        self._joint_names = scene.joint_names
        self.body_names = scene.body_names
        self.fps: float = desc.sample_rate
        self.frames = range(scene.frames.start, scene.frames.start + desc.sample_count)
        self.goal_count: int = ik.goal_count
        self.goal_names: list[str] = [lib.skel_scene_goal_name(scene._p, i).decode()
                                      for i in range(ik.goal_count)]
        self._owner = create(lib, lib.skel_ik_motion_start, lib.skel_ik_motion_destroy,
                             C.byref(desc), needs=(scene._owner, keep))

    @staticmethod
    def _choose_seed(desc: _ffi.IkMotionDesc, scene: Scene, keep: list[Any],
                     seed: Union[None, str, Iterable[float]]) -> None:
        if seed is None:
            return
        if isinstance(seed, str) and seed == "current":
            desc.seed = None
            return
        if isinstance(seed, str):
            _choice("seed", seed, {"current": 0, "mid": 1})
            seed = scene.middle()
        numbers, desc.seed = doubles(seed, scene.q_count, "seed")
        keep.append(numbers)

    def advance(self, max_ms: float = 50.0) -> bool:
        """Works for about max_ms [ms]; 0: one solve, negative: to the end. True if all samples are
        done."""
        status = self._lib.skel_ik_motion_advance(self._p, max_ms)
        return check_status(self._lib, status) != _ffi.MORE

    @property
    def receipts(self) -> list[Receipt]:
        """A dict per sample, as in the track."""
        width = 2 * self.goal_count
        residuals = self._view("residuals", width)
        structs = self._call("receipts")
        return [_receipt(structs[k], residuals[width * k:width * (k + 1)])
                for k in range(self.samples_done)]

    @property
    def reached(self) -> bool:
        """Whether all samples that are done reach their targets."""
        return all(receipt["reached"] for receipt in self.receipts)

    def _jump(self, struct: _ffi.IkJump) -> dict[str, Any]:
        name = self._joint_names[struct.joint] if struct.joint >= 0 else "world"
        return {"frame": self.frames[struct.sample], "joint": name, "size": struct.size,
                "unit": "m" if struct.is_length else "rad"}

    @property
    def jumps(self) -> list[dict[str, Any]]:
        """[{frame, joint, size, unit}]: the frames where no continuous motion was found."""
        found = []
        for index in range(self._call("jump_count")):
            struct = make(self._lib, _ffi.IkJump)
            status = self._lib.skel_ik_motion_get_jump(self._p, index, C.byref(struct))
            check_status(self._lib, status)
            found.append(self._jump(struct))
        return found

    @property
    def start_moved(self) -> Optional[dict[str, Any]]:
        """The distance of the first frame from the solution of the seed, as a jump. None if the
        first frame has that solution."""
        struct = make(self._lib, _ffi.IkJump)
        check_status(self._lib, self._lib.skel_ik_motion_get_start(self._p, C.byref(struct)))
        return self._jump(struct) if struct.size > 0 else None

    @property
    def repaired(self) -> int:
        """The number of frames that were not found from the frame before."""
        return self._call("repaired_count")


def jacobian(scene: Scene, poses: Iterable[float], body: Union[int, str],
             point: Iterable[float] = (0.0, 0.0, 0.0)) -> array[float]:
    """The Jacobian (6 x dof, row-major) of a point of a body (name or index), in body axes from its
    centre of mass: velocity and angular velocity in the world by joint velocities."""
    index = scene.find_body(body) if isinstance(body, str) else body
    given, p_poses = doubles(poses, 7 * scene.body_count, "poses")
    place, p_place = doubles(point, 3, "point")
    numbers, pointer = zeros(6 * scene.dof)
    status = scene._lib.skel_jacobian(scene._model, p_poses, index, p_place, pointer)
    check_status(scene._lib, status)
    return numbers
