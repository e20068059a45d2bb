# SPDX-License-Identifier: BSD-3-Clause
"""Takes: the animation that a bake starts from survives it, is read again by the next one, and the
earlier result is replaced."""

import json
import os
import subprocess
import unittest

import bpy

import common
from test_ik import add_goal, empty

TARGETS = ("NEW", "CURRENT", "NLA")


class Baking(unittest.TestCase):
    """Rigs, bakes, and looks at the result."""

    def setUp(self):
        self.scene = common.clear()
        self.skel = common.addon()

    def figure(self, keyed=True):
        """A figure that walks on the spot, with a hand that is posed by hand and has no keys."""
        ob = common.add_armature(common.HUMANOID)
        common.all_modes(ob)
        ob.skel.preset, ob.skel.ground = "FOLLOW", False
        for n, frame in enumerate((-10, 4, 20)):
            common.pose(ob, n, 0.25)
            if keyed:
                common.key_all(ob, frame)
        if keyed:
            for curve in [c for (path, _), c in common.curves(ob).items() if "hand.L" in path]:
                self.curves_of(ob).remove(curve)
            ob.animation_data.action.name = "walk"
        self.scene.frame_end = 12
        self.scene.frame_set(1)
        return ob

    def curves_of(self, ob):
        data = ob.animation_data
        return self.skel.compat.curves_at(data.action, self.skel.compat.slot_handle(data))

    def rigged(self):
        """Likewise, with a constraint, a driver and a curve modifier that a bake mutes."""
        ob = self.figure()
        follows = ob.pose.bones["forearm.R"].constraints.new("COPY_ROTATION")
        follows.target, follows.subtarget, follows.influence = ob, "thigh.L", 0.5
        follows.target_space = follows.owner_space = "LOCAL"
        ob.pose.bones["neck"].driver_add("location", 0).driver.expression = "frame / 200"
        shaken = common.curves(ob)['pose.bones["head"].rotation_euler', 0]
        noise = shaken.modifiers.new("NOISE")
        noise.strength, noise.scale = 0.3, 4.0
        return ob

    def reaching(self):
        """The same figure with a goal for its left hand."""
        ob = self.rigged()
        add_goal(ob, "hand.L", empty("target", (0.4, -0.3, 1.2), (0.2, -0.4, 1.4), (1, 12)))
        return ob

    def bake(self, call=None, **options):
        self.assertEqual((call or bpy.ops.skel.bake_physics)(**options), {"FINISHED"})

    def take(self, ob):
        """The action that has the keys of the last bake."""
        data = ob.animation_data
        if data.action is not None:
            return data.action
        return data.nla_tracks[-1].strips[0].action

    def keys(self, ob):
        return common.dump_action(self.take(ob))

    def names(self):
        return sorted(a.name for a in bpy.data.actions if not a.name.startswith("."))

    def far(self, a, b):
        return max((a[n].translation - b[n].translation).length for n in a)


class Takes(Baking):
    # ---- the source survives ----

    def saved(self, call, **options):
        ob = self.reaching()
        before = common.dump_action(ob.animation_data.action)
        self.bake(call, **options)
        keys, path = self.keys(ob), os.path.join(common.TEMP, "takes.blend")
        for _ in range(2):                      # an action without users is gone the second time
            bpy.ops.wm.save_as_mainfile(filepath=path)
            bpy.ops.wm.open_mainfile(filepath=path)
            common.enable()
        self.assertEqual(common.dump_action(bpy.data.actions["walk"]), before)
        self.assertEqual(self.keys(bpy.data.objects["figure"]), keys)
        return keys

    def test_source_survives_save_and_reload(self):
        """And is what the next bake reads, also in another session."""
        for call in (bpy.ops.skel.bake_physics, bpy.ops.skel.bake_ik):
            for target in ("NEW", "NLA"):
                self.setUp()
                keys = self.saved(call, target=target)
                self.bake(call, target=target)
                self.assertEqual(self.keys(bpy.data.objects["figure"]), keys, (call, target))

    def test_source_of_a_track_survives(self):
        self.figure()
        scene, track = (os.path.join(common.TEMP, n) for n in ("scene.json", "track.json"))
        self.bake(bpy.ops.skel.export_scene, filepath=scene)
        subprocess.run([os.environ["SKEL_BIN"], "bake", scene, "-o", track], check=True)
        for target in ("NEW", "NLA"):
            self.setUp()
            self.saved(bpy.ops.skel.import_track, filepath=track, target=target)

    def test_fake_user_is_set_once_and_remembered(self):
        for own in (False, True):
            self.setUp()
            ob = self.figure()
            source = ob.animation_data.action
            source.use_fake_user = own
            for _ in range(2):
                self.bake()
                self.assertTrue(source.use_fake_user)
                self.assertEqual(self.take(ob).skel_takes[0].protected, not own)

    # ---- bakes do not compound ----

    def same_again(self, make, call, **options):
        """Four bakes: the same keys, the same actions, the same tracks, and plays as computed."""
        ob = make()
        found = []
        for _ in range(4):
            self.bake(call, **options)
            tracks = [(t.name, [s.name for s in t.strips]) for t in ob.animation_data.nla_tracks]
            found.append((self.keys(ob), self.names(), tracks, ob.skel.muted))
            self.scene.frame_set(9)             # wherever the user looks at it meanwhile
        for other in found[1:]:
            self.assertEqual(other[1:], found[0][1:])
            self.assertEqual(other[0], found[0][0])
        return ob

    def test_four_bakes_are_bit_equal(self):
        for make in (self.figure, lambda: self.figure(False), self.rigged):
            for target in TARGETS:
                with self.subTest(target=target):
                    self.setUp()
                    self.same_again(make, bpy.ops.skel.bake_physics, target=target)

    def test_strips_of_the_user_stay(self):
        """He has the source itself in a strip, as imported files have."""
        def stripped():
            ob = self.rigged()
            track = ob.animation_data.nla_tracks.new()
            track.name = "own"
            track.strips.new("own", 1, ob.animation_data.action)
            return ob

        for target in TARGETS:
            self.setUp()
            ob = self.same_again(stripped, bpy.ops.skel.bake_physics, target=target)
            tracks = [track.name for track in ob.animation_data.nla_tracks]
            self.assertEqual(tracks, ["own", "walk", "figure physics"] if target == "NLA" else
                             ["own"])
            if target == "NLA":
                self.assertEqual(self.take(ob).skel_takes[0].source_track, "walk")

    def test_four_bakes_of_goals_are_bit_equal(self):
        for target in TARGETS:
            with self.subTest(target=target):
                self.setUp()
                self.same_again(self.reaching, bpy.ops.skel.bake_ik, target=target)

    def test_tracks_replace(self):
        self.figure()
        scene, track = (os.path.join(common.TEMP, n) for n in ("scene.json", "track.json"))
        self.bake(bpy.ops.skel.export_scene, filepath=scene)
        subprocess.run([os.environ["SKEL_BIN"], "bake", scene, "-o", track], check=True)
        self.bake()
        baked = self.keys(bpy.context.object)
        again = os.path.join(common.TEMP, "again.json")
        self.bake(bpy.ops.skel.export_scene, filepath=again)
        with open(scene, "rb") as a, open(again, "rb") as b:
            self.assertEqual(a.read(), b.read())        # of the source, not of the take
        for target in TARGETS:
            self.setUp()
            self.same_again(self.figure, bpy.ops.skel.import_track, filepath=track, target=target)
            if target == "NEW":
                self.assertEqual(self.keys(bpy.context.object), baked)

    def test_any_target_after_any_other(self):
        """The result does not depend on what was baked before, nor on where it went."""
        alone = {}
        for target in TARGETS:
            self.setUp()
            ob = self.rigged()
            walk = common.dump_action(ob.animation_data.action)
            self.bake(target=target)
            alone[target] = self.keys(ob), self.names(), len(ob.animation_data.nla_tracks)
        for first in TARGETS:
            for second in TARGETS:
                self.setUp()
                ob = self.rigged()
                add_goal(ob, "hand.L", empty("target", (0.4, -0.3, 1.2)))
                self.bake(bpy.ops.skel.bake_ik, target=first)
                self.bake(target=second)
                # A copy is replaced by a copy, even if keys are to go into the current action.
                expected = "NEW" if (first, second) == ("NEW", "CURRENT") else second
                got = self.keys(ob), self.names(), len(ob.animation_data.nla_tracks)
                self.assertEqual(got, alone[expected], (first, second))
                if expected != "CURRENT":
                    self.assertEqual(common.dump_action(bpy.data.actions["walk"]), walk)

    def test_fewer_bones_in_the_second_bake(self):
        """What only the first one moved goes as animated again, constraints and all."""
        for target in TARGETS:
            self.setUp()
            ob = self.rigged()
            frames = range(1, 13)
            before = common.bone_matrices(ob, frames)
            self.bake(target=target)
            self.assertGreater(self.far(before[11], common.bone_matrices(ob, [12])[0]), 0.01)
            ob.skel.only_selected = True
            for bone in ob.pose.bones:
                self.skel.compat.select(bone, bone.name == "foot.L")
            self.bake(target=target)
            for a, b in zip(before, common.bone_matrices(ob, frames)):
                self.assertLess(self.far({n: a[n] for n in a if n != "foot.L"}, b), 1e-6, target)
            self.assertFalse(ob.pose.bones["forearm.R"].constraints[0].mute)
            self.assertFalse(ob.animation_data.drivers[0].mute)

    # ---- what the user does between two bakes ----

    def edit(self, action, ob, by=0.4):
        """Turns the chest in all keys of an action."""
        compat = self.skel.compat
        slot = compat.slot_handle(ob.animation_data) or (
            action.slots[0].handle if compat.has_slots() else 0)
        for curve in compat.curves_at(action, slot):
            if "chest" in curve.data_path and "location" not in curve.data_path:
                for key in curve.keyframe_points:
                    key.co.y += by
                curve.update()

    def test_edited_source_is_followed(self):
        for target in ("NEW", "NLA"):
            self.setUp()
            ob = self.figure()
            source = ob.animation_data.action
            self.bake(target=target)
            before = self.keys(ob)
            self.edit(source, ob)
            self.bake(target=target)
            self.assertNotEqual(self.keys(ob), before)
            edited = self.keys(ob)
            self.setUp()
            ob = self.figure()
            self.edit(ob.animation_data.action, ob)
            self.bake(target=target)
            self.assertEqual(self.keys(ob), edited)

    def test_keys_beside_those_of_the_bake_count(self):
        """Of the current action: keys outside the range, which tell the speed at the start."""
        ob = self.figure()
        action = ob.animation_data.action
        self.bake(target="CURRENT")
        first = self.keys(ob)
        for curve in self.curves_of(ob):
            if curve.keyframe_points[0].co.x < 0:
                curve.keyframe_points[0].co.y += 0.1

        def outside():
            return {(c.data_path, c.array_index, *key.co) for c in self.curves_of(ob)
                    for key in c.keyframe_points if not 1 <= key.co.x <= 12}

        moved = outside()
        self.bake(target="CURRENT")
        self.assertNotEqual(self.keys(ob), first)
        self.assertEqual(outside(), moved)
        self.assertEqual(ob.animation_data.action, action)
        self.assertEqual(len(bpy.data.actions), 2)      # it and what it was before

    def test_another_action_is_the_source(self):
        for target in TARGETS:
            self.setUp()
            ob = self.figure()
            run = ob.animation_data.action.copy()
            run.name = "run"
            self.edit(run, ob, 0.6)
            self.bake(target=target)
            first = self.keys(ob)
            self.skel.compat.use_action(ob, run)
            self.scene.frame_set(1)
            self.bake(target=target)
            second = self.keys(ob)
            self.assertNotEqual(second, first)
            self.bake(target=target)
            self.assertEqual(self.keys(ob), second)
            self.assertIn("walk", self.names())

            if target == "NEW":                 # each take knows its own source
                self.assertEqual(self.names(), ["run", "run.skel", "walk", "walk.skel"])
                self.skel.compat.use_action(ob, bpy.data.actions["walk.skel"])
                self.scene.frame_set(1)
                self.bake()
                self.assertEqual(self.keys(ob), first)

    def test_back_to_the_source_by_hand(self):
        ob = self.figure()
        source = ob.animation_data.action
        self.bake()
        keys = self.keys(ob)
        self.skel.compat.use_action(ob, source)
        self.edit(source, ob)
        self.scene.frame_set(1)
        self.bake()
        self.assertNotEqual(self.keys(ob), keys)
        self.assertEqual(self.names(), ["walk", "walk.skel"])   # the take that nobody plays is gone

    def test_renamed_take_is_an_animation(self):
        """So that one can go on from it."""
        ob = self.figure()
        self.bake()
        self.take(ob).name = "fall"
        kept = common.dump_action(bpy.data.actions["fall"])
        self.bake()
        self.assertEqual(self.names(), ["fall", "fall.skel", "walk"])
        self.assertEqual(common.dump_action(bpy.data.actions["fall"]), kept)
        self.assertTrue(bpy.data.actions["fall"].use_fake_user)
        once = self.keys(ob)
        self.bake()
        self.assertEqual(self.keys(ob), once)

    def test_takes_that_the_user_keeps(self):
        """By a fake user, or since he changed their keys: they stay beside the new one."""
        for change in ("fake", "key", "curve"):
            self.setUp()
            ob = self.figure()
            self.bake()
            take = self.take(ob)
            if change == "fake":
                take.use_fake_user = True
            elif change == "key":
                self.curves_of(ob)[-1].keyframe_points[5].co.y += 0.01
            else:
                ob.keyframe_insert("location", frame=3)
            kept = common.dump_action(take)
            for _ in range(3):
                self.bake()
            self.assertEqual(self.names(), ["walk", "walk.skel", "walk.skel.2"], change)
            self.assertEqual(common.dump_action(bpy.data.actions["walk.skel"]), kept)
            self.assertTrue(bpy.data.actions["walk.skel"].use_fake_user)

    def test_torques_belong_to_the_take(self):
        """They are of the motion that plays, and no change of it."""
        ob = self.figure()
        self.bake()
        keys = self.keys(ob)
        self.bake(bpy.ops.skel.inverse_dynamics)
        self.assertGreater(len(self.keys(ob)), len(keys))
        self.bake()
        self.assertEqual(self.keys(ob), keys)
        self.assertEqual(self.names(), ["walk", "walk.skel"])

    def test_source_that_is_gone_is_named(self):
        for target in TARGETS:
            self.setUp()
            ob = self.figure()
            self.bake(target=target)
            entry = self.take(ob).skel_takes[0]
            gone = entry.source.name
            bpy.data.actions.remove(entry.source)
            self.bake(target=target)
            report = common.report_of(bpy.data.objects["figure"])
            words = [w for w in report.warnings if f"'{gone}'" in w]
            self.assertEqual(len(words), 1, target)
            self.assertIn("was deleted", words[0])
            once = self.keys(ob)
            self.bake(target=target)            # what was left is the source now
            self.assertEqual(self.keys(ob), once)
            self.assertFalse([w for w in common.report_of(bpy.data.objects["figure"]).warnings
                              if "was deleted" in w])

    # ---- undo, Esc, copies ----

    def state(self, ob):
        """All that a bake may change."""
        data = ob.animation_data
        return (common.dump_file(), ob.skel.muted, self.names(), data.use_tweak_mode,
                data.action_blend_type, data.action_influence,
                [(a.name, a.use_fake_user, a.users, [(e.source_name, e.given_name, e.curves)
                                                     for e in a.skel_takes])
                 for a in bpy.data.actions],
                [(t.name, t.mute, [(s.name, s.action.name) for s in t.strips])
                 for t in data.nla_tracks],
                [(c.name, c.mute) for b in ob.pose.bones for c in b.constraints],
                [(d.data_path, d.mute) for d in data.drivers])

    def test_undo_is_one_step(self):
        for target in TARGETS:
            self.setUp()
            ob = self.rigged()
            bpy.ops.ed.undo_push(message="source")
            states = [self.state(ob)]
            for gravity in (-9.81, 3.0):
                self.scene.gravity.z = gravity
                bpy.ops.ed.undo_push(message="gravity")
                bpy.ops.skel.bake_physics("EXEC_DEFAULT", True, target=target)
                states.append(self.state(bpy.data.objects["figure"]))
            for n in (1, 0):
                bpy.ops.ed.undo()
                self.assertEqual(self.state(bpy.data.objects["figure"]), states[n], (target, n))
                bpy.ops.ed.undo()               # of the gravity
            for n in (1, 2):
                bpy.ops.ed.redo()
                bpy.ops.ed.redo()
                self.assertEqual(self.state(bpy.data.objects["figure"]), states[n], (target, n))

    def test_stopped_at_every_stage_of_a_second_bake(self):
        """The earlier take plays again, with all that belongs to it."""
        for target in TARGETS:
            self.setUp()
            ob = self.rigged()
            self.bake(target=target)
            before, skel, stages = self.state(ob), self.skel, []

            def work(ob=ob, target=target, skel=skel):
                with skel.takes.source(ob):
                    plan = yield from common.read_plan(ob, 1, 12)
                result = yield from skel.bake.bake(plan)
                # Keys that go into the current action cannot be stopped any more.
                if target != "CURRENT":
                    yield from skel.takes.write_take(ob, result.channels, target, "x")

            for words in ("reading the animation", "building the scene", "simulating",
                          "writing keys"):
                for times in (1, 5):
                    job, left = work(), times
                    while left > 0 and (step := next(job, None)):
                        left -= step[1] == words
                        stages.append(step[1])
                    job.close()
                    if left > 0:                # it was done before
                        self.bake(target=target)
                    self.assertEqual(self.state(ob), before, (target, words, times))
            self.assertIn("simulating", stages)

    def test_copied_and_renamed_objects(self):
        """A copy of an object has a source of its own, also where both play one action."""
        for linked in (False, True):
            for target in TARGETS:
                self.setUp()
                ob = self.figure()
                self.bake(target=target)
                keys = self.keys(ob)
                ob.name = "renamed"
                self.bake(target=target)
                self.assertEqual([row[3] for row in self.keys(ob)], [row[3] for row in keys])
                other = ob.copy()
                if not linked and other.animation_data.action:
                    self.skel.compat.use_action(other, other.animation_data.action.copy())
                self.scene.collection.objects.link(other)
                bpy.context.view_layer.objects.active = other
                self.scene.frame_set(1)
                if target == "CURRENT" and linked:
                    continue                    # one action, which a bake changes for both
                self.bake(target=target)
                self.assertEqual([row[3] for row in self.keys(other)], [row[3] for row in keys])
                self.assertEqual([row[3] for row in self.keys(ob)], [row[3] for row in keys])

    def test_two_objects_in_one_action(self):
        """By a slot each, from 4.4 on: bakes into the action do not mix them up."""
        if not self.skel.compat.has_slots():
            self.skipTest("this Blender has no slots")
        first = self.figure()
        action, found = first.animation_data.action, []
        slot = action.slots.new(id_type="OBJECT", name="second")
        strip = action.layers[0].strips[0]
        for curve in strip.channelbag(action.slots[0]).fcurves:
            bag = strip.channelbag(slot, ensure=True)
            twin = bag.fcurves.new(curve.data_path, index=curve.array_index)
            self.skel.write.set_keys(twin.keyframe_points,
                                     self.skel.write.read_keys(curve.keyframe_points))
        second = first.copy()
        second.name = "second"
        self.scene.collection.objects.link(second)
        second.animation_data.action_slot = slot
        for _ in range(3):
            for ob in (first, second):
                bpy.context.view_layer.objects.active = ob
                self.bake(target="CURRENT")
                self.assertEqual(ob.animation_data.action, action)
            found.append(common.dump_action(action))
        self.assertEqual(found[1:], found[:1] * 2)
        one, other = [{(c.data_path, c.array_index): [tuple(key.co) for key in c.keyframe_points]
                       for c in strip.channelbag(each).fcurves} for each in action.slots]
        self.assertEqual(one, other)            # they move alike, and both fall
        self.assertEqual(len(one['pose.bones["hand.L"].rotation_axis_angle', 0]), 12)

    def test_tweak_mode_of_a_take(self):
        """A take in a strip that is being edited is no source either."""
        ob = self.figure()
        self.bake(target="NLA")
        keys, data = self.keys(ob), ob.animation_data
        track = data.nla_tracks[-1]
        data.nla_tracks.active, track.strips[0].select = track, True
        data.use_tweak_mode = True
        self.assertTrue(data.use_tweak_mode)
        with self.assertRaisesRegex(RuntimeError, "tweak mode"):
            bpy.ops.skel.bake_physics(target="CURRENT")
        self.assertTrue(data.use_tweak_mode)
        self.bake(target="NLA")
        self.assertFalse(data.use_tweak_mode)
        self.assertEqual(self.keys(ob), keys)

    def test_library_override(self):
        """Bakes of an overridden armature do not compound, and know their source after a reload."""
        library, shot = (os.path.join(common.TEMP, n) for n in ("rig.blend", "shot.blend"))
        self.rigged()
        bpy.ops.wm.save_as_mainfile(filepath=library)
        self.setUp()
        with bpy.data.libraries.load(library, link=True) as (_there, here):
            here.objects = ["figure"]
        self.scene.collection.objects.link(here.objects[0])
        ob = here.objects[0].override_create(remap_local_usages=True)
        bpy.context.view_layer.objects.active = ob
        self.scene.frame_end = 12
        self.scene.frame_set(1)
        self.bake()
        keys = self.keys(ob)
        self.assertIsNone(self.take(ob).library)
        bpy.ops.wm.save_as_mainfile(filepath=shot)
        bpy.ops.wm.open_mainfile(filepath=shot)
        common.enable()
        ob = next(o for o in bpy.data.objects if o.override_library)
        self.assertEqual(json.loads(ob.skel.muted)[0][:2], ["constraint", "forearm.R"])
        bpy.context.view_layer.objects.active = ob
        self.bake()
        self.assertEqual(self.keys(ob), keys)


class OverTime(Baking):
    """Settings that may be animated, and those that may not."""

    def fall(self, change):
        """Where the bones are at frame 75, after a change to a figure that follows its keys."""
        self.setUp()
        ob = self.figure()
        self.scene.frame_end = 75
        ob.skel.follow = 8.0
        change(ob)
        self.scene.frame_set(1)
        self.bake()
        return common.bone_matrices(ob, [75])[0], self.keys(ob)

    def keyed(self, owner, *pairs):
        """owner: an armature, or a pose bone, which has a button of ours for it."""
        bpy.ops.object.mode_set(mode="POSE")
        for frame, value in pairs:
            self.scene.frame_set(frame)
            owner.skel.follow = value
            if owner == owner.id_data:
                owner.keyframe_insert("skel.follow", frame=frame)
                continue
            for bone in owner.id_data.pose.bones:
                self.skel.compat.select(bone, bone == owner)
            self.bake(bpy.ops.skel.key_follow)
        owner.skel.follow = pairs[0][1]         # it is the keys that count
        bpy.ops.object.mode_set(mode="OBJECT")

    def test_keyed_follow(self):
        """F10: a Follow that fades is not a constant one; keys without a change are."""
        constant, keys = self.fall(lambda ob: None)
        faded, _keys = self.fall(lambda ob: self.keyed(ob, (30, 8.0), (40, 0.0)))
        print(f"constant and faded Follow: {self.far(constant, faded):.3f} m apart at frame 75")
        self.assertGreater(self.far(constant, faded), 0.1)
        zero, _keys = self.fall(lambda ob: setattr(ob.skel, "follow", 0.0))
        self.assertGreater(self.far(zero, faded), 0.01)     # it did follow at first
        _same, again = self.fall(lambda ob: self.keyed(ob, (1, 8.0), (60, 8.0)))
        self.assertEqual([row for row in again if row[0] != "skel.follow"], keys)

    def test_keyed_follow_of_a_bone(self):
        """The others follow as before: what is far from it moves little."""
        constant, keys = self.fall(lambda ob: None)
        names = ("upper_arm.L", "forearm.L", "hand.L")

        def fade(ob):
            for name in names:
                self.keyed(ob.pose.bones[name], (30, 8.0), (40, 0.0))

        faded, _keys = self.fall(fade)
        self.assertGreater((constant["hand.L"].translation - faded["hand.L"].translation).length,
                           0.1)
        self.assertLess((constant["foot.R"].translation - faded["foot.R"].translation).length, 1e-3)

        def hold(ob):
            self.keyed(ob.pose.bones["forearm.L"], (1, 8.0), (60, 8.0))

        _same, again = self.fall(hold)
        self.assertEqual([row for row in again if not row[0].endswith("skel.follow")], keys)

    def test_follow_that_is_keyed_while_a_take_plays(self):
        """Bake, look, key, bake again: the keys count, and only the take is new."""
        for keyed in (True, False):
            for target in TARGETS:
                self.setUp()
                ob = self.figure(keyed)
                self.scene.frame_end, ob.skel.follow = 40, 8.0
                self.scene.frame_set(1)
                self.bake(target=target)
                constant = common.bone_matrices(ob, [40])[0]
                self.keyed(ob, (10, 8.0), (15, 0.0))
                self.scene.frame_set(1)
                found = []
                for _ in range(3):
                    self.bake(target=target)
                    found.append((self.keys(ob), self.names()))
                faded = common.bone_matrices(ob, [40])[0]
                self.assertGreater(self.far(constant, faded), 0.02, (keyed, target))
                self.assertEqual(found[1:], found[:1] * 2, (keyed, target))
                if target == "NEW" and keyed:
                    self.assertEqual(found[0][1], ["walk", "walk.skel"])

    def test_stopped_after_follow_was_keyed(self):
        """The source gets the keys with the new take, not before."""
        for keyed in (True, False):
            self.setUp()
            ob, skel = self.figure(keyed), self.skel
            self.bake()
            self.keyed(ob, (10, 8.0), (15, 0.0))
            before = common.dump_file()
            with skel.takes.source(ob):
                plan = skel.work.run(common.read_plan(ob, 1, 12))
            self.assertEqual(len(plan.shot.follow_at[""]), 12)
            result = skel.work.run(skel.bake.bake(plan))
            job = skel.takes.write_take(ob, result.channels, "NEW", "x")
            next(job)
            self.assertNotEqual(common.dump_file(), before)
            job.close()
            self.assertEqual(common.dump_file(), before)

    def test_driven_follow(self):
        def drive(ob):
            ob.driver_add("skel.follow").driver.expression = "8 if frame < 30 else 0"

        constant, _keys = self.fall(lambda ob: None)
        driven, _keys = self.fall(drive)
        self.assertGreater(self.far(constant, driven), 0.1)

    def test_follow_that_comes_later(self):
        """It is 0 when the bake is started."""
        zero, _keys = self.fall(lambda ob: setattr(ob.skel, "follow", 0.0))
        late, _keys = self.fall(lambda ob: self.keyed(ob, (1, 0.0), (30, 0.0), (40, 8.0)))
        self.assertGreater(self.far(zero, late), 0.1)

    def test_the_command_fades_alike(self):
        """What is exported has the fading in it."""
        self.fall(lambda ob: self.keyed(ob, (30, 8.0), (40, 0.0)))
        path = os.path.join(common.TEMP, "fade.json")
        self.bake(bpy.ops.skel.export_scene, filepath=path)
        with open(path, encoding="utf-8") as file:
            joints = json.load(file)["joints"]
        weights = [joint["follow"]["weight"]["value"] for joint in joints]
        self.assertEqual({(len(row), row[0], row[-1]) for row in weights}, {(75, 1.0, 0.0)})

    def test_other_settings_take_no_keys(self):
        ob = self.figure()
        add_goal(ob, "hand.L", empty("target", (0.4, -0.3, 1.2)))
        bone = ob.pose.bones["hand.L"]
        over_time = []
        for owner in (ob.skel, bone.skel, ob.skel_ik, ob.skel_ik.goals[0]):
            for name, setting in owner.bl_rna.properties.items():
                if name in ("rna_type", "name"):
                    continue
                self.assertEqual(setting.is_animatable, name in ("follow", "weight"), name)
                over_time += [name] if setting.is_animatable else []
        self.assertEqual(over_time, ["follow", "follow", "weight"])
        with self.assertRaises(TypeError):
            ob.skel.keyframe_insert("ground_height")
        self.assertFalse(bone.bl_rna.properties["skel_angle"].is_animatable)

    def test_keys_of_old_files_are_named(self):
        ob = self.figure()
        add_goal(ob, "hand.L", empty("target", (0.4, -0.3, 1.2)))
        paths = ("skel.ground_height", 'pose.bones["hand.L"].skel.mass', "skel_ik.tolerance")
        curves = self.skel.compat.Curves(ob.animation_data.action, ob)
        for path in (*paths, "skel.follow", "skel_ik.goals[0].weight"):
            curves.new(path, 0, "").keyframe_points.insert(1, 0.5)
        shots = (common.read_shot(ob, 1, 12),
                 self.skel.read_goals.read_ik(self.scene, ob, 1, 12).shot)
        for words in [shot.warnings for shot in shots]:
            self.assertEqual(len(words), 3, words)
            for path in paths:
                self.assertTrue(any(path in each and "'figure'" in each for each in words), path)


if __name__ == "__main__":
    unittest.main()
