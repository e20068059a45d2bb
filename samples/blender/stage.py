# SPDX-License-Identifier: BSD-3-Clause
"""A figure for the pictures: an armature, and a body bound to it. Runs inside Blender."""

import math

import bpy
from mathutils import Vector

# name, parent, head, tail, connected, thickness; metres, z up, facing -y, left is +x.
BONES = [
    ("pelvis", None, (0, 0, 0.95), (0, 0, 1.08), False, 0.13),
    ("belly", "pelvis", (0, 0, 1.08), (0, 0.01, 1.25), True, 0.12),
    ("chest", "belly", (0, 0.01, 1.25), (0, 0, 1.48), True, 0.14),
    ("neck", "chest", (0, 0, 1.48), (0, -0.01, 1.57), True, 0.06),
    ("head", "neck", (0, -0.01, 1.57), (0, -0.02, 1.78), True, 0.1),
]
for _s, _x in (("L", 1), ("R", -1)):
    BONES += [
        (f"upper_arm.{_s}", "chest", (_x * 0.2, 0, 1.44), (_x * 0.3, 0.01, 1.16), False, 0.05),
        (f"forearm.{_s}", f"upper_arm.{_s}", (_x * 0.3, 0.01, 1.16), (_x * 0.36, -0.07, 0.92), True,
         0.042),
        (f"hand.{_s}", f"forearm.{_s}", (_x * 0.36, -0.07, 0.92), (_x * 0.38, -0.11, 0.77), True,
         0.035),
        (f"thigh.{_s}", "pelvis", (_x * 0.1, 0, 0.93), (_x * 0.12, -0.03, 0.5), False, 0.08),
        (f"shin.{_s}", f"thigh.{_s}", (_x * 0.12, -0.03, 0.5), (_x * 0.12, 0.02, 0.09), True,
         0.055),
        (f"foot.{_s}", f"shin.{_s}", (_x * 0.12, 0.02, 0.09), (_x * 0.13, -0.17, 0.04), True,
         0.045),
    ]


def add_figure(name="figure"):
    data = bpy.data.armatures.new(name)
    ob = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(ob)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    for bone, parent, head, tail, connected, _thickness in BONES:
        edit = data.edit_bones.new(bone)
        edit.head, edit.tail = head, tail
        if parent:
            edit.parent, edit.use_connect = data.edit_bones[parent], connected
    bpy.ops.object.mode_set(mode="OBJECT")
    data.display_type = "STICK"
    return ob


def _capsule(head, tail, radius, around=16, rings=6):
    """Points and faces of a capsule from head to tail."""
    axis = tail - head
    turn = Vector((0, 0, 1)).rotation_difference(axis).to_matrix()
    points, faces = [], []
    for k in range(2 * rings):
        low = k < rings
        angle = (k - rings + (1 if low else 0)) / (rings - 1) * math.pi / 2
        height = radius * math.sin(angle) + (0 if low else axis.length)
        wide = max(radius * math.cos(angle), 1e-4)
        for n in range(around):
            a = 2 * math.pi * n / around
            points.append(head + turn @ Vector((wide * math.cos(a), wide * math.sin(a), height)))
    for k in range(2 * rings - 1):
        for n in range(around):
            m = (n + 1) % around
            faces.append((k * around + n, k * around + m, (k + 1) * around + m,
                          (k + 1) * around + n))
    return points, faces


def add_body(ob, color):
    """A capsule along every bone, in one mesh that follows the armature."""
    mesh = bpy.data.meshes.new("body")
    body = bpy.data.objects.new("body", mesh)
    bpy.context.scene.collection.objects.link(body)
    points, faces, groups = [], [], {}
    for bone, _parent, head, tail, _connected, thickness in BONES:
        some, sides = _capsule(Vector(head), Vector(tail), thickness)
        groups[bone] = range(len(points), len(points) + len(some))
        faces += [tuple(len(points) + k for k in side) for side in sides]
        points += some
    mesh.from_pydata(points, [], faces)
    for polygon in mesh.polygons:
        polygon.use_smooth = True
    for bone, numbers in groups.items():
        body.vertex_groups.new(name=bone).add(list(numbers), 1.0, "ADD")
    body.parent = ob
    body.modifiers.new("Armature", "ARMATURE").object = ob
    body.color = color
    return body


def add_box(name, low, high, color, collection=None):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1])
                      for z in (low[2], high[2])], [],
                     [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4),
                      (1, 5, 7, 3)])
    box = bpy.data.objects.new(name, mesh)
    (collection or bpy.context.scene.collection).objects.link(box)
    box.color = color
    return box


def empty_file():
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    import addon_utils
    addon_utils.enable("skel", default_set=False)
    return bpy.context.scene


def add_camera(scene, place, target, lens=40):
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    camera.location = place
    camera.rotation_euler = (Vector(target) - Vector(place)).to_track_quat("-Z", "Y").to_euler()
    camera.data.lens = lens
    scene.camera = camera
    return camera


def workbench(scene, width, height):
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.resolution_percentage = 100
    shading = scene.display.shading
    shading.light, shading.color_type = "STUDIO", "OBJECT"
    shading.show_shadows = shading.show_cavity = True
    scene.display.render_aa = "8"
    world = bpy.data.worlds.new("world")
    world.color = (0.9, 0.92, 0.95)
    scene.world = world
    shading.background_type = "WORLD"
    scene.view_settings.view_transform = "Standard"
