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

import sys

if "MODULES" in locals():       # Blender reloads the add-on: load its modules again, too
    for _name in list(sys.modules):
        if _name.startswith(tuple(f"{__name__}.{folder}" for folder in ("core", "blender", "ui"))):
            del sys.modules[_name]

from .blender import draw, preview, takes  # noqa: E402
from .ui import (operators, operators_bodies, operators_ik, operators_plants,  # noqa: E402
                 operators_robots, operators_show, operators_takes, panels, panels_ik,
                 panels_robots, panels_takes, properties)

MODULES = (properties, takes, preview, draw, operators, operators_show, operators_bodies,
           operators_takes, panels, panels_takes, operators_ik, operators_plants,
           panels_ik, operators_robots, panels_robots)


def register():
    for module in MODULES:
        module.register()


def unregister():
    for module in reversed(MODULES):
        module.unregister()
