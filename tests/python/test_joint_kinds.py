# SPDX-License-Identifier: BSD-3-Clause
"""Joint types outside the library: documents, forward kinematics, URDF and DH tables."""

import json
import math
import unittest

import common  # noqa: F401  (finds skelpy)
from common import skelpy


def box(name, place, mass=1.0):
    return {"name": name, "mass": mass, "position": place,
            "shape": {"type": "box", "size": [0.4, 0.2, 0.1]}}


def document(joint, **fields):
    """A body on a joint to the world, and an arm on a hinge."""
    return {"format": "skel-scene/1", **fields, "bodies": [
        box("puck", [0.1, 0.2, 1.0]), box("arm", [0.5, 0.2, 1.0])], "joints": [
        {"name": "floor", "bodies": ["world", "puck"], **joint},
        {"name": "elbow", "type": "hinge", "bodies": ["puck", "arm"], "anchor": [0.3, 0.2, 1],
         "axis": [0, 1, 0]}]}


def read(joint, **fields):
    return skelpy.Scene.from_json(json.dumps(document(joint, **fields)))


def errors(joint, **fields):
    return "\n".join(skelpy.check(json.dumps(document(joint, **fields))))


def pose(scene, q, body=0):
    return list(skelpy.fk(scene, q))[7 * body:7 * body + 7]


class Kinds(unittest.TestCase):
    def near(self, got, want, bound=1e-12):
        self.assertEqual(len(list(got)), len(list(want)))
        for a, b in zip(got, want):
            self.assertAlmostEqual(a, b, delta=bound)

    def same_turn(self, got, want, bound=1e-12):
        self.assertAlmostEqual(abs(sum(a * b for a, b in zip(got, want))), 1.0, delta=bound)

    def rewritten(self, scene):
        """The text of a scene, which reads back as the same text."""
        text = scene.to_json()
        self.assertEqual(skelpy.Scene.from_json(text).to_json(), text)
        return json.loads(text)

    def same_poses(self, scene, other, *coordinates):
        for q in coordinates:
            for body in range(2):
                a, b = pose(scene, q, body), pose(other, q, body)
                self.near(a[:3], b[:3])


class Planar(Kinds):
    JOINT = {"type": "planar", "anchor": [0, 0.2, 1], "axis": [0, 0, 1]}
    TILTED = {"type": "planar", "anchor": [0, 0.2, 1], "axis": [1, 2, 3], "axis2": [3, 0, -1]}

    def test_coordinates(self):
        """x and y of the first frame, then the angle about its z."""
        scene = read(self.JOINT)
        self.assertEqual((scene.dof, scene.q_count), (4, 4))
        got = pose(scene, [0.5, -0.25, 0.3, 0])
        self.near(got[:3], [0.5 + 0.1 * math.cos(0.3), 0.2 - 0.25 + 0.1 * math.sin(0.3), 1])
        self.same_turn(got[3:], [math.cos(0.15), 0, 0, math.sin(0.15)])

    def test_second_axis_is_x(self):
        got = pose(read({**self.JOINT, "axis2": [0, 1, 0]}), [0.5, 0.25, 0, 0])
        self.near(got[:3], [0.1 - 0.25, 0.2 + 0.5, 1])
        got = pose(read({**self.JOINT, "axis": [1, 0, 0]}), [0.5, 0.25, 0, 0])
        self.near(got[:3], [0.1, 0.2 + 0.5, 1 + 0.25])
        self.assertIn("joints[0].axis2: is [0, 1, 1], must be perpendicular to axis",
                      errors({**self.JOINT, "axis2": [0, 1, 1]}))

    def test_fields(self):
        for field, value in (("motor", 1), ("spring", {"stiffness": 1}),
                             ("muscle", {"growth": 1, "max": 1})):
            self.assertIn(f"joints[0].{field}", errors({**self.JOINT, field: value}))
        self.assertIn("limits[0]: is 0, must be [low, high]",
                      errors({**self.JOINT, "limits": [0, 1]}))
        self.assertIn("must be [length, length, angle]", errors(
            {**self.JOINT, "follow": {"stiffness": 1,
                                      "curve": {"time": [0], "value": [[1, 2]]}}}))
        frames = {"type": "planar", "q": [0.1, 0.2], "frames": [{}, {}]}
        self.assertIn("must be [length, length, angle]", errors(frames))

    def test_units(self):
        """Only the angle has the unit of the document."""
        joint = {"type": "planar", "q": [0.1, 0.2, 90], "frames": [{}, {}],
                 "limits": [[-1, 1], [-2, 2]],
                 "follow": {"stiffness": 1, "curve": {"time": [0], "value": [[1, 2, 180]]}}}
        text = document(joint, angle_unit="deg")
        for body in text["bodies"]:
            del body["position"]
        text["joints"][1].update(frames=[{}, {}])
        del text["joints"][1]["anchor"], text["joints"][1]["axis"]
        made = self.rewritten(skelpy.Scene.from_json(json.dumps(text)))
        self.near(made["bodies"][0]["position"], [0.1, 0.2, 0])
        self.same_turn(made["bodies"][0]["orientation"], [math.sqrt(0.5), 0, 0, math.sqrt(0.5)])
        joint = made["joints"][0]
        self.assertEqual(joint["limits"], [[-1, 1], [-2, 2]])
        self.near(joint["follow"]["curve"]["value"][0], [1, 2, math.pi])

    def test_writes_back(self):
        made = self.rewritten(read({**self.TILTED, "friction": 0.5, "limits": [[-1, 1], [0, 2]]}))
        self.assertEqual(made["joints"][0]["type"], "planar")

    def test_urdf_reads(self):
        link = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ' \
            'ixy="0" ixz="0" iyz="0"/></inertial></link>'
        text = '<robot name="r"><link name="world"/>' + link.format("puck") + \
            '<joint name="floor" type="planar"><parent link="world"/><child link="puck"/>' \
            '<origin xyz="0 0 1"/><axis xyz="{}"/><limit effort="1" velocity="1"/>' \
            '<dynamics damping="0.5"/></joint></robot>'
        scene = skelpy.Scene.from_json(text.format("0 0 2"))
        got = pose(scene, [0.5, -0.25, 0.3])
        self.near(got, [0.5, -0.25, 1, math.cos(0.15), 0, 0, math.sin(0.15)])
        self.assertEqual(json.loads(scene.to_json())["joints"][0]["friction"], 0.5)
        self.assertIn('type="planar"', scene.to_urdf())

        got = pose(skelpy.Scene.from_json(text.format("1 0 0")), [0.5, -0.25, 0.3])
        self.near(got, [0, -0.25, 1 - 0.5, math.cos(0.15), math.sin(0.15), 0, 0])
        with self.assertRaisesRegex(skelpy.SkelError, "axis: xyz: is 0 0 0, must not be zero"):
            skelpy.Scene.from_json(text.format("0 0 0"))

    def test_urdf_writes(self):
        """One joint; with limits, or if the tree passes it backwards, one for each coordinate."""
        q = [[0, 0, 0, 0], [0.5, -0.25, 0.3, 0.4]]
        scene = read(self.TILTED)
        text = scene.to_urdf()
        self.assertIn('<joint name="floor" type="planar">', text)
        self.same_poses(scene, skelpy.Scene.from_json(text), *q)

        text = read({**self.TILTED, "limits": [[-1, 1], [0, 2]]}).to_urdf()
        self.assertNotIn("planar", text)
        for words in ('"floor.x" type="prismatic"', '"floor.y" type="prismatic"',
                      '"floor.z" type="continuous"', 'lower="0" upper="2"'):
            self.assertIn(words, text)
        text = read({**self.TILTED, "bodies": ["puck", "world"]}).to_urdf()
        self.assertLess(text.index('<joint name="floor.z"'), text.index('<joint name="floor.x"'))

    def test_table(self):
        """Two slides and a hinge, whose tool is that of the scene."""
        scene = read({**self.TILTED, "limits": [[-1, 1], [0, 2]]})
        table = json.loads(scene.to_dh("standard"))
        rows = table["joints"]
        self.assertEqual([(row["name"], row["type"]) for row in rows],
                         [("floor.x", "prismatic"), ("floor.y", "prismatic"),
                          ("floor.z", "revolute"), ("elbow", "revolute")])
        self.assertEqual([row.get("limits") for row in rows], [[-1, 1], [0, 2], None, None])
        self.assertLess(table["receipt"]["position_error"], 1e-14)


class Screw(Kinds):
    JOINT = {"type": "screw", "anchor": [0, 0.2, 1], "axis": [0, 0, 1], "pitch": 0.1}

    def test_coordinate(self):
        """The angle about z, with a displacement along it; turns count."""
        scene = read(self.JOINT)
        self.assertEqual((scene.dof, scene.q_count), (2, 2))
        for angle in (0.3, 0.3 + 4 * math.pi, -9.0):
            got = pose(scene, [angle, 0])
            self.near(got[:3], [0.1 * math.cos(angle), 0.2 + 0.1 * math.sin(angle),
                                1 + 0.1 * angle])
            self.same_turn(got[3:], [math.cos(angle / 2), 0, 0, math.sin(angle / 2)])

    def test_turns_are_measured(self):
        """A body that the joint places two turns away has these turns."""
        text = document({"type": "screw", "pitch": 0.1, "q": 13.0, "frames": [{}, {}]})
        text["joints"][1].update(frames=[{}, {}])
        del text["joints"][1]["anchor"], text["joints"][1]["axis"]
        for body in text["bodies"]:
            del body["position"]
        scene = skelpy.Scene.from_json(json.dumps(text))
        self.near(self.rewritten(scene)["bodies"][0]["position"], [0, 0, 1.3])
        self.assertAlmostEqual(skelpy.State(scene).q[0], 13.0, delta=1e-12)

    def test_pitch(self):
        """In metres per angle of the document."""
        joint = {**self.JOINT, "pitch": 0.001, "limits": [-720, 1440]}
        joint = self.rewritten(read(joint, angle_unit="deg"))["joints"][0]
        self.assertEqual(joint["pitch"], 0.001 / (math.pi / 180))
        self.near(joint["limits"], [-4 * math.pi, 8 * math.pi])
        for pitch, words in ((0, "is 0, must be other than 0"), (1e-10, "is 1e-10 m/rad, must be"),
                             ("x", "must be a number")):
            self.assertIn(words, errors({**self.JOINT, "pitch": pitch}))
        bare = {key: value for key, value in self.JOINT.items() if key != "pitch"}
        self.assertIn("joints[0].pitch: is missing, must be a number other than 0", errors(bare))
        self.assertIn("joints[0].pitch: is not a field of a hinge joint",
                      errors({**self.JOINT, "type": "hinge"}))

    def test_fields_of_one_axis(self):
        """Those of a hinge; limits of many turns are no mistake."""
        fields = {"motor": 1, "spring": {"stiffness": 1, "damping": 0.5, "rest": 7},
                  "muscle": {"growth": 1, "max": 2}, "limits": [-20, 30], "friction": 0.5,
                  "follow": {"stiffness": 1, "curve": {"time": [0, 1], "value": [0, 20]}}}
        self.assertEqual(errors({**self.JOINT, **fields}), "")
        made = self.rewritten(read({**self.JOINT, **fields}))["joints"][0]
        for key in ("motor", "limits", "friction", "spring", "pitch"):
            self.assertEqual(made[key], {**self.JOINT, **fields}[key])

    def test_mimic(self):
        text = document(self.JOINT)
        text["joints"][1]["mimic"] = {"joint": "floor", "multiplier": 0.5}
        scene = skelpy.Scene.from_json(json.dumps(text))
        free = read(self.JOINT)
        self.near(pose(scene, [2.0, 0.0], 1), pose(free, [2.0, 1.0], 1))

    def test_no_table_and_no_urdf(self):
        scene = read(self.JOINT)
        for write, words in ((scene.to_urdf, "joints.0.: 'floor' is a screw joint, which URDF"),
                             (lambda: scene.to_dh("standard"),
                              "joints.0.: 'floor' is a screw joint, which a DH table cannot")):
            with self.assertRaisesRegex(skelpy.SkelError, words):
                write()


if __name__ == "__main__":
    unittest.main()
