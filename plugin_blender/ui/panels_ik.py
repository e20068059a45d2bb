# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel of inverse kinematics in the tab "Skel". It only draws."""

import bpy

from ..core import convert_ik
from . import operators, operators_ik, panels, properties


class SKEL_UL_goals(bpy.types.UIList):
    def draw_item(self, _context, layout, _data, item, _icon, _active, _property, _index=0):
        layout.use_property_split = False
        row = layout.row(align=True)
        row.prop(item, "use", text="")
        row.prop(item, "name", text="", emboss=False)
        wants = next(label for kind, label, _words in properties.GOALS if kind == item.kind)
        row.label(text=f"{wants}: {item.target.name}" if item.target else "no target",
                  icon="NONE" if item.target else "ERROR")


class SKEL_PT_ik(panels._Panel, bpy.types.Panel):
    bl_label, bl_idname = "Inverse Kinematics", "SKEL_PT_ik"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, ob = self.columns(), operators.armature(context)
        s = ob.skel_ik
        layout.label(text="Goals: what bones are to reach")
        row = layout.row()
        row.template_list("SKEL_UL_goals", "", s, "goals", s, "active", rows=3)
        column = row.column(align=True)
        column.operator("skel.add_goal", text="", icon="ADD")
        column.operator("skel.remove_goal", text="", icon="REMOVE")
        column.operator("skel.goals_from_constraints", text="", icon="CON_KINEMATIC")
        if 0 <= s.active < len(s.goals):
            draw_goal(layout.column(), ob, s.goals[s.active])
        else:
            layout.label(text="Pose Mode: select a bone, press +", icon="INFO")
        layout.separator()
        layout.prop(s, "root")
        layout.prop(s, "target")
        panels.draw_source(layout, ob)
        panels.draw_range(layout, ob, context.scene)
        row = layout.row(align=True)
        row.scale_y = 1.6
        row.operator_context = "INVOKE_DEFAULT"
        row.operator("skel.solve_ik", text="Pose This Frame", icon="CON_KINEMATIC")
        row.operator("skel.bake_ik", text="Bake Frames", icon="REC")


def draw_goal(column, ob, goal):
    column.prop(goal, "kind")
    column.prop_search(goal, "bone", ob.pose, "bones")
    column.prop(goal, "target")
    if goal.target and goal.target.type == "ARMATURE":
        column.prop_search(goal, "target_bone", goal.target.pose, "bones")
    if goal.kind == "REACH":
        column.prop(goal, "end")
        column.prop(goal, "use_position")
        column.prop(goal, "use_orientation")
        if goal.use_orientation:
            column.operator("skel.keep_angle", icon="DRIVER_ROTATIONAL_DIFFERENCE")
        column.prop(goal, "pole")
        if goal.pole and goal.pole.type == "ARMATURE":
            column.prop_search(goal, "pole_bone", goal.pole.pose, "bones")
    elif goal.kind == "LOOK":
        column.prop(goal, "axis")
    else:
        column.prop(goal, "level")
    column.prop(goal, "chain", text="Chain Length" if goal.chain else "Chain (to root)")
    column.prop(goal, "weight")
    column.prop(goal, "priority")


class SKEL_PT_ik_settings(panels._Panel, bpy.types.Panel):
    bl_label, bl_parent_id = "Settings", "SKEL_PT_ik"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, s = self.columns(), operators.armature(context).skel_ik
        layout.prop(s, "smooth")
        row = layout.row()
        row.enabled = s.smooth
        row.prop(s, "hold_start")
        layout.prop(s, "posture")
        layout.prop(s, "tolerance")


class SKEL_PT_ik_receipt(panels._Panel, bpy.types.Panel):
    bl_label, bl_parent_id = "Result", "SKEL_PT_ik"

    @classmethod
    def poll(cls, context):
        ob = operators.armature(context)
        return ob is not None and ob.name in operators_ik.REPORTS

    def draw(self, context):
        column = self.layout.column(align=True)
        for label, value, icon in rows_of(operators_ik.REPORTS[operators.armature(context).name]):
            row = column.split(factor=0.5)
            row.label(text=label, icon=icon)
            row.label(text=value)


def rows_of(report):
    """What the receipt says: label, value, icon."""
    missed = report["missed"]
    if missed:
        yield "Not reached", f"{len(missed)} of {report['frames']} frames", "ERROR"
        yield "First of them", f"frame {missed[0]}", "NONE"
        yield "Worst", f"frame {report['worst_frame']}, '{report['worst_goal']}'", "NONE"
        yield "Off by", f"{report['distance']:.3g} m, {report['angle']:.3g} rad", "NONE"
    else:
        frames = report["frames"]
        yield "Reached", "all frames" if frames > 1 else "all goals", "CHECKMARK"
        yield "Off by at most", f"{report['worst']:.1e} m or rad", "NONE"
    for name, count in sorted(report["limits"].items(), key=lambda item: -item[1])[:8]:
        yield "At its limit", f"{name}, {count} frames" if report["frames"] > 1 else name, "NONE"
    yield from _steps(report["jumps"], report["moved"])
    if "plays" in report:
        yield "Keys play within", f"{report['plays']:.1e} of length", "NONE"
    yield "Bones", str(report["bones"]), "NONE"
    yield "Time per frame", f"{report['us']:.0f} µs", "NONE"


def _steps(jumps, moved):
    """Jumps, and a first frame that was moved to avoid them; a column takes some 18 letters."""
    named = convert_ik.JUMPS_NAMED
    for jump in jumps[:named]:
        yield "Jumps", f"frame {jump['frame']}", "ERROR"
        yield "", f"{jump['bone']}, {convert_ik.size_of(jump)}", "NONE"
    if len(jumps) > named:
        yield "", f"and {len(jumps) - named} more", "NONE"
    if moved:
        size = convert_ik.size_of(moved)
        yield f"Frame {moved['frame']} moved", f"{moved['bone']}, {size}", "NONE"
        yield "", "Hold Start keeps it", "NONE"


CLASSES = (SKEL_UL_goals, SKEL_PT_ik, SKEL_PT_ik_settings, SKEL_PT_ik_receipt)
register, unregister = bpy.utils.register_classes_factory(CLASSES)
