# SPDX-License-Identifier: GPL-3.0-or-later
"""The role of every bone in a simulation, and the frames that must be sampled for it.

Roles follow from the bones at rest, the skin and the settings alone, so they are known before the
animation is sampled:
  DYNAMIC  simulated                       DRIVEN  a body that follows the animation
  PINNED   a body that is held in place    SOFT    a soft mass on its parent body
  NONE     no body"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import List, Optional, Sequence, Set, Tuple

from .binding import fit
from .body_plan import BodyPlan, plan_bodies
from .errors import UserError
from .parents import COINCIDENT_TOL, NO_PARENT, Parent, parents_of
from .presets import PRESETS, follows
from .shot import BoneShot, Shot, all_ancestors, ancestors
from .words import read_name

VELOCITY_FRAMES = 4         # sampled to either side of the first frame for its velocity
SOFT_WORDS = frozenset("ear ears cheek cheeks jowl jiggle fat flesh muscle".split())
FIRM_PARTS = ("head", "neck", "hand", "foot")       # that do not wobble by themselves


@dataclass(frozen=True)
class Roles:
    roles: Tuple[str, ...]
    parents: Tuple[Parent, ...]
    plan: Optional[BodyPlan] = None         # None for robots

    def bones_with(self, *roles: str) -> List[int]:
        return [i for i, role in enumerate(self.roles) if role in roles]


# ---- robots ----

def _robot_role(shot: Shot, bone: BoneShot, up: int) -> str:
    """All links of a robot have bodies, however small. Its base is fixed, or moves with the
    armature object."""
    robot, settings = bone.robot, shot.settings
    if bone.settings.role != "AUTO":
        return bone.settings.role
    if robot is None and not bone.deform:
        return "NONE"
    if robot is None:
        return "DYNAMIC" if up >= 0 else PRESETS[settings.preset].roots
    if robot.frame:
        return "NONE"
    if bone.parent < 0 and robot.kind == "fixed":
        return "DRIVEN" if shot.object_moves or shot.animated else "PINNED"
    if bone.parent < 0 and robot.kind == "free":
        return PRESETS[settings.preset].roots
    return "DYNAMIC"


def _roles_of_robot(shot: Shot) -> List[str]:
    """The roles of the links, parents first. Bones that were not selected, but have a selected
    child, carry it as they are animated."""
    only, bones = shot.settings.only_selected, shot.bones
    chosen = [not only or bone.selected for bone in bones]
    carriers = {bone.parent for i, bone in enumerate(bones) if chosen[i]}
    out: List[str] = []
    for i, bone in enumerate(bones):
        if chosen[i]:
            out.append(_robot_role(shot, bone, bone.parent))
        else:
            out.append("DRIVEN" if i in carriers else "NONE")
    return out


# ---- characters and things ----

def _is_flesh(bone: BoneShot) -> bool:
    words = read_name(bone.blender_name)
    return bone.settings.role == "AUTO" and bone.deform and \
        (words.part == "flesh" or not SOFT_WORDS.isdisjoint(words.words))


def _with_flesh(bones: Sequence[BoneShot]) -> Tuple[BoneShot, ...]:
    """The bones, where those of flesh are asked to be bodies of their own."""
    return tuple(replace(bone, settings=replace(bone.settings, role="SOFT")) if _is_flesh(bone)
                 else bone for bone in bones)


def body_plan_of(shot: Shot, library: Optional[str] = None) -> BodyPlan:
    """The bodies that the bones of a shot make."""
    settings, skin, only = shot.settings, shot.skin, None
    bones = _with_flesh(shot.bones) if settings.preset == "SOFT" else shot.bones
    if settings.only_selected:
        only = {i for i, bone in enumerate(bones) if bone.selected}
    metres = shot.unit * shot.world_scale
    if skin is None:
        return plan_bodies(bones, None, only, metres=metres, join_all=settings.join_pieces)
    with fit.Skin(skin.vertices, skin.triangles, skin.offsets, skin.bones, skin.weights,
                  len(bones), library=library) as fitted:
        return plan_bodies(bones, fitted, only, metres=metres, join_all=settings.join_pieces)


class _Chooser:
    """Gives roles to the bodies of a plan, parents first."""

    def __init__(self, shot: Shot, plan: BodyPlan) -> None:
        self.shot, self.plan, self.bones = shot, plan, shot.bones
        self.roles = ["NONE"] * len(shot.bones)
        self.simulated: Set[int] = set()    # bodies that are simulated, or hang on one that is
        self.soft_bones = self._soft_bones() if shot.settings.preset == "SOFT" else set()

    def _soft_bones(self) -> Set[int]:
        """Bones that flesh follows. If no name tells of flesh, the free ends of the body wobble,
        but not heads, hands and feet."""
        bodies = self.plan.bodies
        flesh = {body.bone for body in bodies if _is_flesh(self.bones[body.bone])}
        if flesh:
            return flesh
        inner = {body.parent for body in bodies}
        return {body.bone for k, body in enumerate(bodies)
                if k not in inner and body.parent >= 0 and body.part not in FIRM_PARTS}

    def _role(self, k: int) -> str:
        """The role of a body that is to be simulated."""
        body, preset = self.plan.bodies[k], self.shot.settings.preset
        chosen = self.bones[body.bone].settings.role
        if chosen != "AUTO":
            return chosen
        if preset == "SOFT":
            wobbles = body.bone in self.soft_bones or self.shot.settings.only_selected
            return "SOFT" if wobbles and body.parent >= 0 else "DRIVEN"
        return PRESETS[preset].roots if body.parent < 0 else "DYNAMIC"

    def _role_of_others(self, k: int) -> str:
        """The role of a body that was not selected: it follows its animation, so that the simulated
        ones hang on it and collide with it. One that hangs on a simulated body moves with that."""
        below = self.plan.bodies[k].parent in self.simulated
        return "NONE" if below else "DRIVEN"

    def choose(self) -> List[str]:
        only = self.shot.settings.only_selected
        for k, body in enumerate(self.plan.bodies):
            selected = not only or self.bones[body.bone].selected
            role = self._role(k) if selected else self._role_of_others(k)
            if role in ("DYNAMIC", "SOFT") or body.parent in self.simulated and role == "NONE":
                self.simulated.add(k)

            # Nothing attaches to a soft mass: such bones move along with it.
            up = body.parent
            on_soft = up >= 0 and self.roles[self.plan.bodies[up].bone] == "SOFT"
            self.roles[body.bone] = "NONE" if on_soft or role == "SOFT" and up < 0 else role
        return self.roles


def _bodies_of_bones(shot: Shot, plan: BodyPlan) -> List[int]:
    """The body that every bone moves with; -1: none. A deform bone without a body moves with a
    child that begins where it begins or ends, as the root of a rope does: it does not come off."""
    out = list(plan.body_of)
    for c in range(len(shot.bones) - 1, -1, -1):        # children first
        i = shot.bones[c].parent
        if out[c] < 0 or i < 0 or out[i] >= 0 or not shot.bones[i].deform:
            continue
        ends, near = shot.bones[i].ends, COINCIDENT_TOL * shot.bones[i].length
        if min(math.dist(shot.bones[c].ends[:3], end) for end in (ends[:3], ends[3:])) <= near:
            out[i] = out[c]
    return out


def _parents_of_plan(shot: Shot, plan: BodyPlan, roles: Sequence[str]) -> Tuple[Parent, ...]:
    """The parent body of every bone: that of its body in the plan; a bone that moves rigidly with a
    body has that body as its parent. Bones outside of all bodies go by the hierarchy."""
    def holder(k: int) -> int:
        while k >= 0 and roles[plan.bodies[k].bone] in ("NONE", "SOFT"):
            k = plan.bodies[k].parent
        return plan.bodies[k].bone if k >= 0 else -1

    out = list(parents_of(shot.bones, roles))
    for i, k in enumerate(_bodies_of_bones(shot, plan)):
        if k < 0:
            continue
        stands = plan.bodies[k].bone == i
        found = holder(plan.bodies[k].parent if stands and roles[i] != "NONE" else k)
        bone = shot.bones[i]
        hangs = found in ancestors(shot.bones, i) and not bone.constrained
        out[i] = Parent(found, not hangs) if found >= 0 else NO_PARENT
    return tuple(out)


def plan_roles(shot: Shot, library: Optional[str] = None) -> Roles:
    """The bodies, roles and parent bodies of all bones."""
    plan = None
    if any(bone.robot for bone in shot.bones):
        roles = _roles_of_robot(shot)
        parents = parents_of(shot.bones, roles)
    else:
        plan = body_plan_of(shot, library)
        roles = _Chooser(shot, plan).choose()
        parents = _parents_of_plan(shot, plan, roles)

    # A soft mass needs a body that it is attached to.
    if any(role == "SOFT" and parents[i].bone < 0 for i, role in enumerate(roles)):
        roles = ["NONE" if role == "SOFT" and parents[i].bone < 0 else role
                 for i, role in enumerate(roles)]

    if not any(role in ("DYNAMIC", "SOFT") for role in roles):
        raise UserError("No bone is simulated. Select the bones to simulate, turn off Selected "
                        "Bones Only, or set the Physics Role of a bone to Simulated")
    return Roles(tuple(roles), tuple(parents), plan)


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
    plays = shot.animated or any(bone.constrained for bone in shot.bones)
    moving = (springs or plays and "DRIVEN" in plan.roles or shot.object_moves or
              any(c.moves for c in shot.colliders) or _animation_matters(shot, plan))

    before: List[int] = []
    if shot.settings.start_velocity:
        before = list(range(shot.frame_start - VELOCITY_FRAMES,
                            shot.frame_start + VELOCITY_FRAMES + 1))
    return list(range(shot.frame_start, last + 1 if moving else shot.frame_start + 1)), before
