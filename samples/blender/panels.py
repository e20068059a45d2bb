# SPDX-License-Identifier: BSD-3-Clause
"""Opens the sidebar tab in a window and waits for its picture to be taken:
panels.py -- READY DONE physics|bodies|ik|robots

Two files: it makes the first when all is drawn, and leaves when the second is there."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bpy  # noqa: E402

import stage  # noqa: E402

READY, DONE, NAME = sys.argv[sys.argv.index("--") + 1:][:3]
OPEN = {"physics": ("SKEL_PT_physics", "SKEL_PT_report"),
        "bodies": ("SKEL_PT_physics", "SKEL_PT_bone"),
        "ik": ("SKEL_PT_ik", "SKEL_PT_ik_receipt"),
        "robots": ("SKEL_PT_robots", "SKEL_PT_joints")}[NAME]
steps = []
bpy.context.preferences.view.show_splash = False


def enable():
    """The add-on, with the panels open that the picture is about, and all others closed."""
    import addon_utils
    addon = addon_utils.enable("skel", default_set=False)
    addon.unregister()
    for module in (addon.panels, addon.panels_ik, addon.panels_robots):
        for cls in module.CLASSES:
            if issubclass(cls, bpy.types.Panel) and cls.__name__ != "SKEL_PT_none":
                cls.bl_options = set() if cls.__name__ in OPEN else {"DEFAULT_CLOSED"}
    addon.register()
    return addon


def physics(figure):
    bpy.ops.skel.bake_physics()
    bpy.context.scene.frame_set(14)
    return "forearm.L"


def bodies(figure):
    """What a bake will simulate, before any: bones of all roles, an obstacle, an active bone."""
    crates = bpy.data.collections.new("crates")
    bpy.context.scene.collection.children.link(crates)
    stage.add_box("crate", (-0.9, -0.35, 0), (-0.45, 0.1, 0.45), (0.3, 0.5, 0.8, 1), crates)
    figure.skel.obstacles = crates
    for bone, role in (("pelvis", "PINNED"), ("upper_arm.R", "DRIVEN"), ("head", "SOFT"),
                       ("hand.R", "NONE")):
        figure.pose.bones[bone].skel.role = role
    bpy.data.objects["body"].hide_viewport = True
    return "forearm.L"


def ik(figure):
    """The left hand is led to a box; the head looks at it. The bones are seen through the body."""
    figure.show_in_front = True
    box = stage.add_box("box", (-0.07, -0.07, -0.07), (0.07, 0.07, 0.07), (0.15, 0.6, 0.9, 1))
    for frame, place in ((1, (0.35, -0.3, 0.95)), (60, (0.25, -0.45, 1.7))):
        box.location = place
        box.keyframe_insert("location", frame=frame)
    for bone, kind, chain in (("hand.L", "REACH", 3), ("head", "LOOK", 2)):
        bpy.ops.skel.add_goal(bone=bone, kind=kind, target="box")
        figure.skel_ik.goals[-1].chain = chain
    figure.skel_ik.goals[1].axis = "Z"
    figure.skel_ik.active = 0
    bpy.ops.skel.bake_ik()
    bpy.context.scene.frame_set(40)
    return "hand.L"


def setup():
    enable()
    scene = bpy.context.scene
    for ob in list(scene.objects):
        bpy.data.objects.remove(ob)
    scene.frame_end = 60
    if NAME == "robots":
        bpy.ops.skel.import_robot(preset="ur5")
        bpy.ops.skel.set_joints(values="50 -60 80 -110 -90 0", degrees=True)
        return
    figure = stage.add_figure()
    stage.add_body(figure, (0.9, 0.45, 0.15, 1)).hide_select = True
    bpy.context.view_layer.objects.active = figure
    bone = {"physics": physics, "bodies": bodies, "ik": ik}[NAME](figure)
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        bpy.context.view_layer.objects.active = figure
        bpy.ops.object.mode_set(mode="POSE")
        figure.data.bones.active = figure.data.bones[bone]


def show():
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    space = area.spaces.active
    space.show_region_ui = True
    space.overlay.show_floor = True
    space.shading.color_type = "OBJECT"
    space.region_3d.view_distance = {"physics": 3.4, "bodies": 2.8, "ik": 3.4, "robots": 1.9}[NAME]
    space.region_3d.view_location = {"physics": (0.3, 0, 0.55), "bodies": (0.3, 0, 0.8),
                                     "ik": (0.3, 0, 0.85), "robots": (0.2, 0, 0.3)}[NAME]
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
