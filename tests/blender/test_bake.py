# SPDX-License-Identifier: BSD-3-Clause
"""Physics in a real Blender: what the user sees is what the engine computed."""

import math
import unittest

import bpy
from mathutils import Euler, Matrix

import common

EXACT = 1e-5                    # of the bone's length


def askew(ob):
    """How far the axes of the bones at rest are from right angles and unit length: what a rigid
    body cannot show. 1e-7 from 4.0 on; before, up to 4e-6 where a bone points back along its
    parent, as arms and legs do."""
    worst = 0.0
    for bone in ob.data.bones:
        axes = [[float(v) for v in column[:3]] for column in bone.matrix_local.col[:3]]
        for i in range(3):
            for j in range(3):
                dot = sum(a * b for a, b in zip(axes[i], axes[j]))
                worst = max(worst, abs(dot - (i == j)))
    return worst


def result_of(ob, **settings):
    """(shot, plan, document) of the armature, as the operator would have them."""
    skel = common.addon()
    first, last = skel.read.frame_range(bpy.context.scene, ob)
    with skel.takes.source(ob):
        plan = skel.work.run(common.read_plan(ob, first, last, ob.skel.frame_step, **settings))
    build, _scene = skel.work.run(skel.bake.prepare(plan))
    return plan.shot, plan, build.document().to_json()


def bone_line(skel, pose, offset):
    """Head of a bone, and its y axis, from the pose of its body: plain Python, no rounding."""
    c = skel.algebra
    head = [p + d for p, d in zip(pose[:3], c.q_rotate(pose[3:7], offset[:3]))]
    turn = c.q_mul(pose[3:7], offset[3:])
    return head, c.q_rotate(turn, (0, 1, 0)), c.q_rotate(turn, (1, 0, 0))


def in_world(ob, bone):
    """Head, y axis and x axis of a pose bone in the world, in doubles."""
    m, p = [list(r) for r in ob.matrix_world], [list(r) for r in bone.matrix]
    both = [[sum(m[i][k] * p[k][j] for k in range(4)) for j in range(4)] for i in range(3)]

    def column(j):
        v = [row[j] for row in both]
        n = math.sqrt(sum(x * x for x in v))
        return [x / n for x in v]

    return [row[3] for row in both], column(1), column(0)


class Baked(unittest.TestCase):
    """What is baked beside what plays."""

    def setUp(self):
        self.scene = common.clear()
        self.skel = common.addon()

    def bake(self, ob, **options):
        """The armature as the button bakes it."""
        bpy.context.view_layer.objects.active = ob
        self.assertEqual(bpy.ops.skel.bake_physics(**options), {"FINISHED"})

    def compare(self, ob, bound=EXACT, **options):
        """Bakes by hand and by button, with keys at every frame; the largest difference in parts of
        a bone's length."""
        common.key_every_frame(ob)
        shot, plan, text = result_of(ob)
        job = self.skel.binding.skelpy.bake(text)
        self.bake(ob, **options)
        worst, unit = (0.0, '', ''), self.scene.unit_settings.scale_length
        for n, frame in enumerate(range(shot.frame_start, shot.frame_end + 1, shot.frame_step)):
            self.scene.frame_set(frame)
            for i in plan.own_bodies:
                bone = ob.pose.bones[shot.bones[i].name]
                pose = job.pose(n, bone.name)
                head, y, x = bone_line(self.skel, pose, plan.bones[i].offset)
                got_head, got_y, got_x = in_world(ob, bone)
                length = bone.bone.length * ob.matrix_world.median_scale * unit
                off = math.dist(head, [unit * v for v in got_head]) / length
                worst = max(worst, (off, bone.name, "head"), (math.dist(y, got_y), bone.name, "y"),
                            (math.dist(x, got_x), bone.name, "x"))
        print("{}: off by {:.2e} of a bone's length ({}, {})".format(
            self.id().rsplit(".", 1)[-1], *worst))
        worst = worst[0]
        self.assertLess(worst, bound + 2 * askew(ob))
        self.assertLess(common.report_of(ob).playback_error, 2 * (bound + 2 * askew(ob)))
        return worst

    def figure(self):
        ob = common.add_armature(common.HUMANOID)
        self.scene.frame_end = 30
        return ob


class Physics(Baked):
    def test_humanoid_every_mode_scaled_turned(self):
        ob = self.figure()
        common.all_modes(ob)
        common.pose(ob)
        ob.matrix_world = Matrix.Translation((0.3, -0.2, 0.4)) @ \
            Euler((0.2, 0.1, 1.9)).to_matrix().to_4x4() @ Matrix.Scale(1.7, 4)
        bpy.context.view_layer.update()
        self.compare(ob)

    def test_each_mode(self):
        for mode in common.MODES:
            with self.subTest(mode=mode):
                self.setUp()
                ob = self.figure()
                self.scene.frame_end = 15
                for bone in ob.pose.bones:
                    bone.rotation_mode = mode
                common.pose(ob, 3)
                self.compare(ob)

    def test_inherit_flags_and_bone_scale(self):
        ob = self.figure()
        common.all_modes(ob)
        bones = ob.data.bones
        for name in ("chest", "forearm.L", "foot.R"):
            bones[name].use_inherit_rotation = False
        for name in ("neck", "thigh.L"):
            bones[name].inherit_scale = "NONE"
        for name in ("upper_arm.L", "thigh.R", "pelvis"):
            bones[name].use_local_location = False
        common.pose(ob)
        ob.pose.bones["chest"].scale = (1.3, 1.3, 1.3)
        ob.pose.bones["pelvis"].scale = (0.9, 0.9, 0.9)
        bpy.context.view_layer.update()
        self.compare(ob)

    def test_moving_parent_unit_scale_fps_base(self):
        ob = self.figure()
        self.scene.unit_settings.scale_length = 0.5
        self.scene.render.fps, self.scene.render.fps_base = 30, 1.001
        empty = bpy.data.objects.new("cart", None)
        self.scene.collection.objects.link(empty)
        ob.parent = empty
        ob.rotation_euler = (0, 0, 0.7)
        empty.keyframe_insert("location", frame=1)
        empty.location, empty.rotation_euler = (0.5, 1, 0.2), (0, 0, 2)
        empty.keyframe_insert("location", frame=30)
        empty.keyframe_insert("rotation_euler", frame=30)
        self.scene.frame_set(1)
        self.compare(ob)

    def test_step(self):
        ob = self.figure()
        ob.skel.frame_step = 3
        self.compare(ob)

    def test_bones_between_that_have_no_body(self):
        """A control bone above, a helper between, both animated: what hangs from them is right."""
        rows = [("master", None, (0, 0, 0), (0, 0.5, 0), 0.0, False)]
        rows += [(n, p or "master", h, t, r, c) for n, p, h, t, r, c in common.HUMANOID]
        rows.append(("helper", "chest", (0.3, 0, 1.4), (0.4, 0, 1.4), 0.5, False))
        rows.append(("bag", "helper", (0.4, 0, 1.4), (0.4, 0, 1.2), 0.0, False))
        ob = common.add_armature(rows)
        self.scene.frame_end = 25
        for name in ("master", "helper"):
            ob.data.bones[name].use_deform = False
            bone = ob.pose.bones[name]
            bone.rotation_mode = "XYZ"
            bone.keyframe_insert("rotation_euler", frame=1)
            bone.rotation_euler = (0.1, 0.3, 0.2)
            bone.keyframe_insert("rotation_euler", frame=25)
        self.scene.frame_set(1)
        before = len(common.curves(ob)[('pose.bones["master"].rotation_euler', 0)].keyframe_points)
        self.compare(ob)
        after = common.curves(ob)[('pose.bones["master"].rotation_euler', 0)].keyframe_points
        self.assertEqual(len(after), before)

    def test_ragdoll_falls_and_rests(self):
        ob = self.figure()
        self.scene.frame_end = 90
        self.bake(ob)
        at = common.bone_matrices(ob, [1, 88, 90])
        for name, matrix in at[2].items():
            low = min(matrix.translation.z, (matrix @ Matrix.Translation(
                (0, ob.pose.bones[name].bone.length, 0))).translation.z)
            self.assertGreater(low, -0.01, name)
        self.assertLess(at[2]["head"].translation.z, 0.5)
        moved = max((at[1][n].translation - at[2][n].translation).length for n in at[2])
        self.assertLess(moved, 0.05)
        report = common.report_of(ob)
        self.assertLess(report.summary["energy_drift"], 1e-6)
        self.assertLess(report.summary["joint_gap"], 1e-6)
        self.assertTrue(all(isinstance(v, str) for row in self.skel.panels.rows_of(report)
                            for v in row))

    def test_start_moving(self):
        """Keyed to fly at 2 m/s along x, then let go: a parabola."""
        ob = self.figure()
        ob.skel.ground = False
        root = ob.pose.bones["pelvis"]
        axis = ob.data.bones["pelvis"].matrix_local.to_3x3().inverted()
        for frame in range(-8, 12, 4):
            root.location = axis @ Matrix.Translation((2.0 * frame / 24, 0, 0)).translation
            root.keyframe_insert("location", frame=frame)
        for curve in common.curves(ob).values():
            for key in curve.keyframe_points:
                key.interpolation = "LINEAR"
        self.scene.frame_start, self.scene.frame_end = 4, 16
        self.scene.frame_set(4)
        self.bake(ob)
        a, b = common.bone_matrices(ob, [4, 16])
        t = 12 / 24
        for name in ("pelvis", "head", "foot.L"):
            path = b[name].translation - a[name].translation
            self.assertAlmostEqual(path.x, 2 * t, delta=0.02)
            self.assertAlmostEqual(path.z, -9.81 / 2 * t * t, delta=0.02)
        self.setUp()
        ob = self.figure()
        ob.skel.ground, ob.skel.start_velocity = False, False

    def test_limits_of_the_rig(self):
        """A hinge by Limit Rotation, one by IK locks and limits: both keep their range."""
        ob = common.chain(3, 0.4)
        ob.skel.preset, ob.skel.ground = "TAIL", False
        self.scene.frame_end = 60
        limit = ob.pose.bones["link1"].constraints.new("LIMIT_ROTATION")
        limit.owner_space = "LOCAL"
        limit.use_limit_x = limit.use_limit_y = limit.use_limit_z = True
        limit.min_x, limit.max_x = -0.3, 0.2
        last = ob.pose.bones["link2"]
        last.lock_ik_y = last.lock_ik_z = True
        last.use_ik_limit_x, last.ik_min_x, last.ik_max_x = True, -0.5, 0.4
        ob.skel.mute_constraints = True
        self.bake(ob)
        self.assertTrue(limit.mute)
        most = {"link1": 0.0, "link2": 0.0}
        for frame in range(1, 61):
            self.scene.frame_set(frame)
            for name, low, high in (("link1", -0.3, 0.2), ("link2", -0.5, 0.4)):
                turn = ob.pose.bones[name].matrix_basis.to_euler()
                self.assertLess(abs(turn.y) + abs(turn.z), 1e-4)
                self.assertTrue(low - 1e-3 < turn.x < high + 1e-3, (name, frame, turn.x))
                most[name] = max(most[name], abs(turn.x))
        self.assertGreater(most["link1"], 0.19)     # it went all the way, and stopped
        self.assertGreater(most["link2"], 0.39)

    def test_planar_root(self):
        """It falls freely in its plane, and leaves it neither by moving nor by turning."""
        ob = common.chain(2, 0.4)
        ob.skel.ground, self.scene.frame_end = False, 20
        root, axes = ob.pose.bones["link0"], ob.data.bones["link0"].matrix_local.to_3x3()
        across = max(range(3), key=lambda k: abs(axes.col[k].y))
        root.skel.joint, root.skel.axis = "PLANAR", "XYZ"[across]
        self.compare(ob)
        for frame in range(1, 21):
            self.scene.frame_set(frame)
            self.assertLess(abs(root.head.y), 1e-5)
            self.assertGreater(abs(root.matrix.to_3x3().col[across].y), 1 - 1e-5)
        self.assertAlmostEqual(root.head.z, 2 - 9.81 / 2 * (19 / 24) ** 2, delta=0.01)

    def test_planar_child(self):
        """It slides across its animated parent, which stands still, and gets keys of both kinds.
        A connected bone cannot."""
        ob = common.chain(2, 0.4)
        ob.skel.preset, ob.skel.ground, self.scene.frame_end = "TAIL", False, 20
        bone, axes = ob.pose.bones["link1"], ob.data.bones["link1"].matrix_local.to_3x3()
        across = max(range(3), key=lambda k: abs(axes.col[k].y))
        bone.skel.joint, bone.skel.axis = "PLANAR", "XYZ"[across]
        with self.assertRaisesRegex(RuntimeError, "'link1' cannot slide.*Turn off Connected"):
            bpy.ops.skel.bake_physics()

        bpy.ops.object.mode_set(mode="EDIT")
        ob.data.edit_bones["link1"].use_connect = False
        bpy.ops.object.mode_set(mode="OBJECT")
        self.compare(ob)
        paths = {path for path, _index in common.curves(ob)}
        self.assertIn('pose.bones["link1"].location', paths)
        self.assertIn('pose.bones["link1"].rotation_quaternion', paths)
        self.scene.frame_set(20)
        self.assertLess(abs(bone.head.y), 1e-5)
        self.assertLess(bone.head.z, 1.0)

    def test_screw(self):
        """A nut runs down a vertical bolt: the distance is the angle times the pitch, over more
        than a turn."""
        rows = [("bolt", None, (0, 0, 2), (0, 0, 1), 0.0, False),
                ("nut", "bolt", (0, 0, 1.9), (0, 0, 1.8), 0.0, False)]
        ob = common.add_armature(rows)
        ob.skel.preset, ob.skel.ground, self.scene.frame_end = "TAIL", False, 20
        nut = ob.pose.bones["nut"]
        nut.rotation_mode = "YXZ"
        nut.skel.joint, nut.skel.pitch, nut.skel.friction = "SCREW", 2.0, 0.0
        self.compare(ob)
        angles = []
        for frame in range(1, 21):
            self.scene.frame_set(frame)
            place = nut.matrix_basis.translation
            angles.append(nut.rotation_euler.y)
            self.assertLess(abs(place.x) + abs(place.z), 1e-4)
            self.assertAlmostEqual(place.y, 2.0 * angles[-1] / (2 * math.pi), delta=1e-4)
        self.assertEqual(angles, sorted(angles))
        self.assertGreater(angles[-1], 2 * math.pi)
        self.assertLess(nut.head.z, 1.5)

    def test_tail_follows_its_root(self):
        ob = common.chain(6, 0.2)
        ob.skel.preset, ob.skel.ground = "TAIL", False
        root = ob.pose.bones["link0"]
        root.rotation_mode = "XYZ"
        for frame, turn in ((1, 0.0), (20, 0.8), (40, -0.8)):
            root.rotation_euler = (0, 0, turn)
            root.keyframe_insert("rotation_euler", frame=frame)
        kept = common.dump_action(ob.animation_data.action)
        self.scene.frame_set(1)
        self.compare(ob)
        now = common.dump_action(ob.animation_data.action)
        for row in kept:
            self.assertIn(row, now)                 # the root keeps its keys, to the bit
        self.assertFalse(any("link0" in path and "location" in path for path, *_ in now))

    def test_follow_is_closer_than_falling(self):
        far = {}
        for hertz in (1.0, 12.0):
            self.setUp()
            ob = self.figure()
            common.key_all(ob, 1)
            common.pose(ob, 5, 0.3)
            common.key_all(ob, 30)
            self.scene.frame_set(1)
            wanted = common.bone_matrices(ob, range(1, 31))
            ob.skel.preset, ob.skel.follow, ob.skel.ground = "FOLLOW", hertz, False
            for bone in ob.pose.bones:
                bone.skel.collide = False       # the wanted pose passes through itself
            self.bake(ob)
            got = common.bone_matrices(ob, range(1, 31))
            far[hertz] = max((a[n].translation - b[n].translation).length
                             for a, b in zip(wanted, got) for n in a)
        self.assertLess(far[12.0], 0.5 * far[1.0])
        self.assertLess(far[12.0], 0.05)

    def test_soft_bone_wobbles_and_stays(self):
        rows = [("body", None, (0, 0, 1), (0, 0, 1.5), 0.3, False),
                ("belly", "body", (0, -0.1, 1.2), (0, -0.3, 1.2), 0.2, False)]
        ob = common.add_armature(rows)
        ob.skel.preset, ob.skel.ground = "SOFT", False
        body = ob.pose.bones["body"]
        for frame, height in ((1, 0.0), (10, 0.3), (14, 0.0), (40, 0.0)):
            body.location = (0, height, 0)
            body.keyframe_insert("location", frame=frame)
        self.scene.frame_set(1)
        self.compare(ob)
        off = [m["belly"].translation - m["body"] @ Matrix.Translation((0, 0, 0)).translation
               for m in common.bone_matrices(ob, range(1, 41))]
        span = max((a - off[0]).length for a in off)
        self.assertGreater(span, 0.002)
        self.assertLess(span, 0.2)

    def test_pinned_hand_hangs(self):
        ob = self.figure()
        self.scene.frame_end = 30
        ob.skel.ground = False
        ob.pose.bones["hand.L"].skel.role = "PINNED"
        start = common.bone_matrices(ob, [1])[0]
        self.compare(ob)
        end = common.bone_matrices(ob, [30])[0]
        moved = {n: (start[n].translation - end[n].translation).length for n in end}
        self.assertLess(moved["hand.L"], 1e-5)
        self.assertGreater(moved["pelvis"], 0.2)

    def test_held_at_two_ends(self):
        """A hand is pinned and the head goes as animated, which closes a loop, in every preset that
        has to read the animation."""
        for preset in ("RAGDOLL", "FOLLOW"):
            self.scene = common.clear()
            ob = self.figure()
            self.scene.frame_end = 12
            for k, frame in enumerate((-6, 12)):
                common.pose(ob, k, 0.1)
                common.key_all(ob, frame)
            ob.skel.preset, ob.skel.ground = preset, False
            for name, role in (("pelvis", "DYNAMIC"), ("head", "DRIVEN"), ("hand.L", "PINNED")):
                ob.pose.bones[name].skel.role = role
            before = common.bone_matrices(ob, [1, 12])
            self.bake(ob)
            after = common.bone_matrices(ob, [1, 12])
            for frame in (0, 1):
                off = after[frame]["hand.L"].translation - before[0]["hand.L"].translation
                self.assertLess(off.length, 1e-5)
            off = after[1]["head"].translation - before[1]["head"].translation
            self.assertLess(off.length, 1e-5)

    def test_obstacles(self):
        """A box to land on, a flat mesh as a slope."""
        ob = self.figure()
        self.scene.frame_end = 60
        ob.skel.ground = False
        collection = bpy.data.collections.new("things")
        self.scene.collection.children.link(collection)
        mesh = bpy.data.meshes.new("box")
        mesh.from_pydata([(x, y, z) for x in (-2, 2) for y in (-2, 2) for z in (-0.25, 0.25)], [],
                         [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4),
                          (1, 5, 7, 3)])
        box = bpy.data.objects.new("pelvis", mesh)  # named like a bone
        box.location = (0, 0, -0.75)
        collection.objects.link(box)
        ob.skel.obstacles = collection
        bpy.context.view_layer.update()
        self.bake(ob)
        at = common.bone_matrices(ob, [60])[0]
        for name, matrix in at.items():
            self.assertGreater(matrix.translation.z, -0.56, name)
        self.assertLess(at["head"].translation.z, 0.4)

    def test_round_obstacle(self):
        """A mesh that is a ball is one: what falls on its side slides off."""
        ob = common.chain(2, height=1.2)
        ob.location.x = 0.25
        ob.skel.ground = False
        self.scene.frame_end = 40
        collection, mesh = bpy.data.collections.new("things"), bpy.data.meshes.new("ball")
        points, faces = self.skel.robot_shapes.sphere(0.5)
        mesh.from_pydata(points, [], faces)
        ball = bpy.data.objects.new("ball", mesh)
        collection.objects.link(ball)
        ob.skel.obstacles = collection
        bpy.context.view_layer.update()
        shot = common.read_shot(ob, 1, 40)
        self.assertEqual([c.kind for c in shot.colliders], ["SPHERE"])
        self.bake(ob)
        self.assertLess(common.bone_matrices(ob, [40])[0]["link1"].translation.z, 0.3)
        ball.scale = (1, 1, 1.5)
        bpy.context.view_layer.update()
        shot = common.read_shot(ob, 1, 40)
        self.assertEqual([c.kind for c in shot.colliders], ["BOX"])

    def test_same_motion_at_any_frame_rate(self):
        places = {}
        for fps in (24, 48):
            self.setUp()
            ob = self.figure()
            self.scene.render.fps = fps
            self.scene.frame_end = 1 + fps
            self.bake(ob)
            places[fps] = common.bone_matrices(ob, [1 + fps // 2])[0]
        for name in places[24]:
            gap = (places[24][name].translation - places[48][name].translation).length
            self.assertLess(gap, 1e-5, name)

    def test_mass_from_mesh(self):
        ob = self.figure()
        ring = [(0.1 * math.cos(a * math.pi / 8), 0.1 * math.sin(a * math.pi / 8))
                for a in range(16)]
        for side, x in (("L", 0.1), ("R", -0.1)):
            mesh = bpy.data.meshes.new("leg")
            mesh.from_pydata([(x + dx, y, z) for z in (0.5, 0.93) for dx, y in ring], [],
                             [tuple(range(15, -1, -1)), tuple(range(16, 32))] +
                             [(k, (k + 1) % 16, 16 + (k + 1) % 16, 16 + k) for k in range(16)])
            skin = bpy.data.objects.new("leg", mesh)
            self.scene.collection.objects.link(skin)
            skin.vertex_groups.new(name=f"thigh.{side}").add(range(32), 1.0, "ADD")
            skin.modifiers.new("a", "ARMATURE").object = ob
        bpy.context.view_layer.update()
        ob.skel.mass_from = "MESH"
        body = self.document(ob).body("thigh.L")
        area = 0.5 * 16 * 0.1 ** 2 * math.sin(math.pi / 8)
        self.assertAlmostEqual(body.mass, 1000 * area * 0.43, delta=0.01 * body.mass)
        self.assertAlmostEqual(body.shape["radius"], 0.1, delta=0.02)
        ob.skel.total_mass = 75
        bodies = self.document(ob).bodies
        self.assertAlmostEqual(sum(body.mass for body in bodies), 75, places=6)

    def document(self, ob):
        return self.skel.binding.scene.Scene.from_json(result_of(ob)[2])


if __name__ == "__main__":
    unittest.main()
