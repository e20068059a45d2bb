# SPDX-License-Identifier: GPL-3.0-or-later
"""A copy of an armature in a temporary scene, whose controls can be posed while everything else
plays its animation. The armature itself is not touched, whenever the work ends."""

from array import array
from typing import Collection, List, Set, Tuple

import bpy
from mathutils import Matrix

from . import animation, compat
from .rna import Action, Armature
from .stage import Stage, pose_buffer
from .statics import Value


class Puppet:
    def __init__(self, ob: Armature) -> None:
        self._scratch: List[Action] = []
        self.ob: Armature = ob.copy()
        self.ob.hide_viewport = False
        self.animated: Set[str] = animation.animated_paths(ob)
        self._frame = 0.0
        self.stage = Stage(self.ob, ())
        self.index = {bone.name: i for i, bone in enumerate(ob.pose.bones)}
        self._room = pose_buffer(ob)

    def close(self) -> None:
        """Removes the copy and everything that was made for it."""
        self.stage.close()
        try:
            bpy.data.objects.remove(self.ob)
            while self._scratch:
                bpy.data.actions.remove(self._scratch.pop())
        except ReferenceError:
            pass                                # removed by an undo, or by opening a file

    # ---- properties ----

    def value(self, path: str) -> float:
        """A property of the copy, as it is evaluated."""
        return float(Value(self._now(), path).get())

    def set_value(self, path: str, value: float) -> None:
        Value(self.ob, path).set(value)

    def evaluated(self, path: str) -> float:
        return float(self._now().path_resolve(path))

    def _now(self) -> Armature:
        return self.ob.evaluated_get(self.stage.graph)

    # ---- animation ----

    def free(self, channels: Collection[Tuple[str, int]]) -> None:
        """From now on these channels (data path, index) are not animated."""
        data = self.ob.animation_data
        if data is None:
            return
        users = [data, *(strip for track in data.nla_tracks for strip in track.strips)]
        for user in users:
            if user.action is None:
                continue
            action, slot = user.action.copy(), compat.slot_handle(user)
            self._scratch.append(action)
            compat.assign(user, action, slot)
            curves = compat.curves_at(action, slot)
            for curve in [c for c in curves if (c.data_path, c.array_index) in channels]:
                curves.remove(curve)

    def go_to(self, frame: float) -> None:
        """Evaluates a frame."""
        self._frame = frame
        self.stage.evaluate(frame)
        self._now().pose.bones.foreach_get("matrix", self._room)

    def update(self) -> None:
        """Evaluates what was set since. The whole frame is evaluated: animation is in the evaluated
        copy only, and ViewLayer.update would lose it, or write it to the armature itself."""
        self.ob.update_tag(refresh={"OBJECT", "DATA"})
        self.go_to(self._frame)

    # ---- poses ----

    def state(self, i: int, rotation: str) -> array:
        """The evaluated location of a bone, and its rotation in the channels of that name."""
        bone = self._now().pose.bones[i]
        return array("f", (*bone.location, *getattr(bone, rotation)))

    def matrix(self, i: int) -> Matrix:
        """The evaluated matrix of a bone in the armature."""
        m = self._room[16 * i:16 * i + 16]
        return Matrix((m[0::4], m[1::4], m[2::4], m[3::4]))
