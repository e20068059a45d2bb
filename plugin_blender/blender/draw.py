# SPDX-License-Identifier: GPL-3.0-or-later
"""The overlay in the viewport: bodies, joints with their limits, centre of mass, ground, obstacles.

It is drawn in the 3D views whose sidebar shows the tab Skel, for the active armature, unless the
switch or Blender's own overlays are off. So it never appears for people who do something else.
Nothing is added to the file.

All lines of a bone are one batch in the axes of the bone, all its surfaces another. They are kept
until the preview changes; a redraw only sets the matrix of each bone."""

from typing import Any, Dict, List, Optional, Set, Tuple

import bpy
import gpu
from gpu_extras.batch import batch_for_shader
from mathutils import Matrix, Vector

from ..core.drawing import (COLOURS, FILL, GROUND_CELLS, Drawing, Drawn, Place, by_place, lines_of,
                            moved, surface_of)
from . import preview
from .rna import Armature, Context

SWITCH = "skel_show_bodies"                     # property of the window manager: not in the file
CENTRE_SIZE = 0.04                              # of the armature's size
FLOOR_SIZE = 2.0                                # of the armature's size
ACTIVE_WIDTH = 2.5                              # pixels
BODIES = {"DYNAMIC", "DRIVEN", "PINNED", "SOFT", "NONE"}

_handlers: List[Tuple[Any, str]] = []
_tab_areas: Set[int] = set()                    # areas whose sidebar shows the tab
_tab_drawn: Set[int] = set()                    # areas whose tab was laid out since the last redraw
_kept: Dict[str, Tuple[Drawing, "Batches"]] = {}


# ---- where it is drawn ----

def tab_is_drawn(context: Context) -> None:
    """Called by a panel of the tab whenever it is laid out."""
    if context.area is not None:
        _tab_drawn.add(context.area.as_pointer())


def _sidebar_drawn() -> None:
    """After a sidebar was drawn: whether the tab was part of it. If that is new, the view beside it
    is drawn again."""
    area = bpy.context.area
    if area is None:
        return
    key = area.as_pointer()
    if (key in _tab_drawn) != (key in _tab_areas):
        _tab_areas.symmetric_difference_update({key})
        for region in area.regions:
            if region.type == "WINDOW":
                region.tag_redraw()
    _tab_drawn.discard(key)


def is_shown(context: Context) -> bool:
    """Whether the overlay is drawn in the view of a context."""
    space, area = context.space_data, context.area
    return bool(getattr(context.window_manager, SWITCH) and space is not None and
                area is not None and space.type == "VIEW_3D" and space.overlay.show_overlays and
                space.show_region_ui and area.as_pointer() in _tab_areas)


# ---- batches ----

def _line_batch(shader: Any, items: List[Drawn]) -> Any:
    """All lines of a place, each in its colour."""
    points: List[Any] = []
    colours: List[Any] = []
    for item in items:
        some = moved(item.matrix, lines_of(item.kind, item.size))
        points += some
        colours += [COLOURS[item.role]] * len(some)
    return batch_for_shader(shader, "LINES", {"pos": points, "color": colours}) if points else None


def _surface_batch(shader: Any, items: List[Drawn]) -> Any:
    """All surfaces of a place. An obstacle has its own in Blender, at the same place."""
    points: List[Any] = []
    colours: List[Any] = []
    triangles: List[Any] = []
    for item in items:
        if item.role == "OBSTACLE":
            continue
        some, faces = surface_of(item.kind, item.size)
        first = len(points)
        red, green, blue, opacity = COLOURS[item.role]
        points += moved(item.matrix, some)
        colours += [(red, green, blue, FILL * opacity)] * len(some)
        triangles += [(a + first, b + first, c + first) for a, b, c in faces]
    if not triangles:
        return None
    return batch_for_shader(shader, "TRIS", {"pos": points, "color": colours}, indices=triangles)


class Batches:
    """The batches of a drawing. They can only be made while Blender draws."""

    def __init__(self, drawing: Drawing) -> None:
        self.shader = gpu.shader.from_builtin("SMOOTH_COLOR")
        self.wide = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
        self.bones: List[Tuple[str, Any, Any]] = []
        self.objects: List[Tuple[str, Any, Any]] = []
        self.world: List[Tuple[str, Any, Any]] = []
        self._items = by_place(drawing)
        self._active: Dict[str, Any] = {}
        for place, items in self._items.items():
            kept = {"BONE": self.bones, "OBJECT": self.objects}.get(place.kind, self.world)
            kept.append((place.name, _surface_batch(self.shader, items),
                         _line_batch(self.shader, items)))

        identity = list(sum((tuple(column) for column in Matrix.Identity(4)), ()))
        self.centre = _line_batch(self.shader, [
            Drawn("centre", (CENTRE_SIZE * drawing.extent,), Place(), identity, "CENTRE")])
        self.floor = _line_batch(self.shader, [
            Drawn("ground", (FLOOR_SIZE * drawing.extent,), Place(), identity, "GROUND")])
        self.masses = [(mass.bone, mass.mass, Vector(mass.centre)) for mass in drawing.masses]

    def active(self, bone: str) -> Any:
        """The wide lines of a bone's body; None if it has none."""
        if bone not in self._active:
            points = [point for item in self._items.get(Place("BONE", bone), ())
                      if item.role in BODIES
                      for point in moved(item.matrix, lines_of(item.kind, item.size))]
            self._active[bone] = batch_for_shader(self.wide, "LINES", {"pos": points}) \
                if points else None
        return self._active[bone]


def _batches_of(ob: Armature, drawing: Drawing) -> Batches:
    """The batches of an armature's drawing, made when it changes."""
    found = _kept.get(ob.name_full)
    if found is None or found[0] is not drawing:
        _kept[ob.name_full] = found = drawing, Batches(drawing)
    return found[1]


# ---- drawing ----

def _draw_all(shader: Any, pairs: List[Tuple[Any, Any, Any]], part: int) -> None:
    """Draws surfaces (part 1) or lines (part 2). pairs: (matrix, surfaces, lines)."""
    for pair in pairs:
        if pair[part] is not None:
            with gpu.matrix.push_pop():
                gpu.matrix.multiply_matrix(pair[0])
                pair[part].draw(shader)


def _centre(ob: Armature, batches: Batches) -> Optional[Any]:
    """The centre of mass in the present pose, in the world."""
    total, centre = 0.0, Vector((0.0, 0.0, 0.0))
    bones = ob.pose.bones
    for name, mass, point in batches.masses:
        bone = bones.get(name)
        if bone is not None:
            centre += mass * (bone.matrix @ point)
            total += mass
    return ob.matrix_world @ (centre / total) if total > 0 else None


def _draw_marks(ob: Armature, batches: Batches, drawing: Drawing) -> None:
    """The centre of mass, and the ground around it."""
    centre = _centre(ob, batches)
    if centre is not None:
        _draw_all(batches.shader, [(Matrix.Translation(centre), None, batches.centre)], 2)
    if drawing.floor is not None:
        middle = centre if centre is not None else ob.matrix_world.translation
        cell = FLOOR_SIZE * drawing.extent / GROUND_CELLS
        x, y = (cell * round(v / cell) for v in middle[:2])
        _draw_all(batches.shader,
                  [(Matrix.Translation((x, y, drawing.floor)), None, batches.floor)], 2)


def _draw_active(context: Context, ob: Armature, batches: Batches) -> None:
    """The body of the active bone, highlighted in pose mode."""
    active = ob.data.bones.active
    bone = ob.pose.bones.get(active.name) if active and ob.mode == "POSE" else None
    batch = batches.active(active.name) if bone is not None else None
    if bone is None or batch is None:
        return
    wide = batches.wide
    wide.bind()
    wide.uniform_float("lineWidth", ACTIVE_WIDTH)
    wide.uniform_float("viewportSize", (context.region.width, context.region.height))
    wide.uniform_float("color", COLOURS["CENTRE"])
    with gpu.matrix.push_pop():
        gpu.matrix.multiply_matrix(ob.matrix_world @ bone.matrix)
        batch.draw(wide)


def draw_armature(context: Context, ob: Armature, drawing: Drawing) -> None:
    batches, world = _batches_of(ob, drawing), ob.matrix_world
    bones, objects = ob.pose.bones, bpy.data.objects
    pairs = [(world @ bones[name].matrix, surfaces, lines)
             for name, surfaces, lines in batches.bones if name in bones]
    pairs += [(objects[name].matrix_world, surfaces, lines)
              for name, surfaces, lines in batches.objects if name in objects]
    pairs += [(Matrix.Identity(4), surfaces, lines) for _, surfaces, lines in batches.world]

    # Surfaces are hidden by what is before them; lines show through, because bodies are inside the
    # skin.
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_mask_set(False)
    gpu.state.depth_test_set("LESS_EQUAL")
    _draw_all(batches.shader, pairs, 1)
    gpu.state.depth_test_set("NONE")
    _draw_all(batches.shader, pairs, 2)
    _draw_marks(ob, batches, drawing)
    _draw_active(context, ob, batches)
    gpu.state.blend_set("NONE")


def _draw_view() -> None:
    """After a 3D view was drawn."""
    context = bpy.context
    if not is_shown(context):
        return
    ob = preview.armature(context)
    if ob is None or ob.mode == "EDIT" or not ob.visible_get():
        return
    found = preview.get(ob, context.scene)
    if found is not None and found.build is not None:
        draw_armature(context, ob, found.drawing)


# ---- registration: the only place that adds and removes draw handlers ----

def _switched(_manager: Any, _context: Context) -> None:
    preview.redraw()


@bpy.app.handlers.persistent
def _file_loaded(*_given: Any) -> None:
    for kept in (_tab_areas, _tab_drawn, _kept):
        kept.clear()


def register() -> None:
    setattr(bpy.types.WindowManager, SWITCH, bpy.props.BoolProperty(
        name="Show Bodies", default=True, options={"SKIP_SAVE"}, update=_switched,
        description="Show what Bake Physics will simulate, while this tab is open. Orange: "
        "simulated. Blue: animated. Red: pinned. Violet: soft. Grey: not simulated. Green: ground "
        "and obstacles. Yellow: joints and their limits. White: centre of mass and active bone"))
    add = bpy.types.SpaceView3D.draw_handler_add
    _handlers.append((add(_draw_view, (), "WINDOW", "POST_VIEW"), "WINDOW"))
    _handlers.append((add(_sidebar_drawn, (), "UI", "POST_PIXEL"), "UI"))
    bpy.app.handlers.load_post.append(_file_loaded)


def unregister() -> None:
    bpy.app.handlers.load_post.remove(_file_loaded)
    while _handlers:
        bpy.types.SpaceView3D.draw_handler_remove(*_handlers.pop())
    _file_loaded()
    delattr(bpy.types.WindowManager, SWITCH)
