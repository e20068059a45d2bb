/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion between y and maximal coordinates, and dy/dt from the accelerations of the bodies. A
   joint velocity is the product of the relative angular velocity with an axis e that is fixed in
   body a (outer frame) or b (inner frame), so
     d/dt (spin . e) = (alpha_b - alpha_a) . e + spin . (w x e),   w of the body of e,
   or that of the relative velocity of the joint points with an axis that is fixed in a. */
#include "integrate/reduced.h"
#include "model/joint_kind.h"

skel__reduced skel__reduced_of(const skel_model *m, int32_t *root) {
    skel__reduced r = {.m = m, .root = root};
    for (int32_t k = 0; k < m->nd; ++k)
        if (m->body[m->order[k]].joint < 0) root[r.nr++] = m->order[k];

    r.at_pose = (size_t)m->nq;
    r.at_qd = r.at_pose + 7 * (size_t)r.nr;
    r.at_velocity = r.at_qd + (size_t)m->nv;
    r.at_internal = r.at_velocity + 6 * (size_t)r.nr;
    r.at_sum = r.at_internal + (size_t)m->ninternal;
    r.n = r.at_sum + SKEL__REDUCED_SUMS;
    return r;
}

size_t skel__reduced_length(const skel_model *m) {
    size_t roots = 0;
    for (int32_t k = 0; k < m->nd; ++k) roots += m->body[m->order[k]].joint < 0;
    return (size_t)m->nq + (size_t)m->nv + 13 * roots + (size_t)m->ninternal + SKEL__REDUCED_SUMS;
}

/* ---- y <-> state ---- */

static void sums_to(const skel__power *s, double *out) {
    out[0] = s->motor;
    out[1] = s->friction;
    out[2] = s->load;
    out[3] = s->drive;
    v3_to(s->force, out + 4);
    v3_to(s->torque, out + 7);
    out[10] = s->contact;
}

/* Sums over the bodies of each free skeleton, stored at the index of its root: mass in bias.v.x,
   mass times position (or, of_forces, the external forces) in reaction.f, momentum in reaction.n.
   */
static void sum_trees(skel_state *s, int of_forces) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], root = m->body[i].root;
        if (root < 0) continue;
        const double mass = m->body[i].mass;

        /* A root comes before its descendants in the order. */
        if (i == root) {
            s->bias[i].v = (v3){0, 0, 0};
            s->reaction[i].f = (v3){0, 0, 0};
            s->reaction[i].n = (v3){0, 0, 0};
        }

        const v3 first =
            of_forces ? v3_add(s->load[i].f, s->contact_wrench[i].f) : v3_scale(s->x[i].p, mass);
        s->bias[root].v.x += mass;
        s->reaction[root].f = v3_add(s->reaction[root].f, first);
        s->reaction[root].n = v3_mad(s->reaction[root].n, mass, s->x[i].v);
    }
}

/* The sum divided by the mass of the root's skeleton. */
static v3 per_mass(const skel_state *s, int32_t root, v3 sum) {
    return v3_scale(sum, 1.0 / s->bias[root].v.x);
}

static void copy_internal(const skel_model *m, const double *from, double *to) {
    for (int32_t k = 0; k < m->ninternal; ++k) to[k] = from[k];
}

void skel__reduced_pack(const skel__reduced *r, skel_state *s, double *y) {
    skel__q_of(r->m, s->x, y);
    skel__qd_of(r->m, s->x, y + r->at_qd);

    /* Free roots: the centre of mass and its velocity, orientation and omega of the root. */
    sum_trees(s, 0);
    for (int32_t k = 0; k < r->nr; ++k) {
        const int32_t i = r->root[k];
        const skel__kin *x = &s->x[i];
        double *root_pose = y + r->at_pose + 7 * (size_t)k;
        double *velocity = y + r->at_velocity + 6 * (size_t)k;
        v3_to(per_mass(s, i, s->reaction[i].f), root_pose);
        q_to(x->q, root_pose + 3);
        v3_to(per_mass(s, i, s->reaction[i].n), velocity);
        v3_to(x->w, velocity + 3);
    }

    copy_internal(r->m, s->internal, y + r->at_internal);
    sums_to(&s->sum, y + r->at_sum);
}

/* The roots lie at the origin. Shifts every skeleton so that its centre of mass agrees with y. */
static void shift_trees(const skel__reduced *r, const double *y, skel_state *s) {
    const skel_model *m = s->m;
    sum_trees(s, 0);
    for (int32_t k = 0; k < r->nr; ++k) {
        const int32_t i = r->root[k];
        const v3 c = v3_of(y + r->at_pose + 7 * (size_t)k);
        const v3 v = v3_of(y + r->at_velocity + 6 * (size_t)k);
        s->reaction[i].f = v3_sub(c, per_mass(s, i, s->reaction[i].f));
        s->reaction[i].n = v3_sub(v, per_mass(s, i, s->reaction[i].n));
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

    /* Poses and velocities: roots at the origin, then along the tree, then shifted. */
    for (int32_t k = 0; k < r->nr; ++k)
        s->x[r->root[k]] = (skel__kin){.q = q_unit(q_of(y + r->at_pose + 7 * (size_t)k + 3)),
                                       .w = v3_of(y + r->at_velocity + 6 * (size_t)k + 3)};
    skel__fk(r->m, y, s->x);
    skel__fk_velocity(s, y + r->at_qd);
    shift_trees(r, y, s);

    copy_internal(r->m, y + r->at_internal, s->internal);
    s->sum = (skel__power){.motor = sum[0],
                           .friction = sum[1],
                           .load = sum[2],
                           .drive = sum[3],
                           .force = v3_of(sum + 4),
                           .torque = v3_of(sum + 7),
                           .contact = sum[10]};
}

/* ---- dy/dt ---- */

/* dq/dt = q (0, w) / 2. It conserves the length of q, which need not be 1. */
static void quaternion_rate(const double *q, const double *w, double *out) {
    const quat half = {0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]};
    q_to(q_mul(q_of(q), half), out);
}

static void joint_q_rate(int32_t type, const double *q, const double *qd, double *out) {
    if (skel__joint_kinds[type].q_kind[0] == SKEL_COORDINATE_QUATERNION)
        quaternion_rate(q, qd, out);
    else
        for (int32_t c = 0; c < skel__joint_nv(type); ++c) out[c] = qd[c];
}

/* Acceleration of the joint point of b relative to the point of a at the same place, seen from a.
   The Coriolis term 2 w_a x slip is perpendicular to the axis of the joint if it has only one. */
static v3 point_acceleration(const skel_state *s, const skel__joint *j,
                             const skel__joint_world *g) {
    const v3 to_point = v3_sub(g->ra, g->gap);
    const v3 wa = s->ww[j->a], wb = s->ww[j->b];
    const v3 on_a = v3_add(v3_cross(s->acc[j->a].w, to_point), v3_centripetal(wa, to_point));
    const v3 on_b = v3_add(v3_cross(s->acc[j->b].w, g->rb), v3_centripetal(wb, g->rb));
    const v3 rel = v3_sub(v3_add(s->acc[j->b].v, on_b), v3_add(s->acc[j->a].v, on_a));
    if (skel__joint_nv(j->type) == 1) return rel;
    return v3_mad(rel, -2.0, v3_cross(wa, skel__joint_slip(s, s->x, j, g)));
}

/* Joint accelerations by the formula of the head comment. */
static void joint_acceleration(const skel_state *s, const skel__joint *j, double *out) {
    const skel__joint_world g = skel__joint_at(s, s->x, j);
    const v3 wa = s->ww[j->a], wb = s->ww[j->b];
    const v3 spin = v3_sub(wb, wa);
    const v3 alpha = v3_sub(s->acc[j->b].w, s->acc[j->a].w);

    /* If z of both frames stay parallel, spin is parallel to it: spin . (w x axis) = 0. */
    const int is_parallel = skel__joint_motions[j->type].pair_count >= 2;
    for (int c = 0; c < skel__joint_nv(j->type); ++c) {
        const skel__joint_column k = skel__joint_column_of(j, g.ea, g.eb, c);
        if (k.turn == 0) {
            out[c] = v3_dot(point_acceleration(s, j, &g), k.axis);
            continue;
        }
        out[c] = v3_dot(alpha, k.axis);
        if (!is_parallel) out[c] += v3_dot(spin, v3_cross(k.is_inner ? wb : wa, k.axis));
    }
}

skel_status skel__reduced_rate(const skel__reduced *r, const double *y, double t, skel__side side,
                               int32_t solver, skel_state *s, double *rate) {
    const skel_model *m = r->m;
    skel__reduced_unpack(r, y, t, side, s);
    const skel_status status = skel__accelerate(s, s->x, t, side, solver);
    if (status != SKEL_OK) return status;

    /* Joints. */
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        const size_t q = (size_t)j->q_offset, qd = r->at_qd + (size_t)j->v_offset;
        joint_q_rate(j->type, y + q, y + qd, rate + q);
        joint_acceleration(s, j, rate + qd);
    }

    /* Free roots: c'' = g + external forces / mass. */
    sum_trees(s, 1);
    for (int32_t k = 0; k < r->nr; ++k) {
        const int32_t i = r->root[k];
        const size_t at_pose = r->at_pose + 7 * (size_t)k;
        const size_t velocity = r->at_velocity + 6 * (size_t)k;
        v3_to(v3_of(y + velocity), rate + at_pose);
        quaternion_rate(y + at_pose + 3, y + velocity + 3, rate + at_pose + 3);
        v3_to(v3_add(m->gravity, per_mass(s, i, s->reaction[i].f)), rate + velocity);
        v3_to(skel__body_axes(s, i, s->acc[i].w), rate + velocity + 3);
    }

    /* Internal variables, works and impulses. */
    copy_internal(m, s->internal_rate_now, rate + r->at_internal);
    const skel__power power = skel__power_of(s, s->x);
    sums_to(&power, rate + r->at_sum);

    double sum = 0;
    for (size_t k = 0; k < r->n; ++k) sum += fabs(rate[k]);
    return isfinite(sum) ? SKEL_OK : SKEL_E_DIVERGED;
}
