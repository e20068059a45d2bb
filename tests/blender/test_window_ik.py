# SPDX-License-Identifier: BSD-3-Clause
"""In a window: Bake IK stopped by Esc leaves the file as it was, runs in short ticks, is one undo
step; the panels of goals and robots draw."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bpy  # noqa: E402
from mathutils import Vector  # noqa: E402

import common  # noqa: E402
import test_window as window  # noqa: E402

drawn = {}


def setup():
    scene = window.emptied()
    figure = common.add_armature(common.HUMANOID)
    common.key_all(figure, 1)
    scene.frame_start, scene.frame_end = 1, 2000
    for side, x in (("L", 1), ("R", -1)):
        target = bpy.data.objects.new(f"target.{side}", None)
        scene.collection.objects.link(target)
        for frame, place in ((1, (0.4, -0.3, 1.1)), (900, (0.2, -0.5, 1.5)),
                             (2000, (0.5, 0, 1.2))):
            target.location = Vector((x * place[0], *place[1:]))
            target.keyframe_insert("location", frame=frame)
        goal = figure.skel_ik.goals.add()
        goal.name, goal.bone, goal.target, goal.chain = side, f"hand.{side}", target, 5
    scene.frame_set(1)
    window.watch(common.addon().operators_ik.SKEL_OT_bake_ik)
    with bpy.context.temp_override(**window.view()):
        bpy.ops.skel.import_robot(preset="ur5")
        bpy.context.view_layer.objects.active = figure
        bpy.ops.ed.undo_push(message="ready")
    window.state["before"] = common.dump_file()
    return True


def start():
    window.set_slices()
    window.state.update(ticks=[], answer=None, events=0)
    with bpy.context.temp_override(**window.view()):
        answer = bpy.ops.skel.bake_ik("INVOKE_DEFAULT", target=window.state["target"])
    assert answer == {"RUNNING_MODAL"}, answer
    return True


def watch_panels():
    """Counts how often each panel draws; a panel that fails is a failure of the test."""
    addon = common.addon()
    for module in (addon.panels_ik, addon.panels_robots):
        for cls in module.CLASSES:
            if issubclass(cls, bpy.types.Panel):
                cls.draw = counted(cls)
    for module, closed in ((addon.panels_ik, "SKEL_PT_ik"),
                           (addon.panels_robots, "SKEL_PT_robots")):
        module.unregister()                         # opened, so that it draws
        getattr(module, closed).bl_options = set()
        module.register()
    space = window.view()["area"].spaces.active
    space.show_region_ui = True
    return True


def counted(cls):
    draw = cls.draw

    def wrapper(self, context):
        drawn[cls.__name__] = "failed"
        draw(self, context)
        drawn[cls.__name__] = "drawn"
    return wrapper


def show(name):
    """A step: the tab with this object active."""
    def step():
        bpy.context.view_layer.objects.active = bpy.data.objects[name]
        area = window.view()["area"]
        region = next(r for r in area.regions if r.type == "UI")
        if hasattr(region, "active_panel_category"):
            try:
                region.active_panel_category = "Skel"
            except TypeError:               # not drawn yet
                area.tag_redraw()
                return False
        area.tag_redraw()
        return True
    return step


def wait():
    window.state["waited"] = window.state.get("waited", 0) + 1
    return window.state["waited"] % 20 == 0


def check_panels():
    print("panels:", drawn)
    assert "failed" not in drawn.values(), drawn
    region = next(r for r in window.view()["area"].regions if r.type == "UI")
    if hasattr(region, "active_panel_category"):
        wanted = {"SKEL_PT_ik", "SKEL_PT_robots", "SKEL_PT_joints"}
        assert wanted <= set(drawn), drawn
    return True


steps = [setup]
for _target, _enough in (("NEW", 2), ("CURRENT", 6)):
    steps += [window.later(enough=_enough, target=_target), start, window.wait_for_ticks,
              window.press_escape, window.is_cancelled, window.check_untouched]
steps += [window.later(target="CURRENT"), start, window.is_finished, window.check_result,
          window.undo, window.check_undone, watch_panels, show("figure"), wait,
          show("Universal Robots UR5 (CB3)"), wait, check_panels]
window.STEPS[:] = steps
