/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared/scene_receipt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SLICE_MS 200 /* after so much wall time the processor time is looked at */

static int all_finite(const double *x, size_t count) {
    for (size_t k = 0; k < count; ++k)
        if (!isfinite(x[k])) return 0;
    return 1;
}

/* The energy of a fall of all bodies by the size of the scene: what energies are measured by. */
static double fall_energy(const random_scene *s) {
    double mass = 0, gravity[3];
    skel_model_get_gravity(s->scene.model, gravity);
    for (int32_t i = 0; i < skel_model_body_count(s->scene.model); ++i) {
        skel_body_desc b = {.struct_size = sizeof b};
        scene_demand(skel_model_get_body(s->scene.model, i, &b), NULL);
        mass += b.mass;
    }
    return mass * fabs(gravity[2]) * s->size;
}

/* Rise of kinetic + potential over its value at the start. */
static double rise_of(const skel_bake *b) {
    double start = 0, rise = 0;
    for (int32_t k = 0; k < skel_bake_samples_done(b); ++k) {
        skel_report_row row = {.struct_size = sizeof row};
        scene_demand(skel_bake_get_report(b, k, &row), NULL);
        if (k == 0) start = row.kinetic + row.potential;
        rise = fmax(rise, row.kinetic + row.potential - start);
    }
    return rise;
}

scene_receipt scene_receipt_of(const random_scene *s, double seconds) {
    scene_receipt r = {.status = SKEL_MORE};
    skel_bake_summary sum = {.struct_size = sizeof sum};
    skel_bake_desc d;
    skel_bake *b;
    skel_error err;
    const clock_t start = clock();

    skel_error_init(&err);
    skel_bake_desc_init(&d);
    d.model = s->scene.model;
    d.state = s->scene.state;
    d.sample_count = (uint32_t)(seconds * d.sample_rate) + 1;
    r.status = skel_bake_start(&d, &b, &err);
    if (r.status != SKEL_OK) {
        snprintf(r.text, sizeof r.text, "start: %.400s", err.text);
        return r;
    }
    do {
        r.status = skel_bake_advance(b, SLICE_MS);
        r.cpu = (double)(clock() - start) / CLOCKS_PER_SEC;
    } while (r.status == SKEL_MORE && r.cpu < SCENE_CPU_MAX_S);

    const size_t done = (size_t)skel_bake_samples_done(b);
    const size_t nb = (size_t)skel_model_body_count(s->scene.model);
    skel_bake_get_error(b, &err);
    skel_bake_get_summary(b, &sum);
    r.is_finite = all_finite(skel_bake_poses(b), 7 * done * nb) &&
                  all_finite(skel_bake_velocities(b), 6 * done * nb);
    r.gap = sum.joint_gap / s->size;
    r.gain = sum.energy_gain;
    r.rise = s->is_passive ? rise_of(b) / fall_energy(s) : 0;
    r.integrator = skel_integrator_name(sum.integrator);
    if (r.status < 0) snprintf(r.text, sizeof r.text, "%s", err.text);
    if (r.status == SKEL_MORE)
        snprintf(r.text, sizeof r.text, "too long, stopped at %.3g of it", skel_bake_progress(b));
    skel_bake_destroy(b);
    return r;
}

const char *scene_fault(const random_scene *s, const scene_receipt *r) {
    if (r->status != SKEL_OK) return r->text;
    if (!r->is_finite) return "not finite";
    if (!(r->gap <= SCENE_GAP_MAX)) return "joints are open";

    if (!(r->gain <= SCENE_GAIN_MAX)) return "energy grew";
    if (s->is_passive && !(r->rise <= SCENE_GAIN_MAX)) return "energy rose over the start";
    return NULL;
}

static void worse(double *a, double b) {
    if (!(b <= *a)) *a = b; /* a NaN wins */
}

void scene_receipt_worst(scene_receipt *all, const scene_receipt *r) {
    worse(&all->gap, r->gap);
    worse(&all->gain, r->gain);
    worse(&all->cpu, r->cpu);
    all->cpu_sum += r->cpu;
}
