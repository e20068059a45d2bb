# SPDX-License-Identifier: BSD-3-Clause
"""Every sample scene is what make_scenes.py writes, is valid, starts closed, and bakes well."""

import contextlib
import io
import math
import os
import re
import subprocess
import sys
import unittest

import common

import skelpy
from skelpy import scene as document

# name: (bodies, mass of the dynamic bodies [kg], drift of energy and momentum at most).
# The handle of driven_root stops with a jerk where its curve ends; the rope cracks like a whip.
WANT = {
    "pendulum": (1, 1.0, 1e-9),
    "double_pendulum": (2, 2.0, 1e-7),
    "free_tree": (9, 5.9, 1e-8),
    "humanoid": (20, 75.0, 1e-11),
    "rope": (100, 0.4, 1e-4),
    "driven_root": (7, 1.17, 1e-4),
}


class Samples(unittest.TestCase):
    def test_files_are_up_to_date(self):
        done = subprocess.run([sys.executable, str(common.SAMPLES / "make_scenes.py"), "--check"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_all_are_here(self):
        self.assertEqual(sorted(WANT), sorted(common.NAMES))

    def test_valid(self):
        """No error; the only warnings are those about limits, which do not act yet."""
        for name in common.NAMES:
            lines = skelpy.check(common.sample(name))
            self.assertEqual([line for line in lines if ".limits" not in line], [], name)
            self.assertEqual([line for line in lines if line.startswith("error")], [], name)

    def test_bodies_and_masses(self):
        for name, (bodies, mass, _) in WANT.items():
            scene = document.Scene.from_json(common.sample(name))
            self.assertEqual(len(scene.bodies), bodies, name)
            total = math.fsum(b.mass for b in scene.bodies if b.motion in (None, "dynamic"))
            self.assertAlmostEqual(total, mass, places=9, msg=name)

    def test_joints_start_closed_and_velocities_fit(self):
        for name in common.NAMES:
            with skelpy.Scene.from_json(common.sample(name)) as scene, skelpy.State(scene) as state:
                self.assertLess(state.report()["joint_gap"], 1e-14, name)
                self.assertLess(state.report()["misalignment"], 1e-7, name)
                gap, speed = state.project()
                self.assertLess(gap, 1e-14, name)
                self.assertLess(speed, 1e-13, name)

    def test_bakes_with_a_clean_receipt(self):
        for name, (_, _, drift) in WANT.items():
            with self.subTest(name), skelpy.bake(common.sample(name)) as bake:
                summary = bake.summary
                self.assertEqual(bake.samples_done, len(bake.frames))
                self.assertLess(summary["energy_drift"], drift)
                self.assertLess(summary["momentum_drift"], drift)
                self.assertLess(summary["angular_momentum_drift"], drift)
                self.assertLess(summary["joint_gap"], 1e-9)
                self.assertLess(summary["misalignment"], 1e-7)
                self.assertTrue(all(map(math.isfinite, bake.poses)))

    def test_free_tree_keeps_its_momentum(self):
        with skelpy.bake(common.sample("free_tree")) as bake:
            self.assertLess(bake.summary["momentum_drift"], 1e-13)
            self.assertLess(bake.summary["angular_momentum_drift"], 1e-8)


class Humanoid(unittest.TestCase):
    def setUp(self):
        self.scene = document.Scene.from_json(common.sample("humanoid"))

    def test_left_mirrors_right(self):
        pairs = 0
        for body in self.scene.bodies:
            if not body.name.endswith(".L"):
                continue
            other = self.scene.body(body.name[:-2] + ".R")
            x, y, z = body.position
            self.assertEqual((body.mass, body.shape), (other.mass, other.shape))
            self.assertEqual(other.position, [-x, y, z])
            w, i, j, k = body.orientation  # the mirror x -> -x turns y and z components around
            self.assertEqual(other.orientation, [w, i, -j, -k])
            pairs += 1
        self.assertEqual(pairs, 7)

    def test_stands_on_the_ground_and_is_of_human_height(self):
        foot, head = self.scene.body("foot.L"), self.scene.body("head")
        self.assertAlmostEqual(foot.position[2] - foot.shape["size"][2] / 2, 0.0, places=9)
        top = head.position[2] + head.shape["length"] / 2 + head.shape["radius"]
        self.assertTrue(1.73 < top <= 1.75, top)

    def test_starts_as_one_rigid_motion(self):
        """The distances of all centres stay for a moment: relative speeds along them are zero."""
        bodies = self.scene.bodies
        for a in bodies:
            for b in bodies:
                along = sum((p - q) * (v - w) for p, q, v, w in
                            zip(a.position, b.position, a.velocity, b.velocity))
                self.assertAlmostEqual(along, 0.0, places=12)

    def test_falls_like_a_stone(self):
        """Inner forces cannot move the centre of mass: it follows the parabola."""
        with skelpy.bake(common.sample("humanoid")) as bake:
            masses = [body.mass for body in self.scene.bodies]

            def centre(values, width):
                return [math.fsum(m * values[width * i + k] for i, m in enumerate(masses))
                        / sum(masses) for k in range(3)]

            t = (bake.samples_done - 1) / bake.fps
            p0, v0 = centre(bake.poses, 7), centre(bake.velocities, 6)
            end = centre(bake.poses[-7 * len(masses):], 7)
            for got, p, v, g in zip(end, p0, v0, (0, 0, -9.81)):
                self.assertAlmostEqual(got, p + v * t + g * t * t / 2, places=9)


class Readme(unittest.TestCase):
    def setUp(self):
        self.text = (common.ROOT / "README.md").read_text(encoding="utf-8")

    def block(self, language):
        return re.search(rf"^```{language}\n(.*?)^```", self.text, re.S | re.M)[1]

    def test_c_block_is_hello_c(self):
        source = (common.SAMPLES / "hello.c").read_text(encoding="utf-8")
        self.assertEqual(self.block("c"), source.split("\n", 1)[1])
        code = [line for line in self.block("c").splitlines() if line.strip(" {}")]
        self.assertLessEqual(len(code), 20)

    def test_python_block_runs(self):
        here, out = os.getcwd(), io.StringIO()
        os.chdir(common.ROOT)
        self.addCleanup(os.chdir, here)
        with contextlib.redirect_stdout(out):
            exec(self.block("python"), {})
        self.assertEqual(len(re.findall(r"-?\d\.\d+", out.getvalue())), 8)


if __name__ == "__main__":
    unittest.main()
