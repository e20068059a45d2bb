# SPDX-License-Identifier: BSD-3-Clause
"""Writes armatures with their skin as JSON, for trials of the body plan outside Blender.

blenders.sh run 3.4 -b --factory-startup --python-exit-code 7 --python dump_rig.py -- OUT [KIND ...]

KIND: a metarig of Rigify (human, wolf, cat, horse, bird, basic_human, basic_quadruped, shark). Its
skin is made of capsules about the bones of the metarig, with automatic weights."""

import json
import math
import os
import sys

import bmesh
import bpy
from mathutils import Matrix, Vector

OPERATORS = {"human": "human", "wolf": "wolf", "cat": "cat", "horse": "horse", "bird": "bird",
             "shark": "shark", "basic_human": "basic_human",
             "basic_quadruped": "basic_quadruped"}
# Radius in parts of the longest edge of the metarig; the first word in the name of a bone counts.
RADII = (("f_", 0.006), ("mane", 0.008), ("skull", 0.028), ("head", 0.03), ("neck", 0.04),
         ("lower_leg", 0.028), ("thumb", 0.007), ("palm", 0.01), ("toe", 0.02), ("heel", 0.012),
         ("tail", 0.02), ("feather", 0.006), ("wing", 0.012), ("fin", 0.012), ("shin", 0.03),
         ("foot", 0.02), ("forearm", 0.022), ("hand", 0.016), ("upper_arm", 0.028),
         ("thigh", 0.045), ("shoulder", 0.025), ("pelvis", 0.05), ("breast", 0.03),
         ("spine", 0.062))
HUMAN_RADII = (("spine.006", 0.042), ("spine.005", 0.032), ("spine.004", 0.032),
               ("spine", 0.07))
FACE = ("face", "nose", "lip", "jaw", "ear", "brow", "lid", "forehead", "temple", "eye", "cheek",
        "chin", "teeth", "tongue", "beak")
VOXELS = 90             # along the longest edge


def numbers(matrix):
    """Column after column."""
    return [value for column in matrix.transposed() for value in column]


def dump_bones(armature):
    place = {bone.name: n for n, bone in enumerate(armature.data.bones)}
    return [{"name": bone.name, "parent": place[bone.parent.name] if bone.parent else -1,
             "length": bone.length, "rest": numbers(bone.matrix_local),
             "deform": bone.use_deform, "connected": bone.use_connect}
            for bone in armature.data.bones]


def dump_skin(mesh_object, armature):
    place = {bone.name: n for n, bone in enumerate(armature.data.bones)}
    groups = [place[g.name] if g.name in place and armature.data.bones[g.name].use_deform else -1
              for g in mesh_object.vertex_groups]
    mesh = mesh_object.data
    mesh.calc_loop_triangles()
    skin = {"vertices": [], "triangles": [], "offsets": [0], "bones": [], "weights": []}
    for vertex in mesh.vertices:
        skin["vertices"] += [round(v, 6) for v in vertex.co]
        for each in vertex.groups:
            if groups[each.group] >= 0 and each.weight > 0:
                skin["bones"].append(groups[each.group])
                skin["weights"].append(round(each.weight, 5))
        skin["offsets"].append(len(skin["bones"]))
    for triangle in mesh.loop_triangles:
        skin["triangles"] += list(triangle.vertices)
    return skin


def radius_of(bone, size, kind):
    name = bone.name.lower()
    if name.startswith(FACE):
        return 0.0
    radii = (*HUMAN_RADII, *RADII) if "human" in kind else RADII
    share = next((r for word, r in radii if word in name), 0.02)
    return size * share


def capsules(metarig, size, kind):
    """One closed shell about the bones of a metarig."""
    shell = bmesh.new()
    for bone in metarig.data.bones:
        radius = radius_of(bone, size, kind)
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
    bpy.context.view_layer.objects.active = skin
    mesh.remesh_voxel_size = size / VOXELS
    bpy.ops.object.voxel_remesh()
    return skin


def weigh_by_distance(skin, armature):
    """Weights by distance, if Blender's own method fails."""
    bones = [bone for bone in armature.data.bones if bone.use_deform]
    groups = [skin.vertex_groups.new(name=bone.name) for bone in bones]
    for vertex in skin.data.vertices:
        near = []
        for n, bone in enumerate(bones):
            head, along = bone.head_local, bone.tail_local - bone.head_local
            t = max(0.0, min(1.0, (vertex.co - head).dot(along) / along.length_squared))
            near.append(((vertex.co - head - t * along).length, n))
        near.sort()
        least = near[0][0] + 1e-9
        weights = [(math.exp(-8 * (d / least - 1)), n) for d, n in near[:3]]
        for weight, n in weights:
            groups[n].add([vertex.index], weight / sum(w for w, _ in weights), "REPLACE")


def make_rig(kind):
    """(rig, metarig, skin) of one of Rigify's metarigs."""
    bpy.ops.preferences.addon_enable(module="rigify")
    getattr(bpy.ops.object, f"armature_{OPERATORS[kind]}_metarig_add")()
    metarig = bpy.context.object
    bpy.ops.pose.rigify_generate()
    rig = bpy.context.object
    corners = [p for bone in metarig.data.bones for p in (bone.head_local, bone.tail_local)]
    size = max(max(p[k] for p in corners) - min(p[k] for p in corners) for k in range(3))
    skin = capsules(metarig, size, kind)

    bpy.ops.object.select_all(action="DESELECT")
    skin.select_set(True)
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    weighted = sum(1 for v in skin.data.vertices if v.groups)
    if weighted < 0.9 * len(skin.data.vertices):
        print(f"{kind}: {weighted} of {len(skin.data.vertices)} vertices have automatic weights")
        skin.vertex_groups.clear()
        weigh_by_distance(skin, rig)
    return rig, metarig, skin


def dump(kind, out):
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    rig, metarig, skin = make_rig(kind)
    with open(os.path.join(out, f"{kind}.json"), "w", encoding="utf-8") as file:
        json.dump({"bones": dump_bones(rig), "metarig": dump_bones(metarig),
                   "skin": dump_skin(skin, rig)}, file)
    print(f"{kind}: {len(rig.data.bones)} bones, {len(skin.data.vertices)} vertices")


if __name__ == "__main__":
    arguments = sys.argv[sys.argv.index("--") + 1:]
    for each in arguments[1:] or list(OPERATORS):
        dump(each, arguments[0])
