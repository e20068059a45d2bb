# SPDX-License-Identifier: BSD-3-Clause
"""Opens the sidebar tab in a window and waits for its picture to be taken: panels.py -- READY DONE

Two files: it makes the first when all is drawn, and leaves when the second is there."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bpy  # noqa: E402

import stage  # noqa: E402

READY, DONE = sys.argv[sys.argv.index("--") + 1:][:2]
steps = []


bpy.context.preferences.view.show_splash = False


def setup():
    import addon_utils
    addon_utils.enable("skel", default_set=False)
    scene = bpy.context.scene
    for ob in list(scene.objects):
        bpy.data.objects.remove(ob)
    figure = stage.add_figure()
    stage.add_body(figure, (0.9, 0.45, 0.15, 1)).hide_select = True
    scene.frame_end = 60
    bpy.ops.skel.bake_physics()
    scene.frame_set(12)
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        bpy.context.view_layer.objects.active = figure
        bpy.ops.object.mode_set(mode="POSE")
        figure.data.bones.active = figure.data.bones["forearm.L"]


def show():
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    space = area.spaces.active
    space.show_region_ui = True
    space.overlay.show_floor = True
    space.shading.color_type = "OBJECT"
    space.region_3d.view_distance = 3.4
    space.region_3d.view_location = (0.3, 0, 0.55)
    panel = next(r for r in area.regions if r.type == "UI")
    try:
        panel.active_panel_category = "Skel"
    except AttributeError:                  # not drawn yet, or before 4.2: no way but a click
        pass
    area.tag_redraw()


def ready():
    open(READY, "w", encoding="utf-8").close()


steps += [setup, show, show, show, show, ready]


def tick():
    if steps:
        try:
            steps.pop(0)()
        except Exception:
            import traceback
            traceback.print_exc()
            sys.stdout.flush()
            os._exit(1)
    elif os.path.exists(DONE):
        os._exit(0)
    return 0.7


bpy.app.timers.register(tick, first_interval=1.0)
