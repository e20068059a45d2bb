/* SPDX-License-Identifier: BSD-3-Clause */
/* The bake. Fixed steps go on a grid of their own, t0 + n h, with samples in between by a shorter
   step on a copy; adams and bdf choose their steps, with samples in between by their interpolation.
   Neither ever sees the sample rate: 24 and 120 samples a second show one motion. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/clock.h"
#include "base/desc.h"
#include "base/error.h"
#include "integrate/step.h"
#include "integrate/impact.h"

#include <skel/skel_bake.h>

#include <stdio.h>
#include <string.h>

#define EULER_STEP (1.0 / 3840)     /* [s] */
#define DEFAULT_STEP (1.0 / 960)    /* [s] */
#define CONSERVING_STEP (1.0 / 240) /* [s] */
#define SAME_TIME 1e-9              /* of a step: a sample this near a grid point is on it */
#define WARNINGS_MAX 32
#define LONGEST 1e7    /* [s]: four months of motion */
#define STEPS_MAX 1e12 /* more would not end */
#define WARNING_ROOM 240
#define QUIET 1e-3 /* of the speed of a fall by the size: what counts as rest */
#define NOTEWORTHY                                                                                 \
    1e-6 /* of the size, and of the speed of a fall from it: corrections of the start
                            that the user should know. Single-precision animation stays below. */
#define NOT_PASSIVE 1e-3 /* of the energy: a rise that is no rounding */

_Static_assert(sizeof(skel_bake_desc) == offsetof(skel_bake_desc, preroll) + 8, "tail padding");
_Static_assert(sizeof(skel_bake_summary) == offsetof(skel_bake_summary, rest_time) + 8,
               "tail padding");
#define SUMMARY_V1 offsetof(skel_bake_summary, rejected_steps)

struct skel_bake {
    skel_allocator allocator;
    const skel_model *m;
    skel_state *state;  /* on the grid */
    skel_state *sample; /* between grid points */
    skel__cvode *cvode; /* of adams and bdf; else NULL */
    int32_t integrator, solver;
    double h, rate;
    double t0, from;      /* of the first sample, and of the first step */
    uint64_t steps;       /* done on the grid */
    uint32_t count, done; /* samples */
    double *poses, *velocities, *q;
    skel_report_row *rows;
    double energy_scale, momentum_scale, angular_scale;
    int has_warned; /* of energy */
    double lowest;  /* energy less what was put in, so far */
    skel_bake_summary summary;
    skel_error error;
    uint32_t unsaid; /* warnings for which there was no room */
    char warnings[WARNINGS_MAX][WARNING_ROOM];
};

static const skel_bake_desc k_bake = {
    .struct_size = sizeof k_bake, .sample_count = 1, .sample_rate = 24, .tolerance = 1e-8};

void skel_bake_desc_init_sized(skel_bake_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_bake, sizeof k_bake);
}

/* ---- start ---- */

static skel_status check_desc(const skel_bake_desc *d, skel_error *err) {
    if (!d->model) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model: is NULL");
    if (d->state && skel_state_model(d->state) != d->model)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "state: belongs to another model");
    if (skel__integrator_choice(d->model, d->integrator, d->step > 0) < 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "integrator: is %d, which names none",
                          d->integrator);
    if (!skel_solver_name(d->solver))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "solver: is %d, which names none",
                          d->solver);
    if (d->sample_count < 1 || d->sample_count > INT32_MAX)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "sample_count: is %u, must be 1 to 2147483647", d->sample_count);
    if (!(d->sample_rate > 0) || !isfinite(d->sample_rate))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "sample_rate: is %g, must be > 0",
                          d->sample_rate);
    if (!(d->step >= 0) || !isfinite(d->step))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "step: is %g, must be >= 0", d->step);
    if (!(d->preroll >= 0) || !isfinite(d->preroll))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "preroll: is %g, must be >= 0", d->preroll);
    const double seconds = (d->sample_count - 1) / d->sample_rate + d->preroll;
    if (!(seconds <= LONGEST))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "sample_rate and preroll: make %g s, must make at most %g s", seconds,
                          LONGEST);
    if (d->step > 0 && !(seconds / d->step <= STEPS_MAX))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "step: is %g s, which makes %g steps; must make at most %g", d->step,
                          seconds / d->step, STEPS_MAX);
    return skel_model_check_dynamics(d->model, err);
}

static size_t layout(const skel_bake_desc *d, void *base, skel_bake **out) {
    const size_t n = d->sample_count, nb = (size_t)d->model->nb, nq = (size_t)d->model->nq;
    skel__carver c = {base, 0};
    skel_bake *b = skel__carve(&c, 1, sizeof *b);
    double *poses = skel__carve(&c, n * nb * 7, sizeof(double));
    double *velocities = skel__carve(&c, n * nb * 6, sizeof(double));
    double *q = skel__carve(&c, n * nq, sizeof(double));
    void *rows = skel__carve(&c, n, sizeof(skel_report_row));
    if (b) {
        b->poses = poses, b->velocities = velocities, b->q = q, b->rows = rows;
        *out = b;
    }
    return c.used;
}

/* Room for a warning; the last place says that there are more. */
static char *next_warning(skel_bake *b) {
    if (b->summary.warning_count < WARNINGS_MAX) return b->warnings[b->summary.warning_count++];
    snprintf(b->warnings[WARNINGS_MAX - 1], WARNING_ROOM, "and %u more", ++b->unsaid + 1);
    return NULL;
}

static void warn(skel_bake *b, const char *text, double value) {
    char *at = next_warning(b);
    if (at) snprintf(at, WARNING_ROOM, text, value);
}

/* Settings that the integrator in effect does not look at. */
static void warn_unused(skel_bake *b, const skel_bake_desc *d) {
    const char *name = skel_integrator_name(b->integrator);
    if (skel__chooses_steps(b->integrator) && d->step > 0) {
        char *at = next_warning(b);
        if (at)
            snprintf(at, WARNING_ROOM,
                     "step: %g s has no effect: the integrator '%s' chooses its steps by the "
                     "tolerance, which is %g; set that, or use integrator 'rk4'",
                     d->step, name, d->tolerance);
    }
    if (!skel__chooses_steps(b->integrator) && d->tolerance != k_bake.tolerance) {
        char *at = next_warning(b);
        if (at)
            snprintf(at, WARNING_ROOM,
                     "tolerance: %g has no effect: the integrator '%s' has fixed steps of %.6g s; "
                     "use integrator 'adams', or a shorter step",
                     d->tolerance, name, b->h);
    }
    if (b->integrator == SKEL_INTEGRATOR_CONSERVING && d->solver != k_bake.solver) {
        char *at = next_warning(b);
        if (at)
            snprintf(
                at, WARNING_ROOM,
                "solver: '%s' has no effect: the integrator '%s' solves its own equations; use "
                "integrator 'rk4' or 'adams'",
                skel_solver_name(d->solver), name);
    }
}

/* Loop joints with rows that other joints imply: solved without harm, but the user should know. */
static void warn_implied(skel_bake *b) {
    const skel_state *s = b->state;
    for (int32_t k = 0; k < b->m->nl; ++k) {
        const int32_t implied = skel__loop_implied(s, k);
        char *at = implied > 0 ? next_warning(b) : NULL;
        if (at)
            snprintf(
                at, WARNING_ROOM,
                "joint '%s' closes a loop; %d of its %d conditions are implied by other joints "
                "and were regularised",
                b->m->joint[s->loop_joint[k]].name, implied, s->loop_rows[k].count);
    }
}

/* A pair that overlaps at the start is taken to be meant so and never touches. */
static void warn_overlap(skel_bake *b) {
    const skel_model *m = b->m;
    char *at = m->overlap_count > 0 ? next_warning(b) : NULL;
    if (!at) return;

    char more[48] = "";
    if (m->overlap_count > 1)
        snprintf(more, sizeof more, " (and %d more pairs like it)", m->overlap_count - 1);

    snprintf(at, WARNING_ROOM,
             "'%s' and '%s' overlap at the start, so they pass through each other%s; move them "
             "apart, or make one of them smaller",
             m->body[m->overlap_first[0]].name, m->body[m->overlap_first[1]].name, more);
}

/* The start must satisfy [HAK (1), (2)]; what had to be moved for that is said. */
static skel_status settle(skel_bake *b, skel_error *err) {
    double gap = 0, speed = 0;
    const skel_status status = skel_state_project(b->state, &gap, &speed, err);
    if (status != SKEL_OK) return status;
    if (gap > NOTEWORTHY * b->m->length_scale)
        warn(b, "the joints stood open by %.3g m at the start; the bodies were moved together",
             gap);
    if (speed > NOTEWORTHY * sqrt(b->m->gravity_norm * b->m->length_scale))
        warn(b, "the start velocities broke the joints by %.3g m/s; they were projected", speed);
    if (skel__event_count(b->m) > 0)
        skel__event_states_start(b->state); /* the first sample knows them */
    if (b->m->nl > 0) warn_implied(b);
    if (b->m->pairs_left_out)
        warn(b, "too many bodies: they do not touch each other unless `collide` says so", 0);
    warn_overlap(b);
    return SKEL_OK;
}

static double step_of(const skel_bake_desc *d, int32_t integrator) {
    if (skel__chooses_steps(integrator)) return 0;
    if (d->step > 0) return d->step;
    if (integrator == SKEL_INTEGRATOR_EULER) return EULER_STEP;
    return integrator == SKEL_INTEGRATOR_CONSERVING ? CONSERVING_STEP : DEFAULT_STEP;
}

static skel_status begin_by_tolerance(skel_bake *b, const skel_bake_desc *d, skel_error *err) {
    const skel_status status =
        skel__cvode_create(b->m, b->integrator, b->solver, d->tolerance, &b->cvode, err);
    return status == SKEL_OK ? skel__cvode_start(b->cvode, b->state, err) : status;
}

static skel_status reserve(skel_bake *b, skel_error *err) {
    const skel_status status = skel__step_reserve(b->state, b->integrator, b->solver, err);
    if (status != SKEL_OK) return status;
    return skel__step_reserve(b->sample, b->integrator, b->solver, err);
}

/* AUTO goes by the start: an integrator that stiff friction would stop gives way to another. */
static skel_status mind_friction(skel_bake *b, const skel_bake_desc *d, skel_error *err) {
    if (d->integrator != SKEL_INTEGRATOR_AUTO) return SKEL_OK;
    const int32_t better = skel__integrator_for_friction(b->state, b->integrator, b->h);
    if (better == b->integrator) return SKEL_OK;

    b->integrator = better;
    b->h = step_of(d, better);
    b->summary.integrator = better;
    b->summary.step = b->h;
    return reserve(b, err);
}

static skel_status begin(skel_bake *b, const skel_bake_desc *d, skel_error *err) {
    b->m = d->model;
    b->integrator = skel__integrator_choice(d->model, d->integrator, d->step > 0);
    b->solver = d->solver;
    b->h = step_of(d, b->integrator);
    b->rate = d->sample_rate;
    b->count = d->sample_count;
    skel_error_init(&b->error);
    skel_status status = skel_state_create(d->model, &b->state, err);
    if (status == SKEL_OK) status = skel_state_create(d->model, &b->sample, err);
    if (status == SKEL_OK) status = reserve(b, err);
    if (status != SKEL_OK) return status;
    if (d->state) skel_state_copy(b->state, d->state);
    b->state->sum = (skel__power){0};
    b->t0 = b->state->t;
    b->from = b->t0 - d->preroll;
    if (d->preroll > 0) skel_state_set_time(b->state, b->from); /* driven bodies wait there */
    b->summary = (skel_bake_summary){.struct_size = (uint32_t)sizeof b->summary,
                                     .integrator = b->integrator,
                                     .solver = b->solver,
                                     .step = b->h};
    status = settle(b, err);
    if (status == SKEL_OK) status = mind_friction(b, d, err);
    if (status == SKEL_OK && skel__chooses_steps(b->integrator))
        status = begin_by_tolerance(b, d, err);
    if (status == SKEL_OK) warn_unused(b, d);
    return status;
}

skel_status skel_bake_start(const skel_bake_desc *desc, skel_bake **out, skel_error *err) {
    skel_bake_desc d = k_bake;
    skel_bake *b = NULL;
    skel_allocator allocator;
    if (out) *out = NULL;
    if (!out || !desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "an argument is NULL");
    if (skel__desc_import(&d, sizeof d, offsetof(skel_bake_desc, preroll), desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1,
                          "struct_size: must be set by skel_bake_desc_init");
    skel_status status = check_desc(&d, err);
    if (status != SKEL_OK) return status;
    if (skel__allocator_import(&allocator, d.allocator ? d.allocator : &d.model->allocator) !=
        SKEL_OK)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "allocator: is not complete");
    const double wanted = 8.0 * d.sample_count * (13.0 * d.model->nb + d.model->nq + 32.0);
    void *block = wanted < 1e15 ? skel__alloc(&allocator, layout(&d, NULL, NULL)) : NULL;
    if (!block)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1,
                          "no memory for %u samples of %d bodies (%.3g MB)", d.sample_count,
                          d.model->nb, wanted * 1e-6);
    layout(&d, block, &b);
    b->allocator = allocator;
    status = begin(b, &d, err);
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

/* Joint coordinates run on: no jump by a turn, no flip of a quaternion's sign. */
static void make_continuous_q(const skel_model *m, const double *before, double *q) {
    const double turn = SKEL__TURN;
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        const double *a = before + j->q_offset;
        double *b = q + j->q_offset;
        if (j->type == SKEL_JOINT_BALL && q_dot(q_of(a), q_of(b)) < 0) q_to(q_neg(q_of(b)), b);
        if (j->type != SKEL_JOINT_HINGE && j->type != SKEL_JOINT_UNIVERSAL) continue;
        for (int32_t c = 0; c < skel__joint_nq(j->type); ++c)
            b[c] += turn * nearbyint((a[c] - b[c]) / turn);
    }
}

static void make_continuous_poses(int32_t nb, const double *before, double *poses) {
    for (int32_t i = 0; i < nb; ++i) {
        double *q = poses + 7 * (size_t)i + 3;
        if (q_dot(q_of(before + 7 * (size_t)i + 3), q_of(q)) < 0) q_to(q_neg(q_of(q)), q);
    }
}

static double balance(const double *now, const double *start, const double *impulse,
                      const double *impulse_at_start) {
    double d[3];
    for (int k = 0; k < 3; ++k) d[k] = now[k] - start[k] - (impulse[k] - impulse_at_start[k]);
    return v3_norm(v3_of(d));
}

static void raise_to(double *largest, double value) {
    if (value > *largest) *largest = value;
}

/* Sizes against which drifts are relative. */
static void measure_scales(skel_bake *b, const skel_state *s, const skel_report_row *row) {
    /* at rest, drifts are relative to a small part of what would be motion: a fall by its size */
    const double speed = sqrt(b->m->length_scale * (v3_norm(b->m->gravity) + b->m->length_scale));
    double linear = 0, angular = 0, weight = 0, far = 0;
    for (int32_t k = 0; k < b->m->nd; ++k) {
        const int32_t i = b->m->order[k];
        const skel__kin *x = &s->x[i];
        const double mv = b->m->body[i].mass * v3_norm(x->v);
        linear += mv;
        weight += b->m->body[i].mass;
        far = fmax(far, v3_norm(x->p));
        angular += v3_norm(x->p) * mv + v3_norm(m3_mulv(b->m->body[i].inertia, x->w));
    }
    raise_to(&b->momentum_scale, fmax(linear, QUIET * weight * speed));
    raise_to(&b->angular_scale, fmax(angular, QUIET * weight * speed * (b->m->length_scale + far)));
    raise_to(&b->energy_scale, QUIET * QUIET * weight * speed * speed);
    raise_to(&b->energy_scale, row->kinetic);
    raise_to(&b->energy_scale, fabs(row->work_motor));
    raise_to(&b->energy_scale, fabs(row->work_friction));
    raise_to(&b->energy_scale, fabs(row->work_load));
    raise_to(&b->energy_scale, fabs(row->work_drive));
    raise_to(&b->energy_scale, fabs(row->work_contact));
}

/* What motors, loads and drives put in, and what friction and contacts took out. */
static double work_given(const skel_report_row *row) {
    return row->work_motor + row->work_load + row->work_drive;
}
static double work_of(const skel_report_row *row) {
    return work_given(row) + row->work_friction + row->work_contact;
}

static void update_summary(skel_bake *b, const skel_state *s) {
    const skel_report_row *row = &b->rows[b->done], *first = &b->rows[0];
    skel_bake_summary *sum = &b->summary;
    const double work = work_of(row) - work_of(first); /* a preroll has done some */
    const double gain = row->kinetic + row->potential - first->kinetic - first->potential;
    measure_scales(b, s, row);
    /* kept absolute here; divided by the scales when asked for */
    raise_to(&sum->energy_drift, fabs(gain - work));
    raise_to(&sum->momentum_drift,
             balance(row->momentum, first->momentum, row->impulse, first->impulse));
    raise_to(&sum->angular_momentum_drift, balance(row->angular_momentum, first->angular_momentum,
                                                   row->angular_impulse, first->angular_impulse));
    raise_to(&sum->joint_gap, row->joint_gap);
    raise_to(&sum->misalignment, row->misalignment);
    raise_to(&sum->limit_violation, row->limit_violation);
    raise_to(&sum->contact_depth, row->contact_depth);
    const double free = row->kinetic + row->potential - work_given(row); /* falls where passive */
    if (b->done == 0 || free < b->lowest) b->lowest = free;
    raise_to(&sum->energy_gain, free - b->lowest);
}

/* The grounds' force after a step: the largest is for the receipt. */
static void note_ground(skel_bake *b, double t, double force) {
    if (!(force > b->summary.peak_ground_force)) return;
    b->summary.peak_ground_force = force;
    b->summary.peak_ground_time = t;
}

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

/* A sample is kept if its numbers are numbers. */
static skel_status take_sample(skel_bake *b, const skel_state *s) {
    if (record(b, s)) return SKEL_OK;
    return skel__fail(&b->error, SKEL_E_DIVERGED, -1, -1,
                      "t = %.6g s: the motion left all bounds; use conserving, or a shorter step",
                      s->t);
}

/* What a passive scene cannot do; once. */
static void warn_gain(skel_bake *b) {
    if (b->done < b->count || b->has_warned || b->energy_scale <= 0) return;
    const double gain = b->summary.energy_gain / b->energy_scale;
    if (gain > NOT_PASSIVE)
        warn(b, "energy rose by %.3g of what there was: the step is too long for this integrator",
             gain);
    b->has_warned = 1;
}

/* ---- work ---- */

/* A sample or a step. The first sample is the start itself. */
static skel_status work_by_tolerance(skel_bake *b) {
    const double t = b->t0 + b->done / b->rate;
    if (t > skel__cvode_time(b->cvode)) {
        const skel_status status = skel__cvode_step(b->cvode, INFINITY, &b->error);
        double at;
        const double push = skel__cvode_ground_force(b->cvode, &at);
        note_ground(b, at, push);
        return status;
    }
    if (b->done == 0 && b->from == b->t0) return take_sample(b, b->state);
    const skel_status status = skel__cvode_at(b->cvode, t, b->sample);
    return status == SKEL_OK ? take_sample(b, b->sample) : status;
}

/* The same on the grid, whose time is set, not added up, so that rounding does not gather. */
static skel_status work_on_grid(skel_bake *b) {
    const double to_sample = b->t0 + b->done / b->rate - b->state->t;
    const int goes_on = b->state->is_step_in_progress;
    skel_status status = SKEL_OK;
    if (to_sample <= SAME_TIME * b->h && !goes_on) {
        status = take_sample(b, b->state);
    } else if (to_sample < (1.0 - SAME_TIME) * b->h && !goes_on) {
        if (!b->sample->is_step_in_progress) skel_state_copy(b->sample, b->state);
        status = skel__step(b->sample, b->integrator, b->solver, to_sample, &b->error);
        if (status == SKEL_OK) status = take_sample(b, b->sample);
    } else {
        status = skel__step(b->state, b->integrator, b->solver, b->h, &b->error);
        if (status == SKEL_OK) b->state->t = b->from + (double)++b->steps * b->h;
        if (status == SKEL_OK)
            note_ground(b, b->state->ground_force_peak_time, b->state->ground_force_peak);
    }
    return status;
}

skel_status skel_bake_advance(skel_bake *bake, double max_ms) {
    if (!bake) return SKEL_E_ARGUMENT;
    const double start = skel__now_ms();
    const int endless = max_ms < 0;
    double spent = 0;
    for (int k = 0; k < 2; ++k) {
        skel_state *s = k == 0 ? bake->state : bake->sample;
        s->has_deadline = !endless;
        s->deadline = start + (max_ms > 0 ? max_ms : 0); /* a NaN is one step */
    }
    while (bake->error.status == SKEL_OK && bake->done < bake->count) {
        const skel_status status = bake->cvode ? work_by_tolerance(bake) : work_on_grid(bake);
        if (status != SKEL_OK && status != SKEL_MORE) bake->error.status = status;
        spent = skel__now_ms() - start;
        if (!endless && !(spent < max_ms)) break;
    }
    bake->summary.wall_seconds += 1e-3 * spent;
    warn_gain(bake);
    if (bake->error.status != SKEL_OK) return bake->error.status;
    return bake->done < bake->count ? SKEL_MORE : SKEL_OK;
}

/* ---- answers ---- */

double skel_bake_progress(const skel_bake *bake) {
    if (!bake) return 0;
    if (bake->done >= bake->count) return 1;
    const double total = (bake->count - 1) / bake->rate + bake->t0 - bake->from;
    const double t = bake->cvode ? skel__cvode_time(bake->cvode) : bake->state->t;
    const double part = total > 0 ? (t - bake->from) / total : 0;
    return part < 1 ? part : 1;
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
    return skel__desc_export(row, &bake->rows[sample], sizeof *row, SKEL__ROW_V1);
}

static void count_work(const skel_bake *b, skel_bake_summary *s) {
    static const int32_t order[] = {0, 1, 4, 0, 0, 2}, evaluations[] = {0, 1, 4, 0, 0, 0};
    s->steps = (double)b->steps;
    s->evaluations = s->steps * evaluations[b->integrator];
    skel__conserving_counts(b->state, &s->rejected_steps, &s->evaluations);
    s->rest_time = skel__conserving_sleep_time(b->state);
    s->last_order = b->steps > 0 ? order[b->integrator] : 0;
    if (!b->cvode) return;
    const skel__cvode_counts c = skel__cvode_counted(b->cvode);
    s->steps = c.steps, s->rejected_steps = c.rejected;
    s->evaluations = c.evaluations, s->last_order = c.last_order;
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
    return skel__desc_export(summary, &s, sizeof s, SUMMARY_V1);
}

const char *skel_bake_warning(const skel_bake *bake, int32_t index) {
    if (!bake || index < 0 || index >= (int32_t)bake->summary.warning_count) return NULL;
    return bake->warnings[index];
}
