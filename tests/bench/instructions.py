# SPDX-License-Identifier: BSD-3-Clause
"""Instructions per call of the bench scenarios, counted by callgrind: the same number on every run,
whatever else the machine does. Two runs with N and 3 N calls; the difference over 2 N.

  instructions.py SKEL_BENCH [SCENARIO ...]     a CSV of these (default: all cheap ones)
  instructions.py SKEL_BENCH --check            the promises on cost; exit 1 where one is broken
  instructions.py SKEL --check-urdf             the same for a chain that `skel` converts to URDF
"""
import json
import os
import re
import subprocess
import sys
import tempfile

SCENARIOS = ["accel_tree_hinge_100", "accel_tree_hinge_1000", "accel_tree_ball_100",
             "accel_tree_ball_1000", "accel_tree_mixed_100", "accel_tree_mixed_1000",
             "accel_kkt_mixed_100", "accel_kkt_mixed_1000", "accel_tree_20", "step_rk4_20",
             "step_rk4_mixed_100", "step_rk4_mixed_1000", "step_conserving_20",
             "step_conserving_mixed_100", "step_conserving_mixed_1000", "ik_ball_30", "ik_ball_300"]
# (large, small, least, most): ratio of instructions, ten times the bodies
PROMISES = [("accel_tree_hinge_1000", "accel_tree_hinge_100", 8, 12),
            ("accel_tree_ball_1000", "accel_tree_ball_100", 8, 12),
            ("accel_tree_mixed_1000", "accel_tree_mixed_100", 8, 12),
            ("step_rk4_mixed_1000", "step_rk4_mixed_100", 8, 12),
            ("step_conserving_mixed_1000", "step_conserving_mixed_100", 8, 13),
            ("ik_ball_300", "ik_ball_30", 8, 12)]
CALLS = 4


def count(*command):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command],
                       check=True, capture_output=True)
        with open(out) as lines:
            for line in lines:
                found = re.match(r"(?:totals|summary): (\d+)", line)
                if found:
                    return int(found.group(1))
    raise SystemExit(f"{command}: callgrind wrote no total")


def per_call(bench, scenario):
    more, fewer = (count(bench, scenario, str(calls)) for calls in (3 * CALLS, CALLS))
    return (more - fewer) / (2 * CALLS)


def is_kept(large, small, ratio, least, most):
    good = least <= ratio <= most
    print(f"{large} / {small} = {ratio:.2f}, wanted {least} to {most}: "
          f"{'ok' if good else 'BROKEN'}", flush=True)
    return good


def check(bench):
    kept = [is_kept(large, small, per_call(bench, large) / per_call(bench, small), least, most)
            for large, small, least, most in PROMISES]
    return 0 if all(kept) else 1


def conversion(skel, links):
    """Of a chain whose joints are listed from its end to its root, the worst order."""
    bodies = [{"name": f"b{k}", "mass": 1, "shape": {"type": "sphere", "radius": 0.1},
               "position": [k, 0, 0]} for k in range(links)]
    joints = [{"name": f"j{k}", "type": "hinge", "bodies": [f"b{k - 1}" if k else "world", f"b{k}"],
               "anchor": [k, 0, 0], "axis": [0, 1, 0]} for k in reversed(range(links))]
    with tempfile.TemporaryDirectory() as folder:
        scene, urdf = os.path.join(folder, "chain.json"), os.path.join(folder, "chain.urdf")
        with open(scene, "w", encoding="utf-8") as file:
            json.dump({"format": "skel-scene/1", "bodies": bodies, "joints": joints}, file)
        return count(skel, "convert", scene, urdf)


def check_urdf(skel):
    ratio = conversion(skel, 500) / conversion(skel, 50)
    return 0 if is_kept("urdf_500", "urdf_50", ratio, 8, 12) else 1


def main(arguments):
    bench, *rest = arguments
    if rest == ["--check"]:
        return check(bench)
    if rest == ["--check-urdf"]:
        return check_urdf(bench)
    print("scenario,instructions_per_call,instructions_per_body")
    for scenario in rest or SCENARIOS:
        instructions = per_call(bench, scenario)
        bodies = int(scenario.rsplit("_", 1)[1])
        print(f"{scenario},{instructions:.0f},{instructions / bodies:.0f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
