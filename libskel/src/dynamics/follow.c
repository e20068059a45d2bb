/* SPDX-License-Identifier: BSD-3-Clause */
/* Follow springs: springs toward an animation. Their stiffness is given as a frequency f. With D
   the inertia of the composite body that hangs from the joint, about the joint, in the pose of the
   first step, the torque is
     T = -weight D (w^2 e + 2 zeta w e'),   w = 2 pi f,
   where e is the rotation vector from the target to the pose. Every joint oscillates with the
   frequency f, whether a finger or a leg hangs from it. follow.max bounds T smoothly. Coordinates
   that are lengths have the same law, with a displacement e and the mass of the composite body. */
#include "dynamics/dynamics.h"
#include "model/joint_kind.h"

#define FOLLOW_FADE_ANGLE 2.4 /* [rad] error beyond which the spring becomes weaker */

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

/* Factor on the error. At half a turn the shorter rotation to the target changes its direction.
   The factor goes to 0 smoothly toward that angle, so that the torque does not jump. */
static double fade_of(double angle) {
    const double x = (fabs(angle) - FOLLOW_FADE_ANGLE) / (0.5 * SKEL__TURN - FOLLOW_FADE_ANGLE);
    if (x <= 0) return 1.0;
    return x >= 1 ? 0.0 : 0.5 * (1.0 + cos(0.5 * SKEL__TURN * x));
}

/* Its derivative by |angle|. */
static double fade_slope(double angle) {
    const double width = 0.5 * SKEL__TURN - FOLLOW_FADE_ANGLE;
    const double x = (fabs(angle) - FOLLOW_FADE_ANGLE) / width;
    if (x <= 0 || x >= 1) return 0.0;
    return -0.25 * SKEL__TURN / width * sin(0.5 * SKEL__TURN * x);
}

/* Error of an angle, with the factor. */
static double faded(double angle) {
    const double a = wrap(angle);
    return a * fade_of(a);
}

/* Ball: the rotation from the target to the pose, in the outer frame. */
static quat error_turn(pose outer, pose inner, const double *want) {
    return q_mul(q_mul(q_conj(outer.q), inner.q), q_conj(q_of(want)));
}

/* Adds `value` times the axis of coordinate k to the displacement or to the rotation. */
static void add_along(const skel__joint *j, int k, double value, v3 axis, skel__twist *to) {
    v3 *part = skel__is_length(j->type, k) ? &to->v : &to->w;
    const int is_first = k == 0 || k == skel__length_count(j->type);
    *part = is_first ? v3_scale(axis, value) : v3_mad(*part, value, axis);
}

skel__twist skel__follow_error(const skel__joint *j, pose outer, pose inner, const double *want) {
    skel__twist error = {{0, 0, 0}, {0, 0, 0}};
    if (j->type == SKEL_JOINT_BALL) {
        const v3 e = q_log(error_turn(outer, inner, want));
        error.w = q_rotate(outer.q, v3_scale(e, fade_of(v3_norm(e))));
        return error;
    }

    /* Differences of the coordinates, along their axes. */
    double q[4] = {0};
    skel__joint_measure(j, outer, inner, q);
    for (int k = 0; k < skel__joint_nq(j->type); ++k) {
        const double d = q[k] - want[k];
        const v3 axis = skel__freedom_axis(j->type, outer.q, inner.q, k);
        add_along(j, k, skel__is_periodic(j, k) ? faded(d) : d, axis, &error);
    }
    return error;
}

skel__twist skel__follow_change(const skel__joint *j, const pose outer[2], const pose inner[2],
                                const double *want) {
    skel__twist change = {{0, 0, 0}, {0, 0, 0}};
    if (j->type == SKEL_JOINT_BALL) {
        const quat from = error_turn(outer[0], inner[0], want);
        const quat to = error_turn(outer[1], inner[1], want + 4);
        change.w = q_rotate(outer[1].q, q_log(q_mul(to, q_conj(from))));
        return change;
    }

    double q[2][4] = {{0}};
    for (int k = 0; k < 2; ++k) skel__joint_measure(j, outer[k], inner[k], q[k]);
    for (int k = 0; k < skel__joint_nq(j->type); ++k) {
        const double d = q[1][k] - want[4 + k] - q[0][k] + want[k];
        const v3 axis = skel__freedom_axis(j->type, outer[1].q, inner[1].q, k);
        add_along(j, k, skel__is_periodic(j, k) ? wrap(d) : d, axis, &change);
    }
    return change;
}

/* Derivative of the rotation vector e = log(E) by a small rotation on the left of E: the inverse of
   the left Jacobian, 1 - [e]/2 + c [e]^2 with c = 1/t^2 - (1 + cos t) / (2 t sin t), t = |e|. */
static m3 log_derivative(v3 e) {
    const double t2 = v3_dot(e, e), t = sqrt(t2);
    double c = 0.1; /* close to half a turn, where c has a pole */
    if (t2 < 1e-4)
        c = 1.0 / 12.0 + t2 / 720.0;
    else if (t < 3.1)
        c = 1.0 / t2 - (1.0 + cos(t)) / (2.0 * t * sin(t));

    const m3 x = m3_skew(e);
    return m3_add(m3_sub(m3_identity(), m3_scale(x, 0.5)), m3_scale(m3_mul(x, x), c));
}

/* Adds the derivatives of value z. The axis z rotates with the outer frame (a = 0) or the inner one
   (a = 1), and `slope` is the derivative of the value by the angle about z. */
static void add_axis_slope(v3 z, double value, double slope, int a, m3 out[2]) {
    out[0] = m3_sub_outer(out[0], slope, z, z);
    out[1] = m3_sub_outer(out[1], -slope, z, z);
    out[a] = m3_sub(out[a], m3_scale(m3_skew(z), value));
}

/* Derivatives of factor l, with l the rotation vector of a ball (world axes) and factor_slope the
   derivative of the factor by |l|. */
static void ball_slopes(v3 l, double factor, double factor_slope, m3 out[2]) {
    const double angle = v3_norm(l);
    m3 by_l = m3_diagonal(factor);
    if (angle > 0) by_l = m3_sub_outer(by_l, -factor_slope / angle, l, l);

    out[1] = m3_mul(by_l, log_derivative(l));
    out[0] = m3_scale(m3_add(out[1], m3_scale(m3_skew(l), factor)), -1.0);
}

void skel__follow_error_slopes(const skel__joint *j, pose outer, pose inner, const double *want,
                               m3 out[2]) {
    out[0] = m3_zero();
    out[1] = m3_zero();
    if (j->type == SKEL_JOINT_BALL) {
        const v3 l = q_rotate(outer.q, q_log(error_turn(outer, inner, want)));
        const double angle = v3_norm(l);
        ball_slopes(l, fade_of(angle), fade_slope(angle), out);
        return;
    }

    double q[4] = {0};
    skel__joint_measure(j, outer, inner, q);
    for (int k = skel__length_count(j->type); k < skel__joint_nq(j->type); ++k) {
        const v3 axis = skel__freedom_axis(j->type, outer.q, inner.q, k);
        const int is_inner = skel__joint_motions[j->type].freedom[k].is_inner;
        const double d = q[k] - want[k];
        if (!skel__is_periodic(j, k)) {
            add_axis_slope(axis, d, 1.0, is_inner, out);
            continue;
        }
        const double a = wrap(d);
        add_axis_slope(axis, faded(a), fade_of(a) + fabs(a) * fade_slope(a), is_inner, out);
    }
}

void skel__follow_change_slopes(const skel__joint *j, pose outer, pose inner, v3 change,
                                m3 out[2]) {
    out[0] = m3_zero();
    out[1] = m3_zero();
    if (j->type == SKEL_JOINT_BALL) {
        ball_slopes(change, 1.0, 0.0, out);
        return;
    }

    for (int k = skel__length_count(j->type); k < skel__joint_nq(j->type); ++k) {
        const v3 axis = skel__freedom_axis(j->type, outer.q, inner.q, k);
        const int is_inner = skel__joint_motions[j->type].freedom[k].is_inner;
        add_axis_slope(axis, v3_dot(axis, change), 1.0, is_inner, out);
    }
}

double skel__follow_weight(const skel__joint *j, double t) {
    double weight = j->follow.weight.count > 0 ? 0.0 : 1.0;
    skel__curve_add(&j->follow.weight, t, &weight);
    return weight;
}

double skel__follow_bound(const skel__joint *j, v3 pull) {
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

/* Velocity of the joint as the spring sees it: displacements along their axes, and rotation. */
static skel__twist joint_rate(const skel_state *s, const skel__kin *x, const skel__joint *j) {
    skel__twist rate = {{0, 0, 0}, v3_sub(s->ww[j->b], s->ww[j->a])};
    const int lengths = skel__length_count(j->type);
    if (lengths == 0) return rate;

    const skel__joint_world g = skel__joint_at(s, x, j);
    const v3 slip = skel__joint_slip(s, x, j, &g);
    for (int k = 0; k < lengths; ++k) {
        const v3 axis = skel__joint_column_of(j, g.ea, g.eb, k).axis;
        add_along(j, k, v3_dot(slip, axis), axis, &rate);
    }
    return rate;
}

skel__wrench skel__follow_load(const skel_state *s, const skel__kin *x, int32_t joint, double t,
                               skel__side side) {
    const skel__joint *j = &s->m->joint[joint];
    const double w = SKEL__TURN * j->follow.frequency;
    const pose outer = pose_mul(skel__pose_of(x, j->a), j->fa);
    const pose inner = pose_mul(skel__pose_of(x, j->b), j->fb);

    /* Error, and its rate by the motion of the target: a difference over h on that side of t. */
    const double h = side == SKEL__BEFORE ? -1e-6 : 1e-6;
    const pose outers[2] = {outer, outer}, inners[2] = {inner, inner};
    double want[8];
    skel__follow_target(j, t, want);
    skel__follow_target(j, t + h, want + 4);
    const skel__twist e = skel__follow_error(j, outer, inner, want);
    const skel__twist drift = skel__follow_change(j, outers, inners, want);
    const skel__twist rate = joint_rate(s, x, j);

    /* T = -weight D (w^2 e + 2 zeta w e'), for displacements and for rotations. */
    const double damp = 2.0 * j->follow.damping * w, weight = skel__follow_weight(j, t);
    const int lengths = skel__length_count(j->type);
    skel__wrench pull = {{0, 0, 0}, {0, 0, 0}};
    if (lengths > 0) {
        const v3 speed = v3_add(rate.v, v3_scale(drift.v, 1.0 / h));
        const v3 swing = v3_mad(v3_scale(e.v, w * w), damp, speed);
        pull.f = v3_scale(v3_scale(swing, s->follow_mass[joint]), -weight);
        pull.f = v3_scale(pull.f, skel__follow_bound(j, pull.f));
    }
    if (skel__has_rotations(j->type)) {
        const v3 spin = v3_add(rate.w, v3_scale(drift.w, 1.0 / h));
        const v3 swing = v3_mad(v3_scale(e.w, w * w), damp, spin);
        pull.n = v3_scale(m3_mulv(skel__follow_inertia(s, s->r, joint), swing), -weight);
        pull.n = v3_scale(pull.n, skel__follow_bound(j, pull.n));
    }
    return pull;
}

/* ---- composite bodies ---- */

/* A body alone. */
static skel__composite composite_of(const skel_state *s, int32_t i) {
    const skel__body *b = &s->m->body[i];
    return (skel__composite){b->mass, s->x[i].p, m3_conjugate(s->r[i], b->inertia), 0};
}

/* I = I_1 + I_2 + m_1 m_2 / m [d]^T [d], all about the centres of mass. */
static void composite_add(skel__composite *to, const skel__composite *one) {
    const double mass = to->mass + one->mass;
    const v3 d = v3_sub(one->centre, to->centre);
    const m3 x = m3_skew(d);
    if (!(mass > 0)) return;

    const double share = one->mass / mass;
    const m3 apart = m3_scale(m3_tmul(x, x), to->mass * share);
    to->inertia = m3_add(to->inertia, m3_add(one->inertia, apart));
    to->centre = v3_mad(to->centre, share, d);
    to->mass = mass;
}

/* Inertia of the composite body c about the joint, in the axes of body c. */
static m3 composite_at_joint(const skel_state *s, const skel__joint *j, int32_t c) {
    const skel__composite *l = &s->composite[c];
    const v3 at = v3_add(s->x[c].p, m3_mulv(s->r[c], c == j->b ? j->fb.p : j->fa.p));
    const m3 x = m3_skew(v3_sub(l->centre, at));
    m3 d = m3_add(l->inertia, m3_scale(m3_tmul(x, x), l->mass));

    /* A rotation that comes with a displacement moves the mass along its axis. */
    for (int k = skel__length_count(j->type); k < skel__joint_nv(j->type); ++k) {
        const double shift = skel__joint_shift(j, k);
        if (shift == 0) continue;
        const m3 *axes = c == j->b ? &j->eb : &j->ea;
        const v3 axis = m3_mulv(s->r[c], axes->r[skel__joint_motions[j->type].freedom[k].axis]);
        d = m3_sub_outer(d, -l->mass * shift * shift, axis, axis);
    }
    return m3_symmetric(m3_mul(m3_tmul(s->r[c], d), s->r[c]));
}

/* Force, or torque at the radius of gyration, that may press on a stop: the geometric mean of the
   model's weight and of the composite body's weight. The whole weight would make the stop of a
   finger so stiff that rounding errors excite oscillations. */
static double load_on_stop(const skel_state *s, int32_t joint, int32_t c) {
    const m3 d = s->follow_inertia[joint];
    const double mass = s->composite[c].mass;
    const double force = sqrt(s->m->weight * mass * s->m->gravity_norm);
    if (skel__is_length(s->m->joint[joint].type, 0) || !(mass > 0)) return force;
    return force * sqrt(m3_trace(d) / (3.0 * mass));
}

/* Body that the composite body c of the joint hangs from; -1: the world. */
static int32_t carrier_of(const skel__joint *j, int32_t c) {
    return j->a + j->b - c;
}

/* Composite bodies along the direction of the joints (parent to child), from the leaves inward,
   whether or not a joint closes a loop: an arm has the same inertia whether its hand holds a bar or
   not. A closed ring has no leaf; it is cut at the first joint in the order of the loop. */
skel_status skel__follow_prepare(skel_state *s) {
    const skel_model *m = s->m;
    if (!skel__needs_composites(m) || s->has_follow_inertia) return SKEL_OK;
    skel__prepare(s, s->x);

    /* Count the joints below every body. */
    for (int32_t i = 0; i < m->nb; ++i) s->composite[i] = composite_of(s, i);
    for (int32_t e = 0; e < m->nj; ++e) {
        const int32_t c = skel__follow_body(m, &m->joint[e]);
        const int32_t p = carrier_of(&m->joint[e], c);
        if (p >= 0) s->composite[p].waiting += 1;
        s->follow_inertia[e].r[0].x = -1; /* not yet known */
    }

    /* Sweep over the joints until all are known. A sweep without progress cuts a ring. */
    int is_cut = 0;
    for (int32_t left = m->nj, before = left; left > 0; before = left) {
        for (int32_t e = m->nj - 1; e >= 0; --e) {
            const int32_t c = skel__follow_body(m, &m->joint[e]);
            const int32_t p = carrier_of(&m->joint[e], c);
            if (s->follow_inertia[e].r[0].x >= 0) continue;
            if (s->composite[c].waiting > 0 && !is_cut) continue;

            s->follow_inertia[e] = composite_at_joint(s, &m->joint[e], c);
            s->follow_mass[e] = s->composite[c].mass;
            s->stop_load[e] = load_on_stop(s, e, c);
            if (p >= 0) {
                s->composite[p].waiting -= 1;
                composite_add(&s->composite[p], &s->composite[c]);
            }
            is_cut = 0;
            --left;
        }
        is_cut = left == before;
    }
    s->has_follow_inertia = 1;
    return SKEL_OK;
}
