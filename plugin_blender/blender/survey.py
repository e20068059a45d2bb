# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings about things in Blender's scene that the simulation does not use.

A bake simulates one armature and the obstacles of its collection. Everything else that a user might
expect to act is named here."""

from typing import List, Sequence, Tuple

from ..core.shot import Collider
from .rna import Armature, Object, Scene

FIELDS_OF_OTHERS = {"NONE", "BOID", "GUIDE"}  # no rigid body reacts to these in Blender
NAMES_SHOWN = 3


def _listed(names: List[str]) -> str:
    """'a', 'b' and 2 more."""
    shown = ", ".join(f"'{name}'" for name in names[:NAMES_SHOWN])
    left = len(names) - NAMES_SHOWN
    return f"{shown} and {left} more" if left > 0 else shown


def other_armatures(scene: Scene, ob: Armature) -> List[str]:
    """Armatures that are selected besides the one that is baked."""
    names = [other.name for other in scene.objects
             if other.type == "ARMATURE" and other != ob and other.select_get()]
    if not names:
        return []
    return [f"Only the active armature '{ob.name}' is baked. Also selected, but not baked: "
            f"{_listed(names)}. Make each of them active and bake it by itself"]


def force_fields(scene: Scene) -> List[str]:
    """Force fields, which would move rigid bodies, cloth or particles."""
    names = [other.name for other in scene.objects
             if other.field and other.field.type not in FIELDS_OF_OTHERS and
             other.field.strength != 0 and not other.hide_viewport]
    if not names:
        return []
    return [f"Force fields do not act on bones and are ignored: {_listed(names)}"]


def _bone_of(ob: Armature, other: Object) -> str:
    """The bone that an object is bound to by its parent or by a constraint; "" if to none."""
    if other.parent == ob and other.parent_type == "BONE":
        return other.parent_bone
    for constraint in other.constraints:
        if constraint.type not in ("CHILD_OF", "COPY_TRANSFORMS", "COPY_LOCATION"):
            continue
        if constraint.target == ob and not constraint.mute and constraint.influence > 0:
            return constraint.subtarget
    return ""


def props(scene: Scene, ob: Armature) -> List[Tuple[str, str]]:
    """(object, bone): meshes that are bound to bones of the armature."""
    found = [(other.name, _bone_of(ob, other)) for other in scene.objects if other.type == "MESH"]
    return [(name, bone) for name, bone in found if bone]


def stand_ins(colliders: Sequence[Collider]) -> List[str]:
    """Obstacles whose shape is not that of their mesh."""
    return [f"The obstacle '{c.name}' acts as its bounding box, "
            f"{' x '.join(f'{edge:.3g}' for edge in c.size)} m: only boxes, spheres and planes are "
            "exact. Build it of boxes, or choose the best shape in its Rigid Body settings"
            for c in colliders if not c.exact]


def omissions(scene: Scene, ob: Armature, colliders: Sequence[Collider]) -> List[str]:
    return [*other_armatures(scene, ob), *force_fields(scene), *stand_ins(colliders)]
