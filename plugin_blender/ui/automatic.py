# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that the add-on chooses unless the user gives them.

A setting NAME that is 0 (or negative) is automatic. NAME_used shows the number that a bake will use
and sets NAME if the user changes it; NAME_auto tells whether NAME is automatic and makes it so.
Both are computed: nothing of them is in the file."""

from typing import Any, Callable, Dict, Optional

from bpy.props import BoolProperty, FloatProperty

from ..blender import preview
from ..blender.rna import Layout
from ..core.presets import PRESETS

Value = Callable[[Any], Optional[float]]
SMALL = 0.001                           # a number to begin with if none is known
NEGATIVE = ("follow", "damping")        # settings whose automatic value is -1, because 0 is a value


def is_automatic(group: Any, name: str) -> bool:
    value = getattr(group, name)
    return value < 0 if name in NEGATIVE else value == 0


# ---- the numbers ----

def _bone_name(group: Any) -> str:
    """The bone that has these settings. Blender cannot tell: the active one is the likeliest."""
    ob = group.id_data
    active = ob.data.bones.active
    bones = [ob.pose.bones[active.name]] if active and active.name in ob.pose.bones else []
    return next((bone.name for bone in (*bones, *ob.pose.bones) if bone.skel == group), "")


def _of_bone(kind: str) -> Value:
    def value(group: Any) -> Optional[float]:
        found = preview.get(group.id_data)
        return getattr(found.numbers, kind).get(_bone_name(group)) if found else None
    return value


def _total_mass(group: Any) -> Optional[float]:
    found = preview.get(group.id_data)
    return found.numbers.total or None if found else None


def _follow_of_bone(group: Any) -> Optional[float]:
    return used_value(group.id_data.skel, "follow")


def _of_preset(name: str) -> Value:
    return lambda group: getattr(PRESETS[group.preset], name)


_VALUES: Dict[str, Dict[str, Value]] = {
    "SkelBone": {"mass": _of_bone("masses"), "radius": _of_bone("radii"),
                 "follow": _follow_of_bone},
    "SkelArmature": {"total_mass": _total_mass, "follow": _of_preset("follow"),
                     "damping": _of_preset("damping")},
}


def used_value(group: Any, name: str) -> Optional[float]:
    """The number that a bake will use; None if it is not known yet."""
    if not is_automatic(group, name):
        return getattr(group, name)
    value = _VALUES[type(group).__name__].get(name)
    return value(group) if value else None


# ---- properties ----

def _used(setting: str, **more: Any) -> Any:
    def get(group: Any) -> float:
        return used_value(group, setting) or 0.0

    def put(group: Any, value: float) -> None:
        setattr(group, setting, value)

    return FloatProperty(get=get, set=put, options={"SKIP_SAVE"}, min=0.0, **more)


def _auto(setting: str) -> Any:
    def get(group: Any) -> bool:
        return is_automatic(group, setting)

    def put(group: Any, automatic: bool) -> None:
        value = -1.0 if setting in NEGATIVE else 0.0
        if not automatic:
            value = used_value(group, setting) or SMALL
        setattr(group, setting, value)

    return BoolProperty(name="Automatic", get=get, set=put, options={"SKIP_SAVE"},
                        description="Let Skel choose the value")


class AutomaticBone:
    """Mixed into the settings of a bone."""
    mass_used: _used("mass", name="Mass", unit="MASS",
                     description="Mass of the bone, computed from its size. Enter a number to set "
                     "it")
    mass_auto: _auto("mass")
    radius_used: _used("radius", name="Radius", subtype="DISTANCE",
                       description="Radius of the bone's shape, from the bound mesh or from the "
                       "length of the bone. Enter a number to set it")
    radius_auto: _auto("radius")
    follow_used: _used("follow", name="Follow", description="Frequency in Hz of the spring that "
                       "pulls the bone towards its animation: the armature's value. Enter a number "
                       "to set it")
    follow_auto: _auto("follow")


class AutomaticArmature:
    """Mixed into the settings of an armature."""
    total_mass_used: _used("total_mass", name="Total Mass", unit="MASS",
                           description="Mass of the whole armature, the sum of its bones. Enter a "
                           "number to set it")
    total_mass_auto: _auto("total_mass")
    follow_used: _used("follow", name="Follow", description="Frequency in Hz of the springs that "
                       "pull bones towards their animation: the preset's value. Enter a number to "
                       "set it")
    follow_auto: _auto("follow")
    damping_used: _used("damping", name="Damping", description="Damping of these springs: the "
                        "preset's value. Enter a number to set it")
    damping_auto: _auto("damping")
    step_auto: _auto("step")


# ---- the panel ----

def _draw_chosen(layout: Layout, group: Any, name: str, label: str) -> None:
    """An automatic setting: its number, greyed; or the word if the number is not known."""
    if used_value(group, name) is not None:
        row = layout.row()
        row.active = False
        row.prop(group, f"{name}_used", text=label)
        return
    split = layout.split(factor=0.4)
    column = split.column()
    column.alignment = "RIGHT"
    column.label(text=label)
    split.prop(group, f"{name}_auto", text="Automatic", toggle=True)


def draw_automatic(layout: Layout, group: Any, *names: str) -> None:
    """Settings that may be automatic: greyed, with the number that will be used; else with a button
    that makes them automatic again. In a library override, where computed properties cannot be
    edited, the setting itself is shown, and its number below."""
    for name in names:
        label, automatic = group.bl_rna.properties[name].name, is_automatic(group, name)
        if group.id_data.override_library:
            layout.prop(group, name, text=f"{label} (auto)" if automatic else label)
            value = used_value(group, name)
            if automatic and value is not None:
                layout.label(text=f"{label}: {value:.3g} is used")
        elif automatic:
            _draw_chosen(layout, group, name, label)
        else:
            row = layout.row(align=True)
            row.prop(group, name, text=label)
            row.prop(group, f"{name}_auto", text="", icon="LOOP_BACK")
