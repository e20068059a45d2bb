# SPDX-License-Identifier: BSD-3-Clause
"""Plane models with wobbling masses that land from a jump [RUD 4.3-4.5]: facing +x, in the plane
y = 0. The angle phi of a segment goes from +x to +z: at 90 degrees it stands upright."""

import math

from skelpy.scene import Ground

from scenes.build import Builder, add, scale, sub, z_towards
from scenes.figure import LENGTH, WEIGHT, segment_mass

# The three-linked model. Lengths, masses and moments of inertia as printed [RUD 4.3.1]; both legs
# are one, so what is printed of a leg counts twice. The constants of couplings, heel, limits and
# muscles are not printed: these are of tests/data/vectors.json. Shapes are ours, for the eye.
THREE = {
    "shin": {"length": 0.43, "bone": 2.25, "soft": 6.75, "theta": (0.0345, 0.0555),
             "along": (4e7, 250), "across": (2e7, 200), "turn": (60, 1), "flesh": (0.2, 0.055)},
    "thigh": {"length": 0.45, "bone": 4.125, "soft": 12.375, "theta": (0.0705, 0.228),
              "along": (6e7, 500), "across": (3e7, 350), "turn": (150, 4), "flesh": (0.2, 0.08)},
    "trunk": {"length": 0.75, "bone": 24.75, "soft": 24.75, "theta": (0.63375, 2.535),
              "along": (3e7, 900), "across": (2e7, 700), "turn": (400, 20), "flesh": (0.4, 0.13)},
}
RANGE = {"knee": (15, 182), "hip": (15, 210)}  # [degrees], between the two segments
LIMIT = {"a": 131, "b": 2, "c": 0.0005, "d": 0.1, "on": 0.0872664626}
HEEL = {"law": {"a": 2.4e7, "b": 2, "d": 300}, "stick": {"stiffness": 4e4, "damping": 200}}
# The feedback is against the speed of the centre of mass: what was stretched lets go as it rises.
STIFF = {"knee": {"growth": 716, "max": 856, "feedback": -3, "delay": 0.1},
         "hip": {"growth": 327, "max": 242, "feedback": -2.9, "delay": 0.1}}
SOFT = {"knee": {"growth": 1900, "max": 259, "feedback": -2.8, "delay": 0.1},
        "hip": {"growth": 86, "max": 1120, "feedback": -2.6, "delay": 0.1}}


def segment(b, name, part, start, phi):
    """A bone and the soft mass on it; returns its upper end."""
    along = scale((math.cos(phi), 0, math.sin(phi)), part["length"])
    bone, soft = part["theta"]
    b.body(name, part["bone"], {"type": "rod", "length": part["length"], "radius": 0.02},
           add(start, scale(along, 0.5)), z_towards(along), inertia=[bone] * 3)
    length, radius = part["flesh"]
    b.soft(name, part["soft"], {"type": "capsule", "length": length, "radius": radius},
           part["along"], part["across"], part["turn"], inertia=[soft] * 3)
    return add(start, along)


def hinge(b, name, parent, child, anchor, opening, between, muscle, friction=None):
    """Opens about the given axis; between: the angle of the two segments at the start [degrees].
    The muscle pulls it open."""
    low, high = (round(math.radians(a - between), 9) for a in RANGE[name])
    b.joint(name, "hinge", parent, child, anchor, axis=opening, limits=[low, high],
            limit_torque=LIMIT, muscle=muscle, friction=friction)


def three(name, muscles, fall):
    """Falls onto its heel from rest, the given height [m]."""
    b = Builder(name)
    phi = [math.radians(a) for a in (80, 100, 80)]
    knee = segment(b, "shin", THREE["shin"], (0, 0, fall), phi[0])
    hip = segment(b, "thigh", THREE["thigh"], knee, phi[1])
    segment(b, "trunk", THREE["trunk"], hip, phi[2])
    hinge(b, "knee", "shin", "thigh", knee, (0, 1, 0), 180 - 100 + 80, muscles["knee"])
    hinge(b, "hip", "thigh", "trunk", hip, (0, -1, 0), 180 + 80 - 100, muscles["hip"])
    b.scene.ground.append(Ground(friction=0.8, **HEEL))
    return b


def jumper_stiff():
    """3 m/s at the impact."""
    return three("jumper, stiff", STIFF, 0.458716).frames(121, fps=120)


def jumper_locked():
    """The stiff one with its soft masses fixed to the bones: what they are good for."""
    b = three("jumper, soft masses locked", STIFF, 0.458716)
    for soft in b.scene.wobble:
        soft.locked = True
    return b.frames(121, fps=120)


def jumper_soft():
    return three("jumper, soft", SOFT, 0.458716).frames(121, fps=120)


# The five-linked model [RUD 4.5]. Masses and lengths are those of the human figure (figure.py),
# left and right in one; shares of the soft masses as printed for three links, of the arms as of the
# legs; moments of inertia of cylinders [RUD 4.4], radii ours; couplings as above.
FIVE = {
    # length, mass, share that is soft, radius [m], of what is above (couplings)
    "shin": (LENGTH["shin"], 2 * segment_mass("shin"), 0.75, 0.055, "shin"),
    "thigh": (LENGTH["thigh"], 2 * segment_mass("thigh"), 0.75, 0.08, "thigh"),
    "trunk": (0.75, WEIGHT - 2 * sum(map(segment_mass, (
        "foot", "shin", "thigh", "upper_arm", "forearm", "hand"))), 0.5, 0.13, "trunk"),
    "arms": (0.6, 2 * sum(map(segment_mass, ("upper_arm", "forearm", "hand"))), 0.75, 0.045,
             "shin"),
}
PLANK = {"mass": 20.0, "stiffness": 3e4, "damping": 500.0}
# Found by a random search for a landing that comes to rest: muscles, and what the joints lose by
# moving [N m s].
SQUAT = {
    "ankle": ({"growth": 346, "max": 682}, 59.7),
    "knee": ({"growth": 1013, "max": 441}, 37.7),
    "hip": ({"growth": 1054, "max": 417}, 47.9),
    "shoulder": (None, 4),
}
RANGE.update({"ankle": (50, 125), "shoulder": (-60, 200)})


def link(name):
    """A part of the five-linked model as segment() takes it."""
    length, mass, soft, radius, like = FIVE[name]
    theta = [round(m * (length ** 2 / 12 + radius ** 2 / 4), 6)
             for m in (mass * (1 - soft), mass * soft)]
    return {**THREE[like], "length": length, "bone": mass * (1 - soft), "soft": mass * soft,
            "theta": theta, "flesh": (round(length - 2.6 * radius, 3), radius)}


def jumper_five(phi=(71.7, 117.5, 77.8, -60)):
    """Falls 0.8 m onto a plank on a spring and comes to rest in a squat."""
    b, fall = Builder("jumper on a plank"), 0.8
    top = PLANK["mass"] * 9.81 / PLANK["stiffness"]
    b.body("plank", PLANK["mass"], {"type": "box", "size": [1.0, 0.5, 0.05]}, (0.1, 0, -0.025),
           collide=False)  # it is the ground below that is landed on
    b.joint("mount", "slide", "world", "plank", (0.1, 0, -0.025), axis=(0, 0, 1),
            spring={"stiffness": PLANK["stiffness"], "damping": PLANK["damping"],
                    "rest": round(top, 9)})
    b.scene.ground.append(Ground(friction=0.8, body="plank", **HEEL))
    height = LENGTH["ankle"]
    ankle = (0.0, 0.0, fall + height)
    b.body("foot", 2 * segment_mass("foot"),
           {"type": "box", "size": [LENGTH["foot"], 0.2, round(height - 0.01, 6)]},
           (LENGTH["foot"] / 2 - 0.06, 0, fall + (height - 0.01) / 2))
    shin, thigh, back, arms = (math.radians(a) for a in phi)
    knee = segment(b, "shin", link("shin"), ankle, shin)
    hip = segment(b, "thigh", link("thigh"), knee, thigh)
    neck = segment(b, "trunk", link("trunk"), hip, back)
    shoulder = add(hip, scale(sub(neck, hip), 0.68))
    segment(b, "arms", link("arms"), shoulder, arms)
    for name, parent, child, anchor, opening, between in (
            ("ankle", "foot", "shin", ankle, (0, -1, 0), phi[0]),
            ("knee", "shin", "thigh", knee, (0, 1, 0), 180 - phi[1] + phi[0]),
            ("hip", "thigh", "trunk", hip, (0, -1, 0), 180 + phi[2] - phi[1]),
            ("shoulder", "trunk", "arms", shoulder, (0, -1, 0), phi[3] - phi[2] + 180)):
        hinge(b, name, parent, child, anchor, opening, between, *SQUAT[name])
    return b.frames(97, fps=48)
