# SPDX-License-Identifier: GPL-3.0-or-later
"""skelpy, from beside this folder (the zip) or from a wheel."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import skelpy
    from skelpy import edit, fit, rig, scene
else:
    try:
        from .. import skelpy
        from ..skelpy import edit, fit, rig, scene
    except ImportError:
        import skelpy
        from skelpy import edit, fit, rig, scene

skelpy.ignore_environment()     # the library is the one that came with the add-on

__all__ = ["edit", "fit", "rig", "scene", "skelpy"]
