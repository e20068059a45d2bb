# SPDX-License-Identifier: BSD-3-Clause
"""The document `skel-scene/1` as dataclasses. They hold plain data; the library checks it.

A field that is None, or an empty list, is not written, and the library takes its default. Vectors
are in the world unless the comment says otherwise; SI units, quaternions w x y z."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import (Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, TypeVar, Union,
                    cast)

FORMAT = "skel-scene/1"
Numbers = Sequence[float]
Item = TypeVar("Item")


def read_json(text: Union[str, bytes]) -> Any:
    """The value of a JSON text. ValueError if it is not JSON, or nested too deeply for Python."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None


@dataclass
class Body:
    name: str
    mass: Optional[float] = None            # [kg]
    shape: Optional[Dict[str, Any]] = None  # {"type": "capsule", "length": 1, "radius": 0.05}
    inertia: Optional[Numbers] = None       # xx yy zz [xy xz yz], instead of a shape [kg m^2]
    estimated: Optional[str] = None         # "mass" (and inertia) or "inertia": not from the source
    motion: Optional[str] = None            # "dynamic", "fixed", "driven"
    position: Optional[Numbers] = None      # of the centre of mass [m]
    orientation: Optional[Numbers] = None   # w x y z, body to world
    velocity: Optional[Numbers] = None      # [m/s]
    angular_velocity: Optional[Numbers] = None  # body axes [rad/s]
    force: Any = None                       # [x, y, z] or a curve [N]
    torque: Any = None                      # [x, y, z] or a curve [N m]
    curve: Optional[Dict[str, Any]] = None  # {"time", "position", "orientation"}: driven or pinned
    pinned: Any = None                      # [[from, to], ...] [s] or True: held, or on the curve
    release: Optional[float] = None         # driven bodies are dynamic from this time on [s]
    contacts: Optional[Sequence[Numbers]] = None  # points that touch grounds, body axes [m]
    collide: Any = None                     # True: also its own skeleton; False: none; or a group


@dataclass
class Joint:
    name: str
    type: str                               # "hinge": one of skelpy.joint_kinds()
    bodies: Sequence[str]                   # parent, child; "world" for the world
    anchor: Optional[Numbers] = None        # at the given pose [m]
    axis: Optional[Numbers] = None          # at the given pose
    axis2: Optional[Numbers] = None         # the second axis, if the type has one
    pitch: Optional[float] = None           # of a screw: displacement per angle [m/rad]
    frames: Optional[Sequence[Dict[str, Any]]] = None  # instead of anchor and axis
    q: Any = None                           # joint coordinates at the given pose [rad] or [m]
    friction: Optional[float] = None        # damping [N m s/rad] or [N s/m]
    motor: Any = None                       # number or curve [N m] or [N]
    limits: Any = None

    # A spring to an animation: {"stiffness", "damping", "max_torque", "curve", "weight"}.
    follow: Optional[Dict[str, Any]] = None

    limit_torque: Optional[Dict[str, float]] = None  # soft limits: {"a", "b", "c", "d", "on"}
    limit_restitution: Optional[float] = None  # of the hard limit, 0 to 1
    spring: Optional[Dict[str, float]] = None  # {"stiffness", "damping", "rest"}

    # {"growth", "max", "start", "feedback", "impact_speed", "delay", "side"}.
    muscle: Optional[Dict[str, float]] = None

    mimic: Optional[Dict[str, Any]] = None  # {"joint", "multiplier", "offset"}


@dataclass
class Ground:
    point: Optional[Numbers] = None         # at the given pose [m]
    normal: Optional[Numbers] = None        # out of the ground
    friction: Optional[float] = None        # coefficient
    law: Optional[Dict[str, float]] = None  # {"a", "b", "d"}: force a depth^b + d depth'
    stick: Optional[Dict[str, float]] = None  # {"stiffness", "damping"} along the plane
    restitution: Optional[float] = None     # of rigid impacts, 0 to 1
    tangential_restitution: Optional[float] = None
    body: Optional[str] = None              # the ground moves with this body


@dataclass
class Wobble:
    name: str
    body: str                               # the parent body
    mass: float                             # [kg]
    longitudinal: Optional[Dict[str, float]] = None  # {"c", "d"} along the axis
    transversal: Optional[Dict[str, float]] = None   # {"c", "d"} across it
    angular: Optional[Dict[str, float]] = None       # {"a", "b"}
    inertia: Optional[Numbers] = None
    shape: Optional[Dict[str, Any]] = None
    position: Optional[Numbers] = None      # at rest [m]
    axis: Optional[Numbers] = None          # at the given pose
    displacement: Optional[Numbers] = None  # from the rest position at the start [m]
    velocity: Optional[Numbers] = None
    angular_velocity: Optional[Numbers] = None
    locked: Optional[bool] = None           # True: rigidly fixed to the parent body


@dataclass
class Force:
    type: str                               # "uniform", "drag", "vortex", "turbulence"
    body: Optional[str] = None              # acts on this body only
    acceleration: Optional[Numbers] = None  # uniform [m/s^2]
    density: Optional[float] = None         # drag [kg/m^3]
    coefficient: Optional[float] = None     # drag
    wind: Optional[Numbers] = None          # drag [m/s]
    point: Optional[Numbers] = None         # vortex
    axis: Optional[Numbers] = None          # vortex
    strength: Optional[float] = None        # vortex, turbulence [m/s^2]
    radius: Optional[float] = None          # vortex [m]
    scale: Optional[float] = None           # turbulence [m]
    period: Optional[float] = None          # turbulence [s]
    seed: Optional[int] = None              # turbulence


@dataclass
class Frame:
    """The motion of the frame of reference."""

    angular_velocity: Any = None            # [x, y, z] or a curve [rad/s]
    acceleration: Any = None                # [x, y, z] or a curve [m/s^2]


@dataclass
class Goal:
    """A goal has one of position (or orientation), look_at, pole and centre_of_mass. Targets and
    weight may have a value per frame."""

    name: Optional[str] = None
    body: Optional[str] = None
    point: Optional[Numbers] = None         # of the body, body axes [m]
    position: Any = None
    orientation: Any = None
    frame: Optional[Numbers] = None         # axes in the body that take the orientation
    axes: Optional[str] = None              # "xy": the coordinates of the position that count
    look_at: Any = None
    axis: Optional[Numbers] = None          # look_at: body axes
    pole: Any = None
    from_: Optional[str] = None             # pole: "from" in the document
    to: Optional[str] = None
    from_point: Optional[Numbers] = None
    to_point: Optional[Numbers] = None
    centre_of_mass: Any = None
    relative_to: Optional[str] = None       # the target is in the axes of this body
    weight: Any = None
    priority: Optional[int] = None
    joints: Optional[Sequence[str]] = None  # only these may move for it; "world": a free root
    chain: Any = None                       # only joints below this body, or this many joints


@dataclass
class IkSettings:
    mode: Optional[str] = None              # "pose", "track"
    seed: Any = None                        # "current", "mid" or q
    tolerance: Optional[float] = None
    max_ms: Optional[float] = None          # [ms]
    root: Optional[str] = None              # "held", "shifts", "moves"
    max_speed: Any = None                   # [rad/s], [m/s]: a number or {"joint": number}
    stiffness: Any = None                   # 0 to 1: a number or {"joint": number}
    posture: Any = None                     # "current", "mid" or q
    blend: Optional[Sequence[int]] = None   # frames in, frames out
    max_restarts: Optional[int] = None
    max_iterations: Optional[int] = None
    method: Optional[str] = None            # "damped", "newton"
    start: Optional[str] = None             # "free", "held": the first frame of a track


@dataclass
class BakeSettings:
    fps: Optional[float] = None             # [1/s]
    frame_start: Optional[int] = None
    frame_end: Optional[int] = None
    integrator: Optional[str] = None
    tolerance: Optional[float] = None
    step: Optional[float] = None            # [s]
    solver: Optional[str] = None
    preroll: Optional[float] = None         # simulated before the first frame [s]


@dataclass
class Scene:
    name: Optional[str] = None
    gravity: Optional[Numbers] = None       # [m/s^2]
    angle_unit: Optional[str] = None        # "rad", "deg"
    bodies: List[Body] = field(default_factory=list)
    joints: List[Joint] = field(default_factory=list)
    wobble: List[Wobble] = field(default_factory=list)
    ground: List[Ground] = field(default_factory=list)
    forces: List[Force] = field(default_factory=list)
    frame: Optional[Frame] = None
    goals: List[Goal] = field(default_factory=list)
    ik: Optional[IkSettings] = None
    robot: Optional[Dict[str, Any]] = None  # named frames, poses and more of a robot
    bake: Optional[BakeSettings] = None

    def to_dict(self) -> Dict[str, Any]:
        """The document as json.loads would give it."""
        return {"format": FORMAT, **_to_dict(self)}

    def to_json(self) -> str:
        """The document as text with one line per body, joint and so on. Equal scenes give equal
        bytes."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """The text of to_json in pieces, one per body or joint: long curves take time."""
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
    def from_dict(cls, document: Mapping[str, Any]) -> Scene:
        """The scene of a document. ValueError if a field is unknown."""
        fields = dict(document)
        if fields.pop("format", None) != FORMAT:
            raise ValueError(f"format: is {document.get('format')!r}, must be {FORMAT!r}")
        for name, item in _LISTS.items():
            fields[name] = [_from_dict(item, each, f"{name}[{i}]")
                            for i, each in enumerate(fields.get(name, []))]
        for name, item in _PARTS.items():
            if name in fields:
                fields[name] = _from_dict(item, fields[name], name)
        return _from_dict(cls, fields, "")

    @classmethod
    def from_json(cls, text: Union[str, bytes]) -> Scene:
        """The scene of a text. ValueError if it is not valid."""
        return cls.from_dict(read_json(text))

    def body(self, name: str) -> Body:
        """The first body of this name."""
        return next(body for body in self.bodies if body.name == name)


_LISTS: Dict[str, Type[Any]] = {"bodies": Body, "joints": Joint, "wobble": Wobble,
                                "ground": Ground, "forces": Force, "goals": Goal}
_PARTS: Dict[str, Type[Any]] = {"bake": BakeSettings, "frame": Frame, "ik": IkSettings}
_DOCUMENT_NAMES = {"from_": "from"}     # `from` is a keyword of Python
_PYTHON_NAMES = {name: python for python, name in _DOCUMENT_NAMES.items()}


def _to_dict(item: Any) -> Dict[str, Any]:
    """The fields of a dataclass that are written."""
    found: Dict[str, Any] = {}
    for each in dataclasses.fields(item):
        value = getattr(item, each.name)
        if value is None or (value == [] and each.name in _LISTS and each.name != "bodies"):
            continue
        if dataclasses.is_dataclass(value):
            value = _to_dict(value)
        elif each.name in _LISTS and isinstance(item, Scene):
            value = [_to_dict(one) for one in value]
        found[_DOCUMENT_NAMES.get(each.name, each.name)] = value
    return found


def _from_dict(kind: Type[Item], fields: Mapping[str, Any], path: str) -> Item:
    """A dataclass of this kind. `path` is the place in the document, for messages."""
    listed = dataclasses.fields(cast(Any, kind))
    known = {_DOCUMENT_NAMES.get(each.name, each.name) for each in listed}
    for name in fields:
        if name not in known:
            raise ValueError(f"{path + '.' if path else ''}{name}: no such field")
    named = {_PYTHON_NAMES.get(name, name): value for name, value in fields.items()}
    try:
        return kind(**named)
    except TypeError as error:
        raise ValueError(f"{path}: {error}") from None


def _line(value: Any) -> str:
    """JSON on one line. Whole numbers have no point; others have the fewest digits that read back
    as the same number."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {_line(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_line, value)) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
