#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mutation testing: does a test fail when one operator of the engine is wrong?

mutants.py [--count N] [--seed N] [--folder DIR]

Works on a copy of the committed sources. Each mutant changes one operator, call or constant of one
file; it is built, and the unit tests of that part run until one fails. A mutant that no test kills
is printed as SURVIVED: it is either equivalent to the original, which must be proven by hand, or it
shows what the tests do not cover. The last line has the numbers."""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]

# part: (files below libskel/src, unit tests, those that are likely to fail first)
PARTS = {
    "aba": (["dynamics/aba.c"],
            ["test_accel", "test_vectors", "test_integrate", "test_loops", "test_inverse"]),
    "contact": (["contact/candidates.c", "contact/distance.c", "contact/law.c",
                 "dynamics/contact_loads.c"],
                ["test_contact", "test_limits", "test_ruder", "test_newton", "test_model",
                 "test_conserving"]),
    "conserving": (["integrate/conserving.c", "integrate/conserving_joint.c",
                    "integrate/conserving_contact.c", "integrate/conserving_pairs.c",
                    "integrate/conserving_wobble.c", "integrate/tree_lu.c"],
                   ["test_newton", "test_conserving", "test_limits", "test_loops", "test_wobble",
                    "test_contact", "test_ruder", "test_bake"]),
    "dh": (["model/dh.c", "model/dh_axes.c", "model/dh_chain.c"], ["test_dh", "test_robot"]),
    "ik": (["ik/ik.c", "ik/ik_create.c", "ik/ik_step.c", "ik/ik_tasks.c", "ik/ik_descent.c",
            "ik/ik_levels.c", "ik/ik_nodes.c"],
           ["test_ik_vectors", "test_ik_joints", "test_ik", "test_scene_ik"]),
    "channels": (["drive/channels.c"], ["test_channels"]),
}

# What is replaced by what. Only code is looked at: no comments, strings or preprocessor lines.
CHANGES = [
    (r"(?<=[\w\])]) < (?=[\w(-])", " <= "), (r"(?<=[\w\])]) > (?=[\w(-])", " >= "),
    (r" <= ", " < "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "),
    (r"(?<=[\w\])]) \+ (?=[\w(])", " - "), (r"(?<=[\w\])]) - (?=[\w(])", " + "),
    (r"(?<=[\w\])]) \* (?=[\w(])", " / "), (r"(?<=[\w\])]) / (?=[\w(])", " * "),
    (r"\bfmax\(", "fmin("), (r"\bfmin\(", "fmax("), (r" \+= ", " -= "), (r" -= ", " += "),
    (r"\bv3_add\(", "v3_sub("), (r"\bv3_sub\(", "v3_add("), (r"\b0\.5\b", "0.25"),
]


def blanked(text):
    """The text with comments, strings and preprocessor lines as blanks, at the same places."""
    pattern = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|^#(?:\\\n|[^\n])*"
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S | re.M)


def mutants_of(path):
    """Every (position, length, new text) that may be changed within a function."""
    text = path.read_text()
    code = blanked(text)
    for pattern, new in CHANGES:
        for match in re.finditer(pattern, code):
            line = code[code.rfind("\n", 0, match.start()) + 1:code.find("\n", match.end())]
            if line.startswith("    ") and "assert" not in line:
                yield match.start(), match.end() - match.start(), new


def run(command, folder, log):
    return subprocess.run(command, cwd=folder, stdout=log, stderr=log, check=False).returncode


def is_killed_by(folder, tests, log):
    """The name of the test that fails; "" where all pass, None where it does not compile."""
    for test in tests:
        if run(["cmake", "--build", "build", "-j2", "--target", test], folder, log):
            return None
        if run(["ctest", "--test-dir", "build", "--timeout", "900", "-R", f"^{test}$"], folder,
               log):
            return test
    return ""


def prepare(folder, log):
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    if run(["cmake", "--preset", "release", "-DSKEL_TESTS=ON"], folder, log):
        sys.exit("the build cannot be configured")
    tests = sorted({test for _files, names in PARTS.values() for test in names})
    if run(["cmake", "--build", "build", "-j2", "--target", *tests], folder, log):
        sys.exit("the unmutated sources do not build")


def mutate(folder, part, choose, log):
    """One mutant of a part: (where, line, what it became, test that kills it)."""
    files, tests = PARTS[part]
    while True:
        path = folder / "libskel" / "src" / choose.choice(files)
        found = list(mutants_of(path))
        if not found:
            continue
        at, length, new = choose.choice(found)
        text = path.read_text()
        number = text.count("\n", 0, at) + 1
        path.write_text(text[:at] + new + text[at + length:])
        line = path.read_text().splitlines()[number - 1].strip()
        killer = is_killed_by(folder, tests, log)
        path.write_text(text)
        if killer is not None:
            return f"{path.relative_to(folder)}:{number}", line, killer


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, help="a folder to work in, kept")
    options = parser.parse_args()
    choose, parts, survivors = random.Random(options.seed), list(PARTS), 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "mutants.log", "w", encoding="utf-8") as log:
            prepare(folder, log)
            for k in range(options.count):
                where, line, killer = mutate(folder, parts[k % len(parts)], choose, log)
                survivors += not killer
                print(f"{k + 1:3} {'killed by ' + killer if killer else 'SURVIVED':28} {where}: "
                      f"{line}", flush=True)
    print(f"{options.count} mutants, {options.count - survivors} killed, {survivors} survived")


if __name__ == "__main__":
    main()
