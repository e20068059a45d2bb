# SPDX-License-Identifier: GPL-3.0-or-later
"""skelpy, from beside this folder (the zip) or from a wheel."""

try:
    from .. import skelpy
    from ..skelpy import edit, rig, scene
except ImportError:
    import skelpy
    from skelpy import edit, rig, scene

skelpy.ignore_environment()     # the library is the one that came with the add-on

__all__ = ["edit", "rig", "scene", "skelpy"]
