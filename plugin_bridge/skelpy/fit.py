# SPDX-License-Identifier: BSD-3-Clause
"""From a weighted skin to bodies: shares of bones, fitted shapes, volumes.

    with Skin(vertices, triangles, offsets, bones, weights, bone_count) as skin:
        skin.assign(body_of_bone, body_count)
        shapes = [skin.shape(body, joint[body]) for body in range(body_count)]

Lengths have the unit of the vertices. Quaternions have the order w x y z.
"""

from __future__ import annotations

import ctypes as C
from array import array
from dataclasses import dataclass
from typing import Any, Iterable, Optional, Sequence, Tuple

from . import _ffi
from ._arrays import doubles, zeros
from ._handles import Closing, check_status, create
from ._structs import make
from .library import Path, load

Point = Tuple[float, float, float]

_KINDS = {_ffi.SHAPE_CAPSULE: "capsule", _ffi.SHAPE_BOX: "box"}
_Ints = C.POINTER(C.c_int32)


@dataclass(frozen=True)
class Shape:
    """A fitted shape. z of its frame is the long axis and points away from the joint."""

    kind: str                                           # "capsule" or "box"
    centre: Point
    orientation: Tuple[float, float, float, float]      # shape to skin, w x y z
    length: float       # capsule: between the centres of the caps (0: a sphere); box: the edge z
    radius: float       # capsule; box: half of the mean of the edges x and y
    edges: Point        # box: x y z; capsule: those of the box around it
    residual: float     # mean distance of the skin from the surface, by the radius
    cover: float        # area of the body's skin by the surface of the shape
    inside: float       # fraction of the skin within 1.5 radii of the axis (1.5 edges of the box)
    volume: float


def _ints(values: Iterable[int], what: str, count: Optional[int] = None) -> tuple[array[int], Any]:
    """(numbers, pointer) of int32 numbers. An array of that type is not copied."""
    if isinstance(values, array) and values.typecode == "i" and values.itemsize == 4:
        numbers = values
    else:
        try:
            numbers = array("i", values)
        except OverflowError:
            raise ValueError(f"{what}: a number is out of the range of 32 bits") from None
    if count is not None and len(numbers) != count:
        raise ValueError(f"{what}: has {len(numbers)} numbers, must have {count}")
    return numbers, C.cast(numbers.buffer_info()[0], _Ints)


def _doubles(values: Iterable[float]) -> tuple[array[float], Any]:
    """(numbers, pointer) of doubles. An array of that type is not copied."""
    if isinstance(values, array) and values.typecode == "d":
        numbers = values
    else:
        numbers = array("d", values)
    return numbers, C.cast(numbers.buffer_info()[0], C.POINTER(C.c_double))


def _point(values: Sequence[float]) -> Point:
    return values[0], values[1], values[2]


class Skin(Closing):
    """A mesh whose vertices follow bones.

    vertices: 3 numbers each, in the rest pose. triangles: 3 indices each. The entries offsets[i] to
    offsets[i + 1] - 1 of `bones` and `weights` belong to vertex i. samples: number of points that
    represent the area; 0: 8000.

    size: longest edge of the bounding box, from low to high. area, volume: of the mesh; shells that
    overlap count twice. closed: whether the welded mesh has no open edge."""

    def __init__(self, vertices: Iterable[float], triangles: Iterable[int],
                 offsets: Iterable[int], bones: Iterable[int], weights: Iterable[float],
                 bone_count: int, samples: int = 0, library: Optional[Path] = None) -> None:
        lib = load(library)
        points, p_points = _doubles(vertices)
        corners, p_corners = _ints(triangles, "triangles")
        starts, p_starts = _ints(offsets, "offsets", len(points) // 3 + 1)
        owners, p_owners = _ints(bones, "bones", max(0, starts[-1]))
        shares, p_shares = _doubles(weights)
        for what, numbers, width in (("vertices", points, 3), ("triangles", corners, 3)):
            if len(numbers) % width:
                raise ValueError(f"{what}: has {len(numbers)} numbers, must have {width} each")
        if len(shares) != len(owners):
            raise ValueError(f"weights: has {len(shares)} numbers, must have {len(owners)}")

        desc = make(lib, _ffi.FitDesc, vertex_count=len(points) // 3,
                    triangle_count=len(corners) // 3, bone_count=max(0, bone_count),
                    sample_count=max(0, samples), vertices=p_points, triangles=p_corners,
                    offsets=p_starts, bones=p_owners, weights=p_shares)
        self._lib = lib
        self._owner = create(lib, lib.skel_fit_create, lib.skel_fit_destroy, C.byref(desc))
        self.bone_count = bone_count
        self.body_count = 0
        self._measured: Optional[tuple[list[tuple[float, Point]], float]] = None
        self._read_info()

    def _read_info(self) -> None:
        info = make(self._lib, _ffi.FitInfo)
        check_status(self._lib, self._lib.skel_fit_get_info(self._p, C.byref(info)))
        self.size: float = info.size
        self.area: float = info.area
        self.volume: float = info.volume
        self.closed = bool(info.is_closed)
        self.low = _point(info.low)
        self.high = _point(info.high)
        self.samples: int = info.sample_count
        self._pair_count: int = info.pair_count

    def shares(self) -> list[float]:
        """The share of the area that follows each bone: the integral of its weight."""
        shares, pointer = zeros(self.bone_count)
        check_status(self._lib, self._lib.skel_fit_get_shares(self._p, pointer))
        return list(shares)

    def shared(self) -> dict[tuple[int, int], float]:
        """The integral of min(w_a, w_b) over the skin for all pairs a < b of bones that share some,
        relative to the area."""
        pairs = (C.c_int32 * max(1, 2 * self._pair_count))()
        shares, pointer = zeros(self._pair_count)
        check_status(self._lib, self._lib.skel_fit_get_shared(self._p, pairs, pointer))
        return {(pairs[2 * k], pairs[2 * k + 1]): share for k, share in enumerate(shares)}

    def shared_middle(self, a: int, b: int) -> Optional[Point]:
        """The middle of the skin that two bones share; None if they share none."""
        share = C.c_double()
        middle, pointer = zeros(3)
        check_status(self._lib, self._lib.skel_fit_get_shared_middle(
            self._p, a, b, C.byref(share), pointer))
        return _point(middle) if share.value > 0 else None

    def reach(self, bones: Sequence[int], point: Iterable[float], fraction: float = 0.95) -> float:
        """The distance from the point within which this fraction of the skin lies that follows one
        of the bones most; 0 if there is none."""
        numbers, p_bones = _ints(bones, "bones")
        place, p_place = doubles(point, 3, "point")
        found = C.c_double()
        check_status(self._lib, self._lib.skel_fit_get_reach(
            self._p, p_bones, len(numbers), p_place, fraction, C.byref(found)))
        return found.value

    def assign(self, body_of_bone: Sequence[int], body_count: int) -> None:
        """Assigns bones to bodies, -1 to none. A point of the skin belongs to the body with the
        largest sum of weights."""
        numbers, pointer = _ints(body_of_bone, "body_of_bone", self.bone_count)
        error = make(self._lib, _ffi.Error)
        status = self._lib.skel_fit_set_bodies(self._p, pointer, body_count, C.byref(error))
        check_status(self._lib, status, error)
        self.body_count = body_count
        self._measured = None

    def shape(self, body: int, joint: Iterable[float], target: Optional[Iterable[float]] = None,
              leaf: bool = False, radii: Sequence[float] = ()) -> Optional[Shape]:
        """The shape that fits the skin of a body; None if no skin follows it.

        joint: to the parent. target: the mean of the children's joints, or another point in this
        direction. leaf: nothing hangs on the body; it may become a box. radii: of neighbours, for a
        body with too little skin."""
        desc = make(self._lib, _ffi.FitShapeDesc, body=body, is_end=int(leaf))
        desc.joint[:] = doubles(joint, 3, "joint")[0]
        if target is not None:
            desc.target[:] = doubles(target, 3, "target")[0]
            desc.has_target = 1
        known, pointer = doubles(radii, len(radii), "radii")
        desc.radii, desc.radius_count = pointer, len(known)

        found, error = make(self._lib, _ffi.FitShape), make(self._lib, _ffi.Error)
        status = self._lib.skel_fit_solve_shape(self._p, C.byref(desc), C.byref(found),
                                                C.byref(error))
        check_status(self._lib, status, error)
        return _shape(found) if found.shape in _KINDS else None

    def volumes(self) -> list[tuple[float, Point]]:
        """Volume and centre of mass of every body. Shells that overlap count once. See
        `open_share` if the mesh is not closed."""
        return list(self._volumes()[0])

    def open_share(self) -> float:
        """The share of vertical columns through the skin whose surfaces do not pair up. If it is
        large, `volumes` means little."""
        return self._volumes()[1]

    def _volumes(self) -> tuple[list[tuple[float, Point]], float]:
        """The volumes and open_share, measured once after `assign`."""
        if self._measured is None:
            volumes, p_volumes = zeros(self.body_count)
            centres, p_centres = zeros(3 * self.body_count)
            unpaired = C.c_double()
            check_status(self._lib, self._lib.skel_fit_get_volumes(
                self._p, p_volumes, p_centres, C.byref(unpaired)))
            points = [_point(centres[3 * k:3 * k + 3]) for k in range(self.body_count)]
            self._measured = list(zip(volumes, points)), unpaired.value
        return self._measured


def _shape(found: _ffi.FitShape) -> Shape:
    kind = _KINDS[found.shape]
    size = _point(found.size)
    w, x, y, z = found.orientation
    if kind == "capsule":
        length, radius = size[0], size[1]
        edges = (2 * radius, 2 * radius, length + 2 * radius)
    else:
        length, radius, edges = size[2], (size[0] + size[1]) / 4, size
    return Shape(kind, _point(found.position), (w, x, y, z), length, radius, edges, found.residual,
                 found.cover, found.inside, found.volume)
