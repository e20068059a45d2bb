/* SPDX-License-Identifier: BSD-3-Clause */
/* The state: memory, getters, setters, and the choice of the acceleration solver. */
#include "dynamics/dynamics.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "base/error.h"

#include <string.h>

/* Of contacts, wobbling masses, limits and muscles; nothing where there are none. */
static void layout_touch(skel__carver *c, skel_state *at) {
    const skel_model *m  = at->m;
    const size_t      nm = (size_t)m->ninternal, ne = (size_t)skel__event_count(m);
    at->internal       = skel__carve(c, nm, sizeof(double));
    at->internal_saved = skel__carve(c, nm, sizeof(double));
    at->internal_stage = skel__carve(c, nm, sizeof(double));
    for (int k = 0; k < 4; ++k) at->internal_rate[k] = skel__carve(c, nm, sizeof(double));
    at->stored_energy        = skel__carve(c, (size_t)m->ncand, sizeof(double));
    at->surface_offset       = skel__carve(c, (size_t)m->ncand, sizeof(double));
    at->stored_energy_saved  = skel__carve(c, (size_t)m->ncand, sizeof(double));
    at->surface_offset_saved = skel__carve(c, (size_t)m->ncand, sizeof(double));
    at->internal_now         = at->internal;
    at->internal_rate_now    = at->internal_rate[0];
    at->event_state          = skel__carve(c, ne, sizeof *at->event_state);
    at->slack                = skel__carve(c, ne, sizeof *at->slack);
    at->event_state_saved    = skel__carve(c, ne, sizeof *at->event_state_saved);
    at->event_value          = skel__carve(c, 4 * ne, sizeof *at->event_value);
    at->history              = skel__carve(c, (size_t)m->nmuscle, sizeof *at->history);
    at->contact_wrench       = skel__carve_with_world(c, (size_t)m->na, sizeof *at->contact_wrench);
    at->pair_joint_force     = skel__carve(c, (size_t)m->nj, sizeof *at->pair_joint_force);
}

static size_t layout(const skel_model *m, void *base, skel_state **out) {
    const size_t nb = (size_t)m->na, nj = (size_t)m->nj;
    skel__carver c  = {base, 0};
    skel_state  *s  = skel__carve(&c, 1, sizeof *s);
    skel_state   at = {.m = m};
    at.x            = skel__carve_with_world(&c, (size_t)m->na, sizeof *at.x);
    at.saved        = skel__carve_with_world(&c, (size_t)m->na, sizeof *at.saved);
    at.stage        = skel__carve_with_world(&c, (size_t)m->na, sizeof *at.stage);
    for (int k = 0; k < 4; ++k) at.rate[k] = skel__carve(&c, nb, sizeof *at.rate[k]);
    at.r        = skel__carve_with_world(&c, (size_t)m->na, sizeof *at.r);
    at.ww       = skel__carve_with_world(&c, (size_t)m->na, sizeof *at.ww);
    at.f        = skel__carve_with_world(&c, (size_t)m->na, sizeof *at.f);
    at.load     = skel__carve_with_world(&c, (size_t)m->na, sizeof *at.load);
    at.pair     = skel__carve(&c, nj, sizeof *at.pair);
    at.bias     = skel__carve(&c, nb, sizeof *at.bias);
    at.acc      = skel__carve_with_world(&c, (size_t)m->na, sizeof *at.acc);
    at.reaction = skel__carve(&c, nb, sizeof *at.reaction);
    at.aba      = skel__carve(&c, nb, sizeof *at.aba);
    at.follow_inertia =
        skel__carve(&c, skel__needs_composites(m) ? nj : 0, sizeof *at.follow_inertia);
    at.stop_load = skel__carve(&c, skel__needs_composites(m) ? nj : 0, sizeof *at.stop_load);
    at.composite = skel__carve(&c, skel__needs_composites(m) ? nb : 0, sizeof *at.composite);
    at.is_pinned = skel__carve(&c, (size_t)m->npin, sizeof *at.is_pinned);
    layout_touch(&c, &at);
    const size_t nr = (size_t)skel__loop_row_count(m), nl = (size_t)(m->nl + m->npin);
    at.loop_joint    = skel__carve(&c, nl, sizeof *at.loop_joint);
    at.loop_rows     = skel__carve(&c, nl, sizeof *at.loop_rows);
    at.loop_response = skel__carve(&c, nr * nb, sizeof *at.loop_response);
    at.loop_base     = skel__carve(&c, nl ? nb : 0, sizeof *at.loop_base);
    at.loop_wrench   = skel__carve(&c, 2 * nl, sizeof *at.loop_wrench);
    at.loop_system   = skel__carve(&c, nr * nr, sizeof(double));
    at.loop_mu       = skel__carve(&c, nr, sizeof(double));
    at.loop_scale    = skel__carve(&c, nr, sizeof(double));
    at.loop_x        = skel__carve(&c, nr, sizeof(double));
    at.loop_order    = skel__carve(&c, nr, sizeof *at.loop_order);
    if (s) *s = at;
    if (out) *out = s;
    return c.used;
}

/* x (na + world) as the model begins. */
static void place_at_start(const skel_model *m, skel__kin *x) {
    x[-1] = (skel__kin){.q = q_identity()};
    for (int32_t i = 0; i < m->na; ++i) {
        const skel__body *b = &m->body[i];
        x[i]                = (skel__kin){b->x0.p, b->x0.q, b->v0, b->w0};
    }
}

static void start(skel_state *s) {
    const skel_model *m = s->m;
    place_at_start(m, s->x);
    s->saved[-1] = s->stage[-1] = s->x[-1];
    s->r[-1]                    = m3_identity();
    for (int32_t k = 0; k < m->nj; ++k)
        if (m->joint[k].muscle_index >= 0)
            s->internal[m->joint[k].muscle_index] = m->joint[k].muscle.start;
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
    skel__free(allocator, state->reference);
    skel__free(allocator, state->em);
    skel__free(allocator, state->impact);
    skel__free(allocator, state->contacts);
    skel__free(allocator, state);
}

static void copy_touch(skel_state *dst, const skel_state *src) {
    const skel_model *m  = src->m;
    const size_t      ne = (size_t)skel__event_count(m);
    if (m->ninternal > 0)
        memcpy(dst->internal, src->internal, (size_t)m->ninternal * sizeof *src->internal);
    if (m->ncand > 0) {
        const size_t bytes = (size_t)m->ncand * sizeof(double);
        memcpy(dst->stored_energy, src->stored_energy, bytes);
        memcpy(dst->surface_offset, src->surface_offset, bytes);
    }
    if (ne > 0) memcpy(dst->event_state, src->event_state, ne * sizeof *src->event_state);
    if (ne > 0) memcpy(dst->slack, src->slack, ne * sizeof *src->slack);
    if (m->nmuscle > 0)
        memcpy(dst->history, src->history, (size_t)m->nmuscle * sizeof *src->history);
    dst->has_event_states  = src->has_event_states;
    dst->has_stored_energy = src->has_stored_energy;
}

skel_status skel_state_copy(skel_state *dst, const skel_state *src) {
    if (!dst || !src || dst->m != src->m) return SKEL_E_ARGUMENT;
    memcpy(dst->x, src->x, (size_t)src->m->na * sizeof *src->x);
    dst->nloop = src->nloop, dst->nr = src->nr;
    memcpy(dst->loop_joint, src->loop_joint, (size_t)src->nloop * sizeof *src->loop_joint);
    memcpy(dst->is_pinned, src->is_pinned, (size_t)src->m->npin * sizeof *src->is_pinned);
    copy_touch(dst, src);
    dst->has_inelastic_stops = src->has_inelastic_stops, dst->stops_near_count = 1;
    dst->t                  = src->t;
    dst->sum                = src->sum;
    dst->has_follow_inertia = src->has_follow_inertia;
    if (src->has_follow_inertia) {
        const size_t nj = (size_t)src->m->nj;
        memcpy(dst->follow_inertia, src->follow_inertia, nj * sizeof *src->follow_inertia);
        memcpy(dst->stop_load, src->stop_load, nj * sizeof *src->stop_load);
    }
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
    state->t           = time;
    state->sum         = (skel__power){0};
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

/* Another pose: what touched does not, and springs along grounds are not bent. */
static void forget_touch(skel_state *s) {
    const skel_model *m = s->m;
    if (m->ncand > 0) memset(s->internal, 0, 3 * (size_t)m->ncand * sizeof *s->internal);
    if (m->ncand > 0) memset(s->stored_energy, 0, (size_t)m->ncand * sizeof *s->stored_energy);
    if (m->ncand > 0) memset(s->surface_offset, 0, (size_t)m->ncand * sizeof *s->surface_offset);
    for (int32_t k = 0; k < skel__event_count(m); ++k) s->slack[k] = 0;
    s->has_event_states = s->has_stored_energy = 0;
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
    forget_touch(state);
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

/* Coordinates times lengths may overflow: a setter copies the state to s->stage first, and takes it
   back from there if what it has made is not finite. */
static void keep_state(skel_state *s) {
    memcpy(s->stage, s->x, (size_t)s->m->na * sizeof *s->x);
}
static skel_status take_back(skel_state *s) {
    memcpy(s->x, s->stage, (size_t)s->m->na * sizeof *s->x);
    return SKEL_E_ARGUMENT;
}

skel_status skel_state_get_q(const skel_state *state, double *q) {
    if (!state || !q) return SKEL_E_ARGUMENT;
    skel__q_of(state->m, state->x, q);
    return SKEL_OK;
}

skel_status skel_state_set_q(skel_state *state, const double *q) {
    if (!state || !q || !all_finite(q, (size_t)state->m->nq)) return SKEL_E_ARGUMENT;
    keep_state(state);
    skel__fk_with_mimics(state->m, q, state->x);
    if (!has_finite_poses(state->m, state->x)) return take_back(state);
    forget_touch(state);
    state->is_factored = 0;
    return SKEL_OK;
}

skel_status skel_state_get_qd(const skel_state *state, double *qd) {
    if (!state || !qd) return SKEL_E_ARGUMENT;
    skel_state *s = (skel_state *)(uintptr_t)state; /* only its workspace is written */
    skel__qd_of(s, qd);
    return SKEL_OK;
}

skel_status skel_state_set_qd(skel_state *state, const double *qd) {
    if (!state || !qd || !all_finite(qd, (size_t)state->m->nv)) return SKEL_E_ARGUMENT;
    keep_state(state);
    skel__fk_velocity(state, qd);
    return has_finite_velocities(state->m, state->x) ? SKEL_OK : take_back(state);
}

skel_status skel_fk(const skel_model *model, const double *q, double *poses) {
    if (!model || !q || !poses || !all_finite(q, (size_t)model->nq)) return SKEL_E_ARGUMENT;
    skel__kin *room = skel__alloc(&model->allocator, ((size_t)model->na + 1) * sizeof *room);
    if (!room) return SKEL_E_MEMORY;
    skel__kin *x = room + 1; /* the world is at -1 */
    place_at_start(model, x);
    skel__fk_with_mimics(model, q, x);
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
                          "an argument is NULL, or the solver unknown");
    skel_status status = skel_model_check_dynamics(state->m, err);
    if (status != SKEL_OK) return status;
    status = skel__reference_reserve(state, solver);
    if (status == SKEL_E_UNSUPPORTED)
        return skel__fail(err, status, -1, -1, "solver: kkt does not take loops, tree and pinv do");
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "no memory for the solver");
    state->is_factored = 0;
    status             = skel__follow_prepare(state);
    if (status == SKEL_OK)
        status = skel__accelerate(state, state->x, state->t, SKEL__AFTER, solver);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1, "t = %g s: %s", state->t, skel_status_text(status));
    for (int32_t i = 0; i < state->m->nb; ++i) {
        double *a = linear + 3 * (size_t)i, *alpha = angular + 3 * (size_t)i;
        v3_to(state->acc[i].v, a);
        v3_to(skel__body_axes(state, i, state->acc[i].w), alpha);
        if (!all_finite(a, 3) || !all_finite(alpha, 3)) return fail_overflow(state, i, err);
    }
    return SKEL_OK;
}
