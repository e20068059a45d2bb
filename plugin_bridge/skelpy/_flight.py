# SPDX-License-Identifier: BSD-3-Clause
"""The flight of a free skeleton between two poses."""

from __future__ import annotations

import ctypes as C
from typing import Any, Iterable, Optional

from . import _ffi
from ._arrays import doubles
from ._handles import Sampled, check_status, create
from ._parsed_scene import Scene
from ._structs import make, plain


class Flight(Sampled):
    """The flight of a free skeleton from pose to pose (7 numbers per body each) in `time` [s].

    turns: whole turns in addition to the shortest rotation; None: the motion with the least
    momentum. about: the axis of the turns. fps: None has the value of the scene."""

    _prefix = "skel_flight"

    def __init__(self, scene: Scene, take_off: Iterable[float], landing: Iterable[float],
                 time: float, fps: Optional[float] = None, turns: Optional[int] = None,
                 about: Optional[Iterable[float]] = None) -> None:
        lib, count = scene._lib, 7 * scene.body_count
        first, p_first = doubles(take_off, count, "take_off")
        last, p_last = doubles(landing, count, "landing")
        desc = make(lib, _ffi.FlightDesc, model=scene._model, duration=time, take_off=p_first,
                    landing=p_last, sample_rate=scene.fps if fps is None else fps,
                    has_turns=turns is not None, turns=turns)
        if about is not None:
            desc.about = (C.c_double * 3)(*about)

        self._lib = lib
        self._body_count = scene.body_count
        self._q_count = scene.q_count
        self._owner = create(lib, lib.skel_flight_solve, lib.skel_flight_destroy, C.byref(desc),
                             needs=(scene._owner,))
        self.samples: int = lib.skel_flight_sample_count(self._p)

    def _sample_count(self) -> int:
        return self.samples

    @property
    def poses(self) -> memoryview:
        """[sample][body][7], flat, without a copy."""
        return self._view("poses", 7 * self._body_count)

    @property
    def velocities(self) -> memoryview:
        """[sample][body][6], flat, without a copy."""
        return self._view("velocities", 6 * self._body_count)

    @property
    def q(self) -> memoryview:
        """[sample][q_count], flat, without a copy."""
        return self._view("q", self._q_count)

    @property
    def summary(self) -> dict[str, Any]:
        """The receipt: momentum, velocity at take-off, error of the landing, as
        skel_flight_summary."""
        summary = make(self._lib, _ffi.FlightSummary)
        check_status(self._lib, self._lib.skel_flight_get_summary(self._p, C.byref(summary)))
        return plain(summary)


def flight(scene: Scene, take_off: Iterable[float], landing: Iterable[float], time: float,
           **options: Any) -> Flight:
    """The Flight from pose to pose; options as there."""
    return Flight(scene, take_off, landing, time, **options)
