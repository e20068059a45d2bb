# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes goals whose targets are made for them: pins, and feet that stand."""

from typing import Any, Optional, Sequence

import bpy

from ..core.foot_plants import Path
from ..core.ik_chains import guess_chain
from ..core.keys import Channel, interleave
from ..core.work import run
from . import read, write
from .rna import Armature, Collection, Object, PoseBone

KEYS_GROUP = "Object Transforms"        # as Blender names it


def chain_length(ob: Armature, bone: str) -> int:
    """The chain length for a goal of a bone, by the structure of the rig."""
    bones = read.read_bones(ob)
    return guess_chain(bones, next(i for i, each in enumerate(bones) if each.name == bone))


def _goal_of(ob: Armature, name: str, bone: str) -> Any:
    """The goal of a bone that has this name, or None."""
    return next((goal for goal in ob.skel_ik.goals if (goal.name, goal.bone) == (name, bone)), None)


def _ensure_goal(ob: Armature, name: str, bone: str, target: Object, **fields: Any) -> None:
    """Adds a goal, or gives one that was added before its target and settings again; the user's
    chain length stays."""
    goal = _goal_of(ob, name, bone)
    if goal is None:
        write.add_goal(ob, name=name, bone=bone, kind="REACH", end="TAIL", target=target,
                       chain=chain_length(ob, bone), **fields)
        return
    goal.use, goal.target, goal.target_bone = True, target, ""
    for field, value in fields.items():
        setattr(goal, field, value)


def _target_of(ob: Armature, collection: Collection, name: str, bone: PoseBone) -> Object:
    """The target of the goal of this name: that which it has, or a new empty at the bone's end."""
    goal = _goal_of(ob, name, bone.name)
    if goal is not None and goal.target is not None:
        return goal.target
    return write.add_target(collection, ob, bone, name, False)


def pin(ob: Armature, collection: Collection, bone: PoseBone) -> None:
    """Holds a bone where it is, and as it is turned: by a goal with an empty that has its axes. A
    bone that is pinned already is pinned where it is now."""
    name = f"{bone.name} pin"
    known = _goal_of(ob, name, bone.name)
    target = _target_of(ob, collection, name, bone)
    if known is not None:
        target.matrix_world = write.end_of(ob, bone)
        target.scale = (1, 1, 1)
    _ensure_goal(ob, name, bone.name, target, use_position=True, use_orientation=True)


def _key_target(target: Object, path: Path, frames: Sequence[float]) -> None:
    """Gives an empty keys of a path, and no others."""
    data = target.animation_data
    old: Optional[Any] = data.action if data else None
    if data and old:
        data.action = None
        if old.users == 0:
            bpy.data.actions.remove(old)

    target.rotation_mode = "QUATERNION"
    channels = [Channel(name, k, KEYS_GROUP, interleave(frames, [row[k] for row in rows]))
                for name, rows, width in (("location", path.places, 3),
                                          ("rotation_quaternion", path.turns, 4))
                for k in range(width)]
    run(write.write_channels(target, channels, "NEW", target.name))


def plant(ob: Armature, collection: Collection, bone: PoseBone, path: Path,
          frames: Sequence[float]) -> None:
    """Adds the goal of a foot: its end follows a path. Its rotation is not asked for, because a
    stretched leg has none to spare; the foot keeps that of its animation within some degrees."""
    name = f"{bone.name} plant"
    target = _target_of(ob, collection, name, bone)
    _key_target(target, path, frames)
    _ensure_goal(ob, name, bone.name, target, use_position=True, use_orientation=False)
