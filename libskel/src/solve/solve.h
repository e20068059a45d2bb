/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SKEL_SOLVE_SOLVE_H
#define SKEL_SOLVE_SOLVE_H

#include "algo/algo.h"

/* Moves the bodies of s->x as little as possible (by mass) until the joints are closed [HAK (1)].
   Returns the misfit before, relative to the model's size; *left is what remains. */
double skel__close_joints(skel_state *s, double *left);
/* The same for velocities [HAK (2)]. Returns the largest wrong speed. Leaves s factored. */
double skel__fit_velocities(skel_state *s);

/* One step of s->x from s->t to s->t + h. On failure *body is the body it failed at (or -1). */
skel_status skel__step_euler(skel_state *s, double h, int32_t solver, int32_t *body);
skel_status skel__step_rk4(skel_state *s, double h, int32_t solver, int32_t *body);

/* ---- conserving.c: the energy-momentum step; its workspace is taken once per state ---- */
skel_status skel__conserving_reserve(skel_state *s);
skel_status skel__step_conserving(skel_state *s, double h, int32_t *body);

/* ---- cvode.c: steps chosen by tolerance, on joint coordinates ---- */
typedef struct skel__cvode skel__cvode;
/* integrator: SKEL_INTEGRATOR_ADAMS or _BDF. tolerance: relative, and absolute in units of the
   model's size. On failure *out is NULL. */
skel_status skel__cvode_create(const skel_model *m, int32_t integrator, double tolerance,
                               skel__cvode **out, skel_error *err);
void        skel__cvode_destroy(skel__cvode *c);
/* Begins (again) at s->t from s, whose works and impulses go on. */
skel_status skel__cvode_start(skel__cvode *c, const skel_state *s, skel_error *err);
/* One step of its own choice, not beyond t_stop. */
skel_status skel__cvode_step(skel__cvode *c, double t_stop, skel_error *err);
double      skel__cvode_time(const skel__cvode *c);
/* The state at t within the last step (dense output), works and impulses included. */
skel_status skel__cvode_at(skel__cvode *c, double t, skel_state *out);

#endif
