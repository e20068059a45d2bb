# SPDX-License-Identifier: BSD-3-Clause
"""Takes after the bake: kept, removed, played again; and Restore brings back every bit."""

import json
import os
import subprocess
import unittest

import bpy

import common
from test_ik import add_goal, empty
from test_takes import TARGETS, Baking

LOOKS = ("select", "active", "show_expanded", "is_valid", "error_location", "error_rotation",
         "is_override_data", "rna_type", "bl_rna", "matrix_inverse")

KEY_FIELDS = ("interpolation", "easing", "back", "amplitude", "period", "handle_left_type",
              "handle_right_type", "type", "select_control_point", "select_left_handle",
              "select_right_handle")


def plain(value):
    """A value of Blender's as one that can be compared, whatever becomes of the file."""
    if isinstance(value, bpy.types.ID):
        return value.name
    if isinstance(value, bpy.types.bpy_struct):
        return None
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return [plain(each) for each in value]


def fields(thing):
    """All properties of a struct that a user could see changed."""
    out = {}
    for prop in thing.bl_rna.properties:
        name = prop.identifier
        if name not in LOOKS and not name.startswith(("select", "skel", "is_")) and \
                prop.type != "COLLECTION":
            out[name] = plain(getattr(thing, name))
    return out


def dump_curve(curve):
    """Key by key: foreach_get of linked actions gives wrong enums in 3.4."""
    keys = [(*key.co, *key.handle_left, *key.handle_right, *(getattr(key, n) for n in KEY_FIELDS))
            for key in curve.keyframe_points]
    return (fields(curve), curve.group.name if curve.group else "", keys,
            [fields(modifier) for modifier in curve.modifiers])


def dump_full(action):
    bags = [action]
    if hasattr(action, "layers"):
        bags = [bag for layer in action.layers for strip in layer.strips
                for bag in strip.channelbags]
    slots = [(s.identifier, s.handle) for s in getattr(action, "slots", ())]
    return slots, [([dump_curve(c) for c in bag.fcurves], [g.name for g in bag.groups])
                   for bag in bags]


def dump_driver(curve):
    driver = curve.driver
    return (dump_curve(curve), fields(driver),
            [(fields(v), [fields(t) for t in v.targets]) for v in driver.variables])


def dump_pose(ob):
    out = []
    for bone in ob.pose.bones:
        custom = {key: plain(value) for key, value in bone.items() if not key.startswith("skel")}
        channels = [list(getattr(bone, name)) for name in
                    ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle",
                     "scale")]
        out.append((bone.name, bone.rotation_mode, channels, custom,
                    [(c.type, fields(c)) for c in bone.constraints]))
    return out


def dump(ob):
    """All animation data of an object: its action and those in its strips with every key, the NLA,
    drivers, constraints, channels, custom properties."""
    data = ob.animation_data
    out = {"pose": dump_pose(ob), "data": data is not None,
           "transform": [list(row) for row in ob.matrix_basis],
           "custom": {k: plain(v) for k, v in ob.items() if not k.startswith("skel")},
           "constraints": [fields(c) for c in ob.constraints]}
    if data is None:
        return out
    actions = [data.action, *(s.action for t in data.nla_tracks for s in t.strips)]
    slot = getattr(data, "action_slot", None)
    out.update(
        fields={k: v for k, v in fields(data).items() if "slot" not in k},
        slot=slot.identifier if slot else "",
        drivers=[dump_driver(d) for d in data.drivers],
        tracks=[(fields(t), [(fields(s), s.action.name) for s in t.strips])
                for t in data.nla_tracks],
        actions={a.name: (dump_full(a), a.use_fake_user, len(a.skel_takes))
                 for a in actions if a})
    return out


class Leaving(Baking):
    def plain(self):
        return self.figure()

    def posed(self):
        return self.figure(keyed=False)

    def bare(self):
        """Without animation data, and a pose that nothing keys."""
        ob = self.figure(keyed=False)
        ob.animation_data_clear()
        return ob

    def controlled(self):
        """A rig with constraints, drivers, a switch in a custom property, modifiers, strips, a
        locked and a muted curve, and a constraint that the user has muted himself."""
        ob = self.rigged()
        bones, data = ob.pose.bones, ob.animation_data
        bones["chest"]["IK_FK"] = 0.25
        bones["chest"]["names"] = [1, 2, 3]
        copy = bones["hand.R"].constraints.new("COPY_ROTATION")
        copy.target, copy.subtarget, copy.influence = ob, "hand.L", 0.3
        driven = copy.driver_add("influence").driver
        variable = driven.variables.new()
        variable.targets[0].id = ob
        variable.targets[0].data_path = 'pose.bones["chest"]["IK_FK"]'
        driven.expression = variable.name
        reach = bones["foot.L"].constraints.new("IK")
        reach.target, reach.chain_count = empty("foot", (0.1, -0.2, 0.2)), 2
        off = bones["foot.R"].constraints.new("COPY_LOCATION")
        off.target, off.mute = ob, True
        quiet = common.curves(ob)['pose.bones["belly"].rotation_euler', 1]
        quiet.mute = True
        bones["belly"].rotation_euler[1] = 0.125       # no curve brings this back
        track = data.nla_tracks.new()
        track.name = "own"
        strip = track.strips.new("own", 1, data.action)
        strip.blend_type, strip.influence, strip.mute = "ADD", 0.5, True
        add_goal(ob, "hand.L", empty("target", (0.4, -0.3, 1.2), (0.2, -0.4, 1.4), (1, 12)))
        return ob

    def open_curves(self, ob):
        """CURRENT refuses an action with muted curves."""
        for curve in self.curves_of(ob):
            curve.mute = False

    def start(self, make, target):
        self.setUp()
        ob = make()
        if target == "CURRENT" and ob.animation_data:
            self.open_curves(ob)
        self.scene.frame_set(5)
        return ob, dump(ob)

    def same(self, ob, before, words=None):
        now = dump(ob)
        self.assertEqual(now.keys(), before.keys(), words)
        for key, value in before.items():
            self.assertEqual(now[key], value, (words, key))
        self.assertEqual(ob.skel.muted, "", words)
        self.assertIsNone(self.skel.takes.current(ob), words)

    # ---- Restore ----

    def test_restore_brings_back_every_bit(self):
        for make in (self.plain, self.posed, self.bare, self.controlled):
            for target in TARGETS:
                ob, before = self.start(make, target)
                self.bake(target=target)
                self.assertNotEqual(dump(ob), before)       # or nothing is shown by this
                self.scene.frame_set(9)
                self.bake(target=target)
                self.scene.frame_set(5)
                self.bake(bpy.ops.skel.take_restore)
                self.same(ob, before, (make.__name__, target))

    def test_restore_of_rigify(self):
        """Hundreds of constraints and drivers, of which the bake mutes many."""
        import addon_utils
        if addon_utils.enable("rigify", default_set=True) is None:
            self.skipTest("this Blender comes without Rigify")
        bpy.ops.object.armature_basic_human_metarig_add()
        bpy.ops.pose.rigify_generate()
        ob = bpy.context.view_layer.objects.active
        bpy.ops.object.mode_set(mode="OBJECT")
        self.scene.frame_end = 4
        self.scene.frame_set(1)
        before = dump(ob)
        for target in TARGETS:
            self.bake(target=target)
            self.assertGreater(len(json.loads(ob.skel.muted)), 20)
            self.bake(bpy.ops.skel.take_restore)
            self.same(ob, before, target)

    def test_restore_after_goals_and_tracks(self):
        self.figure()
        scene, track = (os.path.join(common.TEMP, n) for n in ("scene.json", "track.json"))
        self.bake(bpy.ops.skel.export_scene, filepath=scene)
        subprocess.run([os.environ["SKEL_BIN"], "bake", scene, "-o", track], check=True)
        for call, options in ((bpy.ops.skel.bake_ik, {}),
                              (bpy.ops.skel.import_track, {"filepath": track})):
            for target in TARGETS:
                ob, before = self.start(self.controlled, target)
                self.bake(call, target=target, **options)
                self.assertNotEqual(dump(ob), before)
                self.scene.frame_set(5)
                self.bake(bpy.ops.skel.take_restore)
                self.same(ob, before, (call, target))

    def test_restore_after_a_mix(self):
        """Bakes of all kinds and targets, kept takes between them."""
        ob, before = self.start(self.controlled, "CURRENT")
        for target in (*TARGETS, *reversed(TARGETS)):
            self.bake(target=target)
            self.scene.frame_set(8)
            if target != "NLA":
                self.bake(bpy.ops.skel.take_keep)
            self.bake(bpy.ops.skel.bake_ik, target=target)
        self.scene.frame_set(5)
        self.bake(bpy.ops.skel.take_restore)
        self.same(ob, before)

    def test_restore_after_save_and_reload(self):
        path = os.path.join(common.TEMP, "restore.blend")
        for target in TARGETS:
            ob, before = self.start(self.controlled, target)
            self.bake(target=target)
            for _ in range(2):
                bpy.ops.wm.save_as_mainfile(filepath=path)
                bpy.ops.wm.open_mainfile(filepath=path)
                common.enable()
            ob = bpy.data.objects["figure"]
            bpy.context.scene.frame_set(5)
            self.bake(bpy.ops.skel.take_restore)
            self.same(ob, before, target)

    def test_restore_from_tweak_mode(self):
        for make in (self.plain, self.controlled):
            ob, before = self.start(make, "NLA")
            self.bake(target="NLA")
            data = ob.animation_data
            track = data.nla_tracks[-1]
            data.nla_tracks.active, track.strips[0].select = track, True
            data.use_tweak_mode = True
            self.assertTrue(data.use_tweak_mode)
            self.bake(bpy.ops.skel.take_restore)
            self.same(ob, before, make.__name__)

    def test_changes_from_tweak_mode_of_another_strip(self):
        """Blender hides the action that plays while a strip is edited."""
        for name in ("take_restore", "take_remove"):
            for target in TARGETS:
                ob, before = self.start(self.controlled, target)
                self.bake(target=target)
                self.bake(bpy.ops.skel.take_keep)
                data = ob.animation_data
                own = next(t for t in data.nla_tracks if t.name == "own")
                own.strips[0].mute = False
                data.nla_tracks.active, own.strips[0].select = own, True
                data.use_tweak_mode = True
                self.assertTrue(data.use_tweak_mode)
                self.bake(getattr(bpy.ops.skel, name))
                own.strips[0].mute = True
                self.scene.frame_set(5)
                self.same(ob, before, (name, target))

    def test_tweak_mode_stays_if_there_is_nothing_to_do(self):
        ob = self.plain()
        data = ob.animation_data
        track = data.nla_tracks.new()
        track.strips.new("own", 1, data.action)
        data.nla_tracks.active, track.strips[0].select = track, True
        data.use_tweak_mode = True
        for call, words in ((bpy.ops.skel.take_keep, "plays no take"),
                            (bpy.ops.skel.take_restore, "nothing to restore")):
            with self.assertRaisesRegex(RuntimeError, words):
                call()
            self.assertTrue(data.use_tweak_mode)

    def test_library_override(self):
        library = os.path.join(common.TEMP, "rig.blend")
        self.controlled()
        bpy.ops.wm.save_as_mainfile(filepath=library)
        for target in ("NEW", "NLA"):
            self.setUp()
            with bpy.data.libraries.load(library, link=True) as (_there, here):
                here.objects = ["figure"]
            self.scene.collection.objects.link(here.objects[0])
            ob = here.objects[0].override_create(remap_local_usages=True)
            bpy.context.view_layer.objects.active = ob
            self.scene.frame_end = 12
            self.scene.frame_set(5)
            before = dump(ob)
            self.bake(target=target)
            self.assertNotEqual(dump(ob), before)
            self.scene.frame_set(5)
            self.bake(bpy.ops.skel.take_restore)
            self.same(ob, before, target)

    def test_changes_are_one_undo_step(self):
        for name in ("take_restore", "take_remove", "take_keep"):
            for target in TARGETS:
                ob, _before = self.start(self.controlled, target)
                self.bake(target=target)
                bpy.ops.ed.undo_push(message="baked")
                baked = dump(ob), self.names()
                getattr(bpy.ops.skel, name)("EXEC_DEFAULT", True)
                after = dump(bpy.data.objects["figure"]), self.names()
                bpy.ops.ed.undo()
                self.assertEqual((dump(bpy.data.objects["figure"]), self.names()), baked, target)
                bpy.ops.ed.redo()
                self.assertEqual((dump(bpy.data.objects["figure"]), self.names()), after, target)

    def test_take_that_is_left_stays(self):
        """Restore says where the take is, and it plays as before if it is used again."""
        for target in TARGETS:
            ob, before = self.start(self.controlled, target)
            self.bake(target=target)
            keys, poses = self.keys(ob), common.bone_matrices(ob, range(1, 13))
            muted = ob.skel.muted
            self.bake(bpy.ops.skel.take_restore)
            known = self.skel.take_edit.takes_of(ob)
            self.assertEqual([a.use_fake_user for a in known], [True], target)
            self.assertEqual(common.dump_action(known[0]), keys)
            self.bake(bpy.ops.skel.take_use, take=known[0].name)
            self.assertEqual(self.skel.takes.current(ob)[0], known[0])
            self.assertEqual(json.loads(ob.skel.muted), json.loads(muted))
            self.assertEqual(common.bone_matrices(ob, range(1, 13)), poses, target)
            self.scene.frame_set(5)
            self.bake(bpy.ops.skel.take_restore)
            self.same(ob, before, target)

    def test_pose_that_was_changed_between_two_uses(self):
        """What is restored is the pose from before the take was played again."""
        ob, _before = self.start(self.plain, "NEW")
        self.bake()
        self.bake(bpy.ops.skel.take_restore)
        turned = ob.pose.bones["hand.L"]
        for values in (turned.rotation_quaternion, turned.rotation_euler,
                       turned.rotation_axis_angle):
            values[1] = 0.375
        before = dump(ob)
        self.bake(bpy.ops.skel.take_use, take="walk.skel")
        self.assertNotEqual(dump(ob)["pose"], before["pose"])
        self.bake(bpy.ops.skel.take_restore)
        self.same(ob, before)

    def test_static_values_of_any_channel(self):
        """A take that keys switches and influences, as bakes to controls do."""
        from array import array
        paths = (('pose.bones["chest"]["IK_FK"]', 0), ('pose.bones["chest"]["names"]', 1),
                 ('pose.bones["hand.R"].constraints["Copy Rotation"].mute', 0),
                 ('pose.bones["foot.L"].constraints["IK"].influence', 0),
                 ('pose.bones["hand.L"].scale', 2), ("location", 1), ('["weird \\"name\\""]', 0))
        for target in TARGETS:
            self.setUp()
            ob = self.controlled()
            ob['weird "name"'] = 0.75
            self.open_curves(ob)
            self.scene.frame_set(5)
            before = dump(ob)
            channels = [self.skel.keys.Channel(path, index, "x", array("f", (3, 1.0, 9, 1.0)))
                        for path, index in paths]
            for _ in range(2):
                self.skel.work.run(self.skel.takes.write_take(ob, channels, target, "x"))
                self.scene.frame_set(5)
                self.assertEqual(ob.pose.bones["chest"]["IK_FK"], 1.0)
                self.assertEqual(ob.location[1], 1.0)
                self.assertEqual(ob['weird "name"'], 1.0)
            self.bake(bpy.ops.skel.take_restore)
            self.same(ob, before, target)

    def test_restore_after_the_source_was_assigned_by_hand(self):
        ob, before = self.start(self.controlled, "NEW")
        source = ob.animation_data.action
        self.bake()
        self.skel.compat.use_action(ob, source)
        self.scene.frame_set(5)
        self.assertNotEqual(dump(ob)["pose"], before["pose"])
        self.bake(bpy.ops.skel.take_restore)
        self.assertEqual(dump(ob)["pose"], before["pose"])
        self.assertEqual(dump(ob)["drivers"], before["drivers"])

    def test_nothing_to_restore(self):
        self.plain()
        with self.assertRaisesRegex(RuntimeError, "nothing to restore"):
            bpy.ops.skel.take_restore()
        for call in (bpy.ops.skel.take_keep, bpy.ops.skel.take_remove):
            self.assertFalse(call.poll())

    def test_source_that_is_gone(self):
        for call in (bpy.ops.skel.take_restore, bpy.ops.skel.take_remove):
            self.setUp()
            ob = self.plain()
            self.bake()
            bpy.data.actions.remove(bpy.data.actions["walk"])
            with self.assertRaisesRegex(RuntimeError, "'walk'.*was deleted"):
                call()
            self.assertEqual(ob.animation_data.action.name, "walk.skel")

    # ---- Remove ----

    def test_remove(self):
        for make in (self.plain, self.bare, self.controlled):
            for target in TARGETS:
                ob, before = self.start(make, target)
                actions = self.names()
                self.bake(target=target)
                self.bake(bpy.ops.skel.take_keep)
                self.bake(target=target)
                self.scene.frame_set(5)
                self.bake(bpy.ops.skel.take_remove)
                self.same(ob, before, (make.__name__, target))
                kept = self.skel.take_edit.takes_of(ob)
                self.assertEqual(len(kept), 1)              # the one that was kept, not the last
                self.assertEqual(self.names(), sorted([*actions, kept[0].name]))

    def test_remove_takes_what_is_kept(self):
        """Who presses it means it, also if the take was kept or changed."""
        ob, before = self.start(self.plain, "NEW")
        self.bake()
        self.bake(bpy.ops.skel.take_keep)
        self.curves_of(ob)[-1].keyframe_points[5].co.y += 0.01
        self.scene.frame_set(5)
        self.bake(bpy.ops.skel.take_remove)
        self.same(ob, before)
        self.assertEqual(self.names(), ["walk"])

    # ---- Keep, New Take, Use ----

    def test_keep(self):
        for target in TARGETS:
            self.setUp()
            ob = self.rigged()
            self.bake(target=target)
            keys = self.keys(ob)
            self.bake(bpy.ops.skel.take_keep)
            kept = bpy.data.actions["walk.skel"]
            self.assertTrue(kept.use_fake_user)
            self.assertEqual(common.dump_action(kept), keys, target)
            count = len(self.names())
            self.bake(bpy.ops.skel.take_keep)               # it is kept already
            self.assertEqual(len(self.names()), count)
            ob.skel.ground_height = -5.0
            self.scene.gravity.z = 3.0
            for _ in range(2):
                self.bake(target=target)
                self.assertNotEqual(self.keys(ob), keys)
            self.bake(bpy.ops.skel.take_keep)
            self.bake(target=target)
            self.assertEqual(common.dump_action(kept), keys, target)
            self.assertEqual([a.name for a in self.skel.take_edit.takes_of(ob)][:2],
                             ["walk.skel", "walk.skel.2"] if target != "CURRENT" else
                             ["walk", "walk.skel"])
            self.assertEqual(self.names()[:3], ["walk", "walk.skel", "walk.skel.2"]
                             if target != "NLA" else ["figure physics", "walk", "walk.skel"])

    def test_new_take(self):
        for target in TARGETS:
            self.setUp()
            ob = self.rigged()
            ob.skel.new_take = True
            found = []
            for gravity in (-9.81, 3.0, 0.0):
                self.scene.gravity.z = gravity
                self.bake(target=target)
                found.append(self.keys(ob))
            self.assertEqual(len({str(keys) for keys in found}), 3)
            known = [common.dump_action(a) for a in self.skel.take_edit.takes_of(ob)]
            for keys in found:
                self.assertIn(keys, known, target)
            ob.skel.new_take = False
            count = len(self.names())
            self.bake(target=target)
            self.assertEqual(len(self.names()), count)
            self.assertEqual(self.keys(ob), found[-1])

    def test_stopped_with_new_take(self):
        """A bake that is stopped keeps nothing."""
        for target in ("NEW", "NLA"):
            self.setUp()
            ob, skel = self.rigged(), self.skel
            self.bake(target=target)
            ob.skel.new_take = True
            before = dump(ob), self.names(), [a.use_fake_user for a in bpy.data.actions]
            with skel.takes.source(ob):
                plan = skel.work.run(common.read_plan(ob, 1, 12))
            result = skel.work.run(skel.bake.bake(plan))
            job = skel.takes.write_take(ob, result.channels, target, "x")
            for _ in range(3):
                next(job)
            job.close()
            self.assertEqual((dump(ob), self.names(), [a.use_fake_user for a in bpy.data.actions]),
                             before)

    def test_use(self):
        """Between takes and back: each plays as it did, the next bake reads the source."""
        for target in TARGETS:
            ob, before = self.start(self.controlled, target)
            ob.skel.new_take = True
            poses = []
            for gravity in (-9.81, 3.0):
                self.scene.gravity.z = gravity
                self.bake(target=target)
                poses.append(common.bone_matrices(ob, range(1, 13)))
                last = self.keys(ob)
            first = bpy.data.actions["walk.skel" if target != "NLA" else "figure physics"]
            self.bake(bpy.ops.skel.take_use, take=first.name)
            self.assertEqual(common.bone_matrices(ob, range(1, 13)), poses[0], target)
            second = next(a for a in self.skel.take_edit.takes_of(ob) if a != first)
            self.assertEqual(common.dump_action(second), last)
            self.bake(bpy.ops.skel.take_use, take=second.name)
            self.assertEqual(common.bone_matrices(ob, range(1, 13)), poses[1], target)
            self.scene.frame_set(7)
            self.bake(target=target)
            self.assertEqual(self.keys(ob), last, target)
            self.scene.frame_set(5)
            self.bake(bpy.ops.skel.take_restore)
            self.same(ob, before, target)

    def test_take_of_another_source_is_refused(self):
        ob = self.plain()
        self.bake()
        run = bpy.data.actions["walk"].copy()
        run.name = "run"
        self.skel.compat.use_action(ob, run)
        with self.assertRaisesRegex(RuntimeError, "no take 'walk.skel' of 'run'"):
            bpy.ops.skel.take_use(take="walk.skel")
        with self.assertRaisesRegex(RuntimeError, "no take 'nothing' of 'run'"):
            bpy.ops.skel.take_use(take="nothing")

    def test_long_names(self):
        ob = self.plain()
        ob.animation_data.action.name = "ä" * 40
        names = []
        ob.skel.new_take = True
        for _ in range(2):
            self.bake()
            names.append(self.take(ob).name)
        self.assertTrue(names[0].endswith(".skel") and names[1].endswith(".skel.2"), names)
        self.assertEqual(len(self.skel.take_edit.takes_of(ob)), 2)

    # ---- how a take was made ----

    def test_a_bake_is_repeated_by_its_settings(self):
        for call, kind in ((bpy.ops.skel.bake_physics, "physics"), (bpy.ops.skel.bake_ik, "ik")):
            ob, _before = self.start(self.controlled, "NEW")
            ob.skel.only_selected, ob.skel.bounce = kind == "physics", 0.3
            ob.pose.bones["hand.R"].skel.mass, ob.skel_ik.root = 2.5, "MOVES"
            for bone in ob.pose.bones:
                self.skel.compat.select(bone, bone.name.endswith(".R"))
            self.bake(call, frame_start=2, frame_end=11, frame_step=3, target="NLA")
            keys, setup = self.keys(ob), self.skel.setups.document(ob)
            self.bake(bpy.ops.skel.take_keep)

            # Everything is different, and in another session.
            ob.skel.only_selected, ob.skel.bounce, ob.skel.preset = False, 0.0, "RAGDOLL"
            ob.pose.bones["hand.R"].skel.mass, ob.pose.bones["head"].skel.role = 0.0, "NONE"
            ob.skel_ik.root, ob.skel_ik.goals[0].chain = "HELD", 1
            ob.skel.use_range, ob.skel.frame_end = True, 6
            for bone in ob.pose.bones:
                self.skel.compat.select(bone, True)
            self.bake(call)
            self.assertNotEqual(self.keys(ob), keys)
            path = os.path.join(common.TEMP, "settings.blend")
            bpy.ops.wm.save_as_mainfile(filepath=path)
            bpy.ops.wm.open_mainfile(filepath=path)
            common.enable()
            ob = bpy.data.objects["figure"]
            kept = next(a.name for a in self.skel.take_edit.takes_of(ob)
                        if a != self.skel.takes.current(ob)[0])
            self.bake(bpy.ops.skel.take_settings, take=kept)
            self.assertEqual((ob.skel if kind == "physics" else ob.skel_ik).target, "NLA")
            self.bake(call)
            self.assertEqual([row[:2] + row[3:] for row in self.keys(ob)],
                             [row[:2] + row[3:] for row in keys], kind)
            now = self.skel.setups.document(ob)
            for part in ("bones", "goals"):
                self.assertEqual(now[part], setup[part])

    def test_settings_that_cannot_be_used(self):
        ob = self.plain()
        self.bake()
        entry = self.take(ob).skel_takes[0]
        made = json.loads(entry.settings)
        self.assertEqual(made["versions"]["Blender"], bpy.app.version_string)
        made["versions"]["libskel"], made["scene"]["gravity"] = "0.0.1", [0.0, 0.0, -1.6]
        warnings = self.skel.take_edit._changes(self.scene, made)
        self.assertEqual(len(warnings), 2)
        self.assertIn("0.0.1", warnings[1])
        self.assertIn("-1.6", warnings[0])
        for text, words in (("", "does not remember"), ("{", "is not JSON"),
                            (json.dumps({**made, "setup": {"format": "x"}}), "format: is \"x\"")):
            entry.settings = text
            with self.assertRaisesRegex(RuntimeError, words):
                bpy.ops.skel.take_settings()


if __name__ == "__main__":
    unittest.main()
