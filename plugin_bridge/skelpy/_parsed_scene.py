# SPDX-License-Identifier: BSD-3-Clause
"""A document that the library has parsed. (scene.py holds documents as dataclasses.)"""

from __future__ import annotations

import ctypes as C
from array import array
from typing import Any, Iterable, Mapping, Optional, Union

from . import _ffi
from ._arrays import zeros
from ._handles import Closing, Owner, check_status, create, text_of
from ._structs import make, plain
from ._values import DocumentValues
from .ik import IkMotion
from .library import Path, load
from .scene import Scene as Document
from .scene import read_json

DH_CONVENTIONS = {"standard": _ffi.DH_STANDARD, "modified": _ffi.DH_MODIFIED}


class Scene(Closing):
    """A parsed document: the model, its initial state and the settings of a bake. It never changes.
    The document is a `skel-scene/1`, a DH table (`skel-dh/1` or CSV) or a URDF."""

    def __init__(self, owner: Owner, lib: C.CDLL) -> None:
        self._owner = owner
        self._lib = lib

    @classmethod
    def from_json(cls, text: Union[str, bytes], library: Optional[Path] = None) -> Scene:
        """The scene of a text."""
        lib = load(library)
        data = text.encode() if isinstance(text, str) else bytes(text)
        return cls(create(lib, lib.skel_scene_parse, lib.skel_scene_destroy, data, len(data)), lib)

    @classmethod
    def from_values(cls, values: DocumentValues, library: Optional[Path] = None) -> Scene:
        """The scene of a document whose values are all converted."""
        lib, listed = load(library), values.array()
        return cls(create(lib, lib.skel_scene_create, lib.skel_scene_destroy, listed, len(listed),
                          C.sizeof(_ffi.Value)), lib)

    @classmethod
    def from_document(cls, document: Union[Document, Mapping[str, Any]],
                      library: Optional[Path] = None) -> Scene:
        """The scene of a document that is given as dataclasses or as a dict. No JSON is written."""
        values = DocumentValues(document)
        for _ in values.advance():
            pass
        return cls.from_values(values, library)

    @classmethod
    def from_file(cls, path: Path, library: Optional[Path] = None) -> Scene:
        """The scene of a file."""
        with open(path, "rb") as file:
            return cls.from_json(file.read(), library)

    def with_goals(self, goals: Iterable[Mapping[str, Any]]) -> Scene:
        """The same scene with other goals, which are dicts as in the document, and without settings
        of inverse kinematics."""
        document = read_json(self.to_json())
        document.pop("ik", None)
        document["goals"] = [dict(goal) for goal in goals]
        return Scene.from_document(document, self._lib._name)

    # ---- as a text -------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The scene as a document. Parsed again, it gives the same bits."""
        return text_of(self._lib, self._lib.skel_scene_write, self._p)

    def to_urdf(self) -> str:
        """The whole tree as URDF."""
        return text_of(self._lib, self._lib.skel_scene_write_urdf, self._p,
                       error=make(self._lib, _ffi.Error))

    def _dh_desc(self, convention: Optional[str] = None, root: Optional[str] = None,
                 tip: Optional[str] = None, snap: Optional[float] = None,
                 csv: Optional[bool] = None,
                 parallel_tolerance: Optional[float] = None) -> _ffi.SceneDhDesc:
        if convention is not None and convention not in DH_CONVENTIONS:
            raise ValueError(f"convention: is {convention!r}, must be one of "
                             f"{', '.join(DH_CONVENTIONS)}")
        number = None if convention is None else DH_CONVENTIONS[convention]
        return make(self._lib, _ffi.SceneDhDesc, convention=number, snap=snap, is_csv=csv,
                    root=root.encode() if root else None, tip=tip.encode() if tip else None,
                    parallel_tolerance=parallel_tolerance)

    def to_dh(self, *chain: Any, **options: Any) -> str:
        """The DH table of a chain, as `skel-dh/1` or CSV.

        Arguments: convention ("standard", "modified"), root and tip (names of bodies), snap [rad],
        csv (True: CSV), parallel_tolerance [rad]. Those that are None have the defaults of
        skel_scene_dh_desc, which explains them."""
        desc = self._dh_desc(*chain, **options)
        return text_of(self._lib, self._lib.skel_scene_write_dh, self._p, C.byref(desc),
                       error=make(self._lib, _ffi.Error))

    def dh_report(self, *chain: Any, **options: Any) -> list[str]:
        """The errors of the table that to_dh gives for the same arguments: lines that begin with
        "warning: " or "receipt: "."""
        desc = self._dh_desc(*chain, **options)
        return text_of(self._lib, self._lib.skel_scene_dh_report, self._p, C.byref(desc),
                       error=make(self._lib, _ffi.Error)).splitlines()

    # ---- the document ----------------------------------------------------------------------------

    @property
    def _model(self) -> int:
        """The handle of the model for C."""
        return self._lib.skel_scene_model(self._p)

    @property
    def name(self) -> str:
        return (self._lib.skel_scene_name(self._p) or b"").decode()

    @property
    def warnings(self) -> list[str]:
        """Properties of the document that limit a simulation: estimated masses, friction that is
        not simulated."""
        found: list[str] = []
        while True:
            text = self._lib.skel_scene_warning(self._p, len(found))
            if text is None:
                return found
            found.append(text.decode("utf-8", "replace"))

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self._lib.skel_scene_fps(self._p)

    @property
    def frames(self) -> range:
        """The frame numbers of a bake."""
        return range(self._lib.skel_scene_frame_start(self._p),
                     self._lib.skel_scene_frame_end(self._p) + 1)

    @property
    def named_frames(self) -> dict[str, tuple[int, list[float]]]:
        """{name: (body index or -1, pose in the body)} of links, frames and tool."""
        found = {}
        for i in range(self._lib.skel_scene_frame_count(self._p)):
            body, pose = C.c_int32(), (C.c_double * 7)()
            self._lib.skel_scene_get_frame(self._p, i, C.byref(body), pose)
            name = self._lib.skel_scene_frame_name(self._p, i).decode()
            found[name] = (body.value, list(pose))
        return found

    @property
    def named_poses(self) -> dict[str, list[float]]:
        """{name: q} of the document."""
        found = {}
        for i in range(self._lib.skel_scene_pose_count(self._p)):
            q = self._lib.skel_scene_pose_q(self._p, i)
            name = self._lib.skel_scene_pose_name(self._p, i).decode()
            found[name] = q[:self.q_count]
        return found

    # ---- the model -------------------------------------------------------------------------------

    @property
    def body_count(self) -> int:
        return self._lib.skel_model_body_count(self._model)

    @property
    def joint_count(self) -> int:
        return self._lib.skel_model_joint_count(self._model)

    @property
    def q_count(self) -> int:
        """The number of joint coordinates (4 of a ball joint). They are in the order of joints."""
        return self._lib.skel_model_q_count(self._model)

    @property
    def dof(self) -> int:
        """The number of joint velocities (3 of a ball joint). Free roots are not counted."""
        return self._lib.skel_model_dof(self._model)

    @property
    def gravity(self) -> list[float]:
        """x y z [m/s^2]."""
        gravity = (C.c_double * 3)()
        self._lib.skel_model_get_gravity(self._model, gravity)
        return list(gravity)

    @property
    def body_names(self) -> list[str]:
        name = self._lib.skel_model_body_name
        return [name(self._model, i).decode() for i in range(self.body_count)]

    @property
    def joint_names(self) -> list[str]:
        name = self._lib.skel_model_joint_name
        return [name(self._model, i).decode() for i in range(self.joint_count)]

    def find_body(self, name: str) -> int:
        """The index of a body, -1 for "world". KeyError if there is none of this name."""
        index = self._lib.skel_model_find_body(self._model, name.encode())
        if index < _ffi.WORLD:
            raise KeyError(name)
        return index

    def find_joint(self, name: str) -> int:
        """The index of a joint. KeyError if there is none of this name."""
        index = self._lib.skel_model_find_joint(self._model, name.encode())
        if index < 0:
            raise KeyError(name)
        return index

    def joint_q_offset(self, joint: int) -> int:
        """The index of a joint's first coordinate in q."""
        return self._lib.skel_model_joint_q_offset(self._model, joint)

    def joint_dof_offset(self, joint: int) -> int:
        """The index of a joint's first velocity in qd."""
        return self._lib.skel_model_joint_dof_offset(self._model, joint)

    @property
    def mimics(self) -> dict[int, tuple[int, float, float]]:
        """{mimic joint: (source joint, multiplier, offset)}: q = multiplier * q of the source +
        offset. A source is no mimic joint itself: chains are followed to their end."""
        found, factor, offset = {}, (C.c_double * 1)(), (C.c_double * 1)()
        for joint in range(self.joint_count):
            source = self._lib.skel_model_mimic_source(self._model, joint, factor, offset)
            if source >= 0:
                found[joint] = (source, factor[0], offset[0])
        return found

    def body(self, index: int) -> dict[str, Any]:
        """mass, inertia, position, ... of a body; pinned as [[from, to], ...] [s], contacts as
        [[x, y, z], ...] [m] in body axes."""
        desc = make(self._lib, _ffi.BodyDesc)
        check_status(self._lib, self._lib.skel_model_get_body(self._model, index, C.byref(desc)))
        fields = {key: value for key, value in plain(desc).items() if "curve" not in key}
        fields["name"] = desc.name.decode()
        times = desc.pinned[:2 * fields.pop("pinned_count")] if desc.pinned else []
        fields["pinned"] = [list(pair) for pair in zip(times[::2], times[1::2])]
        points = desc.contacts[:3 * fields.pop("contact_count")] if desc.contacts else []
        fields["contacts"] = [points[k:k + 3] for k in range(0, len(points), 3)]
        return fields

    def middle(self) -> array[float]:
        """Joint coordinates in the middle of the limits; zero (no rotation) without limits."""
        q, pointer = zeros(self.q_count)
        check_status(self._lib, self._lib.skel_scene_get_middle_q(self._p, pointer))
        return q

    def ik(self, **overrides: Any) -> IkMotion:
        """The goals of the scene, solved for all frames. Overrides as in IkMotion."""
        return IkMotion(self, **overrides).run()

    def check_dynamics(self) -> None:
        """Raises SkelError if a dynamic body lacks mass or inertia."""
        error = make(self._lib, _ffi.Error)
        status = self._lib.skel_model_check_dynamics(self._model, C.byref(error))
        check_status(self._lib, status, error)


def check(text: Union[str, bytes], library: Optional[Path] = None) -> list[str]:
    """All errors of a document: lines "error: PATH: ..." and "warning: PATH: ..."."""
    lib = load(library)
    data = text.encode() if isinstance(text, str) else bytes(text)
    needed, capacity = C.c_size_t(), 4096
    while True:
        lines = C.create_string_buffer(capacity)
        lib.skel_scene_check(data, len(data), lines, capacity, C.byref(needed))
        if needed.value < capacity:
            return lines.value.decode("utf-8", "replace").splitlines()
        capacity = needed.value + 1
