/* SPDX-License-Identifier: BSD-3-Clause */
/* Joint friction in the energy-momentum step. With the mean relative velocity w, its value w0 at
   the start of the step and M the mobility of the two bodies, the impulse is
     T = -h d (w + K (w - w0)),   X = h d M / 2,   K = X^2 (1 + X^2)^-1.
   The middle rule, K = 0, is of second order, but if the friction is stiff against the step, it
   turns a relative velocity round in every step instead of stopping it: of one degree of freedom,
   w1 / w0 = (1 - X) / (1 + X). With K that factor is (1 - X / (1 + X^2)) / (1 + X (1 + K)), which
   is positive and tends to zero, and the step keeps its order, because K is of the order h^2. */
#include "integrate/conserving.h"

#define FRICTION_SLOW 1e-3     /* X, below which K is left out */
#define FRICTION_ROUNDED 1e3   /* X, beyond which the rounding of velocities shows in the impulse */
#define FRICTION_MAX 1e8       /* X of turning: a stiffer friction is a rigid joint */
#define FRICTION_MAX_SLIDE 1e6 /* X of slides, whose velocities are differences of positions */
#define FRICTION_MAX_LOOP 1e5  /* X of loops, whose coupling Newton's matrix lacks */
#define FRICTION_SURE 100.0    /* X, beyond which K may be taken as 1 */

/* Velocity of the relative turn by a unit torque, of one side whose point of the joint is held. */
static m3 turning_mobility(const skel_model *m, int32_t i, v3 lever) {
    if (!skel__is_dynamic(m, i)) return m3_zero();
    const skel__body *b = &m->body[i];
    const m3          x = m3_skew(lever);
    return m3_inverse(m3_add(b->inertia, m3_scale(m3_tmul(x, x), b->mass)));
}

static double sliding_mobility(const skel_model *m, int32_t i) {
    return skel__is_dynamic(m, i) ? 1.0 / m->body[i].mass : 0.0;
}

void skel__conserving_friction_reserve(const skel_model *m, skel__conserving_friction *friction) {
    for (int32_t k = 0; k < m->nj + m->npin; ++k) {
        const skel__joint         *j = &m->joint[k];
        skel__conserving_friction *f = &friction[k];
        if (j->type == SKEL_JOINT_SLIDE) {
            f->most = sliding_mobility(m, j->a) + sliding_mobility(m, j->b);
            continue;
        }
        f->mobility[0] = turning_mobility(m, j->a, j->fa.p);
        f->mobility[1] = turning_mobility(m, j->b, j->fb.p);
        f->most        = m3_trace(f->mobility[0]) + m3_trace(f->mobility[1]);
    }
}

/* K of the symmetric X. X is bounded first, by a function that hardly changes what is small: the
   square of something like 1e8 beside something like 1 would leave the latter without digits. */
static m3 late_share(m3 x) {
    const m3 one     = m3_identity();
    const m3 bounded = m3_scale(
        m3_sub(one, m3_inverse(m3_add(one, m3_scale(x, 1.0 / FRICTION_SURE)))), FRICTION_SURE);
    return m3_sub(one, m3_inverse(m3_add(one, m3_mul(bounded, bounded))));
}

/* X, beyond which a friction is not taken stiffer. */
static double stiffest(const skel__joint *j) {
    if (j->is_loop) return FRICTION_MAX_LOOP;
    return j->type == SKEL_JOINT_SLIDE ? FRICTION_MAX_SLIDE : FRICTION_MAX;
}

void skel__conserving_friction_begin(const skel_state *s, int32_t joint, double h) {
    const skel__joint               *j      = &s->m->joint[joint];
    const skel__conserving_friction *f      = &s->em->friction[joint];
    skel__conserving_joint_start    *at     = &s->em->start[joint];
    const int                        slides = j->type == SKEL_JOINT_SLIDE;
    const double                     unit   = 0.5 * h * f->most; /* X by the coefficient, at most */

    /* Stiffer than that, rounding is all that is left of the other forces. */
    const double most = stiffest(j);
    at->rub           = j->friction * unit > most ? most / unit : j->friction;
    const double x    = at->rub * unit;
    at->is_late       = x > FRICTION_SLOW;
    at->is_rounded    = x > FRICTION_ROUNDED;
    if (!at->is_late) return;

    if (slides) { /* a mobility has no direction there */
        at->late = m3_diagonal(x * x / (1.0 + x * x));
        return;
    }
    m3 mobility = m3_zero();
    if (skel__is_dynamic(s->m, j->a)) mobility = m3_conjugate(s->r[j->a], f->mobility[0]);
    if (skel__is_dynamic(s->m, j->b))
        mobility = m3_add(mobility, m3_conjugate(s->r[j->b], f->mobility[1]));
    at->late = late_share(m3_scale(mobility, 0.5 * h * at->rub));
}

/* Adds a wrench, of which the force acts at `point`, to the impulses of a body and to what its
   balance leaves over. Returns its work. */
static double add_wrench(skel_state *s, int32_t i, double sign, v3 force, v3 torque, v3 point) {
    skel__conserving *em     = s->em;
    const v3          centre = v3_scale(v3_add(s->x[i].p, em->p1[i]), 0.5);
    const v3          all    = v3_add(torque, v3_cross(v3_sub(point, centre), force));
    const v3          spin   = m3_mulv(s->r[i], em->w[i]);
    const double      work   = sign * (v3_dot(force, em->vbar[i]) + v3_dot(all, spin));
    if (!skel__is_dynamic(s->m, i)) return work;

    double *rho = em->rho + 6 * (size_t)i;
    em->jl[i]   = v3_mad(em->jl[i], sign, force);
    em->ja[i]   = v3_mad(em->ja[i], sign, all);
    v3_to(v3_mad(v3_of(rho), sign, force), rho);
    v3_to(v3_mad(v3_of(rho + 3), sign, all), rho + 3);
    return work;
}

/* A stiff friction multiplies the rounding of velocities: the impulse it gives is wrong by more
   than the momenta can bear. The balance of the child tells it to all digits. What is wrong is
   moved on to the parent, children before parents, so that the sum of the momenta stays exact. */
void skel__conserving_friction_refine(skel_state *s) {
    const skel_model *m  = s->m;
    skel__conserving *em = s->em;

    for (int32_t k = m->nd - 1; k >= 0; --k) {
        const int32_t i = m->order[k], joint = m->body[i].joint;
        if (joint < 0 || em->start[joint].is_bare || !em->start[joint].is_rounded) continue;
        const skel__joint      *j     = &m->joint[joint];
        skel__conserving_joint *e     = &em->joint[joint]; /* its wrench acts on a */
        const double           *rho   = em->rho + 6 * (size_t)i;
        v3                      force = {0, 0, 0}, torque = {0, 0, 0};

        /* of a slide, along the mean axis alone, as its friction is */
        if (j->type == SKEL_JOINT_SLIDE) {
            const v3 axis = v3_add(em->start[joint].e[0][2], m3_mulv(em->r1[j->a], j->ea.r[2]));
            force         = v3_scale(axis, v3_dot(v3_of(rho), axis) / v3_dot(axis, axis));
        } else
            torque = v3_of(rho + 3);

        const double on_a = j->reversed ? -1.0 : 1.0;
        e->force          = v3_mad(e->force, on_a, force);
        e->torque         = v3_mad(e->torque, on_a, torque);
        e->friction += add_wrench(s, j->a, on_a, force, torque, e->point);
        e->friction += add_wrench(s, j->b, -on_a, force, torque, e->point);
    }
}
