# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of numbers that Python and C share.

Functions that return (numbers, pointer) need care: the pointer is valid while the caller keeps the
numbers."""

from __future__ import annotations

import ctypes as C
from array import array
from typing import Any, Iterable

Doubles = C.POINTER(C.c_double)
Floats = C.POINTER(C.c_float)

_NO_NUMBER = C.c_double()       # the library refuses NULL, even for an array without elements


def pointer_to(numbers: array[float], kind: Any = Doubles) -> Any:
    """The C pointer to the first number, NULL if there is none."""
    return C.cast(numbers.buffer_info()[0], kind)


def _valid_pointer(numbers: array[float]) -> Any:
    """The C pointer to the first number, never NULL."""
    return pointer_to(numbers) if numbers else C.pointer(_NO_NUMBER)


def zeros(count: int) -> tuple[array[float], Any]:
    """(numbers, pointer) of a new array that C fills."""
    numbers = array("d", bytes(8 * count))
    return numbers, _valid_pointer(numbers)


def doubles(values: Iterable[float], count: int, what: str) -> tuple[array[float], Any]:
    """(numbers, pointer) of a copy of the values, which must be `count` many."""
    numbers = array("d", values)
    if len(numbers) != count:
        raise ValueError(f"{what}: has {len(numbers)} numbers, must have {count}")
    return numbers, _valid_pointer(numbers)


def copy_of(pointer: Any, count: int) -> array[float]:
    """A copy of doubles that belong to the library."""
    numbers = array("d")
    if count > 0:
        numbers.frombytes(C.string_at(pointer, 8 * count))
    return numbers


def flat_view(owner: object, pointer: Any, count: int) -> memoryview:
    """A read-only view of doubles that belong to the library, without a copy. The view keeps the
    owner alive."""
    if count == 0:
        return memoryview(array("d")).toreadonly()
    numbers = (C.c_double * count).from_address(C.addressof(pointer.contents))
    setattr(numbers, "owner", owner)
    return memoryview(numbers).cast("B").cast("d").toreadonly()
