/* SPDX-License-Identifier: BSD-3-Clause */
/* Integrators: conservation, order, closed-form motions, and the balance of the works. */
#include "math/quat.h"
#include "shared/near.h"
#include "shared/scenes.h"
#include "shared/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTEGRATE_NUMBERS_MAX 400
#define PI 3.14159265358979323846

static double speed_scale(const scene *s) { /* sum of m |v| */
    double v[INTEGRATE_NUMBERS_MAX], sum = 0;
    skel_state_get_velocities(s->state, v);
    for (int32_t i = 0; i < skel_model_body_count(s->model); ++i) {
        skel_body_desc b = {.struct_size = sizeof b};
        skel_model_get_body(s->model, i, &b);
        sum += b.mass * v3_norm(v3_of(v + 6 * i));
    }
    return sum;
}

typedef struct method {
    int32_t integrator, solver;
    double h;
} method;
static const method k_methods[] = {{SKEL_INTEGRATOR_RK4, SKEL_SOLVER_TREE, 1.0 / 240},
                                   {SKEL_INTEGRATOR_RK4, SKEL_SOLVER_KKT, 1.0 / 240},
                                   {SKEL_INTEGRATOR_RK4, SKEL_SOLVER_PINV, 1.0 / 120},
                                   {SKEL_INTEGRATOR_EULER, SKEL_SOLVER_TREE, 1e-3},
                                   {SKEL_INTEGRATOR_EULER, SKEL_SOLVER_PINV, 2e-3}};

START_TEST(linear_momentum_over_ten_seconds) {
    const method k = k_methods[_i];
    rng r = rng_seed(31);
    double worst = 0;
    for (int e = 0; e < 3; ++e) {
        scene s = scene_random_tree(&r, (scene_options){.bodies = 6, .no_gravity = 1, .spin = .7});
        const double size = speed_scale(&s);
        const skel_report_row before = report(s.state);
        for (int n = 0; n < 10; ++n) {
            run_by(s.state, k.integrator, k.solver, k.h, (int)(1 / k.h + .5));
            const skel_report_row now = report(s.state);
            worst = fmax(worst, max_difference(now.momentum, before.momentum, 3) / size);
        }
        ck_assert_double_eq_tol(skel_state_time(s.state), 10, 1e-9);
        scene_free(&s);
    }
    printf("momentum over 10 s, %s with %s: %.2g of sum m|v|\n", skel_integrator_name(k.integrator),
           skel_solver_name(k.solver), worst);
    ck_assert_double_le(worst, 1e-13);
}
END_TEST

static double pose_error(const scene *a, const scene *b) {
    double x[INTEGRATE_NUMBERS_MAX], y[INTEGRATE_NUMBERS_MAX], worst = 0;
    skel_state_get_poses(a->state, x);
    skel_state_get_poses(b->state, y);
    for (int32_t i = 0; i < skel_model_body_count(a->model); ++i) {
        worst = fmax(worst, max_difference(x + 7 * i, y + 7 * i, 3));
        worst =
            fmax(worst, v3_norm(q_log(q_mul(q_conj(q_of(x + 7 * i + 3)), q_of(y + 7 * i + 3)))));
    }
    return worst;
}

START_TEST(rk4_is_fourth_order) { /* all joints, loads, and curves whose samples end a step */
    for (int k = 0; k < 8; ++k) {
        const scene_options o = {.bodies = 6, .root = k % 4, .loads = 1};
        const int steps[3] = {40, 80, 640};
        scene s[3];
        for (int e = 0; e < 3; ++e) {
            rng r = rng_seed(40 + (uint64_t)k);
            s[e] = scene_random_tree(&r, o);
            run(s[e].state, SKEL_INTEGRATOR_RK4, .2 / steps[e], steps[e]);
        }
        const double one = pose_error(&s[0], &s[2]), two = pose_error(&s[1], &s[2]);
        ck_assert_msg(log2(one / two) > 3.5, "tree %d: %.3g then %.3g", k, one, two);
        for (int e = 0; e < 3; ++e) scene_free(&s[e]);
    }
}
END_TEST

START_TEST(euler_is_first_order) {
    const int steps[3] = {100, 200, 6400};
    scene s[3];
    for (int e = 0; e < 3; ++e) {
        rng r = rng_seed(50);
        s[e] = scene_random_tree(&r, (scene_options){.bodies = 5});
        run(s[e].state, e < 2 ? SKEL_INTEGRATOR_EULER : SKEL_INTEGRATOR_RK4, .5 / steps[e],
            steps[e]);
    }
    const double order = log2(pose_error(&s[0], &s[2]) / pose_error(&s[1], &s[2]));
    ck_assert_msg(order > .8 && order < 1.3, "order %.2f", order);
    for (int e = 0; e < 3; ++e) scene_free(&s[e]);
}
END_TEST

/* Largest relative imbalance of energy and of both momenta over 0.3 s. */
static double imbalance(int k, double h) {
    rng r = rng_seed(60 + (uint64_t)k);
    scene s = scene_random_tree(&r, (scene_options){.bodies = 7, .root = k % 4, .loads = 1});
    const skel_report_row a = report(s.state);
    run(s.state, SKEL_INTEGRATOR_RK4, h, (int)(.3 / h + .5));
    const skel_report_row b = report(s.state);
    const double work = b.work_motor + b.work_friction + b.work_load + b.work_drive;
    const double gain = b.kinetic + b.potential - a.kinetic - a.potential;
    double worst = fabs(gain - work) / (1 + b.kinetic);
    ck_assert_double_lt(b.work_friction, 0);
    ck_assert((b.work_drive != 0) == (k % 4 == SCENE_ROOT_DRIVEN));
    for (int c = 0; c < 3; ++c) {
        const double p = b.momentum[c] - a.momentum[c] - b.impulse[c];
        const double l = b.angular_momentum[c] - a.angular_momentum[c] - b.angular_impulse[c];
        worst = fmax(worst, fabs(p) / (1 + max_abs(b.momentum, 3)));
        worst = fmax(worst, fabs(l) / (1 + max_abs(b.angular_momentum, 3)));
    }
    scene_free(&s);
    return worst;
}

/* E - E0 = works of motors, friction, loads and drives, P - P0 = impulses: to the step's order. */
START_TEST(works_and_impulses_balance) {
    double worst = 0;
    for (int k = 0; k < 12; ++k) {
        const double one = imbalance(k, 2e-3), two = imbalance(k, 1e-3);
        ck_assert_msg(two < 1e-10 || two < one / 12, "tree %d: %.3g then %.3g", k, one, two);
        worst = fmax(worst, two);
    }
    printf("energy and momenta against works and impulses, 1 ms: %.2g\n", worst);
    ck_assert_double_le(worst, 1e-6);
}
END_TEST

/* ---- closed forms ---- */

static scene single(skel_body_desc *body, skel_joint_desc *joint, const double gravity[3]) {
    skel_model_desc d;
    skel_error err;
    scene s;
    skel_error_init(&err);
    skel_model_desc_init(&d);
    memcpy(d.gravity, gravity, sizeof d.gravity);
    d.bodies = body, d.body_count = 1;
    d.joints = joint, d.joint_count = joint ? 1 : 0;
    ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, &err), SKEL_OK);
    return s;
}

/* sn(u, k) by descending Landen steps. */
static double elliptic_sn(double u, double k) {
    double a[16], c[16], b = sqrt(1 - k * k);
    int n = 0;
    a[0] = 1, c[0] = k;
    while (fabs(c[n]) > 1e-16 && n < 14) {
        a[n + 1] = .5 * (a[n] + b);
        c[n + 1] = .5 * (a[n] - b);
        b = sqrt(a[n] * b);
        ++n;
    }
    double phi = ldexp(1, n) * a[n] * u;
    for (; n > 0; --n) phi = .5 * (phi + asin(c[n] / a[n] * sin(phi)));
    return sin(phi);
}

START_TEST(pendulum_against_elliptic_functions) {
    const double g[3] = {0, 0, -9.81}, h = sqrt(.5), down = .4, mass = 1.3;
    const double swing = 1.9; /* the angle at the bottom is 0; starts there with this speed */
    skel_body_desc b;
    skel_joint_desc j;
    skel_body_desc_init(&b), skel_joint_desc_init(&j);
    b.mass = mass, b.position[2] = -down;
    b.inertia[0] = .03, b.inertia[1] = .07, b.inertia[2] = .05;
    j.type = SKEL_JOINT_HINGE, j.child = 0, j.child_position[2] = down;
    const double turn[4] = {h, -h, 0, 0}; /* frame z is the world's y */
    memcpy(j.parent_orientation, turn, sizeof turn);
    memcpy(j.child_orientation, turn, sizeof turn);
    scene s = single(&b, &j, g);
    ck_assert_int_eq(skel_state_set_qd(s.state, &swing), SKEL_OK);
    const double inertia = b.inertia[1] + mass * down * down;
    const double w0 = sqrt(mass * 9.81 * down / inertia), k = swing / (2 * w0);
    for (int n = 1; n <= 20; ++n) {
        double q;
        run(s.state, SKEL_INTEGRATOR_RK4, 1e-3, 250);
        skel_state_get_q(s.state, &q);
        near1(q, 2 * asin(k * elliptic_sn(w0 * .25 * n, k)), 1e-9);
    }
    scene_free(&s);
}
END_TEST

START_TEST(free_symmetric_body) { /* Euler's equations: omega turns about the axis of symmetry */
    const double none[3] = {0, 0, 0}, w[3] = {.7, 0, 3};
    skel_body_desc b;
    skel_body_desc_init(&b);
    b.mass = 1, b.inertia[0] = b.inertia[1] = .2, b.inertia[2] = .3;
    memcpy(b.angular_velocity, w, sizeof w);
    scene s = single(&b, NULL, none);
    const double rate = (.3 - .2) / .2 * w[2];
    for (int n = 1; n <= 10; ++n) {
        double v[6];
        const double t = .5 * n, want[3] = {w[0] * cos(rate * t), w[0] * sin(rate * t), w[2]};
        run(s.state, SKEL_INTEGRATOR_RK4, 1e-3, 500);
        skel_state_get_velocities(s.state, v);
        near(v + 3, want, 3, 1e-10);
    }
    scene_free(&s);
}
END_TEST

START_TEST(slide_with_motor_and_friction) { /* m x'' = -mu x' + F with F = -beta on the child */
    const double none[3] = {0, 0, 0}, m = 2, mu = .8, beta = -1.5;
    skel_body_desc b;
    skel_joint_desc j;
    skel_body_desc_init(&b), skel_joint_desc_init(&j);
    b.mass = m, b.inertia[0] = b.inertia[1] = b.inertia[2] = .1;
    j.type = SKEL_JOINT_SLIDE, j.child = 0, j.friction = mu, j.motor = beta;
    scene s = single(&b, &j, none);
    run(s.state, SKEL_INTEGRATOR_RK4, 1e-2, 200);
    const double t = 2, last = -beta / mu, k = mu / m;
    double q, qd;
    skel_state_get_q(s.state, &q), skel_state_get_qd(s.state, &qd);
    near1(qd, last * (1 - exp(-k * t)), 1e-10);
    near1(q, last * (t - (1 - exp(-k * t)) / k), 1e-10);
    const skel_report_row row = report(s.state);
    near1(row.work_motor, -beta * q, 1e-9);
    near1(row.work_motor + row.work_friction, row.kinetic, 1e-9);
    scene_free(&s);
}
END_TEST

/* The sign of beta: + about z on the parent, - on the child [ERRATA H13]. */
START_TEST(motor_turns_the_parent) {
    const double none[3] = {0, 0, 0};
    skel_body_desc b;
    skel_joint_desc j;
    skel_body_desc_init(&b), skel_joint_desc_init(&j);
    b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = .5;
    j.type = SKEL_JOINT_HINGE, j.child = 0, j.motor = 2;
    scene s = single(&b, &j, none);
    double a[3], w[3];
    ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_TREE, a, w, NULL), SKEL_OK);
    near1(w[2], -4, 1e-14);
    scene_free(&s);
}
END_TEST

/* A pendulum under a support that accelerates with a swings as in gravity g - a. The support's
   parabola is reproduced by the driven curve, so this also tests curve and drive work. */
START_TEST(driven_support_is_like_gravity) {
    const double a[3] = {3, 0, 2}, start = .4;
    double time[5], path[15], x[2][14];
    skel_body_desc b[2];
    skel_joint_desc j;
    for (int k = 0; k < 5; ++k) {
        time[k] = .5 * k;
        for (int c = 0; c < 3; ++c) path[3 * k + c] = .5 * a[c] * time[k] * time[k];
    }
    for (int e = 0; e < 2; ++e) {
        skel_model_desc d;
        skel_error err;
        scene s;
        skel_error_init(&err), skel_model_desc_init(&d);
        skel_body_desc_init(&b[0]), skel_body_desc_init(&b[1]), skel_joint_desc_init(&j);
        b[0].motion = e ? SKEL_MOTION_FIXED : SKEL_MOTION_DRIVEN;
        if (!e) b[0].position_curve = (skel_curve){time, path, 5, 3};
        if (e)
            for (int c = 0; c < 3; ++c) d.gravity[c] -= a[c];
        b[1].mass = 1, b[1].inertia[0] = b[1].inertia[1] = b[1].inertia[2] = .02;
        b[1].unplaced = 1;
        j.type = SKEL_JOINT_UNIVERSAL, j.parent = 0, j.child = 1, j.child_position[1] = .5;
        j.q[1] = start;
        d.bodies = b, d.body_count = 2, d.joints = &j, d.joint_count = 1;
        ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
        ck_assert_int_eq(skel_state_create(s.model, &s.state, &err), SKEL_OK);
        const skel_report_row before = report(s.state);
        run(s.state, SKEL_INTEGRATOR_RK4, 1e-3, 2000);
        const skel_report_row after = report(s.state);
        near1(after.kinetic + after.potential - before.kinetic - before.potential, after.work_drive,
              1e-8 * (1 + after.kinetic));
        skel_state_get_poses(s.state, x[e]);
        scene_free(&s);
    }
    for (int c = 0; c < 3; ++c) x[0][7 + c] -= .5 * a[c] * 4;
    near(x[0] + 7, x[1] + 7, 3, 1e-9);
}
END_TEST

START_TEST(direction_of_a_joint_does_not_matter) {
    double x[2][14];
    for (int e = 0; e < 2; ++e) {
        skel_model_desc d;
        skel_body_desc b[2];
        skel_joint_desc j[2];
        scene s;
        skel_error err;
        skel_error_init(&err), skel_model_desc_init(&d);
        for (int k = 0; k < 2; ++k) {
            skel_body_desc_init(&b[k]), skel_joint_desc_init(&j[k]);
            b[k].mass = 1 + k, b[k].position[0] = .5 + k;
            b[k].inertia[0] = .02, b[k].inertia[1] = .1, b[k].inertia[2] = .09;
            j[k].type = _i;
            const double outer[3] = {k ? .5 : 0, 0, 0}, inner[3] = {-.5, 0, 0};
            j[k].parent = e ? k : k - 1, j[k].child = e ? k - 1 : k;
            memcpy(e ? j[k].child_position : j[k].parent_position, outer, sizeof outer);
            memcpy(e ? j[k].parent_position : j[k].child_position, inner, sizeof inner);
            /* z of the frame along the world's y */
            const double turn[4] = {sqrt(.5), -sqrt(.5), 0, 0};
            memcpy(j[k].parent_orientation, turn, sizeof turn);
            memcpy(j[k].child_orientation, turn, sizeof turn);
            if (_i == SKEL_JOINT_UNIVERSAL &&
                e) { /* outer z, inner x: swapped, they trade places */
                const double back[4] = {.5, .5, .5, .5}; /* z of this frame is the world's x */
                memcpy(j[k].parent_orientation, back, sizeof back);
                memcpy(j[k].child_orientation, back, sizeof back);
            }
            j[k].friction = .1;
            if (_i == SKEL_JOINT_HINGE || _i == SKEL_JOINT_SLIDE)
                j[k].motor = .3; /* odd in direction */
            if (e) j[k].motor = -j[k].motor;
        }
        d.bodies = b, d.body_count = 2, d.joints = j, d.joint_count = 2;
        ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
        ck_assert_int_eq(skel_state_create(s.model, &s.state, &err), SKEL_OK);
        run(s.state, SKEL_INTEGRATOR_RK4, 2e-3, 200);
        skel_state_get_poses(s.state, x[e]);
        scene_free(&s);
    }
    near(x[0], x[1], 14, 1e-11);
}
END_TEST

START_TEST(joints_hold_for_a_long_time) {
    rng r = rng_seed(70);
    scene s = scene_random_tree(&r, (scene_options){.bodies = 12, .no_gravity = 1, .spin = 2});
    const skel_report_row a = report(s.state);
    run(s.state, SKEL_INTEGRATOR_RK4, 1.0 / 480, 4800);
    const skel_report_row b = report(s.state);
    ck_assert_double_le(b.joint_gap, 1e-12);
    ck_assert_double_le(b.misalignment, 1e-12);
    near1(b.kinetic, a.kinetic, 1e-4 * a.kinetic);
    scene_free(&s);
}
END_TEST

START_TEST(failure_leaves_the_state_alone) {
    rng r = rng_seed(80);
    scene s = scene_random_tree(&r, (scene_options){.bodies = 12, .spin = 40});
    double before[INTEGRATE_NUMBERS_MAX], after[INTEGRATE_NUMBERS_MAX];
    skel_step_desc d;
    skel_error err;
    skel_error_init(&err), skel_step_desc_init(&d);
    d.h = .5; /* twenty turns in one step */
    skel_state_get_poses(s.state, before);
    ck_assert_int_eq(skel_step(s.state, &d, &err), SKEL_E_DIVERGED);
    ck_assert_ptr_nonnull(strstr(err.text, "t = 0 s"));
    skel_state_get_poses(s.state, after);
    ck_assert_int_eq(memcmp(before, after, 84 * sizeof *before), 0);
    ck_assert_double_eq(skel_state_time(s.state), 0);
    d.h = 0;
    ck_assert_int_eq(skel_step(s.state, &d, &err), SKEL_E_ARGUMENT);
    d.h = 1e-3, d.integrator = 99;
    ck_assert_int_eq(skel_step(s.state, &d, &err), SKEL_E_ARGUMENT);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("integrators");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, linear_momentum_over_ten_seconds, 0,
                        (int)(sizeof k_methods / sizeof *k_methods));
    tcase_add_test(t, rk4_is_fourth_order);
    tcase_add_test(t, euler_is_first_order);
    tcase_add_test(t, works_and_impulses_balance);
    tcase_add_test(t, pendulum_against_elliptic_functions);
    tcase_add_test(t, free_symmetric_body);
    tcase_add_test(t, slide_with_motor_and_friction);
    tcase_add_test(t, motor_turns_the_parent);
    tcase_add_test(t, driven_support_is_like_gravity);
    tcase_add_loop_test(t, direction_of_a_joint_does_not_matter, 0, 5);
    tcase_add_test(t, joints_hold_for_a_long_time);
    tcase_add_test(t, failure_leaves_the_state_alone);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
