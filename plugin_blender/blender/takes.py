# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes: the keys that bakes have written, and the animation that they were made from, the source.

A bake reads the source, never an earlier result, and its take replaces the last one: a second bake
without a change gives the same keys, bit for bit. Therefore every action that a bake writes has an
entry per slot (`action.skel_takes`) that names its source and keeps what the bake changed:

  NEW      the take is a copy of the source with new keys; the source gets a fake user
  CURRENT  the user's own action is the take; the source is a hidden copy, made before the bake
  NLA      the take plays in a strip; the source, pushed down, in the strip below it

An action without such an entry is the user's: if it is active, it is the source of the next bake.
A take that was renamed (NEW, NLA) is the user's as well, so that work can go on from it. A take
whose keys were changed by hand, or that has a fake user, is kept. Settings that were keyed while a
take played (Follow, weights of goals) go to its source. Constraints and drivers that a bake has
muted (`object.skel.muted`) are active whenever a source is read, and the channels that a take moves
have the values from before the first bake then (`values` of its entry). blender/take_edit.py keeps,
removes and changes takes."""

import json
import re
import zlib
from array import array
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import bpy
from bpy.props import (BoolProperty, CollectionProperty, EnumProperty, FloatProperty, IntProperty,
                       PointerProperty, StringProperty)

from ..core.errors import UserError
from ..core.keys import Channel
from ..core.work import Work
from . import animation, compat, read, statics, write
from .rna import ID, Action, AnimData, Armature, Strip, Track

NUMBER = r"\.\d+$"              # of a take, or what Blender appends to a name that is taken
REPLACE, KEEP, REMOVE = "REPLACE", "KEEP", "REMOVE"     # what becomes of the take that played
TORQUES = '["skel_'             # in data paths of curves that Find Torques adds
PLAIN = {"HIDDEN"}              # neither shown nor animated
Settings = Dict[Tuple[str, int], write.Keys]    # (data path, index): keys
TARGETS = (
    ("NEW", "New Action", "Write to a copy of the current action. The current action is not "
     "changed and gets a fake user"),
    ("CURRENT", "Current Action", "Write to the current action, within the frame range only"),
    ("NLA", "NLA Strip", "Write to a new action in an NLA strip above the others"),
)


class SkelTake(bpy.types.PropertyGroup):
    """What a bake wrote into one slot of an action, and the state to go back to."""
    slot: IntProperty(options=PLAIN, description="Handle of the slot; 0 before Blender 4.4")
    target: EnumProperty(items=TARGETS, options=PLAIN, description="Where the keys went")
    given_name: StringProperty(options=PLAIN, description="Name that the bake gave to the action")
    source: PointerProperty(type=bpy.types.Action,
                            description="The animation that the take was made from")
    source_name: StringProperty(options=PLAIN, description="Its name; empty: there was no action")
    source_slot: IntProperty(options=PLAIN, description="Handle of its slot that played")
    source_track: StringProperty(options=PLAIN, description="NLA track that it was pushed down to")
    protected: BoolProperty(options=PLAIN, description="The bake gave it its fake user")
    blend: StringProperty(options=PLAIN, description="How it was blended with the strips below it")
    influence: FloatProperty(options=PLAIN, description="Its influence")
    first: FloatProperty(options=PLAIN, description="First frame that got keys")
    last: FloatProperty(options=PLAIN, description="Last frame that got keys")
    curves: StringProperty(options=PLAIN, description="Curves that got keys, as JSON: "
                           "[[data path, index], ...]")
    values: StringProperty(options=PLAIN, description="Values that the channels with these curves "
                           "had before, as JSON: [[data path, index, value], ...]")
    holds: BoolProperty(options=PLAIN, description="The curves were cut at the ends of the range, "
                        "which changed the handles of the keys beside it")
    had_data: BoolProperty(options=PLAIN, default=True, description="The object had animation data "
                           "before")
    owner: StringProperty(options=PLAIN, description="Name of the object that was baked")
    muted: StringProperty(options=PLAIN, description="What was muted while the take played, as "
                          "JSON like that of the object")
    settings: StringProperty(options=PLAIN, description="How it was made, as JSON: the setup, the "
                             "range, the target, the scene and the versions")
    checksum: IntProperty(options=PLAIN, description="Of the keys that the bake left")


# ---- entries ----

def entry_of(action: Action, slot: int) -> Any:
    """The entry of an action's slot, or None if no bake wrote into it."""
    return next((entry for entry in action.skel_takes if entry.slot == slot), None)


def _forget(action: Action, slot: int) -> None:
    for k in reversed(range(len(action.skel_takes))):
        if action.skel_takes[k].slot == slot:
            action.skel_takes.remove(k)


def _is_ours(action: Action, entry: Any) -> bool:
    """Whether an action with an entry is still the bake's own: the user has not renamed it. Copies
    of an object have copies of its actions, which differ by a number."""
    return entry.target == "CURRENT" or \
        re.sub(NUMBER, "", action.name) == re.sub(NUMBER, "", entry.given_name)


def _checksum(action: Action, slot: int, first: float, last: float) -> int:
    """Of frames and values of all keys of the motion, without torques and settings. The handles of
    the keys that a bake wrote count as well if they are used. first, last: its frames."""
    sum_of = 0
    for curve in compat.curves_at(action, slot):
        if TORQUES in curve.data_path or animation.is_setting(curve.data_path):
            continue
        keys = array("f", bytes(8 * len(curve.keyframe_points)))
        curve.keyframe_points.foreach_get("co", keys)
        head = f"{curve.data_path}[{curve.array_index}]".encode()
        sum_of = zlib.crc32(keys.tobytes(), zlib.crc32(head, sum_of))
        sum_of = zlib.crc32(_handles_between(curve.keyframe_points, first, last), sum_of)
    return sum_of - 2 ** 31                     # as an IntProperty holds it


def _handles_between(points: Any, first: float, last: float) -> bytes:
    """Handles of Bezier keys in a range of frames."""
    keys = write.read_keys(points, ("co", "interpolation", "handle_left", "handle_right"))
    if write.BEZIER not in keys["interpolation"]:
        return b""
    out = array("f")
    for k, frame in enumerate(keys["co"][0::2]):
        if first <= frame <= last and keys["interpolation"][k] == write.BEZIER:
            out += keys["handle_left"][2 * k:2 * k + 2] + keys["handle_right"][2 * k:2 * k + 2]
    return out.tobytes()


def _take_strips(data: AnimData) -> Iterator[Tuple[Track, Strip, Any]]:
    """(track, strip, entry) of every NLA strip that a bake made for its take."""
    for track in data.nla_tracks:
        for strip in track.strips:
            entry = entry_of(strip.action, compat.slot_handle(strip)) if strip.action else None
            if entry and entry.target == "NLA" and _is_ours(strip.action, entry):
                yield track, strip, entry


def _source_track(data: AnimData, entry: Any) -> Optional[Track]:
    """The track that a bake pushed the source down to; None if the user removed or changed it."""
    for track in data.nla_tracks:
        if track.name == entry.source_track and len(track.strips) == 1:
            strip = track.strips[0]
            if strip.action == entry.source and strip.scale == 1 and \
                    strip.frame_start == strip.action_frame_start:
                return track
    return None


def _active_entry(data: AnimData) -> Any:
    """The entry of the active action if that is a take, else None."""
    if data.action is None:
        return None
    entry = entry_of(data.action, compat.slot_handle(data))
    return entry if entry and entry.target != "NLA" and _is_ours(data.action, entry) else None


def current(ob: Armature) -> Optional[Tuple[Action, Any]]:
    """(action, entry) of the take that plays; None if no take plays."""
    data = ob.animation_data
    if data is None:
        return None
    entry = _active_entry(data)
    if entry is not None:
        return data.action, entry
    if data.action is not None and not data.use_tweak_mode:
        return None
    return next(((strip.action, found) for _track, strip, found in _take_strips(data)), None)


def source_name(ob: Armature) -> Optional[str]:
    """Name of the source if a take plays; "" if there was no action; None if no take plays."""
    found = current(ob)
    return found[1].source_name.removeprefix(".").removesuffix(".source") if found else None


# ---- the state around a take ----

def _put_back(action: Action, entry: Any) -> None:
    """The curves that a bake wrote into an action get their earlier keys in the frames that it
    covers. Keys outside of them, and other curves, stay as the user has them now."""
    slot = entry.slot
    now = {(c.data_path, c.array_index): c for c in compat.curves_at(action, slot)}
    earlier = {(c.data_path, c.array_index): c
               for c in compat.curves_at(entry.source, entry.source_slot)}

    for path, index in json.loads(entry.curves):
        curve, old = now.get((path, index)), earlier.get((path, index))
        if curve is None:
            continue
        if not write.replace_keys(curve, old, entry.first, entry.last, entry.holds):
            compat.curves_at(action, slot).remove(curve)
            continue
        for modifier, before in zip(curve.modifiers, old.modifiers if old else ()):
            modifier.mute = before.mute
    compat.remove_empty_groups(action, slot, entry.source, entry.source_slot)


def _settings(action: Action, slot: int) -> Settings:
    """{(data path, index): keys} of animated settings, such as Follow, in a slot of an action."""
    return {(c.data_path, c.array_index): write.read_keys(c.keyframe_points)
            for c in compat.curves_at(action, slot) if animation.is_setting(c.data_path)}


def _carry_settings(wanted: Settings, action: Action, slot: int) -> None:
    """Gives an action these animated settings: those that were keyed while a take played belong to
    its source."""
    for curve in [c for c in compat.curves_at(action, slot) if animation.is_setting(c.data_path)]:
        compat.curves_at(action, slot).remove(curve)
    for (path, index), keys in wanted.items():
        curve = compat.curves_at(action, slot).new(path, index=index)
        write.set_keys(curve.keyframe_points, keys)


def _restore(action: Action, entry: Any) -> None:
    """Makes an action that a bake wrote into what it was; it is no longer a take."""
    before = entry.source
    _put_back(action, entry)
    _forget(action, entry.slot)
    if before.users == 0:
        bpy.data.actions.remove(before)


def muted_things(ob: Armature, rows: Sequence[Sequence[Any]]) -> Iterator[Tuple[Any, ID]]:
    """(row, constraint or driver) that rows like those of muted_by_bake name and that are still
    there."""
    drivers = ob.animation_data.drivers if ob.animation_data else ()
    for row in rows:
        kind, first, second = row
        if kind == "driver":
            found = next((d for d in drivers if (d.data_path, d.array_index) == (first, second)),
                         None)
        else:
            bone = ob.pose.bones.get(first)
            found = bone.constraints.get(second) if bone else None
        if found is not None:
            yield row, found


def find_copy(action: Action, entry: Any) -> Optional[Action]:
    """The copy that kept_copy has made of a take that has not changed since then."""
    wanted = _checksum(action, entry.slot, entry.first, entry.last)
    for other in bpy.data.actions:
        own = entry_of(other, entry.slot)
        if own and own.target == "NEW" and own.source == action and \
                _checksum(other, entry.slot, entry.first, entry.last) == wanted:
            return other
    return None


def kept_copy(ob: Armature, action: Action, entry: Any) -> Action:
    """A take that is in the user's own action (CURRENT) as an action of its own, which is kept. Its
    source is the user's action."""
    slot, data = entry.slot, ob.animation_data
    copy = action.copy()
    for other in [each.slot for each in copy.skel_takes if each.slot != slot]:
        _forget(copy, other)
    write.give_name(copy, action.name, write.TAKE_ENDING)
    copy.use_fake_user = True

    own = entry_of(copy, slot)
    fields = {"target": "NEW", "source": action, "source_name": action.name, "source_slot": slot,
              "given_name": copy.name, "blend": data.action_blend_type,
              "influence": data.action_influence, "muted": ob.skel.muted}
    for name, value in fields.items():
        setattr(own, name, value)
    return copy


class Source:
    """While this context is open, the object plays its source. Afterwards it plays as before, or,
    after `retire`, whatever it was given meanwhile. writing: keys are about to be written, so that
    an action that is take and source in one (CURRENT) becomes the source again for good. leaving:
    what becomes of the take that played (REPLACE, KEEP, REMOVE)."""

    def __init__(self, ob: Armature, writing: bool = False, leaving: str = REPLACE) -> None:
        self.ob, self.writing, self.leaving = ob, writing, leaving
        self.had_data = ob.animation_data is not None   # before the first bake
        self.warnings: List[str] = []
        self.kept_name = ""         # of the copy of a take that was in the user's own action
        self.tweaked = False        # whether a strip was being edited
        # Calls that undo changes, the last change first.
        self._journal: List[Callable[[], Any]] = []
        # (action, slot) of the take that was active.
        self._active: Optional[Tuple[Action, int]] = None
        # (track, action, slot, track of the source) of takes in strips.
        self._strips: List[Tuple[Track, Action, int, Optional[Track]]] = []
        self._scratch: Optional[Action] = None      # an action that lives as long as this is open

    def __enter__(self) -> "Source":
        try:
            self._open()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._close()

    def _open(self) -> None:
        data = self.ob.animation_data
        if data is not None:
            self.tweaked = data.use_tweak_mode
            if self.tweaked:                    # else the active action cannot be changed
                self._set(data, "use_tweak_mode", False)
            if not self._open_takes(data):
                self._close()                   # the strip that is being edited is what plays

        for _row, thing in muted_things(self.ob, read.muted_by_bake(self.ob)):
            self._set(thing, "mute", False)
        if self._journal:
            self.ob.update_tag()

    def _close(self) -> None:
        try:
            if self._journal:
                self.ob.update_tag()
            while self._journal:
                self._journal.pop()()
            if self._scratch is not None:
                bpy.data.actions.remove(self._scratch)
        except ReferenceError:
            pass                                # removed by an undo, or by opening a file
        self._journal, self._scratch = [], None

    # ---- changes that are undone ----

    def _set(self, owner: ID, name: str, value: Any) -> None:
        before = getattr(owner, name)
        if before != value:
            self._journal.append(lambda: setattr(owner, name, before))
            setattr(owner, name, value)

    def _assign(self, data: AnimData, action: Optional[Action], slot: int) -> None:
        before, slot_before = data.action, compat.slot_handle(data)
        self._journal.append(lambda: compat.assign(data, before, slot_before))
        compat.assign(data, action, slot)

    def _set_values(self, entry: Any) -> None:
        """The channels have the values from before the bake."""
        self.had_data = entry.had_data
        before = statics.put(self.ob, json.loads(entry.values or "[]"))
        self._journal.append(lambda: statics.put(self.ob, before))

    # ---- the source of each kind of take ----

    def _open_takes(self, data: AnimData) -> bool:
        """Returns whether there is a take that plays."""
        entry, found = _active_entry(data), False
        if entry and self._has_source(data.action, entry):
            self._open_action(data, entry)
            found = True

        for track, strip, entry in list(_take_strips(data)):
            below = None
            if data.action is None:
                if not self._has_source(strip.action, entry):
                    continue
                below = self._open_strip(data, entry)
            self._set(track, "mute", True)
            self._strips.append((track, strip.action, entry.slot, below))
        return found or bool(self._strips)

    def _has_source(self, action: Action, entry: Any) -> bool:
        if entry.source or not entry.source_name:
            return True
        self.warnings.append(
            f"The animation '{entry.source_name}' that '{action.name}' was baked from was deleted. "
            f"From now on bakes start from '{action.name}' itself")
        if self.writing:
            _forget(action, entry.slot)
        return False

    def _open_action(self, data: AnimData, entry: Any) -> None:
        action = data.action
        self._set_values(entry)

        # The user's own action: the keys that the bake wrote into it are removed.
        if entry.target == "CURRENT" and self.writing:
            if self.leaving == KEEP:
                self._keep_copy(action, entry)
            _restore(action, entry)
            return
        self._active = action, entry.slot
        if entry.target == "CURRENT":
            self._scratch = action.copy()
            _put_back(self._scratch, entry)
            strips = [strip for track in data.nla_tracks for strip in track.strips]
            for user in [data, *(strip for strip in strips if strip.action == action)]:
                self._assign(user, self._scratch, compat.slot_handle(user))
            return

        # A copy of the source: the source instead.
        self._assign(data, *self._source_of(action, entry))
        self._set(data, "action_blend_type", entry.blend)
        self._set(data, "action_influence", entry.influence)

    def _keep_copy(self, action: Action, entry: Any) -> None:
        copy = find_copy(action, entry)
        if copy is None:
            copy = kept_copy(self.ob, action, entry)
            self._journal.append(lambda: bpy.data.actions.remove(copy))
        self.kept_name = copy.name

    def _source_of(self, action: Action, entry: Any) -> Tuple[Optional[Action], int]:
        """(the source of a take, its slot), with the settings that were keyed since then."""
        source, slot = entry.source, entry.source_slot
        wanted, there = _settings(action, entry.slot), _settings(source, slot) if source else {}
        if wanted == there or source and source.library:
            return source, slot

        # Into a copy while the source is read; into the source itself with the new take.
        if source is None:
            source = bpy.data.actions.new(f"{self.ob.name}Action")
            slot = compat.new_slot(source, self.ob)
            self._journal.append(lambda: bpy.data.actions.remove(source))
        elif self.writing:
            self._journal.append(lambda: _carry_settings(there, source, slot))
        else:
            source = self._scratch = source.copy()
        _carry_settings(wanted, source, slot)
        return source, slot

    def _open_strip(self, data: AnimData, entry: Any) -> Optional[Track]:
        """The source is active again, as it was before it was pushed down. Returns its track, or
        None if it has none that the user left as it was."""
        self._set_values(entry)
        below = _source_track(data, entry) if entry.source else None
        if below is not None:
            self._set(below, "mute", True)
            self._assign(data, entry.source, entry.source_slot)
        return below

    # ---- a new take ----

    def target(self, target: str) -> str:
        """Where keys go that are asked to go to a target. "Into the current action" makes a new one
        if there is none, and replaces the take if that is what is active."""
        data = self.ob.animation_data
        if target != "CURRENT":
            return target
        if self.tweaked and (self._active or self._strips):
            taken = self._active[0] if self._active else self._strips[0][1]
            raise UserError(write.tweak_words(taken))
        entry = entry_of(*self._active) if self._active else None
        if data is None or data.action is None or entry and entry.target == "NEW":
            return "NEW"
        return target

    def retire(self) -> None:
        """The source plays for good. The earlier take is removed, unless it is to be kept or the
        user did something with it, and so is one of this source that nothing plays any more."""
        self._journal.clear()
        data = self.ob.animation_data
        old = [self._active] if self._active else []
        for track, action, slot, below in self._strips:
            for each in filter(None, (track, below)):
                data.nla_tracks.remove(each)
            old.append((action, slot))

        if data and data.action and self.leaving != REMOVE:
            old += [(action, entry.slot) for action in bpy.data.actions
                    for entry in action.skel_takes[:1]
                    if action.users == 0 and entry.source == data.action and
                    (action, entry.slot) not in old and _is_ours(action, entry)]
        for action, slot in old:
            self._discard(action, slot)
        self.ob.skel.muted = ""

    def _discard(self, action: Action, slot: int) -> None:
        entry = entry_of(action, slot)
        entry.muted = self.ob.skel.muted
        if entry.protected and entry.source:
            entry.source.use_fake_user = entry.protected = False
        if self.leaving != REPLACE:
            action.use_fake_user = self.leaving == KEEP

        if action.users > 0:                    # a fake user counts: the user keeps this take
            return
        if self.leaving == REMOVE or \
                entry.checksum == _checksum(action, slot, entry.first, entry.last):
            bpy.data.actions.remove(action)
            return
        action.use_fake_user = True
        self.warnings.append(f"The keys of '{action.name}' were changed since they were baked: it "
                             "is kept beside the new take")


def source(ob: Armature) -> Source:
    """A context in which the object plays the animation that bakes start from."""
    return Source(ob)


# ---- writing ----

def write_take(ob: Armature, channels: Sequence[Channel], target: str, name: str,
               made: Optional[Dict[str, Any]] = None) -> Work[Tuple[Action, List[str]]]:
    """Generator: writes channels as a take, which replaces the last one, unless the switch New Take
    is on. made: how (see take_edit.made_of), for the entry. Returns (its action, warnings). If it
    is closed before its end, it leaves the file as it was, except for an action that keys went into
    (CURRENT)."""
    hidden, leaving = None, KEEP if ob.skel.new_take else REPLACE
    curves = [(channel.path, channel.index) for channel in channels]
    with Source(ob, writing=True, leaving=leaving) as base:
        target = base.target(target)
        fields = {"target": target, "values": json.dumps(statics.read(ob, curves)),
                  "had_data": base.had_data, "owner": ob.name,
                  "settings": json.dumps(made or {}),
                  **state(ob.animation_data)}
        if target == "CURRENT":
            hidden = fields["source"].copy()
            hidden.name = f".{fields['source_name']}.source"
            fields.update(source=hidden, source_name=hidden.name)

        try:
            action = yield from write.write_channels(ob, channels, target, name, base.retire)
        except BaseException:
            if hidden is not None:
                bpy.data.actions.remove(hidden)
            raise
        _remember(ob, action, channels, fields)
    return action, base.warnings


def state(data: Optional[AnimData]) -> Dict[str, Any]:
    """What plays, as fields of an entry."""
    if data is None:
        return {"source": None, "source_name": "", "source_slot": 0, "blend": "REPLACE",
                "influence": 1.0}
    return {"source": data.action, "source_name": data.action.name if data.action else "",
            "source_slot": compat.slot_handle(data), "blend": data.action_blend_type,
            "influence": data.action_influence}


def _remember(ob: Armature, action: Action, channels: Sequence[Channel],
              fields: Dict[str, Any]) -> None:
    """An entry for a take that plays now."""
    data = ob.animation_data
    strips = [strip for track in data.nla_tracks for strip in track.strips]
    slot = compat.slot_handle(data)
    if fields["target"] == "NLA":
        slot = next(compat.slot_handle(strip) for strip in strips if strip.action == action)

    _forget(action, slot)                       # a copy has the entries of its original
    entry = action.skel_takes.add()
    for name, value in fields.items():
        setattr(entry, name, value)
    entry.slot, entry.given_name = slot, action.name
    entry.first = min(channel.span[0] for channel in channels)
    entry.last = max(channel.span[1] for channel in channels)
    entry.holds = any(channel.hold is not None for channel in channels)
    entry.curves = json.dumps([[channel.path, channel.index] for channel in channels])
    entry.checksum = _checksum(action, slot, entry.first, entry.last)
    settle(data, entry)


def settle(data: AnimData, entry: Any) -> None:
    """A take plays: its entry knows the track of its source, which is protected."""
    if entry.target == "NLA" and entry.source:
        # The last one: the user may have strips of the same action below it.
        entry.source_track = next((track.name for track in reversed(list(data.nla_tracks))
                                   if any(s.action == entry.source for s in track.strips)), "")

    # The source has a user that stays, whatever becomes of the take.
    if entry.target != "CURRENT" and entry.source and not entry.source.library and \
            not entry.source.use_fake_user:
        entry.source.use_fake_user = entry.protected = True


CLASSES = (SkelTake,)
_register, _unregister = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    _register()
    bpy.types.Action.skel_takes = CollectionProperty(type=SkelTake)


def unregister() -> None:
    del bpy.types.Action.skel_takes
    _unregister()
