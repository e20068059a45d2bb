# SPDX-License-Identifier: BSD-3-Clause
"""`skel inverse` and `skel flight` from outside: good and bad input, files, and what they claim."""

import copy
import csv
import io
import json
import math
import pathlib
import subprocess
import tempfile
import unittest

from common import BIN, SAMPLES, sample

import skelpy

ARM = {  # hinge, slide, universal and ball on a free root
    "format": "skel-scene/1", "name": "arm", "gravity": [0, 0, -9.81],
    "bodies": [
        {"name": "root", "mass": 5, "inertia": [0.3, 0.3, 0.2], "position": [0, 0, 0]},
        {"name": "upper", "mass": 1, "inertia": [0.02, 0.02, 0.01], "position": [0.4, 0, 0]},
        {"name": "lower", "mass": 1, "inertia": [0.02, 0.02, 0.01], "position": [0.8, 0, 0]},
        {"name": "hand", "mass": 0.5, "inertia": [0.01, 0.01, 0.01], "position": [1.1, 0, 0]},
        {"name": "tail", "mass": 1, "inertia": [0.02, 0.02, 0.01], "position": [-0.4, 0, 0]},
        {"name": "floor", "motion": "fixed", "position": [0, 0, -9]}],
    "joints": [
        {"name": "shoulder", "type": "ball", "bodies": ["root", "upper"], "anchor": [0.2, 0, 0],
         "friction": 0.5},
        {"name": "elbow", "type": "hinge", "bodies": ["upper", "lower"], "anchor": [0.6, 0, 0],
         "axis": [0, 1, 0], "friction": 0.5},
        {"name": "wrist", "type": "universal", "bodies": ["lower", "hand"], "anchor": [1, 0, 0],
         "axis": [0, 0, 1], "axis2": [0, 1, 0], "friction": 0.5},
        {"name": "slider", "type": "slide", "bodies": ["root", "tail"], "axis": [1, 0, 0],
         "friction": 5}],
    "bake": {"fps": 120, "frame_start": 10, "frame_end": 70, "integrator": "adams",
             "tolerance": 1e-11}}


def skel(*arguments, text=None):
    return subprocess.run([BIN, *map(str, arguments)], input=text, capture_output=True, text=True,
                          check=False)


def moved_arm():
    """The arm under loads that the scene to be inverted does not have."""
    scene = copy.deepcopy(ARM)
    root, upper, lower, hand, tail, _ = scene["bodies"]
    root["force"], root["torque"] = [1, 2, 110], [0.5, -0.2, 0.1]
    upper["torque"], lower["torque"] = [0.3, 0.2, -0.4], [0.1, -0.3, 0.2]
    hand["torque"], tail["force"] = [0.02, 0.05, 0.03], [3, 0, 0]
    scene["joints"][1]["motor"], scene["joints"][3]["motor"] = 0.4, -2
    return scene


class InFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.holder.name)
        cls.scene = cls.put("arm.json", ARM)
        done = skel("bake", cls.put("moved.json", moved_arm()), "-o", cls.folder / "track.json")
        assert done.returncode == 0, done.stderr
        cls.track_file = cls.folder / "track.json"
        cls.track = json.loads(cls.track_file.read_text())

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def put(cls, name, document):
        path = cls.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def refused(self, done, *parts, code=2):
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


class Inverse(InFolder):
    def test_csv(self):
        done = skel("inverse", self.scene, self.track_file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = list(csv.reader(io.StringIO(done.stdout)))
        self.assertEqual(rows[0], [
            "frame", "time", "shoulder.tx", "shoulder.ty", "shoulder.tz", "elbow.torque",
            "wrist.tz", "wrist.tx", "slider.force", "shoulder.power", "elbow.power", "wrist.power",
            "slider.power", *[f"root.residual.{c}" for c in ("fx", "fy", "fz", "tx", "ty", "tz")]])
        self.assertEqual(len(rows), 62)
        self.assertEqual([rows[1][0], rows[-1][0]], ["10", "70"])
        self.assertAlmostEqual(float(rows[-1][1]), 0.5)
        # the first frame, where all stand still: force on the root is all that was not gravity
        first = dict(zip(rows[0], map(float, rows[1])))
        self.assertAlmostEqual(first["root.residual.fz"], 110, 2)
        self.assertAlmostEqual(first["root.residual.fx"], 4, 1)

    def test_json(self):
        done = skel("inverse", self.scene, self.track_file, "--to", "json", "--cutoff", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = json.loads(done.stdout)
        self.assertEqual((out["format"], out["cutoff"], out["order"]), ("skel-inverse/1", 20, 8))
        self.assertEqual([j["dof"] for j in out["joints"]], [0, 3, 4, 6])
        self.assertEqual([j["first"] for j in out["joints"]], [0, 3, 4, 6])
        self.assertEqual([j["count"] for j in out["joints"]], [3, 1, 2, 1])
        self.assertEqual([len(j["columns"]) for j in out["joints"]], [3, 1, 2, 1])
        self.assertEqual((out["across_event"], out["contact_law"]), ([], []))
        self.assertEqual((out["contacts"], len(out["uncertainty"])), ([[]] * 61, 61))
        self.assertAlmostEqual(out["residual_force"], max(
            math.hypot(*frame[:3]) for frame in out["residual"]["root"]))
        self.assertEqual([len(out[k]) for k in ("q", "qd", "torque", "wrench")], [61] * 4)
        self.assertEqual((len(out["q"][0]), len(out["torque"][0])), (8, 7))
        self.assertEqual(list(out["residual"]), ["root"])

    def test_a_passive_bake_needs_nothing(self):
        with skelpy.Scene.from_json(sample("humanoid")) as scene:
            bake = skelpy.Bake(scene, fps=120, frame_start=1, frame_end=61,
                               integrator="adams").run()
            result = skelpy.inverse(scene, bake)
        inner = result.torque[6 * 47:-6 * 47]
        self.assertLess(max(map(abs, inner)), 1e-5)
        self.assertEqual(result.summary["suggested_cutoff"], 0)

    def test_python_reads_tracks(self):
        with skelpy.Scene.from_file(self.scene) as scene:
            one = skelpy.inverse(scene, self.track_file.read_text())
            with self.assertRaises(skelpy.SkelError) as caught:
                skelpy.inverse(scene, json.dumps({**self.track, "fps": -1}))
        self.assertIn("fps: is -1", str(caught.exception))
        self.assertEqual((one.samples, len(one.power), len(one.residual)), (61, 61 * 4, 61 * 36))
        qd, torque, power = one.qd[7 * 30:7 * 31], one.torque[7 * 30:7 * 31], one.power[4 * 30:]
        self.assertAlmostEqual(power[1], qd[3] * torque[3], 12)

    def test_forward_again(self):
        """The motors scene makes the motion again (its curves read as linear where the reader does
        not know cubic ones yet)."""
        out = self.folder / "motors.json"
        done = skel("inverse", self.scene, self.track_file, "-o", self.folder / "t.csv",
                    "--motors", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        scene = json.loads(out.read_text())
        self.assertEqual({k: scene["bake"][k] for k in ("fps", "frame_start", "frame_end")},
                         {"fps": 120, "frame_start": 10, "frame_end": 70})
        curves = [item[field] for items in (scene["bodies"], scene["joints"]) for item in items
                  for field in ("motor", "force", "torque") if isinstance(item.get(field), dict)]
        self.assertTrue(all(curve["interpolation"] == "cubic" for curve in curves))
        self.assertEqual(sum("motor" in joint for joint in scene["joints"]), 2)
        self.assertEqual(len(curves), 7)  # two motors, a force on the root, torques on four bodies
        checked = skel("check", out)
        if checked.returncode:
            for curve in curves:
                del curve["interpolation"]
            self.put("motors.json", scene)
            self.assertEqual(skel("check", out).returncode, 0, checked.stdout)
        again = skel("bake", out)
        self.assertEqual(again.returncode, 0, again.stderr)
        worst = max(math.dist(p, q) for one, two in zip(self.track["position"],
                                                        json.loads(again.stdout)["position"])
                    for p, q in zip(one, two))
        self.assertLess(worst, 2e-4)

    def test_bodies_in_any_order(self):
        order = [3, 1, 0, 5, 4, 2]
        mixed = copy.deepcopy(self.track)
        mixed["bodies"] = [mixed["bodies"][i] for i in order]
        for field in ("position", "orientation", "velocity", "angular_velocity"):
            mixed[field] = [[frame[i] for i in order] for frame in mixed[field]]
        one = skel("inverse", self.scene, self.track_file)
        two = skel("inverse", self.scene, "-", text=json.dumps(mixed))
        self.assertEqual(one.stdout, two.stdout)

    def test_noise_is_named(self):
        noisy = copy.deepcopy(self.track)
        for k, frame in enumerate(noisy["orientation"]):
            frame[2] = [w + 2e-4 * math.sin(37 * (k + 1) ** 2 + i) for i, w in enumerate(frame[2])]
        done = skel("inverse", self.scene, self.put("noisy.json", noisy))
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"noisy.json: warning: .*'(elbow|wrist)'.*--cutoff \d")

    def wrong_track(self, change, *parts):
        track = copy.deepcopy(self.track)
        change(track)
        text = json.dumps(track).replace('"@huge@"', "1e999").replace('"@nan@"', "NaN")
        done = skel("inverse", self.scene, self.put("bad.json", text), "-o", self.folder / "no.csv")
        self.refused(done, "bad.json: ", *parts)
        self.assertFalse((self.folder / "no.csv").exists())

    def test_wrong_tracks(self):
        def cut(count):
            def change(track):
                for field in ("position", "orientation", "velocity", "angular_velocity", "q"):
                    del track[field][count:]
            return change

        self.wrong_track(lambda t: t["bodies"].__setitem__(2, "lowr"),
                         "bodies[2]: is 'lowr'", "did you mean 'lower'?")
        self.wrong_track(lambda t: t["bodies"].__setitem__(2, "upper"), "bodies[2]", "twice")
        self.wrong_track(lambda t: t["bodies"].pop(), "bodies: lacks 'floor'")
        self.wrong_track(lambda t: t["bodies"].append("more"), "bodies: has 7 names")
        self.wrong_track(lambda t: t["position"].pop(), "orientation: has 61 frames, must have 60")
        self.wrong_track(lambda t: t["orientation"][5].pop(), "orientation[5]: has 5 elements")
        self.wrong_track(cut(2), "position: has 2 frames, must have at least 3")
        self.wrong_track(lambda t: t.pop("position"), "position: is missing")
        self.wrong_track(lambda t: t.pop("fps"), "fps: is missing")
        self.wrong_track(lambda t: t.update(fps=0), "fps: is 0, must be a number > 0")
        self.wrong_track(lambda t: t.update(postion=[]), "postion", "did you mean 'position'?")
        self.wrong_track(lambda t: t["position"][3][1].__setitem__(0, "@huge@"),
                         "position[3][1][0]: is too large")
        self.wrong_track(lambda t: t["velocity"][3][1].__setitem__(0, "@huge@"),
                         "velocity[3][1][0]: is too large")
        self.wrong_track(lambda t: t["q"][3].__setitem__(0, "x"), "q[3][0]")
        self.wrong_track(lambda t: t["position"][3][1].__setitem__(0, "@nan@"), "line")
        self.wrong_track(lambda t: t["orientation"][0].__setitem__(1, [0, 0, 0, 0]),
                         "orientation[0][1]", "unit quaternion")
        self.wrong_track(lambda t: t.update(format="skel-scene/1"), "format", "skel-track/1")

    def test_wrong_calls(self):
        s, t = self.scene, self.track_file
        self.refused(skel("inverse", s), "SCENE TRACK")
        self.refused(skel("inverse", s, t, "--cutoff", "60"), "--cutoff", "below half")
        self.refused(skel("inverse", s, t, "--cutoff", "-1"), "--cutoff")
        self.refused(skel("inverse", s, t, "-o", "x.npy"), ".csv or .json")
        self.refused(skel("inverse", s, t, "-o", t, "--to", "csv"), "overwritten")
        self.refused(skel("inverse", s, t, "--motors", s), "overwritten")
        self.refused(skel("inverse", "-", "-"), "standard input")
        self.refused(skel("inverse", s, t, "--motors", "-"), "different files")
        self.refused(skel("inverse", s, self.folder / "nowhere.json"), "nowhere.json")
        self.refused(skel("inverse", SAMPLES / "four_bar.json", t), "track.json: bodies")

    def test_loops_are_refused(self):
        baked = skel("bake", SAMPLES / "four_bar.json")
        done = skel("inverse", SAMPLES / "four_bar.json", "-", text=baked.stdout)
        self.refused(done, "four_bar.json: joints[", "loop")


SLOPE = math.radians(20)
BLOCK = {  # of 2 kg, a hair above a slope of 20 degrees
    "format": "skel-scene/1", "name": "block", "gravity": [0, 0, -9.81],
    "bodies": [{"name": "block", "mass": 2, "shape": {"type": "box", "size": [0.4, 0.3, 0.2]},
                "position": [0.100001 * math.sin(SLOPE), 0, 0.100001 * math.cos(SLOPE)],
                "orientation": [math.cos(SLOPE / 2), 0, math.sin(SLOPE / 2), 0]}],
    "ground": [{"friction": 0.8, "normal": [math.sin(SLOPE), 0, math.cos(SLOPE)]}],
    "bake": {"fps": 240, "frame_start": 1, "frame_end": 121, "preroll": 2}}


def ragdoll():
    """The ragdoll of the stairs, without joint stops, above a plane as soft as the jumper's: its
    forces are smooth but for touch-downs and the begin of slipping."""
    scene = json.loads(sample("ragdoll_stairs"))
    scene["bodies"] = [b for b in scene["bodies"] if b.get("motion") != "fixed"]
    for body in scene["bodies"]:
        body.pop("collide", None)
        body["position"][2] -= 1.17
    for joint in scene["joints"]:
        joint.pop("limits", None)
        joint["anchor"][2] -= 1.17
    scene["ground"] = [{"friction": 0.5, "law": {"a": 2e6, "b": 2, "d": 300},
                        "stick": {"stiffness": 20000, "damping": 200}}]
    return json.dumps(scene)


def norm(vector):
    return math.sqrt(sum(x * x for x in vector))


class Contacts(InFolder):
    """A bake's own motion needs nothing from outside: its contacts explain it."""

    # Fourth-order differences of momenta, at 4000 frames per second.
    FPS, WEIGHTS = 4000, ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))

    def bake(self, text, seconds):
        scene = skelpy.Scene.from_json(text)
        bake = skelpy.Bake(scene, fps=self.FPS, frame_start=0, frame_end=int(seconds * self.FPS),
                           integrator="adams", tolerance=1e-12).run()
        return scene, bake, skelpy.inverse(scene, bake)

    def masses(self, text):
        document = json.loads(text)
        return [b["mass"] for b in document["bodies"] + document.get("wobble", [])]

    def momentum_rate(self, bake, masses, frame):
        """From the velocities of the bake alone: nothing of inverse dynamics is in it."""
        count = len(masses)
        return [self.FPS * sum(
            w * sum(m * bake.velocities[6 * ((frame + k) * count + i) + c]
                    for i, m in enumerate(masses)) for k, w in self.WEIGHTS) for c in range(3)]

    def check(self, text, seconds, sure_at_least, touching_at_least):
        """Residuals are below 1e-6 of the weight, or below what the frame says of itself; contact
        forces and weight are the rate of the momentum."""
        scene, bake, forces = self.bake(text, seconds)
        masses = self.masses(text)
        count, weight = len(masses), 9.81 * sum(masses)
        self.assertEqual(count, scene.body_count)
        sure, touching, residual, rate = 0, 0, forces.residual, 0.0
        for k, flag in enumerate(forces.flags):
            left = max(norm(residual[6 * n + c:6 * n + c + 3]) for c in (0, 3)
                       for n in range(k * count, (k + 1) * count))
            if flag == 0:
                self.assertLessEqual(left, max(1e-6 * weight, forces.uncertainty[k]), k)
            if flag or forces.uncertainty[k] > 1e-6 * weight:
                continue
            sure += 1
            self.assertLessEqual(left, 1e-6 * weight, k)
            found = forces.contacts(k)
            if not found or k % 10 or not 1 < k < forces.samples - 2:
                continue
            touching += 1
            push = [sum(c["force"][e] for c in found) for e in range(3)]
            push[2] -= weight
            error = norm(a - b for a, b in zip(push, self.momentum_rate(bake, masses, k)))
            rate = max(rate, error / weight)
        self.assertLess(rate, 1e-5)  # of the differences of fourth order
        self.assertGreaterEqual(sure, sure_at_least * forces.samples)
        self.assertGreaterEqual(touching, touching_at_least)
        self.assertEqual(forces.summary["law_samples"], 0)
        return scene, bake, forces

    def test_block(self):
        scene = self.put("block.json", BLOCK)
        self.assertEqual(skel("bake", scene, "-o", self.folder / "block_track.json").returncode, 0)
        done = skel("inverse", scene, self.folder / "block_track.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        for row in rows:
            self.assertLess(max(abs(float(row[f"block.residual.{c}"]))
                                for c in ("fx", "fy", "fz", "tx", "ty", "tz")), 1e-6 * 2 * 9.81)
            self.assertAlmostEqual(float(row["block.contact.fz"]), 2 * 9.81, 5)
            self.assertAlmostEqual(float(row["block.contact.fx"]), 0, 5)
        done = skel("inverse", scene, self.folder / "block_track.json", "--to", "json")
        out = json.loads(done.stdout)
        self.assertLess(out["residual_force"], 1e-6 * 2 * 9.81)
        contact = out["contacts"][60][0]
        self.assertEqual((contact["body"], contact["other"], contact["ground"]), ("block", None, 0))
        self.assertEqual(sorted(contact), ["body", "depth", "force", "ground", "law", "normal",
                                           "other", "point"])
        self.assertEqual(len(out["contacts"][60]), 4)
        # friction carries m g sin of the weight
        normal = [math.sin(SLOPE), 0, math.cos(SLOPE)]
        along = sum(f * n for c in out["contacts"][60] for f, n in zip(c["force"], normal))
        self.assertAlmostEqual(along, 2 * 9.81 * math.cos(SLOPE), 5)

    def test_jumper(self):
        self.check(sample("jumper_stiff"), 1.0, 0.95, 200)

    def test_ragdoll(self):
        scene, _, forces = self.check(ragdoll(), 1.0, 0.5, 100)
        self.assertGreater(max(len(forces.contacts(k)) for k in range(forces.samples)), 9)
        # Nothing moves its joints: the law's memory was followed well enough for that to show.
        torques = sorted(max(map(abs, forces.torque[k * scene.dof:(k + 1) * scene.dof]))
                         for k in range(forces.samples))
        self.assertLess(torques[len(torques) // 2], 1.0)

    def test_what_contacts_cannot_give_is_named(self):
        track = {"format": "skel-track/1", "fps": 120, "bodies": ["block"], "frame_start": 5,
                 "position": [[[3 * (k / 120) ** 2, 0, 0.0999]] for k in range(31)],
                 "orientation": [[[1, 0, 0, 0]]] * 31}
        flat = {**BLOCK, "ground": [{"friction": 0.3}]}
        done = skel("inverse", self.put("flat.json", flat), self.put("pulled.json", track))
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"pulled.json: warning: frame \d+: 'block' needs .* N "
                                      r"that contacts cannot provide")

    def test_what_no_equation_tells_is_named(self):
        """An arm that attached to the world and rests on a table: its joint could carry it too."""
        scene = {"format": "skel-scene/1", "name": "arm",
                 "bodies": [{"name": "arm", "mass": 1, "inertia": [0.01, 0.01, 0.01],
                             "position": [0.5, 0, 0.05],
                             "shape": {"type": "sphere", "radius": 0.0501}}],
                 "joints": [{"name": "hinge", "type": "hinge", "bodies": ["world", "arm"],
                             "anchor": [0, 0, 0.05], "axis": [0, 1, 0]}],
                 "ground": [{}]}
        track = {"format": "skel-track/1", "fps": 120, "bodies": ["arm"], "frame_start": 1,
                 "position": [[[0.5, 0, 0.05]]] * 20, "orientation": [[[1, 0, 0, 0]]] * 20}
        done = skel("inverse", self.put("table.json", scene), self.put("rests.json", track),
                    "--to", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("in 20 of 20 frames the equations do not determine the force", done.stderr)
        out = json.loads(done.stdout)
        self.assertEqual(out["contact_law"], list(range(1, 21)))
        contact = out["contacts"][3][0]
        self.assertAlmostEqual(norm(contact["force"]), contact["law"])

    def test_muscles_count_as_unknown(self):
        """The knee of the jumper in the air: all of its torque is the muscle's, in its column."""
        text = json.loads(sample("jumper_stiff"))
        for joint in text["joints"]:
            joint["muscle"] = {"growth": 1e-9, "max": 856, "start": 40}
        text["ground"] = []
        _, _, forces = self.bake(json.dumps(text), 0.02)
        for k in range(20, 60):
            self.assertAlmostEqual(abs(forces.torque[2 * k]), 40, 5)


class Flight(InFolder):
    def test_there_and_back(self):
        """A flight of the arm, and the bake of its inverse: the residual in the air is nothing."""
        out, take = self.folder / "flight.json", self.folder / "take.json"
        done = skel("flight", self.scene, "--from", "scene", "--to", f"{self.track_file}@40",
                    "--time", "0.4", "-o", out, "--scene", take)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        track = json.loads(out.read_text())
        self.assertEqual((track["fps"], track["frame_start"], len(track["q"])), (120, 10, 49))
        for body in range(5):
            self.assertLess(math.dist(track["position"][-1][body],
                                      self.track["position"][30][body]), 1e-9)
        self.assertLess(track["report"]["residual_angle"], 1e-9)
        scene = json.loads(take.read_text())
        self.assertEqual(scene["bodies"][1]["velocity"], track["velocity"][0][1])
        self.assertEqual((scene["bake"]["frame_start"], scene["bake"]["frame_end"]), (10, 58))
        done = skel("inverse", self.scene, out)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        forces = [abs(float(row[f"root.residual.{c}"])) for row in rows[6:-6]
                  for c in ("fx", "fy", "fz", "tx", "ty", "tz")]
        self.assertLess(max(forces), 1e-5)

    def test_poses_and_turns(self):
        pose = skel("fk", self.scene, "-o", self.folder / "pose.json")
        self.assertEqual(pose.returncode, 0, pose.stderr)
        done = skel("flight", self.scene, "--from", self.folder / "pose.json", "--to", "scene",
                    "--time", "1", "--turns", "1", "--about", "0,1,0", "--fps", "24")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        track = json.loads(done.stdout)
        report = track["report"]
        self.assertAlmostEqual(abs(report["turned"]), 2 * math.pi, 1)
        self.assertAlmostEqual(report["velocity"][2], 9.81 / 2)
        self.assertLess(report["residual_angle"], 1e-10)
        self.assertEqual(len(track["position"]), 25)

    def test_wrong_calls(self):
        s, t = self.scene, self.track_file
        base = ("flight", s, "--from", "scene")
        self.refused(skel(*base, "--to", "scene"), "--time: is missing")
        self.refused(skel(*base, "--time", "1"), "--to: is missing")
        self.refused(skel(*base, "--to", t, "--time", "1"), "is a track", "@10")
        self.refused(skel(*base, "--to", f"{t}@9", "--time", "1"), "no frame 9", "10 to 70")
        self.refused(skel(*base, "--to", "scene", "--time", "0"), "--time")
        self.refused(skel(*base, "--to", "scene", "--time", "1", "--turns", "x"), "--turns")
        self.refused(skel(*base, "--to", "scene", "--time", "1", "--about", "1,2"), "--about")
        self.refused(skel(*base, "--to", "scene", "--time", "1", "-o", s), "overwritten")
        self.refused(skel("flight", SAMPLES / "pendulum.json", "--from", "scene", "--to", "scene",
                          "--time", "1"), "attached to the world")
        late = skel(*base, "--to", "scene", "--time", "0.305", "--fps", "10")
        self.assertEqual(late.returncode, 0)
        self.assertIn("before the landing", late.stderr)


if __name__ == "__main__":
    unittest.main()
