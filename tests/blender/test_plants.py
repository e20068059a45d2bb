# SPDX-License-Identifier: BSD-3-Clause
"""Chain lengths of new goals, pins, and feet that stand."""

import builtins
import math
import pathlib
import unittest
from unittest import mock

import bpy
from mathutils import Vector

import common

WALK = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data" / "rigs" / "07_01.bvh"


class Plants(unittest.TestCase):
    def setUp(self):
        self.scene = common.clear()
        self.skel = common.addon()

    def figure(self):
        ob = common.add_armature(common.HUMANOID)
        bpy.ops.object.mode_set(mode="POSE")
        return ob

    def select(self, ob, *names):
        for bone in ob.pose.bones:
            self.skel.compat.select(bone, bone.name in names)
        ob.data.bones.active = ob.data.bones[names[0]] if names else None

    def end(self, ob, name):
        bone = ob.pose.bones[name]
        return ob.matrix_world @ bone.tail, (ob.matrix_world @ bone.matrix).to_quaternion()

    # ---- goals ----

    def test_chain_of_a_new_goal(self):
        ob = self.figure()
        for name, wanted in (("hand.L", 3), ("foot.R", 3), ("head", 2), ("chest", 2)):
            self.assertEqual(bpy.ops.skel.add_goal(bone=name), {"FINISHED"})
            self.assertEqual(ob.skel_ik.goals[-1].chain, wanted, name)
        bpy.ops.skel.add_goal(kind="CENTRE", bone="head")
        self.assertEqual(ob.skel_ik.goals[-1].chain, 0)

    def test_pin(self):
        """The back bends, the hands stay where they were; pinned again, they stay elsewhere."""
        ob = self.figure()
        for name in ("forearm.L", "forearm.R"):             # a stretched arm has no room
            ob.pose.bones[name].rotation_quaternion = (0.8, 0.6, 0, 0)
        common.key_all(ob, 1)
        ob.pose.bones["chest"].rotation_quaternion = (0.98, 0.15, 0.1, 0)
        ob.pose.bones["upper_arm.L"].rotation_quaternion = (0.95, 0.3, 0.1, 0)
        common.key_all(ob, 10)
        self.scene.frame_end = 10
        self.scene.frame_set(1)
        self.select(ob, "hand.L", "hand.R")
        for frame in (1, 5):
            self.scene.frame_set(frame)
            places = {name: self.end(ob, name) for name in ("hand.L", "hand.R")}
            self.assertEqual(bpy.ops.skel.pin_bone(), {"FINISHED"})
            self.assertEqual([(g.name, g.bone, g.chain) for g in ob.skel_ik.goals],
                             [("hand.L pin", "hand.L", 3), ("hand.R pin", "hand.R", 3)])
            self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
            for at in range(1, 11):
                self.scene.frame_set(at)
                for name, (place, turn) in places.items():
                    got, turned = self.end(ob, name)
                    self.assertLess((got - place).length, 1e-4)
                    self.assertLess(turn.rotation_difference(turned).angle, 2e-3)
            action = ob.animation_data.action
            ob.animation_data.action = action.skel_takes[0].source
            if self.skel.compat.has_slots():
                ob.animation_data.action_slot = ob.animation_data.action.slots[0]

    def test_pin_needs_a_bone(self):
        ob = self.figure()
        self.select(ob)
        with self.assertRaisesRegex(RuntimeError, "Select the bones"):
            bpy.ops.skel.pin_bone()

    # ---- feet ----

    def slides(self, ob, spans):
        """The farthest that a foot is from where it is at the start of a span, in metres."""
        worst = 0.0
        for bone, some in spans.items():
            for first, last in some:
                self.scene.frame_set(first)
                start = self.end(ob, bone)[0]
                for frame in range(first, last + 1):
                    self.scene.frame_set(frame)
                    worst = max(worst, (self.end(ob, bone)[0] - start).length)
        return worst * self.scene.unit_settings.scale_length

    def spans(self, ob):
        """{foot: spans of frames} of the animation that plays."""
        first, last = self.scene.frame_start, self.scene.frame_end
        reader = self.skel.read.ShotReader(self.scene, ob, first, last)
        shot = self.skel.work.run(reader.sample(reader.shot, range(first, last + 1)))
        plants = self.skel.foot_plants
        return {shot.bones[each.bone].name: [(first + a, first + b) for a, b in each.spans]
                for each in plants.plant(shot, plants.find_feet(shot))}

    def walk(self, frames=72):
        """A figure that walks, made with goals of its feet. Standing, the feet slide by 4 cm."""
        ob = self.figure()
        for frame in (1, frames):
            ob.pose.bones["pelvis"].location = (0, -0.08, -0.6 * (frame - 1) / 24)
            common.key_all(ob, frame)
        for curve in common.curves(ob).values():
            for key in curve.keyframe_points:
                key.interpolation = "LINEAR"
        self.scene.frame_set(1)
        head = ob.matrix_world @ ob.pose.bones["pelvis"].head
        self.scene.frame_set(frames)
        step = (ob.matrix_world @ ob.pose.bones["pelvis"].head - head) * 24 / (frames - 1)
        self.scene.frame_set(1)

        for bone, phase in (("foot.L", 0.0), ("foot.R", 0.5)):
            bpy.ops.skel.add_goal(bone=bone)
            ob.skel_ik.goals[-1].use_orientation = True     # level, as the foot is at rest
            target = ob.skel_ik.goals[-1].target
            place = target.location.copy() + Vector((0, 0, 0.06))
            for frame in range(1, frames + 1):
                cycle, t = divmod((frame - 1) / 24 + phase, 1.0)
                u = 0.0 if t < 0.6 else (t - 0.6) / 0.4
                ease = u * u * (3 - 2 * u)
                share = cycle - phase + (ease if t >= 0.6 else 0) + 0.04 * min(t, 0.6) - 0.024 * u
                target.location = place + step * (share + 0.3)
                target.location.z += 0.08 * math.sin(math.pi * u) ** 2
                target.keyframe_insert("location", frame=frame)
        self.scene.frame_start, self.scene.frame_end = 1, frames
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        ob.animation_data.action.name = "walk"              # from now on an animation
        while len(ob.skel_ik.goals):
            bpy.ops.skel.remove_goal()
        return ob

    def test_walk(self):
        ob = self.walk()
        spans = self.spans(ob)
        self.assertEqual(set(spans), {"foot.L", "foot.R"})
        self.assertTrue(all(len(some) >= 3 for some in spans.values()), spans)
        before = self.slides(ob, spans)
        self.assertGreater(before, 0.01)
        swing = common.bone_matrices(ob, [20])[0]["foot.L"]

        self.assertEqual(bpy.ops.skel.plant_feet(), {"FINISHED"})
        self.assertEqual([(g.name, g.priority) for g in ob.skel_ik.goals],
                         [("foot.L plant", 0), ("foot.R plant", 0)])
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        report = common.ik_report_of(ob)
        after = self.slides(ob, spans)
        print(f"the feet slid by {before:.4f} m, now by {after:.1e} m; {report.words}")
        self.assertLess(after, 1e-6)
        self.assertFalse(any(a <= 20 <= b for a, b in spans["foot.L"]))
        now = common.bone_matrices(ob, [20])[0]["foot.L"]
        self.assertLess((now.translation - swing.translation).length, before / 2)

        # Again: the same goals and targets, from the same source.
        objects, actions = len(bpy.data.objects), len(bpy.data.actions)
        self.assertEqual(bpy.ops.skel.plant_feet(), {"FINISHED"})
        self.assertEqual(len(ob.skel_ik.goals), 2)
        self.assertEqual((len(bpy.data.objects), len(bpy.data.actions)), (objects, actions))

    def test_few_keys_hold_as_well(self):
        """With keys removed, a planted foot is off by twice the tolerance of goals at most."""
        ob = self.walk(48)
        spans = self.spans(ob)
        bpy.ops.skel.plant_feet()
        common.key_every_frame(ob, False)
        bpy.ops.skel.bake_ik()
        self.assertLess(self.slides(ob, spans), 4.5e-5)     # between two frames: twice that
        self.assertLess(common.ik_report_of(ob).key_count, 48 * len(common.curves(ob)) / 2)

    def test_says_what_is_missing(self):
        common.chain(5)
        with self.assertRaisesRegex(RuntimeError, "no bone that is a foot"):
            bpy.ops.skel.plant_feet(frame_end=10)
        ob = self.figure()
        for frame, x in ((1, 0), (10, 9)):
            ob.location.x = x
            ob.keyframe_insert("location", frame=frame)
        with self.assertRaisesRegex(RuntimeError, "no frame from 1 to 10"):
            bpy.ops.skel.plant_feet(frame_end=10)

    def test_captured_walk(self):
        if not WALK.exists():
            self.skipTest(f"{WALK} is not there")
        plain = open

        def no_universal_newlines(file, mode="r", *rest, **more):
            return plain(file, mode.replace("U", ""), *rest, **more)

        with mock.patch.object(builtins, "open", no_universal_newlines):
            bpy.ops.import_anim.bvh(filepath=str(WALK), global_scale=0.056444,
                                    use_fps_scale=False, update_scene_fps=True)
        ob = bpy.context.view_layer.objects.active
        self.scene.frame_start, self.scene.frame_end = 1, 316
        spans = self.spans(ob)
        self.assertEqual(set(spans), {"LeftFoot", "RightFoot"})
        before = self.slides(ob, spans)
        common.key_every_frame(ob)
        self.assertEqual(bpy.ops.skel.plant_feet(), {"FINISHED"})
        self.assertEqual({goal.chain for goal in ob.skel_ik.goals}, {3})
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        report = common.ik_report_of(ob)
        after = self.slides(ob, spans)
        print(f"{spans}: the feet slid by {before:.4f} m, now by {after:.1e} m; {report.words}")
        self.assertGreater(before, 0.005)
        self.assertLess(after, 1e-6)
        self.assertEqual((report.missed, report.jumps), ([], []))


if __name__ == "__main__":
    unittest.main()
