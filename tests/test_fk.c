/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinematics: maximal <-> joint coordinates both ways, velocities as derivatives, projection. */
#include "math/quat.h"
#include "shared/near.h"
#include "shared/scenes.h"

#include <stdlib.h>
#include <string.h>

#define FK_NUMBERS_MAX 160

static scene random_scene(rng *r, int k) {
    return scene_random_tree(r, (scene_options){.bodies = 2 + k % 20, .root = k % 4, .loads = 1});
}

static void check_closed(const skel_state *s, double bound) {
    skel_report_row row = {.struct_size = sizeof row};
    ck_assert_int_eq(skel_report(s, &row), SKEL_OK);
    ck_assert_double_le(row.joint_gap, bound);
    ck_assert_double_le(row.misalignment, bound);
}

START_TEST(q_there_and_back) {
    rng r = rng_seed(21);
    for (int k = 0; k < 100; ++k) {
        scene s = random_scene(&r, k);
        const int32_t n = skel_model_q_count(s.model), nb = skel_model_body_count(s.model);
        double q[FK_NUMBERS_MAX], back[FK_NUMBERS_MAX], one[FK_NUMBERS_MAX], two[FK_NUMBERS_MAX];
        ck_assert_int_eq(skel_state_get_q(s.state, q), SKEL_OK);
        skel_state_get_poses(s.state, one);
        ck_assert_int_eq(skel_state_set_q(s.state, q), SKEL_OK);
        skel_state_get_poses(s.state, two);
        for (int32_t i = 0; i < nb; ++i) { /* q and -q are one orientation */
            near(one + 7 * i, two + 7 * i, 3, 1e-13);
            const double d = q_dot(q_of(one + 7 * i + 3), q_of(two + 7 * i + 3));
            ck_assert_double_ge(fabs(d), 1 - 1e-13);
        }
        check_closed(s.state, 1e-13);
        ck_assert_int_eq(skel_state_get_q(s.state, back), SKEL_OK);
        near(back, q, (size_t)n, 1e-12);
        scene_free(&s);
    }
}
END_TEST

START_TEST(zero_is_the_given_pose) { /* joints by frames that coincide: q = 0, fk(0) = the pose */
    scene s = scene_chain(5, SKEL_JOINT_HINGE, SKEL_JOINT_BALL, .2, NULL);
    double q[FK_NUMBERS_MAX] = {0}, poses[FK_NUMBERS_MAX];
    ck_assert_int_eq(skel_fk(s.model, q, poses), SKEL_OK);
    for (int k = 0; k < 5; ++k) {
        const double want[3] = {0, 0, -.1 - .2 * k};
        near(poses + 7 * k, want, 3, 1e-15);
    }
    scene_free(&s);
}
END_TEST

START_TEST(qd_there_and_back) {
    rng r = rng_seed(22);
    for (int k = 0; k < 100; ++k) {
        scene s = random_scene(&r, k);
        const int32_t n = skel_model_dof(s.model), nb = skel_model_body_count(s.model);
        double qd[FK_NUMBERS_MAX], back[FK_NUMBERS_MAX], one[FK_NUMBERS_MAX], two[FK_NUMBERS_MAX];
        skel_state_get_qd(s.state, qd);
        skel_state_get_velocities(s.state, one);
        for (int32_t e = 0; e < n; ++e) back[e] = -qd[e];
        skel_state_set_qd(s.state, back);
        skel_state_set_qd(s.state, qd);
        skel_state_get_velocities(s.state, two);
        near(two, one, 6 * (size_t)nb, 1e-12);
        skel_state_get_qd(s.state, back);
        near(back, qd, (size_t)n, 1e-12);
        scene_free(&s);
    }
}
END_TEST

/* q moved along qd for a time h: ball quaternions by their rate in inner axes. */
static void move_q(const skel_model *m, const double *q, const double *qd, double h, double *out) {
    for (int32_t j = 0; j < skel_model_joint_count(m); ++j) {
        skel_joint_desc d = {.struct_size = sizeof d};
        const int32_t at = skel_model_joint_q_offset(m, j), v = skel_model_joint_dof_offset(m, j);
        skel_model_get_joint(m, j, &d);
        if (d.type == SKEL_JOINT_BALL)
            q_to(q_mul(q_of(q + at), q_exp(v3_scale(v3_of(qd + v), h))), out + at);
        else
            for (int k = 0; k < (d.type == SKEL_JOINT_UNIVERSAL ? 2 : d.type != 0); ++k)
                out[at + k] = q[at + k] + h * qd[v + k];
    }
}

START_TEST(velocities_are_derivatives) { /* the Jacobian against central differences of fk */
    rng r = rng_seed(23);
    const double h = 1e-6;
    for (int k = 0; k < 60; ++k) {
        scene s = scene_random_tree(
            &r, (scene_options){.bodies = 2 + k % 20,
                                .root = k % 2 ? SCENE_ROOT_WORLD : SCENE_ROOT_FIXED});
        double q[FK_NUMBERS_MAX], qd[FK_NUMBERS_MAX], moved[FK_NUMBERS_MAX], a[FK_NUMBERS_MAX],
            b[FK_NUMBERS_MAX], v[FK_NUMBERS_MAX], x[FK_NUMBERS_MAX];
        skel_state_get_q(s.state, q);
        skel_state_get_qd(s.state, qd);
        skel_state_get_velocities(s.state, v);
        skel_state_get_poses(s.state, x);
        move_q(s.model, q, qd, -h, moved);
        ck_assert_int_eq(skel_fk(s.model, moved, a), SKEL_OK);
        move_q(s.model, q, qd, h, moved);
        ck_assert_int_eq(skel_fk(s.model, moved, b), SKEL_OK);
        for (int32_t i = 0; i < skel_model_body_count(s.model); ++i) {
            double rate[6];
            for (int c = 0; c < 3; ++c) rate[c] = (b[7 * i + c] - a[7 * i + c]) / (2 * h);
            const quat turn = q_mul(q_conj(q_of(a + 7 * i + 3)), q_of(b + 7 * i + 3));
            v3_to(v3_scale(q_log(turn), 1 / (2 * h)), rate + 3);
            near(rate, v + 6 * i, 6, 1e-7 * (1 + max_abs(v + 6 * i, 6)));
        }
        scene_free(&s);
    }
}
END_TEST

START_TEST(projection_closes_and_keeps_momentum) {
    rng r = rng_seed(24);
    for (int k = 0; k < 40; ++k) {
        scene s = scene_random_tree(&r, (scene_options){.bodies = 12, .spin = 3});
        const int32_t nb = skel_model_body_count(s.model);
        double x[FK_NUMBERS_MAX], v[FK_NUMBERS_MAX], gap, speed;
        skel_report_row before = {.struct_size = sizeof before}, after = before;
        skel_state_get_poses(s.state, x);
        skel_state_get_velocities(s.state, v);
        for (int32_t i = 0; i < 7 * nb; ++i) x[i] += rng_range(&r, -1e-3, 1e-3);
        for (int32_t i = 0; i < 6 * nb; ++i) v[i] += rng_range(&r, -.5, .5);
        skel_state_set_poses(s.state, x);
        skel_state_set_velocities(s.state, v);
        skel_report(s.state, &before);
        ck_assert_int_eq(skel_state_project(s.state, &gap, &speed, NULL), SKEL_OK);
        ck_assert_double_eq(gap, before.joint_gap);
        ck_assert_double_gt(speed, 1e-2);
        check_closed(s.state, 1e-13);
        skel_report(s.state, &after);
        near(after.momentum, before.momentum, 3, 1e-13 * 30);            /* sum m |v| is about 30 */
        ck_assert_double_le(after.kinetic, before.kinetic * (1 + 1e-6)); /* nearest by mass */
        ck_assert_int_eq(skel_state_project(s.state, &gap, &speed, NULL), SKEL_OK);
        ck_assert_double_le(gap, 1e-13);
        ck_assert_double_le(speed, 1e-12);
        scene_free(&s);
    }
}
END_TEST

START_TEST(projection_keeps_angular_momentum) { /* velocities only: no body moves */
    rng r = rng_seed(25);
    for (int k = 0; k < 20; ++k) {
        scene s = scene_random_tree(&r, (scene_options){.bodies = 12});
        const int32_t nb = skel_model_body_count(s.model);
        double v[FK_NUMBERS_MAX];
        skel_report_row before = {.struct_size = sizeof before}, after = before;
        skel_state_get_velocities(s.state, v);
        for (int32_t i = 0; i < 6 * nb; ++i) v[i] += rng_range(&r, -.5, .5);
        skel_state_set_velocities(s.state, v);
        skel_report(s.state, &before);
        ck_assert_int_eq(skel_state_project(s.state, NULL, NULL, NULL), SKEL_OK);
        skel_report(s.state, &after);
        near(after.momentum, before.momentum, 3, 1e-12);
        near(after.angular_momentum, before.angular_momentum, 3, 1e-11);
        ck_assert_double_lt(after.kinetic, before.kinetic);
        scene_free(&s);
    }
}
END_TEST

START_TEST(setters_refuse_nonsense) {
    scene s = scene_chain(2, SKEL_JOINT_HINGE, SKEL_JOINT_BALL, .2, NULL);
    double bad[FK_NUMBERS_MAX] = {0}, good[FK_NUMBERS_MAX], same[FK_NUMBERS_MAX];
    skel_state_get_poses(s.state, good);
    ck_assert_int_eq(skel_state_set_poses(s.state, bad), SKEL_E_ARGUMENT); /* zero quaternions */
    bad[0] = NAN;
    ck_assert_int_eq(skel_state_set_q(s.state, bad), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_state_set_qd(s.state, bad), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_state_set_velocities(s.state, bad), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_state_get_q(NULL, bad), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_state_get_poses(s.state, NULL), SKEL_E_ARGUMENT);
    skel_state_get_poses(s.state, same);
    ck_assert_int_eq(memcmp(good, same, 14 * sizeof *good), 0);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("kinematics");
    TCase *t = tcase_create("all");
    tcase_add_test(t, q_there_and_back);
    tcase_add_test(t, zero_is_the_given_pose);
    tcase_add_test(t, qd_there_and_back);
    tcase_add_test(t, velocities_are_derivatives);
    tcase_add_test(t, projection_closes_and_keeps_momentum);
    tcase_add_test(t, projection_keeps_angular_momentum);
    tcase_add_test(t, setters_refuse_nonsense);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
