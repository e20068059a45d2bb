# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that are stored in the file: of an armature (`object.skel`, goals in `object.skel_ik`)
and of its bones (`bone.skel`). Their defaults stand in core/shot.py and core/ik_shot.py."""

import math
from typing import Any, Dict

import bpy
from bpy.props import (BoolProperty, CollectionProperty, EnumProperty, FloatProperty,
                       FloatVectorProperty, IntProperty, PointerProperty, StringProperty)

from ..blender import compat
from ..blender.preview import setting_changed
from ..blender.takes import TARGETS
from ..core import joints
from ..core.ik_shot import GoalShot, IkSettings
from ..core.shot import BoneSettings, Settings
from .automatic import AutomaticArmature, AutomaticBone

OVERRIDE = {"LIBRARY_OVERRIDABLE"}
ANIMATABLE: Dict[str, Any] = {"override": OVERRIDE, "update": setting_changed}
SETTING: Dict[str, Any] = {**ANIMATABLE, "options": set()}              # cannot be animated
BONE, ARMATURE, GOAL, IK = BoneSettings(), Settings(), GoalShot(""), IkSettings()   # the defaults

ROLES = (
    ("AUTO", "Automatic", "The preset decides"),
    ("DYNAMIC", "Simulated", "The bone falls, swings and collides, and gets keys"),
    ("DRIVEN", "Animated", "The bone follows its animation and moves the bones attached to it"),
    ("PINNED", "Pinned", "The bone is held in the world where it is at the first frame"),
    ("SOFT", "Soft", "The bone is a soft mass that wobbles on its parent bone"),
    ("NONE", "Not Simulated", "The bone follows its parent"),
)
JOINTS = tuple((name, choice.label, choice.tip) for name, choice in joints.CHOICES.items())
AXES = (
    ("AUTO", "Automatic", "The usual axis of the joint. Of a hinge: the axis that the limits leave "
     "free, without limits the axis of the bend of the limb"),
    ("X", "X", "X axis of the bone"), ("Y", "Y", "Y axis of the bone, along its length"),
    ("Z", "Z", "Z axis of the bone"),
)
LIMITS = (
    ("AUTO", "From Rig", "From a Limit Rotation constraint or the IK limits of the bone. Without "
     "them the usual range of such a joint"),
    ("CUSTOM", "Custom", "The angles below, measured from the rest pose"),
    ("NONE", "None", "The joint turns without limits"),
)
PRESETS = (
    ("RAGDOLL", "Ragdoll", "All bones fall. Joint limits hold them together, the ground stops "
     "them"),
    ("TAIL", "Tail or Rope", "Root bones follow their animation, the others swing after them"),
    ("FOLLOW", "Follow Animation", "Springs pull every bone towards its animation: loose, heavy "
     "motion on top of keys"),
    ("SOFT", "Soft Tissue", "The bones at the ends of chains wobble on the animated body"),
)
CHANNELS = (
    ("LOCATION", "Location", "Write keys of the location"),
    ("ROTATION", "Rotation", "Write keys of the rotation"),
)
KEYED_BONES = (
    ("BONES", "Deform Bones", "Write keys to the bones that deform the mesh. Constraints that "
     "would fight them are muted"),
    ("CONTROLS", "Control Bones", "Write keys to the bones that you animate with, and switch limbs "
     "to FK within the frame range only. No constraint is muted"),
)
INTEGRATORS = (
    ("conserving", "Fast", "Fixed time steps that conserve energy and momentum. Best for contact "
     "and joint limits"),
    ("adams", "Accurate", "Variable time steps with error control. For smooth motion without "
     "limits and contact"),
    ("auto", "Automatic", "Fast for armatures with contact or limits, Accurate for all others"),
)
MASS_SOURCES = (
    ("AUTO", "Automatic", "Volume of the skin. Parts of a human weigh at least half and at most "
     "twice as much as those of a real one"),
    ("MESH", "Skin Volume", "Volume of the skin around each bone"),
    ("LENGTH", "Body Shapes", "Volume of the bodies that are shown"),
)
SHAPES = (
    ("AUTO", "Fitted", "Fitted to the skin that follows the bone, or along the bone"),
    ("CAPSULE", "Capsule", "A cylinder with round ends, with the size below"),
    ("BOX", "Box", "A box with the size below"),
)
GOALS = (
    ("REACH", "Reach", "The end of the bone reaches the target"),
    ("LOOK", "Look At", "The bone points at the target, as eyes and heads do"),
    ("CENTRE", "Balance", "The centre of mass of all moving bones reaches the target"),
)
ENDS = (("TAIL", "Tail", "The tail of the bone reaches the target"),
        ("HEAD", "Head", "The head of the bone, its joint, reaches the target"))
ROOTS = (
    ("AUTO", "Automatic", "A root with a single chain turns. A root with several chains, such as "
     "hips, follows its animation"),
    ("HELD", "Animated", "The root bone follows its animation"),
    ("TURNS", "Rotate", "The root bone turns about its head"),
    ("SHIFTS", "Move", "The root bone moves and does not turn"),
    ("MOVES", "Move and Rotate", "The root bone moves and turns freely"),
)
LOOK_AXES = (("Y", "Y", "Along the bone"), ("-Y", "-Y", "Against the direction of the bone"),
             ("X", "X", "X axis of the bone"), ("-X", "-X", "Against the X axis"),
             ("Z", "Z", "Z axis of the bone"), ("-Z", "-Z", "Against the Z axis"))


class SkelBone(AutomaticBone, bpy.types.PropertyGroup):
    role: EnumProperty(name="Physics Role", items=ROLES, default=BONE.role, **SETTING,
                       description="What this bone does in the simulation")
    joint: EnumProperty(name="Joint", items=JOINTS, default=BONE.joint, **SETTING,
                        description="How the bone moves at its head")
    axis: EnumProperty(name="Axis", items=AXES, default=BONE.axis, **SETTING,
                       description="The axis of the joint")
    pitch: FloatProperty(name="Pitch", subtype="DISTANCE", default=BONE.pitch, soft_min=-1.0,
                         soft_max=1.0, **SETTING,
                         description="How far a screw moves along its axis in one turn. Negative: "
                         "it moves back, as a left-handed thread does")
    limits: EnumProperty(name="Limits", items=LIMITS, default=BONE.limits, **SETTING,
                         description="How far the joint turns")
    limit_low: FloatProperty(name="From", subtype="ANGLE", default=BONE.limit_low, min=-math.pi,
                             max=math.pi, **SETTING,
                             description="Lowest angle of the joint, measured from the rest pose")
    limit_high: FloatProperty(name="To", subtype="ANGLE", default=BONE.limit_high, min=-math.pi,
                              max=math.pi, **SETTING,
                              description="Highest angle of the joint, measured from the rest pose")
    cone: FloatProperty(name="Cone", subtype="ANGLE", default=BONE.cone, min=0.01, max=math.pi,
                        **SETTING, description="Largest angle between the bone and its rest "
                        "direction")
    twist: FloatProperty(name="Twist", subtype="ANGLE", default=BONE.twist, min=0.0, max=math.pi,
                         **SETTING,
                         description="Largest angle about the length of the bone, to either side")
    mass: FloatProperty(name="Mass", unit="MASS", default=BONE.mass, min=0.0, soft_max=100.0,
                        **SETTING, description="Mass of the bone. 0: computed from its size")
    radius: FloatProperty(name="Radius", subtype="DISTANCE", default=BONE.radius, min=0.0,
                          soft_max=1.0, **SETTING,
                          description="Radius of a fitted capsule. 0: fitted to the skin, or from "
                          "the length of the bone")
    shape: EnumProperty(name="Shape", items=SHAPES, default=BONE.shape, **SETTING,
                        description="The shape with which the bone collides")
    shape_size: FloatVectorProperty(name="Size", subtype="XYZ_LENGTH", min=0.0,
                                    default=tuple(BONE.shape_size), **SETTING,
                                    description="Size along the axes of the shape. A capsule "
                                    "lies along Z")
    shape_offset: FloatVectorProperty(name="Offset", subtype="XYZ_LENGTH",
                                      default=tuple(BONE.shape_offset), **SETTING,
                                      description="Centre of the shape, from the bone's head in "
                                      "the axes of the bone")
    shape_rotation: FloatVectorProperty(name="Rotation", subtype="EULER",
                                        default=tuple(BONE.shape_rotation), **SETTING,
                                        description="Rotation of the shape in the axes of the "
                                        "bone")
    friction: FloatProperty(name="Friction", default=BONE.friction, min=0.0, soft_max=10.0,
                            **SETTING, description="Multiplier for the joint's default friction")
    follow: FloatProperty(name="Follow", default=BONE.follow, min=-1.0, soft_max=20.0,
                          **ANIMATABLE, description="Stiffness of the spring that pulls the bone "
                          "towards its animation, as its frequency in Hz. 0: no spring. Negative: "
                          "the armature's value. Use Key Follow to animate it")
    collide: BoolProperty(name="Self-Collision", default=BONE.collide, **SETTING,
                          description="Collide with other bones of this armature that have "
                          "Self-Collision on")
    softness: FloatProperty(name="Softness", default=BONE.softness, min=0.001, max=1.0, **SETTING,
                            subtype="FACTOR", description="How far the weight of a soft bone pulls "
                            "it down, as a fraction of its length")


class SkelArmature(AutomaticArmature, bpy.types.PropertyGroup):
    preset: EnumProperty(name="Preset", items=PRESETS, default=ARMATURE.preset, **SETTING,
                         description="What the armature does")
    only_selected: BoolProperty(name="Selected Bones Only", default=ARMATURE.only_selected,
                                **SETTING, description="Simulate the selected bones only. The "
                                "bones that they are attached to follow their animation")
    channels: EnumProperty(name="Channels", items=CHANNELS, default={"LOCATION", "ROTATION"},
                           options={"ENUM_FLAG"}, override=OVERRIDE,
                           description="Channels that get keys")
    target: EnumProperty(name="Write To", items=TARGETS, default="NEW", **SETTING,
                         description="Where the keys go")
    new_take: BoolProperty(name="New Take", default=False, **SETTING,
                           description="Every bake keeps the last take and makes a new one. If "
                           "off, a bake replaces the last take")
    use_range: BoolProperty(name="Custom Range", default=False, **SETTING,
                            description="Use another frame range than that of the scene")
    frame_start: IntProperty(name="Start", default=1, **SETTING,
                             description="The simulation starts with the pose of this frame")
    frame_end: IntProperty(name="End", default=250, **SETTING,
                           description="Last frame that gets keys")
    frame_step: IntProperty(name="Step", default=1, min=1, soft_max=10, **SETTING,
                            description="Frames between two keys")
    start_velocity: BoolProperty(name="Inherit Velocity", default=ARMATURE.start_velocity,
                                 **SETTING, description="Start with the velocity of the animation "
                                 "at the first frame. If off, start at rest")
    mass_from: EnumProperty(name="Mass From", default=ARMATURE.mass_from, **SETTING,
                            items=MASS_SOURCES, description="What masses are computed from")
    character_scale: FloatProperty(name="Character Scale", default=ARMATURE.character_scale,
                                   min=1e-4, soft_min=0.01, soft_max=100.0, precision=4, **SETTING,
                                   description="Physics multiplies all lengths by this number. A "
                                   "character that was made in centimetres needs 0.01. The file "
                                   "stays as it is")
    join_pieces: BoolProperty(name="Join Pieces", default=ARMATURE.join_pieces, **SETTING,
                              description="Join parts of the skeleton that nothing connects, where "
                              "they are nearest to each other")
    density: FloatProperty(name="Density", default=ARMATURE.density, min=1.0, soft_max=10000.0,
                           **SETTING, description="Density in kg per cubic metre. Flesh has 1000")
    total_mass: FloatProperty(name="Total Mass", unit="MASS", default=ARMATURE.total_mass, min=0.0,
                              soft_max=1000.0, **SETTING,
                              description="Mass of the whole armature. 0: computed from the "
                              "density")
    ground: BoolProperty(name="Ground", default=ARMATURE.ground, **SETTING,
                         description="An infinite floor")
    ground_height: FloatProperty(name="Ground Height", subtype="DISTANCE",
                                 default=ARMATURE.ground_height, **SETTING,
                                 description="Z coordinate of the floor")
    ground_friction: FloatProperty(name="Friction", default=ARMATURE.ground_friction, min=0.0,
                                   soft_max=2.0, **SETTING,
                                   description="Surface friction of the ground and all obstacles")
    bounce: FloatProperty(name="Bounce", default=ARMATURE.bounce, min=0.0, max=1.0,
                          subtype="FACTOR", **SETTING,
                          description="0: soft landing, as flesh does. Above 0: hard impacts; 1 "
                          "returns all velocity")
    obstacles: PointerProperty(type=bpy.types.Collection, name="Obstacles", **SETTING,
                               description="Objects to collide with. Round meshes act as spheres, "
                               "flat meshes as infinite planes, all others as their bounding box. "
                               "The shape of an object's rigid body overrides this")
    follow: FloatProperty(name="Follow", default=ARMATURE.follow, min=-1.0, soft_max=20.0,
                          **ANIMATABLE, description="Stiffness of the springs that pull bones "
                          "towards their animation, as their frequency in Hz. 0: no springs. "
                          "Negative: the preset's value. May be animated")
    damping: FloatProperty(name="Damping", default=ARMATURE.damping, min=-1.0, soft_max=2.0,
                           **SETTING, description="Damping of these springs. 1: no overshoot; "
                           "below 1: overshoots and settles. Negative: the preset's value")
    friction: FloatProperty(name="Joint Friction", default=ARMATURE.friction, min=0.0,
                            soft_max=10.0, **SETTING,
                            description="Multiplier for the default friction of all joints")
    integrator: EnumProperty(name="Solver", items=INTEGRATORS, default=ARMATURE.integrator,
                             **SETTING, description="How the motion is computed")
    step: FloatProperty(name="Time Step", default=ARMATURE.step, min=0.0, soft_max=0.02,
                        precision=5, **SETTING, description="Time step in seconds. 0: automatic. "
                        "The motion does not depend on the frame rate")
    preroll: FloatProperty(name="Pre-roll", default=ARMATURE.preroll, min=0.0, soft_max=10.0,
                           unit="TIME", **SETTING,
                           description="Seconds to simulate before the first frame")
    key_tolerance: FloatProperty(name="Tolerance (mm)", default=ARMATURE.key_tolerance, min=0.0,
                                 soft_max=10.0, precision=3, **SETTING,
                                 description="Keys that a curve does not need are removed. This is "
                                 "how far, in millimetres, it may move a bone relative to its "
                                 "parent. 0: keys of the location at every frame")
    key_angle_tolerance: FloatProperty(name="Tolerance (°)", default=ARMATURE.key_angle_tolerance,
                                       min=0.0, soft_max=1.0, precision=3, **SETTING,
                                       description="How far, in degrees, removed keys may turn a "
                                       "bone relative to its parent. 0: keys of the rotation at "
                                       "every frame")
    write_to: EnumProperty(name="Write Keys To", items=KEYED_BONES, default=ARMATURE.write_to,
                           **SETTING, description="The bones that get keys")
    exact_controls: BoolProperty(name="Exact", default=ARMATURE.exact_controls, **SETTING,
                                 description="Key tweak bones as well, so that deform bones also "
                                 "twist as simulated. If off, a tweak bone gets keys only if bones "
                                 "would be in another place without them")
    mute_constraints: BoolProperty(name="Mute Constraints", default=True, **SETTING,
                                   description="Mute constraints, drivers and curve modifiers that "
                                   "would fight the new keys")
    cutoff: FloatProperty(name="Low-Pass Cutoff", default=0.0, min=0.0, soft_max=30.0, **SETTING,
                          description="Frequency in Hz above which motion is removed as noise "
                          "before torques are computed. 0: no filter")
    muted: StringProperty(name="Muted", override=OVERRIDE, options={"HIDDEN"},
                          description="Constraints and drivers that the last bake has muted, as "
                          "JSON. They are active whenever a bake reads the animation")
    report: StringProperty(name="Report", override=OVERRIDE, options={"HIDDEN"},
                           description="Key of the report of the last bake in this session")


class SkelGoal(bpy.types.PropertyGroup):
    use: BoolProperty(name="Use", default=True, **SETTING, description="Use this goal")
    kind: EnumProperty(name="Goal Type", items=GOALS, default=GOAL.kind, **SETTING,
                       description="What the goal does")
    bone: StringProperty(name="Bone", **SETTING,
                         description="The bone that reaches the target. For Balance: the end of "
                         "the chain that may move, or empty")
    end: EnumProperty(name="End", items=ENDS, default=GOAL.end, **SETTING,
                      description="The end of the bone that reaches the target")
    target: PointerProperty(type=bpy.types.Object, name="Target", **SETTING,
                            description="The object to reach, for example an empty. It may be "
                            "animated")
    target_bone: StringProperty(name="Target Bone", **SETTING, description="If the target is an "
                                "armature: its bone whose head is the target")
    use_position: BoolProperty(name="Position", default=GOAL.position, **SETTING,
                               description="Bring the end of the bone to the target")
    use_orientation: BoolProperty(name="Rotation", default=GOAL.orientation, **SETTING,
                                  description="Give the bone the rotation of the target")
    offset: FloatVectorProperty(name="Rotation Offset", size=4, default=tuple(GOAL.offset),
                                subtype="QUATERNION", **SETTING,
                                description="Rotation of the target relative to the bone")
    chain: IntProperty(name="Chain Length", default=GOAL.chain, min=0, soft_max=20, **SETTING,
                       description="Number of bones that may move for this goal, from its own bone "
                       "upwards. 0: up to the root")
    weight: FloatProperty(name="Weight", default=GOAL.weight[0], min=0.0, soft_max=10.0,
                          **ANIMATABLE, description="Weight among goals of the same priority. 0 "
                          "turns the goal off. May be animated")
    priority: IntProperty(name="Priority", default=GOAL.priority, min=0, max=14, **SETTING,
                          description="0 is the highest priority. Goals of lower priority never "
                          "disturb those of higher priority")
    pole: PointerProperty(type=bpy.types.Object, name="Pole", **SETTING,
                          description="The elbow or knee bends towards this object")
    pole_bone: StringProperty(name="Pole Bone", **SETTING, description="If the pole is an "
                              "armature: its bone")
    axis: EnumProperty(name="Axis", items=LOOK_AXES, default=GOAL.axis, **SETTING,
                       description="The axis of the bone that points at the target")
    level: BoolProperty(name="Ignore Height", default=GOAL.level, **SETTING,
                        description="The centre of mass comes above or below the target, at any "
                        "height")


class SkelIk(bpy.types.PropertyGroup):
    goals: CollectionProperty(type=SkelGoal, name="Goals", override=OVERRIDE | {"USE_INSERTION"},
                              description="Goals of the bones")
    active: IntProperty(name="Active Goal", default=0, **SETTING,
                        description="The goal that is shown below the list")
    root: EnumProperty(name="Root", items=ROOTS, default=IK.root, **SETTING,
                       description="How the root bone may move")
    smooth: BoolProperty(name="Smooth", default=IK.smooth, **SETTING, description="Continue from "
                         "frame to frame without jumps. If off, every frame is solved by itself")
    hold_start: BoolProperty(name="Hold Start", default=IK.hold_start, **SETTING,
                             description="With Smooth: the first frame keeps the pose that is "
                             "nearest to the animation. If off, it may take another pose that "
                             "reaches the goals, if a bone would have to jump later")
    posture: BoolProperty(name="Preserve Animation", default=IK.posture, **SETTING,
                          description="Bones stay as near to their animation as the goals allow, "
                          "and return to it when a goal is turned off. If off, changes by a goal "
                          "stay added to the animation")
    tolerance: FloatProperty(name="Tolerance", default=IK.tolerance, min=1e-9, soft_max=0.01,
                             precision=6, **SETTING, description="Metres and radians: a goal with "
                             "a smaller error is reached")
    target: EnumProperty(name="Write To", items=TARGETS, default="NEW", **SETTING,
                         description="Where the keys of Bake go")
    report: StringProperty(name="Report", override=OVERRIDE, options={"HIDDEN"},
                           description="Key of the last result in this session")


CLASSES = (SkelBone, SkelArmature, SkelGoal, SkelIk)
_register, _unregister = bpy.utils.register_classes_factory(CLASSES)


@bpy.app.handlers.persistent
def _create_groups(*_given: Any) -> None:
    """Reading a property group creates it: a linked armature then has those of its override."""
    for ob in bpy.data.objects:
        linked = ob.override_library.reference if ob.override_library else None
        if ob.type == "ARMATURE" and linked:
            for each in (ob, linked):
                _ = [each.skel, each.skel_ik, *(bone.skel for bone in each.pose.bones)]


def register() -> None:
    _register()
    if compat.FORGETS_GROUPS:
        bpy.app.handlers.save_pre.append(_create_groups)
    bpy.types.PoseBone.skel = PointerProperty(type=SkelBone, override=OVERRIDE)
    bpy.types.Object.skel = PointerProperty(type=SkelArmature, override=OVERRIDE)
    bpy.types.Object.skel_ik = PointerProperty(type=SkelIk, override=OVERRIDE)


def unregister() -> None:
    if compat.FORGETS_GROUPS:
        bpy.app.handlers.save_pre.remove(_create_groups)
    del bpy.types.Object.skel_ik
    del bpy.types.Object.skel
    del bpy.types.PoseBone.skel
    _unregister()
