# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene that a bake would simulate, built from the current frame before any bake.

One build per armature is kept. It is made again, by a timer, after a setting, a bone, the skin or
an obstacle has changed; the animation is not sampled, and nothing in the file is changed. Panels
read its numbers and the overlay draws it. If it cannot be built, there are no numbers, and the
reason is kept."""

import time
from array import array
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Set, Tuple

import bpy

from ..core.binding import skelpy
from ..core.build import Build, build_scene
from ..core.drawing import Drawing, Numbers, drawn_items, used_numbers
from ..core.errors import UserError
from ..core.plan import make_plan
from ..core.roles import plan_roles
from . import meshes, read
from .rna import Armature, Context, Depsgraph, Object, Scene
from .stage import TEMPORARY, PoseSamples, flat

FAILURES = (UserError, skelpy.SkelError, MemoryError, OSError, ValueError, KeyError)
QUIET_S = 0.2               # without a change of the scene before bones are compared again
PAUSE = 3.0                 # times the duration of a build: the shortest time between two builds
CHANNELS = {"LOCATION", "ROTATION"}


@dataclass(frozen=True)
class Preview:
    """A build and what is made of it. build is None if there is an error."""
    build: Optional[Build]
    drawing: Drawing
    numbers: Numbers
    error: str
    seconds: float                          # that the build took
    meshes: Set[str]                        # names of the meshes that were read
    inputs: Any                             # settings, bones and objects that were read
    address: int                            # of the armature in memory: undo changes it


NOTHING = Numbers({}, {}, 0.0)
_previews: Dict[str, Preview] = {}
_changed: Set[str] = set()                  # armatures whose settings or meshes have changed
_suspect: Set[str] = set()                  # armatures that something has happened to
_wanted: Dict[str, str] = {}                # armatures to build, and the names of their scenes
_due = [0.0]                                # when the timer is to work


# ---- who ----

def armature(context: Context) -> Optional[Armature]:
    """The active armature, or the one that the active mesh is bound to."""
    ob = context.object
    if ob is not None and ob.type == "MESH":
        found = ob.find_armature()
        ob = found if found is not None else ob
    return ob if ob is not None and ob.type == "ARMATURE" else None


def redraw() -> None:
    """Redraws all 3D views and their sidebars."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


# ---- reading ----

def _read_build(scene: Scene, ob: Armature, graph: Depsgraph) -> Tuple[Build, List[Object]]:
    """(the build at the current frame, the obstacles). The same steps as those of a bake, but with
    the poses of one frame."""
    frame = scene.frame_current
    reader = read.ShotReader(scene, ob, frame, frame + 1, channels=CHANNELS)
    roles = plan_roles(reader.shot)

    now, samples = ob.evaluated_get(graph), PoseSamples(ob)
    samples.add(now)
    for obstacle in reader.obstacles:
        obstacle.add_frame(obstacle.ob.evaluated_get(graph).matrix_world, frame, samples)
    shot = replace(
        reader.shot, bones=read.with_channels(reader.shot.bones, now), frames=[frame],
        follow_at={name: array("d") for name in reader.shot.follow_at}, **samples.fields(),
        colliders=tuple(obstacle.finished() for obstacle in reader.obstacles))
    return build_scene(make_plan(shot, roles)), [obstacle.ob for obstacle in reader.obstacles]


def _skins(scene: Scene, ob: Armature) -> List[Object]:
    return [other for other in scene.objects
            if other.type == "MESH" and meshes.is_bound(ob, other)]


def _obstacles(ob: Armature) -> List[Object]:
    return list(ob.skel.obstacles.all_objects) if ob.skel.obstacles else []


def _inputs(scene: Scene, ob: Armature) -> Any:
    """What a build depends on, besides meshes: compared to tell whether it must be made again. The
    pose is not part of it, because everything is kept relative to the bones."""
    settings, bones = read.read_settings(ob, channels=CHANNELS), read.read_bones(ob)
    if not settings.only_selected:
        bones = [replace(bone, selected=True) for bone in bones]
    skins = [other.name_full for other in _skins(scene, ob)]
    obstacles = [(other.name_full, flat(other.matrix_world),
                  other.rigid_body.collision_shape if other.rigid_body else "")
                 for other in _obstacles(ob)]
    scale = [round(s, 5) for s in ob.matrix_world.to_scale()]
    return settings, bones, skins, obstacles, scale, scene.unit_settings.scale_length


def make(scene: Scene, ob: Armature, graph: Optional[Depsgraph] = None) -> Preview:
    """Builds the preview of an armature now. Not to be called while Blender draws."""
    graph = graph or bpy.context.evaluated_depsgraph_get()
    start, error, build = time.perf_counter(), "", None
    drawing, numbers, inputs = Drawing(), NOTHING, None
    used = [*_skins(scene, ob), *_obstacles(ob)]
    try:
        inputs = _inputs(scene, ob)
        build, others = _read_build(scene, ob, graph)
        drawing = drawn_items(build, {other.name_full: flat(other.evaluated_get(graph).matrix_world)
                                      for other in others})
        numbers = used_numbers(build)
    except FAILURES as problem:
        build, error = None, str(problem)
    preview = Preview(build, drawing, numbers, error, time.perf_counter() - start,
                      {other.data.name_full for other in used if other.data}, inputs,
                      ob.as_pointer())
    _previews[ob.name_full] = preview
    _changed.discard(ob.name_full)
    _suspect.discard(ob.name_full)
    return preview


def _is_stale(scene: Scene, ob: Armature) -> bool:
    """Whether the preview of an armature must be made again."""
    name = ob.name_full
    last = _previews.get(name)
    if last is None or name in _changed:
        return True
    if name not in _suspect and last.address == ob.as_pointer():
        return False
    try:
        same = last.inputs is not None and _inputs(scene, ob) == last.inputs
    except FAILURES:
        same = False
    if same:
        _suspect.discard(name)
        _previews[name] = replace(last, address=ob.as_pointer())
    return not same


# ---- asking ----

def get(ob: Optional[Armature], scene: Optional[Scene] = None) -> Optional[Preview]:
    """The last preview of an armature; None if there is none yet. If it may be out of date, a timer
    makes it again and redraws. May be called while Blender draws."""
    if ob is None or ob.mode == "EDIT":
        return None
    name = ob.name_full
    last = _previews.get(name)
    if last is None or name in _changed or name in _suspect or last.address != ob.as_pointer():
        _ask(name, scene or bpy.context.scene, last)
    return last


def _ask(name: str, scene: Scene, last: Optional[Preview]) -> None:
    if name in _wanted or bpy.app.background:
        return
    _wanted[name] = scene.name_full
    wait = min(PAUSE * last.seconds, 1.0) if last else 0.0
    if name not in _changed and last:
        wait = max(wait, QUIET_S)
    _due[0] = time.perf_counter() + wait
    if not bpy.app.timers.is_registered(_work):
        bpy.app.timers.register(_work, first_interval=wait)


def _work() -> Optional[float]:
    """Timer: makes the previews that were asked for."""
    left = _due[0] - time.perf_counter()
    if left > 0:
        return left
    wanted = dict(_wanted)
    _wanted.clear()
    for name, scene_name in wanted.items():
        ob = next((o for o in bpy.data.objects if o.name_full == name), None)
        scene = next((s for s in bpy.data.scenes if s.name_full == scene_name), None)
        if ob is None or ob.type != "ARMATURE" or scene is None or ob.mode == "EDIT":
            continue
        if _is_stale(scene, ob):
            make(scene, ob, _graph_of(scene))
            redraw()
    return None


def _graph_of(scene: Scene) -> Depsgraph:
    """The dependency graph that a window shows the scene with."""
    for window in bpy.context.window_manager.windows:
        if window.scene == scene:
            return window.view_layer.depsgraph
    return scene.view_layers[0].depsgraph


# ---- changes ----

def setting_changed(group: Any, _context: Context) -> None:
    """Update callback of all settings of armatures and bones."""
    name = group.id_data.name_full
    if name in _previews:
        _changed.add(name)
        redraw()


@bpy.app.handlers.persistent
def _scene_changed(scene: Scene, graph: Optional[Depsgraph] = None, *_more: Any) -> None:
    """Something was evaluated. An armature's own update may be a new pose or a new limit: its bones
    are compared once nothing has happened for a while."""
    if not _previews or graph is None or scene.name.startswith(TEMPORARY):
        return
    for update in graph.updates:
        each = update.id.original
        name = each.name_full
        kind = each.bl_rna.identifier
        if kind == "Object":
            _suspect.update(_previews if each.type == "MESH" else [name])
        elif kind == "Armature":
            _suspect.update(_previews)
        elif kind == "Mesh":
            _changed.update(n for n, preview in _previews.items() if name in preview.meshes)
        elif kind in ("Scene", "Collection"):
            _suspect.update(_previews)
    if _wanted and not _changed.intersection(_wanted):
        _due[0] = max(_due[0], time.perf_counter() + QUIET_S)


@bpy.app.handlers.persistent
def _history_changed(*_given: Any) -> None:
    """After undo and redo anything may be different."""
    _suspect.update(_previews)
    _changed.update(_previews)


@bpy.app.handlers.persistent
def _file_loaded(*_given: Any) -> None:
    forget()


def forget() -> None:
    for kept in (_previews, _changed, _suspect, _wanted):
        kept.clear()


# The only place that adds and removes handlers of previews.
def _handlers() -> List[Tuple[Any, Any]]:
    on = bpy.app.handlers
    return [(on.depsgraph_update_post, _scene_changed), (on.undo_post, _history_changed),
            (on.redo_post, _history_changed), (on.load_post, _file_loaded)]


def register() -> None:
    for handlers, function in _handlers():
        handlers.append(function)


def unregister() -> None:
    for handlers, function in _handlers():
        if function in handlers:
            handlers.remove(function)
    if bpy.app.timers.is_registered(_work):
        bpy.app.timers.unregister(_work)
    forget()
