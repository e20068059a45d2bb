# SPDX-License-Identifier: BSD-3-Clause
"""Finds libskel.so and loads it with the signatures of _ffi.py."""

from __future__ import annotations

import ctypes as C
import functools
import os
import pathlib
from typing import Optional, Union

from . import _ffi

Path = Union[str, "os.PathLike[str]"]


class _Choice:
    """The library that calls use if they name none."""

    path: Optional[str] = None
    reads_environment = True


def use_library(path: Path) -> None:
    """Use this library in all calls that name none."""
    _Choice.path = os.fspath(path)


def ignore_environment() -> None:
    """Do not read $SKEL_LIB any more. Hosts that bring their own library, such as the add-on for
    Blender, call this."""
    _Choice.reads_environment = False


def find() -> str:
    """The path of the library: that of use_library, or $SKEL_LIB, or libskel.so in the folder of
    this package or in the folder around it."""
    if _Choice.path:
        return _Choice.path
    if _Choice.reads_environment and os.environ.get("SKEL_LIB"):
        return os.environ["SKEL_LIB"]

    package = pathlib.Path(__file__).resolve().parent
    for folder in (package, package.parent):
        if (folder / "libskel.so").exists():
            return str(folder / "libskel.so")
    raise OSError(f"libskel.so is neither in {package} nor in {package.parent}; set SKEL_LIB to the"
                  " path of the library")


@functools.lru_cache(maxsize=None)
def _load(path: str) -> C.CDLL:
    lib = C.CDLL(path)

    # The high half of the version counts incompatible changes.
    lib.skel_abi_version.restype = C.c_uint32
    major, needed = lib.skel_abi_version() >> 16, _ffi.ABI_VERSION >> 16
    if major != needed:
        raise RuntimeError(f"{path}: the ABI version of the library is {major}, must be {needed}")

    for name, (result, *arguments) in _ffi.FUNCTIONS.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def load(path: Optional[Path] = None) -> C.CDLL:
    """The library with the signatures of all functions. Every path is loaded once."""
    return _load(os.path.abspath(os.fspath(path or find())))


def version(library: Optional[Path] = None) -> str:
    """The version of the library, as "0.1.0"."""
    return load(library).skel_version().decode()
