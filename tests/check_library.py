#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shipped library: exports, needed libraries, stack, threads.

Usage: check_library.py libskel.so exports.txt
"""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

NEEDED = {"libc.so.6", "libm.so.6", "libcjson.so.1"}
OLDEST = (2, 29)
LOADER = re.compile(r"ld-linux[\w-]*\.so\.\d+$")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def check_exports(library, expected_file):
    table = run("nm", "-D", "--defined-only", library)
    exported = {line.split()[-1] for line in table.splitlines()}
    with open(expected_file, encoding="utf-8") as file:
        lines = file.read().split()
    expected = set(lines)
    if lines != sorted(expected):
        yield f"{expected_file}: not sorted, or a name twice"
    for name in sorted(exported - expected):
        yield f"exports {name}, which exports.txt does not list"
    for name in sorted(expected - exported):
        yield f"does not export {name}, which exports.txt lists"


def check_dynamic(library):
    dynamic = run("readelf", "-dW", library)
    needed = {n for n in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if not LOADER.match(n)}
    if needed != NEEDED:
        yield f"needs {sorted(needed)}, must be {sorted(NEEDED)}"
    runpath = re.findall(r"\((RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
    if runpath != [("RUNPATH", "$ORIGIN")]:
        yield f"run path is {runpath}, must be RUNPATH $ORIGIN"
    if re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) != ["libskel.so.0"]:
        yield "SONAME must be libskel.so.0"
    if "TEXTREL" in dynamic:
        yield "has text relocations"
    beside = os.path.join(os.path.dirname(os.path.realpath(library)), "libcjson.so.1")
    if not os.path.exists(beside):
        yield "libcjson.so.1 does not lie beside it"


def check_age(library):
    """What the oldest hosts do not have must not be asked for."""
    wanted = {tuple(map(int, v.split("."))) for v in
              re.findall(r"@GLIBC_([\d.]+)", run("nm", "-D", "--undefined-only", library))}
    if max(wanted) > OLDEST:
        yield f"needs glibc {max(wanted)}, must run with {OLDEST}"


def check_stack(library):
    headers = run("readelf", "-lW", library)
    flags = re.findall(r"GNU_STACK(?:\s+0x[0-9a-f]+)+\s+([RWE ]+?)\s+0x", headers)
    if flags != ["RW"]:
        yield f"stack flags are {flags}, must be RW (not executable)"


def check_load(library):
    """Loading starts no thread, and a second copy lives beside the first."""
    threads = len(os.listdir("/proc/self/task"))
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(os.path.realpath(library), os.path.join(folder, "copy.so"))
        shutil.copy(os.path.join(os.path.dirname(library), "libcjson.so.1"), folder)
        versions = []
        for path in (os.path.realpath(library), copy):
            handle = ctypes.CDLL(path)
            handle.skel_version.restype = ctypes.c_char_p
            versions.append((handle.skel_version(), ctypes.addressof(handle.skel_version)))
    if versions[0][0] != versions[1][0] or versions[0][1] == versions[1][1]:
        yield f"two copies do not live side by side: {versions}"
    if len(os.listdir("/proc/self/task")) != threads:
        yield "starts threads when loaded"


def main():
    library, exports = sys.argv[1:]
    problems = [*check_exports(library, exports), *check_dynamic(library), *check_stack(library),
                *check_age(library), *check_load(library)]
    for problem in problems:
        print(f"{os.path.basename(library)}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
