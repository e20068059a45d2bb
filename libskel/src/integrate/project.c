/* SPDX-License-Identifier: BSD-3-Clause */
/* Projection onto the joints, weighted by mass: minimise d^T M d / 2 with G d = -g. That is the
   acceleration problem of aba.c with no forces and -g for a bias, so it costs one solve, and like
   internal forces it changes neither the centre of mass nor the momenta. */
#include "integrate/integrate.h"

#include <string.h>

#define ROUNDING 1e-14 /* of size and distance from the origin: closed as well as can be */
#define NEWTON_MAX 10

/* The turn that takes the child's frame onto what the joint allows, seen from the tree parent. */
static v3 turn_needed(const skel__joint *j, const skel__joint_world *g) {
    const v3 none = {0, 0, 0};
    v3       turn = none; /* of b relative to a */
    switch (j->type) {
    case SKEL_JOINT_HINGE: turn = v3_cross(g->eb[2], g->ea[2]); break;
    case SKEL_JOINT_UNIVERSAL: {
        const v3 n = v3_cross(g->eb[0], g->ea[2]);
        turn       = v3_scale(n, -v3_dot(g->eb[0], g->ea[2]) / v3_dot(n, n));
        break;
    }
    case SKEL_JOINT_BALL: return none;
    default: /* all three axes: half the sum of e_b x e_a is the small turn */
        for (int k = 0; k < 3; ++k) turn = v3_mad(turn, 0.5, v3_cross(g->eb[k], g->ea[k]));
        break;
    }
    return j->reversed ? v3_neg(turn) : turn;
}

/* Bias that closes the joints, and how far they are open. */
static double position_bias(skel_state *s) {
    const skel_model *m     = s->m;
    double            worst = 0;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        if (m->body[i].joint < 0) continue;
        const skel__joint      *j    = &m->joint[m->body[i].joint];
        const skel__joint_world g    = skel__joint_at(s, s->x, j);
        v3                      shut = g.gap; /* what b's point must move relative to a's */
        if (j->type == SKEL_JOINT_SLIDE) shut = v3_mad(shut, -v3_dot(shut, g.ea[2]), g.ea[2]);
        const v3     turn  = turn_needed(j, &g);
        const double scale = m->length_scale + v3_norm(s->x[i].p);
        const double open  = v3_norm(shut) / scale + v3_norm(turn);
        if (!(open <= worst)) worst = open; /* a NaN wins */
        s->bias[i] = (skel__twist){j->reversed ? v3_neg(shut) : shut, turn};
    }
    return worst;
}

/* How far the loop joints are open, in the same units. */
static double loops_open(const skel_state *s) {
    double worst = 0;
    for (int32_t k = 0; k < s->nloop; ++k) {
        const skel__joint *j       = &s->m->joint[s->loop_joint[k]];
        const int          lengths = j->type == SKEL_JOINT_SLIDE ? 2 : 3;
        const double       unit    = s->m->length_scale + v3_norm(s->x[j->a].p);
        skel__rows         rows;
        skel__rows_of(s, s->x, s->loop_joint[k], &rows);
        for (int r = 0; r < rows.count; ++r) {
            const double e = fabs(rows.g[r]) / (r < lengths ? unit : 1.0);
            if (!(e <= worst)) worst = e;
        }
    }
    return worst;
}

static void clear_forces(skel_state *s) {
    const skel_model *m = s->m;
    memset(s->f - 1, 0, ((size_t)m->na + 1) * sizeof *s->f);
    for (int32_t k = 0; k < m->np; ++k) s->acc[m->prescribed[k]] = (skel__twist){0};
}

static void move(skel_state *s) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        s->x[i].p       = v3_add(s->x[i].p, s->acc[i].v);
        s->x[i].q       = q_unit(q_mul(q_exp(s->acc[i].w), s->x[i].q));
        /* omega is in body axes: the world's angular velocity turns along, which is second order */
    }
}

double skel__close_joints(skel_state *s, double *left) {
    double before = 0, open = 0;
    skel__prepare(s, s->x);
    for (int step = 0; step <= NEWTON_MAX; ++step) {
        const double now = fmax(position_bias(s), loops_open(s));
        if (step == 0) before = now;
        if (step > 0 && !(now < 0.5 * open)) {
            open = now;
            break; /* no longer getting better: rounding, or hopeless */
        }
        open = now;
        if (open <= ROUNDING || step == NEWTON_MAX) break;
        if (skel__aba_factor(s, s->x) != SKEL_OK) break;
        clear_forces(s);
        skel__aba_solve(s);
        if (s->nloop > 0) skel__loops_solve(s, s->x, SKEL__LOOP_CLOSE);
        move(s);
        skel__prepare(s, s->x);
        s->is_factored = 0;
    }
    *left = open;
    return before;
}

/* Relative velocity that the joint does not allow, tree child against tree parent. */
static double velocity_bias(skel_state *s) {
    const skel_model *m     = s->m;
    double            worst = 0;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], p = m->body[i].parent;
        if (m->body[i].joint < 0) continue;
        const skel__aba *t = &s->aba[i];
        skel__twist      c = {v3_sub(v3_add(s->x[p].v, v3_cross(s->ww[p], t->rp)),
                                     v3_add(s->x[i].v, v3_cross(s->ww[i], t->rc))),
                              v3_sub(s->ww[p], s->ww[i])};
        switch (m->joint[m->body[i].joint].type) {
        case SKEL_JOINT_BALL: c.w = (v3){0, 0, 0}; break;
        case SKEL_JOINT_SLIDE: c.v = v3_mad(c.v, -v3_dot(c.v, t->s[0]), t->s[0]); break;
        case SKEL_JOINT_UNIVERSAL:
            c.w = v3_mad(c.w, -v3_dot(c.w, t->s[1]), t->s[1]); /* fall through */
        case SKEL_JOINT_HINGE: c.w = v3_mad(c.w, -v3_dot(c.w, t->s[0]), t->s[0]); break;
        default: break;
        }
        const double wrong = fmax(v3_norm(c.v), v3_norm(c.w) * m->length_scale);
        if (!(wrong <= worst)) worst = wrong;
        s->bias[i] = c;
    }
    return worst;
}

double skel__fit_velocities(skel_state *s) {
    const skel_model *m = s->m;
    skel__prepare(s, s->x);
    s->is_factored = skel__aba_factor(s, s->x) == SKEL_OK;
    if (!s->is_factored) return NAN;
    double wrong = velocity_bias(s);
    if (wrong == 0 && s->nloop == 0) return 0;
    clear_forces(s);
    skel__aba_solve(s);
    if (s->nloop > 0) wrong = fmax(wrong, skel__loops_solve(s, s->x, SKEL__LOOP_FIT));
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        s->x[i].v       = v3_add(s->x[i].v, s->acc[i].v);
        s->x[i].w       = v3_add(s->x[i].w, skel__body_axes(s, i, s->acc[i].w));
    }
    return wrong;
}

/* ---- jolts ---- */

/* The k-th time at which body i may jolt, or NAN behind the last. */
static double jolt_time(const skel__body *b, uint32_t k) {
    const skel_curve *curve[2] = {&b->position_curve, &b->orientation_curve};
    for (int e = 0; e < 2; ++e) {
        if (curve[e]->count == 0) continue;
        if (k == 0) return curve[e]->time[0];
        if (k == 1) return curve[e]->time[curve[e]->count - 1];
        k -= 2;
    }
    return k < 2 * b->pinned_count ? b->pinned[k] : NAN;
}

double skel__next_velocity_jump(const skel_model *m, double t, double end, double eps) {
    for (int32_t e = 0; e < m->np; ++e) /* pins have their hidden prescribed body */
        for (uint32_t k = 0;; ++k) {
            const double at = jolt_time(&m->body[m->prescribed[e]], k);
            if (isnan(at)) break;
            if (at > t + eps && at < end - eps) end = at;
        }
    return end;
}

int skel__is_velocity_jump(const skel_model *m, double t, double eps) {
    for (int32_t e = 0; e < m->np; ++e)
        for (uint32_t k = 0;; ++k) {
            const double at = jolt_time(&m->body[m->prescribed[e]], k);
            if (isnan(at)) break;
            if (fabs(at - t) <= eps) return 1;
        }
    return 0;
}

skel_status skel__apply_velocity_jump(skel_state *s) {
    const skel__momenta a = skel__momenta_of(s);
    skel__prescribe(s, s->x, s->t, SKEL__AFTER);
    if (!isfinite(skel__fit_velocities(s))) return SKEL_E_SINGULAR;
    const skel__momenta b = skel__momenta_of(s);
    s->sum.drive += b.kinetic - a.kinetic;
    s->sum.force  = v3_add(s->sum.force, v3_sub(b.p, a.p));
    s->sum.torque = v3_add(s->sum.torque, v3_sub(b.l, a.l));
    return SKEL_OK;
}
