# SPDX-License-Identifier: BSD-3-Clause
"""Scenes with goals, for `skel ik`: an arm of the lecture, robots, a character, a tentacle."""

import math

from scenes.build import Builder, add, cross, dot, rounded, scale, unit
from scenes.figure import HIP, LENGTH, SIDES, SLACK, arm, leg, torso
from skelpy.scene import Goal, Ground, IkSettings, Joint

HALF = math.sqrt(0.5)


# Poses (position, quaternion), to write joints by their two frames: then q are the robot's angles.

def turn(axis, angle):
    return (math.cos(angle / 2), *scale(unit(axis), math.sin(angle / 2)))


def times(a, b):
    u = add(add(scale(b[1:], a[0]), scale(a[1:], b[0])), cross(a[1:], b[1:]))
    return (a[0] * b[0] - dot(a[1:], b[1:]), *u)


def turned(q, a):
    return times(times(q, (0.0, *a)), (q[0], *scale(q[1:], -1.0)))[1:]


def compose(a, b):
    return add(a[0], turned(a[1], b[0])), times(a[1], b[1])


def inverse(a):
    back = (a[1][0], *scale(a[1][1:], -1.0))
    return scale(turned(back, a[0]), -1.0), back


NONE = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


def frame(pose):
    return {"position": list(rounded(pose[0], 9)), "orientation": list(rounded(pose[1], 15))}


def along(start, end):
    """The pose of a body whose z axis runs from start to end, in the axes of these."""
    d, z = unit([b - a for a, b in zip(start, end)]), (0.0, 0.0, 1.0)
    axis = cross(z, d)
    if dot(axis, axis) < 1e-18:
        q = NONE[1] if d[2] > 0 else (0.0, 1.0, 0.0, 0.0)
    else:
        q = turn(axis, math.acos(max(-1.0, min(1.0, d[2]))))
    return scale(add(start, end), 0.5), q


class Robot:
    """Links that turn about the z axis of the link before, then shift and tilt to their own frame;
    every body has its place in the frame of its link. Bodies get no mass: nothing is simulated."""

    def __init__(self, name, base=NONE):
        self.b = Builder(name)
        self.parent, self.inner, self.link = "world", NONE, base

    def on(self, name, shape, centre):
        """Stands on a fixed body."""
        self.b.body(name, 0, shape, centre, motion="fixed")
        self.parent, self.inner = name, (scale(centre, -1.0), NONE[1])

    def add(self, name, step, start, end, radius, q=0.0, limits=None):
        """step: the pose of the link's frame in the turned frame before; start and end: of the
        capsule (start is end: a ball), in the link's frame; q: the angle of the given pose."""
        gap = math.dist(start, end)
        body = along(start, end) if gap else (start, NONE[1])
        shape = ({"type": "capsule", "length": round(gap, 6), "radius": radius} if gap else
                 {"type": "sphere", "radius": radius})
        outer = compose(self.inner, self.link if self.parent == "world" else NONE)
        link = compose(compose(self.link, (NONE[0], turn((0, 0, 1), q))), step)
        at = compose(link, body)
        self.b.body(name, 0, shape, at[0], rounded(at[1], 15))
        self.b.scene.bodies[-1].position = list(rounded(at[0], 12))
        joint = Joint(f"joint{len(self.b.scene.joints) + 1}", "hinge", [self.parent, name],
                      frames=[frame(outer), frame(inverse(compose(step, body)))])
        if limits:
            joint.limits = [round(limit, 9) for limit in limits]
        self.b.scene.joints.append(joint)
        self.parent, self.inner, self.link = name, inverse(body), link


def solved(b, goals, fps=24, last=None, **settings):
    b.scene.goals, b.scene.ik = goals, IkSettings(**settings)
    b.frames(last or 1, fps=fps)
    return b.scene


def lecture():
    """The worked example of the lecture [SIE 8.1.3], in metres, standing upright: x stays, y is z.
    q are its angles."""
    links, angles, target = (0.15, 0.2, 0.1), (0.6, 1.0, -0.7), (0.35, 0.0, 0.7)
    # z of the frame points away from us (-y), so that angles grow from x to z; links run along x
    robot = Robot("the lecture's arm", ((0.05, 0.0, 0.4), turn((1, 0, 0), math.pi / 2)))
    for i, (length, q) in enumerate(zip(links, angles), 1):
        robot.add(f"link{i}", ((length, 0.0, 0.0), NONE[1]), (-length, 0, 0), (0, 0, 0), 0.012,
                  q=q)
    goal = Goal("tip", "link3", [0, 0, links[-1] / 2], position=target, axes="xz")
    return solved(robot.b, [goal], method="newton", tolerance=1e-9)


def puma560():
    """PUMA 560 by the table of the Robotics Toolbox (P. Corke, mdl_puma560.m), on a column of
    0.6718 m: the tool goes along a line and points down all the way."""
    up = math.pi / 2
    rows = ((0.6718, 0.0, up), (0.0, 0.4318, 0.0), (0.15005, 0.0203, -up), (0.4318, 0.0, up),
            (0.0, 0.0, -up), (0.0, 0.0, 0.0))                    # d, a, alpha of the links
    bones = (((0, 0, -0.02), (0, 0, 0.13), 0.085), ((-0.4318, 0, 0.13), (0, 0, 0.13), 0.06),
             ((0, 0, 0), (0, 0, 0.36), 0.05), ((0, 0, 0), (0, 0, 0), 0.05),
             ((0, 0, 0), (0, 0, 0.06), 0.04), ((0, 0, 0.06), (0, 0, 0.16), 0.025))
    limits = ((-160, 160), (-45, 225), (-225, 45), (-110, 170), (-100, 100), None)  # +-266: free
    start = (-0.25, 0.8, -2.7, 0.0, 1.9 - math.pi, 0.0)           # elbow up, tool down
    robot = Robot("PUMA 560")
    robot.on("column", {"type": "cylinder", "length": 0.56, "radius": 0.11}, (0, 0, 0.28))
    for i, ((d, a, alpha), bone, q, limit) in enumerate(zip(rows, bones, start, limits), 1):
        robot.add(f"link{i}", ((a, 0.0, d), turn((1, 0, 0), alpha)), *bone, q=q,
                  limits=limit and [math.radians(x) for x in limit])
    tool = robot.b.scene.bodies[-1]
    first, last = add(tool.position, turned(tool.orientation, (0, 0, 0.05))), (-0.3, -0.5, 0.9)
    n = 61
    way = [rounded([a + (b - a) * k / (n - 1) for a, b in zip(first, last)]) for k in range(n)]
    goal = Goal("tool", "link6", [0, 0, 0.05], position=way, orientation=tool.orientation)
    return solved(robot.b, [goal], mode="track", max_speed=3)


def figure_eight():
    """Seven joints and an eight in the air; where it crosses itself the arm is stretched out."""
    reach, n = 0.42 + 0.4 + 0.126, 121
    steps = ((0.36, math.pi / 2), (0.0, -math.pi / 2), (0.42, -math.pi / 2), (0.0, math.pi / 2),
             (0.4, math.pi / 2), (0.0, -math.pi / 2), (0.126, 0.0))
    bones = (((0, -0.32, 0), (0, 0, 0), 0.05), ((0, 0, 0.0), (0, 0, 0.2), 0.045),
             ((0, 0.2, 0), (0, 0, 0), 0.04), ((0, 0, 0), (0, 0, 0.2), 0.036),
             ((0, -0.18, 0), (0, 0, 0), 0.032), ((0, 0, 0), (0, 0, 0.05), 0.028),
             ((0, 0, -0.06), (0, 0, 0), 0.02))
    limits = (170, 120, 170, 120, 170, 120, 175)
    near, side = reach - 0.28, 0.75  # the first target: two bones of 0.42 and 0.526 m reach it
    bend = math.acos((0.42 ** 2 + near ** 2 - 0.526 ** 2) / (2 * 0.42 * near))
    knee = math.pi - math.acos((0.42 ** 2 + 0.526 ** 2 - near ** 2) / (2 * 0.42 * 0.526))
    start = (side, bend - math.pi / 2 + 0.35, 0.0, knee, 0.0, 0.0, 0.0)
    robot = Robot("figure eight")
    for i, ((d, alpha), bone, q, most) in enumerate(zip(steps, bones, start, limits), 1):
        robot.add(f"link{i}", ((0.0, 0.0, d), turn((1, 0, 0), alpha)), *bone, q=q,
                  limits=[math.radians(-most), math.radians(most)])
    way = []
    for k in range(n):
        t = 2 * math.pi * k / (n - 1) + math.pi / 2
        far = reach - 0.28 * math.sin(t) ** 2
        turned_by, rise = side * math.sin(t), 0.35 + 0.4 * math.sin(2 * t)
        flat = far * math.cos(rise)
        way.append(rounded((flat * math.cos(turned_by), flat * math.sin(turned_by),
                            0.36 + far * math.sin(rise)), 9))
    goal = Goal("tip", "link7", [0, 0, 0.03], position=way)
    return solved(robot.b, [goal], mode="track", max_speed=4)


def tentacle():
    """2 m in 100 bones: the tip winds down from where it stands, the rest follows."""
    b, bones, length, n = Builder("tentacle"), 100, 0.02, 73
    for i in range(bones):
        start, end = (0, 0, i * length), (0, 0, (i + 1) * length)
        b.limb(f"bone{i + 1}", 0, start, end, round(0.04 - 0.00032 * i, 5))
        b.joint(f"joint{i + 1}", "ball", f"bone{i}" if i else "world", f"bone{i + 1}", start,
                limits={"cone": 0.12, "twist": [-0.05, 0.05], "axis": [0, 0, 1]})
    way = []
    for t in (k / (n - 1) for k in range(n)):
        far, a = 0.9 * t * (1.6 - t) / 0.6, 1.5 * math.pi * t
        way.append(rounded((far * math.cos(a), far * math.sin(a), 2.0 - 1.6 * t * t)))
    goal = Goal("tip", f"bone{bones}", [0, 0, length / 2], position=way)
    # what has the longer lever gives way less: then it bends evenly
    stiff = {f"joint{i + 1}": round(1 - 1 / (bones - i), 6) for i in range(bones)}
    return solved(b, [goal], mode="track", tolerance=1e-4, stiffness=stiff)


def character():
    """Both feet stay, the centre of mass stays over them, and the hands go for the ground with what
    freedom is left: in this order."""
    b, n = Builder("reaching character"), 49
    torso(b, HIP)
    tips = {}
    for side, sign in SIDES:
        tips[side] = arm(b, side, sign, HIP + LENGTH["shoulder_over_hip"])
        leg(b, side, sign, HIP, SLACK)
    b.scene.ground = [Ground()]
    goals, centre = [], [0.0, 0.0]
    for side, sign in SIDES:
        foot = next(body for body in b.scene.bodies if body.name == f"foot.{side}")
        centre[1] = foot.position[1]
        goals.append(Goal(f"foot.{side}", f"foot.{side}", position=foot.position,
                          orientation=[1, 0, 0, 0]))
    goals.append(Goal("balance", centre_of_mass=[*centre, 0], axes="xy", priority=1))
    for side, sign in SIDES:
        hand = next(body for body in b.scene.bodies if body.name == f"hand.{side}")
        half, to = hand.shape["length"] / 2, (sign * 0.17, -0.42, 0.25)
        way = []
        for k in range(n):
            t = k / (n - 1)
            s = t * t * (3 - 2 * t)
            way.append(rounded([p + (q - p) * s for p, q in zip(tips[side], to)]))
        goals.append(Goal(f"hand.{side}", f"hand.{side}", [0, 0, half], position=way, priority=2))
    return solved(b, goals, mode="track", root="moves", posture="current", tolerance=1e-4)
