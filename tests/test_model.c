/* SPDX-License-Identifier: BSD-3-Clause */
/* The model: inertias, validation with named errors, the forest, placing by q. */
#include "model/model.h"
#include "shared/near.h"
#include "shared/scenes.h"

#include <stdio.h>
#include <string.h>

/* Three bodies on hinges and a soft mass on the last, above two grounds, in two fields, valid;
   tests break one thing at a time. */
typedef struct fixture {
    skel_body_desc body[4];
    skel_joint_desc joint[3];
    skel_ground_desc ground[2];
    skel_wobble_desc wobble[2]; /* the second is not in the model unless a test says so */
    skel_field_desc field[2];
    skel_model_desc d;
    skel_error err;
    skel_model *model;
} fixture;

static void surround(fixture *f) {
    for (int k = 0; k < 2; ++k) {
        skel_ground_desc_init(&f->ground[k]);
        skel_wobble_desc_init(&f->wobble[k]);
        skel_field_desc_init(&f->field[k]);
        f->ground[k].point[2] = -5 - k;
        f->wobble[k].body = 3;
        f->wobble[k].host = 2;
        f->field[k].type = SKEL_FIELD_UNIFORM;
    }
    f->body[3] = f->body[2];
    f->body[3].name = "soft";
    f->d.grounds = f->ground, f->d.ground_count = 2;
    f->d.wobbles = f->wobble, f->d.wobble_count = 1;
    f->d.fields = f->field, f->d.field_count = 2;
    f->d.body_count = 4;
}

static void make_valid(fixture *f) {
    memset(f, 0, sizeof *f);
    skel_error_init(&f->err);
    skel_model_desc_init(&f->d);
    for (int k = 0; k < 3; ++k) {
        static const char *const names[] = {"one", "two", "three"};
        skel_body_desc_init(&f->body[k]);
        skel_joint_desc_init(&f->joint[k]);
        f->body[k].name = names[k];
        f->body[k].mass = 1;
        f->body[k].inertia[0] = f->body[k].inertia[1] = f->body[k].inertia[2] = .1;
        f->body[k].position[0] = k + .5;
        f->joint[k].type = SKEL_JOINT_HINGE;
        f->joint[k].parent = k - 1;
        f->joint[k].child = k;
        f->joint[k].parent_position[0] = k ? .5 : 0;
        f->joint[k].child_position[0] = -.5;
    }
    f->d.bodies = f->body, f->d.body_count = 3;
    f->d.joints = f->joint, f->d.joint_count = 3;
    surround(f);
}

static skel_status build(fixture *f) {
    const skel_status status = skel_model_create(&f->d, &f->model, &f->err);
    ck_assert((status == SKEL_OK) == (f->model != NULL));
    skel_model_destroy(f->model);
    return status;
}

START_TEST(valid_model) {
    fixture f;
    make_valid(&f);
    ck_assert_msg(skel_model_create(&f.d, &f.model, &f.err) == SKEL_OK, "%s", f.err.text);
    ck_assert_int_eq(skel_model_body_count(f.model), 4);
    ck_assert_int_eq(skel_model_dof(f.model), 3);
    ck_assert_int_eq(skel_model_find_body(f.model, "two"), 1);
    ck_assert_int_eq(skel_model_find_body(f.model, "world"), SKEL_WORLD);
    ck_assert_int_eq(skel_model_find_body(f.model, "nobody"), -2);
    ck_assert_str_eq(skel_model_joint_name(f.model, 2), "joint 2");
    ck_assert_ptr_null(skel_model_body_name(f.model, 4));
    skel_body_desc back = {.struct_size = sizeof back};
    ck_assert_int_eq(skel_model_get_body(f.model, 1, &back), SKEL_OK);
    ck_assert_double_eq(back.position[0], 1.5);
    skel_model_destroy(f.model);
    skel_model_destroy(NULL);
}
END_TEST

/* One broken field each: what is broken, the status, and what the text must say. */
typedef struct fault {
    const char *path;
    skel_status status;
    void (*set)(fixture *f);
} fault;

#define FAULT(name, code)                                                                          \
    static void name(fixture *f) {                                                                 \
        code;                                                                                      \
    }
static const double k_bad_time[2] = {1, 1}, k_value[8] = {0}, k_nan[8] = {NAN};
static const double k_pins[4] = {0, 1, 1, 2}, k_four[4] = {2, 0, 0, 0};
static void make_law(fixture *f) {
    f->joint[1].limits.is_set = 1;
    f->joint[1].limits.high[0] = 1;
    f->joint[1].limits.law_b = f->joint[1].limits.law_c = f->joint[1].limits.law_range = 1;
}
FAULT(mass_negative, f->body[1].mass = -.2)
FAULT(mass_nan, f->body[1].mass = NAN)
FAULT(inertia_indefinite, f->body[2].inertia[3] = 1)
FAULT(inertia_zero, memset(f->body[0].inertia, 0, 48))
FAULT(position_infinite, f->body[0].position[2] = INFINITY)
FAULT(orientation_short, f->body[0].orientation[0] = .5)
FAULT(orientation_zero, f->body[0].orientation[0] = 0)
FAULT(velocity_nan, f->body[0].velocity[1] = NAN)
FAULT(spin_nan, f->body[0].angular_velocity[1] = NAN)
FAULT(force_nan, f->body[0].force[1] = NAN)
FAULT(torque_nan, f->body[0].torque[1] = NAN)
FAULT(motion_unknown, f->body[0].motion = 7)
FAULT(shape_unknown, f->body[0].shape = -1)
FAULT(name_world, f->body[0].name = "world")
FAULT(name_twice, f->body[0].name = "two")
FAULT(name_empty, f->body[0].name = "")
FAULT(driven_without_curve, f->body[0].motion = SKEL_MOTION_DRIVEN; f->d.joint_count = 0)
FAULT(curve_fixed, f->body[0].motion = SKEL_MOTION_FIXED;
      f->body[0].position_curve = ((skel_curve){k_value, k_value, 1, 3}))
FAULT(pins_touch, f->body[1].pinned = k_pins; f->body[1].pinned_count = 2)
FAULT(pins_nan, f->body[1].pinned = k_nan; f->body[1].pinned_count = 1)
FAULT(pins_null, f->body[1].pinned_count = 1)
FAULT(pins_fixed, f->body[1].motion = SKEL_MOTION_FIXED; f->body[1].pinned = k_pins;
      f->body[1].pinned_count = 1)
FAULT(curve_time, f->body[0].force_curve = ((skel_curve){k_bad_time, k_value, 2, 3}))
FAULT(curve_width, f->body[0].torque_curve = ((skel_curve){k_bad_time, k_value, 1, 2}))
FAULT(curve_null, f->body[0].force_curve = ((skel_curve){k_bad_time, NULL, 1, 3}))
FAULT(curve_nan, f->joint[0].motor_curve = ((skel_curve){k_value, k_nan, 1, 1}))
FAULT(body_size, f->body[1].struct_size = 8)
FAULT(joint_type, f->joint[1].type = 9)
FAULT(joint_parent, f->joint[1].parent = 17)
FAULT(joint_same, f->joint[1].parent = 1)
FAULT(joint_frame, f->joint[1].parent_position[0] = NAN)
FAULT(joint_turn, f->joint[1].child_orientation[0] = 2)
FAULT(joint_friction, f->joint[1].friction = -1)
FAULT(joint_motor, f->joint[1].type = SKEL_JOINT_BALL; f->joint[1].motor = 1)
FAULT(joint_motor_nan, f->joint[1].motor = NAN)
FAULT(joint_limits, f->joint[1].limits.is_set = 1; f->joint[1].limits.low[0] = 1)
FAULT(joint_limits_fixed, f->joint[1].limits.is_set = 1; f->joint[1].type = SKEL_JOINT_FIXED)
FAULT(joint_open, f->joint[2].child_position[1] = .1)
FAULT(joint_bent, f->joint[2].child_orientation[0] = .8; f->joint[2].child_orientation[1] = .6)
FAULT(follow_nan, f->joint[1].follow.frequency = NAN)
FAULT(follow_damping, f->joint[1].follow.damping = -1)
FAULT(follow_max, f->joint[1].follow.max = -1)
FAULT(follow_fixed, f->joint[1].type = SKEL_JOINT_FIXED; f->joint[1].follow.frequency = 1)
FAULT(follow_width, f->joint[1].follow.target = ((skel_curve){k_value, k_value, 1, 2}))
FAULT(follow_turn, f->joint[1].type = SKEL_JOINT_BALL;
      f->joint[1].follow.target = ((skel_curve){k_value, k_four, 1, 4}))
FAULT(follow_weight, f->joint[1].follow.weight = ((skel_curve){k_bad_time, k_value, 2, 1}))
FAULT(no_mover, f->body[0].motion = SKEL_MOTION_FIXED)
FAULT(not_placed, f->body[2].unplaced = 1; f->d.joint_count = 2)
FAULT(too_far, f->body[1].position[0] = 1e308; f->joint[1].parent_position[0] = 1e308)
FAULT(too_wound, f->body[1].unplaced = 1; f->joint[1].q[0] = 1e308)
FAULT(gravity, f->d.gravity[0] = INFINITY)
FAULT(no_bodies, f->d.body_count = 0)
FAULT(body_flags, f->body[1].flags = 2)
FAULT(collide, f->body[1].collide = -3)
FAULT(contacts_null, f->body[1].contact_count = 2)
FAULT(contacts_nan, f->body[1].contacts = k_nan; f->body[1].contact_count = 1)
FAULT(joint_flags, f->joint[1].flags = 2)
FAULT(joint_reserved, f->joint[1].reserved = 2)
FAULT(stop_high, f->joint[1].limits.restitution = 1.5)
FAULT(stop_nan, f->joint[1].limits.restitution = NAN)
FAULT(law_a, f->joint[1].limits.law_a = -1)
FAULT(law_b, f->joint[1].limits.law_b = -1)
FAULT(law_c, f->joint[1].limits.law_c = -1)
FAULT(law_d, f->joint[1].limits.law_d = -1)
FAULT(law_on, f->joint[1].limits.law_range = NAN)
FAULT(law_free, f->joint[1].limits.law_range = 1)
FAULT(law_flat, make_law(f); f->joint[1].limits.law_b = 0)
FAULT(law_endless, make_law(f); f->joint[1].limits.law_c = 0)
FAULT(spring_stiffness, f->joint[1].spring.stiffness = -1)
FAULT(spring_damping, f->joint[1].spring.damping = INFINITY)
FAULT(spring_rest, f->joint[1].spring.rest = NAN)
FAULT(spring_ball, f->joint[1].type = SKEL_JOINT_BALL; f->joint[1].spring.damping = 1)
FAULT(muscle_growth, f->joint[1].muscle.growth = -1)
FAULT(muscle_max, f->joint[1].muscle.growth = 1)
FAULT(muscle_start, f->joint[1].muscle.growth = f->joint[1].muscle.max = 1;
      f->joint[1].muscle.start = 2)
FAULT(muscle_feedback, f->joint[1].muscle.feedback = NAN)
FAULT(muscle_impact, f->joint[1].muscle.impact_speed = NAN)
FAULT(muscle_delay, f->joint[1].muscle.delay = -1)
FAULT(muscle_side, f->joint[1].muscle.side = 0)
FAULT(muscle_ball, f->joint[1].type = SKEL_JOINT_BALL; f->joint[1].muscle.growth = 1)
FAULT(ground_size, f->ground[1].struct_size = 8)
FAULT(ground_body, f->ground[1].body = 4)
FAULT(ground_point, f->ground[1].point[0] = NAN)
FAULT(ground_normal, f->ground[1].normal[2] = 3)
FAULT(ground_friction, f->ground[1].friction = -1)
FAULT(ground_a, f->ground[1].a = -1)
FAULT(ground_b, f->ground[1].b = -1)
FAULT(ground_d, f->ground[1].d = -1)
FAULT(ground_root, f->ground[1].a = 1; f->ground[1].b = .5)
FAULT(ground_stick, f->ground[1].stick_stiffness = -1)
FAULT(ground_grip, f->ground[1].stick_damping = NAN)
FAULT(ground_rigid, f->ground[1].is_rigid = 2)
FAULT(ground_reserved, f->ground[1].reserved = 2)
FAULT(ground_bounce, f->ground[1].restitution = 2)
FAULT(ground_slip, f->ground[1].tangential_restitution = -1)
FAULT(grounds_null, f->d.grounds = NULL)
FAULT(grounds_stride, f->d.ground_stride = 8)
FAULT(wobble_size, f->wobble[0].struct_size = 8)
FAULT(wobble_world, f->wobble[0].body = -1)
FAULT(wobble_host, f->wobble[0].host = -1)
FAULT(wobble_self, f->wobble[0].host = 3)
FAULT(wobble_reserved, f->wobble[0].reserved = 3)
FAULT(wobble_rest, f->wobble[0].rest[1] = NAN)
FAULT(wobble_axis, f->wobble[0].axis[1] = 1)
FAULT(wobble_along_c, f->wobble[0].along_c = -1)
FAULT(wobble_along_d, f->wobble[0].along_d = -1)
FAULT(wobble_across_c, f->wobble[0].across_c = -1)
FAULT(wobble_across_d, f->wobble[0].across_d = -1)
FAULT(wobble_turn_a, f->wobble[0].turn_a = -1)
FAULT(wobble_turn_b, f->wobble[0].turn_b = -1)
FAULT(wobble_fixed, f->body[3].motion = SKEL_MOTION_FIXED)
FAULT(wobble_joint, f->wobble[0].body = 2; f->wobble[0].host = 1)
FAULT(wobble_twice, f->d.wobble_count = 2)
FAULT(wobble_chain, f->d.wobble_count = 2; f->wobble[1].body = 2; f->wobble[1].host = 1;
      f->d.joint_count = 2)
FAULT(wobbles_null, f->d.wobbles = NULL)
FAULT(wobbles_stride, f->d.wobble_stride = 8)
FAULT(field_size, f->field[1].struct_size = 8)
FAULT(field_type, f->field[1].type = 4)
FAULT(field_body, f->field[1].body = -2)
FAULT(field_vector, f->field[1].vector[0] = NAN)
FAULT(field_point, f->field[1].point[0] = NAN)
FAULT(field_axis, f->field[1].axis[2] = 0)
FAULT(field_strength, f->field[1].strength = NAN)
FAULT(field_scale, f->field[1].scale = -1)
FAULT(field_period, f->field[1].period = -1)
FAULT(field_density, f->field[1].density = -1)
FAULT(field_coefficient, f->field[1].coefficient = -1)
FAULT(field_vortex, f->field[1].type = SKEL_FIELD_VORTEX; f->field[1].scale = 0)
FAULT(field_turbulence, f->field[1].type = SKEL_FIELD_TURBULENCE; f->field[1].scale = 0)
FAULT(fields_null, f->d.fields = NULL)
FAULT(fields_stride, f->d.field_stride = 8)
FAULT(frame_spin, f->d.frame_spin[1] = NAN)
FAULT(frame_drift, f->d.frame_acceleration[1] = NAN)
FAULT(frame_spin_width, f->d.frame_spin_curve = ((skel_curve){k_value, k_value, 1, 1}))
FAULT(frame_drift_time, f->d.frame_acceleration_curve = ((skel_curve){k_bad_time, k_value, 2, 3}))

static const fault k_faults[] = {
    {"bodies[1].mass", SKEL_E_BODY, mass_negative},
    {"bodies[1].mass", SKEL_E_BODY, mass_nan},
    {"bodies[2].inertia", SKEL_E_BODY, inertia_indefinite},
    {"bodies[0].inertia", SKEL_E_BODY, inertia_zero},
    {"bodies[0].position", SKEL_E_BODY, position_infinite},
    {"bodies[0].orientation", SKEL_E_BODY, orientation_short},
    {"bodies[0].orientation", SKEL_E_BODY, orientation_zero},
    {"bodies[0].velocity", SKEL_E_BODY, velocity_nan},
    {"bodies[0].angular_velocity", SKEL_E_BODY, spin_nan},
    {"bodies[0].force", SKEL_E_BODY, force_nan},
    {"bodies[0].torque", SKEL_E_BODY, torque_nan},
    {"bodies[0].motion", SKEL_E_BODY, motion_unknown},
    {"bodies[0].shape", SKEL_E_BODY, shape_unknown},
    {"bodies[0].name", SKEL_E_BODY, name_world},
    {"duplicate name \"two\"", SKEL_E_ARGUMENT, name_twice},
    {"bodies", SKEL_E_ARGUMENT, name_empty},
    {"bodies[0].curve", SKEL_E_BODY, driven_without_curve},
    {"bodies[0].curve", SKEL_E_BODY, curve_fixed},
    {"bodies[1].pinned[1]", SKEL_E_BODY, pins_touch},
    {"bodies[1].pinned[0]", SKEL_E_BODY, pins_nan},
    {"bodies[1].pinned", SKEL_E_BODY, pins_null},
    {"bodies[1].pinned", SKEL_E_BODY, pins_fixed},
    {"bodies[0].force_curve.time[1]", SKEL_E_CURVE, curve_time},
    {"bodies[0].torque_curve.width", SKEL_E_CURVE, curve_width},
    {"bodies[0].force_curve", SKEL_E_CURVE, curve_null},
    {"joints[0].motor_curve.value[0]", SKEL_E_CURVE, curve_nan},
    {"bodies[1].struct_size", SKEL_E_STRUCT_SIZE, body_size},
    {"joints[1].type", SKEL_E_JOINT, joint_type},
    {"joints[1].bodies", SKEL_E_JOINT, joint_parent},
    {"joints[1].bodies", SKEL_E_JOINT, joint_same},
    {"joints[1].frames[0].position", SKEL_E_JOINT, joint_frame},
    {"joints[1].frames[1].orientation", SKEL_E_JOINT, joint_turn},
    {"joints[1].friction", SKEL_E_JOINT, joint_friction},
    {"joints[1].motor", SKEL_E_JOINT, joint_motor},
    {"joints[1].motor", SKEL_E_JOINT, joint_motor_nan},
    {"joints[1].limits", SKEL_E_JOINT, joint_limits},
    {"joints[1].limits", SKEL_E_JOINT, joint_limits_fixed},
    {"joints[2].frames: their origins are 0.1 m apart", SKEL_E_JOINT, joint_open},
    {"joints[2].frames: their axes differ", SKEL_E_JOINT, joint_bent},
    {"joints[1].follow", SKEL_E_JOINT, follow_nan},
    {"joints[1].follow", SKEL_E_JOINT, follow_damping},
    {"joints[1].follow", SKEL_E_JOINT, follow_max},
    {"joints[1].follow", SKEL_E_JOINT, follow_fixed},
    {"joints[1].follow.curve.width", SKEL_E_CURVE, follow_width},
    {"joints[1].follow.curve.value[0]", SKEL_E_JOINT, follow_turn},
    {"joints[1].follow.weight.time[1]", SKEL_E_CURVE, follow_weight},
    {"joints[0].bodies: neither 'world' nor 'one'", SKEL_E_TREE, no_mover},
    {"bodies[2].position", SKEL_E_BODY, not_placed},
    {"bodies[1].position", SKEL_E_BODY, too_far},
    {"bodies[1].position", SKEL_E_BODY, too_wound},
    {"gravity", SKEL_E_ARGUMENT, gravity},
    {"bodies", SKEL_E_ARGUMENT, no_bodies},
    {"bodies[1].flags: is 2", SKEL_E_BODY, body_flags},
    {"bodies[1].collide: is -3", SKEL_E_BODY, collide},
    {"bodies[1].contacts", SKEL_E_BODY, contacts_null},
    {"bodies[1].contacts[0]", SKEL_E_BODY, contacts_nan},
    {"joints[1].flags", SKEL_E_JOINT, joint_flags},
    {"joints[1].reserved", SKEL_E_JOINT, joint_reserved},
    {"joints[1].limits.restitution: is 1.5, must be 0 to 1", SKEL_E_JOINT, stop_high},
    {"joints[1].limits.restitution", SKEL_E_JOINT, stop_nan},
    {"joints[1].limits.law_a: is -1", SKEL_E_JOINT, law_a},
    {"joints[1].limits.law_b: is -1", SKEL_E_JOINT, law_b},
    {"joints[1].limits.law_c: is -1", SKEL_E_JOINT, law_c},
    {"joints[1].limits.law_d: is -1", SKEL_E_JOINT, law_d},
    {"joints[1].limits.law_range", SKEL_E_JOINT, law_on},
    {"joints[1].limits.law_range: is 1, must come with limits", SKEL_E_JOINT, law_free},
    {"joints[1].limits.law_b: is 0, must be > 0", SKEL_E_JOINT, law_flat},
    {"joints[1].limits.law_c: is 0, must be > 0", SKEL_E_JOINT, law_endless},
    {"joints[1].spring.stiffness", SKEL_E_JOINT, spring_stiffness},
    {"joints[1].spring.damping", SKEL_E_JOINT, spring_damping},
    {"joints[1].spring.rest", SKEL_E_JOINT, spring_rest},
    {"joints[1].spring: must be 0", SKEL_E_JOINT, spring_ball},
    {"joints[1].muscle.growth", SKEL_E_JOINT, muscle_growth},
    {"joints[1].muscle.max: is 0, must be > 0", SKEL_E_JOINT, muscle_max},
    {"joints[1].muscle.start: is 2, must be at most", SKEL_E_JOINT, muscle_start},
    {"joints[1].muscle.feedback", SKEL_E_JOINT, muscle_feedback},
    {"joints[1].muscle.impact_speed", SKEL_E_JOINT, muscle_impact},
    {"joints[1].muscle.delay", SKEL_E_JOINT, muscle_delay},
    {"joints[1].muscle.side: is 0, must be 1 or -1", SKEL_E_JOINT, muscle_side},
    {"joints[1].muscle.growth: must be 0", SKEL_E_JOINT, muscle_ball},
    {"grounds[1].struct_size", SKEL_E_STRUCT_SIZE, ground_size},
    {"grounds[1].body: is 4, must be -1 (world) to 3", SKEL_E_ARGUMENT, ground_body},
    {"grounds[1].point", SKEL_E_ARGUMENT, ground_point},
    {"grounds[1].normal: has length 3, must be 1", SKEL_E_ARGUMENT, ground_normal},
    {"grounds[1].friction: is -1", SKEL_E_ARGUMENT, ground_friction},
    {"grounds[1].a: is -1", SKEL_E_ARGUMENT, ground_a},
    {"grounds[1].b: is -1", SKEL_E_ARGUMENT, ground_b},
    {"grounds[1].d: is -1", SKEL_E_ARGUMENT, ground_d},
    {"grounds[1].b: is 0.5, must be >= 1", SKEL_E_ARGUMENT, ground_root},
    {"grounds[1].stick_stiffness", SKEL_E_ARGUMENT, ground_stick},
    {"grounds[1].stick_damping", SKEL_E_ARGUMENT, ground_grip},
    {"grounds[1].is_rigid", SKEL_E_ARGUMENT, ground_rigid},
    {"grounds[1].reserved", SKEL_E_ARGUMENT, ground_reserved},
    {"grounds[1].restitution", SKEL_E_ARGUMENT, ground_bounce},
    {"grounds[1].tangential_restitution", SKEL_E_ARGUMENT, ground_slip},
    {"grounds: must", SKEL_E_ARGUMENT, grounds_null},
    {"ground_stride", SKEL_E_ARGUMENT, grounds_stride},
    {"wobbles[0].struct_size", SKEL_E_STRUCT_SIZE, wobble_size},
    {"wobbles[0].body: is -1, must be 0 to 3", SKEL_E_ARGUMENT, wobble_world},
    {"wobbles[0].host: is -1, must be 0 to 3", SKEL_E_ARGUMENT, wobble_host},
    {"wobbles[0].host: is 3, must be another", SKEL_E_ARGUMENT, wobble_self},
    {"wobbles[0].reserved", SKEL_E_ARGUMENT, wobble_reserved},
    {"wobbles[0].rest", SKEL_E_ARGUMENT, wobble_rest},
    {"wobbles[0].axis: has length 1.41421, must be 1", SKEL_E_ARGUMENT, wobble_axis},
    {"wobbles[0].along_c: is -1", SKEL_E_ARGUMENT, wobble_along_c},
    {"wobbles[0].along_d: is -1", SKEL_E_ARGUMENT, wobble_along_d},
    {"wobbles[0].across_c: is -1", SKEL_E_ARGUMENT, wobble_across_c},
    {"wobbles[0].across_d: is -1", SKEL_E_ARGUMENT, wobble_across_d},
    {"wobbles[0].turn_a: is -1", SKEL_E_ARGUMENT, wobble_turn_a},
    {"wobbles[0].turn_b: is -1", SKEL_E_ARGUMENT, wobble_turn_b},
    {"wobbles[0].body: 'soft' is not dynamic", SKEL_E_ARGUMENT, wobble_fixed},
    {"wobbles[0].body: 'three' has the joint 'joint 2'", SKEL_E_ARGUMENT, wobble_joint},
    {"wobbles[1].body: 'soft' is a wobbling mass already", SKEL_E_ARGUMENT, wobble_twice},
    {"wobbles[0].host: 'three' is a wobbling mass itself", SKEL_E_ARGUMENT, wobble_chain},
    {"wobbles: must", SKEL_E_ARGUMENT, wobbles_null},
    {"wobble_stride", SKEL_E_ARGUMENT, wobbles_stride},
    {"fields[1].struct_size", SKEL_E_STRUCT_SIZE, field_size},
    {"fields[1].type: is 4, must be 0 to 3", SKEL_E_ARGUMENT, field_type},
    {"fields[1].body: is -2", SKEL_E_ARGUMENT, field_body},
    {"fields[1].vector", SKEL_E_ARGUMENT, field_vector},
    {"fields[1].point", SKEL_E_ARGUMENT, field_point},
    {"fields[1].axis: has length 0, must be 1", SKEL_E_ARGUMENT, field_axis},
    {"fields[1].strength", SKEL_E_ARGUMENT, field_strength},
    {"fields[1].scale: is -1", SKEL_E_ARGUMENT, field_scale},
    {"fields[1].period: is -1", SKEL_E_ARGUMENT, field_period},
    {"fields[1].density: is -1", SKEL_E_ARGUMENT, field_density},
    {"fields[1].coefficient: is -1", SKEL_E_ARGUMENT, field_coefficient},
    {"fields[1].scale: is 0, must be > 0", SKEL_E_ARGUMENT, field_vortex},
    {"fields[1].scale: is 0, must be > 0", SKEL_E_ARGUMENT, field_turbulence},
    {"fields: must", SKEL_E_ARGUMENT, fields_null},
    {"field_stride", SKEL_E_ARGUMENT, fields_stride},
    {"frame_spin: is nan", SKEL_E_ARGUMENT, frame_spin},
    {"frame_acceleration: is nan", SKEL_E_ARGUMENT, frame_drift},
    {"frame_spin_curve.width: is 1, must be 3", SKEL_E_CURVE, frame_spin_width},
    {"frame_acceleration_curve.time[1]", SKEL_E_CURVE, frame_drift_time},
};

START_TEST(faults_are_named) {
    const fault *k = &k_faults[_i];
    fixture f;
    make_valid(&f);
    k->set(&f);
    const skel_status status = build(&f);
    ck_assert_msg(status == k->status, "%s: status %d (%s), wanted %d", k->path, status, f.err.text,
                  k->status);
    ck_assert_int_eq(f.err.status, status);
    ck_assert_msg(strstr(f.err.text, k->path) != NULL, "\"%s\" does not say %s", f.err.text,
                  k->path);
}
END_TEST

START_TEST(null_arguments) {
    fixture f;
    make_valid(&f);
    ck_assert_int_eq(skel_model_create(NULL, &f.model, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_model_create(&f.d, NULL, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_model_body_count(NULL), 0);
    ck_assert_int_eq(skel_model_find_body(NULL, "x"), -2);
}
END_TEST

/* Against sums over a fine grid of the solid. */
static int inside(int32_t shape, const double s[3], double x, double y, double z) {
    const double r2 = x * x + y * y;
    switch (shape) {
    case SKEL_SHAPE_SPHERE: return r2 + z * z <= s[0] * s[0];
    case SKEL_SHAPE_BOX: return fabs(x) <= s[0] / 2 && fabs(y) <= s[1] / 2 && fabs(z) <= s[2] / 2;
    case SKEL_SHAPE_CYLINDER: return r2 <= s[1] * s[1] && fabs(z) <= s[0] / 2;
    default: {
        const double beyond = fmax(0, fabs(z) - s[0] / 2);
        return r2 + beyond * beyond <= s[1] * s[1];
    }
    }
}

START_TEST(shape_inertia) {
    const int32_t shape = _i;
    const double size[3] = {.8, .5, .6}, half = 1.0;
    const int n = 120;
    double sum[3] = {0}, count = 0, mine[6];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            for (int k = 0; k < n; ++k) {
                const double x = half * ((i + .5) * 2 / n - 1), y = half * ((j + .5) * 2 / n - 1);
                const double z = half * ((k + .5) * 2 / n - 1);
                if (!inside(shape, size, x, y, z)) continue;
                count += 1;
                sum[0] += y * y + z * z, sum[1] += x * x + z * z, sum[2] += x * x + y * y;
            }
    ck_assert_int_eq(skel_shape_inertia(shape, size, 2.5, mine), SKEL_OK);
    for (int k = 0; k < 3; ++k)
        ck_assert_double_eq_tol(mine[k], 2.5 * sum[k] / count, 2e-2 * mine[k]);
    ck_assert_double_eq(mine[3] + mine[4] + mine[5], 0);
}
END_TEST

START_TEST(shape_limits) { /* a capsule without length is a ball, with hardly any radius a rod */
    double a[6], b[6];
    const double flat[3] = {1e-9, .3, 0}, thin[3] = {.7, 1e-6, 0};
    skel_shape_inertia(SKEL_SHAPE_CAPSULE, flat, 3, a);
    skel_shape_inertia(SKEL_SHAPE_SPHERE, (double[3]){.3, 0, 0}, 3, b);
    near(a, b, 6, 1e-9);
    skel_shape_inertia(SKEL_SHAPE_CAPSULE, thin, 3, a);
    skel_shape_inertia(SKEL_SHAPE_ROD, thin, 3, b);
    near(a, b, 6, 2e-6);
    ck_assert_double_eq_tol(b[0], 3 * .7 * .7 / 12, 1e-15);
    ck_assert_int_eq(skel_shape_inertia(SKEL_SHAPE_BOX, (double[3]){1, 1, 0}, 1, a),
                     SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_shape_inertia(9, flat, 1, a), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_shape_inertia(SKEL_SHAPE_BOX, thin, 0, a), SKEL_E_ARGUMENT);
}
END_TEST

START_TEST(order_is_parents_first) {
    rng r = rng_seed(77);
    for (int k = 0; k < 60; ++k) {
        scene s = scene_random_tree(&r, (scene_options){.bodies = 30, .root = k % 4});
        const skel_model *m = s.model;
        int seen[30] = {0}, n = 0;
        for (int32_t e = 0; e < m->np; ++e) seen[m->prescribed[e]] = 1, ++n;
        for (int32_t e = 0; e < m->nd; ++e, ++n) {
            const skel__body *b = &m->body[m->order[e]];
            ck_assert(b->parent < 0 || seen[b->parent]);
            ck_assert(!seen[m->order[e]]);
            seen[m->order[e]] = 1;
        }
        ck_assert_int_eq(n, 30);
        scene_free(&s);
    }
}
END_TEST

START_TEST(forest) { /* two skeletons and a loose body in one model */
    fixture f;
    make_valid(&f);
    f.d.joint_count = 1;
    ck_assert_int_eq(skel_model_create(&f.d, &f.model, &f.err), SKEL_OK);
    ck_assert_int_eq(f.model->nd, 4);
    ck_assert_int_eq(f.model->body[1].joint, -1);
    ck_assert_int_eq(f.model->body[2].joint, -1);
    skel_model_destroy(f.model);
}
END_TEST

START_TEST(loops) { /* a joint between what is joined already, by bodies or by the world */
    for (int k = 0; k < 2; ++k) {
        fixture f;
        make_valid(&f);
        if (k == 0)
            f.joint[2].parent = 0, f.joint[2].child = 1;
        else
            f.body[2].motion = SKEL_MOTION_FIXED;
        ck_assert_msg(skel_model_create(&f.d, &f.model, &f.err) == SKEL_OK, "%s", f.err.text);
        ck_assert_int_eq(f.model->nl, 1);
        ck_assert_int_eq(f.model->loop[0], 2);
        ck_assert_int_eq(f.model->joint[2].is_loop, 1);
        ck_assert_int_eq(f.model->joint[1].is_loop, 0);
        ck_assert_int_eq(f.model->nd, k == 0 ? 4 : 3);
        skel_model_destroy(f.model);
    }
}
END_TEST

START_TEST(a_curve_says_how_a_dynamic_body_starts) {
    const double time[3] = {-1, 1, 2}, value[9] = {0, 0, 0, 2, 0, 0, 3, 0, 0}, pin[2] = {-1, .5};
    fixture f;
    make_valid(&f);
    f.d.joint_count = 0;
    f.body[0].position_curve = (skel_curve){time, value, 3, 3};
    f.body[0].velocity[1] = 7;
    f.body[0].pinned = pin, f.body[0].pinned_count = 1;
    ck_assert_msg(skel_model_create(&f.d, &f.model, &f.err) == SKEL_OK, "%s", f.err.text);
    skel_body_desc back = {.struct_size = sizeof back};
    ck_assert_int_eq(skel_model_get_body(f.model, 0, &back), SKEL_OK);
    ck_assert_int_eq(back.motion, SKEL_MOTION_DYNAMIC);
    near(back.position, ((double[3]){1, 0, 0}), 3, 1e-15);
    near(back.velocity, ((double[3]){1, 0, 0}), 3, 1e-15);
    ck_assert_uint_eq(back.pinned_count, 1);
    ck_assert_mem_eq(back.pinned, pin, sizeof pin);
    skel_model_destroy(f.model);
}
END_TEST

/* Whatever goes in comes out, from the model's own copies. */
START_TEST(the_world_comes_back) {
    double time[2] = {0, 1}, value[6] = {1, 2, 3, 4, 5, 6}, spin[3], drift[3];
    const double half[4] = {.6, 0, .8, 0}, points[6] = {1, 2, 3, 4, 5, 6};
    fixture f;
    skel_curve curves[2];
    skel_ground_desc ground = {.struct_size = sizeof ground};
    skel_wobble_desc wobble = {.struct_size = sizeof wobble};
    skel_field_desc field = {.struct_size = sizeof field};
    skel_body_desc body = {.struct_size = sizeof body};
    make_valid(&f);
    memcpy(f.body[3].orientation, half, sizeof half);
    f.body[3].contacts = points, f.body[3].contact_count = 2;
    f.body[3].collide = 7, f.body[3].flags = SKEL_FLAG_SMOOTH;
    f.ground[1].body = 3;
    f.ground[1].a = 2, f.ground[1].b = 1.5, f.ground[1].d = 3;
    f.ground[1].stick_stiffness = 4, f.ground[1].stick_damping = 5;
    f.ground[1].is_rigid = 1, f.ground[1].restitution = .5;
    f.wobble[0].rest[1] = .25, f.wobble[0].turn_b = 6;
    f.field[1].type = SKEL_FIELD_TURBULENCE, f.field[1].seed = 4000000000u;
    f.d.frame_spin[0] = 8;
    f.d.frame_spin_curve = f.d.frame_acceleration_curve = (skel_curve){time, value, 2, 3};
    ck_assert_msg(skel_model_create(&f.d, &f.model, &f.err) == SKEL_OK, "%s", f.err.text);
    ck_assert_int_eq(skel_model_ground_count(f.model), 2);
    ck_assert_int_eq(skel_model_wobble_count(f.model), 1);
    ck_assert_int_eq(skel_model_field_count(f.model), 2);
    for (int k = 0; k < 2; ++k) {
        ck_assert_int_eq(skel_model_get_ground(f.model, k, &ground), SKEL_OK);
        ck_assert_mem_eq(&ground, &f.ground[k], sizeof ground);
        ck_assert_int_eq(skel_model_get_field(f.model, k, &field), SKEL_OK);
        ck_assert_mem_eq(&field, &f.field[k], sizeof field);
    }
    /* in the axes of its body: turned back by 2 acos(.6) about y */
    near1(f.model->ground[1].normal.x, -.96, 1e-15);
    near1(f.model->ground[1].normal.z, -.28, 1e-15);
    ck_assert_int_eq(skel_model_get_wobble(f.model, 0, &wobble), SKEL_OK);
    ck_assert_mem_eq(&wobble, &f.wobble[0], sizeof wobble);
    ck_assert_int_eq(skel_model_get_body(f.model, 3, &body), SKEL_OK);
    ck_assert(body.contacts != points);
    near(body.contacts, points, 6, 0);
    ck_assert_uint_eq(body.contact_count, 2);
    ck_assert_int_eq(body.collide, 7);
    ck_assert_uint_eq(body.flags, SKEL_FLAG_SMOOTH);
    ck_assert_int_eq(skel_model_get_frame(f.model, spin, drift, &curves[0], &curves[1]), SKEL_OK);
    near(spin, f.d.frame_spin, 3, 0);
    near(drift, f.d.frame_acceleration, 3, 0);
    ck_assert_int_eq(f.model->has_frame, 1);
    for (int k = 0; k < 2; ++k) near(curves[k].value, value, 6, 0);
    skel_model_destroy(f.model);
}
END_TEST

START_TEST(questions_out_of_range) {
    fixture f;
    skel_ground_desc ground = {.struct_size = sizeof ground};
    skel_wobble_desc wobble = {.struct_size = sizeof wobble};
    skel_field_desc field = {.struct_size = sizeof field};
    make_valid(&f);
    ck_assert_int_eq(skel_model_create(&f.d, &f.model, &f.err), SKEL_OK);
    ck_assert_int_eq(f.model->has_frame, 0);
    for (int32_t k = -1; k < 3; k += 3) {
        ck_assert_int_eq(skel_model_get_ground(f.model, k, &ground), SKEL_E_ARGUMENT);
        ck_assert_int_eq(skel_model_get_wobble(f.model, k, &wobble), SKEL_E_ARGUMENT);
        ck_assert_int_eq(skel_model_get_field(f.model, k, &field), SKEL_E_ARGUMENT);
    }
    ck_assert_int_eq(skel_model_get_ground(f.model, 0, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_model_get_frame(NULL, NULL, NULL, NULL, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_model_get_frame(f.model, NULL, NULL, NULL, NULL), SKEL_OK);
    ground.struct_size = wobble.struct_size = field.struct_size = 8;
    ck_assert_int_eq(skel_model_get_ground(f.model, 0, &ground), SKEL_E_STRUCT_SIZE);
    ck_assert_int_eq(skel_model_get_wobble(f.model, 0, &wobble), SKEL_E_STRUCT_SIZE);
    ck_assert_int_eq(skel_model_get_field(f.model, 0, &field), SKEL_E_STRUCT_SIZE);
    ck_assert_int_eq(skel_model_ground_count(NULL) + skel_model_wobble_count(NULL) +
                         skel_model_field_count(NULL),
                     0);
    skel_model_destroy(f.model);
}
END_TEST

START_TEST(joints_come_back) {
    skel_joint_desc back = {.struct_size = sizeof back};
    fixture f;
    make_valid(&f);
    skel_joint_desc *j = &f.joint[1];
    double *numbers[] = {&j->limits.restitution, &j->limits.law_a,        &j->limits.law_b,
                         &j->limits.law_c,       &j->limits.law_d,        &j->limits.law_range,
                         &j->spring.stiffness,   &j->spring.damping,      &j->spring.rest,
                         &j->muscle.growth,      &j->muscle.max,          &j->muscle.start,
                         &j->muscle.feedback,    &j->muscle.impact_speed, &j->muscle.delay};
    make_law(&f);
    for (int k = 0; k < (int)(sizeof numbers / sizeof *numbers); ++k)
        *numbers[k] = .0625 * (16 - k);
    j->muscle.side = -1;
    j->name = "j";
    j->flags = SKEL_FLAG_SMOOTH;
    ck_assert_msg(skel_model_create(&f.d, &f.model, &f.err) == SKEL_OK, "%s", f.err.text);
    ck_assert_int_eq(skel_model_get_joint(f.model, 1, &back), SKEL_OK);
    ck_assert_str_eq(back.name, "j");
    back.name = j->name;
    ck_assert_mem_eq(&back, j, sizeof back);
    ck_assert_int_eq(f.model->joint[1].muscle_index,
                     3 * f.model->ncand); /* behind the contacts' memory */
    skel_model_destroy(f.model);
}
END_TEST

START_TEST(skeletons) { /* the world ties nothing; springs of a soft mass do; it comes last */
    fixture f;
    make_valid(&f);
    f.wobble[0].body = 0, f.wobble[0].host = 3; /* before its host in the document */
    f.d.joint_count = 2;
    f.joint[0].child = 1;
    f.joint[0].child_position[0] = -1.5;
    f.joint[1].parent = SKEL_WORLD, f.joint[1].child = 2;
    f.joint[1].child_position[0] = -2, f.joint[1].parent_position[0] = .5;
    ck_assert_msg(skel_model_create(&f.d, &f.model, &f.err) == SKEL_OK, "%s", f.err.text);
    const skel__body *b = f.model->body;
    ck_assert_int_ne(b[1].skeleton, b[2].skeleton);
    ck_assert_int_eq(b[0].skeleton, b[3].skeleton);
    ck_assert_int_ne(b[0].skeleton, b[1].skeleton);
    ck_assert_int_eq(b[0].host, 3);
    ck_assert_int_eq(b[3].host, -1);
    ck_assert_int_eq(f.model->order[3], 0);
    skel_model_destroy(f.model);
    f.body[3].motion = SKEL_MOTION_FIXED; /* carries two: one skeleton */
    f.joint[0].parent = f.joint[1].parent = 3;
    f.joint[0].parent_position[0] = f.joint[1].parent_position[0] = -1;
    f.joint[0].child_position[0] = 0, f.joint[1].child_position[0] = -1;
    ck_assert_msg(skel_model_create(&f.d, &f.model, &f.err) == SKEL_OK, "%s", f.err.text);
    for (int k = 0; k < 4; ++k) ck_assert_int_eq(f.model->body[k].skeleton, 0);
    skel_model_destroy(f.model);
}
END_TEST

START_TEST(
    smooth_curves) { /* exact for polynomials up to the fifth degree, uneven samples or not */
    const int n = 2 + _i;
    double time[12], value[24];
    const double degree = fmin(n, 6) - 1;
    for (int k = 0; k < n; ++k) {
        time[k] = .1 * k + .03 * sin(7 * k);
        value[2 * k] = 1 + pow(time[k], degree);
        value[2 * k + 1] = -2;
    }
    const skel_curve c = {time, value, (uint32_t)n, 2};
    for (int k = -3; k < 45; ++k) {
        const double t = time[0] + (time[n - 1] - time[0]) * k / 41;
        const double at = fmin(fmax(t, time[0]), time[n - 1]);
        double out[2] = {10, 0};
        skel__curve_add_smooth(&c, t, out);
        near1(out[0], 11 + pow(at, degree), 1e-13);
        near1(out[1], -2, 1e-14);
    }
    double none[1] = {3};
    skel__curve_add_smooth(&(skel_curve){0}, 0, none);
    near1(none[0], 3, 0);
}
END_TEST

START_TEST(names_are_copied_and_long) {
    fixture f;
    char name[300];
    memset(name, 'x', sizeof name);
    name[299] = 0;
    make_valid(&f);
    f.body[1].name = name;
    ck_assert_int_eq(skel_model_create(&f.d, &f.model, &f.err), SKEL_OK);
    name[0] = 'y';
    ck_assert_int_eq(skel_model_body_name(f.model, 1)[0], 'x');
    skel_model_destroy(f.model);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("model");
    TCase *t = tcase_create("all");
    tcase_add_test(t, valid_model);
    tcase_add_loop_test(t, faults_are_named, 0, (int)(sizeof k_faults / sizeof *k_faults));
    tcase_add_test(t, null_arguments);
    tcase_add_loop_test(t, shape_inertia, SKEL_SHAPE_SPHERE, SKEL_SHAPE_CAPSULE + 1);
    tcase_add_test(t, shape_limits);
    tcase_add_test(t, order_is_parents_first);
    tcase_add_test(t, forest);
    tcase_add_test(t, loops);
    tcase_add_test(t, a_curve_says_how_a_dynamic_body_starts);
    tcase_add_test(t, the_world_comes_back);
    tcase_add_test(t, questions_out_of_range);
    tcase_add_test(t, joints_come_back);
    tcase_add_test(t, skeletons);
    tcase_add_loop_test(t, smooth_curves, 0, 11);
    tcase_add_test(t, names_are_copied_and_long);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
