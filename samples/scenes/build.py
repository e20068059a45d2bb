# SPDX-License-Identifier: BSD-3-Clause
"""Vectors, quaternions and the builder of scenes.

Bodies are placed by the two ends of their long axis, joints by a point (and axis) in the world, so
every joint is closed as placed. Velocities start at the root and go down the joints: they fit, too.
"""

import math

from skelpy.scene import BakeSettings, Body, Joint, Scene, Wobble

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
        body = Body(name, round(mass, 6) or None, shape, position=list(rounded(centre)),
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

    def soft(self, body, mass, shape, along, across, turn, **more):
        """The soft mass of a body, at its centre: (c, d) along and across its z axis, (a, b) of the
        turning."""
        self.scene.wobble.append(Wobble(
            f"{body}.soft", body, round(mass, 6), dict(zip("cd", along)), dict(zip("cd", across)),
            dict(zip("ab", turn)), shape=shape, **more))

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
