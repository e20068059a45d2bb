#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""clang-tidy over the engine and the bridge, with the profile of .clang-tidy.

check_tidy.py CLANG_TIDY BUILD [FILE...]   all files of compile_commands.json, or those named

A file is analysed again only if its text, a header of the project that it includes, its command or
the profile has changed: BUILD/tidy keeps the findings under a hash of all these.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = (os.path.join(ROOT, "libskel", "src"), os.path.join(ROOT, "plugin_bridge"))
INCLUDE_FOLDERS = [os.path.join(ROOT, "libskel", "include"), FOLDERS[0], FOLDERS[1]]
# Options of gcc that clang does not know; they choose optimisations only.
GCC_ONLY = re.compile(r"-f(no-)?tree-|-fvect-|-fno-trapping-math|-Werror")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def included(path, seen):
    """The headers of this project that the file includes, and those that they include."""
    for name in re.findall(rb'(?m)^\s*#\s*include\s*[<"]([^>"]+)[>"]', read(path)):
        for folder in (os.path.dirname(path), *INCLUDE_FOLDERS):
            header = os.path.normpath(os.path.join(folder, name.decode()))
            if os.path.exists(header) and header not in seen:
                seen.add(header)
                included(header, seen)
                break
    return seen


def commands(build):
    """(file, command for clang) of every source of the engine and the bridge, each once."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        if not path.startswith(FOLDERS) or path in found:
            continue
        words = shlex.split(entry["command"])
        if "ccache" in os.path.basename(words[0]):
            words = words[1:]
        found[path] = {"directory": entry["directory"], "file": path,
                       "arguments": [word for word in words if not GCC_ONLY.match(word)]}
    return found


def key_of(path, command, common):
    digest = hashlib.sha256(common + json.dumps(command, sort_keys=True).encode())
    for name in (path, *sorted(included(path, set()))):
        digest.update(name.encode() + b"\0" + read(name))
    return digest.hexdigest()


def analyse(program, folder, path, cache):
    """The findings of one file, from the cache or from clang-tidy."""
    if os.path.exists(cache):
        return read(cache).decode()
    done = subprocess.run([program, "-p", folder, "--quiet", path],
                          capture_output=True, text=True, check=False)
    findings = done.stdout.replace(ROOT + os.sep, "")
    if done.returncode and not findings.strip():
        return f"{os.path.relpath(path, ROOT)}: clang-tidy failed: {done.stderr}"
    with open(cache + ".new", "w", encoding="utf-8") as file:
        file.write(findings)
    os.replace(cache + ".new", cache)
    return findings


def main():
    program, build, *chosen = sys.argv[1:]
    entries = commands(build)
    folder = os.path.join(build, "tidy")
    os.makedirs(os.path.join(folder, "cache"), exist_ok=True)
    with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(list(entries.values()), file)
    version = subprocess.run([program, "--version"], capture_output=True, check=True).stdout
    common = version + read(os.path.join(ROOT, ".clang-tidy"))
    paths = [os.path.abspath(path) for path in chosen] or sorted(entries)

    def one(path):
        key = key_of(path, entries[path], common)
        return analyse(program, folder, path, os.path.join(folder, "cache", key))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(one, paths))

    # A finding in a header is reported by every file that includes it: print it once.
    seen, bad = set(), 0
    for text in results:
        for finding in re.split(r"(?m)^(?=\S+:\d+:\d+: (?:warning|error))", text):
            head = finding.split("\n", 1)[0]
            if head and head not in seen:
                seen.add(head)
                bad += ": note:" not in head
                print(finding.rstrip())
    print(f"clang-tidy: {len(paths)} files, {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
