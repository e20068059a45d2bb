# SPDX-License-Identifier: BSD-3-Clause
"""The add-on without Blender: its pure modules, and its writer against a small fake bpy."""

import csv
import dataclasses
import importlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import types
import unittest
from array import array
from unittest import mock

import common
import fake_bpy
import fake_mathutils

ADDON = common.ROOT / "plugin_blender"


def load(name, bpy=None):
    """A module of the add-on; without bpy, it must not ask for one."""
    for known in [m for m in sys.modules if m == "skel" or m.startswith("skel.")]:
        del sys.modules[known]
    for known in ("bpy", "mathutils"):
        sys.modules.pop(known, None)
    if bpy is not None:
        sys.modules["bpy"], sys.modules["mathutils"] = bpy, fake_mathutils.module()
    package = types.ModuleType("skel")
    package.__path__ = [str(ADDON)]
    sys.modules["skel"] = package
    folder = next(f for f in ("core", "blender", "ui") if (ADDON / f / f"{name}.py").exists())
    return importlib.import_module(f"skel.{folder}.{name}")


class Core:
    """The modules of core by their names, and the steps of a bake for drafts of shots."""

    def __init__(self):
        load("bake")
        for path in sorted((ADDON / "core").glob("*.py")):
            setattr(self, path.stem, importlib.import_module(f"skel.core.{path.stem}"))


core = Core()
run, UserError = core.work.run, core.errors.UserError
algebra, skelpy, rigs = core.algebra, core.binding.skelpy, core.binding.rig
STILL = rigs.STILL


class Draft(types.SimpleNamespace):
    """A shot, or a part of one, that tests can change. Shots themselves are frozen."""


def thaw(value):
    if dataclasses.is_dataclass(value):
        fields = {f.name: thaw(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return Draft(_kind=type(value), **fields)
    if isinstance(value, (tuple, list)) and any(map(dataclasses.is_dataclass, value)):
        return [thaw(each) for each in value]
    return value


def freeze(draft):
    if isinstance(draft, Draft):
        fields = {name: freeze(value) for name, value in vars(draft).items() if name != "_kind"}
        return draft._kind(**fields)
    if isinstance(draft, (tuple, list)) and any(isinstance(each, Draft) for each in draft):
        return tuple(freeze(each) for each in draft)
    return draft


def draft_bone(*values, **fields):
    return thaw(core.shot.BoneShot(*values, **fields))


def plan_of(draft):
    shot = freeze(draft)
    return core.plan.make_plan(shot, core.roles.plan_roles(shot))


def build(draft):
    return core.build.build_scene(plan_of(draft))


def bake(draft):
    return core.bake.bake(plan_of(draft))


def document(draft):
    """The document that would be exported."""
    return json.loads(run(core.bake.prepare(plan_of(draft)))[0].document().to_json())


def roles_of(draft):
    return list(core.roles.plan_roles(freeze(draft)).roles)


def frames_needed(draft):
    shot = freeze(draft)
    return core.roles.frames_needed(shot, core.roles.plan_roles(shot))


def matrix(position, q):
    """16 numbers, column after column."""
    w, x, y, z = q
    return [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
            2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
            2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0, *position, 1]


ALONG_X = algebra.q_about((0, 0, 1), -math.pi / 2)      # bone y along world x
EVERY_FRAME = {"key_tolerance": 0.0, "key_angle_tolerance": 0.0}    # settings: no key is removed


def chain_shot(count=4, frames=10, length=0.3, **settings):
    """A draft of level links along x, at rest. Every frame gets keys, unless settings say more."""
    bones = tuple(core.shot.BoneShot(f"link{k}", k - 1, length,
                                     matrix((k * length, 0, 2), ALONG_X), connected=k > 0)
                  for k in range(count))
    shot = thaw(core.shot.Shot("chain", bones, frame_end=frames,
                               settings=core.shot.Settings(ground=False,
                                                           **{**EVERY_FRAME, **settings})))
    frames_, before = frames_needed(shot)
    shot.frames, shot.before = frames_, before
    one = array("f", [v for bone in bones for v in bone.rest])
    shot.poses, shot.objects = one * len(frames_), array("f", STILL) * len(frames_)
    shot.basis = array("f", STILL) * (count * len(frames_))
    shot.before_poses, shot.before_objects = one * len(before), array("f", STILL) * len(before)
    return shot


class Pure(unittest.TestCase):
    def test_no_bpy_in_pure_modules(self):
        self.assertNotIn("bpy", sys.modules)
        for path in (ADDON / "core").glob("*.py"):
            text = path.read_text(encoding="utf-8")
            self.assertNotIn("import bpy", text)
            self.assertNotIn("mathutils", text)

    def test_shots_and_plans_are_frozen(self):
        shot = freeze(chain_shot())
        for frozen in (shot, shot.bones[0], shot.settings, shot.bones[0].settings,
                       plan_of(chain_shot())):
            name = dataclasses.fields(frozen)[0].name
            with self.assertRaises(dataclasses.FrozenInstanceError):
                setattr(frozen, name, None)

    def test_one_pass_of_the_document_reader_per_bake(self):
        """Whatever is animated: springs, start velocities, driven bodies."""
        shot = self.swung(1, preset="FOLLOW")
        shot.before_objects = array("f", [v + (k == 13) * 0.1 * math.sin(2 * n)
                                          for n in range(-4, 5) for k, v in enumerate(STILL)])
        create = skelpy.Scene.from_values
        with mock.patch.object(skelpy.Scene, "from_values", side_effect=create) as counted, \
                common.no_json():
            result = run(bake(shot))
        self.assertEqual(counted.call_count, 1)
        motions = result.build.motions
        self.assertEqual(set(motions.paths), {"link0"})
        self.assertEqual(set(motions.springs), {f"link{k}.joint" for k in (1, 2, 3)})
        self.assertEqual(set(motions.velocities), {"link1", "link2", "link3"})
        values = counted.call_args[0][0].array()
        self.assertNotIn(b"follow", [value.name for value in values])

        # The exported document gives the same motion.
        job = skelpy.bake(result.build.document().to_json())
        again = run(core.keys.keys_of(plan_of(shot), job.poses, 1, 1))
        self.assertEqual([c.keys for c in again], [c.keys for c in result.channels])

    def test_follow_over_time(self):
        """Springs are as strong as Follow says in each frame; where it stays, as without keys."""
        def followed(**follow_at):
            shot = chain_shot(preset="FOLLOW", follow=8.0)
            shot.follow_at = {name.replace("armature", ""): values
                              for name, values in follow_at.items()}
            return document(shot)

        def weights(made):
            return [joint["follow"].get("weight", {}).get("value") for joint in made["joints"]]

        constant = followed()
        self.assertEqual(weights(constant), [None] * 3)
        self.assertEqual(followed(armature=[8.0] * 10, link2=[-1.0] * 10), constant)
        fading = [8.0 - 0.5 * n for n in range(10)]
        shares = [(hertz / 8) ** 2 for hertz in fading]
        self.assertEqual(weights(followed(armature=fading)), [shares] * 3)
        self.assertEqual(weights(followed(link2=fading)), [None, shares, None])

        # Before it is sampled, an animated Follow may be anything: all frames are looked at.
        shot = chain_shot(preset="RAGDOLL", follow=0.0)
        self.assertEqual(len(frames_needed(shot)[0]), 1)
        shot.follow_at = {"": []}
        self.assertEqual(len(frames_needed(shot)[0]), 10)
        self.assertEqual(core.torques.free_shot(freeze(shot)).follow_at, {})

    def test_bake_of_a_tail(self):
        shot = chain_shot(preset="TAIL")
        result = run(bake(shot))
        names = {(c.path, c.index) for c in result.channels}
        self.assertEqual(names, {(f'pose.bones["link{k}"].rotation_quaternion', i)
                                 for k in (1, 2, 3) for i in range(4)})
        for channel in result.channels:
            self.assertEqual(channel.keys[0::2].tolist(), [float(f) for f in range(1, 11)])
        root = result.build.document().bodies[0]
        self.assertEqual((root.motion, root.curve), ("fixed", None))    # it stands still
        self.assertLess(result.report.summary["energy_drift"], 1e-6)

    def swung(self, step, **settings):
        """A chain on an object that swings fast, with keys every so many frames."""
        shot = chain_shot(frames=13, channels=3, **settings)
        shot.frame_step, shot.object_moves = step, True
        shot.frames = frames_needed(shot)[0]
        shot.poses, shot.basis = shot.poses[:64] * 13, array("f", STILL) * (4 * 13)
        shot.objects = array("f", [v + (k == 13) * 0.1 * math.sin(2 * n) for n in range(13)
                                   for k, v in enumerate(STILL)])
        return shot

    def test_a_step_thins_keys_and_nothing_else(self):
        """What drives is sampled every frame; the keys are those that every frame would have."""
        works = (bake, lambda shot: core.torques.find_torques(
            plan_of(thaw(core.torques.free_shot(freeze(shot))))))
        for work in works:
            full, thin = (run(work(self.swung(step, preset="TAIL"))) for step in (1, 3))
            self.assertEqual(len(full.channels), len(thin.channels))
            for a, b in zip(full.channels, thin.channels):
                self.assertEqual(b.keys[0::2].tolist(), [1, 4, 7, 10, 13])
                for want, got in zip(a.keys[1::6], b.keys[1::2]):
                    self.assertAlmostEqual(got, want, places=5)
        rows = [line.split(",")[:2] for line in thin.table[1:]]
        self.assertEqual([row[0] for row in rows], ["1", "4", "7", "10", "13"])
        self.assertAlmostEqual(float(rows[-1][1]), 0.5)

    def test_a_root_that_moves_is_driven(self):
        shot = chain_shot(preset="TAIL")
        shot.object_moves = True
        shot.frames = frames_needed(shot)[0]
        count = len(shot.frames)
        shot.poses, shot.basis = shot.poses[:64] * count, shot.basis[:64] * count
        shot.objects = array("f", STILL) * count
        shot.objects[-16 + 12] += 0.01
        root = document(shot)["bodies"][0]
        self.assertEqual(root["motion"], "driven")
        places = root["curve"]["position"]
        self.assertNotEqual(places[0], places[-1])

    def test_a_pinned_root_is_held_by_keys(self):
        """Whatever its own animation and its object do."""
        shot = chain_shot(preset="RAGDOLL", channels=3)
        shot.bones[0].settings.role, shot.object_moves = "PINNED", True
        shot.frames = frames_needed(shot)[0]
        self.assertEqual(len(shot.frames), 10)
        shot.poses, shot.basis = shot.poses * 10, shot.basis * 10
        shot.objects = array("f", [v + (k == 13) * 0.1 * n for n in range(10)
                                   for k, v in enumerate(STILL)])
        held = {c.path: c.keys for c in run(bake(shot)).channels
                if c.group == "link0" and c.index == 0}         # its x is the world's -y
        self.assertAlmostEqual(held['pose.bones["link0"].location'][-1], 0.9, places=5)
        self.assertEqual(plan_of(shot).keyed, ["link0", "link1", "link2", "link3"])

    def test_document_is_the_bake(self):
        """The text alone gives the same poses."""
        shot = chain_shot(preset="RAGDOLL")
        job = skelpy.bake(json.dumps(document(shot)))
        keys = run(core.keys.keys_of(plan_of(shot), job.poses, 1, 1))
        again = run(bake(shot))
        self.assertEqual([c.keys for c in keys], [c.keys for c in again.channels])

    def test_keys_that_are_made_in_parts_are_the_same(self):
        """Whole turns and signs go on from part to part."""
        shot = chain_shot(preset="RAGDOLL")
        for bone, mode in zip(shot.bones, (rigs.XYZ, rigs.QUATERNION, rigs.AXIS_ANGLE, rigs.ZYX)):
            bone.rotation = mode
        plan = plan_of(shot)
        poses, turn = array("d"), (1.0, 0.0, 0.0, 0.0)
        for n in range(30):
            turn = algebra.q_mul(turn, algebra.q_about((0.6, 0.48, 0.64), 0.5))
            for k in range(plan.body_count):
                poses.extend((0.1 * k, 0.01 * n, 0.0, *turn))
        whole = run(core.keys.keys_of(plan, poses, 1, 1))
        with mock.patch.object(core.keys, "BONE_FRAMES_PER_SLICE", 7 * len(shot.bones)):
            parts = run(core.keys.keys_of(plan, poses, 1, 1))
        self.assertEqual([c.keys for c in parts], [c.keys for c in whole])
        self.assertGreater(max(max(c.keys[1::2]) for c in whole), 4)    # beyond half a turn

    def test_report_is_that_of_the_command(self):
        """The same columns and numbers, the same document."""
        result = run(bake(chain_shot(preset="RAGDOLL")))
        with tempfile.TemporaryDirectory() as folder:
            scene, table, report = (os.path.join(folder, name) for name in
                                    ("s.json", "r.csv", "r.json"))
            core.files.save(scene, result.build.document().to_json())
            for path in (table, report):
                subprocess.run([common.BIN, "bake", scene, "-o",
                                os.path.join(folder, "t.json"), "--report", path], check=True)
            with open(table, encoding="utf-8", newline="") as file:
                wanted = list(csv.DictReader(file))
            with open(report, encoding="utf-8") as file:
                document = json.load(file)
        got = list(csv.DictReader(io.StringIO(result.report.csv())))
        self.assertEqual(len(got), 10)
        self.assertEqual([{k: float(v) for k, v in row.items()} for row in got],
                         [{k: float(v) for k, v in row.items()} for row in wanted])
        mine = json.loads(result.report.json())
        for each in (mine, document):
            each.pop("wall_seconds")
        self.assertEqual(mine, document)

    def test_bodies_of_one_character_may_overlap(self):
        """No warning says so, unless there are obstacles that bones may start in."""
        shot = chain_shot(3, preset="TAIL", only_selected=True)
        for k, bone in enumerate(shot.bones):
            bone.selected = k == 2
        own = shot.bones[0].settings                    # reaches into the third link
        own.shape, own.shape_size, own.shape_offset = "CAPSULE", (0.1, 0.1, 1.4), (0, 0.15, 0)
        shot.animated = True
        shot.frames = frames_needed(shot)[0]
        count = len(shot.frames)
        shot.poses, shot.basis = shot.poses[:48] * count, shot.basis[:48] * count
        shot.objects = array("f", STILL) * count
        plan = plan_of(shot)
        _build, scene = run(core.bake.prepare(plan))
        with skelpy.Bake(scene) as job:
            job.run()
            self.assertRegex(" ".join(job.warnings), "overlap at the start")
            self.assertEqual(core.report.bake_report(job, plan.shot, []).warnings, ())

    def test_links_of_a_strand_do_not_collide(self):
        """Four links or more share a group; with all other bodies they collide."""
        for count, groups in ((3, [True] * 3), (5, [1] * 5)):
            scene = build(chain_shot(count)).scene
            self.assertEqual([body.collide for body in scene.bodies], groups)

    def test_falls_freely(self):
        shot = chain_shot(2, 13, preset="RAGDOLL", channels=3)
        result = run(bake(shot))
        drop = {c.index: c.keys[-1] for c in result.channels
                if c.path == 'pose.bones["link0"].location'}
        fall = -9.81 / 2 * (12 / 24) ** 2
        self.assertAlmostEqual(math.dist(tuple(drop[k] for k in range(3)), (0, 0, 0)), -fall,
                               places=3)

    def started(self, places):
        """(speed along x at the start, what is said): of a chain that is there in nine frames."""
        shot = chain_shot(2, preset="RAGDOLL")
        shot.before_objects = array("f", [v + (k == 12) * x for x in places
                                          for k, v in enumerate(STILL)])
        built, _scene = run(core.bake.prepare(plan_of(shot)))
        velocity = built.document().bodies[0].velocity or [0, 0, 0]
        return velocity[0], built.warnings

    def test_a_cut_before_the_start_throws_nothing(self):
        steady = [0.05 * n for n in range(-4, 5)]
        for places, speed, words in (
                (steady, 1.2, None),
                ([min(x, 0) for x in steady], 1.2, None),               # thrown, and let go
                ([max(x, 0) for x in steady], 1.2, None),               # starts here
                ([-5] * 4 + [0] * 5, 0, "'link0' jumps from frame 0 to 1: .* at rest"),
                ([x - 5 for x in steady[:4]] + steady[4:], 1.2,
                 "jumps .* as the animation goes on"),
                ([x - 5 for x in steady[:1]] + steady[1:], 1.2, "from frame -3 to -2"),
                ([0] * 5 + [5] * 4, 0, "from frame 1 to 2: bones start at rest")):
            got, said = self.started(places)
            self.assertAlmostEqual(got, speed, places=4)
            self.assertEqual(len(said), 1 if words else 0)
            if words:
                self.assertRegex(said[0], words)

    def test_elbows_and_knees_by_name(self):
        for names, lower in (
                ("Hips LeftUpLeg LeftLeg LeftFoot LeftToeBase", "LeftLeg"),
                ("Spine2 LeftShoulder LeftArm LeftForeArm LeftHand", "LeftForeArm"),
                ("pelvis thigh_l calf_l foot_l ball_l", "calf_l"),
                ("spine_01 clavicle_l upperarm_l lowerarm_l hand_l", "lowerarm_l"),
                ("spine thigh.L shin.L foot.L toe.L", "shin.L"),
                ("J_Bip_C_Hips J_Bip_L_UpperLeg J_Bip_L_LowerLeg J_Bip_L_Foot", "J_Bip_L_LowerLeg"),
                ("Bip01-Pelvis Bip01-L-Thigh Bip01-L-Calf Bip01-L-Foot", "Bip01-L-Calf"),
                ("Neck Head", None), ("Bone DEF_spine", None)):
            bones = [draft_bone(name, k - 1) for k, name in enumerate(names.split())]
            got = [bones[k].name for k in range(len(bones))
                   if core.anatomy.is_lower_limb([freeze(bone) for bone in bones], k)]
            self.assertEqual(got, [lower] if lower else [], names)

    def test_limits_make_joints(self):
        cases = (({"X": (-1, 1)}, "YZ", "hinge"), ({"X": (-1, 1), "Z": (0, 1)}, "Y", "universal"),
                 ({"X": (-1, 1), "Y": (0, 1), "Z": (0, 1)}, "", "ball"), ({}, "XYZ", "fixed"))
        for limits, locked, kind in cases:
            shot = chain_shot(2)
            shot.bones[1].limits, shot.bones[1].locked = limits, locked
            joint = build(shot).scene.joints[0]
            self.assertEqual(joint.type, kind)

    def test_planar_joint(self):
        """Of a root to the world, without friction; of other bones to their parent. The axis is
        the normal, X if the user names none."""
        for axis, normal in (("AUTO", (0, -1, 0)), ("Y", (1, 0, 0)), ("Z", (0, 0, 1))):
            shot = chain_shot(2)
            settings = shot.bones[0].settings
            settings.joint, settings.axis = "PLANAR", axis
            joint = build(shot).scene.joints[0]
            self.assertEqual((joint.type, list(joint.bodies), joint.friction, joint.limits),
                             ("planar", ["world", "link0"], None, None))
            for got, want in zip(joint.axis, normal):
                self.assertAlmostEqual(got, want, places=6)
            self.assertEqual(list(joint.anchor), [0, 0, 2])

        shot.bones[0].settings.joint, shot.bones[1].settings.joint = "AUTO", "PLANAR"
        with self.assertRaisesRegex(core.errors.UserError, "'link1' cannot slide.*Connected"):
            build(shot)
        shot.bones[1].connected = False
        joint = build(shot).scene.joints[0]
        self.assertEqual((joint.type, list(joint.bodies)), ("planar", ["link0", "link1"]))
        self.assertGreater(joint.friction, 0)
        data = document(shot)["joints"][0]
        self.assertEqual(data["type"], "planar")

    def test_screw_joint(self):
        """About the length of the bone, by a pitch per turn; limits count turns from rest."""
        shot = chain_shot(2)
        settings = shot.bones[1].settings
        shot.bones[1].connected, settings.joint, settings.pitch = False, "SCREW", 0.5
        settings.limits, settings.limit_low, settings.limit_high = "CUSTOM", -1.0, 2.0
        joint = build(shot).scene.joints[0]
        self.assertEqual((joint.type, list(joint.bodies)), ("screw", ["link0", "link1"]))
        self.assertAlmostEqual(joint.pitch, 0.5 / (2 * math.pi))
        for got, want in zip((*joint.axis, *joint.limits), (1, 0, 0, -1, 2)):
            self.assertAlmostEqual(got, want, places=6)

        shot.basis[16 + 13] = 2 * 0.5           # two turns along Y at the first frame
        limits = build(shot).scene.joints[0].limits
        self.assertAlmostEqual(limits[0], -1 - 4 * math.pi, places=5)
        data = document(shot)["joints"][0]
        self.assertEqual((data["type"], data["pitch"]), ("screw", joint.pitch))

        settings.pitch = 0.0
        with self.assertRaisesRegex(core.errors.UserError, "'link1' has a pitch of 0. Set Pitch"):
            build(shot)

    def test_keys_of_a_screw(self):
        """Location and rotation, whose angle goes on after a turn."""
        shot = chain_shot(2, preset="TAIL")
        bone, angles = shot.bones[1], [0.5 * k for k in range(20)]
        bone.connected, bone.rotation = False, rigs.YXZ
        bone.settings.joint, bone.settings.pitch = "SCREW", 0.5
        made = build(shot)
        scene = skelpy.Scene.from_json(made.scene.to_json())
        poses = [x for angle in angles for x in skelpy.fk(scene, [angle])]
        keys = {(channel.path.rpartition(".")[2], channel.index): channel.keys[1::2]
                for channel in run(core.keys.keys_of(made.plan, poses, 1, 1))}
        for k, angle in enumerate(angles):
            for name, along in (("location", 0.5 * angle / (2 * math.pi)),
                                ("rotation_euler", angle)):
                for index, want in enumerate((0, along, 0)):
                    self.assertAlmostEqual(keys[name, index][k], want, delta=1e-5)

    def test_limbs_that_rigify_cuts_are_one_body(self):
        """If a bone that does not deform lies over both parts."""
        for whole, names in ((True, ["spine", "spine.001", "thigh.L", "shin.L"]),
                             (False, ["spine", "spine.001", "thigh.L", "thigh.L.001", "shin.L"])):
            shot = chain_shot(5)
            for bone, name in zip(shot.bones, ("spine", "spine.001", "thigh.L", "thigh.L.001",
                                               "shin.L")):
                bone.name = f"DEF-{name}"
            if whole:
                shot.bones.append(draft_bone("ORG-thigh.L", -1, 0.6, list(shot.bones[2].rest),
                                             deform=False))
            one = array("f", [v for bone in shot.bones for v in bone.rest])
            shot.poses, shot.before_poses = one * len(shot.frames), one * len(shot.before)
            shot.basis = array("f", STILL) * (len(shot.bones) * len(shot.frames))
            built = build(shot)
            self.assertEqual([body.name for body in built.scene.bodies],
                             [f"DEF-{name}" for name in names])
            self.assertEqual(built.scene.joints[-1].type, "hinge")

    def test_one_limit_of_two_holds(self):
        for axis, limits in (("X", [[-math.pi, math.pi], [-0.2, 0.2]]),
                             ("Z", [[-0.2, 0.2], [-math.pi, math.pi]])):
            shot = chain_shot(2)
            shot.bones[1].limits, shot.bones[1].locked = {axis: (-0.2, 0.2)}, "Y"
            joint = build(shot).scene.joints[0]
            self.assertEqual((joint.type, joint.limits), ("universal", limits))
            shot.bones[1].locked = ""
            joint = build(shot).scene.joints[0]
            self.assertEqual(joint.type, "ball")
            self.assertAlmostEqual(joint.limits["cone"], 0.2)
        shot.bones[1].limits = {"Y": (-0.2, 0.2)}
        self.assertAlmostEqual(build(shot).scene.joints[0].limits["cone"], math.pi)

    def test_universal_limits_count_from_rest(self):
        """Outer Z as Euler angles have it, at rest; the locked axis stays."""
        shot = chain_shot(2, 30, preset="TAIL", start_velocity=False)
        shot.bones[1].limits, shot.bones[1].locked = {"X": (-0.4, 0.2)}, "Y"
        turn = algebra.q_mul(algebra.q_about((0, 0, 1), 1.0), algebra.q_about((1, 0, 0), 0.1))
        now = matrix((0.3, 0, 2), algebra.q_mul(ALONG_X, turn))
        shot.poses = array("f", shot.bones[0].rest + now) * len(shot.frames)
        joint = build(shot).scene.joints[0]
        self.assertAlmostEqual(joint.limits[1][0], -0.5, places=5)
        for got, want in zip(joint.axis, (0, 0, 1)):
            self.assertAlmostEqual(got, want, places=6)
        keys = [c.keys[1::2] for c in run(bake(shot)).channels]
        angles = []
        for w, x, y, z in zip(*keys):
            self.assertAlmostEqual(w * y - x * z, 0, places=5)          # Euler's y
            angles.append(math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)))
        self.assertGreater(min(angles), -0.41)
        self.assertLess(min(angles), -0.39)

    def test_hinge_limits_count_from_rest(self):
        shot = chain_shot(2)
        shot.bones[1].limits, shot.bones[1].locked = {"X": (-0.5, 1.0)}, "YZ"
        now = algebra.q_mul(ALONG_X, algebra.q_about((1, 0, 0), 0.25))
        shot.poses = array("f", shot.bones[0].rest + matrix((0.3, 0, 2), now)) * len(shot.frames)
        joint = build(shot).scene.joints[0]
        self.assertAlmostEqual(joint.limits[0], -0.75, places=5)
        self.assertAlmostEqual(joint.limits[1], 0.75, places=5)

    def test_roles(self):
        shot = chain_shot(5, preset="SOFT")
        self.assertEqual(roles_of(shot), ["DRIVEN"] * 4 + ["SOFT"])
        shot = chain_shot(5, preset="TAIL", only_selected=True)
        for k, bone in enumerate(shot.bones):
            bone.selected = k >= 3
        # Bodies that were not selected follow their animation, so that the others collide with
        # them; those below a selected bone move with it.
        self.assertEqual(roles_of(shot), ["DRIVEN"] * 3 + ["DYNAMIC"] * 2)
        for k, bone in enumerate(shot.bones):
            bone.selected = k in (2, 3)
        self.assertEqual(roles_of(shot), ["DRIVEN"] * 2 + ["DYNAMIC"] * 2 + ["NONE"])
        for bone in shot.bones:
            bone.selected = False
        with self.assertRaises(UserError):
            roles_of(shot)

    def rigged(self):
        """A chain that deforms, and a branch that hangs from the twin of its second link."""
        shot = chain_shot(3)
        for name, parent, twin in (("ORG-0", -1, 0), ("ORG-1", 3, 1), ("branch", 4, None)):
            rest = list(shot.bones[twin].rest) if twin is not None else matrix(
                (0.4, 0, 2), algebra.q_about((0, 0, 1), 0.3))
            shot.bones.append(draft_bone(name, parent, 0.3, rest, deform=twin is None))
        one = array("f", [v for bone in shot.bones for v in bone.rest])
        shot.poses, shot.before_poses = one * len(shot.frames), one * len(shot.before)
        shot.basis = array("f", STILL) * (len(shot.bones) * len(shot.frames))
        return shot

    def test_bodies_hang_on_the_twins_of_bones_without(self):
        for preset in ("RAGDOLL", "TAIL"):
            shot = self.rigged()
            shot.settings.preset = preset
            built = build(shot)
            self.assertEqual(built.plan.roles[3:], ("NONE", "NONE", "DYNAMIC"))
            self.assertIn(["link1", "branch"], [joint.bodies for joint in built.scene.joints])
            self.assertEqual(built.warnings, ())

    def test_pieces_are_named(self):
        shot = self.rigged()
        shot.bones[0].parent, shot.bones[4].rest[12] = 3, 0.5
        shot.bones = [shot.bones[k] for k in (3, 0, 1, 2, 4, 5)]
        for bone, parent in zip(shot.bones, (-1, 0, 1, 2, 0, 4)):
            bone.parent = parent
        shot.bones[0].rest[12] = -0.5
        for k, bone in enumerate(shot.bones):
            if bone.name in ("ORG-1", "branch"):
                bone.rest[14] = 3.5
                for poses in (shot.poses, shot.before_poses):
                    poses[16 * k + 14::16 * len(shot.bones)] = \
                        array("f", [3.5]) * (len(poses) // (16 * len(shot.bones)))
        words = build(shot).warnings[0]
        self.assertRegex(words, "^The skeleton has 2 pieces that nothing connects: "
                         "'(link0|branch)', '(link0|branch)'")
        shot.settings.join_pieces = True
        self.assertEqual(build(shot).warnings, ())
        self.assertEqual(len(build(shot).scene.joints), 3)

    def test_twins_make_no_rings(self):
        """Each of two bones is below the twin of the other."""
        shot = self.rigged()
        shot.bones = shot.bones[:2] + shot.bones[3:5]
        for bone, parent in zip(shot.bones, (-1, 0, -1, -1)):
            bone.parent = parent
        shot.bones = [shot.bones[k] for k in (2, 3, 0, 1)]
        shot.bones[2].parent, shot.bones[3].parent = 1, 0       # link0 below ORG-1, link1 ORG-0
        self.assertEqual(len(build(shot).scene.joints), 1)

    def test_helpers_between_are_held(self):
        """One that a constraint moves; one whose keys a connected bone could not make up for."""
        for constrained, connected, keys, held in (
                (True, False, False, True), (False, True, True, True), (False, False, True, False),
                (False, True, False, False)):
            shot = chain_shot(3, channels=3)
            shot.bones[1].deform, shot.bones[1].constrained = False, constrained
            shot.bones[2].connected, shot.animated = connected, keys
            shot.frames = frames_needed(shot)[0]
            count = len(shot.frames)
            shot.poses, shot.basis = shot.poses * count, shot.basis * count
            shot.objects = shot.objects * count
            if keys:
                shot.basis[-32:-16] = array("f", matrix((0, 0, 0), ALONG_X))
            built = build(shot)
            bones = built.plan.bones
            self.assertEqual("link1" in built.plan.keyed, held)
            self.assertEqual(built.plan.own_bodies, (0, 2))
            self.assertEqual(built.reader.bones[1].body, -1)
            if held:
                self.assertEqual(bones[1].body, bones[0].body)
                self.assertAlmostEqual(bones[1].offset[2], 0.0, places=6)   # 0.3 from its joint

    def test_what_is_hidden_by_its_scale_does_not_matter(self):
        shot = self.rigged()
        shot.bones[5].length, shot.bones[5].settings.role = 0.02, "NONE"
        shot.poses[80:92] = array("f", bytes(4 * 12))
        self.assertNotIn("branch", plan_of(shot).keyed)
        self.assertEqual(len(build(shot).scene.bodies), 3)

    def test_soft_bones_need_a_body(self):
        """That of the twin may be left out later."""
        shot = self.rigged()
        shot.bones[1].settings.role, shot.bones[5].settings.role = "SOFT", "SOFT"
        shot.bones = [shot.bones[k] for k in (3, 4, 5, 0, 1, 2)]
        for bone, parent in zip(shot.bones, (-1, 0, 1, -1, 3, 4)):
            bone.parent = parent
        shot.bones[0].rest[12] = -0.5
        self.assertEqual(roles_of(shot), ["NONE"] * 3 + ["DYNAMIC", "SOFT", "NONE"])

    def test_fingers_of_twins_ride_along(self):
        shot = self.rigged()
        shot.bones.append(draft_bone("finger", 4, 0.02, matrix((0.6, 0, 2), ALONG_X)))
        one = array("f", [v for bone in shot.bones for v in bone.rest])
        shot.poses, shot.basis = one, array("f", STILL) * len(shot.bones)
        built = build(shot)
        plan = built.plan
        self.assertEqual(plan.roles[6], "NONE")
        self.assertEqual(plan.bones[6].body, plan.body_index["link1"])
        self.assertIn("finger", plan.keyed)

    def test_fingers_go_along_unless_asked_for(self):
        shot = chain_shot(3)
        for k, name in enumerate(("finger_a", "finger_b")):
            bone = draft_bone(name, 2 + k, 0.02, matrix((0.9 + 0.02 * k, 0, 2), ALONG_X))
            shot.bones.append(bone)
        self.assertEqual(roles_of(shot), ["DYNAMIC"] * 3 + ["NONE"] * 2)
        shot.bones[3].settings.role = "DYNAMIC"
        self.assertEqual(roles_of(shot)[3], "DYNAMIC")
        shot.settings.only_selected = True      # selected is asked for
        self.assertEqual(roles_of(shot)[4], "DYNAMIC")
        self.assertEqual(roles_of(chain_shot(60)), ["DYNAMIC"] * 60)

    def test_masses(self):
        shot = chain_shot(3, total_mass=10.0)
        shot.bones[0].settings.mass = 4.0
        bodies = build(shot).scene.bodies
        self.assertEqual(bodies[0].mass, 4.0)
        self.assertAlmostEqual(sum(body.mass for body in bodies), 10.0)
        shot = chain_shot(1)
        self.assertAlmostEqual(build(shot).scene.bodies[0].shape["radius"], 0.036, places=6)

    def test_refusals_name_what_to_do(self):
        shot = chain_shot(2)
        shot.objects = array("f", [1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])
        with self.assertRaisesRegex(UserError, "Apply"):
            build(shot)
        shot = chain_shot(2)
        shot.poses[8:11] = array("f", [0, 0, 2])
        shot.bones[0].scale = (1, 1, 2)
        with self.assertRaisesRegex(UserError, "'link0' .* at frame 1, .*Alt"):
            build(shot)

    def test_what_drives_may_not_grow(self):
        for sizes, words in (((2, 2, 2), "'link0' is scaled by 2 at frame 13, and by 1 at frame 1"),
                             ((1, 1, 2), r"'link0' is scaled by \(1, 1, 2\) at frame 13")):
            shot = self.swung(1, preset="TAIL")
            for k, size in zip((0, 4, 8), sizes):
                for n in range(12 * 64 + k, 12 * 64 + k + 3):
                    shot.poses[n] *= size
            with self.assertRaisesRegex(UserError, words):
                build(shot)

    def test_what_constraints_scale_keeps_its_size(self):
        shot = chain_shot(2, preset="RAGDOLL")
        shot.poses[16:28] = array("f", [1.5 * v for v in shot.poses[16:28]])
        result = run(bake(shot))
        held = [c.keys.tolist() for c in result.channels if c.path.endswith(".scale")]
        self.assertEqual(held, [[1, 1.5, 10, 1.5]] * 3)
        shot = chain_shot(2, preset="RAGDOLL")      # stretched, as Rigify's bones are: its length
        shot.bones[0].constrained = True
        shot.poses[4:7] = array("f", [1.25 * v for v in shot.poses[4:7]])
        shot.poses[28] += 0.25 * 0.3
        result = run(bake(shot))
        held = [c.keys.tolist() for c in result.channels
                if c.path.endswith(".scale") and c.group == "link0"]
        self.assertEqual(held, [[1, 1.25, 10, 1.25]] * 3)

    def test_ground_thins_what_touches_it(self):
        shot = chain_shot(1)
        shot.settings.ground, shot.settings.ground_height = True, 1.98
        body = build(shot).scene.bodies[0]
        self.assertAlmostEqual(body.shape["radius"], 0.02, places=6)

    def test_ground_is_level(self):
        for gravity in ((4.9, 0, -8.5), (0, 0, 3), (0, 0, 0)):
            shot = chain_shot(2)
            shot.settings.ground, shot.gravity = True, gravity
            built = build(shot)
            self.assertEqual(built.scene.ground[0].normal, [0, 0, 1])
            self.assertEqual(built.warnings, ())

    def test_what_starts_below_the_ground_is_named(self):
        shot = chain_shot(3)
        shot.settings.ground, shot.settings.ground_height = True, 2.5
        report = run(bake(shot)).report
        self.assertRegex(report.warnings[0],
                         r"^The bone 'link0' \(and 2 more\) is 0\.5 m below the ground at frame 1")

    def test_escapes(self):
        self.assertEqual(core.keys.escape('a"b\\c'), 'a\\"b\\\\c')

    def test_frame_rate(self):
        self.assertAlmostEqual(core.shot.frame_rate(30, 1.001), 29.97002997)

    def test_track_frames(self):
        text = json.dumps({"frame_start": 5, "fps": 12, "position": [[]] * 3})
        self.assertEqual(core.track.track_frames(text, 24), [5, 7, 9])
        self.assertEqual(core.track.track_frames(text, 30), [5, 7.5, 10])
        for text in ("[]", '{"frame_start": 1, "fps": 0, "position": [1]}',
                     '{"frame_start": 1e400, "fps": 24, "position": [1]}',
                     '{"frame_start": 9999999, "fps": 24, "position": [1]}'):
            with self.assertRaises(UserError):
                core.track.track_frames(text, 24)

    def test_stops_anywhere(self):
        """A generator that is closed raises nothing and leaves nothing."""
        for stop in (0, 1, 3, 6):
            work = bake(chain_shot(3, 200))
            for _ in range(stop):
                next(work, None)
            work.close()


class Versions(unittest.TestCase):
    """Blender 4.4 to 5.1, faked."""

    VERSIONS = ((4, 4), (4, 5), (5, 0), (5, 1))

    def channel(self, path="pose.bones[\"a\"].location", frames=(3, 4, 5)):
        keys = core.keys.interleave(list(frames), [float(f) for f in frames])
        return core.keys.Channel(path, 0, "a", keys)

    def write(self, version, ob, target, bpy=None):
        bpy = bpy or fake_bpy.make(version)
        writer = load("write", bpy)
        return bpy, writer, run(writer.write_channels(ob, [self.channel()], target, "new"))

    def test_new_action_and_slot(self):
        for version in self.VERSIONS:
            with self.subTest(version=version):
                ob = fake_bpy.Thing("rig")
                _bpy, _writer, action = self.write(version, ob, "NEW")
                self.assertIs(ob.animation_data.action, action)
                self.assertEqual(ob.animation_data.action_slot.identifier, "OBrig")
                curve = action.layers[0].strips[0].channelbags[0].fcurves[0]
                self.assertEqual(curve.group.name, "a")
                self.assertEqual(curve.keyframe_points.fields["co"].tolist(), [3, 3, 4, 4, 5, 5])
                self.assertEqual(ob.tags, 1)

    def test_new_from_old_leaves_the_old(self):
        for version in self.VERSIONS:
            with self.subTest(version=version):
                ob = fake_bpy.Thing("rig")
                bpy, writer, old = self.write(version, ob, "NEW")
                points = old.layers[0].strips[0].channelbags[0].fcurves[0].keyframe_points
                before = dict(points.fields)
                channels = [self.channel(frames=(4, 5, 6))]
                new = run(writer.write_channels(ob, channels, "NEW", "x"))
                self.assertIsNot(new, old)
                self.assertEqual(points.fields, before)
                merged = new.layers[0].strips[0].channelbags[0].fcurves[0].keyframe_points
                self.assertEqual(merged.fields["co"].tolist(), [3, 3, 4, 4, 5, 5, 6, 6])
                self.assertEqual(ob.animation_data.action_slot.identifier, "OBrig")

    def test_nla_strip_has_a_slot(self):
        for version in self.VERSIONS:
            with self.subTest(version=version):
                ob = fake_bpy.Thing("rig")
                bpy, writer, old = self.write(version, ob, "NEW")
                new = run(writer.write_channels(ob, [self.channel()], "NLA", "strip"))
                strips = [track.strips[0] for track in ob.animation_data.nla_tracks]
                self.assertEqual([strip.action for strip in strips], [old, new])
                self.assertTrue(all(strip.action_slot is not None for strip in strips))
                self.assertIsNone(ob.animation_data.action)

    def test_stopped_writing_takes_the_action_away(self):
        for version in self.VERSIONS:
            with self.subTest(version=version):
                bpy, ob = fake_bpy.make(version), fake_bpy.Thing("rig")
                writer = load("write", bpy)
                work = writer.write_channels(ob, [self.channel()] * 3, "NEW", "new")
                next(work)
                self.assertEqual(len(bpy.data.actions), 1)
                work.close()
                self.assertEqual(len(bpy.data.actions), 0)
                self.assertIsNone(ob.animation_data)

    def test_selection(self):
        for version in self.VERSIONS:
            compat = load("compat", fake_bpy.make(version))
            for selected in (True, False):
                bone = fake_bpy.pose_bone(version, selected)
                self.assertEqual(compat.is_selected(bone), selected)
                compat.select(bone, not selected)
                self.assertEqual(compat.is_selected(bone), not selected)

    def tearDown(self):
        for known in ("bpy", "mathutils"):
            sys.modules.pop(known, None)


if __name__ == "__main__":
    unittest.main()
