# SPDX-License-Identifier: BSD-3-Clause
"""Objects of the library: errors, ownership, and jobs that work in slices."""

from __future__ import annotations

import ctypes as C
from typing import Any, Callable, Optional, TypeVar

from . import _ffi
from ._arrays import flat_view
from ._structs import make

ClosingType = TypeVar("ClosingType", bound="Closing")
JobType = TypeVar("JobType", bound="Job")


class SkelError(Exception):
    """An error of the library.

    status: its number, SKEL_E_*. body, joint: the index that the error is about, or -1.
    text: the path of the value, the value, and the rule that it breaks."""

    def __init__(self, status: int, body: int, joint: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.body = body
        self.joint = joint
        self.text = text


def check_status(lib: C.CDLL, status: int, error: Optional[_ffi.Error] = None) -> int:
    """Returns the status, or raises SkelError if it is a failure."""
    if status >= 0:
        return status
    if error is not None and error.text:
        raise SkelError(status, error.body, error.joint, error.text.decode("utf-8", "replace"))
    raise SkelError(status, -1, -1, lib.skel_status_text(status).decode())


def text_of(lib: C.CDLL, write: Callable[..., int], *arguments: Any,
            error: Optional[_ffi.Error] = None) -> str:
    """The text that a function of C writes into a buffer. The first call asks for its length."""
    needed = C.c_size_t()
    tail = () if error is None else (C.byref(error),)
    status = write(*arguments, None, 0, C.byref(needed), *tail)
    if status != _ffi.E_BUFFER:
        check_status(lib, status, error)

    text = C.create_string_buffer(needed.value + 1)
    check_status(lib, write(*arguments, text, len(text), None, *tail), error)
    return text.value.decode()


class Owner:
    """Owns one object of C and keeps alive what that object needs. Views hold the owner, so they
    stay valid after the object was closed."""

    def __init__(self, pointer: int, destroy: Callable[[int], None], *needs: object) -> None:
        self.pointer = pointer
        self._destroy = destroy
        self._needs = needs

    def __del__(self) -> None:
        self._destroy(self.pointer)


def create(lib: C.CDLL, create_object: Callable[..., int], destroy: Callable[[int], None],
           *arguments: Any, needs: tuple[object, ...] = ()) -> Owner:
    """Calls a function of C that ends in (.., out, err), and owns the object."""
    error = make(lib, _ffi.Error)
    out = C.c_void_p()
    check_status(lib, create_object(*arguments, C.byref(out), C.byref(error)), error)
    assert out.value is not None
    return Owner(out.value, destroy, *needs)


class Closing:
    """An object of the library that can be closed, also more than once."""

    _lib: C.CDLL
    _owner: Optional[Owner] = None

    def close(self) -> None:
        self._owner = None

    def __enter__(self: ClosingType) -> ClosingType:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _p(self) -> int:
        """The handle for C."""
        if self._owner is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._owner.pointer


class Sampled(Closing):
    """An object with arrays [sample][...] in the memory of the library. The names of its functions
    in C begin with _prefix."""

    _prefix: str

    def _call(self, what: str) -> Any:
        return getattr(self._lib, f"{self._prefix}_{what}")(self._p)

    def _sample_count(self) -> int:
        raise NotImplementedError

    def _view(self, what: str, width: int) -> memoryview:
        """An array with `width` numbers per sample, flat, without a copy."""
        return flat_view(self._owner, self._call(what), self._sample_count() * width)


class Job(Sampled):
    """Work that is done in slices, sample after sample: Bake and IkMotion."""

    _body_count: int
    _q_count: int

    def advance(self, max_ms: float = 50.0) -> bool:
        """Works for about max_ms [ms]. True if all samples are done."""
        raise NotImplementedError

    def run(self: JobType) -> JobType:
        """Works to the end and returns the object itself. Ctrl-C stops it between two slices."""
        while not self.advance(100.0):
            pass
        return self

    def _sample_count(self) -> int:
        return self.samples_done

    @property
    def progress(self) -> float:
        """The part of the work that is done, 0 to 1."""
        return self._call("progress")

    @property
    def samples_done(self) -> int:
        """The number of samples that can be read."""
        return self._call("samples_done")

    @property
    def poses(self) -> memoryview:
        """[sample][body][7], flat, without a copy."""
        return self._view("poses", 7 * self._body_count)

    @property
    def q(self) -> memoryview:
        """[sample][q_count], flat, without a copy."""
        return self._view("q", self._q_count)
