# SPDX-License-Identifier: BSD-3-Clause
"""Rigs as they come: drivers, constraints, modifiers, strips and scales that would keep keys from
playing as they were simulated."""

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
            report = self.skel.ops.REPORTS[ob.name]
            words = [w for w in report["warnings"] if "does not play as computed" in w]
            self.assertEqual(len(words), 0 if mute else 1, report["warnings"])
            self.assertEqual(turns.mute, mute)
            if mute:
                self.assertLess(report["plays"], 1e-4)
            else:
                self.assertGreater(report["plays"], 0.05)
                self.assertRegex(words[0], r"^'forearm\.L' .* at frame 12:")

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
            self.refused("mixed with the NLA strips", target="CURRENT")
            self.compare(ob)
            self.compare(ob, target="CURRENT")  # the new action replaces what is below it
        ob = self.strips("ADD")
        self.compare(ob, target="NLA")

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
        """One that is alike along all axes goes into keys, others are refused with their frame."""
        rows = [("a", None, (0, 0, 2), (0.5, 0, 2), 0.0, False),
                ("b", "a", (0.5, 0, 2), (0.9, 0, 2), 0.0, True),
                ("c", "b", (0.9, 0, 2), (1.3, 0, 2), 0.0, True)]
        for kind, bone, words in (("COPY_SCALE", "b", ""),
                                  ("STRETCH_TO", "b", "'b' is scaled by .* at frame 1, .*Mute"),
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
        self.refused("'pelvis' is scaled by 1.0.* Bones do not grow")

    def test_objects_that_grow(self):
        ob = self.figure()
        for scale, words in (((2, 2, 2), "by 1 at frame 1. Bones do not grow"),
                             ((1, 1, 2), "at frame 2, not alike along all axes")):
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
            for frame, far in ((1, 0.0), (12, 1.0)):
                moves.location.y = far
                moves.keyframe_insert("location", frame=frame)
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
        self.assertRegex(self.skel.ops.REPORTS[ob.name]["loud"][0], "'pelvis' jumps from frame 9")
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
            for frame, angle in ((1, 0.3), (12, 2.0)):
                turns.rotation_euler.z = angle
                turns.keyframe_insert("rotation_euler", frame=frame)
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
        self.assertEqual(self.skel.ops.REPORTS[ob.name]["loud"], [])
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
            q = [0.3] * len(self.skel.bl_read.joint_bones(ob))
            self.assertEqual(bpy.ops.skel.set_joints(values=" ".join(map(str, q))), {"FINISHED"})
            self.compare(ob)

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

    def test_names_of_copies_do_not_pile_up(self):
        ob = self.animated()
        for _ in range(3):
            self.bake(ob)
        self.assertEqual(sorted(a.name for a in bpy.data.actions),
                         ["figureAction", "figureAction.skel", "figureAction.skel.001",
                          "figureAction.skel.002"])

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
