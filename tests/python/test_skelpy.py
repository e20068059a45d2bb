# SPDX-License-Identifier: BSD-3-Clause
"""The Python binding: it bakes as the command does, and it owns the objects that it creates."""

import gc
import json
import subprocess
import sys
import tempfile
import unittest
from array import array
from pathlib import Path

import common
from test_documents import LANDING, LOOSE, RICH

import skelpy
from skelpy import scene as document

DOUBLE = common.sample("double_pendulum")


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=1800)


class Version(unittest.TestCase):
    def test_version(self):
        self.assertRegex(skelpy.version(), r"^\d+\.\d+\.\d+$")


class WithoutNumpy(unittest.TestCase):
    def test_bakes_where_numpy_cannot_be_imported(self):
        program = ("import sys; sys.modules['numpy'] = None; import skelpy\n"
                   "bake = skelpy.bake(open(sys.argv[1]).read())\n"
                   "print(bake.samples_done, *bake.pose(-1, 'lower'))\n"
                   "assert 'threading' not in sys.modules")
        done = subprocess.run(
            [sys.executable, "-S", "-c", program, str(common.SAMPLES / "double_pendulum.json")],
            env={"PYTHONPATH": str(common.ROOT / "plugin_bridge"), "SKEL_LIB": common.LIB},
            capture_output=True, text=True, timeout=1800)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(int(done.stdout.split()[0]), 240)


class Baking(unittest.TestCase):
    def setUp(self):
        self.scene = skelpy.Scene.from_json(DOUBLE)
        self.addCleanup(self.scene.close)

    def test_model_queries(self):
        scene = self.scene
        self.assertEqual(scene.name, "double pendulum")
        self.assertEqual(scene.body_names, ["upper", "lower"])
        self.assertEqual(scene.joint_names, ["top", "elbow"])
        self.assertEqual((scene.body_count, scene.joint_count, scene.q_count, scene.dof),
                         (2, 2, 2, 2))
        self.assertEqual(scene.gravity, [0, 0, -9.81])
        self.assertEqual((scene.fps, scene.frames), (24, range(1, 241)))
        self.assertEqual((scene.find_body("lower"), scene.find_body("world")), (1, -1))
        self.assertEqual((scene.find_joint("elbow"), scene.joint_q_offset(1)), (1, 1))
        self.assertEqual(scene.body(0)["mass"], 1.0)
        scene.check_dynamics()
        with self.assertRaises(KeyError):
            scene.find_body("nobody")

    def test_the_command_gives_the_same_doubles(self):
        for name in ("double_pendulum", "driven_root"):
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder, "track.json")
                done = run(common.BIN, "bake", common.SAMPLES / f"{name}.json", "-o", out)
                self.assertEqual(done.returncode, 0, done.stderr)
                track = json.loads(out.read_text())
            bake = skelpy.bake(common.sample(name))
            self.assertEqual(track["bodies"], bake.body_names)
            poses = [x for frame in zip(track["position"], track["orientation"])
                     for p, o in zip(*frame) for x in p + o]
            self.assertEqual(poses, list(bake.poses), name)
            speeds = [x for frame in zip(track["velocity"], track["angular_velocity"])
                      for v, w in zip(*frame) for x in v + w]
            self.assertEqual(speeds, list(bake.velocities), name)

    def test_slices_do_not_change_the_motion(self):
        whole = skelpy.Bake(self.scene, frame_end=24).run()
        sliced, calls = skelpy.Bake(self.scene, frame_end=24), 1
        while not sliced.advance(0):
            calls += 1
            self.assertTrue(0.0 <= sliced.progress <= 1.0)
        self.assertGreater(calls, 24)
        self.assertEqual(sliced.progress, 1.0)
        self.assertEqual(whole.poses, sliced.poses)
        self.assertEqual(whole.q, sliced.q)

    def test_cancel_in_the_middle(self):
        with skelpy.Bake(self.scene) as bake:
            for _ in range(200):
                self.assertFalse(bake.advance(0))
            done = bake.samples_done
            self.assertTrue(0 < done < 240)
            self.assertEqual(len(bake.poses), done * 2 * 7)
            self.assertEqual(len(bake.velocities), done * 2 * 6)
        bake.close()
        with self.assertRaises(ValueError):
            bake.advance(0)

    def test_a_view_outlives_its_bake_and_scene(self):
        scene = skelpy.Scene.from_json(DOUBLE)
        bake = skelpy.Bake(scene, frame_end=10).run()
        poses, copy = bake.poses, array("d", bake.poses)
        self.assertEqual((poses.format, poses.readonly), ("d", True))
        bake.close(), scene.close()
        del bake, scene
        gc.collect()
        self.assertEqual(list(poses), list(copy))

    def test_a_bake_outlives_its_scene(self):
        scene = skelpy.Scene.from_json(DOUBLE)
        bake = skelpy.Bake(scene, frame_end=10)
        scene.close()
        scene.close()
        self.assertEqual(bake.run().samples_done, 10)
        with self.assertRaises(ValueError):
            scene.fps

    def test_forces_and_solvers_outlive_their_scene(self):
        bake = skelpy.Bake(self.scene, frame_end=10).run()
        forces = skelpy.Inverse(self.scene, bake.poses, bake.fps)
        torque = list(forces.torque)
        solver = skelpy.Ik(self.scene, [{"body": "lower", "position": [1, 0, -1]}])
        self.scene.close()
        self.assertEqual(len(forces.q), 20)
        self.assertEqual(list(forces.torque), torque)
        self.assertEqual(len(solver.solve([0.1, 0.2])[0]), 2)
        self.assertEqual((len(solver.poses), len(solver.active)), (14, 2))

    def test_overrides(self):
        bake = skelpy.Bake(self.scene, fps=48, frame_start=10, frame_end=19, integrator="euler",
                           step=1e-3, solver="pinv").run()
        self.assertEqual((bake.fps, bake.frames, bake.samples_done), (48, range(10, 20), 10))
        self.assertEqual((bake.summary["integrator"], bake.summary["solver"]), ("euler", "pinv"))
        self.assertAlmostEqual(bake.report(9)["time"], 9 / 48, places=12)
        with self.assertRaisesRegex(ValueError, "rk4"):
            skelpy.Bake(self.scene, integrator="magic")
        with self.assertRaises(ValueError):
            skelpy.Bake(self.scene, frame_start=5, frame_end=4)
        with self.assertRaises(skelpy.SkelError):
            skelpy.Bake(self.scene, fps=-1)

    def test_the_rate_does_not_change_the_motion(self):
        slow = skelpy.Bake(self.scene, frame_end=25).run()
        fast = skelpy.Bake(self.scene, fps=48, frame_end=49).run()
        for a, b in zip(slow.pose(-1, "lower"), fast.pose(-1, "lower")):
            self.assertAlmostEqual(a, b, places=6)

    def test_receipt(self):
        bake = skelpy.Bake(self.scene, frame_end=48).run()
        summary, rows = bake.summary, bake.reports
        self.assertEqual(len(rows), 48)
        self.assertLess(summary["energy_drift"], 1e-6)
        self.assertLess(summary["joint_gap"], 1e-10)
        self.assertEqual(rows[0]["kinetic"], 0.0)
        self.assertEqual(len(rows[0]["momentum"]), 3)
        self.assertEqual(bake.warnings, [])
        start = rows[0]["kinetic"] + rows[0]["potential"]
        end = rows[-1]["kinetic"] + rows[-1]["potential"]
        self.assertAlmostEqual(start, end, places=5)

    def test_pose_by_name_and_from_the_end(self):
        bake = skelpy.Bake(self.scene, frame_end=3).run()
        self.assertEqual(bake.pose(2, 1), bake.pose(-1, "lower"))
        self.assertEqual(bake.pose(0, 0)[:3], (0.5, 0.0, 0.0))
        for wrong in ((3, 0), (-4, 0), (0, 2)):
            with self.assertRaises(IndexError):
                bake.pose(*wrong)

    def test_fk_and_accelerations(self):
        poses = skelpy.fk(self.scene, [0, 0])
        self.assertEqual(len(poses), 14)
        self.assertAlmostEqual(poses[7], 1.5, places=14)
        linear, angular = skelpy.accelerations(self.scene)
        judged, _ = skelpy.accelerations(self.scene, solver="pinv")
        for a, b in zip(linear, judged):
            self.assertAlmostEqual(a, b, places=9)
        self.assertLess(linear[2], -1.0)
        self.assertEqual(len(angular), 6)
        with self.assertRaises(ValueError):
            skelpy.fk(self.scene, [0])

    def test_accelerations_are_those_of_the_command(self):
        done = run(common.BIN, "accel", common.SAMPLES / "double_pendulum.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        linear, angular = skelpy.accelerations(self.scene)
        self.assertEqual([x for a in answer["linear"] for x in a], list(linear))
        self.assertEqual([x for a in answer["angular"] for x in a], list(angular))

    def test_state(self):
        with skelpy.State(self.scene) as state:
            state.q = [0.3, -0.2]
            for got, want in zip(state.q, (0.3, -0.2)):
                self.assertAlmostEqual(got, want, places=14)
            state.qd = [1.0, 2.0]
            before = state.poses
            state.step(1e-3)
            self.assertNotEqual(before, state.poses)
            self.assertAlmostEqual(state.time, 1e-3, places=15)
            gap, speed = state.project()
            self.assertLess(max(gap, speed), 1e-12)
            self.assertLess(state.report()["joint_gap"], 1e-14)
            with self.assertRaises(skelpy.SkelError):
                state.q = [float("nan"), 0]


def lone(**fields):
    """A scene of one body."""
    body = document.Body("ball", 2.0, {"type": "sphere", "radius": 0.1}, **fields)
    return document.Scene(bodies=[body], bake=document.BakeSettings(fps=10, frame_end=11))


CURVE = {"time": [-1, 0, 1, 2], "position": [[-1, 0, 0], [0, 0, 0], [1, 0, 0], [2, 0, 0]]}


class Pins(unittest.TestCase):
    def test_a_release_goes_on_as_the_curve_went(self):
        for release in (-2, 0, 0.5):
            bake = skelpy.bake(lone(motion="driven", curve=CURVE, release=release))
            free = max(0.0, 1.0 - max(release, 0))
            for got, want in zip(bake.pose(-1, 0), (1, 0, -9.81 * free ** 2 / 2)):
                self.assertAlmostEqual(got, want, places=9, msg=release)

    def test_a_pinned_body_is_held_and_then_falls(self):
        bake = skelpy.bake(lone(position=[1, 2, 3], pinned=[[0, 0.5]]))
        self.assertEqual(bake.summary["integrator"], "conserving")
        self.assertAlmostEqual(bake.pose(5, 0)[2], 3, places=12)
        self.assertAlmostEqual(bake.pose(-1, 0)[2], 3 - 9.81 * 0.5 ** 2 / 2, places=9)
        bake = skelpy.bake(lone(position=[1, 2, 3], pinned=True))
        self.assertAlmostEqual(bake.pose(-1, 0)[2], 3, places=12)

    def test_a_pin_takes_a_body_in_flight(self):
        bake = skelpy.bake(lone(position=[0, 0, 0], velocity=[1, 0, 0], pinned=[[0.5, 0.8]]))
        for sample in (6, 7, 8):
            for got, want in zip(bake.pose(sample, 0), (0.5, 0, -9.81 * 0.5 ** 2 / 2)):
                self.assertAlmostEqual(got, want, places=9)
        self.assertAlmostEqual(bake.pose(-1, 0)[2], -9.81 * (0.5 ** 2 + 0.2 ** 2) / 2, places=9)

    def test_they_can_be_asked_for(self):
        scene = skelpy.Scene.from_json(lone(position=[0, 0, 0], pinned=[[0, 1], [2, 3]]).to_json())
        self.assertEqual(scene.body(0)["pinned"], [[0, 1], [2, 3]])
        self.assertEqual(skelpy.Scene.from_json(DOUBLE).body(0)["pinned"], [])

    def test_contact_points_can_be_asked_for(self):
        points = [[0, 0, 0.5], [0.25, 0, -0.5]]
        scene = skelpy.Scene.from_json(lone(position=[0, 0, 0], contacts=points).to_json())
        self.assertEqual(scene.body(0)["contacts"], points)
        self.assertEqual(skelpy.Scene.from_json(DOUBLE).body(0)["contacts"], [])

    def test_preroll(self):
        scene = lone(position=[0, 0, 0])
        scene.bake.preroll = 0.5
        bake = skelpy.bake(scene)
        self.assertAlmostEqual(bake.pose(0, 0)[2], -9.81 * 0.5 ** 2 / 2, places=7)
        self.assertEqual(bake.report(0)["time"], 0.0)
        self.assertEqual(list(skelpy.bake(lone(position=[0, 0, 0]), preroll=0.5).poses),
                         list(bake.poses))


class Documents(unittest.TestCase):
    def test_round_trip(self):
        first = skelpy.Scene.from_json(DOUBLE).to_json()
        second = skelpy.Scene.from_json(first).to_json()
        self.assertEqual(first, second)
        self.assertEqual(list(skelpy.bake(DOUBLE, frame_end=12).poses),
                         list(skelpy.bake(first, frame_end=12).poses))

    def test_errors_carry_the_path(self):
        broken = DOUBLE.replace('"axis": [0, 1, 0]', '"axis": [0, 1, 0], "fricton": 1', 1)
        with self.assertRaises(skelpy.SkelError) as caught:
            skelpy.Scene.from_json(broken)
        error = caught.exception
        self.assertTrue(error.text.startswith("joints[0].fricton"), error.text)
        self.assertLess(error.status, 0)
        self.assertEqual(str(error), error.text)

    def test_text_that_is_not_json(self):
        for text in ("", "{", "[1, 2", "nonsense"):
            with self.assertRaises(skelpy.SkelError):
                skelpy.Scene.from_json(text)

    def test_check(self):
        self.assertEqual(skelpy.check(DOUBLE), [])
        lines = skelpy.check(DOUBLE.replace('"mass": 1', '"mass": -1'))
        self.assertEqual(len([line for line in lines if line.startswith("error: bodies[")]), 2)

    def test_check_with_more_lines_than_one_buffer(self):
        lines = skelpy.check(common.sample("rope").replace('"mass": 0.004', '"mass": -1'))
        self.assertGreaterEqual(len(lines), 100)
        self.assertTrue(all(": " in line for line in lines))

    def test_dataclasses_round_trip(self):
        for name in common.NAMES:
            text = common.sample(name)
            scene = document.Scene.from_json(text)
            self.assertEqual(scene.to_json(), text, name)
            self.assertEqual(json.loads(text), scene.to_dict(), name)

    def test_dataclasses_hold_every_field(self):
        for rich in (RICH, LOOSE, LANDING):
            scene = document.Scene.from_dict(rich)
            self.assertEqual(scene.to_dict(), rich)
            self.assertEqual(json.loads(scene.to_json()), rich)

    def test_dataclasses_refuse_unknown_fields(self):
        with self.assertRaisesRegex(ValueError, r"joints\[0\].axsi"):
            document.Scene.from_json(DOUBLE.replace('"axis"', '"axsi"', 1))
        with self.assertRaisesRegex(ValueError, "format"):
            document.Scene.from_json("{}")

    def test_dataclasses_bake(self):
        scene = document.Scene.from_json(DOUBLE)
        scene.bake.frame_end = 5
        self.assertEqual(skelpy.bake(scene).samples_done, 5)


if __name__ == "__main__":
    unittest.main()
