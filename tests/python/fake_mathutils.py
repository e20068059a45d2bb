# SPDX-License-Identifier: BSD-3-Clause
"""As much of mathutils as the add-on asks for: vectors, 4 x 4 matrices, quaternions (w x y z)."""

import math
import types


class Vector(list):
    def __init__(self, values=(0.0, 0.0, 0.0)):
        super().__init__(float(v) for v in values)

    def _each(self, other, do):
        return Vector(do(a, b) for a, b in zip(self, other, strict=True))

    def __add__(self, other):
        return self._each(other, lambda a, b: a + b)

    def __iadd__(self, other):
        self[:] = self + other
        return self

    def __sub__(self, other):
        return self._each(other, lambda a, b: a - b)

    def __mul__(self, factor):
        return Vector(factor * v for v in self)

    __rmul__ = __mul__

    def __truediv__(self, divisor):
        return self * (1 / divisor)

    def dot(self, other):
        return sum(a * b for a, b in zip(self, other, strict=True))

    def cross(self, other):
        (a, b, c), (x, y, z) = self, other
        return Vector((b * z - c * y, c * x - a * z, a * y - b * x))

    @property
    def length(self):
        return math.sqrt(self.dot(self))

    @property
    def xyz(self):
        return Vector(self[:3])

    def normalized(self):
        return self / self.length


class Quaternion(list):
    def __init__(self, values=(1.0, 0.0, 0.0, 0.0)):
        super().__init__(float(v) for v in values)

    def inverted(self):
        return Quaternion((self[0], -self[1], -self[2], -self[3]))

    def __matmul__(self, other):
        (a, b, c, d), (w, x, y, z) = self, other
        return Quaternion((a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y,
                           a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w))

    def to_matrix(self):
        n = math.sqrt(sum(v * v for v in self))
        w, x, y, z = (v / n for v in self)
        return Matrix(((1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 0),
                       (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 0),
                       (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), 0),
                       (0, 0, 0, 1)))


class Matrix(list):
    """Rows. What is made of it is a copy."""

    def __init__(self, rows=((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))):
        super().__init__([float(v) for v in row] for row in rows)

    Identity = classmethod(lambda cls, _size: cls())

    @classmethod
    def Translation(cls, place):
        return cls([[float(r == c) for c in range(3)] + [place[r]] for r in range(3)] +
                   [[0, 0, 0, 1]])

    @classmethod
    def Diagonal(cls, numbers):
        return cls([[v if r == c else 0 for c in range(4)] for r, v in enumerate(numbers)])

    @classmethod
    def Rotation(cls, angle, _size, axis):
        half = [math.sin(angle / 2) * (axis == name) for name in "XYZ"]
        return Quaternion((math.cos(angle / 2), *half)).to_matrix()

    def __matmul__(self, other):
        if isinstance(other, Vector):
            point = [*other, 1.0]
            return Vector(sum(a * b for a, b in zip(row, point)) for row in self[:3])
        return Matrix([[sum(self[r][k] * other[k][c] for k in range(4)) for c in range(4)]
                       for r in range(4)])

    @property
    def col(self):
        return [Vector(row[c] for row in self) for c in range(4)]

    @property
    def translation(self):
        return self.col[3].xyz

    @translation.setter
    def translation(self, place):
        for row, value in zip(self, place):
            row[3] = value

    def copy(self):
        return Matrix(self)

    def to_4x4(self):
        return Matrix(self)

    def to_scale(self):
        return Vector(column.xyz.length for column in self.col[:3])

    @property
    def median_scale(self):
        return sum(self.to_scale()) / 3

    def inverted(self):
        """Of turns, moves and scales."""
        scale = self.to_scale()
        turn = [[self[c][r] / scale[r] ** 2 for c in range(3)] for r in range(3)]
        off = [-sum(a * b for a, b in zip(row, self.translation)) for row in turn]
        return Matrix([[*row, v] for row, v in zip(turn, off)] + [[0, 0, 0, 1]])

    inverted_safe = inverted

    def to_quaternion(self):
        x, y, z = (column.xyz.normalized() for column in self.col[:3])
        found = ((1 + x[0] + y[1] + z[2], y[2] - z[1], z[0] - x[2], x[1] - y[0]),
                 (y[2] - z[1], 1 + x[0] - y[1] - z[2], y[0] + x[1], z[0] + x[2]),
                 (z[0] - x[2], y[0] + x[1], 1 + y[1] - x[0] - z[2], z[1] + y[2]),
                 (x[1] - y[0], z[0] + x[2], z[1] + y[2], 1 + z[2] - x[0] - y[1]))
        k = max(range(4), key=lambda k: found[k][k])
        size = math.sqrt(sum(v * v for v in found[k]))
        return Quaternion(v / size for v in found[k])


def module():
    out = types.ModuleType("mathutils")
    out.Vector, out.Matrix, out.Quaternion = Vector, Matrix, Quaternion
    return out
