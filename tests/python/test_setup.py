# SPDX-License-Identifier: BSD-3-Clause
"""Setups without Blender: the document, what is wrong with one, mirroring, names of takes."""

import json
import math
import random
import struct
import unittest

from test_addon import UserError, core

setup, names = core.setup, core.names
Field, Form, Setup = setup.Field, setup.Form, setup.Setup

FORM = Form(
    armature=(Field("preset", setup.CHOICE, "RAGDOLL", choices=("RAGDOLL", "TAIL")),
              Field("ground", setup.BOOL, True), Field("step", setup.FLOAT, 0.0, low=0.0),
              Field("frame_end", setup.INT, 250, -2 ** 31, 2 ** 31 - 1),
              Field("channels", setup.CHOICES, ["LOCATION"], choices=("LOCATION", "ROTATION")),
              Field("obstacles", setup.COLLECTION)),
    bone=(Field("role", setup.CHOICE, "AUTO", choices=("AUTO", "NONE")),
          Field("mass", setup.FLOAT, 0.0, 0.0, 3.4e38),
          Field("cone", setup.FLOAT, 0.5, setup.single(0.01), setup.single(0.7))),
    ik=(Field("root", setup.CHOICE, "AUTO", choices=("AUTO", "HELD")),),
    goal=(Field("name", setup.TEXT, ""), Field("bone", setup.TEXT, ""),
          Field("target", setup.OBJECT), Field("chain", setup.INT, 0, 0, 20),
          Field("offset", setup.FLOAT, [1.0, 0.0, 0.0, 0.0], size=4)))
BONE = {"role": "AUTO", "mass": 0.0, "cone": 0.5}
GOAL = {"name": "hand", "bone": "hand.L", "target": "Empty", "chain": 2,
        "offset": [0.5, 0.5, -0.5, 0.5]}
WHOLE = Setup({"preset": "TAIL", "ground": False, "step": 0.002, "frame_end": 40,
               "channels": ["LOCATION", "ROTATION"], "obstacles": None},
              {"hand.L": {**BONE, "mass": 0.4}, "head": BONE,
               "böse \"bone\"": {**BONE, "cone": 0.7}},
              {"root": "HELD"}, [GOAL, {**GOAL, "target": True}, {**GOAL, "target": None}])


def document(**parts):
    return {"format": "skel-setup/1", **parts}


class Documents(unittest.TestCase):
    def test_what_is_written_is_read(self):
        text = setup.text_of(setup.document_of(WHOLE, FORM))
        self.assertEqual(setup.read_setup(text, "x.json", FORM), (WHOLE, []))
        self.assertEqual(setup.read_setup(text.encode(), "x.json", FORM), (WHOLE, []))
        self.assertEqual(json.loads(text)["bones"]["head"], {})     # nothing but the default
        self.assertIn('    "hand.L": {"mass": 0.4},\n', text)       # a line per bone
        self.assertEqual(len([line for line in text.splitlines() if "Empty" in line]), 1)

    def test_an_empty_one(self):
        text = setup.text_of(setup.document_of(Setup(goals=[]), FORM))
        self.assertEqual(setup.read_setup(text, "x", FORM), (Setup(goals=[]), []))

    def test_what_is_missing_stays(self):
        found, warnings = setup.check_setup(document(armature={"step": 0.5}), "x", FORM)
        self.assertEqual((found, warnings), (Setup({"step": 0.5}), []))
        self.assertIsNone(found.goals)
        found, _none = setup.check_setup(document(goals=[{"bone": "head"}]), "x", FORM)
        self.assertEqual(found.goals, [{"name": "", "bone": "head", "target": None, "chain": 0,
                                        "offset": [1.0, 0.0, 0.0, 0.0]}])

    def test_default_bone_of_an_older_version(self):
        """A default that has changed since does not change what the file means."""
        found, _none = setup.check_setup(
            document(default_bone={"mass": 7.0}, bones={"a": {}, "b": {"mass": 1}}), "x", FORM)
        self.assertEqual(found.bones, {"a": {**BONE, "mass": 7.0}, "b": {**BONE, "mass": 1}})

    def test_errors_name_file_field_and_rule(self):
        cases = (
            (document(bones={"hand.L": {"mass": -1}}),
             'a.json: bones["hand.L"].mass: is -1, must be a number >= 0'),
            (document(bones={"hand.L": {"cone": 4}}),
             'a.json: bones["hand.L"].cone: is 4, must be a number from 0.01 to 0.7'),
            (document(bones={"hand.L": {"mass": "x"}}), 'is "x", must be a number >= 0'),
            (document(bones={"hand.L": {"mass": True}}), "is true, must be a number >= 0"),
            (document(bones={"hand.L": {"mass": math.nan}}), "is NaN, must be a number >= 0"),
            (document(bones={"hand.L": {"mass": math.inf}}), "is Infinity, must be a number"),
            (document(bones={"hand.L": {"mass": 1e300}}), "is 1e+300, must be a number"),
            (document(bones={"hand.L": {"mass": 10 ** 400}}), "must be a number"),
            (document(bones={"hand.L": []}), 'bones["hand.L"]: is [], must be an object in braces'),
            (document(bones=[]), "bones: is [], must be an object in braces"),
            (document(armature={"preset": "FALL"}),
             'armature.preset: is "FALL", must be one of RAGDOLL, TAIL'),
            (document(armature={"preset": ["TAIL"]}), "must be one of RAGDOLL, TAIL"),
            (document(armature={"channels": ["SCALE"]}),
             'is ["SCALE"], must be a list of some of LOCATION, ROTATION'),
            (document(armature={"channels": [["a"]]}), "must be a list of some of"),
            (document(armature={"ground": 1}), "armature.ground: is 1, must be true or false"),
            (document(armature={"frame_end": 1.5}), "is 1.5, must be a whole number"),
            (document(armature={"obstacles": 3}), "must be the name of a collection, or null"),
            (document(ik={"root": None}), "ik.root: is null, must be one of AUTO, HELD"),
            (document(goals={}), "goals: is {}, must be a list of goals"),
            (document(goals=[GOAL, 3]), "goals[1]: is 3, must be an object in braces"),
            (document(goals=[{"chain": 21}]),
             "goals[0].chain: is 21, must be a whole number from 0 to 20"),
            (document(goals=[{"offset": [1, 0, 0]}]),
             "goals[0].offset: is [1, 0, 0], must be a list of 4 numbers"),
            (document(goals=[{"target": False}]),
             "is false, must be the name of an object, true for the armature itself, or null"),
            (document(default_bone={"role": "X"}), 'default_bone.role: is "X", must be one of'),
            ({"format": "skel-scene/1"}, 'format: is "skel-scene/1", must be "skel-setup/1"'),
            ({}, 'format: is null, must be "skel-setup/1"'),
            ([1], 'the document: is [1], must be an object with "format": "skel-setup/1"'))
        for given, words in cases:
            with self.assertRaises(UserError) as caught:
                setup.check_setup(given, "a.json", FORM)
            self.assertIn(words, str(caught.exception))
            self.assertTrue(str(caught.exception).startswith("a.json: "))
            self.assertLess(len(str(caught.exception)), 250)
        with self.assertRaisesRegex(UserError, "^a.json is not JSON: "):
            setup.read_setup("{", "a.json", FORM)

    def test_unknown_settings_are_named(self):
        found, warnings = setup.check_setup(
            document(bones={"a": {"mas": 1, "mass": 2}}, goals=[{"x": 1}], future=3), "x", FORM)
        self.assertEqual(found.bones["a"]["mass"], 2)
        self.assertEqual(len(warnings), 1)
        for name in ('bones["a"].mas', "goals[0].x", "future"):
            self.assertIn(f"'{name}'", warnings[0])

    def test_unknown_bones_are_named(self):
        self.assertEqual(setup.unknown_bones(WHOLE, list(WHOLE.bones), "rig"), [])
        words = setup.unknown_bones(WHOLE, ["head"], "rig")
        self.assertIn("'rig' has no bone 'hand.L', 'böse \"bone\"'", words[0])
        self.assertIn("2 of 3 bones", words[0])
        self.assertEqual(len(words), 4)                             # one per goal
        self.assertIn("'hand.L' for the goal 'hand'", words[1])
        many = Setup(bones={f"b{k}": BONE for k in range(11)})
        self.assertIn("'b7' and 3 more", setup.unknown_bones(many, [], "rig")[0])

    def test_numbers_keep_every_bit(self):
        """With as few digits as single precision needs, also at the limits of a setting."""
        self.assertEqual(setup.shortest(setup.single(0.8)), 0.8)
        self.assertEqual(setup.shortest(0.0), 0.0)
        source = random.Random(1)
        for _ in range(3000):
            value = struct.unpack("f", struct.pack("I", source.getrandbits(32)))[0]
            if math.isfinite(value):
                self.assertEqual(setup.single(setup.shortest(value)), value)
                limits = Field("x", setup.FLOAT, 0.0, value, value)
                self.assertTrue(limits.allows(setup.shortest(value)))


class Mirroring(unittest.TestCase):
    def test_names(self):
        pairs = (("hand.L", "hand.R"), ("hand_r", "hand_l"), ("hand-L", "hand-R"),
                 ("hand l", "hand r"), ("L_hand", "R_hand"), ("r.hand", "l.hand"),
                 ("hand.L.001", "hand.R.001"), ("LeftHand", "RightHand"),
                 ("handLEFT", "handRIGHT"), ("right_hand", "left_hand"),
                 ("mixamorig:LeftArm", "mixamorig:LeftArm"), ("DEF-hand.L", "DEF-hand.R"),
                 ("spine", "spine"), ("ab", "ab"), ("", ""), ("bright", "bleft"),
                 ("arm.L.x", "arm.L.x"), ("left", "left"), ("Lefty", "Lefty"))
        for name, other in pairs:
            self.assertEqual(names.flip_name(name), other, name)

    def test_twice_is_once(self):
        for name in ("hand.L", "L_hand", "LeftHand", "handRIGHT", "hand_l.002"):
            self.assertEqual(names.flip_name(names.flip_name(name)), name)

    def test_limits(self):
        """A turn about X is alike on both sides, one about Y or Z is not."""
        bone = {"joint": "HINGE", "axis": "X", "limit_low": -0.1, "limit_high": 1.5, "pitch": 0.2}
        self.assertEqual(setup.mirrored(bone), bone)
        self.assertEqual(setup.mirrored({**bone, "axis": "AUTO"}), {**bone, "axis": "AUTO"})
        for axis in "YZ":
            self.assertEqual(setup.mirrored({**bone, "axis": axis}),
                             {**bone, "axis": axis, "limit_low": -1.5, "limit_high": 0.1})
        screw = {**bone, "joint": "SCREW", "axis": "AUTO"}
        self.assertEqual(setup.mirrored(screw),
                         {**screw, "limit_low": -1.5, "limit_high": 0.1, "pitch": -0.2})
        zero = setup.mirrored({**bone, "axis": "Z", "limit_low": 0.0})
        self.assertEqual(math.copysign(1, zero["limit_high"]), 1)


class Numbers(unittest.TestCase):
    def test_takes_are_numbered(self):
        taken = set()
        for expected in ("walk.skel", "walk.skel.2", "walk.skel.3"):
            name = names.numbered("walk", ".skel", taken)
            self.assertEqual(name, expected)
            taken.add(name)
        taken.remove("walk.skel.2")
        self.assertEqual(names.numbered("walk", ".skel", taken), "walk.skel.2")
        self.assertEqual(names.numbered("rig physics", "", ["rig physics"]), "rig physics.2")

    def test_long_names_keep_their_ending(self):
        for stem in ("w" * 80, "ä" * 40, "w" + "ä" * 40):
            first = names.numbered(stem, ".skel", ())
            second = names.numbered(stem, ".skel", [first])
            self.assertTrue(first.endswith(".skel") and second.endswith(".skel.2"))
            for name in (first, second):
                self.assertLessEqual(len(name.encode()), 63)
                self.assertGreaterEqual(len(name.encode()), 62)


if __name__ == "__main__":
    unittest.main()
