# SPDX-License-Identifier: BSD-3-Clause
"""`skel ik` on tables and URDF: a pose that fk gives is found again, or another one with the same
tool."""

import json
import random
import subprocess
import unittest

import common

URDF = common.ROOT / "tests" / "data" / "urdf" / "features.urdf"


def run(*arguments):
    return subprocess.run([common.BIN, *map(str, arguments)], capture_output=True, check=False,
                          text=True)


def numbers(values):
    return ",".join(map(repr, values))


def fk(robot, q):
    return json.loads(run("fk", robot, "--q=" + numbers(q)).stdout)


class Robots(unittest.TestCase):
    def near(self, a, b, bound):
        self.assertLess(max(abs(x - y) for x, y in zip(a, b)), bound)

    def test_every_robot_reaches_what_it_can(self):
        dice = random.Random(3)
        for line in run("robots").stdout.splitlines():
            robot, count = line.split()[:2]
            document = json.loads((common.SAMPLES / "robots" / f"{robot}.json").read_text())
            unit = 3.141592653589793 / 180 if document.get("angle_unit") == "deg" else 1
            q = []
            for joint in document["joints"]:
                slides = joint.get("type") == "prismatic"
                low, high = joint.get("limits", [0, 0.1] if slides else [-1 / unit, 1 / unit])
                one = 1 if slides else unit
                q.append(one * (low + (0.3 + 0.4 * dice.random()) * (high - low)))
            self.assertEqual(len(q), int(count))
            tool = fk(robot, q)["tool"]
            done = run("ik", robot, "--position=" + numbers(tool["position"]),
                       "--orientation=" + numbers(tool["orientation"]), "--seed=mid")
            self.assertEqual(done.returncode, 0, robot + done.stderr)
            found = json.loads(done.stdout)
            again = fk(robot, found["q"][0])["tool"]
            self.near(again["position"], tool["position"], 1e-5)
            sign = 1 if sum(a * b for a, b in zip(again["orientation"],
                                                  tool["orientation"])) > 0 else -1
            self.near([sign * x for x in again["orientation"]], tool["orientation"], 1e-5)

    def test_frames_of_a_urdf(self):
        done = run("fk", URDF)
        self.assertEqual(done.returncode, 0, done.stderr)
        pose = json.loads(done.stdout)
        name = pose["frames"]["names"][-1]
        place = pose["frames"]["position"][-1]
        done = run("ik", URDF, "--body", name, "--position=" + numbers(place))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["receipts"][0]["reached"])

    def test_wrong_calls(self):
        for arguments, words in (
                ([], "goals: is missing, must be [goal, ...], at least one; or give --position"),
                (["--position=1,2"], "--position: has 2 numbers, must have 3"),
                (["--position=1,2,3,4"], "--position: is '1,2,3,4', must have 3 numbers"),
                (["--position=1,x,3"], "--position: number 2 is 'x', must be a number"),
                (["--orientation=0,0,0,0"], "orientation: must not be zero"),
                (["--body=nose", "--position=1,2,3"], "--body: is 'nose', must be a body"),
                (["--body=tool"], "--body: needs --position or --orientation")):
            done = run("ik", "ur5", *arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
        done = run("ik", "ur5", "--position=9,9,9")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 of 1 frames not reached", done.stderr)


if __name__ == "__main__":
    unittest.main()
