# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene of a plan as it stands at the first frame: bodies, joints, soft masses, obstacles.

Motions over time are kept beside the document: a bake hands them to the library as arrays, and only
an exported document contains them."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from .algebra import norm, pose_rows
from .binding import edit, rig as rigs
from .binding import scene as documents
from .bodies import Size, body_sizes, make_body, make_soft_mass, strands
from .body_plan import BodyPlan
from .joints import CHOICES, add_mimics, make_joint
from .obstacles import add_ground, add_obstacles, points_above, warn_of_planes, warn_of_props
from .outline import outline
from .paths import path_fields, path_of, spring_fields, start_fields
from .plan import Plan
from .shot import Shot

WORLD_POSE = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
GRAVITY_DEFAULT = 9.81      # [m/s^2] that friction and softness are measured by without gravity


@dataclass(frozen=True)
class Motions:
    """Motions over time, by the names of bodies and joints."""
    paths: Mapping[str, edit.Path]                      # of driven bodies
    springs: Mapping[str, edit.FollowSpring]            # of joints
    velocities: Mapping[str, Sequence[float]]           # of bodies at the start, 6 numbers each


@dataclass(frozen=True)
class Build:
    plan: Plan
    scene: documents.Scene                  # at the first frame
    motions: Motions
    reader: rigs.Rig                        # gives the poses of bodies
    warnings: Tuple[str, ...] = ()

    def document(self) -> documents.Scene:
        """The scene with its motions, to be exported."""
        out, motions = copy.copy(self.scene), self.motions
        out.bodies = [copy.copy(body) for body in self.scene.bodies]
        out.joints = [copy.copy(joint) for joint in self.scene.joints]
        for body in out.bodies:
            if body.name in motions.paths:
                body.curve = path_fields(motions.paths[body.name])
            if body.name in motions.velocities:
                numbers = motions.velocities[body.name]
                body.velocity, body.angular_velocity = list(numbers[:3]), list(numbers[3:])
        for joint in out.joints:
            if joint.name in motions.springs:
                joint.follow = spring_fields(motions.springs[joint.name])
        return out


def _warn_of_plan(shot: Shot, plan: BodyPlan) -> List[str]:
    """What an animator should know about the bodies."""
    out = list(plan.warnings)
    if plan.unit_factor != 1:
        height = plan.height * shot.unit * shot.world_scale
        way = "slowly" if plan.unit_factor < 1 else "fast"
        out.append(f"The character is {height:.3g} m high, so that it falls {way}. If it was made "
                   "in other units, press Guess Scale (panel Masses), which sets Character Scale "
                   f"to {shot.settings.character_scale * plan.unit_factor:.4g}")
    return out


def _add_bones(plan: Plan, scene: documents.Scene, sizes: Dict[int, Size],
               gravity: float) -> Tuple[str, ...]:
    """Adds ground, bodies, joints and soft masses; returns warnings. The ground may reduce some of
    the sizes."""
    shot = plan.shot
    warnings = _warn_of_plan(shot, plan.body_plan) if plan.body_plan else []
    warnings += add_ground(plan, scene, sizes)
    points, groups = outline(shot, plan.body_plan, plan.bodies), strands(plan.body_plan)
    for i, role in enumerate(plan.roles):
        if role == "NONE":
            continue
        pose, up = plan.start_pose(i), plan.parents[i].bone
        if role == "SOFT":
            parent = shot.bones[up].name
            scene.wobble.append(make_soft_mass(shot, i, parent, sizes[i], pose, gravity))
            continue
        own = plan.body(i)
        body = make_body(shot, i, role, own, sizes[i], pose, groups.get(i, 0))
        if role == "DYNAMIC" and points.get(i):
            body.contacts = points_above(points[i], pose, scene.ground, sizes[i].shape.reach / 4)
        scene.bodies.append(body)

        robot, choice = shot.bones[i].robot, CHOICES[shot.bones[i].settings.joint]
        if up >= 0 and "DYNAMIC" in (role, plan.roles[up]):
            scene.joints.append(make_joint(shot, i, up, own, pose, plan.start_pose(up), sizes[i],
                                           gravity))
        elif up < 0 and role == "DYNAMIC" and (choice.on_root or robot and robot.turns):
            # The first joint may be one to the world.
            scene.joints.append(make_joint(shot, i, up, own, pose, WORLD_POSE, sizes[i], gravity))
    add_mimics(shot, scene)
    return tuple(warnings)


def _drive_bodies(plan: Plan, scene: documents.Scene, paths: Dict[str, edit.Path],
                  reader: rigs.Rig) -> None:
    """Gives a path to every animated body that moves."""
    shot = plan.shot
    driven = {shot.bones[i].name for i, role in enumerate(plan.roles) if role == "DRIVEN"}
    if not driven or len(shot.frames) < 2:
        return
    poses = reader.poses(shot.poses, plan.body_count, shot.objects)
    for body in scene.bodies:
        if body.name in driven:
            rows = pose_rows(poses, 7 * plan.body_count, 7 * plan.body_index[body.name])
            if any(row != rows[0] for row in rows):
                body.motion, paths[body.name] = "driven", path_of(rows, shot.sample_rate)


def build_scene(plan: Plan, library: Optional[str] = None) -> Build:
    """The scene of a plan, with the paths of driven bodies."""
    shot, settings = plan.shot, plan.shot.settings
    scene = documents.Scene(name=shot.name, gravity=list(shot.gravity))
    sizes = body_sizes(plan)
    warnings = _add_bones(plan, scene, sizes, norm(shot.gravity) or GRAVITY_DEFAULT)

    paths: Dict[str, edit.Path] = {}
    reader = plan.reader(library)
    _drive_bodies(plan, scene, paths, reader)
    planes = add_obstacles(shot, scene, paths, library)
    warnings += (*warn_of_planes(plan, sizes, planes), *warn_of_props(plan))
    for body in scene.bodies:
        if body.name in paths:
            body.position = body.orientation = None
            body.curve = start_fields(paths[body.name])

    count = len(range(shot.frame_start, shot.frame_end + 1, shot.frame_step))
    scene.bake = documents.BakeSettings(
        fps=shot.rate, frame_start=shot.frame_start, frame_end=shot.frame_start + count - 1,
        integrator=settings.integrator, step=settings.step or None,
        preroll=settings.preroll or None)
    return Build(plan, scene, Motions(paths, {}, {}), reader, warnings)


def with_motions(build: Build, springs: Mapping[str, edit.FollowSpring],
                 velocities: Mapping[str, Sequence[float]],
                 warnings: Sequence[str] = ()) -> Build:
    return replace(build, motions=Motions(build.motions.paths, springs, velocities),
                   warnings=(*build.warnings, *warnings))
