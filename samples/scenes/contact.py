# SPDX-License-Identifier: BSD-3-Clause
"""Scenes of bodies that land on grounds and steps."""

import math

from skelpy.scene import Ground

from scenes.build import Builder, scale, z_towards
from scenes.doll import doll
from scenes.figure import SIDES


def rod(name, **ground):
    """[RUD 3.3]: a rod that turns and falls aslant."""
    b = Builder(name)
    lean, length = math.radians(125), 0.7
    along = scale((math.cos(lean), 0, math.sin(lean)), length)
    b.body("rod", 1.0, {"type": "rod", "length": length, "radius": 0.01}, (0, 0, 1.5),
           z_towards(along), velocity=[2.2, 0, 0], angular_velocity=[0, 2.5, 0])
    b.scene.ground.append(Ground(**ground))
    return b.frames(97, fps=48)


def falling_rod():
    """Elastic and without friction: no energy is lost."""
    return rod("falling rod, restitution 1", restitution=1, friction=0)


def falling_rod_half():
    return rod("falling rod, restitution 0.5", restitution=0.5, friction=0.15)


def falling_rod_dead():
    """The end that hits comes to rest [RUD 3.31]."""
    return rod("falling rod, restitution 0", restitution=0, friction=0.8)


STEPS, RISE, RUN, STAIR_WIDTH = 7, 0.17, 0.29, 2.4


def stairs(b):
    """Boxes that stand on the ground, down towards -y; the top one is a landing."""
    for k in range(STEPS):
        height = round((STEPS - k) * RISE, 6)
        back, front = (1.2, 0.0) if k == 0 else (-(k - 1) * RUN, -k * RUN)
        b.body(f"step{k + 1}", 0, {"type": "box", "size": [STAIR_WIDTH, round(back - front, 6),
                                                           height]},
               (0, (back + front) / 2, height / 2), motion="fixed")


def ragdoll_stairs():
    """Stumbles over the top of the stairs, turning a little to its side."""
    b = Builder("ragdoll on stairs")
    doll(b, 0.0, 0.15, STEPS * RISE + 0.95)
    b.moving(velocity=(0.15, -1.6, -0.5), turning=(1.2, 0.2, 0.4),
             about=(0, 0.15, STEPS * RISE + 1))
    for body in b.scene.bodies:
        body.collide = True
    stairs(b)
    b.scene.ground.append(Ground(friction=0.5))
    return b.frames(97)


# Soft masses of the landing figure [RUD 4.3]: share of the segment, capsule (length, radius), along
# and across (c, d), turning (a, b).
FLESH = {
    "thigh": (0.75, (0.2, 0.095), (6e7, 250), (3e7, 175), (75, 2)),
    "chest": (0.5, (0.16, 0.13), (2e7, 450), (2e7, 350), (200, 10)),
}
# What holds the pose; found by a random search for a landing that stays up.
FOLLOW = {kind: {"stiffness": hz, "damping": damping} for kind, hz, damping in (
    ("waist", 4, 1), ("ribs", 4, 1), ("neck", 4, 1), ("shoulder", 2, 1), ("hip", 5.2, 1.46))}
SPRING = {"knee": {"stiffness": 196, "damping": 15.6}, "ankle": {"stiffness": 445, "damping": 47.5},
          "elbow": {"stiffness": 15, "damping": 1}}
MUSCLE = {"knee": {"growth": 708, "max": 400, "side": -1}}
AIRBORNE = {"thigh": 40, "knee": 79, "arm": 30, "out": 20, "elbow": 40, "foot": 39}  # sole level
SOLE = [[0, -0.055, -0.1], [0.03, -0.055, 0.08], [-0.03, -0.055, 0.08]]  # along z, down is -y


def landing():
    """From a jump forward onto both feet: springs at hips and trunk hold the pose, knees and ankles
    give way by springs and muscles, soft masses sag and swing."""
    b, hip = Builder("landing"), 1.35
    doll(b, 0.0, 0.0, hip, AIRBORNE)
    b.moving(velocity=(0, -1.45, 0.6), turning=(-0.61, 0, 0), about=(0, 0, hip))
    for joint in b.scene.joints:
        kind = joint.name.partition(".")[0]
        joint.follow, joint.spring = FOLLOW.get(kind), SPRING.get(kind)
        joint.muscle = MUSCLE.get(kind)
    for side, _ in SIDES:  # heel, and both sides of the toes
        b.scene.body(f"foot.{side}").contacts = SOLE
    for name in ("thigh.L", "thigh.R", "chest"):
        share, (length, radius), along, across, turn = FLESH[name.partition(".")[0]]
        body = b.scene.body(name)
        mass = body.mass * share
        body.mass = round(body.mass - mass, 6)
        b.soft(name, mass, {"type": "capsule", "length": length, "radius": radius}, along, across,
               turn)
    b.scene.ground.append(Ground(friction=0.9, law={"a": 6e6, "b": 2, "d": 300},
                                 stick={"stiffness": 4e4, "damping": 200}))
    return b.frames(61)
