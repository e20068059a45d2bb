/* SPDX-License-Identifier: BSD-3-Clause */
/* Newton's method for the equations of the energy-momentum step. The factors of Newton's matrix are
   kept as long as the corrections shrink fast enough.

   Contacts and stops act on one side only. Their active set (which stops push, which contacts slip)
   is predicted before a correction is applied, by the effect that the correction would have. At a
   solution it is compared with the force laws, and Newton's method continues if it was wrong. With
   such forces a correction may overshoot; it is then halved until the imbalance is smaller than
   before. */
#include "integrate/conserving.h"

/* Sizes of corrections and violations are in radians and relative to the length scale. */
#define CONSERVING_ITERATIONS_MAX 16
#define CONSERVING_ITERATIONS_MAX_UNILATERAL 40 /* with contacts and stops */
#define CONSERVING_TOL 1e-14
#define CONSERVING_TOL_STALLED 2e-12 /* accepted if the iteration no longer improves */
#define CONSERVING_TOL_STIFF 1e-9    /* the same for contacts so stiff that rounding moves them */
#define CONSERVING_NEAR 1e-3         /* size of a last correction close to the solution */
#define CONSERVING_DIVERGED 1e4
#define CONSERVING_ENERGY_TOL 4e-14         /* relative to weight times contact length: */
#define CONSERVING_ENERGY_TOL_STALLED 3e-12 /* energy errors that no report shows */
#define CONSERVING_IMBALANCE_NOISE 1e-9     /* relative to the effect of gravity in the step */
#define CONSERVING_LINE_SEARCH_MIN 0.05     /* smallest share of a correction that is tried */
#define CONSERVING_PREDICTIONS_MAX 6        /* predictions of the active set per correction */
#define CONSERVING_POSITION_ROUNDING 1e-16  /* motion by rounding, relative to the position */
#define CONSERVING_ROUNDING_FACTOR 30.0     /* accepted multiple of it if nothing improves */
#define CONSERVING_REFACTOR_TOL 1e-11       /* expected next correction that needs new factors */
#define CONSERVING_REFACTOR_TOL_FIRST 1e-4  /* first correction that needs new factors */
#define CONSERVING_QUADRATIC_RATE 1e-3      /* below, convergence is surely quadratic */

/* ---- residual ---- */

/* Residual of the equations at an iterate. */
typedef struct residual {
    double violation;    /* of the joints, relative to the length scale */
    double imbalance;    /* [J] squares of the bodies' residuals and of the momenta that closing the
                            joints takes, divided by masses */
    double energy_error; /* [J] bound of the energy that the step would gain or lose */
} residual;

int skel__conserving_has_unilateral(const skel_state *s) {
    return s->integrator->conserving->contact_count > 0 || s->m->has_joint_forces;
}

static residual measure(const skel_state *s, double h, double violation) {
    const skel_model *m = s->m;
    const skel__conserving *em = s->integrator->conserving;
    residual out = {violation, 0, 0};

    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t i = (size_t)m->order[k];
        const skel__body *b = &m->body[i];
        const v3 spin = m3_mulv(s->r[i], em->w[i]);
        const double *rho = em->rho + 6 * i;
        out.imbalance += skel__mobility(m, (int32_t)i, em->r1[i], rho);
        out.energy_error += v3_dot(v3_of(rho), em->vbar[i]) + v3_dot(v3_of(rho + 3), spin);
        if (b->joint < 0) continue;

        /* The first rows of a joint are lengths, the others angles. */
        const int32_t type = m->joint[b->joint].type;
        const int length_rows = skel__joint_length_rows(type), rows = skel__joint_rows(type);
        const double mean_inertia = m3_trace(b->inertia) / 3.0;
        for (int r = 0; r < rows; ++r) {
            const double rate = em->gamma[6 * i + (size_t)r] / h;
            out.imbalance += (r < length_rows ? b->mass : mean_inertia) * rate * rate;
        }
    }
    out.energy_error = fabs(out.energy_error) + out.imbalance;
    return out;
}

/* Rotation [rad] that the rounding of positions far from the origin may cause, at levers of the
   length scale. It is 0 within about ten length scales of the origin, where CONSERVING_TOL is the
   larger. */
static double rounding_of(const skel_state *s) {
    double distance = 0;
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const v3 p = s->x[s->m->order[k]].p;
        distance = fmax(distance, fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))));
    }
    const double rounding = CONSERVING_POSITION_ROUNDING * distance / s->m->length_scale;
    return rounding > 0.1 * CONSERVING_TOL ? rounding : 0;
}

/* ---- corrections ---- */

/* Solves for the correction, with new factors on request. Returns 0 if a block is singular. */
static int solve(skel_state *s, double h, int factorise) {
    skel__conserving *em = s->integrator->conserving;
    const skel__sweeps *sweeps = em->sweeps;
    const int is_tree = s->nloop == 0 && em->pair_count == 0;

    if (factorise && is_tree)
        return sweeps->factor_solve(s->m, em->lu, em->rho, em->gamma, em->y, em->dlambda);

    if (factorise) {
        if (!sweeps->factor(s->m, em->lu)) return 0;
        if (s->nloop > 0) skel__conserving_loops_respond(s, h);
        if (em->pair_count > 0) skel__conserving_pairs_respond(s, h);
    }
    sweeps->solve(s->m, em->lu, em->rho, em->gamma, em->y, em->dlambda);
    if (s->nloop > 0) skel__conserving_loops_solve(s);
    if (em->pair_count > 0) skel__conserving_pairs_solve(s);
    return 1;
}

/* Subtracts `share` of the last correction again. The unknowns were changed along a straight line,
   so this is linear. The change of W is read from w_correction: the derivative of the Cayley map at
   the corrected point differs without bound from the one that was used. */
static void take_back(skel_state *s, double h, double share) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;

    skel__conserving_loops_correct(s, -share);
    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t i = (size_t)m->order[k];
        const int32_t joint = m->body[i].joint;

        em->vbar[i] = v3_mad(em->vbar[i], -share / h, v3_of(em->y + 6 * i));
        em->w[i] = v3_mad(em->w[i], -share, em->w_correction[i]);
        for (int c = 0; joint >= 0 && c < em->lu[i].rows; ++c)
            em->lambda[6 * joint + c] -= share * em->dlambda[6 * i + (size_t)c];
    }
}

/* ---- active set of the stops ---- */

/* The correction of coordinate k of a joint. */
static double coordinate_correction(const skel_state *s, int32_t joint, int k) {
    const skel__conserving *em = s->integrator->conserving;
    const skel__joint *j = &s->m->joint[joint];
    const double *y = em->y;
    v3 rotation = {0, 0, 0};
    if (skel__is_dynamic(s->m, j->b)) rotation = v3_of(y + 6 * (size_t)j->b + 3);
    if (skel__is_dynamic(s->m, j->a)) rotation = v3_sub(rotation, v3_of(y + 6 * (size_t)j->a + 3));
    return v3_dot(rotation, em->gradient[2 * joint + k]);
}

static int32_t stop_count(const skel_state *s) {
    return s->m->nstop > 0 ? 4 * s->m->nj : 0;
}

static void clear_stops(skel_state *s) {
    for (int32_t e = 0; e < stop_count(s); ++e)
        s->integrator->conserving->stop_prediction[e] =
            (skel__stop_prediction){.mode = SKEL__STOP_UNKNOWN};
}

/* Predicts which stops push after the correction, by linearisation. Returns how many predictions
   changed. */
static int predict_stops(skel_state *s) {
    int count = 0;
    for (int32_t e = 0; e < stop_count(s); ++e) {
        skel__stop_prediction *p = &s->integrator->conserving->stop_prediction[e];
        if (!p->is_used || p->mode == SKEL__STOP_BY_LAW) continue;

        const double sign = e % 2 ? 1.0 : -1.0; /* high stop, low stop */
        const double deeper = coordinate_correction(s, e / 4, e % 4 / 2) * sign;
        const int pushes = p->push + p->slope * deeper > 0;
        const skel__stop_mode mode = pushes ? SKEL__STOP_PUSHES : SKEL__STOP_OPEN;
        count += mode != p->mode;
        p->mode = mode;
    }
    return count;
}

/* At a solution: stops whose force law contradicts the prediction follow the law from now on.
   Returns their number. */
static int update_stops(skel_state *s) {
    int count = 0;
    for (int32_t e = 0; e < stop_count(s); ++e) {
        skel__stop_prediction *p = &s->integrator->conserving->stop_prediction[e];
        if (!p->is_used || p->is_right) continue;
        p->mode = SKEL__STOP_BY_LAW;
        ++count;
    }
    return count;
}

/* ---- Newton's method ---- */

typedef struct newton_state {
    int has_unilateral; /* contacts or stops take part */
    int is_smooth;      /* only tree joints: Newton's matrix is the exact derivative */
    int iteration, iterations_max;
    int has_factors;
    int is_exact;         /* the last correction used the derivatives at its own iterate */
    double size;          /* of the last correction; infinite before the first */
    double rate;          /* its ratio to the correction before */
    double size_before;   /* larger of violation and correction before the last one */
    double share;         /* share of the last correction that was kept; 1: all of it */
    double imbalance;     /* before the last correction [J] */
    double energy_unit;   /* weight times contact length [J] */
    double rounding;      /* rotation by the rounding of positions [rad] */
    double noise;         /* imbalance [J] that the line search ignores */
    int prediction_count; /* predictions of the active set for the present correction */
} newton_state;

static newton_state begin(const skel_state *s, double h) {
    const skel_model *m = s->m;
    newton_state n = {
        .size = INFINITY, .rate = 1, .size_before = INFINITY, .share = 1, .imbalance = INFINITY};
    n.has_unilateral = skel__conserving_has_unilateral(s);
    n.iterations_max =
        n.has_unilateral ? CONSERVING_ITERATIONS_MAX_UNILATERAL : CONSERVING_ITERATIONS_MAX;
    n.is_smooth = !n.has_unilateral && s->nloop == 0 && m->nw == 0 && m->nf == 0;
    n.rounding = rounding_of(s);
    n.energy_unit = m->weight * m->contact_length;

    /* Noise of the imbalance: a small part of the effect of gravity, and velocities that come from
       the rounding of positions alone. */
    const double velocity = n.rounding * m->length_scale / h;
    n.noise = m->weight * (CONSERVING_IMBALANCE_NOISE * m->gravity_norm * h * h +
                           velocity * velocity / m->gravity_norm);
    return n;
}

/* Whether the joints are closed and the next correction would be at the level of rounding. */
static int is_next_correction_rounding(const newton_state *n, residual r) {
    if (!(r.violation <= CONSERVING_TOL)) return 0;

    /* With exact derivatives the rate is squared by every correction. */
    const int is_quadratic = n->is_exact && n->rate < CONSERVING_QUADRATIC_RATE;
    const double next = n->size * n->rate * (is_quadratic ? n->rate : 1.0);
    const double tolerance = (n->rate < 1.0 ? 0.1 : 1.0) * CONSERVING_TOL;
    if (next <= fmax(tolerance, n->rounding)) return 1;
    if (!n->has_unilateral) return 0;

    /* With contacts or stops: corrections shrink as the square root of the imbalance does, and an
       energy error that no report shows is accepted. */
    const double expected = n->size * fmin(n->rate, sqrt(r.imbalance / n->imbalance));
    const int is_energy_met = r.energy_error <= CONSERVING_ENERGY_TOL * n->energy_unit;
    const double tolerance_unilateral =
        is_energy_met ? CONSERVING_TOL_STALLED : 2.0 * CONSERVING_TOL;
    return expected <= fmax(tolerance_unilateral, n->rounding);
}

/* Size of a correction that is accepted with contacts or stops, if the iteration has stalled. It
   grows with the number of iterations. */
static double stiff_tolerance(const newton_state *n, residual r) {
    if (n->iteration >= 14) return CONSERVING_TOL_STIFF;
    if (n->iteration >= 10) return 0.1 * CONSERVING_TOL_STIFF;
    if (r.energy_error <= CONSERVING_ENERGY_TOL_STALLED * n->energy_unit)
        return 0.02 * CONSERVING_TOL_STIFF;
    return 0;
}

/* Whether the iteration no longer improves a result that is good enough. */
static int has_stalled(const newton_state *n, residual r) {
    const double now = fmax(r.violation, n->size);
    if (n->iteration <= 1 || !(now > 0.3 * n->size_before)) return 0;
    if (!(r.violation <= CONSERVING_TOL_STALLED)) return 0;

    if (n->size <= fmax(CONSERVING_TOL_STALLED, CONSERVING_ROUNDING_FACTOR * n->rounding)) return 1;
    return n->has_unilateral && n->size <= stiff_tolerance(n, r);
}

static int is_converged(const newton_state *n, residual r) {
    if (n->iteration == 0 || n->share != 1.0) return 0;
    return is_next_correction_rounding(n, r) || has_stalled(n, r);
}

/* Whether the last correction overshot and half of it may be tried. */
static int has_overshot(const newton_state *n, residual r) {
    return n->has_unilateral && r.imbalance > fmax(n->imbalance, n->noise) &&
           n->share > CONSERVING_LINE_SEARCH_MIN && n->size > fmax(1e-11, n->rounding);
}

/* After a change of the active set the equations are others: nothing is known of convergence. */
static void restart(newton_state *n) {
    n->has_factors = 0;
    n->share = 1;
    n->imbalance = INFINITY;
    n->size = INFINITY;
}

/* Applies the correction and decides whether the factors serve once more. Returns 0 if the
   iteration diverges. */
static int apply(skel_state *s, double h, newton_state *n) {
    const double last_size = n->size;

    skel__conserving_loops_correct(s, 1.0);
    n->size = s->integrator->conserving->sweeps->apply_correction(s, h);
    n->share = 1;
    skel__conserving_contacts_clear_prediction(s);

    n->rate = isfinite(last_size) ? fmin(n->size / last_size, 1.0) : 1.0;
    if (!(n->size < CONSERVING_DIVERGED)) return 0;
    if (n->size * n->rate > CONSERVING_REFACTOR_TOL &&
        (n->iteration > 0 || n->size > CONSERVING_REFACTOR_TOL_FIRST))
        n->has_factors = 0;
    return 1;
}

int skel__conserving_newton(skel_state *s, double h) {
    skel__conserving *em = s->integrator->conserving;
    newton_state n = begin(s, h);
    clear_stops(s);

    for (; n.iteration <= n.iterations_max; ++n.iteration) {
        em->is_near_solution = n.size < CONSERVING_NEAR;
        const double violation = skel__conserving_equations(s, h, !n.has_factors);
        em->evaluations += 1;
        const residual r =
            n.has_unilateral ? measure(s, h, violation) : (residual){violation, 0, 0};

        /* A solution counts only if the force laws agree with the active set. */
        if (is_converged(&n, r)) {
            if (update_stops(s) + skel__conserving_contacts_update_active_set(s) == 0) return 1;
            restart(&n);
            continue;
        }
        if (n.iteration == n.iterations_max || !(r.violation < CONSERVING_DIVERGED)) return 0;

        /* Line search: halve the last correction. */
        if (has_overshot(&n, r)) {
            n.share *= 0.5;
            take_back(s, h, n.share);
            n.has_factors = 0;
            continue;
        }

        n.imbalance = r.imbalance;
        n.size_before = fmax(r.violation, n.size);
        if (!solve(s, h, !n.has_factors)) return 0;
        n.is_exact = n.is_smooth && !n.has_factors;
        n.has_factors = 1;

        /* If the correction would change the active set, it is computed again with the new one. */
        if (predict_stops(s) + skel__conserving_contacts_predict(s, h) > 0 &&
            ++n.prediction_count < CONSERVING_PREDICTIONS_MAX) {
            restart(&n);
            continue;
        }
        n.prediction_count = 0;
        if (!apply(s, h, &n)) return 0;
    }
    return 0;
}
