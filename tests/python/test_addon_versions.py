# SPDX-License-Identifier: BSD-3-Clause
"""The operators of the add-on in Blenders that cannot be had here, 4.4 to 5.1: whole runs against a
fake one, whose armatures go as the curves of their slot say."""

import importlib.util
import json
import math
import sys
import tempfile
import unittest
from pathlib import Path

import common
import fake_bpy
import fake_mathutils
import fake_world

ADDON = common.ROOT / "plugin_blender"
VERSIONS = ((4, 4), (4, 5), (5, 0), (5, 1))


def load(world):
    """The add-on, switched on."""
    forget()
    sys.modules.update({"bpy": world.bpy, "bpy.props": world.bpy.props,
                        "mathutils": fake_mathutils.module(), **fake_world.drawing_modules()})
    spec = importlib.util.spec_from_file_location("skel", ADDON / "__init__.py",
                                                  submodule_search_locations=[str(ADDON)])
    skel = sys.modules["skel"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(skel)
    skel.register()
    for name, module in list(sys.modules.items()):      # by their names, whatever their folder
        if name.startswith("skel.") and name.count(".") == 2:
            setattr(skel, name.rsplit(".", 1)[1], module)
    return skel


def forget():
    for name in [n for n in sys.modules if n.split(".")[0] in ("skel", "bpy", "mathutils")]:
        del sys.modules[name]


def every_version(test):
    """Calls the test with a world and the add-on in it, of each version; switched off, the add-on
    leaves nothing in the menus and no handlers."""
    def run(self):
        for version in VERSIONS:
            with self.subTest(version=version):
                world = fake_world.World(version)
                skel = load(world)
                test(self, world, skel)
                skel.unregister()
                for menu in ("VIEW3D_MT_pose_context_menu", "VIEW3D_MT_armature_add",
                             "TOPBAR_MT_file_import"):
                    self.assertEqual(getattr(world.bpy.types, menu).drawn, [])
                self.assertEqual(world.bpy.types.SpaceView3D.handlers, [])
                handlers = vars(world.bpy.app.handlers)
                self.assertEqual([name for name, each in handlers.items() if each == []],
                                 [name for name in handlers if name != "persistent"])
    run.__doc__ = test.__doc__
    return run


class Operators(unittest.TestCase):
    def tearDown(self):
        forget()

    def run_it(self, cls, world, **given):
        self.assertTrue(cls.poll(world.context))
        operator = cls(**given)
        self.assertEqual(operator.execute(world.context), {"FINISHED"}, operator.words)
        return operator.words[-1][1] if operator.words else ""

    def curves(self, world, ob):
        """{(path, index): curve} of the slot that the object uses; its action has no curves of
        its own."""
        data = ob.animation_data
        self.assertFalse(hasattr(data.action, "fcurves"))
        self.assertEqual(data.action_slot.identifier, "OB" + ob.name)
        bag = data.action.layers[0].strips[0].channelbag(data.action_slot)
        return {(c.data_path, c.array_index): c for c in bag.fcurves}

    def tip(self, world, ob, frame, bone="link3"):
        pose = world.look(ob, frame).pose.bones[bone]
        return (pose.matrix @ fake_mathutils.Vector((0, pose.length, 0)))

    def target(self, world, ob, place, **fields):
        target = world.bpy.data.objects.new("target", None)
        target.matrix_world = fake_mathutils.Matrix.Translation(place)
        goal = ob.skel_ik.goals.add()
        goal.name, goal.bone, goal.target = "goal", "link3", target
        for name, value in fields.items():
            setattr(goal, name, value)
        return goal

    @every_version
    def test_bake_ik(self, world, skel):
        ob, place = world.chain(4), (0.7, 0.4, 2.3)
        self.target(world, ob, place)
        words = self.run_it(skel.operators_ik.SKEL_OT_bake_ik, world)
        self.assertIn("all goals reached", words)
        curves = self.curves(world, ob)
        self.assertEqual(len(curves), 16)
        self.assertEqual({c.group.name for c in curves.values()},
                         {f"link{k}" for k in range(4)})
        for frame in (1, 6, 10):
            self.assertLess(math.dist(self.tip(world, ob, frame), place), 2e-5)
        self.assertEqual([s.name for s in world.bpy.data.scenes], ["Scene"])

    @every_version
    def test_bake_ik_on_top_of_an_animation(self, world, skel):
        """Of a goal that is off nothing is left but the animation; the old action stays."""
        ob = world.chain(4)
        bone = ob.pose.bones["link2"]
        for frame, z in ((1, 0.0), (10, 0.6)):
            bone.rotation_quaternion[:] = (math.cos(z), 0, 0, math.sin(z))
            bone.keyframe_insert("rotation_quaternion", frame=frame)
        was, action = [self.tip(world, ob, f) for f in range(1, 11)], ob.animation_data.action
        self.target(world, ob, (5, 5, 5), weight=0.0)
        self.run_it(skel.operators_ik.SKEL_OT_bake_ik, world)
        self.assertIsNot(ob.animation_data.action, action)
        for frame, place in enumerate(was, 1):
            self.assertLess(math.dist(self.tip(world, ob, frame), place), 1e-5)
        self.assertGreater(math.dist(was[0], was[-1]), 0.3)

    @every_version
    def test_solve_ik(self, world, skel):
        ob, place = world.chain(4), (0.6, -0.3, 1.8)
        goal = self.target(world, ob, place, use_orientation=True)
        self.run_it(skel.operators_ik.SKEL_OT_keep_angle, world)
        self.assertEqual(len(goal.offset), 4)
        self.run_it(skel.operators_ik.SKEL_OT_solve_ik, world)
        self.assertIsNone(ob.animation_data)
        self.assertLess(math.dist(self.tip(world, ob, 1), place), 2e-5)
        world.scene.tool_settings.use_keyframe_insert_auto = True
        self.run_it(skel.operators_ik.SKEL_OT_solve_ik, world)
        self.assertEqual(len(self.curves(world, ob)), 16)

    @every_version
    def test_goals(self, world, skel):
        ob = world.chain(2)
        world.context.active_pose_bone = ob.pose.bones["link1"]
        for kind in ("REACH", "LOOK", "CENTRE"):
            self.run_it(skel.operators_ik.SKEL_OT_add_goal, world, kind=kind)
        self.assertEqual([g.kind for g in ob.skel_ik.goals], ["REACH", "LOOK", "CENTRE"])
        place = ob.skel_ik.goals[0].target.matrix_world.translation
        self.assertLess(math.dist(place, (0.6, 0, 2)), 1e-9)
        self.run_it(skel.operators_ik.SKEL_OT_remove_goal, world)
        self.assertEqual(len(ob.skel_ik.goals), 2)
        with self.assertRaises(TypeError):
            skel.operators_ik.SKEL_OT_add_goal(kind="GRASP")

    @every_version
    def test_robot(self, world, skel):
        """Imported, moved with keys, reached, and its table given back."""
        words = self.run_it(skel.operators_robots.SKEL_OT_import_robot, world, preset="stanford")
        self.assertIn("6 joints", words)
        ob = world.context.object = world.context.view_layer.objects.active
        world.scene.tool_settings.use_keyframe_insert_auto = True
        for frame, values in ((1, "0 0.3 0.4 0 0.5 0"), (10, "1 0.8 0.5 0.3 -0.4 1")):
            world.scene.frame_set(frame)
            self.run_it(skel.operators_robots.SKEL_OT_set_joints, world, values=values)
        self.assertEqual(len(self.curves(world, ob)), 6)
        bones = skel.read_robots.joint_bones(ob)
        bones[0].skel_angle = 99.0
        self.assertAlmostEqual(bones[0].skel_angle, bones[0]["joint_limits"][1])
        was = [self.tip(world, ob, frame, "tool") for frame in (1, 5, 10)]
        self.target(world, ob, was[1], bone="tool", end="TAIL")
        self.run_it(skel.operators_ik.SKEL_OT_bake_ik, world)
        for frame in (1, 5, 10):
            self.assertLess(math.dist(self.tip(world, ob, frame, "tool"), was[1]), 2e-5)
        words = self.run_it(skel.operators_robots.SKEL_OT_extract_dh, world, convention="modified")
        table = json.loads(world.bpy.data.texts[words.split("'")[1]].as_string())
        self.assertEqual([j["type"] for j in table["joints"]],
                         ["revolute"] * 2 + ["prismatic"] + ["revolute"] * 3)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "robot.urdf")
            self.run_it(skel.operators_robots.SKEL_OT_export_urdf, world, filepath=str(path))
            self.assertIn("<robot", path.read_text(encoding="utf-8"))

    @every_version
    def test_refused_meshes_are_named(self, world, skel):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "secret.stl").write_text("solid")
            path = Path(folder, "arm", "arm.urdf")
            path.parent.mkdir()
            path.write_text('<robot name="arm"><link name="a"><visual><geometry><mesh filename='
                            '"../secret.stl"/></geometry></visual></link></robot>')
            operator = skel.operators_robots.SKEL_OT_import_robot(preset="NONE", filepath=str(path),
                                                                  shapes=True)
            self.assertEqual(operator.execute(world.context), {"FINISHED"}, operator.words)
        told = [words for level, words in operator.words if "WARNING" in level]
        self.assertEqual(len(told), 1)
        self.assertIn("arm.urdf: mesh '../secret.stl' lies outside the robot's package", told[0])

    @every_version
    def test_torques_and_files(self, world, skel):
        """Custom properties get curves in the object's slot; the exported scene is baked."""
        ob = world.chain(2)
        with tempfile.TemporaryDirectory() as folder:
            table, scene = Path(folder, "t.csv"), Path(folder, "s.json")
            self.run_it(skel.operators.SKEL_OT_inverse_dynamics, world, filepath=str(table))
            self.assertEqual(len(table.read_text(encoding="utf-8").splitlines()), 11)
            paths = {path for path, _index in self.curves(world, ob)}
            self.assertIn('pose.bones["link1"]["skel_power"]', paths)
            self.assertIn("skel_power", ob.pose.bones["link1"])
            self.run_it(skel.operators.SKEL_OT_export_scene, world, filepath=str(scene))
            self.assertEqual(len(json.loads(scene.read_text())["bodies"]), 2)
        self.assertFalse(skel.operators.SKEL_OT_save_report.poll(world.context))
        self.run_it(skel.operators.SKEL_OT_bake_physics, world, target="NLA")
        self.assertEqual(len(ob.animation_data.nla_tracks), 2)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("r.csv", "r.json"):
                self.run_it(skel.operators.SKEL_OT_save_report, world, filepath=f"{folder}/{name}")
            self.assertEqual(len(Path(folder, "r.csv").read_text().splitlines()), 11)
            self.assertEqual(len(json.loads(Path(folder, "r.json").read_text())["frames"]), 10)
            operator = skel.operators.SKEL_OT_save_report(filepath=f"{folder}/r.txt")
            self.assertEqual(operator.execute(world.context), {"CANCELLED"})
            self.assertIn("must end in .csv or .json", operator.words[-1][1])

    def swinging(self, world, name):
        """A chain whose second link is keyed, active."""
        ob = world.chain(3)
        ob.name = name
        bone = ob.pose.bones["link1"]
        for frame, z in ((-5, 0.0), (4, 0.4), (15, -0.3)):
            bone.rotation_quaternion[:] = (math.cos(z), 0, 0, math.sin(z))
            bone.keyframe_insert("rotation_quaternion", frame=frame)
        ob.skel.preset = "FOLLOW"
        return ob

    def keys(self, action, slot):
        bag = action.layers[0].strips[0].channelbag(slot)
        return {(c.data_path, c.array_index): c.keyframe_points.fields["co"].tobytes()
                for c in bag.fcurves}

    @every_version
    def test_takes(self, world, skel):
        """Bakes start from the source, which stays; the earlier take is replaced."""
        actions = world.bpy.data.actions
        for target in ("NEW", "CURRENT", "NLA"):
            ob = self.swinging(world, target)
            source, found = ob.animation_data.action, []
            before = self.keys(source, ob.animation_data.action_slot)
            for _ in range(3):
                self.run_it(skel.operators.SKEL_OT_bake_physics, world, target=target)
                data = ob.animation_data
                playing = data if data.action else data.nla_tracks[-1].strips[0]
                self.assertEqual(playing.action_slot.identifier, f"OB{target}")
                found.append((self.keys(playing.action, playing.action_slot),
                              sorted(a.name for a in actions), len(data.nla_tracks)))
            self.assertEqual(found[1:], found[:1] * 2, target)
            self.assertEqual(source.use_fake_user, target != "CURRENT")
            if target != "CURRENT":
                self.assertEqual(self.keys(source, source.slots[0]), before)

    @every_version
    def test_takes_of_two_slots(self, world, skel):
        """Two armatures that share an action, each by its slot: bakes into it do not mix."""
        first, second = self.swinging(world, "first"), self.swinging(world, "second")
        action, own = first.animation_data.action, second.animation_data.action
        slot = action.slots.new(id_type="OBJECT", name="second")
        bag = action.layers[0].strips[0].channelbag(slot, ensure=True)
        bag.fcurves.extend(own.copy().layers[0].strips[0].channelbags[0].fcurves)
        second.animation_data.action, second.animation_data.action_slot = action, slot
        found = []
        for _ in range(2):
            for ob in (first, second):
                world.context.object = ob
                self.run_it(skel.operators.SKEL_OT_bake_physics, world, target="CURRENT")
            found.append([self.keys(action, each) for each in action.slots])
        self.assertEqual(found[0], found[1])
        self.assertEqual(len(action.skel_takes), 2)

    @every_version
    def test_selected_bones(self, world, skel):
        """Selection is the pose bone's from 5.0, the bone's before."""
        ob = world.chain(3)
        for bone in ob.pose.bones:
            skel.compat.select(bone, bone.name == "link2")
        holder = ob.pose.bones[2] if world.version >= (5, 0) else ob.data.bones[2]
        self.assertTrue(holder.select)
        ob.skel.only_selected = True
        self.run_it(skel.operators.SKEL_OT_bake_physics, world)
        groups = {path.split('"')[1] for path, _index in self.curves(world, ob)}
        self.assertEqual(groups, {"link2"})

    @every_version
    def test_words(self, world, skel):
        world.chain(2)
        operator = skel.operators_ik.SKEL_OT_bake_ik()
        self.assertEqual(operator.execute(world.context), {"CANCELLED"})
        self.assertIn("no goal", operator.words[-1][1])

    def test_the_fake_plays_the_slot(self):
        """Without a slot an action moves nothing: else the tests above could not fail."""
        world = fake_world.World((5, 0))
        ob = world.chain(1)
        ob.pose.bones[0].rotation_quaternion[:] = (0.6, 0, 0, 0.8)
        ob.pose.bones[0].keyframe_insert("rotation_quaternion", frame=1)
        ob.pose.bones[0].rotation_quaternion[:] = (1, 0, 0, 0)
        self.assertAlmostEqual(world.look(ob, 1).pose.bones[0].rotation_quaternion[3], 0.8, 6)
        ob.animation_data.action_slot = None
        self.assertEqual(world.look(ob, 1).pose.bones[0].rotation_quaternion[3], 0)
        self.assertIsInstance(ob, fake_bpy.Thing)


if __name__ == "__main__":
    unittest.main()
