/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics: laws. What the receipts say is measured again from the poses. */
#include "math/dense.h"
#include "shared/chains.h"
#include "shared/humanoid.h"
#include "shared/ik.h"
#include "shared/near.h"
#include "shared/scenes.h"
#include "ik/ik.h"

#include <stdlib.h>
#include <string.h>

#define MOST 256

/* ---- derivatives ---- */

/* q with velocity number c turned on for a time h. */
static void nudge(const skel_model *m, const double *q, int c, double h, double *out) {
    memcpy(out, q, (size_t)m->nq * sizeof *q);
    for (int32_t j = 0; j < m->nj; ++j) {
        const skel__joint *k = &m->joint[j];
        const int32_t i = c - k->v_offset;
        if (i < 0 || i >= skel__joint_nv(k->type)) continue;
        if (k->type != SKEL_JOINT_BALL) {
            out[k->q_offset + i] += h;
            return;
        }
        const v3 turn = {i == 0 ? h : 0, i == 1 ? h : 0, i == 2 ? h : 0};
        q_to(q_mul(q_of(q + k->q_offset), q_exp(turn)), out + k->q_offset);
        return;
    }
}

static void place_of(const skel_model *m, const double *q, int32_t body, const double *point,
                     v3 *at, quat *turn) {
    double poses[7 * MOST];
    ck_assert_int_eq(skel_fk(m, q, poses), SKEL_OK);
    const double *x = poses + 7 * body;
    *turn = q_of(x + 3);
    *at = v3_add(v3_of(x), q_rotate(*turn, v3_of(point)));
}

START_TEST(the_jacobian_is_the_derivative) {
    rng r = rng_seed((uint64_t)_i + 1);
    for (int k = 0; k < 50; ++k) {
        scene s =
            scene_random_tree(&r, (scene_options){.bodies = 2 + rng_int(&r, 12), .root = k % 4});
        const skel_model *m = s.model;
        const int32_t body = rng_int(&r, m->nb);
        double q[MOST], moved[MOST], poses[7 * MOST], jacobian[6 * MOST], point[3];
        for (int a = 0; a < 3; ++a) point[a] = rng_range(&r, -0.5, 0.5);
        skel_state_get_q(s.state, q);
        ck_assert_int_eq(skel_fk(m, q, poses), SKEL_OK);
        ck_assert_int_eq(skel_jacobian(m, poses, body, point, jacobian), SKEL_OK);
        for (int c = 0; c < m->nv; ++c) {
            const double h = 1e-5;
            v3 p[2];
            quat t[2];
            for (int side = 0; side < 2; ++side) {
                nudge(m, q, c, side ? h : -h, moved);
                place_of(m, moved, body, point, &p[side], &t[side]);
            }
            const v3 v = v3_scale(v3_sub(p[1], p[0]), 0.5 / h);
            const v3 w = v3_scale(q_log(q_mul(t[1], q_conj(t[0]))), 0.5 / h);
            const double want[6] = {v.x, v.y, v.z, w.x, w.y, w.z};
            double got[6];
            for (int row = 0; row < 6; ++row) got[row] = jacobian[row * m->nv + c];
            near(got, want, 6, 2e-9);
        }
        scene_free(&s);
    }
}
END_TEST

static void random_rotation(rng *r, double out[4]) {
    for (int k = 0; k < 4; ++k) out[k] = rng_range(r, -1, 1) + (k == 0 ? 1e-3 : 0);
}

/* A goal of any kind on a random body of the tree. */
static skel_goal_desc random_goal(rng *r, int32_t nb) {
    skel_goal_desc g = goal_of(rng_int(r, nb));
    g.kind = rng_int(r, 4);
    g.weight = rng_range(r, 0.5, 3);
    if (rng_int(r, 3) == 0) g.relative_to = rng_int(r, nb);
    if (g.kind == SKEL_GOAL_PLACE) g.parts = 1u + (uint32_t)rng_int(r, 15);
    if (g.kind == SKEL_GOAL_CENTRE) g.body = SKEL_WORLD, g.parts = 1u + (uint32_t)rng_int(r, 7);
    g.from = rng_int(r, nb + 1) - 1, g.to = rng_int(r, nb + 1) - 1;
    for (int k = 0; k < 3; ++k) {
        g.point[k] = rng_range(r, -0.3, 0.3), g.position[k] = rng_range(r, -1, 1);
        g.axis[k] = rng_range(r, -1, 1);
        g.from_point[k] = rng_range(r, -0.3, 0.3), g.to_point[k] = rng_range(r, -0.3, 0.3);
    }
    random_rotation(r, g.orientation);
    random_rotation(r, g.frame);
    return g;
}

/* |e|^2 / 2 where y leads. */
static double cost_at(skel_ik *ik, const double *y) {
    double x[MOST];
    skel__ik_step_within(ik, ik->iterate.x, y, x);
    return 0.5 * skel__ik_errors(ik, x, ik->size.rows);
}

/* A solver on a random tree, at a random pose, without limits. */
static skel_ik *random_solver(rng *r, const scene *s, const skel_goal_desc *g, uint32_t goals) {
    skel_ik_desc d = desc_of(s->model, g, goals);
    d.root = rng_int(r, 3);
    skel_ik *ik = make(&d);
    skel_state_get_q(s->state, ik->iterate.x);
    for (int32_t c = 0; c < ik->size.columns; ++c)
        ik->bounds.low[c] = -INFINITY, ik->bounds.high[c] = INFINITY;
    for (int32_t i = 0; i < ik->size.nodes; ++i) ik->problem.node[i].has_cone = 0;
    return ik;
}

START_TEST(gradients_of_all_goals) {
    rng r = rng_seed((uint64_t)_i + 7);
    for (int k = 0; k < 60; ++k) {
        scene s =
            scene_random_tree(&r, (scene_options){.bodies = 3 + rng_int(&r, 6), .root = k % 3});
        skel_goal_desc g[3];
        for (int i = 0; i < 3; ++i) g[i] = random_goal(&r, s.model->nb);
        skel_ik *ik = random_solver(&r, &s, g, 3);
        double y[MOST] = {0}, want[MOST], got[MOST];
        skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
        skel__ik_jacobian(ik, ik->size.rows);
        for (int c = 0; c < ik->size.columns; ++c) {
            want[c] = 0;
            for (int row = 0; row < ik->size.rows; ++row)
                want[c] -= ik->iterate.jacobian_t[c * ik->size.rows + row] * ik->iterate.e[row];
        }
        for (int c = 0; c < ik->size.columns; ++c) {
            const double h = 1e-5;
            y[c] = h;
            const double up = cost_at(ik, y);
            y[c] = -h;
            got[c] = (up - cost_at(ik, y)) / (2 * h);
            y[c] = 0;
        }
        near(got, want, (size_t)ik->size.columns,
             3e-8 * (1 + max_abs(want, (size_t)ik->size.columns)));
        skel_ik_destroy(ik);
        scene_free(&s);
    }
}
END_TEST

START_TEST(curvature_of_places) {
    rng r = rng_seed((uint64_t)_i + 11);
    for (int k = 0; k < 12; ++k) {
        scene s = scene_random_tree(&r, (scene_options){.bodies = 5, .root = k % 3});
        skel_goal_desc g = random_goal(&r, 5);
        g.kind = SKEL_GOAL_PLACE, g.relative_to = SKEL_WORLD, g.body = k % 5;
        g.parts = 7u + 8u * (unsigned)(k % 2);
        skel_ik *ik = random_solver(&r, &s, &g, 1);
        double y[MOST] = {0};
        skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
        skel__ik_jacobian(ik, ik->size.rows);
        skel__ik_hessian(ik, ik->size.rows);
        const double h = 1e-4;
        for (int i = 0; i < ik->size.columns; ++i)
            for (int j = 0; j <= i; ++j) {
                double v[4];
                for (int c = 0; c < 4; ++c) {
                    y[i] += c & 1 ? h : -h, y[j] += c & 2 ? h : -h;
                    v[c] = cost_at(ik, y);
                    y[i] = y[j] = 0;
                }
                near1((v[3] - v[1] - v[2] + v[0]) / (4 * h * h),
                      ik->step.hessian[i * ik->size.columns + j], 1e-6);
            }
        skel_ik_destroy(ik);
        scene_free(&s);
    }
}
END_TEST

/* ---- the pseudoinverse ---- */

static void product(const double *a, const double *b, int n, int k, int m, double *out) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j) {
            out[i * m + j] = 0;
            for (int l = 0; l < k; ++l) out[i * m + j] += a[i * k + l] * b[l * m + j];
        }
}

static void near_symmetric(const double *a, int n) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) near1(a[i * n + j], a[j * n + i], 1e-11);
}

START_TEST(moore_and_penrose) { /* A A+ A = A and its three sisters, also where rank is lost */
    rng r = rng_seed((uint64_t)_i);
    for (int k = 0; k < 100; ++k) {
        const int m = 1 + rng_int(&r, 8), n = 1 + rng_int(&r, 8);
        const int least = m < n ? m : n, rank = 1 + rng_int(&r, least);
        double left[64], right[64], a[64], copy[64], p[64], ap[64], pa[64], back[64];
        double work[2048];
        for (int i = 0; i < 64; ++i)
            left[i] = rng_range(&r, -1, 1), right[i] = rng_range(&r, -1, 1);
        product(left, right, m, rank, n, a);
        memcpy(copy, a, sizeof a);
        ck_assert_int_eq(skel__pseudoinverse(copy, m, n, 1e-10, p, work), rank);
        const double size = max_abs(p, (size_t)(m * n));
        product(a, p, m, n, m, ap);
        product(p, a, n, m, n, pa);
        product(ap, a, m, m, n, back);
        near(back, a, (size_t)(m * n), 1e-12 * (1 + size));
        product(pa, p, n, n, m, back);
        near(back, p, (size_t)(m * n), 1e-12 * size * (1 + size));
        near_symmetric(ap, m);
        near_symmetric(pa, n);
    }
}
END_TEST

START_TEST(the_smallest_singular_value) { /* two ways, also where it is tiny */
    rng r = rng_seed((uint64_t)_i + 3);
    for (int k = 0; k < 100; ++k) {
        const int m = 1 + rng_int(&r, 7), n = 1 + rng_int(&r, 9);
        double a[64], columns[64], work[512], gram[64], values[8], room[512];
        for (int i = 0; i < m * n; ++i) a[i] = rng_range(&r, -1, 1);
        if (k % 3 == 0 && m > 1) /* the last row nearly one of the others */
            for (int c = 0; c < n; ++c) a[(m - 1) * n + c] = a[c] * (1 + 1e-9 * c);
        for (int c = 0; c < n; ++c)
            for (int i = 0; i < m; ++i) columns[c * m + i] = a[i * n + c];
        const double got = skel__smallest_singular(columns, m, n, (size_t)m, work);
        const int least = m < n ? m : n;
        for (int i = 0; i < least; ++i)
            for (int j = 0; j < least; ++j) {
                double s = 0;
                for (int l = 0; l < (m < n ? n : m); ++l)
                    s += m < n ? a[i * n + l] * a[j * n + l] : a[l * n + i] * a[l * n + j];
                gram[i * least + j] = s;
            }
        ck_assert(skel__eigen(gram, least, values, room));
        near1(got, sqrt(fmax(values[0], 0)), 1e-3 * got + 1e-7); /* to three digits */
    }
}
END_TEST

/* ---- poses ---- */

/* How far the tip is from the target, and the worst limit, measured from outside. */
static double tip_off(const chain *c, const double *q, const double target[7]) {
    double x[7];
    chain_tip(c, q, x);
    const v3 d = v3_sub(v3_of(x), v3_of(target));
    const v3 w = q_log(q_mul(q_of(x + 3), q_conj(q_of(target + 3))));
    return fmax(v3_norm(d), v3_norm(w));
}

static void within_limits(const chain *c, const double *q) {
    for (int k = 0; k < c->n; ++k) {
        ck_assert(isfinite(q[k]));
        if (!c->continuous[k]) ck_assert(q[k] >= c->low[k] && q[k] <= c->high[k]);
    }
}

START_TEST(every_reachable_pose_is_reached) {
    chain *c;
    const int count = chains_load(&c);
    ck_assert_int_eq(count, 12);
    for (int i = 0; i < count; ++i) {
        skel_goal_desc g = chain_goal(&c[i]);
        skel_ik_desc d = desc_of(c[i].model, &g, 1);
        skel_ik *ik = make(&d);
        rng r = rng_seed((uint64_t)(100 + i));
        for (int k = 0; k < 1500; ++k) {
            double q[CHAIN_MAX], target[7];
            chain_random(&c[i], &r, q);
            chain_tip(&c[i], q, target);
            skel_ik_set_target(ik, 0, target, target + 3);
            chain_middle(&c[i], q);
            const skel_ik_receipt receipt = solve(ik, q);
            ck_assert_msg(receipt.reached, "%s, target %d: off by %g", c[i].name, k,
                          receipt.residual);
            ck_assert(tip_off(&c[i], q, target) <= 1.0001e-5);
            within_limits(&c[i], q);
        }
        skel_ik_destroy(ik);
    }
    chains_free(c, count);
}
END_TEST

START_TEST(receipts_are_honest) { /* targets within reach and not, both modes */
    chain *c;
    const int count = chains_load(&c);
    for (int i = 0; i < count; ++i) {
        for (int mode = 0; mode < 2; ++mode) {
            skel_goal_desc g = chain_goal(&c[i]);
            skel_ik_desc d = desc_of(c[i].model, &g, 1);
            d.mode = mode, d.max_restarts = 20;
            skel_ik *ik = make(&d);
            rng r = rng_seed((uint64_t)(7 * i + mode));
            int reached = 0;
            for (int k = 0; k < 60; ++k) {
                double q[CHAIN_MAX], target[7], far = 0, turn = 0;
                chain_random(&c[i], &r, q);
                chain_tip(&c[i], q, target);
                if (k % 2)
                    for (int a = 0; a < 3; ++a) target[a] += c[i].reach * rng_range(&r, -1, 1);
                chain_random(&c[i], &r, q);
                skel_ik_set_target(ik, 0, target, target + 3);
                const skel_ik_receipt receipt = solve(ik, q);
                const double off = tip_off(&c[i], q, target);
                near1(off, receipt.residual, 1e-9 * (1 + off));
                ck_assert_int_eq(receipt.reached, receipt.residual <= 1e-5);
                skel_ik_get_residual(ik, 0, &far, &turn);
                near1(fmax(far, turn), receipt.residual, 1e-15);
                within_limits(&c[i], q);
                reached += receipt.reached;
            }
            ck_assert_int_lt(reached, 60);
            ck_assert_int_gt(reached, 5);
            skel_ik_destroy(ik);
        }
    }
    chains_free(c, count);
}
END_TEST

START_TEST(the_same_bits_every_time) {
    chain *c;
    const int count = chains_load(&c);
    double first[CHAIN_MAX], q[CHAIN_MAX], target[7];
    for (int k = 0; k < 2; ++k) {
        skel_goal_desc g = chain_goal(&c[0]);
        skel_ik_desc d = desc_of(c[0].model, &g, 1);
        skel_ik *ik = make(&d);
        rng r = rng_seed(5);
        for (int t = 0; t < 20; ++t) {
            chain_random(&c[0], &r, q);
            chain_tip(&c[0], q, target);
            skel_ik_set_target(ik, 0, target, target + 3);
            chain_middle(&c[0], q);
            solve(ik, q);
        }
        if (k == 0) memcpy(first, q, sizeof q);
        skel_ik_destroy(ik);
    }
    ck_assert_int_eq(memcmp(first, q, (size_t)c[0].n * sizeof *q), 0);
    chains_free(c, count);
}
END_TEST

/* ---- chains with a known answer ---- */

static skel_model *planar(const double *lengths, uint32_t n) {
    const double root[2] = {0.2, -0.1};
    skel_model *m;
    ck_assert_int_eq(skel_model_create_planar(root, lengths, n, &m, NULL), SKEL_OK);
    return m;
}

START_TEST(beyond_reach_it_points_at_the_target) {
    const double lengths[4] = {0.5, 0.4, 0.3, 0.2}, root[2] = {0.2, -0.1};
    skel_model *m = planar(lengths, 4);
    skel_goal_desc g = goal_of(3);
    g.point[0] = 0.1;
    for (int mode = 0; mode < 2; ++mode)
        for (int k = 0; k < 24; ++k) {
            skel_ik_desc d = desc_of(m, &g, 1);
            d.mode = mode;
            skel_ik *ik = make(&d);
            const double way = 0.26 * k, far = 1.4 + 0.1 * (1 + k % 5);
            const double target[3] = {root[0] + far * cos(way), root[1] + far * sin(way), 0};
            double q[4] = {0.3, -0.2, 0.4, 0.1}, again[4];
            skel_ik_set_target(ik, 0, target, NULL);
            const skel_ik_receipt r = solve(ik, q);
            ck_assert_int_eq(r.reached, 0);
            near1(r.residual, far - 1.4, 1e-8);
            near1(remainder(q[0] - way, SKEL__TURN), 0, 2e-4);
            for (int j = 1; j < 4; ++j) near1(remainder(q[j], SKEL__TURN), 0, 5e-4);
            memcpy(again, q, sizeof q);
            solve(ik, again); /* it stays there */
            near(again, q, 4, 2e-4);
            skel_ik_destroy(ik);
        }
    skel_model_destroy(m);
}
END_TEST

START_TEST(straight_arms_bend) { /* the target on the ray: the Jacobian sees no way [ERRATA S5] */
    const double lengths[3] = {0.5, 0.5, 0.5}, target[3] = {0.2 + 1.1, -0.1, 0};
    skel_model *m = planar(lengths, 3);
    skel_goal_desc g = goal_of(2);
    g.point[0] = 0.25;
    for (int mode = 0; mode < 2; ++mode) {
        skel_ik_desc d = desc_of(m, &g, 1);
        d.mode = mode, d.max_restarts = 0;
        skel_ik *ik = make(&d);
        double q[3] = {0, 0, 0};
        skel_ik_set_target(ik, 0, target, NULL);
        const skel_ik_receipt r = solve(ik, q);
        ck_assert_msg(r.reached, "mode %d: off by %g", mode, r.residual);
        skel_ik_destroy(ik);
    }
    skel_model_destroy(m);
}
END_TEST

START_TEST(long_straight_chains_bend) { /* the same, too long for curvature */
    scene s = scene_chain(60, SKEL_JOINT_BALL, SKEL_JOINT_BALL, 0.05, NULL);
    skel_goal_desc g = goal_of(59);
    skel_ik_desc d = desc_of(s.model, &g, 1);
    d.mode = SKEL_IK_TRACK;
    skel_ik *ik = make(&d);
    const double target[2][3] = {{0, 0, -2.2}, {1.1, 0, -1.3}};
    for (int k = 0; k < 2; ++k) {
        double q[240];
        for (int i = 0; i < 60; ++i) q_to(q_identity(), q + 4 * i);
        skel_ik_set_target(ik, 0, target[k], NULL);
        const skel_ik_receipt r = solve(ik, q);
        ck_assert_msg(r.reached, "target %d: off by %g", k, r.residual);
    }
    skel_ik_destroy(ik);
    scene_free(&s);
}
END_TEST

/* Chains of every size give the same angles. */
START_TEST(the_unit_of_length_does_not_matter) {
    double first[4] = {0};
    const double unit[3] = {1, 100, 0.01};
    for (int k = 0; k < 3; ++k) {
        double lengths[4], target[3] = {unit[k] * 0.3, unit[k] * 0.7, 0};
        for (int i = 0; i < 4; ++i) lengths[i] = unit[k] * (0.5 - 0.1 * i);
        const double root[2] = {0, 0};
        skel_model *m;
        ck_assert_int_eq(skel_model_create_planar(root, lengths, 4, &m, NULL), SKEL_OK);
        skel_goal_desc g = goal_of(3);
        g.point[0] = 0.5 * lengths[3];
        skel_ik_desc d = desc_of(m, &g, 1);
        d.tolerance = 1e-5 * unit[k];
        skel_ik *ik = make(&d);
        double q[4] = {0.1, 0.2, 0.3, 0.4};
        skel_ik_set_target(ik, 0, target, NULL);
        ck_assert(solve(ik, q).reached);
        if (k == 0) memcpy(first, q, sizeof q);
        near(q, first, 4, 1e-9);
        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
}
END_TEST

START_TEST(stiff_joints_stay_and_soft_ones_move) {
    const double lengths[4] = {0.5, 0.4, 0.3, 0.2}, start[4] = {0.3, 0.4, 0.5, 0.6};
    skel_model *m = planar(lengths, 4);
    skel_goal_desc g = goal_of(3);
    double moved[2], poses[28];
    ck_assert_int_eq(skel_fk(m, start, poses), SKEL_OK);
    const double target[3] = {poses[21] + 0.03, poses[22] - 0.02, 0};
    for (int k = 0; k < 2; ++k) {
        const double stiffness[4] = {1, 0, k ? 0.9 : 0, 0};
        skel_ik_desc d = desc_of(m, &g, 1);
        d.stiffness = stiffness, d.mode = SKEL_IK_TRACK;
        skel_ik *ik = make(&d);
        double q[4];
        memcpy(q, start, sizeof q);
        skel_ik_set_target(ik, 0, target, NULL);
        ck_assert(solve(ik, q).reached);
        ck_assert(q[0] == 0.3);
        moved[k] = fabs(q[2] - 0.5);
        skel_ik_destroy(ik);
    }
    ck_assert(moved[1] < 0.3 * moved[0]);
    skel_model_destroy(m);
}
END_TEST

/* ---- long chains ---- */

START_TEST(long_chains) {
    for (int n = 3; n <= 300; n = n * 3 + 1) {
        scene s = scene_chain(n, SKEL_JOINT_BALL, SKEL_JOINT_BALL, 1.0 / n, NULL);
        skel_goal_desc g = goal_of(n - 1);
        skel_ik_desc d = desc_of(s.model, &g, 1);
        skel_ik *ik = make(&d);
        rng r = rng_seed((uint64_t)n);
        double *q = malloc(4 * (size_t)n * sizeof *q), sum = 0;
        ck_assert_ptr_nonnull(q);
        for (int k = 0; k < 40; ++k) {
            const double z = rng_range(&r, -1, 1), way = rng_range(&r, 0, 6.28);
            const double out = rng_range(&r, 0.05, 0.95) * (n - 0.5) / n, across = sqrt(1 - z * z);
            const double target[3] = {out * across * cos(way), out * across * sin(way), out * z};
            for (int i = 0; i < n; ++i) q_to(q_identity(), q + 4 * i);
            skel_ik_set_target(ik, 0, target, NULL);
            const skel_ik_receipt receipt = solve(ik, q);
            ck_assert_msg(receipt.reached, "%d links: off by %g", n, receipt.residual);
            sum += receipt.iterations;
        }
        ck_assert_msg(sum < 40 * 20, "%d links: %g iterations", n, sum / 40);
        free(q);
        skel_ik_destroy(ik);
        scene_free(&s);
    }
}
END_TEST

/* ---- characters ---- */

static int32_t body_named(const skel_model *m, const char *name) {
    const int32_t i = skel_model_find_body(m, name);
    ck_assert_int_ge(i, 0);
    return i;
}

static v3 point_at(const double *poses, int32_t body, const double point[3]) {
    const double *x = poses + 7 * body;
    return v3_add(v3_of(x), q_rotate(q_of(x + 3), v3_of(point)));
}

START_TEST(characters_keep_their_limits) {
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    const skel_model *m = s.model;
    rng r = rng_seed((uint64_t)_i + 1);
    double start[MOST], q[MOST], poses[7 * MOST];
    skel_goal_desc g[2] = {goal_of(body_named(m, "hand.L")), goal_of(body_named(m, "head"))};
    g[0].parts = SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION;
    g[1].kind = SKEL_GOAL_AIM, g[1].axis[0] = 1, g[1].axis[2] = 0;
    skel_ik_desc d = desc_of(m, g, 2);
    d.max_restarts = 3, d.root = _i % 3, d.mode = _i % 2;
    skel_ik *ik = make(&d);
    skel_state_get_q(s.state, start);
    for (int k = 0; k < 25; ++k) {
        double target[3], turn[4], eye[3];
        for (int a = 0; a < 3; ++a)
            target[a] = rng_range(&r, -1.2, 1.2) + (a == 2), eye[a] = rng_range(&r, -3, 3);
        random_rotation(&r, turn);
        skel_ik_set_roots(ik, NULL);
        skel_ik_set_target(ik, 0, target, turn);
        skel_ik_set_target(ik, 1, eye, NULL);
        memcpy(q, start, sizeof q);
        const skel_ik_receipt receipt = solve(ik, q);
        ck_assert(limits_broken(m, q) <= 0);
        skel_ik_get_poses(ik, poses);
        const double off = v3_norm(v3_sub(point_at(poses, g[0].body, g[0].point), v3_of(target)));
        double far, angle;
        skel_ik_get_residual(ik, 0, &far, &angle);
        near1(off, far, 1e-9);
        const quat have = q_of(poses + 7 * g[0].body + 3), want = q_unit(q_of(turn));
        near1(v3_norm(q_log(q_mul(want, q_conj(have)))), angle, 1e-9);
        const v3 head = point_at(poses, g[1].body, g[1].point);
        const v3 axis = q_rotate(q_of(poses + 7 * g[1].body + 3), (v3){1, 0, 0});
        const v3 look = v3_sub(v3_of(eye), head);
        skel_ik_get_residual(ik, 1, NULL, &angle);
        near1(atan2(v3_norm(v3_cross(axis, look)), v3_dot(axis, look)), angle, 1e-9);
        ck_assert_int_eq(receipt.reached, receipt.residual <= 1e-5);
    }
    skel_ik_destroy(ik);
    scene_free(&s);
}
END_TEST

/* Feet first; then hands that cannot be met. foot_off: how far down the feet are asked to go. */
static void feet_and_hands(int mode, int root, double foot_off, double hand_off, int with_hands,
                           double feet[4], double *hands) {
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    const skel_model *m = s.model;
    const char *name[4] = {"foot.L", "foot.R", "hand.L", "hand.R"};
    double q[MOST], poses[7 * MOST];
    skel_goal_desc g[4];
    skel_state_get_q(s.state, q);
    skel_state_get_poses(s.state, poses);
    for (int k = 0; k < 4; ++k) {
        g[k] = goal_of(body_named(m, name[k]));
        memcpy(g[k].position, poses + 7 * g[k].body, sizeof g[k].position);
        memcpy(g[k].orientation, poses + 7 * g[k].body + 3, sizeof g[k].orientation);
        g[k].parts = k < 2 ? SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION : SKEL_GOAL_POSITION;
        g[k].position[0] += k < 2 ? 0.05 * (1 - 2 * k) : hand_off;
        g[k].position[2] += k < 2 ? -foot_off : 0.3;
        g[k].priority = k < 2 ? 0 : 1;
    }
    skel_ik_desc d = desc_of(m, g, with_hands ? 4 : 2);
    d.mode = mode, d.root = root, d.max_restarts = 10;
    skel_ik *ik = make(&d);
    solve(ik, q);
    ck_assert(limits_broken(m, q) <= 0);
    for (int k = 0; k < 2; ++k) skel_ik_get_residual(ik, k, &feet[2 * k], &feet[2 * k + 1]);
    *hands = 0;
    for (int k = 2; with_hands && k < 4; ++k) {
        double far;
        skel_ik_get_residual(ik, k, &far, NULL);
        *hands += far;
    }
    skel_ik_destroy(ik);
    scene_free(&s);
}

START_TEST(hands_cost_the_feet_nothing) {
    for (int mode = 0; mode < 2; ++mode)
        for (int root = 0; root < 3; root += 2)
            for (int far = 0; far < 2; ++far) {
                double with[4], without[4], hands, none;
                if (far && root) continue; /* a root that moves reaches the floor */
                const double foot = far ? 0.3 : -0.1;
                feet_and_hands(mode, root, foot, 1.5, 0, without, &none);
                feet_and_hands(mode, root, foot, 1.5, 1, with, &hands);
                near(with, without, 4, 1e-9);
                ck_assert(hands > 0.01);
                if (!far) ck_assert(max_abs(with, 4) < 1e-9);
                if (far) ck_assert(max_abs(with, 4) > 1e-2);
            }
}
END_TEST

START_TEST(hands_take_what_the_feet_leave) { /* a root that moves can serve both */
    for (int mode = 0; mode < 2; ++mode) {
        double feet[4], hands;
        feet_and_hands(mode, SKEL_IK_ROOT_MOVES, -0.1, 0.3, 1, feet, &hands);
        ck_assert(max_abs(feet, 4) < 1e-9);
        ck_assert_msg(hands < 2e-5, "hands are off by %g", hands);
    }
}
END_TEST

/* Three priorities: the head cannot get where it is wanted, the right hand can, the left one is far
   off. How far the last one is off must not end the search for the one before it. */
START_TEST(a_later_priority_does_not_blunt_an_earlier_one) {
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    const skel_model *m = s.model;
    const char *name[3] = {"head", "hand.R", "hand.L"};
    double q[MOST], poses[7 * MOST], far;
    skel_goal_desc g[3];
    skel_state_get_q(s.state, q);
    skel_state_get_poses(s.state, poses);
    for (int k = 0; k < 3; ++k) {
        g[k] = goal_of(body_named(m, name[k]));
        g[k].parts = SKEL_GOAL_POSITION;
        g[k].priority = k;
        memcpy(g[k].position, poses + 7 * g[k].body, sizeof g[k].position);
    }
    g[0].position[2] += 0.5;
    g[1].position[0] += 0.2;
    g[1].position[2] += 0.2;
    g[2].position[1] += 50.0;

    skel_ik_desc d = desc_of(m, g, 3);
    d.root = SKEL_IK_ROOT_HELD;
    skel_ik *ik = make(&d);
    solve(ik, q);
    skel_ik_get_residual(ik, 0, &far, NULL);
    ck_assert(far > 0.1);
    skel_ik_get_residual(ik, 1, &far, NULL);
    ck_assert_msg(far < 1e-9, "%g m", far);
    skel_ik_destroy(ik);
    scene_free(&s);
}
END_TEST

START_TEST(the_centre_of_mass_over_the_feet) {
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    const skel_model *m = s.model;
    double q[MOST], poses[7 * MOST];
    skel_goal_desc g[4];
    skel_state_get_q(s.state, q);
    skel_state_get_poses(s.state, poses);
    const char *name[3] = {"foot.L", "foot.R", "hand.R"};
    for (int k = 0; k < 3; ++k) {
        g[k] = goal_of(body_named(m, name[k]));
        memcpy(g[k].position, poses + 7 * g[k].body, sizeof g[k].position);
        memcpy(g[k].orientation, poses + 7 * g[k].body + 3, sizeof g[k].orientation);
        g[k].parts = k < 2 ? SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION : SKEL_GOAL_POSITION;
    }
    g[2].position[0] += 0.35, g[2].priority = 2;
    g[3] = goal_of(SKEL_WORLD);
    g[3].kind = SKEL_GOAL_CENTRE;
    g[3].parts = SKEL_GOAL_X | SKEL_GOAL_Y, g[3].priority = 1;
    for (int a = 0; a < 2; ++a) g[3].position[a] = 0.5 * (g[0].position[a] + g[1].position[a]);
    skel_ik_desc d = desc_of(m, g, 4);
    d.root = SKEL_IK_ROOT_MOVES;
    skel_ik *ik = make(&d);
    solve(ik, q);
    skel_ik_get_poses(ik, poses);
    double sum[3] = {0}, mass = 0, far;
    for (int32_t i = 0; i < m->nb; ++i) {
        for (int a = 0; a < 3; ++a) sum[a] += m->body[i].mass * poses[7 * i + a];
        mass += m->body[i].mass;
    }
    near1(sum[0] / mass, g[3].position[0], 1e-9);
    near1(sum[1] / mass, g[3].position[1], 1e-9);
    for (int k = 0; k < 2; ++k) {
        skel_ik_get_residual(ik, k, &far, NULL);
        ck_assert(far < 1e-9);
    }
    ck_assert(limits_broken(m, q) <= 0);
    skel_ik_destroy(ik);
    scene_free(&s);
}
END_TEST

START_TEST(a_pole_turns_the_elbow) {
    scene s = scene_humanoid((humanoid_options){0});
    const skel_model *m = s.model;
    double q[MOST], poses[7 * MOST];
    skel_goal_desc g[2] = {goal_of(body_named(m, "hand.L")), goal_of(body_named(m, "forearm.L"))};
    skel_state_get_q(s.state, q);
    skel_state_get_poses(s.state, poses);
    memcpy(g[0].position, poses + 7 * g[0].body, sizeof g[0].position);
    for (int a = 0; a < 3; ++a) g[0].position[a] *= a == 2 ? 1 : 0.7;
    const int32_t elbow = skel_model_find_joint(m, "elbow.L");
    const int32_t hip = body_named(m, "upper_arm.L");
    g[1].kind = SKEL_GOAL_POLE, g[1].priority = 1;
    v3_to(m->joint[elbow].fb.p, g[1].point);
    g[1].from = hip, g[1].to = g[0].body;
    const int32_t shoulder = skel_model_find_joint(m, "shoulder.L");
    v3_to(m->joint[shoulder].fb.p, g[1].from_point);
    for (int k = 0; k < 3; ++k) {
        const double pole[3][3] = {{0, 0, -5}, {0.5, 5, 1}, {-4, 0.3, 2}};
        skel_ik_desc d = desc_of(m, g, 2);
        double now[MOST], far;
        skel_ik *ik = make(&d);
        memcpy(now, q, sizeof q);
        skel_ik_set_target(ik, 1, pole[k], NULL);
        const skel_ik_receipt r = solve(ik, now);
        ck_assert_msg(r.reached, "off by %g", r.residual);
        skel_ik_get_poses(ik, poses);
        const v3 a = point_at(poses, hip, g[1].from_point),
                 b = point_at(poses, g[0].body, g[0].point);
        const v3 e = v3_sub(point_at(poses, g[1].body, g[1].point), a);
        const v3 p = v3_sub(v3_of(pole[k]), a), line = v3_sub(b, a);
        const v3 ex = v3_cross(line, e), px = v3_cross(line, p); /* the same plane, the same side */
        ck_assert(v3_dot(ex, px) > 0);
        near1(v3_norm(v3_cross(ex, px)) / (v3_norm(ex) * v3_norm(px)), 0, 1e-3);
        skel_ik_get_residual(ik, 0, &far, NULL);
        ck_assert(far < 1e-9);
        skel_ik_destroy(ik);
    }
    scene_free(&s);
}
END_TEST

START_TEST(two_hands_hold_one_thing) { /* a pose of one body in the axes of another */
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    const skel_model *m = s.model;
    double q[MOST], poses[7 * MOST];
    skel_goal_desc g = goal_of(body_named(m, "hand.L"));
    g.relative_to = body_named(m, "hand.R");
    g.position[0] = 0.05, g.position[1] = 0.12, g.position[2] = -0.03;
    skel_ik_desc d = desc_of(m, &g, 1);
    skel_ik *ik = make(&d);
    skel_state_get_q(s.state, q);
    const skel_ik_receipt r = solve(ik, q);
    ck_assert_msg(r.reached, "off by %g", r.residual);
    skel_ik_get_poses(ik, poses);
    const double *right = poses + 7 * g.relative_to;
    const v3 way = v3_sub(v3_of(poses + 7 * g.body), v3_of(right));
    const v3 seen = q_rotate(q_conj(q_of(right + 3)), way);
    const double got[3] = {seen.x, seen.y, seen.z};
    near(got, g.position, 3, 1e-9);
    ck_assert(limits_broken(m, q) <= 0);
    skel_ik_destroy(ik);
    scene_free(&s);
}
END_TEST

START_TEST(loops_stay_closed) {
    skel_scene *sample = scene_sample("four_bar");
    const skel_model *m = skel_scene_model(sample);
    skel_state *state;
    double q[MOST], poses[7 * MOST];
    ck_assert_int_eq(skel_state_create(m, &state, NULL), SKEL_OK);
    skel_state_get_q(state, q);
    skel_state_get_poses(state, poses);
    skel_goal_desc g = goal_of(m->order[m->nd - 1]);
    memcpy(g.position, poses + 7 * g.body, sizeof g.position);
    g.position[0] += 0.06, g.position[2] += 0.02, g.parts = SKEL_GOAL_X;
    skel_ik_desc d = desc_of(m, &g, 1);
    skel_ik *ik = make(&d);
    const skel_ik_receipt r = solve(ik, q);
    ck_assert_msg(r.reached, "off by %g", r.residual);
    skel_ik_get_poses(ik, poses);
    skel_report_row row = {.struct_size = sizeof row};
    skel_state_set_poses(state, poses);
    ck_assert_int_eq(skel_report(state, &row), SKEL_OK);
    ck_assert(row.joint_gap < 1e-9);
    near1(poses[7 * g.body], g.position[0], 1e-9);
    double measured[MOST];
    skel_state_get_q(state, measured); /* joints of loops, too */
    near(q, measured, (size_t)m->nq, 1e-9);
    skel_ik_destroy(ik);
    skel_state_destroy(state);
    skel_scene_destroy(sample);
}
END_TEST

START_TEST(posture_in_what_is_left) {
    chain *c;
    const int count = chains_load(&c);
    for (int i = 5; i < count; ++i) { /* seven joints */
        skel_goal_desc g = chain_goal(&c[i]);
        double middle[CHAIN_MAX];
        chain_middle(&c[i], middle);
        rng r = rng_seed((uint64_t)i);
        for (int k = 0; k < 10; ++k) {
            double q[CHAIN_MAX], target[7], off[2] = {0, 0};
            chain_random(&c[i], &r, q);
            chain_tip(&c[i], q, target);
            for (int with = 0; with < 2; ++with) {
                skel_ik_desc d = desc_of(c[i].model, &g, 1);
                d.posture = with ? middle : NULL;
                skel_ik *ik = make(&d);
                double x[CHAIN_MAX];
                memcpy(x, q, sizeof q);
                skel_ik_set_target(ik, 0, target, target + 3);
                ck_assert(solve(ik, x).reached);
                ck_assert(tip_off(&c[i], x, target) < 1e-8);
                within_limits(&c[i], x);
                for (int j = 0; j < c[i].n; ++j) off[with] += pow(x[j] - middle[j], 2);
                skel_ik_destroy(ik);
            }
            ck_assert(off[1] <= off[0] * (1 + 1e-9));
        }
    }
    chains_free(c, count);
}
END_TEST

/* ---- tracking ---- */

START_TEST(smooth_paths_are_followed_smoothly) {
    chain *c;
    const int count = chains_load(&c);
    for (int i = 0; i < count; ++i) {
        skel_goal_desc g = chain_goal(&c[i]);
        skel_ik_desc d = desc_of(c[i].model, &g, 1);
        d.mode = SKEL_IK_TRACK;
        skel_ik *ik = make(&d);
        double q[CHAIN_MAX], was[CHAIN_MAX], want[CHAIN_MAX], target[7], middle[CHAIN_MAX];
        chain_middle(&c[i], middle);
        for (int k = 0; k <= 200; ++k) {
            for (int j = 0; j < c[i].n; ++j) {
                const double half = c[i].continuous[j] ? 2 : 0.5 * (c[i].high[j] - c[i].low[j]);
                want[j] = middle[j] + 0.4 * half + 0.2 * half * sin(6.2831853 * k / 200 + 0.5 * j);
            }
            if (k == 0) memcpy(q, want, sizeof q);
            chain_tip(&c[i], want, target);
            memcpy(was, q, sizeof q);
            skel_ik_set_target(ik, 0, target, target + 3);
            const skel_ik_receipt r = solve(ik, q);
            ck_assert_msg(r.reached, "%s, frame %d: off by %g", c[i].name, k, r.residual);
            within_limits(&c[i], q);
            for (int j = 0; j < c[i].n; ++j)
                ck_assert_msg(fabs(q[j] - was[j]) < 0.3, "%s, frame %d: joint %d moves by %g",
                              c[i].name, k, j, q[j] - was[j]);
        }
        skel_ik_destroy(ik);
    }
    chains_free(c, count);
}
END_TEST

/* A figure eight that leaves the reach of the arm and comes back, 24 frames a second. */
START_TEST(a_figure_eight_through_full_extension) {
    chain *c;
    const int count = chains_load(&c);
    for (int i = 5; i < count; ++i) {
        skel_goal_desc g = chain_goal(&c[i]);
        double bound[CHAIN_MAX], q[CHAIN_MAX], was[CHAIN_MAX], start[7];
        for (int j = 0; j < CHAIN_MAX; ++j) bound[j] = 8.0 / 24;
        g.parts = SKEL_GOAL_POSITION;
        skel_ik_desc d = desc_of(c[i].model, &g, 1);
        d.mode = SKEL_IK_TRACK, d.max_step = bound;
        skel_ik *ik = make(&d);
        skel_ik_desc e = desc_of(c[i].model, &g, 1); /* what could be reached from here */
        e.mode = SKEL_IK_TRACK;
        skel_ik *judge = make(&e);
        chain_middle(&c[i], q);
        for (int j = 0; j < c[i].n; ++j)
            q[j] += 0.15 * (c[i].continuous[j] ? 1 : c[i].high[j] - q[j]);
        chain_tip(&c[i], q, start);
        const double *base = c[i].origin[1];
        const v3 way = v3_sub(v3_of(start), v3_of(base));
        int beyond = 0, late = 0;
        for (int k = 0; k < 240; ++k) {
            const double t = 6.2831853 * k / 120, swing = 0.5 * sin(0.5 * t), out = 1 - cos(t);
            const v3 side =
                v3_scale(v3_perpendicular(v3_scale(way, 1 / v3_norm(way))), 0.1 * swing);
            const v3 p = v3_add(v3_mad(v3_of(start), 0.55 * out, way), side);
            double target[3], free[CHAIN_MAX];
            v3_to(p, target);
            memcpy(was, q, sizeof q), memcpy(free, q, sizeof q);
            skel_ik_set_target(ik, 0, target, NULL), skel_ik_set_target(judge, 0, target, NULL);
            const skel_ik_receipt r = solve(ik, q);
            const int reachable = solve(judge, free).reached;
            for (int j = 0; j < c[i].n; ++j)
                ck_assert(fabs(q[j] - was[j]) <= bound[j] * (1 + 1e-12));
            within_limits(&c[i], q);
            beyond += !reachable;
            double fastest = 0;
            for (int j = 0; j < c[i].n; ++j)
                fastest = fmax(fastest, fabs(q[j] - was[j]) / bound[j]);
            late += reachable && !r.reached && fastest < 1 - 1e-9; /* else it may not be faster */
        }
        ck_assert_msg(beyond > 5, "%s", c[i].name);
        ck_assert_msg(late == 0, "%s: %d frames late", c[i].name, late);
        skel_ik_destroy(ik);
        skel_ik_destroy(judge);
    }
    chains_free(c, count);
}
END_TEST

START_TEST(balls_keep_their_speed) {
    scene s = scene_chain(6, SKEL_JOINT_BALL, SKEL_JOINT_BALL, 0.2, NULL);
    skel_goal_desc g = goal_of(5);
    double bound[18], q[24], was[24];
    for (int k = 0; k < 18; ++k) bound[k] = 0.05;
    skel_ik_desc d = desc_of(s.model, &g, 1);
    d.mode = SKEL_IK_TRACK, d.max_step = bound;
    skel_ik *ik = make(&d);
    skel_state_get_q(s.state, q);
    for (int k = 0; k < 100; ++k) {
        const double target[3] = {0.8 * cos(0.4 * k), 0.8 * sin(0.4 * k), 0.2 * sin(0.9 * k)};
        memcpy(was, q, sizeof q);
        skel_ik_set_target(ik, 0, target, NULL);
        solve(ik, q);
        for (int i = 0; i < 6; ++i) {
            const quat a = q_of(was + 4 * i), b = q_of(q + 4 * i);
            ck_assert(v3_norm(q_log(q_mul(q_conj(a), b))) <= 0.05 * (1 + 1e-9));
        }
    }
    skel_ik_destroy(ik);
    scene_free(&s);
}
END_TEST

/* The largest turn of any joint from q to q. */
static double largest_turn(const skel_model *m, const double *from, const double *to) {
    double most = 0;
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        const double *a = from + j->q_offset, *b = to + j->q_offset;
        if (j->type == SKEL_JOINT_BALL)
            most = fmax(most, v3_norm(q_log(q_mul(q_conj(q_of(a)), q_of(b)))));
        else
            for (int32_t i = 0; i < skel__joint_nq(j->type); ++i)
                most = fmax(most, fabs(b[i] - a[i]));
    }
    return most;
}

/* Standing and lifting something from the floor: feet and hands first, then balance and elbows,
   then hips and eyes. Returns the goals. */
static int lifting(const scene *s, skel_goal_desc g[9]) {
    const char *name[8] = {"foot.L",    "foot.R",    "hand.L", "hand.R",
                           "forearm.L", "forearm.R", "pelvis", "head"};
    double poses[7 * MOST];
    skel_state_get_poses(s->state, poses);
    for (int k = 0; k < 8; ++k) {
        g[k] = goal_of(body_named(s->model, name[k]));
        memcpy(g[k].position, poses + 7 * g[k].body, sizeof g[k].position);
        memcpy(g[k].orientation, poses + 7 * g[k].body + 3, sizeof g[k].orientation);
        g[k].priority = k < 4 ? 0 : k < 6 ? 1 : 2;
        g[k].parts = k < 2 ? SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION : SKEL_GOAL_POSITION;
    }
    for (int k = 0; k < 2; ++k) {
        skel_goal_desc *pole = &g[4 + k];
        pole->kind = SKEL_GOAL_POLE, pole->to = g[2 + k].body;
        pole->from = body_named(s->model, k ? "upper_arm.R" : "upper_arm.L");
        pole->position[0] = k ? -1 : 1, pole->position[1] = 0.3, pole->position[2] = -0.6;
    }
    g[6].parts = SKEL_GOAL_ORIENTATION;
    g[7].kind = SKEL_GOAL_AIM, g[7].axis[1] = -1, g[7].axis[2] = 0;
    g[8] = goal_of(SKEL_WORLD);
    g[8].kind = SKEL_GOAL_CENTRE, g[8].parts = SKEL_GOAL_X | SKEL_GOAL_Y, g[8].priority = 1;
    g[8].position[1] = -0.06;
    return 9;
}

/* Goals of later priorities that limits keep from being met for some frames come free all at once:
   the joints must not snap there. */
START_TEST(later_goals_come_back_calmly) {
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    rng r = rng_seed((uint64_t)_i + 1);
    double q[MOST], was[MOST];
    skel_goal_desc g[9];
    skel_ik_desc d = desc_of(s.model, g, (uint32_t)lifting(&s, g));
    d.mode = SKEL_IK_TRACK, d.root = SKEL_IK_ROOT_MOVES;
    skel_ik *ik = make(&d);
    const double low = rng_range(&r, 0.2, 0.5), high = rng_range(&r, 1.2, 1.7);
    const double near = rng_range(&r, -0.5, -0.3), far = rng_range(&r, -1.1, -0.7);
    skel_state_get_q(s.state, q);
    for (int k = 0; k < 96; ++k) {
        const double t = 0.5 - 0.5 * cos(3.14159265 * fmin(k / 48.0, 1));
        const double u = 0.5 - 0.5 * cos(3.14159265 * fmax(k / 48.0 - 1, 0));
        for (int side = 0; side < 2; ++side) {
            const double to[3] = {side ? -0.215 : 0.215, near + u * (far - near),
                                  low + t * (high - low)};
            skel_ik_set_target(ik, 2 + side, to, NULL);
            if (!side) skel_ik_set_target(ik, 7, (double[3]){0, to[1], to[2]}, NULL);
        }
        memcpy(was, q, sizeof q);
        solve(ik, q);
        const double step = largest_turn(s.model, was, q);
        ck_assert_msg(k == 0 || step < 0.5, "frame %d: a joint turns by %g", k, step);
        ck_assert(limits_broken(s.model, q) <= 0);
        for (int i = 0; i < 4; ++i) {
            double off, angle;
            skel_ik_get_residual(ik, i, &off, &angle);
            ck_assert_msg(fmax(off, angle) < 1e-5, "frame %d: %g m, %g rad", k, off, angle);
        }
    }
    skel_ik_destroy(ik);
    scene_free(&s);
}
END_TEST

/* What the goals do not move may be an animation's: it has no part in how they are followed. */
START_TEST(animations_elsewhere_change_nothing) {
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    const skel_model *m = s.model;
    const int nq = m->nq, frames = 40;
    skel_goal_desc g = goal_of(body_named(m, "hand.L"));
    double q[MOST], base[40 * MOST], positions[3 * 40];
    skel_goal_track track = {.positions = positions, .position_count = (uint32_t)frames};
    skel_ik_desc d = desc_of(m, &g, 1);
    skel_ik_motion *v[2];
    skel_state_get_q(s.state, q);
    const int32_t knee = m->joint[m->body[body_named(m, "shin.R")].joint].q_offset;
    for (int k = 0; k < frames; ++k) {
        positions[3 * k] = 0.3 + 0.1 * sin(0.3 * k);
        positions[3 * k + 1] = -0.3 + 0.1 * cos(0.3 * k), positions[3 * k + 2] = 1 + 0.008 * k;
        memcpy(base + k * nq, q, (size_t)nq * sizeof *q);
        base[k * nq + knee] += 0.02 * k;
    }
    d.mode = SKEL_IK_TRACK;
    for (int moves = 0; moves < 2; ++moves) {
        skel_ik_motion_desc md;
        skel_ik_motion_desc_init(&md);
        md.ik = &d, md.tracks = &track, md.sample_count = (uint32_t)frames;
        md.seed = q, md.base = moves ? base : NULL;
        ck_assert_int_eq(skel_ik_motion_start(&md, &v[moves], NULL), SKEL_OK);
        ck_assert_int_eq(skel_ik_motion_advance(v[moves], -1), SKEL_OK);
    }
    for (int k = 0; k < frames * nq; ++k)
        if (k % nq != knee) ck_assert(skel_ik_motion_q(v[0])[k] == skel_ik_motion_q(v[1])[k]);
    ck_assert(skel_ik_motion_q(v[1])[39 * nq + knee] > 0.7);
    for (int k = 0; k < 2; ++k) skel_ik_motion_destroy(v[k]);
    scene_free(&s);
}
END_TEST

/* ---- two bones, motions ---- */

START_TEST(two_bones_in_space) {
    rng r = rng_seed((uint64_t)_i);
    for (int k = 0; k < 300; ++k) {
        skel_two_bone_desc d;
        skel_two_bone out = {.struct_size = sizeof out};
        skel_two_bone_desc_init(&d);
        d.length1 = rng_range(&r, 0.2, 1), d.length2 = rng_range(&r, 0.2, 1);
        for (int a = 0; a < 3; ++a) {
            d.root[a] = rng_range(&r, -1, 1), d.target[a] = rng_range(&r, -1.5, 1.5);
            d.pole[a] = rng_range(&r, -3, 3);
        }
        d.softness = k % 3 ? 0.05 : 0;
        ck_assert_int_eq(skel_two_bone_solve(&d, &out), SKEL_OK);
        const v3 root = v3_of(d.root), elbow = v3_of(out.elbow), tip = v3_of(out.tip);
        const v3 to = v3_sub(v3_of(d.target), root), line = v3_sub(tip, root);
        const double far = v3_norm(to), most = d.length1 + d.length2;
        near1(v3_norm(v3_sub(elbow, root)), d.length1, 1e-14);
        near1(v3_norm(v3_sub(tip, elbow)), d.length2, 1e-14);
        near1(v3_norm(v3_cross(to, line)), 0, 1e-14);
        ck_assert(v3_dot(v3_cross(line, v3_sub(elbow, root)),
                         v3_cross(line, v3_sub(v3_of(d.pole), root))) >= -1e-9);
        const int plain = far >= fabs(d.length1 - d.length2) && far <= most * (1 - d.softness);
        if (plain) near1(v3_norm(v3_sub(tip, v3_of(d.target))), 0, 1e-14);
        if (plain) ck_assert_int_eq(out.reached, 1);
        if (far > most && d.softness > 0) ck_assert(v3_norm(line) <= most * (1 + 1e-15));
    }
}
END_TEST

START_TEST(softness_has_no_snap) { /* the tip's way is smooth through full extension */
    double last = 0, slope = 1;
    for (int k = 0; k <= 2000; ++k) {
        skel_two_bone_desc d;
        skel_two_bone out = {.struct_size = sizeof out};
        skel_two_bone_desc_init(&d);
        d.target[0] = 1.5 + 0.0005 * k, d.softness = 0.1;
        ck_assert_int_eq(skel_two_bone_solve(&d, &out), SKEL_OK);
        const double now = (out.tip[0] - last) / 0.0005;
        if (k > 0) ck_assert(now > 0 && now <= 1 + 1e-9 && fabs(now - slope) < 0.01);
        if (k > 0) slope = now;
        last = out.tip[0];
    }
}
END_TEST

START_TEST(motions_blend_in_and_out) {
    const double lengths[3] = {0.5, 0.4, 0.3};
    skel_model *m = planar(lengths, 3);
    skel_goal_desc g = goal_of(2);
    double positions[3 * 41], base[3 * 41];
    skel_goal_track track = {.positions = positions, .position_count = 41};
    for (int k = 0; k < 41; ++k) {
        positions[3 * k] = 0.7 + 0.1 * cos(0.1 * k),
                      positions[3 * k + 1] = 0.4 + 0.1 * sin(0.1 * k);
        positions[3 * k + 2] = 0;
        for (int j = 0; j < 3; ++j) base[3 * k + j] = 0.01 * k + 0.1 * j;
    }
    skel_ik_desc d = desc_of(m, &g, 1);
    d.mode = SKEL_IK_TRACK;
    skel_ik_motion_desc md;
    skel_ik_motion *v;
    skel_ik_motion_desc_init(&md);
    md.ik = &d, md.tracks = &track, md.sample_count = 41, md.base = base;
    md.blend_in = 10, md.blend_out = 10;
    ck_assert_int_eq(skel_ik_motion_start(&md, &v, NULL), SKEL_OK);
    int calls = 0;
    while (skel_ik_motion_advance(v, 0) == SKEL_MORE) ++calls;
    ck_assert_int_eq(calls, 40);
    const double *q = skel_ik_motion_q(v);
    const skel_ik_receipt *r = skel_ik_motion_receipts(v);
    near(q, base, 3, 1e-15);
    near(q + 120, base + 120, 3, 1e-15);
    for (int k = 0; k < 41; ++k) {
        const double *x = skel_ik_motion_poses(v) + 21 * k + 14;
        const double off = v3_norm(v3_sub(v3_of(x), v3_of(positions + 3 * k)));
        near1(off, r[k].residual, 1e-12);
        near1(off, skel_ik_motion_residuals(v)[2 * k], 1e-12);
        ck_assert_int_eq(r[k].reached, off <= 1e-5);
        if (k >= 10 && k <= 30) ck_assert_int_eq(r[k].reached, 1);
        for (int j = 0; k > 0 && j < 3; ++j) ck_assert(fabs(q[3 * k + j] - q[3 * k - 3 + j]) < 0.4);
    }
    skel_ik_motion_destroy(v);
    skel_model_destroy(m);
}
END_TEST

/* ---- wrong calls ---- */

static void refused(const skel_ik_desc *d, const char *part) {
    skel_ik *ik = NULL;
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_lt(skel_ik_create(d, &ik, &err), 0);
    ck_assert_ptr_null(ik);
    ck_assert_msg(strstr(err.text, part) != NULL, "'%s' does not name %s", err.text, part);
}

START_TEST(wrong_calls_are_refused_by_name) {
    const double lengths[2] = {1, 1}, bad[2] = {2, 0}, nan[2] = {NAN, 0};
    skel_model *m = planar(lengths, 2);
    skel_goal_desc g = goal_of(1), h;
    skel_ik_desc d = desc_of(m, &g, 1), e;
    e = d, e.model = NULL, refused(&e, "model");
    e = d, e.tolerance = 0, refused(&e, "tolerance");
    e = d, e.mode = 9, refused(&e, "mode");
    e = d, e.stiffness = bad, refused(&e, "stiffness[0]");
    e = d, e.posture = nan, refused(&e, "posture");
    e = d, e.goals = NULL, refused(&e, "goals");
    h = g, h.body = 7, e = desc_of(m, &h, 1), refused(&e, "goals[0].body");
    h = g, h.priority = 99, refused(&e, "goals[0].priority");
    h = g, h.weight = -1, refused(&e, "goals[0].weight");
    h = g, h.position[1] = NAN, refused(&e, "goals[0].point");
    h = g, h.kind = 12, refused(&e, "goals[0].kind");
    h = g, h.from_point[0] = 1e300, refused(&e, "goals[0].point");
    h = g, h.kind = SKEL_GOAL_CENTRE, h.body = SKEL_WORLD,
    refused(&e, "goals[0]: a centre of mass");
    skel_ik *ik = make(&d);
    double q[2] = {NAN, 0}, far[3] = {INFINITY, 0, 0};
    ck_assert_int_eq(skel_ik_solve(ik, q, NULL, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_ik_set_target(ik, 0, far, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_ik_set_target(ik, 1, NULL, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_ik_set_weight(ik, 0, -1), SKEL_E_ARGUMENT);
    skel_ik_destroy(ik);
    skel_model_destroy(m);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ik");
    TCase *c = tcase_create("laws");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, the_jacobian_is_the_derivative, 0, 4);
    tcase_add_loop_test(c, gradients_of_all_goals, 0, 4);
    tcase_add_loop_test(c, curvature_of_places, 0, 2);
    tcase_add_loop_test(c, moore_and_penrose, 0, 3);
    tcase_add_loop_test(c, the_smallest_singular_value, 0, 3);
    tcase_add_test(c, every_reachable_pose_is_reached);
    tcase_add_test(c, receipts_are_honest);
    tcase_add_test(c, the_same_bits_every_time);
    tcase_add_test(c, beyond_reach_it_points_at_the_target);
    tcase_add_test(c, straight_arms_bend);
    tcase_add_test(c, long_straight_chains_bend);
    tcase_add_test(c, the_unit_of_length_does_not_matter);
    tcase_add_test(c, stiff_joints_stay_and_soft_ones_move);
    tcase_add_test(c, long_chains);
    tcase_add_loop_test(c, characters_keep_their_limits, 0, 6);
    tcase_add_test(c, hands_cost_the_feet_nothing);
    tcase_add_test(c, hands_take_what_the_feet_leave);
    tcase_add_test(c, a_later_priority_does_not_blunt_an_earlier_one);
    tcase_add_test(c, the_centre_of_mass_over_the_feet);
    tcase_add_test(c, a_pole_turns_the_elbow);
    tcase_add_test(c, two_hands_hold_one_thing);
    tcase_add_test(c, loops_stay_closed);
    tcase_add_test(c, posture_in_what_is_left);
    tcase_add_test(c, smooth_paths_are_followed_smoothly);
    tcase_add_test(c, a_figure_eight_through_full_extension);
    tcase_add_test(c, balls_keep_their_speed);
    tcase_add_test(c, animations_elsewhere_change_nothing);
    tcase_add_loop_test(c, later_goals_come_back_calmly, 0, 20);
    tcase_add_loop_test(c, two_bones_in_space, 0, 3);
    tcase_add_test(c, softness_has_no_snap);
    tcase_add_test(c, motions_blend_in_and_out);
    tcase_add_test(c, wrong_calls_are_refused_by_name);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
