# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads an armature, its settings and its animation into plain data. Changes nothing that stays."""

import json
from array import array
from dataclasses import replace
from typing import Any, Dict, List, Sequence, Tuple

from ..core.binding import rig as rigs
from ..core.errors import UserError
from ..core.keys import escape
from ..core.robot_properties import read_robot_bone
from ..core.shot import BoneSettings, BoneShot, RobotShot, Settings, Shot, frame_rate, name_bodies
from ..core.work import Work
from . import animation, compat, meshes, survey
from .rna import Armature, Constraint, PoseBone, Scene
from .stage import PoseSamples, Stage, flat

ROTATIONS = {"QUATERNION": rigs.QUATERNION, "AXIS_ANGLE": rigs.AXIS_ANGLE, "XYZ": rigs.XYZ,
             "XZY": rigs.XZY, "YXZ": rigs.YXZ, "YZX": rigs.YZX, "ZXY": rigs.ZXY, "ZYX": rigs.ZYX}
SCALE_KEPT = ("NONE", "NONE_LEGACY")    # values of inherit_scale


# ---- settings ----

def channel_flags(names: Sequence[str]) -> int:
    return ((rigs.LOCATION if "LOCATION" in names else 0) |
            (rigs.ROTATION if "ROTATION" in names else 0))


def read_settings(ob: Armature, **overrides: Any) -> Settings:
    """The armature's settings; overrides by name."""
    names = Settings.__dataclass_fields__
    fields = {name: getattr(ob.skel, name) for name in names} | overrides
    return Settings(**{**fields, "channels": channel_flags(fields["channels"])})


def read_bone_settings(pose_bone: PoseBone) -> BoneSettings:
    values: Dict[str, Any] = {}
    for name in BoneSettings.__dataclass_fields__:
        value = getattr(pose_bone.skel, name)
        values[name] = value if isinstance(value, (str, float, int)) else tuple(value)
    return BoneSettings(**values)


def muted_by_bake(ob: Armature) -> List[List[Any]]:
    """What the last bake muted so that its keys play as computed: ["constraint", bone, name] and
    ["driver", data path, index]."""
    return json.loads(ob.skel.muted or "[]")


def frame_range(scene: Scene, ob: Armature) -> Tuple[int, int]:
    """(first, last) frame of a bake."""
    if ob.skel.use_range:
        return ob.skel.frame_start, ob.skel.frame_end
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end


def fps(scene: Scene) -> float:
    return frame_rate(scene.render.fps, scene.render.fps_base)


# ---- limits ----

def is_joint_limit(pose_bone: PoseBone, constraint: Constraint) -> bool:
    """Whether a constraint is a limit of the joint. One that the user has muted is not, one that a
    bake has muted is."""
    return constraint.type == "LIMIT_ROTATION" and constraint.owner_space == "LOCAL" and \
        constraint.influence > 0 and (
            not constraint.mute or
            ["constraint", pose_bone.name, constraint.name] in muted_by_bake(pose_bone.id_data))


def euler_order(pose_bone: PoseBone) -> str:
    """The Euler order of the limits: that of the bone, or of the constraint that has them."""
    order = pose_bone.rotation_mode if len(pose_bone.rotation_mode) == 3 else "XYZ"
    for constraint in pose_bone.constraints:
        if is_joint_limit(pose_bone, constraint) and \
                len(getattr(constraint, "euler_order", "AUTO")) == 3:
            order = constraint.euler_order
    return order


def limits_of(pose_bone: PoseBone) -> Tuple[Dict[str, Tuple[float, float]], str]:
    """(ranges by axis, locked axes) of the first Limit Rotation constraint, else of IK."""
    for constraint in pose_bone.constraints:
        if is_joint_limit(pose_bone, constraint):
            ranges = {axis: (getattr(constraint, f"min_{axis.lower()}"),
                             getattr(constraint, f"max_{axis.lower()}"))
                      for axis in "XYZ" if getattr(constraint, f"use_limit_{axis.lower()}")}
            if ranges:
                return ranges, ""

    ranges, locked = {}, ""
    for axis in "xyz":
        if getattr(pose_bone, f"lock_ik_{axis}"):
            locked += axis.upper()
        elif getattr(pose_bone, f"use_ik_limit_{axis}"):
            ranges[axis.upper()] = (getattr(pose_bone, f"ik_min_{axis}"),
                                    getattr(pose_bone, f"ik_max_{axis}"))
    return ranges, locked


# ---- bones ----

def robot_of(pose_bone: PoseBone) -> "RobotShot | None":
    """The joint and the link of a bone of an imported robot; None for any other bone."""
    return read_robot_bone(pose_bone.name, pose_bone)


def parents_first(ob: Armature) -> List[PoseBone]:
    """Pose bones, as their collection has them."""
    return list(ob.pose.bones)


def _flags(bone: Any) -> int:
    return ((0 if bone.use_inherit_rotation else rigs.KEEPS_ROTATION) |
            (rigs.KEEPS_SCALE if bone.inherit_scale in SCALE_KEPT else 0) |
            (0 if bone.use_local_location else rigs.PARENT_AXES))


def read_bones(ob: Armature) -> List[BoneShot]:
    poses, animated = parents_first(ob), animation.animated_paths(ob)
    index = {pose_bone.name: i for i, pose_bone in enumerate(poses)}
    out = []
    for pose_bone in poses:
        bone, (ranges, locked) = pose_bone.bone, limits_of(pose_bone)
        out.append(BoneShot(
            name=pose_bone.name, parent=index[bone.parent.name] if bone.parent else -1,
            length=bone.length, rest=flat(bone.matrix_local),
            rotation=ROTATIONS[pose_bone.rotation_mode], flags=_flags(bone),
            connected=bone.use_connect, deform=bone.use_deform,
            selected=compat.is_selected(pose_bone), limits=ranges, locked=locked,
            order=euler_order(pose_bone), robot=robot_of(pose_bone),
            settings=read_bone_settings(pose_bone),
            constrained=any(not c.mute and c.influence > 0 for c in pose_bone.constraints),
            scales=f'pose.bones["{escape(pose_bone.name)}"].scale' in animated,
            slides=f'pose.bones["{escape(pose_bone.name)}"].location' in animated))
    return out


def with_channels(bones: Sequence[BoneShot], now: Armature) -> Tuple[BoneShot, ...]:
    """The bones with rotation channels and scale of an evaluated armature."""
    out = []
    for pose_bone, bone in zip(now.pose.bones, bones):
        if bone.rotation == rigs.QUATERNION:
            near = tuple(pose_bone.rotation_quaternion)
        elif bone.rotation == rigs.AXIS_ANGLE:
            near = tuple(pose_bone.rotation_axis_angle)
        else:
            near = (*pose_bone.rotation_euler, 0.0)
        out.append(replace(bone, near=near, scale=tuple(pose_bone.scale)))
    return tuple(out)


def check_object(ob: Armature) -> None:
    if ob is None or ob.type != "ARMATURE":
        raise UserError("Select an armature")
    if ob.library:
        raise UserError(f"'{ob.name}' is linked from another file. Make a library override of it "
                        "(Object > Library Override > Make), then bake again")
    if not ob.pose.bones:
        raise UserError(f"'{ob.name}' has no bones")
    if ob.mode == "EDIT":
        raise UserError("Leave Edit Mode first")


# ---- the shot ----

class ShotReader:
    """Reads a shot in two steps: first all but the samples, which tell the frames to sample; then
    the samples. A shot that was read is never changed."""

    def __init__(self, scene: Scene, ob: Armature, frame_start: int, frame_end: int,
                 frame_step: int = 1, **overrides: Any) -> None:
        check_object(ob)
        settings = read_settings(ob, **overrides)
        if not settings.channels:
            raise UserError("There is nothing to write. Choose Location, Rotation or both in the "
                            "panel Output")
        self.ob = ob
        unit = scene.unit_settings.scale_length * settings.character_scale
        self.obstacles = meshes.find_obstacles(ob, unit)
        colliders = tuple(obstacle.collider for obstacle in self.obstacles)
        bones = read_bones(ob)
        warnings = (*animation.warn_of_scene_drivers(ob, ob.data, *(o.ob for o in self.obstacles)),
                    *animation.warn_of_animated_settings(ob),
                    *survey.omissions(scene, ob, colliders))
        self.shot = Shot(
            name=ob.name, bones=name_bodies(bones), settings=settings, unit=unit,
            world_scale=sum(ob.matrix_world.to_scale()) / 3,
            colliders=colliders, fps=fps(scene), warnings=warnings,
            follow_at={name: () for name in animation.animated_follow(ob)},
            props=tuple(survey.props(scene, ob)),
            skin=meshes.read_skin(ob, scene, [bone.name for bone in bones]),
            gravity=tuple(scene.gravity) if scene.use_gravity else (0.0, 0.0, 0.0),
            frame_start=frame_start, frame_end=frame_end, frame_step=frame_step,
            object_moves=animation.armature_object_moves(ob),
            animated=animation.is_animated(ob.animation_data))

    def sample(self, shot: Shot, frames: Sequence[float],
               before: Sequence[float] = ()) -> Work[Shot]:
        """Generator: the shot with its samples. shot: the one that was read, or one made of it."""
        obstacles = self.obstacles if shot.colliders else []
        samples, earlier = PoseSamples(self.ob), PoseSamples(self.ob)
        follow: Dict[str, array] = {name: array("d") for name in shot.follow_at}
        bones = shot.bones
        stage = Stage(self.ob, [obstacle.ob for obstacle in obstacles])
        try:
            for frame in before:
                earlier.add_poses(stage.evaluate(frame))
                yield 0.0, "reading the animation"
            for n, frame in enumerate(frames):
                now = stage.evaluate(frame)
                samples.add(now)
                for name, values in follow.items():
                    values.append((now.pose.bones[name] if name else now).skel.follow)
                if n == 0:
                    bones = with_channels(bones, now)
                for obstacle in obstacles:
                    if n == 0 or obstacle.collider.moves:
                        world = obstacle.ob.evaluated_get(stage.graph).matrix_world
                        obstacle.add_frame(world, frame, samples)
                yield n / len(frames), "reading the animation"
        finally:
            stage.close()
        return replace(
            shot, bones=bones, frames=list(frames), before=list(before), follow_at=follow,
            before_poses=earlier.poses, before_objects=earlier.objects, **samples.fields(),
            colliders=tuple(obstacle.finished() for obstacle in obstacles),
            warnings=(*shot.warnings, *(w for o in obstacles for w in o.warnings)))
