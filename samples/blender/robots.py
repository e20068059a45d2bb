# SPDX-License-Identifier: BSD-3-Clause
"""Robots of the bundle in poses of their own, and one that welds along a ring. Inside Blender:
robots.py -- OUT_FOLDER [film]"""

import math
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bpy  # noqa: E402
from mathutils import Matrix  # noqa: E402

import stage  # noqa: E402

OUT, WORDS = sys.argv[sys.argv.index("--") + 1], sys.argv[sys.argv.index("--") + 2:]
# robot, where it stands, degrees and metres
ROBOTS = (("puma560", (-2.3, 0, 0.8), "30 60 -150 0 60 0"),
          ("ur5", (-1.2, 0, 0.35), "-40 -70 90 -110 -90 0"),
          ("kuka_lbr_iiwa7", (0, 0, 0.35), "20 35 0 -80 0 60 0"),
          ("stanford", (1.15, 0, 0.35), "-60 50 0.7 0 40 0"),
          ("franka_panda", (2.2, 0, 0.35), "-60 -30 0 -130 0 100 45"))

scene = stage.empty_file()
scene.frame_start, scene.frame_end = 1, 48
stage.add_box("floor", (-5, -4, -0.05), (5, 4, -0.001), (0.75, 0.78, 0.8, 1))
made = {}
for name, place, joints in ROBOTS:
    assert bpy.ops.skel.import_robot(preset=name) == {"FINISHED"}
    robot = made[name] = bpy.context.view_layer.objects.active
    assert bpy.ops.skel.set_joints(values=joints, degrees=True) == {"FINISHED"}
    robot.location = place
    robot.hide_render = True
    x, y, z = place
    stage.add_box(f"{name} stand", (x - 0.16, y - 0.16, 0), (x + 0.16, y + 0.16, z),
                  (0.45, 0.48, 0.52, 1))

# The third one leads its tool around a ring, pointing down, by inverse kinematics.
arm = made["kuka_lbr_iiwa7"]
seam = bpy.data.objects.new("seam", None)
scene.collection.objects.link(seam)
for frame in range(1, 49, 4):
    turn = 2 * math.pi * (frame - 1) / 48
    seam.matrix_world = Matrix.Translation((0.18 * math.cos(turn), -0.55 + 0.18 * math.sin(turn),
                                            0.75)) @ Matrix.Rotation(math.pi, 4, "X")
    seam.keyframe_insert("location", frame=frame)
    seam.keyframe_insert("rotation_euler", frame=frame)
goal = arm.skel_ik.goals.add()
goal.name, goal.bone, goal.target, goal.end = "weld", "tool", seam, "HEAD"
goal.use_orientation = True
bpy.context.view_layer.objects.active = arm
scene.frame_set(1)
assert bpy.ops.skel.bake_ik() == {"FINISHED"}
ring = bpy.data.meshes.new("ring")
points, faces = [], []
for k in range(48):
    for n in range(8):
        a, b = 2 * math.pi * k / 48, 2 * math.pi * n / 8
        r = 0.18 + 0.012 * math.cos(b)
        points.append((r * math.cos(a), -0.55 + r * math.sin(a), 0.735 + 0.012 * math.sin(b)))
        faces.append((8 * k + n, 8 * ((k + 1) % 48) + n, 8 * ((k + 1) % 48) + (n + 1) % 8,
                      8 * k + (n + 1) % 8))
ring.from_pydata(points, [], faces)
shown = bpy.data.objects.new("ring", ring)
shown.color = (0.2, 0.6, 0.35, 1)
scene.collection.objects.link(shown)
bpy.ops.wm.save_as_mainfile(filepath=os.path.join(OUT, "robots.blend"))

stage.add_camera(scene, (1.0, -7.0, 2.4), (0, 0, 0.78), 46)
stage.workbench(scene, 1200, 480)
for frame in range(1, 49) if "film" in WORDS else (10,):
    scene.frame_set(frame)
    scene.render.filepath = os.path.join(OUT, f"robots_{frame:03}.png")
    bpy.ops.render.render(write_still=True)
