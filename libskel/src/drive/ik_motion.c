/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics over time: a solve per sample, blended with an animation at both ends. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "solve/ik.h"

#include <string.h>

#define MOST_NUMBERS 4e9 /* of the answer */

static const skel_ik_motion_desc k_desc = {.struct_size = sizeof k_desc, .sample_rate = 24};

struct skel_ik_motion {
    skel_allocator         allocator;
    skel_ik               *ik;
    const skel_model      *m;
    const skel_goal_track *tracks;
    const double          *base, *base_poses; /* the caller's */
    int32_t                n, done, goals, mode;
    int32_t                base_posture, has_bounds; /* max_step is given */
    uint32_t               blend_in, blend_out;
    double                 rate;
    double                *q_seed;    /* (nq) */
    double                *x_base;    /* (nx) */
    double                *x_was;     /* (nx) the base of the sample before */
    double                *x_now;     /* (nx) the answer before it is blended */
    double                *root;      /* (nx - nq) where free roots were */
    double                *poses;     /* (n x nb x 7) */
    double                *q;         /* (n x nq) */
    skel_ik_receipt       *receipts;  /* (n) */
    double                *residuals; /* (n x goals x 2) */
};

void skel_ik_motion_desc_init_sized(skel_ik_motion_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

static int fits(uint32_t count, uint32_t samples) {
    return count <= 1 || count == samples;
}

static skel_status check_track(const skel_goal_track *t, uint32_t k, uint32_t samples,
                               skel_error *err) {
    if (!fits(t->position_count, samples) || !fits(t->orientation_count, samples) ||
        !fits(t->weight_count, samples))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "tracks[%u]: every count must be 0, 1 or sample_count, which is %u", k,
                          samples);
    if (!all_finite(t->positions, 3 * (size_t)t->position_count) ||
        !all_finite(t->orientations, 4 * (size_t)t->orientation_count))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "tracks[%u]: must be finite", k);
    for (uint32_t i = 0; i < t->weight_count; ++i)
        if (!(t->weights[i] >= 0 && isfinite(t->weights[i])))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "tracks[%u].weights[%u]: must be >= 0",
                              k, i);
    for (uint32_t i = 0; i < t->orientation_count; ++i)
        if (!(q_dot(q_of(t->orientations + 4 * i), q_of(t->orientations + 4 * i)) > 0))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "tracks[%u].orientations[%u]: must not be zero", k, i);
    return SKEL_OK;
}

static int are_poses(const double *poses, size_t count) {
    if (!all_finite(poses, 7 * count)) return 0;
    for (size_t i = 0; i < count; ++i)
        if (!(q_dot(q_of(poses + 7 * i + 3), q_of(poses + 7 * i + 3)) > 0)) return 0;
    return 1;
}

static skel_status import(const skel_ik_motion_desc *desc, skel_ik_motion_desc *d,
                          skel_error *err) {
    if (!desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    *d = k_desc;
    if (skel__desc_import(d, sizeof *d, sizeof *d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof *d);
    if (!d->ik || !d->ik->model)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "ik or its model: is NULL");
    if (d->sample_count == 0 || !(d->sample_rate > 0 && isfinite(d->sample_rate)))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "sample_count: is %u, sample_rate: is %g, both must be > 0",
                          d->sample_count, d->sample_rate);
    const skel_model *m = d->ik->model;
    if ((double)d->sample_count * (7.0 * m->nb + m->nq + 16) > MOST_NUMBERS)
        return skel__fail(err, SKEL_E_TOO_LARGE, -1, -1,
                          "sample_count: is %u, too many for %d bodies", d->sample_count, m->nb);
    if (d->seed && !all_finite(d->seed, (size_t)m->nq))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "seed: must be finite");
    if (d->base && !all_finite(d->base, (size_t)d->sample_count * (size_t)m->nq))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "base: must be finite");
    if (d->base_poses && !are_poses(d->base_poses, (size_t)d->sample_count * (size_t)m->nb))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "base_poses: must be finite, no orientation zero");
    if (d->base_posture > 1 || (d->base_posture && !d->base))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "base_posture: is %u, must be 0, or 1 where there is a base",
                          d->base_posture);
    for (uint32_t k = 0; d->tracks && k < d->ik->goal_count; ++k) {
        const skel_status status = check_track(&d->tracks[k], k, d->sample_count, err);
        if (status != SKEL_OK) return status;
    }
    return SKEL_OK;
}

static size_t layout(const skel_ik_motion *from, void *base, skel_ik_motion **out) {
    const size_t    n = (size_t)from->n, nb = (size_t)from->m->nb, nq = (size_t)from->m->nq;
    const size_t    nx = (size_t)from->ik->nx;
    skel__carver    c  = {base, 0};
    skel_ik_motion *v  = skel__carve(&c, 1, sizeof *v);
    skel_ik_motion  at = *from;
    at.q_seed          = skel__carve(&c, nq, sizeof(double));
    at.x_base          = skel__carve(&c, nx, sizeof(double));
    at.x_was           = skel__carve(&c, nx, sizeof(double));
    at.x_now           = skel__carve(&c, nx, sizeof(double));
    at.root            = skel__carve(&c, nx - nq, sizeof(double));
    at.poses           = skel__carve(&c, n * nb * 7, sizeof(double));
    at.q               = skel__carve(&c, n * nq, sizeof(double));
    at.receipts        = skel__carve(&c, n, sizeof *at.receipts);
    at.residuals       = skel__carve(&c, n * (size_t)at.goals * 2, sizeof(double));
    if (v) *v = at;
    if (out) *out = v;
    return c.used;
}

skel_status skel_ik_motion_start(const skel_ik_motion_desc *desc, skel_ik_motion **out,
                                 skel_error *err) {
    skel_ik_motion_desc d;
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out               = NULL;
    skel_status status = import(desc, &d, err);
    if (status != SKEL_OK) return status;
    skel_ik_motion at = {.allocator = d.ik->model->allocator, .m = d.ik->model};
    if (d.allocator) status = skel__allocator_import(&at.allocator, d.allocator);
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "allocator: is not valid");
    skel_ik_desc ik;
    if (d.base_posture && skel__desc_import(&ik, sizeof ik, sizeof ik, d.ik) == SKEL_OK)
        ik.posture = d.base, d.ik = &ik;
    status = skel_ik_create(d.ik, &at.ik, err);
    if (status != SKEL_OK) return status;
    at.n = (int32_t)d.sample_count, at.goals = (int32_t)d.ik->goal_count, at.mode = d.ik->mode;
    at.tracks = d.tracks, at.base = d.base, at.rate = d.sample_rate;
    at.base_poses = d.base_poses, at.base_posture = (int32_t)d.base_posture;
    at.has_bounds = d.ik->max_step != NULL;
    at.blend_in = d.blend_in, at.blend_out = d.blend_out;
    void *block = skel__alloc(&at.allocator, layout(&at, NULL, NULL));
    if (!block) {
        skel_ik_destroy(at.ik);
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for %d samples", at.n);
    }
    layout(&at, block, out);
    skel_ik_motion *v  = *out;
    const size_t    nq = (size_t)at.m->nq;
    memcpy(v->root, v->ik->x + nq, ((size_t)v->ik->nx - nq) * sizeof(double));
    if (d.seed || d.base)
        memcpy(v->q_seed, d.seed ? d.seed : d.base, nq * sizeof(double));
    else
        skel__ik_current(v->ik, v->q_seed);
    return SKEL_OK;
}

void skel_ik_motion_destroy(skel_ik_motion *motion) {
    if (!motion) return;
    const skel_allocator a = motion->allocator;
    skel_ik_destroy(motion->ik);
    skel__free(&a, motion);
}

/* ---- a sample ---- */

static void aim(skel_ik_motion *v, int32_t k) {
    for (int32_t g = 0; v->tracks && g < v->goals; ++g) {
        const skel_goal_track *t = &v->tracks[g];
        const size_t           p = t->position_count > 1 ? (size_t)k : 0;
        const size_t           o = t->orientation_count > 1 ? (size_t)k : 0;
        skel_ik_set_target(v->ik, g, t->position_count ? t->positions + 3 * p : NULL,
                           t->orientation_count ? t->orientations + 4 * o : NULL);
        if (t->weight_count) skel_ik_set_weight(v->ik, g, t->weights[t->weight_count > 1 ? k : 0]);
    }
}

/* 0 at the very ends, 1 between the blends, smooth. */
static double weight_of(const skel_ik_motion *v, int32_t k) {
    const double in  = v->blend_in ? fmin((double)k / v->blend_in, 1) : 1;
    const double out = v->blend_out ? fmin((double)(v->n - 1 - k) / v->blend_out, 1) : 1;
    const double w   = fmin(in, out);
    return w * w * (3 - 2 * w);
}

/* x: the animation at this sample. */
static void base_at(const skel_ik_motion *v, int32_t k, double *x) {
    const size_t nq = (size_t)v->m->nq, nb = (size_t)v->m->nb;
    memcpy(x, v->base ? v->base + (size_t)k * nq : v->q_seed, nq * sizeof(double));
    if (v->base_poses) skel_ik_set_roots(v->ik, v->base_poses + (size_t)k * nb * 7);
    const double *roots = v->base_poses ? v->ik->x + nq : v->root;
    memcpy(x + nq, roots, ((size_t)v->ik->nx - nq) * sizeof(double));
}

/* x moves on as the animation does; what the goals do not move is the animation's. */
static void move_on(const skel_ik_motion *v, double *x) {
    double *old = v->ik->trial;
    memcpy(old, x, (size_t)v->ik->nx * sizeof *x);
    memcpy(x, v->x_base, (size_t)v->ik->nx * sizeof *x);
    for (int32_t i = 0; i < v->ik->nn; ++i) {
        const skel__ik_node *n = &v->ik->node[i];
        const double        *a = v->x_was + n->x, *b = v->x_base + n->x, *was = old + n->x;
        double              *q = x + n->x;
        if (n->column < 0) continue;
        const size_t width = n->kind == SKEL__NODE_BALL ? 4 : n->kind == SKEL__NODE_SHIFT ? 3 : 1;
        if (memcmp(a, b, width * sizeof *a) == 0) { /* to the bit, where it stands still */
            memcpy(q, was, width * sizeof *q);
            continue;
        }
        if (n->kind == SKEL__NODE_BALL) {
            const quat way = q_mul(q_conj(q_of(a)), q_of(b));
            q_to(q_unit(q_mul(q_of(was), way.w < 0 ? q_neg(way) : way)), q);
            continue;
        }
        for (size_t j = 0; j < width; ++j) q[j] = was[j] + (b[j] - a[j]);
        if (n->kind <= SKEL__NODE_SLIDE) q[0] = fmin(fmax(q[0], n->low), n->high);
    }
}

/* All that the solver remembers moves on with the animation: seen from there, it goes on from the
   last answer. Where steps are bounded, the last answer itself is the start. */
static void follow_base(skel_ik_motion *v) {
    skel_ik *ik       = v->ik;
    double  *memory[] = {v->x_now, ik->last, ik->before, ik->memory, ik->home};
    if (v->has_bounds) memcpy(v->x_was, v->x_base, (size_t)ik->nx * sizeof(double));
    for (size_t k = 0; k < sizeof memory / sizeof *memory; ++k) move_on(v, memory[k]);
}

static void store(skel_ik_motion *v, int32_t k) {
    const size_t nb = (size_t)v->m->nb, nq = (size_t)v->m->nq;
    double      *x = v->poses + (size_t)k * nb * 7;
    memcpy(v->q + (size_t)k * nq, v->ik->x, nq * sizeof(double));
    skel_ik_get_poses(v->ik, x);
    for (size_t i = 0; k > 0 && i < nb; ++i) { /* continuous signs */
        double *q = x + 7 * i + 3;
        if (q_dot(q_of(q), q_of(q - 7 * nb)) < 0) q_to(q_neg(q_of(q)), q);
    }
    for (int32_t g = 0; g < v->goals; ++g) {
        double *r = v->residuals + 2 * ((size_t)k * (size_t)v->goals + (size_t)g);
        skel_ik_get_residual(v->ik, g, r, r + 1);
    }
}

static void sample(skel_ik_motion *v, int32_t k) {
    skel_ik     *ik = v->ik;
    const size_t nq = (size_t)v->m->nq, nx = (size_t)ik->nx;
    const int    goes_on = v->mode == SKEL_IK_TRACK && k > 0;
    double      *q       = v->q + (size_t)k * nq;
    memcpy(v->x_was, v->x_base, nx * sizeof(double));
    base_at(v, k, v->x_base);
    skel__ik_drive(ik, (double)k / v->rate);
    aim(v, k);
    if (v->base_posture) memcpy(ik->posture, v->x_base, nq * sizeof(double));
    if (ik->has_posture) memcpy(ik->posture + nq, v->x_base + nq, (nx - nq) * sizeof(double));
    if (goes_on && (v->base || v->base_poses)) follow_base(v);
    const double *start = goes_on ? v->x_now : v->x_base;
    memcpy(q, k == 0 && v->mode == SKEL_IK_TRACK ? v->q_seed : start, nq * sizeof(double));
    memcpy(ik->x + nq, start + nq, (nx - nq) * sizeof(double));
    v->receipts[k].struct_size = sizeof v->receipts[k];
    skel_ik_solve(ik, q, &v->receipts[k], NULL);
    memcpy(v->x_now, ik->x, nx * sizeof(double));
    const double w = weight_of(v, k);
    if (w < 1) {
        skel__ik_blend(ik, v->x_base, v->x_now, w, ik->x);
        skel__ik_errors(ik, ik->x, ik->rows);
        skel__ik_receipt(ik, &v->receipts[k]);
    }
    store(v, k);
}

skel_status skel_ik_motion_advance(skel_ik_motion *motion, double max_ms) {
    if (!motion) return SKEL_E_ARGUMENT;
    const int64_t begun = skel__now_ns();
    while (motion->done < motion->n) {
        sample(motion, motion->done++);
        if (max_ms >= 0 && 1e-6 * (double)(skel__now_ns() - begun) >= max_ms) break;
    }
    return motion->done < motion->n ? SKEL_MORE : SKEL_OK;
}

double skel_ik_motion_progress(const skel_ik_motion *motion) {
    return motion ? (double)motion->done / motion->n : 0;
}
int32_t skel_ik_motion_samples_done(const skel_ik_motion *motion) {
    return motion ? motion->done : 0;
}
int32_t skel_ik_motion_sample_count(const skel_ik_motion *motion) {
    return motion ? motion->n : 0;
}
const double *skel_ik_motion_poses(const skel_ik_motion *motion) {
    return motion ? motion->poses : NULL;
}
const double *skel_ik_motion_q(const skel_ik_motion *motion) {
    return motion ? motion->q : NULL;
}
const skel_ik_receipt *skel_ik_motion_receipts(const skel_ik_motion *motion) {
    return motion ? motion->receipts : NULL;
}
const double *skel_ik_motion_residuals(const skel_ik_motion *motion) {
    return motion ? motion->residuals : NULL;
}
