# SPDX-License-Identifier: BSD-3-Clause
"""In a window: the overlay draws while the tab is open, follows settings, bones and the skin, and
leaves the file alone; messages are wrapped and lead to the bone and the frame."""

import os
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bpy  # noqa: E402
from mathutils import Matrix, Vector  # noqa: E402

import common  # noqa: E402
import test_window as window  # noqa: E402

TAB_STEP = 20                   # pixels between two clicks at the tabs of the sidebar
seen = {"drawn": 0, "errors": [], "times": [], "shapes": {}, "lines": [], "panel": 0, "click": 0}


def add_skin(ob):
    """A cube around each bone, bound to it."""
    mesh = bpy.data.meshes.new("skin")
    points, faces, groups = [], [], {}
    for bone in ob.data.bones:
        middle, r = (bone.head_local + bone.tail_local) / 2, 0.3 * bone.length
        first = len(points)
        points += [middle + Vector((x * r, y * r, z * r)) for x in (-1, 1)
                   for y in (-1, 1) for z in (-1, 1)]
        faces += [tuple(first + k for k in face)
                  for face in ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6))]
        groups[bone.name] = list(range(first, first + 8))
    mesh.from_pydata(points, [], faces)
    skin = bpy.data.objects.new("skin", mesh)
    bpy.context.scene.collection.objects.link(skin)
    for name, numbers in groups.items():
        skin.vertex_groups.new(name=name).add(numbers, 1.0, "ADD")
    skin.parent = ob
    skin.modifiers.new("Armature", "ARMATURE").object = ob
    return skin


def file_state():
    """What a drawing must not change: the file, and the names of all data in it."""
    names = {kind: sorted(each.name for each in getattr(bpy.data, kind))
             for kind in ("objects", "meshes", "materials", "collections", "actions", "scenes",
                          "armatures", "images", "texts", "curves", "node_groups")}
    figure = bpy.data.objects["figure"]
    return names, common.dump_file(), [sorted(bone.keys()) for bone in figure.pose.bones]


def setup():
    scene = window.emptied()
    ob = common.add_armature(common.HUMANOID)
    add_skin(ob)
    crates = bpy.data.collections.new("crates")
    scene.collection.children.link(crates)
    crate = bpy.data.objects.new("crate", bpy.data.meshes.new("crate"))
    crate.data.from_pydata([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], [],
                           [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4),
                            (1, 5, 7, 3)])
    crates.objects.link(crate)
    crate.location = (2, 0, 0)
    ob.skel.obstacles = crates
    scene.frame_start, scene.frame_end = 1, 20
    bpy.context.view_layer.objects.active = ob
    bpy.context.view_layer.update()
    for bone in ob.pose.bones:
        _ = bone.skel.role                      # reading a group creates it
    watch()
    with bpy.context.temp_override(**window.view()):
        bpy.ops.object.mode_set(mode="POSE")
        ob.data.bones.active = ob.data.bones["head"]
        bpy.ops.ed.undo_push(message="ready")
    seen["before"] = file_state()
    space = window.view()["area"].spaces.active
    space.show_region_ui = True
    space.shading.type = "WIREFRAME"            # the quickest to draw
    return True


def watch():
    """Counts and times the drawings, and keeps what they drew and what went wrong."""
    addon = common.addon()
    draw, texts = addon.draw, addon.texts
    whole, wrap, panel = draw._draw_view, texts.wrap, addon.panels.SKEL_PT_report.draw

    def timed(context, ob, drawing, plain=draw.draw_armature):
        start = time.thread_time()
        plain(context, ob, drawing)
        seen["times"].append(time.thread_time() - start)
        seen["drawn"] += 1
        seen["shapes"] = {item.place.name: item for item in drawing.items
                          if item.kind in ("capsule", "sphere", "box")}
        seen["drawing"] = drawing

    def guarded():
        try:
            whole()
        except BaseException:
            seen["errors"].append(traceback.format_exc())
            raise

    def wrapped(text, width, measure):
        lines = wrap(text, width, measure)
        seen["lines"].append((text, max(map(measure, lines)), width, len(lines)))
        return lines

    def counted(self, context):
        panel(self, context)
        seen["panel"] += 1

    window.watch(addon.operators.SKEL_OT_bake_physics)
    draw.draw_armature, texts.wrap = timed, wrapped
    addon.panels.SKEL_PT_report.draw = counted
    bpy.types.SpaceView3D.draw_handler_remove(*draw._handlers.pop(0))
    draw._handlers.insert(0, (bpy.types.SpaceView3D.draw_handler_add(
        guarded, (), "WINDOW", "POST_VIEW"), "WINDOW"))


def nothing_yet():
    """Nothing is drawn as long as another tab is open."""
    assert seen["drawn"] == 0 and not seen["errors"], seen
    return True


def show_tab():
    """Opens the tab: by its name, or before 4.2 by clicks from the top down until it is there."""
    region = next(r for r in window.view()["area"].regions if r.type == "UI")
    if common.addon().draw._tab_areas:
        return True
    if hasattr(region, "active_panel_category"):
        try:
            region.active_panel_category = "Skel"
        except TypeError:                       # not drawn yet
            pass
        region.tag_redraw()
        return False
    seen["click"] += 1
    y = region.y + region.height - TAB_STEP * (seen["click"] // 2 % 25)
    for value in ("PRESS", "RELEASE"):
        window.view()["window"].event_simulate(type="LEFTMOUSE", value=value, y=y,
                                               x=region.x + region.width - 8)
    return False


def until(test):
    """A step: waits until the drawing is as it must be. Nothing here asks for a redraw."""
    def step():
        assert not seen["errors"], seen["errors"]
        return bool(seen["shapes"]) and test(seen["shapes"])
    step.__name__ = f"until_{test.__name__}"
    return step


def do(change):
    """A step that changes something."""
    def step():
        seen["shapes"] = {}
        change(bpy.data.objects["figure"])
        return True
    step.__name__ = change.__name__
    return step


def untouched():
    assert file_state() == seen["before"], "drawing has changed the file"
    print(f"{seen['drawn']} drawings of {len(seen['shapes'])} shapes, the quickest "
          f"{1000 * min(seen['times']):.2f} ms of CPU; the file is as it was")
    return True


def all_drawn(shapes):
    names = {row[0] for row in common.HUMANOID}
    return names <= set(shapes) and shapes["crate"].kind == "box"


def set_role(ob):
    ob.pose.bones["hand.L"].skel.role = "NONE"
    ob.pose.bones["pelvis"].skel.role = "PINNED"


def roles_drawn(shapes):
    return "hand.L" not in shapes and shapes["pelvis"].role == "PINNED"


def set_radius(ob):
    ob.pose.bones["shin.L"].skel.radius = 0.123


def radius_drawn(shapes):
    return abs(shapes["shin.L"].size[0] - 0.123) < 1e-6


def thicken(ob):
    mesh = bpy.data.objects["skin"].data
    seen["old"] = common.addon().preview.get(ob).numbers.radii["forearm.R"]
    mesh.transform(Matrix.Scale(1.5, 4))
    mesh.update()


def skin_drawn(_shapes):
    found = common.addon().preview.get(bpy.data.objects["figure"])
    return found.numbers.radii["forearm.R"] != seen["old"]


def limit(ob):
    """A limit of the rig: only the update of the armature tells of it."""
    constraint = ob.pose.bones["shin.R"].constraints.new("LIMIT_ROTATION")
    constraint.owner_space = "LOCAL"
    constraint.use_limit_x = constraint.use_limit_y = constraint.use_limit_z = True
    constraint.max_x = 0.777


def limit_drawn(_shapes):
    ranges = [joint.turns for joint in seen["drawing"].joints if joint.child.name == "shin.R"]
    return any(span and abs(span[1] - span[0] - 0.777) < 1e-6 for span in ranges)


def lengthen(ob):
    with bpy.context.temp_override(**window.view()):
        bpy.ops.object.mode_set(mode="EDIT")
        ob.data.edit_bones["head"].tail.z += 0.2
        bpy.ops.object.mode_set(mode="POSE")


def bone_drawn(_shapes):
    ob = bpy.data.objects["figure"]
    shot = common.addon().preview.get(ob).build.plan.shot
    head = next(bone for bone in shot.bones if bone.name == "head")
    return abs(head.length - ob.data.bones["head"].length) < 1e-6


def check_numbers():
    """The panels show the numbers of the same build, and setting one ends the automatic one."""
    ob = bpy.data.objects["figure"]
    numbers = common.addon().preview.get(ob).numbers
    s = ob.pose.bones["chest"].skel
    assert s.mass == 0 and s.mass_auto
    assert abs(s.mass_used - numbers.masses["chest"]) < 1e-5 * s.mass_used > 0
    assert abs(ob.skel.total_mass_used - numbers.total) < 1e-5 * numbers.total
    s.mass_used = 7.0
    assert s.mass == 7.0 and not s.mass_auto
    s.mass_auto = True
    assert s.mass == 0 and s.mass_used > 0
    return True


def break_it(ob):
    """No bone is simulated: no numbers, no drawing, but a reason."""
    for bone in ob.pose.bones:
        bone.skel.role = "DRIVEN"


def reason_shown():
    ob = bpy.data.objects["figure"]
    found = common.addon().preview.get(ob)
    if not found.error:
        return False
    assert "No bone is simulated" in found.error, found.error
    assert ob.pose.bones["chest"].skel.mass_used == 0 and found.numbers.masses == {}
    return any("No bone is simulated" in text for text, *_ in seen["lines"])


def mend(ob):
    for bone in ob.pose.bones:
        bone.skel.role = "AUTO"
    ob.location.z = -0.5                        # below the ground: a warning


def bake():
    seen.update(lines=[], panel=0)
    window.state.update(target="NEW")
    return window.start()


def report_drawn():
    """After the bake the sidebar is drawn again without any event."""
    return seen["panel"] > 0


def check_lines():
    """No line of a message is wider than its room, and long ones have several."""
    report = common.report_of(bpy.data.objects["figure"])
    texts = {problem.text for problem in report.problems}
    shown = [line for line in seen["lines"] if line[0] in texts]
    assert texts and texts <= {text for text, *_ in shown}, (texts, seen["lines"])
    for text, widest, width, count in seen["lines"]:
        assert widest <= width and (count > 1 or len(text) < 40), (text, widest, width, count)
    print(f"{len(texts)} messages in {sum(line[3] for line in shown)} lines")
    return True


def press_button():
    ob = bpy.data.objects["figure"]
    problem = next(p for p in common.report_of(ob).problems if "below the ground" in p.text)
    assert problem.bone in ob.pose.bones and problem.frame == 1, problem
    bpy.context.scene.frame_set(9)
    with bpy.context.temp_override(**window.view()):
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.skel.show_problem(bone=problem.bone, use_frame=True, frame=problem.frame)
        assert bpy.context.mode == "POSE"
    assert ob.data.bones.active.name == problem.bone
    selected = [b.name for b in ob.pose.bones if common.addon().compat.is_selected(b)]
    assert selected == [problem.bone], selected
    assert bpy.context.scene.frame_current == problem.frame
    return True


def switch_off():
    setattr(bpy.context.window_manager, common.addon().draw.SWITCH, False)
    seen.update(drawn=0, redraws=0)
    return True


def stays_off():
    window.view()["area"].tag_redraw()
    seen["redraws"] += 1
    assert seen["drawn"] == 0
    return seen["redraws"] > 5


def delete():
    """A deleted armature, and one that undo brings back."""
    setattr(bpy.context.window_manager, common.addon().draw.SWITCH, True)
    with bpy.context.temp_override(**window.view()):
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.ed.undo_push(message="before")
        bpy.data.objects.remove(bpy.data.objects["figure"])
        bpy.ops.ed.undo_push(message="deleted")
    seen.update(drawn=0, redraws=0)
    return True


def undo():
    with bpy.context.temp_override(**window.view()):
        bpy.ops.ed.undo()
        bpy.context.view_layer.objects.active = bpy.data.objects["figure"]
    seen["shapes"] = {}
    return True


def leave():
    """Another file: nothing is kept. Switched off, the add-on leaves no handler behind."""
    import addon_utils
    bpy.ops.wm.read_homefile(use_factory_startup=False)
    assert not common.addon().preview._previews
    modules = [common.addon().draw, common.addon().preview]
    addon_utils.disable("skel")
    assert not modules[0]._handlers
    for handlers in (bpy.app.handlers.depsgraph_update_post, bpy.app.handlers.load_post,
                     bpy.app.handlers.undo_post, bpy.app.handlers.redo_post):
        assert not [f for f in handlers if f.__module__.startswith("skel.")], list(handlers)
    assert not seen["errors"], seen["errors"]
    return True


window.STEPS[:] = [
    setup, nothing_yet, show_tab, until(all_drawn), untouched, do(set_role), until(roles_drawn),
    do(set_radius), until(radius_drawn), do(thicken), until(skin_drawn), do(limit),
    until(limit_drawn), do(lengthen), until(bone_drawn), check_numbers, do(break_it), reason_shown,
    do(mend), until(all_drawn), bake, window.is_finished, report_drawn, check_lines, press_button,
    switch_off, stays_off, delete, stays_off, undo, until(all_drawn), leave]
