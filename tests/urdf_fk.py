#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where the links of a URDF are: a second reader, that shares nothing with the first.

Usage: urdf_fk.py FILE Q,Q,...     Q of the joints that move, in the order of the document
"""
import json
import math
import sys
import xml.etree.ElementTree as ElementTree


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(4)) for j in range(4)] for i in range(4)]


def motion(rotation, xyz):
    return [[*rotation[i], xyz[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]]


def about(axis, angle):
    """Rodrigues: R = cos + (1 - cos) u u^T + sin [u]."""
    length = math.sqrt(sum(x * x for x in axis))
    x, y, z = (value / length for value in axis)
    c, s = math.cos(angle), math.sin(angle)
    v = 1 - c
    return [[c + v * x * x, v * x * y - s * z, v * x * z + s * y],
            [v * x * y + s * z, c + v * y * y, v * y * z - s * x],
            [v * x * z - s * y, v * y * z + s * x, c + v * z * z]]


def numbers(element, name, default):
    text = element.get(name) if element is not None else None
    return [float(word) for word in text.split()] if text else list(default)


def origin(element):
    place = element.find("origin")
    xyz, (roll, pitch, yaw) = numbers(place, "xyz", (0, 0, 0)), numbers(place, "rpy", (0, 0, 0))
    turn = motion(about((0, 0, 1), yaw), (0, 0, 0))
    for axis, angle in (((0, 1, 0), pitch), ((1, 0, 0), roll)):
        turn = product(turn, motion(about(axis, angle), (0, 0, 0)))
    return motion([row[:3] for row in turn[:3]], xyz)


def moving(robot):
    return [joint for joint in robot.findall("joint")
            if joint.get("type") not in ("fixed", "floating")]


def frames(robot, q):
    """{link: 4x4} of all links; q by the name of the joint. The root stands at the origin.

    A joint that mimics one of q goes with it, whatever its own q says.
    """
    by_child = {joint.find("child").get("link"): joint for joint in robot.findall("joint")}
    by_name = {joint.get("name"): joint for joint in robot.findall("joint")}
    found = {}

    def value_of(joint):
        mimic = joint.find("mimic")
        if mimic is None or mimic.get("joint") not in q:
            return q.get(joint.get("name"), 0.0)
        return (float(mimic.get("multiplier", 1)) * value_of(by_name[mimic.get("joint")])
                + float(mimic.get("offset", 0)))

    def place(name):
        if name in found:
            return found[name]
        if name not in by_child:
            found[name] = motion(about((0, 0, 1), 0), (0, 0, 0))
            return found[name]
        joint = by_child[name]
        at = product(place(joint.find("parent").get("link")), origin(joint))
        axis = numbers(joint.find("axis"), "xyz", (1, 0, 0))
        value = value_of(joint)
        if joint.get("type") in ("revolute", "continuous"):
            at = product(at, motion(about(axis, value), (0, 0, 0)))
        elif joint.get("type") == "prismatic":
            length = math.sqrt(sum(x * x for x in axis))
            at = product(at, motion(about((0, 0, 1), 0), [value * x / length for x in axis]))
        found[name] = at
        return at

    for link in robot.findall("link"):
        place(link.get("name"))
    return found


def load(path):
    sys.setrecursionlimit(100000)
    return ElementTree.parse(path).getroot()


def main():
    robot = load(sys.argv[1])
    values = [float(word) for word in sys.argv[2].split(",")] if len(sys.argv) > 2 else []
    print(json.dumps(frames(robot, dict(zip((j.get("name") for j in moving(robot)), values)))))


if __name__ == "__main__":
    main()
