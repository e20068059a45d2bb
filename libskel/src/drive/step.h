/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SKEL_DRIVE_STEP_H
#define SKEL_DRIVE_STEP_H

#include "algo/algo.h"

/* AUTO resolved to the integrator that runs; -1 for a number that names none. */
int32_t skel__integrator_choice(int32_t integrator);
/* skel_step without its checks: the hot path of a bake. */
skel_status skel__step(skel_state *s, int32_t integrator, int32_t solver, double h,
                       skel_error *err);

#endif
