# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene of an IkShot: bodies, joints and goals at the first frame, and the rig."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from .algebra import (AXES, IDENTITY, UNIFORM_TOL, determinant, format_scale, is_uniform,
                      pose_rows, seen_from)
from .anatomy import is_lower_limb
from .binding import rig as rigs
from .binding import scene as documents
from .bodies import bone_masses
from .bone_bodies import capsule_of, half_length
from .errors import UserError
from .ik_joints import BoneMotion, JointBuilder, Limit, free_axes, read_motions
from .ik_shot import (FREE_ROOTS, GoalShot, IkShot, Moving, bone_number, chain_of, moving_bones,
                      with_descendants)
from .paths import path_fields, path_of
from .scales import BoneScale, check_object_scale, scale_at
from .shot import WORLD, Shot
from .work import Work

STILL_TOL = 1e-7            # m and quaternion components: a body that does not move
MASSLESS = 1e-9             # of the skeleton's mass: bodies between the hinges of one joint
PRIORITY_MAX = 15


@dataclass(frozen=True)
class IkPlan:
    """What inverse kinematics of a shot works on, computed once."""
    ik: IkShot
    moving: Moving
    scene: documents.Scene
    rig: rigs.Rig
    body_index: Dict[str, int]              # by name, in the order of the poses
    own_bodies: Tuple[int, ...]             # bones that get keys
    limits: Tuple[Limit, ...]
    base: Dict[str, Sequence[Any]]          # joint: q of the animation, a value per frame
    bone_of: Dict[str, str]                 # joint: the bone that it moves

    @property
    def shot(self) -> Shot:
        return self.ik.shot

    @property
    def roles(self) -> List[str]:
        return ["DYNAMIC" if i in self.moving.turns else "NONE"
                for i in range(len(self.shot.bones))]

    @property
    def scales(self) -> List[BoneScale]:
        return [BoneScale(bone.scale, False) for bone in self.shot.bones]

    @property
    def bones(self) -> Sequence[rigs.Bone]:
        return self.rig.bones

    @property
    def body_count(self) -> int:
        return len(self.body_index)

    def reader(self, library: Optional[str] = None) -> rigs.Rig:
        return rigs.Rig(self.rig.bones, self.shot.unit, library)

    writer = reader


# ---- bodies ----

def _bones_with_bodies(ik: IkShot, moving: Moving) -> List[int]:
    """The bones that turn, those that they are attached to, and, for a goal of the centre of mass,
    all that move with them."""
    bones, out = ik.shot.bones, set(moving.turns)
    for i in moving.turns:
        up = bones[i].parent
        while up >= 0 and up not in out:
            out.add(up)
            up = bones[up].parent if up in moving.below else -1
    if ik.needs_masses:
        out |= {i for i in with_descendants(ik.shot, out) if bones[i].deform or i in out}
        for i in sorted(out):
            if i in moving.below and bones[i].parent >= 0:
                out.add(bones[i].parent)
    return sorted(out)


def _check_sizes(ik: IkShot, bodies: Sequence[int]) -> None:
    """Refuses bones that are sheared or grow: bodies are rigid."""
    shot = ik.shot
    samples = len(shot.poses) // (16 * len(shot.bones))
    frames: Sequence[int] = range(samples)
    if not any(bone.scales for bone in shot.bones):
        frames = sorted({0, samples // 2, samples - 1})
    for i in bodies:
        first = sum(scale_at(shot, i)) / 3
        for n in frames:
            scale = scale_at(shot, i, n)
            if is_uniform(scale) and abs(sum(scale) / 3 - first) <= UNIFORM_TOL * first:
                continue
            words = f"The bone '{shot.bones[i].name}' is scaled by {format_scale(scale)} at " \
                f"frame {shot.frames[n]}"
            if not is_uniform(scale):
                raise UserError(f"{words}, not the same along all axes. Clear its scale (Alt+S) "
                                "and that of the bones above it, or mute the constraint that "
                                "stretches it")
            raise UserError(f"{words}, and by {first:.4g} at frame {shot.frames[0]}. Bones that "
                            "goals move cannot grow: choose frames in which their size stays the "
                            "same")


def _channels(ik: IkShot, moving: Moving, i: int) -> int:
    """The channels of a bone that get keys."""
    if i not in moving.turns:
        return 0
    if moving.roots.get(i) in FREE_ROOTS:
        return rigs.LOCATION | rigs.ROTATION
    kind = ik.joints[i].kind
    if kind == "slide":
        return rigs.LOCATION
    if kind == "fixed" or not kind and not free_axes(ik.shot.bones[i]):
        return 0
    return rigs.ROTATION


def _rig_bones(ik: IkShot, moving: Moving, body_index: Dict[str, int]) -> List[rigs.Bone]:
    shot = ik.shot
    return [rigs.Bone(
        rest=bone.rest, parent=bone.parent, rotation=bone.rotation,
        flags=bone.flags if i in moving.below else bone.flags | rigs.POSED,
        body=body_index.get(bone.name, -1),
        offset=(0.0, -half_length(shot, i), 0.0, 1.0, 0.0, 0.0, 0.0),
        channels=_channels(ik, moving, i), scale=sum(bone.scale) / 3, near=bone.near)
        for i, bone in enumerate(shot.bones)]


def _place(body: documents.Body, rows: Sequence[List[float]], rate: float) -> None:
    """A body that is fixed, or driven along poses."""
    if all(max(row[k] for row in rows) - min(row[k] for row in rows) < STILL_TOL
           for k in range(7)):
        body.motion, body.position, body.orientation = "fixed", rows[0][:3], rows[0][3:]
        return
    body.motion, body.position, body.orientation = "driven", None, None
    body.curve = path_fields(path_of(rows, rate))


def _add_armature_body(builder: JointBuilder, i: int,
                       library: Optional[str]) -> Tuple[str, List[float]]:
    """A body for the armature itself, at the head of a root bone (of a slide: where the head would
    be without it), turned as at rest. Returns its name and its first pose."""
    ik, shot = builder.ik, builder.shot
    count = len(shot.bones)
    name = builder.unused_name(f"{shot.name} (armature)")
    builder.body_index[name] = len(builder.body_index)
    matrices = array("f", shot.bones[i].rest) * (len(shot.poses) // (16 * count))
    for k in (12, 13, 14) if ik.joints[i].kind != "slide" else ():
        matrices[k::16] = shot.poses[16 * i + k::16 * count]

    one = rigs.Rig([rigs.Bone(rest=shot.bones[i].rest, body=0)], shot.unit, library)
    rows = pose_rows(one.poses(matrices, 1, shot.objects), 7, 0)
    body = documents.Body(name)
    _place(body, rows, shot.rate)
    builder.scene.bodies.append(body)
    return name, rows[0]


def _add_masses(ik: IkShot, scene: documents.Scene, bodies: Sequence[int],
                library: Optional[str]) -> None:
    """Masses are needed only for a goal of the centre of mass."""
    if not ik.needs_masses:
        return
    shot = ik.shot
    masses = bone_masses(shot, bodies, library)
    whole = sum(masses.values())
    numbers = {shot.bones[i].name: i for i in bodies}
    for body in scene.bodies:
        i = numbers.get(body.name, -1)
        if masses.get(i):
            length, radius = capsule_of(2 * half_length(shot, i), 0.0)
            body.mass = masses[i]
            body.shape = {"type": "capsule", "length": length, "radius": radius}
        elif body.motion is None:
            body.mass, body.inertia = MASSLESS * whole, [MASSLESS * whole * 1e-4] * 3


# ---- goals ----

def moving_parent(shot: Shot, turns: Set[int], bone: str) -> int:
    """The moving bone that a bone moves with; -1: goals do not move it."""
    i = next((i for i, each in enumerate(shot.bones) if each.name == bone), -1)
    while i >= 0 and i not in turns:
        i = shot.bones[i].parent
    return i


@dataclass(frozen=True)
class _Target:
    """Of one frame or of all frames."""
    position: Any
    orientation: Any
    relative_to: Optional[str]              # the body in whose axes it is


class _GoalBuilder:
    def __init__(self, builder: JointBuilder, moving: Moving, width: int,
                 library: Optional[str]) -> None:
        self.builder, self.moving, self.width, self.library = builder, moving, width, library
        self.ik, self.shot, self.scene = builder.ik, builder.shot, builder.scene
        self.one = rigs.Rig([rigs.Bone(rest=rigs.STILL, body=0)], self.shot.unit, library)

    def _target(self, matrices: array[float], rides: str, goal: GoalShot,
                oriented: bool = False) -> _Target:
        """The target of 16 numbers per frame: in the world, or, if it moves with a bone that goals
        move, in the axes of its body. oriented: its orientation counts; else it may be mirrored
        or have no size."""
        if oriented:
            for k in range(0, len(matrices), 16):
                if not determinant(matrices[k:k + 16]) > 0:
                    raise UserError(f"The target of the goal '{goal.name}' is mirrored or has no "
                                    "size, so it has no rotation. Apply its scale")
        else:
            matrices = array("f", matrices)
            for k, value in enumerate(rigs.STILL[:12]):
                matrices[k::16] = array("f", [value]) * (len(matrices) // 16)

        rows, name = pose_rows(self.one.poses(matrices, 1, rigs.STILL), 7, 0), None
        on = moving_parent(self.shot, self.moving.turns, rides)
        if on >= 0:
            name = self.shot.bones[on].name
            own = pose_rows(self.builder.poses, self.width, 7 * self.builder.body_index[name])
            own *= len(rows) // len(own)
            rows = [seen_from(pose, row) for pose, row in zip(own, rows)]
        if len(rows) == 1:
            return _Target(rows[0][:3], rows[0][3:], name)
        return _Target([row[:3] for row in rows], [row[3:] for row in rows], name)

    def _allowed_joints(self, goal: GoalShot) -> Optional[List[str]]:
        """The joints that may move for a goal with a chain of its own; None: all above it."""
        if goal.chain <= 0 or not goal.bone:
            return None
        chain = chain_of(self.ik, goal)
        out = [name for i in chain
               for name in self.builder.movable.get(self.shot.bones[i].name, ())]
        if any(self.moving.roots.get(i) in FREE_ROOTS for i in chain):
            out.append(WORLD)
        if not out:
            raise UserError(f"The goal '{goal.name}' has no bone that may turn among the "
                            f"{goal.chain} of its chain. Increase its chain length")
        return out

    def add(self, goal: GoalShot) -> None:
        if goal.target is None:
            raise UserError(f"The goal '{goal.name}' has no target. Choose an object for it")
        joints = self._allowed_joints(goal)
        target = self._target(goal.target, goal.rides, goal, goal.orientation)
        if target.relative_to == goal.bone:
            raise UserError(f"The target of the goal '{goal.name}' moves with its own bone, which "
                            "can never reach it. Choose another target")
        weight = goal.weight[0] if len(set(goal.weight)) == 1 else list(goal.weight)
        common = {"name": goal.name, "priority": goal.priority, "weight": weight,
                  "relative_to": target.relative_to, "joints": joints}
        if goal.kind == "CENTRE":
            self.scene.goals.append(documents.Goal(
                centre_of_mass=target.position, axes="xy" if goal.level else None, **common))
            return

        i = bone_number(self.shot, goal.bone)
        half = half_length(self.shot, i)
        if goal.kind == "LOOK":
            sign = -1.0 if goal.axis[0] == "-" else 1.0
            self.scene.goals.append(documents.Goal(
                body=goal.bone, look_at=target.position, point=[0.0, -half, 0.0],
                axis=[sign * v for v in AXES[goal.axis[-1]]], **common))
            return

        made = documents.Goal(body=goal.bone, **common)
        if goal.bone not in self.builder.body_index:
            # The head of a bone without a body is a point of its parent.
            up = self.shot.bones[i].parent
            made.body = self.shot.bones[up].name
            made.point = self.builder.frame_in(self.builder.pose(up), self._head(i),
                                               IDENTITY)["position"]
        else:
            made.point = [0.0, half if goal.end == "TAIL" else -half, 0.0]
        if goal.position:
            made.position = target.position
        if goal.orientation:
            made.orientation, made.frame = target.orientation, list(goal.offset)
        if made.position is None and made.orientation is None:
            raise UserError(f"The goal '{goal.name}' has neither Position nor Rotation. Turn one "
                            "of them on")
        self.scene.goals.append(made)
        if goal.pole is not None:
            self._add_pole(goal, goal.pole, made, common)

    def _head(self, i: int) -> List[float]:
        shot = self.shot
        one = rigs.Rig([rigs.Bone(rest=shot.bones[i].rest, body=0)], shot.unit, self.library)
        return list(one.poses(shot.poses[16 * i:16 * i + 16], 1, shot.objects[:16])[:3])

    def _add_pole(self, goal: GoalShot, pole: array[float], made: documents.Goal,
                  common: Dict[str, Any]) -> None:
        """The joint in the middle of the limb bends towards the pole."""
        bones = self.shot.bones
        limb = chain_of(self.ik, goal)
        if goal.orientation and goal.end == "HEAD":
            limb = limb[1:]
        limb = [i for i in limb if bones[i].name in self.builder.body_index]

        # Up to an elbow or knee and the bone above it; else two bones, and a hand or foot.
        elbow = next((k for k, i in enumerate(limb[:-1]) if is_lower_limb(bones, i)), -1)
        if elbow >= 0:
            limb = limb[:elbow + 2]
        elif goal.chain == 0:
            hand = len(limb) > 2 and 2 * bones[limb[0]].length < 1.3 * bones[limb[1]].length
            limb = limb[:3] if hand else limb[:2]
        if len(limb) < 2:
            raise UserError(f"The goal '{goal.name}' has a pole, which needs a limb of at least "
                            "two bones. Increase its chain length, or remove the pole")

        middle, upper = limb[elbow if elbow >= 0 else (len(limb) - 1) // 2], limb[-1]
        target = self._target(pole, goal.pole_rides, goal)
        common = {**common, "name": f"{goal.name} pole", "relative_to": target.relative_to,
                  "priority": min(goal.priority + 1, PRIORITY_MAX)}
        self.scene.goals.append(documents.Goal(
            body=bones[middle].name, point=[0.0, -half_length(self.shot, middle), 0.0],
            pole=target.position, from_=bones[upper].name,
            from_point=[0.0, -half_length(self.shot, upper), 0.0],
            to=made.body, to_point=list(made.point or ()), **common))


# ---- the whole ----

def _add_settings(ik: IkShot, builder: JointBuilder, moving: Moving) -> None:
    shot, settings, scene = ik.shot, ik.settings, builder.scene
    free = moving.free_roots
    if free:
        builder.bone_of[WORLD] = shot.bones[free[0]].name
    samples = len(shot.frames)
    is_tracked = settings.smooth and samples > 1
    scene.ik = documents.IkSettings(
        mode="track" if is_tracked else "pose", tolerance=settings.tolerance,
        root=FREE_ROOTS[moving.roots[free[0]]] if free else None,
        start="held" if is_tracked and settings.hold_start else None,
        posture="current" if settings.posture else None,
        stiffness=dict(builder.stiffness) or None)
    scene.bake = documents.BakeSettings(fps=shot.rate, frame_start=shot.frame_start,
                                        frame_end=shot.frame_start + samples - 1)


def _add_bodies(builder: JointBuilder, moving: Moving, bodies: Sequence[int], width: int,
                library: Optional[str]) -> None:
    """The bodies of bones, and how each of them is attached."""
    shot, scene, poses = builder.shot, builder.scene, builder.poses
    for i in bodies:
        scene.bodies.append(documents.Body(shot.bones[i].name))
    for k, i in enumerate(bodies):
        up = shot.bones[i].parent
        if i in moving.turns and moving.roots.get(i) in FREE_ROOTS:
            scene.bodies[k].position = list(poses[7 * k:7 * k + 3])
            scene.bodies[k].orientation = list(poses[7 * k + 3:7 * k + 7])
        elif i in moving.turns and up >= 0:
            builder.add_joint(i, shot.bones[up].name, builder.pose(up))
        elif i in moving.turns:
            builder.add_joint(i, *_add_armature_body(builder, i, library))
        elif i in moving.below and up in bodies:
            builder.add_follower(i, shot.bones[up].name, builder.pose(up))
        else:
            _place(scene.bodies[k], pose_rows(poses, width, 7 * k), shot.rate)


def plan_ik(ik: IkShot, library: Optional[str] = None) -> Work[IkPlan]:
    """Generator: the scene with its goals at the first frame, and the rig."""
    shot = ik.shot
    if not ik.goals:
        raise UserError("There is no goal to reach. Select the bone that is to reach a target, "
                        "and press Add Goal")
    moving = moving_bones(ik)
    bodies = _bones_with_bodies(ik, moving)
    motions: Dict[int, BoneMotion] = yield from read_motions(ik, bodies, library)
    check_object_scale(shot.name, shot.objects, shot.frames)
    _check_sizes(ik, bodies)

    body_index = {shot.bones[i].name: k for k, i in enumerate(bodies)}
    rig = rigs.Rig(_rig_bones(ik, moving, body_index), shot.unit, library)
    poses, width = rig.poses(shot.poses, len(bodies), shot.objects), 7 * len(bodies)
    scene = documents.Scene(name=shot.name, gravity=list(shot.gravity))
    builder = JointBuilder(ik, scene, motions, poses, body_index)
    _add_bodies(builder, moving, bodies, width, library)
    _add_masses(ik, scene, bodies, library)
    builder.add_mimics(moving)
    if not builder.movable and not moving.free_roots:
        names = ", ".join(f"'{shot.bones[i].name}'" for i in sorted(moving.turns)[:3])
        raise UserError(f"No bone that the goals could move may turn ({names or 'none'}): unlock "
                        "an axis of one, or increase the chain length")

    goals = _GoalBuilder(builder, moving, width, library)
    for goal in ik.goals:
        goals.add(goal)
    _add_settings(ik, builder, moving)
    own = tuple(i for i, bone in enumerate(rig.bones) if bone.channels)
    return IkPlan(ik, moving, scene, rig, body_index, own, tuple(builder.limits), builder.base,
                  builder.bone_of)
