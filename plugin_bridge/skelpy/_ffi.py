# SPDX-License-Identifier: BSD-3-Clause
"""The public C interface of libskel for ctypes: constants, structs and functions.

plugin_bridge/generate_ffi.py writes this file from libskel/include/skel. Do not edit it.
"""

from __future__ import annotations

import ctypes as C
from typing import Any


# skel_base.h
VERSION_MAJOR = 0
VERSION_MINOR = 1
VERSION_PATCH = 0
ABI_VERSION = 65537
OK = 0
MORE = 1
E_ARGUMENT = -1
E_MEMORY = -2
E_STRUCT_SIZE = -3
E_BUFFER = -4
E_UNSUPPORTED = -5
E_BODY = -10
E_JOINT = -11
E_TREE = -12
E_MASS = -13
E_CURVE = -14
E_DOCUMENT = -20
E_SYNTAX = -21
E_TOO_LARGE = -22
E_SINGULAR = -30
E_DIVERGED = -31
STATUS_LAST_ = -9999


class Error(C.Structure):
    """skel_error of skel_base.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("status", C.c_int32),
        ("body", C.c_int32),
        ("joint", C.c_int32),
        ("text", C.c_char * 496),
    ]


class Allocator(C.Structure):
    """skel_allocator of skel_base.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("reserved", C.c_uint32),
        ("alloc", C.CFUNCTYPE(C.c_void_p, C.c_size_t, C.c_void_p)),
        ("free", C.CFUNCTYPE(None, C.c_void_p, C.c_void_p)),
        ("user", C.c_void_p),
    ]


# skel_world.h
WORLD = -1
FIELD_UNIFORM = 0
FIELD_DRAG = 1
FIELD_VORTEX = 2
FIELD_TURBULENCE = 3


class Curve(C.Structure):
    """skel_curve of skel_world.h."""

    _fields_ = [
        ("time", C.POINTER(C.c_double)),
        ("value", C.POINTER(C.c_double)),
        ("count", C.c_uint32),
        ("width", C.c_uint32),
    ]


class GroundDesc(C.Structure):
    """skel_ground_desc of skel_world.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("body", C.c_int32),
        ("point", C.c_double * 3),
        ("normal", C.c_double * 3),
        ("friction", C.c_double),
        ("a", C.c_double),
        ("b", C.c_double),
        ("d", C.c_double),
        ("stick_stiffness", C.c_double),
        ("stick_damping", C.c_double),
        ("is_rigid", C.c_int32),
        ("reserved", C.c_int32),
        ("restitution", C.c_double),
        ("tangential_restitution", C.c_double),
    ]


class WobbleDesc(C.Structure):
    """skel_wobble_desc of skel_world.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("body", C.c_int32),
        ("host", C.c_int32),
        ("reserved", C.c_int32),
        ("rest", C.c_double * 3),
        ("axis", C.c_double * 3),
        ("along_c", C.c_double),
        ("along_d", C.c_double),
        ("across_c", C.c_double),
        ("across_d", C.c_double),
        ("turn_a", C.c_double),
        ("turn_b", C.c_double),
    ]


class FieldDesc(C.Structure):
    """skel_field_desc of skel_world.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("type", C.c_int32),
        ("vector", C.c_double * 3),
        ("point", C.c_double * 3),
        ("axis", C.c_double * 3),
        ("strength", C.c_double),
        ("scale", C.c_double),
        ("period", C.c_double),
        ("density", C.c_double),
        ("coefficient", C.c_double),
        ("seed", C.c_uint32),
        ("body", C.c_int32),
    ]


# skel_model.h
JOINT_FIXED = 0
JOINT_HINGE = 1
JOINT_SLIDE = 2
JOINT_UNIVERSAL = 3
JOINT_BALL = 4
JOINT_PLANAR = 5
JOINT_SCREW = 6
COORDINATE_ANGLE = 0
COORDINATE_LENGTH = 1
COORDINATE_QUATERNION = 2
MOTION_DYNAMIC = 0
MOTION_FIXED = 1
MOTION_DRIVEN = 2
SHAPE_NONE = 0
SHAPE_SPHERE = 1
SHAPE_BOX = 2
SHAPE_CYLINDER = 3
SHAPE_CAPSULE = 4
SHAPE_ROD = 5
COLLIDE_OTHERS = 0
COLLIDE_ALL = -1
COLLIDE_NONE = -2
FLAG_SMOOTH = 1


class JointKind(C.Structure):
    """skel_joint_kind of skel_model.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("q_count", C.c_int32),
        ("dof", C.c_int32),
        ("row_count", C.c_int32),
        ("q_kind", C.c_int32 * 4),
        ("dof_kind", C.c_int32 * 3),
        ("dof_axis", C.c_int32 * 3),
        ("dof_is_inner", C.c_int32 * 3),
        ("has_axis", C.c_int32),
        ("is_through_point", C.c_int32),
        ("limit_count", C.c_int32),
        ("name", C.c_char_p),
    ]


class BodyDesc(C.Structure):
    """skel_body_desc of skel_model.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("motion", C.c_int32),
        ("name", C.c_char_p),
        ("mass", C.c_double),
        ("inertia", C.c_double * 6),
        ("position", C.c_double * 3),
        ("orientation", C.c_double * 4),
        ("velocity", C.c_double * 3),
        ("angular_velocity", C.c_double * 3),
        ("force", C.c_double * 3),
        ("torque", C.c_double * 3),
        ("force_curve", Curve),
        ("torque_curve", Curve),
        ("position_curve", Curve),
        ("orientation_curve", Curve),
        ("size", C.c_double * 3),
        ("shape", C.c_int32),
        ("unplaced", C.c_int32),
        ("pinned", C.POINTER(C.c_double)),
        ("pinned_count", C.c_uint32),
        ("flags", C.c_uint32),
        ("contacts", C.POINTER(C.c_double)),
        ("contact_count", C.c_uint32),
        ("collide", C.c_int32),
    ]


class JointLimits(C.Structure):
    """skel_joint_limits of skel_model.h."""

    _fields_ = [
        ("is_set", C.c_int32),
        ("reserved", C.c_int32),
        ("low", C.c_double * 2),
        ("high", C.c_double * 2),
        ("axis", C.c_double * 3),
        ("restitution", C.c_double),
        ("law_a", C.c_double),
        ("law_b", C.c_double),
        ("law_c", C.c_double),
        ("law_d", C.c_double),
        ("law_range", C.c_double),
    ]


class JointFollow(C.Structure):
    """skel_joint_follow of skel_model.h."""

    _fields_ = [
        ("frequency", C.c_double),
        ("damping", C.c_double),
        ("max", C.c_double),
        ("target", Curve),
        ("weight", Curve),
    ]


class JointSpring(C.Structure):
    """skel_joint_spring of skel_model.h."""

    _fields_ = [
        ("stiffness", C.c_double),
        ("damping", C.c_double),
        ("rest", C.c_double),
    ]


class JointMuscle(C.Structure):
    """skel_joint_muscle of skel_model.h."""

    _fields_ = [
        ("growth", C.c_double),
        ("max", C.c_double),
        ("start", C.c_double),
        ("feedback", C.c_double),
        ("impact_speed", C.c_double),
        ("delay", C.c_double),
        ("side", C.c_int32),
        ("reserved", C.c_int32),
    ]


class JointMimic(C.Structure):
    """skel_joint_mimic of skel_model.h."""

    _fields_ = [
        ("source", C.c_int32),
        ("reserved", C.c_int32),
        ("multiplier", C.c_double),
        ("offset", C.c_double),
    ]


class JointDesc(C.Structure):
    """skel_joint_desc of skel_model.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("type", C.c_int32),
        ("name", C.c_char_p),
        ("parent", C.c_int32),
        ("child", C.c_int32),
        ("parent_position", C.c_double * 3),
        ("parent_orientation", C.c_double * 4),
        ("child_position", C.c_double * 3),
        ("child_orientation", C.c_double * 4),
        ("q", C.c_double * 4),
        ("pitch", C.c_double),
        ("friction", C.c_double),
        ("motor", C.c_double),
        ("motor_curve", Curve),
        ("flags", C.c_int32),
        ("reserved", C.c_int32),
        ("limits", JointLimits),
        ("follow", JointFollow),
        ("spring", JointSpring),
        ("muscle", JointMuscle),
        ("mimic", JointMimic),
    ]


class ModelDesc(C.Structure):
    """skel_model_desc of skel_model.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("body_count", C.c_uint32),
        ("bodies", C.POINTER(BodyDesc)),
        ("body_stride", C.c_uint32),
        ("joint_count", C.c_uint32),
        ("joints", C.POINTER(JointDesc)),
        ("joint_stride", C.c_uint32),
        ("flags", C.c_uint32),
        ("gravity", C.c_double * 3),
        ("allocator", C.POINTER(Allocator)),
        ("grounds", C.POINTER(GroundDesc)),
        ("ground_stride", C.c_uint32),
        ("ground_count", C.c_uint32),
        ("wobbles", C.POINTER(WobbleDesc)),
        ("wobble_stride", C.c_uint32),
        ("wobble_count", C.c_uint32),
        ("fields", C.POINTER(FieldDesc)),
        ("field_stride", C.c_uint32),
        ("field_count", C.c_uint32),
        ("frame_spin", C.c_double * 3),
        ("frame_acceleration", C.c_double * 3),
        ("frame_spin_curve", Curve),
        ("frame_acceleration_curve", Curve),
    ]


# skel_dh.h
DH_STANDARD = 0
DH_MODIFIED = 1
DH_SKEW = 0
DH_INTERSECTING = 1
DH_PARALLEL = 2
DH_ANTIPARALLEL = 3
DH_COINCIDENT = 4
DH_OPPOSED = 5
DH_LAST = 6
DH_TEST_POSES = 64


class DhRow(C.Structure):
    """skel_dh_row of skel_dh.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("type", C.c_int32),
        ("a", C.c_double),
        ("alpha", C.c_double),
        ("d", C.c_double),
        ("theta", C.c_double),
        ("offset", C.c_double),
        ("sign", C.c_double),
        ("joint", C.c_int32),
        ("part", C.c_int32),
        ("relation", C.c_int32),
        ("reserved", C.c_int32),
        ("turned", C.c_double),
        ("normal_distance", C.c_double),
    ]


class DhDesc(C.Structure):
    """skel_dh_desc of skel_dh.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("convention", C.c_int32),
        ("rows", C.POINTER(DhRow)),
        ("row_count", C.c_uint32),
        ("row_stride", C.c_uint32),
        ("base", C.c_double * 7),
        ("tool", C.c_double * 7),
        ("allocator", C.POINTER(Allocator)),
    ]


class DhReceipt(C.Structure):
    """skel_dh_receipt of skel_dh.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("poses", C.c_int32),
        ("position_error", C.c_double),
        ("angle_error", C.c_double),
        ("reach", C.c_double),
        ("longest", C.c_double),
        ("longest_row", C.c_int32),
        ("turned_count", C.c_int32),
    ]


class DhAxesDesc(C.Structure):
    """skel_dh_axes_desc of skel_dh.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("convention", C.c_int32),
        ("count", C.c_uint32),
        ("reserved", C.c_uint32),
        ("points", C.POINTER(C.c_double)),
        ("directions", C.POINTER(C.c_double)),
        ("types", C.POINTER(C.c_int32)),
        ("tip", C.c_double * 7),
        ("snap", C.c_double),
        ("allocator", C.POINTER(Allocator)),
        ("parallel_tolerance", C.c_double),
    ]


class DhChainDesc(C.Structure):
    """skel_dh_chain_desc of skel_dh.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("convention", C.c_int32),
        ("root", C.c_int32),
        ("tip", C.c_int32),
        ("tool", C.c_double * 7),
        ("snap", C.c_double),
        ("allocator", C.POINTER(Allocator)),
        ("parallel_tolerance", C.c_double),
    ]


# skel_state.h
SOLVER_TREE = 0
SOLVER_PINV = 1
SOLVER_KKT = 2
INTEGRATOR_AUTO = 0
INTEGRATOR_EULER = 1
INTEGRATOR_RK4 = 2
INTEGRATOR_ADAMS = 3
INTEGRATOR_BDF = 4
INTEGRATOR_CONSERVING = 5


class StepDesc(C.Structure):
    """skel_step_desc of skel_state.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("integrator", C.c_int32),
        ("solver", C.c_int32),
        ("flags", C.c_uint32),
        ("h", C.c_double),
    ]


class ReportRow(C.Structure):
    """skel_report_row of skel_state.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("reserved", C.c_uint32),
        ("time", C.c_double),
        ("kinetic", C.c_double),
        ("potential", C.c_double),
        ("work_motor", C.c_double),
        ("work_friction", C.c_double),
        ("work_load", C.c_double),
        ("work_drive", C.c_double),
        ("momentum", C.c_double * 3),
        ("angular_momentum", C.c_double * 3),
        ("impulse", C.c_double * 3),
        ("angular_impulse", C.c_double * 3),
        ("joint_gap", C.c_double),
        ("misalignment", C.c_double),
        ("limit_violation", C.c_double),
        ("work_contact", C.c_double),
        ("elastic", C.c_double),
        ("ground_force", C.c_double * 3),
        ("contact_depth", C.c_double),
        ("contacts", C.c_double),
    ]


# skel_inverse.h
INVERSE_ACROSS_EVENT = 1
INVERSE_LAW = 2
INVERSE_UNSOLVED = 4


class InverseDesc(C.Structure):
    """skel_inverse_desc of skel_inverse.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("sample_count", C.c_uint32),
        ("model", C.c_void_p),
        ("poses", C.POINTER(C.c_double)),
        ("sample_rate", C.c_double),
        ("start", C.c_double),
        ("cutoff", C.c_double),
        ("allocator", C.POINTER(Allocator)),
    ]


class InverseContact(C.Structure):
    """skel_inverse_contact of skel_inverse.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("body", C.c_int32),
        ("other", C.c_int32),
        ("ground", C.c_int32),
        ("point", C.c_double * 3),
        ("normal", C.c_double * 3),
        ("force", C.c_double * 3),
        ("depth", C.c_double),
        ("law", C.c_double),
    ]


class InverseSummary(C.Structure):
    """skel_inverse_summary of skel_inverse.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("order", C.c_int32),
        ("cutoff", C.c_double),
        ("joint_gap", C.c_double),
        ("misalignment", C.c_double),
        ("filter_shift", C.c_double),
        ("filter_move", C.c_double),
        ("noise", C.c_double),
        ("suggested_cutoff", C.c_double),
        ("noise_joint", C.c_int32),
        ("reserved", C.c_int32),
        ("residual_force", C.c_double),
        ("residual_torque", C.c_double),
        ("residual_sample", C.c_int32),
        ("contact_samples", C.c_int32),
        ("event_samples", C.c_int32),
        ("law_samples", C.c_int32),
    ]


class FlightDesc(C.Structure):
    """skel_flight_desc of skel_flight.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("has_turns", C.c_int32),
        ("model", C.c_void_p),
        ("take_off", C.POINTER(C.c_double)),
        ("landing", C.POINTER(C.c_double)),
        ("duration", C.c_double),
        ("sample_rate", C.c_double),
        ("about", C.c_double * 3),
        ("tolerance", C.c_double),
        ("turns", C.c_int32),
        ("reserved", C.c_int32),
        ("allocator", C.POINTER(Allocator)),
    ]


class FlightSummary(C.Structure):
    """skel_flight_summary of skel_flight.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("turns", C.c_int32),
        ("angular_momentum", C.c_double * 3),
        ("velocity", C.c_double * 3),
        ("turned", C.c_double),
        ("residual_angle", C.c_double),
        ("residual_distance", C.c_double),
        ("integration_error", C.c_double),
        ("joint_gap", C.c_double),
        ("misalignment", C.c_double),
        ("iterations", C.c_int32),
        ("steps", C.c_int32),
        ("has_loads", C.c_int32),
        ("reserved", C.c_int32),
    ]


# skel_ik.h
IK_MAX_PRIORITY = 15
GOAL_PLACE = 0
GOAL_AIM = 1
GOAL_POLE = 2
GOAL_CENTRE = 3
GOAL_X = 1
GOAL_Y = 2
GOAL_Z = 4
GOAL_POSITION = 7
GOAL_ORIENTATION = 8
IK_POSE = 0
IK_TRACK = 1
IK_DAMPED = 0
IK_NEWTON = 1
IK_ROOT_HELD = 0
IK_ROOT_SHIFTS = 1
IK_ROOT_MOVES = 2
IK_START_FREE = 0
IK_START_HELD = 1


class GoalDesc(C.Structure):
    """skel_goal_desc of skel_ik.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("kind", C.c_int32),
        ("body", C.c_int32),
        ("relative_to", C.c_int32),
        ("parts", C.c_uint32),
        ("priority", C.c_int32),
        ("weight", C.c_double),
        ("point", C.c_double * 3),
        ("frame", C.c_double * 4),
        ("axis", C.c_double * 3),
        ("from", C.c_int32),
        ("to", C.c_int32),
        ("from_point", C.c_double * 3),
        ("to_point", C.c_double * 3),
        ("position", C.c_double * 3),
        ("orientation", C.c_double * 4),
        ("joints", C.POINTER(C.c_int32)),
        ("joint_count", C.c_uint32),
        ("chain_depth", C.c_int32),
        ("chain_root", C.c_int32),
        ("reserved", C.c_int32),
    ]


class IkDesc(C.Structure):
    """skel_ik_desc of skel_ik.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("mode", C.c_int32),
        ("model", C.c_void_p),
        ("goals", C.POINTER(GoalDesc)),
        ("goal_stride", C.c_uint32),
        ("goal_count", C.c_uint32),
        ("method", C.c_int32),
        ("root", C.c_int32),
        ("tolerance", C.c_double),
        ("max_ms", C.c_double),
        ("max_iterations", C.c_int32),
        ("max_restarts", C.c_int32),
        ("stiffness", C.POINTER(C.c_double)),
        ("max_step", C.POINTER(C.c_double)),
        ("posture", C.POINTER(C.c_double)),
        ("allocator", C.POINTER(Allocator)),
    ]


class IkReceipt(C.Structure):
    """skel_ik_receipt of skel_ik.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("reached", C.c_int32),
        ("residual", C.c_double),
        ("iterations", C.c_int32),
        ("restarts", C.c_int32),
        ("active_limits", C.c_int32),
        ("reserved", C.c_int32),
        ("smallest_singular_value", C.c_double),
        ("us", C.c_double),
    ]


class TwoBoneDesc(C.Structure):
    """skel_two_bone_desc of skel_ik.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("flags", C.c_uint32),
        ("root", C.c_double * 3),
        ("target", C.c_double * 3),
        ("pole", C.c_double * 3),
        ("length1", C.c_double),
        ("length2", C.c_double),
        ("softness", C.c_double),
    ]


class TwoBone(C.Structure):
    """skel_two_bone of skel_ik.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("reached", C.c_int32),
        ("elbow", C.c_double * 3),
        ("tip", C.c_double * 3),
        ("bend", C.c_double),
    ]


class GoalTrack(C.Structure):
    """skel_goal_track of skel_ik.h."""

    _fields_ = [
        ("positions", C.POINTER(C.c_double)),
        ("orientations", C.POINTER(C.c_double)),
        ("weights", C.POINTER(C.c_double)),
        ("position_count", C.c_uint32),
        ("orientation_count", C.c_uint32),
        ("weight_count", C.c_uint32),
        ("reserved", C.c_uint32),
    ]


class IkMotionDesc(C.Structure):
    """skel_ik_motion_desc of skel_ik.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("sample_count", C.c_uint32),
        ("ik", C.POINTER(IkDesc)),
        ("tracks", C.POINTER(GoalTrack)),
        ("sample_rate", C.c_double),
        ("seed", C.POINTER(C.c_double)),
        ("base", C.POINTER(C.c_double)),
        ("blend_in", C.c_uint32),
        ("blend_out", C.c_uint32),
        ("allocator", C.POINTER(Allocator)),
        ("base_poses", C.POINTER(C.c_double)),
        ("base_posture", C.c_uint32),
        ("start", C.c_uint32),
        ("causal", C.c_uint32),
        ("reserved", C.c_uint32),
    ]


class IkJump(C.Structure):
    """skel_ik_jump of skel_ik.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("sample", C.c_int32),
        ("joint", C.c_int32),
        ("is_length", C.c_int32),
        ("size", C.c_double),
    ]


class BakeDesc(C.Structure):
    """skel_bake_desc of skel_bake.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("integrator", C.c_int32),
        ("solver", C.c_int32),
        ("sample_count", C.c_uint32),
        ("sample_rate", C.c_double),
        ("step", C.c_double),
        ("tolerance", C.c_double),
        ("model", C.c_void_p),
        ("state", C.c_void_p),
        ("allocator", C.POINTER(Allocator)),
        ("preroll", C.c_double),
    ]


class BakeSummary(C.Structure):
    """skel_bake_summary of skel_bake.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("integrator", C.c_int32),
        ("solver", C.c_int32),
        ("warning_count", C.c_uint32),
        ("steps", C.c_double),
        ("step", C.c_double),
        ("wall_seconds", C.c_double),
        ("energy_drift", C.c_double),
        ("momentum_drift", C.c_double),
        ("angular_momentum_drift", C.c_double),
        ("joint_gap", C.c_double),
        ("misalignment", C.c_double),
        ("limit_violation", C.c_double),
        ("rejected_steps", C.c_double),
        ("evaluations", C.c_double),
        ("last_order", C.c_int32),
        ("reserved", C.c_int32),
        ("peak_ground_force", C.c_double),
        ("peak_ground_time", C.c_double),
        ("contact_depth", C.c_double),
        ("energy_gain", C.c_double),
        ("rest_time", C.c_double),
    ]


# skel_channels.h
KEY_NUMBERS = 6
ROTATION_AXIS_ANGLE = -1
ROTATION_QUATERNION = 0
ROTATION_XYZ = 1
ROTATION_XZY = 2
ROTATION_YXZ = 3
ROTATION_YZX = 4
ROTATION_ZXY = 5
ROTATION_ZYX = 6
BONE_KEEPS_ROTATION = 1
BONE_KEEPS_SCALE = 2
BONE_PARENT_AXES = 4
BONE_POSED = 8
CHANNEL_LOCATION = 1
CHANNEL_ROTATION = 2
KEYS_VECTOR = -2


class BoneDesc(C.Structure):
    """skel_bone_desc of skel_channels.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("parent", C.c_int32),
        ("body", C.c_int32),
        ("rotation", C.c_int32),
        ("flags", C.c_uint32),
        ("channels", C.c_uint32),
        ("scale", C.c_double),
        ("rest", C.c_double * 16),
        ("offset", C.c_double * 7),
        ("near", C.c_double * 4),
    ]


class RigDesc(C.Structure):
    """skel_rig_desc of skel_channels.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("bone_count", C.c_uint32),
        ("bones", C.POINTER(BoneDesc)),
        ("bone_stride", C.c_uint32),
        ("body_count", C.c_uint32),
        ("sample_count", C.c_uint32),
        ("object_count", C.c_uint32),
        ("poses", C.POINTER(C.c_double)),
        ("object", C.POINTER(C.c_float)),
        ("matrices", C.POINTER(C.c_float)),
        ("matrix_count", C.c_uint32),
        ("reserved", C.c_uint32),
        ("unit", C.c_double),
        ("first_frame", C.c_double),
        ("frame_step", C.c_double),
        ("allocator", C.POINTER(Allocator)),
    ]


class KeysDesc(C.Structure):
    """skel_keys_desc of skel_channels.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("kind", C.c_int32),
        ("channel_count", C.c_uint32),
        ("key_count", C.c_uint32),
        ("keys", C.POINTER(C.c_float)),
        ("tolerance", C.c_double),
        ("allocator", C.POINTER(Allocator)),
    ]


# skel_fit.h
FIT_SAMPLES = 8000
FIT_SAMPLES_MAX = 100000
FIT_COUNT_MAX = 10000000
FIT_WEIGHTS = 16


class FitDesc(C.Structure):
    """skel_fit_desc of skel_fit.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("vertex_count", C.c_uint32),
        ("triangle_count", C.c_uint32),
        ("bone_count", C.c_uint32),
        ("sample_count", C.c_uint32),
        ("reserved", C.c_uint32),
        ("vertices", C.POINTER(C.c_double)),
        ("triangles", C.POINTER(C.c_int32)),
        ("offsets", C.POINTER(C.c_int32)),
        ("bones", C.POINTER(C.c_int32)),
        ("weights", C.POINTER(C.c_double)),
        ("allocator", C.POINTER(Allocator)),
    ]


class FitInfo(C.Structure):
    """skel_fit_info of skel_fit.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("is_closed", C.c_int32),
        ("sample_count", C.c_uint32),
        ("pair_count", C.c_uint32),
        ("low", C.c_double * 3),
        ("high", C.c_double * 3),
        ("size", C.c_double),
        ("area", C.c_double),
        ("volume", C.c_double),
    ]


class FitShapeDesc(C.Structure):
    """skel_fit_shape_desc of skel_fit.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("body", C.c_int32),
        ("has_target", C.c_int32),
        ("is_end", C.c_int32),
        ("joint", C.c_double * 3),
        ("target", C.c_double * 3),
        ("radii", C.POINTER(C.c_double)),
        ("radius_count", C.c_uint32),
        ("reserved", C.c_uint32),
    ]


class FitShape(C.Structure):
    """skel_fit_shape of skel_fit.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("shape", C.c_int32),
        ("sample_count", C.c_uint32),
        ("reserved", C.c_uint32),
        ("position", C.c_double * 3),
        ("orientation", C.c_double * 4),
        ("size", C.c_double * 3),
        ("residual", C.c_double),
        ("cover", C.c_double),
        ("inside", C.c_double),
        ("volume", C.c_double),
    ]


# skel_scene.h
VALUE_NULL = 0
VALUE_FALSE = 1
VALUE_TRUE = 2
VALUE_NUMBER = 3
VALUE_STRING = 4
VALUE_ARRAY = 5
VALUE_OBJECT = 6
VALUE_NUMBERS = 7


class Value(C.Structure):
    """skel_value of skel_scene.h."""

    _fields_ = [
        ("kind", C.c_int32),
        ("count", C.c_uint32),
        ("name", C.c_char_p),
        ("text", C.c_char_p),
        ("numbers", C.POINTER(C.c_double)),
        ("number", C.c_double),
    ]


class SceneDhDesc(C.Structure):
    """skel_scene_dh_desc of skel_robot.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("convention", C.c_int32),
        ("root", C.c_char_p),
        ("tip", C.c_char_p),
        ("snap", C.c_double),
        ("is_csv", C.c_int32),
        ("reserved", C.c_int32),
        ("parallel_tolerance", C.c_double),
    ]


class SceneEdit(C.Structure):
    """skel_scene_edit of skel_track.h."""

    _fields_ = [
        ("struct_size", C.c_uint32),
        ("sample_count", C.c_uint32),
        ("poses", C.POINTER(C.c_double)),
        ("velocities", C.POINTER(C.c_double)),
        ("motor", C.POINTER(C.c_double)),
        ("force", C.POINTER(C.c_double)),
        ("torque", C.POINTER(C.c_double)),
        ("sample_rate", C.c_double),
        ("has_bake", C.c_int32),
        ("frame_start", C.c_int32),
        ("frame_end", C.c_int32),
        ("reserved", C.c_int32),
        ("fps", C.c_double),
    ]


STRUCTS: dict[str, type[C.Structure]] = {  # name in C: class
    "skel_error": Error,
    "skel_allocator": Allocator,
    "skel_curve": Curve,
    "skel_ground_desc": GroundDesc,
    "skel_wobble_desc": WobbleDesc,
    "skel_field_desc": FieldDesc,
    "skel_joint_kind": JointKind,
    "skel_body_desc": BodyDesc,
    "skel_joint_limits": JointLimits,
    "skel_joint_follow": JointFollow,
    "skel_joint_spring": JointSpring,
    "skel_joint_muscle": JointMuscle,
    "skel_joint_mimic": JointMimic,
    "skel_joint_desc": JointDesc,
    "skel_model_desc": ModelDesc,
    "skel_dh_row": DhRow,
    "skel_dh_desc": DhDesc,
    "skel_dh_receipt": DhReceipt,
    "skel_dh_axes_desc": DhAxesDesc,
    "skel_dh_chain_desc": DhChainDesc,
    "skel_step_desc": StepDesc,
    "skel_report_row": ReportRow,
    "skel_inverse_desc": InverseDesc,
    "skel_inverse_contact": InverseContact,
    "skel_inverse_summary": InverseSummary,
    "skel_flight_desc": FlightDesc,
    "skel_flight_summary": FlightSummary,
    "skel_goal_desc": GoalDesc,
    "skel_ik_desc": IkDesc,
    "skel_ik_receipt": IkReceipt,
    "skel_two_bone_desc": TwoBoneDesc,
    "skel_two_bone": TwoBone,
    "skel_goal_track": GoalTrack,
    "skel_ik_motion_desc": IkMotionDesc,
    "skel_ik_jump": IkJump,
    "skel_bake_desc": BakeDesc,
    "skel_bake_summary": BakeSummary,
    "skel_bone_desc": BoneDesc,
    "skel_rig_desc": RigDesc,
    "skel_keys_desc": KeysDesc,
    "skel_fit_desc": FitDesc,
    "skel_fit_info": FitInfo,
    "skel_fit_shape_desc": FitShapeDesc,
    "skel_fit_shape": FitShape,
    "skel_value": Value,
    "skel_scene_dh_desc": SceneDhDesc,
    "skel_scene_edit": SceneEdit,
}

FUNCTIONS: dict[str, tuple[Any, ...]] = {  # name: (result, *arguments)
    # skel_base.h
    "skel_version": (C.c_char_p, ),
    "skel_abi_version": (C.c_uint32, ),
    "skel_status_text": (C.c_char_p, C.c_int32),
    "skel_error_init_sized": (None, C.POINTER(Error), C.c_size_t),
    # skel_world.h
    "skel_ground_desc_init_sized": (None, C.POINTER(GroundDesc), C.c_size_t),
    "skel_wobble_desc_init_sized": (None, C.POINTER(WobbleDesc), C.c_size_t),
    "skel_field_desc_init_sized": (None, C.POINTER(FieldDesc), C.c_size_t),
    # skel_model.h
    "skel_model_desc_init_sized": (None, C.POINTER(ModelDesc), C.c_size_t),
    "skel_body_desc_init_sized": (None, C.POINTER(BodyDesc), C.c_size_t),
    "skel_joint_desc_init_sized": (None, C.POINTER(JointDesc), C.c_size_t),
    "skel_shape_inertia": (C.c_int32, C.c_int32, C.POINTER(C.c_double), C.c_double,
                           C.POINTER(C.c_double)),
    "skel_joint_kind_get": (C.c_int32, C.c_int32, C.POINTER(JointKind)),
    "skel_model_create": (C.c_int32, C.POINTER(ModelDesc), C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_model_destroy": (None, C.c_void_p),
    "skel_model_body_count": (C.c_int32, C.c_void_p),
    "skel_model_joint_count": (C.c_int32, C.c_void_p),
    "skel_model_q_count": (C.c_int32, C.c_void_p),
    "skel_model_dof": (C.c_int32, C.c_void_p),
    "skel_model_find_body": (C.c_int32, C.c_void_p, C.c_char_p),
    "skel_model_find_joint": (C.c_int32, C.c_void_p, C.c_char_p),
    "skel_model_body_name": (C.c_char_p, C.c_void_p, C.c_int32),
    "skel_model_joint_name": (C.c_char_p, C.c_void_p, C.c_int32),
    "skel_model_joint_q_offset": (C.c_int32, C.c_void_p, C.c_int32),
    "skel_model_joint_dof_offset": (C.c_int32, C.c_void_p, C.c_int32),
    "skel_model_mimic_source": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(C.c_double),
                                C.POINTER(C.c_double)),
    "skel_model_mimic_count": (C.c_int32, C.c_void_p),
    "skel_model_apply_mimic": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_model_get_gravity": (None, C.c_void_p, C.POINTER(C.c_double)),
    "skel_model_get_body": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(BodyDesc)),
    "skel_model_get_joint": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(JointDesc)),
    "skel_model_ground_count": (C.c_int32, C.c_void_p),
    "skel_model_wobble_count": (C.c_int32, C.c_void_p),
    "skel_model_field_count": (C.c_int32, C.c_void_p),
    "skel_model_get_ground": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(GroundDesc)),
    "skel_model_get_wobble": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(WobbleDesc)),
    "skel_model_get_field": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(FieldDesc)),
    "skel_model_get_frame": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.POINTER(C.c_double),
                             C.POINTER(Curve), C.POINTER(Curve)),
    "skel_model_check_dynamics": (C.c_int32, C.c_void_p, C.POINTER(Error)),
    # skel_dh.h
    "skel_dh_desc_init_sized": (None, C.POINTER(DhDesc), C.c_size_t),
    "skel_dh_row_init_sized": (None, C.POINTER(DhRow), C.c_size_t),
    "skel_dh_create": (C.c_int32, C.POINTER(DhDesc), C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_dh_destroy": (None, C.c_void_p),
    "skel_dh_row_count": (C.c_int32, C.c_void_p),
    "skel_dh_convention": (C.c_int32, C.c_void_p),
    "skel_dh_get_row": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(DhRow)),
    "skel_dh_get_ends": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.POINTER(C.c_double)),
    "skel_dh_get_receipt": (C.c_int32, C.c_void_p, C.POINTER(DhReceipt)),
    "skel_dh_compare": (C.c_int32, C.c_void_p, C.c_void_p, C.POINTER(DhReceipt)),
    "skel_dh_convert": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_dh_frames": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.POINTER(C.c_double)),
    "skel_dh_coordinates": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.POINTER(C.c_double)),
    "skel_dh_get_descs": (C.c_int32, C.c_void_p, C.POINTER(BodyDesc), C.c_size_t,
                          C.POINTER(JointDesc), C.c_size_t),
    "skel_dh_axes_desc_init_sized": (None, C.POINTER(DhAxesDesc), C.c_size_t),
    "skel_dh_from_axes": (C.c_int32, C.POINTER(DhAxesDesc), C.POINTER(C.c_void_p),
                          C.POINTER(Error)),
    "skel_dh_chain_desc_init_sized": (None, C.POINTER(DhChainDesc), C.c_size_t),
    "skel_dh_extract": (C.c_int32, C.c_void_p, C.POINTER(DhChainDesc), C.POINTER(C.c_void_p),
                        C.POINTER(Error)),
    # skel_state.h
    "skel_state_create": (C.c_int32, C.c_void_p, C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_state_destroy": (None, C.c_void_p),
    "skel_state_copy": (C.c_int32, C.c_void_p, C.c_void_p),
    "skel_state_model": (C.c_void_p, C.c_void_p),
    "skel_state_time": (C.c_double, C.c_void_p),
    "skel_state_set_time": (None, C.c_void_p, C.c_double),
    "skel_state_get_poses": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_state_set_poses": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_state_get_velocities": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_state_set_velocities": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_state_get_q": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_state_set_q": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_state_get_qd": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_state_set_qd": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_state_project": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.POINTER(C.c_double),
                           C.POINTER(Error)),
    "skel_fk": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.POINTER(C.c_double)),
    "skel_accelerations": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(C.c_double),
                           C.POINTER(C.c_double), C.POINTER(Error)),
    "skel_step_desc_init_sized": (None, C.POINTER(StepDesc), C.c_size_t),
    "skel_step": (C.c_int32, C.c_void_p, C.POINTER(StepDesc), C.POINTER(Error)),
    "skel_report": (C.c_int32, C.c_void_p, C.POINTER(ReportRow)),
    # skel_inverse.h
    "skel_inverse_dynamics": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.POINTER(C.c_double),
                              C.POINTER(C.c_double), C.POINTER(C.c_double), C.POINTER(C.c_double),
                              C.POINTER(Error)),
    "skel_inverse_desc_init_sized": (None, C.POINTER(InverseDesc), C.c_size_t),
    "skel_inverse_create": (C.c_int32, C.POINTER(InverseDesc), C.POINTER(C.c_void_p),
                            C.POINTER(Error)),
    "skel_inverse_destroy": (None, C.c_void_p),
    "skel_inverse_sample_count": (C.c_int32, C.c_void_p),
    "skel_inverse_free_root": (C.c_int32, C.c_void_p, C.c_int32),
    "skel_inverse_q": (C.POINTER(C.c_double), C.c_void_p),
    "skel_inverse_qd": (C.POINTER(C.c_double), C.c_void_p),
    "skel_inverse_qdd": (C.POINTER(C.c_double), C.c_void_p),
    "skel_inverse_torque": (C.POINTER(C.c_double), C.c_void_p),
    "skel_inverse_wrench": (C.POINTER(C.c_double), C.c_void_p),
    "skel_inverse_residual": (C.POINTER(C.c_double), C.c_void_p),
    "skel_inverse_power": (C.POINTER(C.c_double), C.c_void_p),
    "skel_inverse_uncertainty": (C.POINTER(C.c_double), C.c_void_p),
    "skel_inverse_flags": (C.POINTER(C.c_int32), C.c_void_p),
    "skel_inverse_contact_count": (C.c_int32, C.c_void_p, C.c_int32),
    "skel_inverse_get_contact": (C.c_int32, C.c_void_p, C.c_int32, C.c_int32,
                                 C.POINTER(InverseContact)),
    "skel_inverse_get_state": (C.c_int32, C.c_void_p, C.c_int32, C.c_void_p, C.POINTER(C.c_double),
                               C.POINTER(C.c_double)),
    "skel_inverse_get_summary": (C.c_int32, C.c_void_p, C.POINTER(InverseSummary)),
    # skel_flight.h
    "skel_flight_desc_init_sized": (None, C.POINTER(FlightDesc), C.c_size_t),
    "skel_flight_solve": (C.c_int32, C.POINTER(FlightDesc), C.POINTER(C.c_void_p),
                          C.POINTER(Error)),
    "skel_flight_destroy": (None, C.c_void_p),
    "skel_flight_sample_count": (C.c_int32, C.c_void_p),
    "skel_flight_poses": (C.POINTER(C.c_double), C.c_void_p),
    "skel_flight_velocities": (C.POINTER(C.c_double), C.c_void_p),
    "skel_flight_q": (C.POINTER(C.c_double), C.c_void_p),
    "skel_flight_get_summary": (C.c_int32, C.c_void_p, C.POINTER(FlightSummary)),
    # skel_ik.h
    "skel_goal_desc_init_sized": (None, C.POINTER(GoalDesc), C.c_size_t),
    "skel_ik_desc_init_sized": (None, C.POINTER(IkDesc), C.c_size_t),
    "skel_ik_create": (C.c_int32, C.POINTER(IkDesc), C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_ik_destroy": (None, C.c_void_p),
    "skel_ik_set_target": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(C.c_double),
                           C.POINTER(C.c_double)),
    "skel_ik_set_weight": (C.c_int32, C.c_void_p, C.c_int32, C.c_double),
    "skel_ik_set_roots": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_ik_solve": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.POINTER(IkReceipt),
                      C.POINTER(Error)),
    "skel_ik_get_poses": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_ik_get_residual": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(C.c_double),
                             C.POINTER(C.c_double)),
    "skel_ik_get_active": (C.c_int32, C.c_void_p, C.POINTER(C.c_int32)),
    "skel_jacobian": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.c_int32,
                      C.POINTER(C.c_double), C.POINTER(C.c_double)),
    "skel_two_bone_plane": (C.c_int32, C.POINTER(C.c_double), C.c_double, C.c_double,
                            C.POINTER(C.c_double), C.POINTER(C.c_double), C.POINTER(C.c_double)),
    "skel_two_bone_desc_init_sized": (None, C.POINTER(TwoBoneDesc), C.c_size_t),
    "skel_two_bone_solve": (C.c_int32, C.POINTER(TwoBoneDesc), C.POINTER(TwoBone)),
    "skel_model_create_planar": (C.c_int32, C.POINTER(C.c_double), C.POINTER(C.c_double),
                                 C.c_uint32, C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_ik_motion_desc_init_sized": (None, C.POINTER(IkMotionDesc), C.c_size_t),
    "skel_ik_motion_start": (C.c_int32, C.POINTER(IkMotionDesc), C.POINTER(C.c_void_p),
                             C.POINTER(Error)),
    "skel_ik_motion_destroy": (None, C.c_void_p),
    "skel_ik_motion_advance": (C.c_int32, C.c_void_p, C.c_double),
    "skel_ik_motion_progress": (C.c_double, C.c_void_p),
    "skel_ik_motion_samples_done": (C.c_int32, C.c_void_p),
    "skel_ik_motion_sample_count": (C.c_int32, C.c_void_p),
    "skel_ik_motion_poses": (C.POINTER(C.c_double), C.c_void_p),
    "skel_ik_motion_q": (C.POINTER(C.c_double), C.c_void_p),
    "skel_ik_motion_receipts": (C.POINTER(IkReceipt), C.c_void_p),
    "skel_ik_motion_residuals": (C.POINTER(C.c_double), C.c_void_p),
    "skel_ik_motion_jump_count": (C.c_int32, C.c_void_p),
    "skel_ik_motion_get_jump": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(IkJump)),
    "skel_ik_motion_get_start": (C.c_int32, C.c_void_p, C.POINTER(IkJump)),
    "skel_ik_motion_repaired_count": (C.c_int32, C.c_void_p),
    # skel_bake.h
    "skel_bake_desc_init_sized": (None, C.POINTER(BakeDesc), C.c_size_t),
    "skel_bake_start": (C.c_int32, C.POINTER(BakeDesc), C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_bake_destroy": (None, C.c_void_p),
    "skel_bake_advance": (C.c_int32, C.c_void_p, C.c_double),
    "skel_bake_progress": (C.c_double, C.c_void_p),
    "skel_bake_samples_done": (C.c_int32, C.c_void_p),
    "skel_bake_get_error": (None, C.c_void_p, C.POINTER(Error)),
    "skel_bake_poses": (C.POINTER(C.c_double), C.c_void_p),
    "skel_bake_velocities": (C.POINTER(C.c_double), C.c_void_p),
    "skel_bake_q": (C.POINTER(C.c_double), C.c_void_p),
    "skel_bake_get_report": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(ReportRow)),
    "skel_bake_get_summary": (C.c_int32, C.c_void_p, C.POINTER(BakeSummary)),
    "skel_bake_warning": (C.c_char_p, C.c_void_p, C.c_int32),
    "skel_integrator_name": (C.c_char_p, C.c_int32),
    "skel_solver_name": (C.c_char_p, C.c_int32),
    # skel_channels.h
    "skel_bone_desc_init_sized": (None, C.POINTER(BoneDesc), C.c_size_t),
    "skel_rig_desc_init_sized": (None, C.POINTER(RigDesc), C.c_size_t),
    "skel_bake_channels": (C.c_int32, C.POINTER(RigDesc), C.POINTER(C.c_float), C.c_size_t,
                           C.POINTER(C.c_size_t), C.POINTER(Error)),
    "skel_rig_poses": (C.c_int32, C.POINTER(RigDesc), C.POINTER(C.c_double), C.POINTER(Error)),
    "skel_rig_joints": (C.c_int32, C.POINTER(RigDesc), C.POINTER(C.c_double), C.POINTER(Error)),
    "skel_keys_desc_init_sized": (None, C.POINTER(KeysDesc), C.c_size_t),
    "skel_keys_reduce": (C.c_int32, C.POINTER(KeysDesc), C.POINTER(C.c_float), C.c_size_t,
                         C.POINTER(C.c_uint32), C.POINTER(Error)),
    # skel_fit.h
    "skel_fit_desc_init_sized": (None, C.POINTER(FitDesc), C.c_size_t),
    "skel_fit_create": (C.c_int32, C.POINTER(FitDesc), C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_fit_destroy": (None, C.c_void_p),
    "skel_fit_get_info": (C.c_int32, C.c_void_p, C.POINTER(FitInfo)),
    "skel_fit_get_shares": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    "skel_fit_get_shared": (C.c_int32, C.c_void_p, C.POINTER(C.c_int32), C.POINTER(C.c_double)),
    "skel_fit_get_shared_middle": (C.c_int32, C.c_void_p, C.c_int32, C.c_int32,
                                   C.POINTER(C.c_double), C.POINTER(C.c_double)),
    "skel_fit_get_reach": (C.c_int32, C.c_void_p, C.POINTER(C.c_int32), C.c_uint32,
                           C.POINTER(C.c_double), C.c_double, C.POINTER(C.c_double)),
    "skel_fit_set_bodies": (C.c_int32, C.c_void_p, C.POINTER(C.c_int32), C.c_uint32,
                            C.POINTER(Error)),
    "skel_fit_shape_desc_init_sized": (None, C.POINTER(FitShapeDesc), C.c_size_t),
    "skel_fit_solve_shape": (C.c_int32, C.c_void_p, C.POINTER(FitShapeDesc), C.POINTER(FitShape),
                             C.POINTER(Error)),
    "skel_fit_get_volumes": (C.c_int32, C.c_void_p, C.POINTER(C.c_double), C.POINTER(C.c_double),
                             C.POINTER(C.c_double)),
    # skel_scene.h
    "skel_scene_parse": (C.c_int32, C.c_char_p, C.c_size_t, C.POINTER(C.c_void_p),
                         C.POINTER(Error)),
    "skel_scene_create": (C.c_int32, C.POINTER(Value), C.c_uint32, C.c_uint32,
                          C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_scene_destroy": (None, C.c_void_p),
    "skel_scene_check": (C.c_int32, C.c_char_p, C.c_size_t, C.POINTER(C.c_char), C.c_size_t,
                         C.POINTER(C.c_size_t)),
    "skel_scene_warning": (C.c_char_p, C.c_void_p, C.c_int32),
    "skel_scene_write": (C.c_int32, C.c_void_p, C.POINTER(C.c_char), C.c_size_t,
                         C.POINTER(C.c_size_t)),
    "skel_scene_model": (C.c_void_p, C.c_void_p),
    "skel_scene_name": (C.c_char_p, C.c_void_p),
    "skel_scene_bake_start": (C.c_int32, C.c_void_p, C.POINTER(C.c_void_p), C.POINTER(Error)),
    "skel_scene_get_bake_desc": (C.c_int32, C.c_void_p, C.POINTER(BakeDesc)),
    "skel_scene_fps": (C.c_double, C.c_void_p),
    "skel_scene_frame_start": (C.c_int32, C.c_void_p),
    "skel_scene_frame_end": (C.c_int32, C.c_void_p),
    "skel_scene_get_ik_desc": (C.c_int32, C.c_void_p, C.POINTER(IkMotionDesc)),
    "skel_scene_goal_name": (C.c_char_p, C.c_void_p, C.c_int32),
    "skel_scene_get_middle_q": (C.c_int32, C.c_void_p, C.POINTER(C.c_double)),
    # skel_robot.h
    "skel_scene_frame_count": (C.c_int32, C.c_void_p),
    "skel_scene_frame_name": (C.c_char_p, C.c_void_p, C.c_int32),
    "skel_scene_get_frame": (C.c_int32, C.c_void_p, C.c_int32, C.POINTER(C.c_int32),
                             C.POINTER(C.c_double)),
    "skel_scene_tool": (C.c_int32, C.c_void_p),
    "skel_scene_pose_count": (C.c_int32, C.c_void_p),
    "skel_scene_pose_name": (C.c_char_p, C.c_void_p, C.c_int32),
    "skel_scene_pose_q": (C.POINTER(C.c_double), C.c_void_p, C.c_int32),
    "skel_scene_dh_desc_init_sized": (None, C.POINTER(SceneDhDesc), C.c_size_t),
    "skel_scene_write_dh": (C.c_int32, C.c_void_p, C.POINTER(SceneDhDesc), C.POINTER(C.c_char),
                            C.c_size_t, C.POINTER(C.c_size_t), C.POINTER(Error)),
    "skel_scene_dh_report": (C.c_int32, C.c_void_p, C.POINTER(SceneDhDesc), C.POINTER(C.c_char),
                             C.c_size_t, C.POINTER(C.c_size_t), C.POINTER(Error)),
    "skel_scene_write_urdf": (C.c_int32, C.c_void_p, C.POINTER(C.c_char), C.c_size_t,
                              C.POINTER(C.c_size_t), C.POINTER(Error)),
    "skel_dh_rewrite": (C.c_int32, C.c_char_p, C.c_size_t, C.c_int32, C.c_int32,
                        C.POINTER(C.c_char), C.c_size_t, C.POINTER(C.c_size_t), C.POINTER(Error)),
    "skel_dh_rewrite_report": (C.c_int32, C.c_char_p, C.c_size_t, C.c_int32, C.POINTER(C.c_char),
                               C.c_size_t, C.POINTER(C.c_size_t), C.POINTER(Error)),
    # skel_track.h
    "skel_track_parse": (C.c_int32, C.c_char_p, C.c_size_t, C.c_void_p, C.POINTER(C.c_void_p),
                         C.POINTER(Error)),
    "skel_track_destroy": (None, C.c_void_p),
    "skel_track_frame_count": (C.c_int32, C.c_void_p),
    "skel_track_frame_start": (C.c_int32, C.c_void_p),
    "skel_track_fps": (C.c_double, C.c_void_p),
    "skel_track_poses": (C.POINTER(C.c_double), C.c_void_p),
    "skel_scene_edit_init_sized": (None, C.POINTER(SceneEdit), C.c_size_t),
    "skel_scene_write_edited": (C.c_int32, C.c_void_p, C.POINTER(SceneEdit), C.POINTER(C.c_char),
                                C.c_size_t, C.POINTER(C.c_size_t)),
}
