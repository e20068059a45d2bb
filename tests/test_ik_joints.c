/* SPDX-License-Identifier: BSD-3-Clause */
/* Which joints move: those that go with others (mimic). Judged by models without mimic, whose q are
   made to obey here, by arithmetic of our own. */
#include "shared/near.h"
#include "shared/scenes.h"
#include "solve/ik.h"

#include <string.h>

#define MOST 256
#define H 0.70710678118654752440

static skel_goal_desc goal_of(int32_t body) {
    skel_goal_desc g;
    skel_goal_desc_init(&g);
    g.body = body;
    return g;
}

static skel_ik *make(const skel_model *m, const skel_goal_desc *g, uint32_t count, int32_t mode) {
    skel_ik     *ik;
    skel_error   err;
    skel_ik_desc d;
    skel_ik_desc_init(&d);
    skel_error_init(&err);
    d.model = m, d.goals = g, d.goal_count = count, d.mode = mode;
    ck_assert_msg(skel_ik_create(&d, &ik, &err) == SKEL_OK, "%s", err.text);
    return ik;
}

static skel_ik_receipt solve(skel_ik *ik, double *q) {
    skel_ik_receipt r = {.struct_size = sizeof r};
    ck_assert_int_eq(skel_ik_solve(ik, q, &r, NULL), SKEL_OK);
    return r;
}

/* The bodies and joints of a model, to be changed and made again. */
typedef struct parts {
    skel_body_desc  body[MOST];
    skel_joint_desc joint[MOST];
    int             nb, nj;
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
    skel_error  err;
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
        j->mimic            = order[rng_int(r, i)];
        j->mimic_multiplier = rng_range(r, -2, 2), j->mimic_offset = rng_range(r, -0.5, 0.5);
        ++count;
    }
    return count;
}

/* q of joint j, by asking whom it goes with, again and again. */
static double own_q(const parts *p, const skel_model *m, const double *q, int j) {
    const skel_joint_desc *d = &p->joint[j];
    if (d->mimic < 0) return q[skel_model_joint_q_offset(m, j)];
    return d->mimic_multiplier * own_q(p, m, q, d->mimic) + d->mimic_offset;
}

static void make_obey(const parts *p, const skel_model *m, double *q) {
    double out[MOST];
    memcpy(out, q, sizeof out);
    for (int j = 0; j < p->nj; ++j)
        if (p->joint[j].mimic >= 0) out[skel_model_joint_q_offset(m, j)] = own_q(p, m, q, j);
    memcpy(q, out, sizeof out);
}

/* A random tree, and the same with mimics; a q for both that does not obey. */
typedef struct pair {
    scene       plain;
    parts       p;
    skel_model *m;
    int         mimics;
    double      q[MOST];
} pair;

static void pair_make(rng *r, int bodies, int root, pair *out) {
    memset(out, 0, sizeof *out);
    out->plain = scene_random_tree(r, (scene_options){.bodies     = bodies,
                                                      .root       = root,
                                                      .joint_mask = 1 << SKEL_JOINT_HINGE |
                                                                    1 << SKEL_JOINT_SLIDE |
                                                                    1 << SKEL_JOINT_BALL});
    take_apart(out->plain.model, &out->p);
    out->mimics = add_mimics(r, &out->p);
    out->m      = assembled(&out->p);
    skel_state_get_q(out->plain.state, out->q);
}

static void pair_free(pair *p) {
    skel_model_destroy(p->m);
    scene_free(&p->plain);
}

/* ---- kinematics ---- */

START_TEST(poses_obey) {
    rng r    = rng_seed((uint64_t)_i + 1);
    int some = 0;
    for (int k = 0; k < 60; ++k) {
        pair        p;
        double      q[MOST] = {0}, poses[7 * MOST], want[7 * MOST], back[MOST];
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
            double        factor = 0, offset = 0;
            const int32_t lead = skel_model_joint_leader(p.m, j, &factor, &offset);
            ck_assert_int_eq(lead >= 0, p.p.joint[j].mimic >= 0);
            if (lead < 0) continue;
            ck_assert_int_eq(skel_model_joint_leader(p.m, lead, NULL, NULL), -1);
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
        pair   p;
        double q[MOST], poses[7 * MOST], jacobian[6 * MOST], point[3] = {0.1, -0.2, 0.3};
        pair_make(&r, 3 + rng_int(&r, 12), k % 4, &p);
        const skel_model *m    = p.m;
        const int32_t     body = rng_int(&r, m->nb);
        skel_fk(m, p.q, poses);
        ck_assert_int_eq(skel_jacobian(m, poses, body, point, jacobian), SKEL_OK);
        for (int j = 0; j < m->nj; ++j) {
            if (!moves_one_way(&p.p.joint[j])) continue;
            const double h = 1e-5;
            double       at[2][7 * MOST], want[6], got[6];
            for (int side = 0; side < 2; ++side) {
                memcpy(q, p.q, sizeof q);
                q[m->joint[j].q_offset] += side ? h : -h;
                skel_fk(m, q, at[side]);
            }
            const double *a = at[0] + 7 * body, *b = at[1] + 7 * body;
            const v3      pa = v3_add(v3_of(a), q_rotate(q_of(a + 3), v3_of(point)));
            const v3      pb = v3_add(v3_of(b), q_rotate(q_of(b + 3), v3_of(point)));
            v3_to(v3_scale(v3_sub(pb, pa), 0.5 / h), want);
            v3_to(v3_scale(q_log(q_mul(q_of(b + 3), q_conj(q_of(a + 3)))), 0.5 / h), want + 3);
            for (int row = 0; row < 6; ++row)
                got[row] = jacobian[row * m->nv + m->joint[j].v_offset];
            near(got, want, 6, 1e-8);
            if (p.p.joint[j].mimic >= 0) ck_assert(max_abs(got, 6) == 0);
        }
        pair_free(&p);
    }
}
END_TEST

/* ---- inverse kinematics ---- */

static double cost_at(skel_ik *ik, const double *y) {
    double x[MOST];
    skel__ik_move(ik, ik->x, y, x);
    return 0.5 * skel__ik_errors(ik, x, ik->rows);
}

/* A place in the world for a random body; k says which parts. */
static skel_goal_desc random_place(rng *r, int32_t nb, int k) {
    skel_goal_desc g = goal_of(rng_int(r, nb));
    g.parts          = 7u + 8u * (unsigned)(k % 2);
    for (int a = 0; a < 3; ++a)
        g.position[a] = rng_range(r, -1, 1), g.point[a] = rng_range(r, -0.3, 0.3);
    for (int a = 0; a < 4; ++a) g.orientation[a] = rng_range(r, -1, 1) + (a == 0 ? 1e-3 : 0);
    return g;
}

/* Gradient and Hessian of the goals against differences of the errors. */
START_TEST(derivatives_of_goals) {
    rng r    = rng_seed((uint64_t)_i + 11);
    int some = 0;
    for (int k = 0; k < 30; ++k) {
        pair           p;
        skel_goal_desc g[2];
        double         y[MOST] = {0};
        pair_make(&r, 6, k % 3, &p);
        for (int i = 0; i < 2; ++i) g[i] = random_place(&r, p.m->nb, k);
        skel_ik *ik = make(p.m, g, 2, SKEL_IK_POSE);
        memcpy(ik->x, p.q, (size_t)p.m->nq * sizeof(double));
        skel__mimic_apply(p.m, ik->x);
        for (int32_t c = 0; c < ik->n; ++c) ik->low[c] = -INFINITY, ik->high[c] = INFINITY;
        for (int32_t i = 0; i < ik->nn; ++i) ik->node[i].has_cone = 0;
        some += ik->nc - ik->n;
        skel__ik_errors(ik, ik->x, ik->rows);
        skel__ik_jacobian(ik, ik->rows);
        skel__ik_hessian(ik, ik->rows);
        for (int i = 0; i < ik->n; ++i) {
            double       slope = 0;
            const double tiny = 1e-5, h = 1e-4;
            for (int row = 0; row < ik->rows; ++row)
                slope -= ik->jt[i * ik->rows + row] * ik->e[row];
            y[i]            = tiny;
            const double up = cost_at(ik, y);
            y[i]            = -tiny;
            near1((up - cost_at(ik, y)) / (2 * tiny), slope, 3e-8 * (1 + fabs(slope)));
            y[i] = 0;
            for (int j = 0; j <= i; ++j) {
                double v[4];
                for (int c = 0; c < 4; ++c) {
                    y[i] += c & 1 ? h : -h, y[j] += c & 2 ? h : -h;
                    v[c] = cost_at(ik, y);
                    y[i] = y[j] = 0;
                }
                const double want = ik->h[i * ik->n + j];
                near1((v[3] - v[1] - v[2] + v[0]) / (4 * h * h), want, 2e-6 * (1 + fabs(want)));
            }
            skel__ik_errors(ik, ik->x, ik->rows); /* places are those of x again */
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
    parts               p          = {.nb = 8, .nj = 8};
    for (int i = 0; i < 8; ++i) {
        skel_body_desc_init(&p.body[i]), skel_joint_desc_init(&p.joint[i]);
        p.body[i].unplaced = 1;
        skel_joint_desc *j = &p.joint[i];
        j->type            = i < 6 ? SKEL_JOINT_HINGE : SKEL_JOINT_SLIDE;
        j->parent = i == 0 ? SKEL_WORLD : i < 6 ? i - 1 : 5, j->child = i;
        if (i < 6) memcpy(j->parent_orientation, axes[i], sizeof axes[i]);
        if (i < 6) memcpy(j->child_orientation, axes[i], sizeof axes[i]);
        j->parent_position[2] = i == 0 ? 0 : 0.3;
        j->has_limits = limits, j->limit_low[0] = i < 6 ? -2 : 0,
        j->limit_high[0] = i < 6 ? 2 : 0.05;
    }
    p.joint[7].child_orientation[0] = 0, p.joint[7].child_orientation[1] = 1; /* the other way */
    p.joint[7].parent_orientation[0] = 0, p.joint[7].parent_orientation[1] = 1;
    p.joint[7].mimic = 6;
    if (mimics > 0)
        p.joint[3].mimic = 1, p.joint[3].mimic_multiplier = -1, p.joint[3].mimic_offset = 0.3;
    if (mimics > 1) p.joint[5].mimic = 4, p.joint[5].mimic_multiplier = 0.5;
    return assembled(&p);
}

static void within(const skel_model *m, const double *q) {
    for (int32_t j = 0; j < m->nj; ++j) {
        const skel__joint *k = &m->joint[j];
        const double       x = q[k->q_offset];
        ck_assert_msg(x >= k->limit_low[0] && x <= k->limit_high[0], "joint %d: %.17g", j, x);
        if (k->lead >= 0)
            ck_assert(x == k->lead_factor * q[m->joint[k->lead].q_offset] + k->lead_offset);
    }
}

/* Whatever q gives, q finds: the point of a finger (and its axes, where the arm can have them). */
START_TEST(grippers_reach_what_they_can) {
    rng         r       = rng_seed((uint64_t)_i + 3);
    const int   mimics  = _i % 3;
    skel_model *m       = arm_with_gripper(mimics, 1);
    int         reached = 0;
    for (int mode = 0; mode < 2; ++mode) {
        skel_goal_desc g = goal_of(7);
        g.point[2]       = 0.02;
        g.parts          = mode ? SKEL_GOAL_POSITION : SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION;
        skel_ik *ik      = make(m, &g, 1, SKEL_IK_POSE);
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
        p.joint[i].has_limits = 1, p.joint[i].limit_low[0] = -1, p.joint[i].limit_high[0] = 1;
    }
    p.joint[1].mimic = 0, p.joint[1].mimic_multiplier = -3, p.joint[1].mimic_offset = 0.1;
    skel_model    *m  = assembled(&p);
    skel_goal_desc g  = goal_of(0);
    skel_ik       *ik = make(m, &g, 1, SKEL_IK_POSE);
    for (int side = 0; side < 2; ++side) {
        const double target[3] = {0, 0, side ? 5 : -5}, most = side ? 1.1 / 3 : -0.3;
        double       q[2] = {0, 0.7};
        skel_ik_set_target(ik, 0, target, NULL);
        const skel_ik_receipt r = solve(ik, q);
        near1(q[0], most, 1e-12);
        ck_assert(q[1] == -3 * q[0] + 0.1 && q[1] >= -1 && q[1] <= 1);
        ck_assert_int_eq(r.active_limits, 1);
        near1(r.residual, fabs(target[2] - most), 1e-12);
    }
    skel_ik_destroy(ik);
    g                      = goal_of(1); /* the follower is asked, the leader has to go */
    ik                     = make(m, &g, 1, SKEL_IK_TRACK);
    const double target[3] = {0, 0, 0.4};
    double       q[2]      = {0, 0};
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
    skel_error  err;
    skel_error_init(&err);
    ck_assert_int_lt(put_together(p, &m, &err), 0);
    ck_assert_ptr_null(m);
    ck_assert_msg(strstr(err.text, part) != NULL, "'%s' does not say '%s'", err.text, part);
}

START_TEST(wrong_mimics_are_refused_by_name) {
    parts      p = {.nb = 4, .nj = 4}, bad;
    skel_error err;
    for (int i = 0; i < 4; ++i) {
        skel_body_desc_init(&p.body[i]), skel_joint_desc_init(&p.joint[i]);
        p.body[i].unplaced = 1;
        p.joint[i].type = i < 3 ? SKEL_JOINT_HINGE : SKEL_JOINT_BALL, p.joint[i].child = i;
        p.joint[i].has_limits = i < 3, p.joint[i].limit_low[0] = 0.5, p.joint[i].limit_high[0] = 1;
    }
    bad = p, bad.joint[1].mimic = 4, refused(&bad, "joints[1].mimic: is 4, must be the index");
    bad = p, bad.joint[1].mimic = -2, refused(&bad, "joints[1].mimic: is -2");
    bad = p, bad.joint[1].mimic = 1, refused(&bad, "joints[1].mimic: is 1");
    bad = p, bad.joint[1].mimic = 3, refused(&bad, "joints[1].mimic: 'joint 3' is no hinge");
    bad = p, bad.joint[3].mimic = 1, refused(&bad, "joints[3].mimic: 'joint 3' is no hinge");
    bad = p, bad.joint[0].mimic = 1, bad.joint[1].mimic = 2, bad.joint[2].mimic = 0;
    refused(&bad, "joints[0].mimic: leads round in a ring by 'joint 0'");
    bad = p, bad.joint[1].mimic = 0, bad.joint[1].mimic_multiplier = NAN;
    refused(&bad, "joints[1].mimic_multiplier");
    bad = p, bad.joint[1].mimic = 0, bad.joint[2].mimic = 1;
    bad.joint[1].mimic_multiplier = bad.joint[2].mimic_multiplier = 1e200;
    refused(&bad, "joints[2].mimic: its chain is out of the range");
    bad = p, bad.joint[3].type = SKEL_JOINT_HINGE, bad.joint[3].parent = 0, bad.joint[3].child = 1;
    bad.nb = 3, bad.joint[3].mimic = 0; /* 0 and 1 hang from the world: this closes a ring */
    refused(&bad, "joints[3].mimic: 'joint 3' closes a loop");
    p.joint[1].mimic = 0, p.joint[1].mimic_multiplier = -1; /* nowhere do both like it */
    skel_model    *m = assembled(&p);
    skel_goal_desc g = goal_of(1);
    skel_ik_desc   d;
    skel_ik       *ik;
    skel_ik_desc_init(&d), skel_error_init(&err);
    d.model = m, d.goals = &g, d.goal_count = 1;
    ck_assert_int_eq(skel_ik_create(&d, &ik, &err), SKEL_E_JOINT);
    ck_assert_msg(strstr(err.text, "joints[0].limits: 'joint 0' and the joints that mimic it"),
                  "%s", err.text);
    skel_model_destroy(m);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ik_joints");
    TCase *c     = tcase_create("laws");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, poses_obey, 0, 3);
    tcase_add_loop_test(c, jacobians_are_the_derivative, 0, 3);
    tcase_add_loop_test(c, derivatives_of_goals, 0, 3);
    tcase_add_loop_test(c, grippers_reach_what_they_can, 0, 6);
    tcase_add_test(c, limits_of_followers_hold_the_leader);
    tcase_add_test(c, wrong_mimics_are_refused_by_name);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
