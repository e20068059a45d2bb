/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics over time: one solve per sample, blended with an animation at both ends. */
#include "drive/ik_motion.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"

#include <string.h>

#define IK_MOTION_NUMBERS_MAX 4e9 /* of the results */
#define IK_MOTION_TRACKING_SHARE                                                                   \
    0.8                         /* of the progress; the rest is smoothing, if samples were lost */
#define IK_MOTION_JUMP_TOL 1e-9 /* relative: a step this little too long is no jump */

static const skel_ik_motion_desc k_desc = {.struct_size = sizeof k_desc, .sample_rate = 24};

void skel_ik_motion_desc_init_sized(skel_ik_motion_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

/* ---- checks ---- */

/* A track is absent, constant, or has a value per sample. */
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
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "tracks[%u].weights[%u]: is %g, must be >= 0 and finite", k, i,
                              t->weights[i]);

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

/* Checks the seed and the animation. */
static skel_status check_animation(const skel_ik_motion_desc *d, skel_error *err) {
    const skel_model *m = d->ik->model;
    const size_t nq = (size_t)m->nq, samples = d->sample_count;
    if (d->seed && !all_finite(d->seed, nq))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "seed: must be finite");
    if (d->base && !all_finite(d->base, samples * nq))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "base: must be finite");
    if (d->base_poses && !are_poses(d->base_poses, samples * (size_t)m->nb))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "base_poses: must be finite, and no orientation may be zero");
    if (d->base_posture > 1 || (d->base_posture && !d->base))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "base_posture: is %u, must be 0, or 1 if a base is given",
                          d->base_posture);
    return SKEL_OK;
}

static skel_status import(const skel_ik_motion_desc *desc, skel_ik_motion_desc *d,
                          skel_error *err) {
    if (!desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    *d = k_desc;
    if (skel__desc_import(d, sizeof *d, sizeof *d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof *d);

    if (d->start > SKEL_IK_START_HELD || d->causal > 1)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "start: is %u, causal: is %u, both must be 0 or 1", d->start, d->causal);
    if (!d->ik || !d->ik->model)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "ik or its model: is NULL");
    if (d->sample_count == 0 || !(d->sample_rate > 0 && isfinite(d->sample_rate)))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "sample_count: is %u, sample_rate: is %g Hz, both must be > 0",
                          d->sample_count, d->sample_rate);

    const skel_model *m = d->ik->model;
    if ((double)d->sample_count * (7.0 * m->nb + m->nq + 16) > IK_MOTION_NUMBERS_MAX)
        return skel__fail(err, SKEL_E_TOO_LARGE, -1, -1,
                          "sample_count: is %u, too many for %d bodies", d->sample_count, m->nb);

    skel_status status = check_animation(d, err);
    for (uint32_t k = 0; status == SKEL_OK && d->tracks && k < d->ik->goal_count; ++k)
        status = check_track(&d->tracks[k], k, d->sample_count, err);
    return status;
}

/* ---- creation ---- */

/* Measures the motion (base is NULL), or carves it out of the block `base`. */
static size_t layout(const skel_ik_motion *from, void *base, skel_ik_motion **out) {
    const size_t samples = (size_t)from->sample_count, goals = (size_t)from->goals;
    const size_t nb = (size_t)from->model->nb, nq = (size_t)from->model->nq;
    const size_t coordinates = (size_t)from->track.ik->size.coordinates;
    skel__carver c = {base, 0};
    skel_ik_motion *motion = skel__carve(&c, 1, sizeof *motion);
    skel_ik_motion at = *from;

    skel__tracker *t[2] = {&at.track, &at.probe};
    for (int k = 0; k < 2; ++k) {
        t[k]->x_base = skel__carve(&c, coordinates, sizeof(double));
        t[k]->x_base_before = skel__carve(&c, coordinates, sizeof(double));
        t[k]->x_now = skel__carve(&c, coordinates, sizeof(double));
    }
    at.q_seed = skel__carve(&c, nq, sizeof(double));
    at.q_work = skel__carve(&c, nq, sizeof(double));
    at.posture = skel__carve(&c, coordinates, sizeof(double));
    at.root = skel__carve(&c, coordinates - nq, sizeof(double));
    at.x_first = skel__carve(&c, coordinates, sizeof(double));
    at.x_carried = skel__carve(&c, coordinates, sizeof(double));
    at.seed = skel__carve(&c, (size_t)from->track.ik->size.columns, sizeof(double));

    at.poses = skel__carve(&c, samples * nb * 7, sizeof(double));
    at.q = skel__carve(&c, samples * nq, sizeof(double));
    at.receipts = skel__carve(&c, samples, sizeof *at.receipts);
    at.residuals = skel__carve(&c, samples * goals * 2, sizeof(double));

    if (motion) *motion = at;
    if (out) *out = motion;
    return c.used;
}

/* Memory of the repair. Most motions never use it, so it is not cleared. */
static size_t layout_room(skel_ik_motion *motion, void *base) {
    const size_t n = (size_t)motion->sample_count, nx = (size_t)motion->track.ik->size.coordinates;
    skel__carver c = {base, 0};
    motion->path.x = skel__carve(&c, n * nx, sizeof(double));
    motion->limit = skel__carve(&c, n, sizeof(double));
    motion->reached = skel__carve(&c, n, sizeof *motion->reached);
    motion->jumps = skel__carve(&c, n, sizeof *motion->jumps);
    motion->smooth.x = skel__carve(&c, n * nx, sizeof(double));
    motion->kept.x = skel__carve(&c, n * nx, sizeof(double));
    motion->kept.reached = skel__carve(&c, n, sizeof *motion->kept.reached);
    motion->smooth.y = skel__carve(&c, (size_t)motion->track.ik->size.columns, sizeof(double));
    motion->smooth.sum = skel__carve(&c, (size_t)motion->track.ik->size.columns, sizeof(double));
    motion->smooth.guide = skel__carve(&c, 2 * nx, sizeof(double));
    skel__repair_layout(motion, &c);
    return c.used;
}

/* Creates the second solver, which searches for other solutions, and the memory of the repair. */
static skel_status make_probe(skel_ik_motion *motion, const skel_ik_desc *ik, skel_error *err) {
    skel_status status = skel__ik_create(ik, 1, &motion->probe.ik, err);
    if (status != SKEL_OK) return status;

    motion->room = skel__alloc_unset(&motion->allocator, layout_room(motion, NULL));
    if (!motion->room)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for %d samples",
                          motion->sample_count);
    layout_room(motion, motion->room);
    memset(motion->limit, 0, (size_t)motion->sample_count * sizeof *motion->limit);
    motion->path.last = motion->sample_count - 1;
    return SKEL_OK;
}

/* Copies everything of the description that is not an array of this object. */
static void take_scalars(skel_ik_motion *at, const skel_ik_motion_desc *d) {
    at->sample_count = (int32_t)d->sample_count;
    at->goals = (int32_t)d->ik->goal_count;
    at->mode = d->ik->mode;
    at->tracks = d->tracks;
    at->base = d->base;
    at->rate = d->sample_rate;
    at->base_poses = d->base_poses;
    at->base_posture = (int32_t)d->base_posture;
    at->has_bounds = d->ik->max_step != NULL;
    at->start_held = d->start == SKEL_IK_START_HELD;
    at->blend_in = d->blend_in;
    at->blend_out = d->blend_out;
    at->changed = at->sample_count;
    at->settings = skel__ik_settings_get(at->track.ik);
    at->moved = (skel_ik_jump){.struct_size = sizeof at->moved, .joint = SKEL_WORLD};
    at->repair = (skel__repair){.last_lost = -1, .random = 1};
}

/* Sets the start: free roots, posture and seed. */
static void set_start(skel_ik_motion *motion, const skel_ik_motion_desc *d) {
    const skel_ik *ik = motion->track.ik;
    const size_t nq = (size_t)motion->model->nq, coordinates = (size_t)ik->size.coordinates;
    memcpy(motion->root, ik->iterate.x + nq, (coordinates - nq) * sizeof(double));
    if (motion->settings.has_posture)
        memcpy(motion->posture, ik->options.posture, nq * sizeof(double));

    if (d->seed || d->base)
        memcpy(motion->q_seed, d->seed ? d->seed : d->base, nq * sizeof(double));
    else
        skel__ik_model_q(ik, motion->q_seed);
}

skel_status skel_ik_motion_start(const skel_ik_motion_desc *desc, skel_ik_motion **out,
                                 skel_error *err) {
    skel_ik_motion_desc d;
    skel_ik_desc ik;
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;
    skel_status status = import(desc, &d, err);
    if (status != SKEL_OK) return status;

    skel_ik_motion at = {.allocator = d.ik->model->allocator, .model = d.ik->model};
    if (d.allocator) status = skel__allocator_import(&at.allocator, d.allocator);
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "allocator: is not valid");

    /* The posture of every sample is set later; here it only reserves memory for it. */
    if (d.base_posture && skel__desc_import(&ik, sizeof ik, sizeof ik, d.ik) == SKEL_OK) {
        ik.posture = d.base;
        d.ik = &ik;
    }
    status = skel_ik_create(d.ik, &at.track.ik, err);
    if (status != SKEL_OK) return status;
    take_scalars(&at, &d);

    void *block = skel__alloc(&at.allocator, layout(&at, NULL, NULL));
    if (!block) {
        skel_ik_destroy(at.track.ik);
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for %d samples", at.sample_count);
    }
    skel_ik_motion *motion;
    layout(&at, block, &motion);

    if (d.ik->mode == SKEL_IK_TRACK && d.ik->method == SKEL_IK_DAMPED && !d.causal)
        status = make_probe(motion, d.ik, err);
    if (status != SKEL_OK) {
        skel_ik_motion_destroy(motion);
        return status;
    }

    set_start(motion, &d);
    *out = motion;
    return SKEL_OK;
}

void skel_ik_motion_destroy(skel_ik_motion *motion) {
    if (!motion) return;
    const skel_allocator a = motion->allocator;
    skel_ik_destroy(motion->track.ik);
    skel_ik_destroy(motion->probe.ik);
    skel__free(&a, motion->room);
    skel__free(&a, motion);
}

/* ---- one sample ---- */

/* Sets the targets and weights of sample k. */
static void set_targets(const skel_ik_motion *motion, skel_ik *ik, int32_t k) {
    for (int32_t g = 0; motion->tracks && g < motion->goals; ++g) {
        const skel_goal_track *t = &motion->tracks[g];
        const size_t p = t->position_count > 1 ? (size_t)k : 0;
        const size_t o = t->orientation_count > 1 ? (size_t)k : 0;
        skel_ik_set_target(ik, g, t->position_count ? t->positions + 3 * p : NULL,
                           t->orientation_count ? t->orientations + 4 * o : NULL);
        if (t->weight_count) skel_ik_set_weight(ik, g, t->weights[t->weight_count > 1 ? k : 0]);
    }
}

/* Weight of the result against the animation: 0 at the ends, 1 between the blends, with
   w^2 (3 - 2 w) in between. */
static double blend_weight(const skel_ik_motion *motion, int32_t k) {
    const double after = motion->sample_count - 1 - k;
    const double in = motion->blend_in ? fmin((double)k / motion->blend_in, 1) : 1;
    const double out = motion->blend_out ? fmin(after / motion->blend_out, 1) : 1;
    const double w = fmin(in, out);
    return w * w * (3 - 2 * w);
}

void skel__motion_base(const skel_ik_motion *motion, skel_ik *ik, int32_t k, double *x) {
    const size_t nq = (size_t)motion->model->nq, nb = (size_t)motion->model->nb;
    const double *q = motion->base ? motion->base + (size_t)k * nq : motion->q_seed;
    memcpy(x, q, nq * sizeof(double));

    if (motion->base_poses) skel_ik_set_roots(ik, motion->base_poses + (size_t)k * nb * 7);
    const double *roots = motion->base_poses ? ik->iterate.x + nq : motion->root;
    memcpy(x + nq, roots, ((size_t)ik->size.coordinates - nq) * sizeof(double));
}

void skel__motion_set_sample(const skel_ik_motion *motion, skel__tracker *t, int32_t k) {
    const size_t nq = (size_t)motion->model->nq, coordinates = (size_t)t->ik->size.coordinates;
    skel__motion_base(motion, t->ik, k, t->x_base);
    skel__ik_set_time(t->ik, (double)k / motion->rate);
    set_targets(motion, t->ik, k);
    if (!motion->settings.has_posture) return;

    /* Free roots prefer their poses in the animation. */
    if (motion->base_posture) memcpy(motion->posture, t->x_base, nq * sizeof(double));
    memcpy(motion->posture + nq, t->x_base + nq, (coordinates - nq) * sizeof(double));
    skel__ik_set_posture(t->ik, motion->posture);
}

/* q = before + (to - from), in the coordinates of one node. */
static void carry_node(const skel__ik_node *n, const double *from, const double *to,
                       const double *before, double *q) {
    const size_t count = (size_t)skel__ik_coordinates(n);

    /* If the animation does not move, the bits stay as they are. */
    if (memcmp(from, to, count * sizeof *from) == 0) {
        memcpy(q, before, count * sizeof *q);
        return;
    }
    if (n->kind == SKEL__NODE_BALL) {
        const quat turn = q_mul(q_conj(q_of(from)), q_of(to));
        q_to(q_unit(q_mul(q_of(before), turn.w < 0 ? q_neg(turn) : turn)), q);
        return;
    }
    for (size_t j = 0; j < count; ++j) q[j] = before[j] + (to[j] - from[j]);
    if (n->kind == SKEL__NODE_AXIS) q[0] = fmin(fmax(q[0], n->low), n->high);
}

void skel__motion_carry(const skel_ik *ik, const double *a, const double *b, double *x) {
    const size_t size = (size_t)ik->size.coordinates * sizeof *x;
    double *before = ik->iterate.trial;
    memcpy(before, x, size);
    memcpy(x, b, size);

    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        const int32_t k = n->x_offset;
        if (n->column >= 0) carry_node(n, a + k, b + k, before + k, x + k);
    }
}

void skel__motion_carry_history(skel_ik *ik, const double *a, const double *b) {
    skel__ik_history *history = &ik->history;
    double *poses[] = {history->last, history->before_last, history->good, history->first};
    for (size_t k = 0; k < sizeof poses / sizeof *poses; ++k)
        skel__motion_carry(ik, a, b, poses[k]);
    for (int32_t k = 0; k < ik->parts.count; ++k)
        skel__motion_carry_history(ik->parts.solver[k], a, b);
}

/* Writes the pose of the solver as sample k. */
static void store(skel_ik_motion *motion, const skel_ik *ik, int32_t k) {
    const size_t nb = (size_t)motion->model->nb, nq = (size_t)motion->model->nq;
    const size_t goals = (size_t)motion->goals;
    double *x = motion->poses + (size_t)k * nb * 7;
    memcpy(motion->q + (size_t)k * nq, ik->iterate.x, nq * sizeof(double));
    skel_ik_get_poses(ik, x);

    /* Quaternions keep the sign that is nearest to the sample before. */
    for (size_t i = 0; k > 0 && i < nb; ++i) {
        double *q = x + 7 * i + 3;
        if (q_dot(q_of(q), q_of(q - 7 * nb)) < 0) q_to(q_neg(q_of(q)), q);
    }

    for (size_t g = 0; g < goals; ++g) {
        double *r = motion->residuals + 2 * ((size_t)k * goals + g);
        skel_ik_get_residual(ik, (int32_t)g, r, r + 1);
    }
}

/* Blends the result x_now with the animation and writes it. */
static void blend_and_store(skel_ik_motion *motion, const skel__tracker *t, int32_t k) {
    const double w = blend_weight(motion, k);
    if (w < 1) {
        skel__ik_blend(t->ik, t->x_base, t->x_now, w, t->ik->iterate.x);
        skel__ik_errors(t->ik, t->ik->iterate.x, t->ik->size.rows);
        skel__ik_receipt(t->ik, &motion->receipts[k]);
    }
    store(motion, t->ik, k);
    if (motion->stored <= k) motion->stored = k + 1;
}

static void solve_sample(skel_ik_motion *motion, int32_t k) {
    skel__tracker *t = &motion->track;
    skel_ik *ik = t->ik;
    const size_t nq = (size_t)motion->model->nq, coordinates = (size_t)ik->size.coordinates;
    const int tracks = motion->mode == SKEL_IK_TRACK, continues = tracks && k > 0;
    memcpy(t->x_base_before, t->x_base, coordinates * sizeof(double));
    skel__motion_set_sample(motion, t, k);

    /* The last result and the history move with the animation. If the caller bounds the steps, the
       last result itself is the start. */
    if (continues && (motion->base || motion->base_poses)) {
        const double *from = motion->has_bounds ? t->x_base : t->x_base_before;
        skel__motion_carry(ik, from, t->x_base, t->x_now);
        skel__motion_carry_history(ik, from, t->x_base);
    }

    const double *start = continues ? t->x_now : t->x_base;
    double *q = motion->q + (size_t)k * nq;
    memcpy(q, k == 0 && tracks ? motion->q_seed : start, nq * sizeof(double));
    memcpy(ik->iterate.x + nq, start + nq, (coordinates - nq) * sizeof(double));
    if (motion->probe.ik) memcpy(motion->x_carried, start, coordinates * sizeof(double));

    motion->receipts[k].struct_size = sizeof motion->receipts[k];
    skel_ik_solve(ik, q, &motion->receipts[k], NULL);
    memcpy(t->x_now, ik->iterate.x, coordinates * sizeof(double));
    if (motion->probe.ik) motion->reached[k] = motion->receipts[k].reached;
    blend_and_store(motion, t, k);
}

/* ---- steps and jumps ---- */

/* Motion of a node from one pose to another [rad], [m]. */
static double node_motion(const skel__ik_node *n, const double *from, const double *to) {
    switch (n->kind) {
    case SKEL__NODE_BALL: return v3_norm(q_log(q_mul(q_conj(q_of(from)), q_of(to))));
    case SKEL__NODE_SHIFT: return v3_norm(v3_sub(v3_of(to), v3_of(from)));
    default: return fabs(to[0] - from[0]);
    }
}

double skel__motion_step(const skel_ik *ik, const double *a, const double *b, skel_ik_jump *jump) {
    double most = 0;
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->column < 0 || n->source >= 0) continue;

        const double size = node_motion(n, a + n->x_offset, b + n->x_offset);
        const double step = size / skel__ik_unit(ik, n);
        if (!(step > most)) continue;
        most = step;
        if (!jump) continue;
        jump->joint = n->joint;
        jump->is_length = skel__ik_is_length(n);
        jump->size = size;
    }
    return most;
}

double skel__motion_limit(const skel_ik_motion *motion, const skel_ik *ik) {
    if (motion->has_bounds) return INFINITY;
    const double target_motion = skel__ik_target_motion(ik);
    return fmax(SKEL__IK_JUMP_MIN, SKEL__IK_JUMP_PER_TARGET_MOTION * target_motion);
}

double skel__motion_list_jumps(skel_ik_motion *motion) {
    skel__tracker *t = &motion->probe;
    const int32_t coordinates = t->ik->size.coordinates;
    const size_t size = (size_t)coordinates * sizeof(double);
    double sum = 0;

    motion->jump_count = 0;
    for (int32_t k = 0; k < motion->sample_count; ++k) {
        skel_ik_jump jump = {.struct_size = sizeof jump, .sample = k};
        memcpy(t->x_base_before, t->x_base, size);
        skel__motion_base(motion, t->ik, k, t->x_base);
        if (k == 0) continue;

        /* Steps are measured from the pose that moves as the animation does. */
        memcpy(motion->x_carried, skel__strand_at(&motion->path, k - 1, coordinates), size);
        skel__motion_carry(t->ik, t->x_base_before, t->x_base, motion->x_carried);
        const double *now = skel__strand_at(&motion->path, k, coordinates);
        const double step = skel__motion_step(t->ik, motion->x_carried, now, &jump);
        if (!(step > motion->limit[k] * (1 + IK_MOTION_JUMP_TOL))) continue;
        motion->jumps[motion->jump_count++] = jump;
        sum += step;
    }
    return sum;
}

/* ---- units of work ---- */

static void end(skel_ik_motion *motion) {
    motion->phase = SKEL__IK_PHASE_DONE;
    if (!motion->has_repairs) return;

    skel__motion_list_jumps(motion);
    for (int32_t k = 0; k < motion->sample_count; ++k)
        motion->repaired += motion->reached[k] == SKEL__SAMPLE_REPAIRED;
    skel__motion_step(motion->probe.ik, motion->x_first, motion->path.x, &motion->moved);
}

void skel__motion_finish(skel_ik_motion *motion) {
    if (motion->changed == motion->sample_count || motion->smooth.is_over)
        end(motion);
    else if (!skel__repair_again(motion))
        skel__smooth_begin(motion);
}

/* Records the result of sample k in the path. Returns 0 if it is lost or reached by a jump. */
static int record_path(skel_ik_motion *motion, int32_t k) {
    const skel_ik *ik = motion->track.ik;
    const int32_t coordinates = ik->size.coordinates;
    const size_t size = (size_t)coordinates * sizeof(double);
    double *x = skel__strand_at(&motion->path, k, coordinates);
    memcpy(x, motion->track.x_now, size);
    if (k == 0) {
        memcpy(motion->x_first, x, size);
        return motion->reached[0];
    }

    motion->limit[k] = fmax(motion->limit[k], skel__motion_limit(motion, ik));
    const double step = skel__motion_step(ik, motion->x_carried, x, NULL);
    return motion->reached[k] && !(step > motion->limit[k]);
}

static void track(skel_ik_motion *motion) {
    const int32_t k = motion->done;
    solve_sample(motion, k);

    if (motion->probe.ik) {
        const int is_good = record_path(motion, k);
        if (is_good) skel__repair_reset(motion);
        if (!is_good && skel__repair_begin(motion, k)) return;
    }
    if (++motion->done == motion->sample_count) skel__motion_finish(motion);
}

/* Writes a sample whose result comes from the path instead of tracking. */
static void write_sample(skel_ik_motion *motion) {
    skel__tracker *t = &motion->probe;
    const int32_t k = motion->write, coordinates = t->ik->size.coordinates;
    const size_t size = (size_t)coordinates * sizeof(double);
    skel__motion_set_sample(motion, t, k);
    memcpy(t->x_now, skel__strand_at(&motion->path, k, coordinates), size);
    memcpy(t->ik->iterate.x, t->x_now, size);
    skel__ik_errors(t->ik, t->ik->iterate.x, t->ik->size.rows);

    motion->receipts[k].struct_size = sizeof motion->receipts[k];
    skel__ik_receipt(t->ik, &motion->receipts[k]);
    blend_and_store(motion, t, k);

    if (motion->write++ < motion->write_last) return;
    if (motion->done < motion->sample_count)
        motion->phase = SKEL__IK_PHASE_TRACK;
    else
        skel__motion_finish(motion);
}

void skel__motion_changed(skel_ik_motion *motion, int32_t first, int32_t last) {
    const int32_t coordinates = motion->track.ik->size.coordinates;
    for (int32_t k = first; k <= last; ++k) motion->reached[k] = SKEL__SAMPLE_REPAIRED;
    if (first < motion->changed) motion->changed = first;
    motion->write = first;
    motion->write_last = last;
    motion->phase = SKEL__IK_PHASE_WRITE;
    if (last + 1 < motion->done) return;

    /* Tracking continues from the last of these samples. */
    motion->done = last + 1;
    memcpy(motion->track.x_now, skel__strand_at(&motion->path, last, coordinates),
           (size_t)coordinates * sizeof(double));
    skel__motion_set_sample(motion, &motion->track, last);
    skel__ik_resume(motion->track.ik, motion->track.x_now);
}

static void work(skel_ik_motion *motion) {
    switch (motion->phase) {
    case SKEL__IK_PHASE_TRACK: track(motion); break;
    case SKEL__IK_PHASE_WRITE: write_sample(motion); break;
    case SKEL__IK_PHASE_SMOOTH: skel__smooth_work(motion); break;
    default: skel__repair_work(motion);
    }
}

/* Progress must never decrease. Once samples were repaired, smoothing follows the last sample. */
static void update_progress(skel_ik_motion *motion) {
    const double tracked = (double)motion->done / motion->sample_count;
    double now = tracked;
    if (motion->changed < motion->sample_count) now = IK_MOTION_TRACKING_SHARE * tracked;
    if (motion->phase == SKEL__IK_PHASE_SMOOTH)
        now += (1 - IK_MOTION_TRACKING_SHARE) * skel__smooth_progress(motion);
    if (motion->phase == SKEL__IK_PHASE_DONE) now = 1;
    motion->progress = fmax(motion->progress, now);
}

skel_status skel_ik_motion_advance(skel_ik_motion *motion, double max_ms) {
    if (!motion) return SKEL_E_ARGUMENT;
    const int64_t begun = skel__now_ns();
    while (motion->phase != SKEL__IK_PHASE_DONE) {
        work(motion);
        if (max_ms >= 0 && 1e-6 * (double)(skel__now_ns() - begun) >= max_ms) break;
    }
    update_progress(motion);
    return motion->phase != SKEL__IK_PHASE_DONE ? SKEL_MORE : SKEL_OK;
}

/* ---- results ---- */

double skel_ik_motion_progress(const skel_ik_motion *motion) {
    return motion ? motion->progress : 0;
}
int32_t skel_ik_motion_samples_done(const skel_ik_motion *motion) {
    return motion ? motion->stored : 0;
}
int32_t skel_ik_motion_sample_count(const skel_ik_motion *motion) {
    return motion ? motion->sample_count : 0;
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
int32_t skel_ik_motion_jump_count(const skel_ik_motion *motion) {
    return motion ? motion->jump_count : 0;
}
skel_status skel_ik_motion_get_jump(const skel_ik_motion *motion, int32_t index,
                                    skel_ik_jump *out) {
    if (!motion || !out || index < 0 || index >= motion->jump_count) return SKEL_E_ARGUMENT;
    return skel__desc_export(out, &motion->jumps[index], sizeof *out, sizeof *out);
}
skel_status skel_ik_motion_get_start(const skel_ik_motion *motion, skel_ik_jump *out) {
    if (!motion || !out) return SKEL_E_ARGUMENT;
    return skel__desc_export(out, &motion->moved, sizeof *out, sizeof *out);
}
int32_t skel_ik_motion_repaired_count(const skel_ik_motion *motion) {
    return motion ? motion->repaired : 0;
}
