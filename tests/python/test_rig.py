# SPDX-License-Identifier: BSD-3-Clause
"""skelpy.rig: keys of bones from poses, poses from matrices, tracks."""

import json
import unittest

import common
import skelpy
from skelpy import rig

TURN = (0.9238795325112867, 0.0, 0.0, 0.3826834323650898)       # 45 degrees about z


class Rigs(unittest.TestCase):
    def bone(self, **fields):
        return rig.Bone(rest=rig.STILL, body=0, channels=rig.LOCATION | rig.ROTATION, **fields)

    def test_keys(self):
        keys = rig.Rig([self.bone()]).channels([1, 2, 3, *TURN] * 2, 1, rig.STILL, first_frame=5,
                                               frame_step=2)
        self.assertEqual(len(keys), 7)
        self.assertEqual([list(k) for k in keys[:3]], [[5, 1, 7, 1], [5, 2, 7, 2], [5, 3, 7, 3]])
        self.assertAlmostEqual(keys[6][1], TURN[3], places=6)
        euler = rig.Rig([self.bone(rotation=rig.ZYX)]).channels([0, 0, 0, *TURN], 1, rig.STILL)
        self.assertEqual(len(euler), 6)
        self.assertAlmostEqual(euler[5][1], 0.7853981633974483, places=6)

    def test_there_and_back(self):
        """A child in a moved, scaled object, in units of a centimetre."""
        placed = [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 10, 20, 30, 1]
        one = rig.Rig([self.bone(offset=(0, 0, -0.5, 1, 0, 0, 0))], unit=0.01)
        poses = one.poses(list(rig.STILL) * 3, 1, placed)
        self.assertEqual(len(poses), 21)
        for got, wanted in zip(poses[:7], (0.1, 0.2, 0.8, 1, 0, 0, 0)):
            self.assertAlmostEqual(got, wanted, places=6)
        keys = one.channels(poses, 1, placed)
        for channel, wanted in zip(keys, (0, 0, 0, 1, 0, 0, 0)):
            self.assertAlmostEqual(channel[1], wanted, places=4)

    def test_joints(self):
        """A child whose head is half a unit up its parent's y, which lies along -x after a turn."""
        up = [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 3, 0, 0, 1]      # a quarter about z
        at = [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 2.5, 0, 0, 1]
        joints = rig.Rig([rig.Bone(rig.STILL), rig.Bone(rig.STILL, 0)]).joints([*up, *at])
        quarter = (0.7071067811865476, 0, 0, 0.7071067811865476)
        for got, wanted in zip(joints, (3, 0, 0, *quarter, 0, 0.5, 0, 1, 0, 0, 0)):
            self.assertAlmostEqual(got, wanted, places=12)

    def test_says_what_is_wrong(self):
        with self.assertRaises(skelpy.SkelError) as caught:
            rig.Rig([rig.Bone(rest=rig.STILL, parent=4)]).channels([0] * 7, 1, rig.STILL)
        self.assertEqual(caught.exception.body, 0)
        flat = [1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
        with self.assertRaisesRegex(skelpy.SkelError, "not scaled alike"):
            rig.Rig([self.bone()]).channels([0, 0, 0, 1, 0, 0, 0], 1, flat)

    def test_track(self):
        scene = skelpy.Scene.from_json(common.sample("double_pendulum"))
        bake = skelpy.Bake(scene, frame_end=5).run()
        rows = [[bake.pose(n, b) for b in range(2)] for n in range(5)]
        text = json.dumps({"format": "skel-track/1", "fps": 24, "frame_start": 1,
                           "bodies": scene.body_names,
                           "position": [[list(p[:3]) for p in row] for row in rows],
                           "orientation": [[list(p[3:]) for p in row] for row in rows]})
        track = rig.Track(scene, text)
        self.assertEqual((track.samples, track.frame_start, track.fps), (5, 1, 24.0))
        self.assertEqual(list(track.poses), list(bake.poses))


if __name__ == "__main__":
    unittest.main()
