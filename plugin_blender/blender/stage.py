# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames are evaluated in a temporary scene that contains only the objects that are read, so that
skinned meshes cost nothing and the user's scene stays on its frame."""

import math
from array import array
from typing import Any, Dict, List, Sequence, Tuple

import bpy

from ..core.errors import UserError
from ..core.work import Work
from .rna import Armature, Depsgraph, Object, Scene

TEMPORARY = "skel (temporary)"


def flat(matrix: Any) -> List[float]:
    """16 numbers, column after column."""
    return [value for column in matrix.col for value in column]


def matrix_of(graph: Depsgraph, name: str, bone: str) -> List[float]:
    """The matrix of an object, or of one of its bones, in the world."""
    ob = bpy.data.objects[name]
    now = ob.evaluated_get(graph)
    if bone and ob.type == "ARMATURE":
        found = now.pose.bones.get(bone)
        if found is None:
            raise UserError(f"'{name}' has no bone '{bone}'. Choose another target bone")
        return flat(now.matrix_world @ found.matrix)
    return flat(now.matrix_world)


class Stage:
    """A temporary scene with an armature and other objects."""

    def __init__(self, ob: Armature, others: Sequence[Object]) -> None:
        self.ob = ob
        self.scene: Scene = bpy.data.scenes.new(TEMPORARY)
        self._dependents: List[Object] = []
        for each in dict.fromkeys((ob, *others)):
            self.scene.collection.objects.link(each)
            if each.hide_viewport:
                self._require(each)
        self._layer = self.scene.view_layers[0]

    def _require(self, hidden: Object) -> None:
        """Blender evaluates an object that is disabled in viewports only if another needs it."""
        dependent = bpy.data.objects.new(TEMPORARY, None)
        self._dependents.append(dependent)
        self.scene.collection.objects.link(dependent)
        bones = hidden.pose.bones if hidden.type == "ARMATURE" else ()
        for end in [bone.name for bone in bones if not bone.children] or [""]:
            constraint = dependent.constraints.new("COPY_TRANSFORMS")
            constraint.target = hidden
            if end:                             # and with it all bones above it
                constraint.subtarget = end

    def close(self) -> None:
        try:
            if self.scene is not None:
                bpy.data.scenes.remove(self.scene)
            while self._dependents:
                bpy.data.objects.remove(self._dependents.pop())
        except ReferenceError:
            pass                                # removed by an undo, or by opening a file
        self.scene = None

    @property
    def graph(self) -> Depsgraph:
        return self._layer.depsgraph

    def evaluate(self, frame: float) -> Armature:
        """The armature as evaluated at a frame."""
        self.scene.frame_set(math.floor(frame), subframe=frame % 1)
        return self.ob.evaluated_get(self.graph)

    def remove_armature(self) -> None:
        """From now on only the other objects are evaluated."""
        self.scene.collection.objects.unlink(self.ob)

    def goal_weight(self, number: int) -> float:
        return self.ob.evaluated_get(self.graph).skel_ik.goals[number].weight

    def matrix(self, name: str, bone: str) -> List[float]:
        return matrix_of(self.graph, name, bone)


class CurrentFrame:
    """The current frame of the user's scene, with changes that are not keyed. Hidden objects, which
    Blender does not evaluate there, are evaluated in a temporary scene."""

    def __init__(self, ob: Armature, graph: Depsgraph, names: Sequence[str]) -> None:
        self.ob, self.graph, self._stage = ob, graph, None
        others = [bpy.data.objects[name] for name in sorted(set(names)) if name != ob.name]
        self._hidden = [other for other in others if not other.visible_get()]
        if self._hidden:
            self._stage = Stage(self._hidden[0], self._hidden)
            self._stage.evaluate(graph.scene.frame_current)

    def evaluate(self, _frame: float) -> Armature:
        return self.ob.evaluated_get(self.graph)

    def goal_weight(self, number: int) -> float:
        return self.ob.skel_ik.goals[number].weight

    def matrix(self, name: str, bone: str) -> List[float]:
        hidden = self._stage is not None and any(other.name == name for other in self._hidden)
        return matrix_of(self._stage.graph if hidden and self._stage else self.graph, name, bone)

    def close(self) -> None:
        if self._stage:
            self._stage.close()


def pose_buffer(ob: Armature) -> array:
    """Room for the matrices of all bones of one frame."""
    return array("f", bytes(64 * len(ob.pose.bones)))


class PoseSamples:
    """Collects matrices of the bones and of the object, frame by frame."""

    def __init__(self, ob: Armature) -> None:
        self.poses, self.basis, self.objects = array("f"), array("f"), array("f")
        self._room = pose_buffer(ob)

    def add(self, now: Armature) -> None:
        """Adds the poses of an evaluated armature, and the part of them that keys make."""
        self.add_poses(now)
        now.pose.bones.foreach_get("matrix_basis", self._room)
        self.basis.extend(self._room)

    def add_poses(self, now: Armature) -> None:
        now.pose.bones.foreach_get("matrix", self._room)
        self.poses.extend(self._room)
        self.objects.extend(flat(now.matrix_world))

    def fields(self) -> Dict[str, array]:
        return {"poses": self.poses, "basis": self.basis, "objects": self.objects}


Targets = List[List[List[float]]]               # [frame][target][16]


def read_playback(ob: Armature, frames: Sequence[float],
                  targets: Sequence[Tuple[str, str]] = ()) -> Work[Tuple[array, array, Targets]]:
    """Generator: what plays at some frames: (poses of the bones, matrices of the object, matrices
    of the targets). targets: (object, its bone)."""
    stage = Stage(ob, [bpy.data.objects[name] for name in sorted({at[0] for at in targets})])
    samples, places = PoseSamples(ob), []
    try:
        for frame in frames:
            samples.add_poses(stage.evaluate(frame))
            places.append([stage.matrix(*at) for at in targets])
            yield 0.97, "checking the keys"
    finally:
        stage.close()
    return samples.poses, samples.objects, places


def targets_now(ob: Armature, graph: Depsgraph, targets: Sequence[Tuple[str, str]]) -> Targets:
    """The matrices of targets in the current frame."""
    stage = CurrentFrame(ob, graph, [at[0] for at in targets])
    try:
        return [[stage.matrix(*at) for at in targets]]
    finally:
        stage.close()
