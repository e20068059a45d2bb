# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverse kinematics: operators for the goals of an armature (`object.skel_ik`).

Solve works on the pose as it is now and is one undo step. Bake reads the targets frame by frame in
a scene of its own, as physics does, and runs in slices; Esc leaves the file as it was."""

import bpy
from bpy.props import EnumProperty, StringProperty

from ..blender import read, takes, write
from ..core import convert, convert_ik, pipeline
from . import operators, properties

REPORTS = {}                    # of the last solve, by the armature's name


class SKEL_OT_solve_ik(operators._Work, bpy.types.Operator):
    """Pose the bones so that all goals are reached, in this frame. With auto-keying on, the pose
    is keyed"""
    bl_idname = "skel.solve_ik"
    bl_label = "Solve IK"
    bl_options = {"REGISTER", "UNDO"}

    def invoke(self, context, _event):
        return self.execute(context)

    def work(self, context):
        scene, ob = context.scene, operators.armature(context)
        frame = scene.frame_current
        ik = read.read_ik(scene, ob, frame, frame)
        yield from read.sample_ik(ik, ob, [frame], context.evaluated_depsgraph_get())
        write.check(ob, "", ())
        result = yield from convert_ik.solve(ik)
        key = operators.key_frame(scene)
        muted = write.mute_others(ob, result.channels, ik=True, keyed=key is not None,
                                     take=False)
        write.set_pose(ob, result.channels, key)
        context.view_layer.update()
        wanted = result.wanted
        for warning in pipeline.gone_from(wanted, read.places_now(
                ob, context.evaluated_depsgraph_get(), [each.at for each in wanted.targets])):
            self.report({"WARNING"}, warning)
        REPORTS[ob.name] = result.report
        return f"{result.report['bones']} bones: {convert_ik.words_of(result.report)}{muted}"


class SKEL_OT_bake_ik(operators._Work, operators._Ranged, bpy.types.Operator):
    """Solve all goals in every frame of the range, on top of the animation, and write the motion as
    keys. Esc stops it and changes nothing"""
    bl_idname = "skel.bake_ik"
    bl_label = "Bake IK"
    bl_options = {"REGISTER", "UNDO"}

    target: EnumProperty(name="Write To", items=properties.TARGETS, default="NEW",
                         options={"SKIP_SAVE"}, description="Where the keys go")

    def work(self, context):
        scene, ob = context.scene, operators.armature(context)
        first, last, step = self.frames(context, ob)
        if last < first:
            raise convert.Refused(f"The range ends at frame {last}, but it starts at {first}")
        name, target = ob.name, self.given("target", ob.skel_ik.target)
        with takes.source(ob) as source:
            ik = read.read_ik(scene, ob, first, last, step)
            read.refuse_simulated(scene, ik)
            yield from read.sample_ik(ik, ob, range(first, last + 1, step))
            if ik.goals:
                write.check(ob, source.target(target), convert_ik.keyed(ik))
        result = yield from convert_ik.solve(ik)
        self.closing = True
        ob = operators.again(name)
        action = yield from takes.write_take(ob, result, target, f"{name} ik")
        muted = write.mute_others(ob, result.channels, ik=True)
        for warning in (yield from operators.look_again(ob, result)):
            self.report({"WARNING"}, warning)
        write.refresh(scene)
        REPORTS[name] = result.report
        return f"{len(result.bones)} bones, frames {first} to {last}, '{action.name}': " + \
            convert_ik.words_of(result.report) + muted


# ---- goals ----

class _OnGoals(operators.OnArmature):
    @classmethod
    def poll(cls, context):
        if not super().poll(context):
            return False
        if operators.armature(context).library:
            cls.poll_message_set("The armature is linked from another file. Make a library "
                                 "override of it first")
            return False
        return True


class SKEL_OT_add_goal(_OnGoals, bpy.types.Operator):
    """Add a goal for the active bone. Its target is the other selected object; where there is
    none, a new empty at the end of the bone"""
    bl_idname = "skel.add_goal"
    bl_label = "Add Goal"
    bl_options = {"REGISTER", "UNDO"}

    kind: EnumProperty(name="Wants To", items=properties.GOALS, default="REACH",
                       description="What the goal wants")
    bone: StringProperty(name="Bone", description="Empty: the active bone")
    target: StringProperty(name="Target", description="Name of the object to reach. Empty: the "
                           "other selected object, or a new empty")

    def execute(self, context):
        ob = operators.armature(context)
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
        write.add_goal(ob, name=label, kind=self.kind, target=target,
                          bone=bone.name if bone else "")
        return {"FINISHED"}


class SKEL_OT_remove_goal(_OnGoals, bpy.types.Operator):
    """Remove the goal that is active in the list; its target stays"""
    bl_idname = "skel.remove_goal"
    bl_label = "Remove Goal"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        ob = operators.armature(context)
        if not 0 <= ob.skel_ik.active < len(ob.skel_ik.goals):
            return {"CANCELLED"}
        write.remove_goal(ob, ob.skel_ik.active)
        return {"FINISHED"}


class SKEL_OT_keep_angle(_OnGoals, bpy.types.Operator):
    """Let the bone keep the angle to its target that it has now, instead of taking its axes"""
    bl_idname = "skel.keep_angle"
    bl_label = "Keep Present Angle"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        ob = operators.armature(context)
        s = ob.skel_ik
        goal = s.goals[s.active] if 0 <= s.active < len(s.goals) else None
        offset = read.angle_between(ob, context.evaluated_depsgraph_get(), goal)
        if offset is None:
            self.report({"ERROR"}, "Choose a goal that has a bone and a target")
            return {"CANCELLED"}
        goal.offset = offset
        return {"FINISHED"}


class SKEL_OT_goals_from_constraints(_OnGoals, bpy.types.Operator):
    """Make goals of the Inverse Kinematics constraints that the bones have, with their targets,
    poles and chain lengths"""
    bl_idname = "skel.goals_from_constraints"
    bl_label = "Goals from Constraints"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        ob = operators.armature(context)
        there = {(goal.bone, goal.target, goal.target_bone) for goal in ob.skel_ik.goals}
        found = list(read.ik_constraints(ob))
        fresh = [fields for fields in found
                 if (fields["bone"], fields["target"], fields["target_bone"]) not in there]
        for fields in fresh:
            write.add_goal(ob, **fields)
        if not found:
            self.report({"WARNING"}, f"'{ob.name}' has no Inverse Kinematics constraint that acts "
                        "and has a target")
            return {"CANCELLED"}
        old = len(found) - len(fresh)
        words = f"; {old} were there already" if old else ""
        self.report({"INFO"}, f"{len(fresh)} goals{words}")
        return {"FINISHED"}


CLASSES = (SKEL_OT_solve_ik, SKEL_OT_bake_ik, SKEL_OT_add_goal, SKEL_OT_remove_goal,
           SKEL_OT_keep_angle, SKEL_OT_goals_from_constraints)
register, _unregister = bpy.utils.register_classes_factory(CLASSES)


def unregister():
    REPORTS.clear()
    _unregister()
