/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces of contacts with grounds and between bodies: their law, and their part of the loads. */
#ifndef SKEL_DYNAMICS_CONTACT_LOADS_H
#define SKEL_DYNAMICS_CONTACT_LOADS_H

#include "dynamics/state.h"

/* Elastic normal force a depth^b [N] of a penetration [m], and the energy [J] that it stores. */
double skel__contact_force(const skel__ground *g, double depth);
double skel__contact_energy(const skel__ground *g, double depth);

/* Whether the force law of the candidate acts: if it penetrates, and on rigid grounds only while it
   rests. In an event-driven run (cvode.c) the event state alone decides, so that forces do not jump
   between two events. */
static inline int skel__contact_is_active(const skel_state *s, int32_t candidate, double gap) {
    if (s->run->is_event_driven) return s->event_state[candidate] == SKEL__EVENT_RESTING;
    return gap < 0 && (!s->m->ground[s->m->candidate[candidate].ground].is_rigid ||
                       s->event_state[candidate] == SKEL__EVENT_RESTING);
}

/* Skips pairs of bodies that are farther apart than `margin` [m]. Start with {0} and ask for all
   candidates in their order: the distance is computed once per pair of bodies. */
typedef struct skel__pair_filter {
    int32_t i, j;
    int begun, is_far;
} skel__pair_filter;
int skel__pair_is_far(skel__pair_filter *scan, const skel_model *m, const skel__candidate *p,
                      const skel__kin *x, double margin);

/* Whether body i touches a ground there: any plane, or a body that forces do not move. */
static inline int skel__is_ground(const skel_model *m, const skel__candidate *p) {
    return p->kind == SKEL__CANDIDATE_PLANE || !skel__is_dynamic(m, p->j);
}

/* Contact point of the candidate at x. The gap includes the candidate's slack. */
static inline skel__contact_point skel__contact_point_at(const skel_state *s, const skel__kin *x,
                                                         int32_t candidate) {
    const skel__candidate *p = &s->m->candidate[candidate];
    skel__contact_point t = skel__contact_point_of(
        s->m, p, skel__pose_of(x, p->i), skel__pose_of(x, skel__candidate_other(s->m, p)));
    t.gap += s->slack[candidate];
    return t;
}

/* Damping of the bristle [N s/m]. It is never 0: the slip velocity is a force divided by it. */
static inline double skel__bristle_damping(const skel__ground *g) {
    return fmax(g->stick_d, 1e-6 * g->stick_k);
}

/* Force on body i [N] by the contact law at the contact point t with the tangential displacement
   xi [m]. *point is the point of application. s is prepared for x. */
v3 skel__contact_law(const skel_state *s, const skel__kin *x, int32_t candidate,
                     const skel__contact_point *t, v3 xi, v3 *point);
/* Adds all contacts to s->contact_wrench and s->contact_power. `internal` are the internal
   variables, and `rate` receives their derivatives. s is prepared for x. */
void skel__contact_loads(skel_state *s, const skel__kin *x, const double *internal, double *rate);
/* Writes energy, forces and penetration of the contacts of s->x into the row. */
void skel__contact_measure(const skel_state *s, skel_report_row *row);

#endif
