# SPDX-License-Identifier: GPL-3.0-or-later
"""Names for Blender's types. Blender has no type stubs: these names tell readers what is meant, and
type checkers that they must not ask."""

from typing import Any

Action = Any
Armature = Any              # an object of type ARMATURE
AnimData = Any
Collection = Any
Constraint = Any
Context = Any
Curve = Any                 # an F-curve
Depsgraph = Any
Event = Any
ID = Any
Layout = Any
Mesh = Any
Object = Any
PoseBone = Any
Scene = Any
Strip = Any
Track = Any
