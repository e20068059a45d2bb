/* SPDX-License-Identifier: BSD-3-Clause */
/* The energy-momentum step: implicit, second order, in maximal coordinates. The unknowns are the
   mean velocities v, W and the impulses of the joints. With J, J_ang the sums of all impulses on a
   body, pi its angular momentum in world axes, and cay the Cayley map:
     p1 = p0 + h v,   R1 = R0 cay(h W),   g(end) = 0,
     2 m (v - v0) = J,   2 I W = R0^T pi0 + R1^T (pi0 + J_ang),   v1 = v0 + J/m,  pi1 = pi0 + J_ang.
   Linear and angular momentum change by the impulses alone, the kinetic energy by W.J_ang + v.J,
   and closed joints do no work (conserving_joint.c). So energy is conserved to rounding at any step
   length. In world axes the angular equation is  2 R1 I W - R1 R0^T pi0 - pi0 - J_ang = 0.

   This file holds the workspace, the prediction, the accounting of work and the substeps. The
   equations are assembled in conserving_equations.c and solved by conserving_newton.c. A step that
   does not converge is halved. */
#include "integrate/conserving.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "base/clock.h"
#include "integrate/impact.h"
#include "integrate/integrator.h"

#include <string.h>

#define SUBSTEP_HALVINGS_MAX 12
#define SUBSTEP_IMPACTS_MAX 2000 /* per step; further impacts are not located in time */
#define ENERGY_BALANCE_TOL 1e-5  /* relative to the energies of a step; a wrong root is off by 1 */
#define PIN_DISTANCE_MAX 1e-2    /* that a pin closes at once: of the length scale, and in rad */
/* Diagonal that is added to the scaled Schur complement of the loops. The retry uses less, because
   near a singular pose rows are weak without being implied by others. */
#define LOOP_REGULARISATION 1e-9
#define LOOP_REGULARISATION_RETRY 1e-12

/* ---- memory ---- */

/* Whether body i needs full 6 x 6 elimination: its joint does not pass through a point, or it is a
   wobbling mass. */
static int needs_full(const skel_model *m, int32_t i) {
    const skel__body *b = &m->body[i];
    if (b->host >= 0) return 1;
    return b->joint >= 0 && !skel__joint_kinds[m->joint[b->joint].type].is_through_point;
}

static size_t full_count(const skel_model *m) {
    size_t count = 0;
    for (int32_t k = 0; k < m->nd; ++k) count += (size_t)needs_full(m, m->order[k]);
    return count;
}

/* Unknowns and per-body data. */
static void layout_bodies(const skel_model *m, skel__carver *c, skel__conserving *at) {
    const size_t nb = (size_t)m->na;

    at->vbar = skel__carve_with_world(c, nb, sizeof *at->vbar);
    at->w = skel__carve_with_world(c, nb, sizeof *at->w);
    for (int k = 0; k < SKEL__CONSERVING_HISTORY; ++k) {
        at->w_past[k] = skel__carve(c, nb, sizeof(v3));
        at->v_past[k] = skel__carve(c, nb, sizeof(v3));
    }
    at->w_correction = skel__carve(c, nb, sizeof *at->w_correction);
    at->half_change = skel__carve(c, nb, sizeof *at->half_change);

    at->lever0 = skel__carve(c, 2 * nb, sizeof *at->lever0);
    at->pi0 = skel__carve(c, nb, sizeof *at->pi0);
    at->load = skel__carve(c, nb, sizeof *at->load);

    at->p1 = skel__carve_with_world(c, nb, sizeof *at->p1);
    at->q1 = skel__carve_with_world(c, nb, sizeof *at->q1);
    at->r1 = skel__carve_with_world(c, nb, sizeof *at->r1);
    at->j_lin = skel__carve_with_world(c, nb, sizeof *at->j_lin);
    at->j_ang = skel__carve_with_world(c, nb, sizeof *at->j_ang);

    at->lu = skel__carve(c, nb, sizeof *at->lu);
    at->full = skel__carve(c, full_count(m), sizeof *at->full);
    at->rho = skel__carve(c, 6 * nb, sizeof(double));
    at->gamma = skel__carve(c, 6 * nb, sizeof(double));
    at->y = skel__carve(c, 6 * nb, sizeof(double));
    at->dlambda = skel__carve(c, 6 * nb, sizeof(double));

    at->sleep.x = skel__carve(c, nb, sizeof *at->sleep.x);
}

/* Joints of the tree, loops and pins. */
static void layout_joints(const skel_model *m, skel__carver *c, skel__conserving *at) {
    const size_t nb = (size_t)m->na;
    const size_t nj = (size_t)(m->nj + m->npin);
    const size_t nl = (size_t)(m->nl + m->npin);
    const size_t nr = (size_t)skel__loop_row_count(m);

    at->lambda = skel__carve(c, 6 * nj, sizeof(double));
    for (int k = 0; k < SKEL__CONSERVING_HISTORY; ++k)
        at->lambda_past[k] = skel__carve(c, 6 * nj, sizeof(double));
    at->joint = skel__carve(c, nj, sizeof *at->joint);
    at->start = skel__carve(c, nj, sizeof *at->start);
    at->friction = skel__carve(c, nj, sizeof *at->friction);
    at->stop_prediction = skel__carve(c, 4 * (size_t)m->nj, sizeof *at->stop_prediction);
    at->gradient = skel__carve(c, 2 * (size_t)m->nj, sizeof *at->gradient);

    at->loop = skel__carve(c, nl, sizeof *at->loop);
    at->loop_y = skel__carve(c, nr * 6 * nb, sizeof(double));
    at->loop_lambda = skel__carve(c, nr * 6 * nb, sizeof(double));
    at->schur = skel__carve(c, nr * nr, sizeof(double));
    at->mu = skel__carve(c, nr, sizeof(double));
    at->scale = skel__carve(c, nr, sizeof(double));
}

/* Contacts and internal variables. */
static void layout_contacts(const skel_model *m, skel__carver *c, skel__conserving *at) {
    const size_t nb = (size_t)m->na;
    const size_t ncand = (size_t)m->ncand;

    at->contact = skel__carve(c, ncand, sizeof *at->contact);
    at->slip_history = skel__carve(c, ncand, sizeof *at->slip_history);
    at->stored_energy_end = skel__carve(c, ncand, sizeof(double));
    at->internal_end = skel__carve(c, (size_t)m->ninternal, sizeof(double));

    at->pair_capacity = skel__conserving_pair_capacity(m);
    const size_t pair_rows = 3 * (size_t)at->pair_capacity;
    at->pair = skel__carve(c, (size_t)at->pair_capacity, sizeof *at->pair);
    at->pair_y = skel__carve(c, pair_rows * 6 * nb, sizeof(double));
    at->pair_lambda = skel__carve(c, pair_rows * 6 * nb, sizeof(double));
    at->pair_matrix = skel__carve(c, pair_rows * pair_rows, sizeof(double));
    at->pair_z = skel__carve(c, pair_rows, sizeof(double));
}

static size_t layout(const skel_model *m, void *base, skel__conserving **out) {
    skel__carver c = {base, 0};
    skel__conserving *em = skel__carve(&c, 1, sizeof *em);
    skel__conserving at = {0};

    layout_bodies(m, &c, &at);
    layout_joints(m, &c, &at);
    layout_contacts(m, &c, &at);
    at.sleep.since = -1;

    if (em) {
        *em = at;
        *out = em;
    }
    return c.used;
}

skel_status skel__conserving_reserve(skel_state *s) {
    if (skel__has_conserving(s)) return SKEL_OK;
    if (skel__integrator_attach(s) != SKEL_OK) return SKEL_E_MEMORY;
    void *block = skel__alloc(&s->m->allocator, layout(s->m, NULL, NULL));
    if (!block) return SKEL_E_MEMORY;
    layout(s->m, block, &s->integrator->conserving);

    skel__conserving *em = s->integrator->conserving;
    skel__lu_full *full = em->full;
    memset(em->joint, 0, (size_t)(s->m->nj + s->m->npin) * sizeof *em->joint);
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        memset(&em->lu[i], 0, sizeof em->lu[i]);
        if (needs_full(s->m, i)) em->lu[i].full = full++;
    }

    skel__conserving_friction_reserve(s->m, em->friction);
    em->sweeps = skel__sweeps_best();
    em->q1[-1] = q_identity();
    em->r1[-1] = m3_identity();
    return SKEL_OK;
}

/* ---- start of a step ---- */

/* Sets the end poses of prescribed bodies, which are known, and the mean velocities that lead
   there: q0^-1 q1 is proportional to (1, h W / 2). */
static void prescribe(const skel_state *s, double h) {
    skel__conserving *em = s->integrator->conserving;

    for (int32_t k = 0; k < s->m->np; ++k) {
        const int32_t i = s->m->prescribed[k];
        skel__motion m = {.x = {s->x[i].p, s->x[i].q}};
        if (!s->m->body[i].is_held)
            m = skel__prescribed_motion(&s->m->body[i], s->t + h, SKEL__BEFORE);

        const quat d = q_mul(q_conj(s->x[i].q), m.x.q);
        em->p1[i] = m.x.p;
        em->q1[i] = m.x.q;
        em->r1[i] = q_matrix(m.x.q);
        em->vbar[i] = v3_scale(v3_sub(m.x.p, s->x[i].p), 1.0 / h);
        em->w[i] = v3_scale(q_vec(d), 2.0 / (d.w * h));
    }
}

/* Extrapolates a sequence with equal steps from its last n values a, b, c, newest first. Mean
   velocities and impulses of this integrator are the sum of a smooth part and a part that changes
   its sign in every step. With three values, a + b - c is exact for a straight line and for the
   alternating part. */
static double extrapolate(int n, double a, double b, double c) {
    if (n >= 3) return a + b - c;
    if (n == 2) return 2.0 * a - b;
    return a;
}

static v3 extrapolate_vector(int n, v3 *const past[SKEL__CONSERVING_HISTORY], int32_t i) {
    const v3 a = past[0][i], b = past[1][i], c = past[2][i];
    return (v3){extrapolate(n, a.x, b.x, c.x), extrapolate(n, a.y, b.y, c.y),
                extrapolate(n, a.z, b.z, c.z)};
}

/* First iterate of Newton's method. A warm start extrapolates the previous steps, if they had the
   same length. A cold start takes the present velocities and no impulses. */
static void predict(const skel_state *s, double h, int is_warm) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;
    if (!is_warm || em->h != h) em->history_count = 0;
    const int n = em->history_count;

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        em->pi0[i] = m3_mulv(s->r[i], m3_mulv(m->body[i].inertia, s->x[i].w));
        em->w[i] = s->x[i].w;
        em->vbar[i] = s->x[i].v;

        if (n > 0) em->w[i] = extrapolate_vector(n, em->w_past, i);
        if (n > 2)
            em->vbar[i] = extrapolate_vector(n, em->v_past, i);
        else if (n > 0)
            em->vbar[i] = v3_add(s->x[i].v, em->half_change[i]);
    }

    /* Multipliers of redundant loops have a part without any effect. Extrapolation would let it
       grow, so with loops the last values are used as they are. */
    const int known = s->nloop > 0 ? 1 : n;
    for (size_t k = 0; k < 6 * (size_t)(m->nj + m->npin); ++k) {
        const double next =
            extrapolate(known, em->lambda_past[0][k], em->lambda_past[1][k], em->lambda_past[2][k]);
        em->lambda[k] = is_warm ? next * h : 0.0;
    }
    em->h = h;
}

/* Makes the present step the newest of the previous ones. The arrays of the oldest are reused. */
static void push_history(skel_state *s, double h) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;
    v3 *w = em->w_past[SKEL__CONSERVING_HISTORY - 1];
    v3 *v = em->v_past[SKEL__CONSERVING_HISTORY - 1];
    double *lambda = em->lambda_past[SKEL__CONSERVING_HISTORY - 1];

    for (int k = SKEL__CONSERVING_HISTORY - 1; k > 0; --k) {
        em->w_past[k] = em->w_past[k - 1];
        em->v_past[k] = em->v_past[k - 1];
        em->lambda_past[k] = em->lambda_past[k - 1];
    }
    em->w_past[0] = w;
    em->v_past[0] = v;
    em->lambda_past[0] = lambda;

    memcpy(w, em->w, (size_t)m->na * sizeof *w);
    memcpy(v, em->vbar, (size_t)m->na * sizeof *v);
    for (size_t k = 0; k < 6 * (size_t)(m->nj + m->npin); ++k) lambda[k] = em->lambda[k] / h;
    ++em->history_count;
}

/* ---- end of a step ---- */

/* Adds the work and impulse of the joint's wrench on body i, if i is the world or prescribed. */
static void account_anchor(const skel_state *s, int32_t i, double sign,
                           const skel__conserving_joint *e, skel__power *sum) {
    const skel__conserving *em = s->integrator->conserving;
    if (skel__is_dynamic(s->m, i)) return;

    const v3 centre = skel__mean_centre(s, em, i);
    const v3 w = m3_mulv(s->r[i], em->w[i]);
    const v3 v = v3_add(em->vbar[i], v3_cross(w, v3_sub(e->point, centre)));
    sum->drive -= sign * (v3_dot(e->force, v) + v3_dot(e->torque, w));
    sum->force = v3_mad(sum->force, -sign, e->force);
    sum->torque = v3_mad(sum->torque, -sign, v3_add(e->torque, v3_cross(e->point, e->force)));
}

static void account_joints(skel_state *s, double h, skel__power *sum) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;

    for (int32_t k = 0; k < m->nj + m->npin; ++k) {
        const skel__conserving_joint *e = &em->joint[k];
        if (k >= m->nj && !s->is_pinned[k - m->nj]) continue;
        if (em->start[k].is_inner_ball) continue; /* its work and its sum of impulses are zero */
        if (em->start[k].is_plain_ball)
            skel__conserving_joint_terms(s, em, k, h, s->t + 0.5 * h, &em->joint[k], NULL);

        sum->motor += e->motor;
        sum->friction += e->friction;
        sum->stored += e->stored;
        account_anchor(s, m->joint[k].a, 1.0, e, sum);
        account_anchor(s, m->joint[k].b, -1.0, e, sum);
    }
}

/* Work of loads and fields; impulses of these and of gravity. */
static void account_loads(const skel_state *s, double h, skel__power *sum) {
    const skel_model *m = s->m;
    const skel__conserving *em = s->integrator->conserving;

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        v3 f = v3_scale(em->load[i].f, h), n = v3_scale(em->load[i].n, h);
        if (skel__conserving_has_fields(m)) skel__conserving_field(s, em, i, h, &f, &n);

        const v3 with_gravity = v3_mad(f, h * m->body[i].mass, m->gravity);
        const v3 centre = skel__mean_centre(s, em, i);
        sum->load += v3_dot(f, em->vbar[i]) + v3_dot(n, m3_mulv(s->r[i], em->w[i]));
        sum->force = v3_add(sum->force, with_gravity);
        sum->torque = v3_add(sum->torque, v3_add(n, v3_cross(centre, with_gravity)));
    }
}

/* Work and impulses of the step, from the last evaluation of the equations, which is the one that
   satisfied them. */
static skel__power account(skel_state *s, double h) {
    skel__power sum = {0};
    account_joints(s, h, &sum);
    account_loads(s, h, &sum);
    skel__conserving_wobbles_account(s, h, &sum);
    skel__conserving_contacts_account(s, h, &sum);
    return sum;
}

/* Whether the change of energy equals the work done, as it does for every solution. If it does not,
   Newton's method has stopped at a rotation of nearly half a turn, where W is lost in rounding. */
static int is_energy_balanced(const skel_state *s, const skel__power *work) {
    const skel_model *m = s->m;
    const skel__conserving *em = s->integrator->conserving;
    const double done =
        work->motor + work->friction + work->load + work->drive + work->contact - work->stored;

    /* Energy per mass below which a scene at rest is not compared [m^2/s^2]. */
    const double energy_floor = 1e-6 * m->length_scale * (v3_norm(m->gravity) + m->length_scale);

    double gain = 0;
    double size = fabs(work->motor) + fabs(work->friction) + fabs(work->load) + fabs(work->drive) +
                  fabs(work->contact) + fabs(work->stored);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__body *b = &m->body[i];
        const skel__kin *x = &s->x[i];

        /* Twice the kinetic energy, before and after: m v^2 + w.I w = m v^2 + l.I^-1 l. */
        const v3 v1 = v3_mad(x->v, 1.0 / b->mass, em->j_lin[i]);
        const v3 l1 = m3_tmulv(em->r1[i], v3_add(em->pi0[i], em->j_ang[i]));
        const double k0 = b->mass * v3_dot(x->v, x->v) + v3_dot(x->w, m3_mulv(b->inertia, x->w));
        const double k1 = b->mass * v3_dot(v1, v1) + v3_dot(l1, m3_mulv(b->inertia_inverse, l1));

        const v3 mean_velocity = v3_mad(x->v, 0.5 / b->mass, em->j_lin[i]);
        const double fall = em->h * b->mass * v3_dot(m->gravity, mean_velocity);
        gain += 0.5 * (k1 - k0) - fall;
        size += k0 + k1 + fabs(fall) + b->mass * energy_floor;
    }
    return fabs(gain - done) <= ENERGY_BALANCE_TOL * size;
}

static void note_stops(skel_state *s) {
    const skel__conserving *em = s->integrator->conserving;
    s->stops_near_count = 0;
    for (int32_t k = 0; s->m->nstop > 0 && k < s->m->nj; ++k) {
        const skel__conserving_joint *j = &em->joint[k];
        if (em->start[k].is_plain_ball) continue;

        s->stops_near_count += j->is_near_stop;
        for (int e = 0; e < 4; ++e)
            if (j->stops_reached >> e & 1)
                skel__stop_note_caught(s, skel__stop_event(s->m, k, e / 2, e % 2));
    }
}

/* Writes the new state of the bodies. Momenta change by the impulses as they are, so their sums are
   exact whatever residual Newton's method has left. */
static void commit_bodies(skel_state *s, double h) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__body *b = &m->body[i];
        const v3 half = v3_scale(em->j_lin[i], 0.5 / b->mass);
        const v3 pi = v3_add(em->pi0[i], em->j_ang[i]);
        skel__kin *x = &s->x[i];
        em->half_change[i] = half;

        /* The position of a body behind a joint through a point is that which closes the joint.
           Other bodies move by their impulses, unless stiff contacts leave rounding in those. */
        const int is_at_point = b->joint >= 0 && !em->lu[i].full;
        if (is_at_point || skel__conserving_has_unilateral(s))
            x->p = em->p1[i];
        else
            x->p = v3_mad(x->p, h, v3_add(x->v, half));

        x->v = v3_mad(x->v, 2.0, half);
        x->q = em->q1[i];
        x->w = m3_mulv(b->inertia_inverse, m3_tmulv(em->r1[i], pi));
    }
}

static void commit(skel_state *s, double h, const skel__power *work) {
    const skel_model *m = s->m;

    skel__power_add(&s->sum, 1.0, work);
    commit_bodies(s, h);
    push_history(s, h);
    for (int32_t k = 0; k < m->ninternal; ++k)
        s->internal[k] = s->integrator->conserving->internal_end[k];
    s->t += h;
    note_stops(s);
    s->is_factored = 0;

    /* A velocity jump at this time belongs to the next step. */
    skel__prescribe(s, s->x, s->t, SKEL__BEFORE);

    if (m->ncand > 0) skel__conserving_contacts_end(s);
    if (s->ground_force > s->ground_force_peak) {
        s->ground_force_peak = s->ground_force;
        s->ground_force_peak_time = s->t - 0.5 * h;
    }
}

/* One step of length h. A warm start that fails is followed by a cold start and, with loops, by a
   weaker regularisation. Returns 0 if all fail: the step is too long. */
static int try_step(skel_state *s, double h, void *unused) {
    (void)unused;
    skel__conserving *em = s->integrator->conserving;
    const int tries = s->nloop > 0 ? 3 : 2;

    /* Everything that the start of the step determines. */
    skel__prepare(s, s->x);
    if (em->contacts_found_for != h) skel__conserving_contacts_find(s, h);
    em->contacts_found_for = 0;
    skel__conserving_loads_begin(s, h);
    em->sweeps->start_levers(s);
    skel__conserving_joints_begin(s, h);

    for (int k = em->history_count > 0 ? 0 : 1; k < tries; ++k) {
        em->loop_regularisation = k < 2 ? LOOP_REGULARISATION : LOOP_REGULARISATION_RETRY;
        prescribe(s, h);
        predict(s, h, k == 0);
        skel__conserving_contacts_begin(s, h);

        if (skel__conserving_newton(s, h)) {
            skel__conserving_friction_refine(s);
            const skel__power work = account(s, h);
            if (is_energy_balanced(s, &work)) {
                commit(s, h, &work);
                return 1;
            }
        }
        em->history_count = 0;
    }
    return 0;
}

/* ---- pins ---- */

/* The first body that is pinned to a pose too far from its own to be closed at once, or -1. */
static int32_t find_distant_pin(const skel_state *s) {
    const skel_model *m = s->m;

    for (int32_t k = 0; k < m->npin; ++k) {
        const skel__kin *pin = &s->x[m->nb + k], *x = &s->x[m->pin[k]];
        if (!s->is_pinned[k]) continue;

        const double angle = v3_norm(q_log(q_mul(q_conj(pin->q), x->q)));
        const double distance = v3_norm(v3_sub(pin->p, x->p));
        if (distance > PIN_DISTANCE_MAX * m->length_scale || angle > PIN_DISTANCE_MAX)
            return m->pin[k];
    }
    return -1;
}

/* ---- substeps ---- */

/* Length of a substep that follows contacts closely enough, at most `length` if no contact limits
   it. Otherwise it is the step divided by a power of two: substeps of equal length profit from the
   history. */
static double limit_by_contacts(skel_state *s, double length, double step) {
    if (s->m->ncand == 0) return length;

    skel__prepare(s, s->x);
    const double limit = skel__conserving_contacts_find(s, length);
    if (length <= 1.0001 * limit) return length;

    double next = step;
    while (next > limit && next > step / (1 << SUBSTEP_HALVINGS_MAX)) next *= 0.5;
    return next;
}

/* Continues to the end of the step in substeps. They are shorter while a contact is followed, and
   are halved if Newton's method fails. At a deadline it returns SKEL_MORE, after at least one
   substep. */
static skel_status step_within(skel_state *s) {
    skel__conserving *em = s->integrator->conserving;
    skel__conserving_substep *sub = &em->substep;
    const double h = sub->step, shortest = h / (1 << SUBSTEP_HALVINGS_MAX), end = sub->end;

    for (int n = 0; s->t < end - 1e-3 * shortest; ++n) {
        if (n > 0 && s->run->deadline < INFINITY && skel__now_ms() >= s->run->deadline)
            return SKEL_MORE;

        /* A short remainder is joined to the substep before it. */
        const double remaining = end - s->t;
        double length = fmin(limit_by_contacts(s, fmin(sub->length, remaining), h), remaining);
        if (remaining < 1.5 * length) length = remaining;

        /* The substep ends earlier at an impact; after very many of them it passes through. */
        double done = length;
        const int is_done = sub->impact_count > SUBSTEP_IMPACTS_MAX
                                ? try_step(s, length, NULL)
                                : skel__step_until_impact(s, length, try_step, NULL, &done);
        if (is_done) {
            skel__muscle_remember(s);
            if (skel__impacts(s) > 0) em->history_count = 0;
            sub->impact_count += done < length;
            sub->length = fmin(2.0 * fmax(sub->length, length), h);
        } else {
            sub->length = 0.5 * length;
            em->rejected += 1;
            if (sub->length < shortest) return SKEL_E_DIVERGED;
        }
    }
    s->t = end;
    return SKEL_OK;
}

/* ---- functions of integrate.h ---- */

void skel__conserving_forget(skel_state *s) {
    if (skel__has_conserving(s)) s->integrator->conserving->history_count = 0;
}

int32_t skel__conserving_switch(skel_state *s) {
    s->integrator->conserving->history_count = 0;
    return find_distant_pin(s);
}

skel_status skel__step_conserving(skel_state *s, double h, int32_t *body) {
    skel__conserving *em = s->integrator->conserving;
    *body = -1;
    if (!em->substep.is_active && skel__conserving_is_asleep(s)) {
        s->t += h;
        return SKEL_OK;
    }
    em->sleep.since = -1;

    /* A new step, unless the last call stopped at a deadline. */
    skel_status status = skel__follow_prepare(s);
    if (!em->substep.is_active) {
        em->substep =
            (skel__conserving_substep){.is_active = 1, .step = h, .end = s->t + h, .length = h};
        skel__stops_make_inelastic(s);
        if (skel__impacts(s) > 0) em->history_count = 0;
    }

    if (status == SKEL_OK) status = step_within(s);
    em->substep.is_active = status == SKEL_MORE;
    if (status != SKEL_OK) return status;

    *body = skel__first_not_finite(s);
    if (*body >= 0) return SKEL_E_DIVERGED;
    skel__conserving_sleep_watch(s);
    return SKEL_OK;
}

const char *skel__conserving_worst(const skel_state *s) {
    if (s->m->nj + s->m->npin == 0) return s->m->body[0].name;
    return s->m->joint[s->integrator->conserving->worst_joint].name;
}

void skel__conserving_counts(const skel_state *s, double *rejected, double *evaluations) {
    if (!skel__has_conserving(s)) return;
    const skel__conserving *em = s->integrator->conserving;
    if (em->evaluations == 0) return;
    *rejected = em->rejected;
    *evaluations = em->evaluations;
}
