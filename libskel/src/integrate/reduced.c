/* SPDX-License-Identifier: BSD-3-Clause */
/* y <-> maximal coordinates, and dy/dt from the accelerations of the bodies. The joint's rate is a
   product of the relative motion with axes that turn with a (outer) or b (inner), so
     d/dt (spin . e) = (alpha_b - alpha_a) . e + spin . (w x e),   w of the body e is fixed in. */
#include "integrate/reduced.h"

skel__reduced skel__reduced_of(const skel_model *m, int32_t *root) {
    skel__reduced r = {.m = m, .root = root};
    for (int32_t k = 0; k < m->nd; ++k)
        if (m->body[m->order[k]].joint < 0) root[r.nr++] = m->order[k];
    r.at_pose = (size_t)m->nq;
    r.at_qd = r.at_pose + 7 * (size_t)r.nr;
    r.at_speed = r.at_qd + (size_t)m->nv;
    r.at_internal = r.at_speed + 6 * (size_t)r.nr;
    r.at_sum = r.at_internal + (size_t)m->ninternal;
    r.n = r.at_sum + SKEL__REDUCED_SUMS;
    return r;
}

size_t skel__reduced_room(const skel_model *m) {
    size_t roots = 0;
    for (int32_t k = 0; k < m->nd; ++k) roots += m->body[m->order[k]].joint < 0;
    return (size_t)m->nq + (size_t)m->nv + 13 * roots + (size_t)m->ninternal + SKEL__REDUCED_SUMS;
}

/* ---- y <-> state ---- */

static void sums_to(const skel__power *s, double *out) {
    out[0] = s->motor, out[1] = s->friction, out[2] = s->load, out[3] = s->drive;
    v3_to(s->force, out + 4);
    v3_to(s->torque, out + 7);
    out[10] = s->contact;
}

/* Sums over what hangs from each free root, at the root's index: mass in bias.v.x, mass times
   position (or the forces from outside) in reaction.f, mass times velocity in reaction.n. */
static void sum_trees(skel_state *s, int of_forces) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], root = m->body[i].root;
        if (root < 0) continue;
        const double mass = m->body[i].mass;
        if (i == root) { /* parents come first */
            s->bias[i].v = (v3){0, 0, 0};
            s->reaction[i].f = s->reaction[i].n = (v3){0, 0, 0};
        }
        const v3 first =
            of_forces ? v3_add(s->load[i].f, s->contact_wrench[i].f) : v3_scale(s->x[i].p, mass);
        s->bias[root].v.x += mass;
        s->reaction[root].f = v3_add(s->reaction[root].f, first);
        s->reaction[root].n = v3_mad(s->reaction[root].n, mass, s->x[i].v);
    }
}

static v3 mean_of(const skel_state *s, int32_t root, v3 sum) {
    return v3_scale(sum, 1.0 / s->bias[root].v.x);
}

static void copy_memory(const skel_model *m, const double *from, double *to) {
    for (int32_t k = 0; k < m->ninternal; ++k) to[k] = from[k];
}

void skel__reduced_pack(const skel__reduced *r, skel_state *s, double *y) {
    skel__q_of(r->m, s->x, y);
    skel__qd_of(r->m, s->x, y + r->at_qd);
    sum_trees(s, 0);
    for (int32_t k = 0; k < r->nr; ++k) {
        const int32_t i = r->root[k];
        const skel__kin *x = &s->x[i];
        double *place = y + r->at_pose + 7 * (size_t)k;
        double *speed = y + r->at_speed + 6 * (size_t)k;
        v3_to(mean_of(s, i, s->reaction[i].f), place), q_to(x->q, place + 3);
        v3_to(mean_of(s, i, s->reaction[i].n), speed), v3_to(x->w, speed + 3);
    }
    copy_memory(r->m, s->internal, y + r->at_internal);
    sums_to(&s->sum, y + r->at_sum);
}

/* Roots stand at the origin; all is moved so that the centres of mass are where y has them. */
static void move_trees(const skel__reduced *r, const double *y, skel_state *s) {
    const skel_model *m = s->m;
    sum_trees(s, 0);
    for (int32_t k = 0; k < r->nr; ++k) {
        const int32_t i = r->root[k];
        const v3 c = v3_of(y + r->at_pose + 7 * (size_t)k);
        const v3 v = v3_of(y + r->at_speed + 6 * (size_t)k);
        s->reaction[i].f = v3_sub(c, mean_of(s, i, s->reaction[i].f));
        s->reaction[i].n = v3_sub(v, mean_of(s, i, s->reaction[i].n));
    }
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], root = m->body[i].root;
        if (root < 0) continue;
        s->x[i].p = v3_add(s->x[i].p, s->reaction[root].f);
        s->x[i].v = v3_add(s->x[i].v, s->reaction[root].n);
    }
}

void skel__reduced_unpack(const skel__reduced *r, const double *y, double t, skel__side side,
                          skel_state *s) {
    const double *sum = y + r->at_sum;
    s->t = t;
    s->is_factored = 0;
    skel__prescribe(s, s->x, t, side);
    for (int32_t k = 0; k < r->nr; ++k)
        s->x[r->root[k]] = (skel__kin){.q = q_unit(q_of(y + r->at_pose + 7 * (size_t)k + 3)),
                                       .w = v3_of(y + r->at_speed + 6 * (size_t)k + 3)};
    skel__fk(r->m, y, s->x);
    skel__fk_velocity(s, y + r->at_qd);
    move_trees(r, y, s);
    copy_memory(r->m, y + r->at_internal, s->internal);
    s->sum = (skel__power){.motor = sum[0],
                           .friction = sum[1],
                           .load = sum[2],
                           .drive = sum[3],
                           .force = v3_of(sum + 4),
                           .torque = v3_of(sum + 7),
                           .contact = sum[10]};
}

/* ---- dy/dt ---- */

/* dq/dt = q (0, w) / 2 keeps the length of q, so a length that is not 1 does not matter. */
static void turn_rate(const double *q, const double *w, double *out) {
    const quat half = {0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
    q_to(q_mul(q_of(q), half), out);
}

static void joint_q_rate(int32_t type, const double *q, const double *qd, double *out) {
    if (type == SKEL_JOINT_BALL)
        turn_rate(q, qd, out);
    else
        for (int32_t c = 0; c < skel__joint_nv(type); ++c) out[c] = qd[c];
}

/* Acceleration of b's joint point seen from a, which slides along a's z. Coriolis' 2 w_a x slip is
   at right angles to it. */
static double slide_acceleration(const skel_state *s, const skel__joint *j,
                                 const skel__joint_world *g) {
    const v3 to_point = v3_sub(g->ra, g->gap);
    const v3 wa = s->ww[j->a], wb = s->ww[j->b];
    const v3 on_a = v3_add(v3_cross(s->acc[j->a].w, to_point), v3_centripetal(wa, to_point));
    const v3 on_b = v3_add(v3_cross(s->acc[j->b].w, g->rb), v3_centripetal(wb, g->rb));
    const v3 rel = v3_sub(v3_add(s->acc[j->b].v, on_b), v3_add(s->acc[j->a].v, on_a));
    return v3_dot(rel, g->ea[2]);
}

static void joint_acceleration(const skel_state *s, const skel__joint *j, double *out) {
    const skel__joint_world g = skel__joint_at(s, s->x, j);
    const v3 wa = s->ww[j->a], wb = s->ww[j->b];
    const v3 spin = v3_sub(wb, wa);
    const v3 alpha = v3_sub(s->acc[j->b].w, s->acc[j->a].w);
    switch (j->type) {
    case SKEL_JOINT_HINGE: /* spin is along the axis: w x axis adds nothing */
        out[0] = v3_dot(alpha, g.ea[2]);
        break;
    case SKEL_JOINT_SLIDE: out[0] = slide_acceleration(s, j, &g); break;
    case SKEL_JOINT_UNIVERSAL:
        out[0] = v3_dot(alpha, g.ea[2]) + v3_dot(spin, v3_cross(wa, g.ea[2]));
        out[1] = v3_dot(alpha, g.eb[0]) + v3_dot(spin, v3_cross(wb, g.eb[0]));
        break;
    case SKEL_JOINT_BALL:
        for (int c = 0; c < 3; ++c)
            out[c] = v3_dot(alpha, g.eb[c]) + v3_dot(spin, v3_cross(wb, g.eb[c]));
        break;
    default: break;
    }
}

skel_status skel__reduced_rate(const skel__reduced *r, const double *y, double t, skel__side side,
                               int32_t solver, skel_state *s, double *rate) {
    const skel_model *m = r->m;
    skel__reduced_unpack(r, y, t, side, s);
    const skel_status status = skel__accelerate(s, s->x, t, side, solver);
    if (status != SKEL_OK) return status;
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        const size_t at = (size_t)j->q_offset, vat = r->at_qd + (size_t)j->v_offset;
        joint_q_rate(j->type, y + at, y + vat, rate + at);
        joint_acceleration(s, j, rate + vat);
    }
    sum_trees(s, 1);
    for (int32_t k = 0; k < r->nr; ++k) {
        const int32_t i = r->root[k];
        const size_t place = r->at_pose + 7 * (size_t)k;
        const size_t speed = r->at_speed + 6 * (size_t)k;
        v3_to(v3_of(y + speed), rate + place);
        turn_rate(y + place + 3, y + speed + 3, rate + place + 3);
        v3_to(v3_add(m->gravity, mean_of(s, i, s->reaction[i].f)), rate + speed);
        v3_to(skel__body_axes(s, i, s->acc[i].w), rate + speed + 3);
    }
    copy_memory(m, s->internal_rate_now, rate + r->at_internal);
    const skel__power power = skel__power_of(s, s->x);
    sums_to(&power, rate + r->at_sum);
    double sum = 0;
    for (size_t k = 0; k < r->n; ++k) sum += fabs(rate[k]);
    return isfinite(sum) ? SKEL_OK : SKEL_E_DIVERGED;
}
