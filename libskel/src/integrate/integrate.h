/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SKEL_INTEGRATE_INTEGRATE_H
#define SKEL_INTEGRATE_INTEGRATE_H

#include "dynamics/dynamics.h"

/* Moves the bodies of s->x as little as possible (by mass) until the joints are closed [HAK (1)].
   Returns the misfit before, relative to the model's size; *left is what remains. */
double skel__close_joints(skel_state *s, double *left);
/* The same for velocities [HAK (2)]. Returns the largest wrong speed. Leaves s factored. */
double skel__fit_velocities(skel_state *s);

/* Velocities of prescribed bodies jump where a curve begins or ends in motion, and pins switch. The
   first such time in (t, end), or end; whether t is one; and what it does to the bodies: an impact
   without bounce through the joints, booked as work and impulse of the drives. */
double      skel__next_velocity_jump(const skel_model *m, double t, double end, double eps);
int         skel__is_velocity_jump(const skel_model *m, double t, double eps);
skel_status skel__apply_velocity_jump(skel_state *s);

/* The first dynamic body whose state or acceleration is no longer finite, or -1. */
int32_t skel__first_not_finite(const skel_state *s);

/* One step of s->x from s->t to s->t + h. On failure *body is the body it failed at (or -1). */
skel_status skel__step_euler(skel_state *s, double h, int32_t solver, int32_t *body);
skel_status skel__step_rk4(skel_state *s, double h, int32_t solver, int32_t *body);

/* ---- conserving.c: the energy-momentum step; its workspace is taken once per state ---- */
skel_status skel__conserving_reserve(skel_state *s);
skel_status skel__step_conserving(skel_state *s, double h, int32_t *body);
/* After velocities changed otherwise: forgets the step before. */
void skel__conserving_forget(skel_state *s);
/* After pins or prescribed velocities changed: forgets the step before. Returns a body that is
   pinned to a curve which is elsewhere, or -1. */
int32_t skel__conserving_switch(skel_state *s);
/* Name of the joint (or pinned body) that held out longest in the last failure. */
const char *skel__conserving_worst(const skel_state *s);
/* Since when all lies at rest; -1: it moves. */
double skel__conserving_sleep_time(const skel_state *s);
/* Adds up over the life of the state; nothing where it never took such a step. */
void skel__conserving_counts(const skel_state *s, double *rejected, double *evaluations);

/* ---- cvode.c: steps chosen by tolerance, on joint coordinates ---- */
typedef struct skel__cvode skel__cvode;
/* integrator: SKEL_INTEGRATOR_ADAMS or _BDF. tolerance: what a second of motion may be wrong by, in
   radians and in parts of the model's size. All memory is taken here, CVODE's own too, through the
   model's allocator. On failure *out is NULL; SKEL_E_UNSUPPORTED where the model has loops. */
skel_status skel__cvode_create(const skel_model *m, int32_t integrator, int32_t solver,
                               double tolerance, skel__cvode **out, skel_error *err);
void        skel__cvode_destroy(skel__cvode *c); /* NULL is fine */
/* Begins (again) at s->t from s, whose works and impulses go on. */
skel_status skel__cvode_start(skel__cvode *c, const skel_state *s, skel_error *err);
/* One step of its own choice, not beyond t_stop (INFINITY: no such bound) nor beyond the next
   sample of a curve, where it begins anew. */
skel_status skel__cvode_step(skel__cvode *c, double t_stop, skel_error *err);
double      skel__cvode_time(const skel__cvode *c);
/* The largest sum of the grounds' normal forces so far, and when it was. */
double skel__cvode_ground_force(const skel__cvode *c, double *time);
/* The state at t within the last step (dense output), works and impulses included. */
skel_status skel__cvode_at(skel__cvode *c, double t, skel_state *out);

/* Events: after skel__cvode_set_events a step ends where one of the numbers that fn writes passes
   through zero. fn reads the state it is given and keeps nothing. count 0: no events. */
typedef void (*skel__event_fn)(const skel_state *s, double *out, void *data);
skel_status skel__cvode_set_events(skel__cvode *c, int32_t count, skel__event_fn fn, void *data);
/* One number per event: the direction it crossed at the end of the last step, 1 or -1, or 0.
   NULL where none did. */
const int *skel__cvode_fired(const skel__cvode *c);

typedef struct skel__cvode_counts {
    double  steps, rejected, evaluations;
    double  last_step; /* [s] */
    int32_t last_order;
} skel__cvode_counts;
skel__cvode_counts skel__cvode_counted(const skel__cvode *c);

/* What was reserved for SUNDIALS, and the most of it that was in use at a time. */
typedef struct skel__cvode_memory {
    int32_t vectors, vectors_used;
    size_t  bytes, bytes_used;
} skel__cvode_memory;
skel__cvode_memory skel__cvode_memory_used(const skel__cvode *c);

/* What AUTO runs instead of `integrator` (with steps of h [s], where they are fixed) if friction
   stops a joint so fast that it would creep or fail: bdf, or conserving; else `integrator`. */
int32_t skel__integrator_for_friction(skel_state *s, int32_t integrator, double h);

#endif
