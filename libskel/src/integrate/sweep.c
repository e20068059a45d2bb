/* SPDX-License-Identifier: BSD-3-Clause */
/* What every look at the equations of the energy-momentum step (conserving.c) does with every body.
   Made twice, as treelu.c is: as it stands, and by sweep_wide.c with wide vectors. */
#include "integrate/conserving.h"

#include <string.h>

/* ---- poses at the end of the step ---- */

/* A joint through a point says where its child is, whatever the turns are. The child's velocity
   follows from the parent's and from how far the levers turn: positions far from the origin are
   rounded, and divided by a short step their difference would be all noise. */
SKEL__INLINE void end_place(const skel_state *s, int32_t i, double h) {
    skel__conserving  *em     = s->em;
    const skel__joint *j      = &s->m->joint[s->m->body[i].joint];
    const int32_t      up     = j->reversed ? j->b : j->a;
    const w3           from   = w3_from(j->reversed ? &j->fb.p : &j->fa.p);
    const w3           to     = w3_from(j->reversed ? &j->fa.p : &j->fb.p);
    const w3           out    = w33_mulv(w33_from(&em->r1[up]), from);
    const w3           in     = w33_mulv(w33_from(&em->r1[i]), to);
    const w3           turned = w3_sub(w3_sub(out, w3_from(&em->lever0[2 * i])),
                                       w3_sub(in, w3_from(&em->lever0[2 * i + 1])));

    em->p1[i]   = w3_v3(w3_sub(w3_add(w3_from(&em->p1[up]), out), in));
    em->vbar[i] = w3_v3(w3_mad(w3_from(&em->vbar[up]), 1.0 / h, turned));
}

/* Levers of the tree joints through a point at the start of the step: the parent's, the child's. */
static void start_levers(const skel_state *s) {
    skel__conserving *em = s->em;
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k], joint = s->m->body[i].joint;
        if (joint < 0 || em->lu[i].full) continue;
        const skel__joint *j    = &s->m->joint[joint];
        const int32_t      up   = j->reversed ? j->b : j->a;
        const w3           from = w3_from(j->reversed ? &j->fb.p : &j->fa.p);
        const w3           to   = w3_from(j->reversed ? &j->fa.p : &j->fb.p);
        em->lever0[2 * i]       = w3_v3(w33_mulv(w33_from(&s->r[up]), from));
        em->lever0[2 * i + 1]   = w3_v3(w33_mulv(w33_from(&s->r[i]), to));
    }
}

static void end_poses(const skel_state *s, double h) {
    skel__conserving *em = s->em;
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i    = s->m->order[k];
        const v3      x    = v3_scale(em->w[i], 0.5 * h);
        const quat    turn = q_mul(s->x[i].q, (quat){1, x.x, x.y, x.z});
        const double  n    = 1.0 / sqrt(q_dot(turn, turn));
        em->q1[i]          = (quat){turn.w * n, turn.x * n, turn.y * n, turn.z * n};
        em->r1[i]          = q_matrix(em->q1[i]);
    }
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        if (s->m->body[i].joint < 0 || em->lu[i].full)
            em->p1[i] = v3_mad(s->x[i].p, h, em->vbar[i]);
        else
            end_place(s, i, h);
    }
}

/* ---- equations ---- */

/* What turning over the step takes: R1 (2 I W - R0^T pi0). */
SKEL__INLINE w3 turning_of(const skel_state *s, int32_t i) {
    const w33 inertia = w33_rows(&s->m->body[i].inertia); /* is symmetric */
    const w3  twice   = w3_sub(w3_scale(w3_from(&s->em->w[i]), 2.0), w3_from(&s->x[i].w));
    return w33_mulv(w33_from(&s->em->r1[i]), w33_mulv(inertia, twice));
}

/* Minus the residuals of the bodies into rho. */
static void add_bodies(const skel_state *s) {
    skel__conserving *em = s->em;
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i     = s->m->order[k];
        const w3      speed = w3_sub(w3_from(&em->vbar[i]), w3_from(&s->x[i].v));
        const w3      spin  = w3_add(w3_from(&em->pi0[i]), w3_from(&em->ja[i]));
        double       *rho   = em->rho + 6 * (size_t)i;
        w3_to(w3_mad(w3_from(&em->jl[i]), -2.0 * s->m->body[i].mass, speed), rho);
        w3_to(w3_sub(spin, turning_of(s, i)), rho + 3);
    }
}

/* The block of body i holds its own derivatives, and nothing else yet. */
SKEL__INLINE void begin_block(const skel_state *s, int32_t i, double h) {
    const w33 inertia = w33_rows(&s->m->body[i].inertia), r1 = w33_from(&s->em->r1[i]);
    skel__lu *t = &s->em->lu[i];
    /* 2 I E, E = (1 + x x^T / 4 + [x] / 2) / h */
    const w3     x = w3_scale(w3_from(&s->em->w[i]), h);
    const w33    e = w33_add(w33_add_outer(inertia, 0.25, w33_mulv(inertia, x), x),
                             w33_times_skew(inertia, w3_scale(x, 0.5)));
    const w33    d = w33_mul(r1, w33_mul(w33_scale(e, 2.0 / h), w33_transpose(r1)));
    const double m = 2.0 * s->m->body[i].mass / h;
    corner_set(t->a, 0, 0, w33_diagonal(m));
    corner_set(t->a, 0, 3, w33_zero());
    corner_set(t->a, 3, 0, w33_zero());
    corner_set(t->a, 3, 3, w33_sub(d, w33_skew(turning_of(s, i))));
    t->kpc = t->kcp = m3_zero();
    if (t->full) memset(t->full, 0, offsetof(skel__lu_full, a));
    if (skel__conserving_has_fields(s->m)) skel__conserving_field_derivative(s, s->em, i, h, t->a);
}

static void begin_blocks(const skel_state *s, double h) {
    for (int32_t k = 0; k < s->m->nd; ++k) begin_block(s, s->m->order[k], h);
}

/* One side of a bare ball over the step. */
typedef struct ball_end {
    w3 r, r1, end, mid, centre;
} ball_end;

SKEL__INLINE ball_end ball_end_of(const skel_state *s, const skel__conserving *em, int32_t i,
                                  const v3 *place) {
    const w3 lever = w3_from(place), p1 = w3_from(&em->p1[i]);
    ball_end b;
    b.r1     = w33_mulv(w33_from(&em->r1[i]), lever);
    b.r      = w3_scale(w3_add(w33_mulv(w33_from(&s->r[i]), lever), b.r1), 0.5);
    b.end    = w3_add(p1, b.r1);
    b.centre = w3_scale(w3_add(w3_from(&s->x[i].p), p1), 0.5);
    b.mid    = w3_add(b.centre, b.r);
    return b;
}

SKEL__INLINE void ball_push(const skel_state *s, skel__conserving *em, int32_t i, const ball_end *b,
                            w3 force, w3 point, int build) {
    const w3 torque = w3_cross(w3_sub(point, b->centre), force);
    em->jl[i]       = w3_v3(w3_add(w3_from(&em->jl[i]), force));
    em->ja[i]       = w3_v3(w3_add(w3_from(&em->ja[i]), torque));
    if (!build || !skel__is_dynamic(s->m, i)) return;
    const w3 half = w3_scale(force, -0.5); /* [half] [r1] */
    corner_add(em->lu[i].a, 3, 3,
               w33_add_outer(w33_diagonal(-w3_dot(half, b->r1)), 1.0, b->r1, half));
}

static double add_bare_balls(skel_state *s, int build) {
    const skel_model *m    = s->m;
    skel__conserving *em   = s->em;
    double            open = 0, unit = 1; /* of the one that is farthest open */
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], joint = m->body[i].joint;
        if (joint < 0 || !em->start[joint].is_bare) continue;
        const skel__joint *j     = &m->joint[joint];
        const w3           force = w3_of(em->lambda + 6 * (size_t)joint);
        const ball_end     a     = ball_end_of(s, em, j->a, &j->fa.p);
        const ball_end     b     = ball_end_of(s, em, j->b, &j->fb.p);
        const w3           gap = w3_sub(b.end, a.end), point = w3_scale(w3_add(a.mid, b.mid), 0.5);
        ball_push(s, em, j->a, &a, force, point, build);
        ball_push(s, em, j->b, &b, w3_neg(force), point, build);
        w3_to(gap, em->gamma + 6 * (size_t)i);
        const double most = w3_most(gap), size = m->length_scale + w3_most(point);
        if (most * unit > open * size) open = most, unit = size, em->worst = joint;
        if (!isfinite(W3_AT(gap, 0) + W3_AT(gap, 1) + W3_AT(gap, 2)))
            return em->worst = joint, INFINITY;
        if (!build) continue;
        skel__lu *t     = &em->lu[i];
        t->point.arm[0] = w3_v3(a.r), t->point.arm1[0] = w3_v3(a.r1);
        t->point.arm[1] = w3_v3(b.r), t->point.arm1[1] = w3_v3(b.r1);
        t->r = 3, t->child = !j->reversed, t->is_coupled = 0;
    }
    return open / unit;
}

/* ---- corrections ---- */

/* d W = (d/dW of the turn)^-1 turn, times h; x = h W (skel__cayley_inverse_derivative). */
SKEL__INLINE w3 cayley_inverse(w3 x, w3 turn) {
    return w3_mad(w3_mad(turn, 0.25 * w3_dot(x, turn), x), 0.5, w3_cross(x, turn));
}

/* Applies the whole correction; returns its size, lengths in units of size and distance. */
static double correct(skel_state *s, double h) {
    const skel_model *m     = s->m;
    skel__conserving *em    = s->em;
    double            worst = 0; /* squared */
    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t i    = (size_t)m->order[k];
        const w3     move = w3_of(em->y + 6 * i), w = w3_from(&em->w[i]);
        const w3     turn = w3_of(em->y + 6 * i + 3);
        const w3     own  = w33_mulv(w33_rows(&em->r1[i]), turn);
        em->vbar[i]       = w3_v3(w3_mad(w3_from(&em->vbar[i]), 1.0 / h, move));
        const w3 spin     = cayley_inverse(w3_scale(w, h), own);
        em->w[i]          = w3_v3(w3_mad(w, 1.0 / h, spin));
        em->w_step[i]     = w3_v3(w3_scale(spin, 1.0 / h));
        const double unit = m->length_scale + w3_most(w3_from(&em->p1[i]));
        const double far = w3_dot(move, move) / (unit * unit), round = w3_dot(turn, turn);
        const double size = far > round ? far : round;
        if (!(size <= worst)) worst = size;
        if (m->body[i].joint < 0) continue;
        double *lambda = em->lambda + 6 * (size_t)m->body[i].joint;
        for (int c = 0; c < em->lu[i].r; ++c) lambda[c] += em->dl[6 * i + (size_t)c];
    }
    return sqrt(worst);
}

/* ---- both ways ---- */

const skel__sweeps SKEL__WAY(skel__sweeps) = {
    start_levers,
    end_poses,
    begin_blocks,
    add_bare_balls,
    add_bodies,
    correct,
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
