# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals of inverse kinematics as they are read from Blender, and the bones that they move.

Plain data that nothing changes after it is read. The defaults of the settings stand here."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Set, Tuple

from .algebra import Quaternion, Vector
from .errors import UserError
from .shot import Mimic, Shot, ancestors, name_bodies

FREE_ROOTS = {"SHIFTS": "shifts", "MOVES": "moves"}     # roots that move, and the document's words
Place = Tuple[str, str]                                 # (object, its bone or "")


@dataclass(frozen=True)
class JointShot:
    """The joint of a bone, as far as a BoneShot does not have it. kind, axis, sign, limits, mimic
    and name are those of a robot."""
    order: str = "XYZ"                          # Euler order; the axis that turns first is first
    stiffness: Vector = (0.0, 0.0, 0.0)         # 0 to 1
    kind: str = ""                              # "hinge", "slide", "fixed", "ball"; "": from locks
    axis: str = "Z"
    sign: float = 1.0
    limits: Optional[Tuple[float, float]] = None    # rad, or Blender units
    mimic: Optional[Mimic] = None
    name: str = ""


@dataclass(frozen=True)
class GoalShot:
    name: str
    kind: str = "REACH"                         # LOOK, CENTRE
    bone: str = ""
    end: str = "TAIL"                           # HEAD
    position: bool = True
    orientation: bool = False
    offset: Quaternion = (1.0, 0.0, 0.0, 0.0)   # the axes of the target in those of the bone
    chain: int = 0                              # bones that move, from the tip up; 0: all
    weight: Sequence[float] = (1.0,)            # one, or one per frame
    priority: int = 0
    axis: str = "Y"                             # of LOOK; "-Y": opposite to it
    level: bool = True                          # of CENTRE: ignores the height
    target: Optional[array[float]] = None       # [frame][16], world, Blender units
    pole: Optional[array[float]] = None         # likewise
    number: int = 0                             # in the list of goals
    at: Optional[Place] = None                  # of the target
    pole_at: Optional[Place] = None
    rides: str = ""                             # bone of this armature that the target moves with
    pole_rides: str = ""


@dataclass(frozen=True)
class IkSettings:
    root: str = "AUTO"                          # HELD, TURNS, SHIFTS, MOVES
    smooth: bool = True                         # from frame to frame; else each by itself
    hold_start: bool = False                    # smooth: the first frame keeps its pose
    posture: bool = True                        # stay near the animation
    tolerance: float = 1e-5                     # [m] and [rad]


@dataclass(frozen=True)
class IkShot:
    shot: Shot                                  # with one sample if it stands still
    joints: Tuple[JointShot, ...]
    goals: Tuple[GoalShot, ...]
    settings: IkSettings = IkSettings()

    @property
    def needs_masses(self) -> bool:
        return any(goal.kind == "CENTRE" for goal in self.goals)

    @property
    def mimic_sources(self) -> Dict[int, int]:
        """{bone of a mimic joint: bone of the joint that it mimics}."""
        at = {joint.name: i for i, joint in enumerate(self.joints) if joint.name}
        return {i: at[joint.mimic.joint] for i, joint in enumerate(self.joints)
                if joint.mimic and joint.mimic.joint in at}


def with_body_names(ik: IkShot) -> IkShot:
    """A bone that has the name of the world has another name in the engine, and in goals."""
    bones = name_bodies(ik.shot.bones)
    names = {bone.blender_name: bone.name for bone in bones}
    goals = tuple(replace(goal, **{field: names.get(getattr(goal, field), getattr(goal, field))
                                   for field in ("bone", "rides", "pole_rides")})
                  for goal in ik.goals)
    return replace(ik, shot=replace(ik.shot, bones=bones), goals=goals)


# ---- which bones move ----

@dataclass(frozen=True)
class Moving:
    """The bones that goals move."""
    turns: Set[int]                             # bones that turn
    roots: Dict[int, str]                       # root bones: HELD, TURNS, SHIFTS or MOVES
    below: Set[int]                             # bones that turn, and all below them

    @property
    def free_roots(self) -> List[int]:
        return [i for i, root in self.roots.items() if root in FREE_ROOTS]


def bone_number(shot: Shot, name: str) -> int:
    found = next((i for i, bone in enumerate(shot.bones) if bone.name == name), -1)
    if found < 0:
        raise UserError(f"There is no bone '{name}'" if name else
                        "A goal has no bone. Choose one for it")
    return found


def chain_of(ik: IkShot, goal: GoalShot) -> List[int]:
    """The bones that a goal moves, tip first."""
    bones, tip = ik.shot.bones, bone_number(ik.shot, goal.bone)

    # A bone does not move its own head: the chain begins with its parent.
    if goal.kind == "REACH" and goal.end == "HEAD" and not goal.orientation and \
            (bones[tip].parent >= 0 or ik.settings.root not in FREE_ROOTS):
        tip = bones[tip].parent
        if tip < 0:
            raise UserError(f"'{goal.bone}' has no parent that could move its head. Let its tail "
                            "reach the target, or let the root bone move")
    chain = [tip, *ancestors(bones, tip)]
    return chain[:goal.chain] if goal.chain > 0 else chain


def with_descendants(shot: Shot, some: Set[int]) -> Set[int]:
    """Some bones and all bones below them."""
    out: Set[int] = set()
    for i, bone in enumerate(shot.bones):
        if i in some or bone.parent in out:
            out.add(i)
    return out


def moving_bones(ik: IkShot) -> Moving:
    shot = ik.shot
    chains = [chain_of(ik, goal) for goal in ik.goals if goal.kind != "CENTRE" or goal.bone]
    if not chains:
        raise UserError("No goal moves a bone. Add a goal for the bone that is to reach a target")

    # A mimic joint and its source move together.
    turns = {i for chain in chains for i in chain}
    for i, source in ik.mimic_sources.items():
        if i in turns or source in turns:
            turns |= {i, source}

    roots: Dict[int, str] = {}
    for i in sorted(turns):
        if shot.bones[i].parent >= 0 or ik.joints[i].kind:
            continue
        branches = {chain[-2] for chain in chains if len(chain) > 1 and chain[-1] == i}
        alone = len(branches) <= 1 and sum(1 for bone in shot.bones if bone.parent == i) <= 1
        root = ik.settings.root
        if root == "AUTO":
            root = "TURNS" if alone else "HELD"
        roots[i] = root
        if root == "HELD":
            turns.discard(i)
    if not turns:
        raise UserError("The root bone is held, and no other bone may move. Let the root turn or "
                        "move, or increase the chain length")
    return Moving(turns, roots, with_descendants(shot, turns))


def keyed_bones(ik: IkShot) -> List[str]:
    """Names of the bones that may get keys."""
    return [ik.shot.bones[i].blender_name for i in moving_bones(ik).turns]
