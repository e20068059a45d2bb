# SPDX-License-Identifier: BSD-3-Clause
"""Rigs: poses of bodies to the channels of animated bones, and back. All arithmetic stays in C.

    rig = Rig([Bone(rest=..., body=0, channels=LOCATION | ROTATION, offset=...), ...])
    keys = rig.channels(bake.poses, body_count, object=matrix, first_frame=1)
    keys[0]  # of the first channel: frame, value, frame, value, ... as floats

Matrices are flat, 16 floats, column after column.
"""

import ctypes as C
from array import array
from dataclasses import dataclass
from typing import Optional, Sequence

from . import _ffi
from ._own import Doubles, Floats, _check, _create, init, make
from .library import load

STILL = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
AXIS_ANGLE, QUATERNION, XYZ, XZY, YXZ, YZX, ZXY, ZYX = range(-1, 7)
KEEPS_ROTATION, KEEPS_SCALE, PARENT_AXES, POSED = 1, 2, 4, 8
LOCATION, ROTATION = 1, 2


@dataclass
class Bone:
    """As skel_bone_desc of skel_channels.h, which has the defaults of fields that are None."""
    rest: Sequence[float]                       # in the rig: 16 numbers, column after column
    parent: Optional[int] = None                # a bone before this one
    body: Optional[int] = None                  # its place in the poses
    offset: Optional[Sequence[float]] = None    # in the body: x y z [m], w x y z
    rotation: Optional[int] = None
    flags: Optional[int] = None
    channels: Optional[int] = None
    scale: Optional[float] = None
    near: Optional[Sequence[float]] = None      # channels of the rotation to go on from

    @property
    def widths(self):
        """Number of channels of the location and of the rotation."""
        turn, channels = 3 if (self.rotation or QUATERNION) > 0 else 4, self.channels or 0
        return (3 if channels & LOCATION else 0, turn if channels & ROTATION else 0)


def _array(kind, numbers):
    """An array of C's own numbers, and nothing copied where it is one already."""
    if isinstance(numbers, array) and numbers.typecode == kind:
        return numbers
    if isinstance(numbers, memoryview) and numbers.format == kind:
        return array(kind, numbers.tobytes())
    return array(kind, numbers)


def _pointer(numbers, kind):
    return C.cast(numbers.buffer_info()[0], kind)


class Rig:
    """Bones, parents first. object: 16 floats for one that stands still, or 16 per sample; unit:
    metres of a host unit."""

    def __init__(self, bones, unit=None, library=None):
        self._lib, self.bones, self.unit = load(library), list(bones), unit
        self._descs = (_ffi.BoneDesc * len(self.bones))()
        for desc, bone in zip(self._descs, self.bones):
            init(self._lib, desc, parent=bone.parent, body=bone.body, rotation=bone.rotation,
                 flags=bone.flags, channels=bone.channels, scale=bone.scale)
            desc.rest[:] = bone.rest
            if bone.offset is not None:
                desc.offset[:] = bone.offset
            if bone.near is not None:
                desc.near[:] = bone.near

    def _desc(self, samples, bodies, placed, matrices):
        desc = make(self._lib, _ffi.RigDesc, bone_count=len(self.bones),
                    bone_stride=C.sizeof(_ffi.BoneDesc), body_count=bodies, sample_count=samples,
                    unit=self.unit)
        desc.bones = self._descs
        desc.object_count, desc.object = len(placed) // 16, _pointer(placed, Floats)
        if matrices:
            desc.matrix_count = len(matrices) // (16 * len(self.bones))
            desc.matrices = _pointer(matrices, Floats)
        return desc

    def channels(self, poses, bodies, object, matrices=None, first_frame=None, frame_step=None):
        """An array of floats per channel (frame, value, frame, ...), bone by bone, location first.
        poses: [sample][body][7], flat. matrices: [sample or one][bone][16], flat: the basis of
        bones, or their pose in the rig where they are POSED."""
        poses, placed = _array("d", poses), _array("f", object)
        matrices = _array("f", matrices) if matrices else None
        samples = len(poses) // (7 * bodies) if bodies else 0
        desc = self._desc(samples, bodies, placed, matrices)
        desc.poses = _pointer(poses, Doubles)
        if first_frame is not None:
            desc.first_frame = first_frame
        if frame_step is not None:
            desc.frame_step = frame_step
        needed, error, run = C.c_size_t(), make(self._lib, _ffi.Error), self._lib.skel_bake_channels
        _check(self._lib, run(C.byref(desc), None, 0, C.byref(needed), C.byref(error)), error)
        keys = array("f", bytes(4 * needed.value))
        _check(self._lib, run(C.byref(desc), _pointer(keys, Floats), len(keys), None,
                              C.byref(error)), error)
        width = 2 * samples
        return [keys[at:at + width] for at in range(0, len(keys), width)] if width else []

    def go_on(self, keys):
        """The next channels go on from the last of these: turns do not jump between them."""
        at = 0
        for desc, bone in zip(self._descs, self.bones):
            move, turn = bone.widths
            desc.near[:turn] = [keys[at + move + k][-1] for k in range(turn)]
            at += move + turn

    def poses(self, matrices, bodies, object, start=None):
        """[sample][body][7], flat, of matrices [sample][bone][16] in the rig. start: 7 numbers per
        body, for those that have no bone."""
        matrices, placed = _array("f", matrices), _array("f", object)
        samples = len(matrices) // (16 * len(self.bones))
        out = array("d", start if start is not None else [0, 0, 0, 1, 0, 0, 0] * bodies) * samples
        error = make(self._lib, _ffi.Error)
        desc = self._desc(samples, bodies, placed, matrices)
        _check(self._lib, self._lib.skel_rig_poses(
            C.byref(desc), _pointer(out, Doubles), C.byref(error)), error)
        return out

    def joints(self, matrices):
        """[sample][bone][7], flat: how bones stand in their parents, of matrices in the rig: heads,
        and turns from rest (skel_rig_joints)."""
        matrices, placed = _array("f", matrices), array("f", STILL)
        samples, error = len(matrices) // (16 * len(self.bones)), make(self._lib, _ffi.Error)
        out = array("d", bytes(8 * 7 * len(self.bones) * samples))
        desc = self._desc(samples, 1 + max(desc.body for desc in self._descs), placed, matrices)
        _check(self._lib, self._lib.skel_rig_joints(
            C.byref(desc), _pointer(out, Doubles), C.byref(error)), error)
        return out


class Track:
    """A `skel-track/1` (or `skel-pose/1`), read for a scene: poses in the order of its bodies."""

    def __init__(self, scene, text):
        lib, data = scene._lib, text.encode() if isinstance(text, str) else bytes(text)
        owner = _create(lib, lib.skel_track_parse, lib.skel_track_destroy, data, len(data),
                        scene._model)
        self.samples = lib.skel_track_frame_count(owner.pointer)
        self.frame_start = lib.skel_track_frame_start(owner.pointer)
        self.fps = lib.skel_track_fps(owner.pointer)
        count = 7 * scene.body_count * self.samples
        self.poses = array("d", lib.skel_track_poses(owner.pointer)[:count])
