/* SPDX-License-Identifier: BSD-3-Clause */
/* One step by any integrator, the projection and the report of a state, for the public. */
#include "integrate/step.h"
#include "base/desc.h"
#include "base/error.h"
#include "integrate/impact.h"
#include "integrate/integrator.h"

#include <skel/skel_bake.h>

#include <string.h>

_Static_assert(sizeof(skel_step_desc) == offsetof(skel_step_desc, h) + 8, "tail padding");
static const skel_step_desc k_step = {.struct_size = sizeof k_step, .h = 1.0 / 480};

void skel_step_desc_init_sized(skel_step_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_step, sizeof k_step);
}

static const char *const k_integrators[] = {"auto", "euler", "rk4", "adams", "bdf", "conserving"};
static const char *const k_solvers[] = {"tree", "pinv", "kkt"};
#define COUNT(a) ((int32_t)(sizeof(a) / sizeof *(a)))

const char *skel_integrator_name(int32_t integrator) {
    return integrator >= 0 && integrator < COUNT(k_integrators) ? k_integrators[integrator] : NULL;
}
const char *skel_solver_name(int32_t solver) {
    return solver >= 0 && solver < COUNT(k_solvers) ? k_solvers[solver] : NULL;
}

#define MANY 5000 /* bodies: beyond, an error norm over all of them asks for too much */

/* Smooth scenes by tolerance (or by the steps that were asked for); loops and pins, which joint
   coordinates do not have, and what is stiff or hits (springs, limits, contacts, wobbling masses,
   muscles), by conserving steps. */
int32_t skel__integrator_choice(const skel_model *m, int32_t integrator, int has_step) {
    if (!skel_integrator_name(integrator)) return -1;
    if (integrator != SKEL_INTEGRATOR_AUTO) return integrator;
    if (m->nl > 0 || m->npin > 0 || m->has_follow || m->ncand > 0 || m->nw > 0 ||
        m->has_joint_forces)
        return SKEL_INTEGRATOR_CONSERVING;
    return has_step || m->nd > MANY ? SKEL_INTEGRATOR_RK4 : SKEL_INTEGRATOR_ADAMS;
}

int skel__chooses_steps(int32_t integrator) {
    return integrator == SKEL_INTEGRATOR_ADAMS || integrator == SKEL_INTEGRATOR_BDF;
}

skel_status skel__step_reserve(skel_state *s, int32_t integrator, int32_t solver, skel_error *err) {
    if (s->m->npin > 0 && integrator != SKEL_INTEGRATOR_CONSERVING)
        return skel__fail(err, SKEL_E_UNSUPPORTED, s->m->pin[0], -1,
                          "bodies[%d]: is pinned or released at times, which needs the integrator "
                          "conserving, not %s",
                          s->m->pin[0], skel_integrator_name(integrator));
    skel_status status = skel__integrator_attach(s);
    if (status == SKEL_OK) status = skel__reference_reserve(s, solver);
    if (status == SKEL_OK && integrator == SKEL_INTEGRATOR_CONSERVING)
        status = skel__conserving_reserve(s);
    if (status == SKEL_OK) status = skel__impact_reserve(s);
    if (status == SKEL_OK) return SKEL_OK;
    return skel__fail(err, status, -1, -1, "solver: %s",
                      status == SKEL_E_UNSUPPORTED ? "kkt does not take loops, tree and pinv do"
                                                   : skel_status_text(status));
}

static skel_status fail_step(const skel_state *s, skel_status status, int32_t integrator,
                             int32_t body, double h, skel_error *err) {
    const char *name = body >= 0 ? s->m->body[body].name : "";
    if (status == SKEL_E_JOINT)
        return skel__fail(err, status, body, -1,
                          "t = %.6g s: body '%s' is pinned to its curve, which is elsewhere; the "
                          "curve must pass where the body is when the pin closes",
                          s->t, name);
    if (body >= 0)
        return skel__fail(err, status, body, -1,
                          "t = %.6g s: body '%s' left all bounds; use a step below %.3g s", s->t,
                          name, h);
    if (status == SKEL_E_DIVERGED && integrator == SKEL_INTEGRATOR_CONSERVING)
        return skel__fail(err, status, -1, -1,
                          "Newton's method did not converge at t = %.6g s (worst %s '%s'); try a "
                          "shorter step (now %.3g ms), and check that joints, pins and drives do "
                          "not contradict each other",
                          s->t, s->m->nj + s->m->npin > 0 ? "joint" : "body",
                          skel__conserving_worst(s), 1e3 * h);
    if (status == SKEL_E_DIVERGED)
        return skel__fail(err, status, -1, -1,
                          "t = %.6g s: the joints opened within one step; use a step below %.3g s",
                          s->t, h);
    return skel__fail(err, status, -1, -1, "t = %.6g s: %s", s->t, skel_status_text(status));
}

static skel_status step_by(skel_state *s, int32_t integrator, int32_t solver, double h,
                           int32_t *body) {
    if (integrator != SKEL_INTEGRATOR_CONSERVING) s->has_stored_energy = s->has_inelastic_stops = 0;
    switch (integrator) {
    case SKEL_INTEGRATOR_EULER: return skel__step_euler(s, h, solver, body);
    case SKEL_INTEGRATOR_CONSERVING: return skel__step_conserving(s, h, body);
    default: return skel__step_rk4(s, h, solver, body);
    }
}

/* What changes at s->t: pins, and velocities of prescribed bodies. */
static skel_status switch_at(skel_state *s, int32_t integrator, double eps, int32_t *body) {
    const int pins = s->m->npin > 0 && skel__loops_select(s, eps);
    if (pins) s->has_event_states = 0; /* what is held hits nothing, what is let go may */
    if (!pins && !skel__is_velocity_jump(s->m, s->t, eps)) return SKEL_OK;
    const skel_status status = skel__apply_velocity_jump(s);
    if (status != SKEL_OK || integrator != SKEL_INTEGRATOR_CONSERVING) return status;
    *body = skel__conserving_switch(s);
    return *body >= 0 ? SKEL_E_JOINT : SKEL_OK;
}

#define HITS_MAX 1000 /* in one step; then it goes on through */

/* What one step needs to know, and how it went. */
typedef struct stepper {
    int32_t integrator, solver, body;
    skel_status status;
} stepper;

static int step_fn(skel_state *s, double h, void *data) {
    stepper *p = data;
    p->status = step_by(s, p->integrator, p->solver, h, &p->body);
    return p->status == SKEL_OK;
}

/* From hit to hit. */
static skel_status step_with_hits(skel_state *s, int32_t integrator, int32_t solver, double h,
                                  int32_t *body) {
    const double end = s->t + h, eps = 1e-9 * h;
    skel_status status = skel__follow_prepare(s);
    if (skel__event_count(s->m) > 0) skel__event_states_start(s);
    if (!skel__has_impacts(s->m) || integrator == SKEL_INTEGRATOR_CONSERVING) { /* looks itself */
        if (status == SKEL_OK) status = step_by(s, integrator, solver, h, body);
        if (integrator != SKEL_INTEGRATOR_CONSERVING) skel__muscle_remember(s);
        return status;
    }
    stepper p = {integrator, solver, -1, status};
    for (int n = 0; p.status == SKEL_OK && s->t < end - eps; ++n) {
        double done;
        skel__impacts(s);
        if (n < HITS_MAX)
            skel__step_until_impact(s, end - s->t, step_fn, &p, &done);
        else
            step_fn(s, end - s->t, &p);
        skel__muscle_remember(s);
    }
    *body = p.body;
    status = p.status;
    return status;
}

/* In pieces from jolt to jolt. */
static skel_status step_in_pieces(skel_state *s, int32_t integrator, int32_t solver,
                                  int32_t *body) {
    skel__integrator *on = s->integrator;
    const double end = on->step_end, eps = 1e-9 * (end - on->step_start);
    int goes_on = on->is_step_in_progress;
    on->is_step_in_progress = 1;
    while (s->t < end - eps) {
        skel_status status = SKEL_OK;
        if (s->m->np > 0 && !goes_on) status = switch_at(s, integrator, eps, body);
        goes_on = 0;
        const double stop = s->m->np > 0 ? skel__next_velocity_jump(s->m, s->t, end, eps) : end;
        if (status == SKEL_OK) status = step_with_hits(s, integrator, solver, stop - s->t, body);
        if (status != SKEL_OK) return status;
        s->t = stop;
    }
    return SKEL_OK;
}

skel_status skel__step(skel_state *s, int32_t integrator, int32_t solver, double h,
                       skel_error *err) {
    skel__integrator *on = s->integrator;
    int32_t body = -1;
    if (!on->is_step_in_progress) {
        skel__state_save(s);
        on->step_start = s->t;
        on->step_end = s->t + h;
        s->ground_force_peak = 0;
    }
    const skel_status status = step_in_pieces(s, integrator, solver, &body);
    if (status == SKEL_MORE) return status;
    on->is_step_in_progress = 0;
    if (status == SKEL_OK && s->ground_force > s->ground_force_peak)
        s->ground_force_peak = s->ground_force, s->ground_force_peak_time = s->t;
    if (status == SKEL_OK) return SKEL_OK;

    skel__state_restore(s);
    s->stops_near_count = 1; /* not known */
    return fail_step(s, status, integrator, body, h, err);
}

skel_status skel_step(skel_state *state, const skel_step_desc *desc, skel_error *err) {
    skel_step_desc d = k_step;
    if (!state || !desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "an argument is NULL");
    if (skel__desc_import(&d, sizeof d, sizeof d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1,
                          "struct_size: must be set by skel_step_desc_init");
    if (!skel_integrator_name(d.integrator) || !skel_solver_name(d.solver))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "integrator or solver: is unknown");
    if (skel__chooses_steps(d.integrator))
        return skel__fail(err, SKEL_E_UNSUPPORTED, -1, -1,
                          "integrator: %s chooses its own steps, which takes a bake",
                          skel_integrator_name(d.integrator));
    if (!(d.h > 0) || !isfinite(d.h))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "h: is %g, must be finite and > 0", d.h);
    skel_status status = skel_model_check_dynamics(state->m, err);
    if (status != SKEL_OK) return status;
    if (d.flags != 0) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "flags: must be 0");
    const int32_t integrator = skel__integrator_choice(state->m, d.integrator, 1);
    status = skel__step_reserve(state, integrator, d.solver, err);
    if (status != SKEL_OK) return status;
    return skel__step(state, integrator, d.solver, d.h, err);
}

/* The state is as it was before: of velocities that overflow when they are squared, the first is
   named; else the equations are singular. */
static skel_status fail_projection(const skel_state *s, skel_error *err) {
    for (int32_t i = 0; i < s->m->nb; ++i) {
        const double v = v3_norm(s->x[i].v), w = v3_norm(s->x[i].w);
        if (isfinite(v + w)) continue;
        return skel__fail(err, SKEL_E_DIVERGED, i, -1,
                          "t = %.6g s: the velocity of bodies[%d] '%s' is beyond the range of "
                          "numbers when squared; it must be below 1e150 m/s and rad/s",
                          s->t, i, s->m->body[i].name);
    }
    return skel__fail(err, SKEL_E_SINGULAR, -1, -1, "%s", skel_status_text(SKEL_E_SINGULAR));
}

skel_status skel_state_project(skel_state *state, double *gap, double *speed, skel_error *err) {
    if (!state) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "state: is NULL");
    const skel_status status = skel_model_check_dynamics(state->m, err);
    if (status != SKEL_OK) return status;
    skel_report_row before;
    skel__state_save(state);
    skel__loops_select(state, 0);
    skel__prescribe(state, state->x, state->t, SKEL__AFTER);
    skel__measure(state, &before);
    double left;
    skel__close_joints(state, &left);
    if (gap) *gap = before.joint_gap;
    if (!(left < 1e-9)) {
        skel__state_restore(state);
        return skel__fail(err, SKEL_E_JOINT, -1, -1, "the joints cannot be closed from this pose");
    }
    const double wrong = skel__fit_velocities(state);
    if (speed) *speed = wrong;
    if (isfinite(wrong)) return SKEL_OK;

    skel__state_restore(state);
    return fail_projection(state, err);
}

skel_status skel_report(const skel_state *state, skel_report_row *row) {
    if (!state || !row) return SKEL_E_ARGUMENT;
    skel_report_row full;
    skel__measure(state, &full);
    return skel__desc_export(row, &full, sizeof full, SKEL__ROW_V1);
}
