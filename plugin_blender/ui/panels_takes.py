# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels of takes and setups in the tab "Skel". They only draw."""

import bpy

from ..blender import take_edit, takes
from ..blender.rna import Context
from .jobs import find_armature
from .panels import SkelPanel

TAKES_SHOWN = 8                 # in the list; the last ones


class SKEL_PT_takes(SkelPanel, bpy.types.Panel):
    bl_label, bl_idname = "Takes", "SKEL_PT_takes"
    bl_parent_id = "SKEL_PT_physics"

    def draw(self, context: Context) -> None:
        layout, ob = self.columns(), find_armature(context)
        source, found, known = take_edit.home(ob), takes.current(ob), take_edit.takes_of(ob)
        playing = found[0] if found else None
        layout.label(text=f"Source: {source.name if source else 'the pose'}", icon="ACTION")
        layout.prop(ob.skel, "new_take")

        # A line per take; the one that plays is pressed.
        column = layout.column(align=True)
        if not known:
            column.label(text="No take yet: press Bake", icon="INFO")
        if len(known) > TAKES_SHOWN:
            column.label(text=f"{len(known) - TAKES_SHOWN} more in the Action Editor")
        for action in known[-TAKES_SHOWN:]:
            row = column.row(align=True)
            row.operator("skel.take_use", text=action.name, depress=action == playing,
                         icon="RADIOBUT_ON" if action == playing else "RADIOBUT_OFF"
                         ).take = action.name
            row.operator("skel.take_settings", text="", icon="PREFERENCES").take = action.name

        row = layout.row(align=True)
        row.operator("skel.take_keep", icon="FAKE_USER_ON")
        row.operator("skel.take_remove", icon="TRASH")
        layout.operator("skel.take_restore", icon="LOOP_BACK")


class SKEL_PT_setup(SkelPanel, bpy.types.Panel):
    bl_label, bl_idname = "Setup", "SKEL_PT_setup"
    bl_parent_id = "SKEL_PT_physics"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, _context: Context) -> None:
        layout = self.columns()
        layout.operator_context = "INVOKE_DEFAULT"
        row = layout.row(align=True)
        row.operator("skel.setup_save", text="Save", icon="EXPORT")
        row.operator("skel.setup_load", text="Load", icon="IMPORT")
        layout.operator("skel.setup_copy", icon="COPYDOWN")
        layout.operator("skel.setup_mirror", icon="MOD_MIRROR")


CLASSES = (SKEL_PT_takes, SKEL_PT_setup)
register, unregister = bpy.utils.register_classes_factory(CLASSES)
