#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the sample scenes beside this file. The same bytes on every machine.

    make_scenes.py            write samples/*.json
    make_scenes.py --check    exit 1 where a file in the tree is not what would be written

Bodies are placed by the two ends of their long axis, joints by a point (and axis) in the world, so
every joint is closed as placed. Velocities start at the root and go down the joints: they fit, too.
"""

import argparse
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "plugin_bridge"))

from skelpy.scene import BakeSettings, Body, Joint, Scene  # noqa: E402

PLACE_DIGITS = 6   # of positions [m]: 1 um
TURN_DIGITS = 9    # of quaternions


# Vectors and quaternions (w x y z), as tuples.

def add(a, b):
    return tuple(x + y for x, y in zip(a, b))


def sub(a, b):
    return tuple(x - y for x, y in zip(a, b))


def scale(a, s):
    return tuple(x * s for x in a)


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def unit(a):
    return scale(a, 1.0 / math.sqrt(dot(a, a)))


def rounded(a, digits=PLACE_DIGITS):
    return tuple(round(x, digits) + 0.0 for x in a)


def turned_back(q, a):
    """R(q)^T a: from the world to body axes."""
    w, u = q[0], scale(q[1:], -1.0)
    t = scale(cross(u, a), 2.0)
    return add(a, add(scale(t, w), cross(u, t)))


def z_towards(direction):
    """The shortest turn of the z axis onto the direction; straight down turns about x."""
    d = unit(direction)
    if d[2] < -1.0 + 1e-12:
        return (0.0, 1.0, 0.0, 0.0)
    return rounded(unit((1.0 + d[2], -d[1], d[0], 0.0)), TURN_DIGITS)


def swing(direction, towards, angle):
    """The unit direction, turned by the angle towards another one at right angles to it."""
    return add(scale(direction, math.cos(angle)), scale(towards, math.sin(angle)))


# Scene builder.

class Builder:
    """A scene that grows from the root outwards."""

    def __init__(self, name, gravity=(0, 0, -9.81)):
        self.scene = Scene(name=name, gravity=list(gravity))
        self._bodies = {"world": None}
        self._rates = {}

    def body(self, name, mass, shape, centre, orientation=(1, 0, 0, 0), **more):
        body = Body(name, round(mass, 6), shape, position=list(rounded(centre)),
                    orientation=list(orientation), **more)
        self._bodies[name] = body
        self.scene.bodies.append(body)
        return name

    def limb(self, name, mass, start, end, radius):
        """A capsule whose caps are centred on the two ends."""
        axis = sub(end, start)
        shape = {"type": "capsule", "length": round(math.sqrt(dot(axis, axis)), PLACE_DIGITS),
                 "radius": radius}
        return self.body(name, mass, shape, scale(add(start, end), 0.5), z_towards(axis))

    def joint(self, name, kind, parent, child, anchor, rate=None, **more):
        """rate: speed about or along the axis (hinge, slide), a vector for a ball; for `moving`."""
        for key in ("axis", "axis2"):
            if key in more:
                more[key] = list(rounded(unit(more[key]), TURN_DIGITS))
        self.scene.joints.append(
            Joint(name, kind, [parent, child], anchor=list(rounded(anchor)), **more))
        self._rates[name] = rate

    def moving(self, velocity=(0, 0, 0), turning=(0, 0, 0), about=(0, 0, 0)):
        """Roots move rigidly (turning: world, through the point about); joints add their rates."""
        turns, about = {}, rounded(about)
        for body in self.scene.bodies:
            joint = next((j for j in self.scene.joints if j.bodies[1] == body.name), None)
            p = body.position
            if joint is None or joint.bodies[0] == "world":
                w, v = turning, add(velocity, cross(turning, sub(p, about)))
            else:
                w, v = self._carried(joint, p, turns)
            turns[body.name] = w
            norm = math.sqrt(dot(body.orientation, body.orientation))
            body.velocity = list(v)
            body.angular_velocity = list(turned_back(scale(body.orientation, 1 / norm), w))

    def _carried(self, joint, p, turns):
        """Turning and velocity of the child: rigid with the parent, plus the joint's own rate."""
        parent, rate = self._bodies[joint.bodies[0]], self._rates[joint.name]
        w = turns[parent.name]
        v = add(parent.velocity, cross(w, sub(p, parent.position)))
        if rate is None:
            return w, v
        if joint.type == "slide":
            return w, add(v, scale(joint.axis, rate))
        spin = rate if joint.type == "ball" else scale(joint.axis, rate)
        return add(w, spin), add(v, cross(spin, sub(p, joint.anchor)))

    def frames(self, last, fps=24, **more):
        self.scene.bake = BakeSettings(fps=fps, frame_start=1, frame_end=last, **more)
        return self.scene


# The scenes.

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


# Masses in per cent of the body: P. de Leva, "Adjustments to Zatsiorsky-Seluyanov's segment inertia
# parameters", J. Biomechanics 29 (1996), male. He measures the trunk in three parts and the head
# with the neck; how the middle trunk is shared out to lumbar and abdomen, the upper trunk to chest
# and clavicles, and the head to head and neck, is ours.
MASS_PERCENT = {
    "pelvis": 11.17, "lumbar": 8.17, "abdomen": 8.16, "chest": 13.56, "clavicle": 1.20,
    "neck": 1.20, "head": 5.74, "upper_arm": 2.71, "forearm": 1.62, "hand": 0.61,
    "thigh": 14.16, "shin": 4.33, "foot": 1.37,
}
# Lengths in parts of the stature: Drillis and Contini, as printed in D. A. Winter, "Biomechanics
# and Motor Control of Human Movement". Widths and radii are ours.
STATURE, WEIGHT = 1.75, 75.0
LENGTH = {part: STATURE * share for part, share in {
    "ankle": 0.039, "shin": 0.246, "thigh": 0.245, "upper_arm": 0.186, "forearm": 0.146,
    "hand": 0.108, "foot": 0.152, "shoulder_over_hip": 0.288}.items()}


def segment_mass(part):
    return WEIGHT * MASS_PERCENT[part] / 100.0


SLACK = math.radians(8)  # thigh forward and shin back by this much
HIP = LENGTH["ankle"] + (LENGTH["shin"] + LENGTH["thigh"]) * math.cos(SLACK)
SIDES = (("L", 1.0), ("R", -1.0))


def humanoid():
    """20 bodies, z up, facing -y, left is +x. Stands slack, then is tossed into a back flip."""
    b, hip = Builder("humanoid"), HIP
    torso(b, hip)
    for side, sign in SIDES:
        arm(b, side, sign, hip + LENGTH["shoulder_over_hip"])
        leg(b, side, sign, hip, SLACK)
    b.moving(velocity=(0, 3.0, 14.2), turning=(-1.8, 0.2, 0.5), about=(0, 0, hip + 0.1))
    return b.frames(72)


def torso(b, hip):
    """Heights are over the hip joints; boxes x (width) y (depth) z."""
    def block(name, low, high, width, depth):
        size = [width, depth, round(high - low, 3)]
        b.body(name, segment_mass(name), {"type": "box", "size": size},
               (0, 0, hip + (low + high) / 2))

    def spine(name, parent, child, height, friction):
        b.joint(name, "ball", parent, child, (0, 0, hip + height), friction=friction)

    block("pelvis", -0.06, 0.10, 0.30, 0.19)
    block("lumbar", 0.10, 0.21, 0.25, 0.17)
    block("abdomen", 0.21, 0.32, 0.26, 0.18)
    block("chest", 0.32, 0.55, 0.30, 0.20)
    b.limb("neck", segment_mass("neck"), (0, 0, hip + 0.55), (0, 0, hip + 0.63), 0.055)
    b.limb("head", segment_mass("head"), (0, -0.01, hip + 0.6925), (0, -0.01, hip + 0.7325), 0.09)
    spine("waist", "pelvis", "lumbar", 0.10, 1.0)
    spine("spine", "lumbar", "abdomen", 0.21, 1.0)
    spine("ribs", "abdomen", "chest", 0.32, 1.0)
    spine("nape", "chest", "neck", 0.55, 1.0)
    spine("skull", "neck", "head", 0.62, 1.0)


def arm(b, side, sign, height, up=False, bend=math.radians(15)):
    """Hangs down, or reaches up."""
    down, forward = unit((sign * math.sin(math.radians(14)), 0, 1 if up else -1)), (0, -1, 0)
    root, shoulder = (sign * 0.03, 0, height), (sign * 0.19, 0, height)
    lower = swing(down, forward, bend)
    elbow = add(shoulder, scale(down, LENGTH["upper_arm"]))
    wrist = add(elbow, scale(lower, LENGTH["forearm"]))
    tip = add(wrist, scale(lower, LENGTH["hand"] - 0.035))
    b.limb(f"clavicle.{side}", segment_mass("clavicle"), root, shoulder, 0.05)
    b.limb(f"upper_arm.{side}", segment_mass("upper_arm"), shoulder, elbow, 0.045)
    b.limb(f"forearm.{side}", segment_mass("forearm"), elbow, wrist, 0.038)
    b.limb(f"hand.{side}", segment_mass("hand"), wrist, tip, 0.035)
    b.joint(f"collar.{side}", "ball", "chest", f"clavicle.{side}", root, friction=1.0)
    b.joint(f"shoulder.{side}", "ball", f"clavicle.{side}", f"upper_arm.{side}", shoulder,
            friction=0.5)
    # q grows as the elbow bends; it is zero at the given pose, so straight is at -bend.
    b.joint(f"elbow.{side}", "hinge", f"upper_arm.{side}", f"forearm.{side}", elbow,
            axis=cross(down, forward), friction=0.3, limits=[round(-bend, 3), 2.3])
    b.joint(f"wrist.{side}", "ball", f"forearm.{side}", f"hand.{side}", wrist, friction=0.2)
    return tip


def leg(b, side, sign, height, slack):
    down, forward = (0, 0, -1), (0, -1, 0)
    hip = (sign * 0.09, 0, height)
    knee = add(hip, scale(swing(down, forward, slack), LENGTH["thigh"]))
    ankle = add(knee, scale(swing(down, forward, -slack), LENGTH["shin"]))
    toes_back = 0.06  # how far the heel reaches behind the ankle
    sole = (ankle[0], ankle[1] - LENGTH["foot"] / 2 + toes_back, LENGTH["ankle"] / 2)
    b.limb(f"thigh.{side}", segment_mass("thigh"), hip, knee, 0.075)
    b.limb(f"shin.{side}", segment_mass("shin"), knee, ankle, 0.05)
    b.body(f"foot.{side}", segment_mass("foot"),
           {"type": "box", "size": [0.095, LENGTH["foot"], round(LENGTH["ankle"], 5)]}, sole)
    b.joint(f"hip.{side}", "ball", "pelvis", f"thigh.{side}", hip, friction=1.0)
    b.joint(f"knee.{side}", "hinge", f"thigh.{side}", f"shin.{side}", knee, axis=(1, 0, 0),
            friction=0.5, limits=[round(-2 * slack, 3), 2.2])
    b.joint(f"ankle.{side}", "universal", f"shin.{side}", f"foot.{side}", ankle,
            axis=(1, 0, 0), axis2=(0, 1, 0), friction=0.3)


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


SCENES = (pendulum, double_pendulum, free_tree, humanoid, rope, driven_root,
          four_bar, ring, bar_hang, follow)


def main():
    parser = argparse.ArgumentParser(description="write the sample scenes")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 where different")
    check = parser.parse_args().check
    stale = []
    for make in SCENES:
        path, text = HERE / f"{make.__name__}.json", make().to_json()
        if check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(path.name)
        else:
            path.write_text(text, encoding="utf-8")
            print(f"samples/{path.name}")
    if stale:
        print(f"not up to date, run samples/make_scenes.py: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
