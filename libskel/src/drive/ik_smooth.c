/* SPDX-License-Identifier: BSD-3-Clause */
/* A motion that was put together from strands is calmed: between jumps every sample is solved again
   with the Gaussian mean of the samples around it as its posture, so that the targets stay met. A
   round counts only if it reaches every sample and neither the longest step nor the mean of the
   second differences grows. */
#include "drive/ik_motion.h"

#include <string.h>

#define IK_SMOOTH_ROUNDS_MAX 8
#define IK_SMOOTH_SIGMA_SAMPLES 6.0 /* samples */
#define IK_SMOOTH_REACH_SAMPLES 18  /* samples on either side */
#define IK_SMOOTH_SAMPLES_MIN 8     /* samples of a segment */

static double *path_at(const skel_ik_motion *motion, int32_t k) {
    return skel__strand_at(&motion->path, k, motion->track.ik->size.coordinates);
}

static double *next_at(const skel_ik_motion *motion, int32_t k) {
    return motion->smooth.x + (size_t)k * (size_t)motion->track.ik->size.coordinates;
}

/* out: the mean of the samples around k, within the segment. */
static void mean_at(skel_ik_motion *motion, int32_t k, double *out) {
    skel__smoothing *s = &motion->smooth;
    const skel_ik *ik = motion->probe.ik;
    double total = 0;
    memset(s->sum, 0, (size_t)ik->size.columns * sizeof *s->sum);
    for (int32_t j = -IK_SMOOTH_REACH_SAMPLES; j <= IK_SMOOTH_REACH_SAMPLES; ++j) {
        if (k + j < s->first || k + j > s->last) continue;
        const double w = exp(-0.5 * (j / IK_SMOOTH_SIGMA_SAMPLES) * (j / IK_SMOOTH_SIGMA_SAMPLES));
        skel__ik_difference(ik, path_at(motion, k), path_at(motion, k + j), s->y);
        for (int32_t c = 0; c < ik->size.columns; ++c) s->sum[c] += w * s->y[c];
        total += w;
    }
    for (int32_t c = 0; c < ik->size.columns; ++c) s->sum[c] /= total;
    skel__ik_step_beyond(ik, path_at(motion, k), s->sum, out);
}

/* Adds what sample k contributes: |x(k) - 2 x(k - 1) + x(k - 2)|, largest column. */
static double roughness_at(skel_ik_motion *motion, double *(*x)(const skel_ik_motion *, int32_t),
                           int32_t k) {
    skel__smoothing *s = &motion->smooth;
    const skel_ik *ik = motion->probe.ik;
    double most = 0;
    if (k - 2 < s->first) return 0;
    skel__ik_difference(ik, x(motion, k - 1), x(motion, k), s->y);
    skel__ik_difference(ik, x(motion, k - 2), x(motion, k - 1), s->sum);
    for (int32_t c = 0; c < ik->size.columns; ++c) most = fmax(most, fabs(s->y[c] - s->sum[c]));
    return most;
}

/* The next samples without a jump, and not before samples that nothing has changed. */
static int next_segment(skel_ik_motion *motion, int32_t from) {
    skel__smoothing *s = &motion->smooth;
    const skel_ik *ik = motion->probe.ik;
    for (int32_t first = from; first < motion->sample_count; first = s->last + 1) {
        int has_changed = 0;
        s->first = s->last = first;
        s->step = s->roughness = 0;
        if (!motion->reached[first]) continue;
        has_changed = motion->reached[first] > 1;
        for (int32_t k = first + 1; k < motion->sample_count && motion->reached[k]; ++k) {
            const double step =
                skel__motion_step(ik, path_at(motion, k - 1), path_at(motion, k), NULL);
            if (step > motion->limit[k]) break;
            s->last = k;
            s->step = fmax(s->step, step);
            has_changed |= motion->reached[k] > 1;
        }
        const int32_t last = s->last;
        if (!has_changed || last - first < IK_SMOOTH_SAMPLES_MIN) continue;

        int32_t change = first;
        while (motion->reached[change] < 2) ++change;
        if (change - IK_SMOOTH_REACH_SAMPLES > first) s->first = change - IK_SMOOTH_REACH_SAMPLES;
        for (int32_t k = s->first; k <= last; ++k) s->roughness += roughness_at(motion, path_at, k);
        return 1;
    }
    return 0;
}

static void begin_round(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    const size_t size = (size_t)motion->track.ik->size.coordinates * sizeof(double);
    memcpy(next_at(motion, s->first), path_at(motion, s->first), size);
    mean_at(motion, s->first, s->guide);
    s->done = s->first;
    s->next_step = 0;
    s->next_roughness = 0;
    s->is_walking = 0;
}

/* Where the animation moves, its motion must not be smoothed away. */
static int stands_still(const skel_ik_motion *motion) {
    const size_t nq = (size_t)motion->model->nq, nb = (size_t)motion->model->nb;
    for (size_t k = 1; k < (size_t)motion->sample_count; ++k) {
        if (motion->base && memcmp(motion->base, motion->base + k * nq, nq * sizeof(double)) != 0)
            return 0;
        if (motion->base_poses && memcmp(motion->base_poses, motion->base_poses + 7 * k * nb,
                                         7 * nb * sizeof(double)) != 0)
            return 0;
    }
    return 1;
}

static void end(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    s->is_over = 1;
    if (s->changed > s->changed_last) {
        skel__motion_finish(motion);
        return;
    }
    motion->write = s->changed;
    motion->write_last = motion->sample_count - 1; /* signs of quaternions go on from there */
    motion->phase = SKEL__IK_PHASE_WRITE;
}

void skel__smooth_begin(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    s->changed =
        motion->kept.passes > 0 ? 0 : motion->sample_count; /* another pass may have been kept */
    s->changed_last = motion->kept.passes > 0 ? 0 : -1;
    s->round = 0;
    motion->phase = SKEL__IK_PHASE_SMOOTH;
    if (stands_still(motion) && next_segment(motion, 0))
        begin_round(motion);
    else
        end(motion);
}

static void next_round_or_end(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    s->round = 0;
    if (next_segment(motion, s->last + 1))
        begin_round(motion);
    else
        end(motion);
}

/* Whether the step to what comes behind the segment, which stays, has grown. */
static int parts_from_next(const skel_ik_motion *motion) {
    const skel__smoothing *s = &motion->smooth;
    if (s->last + 1 == motion->sample_count) return 0;
    const double *next = path_at(motion, s->last + 1);
    return skel__motion_step(motion->probe.ik, next_at(motion, s->last), next, NULL) >
           skel__motion_step(motion->probe.ik, path_at(motion, s->last), next, NULL);
}

/* The round has reached the end of the segment: is it better? */
static void finish_round(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    const size_t nx = (size_t)motion->track.ik->size.coordinates;
    if (s->next_step > s->step || s->next_roughness > s->roughness || parts_from_next(motion)) {
        next_round_or_end(motion);
        return;
    }
    memcpy(path_at(motion, s->first), next_at(motion, s->first),
           (size_t)(s->last - s->first + 1) * nx * sizeof(double));
    s->step = s->next_step;
    s->roughness = s->next_roughness;
    if (s->first < s->changed) s->changed = s->first;
    if (s->last > s->changed_last) s->changed_last = s->last;
    if (++s->round < IK_SMOOTH_ROUNDS_MAX)
        begin_round(motion);
    else
        next_round_or_end(motion);
}

void skel__smooth_work(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    const size_t nx = (size_t)motion->track.ik->size.coordinates;
    const int32_t k = s->done;
    mean_at(motion, k + 1, s->guide + nx);
    const skel__strand guide = {.x = s->guide, .origin = k, .first = k, .last = k + 1};
    const skel__walk w = {
        .at = k, .direction = 1, .guide = &guide, .bound = SKEL__IK_JUMP_MIN, .slack = 1};
    if (!s->is_walking) skel__walk_begin(motion, &w, next_at(motion, k));
    s->is_walking = 1;

    memcpy(next_at(motion, k + 1), next_at(motion, k), nx * sizeof(double));
    if (!skel__walk_step(motion, &w, next_at(motion, k + 1))) {
        next_round_or_end(motion);
        return;
    }
    memcpy(s->guide, s->guide + nx, nx * sizeof(double));
    ++s->done;
    const double step =
        skel__motion_step(motion->probe.ik, next_at(motion, k), next_at(motion, k + 1), NULL);
    s->next_step = fmax(s->next_step, step);
    s->next_roughness += roughness_at(motion, next_at, k + 1);
    if (s->done == s->last) finish_round(motion);
}

double skel__smooth_progress(const skel_ik_motion *motion) {
    return (double)motion->smooth.first / motion->sample_count;
}
