# SPDX-License-Identifier: BSD-3-Clause
"""Inverse dynamics: the forces of a known motion."""

from __future__ import annotations

import ctypes as C
from array import array
from typing import Any, Iterable, Optional, Union

from . import _ffi
from ._arrays import pointer_to
from ._bake import Bake
from ._handles import Sampled, check_status, create
from ._parsed_scene import Scene
from ._state import State
from ._structs import make, plain
from .rig import Track


class Inverse(Sampled):
    """The forces of a motion: poses [sample][body][7], flat, at `rate` [1/s].

    cutoff [Hz]: the low-pass filter. start [s]: the time of the first sample. None: the library's
    default. Results are flat views without a copy."""

    ACROSS_EVENT = _ffi.INVERSE_ACROSS_EVENT
    LAW = _ffi.INVERSE_LAW
    UNSOLVED = _ffi.INVERSE_UNSOLVED

    _prefix = "skel_inverse"

    def __init__(self, scene: Scene, poses: Iterable[float], rate: float,
                 cutoff: Optional[float] = None, start: Optional[float] = None) -> None:
        lib, width = scene._lib, 7 * scene.body_count
        numbers = array("d", poses)
        if len(numbers) % width:
            raise ValueError(f"poses: has {len(numbers)} numbers, must have {width} per sample")
        desc = make(lib, _ffi.InverseDesc, sample_count=len(numbers) // width, model=scene._model,
                    sample_rate=rate, cutoff=cutoff, start=start, poses=pointer_to(numbers))

        self._lib = lib
        self.scene = scene
        self._body_count = scene.body_count
        self._joint_count = scene.joint_count
        self._q_count = scene.q_count
        self._dof = scene.dof
        self.samples: int = desc.sample_count
        self._owner = create(lib, lib.skel_inverse_create, lib.skel_inverse_destroy,
                             C.byref(desc), needs=(scene._owner,))

    def _sample_count(self) -> int:
        return self.samples

    @property
    def q(self) -> memoryview:
        """[sample][q_count]: joint coordinates [rad] or [m]."""
        return self._view("q", self._q_count)

    @property
    def qd(self) -> memoryview:
        """[sample][dof]: joint velocities."""
        return self._view("qd", self._dof)

    @property
    def qdd(self) -> memoryview:
        """[sample][dof]: joint accelerations."""
        return self._view("qdd", self._dof)

    @property
    def torque(self) -> memoryview:
        """[sample][dof]: generalised forces [N m] or [N]."""
        return self._view("torque", self._dof)

    @property
    def power(self) -> memoryview:
        """[sample][joint]: power of the torques [W]."""
        return self._view("power", self._joint_count)

    @property
    def wrench(self) -> memoryview:
        """[sample][joint][6]: force [N] and torque [N m] through the joint, world axes."""
        return self._view("wrench", 6 * self._joint_count)

    @property
    def residual(self) -> memoryview:
        """[sample][body][6]: force and torque that free roots lack, world axes."""
        return self._view("residual", 6 * self._body_count)

    @property
    def uncertainty(self) -> memoryview:
        """[sample]: estimated error of the forces [N] that the derivatives cause."""
        return self._view("uncertainty", 1)

    @property
    def flags(self) -> list[int]:
        """One number per sample: the sum of ACROSS_EVENT, LAW and UNSOLVED, or 0."""
        return self._lib.skel_inverse_flags(self._p)[:self.samples]

    def contacts(self, sample: int) -> list[dict[str, Any]]:
        """The contacts at a sample: dicts with body and other (index, -1: the world), ground (-1:
        two shapes touch), point, normal, force (on body, world axes), depth, law."""
        if not 0 <= sample < self.samples:
            raise IndexError(f"sample: is {sample}, must be 0 to {self.samples - 1}")
        found = []
        for k in range(self._lib.skel_inverse_contact_count(self._p, sample)):
            contact = make(self._lib, _ffi.InverseContact)
            status = self._lib.skel_inverse_get_contact(self._p, sample, k, C.byref(contact))
            check_status(self._lib, status)
            found.append(plain(contact))
        return found

    def state(self, sample: int) -> State:
        """The state at one sample of the filtered motion."""
        state = State(self.scene)
        check_status(self._lib, self._lib.skel_inverse_get_state(self._p, sample, state._p, None,
                                                                 None))
        return state

    @property
    def summary(self) -> dict[str, Any]:
        """The receipt: order, cutoff, joint errors of the poses, noise, as skel_inverse_summary."""
        summary = make(self._lib, _ffi.InverseSummary)
        check_status(self._lib, self._lib.skel_inverse_get_summary(self._p, C.byref(summary)))
        return plain(summary)


def inverse(scene: Scene, track: Union[Bake, str, bytes],
            cutoff: Optional[float] = None) -> Inverse:
    """The forces of a motion: a finished Bake, or the text of a skel-track/1."""
    if isinstance(track, Bake):
        return Inverse(scene, track.poses, track.fps, cutoff)
    read = Track(scene, track)
    return Inverse(scene, read.poses, read.fps, cutoff)
