# SPDX-License-Identifier: BSD-3-Clause
"""A scene with other motions of its bodies, without another document.

    scene = Scene.from_json(text)                          # the one pass of the document reader
    edited = edit_scene(scene, velocities={"hand": (0, 0, 1, 0, 0, 0)})

The edited scene has a model of its own, made of the descs of the first one. Baking it gives the
same bits as a document with the same values."""

from __future__ import annotations

import ctypes as C
import math
from array import array
from dataclasses import dataclass
from typing import Any, Collection, List, Mapping, Optional, Sequence

from . import _ffi
from ._arrays import pointer_to
from ._handles import Owner, check_status, create
from ._parsed_scene import Scene
from ._structs import make

UNIT_TOL = 2e-15            # of the squared norm: the document reader leaves such quaternions as is


@dataclass(frozen=True)
class Path:
    """The motion of a driven body."""
    time: Sequence[float]                       # [s], increasing
    position: Sequence[float]                   # [time][3] of the centre of mass [m], flat
    orientation: Sequence[float]                # [time][4] w x y z, flat


@dataclass(frozen=True)
class FollowSpring:
    """A spring that pulls a joint towards an animation."""
    frequency: float                            # [Hz]
    damping: float                              # ratio
    time: Sequence[float]                       # [s], increasing
    target: Sequence[float]                     # [time][q of the joint], flat
    weight: Optional[Sequence[float]] = None    # [time], 0 to 1; None: 1


class EditedScene(Scene):
    """A scene with another model. Its document and its goals stay those of the scene that it was
    made from, so it cannot be written."""

    def __init__(self, scene: Scene, model: Owner) -> None:
        # The handle is that of the first scene, which lives as long as this one does.
        super().__init__(Owner(scene._p, lambda _pointer: None, scene._owner, model), scene._lib)
        self._edited = model.pointer

    @property
    def _model(self) -> int:
        return self._edited if self._p else 0

    def to_json(self) -> str:
        raise ValueError("an edited scene has no document")


def _normalise_rows(values: array[float]) -> None:
    """Makes every four numbers a unit quaternion, with the rounding of the document reader."""
    for n in range(0, len(values), 4):
        q = values[n:n + 4]
        if abs(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0) <= UNIT_TOL:
            continue
        biggest, total = max(map(abs, q)), 0.0
        for x in q:
            total += (x / biggest) * (x / biggest)
        length = math.sqrt(total)
        values[n:n + 4] = array("d", [x / biggest / length for x in q])


def _cross(a: Sequence[float], b: Sequence[float]) -> List[float]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _rotate(q: Sequence[float], v: Sequence[float]) -> List[float]:
    """R(q) v = v + 2 w (u x v) + 2 u x (u x v), with q = (w, u)."""
    uv = _cross(q[1:], v)
    uuv = _cross(q[1:], uv)
    return [x + 2.0 * (b - -q[0] * a) for x, a, b in zip(v, uv, uuv)]


class _Descs:
    """All descs of a model, and the arrays that curves point to."""

    def __init__(self, scene: Scene) -> None:
        self.lib, self.model = scene._lib, scene._model
        self.arrays: List[Any] = []
        self.desc = make(self.lib, _ffi.ModelDesc)
        self.bodies = self._read(_ffi.BodyDesc, "body", "bodies")
        self.joints = self._read(_ffi.JointDesc, "joint", "joints")
        self._read(_ffi.GroundDesc, "ground", "grounds")
        self.wobbles = self._read(_ffi.WobbleDesc, "wobble", "wobbles")
        self._read(_ffi.FieldDesc, "field", "fields")

        desc = self.desc
        self.lib.skel_model_get_gravity(self.model, desc.gravity)
        check_status(self.lib, self.lib.skel_model_get_frame(
            self.model, desc.frame_spin, desc.frame_acceleration, C.byref(desc.frame_spin_curve),
            C.byref(desc.frame_acceleration_curve)))

    def _read(self, kind: Any, name: str, field: str) -> Any:
        """An array of the model's descs of one kind, which the desc of the model points to."""
        count = getattr(self.lib, f"skel_model_{name}_count")(self.model)
        get, found = getattr(self.lib, f"skel_model_get_{name}"), (kind * max(count, 1))()
        for i in range(count):
            found[i].struct_size = C.sizeof(kind)
            check_status(self.lib, get(self.model, i, C.byref(found[i])))
        setattr(self.desc, field, found)
        setattr(self.desc, f"{name}_count", count)
        setattr(self.desc, f"{name}_stride", C.sizeof(kind))
        return found

    def curve(self, time: Sequence[float], values: Sequence[float]) -> _ffi.Curve:
        """The curve of values per time. The arrays live as long as this object."""
        kept = [array("d", each) for each in (time, values)]
        if len(kept[1]) == 4 * len(kept[0]):
            _normalise_rows(kept[1])
        self.arrays += kept
        times, numbers = (pointer_to(each) for each in kept)
        width = len(kept[1]) // len(kept[0]) if kept[0] else 0
        return _ffi.Curve(times, numbers, len(kept[0]), width)

    def start_soft_masses(self, bodies: Collection[int]) -> None:
        """Soft masses on these bodies start rigidly with them."""
        moved = [w for w in self.wobbles[:self.desc.wobble_count] if w.host in bodies]
        if not moved:
            return
        model, host = self.create(), make(self.lib, _ffi.BodyDesc)
        for wobble in moved:
            check_status(self.lib, self.lib.skel_model_get_body(model.pointer, wobble.host,
                                                                C.byref(host)))
            mass = self.bodies[wobble.body]
            arm = [a - b for a, b in zip(mass.position, host.position)]
            spin = _rotate(host.orientation, host.angular_velocity)
            mass.velocity[:] = [a + b for a, b in zip(host.velocity, _cross(spin, arm))]
            mass.angular_velocity[:] = host.angular_velocity[:]

    def create(self) -> Owner:
        return create(self.lib, self.lib.skel_model_create, self.lib.skel_model_destroy,
                      C.byref(self.desc))


def edit_scene(scene: Scene, paths: Optional[Mapping[str, Path]] = None,
               springs: Optional[Mapping[str, FollowSpring]] = None,
               velocities: Optional[Mapping[str, Sequence[float]]] = None,
               free: Collection[str] = ()) -> EditedScene:
    """A scene in which bodies and joints, by name, have other motions.

    paths: bodies that are driven along a path. springs: joints that follow an animation.
    velocities: of bodies at the start: v [m/s] in the world, omega [rad/s] in body axes. free:
    bodies that are neither fixed nor driven, and start where they are. Soft masses on such bodies
    start rigidly with them."""
    descs = _Descs(scene)
    edited = {scene.find_body(name) for name in (*(paths or ()), *(velocities or ()), *free)}
    for name, path in (paths or {}).items():
        body = descs.bodies[scene.find_body(name)]
        body.motion = _ffi.MOTION_DRIVEN
        body.position_curve = descs.curve(path.time, path.position)
        body.orientation_curve = descs.curve(path.time, path.orientation)

    for name in free:
        body = descs.bodies[scene.find_body(name)]
        body.motion = _ffi.MOTION_DYNAMIC
        body.position_curve = body.orientation_curve = _ffi.Curve()

    for name, numbers in (velocities or {}).items():
        body = descs.bodies[scene.find_body(name)]
        body.velocity[:], body.angular_velocity[:] = numbers[:3], numbers[3:6]

    for name, spring in (springs or {}).items():
        joint = descs.joints[scene.find_joint(name)]
        joint.follow.frequency, joint.follow.damping = spring.frequency, spring.damping
        joint.follow.target = descs.curve(spring.time, spring.target)
        if spring.weight is not None:
            joint.follow.weight = descs.curve(spring.time, spring.weight)
    descs.start_soft_masses(edited)
    return EditedScene(scene, descs.create())
