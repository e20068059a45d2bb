# SPDX-License-Identifier: BSD-3-Clause
"""URDF: read, written and read again; poses against a second reader (tests/urdf_fk.py)."""

import json
import math
import os
import pathlib
import random
import re
import subprocess
import tempfile
import unittest

import common
import skelpy

JUDGE = common.load_script(common.ROOT / "tests" / "urdf_fk.py")
OWN = sorted((common.ROOT / "tests" / "data" / "urdf").glob("*.urdf"))
PUBLIC = common.ROOT.parent / "shared" / "data" / "urdf"
FEATURES = common.ROOT / "tests" / "data" / "urdf" / "features.urdf"


def run(*arguments, **options):
    return subprocess.run([common.BIN, *map(str, arguments)], capture_output=True, check=False,
                          **options)


def matrix(position, orientation):
    w, x, y, z = orientation
    return [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), position[0]],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), position[1]],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), position[2]]]


def links_at(path, q):
    """{link: 3x4} by skel fk."""
    done = run("fk", path, "--q=" + ",".join(map(repr, q)))
    assert done.returncode == 0, done.stderr
    frames = json.loads(done.stdout)["frames"]
    return {name: matrix(p, o) for name, p, o in
            zip(frames["names"], frames["position"], frames["orientation"])}


class Files(unittest.TestCase):
    """What must hold for every URDF: the project's own and, where they are, the public ones."""

    def files(self):
        public = sorted(PUBLIC.glob("*.urdf"))
        if not public:
            print(f"\nskipped: no public URDF files in {PUBLIC.name} beside the project")
        return OWN + public

    def test_poses_agree_with_a_second_reader(self):
        seed = random.Random(6)
        for path in self.files():
            robot, worst = JUDGE.load(path), 0.0
            names = [joint.get("name") for joint in JUDGE.moving(robot)]
            for _ in range(20):
                q = [seed.uniform(-2, 2) for _ in names]
                must = JUDGE.frames(robot, dict(zip(names, q)))
                found = links_at(path, q)
                self.assertLessEqual(set(must), set(found) | {"world"})
                for link, place in must.items():
                    worst = max(worst, *(abs(found[link][i][j] - place[i][j])
                                         for i in range(3) for j in range(4)))
            self.assertLess(worst, 1e-9, path)

    def test_written_and_read_again_it_is_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in self.files():
                again = pathlib.Path(folder, path.name)
                self.assertEqual(run("convert", path, again).returncode, 0)
                one, two = run("convert", path, "-").stdout, run("convert", again, "-").stdout
                self.assertEqual(one, two, path)
                self.assertEqual(run("convert", again, "-", "--to", "urdf").stdout,
                                 again.read_bytes(), path)

    def test_through_a_scene_and_back(self):
        seed = random.Random(7)
        with tempfile.TemporaryDirectory() as folder:
            for path in self.files():
                scene, back = pathlib.Path(folder, "s.json"), pathlib.Path(folder, "b.urdf")
                self.assertEqual(run("convert", path, scene).returncode, 0)
                done = run("convert", scene, back)
                self.assertEqual(done.returncode, 0, done.stderr)
                names = skelpy.Scene.from_file(path).joint_names
                moving = [j.get("name") for j in JUDGE.moving(JUDGE.load(path))]
                robot = JUDGE.load(back)
                q = {name: seed.uniform(-2, 2) for name in moving}
                must = JUDGE.frames(JUDGE.load(path), q)
                found = JUDGE.frames(robot, q)
                self.assertLessEqual({n for n in moving}, set(names))
                for link, place in must.items():
                    off = max(abs(found[link][i][j] - place[i][j])
                              for i in range(3) for j in range(4))
                    self.assertLess(off, 1e-9, (path, link))


class Features(unittest.TestCase):
    def setUp(self):
        self.scene = skelpy.Scene.from_file(FEATURES)

    def test_links_without_mass_are_frames(self):
        self.assertEqual(self.scene.body_names, ["trunk", "arm_left", "arm_right", "hand",
                                                 "finger_a", "finger_b", "wheel"])
        bodies = {name: body for name, (body, _) in self.scene.named_frames.items()}
        names = self.scene.body_names
        self.assertEqual(names[bodies["mount"]], "trunk")
        self.assertEqual(names[bodies["flange"]], "hand")
        self.assertEqual(names[bodies["tcp"]], "hand")
        self.assertEqual(names[bodies["base"]], "trunk")
        self.assertEqual(self.scene.joint_names, ["shoulder_left", "shoulder_right", "wrist",
                                                  "slide_a", "slide_b", "wheel_joint"])

    def test_a_moving_link_without_mass_is_named_by_dynamics(self):
        self.scene.check_dynamics()
        done = run("bake", FEATURES, "--end", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"link 'wheel': mass: is 0", done.stderr)

    def test_dynamics_of_the_rest(self):
        text = FEATURES.read_text().replace('<link name="wheel"/>', '''<link name="wheel"><inertial>
          <mass value="0.2"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"/></inertial></link>''')
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "whole.urdf")
            path.write_text(text)
            done = run("bake", path, "--end", "5", "-o", os.path.join(folder, "t.json"))
            self.assertEqual(done.returncode, 0, done.stderr)
            done = run("inverse", path, os.path.join(folder, "t.json"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(b"wrist", done.stdout)

    def test_everything_else_is_kept(self):
        text = run("convert", FEATURES, "-", "--to", "urdf").stdout.decode()
        for part in ('filename="package://features/meshes/trunk &amp; co.dae"',
                     'filename="meshes/arm.stl"', '<material name="grey"', "safety_controller",
                     "<transmission", 'xmlns:extra="urn:extra"', "kept &lt;as it is&gt;",
                     'effort="80" velocity="3"', 'friction="0.1"',
                     '<mimic joint="slide_a" multiplier="-1" offset="0.001"/>'):
            self.assertIn(part, text)

    def test_mimic_follows_where_its_q_is_left_out(self):
        free = links_at(FEATURES, [0.1, 0.2, 0.3, 0.02, 0.5])
        full = links_at(FEATURES, [0.1, 0.2, 0.3, 0.02, -0.019, 0.5])
        self.assertEqual(free, full)

    def test_masses_of_the_model(self):
        trunk = self.scene.body(0)
        self.assertEqual(trunk["mass"], 4)
        self.assertEqual(trunk["motion"], 1)  # the root stands
        at = JUDGE.frames(JUDGE.load(FEATURES), {})["trunk"]
        com = [sum(at[i][j] * (0.01, -0.02, 0.1)[j] for j in range(3)) + at[i][3] for i in range(3)]
        for i in range(3):
            self.assertAlmostEqual(trunk["position"][i], com[i], 14)
        self.assertAlmostEqual(sum(trunk["inertia"][:3]), 0.15, 15)  # the trace does not turn

    def test_a_thing_that_only_stands_there(self):
        text = ('<robot name="table"><link name="top"/><link name="leg"/>'
                '<joint name="j" type="fixed"><parent link="top"/><child link="leg"/>'
                '<origin xyz="1 2 3"/></joint></robot>')
        scene = skelpy.Scene.from_json(text)
        self.assertEqual((scene.body_names, scene.joint_count), (["top"], 0))
        self.assertEqual(scene.named_frames["leg"], (0, [1, 2, 3, 1, 0, 0, 0]))


class Lenient(unittest.TestCase):
    """What ROS reads and is of no account is a warning, and what follows from it is right."""

    links = ('<link name="a"/><link name="b"/><link name="c"/>'
             '<joint name="k" type="KIND"><parent link="a"/><child link="b"/>'
             '<origin xyz="1 0 0"/>MORE</joint>')

    def read(self, text, *words):
        """The scene, once `check` has warned with these words."""
        done = run("check", "-", input=text.encode())
        self.assertEqual(done.returncode, 0, done.stdout)
        for word in words:
            self.assertEqual(done.stdout.decode().count(": warning: " + word), 1, done.stdout)
        return skelpy.Scene.from_json(text)

    def joint(self, more, kind="revolute", last="revolute"):
        return ('<robot name="r">' + self.links.replace("KIND", kind).replace("MORE", more) +
                f'<joint name="l" type="{last}"><parent link="b"/><child link="c"/>'
                '<origin xyz="1 0 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1"/></joint>'
                '</robot>')

    def test_swapped_limits_are_none(self):
        scene = self.read(self.joint('<axis xyz="0 0 1"/><limit lower="2.775" upper="-2.775"/>'),
                          "line 1: joint 'k': limit: lower: is 2.775, must be at most upper, which "
                          "is -2.775: the limits are ignored")
        joints = json.loads(scene.to_json())["joints"]
        self.assertEqual(["limits" in j for j in joints], [False, True])
        self.assertIn('lower="2.775" upper="-2.775"', scene.to_urdf())

    def test_an_axis_of_a_fixed_joint(self):
        for axis in ('<axis xzy="0 0 1"/>', '<axis xyz="0 1"/>', '<axis xyz="a b c"/>'):
            scene = self.read(self.joint(axis, "fixed"), "line 1: joint 'k': axis: xyz: is ")
            self.assertEqual(scene.joint_names, ["l"])

    def test_mimic_of_a_fixed_joint(self):
        """It is locked at its offset: 0.5 rad about z, or 0.5 m along it."""
        mimic = '<axis xyz="0 0 2"/><mimic joint="l" multiplier="3" offset="0.5"/>'
        for kind, place in (("continuous", (1 + math.cos(0.5), math.sin(0.5), 0.0)),
                            ("prismatic", (2.0, 0.0, 0.5))):
            scene = self.read(self.joint(mimic, kind, "fixed"),
                              "line 1: joint 'k': mimic: joint: is 'l', which is fixed: this joint "
                              "is locked at its offset")
            self.assertEqual(scene.q_count, 0)
            body, pose = scene.named_frames["c"]
            at = scene.body(body)["position"] if body >= 0 else (0.0, 0.0, 0.0)
            for a, b, c in zip(pose, at, place):
                self.assertAlmostEqual(a + b, c, 15)
            self.assertIn('<mimic joint="l" multiplier="3" offset="0.5"/>', scene.to_urdf())

    def test_mimic_of_a_mimic_of_a_fixed_joint(self):
        text = ('<robot name="r"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>'
                '<joint name="f" type="fixed"><parent link="a"/><child link="b"/></joint>'
                '<joint name="k" type="prismatic"><parent link="b"/><child link="c"/>'
                '<axis xyz="1 0 0"/><mimic joint="f" multiplier="7" offset="0.5"/></joint>'
                '<joint name="l" type="prismatic"><parent link="c"/><child link="d"/>'
                '<axis xyz="1 0 0"/><mimic joint="k" multiplier="2" offset="0.1"/></joint></robot>')
        scene = self.read(text)
        self.assertEqual(scene.named_frames["d"][1][:3], [0.5 + 1.1, 0.0, 0.0])

    def test_mimic_of_a_joint_that_is_not_there(self):
        scene = self.read(self.joint('<axis xyz="0 0 1"/><mimic joint="lost" offset="1"/>',
                                     "continuous"),
                          "line 1: joint 'k': mimic: joint: is 'lost', which is not a joint: this "
                          "joint is free")
        self.assertEqual((scene.q_count, scene.mimics), (2, {}))

    def test_a_scale_of_four_numbers(self):
        text = self.joint('<axis xyz="0 0 1"/>', "continuous").replace(
            '<link name="a"/>', '<link name="a"><visual><geometry><mesh filename="m.stl" '
            'scale="2 3 4 1"/></geometry></visual></link>')
        scene = self.read(text, "line 1: link 'a': mesh: scale: is '2 3 4 1', must be three "
                          "numbers: the first three are used")
        self.assertIn('scale="2 3 4 1"', scene.to_urdf())
        done = run("check", "-", input=text.replace("2 3 4 1", "big").encode())
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"scale: is 'big', must be three numbers", done.stdout)

    def test_a_spherical_joint_is_a_ball(self):
        scene = self.read(self.joint("", "spherical"), "line 1: joint 'k': type: is 'spherical', a "
                          "dialect of PyBullet")
        self.assertEqual(scene.q_count, 5)
        half = math.sqrt(0.5)
        at = skelpy.fk(scene, [half, 0.0, 0.0, half, 0.0])      # a quarter turn about z
        body, pose = scene.named_frames["c"]
        _w, x, y, z = (at[7 * body + 3 + k] for k in range(4))
        self.assertLess(max(abs(x), abs(y)), 1e-15)
        self.assertAlmostEqual(abs(z), half, 15)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "s.urdf")
            path.write_text(self.joint("", "spherical"))
            place = links_at(path, [half, 0.0, 0.0, half, 0.0])["c"]
        for found, must in zip((row[3] for row in place), (1.0, 1.0, 0.0)):
            self.assertAlmostEqual(found, must, 15)
        self.assertIn('type="spherical"', scene.to_urdf())

    def test_what_simulators_keep_may_have_expressions(self):
        """They say nothing of links and joints."""
        text = self.joint('<axis xyz="0 0 1"/>', "continuous").replace(
            "</robot>",
            '<gazebo><plugin name="$(arg p)">$(find x)/y.yaml</plugin></gazebo></robot>')
        self.read(text, "line 1: plugin: name: is '$(arg p)', which xacro should have replaced")


class AnyTree(unittest.TestCase):
    """Export of scenes that never were a URDF."""

    def test_samples(self):
        for name in ("double_pendulum", "pendulum", "rope", "humanoid"):
            path = common.SAMPLES / f"{name}.json"
            done = run("convert", path, "-", "--to", "urdf")
            if done.returncode == 0:
                check = run("check", "-", input=done.stdout)
                self.assertEqual(check.returncode, 0, check.stdout)
            else:
                self.assertEqual(done.returncode, 2, done.stderr)

    def test_hinges_and_slides_keep_their_poses(self):
        scene = {"format": "skel-scene/1", "bodies": [
            {"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0.5, 0.1, 0],
             "orientation": [0.8, 0, 0.6, 0]},
            {"name": "b", "mass": 2, "inertia": [1, 2, 2.5], "position": [1.5, 0, 0.2]},
            {"name": "c", "mass": 1, "shape": {"type": "sphere", "radius": 0.1},
             "position": [1.5, 1, 0.2]}],
            "joints": [
                {"name": "one", "type": "hinge", "bodies": ["world", "a"], "anchor": [0, 0, 0],
                 "axis": [0, 1, 1], "limits": [-1, 2]},
                {"name": "two", "type": "slide", "bodies": ["b", "a"], "axis": [1, 0, 2]},
                {"name": "three", "type": "hinge", "bodies": ["b", "c"], "anchor": [1.5, 0.5, 0],
                 "axis": [0, 0, 1]}]}
        text = json.dumps(scene).encode()
        one = skelpy.Scene.from_json(text)
        two = skelpy.Scene.from_json(one.to_urdf())
        self.assertEqual(sorted(one.joint_names), sorted(two.joint_names))
        q = {"one": 0.4, "two": 0.3, "three": -1.1}
        at = [skelpy.fk(s, [q[name] for name in s.joint_names]) for s in (one, two)]
        for name in one.body_names:
            i, j = one.find_body(name), two.find_body(name)
            for k in range(3):
                self.assertAlmostEqual(at[0][7 * i + k], at[1][7 * j + k], 12)

    def test_a_ball_is_three_hinges(self):
        done = run("convert", common.SAMPLES / "free_tree.json", "-", "--to", "urdf")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count(b'name="stalk.'), 5)  # three joints, two links

    def test_what_is_free_floats(self):
        path = common.SAMPLES / "free_tree.json"
        text = run("convert", path, "-", "--to", "urdf").stdout
        self.assertEqual(text.count(b'type="floating"'), 1)
        one, two = skelpy.Scene.from_file(path), skelpy.Scene.from_json(text)
        for name in one.body_names:
            a, b = one.body(one.find_body(name)), two.body(two.find_body(name))
            self.assertEqual(a["motion"], b["motion"])
            for k in range(3):
                self.assertAlmostEqual(a["position"][k], b["position"][k], 12)
        done = run("convert", "-", "-", "--to", "urdf", input=text)
        self.assertEqual(done.stdout, text)

    def test_drives_that_are_not_known_limit_nothing(self):
        """ROS takes 0 for a joint that cannot move; read again, they are still not known."""
        scene = {"format": "skel-scene/1", "bodies": [
            {"name": "a", "position": [1, 0, 0]}, {"name": "b", "position": [2, 0, 0]}],
            "joints": [{"name": "one", "type": "hinge", "bodies": ["world", "a"],
                        "anchor": [0, 0, 0], "axis": [0, 0, 1], "limits": [-1, 2]},
                       {"name": "two", "type": "slide", "bodies": ["a", "b"], "axis": [1, 0, 0]}]}
        for drives, wanted in (([], ["1000000"] * 4), (
                [{"joint": "one", "velocity": 2, "effort": 0},
                 {"joint": "two", "velocity": 0, "effort": 7}], ["1000000", "2", "7", "1000000"])):
            scene["robot"] = {"drives": drives}
            with skelpy.Scene.from_json(json.dumps(scene)) as one:
                text = one.to_urdf()
            found = re.findall(r'effort="([^"]*)" velocity="([^"]*)"', text)
            self.assertEqual([number for pair in found for number in pair], wanted)
            with skelpy.Scene.from_json(text) as again:
                kept = json.loads(again.to_json()).get("robot", {}).get("drives", [])
            self.assertEqual(kept, drives)

    def test_what_urdf_cannot_hold_is_said(self):
        for name, reason in (("four_bar", b"loop"), ("driven_root", b"driven")):
            done = run("convert", common.SAMPLES / f"{name}.json", "-", "--to", "urdf")
            self.assertEqual(done.returncode, 2)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    unittest.main()
