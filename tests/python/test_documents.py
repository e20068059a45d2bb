# SPDX-License-Identifier: BSD-3-Clause
"""Documents and the command from outside: every field wrong in turn, limits, exit codes, files."""

import copy
import csv
import ctypes as C
import io
import json
import math
import os
import pathlib
import resource
import signal
import struct
import subprocess
import tempfile
import unittest

from common import BIN, LIB, NAMES, ROOT, SAMPLES, SOLVED, sample, skelpy

RICH = {
    "format": "skel-scene/1", "name": "rich", "gravity": [0, 0, -9.81], "angle_unit": "deg",
    "bodies": [
        {"name": "cart", "motion": "driven",
         "curve": {"time": [0, 1, 2], "position": [[0, 0, 0], [1, 0, 0], [1, 1, 0]],
                   "orientation": [[1, 0, 0, 0], [0.6, 0, 0, 0.8], [0, 0, 0, 1]]}},
        {"name": "upper", "mass": 1.5, "shape": {"type": "capsule", "length": 0.8, "radius": 0.1},
         "position": [0.5, 0, 0], "orientation": [0.7071067811865476, 0, 0.7071067811865476, 0],
         "velocity": [0, 0, 0], "angular_velocity": [0, 0, 0.1],
         "force": [0, 0.1, 0], "torque": {"time": [0, 1], "value": [[0, 0, 0], [0, 0.1, 0]]}},
        {"name": "lower", "mass": 0.8, "inertia": [0.05, 0.06, 0.02, 0.001, 0, -0.001],
         "shape": {"type": "box", "size": [0.1, 0.2, 0.9]}, "position": [1.5, 0, 0],
         "motion": "dynamic"},
        {"name": "hand", "mass": 0.4, "shape": {"type": "sphere", "radius": 0.1}},
        {"name": "pen", "mass": 0.2, "shape": {"type": "rod", "length": 0.3, "radius": 0.02},
         "position": [3, 0, 0]},
        {"name": "floor", "motion": "fixed", "position": [0, 0, -1]},
        {"name": "ball", "mass": 2, "shape": {"type": "cylinder", "length": 0.3, "radius": 0.2},
         "position": [0, 3, 0]}],
    "joints": [
        {"name": "top", "type": "hinge", "bodies": ["cart", "upper"], "anchor": [0, 0, 0],
         "axis": [0, 1, 0], "friction": 0.01, "motor": {"time": [0, 1], "value": [0, 0.1]},
         "limits": [-90, 90]},
        {"name": "elbow", "type": "ball", "bodies": ["upper", "lower"], "anchor": [1, 0, 0],
         "limits": {"cone": 60, "twist": [-30, 30], "axis": [1, 0, 0]}},
        {"name": "wrist", "type": "hinge", "bodies": ["lower", "hand"], "q": 30, "motor": 0.01,
         "frames": [{"position": [0, 0, 0.5], "orientation": [1, 0, 0, 0]},
                    {"position": [0, 0, -0.2], "orientation": [1, 0, 0, 0]}]},
        {"name": "grip", "type": "universal", "bodies": ["world", "pen"], "anchor": [3, 0, 0],
         "axis": [0, 0, 1], "axis2": [1, 0, 0], "limits": [[-10, 10], [-20, 20]]},
        {"name": "rail", "type": "slide", "bodies": ["floor", "ball"], "axis": [1, 0, 0],
         "limits": [-1, 1]}],
    "bake": {"fps": 24, "frame_start": 1, "frame_end": 12, "integrator": "rk4", "tolerance": 1e-8,
             "step": 0.002, "solver": "tree"}}

# What is not of a plain tree: a loop, pins, a release, springs toward an animation.
LOOSE = {
    "format": "skel-scene/1", "angle_unit": "deg",
    "bodies": [
        {"name": "lead", "motion": "driven", "release": 0.25, "mass": 2, "inertia": [1, 1, 1],
         "curve": {"time": [0, 1, 2], "position": [[0, 0, 0], [0.1, 0, 0], [1, 1, 0]]}},
        {"name": "arm", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0, 0]},
        {"name": "hand", "mass": 1, "inertia": [1, 1, 1], "position": [2, 0, 0]},
        {"name": "free", "mass": 1, "inertia": [1, 1, 1], "pinned": [[-1, 0.25], [9, 10]],
         "curve": {"time": [0, 1], "position": [[5, 0, 0], [5, 1, 0]],
                   "orientation": [[1, 0, 0, 0], [0.6, 0, 0, 0.8]]}},
        {"name": "nail", "mass": 1, "inertia": [1, 1, 1], "position": [7, 0, 0], "pinned": True}],
    "joints": [
        {"name": "shoulder", "type": "ball", "bodies": ["lead", "arm"], "anchor": [0.5, 0, 0],
         "follow": {"stiffness": 2, "damping": 0.5, "max_torque": 10, "weight": 0.5,
                    "curve": {"time": [0, 1], "value": [[1, 0, 0, 0], [0.6, 0.8, 0, 0]]}}},
        {"name": "elbow", "type": "universal", "bodies": ["arm", "hand"], "anchor": [1.5, 0, 0],
         "axis": [0, 1, 0], "axis2": [0, 0, 1],
         "follow": {"stiffness": 2, "weight": {"time": [0, 0.5], "value": [1, 0]},
                    "curve": {"time": [0, 1], "value": [[0, 0], [30, -30]]}}},
        {"name": "nail", "type": "hinge", "bodies": ["world", "nail"], "anchor": [7, 0, 0],
         "axis": [1, 0, 0],
         "follow": {"stiffness": 1, "curve": {"time": [0, 1], "value": [0, 30]}}},
        {"name": "loop", "type": "ball", "bodies": ["world", "nail"], "anchor": [8, 0, 0]}],
    "bake": {"frame_end": 12, "preroll": 0.1}}

# Biomechanics: grounds, soft masses, muscles, soft limits, fields, a turning frame.
LANDING = {
    "format": "skel-scene/1", "angle_unit": "deg",
    "bodies": [
        {"name": "trunk", "mass": 40, "inertia": [2, 2, 1], "position": [0, 0, 1.2],
         "orientation": [0.96, 0, 0.28, 0], "velocity": [0, 0, -1],
         "force": {"time": [0, 1], "value": [[0, 0, 0], [0, 1, 0]], "interpolation": "cubic"},
         "torque": {"time": [0, 1], "value": [[0, 0, 0], [0, 1, 0]], "interpolation": "cubic"}},
        {"name": "foot", "mass": 5, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0.5],
         "contacts": [[0.1, 0, -0.4], [-0.1, 0, -0.4]], "collide": 2},
        {"name": "plank", "mass": 5, "shape": {"type": "box", "size": [1, 1, 0.1]},
         "position": [3, 0, 0], "collide": True}],
    "joints": [
        {"name": "knee", "type": "hinge", "bodies": ["trunk", "foot"], "anchor": [0, 0, 0.8],
         "axis": [0, 1, 0], "limits": [-90, 90],
         "motor": {"time": [0, 1], "value": [0, 1], "interpolation": "linear"},
         "limit_torque": {"a": 2, "b": 1.5, "c": 0.01, "d": 0.1, "on": 10},
         "spring": {"stiffness": 3, "damping": 0.5, "rest": 45},
         "muscle": {"growth": 100, "max": 300, "start": 20, "feedback": 0.5,
                    "impact_speed": -2, "delay": 0.05, "side": -1}},
        {"name": "lift", "type": "slide", "bodies": ["world", "plank"], "axis": [0, 0, 1],
         "limits": [-1, 1], "limit_restitution": 0.5}],
    "wobble": [
        {"name": "calf", "body": "foot", "mass": 3, "inertia": [0.05, 0.05, 0.02],
         "position": [0, 0, 0.6], "axis": [0, 0, 2], "longitudinal": {"c": 1e6, "d": 100},
         "transversal": {"c": 2e6, "d": 200}, "angular": {"a": 50, "b": 2},
         "displacement": [0.01, 0, 0], "velocity": [0, 0, -1], "angular_velocity": [0, 0.1, 0],
         "locked": False},
        {"name": "belly", "body": "trunk", "mass": 8,
         "shape": {"type": "sphere", "radius": 0.1}, "locked": True}],
    "ground": [
        {"point": [0, 0, 0], "normal": [0, 0, 3], "friction": 0.7,
         "law": {"a": 1e5, "b": 1.5, "d": 500}, "stick": {"stiffness": 1e5, "damping": 100}},
        {"point": [3, 0, 0.05], "body": "plank", "restitution": 0.5,
         "tangential_restitution": 0.25}],
    "forces": [
        {"type": "uniform", "acceleration": [0, 0.1, 0], "body": "foot"},
        {"type": "drag", "density": 1.1, "coefficient": 0.9, "wind": [1, 0, 0]},
        {"type": "vortex", "point": [0, 0, 0], "axis": [0, 0, 2], "strength": 0.1, "radius": 2},
        {"type": "turbulence", "strength": 0.1, "scale": 0.5, "period": 0.3, "seed": 7}],
    "frame": {"angular_velocity": {"time": [0, 1], "value": [[0, 0, 0], [0, 0, 0.1]]},
              "acceleration": [0.1, 0, 0]},
    "bake": {"frame_end": 12}}

REQUIRED = {"format", "bodies", "bodies[0].name", "bodies[0].curve", "bodies[0].curve.time",
            "bodies[1].shape.type", "bodies[1].shape.length", "bodies[1].shape.radius",
            "bodies[1].torque.time", "bodies[1].torque.value", "bodies[2].shape.size",
            "bodies[3].shape.radius", "bodies[4].shape.length", "bodies[5].position",
            "bodies[1].position", "joints[0].type", "joints[0].bodies", "joints[0].anchor",
            "joints[0].axis", "joints[0].motor.time", "joints[0].motor.value", "joints[1].anchor",
            "joints[1].limits.cone", "joints[3].axis", "joints[3].axis2", "joints[4].axis"}
LOOSE_REQUIRED = {"bodies[0].curve", "bodies[0].curve.time", "bodies[3].curve.time",
                  "joints[0].follow.stiffness", "joints[0].follow.curve.time",
                  "joints[0].follow.curve.value", "joints[1].follow.weight.time",
                  "joints[1].follow.weight.value"}
LANDING_REQUIRED = {"bodies[0].force.time", "bodies[0].force.value", "joints[0].limit_torque.a",
                    "joints[0].limit_torque.b", "joints[0].limit_torque.c",
                    "joints[0].limit_torque.on", "joints[0].spring.stiffness",
                    "joints[0].muscle.growth", "joints[0].muscle.max", "wobble[0].name",
                    "wobble[0].body", "wobble[0].mass", "wobble[0].inertia",
                    "wobble[0].longitudinal", "wobble[0].transversal", "wobble[0].angular",
                    "wobble[0].longitudinal.c", "wobble[0].transversal.d", "wobble[0].angular.a",
                    "wobble[0].angular.b", "ground[0].law.a", "ground[0].law.b",
                    "ground[0].stick.stiffness", "forces[0].type", "forces[0].acceleration",
                    "forces[2].strength", "forces[3].strength", "frame.angular_velocity.time",
                    "frame.angular_velocity.value"}
POSITIVE = {"bodies[1].mass", "bodies[1].shape.length", "bodies[1].shape.radius",
            "bodies[2].inertia[0]", "bodies[2].shape.size[1]", "bodies[3].shape.radius",
            "bodies[4].shape.radius", "joints[0].friction", "joints[1].limits.cone", "bake.fps",
            "bake.tolerance", "bake.step"}
LOOSE_POSITIVE = {"joints[0].follow.stiffness", "joints[0].follow.damping",
                  "joints[0].follow.max_torque", "bake.preroll"}
LANDING_POSITIVE = {"joints[0].limit_torque.a", "joints[0].limit_torque.b",
                    "joints[0].limit_torque.c", "joints[0].limit_torque.d",
                    "joints[0].limit_torque.on", "joints[0].spring.stiffness",
                    "joints[0].spring.damping", "joints[0].muscle.growth",
                    "joints[0].muscle.max", "joints[0].muscle.start", "joints[0].muscle.delay",
                    "joints[1].limit_restitution", "bodies[1].collide", "wobble[0].mass",
                    "wobble[0].longitudinal.c", "wobble[0].longitudinal.d",
                    "wobble[0].angular.a", "ground[0].friction", "ground[0].law.a",
                    "ground[0].law.b", "ground[0].law.d", "ground[0].stick.stiffness",
                    "ground[0].stick.damping", "ground[1].restitution",
                    "ground[1].tangential_restitution", "forces[1].density",
                    "forces[1].coefficient", "forces[2].radius", "forces[3].scale",
                    "forces[3].period", "forces[3].seed"}
MAY_BE_ZERO = ("friction", "damping", "preroll", "limit_torque.a", "limit_torque.d",
               "spring.stiffness", "muscle.start", "muscle.delay", "restitution",
               "longitudinal.c", "longitudinal.d", "angular.a", "law.d", "density", "coefficient",
               "period", "seed")
MAY_BE_EMPTY = {"name", "joints", "bake", "joints[2].frames[0]", "joints[2].frames[1]"}
LANDING_MAY_BE_EMPTY = {"bake", "joints", "bodies[1].contacts", "wobble", "ground", "ground[0]",
                        "ground[1]", "forces", "frame"}
MAY_BE_TRUE = {"bodies[3].pinned", "bodies[4].pinned"}
LANDING_MAY_BE_TRUE = {"bodies[1].collide", "bodies[2].collide", "wobble[0].locked",
                       "wobble[1].locked"}
MAY_BE_FEWER = {"bodies[3].pinned"}
LANDING_ANY_NUMBER = {"bodies[1].contacts", "wobble", "ground", "forces"}
TOO_LARGE = "@too large@"  # becomes 1e999, which json cannot write


class Error(C.Structure):
    _fields_ = [("struct_size", C.c_uint32), ("status", C.c_int32), ("body", C.c_int32),
                ("joint", C.c_int32), ("text", C.c_char * 496)]


library = C.CDLL(LIB)
library.skel_scene_parse.argtypes = [C.c_char_p, C.c_size_t, C.POINTER(C.c_void_p),
                                     C.POINTER(Error)]
library.skel_scene_destroy.argtypes = [C.c_void_p]
library.skel_scene_destroy.restype = None


def to_text(scene):
    return json.dumps(scene).replace(f'"{TOO_LARGE}"', "1e999")


def parse(text):
    """None where the library takes the text, else its message."""
    data, scene, error = text.encode(), C.c_void_p(), Error(C.sizeof(Error))
    status = library.skel_scene_parse(data, len(data), C.byref(scene), C.byref(error))
    if status == 0:
        library.skel_scene_destroy(scene)
        return None
    assert scene.value is None
    return error.text.decode()


def places(value, path="", keys=()):
    """(path, keys, value) of everything in a document."""
    if path:
        yield path, keys, value
    if isinstance(value, dict):
        for key, member in value.items():
            yield from places(member, f"{path}.{key}" if path else key, (*keys, key))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from places(element, f"{path}[{index}]", (*keys, index))


def changed(scene, keys, value):
    scene = copy.deepcopy(scene)
    at = scene
    for key in keys[:-1]:
        at = at[key]
    if value is KeyError:
        del at[keys[-1]]
    else:
        at[keys[-1]] = value
    return scene


def renamed(scene, keys, name):
    """The same with the last key called otherwise, in its place."""
    scene = copy.deepcopy(scene)
    at = scene
    for key in keys[:-1]:
        at = at[key]
    members = [(name if key == keys[-1] else key, value) for key, value in at.items()]
    at.clear()
    at.update(members)
    return scene


def run(*arguments, **options):
    return subprocess.run([BIN, *map(str, arguments)], capture_output=True, timeout=1800,
                          check=False, **options)


class EveryFieldWrong(unittest.TestCase):
    scene, required, positive = RICH, REQUIRED, POSITIVE
    may_be_empty, may_be_true, may_be_fewer, any_number = MAY_BE_EMPTY, set(), set(), set()

    def refused(self, path, scene, text=None):
        message = parse(text or to_text(scene))
        self.assertIsNotNone(message, f"{path}: accepted")
        self.assertTrue(message.startswith(f"{path}: "), f"{path}: {message}")

    def test_the_scene_itself_is_right(self):
        self.assertIsNone(parse(to_text(self.scene)))

    def test_wrong_type(self):
        for path, keys, value in places(self.scene):
            for wrong in (None, True, 7 if isinstance(value, str) else "x"):
                if path.endswith(".name") and wrong == "x":
                    continue
                if path in self.may_be_true and wrong is True:
                    continue
                with self.subTest(path=path, wrong=wrong):
                    self.refused(path, changed(self.scene, keys, wrong))

    def test_values_say_the_same_as_a_text(self):
        """skel_scene_create refuses what skel_scene_parse refuses, in the same words."""
        for path, keys, value in places(self.scene):
            for wrong in (None, True, -3, "x", [], {}, KeyError):
                scene, said = changed(self.scene, keys, wrong), None
                try:
                    skelpy.Scene.from_document(scene).close()
                except skelpy.SkelError as error:
                    said = error.text
                with self.subTest(path=path, value=value, wrong=wrong):
                    self.assertEqual(said, parse(to_text(scene)))

    def test_number_that_no_double_holds(self):
        for path, keys, value in places(self.scene):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                with self.subTest(path=path):
                    text = to_text(changed(self.scene, keys, TOO_LARGE))
                    self.refused(path, None, text)
                    self.refused(path, None, text.replace("1e999", "-1e999"))

    def test_negative_and_zero(self):
        for path, keys, _value in places(self.scene):
            whole = path.rsplit("[", 1)[0] if path.endswith("]") else path
            if path in self.positive:
                with self.subTest(path=path):
                    self.refused(whole, changed(self.scene, keys, -1))
                    if not path.endswith(MAY_BE_ZERO):
                        self.refused(whole, changed(self.scene, keys, 0))

    def test_empty(self):
        for path, keys, value in places(self.scene):
            if path in self.may_be_empty or isinstance(value, (int, float)):
                continue
            with self.subTest(path=path):
                message = parse(to_text(changed(self.scene, keys, type(value)())))
                self.assertIsNotNone(message)
                self.assertTrue(message.startswith(path), f"{path}: {message}")

    def test_missing(self):
        seen = set()
        for path, keys, _value in places(self.scene):
            if path in self.required:
                seen.add(path)
                with self.subTest(path=path):
                    self.refused(path, changed(self.scene, keys, KeyError))
        self.assertEqual(seen, self.required)

    def test_misspelt(self):
        for path, keys, _value in places(self.scene):
            if isinstance(keys[-1], str) and path != "format":
                with self.subTest(path=path):
                    message = parse(to_text(renamed(self.scene, keys, keys[-1] + "x")))
                    self.assertTrue(message.startswith(f"{path}x: is not a field of"), message)
                    self.assertIn(f"did you mean '{keys[-1]}'?", message)

    def test_twice(self):
        for path, keys, _value in places(self.scene):
            if isinstance(keys[-1], str):
                with self.subTest(path=path):
                    text = to_text(renamed(self.scene, keys, "@"))
                    start = text.index('"@": ')
                    _value, end = json.JSONDecoder().raw_decode(text, start + 5)
                    one = text[start:end].replace("@", keys[-1])
                    self.refused(path, None, text[:start] + one + ", " + one + text[end:])

    def test_too_few_and_too_many(self):
        for path, keys, value in places(self.scene):
            if isinstance(value, list) and path not in {"bodies", "joints", *self.any_number}:
                with self.subTest(path=path):
                    for wrong in (value + value[-1:], value[:-1]):
                        if len(wrong) < len(value) and path in self.may_be_fewer:
                            continue
                        message = parse(to_text(changed(self.scene, keys, wrong)))
                        self.assertIsNotNone(message)
                        where = path.rsplit(".", 1)[0] if path.endswith(".time") else path
                        self.assertTrue(message.startswith(where), f"{path}: {message}")

    def test_the_command_says_the_same(self):
        """Fields (not array elements), null in turn: exit 2 and the path on standard error."""
        for path, keys, _value in places(self.scene):
            if isinstance(keys[-1], str):
                with self.subTest(path=path):
                    done = run("bake", "-", input=to_text(changed(self.scene, keys, None)).encode())
                    self.assertEqual(done.returncode, 2)
                    self.assertEqual(done.stdout, b"")
                    self.assertIn(f"skel: -: {path}: is null, must be", done.stderr.decode())


class Values(unittest.TestCase):
    def test_samples_have_the_same_bits(self):
        for name in (*NAMES, *SOLVED):
            with skelpy.Scene.from_json(sample(name)) as a, \
                    skelpy.Scene.from_document(json.loads(sample(name))) as b:
                self.assertEqual(a.to_json(), b.to_json(), name)

    def test_what_no_document_can_hold(self):
        for wrong in (math.nan, math.inf, "a\0b", [1.0, -math.inf]):
            with self.assertRaises(ValueError):
                skelpy.Scene.from_document({**RICH, "name": wrong})

    def test_a_negative_zero_is_zero(self):
        """As in the text that dataclasses write."""
        with skelpy.Scene.from_document({**RICH, "gravity": [-0.0, 0, -0.0]}) as scene:
            self.assertEqual([math.copysign(1, x) for x in scene.gravity], [1, 1, 1])


class EveryLooseFieldWrong(EveryFieldWrong):
    scene, required, positive = LOOSE, LOOSE_REQUIRED, LOOSE_POSITIVE
    may_be_true, may_be_fewer = MAY_BE_TRUE, MAY_BE_FEWER


class EveryLandingFieldWrong(EveryFieldWrong):
    scene, required, positive = LANDING, LANDING_REQUIRED, LANDING_POSITIVE
    may_be_empty, may_be_true = LANDING_MAY_BE_EMPTY, LANDING_MAY_BE_TRUE
    any_number = LANDING_ANY_NUMBER


class Syntax(unittest.TestCase):
    def test_line_and_column(self):
        done = run("check", "-", input=b'{\n  "format": "skel-scene/1",\n  "bodies" []\n}')
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, b"-: error: line 3 column 12: ':' is expected\n")

    def test_a_character_changed_never_crashes(self):
        for text in (to_text(RICH), to_text(LOOSE), to_text(LANDING)):
            for position in range(0, len(text), 3):
                for character in ('"', "}", "0", "-", "\\"):
                    parse(text[:position] + character + text[position + 1:])

    def test_every_cut_is_refused(self):
        for text in (to_text(RICH), to_text(LOOSE), to_text(LANDING)):
            for length in range(0, len(text), 7):
                self.assertIsNotNone(parse(text[:length]))

    def test_deep_nesting(self):
        for opening in ("[", '{"a":'):
            self.assertIn("nested deeper than 64 levels", parse(opening * 100000))

    def test_big_files_are_refused_before_memory_is_taken(self):
        def little_memory():
            resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.truncate(8 << 30)
            done = run("check", file.name, preexec_fn=little_memory)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"document: is larger than 67108864 bytes", done.stderr)

    def test_too_many(self):
        body = {"name": "b", "position": [0, 0, 0]}
        scene = {"format": "skel-scene/1", "bodies": [body] * 100001}
        self.assertEqual(parse(to_text(scene)),
                         "bodies: has 100001 elements, must have at most 100000")
        scene = {"format": "skel-scene/1",
                 "bodies": [dict(body, name=f"b{i}") for i in range(1000)],
                 "bake": {"frame_end": 1000000}}
        self.assertIn("bake.frame_end: makes 1000000 frames of 1000 bodies", parse(to_text(scene)))


class Folder(unittest.TestCase):
    """Tests that work in a folder of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.scene = self.folder / "scene.json"
        self.scene.write_text(to_text(RICH), encoding="utf-8")

    def left(self):
        return sorted(path.name for path in self.folder.iterdir() if path != self.scene)

    def change(self, **members):
        self.scene.write_text(to_text(dict(RICH, **members)), encoding="utf-8")

    def diverging(self):
        scene = copy.deepcopy(RICH)
        scene["bodies"][6]["force"] = [1e300, 0, 0]
        self.scene.write_text(to_text(scene), encoding="utf-8")


class Outputs(Folder):
    def bake(self, *arguments):
        done = run("bake", self.scene, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_json_npy_and_csv_hold_the_same_numbers(self):
        self.bake("-o", self.folder / "t.json", "--report", self.folder / "r.json")
        self.bake("-o", self.folder / "t.npy", "--report", self.folder / "r.csv")
        self.bake("-o", self.folder / "t.csv")
        track = json.loads((self.folder / "t.json").read_text(encoding="utf-8"))
        self.assertEqual(track["format"], "skel-track/1")
        self.assertEqual((track["fps"], track["frame_start"]), (24, 1))
        self.assertEqual(track["bodies"], [body["name"] for body in RICH["bodies"]])
        self.assertEqual([len(q) for q in track["q"]], [1 + 4 + 1 + 2 + 1] * 12)
        rows = [[p + o + v + w for p, o, v, w in zip(*frame)]
                for frame in zip(track["position"], track["orientation"], track["velocity"],
                                 track["angular_velocity"])]
        self.assertEqual((len(rows), len(rows[0]), len(rows[0][0])), (12, 7, 13))
        flat = [number for frame in rows for row in frame for number in row]
        self.assertEqual(self.read_npy(self.folder / "t.npy", (12, 7, 13)), flat)
        with open(self.folder / "t.csv", encoding="utf-8", newline="") as file:
            table = list(csv.reader(file))
        self.assertEqual(",".join(table[0]),
                         "frame,time,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz")
        self.assertEqual([float(cell) for row in table[1:] for cell in row[3:]], flat)
        self.assertEqual([row[:3] for row in table[1:3]], [["1", "0", "cart"], ["1", "0", "upper"]])

    def read_npy(self, path, shape):
        data = path.read_bytes()
        self.assertEqual(data[:8], b"\x93NUMPY\x01\x00")
        length, = struct.unpack("<H", data[8:10])
        self.assertEqual((10 + length) % 64, 0)
        header = data[10:10 + length].decode("latin-1")
        self.assertTrue(header.endswith("\n"))
        self.assertEqual(eval(header, {}),  # a literal of ours
                         {"descr": "<f8", "fortran_order": False, "shape": shape})
        numbers = struct.unpack(f"<{math.prod(shape)}d", data[10 + length:])
        return list(numbers)

    def test_report(self):
        self.bake("-o", self.folder / "t.json", "--report", self.folder / "r.json")
        self.bake("-o", self.folder / "t.json", "--report", self.folder / "r.csv")
        report = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        self.assertEqual((report["format"], report["scene"]), ("skel-report/1", "rich"))
        self.assertEqual((report["integrator"], report["solver"]), ("rk4", "tree"))
        self.assertNotIn("failed", report["summary"])
        self.assertEqual([row["frame"] for row in report["frames"]], list(range(1, 13)))
        self.assertEqual(set(report["frames"][0]["work"]),
                         {"motor", "friction", "load", "drive", "contact"})
        self.assertFalse(any("limits" in warning for warning in report["warnings"]))
        self.assertEqual(set(report["summary"]), {
            "energy_drift", "momentum_drift", "angular_momentum_drift", "joint_gap",
            "misalignment", "limit_violation", "energy_gain", "peak_ground_force",
            "peak_ground_time", "contact_depth", "rest_time"})
        with open(self.folder / "r.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row, frame in zip(rows, report["frames"], strict=True):
            self.assertEqual(float(row["kinetic"]), frame["kinetic"])
            self.assertEqual(float(row["work_drive"]), frame["work"]["drive"])
            self.assertEqual(float(row["momentum_z"]), frame["momentum"][2])
            self.assertEqual(float(row["work_contact"]), frame["work"]["contact"])
            self.assertEqual(float(row["ground_force_z"]), frame["ground_force"][2])
            for name in ("elastic", "contact_depth", "contacts"):
                self.assertEqual(float(row[name]), frame[name])

    def test_two_runs_give_the_same_bytes(self):
        one, two = self.bake().stdout, self.bake("-o", "-", "--to=json").stdout
        self.assertEqual(one, two)
        self.assertNotIn(b"wall", one)

    def test_canonical_form_gives_the_same_bytes(self):
        again = self.folder / "again.json"
        for scene in (RICH, LOOSE):
            self.scene.write_text(to_text(scene), encoding="utf-8")
            self.assertEqual(run("convert", self.scene, again).returncode, 0)
            text = again.read_bytes()
            self.assertEqual(run("convert", again, "-").stdout, text)
            self.assertEqual(self.bake().stdout, run("bake", again).stdout)

    def test_standard_input(self):
        piped = run("bake", "-", input=self.scene.read_bytes())
        self.assertEqual(piped.stdout, self.bake().stdout)

    def test_options_win_over_the_scene(self):
        track = json.loads(self.bake("--fps", "48", "--start=-1", "--end", "3", "--step=0.001",
                                     "--integrator", "euler", "--solver=pinv").stdout)
        self.assertEqual((track["fps"], track["frame_start"]), (48, -1))
        self.assertEqual(len(track["position"]), 5)
        self.assertEqual(track["report"]["integrator"], "euler")
        self.assertEqual(track["report"]["solver"], "pinv")

    def test_settings_without_effect_are_named(self):
        """Each says which integrator is at work, and what would have the effect."""
        def warnings(*options):
            done = run("bake", SAMPLES / "pendulum.json", "--end=3", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [line.split(": warning: ")[1] for line in done.stderr.decode().splitlines()]

        fixed = r"^tolerance: 1e-%s has no effect: the integrator '%s' has fixed steps of %s s; " \
                r"use integrator 'adams', or a shorter step$"
        chosen = r"^step: 0.002 s has no effect: the integrator '%s' chooses its steps by the " \
                 r"tolerance, which is 1e-08; set that, or use integrator 'rk4'$"
        solver = r"^solver: 'pinv' has no effect: the integrator 'conserving' solves its own"
        for options, *wanted in (
                (("--integrator=conserving", "--tolerance=1e-10"),
                 fixed % ("10", "conserving", "0.00416667")),
                (("--integrator=conserving", "--tolerance=1e-8"),  # the default, but asked for
                 fixed % ("08", "conserving", "0.00416667")),
                (("--integrator=rk4", "--tolerance=1e-6", "--step=0.002"),
                 fixed % ("06", "rk4", "0.002")),
                (("--integrator=conserving", "--solver=pinv"), solver),
                (("--integrator=adams", "--step=0.002"), chosen % "adams"),
                (("--integrator=bdf", "--step=0.002"), chosen % "bdf"),
                (("--jobs=2",), "^--jobs: has no effect in this version$"),
                (("--integrator=adams", "--tolerance=1e-10", "--solver=pinv"),),
                (("--integrator=rk4", "--step=0.002", "--solver=pinv"),),
                (("--integrator=conserving", "--step=0.002", "--jobs=1"),)):
            found = warnings(*options)
            self.assertEqual(len(found), len(wanted), (options, found))
            for text, pattern in zip(found, wanted):
                self.assertRegex(text, pattern)

    def test_a_document_with_a_tolerance_without_effect_is_warned_of(self):
        scene = json.loads(self.scene.read_text(encoding="utf-8"))
        scene["bake"].update(integrator="conserving", tolerance=1e-9)
        done = run("bake", "-", input=to_text(scene).encode())
        self.assertIn("tolerance: 1e-09 has no effect: the integrator 'conserving'",
                      done.stderr.decode())

    def test_names_that_csv_must_quote(self):
        scene = {"format": "skel-scene/1", "bake": {"frame_end": 1},
                 "bodies": [{"name": 'a, "b"', "motion": "fixed", "position": [0, 0, 0]}]}
        done = run("bake", "-", "--to", "csv", input=to_text(scene).encode())
        self.assertEqual(list(csv.reader(io.StringIO(done.stdout.decode())))[1][2], 'a, "b"')

    def test_modes_and_links_of_files_stay(self):
        out, link = self.folder / "t.json", self.folder / "link.json"
        out.write_text("old", encoding="utf-8")
        out.chmod(0o640)
        link.symlink_to(out)
        self.bake("-o", link)
        self.assertTrue(link.is_symlink())
        self.assertEqual(out.stat().st_mode & 0o777, 0o640)
        self.assertIn("skel-track/1", out.read_text(encoding="utf-8"))


class NoPartialFiles(Folder):
    def test_a_bake_that_diverges(self):
        self.diverging()
        done = run("bake", self.scene, "-o", self.folder / "t.json",
                   "--report", self.folder / "r.json")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.left(), ["r.json"])
        report = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        self.assertIn(report["summary"]["failed"], done.stderr.decode())
        self.assertIn("ball", report["summary"]["failed"])

    def test_an_old_file_survives_a_failure(self):
        self.diverging()
        (self.folder / "t.json").write_text("old", encoding="utf-8")
        self.assertEqual(run("bake", self.scene, "-o", self.folder / "t.json").returncode, 1)
        self.assertEqual((self.folder / "t.json").read_text(encoding="utf-8"), "old")
        self.assertEqual(self.left(), ["t.json"])

    def test_a_full_disk(self):
        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        for name in ("t.json", "t.npy", "t.csv"):
            done = run("bake", self.scene, "-o", self.folder / name, preexec_fn=small_files)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(self.left(), [])
        self.assertIn(name.encode(), done.stderr)
        self.assertEqual(run("bake", self.scene, "-o", "/dev/full", "--to=json").returncode, 1)

    def test_a_closed_pipe(self):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([BIN, "bake", self.scene], stdout=writing, stderr=subprocess.PIPE,
                              check=False, timeout=1800)
        os.close(writing)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"Broken pipe", done.stderr)

    def test_nothing_is_made_before_the_motion_is_known(self):
        """Whatever ends a simulation leaves nothing: a signal, kill -9, a limit of CPU time."""
        def little_time():
            resource.setrlimit(resource.RLIMIT_CPU, (1, 60))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self.change(bake={"frame_end": 100000, "step": 1e-6})
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGXCPU):
            limit = little_time if number == signal.SIGXCPU else None
            with subprocess.Popen([BIN, "bake", self.scene, "-o", self.folder / "t.json",
                                   "--report", self.folder / "r.csv", "--progress"],
                                  stderr=subprocess.PIPE, preexec_fn=limit) as process:
                self.assertEqual(process.stderr.readline(), b"skel: 0 %\n")  # it simulates
                during = self.left()
                if not limit:
                    process.send_signal(number)
                process.wait()                          # without end where the signal is lost
            self.assertEqual(process.returncode, -number)
            self.assertEqual((during, self.left()), ([], []))

    def test_links_and_long_names(self):
        link, target = self.folder / "link.json", self.folder / "target.json"
        link.symlink_to("target.json")                  # which is not there yet
        for _ in range(2):
            self.assertEqual(run("bake", self.scene, "-o", link).returncode, 0)
            self.assertTrue(link.is_symlink())
            self.assertEqual(json.loads(target.read_text())["format"], "skel-track/1")
        for name in ("n" * 250 + ".json", "n" * 251 + ".npy"):
            done = run("bake", self.scene, "-o", self.folder / name)
            self.assertEqual(done.returncode, 0, done.stderr)
        done = run("bake", self.scene, "-o", self.folder / ("n" * 251 + ".json"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"File name too long", done.stderr)

    def test_standard_output_is_full(self):
        bad = self.folder / "bad.json"
        bad.write_text("{}")
        for arguments in (["check", self.scene], ["check", bad], ["robots"], ["--help"],
                          ["--version"], ["help", "bake"], ["bake", "--help"],
                          ["bake", self.scene], ["bake", self.scene, "--to", "npy"],
                          ["fk", "ur5"], ["accel", self.scene], ["dh", "build", "ur5"],
                          ["dh", "extract", "ur5"], ["convert", "ur5", "-"],
                          ["dh", "convert", "ur5", "--convention", "modified"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([BIN, *arguments], stdout=full, stderr=subprocess.PIPE,
                                      check=False)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertEqual(done.stderr.count(b"No space left on device"), 1, arguments)

    def test_a_folder_that_is_not_there(self):
        done = run("bake", self.scene, "-o", self.folder / "no" / "t.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"No such file or directory", done.stderr)

    def test_the_scene_is_never_written_over(self):
        before = self.scene.read_bytes()
        for arguments in (["-o", self.scene], ["--report", self.folder / "." / "scene.json"]):
            self.assertEqual(run("bake", self.scene, *arguments).returncode, 2)
        done = run("bake", self.scene, "-o", self.folder / "x.json",
                   "--report", self.folder / "x.json")
        self.assertEqual(done.returncode, 2)
        done = run("bake", self.scene, "-o", self.folder / "x.json",
                   "--report", f"{self.folder}/../{self.folder.name}/x.json")
        self.assertEqual(done.returncode, 2)
        for tool in ("fk", "accel"):
            self.assertEqual(run(tool, self.scene, "-o", self.scene).returncode, 2)
        self.assertEqual(self.scene.read_bytes(), before)
        self.assertEqual(self.left(), [])


class Calls(Folder):
    def wrong(self, text, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, b"")
        self.assertTrue(done.stderr.startswith(b"skel: "), done.stderr)
        self.assertIn(text, done.stderr.decode())

    def test_wrong_calls(self):
        scene, wrong = self.scene, self.wrong
        self.assertEqual(run().returncode, 2)
        wrong("'bak': is not a command", "bak")
        wrong("'skin': is not in this version", "skin", scene)
        wrong("an argument is missing", "bake")
        wrong("unexpected argument", "bake", scene, scene)
        wrong("--fsp: is not an option", "bake", scene, "--fsp", "24")
        wrong("--fps: is 'fast', must be a number > 0", "bake", scene, "--fps", "fast")
        wrong("--fps: is '0', must be a number > 0", "bake", scene, "--fps=0")
        wrong("--fps: is 'inf', must be", "bake", scene, "--fps=inf")
        wrong("--fps: is given twice", "bake", scene, "--fps=1", "--fps=2")
        wrong("--step: needs a value", "bake", scene, "--step")
        wrong("--end: is '1.5', must be a whole number", "bake", scene, "--end=1.5")
        wrong("--end: is 0, must be at least the first frame", "bake", scene, "--end=0")
        wrong("--end: gives 1000000000 frames", "bake", scene, "--end=1000000000")
        wrong("--integrator: is 'magic', must be one of auto, euler, rk4, adams, bdf, conserving",
              "bake", scene, "--integrator=magic")
        wrong("--solver: is 'x', must be one of tree", "bake", scene, "--solver=x")
        wrong("--jobs: is 0, must be >= 1", "bake", scene, "--jobs=0")
        wrong("--jobs: ", "bake", scene, "--jobs=many")
        wrong("--preroll: ", "bake", scene, "--preroll=-1")
        wrong("--progress: takes no value", "bake", scene, "--progress=1")
        wrong("--to: is 'xml', must be json, npy or csv", "bake", scene, "--to=xml")
        for name in ("bvh", "gltf", "glb"):
            wrong(f"format {name} is not in this version", "bake", scene, "-o", f"t.{name}")
        wrong("format html is not in this version", "bake", scene, "--report", "r.html")
        wrong("must end in .json, .npy or .csv", "bake", scene, "-o", "track")
        wrong("must end in .json or .csv", "bake", scene, "--report", "r.npy")
        wrong("nothing.json: No such file or directory", "bake", "nothing.json")
        wrong(f"{self.folder}: Is a directory", "check", self.folder)
        wrong("must end in .json", "convert", scene, "out.bvh")

    def test_help_and_version(self):
        self.assertRegex(run("--version").stdout, rb"^skel \d+\.\d+\.\d+\n$")
        self.assertIn(b"skel bake SCENE", run("--help").stdout)
        for name in ("bake", "accel", "fk", "check", "convert"):
            text = run("help", name).stdout
            self.assertTrue(text.startswith(f"skel {name}".encode()))
            self.assertEqual(run(name, "--help").stdout, text)
        self.wrong("is not a command", "help", "nonsense")

    def test_check(self):
        done = run("check", self.scene)
        self.assertEqual(done.returncode, 0)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(lines[-1], f"{self.scene}: ok: bodies 7, joints 5, dof 8")
        self.change(gravity=[1], bake={"fps": -1})
        done = run("check", self.scene)
        self.assertEqual(done.returncode, 2)
        self.assertEqual([line.split(": ")[1:3] for line in done.stdout.decode().splitlines()
                          if "error" in line], [["error", "gravity"], ["error", "bake.fps"]])

    def test_other_formats(self):
        done = run("check", "-", input=b'{"format": "skel-pose/1", "names": []}')
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"format: is a skel-pose/1, which this version does not read", done.stdout)

    def test_mass_is_needed_for_dynamics_only(self):
        scene = {"format": "skel-scene/1", "bodies": [{"name": "a", "position": [1, 2, 3]}]}
        self.scene.write_text(to_text(scene), encoding="utf-8")
        self.assertEqual(run("fk", self.scene).returncode, 0)
        self.wrong("bodies[0].mass: ", "accel", self.scene)
        self.wrong("bodies[0].mass: ", "bake", self.scene)
        self.assertEqual(run("check", self.scene).returncode, 0)

    def test_progress(self):
        self.assertEqual(run("bake", "--", self.scene).stderr.count(b"%"), 0)
        self.assertIn(b"100 %", run("bake", self.scene, "--progress").stderr)


class Tools(Folder):
    def test_accel(self):
        done = run("accel", self.scene)
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual([len(answer[key]) for key in ("linear", "angular")], [7, 7])
        self.assertEqual(answer["linear"][5], [0, 0, 0])  # the floor
        for solver in ("pinv", "kkt"):
            other = json.loads(run("accel", self.scene, "--solver", solver).stdout)
            for key in answer:
                for one, two in zip(answer[key], other[key]):
                    for a, b in zip(one, two):
                        self.assertAlmostEqual(a, b, delta=1e-7 * (1 + abs(a)))

    def test_accel_warns_of_a_projection(self):
        scene = copy.deepcopy(RICH)
        scene["bodies"][6]["velocity"] = [0, 0, 1]  # off its rail
        self.scene.write_text(to_text(scene), encoding="utf-8")
        done = run("accel", self.scene)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"warning: velocities violated the joints", done.stderr)

    def test_fk(self):
        given = json.loads(run("fk", self.scene).stdout)
        self.assertEqual(given["format"], "skel-pose/1")
        self.assertEqual(given["names"], [body["name"] for body in RICH["bodies"]])
        self.assertEqual(given["position"][2], [1.5, 0, 0])
        q = [0, 1, 0, 0, 0, math.radians(30), 0, 0, 0]
        same = json.loads(run("fk", self.scene, "--q=" + ",".join(map(repr, q))).stdout)
        for one, two in zip(given["position"], same["position"]):
            for a, b in zip(one, two):
                self.assertAlmostEqual(a, b, places=12)
        out = self.folder / "pose.json"
        q[8] = 0.25
        self.assertEqual(run("fk", self.scene, "--q", ",".join(map(str, q)), "-o", out).returncode,
                         0)
        moved = json.loads(out.read_text(encoding="utf-8"))
        self.assertAlmostEqual(moved["position"][6][0], 0.25, places=12)

    def test_fk_wrong_q(self):
        for q, text in (("1,2", "--q: has 2 numbers, must have 9: top 1, elbow 4, wrist 1, grip 2"),
                        ("", "--q: has 0 numbers, must have 9"),
                        ("0,1,0,0,0,x,0,0,0", "--q: number 6 is 'x', must be a number"),
                        ("0,1,1,0,0,0,0,0,0", "--q: the quaternion of joint 'elbow' has length")):
            done = run("fk", self.scene, f"--q={q}")
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr.decode())

    def test_samples_are_right(self):
        for path in sorted((ROOT / "samples").glob("*.json")):
            done = run("check", path)
            self.assertEqual(done.returncode, 0, done.stdout)
            again = run("convert", path, "-").stdout
            self.assertEqual(run("convert", "-", "-", input=again).stdout, again)


if __name__ == "__main__":
    unittest.main()
