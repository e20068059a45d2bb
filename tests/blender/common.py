# SPDX-License-Identifier: BSD-3-Clause
"""What the tests inside Blender share: armatures built by hand, and looks at the result."""

import math
import os
import sys
from array import array

import bpy
from mathutils import Euler, Matrix, Vector

MODES = ("QUATERNION", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "AXIS_ANGLE")
TEMP = os.environ["SKEL_TEMP"]

# name, parent, head, tail, roll, connected; metres, z up, facing -y, left is +x. The arms and legs
# are bent a little; shoulders, hips and head stand off their parents.
HUMANOID = [
    ("pelvis", None, (0, 0, 0.95), (0, 0, 1.08), 0.0, False),
    ("belly", "pelvis", (0, 0, 1.08), (0, 0.01, 1.25), 0.2, True),
    ("chest", "belly", (0, 0.01, 1.25), (0, 0, 1.48), -0.1, True),
    ("neck", "chest", (0, 0, 1.5), (0, -0.01, 1.58), 0.0, False),
    ("head", "neck", (0, -0.01, 1.58), (0, -0.02, 1.78), 0.4, True),
]
for _s, _x in (("L", 1), ("R", -1)):
    HUMANOID += [
        (f"upper_arm.{_s}", "chest", (_x * 0.2, 0, 1.44), (_x * 0.28, 0.01, 1.14), 0.3 * _x, False),
        (f"forearm.{_s}", f"upper_arm.{_s}", (_x * 0.28, 0.01, 1.14), (_x * 0.31, -0.06, 0.9), 0.1,
         True),
        (f"hand.{_s}", f"forearm.{_s}", (_x * 0.31, -0.06, 0.9), (_x * 0.32, -0.09, 0.74), 0.0,
         True),
        (f"thigh.{_s}", "pelvis", (_x * 0.09, 0, 0.93), (_x * 0.1, -0.02, 0.5), 0.7 * _x, False),
        (f"shin.{_s}", f"thigh.{_s}", (_x * 0.1, -0.02, 0.5), (_x * 0.1, 0.02, 0.09), 0.0, True),
        (f"foot.{_s}", f"shin.{_s}", (_x * 0.1, 0.02, 0.09), (_x * 0.11, -0.16, 0.03), 0.0, True),
    ]


def clear():
    """An empty file, with the add-on still on."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    enable()
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = 24, 1.0
    scene.frame_start, scene.frame_end = 1, 40
    return scene


def enable():
    import addon_utils
    module = os.environ.get("SKEL_MODULE", "skel")
    loaded = addon_utils.enable(module, default_set=False)
    assert loaded is not None, f"the add-on {module} does not start"
    return loaded


class Addon:
    """The modules of the add-on by their names, whatever folder they are in."""

    def __getattr__(self, name):
        package = os.environ.get("SKEL_MODULE", "skel")
        for folder in ("core", "blender", "ui"):
            if f"{package}.{folder}.{name}" in sys.modules:
                return sys.modules[f"{package}.{folder}.{name}"]
        return getattr(sys.modules[package], name)


def addon():
    return Addon()


def report_of(ob):
    """The report of the armature's last bake."""
    return addon().operators.REPORTS.get(ob)


def ik_report_of(ob):
    return addon().operators_ik.REPORTS.get(ob)


def read_shot(ob, first, last, step=1, **settings):
    """The shot of an armature, without samples."""
    return addon().read.ShotReader(bpy.context.scene, ob, first, last, step, **settings).shot


def read_plan(ob, first, last, step=1, **settings):
    """Generator: the plan of an armature's shot, as the operator has it."""
    skel = addon()
    reader = skel.read.ShotReader(bpy.context.scene, ob, first, last, step, **settings)
    roles = skel.roles.plan_roles(reader.shot)
    shot = yield from reader.sample(reader.shot, *skel.roles.frames_needed(reader.shot, roles))
    return skel.plan.make_plan(shot, roles)


def key_every_frame(ob, every=True):
    """No key is removed, so that a test finds the value of each frame in a key of its own; or as
    the add-on does it by default."""
    names = ("key_tolerance", "key_angle_tolerance")
    defaults = addon().shot.Settings()
    for name in names:
        setattr(ob.skel, name, 0.0 if every else getattr(defaults, name))


def add_armature(rows, name="figure", scale=1.0):
    """Bakes of it have keys at every frame."""
    data = bpy.data.armatures.new(name)
    ob = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(ob)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    for bone, parent, head, tail, roll, connected in rows:
        edit = data.edit_bones.new(bone)
        edit.head, edit.tail, edit.roll = Vector(head) * scale, Vector(tail) * scale, roll
        if parent:
            edit.parent = data.edit_bones[parent]
            edit.use_connect = connected
    bpy.ops.object.mode_set(mode="OBJECT")
    key_every_frame(ob)
    return ob


def chain(count, length=0.1, name="chain", height=2.0):
    rows = [(f"link{k}", f"link{k - 1}" if k else None, (k * length, 0, height),
             ((k + 1) * length, 0, height), 0.0, k > 0) for k in range(count)]
    return add_armature(rows, name)


def all_modes(ob):
    for k, bone in enumerate(ob.pose.bones):
        bone.rotation_mode = MODES[k % len(MODES)]


def pose(ob, seed=1, size=0.2):
    """Every bone turned a little, in its own mode; unkeyed."""
    for k, bone in enumerate(ob.pose.bones):
        angles = [size * math.sin(seed + 1.7 * k + n) for n in range(3)]
        bone.matrix_basis = Euler(angles).to_matrix().to_4x4()
    bpy.context.view_layer.update()


def key_all(ob, frame):
    for bone in ob.pose.bones:
        bone.keyframe_insert("location", frame=frame)
        path = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
        bone.keyframe_insert(path.get(bone.rotation_mode, "rotation_euler"), frame=frame)


def curves(ob, action=None):
    """{(path, index): curve} of an object's action."""
    compat = addon().compat
    action = action or ob.animation_data.action
    return {(c.data_path, c.array_index): c for c in compat.curves_of(action, ob)}


def dump_action(action):
    """Every bit of an action that a user can see: curves, groups, keys with all their fields."""
    bags = [action]
    if hasattr(action, "layers"):
        bags = [bag for layer in action.layers for strip in layer.strips
                for bag in strip.channelbags]
    out = []
    for bag in bags:
        for curve in bag.fcurves:
            keys = addon().write.read_keys(curve.keyframe_points)
            out.append((curve.data_path, curve.array_index, curve.group.name if curve.group else "",
                        {name: numbers.tobytes() for name, numbers in keys.items()}))
    return out


def dump_file():
    """What a cancelled operator must leave as it was."""
    return {"actions": {a.name: dump_action(a) for a in bpy.data.actions},
            "scenes": [s.name for s in bpy.data.scenes],
            "frames": [s.frame_current for s in bpy.data.scenes],
            "objects": [(o.name, o.users, o.animation_data is not None and
                         (o.animation_data.action.name if o.animation_data.action else None),
                         [tuple(v) for v in o.matrix_basis]) for o in bpy.data.objects],
            "bones": [(b.name, [tuple(v) for v in b.matrix_basis], b.rotation_mode)
                      for o in bpy.data.objects if o.type == "ARMATURE" for b in o.pose.bones]}


def bone_matrices(ob, frames):
    """[frame][bone name] -> world matrix, as the user sees it."""
    scene, out = bpy.context.scene, []
    for frame in frames:
        scene.frame_set(frame)
        out.append({bone.name: ob.matrix_world @ bone.matrix for bone in ob.pose.bones})
    return out


def buffer(kind, count):
    return array(kind, bytes(array(kind).itemsize * count))


def rigid(position, quaternion):
    from mathutils import Quaternion
    return Matrix.Translation(position) @ Quaternion(quaternion).to_matrix().to_4x4()
