# SPDX-License-Identifier: BSD-3-Clause
"""Robots in a real Blender: armatures that stand where the library's kinematics has them."""

import json
import math
import os
import random
import unittest
import unittest.mock

import bpy
from mathutils import Matrix

import common

EXACT = 1e-5                    # of the reach
POSES = 5
URDF = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "urdf",
                    "features.urdf")


def link(name, mass, com="0 0 0", inertia=0.001):
    moments = " ".join(f'{name}="{inertia if name[1] == name[2] else 0}"'
                       for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    return (f'<link name="{name}"><inertial><mass value="{mass}"/><origin xyz="{com}"/>'
            f'<inertia {moments}/></inertial></link>')


def joint(name, kind, parent, child, place, axis, more=""):
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{place}"/><axis xyz="{axis}"/>{more}</joint>')


def limit(low, high):
    return f'<limit lower="{low}" upper="{high}" effort="1" velocity="1"/>'


GRIPPER = '<robot name="gripper">' + "".join((
    link("base", 2), link("arm", 1, "0.2 0.05 0", 0.02), link("lift", 0.5),
    link("fl", 0.1, "0 0 0.02", 1e-4), link("fr", 0.1, "0 0 0.02", 1e-4), link("wheel", 0.1),
    joint("spin", "continuous", "base", "arm", "0 0 0.2", "0 0 1"),
    joint("up", "prismatic", "arm", "lift", "0.4 0 0", "0 0 1", limit(-0.1, 0.3)),
    joint("left", "prismatic", "lift", "fl", "0.05 0.02 0", "0 1 0", limit(0, 0.04)),
    joint("right", "prismatic", "lift", "fr", "0.05 -0.02 0", "0 -1 0",
          limit(0, 0.04) + '<mimic joint="left"/>'),
    joint("turn", "continuous", "lift", "wheel", "0 0.1 0", "0 1 0",
          '<mimic joint="spin" multiplier="-3" offset="0.5"/>'))) + "</robot>"
BOX = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>'
RACK = '<robot name="rack"><link name="base"/><link name="tcp"/>' + "".join((
    link("pin", 1), link("arm", 2, "0.2 0 0").replace("</link>", BOX),
    link("rack", 1).replace("</link>", BOX),
    joint("p", "revolute", "base", "pin", "0 0 0.2", "0 0 1", limit(-1, 1)),
    joint("h", "revolute", "pin", "arm", "0.3 0 0", "0 1 0",
          limit(-3, 3) + '<mimic joint="p" multiplier="-2" offset="0.4"/>'),
    joint("r", "prismatic", "pin", "rack", "0 0.1 0.1", "1 0 0",
          limit(-1, 1) + '<mimic joint="p" multiplier="0.1" offset="0.05"/>'),
    joint("end", "fixed", "arm", "tcp", "0.25 0 0.05", "0 0 1"))) + "</robot>"
ARM = '<robot name="arm"><link name="base"/>' + link("l1", 2, "0.3 0.1 0", 0.7) + \
    joint("j1", "continuous", "base", "l1", "0 0 0", "AXIS") + "</robot>"


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
    compose = common.addon().algebra.compose
    for name, (body, pose) in scene.named_frames.items():
        host = list(poses[7 * body:7 * body + 7]) if body >= 0 else [0, 0, 0, 1, 0, 0, 0]
        out[name] = compose(host, pose)
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
        worst, bones = (0.0, 0.0), self.skel.read_robots.joint_bones(ob)
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
        names = list(self.skel.robot_import.bundled_robots())
        self.assertEqual(len(names), 26)
        for name in names:
            with self.subTest(robot=name):
                self.setUp()
                ob = self.bring(preset=name)
                reach = self.skel.read_robots.robot_data(ob)["reach"]
                scene = self.skelpy.Scene.from_file(self.skel.robot_import.bundled_robots()[name])
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
        worst, algebra = 0.0, self.skel.algebra
        first, second = ([body for body in json.loads(each.to_json())["bodies"]]
                         for each in (scene, again))
        poses = [self.skelpy.fk(each, q) for each in (scene, again)]
        for k, (a, b) in enumerate(zip(first, second)):
            self.assertEqual((a["name"], "mass" in a), (b["name"], "mass" in b))
            self.assertEqual(a.get("estimated"), b.get("estimated"))
            if a.get("estimated") == "mass" or "mass" not in a:     # no numbers of a document
                continue
            at = [list(each[7 * k:7 * k + 7]) for each in poses]
            one, two = (algebra.rotate_inertia(body["inertia"], pose[3:])
                        for body, pose in ((a, at[0]), (b, at[1])))
            size = a["mass"] * reach ** 2
            worst = max(worst, abs(a["mass"] - b["mass"]) / a["mass"],
                        math.dist(at[0][:3], at[1][:3]) / reach)
            if "estimated" not in a:
                worst = max(worst, max(abs(x - y) for x, y in zip(one, two)) / size)
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
        value = self.skel.read_robots.joint_value(ob.pose.bones["link1"])
        self.assertAlmostEqual(value, 2.7925268, 5)
        self.assertEqual(bpy.ops.skel.set_joints(pose="qr"), {"FINISHED"})
        self.assertAlmostEqual(ob.pose.bones["link3"].skel_angle, -math.pi / 2, 5)
        ob.pose.bones["link3"].skel_angle = 0.25
        self.assertAlmostEqual(self.skel.read_robots.joint_value(ob.pose.bones["link3"]), 0.25, 6)
        with self.assertRaises(RuntimeError):
            bpy.ops.skel.set_joints(pose="nowhere")
        with self.assertRaises(RuntimeError):
            bpy.ops.skel.set_joints(values="1 2")

    def test_urdf(self):
        ob = self.bring(filepath=URDF)
        scene = self.skelpy.Scene.from_file(URDF)
        names = ["base", "mount", "flange", "tcp"]
        off, angle = self.compare(ob, scene, names, self.skel.read_robots.robot_data(ob)["reach"])
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
        masses = [body["mass"] for body in json.loads(scene.to_json())["bodies"]
                  if "mass" in body and "estimated" not in body]
        self.assertGreater(len(masses), 2)
        for mass in masses:
            self.assertIn(f'<mass value="{mass:g}"/>', self.text_of(path))
        self.assertIn('effort="80" velocity="3"', self.text_of(path))
        ob.scale = (2, 2, 2)
        bpy.context.view_layer.update()
        self.assertEqual(bpy.ops.skel.export_urdf(filepath=path, from_bones=True), {"FINISHED"})
        self.assertIn('effort="20" velocity="0.19999', self.text_of(path))  # of a slide
        self.assertNotIn('velocity="0"', self.text_of(path))

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

    def written(self, name, text):
        path = os.path.join(common.TEMP, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def gripper(self):
        path = self.written("gripper.urdf", GRIPPER)
        return path, self.bring(filepath=path)

    def joints(self, ob):
        """Coordinates of all joints, as they play."""
        now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return [self.skel.read_robots.joint_value(now.pose.bones[bone.name])
                for bone in self.skel.read_robots.joint_bones(ob)]

    def near(self, got, wanted, places=5):
        for a, b in zip(got, wanted):
            self.assertAlmostEqual(a, b, places)

    def test_joints_that_go_with_others(self):
        for unit in (1.0, 0.01):
            self.scene = common.clear()
            self.scene.unit_settings.scale_length = unit
            path, ob = self.gripper()
            self.near(self.joints(ob), (0, 0, 0, 0, 0.5))
            ob.pose.bones["arm"].skel_angle, ob.pose.bones["fl"].skel_distance = 1.0, 0.03 / unit
            bpy.context.view_layer.update()
            self.near(self.joints(ob), (1, 0, 0.03 / unit, 0.03 / unit, -2.5))
            for values in ("0.7 0.1 0.02", "0.7 0.1 0.02 9 9"):
                self.assertEqual(bpy.ops.skel.set_joints(values=values), {"FINISHED"})
                self.near(self.joints(ob), (0.7, 0.1 / unit, 0.02 / unit, 0.02 / unit, -1.6))
            scene = self.skelpy.Scene.from_file(path)
            expected = frames_of(self.skelpy, scene, [0.7, 0.1, 0.02, 0.0, 0.0])
            now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
            for name in ("fl", "fr"):
                head = [v * unit for v in now.pose.bones[name].head]
                self.assertLess(math.dist(head, expected[name][:3]), 1e-5)
        out = os.path.join(common.TEMP, "again.urdf")
        self.assertEqual(bpy.ops.skel.export_urdf(filepath=out, from_bones=True), {"FINISHED"})
        again = self.skelpy.Scene.from_file(out)
        found = {again.joint_names[k]: (again.joint_names[of], *more)
                 for k, (of, *more) in again.mimics.items()}
        self.assertEqual(sorted(found), ["right", "turn"])
        self.assertEqual(found["turn"][0], "spin")
        self.near(found["turn"][1:], (-3.0, 0.5), 6)

    def test_offsets_of_joints_that_go_with_others(self):
        """They count once: links, tables and torques are those of the library."""
        path = self.written("rack.urdf", RACK)
        ob, scene = self.bring(filepath=path), self.skelpy.Scene.from_file(path)
        out, table = (os.path.join(common.TEMP, name) for name in ("again.urdf", "rack.json"))
        self.assertEqual(bpy.ops.skel.export_urdf(filepath=out, from_bones=True), {"FINISHED"})
        self.assertEqual(bpy.ops.skel.extract_dh(filepath=table, tip="tcp"), {"FINISHED"})
        made, chain = self.skelpy.Scene.from_file(out), self.skelpy.Scene.from_file(table)
        self.assertEqual(made.joint_names, scene.joint_names)
        for p in (0.0, 0.5, -0.8):
            self.assertEqual(set_joints([p]), {"FINISHED"})
            q = [{"p": p}.get(name, 0.0) for name in scene.joint_names]
            expected, again = (frames_of(self.skelpy, each, q) for each in (scene, made))
            graph = bpy.context.evaluated_depsgraph_get()
            for name in ("arm", "rack"):
                matrix = bpy.data.objects[f"{name} visual"].evaluated_get(graph).matrix_world
                self.assertLess(math.dist(matrix.translation, expected[name][:3]), EXACT)
                turn = turn_between(expected[name][3:], matrix.to_quaternion().normalized())
                self.assertLess(turn, EXACT)
            tip = ob.evaluated_get(graph).pose.bones["tcp"].matrix.translation
            tool = frames_of(self.skelpy, chain, [p, 0.4 - 2 * p])["tool"]
            for place in (tip, tool[:3], again["tcp"][:3]):
                self.assertLess(math.dist(place, expected["tcp"][:3]), EXACT)
        set_joints([0.0])
        out = os.path.join(common.TEMP, "torque.csv")
        self.assertEqual(bpy.ops.skel.inverse_dynamics(frame_start=1, frame_end=9, filepath=out),
                         {"FINISHED"})
        head, *rows = [line.split(",") for line in self.text_of(out).splitlines()]
        self.assertAlmostEqual(float(rows[4][head.index("h.torque")]),
                               -2 * 9.81 * 0.2 * math.cos(0.4), 3)

    def test_mimics_of_a_scaled_robot(self):
        """Between hinges and slides they grow with it, as what Blender shows."""
        for p, r in (("revolute", "prismatic"), ("prismatic", "revolute")):
            self.scene = common.clear()
            text = '<robot name="mixed"><link name="base"/>' + "".join((
                link("pin", 1), link("rack", 1),
                joint("p", p, "base", "pin", "0 0 0.2", "0 0 1", limit(-1, 1)),
                joint("r", r, "pin", "rack", "0.3 0 0.2", "1 0 0", limit(-9, 9) +
                      '<mimic joint="p" multiplier="0.1" offset="0.05"/>'))) + "</robot>"
            ob = self.bring(filepath=self.written("mixed.urdf", text))
            ob.scale = (2, 2, 2)
            set_joints([0.5])
            now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
            bone = now.pose.bones["rack"]
            out = os.path.join(common.TEMP, "again.urdf")
            self.assertEqual(bpy.ops.skel.export_urdf(filepath=out, from_bones=True), {"FINISHED"})
            made = self.skelpy.Scene.from_file(out)
            moved = 0.5 if p == "revolute" else 1.0
            q = [moved if name == "p" else 0.0 for name in made.joint_names]
            pose = frames_of(self.skelpy, made, q)["rack"]
            self.assertLess(math.dist(pose[:3], now.matrix_world @ bone.head), 2 * EXACT)
            turn = turn_between(pose[3:], bone.matrix.to_quaternion().normalized())
            self.assertLess(turn, EXACT)

    def test_names_that_blender_cuts(self):
        """The document keeps them; bones have shorter ones, each its own."""
        for letter in ("l", "\u30ea"):
            self.scene = common.clear()
            text = RACK
            for name in ("pin", "arm", "rack", "tcp"):
                text = text.replace(f'"{name}"', f'"{letter * 70}{name}"')
            ob = self.bring(filepath=self.written("long.urdf", text))
            self.assertEqual(len(ob.pose.bones), 5)
            self.assertTrue(all(len(bone.name.encode()) < 64 for bone in ob.pose.bones))
            arm = next(bone for bone in ob.pose.bones if bone["joint_type"] == "hinge" and
                       bone["joint"] == "h")
            shown = [o for o in bpy.data.objects if o.type == "MESH"]
            self.assertIn(arm.name, [o.parent_bone for o in shown])
            self.assertIn(f"{letter * 70}arm", bpy.data.texts[0].as_string())
            set_joints([0.2])
            self.near(self.joints(ob), (0.2, 0.0, 0.07))
            for run in (lambda: bpy.ops.skel.extract_dh(tip=arm.name), bpy.ops.skel.bake_physics,
                        lambda: bpy.ops.skel.export_urdf(
                            filepath=os.path.join(common.TEMP, "cut.urdf"), from_bones=True)):
                self.assertEqual(run(), {"FINISHED"})

    def test_goals_obey_joints_that_go_with_others(self):
        _path, ob = self.gripper()
        target = bpy.data.objects.new("target", None)
        self.scene.collection.objects.link(target)
        goal = ob.skel_ik.goals.add()
        goal.bone, goal.target = "fr", target
        bpy.ops.skel.set_joints(values="0.4 0.05 0.03")
        now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        target.location = now.matrix_world @ now.pose.bones["fr"].tail
        bpy.ops.skel.set_joints()
        bpy.context.view_layer.update()
        self.scene.frame_end = 3
        self.assertEqual(bpy.ops.skel.bake_ik(), {"FINISHED"})
        self.scene.frame_set(2)
        q = self.joints(ob)
        self.assertAlmostEqual(q[2], q[3], 5)
        self.assertAlmostEqual(q[4], 0.5 - 3 * q[0], 5)
        now = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
        self.assertLess((now.pose.bones["fr"].tail - target.location).length, 1e-5)
        self.assertFalse(any(d.mute for d in ob.animation_data.drivers))

    def test_physics_of_a_robot(self):
        """Its base stands, slides slide, masses are those of its document; one that goes with
        another falls on its own, and the report says so."""
        _path, ob = self.gripper()
        ob.skel.ground = False
        ob.skel.friction = 0.0
        self.scene.frame_end = 6
        self.assertEqual(bpy.ops.skel.bake_physics(), {"FINISHED"})
        warnings = common.report_of(ob).warnings
        self.assertEqual([w for w in warnings if "mimics" in w],
                         ["joint 'right' mimics 'left' (and 1 more like it): dynamics has no such "
                          "constraint, it moves on its own"])
        self.scene.frame_set(6)
        q = self.joints(ob)                     # 0.21 s later; to its stop it takes 0.14
        self.near(ob.pose.bones["base"].location, (0, 0, 0))
        self.assertLess(abs(q[0]), 1e-4)        # its axis is upright
        self.assertGreater(q[1], -0.1001)       # it has fallen to its stop
        self.assertLess(q[1], -0.09)

    def test_torques_of_a_robot(self):
        """By the masses of its document: m g x of an arm that is held; I a of one that speeds up
        about an upright axis."""
        path = os.path.join(common.TEMP, "arm.urdf")
        for axis, wanted in (("0 1 0", -2.0 * 9.81 * 0.3),
                             ("0 0 1", 0.7 + 2.0 * (0.3 ** 2 + 0.1 ** 2))):
            self.scene = common.clear()
            with open(path, "w", encoding="utf-8") as file:
                file.write(ARM.replace("AXIS", axis))
            ob = self.bring(filepath=path)
            if axis == "0 0 1":                 # a = 1 rad/s²
                bone = ob.pose.bones["l1"]
                name, index, sign = self.skel.read_robots.joint_channel(bone)
                for frame in range(1, 21):
                    getattr(bone, name)[index] = sign * 0.5 * ((frame - 1) / 24) ** 2
                    bone.keyframe_insert(name, index=index, frame=frame)
            out = os.path.join(common.TEMP, "torque.csv")
            self.assertEqual(bpy.ops.skel.inverse_dynamics(frame_start=1, frame_end=20,
                                                           filepath=out), {"FINISHED"})
            with open(out, encoding="utf-8") as file:
                head, *rows = [line.split(",") for line in file.read().splitlines()]
            self.assertEqual(head, ["frame", "time", "j1.torque", "j1.power"])
            self.assertAlmostEqual(float(rows[9][2]), wanted, 2)

    def test_damaged_meshes_are_left_out(self):
        for name, data in (("a.stl", b"solid x\nvertex a b c\n"), ("b.obj", b"v 0 0\nf 1 2 9\n"),
                           ("c.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\nf 1 2 3\n")):
            with open(os.path.join(common.TEMP, name), "wb") as file:
                file.write(data)
        path = os.path.join(common.TEMP, "damaged.urdf")
        shown = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
                        for name in ("a.stl", "b.obj", "c.obj", "d.dae"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<robot name="damaged"><link name="base">{shown}</link></robot>')
        ob = self.bring(filepath=path)
        shapes = [o for o in bpy.data.objects if o.type == "MESH"]
        self.assertEqual([len(o.data.polygons) for o in shapes], [1])
        self.assertEqual(ob.pose.bones["base"]["meshes"].split(), ["a.stl", "b.obj", "c.obj",
                                                                   "d.dae"])

    def test_files_are_named(self):
        for name, data, words in (("a.urdf", b"<robot", "a.urdf: line 1"),
                                  ("b.json", b"{}", "b.json: format"),
                                  ("c.urdf", bytes(range(256)), "c.urdf: .*not text in UTF-8")):
            path = os.path.join(common.TEMP, name)
            with open(path, "wb") as file:
                file.write(data)
            with self.assertRaisesRegex(RuntimeError, words):
                bpy.ops.skel.import_robot(filepath=path)
        self.assertEqual(len(bpy.data.objects), 0)
        self.bring(preset="puma560")
        with self.assertRaisesRegex(RuntimeError, "none/t.json: No such file"):
            bpy.ops.skel.extract_dh(filepath=os.path.join(common.TEMP, "none", "t.json"))

    def reported(self, path, preset="NONE"):
        """What the import reports."""
        operator = unittest.mock.Mock(preset=preset, filepath=path)
        self.skel.operators_robots.SKEL_OT_import_robot.run(operator, bpy.context)
        return [call.args for call in operator.report.call_args_list]

    def test_prefixes_that_nothing_declares(self):
        """They are no error, as for the library."""
        text = ARM.replace("AXIS", "0 0 1").replace(
            '<link name="base"/>', '<tool:property name="a" value="1"/><link name="base">'
            '<visual tool:if="1"><geometry><box size="1 1 1"/></geometry></visual></link>')
        text = '\n <?xml version="1.0" encoding="UTF-8"?><!-- a -- b -->' + text
        path = self.written("prefix.urdf", text)
        self.bring(filepath=path)
        self.assertIn("base visual", bpy.data.objects)
        self.assertEqual(self.reported(path), [])

    def test_what_xacro_should_have_expanded(self):
        path = self.written("xacro.urdf", ARM.replace("AXIS", "0 0 1").replace(
            '<link name="base"/>', '<link name="base"/><xacro:arm side="left"/>'))
        with self.assertRaisesRegex(RuntimeError, "xacro.urdf: line 1: xacro:arm: is a macro, the "
                                    "file is an unexpanded xacro: run xacro first"):
            bpy.ops.skel.import_robot(filepath=path)
        self.assertEqual(len(bpy.data.objects), 0)

    def test_warnings_of_the_library_are_reported(self):
        """Swapped limits, Coulomb friction, a mass without inertia: as `skel check` has them."""
        more = limit(2, -2) + '<dynamics damping="1" friction="0.5"/>'
        path = self.written("odd.urdf", '<robot name="odd"><link name="base"/>' + link(
            "l1", 2, "0.3 0 0", 0) + joint("j1", "revolute", "base", "l1", "0 0 0", "0 1 0", more) +
            "</robot>")
        said = [words for _kind, words in self.reported(path)]
        self.assertEqual(len(said), 3, said)
        for words in ("limit: lower: is 2, must be at most upper", "is Coulomb friction",
                      "the mass counts as a point"):
            self.assertEqual(sum(words in each for each in said), 1, said)

    def exported(self):
        """The scene that Bake Physics would simulate."""
        path = os.path.join(common.TEMP, "robot.json")
        self.assertEqual(bpy.ops.skel.export_scene(filepath=path), {"FINISHED"})
        return json.loads(self.text_of(path))

    def test_masses_are_those_of_the_document(self):
        """In the exported scene, of the robots whose tables have masses and no inertias; the bake
        and its report say what is estimated."""
        for name in ("franka_panda", "ur3e", "ur5", "ur5e", "ur10", "ur10e", "ur20"):
            with self.subTest(robot=name):
                self.setUp()
                self.scene.frame_end = 3
                ob = self.bring(preset=name)
                with open(self.skel.robot_import.bundled_robots()[name], encoding="utf-8") as file:
                    rows = json.load(file)["joints"]
                bodies = {body["name"]: body for body in self.exported()["bodies"]}
                for row in rows:
                    body = bodies[row["link"]]
                    self.assertEqual(body["estimated"], "inertia" if "mass" in row else "mass")
                    if "mass" in row:
                        self.assertEqual(body["mass"], row["mass"])
        self.assertEqual(bpy.ops.skel.bake_physics(), {"FINISHED"})
        report = common.report_of(ob)
        for said in (report.warnings, report.warnings):
            self.assertEqual(sum("inertia is an estimate" in words for words in said), 1, said)

    def test_torques_of_a_ur5(self):
        """Held at a pose, joint by joint, beside the library's own of the document."""
        q = [0.3, -0.8, 1.1, -0.4, 0.9, 0.2]
        self.bring(preset="ur5")
        self.assertEqual(set_joints(q), {"FINISHED"})
        out = os.path.join(common.TEMP, "ur5.csv")
        self.assertEqual(bpy.ops.skel.inverse_dynamics(frame_start=1, frame_end=9, filepath=out),
                         {"FINISHED"})
        head, *rows = [line.split(",") for line in self.text_of(out).splitlines()]
        with self.skelpy.Scene.from_file(self.skel.robot_import.bundled_robots()["ur5"]) as scene, \
                self.skelpy.State(scene) as state:
            state.q = q
            must = list(state.inverse_dynamics([0.0] * 18, [0.0] * 18)[0])
            names = scene.joint_names
        self.assertGreater(max(map(abs, must)), 30.0)
        for name, tau in zip(names, must):
            self.assertAlmostEqual(float(rows[4][head.index(f"{name}.torque")]), tau, 3)

    def test_other_encodings(self):
        """As a document says of itself; its text is UTF-8 from then on."""
        text = ARM.replace("AXIS", "0 0 1").replace('"l1"', '"\xe9paule"')
        for name, codec in (("ISO-8859-1", "latin-1"), ("utf8", "utf-8"), ("nonsense", "utf-8")):
            common.clear()
            path = os.path.join(common.TEMP, "said.urdf")
            with open(path, "wb") as file:
                file.write((f'<?xml version="1.0" encoding="{name}"?>\n' + text).encode(codec))
            ob = self.bring(filepath=path)
            self.assertIn("\xe9paule", ob.pose.bones)
            out = os.path.join(common.TEMP, "again.urdf")
            self.assertEqual(bpy.ops.skel.export_urdf(filepath=out), {"FINISHED"})
            self.assertIn('"\xe9paule"', self.text_of(out))

    def test_properties_that_were_edited(self):
        """Operators say what is wrong; polls and panels do not fail."""
        ob = self.bring(preset="puma560")
        bone, path = ob.pose.bones["link2"], os.path.join(common.TEMP, "edited.urdf")
        runs = (bpy.ops.skel.set_joints, bpy.ops.skel.extract_dh, bpy.ops.skel.bake_physics,
                lambda: bpy.ops.skel.export_urdf(filepath=path, from_bones=True))
        panel = unittest.mock.Mock()
        for owner, name, value in ((bone, "joint_axis", "x"), (bone, "joint_limits", "ab"),
                                   (bone, "joint_mimic", "{"), (bone, "joint_sign", -5),
                                   (ob, "skel_robot", "[]"), (ob, "skel_robot", 5)):
            kept = owner.get(name)
            kept = kept.to_list() if hasattr(kept, "to_list") else kept
            owner[name] = value
            for run in runs if owner == bone else runs[:1]:
                with self.subTest(name=name), self.assertRaisesRegex(
                        RuntimeError, f"'{owner.name}': the property '{name}' must be"):
                    run()
            self.skel.panels_robots.SKEL_PT_joints.draw(panel, bpy.context)
            said = panel.columns().column().label.call_args.kwargs["text"]
            self.assertIn(f"'{name}' must be", said)
            del owner[name]
            if kept is not None:
                owner[name] = kept
        self.assertEqual(bpy.ops.skel.set_joints(), {"FINISHED"})
        ob["skel_source"] = 5
        self.assertEqual(bpy.ops.skel.export_urdf(filepath=path), {"FINISHED"})

    def test_a_failure_leaves_nothing(self):
        path, write = self.gripper()[0], self.skel.write_robots
        bpy.ops.object.mode_set(mode="POSE")
        before, active = write._blocks(), bpy.context.view_layer.objects.active
        for name in ("_add_bones", "_add_mimics", "_add_visuals"):
            with self.subTest(step=name), unittest.mock.patch.object(
                    write, name, side_effect=self.skel.errors.UserError("no more")), \
                    self.assertRaisesRegex(RuntimeError, "no more"):
                bpy.ops.skel.import_robot(filepath=path)
            self.assertEqual(write._blocks(), before)
            self.assertEqual(bpy.context.view_layer.objects.active, active)

    def test_prismatic_unit_scale_and_moved_object(self):
        self.scene.unit_settings.scale_length = 0.01
        ob = self.bring(preset="stanford")
        reach = self.skel.read_robots.robot_data(ob)["reach"]
        scene = self.skelpy.Scene.from_file(self.skel.robot_import.bundled_robots()["stanford"])
        ob.matrix_world = Matrix.Rotation(0.7, 4, "X") @ Matrix.Translation((100, 20, 3))
        q = random_q(self.rng, self.skel.read_robots.joint_bones(ob), 0.01)
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

    def test_table_of_an_ordinary_urdf(self):
        """With a tool or without, no bone need be named; the base is no end."""
        table = os.path.join(common.TEMP, "serial.json")
        for tool in ("", '<link name="tool0"/>' +
                     joint("f", "fixed", "l2", "tool0", "0.4 0 0", "0 0 1")):
            self.scene = common.clear()
            text = '<robot name="arm"><link name="base"/><link name="l1"/><link name="l2"/>' + \
                tool + joint("j1", "revolute", "base", "l1", "0 0 0.2", "0 0 1", limit(-1, 1)) + \
                joint("j2", "revolute", "l1", "l2", "0 0 0.3", "0 1 0", limit(-1, 1)) + "</robot>"
            path = self.written("serial.urdf", text)
            ob, scene = self.bring(filepath=path), self.skelpy.Scene.from_file(path)
            self.assertEqual(bpy.ops.skel.extract_dh(filepath=table), {"FINISHED"})
            made, q = self.skelpy.Scene.from_file(table), [0.3, -0.4]
            self.assertEqual(made.joint_names, ["j1", "j2"])
            if tool:
                self.assertLess(math.dist(frames_of(self.skelpy, made, q)["tool"][:3],
                                          frames_of(self.skelpy, scene, q)["tool0"][:3]), EXACT)
            with self.assertRaisesRegex(RuntimeError, "No joint moves 'base'"):
                bpy.ops.skel.extract_dh(tip="base")
            self.assertEqual(len(ob.pose.bones), 4 if tool else 3)

    def test_tables_report_their_cost(self):
        """Axes 1e-4 rad off parallel, as a URDF of few digits has them: the table has the size
        of the arm unless the user sets Snap, and the operator says what it cost."""
        turned = joint("j2", "revolute", "l1", "l2", "0 0.5 0", "0 0 1", limit(-1, 1)).replace(
            "<origin ", '<origin rpy="0.0001 0 0" ')
        self.assertIn("0.0001", turned)
        links = "".join(f'<link name="{name}"/>' for name in ("base", "l1", "l2", "l3", "tool0"))
        self.bring(filepath=self.written("turned.urdf", f'<robot name="arm">{links}' + joint(
            "j1", "revolute", "base", "l1", "0 0 0.2", "0 0 1", limit(-1, 1)) + turned + joint(
                "j3", "revolute", "l2", "l3", "0 0.4 0", "1 0 0", limit(-1, 1)) + joint(
                    "f", "fixed", "l3", "tool0", "0 0.1 0", "0 0 1") + "</robot>"))
        path = os.path.join(common.TEMP, "turned.json")
        for given, is_short, words in (({}, True, "were read as parallel"),
                                       ({"snap": 1e-5}, False, "do not round the numbers"),
                                       ({}, True, "were read as parallel")):
            self.assertEqual(bpy.ops.skel.extract_dh(filepath=path, **given), {"FINISHED"})
            receipt = json.loads(self.text_of(path))["receipt"]
            self.assertEqual(receipt["longest"] < 1, is_short, receipt)

            operator = unittest.mock.Mock(convention="standard", tip="", filepath=path, **given)
            operator.properties.is_property_set = given.__contains__
            said = self.skel.operators_robots.SKEL_OT_extract_dh.run(operator, bpy.context)
            ((kinds, warning),) = [call.args for call in operator.report.call_args_list]
            self.assertEqual(kinds, {"WARNING"})
            self.assertRegex(
                warning, f"the axes of 'j1' and 'j2' deviate from parallel .*{words}.* .Snap ")
            self.assertIn(f"'tool0': the tool is within {receipt['position_error']:.3g} m and "
                          f"{receipt['angle_error']:.3g} rad of its exact pose", said)

    def test_bones_without_angles(self):
        """A joint is set whatever the mode of its bone; its slider and physics tell the truth."""
        ob, q = self.bring(preset="puma560"), [0.5, -0.4, 0.3, -0.2, 0.1, 0.6]
        set_joints(q)
        tool = ob.pose.bones["tool"].head.copy()
        path, limits = os.path.join(common.TEMP, "scene.json"), []
        for mode in ("XYZ", "ZYX", "QUATERNION", "AXIS_ANGLE"):
            for bone in ob.pose.bones:
                bone.rotation_mode = mode
            self.near(self.joints(ob), q)
            self.assertAlmostEqual(ob.pose.bones["link2"].skel_angle, -0.4, 5)
            self.assertEqual(bpy.ops.skel.export_scene(filepath=path), {"FINISHED"})
            limits.append([v for each in json.loads(self.text_of(path))["joints"]
                           for v in each.get("limits", [])])
            self.assertEqual(len(limits[-1]), 12)
            self.near(limits[-1], limits[0])
            set_joints([0.0] * 6)
            self.near(self.joints(ob), [0.0] * 6)
            for bone in ob.pose.bones:
                bone.rotation_mode = mode
            ob.pose.bones["link2"].skel_angle = -0.4
            self.near(self.joints(ob), [0.0, -0.4, 0.0, 0.0, 0.0, 0.0])
            set_joints(q)
            self.assertLess((ob.pose.bones["tool"].head - tool).length, EXACT)

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
