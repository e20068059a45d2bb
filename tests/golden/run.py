#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares results with recorded hashes: a change of the sources that must not change behaviour
changes none of them.

    python3 tests/golden/run.py --build build               compare; exit code 1 if items differ
    python3 tests/golden/run.py --build build --only scene  only items whose name begins so
    python3 tests/golden/run.py --build build --record      write hashes.txt anew (also of --only)
    python3 tests/golden/run.py --build build --show scene/017/bake   the result itself, as JSON

hashes.txt has a line per item, its name and a hash, sorted by name. An item is a result of the
command `skel`, of the library or of the add-on's pure modules:

    sample/NAME/...   every samples/*.json: bake or ik, inverse, convert, accel, flights
    robot/NAME/...    every samples/robots/*.json: fk, DH tables, URDF, ik, bake, inverse
    urdf/NAME/...     every tests/data/urdf/*.urdf: to a scene, to a DH table, and back
    scene/NNN/...     generated scenes (scenes.py): bake, accel by all solvers, inverse, convert
    goals/NNN/...     generated chains with goals (goals.py): ik in both modes, DH tables, URDF
    kind/TYPE/...     the same two for one joint type each: scene/NNN and goals/NNN
    two_bone/...      the closed-form solutions of two bones
    addon/...         channels of three rigs (addon_rigs.py)

A hash is of the numbers (by the bits of the doubles), the names and the structure of a result, and
of the exit code. Sentences (messages, warnings, notes), times and the version are left out; of
warnings the number counts (canonical.py). Generated documents are made at every run from fixed
seeds by draw.py.

The hashes are the same for every working directory, locale and number of jobs, with and without
wide vectors, by gcc at -O2 and by clang at -O1 (-ffp-contract=off). Apart from the sources they can
change with:
- libm (sin, cos, pow, ... are not correctly rounded), so with the C library and the machine's type,
- LAPACK and SUNDIALS, which are linked in from the distribution's archives (OpenBLAS has kernels
  for each kind of processor: the plainest ones are chosen here),
- Python's json and math only where the add-on computes in Python (math.sin is libm's, too).
If all items differ on a new system and none on an old one, that is why: record them there with the
sources of a commit that is known to be good, and compare afterwards.

The test runs in the release build alone; what other builds give is checked by hand with --build.

A commit that changes behaviour on purpose records the hashes anew and says why in its message.
"""
import argparse
import concurrent.futures
import ctypes
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SAMPLES, ROBOTS = ROOT / "samples", ROOT / "samples" / "robots"
HASHES = HERE / "hashes.txt"
LEAST = 5       # scenes that must bake with a feature, for the hashes to guard it

# OpenBLAS chooses its kernels by the processor, and they add in different orders. The plainest
# kernels run everywhere. The variable is read as the library is loaded, here and in children.
os.environ["OPENBLAS_CORETYPE"] = "Prescott"

sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "python"), str(ROOT / "plugin_bridge")]

import canonical        # noqa: E402
import draw             # noqa: E402
import goals            # noqa: E402
import scenes           # noqa: E402


class Command:
    """`skel` in a folder of its own. Results are (exit code, outputs)."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.environment = {**os.environ, "SKEL_ROBOTS": str(ROBOTS)}

    def run(self, *arguments, outputs=("out.json",)):
        """Runs it; the outputs are the files of these names that it wrote."""
        for name in outputs:
            (self.folder / name).unlink(missing_ok=True)
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, check=False,
                              capture_output=True, env=self.environment)
        if done.returncode not in (0, 1, 2):
            raise RuntimeError(f"skel {arguments}: exit code {done.returncode}: {done.stderr}")
        return [done.returncode, *(canonical.of_file(self.folder / name) for name in outputs)]

    def write(self, document, name="in.json"):
        path = self.folder / name
        path.write_text(json.dumps(document), encoding="utf-8")
        return path


# ---- what is done with a document: functions of (command, path of it) -> {part: result} ----

def converted(skel, path):
    """The document as every other kind; the URDF that comes out is read again."""
    return {
        "convert/scene": skel.run("convert", path, "out.json"),
        "convert/urdf": skel.run("convert", path, "out.urdf", outputs=("out.urdf",)),
        "convert/urdf_again": skel.run("convert", "out.urdf", "out.json"),
    }


def tables(skel, path, *chain):
    out = {}
    for convention in ("standard", "modified"):
        given = ("dh", "extract", path, "--convention", convention, *chain)
        out[f"dh/{convention}"] = skel.run(*given, "-o", "table.json", outputs=("table.json",))
        out[f"dh/{convention}_csv"] = skel.run(*given, "-o", "out.csv", outputs=("out.csv",))
        other = "modified" if convention == "standard" else "standard"
        out[f"dh/{convention}_converted"] = skel.run(
            "dh", "convert", "table.json", "--convention", other, "-o", "out.json")
    return out


def baked(skel, path, *options):
    return skel.run("bake", path, "-o", "track.json", "--report", "report.json", *options,
                    outputs=("track.json", "report.json"))


def dynamics(skel, path):
    return {
        "bake": baked(skel, path),
        "inverse": skel.run("inverse", path, "track.json", "-o", "out.json"),
        "inverse_motors": skel.run("inverse", path, "track.json", "-o", "out.csv", "--cutoff", 5,
                                   "--motors", "motors.json", outputs=("out.csv", "motors.json")),
        "accel": [skel.run("accel", path, "--solver", solver, "-o", "out.json")
                  for solver in scenes.SOLVERS],
    }


def flights(skel, path):
    """From the pose of the scene to that of a frame of its bake, which is still there."""
    there = ("flight", path, "--from", "scene", "--to", "track.json@13", "--time", 0.5)
    return {
        "flight": skel.run(*there, "-o", "out.json", "--scene", "take.json",
                           outputs=("out.json", "take.json")),
        "flight_turns": skel.run(*there, "--turns", 1, "--about", "0,1,0", "-o", "out.json"),
    }


def sample(skel, path):
    document = json.loads(path.read_text(encoding="utf-8"))
    out = {**converted(skel, path), "fk": skel.run("fk", path, "-o", "out.json")}
    if "goals" in document:
        for mode in ("pose", "track"):
            out[f"ik/{mode}"] = skel.run("ik", path, "--mode", mode, "-o", "out.json")
        out["ik"] = skel.run("ik", path, "-o", "out.json")
        return {**out, **tables(skel, path)}
    out.update(dynamics(skel, path))
    if path.stem in ("free_tree", "humanoid"):
        out.update(flights(skel, path))
    if path.stem in ("double_pendulum", "ring"):
        out["bake/files"] = [skel.run("bake", path, "-o", f"out.{end}", "--report", "report.csv",
                                      outputs=(f"out.{end}", "report.csv")) for end in
                             ("npy", "csv")]
    return out


def robot_pose(skel, path, numbers, low, high):
    """fk at random joint coordinates between these shares of the limits."""
    table, q = json.loads(path.read_text(encoding="utf-8")), []
    unit = {"deg": 1 / scenes.RAD, "rad": 1}[table.get("angle_unit", "rad")]
    length = {"mm": 0.001, "m": 1}[table.get("length_unit", "m")]
    for row in table["joints"]:
        first, last = row.get("limits", (-1, 1))
        scale = length if row["type"] == "prismatic" else unit
        q.append(scale * (first + (last - first) * numbers.between(low, high)))
    return skel.run("fk", path, "--q=" + ",".join(map(repr, q)), "-o", "out.json")


def robot_line(skel, path, seed):
    """The last link goes straight from one pose to another. On the way it meets limits, and frames
    are lost: the motion has to find other ways."""
    numbers, frames = draw.Draw(seed), 80
    ends = [robot_pose(skel, path, numbers, 0.1, 0.9)[1] for _ in range(2)]
    goal = {"body": ends[0]["names"][-1]}
    for key in ("position", "orientation"):
        a, b = (end[key][-1] for end in ends)
        goal[key] = [[x + (y - x) * k / (frames - 1) for x, y in zip(a, b)] for k in range(frames)]
    for q in goal["orientation"]:
        size = math.sqrt(sum(x * x for x in q))
        q[:] = [x / size for x in q]
    if seed % 2:
        del goal["orientation"]
    skel.run("dh", "build", path, "-o", "built.json", outputs=())
    scene = json.loads((skel.folder / "built.json").read_text(encoding="utf-8"))
    scene.update(goals=[goal], ik={"mode": "track", "max_restarts": 5})
    return skel.run("ik", skel.write(scene), "-o", "out.json")


def robot(skel, path):
    """The goal is where the tool is at a pose within the limits."""
    there = robot_pose(skel, path, draw.Draw(len(path.stem)), 0.3, 0.7)
    out = {"fk": there, **converted(skel, path), **tables(skel, path),
           "build": skel.run("dh", "build", path, "-o", "out.json"),
           "bake": baked(skel, path, "--end", 5),
           "inverse": skel.run("inverse", path, "track.json", "-o", "out.json")}
    tool = there[1].get("tool") or {key: there[1][key][-1] for key in ("position", "orientation")}
    for name, keys in (("place", ("position",)), ("pose", ("position", "orientation"))):
        goal = [f"--{key}=" + ",".join(map(repr, tool[key])) for key in keys]
        out[f"ik/{name}"] = skel.run("ik", path, *goal, "-o", "out.json")
    for seed in range(4):
        out[f"ik/line{seed}"] = robot_line(skel, path, seed)
    return out


def urdf(skel, path):
    return {**converted(skel, path), **tables(skel, path, "--tip", "tcp"),
            "fk": skel.run("fk", path, "-o", "out.json")}


def generated(skel, document):
    path = skel.write(document)
    out = dynamics(skel, path)
    out["convert"] = skel.run("convert", path, "out.json")
    return out


def solved(skel, document):
    path = skel.write(document)
    out = {f"ik/{mode}": skel.run("ik", path, "--mode", mode, "-o", "out.json")
           for mode in ("pose", "track")}
    out["ik"] = skel.run("ik", path, "-o", "out.json")
    return {**out, **converted(skel, path), **tables(skel, path)}


def two_bones(library):
    """By the layout of the C structures, so that no name of the binding counts."""
    solve, plane = (getattr(ctypes.CDLL(str(library)), name)
                    for name in ("skel_two_bone_solve", "skel_two_bone_plane"))
    plane.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_double, *[ctypes.c_void_p] * 3]
    numbers, space, flat = draw.Draw(7), [], []
    for k in range(200):
        given = [*numbers.vector(1), *numbers.vector(1), *numbers.vector(2), 0.6,
                 numbers.between(0.2, 0.8), numbers.pick((0, 0.1, 0.3))]
        desc = ctypes.create_string_buffer(struct.pack("=II12d", 104, 0, *given), 104)
        out = ctypes.create_string_buffer(struct.pack("=Ii7d", 64, 0, *[0] * 7), 64)
        space.append([solve(desc, out), *struct.unpack("=Ii7d", out.raw)])

        root, target = ((ctypes.c_double * 2)(*numbers.vector(1)[:2]) for _ in range(2))
        plus, minus = (ctypes.c_double * 2)(), (ctypes.c_double * 2)()
        flat.append([plane(root, 0.6, given[10], target, plus, minus), *plus, *minus])
    return {"space": space, "plane": flat}


# ---- all jobs ----

def jobs(program, library):
    """(name of the group, function of a folder that gives {part: result})"""
    def document(work, given):
        return lambda folder: work(Command(program, folder), given)
    for path in sorted(SAMPLES.glob("*.json")):
        yield f"sample/{path.stem}", document(sample, path)
    for path in sorted(ROBOTS.glob("*.json")):
        yield f"robot/{path.stem}", document(robot, path)
    for path in sorted((ROOT / "tests" / "data" / "urdf").glob("*.urdf")):
        yield f"urdf/{path.stem}", document(urdf, path)
    for number in range(scenes.COUNT):
        yield f"scene/{number:03}", document(generated, scenes.scene(number))
    for number in range(goals.COUNT):
        yield f"goals/{number:03}", document(solved, goals.scene(number))
    for name, given in kind_documents():
        yield name, document(solved if "goals" in given else generated, given)
    yield "two_bone", lambda _folder: two_bones(library)
    import addon_rigs
    for name, work in addon_rigs.items(ROBOTS):
        yield name, lambda _folder, work=work: {"": work()}


def kind_documents():
    """(name of the group, document) of the joint types that have scenes of their own."""
    for k, kind in enumerate(scenes.KINDS):
        for number in range(scenes.KIND_COUNT):
            yield f"kind/{kind}/scene/{number:03}", scenes.kind_scene(kind, number)
        for number in range(goals.KIND_COUNT):
            yield f"kind/{kind}/goals/{number:03}", goals.kind_scene(kind, number, 9000 + 100 * k)


def results_of(name, work):
    with tempfile.TemporaryDirectory() as folder:
        found = work(pathlib.Path(folder))
    return {f"{name}/{part}".rstrip("/"): result for part, result in found.items()}


def uncovered(exit_codes):
    """Features of the generated scenes that too few successful bakes have."""
    counts = {}
    named = [(f"scene/{number:03}", scenes.scene(number)) for number in range(scenes.COUNT)]
    named += [(name, document) for name, document in kind_documents() if "goals" not in document]
    for name, document in named:
        for feature in scenes.features(document):
            good = exit_codes.get(f"{name}/bake") == 0
            counts[feature] = counts.get(feature, 0) + good
    return sorted(feature for feature, count in counts.items() if count < LEAST)


def read_hashes():
    lines = HASHES.read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines)


def record(found, only):
    """Writes the file; items that were not asked for stay as they are."""
    old = read_hashes() if only and HASHES.exists() else {}
    kept = {name: value for name, value in old.items() if not name.startswith(only)}
    lines = [f"{name} {value}\n" for name, value in sorted({**kept, **found}.items())]
    HASHES.write_text("".join(lines), encoding="utf-8")
    print(f"golden: {len(found)} of {len(lines)} items recorded")


def compare(found, only):
    """Prints what differs and returns how many items do."""
    recorded = {name: value for name, value in read_hashes().items() if name.startswith(only)}
    names = sorted({*recorded, *found})
    bad = [name for name in names if recorded.get(name) != found.get(name)]
    for name in bad:
        print(f"{name}: {found.get(name, 'is missing')}, recorded: {recorded.get(name, 'nothing')}")
    print(f"golden: {len(names) - len(bad)} items are as recorded, {len(bad)} differ")
    return len(bad)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default=str(ROOT / "build"), help="folder of the build")
    parser.add_argument("--record", action="store_true", help="write hashes.txt anew")
    parser.add_argument("--only", default="", help="only items whose name begins so")
    parser.add_argument("--show", default="", help="print one result instead")
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time")
    given = parser.parse_args()

    build = pathlib.Path(given.build).resolve()
    library, program = build / "lib" / "libskel.so", build / "bin" / "skel"
    os.environ["SKEL_LIB"], os.environ["SKEL_BIN"] = str(library), str(program)

    only = given.show or given.only
    chosen = [(name, work) for name, work in jobs(program, library)
              if name.startswith(only) or only.startswith(name + "/")]
    found, exit_codes = {}, {}
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for results in pool.map(lambda job: results_of(*job), chosen):
            for name, result in results.items():
                if name == given.show:
                    json.dump(result, sys.stdout, indent=1, default=list)
                if name.startswith(only):
                    found[name] = canonical.digest(result)
                    exit_codes[name] = result[0] if isinstance(result, list) else None
    if given.show:
        return 0 if given.show in found else 2

    missing = uncovered(exit_codes) if not only else []
    if missing:
        print("golden: too few generated scenes bake with: " + ", ".join(missing))
    if given.record:
        record(found, only)
        return 1 if missing else 0
    return 1 if compare(found, only) or missing else 0


if __name__ == "__main__":
    sys.exit(main())
