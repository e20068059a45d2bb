#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the sample scenes beside this file. The same bytes on every machine.

    make_scenes.py            write samples/*.json
    make_scenes.py --check    exit 1 where a file in the tree is not what would be written

What a scene holds is in scenes/: a function for each, of its name.
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "plugin_bridge")]

from scenes import contact, joints, jumper, reach  # noqa: E402

SCENES = (joints.pendulum, joints.double_pendulum, joints.free_tree, joints.humanoid, joints.rope,
          joints.driven_root, joints.four_bar, joints.ring, joints.bar_hang, joints.follow,
          contact.falling_rod, contact.falling_rod_half, contact.falling_rod_dead,
          jumper.jumper_stiff, jumper.jumper_soft, jumper.jumper_locked, jumper.jumper_five,
          contact.ragdoll_stairs, contact.landing, reach.lecture, reach.puma560,
          reach.figure_eight, reach.character, reach.tentacle)


def main():
    parser = argparse.ArgumentParser(description="write the sample scenes")
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 where different")
    check = parser.parse_args().check
    stale = []
    for make in SCENES:
        path, text = HERE / f"{make.__name__}.json", make().to_json()
        if check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(path.name)
        else:
            path.write_text(text, encoding="utf-8")
            print(f"samples/{path.name}")
    if stale:
        print(f"not up to date, run samples/make_scenes.py: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
