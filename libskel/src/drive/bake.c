/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation over time with samples at an even rate. Integrators with fixed steps advance on a grid
   t0 + n h; a sample between two grid points is a shorter step on a copy of the state. adams and
   bdf choose their own steps; their samples are interpolated. The steps do not depend on the sample
   rate, so 24 and 120 samples per second show the same motion. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/clock.h"
#include "base/desc.h"
#include "base/error.h"
#include "integrate/impact.h"
#include "integrate/step.h"
#include "model/joint_kind.h"

#include <skel/skel_bake.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BAKE_STEP_EULER_S (1.0 / 3840)
#define BAKE_STEP_RK4_S (1.0 / 960)
#define BAKE_STEP_CONSERVING_S (1.0 / 240)
#define BAKE_TIME_TOL 1e-9 /* relative to a step: a sample this close to a grid point is on it */
#define BAKE_DURATION_MAX_S 1e7 /* four months */
#define BAKE_STEPS_MAX 1e12
#define BAKE_BYTES_MAX 1e15
#define BAKE_WARNINGS_MAX 32
#define BAKE_WARNING_LENGTH 240 /* [characters] */
#define BAKE_REST_SPEED 1e-3    /* relative to the speed of a fall by the length scale */
/* Corrections of the start beyond this produce a warning; relative to the length scale, and to the
   speed of a fall from it. Animation in single precision stays below. */
#define BAKE_CORRECTION_MIN 1e-6
#define BAKE_ENERGY_GAIN_MAX 1e-3 /* relative: a larger gain is not rounding */

_Static_assert(sizeof(skel_bake_desc) == offsetof(skel_bake_desc, preroll) + 8, "tail padding");
_Static_assert(sizeof(skel_bake_summary) == offsetof(skel_bake_summary, rest_time) + 8,
               "tail padding");

struct skel_bake {
    skel_allocator allocator;
    const skel_model *m;
    skel_state *state;  /* on the grid */
    skel_state *sample; /* between grid points */
    skel__run run;      /* of both states */
    skel__cvode *cvode; /* adams and bdf; otherwise NULL */
    int32_t integrator, solver;
    double h, rate;       /* step [s], samples per second [Hz] */
    double t0, from;      /* times of the first sample and of the first step [s] */
    uint64_t steps;       /* taken on the grid */
    uint32_t count, done; /* samples */
    double *poses, *velocities, *q;
    skel_report_row *rows;
    double energy_scale, momentum_scale, angular_scale; /* [J], [N s], [N m s] */
    int has_checked_gain;
    double lowest_energy; /* [J] lowest energy minus supplied work so far */
    skel_bake_summary summary;
    skel_error error;
    uint32_t omitted_warnings; /* beyond BAKE_WARNINGS_MAX */
    char warnings[BAKE_WARNINGS_MAX][BAKE_WARNING_LENGTH];
};

static const skel_bake_desc k_bake = {
    .struct_size = sizeof k_bake, .sample_count = 1, .sample_rate = 24, .tolerance = 1e-8};

void skel_bake_desc_init_sized(skel_bake_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_bake, sizeof k_bake);
}

/* ---- start ---- */

static skel_status check_desc(const skel_bake_desc *d, skel_error *err) {
    /* The model and the methods. */
    if (!d->model) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model: is NULL");
    if (d->state && skel_state_model(d->state) != d->model)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "state: belongs to another model");
    if (skel__integrator_choice(d->model, d->integrator, d->step > 0) < 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "integrator: is %d, must be SKEL_INTEGRATOR_*", d->integrator);
    if (!skel_solver_name(d->solver))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "solver: is %d, must be SKEL_SOLVER_*",
                          d->solver);

    /* The times. */
    if (d->sample_count < 1 || d->sample_count > INT32_MAX)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "sample_count: is %u, must be 1 to 2147483647", d->sample_count);
    if (!(d->sample_rate > 0) || !isfinite(d->sample_rate))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "sample_rate: is %g Hz, must be finite and > 0", d->sample_rate);
    if (!(d->step >= 0) || !isfinite(d->step))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "step: is %g s, must be finite and >= 0",
                          d->step);
    if (!(d->preroll >= 0) || !isfinite(d->preroll))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "preroll: is %g s, must be finite and >= 0",
                          d->preroll);

    /* The duration. */
    const double seconds = (d->sample_count - 1) / d->sample_rate + d->preroll;
    if (!(seconds <= BAKE_DURATION_MAX_S))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "sample_count, sample_rate and preroll: the duration is %g s, must be "
                          "at most %g s",
                          seconds, BAKE_DURATION_MAX_S);
    if (d->step > 0 && !(seconds / d->step <= BAKE_STEPS_MAX))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "step: is %g s, which results in %g steps; must be at most %g steps",
                          d->step, seconds / d->step, BAKE_STEPS_MAX);
    return skel_model_check_dynamics(d->model, err);
}

/* Counts (base NULL) or carves the memory of a bake. */
static size_t layout(const skel_bake_desc *d, void *base, skel_bake **out) {
    const size_t n = d->sample_count, nb = (size_t)d->model->nb, nq = (size_t)d->model->nq;
    skel__carver c = {base, 0};
    skel_bake *b = skel__carve(&c, 1, sizeof *b);
    double *poses = skel__carve(&c, n * nb * 7, sizeof(double));
    double *velocities = skel__carve(&c, n * nb * 6, sizeof(double));
    double *q = skel__carve(&c, n * nq, sizeof(double));
    void *rows = skel__carve(&c, n, sizeof(skel_report_row));

    if (b) {
        b->poses = poses;
        b->velocities = velocities;
        b->q = q;
        b->rows = rows;
        *out = b;
    }
    return c.used;
}

/* Memory for the next warning, or NULL: the last warning then says how many were omitted. */
static char *next_warning(skel_bake *b) {
    if (b->summary.warning_count < BAKE_WARNINGS_MAX)
        return b->warnings[b->summary.warning_count++];
    snprintf(b->warnings[BAKE_WARNINGS_MAX - 1], BAKE_WARNING_LENGTH, "and %u more",
             ++b->omitted_warnings + 1);
    return NULL;
}

SKEL__PRINTF(2, 3) static void warn(skel_bake *b, const char *form, ...) {
    char *at = next_warning(b);
    if (!at) return;

    va_list args;
    va_start(args, form);
    vsnprintf(at, BAKE_WARNING_LENGTH, form, args);
    va_end(args);
}

/* Warns of settings that the chosen integrator ignores. */
static void warn_unused(skel_bake *b, const skel_bake_desc *d) {
    const char *name = skel_integrator_name(b->integrator);
    const int chooses_steps = skel__chooses_steps(b->integrator);

    if (chooses_steps && d->step > 0)
        warn(b,
             "step: %g s has no effect: the integrator '%s' chooses its steps by the tolerance, "
             "which is %g; set that, or use integrator 'rk4'",
             d->step, name, d->tolerance);

    if (!chooses_steps && d->tolerance != k_bake.tolerance)
        warn(b,
             "tolerance: %g has no effect: the integrator '%s' has fixed steps of %.6g s; use "
             "integrator 'adams', or a shorter step",
             d->tolerance, name, b->h);

    if (b->integrator == SKEL_INTEGRATOR_CONSERVING && d->solver != k_bake.solver)
        warn(b,
             "solver: '%s' has no effect: the integrator '%s' solves its own equations; use "
             "integrator 'rk4' or 'adams'",
             skel_solver_name(d->solver), name);
}

/* Warns of loop joints with redundant constraint rows. They do no harm, but may be unintended. */
static void warn_redundant(skel_bake *b) {
    const skel_state *s = b->state;
    for (int32_t k = 0; k < b->m->nl; ++k) {
        const int32_t implied = skel__loop_implied(s, k);
        if (implied > 0)
            warn(b,
                 "joint '%s' closes a loop; %d of its %d constraint rows are redundant with those "
                 "of other joints and were regularised",
                 b->m->joint[s->loop_joint[k]].name, implied, s->loop_rows[k].count);
    }
}

/* Warns of bodies that overlap at the start. The library assumes that this is intended and lets
   such a pair never touch. */
static void warn_overlap(skel_bake *b) {
    const skel_model *m = b->m;
    if (m->overlap_count == 0) return;

    char more[48] = "";
    if (m->overlap_count > 1)
        snprintf(more, sizeof more, " (and %d more pairs like it)", m->overlap_count - 1);

    warn(b,
         "'%s' and '%s' overlap at the start, so they pass through each other%s; move them "
         "apart, or make one of them smaller",
         m->body[m->overlap_first[0]].name, m->body[m->overlap_first[1]].name, more);
}

/* Projects the start onto the joints [HAK (1), (2)] and warns of large corrections. */
static skel_status project_start(skel_bake *b, skel_error *err) {
    double gap = 0, speed = 0;
    const skel_status status = skel_state_project(b->state, &gap, &speed, err);
    if (status != SKEL_OK) return status;

    if (gap > BAKE_CORRECTION_MIN * b->m->length_scale)
        warn(
            b,
            "the joints had gaps of up to %.3g m at the start; the bodies were moved to close them",
            gap);
    if (speed > BAKE_CORRECTION_MIN * sqrt(b->m->gravity_norm * b->m->length_scale))
        warn(b, "the start velocities violated the joints by %.3g m/s; they were projected", speed);

    /* The report of the first sample needs the event states. */
    if (skel__event_count(b->m) > 0) skel__event_states_start(b->state);

    if (b->m->nl > 0) warn_redundant(b);
    if (b->m->pairs_left_out)
        warn(b, "too many bodies: they pass through each other unless `collide` is set");
    warn_overlap(b);
    return SKEL_OK;
}

static double step_length(const skel_bake_desc *d, int32_t integrator) {
    if (skel__chooses_steps(integrator)) return 0;
    if (d->step > 0) return d->step;
    if (integrator == SKEL_INTEGRATOR_EULER) return BAKE_STEP_EULER_S;
    return integrator == SKEL_INTEGRATOR_CONSERVING ? BAKE_STEP_CONSERVING_S : BAKE_STEP_RK4_S;
}

static skel_status start_cvode(skel_bake *b, const skel_bake_desc *d, skel_error *err) {
    const skel_status status =
        skel__cvode_create(b->m, b->integrator, b->solver, d->tolerance, &b->cvode, err);
    return status == SKEL_OK ? skel__cvode_start(b->cvode, b->state, err) : status;
}

static skel_status reserve(skel_bake *b, skel_error *err) {
    const skel_status status = skel__step_reserve(b->state, b->integrator, b->solver, err);
    if (status != SKEL_OK) return status;
    return skel__step_reserve(b->sample, b->integrator, b->solver, err);
}

/* If joint friction makes the start too stiff for the integrator that AUTO chose, takes another. */
static skel_status adapt_to_friction(skel_bake *b, const skel_bake_desc *d, skel_error *err) {
    if (d->integrator != SKEL_INTEGRATOR_AUTO) return SKEL_OK;
    const int32_t better = skel__integrator_for_friction(b->state, b->integrator, b->h);
    if (better == b->integrator) return SKEL_OK;

    b->integrator = better;
    b->h = step_length(d, better);
    b->summary.integrator = better;
    b->summary.step = b->h;
    return reserve(b, err);
}

static skel_status initialise(skel_bake *b, const skel_bake_desc *d, skel_error *err) {
    b->m = d->model;
    b->integrator = skel__integrator_choice(d->model, d->integrator, d->step > 0);
    b->solver = d->solver;
    b->h = step_length(d, b->integrator);
    b->rate = d->sample_rate;
    b->count = d->sample_count;
    skel_error_init(&b->error);

    skel_status status = skel_state_create(d->model, &b->state, err);
    if (status == SKEL_OK) status = skel_state_create(d->model, &b->sample, err);
    if (status == SKEL_OK) status = reserve(b, err);
    if (status != SKEL_OK) return status;
    b->run.deadline = INFINITY;
    b->state->run = &b->run;
    b->sample->run = &b->run;

    /* A preroll simulates the time before the first sample; driven bodies rest until their curves
       begin. */
    if (d->state) skel_state_copy(b->state, d->state);
    b->state->sum = (skel__power){0};
    b->t0 = b->state->t;
    b->from = b->t0 - d->preroll;
    if (d->preroll > 0) skel_state_set_time(b->state, b->from);
    b->summary = (skel_bake_summary){.struct_size = (uint32_t)sizeof b->summary,
                                     .integrator = b->integrator,
                                     .solver = b->solver,
                                     .step = b->h};

    status = project_start(b, err);
    if (status == SKEL_OK) status = adapt_to_friction(b, d, err);
    if (status == SKEL_OK && skel__chooses_steps(b->integrator)) status = start_cvode(b, d, err);
    if (status == SKEL_OK) warn_unused(b, d);
    return status;
}

skel_status skel_bake_start(const skel_bake_desc *desc, skel_bake **out, skel_error *err) {
    skel_bake_desc d = k_bake;
    skel_bake *b = NULL;
    skel_allocator allocator;
    if (out) *out = NULL;

    /* The arguments. */
    if (!out || !desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "an argument is NULL");
    if (skel__desc_import(&d, sizeof d, sizeof d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1,
                          "struct_size: must be set by skel_bake_desc_init");
    skel_status status = check_desc(&d, err);
    if (status != SKEL_OK) return status;
    if (skel__allocator_import(&allocator, d.allocator ? d.allocator : &d.model->allocator) !=
        SKEL_OK)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "allocator: lacks a function, must have all of them");

    /* One block for the bake and all samples. */
    const double bytes = 8.0 * d.sample_count * (13.0 * d.model->nb + d.model->nq + 32.0);
    void *block = bytes < BAKE_BYTES_MAX ? skel__alloc(&allocator, layout(&d, NULL, NULL)) : NULL;
    if (!block)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1,
                          "no memory for %u samples of %d bodies (%.3g MB)", d.sample_count,
                          d.model->nb, bytes * 1e-6);
    layout(&d, block, &b);
    b->allocator = allocator;

    status = initialise(b, &d, err);
    if (status == SKEL_OK)
        *out = b;
    else
        skel_bake_destroy(b);
    return status;
}

void skel_bake_destroy(skel_bake *bake) {
    if (!bake) return;
    const skel_allocator allocator = bake->allocator;
    skel__cvode_destroy(bake->cvode);
    skel_state_destroy(bake->state);
    skel_state_destroy(bake->sample);
    skel__free(&allocator, bake);
}

/* ---- samples ---- */

/* Makes joint coordinates continuous: no jump by a full turn, no change of a quaternion's sign. */
static void make_continuous_q(const skel_model *m, const double *before, double *q) {
    const double turn = SKEL__TURN;
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        const double *a = before + j->q_offset;
        double *b = q + j->q_offset;
        const skel_joint_kind *kind = &skel__joint_kinds[j->type];

        if (kind->q_kind[0] == SKEL_COORDINATE_QUATERNION && q_dot(q_of(a), q_of(b)) < 0)
            q_to(q_neg(q_of(b)), b);
        for (int32_t c = 0; c < kind->q_count; ++c)
            if (skel__is_periodic(j, c)) b[c] += turn * nearbyint((a[c] - b[c]) / turn);
    }
}

static void make_continuous_poses(int32_t nb, const double *before, double *poses) {
    for (int32_t i = 0; i < nb; ++i) {
        double *q = poses + 7 * (size_t)i + 3;
        if (q_dot(q_of(before + 7 * (size_t)i + 3), q_of(q)) < 0) q_to(q_neg(q_of(q)), q);
    }
}

/* |change of a momentum minus impulse| since the start. */
static double imbalance(const double *now, const double *start, const double *impulse,
                        const double *impulse_at_start) {
    double d[3];
    for (int k = 0; k < 3; ++k) d[k] = now[k] - start[k] - (impulse[k] - impulse_at_start[k]);
    return v3_norm(v3_of(d));
}

static void update_max(double *largest, double value) {
    if (value > *largest) *largest = value;
}

/* Updates the scales to which drifts are relative. At rest they are a small part of the momentum
   and energy of a fall by the length scale. */
static void measure_scales(skel_bake *b, const skel_state *s, const skel_report_row *row) {
    const double speed = sqrt(b->m->length_scale * (v3_norm(b->m->gravity) + b->m->length_scale));
    double linear = 0, angular = 0, mass = 0, far = 0;
    for (int32_t k = 0; k < b->m->nd; ++k) {
        const int32_t i = b->m->order[k];
        const skel__kin *x = &s->x[i];
        const double mv = b->m->body[i].mass * v3_norm(x->v);
        linear += mv;
        mass += b->m->body[i].mass;
        far = fmax(far, v3_norm(x->p));
        angular += v3_norm(x->p) * mv + v3_norm(m3_mulv(b->m->body[i].inertia, x->w));
    }

    /* Momenta, then energy with the works as well. */
    update_max(&b->momentum_scale, fmax(linear, BAKE_REST_SPEED * mass * speed));
    update_max(&b->angular_scale,
               fmax(angular, BAKE_REST_SPEED * mass * speed * (b->m->length_scale + far)));

    update_max(&b->energy_scale, BAKE_REST_SPEED * BAKE_REST_SPEED * mass * speed * speed);
    update_max(&b->energy_scale, row->kinetic);
    update_max(&b->energy_scale, fabs(row->work_motor));
    update_max(&b->energy_scale, fabs(row->work_friction));
    update_max(&b->energy_scale, fabs(row->work_load));
    update_max(&b->energy_scale, fabs(row->work_drive));
    update_max(&b->energy_scale, fabs(row->work_contact));
}

/* Work that motors, loads and drives supplied [J]. */
static double work_supplied(const skel_report_row *row) {
    return row->work_motor + row->work_load + row->work_drive;
}
/* The same plus the work of friction and contacts, which is negative [J]. */
static double total_work(const skel_report_row *row) {
    return work_supplied(row) + row->work_friction + row->work_contact;
}

static void update_summary(skel_bake *b, const skel_state *s) {
    const skel_report_row *row = &b->rows[b->done], *first = &b->rows[0];
    skel_bake_summary *sum = &b->summary;
    const double work = total_work(row) - total_work(first); /* a preroll does work before */
    const double gain = row->kinetic + row->potential - first->kinetic - first->potential;
    measure_scales(b, s, row);

    /* Drifts are absolute here; skel_bake_get_summary divides them by the scales. */
    update_max(&sum->energy_drift, fabs(gain - work));
    update_max(&sum->momentum_drift,
               imbalance(row->momentum, first->momentum, row->impulse, first->impulse));
    update_max(&sum->angular_momentum_drift,
               imbalance(row->angular_momentum, first->angular_momentum, row->angular_impulse,
                         first->angular_impulse));
    update_max(&sum->joint_gap, row->joint_gap);
    update_max(&sum->misalignment, row->misalignment);
    update_max(&sum->limit_violation, row->limit_violation);
    update_max(&sum->contact_depth, row->contact_depth);

    /* Energy minus supplied work must never rise. */
    const double passive = row->kinetic + row->potential - work_supplied(row);
    if (b->done == 0 || passive < b->lowest_energy) b->lowest_energy = passive;
    update_max(&sum->energy_gain, passive - b->lowest_energy);
}

/* Updates the largest ground force [N] and its time [s]. */
static void update_ground_peak(skel_bake *b, double t, double force) {
    if (!(force > b->summary.peak_ground_force)) return;
    b->summary.peak_ground_force = force;
    b->summary.peak_ground_time = t;
}

/* Writes the sample and its report row. Returns whether all numbers are finite. */
static int record(skel_bake *b, const skel_state *s) {
    const size_t nb = (size_t)b->m->nb, nq = (size_t)b->m->nq, k = b->done;
    double *poses = b->poses + k * nb * 7, *q = b->q + k * nq;
    skel_state_get_poses(s, poses);
    skel_state_get_velocities(s, b->velocities + k * nb * 6);
    skel__q_of(b->m, s->x, q);

    if (k > 0) {
        make_continuous_poses(b->m->nb, poses - nb * 7, poses);
        make_continuous_q(b->m, q - nq, q);
    }

    skel__measure(s, &b->rows[k]);
    if (!isfinite(b->rows[k].kinetic + b->rows[k].potential) || !all_finite(poses, 7 * nb) ||
        !all_finite(b->velocities + k * nb * 6, 6 * nb) || !all_finite(q, nq))
        return 0;

    update_summary(b, s);
    ++b->done;
    return 1;
}

static skel_status take_sample(skel_bake *b, const skel_state *s) {
    if (record(b, s)) return SKEL_OK;
    return skel__fail(
        &b->error, SKEL_E_DIVERGED, -1, -1,
        "t = %.6g s: the motion diverged; use the integrator conserving, or a shorter step", s->t);
}

/* Warns once, at the end, if energy rose without work being supplied. */
static void check_energy_gain(skel_bake *b) {
    if (b->done < b->count || b->has_checked_gain || b->energy_scale <= 0) return;
    const double gain = b->summary.energy_gain / b->energy_scale;
    if (gain > BAKE_ENERGY_GAIN_MAX)
        warn(b,
             "the energy rose by %.3g of its scale without any work being supplied: the step is "
             "too long for this integrator",
             gain);
    b->has_checked_gain = 1;
}

/* ---- advance ---- */

/* Takes the next sample, or a step if the sample lies ahead. The first sample is the start itself.
   */
static skel_status advance_by_tolerance(skel_bake *b) {
    const double t = b->t0 + b->done / b->rate;
    if (t > skel__cvode_time(b->cvode)) {
        const skel_status status = skel__cvode_step(b->cvode, INFINITY, &b->error);
        double at;
        const double force = skel__cvode_ground_force(b->cvode, &at);
        update_ground_peak(b, at, force);
        return status;
    }

    if (b->done == 0 && b->from == b->t0) return take_sample(b, b->state);
    const skel_status status = skel__cvode_at(b->cvode, t, b->sample);
    return status == SKEL_OK ? take_sample(b, b->sample) : status;
}

/* The same on the grid. Its times are t0 + n h, not sums of h, so that rounding does not
   accumulate. */
static skel_status advance_on_grid(skel_bake *b) {
    const double to_sample = b->t0 + b->done / b->rate - b->state->t;
    const int is_resumed = skel__is_step_in_progress(b->state);

    /* The sample is on the grid point. */
    if (to_sample <= BAKE_TIME_TOL * b->h && !is_resumed) return take_sample(b, b->state);

    /* The sample lies within the next step: a shorter step of the copy. */
    if (to_sample < (1.0 - BAKE_TIME_TOL) * b->h && !is_resumed) {
        if (!skel__is_step_in_progress(b->sample)) skel_state_copy(b->sample, b->state);
        const skel_status status =
            skel__step(b->sample, b->integrator, b->solver, to_sample, &b->error);
        return status == SKEL_OK ? take_sample(b, b->sample) : status;
    }

    const skel_status status = skel__step(b->state, b->integrator, b->solver, b->h, &b->error);
    if (status != SKEL_OK) return status;
    ++b->steps;
    b->state->t = b->from + (double)b->steps * b->h;
    update_ground_peak(b, b->state->ground_force_peak_time, b->state->ground_force_peak);
    return SKEL_OK;
}

skel_status skel_bake_advance(skel_bake *bake, double max_ms) {
    if (!bake) return SKEL_E_ARGUMENT;
    const double start = skel__now_ms();
    const int has_deadline = !(max_ms < 0);
    double spent = 0;

    /* A long step may stop at the deadline and be resumed. A NaN is a deadline of now: one step. */
    const double budget = max_ms > 0 ? max_ms : 0;
    bake->run.deadline = has_deadline ? start + budget : INFINITY;

    while (bake->error.status == SKEL_OK && bake->done < bake->count) {
        const skel_status status = bake->cvode ? advance_by_tolerance(bake) : advance_on_grid(bake);
        if (status != SKEL_OK && status != SKEL_MORE) bake->error.status = status;
        spent = skel__now_ms() - start;
        if (has_deadline && !(spent < max_ms)) break;
    }

    bake->summary.wall_seconds += 1e-3 * spent;
    check_energy_gain(bake);
    if (bake->error.status != SKEL_OK) return bake->error.status;
    return bake->done < bake->count ? SKEL_MORE : SKEL_OK;
}

/* ---- results ---- */

double skel_bake_progress(const skel_bake *bake) {
    if (!bake) return 0;
    if (bake->done >= bake->count) return 1;
    const double total = (bake->count - 1) / bake->rate + bake->t0 - bake->from;
    const double t = bake->cvode ? skel__cvode_time(bake->cvode) : bake->state->t;
    const double share = total > 0 ? (t - bake->from) / total : 0;
    return share < 1 ? share : 1;
}

int32_t skel_bake_samples_done(const skel_bake *bake) {
    return bake ? (int32_t)bake->done : 0;
}

void skel_bake_get_error(const skel_bake *bake, skel_error *err) {
    if (bake && err) skel__desc_export(err, &bake->error, sizeof bake->error, sizeof bake->error);
}

const double *skel_bake_poses(const skel_bake *bake) {
    return bake ? bake->poses : NULL;
}
const double *skel_bake_velocities(const skel_bake *bake) {
    return bake ? bake->velocities : NULL;
}
const double *skel_bake_q(const skel_bake *bake) {
    return bake ? bake->q : NULL;
}

skel_status skel_bake_get_report(const skel_bake *bake, int32_t sample, skel_report_row *row) {
    if (!bake || !row || sample < 0 || sample >= (int32_t)bake->done) return SKEL_E_ARGUMENT;
    return skel__desc_export(row, &bake->rows[sample], sizeof *row, sizeof *row);
}

/* Numbers of steps and evaluations; the tables are indexed by the integrator. */
static void count_work(const skel_bake *b, skel_bake_summary *s) {
    static const int32_t order[] = {0, 1, 4, 0, 0, 2};
    static const int32_t evaluations[] = {0, 1, 4, 0, 0, 0};
    s->steps = (double)b->steps;
    s->evaluations = s->steps * evaluations[b->integrator];
    skel__conserving_counts(b->state, &s->rejected_steps, &s->evaluations);
    s->rest_time = skel__conserving_sleep_time(b->state);
    s->last_order = b->steps > 0 ? order[b->integrator] : 0;
    if (!b->cvode) return;

    const skel__cvode_counts c = skel__cvode_counted(b->cvode);
    s->steps = c.steps;
    s->rejected_steps = c.rejected;
    s->evaluations = c.evaluations;
    s->last_order = c.last_order;
}

static double relative(double drift, double scale) {
    return scale > 0 ? drift / scale : drift;
}

skel_status skel_bake_get_summary(const skel_bake *bake, skel_bake_summary *summary) {
    if (!bake || !summary) return SKEL_E_ARGUMENT;
    skel_bake_summary s = bake->summary;
    count_work(bake, &s);
    s.energy_drift = relative(s.energy_drift, bake->energy_scale);
    s.energy_gain = relative(s.energy_gain, bake->energy_scale);
    s.momentum_drift = relative(s.momentum_drift, bake->momentum_scale);
    s.angular_momentum_drift = relative(s.angular_momentum_drift, bake->angular_scale);
    return skel__desc_export(summary, &s, sizeof s, sizeof s);
}

const char *skel_bake_warning(const skel_bake *bake, int32_t index) {
    if (!bake || index < 0 || index >= (int32_t)bake->summary.warning_count) return NULL;
    return bake->warnings[index];
}
