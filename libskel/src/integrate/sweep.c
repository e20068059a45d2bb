/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops over all bodies that every evaluation of the equations of the energy-momentum step runs
   (conserving_equations.c). This file is compiled twice, as tree_lu.c is: as it is, and included by
   sweep_wide.c with wide vectors. */
#include "integrate/conserving.h"

#include <string.h>

/* ---- poses at the end of the step ---- */

/* Parent of a tree joint, and its joint point on the parent and on the child, body axes. */
typedef struct tree_joint {
    int32_t parent;
    w3 on_parent, on_child;
} tree_joint;

SKEL__INLINE tree_joint tree_joint_of(const skel__joint *j) {
    return (tree_joint){.parent = j->reversed ? j->b : j->a,
                        .on_parent = w3_from(j->reversed ? &j->fb.p : &j->fa.p),
                        .on_child = w3_from(j->reversed ? &j->fa.p : &j->fb.p)};
}

/* Position and mean velocity of a body behind a joint through a point. They follow from the parent
   and the rotations. The velocity is computed from the rotation of the levers, not from positions:
   those are rounded far from the origin, and a short step would amplify that. */
SKEL__INLINE void end_position(const skel_state *s, int32_t i, double h) {
    skel__conserving *em = s->integrator->conserving;
    const tree_joint j = tree_joint_of(&s->m->joint[s->m->body[i].joint]);
    const w3 outer = w33_mulv(w33_from(&em->r1[j.parent]), j.on_parent);
    const w3 inner = w33_mulv(w33_from(&em->r1[i]), j.on_child);
    const w3 change = w3_sub(w3_sub(outer, w3_from(&em->lever0[2 * i])),
                             w3_sub(inner, w3_from(&em->lever0[2 * i + 1])));

    em->p1[i] = w3_v3(w3_sub(w3_add(w3_from(&em->p1[j.parent]), outer), inner));
    em->vbar[i] = w3_v3(w3_mad(w3_from(&em->vbar[j.parent]), 1.0 / h, change));
}

/* Levers of the tree joints through a point at the start of the step: on the parent, on the
   child. */
static void start_levers(const skel_state *s) {
    skel__conserving *em = s->integrator->conserving;

    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k], joint = s->m->body[i].joint;
        if (joint < 0 || em->lu[i].full) continue;
        const tree_joint j = tree_joint_of(&s->m->joint[joint]);
        em->lever0[2 * i] = w3_v3(w33_mulv(w33_from(&s->r[j.parent]), j.on_parent));
        em->lever0[2 * i + 1] = w3_v3(w33_mulv(w33_from(&s->r[i]), j.on_child));
    }
}

static void end_poses(const skel_state *s, double h) {
    skel__conserving *em = s->integrator->conserving;

    /* q1 = q0 (1, h W / 2), normalised */
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const v3 x = v3_scale(em->w[i], 0.5 * h);
        const quat q = q_mul(s->x[i].q, (quat){1, x.x, x.y, x.z});
        const double n = 1.0 / sqrt(q_dot(q, q));
        em->q1[i] = (quat){q.w * n, q.x * n, q.y * n, q.z * n};
        em->r1[i] = q_matrix(em->q1[i]);
    }

    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        if (s->m->body[i].joint < 0 || em->lu[i].full)
            em->p1[i] = v3_mad(s->x[i].p, h, em->vbar[i]);
        else
            end_position(s, i, h);
    }
}

/* ---- equations of the bodies ---- */

/* The part of the angular equation in R1: R1 (2 I W - R0^T pi0) = R1 I (2 W - w0). */
SKEL__INLINE w3 angular_term(const skel_state *s, int32_t i) {
    const skel__conserving *em = s->integrator->conserving;
    const w33 inertia = w33_rows(&s->m->body[i].inertia); /* symmetric */
    const w3 twice = w3_sub(w3_scale(w3_from(&em->w[i]), 2.0), w3_from(&s->x[i].w));
    return w33_mulv(w33_from(&em->r1[i]), w33_mulv(inertia, twice));
}

/* Minus the residuals: rho = (J - 2 m (v - v0), pi0 + J_ang - angular term). */
static void set_residuals(const skel_state *s) {
    skel__conserving *em = s->integrator->conserving;

    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const w3 velocity = w3_sub(w3_from(&em->vbar[i]), w3_from(&s->x[i].v));
        const w3 momentum = w3_add(w3_from(&em->pi0[i]), w3_from(&em->j_ang[i]));
        double *rho = em->rho + 6 * (size_t)i;
        w3_to(w3_mad(w3_from(&em->j_lin[i]), -2.0 * s->m->body[i].mass, velocity), rho);
        w3_to(w3_sub(momentum, angular_term(s, i)), rho + 3);
    }
}

/* Sets the block of body i to the derivatives of its own equations and clears all couplings. */
SKEL__INLINE void begin_block(const skel_state *s, int32_t i, double h) {
    const skel__conserving *em = s->integrator->conserving;
    const w33 inertia = w33_rows(&s->m->body[i].inertia), r1 = w33_from(&em->r1[i]);
    skel__lu *t = &em->lu[i];

    /* 2 R1 I E R1^T,   E = (1 + x x^T / 4 + [x] / 2) / h,   x = h W */
    const w3 x = w3_scale(w3_from(&em->w[i]), h);
    const w33 e = w33_add(w33_add_outer(inertia, 0.25, w33_mulv(inertia, x), x),
                          w33_times_skew(inertia, w3_scale(x, 0.5)));
    const w33 d = w33_mul(r1, w33_mul(w33_scale(e, 2.0 / h), w33_transpose(r1)));

    const double m = 2.0 * s->m->body[i].mass / h;
    corner_set(t->a, 0, 0, w33_diagonal(m));
    corner_set(t->a, 0, 3, w33_zero());
    corner_set(t->a, 3, 0, w33_zero());
    corner_set(t->a, 3, 3, w33_sub(d, w33_skew(angular_term(s, i))));

    t->kpc = m3_zero();
    t->kcp = m3_zero();
    if (t->full) memset(t->full, 0, offsetof(skel__lu_full, a));
    if (skel__conserving_has_fields(s->m)) skel__conserving_field_derivative(s, em, i, h, t->a);
}

static void begin_blocks(const skel_state *s, double h) {
    for (int32_t k = 0; k < s->m->nd; ++k) begin_block(s, s->m->order[k], h);
}

/* ---- plain balls ---- */

/* One side of a plain ball over the step. */
typedef struct ball_side {
    w3 r, r1;  /* lever: mean, at the end */
    w3 end;    /* joint point at the end */
    w3 mid;    /* mean joint point */
    w3 centre; /* mean centre of mass */
} ball_side;

SKEL__INLINE ball_side ball_side_of(const skel_state *s, const skel__conserving *em, int32_t i,
                                    const v3 *joint_point) {
    const w3 lever = w3_from(joint_point), p1 = w3_from(&em->p1[i]);
    ball_side b;
    b.r1 = w33_mulv(w33_from(&em->r1[i]), lever);
    b.r = w3_scale(w3_add(w33_mulv(w33_from(&s->r[i]), lever), b.r1), 0.5);
    b.end = w3_add(p1, b.r1);
    b.centre = w3_scale(w3_add(w3_from(&s->x[i].p), p1), 0.5);
    b.mid = w3_add(b.centre, b.r);
    return b;
}

/* Adds the impulse on one side and, on request, the derivative of its moment, [half] [r1]. */
SKEL__INLINE void add_ball_impulse(const skel_state *s, skel__conserving *em, int32_t i,
                                   const ball_side *b, w3 force, w3 point, int with_derivatives) {
    const w3 torque = w3_cross(w3_sub(point, b->centre), force);
    em->j_lin[i] = w3_v3(w3_add(w3_from(&em->j_lin[i]), force));
    em->j_ang[i] = w3_v3(w3_add(w3_from(&em->j_ang[i]), torque));
    if (!with_derivatives || !skel__is_dynamic(s->m, i)) return;

    const w3 half = w3_scale(force, -0.5);
    corner_add(em->lu[i].a, 3, 3,
               w33_add_outer(w33_diagonal(-w3_dot(half, b->r1)), 1.0, b->r1, half));
}

/* Arms and row count of a plain ball for the elimination. */
SKEL__INLINE void set_ball_block(skel__lu *t, const skel__joint *j, const ball_side *a,
                                 const ball_side *b) {
    t->point.arm[0] = w3_v3(a->r);
    t->point.arm1[0] = w3_v3(a->r1);
    t->point.arm[1] = w3_v3(b->r);
    t->point.arm1[1] = w3_v3(b->r1);
    t->rows = 3;
    t->child = !j->reversed;
    t->is_coupled = 0;
}

static double add_plain_balls(skel_state *s, int with_derivatives) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;
    double worst = 0, worst_unit = 1; /* largest gap / unit, as two numbers to avoid divisions */

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], joint = m->body[i].joint;
        if (joint < 0 || !em->start[joint].is_plain_ball) continue;

        /* The impulse acts on both bodies at the mean of the two joint points. */
        const skel__joint *j = &m->joint[joint];
        const w3 force = w3_of(em->lambda + 6 * (size_t)joint);
        const ball_side a = ball_side_of(s, em, j->a, &j->fa.p);
        const ball_side b = ball_side_of(s, em, j->b, &j->fb.p);
        const w3 gap = w3_sub(b.end, a.end), point = w3_scale(w3_add(a.mid, b.mid), 0.5);
        add_ball_impulse(s, em, j->a, &a, force, point, with_derivatives);
        add_ball_impulse(s, em, j->b, &b, w3_neg(force), point, with_derivatives);
        w3_to(gap, em->gamma + 6 * (size_t)i);

        const double largest = w3_most(gap), unit = m->length_scale + w3_most(point);
        if (largest * worst_unit > worst * unit) {
            worst = largest;
            worst_unit = unit;
            em->worst_joint = joint;
        }
        if (!isfinite(W3_AT(gap, 0) + W3_AT(gap, 1) + W3_AT(gap, 2))) {
            em->worst_joint = joint;
            return INFINITY;
        }
        if (with_derivatives) set_ball_block(&em->lu[i], j, &a, &b);
    }
    return worst / worst_unit;
}

/* ---- corrections ---- */

/* h dW by a rotation theta of the end pose in body axes, x = h W (see
   skel__cayley_inverse_derivative): theta + x (x.theta) / 4 + x x theta / 2. */
SKEL__INLINE w3 cayley_inverse(w3 x, w3 theta) {
    return w3_mad(w3_mad(theta, 0.25 * w3_dot(x, theta), x), 0.5, w3_cross(x, theta));
}

static double apply_correction(skel_state *s, double h) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;
    double worst = 0; /* squared */

    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t i = (size_t)m->order[k];
        const w3 dp = w3_of(em->y + 6 * i), theta = w3_of(em->y + 6 * i + 3);

        /* vbar += dp / h;   W += E^-1 R1^T theta */
        const w3 w = w3_from(&em->w[i]);
        const w3 theta_body = w33_mulv(w33_rows(&em->r1[i]), theta);
        const w3 h_dw = cayley_inverse(w3_scale(w, h), theta_body);
        em->vbar[i] = w3_v3(w3_mad(w3_from(&em->vbar[i]), 1.0 / h, dp));
        em->w[i] = w3_v3(w3_mad(w, 1.0 / h, h_dw));
        em->w_correction[i] = w3_v3(w3_scale(h_dw, 1.0 / h));

        const double unit = m->length_scale + w3_most(w3_from(&em->p1[i]));
        const double length = w3_dot(dp, dp) / (unit * unit), angle = w3_dot(theta, theta);
        const double size = length > angle ? length : angle;
        if (!(size <= worst)) worst = size;

        if (m->body[i].joint < 0) continue;
        double *lambda = em->lambda + 6 * (size_t)m->body[i].joint;
        for (int c = 0; c < em->lu[i].rows; ++c) lambda[c] += em->dlambda[6 * i + (size_t)c];
    }
    return sqrt(worst);
}

/* ---- tables of functions ---- */

const skel__sweeps SKEL__WAY(skel__sweeps) = {
    start_levers,
    end_poses,
    begin_blocks,
    add_plain_balls,
    set_residuals,
    apply_correction,
    SKEL__WAY(skel__lu_factor),
    SKEL__WAY(skel__lu_solve),
    SKEL__WAY(skel__lu_factor_solve),
};

#ifndef SKEL__WIDE
const skel__sweeps *skel__sweeps_best(void) {
#ifdef SKEL_HAS_WIDE
    if (__builtin_cpu_supports("avx2")) return &skel__sweeps_wide;
#endif
    return &skel__sweeps_plain;
}
#endif
