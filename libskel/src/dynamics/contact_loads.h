/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces of contacts: their law, where it acts, and what it adds to the loads. */
#ifndef SKEL_DYNAMICS_CONTACT_LOADS_H
#define SKEL_DYNAMICS_CONTACT_LOADS_H

#include "dynamics/state.h"

/* ---- push.c: forces where bodies touch grounds and each other ---- */
/* Normal force a depth^b and the energy it stores. */
double skel__contact_force(const skel__ground *g, double depth);
double skel__contact_energy(const skel__ground *g, double depth);
/* Whether the candidate's force law is at work: where it is deep; on rigid grounds only at rest. Between
   events (cvode.c) what touches goes on touching, so that forces do not jump within a step. */
static inline int skel__contact_is_active(const skel_state *s, int32_t candidate, double gap) {
    if (s->run->is_event_driven) return s->event_state[candidate] == SKEL__EVENT_RESTING;
    return gap < 0 && (!s->m->ground[s->m->candidate[candidate].ground].is_rigid ||
                       s->event_state[candidate] == SKEL__EVENT_RESTING);
}
/* Goes over the candidates and leaves out pairs of bodies that are farther apart than `margin`: start
   with {0}, then ask for every candidate in turn. */
typedef struct skel__pair_filter {
    int32_t i, j;
    int begun, is_far;
} skel__pair_filter;
int skel__pair_is_far(skel__pair_filter *scan, const skel_model *m, const skel__candidate *p,
                      const skel__kin *x, double margin);
/* Whether what i touches there is a ground: any plane, or a body that does not move by forces. */
static inline int skel__is_ground(const skel_model *m, const skel__candidate *p) {
    return p->kind == SKEL__CANDIDATE_PLANE || !skel__is_dynamic(m, p->j);
}
/* Where the candidate touches at x, the surface being where it gave way to at the start. */
static inline skel__contact_point skel__contact_point_at(const skel_state *s, const skel__kin *x,
                                                         int32_t candidate) {
    const skel__candidate *p = &s->m->candidate[candidate];
    skel__contact_point t = skel__contact_point_of(
        s->m, p, skel__pose_of(x, p->i), skel__pose_of(x, skel__candidate_other(s->m, p)));
    t.gap += s->slack[candidate];
    return t;
}
/* The bristle's damping; some there must be for its foot to have a speed. */
static inline double skel__bristle_damping(const skel__ground *g) {
    return fmax(g->stick_d, 1e-6 * g->stick_k);
}
/* Force on body i of a candidate that touches as t says, by the law; xi: its stick displacement. point:
   where it acts. */
v3 skel__contact_law(const skel_state *s, const skel__kin *x, int32_t candidate,
                     const skel__contact_point *t, v3 xi, v3 *point);
/* Adds to s->contact_wrench, s->contact_power; rate: of the memory. s is prepared for x. */
void skel__contact_loads(skel_state *s, const skel__kin *x, const double *memory, double *rate);
/* Energy, forces and depth of the contacts of s->x, into the row. */
void skel__contact_measure(const skel_state *s, skel_report_row *row);

#endif
