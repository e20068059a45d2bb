/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SKEL_INTEGRATE_STEP_H
#define SKEL_INTEGRATE_STEP_H

#include "dynamics/dynamics.h"

#include <stddef.h>

/* The integrator that runs: AUTO is resolved, others are returned as they are; -1 if there is no
   such integrator. has_step: the caller set the length of the steps. */
int32_t skel__integrator_choice(const skel_model *m, int32_t integrator, int has_step);
/* Whether the integrator chooses its steps by tolerance (cvode.c). Only a bake can use it. */
int skel__chooses_steps(int32_t integrator);
/* Allocates the workspace of skel__step, once per state. */
skel_status skel__step_reserve(skel_state *s, int32_t integrator, int32_t solver, skel_error *err);
/* skel_step without its checks: the hot path of a bake with fixed steps. Returns SKEL_MORE if the
   deadline of the state passed within the step; the next call resumes it. */
skel_status skel__step(skel_state *s, int32_t integrator, int32_t solver, double h,
                       skel_error *err);

/* Whether the last skel__step returned SKEL_MORE: the next call continues the same step. */
int skel__is_step_in_progress(const skel_state *s);

#endif
