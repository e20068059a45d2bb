# SPDX-License-Identifier: BSD-3-Clause
"""Inverse kinematics of the add-on beside Blender's own solver, in one run of one Blender.

tests/blender/run.py VERSION --ik [--check]

hinges  7 hinges with limits, place and rotation of the tip, 200 reachable targets
chain   65 bones, place of the tip, 200 reachable targets
Each target is a frame. Blender: an IK constraint with its defaults, frame_set through the range.
Skel: the whole of Bake IK (reading, solving every frame by itself, writing keys). Solved: within
1 mm and 1 mrad in the evaluated armature. CPU seconds, the best of three; `solver` is what solving
alone takes: of Blender frame_set with the constraint less frame_set without it.
--check fails where a target of ours is not solved or breaks a limit, or where our solver takes more
time than Blender's in each of three tries. The time of the whole bake is printed beside it, but not
checked: it writes keys of every bone, which frame_set does not, and so the two are about equal.
"""

import math
import os
import random
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "blender"))

import bpy  # noqa: E402
from mathutils import Euler, Matrix  # noqa: E402

import common  # noqa: E402

COUNT = 200
TRIES = 3
NEAR, TURNED = 1e-3, 1e-3           # m, rad


def cpu(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def hinges(rng):
    """Seven links, hinges about the length and across it in turn, with limits."""
    rows = [(f"link{k}", f"link{k - 1}" if k else None, (0, 0, 0.2 * k), (0, 0, 0.2 * (k + 1)), 0.0,
             k > 0) for k in range(7)]
    ob, limits = common.add_armature(rows, "arm"), []
    for k, bone in enumerate(ob.pose.bones):
        bone.rotation_mode, free, high = "XYZ", "yx"[k % 2], (2.9, 2.0)[k % 2]
        for axis in "xyz":
            setattr(bone, f"lock_ik_{axis}", axis != free)
        setattr(bone, f"use_ik_limit_{free}", True)
        setattr(bone, f"ik_min_{free}", -high)
        setattr(bone, f"ik_max_{free}", high)
        limits.append(("xyz".index(free), high))

    def pose():
        for bone, (index, high) in zip(ob.pose.bones, limits):
            angles = [0.0] * 3
            angles[index] = rng.uniform(-high, high)
            bone.rotation_euler = angles
    return ob, pose


def chain(rng):
    ob = common.chain(65, 0.05)

    def pose():
        for bone in ob.pose.bones:
            bone.rotation_quaternion = Euler([rng.uniform(-0.25, 0.25) for _ in range(3)]
                                             ).to_quaternion()
    return ob, pose


def tip_of(ob, tip):
    bone = ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[tip]
    return ob.matrix_world @ bone.matrix @ Matrix.Translation((0, bone.length, 0))


def targets_of(ob, pose, tip):
    """Where the tip is at random poses, which makes them reachable."""
    out = []
    for _ in range(COUNT):
        pose()
        bpy.context.view_layer.update()
        out.append(tip_of(ob, tip))
    for bone in ob.pose.bones:
        bone.matrix_basis = Matrix.Identity(4)
    return out


def keyed(matrices):
    target = bpy.data.objects.new("target", None)
    bpy.context.scene.collection.objects.link(target)
    target.rotation_mode = "QUATERNION"
    for n, matrix in enumerate(matrices):
        target.matrix_world = matrix
        target.keyframe_insert("location", frame=n + 1)
        target.keyframe_insert("rotation_quaternion", frame=n + 1)
    return target


def solved(ob, tip, matrices, turn):
    """How many frames are, and the worst place."""
    count, worst = 0, 0.0
    for n, matrix in enumerate(matrices):
        bpy.context.scene.frame_set(n + 1)
        got = tip_of(ob, tip)
        off = (got.translation - matrix.translation).length
        angle = got.to_quaternion().rotation_difference(matrix.to_quaternion()).angle
        good = off < NEAR and (not turn or min(angle, 2 * math.pi - angle) < TURNED)
        count, worst = count + good, max(worst, off)
    return count, worst


def within_limits(ob):
    """Whether keyed angles keep the IK limits, in all frames."""
    for n in range(COUNT):
        bpy.context.scene.frame_set(n + 1)
        for bone in ob.pose.bones:
            for axis, angle in zip("xyz", bone.matrix_basis.to_euler()):
                if getattr(bone, f"use_ik_limit_{axis}"):
                    low, high = getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}")
                    if not low - TURNED <= angle <= high + TURNED:
                        return False
    return True


def frames():
    for n in range(COUNT):
        bpy.context.scene.frame_set(n + 1)


def best_bake():
    """CPU seconds (of Bake IK, of its solver alone), the best of three."""
    motion = common.addon().ik_solve.skelpy.IkMotion
    advance, spent = motion.advance, []

    def timed(*arguments):
        seconds, done = cpu(lambda: advance(*arguments))
        spent[-1] += seconds
        return done

    motion.advance, whole = timed, []
    try:
        for _ in range(3):
            spent.append(0.0)
            whole.append(cpu(bpy.ops.skel.bake_ik)[0])
    finally:
        motion.advance = advance
    return min(whole), min(spent)


def bench(name, make, turn, check):
    scene = common.clear()
    scene.frame_start, scene.frame_end = 1, COUNT
    ob, pose = make(random.Random(11))
    tip = ob.pose.bones[-1].name
    matrices = targets_of(ob, pose, tip)
    target = keyed(matrices)
    frames()
    plain, _ = cpu(frames)
    constraint = ob.pose.bones[tip].constraints.new("IK")
    constraint.target, constraint.use_rotation = target, turn
    theirs = min(cpu(frames)[0] for _ in range(3))
    their_count, their_worst = solved(ob, tip, matrices, turn)
    ob.pose.bones[tip].constraints.remove(constraint)
    goal = ob.skel_ik.goals.add()
    goal.name, goal.bone, goal.target, goal.use_orientation = tip, tip, target, turn
    ob.skel_ik.smooth, ob.skel_ik.posture = False, False
    bpy.context.view_layer.objects.active = ob
    ours, solver = best_bake()
    our_count, our_worst = solved(ob, tip, matrices, turn)
    their_solver = max(theirs - plain, 1e-9)
    print(f"{name}: Blender {100 * their_count / COUNT:.1f} % solved, worst {their_worst:.2g} m, "
          f"{theirs:.3f} s, solver {1e3 * their_solver / COUNT:.3f} ms a target")
    print(f"{name}: Skel    {100 * our_count / COUNT:.1f} % solved, worst {our_worst:.2g} m, "
          f"{ours:.3f} s, solver {1e3 * solver / COUNT:.3f} ms a target; "
          f"ratio {ours / theirs:.2f}, solver {solver / their_solver:.3f}")
    assert not check or our_count == COUNT and within_limits(ob), name
    return solver / their_solver


def main():
    check = "--check" in sys.argv
    for name, make, turn in (("hinges", hinges, True), ("chain", chain, False)):
        ratios = [bench(name, make, turn, check)]
        while check and min(ratios) > 1 and len(ratios) < TRIES:
            ratios.append(bench(name, make, turn, check))
        assert not check or min(ratios) <= 1, f"{name}: {ratios}, must be at most 1"


if __name__ == "__main__":
    main()
