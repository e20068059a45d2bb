# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what core/controls.py traces: bones, locks, constraints, and the properties that drive
their influence. Properties are tried out on a copy of the armature (puppet.py)."""

from typing import Dict, List, Sequence, Set, Tuple

from ..core.controls import COPIES, IK, NONE, PARENTS, Link, RigBone, Switch, Three
from ..core.keys import escape
from . import mute, statics
from .puppet import Puppet
from .rna import Armature, Constraint, PoseBone
from .stage import flat

OPTIONS_MAX = 8                 # values of an integer that are tried


# ---- bones ----

def _driven(ob: Armature) -> Set[Tuple[str, int]]:
    """(data path, index) of all properties that drivers move."""
    drivers = ob.animation_data.drivers if ob.animation_data else ()
    return {(curve.data_path, curve.array_index) for curve in drivers if not curve.mute}


def rotation_property(mode: str) -> str:
    return {"QUATERNION": "rotation_quaternion",
            "AXIS_ANGLE": "rotation_axis_angle"}.get(mode, "rotation_euler")


def _free(bone: PoseBone, driven: Set[Tuple[str, int]]) -> Tuple[Three, Three]:
    """The axes of location and rotation that are neither locked nor driven."""
    head = f'pose.bones["{escape(bone.name)}"]'
    name = rotation_property(bone.rotation_mode)
    turned = [(f"{head}.{name}", k) in driven for k in range(4)]
    x, y, z = (not lock and (f"{head}.location", k) not in driven
               for k, lock in enumerate(bone.lock_location))
    if name == "rotation_euler":
        u, v, w = (not lock and not turned[k] for k, lock in enumerate(bone.lock_rotation))
    else:
        u, v, w = (not lock and not any(turned) for lock in bone.lock_rotation)
    return (x, y, z), (u, v, w)


# ---- constraints ----

def _targets(ob: Armature, c: Constraint, index: Dict[str, int]) -> Tuple[Tuple[int, float], ...]:
    """(bone, weight) of the bones of the same armature that a constraint reads."""
    if c.type == "ARMATURE":
        return tuple((index[t.subtarget], t.weight) for t in c.targets
                     if t.target == ob and t.subtarget in index)
    out = []
    for target, bone in (("target", "subtarget"), ("pole_target", "pole_subtarget")):
        name = getattr(c, bone, "")
        if getattr(c, target, None) == ob and name in index:
            out.append((index[name], 1.0))
    return tuple(out)


def _replaces(c: Constraint) -> bool:
    """Whether a copy constraint leaves nothing of the bone's own pose."""
    if c.type == "COPY_LOCATION":
        return c.use_x and c.use_y and c.use_z and not c.use_offset
    if c.type == "COPY_ROTATION":
        return c.use_x and c.use_y and c.use_z and c.mix_mode == "REPLACE"
    return c.type != "COPY_TRANSFORMS" or c.mix_mode == "REPLACE"


def _link(ob: Armature, bone: PoseBone, c: Constraint, index: Dict[str, int]) -> Link:
    spaces = (c.owner_space, getattr(c, "target_space", "WORLD"))
    chain = tuple(index[name] for name in mute.chain_of(bone, c)) if c.type in IK else ()
    return Link(kind=c.type, targets=_targets(ob, c, index), influence=c.influence,
                local=any(space.startswith("LOCAL") for space in spaces),
                replaces=_replaces(c), chain=chain)


def _path(bone: PoseBone, c: Constraint) -> str:
    return f'pose.bones["{escape(bone.name)}"].constraints["{escape(c.name)}"].influence'


# ---- switches ----

def _values(puppet: Puppet, path: str) -> List[float]:
    """The values of a property that are tried: its limits, or all of a short list."""
    found = statics.Value(puppet.ob, path)
    now = found.get()
    if not found.is_custom or isinstance(now, bool) or not isinstance(now, (int, float)):
        return [0.0, 1.0]
    limits = found.owner.id_properties_ui(found.name).as_dict()
    low, high = limits.get("min", 0), limits.get("max", 1)
    if isinstance(now, int):
        return [float(v) for v in range(low, min(high, low + OPTIONS_MAX) + 1)] \
            if high - low <= 10 * OPTIONS_MAX else [0.0, 1.0]
    return [float(low), float(high)] if high - low <= 100 else [0.0, 1.0]


def _driving(ob: Armature) -> Dict[str, str]:
    """{data path of an influence: data path of the property that drives it}."""
    out = {}
    for curve in ob.animation_data.drivers if ob.animation_data else ():
        if curve.mute or not curve.data_path.endswith(".influence"):
            continue
        for variable in curve.driver.variables:
            target = variable.targets[0]
            if variable.type == "SINGLE_PROP" and target.id == ob and \
                    statics.is_custom(target.data_path):
                out[curve.data_path] = target.data_path
                break
    return out


def _try_out(puppet: Puppet, path: str, moved: Sequence[str]) -> Dict[str, List]:
    """{influence: [(value, influence there), ...]} of the influences that a property drives."""
    now = puppet.value(path)
    out: Dict[str, List] = {each: [] for each in moved}
    for value in dict.fromkeys([now, *_values(puppet, path)]):
        puppet.set_value(path, value)
        puppet.update()
        for each in moved:
            out[each].append((value, puppet.evaluated(each)))
    puppet.set_value(path, now)
    puppet.update()
    return out


def _tables(puppet: Puppet, links: Dict[str, Link]) -> Tuple[Dict[str, Link], List[str]]:
    """The links with what switches do to them, and the data paths of the switches: properties that
    drive influences; then influences of IK and of copies that are not driven."""
    driving = {path: by for path, by in _driving(puppet.ob).items()
               if path in links and links[path].kind in (*COPIES, *PARENTS, *IK)}
    out, switches = dict(links), list(dict.fromkeys(driving.values()))
    for switch in switches:
        moved = [path for path, by in driving.items() if by == switch]
        for path, rows in _try_out(puppet, switch, moved).items():
            out[path] = _with(links[path], switch, rows)
    for path, link in links.items():
        if path not in driving and link.kind in IK:
            out[path] = _with(link, path, [(0.0, 0.0), (1.0, 1.0)])
            switches.append(path)
    return out, switches


def _with(link: Link, switch: str, rows: Sequence) -> Link:
    fields = {**link.__dict__, "switch": switch, "table": tuple(rows)}
    return Link(**fields)


# ---- the rig ----

def read_rig(puppet: Puppet, locked: Tuple[bool, bool]) -> Tuple[List[RigBone], List[Switch]]:
    """The bones of an armature as evaluated now, and its switches. locked: whether location and
    rotation get no keys at all."""
    ob = puppet.ob
    index = {bone.name: i for i, bone in enumerate(ob.pose.bones)}
    driven, animated = _driven(ob), puppet.animated
    links: Dict[str, Link] = {}
    for bone in ob.pose.bones:
        for c in bone.constraints:
            link = _link(ob, bone, c, index)
            if not c.mute and (link.targets or link.kind in IK or link.kind not in COPIES):
                path = _path(bone, c)
                links[path] = _at(link, puppet.evaluated(path))
    links, switches = _tables(puppet, links)

    bones = []
    for bone in ob.pose.bones:
        location, rotation = _free(bone, driven)
        parent = bone.parent
        bones.append(RigBone(
            name=bone.name, parent=index[parent.name] if parent else -1,
            rest=flat(bone.bone.matrix_local), length=bone.bone.length,
            deform=bone.bone.use_deform, connected=bone.bone.use_connect and parent is not None,
            free_location=NONE if locked[0] else location,
            free_rotation=NONE if locked[1] else rotation,
            inherits_rotation=bone.bone.use_inherit_rotation,
            links=tuple(links[path] for path in (_path(bone, c) for c in bone.constraints)
                        if path in links)))
    return bones, [Switch(path, puppet.value(path), path in animated) for path in switches]


def _at(link: Link, influence: float) -> Link:
    return Link(**{**link.__dict__, "influence": influence})


def find(names: Sequence[str], bones: Sequence[RigBone]) -> List[int]:
    """The numbers of bones by name."""
    index = {bone.name: i for i, bone in enumerate(bones)}
    return [index[name] for name in names]
