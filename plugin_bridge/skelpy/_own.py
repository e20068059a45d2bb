# SPDX-License-Identifier: BSD-3-Clause
"""What the owners of C objects share: errors, handles that close, buffers."""

import ctypes as C
import functools
from array import array

from . import _ffi

Doubles = C.POINTER(C.c_double)
Floats = C.POINTER(C.c_float)


_INIT = {kind: f"{name}_init_sized" for name, kind in _ffi.STRUCTS.items()
         if f"{name}_init_sized" in _ffi.FUNCTIONS}


def init(lib, struct, **fields):
    """Gives a struct the library's defaults, then the fields that are not None. Structs that only
    take results have no defaults, but their size."""
    if type(struct) in _INIT:
        getattr(lib, _INIT[type(struct)])(C.byref(struct), C.sizeof(struct))
    else:
        struct.struct_size = C.sizeof(struct)
    for name, value in fields.items():
        if value is not None:
            setattr(struct, name, value)


def make(lib, kind, **fields):
    """A new struct; fields that are None have the library's default."""
    struct = kind()
    init(lib, struct, **fields)
    return struct


class SkelError(Exception):
    """status: the library's number. body, joint: the index it is about, -1 where none.
    text: where, what it is, what it must be."""

    def __init__(self, status, body, joint, text):
        super().__init__(text)
        self.status, self.body, self.joint, self.text = status, body, joint, text


def _check(lib, status, error=None):
    """The status when it is not a failure; else raises SkelError, with its detail."""
    if status >= 0:
        return status
    if error is not None and error.text:
        raise SkelError(status, error.body, error.joint, error.text.decode("utf-8", "replace"))
    raise SkelError(status, -1, -1, lib.skel_status_text(status).decode())


class _Owner:
    """Owns one C object and keeps alive what that object needs. It dies with its last user, so a
    view of a closed bake stays valid."""

    def __init__(self, pointer, destroy, *needs):
        self.pointer, self._destroy, self._needs = pointer, destroy, needs

    def __del__(self):
        self._destroy(self.pointer)


def _create(lib, create, destroy, *arguments, needs=()):
    error, out = make(lib, _ffi.Error), C.c_void_p()
    _check(lib, create(*arguments, C.byref(out), C.byref(error)), error)
    return _Owner(out.value, destroy, *needs)


class _Closing:
    """What Scene, State and Bake share: a handle that can be closed, once or many times."""

    _owner = None

    def close(self):
        self._owner = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def _p(self):
        if self._owner is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._owner.pointer


def _buffer(count):
    """count zeros and the pointer that C wants; keep the first while using the second."""
    numbers = array("d", bytes(8 * count))
    return numbers, _first(numbers)


_NONE = C.c_double()


def _first(numbers):
    """Where they begin; of none, too, for the library takes no null for them."""
    return C.cast(numbers.buffer_info()[0] or C.addressof(_NONE), Doubles)


def _doubles(values, count, what):
    numbers = array("d", values)
    if len(numbers) != count:
        raise ValueError(f"{what}: has {len(numbers)} numbers, must have {count}")
    return numbers, _first(numbers)


@functools.lru_cache(maxsize=None)
def _shown(kind):
    """Names of a struct's fields that say something, and whether they are lists."""
    return [(name, issubclass(of, C.Array)) for name, of in kind._fields_
            if name not in ("struct_size", "reserved")]


def _plain(struct):
    """The struct as a dict of numbers and lists."""
    return {name: list(getattr(struct, name)) if is_list else getattr(struct, name)
            for name, is_list in _shown(type(struct))}


def _flat_view(owner, pointer, count):
    """Memory of the engine, read-only, flat, no copy. It lives until the last view is gone."""
    if count == 0:
        return memoryview(array("d")).toreadonly()
    numbers = (C.c_double * count).from_address(C.addressof(pointer.contents))
    numbers.owner = owner
    return memoryview(numbers).cast("B").cast("d").toreadonly()


class _Samples(_Closing):
    """What Bake and IkMotion share: work in slices, and samples as views of the engine's memory.
    _name: how their C functions begin."""

    _name = None

    def _call(self, what):
        return getattr(self._lib, f"{self._name}_{what}")(self._p)

    def run(self):
        """To the end, in slices so that Ctrl-C is heard; returns the object itself."""
        while not self.advance(100.0):
            pass
        return self

    @property
    def progress(self):
        return self._call("progress")

    @property
    def samples_done(self):
        return self._call("samples_done")

    def _view(self, what, width):
        return _flat_view(self._owner, self._call(what), self.samples_done * width)

    @property
    def poses(self):
        """[sample][body][7], flat, without a copy."""
        return self._view("poses", 7 * self._bodies)

    @property
    def q(self):
        """[sample][q_count], flat, without a copy."""
        return self._view("q", self._q_count)
