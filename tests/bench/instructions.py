# SPDX-License-Identifier: BSD-3-Clause
"""Instructions per call of the bench scenarios, counted by callgrind: the same number on every run,
whatever else the machine does. Two runs with N and 3 N calls; the difference over 2 N.

  instructions.py SKEL_BENCH [SCENARIO ...]     a CSV of these (default: all cheap ones)
  instructions.py SKEL_BENCH --check            the promises on cost; exit 1 where one is broken
"""
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


def count(bench, scenario, calls):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", bench,
                        scenario, str(calls)], check=True, capture_output=True)
        with open(out) as lines:
            for line in lines:
                found = re.match(r"(?:totals|summary): (\d+)", line)
                if found:
                    return int(found.group(1))
    raise SystemExit(f"{scenario}: callgrind wrote no total")


def per_call(bench, scenario):
    return (count(bench, scenario, 3 * CALLS) - count(bench, scenario, CALLS)) / (2 * CALLS)


def check(bench):
    broken = 0
    for large, small, least, most in PROMISES:
        ratio = per_call(bench, large) / per_call(bench, small)
        good = least <= ratio <= most
        broken += not good
        print(f"{large} / {small} = {ratio:.2f}, wanted {least} to {most}: "
              f"{'ok' if good else 'BROKEN'}", flush=True)
    return 1 if broken else 0


def main(arguments):
    bench, *rest = arguments
    if rest == ["--check"]:
        return check(bench)
    print("scenario,instructions_per_call,instructions_per_body")
    for scenario in rest or SCENARIOS:
        instructions = per_call(bench, scenario)
        bodies = int(scenario.rsplit("_", 1)[1])
        print(f"{scenario},{instructions:.0f},{instructions / bodies:.0f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
