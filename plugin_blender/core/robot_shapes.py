# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes of robots: the visuals of a URDF, mesh files, and simple shapes. Points and faces only."""

from __future__ import annotations

import math
import os
import re
import struct
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from .algebra import AXES, IDENTITY, Quaternion, q_about, q_mul
from .errors import UserError

MESH_BYTES_MAX = 256 << 20  # of a mesh file
MANIFESTS = ("package.xml", "manifest.xml", "model.config")     # of packages of ROS and Gazebo
URDF_FOLDERS = ("urdf", "urdfs", "xacro", "robots")     # where packages keep their URDFs
PACKAGE_LEVELS = 8          # how far above a URDF its package is looked for
GREY = [0.7] * 3 + [1.0]

Mesh = Tuple[Sequence[Sequence[float]], Sequence[Sequence[int]]]    # (points, faces)


@dataclass(frozen=True)
class Visual:
    """A shape that a URDF shows."""
    link: str
    pose: Sequence[float]                   # in the link
    kind: str                               # "mesh", "box", "cylinder", "sphere"
    size: Sequence[float] = (1.0, 1.0, 1.0)     # scale, edges, (radius, length), (radius,) [m]
    filename: str = ""
    color: Optional[Sequence[float]] = None     # red, green, blue, alpha


def _numbers(text: Optional[str], default: List[float]) -> List[float]:
    try:
        values = [float(v) for v in (text or "").split()]
    except ValueError:
        return default
    return values if len(values) == len(default) else default


def rpy(angles: Sequence[float]) -> Quaternion:
    """The rotation of roll, pitch and yaw [rad]."""
    q: Quaternion = IDENTITY
    for axis, angle in zip("ZYX", reversed(angles)):
        q = q_mul(q, q_about(AXES[axis], angle))
    return q


def _xml(text: str) -> Element:
    """The root of a document, read as leniently as the library does: comments may contain "--",
    blanks may stand before the declaration, and an undeclared prefix, as xacro leaves them, is part
    of the name."""
    builder, parser = TreeBuilder(), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    try:
        parser.Parse(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).strip(), True)
    except expat.ExpatError as error:
        raise UserError(f"The shapes of the URDF cannot be read: {error}") from None
    return builder.close()


def visuals_of(text: str) -> List[Visual]:
    """The visuals of a URDF. The library has read it before."""
    root = _xml(text)
    colors: Dict[str, List[float]] = {}
    for material in root.iter("material"):
        color = material.find("color")
        name = material.get("name")
        if color is not None and name:
            colors[name] = _numbers(color.get("rgba"), GREY)
    out = []
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            shape = visual.find("geometry")
            shape = shape[0] if shape is not None and len(shape) else None
            if shape is None or shape.tag not in ("mesh", "box", "cylinder", "sphere"):
                continue
            origin = visual.find("origin")
            place = _numbers(origin.get("xyz") if origin is not None else "", [0.0] * 3)
            turn = _numbers(origin.get("rpy") if origin is not None else "", [0.0] * 3)
            material = visual.find("material")
            name = material.get("name", "") if material is not None else ""
            color = colors.get(name)
            out.append(Visual(link.get("name", ""), [*place, *rpy(turn)], shape.tag, _size(shape),
                              shape.get("filename", ""), color))
    return out


def _size(shape: Element) -> List[float]:
    if shape.tag == "mesh":                             # the library warns of a fourth number
        return _numbers(" ".join((shape.get("scale") or "").split()[:3]), [1.0] * 3)
    if shape.tag == "box":
        return _numbers(shape.get("size"), [1.0] * 3)
    return [*_numbers(shape.get("radius"), [0.1]), *_numbers(shape.get("length"), [0.1])]


# ---- mesh files ----


def _is_package(folder: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, name)) for name in MANIFESTS)


def package_of(folder: str) -> str:
    """The folder that the meshes of a URDF must be in: the ROS package around the URDF, else the
    folder that contains its urdf/ (and meshes/ beside it), else its own folder."""
    own = at = os.path.realpath(folder)
    around = None
    for _ in range(PACKAGE_LEVELS):
        if _is_package(at):
            return at
        above, name = os.path.split(at)
        if around is None and name.lower() in URDF_FOLDERS:
            around = above
        if above == at:
            break
        at = above
    return around or own


def _mesh_places(filename: str, folder: str) -> List[Tuple[str, str]]:
    """Where a mesh may be: (folder that the file must be in, path), the first one first."""
    root = package_of(folder)
    match = re.match(r"(?:package|model)://([^/]+)/(.*)", filename, re.DOTALL)
    if not match:
        name = filename[len("file://"):] if filename.startswith("file://") else filename
        return [(root, os.path.join(folder, name))]
    package, rest = match.groups()
    if package in (".", ".."):
        return [(root, os.path.join(root, package, rest))]

    # Its own package, whatever name the folder has here; then packages beside it and above it.
    found, at = [(root, os.path.join(root, rest.lstrip("/")))], root
    for _ in range(PACKAGE_LEVELS):
        at = os.path.dirname(at)
        other = os.path.join(at, package)
        if _is_package(other):
            found.append((os.path.realpath(other), os.path.join(other, rest.lstrip("/"))))
    return found


def _is_inside(root: str, path: str) -> bool:
    try:
        return os.path.commonpath([root, path]) == root
    except ValueError:                                  # on two drives
        return False


def find_mesh(filename: str, folder: str) -> Optional[str]:
    """The path of a mesh file that a URDF in `folder` names; None if there is none. It looks for
    package://NAME/PATH in the URDF's own package and in ROS packages of that name beside or above
    it. It refuses files outside the package and files that are too large."""
    outside = None
    for root, path in _mesh_places(filename, folder):
        real = os.path.realpath(path)
        if not _is_inside(root, real):
            outside = outside or root
        elif os.path.isfile(real):
            size = os.path.getsize(real)
            if size > MESH_BYTES_MAX:
                raise UserError(f"mesh '{filename}' has {size / 2 ** 20:.0f} MiB; at most "
                                f"{MESH_BYTES_MAX // 2 ** 20} MiB are read. Reduce it")
            return real
    if outside is not None:
        raise UserError(f"mesh '{filename}' lies outside the robot's package, '{outside}'. "
                        "Copy it there")
    return None


def read_mesh(path: str) -> Optional[Mesh]:
    """The mesh of an STL or OBJ file; None if it is another format, or damaged."""
    kind = os.path.splitext(path)[1].lower()
    if kind not in (".stl", ".obj"):
        return None
    try:
        with open(path, "rb") as file:
            data = file.read()
        points, faces = _read_stl(data) if kind == ".stl" else \
            _read_obj(data.decode("utf-8", "replace"))
    except (OSError, ValueError):
        return None
    if any(len(point) != 3 for point in points):
        return None
    faces = [face for face in faces if len(set(face)) == len(face) > 2 and
             all(0 <= n < len(points) for n in face)]
    return (points, faces) if faces else None


def _read_stl(data: bytes) -> Mesh:
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        corners = [row[k:k + 3] for row in struct.iter_unpack("<12fH", data[84:])
                   for k in (3, 6, 9)]
    else:
        words = data.decode("ascii", "replace").split()
        corners = [tuple(map(float, words[k + 1:k + 4])) for k, word in enumerate(words)
                   if word == "vertex"]
    index: Dict[Sequence[float], int] = {}
    faces = []
    for k in range(0, len(corners) - 2, 3):
        face = [index.setdefault(corner, len(index)) for corner in corners[k:k + 3]]
        faces.append(face)
    return list(index), faces


def _read_obj(text: str) -> Mesh:
    points: List[Tuple[float, ...]] = []
    faces: List[List[int]] = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append(tuple(map(float, words[1:4])))
        elif words[:1] == ["f"]:
            numbers = [int(word.split("/")[0]) for word in words[1:]]
            faces.append([n - 1 if n > 0 else len(points) + n for n in numbers])
    return points, faces


# ---- simple shapes ----


def cylinder(radius: float, length: float, around: int = 20) -> Mesh:
    """A cylinder along z, about the origin [m]."""
    points = [(radius * math.cos(2 * math.pi * n / around),
               radius * math.sin(2 * math.pi * n / around), z)
              for z in (-length / 2, length / 2) for n in range(around)]
    sides = [(n, (n + 1) % around, around + (n + 1) % around, around + n) for n in range(around)]
    return points, [*sides, tuple(reversed(range(around))), tuple(range(around, 2 * around))]


def box(size: Sequence[float]) -> Mesh:
    x, y, z = (v / 2 for v in size)
    points = [(a, b, c) for a in (-x, x) for b in (-y, y) for c in (-z, z)]
    return points, [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4),
                    (1, 5, 7, 3)]


def sphere(radius: float, around: int = 20, rings: int = 12) -> Mesh:
    points = [(0.0, 0.0, -radius)]
    for k in range(1, rings):
        a = math.pi * k / rings - math.pi / 2
        points += [(radius * math.cos(a) * math.cos(2 * math.pi * n / around),
                    radius * math.cos(a) * math.sin(2 * math.pi * n / around),
                    radius * math.sin(a)) for n in range(around)]
    points.append((0.0, 0.0, radius))
    faces = []
    for n in range(around):
        m = (n + 1) % around
        faces.append((0, 1 + m, 1 + n))
        faces.append((len(points) - 1, len(points) - 1 - around + n, len(points) - 1 - around + m))
        for k in range(rings - 2):
            a, b = 1 + k * around, 1 + (k + 1) * around
            faces.append((a + n, a + m, b + m, b + n))
    return points, faces


def shape_of(visual: Visual) -> Mesh:
    """The mesh of a visual that needs no file."""
    if visual.kind == "box":
        return box(visual.size)
    if visual.kind == "cylinder":
        return cylinder(visual.size[0], visual.size[1])
    return sphere(visual.size[0])
