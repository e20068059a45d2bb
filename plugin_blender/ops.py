# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators: doormen. Each polls, reads, calls the pipeline, writes and reports.

From a script, or without a window, they run to the end. From a button they run in slices between
the events of the window; Esc stops them and leaves the file as it was."""

import math
import time

import bpy
from bpy.props import (EnumProperty, FloatProperty, IntProperty, StringProperty)

from . import bl_read, bl_write, compat, convert, pipeline, props, takes
from .binding import skelpy

PLAYS = 1e-3                    # of a bone's length, and radians: keys that play as computed
TICK = 0.012                    # s of work between two looks at the window
REPORTS = {}                    # of the last bake, by the armature's name; gone with the session
RUNNING = []                    # the work that is being done in slices; at most one
FAILURES = (convert.Refused, skelpy.SkelError, MemoryError, OSError, ValueError, ReferenceError)


def armature(context):
    """The armature at hand: the active one, or the one that the active mesh is bound to."""
    ob = context.object
    if ob is not None and ob.type == "MESH":
        found = ob.find_armature()
        ob = found if found is not None else ob
    return ob if ob is not None and ob.type == "ARMATURE" else None


def key_frame(scene):
    """Where poses are to be keyed: the present frame, with auto-keying on; else None."""
    return scene.frame_current if scene.tool_settings.use_keyframe_insert_auto else None


def not_editing(cls, context):
    if context.mode == "EDIT_ARMATURE":
        cls.poll_message_set("Leave Edit Mode first")
    return context.mode != "EDIT_ARMATURE"


class OnArmature:
    @classmethod
    def poll(cls, context):
        if armature(context) is None:
            cls.poll_message_set("Select an armature first")
            return False
        return not_editing(cls, context)


def words_of(error):
    """What an error says to people: files by their names."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, UnicodeDecodeError):
        return "The file is not text in UTF-8"
    if isinstance(error, ReferenceError):
        return "What it worked on is gone. Nothing was written"
    return str(error) or type(error).__name__


def again(name):
    """The armature that the work began with."""
    ob = bpy.data.objects.get(name)
    if ob is None:
        raise convert.Refused(f"'{name}' is gone, or has another name now. Nothing was written")
    return ob


class Short:
    """Operators that are done at once: run(context) returns what to say."""

    def execute(self, context):
        try:
            words = self.run(context)
        except (*FAILURES, SyntaxError) as error:
            self.report({"ERROR"}, words_of(error))
            return {"CANCELLED"}
        self.report({"INFO"}, words)
        return {"FINISHED"}


class _Slices:
    """Work that is done between the events of a window."""

    def __init__(self, context, job):
        self.job, self.area, self.manager = job, context.area, context.window_manager
        self.timer = self.manager.event_timer_add(0.01, window=context.window)
        self.manager.progress_begin(0, 100)
        RUNNING.append(self)

    def show(self, fraction, words):
        self.manager.progress_update(int(100 * fraction))
        if self.area:
            self.area.header_text_set(f"Skel: {words}, {100 * fraction:.0f} %  (Esc stops)")

    def end(self):
        """Whatever has happened to the file or the window meanwhile."""
        if self not in RUNNING:
            return
        RUNNING.remove(self)
        self.job.close()
        try:
            self.manager.event_timer_remove(self.timer)
            self.manager.progress_end()
            if self.area:
                self.area.header_text_set(None)
        except ReferenceError:
            pass                                # another file has been opened


class _Work(OnArmature):
    """What long operators share. work(context) is a generator that yields (fraction, words) and
    returns what to say at the end; `closing` is true where it may not be stopped any more."""

    _slices = None
    closing = False

    @classmethod
    def poll(cls, context):
        if RUNNING:
            cls.poll_message_set("Skel is at work. Press Esc to stop it")
            return False
        return super().poll(context)

    def _fail(self, error):
        self.report({"ERROR"}, words_of(error))
        return {"CANCELLED"}

    def execute(self, context):
        try:
            self.report({"INFO"}, pipeline.run(self.work(context)))
        except FAILURES as error:
            return self._fail(error)
        return {"FINISHED"}

    def invoke(self, context, _event):
        window = context.window
        if bpy.app.background or window is None or not compat.can_add_modal(window):
            return self.execute(context)
        self._slices = _Slices(context, self.work(context))
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        if event.type == "ESC" and not self.closing:
            self._slices.end()
            self.report({"WARNING"}, "Stopped. Nothing was changed")
            return {"CANCELLED"}
        if event.type != "TIMER":           # look around, but change nothing meanwhile
            looks = event.type in {"MOUSEMOVE", "MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE"}
            return {"PASS_THROUGH"} if looks else {"RUNNING_MODAL"}
        until = time.perf_counter() + TICK
        try:
            fraction, words = next(self._slices.job)
            while time.perf_counter() < until:
                fraction, words = next(self._slices.job)
        except StopIteration as stop:
            self._slices.end()
            self.report({"INFO"}, stop.value)
            return {"FINISHED"}
        except FAILURES as error:
            self._slices.end()
            return self._fail(error)
        except Exception:
            self._slices.end()
            raise
        self._slices.show(fraction, words)
        return {"RUNNING_MODAL"}

    def cancel(self, _context):
        if self._slices is not None:
            self._slices.end()


def look_again(ob, result):
    """Generator: the report says how far what plays is from what was computed. What to warn of, of
    what was read and of what plays, or nothing."""
    wanted = result.wanted
    poses, objects, places = yield from bl_read.look_again(
        ob, wanted.frames, [target.at for target in wanted.targets])
    each = pipeline.off_by(wanted, poses, objects)
    result.report["plays"] = max(each)[0]
    words = [*wanted.shot.warnings, *pipeline.gone_from(wanted, places)]
    for off, bone, frame in each:
        if off > PLAYS:         # the first: those below go along
            return [*words, f"'{bone}' does not play as computed, off by {off:.2g} of its length "
                    f"at frame {frame:g}: something acts on top of its keys (a constraint, driver "
                    "or strip)"]
    return words


class _Ranged:
    """Frames, as properties of the operator; what is not set comes from the armature's panel."""

    frame_start: IntProperty(name="Start", default=1, options={"SKIP_SAVE"},
                             description="First frame")
    frame_end: IntProperty(name="End", default=250, options={"SKIP_SAVE"},
                           description="Last frame")
    frame_step: IntProperty(name="Step", default=1, min=1, options={"SKIP_SAVE"},
                            description="Frames from key to key")

    def given(self, name, otherwise):
        """What the call says; else what the panel says, which the redo panel then shows."""
        if not self.properties.is_property_set(name):
            setattr(self, name, otherwise)
        return getattr(self, name)

    def frames(self, context, ob):
        first, last = bl_read.frame_range(context.scene, ob)
        return (self.given("frame_start", first), self.given("frame_end", last),
                self.given("frame_step", ob.skel.frame_step))


class SKEL_OT_bake_physics(_Work, _Ranged, bpy.types.Operator):
    """Simulate the armature and write the motion as keys. Esc stops it and changes nothing"""
    bl_idname = "skel.bake_physics"
    bl_label = "Bake Physics"
    bl_options = {"REGISTER", "UNDO"}

    target: EnumProperty(name="Write To", items=props.TARGETS, default="NEW",
                         options={"SKIP_SAVE"}, description="Where the keys go")

    def work(self, context):
        scene, ob = context.scene, armature(context)
        name, target = ob.name, self.given("target", ob.skel.target)
        with takes.source(ob) as source:
            shot = bl_read.read_shot(scene, ob, *self.frames(context, ob))
            yield from bl_read.sample(shot, ob, *convert.frames_needed(shot))
            bl_write.check(ob, source.target(target), convert.keyed(shot))
        result = yield from pipeline.bake(shot)
        self.closing = True
        ob = again(name)
        action = yield from takes.write(ob, result, target, f"{name} physics")
        muted = bl_write.mute_others(ob, result.channels) if ob.skel.mute_constraints else ""
        seen = yield from look_again(ob, result)
        bl_write.refresh(scene)
        REPORTS[name] = result.report
        result.report["warnings"] += seen
        for warning in [*result.report["loud"], *seen]:
            self.report({"WARNING"}, warning)
        words = f"{len(result.bones)} bones, frames {result.frames[0]} to {result.frames[1]}: " \
                f"'{action.name}'"
        return words + muted


class SKEL_OT_inverse_dynamics(_Work, _Ranged, bpy.types.Operator):
    """Find the joint torques of the animation: curves of the bones' custom properties
    skel_torque and skel_power, and a table in a file if you name one"""
    bl_idname = "skel.inverse_dynamics"
    bl_label = "Find Torques"
    bl_options = {"REGISTER", "UNDO"}

    cutoff: FloatProperty(name="Smooth Above", default=0.0, min=0.0, options={"SKIP_SAVE"},
                          description="Hz: motion faster than this is noise. 0: none is taken out")
    filepath: StringProperty(name="Table", subtype="FILE_PATH", options={"SKIP_SAVE"},
                             description="CSV file to write the torques to. Empty: none")

    def work(self, context):
        scene, ob = context.scene, armature(context)
        first, last, step = self.frames(context, ob)
        shot = pipeline.for_inverse(bl_read.read_shot(scene, ob, first, last, step))
        bl_write.check(ob, "CURRENT", ())
        name, cutoff = ob.name, self.given("cutoff", ob.skel.cutoff)
        yield from bl_read.sample(shot, ob, range(first, last + 1))
        result = yield from pipeline.inverse(shot, cutoff)
        if self.filepath:
            pipeline.save(bpy.path.abspath(self.filepath), "\n".join(result.report["table"]) + "\n")
        self.closing = True
        ob = again(name)
        bl_write.ensure_properties(ob, result.channels)
        yield from bl_write.write(ob, result.channels, "CURRENT", f"{name} torques")
        for warning in [*shot.warnings, *result.report["warnings"]]:
            self.report({"WARNING"}, warning)
        summary = result.report["summary"]
        words = f"Torques of {len(result.bones)} joints"
        if summary["suggested_cutoff"] > 0:
            words += f"; they are noisy, try smoothing above {summary['suggested_cutoff']:.1f} Hz"
        return words


class SKEL_OT_export_scene(_Work, _Ranged, bpy.types.Operator):
    """Save what Bake Physics would simulate as a skel-scene/1 document. The command `skel bake`
    makes the same motion of it, to the last digit"""
    bl_idname = "skel.export_scene"
    bl_label = "Export Scene"
    bl_options = {"REGISTER"}

    filepath: StringProperty(name="File", subtype="FILE_PATH", description="File to write")
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def invoke(self, context, _event):
        if not self.filepath:
            self.filepath = bpy.path.clean_name(armature(context).name) + ".json"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def work(self, context):
        if not self.filepath:
            raise convert.Refused("Name a file to write")
        ob = armature(context)
        with takes.source(ob) as source:
            shot = bl_read.read_shot(context.scene, ob, *self.frames(context, ob))
            shot.warnings += source.warnings
            yield from bl_read.sample(shot, ob, *convert.frames_needed(shot))
        _built, text = yield from pipeline.prepare(shot)
        path = bpy.path.ensure_ext(bpy.path.abspath(self.filepath), ".json")
        pipeline.save(path, text)
        for warning in shot.warnings:
            self.report({"WARNING"}, warning)
        return f"Wrote {path}"


class SKEL_OT_save_report(Short, bpy.types.Operator):
    """Save the report of the last bake: energies, momenta, work and joint errors of every frame, as
    a table (.csv) or a document (.json)"""
    bl_idname = "skel.save_report"
    bl_label = "Save Report"
    bl_options = {"REGISTER"}

    filepath: StringProperty(name="File", subtype="FILE_PATH",
                             description="File to write, .csv or .json")
    filter_glob: StringProperty(default="*.csv;*.json", options={"HIDDEN"})

    @classmethod
    def poll(cls, context):
        ob = armature(context)
        if ob is None or ob.name not in REPORTS:
            cls.poll_message_set("Bake the armature first")
            return False
        return True

    def invoke(self, context, _event):
        if not self.filepath:
            self.filepath = bpy.path.clean_name(armature(context).name) + " report.csv"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context):
        path = bpy.path.abspath(self.filepath)
        if not path.lower().endswith((".csv", ".json")):
            raise convert.Refused(f"'{path}' must end in .csv or .json")
        form = pipeline.report_json if path.lower().endswith(".json") else pipeline.report_csv
        pipeline.save(path, form(REPORTS[armature(context).name]))
        return f"Wrote {path}"


class SKEL_OT_import_track(_Work, bpy.types.Operator):
    """Write a skel-track/1, made by `skel bake` from this armature's exported scene, as keys"""
    bl_idname = "skel.import_track"
    bl_label = "Import Track"
    bl_options = {"REGISTER", "UNDO"}

    filepath: StringProperty(name="File", subtype="FILE_PATH", description="Track to read")
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})
    target: EnumProperty(name="Write To", items=props.TARGETS, default="NEW",
                         description="Where the keys go")

    def invoke(self, context, _event):
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def work(self, context):
        scene, ob = context.scene, armature(context)
        with open(bpy.path.abspath(self.filepath), encoding="utf-8") as file:
            text = file.read()
        name, frames = ob.name, pipeline.track_frames(text, bl_read.fps(scene))
        first, last = int(frames[0]), math.ceil(frames[-1])
        with takes.source(ob) as source:
            shot = bl_read.read_shot(scene, ob, first, max(last, first + 1))
            moves = len(convert.frames_needed(shot)[0]) > 1
            yield from bl_read.sample(shot, ob, frames if moves else frames[:1])
            bl_write.check(ob, source.target(self.target), convert.keyed(shot))
        result = yield from pipeline.track(shot, text, frames)
        self.closing = True
        ob = again(name)
        action = yield from takes.write(ob, result, self.target, f"{name} track")
        muted = bl_write.mute_others(ob, result.channels) if ob.skel.mute_constraints else ""
        for warning in (yield from look_again(ob, result)):
            self.report({"WARNING"}, warning)
        bl_write.refresh(scene)
        return f"Frames {result.frames[0]:g} to {result.frames[1]:g}: '{action.name}'{muted}"


class SKEL_OT_set_role(bpy.types.Operator):
    """Say what the selected bones do in the simulation"""
    bl_idname = "skel.set_role"
    bl_label = "Skel: Part of Selected Bones"
    bl_options = {"REGISTER", "UNDO"}

    role: EnumProperty(name="Part", items=props.ROLES, default="AUTO",
                       description="What the bones do")

    @classmethod
    def poll(cls, context):
        return bool(context.selected_pose_bones)

    def execute(self, context):
        for bone in context.selected_pose_bones:
            bone.skel.role = self.role
        return {"FINISHED"}


class SKEL_OT_copy_settings(bpy.types.Operator):
    """Give the selected bones the physics settings of the active bone"""
    bl_idname = "skel.copy_settings"
    bl_label = "Copy to Selected Bones"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return bool(context.active_pose_bone and context.selected_pose_bones)

    def execute(self, context):
        source = context.active_pose_bone.skel
        for bone in context.selected_pose_bones:
            for name in convert.BoneSettings.__dataclass_fields__:
                if bone != context.active_pose_bone:
                    setattr(bone.skel, name, getattr(source, name))
        return {"FINISHED"}


class SKEL_OT_key_follow(Short, bpy.types.Operator):
    """Key Follow of the selected bones in this frame, each with its own value. Blender cannot key
    settings of bones from a panel"""
    bl_idname = "skel.key_follow"
    bl_label = "Key Follow"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context):
        return bool(context.selected_pose_bones)

    def run(self, context):
        frame, bones = context.scene.frame_current, context.selected_pose_bones
        for bone in bones:
            bl_write.key_setting(bone.id_data, bone, "follow", frame)
        return f"Follow of {len(bones)} bones keyed at frame {frame}"


CLASSES = (SKEL_OT_bake_physics, SKEL_OT_inverse_dynamics, SKEL_OT_export_scene,
           SKEL_OT_save_report, SKEL_OT_import_track, SKEL_OT_set_role, SKEL_OT_copy_settings,
           SKEL_OT_key_follow)
register, _unregister = bpy.utils.register_classes_factory(CLASSES)


def unregister():
    for slices in list(RUNNING):
        slices.end()
    REPORTS.clear()
    _unregister()
