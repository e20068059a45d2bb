# SPDX-License-Identifier: BSD-3-Clause
"""The human figure: masses, lengths, trunk, arms and legs. z up, facing -y, left is +x."""

import math

from scenes.build import add, cross, scale, swing, unit

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
