# SPDX-License-Identifier: GPL-3.0-or-later
"""The bones of the library's rig: how bones show bodies, and which channels get keys.

Besides the bones that have a body there are kinematic followers: bones without a body that keys
hold to a parent body, because constraints or keys would otherwise move them away from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Optional, Sequence, Set, Tuple

from .algebra import q_conj, q_mul, q_of_matrix, q_rotate
from .binding import rig as rigs
from .bone_bodies import BoneBody
from .parents import Parent
from .roles import Roles
from .scales import BoneScale, scale_at
from .shot import WORLD, Collider, Shot, all_ancestors

MOVED_TOL = 1e-6            # change of a number of the basis matrix that counts as animation


def moved_bones(shot: Shot, roles: Sequence[str]) -> Set[int]:
    """Bones that physics moves, directly or through a parent, or that keys hold because the user
    has pinned them."""
    out: Set[int] = set()
    for i, bone in enumerate(shot.bones):
        pinned = roles[i] == "PINNED" and bone.settings.role == "PINNED"
        if pinned or roles[i] in ("DYNAMIC", "SOFT") or bone.parent in out:
            out.add(i)
    return out


def key_channels(shot: Shot, i: int) -> int:
    """The channels of a bone that may get keys."""
    bone, channels = shot.bones[i], shot.settings.channels
    if bone.connected:
        channels &= ~rigs.LOCATION          # Blender ignores the location of a connected bone
    if channels and bone.robot and bone.robot.turns:
        channels &= rigs.LOCATION if bone.robot.kind == "slide" else rigs.ROTATION
    return channels


def _has_moving_basis(shot: Shot, i: int) -> bool:
    """Whether keys or drivers move a bone."""
    values = (shot.basis[k::16 * len(shot.bones)] for k in range(16 * i, 16 * i + 16))
    return any(max(each) - min(each) > MOVED_TOL for each in values)


def _followers(shot: Shot, roles: Sequence[str], parents: Sequence[Parent],
               moved: Set[int]) -> Tuple[Dict[int, int], Set[int]]:
    """({kinematic follower: bone of its parent body}, moved bones with the followers).

    Followers are bones between bodies that constraints move, or that keys move if a bone connected
    to them could not compensate for it; and deform bones that are attached to a body through a
    coincident bone only."""
    bones, moved = shot.bones, set(moved)
    out: Dict[int, int] = {}
    with_body = [i for i, role in enumerate(roles) if role != "NONE"]
    between = {a for a in all_ancestors(bones, with_body) if roles[a] == "NONE"}
    rigid = {bone.parent for i, bone in enumerate(bones)
             if (roles[i] != "NONE" or i in between) and
             not key_channels(shot, i) & rigs.LOCATION}

    for i, bone in enumerate(bones):
        parent, coincident = parents[i]
        if roles[i] == "NONE" and parent in moved:
            along = bone.parent in moved
            if along and i in between:
                follows = bone.constrained or bone.scales or \
                    i in rigid and _has_moving_basis(shot, i)
            else:
                follows = coincident and bone.deform and (bone.constrained or not along)
            if follows and min(scale_at(shot, i) + scale_at(shot, parent)) > 0:
                out[i] = parent
        if i in out or bone.parent in moved:
            moved.add(i)
    return out, moved


def _offset_in(shot: Shot, i: int, parent: int, body: BoneBody) -> Tuple[float, ...]:
    """The pose of a bone in the body of another bone, at the first frame."""
    a, b = (shot.poses[16 * k:16 * k + 16] for k in (parent, i))
    back = q_conj(q_of_matrix(a))
    head = q_rotate(back, [shot.metres * (y - x) for x, y in zip(a[12:15], b[12:15])])
    return (*body.point(head), *q_mul(body.axes, q_mul(back, q_of_matrix(b))))


def collider_name(shot: Shot, collider: Collider) -> str:
    """The name of an obstacle's body, which no bone may have."""
    name = collider.name
    taken = name == WORLD or any(bone.name == name for bone in shot.bones)
    return f"{name} (object)" if taken else name


def number_bodies(shot: Shot, roles: Sequence[str]) -> Dict[str, int]:
    """{name: number} of all bodies, as the scene has them: links, obstacles, soft masses."""
    names = [bone.name for bone, role in zip(shot.bones, roles) if role not in ("NONE", "SOFT")]
    names += [collider_name(shot, c) for c in shot.colliders if c.kind != "PLANE" or c.moves]
    names += [bone.name for bone, role in zip(shot.bones, roles) if role == "SOFT"]
    return {name: k for k, name in enumerate(names)}


def _offset_of(shot: Shot, i: int, on: int,
               bodies: Sequence[Optional[BoneBody]]) -> Optional[Tuple[float, ...]]:
    """The pose of a bone in the body that it shows: its own, or that of the bone `on`."""
    body = bodies[on] if on >= 0 else None
    if body is None:
        return None
    return _offset_in(shot, i, on, body) if on != i else (*body.point(), *body.axes)


def rig_bones(shot: Shot, found: Roles, bodies: Sequence[Optional[BoneBody]],
              scales: Sequence[BoneScale],
              body_index: Dict[str, int]) -> Tuple[List[rigs.Bone], List[int]]:
    """(bones of the rig, bones with a body of their own that get keys)."""
    roles = found.roles
    followers, moved = _followers(shot, roles, found.parents, moved_bones(shot, roles))
    out: List[rigs.Bone] = []
    for i, bone in enumerate(shot.bones):
        on = followers.get(i, i if roles[i] != "NONE" else -1)      # the bone whose body it shows
        out.append(rigs.Bone(
            rest=bone.rest, parent=bone.parent, rotation=bone.rotation,
            flags=bone.flags if i in moved else bone.flags | rigs.POSED,
            body=body_index[shot.bones[on].name] if on >= 0 else -1,
            offset=_offset_of(shot, i, on, bodies),
            channels=key_channels(shot, i) if i in moved and on >= 0 else 0,
            scale=sum(scales[i].scale) / 3 or 1.0, near=bone.near))     # scale 0 hides a bone
    keyed = [i for i, bone in enumerate(out) if bone.channels and i not in followers]
    return out, keyed


def reading_bones(bones: Sequence[rigs.Bone], roles: Sequence[str]) -> List[rigs.Bone]:
    """The bones of the rig that gives the poses of bodies: each body by the bone that has it."""
    return [bone if role != "NONE" else replace(bone, body=-1, channels=0)
            for bone, role in zip(bones, roles)]


def with_soft_offsets(shot: Shot, found: Roles, bodies: Sequence[Optional[BoneBody]],
                      bones: Sequence[rigs.Bone], body_index: Dict[str, int],
                      poses: Sequence[float]) -> List[rigs.Bone]:
    """The bones, where those of soft masses are turned in their bodies: a soft mass has the axes of
    its parent body. poses: of the bodies at the first frame."""
    out = list(bones)
    for i, role in enumerate(found.roles):
        body = bodies[i]
        if role != "SOFT" or body is None:
            continue
        k, h = (7 * body_index[shot.bones[n].name] for n in (i, found.parents[i].bone))
        own, back = poses[k + 3:k + 7], q_conj(poses[h + 3:h + 7])
        head = q_rotate(q_mul(back, own), body.point())
        out[i] = replace(out[i], offset=(*head, *q_mul(back, q_mul(own, body.axes))))
    return out
