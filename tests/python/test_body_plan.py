# SPDX-License-Identifier: BSD-3-Clause
"""The body plan: rules on small rigs that were made for them, and laws on rigs of others."""

import functools
import math
import unittest
from dataclasses import replace

import fake_skin
import rig_files
from rig_files import RIGS, bone, core, rig, scaled

try:
    from skelpy import fit
except ImportError:
    fit = None

plans, words, shapes = core("body_plan"), core("words"), core("body_shape")
algebra, rest_of, masses = core("algebra"), core("body_rest"), core("body_mass")
BoneSettings = core("shot").BoneSettings


# ---- rigs ----

def mirrored(rows):
    """Rows of the left side and their images on the right."""
    out = list(rows)
    for name, parent, head, tail in rows:
        def flip(text):
            return text[:-1] + "R" if text.endswith(".L") else text
        out.append((flip(name), flip(parent), (-head[0], *head[1:]), (-tail[0], *tail[1:])))
    return out


LEG = [("thigh.L", "hips", (0.1, 0, 0.92), (0.1, 0, 0.5)),
       ("shin.L", "thigh.L", (0.1, 0, 0.5), (0.1, 0, 0.08)),
       ("foot.L", "shin.L", (0.1, 0, 0.08), (0.1, -0.14, 0.02)),
       ("toe.L", "foot.L", (0.1, -0.14, 0.02), (0.1, -0.2, 0.02))]
ARM = [("shoulder.L", "chest", (0.03, 0, 1.42), (0.18, 0, 1.45)),
       ("upper_arm.L", "shoulder.L", (0.18, 0, 1.45), (0.46, 0, 1.45)),
       ("forearm.L", "upper_arm.L", (0.46, 0, 1.45), (0.71, 0, 1.45)),
       ("hand.L", "forearm.L", (0.71, 0, 1.45), (0.80, 0, 1.45)),
       ("f_index.01.L", "hand.L", (0.80, -0.02, 1.45), (0.85, -0.02, 1.45)),
       ("f_index.02.L", "f_index.01.L", (0.85, -0.02, 1.45), (0.89, -0.02, 1.45))]
TRUNK = [("hips", "", (0, 0, 0.95), (0, 0, 1.1)), ("spine", "hips", (0, 0, 1.1), (0, 0, 1.28)),
         ("chest", "spine", (0, 0, 1.28), (0, 0, 1.48)),
         ("neck", "chest", (0, 0, 1.48), (0, 0, 1.57)),
         ("head", "neck", (0, 0, 1.57), (0, 0, 1.75))]


def figure():
    return rig(*TRUNK, *mirrored(LEG), *mirrored(ARM))


def nameless(bones):
    return [replace(b, name=f"Node_{n}") for n, b in enumerate(bones)]


def turned(bones, q):
    """The same heads; every bone is turned by q in its own axes, as importers leave them."""
    out = []
    for b in bones:
        own = algebra.q_mul(algebra.q_of_matrix(b.rest), q)
        axes = [algebra.q_rotate(own, axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
        m = [v for axis in axes for v in (*axis, 0.0)]
        out.append(replace(b, rest=(*m, *b.rest[12:16])))
    return out


def skin_of(bones, radii, blend=0.0):
    """A closed tube about each bone that has a radius. The vertices near the head follow the parent
    as well, by `blend`."""
    points, faces, weights = [], [], []
    for n, b in enumerate(bones):
        radius = radii.get(b.name, 0.0) if isinstance(radii, dict) else radii
        if not radius:
            continue
        head, tail = b.ends[:3], b.ends[3:]
        some, corners = fake_skin.tube(head, tail, radius)
        faces += [tuple(len(points) + k for k in face) for face in corners]
        points += some
        for p in some:
            t = sum((p[k] - head[k]) * (tail[k] - head[k]) for k in range(3)) / b.length ** 2
            share = blend * max(0.0, 1 - 3 * t) if b.parent >= 0 else 0.0
            weights.append({n: 1 - share, b.parent: share} if share > 0 else {n: 1.0})
    return points, faces, weights


def fake(bones, radii, blend=0.0):
    return fake_skin.FakeSkin(*skin_of(bones, radii, blend), len(bones))


# ---- what the tests ask ----

def edges(plan, bones):
    """{bone of a body: bone of its parent}."""
    return {bones[b.bone].name: bones[plan.bodies[b.parent].bone].name if b.parent >= 0 else ""
            for b in plan.bodies}


def reason(plan, bones, name):
    return plan.reasons[[b.name for b in bones].index(name)]


def body(plan, bones, name):
    return next(b for b in plan.bodies if bones[b.bone].name == name)


def share(plan, *parts):
    return sum(b.mass_share for b in plan.bodies if b.part in parts)


def holds_together(test, plan, bones):
    """Bones that coincide at rest are in one body, or joints connect them at this place."""
    ends = [(2 * n + k, p) for n, b in enumerate(bones)
            for k, p in enumerate((b.ends[:3], b.ends[3:]))]
    grid = rest_of.Grid(1e-3 * max(b.length for b in bones), ends)
    for key, point in ends:
        for d, other in grid.near(point):
            a, b = (plan.body_of[k // 2] for k in (key, other))
            near = 1e-3 * min(bones[key // 2].length, bones[other // 2].length)
            if d > near or a < 0 or b < 0 or not (bones[key // 2].deform and
                                                  bones[other // 2].deform):
                continue
            for n in way(plan, a, b):
                test.assertLess(math.dist(plan.bodies[n].joint, point), 2e-3 * plan.size,
                                (bones[key // 2].name, bones[other // 2].name))


def way(plan, a, b):
    """The bodies whose joints are between two bodies."""
    def above(n):
        return [n] + (above(plan.bodies[n].parent) if plan.bodies[n].parent >= 0 else [])
    one, two = above(a), above(b)
    return [n for n in one if n not in two] + [n for n in two if n not in one]


def check_laws(test, plan, bones):
    """What holds for every plan."""
    test.assertAlmostEqual(sum(b.mass_share for b in plan.bodies), 1.0, places=9)
    for n, b in enumerate(plan.bodies):
        test.assertLess(b.parent, n)
        test.assertEqual(plan.reasons[b.bone], "")
        test.assertEqual(b.bones[0], b.bone)
        test.assertTrue(all(plan.body_of[k] == n for k in b.bones))
        test.assertGreater(b.mass_share, 0)
        test.assertGreater(b.volume, 0)
    standing = {b.bone for b in plan.bodies}
    for n, text in enumerate(plan.reasons):
        test.assertEqual(n not in standing, bool(text), bones[n].name)
    test.assertEqual(sorted(n for piece in plan.pieces for n in piece),
                     list(range(len(plan.bodies))))
    holds_together(test, plan, bones)


# ---- words ----

class Words(unittest.TestCase):
    def test_parts(self):
        for name, part, side in (
                ("ribbon", "rope", ""), ("string", "rope", ""), ("spring", "other", ""),
                ("earring", "other", ""), ("whip", "other", ""), ("armor_plate", "other", ""),
                ("rear_wheel", "other", ""), ("Ring", "other", ""), ("chip", "other", ""),
                ("mixamorig:LeftHandRing1", "finger", "L"), ("mixamorig:Hips", "pelvis", ""),
                ("mixamorig:RightUpLeg", "thigh", "R"), ("mixamorig:LeftToeBase", "toe", "L"),
                ("Bip01 L Thigh", "thigh", "L"), ("ValveBiped.Bip01_R_Forearm", "forearm", "R"),
                ("DEF-f_index.01.L", "finger", "L"), ("DEF-upper_arm.L.001", "upper_arm", "L"),
                ("DEF-front_thigh.R", "upper_arm", "R"), ("forefoot.L", "hand", "L"),
                ("leftleg", "thigh", "L"), ("rhand", "hand", "R"), ("calf_l", "shin", "L"),
                ("b_LeftUpperArm_09", "upper_arm", "L"), ("footL", "foot", "L"),
                ("Skeleton_arm_joint_L__4_", "upper_arm", "L"), ("ball_r", "toe", "R"),
                ("HeadTop_End", "head", ""), ("lower_leg.R", "shin", "R"),
                ("Node_12", "other", "")):
            with self.subTest(name):
                found = words.read_name(name)
                self.assertEqual((found.part, found.side), (part, side))

    def test_marks(self):
        self.assertTrue(words.read_name("CC_Base_L_ThighTwist01").is_twist)
        self.assertFalse(words.read_name("twister").is_twist)
        self.assertTrue(words.read_name("LeftHand_end").is_end)
        self.assertTrue(words.read_name("Nub.L").is_end)
        self.assertFalse(words.read_name("bend.L").is_end)
        self.assertTrue(words.read_name("b_Root_00").is_root)
        self.assertFalse(words.read_name("root_spine").is_root)


# ---- which bones, and what they hang on ----

class Candidates(unittest.TestCase):
    def test_figure(self):
        bones = figure()
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        found = edges(plan, bones)
        self.assertEqual(len(found), 19)
        self.assertEqual(found["thigh.L"], "hips")
        self.assertEqual(found["upper_arm.R"], "shoulder.R")
        self.assertEqual(reason(plan, bones, "f_index.02.L"), "small detail")
        self.assertEqual(reason(plan, bones, "toe.R"), "small detail")
        self.assertEqual(plan.body_of[[b.name for b in bones].index("f_index.02.L")],
                         plan.bodies.index(body(plan, bones, "hand.L")))

    def test_controls_and_bones_without_skin(self):
        usual = [bone("stake", (0, 0, 0), (0, 0, 0.9)),
                 bone("ctrl", (0, 1, 0), (0, 1, 0.5), deform=False)]
        usual += [replace(b, parent=b.parent + 2 if b.parent >= 0 else -1) for b in figure()]
        radii = {b.name: 0.04 for b in usual[2:]}
        skin = fake(usual, radii, 0.5)
        bones = [replace(b, parent=0) if b.name == "hips" else b for b in usual]
        plan = plans.plan_bodies(bones, skin)
        check_laws(self, plan, bones)
        self.assertEqual(reason(plan, bones, "stake"), "no skin follows it")
        self.assertEqual(reason(plan, bones, "ctrl"), "not a deform bone")
        self.assertEqual(edges(plan, bones)["hips"], "")

    def test_a_prop_is_no_skin_of_the_figure(self):
        bones = figure()
        plan = plans.plan_bodies(bones, fake(bones, {"hand.L": 0.03}))
        self.assertFalse(plan.whole_skin)
        self.assertEqual(len(plan.bodies), 19)

    def test_end_markers_and_roots(self):
        bones = rig(("root", "", (0, 0, 0), (0, 0.3, 0)), ("a", "root", (0, 0, 1), (0, 0, 1.5)),
                    ("b", "a", (0, 0, 1.5), (0, 0, 2)),
                    ("b_end", "b", (0, 0, 2.5), (0, 0, 2.6)))
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        self.assertEqual(edges(plan, bones), {"a": "", "b": "a"})
        self.assertEqual(reason(plan, bones, "b_end"), "end marker")
        self.assertEqual(reason(plan, bones, "root"), "root without a body")
        one, two, radius = body(plan, bones, "b").shape.ends
        self.assertAlmostEqual(max(one[2], two[2]) + radius, 2.5)       # it reaches to the marker

    def test_backward_tail(self):
        """The bones of the tail run from its tip to the pelvis."""
        bones = rig(("tail.003", "", (0, 1.5, 1), (0, 1.2, 1)),
                    ("tail.002", "tail.003", (0, 1.2, 1), (0, 0.9, 1)),
                    ("tail.001", "tail.002", (0, 0.9, 1), (0, 0.5, 1)),
                    ("pelvis", "", (0, 0.5, 1), (0, 0, 1)),
                    ("chest", "pelvis", (0, 0, 1), (0, -0.5, 1)))
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        self.assertEqual(edges(plan, bones), {"pelvis": "", "chest": "pelvis", "tail.001": "pelvis",
                                              "tail.002": "tail.001", "tail.003": "tail.002"})
        self.assertEqual(body(plan, bones, "tail.001").joint, (0, 0.5, 1))
        self.assertEqual(len(plan.pieces), 1)

    def rigify_like(self):
        """Deform bones hang on controls that lie on them; the limb is divided into two links."""
        still = {"deform": False}
        rows = [("root", "", (0, 0, 0), (0, 0.5, 0), still)]
        above = {"spine": "root", "thigh.L": "spine", "shin.L": "thigh.L", "thigh.R": "spine",
                 "shin.R": "thigh.R"}
        place = {"spine": ((0, 0, 1), (0, 0, 1.6)), "thigh.L": ((0.1, 0, 1), (0.1, 0, 0.5)),
                 "shin.L": ((0.1, 0, 0.5), (0.1, 0.05, 0)),
                 "thigh.R": ((-0.1, 0, 1), (-0.1, 0, 0.5)),
                 "shin.R": ((-0.1, 0, 0.5), (-0.1, 0.05, 0))}
        for name, (head, tail) in place.items():
            up = above[name]
            rows.append((f"ORG-{name}", f"ORG-{up}" if up != "root" else up, head, tail, still))
        for name, (head, tail) in place.items():
            middle = tuple((a + b) / 2 for a, b in zip(head, tail))
            if name == "spine":
                rows.append((f"DEF-{name}", f"ORG-{name}", head, tail))
            else:
                rows.append((f"DEF-{name}", f"ORG-{name}", head, middle))
                rows.append((f"DEF-{name}.001", f"DEF-{name}", middle, tail))
        return rig(*rows)

    def test_coinciding_bones(self):
        bones = self.rigify_like()
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        self.assertEqual(edges(plan, bones), {
            "DEF-spine": "", "DEF-thigh.L": "DEF-spine", "DEF-thigh.R": "DEF-spine",
            "DEF-shin.L": "DEF-thigh.L", "DEF-shin.R": "DEF-thigh.R"})
        self.assertEqual(reason(plan, bones, "DEF-shin.L.001"), "a part of 'DEF-shin.L'")

        # Controls that lie on deform bones move with their bodies, the root with none.
        of = {b.name: plan.body_of[n] for n, b in enumerate(bones)}
        self.assertEqual(of["ORG-shin.R"], of["DEF-shin.R"])
        self.assertEqual(of["root"], -1)

    def test_feet_under_the_root(self):
        """Where an animator moves them."""
        for skinned in (False, True):
            bones = figure()
            names = [b.name for b in bones]
            for side in "LR":
                n = names.index(f"foot.{side}")
                bones[n] = replace(bones[n], parent=0)
            skin = None
            if skinned:
                # The skin is that of the usual hierarchy.
                usual = figure()
                skin = fake(usual, 0.04, 0.5)
            plan = plans.plan_bodies(bones, skin)
            check_laws(self, plan, bones)
            found = edges(plan, bones)
            self.assertEqual((found["foot.L"], found["foot.R"]), ("shin.L", "shin.R"), skinned)
            self.assertEqual(found["hips"], "")

    def test_shared_skin_connects(self):
        """No hierarchy and no ends that meet: only the skin tells."""
        usual = rig(("a", "", (0, 0, 0), (0, 0, 0.9)), ("b", "a", (0, 0, 1), (0, 0, 1.9)),
                    ("c", "b", (0, 0, 2), (0, 0, 2.9)))
        skin = fake(usual, 0.2, 0.6)
        bones = [replace(b, parent=-1) for b in usual]
        plan = plans.plan_bodies(bones, skin)
        self.assertEqual(len(plan.pieces), 1)
        found = edges(plan, bones)
        self.assertTrue({("a", "b"), ("b", "a")} & set(found.items()))
        self.assertFalse({("a", "c"), ("c", "a")} & set(found.items()))

    def test_pieces(self):
        """Strands of equal weight stay apart, a warning names them, and they can be joined."""
        rows = [("root", "", (0, 0, 3), (0, 0.2, 3), {"deform": False})]
        for s in range(3):
            for k in range(6):
                rows.append((f"s{s}_{k}", f"s{s}_{k - 1}" if k else "root",
                             (0.3 * s, 0, 3 - 0.4 * k), (0.3 * s, 0, 2.6 - 0.4 * k)))
        bones = rig(*rows)
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        self.assertEqual([len(piece) for piece in plan.pieces], [6, 6, 6])
        self.assertIn("3 pieces", plan.warnings[0])
        self.assertIn("'s1_0'", plan.warnings[0])
        joined = plans.plan_bodies(bones, None, join_all=True)
        self.assertEqual((len(joined.pieces), joined.warnings), (1, ()))

    def test_a_light_piece_is_joined(self):
        rows = [("root", "", (0, 0, 0), (0, 0.2, 0), {"deform": False})]
        rows += [(name, parent or "root", head, tail) for name, parent, head, tail in TRUNK]
        rows.append(("hat", "root", (0, 0.03, 1.8), (0, 0.03, 2.1)))
        bones = rig(*rows)
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        self.assertEqual(edges(plan, bones)["hat"], "head")


# ---- which bones are one body ----

class Merging(unittest.TestCase):
    def test_twist_bones(self):
        rows = [*TRUNK, *mirrored(LEG), *mirrored(ARM),
                ("ThighTwist01.L", "thigh.L", (0.1, 0, 0.8), (0.1, 0, 0.7)),
                ("helper.L", "forearm.L", (0.58, 0, 1.45), (0.65, 0, 1.45))]
        bones = rig(*rows)
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        for name in ("ThighTwist01.L", "helper.L"):
            self.assertEqual(reason(plan, bones, name), "twist bone")
        self.assertEqual(len(plan.bodies), 19)

    def test_rope(self):
        """A link of 1.7 % of the size is no detail if the others are like it."""
        rows = [("base", "", (0, 0, 0), (0, 0, 0.2))]
        rows += [(f"rope{k}", f"rope{k - 1}" if k else "base", (0.05 * k, 0, 0.2),
                  (0.05 * (k + 1), 0, 0.2)) for k in range(60)]
        bones = rig(*rows)
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        self.assertEqual(len(plan.bodies), 61)
        self.assertEqual((plan.creature, plan.touching), ("", ()))
        self.assertEqual(edges(plan, bones)["rope59"], "rope58")

    def test_stubs(self):
        """A half of the pelvis begins where the hips begin; a thigh that does is none."""
        rows = [("Hips", "", (0, 0, 1), (0, 0, 1.1))]
        for side, x in (("L", 0.1), ("R", -0.1)):
            rows += [(f"{side}HipJoint", "Hips", (0, 0, 1), (x, 0, 0.95)),
                     (f"UpLeg.{side}", f"{side}HipJoint", (x, 0, 0.95), (x, 0, 0.5)),
                     (f"Leg.{side}", f"UpLeg.{side}", (x, 0, 0.5), (x, 0, 0))]
        rows += [("Spine", "Hips", (0, 0, 1.1), (0, 0, 1.8)),
                 ("arm", "Hips", (0, 0, 1), (0.5, 0, 1))]
        bones = rig(*rows)
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        found = edges(plan, bones)
        self.assertEqual((found["UpLeg.L"], found["arm"]), ("Hips", "Hips"))
        self.assertNotIn("LHipJoint", found)
        self.assertEqual(body(plan, bones, "UpLeg.R").joint, (-0.1, 0, 0.95))
        self.assertEqual(body(plan, bones, "Leg.R").part, "shin")

    def test_flesh_and_short_links(self):
        rows = [*TRUNK[:3], ("neck", "chest", (0, 0, 1.48), (0, 0, 1.51)),
                ("head", "neck", (0, 0, 1.51), (0, 0, 1.75)),
                ("breast.L", "chest", (0.08, -0.08, 1.35), (0.08, -0.2, 1.35)),
                ("breast.R", "chest", (-0.08, -0.08, 1.35), (-0.08, -0.2, 1.35))]
        bones = rig(*rows, *mirrored(LEG))
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        self.assertEqual(reason(plan, bones, "breast.R"), "flesh on its parent")
        self.assertEqual(reason(plan, bones, "neck"), "short link")
        self.assertEqual(edges(plan, bones)["head"], "chest")

    def test_small_branches(self):
        """The branch counts, not the bone: a short first link of a long branch stays."""
        base = ("base", "", (0, 0, 0), (0, 0, 2))
        bones = rig(base, ("a", "base", (0, 0, 2), (0, 0, 2.1)),
                    ("b", "a", (0, 0, 2.1), (0, 0, 2.2)),
                    ("knob", "base", (0, 0, 1), (0, 0.1, 1)),
                    ("knob2", "knob", (0, 0.1, 1), (0, 0.12, 1)),
                    ("long", "base", (0, 0, 0.5), (0, 0.1, 0.5)),
                    ("long2", "long", (0, 0.1, 0.5), (0, 1, 0.5)))
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        for name in ("knob", "knob2"):
            self.assertEqual(reason(plan, bones, name), "small detail")
        self.assertIn("long2", edges(plan, bones))
        self.assertNotEqual(reason(plan, bones, "long2"), "small detail")


class WordOfTheUser(unittest.TestCase):
    def test_roles(self):
        bones = figure()
        names = [b.name for b in bones]
        for name, role in (("f_index.02.L", "DYNAMIC"), ("shin.R", "NONE"), ("toe.L", "PINNED")):
            n = names.index(name)
            bones[n] = replace(bones[n], settings=BoneSettings(role=role))
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        found = edges(plan, bones)
        self.assertEqual(found["toe.L"], "foot.L")
        self.assertIn(found["f_index.02.L"], ("hand.L", "f_index.01.L"))
        self.assertEqual(found["foot.R"], "thigh.R")
        self.assertEqual(reason(plan, bones, "shin.R"), "set to Not Simulated")

    def test_refused_root(self):
        bones = figure()
        bones[0] = replace(bones[0], settings=BoneSettings(role="NONE"))
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        self.assertEqual(len(plan.pieces), 1)
        self.assertNotIn("hips", edges(plan, bones))

        # Only the left forearm and hand may move.
        bones = [b if b.name in ("forearm.L", "hand.L") else
                 replace(b, settings=BoneSettings(role="NONE")) for b in bones]
        plan = plans.plan_bodies(bones, None)
        check_laws(self, plan, bones)
        self.assertEqual(edges(plan, bones), {"forearm.L": "", "hand.L": "forearm.L"})

    def test_nothing_is_left(self):
        bones = [replace(b, settings=BoneSettings(role="NONE")) for b in figure()]
        plan = plans.plan_bodies(bones, None)
        check_plan = (plan.bodies, plan.pieces, set(plan.body_of), set(plan.reasons))
        self.assertEqual(check_plan, ((), (), {-1}, {"set to Not Simulated"}))
        self.assertEqual(plans.plan_bodies([], None).bodies, ())

    def test_a_bone_without_skin(self):
        bones = figure()
        radii = {b.name: 0.04 for b in bones if b.name != "head"}
        skin = fake(bones, radii, 0.5)
        self.assertNotIn("head", edges(plans.plan_bodies(bones, skin), bones))
        n = [b.name for b in bones].index("head")
        bones[n] = replace(bones[n], settings=BoneSettings(role="DYNAMIC"))
        plan = plans.plan_bodies(bones, skin)
        check_laws(self, plan, bones)
        self.assertEqual(edges(plan, bones)["head"], "neck")

    def test_selected_bones(self):
        """Each selected bone is a body, also a control, a finger and a twist bone."""
        bones = figure()
        bones.append(bone("ctrl", (0, 0, 2), (0, 0, 2.2), 4, deform=False))
        bones.append(bone("twist.L", (0.1, 0, 0.8), (0.1, 0, 0.7), 5))
        only = {n for n, b in enumerate(bones)
                if b.name in ("f_index.01.L", "f_index.02.L", "ctrl", "twist.L")}
        plan = plans.plan_bodies(bones, None, only)
        check_laws(self, plan, bones)
        found = edges(plan, bones)
        self.assertEqual((found["f_index.01.L"], found["f_index.02.L"]), ("hand.L", "f_index.01.L"))
        self.assertEqual((found["ctrl"], found["twist.L"]), ("head", "thigh.L"))
        self.assertNotIn("f_index.01.R", found)


# ---- parts, limits, shapes, masses ----

class Anatomy(unittest.TestCase):
    def test_place_tells_parts(self):
        bones = figure()
        named, plain = (plans.plan_bodies(some, None) for some in (bones, nameless(bones)))
        self.assertEqual((named.creature, plain.creature), ("human", "human"))
        for b in plain.bodies:
            known = next((c for c in named.bodies if c.bone == b.bone), None)
            if known:
                self.assertEqual((b.part, b.side), (known.part, known.side), bones[b.bone].name)

    def test_straight_knee_and_elbow(self):
        bones = figure()
        plan = plans.plan_bodies(bones, None)
        for name, d, swing in (("shin.L", (0, 0, -1), (0, 1, 0)), ("shin.R", (0, 0, -1), (0, 1, 0)),
                               ("forearm.L", (1, 0, 0), (0, -1, 0)),
                               ("forearm.R", (-1, 0, 0), (0, -1, 0))):
            axis, low, high = body(plan, bones, name).hinge
            moved = algebra.cross(axis, d)
            self.assertGreater(algebra.dot(moved, swing), 0.99, name)
            self.assertAlmostEqual(high, math.radians(140))
            self.assertLess(low, 0)
        self.assertIsNone(body(plan, bones, "thigh.L").hinge)

    def test_bent_knee(self):
        """A bend at rest tells the axis, and straight is the end of the range."""
        leg = [LEG[0], ("shin.L", "thigh.L", (0.1, 0, 0.5), (0.1, 0.2, 0.1)),
               ("foot.L", "shin.L", (0.1, 0.2, 0.1), (0.1, 0.05, 0.05))]
        bones = rig(*TRUNK, *mirrored(leg), *mirrored(ARM))
        plan = plans.plan_bodies(bones, None)
        axis, low, high = body(plan, bones, "shin.L").hinge
        bend = math.atan2(0.2, 0.4)
        self.assertAlmostEqual(low, -bend)
        self.assertAlmostEqual(high, math.radians(140) - bend)
        self.assertGreater(algebra.dot(algebra.cross(axis, (0, 0, -1)), (0, 1, 0)), 0.9)

    def test_spine_is_split(self):
        bones = figure()
        plan = plans.plan_bodies(bones, None)
        self.assertAlmostEqual(body(plan, bones, "chest").cone, math.radians(25) / 2)
        self.assertAlmostEqual(body(plan, bones, "thigh.L").cone, math.radians(60))


class Shapes(unittest.TestCase):
    def test_axes_of_bones_do_not_matter(self):
        """Bones that are turned by 90 or 180 degrees have the bodies of those that are not."""
        bones = figure()
        usual = plans.plan_bodies(bones, None)
        for axis, angle in (((1, 0, 0), 90), ((0, 0, 1), 90), ((1, 0, 0), 180)):
            some = turned(bones, algebra.q_about(axis, math.radians(angle)))
            plan = plans.plan_bodies(some, None)
            self.assertEqual(edges(plan, some), edges(usual, bones))
            for name in ("thigh.L", "shin.R", "upper_arm.L", "forearm.R", "chest"):
                a, b = (body(p, bones, name).shape for p in (usual, plan))
                self.assertLess(math.dist(a.centre, b.centre), 0.02, (name, axis, angle))
                along = [algebra.q_rotate(s.orientation, (0, 0, 1)) for s in (a, b)]
                self.assertGreater(abs(algebra.dot(*along)), 0.99, (name, axis, angle))

    def test_limbs_lie_along_their_joints(self):
        bones = figure()
        plan = plans.plan_bodies(bones, None)
        for name, head, tail in (("thigh.L", (0.1, 0, 0.92), (0.1, 0, 0.5)),
                                 ("forearm.R", (-0.46, 0, 1.45), (-0.71, 0, 1.45))):
            a, b, radius = body(plan, bones, name).shape.ends
            self.assertAlmostEqual(math.dist(a, b) + 2 * radius, math.dist(head, tail))
            self.assertLess(math.dist(body(plan, bones, name).shape.centre,
                                      [(p + q) / 2 for p, q in zip(head, tail)]), 1e-9)

    def test_both_sides_are_alike(self):
        bones = figure()
        skin = fake(bones, {b.name: 0.05 if b.name.endswith("L") else 0.055 for b in bones}, 0.4)
        plan = plans.plan_bodies(bones, skin)
        for name in ("thigh", "shin", "upper_arm", "forearm"):
            left, right = (body(plan, bones, f"{name}.{side}") for side in "LR")
            self.assertEqual(left.shape.radius, right.shape.radius)
            self.assertAlmostEqual(left.mass_share, right.mass_share)
            self.assertAlmostEqual(left.shape.centre[0], -right.shape.centre[0])
        skin = fake(bones, {b.name: 0.03 if b.name.endswith("L") else 0.06 for b in bones}, 0.4)
        plan = plans.plan_bodies(bones, skin)
        left, right = (body(plan, bones, f"thigh.{side}").shape.radius for side in "LR")
        self.assertLess(left, 0.7 * right)

    def test_overlaps(self):
        bones = rig(("a", "", (0, 0, 0), (1, 0, 0)), ("b", "a", (1, 0, 0), (1, 1, 0)),
                    ("c", "b", (1, 1, 0), (0.5, 0.05, 0)))
        plan = plans.plan_bodies(bones, None)
        self.assertEqual(plan.touching, ((0, 2),))

    def test_distance_of_segments(self):
        for a, b, c, d, wanted in (
                ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), 1.0),
                ((0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), 1.0),
                ((0, 0, 0), (1, 0, 0), (0.5, -1, 2), (0.5, 1, 2), 2.0),
                ((0, 0, 0), (0, 0, 0), (3, 4, 0), (3, 4, 0), 5.0),
                ((0, 0, 0), (1, 0, 0), (2, 1, 0), (1, 5, 0), math.sqrt(2))):
            self.assertAlmostEqual(shapes.segment_distance(a, b, c, d), wanted)

    def test_radius_of_a_volume(self):
        for total, volume in ((1.0, 0.01), (0.2, 0.003), (1.0, 2.0)):
            length, radius = shapes.radius_of_volume(total, volume)
            self.assertAlmostEqual(shapes.capsule_volume(length, radius), volume)
            self.assertTrue(length == 0 or abs(length + 2 * radius - total) < 1e-9)

    def test_capsules_are_adjusted(self):
        """To the volume of the skin, by at most a tenth of the radius."""
        shape = shapes.BodyShape("capsule", (0, 0, 0), (1, 0, 0, 0), 1.0, 0.2)
        total = shape.length + 2 * shape.radius
        for volume, inside, radius in (
                (shape.volume, 1.0, 0.2), (shape.volume / 10, 1.0, 0.18),
                (shape.volume / 10, 0.9, 0.2), (shape.volume * 3, 0.9, 0.22),
                (shape.volume * 3, 1.0, 0.2)):
            found = shapes.adjusted(shape, volume, inside)
            self.assertAlmostEqual(found.radius, radius)
            self.assertAlmostEqual(found.length + 2 * found.radius, total)
        some = shapes.adjusted(shape, 0.95 * shape.volume / 1.3, 1.0)
        self.assertAlmostEqual(some.volume, 0.95 * shape.volume)


class Masses(unittest.TestCase):
    def check_human(self, plan):
        self.assertEqual(plan.creature, "human")
        self.assertTrue(0.40 <= share(plan, "pelvis", "spine", "chest", "collar") <= 0.55)
        for side in "LR":
            leg = sum(b.mass_share for b in plan.bodies
                      if b.part in ("thigh", "shin", "foot", "toe") and b.side == side)
            self.assertTrue(0.13 <= leg <= 0.20, leg)

    def test_human_without_skin(self):
        bones = figure()
        plan = plans.plan_bodies(bones, None)
        self.check_human(plan)
        self.assertAlmostEqual(plan.total_mass(1000, 1.0), 12.9 * plan.height ** 3)
        self.assertAlmostEqual(body(plan, bones, "thigh.L").mass_share, 0.1416)
        self.assertAlmostEqual(body(plan, bones, "hand.R").mass_share, 0.0061)

        # The shapes have the volume of the masses.
        for b in plan.bodies:
            self.assertAlmostEqual(b.volume * 1000, b.mass_share * plan.total_mass(1000, 1.0),
                                   delta=1e-6 * plan.total_mass(1000, 1.0))

    def test_large_head(self):
        bones = figure()
        radii = {b.name: 0.05 if b.name.startswith(("thigh", "shin")) else 0.035 for b in bones}
        radii.update(hips=0.12, spine=0.12, chest=0.12, head=0.2)
        plan = plans.plan_bodies(bones, fake(bones, radii, 0.3))
        self.check_human(plan)
        self.assertLess(share(plan, "head", "neck"), 2 * masses.LEVA["head"] + 1e-9)
        self.assertAlmostEqual(plan.total_mass(500, 2.0), 500 * plan.volume * 8)

    def test_clamping(self):
        shares = {"a": 0.5, "b": 0.3, "c": 0.2}
        same = masses.clamp_shares({"a": 0.5, "b": 0.3, "c": 0.2}, shares)
        for group, value in shares.items():
            self.assertAlmostEqual(same[group], value)
        found = masses.clamp_shares({"a": 0.05, "b": 0.05, "c": 0.9}, shares)
        self.assertAlmostEqual(sum(found.values()), 1.0)
        self.assertAlmostEqual(found["c"], 0.4)
        self.assertAlmostEqual(found["a"], found["b"])

    def test_offered_scale(self):
        for creature, height, wanted in (
                ("human", 1.8, 1.0), ("human", 180, 0.01), ("human", 70, 0.0254),
                ("human", 1800, 0.001), ("human", 0.018, 1.75 / 0.018), ("animal", 155, 0.01),
                ("animal", 1.0, 1.0), ("", 180, 1.0)):
            self.assertAlmostEqual(plans.offered_factor(creature, height, height), wanted)

    def test_units_do_not_matter(self):
        bones = figure()
        one, two = (plans.plan_bodies(some, None) for some in (bones, scaled(bones, 100)))
        self.assertEqual((one.unit_factor, two.unit_factor), (1.0, 0.01))
        for a, b in zip(one.bodies, two.bodies):
            self.assertEqual((a.bones, a.parent, a.part), (b.bones, b.parent, b.part))
            self.assertAlmostEqual(a.mass_share, b.mass_share)
            self.assertAlmostEqual(100 * a.shape.radius, b.shape.radius)


# ---- rigs of others ----

@functools.lru_cache(maxsize=None)
def glb_of(name):
    return rig_files.Glb(RIGS / f"{name}.glb")


def inside_share(plan, glb):
    """(share of the skin's area within 1.5 radii of the axis of its body, volume of all shapes by
    the volume of the skin)."""
    area = good = volume = 0.0
    corners = glb.triangles
    for n in range(0, len(corners), 3):
        a, b, c = (glb.vertices[3 * k:3 * k + 3] for k in corners[n:n + 3])
        normal = algebra.cross(algebra.sub(b, a), algebra.sub(c, a))
        middle = [(p + q + r) / 3 for p, q, r in zip(a, b, c)]
        volume += algebra.dot(middle, normal) / 6
        sums = {}
        for k in corners[n:n + 3]:
            for at in range(glb.offsets[k], glb.offsets[k + 1]):
                of = plan.body_of[glb.weight_bones[at]]
                sums[of] = sums.get(of, 0.0) + glb.weights[at]
        sums.pop(-1, None)
        size = algebra.norm(normal) / 2
        area += size
        good += size * (bool(sums) and is_inside(plan.bodies[max(sums, key=sums.get)], middle))
    return good / area, sum(b.shape.volume for b in plan.bodies) / abs(volume)


def is_inside(one, point):
    shape = one.shape
    if shape.kind == "box":
        own = algebra.q_rotate(algebra.q_conj(shape.orientation), algebra.sub(point, shape.centre))
        return all(abs(own[k]) <= 0.75 * shape.edges[k] for k in range(3))
    a, b, radius = shape.ends
    return rest_of.nearest_on(point, a, b)[0] <= 1.5 * radius


def skin_of_glb(glb, factor=1.0):
    return fit.Skin([factor * v for v in glb.vertices], glb.triangles, glb.offsets,
                    glb.weight_bones, glb.weights, len(glb.bones))


@unittest.skipUnless(RIGS.is_dir(), "the rigs are not beside the tree")
class RealRigs(unittest.TestCase):
    def check_tree(self, plan, bones):
        """The edges are those of the hierarchy."""
        check_laws(self, plan, bones)
        self.assertEqual(len(plan.pieces), 1)
        for b in plan.bodies[1:]:
            up = bones[b.bone].parent
            while plan.body_of[up] == plan.body_of[b.bone]:
                up = bones[up].parent
            self.assertEqual(b.parent, plan.body_of[up], bones[b.bone].name)

    def test_motion_capture(self):
        bones = rig_files.read_bvh(RIGS / "07_01.bvh")
        plan = plans.plan_bodies(bones, None)
        self.check_tree(plan, bones)
        Masses.check_human(self, plan)
        found = edges(plan, bones)
        self.assertEqual((found["LeftUpLeg"], found["LeftLeg"], found["RightArm"]),
                         ("Hips", "LeftUpLeg", "RightShoulder"))
        self.assertNotIn("LHipJoint", found)
        self.assertNotIn("LeftHandIndex1", found)
        self.assertTrue(1.4 < plan.height * plan.unit_factor < 2.1)

    @unittest.skipUnless(fit, "skelpy has no fit")
    def test_skins(self):
        for name, bodies, creature, caps in (
                ("CesiumMan", 19, "human", 1.5), ("RiggedFigure", 19, "human", 1.5),
                ("Fox", 22, "animal", 1.9), ("RiggedSimple", 2, "", 1.5)):
            with self.subTest(name):
                glb = glb_of(name)
                plan = plans.plan_bodies(glb.bones, skin_of_glb(glb))
                self.check_tree(plan, glb.bones)
                self.assertEqual((len(plan.bodies), plan.creature), (bodies, creature))
                inside, volume = inside_share(plan, glb)
                self.assertGreaterEqual(inside, 0.93)
                self.assertLessEqual(volume, caps)
                if creature == "human":
                    Masses.check_human(self, plan)

    @unittest.skipUnless(fit, "skelpy has no fit")
    def test_without_hierarchy_or_names(self):
        for name in ("CesiumMan", "RiggedFigure"):
            glb = glb_of(name)
            skin = skin_of_glb(glb)
            wanted = plans.plan_bodies(glb.bones, skin)
            orphans = [replace(b, parent=-1) for b in glb.bones]
            plan = plans.plan_bodies(orphans, skin)
            self.assertEqual({frozenset(pair) for pair in edges(plan, orphans).items() if pair[1]},
                             {frozenset(pair) for pair in edges(wanted, orphans).items()
                              if pair[1]}, name)
            plain = plans.plan_bodies(nameless(glb.bones), skin)
            self.assertEqual([b.part for b in plain.bodies], [b.part for b in wanted.bodies], name)

    @unittest.skipUnless(fit, "skelpy has no fit")
    def test_units(self):
        glb = glb_of("Fox")
        one = plans.plan_bodies(glb.bones, skin_of_glb(glb))
        two = plans.plan_bodies(scaled(glb.bones, 100), skin_of_glb(glb, 100))
        self.assertEqual(one.unit_factor, 0.01)
        self.assertEqual([(b.bones, b.parent, b.part) for b in one.bodies],
                         [(b.bones, b.parent, b.part) for b in two.bodies])
        for a, b in zip(one.bodies, two.bodies):
            self.assertAlmostEqual(a.mass_share, b.mass_share, places=6)


if __name__ == "__main__":
    unittest.main()
