# SPDX-License-Identifier: GPL-3.0-or-later
"""The only writer: channels to an action, curve by curve. Keys outside the range keep every bit."""

from array import array

import bpy

from . import compat

LINEAR = 1                      # interpolation of new keys, as foreach_set takes it
NEAR = 1e-3                     # frames: what lies this near the range belongs to it
# All that a key holds: (name, kind of array, numbers each).
FIELDS = (("co", "f", 2), ("handle_left", "f", 2), ("handle_right", "f", 2), ("back", "f", 1),
          ("amplitude", "f", 1), ("period", "f", 1), ("interpolation", "i", 1),
          ("easing", "i", 1), ("handle_left_type", "i", 1), ("handle_right_type", "i", 1),
          ("type", "i", 1), ("select_control_point", "b", 1), ("select_left_handle", "b", 1),
          ("select_right_handle", "b", 1))


def read_keys(points):
    """All that the keys of a curve hold."""
    out = {}
    for name, kind, width in FIELDS:
        numbers = array(kind, bytes(array(kind).itemsize * width * len(points)))
        points.foreach_get(name, numbers)
        out[name] = numbers
    return out


def _handles(keys, side):
    """A third of the way to the next key, level: what linear keys do not look at, but must have."""
    step = (keys[2] - keys[0]) / 3 if len(keys) > 2 else 1 / 3
    out = array("f", keys)
    out[0::2] = array("f", (frame + side * step for frame in keys[0::2]))
    return out


def _fill(curve, keys):
    """A curve with these keys and no others."""
    points, count = curve.keyframe_points, len(keys) // 2
    compat.resize_keys(points, count)
    points.foreach_set("co", keys)
    points.foreach_set("interpolation", array("b", [LINEAR]) * count)
    curve.update()


def _merge(curve, keys):
    """New keys instead of those in their range; all others keep every bit. No update() here: it
    would shift the handles of the neighbours."""
    points, low, high = curve.keyframe_points, keys[0] - NEAR, keys[-2] + NEAR
    old = read_keys(points)
    frames = old["co"][0::2]
    first = sum(1 for frame in frames if frame < low)
    last = sum(1 for frame in frames if frame <= high)
    if first == 0 and last == len(frames):
        _fill(curve, keys)
        return
    count = len(keys) // 2
    compat.resize_keys(points, first + count + len(frames) - last)
    fresh = {"co": keys, "handle_left": _handles(keys, -1), "handle_right": _handles(keys, 1),
             "interpolation": array("i", [LINEAR]) * count}
    for name, kind, width in FIELDS:
        new = fresh.get(name)
        if new is None:
            new = array(kind, bytes(array(kind).itemsize * width * count))
        before, after = old[name][:first * width], old[name][last * width:]
        points.foreach_set(name, before + new + after)


def _target(ob, target, name):
    """The action to write into. It is not yet the object's, unless it was before."""
    data = ob.animation_data or ob.animation_data_create()
    data.use_tweak_mode = False
    if target == "CURRENT" and data.action:
        return data.action
    if target == "NEW" and data.action:
        action = data.action.copy()
        action.name = f"{data.action.name}.skel"
        return action
    return bpy.data.actions.new(name)


def write(ob, channels, target, name):
    """Generator: writes the channels, then hands the action to the object. Stopped half way, it
    takes a new action away again. Returns the action."""
    had_data = ob.animation_data is not None
    action = _target(ob, target, name)
    is_new = not (ob.animation_data and ob.animation_data.action == action)
    try:
        curves = compat.Curves(action, ob)
        for n, channel in enumerate(channels):
            curve = curves.find(channel.path, channel.index)
            if curve is None:
                curve = curves.new(channel.path, channel.index, channel.group)
            if len(curve.keyframe_points):
                _merge(curve, channel.keys)
            else:
                _fill(curve, channel.keys)
            yield 0.86 + 0.14 * n / len(channels), "writing keys"
    except GeneratorExit:
        if is_new:
            bpy.data.actions.remove(action)
        if not had_data:
            ob.animation_data_clear()
        raise
    if target == "NLA":
        _push(ob, action, name, channels)
    elif is_new:
        compat.use_action(ob, action)
    ob.update_tag()
    return action


def _strip(ob, action, name, start):
    data = ob.animation_data
    track = data.nla_tracks.new()
    track.name = name
    strip = track.strips.new(name, int(start), action)
    compat.use_in_strip(strip, action, ob)
    strip.blend_type = "REPLACE"
    return strip


def _push(ob, action, name, channels):
    """The action that was there goes down into a strip, the new one into a strip above it."""
    data = ob.animation_data
    slot_owner = data.action
    if slot_owner:
        strip = _strip(ob, slot_owner, slot_owner.name, slot_owner.frame_range[0])
        strip.extrapolation = "HOLD"
        data.action = None
    strip = _strip(ob, action, name, channels[0].keys[0])
    strip.extrapolation = "NOTHING"


def mute_constraints(ob, names):
    """How many were turned off."""
    count = 0
    for name in names:
        for constraint in ob.pose.bones[name].constraints:
            if not constraint.mute:
                constraint.mute = True
                count += 1
    return count


def ensure_properties(ob, channels):
    """Custom properties that curves can drive: numbers of a bone."""
    for channel in channels:
        bone, label = channel.group, channel.path.rsplit('["', 1)[1][:-2]
        if label not in ob.pose.bones[bone]:
            ob.pose.bones[bone][label] = 0.0


def refresh(scene):
    """Shows the new animation."""
    scene.frame_set(scene.frame_current)
