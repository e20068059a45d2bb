/* SPDX-License-Identifier: BSD-3-Clause */
/* Public functions that advance a state by one step, project it onto its joints, and report it. A
   step is divided into segments at the times when a prescribed velocity jumps or a pin switches;
   within a segment the chosen integrator advances the state. */
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

#define ADAMS_BODIES_MAX 5000   /* beyond, an error norm over all bodies demands too short steps */
#define STEP_IMPACTS_MAX 1000   /* searched for in one segment; later impacts wait for its end */
#define STEP_TIME_TOL 1e-9      /* relative to a step: two times this close are the same */
#define PROJECTION_GAP_MAX 1e-9 /* joint gap relative to the length scale, or [rad] */

/* AUTO chooses conserving steps for loops and pins, which reduced coordinates do not represent, and
   for stiff forces and impacts (springs, limits, contacts, wobbling masses, muscles). Smooth scenes
   are integrated by tolerance, or by RK4 if the caller set the length of the steps. */
int32_t skel__integrator_choice(const skel_model *m, int32_t integrator, int has_step) {
    if (!skel_integrator_name(integrator)) return -1;
    if (integrator != SKEL_INTEGRATOR_AUTO) return integrator;

    if (m->nl > 0 || m->npin > 0 || m->has_follow || m->ncand > 0 || m->nw > 0 ||
        m->has_joint_forces)
        return SKEL_INTEGRATOR_CONSERVING;
    return has_step || m->nd > ADAMS_BODIES_MAX ? SKEL_INTEGRATOR_RK4 : SKEL_INTEGRATOR_ADAMS;
}

int skel__chooses_steps(int32_t integrator) {
    return integrator == SKEL_INTEGRATOR_ADAMS || integrator == SKEL_INTEGRATOR_BDF;
}

skel_status skel__step_reserve(skel_state *s, int32_t integrator, int32_t solver, skel_error *err) {
    if (s->m->npin > 0 && integrator != SKEL_INTEGRATOR_CONSERVING)
        return skel__fail(
            err, SKEL_E_UNSUPPORTED, s->m->pin[0], -1,
            "bodies[%d]: has pin times, which the integrator %s does not support; use conserving",
            s->m->pin[0], skel_integrator_name(integrator));

    skel_status status = skel__integrator_attach(s);
    if (status == SKEL_OK) status = skel__reference_reserve(s, solver);
    if (status == SKEL_OK && integrator == SKEL_INTEGRATOR_CONSERVING)
        status = skel__conserving_reserve(s);
    if (status == SKEL_OK) status = skel__impact_reserve(s);
    if (status == SKEL_OK) return SKEL_OK;

    return skel__fail(err, status, -1, -1, "solver: %s",
                      status == SKEL_E_UNSUPPORTED ? "kkt does not support loops; use tree or pinv"
                                                   : skel_status_text(status));
}

/* ---- one step ---- */

static skel_status fail_step(const skel_state *s, skel_status status, int32_t integrator,
                             int32_t body, double h, skel_error *err) {
    const char *name = body >= 0 ? s->m->body[body].name : "";

    /* Failures of one body. */
    if (status == SKEL_E_JOINT)
        return skel__fail(err, status, body, -1,
                          "t = %.6g s: body '%s' is pinned to its curve, which is elsewhere; the "
                          "curve must pass through the pose of the body when the pin closes",
                          s->t, name);
    if (body >= 0)
        return skel__fail(err, status, body, -1,
                          "t = %.6g s: the motion of body '%s' diverged; use a step below %.3g s",
                          s->t, name, h);

    /* Failures of the whole step. */
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

/* Applies the changes at s->t: pins that switch, and jumps of prescribed velocities. */
static skel_status apply_switches(skel_state *s, int32_t integrator, double eps, int32_t *body) {
    /* A pinned body does not collide and a released one may, so a switch resets the event states.
       */
    const int has_switched = s->m->npin > 0 && skel__loops_select(s, eps);
    if (has_switched) s->has_event_states = 0;
    if (!has_switched && !skel__is_velocity_jump(s->m, s->t, eps)) return SKEL_OK;

    const skel_status status = skel__apply_velocity_jump(s);
    if (status != SKEL_OK || integrator != SKEL_INTEGRATOR_CONSERVING) return status;

    *body = skel__conserving_switch(s);
    return *body >= 0 ? SKEL_E_JOINT : SKEL_OK;
}

/* Arguments and result of explicit steps, passed through skel__step_until_impact. */
typedef struct explicit_run {
    int32_t integrator, solver, body;
    skel_status status;
} explicit_run;

static int step_explicit(skel_state *s, double h, void *data) {
    explicit_run *run = data;
    s->has_stored_energy = 0;
    s->has_inelastic_stops = 0;

    if (run->integrator == SKEL_INTEGRATOR_EULER)
        run->status = skel__step_euler(s, h, run->solver, &run->body);
    else
        run->status = skel__step_rk4(s, h, run->solver, &run->body);
    return run->status == SKEL_OK;
}

/* Advances by h with an explicit integrator. If the model has rigid grounds or hard stops, the
   steps run from impact to impact; otherwise it is a single step. */
static skel_status step_between_impacts(skel_state *s, int32_t integrator, int32_t solver, double h,
                                        int32_t *body) {
    const double end = s->t + h, eps = STEP_TIME_TOL * h;
    explicit_run run = {integrator, solver, -1, SKEL_OK};

    if (!skel__has_impacts(s->m)) {
        step_explicit(s, h, &run);
        skel__muscle_remember(s);
    } else {
        for (int n = 0; run.status == SKEL_OK && s->t < end - eps; ++n) {
            double done;
            skel__impacts(s);
            if (n < STEP_IMPACTS_MAX)
                skel__step_until_impact(s, end - s->t, step_explicit, &run, &done);
            else
                step_explicit(s, end - s->t, &run);
            skel__muscle_remember(s);
        }
    }
    *body = run.body;
    return run.status;
}

skel_status skel__step(skel_state *s, int32_t integrator, int32_t solver, double h,
                       skel_error *err) {
    skel__integrator *on = s->integrator;
    const int is_resumed = on->is_step_in_progress;
    int32_t body = -1;
    if (!is_resumed) {
        skel__state_save(s);
        on->step_start = s->t;
        on->step_end = s->t + h;
        s->ground_force_peak = 0;
    }
    on->is_step_in_progress = 1;

    /* A resumed step continues inside a segment: the changes at its start have been applied. */
    const double end = on->step_end, eps = STEP_TIME_TOL * (end - on->step_start);
    const int has_switches = s->m->np > 0;
    int is_at_switch = has_switches && !is_resumed;
    skel_status status = SKEL_OK;
    while (status == SKEL_OK && s->t < end - eps) {
        if (is_at_switch) status = apply_switches(s, integrator, eps, &body);
        is_at_switch = has_switches;
        const double stop = has_switches ? skel__next_velocity_jump(s->m, s->t, end, eps) : end;

        /* The segment from s->t to the next switch. Conserving steps detect impacts themselves. */
        if (status == SKEL_OK) status = skel__follow_prepare(s);
        if (status == SKEL_OK && skel__event_count(s->m) > 0) skel__event_states_start(s);
        if (status == SKEL_OK && integrator == SKEL_INTEGRATOR_CONSERVING)
            status = skel__step_conserving(s, stop - s->t, &body);
        else if (status == SKEL_OK)
            status = step_between_impacts(s, integrator, solver, stop - s->t, &body);
        if (status == SKEL_OK) s->t = stop;
    }
    if (status == SKEL_MORE) return status;

    on->is_step_in_progress = 0;
    if (status == SKEL_OK && s->ground_force > s->ground_force_peak) {
        s->ground_force_peak = s->ground_force;
        s->ground_force_peak_time = s->t;
    }
    if (status == SKEL_OK) return SKEL_OK;

    /* On failure the state is as it was before the step; whether stops are near is not known. */
    skel__state_restore(s);
    s->stops_near_count = 1;
    return fail_step(s, status, integrator, body, h, err);
}

skel_status skel_step(skel_state *state, const skel_step_desc *desc, skel_error *err) {
    skel_step_desc d = k_step;

    /* The arguments. */
    if (!state || !desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "an argument is NULL");
    if (skel__desc_import(&d, sizeof d, sizeof d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1,
                          "struct_size: must be set by skel_step_desc_init");
    if (!skel_integrator_name(d.integrator) || !skel_solver_name(d.solver))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "integrator %d or solver %d: must be SKEL_INTEGRATOR_* and SKEL_SOLVER_*",
                          d.integrator, d.solver);
    if (skel__chooses_steps(d.integrator))
        return skel__fail(err, SKEL_E_UNSUPPORTED, -1, -1,
                          "integrator: %s chooses its own steps, so it runs in a bake only",
                          skel_integrator_name(d.integrator));
    if (!(d.h > 0) || !isfinite(d.h))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "h: is %g s, must be finite and > 0", d.h);

    skel_status status = skel_model_check_dynamics(state->m, err);
    if (status != SKEL_OK) return status;
    if (d.flags != 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "flags: is %u, must be 0", d.flags);

    const int32_t integrator = skel__integrator_choice(state->m, d.integrator, 1);
    status = skel__step_reserve(state, integrator, d.solver, err);
    if (status != SKEL_OK) return status;
    return skel__step(state, integrator, d.solver, d.h, err);
}

/* The state has been restored. The message names the first body whose squared velocity overflows;
   if there is none, the equations are singular. */
static skel_status fail_projection(const skel_state *s, skel_error *err) {
    for (int32_t i = 0; i < s->m->nb; ++i) {
        const double v = v3_norm(s->x[i].v), w = v3_norm(s->x[i].w);
        if (isfinite(v + w)) continue;

        return skel__fail(err, SKEL_E_DIVERGED, i, -1,
                          "t = %.6g s: the velocity of bodies[%d] '%s' overflows when it is "
                          "squared; it must be below 1e150 m/s and rad/s",
                          s->t, i, s->m->body[i].name);
    }
    return skel__fail(err, SKEL_E_SINGULAR, -1, -1, "%s", skel_status_text(SKEL_E_SINGULAR));
}

skel_status skel_state_project(skel_state *state, double *gap, double *speed, skel_error *err) {
    if (!state) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "state: is NULL");
    const skel_status status = skel_model_check_dynamics(state->m, err);
    if (status != SKEL_OK) return status;

    /* Positions: closes the joints, and reports the gap that they had. */
    skel_report_row before;
    skel__state_save(state);
    skel__loops_select(state, 0);
    skel__prescribe(state, state->x, state->t, SKEL__AFTER);
    skel__measure(state, &before);
    double remaining;
    skel__close_joints(state, &remaining);
    if (gap) *gap = before.joint_gap;
    if (!(remaining < PROJECTION_GAP_MAX)) {
        skel__state_restore(state);
        return skel__fail(err, SKEL_E_JOINT, -1, -1,
                          "the joints cannot be closed from this pose (remaining gap %.3g of the "
                          "model's size); start from a pose in which they nearly fit",
                          remaining);
    }

    /* Velocities: removes the parts that the joints do not allow. */
    const double violation = skel__fit_velocities(state);
    if (speed) *speed = violation;
    if (isfinite(violation)) return SKEL_OK;

    skel__state_restore(state);
    return fail_projection(state, err);
}

skel_status skel_report(const skel_state *state, skel_report_row *row) {
    if (!state || !row) return SKEL_E_ARGUMENT;
    skel_report_row full;
    skel__measure(state, &full);
    return skel__desc_export(row, &full, sizeof full, sizeof full);
}
