#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Line and branch coverage of the engine and the bridge, per folder.

coverage.py GCOVR BUILD [REGEX]   runs the unit and Python tests (those whose name matches REGEX) of
                                  a build with the preset `coverage`, then prints the figures
"""
import collections
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COUNTED = ("libskel/src/", "plugin_bridge/")
FIGURES = ("line_covered", "line_total", "branch_covered", "branch_total")


def forget(build):
    """Counts of earlier runs do not belong to this one."""
    for folder, _, names in os.walk(build):
        for name in names:
            if name.endswith(".gcda"):
                os.remove(os.path.join(folder, name))


def measure(gcovr, build):
    """The summary of gcovr: one entry per file."""
    filters = [word for folder in COUNTED for word in ("--filter", os.path.join(ROOT, folder))]
    done = subprocess.run([gcovr, "--root", ROOT, "--object-directory", build, *filters,
                           "--gcov-ignore-parse-errors", "--json-summary", "-", build],
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["files"]


def share(covered, total):
    return f"{100.0 * covered / total:6.1f} %" if total else "       -"


def report(files):
    folders = collections.defaultdict(lambda: [0] * len(FIGURES))
    for entry in files:
        for name in (os.path.dirname(entry["filename"]), "total"):
            folders[name] = [old + entry[key] for old, key in zip(folders[name], FIGURES)]
    total = folders.pop("total")
    print(f"{'folder':<28} {'lines':>8} {'of':>7} {'branches':>9} {'of':>7}")
    for name, row in [*sorted(folders.items()), ("total", total)]:
        lines, all_lines, branches, all_branches = row
        print(f"{name:<28} {share(lines, all_lines)} {all_lines:>7}  "
              f"{share(branches, all_branches)} {all_branches:>7}")


def main():
    gcovr, build, *regex = sys.argv[1:]
    forget(build)
    chosen = ["-R", regex[0]] if regex else ["-L", "unit|python", "-E", "wheel"]
    tests = subprocess.run(["ctest", "--test-dir", build, "-j", str(os.cpu_count()),
                            "--output-on-failure", *chosen], check=False)
    report(measure(gcovr, build))
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
