# SPDX-License-Identifier: BSD-3-Clause
"""The document `skel-scene/1` as dataclasses. Plain data: the library does the checking.

A field that is None (or empty) is left out of the document, and the library's default holds."""

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

FORMAT = "skel-scene/1"
Numbers = Sequence[float]


def read_json(text):
    """What a JSON text holds; ValueError where it holds none, or nests it deeper than Python can
    follow."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None


@dataclass
class Body:
    name: str
    mass: Optional[float] = None
    shape: Optional[Dict[str, Any]] = None  # {"type": "capsule", "length": 1, "radius": 0.05}
    inertia: Optional[Numbers] = None       # xx yy zz [xy xz yz], instead of a shape
    estimated: Optional[str] = None         # "mass" (and inertia), "inertia": not the robot's own
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
    contacts: Optional[Sequence[Numbers]] = None  # points that touch grounds, body axes
    collide: Any = None                     # True: its own skeleton too; False: no body; a group


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
    limit_torque: Optional[Dict[str, float]] = None  # {"a", "b", "c", "d", "on"}: soft limits
    limit_restitution: Optional[float] = None  # of the hard stop, 0 to 1
    spring: Optional[Dict[str, float]] = None  # {"stiffness", "damping", "rest"}
    muscle: Optional[Dict[str, float]] = None  # {"growth", "max", "start", "feedback",
                                               # "impact_speed", "delay", "side"}
    mimic: Optional[Dict[str, Any]] = None  # {"joint", "multiplier", "offset"}: goes with another


@dataclass
class Ground:
    point: Optional[Numbers] = None         # world, at the given pose
    normal: Optional[Numbers] = None        # out of the ground
    friction: Optional[float] = None
    law: Optional[Dict[str, float]] = None  # {"a", "b", "d"}: a depth^b + d depth'
    stick: Optional[Dict[str, float]] = None  # {"stiffness", "damping"} along the plane
    restitution: Optional[float] = None     # impacts in no time
    tangential_restitution: Optional[float] = None
    body: Optional[str] = None              # moves with it


@dataclass
class Wobble:
    name: str
    body: str                               # the bone it hangs on
    mass: float
    longitudinal: Optional[Dict[str, float]] = None  # {"c", "d"} along the axis
    transversal: Optional[Dict[str, float]] = None   # {"c", "d"} across it
    angular: Optional[Dict[str, float]] = None       # {"a", "b"}
    inertia: Optional[Numbers] = None
    shape: Optional[Dict[str, Any]] = None
    position: Optional[Numbers] = None      # world, at rest
    axis: Optional[Numbers] = None          # world, at the given pose
    displacement: Optional[Numbers] = None  # world: where it starts off its rest place
    velocity: Optional[Numbers] = None
    angular_velocity: Optional[Numbers] = None
    locked: Optional[bool] = None           # part of the bone


@dataclass
class Force:
    type: str                               # "uniform", "drag", "vortex", "turbulence"
    body: Optional[str] = None              # this body alone
    acceleration: Optional[Numbers] = None  # uniform
    density: Optional[float] = None         # drag
    coefficient: Optional[float] = None
    wind: Optional[Numbers] = None
    point: Optional[Numbers] = None         # vortex
    axis: Optional[Numbers] = None
    strength: Optional[float] = None        # vortex, turbulence
    radius: Optional[float] = None          # vortex
    scale: Optional[float] = None           # turbulence
    period: Optional[float] = None
    seed: Optional[int] = None


@dataclass
class Frame:
    angular_velocity: Any = None            # [x, y, z] or a curve
    acceleration: Any = None


@dataclass
class Goal:
    """One of position/orientation, look_at, pole and centre_of_mass; targets and weight may have a
    value per frame."""
    name: Optional[str] = None
    body: Optional[str] = None
    point: Optional[Numbers] = None         # of the body, in its axes
    position: Any = None
    orientation: Any = None
    frame: Optional[Numbers] = None         # axes fixed in the body that take the orientation
    axes: Optional[str] = None              # "xy": what counts of the position
    look_at: Any = None
    axis: Optional[Numbers] = None          # look_at: of the body
    pole: Any = None
    from_: Optional[str] = None             # pole: "from" in the document
    to: Optional[str] = None
    from_point: Optional[Numbers] = None
    to_point: Optional[Numbers] = None
    centre_of_mass: Any = None
    relative_to: Optional[str] = None       # the target is in this body's axes
    weight: Any = None
    priority: Optional[int] = None
    joints: Optional[Sequence[str]] = None  # only these may move for it; "world": a free root
    chain: Any = None                       # only those below this body, or so many


@dataclass
class IkSettings:
    mode: Optional[str] = None              # "pose", "track"
    seed: Any = None                        # "current", "mid" or q
    tolerance: Optional[float] = None
    max_ms: Optional[float] = None
    root: Optional[str] = None              # "held", "shifts", "moves"
    max_speed: Any = None                   # rad/s, m/s: a number or {"joint": number}
    stiffness: Any = None                   # 0 to 1: a number or {"joint": number}
    posture: Any = None                     # "current", "mid" or q
    blend: Optional[Sequence[int]] = None   # frames in, frames out
    max_restarts: Optional[int] = None
    max_iterations: Optional[int] = None
    method: Optional[str] = None            # "damped", "newton"
    start: Optional[str] = None             # "free", "held": the first frame of a track


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
    wobble: List[Wobble] = field(default_factory=list)
    ground: List[Ground] = field(default_factory=list)
    forces: List[Force] = field(default_factory=list)
    frame: Optional[Frame] = None
    goals: List[Goal] = field(default_factory=list)
    ik: Optional[IkSettings] = None
    robot: Optional[Dict[str, Any]] = None  # frames, poses and the like of a built robot
    bake: Optional[BakeSettings] = None

    def to_dict(self):
        return {"format": FORMAT, **_to_dict(self)}

    def to_json(self):
        """Readable text: a line per body, joint and so on. The same scene gives the same bytes."""
        return "".join(self.json_pieces())

    def json_pieces(self):
        """Generator: the text of to_json in pieces, a body or joint each: long curves take time."""
        mark = "{\n"
        for key, value in self.to_dict().items():
            yield f'{mark}  "{key}": '
            mark = ",\n"
            if key not in _LISTS:
                yield _line(value)
                continue
            yield "[\n"
            for k, item in enumerate(value):
                yield (",\n    " if k else "    ") + _line(item)
            yield "\n  ]"
        yield "\n}\n"

    @classmethod
    def from_dict(cls, document):
        fields = dict(document)
        if fields.pop("format", None) != FORMAT:
            raise ValueError(f"format: is {document.get('format')!r}, must be {FORMAT!r}")
        for name, item in _LISTS.items():
            fields[name] = [_from_dict(item, each, f"{name}[{i}]")
                            for i, each in enumerate(fields.get(name, []))]
        for name, item in (("bake", BakeSettings), ("frame", Frame), ("ik", IkSettings)):
            if name in fields:
                fields[name] = _from_dict(item, fields[name], name)
        return _from_dict(cls, fields, "")

    @classmethod
    def from_json(cls, text):
        return cls.from_dict(read_json(text))

    def body(self, name):
        return next(body for body in self.bodies if body.name == name)


_LISTS = {"bodies": Body, "joints": Joint, "wobble": Wobble, "ground": Ground, "forces": Force,
          "goals": Goal}
_PLAIN = {"from_": "from"}  # a word of Python
_PYTHON = {name: python for python, name in _PLAIN.items()}


def _to_dict(item):
    fields = {}
    for f in dataclasses.fields(item):
        value = getattr(item, f.name)
        if value is None or (value == [] and f.name in _LISTS and f.name != "bodies"):
            continue
        if dataclasses.is_dataclass(value):
            value = _to_dict(value)
        elif f.name in _LISTS and isinstance(item, Scene):
            value = [_to_dict(each) for each in value]
        fields[_PLAIN.get(f.name, f.name)] = value
    return fields


def _from_dict(cls, fields, path):
    known = {_PLAIN.get(f.name, f.name) for f in dataclasses.fields(cls)}
    for name in fields:
        if name not in known:
            raise ValueError(f"{path + '.' if path else ''}{name}: no such field")
    try:
        return cls(**{_PYTHON.get(name, name): value for name, value in fields.items()})
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
