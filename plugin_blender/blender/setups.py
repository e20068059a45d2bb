# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and sets all settings of an armature, its bones and its goals as a setup (core/setup.py).
The properties of the add-on tell which settings there are."""

from typing import Any, Iterator, List, Sequence, Tuple

import bpy

from ..core import setup as setups
from ..core.names import flip_name
from ..core.setup import Field, Form, Setup
from .rna import ID, Armature, PoseBone

KINDS = {"BOOLEAN": setups.BOOL, "INT": setups.INT, "FLOAT": setups.FLOAT, "STRING": setups.TEXT}
POINTERS = {"Object": setups.OBJECT, "Collection": setups.COLLECTION}


# ---- which settings there are ----

def _field(prop: Any) -> "Field | None":
    """A property as a field; None if it is no setting, or one that only shows another."""
    if prop.is_hidden or prop.is_skip_save or prop.identifier == "rna_type":
        return None
    name, kind = prop.identifier, KINDS.get(prop.type, "")
    if prop.type == "ENUM":
        choices = tuple(item.identifier for item in prop.enum_items)
        if prop.is_enum_flag:
            return Field(name, setups.CHOICES, sorted(prop.default_flag), choices=choices)
        return Field(name, setups.CHOICE, prop.default, choices=choices)
    if prop.type == "POINTER" and prop.fixed_type.identifier in POINTERS:
        return Field(name, POINTERS[prop.fixed_type.identifier])
    if kind in (setups.INT, setups.FLOAT):
        size = prop.array_length
        default = list(prop.default_array) if size else prop.default
        return Field(name, kind, _plain(default), prop.hard_min, prop.hard_max, size=size)
    return Field(name, kind, prop.default) if kind else None


def _fields(group: Any, named: bool = False) -> Tuple[Field, ...]:
    """The settings of a property group. named: its name is one of them."""
    found = (_field(prop) for prop in group.bl_rna.properties
             if named or prop.identifier != "name")
    return tuple(each for each in found if each is not None)


def form(ob: Armature) -> Form:
    """The settings that a setup has."""
    goal = type(ob.skel_ik).bl_rna.properties["goals"].fixed_type
    bone = bpy.types.PoseBone.bl_rna.properties["skel"].fixed_type
    return Form(_fields(ob.skel), _fields(bone), _fields(ob.skel_ik), _fields(goal, named=True))


# ---- reading ----

def _plain(value: Any) -> Any:
    """A value as JSON has it; numbers with few digits."""
    if isinstance(value, float):
        return setups.shortest(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (bool, int, str)):
        return value
    return [_plain(each) for each in value]


def _read(ob: Armature, owner: ID, fields: Sequence[Field]) -> setups.Values:
    out = {}
    for each in fields:
        value = getattr(owner, each.name)
        if each.kind not in POINTERS.values():
            out[each.name] = _plain(value)
        elif value is None:
            out[each.name] = None
        else:
            out[each.name] = True if value == ob else value.name
    return out


def read(ob: Armature) -> Setup:
    """All settings of an armature."""
    has = form(ob)
    return Setup(_read(ob, ob.skel, has.armature),
                 {bone.name: _read(ob, bone.skel, has.bone) for bone in ob.pose.bones},
                 _read(ob, ob.skel_ik, has.ik),
                 [_read(ob, goal, has.goal) for goal in ob.skel_ik.goals])


def document(ob: Armature) -> setups.Values:
    """All settings of an armature as a skel-setup/1."""
    return setups.document_of(read(ob), form(ob))


# ---- setting ----

def _find(ob: Armature, each: Field, value: Any) -> Any:
    """The object or collection that a setting names; None if there is none."""
    if value is True:
        return ob
    known = bpy.data.objects if each.kind == setups.OBJECT else bpy.data.collections
    return known.get(value) if value else None


def _set(ob: Armature, owner: ID, values: setups.Values, fields: Sequence[Field],
         where: str) -> Iterator[str]:
    """Generator: sets settings; yields warnings about things that are not in this file."""
    for each in fields:
        if each.name not in values:
            continue
        value = values[each.name]
        if each.kind in POINTERS.values():
            found = _find(ob, each, value)
            if value and found is None:
                yield f"This file has no {each.kind} '{value}' ({where}{each.name}). Choose another"
            value = found
        elif each.kind == setups.CHOICES:
            value = set(value)
        setattr(owner, each.name, value)


def put(ob: Armature, setup: Setup) -> List[str]:
    """Gives an armature a setup; what the setup does not have stays. Returns warnings."""
    has = form(ob)
    warnings = setups.unknown_bones(setup, [bone.name for bone in ob.pose.bones], ob.name)
    warnings += _set(ob, ob.skel, setup.armature, has.armature, "")
    for bone in ob.pose.bones:
        if bone.name in setup.bones:
            warnings += _set(ob, bone.skel, setup.bones[bone.name], has.bone, "")

    warnings += _set(ob, ob.skel_ik, setup.ik, has.ik, "")
    if setup.goals is not None:
        ob.skel_ik.goals.clear()
        for values in setup.goals:
            name = f"goal '{values['name']}', "
            warnings += _set(ob, ob.skel_ik.goals.add(), values, has.goal, name)
    ob.skel_ik.active = max(0, min(ob.skel_ik.active, len(ob.skel_ik.goals) - 1))
    return warnings


def mirror(ob: Armature, bones: Sequence[PoseBone]) -> Tuple[int, List[str], List[str]]:
    """Gives the settings of bones to those on the other side. Returns (the number of bones that got
    settings, bones whose other side is missing, bones whose other side is among them)."""
    names = {bone.name for bone in bones}
    count, missing, both = 0, [], []
    for bone in bones:
        other = flip_name(bone.name)
        if other == bone.name:
            continue
        if other in names:
            both.append(bone.name)
        elif other not in ob.pose.bones:
            missing.append(bone.name)
        else:
            fields = _fields(bone.skel)
            values = setups.mirrored(_read(ob, bone.skel, fields))
            list(_set(ob, ob.pose.bones[other].skel, values, fields, ""))
            count += 1
    return count, missing, both
