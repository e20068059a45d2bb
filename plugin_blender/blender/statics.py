# SPDX-License-Identifier: GPL-3.0-or-later
"""Values at data paths. Static values are what channels of an object have if no curve moves them. A
take overwrites them as it plays, and Blender does not bring them back when it is taken away."""

import re
from typing import Any, Iterable, List, Tuple

from .rna import ID, Object

CUSTOM = re.compile(r'(.*)\["((?:[^"\\]|\\.)*)"\]', re.DOTALL)      # ...["custom property"]
ABSENT = (AttributeError, IndexError, KeyError, TypeError, ValueError)
Row = List[Any]                                 # [data path, index, value], as JSON has it


class Value:
    """One number, switch or text that a data path and an index name."""

    def __init__(self, ob: Object, path: str, index: int = 0) -> None:
        custom, self.index = CUSTOM.fullmatch(path), index
        head, _dot, self.name = path.rpartition(".")
        if custom is not None:
            head, self.name = custom[1], re.sub(r"\\(.)", r"\1", custom[2])
        self.is_custom = custom is not None
        self.owner: ID = ob.path_resolve(head) if head else ob

    def _whole(self) -> Any:
        return self.owner[self.name] if self.is_custom else getattr(self.owner, self.name)

    def get(self) -> Any:
        value = self._whole()
        return value if isinstance(value, (bool, int, float, str)) else value[self.index]

    def set(self, value: Any) -> None:
        """Sets it, in the type that it has."""
        whole = self._whole()
        if not isinstance(whole, (bool, int, float, str)):
            whole[self.index] = value
        elif self.is_custom:
            self.owner[self.name] = type(whole)(value)
        else:
            setattr(self.owner, self.name, type(whole)(value))


def is_custom(path: str) -> bool:
    """Whether a data path names a custom property."""
    return CUSTOM.fullmatch(path) is not None


def read(ob: Object, channels: Iterable[Tuple[str, int]]) -> List[Row]:
    """The values of channels (data path, index) now. Paths that lead nowhere are left out."""
    out: List[Row] = []
    for path, index in channels:
        try:
            value = Value(ob, path, index).get()
        except ABSENT:
            continue
        if isinstance(value, (bool, int, float, str)):
            out.append([path, index, value])
    return out


def put(ob: Object, rows: Iterable[Row]) -> List[Row]:
    """Gives channels these values. Returns the values that they had."""
    before: List[Row] = []
    for path, index, value in rows:
        try:
            channel = Value(ob, path, index)
            before.append([path, index, channel.get()])
            channel.set(value)
        except ABSENT:                          # the bone or the constraint was removed
            continue
    return before
