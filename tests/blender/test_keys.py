# SPDX-License-Identifier: BSD-3-Clause
"""Keys, undo, cancel, files, overrides: what the add-on leaves in the user's file."""

import json
import math
import os
import subprocess
import unittest
from array import array

import bpy
from mathutils import Euler, Matrix, Quaternion, Vector

import common
from test_bake import result_of


class Keys(unittest.TestCase):
    def setUp(self):
        self.scene = common.clear()
        self.skel = common.addon()

    def figure(self, frames=12):
        ob = common.add_armature(common.HUMANOID)
        self.scene.frame_end = frames
        ob.skel.ground = False                  # keys are what counts here, and falls are quick
        return ob

    def animated(self):
        """Keys before, within and after the range, with handles of every kind."""
        ob = self.figure()
        common.all_modes(ob)
        for n, frame in enumerate((-20, -6, 3, 8, 30, 44)):
            common.pose(ob, n, 0.1)
            common.key_all(ob, frame)
        kinds = ("FREE", "ALIGNED", "VECTOR", "AUTO", "AUTO_CLAMPED")
        for n, curve in enumerate(common.curves(ob).values()):
            for k, key in enumerate(curve.keyframe_points):
                key.handle_left_type = key.handle_right_type = kinds[(n + k) % 5]
                key.interpolation = ("BEZIER", "LINEAR", "CONSTANT", "ELASTIC")[k % 4]
                key.select_control_point = bool(n % 2)
                key.type = ("KEYFRAME", "EXTREME", "JITTER")[k % 3]
            curve.update()
        self.scene.frame_start, self.scene.frame_end = 1, 12
        self.scene.frame_set(1)
        return ob

    def keys(self, ob, action=None):
        read = self.skel.write.read_keys
        return {name: read(curve.keyframe_points)
                for name, curve in common.curves(ob, action).items()}

    def outside(self, keys, first, last):
        """All that keys outside the range hold, as bytes."""
        out = {}
        for name, fields in keys.items():
            frames = fields["co"][0::2]
            rows = [k for k, frame in enumerate(frames) if not first <= frame <= last]
            out[name] = [(field, tuple(numbers[k * (len(numbers) // len(frames)) + w]
                                       for k in rows
                                       for w in range(len(numbers) // len(frames))))
                         for field, numbers in fields.items()]
        return out

    def test_current_action_within_the_range_only(self):
        ob = self.animated()
        before, action = self.keys(ob), ob.animation_data.action
        bpy.ops.skel.bake_physics(target="CURRENT")
        after = self.keys(ob)
        self.assertIs(ob.animation_data.action, action)
        self.assertEqual([a.name for a in bpy.data.actions if a.name[0] != "."], [action.name])
        self.assertEqual(self.outside(before, 1, 12), self.outside(after, 1, 12))
        changed = 0
        for name, fields in after.items():
            inside = [f for f in fields["co"][0::2] if 1 <= f <= 12]
            if "location" in name[0] and "pelvis" not in name[0] and len(inside) == 2:
                continue                        # of connected bones: not touched at all
            self.assertEqual(inside, [float(f) for f in range(1, 13)], name)
            self.assertEqual(fields["co"][0::2].tolist(), sorted(fields["co"][0::2].tolist()))
            changed += 1
        self.assertGreater(changed, 60)

    def test_comes_to_the_range_as_before(self):
        """So that baking again starts with the same speed."""
        ob = self.figure(60)
        common.key_all(ob, 1)
        common.pose(ob, 2, 0.6)
        ob.pose.bones["pelvis"].location = (0, 0, 3)
        common.key_all(ob, 60)
        speeds = []
        for _ in range(3):
            curve = common.curves(ob)['pose.bones["pelvis"].location', 2]
            speeds.append(curve.evaluate(30) - curve.evaluate(29))
            bpy.ops.skel.bake_physics(frame_start=30, frame_end=40, target="CURRENT")
        self.assertGreater(speeds[0], 0.05)
        for speed in speeds[1:]:
            self.assertLess(abs(speed / speeds[0] - 1), 0.1)

    def test_evaluates_what_was_written(self):
        ob = self.animated()
        bpy.ops.skel.bake_physics(target="CURRENT")
        for (path, index), curve in common.curves(ob).items():
            for key in curve.keyframe_points:
                if 1 <= key.co.x <= 12:
                    self.assertAlmostEqual(curve.evaluate(key.co.x), key.co.y, places=5)

    def test_action_of_which_no_slot_is_chosen(self):
        """New keys play, wherever they go."""
        for call in (bpy.ops.skel.bake_physics, bpy.ops.skel.inverse_dynamics):
            self.setUp()
            ob = self.figure()
            ob.animation_data_create().action = bpy.data.actions.new("walk")
            if self.skel.compat.has_slots():
                self.assertIsNone(ob.animation_data.action_slot)
            ob.skel.target = "CURRENT"
            self.assertEqual(call(), {"FINISHED"})
            self.assertEqual(ob.animation_data.action.name, "walk")
            self.assertGreater(len(common.curves(ob)), 60)  # of the slot in use

    def test_new_action_leaves_the_old(self):
        ob = self.animated()
        old = ob.animation_data.action
        before = common.dump_action(old)
        bpy.ops.skel.bake_physics(target="NEW")
        new = ob.animation_data.action
        self.assertIsNot(new, old)
        self.assertEqual(common.dump_action(old), before)
        self.assertEqual(self.outside(self.keys(ob), 1, 12).keys(), self.keys(ob, new).keys())
        if self.skel.compat.has_slots():
            self.assertIsNotNone(ob.animation_data.action_slot)

    def test_nla_strip(self):
        ob = self.animated()
        old = ob.animation_data.action
        before = common.dump_action(old)
        expected = self.expected(ob)
        beyond = common.bone_matrices(ob, [40])[0]
        bpy.ops.skel.bake_physics(target="NLA")
        self.assertIsNone(ob.animation_data.action)
        self.assertEqual(len(ob.animation_data.nla_tracks), 2)
        self.assertEqual(common.dump_action(old), before)
        self.scene.frame_set(9)
        for name, head in expected.items():
            got = (ob.matrix_world @ ob.pose.bones[name].matrix).translation
            self.assertLess((got - head).length, 1e-4, name)
        after = common.bone_matrices(ob, [40])[0]
        for name in after:
            self.assertLess((after[name].translation - beyond[name].translation).length, 1e-5)

    def expected(self, ob):
        """Heads of all bones at frame 9, as the engine has them."""
        from test_bake import bone_line
        from mathutils import Vector
        shot, plan, text = result_of(ob)
        job = self.skel.binding.skelpy.bake(text)
        return {shot.bones[i].name: Vector(bone_line(
            self.skel, job.pose(8, shot.bones[i].name), plan.bones[i].offset)[0])
            for i in plan.own_bodies}

    def test_only_chosen_bones_and_channels(self):
        ob = self.figure()
        ob.skel.only_selected, ob.skel.channels = True, {"ROTATION"}
        bpy.context.view_layer.objects.active = ob
        for bone in ob.pose.bones:
            self.skel.compat.select(bone, bone.name in ("forearm.L", "hand.L"))
        bpy.ops.skel.bake_physics()
        paths = {path for path, _ in common.curves(ob)}
        self.assertEqual(paths, {'pose.bones["forearm.L"].rotation_quaternion',
                                 'pose.bones["hand.L"].rotation_quaternion'})

    def test_quaternions_are_continuous(self):
        ob = self.figure(60)
        bpy.ops.skel.bake_physics()
        found = {}
        for (path, index), curve in common.curves(ob).items():
            if path.endswith("rotation_quaternion"):
                values = common.buffer("f", 2 * len(curve.keyframe_points))
                curve.keyframe_points.foreach_get("co", values)
                found.setdefault(path, {})[index] = values[1::2]
        self.assertEqual(len(found), 17)
        for path, four in found.items():
            rows = list(zip(*(four[k] for k in range(4))))
            for a, b in zip(rows, rows[1:]):
                self.assertGreater(sum(x * y for x, y in zip(a, b)), 0, path)

    def test_linear_keys_and_groups(self):
        ob = self.figure()
        bpy.ops.skel.bake_physics()
        for (path, _), curve in common.curves(ob).items():
            self.assertEqual({k.interpolation for k in curve.keyframe_points}, {"LINEAR"})
            self.assertIn(f'"{curve.group.name}"', path)

    # ---- fewer keys ----

    def baked_channels(self, ob, **settings):
        """{(path, index): {frame: value}} of a bake that writes every frame."""
        plan = self.skel.work.run(common.read_plan(ob, 1, self.scene.frame_end, key_tolerance=0.0,
                                                   key_angle_tolerance=0.0, **settings))
        channels = self.skel.work.run(self.skel.bake.bake(plan)).channels
        return plan, {(c.path, c.index): dict(zip(c.keys[0::2], c.keys[1::2])) for c in channels}

    def error_of(self, plan, path, got, want):
        """(m or rad, whether it is a rotation) between values of a location or rotation."""
        name, bone = path.rpartition(".")[2], path.split('"')[1]
        if name == "location":
            i = next(k for k, b in enumerate(plan.shot.bones) if b.name == bone)
            scale = self.skel.key_reduction.location_scale(plan.shot, i)
            return math.dist(got, want) * scale, False
        turns = []
        for values in (got, want):
            if name == "rotation_quaternion":
                turns.append(Quaternion(values).normalized())
            elif name == "rotation_axis_angle":
                turns.append(Quaternion(values[1:], values[0]))
            else:
                mode = bpy.data.objects["figure"].pose.bones[bone].rotation_mode
                turns.append(Euler(values, mode).to_quaternion())
        # By components: the angle itself is lost in the rounding of its cosine.
        a, b = turns
        off = [b.w * a[k] - a.w * b[k] for k in (1, 2, 3)]
        cross = Vector(a[1:]).cross(Vector(b[1:]))
        return 2 * math.asin(min(1.0, math.hypot(*(x - y for x, y in zip(off, cross))))), True

    def check_within(self, ob, plan, expected, first=1, last=10 ** 9):
        """Every curve gives the values of every frame within the tolerance. Returns the largest
        errors, in parts of the tolerance."""
        curves, groups, worst = common.curves(ob), {}, [0.0, 0.0]
        for path, index in expected:
            groups.setdefault(path, []).append(index)
        bounds = self.skel.key_reduction.tolerance_of(self.skel.shot.Settings())
        for path, indices in groups.items():
            name, bone = path.rpartition(".")[2], path.split('"')[1]
            still = getattr(ob.pose.bones[bone], name)
            for frame in expected[path, 0]:
                if not first <= frame <= last:
                    continue
                want = [expected[path, k][frame] for k in indices]
                got = [curves[path, k].evaluate(frame) if (path, k) in curves else still[k]
                       for k in indices]
                error, turns = self.error_of(plan, path, got, want)
                self.assertLessEqual(error, bounds[turns], (path, frame))
                worst[turns] = max(worst[turns], error / bounds[turns])
        return worst

    def test_few_keys_within_the_tolerance(self):
        """A chain of bones that are not connected falls and swings from its first link, which is
        held; a figure falls and lands, in all rotation modes."""
        links = [(f"link{k}", f"link{k - 1}" if k else None, (0.5 * k, 0, 2),
                  (0.5 * k + 0.5, 0, 2), 0.0, False) for k in range(4)]
        for modes in (False, True):
            self.setUp()
            ob = self.figure() if modes else common.add_armature(links)
            if modes:
                common.all_modes(ob)
                ob.skel.ground = True
            ob.skel.preset = "RAGDOLL" if modes else "TAIL"
            self.scene.frame_end = 100
            plan, expected = self.baked_channels(ob)
            common.key_every_frame(ob, False)
            self.assertEqual(bpy.ops.skel.bake_physics(), {"FINISHED"})
            curves = common.curves(ob)
            count = sum(len(curve.keyframe_points) for curve in curves.values())
            before = sum(len(each) for each in expected.values())
            self.assertEqual(before, 100 * sum(len(each) > 0 for each in expected.values()))
            if not modes:
                self.assertLessEqual(10 * count, before)
            self.assertLessEqual(3 * count, before)
            worst = self.check_within(ob, plan, expected)
            print(f"{before} keys, now {count}; errors of {worst[0]:.2f} and {worst[1]:.2f} of "
                  "the tolerances")
            self.assertGreater(worst[True], 0.1)
            report = common.report_of(ob)
            self.assertEqual(report.key_tolerance, "0.1 mm, 0.01°")
            self.assertEqual([w for w in report.warnings if "does not play" in w], [])
            for curve in curves.values():
                self.assertLessEqual({k.interpolation for k in curve.keyframe_points}, {"BEZIER"})

    def test_few_keys_within_an_action(self):
        """Keys outside of the range keep every bit; a curve that stays has keys at both ends."""
        ob = self.animated()
        ob.name = "figure"
        before = self.keys(ob)
        plan, expected = self.baked_channels(ob)
        common.key_every_frame(ob, False)
        bpy.ops.skel.bake_physics(target="CURRENT")
        self.assertEqual(self.outside(before, 1, 12), self.outside(self.keys(ob), 1, 12))
        self.check_within(ob, plan, expected)
        after = self.keys(ob)
        bpy.ops.skel.bake_physics(target="CURRENT")
        self.assertEqual(self.keys(ob), after)

    def test_few_keys_in_a_strip(self):
        ob = self.animated()
        ob.name = "figure"
        plan, expected = self.baked_channels(ob)
        common.key_every_frame(ob, False)
        bpy.ops.skel.bake_physics(target="NLA")
        strip = ob.animation_data.nla_tracks[-1].strips[0]
        self.assertEqual((strip.frame_start, strip.frame_end), (1, 12))
        action, ob.animation_data.action = ob.animation_data.action, strip.action
        self.assertIsNone(action)
        if self.skel.compat.has_slots():
            ob.animation_data.action_slot = strip.action_slot
        self.check_within(ob, plan, expected)

    def test_location_is_keyed_only_if_it_changes(self):
        ob = self.figure(24)
        ob.pose.bones["thigh.L"].location = (0.01, 0.02, 0.03)      # stays there
        common.key_every_frame(ob, False)
        bpy.ops.skel.bake_physics()
        moved = {path.split('"')[1] for path, _ in common.curves(ob) if path.endswith("location")}
        self.assertEqual(moved, {"pelvis"})
        self.scene.frame_set(20)
        for got, want in zip(ob.pose.bones["thigh.L"].location, (0.01, 0.02, 0.03)):
            self.assertAlmostEqual(got, want, places=6)

        # With keys of its own it stays within the range only.
        self.setUp()
        ob = self.figure(24)
        bone = ob.pose.bones["thigh.L"]
        for frame, x in ((-10, 0.0), (1, 0.02), (24, 0.02), (40, 0.0)):
            bone.location = (x, 0, 0)
            bone.keyframe_insert("location", frame=frame)
        self.scene.frame_set(1)
        common.key_every_frame(ob, False)
        bpy.ops.skel.bake_physics()
        curve = common.curves(ob)['pose.bones["thigh.L"].location', 0]
        self.assertEqual([key.co.x for key in curve.keyframe_points], [-10, 1, 24, 40])
        for frame in range(1, 25):
            self.assertAlmostEqual(curve.evaluate(frame), 0.02, places=6)

    def test_handles_changed_by_hand(self):
        """A take whose handles the user has moved is kept."""
        for touch in (False, True):
            self.setUp()
            ob = self.figure(24)
            common.key_every_frame(ob, False)
            bpy.ops.skel.bake_physics()
            before = len(bpy.data.actions)
            curve = max(common.curves(ob).values(), key=lambda c: len(c.keyframe_points))
            if touch:
                curve.keyframe_points[1].handle_left.y += 0.1
            bpy.ops.skel.bake_physics()
            self.assertEqual(len(bpy.data.actions), before + touch)

    # ---- the same as by FCurve.update ----

    def by_update(self, curve, keys):
        """These keys and no others, the plain way."""
        points, count = curve.keyframe_points, len(keys) // 2
        self.skel.compat.resize_keys(points, count)
        points.foreach_set("co", keys)
        points.foreach_set("interpolation", [self.skel.write.LINEAR] * count)
        curve.update()

    def both_ways(self, keys, old=()):
        """(by the add-on, by update), with the settings of the curve and values between keys. old:
        (frame, value, kind of handles) of keys that were there before."""
        found, compat = [], self.skel.compat
        for name, ours in (("ours", True), ("plain", False)):
            ob = common.chain(1, name=name)
            ob.animation_data_create()
            action = bpy.data.actions.new(name)
            curve = compat.Curves(action, ob).new('pose.bones["link0"].location', 1, "link0")
            for frame, value, kind in old:
                key = curve.keyframe_points.insert(frame, value)
                key.handle_left_type = key.handle_right_type = kind
            compat.use_action(ob, action)
            if ours:
                channel = self.skel.keys.Channel(curve.data_path, 1, "link0", keys)
                write = self.skel.write.write_channels
                self.skel.work.run(write(ob, [channel], "CURRENT", name))
            else:
                self.by_update(curve, keys)
            (curve,) = compat.curves_of(action, ob)
            low, high = min(keys[0::2]), max(keys[0::2])
            found.append((
                {k: v.tobytes() for k, v in self.skel.write.read_keys(
                    curve.keyframe_points).items()},
                (curve.extrapolation, curve.auto_smoothing, curve.group.name),
                [curve.evaluate(low - 2 + n * (high - low + 4) / 97) for n in range(98)]))
        return found

    def test_same_as_by_update(self):
        """Every bit of the keys, handles and all. Frames that have to be sorted or thinned out
        are among them."""
        wave = [math.sin(0.7 * n) + 0.01 * n * n for n in range(40)]
        steps = {step: [-7 + step * n for n in range(40)] for step in (1, 3, 0.25, 0.02, 0.004)}
        cases = {**steps, "far": [16777200 + n for n in range(40)], "back": steps[1][::-1],
                 "twice": [n // 2 for n in range(40)], "two": [1, 9], "one": [5],
                 "mixed": [(7 * n) % 40 for n in range(40)]}
        for name, frames in cases.items():
            keys = self.skel.keys.interleave(frames, wave[:len(frames)])
            for values in (wave, [0.5] * 40, [1e-6 * v for v in wave]):
                keys[1::2] = array("f", values[:len(frames)])
                ours, plain = self.both_ways(keys)
                self.assertEqual(ours, plain, name)

    def test_same_as_by_update_over_old_keys(self):
        keys = self.skel.keys.interleave(range(1, 13), [math.sin(n) for n in range(12)])
        kinds = ("FREE", "ALIGNED", "VECTOR", "AUTO", "AUTO_CLAMPED")
        for count in (1, 5, 12):
            old = [(1 + n, 0.1 * n * n, kinds[n % 5]) for n in range(count)]
            ours, plain = self.both_ways(keys, old)
            self.assertEqual(ours, plain, count)

    # ---- undo and cancel ----

    def test_undo_restores(self):
        self.animated()
        bpy.ops.ed.undo_push(message="before")
        before = common.dump_file()
        bpy.ops.skel.bake_physics("EXEC_DEFAULT", True, target="CURRENT")
        self.assertNotEqual(common.dump_file(), before)
        bpy.ops.ed.undo()                           # one step, which the operator made itself
        self.assertEqual(common.dump_file(), before)
        bpy.ops.ed.redo()
        self.assertNotEqual(common.dump_file(), before)

    def test_stopped_at_every_stage(self):
        """The work of the operator, stopped after each of its steps: nothing is left behind."""
        ob = self.animated()
        ob.skel.preset = "TAIL"
        before = common.dump_file()
        skel, stages = self.skel, []

        def work():
            plan = yield from common.read_plan(ob, 1, 12)
            result = yield from skel.bake.bake(plan)
            yield from skel.write.write_channels(ob, result.channels, "NEW", "x")

        for _fraction, words in work():
            stages.append(words)
        self.undo_new(ob)
        self.assertEqual(common.dump_file(), before)
        for words in dict.fromkeys(stages):
            for times in (1, 2, 7):
                job, left = work(), times
                while left > 0 and (step := next(job, None)):
                    left -= step[1] == words
                job.close()
                if left > 0:  # a stage has as many steps as its time allows: it was done
                    self.assertLess(left, times, words)
                    self.undo_new(ob)
                self.assertEqual(common.dump_file(), before, (words, times))
        wanted = {"reading the animation", "simulating", "writing keys"}
        self.assertTrue(wanted <= set(stages), stages)

    def undo_new(self, ob):
        new = ob.animation_data.action
        self.skel.compat.use_action(ob, bpy.data.actions[new.name[:-5]])
        bpy.data.actions.remove(new)
        self.scene.frame_set(1)

    # ---- refusals ----

    def refused(self, text, **options):
        before = common.dump_file()
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.skel.bake_physics(**options)
        self.assertIn(text, str(caught.exception))
        self.assertEqual(common.dump_file(), before)

    def test_refuses_uneven_scale(self):
        ob = self.figure()
        ob.scale = (1, 1.2, 1)
        bpy.context.view_layer.update()
        self.refused("not the same along all axes")
        ob.scale = (-1, -1, -1)
        bpy.context.view_layer.update()
        self.refused("mirrored")
        ob.scale = (1, 1, 1)
        ob.pose.bones["chest"].scale = (1, 2, 1)
        bpy.context.view_layer.update()
        self.refused("'chest'")

    def test_refuses_empty_work(self):
        ob = self.figure()
        self.refused("starts at", frame_start=5, frame_end=5)
        ob.skel.channels = set()
        self.refused("nothing to write")
        ob.skel.channels = {"ROTATION"}
        for bone in ob.pose.bones:
            bone.skel.role = "NONE"
        self.refused("No bone is simulated")

    # ---- libraries ----

    def test_library_override(self):
        ob = self.figure()
        ob.pose.bones["forearm.L"].skel.mass = 3.5
        path = os.path.join(common.TEMP, "library.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        self.setUp()
        with bpy.data.libraries.load(path, link=True) as (there, here):
            here.objects = ["figure"]
        linked = bpy.data.objects["figure"]
        self.scene.collection.objects.link(linked)
        bpy.context.view_layer.objects.active = linked
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.skel.bake_physics()
        self.assertIn("library override", str(caught.exception))
        own = linked.override_create(remap_local_usages=True)
        bpy.context.view_layer.objects.active = own
        self.scene.frame_end = 12
        self.assertEqual(own.pose.bones["forearm.L"].skel.mass, 3.5)
        own.pose.bones["forearm.L"].skel.mass = 4.5
        self.assertEqual(bpy.ops.skel.bake_physics(), {"FINISHED"})
        self.assertIsNone(own.animation_data.action.library)
        a, b = common.bone_matrices(own, [1, 12])
        self.assertGreater((a["pelvis"].translation - b["pelvis"].translation).length, 0.01)

    def test_settings_of_an_override_stay(self):
        """Also where the linked file has none, and the file is saved again."""
        self.figure()
        library, shot = (os.path.join(common.TEMP, n) for n in ("figure.blend", "shot.blend"))
        bpy.ops.wm.save_as_mainfile(filepath=library)
        self.setUp()
        with bpy.data.libraries.load(library, link=True) as (_there, here):
            here.objects = ["figure"]
        self.scene.collection.objects.link(here.objects[0])
        ob = here.objects[0].override_create(remap_local_usages=True)
        things, target = bpy.data.collections.new("things"), bpy.data.objects.new("target", None)
        self.scene.collection.children.link(things)
        things.objects.link(target)
        ob.skel.preset, ob.skel.obstacles = "TAIL", things
        ob.pose.bones["hand.L"].skel.role = "PINNED"
        goal = ob.skel_ik.goals.add()
        goal.bone, goal.target = "hand.L", target
        for n in range(1, 4):
            ob.pose.bones["hand.R"].location.x = n      # so that Blender looks at it again
            ob.update_tag()
            bpy.context.view_layer.update()
            bpy.ops.wm.save_as_mainfile(filepath=shot)
            bpy.ops.wm.open_mainfile(filepath=shot)
            common.enable()
            ob = next(o for o in bpy.data.objects if o.override_library)
            self.assertEqual(ob.pose.bones["hand.R"].location.x, n)
            goal = ob.skel_ik.goals[0]
            self.assertEqual(
                (ob.skel.preset, ob.skel.obstacles.name, ob.pose.bones["hand.L"].skel.role,
                 goal.bone, goal.target.name), ("TAIL", "things", "PINNED", "hand.L", "target"))

    def test_torques_do_not_go_into_a_linked_action(self):
        """They would be gone when the file is opened again."""
        ob = self.animated()
        path = os.path.join(common.TEMP, "walk.blend")
        bpy.data.libraries.write(path, {ob.animation_data.action})
        with bpy.data.libraries.load(path, link=True) as (there, here):
            here.actions = there.actions
        self.skel.compat.use_action(ob, here.actions[0])
        before = list(common.curves(ob))
        for call in (bpy.ops.skel.inverse_dynamics, bpy.ops.skel.bake_physics):
            with self.assertRaisesRegex(RuntimeError, "linked from another file. Give 'figure' an"):
                ob.skel.target = "CURRENT"
                call()
        self.assertEqual(list(common.curves(ob)), before)
        ob.animation_data.action = None
        ob.data.pose_position = "REST"
        with self.assertRaisesRegex(RuntimeError, "shows its rest position"):
            bpy.ops.skel.inverse_dynamics()

    # ---- files ----

    def test_export_bake_import_gives_the_same_keys(self):
        ob = self.figure()
        common.all_modes(ob)
        for n, frame in enumerate((-20, 5, 30)):
            common.pose(ob, n, 0.1)
            common.key_all(ob, frame)
        self.scene.frame_set(1)
        ob.skel.preset = "FOLLOW"
        scene, track = (os.path.join(common.TEMP, n) for n in ("scene.json", "track.json"))
        self.assertEqual(bpy.ops.skel.export_scene(filepath=scene), {"FINISHED"})
        subprocess.run([os.environ["SKEL_BIN"], "bake", scene, "-o", track], check=True)
        old = ob.animation_data.action
        bpy.ops.skel.bake_physics(target="NEW")
        baked = self.keys(ob)
        self.skel.compat.use_action(ob, old)
        self.scene.frame_set(1)
        self.assertEqual(bpy.ops.skel.import_track(filepath=track, target="NEW"), {"FINISHED"})
        imported = self.keys(ob)
        self.assertEqual(baked.keys(), imported.keys())
        for name in baked:                          # the same bits, field by field
            self.assertEqual(baked[name], imported[name], name)

    def test_bad_track(self):
        ob = self.figure()
        path = os.path.join(common.TEMP, "bad.json")
        track = '{"frame_start": %s, "position": [%s], "fps": %s}'
        for text, words in (("{", "The file is not JSON"),
                            ('{"format": "skel-track/1"}', "skel-track"),
                            (track % (1, "0", 0), "must be above 0"),
                            (track % (1, "", 24), "no samples"), ("[]", "not a skel-track"),
                            (track % ("1e400", "0", 24), "not a skel-track"),
                            (track % ("1e300", "0", 24), "Blender has frames from"),
                            (track % (1, "0, 0", "1e-300"), "Blender has frames from"),
                            (json.dumps({"format": "skel-track/1", "fps": 24, "frame_start": 1,
                                         "bodies": ["x"], "position": [[[0, 0, 0]]],
                                         "orientation": [[[1, 0, 0, 0]]]}), "bodies")):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            with self.assertRaises(RuntimeError) as caught:
                bpy.ops.skel.import_track(filepath=path)
            self.assertIn(words, str(caught.exception))
        self.assertIsNone(ob.animation_data)

    def test_track_of_another_rate(self):
        """The root is where it is animated to be when the sample was made; what else moves bones is
        muted."""
        ob = common.chain(4, 0.3)
        ob.skel.preset, ob.skel.ground, root = "TAIL", False, ob.pose.bones[0]
        root.rotation_mode, self.scene.frame_end = "XYZ", 21
        for frame, turn in ((-5, 0), (1, 0), (10, 1.5), (20, -1), (40, 0)):
            root.rotation_euler.z = turn
            root.keyframe_insert("rotation_euler", frame=frame)
        self.scene.frame_set(1)
        scene, track = (os.path.join(common.TEMP, n) for n in ("scene.json", "track.json"))
        bpy.ops.skel.export_scene(filepath=scene)
        with open(scene, encoding="utf-8") as file:
            document = json.load(file)
        turns = ob.pose.bones["link2"].constraints.new("COPY_ROTATION")
        turns.target, old = ob, ob.animation_data.action
        for fps in (10, 48):
            document["bake"].update(fps=fps, frame_end=1 + fps * 20 // 24)
            with open(scene, "w", encoding="utf-8") as file:
                json.dump(document, file)
            subprocess.run([os.environ["SKEL_BIN"], "bake", scene, "-o", track], check=True)
            with open(track, encoding="utf-8") as file:
                given = json.load(file)
            turns.mute = False
            self.skel.compat.use_action(ob, old)
            bpy.ops.skel.import_track(filepath=track, target="NEW")
            self.assertTrue(turns.mute)
            for k, row in enumerate(given["position"]):
                frame = 1 + k * 24 / fps
                self.scene.frame_set(int(frame), subframe=frame % 1)
                bone = ob.pose.bones["link3"]
                self.assertLess(math.dist((bone.head + bone.tail) / 2, row[3]), 5e-3, (fps, k))

    # ---- analysis ----

    def test_torques_of_a_held_arm(self):
        """Two level links at rest: the joint carries the weight of the second at half its length,
        and the root needs the weight of both."""
        ob = common.chain(2, 0.5)
        ob.pose.bones["link1"].skel.mass = 2.0
        ob.pose.bones["link0"].skel.mass = 3.0
        common.key_all(ob, 1)
        before = common.dump_action(ob.animation_data.action)
        path = os.path.join(common.TEMP, "torques.csv")
        self.assertEqual(bpy.ops.skel.inverse_dynamics(filepath=path, frame_end=12), {"FINISHED"})
        found = common.curves(ob)
        total = math.sqrt(sum(found[(f'pose.bones["link1"]["skel_torque_{a}"]', 0)].evaluate(6) ** 2
                              for a in "xyz"))
        self.assertAlmostEqual(total, 2.0 * 9.81 * 0.25, delta=1e-4)
        self.assertIn("skel_torque_x", ob.pose.bones["link1"])
        after = common.dump_action(ob.animation_data.action)
        for row in before:
            self.assertIn(row, after)
        with open(path, encoding="utf-8") as file:
            lines = [line.split(",") for line in file.read().splitlines()]
        self.assertEqual(len(lines), 13)
        column = lines[0].index("link0.residual.fz")
        self.assertAlmostEqual(float(lines[5][column]), 5.0 * 9.81, places=4)

    def test_torques_of_a_swing(self):
        """What the command says of the same motion."""
        ob = common.chain(2, 0.5)
        bone = ob.pose.bones["link1"]
        bone.rotation_mode = "XYZ"
        for frame in range(1, 25):
            bone.rotation_euler = (0.3 * math.sin(0.3 * frame), 0, 0)
            bone.keyframe_insert("rotation_euler", frame=frame)
        bpy.ops.skel.inverse_dynamics(frame_end=24)
        curve = common.curves(ob)[('pose.bones["link1"]["skel_power"]', 0)]
        values = [curve.evaluate(frame) for frame in range(1, 25)]
        self.assertGreater(max(values), 0.01)
        self.assertLess(min(values), -0.01)

    # ---- settings and the rest ----

    def test_roles_and_copies(self):
        ob = self.figure()
        bpy.ops.object.mode_set(mode="POSE")
        for bone in ob.pose.bones:
            self.skel.compat.select(bone, bone.name.endswith(".L"))
        ob.data.bones.active = ob.data.bones["hand.L"]
        self.assertEqual(bpy.ops.skel.set_role(role="PINNED"), {"FINISHED"})
        self.assertEqual({b.name for b in ob.pose.bones if b.skel.role == "PINNED"},
                         {b.name for b in ob.pose.bones if b.name.endswith(".L")})
        ob.pose.bones["hand.L"].skel.friction = 7
        self.assertEqual(bpy.ops.skel.copy_settings(), {"FINISHED"})
        self.assertEqual(ob.pose.bones["thigh.L"].skel.friction, 7)
        self.assertEqual(ob.pose.bones["thigh.R"].skel.friction, 1)

    def test_everything_has_a_tooltip(self):
        for group in (bpy.types.PoseBone, bpy.types.Object):
            owner = group.bl_rna.properties["skel"].fixed_type
            for prop in owner.properties:
                if prop.identifier not in ("rna_type", "name"):
                    self.assertTrue(prop.description, prop.identifier)
        for cls in self.skel.operators.CLASSES:
            rna = getattr(bpy.ops.skel, cls.bl_idname.partition(".")[2]).get_rna_type()
            self.assertTrue(rna.description, cls.__name__)
            for prop in rna.properties:
                if prop.identifier not in ("rna_type", "filter_glob"):
                    self.assertTrue(prop.description, (cls.__name__, prop.identifier))

    def test_enable_disable_enable(self):
        import addon_utils
        module = os.environ.get("SKEL_MODULE", "skel")

        def traces():
            menu = bpy.types.VIEW3D_MT_pose_context_menu
            drawn = getattr(menu.draw, "_draw_funcs", [])
            return (sorted(n for n in dir(bpy.types) if n.startswith("SKEL_") or "Skel" in n),
                    sorted(n for n in dir(bpy.ops.skel)), hasattr(bpy.types.Object, "skel"),
                    hasattr(bpy.types.PoseBone, "skel"), len(drawn))

        on = traces()
        addon_utils.disable(module, default_set=False)
        off = traces()
        self.assertEqual(off[0], [])
        self.assertEqual(off[1:4], ([], False, False))
        self.assertEqual(off[4], on[4] - 1)
        common.enable()
        self.assertEqual(traces(), on)
        self.skel = common.addon()
        self.figure()
        self.assertEqual(bpy.ops.skel.bake_physics(), {"FINISHED"})

    def test_an_object_that_turns_meanwhile(self):
        ob = self.figure()
        ob.keyframe_insert("rotation_euler", frame=1)
        ob.rotation_euler = (0, 0, 1)
        ob.keyframe_insert("rotation_euler", frame=12)
        self.scene.frame_set(1)
        start = common.bone_matrices(ob, [1])[0]
        ob.skel.start_velocity = ob.skel.ground = False
        bpy.ops.skel.bake_physics()
        end = common.bone_matrices(ob, [12])[0]
        fall = -9.81 / 2 * (11 / 24) ** 2
        for name in ("pelvis", "head"):
            path = end[name].translation - start[name].translation
            self.assertLess((path - Matrix.Translation((0, 0, fall)).translation).length, 0.01)


if __name__ == "__main__":
    unittest.main()
