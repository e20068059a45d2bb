/* SPDX-License-Identifier: BSD-3-Clause */
/* Explicit steps of fixed length in maximal coordinates: semi-implicit Euler and RK4. Linear
   momentum is a linear invariant, so both conserve it to rounding. RK4 projects the state onto the
   joints after every step, but never onto energy or momentum. */
#include "integrate/integrate.h"

#include <string.h>

#define RK4_GAP_MAX 1e-3           /* joint gap after a step, relative to L or [rad]: diverged */
#define RK4_GAP_PROJECTED_MAX 1e-9 /* the same after the projection */

int32_t skel__first_not_finite(const skel_state *s) {
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const skel__kin *x = &s->x[i];
        const double sum =
            v3_norm(x->p) + v3_norm(x->v) + v3_norm(x->w) + v3_norm(s->acc[i].v) + x->q.w;
        if (!isfinite(sum)) return i;
    }
    return -1;
}

/* Ends a step at time t: checks the bodies and moves the prescribed ones. A velocity jump at t
   belongs to the next step. */
static skel_status finish(skel_state *s, double t, int32_t *body) {
    s->t = t;
    *body = skel__first_not_finite(s);
    if (*body >= 0) return SKEL_E_DIVERGED;
    skel__prescribe(s, s->x, t, SKEL__BEFORE);
    return SKEL_OK;
}

/* The algorithm of [HAK] in the printed sequence: the new v moves p, the new omega turns R
   [ERRATA H9]. R exp[Omega h] is exact for a constant omega. Prescribed bodies follow their
   curves. */
skel_status skel__step_euler(skel_state *s, double h, int32_t solver, int32_t *body) {
    const skel_model *m = s->m;
    skel_status status = skel__follow_prepare(s);
    if (status == SKEL_OK) status = skel__accelerate(s, s->x, s->t, SKEL__AFTER, solver);
    *body = -1;
    if (status != SKEL_OK) return status;

    const skel__power power = skel__power_of(s, s->x);
    skel__power_add(&s->sum, h, &power);

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        skel__kin *x = &s->x[i];
        x->v = v3_mad(x->v, h, s->acc[i].v);
        x->p = v3_mad(x->p, h, x->v);
        x->w = v3_mad(x->w, h, skel__body_axes(s, i, s->acc[i].w));
        x->q = q_unit(q_mul(x->q, q_exp(v3_scale(x->w, h))));
    }

    for (int32_t k = 0; k < m->ninternal; ++k) s->internal[k] += h * s->internal_rate[0][k];
    s->is_factored = 0;
    return finish(s, s->t + h, body);
}

/* Time derivatives of the state x: p' = v, q' = q (0, omega) / 2, and the accelerations in s. */
static void find_rates(const skel_state *s, const skel__kin *x, skel__rate *out) {
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const quat w = {0, 0.5 * x[i].w.x, 0.5 * x[i].w.y, 0.5 * x[i].w.z};
        out[i] =
            (skel__rate){x[i].v, q_mul(x[i].q, w), s->acc[i].v, skel__body_axes(s, i, s->acc[i].w)};
    }
}

static quat q_mad(quat a, double s, quat b) {
    return (quat){a.w + s * b.w, a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

/* x + h d, with a unit quaternion. */
static skel__kin moved(const skel__kin *x, double h, const skel__rate *d) {
    return (skel__kin){v3_mad(x->p, h, d->p), q_unit(q_mad(x->q, h, d->q)), v3_mad(x->v, h, d->v),
                       v3_mad(x->w, h, d->w)};
}

/* Writes the weighted mean (k0 + 2 k1 + 2 k2 + k3) / 6 of the rates of body i to k0. */
static void average_rates(const skel_state *s, int32_t i) {
    skel__rate *a = &s->rate[0][i];
    const skel__rate *b = &s->rate[1][i], *c = &s->rate[2][i], *d = &s->rate[3][i];
    const double third = 1.0 / 3.0, sixth = 1.0 / 6.0;
#define MEAN(add, scale, f) add(scale(add(a->f, d->f), sixth), scale(add(b->f, c->f), third))
    a->p = MEAN(v3_add, v3_scale, p);
    a->v = MEAN(v3_add, v3_scale, v);
    a->w = MEAN(v3_add, v3_scale, w);
#undef MEAN
    a->q = q_mad(q_mad(q_mad((quat){0, 0, 0, 0}, sixth, a->q), sixth, d->q), third,
                 q_mad(b->q, 1.0, c->q));
}

/* The four stages of RK4. Works and impulses are integrated with the same weights. */
static skel_status find_stages(skel_state *s, double h, int32_t solver) {
    static const double at[4] = {0, 0.5, 0.5, 1};
    static const double weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    const skel_model *m = s->m;
    for (int k = 0; k < 4; ++k) {
        /* The state of the stage, moved by the rates of the stage before. */
        skel__kin *x = k == 0 ? s->x : s->stage;
        for (int32_t e = 0; k > 0 && e < m->nd; ++e) {
            const int32_t i = m->order[e];
            s->stage[i] = moved(&s->x[i], at[k] * h, &s->rate[k - 1][i]);
        }
        for (int32_t e = 0; k > 0 && e < m->ninternal; ++e)
            s->internal_stage[e] = s->internal[e] + at[k] * h * s->internal_rate[k - 1][e];

        /* Its accelerations, with the internal variables of the stage. */
        s->internal_now = k == 0 ? s->internal : s->internal_stage;
        s->internal_rate_now = s->internal_rate[k];
        const skel__side side = k == 3 ? SKEL__BEFORE : SKEL__AFTER;
        const skel_status status = skel__accelerate(s, x, s->t + at[k] * h, side, solver);
        s->internal_now = s->internal;
        s->internal_rate_now = s->internal_rate[0];
        if (status != SKEL_OK) return status;

        find_rates(s, x, s->rate[k]);
        const skel__power power = skel__power_of(s, x);
        skel__power_add(&s->sum, h * weight[k], &power);
    }
    return SKEL_OK;
}

skel_status skel__step_rk4(skel_state *s, double h, int32_t solver, int32_t *body) {
    const skel_model *m = s->m;
    *body = -1;
    skel_status status = skel__follow_prepare(s);
    if (status == SKEL_OK) status = find_stages(s, h, solver);
    if (status != SKEL_OK) return status;

    /* The step with the mean of the four rates. */
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        average_rates(s, i);
        s->x[i] = moved(&s->x[i], h, &s->rate[0][i]);
    }
    for (int32_t k = 0; k < m->ninternal; ++k)
        s->internal[k] += h / 6.0 *
                          (s->internal_rate[0][k] + 2.0 * s->internal_rate[1][k] +
                           2.0 * s->internal_rate[2][k] + s->internal_rate[3][k]);
    s->is_factored = 0;
    status = finish(s, s->t + h, body);
    if (status != SKEL_OK) return status;

    /* Projection onto the joints. */
    double remaining;
    const double gap = skel__close_joints(s, &remaining);
    if (!(gap < RK4_GAP_MAX) || !(remaining < RK4_GAP_PROJECTED_MAX)) return SKEL_E_DIVERGED;
    if (!(skel__fit_velocities(s) < INFINITY)) return SKEL_E_DIVERGED;
    *body = skel__first_not_finite(s);
    return *body >= 0 ? SKEL_E_DIVERGED : SKEL_OK;
}
