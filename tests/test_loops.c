/* SPDX-License-Identifier: BSD-3-Clause */
/* Closed loops: solvers agree, integrators agree, the loops stay closed. */
#include "dynamics/dynamics.h"
#include "shared/near.h"
#include "shared/scenes.h"
#include "shared/steps.h"

#include <stdio.h>
#include <string.h>

#define RING 12
#define LOOPS_NUMBERS_MAX 120

static const double k_y_axis[4] = {0.70710678118654752, -0.70710678118654752, 0, 0};

static scene make(const skel_body_desc *b, uint32_t nb, const skel_joint_desc *j, uint32_t nj) {
    skel_model_desc d;
    skel_error err;
    scene s;
    skel_error_init(&err), skel_model_desc_init(&d);
    d.bodies = b, d.body_count = nb, d.joints = j, d.joint_count = nj;
    ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, &err), SKEL_OK);
    ck_assert_int_eq(skel_state_project(s.state, NULL, NULL, &err), SKEL_OK);
    return s;
}

/* Link k from corner k to corner k + 1; joint k at corner k. */
static void link_between(skel_body_desc *b, const double *from, const double *to) {
    double length = 0;
    skel_body_desc_init(b);
    for (int c = 0; c < 3; ++c) {
        b->position[c] = .5 * (from[c] + to[c]);
        length += (to[c] - from[c]) * (to[c] - from[c]);
    }
    b->mass = 1;
    b->inertia[0] = b->inertia[1] = b->inertia[2] = length / 12;
}

static void joint_at(skel_joint_desc *j, int type, int parent, int child, const double *corner,
                     const skel_body_desc *b) {
    skel_joint_desc_init(j);
    j->type = type, j->parent = parent, j->child = child;
    memcpy(j->parent_orientation, k_y_axis, sizeof k_y_axis);
    memcpy(j->child_orientation, k_y_axis, sizeof k_y_axis);
    for (int c = 0; c < 3; ++c) {
        j->parent_position[c] = corner[c] - (parent < 0 ? 0 : b[parent].position[c]);
        j->child_position[c] = corner[c] - (child < 0 ? 0 : b[child].position[c]);
    }
}

/* Crank, coupler, rocker in a plane: of the closing hinge's five rows three are implied. */
static scene four_bar(void) {
    const double corner[4][3] = {{0, 0, 0}, {0, 0, .3}, {.9, 0, .6}, {1, 0, 0}};
    skel_body_desc b[3];
    skel_joint_desc j[4];
    for (int k = 0; k < 3; ++k) link_between(&b[k], corner[k], corner[k + 1]);
    for (int k = 0; k < 4; ++k)
        joint_at(&j[k], SKEL_JOINT_HINGE, k == 0 ? -1 : k - 1, k == 3 ? -1 : k, corner[k], b);
    return make(b, 3, j, 4);
}

static scene ring(int type) {
    double corner[RING + 1][3];
    skel_body_desc b[RING];
    skel_joint_desc j[RING + 1];
    for (int k = 0; k <= RING; ++k) {
        const double t = 2 * acos(-1.0) * (k % RING) / RING;
        corner[k][0] = cos(t), corner[k][2] = sin(t);
        corner[k][1] = type == SKEL_JOINT_HINGE ? 0 : .1 * sin(3 * t);
    }
    for (int k = 0; k < RING; ++k) link_between(&b[k], corner[k], corner[k + 1]);
    for (int k = 0; k < RING; ++k) joint_at(&j[k], type, (k + RING - 1) % RING, k, corner[k], b);
    joint_at(&j[RING], SKEL_JOINT_BALL, -1, 3, b[3].position, b);
    return make(b, RING, j, RING + 1);
}

typedef struct loop_case {
    const char *name;
    int type; /* 0: four-bar */
} loop_case;
static const loop_case k_cases[] = {{"four-bar", 0},
                                    {"ring of 12 hinges", SKEL_JOINT_HINGE},
                                    {"ring of 12 balls", SKEL_JOINT_BALL}};

static scene build(int k) {
    return k_cases[k].type ? ring(k_cases[k].type) : four_bar();
}

START_TEST(solvers_agree) {
    scene s = build(_i);
    const size_t n = 3 * (size_t)s.model->nb;
    double a[LOOPS_NUMBERS_MAX], w[LOOPS_NUMBERS_MAX], a2[LOOPS_NUMBERS_MAX], w2[LOOPS_NUMBERS_MAX];
    ck_assert_int_eq(s.model->nl, 1);
    for (int k = 0; k < 4; ++k) {
        ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_TREE, a, w, NULL), SKEL_OK);
        ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_PINV, a2, w2, NULL), SKEL_OK);
        const double size = fmax(max_abs(a, n), max_abs(w, n));
        near(a, a2, n, 1e-10 * size);
        near(w, w2, n, 1e-10 * size);
        run(s.state, SKEL_INTEGRATOR_RK4, 1e-3, 100);
    }
    ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_KKT, a, w, NULL), SKEL_E_UNSUPPORTED);
    scene_free(&s);
}
END_TEST

START_TEST(integrators_agree) {
    scene s = build(_i), c = build(_i);
    const double before = report(s.state).kinetic + report(s.state).potential;
    run(s.state, SKEL_INTEGRATOR_RK4, 1e-3, 500);
    run(c.state, SKEL_INTEGRATOR_CONSERVING, .5 / 2000, 2000);
    for (int32_t i = 0; i < s.model->nb; ++i)
        ck_assert_double_le(v3_norm(v3_sub(s.state->x[i].p, c.state->x[i].p)), 2e-6);
    const skel_report_row r = report(s.state);
    ck_assert_double_le(r.joint_gap, 1e-14);
    near1(r.kinetic + r.potential, before, 1e-5);
    scene_free(&s), scene_free(&c);
}
END_TEST

START_TEST(closed_for_a_minute) {
    scene s = build(_i);
    const skel_report_row a = report(s.state);
    double gap = 0, axes = 0, energy = 0, size = 0;
    for (int k = 0; k < 60 * 24; ++k) {
        run(s.state, SKEL_INTEGRATOR_CONSERVING, 1.0 / 240, 10);
        const skel_report_row b = report(s.state);
        gap = fmax(gap, b.joint_gap), axes = fmax(axes, b.misalignment);
        energy = fmax(energy, fabs(b.kinetic + b.potential - a.kinetic - a.potential));
        size = fmax(size, b.kinetic);
    }
    printf("%s, 60 s: gap %.1e m, axes %.1e rad, energy %.1e\n", k_cases[_i].name, gap, axes,
           energy / size);
    ck_assert_double_le(gap, 1e-12);
    ck_assert_double_le(axes, 1e-12);
    ck_assert_double_le(energy / size, 1e-10);
    scene_free(&s);
}
END_TEST

START_TEST(velocities_fit_the_loop) {
    scene s = four_bar();
    double qd[4] = {1, 0, 0, 0}, speed = 0; /* the crank alone: the rest must come along */
    skel_state_set_qd(s.state, qd);
    ck_assert_int_eq(skel_state_project(s.state, NULL, &speed, NULL), SKEL_OK);
    ck_assert_double_gt(speed, .1);
    ck_assert_int_eq(skel_state_project(s.state, NULL, &speed, NULL), SKEL_OK);
    ck_assert_double_le(speed, 1e-12);
    skel_state_get_qd(s.state, qd);
    ck_assert_double_gt(fabs(qd[1]) + fabs(qd[2]), 1e-2);
    scene_free(&s);
}
END_TEST

START_TEST(the_last_joint_of_a_loop_is_the_loop) {
    scene s = four_bar();
    ck_assert_int_eq(s.model->loop[0], 3);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("loops");
    TCase *t = tcase_create("all");
    const int n = (int)(sizeof k_cases / sizeof *k_cases);
    tcase_add_loop_test(t, solvers_agree, 0, n);
    tcase_add_loop_test(t, integrators_agree, 0, n);
    tcase_add_loop_test(t, closed_for_a_minute, 0, n);
    tcase_add_test(t, velocities_fit_the_loop);
    tcase_add_test(t, the_last_joint_of_a_loop_is_the_loop);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
