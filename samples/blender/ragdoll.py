# SPDX-License-Identifier: BSD-3-Clause
"""A figure tumbles down two steps: bakes it, saves the .blend, renders frames. Inside Blender:
ragdoll.py -- OUT_FOLDER [film]"""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bpy  # noqa: E402

import stage  # noqa: E402

OUT = sys.argv[sys.argv.index("--") + 1]
FRAMES = (1, 12, 17, 22, 28, 60)

scene = stage.empty_file()
scene.frame_start, scene.frame_end = 1, 60
figure = stage.add_figure()
stage.add_body(figure, (0.9, 0.45, 0.15, 1))
things = bpy.data.collections.new("steps")
scene.collection.children.link(things)
for k in range(2):
    stage.add_box(f"step{k}", (-0.9, -0.55 - 0.5 * (1 - k), 0), (0.9, 0.6, 0.28 * (k + 1)),
                  (0.55, 0.6, 0.68, 1), things)
stage.add_box("floor", (-4, -5, -0.05), (4, 3, -0.001), (0.75, 0.78, 0.8, 1))
figure.location.z = 0.57
# It leans forward as it is let go: keyed before the first frame, physics takes over there.
pelvis = figure.pose.bones["pelvis"]
pelvis.rotation_mode = "XYZ"
for frame, lean in ((-8, 0.0), (1, 0.22)):
    pelvis.rotation_euler = (lean, 0, 0)
    pelvis.keyframe_insert("rotation_euler", frame=frame)
figure.skel.obstacles = things
bpy.context.view_layer.update()
assert bpy.ops.skel.bake_physics() == {"FINISHED"}
bpy.ops.wm.save_as_mainfile(filepath=os.path.join(OUT, "ragdoll.blend"))

stage.add_camera(scene, (4.2, -3.2, 1.9), (0, -0.55, 0.75), 50)
stage.workbench(scene, 300, 360)
figure.hide_render = True
film = "film" in sys.argv
for frame in range(1, scene.frame_end + 1) if film else FRAMES:
    scene.frame_set(frame)
    scene.render.filepath = os.path.join(OUT, f"ragdoll_{frame:03}.png")
    scene.render.image_settings.file_format = "PNG"
    bpy.ops.render.render(write_still=True)
