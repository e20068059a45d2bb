/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of a state that belongs to the integrators. */
#ifndef SKEL_INTEGRATE_INTEGRATOR_H
#define SKEL_INTEGRATE_INTEGRATOR_H

#include "dynamics/dynamics.h"

typedef struct skel__integrator {
    /* The step in progress: a deadline may interrupt it, and the next call continues it. The state
       before the step is in s->saved. */
    int is_step_in_progress;
    double step_start, step_end; /* [s] */

    /* Workspaces; NULL until skel__conserving_reserve and skel__impact_reserve allocate them. */
    struct skel__conserving *conserving;
    struct skel__impact *impact;
} skel__integrator;

/* Allocates s->integrator once. From then on the state frees it, with its workspaces, when it is
   destroyed. SKEL_E_MEMORY. */
skel_status skel__integrator_attach(skel_state *s);

static inline int skel__has_conserving(const skel_state *s) {
    return s->integrator && s->integrator->conserving;
}

static inline int skel__has_impact_workspace(const skel_state *s) {
    return s->integrator && s->integrator->impact;
}

#endif
