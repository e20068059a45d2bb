# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes and volumes of bodies: fitted to the skin, else from the joints; made alike on both sides.

Without skin a body is a capsule from its joint to the joints of its children. The radius of a
human's part follows from its mass, that of all others from its length."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import List, Optional, Sequence, Tuple

from .algebra import Quaternion, Vector, Vector3, add, dot, norm, q_rotate, sub, times
from .body_parts import Parts
from .body_rest import SkinLike, mean_point, point3, unit
from .body_skeleton import Plane, Skeleton

RADIUS_DEFAULT = 0.12       # of a body's length
RADIUS_HEAD = 0.3
RADIUS_TRUNK = 0.45         # of the mean distance of left and right limbs
RADIUS_NECK = 0.5           # of the trunk's radius
RADIUS_MIN = 2e-3           # of the size of the figure
PAIR_ALIKE = 0.28           # relative: radii and lengths of partners that differ more stay so
ON_PLANE = math.cos(math.radians(30))
VOLUME_MIN = 0.3            # of the shape's share: the skin of a body has at least this volume
TIGHT_VOLUME = 1.3          # of the skin's volume: a larger capsule becomes thinner
TIGHT_RADIUS = 0.9          # of the fitted radius, at least
LOOSE_RADIUS = 1.1          # of the fitted radius, at most
LOOSE_INSIDE = 0.92         # of the skin: if less is near, the capsule becomes thicker
TIGHT_INSIDE = 0.97         # of the skin is within 1.5 radii of the axis
TRUNK = ("pelvis", "spine", "chest")


@dataclass(frozen=True)
class BodyShape:
    """At rest, in the axes and units of the armature."""
    kind: str                           # "capsule", "box"
    centre: Vector3
    orientation: Quaternion             # z is the long axis; w x y z
    length: float                       # of a capsule: between the centres of its caps
    radius: float
    edges: Vector3 = (0.0, 0.0, 0.0)    # of a box

    @property
    def volume(self) -> float:
        if self.kind == "box":
            return self.edges[0] * self.edges[1] * self.edges[2]
        return capsule_volume(self.length, self.radius)

    def axes(self) -> Tuple[Vector3, Vector3, Vector3]:
        """The three axes of the shape."""
        x, y, z = (point3(q_rotate(self.orientation, axis))
                   for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
        return x, y, z

    @property
    def ends(self) -> Tuple[Vector3, Vector3, float]:
        """A segment and a radius: the capsule, or a capsule about the box."""
        if self.kind == "box":
            k = max(range(3), key=lambda n: self.edges[n])
            half = [self.edges[k] / 2 if n == k else 0.0 for n in range(3)]
            radius = math.hypot(*(self.edges[n] / 2 for n in range(3) if n != k))
        else:
            half, radius = [0.0, 0.0, self.length / 2], self.radius
        along = q_rotate(self.orientation, half)
        return point3(sub(self.centre, along)), point3(add(self.centre, along)), radius


def capsule_volume(length: float, radius: float) -> float:
    return math.pi * radius ** 2 * (length + 4 / 3 * radius)


def turn_z_to(along: Vector) -> Tuple[float, float, float, float]:
    """The shortest rotation that turns z to a direction."""
    x, y, z = unit(along)
    if z < -0.999999:
        return (0.0, 1.0, 0.0, 0.0)
    w = math.sqrt((1 + z) / 2)
    return (w, -y / (2 * w), x / (2 * w), 0.0)


def radius_of_volume(total: float, volume: float) -> Tuple[float, float]:
    """(length between the caps, radius) of a capsule of a length from tip to tip and a volume. A
    larger volume than that of a sphere of this length makes a larger sphere."""
    if volume >= math.pi / 6 * total ** 3:
        return 0.0, (3 * volume / (4 * math.pi)) ** (1 / 3)
    low, high = 0.0, total / 2
    for _ in range(60):
        middle = (low + high) / 2
        if capsule_volume(total - 2 * middle, middle) < volume:
            low = middle
        else:
            high = middle
    return total - 2 * low, low


# ---- without skin ----

def _lies_across(s: Skeleton, n: int, part: str) -> Optional[Tuple[Vector3, Vector3]]:
    """The joints of a pair of limbs of a trunk that is wider than long."""
    below = [k for k in s.children[n] if s.partner[k] not in (-1, k)]
    if part not in TRUNK or len(below) < 2:
        return None
    a, b = max(((s.joint[k], s.joint[s.partner[k]]) for k in below),
               key=lambda pair: math.dist(*pair))
    return (a, b) if math.dist(a, b) > s.link(n) else None


def _radius_of_part(part: str, length: float, trunk: float) -> float:
    """The radius of a body without skin. trunk: that of the trunk; 0: it is not known."""
    radius = RADIUS_DEFAULT * length
    if part in TRUNK and trunk:
        return max(radius, trunk)
    if part == "neck" and trunk:
        return max(radius, RADIUS_NECK * trunk)
    return RADIUS_HEAD * length if part == "head" else radius


def default_shapes(skeleton: Skeleton, parts: Parts, volumes: Sequence[float]) -> List[BodyShape]:
    """Shapes without skin. volumes: those that masses ask for; 0: the radius follows from the
    length."""
    s, out = skeleton, []
    wide = [math.dist(s.joint[n], s.joint[s.partner[n]]) for n in parts.bodies("thigh", "upper_arm")
            if s.partner[n] not in (-1, n)]
    trunk = RADIUS_TRUNK * sum(wide) / len(wide) if wide else 0.0
    for n in range(len(s)):
        a, b = s.joint[n], s.end[n]
        across = _lies_across(s, n, parts.parts[n])
        if across:
            # It lies between the limbs, at the height between them and its own end.
            middle = mean_point([mean_point(across), mean_point([a, b])])
            half = times(sub(across[1], across[0]), 0.5)
            a, b = point3(sub(middle, half)), point3(add(middle, half))
        total = max(math.dist(a, b), 10 * RADIUS_MIN * s.rest.size)
        length, radius = radius_of_volume(total, volumes[n]) if volumes[n] else (0.0, 0.0)
        if not volumes[n]:
            radius = max(_radius_of_part(parts.parts[n], total, trunk), RADIUS_MIN * s.rest.size)
            length = max(total - 2 * radius, 0.0)
        out.append(BodyShape("capsule", mean_point([a, b]), turn_z_to(sub(b, a)), length, radius))
    return out


# ---- with skin ----

def fitted_shapes(skeleton: Skeleton, skin: SkinLike, body_of: Sequence[int]
                  ) -> List[Optional[Tuple[BodyShape, float]]]:
    """Shapes that the library fits to the skin of each body, and the share of the skin that is
    near to them; None: it has no skin. The shapes of a second round know the radii of the
    neighbours."""
    s = skeleton
    skin.assign(body_of, len(s))
    out: List[Optional[Tuple[BodyShape, float]]] = [None] * len(s)
    for _ in range(2):
        before = out
        out = []
        for n in range(len(s)):
            around = [before[k] for k in (s.parent[n], *s.children[n]) if k >= 0]
            radii = [pair[0].radius for pair in around if pair and pair[0].radius > 0]
            found = skin.shape(n, s.joint[n], s.target(n), leaf=not s.children[n], radii=radii)
            out.append(None if found is None else (BodyShape(
                found.kind, point3(found.centre), tuple(found.orientation), found.length,
                found.radius, point3(found.edges)), found.inside))
    return out


def adjusted(shape: BodyShape, volume: float, inside: float) -> BodyShape:
    """A capsule that has much more volume than the skin of its body becomes thinner, one that is
    far from some of the skin becomes thicker; by at most a tenth. Its length from tip to tip stays.
    inside: share of the skin within 1.5 radii of the axis."""
    if shape.kind != "capsule":
        return shape
    total = shape.length + 2 * shape.radius
    _, wanted = radius_of_volume(total, TIGHT_VOLUME * volume)
    if inside >= TIGHT_INSIDE and wanted < shape.radius:
        radius = max(wanted, TIGHT_RADIUS * shape.radius)
    elif inside < LOOSE_INSIDE and wanted > shape.radius:
        radius = min(wanted, LOOSE_RADIUS * shape.radius)
    else:
        return shape
    return replace(shape, radius=radius, length=max(total - 2 * radius, 0.0))


# ---- both sides alike ----

def _axis(shape: BodyShape) -> Vector3:
    return q_rotate(shape.orientation, (0.0, 0.0, 1.0))


def _onto_plane(shape: BodyShape, plane: Plane, near: float) -> BodyShape:
    """A body in the middle lies in the mirror plane or square to it."""
    if shape.kind != "capsule" or abs(plane.side(shape.centre)) > near:
        return shape
    along = list(_axis(shape))
    if abs(along[plane.axis]) > ON_PLANE:
        along = [1.0 if k == plane.axis else 0.0 for k in range(3)]
    elif abs(along[plane.axis]) < math.sqrt(1 - ON_PLANE ** 2):
        along[plane.axis] = 0.0
    else:
        return shape
    centre = point3([plane.at if k == plane.axis else v for k, v in enumerate(shape.centre)])
    return replace(shape, centre=centre, orientation=turn_z_to(along))


def are_alike(a: BodyShape, b: BodyShape) -> bool:
    def near(x: float, y: float) -> bool:
        return abs(x - y) <= PAIR_ALIKE * max(x, y)

    return (a.kind == b.kind == "capsule" and near(a.radius, b.radius) and
            near(a.length + 2 * a.radius, b.length + 2 * b.radius))


def _mean_shape(a: BodyShape, b: BodyShape, plane: Plane) -> BodyShape:
    """The mean of a capsule and the mirror image of another."""
    along, other = _axis(a), plane.turn(_axis(b))
    sign = 1.0 if dot(along, other) >= 0 else -1.0
    total = add(along, times(other, sign))
    return BodyShape("capsule", mean_point([a.centre, plane.mirror(b.centre)]),
                     turn_z_to(total if norm(total) > 0 else along),
                     (a.length + b.length) / 2, (a.radius + b.radius) / 2)


def make_symmetric(skeleton: Skeleton, shapes: List[BodyShape], volumes: List[float]) -> None:
    """Partners get the mean of both shapes and volumes, unless the skin says that they differ."""
    s, plane = skeleton, skeleton.plane
    if plane is None:
        return
    for n, k in enumerate(s.partner):
        if k == n:
            shapes[n] = _onto_plane(shapes[n], plane, 0.02 * s.rest.size)
        elif k > n and are_alike(shapes[n], shapes[k]):
            one, two = shapes[n], shapes[k]
            shapes[n], shapes[k] = _mean_shape(one, two, plane), _mean_shape(two, one, plane)
            volumes[n] = volumes[k] = (volumes[n] + volumes[k]) / 2


# ---- overlaps ----

def segment_distance(a: Vector, b: Vector, c: Vector, d: Vector) -> float:
    """The smallest distance of two segments."""
    u, v, w = sub(b, a), sub(d, c), sub(a, c)
    uu, uv, vv, uw, vw = dot(u, u), dot(u, v), dot(v, v), dot(u, w), dot(v, w)
    flat = uu * vv - uv * uv
    s = min(max((uv * vw - vv * uw) / flat, 0.0), 1.0) if flat > 1e-12 * uu * vv else 0.0

    # The nearest point of the second segment, then again of the first.
    t = (uv * s + vw) / vv if vv > 0 else 0.0
    t = min(max(t, 0.0), 1.0)
    s = min(max((uv * t - uw) / uu, 0.0), 1.0) if uu > 0 else 0.0
    return norm([w[k] + s * u[k] - t * v[k] for k in range(3)])


def find_touching(skeleton: Skeleton, shapes: Sequence[BodyShape]) -> Tuple[Tuple[int, int], ...]:
    """Pairs of bodies that overlap at rest and that no joint connects."""
    s, boxes = skeleton, []
    for n, shape in enumerate(shapes):
        a, b, radius = shape.ends
        boxes.append((min(a[0], b[0]) - radius, max(a[0], b[0]) + radius, n, a, b, radius))
    boxes.sort(key=lambda row: row[:3])

    # Sorted along x, a body meets only those that begin before it ends.
    out = []
    for at, (_, high, n, a, b, radius) in enumerate(boxes):
        for low, _, k, c, d, other in boxes[at + 1:]:
            if low > high:
                break
            if s.parent[n] == k or s.parent[k] == n:
                continue
            if segment_distance(a, b, c, d) < radius + other:
                out.append((min(n, k), max(n, k)))
    return tuple(sorted(out))
