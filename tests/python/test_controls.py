# SPDX-License-Identifier: BSD-3-Clause
"""Control bones of small rigs, found from plain data: which bones are controls, what guides them,
which switches are needed, and in which order controls are set."""

import math
import unittest
from dataclasses import replace

from test_addon import load

STILL = [1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0]
LOCKED = {"free_location": (False,) * 3, "free_rotation": (False,) * 3}
TWEAK = {"free_rotation": (False, True, False)}


class Tracing(unittest.TestCase):
    def setUp(self):
        self.core, self.wanted = load("controls"), None
        self.bones, self.index = [], {}

    # ---- rigs ----

    def bone(self, name, parent=None, y=0.0, length=1.0, links=(), x=0.0, **fields):
        """A bone along y."""
        rest = list(STILL)
        rest[12], rest[13] = x, y
        self.index[name] = len(self.bones)
        self.bones.append(self.core.RigBone(
            name, self.index[parent] if parent else -1, tuple(rest), length, links=tuple(links),
            **fields))

    def link(self, kind, *names, **fields):
        targets = tuple((self.index[name], 1.0 / len(names)) for name in names)
        return self.core.Link(kind, targets, **fields)

    def limb(self, value, animated=False):
        """Two bones that follow either FK controls or an IK chain, as in Rigify: mechanism bones
        copy FK, then IK by an influence that a property drives; tweaks hang on them."""
        self.bone("root", y=-5.0)
        self.bone("hips", "root", y=-1.0)
        for k in range(2):
            self.bone(f"fk{k}", f"fk{k - 1}" if k else "hips", y=k, connected=k > 0)
        self.bone("goal", "root", y=2.0)
        self.bone("ik0", "hips", y=0.0, **TWEAK)
        solver = self.link("IK", "goal", chain=(self.index["ik0"], self.index["ik0"] + 1))
        self.bone("ik1", "ik0", y=1.0, links=[solver], **LOCKED)
        for k in range(2):
            switch = self.link("COPY_TRANSFORMS", f"ik{k}", influence=1.0 - value, switch="limb",
                               table=((0.0, 1.0), (1.0, 0.0)))
            copies = [self.link("COPY_TRANSFORMS", f"fk{k}"), switch]
            self.bone(f"org{k}", f"org{k - 1}" if k else "hips", y=k, links=copies, **LOCKED)
        for k in range(2):
            self.bone(f"tweak{k}", f"org{k}", y=k, length=0.5, **TWEAK)
            self.bone(f"def{k}", "root", y=k, deform=True,
                      links=[self.link("COPY_TRANSFORMS", f"tweak{k}")], **LOCKED)
        return self.core.Switch("limb", value, animated)

    # ---- looks ----

    def trace(self, names, switches=()):
        found = self.core.trace(self.bones, [self.index[n] for n in names], switches)
        self.found = found
        return {self.name(c.bone): self.name(c.guide) for c in found.controls}

    def name(self, i):
        return self.bones[i].name

    def control(self, name):
        return next(c for c in self.found.controls if self.name(c.bone) == name)

    def levels(self, chosen=None, **values):
        chosen = self.found.controls if chosen is None else chosen
        return {self.name(c.bone): (c.level, self.name(c.base) if c.base >= 0 else "")
                for c in self.core.arrange(self.bones, self.found, values, chosen)}


class Switches(Tracing):
    def test_value_at_which_fk_acts(self):
        switch = self.limb(0.0)
        found = self.trace(["def0", "def1"], [switch])
        self.assertEqual(self.found.switches, (("limb", 1.0),))
        self.assertEqual(found, {"fk0": "def0", "fk1": "def1", "tweak0": "def0",
                                 "tweak1": "def1"})

    def test_other_order_of_values(self):
        """The value comes from what the influence does, whatever the expression of the driver."""
        switch = self.limb(0.0)
        turned = {link: replace(link, table=((0.0, 0.0), (1.0, 1.0)))
                  for bone in self.bones for link in bone.links if link.switch}
        self.bones = [replace(bone, links=tuple(turned.get(link, link) for link in bone.links))
                      for bone in self.bones]
        self.trace(["def0", "def1"], [replace(switch, value=1.0)])
        self.assertEqual(self.found.switches, (("limb", 0.0),))

    def test_no_key_if_fk_acts_already(self):
        found = self.trace(["def0", "def1"], [self.limb(1.0)])
        self.assertEqual(self.found.switches, ())
        self.assertIn("fk0", found)

    def test_animated_switch_is_keyed(self):
        self.trace(["def0", "def1"], [self.limb(1.0, animated=True)])
        self.assertEqual(self.found.switches, (("limb", 1.0),))

    def test_switch_of_something_else_stays(self):
        switch = self.limb(0.0)
        follow = self.link("COPY_ROTATION", "root", influence=0.0, switch="follow",
                           table=((0.0, 0.0), (1.0, 1.0)))
        self.bones[self.index["hips"]] = replace(self.bones[self.index["hips"]], links=(follow,))
        self.trace(["def0", "def1"], [self.core.Switch("follow", 0.0, True), switch])
        self.assertEqual(self.found.switches, (("limb", 1.0),))

    def test_influence_of_ik_on_the_bones_themselves(self):
        self.bone("goal", y=2.0)
        self.bone("a", deform=True)
        solver = self.link("IK", "goal", chain=(1, 2), switch="influence",
                           table=((0.0, 0.0), (1.0, 1.0)))
        self.bone("b", "a", y=1.0, deform=True, links=[solver], connected=True)
        found = self.trace(["a", "b"], [self.core.Switch("influence", 1.0)])
        self.assertEqual(self.found.switches, (("influence", 0.0),))
        self.assertEqual(found, {"a": "a", "b": "b"})


class Chains(Tracing):
    def test_bones_without_constraints_are_their_own_controls(self):
        self.bone("a", deform=True)
        self.bone("b", "a", y=1.0, deform=True, connected=True)
        self.assertEqual(self.trace(["a", "b"]), {"a": "a", "b": "b"})
        self.assertEqual(self.control("b").location, (False,) * 3)
        self.assertEqual(self.control("b").rotation, (True,) * 3)

    def test_kinds_of_constraints(self):
        for kind in ("COPY_TRANSFORMS", "COPY_ROTATION", "COPY_LOCATION", "CHILD_OF", "ARMATURE"):
            self.setUp()
            self.bone("control")
            self.bone("shape", deform=True, links=[self.link(kind, "control")])
            self.assertEqual(self.trace(["shape"]), {"control": "shape"}, kind)
            control = self.control("control")
            self.assertEqual(any(control.location), kind != "COPY_ROTATION", kind)
            self.assertEqual(any(control.rotation), kind != "COPY_LOCATION", kind)

    def test_heaviest_target_of_an_armature_constraint(self):
        for name in ("light", "heavy"):
            self.bone(name)
        link = self.core.Link("ARMATURE", ((0, 0.3), (1, 0.7)))
        self.bone("shape", deform=True, links=[link])
        self.assertEqual(self.trace(["shape"]), {"heavy": "shape"})
        self.assertTrue(self.control("heavy").soft)

    def test_influence_counts(self):
        """Of two copies the last one with full influence decides; half of one does not."""
        for name in ("first", "second", "half"):
            self.bone(name)
        self.bone("shape", deform=True, links=[
            self.link("COPY_TRANSFORMS", "first"), self.link("COPY_TRANSFORMS", "second"),
            self.link("COPY_TRANSFORMS", "half", influence=0.5)])
        self.assertEqual(self.trace(["shape"]), {"second": "shape"})

    def test_constraint_that_adds_leaves_a_control(self):
        self.bone("a", deform=True)
        self.bone("b", "a", y=1.0, links=[
            self.link("COPY_ROTATION", "a", local=True, replaces=False)])
        self.bone("shape", "a", y=1.0, deform=True, links=[self.link("COPY_TRANSFORMS", "b")])
        self.assertEqual(self.trace(["a", "shape"]), {"a": "a", "b": "shape"})
        self.assertTrue(self.control("b").own)
        self.assertFalse(self.control("a").own)

    def test_locked_bones_are_no_controls(self):
        self.bone("control")
        self.bone("helper", "control", **LOCKED)
        self.bone("shape", deform=True, links=[self.link("COPY_TRANSFORMS", "helper")], **LOCKED)
        self.assertEqual(self.trace(["shape"]), {"control": "shape"})

    def test_bone_that_nothing_moves(self):
        self.bone("stiff", deform=True, **LOCKED)
        self.bone("a", deform=True, x=3.0)
        self.assertEqual(self.trace(["stiff", "a"]), {"a": "a"})
        self.assertEqual([self.name(i) for i in self.found.lost], ["stiff"])

    def test_circle_of_constraints_ends(self):
        self.bone("a", deform=True, links=[self.core.Link("COPY_TRANSFORMS", ((1, 1.0),))],
                  **LOCKED)
        self.bone("b", links=[self.core.Link("COPY_TRANSFORMS", ((0, 1.0),))], **LOCKED)
        self.assertEqual(self.trace(["a"]), {})

    def test_names_do_not_matter(self):
        switch = self.limb(0.0)
        found = self.trace(["def0", "def1"], [switch])
        kept, self.bones = self.bones, [replace(bone, name=f"n{97 * i % 31}")
                                        for i, bone in enumerate(self.bones)]
        again = self.trace(["def0", "def1"], [switch])
        number = {bone.name: i for i, bone in enumerate(self.bones)}
        self.assertEqual({kept[number[c]].name: kept[number[d]].name for c, d in again.items()},
                         found)


class Guides(Tracing):
    def test_bones_that_point_back(self):
        """A deform chain that runs from the tip to its root, as Rigify's tails: each control turns
        the bone that lies upon it."""
        self.bone("body", y=-1.0, deform=True)
        for k in range(3):
            self.bone(f"tail{k}", f"tail{k - 1}" if k else "body", y=k)
        for k in (2, 1, 0):                     # its head at the control's tail
            rest = [-1.0, 0, 0, 0, 0, -1.0, 0, 0, 0, 0, 1.0, 0, 0, k + 1.0, 0, 1.0]
            self.index[f"def{k}"] = len(self.bones)
            self.bones.append(self.core.RigBone(
                f"def{k}", self.index[f"def{k + 1}"] if k < 2 else -1, tuple(rest), deform=True,
                links=(self.link("COPY_TRANSFORMS", f"tail{k}", local=True),)))
        found = self.trace(["body", "def0", "def1", "def2"])
        self.assertEqual(found, {"body": "body", "tail0": "def0", "tail1": "def1",
                                 "tail2": "def2"})

    def test_controls_that_share_bones(self):
        """Both bones follow the nearer control; the farther one turns the bone whose end it is at,
        so that each has one."""
        self.bone("far", y=2.0)
        self.bone("near", "far", y=1.0)
        for k in range(2):
            self.bone(f"def{k}", y=k, deform=True, links=[self.link("CHILD_OF", "near")],
                      **LOCKED)
        self.assertEqual(self.trace(["def0", "def1"]), {"near": "def0", "far": "def1"})

    def test_second_control_of_a_bone_is_left_alone(self):
        """A master control, as of a finger."""
        self.bone("master", y=0.0, length=3.0)
        self.bone("control", "master")
        self.bone("shape", deform=True, links=[self.link("COPY_TRANSFORMS", "control")])
        self.assertEqual(self.trace(["shape"]), {"control": "shape"})

    def body(self, x=0.0):
        """A torso that carries two branches."""
        self.bone("root", y=-9.0)
        self.bone("torso", "root", y=0.4, x=x)
        for name, y in (("hips", 0.0), ("chest", 1.0)):
            self.bone(name, "torso", y=y)
            self.bone(f"def {name}", y=y, deform=True, links=[self.link("COPY_TRANSFORMS", name)],
                      **LOCKED)

    def test_control_that_carries_all(self):
        self.body()
        found = self.trace(["def hips", "def chest"])
        self.assertEqual(found, {"torso": "def hips", "hips": "def hips", "chest": "def chest"})

    def test_it_stays_if_it_would_carry_an_animated_bone(self):
        self.body()
        self.bone("tail", "torso", y=-1.0)
        self.bone("def tail", y=-1.0, deform=True, links=[self.link("COPY_TRANSFORMS", "tail")],
                  **LOCKED)
        self.assertEqual(self.trace(["def hips", "def chest"]),
                         {"hips": "def hips", "chest": "def chest"})

    def test_root_stays_unless_controls_cannot_move(self):
        self.body(x=5.0)                        # far from the bones
        self.assertNotIn("torso", self.trace(["def hips", "def chest"]))
        for name in ("hips", "chest"):
            at = self.index[name]
            self.bones[at] = replace(self.bones[at], free_location=(False,) * 3)
        self.assertIn("torso", self.trace(["def hips", "def chest"]))

    def test_offset(self):
        """The control is where it is at rest, seen from its guide; a copy in world space has the
        pose of the control itself."""
        self.bone("control", y=2.0)
        self.bone("helper", "control", y=5.0, **LOCKED)
        for kind, local, y in (("COPY_TRANSFORMS", False, -3.0), ("COPY_TRANSFORMS", True, 1.0),
                               ("CHILD_OF", False, 1.0)):
            self.bones, last = self.bones[:2], self.index["helper"]
            self.bone("shape", y=1.0, deform=True,
                      links=[self.core.Link(kind, ((last, 1.0),), local=local)])
            self.trace(["shape"])
            # The helper is 3 beyond the control. A copy in world space lies upon the helper.
            self.assertAlmostEqual(self.control("control").offset[1], y, msg=(kind, local))


class Levels(Tracing):
    def test_predicted_chain_needs_one_level(self):
        switch = self.limb(1.0)
        self.trace(["def0", "def1"], [switch])
        main = [c for c in self.found.controls if not c.tweak]
        self.assertEqual(self.levels(main, limb=1.0), {"fk0": (0, ""), "fk1": (0, "fk0")})

    def test_tweaks_behind_constraints_come_later(self):
        switch = self.limb(1.0)
        self.trace(["def0", "def1"], [switch])
        found = self.levels(limb=1.0)
        self.assertEqual((found["tweak0"], found["tweak1"]), ((1, ""), (1, "")))

    def test_own_constraints_take_one_more(self):
        self.bone("a", deform=True)
        for k, name in enumerate("bc"):
            above = "ab"[k]
            self.bone(name, above, y=1.0 + k, deform=True, links=[
                self.link("COPY_ROTATION", above, local=True, replaces=False)])
        self.trace("abc")
        self.assertEqual(self.levels(), {"a": (0, ""), "b": (1, ""), "c": (3, "")})

    def test_parents_come_first(self):
        self.bone("a", deform=True)
        for k in range(1, 6):
            self.bone(f"b{k}", f"b{k - 1}" if k > 1 else "a", y=k, deform=True)
        self.trace([bone.name for bone in self.bones])
        order = [c.bone for c in self.core.arrange(self.bones, self.found, {},
                                                   self.found.controls)]
        self.assertEqual(order, sorted(order))


class Misses(unittest.TestCase):
    """How far a bone is from where it is wanted."""

    def setUp(self):
        self.wanted = load("wanted")

    def turned(self, axis, angle):
        half = angle / 2
        return (0, 0, 0, math.cos(half), *(math.sin(half) if k == axis else 0 for k in range(3)))

    def test_parts(self):
        at = (0, 0, 0, 1, 0, 0, 0)
        moved = self.wanted.miss(at, (0.3, 0, 0.4, 1, 0, 0, 0), 2.0)
        self.assertAlmostEqual(moved.position, 0.25)
        self.assertAlmostEqual(moved.angle + moved.twist, 0.0)

        swung = self.wanted.miss(at, self.turned(0, 0.2), 2.0)
        self.assertAlmostEqual(swung.position, 2 * math.sin(0.1))
        self.assertAlmostEqual(swung.angle, 0.2)
        self.assertAlmostEqual(swung.twist, 0.0)

        twisted = self.wanted.miss(at, self.turned(1, -0.3), 2.0)
        self.assertAlmostEqual(twisted.position, 0.0)
        self.assertAlmostEqual(twisted.twist, 0.3)

    def test_receipt_names_the_worst(self):
        errors = self.wanted.Errors(["a", "b"], [1.0, 1.0])
        at = (0, 0, 0, 1, 0, 0, 0)
        errors.add(1, [at, at], [at, (0.5, 0, 0, 1, 0, 0, 0)])
        errors.add(2, [at, at], [self.turned(1, 0.4), at])
        receipt = errors.receipt(3, 1, ["c"], True)
        self.assertEqual(receipt.position, (0.5, "b", 1))
        self.assertEqual(receipt.twist[1:], ("a", 2))
        self.assertEqual(len(receipt.warnings), 3)
        for words, warning in zip(("'c'", "'b'.*0.5 of its length at frame 1", "twist.*'a'"),
                                  receipt.warnings):
            self.assertRegex(warning, words)

    def test_bones_without_keys_of_their_location(self):
        errors = self.wanted.Errors(["a"], [1.0], located=False)
        at = (0, 0, 0, 1, 0, 0, 0)
        errors.add(1, [at], [(5.0, 0, 0, 1, 0, 0, 0)])
        self.assertEqual(errors.largest(0)[0], 0.0)
        errors.add(1, [at], [self.turned(0, 0.2)])
        self.assertAlmostEqual(errors.largest(0)[0], 2 * math.sin(0.1))

    def test_exact_bones_have_no_warnings(self):
        errors = self.wanted.Errors(["a"], [1.0])
        at = (0, 0, 0, 1, 0, 0, 0)
        errors.add(1, [at], [(5e-5, 0, 0, 1, 0, 0, 0)])
        self.assertEqual(errors.receipt(1, 0, [], False).warnings, ())


if __name__ == "__main__":
    unittest.main()
