# SPDX-License-Identifier: GPL-3.0-or-later
"""Inverse kinematics: goals of an armature (`object.skel_ik`), and the operators that solve them.

Solve works on the pose as it is now and is one undo step. Bake reads the targets frame by frame in
a scene of its own, as physics does, and runs in slices; Esc leaves the file as it was."""

from array import array

import bpy
from bpy.props import (BoolProperty, CollectionProperty, EnumProperty, FloatProperty,
                       FloatVectorProperty, IntProperty, PointerProperty, StringProperty)
from mathutils import Matrix

from . import bl_read, bl_write, convert, convert_ik, ops, props

OVERRIDE = {"LIBRARY_OVERRIDABLE"}
REPORTS = {}                    # of the last solve, by the armature's name
KINDS = (
    ("REACH", "Reach", "The end of the bone goes where the target is"),
    ("LOOK", "Look At", "The bone points at the target, as eyes and heads do"),
    ("CENTRE", "Balance", "The centre of mass of all that moves goes where the target is"),
)
ENDS = (("TAIL", "Tail", "The bone's tail, its far end, reaches the target"),
        ("HEAD", "Head", "The bone's head, the joint it hangs from, reaches the target"))
ROOTS = (
    ("AUTO", "Automatic", "A root that one chain of bones hangs from turns; one that carries more, "
     "as hips do, stays as it is animated"),
    ("HELD", "Stays", "The root bone goes as it is animated"),
    ("TURNS", "Turns", "The root bone turns about its head"),
    ("SHIFTS", "Moves", "The root bone moves and does not turn"),
    ("MOVES", "Moves and Turns", "The root bone moves and turns freely"),
)
AXES = (("Y", "Y", "Along the bone"), ("-Y", "-Y", "Back along the bone"),
        ("X", "X", "X axis of the bone"), ("-X", "-X", "Against the X axis"),
        ("Z", "Z", "Z axis of the bone"), ("-Z", "-Z", "Against the Z axis"))


class SkelGoal(bpy.types.PropertyGroup):
    use: BoolProperty(name="Use", default=True, override=OVERRIDE,
                      description="Counts; else it is left out")
    kind: EnumProperty(name="Wants To", items=KINDS, default="REACH", override=OVERRIDE,
                       description="What the goal wants")
    bone: StringProperty(name="Bone", override=OVERRIDE,
                         description="The bone that is to reach the target. Of a balance goal: "
                         "the end of the chain that may move, or none")
    end: EnumProperty(name="End", items=ENDS, default="TAIL", override=OVERRIDE,
                      description="Which end of the bone")
    target: PointerProperty(type=bpy.types.Object, name="Target", description="The object to reach,"
                            " an empty for example. It may move")
    target_bone: StringProperty(name="Target Bone", override=OVERRIDE, description="Where the "
                                "target is an armature: the bone of it, whose head is the target")
    use_position: BoolProperty(name="Position", default=True, override=OVERRIDE,
                               description="Bring the end of the bone to the target")
    use_orientation: BoolProperty(name="Rotation", default=False, override=OVERRIDE,
                                  description="Turn the bone as the target is turned")
    offset: FloatVectorProperty(name="Offset", size=4, default=(1, 0, 0, 0), subtype="QUATERNION",
                                override=OVERRIDE, description="The target's axes, seen from "
                                "those of the bone")
    chain: IntProperty(name="Chain Length", default=0, min=0, soft_max=20, override=OVERRIDE,
                       description="How many bones may move, from this one upwards. 0: up to "
                       "the root")
    weight: FloatProperty(name="Weight", default=1.0, min=0.0, soft_max=10.0, override=OVERRIDE,
                          description="Among goals of one priority. 0 turns it off; may be "
                          "animated")
    priority: IntProperty(name="Priority", default=0, min=0, max=14, override=OVERRIDE,
                          description="0 comes first; a later goal only gets what the earlier "
                          "ones leave")
    pole: PointerProperty(type=bpy.types.Object, name="Pole", description="The elbow or knee bends "
                          "towards this object")
    pole_bone: StringProperty(name="Pole Bone", override=OVERRIDE, description="Where the pole is "
                              "an armature: the bone of it")
    axis: EnumProperty(name="Axis", items=AXES, default="Y", override=OVERRIDE,
                       description="The axis of the bone that looks at the target")
    level: BoolProperty(name="At Any Height", default=True, override=OVERRIDE,
                        description="Balance: the centre of mass comes above or below the target, "
                        "its height is free")


class SkelIk(bpy.types.PropertyGroup):
    goals: CollectionProperty(type=SkelGoal, name="Goals", override=OVERRIDE | {"USE_INSERTION"},
                              description="What bones are to reach")
    active: IntProperty(name="Active Goal", default=0, override=OVERRIDE,
                        description="The goal that is shown below the list")
    root: EnumProperty(name="Root", items=ROOTS, default="AUTO", override=OVERRIDE,
                       description="What the bone at the top may do")
    smooth: BoolProperty(name="Smooth", default=True, override=OVERRIDE, description="Go on from "
                         "frame to frame, without jumps. Else every frame is solved by itself")
    posture: BoolProperty(name="Stay Near Animation", default=True, override=OVERRIDE,
                          description="Where goals leave a choice, bones stay as near to their "
                          "own animation as they can, and come back to it when a goal is turned "
                          "off. Else what a goal has changed stays added to the animation")
    tolerance: FloatProperty(name="Tolerance", default=1e-5, min=1e-9, soft_max=0.01, precision=6,
                             override=OVERRIDE, description="Metres and radians: a goal that is "
                             "nearer than this is reached")
    target: EnumProperty(name="Write To", items=props.TARGETS, default="NEW", override=OVERRIDE,
                         description="Where the keys of Bake go")


# ---- reading ----

def _joint(pose_bone):
    order = pose_bone.rotation_mode if len(pose_bone.rotation_mode) == 3 else "XYZ"
    for constraint in pose_bone.constraints:
        if constraint.type == "LIMIT_ROTATION" and not constraint.mute and \
                len(getattr(constraint, "euler_order", "AUTO")) == 3:
            order = constraint.euler_order
    joint = convert_ik.JointShot(order=order, stiffness=(
        pose_bone.ik_stiffness_x, pose_bone.ik_stiffness_y, pose_bone.ik_stiffness_z))
    if "joint_type" in pose_bone:                  # of an imported robot
        joint.kind, joint.axis = pose_bone["joint_type"], pose_bone.get("joint_axis", "Z")
        joint.sign = float(pose_bone.get("joint_sign", 1))
        limits = pose_bone.get("joint_limits")
        joint.limits = tuple(limits) if limits is not None else None
    return joint


def _goal(goal):
    return convert_ik.GoalShot(
        name=goal.name or goal.bone or "goal", kind=goal.kind, bone=goal.bone, end=goal.end,
        position=goal.use_position, orientation=goal.use_orientation, offset=tuple(goal.offset),
        chain=goal.chain, weight=[], priority=goal.priority, axis=goal.axis,
        level=goal.level)


def read(scene, ob, frame_start, frame_end, frame_step=1):
    """Everything but the samples, and the numbers of the goals that count."""
    bl_read.check_object(ob)
    s, data = ob.skel_ik, ob.animation_data
    used = [k for k, goal in enumerate(s.goals) if goal.use]
    shot = convert.Shot(
        name=ob.name, bones=bl_read._bones(ob), unit=scene.unit_settings.scale_length,
        fps=bl_read.fps(scene), gravity=tuple(scene.gravity), frame_start=frame_start,
        frame_end=frame_end, frame_step=frame_step, settings=bl_read.read_settings(ob),
        animated=bool(data and (data.action or data.nla_tracks or data.drivers)))
    if any(s.goals[k].kind == "CENTRE" for k in used):
        bl_read.read_thickness(ob, scene, shot.bones, shot.settings.mass_from == "MESH")
    joints = [_joint(pose_bone) for pose_bone in bl_read.ordered(ob)]
    return convert_ik.IkShot(
        shot, joints, [_goal(s.goals[k]) for k in used], root=s.root, smooth=s.smooth,
        posture=s.posture, tolerance=s.tolerance), used


class _Now:
    """Looks at the frame as it is, unkeyed changes and all."""

    def __init__(self, context, ob):
        self.ob, self.graph = ob, context.evaluated_depsgraph_get()

    def look(self, _frame):
        return self.ob.evaluated_get(self.graph)

    def weight(self, k):
        return self.ob.skel_ik.goals[k].weight

    def close(self):
        pass


class _Frames(bl_read._Stage):
    """Looks at frames in a scene of its own."""

    @property
    def graph(self):
        return self.layer.depsgraph

    def weight(self, k):
        return self.ob.evaluated_get(self.graph).skel_ik.goals[k].weight


def _place(graph, ob, bone):
    """16 numbers, column after column: an object or one of its bones in the world."""
    there = ob.evaluated_get(graph)
    if bone and ob.type == "ARMATURE":
        found = there.pose.bones.get(bone)
        if found is None:
            raise convert.Refused(f"'{ob.name}' has no bone '{bone}'")
        return bl_read.flat(there.matrix_world @ found.matrix)
    return bl_read.flat(there.matrix_world)


def targets(ob, used):
    """[(object, bone, pole object, pole bone)] by name, of the goals that count."""
    out = []
    for k in used:
        goal = ob.skel_ik.goals[k]
        out.append((goal.target.name if goal.target else None, goal.target_bone,
                    goal.pole.name if goal.pole and goal.kind == "REACH" else None,
                    goal.pole_bone))
    return out


def sample(ik, ob, frames, used, stage, named):
    """Generator: fills in the samples, a frame at a time."""
    shot = ik.shot
    shot.frames, room = list(frames), array("f", bytes(64 * len(shot.bones)))
    shot.poses, shot.basis, shot.objects = array("f"), array("f"), array("f")
    for goal, (target, _bone, pole, _pole_bone) in zip(ik.goals, named):
        goal.target = array("f") if target else None
        goal.pole = array("f") if pole else None
    objects = bpy.data.objects
    try:
        for n, frame in enumerate(shot.frames):
            now = stage.look(frame)
            bl_read.keep_frame(now, shot, room)
            if n == 0:
                bl_read._channels_now(now, shot)
            for goal, k, (target, bone, pole, pole_bone) in zip(ik.goals, used, named):
                if target:
                    goal.target.extend(_place(stage.graph, objects[target], bone))
                if pole:
                    goal.pole.extend(_place(stage.graph, objects[pole], pole_bone))
                goal.weight.append(stage.weight(k))
            yield n / len(shot.frames), "reading the targets"
    finally:
        stage.close()


def _things(named):
    names = {name for row in named for name in (row[0], row[2]) if name}
    return [bpy.data.objects[name] for name in sorted(names)]


# ---- writing ----

def set_pose(ob, channels, key):
    """Channels of one sample onto the pose; with keys where asked."""
    for channel in channels:
        bone, name = ob.pose.bones[channel.group], channel.path.rsplit(".", 1)[1]
        getattr(bone, name)[channel.index] = channel.keys[1]
    if key is not None:
        for path, group in dict.fromkeys((c.path, c.group) for c in channels):
            ob.keyframe_insert(path, frame=key, group=group)


def mute_ik(ob, names):
    """Turns off what would pull the bones elsewhere: all constraints but limits."""
    count = 0
    for name in names:
        for constraint in ob.pose.bones[name].constraints:
            if not constraint.mute and not constraint.type.startswith("LIMIT_"):
                constraint.mute = True
                count += 1
    return count


def words_of(report):
    missed = report["missed"]
    if not missed:
        return "all goals reached"
    return (f"{len(missed)} of {report['frames']} frames not reached, the first {missed[0]}; worst "
            f"at {report['worst_frame']}: '{report['worst_goal']}' off by "
            f"{report['distance']:.3g} m, {report['angle']:.3g} rad")


class SKEL_OT_solve_ik(ops._Work, bpy.types.Operator):
    """Pose the bones so that all goals are reached, in this frame. With auto-keying on, the pose
    is keyed"""
    bl_idname = "skel.solve_ik"
    bl_label = "Solve IK"
    bl_options = {"REGISTER", "UNDO"}

    def invoke(self, context, _event):
        return self.execute(context)

    def work(self, context):
        scene, ob = context.scene, ops.armature(context)
        frame = scene.frame_current
        ik, used = read(scene, ob, frame, frame)
        named = targets(ob, used)
        yield from sample(ik, ob, [frame], used, _Now(context, ob), named)
        result = yield from convert_ik.solve(ik)
        auto = scene.tool_settings.use_keyframe_insert_auto
        mute_ik(ob, sorted({channel.group for channel in result.channels}))
        set_pose(ob, result.channels, frame if auto else None)
        ob.update_tag(refresh={"OBJECT", "DATA"})
        context.view_layer.update()
        REPORTS[ob.name] = result.report
        return f"{result.report['bones']} bones: {words_of(result.report)}"


class SKEL_OT_bake_ik(ops._Work, ops._Ranged, bpy.types.Operator):
    """Solve all goals in every frame of the range and write the motion as keys. Esc stops it and
    changes nothing"""
    bl_idname = "skel.bake_ik"
    bl_label = "Bake IK"
    bl_options = {"REGISTER", "UNDO"}

    target: EnumProperty(name="Write To", items=props.TARGETS, default="NEW",
                         options={"SKIP_SAVE"}, description="Where the keys go")

    def work(self, context):
        scene, ob = context.scene, ops.armature(context)
        first, last, step = self.frames(context, ob)
        if last < first:
            raise convert.Refused(f"The range ends at frame {last}, but it starts at {first}")
        name, target = ob.name, self.given("target", ob.skel_ik.target)
        ik, used = read(scene, ob, first, last, step)
        named = targets(ob, used)
        yield from sample(ik, ob, range(first, last + 1, step), used,
                          _Frames(ob, _things(named)), named)
        result = yield from convert_ik.solve(ik)
        self.closing = True
        ob = bpy.data.objects[name]
        action = yield from bl_write.write(ob, result.channels, target, f"{name} ik")
        bones = sorted({channel.group for channel in result.channels})
        mute_ik(ob, bones)
        bl_write.refresh(scene)
        REPORTS[name] = result.report
        return f"{len(bones)} bones, frames {first} to {last}, '{action.name}': " + \
            words_of(result.report)


# ---- goals ----

class _OnArmature:
    @classmethod
    def poll(cls, context):
        return ops.armature(context) is not None and context.mode != "EDIT_ARMATURE"


def _tail(ob, bone):
    return ob.matrix_world @ bone.matrix @ Matrix.Translation((0, bone.length, 0))


class SKEL_OT_add_goal(_OnArmature, bpy.types.Operator):
    """Add a goal for the active bone. Its target is the other selected object; where there is
    none, a new empty at the end of the bone"""
    bl_idname = "skel.add_goal"
    bl_label = "Add Goal"
    bl_options = {"REGISTER", "UNDO"}

    kind: EnumProperty(name="Wants To", items=KINDS, default="REACH",
                       description="What the goal wants")
    bone: StringProperty(name="Bone", description="Empty: the active bone")
    target: StringProperty(name="Target", description="Name of the object to reach. Empty: the "
                           "other selected object, or a new empty")

    def execute(self, context):
        ob = ops.armature(context)
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
            target = bpy.data.objects.new(f"{label} target", None)
            context.scene.collection.objects.link(target)
            target.matrix_world = Matrix.Translation(ob.matrix_world.translation) \
                if bone is None else _tail(ob, bone)
            if self.kind == "LOOK":
                target.matrix_world.translation += target.matrix_world.col[1].xyz.normalized() * \
                    3 * bone.length
            target.scale = (1, 1, 1)
            target.empty_display_size = 0.3 * bone.length if bone else 0.1
            target.empty_display_type = "ARROWS"
        goal = ob.skel_ik.goals.add()
        goal.name, goal.kind, goal.target = label, self.kind, target
        goal.bone = bone.name if bone else ""
        ob.skel_ik.active = len(ob.skel_ik.goals) - 1
        return {"FINISHED"}


class SKEL_OT_remove_goal(_OnArmature, bpy.types.Operator):
    """Remove the goal that is active in the list; its target stays"""
    bl_idname = "skel.remove_goal"
    bl_label = "Remove Goal"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        s = ops.armature(context).skel_ik
        if not 0 <= s.active < len(s.goals):
            return {"CANCELLED"}
        s.goals.remove(s.active)
        s.active = max(0, min(s.active, len(s.goals) - 1))
        return {"FINISHED"}


class SKEL_OT_keep_angle(_OnArmature, bpy.types.Operator):
    """Let the bone keep the angle to its target that it has now, instead of taking its axes"""
    bl_idname = "skel.keep_angle"
    bl_label = "Keep Present Angle"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        ob = ops.armature(context)
        s = ob.skel_ik
        goal = s.goals[s.active] if 0 <= s.active < len(s.goals) else None
        if goal is None or goal.target is None or goal.bone not in ob.pose.bones:
            self.report({"ERROR"}, "Choose a goal that has a bone and a target")
            return {"CANCELLED"}
        graph = context.evaluated_depsgraph_get()
        bone = (ob.matrix_world @ ob.pose.bones[goal.bone].matrix).to_quaternion()
        flat = _place(graph, goal.target, goal.target_bone)
        there = Matrix([flat[k::4] for k in range(4)]).to_quaternion()
        goal.offset = bone.inverted() @ there
        return {"FINISHED"}


class SKEL_OT_goals_from_constraints(_OnArmature, bpy.types.Operator):
    """Make goals of the Inverse Kinematics constraints that the bones have, with their targets,
    poles and chain lengths"""
    bl_idname = "skel.goals_from_constraints"
    bl_label = "Goals from Constraints"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        ob, count = ops.armature(context), 0
        for bone in ob.pose.bones:
            for constraint in bone.constraints:
                if constraint.type != "IK" or constraint.target is None:
                    continue
                goal = ob.skel_ik.goals.add()
                goal.name = goal.bone = bone.name
                goal.target, goal.target_bone = constraint.target, constraint.subtarget
                goal.chain, goal.use_orientation = constraint.chain_count, constraint.use_rotation
                goal.end = "TAIL" if constraint.use_tail else "HEAD"
                if constraint.pole_target:
                    goal.pole, goal.pole_bone = constraint.pole_target, constraint.pole_subtarget
                count += 1
        self.report({"INFO"}, f"{count} goals")
        return {"FINISHED"} if count else {"CANCELLED"}


CLASSES = (SkelGoal, SkelIk, SKEL_OT_solve_ik, SKEL_OT_bake_ik, SKEL_OT_add_goal,
           SKEL_OT_remove_goal, SKEL_OT_keep_angle, SKEL_OT_goals_from_constraints)


def register():
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Object.skel_ik = PointerProperty(type=SkelIk, override=OVERRIDE)


def unregister():
    REPORTS.clear()
    del bpy.types.Object.skel_ik
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
