/* SPDX-License-Identifier: BSD-3-Clause */
/* Other solutions around a sample that tracking has lost although its targets can be reached.

   A redundant chain drifts into a limit, or into a branch of solutions that ends. The motion that
   would avoid this differs from the tracked one many samples earlier. A repair therefore does this:
     search  finds poses of the lost sample from random seeds;
     extend  tracks from each pose forwards and backwards in time, which gives strands;
     glide   starts from the motion some samples before the lost one, with a strand as its posture:
             the targets stay met while the motion approaches the strand; longest strand first;
     return  does the same backwards in time, from a strand to the motion.
   If no glide succeeds, the motion starts on a strand that covers the first sample, if this sample
   may change. Otherwise it jumps to the strand that lasts longest, at the sample where the jump is
   smallest. If no seed reaches the targets, the sample stays as tracking has left it. */
#include "drive/ik_motion.h"

#include <string.h>

#define IK_STRANDS_MAX 48                       /* of one attempt */
#define IK_STRANDS_MIN 8                        /* even if they need more than the bytes below */
#define IK_STRANDS_BYTES_MAX ((size_t)64 << 20) /* of all strands */
#define IK_STRAND_SAMPLES_MAX 1024              /* of one strand */
#define IK_STRANDS_PER_BATCH 12                 /* seeds that are tried before glides */
#define IK_STRAND_SAME_POSE 0.1                 /* [rad], [length]: nearer poses are the same */
#define IK_REPAIR_ATTEMPTS_MAX 9                /* with other seeds, before the motion jumps */
#define IK_REPAIR_ATTEMPTS_NO_FREEDOM 2         /* likewise for chains that are not redundant */
#define IK_REPAIR_STEP_RATIO 3.0                /* of the longest step, in the last attempt */
#define IK_REPAIR_SEED_RESTARTS 20              /* of the search from one seed */
#define IK_REPAIR_PASSES_MAX 4                  /* over the whole motion, as long as it jumps */
#define IK_REPAIR_REVERSALS_MAX 6               /* extensions of a strand backwards in time */
#define IK_REPAIR_WORK_PER_SAMPLE 4e5           /* above it searches are short; above twice, off */
#define IK_REPAIR_WORK_SAMPLES_MIN 100          /* shorter motions may take as much work */
#define IK_REPAIR_PASS_LOST_PENALTY 1e6         /* of a lost sample */
#define IK_REPAIR_PASS_JUMP_PENALTY 1e3         /* of a jump */
#define IK_GLIDE_STEP_MAX 0.05                  /* [rad], [length] per sample to a strand */
#define IK_GLIDE_SAMPLES_MIN 8                  /* before the lost sample; then doubled */
#define IK_RETURN_SAMPLES 16                    /* after the lost sample */
#define IK_PROBE_SAMPLES_MAX 32                 /* between probes of unreachable targets */
#define IK_PROBE_WORK_MAX 2e7                   /* until a sample counts as unreachable */
#define IK_RECOVERY_SAMPLES 24                  /* in which tracking may recover by itself */

/* ---- memory ---- */

void skel__repair_layout(skel_ik_motion *motion, skel__carver *c) {
    skel__repair *r = &motion->repair;
    const size_t coordinates = (size_t)motion->track.ik->size.coordinates;
    const size_t samples = (size_t)motion->sample_count;
    const size_t width = samples < IK_STRAND_SAMPLES_MAX ? samples : IK_STRAND_SAMPLES_MAX;

    /* As many strands as fit into the bytes. */
    const size_t bytes = width * (coordinates + 1) * sizeof(double);
    size_t slots = IK_STRANDS_BYTES_MAX / bytes;
    if (slots > IK_STRANDS_MAX) slots = IK_STRANDS_MAX;
    if (slots < IK_STRANDS_MIN) slots = IK_STRANDS_MIN;
    r->slots = (int32_t)slots;
    r->width = (int32_t)width;
    r->strand = skel__carve(c, slots, sizeof *r->strand);
    r->order = skel__carve(c, slots, sizeof *r->order);

    r->middle.x = skel__carve(c, coordinates, sizeof(double));
    skel__strand *others[] = {&r->glide, &r->best, &r->jump, &r->begin, &r->reverse};
    for (size_t k = 0; k < sizeof others / sizeof others[0]; ++k)
        others[k]->x = skel__carve(c, width * coordinates, sizeof(double));
    double *all = skel__carve(c, slots * width * coordinates, sizeof(double));
    for (size_t k = 0; all && k < slots; ++k)
        r->strand[k] = (skel__strand){.x = all + k * width * coordinates};
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
    const size_t coordinates = (size_t)motion->track.ik->size.coordinates;
    memcpy(at(motion, to, first), at(motion, from, first),
           (size_t)(last - first + 1) * coordinates * sizeof(double));
}

/* Copies a strand into the memory of another one. */
static void copy_strand(const skel_ik_motion *motion, skel__strand *to, const skel__strand *from) {
    double *x = to->x;
    *to = *from;
    to->x = x;
    copy_samples(motion, to, from, from->first, from->last);
}

/* ---- one step of a strand ---- */

/* Work is counted in operations instead of time, so that every run gives the same result. */
static void count_work(skel_ik_motion *motion) {
    const skel_ik *ik = motion->probe.ik;
    const double work =
        (1.0 + ik->result.iterations) * (ik->size.rows + ik->size.columns) * ik->size.columns;
    motion->repair.work += work;
    motion->repair.spent += work;
}

/* Work of all repairs, relative to the amount above which searches are short. */
static double share_of_work(const skel_ik_motion *motion) {
    const double samples = fmax(motion->sample_count, IK_REPAIR_WORK_SAMPLES_MIN);
    return motion->repair.spent / (IK_REPAIR_WORK_PER_SAMPLE * samples);
}

static int has_animation(const skel_ik_motion *motion) {
    return motion->base || motion->base_poses;
}

void skel__walk_begin(skel_ik_motion *motion, const skel__walk *w, const double *x) {
    /* The caller's posture is not used: it would draw all strands to the same end. */
    skel__ik_settings settings = motion->settings;
    settings.mode = SKEL_IK_TRACK;
    settings.has_posture = w->guide != NULL;
    if (w->guide && !motion->has_bounds) settings.max_node_step = w->bound;

    skel__ik_settings_set(motion->probe.ik, &settings);
    skel__motion_set_sample(motion, &motion->probe, w->at);
    skel__ik_resume(motion->probe.ik, x);
}

/* Pose of a strand at sample k, or at the end that is nearest to it. */
static const double *guide_at(const skel_ik_motion *motion, const skel__strand *guide, int32_t k) {
    if (k < guide->first) k = guide->first;
    if (k > guide->last) k = guide->last;
    return at(motion, guide, k);
}

int skel__walk_step(skel_ik_motion *motion, const skel__walk *w, double *x) {
    skel__tracker *t = &motion->probe;
    skel_ik *ik = t->ik;
    const size_t nq = (size_t)motion->model->nq, coordinates = (size_t)ik->size.coordinates;
    const int32_t to = w->at + w->direction;
    const int32_t edge = w->direction > 0 ? to : w->at; /* index of the step in motion->limit */
    copy_pose(motion, t->x_base_before, t->x_base);
    skel__motion_set_sample(motion, t, to);

    /* The length of the step is measured from the pose that moves as the animation does. */
    const double *from = motion->has_bounds ? t->x_base : t->x_base_before, *on = t->x_base;
    copy_pose(motion, motion->x_carried, x);
    if (has_animation(motion)) skel__motion_carry(ik, from, on, motion->x_carried);

    /* A glide moves as its strand does, which already follows the targets. */
    int is_carried = has_animation(motion);
    if (w->guide) {
        const double *now = guide_at(motion, w->guide, to);
        const double *before = guide_at(motion, w->guide, w->at);
        skel__ik_set_posture(ik, now);
        if (now != before && !motion->has_bounds) {
            from = before;
            on = now;
            is_carried = 1;
        }
    }
    copy_pose(motion, t->x_now, x);
    if (is_carried) {
        skel__motion_carry(ik, from, on, t->x_now);
        skel__motion_carry_history(ik, from, on);
    }

    memcpy(motion->q_work, t->x_now, nq * sizeof(double));
    memcpy(ik->iterate.x + nq, t->x_now + nq, (coordinates - nq) * sizeof(double));
    skel_ik_solve(ik, motion->q_work, NULL, NULL);
    count_work(motion);

    /* Without a moving guide, this step shows how far the joints must move with the targets. */
    if (!w->guide || w->guide->first == w->guide->last)
        motion->limit[edge] = fmax(motion->limit[edge], skel__motion_limit(motion, ik));
    const double step = skel__motion_step(ik, motion->x_carried, ik->iterate.x, NULL);
    copy_pose(motion, x, ik->iterate.x);
    return ik->result.residual <= ik->options.tolerance && !(step > w->slack * motion->limit[edge]);
}

/* Extends a strand by one sample. Returns 0 if it ends here. */
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

/* ---- direction of the search ---- */

/* A search runs forwards in time (direction 1) or, to extend a strand, backwards (-1). "Before",
   "ahead" and "end" refer to its direction. */
static int32_t end_of(const skel__repair *r, const skel__strand *s) {
    return r->direction > 0 ? s->last : s->first;
}

/* Number of samples by which b is ahead of a. */
static int32_t ahead(const skel__repair *r, int32_t a, int32_t b) {
    return r->direction * (b - a);
}

static void set_end(const skel__repair *r, skel__strand *s, int32_t end) {
    if (r->direction > 0)
        s->last = end;
    else
        s->first = end;
}

/* Step from the motion at the sample before k to a strand at sample k [rad], [length]. */
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

/* ---- search: poses of the lost sample ---- */

/* Next random number in 0..1 (splitmix64). */
static double next_random(skel__repair *r) {
    r->random += 0x9e3779b97f4a7c15u;
    uint64_t z = r->random;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Adds whole turns to the hinges of x, so that they are as near to `near` as the limits allow. */
static void unwind(const skel_ik *ik, const double *near, double *x) {
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (!skel__ik_is_periodic(n) || n->column < 0 || n->source >= 0 || n->has_mimics) continue;

        double *q = x + n->x_offset;
        double turns = nearbyint((near[n->x_offset] - *q) / SKEL__TURN);
        while (turns > 0 && *q + turns * SKEL__TURN > n->high) --turns;
        while (turns < 0 && *q + turns * SKEL__TURN < n->low) ++turns;
        *q += turns * SKEL__TURN;
    }
}

/* The motion at the seeded sample, or at the last sample before the lost one. */
static const double *neighbour_pose(const skel_ik_motion *motion) {
    const skel__repair *r = &motion->repair;
    const int32_t last = r->lost - r->direction;
    if (r->lost == 0 && r->direction > 0) return motion->track.x_now;
    return at(motion, r->motion, ahead(r, r->seeded, last) > 0 ? r->seeded : last);
}

/* Begins a strand at x, unless another strand passes there. */
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
    s->first = r->seeded;
    s->last = r->seeded;
    copy_pose(motion, at(motion, s, r->seeded), x);
}

/* Solves for a pose of the seeded sample from x. Returns 1 if the targets are reached. */
static int solve_pose(skel_ik_motion *motion, double *x) {
    skel_ik *ik = motion->probe.ik;
    const size_t nq = (size_t)motion->model->nq, coordinates = (size_t)ik->size.coordinates;
    const skel__ik_settings settings = {
        .mode = SKEL_IK_POSE, .max_restarts = IK_REPAIR_SEED_RESTARTS, .merges_levels = 1};

    /* Nodes that no goal moves are set to the animation. */
    skel__motion_set_sample(motion, &motion->probe, motion->repair.seeded);
    skel__motion_carry(ik, motion->probe.x_base, motion->probe.x_base, x);

    skel__ik_settings_set(ik, &settings);
    memcpy(motion->q_work, x, nq * sizeof(double));
    memcpy(ik->iterate.x + nq, x + nq, (coordinates - nq) * sizeof(double));
    skel_ik_solve(ik, motion->q_work, NULL, NULL);
    count_work(motion);
    if (ik->result.residual > ik->options.tolerance) return 0;

    /* Every other pose is moved towards the caller's posture, within its branch. */
    if (motion->settings.has_posture && motion->repair.tries % 2 == 0) {
        skel__ik_settings_set(ik, &motion->settings);
        skel_ik_solve(ik, motion->q_work, NULL, NULL);
    }
    copy_pose(motion, x, ik->iterate.x);
    return ik->result.residual <= ik->options.tolerance;
}

/* ---- outcomes ---- */

/* Continues tracking after the lost sample. The next probe of lost samples is farther away every
   time. */
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

/* Puts a strand into the motion, from sample `first` to its end. */
static void use_strand(skel_ik_motion *motion, const skel__strand *s, int32_t first) {
    copy_samples(motion, &motion->path, s, first, s->last);
    skel__repair_reset(motion);
    skel__motion_changed(motion, first, s->last);
}

/* Sample at which the step from the motion to the strand is smallest, and this step. The adjacent
   samples that were lost before are replaced by the strand. */
static int32_t jump_sample(skel_ik_motion *motion, const skel__strand *s, double *size) {
    const skel__repair *r = &motion->repair;
    const int32_t low = s->first > r->floor + 1 ? s->first : r->floor + 1;
    int32_t high = r->run_first > low ? r->run_first : low;
    if (high > r->lost) high = r->lost;

    int32_t best = low;
    *size = INFINITY;
    for (int32_t k = low; k <= high; ++k) {
        const double step = step_onto(motion, s, k);
        if (!(step < *size)) continue;
        *size = step;
        best = k;
    }
    return best;
}

/* Keeps the best strand to start on and the best strand to jump to, in case no glide succeeds. */
static void keep_fallbacks(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    for (int32_t k = 0; k < r->count; ++k) {
        skel__strand *s = &r->strand[k];
        if (s->first == 0) {
            s->off = skel__motion_step(motion->probe.ik, motion->x_first, at(motion, s, 0), NULL);
            if (s->last > r->begin.last || (s->last == r->begin.last && s->off < r->begin.off))
                copy_strand(motion, &r->begin, s);
        }

        if (r->lost == 0 || s->last < r->jump.last) continue;
        double size = 0;
        jump_sample(motion, s, &size);
        s->off = size;
        if (s->last > r->jump.last || size < r->jump.off) copy_strand(motion, &r->jump, s);
    }
}

/* middle = axes in the middle of their limits, all others as tracked. */
static void find_middle(skel_ik_motion *motion) {
    const skel_ik *ik = motion->probe.ik;
    double *x = motion->repair.middle.x;
    copy_pose(motion, x, motion->track.x_now);
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->kind != SKEL__NODE_AXIS || n->column < 0 || n->is_wide) continue;
        if (isfinite(n->low) && isfinite(n->high)) x[n->x_offset] = 0.5 * (n->low + n->high);
    }
    skel__mimic_apply(motion->model, x);
}

/* Starts a search from new seeds. */
static void begin_search(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    r->tries = 0;
    r->count = 0;
    r->first_new = 0;
    r->batch_end = IK_STRANDS_PER_BATCH;
    motion->phase = SKEL__IK_PHASE_SEARCH;
}

/* Every attempt has another length of the glides' steps and another sample for which poses are
   searched. The last attempt allows longer steps: through a singular pose they are better than a
   jump into another branch. */
static void next_attempt(skel_ik_motion *motion) {
    static const double step_factor[IK_REPAIR_ATTEMPTS_MAX] = {1, 2, 1, 0.5, 1, 1, 2, 0.5, 1};
    static const int32_t aside[IK_REPAIR_ATTEMPTS_MAX] = {0, 0, 0, 0, 16, -16, 40, -40, 0};
    skel__repair *r = &motion->repair;
    ++r->attempt;
    find_middle(motion);
    r->glide_step = IK_GLIDE_STEP_MAX * step_factor[r->attempt];

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

    begin_search(motion);
}

/* ---- search backwards in time ---- */

/* Searches for the sample before the strand. Returns 0 if the strand is as long as it can be. */
static int extend_reversed(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    if (r->reverse.first <= r->forward_floor || r->reversals++ >= IK_REPAIR_REVERSALS_MAX) return 0;

    r->lost = r->reverse.first - 1;
    r->seeded = r->lost;
    r->floor = r->reverse.last;
    r->attempt = 0;
    r->glide_step = IK_GLIDE_STEP_MAX;
    r->best.first = r->lost + 1;
    begin_search(motion);
    return 1;
}

/* If no glide leads to the longest strand, the strand is repaired backwards in time as if it were
   the motion, until it begins where the motion begins. Returns 1 if such a search starts. */
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

/* Returns to the forward search, with the extended strand as the only one. */
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

/* The reversed search has ended: appends its glide to the strand and continues, or returns. */
static void grow_reversed(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    const int is_found = r->best.first <= r->lost;
    if (is_found) {
        copy_samples(motion, &r->reverse, &r->best, r->best.first, r->best.last);
        r->reverse.first = r->best.first;
    }
    if (!is_found || !extend_reversed(motion)) resume_forward(motion);
}

/* ---- decisions ---- */

static void jump(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    double size;
    const int32_t k = jump_sample(motion, &r->jump, &size);
    motion->last_jump = k;
    use_strand(motion, &r->jump, k);
}

/* Starts the motion on another strand. Returns 1 if there is one and the first sample may change.
   With bounds of the caller it may not, because they hold from the seed on. */
static int start_on_strand(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    const int may_begin = r->floor == 0 && r->last_lost < 0 && motion->last_jump == 0;
    if (!may_begin || motion->has_bounds || (motion->start_held && r->lost > 0)) return 0;
    if (r->begin.last < r->lost) return 0;
    use_strand(motion, &r->begin, 0);
    return 1;
}

/* No glide and no start succeeds. The caller's bounds allow no jump. Shortly after unreachable
   samples tracking may still recover without one. */
static void decide_without_glide(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    const int may_recover = r->last_lost >= 0 && r->run_first == r->last_lost + 1 &&
                            r->lost - r->run_first < IK_RECOVERY_SAMPLES;
    if (motion->has_bounds || may_recover || r->lost == 0)
        give_up(motion, 0);
    else
        jump(motion);
}

/* All attempts of the forward search but the last have failed to glide. */
static void decide_forward(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
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

static void decide(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    const int32_t goal = r->direction > 0 ? r->last : r->forward_floor;
    const int32_t end = end_of(r, &r->best);
    const int is_found = ahead(r, r->lost, end) >= 0;
    const int is_late = share_of_work(motion) > 2;
    const int has_more = r->tries < r->max_tries && r->count < r->slots && !is_late;
    if (is_late) r->attempts = r->attempt + 1;
    r->first_new = r->count;

    /* No seed reaches the targets. */
    if (r->count == 0 && r->attempt == 0 && r->direction > 0) {
        give_up(motion, 1);
        return;
    }

    /* Other seeds may give a glide that gets farther. */
    if (has_more && !(is_found && ahead(r, goal, end) >= 0)) {
        r->batch_end = r->tries + IK_STRANDS_PER_BATCH;
        motion->phase = SKEL__IK_PHASE_SEARCH;
        return;
    }

    if (r->direction < 0 && (is_found || r->attempt > 0)) {
        grow_reversed(motion);
        return;
    }
    if (is_found) {
        use_strand(motion, &r->best, r->best.first);
        return;
    }
    if (r->direction > 0) keep_fallbacks(motion);
    decide_forward(motion);
}

/* ---- search and extend ---- */

static void search(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    skel_ik *ik = motion->probe.ik;
    double *x = motion->probe.x_now;
    const int is_first = r->tries == 0 && r->attempt == 0;

    /* The first pose is the tracked one. If only its step is too long, it needs no solve. */
    const int is_solved = is_first && r->direction > 0 && motion->reached[r->lost];
    const double *from = r->direction > 0 ? motion->track.x_now : neighbour_pose(motion);
    if (is_first) {
        copy_pose(motion, x, from);
    } else {
        for (int32_t c = 0; c < ik->size.columns; ++c) motion->seed[c] = next_random(r);
        skel__ik_seed_pose(ik, motion->seed, from, x);
    }
    if (is_solved || solve_pose(motion, x)) {
        if (!is_solved) unwind(ik, neighbour_pose(motion), x);
        add_strand(motion, x);
    }

    /* Until a pose is found, all seeds are tried before the sample counts as unreachable. */
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

    /* Only strands that cover the lost sample are kept. The memory of others is used again. */
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

/* Sorts the new strands by length, and by distance from the motion. */
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
    const int has_glides = ahead(r, r->floor, r->lost) > 0 && r->first_new != r->count;
    motion->phase = has_glides ? SKEL__IK_PHASE_GLIDE : SKEL__IK_PHASE_DECIDE;
}

/* Continues with the next strand, if it gets farther than the best glide so far. */
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

/* One sample of a glide from the motion towards a strand. */
static void glide(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    skel__strand *s = &r->strand[r->order[r->current]];
    int32_t begin = r->lost - r->direction * r->glide_samples;
    if (ahead(r, r->floor, begin) < 0) begin = r->floor;
    if (!r->is_walking) {
        r->glide.origin = r->first;
        r->glide.first = begin;
        r->glide.last = begin;
        copy_pose(motion, at(motion, &r->glide, begin), at(motion, r->motion, begin));
    }

    if (lengthen(motion, &r->glide, r->direction, s)) {
        if (ahead(r, end_of(r, &r->glide), end_of(r, s)) > 0) return;
        keep_glide(motion);
        motion->phase = SKEL__IK_PHASE_DECIDE; /* all other strands are shorter */
        return;
    }

    /* The glide has ended early: the next one starts twice as many samples before. */
    keep_glide(motion);
    r->is_walking = 0;
    r->glide_samples *= 2;
    if (begin == r->floor) motion->phase = SKEL__IK_PHASE_RETURN;
}

/* The part of the motion that is not lost. */
static skel__strand good_motion(const skel__repair *r) {
    skel__strand s = *r->motion;
    s.first = r->direction > 0 ? r->floor : r->lost + 1;
    s.last = r->direction > 0 ? r->lost - 1 : r->floor;
    return s;
}

/* One sample of a glide from a strand towards the motion, against the direction of the search. */
static void return_to_motion(skel_ik_motion *motion) {
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
        r->glide.first = from;
        r->glide.last = from;
        copy_pose(motion, at(motion, &r->glide, from), at(motion, s, from));
    }
    const int32_t near = r->direction > 0 ? r->glide.first : r->glide.last;
    if (ahead(r, r->floor, near) <= 1 || !lengthen(motion, &r->glide, -r->direction, &good)) {
        next_strand(motion);
        return;
    }

    /* It has arrived if the step from the motion is as short as that of a glide. */
    const int32_t k = near - r->direction;
    if (ahead(r, r->lost, k) > 0 || step_onto(motion, &r->glide, k) > r->glide_step) return;
    const int is_forward = r->direction > 0;
    copy_samples(motion, &r->glide, s, is_forward ? from + 1 : end, is_forward ? end : from - 1);
    set_end(r, &r->glide, end);
    keep_glide(motion);
    motion->phase = SKEL__IK_PHASE_DECIDE;
}

/* ---- interface ---- */

/* Whether the chain is redundant. Otherwise a sample has few poses, and one attempt finds all. */
static int has_freedom(const skel_ik_motion *motion) {
    return motion->probe.ik->size.columns > motion->probe.ik->size.rows;
}

void skel__repair_reset(skel_ik_motion *motion) {
    motion->repair.gap = 0;
    motion->repair.next_probe = 0;
}

/* The window of strands lies around the lost sample, within the motion. */
static void set_window(skel_ik_motion *motion) {
    skel__repair *r = &motion->repair;
    r->first = r->lost - r->width / 2;
    if (r->first + r->width > motion->sample_count) r->first = motion->sample_count - r->width;
    if (r->first < 0) r->first = 0;
    r->last = r->first + r->width - 1;

    r->floor = motion->last_jump > r->last_lost ? motion->last_jump : r->last_lost;
    if (r->floor < r->first) r->floor = r->first;
}

int skel__repair_begin(skel_ik_motion *motion, int32_t lost) {
    skel__repair *r = &motion->repair;
    motion->has_repairs = 1;
    if (lost < r->next_probe || share_of_work(motion) > 2) return 0;

    if (r->gap == 0) r->run_first = lost;
    r->lost = lost;
    r->seeded = lost;
    set_window(motion);

    /* If the samples before could not be reached, this one probably cannot either. */
    const int is_short = r->gap > 0 || share_of_work(motion) > 1;
    r->max_tries = is_short ? IK_STRANDS_PER_BATCH : IK_STRANDS_MAX;
    r->attempts = IK_REPAIR_ATTEMPTS_MAX;
    if (!has_freedom(motion)) r->attempts = IK_REPAIR_ATTEMPTS_NO_FREEDOM;
    if (is_short) r->attempts = 1;
    r->slack = is_short ? IK_REPAIR_STEP_RATIO : 1;

    r->attempt = 0;
    r->glide_step = IK_GLIDE_STEP_MAX;
    r->work = 0;
    r->best.last = lost - 1;
    r->jump.last = lost - 1;
    r->begin.last = lost - 1;
    r->is_walking = 0;
    r->reversals = 0;
    r->direction = 1;
    r->motion = &motion->path;
    begin_search(motion);
    return 1;
}

/* Compares passes: lost samples count most, then jumps, then the sizes of jumps and of the change
   of the first sample. */
static double penalty_of(skel_ik_motion *motion) {
    const double jumps = skel__motion_list_jumps(motion);
    double sum = jumps + IK_REPAIR_PASS_JUMP_PENALTY * motion->jump_count;
    for (int32_t k = 0; k < motion->sample_count; ++k)
        sum += motion->reached[k] ? 0 : IK_REPAIR_PASS_LOST_PENALTY;
    return sum + skel__motion_step(motion->probe.ik, motion->x_first, motion->path.x, NULL);
}

static void copy_motion(const skel_ik_motion *motion, double *x, int32_t *reached,
                        const double *from_x, const int32_t *from_reached) {
    const size_t samples = (size_t)motion->sample_count;
    const size_t coordinates = (size_t)motion->track.ik->size.coordinates;
    memcpy(x, from_x, samples * coordinates * sizeof *x);
    memcpy(reached, from_reached, samples * sizeof *reached);
}

int skel__repair_again(skel_ik_motion *motion) {
    skel__kept *kept = &motion->kept;
    const double penalty = penalty_of(motion);
    if ((motion->jump_count == 0 && kept->passes == 0) || !has_freedom(motion)) return 0;

    if (kept->passes++ == 0 || penalty < kept->penalty) {
        copy_motion(motion, kept->x, kept->reached, motion->path.x, motion->reached);
        kept->penalty = penalty;
    }
    const int is_over = motion->jump_count == 0 || kept->passes == IK_REPAIR_PASSES_MAX ||
                        share_of_work(motion) > 1;
    if (is_over) {
        copy_motion(motion, motion->path.x, motion->reached, kept->x, kept->reached);
        motion->changed = 0;
        return 0;
    }

    /* Other seeds may give early glides that avoid the jump. */
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
    default: return_to_motion(motion);
    }
}
