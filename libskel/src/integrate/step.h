/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SKEL_INTEGRATE_STEP_H
#define SKEL_INTEGRATE_STEP_H

#include "dynamics/dynamics.h"

#include <stddef.h>

#define SKEL__ROW_V1 offsetof(skel_report_row, work_contact)

/* AUTO resolved to the integrator that runs; -1 for a number that names none. has_step: the caller
   chose the length of the steps. */
int32_t skel__integrator_choice(const skel_model *m, int32_t integrator, int has_step);
/* Whether it chooses its steps by tolerance (integrate/cvode.c), which only a bake can. */
int skel__chooses_steps(int32_t integrator);
/* The workspace of skel__step, taken once per state. */
skel_status skel__step_reserve(skel_state *s, int32_t integrator, int32_t solver, skel_error *err);
/* skel_step without its checks: the hot path of a bake with fixed steps. */
skel_status skel__step(skel_state *s, int32_t integrator, int32_t solver, double h,
                       skel_error *err);

/* Whether the last skel__step returned SKEL_MORE: the next call continues the same step. */
int skel__is_step_in_progress(const skel_state *s);

#endif
