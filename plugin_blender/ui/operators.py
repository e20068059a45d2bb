# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators of physics."""

import math

import bpy
from bpy.props import EnumProperty, FloatProperty, StringProperty

from ..blender import read, take_edit, takes, write
from ..blender.rna import Context, Event
from ..core.bake import bake, prepare
from ..core.errors import UserError
from ..core.files import save
from ..core.key_reduction import key_count
from ..core.plan import make_plan
from ..core.roles import frames_needed, plan_roles
from ..core.shot import BoneSettings
from ..core.torques import find_torques, free_shot
from ..core.track import import_track, track_frames
from ..core.work import Work
from . import properties
from .jobs import (RUNNING, FrameRange, LongOperator, Reports, ShortOperator, Status, armature,
                   checked, find_again, find_armature)
from .results import Writer

REPORTS = Reports("skel")


class SKEL_OT_bake_physics(LongOperator, FrameRange, bpy.types.Operator):
    """Simulate the armature and write the motion as keys. Esc cancels and changes nothing"""
    bl_idname = "skel.bake_physics"
    bl_label = "Bake Physics"
    bl_options = {"REGISTER", "UNDO"}

    target: EnumProperty(name="Write To", items=takes.TARGETS, default="NEW",
                         options={"SKIP_SAVE"}, description="Where the keys go")

    def work(self, context: Context) -> Work[str]:
        scene, ob = context.scene, find_armature(context)
        name, target = ob.name, self.given("target", ob.skel.target)
        with takes.source(ob) as source:
            reader = read.ShotReader(scene, ob, *self.frames(context, ob))
            roles = plan_roles(reader.shot)
            shot = yield from reader.sample(reader.shot, *frames_needed(reader.shot, roles))
            plan = make_plan(shot, roles)
            writer = Writer(ob, plan, source.target(target))

        baked = yield from bake(plan)
        result = yield from writer.pose(find_again(name), baked)
        self.closing = True
        ob = find_again(name)
        done = yield from writer.write(ob, result, target, f"{name} physics",
                                       self.made(scene, ob, "physics"))
        write.refresh(scene)

        report = checked(baked.report, done.error, done.warnings, receipt=done.receipt,
                         key_count=key_count(result.channels))
        REPORTS.put(ob, report)
        for problem in report.problems:
            self.report({"WARNING"}, problem.text)
        first, last = result.frames
        return (f"{len(baked.bones)} bones, frames {first} to {last}: '{done.action.name}'"
                f"{done.words}")


class SKEL_OT_inverse_dynamics(LongOperator, FrameRange, bpy.types.Operator):
    """Compute the joint torques of the animation: curves of the bones' custom properties
    skel_torque and skel_power, and a table if you name a file"""
    bl_idname = "skel.inverse_dynamics"
    bl_label = "Find Torques"
    bl_options = {"REGISTER", "UNDO"}

    cutoff: FloatProperty(name="Low-Pass Cutoff", default=0.0, min=0.0, options={"SKIP_SAVE"},
                          description="Frequency in Hz above which motion is removed as noise. "
                          "0: no filter")
    filepath: StringProperty(name="Table", subtype="FILE_PATH", options={"SKIP_SAVE"},
                             description="CSV file to write the torques to. Empty: no file")

    def work(self, context: Context) -> Work[str]:
        scene, ob = context.scene, find_armature(context)
        first, last, step = self.frames(context, ob)
        reader = read.ShotReader(scene, ob, first, last, step)
        free = free_shot(reader.shot)
        roles = plan_roles(free)
        write.check(ob, "CURRENT", ())
        name, cutoff = ob.name, self.given("cutoff", ob.skel.cutoff)
        shot = yield from reader.sample(free, range(first, last + 1))

        result = yield from find_torques(make_plan(shot, roles), cutoff)
        if self.filepath:
            save(bpy.path.abspath(self.filepath), "\n".join(result.table) + "\n")
        self.closing = True
        ob = find_again(name)
        write.ensure_properties(ob, result.channels)
        yield from write.write_channels(ob, result.channels, "CURRENT", f"{name} torques")
        for warning in (*shot.warnings, *result.warnings):
            self.report({"WARNING"}, warning)

        message = f"Torques of {len(result.bones)} joints"
        suggested = result.summary["suggested_cutoff"]
        if suggested > 0:
            message += f"; they are noisy, try a Low-Pass Cutoff of {suggested:.1f} Hz"
        return message


class SKEL_OT_export_scene(LongOperator, FrameRange, bpy.types.Operator):
    """Save the scene that Bake Physics would simulate as a skel-scene/1 document. The command
    `skel bake` computes the same motion from it, bit for bit"""
    bl_idname = "skel.export_scene"
    bl_label = "Export Scene"
    bl_options = {"REGISTER"}

    filepath: StringProperty(name="File", subtype="FILE_PATH", description="File to write")
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def invoke(self, context: Context, _event: Event) -> Status:
        if not self.filepath:
            self.filepath = bpy.path.clean_name(find_armature(context).name) + ".json"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def work(self, context: Context) -> Work[str]:
        if not self.filepath:
            raise UserError("Name a file to write")
        ob = find_armature(context)
        with takes.source(ob) as source:
            reader = read.ShotReader(context.scene, ob, *self.frames(context, ob))
            roles = plan_roles(reader.shot)
            shot = yield from reader.sample(reader.shot, *frames_needed(reader.shot, roles))
        build, _scene = yield from prepare(make_plan(shot, roles))

        pieces = []
        for piece in build.document().json_pieces():
            pieces.append(piece)
            yield 0.5, "writing the scene"
        path = bpy.path.ensure_ext(bpy.path.abspath(self.filepath), ".json")
        save(path, "".join(pieces))
        for warning in (*shot.warnings, *source.warnings):
            self.report({"WARNING"}, warning)
        return f"Wrote {path}"


class SKEL_OT_save_report(ShortOperator, bpy.types.Operator):
    """Save the report of the last bake: energies, momenta, work and joint errors of every frame, as
    a table (.csv) or a document (.json)"""
    bl_idname = "skel.save_report"
    bl_label = "Save Report"
    bl_options = {"REGISTER"}

    filepath: StringProperty(name="File", subtype="FILE_PATH",
                             description="File to write, .csv or .json")
    filter_glob: StringProperty(default="*.csv;*.json", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: Context) -> bool:
        if REPORTS.get(armature(context)) is None:
            cls.poll_message_set("Bake the armature first")
            return False
        return True

    def invoke(self, context: Context, _event: Event) -> Status:
        if not self.filepath:
            self.filepath = bpy.path.clean_name(find_armature(context).name) + " report.csv"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context: Context) -> str:
        path, report = bpy.path.abspath(self.filepath), REPORTS.get(find_armature(context))
        if not path.lower().endswith((".csv", ".json")):
            raise UserError(f"'{path}' must end in .csv or .json")
        save(path, report.json() if path.lower().endswith(".json") else report.csv())
        return f"Wrote {path}"


class SKEL_OT_import_track(LongOperator, bpy.types.Operator):
    """Write a skel-track/1, made by `skel bake` from this armature's exported scene, as keys"""
    bl_idname = "skel.import_track"
    bl_label = "Import Track"
    bl_options = {"REGISTER", "UNDO"}

    filepath: StringProperty(name="File", subtype="FILE_PATH", description="Track to read")
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})
    target: EnumProperty(name="Write To", items=takes.TARGETS, default="NEW",
                         description="Where the keys go")

    def invoke(self, context: Context, _event: Event) -> Status:
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def work(self, context: Context) -> Work[str]:
        scene, ob = context.scene, find_armature(context)
        with open(bpy.path.abspath(self.filepath), encoding="utf-8") as file:
            text = file.read()
        name, frames = ob.name, track_frames(text, read.fps(scene))
        first, last = int(frames[0]), math.ceil(frames[-1])
        with takes.source(ob) as source:
            reader = read.ShotReader(scene, ob, first, max(last, first + 1))
            roles = plan_roles(reader.shot)
            moves = len(frames_needed(reader.shot, roles)[0]) > 1
            shot = yield from reader.sample(reader.shot, frames if moves else frames[:1])
            plan = make_plan(shot, roles)
            writer = Writer(ob, plan, source.target(self.target))

        track = yield from import_track(plan, text, frames)
        result = yield from writer.pose(find_again(name), track)
        self.closing = True
        ob = find_again(name)
        made = take_edit.made_of(scene, ob, "track", target=self.target, filepath=self.filepath)
        done = yield from writer.write(ob, result, self.target, f"{name} track", made)
        for warning in done.warnings:
            self.report({"WARNING"}, warning)
        write.refresh(scene)
        first, last = result.frames
        return f"Frames {first:g} to {last:g}: '{done.action.name}'{done.words}"


class SKEL_OT_set_role(bpy.types.Operator):
    """Set the physics role of the selected bones"""
    bl_idname = "skel.set_role"
    bl_label = "Skel: Physics Role of Selected Bones"
    bl_options = {"REGISTER", "UNDO"}

    role: EnumProperty(name="Physics Role", items=properties.ROLES, default="AUTO",
                       description="What the bones do in the simulation")

    @classmethod
    def poll(cls, context: Context) -> bool:
        return bool(context.selected_pose_bones)

    def execute(self, context: Context) -> Status:
        for bone in context.selected_pose_bones:
            bone.skel.role = self.role
        return {"FINISHED"}


class SKEL_OT_copy_settings(bpy.types.Operator):
    """Copy the physics settings of the active bone to the selected bones"""
    bl_idname = "skel.copy_settings"
    bl_label = "Copy to Selected Bones"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return bool(context.active_pose_bone and context.selected_pose_bones)

    def execute(self, context: Context) -> Status:
        source = context.active_pose_bone.skel
        for bone in context.selected_pose_bones:
            for name in BoneSettings.__dataclass_fields__:
                if bone != context.active_pose_bone:
                    setattr(bone.skel, name, getattr(source, name))
        return {"FINISHED"}


class SKEL_OT_key_follow(ShortOperator, bpy.types.Operator):
    """Insert keys of Follow for the selected bones at the current frame, each with its own value.
    Blender cannot key settings of bones from a panel"""
    bl_idname = "skel.key_follow"
    bl_label = "Key Follow"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Context) -> bool:
        return bool(context.selected_pose_bones)

    def run(self, context: Context) -> str:
        frame, bones = context.scene.frame_current, context.selected_pose_bones
        for bone in bones:
            write.key_setting(bone.id_data, bone, "follow", frame)
        return f"Follow of {len(bones)} bones keyed at frame {frame}"


CLASSES = (SKEL_OT_bake_physics, SKEL_OT_inverse_dynamics, SKEL_OT_export_scene,
           SKEL_OT_save_report, SKEL_OT_import_track, SKEL_OT_set_role, SKEL_OT_copy_settings,
           SKEL_OT_key_follow)
register, _unregister = bpy.utils.register_classes_factory(CLASSES)


def unregister() -> None:
    for slices in list(RUNNING):
        slices.end()
    REPORTS.clear()
    _unregister()
