#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a baked motion as one SVG picture, with its receipt under it. Standard library only.

    draw.py TRACK.json SCENE.json -o OUT.svg [--frames N] [--view front|side|iso] [--title T]
            [--layout strobe|strip] [--seconds S] [--span S] [--report REPORT.json]
            [--trail BODY|none] [--below TRACK.json SCENE.json]

strobe: all poses where they were, light to dark over time, with the way of the outermost point.
strip:  pose after pose in cells of its own, seen by a camera that follows the centre of mass, over
        a ground to its side only.
What hangs on the world or on a driven body is drawn as strobe, what floats freely as strip.
Fixed bodies and grounds are drawn once, soft masses as outlines. below: one more motion in a panel
of its own, at the same scale.
"""

import argparse
import json
import math
import os
import pathlib
import sys
from html import escape

WIDTH, MARGIN, CAPTION = 1200.0, 56.0, 92.0  # px
MAX_HEIGHT = 900.0
INK, GREY, FAINT = "#1d2b3a", "#6b7a89", "#d5dce3"
LIGHT, STRIP_LIGHT, DARK = (214, 225, 236), (158, 184, 209), (22, 58, 99)
ACCENT, SOFT = (222, 107, 47), (196, 122, 88)
STONE = ((226, 226, 222), (204, 204, 199), (186, 186, 181))  # faces along z, x and y
FONT = "font-family='Helvetica Neue, Helvetica, Arial, sans-serif'"

# Right, up and towards the viewer, in the world.
S3, C3, S2, C2 = math.sin(0.6), math.cos(0.6), math.sin(0.35), math.cos(0.35)
VIEWS = {
    "front": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "side": ((0, -1, 0), (0, 0, 1), (-1, 0, 0)),
    "iso": ((C3, -S3, 0), (S3 * S2, C3 * S2, C2), (-S3 * C2, -C3 * C2, S2)),
}


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def turned(q, a):
    """R(q) a."""
    w, x, y, z = q
    tx, ty, tz = 2 * (y * a[2] - z * a[1]), 2 * (z * a[0] - x * a[2]), 2 * (x * a[1] - y * a[0])
    return (a[0] + w * tx + y * tz - z * ty, a[1] + w * ty + z * tx - x * tz,
            a[2] + w * tz + x * ty - y * tx)


def turned_back(q, a):
    return turned((q[0], -q[1], -q[2], -q[3]), a)


def placed(position, orientation, a):
    r = turned(orientation, a)
    return (position[0] + r[0], position[1] + r[1], position[2] + r[2])


def mixed(a, b, t):
    return tuple(x + (y - x) * t for x, y in zip(a, b))


def colour(rgb):
    return "#%02x%02x%02x" % tuple(int(round(c)) for c in rgb)


def hull(points):
    """Convex hull in the plane (Andrew's monotone chain)."""
    points = sorted(set(points))
    if len(points) < 3:
        return points

    def half(points):
        chain = []
        for p in points:
            while len(chain) > 1 and ((chain[-1][0] - chain[-2][0]) * (p[1] - chain[-2][1])
                                      <= (chain[-1][1] - chain[-2][1]) * (p[0] - chain[-2][0])):
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return half(points) + half(points[::-1])


# A body is drawn as the hull of some points with a round pen: (points in body axes, pen radius).

def outline(body):
    shape = body.get("shape")
    if shape is None:
        return [(0, 0, 0)], stand_in_radius(body)
    kind, radius = shape["type"], shape.get("radius", 0.0)
    if kind == "sphere":
        return [(0, 0, 0)], radius
    if kind == "box":
        pen = 0.0 if body.get("motion") == "fixed" else 0.3 * min(shape["size"])
        x, y, z = (edge / 2 - pen for edge in shape["size"])
        return [(i * x, j * y, k * z) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], pen
    half = shape["length"] / 2
    if kind == "capsule":
        return [(0, 0, -half), (0, 0, half)], radius
    rim = [(radius * math.cos(a), radius * math.sin(a)) for a in
           (2 * math.pi * i / 32 for i in range(32))]
    return [(x, y, z) for z in (-half, half) for x, y in rim], 0.0


def stand_in_radius(body):
    """Of a ball with the same inertia, where the document gives no shape."""
    inertia, mass = body.get("inertia"), body.get("mass")
    if not inertia or not mass:
        return 0.03
    return math.sqrt(2.5 * sum(inertia[:3]) / 3 / mass)


class Motion:
    """The track, the scene and what is drawn of each body."""

    def __init__(self, track, scene, seconds=None):
        self.track, self.scene = track, scene
        soft = scene.get("wobble", [])
        known = {body["name"]: body for body in scene["bodies"] + soft}
        self.bodies = [known[name] for name in track["bodies"]]
        self.soft = {body["name"] for body in soft}
        self.outlines = [outline(body) for body in self.bodies]
        self.moving = [i for i, body in enumerate(self.bodies) if body.get("motion") != "fixed"]
        self.fixed = [i for i in range(len(self.bodies)) if i not in self.moving]
        self.grounds = [plane for plane in scene.get("ground", []) if "body" not in plane]
        if "receipts" in track and len(track["position"]) == 1:
            self.show_start()
        self.fps = self.track["fps"]
        self.count = len(self.track["position"])
        if seconds is not None:
            self.count = max(1, min(self.count, 1 + int(seconds * self.fps + 1e-9)))

    def show_start(self):
        """A solved pose alone says little: the scene's own comes before it."""
        if not all("position" in body for body in self.bodies):
            return
        start = ([body["position"] for body in self.bodies],
                 [body.get("orientation", (1, 0, 0, 0)) for body in self.bodies])
        self.track = {**self.track, "position": [start[0], *self.track["position"]],
                      "orientation": [start[1], *self.track["orientation"]]}

    def pose(self, frame, body):
        return self.track["position"][frame][body], self.track["orientation"][frame][body]

    def centre(self, frame):
        masses = [body.get("mass") or 0.0 if i in self.moving else 0.0
                  for i, body in enumerate(self.bodies)]
        total = sum(masses) or 1.0
        places = self.track["position"][frame]
        return tuple(sum(m * p[k] for m, p in zip(masses, places)) / total for k in range(3))

    def pins(self):
        """Where joints hold on to the world: the point, and the pen radius of the body there."""
        names, pins = [body["name"] for body in self.bodies], []
        for joint in self.scene.get("joints", []):
            if "world" in joint["bodies"] and joint["type"] != "slide":
                body = next(name for name in joint["bodies"] if name != "world")
                side = joint["bodies"].index("world")
                place = joint.get("anchor") or joint["frames"][side].get("position", (0, 0, 0))
                pins.append((place, self.outlines[names.index(body)][1]))
        return pins

    def goals(self, frame):
        """The places in the world that goals of points have at a frame."""
        if "receipts" not in self.track:
            return []
        places = []
        for goal in self.scene.get("goals", []):
            place = goal.get("position") or goal.get("look_at")
            if place and "relative_to" not in goal:
                places.append(place[frame] if isinstance(place[0], (list, tuple)) else place)
        return places

    def is_flat(self):
        """All in the plane y = constant."""
        ys = [place[1] for places in self.track["position"] for place in places]
        return max(ys) - min(ys) < 1e-6

    def floats(self):
        held = any("world" in joint["bodies"] for joint in self.scene.get("joints", []))
        return not held and all(body.get("motion", "dynamic") == "dynamic" for body in self.bodies)

    def tip(self):
        """The last body and the end of it that is farthest from its joint, in body axes."""
        last = max(i for i in self.moving if self.bodies[i]["name"] not in self.soft)
        name = self.bodies[last]["name"]
        joint = next((j for j in self.scene.get("joints", []) if j["bodies"][1] == name), None)
        body = self.bodies[last]
        if joint is None:
            return last, (0, 0, 0)
        if "anchor" in joint:
            lever = [a - p for a, p in zip(joint["anchor"], body.get("position", (0, 0, 0)))]
            lever = turned_back(body.get("orientation", (1, 0, 0, 0)), lever)
        else:
            lever = joint["frames"][1].get("position", (0, 0, 0))
        return last, max(self.outlines[last][0], key=lambda p: math.dist(p, lever))


class Camera:
    """World to picture: orthographic."""

    def __init__(self, view, px_per_metre, origin, at):
        self.right, self.up, self.near = VIEWS[view]
        self.scale, self.origin = px_per_metre, origin
        self.at = at  # picture place of the origin [px]

    def __call__(self, point):
        d = tuple(a - b for a, b in zip(point, self.origin))
        return (round(self.at[0] + self.scale * dot(self.right, d), 2),
                round(self.at[1] - self.scale * dot(self.up, d), 2))

    def depth(self, point):
        return dot(self.near, point)


def flat_bounds(motion, frames, view, origin_of):
    """Left, right, low, high [m] of everything drawn, in view axes about origin_of(frame)."""
    right, up, _ = VIEWS[view]
    us, vs = [], []
    for k, frame in enumerate(frames):
        origin = origin_of(frame)
        for index in motion.moving if k else motion.moving + motion.fixed:
            points, pen = motion.outlines[index]
            position, orientation = motion.pose(frame, index)
            for point in points:
                d = tuple(a - b for a, b in zip(placed(position, orientation, point), origin))
                us += [dot(right, d) - pen, dot(right, d) + pen]
                vs += [dot(up, d) - pen, dot(up, d) + pen]
    return min(us), max(us), min(vs), max(vs)


def path(points, close):
    text = "M" + "L".join("%g %g" % p for p in points)
    return text + ("Z" if close else "")


def draw_body(points, width, fill):
    """A white rim below keeps neighbours apart."""
    if len(points) == 1:
        points = [points[0], (points[0][0] + 0.01, points[0][1])]
    d = path(points, len(points) > 2)
    return (f"<path d='{d}' stroke='#fff' fill='#fff' stroke-width='{width + 2.4:.2f}'/>"
            f"<path d='{d}' stroke='{fill}' fill='{fill}' stroke-width='{max(width, 1.2):.2f}'/>")


def draw_soft(points, width, strength):
    """Soft masses: the outline, over the bone. A wide pen is drawn as its rim."""
    d = path(points if len(points) > 1 else [points[0], (points[0][0] + 0.01, points[0][1])],
             len(points) > 2)
    rgb = colour(mixed((255, 255, 255), SOFT, strength))
    return (f"<path d='{d}' stroke='{rgb}' stroke-opacity='0.9' stroke-width='{width + 1.2:.2f}' "
            f"/><path d='{d}' stroke='#fff' stroke-width='{max(width - 1.6, 0.5):.2f}'/>")


def draw_pose(motion, frame, camera, rgb):
    """Far bodies first and a little paler; of a bone and its soft mass, the soft one."""
    order = sorted(motion.moving, key=lambda i: (
        round(camera.depth(motion.track["position"][frame][i]), 2),
        motion.bodies[i]["name"] not in motion.soft))
    depths = [camera.depth(motion.track["position"][frame][i]) for i in order]
    spread = max(depths[-1] - depths[0], 1e-9)
    flat = spread < 1e-3
    parts = []
    for index, depth in zip(order, depths):
        points, pen = motion.outlines[index]
        position, orientation = motion.pose(frame, index)
        corners = hull([camera(placed(position, orientation, p)) for p in points])
        far = 0.0 if flat else 0.34 * (depths[-1] - depth) / spread
        if motion.bodies[index]["name"] in motion.soft:
            parts.append(draw_soft(corners, 2 * pen * camera.scale,
                                   0.3 + 0.7 * (255 - rgb[0]) / (255 - DARK[0])))
            continue
        parts.append(draw_body(corners, 2 * pen * camera.scale,
                               colour(mixed(rgb, (255, 255, 255), far))))
    return f"<g class='pose' data-frame='{frame}'>{''.join(parts)}</g>"


def draw_goals(motion, frame, camera):
    """Rings with a cross where the points are to be."""
    parts = []
    for x, y in map(camera, motion.goals(min(frame, len(motion.track["receipts"]) - 1)
                                         if "receipts" in motion.track else 0)):
        d = f"M{x - 11:.2f} {y:g}H{x + 11:.2f}M{x:g} {y - 11:.2f}V{y + 11:.2f}"
        parts.append(f"<path class='goal' d='{d}' stroke='#fff' stroke-width='4'/>"
                     f"<circle cx='{x:g}' cy='{y:g}' r='7' stroke='#fff' stroke-width='4'/>"
                     f"<path d='{d}' stroke='{colour(ACCENT)}' stroke-width='1.6'/>"
                     f"<circle cx='{x:g}' cy='{y:g}' r='7' stroke='{colour(ACCENT)}' "
                     "stroke-width='1.6'/>")
    return "".join(parts)


def draw_springs(motion, frame, camera):
    """Zigzags below what slides up and down on a spring."""
    names, parts = [body["name"] for body in motion.bodies], []
    for joint in motion.scene.get("joints", []):
        if joint["type"] != "slide" or "spring" not in joint or joint["bodies"][0] != "world":
            continue
        index = names.index(joint["bodies"][1])
        x, top = camera(motion.pose(frame, index)[0])
        _, bottom = camera(placed(motion.pose(0, index)[0], (1, 0, 0, 0), (0, 0, -0.3)))
        turns, wide = 8, 0.05 * camera.scale
        rise = (bottom - top) / turns
        zigzag = "".join(f"L{x + wide * (-1) ** k:.2f} {top + rise * (k + 0.5):.2f}"
                         for k in range(turns))
        parts.append(f"<path d='M{x:g} {top:g}{zigzag}L{x:g} {bottom:.2f}M{x - 3 * wide:.2f} "
                     f"{bottom:.2f}H{x + 3 * wide:.2f}' stroke='{GREY}' stroke-width='1.2'/>")
    return "".join(parts)


def draw_fixed(motion, camera):
    """Boxes by the faces one sees, light from above; other shapes like bodies."""
    parts = []
    for index in sorted(motion.fixed, key=lambda i: camera.depth(motion.pose(0, i)[0])):
        position, orientation = motion.pose(0, index)
        shape = motion.bodies[index].get("shape") or {}
        if shape.get("type") != "box":
            points, pen = motion.outlines[index]
            corners = hull([camera(placed(position, orientation, p)) for p in points])
            parts.append(draw_body(corners, 2 * pen * camera.scale, colour(STONE[1])))
            continue
        half = [edge / 2 for edge in shape["size"]]
        for k, sign in ((k, sign) for k in range(3) for sign in (-1, 1)):
            normal = turned(orientation, [sign * (i == k) for i in range(3)])
            if dot(normal, camera.near) < 1e-6:
                continue
            i, j = (k + 1) % 3, (k + 2) % 3
            corners = []
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corner = [0.0, 0.0, 0.0]
                corner[k], corner[i], corner[j] = sign * half[k], a * half[i], b * half[j]
                corners.append(camera(placed(position, orientation, corner)))
            tint = max(range(3), key=lambda axis: abs(normal[axis]))
            parts.append(f"<path d='{path(corners, True)}' fill='{colour(STONE[(tint + 1) % 3])}' "
                         "stroke='#fff' stroke-width='1'/>")
    return "".join(parts)


def draw_ground(plane, camera, height):
    """A plane that is seen edge-on: its line and what is below; others are left out."""
    normal, point = plane.get("normal", (0, 0, 1)), plane.get("point", (0, 0, 0))
    across, along = dot(camera.right, normal), dot(camera.up, normal)
    if abs(dot(camera.near, normal)) > 1e-6 * math.hypot(across, along) or along <= 0:
        return ""
    x, y = camera(point)
    left, right = y + (0 - x) * across / along, y + (WIDTH - x) * across / along
    hatch = "".join(f"M{k:g} {left + (right - left) * k / WIDTH + 3:.2f}l-7 7"
                    for k in range(12, int(WIDTH), 16))
    return (f"<path d='M0 {left:.2f}L{WIDTH:g} {right:.2f}V{height:.2f}H0Z' fill='#f4f4f1'/>"
            f"<path d='{hatch}' stroke='#c9c9c3' stroke-width='1'/>"
            f"<path d='M0 {left:.2f}L{WIDTH:g} {right:.2f}' stroke='{GREY}' stroke-width='1.4'/>")


def draw_bracket(x, y, rise):
    """What a pin hangs on, drawn behind the bodies."""
    wide, top = 0.65 * rise, y - rise
    places = range(-int(wide / 6) - 1, int(wide / 6) + 1)
    hatch = "".join(f"M{x + k * 6:g} {top:.2f}l6 -6" for k in places)
    return (f"<path d='M{x:g} {y:g}L{x - wide:.2f} {top:.2f}H{x + wide:.2f}z' fill='#fff' "
            f"stroke='{GREY}' stroke-width='1.4'/>"
            f"<path d='M{x - wide - 7:.2f} {top:.2f}H{x + wide + 7:.2f}{hatch}' stroke='{GREY}' "
            "stroke-width='1.4'/>")


def draw_pin(x, y):
    return (f"<circle cx='{x:g}' cy='{y:g}' r='3.4' fill='#fff' stroke='{INK}' "
            "stroke-width='1.4'/>")


def draw_trail(motion, camera, name):
    """The way of the tip, or of a named body's centre, in pieces that grow stronger with time."""
    names = [body["name"] for body in motion.bodies]
    body, local = (names.index(name), (0, 0, 0)) if name else motion.tip()
    points = [camera(placed(*motion.pose(f, body), local)) for f in range(motion.count)]
    pieces, parts = 24, []
    for k in range(pieces):
        first, last = k * (len(points) - 1) // pieces, (k + 1) * (len(points) - 1) // pieces
        if last > first:
            t = (k + 1) / pieces
            rgb = colour(mixed((247, 222, 206), ACCENT, t ** 1.5))
            parts.append(f"<path d='{smooth(points[max(first - 1, 0):last + 2], first > 0)}' "
                         f"stroke='{rgb}' stroke-width='{1.0 + 0.8 * t:.2f}'/>")
    x, y = points[-1]
    parts.append(f"<circle cx='{x:g}' cy='{y:g}' r='3.6' fill='{colour(ACCENT)}' stroke='#fff'/>")
    return f"<g class='trail' fill='none'>{''.join(parts)}</g>"


def smooth(points, skip_first):
    """A Catmull-Rom curve through the points; the first and the last may only shape it."""
    start = 1 if skip_first else 0
    d = "M%g %g" % points[start]
    for i in range(start, len(points) - 1):
        p0, p1, p2 = points[max(i - 1, 0)], points[i], points[i + 1]
        p3 = points[min(i + 2, len(points) - 1)]
        d += "C%g %g %g %g %g %g" % (p1[0] + (p2[0] - p0[0]) / 6, p1[1] + (p2[1] - p0[1]) / 6,
                                     p2[0] - (p3[0] - p1[0]) / 6, p2[1] - (p3[1] - p1[1]) / 6,
                                     p2[0], p2[1])
    return d


def nice_length(metres):
    """1, 2 or 5 times a power of ten, not longer than asked."""
    power = 10.0 ** math.floor(math.log10(metres))
    return max(step * power for step in (1, 2, 5) if step * power <= metres * 1.000001)


def draw_scale_bar(px_per_metre, y):
    metres = nice_length(160.0 / px_per_metre)
    x0, x1 = WIDTH - MARGIN - metres * px_per_metre, WIDTH - MARGIN
    label = f"{metres:g} m" if metres >= 1 else f"{metres * 100:g} cm"
    return (f"<path d='M{x0:.1f} {y - 4:.1f}v8M{x0:.1f} {y:.1f}H{x1:.1f}M{x1:.1f} {y - 4:.1f}v8' "
            f"stroke='{GREY}' stroke-width='1.4' fill='none'/>"
            f"<text x='{(x0 + x1) / 2:.1f}' y='{y + 19:.1f}' {FONT} font-size='13' fill='{GREY}' "
            f"text-anchor='middle'>{label}</text>")


def solved(receipts, frames):
    """What the receipts of inverse kinematics say."""
    count, reached = len(receipts), sum(r["reached"] for r in receipts)
    words = [frames] if count > 1 else []
    words.append("goals reached" if reached == count else f"{reached} of {count} frames reached")
    words.append(f"off by {max(r['residual'] for r in receipts):.1e} m or rad at most")
    turns = sum(r["iterations"] for r in receipts) / count
    return words + [f"{turns:.3g} iterations" + (" a frame" if count > 1 else "")]


def receipt(motion):
    """What the report says of the bake, where the track has one."""
    frames = len(motion.track["position"])
    words = [f"{len(motion.bodies)} bodies" if len(motion.bodies) > 1 else "1 body",
             f"{frames} frames, {(frames - 1) / motion.fps:.3g} s"]
    if "receipts" in motion.track:
        return "  \u00b7  ".join(words[:1] + solved(motion.track["receipts"], words[1]))
    report = motion.track.get("report") or {}
    summary = {**report, **report.get("summary", {})}
    if "integrator" in summary:
        step, steps = summary.get("step") or 0, summary.get("steps") or 0
        counted = f", {steps:.0f} steps" if steps else ""
        words.append(summary["integrator"] + (f", step {step * 1000:.3g} ms" if step else counted))
    if "energy_drift" in summary:
        words.append(f"energy drift {summary['energy_drift']:.1e}")
    if summary.get("joint_gap", 0) > 0:
        words.append(f"joint gap {summary['joint_gap']:.1e} m")
    if summary.get("peak_ground_force", 0) > 0:
        mass = sum(motion.bodies[i].get("mass") or 0.0 for i in motion.moving)
        g = math.dist(motion.scene.get("gravity", (0, 0, -9.81)), (0, 0, 0))
        words.append(f"ground force up to {summary['peak_ground_force'] / (mass * g):.1f} "
                     "body weights")
    return "  \u00b7  ".join(words)


def page(title, motions, px_per_metre, panels):
    """Panels below each other, then the caption."""
    height = sum(tall for tall, _ in panels) + CAPTION
    base, y, groups = height - CAPTION + 34, 0.0, []
    for (tall, parts), motion in zip(panels, motions):
        groups += [f"<svg y='{y:.0f}' width='{WIDTH:g}' height='{tall:.0f}' stroke-linecap='round' "
                   "stroke-linejoin='round' fill='none'>", *filter(None, parts)]
        if len(panels) > 1:
            groups.append(f"<text x='{MARGIN:g}' y='30' {FONT} font-size='14' fill='{GREY}'>"
                          f"{escape(motion.scene.get('name') or '')}</text>")
        groups.append("</svg>")
        y += tall
    return "\n".join([
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH:g}' height='{height:.0f}' "
        f"viewBox='0 0 {WIDTH:g} {height:.0f}'>",
        f"<title>{escape(title)}</title>",
        "<rect width='100%' height='100%' fill='#fff'/>", *groups,
        f"<path d='M{MARGIN:g} {base - 26:.0f}H{WIDTH - MARGIN:g}' stroke='{FAINT}'/>",
        f"<text x='{MARGIN:g}' y='{base + 4:.0f}' {FONT} font-size='19' font-weight='600' "
        f"fill='{INK}'>{escape(title)}</text>",
        f"<text x='{MARGIN:g}' y='{base + 27:.0f}' {FONT} font-size='13.5' fill='{GREY}'>"
        f"{escape(receipt(motions[0]))}</text>",
        draw_scale_bar(px_per_metre, base + 4), "</svg>", ""])


def tone(k, count, first):
    """Light to dark over time; the last pose stands out."""
    t = k / (count - 1) if count > 1 else 1.0
    return mixed(first, DARK, t ** 1.6)


def strobe_bounds(motion, view):
    def still(_):
        return (0.0, 0.0, 0.0)

    left, right, low, high = flat_bounds(motion, range(motion.count), view, still)
    for pin, pen in motion.pins():
        u, v = dot(VIEWS[view][0], pin), dot(VIEWS[view][1], pin)
        left, right, low, high = min(left, u), max(right, u), min(low, v), max(high, v + 2 * pen)
    return left, right, low, high


def strobe(motions, frames, view, trail):
    """Panels of one scale, one below the other: [(height, parts), ...], and the scale."""
    boxes = [strobe_bounds(motion, view) for motion in motions]
    left, right = min(box[0] for box in boxes), max(box[1] for box in boxes)
    tall = sum(box[3] - box[2] for box in boxes)
    scale = min((WIDTH - 2 * MARGIN) / (right - left),
                (MAX_HEIGHT - CAPTION - MARGIN) / max(tall, 1e-9))
    panels = []
    for motion, (_, _, low, high) in zip(motions, boxes):
        height = scale * (high - low) + MARGIN + 20
        at = (WIDTH / 2 - scale * (left + right) / 2, MARGIN + scale * high)
        camera = Camera(view, scale, (0.0, 0.0, 0.0), at)
        first = STRIP_LIGHT if motion.fixed else LIGHT  # to stand out before stone
        parts = [draw_pose(motion, f, camera, tone(k, len(frames), first))
                 for k, f in enumerate(frames)]
        if trail != "none":
            parts.insert(-1, draw_trail(motion, camera, trail))  # over all poses but the last
        parts.append(draw_goals(motion, frames[-1], camera))
        for pin, pen in motion.pins():
            parts.insert(0, draw_bracket(*camera(pin), pen * scale + 13))
            parts.append(draw_pin(*camera(pin)))
        parts.insert(0, draw_fixed(motion, camera))
        parts[:0] = [draw_ground(plane, camera, height) for plane in motion.grounds]
        panels.append((height, parts))
    return panels, scale


def strip(motions, frames, view, _):
    """As strobe."""
    def level(motion):
        """Where the camera looks: over a ground that it sees edge-on it does not rise."""
        _, up, near = VIEWS[view]
        plain = any(abs(dot(near, g.get("normal", (0, 0, 1)))) < 1e-6
                    for g in motion.scene.get("ground", []))

        def origin(frame):
            centre = motion.centre(frame)
            rise = dot(up, centre) if plain else 0.0
            return tuple(c - rise * u for c, u in zip(centre, up))
        return origin

    rows = [[flat_bounds(motion, [frame], view, level(motion)) for frame in frames]
            for motion in motions]
    wide = [max(row[k][1] for row in rows) - min(row[k][0] for row in rows)
            for k in range(len(frames))]
    tall = [max(box[3] for box in row) - min(box[2] for box in row) for row in rows]
    gap = 0.12 * max(tall)  # [m] between two poses
    total = sum(wide) + gap * (len(frames) - 1)
    scale = min((WIDTH - 2 * MARGIN) / total, (MAX_HEIGHT - CAPTION - MARGIN) / sum(tall))
    panels = []
    for motion, row in zip(motions, rows):
        low, high = min(box[2] for box in row), max(box[3] for box in row)
        height = scale * (high - low) + MARGIN + 44
        x, parts = (WIDTH - scale * total) / 2, []
        for k, frame in enumerate(frames):
            left = min(boxes[k][0] for boxes in rows)
            camera = Camera(view, scale, level(motion)(frame),
                            (x - scale * left, MARGIN + scale * high))
            middle = x + scale * wide[k] / 2
            x += scale * (wide[k] + gap)
            if k == 0:
                parts += [draw_ground(plane, camera, height) for plane in motion.grounds]
            parts.append(draw_springs(motion, frame, camera))
            parts.append(draw_pose(motion, frame, camera, tone(k, len(frames), STRIP_LIGHT)))
            parts.append(draw_goals(motion, frame, camera))
            parts.append(f"<text x='{middle:.1f}' y='{MARGIN + scale * (high - low) + 30:.1f}' "
                         f"{FONT} font-size='13' fill='{GREY}' text-anchor='middle'>"
                         f"{frame / motion.fps:.2f} s</text>")
        panels.append((height, parts))
    return panels, scale


def picture(track, scene, frames=8, view=None, title=None, layout=None, seconds=None,
            span=None, trail=None, below=()):
    """The SVG text of a track; seconds: only its beginning; span: poses of the last seconds;
    below: more (track, scene) pairs of as many frames."""
    motions = [Motion(t, s, seconds) for t, s in ((track, scene), *below)]
    motion = motions[0]
    if not all(m.count for m in motions):
        raise ValueError("the track has no frames")
    last = min(m.count for m in motions) - 1
    first = 0 if span is None else max(0, last - int(span * motion.fps + 1e-9))
    count = max(1, min(frames, last - first + 1))
    chosen = [last - round(k * (last - first) / max(count - 1, 1)) for k in range(count)][::-1]
    view = view or ("front" if motion.is_flat() else "iso")
    layout = layout or ("strip" if motion.floats() and not motion.grounds else "strobe")
    title = title or scene.get("name") or "motion"
    panels, scale = (strip if layout == "strip" else strobe)(motions, chosen, view, trail)
    return page(title, motions, scale, panels)


def read(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description="draw a baked motion as SVG")
    parser.add_argument("track")
    parser.add_argument("scene")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--frames", type=int, default=8, help="number of poses (default 8)")
    parser.add_argument("--view", choices=sorted(VIEWS),
                        help="default: front for a motion in that plane, else iso")
    parser.add_argument("--report", help="report of the bake, where the track holds none")
    parser.add_argument("--layout", choices=("strobe", "strip"))
    parser.add_argument("--seconds", type=float, help="draw only the beginning of the motion")
    parser.add_argument("--span", type=float, help="poses only of the last seconds drawn")
    parser.add_argument("--title")
    parser.add_argument("--trail", help="the body whose way is drawn, or none (strobe)")
    parser.add_argument("--below", nargs=2, action="append", default=[],
                        metavar=("TRACK", "SCENE"), help="one more motion, in a panel below")
    args = parser.parse_args()
    try:
        track = read(args.track)
        if args.report:
            track["report"] = read(args.report)
        text = picture(track, read(args.scene), args.frames, args.view, args.title, args.layout,
                       args.seconds, args.span, args.trail,
                       [(read(t), read(s)) for t, s in args.below])
    except (OSError, KeyError, TypeError, ValueError) as error:
        print(f"draw.py: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    out = pathlib.Path(args.output)
    part = out.with_name(out.name + ".part")  # whole or not at all
    part.write_text(text, encoding="utf-8")
    os.replace(part, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
