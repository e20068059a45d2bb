# SPDX-License-Identifier: BSD-3-Clause
"""Goals and robots of the add-on without Blender: its pure modules."""

import json
import math
import os
import random
import struct
import tempfile
import unittest
import unittest.mock
from array import array

import common
from test_addon import (ALONG_X, EVERY_FRAME, STILL, UserError, algebra, build, core, draft_bone,
                        freeze, matrix, plan_of, run, skelpy, thaw)

ROBOTS = common.SAMPLES / "robots"
shapes, properties = core.robot_shapes, core.robot_properties
ChainBone = core.robot_export.ChainBone
table_of, tip_of = core.robot_export.table_of, core.robot_export.tip_of


def chain_shot(count=4, frames=1, length=0.3, **goal):
    """Level links along x; the last one's tail is to reach a place."""
    bones = [draft_bone(f"link{k}", k - 1, length, matrix((k * length, 0, 2), ALONG_X),
                        connected=k > 0) for k in range(count)]
    shot = thaw(core.shot.Shot("chain", (), frame_end=frames,
                               settings=core.shot.Settings(**EVERY_FRAME)))
    shot.bones, shot.frames = bones, list(range(1, frames + 1))
    one = array("f", [v for bone in bones for v in bone.rest])
    shot.poses, shot.objects = one * frames, array("f", STILL) * frames
    shot.basis = array("f", STILL) * (count * frames)
    targets = array("f")
    for n in range(frames):
        targets.extend(matrix((0.8, 0.1 + 0.4 * n / max(1, frames - 1), 2.3), (1, 0, 0, 0)))
    fields = {"bone": f"link{count - 1}", "target": targets, "weight": [1.0] * frames, **goal}
    ik = thaw(core.ik_shot.IkShot(None, (), ()))
    ik.shot, ik.joints = shot, [thaw(core.ik_shot.JointShot()) for _ in bones]
    ik.goals = [thaw(core.ik_shot.GoalShot("goal", **fields))]
    return ik


def plan_ik(ik):
    return run(core.ik_build.plan_ik(freeze(ik)))


def solve(ik):
    """Writes and reads no JSON."""
    with common.no_json():
        return run(core.ik_solve.solve(freeze(ik)))


def ends(ik):
    """Where the tip ends, frame by frame, by the library's own poses."""
    plan = plan_ik(ik)
    with skelpy.Scene.from_json(plan.scene.to_json()) as scene:
        motion = scene.ik()
        k, width = 7 * plan.body_index[ik.goals[0].bone], 7 * plan.body_count
        half = ik.shot.bones[-1].length / 2
        rows = [list(motion.poses[n + k:n + k + 7]) for n in range(0, len(motion.poses), width)]
    return [algebra.add(row[:3], algebra.q_rotate(row[3:], (0, half, 0))) for row in rows]


def masses(scene, q):
    """Mass, centre and inertia of every body in the world, at q."""
    poses, out = skelpy.fk(scene, q), []
    for k, body in enumerate(json.loads(scene.to_json())["bodies"]):
        pose = list(poses[7 * k:7 * k + 7])
        out.append([body["mass"], *pose[:3], *algebra.rotate_inertia(body["inertia"], pose[3:])])
    return out


class Goals(unittest.TestCase):
    def test_reaches_frame_by_frame(self):
        ik = chain_shot(frames=8)
        result = solve(ik)
        self.assertEqual(result.report.missed, [])
        names = {(c.path, c.index) for c in result.channels}
        self.assertEqual(names, {(f'pose.bones["link{k}"].rotation_quaternion', i)
                                 for k in range(4) for i in range(4)})
        for channel in result.channels:
            self.assertEqual(channel.keys[0::2].tolist(), [float(f) for f in range(1, 9)])
        for n, end in enumerate(ends(ik)):
            self.assertLess(math.dist(end, (0.8, 0.1 + 0.4 * n / 7, 2.3)), 2e-5)

    def test_angles_turn_back(self):
        rng = random.Random(3)
        for outer in ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"):
            for _ in range(20):
                q = [rng.gauss(0, 1) for _ in range(4)]
                q = [v / algebra.norm(q) for v in q]
                for angles in core.ik_joints.angles_of(q, outer):
                    back = (1.0, 0.0, 0.0, 0.0)
                    for axis, angle in zip(outer, angles):
                        back = algebra.q_mul(back, algebra.q_about(algebra.AXES[axis], angle))
                    dot = sum(a * b for a, b in zip(q, back))
                    self.assertAlmostEqual(abs(dot), 1.0, 9)
            for angle in (math.pi / 2, -math.pi / 2):          # gimbal
                q = algebra.q_mul(algebra.q_about(algebra.AXES[outer[0]], 0.4),
                                  algebra.q_about(algebra.AXES[outer[1]], angle))
                first, _other = core.ik_joints.angles_of(q, outer)
                self.assertAlmostEqual(first[0], 0.4, 6)
                self.assertAlmostEqual(first[1], angle, 6)

    def test_limits_are_hinges_in_the_order_of_the_angles(self):
        ik = chain_shot(2)
        ik.shot.bones[1].limits = {"X": (-0.5, 0.5), "Z": (-0.2, 1.0)}
        ik.shot.bones[1].locked = "Y"
        ik.joints[1].order = "XYZ"
        built = plan_ik(ik)
        names = [joint.name for joint in built.scene.joints]
        self.assertEqual(names, ["link0", "link1.Z", "link1.X"])
        self.assertEqual(built.scene.joints[1].limits, [-0.2, 1.0])
        self.assertEqual({row[1] for row in built.limits}, {"X", "Z"})
        report = solve(ik).report
        self.assertEqual(report.frame_count, 1)

    def test_hinge_row_stands_as_the_bone_does(self):
        """A turned bone with limits begins where it is, locked axes and all."""
        ik = chain_shot(2)
        turn = algebra.q_mul(algebra.q_about((0, 0, 1), 0.3), algebra.q_mul(
            algebra.q_about((0, 1, 0), -0.2), algebra.q_about((1, 0, 0), 0.5)))
        now = matrix((0.3, 0, 2), algebra.q_mul(ALONG_X, turn))
        ik.shot.poses[16:32] = array("f", now)
        ik.shot.bones[1].limits = {"X": (-1, 1)}
        ik.shot.bones[1].locked = "YZ"
        built = plan_ik(ik)
        with skelpy.Scene.from_json(built.scene.to_json()) as scene, skelpy.State(scene) as state:
            k = 7 * built.body_index["link1"]
            got = list(state.poses[k + 3:k + 7])
        wanted = algebra.q_mul(ALONG_X, turn)
        self.assertAlmostEqual(abs(sum(a * b for a, b in zip(got, wanted))), 1.0, 6)

    def test_root_and_chain_length(self):
        ik = chain_shot(5, chain=2)
        moving = core.ik_shot.moving_bones(freeze(ik))
        self.assertEqual((moving.turns, moving.roots), ({3, 4}, {}))
        ik = chain_shot(5)
        self.assertEqual(core.ik_shot.moving_bones(freeze(ik)).roots, {0: "TURNS"})
        ik.settings.root = "HELD"
        self.assertEqual(core.ik_shot.moving_bones(freeze(ik)).turns, {1, 2, 3, 4})

    def test_words_that_help(self):
        for change, words in (({"bone": "nobody"}, "nobody"), ({"target": None}, "no target"),
                              ({"position": False}, "neither")):
            with self.assertRaisesRegex(UserError, words):
                plan_ik(chain_shot(**change))
        ik = chain_shot(1, pole=array("f", STILL))
        with self.assertRaisesRegex(UserError, "two bones"):
            plan_ik(ik)

    def test_jumps_are_named(self):
        """A hinge whose limits leave a gap of 2 degrees follows a target across it: it has to
        turn back all the way round."""
        frames = 21
        ik = chain_shot(1, frames)
        ik.shot.frames = list(range(1, 2 * frames, 2))      # every second frame
        ik.shot.bones[0].limits = {"Z": (math.radians(-179), math.radians(179))}
        ik.shot.bones[0].locked = "XY"
        ik.goals[0].target = array("f")
        for n in range(frames):
            turn = algebra.q_about((0, 0, 1), math.radians(151.5 + 3 * n))
            tip = algebra.q_rotate(algebra.q_mul(ALONG_X, turn), (0, 0.3, 0))
            ik.goals[0].target.extend(matrix((tip[0], tip[1], 2 + tip[2]), (1, 0, 0, 0)))

        report = solve(ik).report
        self.assertEqual(report.missed, [])
        (jump,) = report.jumps
        self.assertEqual((jump.frame, jump.bone, jump.unit), (21, "link0", "rad"))
        self.assertAlmostEqual(math.degrees(jump.size), 357, 3)
        self.assertEqual(report.words,
                         "all goals reached; 'link0' jumps by 357 degrees at frame 21")

    def test_a_motion_that_follows_its_target_has_no_jumps(self):
        """Also where the target itself is elsewhere from frame 12 on: bones have to follow."""
        for drop in (0.0, 0.6):
            ik = chain_shot(frames=20)
            for n in range(11, 20):
                ik.goals[0].target[16 * n + 14] -= drop
            report = solve(ik).report
            self.assertEqual((report.jumps, report.moved), ([], None))
            self.assertEqual(report.words, "all goals reached")

    def test_words_of_jumps_and_of_a_moved_start(self):
        """The bone has Blender's name; a free root that shifts is told in metres."""
        ik = chain_shot(2, frames=3)
        ik.settings.root = "MOVES"
        ik.shot.bones[0].name = "world"
        built = run(core.ik_build.plan_ik(core.ik_shot.with_body_names(freeze(ik))))
        root = {"frame": 2, "joint": "world", "size": 0.25, "unit": "m"}
        tip = {"frame": 3, "joint": "link1", "size": math.radians(21), "unit": "rad"}
        motion = unittest.mock.Mock(jumps=[root, tip, tip, tip, tip], start_moved=None)
        steps_of, jump_words = core.ik_solve.steps_of, core.ik_solve.jump_words
        jumps, moved = steps_of(built, motion)
        self.assertEqual([jump.bone for jump in jumps[:2]], ["world", "link1"])
        self.assertEqual(jump_words(jumps, moved), "; 'world' jumps by 0.25 m at frame 2" +
                         2 * "; 'link1' jumps by 21 degrees at frame 3" +
                         "; there are 2 more jumps")

        motion = unittest.mock.Mock(jumps=[], start_moved={**tip, "frame": 1})
        self.assertEqual(jump_words(*steps_of(built, motion)),
                         ". Frame 1 was moved by 21 degrees ('link1') so that the "
                         "motion has no jump; turn on Hold Start to keep it")
        motion.start_moved["size"] = 1e-4           # less than can be seen
        self.assertIsNone(steps_of(built, motion)[1])

    def test_a_held_start_is_for_motions(self):
        for frames, smooth, start in ((3, True, "held"), (3, False, None), (1, True, None)):
            ik = chain_shot(frames=frames)
            ik.settings.hold_start, ik.settings.smooth = True, smooth
            self.assertEqual(plan_ik(ik).scene.ik.start, start)

    def test_out_of_reach_says_so(self):
        ik = chain_shot(3, frames=4)
        for k in (12, 13, 14):
            ik.goals[0].target[k + 32::16] = array("f", [9.0, 9.0])
        report = solve(ik).report
        self.assertEqual(report.missed, [3, 4])
        self.assertGreater(report.distance, 10)
        self.assertEqual(report.worst_goal, "goal")


class Animated(unittest.TestCase):
    """Goals on bones that have an animation of their own."""

    def shot(self, turn, frames=12, **goal):
        """The last link turns about an axis of its own, by turn(frame)."""
        ik = chain_shot(4, frames, **goal)
        for n in range(frames):
            q = algebra.q_mul(ALONG_X, turn(n))
            k = 16 * (4 * n + 3)
            ik.shot.poses[k:k + 16] = array("f", matrix((0.9, 0, 2), q))
            ik.shot.basis[k:k + 16] = array("f", matrix((0, 0, 0), turn(n)))
        return ik

    def keys(self, ik, bone):
        """[frame][4] of a bone that turns by quaternions."""
        result = solve(ik)
        rows = {c.index: c.keys[1::2] for c in result.channels if c.group == bone}
        return list(zip(*(rows[k] for k in range(4)))), result.report

    def twist(self, n):
        return algebra.q_about((0, 1, 0), 0.2 * n)

    def test_off_is_the_animation(self):
        ik = self.shot(self.twist, weight=[0.0] * 12)
        keys, report = self.keys(ik, "link3")
        self.assertEqual(report.missed, [])
        for n, key in enumerate(keys):
            self.assertAlmostEqual(abs(sum(a * b for a, b in zip(key, self.twist(n)))), 1.0, 6)

    def test_twist_of_the_tip_is_free(self):
        keys, report = self.keys(self.shot(self.twist), "link3")
        self.assertEqual(report.missed, [])
        turned = [algebra.twist_about(key, (0, 1, 0)) for key in keys]
        steps = [math.remainder(b - a, 2 * math.pi) for a, b in zip(turned, turned[1:])]
        for step in steps:
            self.assertAlmostEqual(step, 0.2, 1)

    def test_locked_but_animated_is_a_held_joint(self):
        ik = self.shot(self.twist)
        ik.shot.bones[3].locked = "XY"
        built = plan_ik(ik)
        names = {joint.name for joint in built.scene.joints}
        self.assertEqual({n for n in names if n.startswith("link3")}, {"link3.Y", "link3.Z"})
        self.assertEqual(built.scene.ik.stiffness, {"link3.Y": 1.0})
        keys, report = self.keys(ik, "link3")
        for n, key in enumerate(keys):
            angles = min(core.ik_joints.angles_of(key, "ZYX"), key=lambda a: abs(a[2]))
            self.assertAlmostEqual(angles[2], 0.0, 5)
        still = self.shot(lambda n: self.twist(3))
        still.shot.bones[3].locked = "XY"
        names = {joint.name for joint in plan_ik(still).scene.joints}
        self.assertEqual({n for n in names if n.startswith("link3")}, {"link3.Z"})

    def test_angles_go_on_beyond_a_turn(self):
        turns = [algebra.q_about((0, 0, 1), 0.5 * n) for n in range(30)]
        bone = core.shot.BoneShot("b", -1, 1.0, STILL)
        row = None
        for n, turn in enumerate(turns):
            row = core.ik_joints.angles_after(turn, "ZYX", bone, row)
            self.assertAlmostEqual(row[0], 0.5 * n, 6)

    def test_a_head_that_moves_is_a_held_slide(self):
        ik = self.shot(lambda n: algebra.IDENTITY)
        ik.shot.bones[3].connected = False
        for n in range(12):
            ik.shot.poses[16 * (4 * n + 3) + 14] += 0.01 * n
        built = plan_ik(ik)
        self.assertEqual(built.scene.ik.stiffness, {"link3.moveZ": 1.0})
        with skelpy.Scene.from_json(built.scene.to_json()) as scene:
            motion = core.ik_solve.start_motion(built, scene).run()
            self.assertTrue(motion.reached)
            q = motion.q[scene.joint_q_offset(scene.find_joint("link3.moveZ"))::scene.q_count]
        for n, value in enumerate(q):
            self.assertAlmostEqual(value, 0.01 * n, 6)


class Robots(unittest.TestCase):
    def test_bones_of_every_robot(self):
        """Bones begin on their joint's axis, which is the bone's Z or Y."""
        paths = sorted(ROBOTS.glob("*.json"))
        self.assertEqual(len(paths), 26)
        for path in paths:
            text = path.read_text(encoding="utf-8")
            made = core.robot_import.import_robot(text, path.stem)
            links = [bone for bone in made.bones if not bone.frame]
            self.assertEqual(len(links), len(json.loads(text)["joints"]), path.stem)
            with skelpy.Scene.from_json(text) as scene:
                tree = core.robot_import.RobotTree.of(json.loads(scene.to_json()),
                                                      skelpy.fk(scene, [0.0] * scene.q_count))
            for bone in links:
                start, axis = tree.axis_of(bone.name)
                off = algebra.sub(bone.head, start)
                self.assertLess(algebra.norm(algebra.cross(off, axis)), 1e-9, path.stem)
                along = algebra.sub(bone.tail, bone.head)
                self.assertGreater(algebra.norm(along), 1e-5 * made.reach)
                cosine = algebra.dot(along, axis) / algebra.norm(along)
                self.assertAlmostEqual(cosine, 0.0 if bone.axis == "Z" else bone.sign, 6)

    def test_table_comes_back(self):
        text = (ROBOTS / "puma560.json").read_text(encoding="utf-8")
        made, rng = core.robot_import.import_robot(text), random.Random(1)
        bones = [ChainBone(bone.name, bone.parent, bone.head, bone.orientation, 0.1,
                           bone.kind, bone.axis, bone.sign, bone.limits, bone.joint,
                           bone.frame, bone.mass, bone.com, bone.inertia, bone.estimated)
                 for bone in made.bones]
        for convention in ("standard", "modified"):
            table = table_of("puma", bones, "tool", convention).text
            with skelpy.Scene.from_json(text) as a, skelpy.Scene.from_json(table) as b:
                for _ in range(5):
                    q = [rng.uniform(-2, 2) for _ in range(6)]
                    place = [tool(scene, q) for scene in (a, b)]
                    self.assertLess(math.dist(*place), 1e-9)
                    for one, other in zip(masses(a, q), masses(b, q), strict=True):
                        self.assertLess(max(abs(x - y) for x, y in zip(one, other)), 1e-9)
                self.assertEqual(a.joint_names, b.joint_names)

    def robot_shot(self, text):
        """An imported robot at rest, as Blender would hold it: numbers of bones in single
        precision, custom properties in double."""
        made = core.robot_import.import_robot(text)
        index, bones = {bone.name: k for k, bone in enumerate(made.bones)}, []
        for bone in made.bones:
            said = {"joint_type": "fixed", "robot_frame": 1} if bone.frame else \
                {"joint": bone.joint, "joint_type": bone.kind, "joint_axis": bone.axis,
                 "joint_sign": int(bone.sign), "mass": bone.mass, "com": bone.com,
                 "inertia": bone.inertia, "mass_estimated": bone.estimated}
            bones.append(draft_bone(
                bone.name, index.get(bone.parent, -1), math.dist(bone.head, bone.tail),
                matrix(bone.head, bone.orientation),
                robot=properties.read_robot_bone(bone.name, said)))
            bones[-1].settings.mass = array("f", [bone.mass])[0]
            bones[-1].locked = "XYZ".replace(bone.axis, "") if bone.kind == "hinge" else "XYZ"
        shot = thaw(core.shot.Shot("robot", (), frame_end=9))
        shot.bones, shot.frames, shot.settings.ground = bones, list(range(1, 10)), False
        shot.poses = array("f", [v for bone in bones for v in bone.rest]) * 9
        shot.objects = array("f", STILL) * 9
        shot.basis = array("f", STILL) * (len(bones) * 9)
        return shot

    def test_masses_are_those_of_the_document(self):
        """Of robots whose tables have masses and no inertias; what is estimated is said."""
        for name in ("ur5", "franka_panda", "ur3e", "ur10e"):
            text = (ROBOTS / f"{name}.json").read_text(encoding="utf-8")
            shot = self.robot_shot(text)
            bodies = {body.name: body for body in build(shot).scene.bodies}
            for row in json.loads(text)["joints"]:
                body = bodies[row["link"]]
                self.assertEqual(body.estimated, "inertia" if "mass" in row else "mass")
                if "mass" in row:
                    self.assertEqual(body.mass, row["mass"], (name, row["link"]))
                self.assertIsNone(body.shape)

    def test_torques_are_those_of_the_document(self):
        """The weight of a UR5 at its zero pose, joint by joint, beside the library's own."""
        text = (ROBOTS / "ur5.json").read_text(encoding="utf-8")
        with skelpy.Scene.from_json(text) as scene, skelpy.State(scene) as state:
            state.q = [0.0] * 6
            must = list(state.inverse_dynamics([0.0] * 18, [0.0] * 18)[0])
        free = thaw(core.torques.free_shot(freeze(self.robot_shot(text))))
        result = run(core.torques.find_torques(plan_of(free)))
        head, *rows = [line.split(",") for line in result.table]
        joints = [k for k, name in enumerate(head) if name.endswith(".torque")]
        self.assertEqual(len(joints), 6)
        self.assertGreater(max(map(abs, must)), 40.0)
        for k, tau in zip(joints, must):
            self.assertAlmostEqual(float(rows[4][k]), tau, 4)
        self.assertEqual(len(result.warnings), 1)
        self.assertIn("inertia is an estimate, not data of the robot", result.warnings[0])

    def test_a_mass_of_the_users_own(self):
        shot = self.robot_shot((ROBOTS / "ur3.json").read_text(encoding="utf-8"))
        shot.bones[1].settings.mass = 2.5
        bodies = build(shot).scene.bodies
        self.assertEqual([body.estimated for body in bodies[:3]], ["mass", "inertia", "mass"])
        self.assertEqual(bodies[1].mass, 2.5)

    def test_tables_tell_their_cost(self):
        """The first two axes are 1e-4 rad off parallel, and their common normal is 5 km away."""
        tilt = algebra.q_about((1, 0, 0), 1e-4)
        aside = algebra.q_mul(tilt, algebra.q_about((0, 1, 0), 0.5 * math.pi))
        bones = [ChainBone("a", "", (0, 0, 0), algebra.IDENTITY, 0.5, "hinge", "Z"),
                 ChainBone("b", "a", (0, 0.5, 0), tilt, 0.4, "hinge", "Z"),
                 ChainBone("c", "b", (0, 0.9, 0), aside, 0.1, "hinge", "Z")]
        for snap, longest, words in (
                (None, 0.51, "were read as parallel: .* .Snap 1e-05 keeps them as they are"),
                (1e-5, 5001, "so do not round .* .Snap 0.00011 reads the axes as parallel"),
                (1e-3, 0.51, None)):
            table = table_of("three", bones, "c", "standard", snap=snap)
            receipt = json.loads(table.text)["receipt"]
            self.assertTrue(0.9 * longest < receipt["longest"] < longest, receipt)
            self.assertEqual(len(table.warnings), words is not None)
            if words:
                self.assertRegex(table.warnings[0], f"^the axes of 'a' and 'b' deviate .*{words}")
            self.assertIn(f"within {receipt['position_error']:.3g} m and "
                          f"{receipt['angle_error']:.3g} rad of its exact pose", table.cost)

    def test_masses_of_other_bones(self):
        """A mass of a bone is that of its capsule, in its middle."""
        bones = [ChainBone("a", "", (0, 0, 0), algebra.IDENTITY, 0.5, "hinge", "Z", mass=2.0),
                 ChainBone("b", "a", (0, 0.5, 0), algebra.IDENTITY, 0.4, "hinge", "Z")]
        rows = json.loads(table_of("two", bones, "b", "standard").text)["joints"]
        self.assertNotIn("mass", rows[1])
        self.assertEqual(rows[0]["mass"], 2.0)
        length, r = core.bone_bodies.capsule_of(0.5, 0.0)
        rod, ball = 2 * length / (length + 4 * r / 3), 2 * (4 * r / 3) / (length + 4 * r / 3)
        across = rod * (r * r / 4 + length ** 2 / 12) + \
            ball * (0.4 * r * r + length ** 2 / 4 + 3 / 8 * length * r)
        self.assertAlmostEqual(max(rows[0]["inertia"]), across, 9)
        self.assertAlmostEqual(math.dist(rows[0]["com"], (0, 0, 0)), 0.25, 9)

    def test_joint_numbers(self):
        self.assertEqual(properties.parse_joints("1, 2 ;3", "abc"), {"a": 1, "b": 2, "c": 3})
        self.assertAlmostEqual(properties.parse_joints("90 1", "ab", {"a"})["a"], math.pi / 2)
        for text, words in (("1 2", "has 3 joints, but 2 numbers"), ("1 2 x", "not numbers"),
                            ("1 2 nan", "finite")):
            with self.assertRaisesRegex(UserError, words):
                properties.parse_joints(text, "abc")
        mimics = {"b": core.shot.Mimic("a", -1, 0.5)}
        for text in ("2 7", "2 0 7"):
            q = properties.parse_joints(text, "abc", (), mimics)
            self.assertEqual(properties.apply_mimics(mimics, q), {"a": 2.0, "b": -1.5, "c": 7.0})
        with self.assertRaisesRegex(UserError, "3 joints .2 without"):
            properties.parse_joints("1", "abc", (), mimics)

    def test_visuals_and_meshes(self):
        text = (common.ROOT / "tests" / "data" / "urdf" / "features.urdf").read_text("utf-8")
        visuals = shapes.visuals_of(text)
        self.assertEqual([v.link for v in visuals], ["trunk", "arm_left"])
        self.assertEqual(visuals[0].filename, "package://features/meshes/trunk & co.dae")
        self.assertEqual(visuals[0].color, [0.5, 0.5, 0.5, 1])
        four = shapes.visuals_of('<robot><link name="a"><visual><geometry><mesh filename="m.stl" '
                                 'scale="2 3 4 1"/></geometry></visual></link></robot>')
        self.assertEqual(four[0].size, [2.0, 3.0, 4.0])
        with tempfile.TemporaryDirectory() as folder:
            deep = os.path.join(folder, "features", "urdf")
            os.makedirs(deep)
            os.makedirs(os.path.join(folder, "features", "meshes"))
            path = os.path.join(folder, "features", "meshes", "a.stl")
            corners = (0, 0, 0, 1, 0, 0, 0, 1, 0)
            with open(path, "wb") as file:
                file.write(bytes(80) + struct.pack("<I", 1) +
                           struct.pack("<12fH", 0, 0, 1, *corners, 0))
            found = shapes.find_mesh("package://features/meshes/a.stl", deep)
            self.assertTrue(os.path.samefile(found, path))
            self.assertIsNone(shapes.find_mesh("package://features/meshes/b.stl", deep))
            points, faces = shapes.read_mesh(found)
            self.assertEqual((len(points), faces), (3, [[0, 1, 2]]))
            path = os.path.join(deep, "b.obj")
            with open(path, "w", encoding="ascii") as file:
                file.write("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1/1 2/2 4/3 -2\n")
            self.assertEqual(shapes.read_mesh(path)[1], [[0, 1, 3, 2]])

    def test_followers_rest_at_zero(self):
        """What a joint goes with is added by its driver, not by the bones' rest."""
        link = '<link name="base"/><link name="a"/><link name="b"/>'
        joint = '<joint name="%s" type="%s"><parent link="base"/><child link="%s"/>%s</joint>'
        text = "<robot name='m'>" + link + joint % ("p", "continuous", "a", "") + joint % (
            "r", "prismatic", "b", '<origin xyz="0.3 0 0.2"/><limit lower="-1" upper="1"/>'
            '<mimic joint="p" multiplier="0.1" offset="0.05"/>') + "</robot>"
        made = core.robot_import.import_robot(text)
        self.assertEqual(made.links["b"][:3], [0.3, 0.0, 0.2])
        self.assertEqual({bone.joint: bone.mimic for bone in made.bones if bone.mimic},
                         {"r": core.shot.Mimic("p", 0.1, 0.05)})

    def test_properties_that_were_edited(self):
        """What they must be is said, with the bone and the property."""
        good = {"joint": "j", "joint_type": "hinge", "joint_axis": "Y", "joint_sign": -1,
                "joint_limits": [-1, 2.5], "joint_drive": [0, 3], "mass": 2,
                "com": [0, 1, 2], "inertia": [1] * 6,
                "joint_mimic": '{"joint": "k", "multiplier": 2, "offset": 0}'}
        shot = properties.read_robot_bone("b", good)
        self.assertEqual((shot.kind, shot.axis, shot.sign, shot.limits, shot.mass),
                         ("hinge", "Y", -1.0, (-1.0, 2.5), 2.0))
        self.assertEqual(shot.mimic, core.shot.Mimic("k", 2.0, 0.0))
        self.assertIsNone(properties.read_robot_bone("b", {"joint": "j"}))
        wrong = {"joint": ("", 5), "joint_type": ("", 5, "Hinge"), "joint_axis": ("x", "", 2),
                 "joint_sign": (0, -5, "a", [1]), "mass": ("a", -1, math.nan, [1]),
                 "joint_drive": ("ab", [1], [-1, 0]),
                 "joint_limits": ("12", 3, [1], [2, 1], [0, math.inf], ["a", 1]),
                 "com": ("abc", [1, 2], None), "inertia": ("", [1] * 5, None),
                 "joint_mimic": ("", "{", "[]", "{}", 5, '{"joint": "k"}', "null",
                                 '{"joint": 1, "multiplier": 2, "offset": 0}',
                                 '{"joint": "k", "multiplier": "a", "offset": 0}')}
        for name, values in wrong.items():
            for value in values:
                with self.subTest(name=name, value=value), \
                        self.assertRaisesRegex(UserError, f"bone 'b'.*'{name}' must be"):
                    properties.read_robot_bone("b", {**good, name: value})
        self.assertEqual(properties.read_robot_data("a", '{"joints": ["j"]}'), {"joints": ["j"]})
        for text in ("", "[]", 5, "5", "null", '{"joints": "ab"}', '{"joints": [1]}',
                     '{"poses": []}', '{"poses": {"a": 1}}', '{"poses": {"a": ["x"]}}'):
            with self.subTest(text=text), \
                    self.assertRaisesRegex(UserError, "armature 'a'.*'skel_robot' must be"):
                properties.read_robot_data("a", text)

    def test_where_a_chain_ends(self):
        def bones(*rows):
            return [ChainBone(name, parent, kind=kind, frame=kind == "frame")
                    for name, parent, kind in rows]
        arm = (("l1", "", "hinge"), ("l2", "l1", "slide"))
        for more, tip in (((), "l2"), ((("base", "", "frame"),), "l2"),
                          ((("base", "", "frame"), ("end", "l2", "frame")), "end"),
                          ((("a", "l2", "frame"), ("b", "l2", "frame")), "l2"),
                          ((("a", "l2", "frame"), ("tool0", "l2", "frame")), "tool0"),
                          ((("cam", "l1", "frame"),), "l2"),
                          ((("flange", "l2", "fixed"),), "flange"),
                          ((("f1", "l2", "slide"), ("f2", "l2", "slide"), ("tool", "l2", "frame")),
                           "tool")):
            self.assertEqual(tip_of(bones(*arm, *more)), tip)
        self.assertEqual(tip_of(bones(*arm), "l1"), "l1")
        base = ("base", "", "fixed")
        for given, wanted, words in (((base, *arm), "base", "No joint moves 'base'"),
                                     (arm, "x", "no bone 'x'"),
                                     ((base,), "", "no joint that moves"),
                                     ((*arm, ("l3", "l1", "hinge")), "", "several ends .l2, l3.")):
            with self.assertRaisesRegex(UserError, words):
                tip_of(bones(*given), wanted)

    def test_loops_are_refused(self):
        with self.assertRaisesRegex(UserError, "loop"):
            core.robot_import.import_robot(common.sample("four_bar"))

    def test_shapes_are_closed(self):
        """Every edge belongs to two faces, which walk it opposite ways."""
        for _points, faces in (shapes.cylinder(1, 2), shapes.box((1, 2, 3)), shapes.sphere(1)):
            edges = [(a, b) for face in faces for a, b in zip(face, (*face[1:], face[0]))]
            self.assertEqual(len(edges), len(set(edges)))
            self.assertEqual(set(edges), {(b, a) for a, b in edges})


def tool(scene, q):
    body, pose = scene.named_frames["tool"]
    host = list(skelpy.fk(scene, q)[7 * body:7 * body + 7])
    return algebra.compose(host, pose)[:3]


if __name__ == "__main__":
    unittest.main()
