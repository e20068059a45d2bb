# SPDX-License-Identifier: BSD-3-Clause
"""Rigs as they come: drivers, constraints, modifiers, strips and scales that would keep keys from
playing as they were simulated."""

import json
import math
import os

import bpy

import common
from test_bake import Baked


class Rigs(Baked):
    def figure(self):
        ob = super().figure()
        self.scene.frame_end, ob.skel.ground = 12, False
        return ob

    def animated(self):
        ob = self.figure()
        common.key_all(ob, 1)
        common.pose(ob)
        common.key_all(ob, 20)
        self.scene.frame_set(1)
        return ob

    def refused(self, words, call=None, **options):
        """The operator says so, and leaves all as it was."""
        self.scene.frame_set(self.scene.frame_current)
        before = common.dump_file()
        with self.assertRaisesRegex(RuntimeError, words):
            (call or bpy.ops.skel.bake_physics)(**options)
        self.assertEqual(common.dump_file(), before)

    def test_driver(self):
        ob = self.figure()
        ob.pose.bones["forearm.L"].rotation_mode = "XYZ"
        curve = ob.pose.bones["forearm.L"].driver_add("rotation_euler", 0)
        curve.driver.expression = "0.02 * frame"
        self.compare(ob)
        self.assertTrue(ob.animation_data.drivers[0].mute)

    def test_driver_that_reads_the_scene(self):
        """Frames are looked at in another scene: what stands still there is named."""
        self.scene["sway"] = 0.3
        kinds = [("SINGLE_PROP", "frame_current", True), ("SINGLE_PROP", '["sway"]', False)]
        if bpy.app.version >= (4, 0):
            kinds += [("CONTEXT_PROP", "frame_current", False), ("CONTEXT_PROP", '["sway"]', True)]
        for kind, path, warns in kinds:
            ob = self.figure()
            bone = ob.pose.bones["chest"]
            driver = bone.driver_add("rotation_quaternion", 1).driver
            variable = driver.variables.new()
            variable.type, target = kind, variable.targets[0]
            if kind == "SINGLE_PROP":
                target.id_type, target.id = "SCENE", self.scene
            target.data_path, driver.expression = path, f"0.01 * {variable.name}"
            said = self.skel.read_goals.read_ik(self.scene, ob, 1, 12).shot.warnings
            self.bake(ob)
            for words in said, common.report_of(ob).warnings:
                self.assertEqual([f"'{ob.name}' has a driver that reads the scene" in each
                                  for each in words], [True] * warns, (kind, path, words))

    def test_limits_in_the_order_of_the_angles(self):
        """Two free axes: the keyed angles hold the limits, in any order, from any start."""
        for mode in ("XYZ", "YXZ", "ZYX", "XZY"):
            self.scene = common.clear()
            ob = common.chain(3, 0.3, height=3.0)
            self.scene.frame_end, ob.skel.ground, ob.skel.preset = 60, False, "TAIL"
            bone = ob.pose.bones[1]
            bone.rotation_mode, bone.rotation_euler = mode, (0.2, 0.3, 0.0)
            c = bone.constraints.new("LIMIT_ROTATION")
            c.owner_space = "LOCAL"
            c.use_limit_x = c.use_limit_y = c.use_limit_z = True
            c.min_x, c.max_x, c.min_y, c.max_y = -0.8, 0.9, -1.0, 0.8
            bpy.context.view_layer.update()
            self.bake(ob)
            for frame in range(1, 61):
                self.scene.frame_set(frame)
                for angle, low, high in zip(bone.rotation_euler, (-0.8, -1.0, 0), (0.9, 0.8, 0)):
                    self.assertTrue(low - 0.01 <= angle <= high + 0.01, (mode, frame, angle))

    def test_driver_may_stay(self):
        ob = self.figure()
        ob.pose.bones["forearm.L"].driver_add("location", 0).driver.expression = "0"
        ob.skel.mute_constraints = False
        self.bake(ob)
        self.assertFalse(ob.animation_data.drivers[0].mute)

    def test_what_acts_on_top_of_the_keys_is_named(self):
        ob = self.figure()
        target = bpy.data.objects.new("target", None)
        self.scene.collection.objects.link(target)
        target.keyframe_insert("rotation_euler", frame=1)
        target.rotation_euler.x = 1.0
        target.keyframe_insert("rotation_euler", frame=12)
        turns = ob.pose.bones["forearm.L"].constraints.new("COPY_ROTATION")
        turns.target = target
        for mute in (False, True):
            ob.skel.mute_constraints = mute
            self.bake(ob)
            report = common.report_of(ob)
            words = [w for w in report.warnings if "does not play as computed" in w]
            self.assertEqual(len(words), 0 if mute else 1, report.warnings)
            self.assertEqual(turns.mute, mute)
            if mute:
                self.assertLess(report.playback_error, 1e-4)
            else:
                self.assertGreater(report.playback_error, 0.05)
                self.assertRegex(words[0], r"^'forearm\.L' .* at frame 12[.]")

    def test_limit_that_a_bake_muted_counts_again(self):
        """One that the user muted does not."""
        ob = common.chain(3, 0.4)
        ob.skel.preset, ob.skel.ground, self.scene.frame_end = "TAIL", False, 40
        bone = ob.pose.bones["link1"]
        limit = bone.constraints.new("LIMIT_ROTATION")
        limit.owner_space = "LOCAL"
        limit.use_limit_x = limit.use_limit_y = limit.use_limit_z = True
        limit.min_x, limit.max_x = -0.3, 0.2
        for by_user in (False, False, True):
            if by_user:
                ob.skel.muted = ""
            self.scene.frame_set(1)
            self.compare(ob)
            self.assertTrue(limit.mute)
            turns = []
            for frame in range(1, 41):
                self.scene.frame_set(frame)
                turns.append(bone.matrix_basis.to_euler().x)
            self.assertEqual(min(turns) < -0.31, by_user, min(turns))
        limit.mute = False                      # and again
        self.compare(ob)
        self.assertEqual(json.loads(ob.skel.muted), [["constraint", bone.name, limit.name]])

    def test_modifiers_of_curves(self):
        ob = self.animated()
        for (path, _index), curve in common.curves(ob).items():
            curve.modifiers.new("CYCLES")
            if "thigh" in path:
                noise = curve.modifiers.new("NOISE")
                noise.strength, noise.scale = 0.5, 3.0
        self.compare(ob)
        kinds = {(m.type, m.mute) for c in common.curves(ob).values() for m in c.modifiers}
        self.assertEqual(kinds, {("CYCLES", False), ("NOISE", True)})

    def test_ik_from_a_bone_without_keys(self):
        rows = common.HUMANOID + [("grip.L", "hand.L", (0.32, -0.09, 0.74), (0.32, -0.09, 0.7), 0.0,
                                   True)]
        ob = common.add_armature(rows)
        self.scene.frame_end, ob.skel.ground = 12, False
        ob.data.bones["grip.L"].use_deform = False
        target = bpy.data.objects.new("target", None)
        self.scene.collection.objects.link(target)
        target.location = (0.5, -0.5, 1.2)
        reaches = ob.pose.bones["grip.L"].constraints.new("IK")
        reaches.target, reaches.chain_count = target, 4
        other = ob.pose.bones["grip.L"].constraints.new("COPY_SCALE")
        other.target = target
        self.compare(ob)
        self.assertTrue(reaches.mute)
        self.assertFalse(other.mute)            # it moves no bone that has keys

    def strips(self, blend):
        ob = self.animated()
        data = ob.animation_data
        data.nla_tracks.new().strips.new("below", 1, data.action)
        self.skel.compat.use_action(ob, data.action.copy())
        data.action_blend_type, data.action_influence = blend, 0.5
        return ob

    def test_action_that_is_mixed_with_strips(self):
        for blend in ("ADD", "COMBINE", "REPLACE"):
            self.scene = common.clear()
            ob = self.strips(blend)
            self.refused("blended with the NLA strips", target="CURRENT")
            self.compare(ob)
            self.compare(ob, target="CURRENT")  # the new action replaces what is below it
        ob = self.strips("ADD")
        self.compare(ob, target="NLA")

    def leg_and_hand(self, blend=None):
        """Keys on a leg; the hand alone is baked."""
        self.scene = common.clear()
        ob = self.figure()
        thigh = ob.pose.bones["thigh.L"]
        thigh.rotation_mode, self.scene.frame_end = "XYZ", 40
        for frame, turn in ((1, -0.5), (8, 0.5), (16, -0.5)):
            thigh.rotation_euler.x = turn
            thigh.keyframe_insert("rotation_euler", frame=frame)
        ob.skel.only_selected = True
        for bone in ob.pose.bones:
            self.skel.compat.select(bone, bone.name == "hand.L")
        if blend:
            data = ob.animation_data
            data.nla_tracks.new().strips.new("below", 1, data.action)
            self.skel.compat.use_action(ob, data.action.copy())
            data.action_blend_type, data.action_influence = blend, 0.5
        return ob

    def knees(self, ob):
        return [at["shin.L"].translation for at in common.bone_matrices(ob, (-3, 1, 8, 20, 33, 40))]

    def test_strips_leave_other_bones_as_they_were(self):
        def cycles(ob):
            for curve in common.curves(ob).values():
                curve.modifiers.new("CYCLES")

        def by_half_a_frame(ob):
            for curve in common.curves(ob).values():
                for key in curve.keyframe_points:
                    key.co.x += 0.5
                curve.update()

        def cut(ob):
            action = ob.animation_data.action
            action.use_frame_range, action.frame_start, action.frame_end = True, 4, 9

        def forward(ob):
            ob.animation_data.action_extrapolation = "HOLD_FORWARD"

        for change, blend in ((cycles, None), (by_half_a_frame, None), (cut, None), (cut, "ADD"),
                              (cycles, "REPLACE"), (cycles, "COMBINE"), (forward, "ADD")):
            ob = self.leg_and_hand(blend)
            change(ob)
            before = self.knees(ob)
            self.scene.frame_set(1)
            self.compare(ob, target="NLA")
            early = change in (cycles, forward)         # before the scene begins, they stand
            for a, b in zip(before[early:], self.knees(ob)[early:]):
                self.assertLess((a - b).length, 1e-6, (change.__name__, blend))

    def test_new_action_does_not_unmix_other_bones(self):
        ob = self.leg_and_hand("ADD")
        self.refused("blended with the NLA strips below it, and moves 'thigh.L'", target="NEW")
        ob.animation_data.use_nla = False       # then nothing is mixed
        before = self.knees(ob)
        self.scene.frame_set(1)
        self.compare(ob, target="NEW")
        for a, b in zip(before, self.knees(ob)):
            self.assertLess((a - b).length, 1e-6)

    def test_current_action_again_and_again(self):
        """Keys that are written into an action that plays already do show."""
        ob = self.animated()
        for gravity in (-9.81, 4.0):
            self.scene.gravity.z = gravity
            self.compare(ob, target="CURRENT")

    def test_tweak_mode(self):
        ob = self.animated()
        data = ob.animation_data
        track = data.nla_tracks.new()
        track.strips.new("strip", 101, data.action).select = True
        data.action, data.nla_tracks.active = None, track
        data.use_tweak_mode = True
        self.refused("tweak mode", target="CURRENT")
        self.assertTrue(data.use_tweak_mode)
        self.compare(ob)

    def test_what_does_not_play(self):
        ob = self.animated()
        data, curves = ob.animation_data, common.curves(ob)
        curve = next(c for (path, _i), c in curves.items() if "belly" in path)
        for name in ("lock", "mute"):
            setattr(curve, name, True)
            self.refused("locked or muted curve: .* of the bone 'belly'", target="CURRENT")
            setattr(curve, name, False)
        if curve.group:                         # 3.4 makes none by itself
            curve.group.mute = True
            self.refused("locked or muted curve", target="CURRENT")
        self.compare(ob)                        # a copy, in which it plays
        track = data.nla_tracks.new()
        track.is_solo = True
        self.refused("plays alone")
        data.nla_tracks.remove(track)
        data.use_nla = False
        self.refused("NLA of 'figure' is turned off", target="NLA")
        ob.data.pose_position = "REST"
        self.refused("rest position")

    def test_bone_that_has_the_name_of_the_world(self):
        rows = [("world", None, (0, 0, 0), (0, 0, 0.5), 0.0, False)]
        rows += [(name, up or "world", *rest) for name, up, *rest in common.HUMANOID]
        ob = common.add_armature(rows)
        ob.pose.bones["world"].skel.role = "DYNAMIC"    # else it is a root without a body
        self.scene.frame_end = 12
        for preset in ("TAIL", "FOLLOW", "RAGDOLL"):
            ob.skel.preset = preset
            self.bake(ob)
            self.assertLess(common.report_of(bpy.data.objects["figure"]).playback_error, 1e-4)
        self.assertEqual(bpy.ops.skel.inverse_dynamics(), {"FINISHED"})
        paths = [path for path, _index in common.curves(ob)]
        self.assertIn('pose.bones["world"].location', paths)
        self.assertFalse([path for path in paths if "(bone)" in path])

    def test_soft_bone_that_is_connected(self):
        for connected in (True, False):
            self.scene = common.clear()
            ob = common.add_armature([("body", None, (0, 0, 1), (0, 0, 1.5), 0.0, False),
                                      ("ear", "body", (0, 0, 1.5), (0, 0, 1.6), 0.0, connected)])
            ob.skel.preset, self.scene.frame_end = "SOFT", 20
            self.bake(ob)
            report = common.report_of(ob)
            self.assertLess(report.playback_error, 1e-4)
            self.assertEqual(["'ear' is connected to its parent, so only its rotation" in words
                              for words in report.warnings], [True] * connected)

    def test_limits_from_above_to(self):
        ob = self.figure()
        settings = ob.pose.bones["shin.L"].skel
        settings.joint, settings.limits = "HINGE", "CUSTOM"
        settings.limit_low, settings.limit_high = 0.5, -0.5
        self.refused("'shin.L' turns from 28.65° to -28.65°. Set From below To")
        settings.joint = "UNIVERSAL"
        self.refused("'shin.L' turns from")

    def test_a_method_that_gives_up_names_the_one_that_does_not(self):
        ob = common.chain(3)
        ob.skel.preset, ob.skel.integrator, self.scene.frame_end = "TAIL", "adams", 60
        ob.skel.friction = 1e12
        self.refused("the friction of joint 'link1.joint'.*Set Solver to Fast")

    def test_bones_that_grow(self):
        """What hangs from a bone is where physics has it, whatever its animated scale."""
        ob = self.animated()
        for frame, size in ((1, 1.2), (12, 1.8)):
            for name in ("chest", "head"):
                ob.pose.bones[name].scale = (size,) * 3
                ob.pose.bones[name].keyframe_insert("scale", frame=frame)
        self.scene.frame_set(1)
        self.compare(ob)
        self.assertAlmostEqual(ob.pose.bones["chest"].scale.x, 1.2, 5)
        self.assertAlmostEqual(ob.pose.bones["head"].scale.x, 1.8, 5)   # nothing hangs from it

    def test_constraints_that_scale(self):
        """What they make of simulated bones goes into keys, as long as it is and alike along all
        axes; what stretches animated ones is refused with its frame."""
        rows = [("a", None, (0, 0, 2), (0.5, 0, 2), 0.0, False),
                ("b", "a", (0.5, 0, 2), (0.9, 0, 2), 0.0, True),
                ("c", "b", (0.9, 0, 2), (1.3, 0, 2), 0.0, True)]
        for kind, bone, words in (("COPY_SCALE", "b", ""),
                                  ("STRETCH_TO", "b", ""),
                                  ("STRETCH_TO", "a", "'a' is scaled by .* at frame 2, .*Mute")):
            self.scene = common.clear()
            ob = common.add_armature(rows)
            self.scene.frame_end, ob.skel.ground = 12, False
            ob.skel.preset = "TAIL" if bone == "a" else "RAGDOLL"
            target = bpy.data.objects.new("target", None)
            self.scene.collection.objects.link(target)
            target.scale = (1.5,) * 3
            constraint = ob.pose.bones[bone].constraints.new(kind)
            constraint.target = target
            for frame, far in ((1, 0.5 if bone == "a" else 1.1), (12, 1.2)):
                target.location = (far, 0, 2)
                target.keyframe_insert("location", frame=frame)
            if kind == "STRETCH_TO":
                constraint.rest_length = 0.5 if bone == "a" else 0.4
            self.scene.frame_set(1)
            if words:
                self.refused(words)
                continue
            before = common.bone_matrices(ob, [1])[0]["c"]
            self.compare(ob)
            after = common.bone_matrices(ob, [1])[0]["c"]
            self.assertLess((after.translation - before.translation).length, 1e-5)
            self.assertAlmostEqual(after.to_scale().y, 1.5, 4)

    def test_driven_roots_that_grow(self):
        ob = self.animated()
        ob.skel.preset = "TAIL"
        for frame, size in ((1, 1.0), (12, 1.5)):
            ob.pose.bones["pelvis"].scale = (size,) * 3
            ob.pose.bones["pelvis"].keyframe_insert("scale", frame=frame)
        self.scene.frame_set(1)
        self.refused("'pelvis' is scaled by 1.0.* Bones cannot grow")

    def test_objects_that_grow(self):
        ob = self.figure()
        for scale, words in (((2, 2, 2), "by 1 at frame 1. Bones cannot grow"),
                             ((1, 1, 2), "at frame 2, not the same along all axes")):
            ob.animation_data_clear()
            for frame, size in ((1, (1, 1, 1)), (12, scale)):
                ob.scale = size
                ob.keyframe_insert("scale", frame=frame)
            self.refused(words)
        ob.animation_data_clear()
        ob.scale = (0, 0, 0)
        self.refused("Give it a size")
        ob.scale = (-1, 1, 1)
        bpy.context.view_layer.update()
        self.refused("mirrored", bpy.ops.skel.extract_dh, tip="hand.L")
        bpy.ops.skel.add_goal(bone="hand.L")
        self.refused("mirrored", bpy.ops.skel.solve_ik)

    def test_pinned_roots_stay(self):
        for what in ("object", "bone"):
            self.scene = common.clear()
            ob = common.chain(4, 0.3)
            self.scene.frame_end, ob.skel.ground = 12, False
            ob.pose.bones["link0"].skel.role = "PINNED"
            moves = ob if what == "object" else ob.pose.bones["link0"]
            at = tuple(moves.location)
            self.animate(moves, "location", (1, (at[0], 0, at[2])), (12, (at[0], 1, at[2])))
            self.scene.frame_set(1)
            start = common.bone_matrices(ob, [1])[0]["link0"]
            self.compare(ob)
            end = common.bone_matrices(ob, [12])[0]["link0"]
            self.assertLess((end.translation - start.translation).length, 1e-5)

    def test_cut_before_the_start(self):
        ob = self.figure()
        root = ob.pose.bones["pelvis"]
        for frame, far in ((-10, 5), (9, 5), (10, 0), (40, 0)):
            root.location.x = far
            root.keyframe_insert("location", frame=frame)
        for curve in common.curves(ob).values():
            for key in curve.keyframe_points:
                key.interpolation = "CONSTANT"
        self.bake(ob, frame_start=10, frame_end=20)
        report = common.report_of(ob)
        self.assertRegex(report.warnings[0], "'pelvis' jumps from frame 9")
        self.assertLess(abs(common.bone_matrices(ob, [20])[0]["pelvis"].translation.x), 0.1)

    def test_one_limit_of_two_holds(self):
        for kind in ("IK", "LIMIT_ROTATION"):
            self.scene = common.clear()
            ob = common.chain(3, 0.4)
            ob.skel.preset, ob.skel.ground, self.scene.frame_end = "TAIL", False, 40
            bone = ob.pose.bones["link1"]
            if kind == "IK":
                bone.lock_ik_y = bone.use_ik_limit_x = True
                bone.ik_min_x, bone.ik_max_x = -0.2, 0.2
            else:
                limit = bone.constraints.new(kind)
                limit.owner_space, limit.use_limit_x, limit.use_limit_y = "LOCAL", True, True
                limit.min_x, limit.max_x = -0.2, 0.2
            self.compare(ob)
            angles = []
            for frame in range(1, 41):
                self.scene.frame_set(frame)
                angles.append(bone.matrix_basis.to_euler().x)
            self.assertLess(max(map(abs, angles)), 0.21)
            self.assertGreater(max(map(abs, angles)), 0.19)

    def test_helpers_between(self):
        """Without a body, between simulated bones: one with a constraint, one with keys."""
        for connected in (False, True):
            self.scene = common.clear()
            rows = [("a", None, (0, 0, 2), (0.5, 0, 2), 0.0, False),
                    ("h", "a", (0.5, 0, 2), (0.6, 0, 2), 0.0, connected),
                    ("b", "h", (0.6, 0, 2), (1.0, 0, 2), 0.0, connected)]
            ob = common.add_armature(rows)
            self.scene.frame_end, ob.skel.ground = 12, False
            ob.data.bones["h"].use_deform = False
            turns = helper = ob.pose.bones["h"]
            helper.rotation_mode = "XYZ"
            if not connected:
                turns = bpy.data.objects.new("turns", None)
                self.scene.collection.objects.link(turns)
                helper.constraints.new("COPY_ROTATION").target = turns
            self.animate(turns, "rotation_euler", (1, (0, 0, 0.3)), (12, (0, 0, 2)))
            self.scene.frame_set(1)
            before = common.bone_matrices(ob, [1])[0]["b"]
            self.compare(ob)
            after = common.bone_matrices(ob, [1])[0]["b"]
            self.assertLess((after.translation - before.translation).length, 1e-5)

    def rigify(self):
        """A figure of Rigify, whose bones that deform hang from others that do not."""
        import addon_utils
        if addon_utils.enable("rigify", default_set=True) is None:
            self.skipTest("this Blender comes without Rigify")
        bpy.ops.object.armature_basic_human_metarig_add()
        bpy.ops.pose.rigify_generate()
        ob = bpy.context.view_layer.objects.active
        self.scene.frame_end = 12
        return ob

    def test_rigify_holds_together(self):
        ob = self.rigify()
        start = common.bone_matrices(ob, [1])[0]
        self.compare(ob)
        self.assertEqual(common.report_of(ob).warnings, ())
        end = common.bone_matrices(ob, [12])[0]
        for a, b in (("DEF-spine", "DEF-thigh.L"), ("DEF-shoulder.R", "DEF-upper_arm.R")):
            far = [(m[a].translation - m[b].translation).length for m in (start, end)]
            self.assertAlmostEqual(*far, 4)

    def test_robots(self):
        """Their bodies have their origins at the centres of mass of their documents."""
        for preset in ("puma560", "stanford", "franka_panda"):
            self.scene = common.clear()
            self.scene.frame_end = 10
            self.assertEqual(bpy.ops.skel.import_robot(preset=preset), {"FINISHED"})
            ob = bpy.context.view_layer.objects.active
            ob.skel.ground = False
            q = [0.3] * len(self.skel.read_robots.joint_bones(ob))
            self.assertEqual(bpy.ops.skel.set_joints(values=" ".join(map(str, q))), {"FINISHED"})
            self.compare(ob)

    def test_armature_that_is_off_in_viewports(self):
        """All its bones count."""
        seen = []
        for hidden in (False, True):
            self.scene = common.clear()
            ob = self.animated()
            ob.skel.preset = "FOLLOW"
            skin = self.obstacle("skin", (1, 1, 1))
            self.scene.collection.objects.link(skin)
            skin.modifiers.new("a", "ARMATURE").object = ob
            ob.hide_viewport = hidden
            bpy.context.view_layer.objects.active = skin
            self.assertEqual(bpy.ops.skel.bake_physics(), {"FINISHED"})
            self.assertLess(common.report_of(ob).playback_error, 1e-4)
            ob.hide_viewport = False
            seen.append(common.bone_matrices(ob, [1, 6, 12]))
        for a, b in zip(*seen):
            for name in a:
                self.assertLess((a[name].translation - b[name].translation).length, 1e-6, name)

    def test_hidden_obstacle(self):
        """A box that Blender has not looked at yet is where, and as large as, it should be."""
        ob = common.chain(3, name="stick", height=1.0)
        self.scene.frame_end, ob.skel.ground = 30, False
        mesh = bpy.data.meshes.new("box")
        mesh.from_pydata([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-0.1, 0.1)], [], [])
        box = bpy.data.objects.new("box", mesh)
        collection = bpy.data.collections.new("obstacles")
        collection.objects.link(box)
        ob.skel.obstacles = collection
        for frame, height in ((1, 0.0), (8, 0.4)):
            box.location.z = height
            box.keyframe_insert("location", frame=frame)
        box.scale = (1, 1, 2)
        box.hide_viewport = True
        self.bake(ob)
        self.scene.frame_set(30)
        self.assertAlmostEqual(ob.pose.bones[1].head.z, 0.612, 2)   # on the box: 0.4 + 0.2 + 0.012
        self.assertNotIn("skel", " ".join(o.name for o in bpy.data.objects))

    def obstacle(self, name, size, place=(0, 0, 0), scale=(1, 1, 1)):
        """A box, or a plane where the last size is 0; not yet among the obstacles."""
        mesh, (x, y, z) = bpy.data.meshes.new(name), (v / 2 for v in size)
        faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        mesh.from_pydata([(a, b, c) for a in (-x, x) for b in (-y, y) for c in (-z, z)], [], faces)
        box = bpy.data.objects.new(name, mesh)
        box.location, box.scale = place, scale
        return box

    def obstacles(self, *boxes, end=40):
        """A stick 0.4 m above the ground that falls on them."""
        ob = common.chain(3, name="stick", height=0.4)
        self.scene.frame_end, ob.skel.ground = end, False
        ob.skel.obstacles = bpy.data.collections.new("obstacles")
        for box in boxes:
            ob.skel.obstacles.objects.link(box)
        return ob

    def lands(self, ob, height):
        """With its middle link, whose radius is 0.012."""
        self.scene.frame_set(1)
        self.bake(ob)
        self.scene.frame_set(self.scene.frame_end)
        self.assertAlmostEqual(ob.pose.bones[1].head.z, height + 0.012, 2)

    def animate(self, box, name, *pairs):
        for frame, value in pairs:
            setattr(box, name, value)
            box.keyframe_insert(name, frame=frame)

    def test_mirrored_obstacle(self):
        self.lands(self.obstacles(self.obstacle("b", (1, 1, 1), (0, 0, -0.5), (-8, 6, 1))), 0.0)
        self.scene = common.clear()
        box = self.obstacle("b", (1, 1, 1), (0, 0, -0.5), (8, 6, -1))
        self.animate(box, "location", (1, (0, 0, -0.5)), (20, (0, 0, -0.4)))
        self.lands(self.obstacles(box), 0.1)

    def test_obstacle_without_size(self):
        box = self.obstacle("prop", (5, 5, 1), (0, 0, -0.5))
        self.animate(box, "scale", (1, (1, 1, 1)), (20, (0, 0, 0)))
        self.obstacles(box)
        self.refused("'prop' has no size at frame 20")
        box.animation_data_clear()
        box.scale = (0, 0, 0)
        self.refused("'prop' has no size at frame 1")
        box.scale, box.location = (1, 1, 0), (0, 0, 0)          # flat: a plane
        self.lands(bpy.context.view_layer.objects.active, 0.0)

    def test_obstacle_that_grows(self):
        """It is as large as in the first frame, wherever the time line stands."""
        for now in (1, 30):
            self.scene = common.clear()
            box = self.obstacle("prop", (8, 8, 1), (0, 0, -0.5))
            self.animate(box, "scale", (1, (1, 1, 1)), (30, (1, 1, 1.4)))
            ob = self.obstacles(box)
            self.scene.frame_set(now)
            self.bake(ob)
            self.assertEqual(list(common.report_of(bpy.data.objects["stick"]).warnings), [
                "The obstacle 'prop' changes its size at frame 2. It keeps the size of frame "
                "1: bodies cannot grow"])
            self.scene.frame_set(40)
            self.assertAlmostEqual(ob.pose.bones[1].head.z, 0.012, 2)

    def test_obstacles_of_one_name(self):
        path = os.path.join(common.TEMP, "box.blend")
        box = self.obstacle("box", (1, 8, 1), (0, 0, -0.3))
        bpy.data.libraries.write(path, {box})
        self.scene = common.clear()
        with bpy.data.libraries.load(path, link=True) as (_there, here):
            here.objects = ["box"]
        self.lands(self.obstacles(here.objects[0], self.obstacle("box", (1, 8, 1), (9, 0, 0)),
                                  self.obstacle("world", (1, 1, 1), (-9, 0, 0))), 0.2)

    def test_planes(self):
        """They face the armature, and go as they are animated."""
        plane = self.obstacle("plane", (4, 4, 0))
        plane.rotation_euler.x = math.pi
        self.lands(self.obstacles(plane), 0.0)
        self.scene = common.clear()
        plane = self.obstacle("plane", (4, 4, 0))
        self.animate(plane, "location", (1, (0, 0, -0.5)), (20, (0, 0, 0.7)), (30, (0, 0, 0.7)))
        self.lands(self.obstacles(plane, end=50), 0.7)

    def test_own_skin_is_no_obstacle(self):
        skin = self.obstacle("skin", (8, 8, 1), (0, 0, -0.3))   # it would stop the fall
        ob = self.obstacles(skin, self.obstacle("box", (8, 8, 1), (0, 0, -0.5)))
        skin.modifiers.new("a", "ARMATURE").object = ob
        self.lands(ob, 0.0)

    def test_names_of_copies_do_not_pile_up(self):
        ob = self.animated()
        for _ in range(3):
            self.bake(ob)
        self.assertEqual(sorted(a.name for a in bpy.data.actions),
                         ["figureAction", "figureAction.skel"])

    def test_step_beyond_the_range(self):
        self.figure()
        self.refused("step of 50 frames is longer", frame_step=50)

    def test_edit_mode_says_why(self):
        self.figure()
        bpy.ops.object.mode_set(mode="EDIT")
        for call in (bpy.ops.skel.bake_physics, bpy.ops.skel.extract_dh):
            with self.assertRaisesRegex(RuntimeError, "Leave Edit Mode first"):
                call()
        bpy.ops.object.mode_set(mode="OBJECT")
