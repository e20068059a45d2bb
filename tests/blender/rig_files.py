# SPDX-License-Identifier: BSD-3-Clause
"""Rigs to try the add-on with: files that others made (.glb, .bvh), Rigify's metarigs, and some
that are built here. Runs inside Blender; each function returns the armature."""

import math
import os
import sys

import bpy
from mathutils import Matrix, Quaternion, Vector

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "python")]

import dump_rig  # noqa: E402
from glb_file import GlbFile  # noqa: E402

SHARED = os.path.join(HERE, *[".."] * 3, "shared", "data", "rigs")
Y_UP = Matrix(((1, 0, 0, 0), (0, 0, -1, 0), (0, 1, 0, 0), (0, 0, 0, 1)))


def activate(ob):
    bpy.ops.object.select_all(action="DESELECT")
    ob.select_set(True)
    bpy.context.view_layer.objects.active = ob


def add_armature(name, bones):
    """bones: (name, parent or -1, rest matrix, length)."""
    data = bpy.data.armatures.new(name)
    ob = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(ob)
    activate(ob)
    bpy.ops.object.mode_set(mode="EDIT")
    edit = []
    for label, parent, rest, length in bones:
        bone = data.edit_bones.new(label)
        bone.head, bone.tail = (0, 0, 0), (0, length, 0)
        bone.matrix = rest
        bone.length = length
        bone.parent = edit[parent] if parent >= 0 else None
        edit.append(bone)
    bpy.ops.object.mode_set(mode="OBJECT")
    return ob


def add_skin(ob, name, points, triangles, weights):
    """weights: {bone: [(vertex, weight), ...]}."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], triangles)
    skin = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(skin)
    for bone, pairs in weights.items():
        group = skin.vertex_groups.new(name=bone)
        for vertex, weight in pairs:
            group.add([vertex], weight, "REPLACE")
    skin.parent = ob
    skin.modifiers.new("Armature", "ARMATURE").object = ob
    return skin


# ---- glTF ----

def world_matrices(file):
    """The matrices of all nodes, as the file stands."""
    nodes, known = file.doc["nodes"], {}

    def world(k):
        if k not in known:
            node = nodes[k]
            if "matrix" in node:
                own = matrix_of(node["matrix"])
            else:
                x, y, z, w = node.get("rotation", (0, 0, 0, 1))
                own = Matrix.LocRotScale(Vector(node.get("translation", (0, 0, 0))),
                                         Quaternion((w, x, y, z)),
                                         Vector(node.get("scale", (1, 1, 1))))
            known[k] = world(file.up[k]) @ own if k in file.up else own
        return known[k]
    return [world(k) for k in range(len(nodes))]


def matrix_of(numbers):
    """Of numbers column after column."""
    return Matrix([numbers[0::4], numbers[1::4], numbers[2::4], numbers[3::4]])


def load_glb(name, turn=None):
    """A character of the shared rigs at its bind pose. Bones point at the mean of their children,
    as importers draw them, unless `turn` (a matrix) turns their axes."""
    file = GlbFile(os.path.join(SHARED, f"{name}.glb"))
    document, skin = file.doc, file.doc["skins"][0]
    joints, world, parents = skin["joints"], world_matrices(file), file.up
    inverse = [matrix_of(m) for m in file.rows(skin["inverseBindMatrices"])]
    place = Y_UP @ world[joints[0]] @ inverse[0]        # the bind pose where the file puts its root
    rest = [place @ m.inverted() for m in inverse]
    number = {node: k for k, node in enumerate(joints)}
    children = [[number[c] for c in document["nodes"][node].get("children", ()) if c in number]
                for node in joints]

    order, above = [], {}
    for k, node in enumerate(joints):
        up = parents.get(node)
        while up is not None and up not in number:
            up = parents.get(up)
        above[k] = number[up] if up is not None else -1
    while len(order) < len(joints):
        order += [k for k in range(len(joints)) if k not in order and
                  (above[k] < 0 or above[k] in order)]

    bones, lengths = [], {}
    for k in order:
        head = rest[k].to_translation()
        ends = [rest[c].to_translation() for c in children[k]]
        up = lengths.get(above[k], 0.1)
        tail = sum(ends, Vector()) / len(ends) if ends else \
            head + rest[k].to_quaternion() @ Vector((0, up * 0.7, 0))
        along = tail - head
        if along.length < 1e-6:
            along = Vector((0, 0, up * 0.5))
        axes = Vector((0, 1, 0)).rotation_difference(along).to_matrix()
        if turn is not None:
            axes = axes @ turn
        lengths[k] = along.length
        name_of = document["nodes"][joints[k]].get("name", f"bone{k}")
        bones.append((name_of, order.index(above[k]) if above[k] >= 0 else -1,
                      Matrix.Translation(head) @ axes.to_4x4(), along.length))
    ob = add_armature(name, bones)

    names = [document["nodes"][node].get("name", f"bone{k}") for k, node in enumerate(joints)]
    for node in document["nodes"]:
        if "mesh" not in node or "skin" not in node:
            continue
        points, triangles, weights = [], [], {}
        for part in document["meshes"][node["mesh"]]["primitives"]:
            first, given = len(points), part["attributes"]
            points += [place @ Vector(p) for p in file.rows(given["POSITION"])]
            flat = [row[0] for row in file.rows(part["indices"])] if "indices" in part else \
                list(range(len(points) - first))
            triangles += [tuple(first + v for v in flat[k:k + 3]) for k in range(0, len(flat), 3)]
            rows = zip(file.rows(given["JOINTS_0"]), file.rows(given["WEIGHTS_0"]))
            for v, (bones_of, weights_of) in enumerate(rows):
                for bone, weight in zip(bones_of, weights_of):
                    if weight > 0:
                        weights.setdefault(names[bone], []).append((first + v, weight))
        add_skin(ob, f"{name} skin", points, triangles, weights)
    activate(ob)
    return ob


# ---- motion capture ----

def load_bvh(name, scale=0.056444):
    """A figure without skin, with its animation."""
    import builtins
    plain = builtins.open
    builtins.open = lambda file, mode="r", *rest, **names: plain(
        file, mode.replace("U", ""), *rest, **names)       # Blender 3.4 with Python 3.11
    try:
        bpy.ops.import_anim.bvh(filepath=os.path.join(SHARED, f"{name}.bvh"), global_scale=scale,
                                use_fps_scale=False, update_scene_fps=False,
                                update_scene_duration=False)
    finally:
        builtins.open = plain
    return bpy.context.object


# ---- Rigify ----

def load_rigify(kind):
    """A generated rig with a skin of capsules and automatic weights."""
    rig, metarig, _skin = dump_rig.make_rig(kind)
    bpy.data.objects.remove(metarig)
    activate(rig)
    return rig


# ---- built here ----

def add_rope(count=60, link=0.015, root=0.2):
    """A chain under a root bone that is much longer than its links."""
    down = Matrix.Rotation(-math.pi / 2, 4, "X")
    bones = [("root", -1, Matrix.Translation((0, 0, 1.5)), root)]
    for k in range(count):
        bones.append((f"string.{k:03}", k, Matrix.Translation((0, root, 1.5 - k * link)) @ down,
                      link))
    return add_armature("rope", bones)
