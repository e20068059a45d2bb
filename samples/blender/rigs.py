# SPDX-License-Identifier: BSD-3-Clause
"""The table of rigs: loads rigs, bakes each with the default settings, measures and renders.

Inside Blender: rigs.py -- OUT_FOLDER [NAME ...]. Writes OUT/NAME.json (figures), OUT/NAME_N.png
(six frames) and OUT/NAME_bodies.png (the bodies, drawn over the skin at rest). Rigs of others are
read from ../shared/data/rigs; where they are missing, they are left out."""

import json
import math
import os
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tests", "blender")]

import bpy  # noqa: E402
from mathutils import Matrix, Quaternion, Vector  # noqa: E402

import rig_files  # noqa: E402
import stage  # noqa: E402

LAST = 48
FRAMES = (1, 8, 14, 20, 28, 48)
TURNED = {"turned_90": Matrix.Rotation(math.pi / 2, 3, "X"),
          "turned_180": Matrix.Rotation(math.pi, 3, "X")}
COINCIDENT = 1e-3           # of a bone's length
LIMB_PARTS = ("thigh", "shin", "foot", "toe")
TRUNK_PARTS = ("pelvis", "spine", "chest", "belly", "collar", "trunk")


def own_figure():
    figure = stage.add_figure()
    stage.add_body(figure, (0.9, 0.45, 0.15, 1))
    rig_files.activate(figure)
    return figure


LOADERS = {
    **{f"rigify_{kind}": (lambda kind=kind: rig_files.load_rigify(kind))
       for kind in ("human", "wolf", "cat", "horse", "bird")},
    **{name: (lambda name=name: rig_files.load_glb(name))
       for name in ("CesiumMan", "RiggedFigure", "Fox", "RiggedSimple")},
    **{name: (lambda turn=turn: rig_files.load_glb("RiggedFigure", turn))
       for name, turn in TURNED.items()},
    "bvh": lambda: rig_files.load_bvh("07_01"),
    "rope": rig_files.add_rope,
    "own": own_figure,
}


# ---- measures ----

def ends_that_coincide(ob):
    """((bone, end), (bone, end), length): ends of deform bones that lie on each other at rest."""
    ends = [(bone.name, end, getattr(bone, f"{end}_local"), bone.length)
            for bone in ob.data.bones if bone.use_deform for end in ("head", "tail")]
    cells = {}
    size = max(end[3] for end in ends)
    for end in ends:
        cells.setdefault(tuple(round(v / (COINCIDENT * size)) for v in end[2]), []).append(end)
    out = []
    for cell in cells.values():
        for k, a in enumerate(cell):
            for b in cell[k + 1:]:
                if a[0] != b[0] and (a[2] - b[2]).length <= COINCIDENT * min(a[3], b[3]):
                    out.append((a[:2], b[:2], min(a[3], b[3])))
    return out


def lowest(scene, ob, skins):
    graph = bpy.context.evaluated_depsgraph_get()
    points = []
    for skin in skins:
        now = skin.evaluated_get(graph)
        points += [(now.matrix_world @ v.co).z for v in now.data.vertices]
    if not skins:
        now = ob.evaluated_get(graph)
        points = [(now.matrix_world @ p).z for b in now.pose.bones for p in (b.head, b.tail)]
    return min(points)


def apart(ob, pair):
    """The distance of two ends, in lengths of the shorter bone."""
    (a, end_a), (b, end_b), length = pair
    return (getattr(ob.pose.bones[a], end_a) - getattr(ob.pose.bones[b], end_b)).length / length


def play(scene, ob, skins, height):
    """(largest distance of ends that coincide, also at the first frame, in lengths; where;
    deepest point, in heights)."""
    torn, deep, worst = 0.0, 0.0, ""
    scene.frame_set(1)
    pairs = [pair for pair in ends_that_coincide(ob) if apart(ob, pair) < COINCIDENT / 10]
    for frame in range(1, LAST + 1):
        scene.frame_set(frame)
        for pair in pairs:
            off = apart(ob, pair)
            if off > torn:
                torn, worst = off, f"{pair[0]}, {pair[1]}, frame {frame}"
        if frame % 4 == 0:
            deep = min(deep, lowest(scene, ob, skins) / height)
    return torn, worst, -deep


def planned(scene, ob):
    """The shot and the body plan, and the time to make them [s]."""
    from skel.blender import read
    from skel.core import roles
    begin = time.process_time()
    reader = read.ShotReader(scene, ob, 1, 2)
    read_s = time.process_time() - begin
    begin = time.process_time()
    plan = roles.body_plan_of(reader.shot)
    return reader.shot, plan, read_s, time.process_time() - begin


def shares(plan):
    """Mass of the trunk, of each leg and of the head, in parts of the whole."""
    def part(some, side=None):
        return sum(b.mass_share for b in plan.bodies
                   if b.part in some and side in (None, b.side))
    return {"trunk": part(TRUNK_PARTS), "leg L": part(LIMB_PARTS, "L"),
            "leg R": part(LIMB_PARTS, "R"), "head": part(("head",))}


def volume_of(shot, plan):
    """The volume of the shapes over that of the skin; None without skin."""
    skin = shot.skin
    if skin is None:
        return None
    points = [Vector(skin.vertices[k:k + 3]) for k in range(0, len(skin.vertices), 3)]
    volume = 0.0
    for k in range(0, len(skin.triangles), 3):
        a, b, c = (points[v] for v in skin.triangles[k:k + 3])
        volume += a.dot(b.cross(c)) / 6
    return sum(body.shape.volume for body in plan.bodies) / abs(volume)


# ---- pictures ----

def draw_bodies(ob, plan):
    """Meshes of the bodies at rest."""
    for body in plan.bodies:
        shape = body.shape
        turn = Quaternion(shape.orientation).to_matrix().to_4x4()
        if shape.kind == "box":
            half = [e / 2 for e in shape.edges]
            thing = stage.add_box("body", [-h for h in half], half, (0.2, 0.5, 0.9, 1))
        else:
            points, faces = stage._capsule(Vector((0, 0, -shape.length / 2)),
                                           Vector((0, 0, shape.length / 2 + 1e-6)), shape.radius)
            mesh = bpy.data.meshes.new("body")
            mesh.from_pydata(points, [], faces)
            thing = bpy.data.objects.new("body", mesh)
            bpy.context.scene.collection.objects.link(thing)
        thing.matrix_world = ob.matrix_world @ Matrix.Translation(shape.centre) @ turn
        thing.color = (0.2, 0.5, 0.9, 1)


def bounds(scene, ob, skins, frames):
    low, high = Vector((1e9,) * 3), Vector((-1e9,) * 3)
    for frame in frames:
        scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for thing in skins or [ob]:
            now = thing.evaluated_get(graph)
            points = [v.co for v in now.data.vertices] if skins else \
                [p for b in now.pose.bones for p in (b.head, b.tail)]
            for p in points:
                q = now.matrix_world @ p
                low = Vector(map(min, low, q))
                high = Vector(map(max, high, q))
    return low, high


def sticks(ob):
    """A mesh that follows the bones of an armature without skin."""
    points, faces, groups = [], [], {}
    for bone in ob.data.bones:
        some, sides = stage._capsule(bone.head_local, bone.tail_local, 0.08 * bone.length, 8, 3)
        groups[bone.name] = [(len(points) + k, 1.0) for k in range(len(some))]
        faces += [tuple(len(points) + k for k in side) for side in sides]
        points += some
    return rig_files.add_skin(ob, "sticks", points, faces, groups)


def render(scene, ob, skins, out, name, plan):
    skins = skins or [sticks(ob)]
    for skin in skins:
        skin.color = (0.9, 0.55, 0.3, 1)
    low, high = bounds(scene, ob, skins, FRAMES)
    middle, size = (low + high) / 2, (high - low).length
    stage.add_box("floor", (middle.x - 9 * size, middle.y - 9 * size, -0.02 * size),
                  (middle.x + 9 * size, middle.y + 9 * size, -0.002 * size), (0.8, 0.82, 0.84, 1))
    away = Vector((1.0, -1.3, 0.5)).normalized() * 1.6 * size
    camera = stage.add_camera(scene, middle + away, middle, 50)
    camera.data.clip_end = 100 * size
    camera.data.clip_start = 0.001 * size
    stage.workbench(scene, 220, 220)
    ob.hide_render = True
    scene.render.image_settings.file_format = "PNG"
    for n, frame in enumerate(FRAMES):
        scene.frame_set(frame)
        scene.render.filepath = os.path.join(out, f"{name}_{n}.png")
        bpy.ops.render.render(write_still=True)
    ob.data.pose_position = "REST"
    scene.frame_set(1)
    draw_bodies(ob, plan)
    scene.display.shading.show_xray = True
    scene.display.shading.xray_alpha = 0.5
    scene.render.filepath = os.path.join(out, f"{name}_bodies.png")
    bpy.ops.render.render(write_still=True)


# ---- a rig ----

def trial(name, out, pictures=True):
    scene = stage.empty_file()
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, LAST
    ob = LOADERS[name]()
    bpy.context.view_layer.update()
    skins = [o for o in scene.objects if o.type == "MESH" and o.find_armature() == ob]
    scene.frame_set(1)
    ob.location.z -= lowest(scene, ob, skins)           # it stands on the ground
    bpy.context.view_layer.update()
    shot, plan, read_s, plan_s = planned(scene, ob)
    if plan.unit_factor != 1.0:
        ob.skel.character_scale = plan.unit_factor
    begin = time.process_time()
    assert bpy.ops.skel.bake_physics() == {"FINISHED"}
    bake_s = time.process_time() - begin
    from skel.ui.operators import REPORTS
    height = max(v.z for v in bounds(scene, ob, skins, [1])) - \
        min(v.z for v in bounds(scene, ob, skins, [1]))
    torn, worst, deep = play(scene, ob, skins, height)
    found = {"name": name, "bones": len(shot.bones), "bodies": len(plan.bodies),
             "creature": plan.creature, "unit_factor": plan.unit_factor, "torn": torn,
             "torn at": worst, "deep": deep, "volume": volume_of(shot, plan),
             "mass": shares(plan), "parts": [f"{shot.bones[b.bone].name}: {b.part} {b.side}"
                                             for b in plan.bodies],
             "read_s": read_s, "plan_s": plan_s, "bake_s": bake_s,
             "warnings": list(REPORTS.get(ob).warnings)}
    with open(os.path.join(out, f"{name}.json"), "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    print(json.dumps({k: v for k, v in found.items() if k != "parts"}))
    if pictures:
        render(scene, ob, skins, out, name, plan)


if __name__ == "__main__":
    given = sys.argv[sys.argv.index("--") + 1:]
    for each in given[1:] or LOADERS:
        if each in ("RiggedFigure", "bvh", *TURNED) and not os.path.isdir(rig_files.SHARED):
            continue
        trial(each, given[0])
