# SPDX-License-Identifier: GPL-3.0-or-later
"""The body plan: from the bones of an armature at rest and its skin to bodies and joints.

The evidence counts in this order: the word of the user, the skin, bones and ends that coincide at
rest, shared skin, names. `How bones become bodies` in the README of the add-on has all rules in the
order in which they apply; each step is a module of its own:
  body_graph     candidates, edges, pieces, root        body_parts   parts of a human or an animal
  body_merge     bones that are one body                body_limits  hinges and cones
  body_skeleton  joints, ends, mirror plane             body_shape, body_mass"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Set, Tuple

from .algebra import Vector3
from .body_graph import build_tree, find_candidates
from .body_limits import Hinge, ball_ranges, hinges
from .body_mass import BODY_DENSITY, STATURE_DENSITY, human_shares, mass_shares, skin_volumes
from .body_merge import Groups, follow_bodies, merge_bones
from .body_parts import Parts
from .body_rest import Rest, SkinLike, point3
from .body_shape import (VOLUME_MIN, BodyShape, adjusted, default_shapes, find_touching,
                         fitted_shapes, make_symmetric)
from .body_skeleton import Skeleton
from .shot import BoneShot

__all__ = ["Body", "BodyPlan", "BodyShape", "SkinLike", "offered_factor", "plan_bodies"]

# Scale: heights of humans and sizes of animals that are taken as metres.
HUMAN_HEIGHTS, HUMAN_LIKELY, HUMAN_USUAL = (0.9, 2.6), (1.4, 2.1), 1.75
ANIMAL_SIZES, ANIMAL_LIKELY = (0.04, 8.0), (0.15, 3.5)
UNITS = (0.01, 0.0254, 0.001, 0.1, 0.3048)      # [m] centimetre, inch, millimetre, dm, foot


@dataclass(frozen=True)
class Body:
    """Lengths in units of the armature, at rest, in its axes."""
    bone: int                       # the bone that stands for the body: its keys show the body
    bones: Tuple[int, ...]          # all bones that move rigidly with it, its own first
    parent: int                     # index in BodyPlan.bodies; -1: a root of the skeleton
    joint: Vector3                  # to the parent; of a root: the head of its bone
    part: str                       # "pelvis", "thigh", "shin", ... "other": see words.PARTS
    side: str                       # "L", "R", ""
    shape: BodyShape
    volume: float                   # of the skin, else of the shape
    centre_of_mass: Vector3
    mass_share: float               # of the whole; the sum over all bodies is 1
    hinge: Optional[Hinge]          # (axis, low, high [rad] from rest); None: a ball
    cone: float                     # of a ball [rad]
    twist: float                    # to either side [rad]


@dataclass(frozen=True)
class BodyPlan:
    bodies: Tuple[Body, ...]        # parents first
    body_of: Tuple[int, ...]        # per bone: index of the body that it moves with; -1: none
    reasons: Tuple[str, ...]        # per bone: "" if it stands for a body, else why it does not
    size: float                     # longest edge of the box around the skin, else the bones
    height: float
    creature: str                   # "human", "animal", "": a thing
    unit_factor: float              # offered scale to metres; 1: the figure has a likely size
    volume: float                   # of all bodies
    stature: float                  # height of a human without closed skin; 0: mass by volume
    touching: Tuple[Tuple[int, int], ...]   # bodies that overlap at rest without a joint
    pieces: Tuple[Tuple[int, ...], ...]     # bodies of each connected skeleton
    warnings: Tuple[str, ...]       # for the animator
    whole_skin: bool = False        # the skin decided about the bodies

    def total_mass(self, density: float, metres: float) -> float:
        """[kg] at a density [kg/m^3]; metres: per unit of the armature. A human without closed skin
        has the mass that people of its height have at 1000 kg/m^3."""
        if self.stature > 0:
            return STATURE_DENSITY * (self.stature * metres) ** 3 * density / BODY_DENSITY
        return density * self.volume * metres ** 3


def offered_factor(creature: str, height: float, size: float) -> float:
    """The factor to metres that makes a creature as large as such creatures are; 1: it is. height,
    size: [m] as the scene says. Nothing is offered for things, and a giant is possible: the user
    decides."""
    if creature == "human":
        value, fine, likely = height, HUMAN_HEIGHTS, HUMAN_LIKELY
    elif creature == "animal":
        value, fine, likely = size, ANIMAL_SIZES, ANIMAL_LIKELY
    else:
        return 1.0
    if value <= 0 or fine[0] <= value <= fine[1]:
        return 1.0
    fits = [unit for unit in UNITS if likely[0] <= unit * value <= likely[1]]
    if fits:
        return fits[0]
    return HUMAN_USUAL / value if creature == "human" else 1.0


def _height(rest: Rest, up: Sequence[float]) -> float:
    """Of the box about the figure, along the nearest axis."""
    axis = max(range(3), key=lambda k: abs(up[k]))
    return rest.high[axis] - rest.low[axis]


class _Planner:
    """Makes the bodies of a skeleton, step by step."""

    def __init__(self, rest: Rest, skeleton: Skeleton, body_of: Sequence[int],
                 up: Sequence[float]) -> None:
        self.rest, self.s, self.body_of = rest, skeleton, body_of
        self.height = _height(rest, up)
        self.parts = Parts(skeleton, self.height)
        skin = rest.skin
        self.closed = rest.whole_skin and skin is not None and skin.closed
        self.stature = self.height if self.parts.creature == "human" and not self.closed else 0.0
        self.shapes = self._shapes()
        self.volumes = [shape.volume for shape in self.shapes]
        self.centres = [shape.centre for shape in self.shapes]
        if skin is not None and skin.closed:
            found = skin.volumes()
            measured = skin_volumes(self.shapes, found, VOLUME_MIN)
            self.volumes = [new if volume > 0 or self.closed else old
                            for (volume, _), new, old in zip(found, measured, self.volumes)]
            self.centres = [point3(centre) if volume > 0 else shape.centre
                            for (volume, centre), shape in zip(found, self.shapes)]
        make_symmetric(skeleton, self.shapes, self.volumes)
        if self.closed:
            self.shapes = [adjusted(*three)
                           for three in zip(self.shapes, self.volumes, self.inside)]
        self._mirror_centres()

    def _shapes(self) -> List[BodyShape]:
        wanted = [0.0] * len(self.s)
        if self.stature:
            total = STATURE_DENSITY / BODY_DENSITY * self.stature ** 3
            wanted = [total * share for share in human_shares(self.s, self.parts)]
        shapes = default_shapes(self.s, self.parts, wanted)
        self.inside = [0.0] * len(self.s)
        if self.rest.skin is not None:
            for n, found in enumerate(fitted_shapes(self.s, self.rest.skin, self.body_of)):
                if found is not None:
                    shapes[n], self.inside[n] = found
        return shapes

    def _mirror_centres(self) -> None:
        """Centres of mass of partners are mirror images."""
        plane = self.s.plane
        for n, k in enumerate(self.s.partner):
            if plane is None or k < n or k < 0:
                continue
            if k == n and abs(plane.side(self.centres[n])) < 0.02 * self.rest.size:
                self.centres[n] = point3([plane.at if axis == plane.axis else v
                                          for axis, v in enumerate(self.centres[n])])
            elif k > n and self.volumes[n] == self.volumes[k]:
                image = plane.mirror(self.centres[k])
                mean = point3([(a + b) / 2 for a, b in zip(self.centres[n], image)])
                self.centres[n], self.centres[k] = mean, plane.mirror(mean)

    def bodies(self) -> Tuple[Body, ...]:
        s, parts = self.s, self.parts
        shares = mass_shares(s, parts, self.volumes, self.closed)
        turns, axes = ball_ranges(s, parts), hinges(s, parts)
        with_body: List[List[int]] = [[] for _ in range(len(s))]
        for i, body in enumerate(self.body_of):
            if body >= 0 and i != s.bone[body]:
                with_body[body].append(i)
        return tuple(
            Body(s.bone[n], (s.bone[n], *with_body[n]), s.parent[n], s.joint[n], parts.parts[n],
                 parts.sides[n], self.shapes[n], self.volumes[n], self.centres[n], shares[n],
                 axes[n], *turns[n]) for n in range(len(s)))


def _name(rest: Rest, i: int) -> str:
    return f"'{rest.bones[i].blender_name}'"


def _warnings(rest: Rest, skeleton: Skeleton, pieces: Sequence[Sequence[int]]) -> List[str]:
    out = []
    if len(pieces) > 1:
        names = [_name(rest, skeleton.bone[piece[0]]) for piece in pieces]
        shown = ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")
        out.append(f"The skeleton has {len(pieces)} pieces that nothing connects: {shown}. They "
                   "fall apart unless they are joined or follow the animation")
    return out


def _pieces(skeleton: Skeleton) -> Tuple[Tuple[int, ...], ...]:
    top: List[int] = []
    found: dict[int, List[int]] = {}
    for n, up in enumerate(skeleton.parent):
        top.append(top[up] if up >= 0 else n)
        found.setdefault(top[n], []).append(n)
    return tuple(tuple(piece) for piece in found.values())


def _give_bodies(rest: Rest, groups: Groups, skeleton: Skeleton, reasons: List[str]) -> List[int]:
    """The body of every bone, and the reasons of those that stand for none."""
    body_of = [-1] * len(rest.bones)
    for n, members in enumerate(skeleton.members):
        for i in members:
            body_of[i] = n
        shown = skeleton.bone[n]
        if shown != skeleton.tops[n]:
            reasons[skeleton.tops[n]] = f"one body with {_name(rest, shown)}"
            reasons[shown] = ""
    follow_bodies(rest, groups, body_of)
    for i, bone in enumerate(rest.bones):
        if bone.settings.role == "NONE" and i not in skeleton.bone:
            reasons[i] = "set to Not Simulated"
    return body_of


def plan_bodies(bones: Sequence[BoneShot], skin: Optional[SkinLike],
                only: Optional[Set[int]] = None, up: Vector3 = (0.0, 0.0, 1.0),
                metres: float = 1.0, join_all: bool = False) -> BodyPlan:
    """The bodies of an armature. only: bones that the user has selected; each is a body of its own.
    metres: per unit of the armature, for the offered scale. join_all: pieces that nothing connects
    are joined where they are nearest."""
    rest = Rest(bones, skin, only)
    candidates, reasons = find_candidates(rest)
    tree = build_tree(rest, candidates, join_all)
    groups = merge_bones(rest, tree, reasons)
    skeleton = Skeleton(rest, groups, up)
    body_of = _give_bodies(rest, groups, skeleton, reasons)

    planner = _Planner(rest, skeleton, body_of, up)
    bodies, pieces = planner.bodies(), _pieces(skeleton)
    creature = planner.parts.creature
    return BodyPlan(
        bodies=bodies, body_of=tuple(body_of), reasons=tuple(reasons), size=rest.size,
        height=planner.height, creature=creature,
        unit_factor=offered_factor(creature, planner.height * metres, rest.size * metres),
        volume=sum(planner.volumes), stature=planner.stature,
        touching=find_touching(skeleton, planner.shapes), pieces=pieces,
        warnings=tuple(_warnings(rest, skeleton, pieces)), whole_skin=rest.whole_skin)
