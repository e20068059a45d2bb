# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes channels to an action, curve by curve; keys outside the range keep every bit. Also poses,
goals and custom properties."""

import re
from array import array
from dataclasses import replace
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import bpy
from mathutils import Matrix

from ..core.errors import UserError
from ..core.keys import KEYED_PROPERTIES, Channel, escape
from ..core.names import numbered
from ..core.work import Work
from . import compat
from .rna import Action, AnimData, Armature, Collection, Curve, Object, PoseBone, Scene, Strip

CONSTANT, LINEAR, BEZIER = 0, 1, 2      # interpolation of new keys, as foreach_set takes it
FREE, ALIGNED = 0, 3            # types of handles, likewise
ALIGNED_TOL = 1e-6              # of a value: handles this near a straight line are aligned
RANGE_TOL = 1e-3                # frames: a key this near the range belongs to it
KEY_DISTANCE_MIN = 0.1          # frames: update() merges keys that are 0.01 apart
TAKE_ENDING = ".skel"           # of the name of a take
TAKE_SUFFIX = r"\.skel(\.\d+)?$"   # of an action that is a take already
# All fields of a key: (name, type of array, numbers each).
FIELDS = (("co", "f", 2), ("handle_left", "f", 2), ("handle_right", "f", 2), ("back", "f", 1),
          ("amplitude", "f", 1), ("period", "f", 1), ("interpolation", "i", 1),
          ("easing", "i", 1), ("handle_left_type", "i", 1), ("handle_right_type", "i", 1),
          ("type", "i", 1), ("select_control_point", "b", 1), ("select_left_handle", "b", 1),
          ("select_right_handle", "b", 1))

Keys = Dict[str, array]         # the fields of some keys by name


# ---- keys of a curve ----

def read_keys(points: Any, names: Sequence[str] = ()) -> Keys:
    """Fields of the keys of a curve; all if no names are given."""
    out: Keys = {}
    for name, kind, width in FIELDS:
        if names and name not in names:
            continue
        numbers = array(kind, bytes(array(kind).itemsize * width * len(points)))
        if numbers:
            points.foreach_get(name, numbers)
        out[name] = numbers
    return out


def set_keys(points: Any, keys: Keys) -> None:
    """Gives a curve these keys, as read_keys returns them, and no others."""
    count = len(keys["co"]) // 2
    if count < len(points):
        compat.resize_keys(points, 0)           # all at once, if Blender can
    compat.resize_keys(points, count)
    for name, numbers in keys.items():
        if numbers:
            points.foreach_set(name, numbers)


def _handles(keys: array, side: int) -> array:
    """Handles a third of the way to the next key. Linear keys do not use them, but have them."""
    step = (keys[2] - keys[0]) / 3 if len(keys) > 2 else 1 / 3
    out = array("f", keys)
    out[0::2] = array("f", (frame + side * step for frame in keys[0::2]))
    return out


def _handle_types(keys: array, handles: array) -> array:
    """The types of the handles of Bezier keys: aligned if both have the same slope, so that they
    stay so if the user turns one of them."""
    out = array("i")
    for k in range(0, len(keys), 2):
        frame, value = keys[k:k + 2]
        left, low, right, high = handles[2 * k:2 * k + 4]
        bend = (value - low) * (right - frame) - (high - value) * (frame - left)
        is_straight = abs(bend) <= ALIGNED_TOL * (right - left) * max(1.0, abs(value))
        out.append(ALIGNED if is_straight else FREE)
    return out


def _fields(channel: Channel, alone: bool) -> Keys:
    """The fields of the keys of a channel that is not all default. alone: the curve gets no other
    keys, so that one key is enough for a channel that stays."""
    keys, handles = channel.keys, channel.handles
    if handles is None:
        return {"co": keys, "handle_left": _handles(keys, -1), "handle_right": _handles(keys, 1),
                "interpolation": array("i", [LINEAR]) * (len(keys) // 2)}
    if alone and channel.is_still:
        keys, handles = keys[:2], handles[:4]
    count = len(keys) // 2
    left, right = array("f", bytes(8 * count)), array("f", bytes(8 * count))
    for k in range(2):
        left[k::2], right[k::2] = handles[k::4], handles[k + 2::4]
    types = _handle_types(keys, handles)
    return {"co": keys, "handle_left": left, "handle_right": right,
            "interpolation": array("i", [BEZIER]) * count,
            "handle_left_type": types, "handle_right_type": types[:]}


def _are_apart(channels: Sequence[Channel]) -> bool:
    """Whether the keys of every curve are in order and distinct, so that there is nothing to sort
    or to merge. Channels of the same length with the same ends have the same frames, so that one of
    them is checked: checking each would cost more than it saves."""
    kinds = {(len(c.keys), c.keys[0], c.keys[-2]): c.keys for c in channels
             if len(c.keys) and c.handles is None}
    return all(after - frame > KEY_DISTANCE_MIN for keys in kinds.values()
               for frame, after in zip(keys[0::2], keys[2::2]))


def _fill(curve: Curve, channel: Channel, apart: bool) -> None:
    """Gives a curve these keys and no others. apart: the curve was empty, and _are_apart."""
    if channel.handles is not None:             # update() would change them
        set_keys(curve.keyframe_points, _with_defaults(_fields(channel, True)))
        return
    points, keys = curve.keyframe_points, channel.keys
    count = len(keys) // 2
    compat.resize_keys(points, count)
    points.foreach_set("co", keys)
    points.foreach_set("interpolation", array(compat.ENUMS, [LINEAR]) * count)
    if apart and count > 1:                     # a single key needs update()
        compat.update_handles(curve)
    else:
        curve.update()


def _slope(curve: Curve, frame: float) -> float:
    """The slope of a curve at a frame, per frame."""
    return (curve.evaluate(frame + 0.05) - curve.evaluate(frame - 0.05)) / 0.1


def _with_defaults(fresh: Keys) -> Keys:
    """Keys with all fields; those that are not given are 0."""
    count = len(fresh["co"]) // 2
    return {name: fresh.get(name) or array(kind, bytes(array(kind).itemsize * width * count))
            for name, kind, width in FIELDS}


def _merge(curve: Curve, channel: Channel) -> None:
    """Replaces the keys in the range of new keys; all others keep every bit. The curve keeps its
    slope at the first new key, because the next bake starts with that velocity. update() is not
    called: it would shift the handles of the neighbours."""
    points, keys = curve.keyframe_points, channel.keys
    low, high = keys[0] - RANGE_TOL, keys[-2] + RANGE_TOL
    old, slope = read_keys(points), 0.0 if curve.modifiers else _slope(curve, keys[0])
    frames = old["co"][0::2]
    first, last = _outside(old, low, high)
    if first == 0 and last == len(frames):
        _fill(curve, channel, False)            # handles of old keys may cross
        return
    count = len(keys) // 2
    compat.resize_keys(points, first + count + len(frames) - last)
    fresh = _with_defaults(_fields(channel, False))
    fresh["interpolation"][-1] = LINEAR         # the way to the next key is not the channel's
    if first:
        gap = (keys[0] - frames[first - 1]) / 3
        fresh["handle_left"][:2] = array("f", (keys[0] - gap, keys[1] - slope * gap))
        fresh["handle_left_type"][0] = fresh["handle_right_type"][0] = FREE
    for name, _kind, width in FIELDS:
        before, after = old[name][:first * width], old[name][last * width:]
        points.foreach_set(name, before + fresh[name] + after)


def splice(curve: Curve, channel: Channel) -> None:
    """Writes the keys of a channel that holds (Channel.hold). A key on either side of them, a frame
    away, keeps the value of the curve there; between it and the new keys the curve is constant."""
    first, last = channel.span
    if len(curve.keyframe_points):
        _cut(curve, first)
        _cut(curve, last)
        old = read_keys(curve.keyframe_points)
    else:
        value = channel.hold or 0.0
        around = replace(channel, keys=array("f", (first, value, last, value)), handles=None)
        old = _with_defaults(_fields(around, False))

    before = sum(frame <= first + RANGE_TOL for frame in old["co"][0::2])
    after = sum(frame < last - RANGE_TOL for frame in old["co"][0::2])
    fresh = _with_defaults(_fields(channel, False))
    fresh["interpolation"][-1] = CONSTANT
    merged = {name: old[name][:before * width] + fresh[name] + old[name][after * width:]
              for name, _kind, width in FIELDS}
    merged["interpolation"][before - 1] = CONSTANT
    set_keys(curve.keyframe_points, merged)


def _cut(curve: Curve, frame: float) -> None:
    """Adds a key that does not change the curve. Handles of its neighbours become free: automatic
    ones would move."""
    points = curve.keyframe_points
    if any(abs(point.co[0] - frame) <= RANGE_TOL for point in points):
        return
    for point in (*[p for p in points if p.co[0] < frame][-1:],
                  *[p for p in points if p.co[0] > frame][:1]):
        point.handle_left_type = point.handle_right_type = "FREE"

    acting = [modifier for modifier in curve.modifiers if not modifier.mute]
    for modifier in acting:
        modifier.mute = True                    # else what they add becomes a key
    value = curve.evaluate(frame)
    for modifier in acting:
        modifier.mute = False
    added = points.insert(frame, value)
    added.handle_left_type = added.handle_right_type = "FREE"


def replace_keys(curve: Curve, other: Optional[Curve], first: float, last: float,
                 beside: bool = False) -> bool:
    """Replaces the keys of a curve in a range of frames by those of another curve, or by none; keys
    outside of it keep every bit. beside: except for the keys beside the range, which get the
    handles that they have in the other curve. Returns whether the curve has keys then."""
    points, low, high = curve.keyframe_points, first - RANGE_TOL, last + RANGE_TOL
    keys = read_keys(points)
    before, after = _outside(keys, low, high)
    fresh = read_keys(other.keyframe_points if other else ())
    begin, end = _outside(fresh, low, high)
    if beside and _same_key(keys, before - 1, fresh, begin - 1):
        before, begin = before - 1, begin - 1
    if beside and _same_key(keys, after, fresh, end):
        after, end = after + 1, end + 1

    merged = {field: keys[field][:before * width] + fresh[field][begin * width:end * width] +
              keys[field][after * width:] for field, _kind, width in FIELDS}
    set_keys(points, merged)
    return len(points) > 0


def _same_key(a: Keys, i: int, b: Keys, k: int) -> bool:
    """Whether two keys exist and have the same frame and value."""
    found = a["co"][2 * i:2 * i + 2]
    return i >= 0 and k >= 0 and len(found) > 0 and found == b["co"][2 * k:2 * k + 2]


def _outside(keys: Keys, low: float, high: float) -> Tuple[int, int]:
    """(number of keys before a range, number of the first key after it)."""
    frames = keys["co"][0::2]
    return sum(1 for frame in frames if frame < low), sum(1 for frame in frames if frame <= high)


# ---- actions ----


def give_name(action: Action, stem: str, ending: str) -> None:
    """Gives an action the first name of its kind that no other action has."""
    action.name = numbered(stem, ending, {a.name for a in bpy.data.actions if a != action})


def _target(ob: Armature, target: str, name: str) -> Tuple[Action, Tuple[str, str]]:
    """The action to write into, and the name that it gets, in two parts: before and from the ending
    of takes. The object does not use it yet, unless it did before."""
    data = ob.animation_data or ob.animation_data_create()
    data.use_tweak_mode = False
    if target == "CURRENT" and data.action:
        return data.action, (data.action.name, "")
    if target == "NEW" and data.action:
        return data.action.copy(), (re.sub(TAKE_SUFFIX, "", data.action.name), TAKE_ENDING)
    return bpy.data.actions.new(name), (name, "")


def write_channels(ob: Armature, channels: Sequence[Channel], target: str, name: str,
                   before_use: Callable[[], None] = lambda: None) -> Work[Action]:
    """Generator: writes the channels, then lets the object use the action. If it is closed before
    its end, it removes a new action. Returns the action. before_use: called between the two."""
    had_data = ob.animation_data is not None
    action, name_parts = _target(ob, target, name)
    is_new = not (ob.animation_data and ob.animation_data.action == action)
    try:
        curves, apart = compat.Curves(action, ob), _are_apart(channels)
        for n, channel in enumerate(channels):
            curve = curves.find(channel.path, channel.index)
            if curve is None:
                curve = curves.new(channel.path, channel.index, channel.group)
            elif is_new:                        # a copy: its locked and muted curves must play
                compat.open_curve(curve)
            if channel.hold is not None:
                splice(curve, channel)
            elif len(curve.keyframe_points):
                _merge(curve, channel)
            else:
                _fill(curve, channel, apart)
            yield 0.86 + 0.14 * n / len(channels), "writing keys"
    except GeneratorExit:
        if is_new:
            bpy.data.actions.remove(action)
        if not had_data:
            ob.animation_data_clear()
        raise
    before_use()
    if is_new:                                  # an action that is removed may have had the name
        give_name(action, *name_parts)
    if target == "NLA":
        push(ob, action, name, channels[0].keys[0], max(c.keys[-2] for c in channels))
    else:
        compat.use_action(ob, action)           # with the slot that was written
        if is_new:
            ob.animation_data.action_blend_type = "REPLACE"
            ob.animation_data.action_influence = 1.0
    action.update_tag()                         # writing keys in bulk does not do it
    ob.update_tag()
    return action


def _strip(ob: Armature, action: Action, name: str, first: float, last: float) -> Strip:
    """A strip on a track of its own, in which the action plays at its own frames."""
    track, last = ob.animation_data.nla_tracks.new(), max(last, first + 1)
    track.name = name
    strip = track.strips.new(name, int(first), action)
    compat.use_in_strip(strip, action, ob)
    strip.use_sync_length = False               # or it takes the range of the keys
    strip.action_frame_start, strip.action_frame_end = first, last
    strip.frame_start, strip.frame_end = first, last
    return strip


def _push_down(ob: Armature, first: float, last: float) -> None:
    """Pushes the active action down into a strip that plays the same in the frames of the bake and
    of the scene, also beyond its keys."""
    data, action = ob.animation_data, ob.animation_data.action
    low, high = action.curve_frame_range
    blend, influence, beyond = "REPLACE", 1.0, "HOLD"
    if len(data.nla_tracks):                    # else Blender ignores these
        blend, influence = data.action_blend_type, data.action_influence
        beyond = data.action_extrapolation
    if beyond == "HOLD":
        low = min(low, first, *(scene.frame_start for scene in ob.users_scene))
    if beyond != "NOTHING":
        high = max(high, last, *(scene.frame_end for scene in ob.users_scene))
    strip = _strip(ob, action, action.name, low, high)
    strip.blend_type, strip.extrapolation, strip.influence = blend, beyond, influence
    if influence != 1:
        strip.use_animated_influence = True     # afterwards: it starts with the value
    data.action = None


def push(ob: Armature, action: Action, name: str, first: float, last: float) -> Strip:
    """Pushes the active action down into a strip, and the new one into a strip above it."""
    if ob.animation_data.action:
        _push_down(ob, first, last)
    strip = _strip(ob, action, name, first, last)
    strip.blend_type, strip.extrapolation = "REPLACE", "NOTHING"
    return strip


# ---- checks before the work ----


def _shut(ob: Armature, names: Sequence[str]) -> Optional[Tuple[str, str]]:
    """(bone, channel) of the first curve of these bones that is locked or muted."""
    heads = {f'pose.bones["{escape(name)}"]': name for name in names}
    for curve in compat.curves_of(ob.animation_data.action, ob):
        head, _dot, label = curve.data_path.rpartition(".")
        if head in heads and label in KEYED_PROPERTIES and compat.is_shut(curve):
            return heads[head], label
    return None


def _left_alone(ob: Armature, names: Sequence[str]) -> Optional[str]:
    """The first bone or channel that the action moves, but that gets no keys."""
    keyed = {escape(name) for name in names}
    for curve in compat.curves_of(ob.animation_data.action, ob):
        head, mark, _rest = curve.data_path.removeprefix('pose.bones["').partition('"]')
        if not mark or head not in keyed:
            return head
    return None


def check(ob: Armature, target: str, names: Sequence[str]) -> None:
    """Refuses a target in which new keys of these bones would not play, before the work is done."""
    data = ob.animation_data
    if ob.data.pose_position == "REST":
        raise UserError(f"'{ob.name}' shows its rest position. Choose Pose Position "
                        "(Armature properties > Skeleton), then try again")
    solo = next((t.name for t in data.nla_tracks if t.is_solo), "") if data else ""
    if solo:
        raise UserError(f"The NLA track '{solo}' of '{ob.name}' plays alone. Turn its star "
                        "off, or new keys do not play")
    if target == "NLA" and data and not data.use_nla:
        raise UserError(f"The NLA of '{ob.name}' is turned off. Turn it on, or write to a "
                        "new action")
    if target == "NEW" and data and data.action and _is_mixed(data):
        other = _left_alone(ob, names)
        if other:
            raise UserError(
                f"The action '{data.action.name}' is blended with the NLA strips below it, and "
                f"moves '{other}', which gets no keys and would move differently. Write to an NLA "
                "strip")
    if target == "CURRENT" and data and data.action:
        _check_current(ob, data, names)


def _is_mixed(data: AnimData) -> bool:
    return bool(len(data.nla_tracks) and data.use_nla and (
        data.action_blend_type, data.action_influence) != ("REPLACE", 1))


def tweak_words(action: Action) -> str:
    return (f"The action '{action.name}' is being edited in an NLA strip. Leave its tweak mode "
            "(Tab in the NLA editor), or write to a new action")


def _check_current(ob: Armature, data: AnimData, names: Sequence[str]) -> None:
    what = f"The action '{data.action.name}'"
    if data.use_tweak_mode:
        raise UserError(tweak_words(data.action))
    if data.action.library:
        raise UserError(f"{what} is linked from another file. Give '{ob.name}' an action of "
                        "its own, or write to a new action")
    if _is_mixed(data):
        raise UserError(f"{what} is blended with the NLA strips below it. Set its blending to "
                        "Replace and its influence to 1, or write to an NLA strip")
    shut = _shut(ob, names)
    if shut:
        raise UserError(f"{what} has a locked or muted curve: {shut[1]} of the bone "
                        f"'{shut[0]}'. Unlock and unmute it, or write to a new action")


# ---- settings and poses ----


def ensure_properties(ob: Armature, channels: Sequence[Channel]) -> None:
    """Adds the custom properties of bones that the channels animate."""
    for channel in channels:
        bone, label = channel.group, channel.path.rsplit('["', 1)[1][:-2]
        if label not in ob.pose.bones[bone]:
            ob.pose.bones[bone][label] = 0.0


def key_setting(ob: Armature, bone: PoseBone, name: str, frame: float) -> None:
    """Keys a setting of a bone. Blender has no data path of property groups of bones."""
    data = ob.animation_data or ob.animation_data_create()
    action = data.action or bpy.data.actions.new(f"{ob.name}Action")
    if action.library:
        raise UserError(f"The action '{action.name}' is linked from another file. Give "
                        f"'{ob.name}' an action of its own")

    path = f'pose.bones["{escape(bone.name)}"].skel.{name}'
    curves = compat.Curves(action, ob)
    curve = curves.find(path, 0) or curves.new(path, 0, bone.name)
    curve.keyframe_points.insert(frame, getattr(bone.skel, name))
    curve.update()
    compat.use_action(ob, action)
    action.update_tag()
    ob.update_tag()


def refresh(scene: Scene) -> None:
    """Shows the new animation."""
    scene.frame_set(scene.frame_current)


def set_pose(ob: Armature, channels: Sequence[Channel], key: Optional[float]) -> None:
    """Sets the pose to channels of one sample. key: the frame to key it at, or None."""
    for channel in channels:
        bone, name = ob.pose.bones[channel.group], channel.path.rsplit(".", 1)[1]
        getattr(bone, name)[channel.index] = channel.keys[1]
    if key is not None:
        for path, group in dict.fromkeys((c.path, c.group) for c in channels):
            ob.keyframe_insert(path, frame=key, group=group)
    ob.update_tag(refresh={"OBJECT", "DATA"})


# ---- goals ----


def add_goal(ob: Armature, **fields: Any) -> Any:
    """Adds a goal with these settings and makes it the active one."""
    goal = ob.skel_ik.goals.add()
    for name, value in fields.items():
        setattr(goal, name, value)
    ob.skel_ik.active = len(ob.skel_ik.goals) - 1
    return goal


def remove_goal(ob: Armature, number: int) -> None:
    """Removes a goal, its keys and its drivers. The goals after it keep theirs."""
    data, start = ob.animation_data, "skel_ik.goals["
    ob.skel_ik.goals.remove(number)
    ob.skel_ik.active = max(0, min(ob.skel_ik.active, len(ob.skel_ik.goals) - 1))
    if data is None:
        return
    held = [data.drivers]
    if data.action and not data.action.library:
        held.append(compat.curves_of(data.action, ob))
    for curves in held:
        for curve in [c for c in curves if c.data_path.startswith(start)]:
            at, rest = curve.data_path[len(start):].split("]", 1)
            if int(at) == number:
                curves.remove(curve)
            elif int(at) > number:
                curve.data_path = f"{start}{int(at) - 1}]{rest}"


def end_of(ob: Armature, bone: PoseBone) -> Matrix:
    """The end of a bone in the world, with its axes."""
    return ob.matrix_world @ bone.matrix @ Matrix.Translation((0, bone.length, 0))


def add_target(collection: Collection, ob: Armature, bone: Optional[PoseBone], label: str,
               looks: bool) -> Object:
    """Adds an empty at the end of a bone with its axes, or at the armature if there is no bone; far
    ahead of the bone if it must look at it."""
    target = bpy.data.objects.new(f"{label} target", None)
    collection.objects.link(target)
    if bone is None:
        target.matrix_world = Matrix.Translation(ob.matrix_world.translation)
    else:
        target.matrix_world = end_of(ob, bone)
    if looks and bone is not None:
        target.matrix_world.translation += target.matrix_world.col[1].xyz.normalized() * \
            3 * bone.length
    target.scale = (1, 1, 1)
    target.empty_display_size = 0.3 * bone.length if bone else 0.1
    target.empty_display_type = "ARROWS"
    return target


def add_text(name: str, text: str) -> str:
    """Adds a text block; returns the name that it got."""
    block = bpy.data.texts.new(name)
    block.from_string(text)
    return block.name
