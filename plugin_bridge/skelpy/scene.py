# SPDX-License-Identifier: BSD-3-Clause
"""The document `skel-scene/1` as dataclasses. Plain data: the library does the checking.

A field that is None (or empty) is left out of the document, and the library's default holds."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

FORMAT = "skel-scene/1"
Numbers = Sequence[float]


@dataclass
class Body:
    name: str
    mass: Optional[float] = None
    shape: Optional[Dict[str, Any]] = None  # {"type": "capsule", "length": 1, "radius": 0.05}
    inertia: Optional[Numbers] = None       # xx yy zz [xy xz yz], instead of a shape
    motion: Optional[str] = None            # "dynamic", "fixed", "driven"
    position: Optional[Numbers] = None      # centre of mass in the world
    orientation: Optional[Numbers] = None   # w x y z, body to world
    velocity: Optional[Numbers] = None      # world
    angular_velocity: Optional[Numbers] = None  # body axes
    force: Any = None                       # [x, y, z] or a curve
    torque: Any = None
    curve: Optional[Dict[str, Any]] = None  # {"time", "position", "orientation"}: driven or pinned
    pinned: Any = None                      # [[from, to], ...] or True: held, or along the curve
    release: Optional[float] = None         # driven bodies: dynamic from then on


@dataclass
class Joint:
    name: str
    type: str                               # "hinge", "slide", "universal", "ball", "fixed"
    bodies: Sequence[str]                   # parent, child; "world" for the world
    anchor: Optional[Numbers] = None        # world, at the given pose
    axis: Optional[Numbers] = None          # world, at the given pose
    axis2: Optional[Numbers] = None         # universal: the second axis
    frames: Optional[Sequence[Dict[str, Any]]] = None  # instead of anchor and axis
    q: Any = None
    friction: Optional[float] = None
    motor: Any = None                       # number or curve
    limits: Any = None
    follow: Optional[Dict[str, Any]] = None  # {"stiffness", "damping", "max_torque", "curve",
                                             # "weight"}: a spring toward an animation


@dataclass
class BakeSettings:
    fps: Optional[float] = None
    frame_start: Optional[int] = None
    frame_end: Optional[int] = None
    integrator: Optional[str] = None
    tolerance: Optional[float] = None
    step: Optional[float] = None
    solver: Optional[str] = None
    preroll: Optional[float] = None         # [s] simulated before the first frame


@dataclass
class Scene:
    name: Optional[str] = None
    gravity: Optional[Numbers] = None
    angle_unit: Optional[str] = None        # "rad", "deg"
    bodies: List[Body] = field(default_factory=list)
    joints: List[Joint] = field(default_factory=list)
    bake: Optional[BakeSettings] = None

    def to_dict(self):
        return {"format": FORMAT, **_to_dict(self)}

    def to_json(self):
        """Readable text: one line per body and per joint. The same scene gives the same bytes."""
        lines = []
        for key, value in self.to_dict().items():
            if key in ("bodies", "joints"):
                items = ",\n".join("    " + _line(item) for item in value)
                lines.append(f'  "{key}": [\n{items}\n  ]')
            else:
                lines.append(f'  "{key}": {_line(value)}')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_dict(cls, document):
        fields = dict(document)
        if fields.pop("format", None) != FORMAT:
            raise ValueError(f"format: is {document.get('format')!r}, must be {FORMAT!r}")
        fields["bodies"] = [_from_dict(Body, b, f"bodies[{i}]")
                            for i, b in enumerate(fields.get("bodies", []))]
        fields["joints"] = [_from_dict(Joint, j, f"joints[{i}]")
                            for i, j in enumerate(fields.get("joints", []))]
        if "bake" in fields:
            fields["bake"] = _from_dict(BakeSettings, fields["bake"], "bake")
        return _from_dict(cls, fields, "")

    @classmethod
    def from_json(cls, text):
        return cls.from_dict(json.loads(text))

    def body(self, name):
        return next(body for body in self.bodies if body.name == name)


def _to_dict(item):
    fields = {}
    for f in dataclasses.fields(item):
        value = getattr(item, f.name)
        if value is None or (value == [] and f.name == "joints"):
            continue
        if dataclasses.is_dataclass(value):
            value = _to_dict(value)
        elif f.name in ("bodies", "joints") and isinstance(item, Scene):
            value = [_to_dict(each) for each in value]
        fields[f.name] = value
    return fields


def _from_dict(cls, fields, path):
    known = {f.name for f in dataclasses.fields(cls)}
    for name in fields:
        if name not in known:
            raise ValueError(f"{path + '.' if path else ''}{name}: no such field")
    try:
        return cls(**fields)
    except TypeError as error:
        raise ValueError(f"{path}: {error}") from None


def _line(value):
    """JSON on one line; whole numbers without a point, all others as short as they read back."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {_line(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_line, value)) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
