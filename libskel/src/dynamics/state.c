/* SPDX-License-Identifier: BSD-3-Clause */
/* The state: memory, copies, getters and setters, and the choice of the acceleration solver. */
#include "dynamics/dynamics.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "base/error.h"

#include <string.h>

static const skel__run k_run = {.deadline = INFINITY};

/* Arrays of the state variables, from the start of the block `base`. Returns the bytes. */
static size_t layout_variables(const skel_model *m, void *base, skel_state *at) {
    const size_t na = (size_t)m->na, ncand = (size_t)m->ncand;
    const size_t ne = (size_t)skel__event_count(m);
    const size_t composites = skel__needs_composites(m) ? (size_t)m->nj : 0;
    skel__carver c = {base, 0};

    at->arrays = base;
    at->x = skel__carve_with_world(&c, na, sizeof *at->x);
    at->is_pinned = skel__carve(&c, (size_t)m->npin, sizeof *at->is_pinned);
    at->loop_joint = skel__carve(&c, (size_t)(m->nl + m->npin), sizeof *at->loop_joint);
    at->internal = skel__carve(&c, (size_t)m->ninternal, sizeof *at->internal);
    at->stored_energy = skel__carve(&c, ncand, sizeof *at->stored_energy);
    at->surface_offset = skel__carve(&c, ncand, sizeof *at->surface_offset);
    at->event_state = skel__carve(&c, ne, sizeof *at->event_state);
    at->slack = skel__carve(&c, ne, sizeof *at->slack);
    at->history = skel__carve(&c, (size_t)m->nmuscle, sizeof *at->history);
    at->follow_inertia = skel__carve(&c, composites, sizeof *at->follow_inertia);
    at->follow_mass = skel__carve(&c, composites, sizeof *at->follow_mass);
    at->stop_load = skel__carve(&c, composites, sizeof *at->stop_load);

    at->array_bytes = c.used;
    return c.used;
}

size_t skel__variables_bytes(const skel_model *m) {
    skel_state counted;
    return layout_variables(m, NULL, &counted);
}

void skel__variables_copy(skel__variables *to, const skel__variables *from) {
    void *arrays = to->arrays;
    memcpy(arrays, from->arrays, from->array_bytes);
    *to = *from;
    to->arrays = arrays;
}

void skel__state_save(skel_state *s) {
    skel__variables_copy(&s->saved, &s->variables);
}

void skel__state_restore(skel_state *s) {
    skel__variables_copy(&s->variables, &s->saved);
    s->is_factored = 0;
}

/* Workspace of the forces: loads, contacts, joints. */
static void layout_forces(skel__carver *c, skel_state *at) {
    const size_t na = (size_t)at->m->na, nj = (size_t)at->m->nj;
    const size_t ninternal = (size_t)at->m->ninternal, ne = (size_t)skel__event_count(at->m);

    at->f = skel__carve_with_world(c, na, sizeof *at->f);
    at->load = skel__carve_with_world(c, na, sizeof *at->load);
    at->pair = skel__carve(c, nj, sizeof *at->pair);
    at->pair_joint_force = skel__carve(c, nj, sizeof *at->pair_joint_force);
    at->contact_wrench = skel__carve_with_world(c, na, sizeof *at->contact_wrench);
    at->event_value = skel__carve(c, 4 * ne, sizeof *at->event_value);
    at->composite = skel__carve(c, skel__needs_composites(at->m) ? na : 0, sizeof *at->composite);

    at->internal_stage = skel__carve(c, ninternal, sizeof(double));
    for (int k = 0; k < 4; ++k) at->internal_rate[k] = skel__carve(c, ninternal, sizeof(double));
    at->internal_now = at->internal;
    at->internal_rate_now = at->internal_rate[0];
}

/* Workspace of loop joints and pins. */
static void layout_loops(skel__carver *c, skel_state *at) {
    const skel_model *m = at->m;
    const size_t na = (size_t)m->na, nl = (size_t)(m->nl + m->npin);
    const size_t nr = (size_t)skel__loop_row_count(m);

    at->loop_rows = skel__carve(c, nl, sizeof *at->loop_rows);
    at->loop_response = skel__carve(c, nr * na, sizeof *at->loop_response);
    at->loop_base = skel__carve(c, nl ? na : 0, sizeof *at->loop_base);
    at->loop_wrench = skel__carve(c, 2 * nl, sizeof *at->loop_wrench);
    at->loop_system = skel__carve(c, nr * nr, sizeof(double));
    at->loop_mu = skel__carve(c, nr, sizeof(double));
    at->loop_scale = skel__carve(c, nr, sizeof(double));
    at->loop_x = skel__carve(c, nr, sizeof(double));
    at->loop_order = skel__carve(c, nr, sizeof *at->loop_order);
}

static size_t layout(const skel_model *m, void *base, skel_state **out) {
    const size_t na = (size_t)m->na, variables = skel__variables_bytes(m);
    skel__carver c = {base, 0};
    skel_state *s = skel__carve(&c, 1, sizeof *s);
    skel_state at = {.m = m, .run = &k_run};

    /* The state variables, and room for a copy of them. */
    layout_variables(m, skel__carve(&c, variables, 1), &at);
    at.saved.arrays = skel__carve(&c, variables, 1);

    /* Stages of explicit steps, and the accelerations of the tree. */
    at.stage = skel__carve_with_world(&c, na, sizeof *at.stage);
    for (int k = 0; k < 4; ++k) at.rate[k] = skel__carve(&c, na, sizeof *at.rate[k]);
    at.r = skel__carve_with_world(&c, na, sizeof *at.r);
    at.ww = skel__carve_with_world(&c, na, sizeof *at.ww);
    at.bias = skel__carve(&c, na, sizeof *at.bias);
    at.acc = skel__carve_with_world(&c, na, sizeof *at.acc);
    at.reaction = skel__carve(&c, na, sizeof *at.reaction);
    at.aba = skel__carve(&c, na, sizeof *at.aba);

    layout_forces(&c, &at);
    layout_loops(&c, &at);

    if (s) *s = at;
    if (out) *out = s;
    return c.used;
}

/* Poses and velocities at the start of the model, into x (na + world). */
static void place_at_start(const skel_model *m, skel__kin *x) {
    x[-1] = (skel__kin){.q = q_identity()};
    for (int32_t i = 0; i < m->na; ++i) {
        const skel__body *b = &m->body[i];
        x[i] = (skel__kin){b->x0.p, b->x0.q, b->v0, b->w0};
    }
}

static void start(skel_state *s) {
    const skel_model *m = s->m;

    place_at_start(m, s->x);
    s->stage[-1] = s->x[-1];
    s->r[-1] = m3_identity();

    /* Torques of the muscles. */
    for (int32_t k = 0; k < m->nj; ++k)
        if (m->joint[k].muscle_index >= 0)
            s->internal[m->joint[k].muscle_index] = m->joint[k].muscle.start;

    /* Loop joints hold from the start; skel__loops_select adds the pins. */
    for (int32_t i = 0; i < m->nl; ++i) {
        s->loop_joint[s->nloop++] = m->loop[i];
        s->nr += skel__joint_rows(m->joint[m->loop[i]].type);
    }
}

skel_status skel_state_create(const skel_model *model, skel_state **out, skel_error *err) {
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;
    if (!model) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model: is NULL");

    void *block = skel__alloc(&model->allocator, layout(model, NULL, NULL));
    if (!block)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for a state of %d bodies",
                          model->nb);

    layout(model, block, out);
    start(*out);
    return SKEL_OK;
}

void skel_state_destroy(skel_state *state) {
    if (!state) return;
    const skel_allocator *allocator = &state->m->allocator;
    if (state->integrator_destroy) state->integrator_destroy(state);
    skel__free(allocator, state->reference);
    skel__free(allocator, state->contacts);
    skel__free(allocator, state);
}

skel_status skel_state_copy(skel_state *dst, const skel_state *src) {
    if (!dst || !src || dst->m != src->m) return SKEL_E_ARGUMENT;
    skel__variables_copy(&dst->variables, &src->variables);
    dst->stops_near_count = 1;
    dst->is_factored = 0;
    return SKEL_OK;
}

const skel_model *skel_state_model(const skel_state *state) {
    return state ? state->m : NULL;
}
double skel_state_time(const skel_state *state) {
    return state ? state->t : 0;
}

void skel_state_set_time(skel_state *state, double time) {
    if (!state || !isfinite(time)) return;
    state->t = time;
    state->sum = (skel__power){0};
    state->is_factored = 0;
    skel__prescribe(state, state->x, time, SKEL__AFTER);
}

static void write_poses(const skel_model *m, const skel__kin *x, double *poses) {
    for (int32_t i = 0; i < m->nb; ++i) {
        v3_to(x[i].p, poses + 7 * (size_t)i);
        q_to(x[i].q, poses + 7 * (size_t)i + 3);
    }
}

skel_status skel_state_get_poses(const skel_state *state, double *poses) {
    if (!state || !poses) return SKEL_E_ARGUMENT;
    write_poses(state->m, state->x, poses);
    return SKEL_OK;
}

/* For a new pose: resets the tangential displacements, stored energies and event states. The
   torques of the muscles, which follow the displacements in s->internal, stay. */
static void reset_contacts(skel_state *s) {
    const size_t ncand = (size_t)s->m->ncand;
    if (ncand > 0) {
        memset(s->internal, 0, 3 * ncand * sizeof *s->internal);
        memset(s->stored_energy, 0, ncand * sizeof *s->stored_energy);
        memset(s->surface_offset, 0, ncand * sizeof *s->surface_offset);
    }
    for (int32_t k = 0; k < skel__event_count(s->m); ++k) s->slack[k] = 0;
    s->has_event_states = 0;
    s->has_stored_energy = 0;
}

skel_status skel_state_set_poses(skel_state *state, const double *poses) {
    if (!state || !poses || !all_finite(poses, 7 * (size_t)state->m->nb)) return SKEL_E_ARGUMENT;
    for (int32_t i = 0; i < state->m->nb; ++i) {
        if (!q_has_direction(q_of(poses + 7 * (size_t)i + 3))) return SKEL_E_ARGUMENT;
    }

    for (int32_t i = 0; i < state->m->nb; ++i) {
        state->x[i].p = v3_of(poses + 7 * (size_t)i);
        state->x[i].q = q_unit(q_of(poses + 7 * (size_t)i + 3));
    }

    reset_contacts(state);
    state->is_factored = 0;
    return SKEL_OK;
}

skel_status skel_state_get_velocities(const skel_state *state, double *velocities) {
    if (!state || !velocities) return SKEL_E_ARGUMENT;
    for (int32_t i = 0; i < state->m->nb; ++i) {
        v3_to(state->x[i].v, velocities + 6 * (size_t)i);
        v3_to(state->x[i].w, velocities + 6 * (size_t)i + 3);
    }
    return SKEL_OK;
}

skel_status skel_state_set_velocities(skel_state *state, const double *velocities) {
    if (!state || !velocities || !all_finite(velocities, 6 * (size_t)state->m->nb))
        return SKEL_E_ARGUMENT;
    for (int32_t i = 0; i < state->m->nb; ++i) {
        state->x[i].v = v3_of(velocities + 6 * (size_t)i);
        state->x[i].w = v3_of(velocities + 6 * (size_t)i + 3);
    }
    return SKEL_OK;
}

static int has_finite_poses(const skel_model *m, const skel__kin *x) {
    for (int32_t i = 0; i < m->na; ++i) {
        double number[7];
        v3_to(x[i].p, number);
        q_to(x[i].q, number + 3);
        if (!all_finite(number, 7)) return 0;
    }
    return 1;
}

static int has_finite_velocities(const skel_model *m, const skel__kin *x) {
    for (int32_t i = 0; i < m->na; ++i) {
        double number[6];
        v3_to(x[i].v, number);
        v3_to(x[i].w, number + 3);
        if (!all_finite(number, 6)) return 0;
    }
    return 1;
}

skel_status skel_state_get_q(const skel_state *state, double *q) {
    if (!state || !q) return SKEL_E_ARGUMENT;
    skel__q_of(state->m, state->x, q);
    return SKEL_OK;
}

skel_status skel_state_set_q(skel_state *state, const double *q) {
    if (!state || !q || !all_finite(q, (size_t)state->m->nq)) return SKEL_E_ARGUMENT;

    /* Coordinates times lengths may overflow. */
    skel__state_save(state);
    skel__fk_with_mimics(state->m, q, state->x);
    if (!has_finite_poses(state->m, state->x)) {
        skel__state_restore(state);
        return SKEL_E_ARGUMENT;
    }

    reset_contacts(state);
    state->is_factored = 0;
    return SKEL_OK;
}

skel_status skel_state_get_qd(const skel_state *state, double *qd) {
    if (!state || !qd) return SKEL_E_ARGUMENT;
    skel__qd_of(state->m, state->x, qd);
    return SKEL_OK;
}

skel_status skel_state_set_qd(skel_state *state, const double *qd) {
    if (!state || !qd || !all_finite(qd, (size_t)state->m->nv)) return SKEL_E_ARGUMENT;

    /* Velocities times lengths may overflow. */
    skel__state_save(state);
    skel__fk_velocity(state, qd);
    if (has_finite_velocities(state->m, state->x)) return SKEL_OK;

    skel__state_restore(state);
    return SKEL_E_ARGUMENT;
}

skel_status skel_fk(const skel_model *model, const double *q, double *poses) {
    if (!model || !q || !poses || !all_finite(q, (size_t)model->nq)) return SKEL_E_ARGUMENT;
    skel__kin *room = skel__alloc(&model->allocator, ((size_t)model->na + 1) * sizeof *room);
    if (!room) return SKEL_E_MEMORY;

    skel__kin *x = room + 1; /* index -1 is the world */
    place_at_start(model, x);
    skel__fk_with_mimics(model, q, x);

    /* Coordinates times lengths may overflow. */
    const skel_status status = has_finite_poses(model, x) ? SKEL_OK : SKEL_E_ARGUMENT;
    if (status == SKEL_OK) write_poses(model, x, poses);
    skel__free(&model->allocator, room);
    return status;
}

skel_status skel__accelerate(skel_state *s, skel__kin *x, double t, skel__side side,
                             int32_t solver) {
    skel__prescribe(s, x, t, side);
    skel__prepare(s, x);
    skel__loads(s, x, t, side);

    switch (solver) {
    case SKEL_SOLVER_PINV: return skel__pinv(s, x);
    case SKEL_SOLVER_KKT: return skel__kkt(s, x);
    default: break;
    }

    /* Articulated bodies; the factors of s->x serve until it moves. */
    if (!(x == s->x && s->is_factored)) {
        const skel_status status = skel__aba_factor(s, x);
        if (status != SKEL_OK) return status;
    }
    skel__aba_bias(s, x);
    skel__aba_solve(s);

    if (s->nloop > 0) skel__loops_solve(s, x, SKEL__LOOP_ACCELERATE);
    return SKEL_OK;
}

static skel_status fail_overflow(const skel_state *s, int32_t body, skel_error *err) {
    const skel__kin *x = &s->x[body];
    return skel__fail(err, SKEL_E_DIVERGED, body, -1,
                      "t = %.6g s: the acceleration of bodies[%d] '%s' is beyond the range of "
                      "numbers (speed %.3g m/s, %.3g rad/s; mass %.3g kg); give it and the bodies "
                      "it is joined to smaller velocities and forces, and masses, inertias and "
                      "lengths of similar size",
                      s->t, body, s->m->body[body].name, v3_norm(x->v), v3_norm(x->w),
                      s->m->body[body].mass);
}

skel_status skel_accelerations(skel_state *state, int32_t solver, double *linear, double *angular,
                               skel_error *err) {
    if (!state || !linear || !angular || solver < SKEL_SOLVER_TREE || solver > SKEL_SOLVER_KKT)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "an argument is NULL, or the solver is unknown");
    skel_status status = skel_model_check_dynamics(state->m, err);
    if (status != SKEL_OK) return status;

    status = skel__reference_reserve(state, solver);
    if (status == SKEL_E_UNSUPPORTED)
        return skel__fail(err, status, -1, -1,
                          "solver: is kkt, which does not support loops; use tree or pinv");
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "no memory for the solver");

    state->is_factored = 0;
    status = skel__follow_prepare(state);
    if (status == SKEL_OK)
        status = skel__accelerate(state, state->x, state->t, SKEL__AFTER, solver);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1, "t = %g s: %s", state->t, skel_status_text(status));

    /* The angular accelerations in body axes. */
    for (int32_t i = 0; i < state->m->nb; ++i) {
        double *a = linear + 3 * (size_t)i, *alpha = angular + 3 * (size_t)i;
        v3_to(state->acc[i].v, a);
        v3_to(skel__body_axes(state, i, state->acc[i].w), alpha);
        if (!all_finite(a, 3) || !all_finite(alpha, 3)) return fail_overflow(state, i, err);
    }
    return SKEL_OK;
}
