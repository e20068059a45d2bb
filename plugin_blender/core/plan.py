# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a bake: roles, parent bodies and rig of a shot, computed once.

Building, keys and checks read it; nothing changes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from .binding import rig as rigs
from .body_plan import BodyPlan
from .bone_bodies import BoneBody, bone_bodies
from .errors import UserError
from .parents import Parent
from .rig import number_bodies, reading_bones, rig_bones, with_soft_offsets
from .roles import Roles
from .scales import BoneScale, bone_scales, check_bone_scales, check_object_scale
from .shot import Shot


@dataclass(frozen=True)
class Plan:
    shot: Shot
    roles: Tuple[str, ...]                  # per bone
    parents: Tuple[Parent, ...]             # per bone
    scales: Tuple[BoneScale, ...]           # per bone
    body_plan: Optional[BodyPlan]           # None for robots
    bodies: Tuple[Optional[BoneBody], ...]  # per bone; None: it has no body of its own
    bones: Tuple[rigs.Bone, ...]            # of the rig that shows bodies, with the followers
    body_index: Dict[str, int]              # by name, in the order of a track
    own_bodies: Tuple[int, ...]             # bones that get keys and have a body of their own
    start: Sequence[float]                  # poses of all bodies at the first frame, 7 each

    @property
    def body_count(self) -> int:
        return len(self.body_index)

    @property
    def keyed(self) -> List[str]:
        """Names of the bones that get keys."""
        return [bone.blender_name for bone, data in zip(self.shot.bones, self.bones)
                if data.channels]

    def body(self, i: int) -> BoneBody:
        """The body of a bone that has one."""
        found = self.bodies[i]
        assert found is not None
        return found

    def start_pose(self, i: int) -> List[float]:
        """The pose of a bone's body at the first frame."""
        k = 7 * self.body_index[self.shot.bones[i].name]
        return list(self.start[k:k + 7])

    def reader(self, library: Optional[str] = None) -> rigs.Rig:
        """The rig that gives the poses of bodies."""
        return rigs.Rig(reading_bones(self.bones, self.roles), self.shot.unit, library)

    def writer(self, library: Optional[str] = None) -> rigs.Rig:
        """The rig that gives the keys of bones."""
        return rigs.Rig(self.bones, self.shot.unit, library)


def check_range(shot: Shot) -> None:
    if shot.frame_end <= shot.frame_start:
        raise UserError(f"The range ends at frame {shot.frame_end}, but it starts at "
                        f"{shot.frame_start}. Set the end after the start")
    if shot.frame_end - shot.frame_start < shot.frame_step:
        raise UserError(f"The step of {shot.frame_step} frames is longer than the range, "
                        f"{shot.frame_start} to {shot.frame_end}. Choose a smaller step")


def make_plan(shot: Shot, found: Roles, library: Optional[str] = None) -> Plan:
    """The plan of a shot that is sampled. Refuses shots that would not bake correctly."""
    check_range(shot)
    check_object_scale(shot.name, shot.objects, shot.frames)

    roles, parents, scales = found.roles, found.parents, bone_scales(shot)
    body_index = number_bodies(shot, roles)
    bodies = bone_bodies(shot, found.plan, roles)
    bones, own_bodies = rig_bones(shot, found, bodies, scales, body_index)
    check_bone_scales(shot, roles, parents, scales, bones)

    reader = rigs.Rig(reading_bones(bones, roles), shot.unit, library)
    start = reader.poses(shot.poses[:16 * len(bones)], len(body_index), shot.objects[:16])
    bones = with_soft_offsets(shot, found, bodies, bones, body_index, start)
    return Plan(shot, roles, parents, scales, found.plan, bodies, tuple(bones), body_index,
                tuple(own_bodies), start)
