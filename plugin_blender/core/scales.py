# SPDX-License-Identifier: GPL-3.0-or-later
"""The scale of the armature and of its bones: bodies are rigid, so they must not be sheared or
grow."""

from __future__ import annotations

from typing import NamedTuple, Sequence, Set, Tuple

from .algebra import (UNIFORM_TOL, Vector, Vector3, column_lengths, determinant, format_scale,
                      is_uniform)
from .binding import rig as rigs
from .errors import UserError
from .parents import Parent
from .shot import BoneShot, Shot, all_ancestors

STRETCH_TOL = 1e-2          # relative: a scale that constraints make and that cannot be seen


class BoneScale(NamedTuple):
    scale: Vector           # of the bone's keys
    stretched: bool         # constraints make it, so that the bone needs keys of its scale


def check_object_scale(name: str, objects: Sequence[float], frames: Sequence[float] = ()) -> None:
    """Refuses an armature that is sheared, mirrored, has no size, or changes its size. objects:
    [frame][16]."""
    size, last = 0.0, None
    for n in range(0, len(objects), 16):
        m = objects[n:n + 16]
        if m == last:
            continue
        last, scale = m, column_lengths(m)
        words = f"The armature '{name}' is scaled by {format_scale(scale)}"
        words += f" at frame {frames[n // 16]}" if n else ""

        if max(scale) <= 0:
            raise UserError(f"{words}. Give it a size")
        if not is_uniform(scale):
            raise UserError(f"{words}, not the same along all axes. Apply its scale (Object > "
                            "Apply > Scale), then try again")
        if determinant(m) < 0:
            raise UserError(f"The armature '{name}' is mirrored (a negative scale). Apply its "
                            "scale (Object > Apply > Scale), then try again")

        size = size or sum(scale) / 3
        if abs(sum(scale) / 3 - size) > UNIFORM_TOL * size:
            raise UserError(f"{words}, and by {size:.4g} at frame {frames[0]}. Bones cannot grow: "
                            "choose frames in which its scale stays the same")


def scale_at(shot: Shot, i: int, sample: int = 0) -> Vector3:
    """The scale along the three axes of a bone in the armature, at a sample."""
    k = 16 * (sample * len(shot.bones) + i)
    return column_lengths(shot.poses[k:k + 16])


def _bone_scale(shot: Shot, i: int) -> BoneScale:
    """The scale that a bone has relative to its parent. A bone that constraints stretch gets the
    same scale along all axes, its length: its keys cannot have another, and the constraints are
    muted."""
    bone = shot.bones[i]
    own = BoneScale(bone.scale, False)
    inherits = bone.parent >= 0 and not bone.flags & rigs.KEEPS_SCALE
    up = scale_at(shot, bone.parent) if inherits else (1.0, 1.0, 1.0)
    if min(up) <= 0 or not is_uniform(up) and not shot.bones[bone.parent].constrained:
        return own                          # there is nothing to compare with

    now = scale_at(shot, i)
    now = (now[0] / up[1], now[1] / up[1], now[2] / up[1])
    if any(abs(v - abs(w)) > UNIFORM_TOL * v for v, w in zip(now, bone.scale)):
        return BoneScale((now[1],) * 3 if bone.constrained else now, True)
    return own


def bone_scales(shot: Shot) -> Tuple[BoneScale, ...]:
    return tuple(_bone_scale(shot, i) for i in range(len(shot.bones)))


def _uneven(bone: BoneShot, stretched: bool, scale: Vector, frame: float) -> UserError:
    hint = "Clear the keys of its scale" if bone.scales else "Clear its scale (Alt+S)"
    if stretched or bone.constrained:
        hint = "Mute the constraints that stretch it"
    return UserError(f"The bone '{bone.name}' is scaled by {format_scale(scale)} at frame {frame}, "
                     f"not the same along all axes, and it has simulated children. {hint}, then "
                     "bake again")


def _check_constant(shot: Shot, i: int, stretched: bool, every_frame: bool) -> None:
    """Refuses a bone that moves as it is animated if it is sheared or changes its size."""
    bone, first = shot.bones[i], scale_at(shot, i)
    for n, frame in enumerate(shot.frames if every_frame else ()):
        now = scale_at(shot, i, n)
        if not is_uniform(now, STRETCH_TOL if n or bone.constrained else UNIFORM_TOL):
            raise _uneven(bone, stretched, now, frame)
        if abs(sum(now) - sum(first)) > STRETCH_TOL * sum(first):
            raise UserError(
                f"The bone '{bone.name}' is scaled by {sum(now) / 3:.4g} at frame {frame}, and by "
                f"{sum(first) / 3:.4g} at frame {shot.frames[0]}, and it has simulated children. "
                "Bones cannot grow: clear the keys of its scale, or choose frames in which it "
                "stays the same")


def check_bone_scales(shot: Shot, roles: Sequence[str], parents: Sequence[Parent],
                      scales: Sequence[BoneScale], bones: Sequence[rigs.Bone]) -> None:
    """Refuses bones that are sheared or grow if simulated bones would come off them. bones: of the
    rig."""
    keyed = [i for i, bone in enumerate(bones) if bone.channels and roles[i] != "NONE"]
    near: Set[int] = {shot.bones[i].parent for i in keyed} | {parents[i].bone for i in keyed}

    for i in sorted((near | all_ancestors(shot.bones, keyed)) - {-1}):
        if (bones[i].flags or 0) & rigs.POSED:
            # The scale of bones farther above is part of the scale of these.
            _check_constant(shot, i, scales[i].stretched, i in near)
        elif not is_uniform(scales[i].scale, STRETCH_TOL if scales[i].stretched else UNIFORM_TOL):
            raise _uneven(shot.bones[i], scales[i].stretched, scales[i].scale, shot.frames[0])
