/* SPDX-License-Identifier: BSD-3-Clause */
/* Springs toward an animation. The stiffness is a frequency: with D the inertia that hangs from the
   joint, about the joint, at the start (as one lump, in its own axes), the spring pulls with
     T = -weight D (w^2 e + 2 zeta w e'),   w = 2 pi f,   e the turn from the target to here,
   so everything that follows swings at f, a finger like a leg. Bounded smoothly by follow_max. */
#include "dynamics/dynamics.h"

#define LETS_GO 2.4 /* [rad] */

static double wrap(double angle) {
    return angle - SKEL__TURN * nearbyint(angle / SKEL__TURN);
}

void skel__follow_target(const skel__joint *j, double t, double q[4]) {
    for (int k = 0; k < 4; ++k) q[k] = 0;
    skel__curve_add(&j->follow.target, t, q);
    if (j->type != SKEL_JOINT_BALL) return;
    const quat r = q_of(q);
    q_to(q_dot(r, r) > 1e-12 ? q_unit(r) : q_identity(), q);
}

/* Beyond half a turn the short way back is the other one. Towards there the spring lets go,
   smoothly, so that what falls over passes without a jolt. */
static double hold_of(double angle) {
    const double x = (fabs(angle) - LETS_GO) / (0.5 * SKEL__TURN - LETS_GO);
    if (x <= 0) return 1.0;
    return x >= 1 ? 0.0 : 0.5 * (1.0 + cos(0.5 * SKEL__TURN * x));
}

/* Its derivative by |angle|. */
static double hold_slope(double angle) {
    const double wide = 0.5 * SKEL__TURN - LETS_GO, x = (fabs(angle) - LETS_GO) / wide;
    return x <= 0 || x >= 1 ? 0.0 : -0.25 * SKEL__TURN / wide * sin(0.5 * SKEL__TURN * x);
}

static double held(double angle) {
    const double a = wrap(angle);
    return a * hold_of(a);
}

/* Ball: the turn from the target to here, in the outer frame. */
static quat error_turn(pose outer, pose inner, const double *want) {
    return q_mul(q_mul(q_conj(outer.q), inner.q), q_conj(q_of(want)));
}

v3 skel__follow_error(const skel__joint *j, pose outer, pose inner, const double *want) {
    double q[4] = {0};
    if (j->type == SKEL_JOINT_BALL) { /* e turns with a, seen from the world */
        const v3 e = q_log(error_turn(outer, inner, want));
        return q_rotate(outer.q, v3_scale(e, hold_of(v3_norm(e))));
    }
    skel__joint_measure(j, outer, inner, q);
    const v3 z = q_rotate(outer.q, (v3){0, 0, 1});
    switch (j->type) {
    case SKEL_JOINT_HINGE: return v3_scale(z, held(q[0] - want[0]));
    case SKEL_JOINT_SLIDE: return v3_scale(z, q[0] - want[0]);
    case SKEL_JOINT_UNIVERSAL:
        return v3_mad(v3_scale(z, held(q[0] - want[0])), held(q[1] - want[1]),
                      q_rotate(inner.q, (v3){1, 0, 0}));
    default: return (v3){0, 0, 0};
    }
}

v3 skel__follow_change(const skel__joint *j, const pose outer[2], const pose inner[2],
                       const double *want) {
    double q[2][4] = {{0}};
    if (j->type == SKEL_JOINT_BALL) {
        const quat from = error_turn(outer[0], inner[0], want);
        const quat to   = error_turn(outer[1], inner[1], want + 4);
        return q_rotate(outer[1].q, q_log(q_mul(to, q_conj(from))));
    }
    for (int k = 0; k < 2; ++k) skel__joint_measure(j, outer[k], inner[k], q[k]);
    const double d = q[1][0] - want[4] - q[0][0] + want[0];
    const v3     z = q_rotate(outer[1].q, (v3){0, 0, 1});
    switch (j->type) {
    case SKEL_JOINT_HINGE: return v3_scale(z, wrap(d));
    case SKEL_JOINT_SLIDE: return v3_scale(z, d);
    case SKEL_JOINT_UNIVERSAL:
        return v3_mad(v3_scale(z, wrap(d)), wrap(q[1][1] - want[5] - q[0][1] + want[1]),
                      q_rotate(inner[1].q, (v3){1, 0, 0}));
    default: return (v3){0, 0, 0};
    }
}

/* d log(E) for a small turn on the left of E: the inverse left Jacobian at e. */
static m3 log_derivative(v3 e) {
    const double t2 = v3_dot(e, e), t = sqrt(t2);
    const double c = t2 < 1e-4 ? 1.0 / 12.0 + t2 / 720.0
                               : (t < 3.1 ? 1.0 / t2 - (1.0 + cos(t)) / (2.0 * t * sin(t)) : 0.1);
    const m3     x = m3_skew(e);
    return m3_add(m3_sub(m3_identity(), m3_scale(x, 0.5)), m3_scale(m3_mul(x, x), c));
}

/* Of value z about an axis z that turns with the outer frame (a = 0) or the inner one (1), which
   grows by `slope` with the angle about it. */
static void add_axis_slope(v3 z, double value, double slope, int a, m3 out[2]) {
    out[0] = m3_sub_outer(out[0], slope, z, z);
    out[1] = m3_sub_outer(out[1], -slope, z, z);
    out[a] = m3_sub(out[a], m3_scale(m3_skew(z), value));
}

/* A ball's turn l, in world axes, held with the factor `hold`, which grows with its angle. */
static void ball_slopes(v3 l, double hold, double grows, m3 out[2]) {
    const double angle = v3_norm(l);
    const m3     held =
        angle > 0 ? m3_sub_outer(m3_diagonal(hold), -grows / angle, l, l) : m3_diagonal(hold);
    out[1] = m3_mul(held, log_derivative(l));
    out[0] = m3_scale(m3_add(out[1], m3_scale(m3_skew(l), hold)), -1.0);
}

void skel__follow_error_slopes(const skel__joint *j, pose outer, pose inner, const double *want,
                               m3 out[2]) {
    double q[4] = {0};
    out[0] = out[1] = m3_zero();
    if (j->type == SKEL_JOINT_BALL) {
        const v3     l     = q_rotate(outer.q, q_log(error_turn(outer, inner, want)));
        const double angle = v3_norm(l);
        ball_slopes(l, hold_of(angle), hold_slope(angle), out);
        return;
    }
    skel__joint_measure(j, outer, inner, q);
    const v3 axis[2] = {q_rotate(outer.q, (v3){0, 0, 1}), q_rotate(inner.q, (v3){1, 0, 0})};
    for (int k = 0; k < (j->type == SKEL_JOINT_UNIVERSAL ? 2 : 1); ++k) {
        const double a = wrap(q[k] - want[k]);
        add_axis_slope(axis[k], held(a), hold_of(a) + fabs(a) * hold_slope(a), k, out);
    }
}

void skel__follow_change_slopes(const skel__joint *j, pose outer, pose inner, v3 change,
                                m3 out[2]) {
    out[0] = out[1] = m3_zero();
    if (j->type == SKEL_JOINT_BALL) {
        ball_slopes(change, 1.0, 0.0, out);
        return;
    }
    const v3 axis[2] = {q_rotate(outer.q, (v3){0, 0, 1}), q_rotate(inner.q, (v3){1, 0, 0})};
    for (int k = 0; k < (j->type == SKEL_JOINT_UNIVERSAL ? 2 : 1); ++k)
        add_axis_slope(axis[k], v3_dot(axis[k], change), 1.0, k, out);
}

double skel__follow_weight(const skel__joint *j, double t) {
    double weight = j->follow.weight.count > 0 ? 0.0 : 1.0;
    skel__curve_add(&j->follow.weight, t, &weight);
    return weight;
}

double skel__follow_torque_factor(const skel__joint *j, v3 pull) {
    if (j->follow.max <= 0) return 1.0;
    const double ratio = v3_norm(pull) / j->follow.max;
    return 1.0 / sqrt(1.0 + ratio * ratio);
}

int32_t skel__follow_body(const skel_model *m, const skel__joint *j) {
    return skel__is_dynamic(m, j->b) ? j->b : j->a;
}

m3 skel__follow_inertia(const skel_state *s, const m3 *r, int32_t joint) {
    return m3_conjugate(r[skel__follow_body(s->m, &s->m->joint[joint])], s->follow_inertia[joint]);
}

v3 skel__follow_torque(const skel_state *s, const skel__kin *x, int32_t joint, double t,
                       skel__side side) {
    const skel__joint *j     = &s->m->joint[joint];
    const double       h     = side == SKEL__BEFORE ? -1e-6 : 1e-6; /* for the target's own speed */
    const double       w     = SKEL__TURN * j->follow.frequency;
    const pose         outer = pose_mul(skel__pose_of(x, j->a), j->fa);
    const pose         inner = pose_mul(skel__pose_of(x, j->b), j->fb);
    const pose         o[2] = {outer, outer}, i[2] = {inner, inner};
    double             want[8];
    skel__follow_target(j, t, want), skel__follow_target(j, t + h, want + 4);
    const v3                e       = skel__follow_error(j, outer, inner, want);
    const v3                drift   = v3_scale(skel__follow_change(j, o, i, want), 1.0 / h);
    const skel__joint_world g       = skel__joint_at(s, x, j);
    const double            along   = v3_dot(skel__joint_slip(s, x, j, &g), g.ea[2]);
    const v3                turning = v3_sub(s->ww[j->b], s->ww[j->a]);
    const v3                rate = j->type == SKEL_JOINT_SLIDE ? v3_scale(g.ea[2], along) : turning;
    const v3 swing = v3_mad(v3_scale(e, w * w), 2.0 * j->follow.damping * w, v3_add(rate, drift));
    const v3 pull =
        v3_scale(m3_mulv(skel__follow_inertia(s, s->r, joint), swing), -skel__follow_weight(j, t));
    return v3_scale(pull, skel__follow_torque_factor(j, pull));
}

static skel__composite lump_of(const skel_state *s, int32_t i) {
    const skel__body *b = &s->m->body[i];
    return (skel__composite){b->mass, s->x[i].p, m3_conjugate(s->r[i], b->inertia), 0};
}

/* I = I_1 + I_2 + m_1 m_2 / m [d]^T [d], all about the centres of mass. */
static void lump_add(skel__composite *to, const skel__composite *one) {
    const double mass = to->mass + one->mass;
    const v3     d    = v3_sub(one->centre, to->centre);
    const m3     x    = m3_skew(d);
    if (!(mass > 0)) return;
    const double share = one->mass / mass;
    const m3     apart = m3_scale(m3_tmul(x, x), to->mass * share);
    to->inertia        = m3_add(to->inertia, m3_add(one->inertia, apart));
    to->centre         = v3_mad(to->centre, share, d);
    to->mass           = mass;
}

/* About the joint, in the axes of what hangs; a slide has a mass, the same along all axes. */
static m3 lump_at_joint(const skel_state *s, const skel__joint *j, int32_t c) {
    const skel__composite *l  = &s->composite[c];
    const v3               at = v3_add(s->x[c].p, m3_mulv(s->r[c], c == j->b ? j->fb.p : j->fa.p));
    const m3               x  = m3_skew(v3_sub(l->centre, at));
    const m3               d  = m3_add(l->inertia, m3_scale(m3_tmul(x, x), l->mass));
    if (j->type == SKEL_JOINT_SLIDE) return m3_diagonal(l->mass);
    return m3_symmetric(m3_mul(m3_tmul(s->r[c], d), s->r[c]));
}

/* What may lean on a stop: the mean of all of the weight and of what hangs there, at the arm of
   that. All of it on a finger would ask for a spring that rounding sets ringing. */
static double lean_on(const skel_state *s, int32_t joint, int32_t c) {
    const m3     d     = s->follow_inertia[joint];
    const double mass  = s->composite[c].mass,
                 force = sqrt(s->m->weight * mass * s->m->gravity_norm);
    if (s->m->joint[joint].type == SKEL_JOINT_SLIDE || !(mass > 0)) return force;
    return force * sqrt(m3_trace(d) / (3.0 * mass));
}

/* Lumps by the joints' own direction, from the ends inward, whichever joints close loops: an arm
   weighs the same whether its hand holds a bar or not. A ring is cut where it must be. */
skel_status skel__follow_prepare(skel_state *s) {
    const skel_model *m = s->m;
    if (!skel__needs_composites(m) || s->has_follow_inertia) return SKEL_OK;
    skel__prepare(s, s->x);
    for (int32_t i = 0; i < m->nb; ++i) s->composite[i] = lump_of(s, i);
    for (int32_t e = 0; e < m->nj; ++e) {
        const int32_t c = skel__follow_body(m, &m->joint[e]), p = m->joint[e].a + m->joint[e].b - c;
        if (p >= 0) s->composite[p].waiting += 1;
        s->follow_inertia[e].r[0].x = -1; /* not yet known */
    }
    int force = 0;
    for (int32_t left = m->nj, before = left; left > 0; before = left) {
        for (int32_t e = m->nj - 1; e >= 0; --e) {
            const int32_t c = skel__follow_body(m, &m->joint[e]),
                          p = m->joint[e].a + m->joint[e].b - c;
            if (s->follow_inertia[e].r[0].x >= 0 || (s->composite[c].waiting > 0 && !force))
                continue;
            s->follow_inertia[e] = lump_at_joint(s, &m->joint[e], c);
            s->stop_load[e]      = lean_on(s, e, c);
            if (p >= 0) s->composite[p].waiting -= 1;
            if (p >= 0) lump_add(&s->composite[p], &s->composite[c]);
            force = 0, --left;
        }
        force = left == before;
    }
    s->has_follow_inertia = 1;
    return SKEL_OK;
}
