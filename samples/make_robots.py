#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the documents in samples/robots (skel-dh/1) from the numbers in robots/source/tables.json.

Usage: make_robots.py [FOLDER]    default: samples/robots
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
STAND_IN = {"puma560": {0: {"mass": 1.0, "inertia": [0.35, 0.35, 0.35, 0, 0, 0]}}}


def chosen(robot):
    """The table that stands for the robot: the preferred one, or the first."""
    return next((t for t in robot["tables"] if t.get("preferred")), robot["tables"][0])


def body(robot, i):
    """mass, com and inertia of link i, as far as they are known."""
    known = robot.get("bodies", {})
    fields = {}
    for name in ("mass", "com", "inertia"):
        value = known.get(name, [])
        if i < len(value) and value[i] is not None:
            fields[name] = value[i]
    fields.update(STAND_IN.get(robot["id"], {}).get(i, {}))
    return fields


def joint(robot, table, i):
    row = dict(table["joints"][i])
    fields = {"name": row.pop("name", f"joint{i + 1}"), "link": f"link{i + 1}", **row,
              **body(robot, i)}
    for name, field in (("velocity_limits", "velocity_limit"), ("torque_limits", "torque_limit")):
        if name in robot:
            fields[field] = robot[name][i]
    return fields


def document(robot):
    table = chosen(robot)
    doc = {"format": "skel-dh/1", "name": robot["name"], "convention": table["convention"],
           "angle_unit": "rad", "length_unit": "m"}
    for end in ("base", "tool"):
        if end in table:
            doc[end] = table[end]
    doc["joints"] = [joint(robot, table, i) for i in range(len(table["joints"]))]
    if "poses" in robot:
        doc["poses"] = robot["poses"]
    doc["source"] = table["source"]
    doc["notes"] = list(robot["notes"])
    if "limits_source" in robot:
        doc["notes"].append(f"Limits: {robot['limits_source']}")
    if "bodies" in robot:
        doc["notes"].append(f"Masses: {robot['bodies']['source']}")
    if not doc["notes"]:
        del doc["notes"]
    return doc


def text(doc):
    """A field to a line, and in lists of objects, lists and strings an element to a line."""
    lines = []
    for name, value in doc.items():
        if name == "joints" or name == "notes":
            items = ",\n    ".join(json.dumps(item) for item in value)
            lines.append(f'"{name}": [\n    {items}]')
        elif name == "poses":
            items = ",\n    ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            lines.append(f'"{name}": {{\n    {items}}}')
        else:
            lines.append(f"{json.dumps(name)}: {json.dumps(value)}")
    return "{\n  " + ",\n  ".join(lines) + "\n}\n"


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "robots"
    folder.mkdir(parents=True, exist_ok=True)
    robots = json.loads((HERE / "robots" / "source" / "tables.json").read_text("utf-8"))
    robots = robots["robots"]
    for robot in robots:
        (folder / f"{robot['id']}.json").write_text(text(document(robot)), encoding="utf-8")
    print(f"{len(robots)} robots in {folder}")


if __name__ == "__main__":
    main()
