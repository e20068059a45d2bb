# SPDX-License-Identifier: BSD-3-Clause
"""Joints that go with others, from outside: documents, the command, Python."""

import json
import math
import tempfile
import unittest
from pathlib import Path

import common
import test_documents as documents
import test_ik

import skelpy
from skelpy import scene as document

run = test_ik.run

# A lift: hinge j1 leads hinge j2, which leads slide j3; degrees and metres.
LIFT = {
    "format": "skel-scene/1", "angle_unit": "deg",
    "bodies": [
        {"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0.5]},
        {"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 1.5]},
        {"name": "c", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 2.25]}],
    "joints": [
        {"name": "j1", "type": "hinge", "bodies": ["world", "a"], "anchor": [0, 0, 0],
         "axis": [1, 0, 0], "limits": [-90, 90]},
        {"name": "j2", "type": "hinge", "bodies": ["a", "b"], "anchor": [0, 0, 1],
         "axis": [1, 0, 0], "mimic": {"joint": "j1", "multiplier": -2, "offset": 30}},
        {"name": "j3", "type": "slide", "bodies": ["b", "c"], "axis": [0, 0, 1],
         "mimic": {"joint": "j2", "multiplier": 0.01, "offset": 0.2}}]}


def tip(angle):
    """y and z of body c, for q of j1 in rad: our own arithmetic."""
    second = -2 * angle + math.radians(30)
    out = 1.25 + 0.01 * math.degrees(second) + 0.2
    return (-math.sin(angle) - out * math.sin(angle + second),
            math.cos(angle) + out * math.cos(angle + second))


def changed(key, value, joint=1):
    return documents.changed(LIFT, ("joints", joint, "mimic", key), value)


class EveryMimicFieldWrong(documents.EveryFieldWrong):
    scene = {**LIFT, "joints": LIFT["joints"][:2], "bodies": LIFT["bodies"][:2]}
    required = {"joints[1].mimic.joint"}
    positive = set()
    may_be_empty = {"bodies", "joints", "format", "joints[0].name", "joints[1].name"}


class Documents(unittest.TestCase):
    def said(self, scene):
        return documents.parse(documents.to_text(scene))

    def test_wrong_leaders(self):
        must = 'must be the name of another joint'
        for name in ("j2", "j9", "world"):
            self.assertEqual(self.said(changed("joint", name)),
                             f'joints[1].mimic.joint: is "{name}", {must}')
        self.assertIn("joints[1].mimic: the chain of mimic joints is cyclic",
                      self.said(changed("joint", "j3")))
        ball = documents.changed(LIFT, ("joints", 0, "type"), "ball")
        del ball["joints"][0]["axis"], ball["joints"][0]["limits"]
        self.assertIn("joints[1].mimic: 'j1' is a ball", self.said(ball))

    def test_round_trip(self):
        one = skelpy.Scene.from_json(documents.to_text(LIFT))
        self.assertEqual(list(one.mimics), [1, 2])
        for joint, (factor, offset) in ((1, (-2, math.radians(30))),
                                        (2, (-0.02 * 180 / math.pi, 0.3 + 0.2))):
            leader, *got = one.mimics[joint]
            self.assertEqual(leader, 0)
            self.assertAlmostEqual(got[0], factor, 14)
            self.assertAlmostEqual(got[1], offset, 14)
        text = one.to_json()
        again = json.loads(text)["joints"]
        self.assertEqual(again[2]["mimic"]["joint"], "j2")  # as it was said, not its end
        self.assertNotIn("mimic", again[0])
        two = skelpy.Scene.from_json(text)
        self.assertEqual(two.mimics, one.mimics)
        self.assertEqual(two.to_json(), text)
        plain = document.Scene.from_json(documents.to_text(LIFT))
        self.assertEqual(json.loads(plain.to_json())["joints"][1]["mimic"],
                         LIFT["joints"][1]["mimic"])

    def test_the_robots_list(self):
        """What older documents have; it may repeat what the joint says, not gainsay it."""
        listed = json.loads(json.dumps(LIFT))
        del listed["joints"][1]["mimic"]
        entry = {"joint": "j2", "of": "j1", "factor": -2, "offset": math.radians(30)}
        listed["robot"] = {"frames": [], "mimic": [entry]}
        one = skelpy.Scene.from_json(documents.to_text(LIFT))
        two = skelpy.Scene.from_json(documents.to_text(listed))
        self.assertEqual(one.mimics, two.mimics)
        both = {**LIFT, "robot": {"frames": [], "mimic": [entry]}}
        self.assertIsNone(self.said(both))
        both["robot"]["mimic"] = [{**entry, "factor": 2}]
        self.assertEqual(self.said(both), "robot.mimic[0]: differs from joints[1].mimic, "
                         "must agree with it (or be left out)")
        both["robot"]["mimic"] = [{**entry, "of": "j9"}]
        self.assertEqual(self.said(both), 'robot.mimic[0].of: is "j9", must be the name of another '
                                          "joint")

    def test_a_pose_that_does_not_obey_is_warned_of(self):
        done = run("check", "-", input=documents.to_text(LIFT).encode())
        self.assertEqual(done.returncode, 0)
        self.assertIn("joints[1].mimic: the given pose violates it: q is 0 rad, should be "
                      "0.523599 rad", (done.stdout + done.stderr).decode())


class Command(unittest.TestCase):
    def test_fk(self):
        for angle in (-0.7, 0, 0.1, 0.4):
            for q in (f"{angle!r}", f"{angle!r},9,9"):
                done = run("fk", "-", f"--q={q}", input=documents.to_text(LIFT).encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                x, y, z = json.loads(done.stdout)["position"][2]
                self.assertEqual(x, 0)
                self.assertAlmostEqual(y, tip(angle)[0], 13)
                self.assertAlmostEqual(z, tip(angle)[1], 13)

    def test_ik(self):
        for angle in (-0.6, 0.2, 0.5):
            y, z = tip(angle)
            goals = [{"body": "c", "position": [0, y, z]}]
            code, track, said = test_ik.solve({**LIFT, "goals": goals})
            self.assertEqual(code, 0, said)
            q = track["q"][0]
            self.assertAlmostEqual(q[1], -2 * q[0] + math.radians(30), 14)
            self.assertAlmostEqual(q[2], 0.01 * math.degrees(q[1]) + 0.2, 14)
            self.assertAlmostEqual(track["position"][0][2][1], y, 4)
            self.assertAlmostEqual(track["position"][0][2][2], z, 4)

    def test_other_documents_keep_it(self):
        mimics = skelpy.Scene.from_json(documents.to_text(LIFT)).mimics
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder, "lift.json")
            here.write_text(documents.to_text(LIFT))
            for name, to in (("a.urdf", "urdf"), ("a_dh.json", "dh"), ("a.json", "scene")):
                there, back = Path(folder, name), Path(folder, "back.json")
                for call in (("convert", here, there, "--to", to),
                             ("convert", there, back, "--to", "scene")):
                    done = run(*call)
                    self.assertEqual(done.returncode, 0, done.stderr)
                got = skelpy.Scene.from_json(back.read_text()).mimics
                self.assertEqual(list(got), [1, 2], to)
                for joint, (leader, factor, offset) in got.items():
                    self.assertEqual(leader, 0)
                    self.assertAlmostEqual(factor, mimics[joint][1], 12)
                    self.assertAlmostEqual(offset, mimics[joint][2], 12)
            done = run("convert", here, "-", "--to", "csv")
            self.assertIn(b"# - goes with another joint, which this table does not hold: j2",
                          done.stdout)
            done = run("dh", "extract", here, "--root", "a")
            self.assertIn(b"goes with a joint that is not of this chain, here it is free: j2",
                          done.stdout)
            table = json.loads(run("dh", "extract", here).stdout)
            table["joints"][1]["mimic"]["joint"] = "j9"
            done = run("check", "-", input=json.dumps(table).encode())
            self.assertEqual(done.returncode, 2)
            self.assertIn(b'joints[1].mimic.joint: is "j9", must be the name of another joint',
                          done.stdout + done.stderr)

    def test_dynamics_says_that_it_does_not(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "r.json")
            done = run("bake", "-", "--end", "3", "--report", report, "-o", Path(folder, "t.json"),
                       input=documents.to_text(LIFT).encode())
            self.assertEqual(done.returncode, 0, done.stderr)
            text = ("joint 'j2' mimics 'j1' (and 1 more like it): dynamics has no such constraint, "
                    "it moves on its own")
            self.assertIn(text, done.stderr.decode())
            self.assertIn(text, json.loads(report.read_text())["warnings"])


class Urdf(unittest.TestCase):
    def test_is_written_once(self):
        """With the joints; the robot's list is only read."""
        path = common.ROOT / "tests" / "data" / "urdf" / "features.urdf"
        scene = skelpy.Scene.from_json(path.read_text("utf-8"))
        made = json.loads(scene.to_json())
        self.assertNotIn("mimic", made["robot"])
        self.assertEqual(sum("mimic" in joint for joint in made["joints"]), len(scene.mimics))
        self.assertGreater(len(scene.mimics), 0)

    def test_fk_obeys_whatever_its_q(self):
        features = common.ROOT / "tests" / "data" / "urdf" / "features.urdf"
        import test_urdf
        free = test_urdf.links_at(features, [0.1, 0.2, 0.3, 0.02, 0.5])
        wrong = test_urdf.links_at(features, [0.1, 0.2, 0.3, 0.02, 7, 0.5])
        self.assertEqual(free, wrong)


if __name__ == "__main__":
    unittest.main()
