/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of contacts and limits, and impacts. */
#ifndef SKEL_INTEGRATE_IMPACT_H
#define SKEL_INTEGRATE_IMPACT_H

#include "integrate/integrate.h"

/* Whether the model has something that hits in no time: rigid grounds, hard stops. */
static inline int skel__has_impacts(const skel_model *m) {
    return m->has_rigid || m->nstop > 0;
}
/* The workspace of impacts, taken once per state; nothing where there are none. */
skel_status skel__impact_reserve(skel_state *s);
/* How far each event is from happening, (ne): gaps of candidates, distances from stops and from where
   limiting torques begin. What cannot happen is far. */
void skel__event_values(const skel_state *s, double *out);
/* Modes of a state that no step was taken from yet. */
void skel__event_states_start(skel_state *s);
/* Modes of force laws, which steps by events go by: on where below, or there and going down. */
void skel__modes_of_laws(skel_state *s);
/* How many modes do not fit the state: events that are free and deeper than rounding, or touching
   and farther away, and going on that way. excess (ne): how far each is beyond the end of its mode,
   in widths of that margin; below 0: within. Writes over the first ne of s->event_value. */
int skel__modes_wrong(skel_state *s, double *excess);
/* Changes those modes, with the impacts that this brings. Writes over s->event_value. */
void skel__modes_pass(skel_state *s);
/* What is touched now and approached fast gets an impact, what is slow comes to rest, and what is
   out of touch is free. Returns how many impacts there were. */
int skel__impacts(skel_state *s);
/* From now on stops without restitution catch within steps, which take discrete forces then. */
void skel__stops_make_inelastic(skel_state *s);
/* The stop of that event caught in the step just done. */
void skel__stop_note_caught(skel_state *s, int32_t event);
/* One step of any kind, of length h; returns whether it could be done. */
typedef int (*skel__step_fn)(skel_state *s, double h, void *data);
/* A step of length h that ends where it hits something rigid: *done is what was done of it. */
int skel__step_until_impact(skel_state *s, double h, skel__step_fn step, void *data, double *done);

#endif
