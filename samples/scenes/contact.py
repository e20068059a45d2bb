# SPDX-License-Identifier: BSD-3-Clause
"""Scenes of bodies that land on grounds and steps."""

import math

from skelpy.scene import Ground

from scenes.build import Builder, scale, z_towards
from scenes.doll import doll


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


STEPS, RISE, RUN, STAIR_WIDTH = 8, 0.17, 0.29, 2.4


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
    b.moving(velocity=(0.15, -1.6, -0.5), turning=(1.2, 0.2, 0.4), about=(0, 0.15, STEPS * RISE + 1))
    for body in b.scene.bodies:
        body.collide = True
    stairs(b)
    b.scene.ground.append(Ground())
    return b.frames(121)
