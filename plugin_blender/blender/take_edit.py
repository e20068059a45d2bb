# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes after the bake: which there are, and how one is kept, removed, left or played again. How a
take was made is remembered with it, so that its settings can be used once more."""

import json
from functools import wraps
from typing import Any, Callable, Dict, List, Optional, Tuple

import bpy

from ..core import setup as documents
from ..core.binding import skelpy
from ..core.errors import UserError, parse_json
from . import compat, read, setups, statics, takes, write
from .rna import Action, AnimData, Armature, Scene
from .takes import KEEP, REMOVE, Source

CALL = ("frame_start", "frame_end", "frame_step")


# ---- which takes there are ----

def _home(action: Action, entry: Any) -> Optional[Action]:
    """The user's own action that a take belongs to."""
    return action if entry.target == "CURRENT" else entry.source


def home(ob: Armature) -> Optional[Action]:
    """The user's own action that an object plays, or whose take it plays; None: its pose."""
    found = takes.current(ob)
    if found is not None:
        return _home(*found)
    return ob.animation_data.action if ob.animation_data else None


def _entry_for(ob: Armature, action: Action, source: Optional[Action]) -> Any:
    """The entry of an action if it is a take of a source, or of the pose of an object."""
    for entry in action.skel_takes:
        is_of_pose = source is None and not entry.source_name and entry.owner == ob.name
        if entry.target != "CURRENT" and (entry.source == source if source else is_of_pose):
            return entry
    return None


def takes_of(ob: Armature) -> List[Action]:
    """The takes of what an object plays, and the one that it plays, by number."""
    source, found = home(ob), takes.current(ob)
    out = [action for action in bpy.data.actions if _entry_for(ob, action, source)]
    if found is not None and found[0] not in out:
        out.append(found[0])
    return sorted(out, key=lambda action: (len(action.name), action.name))


# ---- keeping, leaving, playing again ----

def _out_of_tweak(change: Callable[..., str]) -> Callable[..., str]:
    """While a strip is being edited, Blender hides the action that the object plays: a change
    leaves tweak mode first, and returns to it if it cannot be made."""
    @wraps(change)
    def changed(ob: Armature, *names: str) -> str:
        data: AnimData = ob.animation_data
        if data is None or not data.use_tweak_mode:
            return change(ob, *names)
        data.use_tweak_mode = False
        try:
            return change(ob, *names)
        except UserError:
            data.use_tweak_mode = True
            raise
    return changed


def _is_found(ob: Armature) -> Tuple[Action, Any]:
    found = takes.current(ob)
    if found is None:
        raise UserError(f"'{ob.name}' plays no take. Bake it first, or choose one of its takes")
    return found


@_out_of_tweak
def keep(ob: Armature) -> str:
    """The take that plays is kept: the next bake makes a new one. Returns its name."""
    action, entry = _is_found(ob)
    if entry.target == "CURRENT":
        return (takes.find_copy(action, entry) or takes.kept_copy(ob, action, entry)).name

    entry.muted, action.use_fake_user = ob.skel.muted, True
    if entry.target == "NLA" and entry.source and write.TAKE_ENDING not in action.name:
        write.give_name(action, entry.source.name, write.TAKE_ENDING)
        entry.given_name = action.name
    return action.name


@_out_of_tweak
def remove(ob: Armature) -> str:
    """The take that plays is removed, and the source plays again. Returns words."""
    action, entry = _is_found(ob)
    name, is_own = action.name, entry.target != "CURRENT"
    _leave(ob, REMOVE)
    if is_own and name in bpy.data.actions:
        return f"'{name}' has other users and stays in the file"
    return f"Removed '{name}'" if is_own else f"Removed the take from '{name}'"


@_out_of_tweak
def restore(ob: Armature) -> str:
    """Everything that bakes have changed is as before the first one; the takes stay in the file.
    Returns words."""
    found = takes.current(ob)
    name = found[0].name if found else ""
    if found is not None:
        name = _leave(ob, KEEP) or name
    else:
        _leave_by_hand(ob)
    said = f"; the take '{name}' stays in the file with a fake user" if name else ""
    return f"'{ob.name}' is as before the first bake{said}"


def _leave(ob: Armature, leaving: str) -> str:
    """The source plays for good. Returns the name of the copy that was kept, or ""."""
    base = _open_source(ob, leaving)
    data = ob.animation_data
    if not base.had_data and data and not (data.action or data.nla_tracks or data.drivers):
        ob.animation_data_clear()
    ob.update_tag()
    return base.kept_name


def _open_source(ob: Armature, leaving: str) -> Source:
    """The source plays instead of the take, which stays or goes."""
    found = takes.current(ob)
    if found is not None and found[1].source is None and found[1].source_name:
        raise UserError(f"The animation '{found[1].source_name}' that '{found[0].name}' was baked "
                        "from was deleted. There is nothing to go back to")
    with Source(ob, writing=True, leaving=leaving) as base:
        base.retire()
    return base


def _leave_by_hand(ob: Armature) -> None:
    """The user has taken the take away: what it left behind goes, too."""
    source = home(ob)
    entries = [_entry_for(ob, action, source) for action in takes_of(ob)]
    mine = [entry for entry in entries if entry and entry.owner == ob.name]
    if not mine and not ob.skel.muted:
        raise UserError(f"No bake has changed '{ob.name}': there is nothing to restore")
    rows = [row for entry in mine for row in json.loads(entry.values or "[]")]
    _leave(ob, KEEP)
    statics.put(ob, rows)


@_out_of_tweak
def use(ob: Armature, name: str) -> str:
    """An object plays one of its takes again; the one that it plays is kept. Returns words."""
    source, found, action = home(ob), takes.current(ob), bpy.data.actions.get(name)
    entry = _entry_for(ob, action, source) if action else None
    if action is None or entry is None:
        raise UserError(f"There is no take '{name}' of '{source.name if source else ob.name}'")
    if found is not None and found[0] == action:
        return f"'{name}' plays already"

    slot = entry.slot
    base = _open_source(ob, KEEP)
    entry = takes.entry_of(action, slot)
    curves = [(path, index) for path, index in json.loads(entry.curves or "[]")]
    fields = {**takes.state(ob.animation_data), "had_data": base.had_data, "owner": ob.name,
              "values": json.dumps(statics.read(ob, curves))}
    for key, value in fields.items():
        setattr(entry, key, value)
    _play(ob, action, entry)
    return f"'{name}' plays"


def _play(ob: Armature, action: Action, entry: Any) -> None:
    """An object that plays the source of a take plays the take."""
    data = ob.animation_data or ob.animation_data_create()
    if entry.target == "NLA":
        strip = write.push(ob, action, action.name, entry.first, entry.last)
        compat.assign(strip, action, entry.slot)
    else:
        compat.assign(data, action, entry.slot)
        data.action_blend_type, data.action_influence = "REPLACE", 1.0
    takes.settle(data, entry)

    # What would fight its keys is muted as it was.
    muted = []
    for row, thing in takes.muted_things(ob, json.loads(entry.muted or "[]")):
        if not thing.mute:
            thing.mute = True
            muted.append(row)
    ob.skel.muted = json.dumps(muted)
    ob.update_tag()


# ---- how a take was made ----

def _scene_of(scene: Scene) -> Dict[str, Any]:
    """What a bake reads of the scene and a setup does not have."""
    return {"frames_per_second": read.fps(scene), "unit_scale": scene.unit_settings.scale_length,
            "gravity": list(scene.gravity) if scene.use_gravity else [0.0, 0.0, 0.0]}


def made_of(scene: Scene, ob: Armature, kind: str, **call: Any) -> Dict[str, Any]:
    """How a take is being made, for write_take. kind: physics, ik or track; call: the properties of
    the operator."""
    selected = [bone.name for bone in ob.pose.bones if compat.is_selected(bone)]
    return {"kind": kind, **call, "setup": setups.document(ob), "scene": _scene_of(scene),
            "selected": selected if ob.skel.only_selected else None,
            "versions": {"libskel": skelpy.version(), "Blender": bpy.app.version_string}}


def use_settings(scene: Scene, ob: Armature, name: str) -> Tuple[str, List[str]]:
    """The panels get the settings with which a take was made. Returns (words, warnings)."""
    action = bpy.data.actions.get(name) if name else _is_found(ob)[0]
    found = takes.current(ob)
    entry = found[1] if found and found[0] == action else None
    if entry is None and action is not None:
        entry = _entry_for(ob, action, home(ob))
    if action is None or entry is None:
        raise UserError(f"There is no take '{name}' of '{ob.name}'")
    made = parse_json(entry.settings or "{}", f"The settings of '{action.name}'")
    if "setup" not in made:
        raise UserError(f"'{action.name}' does not remember its settings: it was baked by an "
                        "earlier version")

    setup, warnings = documents.check_setup(made["setup"], f"'{action.name}'", setups.form(ob))
    warnings += setups.put(ob, setup)
    _use_call(ob, made)
    return f"The settings of '{action.name}'", warnings + _changes(scene, made)


def _use_call(ob: Armature, made: Dict[str, Any]) -> None:
    """The range, the target and the selection of a bake."""
    if made.get("target"):
        (ob.skel_ik if made["kind"] == "ik" else ob.skel).target = made["target"]
    if all(name in made for name in CALL):
        ob.skel.use_range = True
        for name in CALL:
            setattr(ob.skel, name, made[name])
    if made.get("selected") is not None:
        for bone in ob.pose.bones:
            compat.select(bone, bone.name in made["selected"])


def _changes(scene: Scene, made: Dict[str, Any]) -> List[str]:
    """Warnings about what a setup does not have and what was different then."""
    words = {"frames_per_second": "frames per second", "unit_scale": "unit scale",
             "gravity": "gravity in m/s²"}
    then, now = made.get("scene", {}), _scene_of(scene)
    out = [f"The scene had {then[key]} as its {words[key]} then, and has {now[key]} now"
           for key in words if key in then and then[key] != now[key]]
    version = made.get("versions", {}).get("libskel")
    if version not in (None, skelpy.version()):
        out.append(f"The take was made by libskel {version}, and this is {skelpy.version()}: the "
                   "same settings may give a different motion")
    return out
