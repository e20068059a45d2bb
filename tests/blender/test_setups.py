# SPDX-License-Identifier: BSD-3-Clause
"""Setups: saved, loaded, copied to another armature, mirrored."""

import json
import os
import unittest

import bpy
from mathutils import Vector

import common
from test_ik import add_goal, empty

NAMES = ("hand.L", "hand.R", "hand_l", "hand_R", "hand-l", "hand r", "L_hand", "r.hand", "R hand",
         "hand.L.001", "hand.r.23", "hand.L.x1", "L.001", "LeftHand", "rightHand", "RIGHThand",
         "handleft", "handRight", "hand.Left.004", "mixamorig:LeftArm", "DEF-upper_arm.L",
         "spine", "ab", "a.L", "L", "left", "Left1", "Lefty", "rights", "bright", "upright",
         "right.left", "leftright", "rightleft", "xrightright", "lEFthand", "RiGht_hand", ".L",
         "_r", "l__r", "hand.L.R", "hand..001", "hand.", "1.2.3", "é.L", "händ_l.002", "L-R")


class Setups(unittest.TestCase):
    def setUp(self):
        self.scene = common.clear()
        self.skel = common.addon()

    def rig(self, name="figure"):
        """A figure on which no setting is as it is by default."""
        ob = common.add_armature(common.HUMANOID, name)
        self.change(ob.skel)
        self.change(ob.skel_ik)
        for n, bone in enumerate(ob.pose.bones):
            if n % 2:
                self.change(bone.skel, n)
        if not bpy.data.collections:
            bpy.data.collections.new("walls")
        ob.skel.obstacles = bpy.data.collections["walls"]
        for bone in ("hand.L", "head"):
            add_goal(ob, bone, empty(f"target of {bone}", (0.4, -0.3, 1.2)))
            self.change(ob.skel_ik.goals[-1])
        ob.skel_ik.goals[1].target, ob.skel_ik.goals[1].target_bone = ob, "foot.R"
        ob.skel_ik.goals[1].bone = "head"
        return ob

    def change(self, group, n=1):
        """Every setting of a group gets another value."""
        for prop in group.bl_rna.properties:
            name, value = prop.identifier, getattr(group, prop.identifier)
            if prop.is_hidden or prop.is_skip_save or name == "active":
                continue
            if prop.type == "BOOLEAN":
                setattr(group, name, not value)
            elif prop.type == "ENUM" and prop.is_enum_flag:
                setattr(group, name, {prop.enum_items[0].identifier})
            elif prop.type == "ENUM":
                setattr(group, name, prop.enum_items[n % len(prop.enum_items)].identifier)
            elif prop.type in ("INT", "FLOAT") and not prop.is_array:
                setattr(group, name, min(value + 1 if prop.type == "INT" else
                                         value + 0.123456789 / n, prop.hard_max))
            elif prop.type == "FLOAT":
                setattr(group, name, [0.1 * k for k in range(prop.array_length)])

    def values(self, ob):
        """Every setting, read without the code that is tested."""
        out = []
        for group in (ob.skel, ob.skel_ik, *(b.skel for b in ob.pose.bones), *ob.skel_ik.goals):
            for prop in group.bl_rna.properties:
                value = getattr(group, prop.identifier)
                if prop.is_hidden or prop.type == "COLLECTION" or prop.identifier == "active":
                    continue
                if getattr(prop, "is_array", False):
                    value = tuple(value)
                if isinstance(value, bpy.types.ID):
                    value = "itself" if value == ob else value.name
                out.append((prop.identifier, value))
        return out

    def path(self, name="setup.json"):
        return os.path.join(common.TEMP, name)

    def call(self, operator, **options):
        self.assertEqual(operator(**options), {"FINISHED"})

    def edit(self, change):
        """Changes a document that was saved."""
        with open(self.path(), encoding="utf-8") as file:
            document = json.load(file)
        change(document)
        with open(self.path(), "w", encoding="utf-8") as file:
            json.dump(document, file)

    # ---- files ----

    def test_saved_and_loaded(self):
        """Every bit, on another armature with the same bones, which then saves the same file."""
        ob = self.rig()
        wanted = self.values(ob)
        self.assertGreater(len(wanted), 300)
        self.call(bpy.ops.skel.setup_save, filepath=self.path())
        other = common.add_armature(common.HUMANOID, "other")
        self.assertNotEqual(self.values(other), wanted)
        self.call(bpy.ops.skel.setup_load, filepath=self.path())
        self.assertEqual(self.values(other), wanted)
        self.call(bpy.ops.skel.setup_save, filepath=self.path("again.json"))
        with open(self.path(), "rb") as a, open(self.path("again.json"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_every_setting_is_in_it(self):
        ob = self.rig()
        form = self.skel.setups.form(ob)
        shot, ik = self.skel.shot, self.skel.ik_shot
        for fields, known in ((form.armature, shot.Settings), (form.bone, shot.BoneSettings),
                              (form.ik, ik.IkSettings)):
            self.assertLessEqual(set(known.__dataclass_fields__), {each.name for each in fields})
        for name in ("muted", "report"):                # what bakes remember is no setting
            self.assertNotIn(name, [each.name for each in form.armature])
        for each in (*form.armature, *form.bone):       # nor is what only shows a setting
            self.assertFalse(each.name.endswith(("_used", "_auto")), each.name)

    def test_bones_that_are_missing(self):
        ob = self.rig()
        self.call(bpy.ops.skel.setup_save, filepath=self.path())
        rows = [row for row in common.HUMANOID if not row[0].startswith("hand")]
        other = common.add_armature([*rows, ("tail", "pelvis", (0, 0.1, 1), (0, 0.5, 1), 0, False)],
                                    "other")
        other.pose.bones["tail"].skel.mass = 3.0
        form = self.skel.setups.form(other)
        with open(self.path(), encoding="utf-8") as file:
            setup, warnings = self.skel.setup.read_setup(file.read(), "x", form)
        self.assertEqual(warnings, [])
        warnings = self.skel.setups.put(other, setup)
        self.assertEqual(len(warnings), 2, warnings)
        self.assertIn("'other' has no bone 'hand.L', 'hand.R'", warnings[0])
        self.assertIn("for the goal 'hand.L'", warnings[1])
        self.assertEqual(other.pose.bones["tail"].skel.mass, 3.0)
        self.assertEqual(other.pose.bones["foot.R"].skel.mass, ob.pose.bones["foot.R"].skel.mass)
        self.assertEqual(len(other.skel_ik.goals), 2)
        self.call(bpy.ops.skel.setup_load, filepath=self.path())

    def test_things_that_are_missing(self):
        ob = self.rig()
        self.call(bpy.ops.skel.setup_save, filepath=self.path())
        bpy.data.objects.remove(bpy.data.objects["target of hand.L"])
        bpy.data.collections.remove(bpy.data.collections["walls"])
        with open(self.path(), encoding="utf-8") as file:
            setup, _none = self.skel.setup.read_setup(file.read(), "x", self.skel.setups.form(ob))
        warnings = self.skel.setups.put(ob, setup)
        self.assertEqual(len(warnings), 2, warnings)
        self.assertIn("no collection 'walls' (obstacles)", warnings[0])
        self.assertIn("no object 'target of hand.L' (goal 'hand.L', target)", warnings[1])
        self.assertIsNone(ob.skel_ik.goals[0].target)
        self.assertEqual(ob.skel_ik.goals[1].target, ob)

    def test_a_wrong_file_changes_nothing(self):
        ob = self.rig()
        wrong = (
            (lambda d: d["bones"]["hand.R"].update(mass=-1), r'bones\["hand.R"\].mass: is -1'),
            (lambda d: d["armature"].update(bounce=1.5), r"armature.bounce: is 1.5, must be a "
             "number from 0 to 1"),
            (lambda d: d["goals"][1].update(kind="GRAB"), r"goals\[1\].kind: is \"GRAB\", must be "
             "one of REACH, LOOK, CENTRE"),
            (lambda d: d.update(format="skel-scene/1"), "format: is \"skel-scene/1\""))
        for change, words in wrong:
            self.call(bpy.ops.skel.setup_save, filepath=self.path())
            self.edit(change)
            ob.skel.density = 500.0
            before = self.values(ob)
            with self.assertRaisesRegex(RuntimeError, "setup.json: " + words):
                bpy.ops.skel.setup_load(filepath=self.path())
            self.assertEqual(self.values(ob), before)
            ob.skel.density = 1000.0
        for name, words in (("nothing.json", "nothing.json: No such file"),
                            ("bytes.json", "bytes.json is not JSON")):
            with open(self.path("bytes.json"), "wb") as file:
                file.write(b"{\"format\": 3")
            with self.assertRaisesRegex(RuntimeError, words):
                bpy.ops.skel.setup_load(filepath=self.path(name))
        with self.assertRaisesRegex(RuntimeError, "Name a file"):
            bpy.ops.skel.setup_save(filepath="")

    def test_load_is_one_undo_step(self):
        ob = self.rig()
        self.call(bpy.ops.skel.setup_save, filepath=self.path())
        self.edit(lambda d: (d["armature"].update(bounce=0.75), d["goals"].pop()))
        bpy.ops.ed.undo_push(message="before")
        before = self.values(ob)
        bpy.ops.skel.setup_load("EXEC_DEFAULT", True, filepath=self.path())
        after = self.values(bpy.data.objects["figure"])
        self.assertNotEqual(after, before)
        bpy.ops.ed.undo()
        ob = bpy.data.objects["figure"]
        self.assertEqual(self.values(ob), before)

    # ---- other armatures, the other side ----

    def test_copied(self):
        ob = self.rig()
        wanted = self.values(ob)
        others = [common.add_armature(common.HUMANOID, name) for name in ("a", "b")]
        untouched = common.add_armature(common.HUMANOID, "c")
        default = self.values(untouched)
        for each in (ob, *others):
            each.select_set(True)
        untouched.select_set(False)
        bpy.context.view_layer.objects.active = ob
        self.call(bpy.ops.skel.setup_copy)
        for each in others:
            self.assertEqual(self.values(each), wanted)     # a goal on itself is on itself there
        self.assertEqual(self.values(untouched), default)
        for each in others:
            each.select_set(False)
        self.assertFalse(bpy.ops.skel.setup_copy.poll())

    def test_names_as_blender_mirrors_them(self):
        for name in NAMES:
            self.assertEqual(self.skel.names.flip_name(name), bpy.utils.flip_name(name), name)

    def test_mirrored(self):
        ob = common.add_armature(common.HUMANOID)
        bones = ob.pose.bones
        left, middle = bones["forearm.L"].skel, bones["chest"].skel
        left.joint, left.axis, left.limits, left.mass = "HINGE", "Z", "CUSTOM", 1.25
        left.limit_low, left.limit_high, middle.mass = -0.25, 1.5, 9.0
        bpy.ops.object.mode_set(mode="POSE")
        for bone in bones:
            self.skel.compat.select(bone, bone.name in ("forearm.L", "chest", "hand.R"))
        bones["hand.R"].skel.friction = 4.0
        self.call(bpy.ops.skel.setup_mirror)
        right = bones["forearm.R"].skel
        self.assertEqual((right.joint, right.axis, right.mass, right.limit_low, right.limit_high),
                         ("HINGE", "Z", 1.25, -1.5, 0.25))
        self.assertEqual((left.limit_low, left.limit_high), (-0.25, 1.5))
        self.assertEqual(bones["hand.L"].skel.friction, 4.0)
        self.assertEqual(middle.mass, 9.0)
        self.assertEqual(bones["foot.L"].skel.mass, 0.0)

        for bone in bones:                              # both sides: which of them would count?
            self.skel.compat.select(bone, "forearm" in bone.name)
        left.mass = 7.0
        self.assertEqual(self.skel.setups.mirror(ob, bpy.context.selected_pose_bones),
                         (0, [], ["forearm.L", "forearm.R"]))
        self.assertEqual(right.mass, 1.25)

    def test_mirrored_joints_are_mirror_images(self):
        """The hinge of the other side that physics makes of the settings bends as a mirror
        would."""
        for axis in ("AUTO", "X", "Y", "Z"):
            self.setUp()
            ob = common.add_armature(common.HUMANOID)
            bpy.ops.object.mode_set(mode="EDIT")
            for edit in ob.data.edit_bones:             # as Blender mirrors bones
                if edit.name.endswith(".R"):
                    twin = ob.data.edit_bones[edit.name[:-1] + "L"]
                    edit.roll = -twin.roll
            bpy.ops.object.mode_set(mode="POSE")
            left = ob.pose.bones["forearm.L"].skel
            left.joint, left.axis, left.limits = "HINGE", axis, "CUSTOM"
            left.limit_low, left.limit_high = -0.25, 1.5
            for bone in ob.pose.bones:
                self.skel.compat.select(bone, bone.name == "forearm.L")
            self.call(bpy.ops.skel.setup_mirror)
            plan = self.skel.work.run(common.read_plan(ob, 1, 2))
            scene = self.skel.build.build_scene(plan).scene
            one, other = (next(j for j in scene.joints if j.bodies[1] == f"forearm.{side}")
                          for side in "LR")
            # A rotation vector in the mirror x -> -x: (x, -y, -z).
            turn = Vector((one.axis[0], -one.axis[1], -one.axis[2])).normalized()
            same = turn.dot(Vector(other.axis).normalized())
            self.assertAlmostEqual(abs(same), 1.0, 5, axis)
            low, high = one.limits if same > 0 else (-one.limits[1], -one.limits[0])
            self.assertAlmostEqual(other.limits[0], low, 5, axis)
            self.assertAlmostEqual(other.limits[1], high, 5, axis)


if __name__ == "__main__":
    unittest.main()
