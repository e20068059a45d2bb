/* SPDX-License-Identifier: BSD-3-Clause */
/* Springs toward an animation. The stiffness is a frequency: with D the inertia that hangs from the
   joint, about the joint, at the start (articulated, child's axes), the spring pulls with
     T = -weight D (w^2 e + 2 zeta w e'),   w = 2 pi f,   e the turn from the target to here,
   so everything that follows swings at f, a finger like a leg. Bounded smoothly by follow_max. */
#include "algo/algo.h"

static double wrap(double angle) {
    const double turn = 2.0 * 3.14159265358979323846;
    return angle - turn * nearbyint(angle / turn);
}

/* Target coordinates at t: linear between samples; ball quaternions are made unit again. */
static void target_at(const skel__joint *j, double t, double q[4]) {
    for (int k = 0; k < 4; ++k) q[k] = 0;
    skel__curve_add(&j->follow_curve, t, q);
    if (j->type != SKEL_JOINT_BALL) return;
    const quat r = q_of(q);
    q_to(q_dot(r, r) > 1e-12 ? q_unit(r) : q_identity(), q);
}

v3 skel__follow_error(const skel__joint *j, pose outer, pose inner, double t) {
    double q[4] = {0}, want[4];
    target_at(j, t, want);
    if (j->type == SKEL_JOINT_BALL) { /* e turns with a, seen from the world */
        const quat rel = q_mul(q_conj(outer.q), inner.q);
        return q_rotate(outer.q, q_log(q_mul(rel, q_conj(q_of(want)))));
    }
    skel__joint_measure(j, outer, inner, q);
    const v3 z = q_rotate(outer.q, (v3){0, 0, 1});
    switch (j->type) {
    case SKEL_JOINT_HINGE: return v3_scale(z, wrap(q[0] - want[0]));
    case SKEL_JOINT_SLIDE: return v3_scale(z, q[0] - want[0]);
    case SKEL_JOINT_UNIVERSAL:
        return v3_mad(v3_scale(z, wrap(q[0] - want[0])), wrap(q[1] - want[1]),
                      q_rotate(inner.q, (v3){1, 0, 0}));
    default: return (v3){0, 0, 0};
    }
}

double skel__follow_weight(const skel__joint *j, double t) {
    double weight = j->follow_weight.count > 0 ? 0.0 : 1.0;
    skel__curve_add(&j->follow_weight, t, &weight);
    return weight;
}

double skel__follow_bound(const skel__joint *j, v3 pull) {
    if (j->follow_max <= 0) return 1.0;
    const double ratio = v3_norm(pull) / j->follow_max;
    return 1.0 / sqrt(1.0 + ratio * ratio);
}

m3 skel__follow_inertia(const skel_state *s, const m3 *r, int32_t joint) {
    const int32_t b = s->m->joint[joint].reversed ? s->m->joint[joint].a : s->m->joint[joint].b;
    return m3_conjugate(r[b], s->follow_inertia[joint]);
}

v3 skel__follow_pull(const skel_state *s, const skel__kin *x, int32_t joint, double t) {
    const skel__joint *j     = &s->m->joint[joint];
    const double       h     = 1e-6; /* for the target's own speed */
    const double       w     = 2.0 * 3.14159265358979323846 * j->follow_frequency;
    const pose         outer = pose_mul((pose){x[j->a].p, x[j->a].q}, j->fa);
    const pose         inner = pose_mul((pose){x[j->b].p, x[j->b].q}, j->fb);
    const v3           e     = skel__follow_error(j, outer, inner, t);
    const v3 drift = v3_scale(v3_sub(skel__follow_error(j, outer, inner, t + h), e), 1.0 / h);
    const skel__joint_world g    = skel__joint_at(s, x, j);
    const v3                rate = j->type == SKEL_JOINT_SLIDE
                                       ? v3_scale(g.ea[2], v3_dot(skel__joint_slip(s, x, j, &g), g.ea[2]))
                                       : v3_sub(s->ww[j->b], s->ww[j->a]);
    const v3 swing = v3_mad(v3_scale(e, w * w), 2.0 * j->follow_damping * w, v3_add(rate, drift));
    const v3 pull =
        v3_scale(m3_mulv(skel__follow_inertia(s, s->r, joint), swing), -skel__follow_weight(j, t));
    return v3_scale(pull, skel__follow_bound(j, pull));
}

/* Inertias from the factored tree at the pose of the state. A slide has a mass: the same along all
   axes, so that it needs no turning. */
skel_status skel__follow_prepare(skel_state *s) {
    const skel_model *m = s->m;
    if (!m->has_follow || s->has_follow_inertia) return SKEL_OK;
    skel__prepare(s, s->x);
    const skel_status status = skel__aba_factor(s, s->x);
    if (status != SKEL_OK) return status;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], e = m->body[i].joint;
        if (e < 0 || m->joint[e].follow_frequency <= 0) continue;
        const skel__aba *t = &s->aba[i];
        if (m->joint[e].type == SKEL_JOINT_SLIDE)
            s->follow_inertia[e] = m3_diagonal(v3_dot(t->s[0], m3_mulv(t->a, t->s[0])));
        else
            s->follow_inertia[e] = m3_symmetric(m3_mul(m3_tmul(s->r[i], t->d), s->r[i]));
    }
    s->has_follow_inertia = 1;
    return SKEL_OK;
}
