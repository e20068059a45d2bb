/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of contacts and limits, and impacts. An event is a contact candidate, or one side of a
   limited joint coordinate; ne = skel__event_count of them. Its value is the distance from the
   surface or limit, and its state (SKEL__EVENT_*) says whether it acts. */
#ifndef SKEL_INTEGRATE_IMPACT_H
#define SKEL_INTEGRATE_IMPACT_H

#include "integrate/integrate.h"

/* Whether the model has rigid grounds or hard stops, where velocities change instantaneously. */
static inline int skel__has_impacts(const skel_model *m) {
    return m->has_rigid || m->nstop > 0;
}
/* Allocates the workspace of impacts, once per state; does nothing if the model has no impacts. */
skel_status skel__impact_reserve(skel_state *s);
/* Values of all events (ne): gaps of candidates [m]; distances from stops, and from the beginning
   of limiting torques [rad] or [m]. Events that cannot happen get a large value. */
void skel__event_values(const skel_state *s, double *out);
/* Event states and slacks of a state from which no step has been taken. */
void skel__event_states_start(skel_state *s);
/* Event states of force laws, for event-driven steps: a law acts if its value is below zero, or if
   it is zero and decreasing. */
void skel__event_states_of_force_laws(skel_state *s);
/* Number of event states that contradict the state: open events that are deeper than rounding and
   approaching, or resting ones that are farther away and separating. excess (ne): distance of each
   event beyond the end of its state, in units of that margin; negative: within. Overwrites the
   first ne entries of s->event_value. */
int skel__event_states_wrong(skel_state *s, double *excess);
/* Changes those event states and applies the impacts that follow. Overwrites s->event_value. */
void skel__event_states_update(skel_state *s);
/* Applies impacts to the contacts and stops that touch: a fast approach gets an impulse, a slow one
   comes to rest, and an event that has separated becomes open. Returns the number of impacts. */
int skel__impacts(skel_state *s);
/* From now on stops without restitution act within steps, as discrete forces, without an event. */
void skel__stops_make_inelastic(skel_state *s);
/* Notes that the stop of this event was reached in the last step. */
void skel__stop_note_caught(skel_state *s, int32_t event);
/* One step of length h [s] by any integrator. Returns whether it succeeded. */
typedef int (*skel__step_fn)(skel_state *s, double h, void *data);
/* A step of length h [s] that ends early at the first impact; *done is the length that was done. */
int skel__step_until_impact(skel_state *s, double h, skel__step_fn step, void *data, double *done);

#endif
