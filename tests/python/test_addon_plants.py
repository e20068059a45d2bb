# SPDX-License-Identifier: BSD-3-Clause
"""Chain lengths, and feet that stand, without Blender."""

import math
import random
import unittest
from array import array

from test_addon import core, matrix

chains, plants = core.ik_chains, core.foot_plants
UP, DOWN, AHEAD = (core.algebra.q_about((1, 0, 0), angle)       # AHEAD: bone y along world -y
                   for angle in (math.pi / 2, -math.pi / 2, math.pi))
STILL = core.binding.rig.STILL


def figure(prefix="", **names):
    """(name, parent, head, direction, length) of a figure with collar bones, hip joints, a twist
    bone in each forearm, fingers and toes; names: other names of its bones."""
    rows = [("pelvis", "", (0, 0, 1.0), UP, 0.2), ("chest", "pelvis", (0, 0, 1.2), UP, 0.3),
            ("neck", "chest", (0, 0, 1.5), UP, 0.1), ("head", "neck", (0, 0, 1.6), UP, 0.2)]
    for s, x in (("L", 1), ("R", -1)):
        rows += [
            (f"collar.{s}", "chest", (0, 0, 1.45), UP, 0.15),
            (f"upper_arm.{s}", f"collar.{s}", (x * 0.18, 0, 1.45), DOWN, 0.3),
            (f"forearm.{s}", f"upper_arm.{s}", (x * 0.18, 0, 1.15), DOWN, 0.25),
            (f"twist.{s}", f"forearm.{s}", (x * 0.18, 0, 1.15), DOWN, 0.1),
            (f"hand.{s}", f"forearm.{s}", (x * 0.18, 0, 0.9), DOWN, 0.08),
            *((f"finger{k}.{s}", f"hand.{s}", (x * 0.18, 0.02 * k, 0.82), DOWN, 0.08)
              for k in range(3)),
            (f"hip.{s}", "pelvis", (0, 0, 1.0), UP, 0.1),
            (f"thigh.{s}", f"hip.{s}", (x * 0.1, 0, 0.95), DOWN, 0.45),
            (f"shin.{s}", f"thigh.{s}", (x * 0.1, 0, 0.5), DOWN, 0.41),
            (f"foot.{s}", f"shin.{s}", (x * 0.1, 0, 0.09), AHEAD, 0.15),
            (f"toe.{s}", f"foot.{s}", (x * 0.1, -0.15, 0.03), AHEAD, 0.06)]
    index = {name: i for i, (name, *_rest) in enumerate(rows)}
    return [core.shot.BoneShot(prefix + names.get(name, name), index.get(parent, -1), length,
                               tuple(matrix(head, turn)))
            for name, parent, head, turn, length in rows]


def number(bones, name):
    return next(i for i, bone in enumerate(bones) if bone.name == name)


class Chains(unittest.TestCase):
    def test_limbs(self):
        bones = figure()
        for name, wanted in (("hand.L", 3), ("foot.R", 3), ("toe.L", 4), ("finger1.L", 1),
                             ("head", 2), ("forearm.R", 3), ("neck", 1)):
            self.assertEqual(chains.guess_chain(bones, number(bones, name)), wanted, name)

    def test_names_are_whole_words(self):
        """The upper arm is called shoulder, the collar bone has no name that says so."""
        bones = figure(**{"upper_arm.L": "shoulder.L", "forearm.L": "elbow.L", "hand.L": "wrist.L",
                          "collar.L": "a", "hip.L": "whip.L"})
        self.assertEqual(chains.guess_chain(bones, number(bones, "wrist.L")), 4)
        self.assertEqual(chains.guess_chain(bones, number(bones, "foot.L")), 4)     # no hip
        for name, words in (("LeftUpLeg", "left up leg"), ("thigh.L", "thigh l"),
                            ("LHipJoint", "l hip joint"), ("rig:LeftFoot", "rig left foot"),
                            ("DEF-foot.L.001", "def foot l"), ("ribbon_2", "ribbon")):
            self.assertEqual(chains.words_of(name), frozenset(words.split()), name)

    def test_ropes_and_robots_move_to_the_root(self):
        rope = [core.shot.BoneShot(f"link{k}", k - 1, 0.1, tuple(matrix((0, 0, 0.1 * k), UP)))
                for k in range(9)]
        self.assertEqual(chains.guess_chain(rope, 8), 0)
        robot = core.shot.RobotShot("j", "hinge")
        self.assertEqual(chains.guess_chain([core.shot.replace(b, robot=robot)
                                             for b in figure()], 10), 0)


class Feet(unittest.TestCase):
    def shot(self, bones, frames=1, poses=None, fps=24.0):
        one = array("f", [v for bone in bones for v in bone.rest])
        return core.shot.Shot("figure", tuple(bones), fps=fps, frames=list(range(1, frames + 1)),
                              poses=poses or one * frames, objects=array("f", STILL) * frames)

    def names(self, bones, **fields):
        shot = self.shot(bones, **fields)
        return [bones[i].name for i in plants.find_feet(shot)]

    def test_found_by_their_place(self):
        self.assertEqual(self.names(figure()), ["foot.L", "foot.R"])
        nameless = [core.shot.replace(bone, name=f"bone{i}") for i, bone in enumerate(figure())]
        self.assertEqual(self.names(nameless),
                         [f"bone{number(figure(), name)}" for name in ("foot.L", "foot.R")])
        self.assertAlmostEqual(plants.figure_height(self.shot(figure())), 1.77, places=5)

    def test_none(self):
        """A rope that lies, one that hangs, and a tail that touches the ground."""
        for turn in (AHEAD, DOWN):
            step = core.algebra.q_rotate(turn, (0, 0.1, 0))
            rope = [core.shot.BoneShot(f"link{k}", k - 1, 0.1,
                                       tuple(matrix([k * v for v in step], turn)))
                    for k in range(9)]
            self.assertEqual(self.names(rope), [])
        bones = figure()
        for k in range(5):
            bones.append(core.shot.BoneShot(f"tail{k}", len(bones) - 1 if k else 0, 0.2,
                                            tuple(matrix((0, 0.1, 1 - 0.2 * k), DOWN))))
        self.assertEqual(self.names(bones), ["foot.L", "foot.R"])

    # ---- standing ----

    def walk(self, fps=24.0, steps=4, slide=0.01, noise=0.0):
        """(places, samples that stand) of a foot that stands for 0.6 s and swings for 0.4 s, 1.2 m
        far and 0.12 m high; standing it slides."""
        rng, places, stands = random.Random(3), [], []
        for n in range(round(steps * fps)):
            step, t = divmod(n / fps, 1.0)
            x, z = 1.2 * step, 0.05
            if t < 0.6:
                x += slide * t / 0.6
            else:
                u = (t - 0.6) / 0.4
                ease = u * u * (3 - 2 * u)
                x += slide + (1.2 - slide) * ease
                z += 0.12 * math.sin(math.pi * u) ** 2
            stands.append(t < 0.6)
            places.append((x + rng.gauss(0, noise), 0.0, z + rng.gauss(0, noise)))
        return places, stands

    def test_spans_of_a_walk(self):
        for fps in (24.0, 30.0, 120.0):
            for noise in (0.0, 0.0005):
                places, stands = self.walk(fps, noise=noise)
                spans = plants.find_spans(places, fps, 1.77)
                self.assertEqual(len(spans), 4, (fps, noise))
                for first, last in spans:
                    length = (last - first + 1) / fps
                    self.assertTrue(0.5 < length < 0.75, (fps, noise, length))
                    inside = sum(stands[first:last + 1]) / (last - first + 1)
                    self.assertGreater(inside, 0.85)

    def test_not_standing(self):
        """A foot that glides low, one that hangs still high above where it was, a short stop."""
        glide = [(0.05 * n, 0.0, 0.05) for n in range(100)]
        self.assertEqual(plants.find_spans(glide, 24, 1.77), ())
        lift = [(0.0, 0.0, 0.3 * min(1.0, max(0.0, (n - 50) / 6))) for n in range(60)]
        ((first, last),) = plants.find_spans(lift, 24, 1.77)
        self.assertEqual(first, 0)
        self.assertLess(last, 54)
        stop = [(0.1 * (n if n < 50 else n - 1), 0.0, 0.05) for n in range(100)]
        self.assertEqual(plants.find_spans(stop, 24, 1.77), ())
        self.assertEqual(plants.find_spans([], 24, 1.77), ())

    def test_scale_does_not_matter(self):
        places, _ = self.walk()
        small = [tuple(0.001 * v for v in place) for place in places]
        self.assertEqual(plants.find_spans(places, 24, 1.77), plants.find_spans(small, 24, 0.00177))

    def test_locked(self):
        places, _ = self.walk(slide=0.03)
        spans = plants.find_spans(places, 24, 1.77)
        out = plants.locked(places, spans, 4)
        steps = [math.dist(a, b) for a, b in zip(out, out[1:])]
        before = [math.dist(a, b) for a, b in zip(places, places[1:])]
        for k, (first, last) in enumerate(spans):
            self.assertEqual(len(set(out[first:last + 1])), 1)
            gap = spans[k + 1][0] - last if k + 1 < len(spans) else 0
            if gap > 10:
                self.assertEqual(out[last + 5:last + gap - 4], places[last + 5:last + gap - 4])
        self.assertLess(max(steps), max(before) + 0.02)     # no jump into the lock or out of it
        self.assertNotEqual(tuple(out), tuple(places))
        self.assertEqual(plants.locked(places, (), 4), tuple(places))

    def test_spans_that_are_near_each_other(self):
        """The eases share what is between two spans, and the ends of the range cut them."""
        places = tuple((float(n), 0.0, 0.0) for n in range(12))
        out = plants.locked(places, ((1, 3), (5, 7), (9, 10)), 4)
        self.assertEqual([place[0] for place in out[1:4]], [2.0] * 3)
        self.assertEqual([place[0] for place in out[5:8]], [6.0] * 3)
        self.assertEqual(out[4], places[4])                 # one sample: no room to ease
        self.assertLess(0.0, out[0][0])
        self.assertTrue(9.5 < out[11][0] < 11.0)


if __name__ == "__main__":
    unittest.main()
