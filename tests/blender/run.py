#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs tests in a real Blender: run.py VERSION [--window] NAME ..., or VERSION with one of
--install, --bench, --ik

Each run has a temporary profile with nothing in it but the add-on. SKEL_ZIP is the add-on, SKEL_BIN
the command; by default those of build/. Exit code 77: this Blender cannot be had here, and why;
where CI=true that is a failure, exit code 1."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
os.environ.setdefault("SKEL_BIN", str(BUILD / "bin" / "skel"))
os.environ.setdefault("SKEL_ZIP", str(max((BUILD / "addon").glob("skel-*[0-9].zip"), default="")))
SKIPPED = 77


def blender(version, arguments, temp, window=False):
    """Exit code of a Blender with a profile of its own."""
    environment = {**os.environ, "SKEL_TEMP": str(temp), "LIBGL_ALWAYS_SOFTWARE": "1",
                   "BLENDER_USER_RESOURCES": str(temp / "profile")}
    command = [str(HERE / "blenders.sh"), "run", version, *arguments]
    if window:
        if not shutil.which("xvfb-run"):
            print("skipped: xvfb is not installed")
            return SKIPPED
        command = ["xvfb-run", "-a", "-s", "-screen 0 1600x1000x24 -ac", *command]
    code = subprocess.run(command, env=environment, check=False).returncode
    for report in temp.glob("*.crash.txt"):     # of Blender itself: its temporary folder goes
        print(report.read_text(errors="replace"))
    return code


def script(name, *arguments, background=True, profile=False):
    """Arguments that run a script; a failure in it is an exit code. profile: with the user's own
    preferences instead of the factory's."""
    out = ["-b"] if background else ["--enable-event-simulate", "-p", "0", "0", "1600", "1000"]
    out += [] if profile else ["--factory-startup"]
    return [*out, "--python-exit-code", "7", "--python", str(HERE / name), "--", *arguments]


def copied(temp):
    """The add-on put into the profile by hand."""
    folder = temp / "profile" / "scripts" / "addons"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(os.environ["SKEL_ZIP"]) as archive:
        archive.extractall(folder)


def install(version, temp):
    """By Blender's own installers, each in a clean profile; a second Blender finds it there."""
    zip_file = shutil.copy(os.environ["SKEL_ZIP"], temp)
    code = blender(version, script("install.py", "legacy", zip_file), temp)
    if code == 0:
        code = blender(version, script("install.py", "check", "skel", profile=True), temp)
    if code or version < "4.2":
        return code
    source = unpacked(zip_file, temp / "source")
    return extension(version, temp, source, zip_file) or wheel(version, temp)


def unpacked(zip_file, folder):
    with zipfile.ZipFile(zip_file) as archive:
        archive.extractall(folder)
    return folder / "skel"


def extension(version, temp, source, zip_file, *kind):
    """As an extension: the sources are valid, the zip can be installed."""
    shutil.rmtree(temp / "profile")
    (temp / "profile").mkdir()
    code = 0
    for command in (["validate", str(source)],
                    ["install-file", "-r", "user_default", "--enable", str(zip_file)]):
        code = code or blender(version, ["--command", "extension", *command], temp)
    return code or blender(version, script("install.py", "check", "bl_ext.user_default.skel", *kind,
                                           profile=True), temp)


def wheel(version, temp):
    """The extension that has its library in a wheel, built by Blender itself."""
    zip_file = os.environ["SKEL_ZIP"].replace(".zip", "-extension.zip")
    source, out = unpacked(zip_file, temp / "wheel"), temp / "built"
    out.mkdir()
    code = blender(version, ["--command", "extension", "build", "--source-dir", str(source),
                             "--output-dir", str(out)], temp)
    built = next(out.glob("*.zip"), None)
    if code or built is None:
        print(f"Blender {version} built no extension of {zip_file}")
        return code or 1
    return extension(version, temp, source, built, "wheel")


def verdict(code):
    """The exit code: a test that could not be run is no success on the machine that decides."""
    if code == SKIPPED and os.environ.get("CI") == "true":
        print("failed: CI=true, so this Blender must be there")
        return 1
    return code


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    parser.add_argument("--window", action="store_true")
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--bench", action="store_true")
    parser.add_argument("--ik", action="store_true", help="the bench of inverse kinematics")
    parser.add_argument("names", nargs="*")
    given = parser.parse_intermixed_args()
    temp = pathlib.Path(tempfile.mkdtemp(prefix="skel-"))
    try:
        if given.install:
            (temp / "profile").mkdir()
            return install(given.version, temp)
        copied(temp)
        if given.bench:
            return blender(given.version, script("../bench/blender_bench.py", *given.names), temp)
        if given.ik:
            return blender(given.version, script("../bench/blender_ik.py", *given.names), temp)
        name = "inside.py" if not given.window else f"{given.names[0]}.py"
        return blender(given.version, script(name, *given.names, background=not given.window), temp,
                       given.window)
    finally:
        shutil.rmtree(temp, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(verdict(main()))
