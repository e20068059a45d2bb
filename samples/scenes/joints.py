# SPDX-License-Identifier: BSD-3-Clause
"""Scenes of joints and springs: nothing is touched."""

import math

from scenes.build import Builder, add, rounded, scale, sub
from scenes.figure import HIP, LENGTH, SIDES, SLACK, arm, leg, torso


def pendulum():
    b = Builder("pendulum")
    raised = math.radians(-10)  # below the horizontal
    tip = (math.cos(raised), 0, math.sin(raised))
    b.limb("bob", 1.0, (0, 0, 0), tip, 0.04)
    b.joint("pivot", "hinge", "world", "bob", (0, 0, 0), axis=(0, 1, 0))
    return b.frames(120)


def double_pendulum():
    b = Builder("double pendulum")
    b.limb("upper", 1.0, (0, 0, 0), (1, 0, 0), 0.05)
    b.limb("lower", 1.0, (1, 0, 0), (2, 0, 0), 0.05)
    b.joint("top", "hinge", "world", "upper", (0, 0, 0), axis=(0, 1, 0))
    b.joint("elbow", "hinge", "upper", "lower", (1, 0, 0), axis=(0, 1, 0))
    return b.frames(240)


def free_tree():
    """A hub with arms, one on each kind of joint, in free fall: nothing may change its momentum."""
    b = Builder("free tree", gravity=(0, 0, 0))
    b.body("hub", 2.0, {"type": "box", "size": [0.3, 0.2, 0.25]}, (0, 0, 0))
    b.limb("arm", 0.6, (0.15, 0, 0), (0.65, 0, 0), 0.035)
    b.limb("hand", 0.4, (0.65, 0, 0), (0.95, 0, 0.2), 0.03)
    b.limb("claw", 0.2, (0.95, 0, 0.2), (1.2, 0.1, 0.2), 0.025)
    b.limb("mast", 0.7, (0, 0, 0.125), (0, 0, 0.6), 0.03)
    b.body("lamp", 0.3, {"type": "sphere", "radius": 0.09}, (0, 0.05, 0.75))
    b.limb("boom", 0.8, (-0.15, 0, 0), (-0.7, 0, -0.15), 0.035)
    b.body("crate", 0.5, {"type": "cylinder", "length": 0.2, "radius": 0.08}, (-0.75, 0, -0.3))
    b.limb("tail", 0.4, (0, 0, -0.125), (0.1, -0.3, -0.5), 0.03)
    b.joint("shoulder", "ball", "hub", "arm", (0.15, 0, 0), rate=(0.4, 1.2, -0.6))
    b.joint("elbow", "hinge", "arm", "hand", (0.65, 0, 0), axis=(0, 1, 0), rate=-2.0)
    b.joint("wrist", "universal", "hand", "claw", (0.95, 0, 0.2), axis=(0, 0, 1), axis2=(0, 1, 0))
    b.joint("telescope", "slide", "hub", "mast", (0, 0, 0.125), axis=(0, 0, 1), rate=0.02,
            friction=40.0)  # without it the mast would be flung out of sight
    b.joint("swivel", "universal", "mast", "lamp", (0, 0, 0.6), axis=(1, 0, 0), axis2=(0, 1, 0))
    b.joint("gantry", "hinge", "hub", "boom", (-0.15, 0, 0), axis=(0, 1, 0), rate=1.0)
    b.joint("hook", "ball", "boom", "crate", (-0.7, 0, -0.15), rate=(0, 0.5, 1.5))
    b.joint("stalk", "ball", "hub", "tail", (0, 0, -0.125), rate=(-0.8, 0, 0))
    b.moving(turning=(0.5, 0.9, 0.7))
    return b.frames(240)


def humanoid():
    """20 bodies, z up, facing -y, left is +x. Stands slack, then is tossed into a back flip."""
    b, hip = Builder("humanoid"), HIP
    torso(b, hip)
    for side, sign in SIDES:
        arm(b, side, sign, hip + LENGTH["shoulder_over_hip"])
        leg(b, side, sign, hip, SLACK)
    b.moving(velocity=(0, 3.0, 14.2), turning=(-1.8, 0.2, 0.5), about=(0, 0, hip + 0.1))
    return b.frames(72)


def rope():
    """2 m in 100 links, held at one end, stretched out and let go. The free end cracks like a whip,
    so the step is short."""
    b = Builder("rope")
    links, length = 100, 0.02
    for i in range(links):
        start, end = (i * length, 0, 0), ((i + 1) * length, 0, 0)
        b.limb(f"link{i + 1}", 0.004, start, end, 0.005)
        b.joint(f"joint{i + 1}", "ball", f"link{i}" if i else "world", f"link{i + 1}", start,
                friction=1e-4)
    return b.frames(72)


def driven_root():
    """A handle that is led from side to side and turned, and a tail of six links that follows.

    The second sample is a quarter of the third: the parabola through the first three then starts at
    rest, and so does the tail."""
    b = Builder("driven root")
    shift = [0, 0.1, 0.4, 0.4, 0, -0.4, -0.4, -0.1, 0]
    turn = [0, 0.2, 0.8, 1.0, 0, -1.0, -0.8, -0.2, 0]
    curve = {"time": [0.5 * k for k in range(9)],
             "position": [[x, 0, 0] for x in shift],
             "orientation": [rounded((math.cos(a / 2), 0, 0, math.sin(a / 2)), 15) for a in turn]}
    b.body("handle", 0.5, {"type": "box", "size": [0.3, 0.06, 0.06]}, (0, 0, 0),
           motion="driven", curve=curve)
    kinds = ("universal", "hinge", "ball", "universal", "hinge", "ball")
    parent, start = "handle", (0.12, 0, 0)
    for i, kind in enumerate(kinds, 1):
        end = add(start, (0, 0, -0.2))
        b.limb(f"tail{i}", round(0.3 - 0.03 * i, 3), start, end, 0.022)
        axes = {"universal": {"axis": (0, 1, 0), "axis2": (1, 0, 0)},
                "hinge": {"axis": (0, 1, 0)}, "ball": {}}[kind]
        b.joint(f"joint{i}", kind, parent, f"tail{i}", start, friction=0.002, **axes)
        parent, start = f"tail{i}", end
    return b.frames(120)


def four_bar():
    """Hoeken's linkage: while the crank goes round, the end of the coupler runs straight and level,
    then hurries back in an arc above. A motor turns the crank against friction."""
    b = Builder("four bar")
    a = 0.12
    crank, rocker = (0, 0, 0), (2 * a, 0, 0)
    pin = (-a, 0, 0)  # crank and coupler
    elbow = (a / 2, 0, 2 * a)  # coupler and rocker, both 2.5 a away from it
    b.limb("crank", 0.4, crank, pin, 0.013)
    b.limb("rocker", 0.6, rocker, elbow, 0.011)
    b.limb("coupler", 0.8, pin, sub(scale(elbow, 2), pin), 0.009)
    hinge = {"axis": (0, 1, 0)}
    b.joint("crank", "hinge", "world", "crank", crank, motor=-2.5, friction=0.35, **hinge)
    b.joint("rocker", "hinge", "world", "rocker", rocker, **hinge)
    b.joint("pin", "hinge", "crank", "coupler", pin, **hinge)
    b.joint("elbow", "hinge", "rocker", "coupler", elbow, **hinge)
    return b.frames(120)


def ring():
    """A closed chain of twelve links, level, held at one place and let go."""
    b = Builder("ring")
    links, radius = 12, 0.4
    turns = [2 * math.pi * i / links for i in range(links)]
    corners = [(radius * (1 - math.cos(a)), radius * math.sin(a), 0) for a in turns]
    for i in range(links):
        b.limb(f"link{i + 1}", 0.05, corners[i], corners[(i + 1) % links], 0.012)
    b.joint("hook", "ball", "world", "link1", corners[0], friction=1e-4)
    for i in range(links):
        b.joint(f"joint{i + 1}", "ball", f"link{(i - 1) % links + 1}", f"link{i + 1}", corners[i],
                friction=1e-4)
    return b.frames(96)


def bar_hang():
    """The humanoid on a trapeze: two ropes, a bar, both hands on it. Two loops: the ropes close one
    through the bar, the arms the other. Springs hold the body up in its own pose."""
    b = Builder("bar hang")
    torso(b, HIP)
    tips = [arm(b, side, sign, HIP + LENGTH["shoulder_over_hip"], up=True, bend=math.radians(8))
            for side, sign in SIDES]
    for side, sign in SIDES:
        leg(b, side, sign, HIP, SLACK)
    for joint in b.scene.joints:  # strong in the trunk, loose in the limbs
        trunk = joint.bodies[0] in ("pelvis", "lumbar", "abdomen", "chest", "neck")
        joint.follow = {"stiffness": 3 if trunk else 1, "damping": 0.7}
    reach, (_, y, z) = 0.5, tips[0]
    for side, sign in SIDES:
        b.limb(f"rope.{side}", 0.4, (sign * reach, y, z + 1.5), (sign * reach, y, z), 0.01)
    b.limb("bar", 2.5, (-reach, y, z), (reach, y, z), 0.016)
    for (side, sign), tip in zip(SIDES, tips):
        top = (sign * reach, y, z + 1.5)
        b.joint(f"hook.{side}", "ball", "world", f"rope.{side}", top, friction=0.002)
        b.joint(f"knot.{side}", "ball", f"rope.{side}", "bar", (sign * reach, y, z),
                friction=0.002)
        b.joint(f"grip.{side}", "hinge", "bar", f"hand.{side}", tip, axis=(1, 0, 0), friction=0.2)
    b.moving(turning=(-1.1, 0, 0), about=(0, y, z + 1.5))
    return b.frames(96)


def follow():
    """The humanoid runs and leaps: its pelvis is led along a curve and let go in the leap, all
    joints follow a run cycle by springs, loosely, and in the air more so."""
    b = Builder("follow")
    torso(b, HIP)
    for side, sign in SIDES:
        arm(b, side, sign, HIP + LENGTH["shoulder_over_hip"])
        leg(b, side, sign, HIP, SLACK)
    leap, period = 1.8, 0.7
    pelvis = b.scene.body("pelvis")
    pelvis.motion, pelvis.release = "driven", leap
    pelvis.curve = run_path([round(0.1 * k, 1) for k in range(-1, 21)], pelvis.position, period)
    times = [round(period / 8 * k, 6) for k in range(37)]
    weight = {"time": [leap, leap + 0.3], "value": [1, 0.3]}
    for joint in b.scene.joints:
        joint.follow = {"stiffness": 4, "damping": 0.7, "weight": weight}
        if joint.name.partition(".")[0] in ("hip", "knee", "shoulder", "elbow"):
            joint.follow["curve"] = run_cycle(joint, times, period)
    return b.frames(60)


def run_path(times, start, period):
    """Standing, then running towards -y, at last up. Even about time 0: it begins at rest."""
    places = []
    for t in times:
        begun = min(1.0, (t / 0.6) ** 2)
        y = -2.5 * t * t if abs(t) < 0.6 else -3.0 * (t - 0.3)
        bob = 0.03 * begun * math.cos(4 * math.pi * t / period)
        rise = 4.0 * max(0.0, t - 1.4) ** 2
        places.append(list(rounded(add(start, (0, y, bob + rise)))))
    lean = [math.radians(10) * min(1.0, (t / 0.6) ** 2) for t in times]
    turns = [list(rounded((math.cos(a / 2), math.sin(a / 2), 0, 0), 15)) for a in lean]
    return {"time": times, "position": places, "orientation": turns}


def run_cycle(joint, times, period):
    """Where the joint should be over time, from the place of its leg in the cycle (0: in front).
    Turns about x: positive is backwards for what hangs down."""
    kind, _, side = joint.name.partition(".")
    values = []
    for t in times:
        begun = min(1.0, t / 0.6)
        phase = 2 * math.pi * t / period + (0 if side == "L" else math.pi)
        angle = {"hip": -0.25 - 0.6 * math.cos(phase), "knee": 0.75 - 0.6 * math.sin(phase),
                 "shoulder": 0.6 * math.cos(phase), "elbow": 1.3}[kind] * begun
        values.append(round(angle, 6) if joint.type == "hinge" else
                      list(rounded((math.cos(angle / 2), math.sin(angle / 2), 0, 0), 15)))
    return {"time": times, "value": values}
