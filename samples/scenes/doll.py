# SPDX-License-Identifier: BSD-3-Clause
"""A figure of 14 capsules with limits at every joint: z up, facing -y, left is +x."""

import math

from scenes.build import add, cross, scale, swing
from scenes.figure import LENGTH, SIDES, segment_mass

DOWN, FORWARD = (0, 0, -1), (0, -1, 0)
# Half the ranges of motion [degrees] about the pose below, which is bent in the middle of them.
CONE = {"waist": 25, "ribs": 20, "neck": 35, "shoulder": 75, "hip": 50}
TWIST = {"waist": 20, "ribs": 15, "neck": 40, "shoulder": 60, "hip": 30}
FRICTION = {"waist": 6, "ribs": 6, "neck": 2, "shoulder": 2.5, "hip": 4,
            "elbow": 1.5, "knee": 3, "ankle": 1}
POSE = {"thigh": 35, "knee": 45, "arm": 50, "out": 25, "elbow": 50, "foot": 0}  # [degrees]


def radians(*degrees):
    return [round(math.radians(a), 6) for a in degrees]


def ball(b, name, parent, child, anchor, axis):
    kind = name.partition(".")[0]
    b.joint(name, "ball", parent, child, anchor, friction=FRICTION[kind],
            limits={"cone": radians(CONE[kind])[0], "twist": radians(-TWIST[kind], TWIST[kind]),
                    "axis": axis})


def trunk(b, x, y, hip):
    """Heights are over the hips."""
    def across(name, mass, height, half, radius):
        b.limb(name, mass, (x - half, y, hip + height), (x + half, y, hip + height), radius)

    across("pelvis", segment_mass("pelvis"), 0.03, 0.075, 0.1)
    across("belly", segment_mass("lumbar") + segment_mass("abdomen"), 0.2, 0.05, 0.1)
    across("chest", segment_mass("chest") + 2 * segment_mass("clavicle"), 0.41, 0.08, 0.115)
    b.limb("head", segment_mass("head") + segment_mass("neck"), (x, y - 0.02, hip + 0.66),
           (x, y - 0.02, hip + 0.72), 0.09)
    ball(b, "waist", "pelvis", "belly", (x, y, hip + 0.12), (0, 0, 1))
    ball(b, "ribs", "belly", "chest", (x, y, hip + 0.3), (0, 0, 1))
    ball(b, "neck", "chest", "head", (x, y, hip + 0.56), (0, 0, 1))


def arm(b, side, sign, x, y, hip, pose):
    out, up, bend = (math.radians(pose[k]) for k in ("out", "arm", "elbow"))
    aside = swing(DOWN, (sign, 0, 0), out)
    upper, shoulder = swing(aside, FORWARD, up), (x + sign * 0.2, y, hip + 0.47)
    ahead = add(scale(aside, -math.sin(up)), scale(FORWARD, math.cos(up)))  # at right angles
    lower = swing(upper, ahead, bend)
    elbow = add(shoulder, scale(upper, LENGTH["upper_arm"]))
    tip = add(elbow, scale(lower, LENGTH["forearm"] + LENGTH["hand"] - 0.06))  # with the hand
    b.limb(f"upper_arm.{side}", segment_mass("upper_arm"), shoulder, elbow, 0.045)
    b.limb(f"forearm.{side}", segment_mass("forearm") + segment_mass("hand"), elbow, tip, 0.04)
    ball(b, f"shoulder.{side}", "chest", f"upper_arm.{side}", shoulder, upper)
    b.joint(f"elbow.{side}", "hinge", f"upper_arm.{side}", f"forearm.{side}", elbow,
            axis=cross(upper, lower), friction=FRICTION["elbow"],
            limits=radians(-pose["elbow"], 140 - pose["elbow"]))


def leg(b, side, sign, x, y, hip, pose):
    raised, bend = math.radians(pose["thigh"]), math.radians(pose["knee"])
    top = (x + sign * 0.09, y, hip)
    upper, lower = swing(DOWN, FORWARD, raised), swing(DOWN, FORWARD, raised - bend)
    pitch = raised - bend + math.radians(pose["foot"])
    ahead, below = swing(FORWARD, (0, 0, 1), pitch), swing(DOWN, FORWARD, pitch)
    knee = add(top, scale(upper, LENGTH["thigh"]))
    ankle = add(knee, scale(lower, LENGTH["shin"]))
    sole = add(ankle, scale(below, 0.03))
    b.limb(f"thigh.{side}", segment_mass("thigh"), top, knee, 0.075)
    b.limb(f"shin.{side}", segment_mass("shin"), knee, ankle, 0.05)
    b.limb(f"foot.{side}", segment_mass("foot"), add(sole, scale(ahead, -0.03)),
           add(sole, scale(ahead, LENGTH["foot"] - 0.1)), 0.035)
    ball(b, f"hip.{side}", "pelvis", f"thigh.{side}", top, upper)
    b.joint(f"knee.{side}", "hinge", f"thigh.{side}", f"shin.{side}", knee, axis=(1, 0, 0),
            friction=FRICTION["knee"], limits=radians(-pose["knee"], 140 - pose["knee"]))
    b.joint(f"ankle.{side}", "hinge", f"shin.{side}", f"foot.{side}", ankle, axis=(1, 0, 0),
            friction=FRICTION["ankle"], limits=radians(-35, 50),
            spring={"stiffness": 150, "damping": 6})  # a foot is light, and may carry all


def doll(b, x, y, hip, pose=None):
    """All limbs; the hips at the given place."""
    pose = {**POSE, **(pose or {})}
    trunk(b, x, y, hip)
    for side, sign in SIDES:
        arm(b, side, sign, x, y, hip, pose)
        leg(b, side, sign, x, y, hip, pose)
