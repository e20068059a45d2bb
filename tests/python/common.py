# SPDX-License-Identifier: BSD-3-Clause
"""Paths that the Python tests share. SKEL_LIB and SKEL_BIN win over the default build folder."""

import contextlib
import importlib.util
import json
import os
import pathlib
import sys
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "samples"
LIB = os.environ.setdefault("SKEL_LIB", str(ROOT / "build" / "lib" / "libskel.so"))
BIN = os.environ.get("SKEL_BIN", str(ROOT / "build" / "bin" / "skel"))
OFFSETS = os.environ.get("SKEL_OFFSETS", str(ROOT / "build" / "tests" / "skel_offsets"))
NAMES = ("pendulum", "double_pendulum", "free_tree", "humanoid", "rope", "driven_root",
         "four_bar", "ring", "bar_hang", "follow", "falling_rod", "falling_rod_half",
         "falling_rod_dead", "jumper_stiff", "jumper_soft", "jumper_locked", "jumper_five",
         "ragdoll_stairs", "landing")
SOLVED = ("lecture", "puma560", "figure_eight", "character", "tentacle")  # have goals

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "plugin_bridge"))

import skelpy  # noqa: E402
import skelpy.scene  # noqa: E402

skelpy.use_library(LIB)     # the add-on does not look at the environment


def sample(name):
    return (SAMPLES / f"{name}.json").read_text(encoding="utf-8")


@contextlib.contextmanager
def no_json():
    """Fails if Python writes or reads JSON, or asks the library to."""
    places = [(json, name) for name in ("dumps", "dump", "loads", "load")]
    places += [(skelpy.scene.Scene, "json_pieces"), (skelpy.scene, "_line")]
    places += [(skelpy.Scene, "from_json"), (skelpy.Scene, "to_json")]
    with contextlib.ExitStack() as stack:
        for owner, name in places:
            stack.enter_context(mock.patch.object(
                owner, name, side_effect=AssertionError(f"{name}: JSON is written or read")))
        yield


def load_script(path):
    """A program of the tree as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
