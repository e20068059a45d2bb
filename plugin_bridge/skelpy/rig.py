# SPDX-License-Identifier: BSD-3-Clause
"""Rigs: poses of bodies to the channels of animated bones, and back. All arithmetic is done in C.

    rig = Rig([Bone(rest=..., body=0, channels=LOCATION | ROTATION, offset=...), ...])
    keys = rig.channels(bake.poses, body_count, object=matrix, first_frame=1)
    keys[0]  # of the first channel: frame, value, frame, value, ... as floats

Matrices are flat, 16 floats, column after column.
"""

from __future__ import annotations

import ctypes as C
from array import array
from dataclasses import dataclass
from typing import Any, Iterable, Optional, Sequence, Union

from . import _ffi
from ._arrays import Floats, copy_of, pointer_to
from ._handles import check_status, create
from ._parsed_scene import Scene
from ._structs import init, make
from .library import Path, load

STILL = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)

AXIS_ANGLE = _ffi.ROTATION_AXIS_ANGLE
QUATERNION = _ffi.ROTATION_QUATERNION
XYZ = _ffi.ROTATION_XYZ
XZY = _ffi.ROTATION_XZY
YXZ = _ffi.ROTATION_YXZ
YZX = _ffi.ROTATION_YZX
ZXY = _ffi.ROTATION_ZXY
ZYX = _ffi.ROTATION_ZYX
KEEPS_ROTATION = _ffi.BONE_KEEPS_ROTATION
KEEPS_SCALE = _ffi.BONE_KEEPS_SCALE
PARENT_AXES = _ffi.BONE_PARENT_AXES
POSED = _ffi.BONE_POSED
LOCATION = _ffi.CHANNEL_LOCATION
ROTATION = _ffi.CHANNEL_ROTATION
VECTOR = _ffi.KEYS_VECTOR
KEY_NUMBERS = _ffi.KEY_NUMBERS

Numbers = Union[Iterable[float], memoryview]


@dataclass
class Bone:
    """A bone, as skel_bone_desc, which has the defaults of fields that are None."""

    rest: Sequence[float]                       # in the rig: 16 numbers, column after column
    parent: Optional[int] = None                # index of a bone before this one
    body: Optional[int] = None                  # index of its body in the poses
    offset: Optional[Sequence[float]] = None    # in the body: x y z [m], w x y z
    rotation: Optional[int] = None              # AXIS_ANGLE, QUATERNION, XYZ, ...
    flags: Optional[int] = None                 # KEEPS_ROTATION | KEEPS_SCALE | ...
    channels: Optional[int] = None              # LOCATION | ROTATION
    scale: Optional[float] = None
    near: Optional[Sequence[float]] = None      # rotation channels before the first sample

    @property
    def widths(self) -> tuple[int, int]:
        """The number of channels of the location and of the rotation."""
        channels = self.channels or 0
        rotation_width = 3 if (self.rotation or QUATERNION) > 0 else 4
        return (3 if channels & LOCATION else 0, rotation_width if channels & ROTATION else 0)


def _array(kind: str, numbers: Numbers) -> array[float]:
    """The numbers as an array of C. An array of this kind is not copied."""
    if isinstance(numbers, array) and numbers.typecode == kind:
        return numbers
    if isinstance(numbers, memoryview) and numbers.format == kind:
        return array(kind, numbers.tobytes())
    return array(kind, numbers)


class Rig:
    """Bones, parents first. unit [m]: the length of one unit of the host.

    The argument `object` of the methods is the matrix of the rig in the world: 16 floats if it
    stands still, or 16 per sample."""

    def __init__(self, bones: Iterable[Bone], unit: Optional[float] = None,
                 library: Optional[Path] = None) -> None:
        self._lib = load(library)
        self.bones = list(bones)
        self.unit = unit
        self._descs = (_ffi.BoneDesc * len(self.bones))()
        for desc, bone in zip(self._descs, self.bones):
            init(self._lib, desc, parent=bone.parent, body=bone.body, rotation=bone.rotation,
                 flags=bone.flags, channels=bone.channels, scale=bone.scale)
            desc.rest[:] = bone.rest
            if bone.offset is not None:
                desc.offset[:] = bone.offset
            if bone.near is not None:
                desc.near[:] = bone.near

    def _desc(self, samples: int, bodies: int, placed: array[float],
              matrices: Optional[array[float]], **fields: Any) -> _ffi.RigDesc:
        desc = make(self._lib, _ffi.RigDesc, bone_count=len(self.bones), bones=self._descs,
                    bone_stride=C.sizeof(_ffi.BoneDesc), body_count=bodies, sample_count=samples,
                    unit=self.unit, object_count=len(placed) // 16,
                    object=pointer_to(placed, Floats), **fields)
        if matrices:
            desc.matrix_count = len(matrices) // (16 * len(self.bones))
            desc.matrices = pointer_to(matrices, Floats)
        return desc

    def channels(self, poses: Numbers, bodies: int, object: Numbers,
                 matrices: Optional[Numbers] = None, first_frame: Optional[float] = None,
                 frame_step: Optional[float] = None) -> list[array[float]]:
        """An array of floats per channel (frame, value, frame, ...), bone by bone, location first.

        poses: [sample][body][7], flat. matrices: [sample or one][bone][16], flat: the basis of
        bones, or their pose in the rig if they are POSED."""
        numbers, placed = _array("d", poses), _array("f", object)
        given = _array("f", matrices) if matrices else None
        samples = len(numbers) // (7 * bodies) if bodies else 0
        desc = self._desc(samples, bodies, placed, given, poses=pointer_to(numbers),
                          first_frame=first_frame, frame_step=frame_step)

        # The first call asks for the number of floats.
        needed, error = C.c_size_t(), make(self._lib, _ffi.Error)
        write = self._lib.skel_bake_channels
        status = write(C.byref(desc), None, 0, C.byref(needed), C.byref(error))
        check_status(self._lib, status, error)
        keys = array("f", bytes(4 * needed.value))
        status = write(C.byref(desc), pointer_to(keys, Floats), len(keys), None, C.byref(error))
        check_status(self._lib, status, error)

        width = 2 * samples
        return [keys[at:at + width] for at in range(0, len(keys), width)] if width else []

    def go_on(self, keys: Sequence[Sequence[float]]) -> None:
        """The next channels continue from the last of these keys, without a jump of rotations."""
        at = 0
        for desc, bone in zip(self._descs, self.bones):
            locations, rotations = bone.widths
            desc.near[:rotations] = [keys[at + locations + k][-1] for k in range(rotations)]
            at += locations + rotations

    def poses(self, matrices: Numbers, bodies: int, object: Numbers,
              start: Optional[Iterable[float]] = None) -> array[float]:
        """[sample][body][7], flat, of matrices [sample][bone][16] in the rig. start: 7 numbers per
        body, for bodies without a bone."""
        given, placed = _array("f", matrices), _array("f", object)
        samples = len(given) // (16 * len(self.bones))
        out = array("d", start if start is not None else [0, 0, 0, 1, 0, 0, 0] * bodies) * samples

        error = make(self._lib, _ffi.Error)
        desc = self._desc(samples, bodies, placed, given)
        status = self._lib.skel_rig_poses(C.byref(desc), pointer_to(out), C.byref(error))
        check_status(self._lib, status, error)
        return out

    def joints(self, matrices: Numbers) -> array[float]:
        """[sample][bone][7], flat: the pose of every bone relative to its parent, of matrices in
        the rig: its head, and its rotation from rest (skel_rig_joints)."""
        given, placed = _array("f", matrices), array("f", STILL)
        samples = len(given) // (16 * len(self.bones))
        bodies = 1 + max(desc.body for desc in self._descs)
        out = array("d", bytes(8 * 7 * len(self.bones) * samples))

        error = make(self._lib, _ffi.Error)
        desc = self._desc(samples, bodies, placed, given)
        status = self._lib.skel_rig_joints(C.byref(desc), pointer_to(out), C.byref(error))
        check_status(self._lib, status, error)
        return out


def reduce_keys(keys: Sequence[array[float]], kind: int, tolerance: float,
                library: Optional[Path] = None) -> list[array[float]]:
    """The channels of a location (VECTOR) or a rotation (QUATERNION, XYZ, ...) with as few keys as
    the tolerance allows (skel_keys_reduce): per channel an array of KEY_NUMBERS floats per key:
    frame, value, frame and value of the left handle, and of the right handle. keys: arrays of
    floats as Rig.channels returns them. tolerance: in the unit of the location, or rad."""
    if len({len(each) for each in keys}) != 1 or len(keys[0]) % 2:
        raise ValueError(f"keys: have {[len(each) for each in keys]} numbers, must be channels "
                         "with the same frames")
    lib, count = load(library), len(keys[0]) // 2
    flat = array("f", b"".join(each.tobytes() for each in keys))
    desc = make(lib, _ffi.KeysDesc, channel_count=len(keys), key_count=count,
                keys=pointer_to(flat, Floats), tolerance=tolerance)
    desc.kind = kind

    width = KEY_NUMBERS * count
    out, counts = array("f", bytes(4 * width * len(keys))), (C.c_uint32 * len(keys))()
    error = make(lib, _ffi.Error)
    status = lib.skel_keys_reduce(C.byref(desc), pointer_to(out, Floats), len(out), counts,
                                  C.byref(error))
    check_status(lib, status, error)
    return [out[c * width:c * width + KEY_NUMBERS * counts[c]] for c in range(len(keys))]


class Track:
    """A `skel-track/1` or `skel-pose/1`, read for a scene: poses in the order of its bodies."""

    def __init__(self, scene: Scene, text: Union[str, bytes]) -> None:
        lib = scene._lib
        data = text.encode() if isinstance(text, str) else bytes(text)
        owner = create(lib, lib.skel_track_parse, lib.skel_track_destroy, data, len(data),
                       scene._model)
        self.samples: int = lib.skel_track_frame_count(owner.pointer)
        self.frame_start: int = lib.skel_track_frame_start(owner.pointer)
        self.fps: float = lib.skel_track_fps(owner.pointer)
        count = 7 * scene.body_count * self.samples
        self.poses = copy_of(lib.skel_track_poses(owner.pointer), count)
