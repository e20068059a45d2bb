# SPDX-License-Identifier: BSD-3-Clause
"""The state of a scene: poses and velocities at one time, and the equations of motion there."""

from __future__ import annotations

import ctypes as C
from array import array
from typing import Any, Callable, Iterable, Optional

from . import _ffi
from ._arrays import doubles, zeros
from ._handles import Closing, check_status, create
from ._parsed_scene import Scene
from ._structs import make, plain


def number_of(name_of: Callable[[int], Optional[bytes]], name: str) -> int:
    """The number of an integrator or solver. The library holds the list of names."""
    names = {}
    for number in range(64):
        text = name_of(number)
        if text is not None:
            names[text.decode()] = number
    if name not in names:
        raise ValueError(f"is {name!r}, must be one of {', '.join(names)}")
    return names[name]


class State(Closing):
    """Poses and velocities of all bodies at one time. A new state is at time 0, in the initial pose
    of the scene."""

    def __init__(self, scene: Scene) -> None:
        lib = scene._lib
        self._lib = lib
        self.scene = scene
        self._owner = create(lib, lib.skel_state_create, lib.skel_state_destroy, scene._model,
                             needs=(scene._owner,))
        self._counts = {"poses": 7 * scene.body_count, "velocities": 6 * scene.body_count,
                        "q": scene.q_count, "qd": scene.dof}

    def _get(self, what: str) -> array[float]:
        numbers, pointer = zeros(self._counts[what])
        check_status(self._lib, getattr(self._lib, f"skel_state_get_{what}")(self._p, pointer))
        return numbers

    def _set(self, what: str, values: Iterable[float]) -> None:
        numbers, pointer = doubles(values, self._counts[what], what)
        check_status(self._lib, getattr(self._lib, f"skel_state_set_{what}")(self._p, pointer))

    @property
    def poses(self) -> array[float]:
        """7 numbers per body: x y z [m], w x y z."""
        return self._get("poses")

    @poses.setter
    def poses(self, values: Iterable[float]) -> None:
        self._set("poses", values)

    @property
    def velocities(self) -> array[float]:
        """6 numbers per body: v [m/s] in the world, omega [rad/s] in body axes."""
        return self._get("velocities")

    @velocities.setter
    def velocities(self, values: Iterable[float]) -> None:
        self._set("velocities", values)

    @property
    def q(self) -> array[float]:
        """Joint coordinates [rad] or [m]. Setting them moves all bodies but the roots."""
        return self._get("q")

    @q.setter
    def q(self, values: Iterable[float]) -> None:
        self._set("q", values)

    @property
    def qd(self) -> array[float]:
        """Joint velocities [rad/s] or [m/s]."""
        return self._get("qd")

    @qd.setter
    def qd(self, values: Iterable[float]) -> None:
        self._set("qd", values)

    @property
    def time(self) -> float:
        """[s]. Setting it moves driven bodies."""
        return self._lib.skel_state_time(self._p)

    @time.setter
    def time(self, seconds: float) -> None:
        self._lib.skel_state_set_time(self._p, seconds)

    def project(self) -> tuple[float, float]:
        """Closes the joints. Returns their errors before: (gap [m], speed [m/s])."""
        gap, speed, error = C.c_double(), C.c_double(), make(self._lib, _ffi.Error)
        status = self._lib.skel_state_project(self._p, C.byref(gap), C.byref(speed),
                                              C.byref(error))
        check_status(self._lib, status, error)
        return gap.value, speed.value

    def accelerations(self, solver: str = "tree") -> tuple[array[float], array[float]]:
        """(linear [m/s^2] in world axes, angular [rad/s^2] in body axes), 3 numbers per body
        each."""
        number = number_of(self._lib.skel_solver_name, solver)
        linear, p_linear = zeros(3 * self.scene.body_count)
        angular, p_angular = zeros(3 * self.scene.body_count)

        error = make(self._lib, _ffi.Error)
        status = self._lib.skel_accelerations(self._p, number, p_linear, p_angular, C.byref(error))
        check_status(self._lib, status, error)
        return linear, angular

    def step(self, h: float, integrator: Optional[str] = None,
             solver: Optional[str] = None) -> None:
        """One step of h [s]."""
        lib = self._lib
        desc, error = make(lib, _ffi.StepDesc, h=h), make(lib, _ffi.Error)
        if integrator is not None:
            desc.integrator = number_of(lib.skel_integrator_name, integrator)
        if solver is not None:
            desc.solver = number_of(lib.skel_solver_name, solver)
        check_status(lib, lib.skel_step(self._p, C.byref(desc), C.byref(error)), error)

    def inverse_dynamics(self, linear: Iterable[float], angular: Iterable[float]
                         ) -> tuple[array[float], array[float], array[float]]:
        """The forces that the accelerations need beyond those of the scene: (torque per degree of
        freedom, wrench with 6 numbers per joint, residual with 6 numbers per body)."""
        scene = self.scene
        a, p_a = doubles(linear, 3 * scene.body_count, "linear")
        w, p_w = doubles(angular, 3 * scene.body_count, "angular")
        torque, p_torque = zeros(scene.dof)
        wrench, p_wrench = zeros(6 * scene.joint_count)
        residual, p_residual = zeros(6 * scene.body_count)

        error = make(self._lib, _ffi.Error)
        status = self._lib.skel_inverse_dynamics(self._p, p_a, p_w, p_torque, p_wrench, p_residual,
                                                 C.byref(error))
        check_status(self._lib, status, error)
        return torque, wrench, residual

    def report(self) -> dict[str, Any]:
        """Energies, works, momenta and joint errors, as skel_report_row."""
        row = make(self._lib, _ffi.ReportRow)
        check_status(self._lib, self._lib.skel_report(self._p, C.byref(row)))
        return plain(row)


def fk(scene: Scene, q: Iterable[float]) -> array[float]:
    """Poses (7 numbers per body) of joint coordinates q. Roots have their initial pose."""
    given, p_q = doubles(q, scene.q_count, "q")
    poses, p_poses = zeros(7 * scene.body_count)
    check_status(scene._lib, scene._lib.skel_fk(scene._model, p_q, p_poses))
    return poses


def accelerations(scene: Scene, solver: str = "tree") -> tuple[array[float], array[float]]:
    """(linear, angular) of all bodies in the initial state, as State.accelerations."""
    with State(scene) as state:
        return state.accelerations(solver)
