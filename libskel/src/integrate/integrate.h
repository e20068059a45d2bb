/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SKEL_INTEGRATE_INTEGRATE_H
#define SKEL_INTEGRATE_INTEGRATE_H

#include "dynamics/dynamics.h"

/* Closes the joints with the smallest displacement, weighted by mass [HAK (1)]. Returns the largest
   gap before, relative to the length scale or in radians; *remaining is the gap afterwards. */
double skel__close_joints(skel_state *s, double *remaining);
/* The same for velocities [HAK (2)]. Returns the largest velocity that violated a joint [m/s].
   Leaves the articulated inertias of s factored. */
double skel__fit_velocities(skel_state *s);

/* Velocity jumps: the velocity of a prescribed body jumps if its curve begins or ends in motion,
   and pins switch. next: the first such time in (t, end), or end. is: whether t is such a time.
   apply: changes the velocities of all bodies by an inelastic impact through the joints, which
   counts as work and impulse of the drives. Times in seconds; those within eps are the same. */
double skel__next_velocity_jump(const skel_model *m, double t, double end, double eps);
int skel__is_velocity_jump(const skel_model *m, double t, double eps);
skel_status skel__apply_velocity_jump(skel_state *s);

/* The first dynamic body whose state or acceleration is no longer finite, or -1. */
int32_t skel__first_not_finite(const skel_state *s);

/* One step of s->x from s->t to s->t + h. On failure *body is the body that diverged, or -1. */
skel_status skel__step_euler(skel_state *s, double h, int32_t solver, int32_t *body);
skel_status skel__step_rk4(skel_state *s, double h, int32_t solver, int32_t *body);

/* ---- conserving.c: the energy-momentum step ---- */
/* Allocates its workspace, once per state. */
skel_status skel__conserving_reserve(skel_state *s);
skel_status skel__step_conserving(skel_state *s, double h, int32_t *body);
/* To be called after velocities were changed outside of a step: the history of the steps before no
   longer predicts the next one. */
void skel__conserving_forget(skel_state *s);
/* The same after pins or prescribed velocities changed. Returns a body that is pinned to a curve
   whose pose is elsewhere, or -1. */
int32_t skel__conserving_switch(skel_state *s);
/* Name of the joint (or pinned body) with the largest gap when the last step failed. */
const char *skel__conserving_worst(const skel_state *s);
/* Time since which all bodies sleep [s]; -1: they are awake. */
double skel__conserving_sleep_time(const skel_state *s);
/* Rejected steps and Newton iterations over the life of the state. Leaves both as they are if the
   state never took such a step. */
void skel__conserving_counts(const skel_state *s, double *rejected, double *evaluations);

/* ---- cvode.c: steps chosen by tolerance, in reduced coordinates ---- */
typedef struct skel__cvode skel__cvode;
/* integrator: SKEL_INTEGRATOR_ADAMS or _BDF. tolerance: error per simulated second, in radians and
   relative to the length scale. All memory is allocated here, including that of CVODE, by the
   model's allocator. On failure *out is NULL; SKEL_E_UNSUPPORTED if the model has loops or pins. */
skel_status skel__cvode_create(const skel_model *m, int32_t integrator, int32_t solver,
                               double tolerance, skel__cvode **out, skel_error *err);
void skel__cvode_destroy(skel__cvode *c); /* NULL is fine */
/* Starts or restarts at s->t from s; works and impulses continue from those of s. */
skel_status skel__cvode_start(skel__cvode *c, const skel_state *s, skel_error *err);
/* One step whose length CVODE chooses, not beyond t_stop (INFINITY: no bound) and not beyond the
   next breakpoint of a curve, where the method restarts. */
skel_status skel__cvode_step(skel__cvode *c, double t_stop, skel_error *err);
double skel__cvode_time(const skel__cvode *c);
/* The largest sum of the normal forces of all grounds so far [N], and its time [s]. */
double skel__cvode_ground_force(const skel__cvode *c, double *time);
/* The state at t within the last step (dense output), including works and impulses. */
skel_status skel__cvode_at(skel__cvode *c, double t, skel_state *out);

/* Events of the caller: after skel__cvode_set_events a step ends at the time when one of the
   `count` numbers that fn writes passes through zero. fn must not keep the state. count 0: no
   events. */
typedef void (*skel__event_fn)(const skel_state *s, double *out, void *data);
skel_status skel__cvode_set_events(skel__cvode *c, int32_t count, skel__event_fn fn, void *data);
/* One number per event: the direction in which it passed through zero at the end of the last step,
   1 or -1, or 0. NULL if none did. */
const int *skel__cvode_fired(const skel__cvode *c);

typedef struct skel__cvode_counts {
    double steps, rejected, evaluations;
    double last_step; /* [s] */
    int32_t last_order;
} skel__cvode_counts;
skel__cvode_counts skel__cvode_counted(const skel__cvode *c);

/* Memory reserved for SUNDIALS, and the largest part of it that was in use at a time. */
typedef struct skel__cvode_memory {
    int32_t vectors, vectors_used;
    size_t bytes, bytes_used;
} skel__cvode_memory;
skel__cvode_memory skel__cvode_memory_used(const skel__cvode *c);

/* The integrator that AUTO uses instead of `integrator` (with steps of h [s] if they are fixed) if
   joint friction makes the equations stiff: bdf or conserving; otherwise `integrator`. */
int32_t skel__integrator_for_friction(skel_state *s, int32_t integrator, double h);

#endif
