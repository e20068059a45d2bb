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

#endif
