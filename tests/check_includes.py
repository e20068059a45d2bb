#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who may include whom: the arrows of the house.

libskel/src     base < math < model < contact < dynamics < integrate | ik | skin < drive: a file
                includes its own layer and those to the left; integrate, ik and skin do not know
                each other; skin needs base and math only
libskel/include <stddef.h>, <stdint.h> and the public headers above it
plugin_bridge   C: <skel/...>, its own headers, expat, libc. Python: the standard library
samples         C: <skel/...>, libc
plugin_blender  core < blender < ui: leftwards or the own folder; the standard library; bpy and
                mathutils not in core; no numpy, no threads
"""
import ast
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAYERS = ["base", "math", "model", "contact", "dynamics", "integrate", "ik", "skin", "drive"]
SEPARATE = {("integrate", "ik"), ("ik", "integrate"),
            *(("skin", layer) for layer in LAYERS[2:7])}
PUBLIC = ["skel_base.h", "skel_world.h", "skel_model.h", "skel_dh.h", "skel_state.h",
          "skel_inverse.h", "skel_flight.h", "skel_ik.h", "skel_bake.h", "skel_channels.h",
          "skel_fit.h", "skel_scene.h", "skel_robot.h", "skel_track.h", "skel.h"]
C11 = {f"{name}.h" for name in """assert complex ctype errno fenv float inttypes limits locale math
    setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string
    tgmath time""".split()}
POSIX = {"dirent.h", "fcntl.h", "strings.h", "unistd.h"}
SUNDIALS = ("cvode/", "nvector/", "sundials/", "sunlinsol/", "sunmatrix/", "sunnonlinsol/")
PACKAGES = {"lapacke.h": "math", **{prefix: "integrate" for prefix in SUNDIALS}}


def includes(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match:
                yield number, match[1] == "<", match[2]


def files(folder, *endings):
    for directory, names, members in os.walk(os.path.join(ROOT, folder)):
        names.sort()
        for member in sorted(members):
            if member.endswith(endings):
                yield os.path.join(directory, member)


def resolve(path, name, *roots):
    """Where a quoted include lies, relative to the first of our roots that holds it."""
    for base in (os.path.dirname(path), *roots):
        candidate = os.path.normpath(os.path.join(base, name))
        if os.path.exists(candidate):
            return candidate
    return None


def engine_include(path, layer, angle, name):
    src = os.path.join(ROOT, "libskel", "src")
    if not angle:
        target = resolve(path, name, src)
        other = os.path.relpath(target, src).split(os.sep)[0] if target else None
        if other not in LAYERS:
            return "is not a header of libskel/src"
        if LAYERS.index(other) > LAYERS.index(layer) or (layer, other) in SEPARATE:
            return f"{layer} may not include {other}"
        return None
    if name in C11 or name.startswith("skel/"):
        return None
    for prefix, lowest in PACKAGES.items():
        if name.startswith(prefix):
            return None if LAYERS.index(layer) >= LAYERS.index(lowest) else f"not in {layer}"
    return "the engine may not include it"


def public_include(path, angle, name):
    own = PUBLIC.index(os.path.basename(path))
    if angle and (name in ("stddef.h", "stdint.h") or name in [f"skel/{h}" for h in PUBLIC[:own]]):
        return None
    return "not allowed in a public header"


def bridge_include(path, angle, name):
    if not angle:
        target = resolve(path, name, os.path.join(ROOT, "plugin_bridge"))
        inside = target and target.startswith(os.path.join(ROOT, "plugin_bridge") + os.sep)
        return None if inside else "is not a header of plugin_bridge"
    if name in C11 | POSIX | {"expat.h"} or name.startswith(("skel/", "sys/")):
        return None
    return "plugin_bridge may not include it"


def sample_include(_path, angle, name):
    if angle and (name in C11 or name.startswith("skel/")):
        return None
    return "samples see the public API only"


def check_c():
    places = [(path, public_include) for path in files("libskel/include", ".h")]
    places += [(path, bridge_include) for path in files("plugin_bridge", ".c", ".h")]
    places += [(path, sample_include) for path in files("samples", ".c", ".h")]
    for path in files("libskel/src", ".c", ".h"):
        layer = os.path.relpath(path, os.path.join(ROOT, "libskel", "src")).split(os.sep)[0]
        places.append((path, lambda p, a, n, layer=layer: engine_include(p, layer, a, n)))
    for path, rule in places:
        for number, angle, name in includes(path):
            problem = rule(path, angle, name)
            if problem:
                yield path, number, f"{name}: {problem}"


def check_python():
    """skelpy runs in any Python a host brings: standard library only."""
    for path in files("plugin_bridge", ".py"):
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read(), path)
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for name in names:
                if name.split(".")[0] not in sys.stdlib_module_names | {"skelpy"}:
                    yield path, node.lineno, f"{name}: not in the standard library"


ADDON = ["core", "blender", "ui"]
HOST = {"bpy", "mathutils", "addon_utils", "blf", "gpu", "gpu_extras"}
REFUSED = {"threading", "multiprocessing", "concurrent", "numpy"}


def imported(path):
    """(line, dots, name) of what a module imports: `from ..core import x` has two dots."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, 0, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.level, node.module.split(".")[0]
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, node.level, alias.name) for alias in node.names)


def addon_import(folder, dots, name):
    """What is wrong with an import in a folder of the add-on ("" for its top level), or None."""
    if dots == 2 or dots == 1 and not folder:
        if name in ADDON and folder in ADDON and ADDON.index(name) > ADDON.index(folder):
            return f"{folder} may not import {name}"
        return None if name in (*ADDON, "skelpy") else "not allowed here"
    if dots == 1:
        return None
    host = HOST if folder in ADDON[1:] else set()
    if name in REFUSED or name not in sys.stdlib_module_names | {"skelpy"} | host:
        return "not allowed here"
    return None


def check_addon():
    """Blender's own modules where they belong; nothing that extension reviewers refuse."""
    for path in files("plugin_blender", ".py"):
        inside = os.path.relpath(path, os.path.join(ROOT, "plugin_blender")).split(os.sep)
        folder = inside[0] if len(inside) > 1 else ""
        for number, dots, name in imported(path):
            problem = addon_import(folder, dots, name)
            if problem:
                yield path, number, f"{name}: {problem}"


def main():
    problems = [*check_c(), *check_python(), *check_addon()]
    for path, number, problem in problems:
        print(f"{os.path.relpath(path, ROOT)}:{number}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
