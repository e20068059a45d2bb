# SPDX-License-Identifier: BSD-3-Clause
"""The joint types that the library knows."""

from __future__ import annotations

import ctypes as C
from dataclasses import dataclass
from typing import Dict, Optional, Tuple

from . import _ffi
from ._structs import make
from .library import Path, load


@dataclass(frozen=True)
class JointKind:
    """A joint type, as skel_joint_kind."""

    name: str                               # in documents
    q_count: int                            # number of coordinates
    dof: int                                # number of velocities
    limit_count: int                        # number of ranges of its limits
    has_axis: bool                          # one coordinate: motor, spring and mimic are possible
    force_names: Tuple[str, ...]            # of generalised forces: the columns of `skel inverse`


def _force_names(kind: _ffi.JointKind) -> Tuple[str, ...]:
    is_length = [each == _ffi.COORDINATE_LENGTH for each in kind.dof_kind[:kind.dof]]
    if kind.dof == 1:
        return ("force",) if is_length[0] else ("torque",)
    return tuple(("f" if length else "t") + "xyz"[axis]
                 for length, axis in zip(is_length, kind.dof_axis))


def joint_kinds(library: Optional[Path] = None) -> Dict[str, JointKind]:
    """All joint types by name."""
    lib = load(library)
    found: Dict[str, JointKind] = {}
    kind = make(lib, _ffi.JointKind)
    while lib.skel_joint_kind_get(len(found), C.byref(kind)) == _ffi.OK:
        name = kind.name.decode()
        found[name] = JointKind(name, kind.q_count, kind.dof, kind.limit_count,
                                bool(kind.has_axis), _force_names(kind))
    return found
