# SPDX-License-Identifier: BSD-3-Clause
"""The C headers of libskel as ctypes: structs and functions in header order, no policy."""

import ctypes as C
import functools
import os
import pathlib

ABI_MAJOR = 1
WORLD = -1

OK, MORE = 0, 1
E_BUFFER = -4

Double3 = C.c_double * 3
Double4 = C.c_double * 4
Double7 = C.c_double * 7
Doubles = C.POINTER(C.c_double)
Floats = C.POINTER(C.c_float)
Handle = C.c_void_p
Handles = C.POINTER(C.c_void_p)


class Sized(C.Structure):
    """A struct whose first field is its size, as every struct that crosses the border."""

    def __init__(self, **fields):
        super().__init__(struct_size=C.sizeof(type(self)), **fields)


# skel_base.h

class Error(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("status", C.c_int32),
        ("body", C.c_int32), ("joint", C.c_int32),
        ("text", C.c_char * 496),
    ]


class Allocator(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("reserved", C.c_uint32),
        ("alloc", C.c_void_p), ("free", C.c_void_p), ("user", C.c_void_p),
    ]


# skel_world.h

class Curve(C.Structure):
    _fields_ = [
        ("time", Doubles), ("value", Doubles),
        ("count", C.c_uint32), ("width", C.c_uint32),
    ]


class GroundDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("body", C.c_int32),
        ("point", Double3), ("normal", Double3), ("friction", C.c_double),
        ("a", C.c_double), ("b", C.c_double), ("d", C.c_double),
        ("stick_stiffness", C.c_double), ("stick_damping", C.c_double),
        ("is_rigid", C.c_int32), ("reserved", C.c_int32),
        ("restitution", C.c_double), ("tangential_restitution", C.c_double),
    ]


class WobbleDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("body", C.c_int32), ("host", C.c_int32),
        ("reserved", C.c_int32), ("rest", Double3), ("axis", Double3),
        ("along_c", C.c_double), ("along_d", C.c_double),
        ("across_c", C.c_double), ("across_d", C.c_double),
        ("turn_a", C.c_double), ("turn_b", C.c_double),
    ]


class FieldDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("type", C.c_int32),
        ("vector", Double3), ("point", Double3), ("axis", Double3),
        ("strength", C.c_double), ("scale", C.c_double), ("period", C.c_double),
        ("density", C.c_double), ("coefficient", C.c_double),
        ("seed", C.c_uint32), ("body", C.c_int32),
    ]


# skel_model.h


class BodyDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("motion", C.c_int32), ("name", C.c_char_p),
        ("mass", C.c_double), ("inertia", C.c_double * 6),
        ("position", Double3), ("orientation", Double4),
        ("velocity", Double3), ("angular_velocity", Double3),
        ("force", Double3), ("torque", Double3),
        ("force_curve", Curve), ("torque_curve", Curve),
        ("position_curve", Curve), ("orientation_curve", Curve),
        ("size", Double3), ("shape", C.c_int32), ("unplaced", C.c_int32),
        ("pinned", Doubles), ("pinned_count", C.c_uint32), ("flags", C.c_uint32),
        ("contacts", Doubles), ("contact_count", C.c_uint32), ("collide", C.c_int32),
    ]


class JointDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("type", C.c_int32), ("name", C.c_char_p),
        ("parent", C.c_int32), ("child", C.c_int32),
        ("parent_position", Double3), ("parent_orientation", Double4),
        ("child_position", Double3), ("child_orientation", Double4),
        ("q", Double4), ("friction", C.c_double), ("motor", C.c_double),
        ("motor_curve", Curve), ("has_limits", C.c_int32), ("flags", C.c_int32),
        ("limit_low", C.c_double * 2), ("limit_high", C.c_double * 2), ("limit_axis", Double3),
        ("follow_frequency", C.c_double), ("follow_damping", C.c_double),
        ("follow_max", C.c_double), ("follow_curve", Curve), ("follow_weight", Curve),
        ("limit_restitution", C.c_double),
        ("limit_law_a", C.c_double), ("limit_law_b", C.c_double), ("limit_law_c", C.c_double),
        ("limit_law_d", C.c_double), ("limit_law_on", C.c_double),
        ("spring_stiffness", C.c_double), ("spring_damping", C.c_double),
        ("spring_rest", C.c_double),
        ("muscle_growth", C.c_double), ("muscle_max", C.c_double), ("muscle_start", C.c_double),
        ("muscle_feedback", C.c_double), ("muscle_impact", C.c_double),
        ("muscle_delay", C.c_double), ("muscle_side", C.c_int32), ("reserved", C.c_int32),
        ("mimic", C.c_int32), ("mimic_reserved", C.c_int32),
        ("mimic_multiplier", C.c_double), ("mimic_offset", C.c_double),
    ]


class ModelDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("body_count", C.c_uint32),
        ("bodies", C.POINTER(BodyDesc)), ("body_stride", C.c_uint32),
        ("joint_count", C.c_uint32), ("joints", C.POINTER(JointDesc)),
        ("joint_stride", C.c_uint32), ("flags", C.c_uint32),
        ("gravity", Double3), ("allocator", C.POINTER(Allocator)),
        ("grounds", C.POINTER(GroundDesc)), ("ground_stride", C.c_uint32),
        ("ground_count", C.c_uint32),
        ("wobbles", C.POINTER(WobbleDesc)), ("wobble_stride", C.c_uint32),
        ("wobble_count", C.c_uint32),
        ("fields", C.POINTER(FieldDesc)), ("field_stride", C.c_uint32),
        ("field_count", C.c_uint32),
        ("frame_spin", Double3), ("frame_acceleration", Double3),
        ("frame_spin_curve", Curve), ("frame_acceleration_curve", Curve),
    ]


# skel_state.h

class StepDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("integrator", C.c_int32), ("solver", C.c_int32),
        ("flags", C.c_uint32), ("h", C.c_double),
    ]


class ReportRow(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("reserved", C.c_uint32), ("time", C.c_double),
        ("kinetic", C.c_double), ("potential", C.c_double),
        ("work_motor", C.c_double), ("work_friction", C.c_double),
        ("work_load", C.c_double), ("work_drive", C.c_double),
        ("momentum", Double3), ("angular_momentum", Double3),
        ("impulse", Double3), ("angular_impulse", Double3),
        ("joint_gap", C.c_double), ("misalignment", C.c_double),
        ("limit_violation", C.c_double),
        ("work_contact", C.c_double), ("elastic", C.c_double), ("ground_force", Double3),
        ("contact_depth", C.c_double), ("contacts", C.c_double),
    ]


# skel_inverse.h

class InverseDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("sample_count", C.c_uint32), ("model", Handle),
        ("poses", Doubles), ("sample_rate", C.c_double), ("start", C.c_double),
        ("cutoff", C.c_double), ("allocator", C.POINTER(Allocator)),
    ]


class InverseSummary(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("order", C.c_int32), ("cutoff", C.c_double),
        ("joint_gap", C.c_double), ("misalignment", C.c_double),
        ("filter_shift", C.c_double), ("filter_move", C.c_double),
        ("noise", C.c_double), ("suggested_cutoff", C.c_double),
        ("noise_joint", C.c_int32), ("reserved", C.c_int32),
        ("residual_force", C.c_double), ("residual_torque", C.c_double),
        ("residual_sample", C.c_int32), ("contact_samples", C.c_int32),
        ("event_samples", C.c_int32), ("law_samples", C.c_int32),
    ]


class InverseContact(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("body", C.c_int32), ("other", C.c_int32),
        ("ground", C.c_int32), ("point", Double3), ("normal", Double3), ("force", Double3),
        ("depth", C.c_double), ("law", C.c_double),
    ]


# skel_flight.h

class FlightDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("has_turns", C.c_int32), ("model", Handle),
        ("take_off", Doubles), ("landing", Doubles), ("duration", C.c_double),
        ("sample_rate", C.c_double), ("about", Double3), ("tolerance", C.c_double),
        ("turns", C.c_int32), ("reserved", C.c_int32), ("allocator", C.POINTER(Allocator)),
    ]


class FlightSummary(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("turns", C.c_int32), ("angular_momentum", Double3),
        ("velocity", Double3), ("turned", C.c_double), ("residual_angle", C.c_double),
        ("residual_distance", C.c_double), ("integration_error", C.c_double),
        ("joint_gap", C.c_double), ("misalignment", C.c_double), ("iterations", C.c_int32),
        ("steps", C.c_int32), ("has_loads", C.c_int32), ("reserved", C.c_int32),
    ]


# skel_ik.h

class GoalDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("kind", C.c_int32), ("body", C.c_int32),
        ("relative_to", C.c_int32), ("parts", C.c_uint32), ("priority", C.c_int32),
        ("weight", C.c_double), ("point", Double3), ("frame", Double4), ("axis", Double3),
        ("from", C.c_int32), ("to", C.c_int32), ("from_point", Double3), ("to_point", Double3),
        ("position", Double3), ("orientation", Double4),
        ("joints", C.POINTER(C.c_int32)), ("joint_count", C.c_uint32),
        ("chain_depth", C.c_int32), ("chain_root", C.c_int32), ("reserved", C.c_int32),
    ]


class IkDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("mode", C.c_int32), ("model", Handle),
        ("goals", C.POINTER(GoalDesc)), ("goal_stride", C.c_uint32), ("goal_count", C.c_uint32),
        ("method", C.c_int32), ("root", C.c_int32), ("tolerance", C.c_double),
        ("max_ms", C.c_double), ("max_iterations", C.c_int32), ("max_restarts", C.c_int32),
        ("stiffness", Doubles), ("max_step", Doubles), ("posture", Doubles),
        ("allocator", C.POINTER(Allocator)),
    ]


class IkReceipt(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("reached", C.c_int32), ("residual", C.c_double),
        ("iterations", C.c_int32), ("restarts", C.c_int32), ("active_limits", C.c_int32),
        ("reserved", C.c_int32), ("smallest_singular_value", C.c_double), ("us", C.c_double),
    ]


class TwoBoneDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("flags", C.c_uint32), ("root", Double3),
        ("target", Double3), ("pole", Double3), ("length1", C.c_double), ("length2", C.c_double),
        ("softness", C.c_double),
    ]


class TwoBone(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("reached", C.c_int32), ("elbow", Double3),
        ("tip", Double3), ("bend", C.c_double),
    ]


class GoalTrack(C.Structure):
    _fields_ = [
        ("positions", Doubles), ("orientations", Doubles), ("weights", Doubles),
        ("position_count", C.c_uint32), ("orientation_count", C.c_uint32),
        ("weight_count", C.c_uint32), ("reserved", C.c_uint32),
    ]


class IkMotionDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("sample_count", C.c_uint32), ("ik", C.POINTER(IkDesc)),
        ("tracks", C.POINTER(GoalTrack)), ("sample_rate", C.c_double), ("seed", Doubles),
        ("base", Doubles), ("blend_in", C.c_uint32), ("blend_out", C.c_uint32),
        ("allocator", C.POINTER(Allocator)), ("base_poses", Doubles),
        ("base_posture", C.c_uint32), ("start", C.c_uint32), ("causal", C.c_uint32),
        ("reserved", C.c_uint32),
    ]


class IkJump(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("sample", C.c_int32), ("joint", C.c_int32),
        ("is_length", C.c_int32), ("size", C.c_double),
    ]


# skel_bake.h

class BakeDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("integrator", C.c_int32), ("solver", C.c_int32),
        ("sample_count", C.c_uint32), ("sample_rate", C.c_double),
        ("step", C.c_double), ("tolerance", C.c_double),
        ("model", Handle), ("state", Handle), ("allocator", C.POINTER(Allocator)),
        ("preroll", C.c_double),
    ]


class BakeSummary(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("integrator", C.c_int32), ("solver", C.c_int32),
        ("warning_count", C.c_uint32), ("steps", C.c_double), ("step", C.c_double),
        ("wall_seconds", C.c_double), ("energy_drift", C.c_double),
        ("momentum_drift", C.c_double), ("angular_momentum_drift", C.c_double),
        ("joint_gap", C.c_double), ("misalignment", C.c_double),
        ("limit_violation", C.c_double), ("rejected_steps", C.c_double),
        ("evaluations", C.c_double), ("last_order", C.c_int32), ("reserved", C.c_int32),
        ("peak_ground_force", C.c_double), ("peak_ground_time", C.c_double),
        ("contact_depth", C.c_double), ("energy_gain", C.c_double),
        ("rest_time", C.c_double),
    ]


# skel_dh.h

class DhRow(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("type", C.c_int32),
        ("a", C.c_double), ("alpha", C.c_double), ("d", C.c_double), ("theta", C.c_double),
        ("offset", C.c_double), ("sign", C.c_double),
        ("joint", C.c_int32), ("part", C.c_int32), ("relation", C.c_int32),
        ("reserved", C.c_int32), ("turned", C.c_double), ("normal_distance", C.c_double),
    ]


class DhDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("convention", C.c_int32), ("rows", C.POINTER(DhRow)),
        ("row_count", C.c_uint32), ("row_stride", C.c_uint32),
        ("base", Double7), ("tool", Double7), ("allocator", C.POINTER(Allocator)),
    ]


class DhReceipt(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("poses", C.c_int32),
        ("position_error", C.c_double), ("angle_error", C.c_double),
        ("reach", C.c_double), ("longest", C.c_double),
        ("longest_row", C.c_int32), ("turned_count", C.c_int32),
    ]


class DhAxesDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("convention", C.c_int32), ("count", C.c_uint32),
        ("reserved", C.c_uint32), ("points", Doubles), ("directions", Doubles),
        ("types", C.POINTER(C.c_int32)), ("tip", Double7), ("snap", C.c_double),
        ("allocator", C.POINTER(Allocator)), ("parallel_tolerance", C.c_double),
    ]


class DhChainDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("convention", C.c_int32),
        ("root", C.c_int32), ("tip", C.c_int32), ("tool", Double7), ("snap", C.c_double),
        ("allocator", C.POINTER(Allocator)), ("parallel_tolerance", C.c_double),
    ]


# skel_robot.h

class SceneDhDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("convention", C.c_int32),
        ("root", C.c_char_p), ("tip", C.c_char_p), ("snap", C.c_double),
        ("is_csv", C.c_int32), ("reserved", C.c_int32), ("parallel_tolerance", C.c_double),
    ]


# skel_channels.h

class BoneDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("parent", C.c_int32), ("body", C.c_int32),
        ("rotation", C.c_int32), ("flags", C.c_uint32), ("channels", C.c_uint32),
        ("scale", C.c_double), ("rest", C.c_double * 16), ("offset", C.c_double * 7),
        ("near", Double4),
    ]


class RigDesc(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("bone_count", C.c_uint32), ("bones", C.POINTER(BoneDesc)),
        ("bone_stride", C.c_uint32), ("body_count", C.c_uint32),
        ("sample_count", C.c_uint32), ("object_count", C.c_uint32), ("poses", Doubles),
        ("object", Floats), ("matrices", Floats), ("matrix_count", C.c_uint32),
        ("reserved", C.c_uint32), ("unit", C.c_double), ("first_frame", C.c_double),
        ("frame_step", C.c_double), ("allocator", C.POINTER(Allocator)),
    ]


# skel_track.h

class SceneEdit(Sized):
    _fields_ = [
        ("struct_size", C.c_uint32), ("sample_count", C.c_uint32),
        ("poses", Doubles), ("velocities", Doubles), ("motor", Doubles),
        ("force", Doubles), ("torque", Doubles), ("sample_rate", C.c_double),
        ("has_bake", C.c_int32), ("frame_start", C.c_int32), ("frame_end", C.c_int32),
        ("reserved", C.c_int32), ("fps", C.c_double),
    ]


# The C name of every struct above: a test compares sizes and offsets with the compiler's.
STRUCTS = {
    "skel_error": Error, "skel_allocator": Allocator, "skel_curve": Curve,
    "skel_ground_desc": GroundDesc, "skel_wobble_desc": WobbleDesc, "skel_field_desc": FieldDesc,
    "skel_body_desc": BodyDesc, "skel_joint_desc": JointDesc, "skel_model_desc": ModelDesc,
    "skel_step_desc": StepDesc, "skel_report_row": ReportRow,
    "skel_bake_desc": BakeDesc, "skel_bake_summary": BakeSummary,
    "skel_inverse_desc": InverseDesc, "skel_inverse_summary": InverseSummary,
    "skel_inverse_contact": InverseContact,
    "skel_flight_desc": FlightDesc, "skel_flight_summary": FlightSummary,
    "skel_goal_desc": GoalDesc, "skel_ik_desc": IkDesc, "skel_ik_receipt": IkReceipt,
    "skel_two_bone_desc": TwoBoneDesc, "skel_two_bone": TwoBone, "skel_goal_track": GoalTrack,
    "skel_ik_motion_desc": IkMotionDesc, "skel_ik_jump": IkJump,
    "skel_scene_edit": SceneEdit,
    "skel_dh_row": DhRow, "skel_dh_desc": DhDesc, "skel_dh_axes_desc": DhAxesDesc,
    "skel_dh_receipt": DhReceipt,
    "skel_dh_chain_desc": DhChainDesc, "skel_scene_dh_desc": SceneDhDesc,
    "skel_bone_desc": BoneDesc, "skel_rig_desc": RigDesc,
}

_P = C.POINTER
_int, _size, _status = C.c_int32, C.c_size_t, C.c_int32

_SIGNATURES = {  # name: (result, *arguments)
    # skel_base.h
    "skel_version": (C.c_char_p,),
    "skel_abi_version": (C.c_uint32,),
    "skel_status_text": (C.c_char_p, _int),
    "skel_error_init_sized": (None, _P(Error), _size),
    # skel_world.h
    "skel_ground_desc_init_sized": (None, _P(GroundDesc), _size),
    "skel_wobble_desc_init_sized": (None, _P(WobbleDesc), _size),
    "skel_field_desc_init_sized": (None, _P(FieldDesc), _size),
    # skel_model.h
    "skel_model_desc_init_sized": (None, _P(ModelDesc), _size),
    "skel_body_desc_init_sized": (None, _P(BodyDesc), _size),
    "skel_joint_desc_init_sized": (None, _P(JointDesc), _size),
    "skel_shape_inertia": (_status, _int, Doubles, C.c_double, Doubles),
    "skel_model_create": (_status, _P(ModelDesc), Handles, _P(Error)),
    "skel_model_destroy": (None, Handle),
    "skel_model_body_count": (_int, Handle),
    "skel_model_joint_count": (_int, Handle),
    "skel_model_q_count": (_int, Handle),
    "skel_model_dof": (_int, Handle),
    "skel_model_find_body": (_int, Handle, C.c_char_p),
    "skel_model_find_joint": (_int, Handle, C.c_char_p),
    "skel_model_body_name": (C.c_char_p, Handle, _int),
    "skel_model_joint_name": (C.c_char_p, Handle, _int),
    "skel_model_joint_q_offset": (_int, Handle, _int),
    "skel_model_joint_dof_offset": (_int, Handle, _int),
    "skel_model_joint_leader": (_int, Handle, _int, Doubles, Doubles),
    "skel_model_mimic_count": (_int, Handle),
    "skel_model_apply_mimic": (_status, Handle, Doubles),
    "skel_model_gravity": (None, Handle, Doubles),
    "skel_model_get_body": (_status, Handle, _int, _P(BodyDesc)),
    "skel_model_get_joint": (_status, Handle, _int, _P(JointDesc)),
    "skel_model_ground_count": (_int, Handle),
    "skel_model_wobble_count": (_int, Handle),
    "skel_model_field_count": (_int, Handle),
    "skel_model_get_ground": (_status, Handle, _int, _P(GroundDesc)),
    "skel_model_get_wobble": (_status, Handle, _int, _P(WobbleDesc)),
    "skel_model_get_field": (_status, Handle, _int, _P(FieldDesc)),
    "skel_model_get_frame": (_status, Handle, Doubles, Doubles, _P(Curve), _P(Curve)),
    "skel_model_check_dynamics": (_status, Handle, _P(Error)),
    # skel_state.h
    "skel_state_create": (_status, Handle, Handles, _P(Error)),
    "skel_state_destroy": (None, Handle),
    "skel_state_copy": (_status, Handle, Handle),
    "skel_state_model": (Handle, Handle),
    "skel_state_time": (C.c_double, Handle),
    "skel_state_set_time": (None, Handle, C.c_double),
    "skel_state_get_poses": (_status, Handle, Doubles),
    "skel_state_set_poses": (_status, Handle, Doubles),
    "skel_state_get_velocities": (_status, Handle, Doubles),
    "skel_state_set_velocities": (_status, Handle, Doubles),
    "skel_state_get_q": (_status, Handle, Doubles),
    "skel_state_set_q": (_status, Handle, Doubles),
    "skel_state_get_qd": (_status, Handle, Doubles),
    "skel_state_set_qd": (_status, Handle, Doubles),
    "skel_state_project": (_status, Handle, Doubles, Doubles, _P(Error)),
    "skel_fk": (_status, Handle, Doubles, Doubles),
    "skel_accelerations": (_status, Handle, _int, Doubles, Doubles, _P(Error)),
    "skel_step_desc_init_sized": (None, _P(StepDesc), _size),
    "skel_step": (_status, Handle, _P(StepDesc), _P(Error)),
    "skel_report": (_status, Handle, _P(ReportRow)),
    # skel_inverse.h
    "skel_inverse_dynamics": (_status, Handle, Doubles, Doubles, Doubles, Doubles, Doubles,
                              _P(Error)),
    "skel_inverse_desc_init_sized": (None, _P(InverseDesc), _size),
    "skel_inverse_create": (_status, _P(InverseDesc), Handles, _P(Error)),
    "skel_inverse_destroy": (None, Handle),
    "skel_inverse_sample_count": (_int, Handle),
    "skel_inverse_free_root": (_int, Handle, _int),
    "skel_inverse_q": (C.c_void_p, Handle),
    "skel_inverse_qd": (C.c_void_p, Handle),
    "skel_inverse_qdd": (C.c_void_p, Handle),
    "skel_inverse_torque": (C.c_void_p, Handle),
    "skel_inverse_wrench": (C.c_void_p, Handle),
    "skel_inverse_residual": (C.c_void_p, Handle),
    "skel_inverse_power": (C.c_void_p, Handle),
    "skel_inverse_uncertainty": (C.c_void_p, Handle),
    "skel_inverse_flags": (C.c_void_p, Handle),
    "skel_inverse_contact_count": (_int, Handle, _int),
    "skel_inverse_get_contact": (_status, Handle, _int, _int, _P(InverseContact)),
    "skel_inverse_get_state": (_status, Handle, _int, Handle, Doubles, Doubles),
    "skel_inverse_get_summary": (_status, Handle, _P(InverseSummary)),
    # skel_flight.h
    "skel_flight_desc_init_sized": (None, _P(FlightDesc), _size),
    "skel_flight_solve": (_status, _P(FlightDesc), Handles, _P(Error)),
    "skel_flight_destroy": (None, Handle),
    "skel_flight_sample_count": (_int, Handle),
    "skel_flight_poses": (C.c_void_p, Handle),
    "skel_flight_velocities": (C.c_void_p, Handle),
    "skel_flight_q": (C.c_void_p, Handle),
    "skel_flight_get_summary": (_status, Handle, _P(FlightSummary)),
    # skel_ik.h
    "skel_goal_desc_init_sized": (None, _P(GoalDesc), _size),
    "skel_ik_desc_init_sized": (None, _P(IkDesc), _size),
    "skel_ik_create": (_status, _P(IkDesc), Handles, _P(Error)),
    "skel_ik_destroy": (None, Handle),
    "skel_ik_set_target": (_status, Handle, _int, Doubles, Doubles),
    "skel_ik_set_weight": (_status, Handle, _int, C.c_double),
    "skel_ik_set_roots": (_status, Handle, Doubles),
    "skel_ik_solve": (_status, Handle, Doubles, _P(IkReceipt), _P(Error)),
    "skel_ik_get_poses": (_status, Handle, Doubles),
    "skel_ik_get_residual": (_status, Handle, _int, Doubles, Doubles),
    "skel_ik_get_active": (_status, Handle, _P(_int)),
    "skel_jacobian": (_status, Handle, Doubles, _int, Doubles, Doubles),
    "skel_two_bone_plane": (_int, Doubles, C.c_double, C.c_double, Doubles, Doubles, Doubles),
    "skel_two_bone_desc_init_sized": (None, _P(TwoBoneDesc), _size),
    "skel_two_bone_solve": (_status, _P(TwoBoneDesc), _P(TwoBone)),
    "skel_model_create_planar": (_status, Doubles, Doubles, C.c_uint32, Handles, _P(Error)),
    "skel_ik_motion_desc_init_sized": (None, _P(IkMotionDesc), _size),
    "skel_ik_motion_start": (_status, _P(IkMotionDesc), Handles, _P(Error)),
    "skel_ik_motion_destroy": (None, Handle),
    "skel_ik_motion_advance": (_status, Handle, C.c_double),
    "skel_ik_motion_progress": (C.c_double, Handle),
    "skel_ik_motion_samples_done": (_int, Handle),
    "skel_ik_motion_sample_count": (_int, Handle),
    "skel_ik_motion_poses": (C.c_void_p, Handle),
    "skel_ik_motion_q": (C.c_void_p, Handle),
    "skel_ik_motion_receipts": (C.c_void_p, Handle),
    "skel_ik_motion_residuals": (C.c_void_p, Handle),
    "skel_ik_motion_jump_count": (_int, Handle),
    "skel_ik_motion_get_jump": (_status, Handle, _int, _P(IkJump)),
    "skel_ik_motion_get_start": (_status, Handle, _P(IkJump)),
    "skel_ik_motion_repaired_count": (_int, Handle),
    # skel_bake.h
    "skel_bake_desc_init_sized": (None, _P(BakeDesc), _size),
    "skel_bake_start": (_status, C.c_void_p, Handles, _P(Error)),
    "skel_bake_destroy": (None, Handle),
    "skel_bake_advance": (_status, Handle, C.c_double),
    "skel_bake_progress": (C.c_double, Handle),
    "skel_bake_samples_done": (_int, Handle),
    "skel_bake_error": (None, Handle, _P(Error)),
    "skel_bake_poses": (C.c_void_p, Handle),
    "skel_bake_velocities": (C.c_void_p, Handle),
    "skel_bake_q": (C.c_void_p, Handle),
    "skel_bake_report": (_status, Handle, _int, _P(ReportRow)),
    "skel_bake_get_summary": (_status, Handle, _P(BakeSummary)),
    "skel_bake_warning": (C.c_char_p, Handle, _int),
    "skel_integrator_name": (C.c_char_p, _int),
    "skel_solver_name": (C.c_char_p, _int),
    # skel_channels.h
    "skel_bone_desc_init_sized": (None, _P(BoneDesc), _size),
    "skel_rig_desc_init_sized": (None, _P(RigDesc), _size),
    "skel_bake_channels": (_status, _P(RigDesc), Floats, _size, _P(_size), _P(Error)),
    "skel_rig_poses": (_status, _P(RigDesc), Doubles, _P(Error)),
    "skel_rig_joints": (_status, _P(RigDesc), Doubles, _P(Error)),
    # skel_scene.h
    "skel_scene_parse": (_status, C.c_char_p, _size, Handles, _P(Error)),
    "skel_scene_destroy": (None, Handle),
    "skel_scene_check": (_status, C.c_char_p, _size, C.c_char_p, _size, _P(_size)),
    "skel_scene_write": (_status, Handle, C.c_char_p, _size, _P(_size)),
    "skel_scene_model": (Handle, Handle),
    "skel_scene_name": (C.c_char_p, Handle),
    "skel_scene_bake_desc": (_status, Handle, _P(BakeDesc)),
    "skel_scene_fps": (C.c_double, Handle),
    "skel_scene_frame_start": (_int, Handle),
    "skel_scene_frame_end": (_int, Handle),
    "skel_scene_ik": (_status, Handle, _P(IkMotionDesc)),
    "skel_scene_goal_name": (C.c_char_p, Handle, _int),
    "skel_scene_middle": (_status, Handle, Doubles),
    # skel_track.h
    "skel_track_parse": (_status, C.c_char_p, _size, Handle, Handles, _P(Error)),
    "skel_track_destroy": (None, Handle),
    "skel_track_frame_count": (_int, Handle),
    "skel_track_frame_start": (_int, Handle),
    "skel_track_fps": (C.c_double, Handle),
    "skel_track_poses": (C.c_void_p, Handle),
    "skel_scene_edit_init_sized": (None, _P(SceneEdit), _size),
    "skel_scene_write_edited": (_status, Handle, _P(SceneEdit), C.c_char_p, _size, _P(_size)),

    "skel_dh_desc_init_sized": (None, _P(DhDesc), _size),
    "skel_dh_row_init_sized": (None, _P(DhRow), _size),
    "skel_dh_create": (_status, _P(DhDesc), Handles, _P(Error)),
    "skel_dh_destroy": (None, Handle),
    "skel_dh_row_count": (_int, Handle),
    "skel_dh_convention": (_int, Handle),
    "skel_dh_get_row": (_status, Handle, _int, _P(DhRow)),
    "skel_dh_get_ends": (_status, Handle, Doubles, Doubles),
    "skel_dh_get_receipt": (_status, Handle, _P(DhReceipt)),
    "skel_dh_compare": (_status, Handle, Handle, _P(DhReceipt)),
    "skel_dh_convert": (_status, Handle, _int, Handles, _P(Error)),
    "skel_dh_frames": (_status, Handle, Doubles, Doubles),
    "skel_dh_coordinates": (_status, Handle, Doubles, Doubles),
    "skel_dh_fill": (_status, Handle, _P(BodyDesc), _size, _P(JointDesc), _size),
    "skel_dh_axes_desc_init_sized": (None, _P(DhAxesDesc), _size),
    "skel_dh_from_axes": (_status, _P(DhAxesDesc), Handles, _P(Error)),
    "skel_dh_chain_desc_init_sized": (None, _P(DhChainDesc), _size),
    "skel_dh_extract": (_status, Handle, _P(DhChainDesc), Handles, _P(Error)),

    "skel_scene_frame_count": (_int, Handle),
    "skel_scene_frame_name": (C.c_char_p, Handle, _int),
    "skel_scene_get_frame": (_status, Handle, _int, _P(_int), Doubles),
    "skel_scene_tool": (_int, Handle),
    "skel_scene_warning": (C.c_char_p, Handle, _int),
    "skel_scene_pose_count": (_int, Handle),
    "skel_scene_pose_name": (C.c_char_p, Handle, _int),
    "skel_scene_pose_q": (C.c_void_p, Handle, _int),
    "skel_scene_mimic_count": (_int, Handle),
    "skel_scene_get_mimic": (_status, Handle, _int, _P(_int), _P(_int), Doubles, Doubles),
    "skel_scene_apply_mimic": (_status, Handle, Doubles),
    "skel_scene_dh_desc_init_sized": (None, _P(SceneDhDesc), _size),
    "skel_scene_write_dh": (_status, Handle, _P(SceneDhDesc), C.c_char_p, _size, _P(_size),
                            _P(Error)),
    "skel_scene_dh_report": (_status, Handle, _P(SceneDhDesc), C.c_char_p, _size, _P(_size),
                             _P(Error)),
    "skel_scene_write_urdf": (_status, Handle, C.c_char_p, _size, _P(_size), _P(Error)),
    "skel_dh_rewrite": (_status, C.c_char_p, _size, _int, _int, C.c_char_p, _size, _P(_size),
                        _P(Error)),
    "skel_dh_rewrite_report": (_status, C.c_char_p, _size, _int, C.c_char_p, _size, _P(_size),
                               _P(Error)),
}


_CHOICE = {"path": None, "environment": True}


def use_library(path):
    """Take this library where a call names none."""
    _CHOICE["path"] = os.fspath(path)


def ignore_environment():
    """Do not look at $SKEL_LIB any more: for hosts that bring their own library, such as the add-on
    for Blender."""
    _CHOICE["environment"] = False


def find():
    """Path of the library: the one of use_library, else $SKEL_LIB, else libskel.so in the package
    or beside it."""
    if _CHOICE["path"]:
        return _CHOICE["path"]
    if _CHOICE["environment"] and os.environ.get("SKEL_LIB"):
        return os.environ["SKEL_LIB"]
    package = pathlib.Path(__file__).resolve().parent
    for folder in (package, package.parent):
        if (folder / "libskel.so").exists():
            return str(folder / "libskel.so")
    raise OSError(f"libskel.so is neither in {package} nor beside it; set SKEL_LIB to its path")


@functools.lru_cache(maxsize=None)
def _load(path):
    lib = C.CDLL(path)
    lib.skel_abi_version.restype = C.c_uint32
    major = lib.skel_abi_version() >> 16
    if major != ABI_MAJOR:
        raise RuntimeError(f"{path}: ABI major {major}, need {ABI_MAJOR}")
    for name, (result, *arguments) in _SIGNATURES.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def load(path=None):
    """The library with every signature set; loaded once per path."""
    return _load(os.path.abspath(os.fspath(path or find())))
