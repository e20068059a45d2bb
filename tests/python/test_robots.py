# SPDX-License-Identifier: BSD-3-Clause
"""DH tables: published robots with their reference poses and torques, tables there and back, CSV,
what skel check says of known faults."""

import json
import math
import pathlib
import random
import re
import struct
import subprocess
import tempfile
import unittest

import common
import skelpy

ROBOTS = common.SAMPLES / "robots"
TABLES = json.loads((ROBOTS / "source" / "tables.json").read_text(encoding="utf-8"))["robots"]
ROUNDED = 5e-5 + 1e-9  # the references have four decimals, or six digits
BY_ID = {robot["id"]: robot for robot in TABLES}


def run(*arguments, **options):
    return subprocess.run([common.BIN, *map(str, arguments)], capture_output=True, check=False,
                          **options)


def document(table, **fields):
    """The skel-dh/1 of a published table."""
    doc = {"format": "skel-dh/1", "convention": table["convention"], "joints": table["joints"]}
    doc.update({end: table[end] for end in ("base", "tool") if end in table})
    doc.update(fields)
    return doc


def scene_of(doc):
    return skelpy.Scene.from_json(doc if isinstance(doc, str) else json.dumps(doc))


def rotated(q, v):
    w, x, y, z = q
    t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])]
    return [v[0] + w * t[0] + y * t[2] - z * t[1], v[1] + w * t[1] + z * t[0] - x * t[2],
            v[2] + w * t[2] + x * t[1] - y * t[0]]


def turned(a, b):
    return [a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]]


def tool_at(scene, q):
    """The tool as 3x4, by the engine's kinematics and the frame of the scene."""
    body, pose = scene.named_frames["tool"]
    x = skelpy.fk(scene, q)[7 * body:7 * body + 7]
    place = [a + b for a, b in zip(x[:3], rotated(x[3:], pose[:3]))]
    turn = turned(x[3:], pose[3:])
    axes = [rotated(turn, e) for e in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return [[axes[0][i], axes[1][i], axes[2][i], place[i]] for i in range(3)]


def apart(a, b):
    return max(abs(a[i][j] - b[i][j]) for i in range(3) for j in range(4))


def reach_of(table):
    return sum(abs(j["a"]) + abs(j["d"]) for j in table["joints"]) + 1e-3


class References(unittest.TestCase):
    def test_reference_poses(self):
        count = 0
        for robot in TABLES:
            for ref in robot.get("fk_reference", []):
                scene = scene_of(document(robot["tables"][ref["table"]]))
                off = apart(tool_at(scene, ref["q"]), ref["T"])
                self.assertLess(off, ref["tol"] + 1e-12, (robot["id"], ref["source"]))
                if ref["T"][0][0] != round(ref["T"][0][0], 6):  # given in full: UR10, Panda
                    self.assertLess(off, 1e-12, robot["id"])
                    count += 1
        self.assertGreaterEqual(count, 10)

    def test_every_table_at_one_pose(self):
        for robot in TABLES:
            for table in robot["tables"]:
                q, must = table["fk_check"]
                self.assertLess(apart(tool_at(scene_of(document(table)), q), must), 1e-11,
                                robot["id"])


class Puma(unittest.TestCase):
    """Torques, inertia and acceleration of the PUMA 560 against the Robotics Toolbox. What the
    model does not have is added here: the motors' inertia and friction, seen through the gears."""

    def setUp(self):
        robot = BY_ID["puma560"]
        self.ref, motors = robot["dynamics_reference"], robot["motors"]
        self.scene = skelpy.Scene.from_file(ROBOTS / "puma560.json")
        self.qn = self.scene.named_poses["qn"]
        gear = motors["gear"]
        self.rotor = [g * g * j for g, j in zip(gear, motors["inertia"])]
        self.viscous = [g * g * b for g, b in zip(gear, motors["viscous"])]
        self.coulomb = [abs(g) * c[0] for g, c in zip(gear, motors["coulomb"])]

    def torque(self, qd, qdd, scene=None):
        """Of the links alone; accelerations of the bodies by fourth-order differences."""
        scene, h = scene or self.scene, 1e-3

        def speeds(t):
            with skelpy.State(scene) as state:
                state.q = [a + b * t + c * t * t / 2 for a, b, c in zip(self.qn, qd, qdd)]
                state.qd = [b + c * t for b, c in zip(qd, qdd)]
                return list(state.velocities)
        one, two, back, far = (speeds(t) for t in (h, 2 * h, -h, -2 * h))
        rate = [(8 * (a - c) - (b - d)) / (12 * h) for a, b, c, d in zip(one, two, back, far)]
        linear = [x for i in range(0, len(rate), 6) for x in rate[i:i + 3]]
        angular = [x for i in range(0, len(rate), 6) for x in rate[i + 3:i + 6]]
        with skelpy.State(scene) as state:
            state.q, state.qd = self.qn, qd
            return list(state.inverse_dynamics(linear, angular)[0])

    def near(self, found, name):
        for a, b in zip(found, self.ref[name]):
            self.assertLess(abs(a - b), ROUNDED, (name, found))

    def test_torques(self):
        zero, one = [0.0] * 6, [1.0] * 6
        friction = [b + c for b, c in zip(self.viscous, self.coulomb)]
        self.near(self.torque(zero, zero), "rne(qn,0,0)")
        self.near([a + b for a, b in zip(self.torque(zero, one), self.rotor)], "rne(qn,0,1)")
        self.near([a + b for a, b in zip(self.torque(one, zero), friction)], "rne(qn,1,0)")
        self.near([sum(x) for x in zip(self.torque(one, one), self.rotor, friction)],
                  "rne(qn,1,1)")

    def test_torques_without_gravity(self):
        one = [1.0] * 6
        doc = json.loads(self.scene.to_json())
        doc["gravity"] = [0, 0, 0]
        friction = [b + c for b, c in zip(self.viscous, self.coulomb)]
        self.near([sum(x) for x in zip(self.torque(one, one, scene_of(doc)), self.rotor, friction)],
                  "rne(qn,1,1,g=0)")

    def test_a_force_at_the_tool(self):
        """The hand pushes with a force and a torque that are given in the tool's own axes."""
        doc = json.loads(self.scene.to_json())
        x = tool_at(self.scene, self.qn)
        push = [sum(x[i][j] * (1, 2, 3)[j] for j in range(3)) for i in range(3)]
        turn = [sum(x[i][j] * (1, 2, 3)[j] for j in range(3)) for i in range(3)]
        com = skelpy.fk(self.scene, self.qn)[35:38]
        r = [x[i][3] - com[i] for i in range(3)]
        moment = [r[1] * push[2] - r[2] * push[1], r[2] * push[0] - r[0] * push[2],
                  r[0] * push[1] - r[1] * push[0]]
        doc["bodies"][5]["force"] = [-f for f in push]
        doc["bodies"][5]["torque"] = [-a - b for a, b in zip(turn, moment)]
        self.near(self.torque([0.0] * 6, [0.0] * 6, scene_of(doc)),
                  "rne(qn,0,0,fext=[1,2,3,1,2,3])")

    def inertia(self):
        zero = [0.0] * 6
        weight = self.torque(zero, zero)
        columns = []
        for k in range(6):
            push = self.torque(zero, [float(i == k) for i in range(6)])
            columns.append([a - b + (self.rotor[k] if i == k else 0.0)
                            for i, (a, b) in enumerate(zip(push, weight))])
        return columns

    def test_inertia(self):
        must = self.ref["inertia(qn)"]
        for i, column in enumerate(self.inertia()):
            for k, value in enumerate(column):
                self.assertLess(abs(value - must[k][i]), ROUNDED, (i, k))

    def test_acceleration(self):
        name = next(n for n in self.ref if n.startswith("accel"))
        qd, tau = [.1, .2, .8, .2, .5, 1], [1, 3.2, 1.8, .1, .7, 4.6]
        bias = [sum(x) for x in zip(self.torque(qd, [0.0] * 6), self.coulomb,
                                    (b * v for b, v in zip(self.viscous, qd)))]
        columns = self.inertia()
        rows = [[columns[k][i] for k in range(6)] + [tau[i] - bias[i]] for i in range(6)]
        for i in range(6):  # Gauss; the matrix is symmetric and definite
            for k in range(i + 1, 6):
                factor = rows[k][i] / rows[i][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
        x = [0.0] * 6
        for i in reversed(range(6)):
            x[i] = (rows[i][6] - sum(rows[i][k] * x[k] for k in range(i + 1, 6))) / rows[i][i]
        for a, b in zip(x, self.ref[name]):
            self.assertLess(abs(a - b), ROUNDED, x)


class ThereAndBack(unittest.TestCase):
    def test_all_tables_in_both_conventions(self):
        seed, count = random.Random(5), 0
        for robot in TABLES:
            for table in robot["tables"]:
                scene, reach = scene_of(document(table)), reach_of(table)
                for convention in ("standard", "modified"):
                    again = scene_of(scene.to_dh(convention))
                    csv = scene_of(scene.to_dh(convention, csv=True))
                    self.assertEqual(again.q_count, scene.q_count)
                    for _ in range(20):
                        q = [seed.uniform(-3, 3) for _ in range(scene.q_count)]
                        must = tool_at(scene, q)
                        self.assertLess(apart(tool_at(again, q), must), 1e-9 * min(reach, 1))
                        self.assertLess(apart(tool_at(csv, q), must), 1e-9 * min(reach, 1))
                count += 1
        self.assertEqual(count, 42)

    def test_all_tables_after_rounding_to_float32(self):
        seed = random.Random(8)

        def rounded(value):
            if isinstance(value, float):
                return struct.unpack("f", struct.pack("f", value))[0]
            if isinstance(value, list):
                return [rounded(item) for item in value]
            if isinstance(value, dict):
                return {name: rounded(item) for name, item in value.items()}
            return value
        for robot in TABLES:
            for table in robot["tables"]:
                doc = json.loads(scene_of(document(table)).to_json())
                scene, reach = scene_of({**rounded(doc), "bake": doc["bake"]}), reach_of(table)
                for convention in ("standard", "modified"):
                    again = scene_of(scene.to_dh(convention))
                    for _ in range(20):
                        q = [seed.uniform(-3, 3) for _ in range(scene.q_count)]
                        self.assertLess(apart(tool_at(again, q), tool_at(scene, q)),
                                        1e-6 * min(reach, 1), robot["id"])

    def test_conversion_of_the_rows(self):
        for robot in TABLES:
            for table in robot["tables"]:
                text = json.dumps(document(table, poses={"one": [0.1] * len(table["joints"])}))
                other = {"standard": "modified", "modified": "standard"}[table["convention"]]
                done = run("dh", "convert", "-", "--convention", other, input=text.encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                doc = json.loads(done.stdout)
                self.assertEqual(doc["convention"], other)
                for row, made in zip(table["joints"], doc["joints"]):
                    self.assertEqual((row["d"], row["theta"]), (made["d"], made["theta"]))
                q = [0.3 * (k + 1) for k in range(len(table["joints"]))]
                self.assertLess(apart(tool_at(scene_of(doc), q), tool_at(scene_of(text), q)), 1e-12)

    def test_masses_go_with_it(self):
        """Torques at rest of the PUMA after extraction, and after a change of convention."""
        scene = skelpy.Scene.from_file(ROBOTS / "puma560.json")
        texts = [scene.to_dh(c) for c in ("standard", "modified")]
        done = run("dh", "convert", "puma560", "--convention", "modified")
        self.assertEqual(done.returncode, 0, done.stderr)
        must = None
        for text in [None, *texts, done.stdout.decode()]:
            made = scene if text is None else scene_of(text)
            with skelpy.State(made) as state:
                state.q = [0.2, 0.5, -0.4, 0.3, 0.7, -0.1]
                still = [0.0] * 3 * made.body_count
                torque = list(state.inverse_dynamics(still, still)[0])
            must = must or torque
            for a, b in zip(torque, must):
                self.assertAlmostEqual(a, b, 10)

    def test_named_poses_go_with_it(self):
        scene = skelpy.Scene.from_file(ROBOTS / "puma560.json")
        self.assertEqual(scene_of(scene.to_dh("modified")).named_poses, scene.named_poses)
        built = run("dh", "build", "puma560").stdout.decode()
        self.assertEqual(scene_of(built).named_poses, scene.named_poses)


# Six joints in the manner of makers' URDFs: angles of 4 to 6 digits, so axes 2 and 3 are 7.3e-6 rad
# off antiparallel, and their common normal is 55.8 km away.
ARM = [((3.1416, 0, 0), (0, 0, 0.15643)), ((1.5708, 0, 0), (0, 0.005375, -0.12838)),
       ((3.1416, 0, 0), (0, -0.41, 0)), ((1.5708, 0, 0), (0, 0.20843, -0.006375)),
       ((-1.5708, 0, 0), (0, 0, -0.10593)), ((1.57080, 0, 0), (0, 0.10593, 0))]
FLANGE = ((3.1416, 0, 0), (0, 0, -0.0615))


def arm_urdf(name="joint_{}"):
    """The arm; only rolls are used, so rpy is (roll, 0, 0)."""
    def joint(label, kind, place, parent, child):
        roll, at = (" ".join(map(repr, numbers)) for numbers in place)
        return (f'<link name="{child}"/><joint name="{label}" type="{kind}"><origin xyz="{at}" '
                f'rpy="{roll}"/><parent link="{parent}"/><child link="{child}"/>'
                '<axis xyz="0 0 1"/></joint>')
    links = "".join(joint(name.format(k + 1), "continuous", place, f"l{k}", f"l{k + 1}")
                    for k, place in enumerate(ARM))
    return (f'<robot name="arm"><link name="l0"/>{links}'
            f'{joint("flange", "fixed", FLANGE, "l6", "tool0")}</robot>')


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(4)) for j in range(4)] for i in range(4)]


def screw(axis, angle, shift):
    """4x4: a turn about x or z, then a shift in the frame before it."""
    c, s = math.cos(angle), math.sin(angle)
    turn = [[1, 0, 0], [0, c, -s], [0, s, c]] if axis == "x" else [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    return [[*turn[k], shift[k]] for k in range(3)] + [[0, 0, 0, 1]]


def arm_tool(q):
    """Where the tool of the URDF is, by its own angles."""
    x = screw("x", 0, (0, 0, 0))
    for (rpy, at), angle in zip(ARM, q):
        x = product(product(x, screw("x", rpy[0], at)), screw("z", angle, (0, 0, 0)))
    return product(x, screw("x", FLANGE[0][0], FLANGE[1]))


def matrix_of(end):
    turn, at = end.get("orientation", [1, 0, 0, 0]), end.get("position", [0, 0, 0])
    columns = [rotated(turn, e) for e in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return [[*(columns[j][i] for j in range(3)), at[i]] for i in range(3)] + [[0, 0, 0, 1]]


def table_tool(table, q):
    """Where a table of hinges says that the tool is, by the formulas of the formats' reference."""
    x = matrix_of(table.get("base", {}))
    for row, angle in zip(table["joints"], q):
        about_z = screw("z", row["theta"] + angle, (0, 0, row["d"]))
        about_x = screw("x", row["alpha"], (row["a"], 0, 0))
        pair = (about_z, about_x) if table["convention"] == "standard" else (about_x, about_z)
        x = product(product(x, pair[0]), pair[1])
    return product(x, matrix_of(table.get("tool", {})))


def receipt_of(table, tool):
    """(m, rad): the largest errors at the poses that skel_dh.h describes."""
    state, place, angle = 1, 0.0, 0.0
    for _ in range(64):
        q = []
        for _ in table["joints"]:
            state = state * 48271 % 2147483647
            q.append(math.pi * (2 * state / 2147483647 - 1))
        one, two = table_tool(table, q), tool(q)
        place = max(place, math.dist([one[k][3] for k in range(3)], [two[k][3] for k in range(3)]))
        off = sum((one[i][j] - two[i][j]) ** 2 for i in range(3) for j in range(3))
        angle = max(angle, 2 * math.asin(math.sqrt(off / 8)))
    return place, angle


class NearlyParallel(unittest.TestCase):
    """A chain whose table would have lengths of 55 km, and what every table says of its cost."""

    def extract(self, *arguments):
        done = run("dh", "extract", "-", "--tip", "tool0", *arguments, input=arm_urdf().encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def longest(self, table):
        return max(abs(row[k]) for row in table["joints"] for k in "ad")

    def test_the_table_has_the_size_of_the_arm_and_says_why(self):
        for convention in ("standard", "modified"):
            text, words = self.extract("--convention", convention)
            table = json.loads(text)
            receipt, (pair,) = table["receipt"], table["receipt"]["parallel"]
            self.assertEqual(self.longest(table), receipt["longest"])
            self.assertLess(receipt["longest"], 0.5)
            self.assertEqual(pair["joints"], ["joint_2", "joint_3"])
            self.assertAlmostEqual(pair["turned"], 3.1416 - math.pi, 12)
            self.assertAlmostEqual(pair["normal_distance"], 0.41 / (3.1416 - math.pi), 1)
            self.assertIn("warning: the axes of 'joint_2' and 'joint_3' deviate from "
                          "parallel by 7.35e-06 rad and were read as parallel: their common "
                          "normal is 55809.6 m away, the reach is 1.02 m (--snap 1e-06 keeps them "
                          "as they are)", words)
            self.assertTrue(any("55809.6 m away" in note for note in table["notes"]))

    def test_the_receipt_is_what_one_finds_oneself(self):
        for options in ((), ("--convention", "modified"), ("--snap", "1e-6"), ("--snap", "1e-4")):
            text, words = self.extract(*options)
            table = json.loads(text)
            place, angle = receipt_of(table, arm_tool)
            said = table["receipt"]
            size = 1e-13 * (1 + said["longest"])
            self.assertAlmostEqual(said["position_error"], place, delta=size)
            self.assertAlmostEqual(said["angle_error"], angle, delta=1e-13)
            self.assertIn(f"within {said['position_error']:.3g} m and {said['angle_error']:.3g} "
                          "rad of its exact pose in 64 test poses", words)
            csv, _words = self.extract(*options, "--to", "csv")
            self.assertIn(f"# position_error: {said['position_error']!r}\n"
                          f"# angle_error: {said['angle_error']!r}\n", csv)
        self.assertLess(place, 2 * 7.35e-6 * said["reach"])
        self.assertGreater(place, 1e-7)

    def test_a_snap_that_is_given_is_kept(self):
        text, words = self.extract("--snap", "1e-6")
        self.assertAlmostEqual(self.longest(json.loads(text)), 55809.577, 3)
        self.assertIn("warning: the axes of 'joint_2' and 'joint_3' deviate from parallel by "
                      "7.35e-06 rad: their common normal is 55809.6 m away", words)
        self.assertIn("--snap 8.1e-06 reads the axes as parallel", words)
        text, words = self.extract("--snap", "8.1e-06")
        self.assertLess(self.longest(json.loads(text)), 0.5)
        self.assertNotIn("warning", words)          # as it was asked for; the receipt names it
        self.assertEqual(len(json.loads(text)["receipt"]["parallel"]), 1)

    def test_a_converted_table_carries_the_cost_on(self):
        text, _words = self.extract()
        for form in ((), ("--to", "csv")):
            table, _words = self.extract(*form)
            done = run("dh", "convert", "-", "--convention", "modified", input=table.encode())
            made, first = json.loads(done.stdout)["receipt"], json.loads(text)["receipt"]
            self.assertAlmostEqual(made["position_error"], first["position_error"], 12)
            self.assertAlmostEqual(made["angle_error"], first["angle_error"], 12)
            self.assertIn(b"receipt: the tool is within 6.77e-06 m and 1.47e-05 rad", done.stderr)

    def test_tables_of_published_robots_have_small_receipts_and_stay(self):
        for robot in TABLES:
            for table in robot["tables"]:
                scene = scene_of(document(table))
                for convention in ("standard", "modified"):
                    text = scene.to_dh(convention)
                    self.assertEqual(text, scene.to_dh(convention, parallel_tolerance=0))
                    said = json.loads(text)["receipt"]
                    self.assertLess(said["position_error"], 1e-13 * (1 + said["reach"]))
                    self.assertLess(said["angle_error"], 1e-13)
                    self.assertNotIn("parallel", said)
                    self.assertEqual(len(scene.dh_report(convention)), 1)
                    self.assertTrue(scene.dh_report(convention)[0].startswith("receipt: "))

    def test_a_receipt_is_checked_like_all_else(self):
        doc = {"format": "skel-dh/1", "convention": "standard", "receipt": {"position_error": -1},
               "joints": [{"type": "revolute", "a": 0, "alpha": 0, "d": 1, "theta": 0}]}
        self.assertIn("receipt.position_error: is -1, must be", "\n".join(
            skelpy.check(json.dumps(doc))))


class Extraction(unittest.TestCase):
    def table(self, scene, *arguments):
        done = run("dh", "extract", "-", *arguments, input=json.dumps(scene).encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def tree(self):
        body = {"mass": 1, "inertia": [1, 1, 1]}
        return {"format": "skel-scene/1", "bodies": [
            {"name": "a", "position": [0, 0, 1], **body},
            {"name": "b", "position": [1, 0, 1], **body},
            {"name": "c", "position": [1, 1, 1], **body},
            {"name": "d", "position": [0, -1, 1], **body}],
            "joints": [
                {"name": "ab", "type": "hinge", "bodies": ["a", "b"], "anchor": [0.5, 0, 1],
                 "axis": [0, 1, 0], "limits": [-1, 2]},
                {"name": "bc", "type": "ball", "bodies": ["b", "c"], "anchor": [1, 0.5, 1]},
                {"name": "ad", "type": "slide", "bodies": ["a", "d"], "anchor": [0, -0.5, 1],
                 "axis": [0, 1, 1]}]}

    def test_root_and_tip(self):
        doc = self.table(self.tree(), "--root", "d", "--tip", "b")
        self.assertEqual([j["name"] for j in doc["joints"]], ["ad", "ab"])
        self.assertEqual([j["type"] for j in doc["joints"]], ["prismatic", "revolute"])
        self.assertEqual(doc["joints"][1]["limits"], [-1, 2])
        scene, made = scene_of(self.tree()), scene_of(doc)
        # seen from d, which stands still: b after the slide (walked backwards) and the hinge
        with skelpy.State(scene) as state:
            q = list(state.q)
            q[scene.joint_q_offset(0)], q[scene.joint_q_offset(2)] = 0.7, 0.4
            x = skelpy.fk(scene, q)
        d0, d, b = [0, -1, 1], x[21:24], x[7:10]
        must = [d0[k] + b[k] - d[k] for k in range(3)]
        found = tool_at(made, [0.4, 0.7])
        for k in range(3):
            self.assertAlmostEqual(found[k][3], must[k], 12)

    def test_a_ball_is_three_hinges_and_says_so(self):
        doc = self.table(self.tree(), "--root", "a", "--tip", "c")
        self.assertEqual([j["name"] for j in doc["joints"]], ["ab", "bc.x", "bc.y", "bc.z"])
        self.assertTrue(any("ball joint" in note and "bc.x" in note for note in doc["notes"]))
        scene, made = scene_of(self.tree()), scene_of(doc)
        x, y, z = 0.3, -0.5, 0.8
        half = [[math.cos(a / 2)] + [math.sin(a / 2) * (k == i) for k in range(3)]
                for i, a in enumerate((x, y, z))]
        q = list(skelpy.State(scene).q)
        q[scene.joint_q_offset(0)] = 0.2
        q[scene.joint_q_offset(1):scene.joint_q_offset(1) + 4] = turned(turned(*half[:2]), half[2])
        must = skelpy.fk(scene, q)[14:17]
        found = tool_at(made, [0.2, x, y, z])
        for k in range(3):
            self.assertAlmostEqual(found[k][3], must[k], 12)

    def test_choices_are_in_the_notes(self):
        notes = " ".join(json.loads(skelpy.Scene.from_file(ROBOTS / "ur5.json").to_dh())["notes"])
        for word in ("base holds", "tool holds", "intersects the next", "parallel to the next"):
            self.assertIn(word, notes)
        slides = skelpy.Scene.from_file(ROBOTS / "stanford.json")
        notes = " ".join(json.loads(slides.to_dh())["notes"])
        self.assertIn("the axis of a slide has only a direction", notes)

    def test_ends_must_be_there(self):
        for arguments, text in ((("--tip", "nobody"), b"tip: is 'nobody', must be a body"),
                                (("--root", "x", "--tip", "b"), b"root: is 'x', must be"),
                                ((), b"tip: is missing, must be named"),
                                (("--root", "b", "--tip", "b"), b"tip: is 'b', must not be")):
            done = run("dh", "extract", "-", *arguments, input=json.dumps(self.tree()).encode())
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)

    def test_a_urdf_has_a_table(self):
        path = common.ROOT / "tests" / "data" / "urdf" / "features.urdf"
        done = run("dh", "extract", path, "--tip", "tcp")
        self.assertEqual(done.returncode, 0, done.stderr)
        frames = json.loads(run("fk", path, "--q=0.3,0,-0.7,0,0,0").stdout)["frames"]
        must = frames["position"][frames["names"].index("tcp")]
        found = tool_at(scene_of(done.stdout.decode()), [0.3, -0.7])
        for k in range(3):
            self.assertAlmostEqual(found[k][3], must[k], 12)


class Tables(unittest.TestCase):
    CSV = ("# convention: modified\n# a comment\n"
           "name,type,a_mm,alpha [deg],d_mm,theta_deg,limit_low,limit_high\n"
           '"one, two",revolute,0,0,333,0,-2,2\nthree,P,100,-90,0,45,0.1,0.5\n')

    def test_csv_with_units_in_the_heading(self):
        text = "# angle_unit: rad\n# length_unit: m\n" + self.CSV
        scene = scene_of(text)
        self.assertEqual(scene.joint_names, ["one, two", "three"])
        doc = {"format": "skel-dh/1", "convention": "modified", "joints": [
            {"type": "revolute", "a": 0, "alpha": 0, "d": 0.333, "theta": 0},
            {"type": "prismatic", "a": 0.1, "alpha": -math.pi / 2, "d": 0, "theta": math.pi / 4}]}
        q = [0.3, 0.2]
        self.assertLess(apart(tool_at(scene, q), tool_at(scene_of(doc), q)), 1e-15)

    def test_what_a_csv_does_not_say_can_be_said(self):
        bare = "type,a,alpha,d,theta\nrevolute,100,90,0,0\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "t.csv")
            path.write_text(bare)
            done = run("dh", "build", path)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"convention: is missing", done.stderr)
            done = run("dh", "build", path, "--convention", "standard", "--angle-unit", "deg",
                       "--length-unit", "mm")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertAlmostEqual(tool_at(scene_of(done.stdout.decode()), [0])[0][3], 0.1, 15)

    def test_sign_offset_units(self):
        doc = {"format": "skel-dh/1", "convention": "standard", "angle_unit": "deg",
               "length_unit": "mm", "joints": [
                   {"type": "revolute", "a": 500, "alpha": 0, "d": 0, "offset": 30, "sign": -1},
                   {"type": "prismatic", "a": 0, "alpha": 0, "theta": 0, "offset": 100, "sign": -1,
                    "limits": [-50, 50]}],
               "poses": {"home": [10, 20]}}
        scene = scene_of(doc)
        self.assertAlmostEqual(scene.named_poses["home"][0], math.radians(10), 15)
        self.assertAlmostEqual(scene.named_poses["home"][1], 0.02, 15)
        x = tool_at(scene, scene.named_poses["home"])
        self.assertAlmostEqual(x[0][3], 0.5 * math.cos(math.radians(20)), 14)
        self.assertAlmostEqual(x[1][3], 0.5 * math.sin(math.radians(20)), 14)
        self.assertAlmostEqual(x[2][3], 0.08, 14)

    def test_base_and_tool_as_matrix_and_as_frame(self):
        matrix = [[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]]
        frame = {"position": [0.1, 0.2, 0.3], "orientation": [math.sqrt(.5), 0, 0, math.sqrt(.5)]}
        joints = BY_ID["ur5"]["tables"][0]["joints"]
        docs = [{"format": "skel-dh/1", "convention": "standard", "joints": joints, "base": end,
                 "tool": end} for end in (matrix, frame)]
        q = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
        self.assertLess(apart(*(tool_at(scene_of(doc), q) for doc in docs)), 1e-14)


class Format(unittest.TestCase):
    def test_the_table_of_the_reference(self):
        text = (common.ROOT / "plugin_bridge/FORMAT.md").read_text(encoding="utf-8")
        block = next(b for b in re.findall("```json\n(.*?)```", text, re.S) if "skel-dh/1" in b)
        scene = scene_of(block)
        self.assertEqual(scene.joint_names, ["turn", "lift", "reach"])
        said = run("check", "-", input=block.encode()).stdout.decode().splitlines()
        self.assertEqual(len(said), 2, said)                # it has no masses, else all is well
        self.assertIn("warning: links 'turn', 'lift', 'reach': mass: is not given", said[0])


class Named(unittest.TestCase):
    def test_robots_are_listed_and_found(self):
        lines = run("robots").stdout.decode().splitlines()
        self.assertEqual([line.split()[0] for line in lines], sorted(BY_ID))
        for line in lines:
            done = run("dh", "build", line.split()[0])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["format"], "skel-scene/1")

    def test_documents_are_those_the_script_makes(self):
        script = common.load_script(common.SAMPLES / "make_robots.py")
        for robot in TABLES:
            doc = script.text(script.document(robot))
            self.assertEqual((ROBOTS / f"{robot['id']}.json").read_text(encoding="utf-8"), doc)

    def test_a_robot_that_nobody_knows(self):
        done = run("fk", "ur77")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"ur77: No such file or directory, and no robot has this name", done.stderr)

    def test_a_folder_of_ones_own(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "mine.json").write_text((ROBOTS / "ur5.json").read_text())
            done = run("fk", "mine", "--pose", "qr", env={"SKEL_ROBOTS": folder})
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_poses_by_name(self):
        for robot in TABLES:
            for name, q in robot.get("poses", {}).items():
                one = run("fk", robot["id"], "--pose", name)
                two = run("fk", robot["id"], "--q=" + ",".join(map(repr, map(float, q))))
                self.assertEqual(one.returncode, 0, one.stderr)
                self.assertEqual(one.stdout, two.stdout)
        done = run("fk", "ur5", "--pose", "none")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--pose: is 'none', must be one of: qz, qr", done.stderr)

    def test_commands_take_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            track = pathlib.Path(folder, "t.json")
            done = run("bake", "puma560", "--end", "5", "-o", track)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = run("inverse", "puma560", track)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = run("bake", "ur5", "--end", "5", "-o", track)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"inertia: is not given, or impossible for a solid, and was estimated",
                          done.stderr)
            pose = pathlib.Path(folder, "p.json")
            self.assertEqual(run("fk", "puma560", "--pose", "qr", "-o", pose).returncode, 0)


class Faults(unittest.TestCase):
    """skel check warns of what published tables get wrong."""

    def warnings(self, doc):
        done = run("check", "-", input=json.dumps(doc).encode())
        self.assertEqual(done.returncode, 0, done.stdout)
        return [line for line in done.stdout.decode().splitlines() if "warning" in line]

    def test_limits_without_the_zero_pose(self):
        lines = run("check", "franka_panda").stdout.decode()
        self.assertIn("joints[3].limits: are [-3.0718, -0.0698] rad, which exclude q = 0", lines)

    def test_units(self):
        table = BY_ID["kuka_lbr_iiwa7"]["tables"][0]
        long = [{**j, "d": j["d"] * 1000} for j in table["joints"]]
        self.assertTrue(any("is it in mm?" in w
                            for w in self.warnings(document(table, joints=long))))
        deg = [{**j, "alpha": math.degrees(j["alpha"])} for j in table["joints"]]
        self.assertTrue(any("in degrees?" in w for w in self.warnings(document(table, joints=deg))))
        self.assertTrue(any("in radians?" in w
                            for w in self.warnings(document(table, angle_unit="deg"))))
        self.assertTrue(any("is it in m?" in w
                            for w in self.warnings(document(table, length_unit="mm"))))
        wide = [{**j, "limits": [-170, 170]} for j in table["joints"]]
        self.assertTrue(any("limits: extend to 170 rad" in w
                            for w in self.warnings(document(table, joints=wide))))

    def test_a_centre_of_mass_in_another_unit(self):
        table = BY_ID["stanford"]["tables"][0]  # published: 6.447 m for link 3
        joints = [dict(j) for j in table["joints"]]
        joints[2]["com"] = [0, 0, -6.447]
        self.assertTrue(any("joints[2].com: is 6.447 m" in w
                            for w in self.warnings(document(table, joints=joints))))

    def test_conventions(self):
        for robot, wrong in (("kuka_lbr_iiwa7", "standard"), ("puma560", "modified"),
                             ("ur5", "modified"), ("franka_panda", "standard")):
            table = document(BY_ID[robot]["tables"][0])
            self.assertFalse(any("convention" in w for w in self.warnings(table)), robot)
            table["convention"] = wrong
            self.assertTrue(any("convention: is" in w for w in self.warnings(table)), robot)

    def test_a_twist_that_is_missing(self):
        table = BY_ID["kuka_lwr4"]["tables"][0]
        joints = [dict(j) for j in table["joints"]]
        joints[1]["alpha"] = -math.pi  # the misprint of a published file
        self.assertTrue(any("rotates about the same line" in w
                            for w in self.warnings(document(table, joints=joints))))

    def test_good_tables_are_left_alone(self):
        """Of the 42 tables few are suspected, and none of a wrong convention or unit."""
        for robot in TABLES:
            for k, table in enumerate(robot["tables"]):
                for line in self.warnings(document(table)):
                    self.assertRegex(line, "exclude q = 0|same line|mass: is not given",
                                     (robot["id"], k))


if __name__ == "__main__":
    unittest.main()
