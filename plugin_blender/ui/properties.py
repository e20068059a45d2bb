# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings, kept with the file: of an armature (`object.skel`, goals in `object.skel_ik`) and of
its bones (`bone.skel`)."""

import math

import bpy
from bpy.props import (BoolProperty, CollectionProperty, EnumProperty, FloatProperty,
                       FloatVectorProperty, IntProperty, PointerProperty, StringProperty)

from ..blender import compat
from ..blender.takes import TARGETS

OVERRIDE = {"LIBRARY_OVERRIDABLE"}
SETTING = {"override": OVERRIDE, "options": set()}      # one value for all frames: takes no keys
OVER_TIME = {"override": OVERRIDE}                      # may have keys or a driver
DEGREE = math.pi / 180

ROLES = (
    ("AUTO", "Automatic", "As the preset has it"),
    ("DYNAMIC", "Simulated", "Falls, swings and hits; gets keys"),
    ("DRIVEN", "Animated", "Goes as it is animated, and moves what hangs from it"),
    ("PINNED", "Pinned", "Held in the world where it is at the first frame"),
    ("SOFT", "Soft", "A soft mass that wobbles on the bone it hangs from"),
    ("NONE", "No Body", "Goes along with its parent; gets no keys"),
)
JOINTS = (
    ("AUTO", "Automatic", "From the bone's limits and locks; else by its name: knees and elbows "
     "are hinges, all others balls"),
    ("BALL", "Ball", "Turns every way"),
    ("HINGE", "Hinge", "Turns about one axis"),
    ("UNIVERSAL", "Universal", "Turns about the bone's X and Z axes, without twist"),
    ("FIXED", "Fixed", "Does not turn"),
)
AXES = (
    ("AUTO", "Automatic", "The axis that the limits leave free; else across the bend of the limb"),
    ("X", "X", "X axis of the bone"), ("Y", "Y", "Y axis of the bone, its length"),
    ("Z", "Z", "Z axis of the bone"),
)
LIMITS = (
    ("AUTO", "From the Rig", "From a Limit Rotation constraint or the IK limits of the bone; "
     "where it has none, as bodies usually move"),
    ("CUSTOM", "Custom", "The angles below, to either side of the rest pose"),
    ("NONE", "None", "Turns all round"),
)
PRESETS = (
    ("RAGDOLL", "Ragdoll", "Everything falls. Limits hold, the ground stops it"),
    ("TAIL", "Tail or Rope", "Bones at the root go as animated, the others swing after them"),
    ("FOLLOW", "Follow Animation", "Springs pull every bone towards its animation: loose, heavy "
     "motion on top of keys"),
    ("SOFT", "Soft Tissue", "The bones at the ends wobble on the animated body"),
)
CHANNELS = (
    ("LOCATION", "Location", "Keys of the location"),
    ("ROTATION", "Rotation", "Keys of the rotation"),
)
INTEGRATORS = (
    ("conserving", "Robust", "Quick, and keeps energy and momentum at any length of step"),
    ("adams", "Exact", "By tolerance: for smooth motion without limits and contact, slower where "
     "it whips"),
    ("auto", "Automatic", "Robust steps where things touch or have limits, exact ones elsewhere"),
)

GOALS = (
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
LOOK_AXES = (("Y", "Y", "Along the bone"), ("-Y", "-Y", "Back along the bone"),
             ("X", "X", "X axis of the bone"), ("-X", "-X", "Against the X axis"),
             ("Z", "Z", "Z axis of the bone"), ("-Z", "-Z", "Against the Z axis"))


class SkelBone(bpy.types.PropertyGroup):
    role: EnumProperty(name="Part", items=ROLES, default="AUTO", **SETTING,
                       description="What this bone does in the simulation")
    joint: EnumProperty(name="Joint", items=JOINTS, default="AUTO", **SETTING,
                        description="How the bone turns at its head")
    axis: EnumProperty(name="Axis", items=AXES, default="AUTO", **SETTING,
                       description="The axis of a hinge")
    limits: EnumProperty(name="Limits", items=LIMITS, default="AUTO", **SETTING,
                         description="How far the joint turns")
    limit_low: FloatProperty(name="From", subtype="ANGLE", default=-45 * DEGREE, min=-math.pi,
                             max=math.pi, **SETTING,
                             description="Of a hinge: the lower angle, from the rest pose")
    limit_high: FloatProperty(name="To", subtype="ANGLE", default=45 * DEGREE, min=-math.pi,
                              max=math.pi, **SETTING,
                              description="Of a hinge: the upper angle, from the rest pose")
    cone: FloatProperty(name="Cone", subtype="ANGLE", default=45 * DEGREE, min=0.01, max=math.pi,
                        **SETTING, description="How far the bone leaves its rest direction")
    twist: FloatProperty(name="Twist", subtype="ANGLE", default=25 * DEGREE, min=0.0, max=math.pi,
                         **SETTING,
                         description="How far the bone turns about its length, to either side")
    mass: FloatProperty(name="Mass", unit="MASS", default=0.0, min=0.0, soft_max=100.0,
                        **SETTING, description="0: from its size")
    radius: FloatProperty(name="Radius", subtype="DISTANCE", default=0.0, min=0.0, soft_max=1.0,
                          **SETTING, description="Half the thickness. 0: from the mesh "
                          "that is bound to it, or from its length")
    friction: FloatProperty(name="Friction", default=1.0, min=0.0, soft_max=10.0,
                            **SETTING, description="Of the joint, times the usual")
    follow: FloatProperty(name="Follow", default=-1.0, min=-1.0, soft_max=20.0, **OVER_TIME,
                          description="How fast a spring pulls the bone towards its animation, "
                          "swings per second. 0: not at all. Negative: as the armature has it. Key "
                          "Follow animates it")
    collide: BoolProperty(name="Hits Own Bones", default=False, **SETTING,
                          description="Touches other bones of this armature that have this, too")
    softness: FloatProperty(name="Softness", default=0.05, min=0.001, max=1.0, **SETTING,
                            subtype="FACTOR", description="Of a soft bone: how far its weight "
                            "pulls it, in parts of its length")


class SkelArmature(bpy.types.PropertyGroup):
    preset: EnumProperty(name="Preset", items=PRESETS, default="RAGDOLL", **SETTING,
                         description="What the armature should do")
    only_selected: BoolProperty(name="Only Selected", default=False, **SETTING,
                                description="Simulate the selected bones; the bones they hang from "
                                "go as animated")
    channels: EnumProperty(name="Channels", items=CHANNELS, default={"LOCATION", "ROTATION"},
                           options={"ENUM_FLAG"}, override=OVERRIDE, description="What gets keys")
    target: EnumProperty(name="Write To", items=TARGETS, default="NEW", **SETTING,
                         description="Where the keys go")
    use_range: BoolProperty(name="Custom Range", default=False, **SETTING,
                            description="Other frames than those of the scene")
    frame_start: IntProperty(name="Start", default=1, **SETTING,
                             description="The simulation starts with the pose of this frame")
    frame_end: IntProperty(name="End", default=250, **SETTING,
                           description="Last frame that gets keys")
    frame_step: IntProperty(name="Step", default=1, min=1, soft_max=10, **SETTING,
                            description="Frames from key to key")
    start_velocity: BoolProperty(name="Start with Speed", default=True, **SETTING,
                                 description="Start with the velocity that the animation has at "
                                 "the first frame; else at rest")
    mass_from: EnumProperty(name="Mass From", default="LENGTH", **SETTING, items=(
        ("LENGTH", "Bones", "Length and thickness of the bones"),
        ("MESH", "Mesh Volume", "The volume of the bound meshes, shared out to their bones")),
        description="What masses are taken from")
    density: FloatProperty(name="Density", default=1000.0, min=1.0, soft_max=10000.0,
                           **SETTING, description="kg per cubic metre; flesh has 1000")
    total_mass: FloatProperty(name="Total Mass", unit="MASS", default=0.0, min=0.0,
                              soft_max=1000.0, **SETTING,
                              description="Of the whole armature. 0: from the density")
    ground: BoolProperty(name="Ground", default=True, **SETTING,
                         description="A level floor without end")
    ground_height: FloatProperty(name="Height", subtype="DISTANCE", default=0.0,
                                 **SETTING, description="Of the floor, along Z")
    ground_friction: FloatProperty(name="Friction", default=0.8, min=0.0, soft_max=2.0,
                                   **SETTING, description="Of floor and obstacles")
    bounce: FloatProperty(name="Bounce", default=0.0, min=0.0, max=1.0, subtype="FACTOR",
                          **SETTING, description="0: it lands softly, as flesh does; "
                          "above: hard impacts, 1 gives all speed back")
    obstacles: PointerProperty(type=bpy.types.Collection, name="Obstacles", **SETTING,
                               description="Objects to fall on. Boxes by their bounds, balls where "
                               "they are round, flat meshes as planes without end; the shape of a "
                               "rigid body counts where an object has one")
    follow: FloatProperty(name="Follow", default=-1.0, min=-1.0, soft_max=20.0, **OVER_TIME,
                          description="How fast springs pull the bones towards their animation, "
                          "swings per second. 0: not at all. Negative: as the preset has it. May "
                          "be animated")
    damping: FloatProperty(name="Damping", default=-1.0, min=-1.0, soft_max=2.0,
                           **SETTING, description="Of these springs: 1 does not swing "
                           "over, less does. Negative: as the preset has it")
    friction: FloatProperty(name="Joint Friction", default=1.0, min=0.0, soft_max=10.0,
                            **SETTING, description="Of all joints, times the usual")
    integrator: EnumProperty(name="Method", items=INTEGRATORS, default="conserving",
                             **SETTING, description="How the motion is computed")
    step: FloatProperty(name="Time Step", default=0.0, min=0.0, soft_max=0.02, precision=5,
                        **SETTING, description="Seconds. 0: automatic. The motion does not "
                        "depend on the frame rate")
    preroll: FloatProperty(name="Settle", default=0.0, min=0.0, soft_max=10.0, unit="TIME",
                           **SETTING, description="Seconds to simulate before the first "
                           "frame")
    mute_constraints: BoolProperty(name="Mute Constraints", default=True, **SETTING,
                                   description="Turn off what would pull the bones that get keys "
                                   "elsewhere: constraints, drivers, modifiers of their curves")
    cutoff: FloatProperty(name="Smooth Above", default=0.0, min=0.0, soft_max=30.0,
                          **SETTING, description="Hz: motion faster than this is noise, "
                          "and taken out before torques are found. 0: none")
    muted: StringProperty(name="Muted", override=OVERRIDE, options={"HIDDEN"},
                          description="Constraints and drivers that the last bake has muted, as "
                          "JSON: they act whenever a bake reads the animation")


class SkelGoal(bpy.types.PropertyGroup):
    use: BoolProperty(name="Use", default=True, **SETTING,
                      description="Counts; else it is left out")
    kind: EnumProperty(name="Wants To", items=GOALS, default="REACH", **SETTING,
                       description="What the goal wants")
    bone: StringProperty(name="Bone", **SETTING,
                         description="The bone that is to reach the target. Of a balance goal: "
                         "the end of the chain that may move, or none")
    end: EnumProperty(name="End", items=ENDS, default="TAIL", **SETTING,
                      description="Which end of the bone")
    target: PointerProperty(type=bpy.types.Object, name="Target", **SETTING,
                            description="The object to reach, an empty for example. It may move")
    target_bone: StringProperty(name="Target Bone", **SETTING, description="Where the "
                                "target is an armature: the bone of it, whose head is the target")
    use_position: BoolProperty(name="Position", default=True, **SETTING,
                               description="Bring the end of the bone to the target")
    use_orientation: BoolProperty(name="Rotation", default=False, **SETTING,
                                  description="Turn the bone as the target is turned")
    offset: FloatVectorProperty(name="Offset", size=4, default=(1, 0, 0, 0), subtype="QUATERNION",
                                **SETTING, description="The target's axes, seen from "
                                "those of the bone")
    chain: IntProperty(name="Chain Length", default=0, min=0, soft_max=20, **SETTING,
                       description="How many bones may move for this goal, from its own "
                       "upwards. 0: up to the root")
    weight: FloatProperty(name="Weight", default=1.0, min=0.0, soft_max=10.0, **OVER_TIME,
                          description="Among goals of one priority. 0 turns it off; may be "
                          "animated")
    priority: IntProperty(name="Priority", default=0, min=0, max=14, **SETTING,
                          description="0 comes first; a later goal only gets what the earlier "
                          "ones leave")
    pole: PointerProperty(type=bpy.types.Object, name="Pole", **SETTING,
                          description="The elbow or knee bends towards this object")
    pole_bone: StringProperty(name="Pole Bone", **SETTING, description="Where the pole is "
                              "an armature: the bone of it")
    axis: EnumProperty(name="Axis", items=LOOK_AXES, default="Y", **SETTING,
                       description="The axis of the bone that looks at the target")
    level: BoolProperty(name="At Any Height", default=True, **SETTING,
                        description="Balance: the centre of mass comes above or below the target, "
                        "its height is free")


class SkelIk(bpy.types.PropertyGroup):
    goals: CollectionProperty(type=SkelGoal, name="Goals", override=OVERRIDE | {"USE_INSERTION"},
                              description="What bones are to reach")
    active: IntProperty(name="Active Goal", default=0, **SETTING,
                        description="The goal that is shown below the list")
    root: EnumProperty(name="Root", items=ROOTS, default="AUTO", **SETTING,
                       description="What the bone at the top may do")
    smooth: BoolProperty(name="Smooth", default=True, **SETTING, description="Go on from "
                         "frame to frame, without jumps. Else every frame is solved by itself")
    hold_start: BoolProperty(name="Hold Start", default=False, **SETTING,
                             description="Smooth: the first frame keeps the pose that is nearest "
                             "to the animation. Else it may take another one that reaches the "
                             "goals, if a bone would have to jump later on")
    posture: BoolProperty(name="Stay Near Animation", default=True, **SETTING,
                          description="Where goals leave a choice, bones stay as near to their "
                          "own animation as they can, and come back to it when a goal is turned "
                          "off. Else what a goal has changed stays added to the animation")
    tolerance: FloatProperty(name="Tolerance", default=1e-5, min=1e-9, soft_max=0.01, precision=6,
                             **SETTING, description="Metres and radians: a goal that is "
                             "nearer than this is reached")
    target: EnumProperty(name="Write To", items=TARGETS, default="NEW", **SETTING,
                         description="Where the keys of Bake go")


CLASSES = (SkelBone, SkelArmature, SkelGoal, SkelIk)
_register, _unregister = bpy.utils.register_classes_factory(CLASSES)


@bpy.app.handlers.persistent
def _touch_linked(*_given):
    """Asking for a group makes it: a linked armature has those that its override has."""
    for ob in bpy.data.objects:
        linked = ob.override_library.reference if ob.override_library else None
        if ob.type == "ARMATURE" and linked:
            for each in (ob, linked):
                _ = [each.skel, each.skel_ik, *(bone.skel for bone in each.pose.bones)]


def register():
    _register()
    if compat.FORGETS_GROUPS:
        bpy.app.handlers.save_pre.append(_touch_linked)
    bpy.types.PoseBone.skel = PointerProperty(type=SkelBone, override=OVERRIDE)
    bpy.types.Object.skel = PointerProperty(type=SkelArmature, override=OVERRIDE)
    bpy.types.Object.skel_ik = PointerProperty(type=SkelIk, override=OVERRIDE)


def unregister():
    if compat.FORGETS_GROUPS:
        bpy.app.handlers.save_pre.remove(_touch_linked)
    del bpy.types.Object.skel_ik
    del bpy.types.Object.skel
    del bpy.types.PoseBone.skel
    _unregister()
