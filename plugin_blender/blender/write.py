# SPDX-License-Identifier: GPL-3.0-or-later
"""The only writer: channels to an action, curve by curve, where keys outside the range keep every
bit; poses, goals and the armatures of robots."""

import json
import math
import re
from array import array

import bpy
from mathutils import Matrix, Quaternion, Vector

from ..core import convert, convert_robot
from . import compat, read

LINEAR = 1                      # interpolation of new keys, as foreach_set takes it
NEAR = 1e-3                     # frames: what lies this near the range belongs to it
CLEAR = 0.1                     # frames: update() makes one key of two that are 0.01 apart
SUFFIX = r"\.skel(\.\d{3,})?$"  # of an action that is such a copy already
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
        if numbers:
            points.foreach_get(name, numbers)
        out[name] = numbers
    return out


def set_keys(points, keys):
    """A curve has these keys, as read_keys gives them, and no others."""
    count = len(keys["co"]) // 2
    if count < len(points):
        compat.resize_keys(points, 0)           # all at once, where Blender can do that
    compat.resize_keys(points, count)
    for name, numbers in keys.items():
        if numbers:
            points.foreach_set(name, numbers)


def _handles(keys, side):
    """A third of the way to the next key, level: what linear keys do not look at, but must have."""
    step = (keys[2] - keys[0]) / 3 if len(keys) > 2 else 1 / 3
    out = array("f", keys)
    out[0::2] = array("f", (frame + side * step for frame in keys[0::2]))
    return out


def _are_apart(channels):
    """Whether every curve's keys come in order and clear of one another, so that there is nothing
    to sort or to take out. Channels that are as long and have the same ends have the same frames:
    one is looked at for all, since a look at each would cost more than it saves."""
    kinds = {(len(c.keys), c.keys[0], c.keys[-2]): c.keys for c in channels if len(c.keys)}
    return all(after - frame > CLEAR for keys in kinds.values()
               for frame, after in zip(keys[0::2], keys[2::2]))


def _fill(curve, keys, apart):
    """A curve with these keys and no others. apart: the curve was empty, and _are_apart."""
    points, count = curve.keyframe_points, len(keys) // 2
    compat.resize_keys(points, count)
    points.foreach_set("co", keys)
    points.foreach_set("interpolation", array(compat.ENUMS, [LINEAR]) * count)
    if apart and count > 1:                     # handles of a single key take update()
        compat.update_handles(curve)
    else:
        curve.update()


def _slope(curve, frame):
    """Per frame, of its keys."""
    return (curve.evaluate(frame + 0.05) - curve.evaluate(frame - 0.05)) / 0.1


def _merge(curve, keys):
    """New keys instead of those in their range; all others keep every bit. The curve comes to the
    first of them as it did: the next bake starts with that speed. No update() here: it would shift
    the handles of the neighbours."""
    points, low, high = curve.keyframe_points, keys[0] - NEAR, keys[-2] + NEAR
    old, slope = read_keys(points), 0.0 if curve.modifiers else _slope(curve, keys[0])
    frames = old["co"][0::2]
    first, last = _outside(old, low, high)
    if first == 0 and last == len(frames):
        _fill(curve, keys, False)               # handles of old keys may be crossed
        return
    count = len(keys) // 2
    compat.resize_keys(points, first + count + len(frames) - last)
    fresh = {"co": keys, "handle_left": _handles(keys, -1), "handle_right": _handles(keys, 1),
             "interpolation": array("i", [LINEAR]) * count}
    if first:
        gap = (keys[0] - frames[first - 1]) / 3
        fresh["handle_left"][:2] = array("f", (keys[0] - gap, keys[1] - slope * gap))
    for name, kind, width in FIELDS:
        new = fresh.get(name)
        if new is None:
            new = array(kind, bytes(array(kind).itemsize * width * count))
        before, after = old[name][:first * width], old[name][last * width:]
        points.foreach_set(name, before + new + after)


def replace_keys(curve, other, first, last):
    """The keys of a curve in a range of frames become those that another curve, or None, has there;
    those outside keep every bit. Returns whether the curve has keys then."""
    points, low, high = curve.keyframe_points, first - NEAR, last + NEAR
    keys = read_keys(points)
    before, after = _outside(keys, low, high)
    fresh = read_keys(other.keyframe_points if other else ())
    begin, end = _outside(fresh, low, high)

    merged = {field: keys[field][:before * width] + fresh[field][begin * width:end * width] +
              keys[field][after * width:] for field, _kind, width in FIELDS}
    set_keys(points, merged)
    return len(points) > 0


def _outside(keys, low, high):
    """(how many keys come before a range, which is the first after it)."""
    frames = keys["co"][0::2]
    return sum(1 for frame in frames if frame < low), sum(1 for frame in frames if frame <= high)


def _target(ob, target, name):
    """The action to write into, and the name it is to have. It is not yet the object's, unless it
    was before."""
    data = ob.animation_data or ob.animation_data_create()
    data.use_tweak_mode = False
    if target == "CURRENT" and data.action:
        return data.action, data.action.name
    if target == "NEW" and data.action:
        return data.action.copy(), f"{re.sub(SUFFIX, '', data.action.name)}.skel"
    return bpy.data.actions.new(name), name


def write_channels(ob, channels, target, name, ready=lambda: None):
    """Generator: writes the channels, then hands the action to the object. Stopped half way, it
    takes a new action away again. Returns the action. ready: called between the two."""
    had_data = ob.animation_data is not None
    action, name_wanted = _target(ob, target, name)
    is_new = not (ob.animation_data and ob.animation_data.action == action)
    try:
        curves, apart = compat.Curves(action, ob), _are_apart(channels)
        for n, channel in enumerate(channels):
            curve = curves.find(channel.path, channel.index)
            if curve is None:
                curve = curves.new(channel.path, channel.index, channel.group)
            elif is_new:                        # a copy: what was shut in the old one plays here
                compat.open_curve(curve)
            if len(curve.keyframe_points):
                _merge(curve, channel.keys)
            else:
                _fill(curve, channel.keys, apart)
            yield 0.86 + 0.14 * n / len(channels), "writing keys"
    except GeneratorExit:
        if is_new:
            bpy.data.actions.remove(action)
        if not had_data:
            ob.animation_data_clear()
        raise
    ready()
    action.name = name_wanted                   # which an action may have had that is gone now
    if target == "NLA":
        _push(ob, action, name, channels)
    else:
        compat.use_action(ob, action)           # where it was the object's, with the slot written
        if is_new:
            ob.animation_data.action_blend_type = "REPLACE"
            ob.animation_data.action_influence = 1.0
    action.update_tag()                         # keys that are written in bulk do not do it
    ob.update_tag()
    return action


def _strip(ob, action, name, first, last):
    """On a track of its own; the action plays in it at its own frames."""
    track, last = ob.animation_data.nla_tracks.new(), max(last, first + 1)
    track.name = name
    strip = track.strips.new(name, int(first), action)
    compat.use_in_strip(strip, action, ob)
    strip.use_sync_length = False               # or it goes back to the keys of the action
    strip.action_frame_start, strip.action_frame_end = first, last
    strip.frame_start, strip.frame_end = first, last
    return strip


def _push_down(ob, first, last):
    """The action that plays goes into a strip that plays the same, as far as the bake and the scene
    reach: what its curves do beyond their keys is part of it."""
    data, action = ob.animation_data, ob.animation_data.action
    low, high = action.curve_frame_range
    blend, influence, beyond = "REPLACE", 1.0, "HOLD"
    if len(data.nla_tracks):                    # else Blender does not look at these
        blend, influence = data.action_blend_type, data.action_influence
        beyond = data.action_extrapolation
    if beyond == "HOLD":
        low = min(low, first, *(scene.frame_start for scene in ob.users_scene))
    if beyond != "NOTHING":
        high = max(high, last, *(scene.frame_end for scene in ob.users_scene))
    strip = _strip(ob, action, action.name, low, high)
    strip.blend_type, strip.extrapolation, strip.influence = blend, beyond, influence
    if influence != 1:
        strip.use_animated_influence = True     # after it is set: it begins with what is there
    data.action = None


def _push(ob, action, name, channels):
    """The action that was there goes down into a strip, the new one into a strip above it."""
    first, last = channels[0].keys[0], max(channel.keys[-2] for channel in channels)
    if ob.animation_data.action:
        _push_down(ob, first, last)
    strip = _strip(ob, action, name, first, last)
    strip.blend_type, strip.extrapolation = "REPLACE", "NOTHING"


# ---- what else would move the bones ----

def _shut(ob, names):
    """(bone, channel) of the first curve among the bones' that takes no keys, or does not play."""
    heads = {f'pose.bones["{convert.escape(name)}"]': name for name in names}
    for curve in compat.curves_of(ob.animation_data.action, ob):
        head, _dot, label = curve.data_path.rpartition(".")
        if head in heads and label in convert.KEYED and compat.is_shut(curve):
            return heads[head], label
    return None


def _left_alone(ob, names):
    """The first bone or channel that the action moves and that gets no keys."""
    keyed = {convert.escape(name) for name in names}
    for curve in compat.curves_of(ob.animation_data.action, ob):
        head, mark, _rest = curve.data_path.removeprefix('pose.bones["').partition('"]')
        if not mark or head not in keyed:
            return head
    return None


def check(ob, target, names):
    """Refuses, before the work is done, what would keep new keys of these bones from playing."""
    data = ob.animation_data
    if ob.data.pose_position == "REST":
        raise convert.Refused(f"'{ob.name}' shows its rest position. Choose Pose Position "
                              "(Armature properties > Skeleton), then try again")
    solo = next((t.name for t in data.nla_tracks if t.is_solo), "") if data else ""
    if solo:
        raise convert.Refused(f"The NLA track '{solo}' of '{ob.name}' plays alone. Turn its star "
                              "off, or new keys do not show")
    if target == "NLA" and data and not data.use_nla:
        raise convert.Refused(f"The NLA of '{ob.name}' is turned off. Turn it on, or write to a "
                              "new action")
    if target == "NEW" and data and data.action and _is_mixed(data):
        other = _left_alone(ob, names)
        if other:
            raise convert.Refused(
                f"The action '{data.action.name}' is mixed with the NLA strips below it, and moves "
                f"'{other}', which gets no keys. Write to an NLA strip, or it would move otherwise")
    if target == "CURRENT" and data and data.action:
        _check_current(ob, data, names)


def _is_mixed(data):
    return len(data.nla_tracks) and data.use_nla and (
        data.action_blend_type, data.action_influence) != ("REPLACE", 1)


def tweak_words(action):
    return (f"The action '{action.name}' is a strip that is being edited. Leave its tweak mode "
            "(Tab in the NLA editor), or write to a new action")


def _check_current(ob, data, names):
    what = f"The action '{data.action.name}'"
    if data.use_tweak_mode:
        raise convert.Refused(tweak_words(data.action))
    if data.action.library:
        raise convert.Refused(f"{what} is linked from another file. Give '{ob.name}' an action of "
                              "its own, or write to a new action")
    if _is_mixed(data):
        raise convert.Refused(f"{what} is mixed with the NLA strips below it. Set its blending to "
                              "Replace and its influence to 1, or write to an NLA strip")
    shut = _shut(ob, names)
    if shut:
        raise convert.Refused(f"{what} has a locked or muted curve: {shut[1]} of the bone "
                              f"'{shut[0]}'. Unlock and unmute it, or write to a new action")


def _chain(bone, constraint):
    """Names of the bones that a constraint moves from below."""
    at = bone if constraint.type == "SPLINE_IK" or constraint.use_tail else bone.parent
    out, count = [], constraint.chain_count
    while at is not None and (count == 0 or len(out) < count):
        out.append(at.name)
        at = at.parent
    return out


def _stays(bone, constraint, moved):
    """Whether goals obey a limit, or it leaves alone what they move. moved: bones whose location
    gets keys."""
    return read.is_obeyed(bone, constraint) or constraint.type == "LIMIT_SCALE" or \
        constraint.type == "LIMIT_LOCATION" and bone.name not in moved


def _constraints(ob, names, moved=None):
    """(name of the bone, constraint). moved: of goals, whose limits stay (`_stays`)."""
    for bone in ob.pose.bones:
        for each in bone.constraints:
            if bone.name in names:
                if moved is None or not _stays(bone, each, moved):
                    yield bone.name, each
            elif each.type in ("IK", "SPLINE_IK") and names.intersection(_chain(bone, each)):
                yield bone.name, each


def _mute(things):
    """Those that were not muted before."""
    found = [each for each in things if not each.mute]
    for each in found:
        each.mute = True
    return found


def mute_others(ob, channels, ik=False, keyed=True, take=True):
    """Turns off what would move the bones of these channels elsewhere: their constraints, IK from
    bones below them, drivers; where they have keys now, modifiers of the curves (not cycles, which
    begin where keys end). Limits and joints of robots that go with others stay, where it is IK that
    obeys them. take: the channels are a take, whose source plays without the mutes. Words that say
    what was muted, or none."""
    names, paths = {c.group for c in channels}, {(c.path, c.index) for c in channels}
    obeyed = {name for name in names if ik and "joint_mimic" in ob.pose.bones[name]}
    driven = {(c.path, c.index) for c in channels if c.group not in obeyed}
    data, muted = ob.animation_data, {}
    moved = {c.group for c in channels if c.path.endswith(".location")}
    acting = [(bone, c) for bone, c in _constraints(ob, names, moved if ik else None) if not c.mute]
    muted["constraint"] = _mute(c for _bone, c in acting)
    muted["driver"] = _mute(d for d in (data.drivers if data else ())
                            if (d.data_path, d.array_index) in driven)
    curves = compat.curves_of(data.action, ob) if keyed and data and data.action else ()
    muted["curve modifier"] = _mute(
        m for c in curves if (c.data_path, c.array_index) in paths
        for m in c.modifiers if m.type != "CYCLES")
    if take:
        ob.skel.muted = json.dumps(
            [["constraint", bone, each.name] for bone, each in acting] +
            [["driver", each.data_path, each.array_index] for each in muted["driver"]])
    said = [f"{len(found)} {what}{'s' if len(found) > 1 else ''}"
            for what, found in muted.items() if found]
    return f"; {' and '.join(said)} muted, in all frames" if said else ""


def ensure_properties(ob, channels):
    """Custom properties that curves can drive: numbers of a bone."""
    for channel in channels:
        bone, label = channel.group, channel.path.rsplit('["', 1)[1][:-2]
        if label not in ob.pose.bones[bone]:
            ob.pose.bones[bone][label] = 0.0


def key_setting(ob, bone, name, frame):
    """A key of a bone's setting. Blender makes no data path of groups that bones have."""
    data = ob.animation_data or ob.animation_data_create()
    action = data.action or bpy.data.actions.new(f"{ob.name}Action")
    if action.library:
        raise convert.Refused(f"The action '{action.name}' is linked from another file. Give "
                              f"'{ob.name}' an action of its own")

    path = f'pose.bones["{convert.escape(bone.name)}"].skel.{name}'
    curves = compat.Curves(action, ob)
    curve = curves.find(path, 0) or curves.new(path, 0, bone.name)
    curve.keyframe_points.insert(frame, getattr(bone.skel, name))
    curve.update()
    compat.use_action(ob, action)
    action.update_tag()
    ob.update_tag()


def refresh(scene):
    """Shows the new animation."""
    scene.frame_set(scene.frame_current)


# ---- a pose ----

def set_pose(ob, channels, key):
    """Channels of one sample onto the pose; with keys where asked."""
    for channel in channels:
        bone, name = ob.pose.bones[channel.group], channel.path.rsplit(".", 1)[1]
        getattr(bone, name)[channel.index] = channel.keys[1]
    if key is not None:
        for path, group in dict.fromkeys((c.path, c.group) for c in channels):
            ob.keyframe_insert(path, frame=key, group=group)
    ob.update_tag(refresh={"OBJECT", "DATA"})


def _put(bone, value):
    name, index, sign = read.joint_channel(bone)
    if name == "rotation_euler" and len(bone.rotation_mode) != 3:   # it has no angles to set
        bone.rotation_mode = "XYZ"
    getattr(bone, name)[index] = sign * value


def set_joint(bone, value):
    """A joint of a robot, within its limits."""
    if read.joint_channel(bone) is not None:
        limits = read.joint_limits(bone)
        _put(bone, min(max(value, limits[0]), limits[1]) if limits is not None else value)


def set_joints(ob, values, unit, keep_limits, key):
    """values: by the joint's name; rad and m. key: the frame to key them at, or None."""
    put = set_joint if keep_limits else _put
    for bone in read.joint_bones(ob):
        put(bone, values[bone["joint"]] / (unit if bone["joint_type"] == "slide" else 1.0))
        if key is not None and "joint_mimic" not in bone:   # those have drivers
            name, index, _sign = read.joint_channel(bone)
            bone.keyframe_insert(name, index=index, frame=key, group=bone.name)
    ob.update_tag()


# ---- goals ----

def add_goal(ob, **fields):
    """A goal with these settings, which becomes the active one."""
    goal = ob.skel_ik.goals.add()
    for name, value in fields.items():
        setattr(goal, name, value)
    ob.skel_ik.active = len(ob.skel_ik.goals) - 1
    return goal


def remove_goal(ob, number):
    """Without its keys and drivers; those of the goals behind it keep theirs."""
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


def add_target(collection, ob, bone, label, looks):
    """An empty at the end of a bone (at the armature where there is none), with its axes; far
    ahead of it where the bone is to look at it."""
    target = bpy.data.objects.new(f"{label} target", None)
    collection.objects.link(target)
    if bone is None:
        target.matrix_world = Matrix.Translation(ob.matrix_world.translation)
    else:
        target.matrix_world = ob.matrix_world @ bone.matrix @ \
            Matrix.Translation((0, bone.length, 0))
    if looks:
        target.matrix_world.translation += target.matrix_world.col[1].xyz.normalized() * \
            3 * bone.length
    target.scale = (1, 1, 1)
    target.empty_display_size = 0.3 * bone.length if bone else 0.1
    target.empty_display_type = "ARROWS"
    return target


# ---- robots ----

def _add_bones(context, ob, robot, unit):
    """Edit bones; there is no other way to make them than in edit mode."""
    context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        for bone in robot.bones:
            edit = ob.data.edit_bones.new(bone.name)
            edit.head, edit.tail = Vector(bone.head) / unit, Vector(bone.tail) / unit
            edit.align_roll(Vector(bone.z))
            if bone.parent:
                edit.parent = ob.data.edit_bones[bone.parent]
            edit.use_deform = not bone.frame
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")


def _lock(pose_bone, bone, unit):
    """Locks, limits and custom properties of one bone."""
    pose_bone.rotation_mode = "XYZ"
    free = bone.kind in ("ball", "free")
    pose_bone.lock_scale = (True,) * 3
    pose_bone.lock_location = (bone.kind != "free",) * 3
    pose_bone.lock_rotation = (not free,) * 3
    for axis in "xyz":
        setattr(pose_bone, f"lock_ik_{axis}", not free)
    index = "XYZ".index(bone.axis)
    if bone.kind == "hinge":
        pose_bone.lock_rotation[index] = False
        setattr(pose_bone, f"lock_ik_{bone.axis.lower()}", False)
        if bone.limits and max(map(abs, bone.limits)) <= math.pi:
            low, high = sorted(bone.sign * v for v in bone.limits)
            setattr(pose_bone, f"use_ik_limit_{bone.axis.lower()}", True)
            setattr(pose_bone, f"ik_min_{bone.axis.lower()}", min(low, 0.0))
            setattr(pose_bone, f"ik_max_{bone.axis.lower()}", max(high, 0.0))
    elif bone.kind == "slide":
        pose_bone.lock_location[index] = False
    if bone.frame:
        pose_bone["joint_type"], pose_bone["robot_frame"] = "fixed", 1
        return
    pose_bone["joint"], pose_bone["joint_type"] = bone.joint, bone.kind
    pose_bone["joint_axis"], pose_bone["joint_sign"] = bone.axis, int(bone.sign)
    if bone.limits:
        scale = unit if bone.kind == "slide" else 1.0
        pose_bone["joint_limits"] = [float(v) / scale for v in bone.limits]
    if bone.row:
        pose_bone["dh"] = bone.row
    if bone.mimic:
        pose_bone["joint_mimic"] = json.dumps(bone.mimic)
    if bone.drive:
        pose_bone["joint_drive"] = [float(v) for v in bone.drive]
    if bone.mass > 0:
        pose_bone.skel.mass = pose_bone["mass"] = float(bone.mass)
        pose_bone["com"] = [float(v) / unit for v in bone.com]
        pose_bone["inertia"] = [float(v) for v in bone.inertia]
    if bone.estimated:
        pose_bone["mass_estimated"] = bone.estimated


def _add_mimics(ob, unit):
    """Drivers of the joints that go with others. Their expressions are simple ones, which Blender
    reckons without Python."""
    bones = {bone["joint"]: bone for bone in read.joint_bones(ob)}
    for name, mimic in read.mimics(ob).items():
        bone, leader = bones[name], bones[mimic["joint"]]
        label, index, sign = read.joint_channel(bone)
        from_label, from_index, from_sign = read.joint_channel(leader)
        own = sign / (unit if bone["joint_type"] == "slide" else 1.0)
        factor = own * mimic["multiplier"] * from_sign * (
            unit if leader["joint_type"] == "slide" else 1.0)
        driver = bone.driver_add(label, index).driver
        driver.type = "SCRIPTED"
        variable = driver.variables.new()
        variable.name, variable.type = "q", "SINGLE_PROP"
        variable.targets[0].id = ob
        variable.targets[0].data_path = \
            f'pose.bones["{convert.escape(leader.name)}"].{from_label}[{from_index}]'
        driver.expression = f"{factor!r} * q + {own * mimic['offset']!r}"


def _attach(context, ob, name, bone, matrix, shape, color):
    """A mesh that goes with a bone. matrix: where it is in the armature at rest."""
    points, faces = shape
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points, [], faces)
    mesh.update()
    child = bpy.data.objects.new(name, mesh)
    context.collection.objects.link(child)
    child.color = color
    child.parent = ob
    if bone:
        rest = ob.data.bones[bone]
        child.parent_type, child.parent_bone = "BONE", bone
        end = rest.matrix_local @ Matrix.Translation((0, rest.length, 0))
        child.matrix_parent_inverse = end.inverted()
    child.matrix_basis = matrix
    return child


def _pose_matrix(pose, unit):
    return Matrix.Translation(Vector(pose[:3]) / unit) @ \
        Quaternion(pose[3:]).to_matrix().to_4x4()


def _find_mesh(filename, folder, warnings):
    """The path of a mesh; None where there is none, or where it is refused, which is told."""
    try:
        return convert_robot.find_mesh(filename, folder)
    except convert.Refused as error:
        if str(error) not in warnings:
            warnings.append(str(error))
        return None


def _add_visuals(context, ob, robot, folder, unit):
    """What the URDF shows; (attached, left out)."""
    made, left = 0, 0
    for visual in robot.visuals:
        bone = robot.bone_of.get(visual.link, visual.link)
        pose = convert_robot.compose(robot.links.get(visual.link, [0, 0, 0, 1, 0, 0, 0]),
                                     visual.pose)
        shape, scale = None, Matrix.Diagonal((1 / unit,) * 3 + (1,))
        if visual.kind != "mesh":
            shape = convert_robot.shape_of(visual)
        else:
            path = _find_mesh(visual.filename, folder, robot.warnings)
            shape = convert_robot.read_mesh(path) if path else None
            scale = scale @ Matrix.Diagonal((*visual.size, 1))
            holder = ob.pose.bones[bone] if bone else ob
            holder["meshes"] = "\n".join(filter(None, [holder.get("meshes", ""),
                                                       visual.filename]))
        if shape is None:
            left += 1
            continue
        _attach(context, ob, f"{visual.link} visual", bone, _pose_matrix(pose, unit) @ scale,
                shape, visual.color or (0.7, 0.72, 0.75, 1))
        made += 1
    return made, left


def _add_shapes(context, ob, robot, unit):
    """A bar along every link and a drum about every joint, so that the robot shows in renders."""
    wide = 0.028 * robot.reach / unit
    for bone in robot.bones:
        rest = ob.data.bones[bone.name]
        if bone.frame:
            continue
        place, turn = rest.matrix_local, Matrix.Rotation(-math.pi / 2, 4, "X")
        if not bone.stub:
            middle = Matrix.Translation((0, rest.length / 2, 0))
            _attach(context, ob, f"{bone.name} bar", bone.name, place @ middle @ turn,
                    convert_robot.cylinder(wide, rest.length), (0.93, 0.55, 0.16, 1))
        if bone.kind == "hinge":
            axis = Matrix.Identity(4) if bone.axis == "Z" else turn
            _attach(context, ob, f"{bone.name} joint", bone.name, place @ axis,
                    convert_robot.cylinder(1.5 * wide, 3.4 * wide), (0.28, 0.32, 0.4, 1))
        elif bone.kind == "slide":
            _add_rod(context, ob, bone, place, wide, unit)


def _add_rod(context, ob, bone, place, wide, unit):
    """Of a slide: a rod that is as long as it may be pulled out, and the sleeve it moves in."""
    way = max(map(abs, bone.limits or (0.0,))) / unit
    toward = Matrix.Identity(4) if bone.axis == "Z" else Matrix.Rotation(-math.pi / 2, 4, "X")
    if way > 0:
        _attach(context, ob, f"{bone.name} rod", bone.name,
                place @ toward @ Matrix.Translation((0, 0, -bone.sign * way / 2)),
                convert_robot.cylinder(0.6 * wide, way), (0.93, 0.55, 0.16, 1))
    if bone.parent:
        _attach(context, ob, f"{bone.name} sleeve", bone.parent, place @ toward,
                convert_robot.box((2.6 * wide,) * 3), (0.28, 0.32, 0.4, 1))


def add_text(name, text):
    """The name that it has got."""
    block = bpy.data.texts.new(name)
    block.from_string(text)
    return block.name


def _blocks():
    """All data that a robot is made of."""
    data = bpy.data
    return {*data.objects, *data.armatures, *data.meshes, *data.texts}


def make_robot(context, robot, text, folder, shapes, unit):
    """An armature of it, selected and active; what to say about it. What fails leaves nothing."""
    if context.mode == "POSE":
        bpy.ops.object.mode_set(mode="OBJECT")
    before, active = _blocks(), context.view_layer.objects.active
    try:
        return _make_robot(context, robot, text, folder, shapes, unit)
    except BaseException:
        bpy.data.batch_remove(_blocks() - before)
        context.view_layer.objects.active = active
        raise


def _make_robot(context, robot, text, folder, shapes, unit):
    data = bpy.data.armatures.new(robot.name)
    ob = bpy.data.objects.new(robot.name, data)
    context.collection.objects.link(ob)
    _add_bones(context, ob, robot, unit)
    for bone in robot.bones:
        _lock(ob.pose.bones[bone.name], bone, unit)
    ob["skel_source"] = add_text(f"{robot.name} (source)", text)
    ob["skel_robot"] = json.dumps({"joints": robot.joints, "poses": robot.poses,
                                   "notes": robot.notes, "source": robot.source,
                                   "reach": robot.reach})
    _add_mimics(ob, unit)
    words = f"{robot.name}: {len(read.joint_bones(ob))} joints"
    if shapes and robot.visuals is not None:
        made, left = _add_visuals(context, ob, robot, folder, unit)
        words += f", {made} shapes" + (f", {left} meshes not found or not readable" if left else "")
    elif shapes:
        _add_shapes(context, ob, robot, unit)
    for other in context.selected_objects:
        other.select_set(False)
    ob.select_set(True)
    context.view_layer.objects.active = ob
    return words
