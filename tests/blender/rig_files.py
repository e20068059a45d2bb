# SPDX-License-Identifier: BSD-3-Clause
"""Rigs to try the add-on with: files that others made (.glb, .bvh), Rigify's metarigs, and some
that are built here. Runs inside Blender; each function returns the armature."""

import json
import math
import os
import struct

import bmesh
import bpy
from mathutils import Matrix, Quaternion, Vector

SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      *[".."] * 3, "shared", "data", "rigs")
Y_UP = Matrix(((1, 0, 0, 0), (0, 0, -1, 0), (0, 1, 0, 0), (0, 0, 0, 1)))
COMPONENTS = {5120: "b", 5121: "B", 5122: "h", 5123: "H", 5125: "I", 5126: "f"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}

# Radius about the bones of a metarig, in parts of its longest edge; the first word found counts.
RADII = (("f_", 0.006), ("thumb", 0.007), ("palm", 0.01), ("toe", 0.02), ("heel", 0.012),
         ("tail", 0.02), ("feather", 0.006), ("wing", 0.012), ("fin", 0.012), ("shin", 0.03),
         ("foot", 0.02), ("forearm", 0.022), ("hand", 0.016), ("upper_arm", 0.028),
         ("thigh", 0.045), ("shoulder", 0.025), ("pelvis", 0.05), ("breast", 0.03),
         ("spine", 0.062))
FACE = ("face", "nose", "lip", "jaw", "ear", "brow", "lid", "forehead", "temple", "eye", "cheek",
        "chin", "teeth", "tongue", "beak")
VOXELS = 90                         # of a remeshed skin, along its longest edge


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

class Glb:
    """A binary glTF file with one skin."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        at, self.blob = 12, b""
        while at < len(data):
            length, kind = struct.unpack_from("<II", data, at)
            chunk = data[at + 8:at + 8 + length]
            if kind == 0x4E4F534A:
                self.document = json.loads(chunk)
            else:
                self.blob = chunk
            at += 8 + length

    def numbers(self, index):
        """Rows of an accessor."""
        accessor = self.document["accessors"][index]
        view = self.document["bufferViews"][accessor["bufferView"]]
        kind, width = COMPONENTS[accessor["componentType"]], WIDTHS[accessor["type"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride") or struct.calcsize(kind) * width
        return [struct.unpack_from(f"<{width}{kind}", self.blob, start + k * stride)
                for k in range(accessor["count"])]

    def matrices(self):
        """World matrices of all nodes as the file stands."""
        nodes = self.document["nodes"]
        parents = {child: k for k, node in enumerate(nodes) for child in node.get("children", ())}
        known = {}

        def world(k):
            if k not in known:
                node = nodes[k]
                if "matrix" in node:
                    m = node["matrix"]
                    own = Matrix([m[0::4], m[1::4], m[2::4], m[3::4]])
                else:
                    x, y, z, w = node.get("rotation", (0, 0, 0, 1))
                    own = Matrix.LocRotScale(Vector(node.get("translation", (0, 0, 0))),
                                             Quaternion((w, x, y, z)),
                                             Vector(node.get("scale", (1, 1, 1))))
                known[k] = world(parents[k]) @ own if k in parents else own
            return known[k]
        return [world(k) for k in range(len(nodes))], parents


def load_glb(name, turn=None):
    """A character of the shared rigs at its bind pose. Bones point at the mean of their children,
    as importers draw them, unless `turn` (a matrix) turns their axes."""
    file = Glb(os.path.join(SHARED, f"{name}.glb"))
    document, skin = file.document, file.document["skins"][0]
    joints = skin["joints"]
    world, parents = file.matrices()
    inverse = [Matrix([m[0::4], m[1::4], m[2::4], m[3::4]])
               for m in file.numbers(skin["inverseBindMatrices"])]
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
            points += [place @ Vector(p) for p in file.numbers(given["POSITION"])]
            flat = [row[0] for row in file.numbers(part["indices"])] if "indices" in part else \
                list(range(len(points) - first))
            triangles += [tuple(first + v for v in flat[k:k + 3]) for k in range(0, len(flat), 3)]
            rows = zip(file.numbers(given["JOINTS_0"]), file.numbers(given["WEIGHTS_0"]))
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

def _radius(bone, size):
    name = bone.name.lower()
    if name.startswith(FACE):
        return 0.0
    return size * next((share for word, share in RADII if word in name), 0.02)


def _shell(metarig, size):
    """One closed mesh about the bones of a metarig."""
    shell = bmesh.new()
    for bone in metarig.data.bones:
        radius = _radius(bone, size)
        if not radius:
            continue
        for at in (bone.head_local, bone.tail_local):
            bmesh.ops.create_icosphere(shell, subdivisions=3, radius=radius,
                                       matrix=Matrix.Translation(at))
        along = bone.tail_local - bone.head_local
        turn = Vector((0, 0, 1)).rotation_difference(along).to_matrix().to_4x4()
        middle = Matrix.Translation((bone.head_local + bone.tail_local) / 2) @ turn
        bmesh.ops.create_cone(shell, cap_ends=True, segments=24, radius1=radius, radius2=radius,
                              depth=along.length, matrix=middle)
    mesh = bpy.data.meshes.new("skin")
    shell.to_mesh(mesh)
    shell.free()
    skin = bpy.data.objects.new("skin", mesh)
    bpy.context.collection.objects.link(skin)
    activate(skin)
    mesh.remesh_voxel_size = size / VOXELS
    bpy.ops.object.voxel_remesh()
    return skin


def load_rigify(kind):
    """A generated rig with a skin of capsules and automatic weights."""
    bpy.ops.preferences.addon_enable(module="rigify")
    getattr(bpy.ops.object, f"armature_{kind}_metarig_add")()
    metarig = bpy.context.object
    bpy.ops.pose.rigify_generate()
    rig = bpy.context.object
    ends = [p for bone in metarig.data.bones for p in (bone.head_local, bone.tail_local)]
    size = max(max(p[k] for p in ends) - min(p[k] for p in ends) for k in range(3))
    skin = _shell(metarig, size)
    bpy.data.objects.remove(metarig)
    activate(rig)
    skin.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
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
