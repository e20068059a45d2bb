/* SPDX-License-Identifier: BSD-3-Clause */
/* Another way where tracking has lost a sample that can be reached. A chain with freedom to spare
   drifts into a limit or a branch that ends; what would have led past it lies many samples before.
     search  poses of the lost sample from random seeds
     lead    strands: from each of them tracking goes on, forwards and backwards in time
     glide   from the motion some samples before the lost one, drawn to a strand as to a posture,
             so that the targets are met all the way; the longest strand first
     return  the same backwards, from a strand to the motion
   Where no glide succeeds, the motion begins on a strand that holds from the first sample, if that
   may move; else it jumps onto the strand that holds longest, where the jump is smallest. What no
   seed reaches cannot be reached: that stays as tracking left it. */
#include "drive/ik_motion.h"

#include <string.h>

#define IK_STRANDS_MAX 48               /* of one attempt */
#define IK_STRANDS_PER_BATCH 12         /* that are led before glides are tried */
#define IK_REPAIR_ATTEMPTS_MAX 9        /* with other seeds, before the motion jumps */
#define IK_REPAIR_ATTEMPTS_NO_FREEDOM 2 /* where the chain has no freedom to spare */
#define IK_REPAIR_STEP_RATIO 3.0        /* of the longest step, in the last attempt */
#define IK_REPAIR_SEED_RESTARTS 20      /* of the search from one seed */
#define IK_STRAND_SAME_POSE 0.1         /* [rad], [length]: nearer poses are one */
#define IK_GLIDE_STEP_MAX 0.05          /* [rad], [length] per sample towards a strand */
#define IK_GLIDE_SAMPLES_MIN 8          /* samples */
#define IK_RETURN_SAMPLES 16            /* samples after the lost one */
#define IK_PROBE_SAMPLES_MAX 32         /* samples between looks at what cannot be reached */
#define IK_RECOVERY_SAMPLES 24 /* samples that tracking has to come back to its goals by itself */
#define IK_STRAND_SAMPLES_MAX 1024              /* samples that a strand may have */
#define IK_STRANDS_BYTES_MAX ((size_t)64 << 20) /* bytes of all strands */
#define IK_STRANDS_MIN 8
#define IK_REPAIR_PASSES_MAX 4    /* over the whole motion, while it jumps */
#define IK_REPAIR_REVERSALS_MAX 6 /* times that a strand is lengthened backwards */
#define IK_REPAIR_WORK_PER_SAMPLE                                                                  \
    4e5 /* beyond it searches are short, beyond twice that there are none */
#define IK_REPAIR_WORK_SAMPLES_MIN 100
#define IK_PROBE_WORK_MAX 2e7 /* until a sample counts as not reachable */

/* ---- room ---- */

void skel__repair_layout(skel_ik_motion *motion, skel__carver *c) {
    skel__repair *r = &motion->repair;
    const size_t nx = (size_t)motion->track.ik->size.coordinates;
    const size_t width = motion->sample_count < IK_STRAND_SAMPLES_MAX ? (size_t)motion->sample_count
                                                                      : IK_STRAND_SAMPLES_MAX;
    const size_t bytes = width * (nx + 1) * sizeof(double);
    size_t slots = IK_STRANDS_BYTES_MAX / bytes;
    if (slots > IK_STRANDS_MAX) slots = IK_STRANDS_MAX;
    if (slots < IK_STRANDS_MIN) slots = IK_STRANDS_MIN;
    r->slots = (int32_t)slots;
    r->width = (int32_t)width;
    r->strand = skel__carve(c, slots, sizeof *r->strand);
    r->order = skel__carve(c, slots, sizeof *r->order);

    r->middle.x = skel__carve(c, nx, sizeof(double));
    skel__strand *others[] = {&r->glide, &r->best, &r->jump, &r->begin, &r->reverse};
    for (size_t k = 0; k < sizeof others / sizeof others[0]; ++k)
        others[k]->x = skel__carve(c, width * nx, sizeof(double));
    double *rest = skel__carve(c, slots * width * nx, sizeof(double));
    for (size_t k = 0; rest && k < slots; ++k)
        r->strand[k] = (skel__strand){.x = rest + k * width * nx};
}

static double *at(const skel_ik_motion *motion, const skel__strand *s, int32_t k) {
    return skel__strand_at(s, k, motion->track.ik->size.coordinates);
}

static void copy_pose(const skel_ik_motion *motion, double *to, const double *from) {
    memcpy(to, from, (size_t)motion->track.ik->size.coordinates * sizeof *to);
}

static void copy_samples(const skel_ik_motion *motion, skel__strand *to, const skel__strand *from,
                         int32_t first, int32_t last) {
    if (last < first) return;
    memcpy(at(motion, to, first), at(motion, from, first),
           (size_t)(last - first + 1) * (size_t)motion->track.ik->size.coordinates *
               sizeof(double));
}

static void copy_strand(const skel_ik_motion *motion, skel__strand *to, const skel__strand *from) {
    double *x = to->x;
    *to = *from;
    to->x = x;
    copy_samples(motion, to, from, from->first, from->last);
}

/* ---- walking ---- */

/* Work is counted, not timed, so that every run does the same. */
static void count_work(skel_ik_motion *motion) {
    const skel_ik *ik = motion->probe.ik;
    const double work =
        (1.0 + ik->result.iterations) * (ik->size.rows + ik->size.columns) * ik->size.columns;
    motion->repair.work += work;
    motion->repair.spent += work;
}

/* How much of the work that the motion may cost is done; from 2 on there is no more. */
static double share_of_work(const skel_ik_motion *motion) {
    const double samples = fmax(motion->sample_count, IK_REPAIR_WORK_SAMPLES_MIN);
    return motion->repair.spent / (IK_REPAIR_WORK_PER_SAMPLE * samples);
}

static int has_animation(const skel_ik_motion *motion) {
    return motion->base || motion->base_poses;
}

void skel__walk_begin(skel_ik_motion *motion, const skel__walk *w, const double *x) {
    skel__ik_settings settings = motion->settings;
    settings.mode = SKEL_IK_TRACK;
    settings.has_posture = w->guide != NULL; /* the caller's would draw every strand to one end */
    if (w->guide && !motion->has_bounds) settings.max_node_step = w->bound;
    skel__ik_settings_set(motion->probe.ik, &settings);
    skel__motion_set_sample(motion, &motion->probe, w->at);
    skel__ik_resume(motion->probe.ik, x);
}

static const double *guide_at(const skel_ik_motion *motion, const skel__strand *guide, int32_t k) {
    if (k < guide->first) k = guide->first;
    if (k > guide->last) k = guide->last;
    return at(motion, guide, k);
}

int skel__walk_step(skel_ik_motion *motion, const skel__walk *w, double *x) {
    skel__tracker *t = &motion->probe;
    skel_ik *ik = t->ik;
    const size_t nq = (size_t)motion->model->nq, nx = (size_t)ik->size.coordinates;
    const int32_t to = w->at + w->direction;
    const int32_t edge = w->direction > 0 ? to : w->at;
    memcpy(t->x_base_before, t->x_base, nx * sizeof(double));
    skel__motion_set_sample(motion, t, to);

    /* Where it would be if it moved as the animation does: steps are measured from there. */
    const double *from = motion->has_bounds ? t->x_base : t->x_base_before, *on = t->x_base;
    memcpy(motion->x_carried, x, nx * sizeof(double));
    if (has_animation(motion)) skel__motion_carry(ik, from, on, motion->x_carried);

    /* A glide moves on as its strand does, which already follows the targets. */
    int follows = has_animation(motion);
    if (w->guide) {
        const double *guide = guide_at(motion, w->guide, to),
                     *was = guide_at(motion, w->guide, w->at);
        skel__ik_set_posture(ik, guide);
        if (guide != was && !motion->has_bounds) {
            from = was;
            on = guide;
            follows = 1;
        }
    }
    copy_pose(motion, t->x_now, x);
    if (follows) {
        skel__motion_carry(ik, from, on, t->x_now);
        skel__motion_carry_history(ik, from, on);
    }

    memcpy(motion->q_work, t->x_now, nq * sizeof(double));
    memcpy(ik->iterate.x + nq, t->x_now + nq, (nx - nq) * sizeof(double));
    skel_ik_solve(ik, motion->q_work, NULL, NULL);
    count_work(motion);
    if (!w->guide || w->guide->first == w->guide->last)
        motion->limit[edge] = fmax(motion->limit[edge], skel__motion_limit(motion, ik));
    const double step = skel__motion_step(ik, motion->x_carried, ik->iterate.x, NULL);
    copy_pose(motion, x, ik->iterate.x);
    return ik->result.residual <= ik->options.tolerance && !(step > w->slack * motion->limit[edge]);
}

/* One more sample of a strand; 0 where it ends. */
static int lengthen(skel_ik_motion *motion, skel__strand *s, int32_t direction,
                    const skel__strand *guide) {
    const int32_t end = direction > 0 ? s->last : s->first;
    const skel__walk w = {.at = end,
                          .direction = direction,
                          .guide = guide,
                          .bound = motion->repair.glide_step,
                          .slack = motion->repair.slack};
    double *x = at(motion, s, end + direction);
    if (!motion->repair.is_walking) skel__walk_begin(motion, &w, at(motion, s, end));
    motion->repair.is_walking = 1;

    copy_pose(motion, x, at(motion, s, end));
    if (!skel__walk_step(motion, &w, x)) return 0;
    if (direction > 0)
        ++s->last;
    else
        --s->first;
    return 1;
}

/* ---- either way in time ---- */

/* The search goes forwards (direction 1) or, to lengthen a strand, backwards (-1). "Before" and
   "farther" are meant in its direction. */
static int32_t end_of(const skel__repair *r, const skel__strand *s) {
    return r->direction > 0 ? s->last : s->first;
}

/* How much farther b is than a. */
static int32_t ahead(const skel__repair *r, int32_t a, int32_t b) {
    return r->direction * (b - a);
}

static void set_end(const skel__repair *r, skel__strand *s, int32_t end) {
    if (r->direction > 0)
        s->last = end;
    else
        s->first = end;
}

/* Step from the motion at the sample before k to a strand at sample k. */
static double step_onto(skel_ik_motion *motion, const skel__strand *s, int32_t k) {
    skel__tracker *t = &motion->probe;
    const int32_t before = k - motion->repair.direction;
    copy_pose(motion, motion->x_carried, at(motion, motion->repair.motion, before));
    if (has_animation(motion)) {
        skel__motion_base(motion, t->ik, before, t->x_base_before);
        skel__motion_base(motion, t->ik, k, t->x_base);
        skel__motion_carry(t->ik, t->x_base_before, t->x_base, motion->x_carried);
    }
    return skel__motion_step(t->ik, motion->x_carried, at(motion, s, k), NULL);
}

/* ---- search ---- */

static double next_random(skel__repair *r) { /* splitmix64, 0..1 */
    uint64_t z = r->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Whole turns of hinges bring x as near to `near` as limits allow. */
static void unwind(const skel_ik *ik, const double *near, double *x) {
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->kind != SKEL__NODE_HINGE || n->column < 0 || n->source >= 0 || n->has_mimics)
            continue;
        double turns = nearbyint((near[n->x_offset] - x[n->x_offset]) / SKEL__TURN);
        while (turns > 0 && x[n->x_offset] + turns * SKEL__TURN > n->high) --turns;
        while (turns < 0 && x[n->x_offset] + turns * SKEL__TURN < n->low) ++turns;
        x[n->x_offset] += turns * SKEL__TURN;
    }
}

/* The motion beside the sample that is searched. */
static const double *neighbour_pose(const skel_ik_motion *motion) {
    const skel__repair *r = &motion->repair;
    const int32_t last = r->lost - r->direction;
    if (r->lost == 0 && r->direction > 0) return motion->track.x_now;
    return at(motion, r->motion, ahead(r, r->seeded, last) > 0 ? r->seeded : last);
}

static void add_strand(skel_ik_motion *motion, const double *x) {
    skel__repair *r = &motion->repair;
    skel_ik *ik = motion->probe.ik;
    for (int32_t k = 0; k < r->count; ++k) {
        const skel__strand *s = &r->strand[k];
        if (s->first > r->seeded || s->last < r->seeded) continue;
        if (skel__motion_step(ik, at(motion, s, r->seeded), x, NULL) < IK_STRAND_SAME_POSE) return;
    }

    skel__strand *s = &r->strand[r->count++];
    s->origin = r->first;
    s->first = s->last = r->seeded;
    copy_pose(motion, at(motion, s, r->seeded), x);
}

/* A pose of the sample from x; 1 where it is reached. */
static int solve_pose(skel_ik_motion *motion, double *x) {
    skel_ik *ik = motion->probe.ik;
    const size_t nq = (size_t)motion->model->nq, nx = (size_t)ik->size.coordinates;
    skel__ik_settings settings = {
        .mode = SKEL_IK_POSE, .max_restarts = IK_REPAIR_SEED_RESTARTS, .merges_levels = 1};
    skel__motion_set_sample(motion, &motion->probe, motion->repair.seeded);
    skel__motion_carry(ik, motion->probe.x_base, motion->probe.x_base,
                       x); /* the rest is the animation's */
    skel__ik_settings_set(ik, &settings);
    memcpy(motion->q_work, x, nq * sizeof(double));
    memcpy(ik->iterate.x + nq, x + nq, (nx - nq) * sizeof(double));
    skel_ik_solve(ik, motion->q_work, NULL, NULL);
    count_work(motion);
    if (ik->result.residual > ik->options.tolerance) return 0;

    /* Every other one is the pose of its branch that the caller's posture wants. */
    if (motion->settings.has_posture && motion->repair.tries % 2 == 0) {
        skel__ik_settings_set(ik, &motion->settings);
        skel_ik_solve(ik, motion->q_work, NULL, NULL);
    }
    copy_pose(motion, x, ik->iterate.x);
    return ik->result.residual <= ik->options.tolerance;
}

/* ---- what comes of it ---- */

static void give_up(skel_ik_motion *motion, int is_out_of_reach) {
    skel__repair *r = &motion->repair;
    if (is_out_of_reach) {
        r->last_lost = r->lost;
        r->run_first = r->lost + 1;
    }
    r->gap = r->gap < IK_PROBE_SAMPLES_MAX / 2 ? 2 * r->gap + 1 : IK_PROBE_SAMPLES_MAX;
    r->next_probe = r->lost + r->gap;
    motion->phase = SKEL__IK_PHASE_TRACK;
    motion->done = r->lost + 1;
    if (motion->done == motion->sample_count) skel__motion_finish(motion);
}

static void use_strand(skel_ik_motion *motion, const skel__strand *s, int32_t first) {
    copy_samples(motion, &motion->path, s, first, s->last);
    skel__repair_reset(motion);
    skel__motion_changed(motion, first, s->last);
}

/* The sample at which the step from the motion onto the strand is smallest. Samples that were lost
   before this one are left behind. */
static int32_t jump_sample(skel_ik_motion *motion, const skel__strand *s, double *size) {
    const skel__repair *r = &motion->repair;
    const int32_t low = s->first > r->floor + 1 ? s->first : r->floor + 1;
    int32_t high = r->run_first > low ? r->run_first : low;
    int32_t best = low;
    if (high > r->lost) high = r->lost;
    *size = INFINITY;
    for (int32_t k = low; k <= high; ++k) {
        const double step = step_onto(motion, s, k);
        if (!(step < *size)) continue;
        *size = step;
        best = k;
    }
    return best;
}

/* Of all strands those are kept that serve where no glide does. */
static void keep_fallbacks(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    for (int32_t k = 0; k < r->count; ++k) {
        skel__strand *s = &r->strand[k];
        double size = 0;
        if (s->first == 0) {
            s->off = skel__motion_step(motion->probe.ik, motion->x_first, at(motion, s, 0), NULL);
            if (s->last > r->begin.last || (s->last == r->begin.last && s->off < r->begin.off))
                copy_strand(motion, &r->begin, s);
        }
        if (r->lost == 0 || s->last < r->jump.last) continue;
        jump_sample(motion, s, &size);
        s->off = size;
        if (s->last > r->jump.last || size < r->jump.off) copy_strand(motion, &r->jump, s);
    }
}

/* Hinges and slides in the middle of their limits, all else as tracking has it. */
static void find_middle(skel_ik_motion *motion) {
    const skel_ik *ik = motion->probe.ik;
    double *x = motion->repair.middle.x;
    copy_pose(motion, x, motion->track.x_now);
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->kind > SKEL__NODE_SLIDE || n->column < 0 || n->is_wide) continue;
        if (isfinite(n->low) && isfinite(n->high)) x[n->x_offset] = 0.5 * (n->low + n->high);
    }
    skel__mimic_apply(motion->model, x);
}

/* The last attempt lets strands take longer steps: through a singularity that is better than a
   jump into another branch. */
static void next_attempt(skel_ik_motion *motion) {
    static const double pull[IK_REPAIR_ATTEMPTS_MAX] = {1, 2, 1, 0.5, 1, 1, 2, 0.5, 1};
    static const int32_t aside[IK_REPAIR_ATTEMPTS_MAX] = {0, 0, 0, 0, 16, -16, 40, -40, 0};
    skel__repair *r = &motion->repair;
    ++r->attempt;
    find_middle(motion);
    r->glide_step = IK_GLIDE_STEP_MAX * pull[r->attempt];
    r->seeded = r->lost + aside[r->attempt];
    if (r->attempt == 2) r->seeded = r->jump.first;
    if (r->attempt == 3) r->seeded = (r->floor + r->jump.first) / 2;
    if (r->attempt + 1 == r->attempts) {
        r->seeded = r->lost;
        r->slack = IK_REPAIR_STEP_RATIO;
    }
    if (r->seeded > r->last) r->seeded = r->last;
    if (r->seeded < r->first) r->seeded = r->first;
    if (ahead(r, r->floor, r->seeded) < 0) r->seeded = r->floor;
    r->tries = r->count = r->first_new = 0;
    r->batch_end = IK_STRANDS_PER_BATCH;
    motion->phase = SKEL__IK_PHASE_SEARCH;
}

/* ---- a strand that begins too late ---- */

/* The next sample before the strand, or 0 where it is as long as can be. */
static int extend_reversed(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    if (r->reverse.first <= r->forward_floor || r->reversals++ >= IK_REPAIR_REVERSALS_MAX) return 0;
    r->lost = r->reverse.first - 1;
    r->seeded = r->lost;
    r->floor = r->reverse.last;
    r->tries = r->count = r->first_new = 0;
    r->attempt = 0;
    r->glide_step = IK_GLIDE_STEP_MAX;
    r->batch_end = IK_STRANDS_PER_BATCH;
    r->best.first = r->lost + 1;
    motion->phase = SKEL__IK_PHASE_SEARCH;
    return 1;
}

/* No glide leads onto the longest strand: it is lost, too, seen backwards in time. There it is the
   motion that is repaired, until it begins where the other one does. */
static int reverse_search(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    if (r->reversals > 0 || r->jump.last < r->lost || r->jump.first <= r->floor) return 0;
    copy_strand(motion, &r->reverse, &r->jump);
    r->forward_lost = r->lost;
    r->forward_floor = r->floor;
    r->direction = -1;
    r->motion = &r->reverse;
    return extend_reversed(motion);
}

/* Forwards again, with that strand as the only one. */
static void resume_forward(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    r->direction = 1;
    r->motion = &motion->path;
    r->lost = r->forward_lost;
    r->seeded = r->forward_lost;
    r->floor = r->forward_floor;
    r->attempt = r->attempts - 2;
    r->tries = r->max_tries;
    r->glide_step = IK_GLIDE_STEP_MAX;
    r->first_new = 0;
    r->count = 1;
    r->best.last = r->lost - 1;
    copy_strand(motion, &r->strand[0], &r->reverse);
    motion->phase = SKEL__IK_PHASE_ORDER;
}

static void jump(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    double size;
    const int32_t k = jump_sample(motion, &r->jump, &size);
    motion->last_jump = k;
    use_strand(motion, &r->jump, k);
}

/* The motion begins on another strand; 1 where there is one and the first sample may move. The
   caller's bound of a step holds from the seed on. */
static int start_on_strand(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    const int may_begin = r->floor == 0 && r->last_lost < 0 && motion->last_jump == 0;
    if (!may_begin || motion->has_bounds || (motion->start_held && r->lost > 0)) return 0;
    if (r->begin.last < r->lost) return 0;
    use_strand(motion, &r->begin, 0);
    return 1;
}

/* Nothing glides on: what else there is. */
static void decide_without_glide(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;

    /* The caller's bound of a step allows no jump. After samples that cannot be reached, tracking
       comes back without one if it has some time. */
    const int waits = r->last_lost >= 0 && r->run_first == r->last_lost + 1 &&
                      r->lost - r->run_first < IK_RECOVERY_SAMPLES;
    if (motion->has_bounds || waits || r->lost == 0)
        give_up(motion, 0);
    else
        jump(motion);
}

/* Backwards, the strand grows by what was found, again and again. */
static void grow(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    const int got = r->best.first <= r->lost;
    if (got) {
        copy_samples(motion, &r->reverse, &r->best, r->best.first, r->best.last);
        r->reverse.first = r->best.first;
    }
    if (!got || !extend_reversed(motion)) resume_forward(motion);
}

static void decide(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    const int32_t goal = r->direction > 0 ? r->last : r->forward_floor;
    const int32_t end = end_of(r, &r->best);
    const int got = ahead(r, r->lost, end) >= 0;
    const int late = share_of_work(motion) > 2;
    const int more = r->tries < r->max_tries && r->count < r->slots && !late;
    if (late) r->attempts = r->attempt + 1;
    r->first_new = r->count;
    if (r->count == 0 && r->attempt == 0 && r->direction > 0) {
        give_up(motion, 1);
        return;
    }
    if (more && !(got && ahead(r, goal, end) >= 0)) {
        r->batch_end = r->tries + IK_STRANDS_PER_BATCH;
        motion->phase = SKEL__IK_PHASE_SEARCH;
        return;
    }
    if (r->direction < 0 && (got || r->attempt > 0)) {
        grow(motion);
        return;
    }
    if (got) {
        use_strand(motion, &r->best, r->best.first);
        return;
    }
    if (r->direction > 0) keep_fallbacks(motion);
    if (r->attempt + 2 < r->attempts) {
        next_attempt(motion);
        return;
    }
    if (r->attempt + 2 == r->attempts && reverse_search(motion)) return;
    if (start_on_strand(motion)) return;
    if (r->attempt + 1 < r->attempts)
        next_attempt(motion);
    else
        decide_without_glide(motion);
}

/* ---- poses, and strands from them ---- */

static void search(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    skel_ik *ik = motion->probe.ik;
    double *x = motion->probe.x_now;
    const int is_first = r->tries == 0 && r->attempt == 0;
    const int is_there = is_first && r->direction > 0 && motion->reached[r->lost];

    /* The first is the pose that tracking has: as it is, if all that is wrong is the jump. */
    const double *from = r->direction > 0 ? motion->track.x_now : neighbour_pose(motion);
    if (is_first) {
        copy_pose(motion, x, from);
    } else {
        for (int32_t c = 0; c < ik->size.columns; ++c) motion->seed[c] = next_random(r);
        skel__ik_seed_pose(ik, motion->seed, from, x);
    }
    if (is_there || solve_pose(motion, x)) {
        if (!is_there) unwind(ik, neighbour_pose(motion), x);
        add_strand(motion, x);
    }

    /* While nothing is found, all seeds are used before the sample counts as out of reach. */
    ++r->tries;
    if (r->tries < r->batch_end && r->count < r->slots) return;
    if (r->count == 0 && r->batch_end < r->max_tries && r->work < IK_PROBE_WORK_MAX) {
        ++r->batch_end;
        return;
    }
    r->current = r->first_new;
    r->is_walking = 0;
    motion->phase = r->count > r->first_new ? SKEL__IK_PHASE_EXTEND_FORWARD : SKEL__IK_PHASE_DECIDE;
}

/* Every other attempt draws its strands to the middle of the limits, where they may last longer. */
static const skel__strand *middle(const skel_ik_motion *motion) {
    return motion->repair.attempt % 2 ? &motion->repair.middle : NULL;
}

static void extend_forward(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    skel__strand *s = &r->strand[r->current];
    if (s->last < r->last && lengthen(motion, s, 1, middle(motion))) return;
    r->is_walking = 0;
    motion->phase = SKEL__IK_PHASE_EXTEND_BACKWARD;
}

static void extend_backward(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    skel__strand *s = &r->strand[r->current];
    if (s->first > r->first && lengthen(motion, s, -1, middle(motion))) return;
    r->is_walking = 0;
    motion->phase = SKEL__IK_PHASE_EXTEND_FORWARD;

    /* Only strands that hold at the lost sample help. */
    if (s->first <= r->lost && s->last >= r->lost) {
        s->off = skel__motion_step(motion->probe.ik, neighbour_pose(motion), at(motion, s, r->lost),
                                   NULL);
        ++r->current;
    } else {
        const skel__strand useless = *s;
        *s = r->strand[--r->count];
        r->strand[r->count] = useless;
    }
    if (r->current == r->count) motion->phase = SKEL__IK_PHASE_ORDER;
}

/* ---- glides ---- */

static int is_longer(const skel__repair *r, const skel__strand *a, const skel__strand *b) {
    const int32_t more = ahead(r, end_of(r, b), end_of(r, a));
    return more > 0 || (more == 0 && a->off < b->off);
}

static void order(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    for (int32_t k = r->first_new; k < r->count; ++k) {
        int32_t i = k;
        for (; i > r->first_new && is_longer(r, &r->strand[k], &r->strand[r->order[i - 1]]); --i)
            r->order[i] = r->order[i - 1];
        r->order[i] = k;
    }
    r->current = r->first_new;
    r->glide_samples = IK_GLIDE_SAMPLES_MIN;
    r->is_walking = 0;
    motion->phase = SKEL__IK_PHASE_GLIDE;
    if (ahead(r, r->floor, r->lost) <= 0 || r->first_new == r->count)
        motion->phase = SKEL__IK_PHASE_DECIDE;
}

/* The next strand that gets farther than the best glide so far. */
static void next_strand(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    r->is_walking = 0;
    r->glide_samples = IK_GLIDE_SAMPLES_MIN;
    motion->phase = SKEL__IK_PHASE_GLIDE;
    if (++r->current == r->count ||
        ahead(r, end_of(r, &r->best), end_of(r, &r->strand[r->order[r->current]])) <= 0)
        motion->phase = SKEL__IK_PHASE_DECIDE;
}

static void keep_glide(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    const int32_t end = end_of(r, &r->glide);
    if (ahead(r, r->lost, end) >= 0 && ahead(r, end_of(r, &r->best), end) > 0)
        copy_strand(motion, &r->best, &r->glide);
}

static void glide(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    skel__strand *s = &r->strand[r->order[r->current]];
    int32_t begin = r->lost - r->direction * r->glide_samples;
    if (ahead(r, r->floor, begin) < 0) begin = r->floor;
    if (!r->is_walking) {
        r->glide.origin = r->first;
        r->glide.first = r->glide.last = begin;
        copy_pose(motion, at(motion, &r->glide, begin), at(motion, r->motion, begin));
    }
    if (lengthen(motion, &r->glide, r->direction, s)) {
        if (ahead(r, end_of(r, &r->glide), end_of(r, s)) > 0) return;
        keep_glide(motion);
        motion->phase = SKEL__IK_PHASE_DECIDE; /* all others are shorter */
        return;
    }
    keep_glide(motion);
    r->is_walking = 0;
    r->glide_samples *= 2;
    if (begin == r->floor) motion->phase = SKEL__IK_PHASE_RETURN;
}

/* The motion as far as it is good, to be come near to from the other side. */
static skel__strand good_motion(const skel__repair *r) {
    skel__strand s = *r->motion;
    s.first = r->direction > 0 ? r->floor : r->lost + 1;
    s.last = r->direction > 0 ? r->lost - 1 : r->floor;
    return s;
}

static void return_back(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    skel__strand *s = &r->strand[r->order[r->current]];
    const skel__strand good = good_motion(r);
    const int32_t end = end_of(r, s);
    int32_t from = r->lost + r->direction * IK_RETURN_SAMPLES;
    if (ahead(r, end, from) > 0) from = end;
    if (motion->has_bounds || ahead(r, end_of(r, &r->best), end) <= 0) {
        next_strand(motion);
        return;
    }
    if (!r->is_walking) {
        r->glide.first = r->glide.last = from;
        copy_pose(motion, at(motion, &r->glide, from), at(motion, s, from));
    }
    const int32_t near = r->direction > 0 ? r->glide.first : r->glide.last;
    if (ahead(r, r->floor, near) <= 1 || !lengthen(motion, &r->glide, -r->direction, &good)) {
        next_strand(motion);
        return;
    }
    const int32_t k = near - r->direction;
    if (ahead(r, r->lost, k) > 0 || step_onto(motion, &r->glide, k) > r->glide_step) return;
    copy_samples(motion, &r->glide, s, r->direction > 0 ? from + 1 : end,
                 r->direction > 0 ? end : from - 1);
    set_end(r, &r->glide, end);
    keep_glide(motion);
    motion->phase = SKEL__IK_PHASE_DECIDE;
}

/* ---- doors ---- */

/* Without freedom to spare a sample has a handful of poses: one attempt finds them all. */
static int has_freedom(const skel_ik_motion *motion) {
    return motion->probe.ik->size.columns > motion->probe.ik->size.rows;
}

void skel__repair_reset(skel_ik_motion *motion) {
    motion->repair.gap = 0;
    motion->repair.next_probe = 0;
}

int skel__repair_begin(skel_ik_motion *motion, int32_t lost) {
    skel__repair *r = &motion->repair;
    motion->has_repairs = 1;
    if (lost < r->next_probe || share_of_work(motion) > 2) return 0;

    if (r->gap == 0) r->run_first = lost;
    r->lost = lost;
    r->seeded = lost;
    r->first = lost - r->width / 2;
    if (r->first + r->width > motion->sample_count) r->first = motion->sample_count - r->width;
    if (r->first < 0) r->first = 0;
    r->last = r->first + r->width - 1;
    r->floor = motion->last_jump > r->last_lost ? motion->last_jump : r->last_lost;
    if (r->floor < r->first) r->floor = r->first;

    /* Where samples before could not be reached, this one probably cannot either. */
    const int is_short = r->gap > 0 || share_of_work(motion) > 1;
    r->max_tries = is_short ? IK_STRANDS_PER_BATCH : IK_STRANDS_MAX;
    r->attempts = IK_REPAIR_ATTEMPTS_MAX;
    if (!has_freedom(motion)) r->attempts = IK_REPAIR_ATTEMPTS_NO_FREEDOM;
    if (is_short) r->attempts = 1;
    r->slack = is_short ? IK_REPAIR_STEP_RATIO : 1;
    r->attempt = r->tries = r->count = r->first_new = 0;
    r->batch_end = IK_STRANDS_PER_BATCH;
    r->glide_step = IK_GLIDE_STEP_MAX;
    r->work = 0;
    r->best.last = lost - 1;
    r->jump.last = lost - 1;
    r->begin.last = lost - 1;
    r->is_walking = 0;
    r->reversals = 0;
    r->direction = 1;
    r->motion = &motion->path;
    motion->phase = SKEL__IK_PHASE_SEARCH;
    return 1;
}

/* Whether less is wrong: samples that are lost, then jumps, then their size and a moved start. */
static double penalty(skel_ik_motion *motion) {
    double bad = skel__motion_list_jumps(motion) + 1e3 * motion->jump_count;
    for (int32_t k = 0; k < motion->sample_count; ++k) bad += motion->reached[k] ? 0 : 1e6;
    return bad + skel__motion_step(motion->probe.ik, motion->x_first, motion->path.x, NULL);
}

static void keep_motion(skel_ik_motion *motion, double *x, int32_t *reached, const double *from_x,
                        const int32_t *from_reached) {
    const size_t n = (size_t)motion->sample_count, nx = (size_t)motion->track.ik->size.coordinates;
    memcpy(x, from_x, n * nx * sizeof *x);
    memcpy(reached, from_reached, n * sizeof *reached);
}

int skel__repair_again(skel_ik_motion *motion) {
    skel__kept *kept = &motion->kept;
    const double bad = penalty(motion);
    if ((motion->jump_count == 0 && kept->passes == 0) || !has_freedom(motion)) return 0;

    /* Other glides early on may lead past what this one could not pass. */
    if (kept->passes++ == 0 || bad < kept->penalty) {
        keep_motion(motion, kept->x, kept->reached, motion->path.x, motion->reached);
        kept->penalty = bad;
    }
    const int is_over = motion->jump_count == 0 || kept->passes == IK_REPAIR_PASSES_MAX ||
                        share_of_work(motion) > 1;
    if (is_over) {
        keep_motion(motion, motion->path.x, motion->reached, kept->x, kept->reached);
        motion->changed = 0;
        return 0;
    }
    skel__ik_forget(motion->track.ik);
    skel__repair_reset(motion);
    motion->repair.last_lost = -1;
    motion->last_jump = 0;
    motion->done = 0;
    motion->phase = SKEL__IK_PHASE_TRACK;
    return 1;
}

void skel__repair_work(skel_ik_motion *motion) {
    switch (motion->phase) {
    case SKEL__IK_PHASE_SEARCH: search(motion); break;
    case SKEL__IK_PHASE_EXTEND_FORWARD: extend_forward(motion); break;
    case SKEL__IK_PHASE_EXTEND_BACKWARD: extend_backward(motion); break;
    case SKEL__IK_PHASE_ORDER: order(motion); break;
    case SKEL__IK_PHASE_GLIDE: glide(motion); break;
    case SKEL__IK_PHASE_DECIDE: decide(motion); break;
    default: return_back(motion);
    }
}
