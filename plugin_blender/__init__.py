# SPDX-License-Identifier: GPL-3.0-or-later
"""Skel: real physics for armatures. The work is done by libskel; this reads, asks and writes."""

bl_info = {
    "name": "Skel",
    "description": "Physics for armatures: ragdolls, tails, soft tissue, torques",
    "author": "the skel authors",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "3D View > Sidebar > Skel",
    "category": "Animation",
}

if "bpy" in locals():  # reloaded: the modules, too
    import importlib
    for _module in (binding, convert, pipeline, compat, bl_read, bl_write, props, ops, panel):
        importlib.reload(_module)

import bpy  # noqa: F401

from . import binding, convert, pipeline, compat, bl_read, bl_write, props, ops, panel

MODULES = (props, ops, panel)


def register():
    for module in MODULES:
        module.register()


def unregister():
    for module in reversed(MODULES):
        module.unregister()
