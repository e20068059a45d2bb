/* SPDX-License-Identifier: BSD-3-Clause */
/* The model: inertias, validation with named errors, the forest, placing by q. */
#include "model/model.h"
#include "shared/near.h"
#include "shared/scenes.h"

#include <stdio.h>
#include <string.h>

/* Two boxes on a hinge and a ball, valid; tests break one thing at a time. */
typedef struct fixture {
    skel_body_desc  body[3];
    skel_joint_desc joint[3];
    skel_model_desc d;
    skel_error      err;
    skel_model     *model;
} fixture;

static void make_valid(fixture *f) {
    memset(f, 0, sizeof *f);
    skel_error_init(&f->err);
    skel_model_desc_init(&f->d);
    for (int k = 0; k < 3; ++k) {
        static const char *const names[] = {"one", "two", "three"};
        skel_body_desc_init(&f->body[k]);
        skel_joint_desc_init(&f->joint[k]);
        f->body[k].name       = names[k];
        f->body[k].mass       = 1;
        f->body[k].inertia[0] = f->body[k].inertia[1] = f->body[k].inertia[2] = .1;
        f->body[k].position[0]                                                = k + .5;
        f->joint[k].type                                                      = SKEL_JOINT_HINGE;
        f->joint[k].parent                                                    = k - 1;
        f->joint[k].child                                                     = k;
        f->joint[k].parent_position[0]                                        = k ? .5 : 0;
        f->joint[k].child_position[0]                                         = -.5;
    }
    f->d.bodies = f->body, f->d.body_count = 3;
    f->d.joints = f->joint, f->d.joint_count = 3;
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
    ck_assert_int_eq(skel_model_body_count(f.model), 3);
    ck_assert_int_eq(skel_model_dof(f.model), 3);
    ck_assert_int_eq(skel_model_find_body(f.model, "two"), 1);
    ck_assert_int_eq(skel_model_find_body(f.model, "world"), SKEL_WORLD);
    ck_assert_int_eq(skel_model_find_body(f.model, "nobody"), -2);
    ck_assert_str_eq(skel_model_joint_name(f.model, 2), "joint 2");
    ck_assert_ptr_null(skel_model_body_name(f.model, 3));
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
FAULT(joint_limits, f->joint[1].has_limits = 1; f->joint[1].limit_low[0] = 1)
FAULT(joint_limits_fixed, f->joint[1].has_limits = 1; f->joint[1].type = SKEL_JOINT_FIXED)
FAULT(joint_open, f->joint[2].child_position[1] = .1)
FAULT(joint_bent, f->joint[2].child_orientation[0] = .8; f->joint[2].child_orientation[1] = .6)
FAULT(follow_nan, f->joint[1].follow_frequency = NAN)
FAULT(follow_damping, f->joint[1].follow_damping = -1)
FAULT(follow_max, f->joint[1].follow_max = -1)
FAULT(follow_fixed, f->joint[1].type = SKEL_JOINT_FIXED; f->joint[1].follow_frequency = 1)
FAULT(follow_width, f->joint[1].follow_curve = ((skel_curve){k_value, k_value, 1, 2}))
FAULT(follow_turn, f->joint[1].type = SKEL_JOINT_BALL;
      f->joint[1].follow_curve = ((skel_curve){k_value, k_four, 1, 4}))
FAULT(follow_weight, f->joint[1].follow_weight = ((skel_curve){k_bad_time, k_value, 2, 1}))
FAULT(no_mover, f->body[0].motion = SKEL_MOTION_FIXED)
FAULT(not_placed, f->body[2].unplaced = 1; f->d.joint_count = 2)
FAULT(too_far, f->body[1].position[0] = 1e308; f->joint[1].parent_position[0] = 1e308)
FAULT(too_wound, f->body[1].unplaced = 1; f->joint[1].q[0] = 1e308)
FAULT(gravity, f->d.gravity[0] = INFINITY)
FAULT(no_bodies, f->d.body_count = 0)

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
    {"\"two\" stands twice", SKEL_E_ARGUMENT, name_twice},
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
    {"joints[2].frames: stand 0.1 m apart", SKEL_E_JOINT, joint_open},
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
};

START_TEST(faults_are_named) {
    const fault *k = &k_faults[_i];
    fixture      f;
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
    const int32_t shape   = _i;
    const double  size[3] = {.8, .5, .6}, half = 1.0;
    const int     n      = 120;
    double        sum[3] = {0}, count = 0, mine[6];
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
    double       a[6], b[6];
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
        scene             s = scene_random_tree(&r, (scene_options){.bodies = 30, .root = k % 4});
        const skel_model *m = s.model;
        int               seen[30] = {0}, n = 0;
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
    ck_assert_int_eq(f.model->nd, 3);
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
        ck_assert_int_eq(f.model->nd, k == 0 ? 3 : 2);
        skel_model_destroy(f.model);
    }
}
END_TEST

START_TEST(a_curve_says_how_a_dynamic_body_starts) {
    const double time[3] = {-1, 1, 2}, value[9] = {0, 0, 0, 2, 0, 0, 3, 0, 0}, pin[2] = {-1, .5};
    fixture      f;
    make_valid(&f);
    f.d.joint_count          = 0;
    f.body[0].position_curve = (skel_curve){time, value, 3, 3};
    f.body[0].velocity[1]    = 7;
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

START_TEST(names_are_copied_and_long) {
    fixture f;
    char    name[300];
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
    TCase *t     = tcase_create("all");
    tcase_add_test(t, valid_model);
    tcase_add_loop_test(t, faults_are_named, 0, (int)(sizeof k_faults / sizeof *k_faults));
    tcase_add_test(t, null_arguments);
    tcase_add_loop_test(t, shape_inertia, SKEL_SHAPE_SPHERE, SKEL_SHAPE_CAPSULE + 1);
    tcase_add_test(t, shape_limits);
    tcase_add_test(t, order_is_parents_first);
    tcase_add_test(t, forest);
    tcase_add_test(t, loops);
    tcase_add_test(t, a_curve_says_how_a_dynamic_body_starts);
    tcase_add_test(t, names_are_copied_and_long);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
