/* SPDX-License-Identifier: BSD-3-Clause */
/* The bake: resumable, independent of the sample rate, continuous, honest about failure. */
#include "math/quat.h"
#include "shared/near.h"
#include "shared/ragdoll.h"
#include "shared/scenes.h"

#include <stdlib.h>
#include <string.h>

static skel_bake_desc desc_of(const scene *s, double rate, uint32_t count) {
    skel_bake_desc d;
    skel_bake_desc_init(&d);
    d.model = s->model, d.state = s->state;
    d.sample_rate = rate, d.sample_count = count;
    return d;
}

static skel_bake *start(const skel_bake_desc *d) {
    skel_bake *b;
    skel_error err;
    skel_error_init(&err);
    ck_assert_msg(skel_bake_start(d, &b, &err) == SKEL_OK, "%s", err.text);
    return b;
}

static scene tumbling(int bodies) {
    rng r = rng_seed(5);
    return scene_random_tree(&r, (scene_options){.bodies = bodies, .loads = 1, .spin = 2});
}

START_TEST(resumable) { /* one step at a time, in slices of time, and at once: the same bits */
    scene s = tumbling(6);
    const skel_bake_desc d = desc_of(&s, 30, 20);
    skel_bake *a = start(&d), *b = start(&d), *c = start(&d);
    const size_t n = 20 * 6;
    ck_assert_int_eq(skel_bake_advance(a, -1), SKEL_OK);
    int calls = 0;
    double last = -1;
    while (skel_bake_advance(b, 0) == SKEL_MORE) {
        ck_assert_double_ge(skel_bake_progress(b), last);
        last = skel_bake_progress(b);
        ++calls;
    }
    ck_assert_int_gt(calls, 100);
    while (skel_bake_advance(c, .2) == SKEL_MORE) ++calls;
    ck_assert_double_eq(skel_bake_progress(a), 1);
    ck_assert_int_eq(skel_bake_samples_done(b), 20);
    ck_assert_int_eq(memcmp(skel_bake_poses(a), skel_bake_poses(b), n * 7 * 8), 0);
    ck_assert_int_eq(memcmp(skel_bake_velocities(a), skel_bake_velocities(b), n * 6 * 8), 0);
    ck_assert_int_eq(memcmp(skel_bake_poses(a), skel_bake_poses(c), n * 7 * 8), 0);
    ck_assert_int_eq(skel_bake_advance(a, -1), SKEL_OK); /* finished stays finished */
    skel_bake_destroy(a), skel_bake_destroy(b), skel_bake_destroy(c);
    scene_free(&s);
}
END_TEST

/* A step that hits things is done in parts and may be left between them: a host's clock ticks on.
   At 25 samples a second some fall between steps, which are done in parts as well. */
START_TEST(resumable_within_a_step) {
    rng r = rng_seed(101);
    scene s = scene_ragdoll(&r, (ragdoll_options){.stairs = 8, .friction = 1});
    skel_bake_desc d = desc_of(&s, 25, 40);
    skel_bake *a = start(&d), *b = start(&d);
    double calls = 0;
    skel_bake_summary sum = {.struct_size = (uint32_t)sizeof sum};
    ck_assert_int_eq(skel_bake_advance(a, -1), SKEL_OK);
    while (skel_bake_advance(b, 0) == SKEL_MORE) ++calls;
    ck_assert_int_eq(skel_bake_get_summary(b, &sum), SKEL_OK);
    ck_assert_double_gt(calls, 1.2 * (sum.steps + 80));
    const size_t n = (size_t)skel_model_body_count(s.model) * 40;
    ck_assert_mem_eq(skel_bake_poses(a), skel_bake_poses(b), n * 7 * sizeof(double));
    ck_assert_mem_eq(skel_bake_velocities(a), skel_bake_velocities(b), n * 6 * sizeof(double));
    skel_bake_destroy(a), skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(rate_does_not_matter) { /* samples at common times are the same to the bit */
    scene s = tumbling(7);
    const double rates[4] = {24, 30, 60, 120};
    skel_bake *b[4];
    for (int k = 0; k < 4; ++k) {
        const skel_bake_desc d = desc_of(&s, rates[k], (uint32_t)rates[k] + 1);
        b[k] = start(&d);
        ck_assert_int_eq(skel_bake_advance(b[k], -1), SKEL_OK);
    }
    for (int k = 1; k < 4; ++k)
        for (int sixth = 0; sixth <= 6; ++sixth) { /* 1/6 s is in all of them */
            const size_t one = (size_t)(sixth * 24 / 6) * 7,
                         two = (size_t)(sixth * (int)rates[k] / 6) * 7;
            ck_assert_int_eq(memcmp(skel_bake_velocities(b[0]) + one * 6,
                                    skel_bake_velocities(b[k]) + two * 6, 7 * 6 * 8),
                             0);
            for (size_t i = 0; i < 7; ++i)
                ck_assert_int_eq(memcmp(skel_bake_poses(b[0]) + (one + i) * 7,
                                        skel_bake_poses(b[k]) + (two + i) * 7, 3 * 8),
                                 0);
        }
    for (int k = 0; k < 4; ++k) skel_bake_destroy(b[k]);
    scene_free(&s);
}
END_TEST

START_TEST(samples_between_steps) { /* a step that fits no frame still samples at k / rate */
    scene s = scene_chain(3, SKEL_JOINT_HINGE, SKEL_JOINT_HINGE, .3, NULL);
    skel_bake_desc d = desc_of(&s, 24, 25);
    skel_bake *a = start(&d);
    d.step = .0037;
    skel_bake *b = start(&d);
    ck_assert_int_eq(skel_bake_advance(a, -1), SKEL_OK);
    ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
    for (int32_t k = 0; k < 25; ++k) {
        skel_report_row row = {.struct_size = sizeof row};
        ck_assert_int_eq(skel_bake_get_report(b, k, &row), SKEL_OK);
        near1(row.time, k / 24.0, 1e-12);
    }
    near(skel_bake_poses(a), skel_bake_poses(b), 25 * 3 * 7, 1e-5);
    skel_bake_destroy(a), skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(preroll_settles_first) { /* sample 0 shows the motion after that time, and no drift */
    for (int e = 0; e < 3; ++e) {
        const int32_t by[3] = {SKEL_INTEGRATOR_RK4, SKEL_INTEGRATOR_ADAMS,
                               SKEL_INTEGRATOR_CONSERVING};
        rng r = rng_seed(5);
        scene s = scene_random_tree(&r, (scene_options){.bodies = 5, .spin = 2});
        skel_bake_desc d = desc_of(&s, 24, 13);
        d.integrator = by[e], d.tolerance = 1e-10;
        skel_bake *a = start(&d);
        d.sample_count = 7, d.preroll = .25;
        skel_bake *b = start(&d);
        ck_assert_int_eq(skel_bake_advance(a, -1), SKEL_OK);
        ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
        skel_report_row row = {.struct_size = sizeof row};
        skel_bake_summary sum = {.struct_size = sizeof sum};
        ck_assert_int_eq(skel_bake_get_report(b, 0, &row), SKEL_OK);
        ck_assert_double_eq(row.time, 0);
        /* no curve knows the time: the same motion, a quarter of a second earlier */
        near(skel_bake_velocities(b), skel_bake_velocities(a) + 6 * 5 * 6, 7 * 5 * 6,
             e == 2 ? 1e-3 : 1e-6);
        skel_bake_get_summary(b, &sum);
        ck_assert_double_le(sum.energy_drift, 1e-7);
        skel_bake_destroy(a), skel_bake_destroy(b);
        scene_free(&s);
    }
}
END_TEST

/* A cart runs at 1 m/s and stops dead, or stands and starts at once; the bob below it turns:
   m l v = (I + m l^2) omega. */
START_TEST(a_driven_jump_is_an_impact) {
    static const int32_t by[5] = {SKEL_INTEGRATOR_EULER, SKEL_INTEGRATOR_RK4, SKEL_INTEGRATOR_ADAMS,
                                  SKEL_INTEGRATOR_BDF, SKEL_INTEGRATOR_CONSERVING};
    const int starts = _i >= 5;
    const double stop[2] = {0, .5}, start_at[2] = {.5, 1.5}, path[6] = {0, 0, 0, 1, 0, 0};
    const double half[6] = {0, 0, 0, .5, 0, 0};
    const double inertia = .02, l = .4, mass = 2, spin = mass * l / (inertia + mass * l * l);
    skel_body_desc b[2];
    skel_joint_desc j;
    skel_model_desc m;
    scene s = {0};
    skel_body_desc_init(&b[0]), skel_body_desc_init(&b[1]), skel_joint_desc_init(&j);
    skel_model_desc_init(&m);
    memset(m.gravity, 0, sizeof m.gravity);
    b[0].motion = SKEL_MOTION_DRIVEN;
    b[0].position_curve = (skel_curve){starts ? start_at : stop, starts ? path : half, 2, 3};
    b[1].mass = mass, b[1].position[2] = -l, b[1].velocity[0] = starts ? 0 : 1;
    b[1].inertia[0] = b[1].inertia[1] = b[1].inertia[2] = inertia;
    j.type = SKEL_JOINT_BALL, j.parent = 0, j.child = 1, j.child_position[2] = l;
    m.bodies = b, m.body_count = 2, m.joints = &j, m.joint_count = 1;
    ck_assert_int_eq(skel_model_create(&m, &s.model, NULL), SKEL_OK);
    skel_bake_desc d = desc_of(&s, 10, 11);
    d.integrator = by[_i % 5];
    skel_bake *bake = start(&d);
    ck_assert_int_eq(skel_bake_advance(bake, -1), SKEL_OK);
    for (int k = 1; k <= 10; ++k) { /* sample 5 is the moment itself: still before it */
        const double *v = skel_bake_velocities(bake) + (2 * k + 1) * 6;
        near1(fabs(v[4]), k <= 5 ? 0 : spin, 1e-6);
    }
    skel_report_row first = {.struct_size = sizeof first}, row = first;
    skel_bake_summary sum = {.struct_size = sizeof sum};
    ck_assert_int_eq(skel_bake_get_report(bake, 0, &first), SKEL_OK);
    ck_assert_int_eq(skel_bake_get_report(bake, 10, &row), SKEL_OK);
    const double drift = d.integrator == SKEL_INTEGRATOR_EULER ? 1e-2 : 1e-6;
    near1(row.work_drive, row.kinetic - first.kinetic, drift);
    skel_bake_get_summary(bake, &sum);
    ck_assert_double_le(sum.energy_drift, drift);
    skel_bake_destroy(bake);
    scene_free(&s);
}
END_TEST

START_TEST(continuous) { /* quaternions never flip, angles never jump by a turn */
    const double none[3] = {0, 0, 0};
    skel_body_desc body;
    skel_joint_desc j;
    skel_model_desc m;
    scene s;
    skel_body_desc_init(&body), skel_joint_desc_init(&j), skel_model_desc_init(&m);
    memcpy(m.gravity, none, sizeof none);
    body.mass = 1, body.inertia[0] = body.inertia[1] = body.inertia[2] = 1;
    j.type = SKEL_JOINT_HINGE, j.child = 0;
    m.bodies = &body, m.body_count = 1, m.joints = &j, m.joint_count = 1;
    ck_assert_int_eq(skel_model_create(&m, &s.model, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
    const double spin = 9;
    skel_state_set_qd(s.state, &spin);
    const skel_bake_desc d = desc_of(&s, 24, 100);
    skel_bake *b = start(&d);
    ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
    for (int k = 0; k < 100; ++k) {
        const double *x = skel_bake_poses(b) + 7 * k + 3;
        near1(skel_bake_q(b)[k], 9 * k / 24.0, 1e-8);
        if (k > 0) ck_assert_double_gt(q_dot(q_of(x), q_of(x - 7)), 0);
    }
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(bad_velocities_are_projected_and_said) {
    scene s = tumbling(5);
    double v[30];
    skel_state_get_velocities(s.state, v);
    v[0] += 1;
    skel_state_set_velocities(s.state, v);
    const skel_bake_desc d = desc_of(&s, 24, 3);
    skel_bake *b = start(&d);
    ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
    skel_bake_summary sum = {.struct_size = sizeof sum};
    ck_assert_int_eq(skel_bake_get_summary(b, &sum), SKEL_OK);
    ck_assert_uint_eq(sum.warning_count, 1);
    ck_assert_ptr_nonnull(strstr(skel_bake_warning(b, 0), "velocities"));
    ck_assert_ptr_null(skel_bake_warning(b, 1));
    ck_assert_int_eq(sum.integrator, SKEL_INTEGRATOR_ADAMS);
    ck_assert_double_le(sum.joint_gap, 1e-13);
    ck_assert_double_le(sum.energy_drift, 1e-8);
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(euler_drifts_and_the_receipt_says_so) {
    scene s = tumbling(6);
    skel_bake_desc d = desc_of(&s, 24, 49);
    d.integrator = SKEL_INTEGRATOR_EULER;
    d.step = 1.0 / 960;
    skel_bake *b = start(&d);
    ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
    skel_bake_summary sum = {.struct_size = sizeof sum};
    skel_bake_get_summary(b, &sum);
    ck_assert_double_gt(sum.joint_gap, 1e-4);
    ck_assert_double_gt(sum.energy_drift, 1e-4);
    ck_assert_double_le(sum.momentum_drift, 1e-13);
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(divergence_is_an_error_with_time) {
    rng r = rng_seed(80);
    scene s = scene_random_tree(&r, (scene_options){.bodies = 12, .spin = 60});
    skel_bake_desc d = desc_of(&s, 24, 100);
    d.step = .2;
    skel_bake *b = start(&d);
    ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_E_DIVERGED);
    ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_E_DIVERGED); /* and stays one */
    skel_error err;
    skel_error_init(&err);
    skel_bake_get_error(b, &err);
    ck_assert_int_eq(err.status, SKEL_E_DIVERGED);
    ck_assert_ptr_nonnull(strstr(err.text, "t = "));
    ck_assert_int_ge(skel_bake_samples_done(b), 1);
    ck_assert_int_lt(skel_bake_samples_done(b), 100);
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(bad_calls) {
    scene s = tumbling(3);
    skel_bake *b;
    skel_error err;
    skel_bake_desc d = desc_of(&s, 24, 3);
    skel_error_init(&err);
#define REFUSED(field, value, word)                                                                \
    do {                                                                                           \
        skel_bake_desc bad = d;                                                                    \
        bad.field = value;                                                                         \
        ck_assert_int_eq(skel_bake_start(&bad, &b, &err), SKEL_E_ARGUMENT);                        \
        ck_assert_ptr_null(b);                                                                     \
        ck_assert_msg(strstr(err.text, word) != NULL, "%s", err.text);                             \
    } while (0)
    REFUSED(model, NULL, "model");
    REFUSED(integrator, 77, "integrator");
    REFUSED(solver, -1, "solver");
    REFUSED(sample_count, 0, "sample_count");
    REFUSED(sample_rate, 0, "sample_rate");
    REFUSED(sample_rate, INFINITY, "sample_rate");
    REFUSED(step, -1, "step");
    REFUSED(preroll, -1, "preroll");
    REFUSED(preroll, 1e300, "at most");
    REFUSED(step, 1e-300, "steps");
    d.sample_count = 2000000000u, d.sample_rate = 1e4; /* more memory than there is */
    ck_assert_int_eq(skel_bake_start(&d, &b, &err), SKEL_E_MEMORY);
    ck_assert_int_eq(skel_bake_start(NULL, &b, &err), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_bake_advance(NULL, 1), SKEL_E_ARGUMENT);
    skel_bake_destroy(NULL);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("bake");
    TCase *t = tcase_create("all");
    tcase_add_test(t, resumable);
    tcase_add_test(t, resumable_within_a_step);
    tcase_add_test(t, rate_does_not_matter);
    tcase_add_test(t, samples_between_steps);
    tcase_add_test(t, preroll_settles_first);
    tcase_add_loop_test(t, a_driven_jump_is_an_impact, 0, 10);
    tcase_add_test(t, continuous);
    tcase_add_test(t, bad_velocities_are_projected_and_said);
    tcase_add_test(t, euler_drifts_and_the_receipt_says_so);
    tcase_add_test(t, divergence_is_an_error_with_time);
    tcase_add_test(t, bad_calls);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
