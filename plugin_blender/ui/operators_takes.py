# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators of takes and setups."""

from typing import Any, List

import bpy
from bpy.props import StringProperty

from ..blender import setups, take_edit, takes, write
from ..blender.rna import Armature, Context, Event
from ..core.errors import UserError
from ..core.files import save
from ..core.setup import list_names, read_setup, text_of
from .jobs import (OnArmature, ShortOperator, Status, armature, find_armature, is_idle,
                   is_local)


class _OnFreeArmature(OnArmature):
    """An armature that no bake is working on and that can be changed."""

    @classmethod
    def poll(cls: Any, context: Context) -> bool:
        return is_idle(cls) and super().poll(context) and is_local(cls, context)


class _OnTake(_OnFreeArmature):
    """An armature that plays a take."""

    @classmethod
    def poll(cls: Any, context: Context) -> bool:
        if not super().poll(context):
            return False
        ob = find_armature(context)
        is_hidden = ob.animation_data is not None and ob.animation_data.use_tweak_mode
        if takes.current(ob) is None and not is_hidden:
            cls.poll_message_set("No take plays. Bake the armature, or choose one of its takes")
            return False
        return True


def warn(operator: Any, warnings: List[str]) -> None:
    for warning in warnings:
        operator.report({"WARNING"}, warning)


# ---- takes ----

class SKEL_OT_take_keep(ShortOperator, _OnTake, bpy.types.Operator):
    """Keep the take that plays: the next bake makes a new take beside it"""
    bl_idname = "skel.take_keep"
    bl_label = "Keep"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: Context) -> str:
        return f"'{take_edit.keep(find_armature(context))}' is kept, with a fake user"


class SKEL_OT_take_remove(ShortOperator, _OnTake, bpy.types.Operator):
    """Delete the take that plays. The source animation plays again, and what the bake has muted is
    active again"""
    bl_idname = "skel.take_remove"
    bl_label = "Remove"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: Context) -> str:
        words = take_edit.remove(find_armature(context))
        write.refresh(context.scene)
        return words


class SKEL_OT_take_restore(ShortOperator, _OnFreeArmature, bpy.types.Operator):
    """Bring everything back that bakes have changed: the source animation, constraints, drivers,
    NLA tracks, and the pose of bones without keys. Takes stay in the file"""
    bl_idname = "skel.take_restore"
    bl_label = "Restore"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: Context) -> str:
        words = take_edit.restore(find_armature(context))
        write.refresh(context.scene)
        return words


class SKEL_OT_take_use(ShortOperator, _OnFreeArmature, bpy.types.Operator):
    """Play this take. The one that plays now is kept"""
    bl_idname = "skel.take_use"
    bl_label = "Use Take"
    bl_options = {"REGISTER", "UNDO"}

    take: StringProperty(name="Take", description="Name of a take of the same source")

    def run(self, context: Context) -> str:
        words = take_edit.use(find_armature(context), self.take)
        write.refresh(context.scene)
        return words


class SKEL_OT_take_settings(ShortOperator, _OnFreeArmature, bpy.types.Operator):
    """Set the panels to the settings with which the take was made, so that the same bake can be
    done again"""
    bl_idname = "skel.take_settings"
    bl_label = "Use Settings of This Take"
    bl_options = {"REGISTER", "UNDO"}

    take: StringProperty(name="Take", options={"SKIP_SAVE"},
                         description="Name of a take. Empty: the one that plays")

    def run(self, context: Context) -> str:
        words, warnings = take_edit.use_settings(context.scene, find_armature(context), self.take)
        warn(self, warnings)
        return words


# ---- setups ----

class SKEL_OT_setup_save(ShortOperator, _OnFreeArmature, bpy.types.Operator):
    """Save all physics settings of the armature, its bones and its IK goals as a skel-setup/1"""
    bl_idname = "skel.setup_save"
    bl_label = "Save Setup"
    bl_options = {"REGISTER"}

    filepath: StringProperty(name="File", subtype="FILE_PATH", description="File to write")
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def invoke(self, context: Context, _event: Event) -> Status:
        if not self.filepath:
            self.filepath = bpy.path.clean_name(find_armature(context).name) + " setup.json"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context: Context) -> str:
        if not self.filepath:
            raise UserError("Name a file to write")
        path = bpy.path.ensure_ext(bpy.path.abspath(self.filepath), ".json")
        save(path, text_of(setups.document(find_armature(context))))
        return f"Wrote {path}"


class SKEL_OT_setup_load(ShortOperator, _OnFreeArmature, bpy.types.Operator):
    """Set the physics settings of the armature, its bones and its IK goals as in a file. Bones that
    the file does not name keep their settings"""
    bl_idname = "skel.setup_load"
    bl_label = "Load Setup"
    bl_options = {"REGISTER", "UNDO"}

    filepath: StringProperty(name="File", subtype="FILE_PATH", description="File to read")
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def invoke(self, context: Context, _event: Event) -> Status:
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context: Context) -> str:
        ob, path = find_armature(context), bpy.path.abspath(self.filepath)
        with open(path, "rb") as file:
            text = file.read()
        setup, warnings = read_setup(text, path, setups.form(ob))
        warn(self, warnings + setups.put(ob, setup))
        return f"Read the setup of {len(setup.bones)} bones from {path}"


def _others(context: Context) -> List[Armature]:
    """The selected armatures beside the active one that can be changed."""
    own = armature(context)
    return [ob for ob in context.selected_objects
            if ob.type == "ARMATURE" and ob != own and not ob.library]


class SKEL_OT_setup_copy(ShortOperator, _OnFreeArmature, bpy.types.Operator):
    """Copy all physics settings of the active armature, its bones and its IK goals to the other
    selected armatures, by the names of bones"""
    bl_idname = "skel.setup_copy"
    bl_label = "Copy to Selected"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls: Any, context: Context) -> bool:
        if not super().poll(context):
            return False
        if not _others(context):
            cls.poll_message_set("Select the armatures to copy to, and this one last")
            return False
        return True

    def run(self, context: Context) -> str:
        setup, others = setups.read(find_armature(context)), _others(context)
        for ob in others:
            warn(self, setups.put(ob, setup))
        return f"Copied the setup to {list_names([ob.name for ob in others])}"


class SKEL_OT_setup_mirror(ShortOperator, _OnFreeArmature, bpy.types.Operator):
    """Copy the physics settings of the selected bones to the bones on the other side of the body
    (.L and .R, _l and _r, Left and Right)"""
    bl_idname = "skel.setup_mirror"
    bl_label = "Mirror Selected Bones"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls: Any, context: Context) -> bool:
        if not super().poll(context):
            return False
        if not context.selected_pose_bones:
            cls.poll_message_set("In Pose Mode, select the bones to copy from")
            return False
        return True

    def run(self, context: Context) -> str:
        ob = find_armature(context)
        bones = [bone for bone in context.selected_pose_bones if bone.id_data == ob]
        count, missing, both = setups.mirror(ob, bones)
        if missing:
            warn(self, [f"'{ob.name}' has no bone on the other side of {list_names(missing)}"])
        if both:
            warn(self, [f"Both sides are selected, so that neither was changed: "
                        f"{list_names(both)}. Select one side"])
        return f"{count} bones got the settings of the other side"


CLASSES = (SKEL_OT_take_keep, SKEL_OT_take_remove, SKEL_OT_take_restore, SKEL_OT_take_use,
           SKEL_OT_take_settings, SKEL_OT_setup_save, SKEL_OT_setup_load, SKEL_OT_setup_copy,
           SKEL_OT_setup_mirror)
register, unregister = bpy.utils.register_classes_factory(CLASSES)
