/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program compiled against these headers relies on: numbers, places of fields, and structs
   that grow at the end. A number in this file never changes; new ones are added. */
#include "shared/near.h"

#include <skel/skel.h>

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int         value, pinned;
} k_numbers[] = {
#define PIN(name, pinned)                                                                          \
    { #name, name, pinned }
    PIN(SKEL_OK, 0),
    PIN(SKEL_MORE, 1),
    PIN(SKEL_E_ARGUMENT, -1),
    PIN(SKEL_E_MEMORY, -2),
    PIN(SKEL_E_STRUCT_SIZE, -3),
    PIN(SKEL_E_BUFFER, -4),
    PIN(SKEL_E_UNSUPPORTED, -5),
    PIN(SKEL_E_BODY, -10),
    PIN(SKEL_E_JOINT, -11),
    PIN(SKEL_E_TREE, -12),
    PIN(SKEL_E_MASS, -13),
    PIN(SKEL_E_CURVE, -14),
    PIN(SKEL_E_DOCUMENT, -20),
    PIN(SKEL_E_SYNTAX, -21),
    PIN(SKEL_E_TOO_LARGE, -22),
    PIN(SKEL_E_SINGULAR, -30),
    PIN(SKEL_E_DIVERGED, -31),
    PIN(SKEL_WORLD, -1),
    PIN(SKEL_JOINT_FIXED, 0),
    PIN(SKEL_JOINT_HINGE, 1),
    PIN(SKEL_JOINT_SLIDE, 2),
    PIN(SKEL_JOINT_UNIVERSAL, 3),
    PIN(SKEL_JOINT_BALL, 4),
    PIN(SKEL_MOTION_DYNAMIC, 0),
    PIN(SKEL_MOTION_FIXED, 1),
    PIN(SKEL_MOTION_DRIVEN, 2),
    PIN(SKEL_SHAPE_NONE, 0),
    PIN(SKEL_SHAPE_SPHERE, 1),
    PIN(SKEL_SHAPE_BOX, 2),
    PIN(SKEL_SHAPE_CYLINDER, 3),
    PIN(SKEL_SHAPE_CAPSULE, 4),
    PIN(SKEL_SHAPE_ROD, 5),
    PIN(SKEL_COLLIDE_OTHERS, 0),
    PIN(SKEL_COLLIDE_ALL, -1),
    PIN(SKEL_COLLIDE_NONE, -2),
    PIN(SKEL_FLAG_SMOOTH, 1),
    PIN(SKEL_FIELD_UNIFORM, 0),
    PIN(SKEL_FIELD_DRAG, 1),
    PIN(SKEL_FIELD_VORTEX, 2),
    PIN(SKEL_FIELD_TURBULENCE, 3),
    PIN(SKEL_SOLVER_TREE, 0),
    PIN(SKEL_SOLVER_PINV, 1),
    PIN(SKEL_SOLVER_KKT, 2),
    PIN(SKEL_INTEGRATOR_AUTO, 0),
    PIN(SKEL_INTEGRATOR_EULER, 1),
    PIN(SKEL_INTEGRATOR_RK4, 2),
    PIN(SKEL_INTEGRATOR_ADAMS, 3),
    PIN(SKEL_INTEGRATOR_BDF, 4),
    PIN(SKEL_INTEGRATOR_CONSERVING, 5),
#undef PIN
};

START_TEST(numbers_are_pinned) {
    for (size_t i = 0; i < sizeof k_numbers / sizeof *k_numbers; ++i)
        ck_assert_msg(k_numbers[i].value == k_numbers[i].pinned, "%s is %d, was %d",
                      k_numbers[i].name, k_numbers[i].value, k_numbers[i].pinned);
}
END_TEST

START_TEST(every_number_has_a_text) {
    const int32_t far[] = {INT32_MIN, INT32_MAX, -9999, 12345};
    for (int32_t i = -300; i <= 300; ++i) ck_assert_ptr_nonnull(skel_status_text(i));
    for (size_t i = 0; i < sizeof far / sizeof *far; ++i) {
        ck_assert_ptr_nonnull(skel_status_text(far[i]));
        ck_assert(skel_status_text(far[i])[0] != '\0');
    }
    ck_assert_str_eq(skel_status_text(SKEL_OK), "success");
    ck_assert_str_eq(skel_status_text(SKEL_E_MEMORY), "out of memory");
    ck_assert_str_ne(skel_status_text(-9999), skel_status_text(SKEL_OK));
}
END_TEST

START_TEST(versions_agree) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", SKEL_VERSION_MAJOR, SKEL_VERSION_MINOR,
             SKEL_VERSION_PATCH);
    ck_assert_str_eq(skel_version(), text);
    ck_assert_str_eq(skel_version(), SKEL_PROJECT_VERSION);
    ck_assert_uint_eq(skel_abi_version(), SKEL_ABI_VERSION);
    ck_assert_uint_eq(skel_abi_version() >> 16, 1);
}
END_TEST

/* ---- places of fields (64-bit pointers) ------------------------------------------------------ */

typedef struct place {
    const char *name;
    size_t      offset, pinned;
} place;

static const place k_places[] = {
#define AT(type, field, pinned)                                                                    \
    { #type "." #field, offsetof(type, field), pinned }
    AT(skel_error, struct_size, 0),
    AT(skel_error, status, 4),
    AT(skel_error, body, 8),
    AT(skel_error, joint, 12),
    AT(skel_error, text, 16),
    AT(skel_allocator, struct_size, 0),
    AT(skel_allocator, reserved, 4),
    AT(skel_allocator, alloc, 8),
    AT(skel_allocator, free, 16),
    AT(skel_allocator, user, 24),
    AT(skel_curve, time, 0),
    AT(skel_curve, value, 8),
    AT(skel_curve, count, 16),
    AT(skel_curve, width, 20),
    AT(skel_body_desc, struct_size, 0),
    AT(skel_body_desc, motion, 4),
    AT(skel_body_desc, name, 8),
    AT(skel_body_desc, mass, 16),
    AT(skel_body_desc, inertia, 24),
    AT(skel_body_desc, position, 72),
    AT(skel_body_desc, orientation, 96),
    AT(skel_body_desc, velocity, 128),
    AT(skel_body_desc, angular_velocity, 152),
    AT(skel_body_desc, force, 176),
    AT(skel_body_desc, torque, 200),
    AT(skel_body_desc, force_curve, 224),
    AT(skel_body_desc, torque_curve, 248),
    AT(skel_body_desc, position_curve, 272),
    AT(skel_body_desc, orientation_curve, 296),
    AT(skel_body_desc, size, 320),
    AT(skel_body_desc, shape, 344),
    AT(skel_body_desc, unplaced, 348),
    AT(skel_body_desc, pinned, 352),
    AT(skel_body_desc, pinned_count, 360),
    AT(skel_body_desc, flags, 364),
    AT(skel_body_desc, contacts, 368),
    AT(skel_body_desc, contact_count, 376),
    AT(skel_body_desc, collide, 380),
    AT(skel_joint_desc, struct_size, 0),
    AT(skel_joint_desc, type, 4),
    AT(skel_joint_desc, name, 8),
    AT(skel_joint_desc, parent, 16),
    AT(skel_joint_desc, child, 20),
    AT(skel_joint_desc, parent_position, 24),
    AT(skel_joint_desc, parent_orientation, 48),
    AT(skel_joint_desc, child_position, 80),
    AT(skel_joint_desc, child_orientation, 104),
    AT(skel_joint_desc, q, 136),
    AT(skel_joint_desc, friction, 168),
    AT(skel_joint_desc, motor, 176),
    AT(skel_joint_desc, motor_curve, 184),
    AT(skel_joint_desc, has_limits, 208),
    AT(skel_joint_desc, flags, 212),
    AT(skel_joint_desc, limit_low, 216),
    AT(skel_joint_desc, limit_high, 232),
    AT(skel_joint_desc, limit_axis, 248),
    AT(skel_joint_desc, follow_frequency, 272),
    AT(skel_joint_desc, follow_damping, 280),
    AT(skel_joint_desc, follow_max, 288),
    AT(skel_joint_desc, follow_curve, 296),
    AT(skel_joint_desc, follow_weight, 320),
    AT(skel_joint_desc, limit_restitution, 344),
    AT(skel_joint_desc, limit_law_a, 352),
    AT(skel_joint_desc, limit_law_b, 360),
    AT(skel_joint_desc, limit_law_c, 368),
    AT(skel_joint_desc, limit_law_d, 376),
    AT(skel_joint_desc, limit_law_on, 384),
    AT(skel_joint_desc, spring_stiffness, 392),
    AT(skel_joint_desc, spring_damping, 400),
    AT(skel_joint_desc, spring_rest, 408),
    AT(skel_joint_desc, muscle_growth, 416),
    AT(skel_joint_desc, muscle_max, 424),
    AT(skel_joint_desc, muscle_start, 432),
    AT(skel_joint_desc, muscle_feedback, 440),
    AT(skel_joint_desc, muscle_impact, 448),
    AT(skel_joint_desc, muscle_delay, 456),
    AT(skel_joint_desc, muscle_side, 464),
    AT(skel_joint_desc, reserved, 468),
    AT(skel_joint_desc, mimic, 472),
    AT(skel_joint_desc, mimic_reserved, 476),
    AT(skel_joint_desc, mimic_multiplier, 480),
    AT(skel_joint_desc, mimic_offset, 488),
    AT(skel_model_desc, struct_size, 0),
    AT(skel_model_desc, body_count, 4),
    AT(skel_model_desc, bodies, 8),
    AT(skel_model_desc, body_stride, 16),
    AT(skel_model_desc, joint_count, 20),
    AT(skel_model_desc, joints, 24),
    AT(skel_model_desc, joint_stride, 32),
    AT(skel_model_desc, flags, 36),
    AT(skel_model_desc, gravity, 40),
    AT(skel_model_desc, allocator, 64),
    AT(skel_model_desc, grounds, 72),
    AT(skel_model_desc, ground_stride, 80),
    AT(skel_model_desc, ground_count, 84),
    AT(skel_model_desc, wobbles, 88),
    AT(skel_model_desc, wobble_stride, 96),
    AT(skel_model_desc, wobble_count, 100),
    AT(skel_model_desc, fields, 104),
    AT(skel_model_desc, field_stride, 112),
    AT(skel_model_desc, field_count, 116),
    AT(skel_model_desc, frame_spin, 120),
    AT(skel_model_desc, frame_acceleration, 144),
    AT(skel_model_desc, frame_spin_curve, 168),
    AT(skel_model_desc, frame_acceleration_curve, 192),
    AT(skel_ground_desc, struct_size, 0),
    AT(skel_ground_desc, body, 4),
    AT(skel_ground_desc, point, 8),
    AT(skel_ground_desc, normal, 32),
    AT(skel_ground_desc, friction, 56),
    AT(skel_ground_desc, a, 64),
    AT(skel_ground_desc, b, 72),
    AT(skel_ground_desc, d, 80),
    AT(skel_ground_desc, stick_stiffness, 88),
    AT(skel_ground_desc, stick_damping, 96),
    AT(skel_ground_desc, is_rigid, 104),
    AT(skel_ground_desc, restitution, 112),
    AT(skel_ground_desc, tangential_restitution, 120),
    AT(skel_ground_desc, reserved, 108),
    AT(skel_wobble_desc, struct_size, 0),
    AT(skel_wobble_desc, body, 4),
    AT(skel_wobble_desc, host, 8),
    AT(skel_wobble_desc, reserved, 12),
    AT(skel_wobble_desc, rest, 16),
    AT(skel_wobble_desc, axis, 40),
    AT(skel_wobble_desc, along_c, 64),
    AT(skel_wobble_desc, along_d, 72),
    AT(skel_wobble_desc, across_c, 80),
    AT(skel_wobble_desc, across_d, 88),
    AT(skel_wobble_desc, turn_a, 96),
    AT(skel_wobble_desc, turn_b, 104),
    AT(skel_field_desc, struct_size, 0),
    AT(skel_field_desc, type, 4),
    AT(skel_field_desc, vector, 8),
    AT(skel_field_desc, point, 32),
    AT(skel_field_desc, axis, 56),
    AT(skel_field_desc, strength, 80),
    AT(skel_field_desc, scale, 88),
    AT(skel_field_desc, period, 96),
    AT(skel_field_desc, density, 104),
    AT(skel_field_desc, coefficient, 112),
    AT(skel_field_desc, seed, 120),
    AT(skel_field_desc, body, 124),
    AT(skel_step_desc, struct_size, 0),
    AT(skel_step_desc, integrator, 4),
    AT(skel_step_desc, solver, 8),
    AT(skel_step_desc, flags, 12),
    AT(skel_step_desc, h, 16),
    AT(skel_report_row, struct_size, 0),
    AT(skel_report_row, reserved, 4),
    AT(skel_report_row, time, 8),
    AT(skel_report_row, kinetic, 16),
    AT(skel_report_row, potential, 24),
    AT(skel_report_row, work_motor, 32),
    AT(skel_report_row, work_friction, 40),
    AT(skel_report_row, work_load, 48),
    AT(skel_report_row, work_drive, 56),
    AT(skel_report_row, momentum, 64),
    AT(skel_report_row, angular_momentum, 88),
    AT(skel_report_row, impulse, 112),
    AT(skel_report_row, angular_impulse, 136),
    AT(skel_report_row, joint_gap, 160),
    AT(skel_report_row, misalignment, 168),
    AT(skel_report_row, limit_violation, 176),
    AT(skel_report_row, work_contact, 184),
    AT(skel_report_row, elastic, 192),
    AT(skel_report_row, ground_force, 200),
    AT(skel_report_row, contact_depth, 224),
    AT(skel_report_row, contacts, 232),
    AT(skel_bake_desc, struct_size, 0),
    AT(skel_bake_desc, integrator, 4),
    AT(skel_bake_desc, solver, 8),
    AT(skel_bake_desc, sample_count, 12),
    AT(skel_bake_desc, sample_rate, 16),
    AT(skel_bake_desc, step, 24),
    AT(skel_bake_desc, tolerance, 32),
    AT(skel_bake_desc, model, 40),
    AT(skel_bake_desc, state, 48),
    AT(skel_bake_desc, allocator, 56),
    AT(skel_bake_desc, preroll, 64),
    AT(skel_bake_summary, struct_size, 0),
    AT(skel_bake_summary, integrator, 4),
    AT(skel_bake_summary, solver, 8),
    AT(skel_bake_summary, warning_count, 12),
    AT(skel_bake_summary, steps, 16),
    AT(skel_bake_summary, step, 24),
    AT(skel_bake_summary, wall_seconds, 32),
    AT(skel_bake_summary, energy_drift, 40),
    AT(skel_bake_summary, momentum_drift, 48),
    AT(skel_bake_summary, angular_momentum_drift, 56),
    AT(skel_bake_summary, joint_gap, 64),
    AT(skel_bake_summary, misalignment, 72),
    AT(skel_bake_summary, limit_violation, 80),
    AT(skel_bake_summary, rejected_steps, 88),
    AT(skel_bake_summary, evaluations, 96),
    AT(skel_bake_summary, last_order, 104),
    AT(skel_bake_summary, reserved, 108),
    AT(skel_bake_summary, peak_ground_force, 112),
    AT(skel_bake_summary, peak_ground_time, 120),
    AT(skel_bake_summary, contact_depth, 128),
    AT(skel_bake_summary, energy_gain, 136),
    AT(skel_bake_summary, rest_time, 144),
#undef AT
};

/* The sizes, which only grow, and no padding after the last field: a field added there must not
   hide in bytes an old caller left unset. */
static const struct {
    const char *name;
    size_t      size, end, pinned;
} k_ends[] = {
#define END(type, last, pinned)                                                                    \
    { #type, sizeof(type), offsetof(type, last) + sizeof(((type *)0)->last), pinned }
    END(skel_error, text, 512),
    END(skel_allocator, user, 32),
    END(skel_curve, width, 24),
    END(skel_body_desc, collide, 384),
    END(skel_joint_desc, mimic_offset, 496),
    END(skel_model_desc, frame_acceleration_curve, 216),
    END(skel_ground_desc, tangential_restitution, 128),
    END(skel_wobble_desc, turn_b, 112),
    END(skel_field_desc, body, 128),
    END(skel_step_desc, h, 24),
    END(skel_report_row, contacts, 240),
    END(skel_bake_desc, preroll, 72),
    END(skel_bake_summary, rest_time, 152),
    END(skel_dh_row, normal_distance, 88),
    END(skel_dh_desc, allocator, 144),
    END(skel_dh_receipt, turned_count, 48),
    END(skel_dh_axes_desc, parallel_tolerance, 120),
    END(skel_dh_chain_desc, parallel_tolerance, 96),
    END(skel_scene_dh_desc, parallel_tolerance, 48),
    END(skel_goal_desc, reserved, 248),
    END(skel_ik_desc, allocator, 96),
    END(skel_ik_receipt, us, 48),
    END(skel_two_bone_desc, softness, 104),
    END(skel_two_bone, bend, 64),
    END(skel_goal_track, reserved, 40),
    END(skel_ik_motion_desc, reserved, 88),
    END(skel_ik_jump, size, 24),
#undef END
};

START_TEST(fields_stay_where_they_are) {
    if (sizeof(void *) != 8) return;
    for (size_t i = 0; i < sizeof k_places / sizeof *k_places; ++i)
        ck_assert_msg(k_places[i].offset == k_places[i].pinned, "%s is at %zu, was at %zu",
                      k_places[i].name, k_places[i].offset, k_places[i].pinned);
}
END_TEST

START_TEST(structs_have_no_tail_padding) {
    for (size_t i = 0; i < sizeof k_ends / sizeof *k_ends; ++i) {
        ck_assert_msg(k_ends[i].size == k_ends[i].end, "%s: size %zu, last field ends at %zu",
                      k_ends[i].name, k_ends[i].size, k_ends[i].end);
        if (sizeof(void *) == 8)
            ck_assert_msg(k_ends[i].size >= k_ends[i].pinned, "%s shrank to %zu from %zu",
                          k_ends[i].name, k_ends[i].size, k_ends[i].pinned);
    }
}
END_TEST

/* ---- structs that grow ----------------------------------------------------------------------- */

/* The same descs as a caller of a later version would fill them. */
typedef struct later_model {
    skel_model_desc desc;
    unsigned char   tail[16];
} later_model;
typedef struct later_body {
    skel_body_desc desc;
    unsigned char  tail[16];
} later_body;
typedef struct later_joint {
    skel_joint_desc desc;
    unsigned char   tail[16];
} later_joint;
typedef struct later_ground {
    skel_ground_desc desc;
    unsigned char    tail[16];
} later_ground;
typedef struct later_wobble {
    skel_wobble_desc desc;
    unsigned char    tail[16];
} later_wobble;
typedef struct later_field {
    skel_field_desc desc;
    unsigned char   tail[16];
} later_field;
typedef struct later_bake {
    skel_bake_desc desc;
    unsigned char  tail[16];
} later_bake;
typedef struct later_step {
    skel_step_desc desc;
    unsigned char  tail[16];
} later_step;

/* Two bodies, a hinge to the world and a hinge between them; a soft mass on the second, above a
   ground, in a field. */
typedef struct pendulum {
    later_model  model;
    later_body   body[3];
    later_joint  joint[2];
    later_ground ground;
    later_wobble wobble;
    later_field  field;
} pendulum;

static void surround(pendulum *p) {
    skel_ground_desc_init_sized(&p->ground.desc, sizeof p->ground);
    skel_wobble_desc_init_sized(&p->wobble.desc, sizeof p->wobble);
    skel_field_desc_init_sized(&p->field.desc, sizeof p->field);
    p->wobble.desc.body         = 2;
    p->wobble.desc.host         = 1;
    p->body[2].desc.name        = "calf";
    p->body[2].desc.position[0] = 1.5;
    p->ground.desc.point[2]     = -9;
    p->model.desc.grounds       = &p->ground.desc;
    p->model.desc.ground_count  = 1;
    p->model.desc.ground_stride = sizeof p->ground;
    p->model.desc.wobbles       = &p->wobble.desc;
    p->model.desc.wobble_count  = 1;
    p->model.desc.wobble_stride = sizeof p->wobble;
    p->model.desc.fields        = &p->field.desc;
    p->model.desc.field_count   = 1;
    p->model.desc.field_stride  = sizeof p->field;
}

static void pendulum_init(pendulum *p) {
    memset(p, 0, sizeof *p);
    skel_model_desc_init_sized(&p->model.desc, sizeof p->model);
    p->model.desc.body_count   = 3;
    p->model.desc.bodies       = &p->body[0].desc;
    p->model.desc.body_stride  = sizeof p->body[0];
    p->model.desc.joint_count  = 2;
    p->model.desc.joints       = &p->joint[0].desc;
    p->model.desc.joint_stride = sizeof p->joint[0];
    for (int i = 0; i < 3; ++i) {
        skel_body_desc_init_sized(&p->body[i].desc, sizeof p->body[i]);
        p->body[i].desc.mass       = 1.0;
        p->body[i].desc.inertia[0] = 0.01;
        p->body[i].desc.inertia[1] = 0.1;
        p->body[i].desc.inertia[2] = 0.1;
    }
    surround(p);
    for (int i = 0; i < 2; ++i) {
        skel_joint_desc_init_sized(&p->joint[i].desc, sizeof p->joint[i]);
        p->body[i].desc.name                = i == 0 ? "upper" : "lower";
        p->body[i].desc.position[0]         = 0.5 + i;
        p->joint[i].desc.name               = i == 0 ? "top" : "elbow";
        p->joint[i].desc.type               = SKEL_JOINT_HINGE;
        p->joint[i].desc.parent             = i - 1;
        p->joint[i].desc.child              = i;
        p->joint[i].desc.parent_position[0] = i == 0 ? 0.0 : 0.5;
        p->joint[i].desc.child_position[0]  = -0.5;
    }
}

static skel_status create_and_drop(const pendulum *p) {
    skel_model       *model  = NULL;
    const skel_status status = skel_model_create(&p->model.desc, &model, NULL);
    ck_assert((status == SKEL_OK) == (model != NULL));
    skel_model_destroy(model);
    return status;
}

START_TEST(a_later_caller_is_served) {
    pendulum p;
    pendulum_init(&p);
    ck_assert_uint_eq(p.model.desc.struct_size, sizeof p.model);
    ck_assert_int_eq(create_and_drop(&p), SKEL_OK);
}
END_TEST

START_TEST(a_later_caller_using_what_we_do_not_know_is_refused) {
    pendulum       p;
    unsigned char *tails[] = {p.model.tail,    p.body[0].tail, p.body[1].tail, p.joint[0].tail,
                              p.joint[1].tail, p.ground.tail,  p.wobble.tail,  p.field.tail};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; ++i)
        for (size_t k = 0; k < sizeof p.model.tail; k += sizeof p.model.tail - 1) {
            pendulum_init(&p);
            tails[i][k] = 1;
            ck_assert_int_eq(create_and_drop(&p), SKEL_E_STRUCT_SIZE);
        }
}
END_TEST

START_TEST(a_desc_below_version_1_is_refused) {
    pendulum       p;
    uint32_t      *sizes[] = {&p.model.desc.struct_size,    &p.body[0].desc.struct_size,
                              &p.body[1].desc.struct_size,  &p.joint[0].desc.struct_size,
                              &p.joint[1].desc.struct_size, &p.ground.desc.struct_size,
                              &p.wobble.desc.struct_size,   &p.field.desc.struct_size};
    const uint32_t v1[]    = {72, 352, 352, 272, 272, 128, 112, 128};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const uint32_t small[] = {0, 4, 8, v1[i] - 8, v1[i] - 1};
        for (size_t k = 0; k < sizeof small / sizeof *small; ++k) {
            pendulum_init(&p);
            *sizes[i] = small[k];
            ck_assert_int_eq(create_and_drop(&p), SKEL_E_STRUCT_SIZE);
        }
        pendulum_init(&p);
        *sizes[i] = v1[i];
        ck_assert_int_eq(create_and_drop(&p), SKEL_OK);
    }
}
END_TEST

START_TEST(steps_and_bakes_are_sized_too) {
    pendulum    p;
    skel_model *model = NULL;
    skel_state *state = NULL;
    skel_bake  *bake  = NULL;
    later_step  step  = {0};
    later_bake  desc  = {0};
    pendulum_init(&p);
    ck_assert_int_eq(skel_model_create(&p.model.desc, &model, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_create(model, &state, NULL), SKEL_OK);

    skel_step_desc_init_sized(&step.desc, sizeof step);
    step.desc.h = 1e-3;
    ck_assert_int_eq(skel_step(state, &step.desc, NULL), SKEL_OK);
    step.tail[3] = 1;
    ck_assert_int_eq(skel_step(state, &step.desc, NULL), SKEL_E_STRUCT_SIZE);
    step.tail[3]          = 0;
    step.desc.struct_size = 16;
    ck_assert_int_eq(skel_step(state, &step.desc, NULL), SKEL_E_STRUCT_SIZE);

    skel_bake_desc_init_sized(&desc.desc, sizeof desc);
    desc.desc.model        = model;
    desc.desc.sample_count = 2;
    ck_assert_int_eq(skel_bake_start(&desc, &bake, NULL), SKEL_OK);
    skel_bake_destroy(bake);
    desc.tail[15] = 1;
    ck_assert_int_eq(skel_bake_start(&desc, &bake, NULL), SKEL_E_STRUCT_SIZE);
    ck_assert_ptr_null(bake);
    desc.tail[15]         = 0;
    desc.desc.struct_size = 64; /* before preroll */
    ck_assert_int_eq(skel_bake_start(&desc, &bake, NULL), SKEL_OK);
    skel_bake_destroy(bake);
    desc.desc.struct_size = 56;
    ck_assert_int_eq(skel_bake_start(&desc, &bake, NULL), SKEL_E_STRUCT_SIZE);
    ck_assert_ptr_null(bake);

    skel_state_destroy(state);
    skel_model_destroy(model);
}
END_TEST

START_TEST(init_writes_no_byte_too_many) {
    struct {
        skel_model_desc desc;
        unsigned char   guard[8];
    } d;
    const size_t sizes[] = {4, 8, 24, sizeof d.desc - 8, sizeof d.desc};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        memset(&d, 0xAB, sizeof d);
        skel_model_desc_init_sized(&d.desc, sizes[i]);
        ck_assert_uint_eq(d.desc.struct_size, sizes[i]);
        const unsigned char *bytes = (const unsigned char *)&d;
        for (size_t k = sizes[i]; k < sizeof d; ++k) ck_assert_uint_eq(bytes[k], 0xAB);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("abi");
    TCase *tcase = tcase_create("abi");
    tcase_add_test(tcase, numbers_are_pinned);
    tcase_add_test(tcase, every_number_has_a_text);
    tcase_add_test(tcase, versions_agree);
    tcase_add_test(tcase, fields_stay_where_they_are);
    tcase_add_test(tcase, structs_have_no_tail_padding);
    tcase_add_test(tcase, a_later_caller_is_served);
    tcase_add_test(tcase, a_later_caller_using_what_we_do_not_know_is_refused);
    tcase_add_test(tcase, a_desc_below_version_1_is_refused);
    tcase_add_test(tcase, steps_and_bakes_are_sized_too);
    tcase_add_test(tcase, init_writes_no_byte_too_many);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
