/* SPDX-License-Identifier: BSD-3-Clause */
/* Delayed feedback of muscles: they react to the speed of the centre of mass of their skeleton one
   reaction time earlier [RUD 4.4.2.2]. Past speeds are kept in a ring buffer, at least
   delay / MUSCLE_SAMPLES_PER_DELAY apart. */
#include "dynamics/dynamics.h"

#define MUSCLE_SAMPLES_PER_DELAY 200.0

/* Speed [m/s] of the centre of mass of a skeleton against gravity, or along z without gravity. */
static double upward_speed(const skel_state *s, int32_t skeleton) {
    const skel_model *m = s->m;
    const double g = v3_norm(m->gravity);
    const v3 up = g > 0 ? v3_scale(m->gravity, -1.0 / g) : (v3){0, 0, 1};

    double mass = 0, sum = 0;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        if (m->body[i].skeleton != skeleton) continue;
        mass += m->body[i].mass;
        sum += m->body[i].mass * v3_dot(up, s->x[i].v);
    }
    return mass > 0 ? sum / mass : 0;
}

/* Whether a body of the skeleton touches a plane. */
static int touches_ground(const skel_state *s, int32_t skeleton) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->ncand; ++k) {
        const skel__candidate *p = &m->candidate[k];
        if (p->kind != SKEL__CANDIDATE_PLANE || m->body[p->i].skeleton != skeleton) continue;
        const int32_t on = m->ground[p->ground].body;
        if (skel__contact_point_of(m, p, skel__pose_of(s->x, p->i), skel__pose_of(s->x, on)).gap <=
            1e-9 * m->contact_length)
            return 1;
    }
    return 0;
}

static int32_t skeleton_of(const skel_model *m, const skel__joint *j) {
    return m->body[j->b >= 0 ? j->b : j->a].skeleton;
}

/* Speed at time t: linear between two entries; before the oldest entry, that one. */
static double speed_at(const skel__history *h, double t) {
    if (h->count == 0) return 0;

    /* From the newest entry backward. */
    int32_t later = -1;
    for (int32_t k = 1; k <= h->count; ++k) {
        const int32_t at = (h->next - k + SKEL__HISTORY) % SKEL__HISTORY;
        if (h->time[at] <= t) {
            if (later < 0) return h->speed[at];

            const double u = (t - h->time[at]) / (h->time[later] - h->time[at]);
            return h->speed[at] + u * (h->speed[later] - h->speed[at]);
        }
        later = at;
    }
    return h->speed[later];
}

double skel__muscle_gain(const skel_state *s, int32_t joint, double t) {
    const skel__joint *j = &s->m->joint[joint];
    if (j->muscle.feedback == 0 || j->muscle_index < 0) return 1.0;
    const skel__history *h = &s->history[j->muscle_index - 3 * s->m->ncand];
    const double impact = j->muscle.impact_speed != 0 ? j->muscle.impact_speed : h->impact;

    /* Before the impact there is nothing to react to. */
    if (impact == 0 || t - j->muscle.delay < h->impact_time) return 1.0;
    return 1.0 + j->muscle.feedback * (speed_at(h, t - j->muscle.delay) / impact - 1.0);
}

void skel__muscle_remember(skel_state *s) {
    const skel_model *m = s->m;
    for (int32_t k = 0; m->nmuscle > 0 && k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        if (j->muscle_index < 0 || j->muscle.feedback == 0) continue;
        skel__history *h = &s->history[j->muscle_index - 3 * m->ncand];
        const int32_t last = (h->next - 1 + SKEL__HISTORY) % SKEL__HISTORY;
        if (h->count > 0 && s->t < h->time[last] + j->muscle.delay / MUSCLE_SAMPLES_PER_DELAY)
            continue;

        const int32_t skeleton = skeleton_of(m, j);
        h->time[h->next] = s->t;
        h->speed[h->next] = upward_speed(s, skeleton);
        if (h->impact == 0 && touches_ground(s, skeleton)) {
            h->impact = h->speed[h->next];
            h->impact_time = s->t;
        }

        h->next = (h->next + 1) % SKEL__HISTORY;
        if (h->count < SKEL__HISTORY) ++h->count;
    }
}
