# SPDX-License-Identifier: BSD-3-Clause
"""A character lifts a crate from the floor onto a shelf: hands on the crate, feet planted, knees
and elbows bent to their poles, eyes on the crate, weight above the feet. Inside Blender:
reach.py -- OUT_FOLDER [film]"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bpy  # noqa: E402

import stage  # noqa: E402

OUT, WORDS = sys.argv[sys.argv.index("--") + 1], sys.argv[sys.argv.index("--") + 2:]
FRAMES = (1, 12, 24, 36, 48, 60)
COLOR = (0.16, 0.52, 0.85, 1)
# frame, place of the crate
PATH = ((1, (0.0, -0.45, 0.15)), (6, (0.0, -0.45, 0.15)), (36, (0.0, -0.47, 1.52)),
        (52, (0.0, -0.8, 1.45)), (60, (0.0, -0.8, 1.45)))

scene = stage.empty_file()
scene.frame_start, scene.frame_end = 1, 60
figure = stage.add_figure()
stage.add_body(figure, COLOR)
stage.add_box("floor", (-3, -3, -0.05), (3, 3, -0.001), (0.75, 0.78, 0.8, 1))
stage.add_box("shelf", (-0.6, -1.15, 1.26), (0.6, -0.65, 1.3), (0.55, 0.42, 0.3, 1))
stage.add_box("post", (-0.6, -1.15, 0), (-0.54, -1.09, 1.26), (0.55, 0.42, 0.3, 1))
stage.add_box("post2", (0.54, -1.15, 0), (0.6, -1.09, 1.26), (0.55, 0.42, 0.3, 1))
crate = stage.add_box("crate", (-0.2, -0.15, -0.15), (0.2, 0.15, 0.15), (0.9, 0.6, 0.15, 1))
for frame, place in PATH:
    crate.location = place
    crate.keyframe_insert("location", frame=frame)
scene.frame_set(1)


def empty(name, place, parent=None):
    ob = bpy.data.objects.new(name, None)
    scene.collection.objects.link(ob)
    ob.location, ob.parent = place, parent
    return ob


def goal(bone, target, **fields):
    new = figure.skel_ik.goals.add()
    new.name, new.bone, new.target = bone or "balance", bone, target
    for name, value in fields.items():
        setattr(new, name, value)
    figure.skel_ik.active = len(figure.skel_ik.goals) - 1
    return new


def bend(bone, degrees):
    """How far a bone of the back bends."""
    for axis in "xyz":
        setattr(figure.pose.bones[bone], f"use_ik_limit_{axis}", True)
        setattr(figure.pose.bones[bone], f"ik_min_{axis}", -degrees / 57.3)
        setattr(figure.pose.bones[bone], f"ik_max_{axis}", degrees / 57.3)


for name, degrees in (("belly", 20), ("chest", 20), ("neck", 45), ("head", 45), ("hand.L", 55),
                      ("hand.R", 55)):
    bend(name, degrees)
bones = figure.data.bones
for side in "LR":                                   # knees are hinges that do not bend forward
    shin = figure.pose.bones[f"shin.{side}"]
    shin.lock_ik_y = shin.lock_ik_z = shin.use_ik_limit_x = True
    back = bones[shin.name].x_axis.x > 0
    shin.ik_min_x, shin.ik_max_x = (0, 2.5) if back else (-2.5, 0)
for side, x in (("L", 1), ("R", -1)):
    grip = empty(f"grip.{side}", (x * 0.215, 0.0, -0.02), crate)
    elbow = empty(f"elbow.{side}", (x * 0.9, 1.6, 0.5))
    goal(f"hand.{side}", grip, pole=elbow, chain=0)
    ankle = empty(f"foot.{side}", bones[f"foot.{side}"].head_local)
    knee = empty(f"knee.{side}", (x * 0.35, -2.0, 0.5))
    goal(f"foot.{side}", ankle, end="HEAD", use_orientation=True, pole=knee)
    bpy.context.view_layer.update()
    bpy.ops.skel.keep_angle()
goal("pelvis", empty("upright", (0, 0, 1)), use_position=False, use_orientation=True, priority=2)
bpy.ops.skel.keep_angle()
goal("", empty("balance", (0, -0.06, 0)), kind="CENTRE", priority=1)
goal("head", crate, kind="LOOK", axis="Z", priority=2)
figure.skel_ik.root = "MOVES"
assert bpy.ops.skel.bake_ik() == {"FINISHED"}
bpy.ops.wm.save_as_mainfile(filepath=os.path.join(OUT, "reach.blend"))

stage.add_camera(scene, (3.9, -2.3, 1.35), (0, -0.45, 0.86), 58)
stage.workbench(scene, 300, 360)
figure.hide_render = True
for frame in range(1, 61) if "film" in WORDS else FRAMES:
    scene.frame_set(frame)
    scene.render.filepath = os.path.join(OUT, f"reach_{frame:03}.png")
    bpy.ops.render.render(write_still=True)
