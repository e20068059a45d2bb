#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shipped library and command: exports, needed libraries, stack, threads, hardening.

Usage: check_library.py libskel.so exports.txt skel OBJECT...
"""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

NEEDED = {"libc.so.6", "libm.so.6"}
OLDEST = (2, 29)
LOADER = re.compile(r"ld-linux[\w-]*\.so\.\d+$")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


def check_exports(library, expected_file):
    table = run("nm", "-D", "--defined-only", library)
    names = [line.split()[-1] for line in table.splitlines() if " A " not in line]
    exported = {name.split("@")[0] for name in names}
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
    if runpath:
        yield f"run path is {runpath}, must be none"
    major = ctypes.CDLL(library).skel_abi_version() >> 16
    if re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) != [f"libskel.so.{major}"]:
        yield f"SONAME must be libskel.so.{major}, the major version of the ABI"
    nodes = set(re.findall(r" skel_\w+@@(\S+)", run("nm", "-D", "--defined-only", library)))
    if nodes != {f"SKEL_{major}"}:
        yield f"version nodes are {sorted(nodes)}, must be SKEL_{major}"
    if "TEXTREL" in dynamic:
        yield "has text relocations"


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


def check_hardening(program):
    """All addresses are bound at the start and then read-only, and code may lie anywhere."""
    dynamic, headers = run("readelf", "-dW", program), run("readelf", "-hlW", program)
    if not re.search(r"\(FLAGS(_1)?\).*\b(BIND_NOW|NOW)\b", dynamic):
        yield "binds addresses lazily, must be linked with -z now"
    if "GNU_RELRO" not in headers:
        yield "has writable addresses of functions, must be linked with -z relro"
    if not re.search(r"Type:\s+DYN", headers):
        yield "is not position-independent"


def check_objects(objects):
    """Our own code, not that of the packages inside, has the checks of the compiler."""
    guarded = fortified = 0
    for path in objects:
        wanted = run("nm", "--undefined-only", path)
        guarded += "__stack_chk_fail" in wanted
        fortified += re.search(r"\b__\w+_chk\b", wanted.replace("__stack_chk_fail", "")) is not None
    if guarded < len(objects) / 4:
        yield f"{guarded} of {len(objects)} objects have a guarded stack (-fstack-protector-strong)"
    if fortified < len(objects) / 10:
        yield f"{fortified} of {len(objects)} objects are fortified (_FORTIFY_SOURCE)"


def check_load(library):
    """Loading starts no thread, and a second copy lives beside the first."""
    threads = len(os.listdir("/proc/self/task"))
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(os.path.realpath(library), os.path.join(folder, "copy.so"))
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
    library, exports, command, *objects = sys.argv[1:]
    problems = [*check_exports(library, exports), *check_dynamic(library), *check_stack(library),
                *check_age(library), *check_hardening(library), *check_load(library),
                *check_objects(objects)]
    for problem in problems:
        print(f"{os.path.basename(library)}: {problem}")
    of_command = [*check_stack(command), *check_hardening(command)]
    for problem in of_command:
        print(f"{os.path.basename(command)}: {problem}")
    return 1 if problems or of_command else 0


if __name__ == "__main__":
    sys.exit(main())
