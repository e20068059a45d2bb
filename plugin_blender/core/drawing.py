# SPDX-License-Identifier: GPL-3.0-or-later
"""What the viewport shows of a scene before it is baked: bodies, joints, limits, ground, obstacles.

Everything is read from the built document and from the poses at its frame. Each thing is stored in
the axes of the bone or object that it moves with, so that it can be drawn in any other pose.
Lengths are in Blender units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .algebra import (Matrix, Pose, Vector, Vector3, across, add, compose, cross, determinant, dot,
                      norm, q_rotate, sub, times)
from .binding import scene as documents
from .build import Build
from .rig import collider_name
from .shot import WORLD, Shot

AROUND = 20                 # segments of a full circle
CAP_RINGS = 3               # rings of triangles of a half sphere
REACH = 0.6                 # of the distance from a joint to its body: the size of its limits
TWIST_SIZE = 0.3            # of that: radius of the arc of a twist
FLAT = 1e-9                 # relative volume of a bone that is scaled to nothing
IDENTITY_POSE = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
GROUND_CELLS = 8            # squares along an edge of the ground

# Colours by role: red, green, blue, opacity of lines.
COLOURS: Dict[str, Tuple[float, float, float, float]] = {
    "DYNAMIC": (1.0, 0.55, 0.1, 0.8),       # orange: simulated
    "DRIVEN": (0.3, 0.62, 1.0, 0.8),        # blue: follows its animation
    "PINNED": (0.95, 0.25, 0.22, 0.9),      # red: held in the world
    "SOFT": (0.87, 0.42, 0.95, 0.8),        # violet: a soft mass
    "NONE": (0.5, 0.5, 0.5, 0.9),           # grey: not simulated
    "OBSTACLE": (0.2, 0.78, 0.55, 0.8),     # green
    "GROUND": (0.2, 0.78, 0.55, 0.35),
    "AXIS": (1.0, 0.95, 0.35, 0.9),         # yellow: joints and their ranges
    "LIMIT": (1.0, 0.95, 0.35, 0.5),
    "CENTRE": (1.0, 1.0, 1.0, 0.95),        # white: centre of mass, active bone
}
FILL = 0.16                 # opacity of surfaces, of that of their lines

Point = Tuple[float, float, float]
Triangle = Tuple[int, int, int]


@dataclass(frozen=True)
class Place:
    """What a drawn thing moves with."""
    kind: str = "WORLD"     # or BONE, OBJECT
    name: str = ""


@dataclass(frozen=True)
class Drawn:
    """A shape. Its sizes: capsule and cylinder (radius, length), sphere (radius), box (edges), line
    (length along z), axis (half its length), cross (length), arc (radius, from, to: about z, from
    x), cone (length, angle: about z), ground (edge)."""
    kind: str
    size: Tuple[float, ...]
    place: Place
    matrix: Matrix          # 16 numbers, in the axes of its place
    role: str               # a key of COLOURS


@dataclass(frozen=True)
class DrawnJoint:
    """A joint. Its range stands still in the parent; the needle, which shows where the bone is
    within the range, moves with the child."""
    kind: str               # hinge, ball, ... as in the document
    child: Place
    parent: Place
    in_parent: Matrix       # origin: the joint; z: the axis, or the middle of the cone; x: the bone
    in_child: Matrix        # the same axes where the child has them
    reach: float
    turns: Optional[Tuple[float, float]] = None     # rad about z, from x
    cone: Optional[float] = None                    # rad
    twist: Optional[Tuple[float, float]] = None     # rad about z


@dataclass(frozen=True)
class Mass:
    bone: str
    mass: float             # [kg]
    centre: Vector3         # in the bone


@dataclass(frozen=True)
class Drawing:
    items: Tuple[Drawn, ...] = ()
    joints: Tuple[DrawnJoint, ...] = ()
    masses: Tuple[Mass, ...] = ()
    floor: Optional[float] = None           # height of the ground
    extent: float = 1.0                     # size of the armature


@dataclass(frozen=True)
class Numbers:
    """Values that a bake will use where the user leaves the choice to the add-on."""
    masses: Mapping[str, float]             # [kg] by bone
    radii: Mapping[str, float]              # in the units of the bone's setting, by bone
    total: float                            # [kg]


# ---- matrices ----

def product(a: Matrix, b: Matrix) -> List[float]:
    """a b, 16 numbers, column after column."""
    return [sum(a[row + 4 * k] * b[4 * column + k] for k in range(4))
            for column in range(4) for row in range(4)]


def inverse(m: Matrix) -> Optional[List[float]]:
    """The inverse of a matrix of rotation, scale and position; None if it is flat."""
    x, y, z, p = m[0:3], m[4:7], m[8:11], m[12:15]
    volume = determinant(m)
    if abs(volume) <= FLAT * norm(x) * norm(y) * norm(z):
        return None
    rows = [times(cross(a, b), 1 / volume) for a, b in ((y, z), (z, x), (x, y))]
    return [*(row[0] for row in rows), 0.0, *(row[1] for row in rows), 0.0,
            *(row[2] for row in rows), 0.0, *(-dot(row, p) for row in rows), 1.0]


def matrix_of_axes(position: Vector, x: Vector, z: Vector) -> List[float]:
    """A frame with unit axes; x is made perpendicular to z."""
    z = times(z, 1 / (norm(z) or 1.0))
    x = sub(x, times(z, dot(x, z)))
    if norm(x) < 1e-6:
        x = across(z)
    x = times(x, 1 / norm(x))
    return [*x, 0.0, *cross(z, x), 0.0, *z, 0.0, *position, 1.0]


def matrix_of_pose(pose: Pose, unit: float) -> List[float]:
    """The matrix of a pose in metres, in Blender units. unit: metres per Blender unit."""
    axes = [(*q_rotate(pose[3:7], axis), 0.0) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return [*axes[0], *axes[1], *axes[2], *(v / unit for v in pose[:3]), 1.0]


# ---- places ----

class _Places:
    """The bones and objects of a scene at the frame at which it was built."""

    def __init__(self, build: Build, objects: Mapping[str, Matrix]) -> None:
        shot = build.plan.shot
        self.unit, world = shot.unit, list(shot.objects[:16])
        self.of_body: Dict[str, Place] = {}
        self._back: Dict[Place, Optional[List[float]]] = {Place(): None}
        for i, bone in enumerate(shot.bones):
            place = Place("BONE", bone.blender_name)
            self.of_body[bone.name] = place
            self._back[place] = inverse(product(world, shot.poses[16 * i:16 * i + 16]))
        for collider in shot.colliders:
            place = Place("OBJECT", collider.name)
            known = objects.get(collider.name)
            self._back[place] = inverse(known) if known is not None else None
            self.of_body.setdefault(collider_name(shot, collider),
                                    place if self._back[place] else Place())

    def of(self, body: str) -> Place:
        return self.of_body.get(body, Place())

    def bring(self, place: Place, matrix: Matrix) -> Optional[List[float]]:
        """A matrix of the world in the axes of a place; None if the place has no size."""
        if place.kind == "WORLD":
            return list(matrix)
        back = self._back.get(place)
        return product(back, matrix) if back else None


def body_pose(body: documents.Body) -> Pose:
    """The pose of a body at the start."""
    curve = body.curve or {}
    position = body.position or curve.get("position", [IDENTITY_POSE[:3]])[0]
    turn = body.orientation or curve.get("orientation", [IDENTITY_POSE[3:]])[0]
    return [*position, *turn]


# ---- bodies ----

def shape_size(shape: Mapping[str, Any], unit: float) -> Optional[Tuple[str, Tuple[float, ...]]]:
    """(kind, size in Blender units) of a shape of a document; None if it cannot be drawn."""
    kind = str(shape.get("type"))
    if kind == "sphere":
        return kind, (shape["radius"] / unit,)
    if kind == "box":
        return kind, tuple(edge / unit for edge in shape["size"])
    if kind in ("capsule", "cylinder", "rod"):
        radius = shape.get("radius") or shape["length"] / 100
        return ("capsule" if kind == "capsule" else "cylinder",
                (radius / unit, shape["length"] / unit))
    return None


def _shapes(body: documents.Body, unit: float
            ) -> Iterator[Tuple[str, Tuple[float, ...], List[float]]]:
    """(kind, size, matrix in the world) of a body's shape and contact points."""
    pose = body_pose(body)
    found = shape_size(body.shape, unit) if body.shape else None
    if found:
        yield (*found, matrix_of_pose(pose, unit))
    for point in body.contacts or ():
        yield ("cross", (0.02,),
               matrix_of_pose(compose(pose, [*point, *IDENTITY_POSE[3:]]), unit))


def _bodies(build: Build, places: _Places) -> Iterator[Drawn]:
    shot, unit = build.plan.shot, places.unit
    roles = {bone.name: role for bone, role in zip(shot.bones, build.plan.roles)}
    for body in build.scene.bodies:
        for kind, size, world in _shapes(body, unit):
            place = places.of(body.name)
            matrix = places.bring(place, world)
            if matrix:
                yield Drawn(kind, size, place, matrix, roles.get(body.name, "OBSTACLE"))

    # A soft mass is a ball of its inertia, 0.4 m r^2.
    for soft in build.scene.wobble:
        place, inertia = places.of(soft.name), max(soft.inertia or [0.0])
        pose = [*(soft.position or IDENTITY_POSE[:3]), *IDENTITY_POSE[3:]]
        matrix = places.bring(place, matrix_of_pose(pose, unit))
        if matrix:
            radius = math.sqrt(inertia / (0.4 * soft.mass)) if soft.mass else 0.0
            yield Drawn("sphere", (radius / unit,), place, matrix, "SOFT")


def _left_out(build: Build) -> Iterator[Drawn]:
    """Bones of the skin that are no part of any body, as lines from head to tail."""
    along = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    for bone, role, rigged in zip(build.plan.shot.bones, build.plan.roles, build.plan.bones):
        if role == "NONE" and (rigged.body is None or rigged.body < 0) and bone.deform:
            yield Drawn("line", (bone.length,), Place("BONE", bone.blender_name), along, "NONE")


def _planes(build: Build, places: _Places, extent: float) -> Iterator[Drawn]:
    """Planes other than the floor: those of obstacles, in their order."""
    shot = build.plan.shot
    grounds = build.scene.ground[1 if shot.settings.ground else 0:]
    for plane, collider in zip(grounds, (c for c in shot.colliders if c.kind == "PLANE")):
        normal = plane.normal or (0.0, 0.0, 1.0)
        world = matrix_of_axes(times(plane.point or (0, 0, 0), 1 / places.unit), across(normal),
                               normal)
        place = Place("OBJECT", collider.name)
        matrix = places.bring(place, world)
        yield Drawn("ground", (extent,), place if matrix else Place(), matrix or world, "OBSTACLE")


# ---- joints ----

@dataclass(frozen=True)
class _Axes:
    """Of a joint at the frame of the document, in the world [m]."""
    position: Vector
    outer: Tuple[Vector, Vector]            # x and z in the parent
    inner: Tuple[Vector, Vector]            # the same in the child


def _joint_axes(joint: documents.Joint, parent: Pose, child: Pose) -> Optional[_Axes]:
    """None if the joint neither turns nor slides."""
    if joint.type == "fixed":
        return None
    if joint.frames:
        outer, inner = (compose(pose, [*frame.get("position", (0, 0, 0)),
                                       *frame.get("orientation", (1, 0, 0, 0))])
                        for pose, frame in zip((parent, child), joint.frames))
        (x, z), (x_now, z_now) = ([q_rotate(frame[3:], axis) for axis in ((1, 0, 0), (0, 0, 1))]
                                  for frame in (outer, inner))
        return _Axes(outer[:3], (x, z), (x_now, z_now))

    position = list(joint.anchor or child[:3])
    axes = sub(child[:3], position), tuple(joint.axis or (0.0, 0.0, 1.0))
    return _Axes(position, axes, axes)


def _span(limits: Any) -> Optional[Tuple[float, float]]:
    """The range of a joint with one angle."""
    if isinstance(limits, (list, tuple)) and len(limits) == 2 and \
            all(isinstance(v, (int, float)) for v in limits):
        return float(limits[0]), float(limits[1])
    return None


def _joint(joint: documents.Joint, poses: Mapping[str, Pose], places: _Places,
           extent: float) -> Iterator[DrawnJoint]:
    parent, child = joint.bodies
    outer, inner = (poses.get(name, IDENTITY_POSE) for name in (parent, child))
    axes = _joint_axes(joint, outer, inner)
    if axes is None:
        return
    apart = math.dist(inner[:3], axes.position) / places.unit
    reach = REACH * apart if apart > 1e-3 * extent else 0.05 * extent

    # A universal joint is two hinges; the second axis is fixed to the child.
    pairs, limits = [(axes.outer, axes.inner)], [joint.limits]
    if joint.type == "universal":
        second = axes.outer[0], tuple(joint.axis2 or axes.outer[1])
        pairs.append((second, second))
        limits = list(joint.limits) if joint.limits else [None, None]

    at = times(axes.position, 1 / places.unit)
    place, own = places.of(parent) if parent != WORLD else Place(), places.of(child)
    for (still, now), each in zip(pairs, limits):
        in_parent = places.bring(place, matrix_of_axes(at, *still))
        in_child = places.bring(own, matrix_of_axes(at, *now))
        if not in_parent or not in_child:
            continue
        cone, twist = None, None
        if isinstance(each, dict):
            cone, twist = each.get("cone"), _span(each.get("twist"))
        turns = _span(each) if joint.type in ("hinge", "screw", "universal") else None
        yield DrawnJoint(joint.type, own, place, in_parent, in_child, reach, turns, cone, twist)


def joint_items(joint: DrawnJoint) -> Iterator[Drawn]:
    """The shapes that show a joint."""
    r, full = joint.reach, 2 * math.pi
    if joint.kind == "ball":
        if joint.cone is None:
            yield Drawn("cross", (0.4 * r,), joint.child, joint.in_child, "AXIS")
            return
        yield Drawn("cone", (r, joint.cone), joint.parent, joint.in_parent, "LIMIT")
        yield Drawn("line", (r,), joint.child, joint.in_child, "AXIS")
        if joint.twist and joint.twist[1] - joint.twist[0] < full:
            small = TWIST_SIZE * r
            yield Drawn("arc", (small, *joint.twist), joint.parent, joint.in_parent, "LIMIT")
            yield Drawn("arc", (small, 0.0, 0.0), joint.child, joint.in_child, "AXIS")
        return

    yield Drawn("axis", (0.5 * r,), joint.child, joint.in_child, "AXIS")
    if joint.turns and joint.turns[1] - joint.turns[0] < full:
        yield Drawn("arc", (r, *joint.turns), joint.parent, joint.in_parent, "LIMIT")
        yield Drawn("arc", (r, 0.0, 0.0), joint.child, joint.in_child, "AXIS")


# ---- the whole ----

def _extent(shot: Shot, unit: float) -> float:
    """The size of the armature in the world."""
    heads = [shot.poses[k + 12:k + 15] for k in range(0, 16 * len(shot.bones), 16)]
    spans = [max(values) - min(values) for values in zip(*heads)]
    return max(*spans, max(bone.length for bone in shot.bones)) * shot.metres / unit


def _masses(build: Build, places: _Places) -> Iterator[Mass]:
    for body in (*build.scene.bodies, *build.scene.wobble):
        place = places.of(body.name)
        pose = body_pose(body) if isinstance(body, documents.Body) else \
            [*(body.position or (0, 0, 0)), *IDENTITY_POSE[3:]]
        matrix = places.bring(place, matrix_of_pose(pose, places.unit))
        if place.kind == "BONE" and body.mass and matrix:
            yield Mass(place.name, body.mass, (matrix[12], matrix[13], matrix[14]))


def drawn_items(build: Build, objects: Mapping[str, Matrix] = {}) -> Drawing:
    """What to draw of a built scene. objects: matrices of obstacles in the world, by name."""
    shot, places = build.plan.shot, _Places(build, objects)
    extent = _extent(shot, places.unit)
    poses = {body.name: body_pose(body) for body in build.scene.bodies}
    joints = [drawn for joint in build.scene.joints
              for drawn in _joint(joint, poses, places, extent)]
    items = [*_bodies(build, places), *_left_out(build), *_planes(build, places, extent),
             *(item for joint in joints for item in joint_items(joint))]
    return Drawing(tuple(items), tuple(joints), tuple(_masses(build, places)),
                   shot.settings.ground_height if shot.settings.ground else None, extent)


def used_numbers(build: Build) -> Numbers:
    """The masses and radii of a built scene."""
    shot = build.plan.shot
    bones = {bone.name: i for i, bone in enumerate(shot.bones)}
    masses: Dict[str, float] = {}
    radii: Dict[str, float] = {}
    for body in (*build.scene.bodies, *build.scene.wobble):
        if body.name not in bones:
            continue
        i = bones[body.name]
        name, scale = shot.bones[i].blender_name, norm(shot.poses[16 * i + 4:16 * i + 7])
        if body.mass:
            masses[name] = body.mass
        if body.shape and body.shape.get("radius") and scale > 0:
            radii[name] = body.shape["radius"] / (shot.metres * scale)
    return Numbers(masses, radii, sum(masses.values()))


# ---- lines and surfaces ----

def _ring(radius: float, height: float, axes: Tuple[int, int, int] = (0, 1, 2), first: float = 0.0,
          last: float = 2 * math.pi) -> List[Point]:
    """Pairs of points along an arc in the plane of two axes."""
    count = max(1, math.ceil(AROUND * (last - first) / (2 * math.pi) - 1e-9))
    points = []
    for k in range(count + 1):
        angle = first + (last - first) * k / count
        point = [0.0, 0.0, 0.0]
        point[axes[0]], point[axes[1]] = radius * math.cos(angle), radius * math.sin(angle)
        point[axes[2]] += height
        points.append((point[0], point[1], point[2]))
    return [end for pair in zip(points, points[1:]) for end in pair]


def _shift(points: Sequence[Point], z: float) -> List[Point]:
    return [(x, y, w + z) for x, y, w in points]


def _capsule_lines(radius: float, length: float) -> List[Point]:
    h, out = length / 2, _ring(radius, length / 2) + _ring(radius, -length / 2)
    for x, y in ((radius, 0.0), (-radius, 0.0), (0.0, radius), (0.0, -radius)):
        out += [(x, y, -h), (x, y, h)]
    for axis in (0, 1):
        out += _shift(_ring(radius, 0.0, (axis, 2, 1 - axis), 0.0, math.pi), h)
        out += _shift(_ring(radius, 0.0, (axis, 2, 1 - axis), math.pi, 2 * math.pi), -h)
    return out


def _cylinder_lines(radius: float, length: float) -> List[Point]:
    h, out = length / 2, _ring(radius, length / 2) + _ring(radius, -length / 2)
    for x, y in ((radius, 0.0), (-radius, 0.0), (0.0, radius), (0.0, -radius)):
        out += [(x, y, -h), (x, y, h)]
    return out


def _box_corners(a: float, b: float, c: float) -> List[Point]:
    return [(x * a / 2, y * b / 2, z * c / 2) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]


def _box_lines(a: float, b: float, c: float) -> List[Point]:
    corners = _box_corners(a, b, c)
    return [corner for k in range(8) for bit in (1, 2, 4) if not k & bit
            for corner in (corners[k], corners[k | bit])]


def _arc_lines(radius: float, first: float, last: float) -> List[Point]:
    """The arc with a spoke at both ends; if both are equal, one spoke."""
    ends = [(radius * math.cos(a), radius * math.sin(a), 0.0) for a in (first, last)]
    out: List[Point] = [(0.0, 0.0, 0.0), ends[0]]
    if first != last:
        out += [(0.0, 0.0, 0.0), ends[1], *_ring(radius, 0.0, first=first, last=last)]
    return out


def _cone_lines(length: float, angle: float) -> List[Point]:
    wide, high = length * math.sin(angle), length * math.cos(angle)
    out = _ring(wide, high)
    for x, y in ((wide, 0.0), (-wide, 0.0), (0.0, wide), (0.0, -wide)):
        out += [(0.0, 0.0, 0.0), (x, y, high)]
    return out


def _ground_lines(edge: float) -> List[Point]:
    out: List[Point] = []
    for k in range(GROUND_CELLS + 1):
        t = edge * (k / GROUND_CELLS - 0.5)
        out += [(t, -edge / 2, 0.0), (t, edge / 2, 0.0), (-edge / 2, t, 0.0), (edge / 2, t, 0.0)]
    return out


def _sphere_lines(radius: float) -> List[Point]:
    return [point for axes in ((0, 1, 2), (0, 2, 1), (1, 2, 0))
            for point in _ring(radius, 0.0, axes)]


def _cross_lines(length: float) -> List[Point]:
    h = length / 2
    return [(-h, 0.0, 0.0), (h, 0.0, 0.0), (0.0, -h, 0.0), (0.0, h, 0.0), (0.0, 0.0, -h),
            (0.0, 0.0, h)]


def _centre_lines(length: float) -> List[Point]:
    h = length / 2
    return _cross_lines(length) + _sphere_lines(h)


_LINES: Dict[str, Any] = {
    "capsule": _capsule_lines, "cylinder": _cylinder_lines, "box": _box_lines, "arc": _arc_lines,
    "cone": _cone_lines, "ground": _ground_lines, "cross": _cross_lines, "centre": _centre_lines,
    "sphere": _sphere_lines,
    "line": lambda length: [(0.0, 0.0, 0.0), (0.0, 0.0, length)],
    "axis": lambda length: [(0.0, 0.0, -length), (0.0, 0.0, length)],
}


@lru_cache(maxsize=512)
def lines_of(kind: str, size: Tuple[float, ...]) -> Tuple[Point, ...]:
    """Pairs of points: the lines of a shape, in its own axes."""
    return tuple(_LINES[kind](*size))


def _round_surface(profile: Sequence[Tuple[float, float]]) -> Tuple[List[Point], List[Triangle]]:
    """The surface of a profile (radius, height) that turns about z, closed at both ends."""
    points, triangles = [], []
    n = AROUND // 2 + 2
    for radius, height in profile:
        points += [(radius * math.cos(2 * math.pi * k / n), radius * math.sin(2 * math.pi * k / n),
                    height) for k in range(n)]
    for ring in range(len(profile) - 1):
        for k in range(n):
            a, b = ring * n + k, ring * n + (k + 1) % n
            triangles += [(a, b, a + n), (b, b + n, a + n)]
    return points, triangles


def _cap_profile(radius: float, length: float) -> List[Tuple[float, float]]:
    half = [(radius * math.sin(a), radius * math.cos(a) + length / 2)
            for a in (math.pi / 2 * k / CAP_RINGS for k in range(CAP_RINGS + 1))]
    return [(r, -h) for r, h in half] + half[::-1]


@lru_cache(maxsize=512)
def surface_of(kind: str, size: Tuple[float, ...]
               ) -> Tuple[Tuple[Point, ...], Tuple[Triangle, ...]]:
    """(points, triangles) of a shape in its own axes; empty for lines."""
    points: List[Point] = []
    triangles: List[Triangle] = []
    if kind == "capsule":
        points, triangles = _round_surface(_cap_profile(*size))
    elif kind == "sphere":
        points, triangles = _round_surface(_cap_profile(size[0], 0.0))
    elif kind == "cylinder":
        r, h = size[0], size[1] / 2
        points, triangles = _round_surface([(0.0, -h), (r, -h), (r, h), (0.0, h)])
    elif kind == "box":
        points = _box_corners(size[0], size[1], size[2])
        for a, b, c, d in ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4),
                           (1, 5, 7, 3)):
            triangles += [(a, b, c), (a, c, d)]
    return tuple(points), tuple(triangles)


def moved(matrix: Matrix, points: Sequence[Point]) -> List[Point]:
    """Points of a shape in the axes of its place."""
    a, b, c, _, d, e, f, _, g, h, i, _, x, y, z, _ = matrix
    return [(a * u + d * v + g * w + x, b * u + e * v + h * w + y, c * u + f * v + i * w + z)
            for u, v, w in points]


def by_place(drawing: Drawing) -> Dict[Place, List[Drawn]]:
    """The shapes, together with others of the same place."""
    out: Dict[Place, List[Drawn]] = {}
    for item in drawing.items:
        out.setdefault(item.place, []).append(item)
    return out


def centre_of_mass(masses: Sequence[Tuple[float, Vector]]) -> List[float]:
    """The centre of points with masses."""
    total, centre = 0.0, [0.0, 0.0, 0.0]
    for mass, point in masses:
        total += mass
        centre = add(centre, times(point, mass))
    return times(centre, 1 / total) if total else centre
