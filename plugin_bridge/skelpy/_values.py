# SPDX-License-Identifier: BSD-3-Clause
"""A document as values of C (skel_value): the library reads them like a JSON text, which is neither
written nor parsed."""

from __future__ import annotations

import ctypes as C
import math
import struct
from array import array
from typing import Any, Iterator, Mapping, Sequence, Union

from . import _ffi
from .scene import Scene as Document

_WORDS = {None: _ffi.VALUE_NULL, False: _ffi.VALUE_FALSE, True: _ffi.VALUE_TRUE}
_NUMBERS = {float, int}
_NOTHING = -1                           # the place of a text or numbers that a value does not have
_VALUE = struct.Struct("@iIPPPd")       # the layout of skel_value
assert _VALUE.size == C.sizeof(_ffi.Value)


def _number(value: Union[int, float]) -> float:
    """A number as the JSON text of it reads back: there is no NaN and no negative zero."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"is {number}, must be a finite number")
    return number + 0.0


class DocumentValues:
    """The values of a document, made item by item: long curves take time. A value is kept as its
    fields, with the places of its name, its text and its numbers, because a ctypes struct per value
    would take most of the time."""

    def __init__(self, document: Union[Document, Mapping[str, Any]]) -> None:
        self._document = document
        self._values: list[tuple[int, int, int, int, int, float]] = []
        self._texts = bytearray()               # all names and texts, each with its zero
        self._places: dict[str, int] = {}       # of those in _texts
        self._numbers = array("d")              # those of all arrays

    def advance(self) -> Iterator[None]:
        """Converts one body, joint and so on between two steps of the iterator."""
        document = self._document
        fields = document.to_dict() if isinstance(document, Document) else document
        self._add_value(_ffi.VALUE_OBJECT, len(fields), None)
        for key, value in fields.items():
            if isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
                self._add_value(_ffi.VALUE_ARRAY, len(value), key)
                for item in value:
                    self._add(item, None)
                    yield
            else:
                self._add(value, key)
                yield

    def array(self) -> Any:
        """The values as an array of C. It is valid while this object lives."""
        block = (C.c_char * len(self._texts)).from_buffer(self._texts)
        texts, numbers = C.addressof(block), self._numbers.buffer_info()[0]
        out, at = bytearray(_VALUE.size * len(self._values)), 0
        for kind, count, name, text, first, number in self._values:
            _VALUE.pack_into(out, at, kind, count, 0 if name < 0 else texts + name,
                             0 if text < 0 else texts + text, 0 if first < 0 else numbers + first,
                             number)
            at += _VALUE.size
        return (_ffi.Value * len(self._values)).from_buffer(out)

    def _place_of(self, text: str) -> int:
        """The place of a text in _texts, where equal ones are kept once."""
        place = self._places.get(text)
        if place is None:
            data = text.encode()
            if b"\0" in data:
                raise ValueError(f"{text!r}: holds a zero character, which a document cannot have")
            place = self._places[text] = len(self._texts)
            self._texts += data + b"\0"
        return place

    def _add_value(self, kind: int, count: int, name: Union[str, None], text: int = _NOTHING,
                   first: int = _NOTHING, number: float = 0.0) -> None:
        place = _NOTHING if name is None else self._place_of(name)
        self._values.append((kind, count, place, text, first, number))

    def _add(self, value: Any, name: Union[str, None]) -> None:
        if isinstance(value, dict):
            self._add_value(_ffi.VALUE_OBJECT, len(value), name)
            for key, item in value.items():
                self._add(item, key)
        elif isinstance(value, (list, tuple, array)):
            self._add_list(value, name)
        elif isinstance(value, str):
            self._add_value(_ffi.VALUE_STRING, 0, name, text=self._place_of(value))
        elif value is None or isinstance(value, bool):
            self._add_value(_WORDS[value], 0, name)
        elif isinstance(value, Mapping):
            self._add(dict(value), name)
        else:
            self._add_value(_ffi.VALUE_NUMBER, 0, name, number=_number(value))

    def _add_list(self, value: Sequence[Any], name: Union[str, None]) -> None:
        """An array. One that holds numbers alone is one value."""
        if not _NUMBERS.issuperset(map(type, value)):
            self._add_value(_ffi.VALUE_ARRAY, len(value), name)
            for item in value:
                self._add(item, None)
            return
        numbers = array("d", value)
        if 0.0 in numbers or not math.isfinite(sum(numbers)):
            numbers = array("d", map(_number, numbers))
        first = _NOTHING if not numbers else 8 * len(self._numbers)
        self._numbers.extend(numbers)
        self._add_value(_ffi.VALUE_NUMBERS, len(numbers), name, first=first)
