/* SPDX-License-Identifier: BSD-3-Clause */
/* A motion that was put together from strands is calmed: between jumps every sample is solved again
   with the Gaussian mean of the samples around it as its posture, so that the targets stay met. A
   round counts only if it reaches every sample and neither the longest step nor the mean of the
   second differences grows. */
#include "drive/ik_motion.h"

#include <string.h>

#define SMOOTH_ROUNDS 8
#define SMOOTH_SIGMA 6.0 /* samples */
#define SMOOTH_REACH 18  /* samples on either side */
#define SMOOTH_MIN 8     /* samples of a segment */

static double *path_at(const skel_ik_motion *v, int32_t k) {
    return skel__strand_at(&v->path, k, v->track.ik->nx);
}

static double *next_at(const skel_ik_motion *v, int32_t k) {
    return v->smooth.x + (size_t)k * (size_t)v->track.ik->nx;
}

/* out: the mean of the samples around k, within the segment. */
static void mean_at(skel_ik_motion *v, int32_t k, double *out) {
    skel__smoothing *s = &v->smooth;
    const skel_ik *ik = v->probe.ik;
    double total = 0;
    memset(s->sum, 0, (size_t)ik->n * sizeof *s->sum);
    for (int32_t j = -SMOOTH_REACH; j <= SMOOTH_REACH; ++j) {
        if (k + j < s->first || k + j > s->last) continue;
        const double w = exp(-0.5 * (j / SMOOTH_SIGMA) * (j / SMOOTH_SIGMA));
        skel__ik_difference(ik, path_at(v, k), path_at(v, k + j), s->y);
        for (int32_t c = 0; c < ik->n; ++c) s->sum[c] += w * s->y[c];
        total += w;
    }
    for (int32_t c = 0; c < ik->n; ++c) s->sum[c] /= total;
    skel__ik_add(ik, path_at(v, k), s->sum, out);
}

/* Adds what sample k contributes: |x(k) - 2 x(k - 1) + x(k - 2)|, largest column. */
static double roughness_at(skel_ik_motion *v, double *(*x)(const skel_ik_motion *, int32_t),
                           int32_t k) {
    skel__smoothing *s = &v->smooth;
    const skel_ik *ik = v->probe.ik;
    double most = 0;
    if (k - 2 < s->first) return 0;
    skel__ik_difference(ik, x(v, k - 1), x(v, k), s->y);
    skel__ik_difference(ik, x(v, k - 2), x(v, k - 1), s->sum);
    for (int32_t c = 0; c < ik->n; ++c) most = fmax(most, fabs(s->y[c] - s->sum[c]));
    return most;
}

/* The next samples without a jump, and not before samples that nothing has changed. */
static int next_segment(skel_ik_motion *v, int32_t from) {
    skel__smoothing *s = &v->smooth;
    const skel_ik *ik = v->probe.ik;
    for (int32_t first = from; first < v->n; first = s->last + 1) {
        int has_changed = 0;
        s->first = s->last = first;
        s->step = s->roughness = 0;
        if (!v->reached[first]) continue;
        has_changed = v->reached[first] > 1;
        for (int32_t k = first + 1; k < v->n && v->reached[k]; ++k) {
            const double step = skel__motion_step(ik, path_at(v, k - 1), path_at(v, k), NULL);
            if (step > v->limit[k]) break;
            s->last = k;
            s->step = fmax(s->step, step);
            has_changed |= v->reached[k] > 1;
        }
        const int32_t last = s->last;
        if (!has_changed || last - first < SMOOTH_MIN) continue;

        int32_t change = first;
        while (v->reached[change] < 2) ++change;
        if (change - SMOOTH_REACH > first) s->first = change - SMOOTH_REACH;
        for (int32_t k = s->first; k <= last; ++k) s->roughness += roughness_at(v, path_at, k);
        return 1;
    }
    return 0;
}

static void begin_round(skel_ik_motion *v) {
    skel__smoothing *s = &v->smooth;
    const size_t size = (size_t)v->track.ik->nx * sizeof(double);
    memcpy(next_at(v, s->first), path_at(v, s->first), size);
    mean_at(v, s->first, s->lead);
    s->done = s->first;
    s->next_step = 0;
    s->next_roughness = 0;
    s->is_walking = 0;
}

/* Where the animation moves, its motion must not be smoothed away. */
static int stands_still(const skel_ik_motion *v) {
    const size_t nq = (size_t)v->m->nq, nb = (size_t)v->m->nb;
    for (size_t k = 1; k < (size_t)v->n; ++k) {
        if (v->base && memcmp(v->base, v->base + k * nq, nq * sizeof(double)) != 0) return 0;
        if (v->base_poses &&
            memcmp(v->base_poses, v->base_poses + 7 * k * nb, 7 * nb * sizeof(double)) != 0)
            return 0;
    }
    return 1;
}

static void end(skel_ik_motion *v) {
    skel__smoothing *s = &v->smooth;
    s->is_over = 1;
    if (s->changed > s->changed_last) {
        skel__motion_finish(v);
        return;
    }
    v->write = s->changed;
    v->write_last = v->n - 1; /* signs of quaternions go on from there */
    v->phase = SKEL__IK_WRITES;
}

void skel__smooth_begin(skel_ik_motion *v) {
    skel__smoothing *s = &v->smooth;
    s->changed = v->kept.passes > 0 ? 0 : v->n; /* another pass may have been kept */
    s->changed_last = v->kept.passes > 0 ? 0 : -1;
    s->round = 0;
    v->phase = SKEL__IK_SMOOTHS;
    if (stands_still(v) && next_segment(v, 0))
        begin_round(v);
    else
        end(v);
}

static void next(skel_ik_motion *v) {
    skel__smoothing *s = &v->smooth;
    s->round = 0;
    if (next_segment(v, s->last + 1))
        begin_round(v);
    else
        end(v);
}

/* Whether the step to what comes behind the segment, which stays, has grown. */
static int parts_from_next(const skel_ik_motion *v) {
    const skel__smoothing *s = &v->smooth;
    if (s->last + 1 == v->n) return 0;
    const double *next = path_at(v, s->last + 1);
    return skel__motion_step(v->probe.ik, next_at(v, s->last), next, NULL) >
           skel__motion_step(v->probe.ik, path_at(v, s->last), next, NULL);
}

/* The round has reached the end of the segment: is it better? */
static void judge(skel_ik_motion *v) {
    skel__smoothing *s = &v->smooth;
    const size_t nx = (size_t)v->track.ik->nx;
    if (s->next_step > s->step || s->next_roughness > s->roughness || parts_from_next(v)) {
        next(v);
        return;
    }
    memcpy(path_at(v, s->first), next_at(v, s->first),
           (size_t)(s->last - s->first + 1) * nx * sizeof(double));
    s->step = s->next_step;
    s->roughness = s->next_roughness;
    if (s->first < s->changed) s->changed = s->first;
    if (s->last > s->changed_last) s->changed_last = s->last;
    if (++s->round < SMOOTH_ROUNDS)
        begin_round(v);
    else
        next(v);
}

void skel__smooth_unit(skel_ik_motion *v) {
    skel__smoothing *s = &v->smooth;
    const size_t nx = (size_t)v->track.ik->nx;
    const int32_t k = s->done;
    mean_at(v, k + 1, s->lead + nx);
    const skel__strand lead = {.x = s->lead, .origin = k, .first = k, .last = k + 1};
    const skel__walk w = {
        .at = k, .direction = 1, .lead = &lead, .bound = SKEL__IK_STEP_MAX, .slack = 1};
    if (!s->is_walking) skel__walk_begin(v, &w, next_at(v, k));
    s->is_walking = 1;

    memcpy(next_at(v, k + 1), next_at(v, k), nx * sizeof(double));
    if (!skel__walk_step(v, &w, next_at(v, k + 1))) {
        next(v);
        return;
    }
    memcpy(s->lead, s->lead + nx, nx * sizeof(double));
    ++s->done;
    const double step = skel__motion_step(v->probe.ik, next_at(v, k), next_at(v, k + 1), NULL);
    s->next_step = fmax(s->next_step, step);
    s->next_roughness += roughness_at(v, next_at, k + 1);
    if (s->done == s->last) judge(v);
}

double skel__smooth_progress(const skel_ik_motion *v) {
    return (double)v->smooth.first / v->n;
}
