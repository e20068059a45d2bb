# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties of bones and armatures of robots, which any user may edit: they are checked here."""

from __future__ import annotations

import math
import re
from typing import Any, Collection, Dict, Mapping, Optional, Sequence, Tuple

from .errors import UserError, parse_json
from .shot import Mimic, RobotShot

JOINT_KINDS = ("hinge", "slide", "ball", "fixed", "free")
ESTIMATES = ("", "mass", "inertia")


def _check(good: object, owner: str, name: str, must: str) -> None:
    if not good:
        raise UserError(f"{owner}: the property '{name}' must be {must}. Correct it, or import the "
                        "robot again")


def _floats(value: Any, count: int) -> Optional[Tuple[float, ...]]:
    """So many finite numbers, or None."""
    try:
        out = tuple(float(v) for v in value) if not isinstance(value, str) else ()
    except (TypeError, ValueError):
        return None
    return out if len(out) == count and all(map(math.isfinite, out)) else None


def _mimic_of(owner: str, text: Any) -> Mimic:
    """The mimic of a joint, from its JSON."""
    mimic = None
    try:
        found = parse_json(text, owner)
        mimic = Mimic(found["joint"], float(found["multiplier"]), float(found["offset"]))
    except (TypeError, ValueError, KeyError, UserError):
        pass
    good = mimic and isinstance(mimic.joint, str) and \
        _floats((mimic.multiplier, mimic.offset), 2)
    _check(good, owner, "joint_mimic",
           'JSON like {"joint": "name", "multiplier": 1.0, "offset": 0.0}')
    assert mimic is not None
    return mimic


def _pair(properties: Mapping[str, Any], name: str) -> Optional[Tuple[float, float]]:
    """Two numbers; None if they are not there, or are not two numbers."""
    found = _floats(properties.get(name), 2) if name in properties else None
    return (found[0], found[1]) if found else None


def read_robot_bone(name: str, properties: Mapping[str, Any]) -> Optional[RobotShot]:
    """The joint and the link of a bone of an imported robot; None for any other bone."""
    if "joint_type" not in properties:
        return None
    owner, get = f"The bone '{name}'", properties.get
    kind, joint = properties["joint_type"], get("joint", "")
    axis, sign = get("joint_axis", "Z"), get("joint_sign", 1)
    _check(kind in JOINT_KINDS, owner, "joint_type", "one of " + ", ".join(JOINT_KINDS))
    _check(isinstance(joint, str) and (joint or kind not in ("hinge", "slide")), owner, "joint",
           "the name of a joint")
    _check(axis in ("X", "Y", "Z"), owner, "joint_axis", "X, Y or Z")
    _check(sign in (1, -1), owner, "joint_sign", "1 or -1")

    limits, drive = _pair(properties, "joint_limits"), _pair(properties, "joint_drive")
    _check("joint_limits" not in properties or limits and limits[0] <= limits[1], owner,
           "joint_limits", "two numbers, the lower one first")
    mimic = _mimic_of(owner, get("joint_mimic")) if "joint_mimic" in properties else None
    _check("joint_drive" not in properties or drive and min(drive) >= 0, owner, "joint_drive",
           "two numbers, velocity and effort (0: not known)")

    mass = _floats([get("mass", 0.0)], 1)
    _check(mass and mass[0] >= 0, owner, "mass", "a number, not negative")
    com, inertia, estimated = None, None, ""
    if mass and mass[0] > 0:
        com, inertia = _floats(get("com"), 3), _floats(get("inertia"), 6)
        _check(com, owner, "com", "three numbers")
        _check(inertia, owner, "inertia", "six numbers: xx yy zz xy xz yz")
        estimated = get("mass_estimated", "")
        _check(estimated in ESTIMATES, owner, "mass_estimated", "mass, inertia or empty")
    return RobotShot(joint, kind, axis, float(sign), limits, mimic, com, inertia,
                     bool(get("robot_frame", 0)), mass[0] if mass else 0.0, estimated, drive)


def read_robot_data(name: str, text: str) -> Dict[str, Any]:
    """The data of a robot that its armature keeps as JSON: joints in the order of q, poses."""
    data: Any = None
    try:
        data = parse_json(text, name)
        joints, poses = data.get("joints", []), data.get("poses", {})
        good = isinstance(joints, list) and all(isinstance(joint, str) for joint in joints) and \
            all(_floats(q, len(q)) is not None for q in poses.values())
    except (TypeError, ValueError, AttributeError, UserError):
        good = False
    _check(good, f"The armature '{name}'", "skel_robot",
           'JSON like {"joints": ["name"], "poses": {"name": [0.0]}}')
    return data


# ---- joint coordinates ----

def apply_mimics(mimics: Mapping[str, Mimic], q: Mapping[str, float]) -> Dict[str, float]:
    """Joint coordinates by name, where mimic joints have the values that their sources give."""
    out = dict(q)
    for name, mimic in mimics.items():
        if name in out and mimic.joint in out:
            out[name] = mimic.multiplier * out[mimic.joint] + mimic.offset
    return out


def parse_joints(text: str, names: Sequence[str], angles: Collection[str] = (),
                 mimics: Collection[str] = ()) -> Dict[str, float]:
    """{joint: value} of "0, 0.5 -1": a number for every joint, or for every one that is not a
    mimic. angles: joints whose numbers are degrees."""
    try:
        values = [float(word) for word in re.split(r"[\s,;]+", text.strip()) if word]
    except ValueError:
        raise UserError(f"'{text}' are not numbers. Write them like 0, 0.5, -1") from None
    if not all(map(math.isfinite, values)):
        raise UserError(f"'{text}' must be finite numbers")

    given: Sequence[str] = names
    if mimics and len(values) == len(names) - len(mimics):
        given = [name for name in names if name not in mimics]
    if len(values) != len(given):
        less = f" ({len(names) - len(mimics)} without mimic joints)" if mimics else ""
        raise UserError(f"The robot has {len(names)} joints{less}, but {len(values)} numbers are "
                        "given")
    q = dict.fromkeys(names, 0.0)
    q.update({name: math.radians(v) if name in angles else v for name, v in zip(given, values)})
    return q
