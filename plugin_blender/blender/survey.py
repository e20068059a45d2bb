# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in Blender's scene and takes no part in a simulation, in words for the user.

A bake simulates one armature and the obstacles of its collection. Everything else that a person
would expect to act is named here, so that nothing is left out without a word."""

FIELDS_OF_OTHERS = {"NONE", "BOID", "GUIDE"}  # these move no rigid body in Blender either
NAMES_SHOWN = 3


def _listed(names):
    """'a', 'b' and 2 more."""
    shown = ", ".join(f"'{name}'" for name in names[:NAMES_SHOWN])
    left = len(names) - NAMES_SHOWN
    return f"{shown} and {left} more" if left > 0 else shown


def other_armatures(scene, ob):
    """Armatures that are selected beside the one that is baked."""
    names = [other.name for other in scene.objects
             if other.type == "ARMATURE" and other != ob and other.select_get()]
    if not names:
        return []
    return [f"Only the active armature '{ob.name}' is baked. Also selected, and left as it is: "
            f"{_listed(names)}. Make each of them active and bake it by itself"]


def force_fields(scene):
    """Fields of Blender that would move rigid bodies, cloth or particles."""
    names = [other.name for other in scene.objects
             if other.field and other.field.type not in FIELDS_OF_OTHERS and
             other.field.strength != 0 and not other.hide_viewport]
    if not names:
        return []
    return [f"Force fields do not act on bones, and are left out: {_listed(names)}"]


def _bone_of(ob, other):
    """The bone that an object hangs on: by its parent or by a constraint; "" if by none."""
    if other.parent == ob and other.parent_type == "BONE":
        return other.parent_bone
    for constraint in other.constraints:
        if constraint.type not in ("CHILD_OF", "COPY_TRANSFORMS", "COPY_LOCATION"):
            continue
        if constraint.target == ob and not constraint.mute and constraint.influence > 0:
            return constraint.subtarget
    return ""


def props(scene, ob):
    """[(object, bone)]: meshes that hang on bones of the armature."""
    found = [(other.name, _bone_of(ob, other)) for other in scene.objects if other.type == "MESH"]
    return [(name, bone) for name, bone in found if bone]


def stand_ins(colliders):
    """Obstacles whose mesh is not what is simulated."""
    return [f"The obstacle '{c.name}' acts as its bounding box, "
            f"{' x '.join(f'{edge:.3g}' for edge in c.size)} m: only boxes, balls and planes are "
            "followed exactly. Build it of boxes, or choose the shape that fits best as the shape "
            "of its Rigid Body" for c in colliders if not c.exact]


def omissions(scene, ob, colliders):
    return [*other_armatures(scene, ob), *force_fields(scene), *stand_ins(colliders)]
