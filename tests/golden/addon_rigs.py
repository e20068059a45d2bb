# SPDX-License-Identifier: BSD-3-Clause
"""Channels that the add-on would write for three rigs, from its pure modules without Blender.

All that depends on where the modules are and what they are called is in `Addon`."""

import json
import math
from array import array


class Addon:
    """The modules and the types of the add-on that the rigs need. Shots are drafts that can be
    changed; they are frozen for the add-on."""

    def __init__(self):
        import test_addon
        self.test, self.core = test_addon, test_addon.core
        self.thaw = test_addon.thaw
        self.import_robot = self.core.robot_import.import_robot
        self.axes_of = lambda bone: bone.orientation

    def Settings(self, **fields):
        """Settings with which every frame gets a key."""
        return self.core.shot.Settings(key_tolerance=0.0, key_angle_tolerance=0.0, **fields)

    def bone(self, *values, **fields):
        """A bone with settings that do not depend on the defaults of the panel."""
        settings = self.core.shot.BoneSettings(limit_low=-0.8, limit_high=0.8, cone=0.8, twist=0.4)
        return self.thaw(self.core.shot.BoneShot(*values, settings=settings, **fields))

    def shot(self, name, bones, **fields):
        shot = self.thaw(self.core.shot.Shot(name, (), **fields))
        shot.bones = bones
        return shot

    def frames_needed(self, shot):
        return self.test.frames_needed(shot)

    def bake(self, shot):
        return self.core.work.run(self.test.bake(shot))

    def inverse(self, shot):
        free = self.core.torques.free_shot(self.test.freeze(shot))
        return self.core.work.run(self.core.torques.find_torques(self.test.plan_of(free)))

    def solve(self, shot):
        return self.core.work.run(self.core.ik_solve.solve(self.test.freeze(shot)))


STILL = [1.0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


def unit(q):
    length = math.sqrt(sum(x * x for x in q))
    return [x / length for x in q]


def product(a, b):
    return [a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]]


def matrix(position, q):
    """16 numbers, column after column."""
    w, x, y, z = q
    return [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
            2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
            2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0, *position, 1]


ALONG_X = unit([1, 0, 0, -1])       # turns the y axis, along which a bone lies, to x
UP, DOWN = unit([1, 1, 0, 0]), unit([1, -1, 0, 0])

# name: parent, head, direction, length
HUMANOID = {
    "pelvis": ("", (0, 0, 0.95), UP, 0.15), "spine": ("pelvis", (0, 0, 1.1), UP, 0.4),
    "head": ("spine", (0, 0, 1.5), UP, 0.22),
    "upper_arm.L": ("spine", (0.18, 0, 1.42), ALONG_X, 0.28),
    "forearm.L": ("upper_arm.L", (0.46, 0, 1.42), ALONG_X, 0.26),
    "thigh.L": ("pelvis", (0.1, 0, 0.93), DOWN, 0.42),
    "shin.L": ("thigh.L", (0.1, 0, 0.51), DOWN, 0.42),
    "thigh.R": ("pelvis", (-0.1, 0, 0.93), DOWN, 0.42),
    "shin.R": ("thigh.R", (-0.1, 0, 0.51), DOWN, 0.42),
}


def with_samples(addon, shot, pose, every=False):
    """Puts samples of the frames in that are needed, or of every frame: `pose` gives the matrices
    of the bones at a time."""
    frames, before = addon.frames_needed(shot)
    if every:
        frames = list(range(shot.frame_start, shot.frame_end + 1))
    shot.frames, shot.before = frames, before

    def sampled(numbers):
        return array("f", [v for f in numbers for m in pose(f / shot.fps) for v in m])
    shot.poses, shot.before_poses = sampled(frames), sampled(before)
    shot.objects, shot.before_objects = (array("f", STILL) * len(some) for some in (frames, before))
    shot.basis = array("f", STILL) * (len(shot.bones) * len(frames))
    return shot


def chain_shot(addon, frames, **settings):
    """Five level links along x."""
    bones = [addon.bone(f"link{k}", k - 1, 0.3, matrix((k * 0.3, 0, 2), ALONG_X), connected=k > 0)
             for k in range(5)]
    shot = addon.shot("chain", bones, frame_end=frames,
                      settings=addon.Settings(ground=False, **settings))
    return with_samples(addon, shot, lambda _time: [bone.rest for bone in bones])


def humanoid_shot(addon, preset, every=False):
    """A standing figure whose bones all sway, on a ground."""
    names = list(HUMANOID)
    bones = [addon.bone(name, names.index(parent) if parent else -1, length,
                        matrix(head, turn))
             for name, (parent, head, turn, length) in HUMANOID.items()]
    shot = addon.shot("humanoid", bones, frame_end=24, animated=True,
                      settings=addon.Settings(preset=preset, ground=True))

    def pose(time):
        """Every bone turns about its head by a little of the time."""
        return [matrix((head[0], head[1] + 0.1 * time, head[2]),
                       product(turn, unit([1, 0.05 * time * (k % 3), 0, 0.03 * time])))
                for k, (_parent, head, turn, _length) in enumerate(HUMANOID.values())]
    return with_samples(addon, shot, pose, every)


def ik_shot(addon, frames=12):
    """The chain's tail follows a target."""
    shot = chain_shot(addon, frames)
    shot.frames = list(range(1, frames + 1))
    shot.poses = array("f", [v for bone in shot.bones for v in bone.rest]) * frames
    shot.objects = array("f", STILL) * frames
    shot.basis = array("f", STILL) * (len(shot.bones) * frames)
    shot.bones[2].limits, shot.bones[2].locked = {"X": (-0.6, 0.9), "Z": (-0.4, 1.0)}, "Y"
    target = array("f")
    for k in range(frames):
        target.extend(matrix((0.9, 0.1 + 0.03 * k, 2.3 - 0.002 * k * k), (1, 0, 0, 0)))
    goal = addon.core.ik_shot.GoalShot("goal", bone="link4", target=target, weight=[1.0] * frames)
    ik = addon.thaw(addon.core.ik_shot.IkShot(None, (), (goal,)))
    ik.shot, ik.joints = shot, [addon.core.ik_shot.JointShot() for _ in shot.bones]
    return ik


def robot_shot(addon, text, frames=9):
    """An imported robot at rest."""
    made = addon.import_robot(text)
    index, bones = {bone.name: k for k, bone in enumerate(made.bones)}, []
    for bone in made.bones:
        said = {"joint_type": "fixed", "robot_frame": 1} if bone.frame else \
            {"joint": bone.joint, "joint_type": bone.kind, "joint_axis": bone.axis,
             "joint_sign": int(bone.sign), "mass": bone.mass, "com": bone.com,
             "inertia": bone.inertia, "mass_estimated": bone.estimated}
        bones.append(addon.bone(
            bone.name, index.get(bone.parent, -1), math.dist(bone.head, bone.tail),
            matrix(bone.head, addon.axes_of(bone)),
            robot=addon.core.robot_properties.read_robot_bone(bone.name, said)))
        bones[-1].settings.mass = array("f", [bone.mass])[0]
        bones[-1].locked = "XYZ".replace(bone.axis, "") if bone.kind == "hinge" else "XYZ"
    shot = addon.shot("robot", bones, frame_end=frames, settings=addon.Settings(ground=False))
    shot.frames = list(range(1, frames + 1))
    shot.poses = array("f", [v for bone in bones for v in bone.rest]) * frames
    shot.objects = array("f", STILL) * frames
    shot.basis = array("f", STILL) * (len(bones) * frames)
    return shot


def written(result):
    """Names, places and values of all channels."""
    return [[c.path, c.index, c.group, c.keys] for c in result.channels]


def items(robots):
    """(name, function that gives plain values)"""
    addon = Addon()
    puma = (robots / "puma560.json").read_text(encoding="utf-8")

    def table(convention):
        bones = [addon.core.robot_export.ChainBone(
            bone.name, bone.parent, bone.head, addon.axes_of(bone), 0.1, bone.kind,
            bone.axis, bone.sign, bone.limits, bone.joint, bone.frame, bone.mass, bone.com,
            bone.inertia, bone.estimated) for bone in addon.import_robot(puma).bones]
        return json.loads(addon.core.robot_export.table_of("puma", bones, "tool", convention).text)

    for preset in ("TAIL", "RAGDOLL"):
        yield f"addon/chain/{preset.lower()}", \
            lambda preset=preset: written(addon.bake(chain_shot(addon, 24, preset=preset)))
    for preset in ("FOLLOW", "RAGDOLL"):
        yield f"addon/humanoid/{preset.lower()}", \
            lambda preset=preset: written(addon.bake(humanoid_shot(addon, preset)))
    yield "addon/humanoid/inverse", \
        lambda: written(addon.inverse(humanoid_shot(addon, "RAGDOLL", every=True)))
    yield "addon/ik/chain", lambda: written(addon.solve(ik_shot(addon)))
    yield "addon/robot/bake", lambda: written(addon.bake(robot_shot(addon, puma)))
    yield "addon/robot/inverse", lambda: written(addon.inverse(robot_shot(addon, puma)))
    for convention in ("standard", "modified"):
        yield f"addon/robot/{convention}", lambda convention=convention: table(convention)
