# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar tab "Skel", the preferences page and the menu of pose mode. They only draw."""

import math
from typing import Any, Iterator, Sequence, Tuple

import bpy

from ..blender import draw, preview, takes
from ..blender.rna import Armature, Context, Layout, Scene
from ..core.binding import skelpy
from ..core.joints import CHOICES
from ..core.report import BakeReport
from .automatic import draw_automatic
from .jobs import armature, find_armature
from .operators import REPORTS
from .texts import draw_result, draw_rows, draw_text


class SkelPanel:
    bl_space_type, bl_region_type, bl_category = "VIEW_3D", "UI", "Skel"
    layout: Layout

    @classmethod
    def poll(cls, context: Context) -> bool:
        return armature(context) is not None

    def columns(self) -> Layout:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        return layout


def whole_row(layout: Layout, owner: Any, name: str) -> None:
    """A check box whose label is too long for the right column."""
    row = layout.row()
    row.use_property_split = False
    row.prop(owner, name)


def draw_range(layout: Layout, ob: Armature, scene: Scene) -> None:
    """The frame range: that of the scene, unless the armature has its own."""
    whole_row(layout, ob.skel, "use_range")
    column = layout.column(align=True)
    owner = ob.skel if ob.skel.use_range else scene
    column.enabled = ob.skel.use_range
    column.prop(owner, "frame_start", text="Start")
    column.prop(owner, "frame_end", text="End")


def draw_source(layout: Layout, context: Context, ob: Armature) -> None:
    """If a take plays, the animation that the next bake starts from."""
    name = takes.source_name(ob)
    if name is not None:
        draw_text(layout, context, f"Source: {name or 'the pose'}", "ACTION")


class SKEL_PT_none(SkelPanel, bpy.types.Panel):
    bl_label, bl_idname = "Skel", "SKEL_PT_none"
    bl_options = {"HIDE_HEADER"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return armature(context) is None

    def draw(self, _context: Context) -> None:
        self.layout.label(text="Select an armature", icon="ARMATURE_DATA")


class SKEL_PT_physics(SkelPanel, bpy.types.Panel):
    bl_label, bl_idname = "Physics", "SKEL_PT_physics"

    def draw_header(self, context: Context) -> None:
        draw.tab_is_drawn(context)

    def draw(self, context: Context) -> None:
        layout, ob = self.columns(), find_armature(context)
        s = ob.skel
        layout.prop(s, "preset")
        whole_row(layout, s, "only_selected")
        whole_row(layout, s, "start_velocity")
        layout.prop(s, "target")
        draw_source(layout, context, ob)
        draw_range(layout, ob, context.scene)
        whole_row(layout, context.window_manager, draw.SWITCH)
        found = preview.get(ob, context.scene)
        if found is not None and found.error:
            draw_text(layout, context, found.error, "ERROR")
        row = layout.row()
        row.scale_y = 1.6
        row.operator_context = "INVOKE_DEFAULT"
        row.operator("skel.bake_physics", icon="PHYSICS")


class _Child(SkelPanel):
    bl_parent_id = "SKEL_PT_physics"
    bl_options = {"DEFAULT_CLOSED"}


class SKEL_PT_ground(_Child, bpy.types.Panel):
    bl_label = "Ground and Obstacles"
    bl_options = set()

    def draw(self, context: Context) -> None:
        layout, s = self.columns(), find_armature(context).skel
        layout.prop(s, "ground")
        column = layout.column(align=True)
        column.enabled = s.ground
        column.prop(s, "ground_height", text="Height")
        column.prop(s, "bounce")
        layout.prop(s, "obstacles")
        layout.prop(s, "ground_friction")


class SKEL_PT_masses(_Child, bpy.types.Panel):
    bl_label = "Masses"

    def draw(self, context: Context) -> None:
        layout, s = self.columns(), find_armature(context).skel
        layout.prop(s, "mass_from")
        draw_automatic(layout, s, "total_mass")
        column = layout.column()
        column.enabled = s.total_mass == 0
        column.prop(s, "density")
        layout.prop(s, "join_pieces")
        layout.prop(s, "character_scale")
        layout.operator("skel.fit_scale")


class SKEL_PT_motion(_Child, bpy.types.Panel):
    bl_label = "Dynamics"

    def draw(self, context: Context) -> None:
        layout, s = self.columns(), find_armature(context).skel
        draw_automatic(layout, s, "follow", "damping")
        layout.prop(s, "friction", text="Friction")
        layout.prop(s, "preroll")
        layout.prop(s, "integrator")
        draw_automatic(layout, s, "step")


class SKEL_PT_output(_Child, bpy.types.Panel):
    bl_label = "Output"

    def draw(self, context: Context) -> None:
        layout, s = self.columns(), find_armature(context).skel
        layout.prop(s, "write_to")
        whole_row(layout, s, "exact_controls" if s.write_to == "CONTROLS" else "mute_constraints")
        layout.prop(s, "channels")
        layout.prop(s, "frame_step")
        column = layout.column(align=True)
        column.active = s.write_to != "CONTROLS"
        column.prop(s, "key_tolerance")
        column.prop(s, "key_angle_tolerance")


class SKEL_PT_bone(_Child, bpy.types.Panel):
    bl_label, bl_idname = "Active Bone", "SKEL_PT_bone"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.active_pose_bone is not None

    def draw(self, context: Context) -> None:
        layout, bone = self.columns(), context.active_pose_bone
        s = bone.skel
        layout.label(text=bone.name, icon="BONE_DATA")
        layout.prop(s, "role")
        column = layout.column()
        column.enabled = s.role != "NONE"
        draw_automatic(column, s, "mass")
        self.draw_shape(column, s)
        if s.role == "SOFT":
            column.prop(s, "softness")
        else:
            self.draw_joint(column, s)
        layout.operator("skel.copy_settings", icon="COPYDOWN")

    @staticmethod
    def draw_shape(column: Layout, s: Any) -> None:
        column.prop(s, "shape")
        row = column.row(align=True)
        if s.shape == "AUTO":
            draw_automatic(column, s, "radius")
            row.operator("skel.edit_shape")
            return
        for name in ("shape_size", "shape_offset", "shape_rotation"):
            column.prop(s, name)
        row.operator("skel.reset_to_fit")

    @staticmethod
    def draw_joint(column: Layout, s: Any) -> None:
        choice = CHOICES[s.joint]
        column.prop(s, "joint")
        for name in choice.settings:
            column.prop(s, name)
        if choice.limits:
            column.prop(s, "limits")
        if choice.limits and s.limits == "CUSTOM":
            for name in choice.limits:
                column.prop(s, name)
        column.prop(s, "friction")
        row = column.row(align=True)
        draw_automatic(row, s, "follow")
        row.operator("skel.key_follow", text="", icon="KEYFRAME")
        whole_row(column, s, "collide")


# ---- the report ----

class SKEL_PT_report(_Child, bpy.types.Panel):
    bl_label, bl_idname = "Bake Report", "SKEL_PT_report"
    bl_options = set()

    @classmethod
    def poll(cls, context: Context) -> bool:
        return REPORTS.get(armature(context)) is not None

    def draw(self, context: Context) -> None:
        draw_result(self.layout, context, REPORTS.get(armature(context)))
        self.layout.operator_context = "INVOKE_DEFAULT"
        self.layout.operator("skel.save_report", icon="EXPORT")


class SKEL_PT_report_details(SkelPanel, bpy.types.Panel):
    bl_label, bl_parent_id = "Details", "SKEL_PT_report"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: Context) -> None:
        rows = rows_of(REPORTS.get(armature(context)))
        draw_rows(self.layout, context, ((label, value, "NONE") for label, value in rows))


def rows_of(report: BakeReport) -> Iterator[Tuple[str, str]]:
    """The details of a report as pairs of text."""
    s, first, last = report.summary, report.rows[0], report.rows[-1]

    def size(vector: Sequence[float]) -> float:
        return sum(x * x for x in vector) ** 0.5

    def change(name: str, unit: str) -> str:
        return f"{first[name]:.4g} to {last[name]:.4g} {unit}"

    def change_of_size(name: str, unit: str) -> str:
        return f"{size(first[name]):.2g} to {size(last[name]):.2g} {unit}"

    yield "Frames", f"{report.frames[0]} to {report.frames[1]}"
    yield "Kinetic energy", change("kinetic", "J")
    yield "Potential energy", change("potential", "J")
    yield "Friction loss", f"{-last['work_friction']:.4g} J"
    yield "Contact loss", f"{-last['work_contact']:.4g} J"
    yield "Energy error", f"{s['energy_drift']:.1e}, relative"
    yield "Momentum", change_of_size("momentum", "kg m/s")
    yield "Angular momentum", change_of_size("angular_momentum", "kg m²/s")
    yield "Largest joint gap", f"{1000 * s['joint_gap']:.2g} mm"
    if report.key_count:
        yield f"{report.key_count} keys", report.key_tolerance
    if report.playback_error is not None:
        yield "Largest key error", f"{report.playback_error:.1e} of length"
    if report.receipt is not None:
        receipt = report.receipt
        yield "Control bones", f"{receipt.controls}, {receipt.switches} switches"
        yield "Largest angle error", f"{math.degrees(receipt.angle[0]):.2g}°"
        yield "Largest twist error", f"{math.degrees(receipt.twist[0]):.2g}°"
    yield "Peak ground force", f"{s['peak_ground_force']:.4g} N"
    if s["rest_time"] >= 0:
        before = sum(row["time"] < s["rest_time"] for row in report.rows)
        yield "At rest from", f"frame {report.frames[0] + before}"
    yield "Solver", s["integrator"]
    yield "Steps", f"{s['steps']:.0f}, in {s['wall_seconds']:.2f} s"


class SKEL_PT_analysis(_Child, bpy.types.Panel):
    bl_label, bl_idname = "Analysis and Export", "SKEL_PT_analysis"

    def draw(self, context: Context) -> None:
        layout = self.columns()
        layout.prop(find_armature(context).skel, "cutoff", text="Cutoff")
        layout.operator("skel.inverse_dynamics", icon="FCURVE")
        layout.separator()
        layout.operator("skel.export_scene", icon="EXPORT")
        layout.operator("skel.import_track", icon="IMPORT")


class SkelPreferences(bpy.types.AddonPreferences):
    bl_idname = (__package__ or "").rpartition(".")[0]      # of the add-on, not of this folder

    def draw(self, _context: Context) -> None:
        column = self.layout.column()
        try:
            column.label(text=f"libskel {skelpy.version()}", icon="CHECKMARK")
        except (OSError, RuntimeError) as error:
            column.label(text=f"The library cannot be loaded: {error}", icon="ERROR")
        column.label(text="Open the sidebar of the 3D view (N), choose the tab Skel, select an "
                     "armature and press Bake Physics")


def draw_menu(self: Any, context: Context) -> None:
    if armature(context) is None:
        return
    layout = self.layout
    layout.separator()
    layout.operator_context = "INVOKE_DEFAULT"
    layout.operator("skel.bake_physics", icon="PHYSICS")
    layout.operator_menu_enum("skel.set_role", "role", text="Physics Role")


CLASSES = (SKEL_PT_none, SKEL_PT_physics, SKEL_PT_ground, SKEL_PT_masses, SKEL_PT_motion,
           SKEL_PT_output, SKEL_PT_bone, SKEL_PT_report, SKEL_PT_report_details,
           SKEL_PT_analysis, SkelPreferences)
_register, _unregister = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    _register()
    bpy.types.VIEW3D_MT_pose_context_menu.append(draw_menu)


def unregister() -> None:
    bpy.types.VIEW3D_MT_pose_context_menu.remove(draw_menu)
    _unregister()
