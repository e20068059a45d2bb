/* SPDX-License-Identifier: BSD-3-Clause */
/* Accelerations: three solvers must agree; an acceleration must keep the joints together. */
#include "math/quat.h"
#include "shared/near.h"
#include "shared/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct accelerations {
    size_t n;
    double *linear, *angular;
} accelerations;

static accelerations solve(const scene *s, int32_t solver) {
    accelerations a = {3 * (size_t)skel_model_body_count(s->model), NULL, NULL};
    skel_error err;
    skel_error_init(&err);
    a.linear = calloc(a.n, sizeof(double));
    a.angular = calloc(a.n, sizeof(double));
    ck_assert_msg(skel_accelerations(s->state, solver, a.linear, a.angular, &err) == SKEL_OK, "%s",
                  err.text);
    return a;
}

static void release(accelerations a) {
    free(a.linear), free(a.angular);
}

static double relative(accelerations a, accelerations b) {
    /* at least 1: a welded skeleton on a fixed root does not accelerate at all */
    const double size = fmax(1.0, fmax(max_abs(a.linear, a.n), max_abs(a.angular, a.n)));
    return fmax(max_difference(a.linear, b.linear, a.n),
                max_difference(a.angular, b.angular, a.n)) /
           size;
}

static double compare(const scene *s, int32_t one, int32_t two) {
    const accelerations a = solve(s, one), b = solve(s, two);
    const double difference = relative(a, b);
    release(a), release(b);
    return difference;
}

START_TEST(solvers_agree_on_random_trees) {
    rng r = rng_seed(7);
    double worst = 0, worst_kkt = 0;
    for (int k = 0; k < 200; ++k) {
        scene s = scene_random_tree(
            &r, (scene_options){.bodies = 2 + k * 38 / 199, .root = k % 4, .loads = 1, .spin = 2});
        const double pinv = compare(&s, SKEL_SOLVER_TREE, SKEL_SOLVER_PINV);
        const double kkt = compare(&s, SKEL_SOLVER_TREE, SKEL_SOLVER_KKT);
        ck_assert_msg(pinv <= 1e-10, "tree %d: tree and pinv differ by %.3g", k, pinv);
        ck_assert_msg(kkt <= 1e-10, "tree %d: tree and kkt differ by %.3g", k, kkt);
        worst = fmax(worst, pinv), worst_kkt = fmax(worst_kkt, kkt);
        scene_free(&s);
    }
    printf("200 random trees: tree - pinv %.2g, tree - kkt %.2g (relative, largest)\n", worst,
           worst_kkt);
}
END_TEST

START_TEST(each_joint_type_alone) { /* so that one kind cannot hide behind the others */
    rng r = rng_seed((uint64_t)_i + 100);
    for (int k = 0; k < 20; ++k) {
        scene s = scene_random_tree(
            &r, (scene_options){.bodies = 8, .root = k % 4, .joint_mask = 1 << _i, .loads = 1});
        ck_assert_double_le(compare(&s, SKEL_SOLVER_TREE, SKEL_SOLVER_PINV), 1e-10);
        scene_free(&s);
    }
}
END_TEST

START_TEST(long_ball_chain) { /* the trap of lopsided articulated inertias */
    scene s = scene_chain(110, SKEL_JOINT_BALL, SKEL_JOINT_BALL, .1, NULL);
    const double difference = compare(&s, SKEL_SOLVER_TREE, SKEL_SOLVER_KKT);
    printf("ball chain of 110: tree - kkt %.2g\n", difference);
    ck_assert_double_le(difference, 1e-11);
    scene_free(&s);
}
END_TEST

/* p + v h + a h^2 / 2 and R exp(w h + dw h^2 / 2): how far apart the joints are after h. */
static double gap_after(const scene *s, accelerations a, double h, double *misalignment) {
    const int32_t n = skel_model_body_count(s->model);
    skel_state *copy;
    double *x = calloc(7 * (size_t)n, sizeof *x), *v = calloc(6 * (size_t)n, sizeof *v);
    skel_state_get_poses(s->state, x);
    skel_state_get_velocities(s->state, v);
    for (int32_t i = 0; i < n; ++i) {
        double *p = x + 7 * i, *u = v + 6 * i, turn[3];
        for (int k = 0; k < 3; ++k) {
            p[k] += h * u[k] + h * h / 2 * a.linear[3 * i + k];
            turn[k] = h * u[3 + k] + h * h / 2 * a.angular[3 * i + k];
        }
        q_to(q_mul(q_of(p + 3), q_exp(v3_of(turn))), p + 3);
    }
    ck_assert_int_eq(skel_state_create(s->model, &copy, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_set_poses(copy, x), SKEL_OK);
    skel_report_row row = {.struct_size = sizeof row};
    ck_assert_int_eq(skel_report(copy, &row), SKEL_OK);
    *misalignment = row.misalignment;
    skel_state_destroy(copy);
    free(x), free(v);
    return row.joint_gap;
}

START_TEST(
    joints_open_only_in_third_order) { /* [HAK (1)] differentiated twice, without its formulas */
    rng r = rng_seed((uint64_t)_i + 500);
    for (int k = 0; k < 20; ++k) {
        scene s = scene_random_tree(
            &r, (scene_options){.bodies = 7, .root = k % 4, .joint_mask = 1 << _i, .loads = 1});
        const accelerations a = solve(&s, SKEL_SOLVER_TREE);
        double angle[2];
        const double one = gap_after(&s, a, 2e-3, &angle[0]);
        const double two = gap_after(&s, a, 1e-3, &angle[1]);
        ck_assert_msg(two <= one / 7 + 1e-12, "gap %.3g then %.3g", one, two);
        ck_assert_msg(angle[1] <= angle[0] / 7 + 1e-10, "axes %.3g then %.3g", angle[0], angle[1]);
        release(a);
        scene_free(&s);
    }
}
END_TEST

START_TEST(free_fall_is_free) { /* gravity on a free skeleton changes no joint force [ERRATA H10] */
    rng r = rng_seed(11), r2 = rng_seed(11);
    scene s = scene_random_tree(&r, (scene_options){.bodies = 12});
    scene s0 = scene_random_tree(&r2, (scene_options){.bodies = 12, .no_gravity = 1});
    accelerations a = solve(&s, SKEL_SOLVER_TREE);
    accelerations b = solve(&s0, SKEL_SOLVER_TREE);
    const double size = 1 + max_abs(a.linear, a.n) + max_abs(a.angular, a.n);
    for (size_t k = 2; k < b.n; k += 3) b.linear[k] -= 9.81;
    near(a.linear, b.linear, a.n, 1e-13 * size);
    near(a.angular, b.angular, a.n, 1e-13 * size);
    release(a), release(b);
    scene_free(&s), scene_free(&s0);
}
END_TEST

START_TEST(missing_mass_is_named) {
    skel_body_desc body;
    skel_body_desc_init(&body);
    body.name = "ghost";
    skel_model_desc d;
    skel_model_desc_init(&d);
    d.bodies = &body, d.body_count = 1;
    scene s;
    skel_error err;
    double a[3];
    skel_error_init(&err);
    ck_assert_int_eq(skel_model_create(&d, &s.model, &err), SKEL_OK);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, &err), SKEL_OK);
    ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_TREE, a, a, &err), SKEL_E_MASS);
    ck_assert_int_eq(err.body, 0);
    ck_assert_ptr_nonnull(strstr(err.text, "bodies[0].mass"));
    ck_assert_ptr_nonnull(strstr(err.text, "ghost"));
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("accelerations");
    TCase *t = tcase_create("all");
    tcase_add_test(t, solvers_agree_on_random_trees);
    tcase_add_loop_test(t, each_joint_type_alone, 0, SKEL_JOINT_SCREW + 1);
    tcase_add_test(t, long_ball_chain);
    tcase_add_loop_test(t, joints_open_only_in_third_order, 0, SKEL_JOINT_SCREW + 1);
    tcase_add_test(t, free_fall_is_free);
    tcase_add_test(t, missing_mass_is_named);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
