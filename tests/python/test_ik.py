# SPDX-License-Identifier: BSD-3-Clause
"""Inverse kinematics from outside: goals wrong in turn, the command, Python, the samples."""

import contextlib
import io
import json
import math
import os
import re
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import common
import test_documents as documents

import skelpy
from skelpy import scene as document

ARM = {
    "format": "skel-scene/1", "angle_unit": "deg",
    "bodies": [
        {"name": "upper", "mass": 2, "inertia": [1, 1, 1], "position": [0.5, 0, 0]},
        {"name": "lower", "mass": 1, "inertia": [1, 1, 1], "position": [1.5, 0, 0]},
        {"name": "hand", "position": [2.25, 0, 0]}, {"name": "post", "position": [5, 0, 0]}],
    "joints": [
        {"name": "shoulder", "type": "ball", "bodies": ["world", "upper"], "anchor": [0, 0, 0]},
        {"name": "elbow", "type": "hinge", "bodies": ["upper", "lower"], "anchor": [1, 0, 0],
         "axis": [0, 0, 1], "limits": [0, 150]},
        {"name": "wrist", "type": "universal", "bodies": ["lower", "hand"], "anchor": [2, 0, 0],
         "axis": [0, 1, 0], "axis2": [0, 0, 1], "limits": [[-60, 60], [-60, 60]]}],
    "goals": [
        {"name": "grip", "body": "hand", "point": [0.25, 0, 0],
         "position": [[1.5, 1, 0], [1.5, 1.1, 0.1], [1.4, 1.2, 0.1]],
         "orientation": [[1, 0, 0, 0], [1, 0, 0, 0], [0.96, 0, 0, 0.28]],
         "frame": [1, 0, 0, 0], "axes": "xyz", "weight": [1, 1, 2], "priority": 0,
         "relative_to": "world", "joints": ["shoulder", "elbow", "wrist"]},
        {"name": "eye", "body": "upper", "point": [0, 0, 0], "look_at": [0, 9, 0],
         "axis": [1, 0, 0], "weight": 0.5, "priority": 3, "chain": 1},
        {"name": "out", "body": "lower", "point": [-0.5, 0, 0], "pole": [0, -1, 0],
         "from": "upper", "to": "hand", "from_point": [-0.5, 0, 0], "to_point": [-0.25, 0, 0],
         "weight": 1, "priority": 1},
        {"name": "weight", "body": "upper", "centre_of_mass": [1, 0.5, 0], "axes": "xy",
         "weight": 0, "priority": 4}],
    "ik": {"mode": "pose", "seed": [1, 0, 0, 0, 30, 5, 5], "tolerance": 1e-6, "max_ms": 0,
           "root": "held", "max_speed": {"elbow": 2}, "stiffness": {"wrist": 0.5},
           "posture": "mid", "blend": [0, 0], "max_restarts": 20, "max_iterations": 100,
           "method": "damped", "start": "held"},
    "bake": {"fps": 10, "frame_start": 3}}
PER_FRAME = {"goals[0].position", "goals[0].orientation", "goals[0].weight"}
JOINT_NAMES = {"ik.max_speed.elbow", "ik.stiffness.wrist"}
PLAIN = {key: value for key, value in ARM.items() if key not in ("goals", "ik")}


C_PROGRAM = """
#include <skel/skel.h>
#include <stdio.h>
int main(int argc, char **argv) {
    static char     json[1 << 20];
    FILE           *file   = argc > 1 ? fopen(argv[1], "rb") : NULL;
    const size_t    length = file ? fread(json, 1, sizeof json, file) : 0;
    skel_scene     *scene  = NULL;
    skel_ik_motion *motion = NULL;
    skel_ik_motion_desc desc;
    skel_ik_motion_desc_init(&desc);
    if (skel_scene_parse(json, length, &scene, NULL) < 0) return 1;
    if (skel_scene_get_ik_desc(scene, &desc) < 0) return 2;
    if (skel_ik_motion_start(&desc, &motion, NULL) < 0) return 3;
    if (skel_ik_motion_advance(motion, -1) != SKEL_OK) return 4;
    const int n = skel_ik_motion_sample_count(motion) * skel_model_q_count(desc.ik->model);
    for (int i = 0; i < n; ++i) printf("%.17g\\n", skel_ik_motion_q(motion)[i]);
    skel_ik_motion_destroy(motion);
    skel_scene_destroy(scene);
}
"""


def arm(goals, **settings):
    return {**PLAIN, "goals": goals, "ik": settings}


def run(*arguments, **options):
    return subprocess.run([common.BIN, *map(str, arguments)], capture_output=True, timeout=1800,
                          check=False, **options)


def solve(scene, *options):
    """(exit code, track, standard error) of `skel ik`."""
    done = run("ik", "-", *options, input=documents.to_text(scene).encode())
    return done.returncode, json.loads(done.stdout or b"null"), done.stderr.decode()


class EveryGoalFieldWrong(documents.EveryFieldWrong):
    scene = ARM
    required = {"goals[0].body", "goals[1].body", "goals[2].from", "goals[2].to"}
    positive = {"goals[0].weight[1]", "goals[1].weight", "goals[1].priority", "ik.tolerance",
                "ik.max_ms", "ik.max_speed.elbow", "ik.max_restarts", "ik.max_iterations"}
    may_be_empty = {"goals", "ik", "ik.max_speed", "ik.stiffness", "bake", "joints"}
    any_number = {"goals", "goals[0].joints"} | PER_FRAME

    def test_negative_and_zero(self):
        for path, keys, _value in documents.places(self.scene):
            if path in self.positive:
                with self.subTest(path=path):
                    self.refused(path, documents.changed(self.scene, keys, -1))
        for path in ("tolerance", "max_iterations"):
            self.refused(f"ik.{path}", documents.changed(self.scene, ("ik", path), 0))

    def test_empty(self):
        """What would be said of empty joints is not of interest here."""
        for path, keys, value in documents.places(ARM):
            if path in self.may_be_empty or not path.startswith(("goals", "ik")) or \
                    isinstance(value, (int, float)):
                continue
            with self.subTest(path=path):
                message = documents.parse(documents.to_text(
                    documents.changed(ARM, keys, type(value)())))
                self.assertTrue(message.startswith(path), f"{path}: {message}")

    def test_misspelt(self):
        for path, keys, _value in documents.places(self.scene):
            if not isinstance(keys[-1], str) or path == "format":
                continue
            with self.subTest(path=path):
                message = documents.parse(documents.to_text(
                    documents.renamed(self.scene, keys, keys[-1] + "x")))
                what = "the name of a joint" if path in JOINT_NAMES else "a field of"
                self.assertTrue(message.startswith(f"{path}x: is not {what}"), message)
                self.assertIn(f"did you mean '{keys[-1]}'?", message)

    def test_lists_of_another_length(self):
        for path in sorted(PER_FRAME):
            field = path.rsplit(".", 1)[1]
            for value in (ARM["goals"][0][field] * 2, ARM["goals"][0][field][:-1]):
                message = documents.parse(documents.to_text(
                    documents.changed(ARM, ("goals", 0, field), value)))
                self.assertRegex(message, r"^goals\[0\]\.\w+: has \d frames, must have \d as goals")

    def test_characters_changed_and_cuts(self):
        text = documents.to_text(ARM)
        start = text.index('"goals"')
        for position in range(start, len(text), 2):
            self.assertIsNotNone(documents.parse(text[:position]))
            for character in ('"', "}", "0", "-", "[", "{"):
                documents.parse(text[:position] + character + text[position + 1:])


class Masks(unittest.TestCase):
    """`joints` and `chain` of a goal."""
    GOAL = {"body": "hand", "position": [1.6, 0.9, 0]}

    def test_only_what_is_named_moves(self):
        for mask, still in (({"joints": ["elbow"]}, (0, 1, 2, 3, 5, 6)), ({"chain": 2}, range(4)),
                            ({"chain": "upper"}, range(4)),
                            ({"chain": "lower", "joints": ["elbow", "wrist"]}, range(5))):
            _code, track, said = solve(arm([{**self.GOAL, **mask}], max_restarts=2))
            self.assertIsNotNone(track, said)
            start = [1, 0, 0, 0, 0, 0, 0]
            self.assertEqual([track["q"][0][k] for k in still], [start[k] for k in still])
            self.assertNotEqual(track["q"][0], start)

    def test_round_trip(self):
        goals = [{**self.GOAL, "joints": ["elbow", "world"]}, {**self.GOAL, "chain": 2},
                 {**self.GOAL, "chain": "upper"}]
        text = skelpy.Scene.from_json(documents.to_text(arm(goals))).to_json()
        again = json.loads(text)["goals"]
        self.assertEqual([goal.get("joints") for goal in again], [["elbow", "world"], None, None])
        self.assertEqual([goal.get("chain") for goal in again], [None, 2, "upper"])
        self.assertEqual(skelpy.Scene.from_json(text).to_json(), text)
        plain = document.Scene.from_json(documents.to_text(arm(goals)))
        self.assertEqual(json.loads(plain.to_json())["goals"][0]["joints"], ["elbow", "world"])

    def test_wrong(self):
        centre = {"centre_of_mass": [0, 0, 0], "chain": 1}
        for goal, must in (
                ({**self.GOAL, "joints": []}, r"goals\[0\]\.joints: "),
                ({**self.GOAL, "joints": ["elbow", "ebow"]},
                 r'goals\[0\]\.joints\[1\]: is "ebow", must be the name of a joint or "world"'),
                ({**self.GOAL, "chain": 0}, r"goals\[0\]\.chain: is 0, must be the name of a body"),
                ({**self.GOAL, "chain": 1.5}, r"goals\[0\]\.chain: is 1\.5"),
                ({**self.GOAL, "chain": "hand"}, r'goals\[0\]\.chain: is "hand", must be'),
                ({**self.GOAL, "chain": "nobody"}, r'goals\[0\]\.chain: is "nobody", must be'),
                (centre, r"goals\[0\]\.chain: is not a field of a goal with centre_of_mass")):
            self.assertRegex(documents.parse(documents.to_text(arm([goal]))) or "", "^" + must)
        code, _track, said = solve(arm([{**self.GOAL, "chain": "post"}]))
        self.assertEqual(code, 2)
        self.assertIn("goals[0].chain_root: must be a body that the goal's body hangs from", said)


class Command(unittest.TestCase):
    REACH = [{"body": "hand", "point": [0.25, 0, 0], "position": [1, 1, 0]}]

    def test_reached(self):
        code, track, said = solve(arm(self.REACH))
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(track["format"], "skel-track/1")
        self.assertEqual((track["fps"], track["frame_start"]), (10, 3))
        self.assertEqual([len(track[key]) for key in ("position", "orientation", "q", "receipts")],
                         [1, 1, 1, 1])
        self.assertEqual(len(track["q"][0]), 7)
        receipt = track["receipts"][0]
        self.assertEqual(list(receipt), ["reached", "residual", "iterations", "restarts",
                                         "active_limits", "smallest_singular_value", "goals", "us"])
        self.assertIs(receipt["reached"], True)
        self.assertLessEqual(receipt["residual"], 1e-5)
        self.assertEqual(len(receipt["goals"]), 1)
        place = documents_point(track, 0, 2, (0.25, 0, 0))
        self.assertLess(math.dist(place, (1, 1, 0)), 1e-5)
        self.assertAlmostEqual(math.dist(place, (1, 1, 0)), receipt["goals"][0]["distance"],
                               delta=1e-12)

    def test_not_reached_is_written_and_said(self):
        goals = [{"body": "upper", "orientation": [1, 0, 0, 0]},
                 {"name": "far off", "body": "hand", "point": [0.25, 0, 0], "priority": 1,
                  "position": [[1.5, 1.3, 0], [6.5, 0, 0], [7.5, 0, 0]]}]
        code, track, said = solve(arm(goals))
        self.assertEqual(code, 1)
        self.assertEqual(said, "skel: -: 2 of 3 frames not reached; worst at frame 5: "
                               "goals[1] 'far off', 5 m\n")
        self.assertEqual([r["reached"] for r in track["receipts"]], [True, False, False])

    def test_the_worst_may_be_an_angle(self):
        goals = [{"body": "hand", "orientation": [0, 1, 0, 0], "relative_to": "lower"}]
        code, _track, said = solve(arm(goals, max_restarts=3))
        self.assertEqual(code, 1)
        self.assertRegex(said, r"1 of 1 frames not reached; worst at frame 3: goals\[0\], \S+ rad")

    def test_blended_frames_are_no_failures(self):
        goals = [{**self.REACH[0], "weight": [1] * 9}]
        code, track, said = solve(arm(goals, mode="track", blend=[3, 3]))
        self.assertEqual((code, said), (0, ""))
        self.assertEqual([r["reached"] for r in track["receipts"]],
                         [False] * 3 + [True] * 3 + [False] * 3)
        for pose in (track["q"][0], track["q"][-1]):
            self.assertLess(max(abs(a - b) for a, b in zip(pose, (1, 0, 0, 0, 0, 0, 0))), 1e-12)

    def test_two_runs_differ_in_time_only(self):
        one, two = (solve(ARM)[1] for _ in range(2))
        for track in (one, two):
            for receipt in track["receipts"]:
                self.assertEqual(list(receipt)[-1], "us")
                self.assertGreater(receipt.pop("us"), 0)
        self.assertEqual(one, two)

    def test_options_win_over_the_scene(self):
        seeded = arm(self.REACH, seed=[0.6, 0, 0, 0.8, 90, 10, 10])
        given, current, mid = (solve(seeded, *o)[1]["q"][0] for o in
                               ((), ("--seed", "current"), ("--seed=mid",)))
        self.assertNotEqual(given, current)
        self.assertNotEqual(current, mid)
        self.assertEqual(current, solve(arm(self.REACH, seed="current"))[1]["q"][0])
        self.assertEqual(mid, solve(arm(self.REACH, seed="mid"))[1]["q"][0])
        fine = solve(arm(self.REACH), "--tolerance", "1e-12")[1]["receipts"][0]
        self.assertLessEqual(fine["residual"], 1e-12)
        way = [{**self.REACH[0], "position": [[1, 1, 0], [1, 1.2, 0], [1, 1.4, 0]]}]
        track = solve(arm(way), "--mode", "track")[1]["q"]
        self.assertEqual(track, solve(arm(way, mode="track"))[1]["q"])
        self.assertNotEqual(track, solve(arm(way, mode="pose"))[1]["q"])

    def test_the_panda_follows_its_keys(self):
        """review F9: from the zero pose, in a corner of its limits, tracking alone loses frames."""
        robot = skelpy.Scene.from_file(common.ROOT / "samples" / "robots" / "franka_panda.json")
        body, pose = robot.named_frames["tool"]
        tool = [0.088, 0.0, 0.926]              # of the zero pose, by the table
        keys = ((1, (0, 0, 0)), (20, (-.2, .25, -.2)), (40, (-.3, -.25, -.3)), (60, (0, 0, 0)))
        way = []
        for (a, p), (b, q) in zip(keys, keys[1:]):
            for frame in range(a if a == 1 else a + 1, b + 1):
                t = (frame - a) / (b - a)
                w = t * t * (3 - 2 * t)
                way.append([o + x + w * (y - x) for o, x, y in zip(tool, p, q)])
        scene = {**json.loads(robot.to_json()), "ik": {"mode": "track"},
                 "bake": {"fps": 24, "frame_start": 1},
                 "goals": [{"body": robot.body_names[body], "point": pose[:3], "position": way}]}
        scene = skelpy.Scene.from_json(json.dumps(scene))
        n, base = scene.q_count, [0.0] * (scene.q_count * 60)

        causal = skelpy.IkMotion(scene, base=base, posture="base", causal=True).run()
        self.assertGreater(sum(not r["reached"] for r in causal.receipts), 10)
        motion = skelpy.IkMotion(scene, base=base, posture="base").run()
        self.assertTrue(motion.reached)
        self.assertEqual((len(motion.receipts), motion.jumps), (60, []))
        q = motion.q
        self.assertLessEqual(max(abs(b - a) for a, b in zip(q, q[n:])), 0.15)
        self.assertEqual(motion.start_moved["frame"], 1)
        self.assertLess(motion.start_moved["size"], 0.81)
        self.assertIn(motion.start_moved["joint"], scene.joint_names)

    def test_a_track_says_whether_it_jumps(self):
        way = [{**self.REACH[0], "position": [[1.4, 1.2, 0]] * 4}]
        code, track, said = solve(arm(way, mode="track"))
        self.assertEqual(set(track["ik"]), {"jumps", "start_moved", "repaired"})
        self.assertEqual((code, track["ik"]["jumps"]), (0, []))
        self.assertNotIn("jumps by", said)

    def test_speed_is_bounded(self):
        way = [{**self.REACH[0], "position": [[1.4, 1.2, 0]] * 8}]
        _code, track, _said = solve(arm(way, mode="track", max_speed={"elbow": 1.5}))
        bends = [0.0] + [q[4] for q in track["q"]]
        steps = [b - a for a, b in zip(bends, bends[1:])]
        self.assertLessEqual(max(map(abs, steps)), 0.15 + 1e-12)
        self.assertGreater(max(map(abs, steps)), 0.14)

    def test_wrong_calls(self):
        def wrong(message, *arguments, scene=PLAIN):
            done = run("ik", *arguments, input=documents.to_text(scene).encode())
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn(message, done.stderr.decode())

        wrong("skel: -: goals: is missing, must be [goal, ...], at least one", "-")
        wrong("goals: is missing", "-", scene=arm([]))
        good = arm(self.REACH)
        wrong("--mode: is 'poses', must be one of pose, track", "-", "--mode", "poses", scene=good)
        wrong("--seed: is 'x', must be one of current, mid", "-", "--seed=x", scene=good)
        wrong("--tolerance: is '0', must be a number > 0", "-", "--tolerance=0", scene=good)
        wrong("--fps: is not an option of this command", "-", "--fps", "3", scene=good)
        wrong("--to: is 'xml', must be json, npy or csv", "-", "--to", "xml", scene=good)
        wrong("an argument is missing; usage: skel ik SCENE")
        wrong("goals[0].body: is \"x\", must be the name of one of the bodies", "-",
              scene=arm([{"body": "x", "position": [0, 0, 0]}]))
        # only the engine knows: no masses
        light = {**arm([{"centre_of_mass": [0, 0, 0]}]),
                 "bodies": [{"name": b["name"], "position": b["position"]} for b in ARM["bodies"]]}
        wrong("skel: -: goals[0]: a centre of mass needs bodies with mass", "-", scene=light)

    def test_progress_and_a_full_disk(self):
        scene = documents.to_text(ARM).encode()
        done = run("ik", "-", "--progress", input=scene)
        self.assertIn(b"skel: 100 %\n", done.stderr)
        done = run("ik", "-", "-o", "/dev/full", "--to", "json", input=scene)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"skel: /dev/full: No space left on device", done.stderr)

    def test_help(self):
        for arguments in (("help", "ik"), ("ik", "--help")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"skel ik SCENE", done.stdout)
        self.assertIn(b"skel ik SCENE", run("--help").stdout)

    def test_files_and_formats(self):
        way = [{**self.REACH[0], "position": [[1.5, 1, 0], [1.4, 1, 0]]}]
        with tempfile.TemporaryDirectory() as folder:
            scene = Path(folder, "scene.json")
            scene.write_text(documents.to_text(arm(way)))
            outputs = {end: Path(folder, f"out.{end}") for end in ("json", "csv", "npy")}
            for path in outputs.values():
                self.assertEqual(run("ik", scene, "-o", path).returncode, 0)
            track = json.loads(outputs["json"].read_text())
            lines = outputs["csv"].read_text().splitlines()
            self.assertEqual(lines[0], "frame,time,body,x,y,z,qw,qx,qy,qz")
            self.assertEqual(len(lines), 1 + 2 * 4)
            frame, time, body, *numbers = lines[5 + 2].split(",")
            self.assertEqual((frame, time, body), ("4", "0.1", "hand"))
            self.assertEqual(list(map(float, numbers)),
                             track["position"][1][2] + track["orientation"][1][2])
            data = outputs["npy"].read_bytes()
            self.assertIn(b"'shape': (2, 4, 7)", data[:128])
            self.assertEqual(list(struct.unpack("<56d", data[128:]))[7 * 6:7 * 7],
                             track["position"][1][2] + track["orientation"][1][2])
            self.assertEqual(run("ik", scene, "-o", scene).returncode, 2)
            self.assertEqual(run("ik", scene, "-o", Path(folder, "no", "out.json")).returncode, 2)
            self.assertEqual(len(os.listdir(folder)), 4)

    def test_a_track_can_be_read_again(self):
        """By skel inverse, flight and skelpy: poses, and q as written."""
        with tempfile.TemporaryDirectory() as folder:
            scene, out = common.SAMPLES / "figure_eight.json", Path(folder, "out.json")
            self.assertEqual(run("ik", scene, "-o", out).returncode, 0)
            with skelpy.Scene.from_file(scene) as parsed:
                track = json.loads(out.read_text())
                for k in (0, 60, 120):
                    poses = skelpy.fk(parsed, track["q"][k])
                    want = [x for p, o in zip(track["position"][k], track["orientation"][k])
                            for x in p + o]
                    for i in range(parsed.body_count):
                        got, pose = poses[7 * i:7 * i + 7], want[7 * i:7 * i + 7]
                        same = 1 if sum(a * b for a, b in zip(got[3:], pose[3:])) > 0 else -1
                        for a, b in zip(got, pose[:3] + [same * x for x in pose[3:]]):
                            self.assertAlmostEqual(a, b, places=12)
            heavy = json.loads(scene.read_text())
            for body in heavy["bodies"]:
                body.update(mass=1)
            other = Path(folder, "heavy.json")
            other.write_text(json.dumps(heavy))
            done = run("inverse", other, out, "-o", Path(folder, "torques.csv"))
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = Path(folder, "torques.csv").read_text().splitlines()
            self.assertEqual(len(lines), 1 + 121)

    def test_a_bake_of_the_same_scene(self):
        scene = json.loads(common.sample("pendulum"))
        plain = run("bake", "-", "--end", "5", input=json.dumps(scene).encode())
        scene["goals"] = [{"body": "bob", "position": [0, 0, -1]}]
        scene["ik"] = {"seed": "mid"}
        goals = run("bake", "-", "--end", "5", input=json.dumps(scene).encode())
        self.assertEqual((goals.returncode, goals.stdout), (0, plain.stdout))


def documents_point(track, frame, body, local):
    w, x, y, z = track["orientation"][frame][body]
    t = (2 * (y * local[2] - z * local[1]), 2 * (z * local[0] - x * local[2]),
         2 * (x * local[1] - y * local[0]))
    turned = (local[0] + w * t[0] + y * t[2] - z * t[1], local[1] + w * t[1] + z * t[0] - x * t[2],
              local[2] + w * t[2] + x * t[1] - y * t[0])
    return [p + r for p, r in zip(track["position"][frame][body], turned)]


class Python(unittest.TestCase):
    def test_a_body_without_joints(self):
        """It has no coordinates at all, and goes to its target."""
        scene = skelpy.Scene.from_json(json.dumps({
            "format": "skel-scene/1", "bodies": [{"name": "a", "position": [0, 0, 0]}],
            "goals": [{"body": "a", "position": [1, 2, 3]}], "ik": {"root": "moves"}}))
        with skelpy.State(scene) as state:
            self.assertEqual(list(state.q), [])
        with skelpy.Ik(scene) as ik:
            q, receipt = ik.solve()
            self.assertEqual((list(q), receipt["reached"]), ([], True))
            for got, wanted in zip(ik.poses, (1, 2, 3)):
                self.assertAlmostEqual(got, wanted, 5)

    def setUp(self):
        self.scene = skelpy.Scene.from_json(documents.to_text(ARM))

    def test_one_engine(self):
        """The command, Scene.ik, IkMotion in slices and Ik give the same numbers."""
        track = solve(ARM)[1]
        motion = self.scene.ik()
        self.assertEqual([x for q in track["q"] for x in q], list(motion.q))
        poses = [x for places, turns in zip(track["position"], track["orientation"])
                 for p, o in zip(places, turns) for x in p + o]
        self.assertEqual(poses, list(motion.poses))
        for one, two in zip(track["receipts"], motion.receipts):
            self.assertEqual(list(one), list(two))
            self.assertEqual({**one, "us": 0}, {**two, "us": 0})
        slices = skelpy.IkMotion(self.scene)
        self.assertEqual((slices.samples_done, slices.progress, list(slices.q)), (0, 0, []))
        self.assertFalse(slices.advance(0))
        self.assertEqual(slices.samples_done, 1)
        while not slices.advance(0):
            pass
        self.assertEqual((slices.progress, list(slices.q)), (1, list(motion.q)))
        with skelpy.Ik(self.scene) as ik:
            q, receipt = ik.solve()
            self.assertEqual(list(q), track["q"][0])
            self.assertEqual({**receipt, "us": 0}, {**track["receipts"][0], "us": 0})
            self.assertEqual(list(ik.poses), list(motion.poses[:28]))

    def test_one_engine_from_c(self):
        """A program that only knows the headers writes the q that the command writes."""
        include = common.ROOT / "libskel" / "include"
        lib = os.path.dirname(os.path.abspath(common.LIB))
        with tempfile.TemporaryDirectory() as folder:
            source, program = Path(folder, "ik.c"), Path(folder, "ik")
            source.write_text(C_PROGRAM)
            built = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source,
                                    "-I", include, "-o", program, "-L", lib, "-lskel",
                                    f"-Wl,-rpath,{lib}"], capture_output=True, check=False)
            self.assertEqual(built.returncode, 0, built.stderr)
            done = subprocess.run([program, common.SAMPLES / "figure_eight.json"],
                                  capture_output=True, check=True)
        track = json.loads(run("ik", common.SAMPLES / "figure_eight.json").stdout)
        self.assertEqual(list(map(float, done.stdout.split())),
                         [x for q in track["q"] for x in q])

    def test_motion(self):
        motion = self.scene.ik(mode="track", seed="mid", tolerance=1e-4)
        self.assertEqual(motion.frames, range(3, 6))
        self.assertEqual(motion.goal_names, ["grip", "eye", "out", "weight"])
        self.assertEqual(motion.reached, all(r["reached"] for r in motion.receipts))
        self.assertEqual([len(r["goals"]) for r in motion.receipts], [4] * 3)
        view = motion.q
        motion.close()
        self.assertEqual(len(list(view)), 21)
        with self.assertRaises(ValueError):
            motion.samples_done
        for wrong in ({"mode": "poses"}, {"root": "free"}, {"seed": [1, 2]}):
            with self.assertRaises(ValueError):
                skelpy.IkMotion(self.scene, **wrong)
        with self.assertRaises(TypeError):
            skelpy.IkMotion(self.scene, toleranc=1)
        with self.assertRaises(skelpy.SkelError):
            skelpy.IkMotion(self.scene, tolerance=-1)

    def test_goals_as_dicts(self):
        """Of every kind: they are what the document would have."""
        for goal in ARM["goals"][1:3] + [{"body": "hand", "position": [1, 1, 0.2], "axes": "yz"},
                                         {"body": "hand", "orientation": [0.8, 0.6, 0, 0],
                                          "relative_to": "upper", "frame": [0.6, 0.8, 0, 0]},
                                         {"body": "hand", "position": [1, 1, 0.2],
                                          "joints": ["elbow", "world"]},
                                         {"body": "hand", "position": [1, 1, 0.2],
                                          "chain": "upper"}]:
            settings = {"mode": "pose", "tolerance": 1e-7}
            want = solve(arm([goal], **settings))[1]
            with skelpy.Ik(self.scene, [goal], **settings) as ik:
                q, receipt = ik.solve([1, 0, 0, 0, 0, 0, 0])
                self.assertEqual(list(q), want["q"][0], goal)
                self.assertEqual({**receipt, "us": 0}, {**want["receipts"][0], "us": 0})
        for wrong in ({"body": "hand"}, {"body": "hand", "pole": [0, 0, 0], "look_at": [0, 0, 0]},
                      {"body": "hand", "position": [0, 0, 0], "wight": 2}):
            with self.assertRaisesRegex(skelpy.SkelError, r"^goals\[0\]"):
                skelpy.Ik(self.scene, [wrong])
        with self.assertRaisesRegex(skelpy.SkelError, r"^goals\[0\]\.body: is \"foot\""):
            skelpy.Ik(self.scene, [{"body": "foot", "position": [0, 0, 0]}])

    def test_another_target(self):
        with skelpy.Ik(self.scene, [{"body": "hand", "position": [1, 1, 0]}]) as ik:
            q, _receipt = ik.solve()
            ik.set_target(0, position=[0.8, -1, 0.3])
            q, receipt = ik.solve(q)
            self.assertTrue(receipt["reached"])
            place = skelpy.fk(self.scene, q)[14:17]
            self.assertLess(math.dist(place, (0.8, -1, 0.3)), 1e-5)
            ik.set_weight(0, 0.0)
            before = list(q)
            self.assertEqual(list(ik.solve(q)[0]), before)
            self.assertEqual(len(ik.active), self.scene.dof)
            for wrong in (lambda: ik.set_target(0, position=[1, 2]), lambda: ik.solve([0.0])):
                with self.assertRaises(ValueError):
                    wrong()
            with self.assertRaises(skelpy.SkelError):
                ik.set_target(1, position=[0, 0, 0])

    def test_middle_and_jacobian(self):
        self.assertEqual(list(self.scene.middle())[:4], [1, 0, 0, 0])
        self.assertAlmostEqual(self.scene.middle()[4], math.radians(75), places=15)
        q, h, point = [1, 0, 0, 0, 0.3, 0.2, -0.1], 1e-6, (0.25, 0.1, 0)
        jacobian = skelpy.jacobian(self.scene, skelpy.fk(self.scene, q), "hand", point)
        self.assertEqual(len(jacobian), 6 * self.scene.dof)

        def place(values):
            pose = skelpy.fk(self.scene, values)[14:21]
            return documents_point({"position": [[pose[:3]]], "orientation": [[pose[3:]]]}, 0, 0,
                                   point)
        for column, index in ((3, 4), (4, 5), (5, 6)):
            up, down = (place([x + s * h * (k == index) for k, x in enumerate(q)])
                        for s in (1, -1))
            for row in range(3):
                self.assertAlmostEqual(jacobian[row * self.scene.dof + column],
                                       (up[row] - down[row]) / (2 * h), places=8)

    def test_dataclasses_hold_every_field(self):
        scene = document.Scene.from_dict(ARM)
        self.assertEqual(scene.goals[2].from_, "upper")
        self.assertEqual(scene.to_dict(), ARM)
        self.assertEqual(json.loads(scene.to_json()), ARM)
        with self.assertRaisesRegex(ValueError, r"goals\[0\].bdy"):
            document.Scene.from_dict({**PLAIN, "goals": [{"bdy": "hand"}]})

    def test_round_trip(self):
        first = self.scene.to_json()
        second = skelpy.Scene.from_json(first)
        self.assertEqual(second.to_json(), first)
        self.assertEqual(list(second.ik().q), list(self.scene.ik().q))

    def test_the_example_of_the_readme_runs(self):
        text = (common.ROOT / "plugin_bridge" / "README.md").read_text(encoding="utf-8")
        code = re.search(r"^```python\n(.*?)^```", text, re.S | re.M)[1]
        here, out, names = os.getcwd(), io.StringIO(), {"skelpy": skelpy}
        os.chdir(common.ROOT)
        self.addCleanup(os.chdir, here)
        with contextlib.redirect_stdout(out):
            exec(code, names)
        self.assertTrue(out.getvalue().startswith("True "))
        self.assertTrue(names["receipt"]["reached"])

    def test_constants_of_the_header(self):
        text = (common.ROOT / "libskel" / "include" / "skel" / "skel_ik.h").read_text()
        names = {"ORIENTATION": 8}
        for k, name in enumerate(("PLACE", "AIM", "POLE", "CENTRE")):
            names[name] = k
        for name, value in names.items():
            self.assertRegex(text, rf"SKEL_GOAL_{name}\s*= {value}\b")
        for prefix, values in (("", skelpy.ik.MODES), ("", skelpy.ik.METHODS),
                               ("ROOT_", skelpy.ik.ROOTS)):
            for k, value in enumerate(values):
                self.assertRegex(text, rf"SKEL_IK_{prefix}{value.upper()}\s*= {k}\b")


class Base(unittest.TestCase):
    """Goals on top of an animation."""

    FRAMES = 25

    def scene(self, root="fixed", goals=None, **ik):
        """A post (or a free body), a ball, a hinge across, a hinge along the last link."""
        posts = {"name": "post", "position": [0, 0, 0]}
        if root == "fixed":
            posts["motion"] = "fixed"
        else:
            ik["root"] = root
        document = {
            "format": "skel-scene/1", "bodies": [
                posts, {"name": "upper", "position": [0.25, 0, 0]},
                {"name": "lower", "position": [0.75, 0, 0]},
                {"name": "hand", "position": [1.25, 0, 0]}],
            "joints": [
                {"name": "shoulder", "type": "ball", "bodies": ["post", "upper"],
                 "anchor": [0, 0, 0]},
                {"name": "elbow", "type": "hinge", "bodies": ["upper", "lower"],
                 "anchor": [0.5, 0, 0], "axis": [0, 1, 0], "limits": [-2.5, 2.5]},
                {"name": "roll", "type": "hinge", "bodies": ["lower", "hand"],
                 "anchor": [1, 0, 0], "axis": [1, 0, 0]}],
            "goals": goals or [self.goal()], "ik": {"mode": "track", **ik},
            "bake": {"fps": 24, "frame_start": 1, "frame_end": self.FRAMES}}
        return skelpy.Scene.from_json(json.dumps(document))

    def goal(self, **fields):
        places = [[0.9 + 0.1 * math.sin(0.2 * k), 0.2, -0.3 + 0.02 * k]
                  for k in range(self.FRAMES)]
        return {"body": "hand", "point": [0.25, 0, 0], "position": places, **fields}

    def base(self):
        out = []
        for k in range(self.FRAMES):
            angle = 0.4 * math.sin(0.15 * k)
            out += [math.cos(angle), 0, 0.6 * math.sin(angle), 0.8 * math.sin(angle),
                    0.3 + 0.5 * math.sin(0.2 * k), 0.1 * k]
        return out

    def test_without_effect_the_animation_comes_back(self):
        base = self.base()
        for options in ({}, {"posture": "base"}, {"mode": "pose"},
                        {"mode": "pose", "posture": "base"}):
            with self.subTest(**options), self.scene(goals=[self.goal(weight=0)]) as scene:
                got = scene.ik(base=base, **options).q
                self.assertLess(max(abs(a - b) for a, b in zip(got, base)), 1e-12)

    def test_what_the_goal_leaves_free_stays_animated(self):
        base = self.base()
        for options in ({}, {"posture": "base"}, {"mode": "pose"}):
            with self.subTest(**options), self.scene() as scene:
                motion = scene.ik(base=base, **options)
                self.assertTrue(motion.reached)
                roll, moved = motion.q[5::6], motion.q[4::6]
                self.assertLess(max(abs(a - b) for a, b in zip(roll, base[5::6])), 1e-9)
                self.assertGreater(max(abs(a - b) for a, b in zip(moved, base[4::6])), 0.1)
                if "mode" not in options:
                    steps = [abs(b - a) for a, b in zip(moved, moved[1:])]
                    self.assertLess(max(steps), 0.3)

    def test_a_goal_that_ends_lets_go(self):
        """Calmly, in a TRACK: by some degrees a frame; then the base is back."""
        weights = [1.0] * 5 + [0.0] * (self.FRAMES - 5)
        base = self.base()
        with self.scene(goals=[self.goal(weight=weights)]) as scene:
            got = scene.ik(base=base, posture="base").q
            off = [max(abs(a - b) for a, b in zip(got[6 * k:6 * k + 6], base[6 * k:6 * k + 6]))
                   for k in range(self.FRAMES)]
            self.assertGreater(min(off[:5]), 0.5)
            self.assertLess(max(a - b for a, b in zip(off[4:], off[5:])), 0.1)
            self.assertLess(off[-1], 1e-9)

    def test_free_roots(self):
        base, poses = self.base(), []
        for k in range(self.FRAMES):
            turn = 0.02 * k
            root = [0.1 * k, 0.5, 0.01 * k, math.cos(turn), 0, 0, math.sin(turn)]
            poses += root + [0, 0, 0, 1, 0, 0, 0] * 3
        for root in ("held", "shifts", "moves"):
            for posture in ({}, {"posture": "base"}):
                with self.subTest(root=root, **posture), \
                        self.scene(root, goals=[self.goal(weight=0)]) as scene:
                    motion = scene.ik(base=base, base_poses=poses, **posture)
                    self.assertLess(max(abs(motion.q[k] - base[k]) for k in range(len(base))),
                                    1e-12)
                    got = [v for n in range(0, len(poses), 28) for v in motion.poses[n:n + 7]]
                    wanted = [v for n in range(0, len(poses), 28) for v in poses[n:n + 7]]
                    self.assertLess(max(abs(a - b) for a, b in zip(got, wanted)), 1e-12)

    def test_wrong_calls(self):
        with self.scene() as scene:
            for wrong, words in (({"base": [0.0] * 5}, "base: has 5 numbers, must have 150"),
                                 ({"base_poses": [0.0] * 7}, "base_poses: has 7 numbers")):
                with self.assertRaisesRegex(ValueError, words):
                    skelpy.IkMotion(scene, **wrong)
            for wrong, words in (({"posture": "base"}, "base_posture"),
                                 ({"base": [math.nan] * 150}, "base: must be finite"),
                                 ({"base_poses": [0.0] * 700}, "no orientation may be zero")):
                with self.assertRaisesRegex(skelpy.SkelError, words):
                    skelpy.IkMotion(scene, **wrong)


class Samples(unittest.TestCase):
    @staticmethod
    def solved(name):
        return skelpy.Scene.from_json(common.sample(name)).ik()

    def test_all_are_reached_and_checked(self):
        for name in common.SOLVED:
            text = common.sample(name)
            self.assertEqual(skelpy.check(text), [], name)
            self.assertEqual(document.Scene.from_json(text).to_json(), text, name)
            motion = self.solved(name)
            self.assertTrue(motion.reached, (name, [r for r in motion.receipts
                                                    if not r["reached"]][:1]))

    def test_the_lecture(self):
        """Its angles after the last of its iterations [SIE 8.1.3]."""
        path = common.ROOT / "tests" / "data" / "vectors.json"
        want = json.loads(path.read_text(encoding="utf-8"))["ik_siegen_example"]
        with skelpy.Scene.from_json(common.sample("lecture")) as scene:
            with skelpy.State(scene) as state:
                for got, q in zip(state.q, want["phi0"]):
                    self.assertAlmostEqual(got, q, places=12)
                tip = documents_point({"position": [[state.poses[14:17]]],
                                       "orientation": [[state.poses[17:21]]]}, 0, 0, (0, 0, 0.05))
            for got, x in zip((tip[0], tip[2]), want["X_old"]):
                self.assertAlmostEqual(1000 * got, x, places=8)
            for got, q in zip(scene.ik().q, want["iterates"][-1]):
                self.assertAlmostEqual(got, q, places=9)

    def test_puma_is_the_published_table(self):
        """The wrist at q = 0 is where the toolbox has it: 0.4521, -0.15005, 0.4318 over 0.6718."""
        with skelpy.Scene.from_json(common.sample("puma560")) as scene:
            poses = skelpy.fk(scene, [0] * 6)
            wrist = poses[7 * scene.find_body("link4"):][:3]
            for got, want in zip(wrist, (0.4521, -0.15005, 0.4318 + 0.6718)):
                self.assertAlmostEqual(got, want, places=9)
            motion = scene.ik()
            end = 7 * scene.find_body("link6")
            for k in range(motion.samples_done):  # the tool points down all the way
                w, x, y, z = motion.poses[7 * scene.body_count * k + end + 3:][:4]
                self.assertAlmostEqual(1 - 2 * (x * x + y * y), -1, places=9)

    def test_the_eight_goes_through_full_extension_within_its_speed(self):
        motion = self.solved("figure_eight")
        q = [motion.q[7 * k:7 * k + 7] for k in range(121)]
        self.assertLess(min(r["smallest_singular_value"] for r in motion.receipts), 1e-3)
        step = max(abs(a - b) for one, two in zip(q, q[1:]) for a, b in zip(one, two))
        self.assertLessEqual(step, 4 / 24 + 1e-12)
        self.assertGreater(step, 0.05)

    def test_the_character_keeps_feet_and_balance(self):
        motion, scene = self.solved("character"), document.Scene.from_json(common.sample(
            "character"))
        masses = [body.mass for body in scene.bodies]
        feet = [i for i, body in enumerate(scene.bodies) if body.name.startswith("foot")]
        over = scene.goals[2].centre_of_mass
        nb = len(masses)
        for k in range(motion.samples_done):
            poses = motion.poses[7 * nb * k:7 * nb * (k + 1)]
            for i in feet:
                self.assertLess(math.dist(poses[7 * i:7 * i + 3], scene.bodies[i].position), 1e-4)
            for axis in (0, 1):
                centre = math.fsum(m * poses[7 * i + axis] for i, m in enumerate(masses))
                self.assertAlmostEqual(centre / sum(masses), over[axis], delta=1e-4)
        names = motion.body_names
        self.assertLess(motion.poses[7 * (nb * 48 + names.index("head")) + 2], 1.3)  # it bends

    def test_out_of_reach_the_feet_come_first(self):
        """Hands that want too much leave what is before them alone."""
        scene = json.loads(common.sample("character"))
        for goal in scene["goals"]:
            if goal["name"].startswith("hand"):
                goal["position"] = [0, -3, 0.2]
        code, track, said = solve(scene)
        self.assertEqual(code, 1)
        self.assertRegex(said, r"goals\[[34]\] 'hand")
        off = track["receipts"][0]["goals"]
        self.assertLess(max(max(g["distance"], g["angle"]) for g in off[:3]), 1e-4)
        self.assertGreater(off[3]["distance"], 1.0)

    def test_the_tentacle_bends_evenly(self):
        motion = self.solved("tentacle")
        last = motion.q[400 * 72:]
        bends = [2 * math.acos(min(1, abs(last[4 * i]))) for i in range(100)]
        self.assertLessEqual(max(bends), 0.12 + 0.05 + 1e-6)
        self.assertGreater(sum(bend > 0.005 for bend in bends), 50)

    def test_pictures(self):
        draw = common.load_script(common.SAMPLES / "draw.py")
        for name in common.SOLVED:
            scene = json.loads(common.sample(name))
            motion = self.solved(name)
            nb = len(motion.body_names)
            rows = [motion.poses[7 * i:7 * i + 7] for i in range(nb * motion.samples_done)]
            track = {"format": "skel-track/1", "fps": 24, "bodies": motion.body_names,
                     "position": [[list(p[:3]) for p in rows[nb * k:nb * (k + 1)]]
                                  for k in range(motion.samples_done)],
                     "orientation": [[list(p[3:]) for p in rows[nb * k:nb * (k + 1)]]
                                     for k in range(motion.samples_done)],
                     "receipts": motion.receipts}
            text = draw.picture(track, scene, frames=3)
            self.assertIn("goals reached", text)
            self.assertIn("class='goal'", text)
            self.assertEqual(text.count("class='pose'"), 2 if motion.samples_done == 1 else 3)
            self.assertNotIn("nan", text)


if __name__ == "__main__":
    unittest.main()
