#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a baked motion as one SVG picture, with its receipt under it. Standard library only.

    draw.py TRACK.json SCENE.json -o OUT.svg [--frames N] [--view front|side|iso] [--title T]
            [--layout strobe|strip] [--seconds S] [--span S] [--report REPORT.json]

strobe: all poses where they were, light to dark over time, with the way of the outermost point.
strip:  pose after pose in cells of its own, seen by a camera that follows the centre of mass.
What hangs on the world or on a driven body is drawn as strobe, what floats freely as strip.
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
ACCENT = (222, 107, 47)
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
        pen = 0.3 * min(shape["size"])
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
        known = {body["name"]: body for body in scene["bodies"]}
        self.bodies = [known[name] for name in track["bodies"]]
        self.outlines = [outline(body) for body in self.bodies]
        self.fps = track["fps"]
        self.count = len(track["position"])
        if seconds is not None:
            self.count = max(1, min(self.count, 1 + int(seconds * self.fps + 1e-9)))

    def pose(self, frame, body):
        return self.track["position"][frame][body], self.track["orientation"][frame][body]

    def centre(self, frame):
        masses = [body.get("mass") or 0.0 for body in self.bodies]
        total = sum(masses) or 1.0
        places = self.track["position"][frame]
        return tuple(sum(m * p[k] for m, p in zip(masses, places)) / total for k in range(3))

    def pins(self):
        """Where joints hold on to the world: the point, and the pen radius of the body there."""
        names, pins = [body["name"] for body in self.bodies], []
        for joint in self.scene.get("joints", []):
            if "world" in joint["bodies"] and "anchor" in joint:
                body = next(name for name in joint["bodies"] if name != "world")
                pins.append((joint["anchor"], self.outlines[names.index(body)][1]))
        return pins

    def is_flat(self):
        """All in the plane y = constant."""
        ys = [place[1] for places in self.track["position"] for place in places]
        return max(ys) - min(ys) < 1e-6

    def floats(self):
        held = any("world" in joint["bodies"] for joint in self.scene.get("joints", []))
        return not held and all(body.get("motion", "dynamic") == "dynamic" for body in self.bodies)

    def tip(self):
        """The last body and the end of it that is farthest from its joint, in body axes."""
        last = len(self.bodies) - 1
        name = self.bodies[last]["name"]
        joint = next((j for j in self.scene.get("joints", []) if j["bodies"][1] == name), None)
        if joint is None or "anchor" not in joint:
            return last, (0, 0, 0)
        body = self.bodies[last]
        lever = [a - p for a, p in zip(joint["anchor"], body.get("position", (0, 0, 0)))]
        lever = turned_back(body.get("orientation", (1, 0, 0, 0)), lever)
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
    for frame in frames:
        origin = origin_of(frame)
        for index, (points, pen) in enumerate(motion.outlines):
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


def draw_pose(motion, frame, camera, rgb):
    """Far bodies first and a little paler."""
    order = sorted(range(len(motion.bodies)),
                   key=lambda i: camera.depth(motion.track["position"][frame][i]))
    depths = [camera.depth(motion.track["position"][frame][i]) for i in order]
    spread = max(depths[-1] - depths[0], 1e-9)
    flat = spread < 1e-3
    parts = []
    for index, depth in zip(order, depths):
        points, pen = motion.outlines[index]
        position, orientation = motion.pose(frame, index)
        corners = hull([camera(placed(position, orientation, p)) for p in points])
        far = 0.0 if flat else 0.34 * (depths[-1] - depth) / spread
        parts.append(draw_body(corners, 2 * pen * camera.scale,
                               colour(mixed(rgb, (255, 255, 255), far))))
    return f"<g class='pose' data-frame='{frame}'>{''.join(parts)}</g>"


def draw_bracket(x, y, rise):
    """What a pin hangs on, drawn behind the bodies."""
    wide, top = 0.65 * rise, y - rise
    hatch = "".join(f"M{x + k * 6:g} {top:.2f}l6 -6" for k in range(-int(wide / 6) - 1,
                                                                 int(wide / 6) + 1))
    return (f"<path d='M{x:g} {y:g}L{x - wide:.2f} {top:.2f}H{x + wide:.2f}z' fill='#fff' "
            f"stroke='{GREY}' stroke-width='1.4'/>"
            f"<path d='M{x - wide - 7:.2f} {top:.2f}H{x + wide + 7:.2f}{hatch}' stroke='{GREY}' "
            "stroke-width='1.4'/>")


def draw_pin(x, y):
    return (f"<circle cx='{x:g}' cy='{y:g}' r='3.4' fill='#fff' stroke='{INK}' "
            "stroke-width='1.4'/>")


def draw_trail(motion, camera):
    """The way of the tip in pieces that grow stronger with time."""
    body, local = motion.tip()
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


def receipt(motion):
    """What the report says of the bake, where the track has one."""
    frames = len(motion.track["position"])
    words = [f"{len(motion.bodies)} bodies" if len(motion.bodies) > 1 else "1 body",
             f"{frames} frames, {(frames - 1) / motion.fps:.3g} s"]
    report = motion.track.get("report") or {}
    summary = {**report, **report.get("summary", {})}
    if "integrator" in summary:
        step, steps = summary.get("step") or 0, summary.get("steps") or 0
        words.append(summary["integrator"] + (f", step {step * 1000:.3g} ms" if step else
                                              f", {steps:.0f} steps" if steps else ""))
    if "energy_drift" in summary:
        words.append(f"energy drift {summary['energy_drift']:.1e}")
    if "joint_gap" in summary:
        words.append(f"largest joint gap {summary['joint_gap']:.1e} m")
    return "  \u00b7  ".join(words)


def page(height, title, motion, px_per_metre, parts):
    base = height - CAPTION + 34
    return "\n".join([
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH:g}' height='{height:.0f}' "
        f"viewBox='0 0 {WIDTH:g} {height:.0f}'>",
        f"<title>{escape(title)}</title>",
        "<rect width='100%' height='100%' fill='#fff'/>",
        "<g stroke-linecap='round' stroke-linejoin='round' fill='none'>", *parts, "</g>",
        f"<path d='M{MARGIN:g} {base - 26:.0f}H{WIDTH - MARGIN:g}' stroke='{FAINT}'/>",
        f"<text x='{MARGIN:g}' y='{base + 4:.0f}' {FONT} font-size='19' font-weight='600' "
        f"fill='{INK}'>{escape(title)}</text>",
        f"<text x='{MARGIN:g}' y='{base + 27:.0f}' {FONT} font-size='13.5' fill='{GREY}'>"
        f"{escape(receipt(motion))}</text>",
        draw_scale_bar(px_per_metre, base + 4), "</svg>", ""])


def tone(k, count, first):
    """Light to dark over time; the last pose stands out."""
    t = k / (count - 1) if count > 1 else 1.0
    return mixed(first, DARK, t ** 1.6)


def strobe(motion, frames, view, title):
    def still(_):
        return (0.0, 0.0, 0.0)

    left, right, low, high = flat_bounds(motion, range(motion.count), view, still)
    for pin, pen in motion.pins():
        u, v = dot(VIEWS[view][0], pin), dot(VIEWS[view][1], pin)
        left, right, low, high = min(left, u), max(right, u), min(low, v), max(high, v + 2 * pen)
    scale = min((WIDTH - 2 * MARGIN) / (right - left),
                (MAX_HEIGHT - CAPTION - MARGIN) / max(high - low, 1e-9))
    height = scale * (high - low) + MARGIN + CAPTION + 20
    at = (WIDTH / 2 - scale * (left + right) / 2, MARGIN + scale * high)
    camera = Camera(view, scale, (0.0, 0.0, 0.0), at)
    parts = [draw_pose(motion, f, camera, tone(k, len(frames), LIGHT))
             for k, f in enumerate(frames)]
    parts.insert(-1, draw_trail(motion, camera))  # over all poses but the last
    for pin, pen in motion.pins():
        parts.insert(0, draw_bracket(*camera(pin), pen * scale + 13))
        parts.append(draw_pin(*camera(pin)))
    return page(height, title, motion, scale, parts)


def strip(motion, frames, view, title):
    boxes = [flat_bounds(motion, [frame], view, motion.centre) for frame in frames]
    low, high = min(box[2] for box in boxes), max(box[3] for box in boxes)
    gap = 0.12 * (high - low)  # [m] between two poses
    total = sum(box[1] - box[0] for box in boxes) + gap * (len(frames) - 1)
    scale = min((WIDTH - 2 * MARGIN) / total, (MAX_HEIGHT - CAPTION - MARGIN) / (high - low))
    height = scale * (high - low) + MARGIN + CAPTION + 44
    x, parts = (WIDTH - scale * total) / 2, []
    for k, (frame, box) in enumerate(zip(frames, boxes)):
        camera = Camera(view, scale, motion.centre(frame),
                        (x - scale * box[0], MARGIN + scale * high))
        middle = x + scale * (box[1] - box[0]) / 2
        x += scale * (box[1] - box[0] + gap)
        parts.append(draw_pose(motion, frame, camera, tone(k, len(frames), STRIP_LIGHT)))
        parts.append(f"<text x='{middle:.1f}' y='{MARGIN + scale * (high - low) + 30:.1f}' {FONT} "
                     f"font-size='13' fill='{GREY}' text-anchor='middle'>"
                     f"{frame / motion.fps:.2f} s</text>")
    return page(height, title, motion, scale, parts)


def picture(track, scene, frames=8, view=None, title=None, layout=None, seconds=None,
            span=None):
    """The SVG text of a track; seconds: only its beginning; span: poses of the last seconds."""
    motion = Motion(track, scene, seconds)
    if not track["position"]:
        raise ValueError("the track has no frames")
    last = motion.count - 1
    first = 0 if span is None else max(0, last - int(span * motion.fps + 1e-9))
    count = max(1, min(frames, last - first + 1))
    chosen = [last - round(k * (last - first) / max(count - 1, 1)) for k in range(count)][::-1]
    view = view or ("front" if motion.is_flat() else "iso")
    layout = layout or ("strip" if motion.floats() else "strobe")
    title = title or scene.get("name") or "motion"
    return (strip if layout == "strip" else strobe)(motion, chosen, view, title)


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
    args = parser.parse_args()
    try:
        track = read(args.track)
        if args.report:
            track["report"] = read(args.report)
        text = picture(track, read(args.scene), args.frames, args.view, args.title, args.layout,
                       args.seconds, args.span)
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
