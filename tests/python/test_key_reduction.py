# SPDX-License-Identifier: BSD-3-Clause
"""Fewer keys: skelpy.rig.reduce_keys, and the add-on's channels after it, without Blender."""

import dataclasses
import math
import unittest
from array import array

import skelpy
from fake_bpy import bezier
from skelpy import rig
from test_addon import EVERY_FRAME, bake, chain_shot, core, freeze, run
from test_addon_ik import ALONG_X, matrix
from test_addon_ik import chain_shot as goal_shot

reduction = core.key_reduction


def value_at(channel, frame):
    """The value of a channel at a frame, as Blender evaluates its keys."""
    keys, handles = channel.keys, channel.handles
    for k in range(0, len(keys) - 2, 2):
        if keys[k] <= frame <= keys[k + 2]:
            if handles is None:
                part = (frame - keys[k]) / (keys[k + 2] - keys[k])
                return keys[k + 1] + part * (keys[k + 3] - keys[k + 1])
            return bezier([keys[k:k + 2], handles[2 * k + 2:2 * k + 4],
                           handles[2 * k + 4:2 * k + 6], keys[k + 2:k + 4]], frame)
    return keys[1] if frame <= keys[0] else keys[-1]


def rows_of(channels, path, frame):
    return [value_at(c, frame) for c in channels if c.path == path]


def angle(a, b):
    """Between two rotations; sharp for small angles."""
    a, b = ([x / math.hypot(*q) for x in q] for q in (a, b))
    sign = 1 if sum(x * y for x, y in zip(a, b)) > 0 else -1
    return 4 * math.asin(min(1.0, math.dist(a, [sign * x for x in b]) / 2))


class Library(unittest.TestCase):
    def test_a_parabola_needs_two_keys(self):
        frames = range(1, 101)
        keys = [array("f", [x for f in frames for x in (f, 0.5 * (f / 24) ** 2)])]
        (rows,) = rig.reduce_keys(keys, rig.VECTOR, 1e-4)
        self.assertEqual(len(rows), 2 * rig.KEY_NUMBERS)
        self.assertEqual((rows[0], rows[6]), (1.0, 100.0))

    def test_says_what_is_wrong(self):
        keys = [array("f", [1, 0, 1, 0])]
        with self.assertRaisesRegex(skelpy.SkelError, "ascending"):
            rig.reduce_keys(keys, rig.VECTOR, 1e-4)
        with self.assertRaisesRegex(skelpy.SkelError, "channel_count: is 1, must be 4"):
            rig.reduce_keys(keys, rig.QUATERNION, 1e-4)
        for wrong in ([], [array("f", [1, 0]), array("f", [1, 0, 2, 0])], [array("f", [1, 0, 2])]):
            with self.assertRaisesRegex(ValueError, "the same frames"):
                rig.reduce_keys(wrong, rig.VECTOR, 1e-4)


class Channels(unittest.TestCase):
    def loose(self, frames, **settings):
        """A chain of bones that are not connected, so that they have a location."""
        shot = chain_shot(4, frames, preset="TAIL", **settings)
        for bone in shot.bones:
            bone.connected, bone.slides = False, True
        return shot

    def both(self, frames, **settings):
        """The channels with keys at every frame, and with few."""
        every = run(bake(self.loose(frames))).channels
        few = run(bake(self.loose(frames, **settings))).channels
        self.assertEqual([(c.path, c.index, c.group) for c in every],
                         [(c.path, c.index, c.group) for c in few])
        return every, few

    def test_within_the_tolerance(self):
        every, few = self.both(60, key_tolerance=0.1, key_angle_tolerance=0.01)
        paths, worst = list(dict.fromkeys(c.path for c in every)), 0.0
        for path in paths:
            for frame in range(1, 61):
                got, want = (rows_of(channels, path, frame) for channels in (few, every))
                if path.endswith("location"):
                    self.assertLessEqual(math.dist(got, want), 1e-4)
                else:
                    worst = max(worst, angle(got, want))
        self.assertLessEqual(worst, math.radians(0.01))
        self.assertGreater(worst, math.radians(0.001))      # else the bound shows nothing
        self.assertLess(6 * reduction.key_count(few), sum(len(c.keys) // 2 for c in every))

    def test_zero_is_every_frame(self):
        every, same = self.both(20, **EVERY_FRAME)
        self.assertEqual(every, same)
        self.assertTrue(all(c.handles is None and len(c.keys) == 40 for c in every))

        # One of the two tolerances alone.
        _every, turned = self.both(20, key_tolerance=0.0, key_angle_tolerance=0.01)
        for channel in turned:
            is_location = channel.path.endswith("location")
            self.assertEqual(channel.handles is None, is_location)
            if is_location:
                self.assertEqual(len(channel.keys), 40)

    def test_a_location_that_stays_has_the_value_of_the_bone(self):
        _every, few = self.both(20, key_tolerance=0.1, key_angle_tolerance=0.01)
        for channel in few:
            if channel.path.endswith("location"):
                self.assertEqual(channel.keys.tolist(), [1.0, 0.0, 20.0, 0.0])
                self.assertTrue(channel.is_still)

        # No curves if it had none.
        shot = self.loose(20, key_tolerance=0.1, key_angle_tolerance=0.01)
        for bone in shot.bones:
            bone.slides = False
        shot.basis[16 * 2 + 12] = 0.5           # of the third bone: it must go back to 0
        paths = {channel.path for channel in run(bake(shot)).channels}
        self.assertEqual({path for path in paths if path.endswith("location")},
                         {'pose.bones["link2"].location'})
        self.assertEqual(len(paths), 4)

    def test_tolerance_is_in_millimetres_whatever_the_scale(self):
        """A bone that moves in an armature of a tenth of its size, in a scene in centimetres."""
        shot = freeze(self.loose(20))
        plan = core.plan.make_plan(shot, core.roles.plan_roles(shot))
        self.assertEqual(reduction.location_scale(plan.shot, 2), 1.0)
        small = [0.1 if k in (0, 5, 10) else v for k, v in enumerate(shot.objects[:16])]
        less = dataclasses.replace(shot, unit=0.01, objects=array("f", small))
        self.assertAlmostEqual(reduction.location_scale(less, 2), 0.001, places=9)

    def test_words(self):
        self.assertEqual(reduction.tolerance_words(core.shot.Settings()), "0.1 mm, 0.01°")
        self.assertEqual(reduction.tolerance_words(core.shot.Settings(**EVERY_FRAME)),
                         "every frame")

    def test_control_bones(self):
        """They have keys at every frame, whatever the tolerance, and one on either side."""
        settings = core.shot.Settings(write_to="CONTROLS")
        self.assertGreater(settings.key_tolerance, 0)
        self.assertEqual(reduction.tolerance_of(settings), (0.0, 0.0))
        self.assertEqual(reduction.tolerance_words(settings), "every frame")
        keys = core.keys.interleave((3, 4, 5), (0.1, 0.2, 0.3))
        plain = core.keys.Channel("location", 0, "", keys)
        held = dataclasses.replace(plain, hold=1.0)
        self.assertEqual(reduction.key_count([plain, held]), 3 + 5)
        self.assertEqual((plain.span, held.span), ((3, 5), (2, 6)))

    def test_bone_of_a_path(self):
        name = 'a "b" \\ ["c"]'
        head = f'pose.bones["{core.keys.escape(name)}"]'
        for path in (f"{head}.location", f'{head}["IK_FK"]', f'{head}.constraints["IK"].influence'):
            self.assertEqual(core.keys.bone_of(path), name)
        self.assertEqual(core.keys.bone_of('["pose.bones"]'), "")


class Goals(unittest.TestCase):
    def test_goals_stay_reached(self):
        """The end of a chain is at its target within the tolerance of the goal, in every frame."""
        frames = 40
        ik = goal_shot(4, frames, bone="link3")
        ik.shot.settings.key_tolerance, ik.shot.settings.key_angle_tolerance = 0.1, 0.01
        target = array("f")
        for n in range(frames):
            target.extend(matrix((0.8, 0.2 * math.sin(0.1 * n), 1.8 + 0.005 * n), (1, 0, 0, 0)))
        ik.goals[0].target = target
        result = run(core.ik_solve.solve(freeze(ik)))
        self.assertEqual(result.report.missed, [])
        self.assertLess(reduction.key_count(result.channels),
                        sum(2 * frames for _c in result.channels) // 4)

        plan = run(core.ik_build.plan_ik(freeze(ik)))
        tolerance = plan.ik.settings.tolerance
        for n in range(frames):
            tip = self.tip(plan.shot, result.channels, n + 1)
            self.assertLess(math.dist(tip, target[16 * n + 12:16 * n + 15]), 2 * tolerance)

    def tip(self, shot, channels, frame):
        """The tail of the last bone by the values of the channels."""
        algebra = core.algebra
        place, turn = shot.bones[0].rest[12:15], ALONG_X
        for bone in shot.bones:
            q = rows_of(channels, f'pose.bones["{bone.name}"].rotation_quaternion', frame)
            q = [x / math.hypot(*q) for x in q] if q else [1.0, 0.0, 0.0, 0.0]
            turn = algebra.q_mul(turn, q)
            along = algebra.q_rotate(turn, (0.0, bone.length, 0.0))
            place = [a + b for a, b in zip(place, along)]
        return place


if __name__ == "__main__":
    unittest.main()
