# SPDX-License-Identifier: BSD-3-Clause
"""Robots in a real Blender: armatures that stand where the library's kinematics has them."""

import json
import math
import os
import random
import unittest

import bpy
from mathutils import Matrix

import common

EXACT = 1e-5                    # of the reach
POSES = 5
URDF = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "urdf",
                    "features.urdf")


def random_q(rng, bones, unit=1.0):
    """Joint coordinates within the limits, within three quarters of a turn where there are none."""
    out = []
    for bone in bones:
        low, high = bone.get("joint_limits") or (-2.4, 2.4)
        scale = unit if bone["joint_type"] == "slide" else 1.0
        out.append(rng.uniform(low, high) * scale)
    return out


def frames_of(skelpy, scene, q):
    """{frame: pose in the world} by the library."""
    poses, out = skelpy.fk(scene, q), {}
    robot = common.addon().convert_robot
    for name, (body, pose) in scene.named_frames.items():
        host = list(poses[7 * body:7 * body + 7]) if body >= 0 else [0, 0, 0, 1, 0, 0, 0]
        out[name] = robot.compose(host, pose)
    return out


def set_joints(q, **options):
    return bpy.ops.skel.set_joints(values=" ".join(map(repr, q)), **options)


def turn_between(a, b):
    """Angle between two quaternions, a small one."""
    both = (math.dist(a, b), math.dist(a, [-x for x in b]))
    return 4 * math.asin(min(1.0, min(both) / 2))


class Robots(unittest.TestCase):
    def setUp(self):
        self.scene = common.clear()
        self.skel = common.addon()
        self.skelpy = self.skel.binding.skelpy
        self.rng = random.Random(7)

    def bring(self, **options):
        self.assertEqual(bpy.ops.skel.import_robot(**options), {"FINISHED"})
        return bpy.context.view_layer.objects.active

    def compare(self, ob, scene, names, reach):
        """Worst (distance in parts of the reach, angle) of frames at random joints."""
        worst, bones = (0.0, 0.0), self.skel.bl_read.joint_bones(ob)
        for _ in range(POSES):
            q = random_q(self.rng, bones)
            self.assertEqual(set_joints(q), {"FINISHED"})
            expected = frames_of(self.skelpy, scene, q)
            now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
            for name in names:
                matrix = now.matrix_world @ now.pose.bones[name].matrix
                pose = expected[name]
                off = math.dist(pose[:3], matrix.translation) / reach
                turn = turn_between(pose[3:], matrix.to_quaternion().normalized())
                worst = (max(worst[0], off), max(worst[1], turn))
        return worst

    def test_every_bundled_robot(self):
        names = list(self.skel.convert_robot.bundled())
        self.assertEqual(len(names), 26)
        for name in names:
            with self.subTest(robot=name):
                self.setUp()
                ob = self.bring(preset=name)
                reach = self.skel.bl_read.robot_data(ob)["reach"]
                scene = self.skelpy.Scene.from_file(self.skel.convert_robot.bundled()[name])
                off, angle = self.compare(ob, scene, ["tool"], reach)
                tables = []
                for convention in ("standard", "modified"):
                    self.assertEqual(bpy.ops.skel.extract_dh(convention=convention), {"FINISHED"})
                    text = next(t for t in bpy.data.texts if t.name.endswith(f"{convention}.json"))
                    tables.append(self.round_trip(text.as_string(), scene, reach, convention))
                print(f"{name}: tool off by {off:.1e} of the reach, {angle:.1e} rad; tables by "
                      f"{tables[0]:.1e}, {tables[1]:.1e}")
                self.assertLess(max(off, angle), EXACT)
                self.assertLess(max(tables), EXACT)

    def round_trip(self, text, scene, reach, convention):
        """The table's own kinematics beside the robot's, at random joints."""
        table = json.loads(text)
        self.assertEqual(table["convention"], convention)
        again, worst = self.skelpy.Scene.from_json(text), 0.0
        self.assertEqual(again.q_count, scene.q_count)
        self.assertEqual([j["name"] for j in table["joints"]], scene.joint_names)
        for _ in range(POSES):
            q = [self.rng.uniform(-2, 2) for _ in range(scene.q_count)]
            a = frames_of(self.skelpy, scene, q)["tool"]
            b = frames_of(self.skelpy, again, q)["tool"]
            worst = max(worst, math.dist(a[:3], b[:3]) / reach, turn_between(a[3:], b[3:]))
            worst = max(worst, self.masses_off(scene, again, q, reach))
        return worst

    def masses_off(self, scene, again, q, reach):
        """Masses, centres and inertias in the world, of links that have them: relative."""
        worst, robot = 0.0, self.skel.convert_robot
        first, second = ([body for body in json.loads(each.to_json())["bodies"]]
                         for each in (scene, again))
        poses = [self.skelpy.fk(each, q) for each in (scene, again)]
        for k, (a, b) in enumerate(zip(first, second)):
            self.assertEqual((a["name"], "mass" in a), (b["name"], "mass" in b))
            if "mass" not in a:
                continue
            at = [list(each[7 * k:7 * k + 7]) for each in poses]
            one, two = (robot.turned(body["inertia"], pose[3:])
                        for body, pose in ((a, at[0]), (b, at[1])))
            size = a["mass"] * reach ** 2
            worst = max(worst, abs(a["mass"] - b["mass"]) / a["mass"],
                        math.dist(at[0][:3], at[1][:3]) / reach,
                        max(abs(x - y) for x, y in zip(one, two)) / size)
        return worst

    def test_limits_and_rows_come_back(self):
        ob = self.bring(preset="puma560")
        bone = ob.pose.bones["link2"]
        self.assertEqual(json.loads(bone["dh"])["a"], 0.4318)
        self.assertEqual(bone["joint"], "joint2")
        self.assertEqual(sum(not v for v in bone.lock_rotation), 1)
        self.assertTrue(all(bone.lock_location))
        bpy.ops.skel.extract_dh()
        text = next(t for t in bpy.data.texts if t.name.endswith(".json"))
        table = json.loads(text.as_string())
        for row, given in zip(table["joints"], (-2.792526803190927, -0.7853981633974483)):
            self.assertAlmostEqual(row["limits"][0], given, 6)

    def test_limits_stop_and_named_poses(self):
        ob = self.bring(preset="puma560")
        self.assertEqual(bpy.ops.skel.set_joints(values="99 0 0 0 0 0"), {"FINISHED"})
        self.assertAlmostEqual(self.skel.bl_read.joint_value(ob.pose.bones["link1"]), 2.7925268, 5)
        self.assertEqual(bpy.ops.skel.set_joints(pose="qr"), {"FINISHED"})
        self.assertAlmostEqual(ob.pose.bones["link3"].skel_angle, -math.pi / 2, 5)
        ob.pose.bones["link3"].skel_angle = 0.25
        self.assertAlmostEqual(self.skel.bl_read.joint_value(ob.pose.bones["link3"]), 0.25, 6)
        with self.assertRaises(RuntimeError):
            bpy.ops.skel.set_joints(pose="nowhere")
        with self.assertRaises(RuntimeError):
            bpy.ops.skel.set_joints(values="1 2")

    def test_urdf(self):
        ob = self.bring(filepath=URDF)
        scene = self.skelpy.Scene.from_file(URDF)
        names = ["base", "mount", "flange", "tcp"]
        off, angle = self.compare(ob, scene, names, self.skel.bl_read.robot_data(ob)["reach"])
        print(f"features.urdf: frames off by {off:.1e} of the reach, {angle:.1e} rad")
        self.assertLess(off, EXACT)
        self.assertIn("package://features", ob.pose.bones["trunk"]["meshes"])
        path = os.path.join(common.TEMP, "again.urdf")
        self.assertEqual(bpy.ops.skel.export_urdf(filepath=path), {"FINISHED"})
        self.assertIn("transmission", self.text_of(path))
        self.assertEqual(bpy.ops.skel.export_urdf(filepath=path, from_bones=True), {"FINISHED"})
        made = self.skelpy.Scene.from_file(path)
        moving = [name for name in made.joint_names if name != "trunk"]     # held by the world
        self.assertEqual(sorted(moving), sorted(scene.joint_names))
        q = {name: 0.01 * k for k, name in enumerate(sorted(scene.joint_names))}
        a = frames_of(self.skelpy, scene, [q[n] for n in scene.joint_names])["tcp"]
        b = frames_of(self.skelpy, made, [q[n] for n in moving])["tcp"]
        self.assertLess(math.dist(a[:3], b[:3]), EXACT)
        masses = [body["mass"] for body in json.loads(scene.to_json())["bodies"] if "mass" in body]
        self.assertGreater(len(masses), 2)
        for mass in masses:
            self.assertIn(f'<mass value="{mass:g}"/>', self.text_of(path))

    def text_of(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_meshes_of_a_urdf(self):
        folder = os.path.join(common.TEMP, "pack", "arm")
        os.makedirs(os.path.join(folder, "meshes"), exist_ok=True)
        with open(os.path.join(folder, "meshes", "a.stl"), "w", encoding="ascii") as file:
            file.write("solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
                       "vertex 0 1 0\nendloop\nendfacet\nendsolid a\n")
        path = os.path.join(folder, "arm.urdf")
        with open(path, "w", encoding="utf-8") as file:
            file.write('<robot name="arm"><link name="base"/><link name="l1"><visual>'
                       '<origin xyz="0 0 0.5" rpy="0 0 1.5707963"/><geometry>'
                       '<mesh filename="package://arm/meshes/a.stl" scale="2 2 2"/></geometry>'
                       '</visual></link><joint name="j1" type="continuous"><parent link="base"/>'
                       '<child link="l1"/><origin xyz="0.1 0 0.2"/><axis xyz="0 1 0"/></joint>'
                       '</robot>')
        self.bring(filepath=path)
        child = next(o for o in bpy.data.objects if o.type == "MESH")
        set_joints([math.pi / 2])
        now = child.evaluated_get(bpy.context.evaluated_depsgraph_get())
        got = now.matrix_world @ now.data.vertices[1].co
        # (1 0 0) twice as large, turned to y, half a metre up, turned about y, from the joint
        for value, wanted in zip(got, (0.6, 2.0, 0.2)):
            self.assertAlmostEqual(value, wanted, 4)

    def test_prismatic_unit_scale_and_moved_object(self):
        self.scene.unit_settings.scale_length = 0.01
        ob = self.bring(preset="stanford")
        reach = self.skel.bl_read.robot_data(ob)["reach"]
        scene = self.skelpy.Scene.from_file(self.skel.convert_robot.bundled()["stanford"])
        ob.matrix_world = Matrix.Rotation(0.7, 4, "X") @ Matrix.Translation((100, 20, 3))
        q = random_q(self.rng, self.skel.bl_read.joint_bones(ob), 0.01)
        set_joints(q)
        now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        got = now.pose.bones["tool"].matrix.translation * 0.01
        expected = frames_of(self.skelpy, scene, q)["tool"]
        self.assertLess(math.dist(expected[:3], got) / reach, EXACT)

    def test_chain_of_an_ordinary_armature(self):
        ob = common.chain(3, 0.5)
        for bone in ob.pose.bones:
            bone.lock_ik_x = bone.lock_ik_y = True
        path = os.path.join(common.TEMP, "table.csv")
        self.assertEqual(bpy.ops.skel.extract_dh(filepath=path, tip="link2"), {"FINISHED"})
        table = self.skelpy.Scene.from_file(path)
        self.assertEqual(table.dof, 3)
        tool = frames_of(self.skelpy, table, [0, 0, 0])["tool"]
        self.assertLess(math.dist(tool[:3], (1.5, 0, 2)), EXACT)

    def test_undo_and_bad_files(self):
        bpy.ops.ed.undo_push(message="before")
        before = len(bpy.data.objects)
        path = os.path.join(common.TEMP, "bad.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"format": "skel-dh/1"}')
        with self.assertRaises(RuntimeError):
            bpy.ops.skel.import_robot(filepath=path)
        with self.assertRaises(RuntimeError):
            bpy.ops.skel.import_robot(filepath=os.path.join(common.TEMP, "none.urdf"))
        self.assertEqual(len(bpy.data.objects), before)
        bpy.ops.skel.import_robot("EXEC_DEFAULT", True, preset="planar2")
        self.assertGreater(len(bpy.data.objects), before)
        bpy.ops.ed.undo()                           # one step, which the operator made itself
        self.assertEqual(len(bpy.data.objects), before)
        self.assertFalse(bpy.data.armatures)


if __name__ == "__main__":
    unittest.main()
