#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The wheel is as its specification wants it, can be installed, and bakes: wheel.py START SCENE,
where START is how its path begins, as build/addon/skel-0.1.0

Installed by pip, and by hand as the specification says (both where pip is there, else by hand); a
Python with nothing else in its path bakes the scene with it."""

import base64
import csv
import hashlib
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

BAKE = """
import os, sys, skelpy
folder, scene = map(os.path.realpath, sys.argv[1:])
for path in (skelpy.__file__, skelpy.library.find()):
    assert os.path.realpath(path).startswith(folder), path
with skelpy.Scene.from_file(scene) as scene, skelpy.Bake(scene) as bake:
    bake.run()
    print(skelpy.version(), bake.samples_done, "samples, drift", bake.summary["energy_drift"])
    assert bake.samples_done == len(bake.frames) and bake.summary["energy_drift"] < 1e-6
"""


def check(path, archive):
    """Name, tag, and the hash of every file."""
    name, version, *tag = path.stem.split("-")
    info = f"{name}-{version}.dist-info"
    fields = archive.read(f"{info}/WHEEL").decode().splitlines()
    assert "Wheel-Version: 1.0" in fields and "Root-Is-Purelib: false" in fields, fields
    assert f"Tag: {'-'.join(tag)}" in fields, (fields, tag)
    head = archive.read(f"{info}/METADATA").decode().splitlines()
    assert f"Name: {name}" in head and f"Version: {version}" in head, head
    listed = {}
    for row in csv.reader(io.StringIO(archive.read(f"{info}/RECORD").decode())):
        listed[row[0]] = row[1:]
    assert set(listed) == set(archive.namelist()), set(listed) ^ set(archive.namelist())
    for file, (digest, size) in listed.items():
        if file.endswith("/RECORD"):
            continue
        data = archive.read(file)
        wanted = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == (f"sha256={wanted}", len(data)), file
    assert f"{info}/licenses/libskel.txt" in listed, sorted(listed)


def bake(folder, scene):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("SKEL_", "PYTHON", "LD_"))}
    subprocess.run([sys.executable, "-s", "-B", "-c", BAKE, str(folder), str(scene)], check=True,
                   cwd=folder, env={**clean, "PYTHONPATH": str(folder)})


def main():
    start, scene = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    path, *more = start.parent.glob(f"{start.name}-*.whl")
    assert not more, more
    with tempfile.TemporaryDirectory(prefix="skel-") as temp:
        by_hand, by_pip = pathlib.Path(temp, "hand"), pathlib.Path(temp, "pip")
        with zipfile.ZipFile(path) as archive:
            check(path, archive)
            archive.extractall(by_hand)         # neither scripts nor .data: unpacking is all
        bake(by_hand, scene)
        if importlib.util.find_spec("pip") is None:
            print("pip: not there, unpacked by hand only")
            return
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index",
                        "--no-deps", "--no-compile", "--disable-pip-version-check",
                        "--target", str(by_pip), str(path)], check=True)
        bake(by_pip, scene)


if __name__ == "__main__":
    main()
