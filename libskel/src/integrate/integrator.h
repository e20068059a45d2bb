/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a state that belongs to the integrators. */
#ifndef SKEL_INTEGRATE_INTEGRATOR_H
#define SKEL_INTEGRATE_INTEGRATOR_H

#include "dynamics/dynamics.h"

/* The step in progress: a deadline may interrupt it, and the next call continues it. The state
   before the step is in s->saved. */
typedef struct skel__integrator {
    int is_step_in_progress;
    double step_start, step_end; /* [s] */
} skel__integrator;

/* Allocates s->integrator once. From then on the state frees the workspaces of this layer
   (s->integrator, s->em, s->impact) when it is destroyed. SKEL_E_MEMORY. */
skel_status skel__integrator_attach(skel_state *s);

#endif
