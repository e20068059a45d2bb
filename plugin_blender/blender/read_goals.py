# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the goals of inverse kinematics and their targets."""

from array import array
from dataclasses import replace
from typing import Any, Dict, Iterator, List, Optional, Sequence

import bpy
from mathutils import Matrix

from ..core.errors import UserError
from ..core.ik_shot import GoalShot, IkSettings, IkShot, JointShot, with_body_names
from ..core.shot import Shot
from ..core.work import Work
from . import animation, meshes, survey
from .read import (check_object, euler_order, fps, parents_first, read_bones, read_settings,
                   robot_of, with_channels)
from .rna import Armature, Depsgraph, Object, PoseBone, Scene
from .stage import CurrentFrame, PoseSamples, Stage


def _joint(pose_bone: PoseBone) -> JointShot:
    joint = JointShot(order=euler_order(pose_bone), stiffness=(
        pose_bone.ik_stiffness_x, pose_bone.ik_stiffness_y, pose_bone.ik_stiffness_z))
    robot = robot_of(pose_bone)
    if robot is None or robot.kind in ("ball", "free"):     # these turn as any bone does
        return joint
    return replace(joint, kind=robot.kind, axis=robot.axis, sign=robot.sign, limits=robot.limits,
                   mimic=robot.mimic, name=robot.joint)


# ---- targets ----

def _constrained_to(ob: Armature, target: Object, position_only: bool) -> str:
    """The bone that a target is held to by its last constraint; "" if there is none. Other ways are
    found by checking the keys after a bake."""
    active = [c for c in target.constraints if not c.mute and c.influence > 0]
    c = active[-1] if active and active[-1].influence == 1 else None
    if c is None or getattr(c, "target", None) != ob:
        return ""
    holds = {"CHILD_OF": lambda: all(getattr(c, f"use_{what}_{axis}") for what in
                                     ("location", "rotation") for axis in "xyz"),
             "COPY_TRANSFORMS": lambda: getattr(c, "mix_mode", "REPLACE") == "REPLACE",
             "COPY_LOCATION": lambda: position_only and not c.use_offset and
             all(getattr(c, f"use_{axis}") and not getattr(c, f"invert_{axis}") for axis in "xyz")}
    return c.subtarget if c.type in holds and holds[c.type]() else ""


def _moves_with(ob: Armature, target: Optional[Object], bone: str,
                position_only: bool = True) -> str:
    """The bone of an armature that a target moves with: one of its own, or one that it is
    constrained or parented to."""
    if target == ob:
        return bone
    while target is not None:
        held = _constrained_to(ob, target, position_only)
        if held or target.parent == ob:
            return held or (target.parent_bone if target.parent_type == "BONE" else "")
        target = target.parent
    return ""


def _goal(ob: Armature, goal: Any, number: int) -> GoalShot:
    pole = goal.pole if goal.kind == "REACH" else None
    return GoalShot(
        name=goal.name or goal.bone or "goal", kind=goal.kind, bone=goal.bone, end=goal.end,
        position=goal.use_position, orientation=goal.use_orientation, offset=tuple(goal.offset),
        chain=goal.chain, weight=(), priority=goal.priority, axis=goal.axis, level=goal.level,
        number=number, at=(goal.target.name, goal.target_bone) if goal.target else None,
        pole_at=(pole.name, goal.pole_bone) if pole else None,
        rides=_moves_with(ob, goal.target, goal.target_bone, not goal.use_orientation),
        pole_rides=_moves_with(ob, pole, goal.pole_bone))


def _target_names(ik: IkShot) -> List[str]:
    return sorted({at[0] for goal in ik.goals for at in (goal.at, goal.pole_at) if at})


# ---- the shot ----

def read_ik(scene: Scene, ob: Armature, frame_start: int, frame_end: int,
            frame_step: int = 1) -> IkShot:
    """All but the samples."""
    check_object(ob)
    s, settings = ob.skel_ik, read_settings(ob, write_to="BONES")      # goals move bones themselves
    goals = tuple(_goal(ob, goal, k) for k, goal in enumerate(s.goals) if goal.use)
    bones, skin = read_bones(ob), None
    if any(goal.kind == "CENTRE" for goal in goals):
        skin = meshes.read_skin(ob, scene, [bone.name for bone in bones])
    targets = [each for goal in s.goals for each in (goal.target, goal.pole) if each]
    shot = Shot(
        name=ob.name, bones=tuple(bones), unit=scene.unit_settings.scale_length, fps=fps(scene),
        gravity=tuple(scene.gravity), frame_start=frame_start, frame_end=frame_end,
        frame_step=frame_step, settings=settings, skin=skin,
        warnings=(*animation.warn_of_scene_drivers(ob, ob.data, *targets),
                  *animation.warn_of_animated_settings(ob), *survey.other_armatures(scene, ob)),
        animated=animation.is_animated(ob.animation_data))
    names = IkSettings.__dataclass_fields__
    return with_body_names(IkShot(
        shot, tuple(_joint(pose_bone) for pose_bone in parents_first(ob)), goals,
        IkSettings(**{name: getattr(s, name) for name in names})))


def refuse_simulated(scene: Scene, ik: IkShot) -> None:
    """Refuses targets that a rigid body world moves: they move in its own scene only."""
    world = getattr(scene, "rigidbody_world", None)
    for name in _target_names(ik) if world and world.enabled else ():
        ob = bpy.data.objects[name]
        while ob is not None:
            if ob.rigid_body and ob.rigid_body.type == "ACTIVE" and not ob.rigid_body.kinematic:
                raise UserError(f"The target '{name}' is moved by the rigid body simulation "
                                f"('{ob.name}'), which cannot be read ahead. Bake it to keys first "
                                "(Object > Rigid Body > Bake To Keyframes)")
            ob = ob.parent


def _is_still(ob: Armature) -> bool:
    """Whether an armature has the same pose in all frames."""
    return not (animation.is_animated(ob.animation_data) or
                animation.is_animated(ob.data.animation_data) or
                ob.parent or ob.constraints or any(bone.constraints for bone in ob.pose.bones))


class _TargetSamples:
    """Collects the targets and weights of goals, frame by frame."""

    def __init__(self, goals: Sequence[GoalShot]) -> None:
        self.goals = goals
        self.targets = {g.number: array("f") for g in goals if g.at}
        self.poles = {g.number: array("f") for g in goals if g.pole_at}
        self.weights: Dict[int, List[float]] = {g.number: [] for g in goals}

    def add(self, stage: Any, same_weight: bool) -> None:
        for goal in self.goals:
            k = goal.number
            if goal.at:
                self.targets[k].extend(stage.matrix(*goal.at))
            if goal.pole_at:
                self.poles[k].extend(stage.matrix(*goal.pole_at))
            weights = self.weights[k]
            weights.append(weights[0] if same_weight else stage.goal_weight(k))

    def finished(self) -> tuple:
        return tuple(replace(g, target=self.targets.get(g.number), pole=self.poles.get(g.number),
                             weight=tuple(self.weights[g.number])) for g in self.goals)


def sample_ik(ik: IkShot, ob: Armature, frames: Sequence[float],
              graph: Optional[Depsgraph] = None) -> Work[IkShot]:
    """Generator: the shot with its samples; one sample of an armature that stands still. graph:
    reads the current frame of the user's scene, which is the only frame; else frames are evaluated
    in a temporary scene."""
    names = _target_names(ik)
    stage: Any = CurrentFrame(ob, graph, names) if graph is not None else Stage(
        ob, [bpy.data.objects[name] for name in names])
    still = graph is None and ob.name not in names and _is_still(ob)
    samples, targets, bones = PoseSamples(ob), _TargetSamples(ik.goals), ik.shot.bones
    try:
        for n, frame in enumerate(frames):
            now = stage.evaluate(frame)
            if n == 0:
                bones = with_channels(bones, now)
            if n == 0 or not still:
                samples.add(now)
            targets.add(stage, bool(n and still))
            if n == 0 and still:
                stage.remove_armature()
            yield n / len(frames), "reading the targets"
    finally:
        stage.close()
    shot = replace(ik.shot, bones=bones, frames=list(frames), **samples.fields())
    return replace(ik, shot=shot, goals=targets.finished())


# ---- for operators ----

def rotation_offset(ob: Armature, graph: Depsgraph, goal: Any) -> Any:
    """The axes of a goal's target in those of its bone; None if it lacks one of them."""
    if goal is None or goal.target is None or goal.bone not in ob.pose.bones:
        return None
    bone = (ob.matrix_world @ ob.pose.bones[goal.bone].matrix).to_quaternion()
    stage = CurrentFrame(ob, graph, [goal.target.name])
    try:
        target = stage.matrix(goal.target.name, goal.target_bone)
    finally:
        stage.close()
    return bone.inverted() @ Matrix([target[k::4] for k in range(4)]).to_quaternion()


def ik_constraints(ob: Armature) -> Iterator[Dict[str, Any]]:
    """Goals, as settings by name, of the active IK constraints of the bones."""
    for bone in ob.pose.bones:
        for c in bone.constraints:
            if c.type == "IK" and c.target is not None and not c.mute and c.influence > 0:
                yield {"name": bone.name, "bone": bone.name, "target": c.target,
                       "target_bone": c.subtarget, "chain": c.chain_count,
                       "use_position": c.use_location, "use_orientation": c.use_rotation,
                       "end": "TAIL" if c.use_tail else "HEAD",
                       "pole": c.pole_target, "pole_bone": c.pole_subtarget}
