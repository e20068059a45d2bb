# SPDX-License-Identifier: GPL-3.0-or-later
"""Setups: all settings of an armature, its bones and its goals as a document, skel-setup/1.

    {"format": "skel-setup/1",
     "armature": {"preset": "RAGDOLL", ...},            every setting of the panels
     "default_bone": {"mass": 0.0, ...},                what a bone has unless it says otherwise
     "bones": {"hand.L": {"mass": 0.4}, "head": {}},    every bone, by name
     "ik": {"root": "AUTO", ...},
     "goals": [{"name": "hand", "bone": "hand.L", "target": "Empty", ...}]}

Which settings there are, and what values they may have, is told by the properties of the add-on
(`Form`); a setting that is added there is in the document, too. Objects are named; true is the
armature itself. A part, a bone or a setting that a document does not have stays as it is; a goal
has the default of a setting that it does not have."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from .errors import UserError, parse_json

FORMAT = "skel-setup/1"
BOOL, INT, FLOAT, TEXT, CHOICE, CHOICES, OBJECT, COLLECTION = (
    "bool", "int", "float", "text", "choice", "choices", "object", "collection")
PARTS = ("armature", "default_bone", "bones", "ik", "goals")
VALUE_SHOWN = 60                # characters of a wrong value in a message
NAMES_SHOWN = 8                 # names in a message
Values = Dict[str, Any]


@dataclass(frozen=True)
class Field:
    """A setting: its name, and which values it may have."""
    name: str
    kind: str
    default: Any = None
    low: float = -math.inf
    high: float = math.inf
    choices: Tuple[str, ...] = ()
    size: int = 0                               # of a list of numbers; 0: a single one

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        if self.kind in (INT, FLOAT):
            one = "a whole number" if self.kind == INT else "a number"
            said = _range_words(self.low, self.high)
            return f"a list of {self.size} numbers{said}" if self.size else one + said
        return {BOOL: "true or false", TEXT: "a text",
                CHOICE: f"one of {', '.join(self.choices)}",
                CHOICES: f"a list of some of {', '.join(self.choices)}",
                OBJECT: "the name of an object, true for the armature itself, or null",
                COLLECTION: "the name of a collection, or null"}[self.kind]

    def allows(self, value: Any) -> bool:
        if self.size:
            return isinstance(value, list) and len(value) == self.size and \
                all(self._allows_number(each) for each in value)
        if self.kind in (INT, FLOAT):
            return self._allows_number(value)
        if self.kind == CHOICE:
            return isinstance(value, str) and value in self.choices
        if self.kind == CHOICES:
            return isinstance(value, list) and all(
                isinstance(each, str) and each in self.choices for each in value)
        if self.kind == OBJECT and (value is None or value is True):
            return True
        return isinstance(value, bool if self.kind == BOOL else str) or \
            self.kind == COLLECTION and value is None

    def _allows_number(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        if self.kind == INT:
            return isinstance(value, int) and self.low <= value <= self.high
        try:
            return self.low <= single(value) <= self.high and math.isfinite(value)
        except OverflowError:                   # too large for single precision
            return False


@dataclass(frozen=True)
class Form:
    """The settings that a setup has."""
    armature: Sequence[Field] = ()
    bone: Sequence[Field] = ()
    ik: Sequence[Field] = ()
    goal: Sequence[Field] = ()


@dataclass(frozen=True)
class Setup:
    armature: Values = field(default_factory=dict)
    bones: Dict[str, Values] = field(default_factory=dict)      # complete settings
    ik: Values = field(default_factory=dict)
    goals: Optional[List[Values]] = None        # None: the goals stay as they are


# ---- numbers ----

def single(value: float) -> float:
    """A number in single precision, as Blender keeps it."""
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def shortest(value: float) -> float:
    """The number with the fewest digits that is the same in single precision: 0.8, not
    0.800000011920929."""
    for digits in range(6, 9):
        short = float(f"{value:.{digits}g}")
        if single(short) == single(value):
            return short
    return float(f"{value:.9g}")


def _range_words(low: float, high: float) -> str:
    """Limits in words. Those of the type of a number are no limits."""
    low_said, high_said = abs(low) < 1e9, abs(high) < 1e9
    if low_said and high_said:
        return f" from {low:g} to {high:g}"
    if low_said:
        return f" >= {low:g}"
    return f" <= {high:g}" if high_said else ""


# ---- writing ----

def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _default_bone(form: Form) -> Values:
    return {each.name: each.default for each in form.bone}


def document_of(setup: Setup, form: Form) -> Values:
    """A setup as a document: bones with the settings that are not the default."""
    default = _default_bone(form)
    bones = {name: {key: value for key, value in values.items() if value != default.get(key)}
             for name, values in setup.bones.items()}
    return {"format": FORMAT, "armature": setup.armature, "default_bone": default, "bones": bones,
            "ik": setup.ik, "goals": setup.goals or []}


def text_of(document: Values) -> str:
    """A document as text that a person can read and compare: a line per setting, bone and goal."""
    def lines(values: Any) -> Iterator[str]:
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            head = f"{_quoted(key)}: " if isinstance(values, dict) else ""
            yield f"    {head}{_quoted(value)}"

    parts = []
    for key, value in document.items():
        text = json.dumps(value)
        if isinstance(value, (dict, list)) and value:
            begin, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
            text = begin + "\n" + ",\n".join(lines(value)) + f"\n  {end}"
        parts.append(f'  "{key}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


# ---- reading ----

class _Checker:
    """Checks a document. what: names the document in messages."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.unknown: List[str] = []            # settings that the add-on does not have

    def fail(self, where: str, value: Any, rule: str) -> UserError:
        said = _quoted(value)
        if len(said) > VALUE_SHOWN:
            said = said[:VALUE_SHOWN] + "..."
        return UserError(f"{self.what}: {where}: is {said}, must be {rule}")

    def table(self, value: Any, where: str, rule: str = "an object in braces") -> Values:
        if not isinstance(value, dict):
            raise self.fail(where, value, rule)
        return value

    def values(self, value: Any, where: str, fields: Sequence[Field]) -> Values:
        """The known settings of a part, each checked."""
        known = {each.name: each for each in fields}
        out = {}
        for name, given in self.table(value, where).items():
            if name not in known:
                self.unknown.append(f"{where}.{name}")
                continue
            if not known[name].allows(given):
                raise self.fail(f"{where}.{name}", given, known[name].rule)
            out[name] = given
        return out


def read_setup(text: str | bytes, what: str, form: Form) -> Tuple[Setup, List[str]]:
    """The setup of a JSON text, and warnings. Everything is checked before anything is used."""
    return check_setup(parse_json(text, what), what, form)


def check_setup(document: Any, what: str, form: Form) -> Tuple[Setup, List[str]]:
    check = _Checker(what)
    document = check.table(document, "the document", f'an object with "format": "{FORMAT}"')
    if document.get("format") != FORMAT:
        raise check.fail("format", document.get("format"), f'"{FORMAT}"')
    check.unknown += [name for name in document if name not in (*PARTS, "format")]

    # A bone has its own settings, else those of the document's default bone, else the add-on's.
    default = {**_default_bone(form),
               **check.values(document.get("default_bone", {}), "default_bone", form.bone)}
    bones = {}
    for name, given in check.table(document.get("bones", {}), "bones").items():
        bones[name] = {**default, **check.values(given, f"bones[{_quoted(name)}]", form.bone)}

    goals = document.get("goals")
    if goals is not None and not isinstance(goals, list):
        raise check.fail("goals", goals, "a list of goals")
    if goals is not None:
        fresh = {each.name: each.default for each in form.goal}
        goals = [{**fresh, **check.values(each, f"goals[{n}]", form.goal)}
                 for n, each in enumerate(goals)]

    setup = Setup(check.values(document.get("armature", {}), "armature", form.armature), bones,
                  check.values(document.get("ik", {}), "ik", form.ik), goals)
    warnings = []
    if check.unknown:
        warnings.append(f"{what}: this version has no setting {list_names(check.unknown)}. It was "
                        "ignored")
    return setup, warnings


def list_names(names: Sequence[str]) -> str:
    """Names for a message; not all of them if they are many."""
    said = ", ".join(f"'{name}'" for name in names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{said} and {more} more" if more > 0 else said


def unknown_bones(setup: Setup, bones: Sequence[str], armature: str) -> List[str]:
    """Warnings about bones of a setup, and of its goals, that an armature does not have."""
    there, out = set(bones), []
    missing = [name for name in setup.bones if name not in there]
    if missing:
        out.append(f"'{armature}' has no bone {list_names(missing)}: the settings of "
                   f"{len(missing)} of {len(setup.bones)} bones were not used")
    for goal in setup.goals or []:
        if goal.get("bone") and goal["bone"] not in there:
            out.append(f"'{armature}' has no bone '{goal['bone']}' for the goal "
                       f"'{goal.get('name', '')}'. Choose another bone for it")
    return out


# ---- mirroring ----

def mirrored(values: Mapping[str, Any]) -> Values:
    """The settings of a bone for the bone on the other side, whose axes are as Blender's own
    mirroring makes them: it turns about X alike, about Y and Z in the other direction, and a screw
    has the other hand. The automatic axis of a hinge is mirrored with the limb."""
    out = dict(values)
    axis, joint = values.get("axis"), values.get("joint")
    if axis in ("Y", "Z") or axis == "AUTO" and joint == "SCREW":
        out["limit_low"], out["limit_high"] = (0.0 - values["limit_high"],      # never -0.0
                                               0.0 - values["limit_low"])
    if joint == "SCREW":
        out["pitch"] = 0.0 - values["pitch"]

    # A shape lies on the other side of the bone's plane of Y and Z.
    if "shape_offset" in values:
        x, y, z = values["shape_offset"]
        out["shape_offset"] = (0.0 - x, y, z)
    if "shape_rotation" in values:
        x, y, z = values["shape_rotation"]
        out["shape_rotation"] = (x, 0.0 - y, 0.0 - z)
    return out
