# SPDX-License-Identifier: BSD-3-Clause
"""A skin as the rules of the body plan see it, in plain Python: one sample per triangle.

It stands for skelpy.fit.Skin in tests of the rules. Its shapes are capsules about the line from the
joint to the target, and its volumes are those of the shapes."""

import math
import statistics
import types


def tube(a, b, radius, rings=12, sides=12):
    """Vertices and triangles of a closed tube from a to b."""
    along = [q - p for p, q in zip(a, b)]
    n = math.hypot(*along)
    z = [v / n for v in along]
    k = min(range(3), key=lambda i: abs(z[i]))
    x = cross(z, [1.0 if i == k else 0.0 for i in range(3)])
    x = [v / math.hypot(*x) for v in x]
    y = cross(z, x)
    points = [list(a)]
    for r in range(rings + 1):
        for s in range(sides):
            c, d = (radius * f(2 * math.pi * s / sides) for f in (math.cos, math.sin))
            points.append([a[i] + along[i] * r / rings + c * x[i] + d * y[i] for i in range(3)])
    points.append(list(b))
    faces = []
    for s in range(sides):
        after, last = (s + 1) % sides, 1 + rings * sides
        faces.append((0, 1 + after, 1 + s))
        faces.append((len(points) - 1, last + s, last + after))
        for r in range(rings):
            p, q = 1 + r * sides + s, 1 + r * sides + after
            faces += [(p, q, q + sides), (p, q + sides, p + sides)]
    return points, faces


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


class FakeSkin:
    """weights: one dict {bone: weight} per vertex."""

    def __init__(self, points, faces, weights, bone_count, closed=True):
        self.bone_count, self.closed = bone_count, closed
        self.low = [min(p[k] for p in points) for k in range(3)]
        self.high = [max(p[k] for p in points) for k in range(3)]
        self.size = max(h - w for w, h in zip(self.low, self.high))
        self.samples, self.volume = [], 0.0
        for face in faces:
            a, b, c = (points[i] for i in face)
            n = cross([q - p for p, q in zip(a, b)], [q - p for p, q in zip(a, c)])
            middle = [(p + q + r) / 3 for p, q, r in zip(a, b, c)]
            self.volume += sum(u * v for u, v in zip(middle, n)) / 6
            total = {}
            for i in face:
                whole = sum(weights[i].values()) or 1.0
                for bone, weight in weights[i].items():
                    total[bone] = total.get(bone, 0.0) + weight / whole / 3
            if total:
                self.samples.append((math.hypot(*n) / 2, middle, total))
        self.area = sum(area for area, _, _ in self.samples)
        self.strongest = [max(w, key=lambda bone: w[bone]) for _, _, w in self.samples]

    def shares(self):
        out = [0.0] * self.bone_count
        for area, _, weights in self.samples:
            for bone, weight in weights.items():
                out[bone] += area * weight / self.area
        return out

    def _shared(self):
        out = {}
        for area, middle, weights in self.samples:
            bones = sorted(weights)
            for n, a in enumerate(bones):
                for b in bones[n + 1:]:
                    least = area * min(weights[a], weights[b])
                    if least > 0:
                        row = out.setdefault((a, b), [0.0, 0.0, 0.0, 0.0])
                        row[0] += least
                        for k in range(3):
                            row[1 + k] += least * middle[k]
        return out

    def shared(self):
        return {pair: row[0] / self.area for pair, row in self._shared().items()}

    def shared_middle(self, a, b):
        row = self._shared().get((min(a, b), max(a, b)))
        return [v / row[0] for v in row[1:]] if row else None

    def reach(self, bones, point, fraction=0.95):
        some = set(bones)
        found = sorted((math.dist(point, sample[1]), sample[0])
                       for sample, bone in zip(self.samples, self.strongest) if bone in some)
        left = fraction * sum(area for _, area in found)
        for distance, area in found:
            left -= area
            if left <= 0:
                return distance
        return 0.0

    def assign(self, body_of_bone, body_count):
        self.of_body = [[] for _ in range(body_count)]
        for _, middle, weights in self.samples:
            sums = {}
            for bone, weight in weights.items():
                body = body_of_bone[bone]
                sums[body] = sums.get(body, 0.0) + weight
            body = max(sums, key=lambda k: sums[k])
            if body >= 0:
                self.of_body[body].append(middle)
        self.shapes = {}

    def shape(self, body, joint, target=None, leaf=False, radii=()):
        points = self.of_body[body]
        if not points:
            return None
        middle = [statistics.fmean(p[k] for p in points) for k in range(3)]
        towards = target if target is not None and math.dist(target, joint) > 0 else middle
        z = [b - a for a, b in zip(joint, towards)]
        n = math.hypot(*z) or 1.0
        z = [v / n for v in z]
        along = sorted(sum((p[k] - middle[k]) * z[k] for k in range(3)) for p in points)
        radius = statistics.median(math.sqrt(max(
            math.dist(p, middle) ** 2 - sum((p[k] - middle[k]) * z[k] for k in range(3)) ** 2, 0))
            for p in points)
        low, high = along[len(along) // 50], along[-1 - len(along) // 50]
        w = math.sqrt((1 + z[2]) / 2)
        turn = (w, -z[1] / (2 * w), z[0] / (2 * w), 0.0) if w > 1e-6 else (0.0, 1.0, 0.0, 0.0)
        length = max(high - low - radius, 0.0)
        self.shapes[body] = types.SimpleNamespace(
            kind="capsule", orientation=turn, length=length, radius=radius, edges=(0.0, 0.0, 0.0),
            inside=1.0,
            centre=[middle[k] + z[k] * (low + high) / 2 for k in range(3)],
            volume=math.pi * radius ** 2 * (length + 4 / 3 * radius))
        return self.shapes[body]

    def volumes(self):
        whole = sum(shape.volume for shape in self.shapes.values())
        return [(self.shapes[n].volume / whole * abs(self.volume), self.shapes[n].centre)
                if n in self.shapes else (0.0, (0.0, 0.0, 0.0)) for n in range(len(self.of_body))]
