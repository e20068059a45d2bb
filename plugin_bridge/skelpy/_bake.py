# SPDX-License-Identifier: BSD-3-Clause
"""The bake: a scene simulated to frames."""

from __future__ import annotations

import ctypes as C
from typing import Any, Optional, Union

from . import _ffi
from . import scene as document
from ._handles import Job, check_status, create
from ._parsed_scene import Scene
from ._state import number_of
from ._structs import make, plain
from .library import Path

FRAMES_MAX = 2**31 - 1


class Bake(Job):
    """A scene baked to frames. Call `advance` from a timer, or `run`.

    Arguments that are None have the value of the scene. To cancel a bake, close it."""

    _prefix = "skel_bake"

    def __init__(self, scene: Scene, fps: Optional[float] = None,
                 frame_start: Optional[int] = None, frame_end: Optional[int] = None,
                 integrator: Optional[str] = None, step: Optional[float] = None,
                 tolerance: Optional[float] = None, solver: Optional[str] = None,
                 preroll: Optional[float] = None) -> None:
        lib = scene._lib
        start = scene.frames.start if frame_start is None else frame_start
        end = scene.frames.stop - 1 if frame_end is None else frame_end
        if end < start:
            raise ValueError(f"frame_end: is {end}, must be at least frame_start ({start})")
        if end - start >= FRAMES_MAX:
            raise ValueError(f"frame_end: is {end}, makes more than {FRAMES_MAX} frames")

        # The settings of the scene, then those that are given.
        desc = make(lib, _ffi.BakeDesc)
        check_status(lib, lib.skel_scene_get_bake_desc(scene._p, C.byref(desc)))
        desc.model = scene._model
        desc.sample_count = end - start + 1
        for name, value in (("sample_rate", fps), ("step", step), ("tolerance", tolerance),
                            ("preroll", preroll)):
            if value is not None:
                setattr(desc, name, value)
        if integrator is not None:
            desc.integrator = number_of(lib.skel_integrator_name, integrator)
        if solver is not None:
            desc.solver = number_of(lib.skel_solver_name, solver)

        self._lib = lib
        self._body_count = scene.body_count
        self._q_count = scene.q_count
        self._scene_warnings = scene.warnings
        self.body_names = scene.body_names
        self.fps: float = desc.sample_rate
        self.frames = range(start, end + 1)
        self._owner = create(lib, lib.skel_bake_start, lib.skel_bake_destroy, C.byref(desc),
                             needs=(scene._owner,))

    def advance(self, max_ms: float = 50.0) -> bool:
        """Works for about max_ms [ms]; 0: one step, negative: to the end. True if all samples are
        done."""
        status = self._lib.skel_bake_advance(self._p, max_ms)
        if status < 0:
            error = make(self._lib, _ffi.Error)
            self._lib.skel_bake_get_error(self._p, C.byref(error))
            check_status(self._lib, status, error)
        return status != _ffi.MORE

    @property
    def velocities(self) -> memoryview:
        """[sample][body][6], flat, without a copy."""
        return self._view("velocities", 6 * self._body_count)

    def pose(self, sample: int, body: Union[int, str]) -> tuple[float, ...]:
        """x y z [m], w x y z of one body (index or name). Negative samples count from the end."""
        done = self.samples_done
        sample = sample + done if sample < 0 else sample
        index = self.body_names.index(body) if isinstance(body, str) else body
        if not (0 <= sample < done and 0 <= index < self._body_count):
            raise IndexError(f"sample {sample} of {done}, body {index} of {self._body_count}")
        first = 7 * (sample * self._body_count + index)
        return tuple(self.poses[first:first + 7])

    def report(self, sample: int) -> dict[str, Any]:
        """Energies, works, momenta and joint errors at one sample, as skel_report_row."""
        row = make(self._lib, _ffi.ReportRow)
        check_status(self._lib, self._lib.skel_bake_get_report(self._p, sample, C.byref(row)))
        return plain(row)

    @property
    def reports(self) -> list[dict[str, Any]]:
        """The reports of all samples that are done."""
        return [self.report(sample) for sample in range(self.samples_done)]

    @property
    def summary(self) -> dict[str, Any]:
        """The receipt of all samples that are done, as skel_bake_summary."""
        summary = make(self._lib, _ffi.BakeSummary)
        check_status(self._lib, self._lib.skel_bake_get_summary(self._p, C.byref(summary)))
        fields = plain(summary)
        fields["integrator"] = self._lib.skel_integrator_name(summary.integrator).decode()
        fields["solver"] = self._lib.skel_solver_name(summary.solver).decode()
        return fields

    @property
    def warnings(self) -> list[str]:
        """The warnings about the motion, then those about the scene (Scene.warnings)."""
        return [self._lib.skel_bake_warning(self._p, i).decode("utf-8", "replace")
                for i in range(self.summary["warning_count"])] + self._scene_warnings


def bake(scene_json: Union[str, bytes, document.Scene], library: Optional[Path] = None,
         **overrides: Any) -> Bake:
    """Bakes a document (text, or a skelpy.scene.Scene) to the end. Overrides as in Bake."""
    if isinstance(scene_json, document.Scene):
        return Bake(Scene.from_document(scene_json, library), **overrides).run()
    return Bake(Scene.from_json(scene_json, library), **overrides).run()
