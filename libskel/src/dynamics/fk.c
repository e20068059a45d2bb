/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinematics: joint coordinates to maximal coordinates and back, for poses and velocities.
   Frames along a joint [ERL]: world <- a <- outer frame <- motion(q) <- inner frame <- b. */
#include "dynamics/dynamics.h"
#include "model/joint_kind.h"

void skel__prepare(const skel_state *s, const skel__kin *x) {
    for (int32_t i = 0; i < s->m->na; ++i) {
        s->r[i] = q_matrix(x[i].q);
        s->ww[i] = m3_mulv(s->r[i], x[i].w);
    }
}

void skel__prescribe(skel_state *s, skel__kin *x, double t, skel__side side) {
    for (int32_t k = 0; k < s->m->np; ++k) {
        const int32_t i = s->m->prescribed[k];
        if (s->m->body[i].is_held) continue;
        const skel__motion m = skel__prescribed_motion(&s->m->body[i], t, side);
        x[i] = (skel__kin){m.x.p, m.x.q, m.v, m.w};
        s->acc[i] = (skel__twist){m.a, q_rotate(m.x.q, m.dw)};
    }
}

/* ra, rb: rotation matrices of the joint's bodies a and b. */
static inline skel__joint_world joint_between(const skel__kin *x, const skel__joint *j,
                                              const m3 *ra, const m3 *rb) {
    skel__joint_world g;
    g.ra = m3_mulv(*ra, j->fa.p);
    g.rb = m3_mulv(*rb, j->fb.p);
    for (int k = 0; k < 3; ++k) {
        g.ea[k] = m3_mulv(*ra, j->ea.r[k]);
        g.eb[k] = m3_mulv(*rb, j->eb.r[k]);
    }
    g.gap = v3_sub(v3_add(x[j->a].p, g.ra), v3_add(x[j->b].p, g.rb));
    return g;
}

skel__joint_world skel__joint_at(const skel_state *s, const skel__kin *x, const skel__joint *j) {
    return joint_between(x, j, &s->r[j->a], &s->r[j->b]);
}

/* wa, wb: angular velocities of a and b, world axes. */
static inline v3 slip_between(const skel__kin *x, const skel__joint *j, const skel__joint_world *g,
                              v3 wa, v3 wb) {
    const v3 to_point = v3_sub(g->ra, g->gap); /* from a's centre of mass to b's joint point */
    const v3 on_a = v3_add(x[j->a].v, v3_cross(wa, to_point));
    const v3 on_b = v3_add(x[j->b].v, v3_cross(wb, g->rb));
    return v3_sub(on_b, on_a);
}

v3 skel__joint_slip(const skel_state *s, const skel__kin *x, const skel__joint *j,
                    const skel__joint_world *g) {
    return slip_between(x, j, g, s->ww[j->a], s->ww[j->b]);
}

/* Poses of all bodies below their roots, parents before children. */
static inline void place_all(const skel_model *m, const double *q, skel__kin *x, int with_mimics) {
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        if (m->body[i].joint < 0) continue;

        /* Motion of the joint; a mimic joint takes its coordinate from its source joint. */
        const skel__joint *j = &m->joint[m->body[i].joint];
        const int is_mimic = with_mimics && j->mimic_root >= 0;
        const double mimic_q = is_mimic ? skel__mimic_q(m, j, q) : 0;
        const pose move = skel__joint_pose(j, is_mimic ? &mimic_q : q + j->q_offset);

        /* Along the chain of frames, backward if the tree parent is the joint's child. */
        const pose start = j->reversed ? j->fb : j->fa, end = j->reversed ? j->fa : j->fb;
        const pose frame = pose_mul(skel__pose_of(x, m->body[i].parent), start);
        const pose other = pose_mul(frame, j->reversed ? pose_inverse(move) : move);
        const pose at = pose_mul(other, pose_inverse(end));
        x[i].p = at.p;
        x[i].q = q_unit(at.q);
    }
}

void skel__fk(const skel_model *m, const double *q, skel__kin *x) {
    place_all(m, q, x, 0);
}

void skel__fk_with_mimics(const skel_model *m, const double *q, skel__kin *x) {
    place_all(m, q, x, 1);
}

void skel__q_of(const skel_model *m, const skel__kin *x, double *q) {
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        skel__joint_q(x, j, q + j->q_offset);
    }
}

void skel__fk_velocity(skel_state *s, const double *qd) {
    const skel_model *m = s->m;
    skel__prepare(s, s->x);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], p = m->body[i].parent;
        if (m->body[i].joint < 0) continue;

        const skel__joint *j = &m->joint[m->body[i].joint];
        const double *rate = qd + j->v_offset;
        const skel__joint_world g = skel__joint_at(s, s->x, j);
        const double sign = j->reversed ? -1.0 : 1.0;

        /* Levers from the tree parent and from the child to the common point, b's joint point. */
        const v3 to_b = v3_sub(g.ra, g.gap);
        const v3 rp = j->reversed ? g.rb : to_b, rc = j->reversed ? to_b : g.rb;

        /* Velocity u of the common point, and angular velocity relative to the parent. */
        v3 u = v3_add(s->x[p].v, v3_cross(s->ww[p], rp)), spin = {0, 0, 0};
        for (int c = 0; c < skel__joint_kinds[j->type].dof; ++c) {
            const skel__joint_column s_c = skel__joint_column_of(j, g.ea, g.eb, c);
            if (s_c.shift != 0) u = v3_mad(u, sign * s_c.shift * rate[c], s_c.axis);
            if (s_c.turn != 0)
                spin = c == 0 ? v3_scale(s_c.axis, rate[c]) : v3_mad(spin, rate[c], s_c.axis);
        }

        /* Velocities of the child. */
        s->ww[i] = v3_mad(s->ww[p], sign, spin);
        s->x[i].w = skel__body_axes(s, i, s->ww[i]);
        s->x[i].v = v3_sub(u, v3_cross(s->ww[i], rc));
    }
}

void skel__qd_of(const skel_model *m, const skel__kin *x, double *qd) {
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        const m3 ra = q_matrix(x[j->a].q), rb = q_matrix(x[j->b].q);
        const v3 wa = m3_mulv(ra, x[j->a].w), wb = m3_mulv(rb, x[j->b].w);
        const skel__joint_world g = joint_between(x, j, &ra, &rb);
        const v3 spin = v3_sub(wb, wa);
        double *out = qd + j->v_offset;

        for (int c = 0; c < skel__joint_kinds[j->type].dof; ++c) {
            const v3 rate = skel__is_length(j->type, c) ? slip_between(x, j, &g, wa, wb) : spin;
            out[c] = v3_dot(rate, skel__joint_column_of(j, g.ea, g.eb, c).axis);
        }
    }
}
