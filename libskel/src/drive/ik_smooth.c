/* SPDX-License-Identifier: BSD-3-Clause */
/* Smoothing of a motion that was joined from several strands.

   Every segment between two jumps is solved again. The posture of a sample is the Gaussian mean of
   the samples around it, so the targets stay met while the redundant motion becomes smooth. A round
   is accepted only if it reaches every sample and if neither the longest step nor the sum of the
   second differences grows. */
#include "drive/ik_motion.h"

#include <string.h>

#define IK_SMOOTH_ROUNDS_MAX 8
#define IK_SMOOTH_SIGMA_SAMPLES 6.0 /* standard deviation of the Gaussian */
#define IK_SMOOTH_REACH_SAMPLES 18  /* samples of the mean on either side */
#define IK_SMOOTH_SAMPLES_MIN 8     /* shorter segments are not smoothed */

static double *path_at(const skel_ik_motion *motion, int32_t k) {
    return skel__strand_at(&motion->path, k, motion->track.ik->size.coordinates);
}

static double *next_at(const skel_ik_motion *motion, int32_t k) {
    return motion->smooth.x + (size_t)k * (size_t)motion->track.ik->size.coordinates;
}

/* out = weighted mean of the samples around k, within the segment. */
static void mean_at(skel_ik_motion *motion, int32_t k, double *out) {
    skel__smoothing *s = &motion->smooth;
    const skel_ik *ik = motion->probe.ik;
    const int32_t columns = ik->size.columns;
    double total = 0;

    memset(s->sum, 0, (size_t)columns * sizeof *s->sum);
    for (int32_t j = -IK_SMOOTH_REACH_SAMPLES; j <= IK_SMOOTH_REACH_SAMPLES; ++j) {
        if (k + j < s->first || k + j > s->last) continue;
        const double w = exp(-0.5 * (j / IK_SMOOTH_SIGMA_SAMPLES) * (j / IK_SMOOTH_SIGMA_SAMPLES));
        skel__ik_difference(ik, path_at(motion, k), path_at(motion, k + j), s->y);
        for (int32_t c = 0; c < columns; ++c) s->sum[c] += w * s->y[c];
        total += w;
    }

    for (int32_t c = 0; c < columns; ++c) s->sum[c] /= total;
    skel__ik_step_beyond(ik, path_at(motion, k), s->sum, out);
}

/* Second difference |x(k) - 2 x(k - 1) + x(k - 2)|, of the largest column. */
static double roughness_at(skel_ik_motion *motion, double *(*x)(const skel_ik_motion *, int32_t),
                           int32_t k) {
    skel__smoothing *s = &motion->smooth;
    const skel_ik *ik = motion->probe.ik;
    if (k - 2 < s->first) return 0;

    skel__ik_difference(ik, x(motion, k - 1), x(motion, k), s->y);
    skel__ik_difference(ik, x(motion, k - 2), x(motion, k - 1), s->sum);
    double most = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) most = fmax(most, fabs(s->y[c] - s->sum[c]));
    return most;
}

/* ---- segments ---- */

/* Extends the segment from s->first to the next jump or lost sample. Returns 1 if it contains a
   repaired sample. */
static int extend_segment(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    int is_repaired = motion->reached[s->first] == SKEL__SAMPLE_REPAIRED;

    for (int32_t k = s->first + 1; k < motion->sample_count && motion->reached[k]; ++k) {
        const double step =
            skel__motion_step(motion->probe.ik, path_at(motion, k - 1), path_at(motion, k), NULL);
        if (step > motion->limit[k]) break;
        s->last = k;
        s->step = fmax(s->step, step);
        is_repaired |= motion->reached[k] == SKEL__SAMPLE_REPAIRED;
    }
    return is_repaired;
}

/* Finds the next segment that contains repaired samples. Samples well before the first of them stay
   as they are. Returns 0 if there is none. */
static int next_segment(skel_ik_motion *motion, int32_t from) {
    skel__smoothing *s = &motion->smooth;
    for (int32_t first = from; first < motion->sample_count; first = s->last + 1) {
        s->first = first;
        s->last = first;
        s->step = 0;
        s->roughness = 0;
        if (motion->reached[first] == SKEL__SAMPLE_LOST) continue;
        if (!extend_segment(motion) || s->last - first < IK_SMOOTH_SAMPLES_MIN) continue;

        int32_t repaired = first;
        while (motion->reached[repaired] != SKEL__SAMPLE_REPAIRED) ++repaired;
        if (repaired - IK_SMOOTH_REACH_SAMPLES > first)
            s->first = repaired - IK_SMOOTH_REACH_SAMPLES;

        for (int32_t k = s->first; k <= s->last; ++k)
            s->roughness += roughness_at(motion, path_at, k);
        return 1;
    }
    return 0;
}

/* ---- rounds ---- */

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

/* Whether the animation is constant. The motion of an animation must not be smoothed away. */
static int is_animation_constant(const skel_ik_motion *motion) {
    const size_t nq = (size_t)motion->model->nq, nb = (size_t)motion->model->nb;
    const double *q = motion->base, *poses = motion->base_poses;
    for (size_t k = 1; k < (size_t)motion->sample_count; ++k) {
        if (q && memcmp(q, q + k * nq, nq * sizeof(double)) != 0) return 0;
        if (poses && memcmp(poses, poses + 7 * k * nb, 7 * nb * sizeof(double)) != 0) return 0;
    }
    return 1;
}

/* Ends smoothing. All samples from the first changed one on are written again, because the signs of
   quaternions continue from sample to sample. */
static void end(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    s->is_over = 1;
    if (s->changed > s->changed_last) {
        skel__motion_finish(motion);
        return;
    }
    motion->write = s->changed;
    motion->write_last = motion->sample_count - 1;
    motion->phase = SKEL__IK_PHASE_WRITE;
}

void skel__smooth_begin(skel_ik_motion *motion) {
    /* After several passes the kept motion may differ from the written one in all samples. */
    skel__smoothing *s = &motion->smooth;
    const int has_passes = motion->kept.passes > 0;
    s->changed = has_passes ? 0 : motion->sample_count;
    s->changed_last = has_passes ? 0 : -1;
    s->round = 0;

    motion->phase = SKEL__IK_PHASE_SMOOTH;
    if (is_animation_constant(motion) && next_segment(motion, 0))
        begin_round(motion);
    else
        end(motion);
}

static void begin_next_segment(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    s->round = 0;
    if (next_segment(motion, s->last + 1))
        begin_round(motion);
    else
        end(motion);
}

/* Whether the step to the sample after the segment, which stays, has grown. */
static int is_end_worse(const skel_ik_motion *motion) {
    const skel__smoothing *s = &motion->smooth;
    const skel_ik *ik = motion->probe.ik;
    if (s->last + 1 == motion->sample_count) return 0;
    const double *after = path_at(motion, s->last + 1);
    return skel__motion_step(ik, next_at(motion, s->last), after, NULL) >
           skel__motion_step(ik, path_at(motion, s->last), after, NULL);
}

/* The round is complete: accepts it if it is an improvement. */
static void finish_round(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    const size_t coordinates = (size_t)motion->track.ik->size.coordinates;
    if (s->next_step > s->step || s->next_roughness > s->roughness || is_end_worse(motion)) {
        begin_next_segment(motion);
        return;
    }

    memcpy(path_at(motion, s->first), next_at(motion, s->first),
           (size_t)(s->last - s->first + 1) * coordinates * sizeof(double));
    s->step = s->next_step;
    s->roughness = s->next_roughness;
    if (s->first < s->changed) s->changed = s->first;
    if (s->last > s->changed_last) s->changed_last = s->last;

    if (++s->round < IK_SMOOTH_ROUNDS_MAX)
        begin_round(motion);
    else
        begin_next_segment(motion);
}

void skel__smooth_work(skel_ik_motion *motion) {
    skel__smoothing *s = &motion->smooth;
    const size_t coordinates = (size_t)motion->track.ik->size.coordinates;
    const int32_t k = s->done;

    /* The means of this sample and the next one guide the step between them. */
    mean_at(motion, k + 1, s->guide + coordinates);
    const skel__strand guide = {.x = s->guide, .origin = k, .first = k, .last = k + 1};
    const skel__walk w = {
        .at = k, .direction = 1, .guide = &guide, .bound = SKEL__IK_JUMP_MIN, .slack = 1};
    if (!s->is_walking) skel__walk_begin(motion, &w, next_at(motion, k));
    s->is_walking = 1;

    memcpy(next_at(motion, k + 1), next_at(motion, k), coordinates * sizeof(double));
    if (!skel__walk_step(motion, &w, next_at(motion, k + 1))) {
        begin_next_segment(motion);
        return;
    }

    memcpy(s->guide, s->guide + coordinates, coordinates * sizeof(double));
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
