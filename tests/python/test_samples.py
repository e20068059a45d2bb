# SPDX-License-Identifier: BSD-3-Clause
"""Every sample scene is what make_scenes.py writes, is valid, starts closed, and bakes well."""

import contextlib
import functools
import io
import json
import math
import os
import re
import subprocess
import sys
import unittest

import common

import skelpy
from skelpy import scene as document

# name: (bodies, mass of the dynamic bodies [kg], drift of energy and momentum at most, integrator).
# The handle of driven_root stops with a jerk where its curve ends; the rope cracks like a whip;
# hits and slipping are booked less exactly than what flows.
WANT = {
    "pendulum": (1, 1.0, 2e-7, "adams"),
    "double_pendulum": (2, 2.0, 5e-7, "adams"),
    "free_tree": (9, 5.9, 2e-9, "adams"),
    "humanoid": (20, 75.0, 1e-12, "conserving"),
    "rope": (100, 0.4, 1e-9, "adams"),
    "driven_root": (7, 1.17, 2e-9, "adams"),
    "four_bar": (3, 1.8, 1e-12, "conserving"),
    "ring": (12, 0.6, 1e-12, "conserving"),
    "bar_hang": (23, 78.3, 1e-12, "conserving"),
    "follow": (20, 75.0, 1e-12, "conserving"),
    "falling_rod": (1, 1.0, 1e-12, "conserving"),
    "falling_rod_half": (1, 1.0, 1e-8, "conserving"),
    "falling_rod_dead": (1, 1.0, 1e-9, "conserving"),
    "jumper_stiff": (6, 75.0, 1e-11, "conserving"),
    "jumper_soft": (6, 75.0, 1e-11, "conserving"),
    "jumper_locked": (6, 75.0, 1e-11, "conserving"),
    "jumper_five": (10, 95.0, 1e-5, "conserving"),
    "ragdoll_stairs": (21, 75.0, 1e-3, "conserving"),
    "landing": (17, 75.0, 1e-9, "conserving"),
}
LOOPS = {"four_bar": 1, "ring": 1, "bar_hang": 2}


@functools.lru_cache(maxsize=None)
def baked(name):
    """A sample takes up to ten seconds: once is enough."""
    return skelpy.bake(common.sample(name))


def turned(q, a):
    w, x, y, z = q
    t = (2 * (y * a[2] - z * a[1]), 2 * (z * a[0] - x * a[2]), 2 * (x * a[1] - y * a[0]))
    return (a[0] + w * t[0] + y * t[2] - z * t[1], a[1] + w * t[1] + z * t[0] - x * t[2],
            a[2] + w * t[2] + x * t[1] - y * t[0])


def point_of(pose, local):
    return [p + r for p, r in zip(pose, turned(pose[3:], local))]


class Samples(unittest.TestCase):
    def test_files_are_up_to_date(self):
        done = subprocess.run([sys.executable, str(common.SAMPLES / "make_scenes.py"), "--check"],
                              capture_output=True, text=True, timeout=1800)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_all_are_here(self):
        self.assertEqual(sorted(WANT), sorted(common.NAMES))

    def test_valid(self):
        """No error, no warning."""
        for name in common.NAMES:
            self.assertEqual(skelpy.check(common.sample(name)), [], name)

    def test_bodies_and_masses(self):
        for name, (bodies, mass, _, _) in WANT.items():
            scene = document.Scene.from_json(common.sample(name))
            self.assertEqual(len(scene.bodies + scene.wobble), bodies, name)
            total = math.fsum([b.mass for b in scene.bodies
                               if b.motion in (None, "dynamic") or b.release is not None]
                              + [soft.mass for soft in scene.wobble])
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
        for name, (_, _, drift, integrator) in WANT.items():
            with self.subTest(name):
                bake = baked(name)
                summary = bake.summary
                self.assertEqual(summary["integrator"], integrator)
                if integrator != "conserving":  # which does not count them
                    self.assertGreater(summary["evaluations"], summary["steps"])
                self.assertGreaterEqual(summary["last_order"], 2)
                self.assertEqual(bake.samples_done, len(bake.frames))
                self.assertLess(summary["energy_drift"], drift)
                self.assertLess(summary["momentum_drift"], drift)
                self.assertLess(summary["angular_momentum_drift"], drift)
                self.assertLess(summary["joint_gap"], 1e-12 if integrator == "conserving" else 1e-9)
                self.assertLess(summary["misalignment"], 1e-7)
                self.assertTrue(all(map(math.isfinite, bake.poses)))

    def test_free_tree_keeps_its_momentum(self):
        """By tolerance as well as asked for; with fixed steps linear momentum to rounding."""
        with skelpy.bake(common.sample("free_tree"), tolerance=1e-12) as bake:
            self.assertLess(bake.summary["momentum_drift"], 1e-12)
            self.assertLess(bake.summary["angular_momentum_drift"], 1e-12)
        with skelpy.bake(common.sample("free_tree"), integrator="rk4") as bake:
            self.assertLess(bake.summary["momentum_drift"], 1e-13)
            self.assertLess(bake.summary["angular_momentum_drift"], 1e-8)


class Loops(unittest.TestCase):
    def test_joints_beyond_the_tree(self):
        """Those that join what is joined already."""
        for name, scene in ((n, document.Scene.from_json(common.sample(n))) for n in common.NAMES):
            group = {body.name: body.name for body in scene.bodies}
            group.update({body.name: "world" for body in scene.bodies
                          if body.motion in ("fixed", "driven") and body.release is None})
            group["world"], loops = "world", 0
            for joint in scene.joints:
                a, b = (group[body] for body in joint.bodies)
                loops += a == b
                group = {body: b if of == a else of for body, of in group.items()}
            self.assertEqual(loops, LOOPS.get(name, 0), name)

    def test_the_end_of_the_coupler_runs_straight(self):
        """Hoeken: of its way to and fro, the part with the crank on the left is level."""
        with skelpy.bake(common.sample("four_bar")) as bake:
            heights = []
            for sample in range(24, bake.samples_done):
                x, y, z, w, i, j, k = bake.pose(sample, "coupler")
                self.assertLess(abs(y) + abs(i) + abs(k), 1e-12)
                if bake.pose(sample, "crank")[0] < -0.02:
                    heights.append(z + 0.3 * (1 - 2 * j * j))  # half its length along its z axis
            self.assertGreater(len(heights), 20)
            self.assertLess(max(heights) - min(heights), 0.005)

    def test_solvers_agree(self):
        for name in LOOPS:
            with skelpy.Scene.from_json(common.sample(name)) as scene:
                tree, pinv = (skelpy.accelerations(scene, solver) for solver in ("tree", "pinv"))
                for one, two in zip(tree, pinv):
                    for a, b in zip(one, two):
                        self.assertAlmostEqual(a, b, delta=1e-8 * (1 + abs(a)), msg=name)


class Follow(unittest.TestCase):
    def setUp(self):
        self.scene = document.Scene.from_json(common.sample("follow"))

    def test_runs_along_the_curve_and_then_falls(self):
        pelvis = self.scene.body("pelvis")
        with skelpy.bake(common.sample("follow"), fps=10, frame_end=26) as bake:
            masses = [body.mass for body in self.scene.bodies]
            for sample, place in zip(range(18), pelvis.curve["position"][1:]):
                for got, want in zip(bake.pose(sample, "pelvis"), place):
                    self.assertAlmostEqual(got, want, places=9)

            def height(sample):
                first = 7 * len(masses) * sample
                return math.fsum(m * bake.poses[first + 7 * i + 2]
                                 for i, m in enumerate(masses)) / sum(masses)
            for sample in range(19, 25):  # second differences of the centre of mass
                fall = height(sample - 1) - 2 * height(sample) + height(sample + 1)
                self.assertAlmostEqual(100 * fall, -9.81, places=6)

    def test_keeps_near_its_targets_while_it_runs(self):
        names = [joint.name for joint in self.scene.joints]
        with skelpy.Scene.from_json(common.sample("follow")) as scene, \
                skelpy.Bake(scene, fps=80 / 7, frame_end=20).run() as bake:  # at every sample
            place = scene.joint_q_offset(names.index("knee.L"))
            target = self.scene.joints[names.index("knee.L")].follow["curve"]["value"]
            knee = [bake.q[sample * scene.q_count + place] for sample in range(20)]
        self.assertLess(max(abs(a - b) for a, b in zip(knee, target)), 0.5)
        self.assertGreater(max(knee) - min(knee), 0.8)


class Rods(unittest.TestCase):
    """[RUD 3.3]"""

    def test_an_elastic_ground_keeps_the_energy(self):
        bake = baked("falling_rod")
        energy = [r["kinetic"] + r["potential"] for r in bake.reports]
        self.assertLess(max(energy) - min(energy), 1e-10 * energy[0])
        rising = [bake.velocities[6 * k + 2] > 0 for k in range(bake.samples_done)]
        self.assertGreaterEqual(sum(b and not a for a, b in zip(rising, rising[1:])), 2)  # hits

    def test_the_end_that_hits_leaves_by_the_restitution(self):
        for name, e in (("falling_rod", 1.0), ("falling_rod_half", 0.5), ("falling_rod_dead", 0.0)):
            scene = document.Scene.from_json(common.sample(name))
            half = scene.bodies[0].shape["length"] / 2
            with skelpy.bake(common.sample(name), fps=2000, frame_end=1400) as bake:
                speed = []
                for k in range(bake.samples_done):
                    pose, v = bake.pose(k, "rod"), bake.velocities[6 * k:6 * k + 6]
                    along = turned(pose[3:], (0, 0, half))
                    low = -1.0 if along[2] > 0 else 1.0  # which end is the lower one
                    w = turned(pose[3:], v[3:])
                    speed.append(v[2] + low * (w[0] * along[1] - w[1] * along[0]))
                hit = max(range(1, len(speed)), key=lambda k: speed[k] - speed[k - 1])
                self.assertLess(speed[hit - 1], -3.0)
                self.assertAlmostEqual(speed[hit], -e * speed[hit - 1], delta=0.03, msg=name)

    def test_a_level_rod_bounces_to_the_square_of_the_restitution(self):
        scene = json.loads(common.sample("falling_rod"))
        scene["bodies"][0].update(position=[0, 0, 0.5], velocity=[0, 0, 0],
                                  orientation=[math.sqrt(0.5), 0, math.sqrt(0.5), 0])
        del scene["bodies"][0]["angular_velocity"]
        for e in (1.0, 0.8, 0.5):
            scene["ground"][0]["restitution"] = e
            with skelpy.bake(json.dumps(scene), fps=1000, frame_end=1200) as bake:
                height = [bake.pose(k, "rod")[2] for k in range(bake.samples_done)]
                fall = math.sqrt(2 * 0.5 / 9.81)
                tops = []
                start = fall
                for bounce in (1, 2):
                    end = start + 2 * fall * e ** bounce
                    if end < 1.19:
                        tops.append(max(height[int(1000 * start):int(1000 * end)]))
                    start = end
            for bounce, top in enumerate(tops, 1):
                self.assertAlmostEqual(top, 0.5 * e ** (2 * bounce), delta=2e-6)
            self.assertGreaterEqual(len(tops), 1)


class Jumpers(unittest.TestCase):
    """[RUD 4.3-4.5]"""
    PARTS = ("shin", "thigh", "trunk")
    WEIGHT = 75 * 9.81

    def vectors(self):
        path = common.ROOT / "tests" / "data" / "vectors.json"
        return json.loads(path.read_text(encoding="utf-8"))["ruder3"]["constants"]

    def angles(self, bake, sample):
        """phi of the segments: from +x to +z."""
        out = []
        for name in self.PARTS:
            x, _, z = turned(bake.pose(sample, name)[3:], (0, 0, 1))
            out.append(math.degrees(math.atan2(z, x)))
        return out

    def knee(self, bake):
        return [180 - a[1] + a[0] for a in
                (self.angles(bake, k) for k in range(bake.samples_done))]

    def test_data_are_those_of_the_vectors(self):
        want = self.vectors()
        for name in ("jumper_stiff", "jumper_soft"):
            scene = document.Scene.from_json(common.sample(name))
            for i, part in enumerate(self.PARTS):
                bone, soft = scene.body(part), scene.wobble[i]
                self.assertEqual((bone.shape["length"], bone.mass, soft.mass),
                                 (want["l"][i], want["m_s"][i], want["m_w"][i]))
                self.assertAlmostEqual(bone.inertia[1], want["theta_s"][i], places=12)
                self.assertAlmostEqual(soft.inertia[1], want["theta_w"][i], places=12)
                for key, pair in (("l", soft.longitudinal), ("t", soft.transversal)):
                    self.assertEqual((pair["c"], pair["d"]),
                                     (want[f"c_{key}"][i], want[f"d_{key}"][i]))
                self.assertEqual((soft.angular["a"], soft.angular["b"]),
                                 (want["a_w"][i], want["b_w"][i]))

    def test_peak_force_with_and_without_wobbling(self):
        """The figures for acceptance of the errata, with the muscles of the vectors, at 3 m/s."""
        muscles = self.vectors()
        for locked, want, after in ((False, 7.451, 7.5e-3), (True, 15.83, 10.2e-3)):
            scene = document.Scene.from_json(common.sample("jumper_stiff"))
            for k, joint in enumerate(scene.joints):
                joint.muscle = {"growth": muscles["c_muscle"][k], "max": muscles["T_max"][k]}
            for soft in scene.wobble:
                soft.locked = locked
            with skelpy.bake(scene.to_json(), integrator="adams", tolerance=1e-9,
                             frame_end=44) as bake:
                summary = bake.summary
            self.assertAlmostEqual(summary["peak_ground_force"] / self.WEIGHT, want,
                                   delta=1e-3 * want)
            self.assertAlmostEqual(summary["peak_ground_time"] - 3 / 9.81, after, delta=1e-4)

    def test_figures_of_the_readme(self):
        """What the first page says of the samples is what baking them as they are gives."""
        words = " ".join((common.ROOT / "README.md").read_text(encoding="utf-8").split())
        found = re.search(r"pushes with ([0-9.]+) body weights \(`samples/(\w+).json`\), and with "
                          r"([0-9.]+) if the soft masses are locked to the bones "
                          r"\(`samples/(\w+).json`\)", words)
        self.assertEqual((found[2], found[4]), ("jumper_stiff", "jumper_locked"))
        for said, name in ((found[1], found[2]), (found[3], found[4])):
            peak = baked(name).summary["peak_ground_force"] / self.WEIGHT
            self.assertEqual(f"{peak:.1f}", said, name)

    def test_soft_squats_deeper_and_is_pushed_less(self):
        deepest, active = {}, {}
        for name in ("jumper_stiff", "jumper_soft"):
            bake = baked(name)
            deepest[name] = min(self.knee(bake))
            self.assertLess(bake.summary["limit_violation"], 1e-6)
            first = int((3 / 9.81 + 0.05) * bake.fps)  # behind the peak of the impact
            active[name] = max(r["ground_force"][2] for r in bake.reports[first:]) / self.WEIGHT
        self.assertTrue(85 < deepest["jumper_stiff"] < 130, deepest)
        self.assertTrue(45 < deepest["jumper_soft"] < deepest["jumper_stiff"] - 15, deepest)
        self.assertGreater(active["jumper_stiff"], active["jumper_soft"] + 0.2)

    def test_five_links_come_to_rest_on_the_plank(self):
        bake = baked("jumper_five")
        kinetic = [r["kinetic"] for r in bake.reports]
        self.assertGreater(max(kinetic), 500)
        self.assertLess(kinetic[-1], 1.0)
        plank = [bake.pose(k, "plank")[2] for k in range(bake.samples_done)]
        self.assertLess(min(plank), plank[0] - 0.05)  # it gives way
        self.assertAlmostEqual(plank[0] - plank[-1], 75 * 9.81 / 3e4, delta=2e-3)
        self.assertLess(min(self.knee(bake)), 105)  # bends
        self.assertTrue(60 < self.angles(bake, -1)[2] < 100)  # and stays up
        self.assertLess(bake.summary["energy_gain"], 1e-6)

    def test_soft_masses_wobble(self):
        for name in ("jumper_stiff", "jumper_soft", "jumper_five"):
            bake = baked(name)
            off = max(math.dist(bake.pose(k, "thigh")[:3], bake.pose(k, "thigh.soft")[:3])
                      for k in range(bake.samples_done))
            self.assertTrue(0.01 < off < 0.08, (name, off))


class Figures(unittest.TestCase):
    """The ragdoll on stairs, and the one that lands."""

    def distances(self, scene, bake, sample):
        """Of points along each capsule from the ground and from all boxes: the smallest."""
        boxes = [b for b in scene.bodies if b.motion == "fixed"]
        worst = math.inf
        for body in (b for b in scene.bodies if b.motion != "fixed"):
            pose = bake.pose(sample, body.name)
            half, radius = body.shape["length"] / 2, body.shape["radius"]
            for share in range(-4, 5):
                point = point_of(pose, (0, 0, half * share / 4))
                worst = min(worst, point[2] - radius)
                for box in boxes:
                    beyond = [abs(p - c) - e / 2 for p, c, e in
                              zip(point, box.position, box.shape["size"])]
                    out = math.hypot(*(max(d, 0) for d in beyond))
                    worst = min(worst, (out or max(beyond)) - radius)
        return worst

    def receipts(self, name):
        summary = baked(name).summary
        self.assertLess(summary["joint_gap"], 1e-9)
        self.assertLess(summary["limit_violation"], math.radians(0.5))
        self.assertLess(summary["energy_gain"], 1e-6)
        self.assertLess(baked(name).reports[-1]["kinetic"], 0.2)

    def test_ragdoll_tumbles_down_and_rests(self):
        self.receipts("ragdoll_stairs")
        scene = document.Scene.from_json(common.sample("ragdoll_stairs"))
        bake = baked("ragdoll_stairs")
        for sample in range(0, bake.samples_done, 3):
            self.assertGreater(self.distances(scene, bake, sample), -0.01)
        self.assertGreater(self.distances(scene, bake, -1), -0.002)
        down = bake.pose(0, "pelvis")[2] - bake.pose(-1, "pelvis")[2]
        self.assertGreater(down, 1.0)
        self.assertTrue(all(joint.limits for joint in scene.joints))

    def test_landing(self):
        self.receipts("landing")
        bake = baked("landing")
        lowest = min(bake.pose(k, "pelvis")[2] for k in range(bake.samples_done))
        self.assertTrue(0.2 < lowest < bake.pose(0, "pelvis")[2] - 0.5)
        off = max(math.dist(bake.pose(k, "thigh.L")[:3], bake.pose(k, "thigh.L.soft")[:3])
                  for k in range(bake.samples_done))
        self.assertTrue(0.003 < off < 0.08, off)
        forces = [r["ground_force"][2] for r in bake.reports]
        self.assertAlmostEqual(forces[-1], 75 * 9.81, delta=5)

    def test_every_tolerance_finds_all_contacts(self):
        """An event of adams or bdf that is missed shows in the balance of energy at once."""
        for name, integrator in (("landing", "bdf"), ("landing", "adams"),
                                 ("jumper_locked", "adams")):
            for tolerance in (1e-6, 1e-8, 1e-10):
                with self.subTest(name, integrator=integrator, tolerance=tolerance):
                    bake = skelpy.bake(common.sample(name), integrator=integrator,
                                       tolerance=tolerance)
                    self.assertEqual(bake.summary["integrator"], integrator)
                    self.assertLess(bake.summary["energy_drift"], 10 * tolerance)

    def test_adams_passes_the_end_of_an_edge(self):
        """At 0.819 s a forearm leaves the edge of a stair that it leans on; frame 22 is 0.875 s."""
        bake = skelpy.bake(common.sample("ragdoll_stairs"), integrator="adams", frame_end=22)
        self.assertEqual(bake.samples_done, 22)
        self.assertLess(bake.summary["energy_drift"], 1e-6)


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
                self.assertAlmostEqual(got, p + v * t + g * t * t / 2, delta=1e-8)


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
