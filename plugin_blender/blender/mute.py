# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutes constraints, drivers and modifiers that would fight new keys."""

import json
from typing import Collection, Dict, Iterator, List, Optional, Sequence, Tuple

from ..core.keys import Channel
from . import compat, read
from .rna import ID, Armature, Constraint, PoseBone


def chain_of(bone: PoseBone, constraint: Constraint) -> List[str]:
    """Names of the bones that an IK constraint moves."""
    at = bone if constraint.type == "SPLINE_IK" or constraint.use_tail else bone.parent
    out: List[str] = []
    count = constraint.chain_count
    while at is not None and (count == 0 or len(out) < count):
        out.append(at.name)
        at = at.parent
    return out


def _stays(bone: PoseBone, constraint: Constraint, moved: Collection[str]) -> bool:
    """Whether goals obey a limit, or it does not affect what they move. moved: bones whose location
    gets keys."""
    return read.is_joint_limit(bone, constraint) or constraint.type == "LIMIT_SCALE" or \
        constraint.type == "LIMIT_LOCATION" and bone.name not in moved


def _constraints(ob: Armature, names: set,
                 moved: Optional[Collection[str]] = None) -> Iterator[Tuple[str, Constraint]]:
    """(name of the bone, constraint) that move some bones. moved: for goals, see _stays."""
    for bone in ob.pose.bones:
        for each in bone.constraints:
            if bone.name in names:
                if moved is None or not _stays(bone, each, moved):
                    yield bone.name, each
            elif each.type in ("IK", "SPLINE_IK") and names.intersection(chain_of(bone, each)):
                yield bone.name, each


def _mute(things: Iterator[ID]) -> List[ID]:
    """Mutes things; returns those that were not muted before."""
    found = [each for each in things if not each.mute]
    for each in found:
        each.mute = True
    return found


def _modifiers(ob: Armature, channels: Sequence[Channel]) -> Iterator[ID]:
    """Modifiers of the curves of channels, except cycles, which begin where keys end."""
    data, at = ob.animation_data, {(c.path, c.index) for c in channels}
    for curve in compat.curves_of(data.action, ob) if data and data.action else ():
        if (curve.data_path, curve.array_index) in at:
            yield from (m for m in curve.modifiers if m.type != "CYCLES")


def mute_modifiers(ob: Armature, channels: Sequence[Channel]) -> str:
    """Mutes modifiers of the curves of a take of control bones, and nothing else. Returns words
    that say so, or ""."""
    found = _mute(_modifiers(ob, channels))
    return f"; {len(found)} curve modifiers muted" if found else ""


def mute_others(ob: Armature, channels: Sequence[Channel], ik: bool = False, keyed: bool = True,
                take: bool = True) -> str:
    """Mutes everything else that would move the bones of these channels: their constraints, IK of
    bones below them, drivers, and, if they have keys now, modifiers of the curves (except cycles,
    which begin where keys end). ik: the channels come from goals, which obey limits and mimic
    joints, so that these stay. take: the channels are a take; its source is read without the mutes.
    Returns words that say what was muted, or ""."""
    names = {c.group for c in channels}
    obeyed = {name for name in names if ik and "joint_mimic" in ob.pose.bones[name]}
    driven = {(c.path, c.index) for c in channels if c.group not in obeyed}
    data = ob.animation_data
    muted: Dict[str, List[ID]] = {}
    moved = {c.group for c in channels if c.path.endswith(".location")}
    acting = [(bone, c) for bone, c in _constraints(ob, names, moved if ik else None) if not c.mute]
    muted["constraint"] = _mute(c for _bone, c in acting)
    muted["driver"] = _mute(d for d in (data.drivers if data else ())
                            if (d.data_path, d.array_index) in driven)
    muted["curve modifier"] = _mute(_modifiers(ob, channels if keyed else ()))
    if take:
        ob.skel.muted = json.dumps(
            [["constraint", bone, each.name] for bone, each in acting] +
            [["driver", each.data_path, each.array_index] for each in muted["driver"]])
    said = [f"{len(found)} {what}{'s' if len(found) > 1 else ''}"
            for what, found in muted.items() if found]
    if not said:
        return ""
    lost = ": the rig's controls no longer move these bones" if muted["constraint"] else ""
    return f"; {' and '.join(said)} muted{lost}"
