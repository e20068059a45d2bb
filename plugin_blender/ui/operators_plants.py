# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that add goals for what stands still: pins, and feet on the ground."""

from typing import List

import bpy
from bpy.props import FloatProperty

from ..blender import compat, read, takes, write_goals
from ..blender.rna import Armature, Context
from ..core.errors import UserError
from ..core.foot_plants import PlantSettings, find_feet, plant
from ..core.shot import Shot
from ..core.work import Work
from .jobs import FrameRange, LongOperator, ShortOperator, find_again, find_armature
from .operators_ik import OnGoals

DEFAULTS = PlantSettings()


class SKEL_OT_pin_bone(OnGoals, ShortOperator, bpy.types.Operator):
    """Hold the selected bones where they are and as they are turned, by IK goals with empties.
    Press it again to pin them where they are then"""
    bl_idname = "skel.pin_bone"
    bl_label = "Pin"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: Context) -> str:
        ob = find_armature(context)
        bones = [bone for bone in context.selected_pose_bones or () if bone.id_data == ob]
        if not bones and ob.data.bones.active is not None:
            bones = [ob.pose.bones[ob.data.bones.active.name]]
        if not bones:
            raise UserError("Select the bones to pin in Pose Mode")

        for bone in bones:
            write_goals.pin(ob, context.scene.collection, bone)
        return f"'{bones[0].name}' is pinned" if len(bones) == 1 else f"{len(bones)} bones pinned"


class SKEL_OT_plant_feet(OnGoals, LongOperator, FrameRange, bpy.types.Operator):
    """Find the frames in which feet stand, slow and near the ground, and add IK goals that lock
    them there. Bake Frames then removes the sliding. Select bones to plant them instead of all
    feet"""
    bl_idname = "skel.plant_feet"
    bl_label = "Plant Feet"
    bl_options = {"REGISTER", "UNDO"}

    speed: FloatProperty(name="Speed", default=DEFAULTS.speed, min=0.001, soft_max=1.0,
                         description="A foot that is slower than this stands, in heights of the "
                         "figure per second")
    height: FloatProperty(name="Height", default=DEFAULTS.height, min=0.001, soft_max=0.2,
                          description="How high a standing foot may be above its lowest place "
                          "within half a second, in heights of the figure")
    blend: FloatProperty(name="Blend", default=DEFAULTS.blend, min=0.0, soft_max=1.0, unit="TIME",
                         description="Seconds in which a foot eases into the lock and out of it")

    def work(self, context: Context) -> Work[str]:
        scene, ob = context.scene, find_armature(context)
        first, last, _step = self.frames(context, ob)
        name = ob.name
        with takes.source(ob):
            reader = read.ShotReader(scene, ob, first, last)
            shot = yield from reader.sample(reader.shot, range(first, last + 1))
        settings = PlantSettings(speed=self.speed, height=self.height, blend=self.blend)
        feet = _feet(find_again(name), shot)
        found = plant(shot, feet, settings)
        if not found:
            raise UserError(f"{_listed(shot, feet)}: no frame from {first} to {last} in which it "
                            "stands. Raise Speed or Height, or choose other frames")

        self.closing = True
        ob = find_again(name)
        for each in found:
            bone = ob.pose.bones[shot.bones[each.bone].blender_name]
            write_goals.plant(ob, scene.collection, bone, each.path, shot.frames)
        spans = sum(len(each.spans) for each in found)
        return f"{_listed(shot, [each.bone for each in found])}: planted {spans} times. Press " \
            "Bake Frames to lock them"


def _listed(shot: Shot, bones: List[int]) -> str:
    return ", ".join(f"'{shot.bones[i].blender_name}'" for i in bones)


def _feet(ob: Armature, shot: Shot) -> List[int]:
    """The selected feet, if any is selected; else all; else the selected bones."""
    found = find_feet(shot)
    selected = [i for i, bone in enumerate(shot.bones) if ob.mode == "POSE" and
                compat.is_selected(ob.pose.bones[bone.blender_name])]
    feet = [i for i in found if i in selected] or found or selected
    if not feet:
        raise UserError(f"'{ob.name}' has no bone that is a foot by its place. Select its feet in "
                        "Pose Mode")
    return feet


CLASSES = (SKEL_OT_pin_bone, SKEL_OT_plant_feet)
register, unregister = bpy.utils.register_classes_factory(CLASSES)
