# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes: the skin of an armature, and the shapes of obstacles."""

import math
from array import array
from dataclasses import replace
from typing import Any, Iterator, List, Optional, Sequence, Tuple

import bpy
from mathutils import Matrix, Vector

from ..core.algebra import UNIFORM_TOL, determinant, dot, is_uniform, norm
from ..core.errors import UserError
from ..core.shot import Collider, SkinShot
from . import animation
from .rna import Armature, Mesh, Object, Scene
from .stage import PoseSamples, flat

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


def _parts(ob: Armature, scene: Scene) -> Iterator[Tuple[Object, str]]:
    """(mesh, bone): meshes that hang on single bones."""
    for other in scene.objects:
        if other.type == "MESH" and other.parent == ob and other.parent_type == "BONE":
            yield other, other.parent_bone


class _SkinReader:
    """Collects meshes into one skin."""

    def __init__(self, ob: Armature, names: Sequence[str]) -> None:
        self.index = {name: i for i, name in enumerate(names)}
        self.ob = ob
        self.vertices, self.triangles = array("d"), array("i")
        self.offsets, self.bones, self.weights = array("i", [0]), array("i"), array("d")

    def _add_geometry(self, mesh: Mesh, to_rig: Any) -> None:
        first, count = len(self.vertices) // 3, len(mesh.vertices)
        points = array("f", bytes(12 * count))
        mesh.vertices.foreach_get("co", points)
        m = [[float(to_rig[r][c]) for c in range(4)] for r in range(3)]
        x, y, z = points[0::3], points[1::3], points[2::3]
        rows = [[a * u + b * v + c * w + d for u, v, w in zip(x, y, z)] for a, b, c, d in m]
        flat_points = array("d", bytes(24 * count))
        for k, row in enumerate(rows):
            flat_points[k::3] = array("d", row)
        self.vertices.extend(flat_points)

        mesh.calc_loop_triangles()
        corners = array("i", bytes(12 * len(mesh.loop_triangles)))
        mesh.loop_triangles.foreach_get("vertices", corners)
        self.triangles.extend(array("i", [first + k for k in corners]) if first else corners)

    def add_skin(self, other: Object) -> None:
        """A mesh whose vertices follow bones by their weights."""
        mesh = other.data
        self._add_geometry(mesh, self.ob.matrix_world.inverted_safe() @ other.matrix_world)
        groups = {group.index: self.index[group.name] for group in other.vertex_groups
                  if group.name in self.index}
        bones, weights, offsets = self.bones, self.weights, self.offsets
        for vertex in mesh.vertices:
            for element in vertex.groups:
                bone = groups.get(element.group)
                if bone is not None and element.weight > 0:
                    bones.append(bone)
                    weights.append(element.weight)
            offsets.append(len(bones))

    def add_part(self, other: Object, bone: str) -> None:
        """A mesh that hangs on a bone, where it is at rest: such objects stand at the bone's
        tail."""
        rest = self.ob.data.bones[bone]
        at_tail = rest.matrix_local @ Matrix.Translation((0, rest.length, 0))
        mesh, start = other.data, len(self.bones)
        self._add_geometry(mesh, at_tail @ other.matrix_parent_inverse @ other.matrix_basis)
        count = len(mesh.vertices)
        self.bones.extend([self.index[bone]] * count)
        self.weights.extend([1.0] * count)
        self.offsets.extend(range(start + 1, start + count + 1))

    def skin(self) -> Optional[SkinShot]:
        if not self.triangles or not self.bones:
            return None
        return SkinShot(self.vertices, self.triangles, self.offsets, self.bones, self.weights)


def read_skin(ob: Armature, scene: Scene, names: Sequence[str]) -> Optional[SkinShot]:
    """The meshes that are bound to bones, at rest. Meshes that hang on single bones count if
    no mesh is bound by weights, as in a robot of rigid parts; otherwise they are props. names: of
    the bones."""
    reader = _SkinReader(ob, names)
    for other in _skins(ob, scene):
        reader.add_skin(other)
    if not reader.bones:
        reader = _SkinReader(ob, names)
        for other, bone in _parts(ob, scene):
            if bone in reader.index:
                reader.add_part(other, bone)
    return reader.skin()


# ---- shapes ----

def _volume(mesh: Mesh, to_rig: Any) -> float:
    mesh.calc_loop_triangles()
    total = 0.0
    points = [to_rig @ v.co for v in mesh.vertices]
    for triangle in mesh.loop_triangles:
        a, b, c = (points[k] for k in triangle.vertices)
        total += a.dot(b.cross(c))
    return abs(total) / 6


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
