# SPDX-License-Identifier: BSD-3-Clause
"""Inverse kinematics in a real Blender: bones reach their goals where the user sees them."""

import json
import math
import os
import unittest

import bpy
from mathutils import Euler, Matrix, Vector

import common
from test_bake import askew, bone_line, in_world
from test_robots import joint, limit

EXACT = 1e-5                    # of the bone's length
PANDA = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                     "samples", "robots", "franka_panda.json")


def empty(name, place, ends=None, frames=(1, 30)):
    """An empty, keyed from place to place where it has ends."""
    ob = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(ob)
    ob.location = place
    if ends is not None:
        ob.keyframe_insert("location", frame=frames[0])
        ob.location = ends
        ob.keyframe_insert("location", frame=frames[1])
        bpy.context.scene.frame_set(frames[0])
    return ob


def add_goal(ob, bone, target, **fields):
    goal = ob.skel_ik.goals.add()
    goal.name, goal.bone, goal.target = bone or "balance", bone, target
    for name, value in fields.items():
        setattr(goal, name, value)
    return goal


class Ik(unittest.TestCase):
    def setUp(self):
        self.scene = common.clear()
        self.scene.frame_end = 30
        self.skel = common.addon()

    def figure(self, modes=True, placed=False):
        ob = common.add_armature(common.HUMANOID)
        if modes:
            common.all_modes(ob)
        if placed:
            ob.matrix_world = Matrix.Translation((0.3, -0.2, 0.4)) @ \
                Euler((0.2, 0.1, 1.9)).to_matrix().to_4x4() @ Matrix.Scale(1.7, 4)
        common.pose(ob)
        return ob

    def reach_both(self, ob):
        """Hands reach moving targets, the left one turned, the head looks at the right one."""
        m = ob.matrix_world
        left = empty("left", m @ Vector((0.45, -0.3, 1.1)), m @ Vector((0.3, -0.4, 1.5)))
        right = empty("right", m @ Vector((-0.4, -0.35, 1.2)), m @ Vector((-0.2, -0.45, 0.9)))
        pole = empty("pole", m @ Vector((-0.5, 1.0, 0.8)))
        left.rotation_euler = (m.to_3x3().normalized() @
                               Euler((2.2, 0.4, 0.3)).to_matrix()).to_euler()
        add_goal(ob, "hand.L", left, use_orientation=True, chain=5)
        add_goal(ob, "hand.R", right, end="HEAD", pole=pole)
        add_goal(ob, "head", right, kind="LOOK", chain=2, priority=1)
        return left, right

    def result_of(self, ob, first=1, last=30):
        run, goals = self.skel.work.run, self.skel.read_goals
        shot = goals.read_ik(self.scene, ob, first, last)
        shot = run(goals.sample_ik(shot, ob, range(first, last + 1)))
        plan = run(self.skel.ik_build.plan_ik(shot))
        scene = self.skel.binding.skelpy.Scene.from_json(plan.scene.to_json())
        return shot, plan, scene, self.skel.ik_solve.start_motion(plan, scene).run()

    def compare(self, ob):
        """Every frame and bone beside the engine's poses; the largest difference in parts of a
        bone's length."""
        shot, built, _scene, motion = self.result_of(ob)
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        worst, bodies = (0.0, "", ""), built.body_count
        unit = self.scene.unit_settings.scale_length
        for n, frame in enumerate(shot.shot.frames):
            self.scene.frame_set(frame)
            for i in built.own_bodies:
                bone = ob.pose.bones[shot.shot.bones[i].name]
                k = 7 * (n * bodies + built.body_index[bone.name])
                head, y, x = bone_line(self.skel, list(motion.poses[k:k + 7]),
                                       built.bones[i].offset)
                got_head, got_y, got_x = in_world(ob, bone)
                length = bone.bone.length * ob.matrix_world.median_scale * unit
                off = math.dist(head, [unit * v for v in got_head]) / length
                worst = max(worst, (off, bone.name, "head"), (math.dist(y, got_y), bone.name, "y"),
                            (math.dist(x, got_x), bone.name, "x"))
        print("{}: off by {:.2e} of a bone's length ({}, {})".format(
            self.id().rsplit(".", 1)[-1], *worst))
        self.assertLess(worst[0], EXACT + 2 * askew(ob))
        return motion

    def end(self, ob, bone, tail=True):
        """The end of a bone in the world, of the evaluated armature."""
        now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        pose = now.pose.bones[bone]
        return now.matrix_world @ (pose.tail if tail else pose.head)

    def place(self, ob):
        return ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world

    def test_humanoid_every_mode_scaled_turned(self):
        ob = self.figure(placed=True)
        left, right = self.reach_both(ob)
        motion = self.compare(ob)
        self.assertTrue(all(r["goals"][0]["distance"] < 1e-5 for r in motion.receipts))
        length = 0.16 * 1.7
        for frame in (1, 9, 18, 30):
            self.scene.frame_set(frame)
            off = (self.end(ob, "hand.L") - self.place(left).translation).length
            self.assertLess(off, 1e-4 * length)
            off = (self.end(ob, "hand.R", False) - self.place(right).translation).length
            self.assertLess(off, 1e-4 * length)
            hand = (self.place(ob) @ ob.pose.bones["hand.L"].matrix).to_quaternion()
            turn = hand.rotation_difference(self.place(left).to_quaternion()).angle
            self.assertLess(min(turn, 2 * math.pi - turn), 2e-3)
        report = common.ik_report_of(ob)
        self.assertEqual(report.missed, [])

    def test_each_mode(self):
        for mode in common.MODES:
            with self.subTest(mode=mode):
                self.setUp()
                ob = self.figure(modes=False)
                for bone in ob.pose.bones:
                    bone.rotation_mode = mode
                common.pose(ob, 3)
                self.reach_both(ob)
                self.compare(ob)

    def test_unit_scale_moving_object_and_flags(self):
        ob = self.figure()
        self.scene.unit_settings.scale_length = 0.5
        ob.data.bones["forearm.L"].use_inherit_rotation = False
        ob.data.bones["thigh.R"].use_local_location = False
        ob.location = (0, 0, 0)
        ob.keyframe_insert("location", frame=1)
        ob.location = (0.1, 0.3, 0)
        ob.keyframe_insert("location", frame=30)
        self.scene.frame_set(1)
        foot = empty("foot", self.end(ob, "foot.R") + Vector((0, -0.1, 0.1)))
        add_goal(ob, "foot.R", foot, chain=3)
        self.compare(ob)

    def test_root_moves_and_balance(self):
        ob = self.figure()
        for side in "LR":
            target = empty(f"foot.{side}", self.end(ob, f"foot.{side}"))
            add_goal(ob, f"foot.{side}", target)
        balance = empty("balance", (0.05, -0.02, 0.7), (-0.05, 0.0, 0.66))
        add_goal(ob, "", balance, kind="CENTRE", priority=1, level=False)
        ob.skel_ik.root = "MOVES"
        motion = self.compare(ob)
        self.assertTrue(motion.reached, max(r["residual"] for r in motion.receipts))
        self.assertIn(('pose.bones["pelvis"].location', 0), common.curves(ob))

    def animated(self, **figure):
        """A figure that is animated in every bone, in rotation and, where it has one, location."""
        ob = self.figure(**figure)
        for k, frame in enumerate((1, 10, 20, 30)):
            common.pose(ob, seed=1 + 0.8 * k, size=0.25)
            for n, bone in enumerate(ob.pose.bones):
                if not bone.bone.use_connect:
                    bone.location = [0.03 * math.sin(n + k + a) for a in range(3)]
            common.key_all(ob, frame)
        return ob

    def matrices(self, ob):
        return common.bone_matrices(ob, range(1, 31))

    def off(self, was, now, names=None):
        """Largest difference of bones' axes and heads."""
        return max(abs(a - b) for m, n in zip(was, now) for name in names or m
                   for row, other in zip(m[name], n[name]) for a, b in zip(row, other))

    def test_without_effect_the_animation_comes_back(self):
        """A goal that is off, and one that is met by the animation itself, in every root's way."""
        for root in ("AUTO", "TURNS", "SHIFTS", "MOVES"):
            for smooth in (True, False):
                with self.subTest(root=root, smooth=smooth):
                    self.setUp()
                    ob = self.animated(placed=True)
                    s, was = ob.skel_ik, self.matrices(ob)
                    s.root, s.smooth = root, smooth
                    add_goal(ob, "hand.L", empty("target", (1, 2, 3)), weight=0.0)
                    add_goal(ob, "head", None, weight=1.0, end="HEAD")
                    s.goals[1].target, s.goals[1].target_bone = self.copy_of(ob), "head"
                    self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
                    self.assertLess(self.off(was, self.matrices(ob)), 2e-4)
                    self.assertEqual(common.ik_report_of(ob).missed, [])

    def copy_of(self, ob):
        """Another armature that goes as this one does."""
        twin = ob.copy()
        twin.animation_data.action = ob.animation_data.action.copy()
        if hasattr(ob.animation_data, "action_slot"):
            twin.animation_data.action_slot = twin.animation_data.action.slots[0]
        bpy.context.scene.collection.objects.link(twin)
        return twin

    def test_what_goals_leave_free_stays_animated(self):
        """Locked axes, bones off the chain and beyond it go as animated, while the wrist is at its
        goal, although the shoulder is keyed to move."""
        ob = self.animated()
        belly = ob.pose.bones["belly"]
        belly.rotation_mode, belly.lock_ik_x, belly.lock_ik_y = "XYZ", True, True
        for frame, angles in ((1, (0, 0, 0)), (15, (0.2, 0.5, 0.1)), (30, (-0.1, 0.2, 0.3))):
            belly.rotation_euler = angles
            belly.keyframe_insert("rotation_euler", frame=frame)
        was = self.matrices(ob)
        angles = []
        for frame in range(1, 31):
            self.scene.frame_set(frame)
            angles.append(belly.rotation_euler.copy())
        left = empty("left", (0.45, -0.3, 1.1), (0.3, -0.4, 1.4))
        add_goal(ob, "forearm.L", left, chain=4)
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        self.assertEqual(common.ik_report_of(ob).missed, [])
        now = self.matrices(ob)
        self.assertLess(self.off(was, now, ["pelvis", "thigh.L", "shin.R", "foot.R"]), 1e-5)
        self.assertGreater(self.off(was, now, ["forearm.L"]), 0.05)
        moved = 0.0
        for n, frame in enumerate(range(1, 31)):
            self.scene.frame_set(frame)
            self.assertLess((self.end(ob, "forearm.L") - self.place(left).translation).length,
                            2e-5)
            for axis in (0, 1):                 # locked for IK, yet animated
                self.assertAlmostEqual(belly.rotation_euler[axis], angles[n][axis], places=4)
            moved = max(moved, abs(belly.rotation_euler[2] - angles[n][2]))
            hand = {k: ob.pose.bones[k].matrix.copy() for k in ("forearm.L", "hand.L")}
            turn = (hand["forearm.L"].inverted() @ hand["hand.L"]).to_quaternion()
            before = (was[n]["forearm.L"].inverted() @ was[n]["hand.L"]).to_quaternion()
            self.assertLess(turn.rotation_difference(before).angle, 2e-3)
        self.assertGreater(moved, 0.01)

    def test_animated_robot(self):
        """Joints of a robot that are keyed, slides too, under a goal for the place alone."""
        bpy.ops.skel.import_robot(preset="stanford", shapes=False)
        ob = bpy.context.view_layer.objects.active
        bones = self.skel.read_robots.joint_bones(ob)
        self.scene.tool_settings.use_keyframe_insert_auto = True
        for frame, values in ((1, "0 0.3 0.4 0 0.5 0"), (30, "1 0.8 0.7 2 -0.4 3")):
            self.scene.frame_set(frame)
            bpy.ops.skel.set_joints(values=values)
        was = self.matrices(ob)
        add_goal(ob, "tool", self.copy_of(ob), target_bone="tool", end="HEAD")
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        self.assertLess(self.off(was, self.matrices(ob)), 1e-4)
        self.assertEqual(len(bones), 6)

    def panda(self):
        """A Panda whose tool follows a target for 60 frames. Tracking from its zero pose alone
        loses frames in the middle."""
        bpy.ops.skel.import_robot(filepath=PANDA, shapes=False)
        ob = bpy.context.view_layer.objects.active
        self.scene.frame_end = 60
        place = self.end(ob, "tool")
        target = empty("target", place)
        for frame, offset in ((1, (0, 0, 0)), (20, (-.2, .25, -.2)), (40, (-.3, -.25, -.3)),
                              (60, (0, 0, 0))):
            target.location = place + Vector(offset)
            target.keyframe_insert("location", frame=frame)
        self.scene.frame_set(1)
        add_goal(ob, "tool", target)
        return ob, target

    def baked_joints(self, ob, target):
        """[frame]{bone: angle} of a bake that reaches the target in all frames."""
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        rows = []
        for frame in range(1, 61):
            self.scene.frame_set(frame)
            off = (self.end(ob, "tool") - self.place(target).translation).length
            self.assertLess(off, 2e-5, frame)
            rows.append({bone.name: self.skel.read_robots.joint_value(bone)
                         for bone in self.skel.read_robots.joint_bones(ob)})
        self.assertEqual(common.ik_report_of(ob).missed, [])
        return rows

    def told_by_panel(self, ob):
        return [(label, value) for label, value, _icon in
                self.skel.panels_ik.rows_of(common.ik_report_of(ob))]

    def test_first_frame_moves_or_is_held(self):
        """Free, the first frame is moved, and all say so; held, it is where posing it puts it."""
        ob, target = self.panda()
        self.assertFalse(ob.skel_ik.hold_start)
        rows, report = self.baked_joints(ob, target), common.ik_report_of(ob)
        step = max(abs(b[name] - a[name]) for a, b in zip(rows, rows[1:]) for name in a)
        print(f"Panda: largest step {step:.4f} rad, frame 1 moved by {report.moved}")
        self.assertLessEqual(step, 0.15)
        self.assertEqual((report.jumps, report.moved.frame), ([], 1))
        moved = report.moved
        self.assertIn(f". Frame 1 was moved by {moved.words} ('{moved.bone}') so that the motion "
                      "has no jump; turn on Hold Start to keep it", report.words)
        self.assertIn(("Frame 1 moved", f"{moved.bone}, {moved.words}"), self.told_by_panel(ob))

        # The first frame alone, and then with its pose held. The report has the largest difference.
        for bone in self.skel.read_robots.joint_bones(ob):
            bone.rotation_euler = (0, 0, 0)
        ob.animation_data_clear()
        bpy.ops.skel.solve_ik()
        first = {name: self.skel.read_robots.joint_value(ob.pose.bones[name]) for name in rows[0]}
        off = {name: abs(first[name] - rows[0][name]) for name in first}
        self.assertEqual(max(off, key=off.get), moved.bone)
        self.assertAlmostEqual(off[moved.bone], moved.size, 4)
        for bone in self.skel.read_robots.joint_bones(ob):
            bone.rotation_euler = (0, 0, 0)
        ob.skel_ik.hold_start = True
        held, report = self.baked_joints(ob, target), common.ik_report_of(ob)
        for name, angle in first.items():
            self.assertAlmostEqual(held[0][name], angle, 4)
        told = {jump.frame: jump for jump in report.jumps}
        for frame, (before, now) in enumerate(zip(held, held[1:]), 2):
            steps = {name: abs(now[name] - before[name]) for name in now}
            name = max(steps, key=steps.get)
            if frame in told:
                self.assertEqual(name, told[frame].bone)
                self.assertAlmostEqual(steps[name], told[frame].size, 4)
                self.assertIn(("Jumps", f"frame {frame}"), self.told_by_panel(ob))
            else:
                self.assertLessEqual(steps[name], 0.15, frame)
        self.assertIsNone(report.moved)
        self.assertNotIn("Hold Start", report.words)
        self.assertFalse(ob.skel_ik.bl_rna.properties["hold_start"].is_animatable)

    def test_limits_locks_and_stiffness(self):
        ob = common.chain(4, 0.3)
        for k, bone in enumerate(ob.pose.bones):
            bone.lock_ik_x = bone.lock_ik_y = True
            bone.use_ik_limit_z, bone.ik_min_z, bone.ik_max_z = True, -0.4, 0.3
            bone.ik_stiffness_z = 0.2 * (k == 1)
        target = empty("target", (1.12, 0.25, 2.0))
        add_goal(ob, "link3", target)
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        self.assertLess((self.end(ob, "link3") - target.location).length, 1e-4)
        target.location = (0.2, 0.5, 2.0)                       # beyond the limits
        bpy.context.view_layer.update()
        bpy.ops.skel.solve_ik()
        report = common.ik_report_of(ob)
        self.assertEqual(report.missed, [1])
        self.assertTrue(any(name.startswith("link") for name in report.limits))
        for bone in ob.pose.bones:
            angles = bone.matrix_basis.to_euler()
            self.assertLess(max(abs(angles.x), abs(angles.y)), 1e-5)
            self.assertTrue(-0.4 - 1e-5 <= angles.z <= 0.3 + 1e-5)

    def test_limit_rotation_three_axes(self):
        """Constraints that stay on do not move what IK has found."""
        ob = common.chain(3, 0.4)
        for bone in ob.pose.bones:
            bone.rotation_mode = "XYZ"
            limit = bone.constraints.new("LIMIT_ROTATION")
            limit.owner_space = "LOCAL"
            for axis, low, high in (("x", -0.5, 0.6), ("y", -0.2, 0.1), ("z", -0.7, 0.3)):
                setattr(limit, f"use_limit_{axis}", True)
                setattr(limit, f"min_{axis}", low)
                setattr(limit, f"max_{axis}", high)
        target = empty("target", (1.0, 0.2, 2.3))
        add_goal(ob, "link2", target)
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        self.assertEqual(common.ik_report_of(ob).missed, [])
        self.assertLess((self.end(ob, "link2") - target.location).length, 1e-4)

    def test_limits_that_goals_do_not_obey_are_muted(self):
        """Else they would act on top of the keys."""
        ob = self.figure(modes=False)
        ob.skel_ik.root = "MOVES"
        target = empty("t", (0.9, -0.6, 1.5))
        add_goal(ob, "hand.L", target)
        for name, kind, space, stays in (
                ("forearm.L", "LIMIT_ROTATION", "LOCAL", True),
                ("upper_arm.L", "LIMIT_ROTATION", "POSE", False),
                ("pelvis", "LIMIT_LOCATION", "LOCAL", False),
                ("chest", "LIMIT_LOCATION", "LOCAL", True),
                ("hand.L", "LIMIT_SCALE", "LOCAL", True)):
            c = ob.pose.bones[name].constraints.new(kind)
            c.owner_space, c.name = space, "stays" if stays else "goes"
            if kind == "LIMIT_LOCATION":
                c.use_min_x = c.use_max_x = True
            elif kind == "LIMIT_ROTATION":
                c.use_limit_x, c.min_x, c.max_x = True, -0.5, 0.5
        self.scene.frame_end = 3
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        for bone in ob.pose.bones:
            for c in bone.constraints:
                self.assertEqual(c.mute, c.name == "goes", (bone.name, c.type))
        self.scene.frame_set(2)
        self.assertEqual(common.ik_report_of(ob).missed, [])
        self.assertLess((self.end(ob, "hand.L") - target.location).length, 1e-4)

    def test_solve_keys_only_when_asked(self):
        ob = self.figure()
        target = empty("target", (0.4, -0.4, 1.2))
        add_goal(ob, "hand.L", target, chain=3)
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        self.assertIsNone(ob.animation_data)
        self.assertLess((self.end(ob, "hand.L") - target.location).length, 1e-4)
        self.scene.tool_settings.use_keyframe_insert_auto = True
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        groups = {path.split('"')[1] for path, _ in common.curves(ob)}
        self.assertEqual(groups, {"hand.L", "forearm.L", "upper_arm.L"})

    def test_bone_target_and_animated_weight(self):
        ob = self.figure()
        add_goal(ob, "hand.L", ob, target_bone="thigh.R", chain=3)
        goal = ob.skel_ik.goals[0]
        for frame, weight in ((1, 0.0), (10, 1.0)):
            goal.weight = weight
            ob.keyframe_insert("skel_ik.goals[0].weight", frame=frame)
        self.assertEqual(bpy.ops.skel.bake_ik(target="CURRENT"), {"FINISHED"})
        self.scene.frame_set(30)
        self.assertLess((self.end(ob, "hand.L") - self.end(ob, "thigh.R", False)).length, 1e-4)
        self.scene.frame_set(1)
        self.assertGreater((self.end(ob, "hand.L") - self.end(ob, "thigh.R", False)).length, 0.05)

    def test_range_only_and_new_action(self):
        ob = self.figure(modes=False)
        for frame in (1, 40):
            common.key_all(ob, frame)
        before = common.dump_action(ob.animation_data.action)
        action = ob.animation_data.action
        add_goal(ob, "hand.L", empty("target", (0.4, -0.4, 1.2)), chain=3)
        self.assertEqual(bpy.ops.skel.bake_ik(frame_start=10, frame_end=20), {"FINISHED"})
        self.assertEqual(common.dump_action(action), before)
        self.assertIsNot(ob.animation_data.action, action)
        curve = common.curves(ob)[('pose.bones["forearm.L"].rotation_quaternion', 0)]
        self.assertEqual([p.co[0] for p in curve.keyframe_points], [1, *range(10, 21), 40])

    def test_cancel_anywhere_leaves_the_file(self):
        ob = self.figure()
        common.key_all(ob, 1)
        self.reach_both(ob)
        before = common.dump_file()
        for stop in (1, 12, 31, 36, 60):
            job = self.work(ob)
            for _ in range(stop):
                next(job, None)
            job.close()
            self.assertEqual(common.dump_file(), before, f"stopped at {stop}")

    def work(self, ob):
        """What the operator's generator does, to be stopped half way."""
        shot = self.skel.read_goals.read_ik(self.scene, ob, 1, 30)
        shot = yield from self.skel.read_goals.sample_ik(shot, ob, range(1, 31))
        result = yield from self.skel.ik_solve.solve(shot)
        yield from self.skel.write.write_channels(ob, result.channels, "NEW", "x")

    def test_undo(self):
        ob = self.figure()
        common.key_all(ob, 1)
        self.reach_both(ob)
        bpy.ops.ed.undo_push(message="before")
        before = common.dump_file()
        bpy.ops.skel.bake_ik("EXEC_DEFAULT", True, target="CURRENT")
        self.assertNotEqual(common.dump_file(), before)
        bpy.ops.ed.undo()                           # one step, which the operator made itself
        self.assertEqual(common.dump_file(), before)

    def test_words_that_help(self):
        ob = self.figure()
        for words in ("no goal", "no target"):
            with self.assertRaisesRegex(RuntimeError, words):
                bpy.ops.skel.bake_ik()
            if not ob.skel_ik.goals:
                add_goal(ob, "hand.L", None, chain=3)
        ob.skel_ik.goals[0].target = empty("t", (0, 0, 0))
        ob.skel_ik.goals[0].bone = "nobody"
        with self.assertRaisesRegex(RuntimeError, "nobody"):
            bpy.ops.skel.bake_ik()

    def test_goals_by_button_and_from_constraints(self):
        ob = self.figure(modes=False)
        ob.data.bones.active = ob.data.bones["hand.L"]
        self.assertEqual(bpy.ops.skel.add_goal(), {"FINISHED"})
        goal = ob.skel_ik.goals[0]
        self.assertEqual((goal.bone, goal.target.name), ("hand.L", "hand.L target"))
        bpy.context.view_layer.update()
        self.assertLess((goal.target.matrix_world.translation - self.end(ob, "hand.L")).length,
                        1e-5)
        goal.use_orientation = True
        self.assertEqual(bpy.ops.skel.keep_angle(), {"FINISHED"})
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        self.assertEqual(common.ik_report_of(ob).missed, [])
        self.assertEqual(bpy.ops.skel.remove_goal(), {"FINISHED"})
        limb = ob.pose.bones["forearm.R"].constraints.new("IK")
        limb.target, limb.chain_count = empty("t", (-0.4, -0.2, 1.1)), 2
        self.assertEqual(bpy.ops.skel.goals_from_constraints(), {"FINISHED"})
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        self.assertTrue(limb.mute)
        self.assertLess((self.end(ob, "forearm.R") - limb.target.location).length, 1e-4)

    def test_chain_length_is_a_goals_own(self):
        """What a goal may not move stays as the others have it, out of reach or not."""
        ob = self.figure(modes=False)
        near, far = empty("near", (-0.3, -0.3, 1.2)), empty("far", (0.9, -0.9, 1.4))
        add_goal(ob, "hand.R", near)
        spine = {}
        other = add_goal(ob, "hand.L", far)
        for chain in (None, 2, 0):
            other.use, other.chain = chain is not None, chain or 0
            for bone in ob.pose.bones:
                bone.matrix_basis = Matrix()
            bpy.context.view_layer.update()
            self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
            spine[chain] = ob.pose.bones["chest"].rotation_quaternion.copy()
        self.assertLess(spine[None].rotation_difference(spine[2]).angle, 1e-5)
        self.assertGreater(spine[None].rotation_difference(spine[0]).angle, 0.1)

    def test_targets_that_goals_move(self):
        """A bone of the same armature, or what is parented to one, moves as the spine bends."""
        ob = self.figure(modes=False)
        for bone in ob.pose.bones:
            bone.matrix_basis = Matrix()
        add_goal(ob, "hand.L", ob, target_bone="head")
        self.scene.frame_end = 5
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        self.scene.frame_set(3)
        self.assertLess((ob.pose.bones["hand.L"].tail - ob.pose.bones["head"].head).length, 1e-5)
        ob.animation_data_clear()
        badge = empty("badge", (0, 0, 0))
        badge.parent, badge.parent_type, badge.parent_bone = ob, "BONE", "head"
        inner = empty("inner", (0.1, -0.2, 0.3))
        inner.parent = badge
        ob.skel_ik.goals[0].target, ob.skel_ik.goals[0].target_bone = inner, ""
        bpy.context.view_layer.update()
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        bpy.context.view_layer.update()
        self.assertLess((self.end(ob, "hand.L") - self.place(inner).translation).length, 1e-5)

    def test_targets_that_constraints_hold(self):
        """A prop in the other hand; what no bone holds is said to have gone elsewhere."""
        ob = self.figure(modes=False)
        self.scene.frame_end = 4
        prop = empty("prop", self.end(ob, "hand.R"))
        grip = empty("grip", (0.15, 0, 0.1))
        grip.parent = prop
        add_goal(ob, "hand.R", empty("t", (-0.1, -0.4, 1.2)), chain=3)
        add_goal(ob, "hand.L", grip, chain=3)
        for kind in ("CHILD_OF", "COPY_TRANSFORMS", "COPY_LOCATION"):
            ob.animation_data_clear()
            for bone in ob.pose.bones:
                bone.matrix_basis = Matrix()
            prop.constraints.clear()
            c = prop.constraints.new(kind)
            c.target, c.subtarget = ob, "hand.R"
            if kind == "CHILD_OF":
                c.inverse_matrix = (ob.matrix_world @ ob.pose.bones["hand.R"].matrix).inverted()
            if kind == "COPY_LOCATION":         # a child of what moves and does not turn
                ob.skel_ik.goals[1].target = prop
            for solve in (bpy.ops.skel.solve_ik, bpy.ops.skel.bake_ik):
                bpy.context.view_layer.update()
                self.assertEqual(solve(), {"FINISHED"})
                self.scene.frame_set(3)
                off = (self.end(ob, "hand.L") -
                       self.place(ob.skel_ik.goals[1].target).translation).length
                self.assertLess(off, 1e-5)
        playback = self.skel.playback
        targets = [playback.ExpectedTarget("reach", ("x", ""), [[0.0] * 16] * 2, 0.01)]
        moved = [0.0] * 12 + [0.3, 0.4, 0.0, 1.0]
        words = playback.warn_of_moved_targets(targets, [1, 2], [[[0.0] * 16], [moved]])
        self.assertRegex(words[0], "goal 'reach' moves with the bones.*frame 2 it is 0.5 units")
        still = [[[0.0] * 16]] * 2
        self.assertEqual(playback.warn_of_moved_targets(targets, [1, 2], still), [])

    def test_targets_of_rigid_bodies_are_refused(self):
        ob = self.figure(modes=False)
        ball = empty("ball", (0.4, -0.3, 1.2))
        mesh = bpy.data.objects.new("mesh", bpy.data.meshes.new("mesh"))
        self.scene.collection.objects.link(mesh)
        bpy.ops.rigidbody.world_add()
        bpy.context.view_layer.objects.active = mesh
        bpy.ops.rigidbody.object_add()
        ball.parent = mesh
        add_goal(ob, "hand.L", ball, chain=3)
        bpy.context.view_layer.objects.active = ob
        words = "'ball' is moved by the rigid body simulation .'mesh'"
        with self.assertRaisesRegex(RuntimeError, words):
            bpy.ops.skel.bake_ik()

    def test_squeezed_and_growing_bones_are_refused(self):
        ob = self.figure(modes=False)
        add_goal(ob, "hand.L", empty("t", (0.5, -0.2, 1.3)), chain=3)
        arm = ob.pose.bones["upper_arm.L"]
        arm.scale = (1, 1.4, 1)
        words = "'upper_arm.L' is scaled by .1, 1.4, 1. at frame 1, not"
        with self.assertRaisesRegex(RuntimeError, words):
            bpy.ops.skel.bake_ik()
        arm.scale = (1, 1, 1)
        for frame, size in ((1, 1.0), (10, 1.5)):
            ob.pose.bones["pelvis"].scale = (size, size, size)
            ob.pose.bones["pelvis"].keyframe_insert("scale", frame=frame)
        self.scene.frame_set(1)
        with self.assertRaisesRegex(RuntimeError, "cannot grow"):
            bpy.ops.skel.bake_ik()

    def test_mirrored_targets_have_places(self):
        ob = self.figure(modes=False)
        target = empty("t", (0.5, -0.2, 1.3))
        goal = add_goal(ob, "hand.L", target, chain=3)
        for scale in ((-1, 1, 1), (0, 0, 0)):
            target.scale = scale
            bpy.context.view_layer.update()
            self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
            self.assertLess((self.end(ob, "hand.L") - target.location).length, 1e-4)
        goal.use_orientation = True
        with self.assertRaisesRegex(RuntimeError, "target of the goal 'hand.L' is mirrored"):
            bpy.ops.skel.solve_ik()

    def test_goals_of_roots(self):
        """The hips are moved as a whole, by their head, and alone."""
        ob = self.figure(modes=False)
        target = empty("t", (0.2, -0.3, 0.7))
        add_goal(ob, "pelvis", target, end="HEAD")
        bpy.context.view_layer.update()
        with self.assertRaisesRegex(RuntimeError, "let the root bone move"):
            bpy.ops.skel.solve_ik()
        for root in ("MOVES", "SHIFTS"):
            ob.skel_ik.root = root
            target.location.x += 0.1
            bpy.context.view_layer.update()
            self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
            self.assertLess((self.end(ob, "pelvis", False) - target.location).length, 1e-5)

    def test_names_that_the_engine_has_itself(self):
        rows = [("world", None, (0, 0, 0), (0, 0, 0.5), 0.0, False),
                ("arm", "world", (0, 0, 0.5), (0, 0, 1), 0.0, True),
                ("arm.X", "arm", (0, 0, 1), (0, 0, 1.5), 0.0, True)]
        ob = common.add_armature(rows)
        for bone in ob.pose.bones:
            bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, -2, 2
        target = empty("t", (0.3, 0.2, 1.1))
        add_goal(ob, "arm.X", target)
        self.scene.frame_end = 3
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        self.scene.frame_set(2)
        self.assertLess((self.end(ob, "arm.X") - target.location).length, 1e-5)
        self.assertIn('pose.bones["world"].rotation_quaternion',
                      {path for path, _index in common.curves(ob)})

    def test_poles_bend_the_elbow_of_any_chain(self):
        ob = self.figure(modes=False)
        target, pole = empty("t", (0.35, -0.35, 1.2)), empty("pole", (0.6, 0.5, 0.2))
        goal = add_goal(ob, "hand.L", target, pole=pole)
        for chain in (0, 3, 4, 5):
            goal.chain = chain
            for bone in ob.pose.bones:
                bone.matrix_basis = Matrix()
            bpy.context.view_layer.update()
            self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
            start, end = self.end(ob, "upper_arm.L", False), self.end(ob, "hand.L")
            line = (end - start).normalized()
            sides = [v - line * v.dot(line) for v in (self.end(ob, "forearm.L", False) - start,
                                                      pole.location - start)]
            self.assertLess(sides[0].angle(sides[1]), 1e-3, chain)

    def test_what_cannot_move_is_said(self):
        ob = self.figure(modes=False)
        goal = add_goal(ob, "hand.L", ob, target_bone="hand.L", chain=2)
        with self.assertRaisesRegex(RuntimeError, "moves with its own bone"):
            bpy.ops.skel.solve_ik()
        goal.target = empty("t", (0.5, -0.2, 1.3))
        for name in ("hand.L", "forearm.L"):
            for axis in "xyz":
                setattr(ob.pose.bones[name], f"lock_ik_{axis}", True)
        with self.assertRaisesRegex(RuntimeError, "may turn"):
            bpy.ops.skel.solve_ik()
        for fields in ({"bone": "nobody"}, {"target": "nothing"}):
            with self.assertRaisesRegex(RuntimeError, "'no"):
                bpy.ops.skel.add_goal(**fields)
        self.assertEqual(len(ob.skel_ik.goals), 1)

    def test_keys_of_weights_stay_with_their_goals(self):
        ob = self.figure(modes=False)
        for k, bone in enumerate(("hand.L", "hand.R", "head")):
            add_goal(ob, bone, empty(bone, (0, 0, 0)), weight=0.2 * k)
        for k in range(2):
            ob.keyframe_insert(f"skel_ik.goals[{k}].weight", frame=1)
        ob.driver_add("skel_ik.goals[2].weight").driver.expression = "0.4"
        ob.skel_ik.active = 0
        self.assertEqual(bpy.ops.skel.remove_goal(), {"FINISHED"})
        self.scene.frame_set(1)
        self.assertEqual([goal.bone for goal in ob.skel_ik.goals], ["hand.R", "head"])
        for goal, weight in zip(ob.skel_ik.goals, (0.2, 0.4)):
            self.assertAlmostEqual(goal.weight, weight, 5)
        self.assertEqual([path for path, _ in common.curves(ob)], ["skel_ik.goals[0].weight"])
        self.assertEqual(ob.animation_data.drivers[0].data_path, "skel_ik.goals[1].weight")

    def test_balls_of_documents_turn(self):
        path = os.path.join(common.TEMP, "ball.json")
        bodies = [{"name": "base", "motion": "fixed", "position": [0, 0, 0]}] + [
            {"name": name, "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [x, 0, 0]}
            for name, x in (("upper", 0.5), ("lower", 1.5))]
        joints = [{"name": "shoulder", "type": "ball", "bodies": ["base", "upper"],
                   "anchor": [0, 0, 0]},
                  {"name": "elbow", "type": "hinge", "bodies": ["upper", "lower"],
                   "anchor": [1, 0, 0], "axis": [0, 0, 1]}]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "skel-scene/1", "bodies": bodies, "joints": joints,
                       "robot": {"frames": [{"name": "tool", "body": "lower",
                                             "position": [0.5, 0, 0]}], "tool": "tool"}}, file)
        bpy.ops.skel.import_robot(filepath=path, shapes=False)
        ob = bpy.context.view_layer.objects.active
        target = empty("t", (0.6, 0.5, 0.9))
        add_goal(ob, "tool", target, end="HEAD")
        bpy.context.view_layer.update()
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        self.assertLess((self.end(ob, "tool", False) - target.location).length, 1e-5)

    def test_hidden_targets(self):
        ob = self.figure(modes=False)
        target = empty("target", (0.5, -0.3, 1.3), (0.45, -0.4, 1.1))
        add_goal(ob, "hand.L", target, chain=3)
        for hide in (lambda: setattr(target, "hide_viewport", True), lambda: target.hide_set(True),
                     lambda: self.scene.collection.objects.unlink(target)):
            target.hide_viewport = False
            hide()
            self.scene.frame_set(20)
            wanted = [curve.evaluate(20) for curve in common.curves(target).values()]
            self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
            self.assertLess(math.dist(self.end(ob, "hand.L"), wanted), 1e-4)
            self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
            self.scene.frame_set(10)
            wanted = [curve.evaluate(10) for curve in common.curves(target).values()]
            self.assertLess(math.dist(self.end(ob, "hand.L"), wanted), 1e-4)
            ob.animation_data_clear()
        self.assertEqual(sorted(o.name for o in bpy.data.objects), ["figure", "target"])

    def test_goals_of_constraints_that_act(self):
        ob = self.figure(modes=False)
        target = empty("target", (0.5, -0.3, 1.3))
        self.assertEqual(bpy.ops.skel.goals_from_constraints(), {"CANCELLED"})
        for name, muted in (("hand.L", False), ("hand.R", True)):
            made = ob.pose.bones[name].constraints.new("IK")
            made.target, made.mute, made.chain_count = target, muted, 3
        for _ in range(2):                      # the second time it is there already
            self.assertEqual(bpy.ops.skel.goals_from_constraints(), {"FINISHED"})
            self.assertEqual([(g.bone, g.chain) for g in ob.skel_ik.goals], [("hand.L", 3)])

    def test_everything_has_a_tooltip(self):
        skel = self.skel
        modules = (skel.properties, skel.operators, skel.operators_ik, skel.operators_robots)
        groups = [cls for module in modules for cls in module.CLASSES]
        self.assertGreater(len(groups), 15)
        known = {"rna_type", "name", "filter_glob", *bpy.types.Operator.bl_rna.properties.keys()}
        for group in groups:
            rna = group.bl_rna
            if issubclass(group, bpy.types.Operator):
                rna = getattr(bpy.ops.skel, group.bl_idname.split(".")[1]).get_rna_type()
                self.assertTrue(rna.description and rna.name, rna.identifier)
            for prop in rna.properties:
                if prop.identifier not in known:
                    self.assertTrue(prop.description, f"{rna.identifier}.{prop.identifier}")

    def test_robot_reaches(self):
        """Hinges and slides of an imported robot, within limits that go beyond half a turn."""
        for name in ("puma560", "stanford", "ur5"):
            with self.subTest(robot=name):
                self.setUp()
                bpy.ops.skel.import_robot(preset=name, shapes=False)
                ob = bpy.context.view_layer.objects.active
                count = len(self.skel.read_robots.joint_bones(ob))
                bpy.ops.skel.set_joints(values=" ".join(["0.3", "0.6", "-0.5", "0.4", "0.7", "0.2"
                                                         ][:count]))
                target = empty("target", (0, 0, 0))
                target.matrix_world = ob.matrix_world @ ob.pose.bones["tool"].matrix
                wanted = target.matrix_world.copy()
                bpy.ops.skel.set_joints()
                add_goal(ob, "tool", target, end="HEAD", use_orientation=True)
                bpy.context.view_layer.update()
                self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
                self.assertEqual(common.ik_report_of(ob).missed, [])
                got = ob.matrix_world @ ob.pose.bones["tool"].matrix
                self.assertLess((got.translation - wanted.translation).length, 2e-5)

    def robot(self, links, joints):
        path = os.path.join(common.TEMP, "robot.urdf")
        with open(path, "w", encoding="utf-8") as file:
            file.write('<robot name="r">' + "".join(f'<link name="{name}"/>' for name in links) +
                       "".join(joints) + "</robot>")
        bpy.ops.skel.import_robot(filepath=path, shapes=False)
        return bpy.context.view_layer.objects.active

    def values(self, ob):
        now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return {bone.name: self.skel.read_robots.joint_value(now.pose.bones[bone.name])
                for bone in self.skel.read_robots.joint_bones(ob)}

    def test_joints_of_robots_keep_their_turns(self):
        """Beyond half a turn a pose does not tell the joint's value; what goes along depends on
        it."""
        ob = self.robot(("base", "arm", "tcp", "gear", "hand"), (
            joint("j", "revolute", "base", "arm", "0 0 0", "0 0 1", limit(-3.9, 0.8)),
            joint("t", "fixed", "arm", "tcp", "1 0 0", "1 0 0"),
            joint("g", "revolute", "base", "gear", "0 0 0.5", "0 0 1",
                  limit(-9, 9) + '<mimic joint="j" multiplier="0.5"/>'),
            joint("h", "fixed", "gear", "hand", "1 0 0", "1 0 0")))
        angle = 2.4 - 2 * math.pi
        for bone, turn, z in (("tcp", angle, 0), ("hand", angle / 2, 0.5)):
            add_goal(ob, bone, empty(bone, (math.cos(turn), math.sin(turn), z)), end="HEAD")
        bpy.context.view_layer.update()
        for solve in (bpy.ops.skel.solve_ik, lambda: bpy.ops.skel.bake_ik(frame_end=3)):
            self.assertEqual(solve(), {"FINISHED"})
            self.scene.frame_set(2)
            self.assertAlmostEqual(self.values(ob)["arm"], angle, 5)
            for goal in ob.skel_ik.goals:
                self.assertLess((self.end(ob, goal.bone, False) - goal.target.location).length,
                                1e-5)
            bpy.ops.skel.set_joints()

    def test_wide_limits_of_robots_hold(self):
        ob = self.robot(("base", "arm", "tcp"), (
            joint("j", "revolute", "base", "arm", "0 0 0", "0 0 1", limit(-6.2, 6.2)),
            joint("t", "fixed", "arm", "tcp", "1 0 0", "1 0 0")))
        bpy.ops.skel.set_joints(values="4.5")
        add_goal(ob, "tcp", empty("t", (math.cos(6.8), math.sin(6.8), 0)), end="HEAD")
        bpy.context.view_layer.update()
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        self.assertAlmostEqual(self.values(ob)["arm"], 6.8 - 2 * math.pi, 5)
        ob.skel_ik.goals[0].target.location = (math.cos(5.8), math.sin(5.8), 0)
        bpy.ops.skel.set_joints(values="4.5")
        bpy.context.view_layer.update()
        self.assertEqual(bpy.ops.skel.solve_ik(), {"FINISHED"})
        self.assertAlmostEqual(self.values(ob)["arm"], 5.8, 5)


if __name__ == "__main__":
    unittest.main()
