# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel of inverse kinematics in the tab "Skel". It only draws."""

from typing import Any, Iterator, Tuple

import bpy

from ..blender.rna import Armature, Context, Layout
from ..core.ik_solve import JUMPS_NAMED, IkReport
from . import properties
from .jobs import armature, find_armature
from .operators_ik import REPORTS
from .panels import SkelPanel, draw_range, draw_source, whole_row
from .texts import draw_rows

LIMITS_SHOWN = 8
Row = Tuple[str, str, str]                      # label, value, icon


class SKEL_UL_goals(bpy.types.UIList):
    def draw_item(self, _context: Context, layout: Layout, _data: Any, item: Any, _icon: int,
                  _active: Any, _property: str, _index: int = 0) -> None:
        layout.use_property_split = False
        row = layout.row(align=True)
        row.prop(item, "use", text="")
        row.prop(item, "name", text="", emboss=False)
        kind = next(label for kind, label, _words in properties.GOALS if kind == item.kind)
        row.label(text=f"{kind}: {item.target.name}" if item.target else "no target",
                  icon="NONE" if item.target else "ERROR")


class SKEL_PT_ik(SkelPanel, bpy.types.Panel):
    bl_label, bl_idname = "Inverse Kinematics", "SKEL_PT_ik"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        layout, ob = self.columns(), find_armature(context)
        s = ob.skel_ik
        layout.label(text="IK Goals")
        row = layout.row()
        row.template_list("SKEL_UL_goals", "", s, "goals", s, "active", rows=3)
        column = row.column(align=True)
        column.operator("skel.add_goal", text="", icon="ADD")
        column.operator("skel.remove_goal", text="", icon="REMOVE")
        column.operator("skel.goals_from_constraints", text="", icon="CON_KINEMATIC")
        row = layout.row(align=True)
        row.operator("skel.pin_bone", icon="PINNED")
        row.operator_context = "INVOKE_DEFAULT"
        row.operator("skel.plant_feet", icon="CON_FLOOR")
        if 0 <= s.active < len(s.goals):
            draw_goal(layout.column(), ob, s.goals[s.active])
        else:
            layout.label(text="In Pose Mode, select a bone and press +", icon="INFO")
        layout.separator()
        layout.prop(s, "root")
        layout.prop(s, "target")
        draw_source(layout, context, ob)
        draw_range(layout, ob, context.scene)
        row = layout.row(align=True)
        row.scale_y = 1.6
        row.operator_context = "INVOKE_DEFAULT"
        row.operator("skel.solve_ik", text="Pose This Frame", icon="CON_KINEMATIC")
        row.operator("skel.bake_ik", text="Bake Frames", icon="REC")


def draw_goal(column: Layout, ob: Armature, goal: Any) -> None:
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
        whole_row(column, goal, "level")
    column.prop(goal, "chain", text="Chain Length" if goal.chain else "Whole Chain")
    column.prop(goal, "weight")
    column.prop(goal, "priority")


class SKEL_PT_ik_settings(SkelPanel, bpy.types.Panel):
    bl_label, bl_parent_id = "Settings", "SKEL_PT_ik"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        layout, s = self.columns(), find_armature(context).skel_ik
        layout.prop(s, "smooth")
        row = layout.row()
        row.enabled = s.smooth
        row.prop(s, "hold_start")
        whole_row(layout, s, "posture")
        layout.prop(s, "tolerance")


class SKEL_PT_ik_receipt(SkelPanel, bpy.types.Panel):
    bl_label, bl_parent_id = "Result", "SKEL_PT_ik"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return REPORTS.get(armature(context)) is not None

    def draw(self, context: Context) -> None:
        draw_rows(self.layout, context, rows_of(REPORTS.get(armature(context))))


def rows_of(report: IkReport) -> Iterator[Row]:
    """The result, row by row."""
    frames = report.frame_count
    if report.missed:
        yield "Not reached", f"{len(report.missed)} of {frames} frames", "ERROR"
        yield "First of them", f"frame {report.missed[0]}", "NONE"
        yield "Worst", f"frame {report.worst_frame}, '{report.worst_goal}'", "NONE"
        yield "Error", f"{report.distance:.3g} m, {report.angle:.3g} rad", "NONE"
    else:
        yield "Reached", "all frames" if frames > 1 else "all goals", "CHECKMARK"
        yield "Largest error", f"{report.worst:.1e} m or rad", "NONE"
    for name, count in sorted(report.limits.items(), key=lambda item: -item[1])[:LIMITS_SHOWN]:
        yield "At its limit", f"{name}, {count} frames" if frames > 1 else name, "NONE"
    yield from _jump_rows(report)
    if report.key_count:
        yield f"{report.key_count} keys", report.key_tolerance, "NONE"
    if report.playback_error is not None:
        yield "Largest key error", f"{report.playback_error:.1e} of length", "NONE"
    yield "Bones", str(report.bone_count), "NONE"
    yield "Time per frame", f"{report.microseconds:.0f} µs", "NONE"


def _jump_rows(report: IkReport) -> Iterator[Row]:
    """Jumps, and a first frame that was moved to avoid them; a column has room for 18 letters."""
    for jump in report.jumps[:JUMPS_NAMED]:
        yield "Jumps", f"frame {jump.frame}", "ERROR"
        yield "", f"{jump.bone}, {jump.words}", "NONE"
    if len(report.jumps) > JUMPS_NAMED:
        yield "", f"and {len(report.jumps) - JUMPS_NAMED} more", "NONE"
    moved = report.moved
    if moved:
        yield f"Frame {moved.frame} moved", f"{moved.bone}, {moved.words}", "NONE"
        yield "", "Hold Start keeps it", "NONE"


CLASSES = (SKEL_UL_goals, SKEL_PT_ik, SKEL_PT_ik_settings, SKEL_PT_ik_receipt)
register, unregister = bpy.utils.register_classes_factory(CLASSES)
