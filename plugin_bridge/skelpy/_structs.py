# SPDX-License-Identifier: BSD-3-Clause
"""C structs: made with the library's defaults, and read as dicts."""

from __future__ import annotations

import ctypes as C
import functools
from typing import Any, TypeVar

from . import _ffi

StructType = TypeVar("StructType", bound=C.Structure)

_INIT = {kind: f"{name}_init_sized" for name, kind in _ffi.STRUCTS.items()
         if f"{name}_init_sized" in _ffi.FUNCTIONS}


def init(lib: C.CDLL, struct: C.Structure, **fields: Any) -> None:
    """Gives a struct the library's defaults, then the fields that are not None.

    Structs that only receive results have no defaults; they get their size."""
    if type(struct) in _INIT:
        getattr(lib, _INIT[type(struct)])(C.byref(struct), C.sizeof(struct))
    else:
        struct.struct_size = C.sizeof(struct)

    for name, value in fields.items():
        if value is not None:
            setattr(struct, name, value)


def make(lib: C.CDLL, kind: type[StructType], **fields: Any) -> StructType:
    """A new struct. Fields that are None have the library's default."""
    struct = kind()
    init(lib, struct, **fields)
    return struct


@functools.lru_cache(maxsize=None)
def _readers(kind: type[C.Structure]) -> list[tuple[str, Any]]:
    """(name, function that makes the value plain or None) of all fields that hold information."""
    found: list[tuple[str, Any]] = []
    for name, of, *_ in kind._fields_:
        if name in ("struct_size", "reserved"):
            continue
        if issubclass(of, C.Structure):
            found.append((name, plain))
        else:
            found.append((name, list if issubclass(of, C.Array) else None))
    return found


def plain(struct: C.Structure) -> dict[str, Any]:
    """The struct as a dict of numbers, lists and dicts."""
    found = {}
    for name, reader in _readers(type(struct)):
        value = getattr(struct, name)
        found[name] = reader(value) if reader else value
    return found
