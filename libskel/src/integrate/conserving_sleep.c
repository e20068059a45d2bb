/* SPDX-License-Identifier: BSD-3-Clause */
/* Rest. What touches something and has hardly moved for two windows of time, in the second not more
   than in the first, in a scene where nothing depends on time, is at rest: its speeds are taken
   away, which the receipt books as lost in contacts, and it stays where it is until the state is
   changed from outside. What is about to tip over moves more and more, and is not taken for it. */
#include "integrate/conserving.h"

#include <string.h>

#define WINDOW 0.25 /* [s] at least, or the time in which things fall by their size */
#define STILL 5e-8  /* of size, in a window */
#define NOISE 2e-8  /* likewise: how much of it rounding may be */
#define LIVELY 1e-6 /* of the energy of a fall: what may be taken away */

static int is_curve(const skel_curve *c) {
    return c->count > 0;
}

/* Whether nothing that acts depends on time. */
static int is_timeless(const skel_model *m) {
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

/* How far the bodies' outermost points are from where they were, in sizes. */
static double drift_of(const skel_state *s) {
    double most = 0;
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t    i = s->m->order[k];
        const skel__kin *x = &s->x[i], *from = &s->em->sleep.x[i];
        const double     reach =
            s->m->body[i].bounding_radius > 0 ? s->m->body[i].bounding_radius : s->m->length_scale;
        const double turn = 2.0 * v3_norm(q_vec(q_mul(q_conj(from->q), x->q)));
        const double way  = v3_norm(v3_sub(x->p, from->p)) + reach * turn;
        if (!(way <= most)) most = way;
    }
    return most / s->m->length_scale;
}

static double window_of(const skel_model *m) {
    return fmax(WINDOW, sqrt(m->contact_length / m->gravity_norm));
}

static void remember(skel_state *s, double drift) {
    skel__conserving_sleep *r = &s->em->sleep;
    memcpy(r->x, s->x, (size_t)s->m->na * sizeof *r->x);
    r->next  = s->t + window_of(s->m);
    r->drift = drift;
    r->is_on = 0;
}

static void lie_down(skel_state *s) {
    const skel__momenta now  = skel__momenta_of(s);
    const v3            none = {0, 0, 0};
    for (int32_t k = 0; k < s->m->nd; ++k) {
        skel__kin *x = &s->x[s->m->order[k]];
        x->v = x->w = none;
    }
    s->sum.contact -= now.kinetic;
    s->sum.force   = v3_sub(s->sum.force, now.p);
    s->sum.torque  = v3_sub(s->sum.torque, now.l);
    s->is_factored = 0;
    remember(s, 0);
    s->em->sleep.is_on = 1;
    s->em->sleep.since = s->t;
    skel__conserving_forget(s);
}

void skel__conserving_sleep_watch(skel_state *s) {
    skel__conserving_sleep *r = &s->em->sleep;
    if (!r->has_begun) {
        r->has_begun = is_timeless(s->m) ? 1 : -1;
        remember(s, INFINITY);
    }
    if (r->has_begun < 0 || s->t < r->next - 1e-9 * WINDOW) return;
    const double drift  = drift_of(s);
    const double unit   = s->m->weight * s->m->contact_length;
    const int    calmer = drift <= fmax(r->drift, NOISE) && r->drift <= STILL;
    if (s->em->contact_count > 0 && drift <= STILL && calmer &&
        skel__momenta_of(s).kinetic <= LIVELY * unit)
        lie_down(s);
    else
        remember(s, drift);
}

int skel__conserving_is_asleep(const skel_state *s) {
    const skel__conserving_sleep *r = &s->em->sleep;
    return r->is_on && memcmp(r->x, s->x, (size_t)s->m->na * sizeof *r->x) == 0;
}

double skel__conserving_sleep_time(const skel_state *s) {
    return s->em ? s->em->sleep.since : -1.0;
}
