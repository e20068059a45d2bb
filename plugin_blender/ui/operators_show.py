# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that show what a message is about."""

import bpy
from bpy.props import BoolProperty, IntProperty, StringProperty

from ..blender import compat
from ..blender.rna import Armature, Context
from ..core.errors import UserError
from .jobs import OnArmature, ShortOperator, find_armature


def _select(context: Context, ob: Armature, name: str) -> None:
    """Selects one bone of an armature, in pose mode."""
    bone = ob.pose.bones.get(name)
    if bone is None:
        raise UserError(f"'{ob.name}' has no bone '{name}'. It was renamed or deleted")
    if context.mode == "OBJECT":
        context.view_layer.objects.active = ob
        ob.select_set(True)
        bpy.ops.object.mode_set(mode="POSE")
    for other in ob.pose.bones:
        compat.select(other, other == bone)
    ob.data.bones.active = bone.bone


class SKEL_OT_show_problem(OnArmature, ShortOperator, bpy.types.Operator):
    """Select the bone, or go to the frame, that the message is about"""
    bl_idname = "skel.show_problem"
    bl_label = "Show"
    bl_options = {"REGISTER", "UNDO"}

    bone: StringProperty(name="Bone", options={"SKIP_SAVE"},
                         description="Bone to select. Empty: none")
    use_frame: BoolProperty(name="Go to Frame", default=False, options={"SKIP_SAVE"},
                            description="Go to the frame")
    frame: IntProperty(name="Frame", default=1, options={"SKIP_SAVE"},
                       description="Frame to go to")

    def run(self, context: Context) -> str:
        words = []
        if self.bone:
            _select(context, find_armature(context), self.bone)
            words.append(f"'{self.bone}' is selected")
        if self.use_frame:
            context.scene.frame_set(self.frame)
            words.append(f"frame {self.frame}")
        if not words:
            raise UserError("Name a bone or a frame")
        return ", ".join(words)


CLASSES = (SKEL_OT_show_problem,)
register, unregister = bpy.utils.register_classes_factory(CLASSES)
