/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleep. A scene is put to sleep if nothing in it depends on time, something touches, and the
   bodies have hardly moved during two windows of time, in the second not more than in the first. A
   body that is about to tip over moves more and more, so it is not put to sleep. The velocities
   become zero, which the report counts as lost in contacts. The scene stays as it is until its
   state is changed from outside. */
#include "integrate/conserving.h"

#include <string.h>

#define SLEEP_WINDOW_S 0.25 /* shortest window; at least the time of a fall by the contact length */
#define SLEEP_DRIFT_MAX 5e-8   /* relative to the length scale, in a window */
#define SLEEP_DRIFT_NOISE 2e-8 /* part of it that may be rounding */
#define SLEEP_ENERGY_MAX 1e-6  /* kinetic energy, relative to weight times contact length */

static int is_curve(const skel_curve *c) {
    return c->count > 0;
}

/* Whether no force and no prescribed motion depends on time. */
static int is_time_independent(const skel_model *m) {
    if (m->has_follow || m->npin > 0 || m->nmuscle > 0 || m->nf > 0 || m->has_frame) return 0;

    for (int32_t i = 0; i < m->nb; ++i) {
        const skel__body *b = &m->body[i];
        if (b->motion == SKEL_MOTION_DRIVEN || is_curve(&b->force_curve) ||
            is_curve(&b->torque_curve))
            return 0;
    }
    for (int32_t k = 0; k < m->nj; ++k)
        if (is_curve(&m->joint[k].motor_curve)) return 0;
    return 1;
}

/* Largest displacement of an outermost point of a body since the start of the window, relative to
   the length scale. */
static double drift_of(const skel_state *s) {
    const skel_model *m = s->m;
    double largest = 0;

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__kin *x = &s->x[i], *from = &s->integrator->conserving->sleep.x[i];
        const double radius =
            m->body[i].bounding_radius > 0 ? m->body[i].bounding_radius : m->length_scale;
        const double angle = 2.0 * v3_norm(q_vec(q_mul(q_conj(from->q), x->q)));
        const double moved = v3_norm(v3_sub(x->p, from->p)) + radius * angle;
        if (!(moved <= largest)) largest = moved;
    }
    return largest / m->length_scale;
}

/* Length of a window [s]. */
static double window_of(const skel_model *m) {
    return fmax(SLEEP_WINDOW_S, sqrt(m->contact_length / m->gravity_norm));
}

static void begin_window(skel_state *s, double drift) {
    skel__conserving_sleep *sleep = &s->integrator->conserving->sleep;
    memcpy(sleep->x, s->x, (size_t)s->m->na * sizeof *sleep->x);
    sleep->window_end = s->t + window_of(s->m);
    sleep->drift = drift;
    sleep->is_asleep = 0;
}

/* Sets all velocities to zero. Kinetic energy and momenta go to the contacts. */
static void fall_asleep(skel_state *s) {
    skel__conserving *em = s->integrator->conserving;
    const skel__momenta now = skel__momenta_of(s);
    const v3 none = {0, 0, 0};
    for (int32_t k = 0; k < s->m->nd; ++k) {
        skel__kin *x = &s->x[s->m->order[k]];
        x->v = none;
        x->w = none;
    }

    s->sum.contact -= now.kinetic;
    s->sum.force = v3_sub(s->sum.force, now.p);
    s->sum.torque = v3_sub(s->sum.torque, now.l);
    s->is_factored = 0;

    begin_window(s, 0);
    em->sleep.is_asleep = 1;
    em->sleep.since = s->t;
    skel__conserving_forget(s);
}

void skel__conserving_sleep_watch(skel_state *s) {
    skel__conserving *em = s->integrator->conserving;
    skel__conserving_sleep *sleep = &em->sleep;
    if (!sleep->can_sleep) {
        sleep->can_sleep = is_time_independent(s->m) ? 1 : -1;
        begin_window(s, INFINITY);
    }
    if (sleep->can_sleep < 0 || s->t < sleep->window_end - 1e-9 * SLEEP_WINDOW_S) return;

    const double drift = drift_of(s);
    const int is_decreasing = drift <= fmax(sleep->drift, SLEEP_DRIFT_NOISE);
    const int is_still = drift <= SLEEP_DRIFT_MAX && sleep->drift <= SLEEP_DRIFT_MAX;
    const double energy_max = SLEEP_ENERGY_MAX * (s->m->weight * s->m->contact_length);

    if (em->contact_count > 0 && is_still && is_decreasing &&
        skel__momenta_of(s).kinetic <= energy_max)
        fall_asleep(s);
    else
        begin_window(s, drift);
}

int skel__conserving_is_asleep(const skel_state *s) {
    const skel__conserving_sleep *sleep = &s->integrator->conserving->sleep;
    return sleep->is_asleep && memcmp(sleep->x, s->x, (size_t)s->m->na * sizeof *sleep->x) == 0;
}

double skel__conserving_sleep_time(const skel_state *s) {
    return skel__has_conserving(s) ? s->integrator->conserving->sleep.since : -1.0;
}
