# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors, quaternions (w x y z, Hamilton, unit) and poses (x y z, w x y z) as plain sequences.

These functions run once per bone; all arithmetic per frame is done by the library. Matrices are 16
numbers, column after column."""

from __future__ import annotations

import math
from typing import List, Sequence, Tuple

Vector = Sequence[float]
Quaternion = Sequence[float]
Pose = Sequence[float]
Matrix = Sequence[float]
Vector3 = Tuple[float, float, float]

UNIFORM_TOL = 1e-4      # relative: scales that differ by less are the same along all axes
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
ORIGIN = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0)


# ---- vectors ----

def add(a: Vector, b: Vector) -> List[float]:
    return [x + y for x, y in zip(a, b)]


def sub(a: Vector, b: Vector) -> List[float]:
    return [x - y for x, y in zip(a, b)]


def times(a: Vector, s: float) -> List[float]:
    return [x * s for x in a]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b))


def cross(a: Vector, b: Vector) -> Vector3:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(v: Vector) -> float:
    return math.hypot(*v)


def across(z: Vector) -> Vector3:
    """A direction perpendicular to z."""
    k = min(range(3), key=lambda n: abs(z[n]))
    return cross(z, [1.0 if n == k else 0.0 for n in range(3)])


# ---- quaternions ----

def q_mul(a: Quaternion, b: Quaternion) -> Tuple[float, float, float, float]:
    return (a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0])


def q_conj(a: Quaternion) -> Tuple[float, float, float, float]:
    return (a[0], -a[1], -a[2], -a[3])


def q_rotate(a: Quaternion, v: Vector) -> Vector3:
    _, x, y, z = q_mul(q_mul(a, (0.0, *v)), q_conj(a))
    return (x, y, z)


def q_about(axis: Vector, angle: float) -> Tuple[float, float, float, float]:
    """The rotation by an angle [rad] about an axis of any length."""
    s = math.sin(angle / 2) / (math.sqrt(sum(x * x for x in axis)) or 1.0)
    x, y, z = axis
    return (math.cos(angle / 2), s * x, s * y, s * z)


def angle_about(q: Quaternion, axis: int) -> float:
    """The angle [rad] of a rotation about coordinate axis 0, 1 or 2, -pi to pi."""
    return math.remainder(2 * math.atan2(q[1 + axis], q[0]), 2 * math.pi)


def twist_about(q: Quaternion, axis: Vector) -> float:
    """The angle [rad] of a rotation about any axis, -pi to pi."""
    along = sum(a * b for a, b in zip(q[1:], axis)) / (norm(axis) or 1.0)
    angle = 2 * math.atan2(along, q[0])
    return math.remainder(angle, 2 * math.pi)


def angle_between(a: Quaternion, b: Quaternion) -> float:
    """The smallest angle [rad] that turns one orientation into another."""
    turn = q_mul(q_conj(a), b)
    return 2 * math.atan2(norm(turn[1:]), abs(turn[0]))


# ---- poses ----

def compose(a: Pose, b: Pose) -> List[float]:
    """Pose b, given in the axes of pose a."""
    return [*add(a[:3], q_rotate(a[3:], b[:3])), *q_mul(a[3:], b[3:])]


def invert(pose: Pose) -> List[float]:
    back = q_conj(pose[3:])
    return [*times(q_rotate(back, pose[:3]), -1.0), *back]


def seen_from(pose: Pose, other: Pose) -> List[float]:
    """A pose of the world in the axes of another pose of the world."""
    back = q_conj(pose[3:])
    return [*q_rotate(back, sub(other[:3], pose[:3])), *q_mul(back, other[3:])]


def pose_rows(poses: Sequence[float], width: int, at: int) -> List[List[float]]:
    """The seven numbers at offset `at` of every sample of that width."""
    return [list(poses[n + at:n + at + 7]) for n in range(0, len(poses), width)]


# ---- matrices ----

def determinant(m: Matrix) -> float:
    """Of the axes of a matrix: 0 if they are flat, negative if they are mirrored."""
    return dot(cross(m[0:3], m[4:7]), m[8:11])


def column_lengths(m: Matrix) -> Vector3:
    """The scale along the three axes of a matrix."""
    return norm(m[0:3]), norm(m[4:7]), norm(m[8:11])


def mean_scale(m: Matrix) -> float:
    return sum(column_lengths(m)) / 3


def is_uniform(scale: Vector, tolerance: float = UNIFORM_TOL) -> bool:
    """Whether a scale is the same along all axes."""
    middle = sum(scale) / 3
    return middle > 0 and all(abs(s - middle) <= tolerance * middle for s in scale)


def format_scale(scale: Vector) -> str:
    return f"({', '.join(f'{v:.4g}' for v in scale)})"


def q_of_matrix(m: Matrix) -> Tuple[float, ...]:
    """The rotation of a matrix, whatever its scale (Shepperd's method)."""
    x, y, z = ([v / n for v in m[k:k + 3]] for k, n in zip((0, 4, 8), column_lengths(m)))
    t = x[0] + y[1] + z[2]
    if t > 0:
        q = (1 + t, y[2] - z[1], z[0] - x[2], x[1] - y[0])
    elif x[0] >= y[1] and x[0] >= z[2]:
        q = (y[2] - z[1], 1 + x[0] - y[1] - z[2], y[0] + x[1], z[0] + x[2])
    elif y[1] >= z[2]:
        q = (z[0] - x[2], y[0] + x[1], 1 + y[1] - x[0] - z[2], z[1] + y[2])
    else:
        q = (x[1] - y[0], z[0] + x[2], z[1] + y[2], 1 + z[2] - x[0] - y[1])
    n = norm(q)
    return tuple(v / n for v in q)


def rotate_inertia(inertia: Vector, q: Quaternion) -> List[float]:
    """An inertia (xx yy zz, then xy xz yz if it has them) in axes in which its own axes are turned
    by q: R J R^T."""
    xx, yy, zz, xy, xz, yz = [*inertia, 0.0, 0.0, 0.0][:6]
    rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    axes = [q_rotate(q_conj(q), axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return [dot(axes[a], [dot(row, axes[b]) for row in rows])
            for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
