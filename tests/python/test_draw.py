# SPDX-License-Identifier: BSD-3-Clause
"""draw.py: well-formed SVG with the poses that were asked for, the same bytes every time."""

import json
import math
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import common

draw = common.load_script(common.SAMPLES / "draw.py")
SVG = "{http://www.w3.org/2000/svg}"


def turning(scene, frames=25):
    """A track without an engine: all bodies turn about the world's y axis."""
    position, orientation = [], []
    for k in range(frames):
        c, s = math.cos(0.05 * k), math.sin(0.05 * k)
        h = (math.cos(0.025 * k), 0.0, math.sin(0.025 * k), 0.0)
        position.append([[c * x + s * z, y, c * z - s * x] for x, y, z in
                         (body["position"] for body in scene["bodies"])])
        orientation.append([times(h, body["orientation"]) for body in scene["bodies"]])
    return {"format": "skel-track/1", "fps": 24, "frame_start": 1,
            "bodies": [body["name"] for body in scene["bodies"]],
            "position": position, "orientation": orientation}


def times(a, b):
    return [a[0] * b[0] - a[2] * b[2], a[0] * b[1] + a[2] * b[3], a[0] * b[2] + a[2] * b[0],
            a[0] * b[3] - a[2] * b[1]]


class Draw(unittest.TestCase):
    def poses(self, text):
        root = ElementTree.fromstring(text)
        return [int(g.get("data-frame")) for g in root.iter(f"{SVG}g") if g.get("class") == "pose"]

    def test_every_sample_in_every_view(self):
        for name in common.NAMES:
            scene = json.loads(common.sample(name))
            track = turning(scene)
            for view in (None, "front", "side", "iso"):
                text = draw.picture(track, scene, frames=5, view=view)
                self.assertEqual(self.poses(text), [0, 6, 12, 18, 24], name)
                self.assertNotIn("nan", text)
                self.assertEqual(text, draw.picture(track, scene, frames=5, view=view))

    def test_everything_lies_in_the_picture(self):
        scene = json.loads(common.sample("humanoid"))
        root = ElementTree.fromstring(draw.picture(turning(scene), scene, view="side"))
        width, height = float(root.get("width")), float(root.get("height"))
        for path in (p for g in root.iter(f"{SVG}g") if g.get("class") == "pose" for p in g):
            for point in path.get("d").strip("MZ").split("L"):
                x, y = map(float, point.split())
                self.assertTrue(0 <= x <= width and 0 <= y <= height)

    def test_window_and_span(self):
        scene = json.loads(common.sample("pendulum"))
        track = turning(scene)
        self.assertEqual(self.poses(draw.picture(track, scene, frames=3, seconds=0.5)), [0, 6, 12])
        self.assertEqual(self.poses(draw.picture(track, scene, frames=3, span=0.25)), [18, 21, 24])
        self.assertEqual(self.poses(draw.picture(track, scene, frames=1)), [24])

    def test_caption(self):
        scene = json.loads(common.sample("pendulum"))
        track = turning(scene)
        setting = {"integrator": "rk4", "step": 0.001}
        drift = {"energy_drift": 2.5e-10, "joint_gap": 1e-16}
        for report in ({**setting, **drift}, {**setting, "summary": drift}):  # track, report file
            text = draw.picture({**track, "report": report}, scene, title="a < b")
            for words in ("a &lt; b", "rk4, step 1 ms", "energy drift 2.5e-10",
                          "joint gap 1.0e-16 m"):
                self.assertIn(words, text)
        report = {"integrator": "adams", "step": 0, "steps": 120}
        self.assertIn("adams, 120 steps", draw.picture({**track, "report": report}, scene))

    def test_ground_steps_and_soft_masses(self):
        scene = json.loads(common.sample("ragdoll_stairs"))
        text = draw.picture(turning(scene), scene, frames=3, view="side")
        self.assertEqual(text.count("#f4f4f1"), 1)  # the ground, edge-on
        steps = sum(body.get("motion") == "fixed" for body in scene["bodies"])
        self.assertEqual(text.count(draw.colour(draw.STONE[1])), steps)  # a face of each, once
        self.assertNotIn("#f4f4f1", draw.picture(turning(scene), scene, frames=3, view="iso"))
        scene = json.loads(common.sample("jumper_stiff"))
        track = turning(scene)
        hard = draw.picture(track, scene, frames=3, layout="strip")
        for soft in scene["wobble"]:
            host = track["bodies"].index(soft["body"])
            track["bodies"].append(soft["name"])
            for k, places in enumerate(track["position"]):
                places.append(places[host])
                track["orientation"][k].append(track["orientation"][k][host])
        text = draw.picture(track, scene, frames=3, layout="strip")
        self.assertEqual(text.count("stroke-opacity"), 9)  # three outlines, three times
        self.assertNotIn("stroke-opacity", hard)
        self.assertEqual(self.poses(text), [0, 12, 24])

    def test_springs_and_the_trail(self):
        scene = json.loads(common.sample("jumper_five"))
        track = turning(scene)
        self.assertIn("L", draw.draw_springs(draw.Motion(track, scene), 0, draw.Camera(
            "front", 100, (0, 0, 0), (0, 0))))
        self.assertIn("class='trail'", draw.picture(track, scene, trail="foot"))
        self.assertNotIn("class='trail'", draw.picture(track, scene, trail="none"))
        with self.assertRaises(ValueError):
            draw.picture(track, scene, trail="nobody")

    def test_panels(self):
        """One below the other, of one scale, each with its name."""
        one, two = (json.loads(common.sample(n)) for n in ("falling_rod", "falling_rod_dead"))
        for layout in ("strobe", "strip"):
            text = draw.picture(turning(one), one, frames=3, layout=layout,
                                below=[(turning(two), two)])
            self.assertEqual(self.poses(text), [0, 12, 24, 0, 12, 24])
            for scene in (one, two):
                self.assertIn(f">{scene['name']}</text>", text)

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            track, out = Path(folder, "track.json"), Path(folder, "out.svg")
            scene = common.SAMPLES / "pendulum.json"
            track.write_text(json.dumps(turning(json.loads(scene.read_text()))))
            command = [sys.executable, str(common.SAMPLES / "draw.py"), str(track), str(scene),
                       "-o", str(out)]
            self.assertEqual(subprocess.run(command, timeout=1800).returncode, 0)
            self.assertEqual(len(self.poses(out.read_text())), 8)
            self.assertEqual(sorted(p.name for p in Path(folder).iterdir()),
                             ["out.svg", "track.json"])
            track.write_text("{}")
            done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
            self.assertEqual(done.returncode, 2)
            self.assertTrue(done.stderr.startswith("draw.py: "), done.stderr)

    def test_pictures_of_the_readme(self):
        for name in ("ragdoll_stairs", "jumper_stiff", "double_pendulum", "character"):
            root = ElementTree.parse(common.SAMPLES / f"{name}.svg").getroot()
            self.assertEqual(root.tag, f"{SVG}svg")


if __name__ == "__main__":
    unittest.main()
