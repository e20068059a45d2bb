# SPDX-License-Identifier: BSD-3-Clause
"""Plane models with wobbling masses that land from a jump [RUD 4.3-4.5]: facing +x, in the plane
y = 0. The angle phi of a segment goes from +x to +z: at 90 degrees it stands upright."""

import math

from skelpy.scene import Ground

from scenes.build import Builder, add, scale, z_towards

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
STIFF = {"knee": {"growth": 900, "max": 600}, "hip": {"growth": 700, "max": 500}}
SOFT = {"knee": {"growth": 450, "max": 500}, "hip": {"growth": 350, "max": 400}}


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


def hinge(b, name, parent, child, anchor, opening, between, muscle):
    """Opens about the given axis; between: the angle of the two segments at the start [degrees].
    The muscle pulls it open."""
    low, high = (round(math.radians(a - between), 9) for a in RANGE[name])
    b.joint(name, "hinge", parent, child, anchor, axis=opening, limits=[low, high],
            limit_torque=LIMIT, muscle=muscle)


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
    return three("jumper, stiff", STIFF, 0.458716).frames(97, fps=120)


def jumper_soft():
    return three("jumper, soft", SOFT, 0.458716).frames(97, fps=120)
