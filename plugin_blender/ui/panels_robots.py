# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels of robots in the tab "Skel". They only draw."""

import bpy

from ..blender import read
from ..core import convert
from . import operators, panels


class SKEL_PT_robots(panels._Panel, bpy.types.Panel):
    bl_label, bl_idname = "Robots", "SKEL_PT_robots"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, _context):
        return True

    def draw(self, context):
        layout, ob = self.columns(), operators.armature(context)
        layout.operator_context = "INVOKE_DEFAULT"
        layout.operator_menu_enum("skel.import_robot", "preset", text="Import a Robot",
                                  icon="IMPORT")
        if ob is None:
            return
        column = layout.column(align=True)
        column.operator_context = "EXEC_DEFAULT"
        column.operator("skel.extract_dh", text="Write DH Table (Standard)").convention = "standard"
        column.operator("skel.extract_dh", text="Write DH Table (Modified)").convention = "modified"
        layout.operator("skel.export_urdf", icon="EXPORT")


class SKEL_PT_joints(panels._Panel, bpy.types.Panel):
    bl_label, bl_idname = "Robot Joints", "SKEL_PT_joints"

    @classmethod
    def poll(cls, context):
        ob = operators.armature(context)
        return ob is not None and "skel_robot" in ob

    def draw(self, context):
        layout, ob = self.columns(), operators.armature(context)
        column = layout.column(align=True)
        try:
            followers, bones, data = (look(ob) for look in (
                read.mimics, read.joint_bones, read.robot_data))
        except convert.Refused as error:            # someone has edited its properties
            column.label(text=str(error), icon="ERROR")
            return
        for bone in bones:
            name = "skel_angle" if bone["joint_type"] == "hinge" else "skel_distance"
            row = column.row()
            row.enabled = bone["joint"] not in followers    # a driver moves it
            row.prop(bone, name, text=bone["joint"])
        layout.operator("skel.set_joints", text="All to Zero", icon="LOOP_BACK")
        for pose in list(data.get("poses", {}))[:8]:
            layout.operator("skel.set_joints", text=f"Pose '{pose}'").pose = pose


CLASSES = (SKEL_PT_robots, SKEL_PT_joints)
register, unregister = bpy.utils.register_classes_factory(CLASSES)
