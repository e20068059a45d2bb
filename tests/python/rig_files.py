# SPDX-License-Identifier: BSD-3-Clause
"""Rigs for the tests of the body plan: readers of glTF and BVH, and rigs from lists of points.

Only what the files of the shared rigs need is read. Axes are turned from y up to z up, as Blender's
importers do."""

import importlib
import math
import pathlib
import sys
import types

import common
from glb_file import GlbFile

# The pure modules of the add-on in a package of their own: the add-on itself needs bpy.
PACKAGE = types.ModuleType("skel_plan")
PACKAGE.__path__ = [str(common.ROOT / "plugin_blender")]
sys.modules["skel_plan"] = PACKAGE


def core(name):
    """A module of the add-on's folder core."""
    return importlib.import_module(f"skel_plan.core.{name}")


BoneShot = core("shot").BoneShot

RIGS = common.ROOT.parent / "shared" / "data" / "rigs"


# ---- bones from points ----

def rest_matrix(head, along, roll=(0.0, 0.0, 1.0)):
    """A matrix whose y points along a bone, column after column."""
    y = _unit(along)
    if abs(sum(a * b for a, b in zip(y, roll))) > 0.9:
        roll = (1.0, 0.0, 0.0) if abs(y[0]) < 0.9 else (0.0, 1.0, 0.0)
    x = _unit(_cross(y, roll))
    z = _cross(x, y)
    return (*x, 0.0, *y, 0.0, *z, 0.0, *head, 1.0)


def _unit(v):
    n = math.hypot(*v)
    return tuple(x / n for x in v)


def _cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def bone(name, head, tail, parent=-1, **fields):
    """A bone from its head to its tail."""
    along = [b - a for a, b in zip(head, tail)]
    return BoneShot(name, parent, math.hypot(*along), rest_matrix(head, along), **fields)


def rig(*rows):
    """Bones of rows (name, parent's name, head, tail, further fields)."""
    place, out = {}, []
    for name, parent, head, tail, *fields in rows:
        place[name] = len(out)
        out.append(bone(name, head, tail, place.get(parent, -1), **(fields[0] if fields else {})))
    return out


def scaled(bones, factor):
    """The same bones in other units."""
    out = []
    for each in bones:
        m = list(each.rest)
        m[12:15] = [factor * v for v in m[12:15]]
        out.append(BoneShot(each.name, each.parent, factor * each.length, tuple(m),
                            connected=each.connected, deform=each.deform))
    return out


# ---- BVH ----

def read_bvh(path):
    """The bones of a BVH file. Joints end at the mean of their children."""
    rows, stack, words = [], [], pathlib.Path(path).read_text(encoding="utf-8").split()
    for n, word in enumerate(words):
        if word == "MOTION":
            break
        if word in ("ROOT", "JOINT", "End"):
            rows.append({"name": "" if word == "End" else words[n + 1],
                         "parent": stack[-1] if stack else -1})
        elif word == "{":
            stack.append(len(rows) - 1)
        elif word == "}":
            stack.pop()
        elif word == "OFFSET":
            x, y, z = (float(v) for v in words[n + 1:n + 4])
            row = rows[stack[-1]]
            up = rows[row["parent"]]["head"] if row["parent"] >= 0 else (0.0, 0.0, 0.0)
            row["head"] = (up[0] + x, up[1] - z, up[2] + y)

    out, place = [], {}
    for n, row in enumerate(rows):
        if not row["name"]:
            continue
        below = [r["head"] for r in rows if r["parent"] == n]
        tail = [sum(p[k] for p in below) / len(below) for k in range(3)]
        if math.dist(tail, row["head"]) < 1e-6:
            tail = [row["head"][0], row["head"][1], row["head"][2] + 0.1]
        place[n] = len(out)
        out.append(bone(row["name"], row["head"], tail, place.get(row["parent"], -1)))
    return out


# ---- glTF ----

class Glb(GlbFile):
    """The first skin of a binary glTF file, and the meshes that it moves."""

    def __init__(self, path):
        super().__init__(path)
        self._worlds()
        self._bones()
        self._skin()

    def _worlds(self):
        """The matrices of all nodes, column after column; y up becomes z up."""
        nodes = self.doc["nodes"]
        self.world = {}
        turned = (1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1)

        def world(n):
            if n not in self.world:
                above = world(self.up[n]) if n in self.up else turned
                self.world[n] = multiply(above, local_matrix(nodes[n]))
            return self.world[n]

        for n in range(len(nodes)):
            world(n)

    def _bones(self):
        """One bone per joint, at the pose in which the skin was bound."""
        skin = self.doc["skins"][0]
        self.joints = skin["joints"]
        self.place = place = self.world[self._skin_root()]
        binds = self.rows(skin["inverseBindMatrices"])
        rest = {node: multiply(place, inverted(m)) for node, m in zip(self.joints, binds)}

        order = sorted(self.joints, key=self._depth)
        at = {node: n for n, node in enumerate(order)}
        self.bone_of = {n: at[node] for n, node in enumerate(self.joints)}
        self.bones = []
        for node in order:
            m = rest[node]
            below = [rest[c][12:15] for c in self.doc["nodes"][node].get("children", ())
                     if c in rest]
            head = m[12:15]
            size = math.hypot(*m[4:7])
            axes = [v / size for v in m[:12]]
            length = sum(math.dist(head, p) for p in below) / len(below) if below else 0.0
            up = self.up.get(node)
            if not length:
                length = math.dist(head, rest[up][12:15]) if up in rest else 1.0
            self.bones.append(BoneShot(
                self.doc["nodes"][node].get("name", f"Node_{node}"), at.get(up, -1), length or 1.0,
                (*axes, *head, 1.0)))

    def _skin_root(self):
        """The node above all joints: its matrix holds for the bind pose."""
        top = self.joints[0]
        while top in self.up and self.up[top] in self.joints:
            top = self.up[top]
        return self.up.get(top, top)

    def _depth(self, node):
        depth = 0
        while node in self.up:
            node, depth = self.up[node], depth + 1
        return depth

    def _skin(self):
        """Vertices, triangles and weights in the order of skelpy.fit.Skin."""
        self.vertices, self.triangles = [], []
        self.offsets, self.weight_bones, self.weights = [0], [], []
        for node in self.doc["nodes"]:
            if "skin" not in node:
                continue
            for part in self.doc["meshes"][node["mesh"]]["primitives"]:
                self._primitive(part)

    def _primitive(self, part):
        first = len(self.vertices) // 3
        names = part["attributes"]
        points = self.rows(names["POSITION"])
        for p in points:
            self.vertices += transform(self.place, p)
        rows = [(n,) for n in range(len(points))]
        if "indices" in part:
            rows = self.rows(part["indices"])
        self.triangles += [first + row[0] for row in rows]
        for joints, weights in zip(self.rows(names["JOINTS_0"]), self.rows(names["WEIGHTS_0"])):
            for joint, weight in zip(joints, weights):
                if weight > 0:
                    self.weight_bones.append(self.bone_of[joint])
                    self.weights.append(weight)
            self.offsets.append(len(self.weights))


def local_matrix(node):
    if "matrix" in node:
        return tuple(node["matrix"])
    x, y, z, w = node.get("rotation", (0, 0, 0, 1))
    sx, sy, sz = node.get("scale", (1, 1, 1))
    return (sx * (1 - 2 * (y * y + z * z)), sx * 2 * (x * y + z * w), sx * 2 * (x * z - y * w), 0,
            sy * 2 * (x * y - z * w), sy * (1 - 2 * (x * x + z * z)), sy * 2 * (y * z + x * w), 0,
            sz * 2 * (x * z + y * w), sz * 2 * (y * z - x * w), sz * (1 - 2 * (x * x + y * y)), 0,
            *node.get("translation", (0, 0, 0)), 1)


def multiply(a, b):
    return tuple(sum(a[4 * k + r] * b[4 * c + k] for k in range(4))
                 for c in range(4) for r in range(4))


def transform(m, p):
    return [m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r] for r in range(3)]


def inverted(m):
    """The inverse of an affine matrix."""
    a, b, c, t = m[0:3], m[4:7], m[8:11], m[12:15]
    det = sum(x * y for x, y in zip(a, _cross(b, c)))
    rows = [[v / det for v in _cross(*pair)] for pair in ((b, c), (c, a), (a, b))]
    back = [-sum(row[k] * t[k] for k in range(3)) for row in rows]
    return (rows[0][0], rows[1][0], rows[2][0], 0.0, rows[0][1], rows[1][1], rows[2][1], 0.0,
            rows[0][2], rows[1][2], rows[2][2], 0.0, *back, 1.0)
