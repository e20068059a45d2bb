# SPDX-License-Identifier: BSD-3-Clause
"""As much of bpy as writing keys takes, for the versions of Blender that cannot be had here: 4.4
and 4.5 (slots, but Action.fcurves still there, Bone.select, no group_name) and 5.0, 5.1."""

import types
from array import array

BEZIER = 2                      # interpolation of a key


class Keys(list):
    """keyframe_points: what foreach_set writes, foreach_get gives back."""

    def __init__(self):
        super().__init__()
        self.fields = {}

    def add(self, count):
        self.extend([None] * count)

    def remove(self, _key, fast=False):
        assert fast
        self.pop()

    def clear(self):
        super().clear()
        self.fields.clear()

    def foreach_set(self, name, numbers):
        assert isinstance(numbers, array) and len(numbers) % len(self) == 0
        self.fields[name] = array(numbers.typecode, numbers)

    def foreach_get(self, name, numbers):
        stored = self.fields.get(name, [])
        for k, value in enumerate(stored[:len(numbers)]):
            numbers[k] = value

    def handles_recalc(self):
        pass


def bezier(points, frame):
    """The value of a Bezier segment at a frame, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        t = (low + high) / 2
        s = 1 - t
        x, y = (s ** 3 * a + 3 * s * s * t * b + 3 * s * t * t * c + t ** 3 * d
                for a, b, c, d in zip(*points))
        low, high = (t, high) if x < frame else (low, t)
    return y


class Curve:
    lock = mute = False

    def __init__(self, path, index, group=None):
        self.data_path, self.array_index, self.group = path, index, group
        self.keyframe_points, self.modifiers, self.updates = Keys(), [], 0

    def update(self):
        self.updates += 1

    def evaluate(self, frame):
        """Linear between the keys, or as their handles have it."""
        fields = self.keyframe_points.fields
        pairs = fields["co"]
        frames, values = pairs[0::2], pairs[1::2]
        kinds = fields.get("interpolation", [0] * len(frames))
        if frame <= frames[0]:
            return values[0]
        for k in range(1, len(frames)):
            if frame <= frames[k] and kinds[k - 1] == BEZIER:
                right, left = fields["handle_right"], fields["handle_left"]
                ends = [pairs[2 * k - 2:2 * k], right[2 * k - 2:2 * k], left[2 * k:2 * k + 2],
                        pairs[2 * k:2 * k + 2]]
                return bezier(ends, frame)
            if frame <= frames[k]:
                part = (frame - frames[k - 1]) / (frames[k] - frames[k - 1])
                return values[k - 1] + part * (values[k] - values[k - 1])
        return values[-1]


class Groups(list):
    def get(self, name):
        return next((g for g in self if g.name == name), None)

    def new(self, name):
        self.append(types.SimpleNamespace(name=name, lock=False, mute=False))
        return self[-1]


class Bag:
    def __init__(self, slot, version):
        self.slot, self.groups = slot, Groups()
        self.fcurves = FCurves(self, version)


class FCurves(list):
    def __init__(self, bag, version):
        super().__init__()
        self.bag, self.version = bag, version

    def new(self, path, *, index=0, **more):
        if self.version < (5, 0) and more:
            raise TypeError(f"unexpected keyword {sorted(more)}")
        name = more.get("group_name")
        group = (self.bag.groups.get(name) or self.bag.groups.new(name)) if name else None
        self.append(Curve(path, index, group))
        return self[-1]


class Strip:
    def __init__(self, version):
        self.version, self.channelbags = version, []

    def channelbag(self, slot, ensure=False):
        for bag in self.channelbags:
            if bag.slot.identifier == slot.identifier:
                return bag
        if not ensure:
            return None
        self.channelbags.append(Bag(slot, self.version))
        return self.channelbags[-1]


class Listed(list):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def new(self, *values, **named):
        self.append(self.make(*values, **named))
        return self[-1]


def make_slot(id_type, name, handle=0):
    """A handle tells the slots of all actions apart; copies of an action keep theirs."""
    make_slot.made += 1
    return types.SimpleNamespace(target_id_type=id_type, name_display=name,
                                 identifier=id_type[:2] + name, handle=handle or make_slot.made)


make_slot.made = 1000


class Action:
    library, tags, use_fake_user = None, 0, False
    all = ()                                    # a class of a world's own has them

    def __init__(self, name, version):
        self.version, self.curve_frame_range = version, (1.0, 10.0)
        self.name = name
        self.slots = Listed(make_slot)
        self.layers = Listed(lambda _name: types.SimpleNamespace(
            strips=Listed(lambda type: Strip(version))))

    def update_tag(self):
        self.tags += 1

    @property
    def name(self):
        return self._name

    @name.setter
    def name(self, name):
        """With a number where another action has it, as Blender does."""
        taken, number, self._name = {a.name for a in self.all if a is not self}, 0, name
        while self._name in taken:
            number += 1
            self._name = f"{name}.{number:03}"

    def copy(self):
        other = type(self)(self.name, self.version)
        if isinstance(self.all, list):
            self.all.append(other)
        for name, value in vars(self).items():
            if name == "_skel_takes":           # a group of settings, entry by entry
                twin = other.skel_takes
                for entry in value:
                    vars(twin.add()).update(vars(entry))
        for slot in self.slots:
            other.slots.new(slot.target_id_type, slot.name_display, slot.handle)
        for layer in self.layers:
            for strip in layer.strips:
                twin = other.layers.new("Layer").strips.new(type="KEYFRAME")
                for bag in strip.channelbags:
                    copied = twin.channelbag(bag.slot, ensure=True)
                    for curve in bag.fcurves:
                        new = Curve(curve.data_path, curve.array_index, curve.group)
                        new.keyframe_points.extend(curve.keyframe_points)
                        new.keyframe_points.fields = {n: array(a.typecode, a) for n, a in
                                                      curve.keyframe_points.fields.items()}
                        copied.fcurves.append(new)
        return other


class AnimationData:
    """Assigning an action takes the slot away, as Blender may: it must be set by hand."""

    def __init__(self):
        self._action, self.action_slot, self.use_tweak_mode = None, None, True
        self.use_nla, self.action_blend_type, self.action_influence = True, "ADD", 0.5
        self.action_extrapolation = "HOLD"
        self.nla_tracks, self.drivers = Listed(lambda: types.SimpleNamespace(
            is_solo=False, mute=False,
            strips=Listed(lambda name, start, action: types.SimpleNamespace(
                name=name, frame_start=start, action=action, action_slot=None, scale=1.0)))), []

    @property
    def action(self):
        return self._action

    @action.setter
    def action(self, action):
        assert not self.use_tweak_mode, "in tweak mode an action cannot be changed"
        self._action, self.action_slot = action, None


class Thing:
    users_scene = ()

    def __init__(self, name):
        self.name, self.animation_data, self.tags = name, None, 0

    def animation_data_create(self):
        self.animation_data = AnimationData()
        return self.animation_data

    def animation_data_clear(self):
        self.animation_data = None

    def update_tag(self):
        self.tags += 1


def make(version):
    """A module bpy of a version, (4, 4) to (5, 1)."""
    bpy = types.ModuleType("bpy")
    bpy.types = types.SimpleNamespace(ActionSlot=object)
    actions = Listed(lambda name: bpy.types.Action(name, version))
    bpy.types.Action = type("Action", (Action,), {"all": actions})
    bpy.data = types.SimpleNamespace(actions=actions)
    handlers = types.SimpleNamespace(
        save_pre=[], load_post=[], undo_post=[], redo_post=[], depsgraph_update_post=[],
        persistent=lambda function: function)
    bpy.app = types.SimpleNamespace(
        version=(*version, 0), handlers=handlers, background=True,
        version_string=f"{version[0]}.{version[1]}.0",
        timers=types.SimpleNamespace(is_registered=lambda function: False))
    return bpy


def pose_bone(version, selected):
    bone = types.SimpleNamespace()
    out = types.SimpleNamespace(bone=bone)
    (out if version >= (5, 0) else bone).select = selected
    return out
