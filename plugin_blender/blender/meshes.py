# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes: how thick bones are, and the shapes of obstacles."""

import math
from array import array
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import bpy
from mathutils import Matrix, Vector

from ..core.algebra import UNIFORM_TOL, determinant, dot, is_uniform, norm
from ..core.errors import UserError
from ..core.shot import BoneShot, Collider
from . import animation
from .rna import Armature, Mesh, Object, Scene
from .stage import PoseSamples, flat

VERTICES_MAX = 4000     # of a mesh that are used to tell how thick a bone is
FACES_MAX = 50000       # of a mesh that are used to tell its shape
ROUND_TOL = 0.05        # relative: a mesh that deviates by less from a sphere is one
FLAT = 1e-4             # of its size: a thinner mesh is flat
FULL = 0.98             # of its bounding box: a mesh that fills this much of it is a box
RIGHT_ANGLE_TOL = 1e-4  # cosine of the angle between two faces
SHAPES = ("BOX", "SPHERE", "CAPSULE", "CYLINDER")   # of rigid bodies that the engine has


def is_bound(ob: Armature, other: Object) -> bool:
    """Whether a mesh is the skin of an armature."""
    return any(m.type == "ARMATURE" and m.object == ob for m in other.modifiers) or \
        other.parent == ob and other.parent_type == "ARMATURE"


def _skins(ob: Armature, scene: Scene) -> Iterator[Object]:
    for other in scene.objects:
        if other.type == "MESH" and is_bound(ob, other):
            yield other


def _volume(mesh: Mesh, to_rig: Any) -> float:
    mesh.calc_loop_triangles()
    total = 0.0
    points = [to_rig @ v.co for v in mesh.vertices]
    for triangle in mesh.loop_triangles:
        a, b, c = (points[k] for k in triangle.vertices)
        total += a.dot(b.cross(c))
    return abs(total) / 6


def with_thickness(ob: Armature, scene: Scene, bones: Sequence[BoneShot],
                   with_volume: bool) -> List[BoneShot]:
    """The bones with the radius, and if wanted the volume, of the mesh that is bound to them. A
    vertex counts for the bone that has the largest weight."""
    lines = {}
    for i, bone in enumerate(bones):
        m = bone.rest
        lines[bone.name] = (i, Vector(m[12:15]), Vector(m[4:7]).normalized())

    distances: Dict[int, List[float]] = {}
    volume = 0.0
    for other in _skins(ob, scene):
        to_rig = ob.matrix_world.inverted_safe() @ other.matrix_world
        groups, mesh = other.vertex_groups, other.data
        if with_volume:
            volume += _volume(mesh, to_rig)
        for k in range(0, len(mesh.vertices), max(1, len(mesh.vertices) // VERTICES_MAX)):
            vertex = mesh.vertices[k]
            best = max(vertex.groups, key=lambda g: g.weight, default=None)
            line = lines.get(groups[best.group].name) if best is not None else None
            if line:
                off = to_rig @ vertex.co - line[1]
                distances.setdefault(line[0], []).append((off - off.dot(line[2]) * line[2]).length)

    # The median of the distances; volumes are shared by length and radius.
    out = list(bones)
    for i, found in distances.items():
        out[i] = replace(out[i], thickness=sorted(found)[len(found) // 2])
    shares = {i: out[i].length * out[i].thickness ** 2 for i in distances}
    whole = sum(shares.values())
    for i, share in shares.items():
        out[i] = replace(out[i], volume=volume * share / whole if whole else 0.0)
    return out


# ---- shapes ----

def _evaluated_mesh(ob: Object) -> Mesh:
    """The mesh with its modifiers."""
    if not ob.modifiers:
        return ob.data
    return ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).data


def _bounds(ob: Object) -> List[Any]:
    """(lowest, highest) corner of a mesh, in its own axes."""
    return [Vector(end(corner[k] for corner in ob.bound_box) for k in range(3))
            for end in (min, max)]


def _bounds_along(mesh: Mesh, axes: Any) -> List[Any]:
    """(lowest, highest) corner of a mesh along other axes: the columns of a matrix."""
    rows = axes.transposed()
    points = [rows @ vertex.co for vertex in mesh.vertices]
    return [Vector(end(point[k] for point in points) for k in range(3)) for end in (min, max)]


def _face_axes(mesh: Mesh) -> Any:
    """Axes along the largest face and the largest face perpendicular to it; None without faces.
    They are those of a box or a plane whose rotation was applied to its mesh."""
    if not 0 < len(mesh.polygons) <= FACES_MAX:
        return None
    face = max(mesh.polygons, key=lambda each: each.area)
    z = Vector(face.normal)
    beside = [each for each in mesh.polygons if abs(each.normal.dot(z)) < RIGHT_ANGLE_TOL]
    if beside:
        x = Vector(max(beside, key=lambda each: each.area).normal)
    else:
        a, b = (mesh.vertices[k].co for k in list(face.vertices)[:2])
        x = b - a
    x = (x - x.dot(z) * z).normalized()
    return Matrix((x, z.cross(x), z)).transposed()


def _box_volume(low: Any, high: Any) -> float:
    return math.prod(b - a for a, b in zip(low, high))


def _fitted_box(ob: Object, scale: Any) -> Tuple[Any, Any, Any]:
    """(axes, lowest corner, highest corner) of the box around a mesh: along the object's own axes,
    unless the box along the faces of the mesh is smaller."""
    low, high = _bounds(ob)
    axes = _face_axes(_evaluated_mesh(ob)) if is_uniform(tuple(map(abs, scale))) else None
    if axes is not None:
        along = _bounds_along(_evaluated_mesh(ob), axes)
        if _box_volume(*along) < FULL * _box_volume(low, high):
            return axes, along[0], along[1]
    return Matrix.Identity(3), low, high


def _round_or_box(mesh: Mesh, axes: Any, low: Any, high: Any, size: Sequence[float]) -> str:
    """SPHERE if all vertices are as far from the middle as those of a sphere; else BOX."""
    if max(size) - min(size) >= ROUND_TOL * max(size) or not mesh.vertices:
        return "BOX"
    middle, radius, rows = (low + high) / 2, (high - low) / 2, axes.transposed()
    return "SPHERE" if all(
        abs(sum(((p - m) / r) ** 2 for p, m, r in zip(rows @ v.co, middle, radius)) - 1) < ROUND_TOL
        for v in mesh.vertices) else "BOX"


def _is_box(mesh: Mesh, axes: Any, low: Any, high: Any) -> bool:
    """Whether a mesh fills its bounding box."""
    if len(mesh.polygons) > FACES_MAX:
        return False
    middle = axes @ ((low + high) / 2)
    return _volume(mesh, Matrix.Translation(-middle)) >= FULL * _box_volume(low, high)


def _without_mirror(matrix: Any) -> List[float]:
    """16 numbers of a matrix that is neither mirrored nor flat along z."""
    m = flat(matrix)
    if norm(m[8:11]) <= FLAT * norm(m[0:3]):
        z = Vector(m[0:3]).cross(Vector(m[4:7])).normalized()
        m[8:11] = z * norm(m[0:3])
    if determinant(m) < 0:                      # the shapes are symmetrical
        m[:12] = [-v for v in m[:12]]
    return m


# ---- obstacles ----

class Obstacle:
    """An obstacle while it is read: the object in Blender, and its collider so far."""

    def __init__(self, ob: Object, unit: float) -> None:
        # Full names: a linked object may have the name of another.
        self.ob, self.unit = ob, unit
        self.collider = Collider(ob.name_full, moves=animation.object_moves(ob))
        self.warnings: List[str] = []
        self._flat_axes: List[int] = []         # axes along which it has no size: a plane has one
        self._scale: Optional[Any] = None       # of the object, when its size was read
        self._place: Any = None                 # the centre and axes of the shape in the object
        self._matrices = array("f")
        self._read_shape(ob.matrix_world)

    def _read_shape(self, world: Any) -> None:
        ob, scale, mesh = self.ob, world.to_scale(), _evaluated_mesh(self.ob)
        axes, low, high = _fitted_box(ob, scale)
        size = [abs((b - a) * s) * self.unit for a, b, s in zip(low, high, scale)]

        # The shape that the user chose for its rigid body counts if the engine has it.
        chosen = ob.rigid_body.collision_shape if ob.rigid_body else ""
        kind = chosen if chosen in SHAPES else _round_or_box(mesh, axes, low, high, size)

        turn = Matrix.Identity(4)
        self._flat_axes = [k for k in range(3) if size[k] <= FLAT * max(size)]
        if self._flat_axes:
            kind = "PLANE"
            if self._flat_axes[0] != 2:         # its normal becomes z
                normal = Vector((1, 0, 0)) if self._flat_axes[0] == 0 else Vector((0, 1, 0))
                turn = Vector((0, 0, 1)).rotation_difference(normal).to_matrix().to_4x4()

        exact = kind != "BOX" or chosen == "BOX" or _is_box(mesh, axes, low, high)
        self.collider = replace(self.collider, kind=kind, size=size, exact=exact)
        self._scale = scale
        self._place = axes.to_4x4() @ Matrix.Translation((low + high) / 2) @ turn

    def _face(self, world: Any, samples: PoseSamples) -> None:
        """A plane has no back: it faces the bones."""
        heads = [samples.poses[k + 12:k + 15] for k in range(0, len(samples.poses), 16)]
        middle = Vector(sum(values) / len(heads) for values in zip(*heads))
        point = Matrix([samples.objects[k::4] for k in range(4)]) @ middle
        m = _without_mirror(world @ self._place)
        if dot(m[8:11], [a - b for a, b in zip(point, m[12:15])]) < 0:
            self._place = self._place @ Matrix.Rotation(math.pi, 4, "X")

    def add_frame(self, world: Any, frame: float, samples: PoseSamples) -> None:
        """Reads where the obstacle is at a frame; at the first one, also its shape. samples: of the
        armature, up to this frame."""
        is_first, scale = not self._matrices, world.to_scale()
        if is_first and scale != self._scale:
            self._read_shape(world)

        largest = max(map(abs, scale))
        if len(self._flat_axes) > 1 or any(abs(s) <= FLAT * largest for k, s in enumerate(scale)
                                           if k not in self._flat_axes):
            raise UserError(f"The obstacle '{self.collider.name}' has no size at frame {frame:g}. "
                            "Give it one, or remove it from the collection")
        if is_first:
            self._first_frame = frame
            if self.collider.kind == "PLANE":
                self._face(world, samples)
        if any(abs(a - b) > UNIFORM_TOL * largest for a, b in zip(scale, self._scale or ())):
            self._scale = None                  # one warning is enough
            self.warnings.append(
                f"The obstacle '{self.collider.name}' changes its size at frame {frame:g}. It "
                f"keeps the size of frame {self._first_frame:g}: bodies cannot grow")
        self._matrices.extend(_without_mirror(world @ self._place))

    def finished(self) -> Collider:
        return replace(self.collider, matrices=self._matrices)


def find_obstacles(ob: Armature, unit: float) -> List[Obstacle]:
    """The meshes of the collection of obstacles, without the armature's own skin, lines and
    points."""
    return [Obstacle(other, unit)
            for other in (ob.skel.obstacles.all_objects if ob.skel.obstacles else ())
            if other.type == "MESH" and not is_bound(ob, other) and
            sum(a < b for a, b in zip(*_bounds(other))) > 1]
