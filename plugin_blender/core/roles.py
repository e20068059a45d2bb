# SPDX-License-Identifier: GPL-3.0-or-later
"""The role of every bone in a simulation, and the frames that must be sampled for it.

Roles follow from the bones at rest and the settings alone, so they are known before the animation
is sampled:
  DYNAMIC  simulated                       DRIVEN  a body that follows the animation
  PINNED   a body that is held in place    SOFT    a soft mass on its parent body
  NONE     no body"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import List, Sequence, Tuple

from .anatomy import part_of
from .errors import UserError
from .parents import Parent, ParentBodies, parents_of
from .presets import PRESETS, follows
from .shot import BoneShot, Shot, all_ancestors, ancestors

DETAIL = 0.05               # of the armature's size: shorter bones may be left out
LENGTH_MIN = 1e-4           # of the longest bone: shorter bones have no body
VELOCITY_FRAMES = 4         # sampled to either side of the first frame for its velocity


@dataclass(frozen=True)
class Roles:
    roles: Tuple[str, ...]
    parents: Tuple[Parent, ...]

    def bones_with(self, *roles: str) -> List[int]:
        return [i for i, role in enumerate(self.roles) if role in roles]


def _is_detail(bones: Sequence[BoneShot], i: int, up: int, extent: float) -> bool:
    """Fingers, toes and faces are too small to matter unless the user asks for them."""
    length, parent = bones[i].length, bones[up].length
    small = length < DETAIL * extent and 4 * length < parent
    return small or part_of(bones, i) == "finger" and 2 * length < parent


class _Chooser:
    """Gives roles to the bones of a shot, parents first."""

    def __init__(self, shot: Shot) -> None:
        self.shot, self.bones = shot, shot.bones
        self.roles: List[str] = []
        bones, origin = shot.bones, shot.bones[0].rest[12:15] if shot.bones else ()
        self.longest = max((bone.length for bone in bones), default=0.0)
        self.extent = max((math.dist(a.rest[12:15], origin) for a in bones), default=0.0)
        self.any_deform = any(bone.deform for bone in bones)

        # Bones that were not selected, but have a selected child, carry it as they are animated.
        only = shot.settings.only_selected
        self.chosen = [not only or bone.selected for bone in bones]
        self.carriers = {bone.parent for i, bone in enumerate(bones)
                         if self.chosen[i] and bone.parent >= 0 and not self.chosen[bone.parent]}
        self.parents = ParentBodies(bones, self._has_body)

    def _has_body(self, k: int) -> bool:
        """Of a bone that comes later, the settings give a first guess."""
        if k < len(self.roles):
            return self.roles[k] != "NONE"
        bone = self.bones[k]
        return self.chosen[k] and bone.deform and bone.settings.role != "NONE"

    def _robot_role(self, bone: BoneShot) -> str:
        """All links of a robot have bodies, however small. Its base is fixed, or moves with the
        armature object."""
        robot = bone.robot
        assert robot is not None
        if robot.frame:
            return "NONE"
        if bone.parent < 0 and robot.kind == "fixed":
            return "DRIVEN" if self.shot.object_moves or self.shot.animated else "PINNED"
        if bone.parent < 0 and robot.kind == "free":
            return PRESETS[self.shot.settings.preset].roots
        return "DYNAMIC"

    def _automatic_role(self, i: int, up: int) -> str:
        bone, settings = self.bones[i], self.shot.settings
        if not settings.only_selected:
            if self.any_deform and not bone.deform:
                return "NONE"
            if up >= 0 and _is_detail(self.bones, i, up, self.extent):
                return "NONE"
        if up < 0:
            return PRESETS[settings.preset].roots
        if settings.preset != "SOFT":
            return "DYNAMIC"

        # The bones at the ends are soft, all others move as they are animated.
        has_child = any(b.parent == i and b.length >= LENGTH_MIN * self.longest
                        for b in self.bones)
        return "SOFT" if not has_child or settings.only_selected else "DRIVEN"

    def _role(self, i: int, up: int) -> str:
        bone = self.bones[i]
        if bone.length < LENGTH_MIN * self.longest:
            return "NONE"
        if not self.chosen[i]:
            return "DRIVEN" if i in self.carriers else "NONE"
        if bone.settings.role != "AUTO":
            return bone.settings.role
        return self._robot_role(bone) if bone.robot else self._automatic_role(i, up)

    def choose(self) -> List[str]:
        for i in range(len(self.bones)):
            self.parents.forget()
            up = self.parents.of(i).bone
            role = self._role(i, up)

            # Nothing attaches to a soft mass: such bones move along with it.
            on_soft = 0 <= up < i and self.roles[up] == "SOFT"
            self.roles.append("NONE" if on_soft or role == "SOFT" and up < 0 else role)
        return self.roles


def plan_roles(shot: Shot) -> Roles:
    """The roles and parent bodies of all bones."""
    roles = _Chooser(shot).choose()

    # The coincident bone that a soft mass was to be attached to may have no body after all.
    if "SOFT" in roles:
        found = parents_of(shot.bones, roles)
        roles = ["NONE" if role == "SOFT" and found[i].bone < 0 else role
                 for i, role in enumerate(roles)]

    if not any(role in ("DYNAMIC", "SOFT") for role in roles):
        raise UserError("No bone is simulated. Select the bones to simulate, turn off Selected "
                        "Bones Only, or set the Physics Role of a bone to Simulated")
    return Roles(tuple(roles), parents_of(shot.bones, roles))


def warn_of_pieces(shot: Shot, plan: Roles) -> List[str]:
    """Simulated bones that no joint connects, although a bone without a body is above them all."""
    tops: dict[int, List[str]] = {}
    for i in plan.bones_with("DYNAMIC"):
        above = ancestors(shot.bones, i) if plan.parents[i].bone < 0 else []
        if above:
            tops.setdefault(above[-1], []).append(f"'{shot.bones[i].name}'")
    return [f"{len(names)} pieces fall apart, because '{shot.bones[top].name}' above them is not "
            f"simulated: {', '.join(names[:4])}{' ...' if len(names) > 4 else ''}. Set the Physics "
            "Role of the bones between them to Simulated, or of pieces that must stay to Animated"
            for top, names in tops.items() if len(names) > 1]


# ---- frames ----

def _animation_matters(shot: Shot, plan: Roles) -> bool:
    """Whether bones without a body affect where others are: those above a body, and those that
    coincide with a bone that has one. Fingers below a simulated hand do not: they keep their own
    keys, so that their animation need not be read."""
    if not (shot.animated or any(bone.constrained for bone in shot.bones)):
        return False
    above = all_ancestors(shot.bones, plan.bones_with("DYNAMIC", "DRIVEN", "PINNED", "SOFT"))
    return any(i in above or plan.parents[i].coincident or plan.parents[i].bone < 0
               for i in plan.bones_with("NONE"))


def frames_needed(shot: Shot, plan: Roles) -> Tuple[List[int], List[int]]:
    """(frames to sample for the bake, frames to sample for the velocity at its start)."""
    last = shot.frame_end - (shot.frame_end - shot.frame_start) % shot.frame_step
    springs = shot.follow_at or any(follows(shot, shot.bones[i])
                                    for i in plan.bones_with("DYNAMIC"))
    moving = (springs or "DRIVEN" in plan.roles or any(c.moves for c in shot.colliders) or
              shot.object_moves or _animation_matters(shot, plan))

    before: List[int] = []
    if shot.settings.start_velocity:
        before = list(range(shot.frame_start - VELOCITY_FRAMES,
                            shot.frame_start + VELOCITY_FRAMES + 1))
    return list(range(shot.frame_start, last + 1 if moving else shot.frame_start + 1)), before
