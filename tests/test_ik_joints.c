/* SPDX-License-Identifier: BSD-3-Clause */
/* Which joints move: those that go with others (mimic), judged by models without mimic, whose q are
   made to obey here, by arithmetic of our own; and those that a goal may move. */
#include "shared/chains.h"
#include "shared/humanoid.h"
#include "shared/ik.h"
#include "shared/near.h"
#include "shared/scenes.h"
#include "ik/ik.h"

#include <string.h>

#define MOST 256
#define H 0.70710678118654752440

static skel_ik *make_in(const skel_model *m, const skel_goal_desc *g, uint32_t count,
                        int32_t mode) {
    skel_ik_desc d = desc_of(m, g, count);
    d.mode = mode;
    return make(&d);
}

/* The bodies and joints of a model, to be changed and made again. */
typedef struct parts {
    skel_body_desc body[MOST];
    skel_joint_desc joint[MOST];
    int nb, nj;
} parts;

static void take_apart(const skel_model *m, parts *p) {
    p->nb = skel_model_body_count(m), p->nj = skel_model_joint_count(m);
    for (int i = 0; i < p->nb; ++i) {
        skel_body_desc_init(&p->body[i]);
        ck_assert_int_eq(skel_model_get_body(m, i, &p->body[i]), SKEL_OK);
    }
    for (int i = 0; i < p->nj; ++i) {
        skel_joint_desc_init(&p->joint[i]);
        ck_assert_int_eq(skel_model_get_joint(m, i, &p->joint[i]), SKEL_OK);
    }
}

static skel_status put_together(const parts *p, skel_model **out, skel_error *err) {
    skel_model_desc d;
    skel_model_desc_init(&d);
    d.bodies = p->body, d.body_count = (uint32_t)p->nb;
    d.joints = p->joint, d.joint_count = (uint32_t)p->nj;
    return skel_model_create(&d, out, err);
}

static skel_model *assembled(const parts *p) {
    skel_model *m = NULL;
    skel_error err;
    skel_error_init(&err);
    scene_demand(put_together(p, &m, &err), &err);
    return m;
}

static int moves_one_way(const skel_joint_desc *j) {
    return j->type == SKEL_JOINT_HINGE || j->type == SKEL_JOINT_SLIDE;
}

/* Some joints go with others, those with others still; never in a ring: only towards the root of a
   random order. Returns how many do. */
static int add_mimics(rng *r, parts *p) {
    int order[MOST], n = 0, count = 0;
    for (int i = 0; i < p->nj; ++i)
        if (moves_one_way(&p->joint[i])) order[n++] = i;
    for (int i = n - 1; i > 0; --i) {
        const int k = rng_int(r, i + 1), swap = order[i];
        order[i] = order[k], order[k] = swap;
    }
    for (int i = 1; i < n; ++i) {
        skel_joint_desc *j = &p->joint[order[i]];
        if (rng_int(r, 2)) continue;
        j->mimic.source = order[rng_int(r, i)];
        j->mimic.multiplier = rng_range(r, -2, 2), j->mimic.offset = rng_range(r, -0.5, 0.5);
        ++count;
    }
    return count;
}

/* q of joint j, by asking whom it goes with, again and again. */
static double own_q(const parts *p, const skel_model *m, const double *q, int j) {
    const skel_joint_desc *d = &p->joint[j];
    if (d->mimic.source < 0) return q[skel_model_joint_q_offset(m, j)];
    return d->mimic.multiplier * own_q(p, m, q, d->mimic.source) + d->mimic.offset;
}

static void make_obey(const parts *p, const skel_model *m, double *q) {
    double out[MOST];
    memcpy(out, q, sizeof out);
    for (int j = 0; j < p->nj; ++j)
        if (p->joint[j].mimic.source >= 0) out[skel_model_joint_q_offset(m, j)] = own_q(p, m, q, j);
    memcpy(q, out, sizeof out);
}

/* A random tree, and the same with mimics; a q for both that does not obey. */
typedef struct pair {
    scene plain;
    parts p;
    skel_model *m;
    int mimics;
    double q[MOST];
} pair;

static void pair_make(rng *r, int bodies, int root, pair *out) {
    memset(out, 0, sizeof *out);
    out->plain = scene_random_tree(r, (scene_options){.bodies = bodies,
                                                      .root = root,
                                                      .joint_mask = 1 << SKEL_JOINT_HINGE |
                                                                    1 << SKEL_JOINT_SLIDE |
                                                                    1 << SKEL_JOINT_BALL});
    take_apart(out->plain.model, &out->p);
    out->mimics = add_mimics(r, &out->p);
    out->m = assembled(&out->p);
    skel_state_get_q(out->plain.state, out->q);
}

static void pair_free(pair *p) {
    skel_model_destroy(p->m);
    scene_free(&p->plain);
}

/* ---- kinematics ---- */

START_TEST(poses_obey) {
    rng r = rng_seed((uint64_t)_i + 1);
    int some = 0;
    for (int k = 0; k < 60; ++k) {
        pair p;
        double q[MOST] = {0}, poses[7 * MOST], want[7 * MOST], back[MOST];
        skel_state *state;
        pair_make(&r, 2 + rng_int(&r, 14), k % 4, &p);
        memcpy(q, p.q, sizeof q);
        make_obey(&p.p, p.m, q);
        const size_t n = 7 * (size_t)p.p.nb;
        ck_assert_int_eq(skel_fk(p.plain.model, q, want), SKEL_OK);
        ck_assert_int_eq(skel_fk(p.m, p.q, poses), SKEL_OK);
        near(poses, want, n, 1e-13);
        ck_assert_int_eq(skel_state_create(p.m, &state, NULL), SKEL_OK);
        ck_assert_int_eq(skel_state_set_q(state, p.q), SKEL_OK);
        skel_state_get_poses(state, poses);
        skel_state_destroy(state);
        near(poses, want, n, 1e-13);
        memcpy(back, p.q, sizeof back);
        ck_assert_int_eq(skel_model_apply_mimic(p.m, back), SKEL_OK);
        near(back, q, (size_t)p.m->nq, 1e-14);
        ck_assert_int_eq(skel_model_mimic_count(p.m), p.mimics);
        for (int j = 0; j < p.p.nj; ++j) {
            double factor = 0, offset = 0;
            const int32_t lead = skel_model_mimic_source(p.m, j, &factor, &offset);
            ck_assert_int_eq(lead >= 0, p.p.joint[j].mimic.source >= 0);
            if (lead < 0) continue;
            ck_assert_int_eq(skel_model_mimic_source(p.m, lead, NULL, NULL), -1);
            near1(factor * p.q[skel_model_joint_q_offset(p.m, lead)] + offset,
                  q[skel_model_joint_q_offset(p.m, j)], 1e-14);
        }
        some += p.mimics;
        pair_free(&p);
    }
    ck_assert_int_gt(some, 60);
}
END_TEST

START_TEST(jacobians_are_the_derivative) {
    rng r = rng_seed((uint64_t)_i + 5);
    for (int k = 0; k < 40; ++k) {
        pair p;
        double q[MOST], poses[7 * MOST], jacobian[6 * MOST], point[3] = {0.1, -0.2, 0.3};
        pair_make(&r, 3 + rng_int(&r, 12), k % 4, &p);
        const skel_model *m = p.m;
        const int32_t body = rng_int(&r, m->nb);
        skel_fk(m, p.q, poses);
        ck_assert_int_eq(skel_jacobian(m, poses, body, point, jacobian), SKEL_OK);
        for (int j = 0; j < m->nj; ++j) {
            if (!moves_one_way(&p.p.joint[j])) continue;
            const double h = 1e-5;
            double at[2][7 * MOST], want[6], got[6];
            for (int side = 0; side < 2; ++side) {
                memcpy(q, p.q, sizeof q);
                q[m->joint[j].q_offset] += side ? h : -h;
                skel_fk(m, q, at[side]);
            }
            const double *a = at[0] + 7 * body, *b = at[1] + 7 * body;
            const v3 pa = v3_add(v3_of(a), q_rotate(q_of(a + 3), v3_of(point)));
            const v3 pb = v3_add(v3_of(b), q_rotate(q_of(b + 3), v3_of(point)));
            v3_to(v3_scale(v3_sub(pb, pa), 0.5 / h), want);
            v3_to(v3_scale(q_log(q_mul(q_of(b + 3), q_conj(q_of(a + 3)))), 0.5 / h), want + 3);
            for (int row = 0; row < 6; ++row)
                got[row] = jacobian[row * m->nv + m->joint[j].v_offset];
            near(got, want, 6, 1e-8);
            if (p.p.joint[j].mimic.source >= 0) ck_assert(max_abs(got, 6) == 0);
        }
        pair_free(&p);
    }
}
END_TEST

/* ---- inverse kinematics ---- */

static double cost_at(skel_ik *ik, const double *y) {
    double x[MOST];
    skel__ik_step_within(ik, ik->iterate.x, y, x);
    return 0.5 * skel__ik_errors(ik, x, ik->size.rows);
}

/* A place in the world for a random body; k says which parts. */
static skel_goal_desc random_place(rng *r, int32_t nb, int k) {
    skel_goal_desc g = goal_of(rng_int(r, nb));
    g.parts = 7u + 8u * (unsigned)(k % 2);
    for (int a = 0; a < 3; ++a)
        g.position[a] = rng_range(r, -1, 1), g.point[a] = rng_range(r, -0.3, 0.3);
    for (int a = 0; a < 4; ++a) g.orientation[a] = rng_range(r, -1, 1) + (a == 0 ? 1e-3 : 0);
    return g;
}

/* Gradient and Hessian of the goals against differences of the errors. */
START_TEST(derivatives_of_goals) {
    rng r = rng_seed((uint64_t)_i + 11);
    int some = 0;
    for (int k = 0; k < 30; ++k) {
        pair p;
        skel_goal_desc g[2];
        double y[MOST] = {0};
        pair_make(&r, 6, k % 3, &p);
        for (int i = 0; i < 2; ++i) g[i] = random_place(&r, p.m->nb, k);
        skel_ik *ik = make_in(p.m, g, 2, SKEL_IK_POSE);
        memcpy(ik->iterate.x, p.q, (size_t)p.m->nq * sizeof(double));
        skel__mimic_apply(p.m, ik->iterate.x);
        for (int32_t c = 0; c < ik->size.columns; ++c)
            ik->bounds.low[c] = -INFINITY, ik->bounds.high[c] = INFINITY;
        for (int32_t i = 0; i < ik->size.nodes; ++i) ik->problem.node[i].has_cone = 0;
        some += ik->size.all_columns - ik->size.columns;
        skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
        skel__ik_jacobian(ik, ik->size.rows);
        skel__ik_hessian(ik, ik->size.rows);
        for (int i = 0; i < ik->size.columns; ++i) {
            double slope = 0;
            const double tiny = 1e-5, h = 1e-4;
            for (int row = 0; row < ik->size.rows; ++row)
                slope -= ik->iterate.jacobian_t[i * ik->size.rows + row] * ik->iterate.e[row];
            y[i] = tiny;
            const double up = cost_at(ik, y);
            y[i] = -tiny;
            near1((up - cost_at(ik, y)) / (2 * tiny), slope, 3e-8 * (1 + fabs(slope)));
            y[i] = 0;
            for (int j = 0; j <= i; ++j) {
                double v[4];
                for (int c = 0; c < 4; ++c) {
                    y[i] += c & 1 ? h : -h, y[j] += c & 2 ? h : -h;
                    v[c] = cost_at(ik, y);
                    y[i] = y[j] = 0;
                }
                const double want = ik->step.hessian[i * ik->size.columns + j];
                near1((v[3] - v[1] - v[2] + v[0]) / (4 * h * h), want, 2e-6 * (1 + fabs(want)));
            }
            skel__ik_errors(ik, ik->iterate.x, ik->size.rows); /* places are those of x again */
        }
        skel_ik_destroy(ik);
        pair_free(&p);
    }
    ck_assert_int_gt(some, 10);
}
END_TEST

/* An arm of six hinges; `mimics` of them go with others: the fourth against the second, as in a
   parallel linkage, the sixth with the fifth. A gripper at its end: two slides, one leads. */
static skel_model *arm_with_gripper(int mimics, int limits) {
    static const double axes[6][4] = {{1, 0, 0, 0}, {H, H, 0, 0}, {H, 0, H, 0},
                                      {H, H, 0, 0}, {1, 0, 0, 0}, {H, 0, H, 0}};
    parts p = {.nb = 8, .nj = 8};
    for (int i = 0; i < 8; ++i) {
        skel_body_desc_init(&p.body[i]), skel_joint_desc_init(&p.joint[i]);
        p.body[i].unplaced = 1;
        skel_joint_desc *j = &p.joint[i];
        j->type = i < 6 ? SKEL_JOINT_HINGE : SKEL_JOINT_SLIDE;
        j->parent = i == 0 ? SKEL_WORLD : i < 6 ? i - 1 : 5, j->child = i;
        if (i < 6) memcpy(j->parent_orientation, axes[i], sizeof axes[i]);
        if (i < 6) memcpy(j->child_orientation, axes[i], sizeof axes[i]);
        j->parent_position[2] = i == 0 ? 0 : 0.3;
        j->limits.is_set = limits, j->limits.low[0] = i < 6 ? -2 : 0,
        j->limits.high[0] = i < 6 ? 2 : 0.05;
    }
    p.joint[7].child_orientation[0] = 0, p.joint[7].child_orientation[1] = 1; /* the other way */
    p.joint[7].parent_orientation[0] = 0, p.joint[7].parent_orientation[1] = 1;
    p.joint[7].mimic.source = 6;
    if (mimics > 0)
        p.joint[3].mimic.source = 1, p.joint[3].mimic.multiplier = -1,
        p.joint[3].mimic.offset = 0.3;
    if (mimics > 1) p.joint[5].mimic.source = 4, p.joint[5].mimic.multiplier = 0.5;
    return assembled(&p);
}

static void within(const skel_model *m, const double *q) {
    for (int32_t j = 0; j < m->nj; ++j) {
        const skel__joint *k = &m->joint[j];
        const double x = q[k->q_offset];
        ck_assert_msg(x >= k->limits.low[0] && x <= k->limits.high[0], "joint %d: %.17g", j, x);
        if (k->mimic_root >= 0)
            ck_assert(x == k->mimic_factor * q[m->joint[k->mimic_root].q_offset] + k->mimic_shift);
    }
}

/* Whatever q gives, q finds: the point of a finger (and its axes, where the arm can have them). */
START_TEST(grippers_reach_what_they_can) {
    rng r = rng_seed((uint64_t)_i + 3);
    const int mimics = _i % 3;
    skel_model *m = arm_with_gripper(mimics, 1);
    int reached = 0;
    for (int mode = 0; mode < 2; ++mode) {
        skel_goal_desc g = goal_of(7);
        g.point[2] = 0.02;
        g.parts = mode ? SKEL_GOAL_POSITION : SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION;
        skel_ik *ik = make_in(m, &g, 1, SKEL_IK_POSE);
        for (int k = 0; k < 100; ++k) {
            double want[8], q[8] = {0}, poses[56], target[3], there[56], far, angle;
            for (int j = 0; j < 8; ++j) want[j] = j < 6 ? rng_range(&r, -0.8, 0.8) : 0.03;
            skel_fk(m, want, poses);
            v3_to(v3_add(v3_of(poses + 49), q_rotate(q_of(poses + 52), v3_of(g.point))), target);
            skel_ik_set_target(ik, 0, target, poses + 52);
            const skel_ik_receipt receipt = solve(ik, q);
            within(m, q);
            reached += receipt.reached;
            skel_fk(m, q, there); /* the receipt is true */
            const v3 tip = v3_add(v3_of(there + 49), q_rotate(q_of(there + 52), v3_of(g.point)));
            skel_ik_get_residual(ik, 0, &far, &angle);
            near1(v3_norm(v3_sub(tip, v3_of(target))), far, 1e-12);
            if (!mode)
                near1(v3_norm(q_log(q_mul(q_of(poses + 52), q_conj(q_of(there + 52))))), angle,
                      1e-9);
            ck_assert_int_eq(receipt.reached, fmax(far, angle) <= 1e-5);
            skel_ik_get_poses(ik, poses);
            near(poses, there, 56, 1e-13);
        }
        skel_ik_destroy(ik);
    }
    ck_assert_msg(reached == 200, "%d of 200", reached);
    skel_model_destroy(m);
}
END_TEST

/* A finger that follows stops its leader at its own limit, and only there. */
START_TEST(limits_of_followers_hold_the_leader) {
    parts p = {.nb = 2, .nj = 2};
    for (int i = 0; i < 2; ++i) {
        skel_body_desc_init(&p.body[i]), skel_joint_desc_init(&p.joint[i]);
        p.body[i].unplaced = 1;
        p.joint[i].type = SKEL_JOINT_SLIDE, p.joint[i].child = i;
        p.joint[i].limits.is_set = 1, p.joint[i].limits.low[0] = -1, p.joint[i].limits.high[0] = 1;
    }
    p.joint[1].mimic.source = 0, p.joint[1].mimic.multiplier = -3, p.joint[1].mimic.offset = 0.1;
    skel_model *m = assembled(&p);
    skel_goal_desc g = goal_of(0);
    skel_ik *ik = make_in(m, &g, 1, SKEL_IK_POSE);
    for (int side = 0; side < 2; ++side) {
        const double target[3] = {0, 0, side ? 5 : -5}, most = side ? 1.1 / 3 : -0.3;
        double q[2] = {0, 0.7};
        skel_ik_set_target(ik, 0, target, NULL);
        const skel_ik_receipt r = solve(ik, q);
        near1(q[0], most, 1e-12);
        ck_assert(q[1] == -3 * q[0] + 0.1 && q[1] >= -1 && q[1] <= 1);
        ck_assert_int_eq(r.active_limits, 1);
        near1(r.residual, fabs(target[2] - most), 1e-12);
    }
    skel_ik_destroy(ik);
    g = goal_of(1); /* the follower is asked, the leader has to go */
    ik = make_in(m, &g, 1, SKEL_IK_TRACK);
    const double target[3] = {0, 0, 0.4};
    double q[2] = {0, 0};
    skel_ik_set_target(ik, 0, target, NULL);
    ck_assert_int_eq(solve(ik, q).reached, 1);
    near1(q[0], -0.1, 1e-9);
    near1(q[1], 0.4, 1e-9);
    skel_ik_destroy(ik);
    skel_model_destroy(m);
}
END_TEST

/* ---- wrong models ---- */

static void refused(const parts *p, const char *part) {
    skel_model *m = NULL;
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_lt(put_together(p, &m, &err), 0);
    ck_assert_ptr_null(m);
    ck_assert_msg(strstr(err.text, part) != NULL, "'%s' does not say '%s'", err.text, part);
}

START_TEST(wrong_mimics_are_refused_by_name) {
    parts p = {.nb = 4, .nj = 4}, bad;
    skel_error err;
    for (int i = 0; i < 4; ++i) {
        skel_body_desc_init(&p.body[i]), skel_joint_desc_init(&p.joint[i]);
        p.body[i].unplaced = 1;
        p.joint[i].type = i < 3 ? SKEL_JOINT_HINGE : SKEL_JOINT_BALL, p.joint[i].child = i;
        p.joint[i].limits.is_set = i < 3, p.joint[i].limits.low[0] = 0.5,
        p.joint[i].limits.high[0] = 1;
    }
    bad = p, bad.joint[1].mimic.source = 4,
    refused(&bad, "joints[1].mimic: is 4, must be the index");
    bad = p, bad.joint[1].mimic.source = -2, refused(&bad, "joints[1].mimic: is -2");
    bad = p, bad.joint[1].mimic.source = 1, refused(&bad, "joints[1].mimic: is 1");
    bad = p, bad.joint[1].mimic.source = 3, refused(&bad, "joints[1].mimic: 'joint 3' is a ball");
    bad = p, bad.joint[3].mimic.source = 1, refused(&bad, "joints[3].mimic: 'joint 3' is a ball");
    bad = p, bad.joint[0].mimic.source = 1, bad.joint[1].mimic.source = 2,
    bad.joint[2].mimic.source = 0;
    refused(&bad, "joints[0].mimic: the chain of mimic joints is cyclic at 'joint 0'");
    bad = p, bad.joint[1].mimic.source = 0, bad.joint[1].mimic.multiplier = NAN;
    refused(&bad, "joints[1].mimic.multiplier");
    bad = p, bad.joint[1].mimic.source = 0, bad.joint[2].mimic.source = 1;
    bad.joint[1].mimic.multiplier = bad.joint[2].mimic.multiplier = 1e200;
    refused(&bad, "joints[2].mimic: the product of the multipliers");
    bad = p, bad.joint[3].type = SKEL_JOINT_HINGE, bad.joint[3].parent = 0, bad.joint[3].child = 1;
    bad.nb = 3, bad.joint[3].mimic.source = 0; /* 0 and 1 hang from the world: this closes a ring */
    refused(&bad, "joints[3].mimic: 'joint 3' closes a loop");
    p.joint[1].mimic.source = 0, p.joint[1].mimic.multiplier = -1; /* nowhere do both like it */
    skel_model *m = assembled(&p);
    skel_goal_desc g = goal_of(1);
    skel_ik_desc d;
    skel_ik *ik;
    skel_ik_desc_init(&d), skel_error_init(&err);
    d.model = m, d.goals = &g, d.goal_count = 1;
    ck_assert_int_eq(skel_ik_create(&d, &ik, &err), SKEL_E_JOINT);
    ck_assert_msg(strstr(err.text, "joints[0].limits: the limits of 'joint 0' and of the joints"),
                  "%s", err.text);
    skel_model_destroy(m);
}
END_TEST

/* ---- joints of a goal ---- */

static int32_t body_named(const skel_model *m, const char *name) {
    const int32_t i = skel_model_find_body(m, name);
    ck_assert_int_ge(i, 0);
    return i;
}

/* The joints from `body` up to `root`, without those above it. Returns how many. */
static int joints_between(const skel_model *m, int32_t root, int32_t body, int32_t *out) {
    int n = 0;
    for (int32_t i = body; i != root; i = m->body[i].parent) out[n++] = m->body[i].joint;
    return n;
}

static int is_one_of(const int32_t *list, int n, int32_t joint) {
    for (int k = 0; k < n; ++k)
        if (list[k] == joint) return 1;
    return 0;
}

/* Joints whose coordinates differ in any bit are all of the list. Returns how many differ. */
static int only_these_moved(const skel_model *m, const double *a, const double *b,
                            const int32_t *list, int n) {
    int moved = 0;
    for (int32_t j = 0; j < m->nj; ++j) {
        const skel__joint *k = &m->joint[j];
        const size_t size = (size_t)skel__joint_nq(k->type) * sizeof *a;
        if (memcmp(a + k->q_offset, b + k->q_offset, size) == 0) continue;
        ck_assert_msg(is_one_of(list, n, j), "'%s' moved", k->name);
        ++moved;
    }
    return moved;
}

/* A hand and the head of the character; both where a random pose has them. */
typedef struct reach {
    scene s;
    skel_goal_desc g[2]; /* hand, head */
    int32_t arm[8], back[8];
    int in_arm, in_back;
    double q[MOST];
} reach;

/* The goals point into *x, so it must not be copied. */
static void reach_make(rng *r, reach *x) {
    memset(x, 0, sizeof *x);
    x->s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    const skel_model *m = x->s.model;
    const int32_t chest = body_named(m, "chest"), head = body_named(m, "head");
    const int32_t hand = body_named(m, "hand.L");
    double want[MOST], poses[7 * MOST];
    x->in_arm = joints_between(m, chest, hand, x->arm);
    x->in_back = joints_between(m, body_named(m, "pelvis"), head, x->back);
    skel_state_get_q(x->s.state, x->q);
    memcpy(want, x->q, sizeof want);
    for (int32_t j = 0; j < m->nj; ++j) {
        double *q = want + m->joint[j].q_offset;
        if (m->joint[j].type != SKEL_JOINT_BALL)
            for (int k = 0; k < skel__joint_nq(m->joint[j].type); ++k)
                q[k] = rng_range(r, 0.1, 0.9);
        else
            q_to(q_exp((v3){rng_range(r, -0.3, 0.3), rng_range(r, -0.3, 0.3),
                            rng_range(r, -0.2, 0.2)}),
                 q);
    }
    skel_fk(m, want, poses);
    x->g[0] = goal_of(hand), x->g[1] = goal_of(head);
    for (int k = 0; k < 2; ++k) {
        memcpy(x->g[k].position, poses + 7 * x->g[k].body, sizeof x->g[k].position);
        memcpy(x->g[k].orientation, poses + 7 * x->g[k].body + 3, sizeof x->g[k].orientation);
    }
    x->g[1].parts = SKEL_GOAL_ORIENTATION;
    x->g[0].joints = x->arm, x->g[0].joint_count = (uint32_t)x->in_arm;
    x->g[1].joints = x->back, x->g[1].joint_count = (uint32_t)x->in_back;
}

START_TEST(an_arm_does_not_bend_the_spine) {
    rng r = rng_seed((uint64_t)_i + 1);
    int reached = 0;
    for (int k = 0; k < 20; ++k) {
        reach x;
        reach_make(&r, &x);
        const skel_model *m = x.s.model;
        const int32_t mode = _i % 2;
        double alone[MOST], both[MOST], arm[MOST];
        memcpy(alone, x.q, sizeof alone), memcpy(both, x.q, sizeof both);
        memcpy(arm, x.q, sizeof arm);
        skel_ik *ik = make_in(m, &x.g[0], 1, mode); /* the hand alone: nothing but the arm moves */
        solve(ik, arm);
        ck_assert_int_gt(only_these_moved(m, x.q, arm, x.arm, x.in_arm), 0);
        skel_ik_destroy(ik);
        ik = make_in(m, &x.g[1], 1, mode); /* the head alone; then with the hand: the same bits */
        solve(ik, alone);
        ck_assert_int_gt(only_these_moved(m, x.q, alone, x.back, x.in_back), 0);
        skel_ik_destroy(ik);
        ik = make_in(m, x.g, 2, mode);
        const skel_ik_receipt receipt = solve(ik, both);
        only_these_moved(m, alone, both, x.arm, x.in_arm);
        double poses[7 * MOST], far, angle;
        skel_fk(m, both, poses);
        skel_ik_get_residual(ik, 0, &far, NULL);
        near1(v3_norm(v3_sub(v3_of(poses + 7 * x.g[0].body), v3_of(x.g[0].position))), far, 1e-12);
        skel_ik_get_residual(ik, 1, NULL, &angle);
        ck_assert_int_eq(receipt.reached, fmax(far, angle) <= 1e-5);
        ck_assert(limits_broken(m, both) <= 0);
        reached += receipt.reached;
        skel_ik_destroy(ik);
        scene_free(&x.s);
    }
    ck_assert_msg(reached >= 15, "%d of 20", reached);
}
END_TEST

/* Several frames: the spine is that of the head alone, in every one. */
START_TEST(masks_hold_while_tracking) {
    rng r = rng_seed(5);
    reach x;
    reach_make(&r, &x);
    double alone[MOST], both[MOST], target[3];
    skel_ik *one = make_in(x.s.model, &x.g[1], 1, SKEL_IK_TRACK);
    skel_ik *two = make_in(x.s.model, x.g, 2, SKEL_IK_TRACK);
    memcpy(alone, x.q, sizeof alone), memcpy(both, x.q, sizeof both);
    for (int k = 0; k < 60; ++k) {
        double turn[4];
        q_to(q_exp((v3){0.2 * sin(0.1 * k), 0.1 * sin(0.07 * k), 0.3 * sin(0.05 * k)}), turn);
        for (int a = 0; a < 3; ++a) target[a] = x.g[0].position[a] + 0.05 * sin(0.1 * k + a);
        skel_ik_set_target(one, 0, NULL, turn), skel_ik_set_target(two, 1, NULL, turn);
        skel_ik_set_target(two, 0, target, NULL);
        solve(one, alone);
        ck_assert_int_eq(solve(two, both).reached, 1);
        only_these_moved(x.s.model, alone, both, x.arm, x.in_arm);
    }
    skel_ik_destroy(one), skel_ik_destroy(two);
    scene_free(&x.s);
}
END_TEST

/* A chain is a list of joints that need not be written. */
START_TEST(chains_are_lists) {
    rng r = rng_seed(9);
    for (int k = 0; k < 8; ++k) {
        reach x;
        reach_make(&r, &x);
        const skel_model *m = x.s.model;
        double q[3][MOST];
        skel_goal_desc g[3] = {x.g[0], x.g[0], x.g[0]};
        g[1].joints = g[2].joints = NULL, g[1].joint_count = g[2].joint_count = 0;
        g[1].chain_root = body_named(m, "chest");
        g[2].chain_depth = x.in_arm;
        if (k % 2) g[1].chain_depth = 2, g[2].chain_depth = 2, g[0].joint_count = 2;
        for (int i = 0; i < 3; ++i) {
            memcpy(q[i], x.q, sizeof q[i]);
            skel_ik *ik = make_in(m, &g[i], 1, SKEL_IK_POSE);
            solve(ik, q[i]);
            skel_ik_destroy(ik);
        }
        ck_assert_int_eq(memcmp(q[0], q[1], (size_t)m->nq * sizeof(double)), 0);
        ck_assert_int_eq(memcmp(q[0], q[2], (size_t)m->nq * sizeof(double)), 0);
        ck_assert_int_gt(only_these_moved(m, x.q, q[0], x.arm, k % 2 ? 2 : x.in_arm), 0);
        scene_free(&x.s);
    }
}
END_TEST

/* Where goals share joints they are solved together: no column for what one may not move. */
START_TEST(masked_columns_are_zero) {
    rng r = rng_seed((uint64_t)_i + 2);
    reach x;
    reach_make(&r, &x);
    x.g[1].joints = NULL, x.g[1].joint_count = 0;
    x.g[1].kind = SKEL_GOAL_CENTRE, x.g[1].body = SKEL_WORLD,
    x.g[1].parts = SKEL_GOAL_X | SKEL_GOAL_Y;
    x.g[1].position[0] = 0.01, x.g[1].position[1] = -0.03;
    skel_ik *ik = make_in(x.s.model, x.g, 2, SKEL_IK_POSE);
    double q[MOST];
    memcpy(q, x.q, sizeof q);
    const skel_ik_receipt receipt = solve(ik, q);
    ck_assert_int_eq(ik->parts.count, 0);
    skel__ik_jacobian(ik, ik->size.rows);
    int zero = 0, some = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const int in_arm =
            is_one_of(x.arm, x.in_arm, ik->problem.node[ik->problem.column_node[c]].joint);
        for (int32_t k = 0; k < ik->size.tasks; ++k) {
            const skel__ik_task *t = &ik->problem.task[k];
            const double most =
                max_abs(ik->iterate.jacobian_t + c * ik->size.rows + t->row, (size_t)t->rows);
            if (t->goal == 0 && !in_arm) ck_assert(most == 0), ++zero;
            if (t->goal == 0 && in_arm) some += most > 0;
            if (t->goal == 1) some += most > 0;
        }
    }
    ck_assert_int_gt(zero, 20);
    ck_assert_int_gt(some, 20);
    ck_assert_msg(receipt.reached, "off by %g", receipt.residual);
    skel_ik_destroy(ik);
    scene_free(&x.s);
}
END_TEST

/* A finger is named, its leader has to move: they are one. */
START_TEST(masks_take_followers_along) {
    skel_model *m = arm_with_gripper(2, 1);
    for (int named = 0; named < 2; ++named) {
        const int32_t list[1] = {named ? 5 : 4}, moved[2] = {4, 5};
        skel_goal_desc g = goal_of(7);
        double start[8] = {0, 0.2, 0, 0.1, 0, 0, 0.01, 0.01}, q[8], want[8], poses[56];
        skel_model_apply_mimic(m, start);
        memcpy(want, start, sizeof want);
        want[4] = 0.6, want[5] = 0.3;
        skel_fk(m, want, poses);
        memcpy(g.position, poses + 49, sizeof g.position);
        g.joints = list, g.joint_count = 1;
        skel_ik *ik = make_in(m, &g, 1, SKEL_IK_POSE);
        memcpy(q, start, sizeof q);
        ck_assert_int_eq(solve(ik, q).reached, 1);
        ck_assert_int_eq(only_these_moved(m, start, q, moved, 2), 2);
        near(q, want, 8, 1e-3);
        skel_ik_destroy(ik);
    }
    skel_model_destroy(m);
}
END_TEST

/* A free root moves for the goals that name it. */
START_TEST(roots_are_named_too) {
    for (int named = 0; named < 2; ++named) {
        scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
        const skel_model *m = s.model;
        const int32_t hand = body_named(m, "hand.L"), pelvis = body_named(m, "pelvis");
        int32_t list[2] = {m->body[hand].joint, SKEL_WORLD};
        skel_goal_desc g = goal_of(hand);
        double q[MOST], start[MOST], before[7 * MOST], poses[7 * MOST];
        skel_state_get_q(s.state, q), skel_state_get_poses(s.state, before);
        memcpy(start, q, sizeof q);
        g.joints = list, g.joint_count = named ? 2 : 1;
        for (int a = 0; a < 3; ++a) g.position[a] = before[7 * hand + a] + 0.7;
        skel_ik_desc d;
        skel_ik *ik;
        skel_ik_desc_init(&d);
        d.model = m, d.goals = &g, d.goal_count = 1, d.root = SKEL_IK_ROOT_MOVES;
        ck_assert_int_eq(skel_ik_create(&d, &ik, NULL), SKEL_OK);
        ck_assert_int_eq(solve(ik, q).reached, named);
        only_these_moved(m, start, q, list, 1);
        skel_ik_get_poses(ik, poses);
        ck_assert_int_eq(memcmp(poses + 7 * pelvis, before + 7 * pelvis, 7 * sizeof *poses) == 0,
                         !named);
        skel_ik_destroy(ik);
        scene_free(&s);
    }
}
END_TEST

/* Each hand in the other's axes, an arm each: they move each other, and settle. */
START_TEST(parts_that_move_each_other) {
    scene s = scene_humanoid((humanoid_options){0});
    const skel_model *m = s.model;
    const int32_t chest = body_named(m, "chest"),
                  hand[2] = {body_named(m, "hand.L"), body_named(m, "hand.R")};
    skel_goal_desc g[2];
    double q[MOST], poses[7 * MOST], angle;
    skel_state_get_q(s.state, q);
    g[0] = goal_of(hand[0]), g[1] = goal_of(hand[1]);
    g[0].relative_to = hand[1], g[0].parts = SKEL_GOAL_Z, g[0].position[2] = 0.4;
    g[0].chain_root = chest;
    g[1].kind = SKEL_GOAL_AIM, g[1].relative_to = hand[0], g[1].chain_root = chest;
    g[1].axis[2] = 1;
    skel_ik *ik = make_in(m, g, 2, SKEL_IK_POSE);
    ck_assert_int_eq(ik->parts.count, 2);
    const skel_ik_receipt receipt = solve(ik, q);
    ck_assert_msg(receipt.reached, "off by %g", receipt.residual);
    skel_fk(m, q, poses);
    const double *a = poses + 7 * hand[0], *b = poses + 7 * hand[1];
    skel_ik_get_residual(ik, 1, NULL, &angle);
    const v3 way = v3_sub(v3_of(a), v3_of(b)), axis = q_rotate(q_of(b + 3), (v3){0, 0, 1});
    near1(atan2(v3_norm(v3_cross(axis, way)), v3_dot(axis, way)), angle, 1e-9);
    near1(v3_dot(axis, way), 0.4, 1e-5);
    skel_ik_destroy(ik);
    scene_free(&s);
}
END_TEST

static void goal_refused(const skel_model *m, const skel_goal_desc *g, const char *part) {
    skel_ik_desc d;
    skel_ik *ik = NULL;
    skel_error err;
    skel_ik_desc_init(&d), skel_error_init(&err);
    d.model = m, d.goals = g, d.goal_count = 1;
    ck_assert_int_eq(skel_ik_create(&d, &ik, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_null(ik);
    ck_assert_msg(strstr(err.text, part) != NULL, "'%s' does not say '%s'", err.text, part);
}

START_TEST(wrong_joints_are_refused_by_name) {
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    const skel_model *m = s.model;
    const int32_t list[2] = {0, 99};
    skel_goal_desc g = goal_of(body_named(m, "hand.L")), h;
    h = g, h.joint_count = 1, goal_refused(m, &h, "goals[0].joints: must be given");
    h = g, h.joints = list, goal_refused(m, &h, "goals[0].joints: must be given");
    h.joint_count = 2, goal_refused(m, &h, "goals[0].joints[1]: is 99");
    h = g, h.chain_depth = -1, goal_refused(m, &h, "goals[0].chain_depth");
    h = g, h.chain_root = 99, goal_refused(m, &h, "goals[0].chain_root");
    h = g, h.chain_root = g.body, goal_refused(m, &h, "goals[0].chain_root");
    h = g, h.chain_root = body_named(m, "foot.L"), goal_refused(m, &h, "goals[0].chain_root");
    h = g, h.kind = SKEL_GOAL_CENTRE, h.chain_depth = 1;
    goal_refused(m, &h, "goals[0].chain_depth, chain_root: a centre of mass");
    scene_free(&s);
}
END_TEST

/* ---- what stands still ---- */

static v3 point_of(const double *poses, int32_t body, const double point[3]) {
    if (body < 0) return v3_of(point);
    const double *x = poses + 7 * body;
    return v3_add(v3_of(x), q_rotate(q_of(x + 3), v3_of(point)));
}

#define BLUR 3e-12 /* m: points by rounding, some tens of metres away */

/* How far the elbow at m is from the plane of the pole p, along the arc about the line a b; and by
   what that turns where points move by one unit: much where the pole is close to the line. */
static double arc_of(v3 a, v3 b, v3 m, v3 p, double *blur) {
    const v3 line = v3_sub(b, a);
    const double n = v3_norm(line);
    *blur = 0;
    if (!(n > 0)) return 0;
    const v3 u = v3_scale(line, 1 / n), w = v3_sub(m, a), s = v3_sub(p, a);
    const v3 wx = v3_mad(w, -v3_dot(u, w), u), sx = v3_mad(s, -v3_dot(u, s), u);
    const double far = v3_norm(wx);
    if (!(far > 1e-12 && v3_norm(sx) > 1e-12)) return 0;
    *blur = (1 + far / v3_norm(sx)) * (1 + (v3_norm(w) + v3_norm(s)) / n);
    return far * atan2(fabs(v3_dot(u, v3_cross(wx, sx))), v3_dot(wx, sx));
}

/* Distance and angle that the goal is off by, from nothing but the poses, and the error of the
   distance by rounding. */
static double judge(const skel_model *m, const double *poses, const skel_goal_desc *g, double *far,
                    double *angle) {
    static const double world[7] = {0, 0, 0, 1, 0, 0, 0};
    const double *to = g->relative_to >= 0 ? poses + 7 * g->relative_to : world;
    const v3 target = v3_add(v3_of(to), q_rotate(q_of(to + 3), v3_of(g->position)));
    const v3 at = g->kind == SKEL_GOAL_CENTRE ? target : point_of(poses, g->body, g->point);
    double d[3], blur = 1;
    *far = *angle = 0;
    if (g->kind == SKEL_GOAL_AIM) {
        const double n = v3_norm(v3_sub(target, at));
        const v3 u = n > 0 ? v3_scale(v3_sub(target, at), 1 / n) : (v3){0, 0, 1};
        const v3 axis = q_rotate(q_of(poses + 7 * g->body + 3), v3_of(g->axis));
        *angle = atan2(v3_norm(v3_cross(axis, u)), v3_dot(axis, u));
    } else if (g->kind == SKEL_GOAL_POLE) {
        *far = arc_of(point_of(poses, g->from, g->from_point), point_of(poses, g->to, g->to_point),
                      at, target, &blur);
    } else {
        v3 place = at;
        double mass = 0;
        if (g->kind == SKEL_GOAL_CENTRE) {
            v3 sum = {0, 0, 0};
            for (int32_t i = 0; i < m->nb; ++i) {
                if (!skel__is_dynamic(m, i)) continue;
                mass += m->body[i].mass;
                sum = v3_mad(sum, m->body[i].mass, v3_of(poses + 7 * i));
            }
            place = v3_scale(sum, 1 / mass);
        }
        v3_to(q_rotate(q_conj(q_of(to + 3)), v3_sub(target, place)), d);
        for (int a = 0; a < 3; ++a)
            if (g->parts >> a & 1) *far = hypot(*far, d[a]);
        if (g->kind != SKEL_GOAL_PLACE || !(g->parts & SKEL_GOAL_ORIENTATION)) return BLUR;
        const quat turn = q_mul(q_of(poses + 7 * g->body + 3), q_of(g->frame));
        const quat want = q_mul(q_of(to + 3), q_unit(q_of(g->orientation)));
        *angle = v3_norm(q_log(q_mul(want, q_conj(turn))));
    }
    return BLUR * blur;
}

/* A four-bar linkage that closes at the world, said either way round. */
START_TEST(loops_close_at_the_world) {
    for (int turned = 0; turned < 2; ++turned) {
        parts p = {.nb = 3, .nj = 4};
        for (int i = 0; i < 4; ++i) { /* 0 1 up, 1 to the right, 2 down to x = 1 */
            static const double centre[3][3] = {{0, 0, 0.5}, {0.5, 0, 1}, {1, 0, 0.5}};
            static const double at[4][3] = {{0, 0, 0}, {0, 0, 1}, {1, 0, 1}, {1, 0, 0}};
            skel_joint_desc *j = &p.joint[i];
            skel_joint_desc_init(j);
            j->type = SKEL_JOINT_HINGE, j->parent = i - 1, j->child = i < 3 ? i : SKEL_WORLD;
            if (i == 3 && turned) j->parent = SKEL_WORLD, j->child = 2;
            j->parent_orientation[0] = j->child_orientation[0] = H;
            j->parent_orientation[1] = j->child_orientation[1] = H; /* about y */
            for (int a = 0; a < 3; ++a) {
                j->parent_position[a] = at[i][a] - (j->parent < 0 ? 0 : centre[j->parent][a]);
                j->child_position[a] = at[i][a] - (j->child < 0 ? 0 : centre[j->child][a]);
            }
            if (i == 3) continue;
            skel_body_desc_init(&p.body[i]);
            memcpy(p.body[i].position, centre[i], sizeof centre[i]);
        }
        skel_model *m = assembled(&p);
        skel_goal_desc g = goal_of(1);
        double q[4] = {0}, poses[21];
        g.position[0] = 0.5 + sin(0.4), g.position[2] = cos(0.4);
        skel_ik *ik = make_in(m, &g, 1, SKEL_IK_POSE);
        ck_assert_int_eq(solve(ik, q).reached, 1);
        skel_ik_get_poses(ik, poses);
        const v3 end = point_of(poses, 2, (double[3]){0, 0, -0.5});
        near1(v3_norm(v3_sub(end, (v3){1, 0, 0})), 0, 1e-5);
        near1(fabs(q[0]), 0.4, 1e-4);
        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
}
END_TEST

/* The centre of mass, where a part of it is welded to the world and to a root that was moved. */
START_TEST(what_is_welded_has_its_mass_where_it_is) {
    for (int fixed = 0; fixed < 2; ++fixed) {
        parts p = {.nb = 3, .nj = 2};
        for (int i = 0; i < 3; ++i) {
            skel_body_desc_init(&p.body[i]);
            p.body[i].mass = 1 + i, p.body[i].position[0] = i, p.body[i].position[1] = 1;
            for (int a = 0; a < 3; ++a) p.body[i].inertia[a] = 1;
        }
        if (!fixed) p.body[0].motion = SKEL_MOTION_FIXED;
        for (int i = 0; i < 2; ++i) {
            skel_joint_desc *j = &p.joint[i];
            skel_joint_desc_init(j);
            j->type = i ? SKEL_JOINT_SLIDE : SKEL_JOINT_FIXED;
            j->parent = i, j->child = i + 1;
            j->parent_position[0] = 1;
        }
        if (fixed) { /* all hangs from the world by a weld */
            p.joint[0].parent = SKEL_WORLD, p.joint[0].child = 0;
            p.joint[0].parent_position[0] = 0, p.joint[0].parent_position[1] = 1;
            p.joint[1].parent = 0, p.joint[1].parent_position[0] = 2, p.nb = 3;
            p.body[1].motion = SKEL_MOTION_FIXED;
        }
        skel_model *m = assembled(&p);
        skel_goal_desc g = goal_of(SKEL_WORLD);
        double q[4] = {0}, poses[21], far, angle, moved[21];
        g.kind = SKEL_GOAL_CENTRE, g.position[2] = 0.3, g.parts = SKEL_GOAL_POSITION;
        skel_ik *ik = make_in(m, &g, 1, SKEL_IK_POSE);
        skel_fk(m, q, moved);
        for (int i = 0; i < 3; ++i) moved[7 * i + 1] += 2; /* only roots are looked at */
        for (int turn = 0; turn < 2; ++turn) {
            if (turn) ck_assert_int_eq(skel_ik_set_roots(ik, moved), SKEL_OK);
            solve(ik, q);
            skel_ik_get_poses(ik, poses);
            double want, none;
            judge(m, poses, &g, &want, &none);
            skel_ik_get_residual(ik, 0, &far, &angle);
            near1(far, want, 1e-12);
        }
        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
}
END_TEST

/* ---- anything goes ---- */

/* Limits on some joints, wide and narrow, some a single place, some that leave out the pose. */
static void add_limits(rng *r, parts *p) {
    for (int j = 0; j < p->nj; ++j) {
        skel_joint_desc *d = &p->joint[j];
        d->limits.is_set = d->type != SKEL_JOINT_FIXED && rng_int(r, 2);
        if (!d->limits.is_set) continue;
        for (int k = 0; k < 2; ++k) {
            const double a = rng_range(r, -2, 2), b = rng_int(r, 8) ? rng_range(r, -2, 2) : a;
            d->limits.low[k] = fmin(a, b), d->limits.high[k] = fmax(a, b);
        }
        if (d->type == SKEL_JOINT_BALL) d->limits.high[1] += 0.01; /* no place is as exact */
        if (d->type == SKEL_JOINT_BALL)
            d->limits.low[0] = 0, d->limits.high[0] = rng_range(r, 0.01, 3);
    }
}

static skel_goal_desc any_goal(rng *r, const skel_model *m, int32_t *list) {
    const int32_t nb = m->nb;
    skel_goal_desc g = random_place(r, nb, rng_int(r, 2));
    g.kind = rng_int(r, 4);
    g.weight = rng_int(r, 6) ? rng_range(r, 0.1, 5) : 0;
    g.priority = rng_int(r, 3);
    if (g.kind == SKEL_GOAL_PLACE) g.parts = 1u + (uint32_t)rng_int(r, 15);
    if (g.kind == SKEL_GOAL_CENTRE) g.body = SKEL_WORLD, g.parts = 1u + (uint32_t)rng_int(r, 7);
    if (rng_int(r, 3) == 0) g.relative_to = rng_int(r, nb);
    g.from = rng_int(r, nb + 1) - 1, g.to = rng_int(r, nb + 1) - 1;
    for (int a = 0; a < 3; ++a) {
        g.axis[a] = rng_range(r, -1, 1);
        g.from_point[a] = rng_range(r, -0.3, 0.3), g.to_point[a] = rng_range(r, -0.3, 0.3);
        if (rng_int(r, 10) == 0) g.position[a] *= 100;
    }
    if (m->nj > 0 && rng_int(r, 2)) {
        g.joints = list, g.joint_count = 1u + (uint32_t)rng_int(r, 4);
        for (uint32_t k = 0; k < g.joint_count; ++k) list[k] = rng_int(r, m->nj + 1) - 1;
    }
    if (g.kind == SKEL_GOAL_CENTRE || rng_int(r, 3)) return g;
    g.chain_depth = rng_int(r, 3);
    for (int32_t i = m->body[g.body].parent; i >= 0 && rng_int(r, 2); i = m->body[i].parent)
        g.chain_root = i;
    return g;
}

/* Trees, goals of all kinds, priorities, masks, mimics, limits, roots, postures, speeds: whatever
   comes out is within the limits, obeys, and the receipt is what is measured again. */
static void try_anything(rng *r, int k) {
    parts p;
    int32_t list[4][4];
    skel_goal_desc g[4];
    double q[MOST], stiff[MOST], steps[MOST], posture[MOST], poses[7 * MOST], off[8];
    scene s = scene_random_tree(r, (scene_options){.bodies = 1 + rng_int(r, 10), .root = k % 4});
    take_apart(s.model, &p);
    add_mimics(r, &p);
    add_limits(r, &p);
    skel_model *m = assembled(&p);
    skel_ik_desc d;
    skel_ik *ik;
    skel_error err;
    skel_ik_desc_init(&d), skel_error_init(&err);
    d.model = m, d.goals = g, d.goal_count = 1u + (uint32_t)rng_int(r, 4);
    for (uint32_t i = 0; i < d.goal_count; ++i) g[i] = any_goal(r, m, list[i]);
    for (int i = 0; i < m->nv; ++i)
        stiff[i] = rng_int(r, 4) ? 0 : rng_range(r, 0, 1), steps[i] = rng_int(r, 3) ? 0 : 0.2;
    skel_state_get_q(s.state, q), skel_state_get_q(s.state, posture);
    d.mode = k / 4 % 2, d.root = rng_int(r, 3), d.max_restarts = 3;
    d.stiffness = rng_int(r, 3) ? NULL : stiff, d.max_step = rng_int(r, 3) ? NULL : steps;
    d.posture = rng_int(r, 4) ? NULL : posture;
    const skel_status status = skel_ik_create(&d, &ik, &err);
    if (status != SKEL_OK) { /* only this may be wrong with it */
        ck_assert_msg(strstr(err.text, "mimic it must overlap") || strstr(err.text, "mass"), "%s",
                      err.text);
    }
    for (int frame = 0; status == SKEL_OK && frame < 4; ++frame) {
        for (uint32_t i = 0; i < d.goal_count; ++i) {
            for (int a = 0; a < 3; ++a) g[i].position[a] += 0.05;
            skel_ik_set_target(ik, (int32_t)i, g[i].position, NULL);
        }
        const skel_ik_receipt receipt = solve(ik, q);
        double most = 0;
        skel_ik_get_poses(ik, poses);
        for (int i = 0; i < m->nq; ++i) ck_assert(isfinite(q[i]));
        ck_assert(isfinite(max_abs(poses, 7 * (size_t)m->nb)));
        for (uint32_t i = 0; i < d.goal_count; ++i) {
            skel_goal_desc unit = g[i];
            v3_to(v3_scale(v3_of(g[i].axis), 1 / v3_norm(v3_of(g[i].axis))), unit.axis);
            const double blur = judge(m, poses, &unit, &off[0], &off[1]);
            skel_ik_get_residual(ik, (int32_t)i, &off[2], &off[3]);
            near1(off[0], off[2], blur * (1 + off[0]));
            near1(off[1], off[3], 1e-7);
            most = fmax(most, fmax(off[2], off[3]));
        }
        near1(receipt.residual, most, 1e-12 * (1 + most));
        ck_assert_int_eq(receipt.reached, receipt.residual <= 1e-5);
        ck_assert(isfinite(receipt.smallest_singular_value));
        skel__mimic_apply(m, memcpy(posture, q, sizeof q));
        ck_assert_int_eq(memcmp(posture, q, (size_t)m->nq * sizeof *q), 0);
        for (int32_t i = 0; i < ik->size.nodes; ++i) { /* of all that the goals have to do with */
            const skel__ik_node *n = &ik->problem.node[i];
            const skel__joint *j = n->joint >= 0 ? &m->joint[n->joint] : NULL;
            double c[2];
            if (!j || !j->limits.is_set || (n->source >= 0 && n->mimic_factor == 0)) continue;
            const int32_t count = skel__joint_coordinates(j, q + j->q_offset, c);
            for (int32_t l = 0; l < count; ++l) {
                const double x = j->type == SKEL_JOINT_BALL ? c[l] : q[j->q_offset + l];
                const int is_one = n->source >= 0 && j->limits.low[l] == j->limits.high[l];
                const double slack = is_one ? 1e-14 : 0; /* no product hits a place exactly */
                ck_assert_msg(x <= j->limits.high[l] + slack, "joint %d: %.17g", n->joint, x);
                if (j->type != SKEL_JOINT_BALL || l) ck_assert(x >= j->limits.low[l] - slack);
            }
        }
    }
    if (status == SKEL_OK) skel_ik_destroy(ik);
    skel_model_destroy(m);
    scene_free(&s);
}

/* ---- slides without limits ---- */

/* Poses of the tip that the chain has somewhere with its base within `around` of zero, from there:
   how many are not reached. */
static int missed_on_base(const chain *c, int on_base, double around, int count) {
    skel_goal_desc g = chain_goal(c);
    skel_ik *ik = make_in(c->model, &g, 1, SKEL_IK_POSE);
    rng r = rng_seed(7);
    int missed = 0;
    for (int k = 0; k < count; ++k) {
        double q[CHAIN_MAX], target[7];
        chain_random(c, &r, q);
        for (int i = 0; i < on_base; ++i)
            q[i] = rng_range(&r, -1, 1) * (c->slides[i] ? around : 3.14159);
        chain_tip(c, q, target);
        skel_ik_set_target(ik, 0, target, target + 3);

        chain_middle(c, q);
        missed += !solve(ik, q).reached;
        ck_assert(limits_broken(c->model, q) <= 0);
    }
    skel_ik_destroy(ik);
    return missed;
}

/* Limits of +-1e6 m are how URDF writes "no limit". Whatever stands there, a mobile arm reaches
   what it can reach. */
START_TEST(limits_beyond_the_reach_are_none) {
    static const double limit[] = {6, 1e4, 1e6, 1e12};
    chain *c;
    const int count = chains_load(&c);
    for (int i = 0; i < count; ++i) {
        if (strcmp(c[i].name, "franka_panda") != 0 && strcmp(c[i].name, "ur5") != 0) continue;
        for (int turns = 0; turns < 2; ++turns) {
            chain on;
            chain_on_base(&c[i], turns, turns ? 1 : 2, limit[_i], &on);
            for (double far = 1; far <= fmin(limit[_i], 1000); far *= 5.5)
                ck_assert_int_eq(missed_on_base(&on, 2, far, 60), 0);
            skel_model_destroy(on.model);
        }
    }
    chains_free(c, count);
}
END_TEST

START_TEST(anything_goes) {
    rng r = rng_seed((uint64_t)_i + 100);
    for (int k = 0; k < 125; ++k) try_anything(&r, k);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ik_joints");
    TCase *c = tcase_create("laws");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, poses_obey, 0, 3);
    tcase_add_loop_test(c, jacobians_are_the_derivative, 0, 3);
    tcase_add_loop_test(c, derivatives_of_goals, 0, 3);
    tcase_add_loop_test(c, grippers_reach_what_they_can, 0, 6);
    tcase_add_test(c, limits_of_followers_hold_the_leader);
    tcase_add_test(c, wrong_mimics_are_refused_by_name);
    tcase_add_loop_test(c, an_arm_does_not_bend_the_spine, 0, 4);
    tcase_add_test(c, masks_hold_while_tracking);
    tcase_add_test(c, chains_are_lists);
    tcase_add_loop_test(c, masked_columns_are_zero, 0, 4);
    tcase_add_test(c, masks_take_followers_along);
    tcase_add_test(c, roots_are_named_too);
    tcase_add_test(c, parts_that_move_each_other);
    tcase_add_test(c, wrong_joints_are_refused_by_name);
    tcase_add_test(c, loops_close_at_the_world);
    tcase_add_test(c, what_is_welded_has_its_mass_where_it_is);
    tcase_add_loop_test(c, limits_beyond_the_reach_are_none, 0, 4);
    tcase_add_loop_test(c, anything_goes, 0, 8);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
