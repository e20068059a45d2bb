/* SPDX-License-Identifier: BSD-3-Clause */
/* Projection onto the joints, weighted by mass: minimise d^T M d / 2 subject to G d = -g. This is
   the acceleration problem of aba.c without forces and with the bias -g, so it costs one solve.
   Like internal forces, it changes neither the centre of mass nor the momenta. */
#include "integrate/integrate.h"
#include "model/joint_kind.h"

#include <string.h>

#define PROJECTION_ROUNDING 1e-14 /* relative to L and the distance from the origin: closed */
#define PROJECTION_ITERATIONS_MAX 10
#define PROJECTION_RATE_MAX 0.5 /* of the gap per iteration: more is rounding, or divergence */

/* Small rotation of the tree child against its tree parent [rad] that aligns the joint. */
static v3 rotation_error(const skel__joint *j, const skel__joint_world *g) {
    const skel__joint_motion *motion = &skel__joint_motions[j->type];
    v3 turn = {0, 0, 0}; /* of b relative to a */

    switch (motion->pair_count) {
    case 0: return turn;
    case 1: { /* one pair of axes stays perpendicular */
        const v3 outer = g->ea[motion->pair[0].outer], inner = g->eb[motion->pair[0].inner];
        const v3 n = v3_cross(inner, outer);
        turn = v3_scale(n, -v3_dot(inner, outer) / v3_dot(n, n));
        break;
    }
    case 2: turn = v3_cross(g->eb[2], g->ea[2]); break; /* z stays parallel */
    default: /* no free angle: half the sum of e_b x e_a is the small rotation */
        for (int k = 0; k < 3; ++k) turn = v3_mad(turn, 0.5, v3_cross(g->eb[k], g->ea[k]));
        break;
    }

    return j->reversed ? v3_neg(turn) : turn;
}

/* Fills s->bias with the displacements that close the tree joints. Returns the largest gap or
   misalignment, relative to the length scale and in radians. A NaN is returned as it is. */
static double position_bias(skel_state *s) {
    const skel_model *m = s->m;
    double worst = 0;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        if (m->body[i].joint < 0) continue;
        const skel__joint *j = &m->joint[m->body[i].joint];
        const skel__joint_world g = skel__joint_at(s, s->x, j);

        /* Displacement of the joint point of b relative to that of a, without the free part. */
        v3 shift = g.gap;
        for (int c = 0; c < skel__joint_nv(j->type); ++c) {
            const skel__joint_column free = skel__joint_column_of(j, g.ea, g.eb, c);
            if (free.turn == 0) shift = v3_mad(shift, -v3_dot(shift, free.axis), free.axis);
        }
        if (j->pitch != 0) {
            double q[1];
            skel__joint_q(s->x, j, q);
            shift = v3_mad(shift, j->pitch * q[0], g.ea[2]);
        }
        const v3 turn = rotation_error(j, &g);
        s->bias[i] = (skel__twist){j->reversed ? v3_neg(shift) : shift, turn};

        const double scale = m->length_scale + v3_norm(s->x[i].p);
        const double gap = v3_norm(shift) / scale + v3_norm(turn);
        if (!(gap <= worst)) worst = gap;
    }
    return worst;
}

/* Number of constraint rows of a kind that are lengths: three minus its free lengths. */
static int length_row_count(const skel_joint_kind *kind) {
    int count = 3;
    for (int k = 0; k < kind->dof; ++k) count -= kind->dof_kind[k] == SKEL_COORDINATE_LENGTH;
    return count;
}

/* The largest gap or misalignment of the loop joints, in the same units. The rows of lengths come
   first. */
static double loop_gap(const skel_state *s) {
    double worst = 0;
    for (int32_t k = 0; k < s->nloop; ++k) {
        const skel__joint *j = &s->m->joint[s->loop_joint[k]];
        const int lengths = length_row_count(&skel__joint_kinds[j->type]);
        const double unit = s->m->length_scale + v3_norm(s->x[j->a].p);
        skel__rows rows;

        skel__rows_of(s, s->x, s->loop_joint[k], &rows);
        for (int r = 0; r < rows.count; ++r) {
            const double gap = fabs(rows.g[r]) / (r < lengths ? unit : 1.0);
            if (!(gap <= worst)) worst = gap;
        }
    }
    return worst;
}

/* No applied forces; prescribed bodies do not move. */
static void clear_forces(skel_state *s) {
    const skel_model *m = s->m;
    memset(s->f - 1, 0, ((size_t)m->na + 1) * sizeof *s->f);
    for (int32_t k = 0; k < m->np; ++k) s->acc[m->prescribed[k]] = (skel__twist){0};
}

/* Applies the displacements in s->acc to the poses. omega stays the same in body axes, so the
   angular velocity in the world turns with the body; that is an effect of second order. */
static void move(skel_state *s) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        s->x[i].p = v3_add(s->x[i].p, s->acc[i].v);
        s->x[i].q = q_unit(q_mul(q_exp(s->acc[i].w), s->x[i].q));
    }
}

double skel__close_joints(skel_state *s, double *remaining) {
    double before = 0, gap = 0;
    skel__prepare(s, s->x);
    for (int step = 0; step <= PROJECTION_ITERATIONS_MAX; ++step) {
        const double now = fmax(position_bias(s), loop_gap(s));
        const int has_stalled = step > 0 && !(now < PROJECTION_RATE_MAX * gap);
        if (step == 0) before = now;
        gap = now;
        if (has_stalled || gap <= PROJECTION_ROUNDING || step == PROJECTION_ITERATIONS_MAX) break;

        /* One Newton iteration. */
        if (skel__aba_factor(s, s->x) != SKEL_OK) break;
        clear_forces(s);
        skel__aba_solve(s);
        if (s->nloop > 0) skel__loops_solve(s, s->x, SKEL__LOOP_CLOSE);
        move(s);
        skel__prepare(s, s->x);
        s->is_factored = 0;
    }
    *remaining = gap;
    return before;
}

/* Takes the components along the freedoms of the joint out of c. */
static skel__twist without_freedoms(const skel__joint *j, const skel__aba *t, skel__twist c) {
    if (j->type == SKEL_JOINT_BALL) return (skel__twist){c.v, {0, 0, 0}};

    for (int k = skel__joint_nv(j->type) - 1; k >= 0; --k) {
        const v3 axis = t->s[k];
        if (skel__joint_turn(j, k) == 0) {
            c.v = v3_mad(c.v, -v3_dot(c.v, axis), axis);
            continue;
        }
        const double rate = v3_dot(c.w, axis), shift = skel__joint_shift(j, k);
        if (shift != 0) c.v = v3_mad(c.v, -shift * rate, axis);
        c.w = v3_mad(c.w, -rate, axis);
    }
    return c;
}

/* Fills s->bias with the relative velocities, of tree child against tree parent, that the joints do
   not allow, with opposite sign. Returns the largest [m/s]; a NaN is returned as it is. */
static double velocity_bias(skel_state *s) {
    const skel_model *m = s->m;
    double worst = 0;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], p = m->body[i].parent;
        if (m->body[i].joint < 0) continue;
        const skel__aba *t = &s->aba[i];
        skel__twist c = {v3_sub(v3_add(s->x[p].v, v3_cross(s->ww[p], t->rp)),
                                v3_add(s->x[i].v, v3_cross(s->ww[i], t->rc))),
                         v3_sub(s->ww[p], s->ww[i])};

        c = without_freedoms(&m->joint[m->body[i].joint], t, c);
        s->bias[i] = c;

        const double speed = fmax(v3_norm(c.v), v3_norm(c.w) * m->length_scale);
        if (!(speed <= worst)) worst = speed;
    }
    return worst;
}

double skel__fit_velocities(skel_state *s) {
    const skel_model *m = s->m;
    skel__prepare(s, s->x);
    s->is_factored = skel__aba_factor(s, s->x) == SKEL_OK;
    if (!s->is_factored) return NAN;
    double violation = velocity_bias(s);
    if (violation == 0 && s->nloop == 0) return 0;

    clear_forces(s);
    skel__aba_solve(s);
    if (s->nloop > 0) violation = fmax(violation, skel__loops_solve(s, s->x, SKEL__LOOP_FIT));

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        s->x[i].v = v3_add(s->x[i].v, s->acc[i].v);
        s->x[i].w = v3_add(s->x[i].w, skel__body_axes(s, i, s->acc[i].w));
    }
    return violation;
}

/* ---- velocity jumps ---- */

/* The k-th time at which the velocity of the body may jump [s], or NAN after the last: both ends of
   its curves, and the times of its pins. */
static double jump_time(const skel__body *b, uint32_t k) {
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
    /* A pin has a prescribed body of its own, so pins are found here as well. */
    for (int32_t e = 0; e < m->np; ++e)
        for (uint32_t k = 0;; ++k) {
            const double at = jump_time(&m->body[m->prescribed[e]], k);
            if (isnan(at)) break;
            if (at > t + eps && at < end - eps) end = at;
        }
    return end;
}

int skel__is_velocity_jump(const skel_model *m, double t, double eps) {
    for (int32_t e = 0; e < m->np; ++e)
        for (uint32_t k = 0;; ++k) {
            const double at = jump_time(&m->body[m->prescribed[e]], k);
            if (isnan(at)) break;
            if (fabs(at - t) <= eps) return 1;
        }
    return 0;
}

skel_status skel__apply_velocity_jump(skel_state *s) {
    const skel__momenta before = skel__momenta_of(s);
    skel__prescribe(s, s->x, s->t, SKEL__AFTER);
    if (!isfinite(skel__fit_velocities(s))) return SKEL_E_SINGULAR;

    const skel__momenta after = skel__momenta_of(s);
    s->sum.drive += after.kinetic - before.kinetic;
    s->sum.force = v3_add(s->sum.force, v3_sub(after.p, before.p));
    s->sum.torque = v3_add(s->sum.torque, v3_sub(after.l, before.l));
    return SKEL_OK;
}
