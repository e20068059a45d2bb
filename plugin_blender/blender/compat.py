# SPDX-License-Identifier: GPL-3.0-or-later
"""Every difference between the versions of Blender, 3.4 to 5.x. No other module asks for a version.

4.0  keyframe_points.clear; blf.size without a resolution
4.2  until 4.4: adding a modal handler crashes beside one that lost its operator
4.3  at the latest: keyframe_points.handles_recalc; enums of keys are unsigned bytes
4.4  actions have slots, layers, strips and channel bags; an object uses a slot of its action
5.0  Action.fcurves is removed; PoseBone.select instead of Bone.select; a library override forgets
     settings in a group that the linked object does not have
"""

from typing import Any, Optional, Set

import bpy

from .rna import Action, AnimData, Curve, Object, PoseBone, Strip

HAS_RECALC = bpy.app.version >= (4, 3)
FORGETS_GROUPS = bpy.app.version >= (5, 0)
# The type of array that foreach_set copies into enums of keys without conversion: three times as
# fast as any other.
ENUMS = "B" if bpy.app.version >= (4, 3) else "b"


def can_add_modal(window: Any) -> bool:
    """Whether a modal handler can be added to the window. Disabling an add-on while its modal
    operator runs leaves a handler with a null operator until the next event of the window. Blender
    4.2 to 4.4 dereferences it when another handler is added; fixed in 4.5 (commit 9356b12bd5f)."""
    if not (4, 2) <= bpy.app.version < (4, 5):
        return True
    return all(bpy.types.bpy_struct.as_pointer(op) for op in window.modal_operators)


def set_font_size(blf: Any, points: float) -> None:
    """Of the font that measures labels. blf: the module."""
    if bpy.app.version >= (4, 0):
        blf.size(0, points)
    else:
        blf.size(0, points, 72)


def has_slots() -> bool:
    return hasattr(bpy.types, "ActionSlot")


def is_selected(pose_bone: PoseBone) -> bool:
    return pose_bone.select if hasattr(pose_bone, "select") else pose_bone.bone.select


def select(pose_bone: PoseBone, state: bool = True) -> None:
    if hasattr(pose_bone, "select"):
        pose_bone.select = state
    else:
        pose_bone.bone.select = state


def slot_of(action: Action, ob: Object) -> Any:
    """The slot of an action that an object uses or would use; added if there is none."""
    if not has_slots():
        return None
    used = ob.animation_data.action_slot if ob.animation_data else None
    if used is not None:
        for slot in action.slots:
            if slot.identifier == used.identifier:
                return slot
    for slot in action.slots:
        if slot.target_id_type == "OBJECT" and slot.name_display == ob.name:
            return slot
    return action.slots.new(id_type="OBJECT", name=ob.name)


def _bag(action: Action, slot: Any, ensure: bool) -> Any:
    if not action.layers:
        if not ensure:
            return None
        action.layers.new("Layer")
    layer = action.layers[0]
    if not layer.strips:
        if not ensure:
            return None
        layer.strips.new(type="KEYFRAME")
    return layer.strips[0].channelbag(slot, ensure=ensure)


def curves_of(action: Action, ob: Object) -> Any:
    """The F-curves of an object in an action, for reading; () if there are none."""
    if not has_slots():
        return action.fcurves
    used = ob.animation_data.action_slot if ob.animation_data else None
    slot = None
    if used is not None:
        slot = next((s for s in action.slots if s.identifier == used.identifier), None)
    bag = _bag(action, slot, False) if slot is not None else None
    return bag.fcurves if bag is not None else ()


def slot_handle(data: AnimData) -> int:
    """The handle of the slot that animation data or a strip use of their action; 0: none."""
    slot = data.action_slot if has_slots() else None
    return slot.handle if slot is not None else 0


def _slot_at(action: Action, handle: int) -> Any:
    return next((slot for slot in action.slots if slot.handle == handle), None)


def curves_at(action: Action, handle: int) -> Any:
    """The F-curves of one slot of an action, by its handle."""
    if not has_slots():
        return action.fcurves
    slot = _slot_at(action, handle)
    bag = _bag(action, slot, False) if slot is not None else None
    return bag.fcurves if bag is not None else ()


def remove_empty_groups(action: Action, handle: int, model: Action, model_handle: int) -> None:
    """Removes groups of a slot that have no curves and that another action does not have."""
    groups, known = _groups_at(action, handle), {g.name for g in _groups_at(model, model_handle)}
    used = {curve.group.name for curve in curves_at(action, handle) if curve.group}
    for group in [each for each in groups if each.name not in used | known]:
        groups.remove(group)


def _groups_at(action: Action, handle: int) -> Any:
    """The groups of curves of one slot of an action."""
    if not has_slots():
        return action.groups
    slot = _slot_at(action, handle)
    bag = _bag(action, slot, False) if slot is not None else None
    return bag.groups if bag is not None else ()


def new_slot(action: Action, ob: Object) -> int:
    """Adds a slot for an object to a new action, ready for curves; returns its handle."""
    if not has_slots():
        return 0
    slot = slot_of(action, ob)
    _bag(action, slot, True)
    return slot.handle


def assign(data: AnimData, action: Optional[Action], handle: int) -> None:
    """Lets animation data use a slot of an action."""
    if data.action != action:
        data.action = action
    if has_slots() and action is not None and slot_handle(data) != handle:
        data.action_slot = _slot_at(action, handle)


def paths_of(action: Action) -> Set[str]:
    """Data paths of all curves of an action, in all slots."""
    bags = [action]
    if has_slots():
        bags = [bag for layer in action.layers for strip in layer.strips
                for bag in strip.channelbags]
    return {curve.data_path for bag in bags for curve in bag.fcurves}


class Curves:
    """The F-curves of an object in an action, for writing."""

    def __init__(self, action: Action, ob: Object) -> None:
        self._groups = None
        if has_slots():
            bag = _bag(action, slot_of(action, ob), True)
            self._all, self._groups = bag.fcurves, bag.groups
        else:
            self._all = action.fcurves
        self._known = {(curve.data_path, curve.array_index): curve for curve in self._all}

    def find(self, path: str, index: int) -> Optional[Curve]:
        return self._known.get((path, index))

    def new(self, path: str, index: int, group: str) -> Curve:
        if self._groups is None:
            return self._all.new(path, index=index, action_group=group)
        try:
            return self._all.new(path, index=index, group_name=group)  # 5.0
        except TypeError:                                              # 4.4, 4.5
            curve = self._all.new(path, index=index)
            curve.group = self._groups.get(group) or self._groups.new(group)
            return curve


def is_shut(curve: Curve) -> bool:
    """Whether a curve is locked or muted, itself or with its group."""
    return curve.lock or curve.mute or bool(curve.group and (curve.group.lock or curve.group.mute))


def open_curve(curve: Curve) -> None:
    curve.lock = curve.mute = False
    if curve.group:
        curve.group.lock = curve.group.mute = False


def use_action(ob: Object, action: Action) -> None:
    """Lets an object play an action."""
    data = ob.animation_data or ob.animation_data_create()
    slot = slot_of(action, ob)
    if data.action != action:
        data.action = action
    if slot is not None:
        data.action_slot = slot


def use_in_strip(strip: Strip, action: Action, ob: Object) -> None:
    """Lets an NLA strip play the slot of an object."""
    slot = slot_of(action, ob)
    if slot is not None:
        strip.action_slot = slot


def resize_keys(points: Any, count: int) -> None:
    """Changes the number of keys; their fields must be written afterwards."""
    excess = len(points) - count
    if excess > 0 and count == 0 and hasattr(points, "clear"):
        points.clear()
        return
    for _ in range(excess):
        points.remove(points[-1], fast=True)
    if excess < 0:
        points.add(-excess)


def update_handles(curve: Curve) -> None:
    """FCurve.update() for keys that are in order: to check the order takes a fifth of its time in
    4.3."""
    if HAS_RECALC:
        curve.keyframe_points.handles_recalc()
    else:
        curve.update()
