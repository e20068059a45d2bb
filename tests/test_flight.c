/* SPDX-License-Identifier: BSD-3-Clause */
/* Flights: the take-off that leads to a landing must be the one that led there. */
#include "math/quat.h"
#include "shared/near.h"
#include "shared/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static skel_flight *solved(const skel_model *m, const double *from, const double *to, double time,
                           double rate, int turns) {
    skel_flight_desc d;
    skel_flight *f;
    skel_error err;
    skel_error_init(&err);
    skel_flight_desc_init(&d);
    d.model = m, d.take_off = from, d.landing = to, d.duration = time, d.sample_rate = rate;
    if (turns != 99) d.has_turns = 1, d.turns = turns;
    ck_assert_msg(skel_flight_solve(&d, &f, &err) == SKEL_OK, "%s", err.text);
    return f;
}

static skel_flight_summary summary_of(const skel_flight *f) {
    skel_flight_summary sum = {.struct_size = sizeof sum};
    ck_assert_int_eq(skel_flight_get_summary(f, &sum), SKEL_OK);
    return sum;
}

/* The engine's own flight, sampled; its integrator knows nothing of L. */
static skel_bake *baked(const skel_model *m, const skel_state *s, double time, double rate) {
    skel_bake_desc d;
    skel_bake *b;
    skel_error err;
    skel_error_init(&err);
    skel_bake_desc_init(&d);
    d.model = m, d.state = s, d.sample_rate = rate, d.sample_count = (uint32_t)(time * rate + 1.5);
    d.tolerance = 1e-13, d.integrator = SKEL_INTEGRATOR_ADAMS;
    ck_assert_msg(skel_bake_start(&d, &b, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
    return b;
}

static skel_model *brick(double x, double y, double z, const double *v, const double *w) {
    skel_body_desc body;
    skel_model_desc d;
    skel_model *m;
    skel_body_desc_init(&body), skel_model_desc_init(&d);
    body.mass = 2, body.inertia[0] = x, body.inertia[1] = y, body.inertia[2] = z;
    memcpy(body.velocity, v, sizeof body.velocity);
    memcpy(body.angular_velocity, w, sizeof body.angular_velocity);
    q_to(q_exp((v3){.3, -.5, 1}), body.orientation);
    d.bodies = &body, d.body_count = 1;
    ck_assert_int_eq(skel_model_create(&d, &m, NULL), SKEL_OK);
    return m;
}

START_TEST(a_thrown_brick_is_found_again) {
    static const double spins[6][3] = {{2, .5, .3}, {.2, 2.6, .4}, {-1, 1, 2},
                                       {3, 0, 0},   {0, 1e-3, 0},  {.5, -2.2, .7}};
    const double v[3] = {.5, -1, 4};
    double worst = 0;
    for (int k = 0; k < 6; ++k) {
        skel_model *m = brick(.02, .05, .06, v, spins[k]);
        skel_bake *b = baked(m, NULL, 1, 24);
        const double *x = skel_bake_poses(b);
        skel_flight *f = solved(m, x, x + 7 * 24, 1, 24, 99);
        const double *u = skel_flight_velocities(f);
        near(u, v, 3, 1e-8);
        near(u + 3, spins[k], 3, 1e-8);
        ck_assert_int_eq(skel_flight_sample_count(f), 25);
        worst = fmax(worst, max_difference(u + 3, spins[k], 3));
        near(skel_flight_poses(f), x, 7 * 25, 1e-8);
        near(skel_flight_velocities(f), skel_bake_velocities(b), 6 * 25, 1e-7);
        const skel_flight_summary sum = summary_of(f);
        ck_assert_double_le(sum.residual_angle, 1e-10);
        ck_assert_double_le(sum.residual_distance, 1e-12);
        ck_assert_double_le(sum.integration_error, 1e-11);
        skel_flight_destroy(f), skel_bake_destroy(b), skel_model_destroy(m);
    }
    printf("thrown bricks: angular velocity found to %.2g rad/s\n", worst);
}
END_TEST

/* Fast spins: with the number of turns they make, the same take-off comes out. */
START_TEST(whole_turns_are_found_again) {
    static const double spins[4][3] = {{.2, .1, 9}, {14, .2, .1}, {.3, .2, -22}, {.5, .3, 33}};
    const double none[3] = {0};
    int found = 0;
    for (int k = 0; k < 4; ++k) {
        skel_model *m = brick(.02, .05, .06, none, spins[k]);
        skel_bake *b = baked(m, NULL, 1, 24);
        const double *x = skel_bake_poses(b);
        double best = INFINITY;
        for (int turns = -7; turns < 7; ++turns) {
            skel_flight_desc d;
            skel_flight *f;
            skel_flight_desc_init(&d);
            d.model = m, d.take_off = x, d.landing = x + 7 * 24, d.duration = 1, d.has_turns = 1;
            d.turns = turns;
            if (skel_flight_solve(&d, &f, NULL) != SKEL_OK) continue;
            const double off = max_difference(skel_flight_velocities(f) + 3, spins[k], 3);
            ck_assert_double_le(summary_of(f).residual_angle, 1e-10);
            best = fmin(best, off);
            skel_flight_destroy(f);
        }
        printf("spin of %g rad/s: found to %.2g\n", v3_norm(v3_of(spins[k])), best);
        found += best < 1e-8;
        skel_bake_destroy(b), skel_model_destroy(m);
    }
    ck_assert_int_eq(found, 4);
}
END_TEST

/* ---- skeletons ---- */

/* The skeleton with all joints welded where they are. */
static skel_model *welded(const skel_model *m, const skel_state *at) {
    const int32_t nb = skel_model_body_count(m), nj = skel_model_joint_count(m);
    skel_body_desc *bodies = calloc((size_t)nb, sizeof *bodies);
    skel_joint_desc *joints = calloc((size_t)nj + 1, sizeof *joints);
    double *x = calloc(7 * (size_t)nb, sizeof *x);
    skel_model_desc d;
    skel_model *out;
    skel_error err;
    skel_error_init(&err);
    skel_model_desc_init(&d);
    skel_state_get_poses(at, x);
    skel_model_get_gravity(m, d.gravity);
    for (int32_t i = 0; i < nb; ++i) {
        skel_body_desc_init(&bodies[i]);
        skel_model_get_body(m, i, &bodies[i]);
        memcpy(bodies[i].position, x + 7 * i, 3 * sizeof *x);
        memcpy(bodies[i].orientation, x + 7 * i + 3, 4 * sizeof *x);
    }
    for (int32_t e = 0; e < nj; ++e) {
        skel_joint_desc *j = &joints[e];
        skel_joint_desc_init(j);
        skel_model_get_joint(m, e, j);
        const double *a = x + 7 * j->parent, *b = x + 7 * j->child;
        const pose pa = {v3_of(a), q_of(a + 3)}, pb = {v3_of(b), q_of(b + 3)};
        const pose rel = pose_mul(pose_inverse(pa), pb); /* child in the parent */
        j->type = SKEL_JOINT_FIXED;
        v3_to(rel.p, j->parent_position), q_to(q_unit(rel.q), j->parent_orientation);
        memset(j->child_position, 0, sizeof j->child_position);
        q_to(q_identity(), j->child_orientation);
        memset(j->q, 0, sizeof j->q);
        j->friction = j->motor = 0;
    }
    d.bodies = bodies, d.body_count = (uint32_t)nb, d.joints = joints, d.joint_count = (uint32_t)nj;
    ck_assert_msg(skel_model_create(&d, &out, &err) == SKEL_OK, "%s", err.text);
    free(bodies), free(joints), free(x);
    return out;
}

/* Locked joints: the welded skeleton, thrown by the engine, and the flight agree at every sample;
   thrown again with the velocities that the flight has found, it lands where it should. */
START_TEST(locked_joints_are_one_rigid_body) {
    rng r = rng_seed(21);
    double worst = 0, landing = 0;
    for (int k = 0; k < 8; ++k) {
        scene s = scene_random_tree(&r, (scene_options){.bodies = 2 + k});
        const int32_t nb = skel_model_body_count(s.model);
        const size_t n7 = 7 * (size_t)nb, n6 = 6 * (size_t)nb;
        double *qd = calloc((size_t)skel_model_dof(s.model) + 1, sizeof *qd);
        double *u = calloc(n6, sizeof *u);
        skel_model *w = welded(s.model, s.state);
        skel_state *t;
        skel_state_set_qd(s.state, qd);
        skel_state_get_velocities(s.state, u);
        ck_assert_int_eq(skel_state_create(w, &t, NULL), SKEL_OK);
        ck_assert_int_eq(skel_state_set_velocities(t, u), SKEL_OK);
        skel_bake *b = baked(w, t, .5, 60);
        const double *x = skel_bake_poses(b);
        skel_flight *f = solved(s.model, x, x + 30 * n7, .5, 60, 99);
        near(skel_flight_velocities(f), u, n6, 1e-8);
        for (size_t i = 0; i < 31 * (size_t)nb; ++i) { /* q and -q are one orientation */
            const double *one = skel_flight_poses(f) + 7 * i, *two = x + 7 * i;
            near(one, two, 3, 1e-7);
            near1(fabs(q_dot(q_of(one + 3), q_of(two + 3))), 1, 1e-14);
        }
        worst = fmax(worst, max_difference(skel_flight_velocities(f), u, n6));
        skel_state_set_velocities(t, skel_flight_velocities(f));
        skel_bake *again = baked(w, t, .5, 60);
        landing = fmax(landing, max_difference(skel_bake_poses(again) + 30 * n7, x + 30 * n7, n7));
        ck_assert_double_le(landing, 1e-7);
        skel_bake_destroy(b), skel_bake_destroy(again), skel_flight_destroy(f);
        skel_state_destroy(t), skel_model_destroy(w), scene_free(&s);
        free(qd), free(u);
    }
    printf("locked skeletons: velocities found to %.2g, landing of the bake %.2g\n", worst,
           landing);
}
END_TEST

/* Two discs on one axle, or two boxes on a ball joint. */
static skel_model *pair(int type) {
    skel_body_desc bodies[2];
    skel_joint_desc j;
    skel_model_desc d;
    skel_model *m;
    skel_model_desc_init(&d), skel_joint_desc_init(&j);
    for (int k = 0; k < 2; ++k) {
        skel_body_desc_init(&bodies[k]);
        bodies[k].mass = 1 + k;
        bodies[k].inertia[0] = .04 + .01 * k, bodies[k].inertia[1] = .05;
        bodies[k].inertia[2] = k ? .02 : .06;
        bodies[k].unplaced = k == 1;
    }
    j.type = type, j.parent = 0, j.child = 1;
    if (type == SKEL_JOINT_BALL) j.parent_position[2] = .2, j.child_position[2] = -.3;
    d.bodies = bodies, d.body_count = 2, d.joints = &j, d.joint_count = 1;
    ck_assert_int_eq(skel_model_create(&d, &m, NULL), SKEL_OK);
    return m;
}

/* L = 0: (I0 + I1) w0 + I1 q' = 0, so the root turns by -q I1 / (I0 + I1). */
START_TEST(discs_turn_against_each_other) {
    skel_model *m = pair(SKEL_JOINT_HINGE);
    double q[1] = {2.0}, to[14], from[14], zero[1] = {0};
    const double root = -2.0 * .02 / .08;
    ck_assert_int_eq(skel_fk(m, zero, from), SKEL_OK);
    ck_assert_int_eq(skel_fk(m, q, to), SKEL_OK);
    q_to(q_exp((v3){0, 0, root}), to + 3);
    q_to(q_exp((v3){0, 0, root + 2.0}), to + 10);
    to[2] = to[9] = -.5 * 9.81 * .25; /* dropped */
    skel_flight *f = solved(m, from, to, .5, 24, 99);
    const skel_flight_summary sum = summary_of(f);
    const double none[3] = {0};
    near(sum.angular_momentum, none, 3, 1e-12);
    near(sum.velocity, none, 3, 1e-12);
    ck_assert_double_le(sum.residual_angle, 1e-10);
    near(skel_flight_poses(f) + 14 * 12, to, 14, 1e-10);
    skel_flight_destroy(f), skel_model_destroy(m);
}
END_TEST

/* Angular momentum about the centre of mass at a sample, by the engine's own report. */
static v3 momentum_at(skel_state *s, const skel_flight *f, int32_t k, v3 *centre) {
    const size_t nb = (size_t)skel_model_body_count(skel_state_model(s));
    ck_assert_int_eq(skel_state_set_poses(s, skel_flight_poses(f) + (size_t)k * 7 * nb), SKEL_OK);
    ck_assert_int_eq(skel_state_set_velocities(s, skel_flight_velocities(f) + (size_t)k * 6 * nb),
                     SKEL_OK);
    skel_report_row row = {.struct_size = sizeof row};
    ck_assert_int_eq(skel_report(s, &row), SKEL_OK);
    double mass = 0;
    *centre = (v3){0, 0, 0};
    for (size_t i = 0; i < nb; ++i) {
        skel_body_desc b;
        skel_body_desc_init(&b);
        skel_model_get_body(skel_state_model(s), (int32_t)i, &b);
        mass += b.mass;
        *centre = v3_mad(*centre, b.mass, v3_of(skel_flight_poses(f) + ((size_t)k * nb + i) * 7));
    }
    *centre = v3_scale(*centre, 1 / mass);
    return v3_sub(v3_of(row.angular_momentum), v3_cross(*centre, v3_of(row.momentum)));
}

/* Velocities are the derivatives of the poses, momentum is kept, and the landing is met. */
static void check_flight(const skel_model *m, const skel_flight *f, double rate, double bound) {
    const skel_flight_summary sum = summary_of(f);
    const size_t nb = (size_t)skel_model_body_count(m);
    skel_state *s;
    double worst = 0, l[3];
    ck_assert_int_eq(skel_state_create(m, &s, NULL), SKEL_OK);
    for (int32_t k = 0; k < skel_flight_sample_count(f); ++k) {
        v3 centre;
        v3_to(momentum_at(s, f, k, &centre), l);
        near(l, sum.angular_momentum, 3, 1e-11 * (1 + max_abs(sum.angular_momentum, 3)));
    }
    for (int32_t k = 2; k + 2 < skel_flight_sample_count(f); ++k)
        for (size_t i = 0; i < nb; ++i) {
            const double *x = skel_flight_poses(f) + ((size_t)k * nb + i) * 7;
            const double *u = skel_flight_velocities(f) + ((size_t)k * nb + i) * 6;
            v3 p[5], e[5];
            for (int c = -2; c <= 2; ++c) {
                const double *y = x + c * 7 * (ptrdiff_t)nb;
                p[c + 2] = v3_of(y);
                e[c + 2] = q_log(q_mul(q_conj(q_of(x + 3)), q_of(y + 3)));
            }
            const v3 v =
                v3_scale(v3_sub(v3_scale(v3_sub(p[3], p[1]), 8), v3_sub(p[4], p[0])), rate / 12);
            const v3 w =
                v3_scale(v3_sub(v3_scale(v3_sub(e[3], e[1]), 8), v3_sub(e[4], e[0])), rate / 12);
            worst = fmax(worst, v3_norm(v3_sub(v, v3_of(u))));
            worst = fmax(worst, v3_norm(v3_sub(w, v3_of(u + 3))));
        }
    ck_assert_double_le(worst, bound);
    ck_assert_double_le(sum.residual_angle, 1e-9);
    ck_assert_double_le(sum.residual_distance, 1e-9);
    skel_state_destroy(s);
}

START_TEST(a_cat_turns_without_momentum) {
    skel_model *m = pair(SKEL_JOINT_BALL);
    double q[4], to[14], from[14], q0[4] = {1, 0, 0, 0};
    const double rate = 480;
    q_to(q_exp((v3){1.2, .4, 2}), q);
    ck_assert_int_eq(skel_fk(m, q0, from), SKEL_OK);
    ck_assert_int_eq(skel_fk(m, q, to), SKEL_OK);
    skel_flight *f = solved(m, from, to, 1, rate, 99);
    check_flight(m, f, rate, 1e-6);
    /* no momentum: let the landing turn until none is needed; what is left is the net turn */
    double turn = 0;
    for (int n = 0; n < 60; ++n) {
        const skel_flight_summary sum = summary_of(f);
        const v3 l = v3_of(sum.angular_momentum);
        if (v3_norm(l) < 1e-11) break;
        const quat step = q_exp(v3_scale(l, -4.5));
        for (int i = 0; i < 2; ++i) q_to(q_mul(step, q_of(to + 7 * i + 3)), to + 7 * i + 3);
        v3_to(q_rotate(step, v3_of(to + 7)), to + 7);
        turn = v3_norm(q_log(q_of(to + 3)));
        skel_flight_destroy(f);
        f = solved(m, from, to, 1, 48, 0);
    }
    skel_flight_destroy(f);
    f = solved(m, from, to, 1, rate, 0);
    check_flight(m, f, rate, 1e-6);
    const double l = v3_norm(v3_of(summary_of(f).angular_momentum));
    printf("cat: turned by %.4f rad with L = %.2g\n", turn, l);
    ck_assert_double_le(l, 1e-10);
    ck_assert_double_gt(turn, .1);
    skel_flight_destroy(f), skel_model_destroy(m);
}
END_TEST

START_TEST(moving_skeletons_keep_their_momentum) {
    rng r = rng_seed(99);
    int iterations = 0;
    for (int k = 0; k < 10; ++k) {
        scene s = scene_random_tree(&r, (scene_options){.bodies = 3 + k});
        const int32_t nb = skel_model_body_count(s.model), nq = skel_model_q_count(s.model);
        double *a = calloc(7 * (size_t)nb, sizeof *a), *b = calloc(7 * (size_t)nb, sizeof *b);
        double *q = calloc((size_t)nq + 1, sizeof *q);
        skel_state_get_poses(s.state, a);
        skel_state_get_q(s.state, q);
        for (int32_t i = 0; i < nq; ++i) q[i] += rng_range(&r, -.3, .3);
        skel_state_set_q(s.state, q);
        skel_state_get_poses(s.state, b);
        const quat turn = q_exp((v3){rng_range(&r, -1, 1), rng_range(&r, -1, 1), 1});
        for (int32_t i = 0; i < nb; ++i) { /* the landing as a whole is turned and shifted */
            const v3 p = q_rotate(turn, v3_of(b + 7 * i));
            v3_to(v3_add(p, (v3){1, .2, -.3}), b + 7 * i);
            q_to(q_mul(turn, q_of(b + 7 * i + 3)), b + 7 * i + 3);
        }
        skel_flight *f = solved(s.model, a, b, .8, 480, 99);
        check_flight(s.model, f, 480, 1e-5);
        iterations += summary_of(f).iterations;
        skel_flight_destroy(f);
        scene_free(&s);
        free(a), free(b), free(q);
    }
    printf("ten moving skeletons: %d Newton steps in all\n", iterations);
}
END_TEST

/* ---- refusals ---- */

START_TEST(wrong_models_are_refused) {
    rng r = rng_seed(4);
    scene s = scene_random_tree(&r, (scene_options){.bodies = 3, .root = SCENE_ROOT_WORLD});
    skel_flight_desc d;
    skel_flight *f;
    skel_error err;
    double x[21], bad[21];
    const double none[3] = {0};
    skel_error_init(&err);
    skel_flight_desc_init(&d);
    skel_state_get_poses(s.state, x);
    d.model = s.model, d.take_off = x, d.landing = x, d.duration = 1;
    ck_assert_int_eq(skel_flight_solve(&d, &f, &err), SKEL_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "free skeleton"));
    ck_assert_ptr_null(f);
    skel_model *m = brick(1, 2, 2.5, none, none);
    d.model = m;
    d.duration = 0;
    ck_assert_int_eq(skel_flight_solve(&d, &f, &err), SKEL_E_ARGUMENT);
    d.duration = 1;
    memcpy(bad, x, sizeof bad);
    bad[0] = NAN, d.landing = bad;
    ck_assert_int_eq(skel_flight_solve(&d, &f, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "landing:"));
    d.landing = x, d.struct_size = 12;
    ck_assert_int_eq(skel_flight_solve(&d, &f, &err), SKEL_E_STRUCT_SIZE);
    skel_model_destroy(m), scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("flight");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_thrown_brick_is_found_again);
    tcase_add_test(t, whole_turns_are_found_again);
    tcase_add_test(t, locked_joints_are_one_rigid_body);
    tcase_add_test(t, discs_turn_against_each_other);
    tcase_add_test(t, a_cat_turns_without_momentum);
    tcase_add_test(t, moving_skeletons_keep_their_momentum);
    tcase_add_test(t, wrong_models_are_refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
