/* SPDX-License-Identifier: BSD-3-Clause */
#include "integrate/integrator.h"
#include "base/alloc.h"
#include "integrate/step.h"

static void destroy(skel_state *s) {
    const skel_allocator *allocator = &s->m->allocator;
    skel__free(allocator, s->integrator->conserving);
    skel__free(allocator, s->integrator->impact);
    skel__free(allocator, s->integrator);
}

skel_status skel__integrator_attach(skel_state *s) {
    if (s->integrator) return SKEL_OK;
    s->integrator = skel__alloc(&s->m->allocator, sizeof *s->integrator);
    if (!s->integrator) return SKEL_E_MEMORY;
    s->integrator_destroy = destroy;
    return SKEL_OK;
}

int skel__is_step_in_progress(const skel_state *s) {
    return s->integrator && s->integrator->is_step_in_progress;
}
