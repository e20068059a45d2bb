/* SPDX-License-Identifier: BSD-3-Clause */
/* Joint friction in the energy-momentum step. With the mean relative velocity w, its value w0 at
   the start of the step and M the mobility of the two bodies, the impulse is
     T = -h d (w + K (w - w0)),   X = h d M / 2,   K = X^2 (1 + X^2)^-1.
   The midpoint rule, K = 0, is of second order. But if the friction is stiff relative to the step,
   it reverses a relative velocity in every step instead of stopping it: with one degree of freedom,
   w1 / w0 = (1 - X) / (1 + X). With K that factor is (1 - X / (1 + X^2)) / (1 + X (1 + K)), which
   is positive and tends to zero. The step keeps its order, because K is of the order h^2. */
#include "integrate/conserving.h"

/* Values of X. */
#define FRICTION_X_SLOW 1e-3   /* below, K is left out */
#define FRICTION_X_ROUNDED 1e3 /* above, the rounding of velocities is visible in the impulse */
#define FRICTION_X_MAX 1e8     /* of rotations: a stiffer friction is a rigid joint */
#define FRICTION_X_MAX_SHIFT                                                                       \
    1e6 /* of displacements: their velocities are differences of positions */
#define FRICTION_X_MAX_LOOP 1e5 /* of loops, whose coupling Newton's matrix lacks */
#define FRICTION_X_BOUND 100.0  /* bound of X in K, which is almost 1 there */

/* Angular velocity by a unit torque of one side of the joint, with the joint point held. */
static m3 rotational_mobility(const skel_model *m, int32_t i, v3 lever) {
    if (!skel__is_dynamic(m, i)) return m3_zero();
    const skel__body *b = &m->body[i];
    const m3 x = m3_skew(lever);
    return m3_inverse(m3_add(b->inertia, m3_scale(m3_tmul(x, x), b->mass)));
}

static double shift_mobility(const skel_model *m, int32_t i) {
    return skel__is_dynamic(m, i) ? 1.0 / m->body[i].mass : 0.0;
}

void skel__conserving_friction_reserve(const skel_model *m, skel__conserving_friction *friction) {
    for (int32_t k = 0; k < m->nj + m->npin; ++k) {
        const skel__joint *j = &m->joint[k];
        skel__conserving_friction *f = &friction[k];
        f->shift_bound = shift_mobility(m, j->a) + shift_mobility(m, j->b);
        f->mobility[0] = rotational_mobility(m, j->a, j->fa.p);
        f->mobility[1] = rotational_mobility(m, j->b, j->fb.p);
        f->turn_bound = m3_trace(f->mobility[0]) + m3_trace(f->mobility[1]);
    }
}

/* K of the symmetric X. X is replaced by X (1 + X / bound)^-1 first, which hardly changes small
   values. Otherwise the square of a large eigenvalue would leave no digits of a small one. */
static m3 end_weight_of(m3 x) {
    const m3 one = m3_identity();
    const m3 bounded =
        m3_scale(m3_sub(one, m3_inverse(m3_add(one, m3_scale(x, 1.0 / FRICTION_X_BOUND)))),
                 FRICTION_X_BOUND);
    return m3_sub(one, m3_inverse(m3_add(one, m3_mul(bounded, bounded))));
}

/* Bounds the coefficient so that X is at most x_max: a stiffer friction would leave nothing but
   rounding of the other forces. unit: bound of X / d. Returns X. */
static double set_coefficient(const skel__joint *j, double unit, double x_max,
                              skel__conserving_friction_start *at) {
    const double most = j->is_loop ? FRICTION_X_MAX_LOOP : x_max;
    at->coefficient = j->friction * unit > most ? most / unit : j->friction;
    const double x = at->coefficient * unit;
    at->has_end_weight = x > FRICTION_X_SLOW;
    at->needs_refinement = x > FRICTION_X_ROUNDED;
    return x;
}

void skel__conserving_friction_begin(const skel_state *s, int32_t joint, double h) {
    const skel__conserving *em = s->integrator->conserving;
    const skel__joint *j = &s->m->joint[joint];
    const skel__conserving_friction *f = &em->friction[joint];

    /* Displacements: their mobility is a scalar. */
    skel__conserving_friction_start *at = &em->start[joint].shift_friction;
    *at = (skel__conserving_friction_start){0};
    if (skel__length_count(j->type) > 0) {
        const double x = set_coefficient(j, 0.5 * h * f->shift_bound, FRICTION_X_MAX_SHIFT, at);
        if (at->has_end_weight) at->end_weight = m3_diagonal(x * x / (1.0 + x * x));
    }

    /* Rotations. */
    at = &em->start[joint].turn_friction;
    *at = (skel__conserving_friction_start){0};
    if (!skel__has_rotations(j->type)) return;
    set_coefficient(j, 0.5 * h * f->turn_bound, FRICTION_X_MAX, at);
    if (!at->has_end_weight) return;

    m3 mobility = m3_zero();
    if (skel__is_dynamic(s->m, j->a)) mobility = m3_conjugate(s->r[j->a], f->mobility[0]);
    if (skel__is_dynamic(s->m, j->b))
        mobility = m3_add(mobility, m3_conjugate(s->r[j->b], f->mobility[1]));
    at->end_weight = end_weight_of(m3_scale(mobility, 0.5 * h * at->coefficient));
}

/* Adds a wrench, whose force acts at `point`, to the impulses and the residual of a body. Returns
   its work. */
static double add_wrench(skel_state *s, int32_t i, double sign, v3 force, v3 torque, v3 point) {
    skel__conserving *em = s->integrator->conserving;
    const v3 centre = skel__mean_centre(s, em, i);
    const v3 moment = v3_add(torque, v3_cross(v3_sub(point, centre), force));
    const v3 spin = m3_mulv(s->r[i], em->w[i]);
    const double work = sign * (v3_dot(force, em->vbar[i]) + v3_dot(moment, spin));
    if (!skel__is_dynamic(s->m, i)) return work;

    double *rho = em->rho + 6 * (size_t)i;
    em->j_lin[i] = v3_mad(em->j_lin[i], sign, force);
    em->j_ang[i] = v3_mad(em->j_ang[i], sign, moment);
    v3_to(v3_mad(v3_of(rho), sign, force), rho);
    v3_to(v3_mad(v3_of(rho + 3), sign, moment), rho + 3);
    return work;
}

/* Adds a wrench to the impulse of a tree joint. The recorded wrench is the one on a. */
static void refine_by(skel_state *s, int32_t joint, v3 force, v3 torque) {
    const skel__joint *j = &s->m->joint[joint];
    skel__conserving_joint *e = &s->integrator->conserving->joint[joint];
    const double on_a = j->reversed ? -1.0 : 1.0;
    e->force = v3_mad(e->force, on_a, force);
    e->torque = v3_mad(e->torque, on_a, torque);
    e->friction += add_wrench(s, j->a, on_a, force, torque, e->point);
    e->friction += add_wrench(s, j->b, -on_a, force, torque, e->point);
}

/* A stiff friction multiplies the rounding of velocities, so that the error of its impulse would be
   visible in the momenta. The residual of the child body gives the error to all digits. It is
   passed on to the parent body, children before parents, so that the sum of the momenta stays
   exact. */
void skel__conserving_friction_refine(skel_state *s) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;

    for (int32_t k = m->nd - 1; k >= 0; --k) {
        const int32_t i = m->order[k], joint = m->body[i].joint;
        if (joint < 0) continue;
        const skel__conserving_joint_start *start = &em->start[joint];
        if (start->is_plain_ball) continue;

        /* The friction of a displacement acts along its mean axis alone. */
        const skel__joint *j = &m->joint[joint];
        const double *rho = em->rho + 6 * (size_t)i;
        const v3 none = {0, 0, 0};
        const int lengths =
            start->shift_friction.needs_refinement ? skel__length_count(j->type) : 0;
        for (int c = 0; c < lengths; ++c) {
            const int n = skel__joint_motions[j->type].freedom[c].axis;
            const v3 axis = v3_add(start->e[0][n], m3_mulv(em->r1[j->a], j->ea.r[n]));
            const double share = v3_dot(v3_of(rho), axis) / v3_dot(axis, axis);
            refine_by(s, joint, v3_scale(axis, share), none);
        }
        if (start->turn_friction.needs_refinement) refine_by(s, joint, none, v3_of(rho + 3));
    }
}
