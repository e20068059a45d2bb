# SPDX-License-Identifier: GPL-3.0-or-later
"""Skel: physics, IK and robots for armatures. The work is done by libskel; this reads, asks and
writes."""

bl_info = {
    "name": "Skel",
    "description": "Physics for armatures: ragdolls, tails, torques; IK; robots (DH, URDF)",
    "author": "the skel authors",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "3D View > Sidebar > Skel",
    "category": "Animation",
}

if "bpy" in locals():  # reloaded: the modules, too
    import importlib
    for _module in (binding, convert, pipeline, convert_ik, convert_robot, compat, bl_survey,
                    bl_read, bl_write, props, takes, ops, panel, ik, panel_ik, robots,
                    panel_robots):
        importlib.reload(_module)

import bpy  # noqa: F401

from . import binding, convert, pipeline, convert_ik, convert_robot, compat, bl_survey
from . import bl_read, bl_write
from . import props, takes, ops, panel, ik, panel_ik, robots, panel_robots

MODULES = (props, takes, ops, panel, ik, panel_ik, robots, panel_robots)


def register():
    for module in MODULES:
        module.register()


def unregister():
    for module in reversed(MODULES):
        module.unregister()
