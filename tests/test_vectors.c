/* SPDX-License-Identifier: BSD-3-Clause */
/* Against tests/data/vectors.json: numbers made in long double by other programs (its `meta` says
   how): [HAK] accelerations and Euler steps, paired frames [ERL], axis-angle, ZYZ rates. */
#include "math/quat.h"
#include "shared/near.h"
#include "shared/vectors.h"

#include <skel/skel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS_BODIES_MAX 32

/* All numbers below node, row by row; nothing for null. */
static double *flatten_into(const json_value *node, double *out) {
    if (json_is_number(node)) *out++ = node->number;
    for (const json_value *e = node->child; e; e = e->next) out = flatten_into(e, out);
    return out;
}
static size_t flatten(const json_value *node, double *out) {
    return (size_t)(flatten_into(node, out) - out);
}

static void flatten_optional(const json_value *node, const char *name, double *out) {
    const json_value *item = json_member(node, name);
    if (item) flatten(item, out);
}

static m3 matrix_of(const double *a) {
    return (m3){{v3_of(a), v3_of(a + 3), v3_of(a + 6)}};
}

/* A tree of the file as a model: hinge where z is a unit vector, ball where it is zero [HAK]. */
typedef struct tree {
    int nb, nj;
    double m[VECTORS_BODIES_MAX], I[9 * VECTORS_BODIES_MAX], l[6 * VECTORS_BODIES_MAX],
        z[6 * VECTORS_BODIES_MAX];
    double p[3 * VECTORS_BODIES_MAX], R[9 * VECTORS_BODIES_MAX], v[3 * VECTORS_BODIES_MAX],
        w[3 * VECTORS_BODIES_MAX];
    double e[3 * VECTORS_BODIES_MAX], f[3 * VECTORS_BODIES_MAX], t[3 * VECTORS_BODIES_MAX],
        E[2 * VECTORS_BODIES_MAX];
    skel_body_desc body[VECTORS_BODIES_MAX];
    skel_joint_desc joint[VECTORS_BODIES_MAX];
    skel_model *model;
    skel_state *state;
} tree;

static void tree_body(tree *k, int i) {
    const double *I = k->I + 9 * i;
    skel_body_desc *b = &k->body[i];
    skel_body_desc_init(b);
    b->mass = k->m[i];
    const double six[6] = {I[0], I[4], I[8], I[1], I[2], I[5]};
    memcpy(b->inertia, six, sizeof six);
    memcpy(b->position, k->p + 3 * i, 24);
    q_to(q_from_matrix(matrix_of(k->R + 9 * i)), b->orientation);
    memcpy(b->velocity, k->v + 3 * i, 24);
    memcpy(b->angular_velocity, k->w + 3 * i, 24);
    memcpy(b->force, k->f + 3 * i, 24);
    memcpy(b->torque, k->t + 3 * i, 24);
}

/* e_j is any torque here: as an external pair, + on E(j,1), - on E(j,2) [ERRATA H13]. */
static void tree_joint(tree *k, int j) {
    const int a = (int)k->E[2 * j], b = (int)k->E[2 * j + 1];
    skel_joint_desc *d = &k->joint[j];
    const v3 z = v3_of(k->z + 6 * j);
    skel_joint_desc_init(d);
    d->type = v3_norm(z) > .5 ? SKEL_JOINT_HINGE : SKEL_JOINT_BALL;
    d->parent = a, d->child = b;
    memcpy(d->parent_position, k->l + 6 * j, 24);
    memcpy(d->child_position, k->l + 6 * j + 3, 24);
    if (d->type ==
        SKEL_JOINT_HINGE) { /* outer frame with that z; the inner one coincides with it */
        const v3 x = v3_perpendicular(z);
        const m3 outer = m3_transpose((m3){{x, v3_cross(z, x), z}});
        const quat qa = q_from_matrix(outer);
        const quat qb = q_mul(q_conj(q_of(k->body[b].orientation)), q_of(k->body[a].orientation));
        q_to(qa, d->parent_orientation);
        q_to(q_mul(qb, qa), d->child_orientation);
    }
    for (int c = 0; c < 3; ++c) {
        k->body[a].torque[c] += k->e[3 * j + c];
        k->body[b].torque[c] -= k->e[3 * j + c];
    }
}

static void tree_create(tree *k) {
    skel_model_desc d;
    skel_error err;
    skel_error_init(&err);
    skel_model_desc_init(&d);
    memset(d.gravity, 0, sizeof d.gravity);
    d.bodies = k->body, d.body_count = (uint32_t)k->nb;
    d.joints = k->joint, d.joint_count = (uint32_t)k->nj;
    ck_assert_msg(skel_model_create(&d, &k->model, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_state_create(k->model, &k->state, &err), SKEL_OK);
}

static tree *tree_load(const json_value *c) {
    tree *k = calloc(1, sizeof *k);
    k->nb = (int)flatten(get(c, "m"), k->m);
    k->nj = (int)flatten(get(c, "E"), k->E) / 2;
    flatten(get(c, "I"), k->I), flatten(get(c, "l"), k->l), flatten(get(c, "z"), k->z);
    flatten(get(c, "p"), k->p), flatten(get(c, "R"), k->R);
    flatten(get(c, "v"), k->v), flatten(get(c, "w"), k->w);
    flatten_optional(c, "e", k->e);
    flatten_optional(c, "f", k->f);
    flatten_optional(c, "t", k->t);
    for (int i = 0; i < k->nb; ++i) tree_body(k, i);
    for (int j = 0; j < k->nj; ++j) tree_joint(k, j);
    const json_value *driven = json_member(c, "driven");
    if (driven && driven->child) { /* all of them stand still */
        double still[6];
        ck_assert_uint_eq(flatten(get(driven->child, "a"), still), 3);
        ck_assert_uint_eq(flatten(get(driven->child, "dw"), still + 3), 3);
        ck_assert_double_eq(max_abs(still, 6), 0);
        k->body[(int)get(driven->child, "body")->number].motion = SKEL_MOTION_FIXED;
    }
    tree_create(k);
    return k;
}

static void tree_free(tree *k) {
    skel_state_destroy(k->state);
    skel_model_destroy(k->model);
    free(k);
}

START_TEST(hakenberg_accelerations) {
    const json_value *c = json_element(get(g_vectors, "hakenberg_trees"), _i);
    tree *k = tree_load(c);
    const size_t n = 3 * (size_t)k->nb;
    double a[3 * VECTORS_BODIES_MAX], dw[3 * VECTORS_BODIES_MAX], mine[3 * VECTORS_BODIES_MAX],
        turn[3 * VECTORS_BODIES_MAX];
    const int32_t solvers[3] = {SKEL_SOLVER_TREE, SKEL_SOLVER_PINV, SKEL_SOLVER_KKT};
    ck_assert_uint_eq(flatten(get(get(c, "out"), "a"), a), n);
    ck_assert_uint_eq(flatten(get(get(c, "out"), "dw"), dw), n);
    const double size = fmax(max_abs(a, n), max_abs(dw, n));
    for (int e = 0; e < 3; ++e) {
        ck_assert_int_eq(skel_accelerations(k->state, solvers[e], mine, turn, NULL), SKEL_OK);
        near(mine, a, n, 1e-12 * size);
        near(turn, dw, n, 1e-12 * size);
    }
    tree_free(k);
}
END_TEST

START_TEST(hakenberg_euler_step) {
    const json_value *c = json_element(get(g_vectors, "hakenberg_trees"), _i);
    const json_value *e = get(get(c, "euler"), "sequential");
    tree *k = tree_load(c);
    double p[3 * VECTORS_BODIES_MAX], R[9 * VECTORS_BODIES_MAX], v[3 * VECTORS_BODIES_MAX],
        w[3 * VECTORS_BODIES_MAX];
    double poses[7 * VECTORS_BODIES_MAX], velocities[6 * VECTORS_BODIES_MAX];
    skel_step_desc d;
    skel_step_desc_init(&d);
    d.integrator = SKEL_INTEGRATOR_EULER, d.solver = SKEL_SOLVER_PINV;
    d.h = get(get(c, "euler"), "h")->number;
    ck_assert_int_eq(skel_step(k->state, &d, NULL), SKEL_OK);
    flatten(get(e, "p"), p), flatten(get(e, "R"), R), flatten(get(e, "v"), v),
        flatten(get(e, "w"), w);
    skel_state_get_poses(k->state, poses);
    skel_state_get_velocities(k->state, velocities);
    for (int i = 0; i < k->nb; ++i) {
        const m3 mine = q_matrix(q_of(poses + 7 * i + 3));
        near(poses + 7 * i, p + 3 * i, 3, 1e-12 * (1 + max_abs(p, 3 * (size_t)k->nb)));
        near(&mine.r[0].x, R + 9 * i, 9, 1e-12);
        near(velocities + 6 * i, v + 3 * i, 3, 1e-12 * (1 + max_abs(v, 3 * (size_t)k->nb)));
        near(velocities + 6 * i + 3, w + 3 * i, 3, 1e-12 * (1 + max_abs(w, 3 * (size_t)k->nb)));
    }
    tree_free(k);
}
END_TEST

/* Base, then for every joint: outer frame of one link, motion, inverse inner frame of the next. */
static pose frame_of(const json_value *f, const char *shift) {
    double r[3], u[3];
    flatten(get(f, shift), r), flatten(get(f, "u"), u);
    const v3 axis = v3_of(u);
    return (pose){v3_of(r), q_exp(v3_scale(axis, get(f, "phi")->number / v3_norm(axis)))};
}

START_TEST(paired_frames) {
    const json_value *c = json_element(get(g_vectors, "paired"), _i);
    const json_value *links = get(c, "links"), *joints = get(c, "joints"), *world = get(c, "world");
    double base[16], want[16];
    flatten(get(c, "base"), base);
    pose at = {{base[3], base[7], base[11]},
               q_from_matrix((m3){{v3_of(base), v3_of(base + 4), v3_of(base + 8)}})};
    for (int k = 0; k < json_size(world); ++k) {
        if (k > 0) {
            const pose outer = frame_of(get(json_element(links, k - 1), "OF"), "r");
            const pose inner = frame_of(get(json_element(links, k), "IF"), "r");
            const pose move = frame_of(json_element(joints, k - 1), "d");
            at = pose_mul(pose_mul(pose_mul(at, outer), move), pose_inverse(inner));
        }
        flatten(json_element(world, k), want);
        const m3 r = q_matrix(at.q);
        for (int e = 0; e < 3; ++e) {
            const double row[4] = {r.r[e].x, r.r[e].y, r.r[e].z,
                                   e == 0   ? at.p.x
                                   : e == 1 ? at.p.y
                                            : at.p.z};
            near(row, want + 4 * e, 4, 1e-12 * (1 + max_abs(want, 16)));
        }
    }
}
END_TEST

START_TEST(axis_angle) {
    const json_value *c = json_element(get(g_vectors, "axis_angle"), _i);
    double u[3], want[9];
    flatten(get(c, "u"), u), flatten(get(c, "R"), want);
    const v3 axis = v3_of(u);
    const double angle = get(c, "phi")->number;
    const quat q = q_exp(v3_scale(axis, angle / v3_norm(axis)));
    const m3 m = q_matrix(q), back = q_matrix(q_from_matrix(m));
    near(&m.r[0].x, want, 9, 1e-15 * 8);
    near(&back.r[0].x, want, 9, 1e-15 * 8);
}
END_TEST

/* R = Rz(alpha) Ry(beta) Rz(gamma); the rates give omega through the exponential map's Jacobian
   summed along the three turns [RUD (2.12), (2.13)]. */
START_TEST(euler_zyz) {
    const json_value *c = json_element(get(g_vectors, "euler_zyz"), _i);
    double angle[3], rate[3], want[9], space[3], body[3], mine[3];
    flatten(get(c, "angles"), angle), flatten(get(c, "rates"), rate), flatten(get(c, "R"), want);
    flatten(get(c, "omega_space"), space), flatten(get(c, "omega_body"), body);
    const v3 z = {0, 0, 1}, y = {0, 1, 0};
    const quat a = q_exp(v3_scale(z, angle[0])), b = q_exp(v3_scale(y, angle[1]));
    const quat q = q_mul(q_mul(a, b), q_exp(v3_scale(z, angle[2])));
    const m3 m = q_matrix(q);
    near(&m.r[0].x, want, 9, 1e-15 * 8);
    v3 w = v3_scale(z, rate[0]);
    w = v3_mad(w, rate[1], q_rotate(a, y));
    w = v3_mad(w, rate[2], q_rotate(q_mul(a, b), z));
    v3_to(w, mine);
    near(mine, space, 3, 1e-14);
    v3_to(m3_tmulv(m, w), mine);
    near(mine, body, 3, 1e-14);
}
END_TEST

/* The chain C6 of ERRATA, "Figures for acceptance": com of the last body from another program. */
START_TEST(reference_chain) {
    const json_value *r = get(g_vectors, "reference_trajectory"), *one;
    skel_step_desc d;
    skel_step_desc_init(&d);
    d.h = 1e-3, d.integrator = SKEL_INTEGRATOR_RK4;
    int used = 0;
    JSON_EACH(one, get(r, "samples")) {
        const double until = get(one, "t")->number;
        if (strcmp(get(one, "chain")->text, "C6 free") != 0 || until > 2) continue;
        tree *k = tree_load(get(r, "chain_free"));
        double want[3], poses[7 * VECTORS_BODIES_MAX];
        for (int n = 0; n < (int)(until * 1000 + .5); ++n)
            ck_assert_int_eq(skel_step(k->state, &d, NULL), SKEL_OK);
        flatten(get(one, "p_last"), want);
        skel_state_get_poses(k->state, poses);
        near(poses + 7 * (k->nb - 1), want, 3, 2e-11);
        tree_free(k);
        ++used;
    }
    ck_assert_int_ge(used, 3);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("vectors");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, load, unload);
    tcase_add_loop_test(t, hakenberg_accelerations, 0, 12);
    tcase_add_loop_test(t, hakenberg_euler_step, 0, 12);
    tcase_add_loop_test(t, paired_frames, 0, 10);
    tcase_add_loop_test(t, axis_angle, 0, 18);
    tcase_add_loop_test(t, euler_zyz, 0, 10);
    tcase_add_test(t, reference_chain);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
