# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels of robots in the tab "Skel". They only draw."""

import bpy

from ..blender import read_robots
from ..blender.rna import Context
from ..core.errors import UserError
from .jobs import armature, find_armature
from .panels import SkelPanel

POSES_SHOWN = 8


class SKEL_PT_robots(SkelPanel, bpy.types.Panel):
    bl_label, bl_idname = "Robots", "SKEL_PT_robots"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, _context: Context) -> bool:
        return True

    def draw(self, context: Context) -> None:
        layout = self.columns()
        layout.operator_context = "INVOKE_DEFAULT"
        layout.operator_menu_enum("skel.import_robot", "preset", text="Import a Robot",
                                  icon="IMPORT")
        if armature(context) is None:
            return
        column = layout.column(align=True)
        column.operator_context = "EXEC_DEFAULT"
        column.operator("skel.extract_dh", text="Write DH Table (Standard)").convention = "standard"
        column.operator("skel.extract_dh", text="Write DH Table (Modified)").convention = "modified"
        layout.operator("skel.export_urdf", icon="EXPORT")


class SKEL_PT_joints(SkelPanel, bpy.types.Panel):
    bl_label, bl_idname = "Robot Joints", "SKEL_PT_joints"

    @classmethod
    def poll(cls, context: Context) -> bool:
        ob = armature(context)
        return ob is not None and "skel_robot" in ob

    def draw(self, context: Context) -> None:
        layout, ob = self.columns(), find_armature(context)
        column = layout.column(align=True)
        try:
            mimics, bones = read_robots.mimics_of(ob), read_robots.joint_bones(ob)
            data = read_robots.robot_data(ob)
        except UserError as error:                  # a user has edited the properties
            column.label(text=str(error), icon="ERROR")
            return
        for bone in bones:
            name = "skel_angle" if bone["joint_type"] == "hinge" else "skel_distance"
            row = column.row()
            row.enabled = bone["joint"] not in mimics       # a driver moves it
            row.prop(bone, name, text=bone["joint"])
        layout.operator("skel.set_joints", text="All to Zero", icon="LOOP_BACK")
        for pose in list(data.get("poses", {}))[:POSES_SHOWN]:
            layout.operator("skel.set_joints", text=f"Pose '{pose}'").pose = pose


CLASSES = (SKEL_PT_robots, SKEL_PT_joints)
register, unregister = bpy.utils.register_classes_factory(CLASSES)
