# SPDX-License-Identifier: BSD-3-Clause
"""What the overlay draws, without Blender: shapes of the document in the axes of their bones."""

import dataclasses
import math
import unittest
from array import array

from test_addon import algebra, build, chain_shot, core, freeze, matrix, thaw

drawing, report, wrap = core.drawing, core.report, core.wrap
Place = drawing.Place
IDENTITY = (1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0)


def world_of(shot, item, frame=0):
    """The matrix of a drawn item in the world, from the poses of a frame."""
    if item.place.kind == "WORLD":
        return list(item.matrix)
    i = next(n for n, bone in enumerate(shot.bones) if bone.blender_name == item.place.name)
    at = 16 * (frame * len(shot.bones) + i)
    bone = drawing.product(shot.objects[16 * frame:16 * frame + 16], shot.poses[at:at + 16])
    return drawing.product(bone, item.matrix)


def items(found, kind, role=None):
    return [item for item in found.items if item.kind == kind and role in (None, item.role)]


class Matrices(unittest.TestCase):
    def test_inverse(self):
        m = drawing.product(matrix((1, -2, 3), algebra.q_about((1, 2, 3), 0.7)),
                            (2.0, 0, 0, 0, 0, 0.5, 0, 0, 0.1, 0, 3.0, 0, 0, 0, 0, 1.0))
        back = drawing.inverse(m)
        for both in (drawing.product(m, back), drawing.product(back, m)):
            for a, b in zip(both, IDENTITY):
                self.assertAlmostEqual(a, b, delta=1e-12)

    def test_a_flat_matrix_has_no_inverse(self):
        self.assertIsNone(drawing.inverse((1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 0.0, 0, 0, 0, 0, 1.0)))

    def test_axes_are_those_of_a_right_handed_frame(self):
        m = drawing.matrix_of_axes((1, 2, 3), (1, 1, 0), (0, 2, 0))
        self.assertAlmostEqual(algebra.determinant(m), 1.0)
        self.assertEqual(list(m[8:11]), [0, 1, 0])
        self.assertEqual(list(m[12:15]), [1, 2, 3])


class Bodies(unittest.TestCase):
    def setUp(self):
        self.draft = chain_shot(4, preset="TAIL")

    def test_bodies_are_where_the_document_has_them(self):
        """Whatever the unit, the scale of the armature and the shapes of its bodies are."""
        for unit, scale in ((1.0, 1.0), (0.01, 1.0), (1.0, 2.5)):
            draft = chain_shot(4, preset="TAIL")
            draft.unit = unit
            size = (scale, 0, 0, 0, 0, scale, 0, 0, 0, 0, scale, 0, 3.0, 1.0, 0, 1.0)
            draft.objects = array("f", size * len(draft.frames))
            made = build(draft)
            found = drawing.drawn_items(made)
            capsules = items(found, "capsule")
            self.assertEqual(len(capsules), len(made.scene.bodies))
            for body, item in zip(made.scene.bodies, capsules):
                m = world_of(made.plan.shot, item)
                pose = drawing.body_pose(body)
                self.assertLess(math.dist(algebra.times(m[12:15], unit), pose[:3]), 2e-6 * scale)
                along = algebra.q_rotate(pose[3:7], (0, 0, 1))
                self.assertLess(math.dist(m[8:11], along), 2e-6)
                self.assertAlmostEqual(item.size[0] * unit, body.shape["radius"])
                self.assertAlmostEqual(item.size[1] * unit, body.shape["length"])

    def test_other_shapes_and_offsets(self):
        """Only the document counts: another shape at another place is drawn there."""
        made = build(self.draft)
        body = made.scene.bodies[2]
        body.shape = {"type": "box", "size": [0.1, 0.2, 0.3]}
        body.position = algebra.add(body.position, (0.05, 0, 0.02))
        item = items(drawing.drawn_items(made), "box")[0]
        self.assertEqual((item.place, item.size), (Place("BONE", body.name), (0.1, 0.2, 0.3)))
        self.assertLess(math.dist(world_of(made.plan.shot, item)[12:15], body.position), 1e-6)

    def test_bodies_move_with_their_bones(self):
        made = build(self.draft)
        shot = made.plan.shot
        moved = thaw(shot)
        turn = matrix((0.3, -1, 2), algebra.q_about((0, 1, 2), 1.1))
        moved.poses = array("f", [v for k in range(0, len(shot.poses), 16)
                                  for v in drawing.product(turn, shot.poses[k:k + 16])])
        for item in items(drawing.drawn_items(made), "capsule"):
            expected = drawing.product(turn, world_of(shot, item))
            for a, b in zip(world_of(freeze(moved), item), expected):
                self.assertAlmostEqual(a, b, delta=1e-5)

    def test_roles_have_their_colours(self):
        self.draft.bones[1].settings.role = "PINNED"
        self.draft.bones[3].settings.role = "NONE"
        found = drawing.drawn_items(build(self.draft))
        roles = {item.place.name: item.role for item in found.items
                 if item.kind in ("capsule", "line") and item.role in drawing.COLOURS
                 and item.role not in ("AXIS", "LIMIT")}
        names = [bone.name for bone in self.draft.bones]
        self.assertEqual([roles[name] for name in names], ["DRIVEN", "PINNED", "DYNAMIC", "NONE"])

    def test_soft_masses(self):
        self.draft.bones[3].settings.role = "SOFT"
        made = build(self.draft)
        item = items(drawing.drawn_items(made), "sphere", "SOFT")[0]
        soft = made.scene.wobble[0]
        self.assertAlmostEqual(0.4 * soft.mass * item.size[0] ** 2, max(soft.inertia))
        self.assertLess(math.dist(world_of(made.plan.shot, item)[12:15], soft.position), 1e-6)

    def test_obstacles_stay_with_their_objects(self):
        placed = matrix((1, 2, 3), algebra.q_about((0, 0, 1), 0.3))
        self.draft.colliders = [thaw(core.shot.Collider("crate", "BOX", (1.0, 2.0, 0.5),
                                                        matrices=array("f", placed)))]
        made = build(self.draft)
        for objects, place in (({"crate": placed}, Place("OBJECT", "crate")), ({}, Place())):
            item = items(drawing.drawn_items(made, objects), "box", "OBSTACLE")[0]
            self.assertEqual((item.place, item.size), (place, (1.0, 2.0, 0.5)))
            expected = IDENTITY if objects else placed
            for a, b in zip(item.matrix, expected):
                self.assertAlmostEqual(a, b, delta=1e-6)

    def test_numbers_that_are_used(self):
        made = build(self.draft)
        numbers = drawing.used_numbers(made)
        self.assertEqual(set(numbers.masses), {bone.name for bone in self.draft.bones})
        self.assertAlmostEqual(numbers.total, sum(body.mass for body in made.scene.bodies))
        self.assertTrue(all(value > 0 for value in (*numbers.masses.values(),
                                                    *numbers.radii.values())))

        # The radius that is shown, given by the user, gives the same body.
        name = self.draft.bones[2].name
        self.draft.bones[2].settings.radius = numbers.radii[name]
        again = drawing.used_numbers(build(self.draft))
        self.assertAlmostEqual(again.radii[name], numbers.radii[name])

    def test_centre_of_mass(self):
        made = build(self.draft)
        shot, found = made.plan.shot, drawing.drawn_items(made)
        points = []
        for mass in found.masses:
            at = drawing.Drawn("cross", (1.0,), Place("BONE", mass.bone),
                               (*IDENTITY[:12], *mass.centre, 1.0), "CENTRE")
            points.append((mass.mass, world_of(shot, at)[12:15]))
        centre = drawing.centre_of_mass(points)
        bodies = [(body.mass, body.position) for body in made.scene.bodies]
        self.assertLess(math.dist(centre, drawing.centre_of_mass(bodies)), 1e-6)

    def test_a_bone_of_no_size_is_not_drawn(self):
        made = build(self.draft)
        shot = thaw(made.plan.shot)
        shot.poses = array("f", shot.poses)
        shot.poses[16:28] = array("f", 12 * [0.0])
        plan = dataclasses.replace(made.plan, shot=freeze(shot))
        found = drawing.drawn_items(dataclasses.replace(made, plan=plan))
        self.assertEqual(len(items(found, "capsule")), len(made.scene.bodies) - 1)


class Joints(unittest.TestCase):
    def joints(self, **settings):
        """The joints of the third bone of a chain."""
        draft = chain_shot(3, preset="TAIL")
        for name, value in settings.items():
            setattr(draft.bones[2].settings, name, value)
        made = build(draft)
        name = draft.bones[2].name
        return made, [joint for joint in drawing.drawn_items(made).joints
                      if joint.child.name == name]

    def test_hinge(self):
        made, (joint,) = self.joints(joint="HINGE", axis="X", limits="CUSTOM", limit_low=-0.5,
                                     limit_high=1.2)
        document = made.scene.joints[-1]
        self.assertEqual(joint.kind, "hinge")
        self.assertLess(max(abs(a - b) for a, b in zip(joint.turns, document.limits)), 1e-12)
        for place, m in ((joint.parent, joint.in_parent), (joint.child, joint.in_child)):
            world = world_of(made.plan.shot, drawing.Drawn("line", (1,), place, m, "AXIS"))
            self.assertLess(math.dist(world[12:15], document.anchor), 1e-6)
            self.assertLess(math.dist(world[8:11], document.axis), 1e-6)
        kinds = [item.kind for item in drawing.joint_items(joint)]
        self.assertEqual(kinds, ["axis", "arc", "arc"])

    def test_ball_with_cone_and_twist(self):
        made, (joint,) = self.joints(joint="BALL", limits="CUSTOM", cone=0.6, twist=0.3)
        self.assertEqual((joint.kind, joint.cone), ("ball", 0.6))
        self.assertLess(max(abs(a - b) for a, b in zip(joint.twist, (-0.3, 0.3))), 1e-12)

        # At rest the bone is in the middle of its cone.
        shot = made.plan.shot
        outer, inner = (world_of(shot, drawing.Drawn("line", (1,), place, m, "AXIS"))
                        for place, m in ((joint.parent, joint.in_parent),
                                         (joint.child, joint.in_child)))
        frames = made.scene.joints[-1].frames
        angle = algebra.angle_between(frames[0]["orientation"], frames[1]["orientation"])
        self.assertAlmostEqual(math.acos(min(1.0, algebra.dot(outer[8:11], inner[8:11]))), angle,
                               delta=1e-3)

    def test_universal_is_two_hinges(self):
        _, found = self.joints(joint="UNIVERSAL")
        self.assertEqual([joint.kind for joint in found], ["universal", "universal"])
        self.assertTrue(all(joint.turns for joint in found))
        self.assertLess(abs(algebra.dot(found[0].in_parent[8:11], found[1].in_parent[8:11])), 1e-6)

    def test_joints_without_limits_and_fixed_joints(self):
        _, (ball,) = self.joints(joint="BALL", limits="NONE")
        self.assertEqual([item.kind for item in drawing.joint_items(ball)], ["cross"])
        _, (hinge,) = self.joints(joint="HINGE", limits="NONE")
        self.assertEqual([item.kind for item in drawing.joint_items(hinge)], ["axis"])
        self.assertEqual(self.joints(joint="FIXED")[1], [])


class Shapes(unittest.TestCase):
    SIZES = {"capsule": (0.1, 0.5), "cylinder": (0.1, 0.5), "sphere": (0.2,),
             "box": (0.2, 0.3, 0.4), "arc": (0.4, -0.5, 1.0), "cone": (0.5, 0.7), "ground": (2.0,),
             "cross": (0.1,), "centre": (0.1,), "line": (0.7,), "axis": (0.3,)}

    def distance(self, kind, point):
        """How far a point is from the surface of a shape."""
        x, y, z = point
        if kind == "sphere":
            return abs(math.hypot(x, y, z) - 0.2)
        if kind == "capsule":
            return abs(math.hypot(x, y, max(abs(z) - 0.25, 0.0)) - 0.1)
        if kind == "cylinder":
            return min(abs(math.hypot(x, y) - 0.1), abs(abs(z) - 0.25))
        return min(abs(abs(v) - edge / 2) for v, edge in zip(point, self.SIZES["box"]))

    def test_lines_are_pairs(self):
        self.assertEqual(set(self.SIZES), set(drawing._LINES))
        for kind, size in self.SIZES.items():
            points = drawing.lines_of(kind, size)
            self.assertTrue(points and len(points) % 2 == 0, kind)

    def test_lines_and_surfaces_are_on_the_shape(self):
        for kind in ("capsule", "cylinder", "sphere", "box"):
            points, triangles = drawing.surface_of(kind, self.SIZES[kind])
            for point in (*drawing.lines_of(kind, self.SIZES[kind]), *points):
                self.assertLess(self.distance(kind, point), 1e-9, (kind, point))
            self.assertEqual({n for triangle in triangles for n in triangle},
                             set(range(len(points))))

    def test_surfaces_are_closed(self):
        """The divergence theorem: the volume inside is nearly that of the shape."""
        volumes = {"capsule": math.pi * 0.01 * 0.5 + 4 / 3 * math.pi * 0.001,
                   "cylinder": math.pi * 0.01 * 0.5, "sphere": 4 / 3 * math.pi * 0.008,
                   "box": 0.2 * 0.3 * 0.4}
        for kind, volume in volumes.items():
            points, triangles = drawing.surface_of(kind, self.SIZES[kind])
            inside = sum(algebra.dot(points[a], algebra.cross(points[b], points[c]))
                         for a, b, c in triangles) / 6
            self.assertGreater(abs(inside), 0.8 * volume, kind)
            self.assertLess(abs(inside), 1.001 * volume, kind)

    def test_arc_goes_from_limit_to_limit(self):
        points = drawing.lines_of("arc", (0.4, -0.5, 1.0))
        angles = [math.atan2(y, x) for x, y, _ in points if math.hypot(x, y) > 0]
        self.assertAlmostEqual(min(angles), -0.5)
        self.assertAlmostEqual(max(angles), 1.0)

    def test_cone_has_its_angle(self):
        for x, y, z in drawing.lines_of("cone", (0.5, 0.7)):
            if x or y or z:
                self.assertAlmostEqual(math.atan2(math.hypot(x, y), z), 0.7)


class Messages(unittest.TestCase):
    def test_wrap(self):
        text = "The bone 'forearm.L' is 0.3 m below the ground at frame 12"
        for width in (8, 12, 20, 200):
            lines = wrap.wrap(text, width, len)
            self.assertTrue(all(len(line) <= max(width, 1) for line in lines), lines)
            self.assertEqual("".join(lines).replace(" ", ""), text.replace(" ", ""))
        self.assertEqual(wrap.wrap(text, 200, len), [text])
        self.assertEqual(wrap.wrap("", 10, len), [""])
        self.assertEqual(wrap.wrap("a\nb c", 10, len), ["a", "b c"])
        self.assertEqual(wrap.wrap("abcdef", 2, len), ["ab", "cd", "ef"])
        self.assertEqual(len(wrap.wrap("word " * 500, 10, len)), wrap.LINES_MAX)

    def test_problems_name_bone_and_frame(self):
        bones = {"hand.L", "it's", "spine"}
        for text, bone, frame in (
                ("The bone 'hand.L' is 2 m below the ground at frame 12 and", "hand.L", 12),
                ("'crate' and 'spine' overlap at the start", "spine", None),
                ("'it's' jumps from frame -3 to -2", "it's", -3),
                ("joint 'spine.joint' closes a loop", "spine", None),
                ("Force fields do not act on bones", "", None)):
            found = report.problem_of(text, bones)
            self.assertEqual((found.bone, found.frame), (bone, frame), text)
            self.assertEqual(found.text[1:], text[1:])
            self.assertFalse(found.text[0].islower())

    def test_a_warning_may_say_where_to_look(self):
        warning = report.Located("Both feet slide", "hand.L", 7)
        self.assertEqual(warning, "Both feet slide")
        self.assertEqual(report.problem_of(warning, ()),
                         report.Problem("Both feet slide", "hand.L", 7))

    def test_words_of_the_library_are_replaced(self):
        found = report.problem_of("the start velocities violated the joints by 1.19 m/s; they were "
                                  "projected", ())
        self.assertEqual(found.text, "The first frames move faster than the joints allow, by 1.19 "
                         "m/s. The start velocities were adjusted")

    def test_what_cannot_be_seen_is_no_problem(self):
        words = "the start velocities violated the joints by %s m/s; they were projected"
        for speed, shown in (("4.5e-06", 0), ("0.02", 1)):
            made = report.BakeReport("figure", (1, 72), {}, [], (words % speed,))
            self.assertEqual(len(made.problems), shown)
            self.assertEqual(made.headline.startswith("OK"), not shown)

    def test_first_line(self):
        made = report.BakeReport("figure", (1, 72), {}, [], ())
        self.assertEqual(made.headline, "OK, frames 1 to 72")
        self.assertEqual(dataclasses.replace(made, warnings=("a",)).headline, "1 thing to look at")
        self.assertEqual(dataclasses.replace(made, warnings=("a", "b")).headline,
                         "2 things to look at")


if __name__ == "__main__":
    unittest.main()
