#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pyright, the type checker of Python, with the settings of tests/pyrightconfig.json.

The pinned version is installed by npm into the cache folder of the user at the first run. If npm is
missing or cannot fetch it, the test is skipped (exit code 77), or fails where CI=true.
"""
import os
import shutil
import subprocess
import sys

VERSION = "1.1.414"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONFIG = os.path.join(ROOT, "tests", "pyrightconfig.json")
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
FOLDER = os.path.join(CACHE, "skel", f"pyright-{VERSION}")
PROGRAM = os.path.join(FOLDER, "node_modules", "pyright", "index.js")
SKIPPED = 77


def install():
    """True if pyright is in the cache folder in the end."""
    if os.path.exists(PROGRAM):
        return True
    if not shutil.which("npm"):
        print("npm is not installed")
        return False
    os.makedirs(FOLDER, exist_ok=True)
    done = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund",
                           "--prefix", FOLDER, f"pyright@{VERSION}"],
                          capture_output=True, text=True, check=False)
    if done.returncode or not os.path.exists(PROGRAM):
        print(f"npm cannot install pyright {VERSION}: {done.stderr.strip()}")
        return False
    return True


def main():
    if not install():
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    done = subprocess.run(["node", PROGRAM, "--project", CONFIG, *sys.argv[1:]],
                          capture_output=True, text=True, check=False)
    print(done.stdout.replace(ROOT + os.sep, "") + done.stderr, end="")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
