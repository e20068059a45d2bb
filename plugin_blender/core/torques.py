# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverse dynamics: the joint torques of the animation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .bake import start_poses
from .binding import edit, skelpy
from .build import Build, build_scene
from .files import quote_csv
from .keys import Channel, escape, interleave
from .plan import Plan
from .shot import BoneShot, Shot
from .work import Work

RESIDUAL_NAMES = ("fx", "fy", "fz", "tx", "ty", "tz")


@dataclass(frozen=True)
class TorqueResult:
    channels: List[Channel]                 # of custom properties
    table: List[str]                        # lines of CSV
    summary: Dict[str, Any]                 # as skelpy.Inverse.summary
    warnings: Tuple[str, ...]

    @property
    def bones(self) -> List[str]:
        return sorted({channel.group for channel in self.channels})


def _free_bone(bone: BoneShot) -> BoneShot:
    settings = replace(bone.settings, follow=0.0)
    if settings.role in ("DRIVEN", "PINNED", "SOFT"):
        settings = replace(settings, role="DYNAMIC")
    if settings.joint == "AUTO" and not (bone.limits or bone.locked):
        settings = replace(settings, joint="BALL")
    return replace(bone, settings=settings)


def free_shot(shot: Shot) -> Shot:
    """The shot for inverse dynamics: all bones are free, nothing touches, and there is no friction;
    joints are balls if the rig has no limits."""
    settings = replace(shot.settings, preset="RAGDOLL", ground=False, start_velocity=False,
                       friction=0.0, follow=0.0)
    return replace(shot, settings=settings, colliders=(), follow_at={},
                   bones=tuple(_free_bone(bone) for bone in shot.bones))


def _channel(bone: str, label: str, frames: Sequence[float], values: Sequence[float]) -> Channel:
    path = f'pose.bones["{escape(bone)}"]["{label}"]'
    return Channel(path, 0, bone, interleave(frames, values))


def _label(force: str) -> str:
    """The custom property of a generalised force: "torque" to "skel_torque", "tx" to
    "skel_torque_x", "fx" to "skel_force_x"."""
    if force in ("torque", "force"):
        return f"skel_{force}"
    return f"skel_{'force' if force[0] == 'f' else 'torque'}_{force[1:]}"


def _table(build: Build, scene: skelpy.Scene, forces: skelpy.Inverse,
           kinds: Mapping[str, skelpy.JointKind]) -> List[str]:
    """Lines of CSV, with the columns of `skel inverse`."""
    shot, head = build.plan.shot, ["frame", "time"]
    columns: List[Sequence[float]] = []
    for k, joint in enumerate(build.scene.joints):
        for n, name in enumerate(kinds[joint.type].force_names):
            head.append(f"{joint.name}.{name}")
            columns.append(forces.torque[scene.joint_dof_offset(k) + n::scene.dof])
        if kinds[joint.type].force_names:
            head.append(f"{joint.name}.power")
            columns.append(forces.power[k::scene.joint_count])

    # Free roots: the force and torque that no joint provides.
    children = {joint.bodies[1] for joint in build.scene.joints}
    for body in build.scene.bodies:
        if body.name not in children and body.motion is None:
            k = 6 * build.plan.body_index[body.name]
            for n, name in enumerate(RESIDUAL_NAMES):
                head.append(f"{body.name}.residual.{name}")
                columns.append(forces.residual[k + n::6 * scene.body_count])

    lines = [",".join(quote_csv(name) for name in head)]
    for n in range(0, len(shot.frames), shot.stride):
        row = [str(shot.frames[n]), repr(n / shot.sample_rate)] + [repr(c[n]) for c in columns]
        lines.append(",".join(row))
    return lines


def find_torques(plan: Plan, cutoff: float = 0.0,
                 library: Optional[str] = None) -> Work[TorqueResult]:
    """Generator: the torques of the animation. plan: of a free_shot. cutoff: of the low-pass filter
    [Hz]; 0: none."""
    build, shot = build_scene(plan, library), plan.shot
    for joint in build.scene.joints:
        joint.limits = joint.mimic = None
    scene = skelpy.Scene.from_document(build.scene, library)
    if build.motions.paths:                 # the base of a robot may be animated
        scene = edit.edit_scene(scene, paths=build.motions.paths)
    yield 0.7, "reading the animation"

    poses = build.reader.poses(shot.poses, plan.body_count, shot.objects, start_poses(scene))
    forces = skelpy.Inverse(scene, poses, shot.sample_rate, cutoff)
    yield 0.8, "computing the torques"

    kinds = skelpy.joint_kinds(library)
    channels: List[Channel] = []
    torque, power, stride = forces.torque, forces.power, shot.stride
    frames = shot.frames[::stride]
    names_of = {bone.name: bone.blender_name for bone in shot.bones}
    for k, joint in enumerate(build.scene.joints):
        bone, first = names_of[joint.bodies[1]], scene.joint_dof_offset(k)
        names = kinds[joint.type].force_names
        for n, name in enumerate(names):
            label = _label(name)
            values = torque[first + n::stride * scene.dof]
            channels.append(_channel(bone, label, frames, values))
        if names:
            values = power[k::stride * scene.joint_count]
            channels.append(_channel(bone, "skel_power", frames, values))
        yield 0.9, "writing curves"
    return TorqueResult(channels, _table(build, scene, forces, kinds), forces.summary,
                        tuple(scene.warnings))
