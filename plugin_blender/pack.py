#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packs the add-on: one zip for Blender 3.4 to 5.x; a wheel with the library and its binding; and a
zip for repositories of extensions, which take native code only in wheels.

Usage: pack.py --library libskel.so --bridge plugin_bridge/skelpy --version 0.1.0 --out FOLDER

The same files give the same bytes."""

import argparse
import base64
import hashlib
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ("core", "blender", "ui")
ROBOTS = HERE.parent / "samples" / "robots"
PACKAGES = ("libexpat1-dev", "liblapacke-dev", "libopenblas-serial-dev", "libsundials-dev")
EPOCH = (2020, 1, 1, 0, 0, 0)


def newest_glibc(*libraries):
    """The newest version of glibc that the libraries ask for, as (2, 29)."""
    found = {(2, 17)}
    for library in libraries:
        text = subprocess.run(["objdump", "-T", str(library)], check=True, capture_output=True,
                              text=True).stdout
        found |= {(2, int(minor)) for minor in re.findall(r"GLIBC_2\.(\d+)", text)}
    return max(found)


def platform_tag(*libraries):
    return "manylinux_{}_{}_{}".format(*newest_glibc(*libraries), platform.machine())


def binding(bridge, library):
    """(name in the package, bytes) of skelpy with the library beside it."""
    for path in sorted(bridge.glob("*.py")):
        yield path.name, path.read_bytes()
    yield "libskel.so", library.resolve().read_bytes()


def licences():
    """Of the library, and what the packages inside it ask to be shown, as Debian has it."""
    yield "libskel.txt", (HERE.parent / "LICENSE").read_bytes()
    for package in PACKAGES:
        path = pathlib.Path("/usr/share/doc", package, "copyright")
        if path.exists():
            yield f"{package}.txt", path.read_bytes()


def write_zip(path, files):
    partial = path.with_suffix(".part")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files:
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(info, data)
    partial.replace(path)
    print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


def addon(manifest):
    """The add-on without skelpy."""
    yield "skel/__init__.py", (HERE / "__init__.py").read_bytes()
    for folder in FOLDERS:
        for path in sorted((HERE / folder).glob("*.py")):
            yield f"skel/{folder}/{path.name}", path.read_bytes()
    yield "skel/blender_manifest.toml", manifest.encode()
    yield "skel/COPYING", (HERE / "COPYING").read_bytes()
    for path in sorted(ROBOTS.glob("*.json")):
        yield f"skel/robots/{path.name}", path.read_bytes()
    for name, data in licences():
        yield f"skel/licences/{name}", data


def wheel(bridge, library, version, tag):
    files = [(f"skelpy/{name}", data) for name, data in binding(bridge, library)]
    info = f"skel-{version}.dist-info"
    files += [(f"{info}/licenses/{name}", data) for name, data in licences()]
    files.append((f"{info}/METADATA", (
        f"Metadata-Version: 2.1\nName: skel\nVersion: {version}\n"
        "Summary: Physics of articulated bodies: libskel and its Python binding\n"
        "License: BSD-3-Clause\nRequires-Python: >=3.10\n").encode()))
    files.append((f"{info}/WHEEL", (
        "Wheel-Version: 1.0\nGenerator: skel\nRoot-Is-Purelib: false\n"
        f"Tag: py3-none-{tag}\n").encode()))
    lines = []
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    lines.append(f"{info}/RECORD,,\n")
    return [*files, (f"{info}/RECORD", "".join(lines).encode())]


def manifest_of(version, wheels=()):
    """The manifest, which is checked: the version stands in three places, and they must agree."""
    manifest = (HERE / "blender_manifest.toml").read_text(encoding="utf-8")
    info = (HERE / "__init__.py").read_text(encoding="utf-8")
    triple = "({})".format(", ".join(version.split(".")))
    if f'version = "{version}"' not in manifest or f'"version": {triple}' not in info:
        sys.exit(f"pack.py: blender_manifest.toml or bl_info has another version than {version}")
    listed = "".join(f'wheels = ["./wheels/{name}"]\n' for name in wheels)
    return manifest.replace("\n[permissions]", f"{listed}\n[permissions]")


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("--library", "--bridge", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    given = parser.parse_args()
    plain = manifest_of(given.version)
    given.out.mkdir(parents=True, exist_ok=True)
    tag = platform_tag(given.library)
    beside = [(f"skel/skelpy/{name}", data) for name, data in
              binding(given.bridge, given.library)]
    write_zip(given.out / f"skel-{given.version}.zip", [*addon(plain), *beside])
    built = given.out / f"skel-{given.version}-py3-none-{tag}.whl"
    write_zip(built, wheel(given.bridge, given.library, given.version, tag))
    write_zip(given.out / f"skel-{given.version}-extension.zip", [
        *addon(manifest_of(given.version, [built.name])),
        (f"skel/wheels/{built.name}", built.read_bytes())])


if __name__ == "__main__":
    main()
