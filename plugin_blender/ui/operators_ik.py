# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators of inverse kinematics: the goals of an armature (`object.skel_ik`).

Solve works on the current pose and is one undo step. Bake reads the targets frame by frame in a
temporary scene, as physics does, and runs in slices; Esc leaves the file as it was."""

from dataclasses import replace
from typing import Any

import bpy
from bpy.props import EnumProperty, StringProperty

from ..blender import mute, read_goals, stage, takes, write, write_goals
from ..blender.rna import Context, Event
from ..core.errors import UserError
from ..core.ik_shot import keyed_bones
from ..core.ik_solve import solve
from ..core.playback import warn_of_moved_targets
from ..core.work import Work
from . import properties
from .jobs import (FrameRange, LongOperator, OnArmature, Reports, Status, check_playback,
                   find_again, find_armature, is_local, key_frame)

REPORTS = Reports("skel_ik")


class SKEL_OT_solve_ik(LongOperator, bpy.types.Operator):
    """Pose the bones so that they reach all goals in the current frame. With auto-keying on, the
    pose is keyed"""
    bl_idname = "skel.solve_ik"
    bl_label = "Solve IK"
    bl_options = {"REGISTER", "UNDO"}

    def invoke(self, context: Context, _event: Event) -> Status:
        return self.execute(context)

    def work(self, context: Context) -> Work[str]:
        scene, ob = context.scene, find_armature(context)
        frame = scene.frame_current
        ik = read_goals.read_ik(scene, ob, frame, frame)
        ik = yield from read_goals.sample_ik(ik, ob, [frame], context.evaluated_depsgraph_get())
        write.check(ob, "", ())

        result = yield from solve(ik)
        key = key_frame(scene)
        muted = mute.mute_others(ob, result.channels, ik=True, keyed=key is not None, take=False)
        write.set_pose(ob, result.channels, key)
        context.view_layer.update()

        expected = result.expected
        places = stage.targets_now(ob, context.evaluated_depsgraph_get(),
                                   [each.at for each in expected.targets])
        for warning in warn_of_moved_targets(expected.targets, expected.frames, places):
            self.report({"WARNING"}, warning)
        REPORTS.put(ob, result.report)
        return f"{result.report.bone_count} bones: {result.report.words}{muted}"


class SKEL_OT_bake_ik(LongOperator, FrameRange, bpy.types.Operator):
    """Solve all goals in every frame of the range, on top of the animation, and write the motion as
    keys. Esc cancels and changes nothing"""
    bl_idname = "skel.bake_ik"
    bl_label = "Bake IK"
    bl_options = {"REGISTER", "UNDO"}

    target: EnumProperty(name="Write To", items=takes.TARGETS, default="NEW",
                         options={"SKIP_SAVE"}, description="Where the keys go")

    def work(self, context: Context) -> Work[str]:
        scene, ob = context.scene, find_armature(context)
        first, last, step = self.frames(context, ob)
        if last < first:
            raise UserError(f"The range ends at frame {last}, but it starts at {first}. Set the "
                            "end after the start")
        name, target = ob.name, self.given("target", ob.skel_ik.target)
        with takes.source(ob) as source:
            ik = read_goals.read_ik(scene, ob, first, last, step)
            read_goals.refuse_simulated(scene, ik)
            ik = yield from read_goals.sample_ik(ik, ob, range(first, last + 1, step))
            if ik.goals:
                write.check(ob, source.target(target), keyed_bones(ik))

        result = yield from solve(ik)
        self.closing = True
        ob = find_again(name)
        action, kept = yield from takes.write_take(ob, result.channels, target, f"{name} ik",
                                                   self.made(scene, ob, "ik"))
        muted = mute.mute_others(ob, result.channels, ik=True)
        error, seen = yield from check_playback(ob, result)
        for warning in (*kept, *seen):
            self.report({"WARNING"}, warning)
        write.refresh(scene)
        report = replace(result.report, playback_error=error)
        REPORTS.put(ob, report)
        return f"{len(result.bones)} bones, frames {first} to {last}, '{action.name}': " \
            f"{report.words}{muted}"


# ---- goals ----

class OnGoals(OnArmature):
    @classmethod
    def poll(cls: Any, context: Context) -> bool:
        return super().poll(context) and is_local(cls, context)


class SKEL_OT_add_goal(OnGoals, bpy.types.Operator):
    """Add a goal for the active bone. Its target is the other selected object, or a new empty at
    the end of the bone. The bones of its limb move"""
    bl_idname = "skel.add_goal"
    bl_label = "Add Goal"
    bl_options = {"REGISTER", "UNDO"}

    kind: EnumProperty(name="Goal Type", items=properties.GOALS, default="REACH",
                       description="What the goal does")
    bone: StringProperty(name="Bone", description="Empty: the active bone")
    target: StringProperty(name="Target", description="Name of the object to reach. Empty: the "
                           "other selected object, or a new empty")

    def execute(self, context: Context) -> Status:
        ob = find_armature(context)
        for name, known, words in ((self.bone, ob.pose.bones, f"'{ob.name}' has no bone"),
                                   (self.target, bpy.data.objects, "There is no object")):
            if name and name not in known:
                self.report({"ERROR"}, f"{words} '{name}'")
                return {"CANCELLED"}

        bone = ob.pose.bones.get(self.bone) if self.bone else context.active_pose_bone
        if bone is None and ob.data.bones.active is not None:
            bone = ob.pose.bones[ob.data.bones.active.name]
        if bone is None and self.kind != "CENTRE":
            self.report({"ERROR"}, "Make the bone active that is to reach the target")
            return {"CANCELLED"}

        target = bpy.data.objects.get(self.target) if self.target else next(
            (other for other in context.selected_objects if other != ob), None)
        label = bone.name if bone else "balance"
        if target is None:
            target = write.add_target(context.scene.collection, ob, bone, label,
                                      self.kind == "LOOK")
        chain = 0
        if bone is not None and self.kind != "CENTRE":
            chain = write_goals.chain_length(ob, bone.name)
        write.add_goal(ob, name=label, kind=self.kind, target=target, chain=chain,
                       bone=bone.name if bone else "")
        return {"FINISHED"}


class SKEL_OT_remove_goal(OnGoals, bpy.types.Operator):
    """Remove the active goal. Its target stays"""
    bl_idname = "skel.remove_goal"
    bl_label = "Remove Goal"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context: Context) -> Status:
        ob = find_armature(context)
        if not 0 <= ob.skel_ik.active < len(ob.skel_ik.goals):
            return {"CANCELLED"}
        write.remove_goal(ob, ob.skel_ik.active)
        return {"FINISHED"}


class SKEL_OT_keep_angle(OnGoals, bpy.types.Operator):
    """Keep the current rotation of the bone relative to its target, instead of giving it the
    rotation of the target"""
    bl_idname = "skel.keep_angle"
    bl_label = "Keep Current Rotation Offset"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context: Context) -> Status:
        ob = find_armature(context)
        s = ob.skel_ik
        goal = s.goals[s.active] if 0 <= s.active < len(s.goals) else None
        offset = read_goals.rotation_offset(ob, context.evaluated_depsgraph_get(), goal)
        if goal is None or offset is None:
            self.report({"ERROR"}, "Choose a goal that has a bone and a target")
            return {"CANCELLED"}
        goal.offset = offset
        return {"FINISHED"}


class SKEL_OT_goals_from_constraints(OnGoals, bpy.types.Operator):
    """Add goals for the Inverse Kinematics constraints of the bones, with their targets, poles and
    chain lengths"""
    bl_idname = "skel.goals_from_constraints"
    bl_label = "Goals from Constraints"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context: Context) -> Status:
        ob = find_armature(context)
        known = {(goal.bone, goal.target, goal.target_bone) for goal in ob.skel_ik.goals}
        found = list(read_goals.ik_constraints(ob))
        if not found:
            self.report({"WARNING"}, f"'{ob.name}' has no active Inverse Kinematics constraint "
                        "with a target")
            return {"CANCELLED"}
        fresh = [fields for fields in found
                 if (fields["bone"], fields["target"], fields["target_bone"]) not in known]
        for fields in fresh:
            write.add_goal(ob, **fields)
        old = len(found) - len(fresh)
        self.report({"INFO"}, f"{len(fresh)} goals added" +
                    (f"; {old} were there already" if old else ""))
        return {"FINISHED"}


CLASSES = (SKEL_OT_solve_ik, SKEL_OT_bake_ik, SKEL_OT_add_goal, SKEL_OT_remove_goal,
           SKEL_OT_keep_angle, SKEL_OT_goals_from_constraints)
register, _unregister = bpy.utils.register_classes_factory(CLASSES)


def unregister() -> None:
    REPORTS.clear()
    _unregister()
