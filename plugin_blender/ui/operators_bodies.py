# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators of the bodies: shapes that are fitted or edited, and the scale of a character."""

from typing import Any

import bpy
from mathutils import Quaternion

from ..blender import read
from ..blender.rna import Armature, Context, PoseBone
from ..core.algebra import q_conj
from ..core.bone_bodies import BoneBody, bone_bodies, bone_metres
from ..core.errors import UserError
from ..core.roles import body_plan_of, plan_roles
from ..core.work import run
from .jobs import OnArmature, ShortOperator, find_armature


def read_here(context: Context, ob: Armature) -> read.ShotReader:
    """The armature at the current frame."""
    frame = context.scene.frame_current
    return read.ShotReader(context.scene, ob, frame, frame + 1, start_velocity=False)


def _fill_shape(bone: PoseBone, body: BoneBody, metres: float) -> None:
    """Writes a shape into the settings of a bone, in units of the bone."""
    shape, s = body.shape.scaled(1.0 / metres), bone.skel
    if shape.kind == "box":
        s.shape, s.shape_size = "BOX", shape.edges
    else:
        width = 2 * shape.radius
        s.shape, s.shape_size = "CAPSULE", (width, width, shape.length + width)
    s.shape_offset = [v / metres for v in body.centre]
    s.shape_rotation = Quaternion(q_conj(body.axes)).to_euler("XYZ")


class OnBones(OnArmature):
    @classmethod
    def poll(cls: Any, context: Context) -> bool:
        if not context.selected_pose_bones:
            cls.poll_message_set("Select bones in Pose Mode first")
            return False
        return super().poll(context)


class SKEL_OT_edit_shape(OnBones, ShortOperator, bpy.types.Operator):
    """Make the fitted shapes of the selected bones editable: their size, offset and rotation become
    numbers that you can change"""
    bl_idname = "skel.edit_shape"
    bl_label = "Edit Shape"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: Context) -> str:
        ob = find_armature(context)
        reader = read_here(context, ob)
        found = plan_roles(reader.shot)
        shot = run(reader.sample(reader.shot, [reader.shot.frame_start]))
        bodies = bone_bodies(shot, found.plan, found.roles)

        count = 0
        numbers = {bone.blender_name: i for i, bone in enumerate(shot.bones)}
        for bone in context.selected_pose_bones:
            i = numbers.get(bone.name, -1)
            body = bodies[i] if bone.id_data == ob and i >= 0 else None
            if body is not None:
                _fill_shape(bone, body, bone_metres(shot, i))
                count += 1
        if not count:
            raise UserError("None of the selected bones has a body of its own. Select a bone that "
                            "has one, or set its Physics Role to Simulated")
        return f"The shapes of {count} bones can be edited"


class SKEL_OT_reset_to_fit(OnBones, ShortOperator, bpy.types.Operator):
    """Fit the shapes of the selected bones to the skin again"""
    bl_idname = "skel.reset_to_fit"
    bl_label = "Reset to Fit"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: Context) -> str:
        bones = context.selected_pose_bones
        for bone in bones:
            for name in ("shape", "shape_size", "shape_offset", "shape_rotation", "radius"):
                bone.skel.property_unset(name)
        return f"The shapes of {len(bones)} bones are fitted"


class SKEL_OT_fit_scale(OnArmature, ShortOperator, bpy.types.Operator):
    """Set Character Scale so that the character has the size of a real one. Only physics uses it;
    the file stays as it is"""
    bl_idname = "skel.fit_scale"
    bl_label = "Guess Scale"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: Context) -> str:
        ob = find_armature(context)
        shot = read_here(context, ob).shot
        if any(bone.robot for bone in shot.bones):
            raise UserError("A robot has the size that its document says")
        plan = body_plan_of(shot)
        height, factor = plan.height * shot.unit * shot.world_scale, plan.unit_factor
        if factor == 1.0:
            return f"The character is {height:.3g} m high, which is a usual size"
        ob.skel.character_scale *= factor
        return f"The character is {height * factor:.3g} m high in physics, not {height:.3g} m"


CLASSES = (SKEL_OT_edit_shape, SKEL_OT_reset_to_fit, SKEL_OT_fit_scale)
register, unregister = bpy.utils.register_classes_factory(CLASSES)
