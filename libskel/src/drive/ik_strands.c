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

#define STRANDS_MAX 48   /* of one attempt */
#define STRANDS_BATCH 12 /* that are led before glides are tried */
#define ATTEMPTS_MAX 9   /* with other seeds, before the motion jumps */
#define ATTEMPTS_MIN 2   /* where the chain has no freedom to spare */
#define SLACK 3.0        /* of the longest step, in the last attempt */
#define SEED_RESTARTS 20 /* of the search from one seed */
#define SAME_POSE 0.1    /* [rad], [length]: nearer poses are one */
#define PULL 0.05        /* [rad], [length] per sample towards a strand */
#define GLIDE_SHORTEST 8 /* samples */
#define RETURN_FROM 16   /* samples after the lost one */
#define GAP_MAX 32       /* samples between looks at what cannot be reached */
#define GRACE 24         /* samples that tracking has to come back to its goals by itself */
#define WINDOW 1024      /* samples that a strand may have */
#define ROOM_MAX ((size_t)64 << 20) /* bytes of all strands */
#define STRANDS_MIN 8
#define PASSES_MAX 4        /* over the whole motion, while it jumps */
#define TURNS_MAX 6         /* times that a strand is lengthened backwards */
#define WORK_PER_SAMPLE 4e5 /* beyond it searches are short, beyond twice that there are none */
#define WORK_SAMPLES_MIN 100
#define PROBE_WORK 2e7 /* until a sample counts as not reachable */

/* ---- room ---- */

void skel__repair_layout(skel_ik_motion *v, skel__carver *c) {
    skel__repair *r     = &v->repair;
    const size_t  nx    = (size_t)v->track.ik->nx;
    const size_t  width = v->n < WINDOW ? (size_t)v->n : WINDOW;
    const size_t  bytes = width * (nx + 1) * sizeof(double);
    size_t        slots = ROOM_MAX / bytes;
    if (slots > STRANDS_MAX) slots = STRANDS_MAX;
    if (slots < STRANDS_MIN) slots = STRANDS_MIN;
    r->slots  = (int32_t)slots;
    r->width  = (int32_t)width;
    r->strand = skel__carve(c, slots, sizeof *r->strand);
    r->order  = skel__carve(c, slots, sizeof *r->order);

    r->middle.x            = skel__carve(c, nx, sizeof(double));
    skel__strand *others[] = {&r->glide, &r->best, &r->jump, &r->begin, &r->reverse};
    for (size_t k = 0; k < sizeof others / sizeof others[0]; ++k)
        others[k]->x = skel__carve(c, width * nx, sizeof(double));
    double *rest = skel__carve(c, slots * width * nx, sizeof(double));
    for (size_t k = 0; rest && k < slots; ++k)
        r->strand[k] = (skel__strand){.x = rest + k * width * nx};
}

static double *at(const skel_ik_motion *v, const skel__strand *s, int32_t k) {
    return skel__strand_at(s, k, v->track.ik->nx);
}

static void copy_pose(const skel_ik_motion *v, double *to, const double *from) {
    memcpy(to, from, (size_t)v->track.ik->nx * sizeof *to);
}

static void copy_samples(const skel_ik_motion *v, skel__strand *to, const skel__strand *from,
                         int32_t first, int32_t last) {
    if (last < first) return;
    memcpy(at(v, to, first), at(v, from, first),
           (size_t)(last - first + 1) * (size_t)v->track.ik->nx * sizeof(double));
}

static void copy_strand(const skel_ik_motion *v, skel__strand *to, const skel__strand *from) {
    double *x = to->x;
    *to       = *from;
    to->x     = x;
    copy_samples(v, to, from, from->first, from->last);
}

/* ---- walking ---- */

/* Work is counted, not timed, so that every run does the same. */
static void count_work(skel_ik_motion *v) {
    const skel_ik *ik   = v->probe.ik;
    const double   work = (1.0 + ik->iterations) * (ik->rows + ik->n) * ik->n;
    v->repair.work += work;
    v->repair.spent += work;
}

/* How much of the work that the motion may cost is done; from 2 on there is no more. */
static double share_of_work(const skel_ik_motion *v) {
    const double samples = fmax(v->n, WORK_SAMPLES_MIN);
    return v->repair.spent / (WORK_PER_SAMPLE * samples);
}

static int moves(const skel_ik_motion *v) {
    return v->base || v->base_poses;
}

void skel__walk_begin(skel_ik_motion *v, const skel__walk *w, const double *x) {
    skel__ik_manner manner = v->manner;
    manner.mode            = SKEL_IK_TRACK;
    manner.has_posture     = w->lead != NULL; /* the caller's would draw every strand to one end */
    if (w->lead && !v->has_bounds) manner.most_step = w->bound;
    skel__ik_set_manner(v->probe.ik, &manner);
    skel__motion_enter(v, &v->probe, w->at);
    skel__ik_resume(v->probe.ik, x);
}

static const double *lead_at(const skel_ik_motion *v, const skel__strand *lead, int32_t k) {
    if (k < lead->first) k = lead->first;
    if (k > lead->last) k = lead->last;
    return at(v, lead, k);
}

int skel__walk_step(skel_ik_motion *v, const skel__walk *w, double *x) {
    skel__tracker *t  = &v->probe;
    skel_ik       *ik = t->ik;
    const size_t   nq = (size_t)v->m->nq, nx = (size_t)ik->nx;
    const int32_t  to   = w->at + w->direction;
    const int32_t  edge = w->direction > 0 ? to : w->at;
    memcpy(t->x_was, t->x_base, nx * sizeof(double));
    skel__motion_enter(v, t, to);

    /* Where it would be if it moved as the animation does: steps are measured from there. */
    const double *from = v->has_bounds ? t->x_base : t->x_was, *on = t->x_base;
    memcpy(v->x_plain, x, nx * sizeof(double));
    if (moves(v)) skel__motion_move_on(ik, from, on, v->x_plain);

    /* A glide moves on as its strand does, which already follows the targets. */
    int follows = moves(v);
    if (w->lead) {
        const double *lead = lead_at(v, w->lead, to), *was = lead_at(v, w->lead, w->at);
        skel__ik_set_posture(ik, lead);
        if (lead != was && !v->has_bounds) {
            from    = was;
            on      = lead;
            follows = 1;
        }
    }
    copy_pose(v, t->x_now, x);
    if (follows) {
        skel__motion_move_on(ik, from, on, t->x_now);
        skel__motion_follow(ik, from, on);
    }

    memcpy(v->q_work, t->x_now, nq * sizeof(double));
    memcpy(ik->x + nq, t->x_now + nq, (nx - nq) * sizeof(double));
    skel_ik_solve(ik, v->q_work, NULL, NULL);
    count_work(v);
    if (!w->lead || w->lead->first == w->lead->last)
        v->limit[edge] = fmax(v->limit[edge], skel__motion_limit(v, ik));
    const double step = skel__motion_step(ik, v->x_plain, ik->x, NULL);
    copy_pose(v, x, ik->x);
    return ik->residual <= ik->d.tolerance && !(step > w->slack * v->limit[edge]);
}

/* One more sample of a strand; 0 where it ends. */
static int lengthen(skel_ik_motion *v, skel__strand *s, int32_t direction,
                    const skel__strand *lead) {
    const int32_t    end = direction > 0 ? s->last : s->first;
    const skel__walk w   = {.at        = end,
                            .direction = direction,
                            .lead      = lead,
                            .bound     = v->repair.pull,
                            .slack     = v->repair.slack};
    double          *x   = at(v, s, end + direction);
    if (!v->repair.is_walking) skel__walk_begin(v, &w, at(v, s, end));
    v->repair.is_walking = 1;

    copy_pose(v, x, at(v, s, end));
    if (!skel__walk_step(v, &w, x)) return 0;
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
static int32_t way(const skel__repair *r, int32_t a, int32_t b) {
    return r->direction * (b - a);
}

static void set_end(const skel__repair *r, skel__strand *s, int32_t end) {
    if (r->direction > 0)
        s->last = end;
    else
        s->first = end;
}

/* Step from the motion at the sample before k to a strand at sample k. */
static double step_onto(skel_ik_motion *v, const skel__strand *s, int32_t k) {
    skel__tracker *t      = &v->probe;
    const int32_t  before = k - v->repair.direction;
    copy_pose(v, v->x_plain, at(v, v->repair.motion, before));
    if (moves(v)) {
        skel__motion_base(v, t->ik, before, t->x_was);
        skel__motion_base(v, t->ik, k, t->x_base);
        skel__motion_move_on(t->ik, t->x_was, t->x_base, v->x_plain);
    }
    return skel__motion_step(t->ik, v->x_plain, at(v, s, k), NULL);
}

/* ---- search ---- */

static double next_random(skel__repair *r) { /* splitmix64, 0..1 */
    uint64_t z = r->random += 0x9e3779b97f4a7c15u;
    z          = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z          = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Whole turns of hinges bring x as near to `near` as limits allow. */
static void unwind(const skel_ik *ik, const double *near, double *x) {
    for (int32_t i = 0; i < ik->nn; ++i) {
        const skel__ik_node *n = &ik->node[i];
        if (n->kind != SKEL__NODE_HINGE || n->column < 0 || n->leader >= 0 || n->leads) continue;
        double turns = nearbyint((near[n->x] - x[n->x]) / SKEL__TURN);
        while (turns > 0 && x[n->x] + turns * SKEL__TURN > n->high) --turns;
        while (turns < 0 && x[n->x] + turns * SKEL__TURN < n->low) ++turns;
        x[n->x] += turns * SKEL__TURN;
    }
}

/* The motion beside the sample that is searched. */
static const double *beside(const skel_ik_motion *v) {
    const skel__repair *r    = &v->repair;
    const int32_t       last = r->lost - r->direction;
    if (r->lost == 0 && r->direction > 0) return v->track.x_now;
    return at(v, r->motion, way(r, r->seeded, last) > 0 ? r->seeded : last);
}

static void add_strand(skel_ik_motion *v, const double *x) {
    skel__repair *r  = &v->repair;
    skel_ik      *ik = v->probe.ik;
    for (int32_t k = 0; k < r->count; ++k) {
        const skel__strand *s = &r->strand[k];
        if (s->first > r->seeded || s->last < r->seeded) continue;
        if (skel__motion_step(ik, at(v, s, r->seeded), x, NULL) < SAME_POSE) return;
    }

    skel__strand *s = &r->strand[r->count++];
    s->origin       = r->first;
    s->first = s->last = r->seeded;
    copy_pose(v, at(v, s, r->seeded), x);
}

/* A pose of the sample from x; 1 where it is reached. */
static int solve_pose(skel_ik_motion *v, double *x) {
    skel_ik        *ik = v->probe.ik;
    const size_t    nq = (size_t)v->m->nq, nx = (size_t)ik->nx;
    skel__ik_manner manner = {.mode = SKEL_IK_POSE, .restarts = SEED_RESTARTS, .together = 1};
    skel__motion_enter(v, &v->probe, v->repair.seeded);
    skel__motion_move_on(ik, v->probe.x_base, v->probe.x_base, x); /* the rest is the animation's */
    skel__ik_set_manner(ik, &manner);
    memcpy(v->q_work, x, nq * sizeof(double));
    memcpy(ik->x + nq, x + nq, (nx - nq) * sizeof(double));
    skel_ik_solve(ik, v->q_work, NULL, NULL);
    count_work(v);
    if (ik->residual > ik->d.tolerance) return 0;

    /* Every other one is the pose of its branch that the caller's posture wants. */
    if (v->manner.has_posture && v->repair.tries % 2 == 0) {
        skel__ik_set_manner(ik, &v->manner);
        skel_ik_solve(ik, v->q_work, NULL, NULL);
    }
    copy_pose(v, x, ik->x);
    return ik->residual <= ik->d.tolerance;
}

/* ---- what comes of it ---- */

static void give_up(skel_ik_motion *v, int is_out_of_reach) {
    skel__repair *r = &v->repair;
    if (is_out_of_reach) {
        r->last_lost = r->lost;
        r->run       = r->lost + 1;
    }
    r->gap        = r->gap < GAP_MAX / 2 ? 2 * r->gap + 1 : GAP_MAX;
    r->next_probe = r->lost + r->gap;
    v->phase      = SKEL__IK_TRACKS;
    v->done       = r->lost + 1;
    if (v->done == v->n) skel__motion_finish(v);
}

static void put(skel_ik_motion *v, const skel__strand *s, int32_t first) {
    copy_samples(v, &v->path, s, first, s->last);
    skel__repair_rest(v);
    skel__motion_changed(v, first, s->last);
}

/* The sample at which the step from the motion onto the strand is smallest. Samples that were lost
   before this one are left behind. */
static int32_t jump_sample(skel_ik_motion *v, const skel__strand *s, double *size) {
    const skel__repair *r    = &v->repair;
    const int32_t       low  = s->first > r->floor + 1 ? s->first : r->floor + 1;
    int32_t             high = r->run > low ? r->run : low;
    int32_t             best = low;
    if (high > r->lost) high = r->lost;
    *size = INFINITY;
    for (int32_t k = low; k <= high; ++k) {
        const double step = step_onto(v, s, k);
        if (!(step < *size)) continue;
        *size = step;
        best  = k;
    }
    return best;
}

/* Of all strands those are kept that serve where no glide does. */
static void keep_others(skel_ik_motion *v) {
    skel__repair *r = &v->repair;
    for (int32_t k = 0; k < r->count; ++k) {
        skel__strand *s    = &r->strand[k];
        double        size = 0;
        if (s->first == 0) {
            s->off = skel__motion_step(v->probe.ik, v->x_first, at(v, s, 0), NULL);
            if (s->last > r->begin.last || (s->last == r->begin.last && s->off < r->begin.off))
                copy_strand(v, &r->begin, s);
        }
        if (r->lost == 0 || s->last < r->jump.last) continue;
        jump_sample(v, s, &size);
        s->off = size;
        if (s->last > r->jump.last || size < r->jump.off) copy_strand(v, &r->jump, s);
    }
}

/* Hinges and slides in the middle of their limits, all else as tracking has it. */
static void find_middle(skel_ik_motion *v) {
    const skel_ik *ik = v->probe.ik;
    double        *x  = v->repair.middle.x;
    copy_pose(v, x, v->track.x_now);
    for (int32_t i = 0; i < ik->nn; ++i) {
        const skel__ik_node *n = &ik->node[i];
        if (n->kind > SKEL__NODE_SLIDE || n->column < 0 || n->is_wide) continue;
        if (isfinite(n->low) && isfinite(n->high)) x[n->x] = 0.5 * (n->low + n->high);
    }
    skel__mimic_apply(v->m, x);
}

/* The last attempt lets strands take longer steps: through a singularity that is better than a
   jump into another branch. */
static void next_attempt(skel_ik_motion *v) {
    static const double  pull[ATTEMPTS_MAX]  = {1, 2, 1, 0.5, 1, 1, 2, 0.5, 1};
    static const int32_t aside[ATTEMPTS_MAX] = {0, 0, 0, 0, 16, -16, 40, -40, 0};
    skel__repair        *r                   = &v->repair;
    ++r->attempt;
    find_middle(v);
    r->pull   = PULL * pull[r->attempt];
    r->seeded = r->lost + aside[r->attempt];
    if (r->attempt == 2) r->seeded = r->jump.first;
    if (r->attempt == 3) r->seeded = (r->floor + r->jump.first) / 2;
    if (r->attempt + 1 == r->attempts) {
        r->seeded = r->lost;
        r->slack  = SLACK;
    }
    if (r->seeded > r->last) r->seeded = r->last;
    if (r->seeded < r->first) r->seeded = r->first;
    if (way(r, r->floor, r->seeded) < 0) r->seeded = r->floor;
    r->tries = r->count = r->fresh = 0;
    r->most                        = STRANDS_BATCH;
    v->phase                       = SKEL__IK_SEARCHES;
}

/* ---- a strand that begins too late ---- */

/* The next sample before the strand, or 0 where it is as long as can be. */
static int begin_back(skel_ik_motion *v) {
    skel__repair *r = &v->repair;
    if (r->reverse.first <= r->forward_floor || r->turns++ >= TURNS_MAX) return 0;
    r->lost   = r->reverse.first - 1;
    r->seeded = r->lost;
    r->floor  = r->reverse.last;
    r->tries = r->count = r->fresh = 0;
    r->attempt                     = 0;
    r->pull                        = PULL;
    r->most                        = STRANDS_BATCH;
    r->best.first                  = r->lost + 1;
    v->phase                       = SKEL__IK_SEARCHES;
    return 1;
}

/* No glide leads onto the longest strand: it is lost, too, seen backwards in time. There it is the
   motion that is repaired, until it begins where the other one does. */
static int turn_back(skel_ik_motion *v) {
    skel__repair *r = &v->repair;
    if (r->turns > 0 || r->jump.last < r->lost || r->jump.first <= r->floor) return 0;
    copy_strand(v, &r->reverse, &r->jump);
    r->forward_lost  = r->lost;
    r->forward_floor = r->floor;
    r->direction     = -1;
    r->motion        = &r->reverse;
    return begin_back(v);
}

/* Forwards again, with that strand as the only one. */
static void turn_forth(skel_ik_motion *v) {
    skel__repair *r = &v->repair;
    r->direction    = 1;
    r->motion       = &v->path;
    r->lost         = r->forward_lost;
    r->seeded       = r->forward_lost;
    r->floor        = r->forward_floor;
    r->attempt      = r->attempts - 2;
    r->tries        = r->patience;
    r->pull         = PULL;
    r->fresh        = 0;
    r->count        = 1;
    r->best.last    = r->lost - 1;
    copy_strand(v, &r->strand[0], &r->reverse);
    v->phase = SKEL__IK_ORDERS;
}

static void jump(skel_ik_motion *v) {
    skel__repair *r = &v->repair;
    double        size;
    const int32_t k = jump_sample(v, &r->jump, &size);
    v->last_jump    = k;
    put(v, &r->jump, k);
}

/* The motion begins on another strand; 1 where there is one and the first sample may move. The
   caller's bound of a step holds from the seed on. */
static int begin_elsewhere(skel_ik_motion *v) {
    skel__repair *r         = &v->repair;
    const int     may_begin = r->floor == 0 && r->last_lost < 0 && v->last_jump == 0;
    if (!may_begin || v->has_bounds || (v->start_held && r->lost > 0)) return 0;
    if (r->begin.last < r->lost) return 0;
    put(v, &r->begin, 0);
    return 1;
}

/* Nothing glides on: what else there is. */
static void decide_without(skel_ik_motion *v) {
    skel__repair *r = &v->repair;

    /* The caller's bound of a step allows no jump. After samples that cannot be reached, tracking
       comes back without one if it has some time. */
    const int waits = r->last_lost >= 0 && r->run == r->last_lost + 1 && r->lost - r->run < GRACE;
    if (v->has_bounds || waits || r->lost == 0)
        give_up(v, 0);
    else
        jump(v);
}

/* Backwards, the strand grows by what was found, again and again. */
static void grow(skel_ik_motion *v) {
    skel__repair *r   = &v->repair;
    const int     got = r->best.first <= r->lost;
    if (got) {
        copy_samples(v, &r->reverse, &r->best, r->best.first, r->best.last);
        r->reverse.first = r->best.first;
    }
    if (!got || !begin_back(v)) turn_forth(v);
}

static void decide(skel_ik_motion *v) {
    skel__repair *r    = &v->repair;
    const int32_t goal = r->direction > 0 ? r->last : r->forward_floor;
    const int32_t end  = end_of(r, &r->best);
    const int     got  = way(r, r->lost, end) >= 0;
    const int     late = share_of_work(v) > 2;
    const int     more = r->tries < r->patience && r->count < r->slots && !late;
    if (late) r->attempts = r->attempt + 1;
    r->fresh = r->count;
    if (r->count == 0 && r->attempt == 0 && r->direction > 0) {
        give_up(v, 1);
        return;
    }
    if (more && !(got && way(r, goal, end) >= 0)) {
        r->most  = r->tries + STRANDS_BATCH;
        v->phase = SKEL__IK_SEARCHES;
        return;
    }
    if (r->direction < 0 && (got || r->attempt > 0)) {
        grow(v);
        return;
    }
    if (got) {
        put(v, &r->best, r->best.first);
        return;
    }
    if (r->direction > 0) keep_others(v);
    if (r->attempt + 2 < r->attempts) {
        next_attempt(v);
        return;
    }
    if (r->attempt + 2 == r->attempts && turn_back(v)) return;
    if (begin_elsewhere(v)) return;
    if (r->attempt + 1 < r->attempts)
        next_attempt(v);
    else
        decide_without(v);
}

/* ---- poses, and strands from them ---- */

static void search(skel_ik_motion *v) {
    skel__repair *r        = &v->repair;
    skel_ik      *ik       = v->probe.ik;
    double       *x        = v->probe.x_now;
    const int     is_first = r->tries == 0 && r->attempt == 0;
    const int     is_there = is_first && r->direction > 0 && v->reached[r->lost];

    /* The first is the pose that tracking has: as it is, if all that is wrong is the jump. */
    const double *from = r->direction > 0 ? v->track.x_now : beside(v);
    if (is_first) {
        copy_pose(v, x, from);
    } else {
        for (int32_t c = 0; c < ik->n; ++c) v->seed[c] = next_random(r);
        skel__ik_seed_pose(ik, v->seed, from, x);
    }
    if (is_there || solve_pose(v, x)) {
        if (!is_there) unwind(ik, beside(v), x);
        add_strand(v, x);
    }

    /* While nothing is found, all seeds are used before the sample counts as out of reach. */
    ++r->tries;
    if (r->tries < r->most && r->count < r->slots) return;
    if (r->count == 0 && r->most < r->patience && r->work < PROBE_WORK) {
        ++r->most;
        return;
    }
    r->current    = r->fresh;
    r->is_walking = 0;
    v->phase      = r->count > r->fresh ? SKEL__IK_LEADS_ON : SKEL__IK_DECIDES;
}

/* Every other attempt draws its strands to the middle of the limits, where they may last longer. */
static const skel__strand *middle(const skel_ik_motion *v) {
    return v->repair.attempt % 2 ? &v->repair.middle : NULL;
}

static void lead_on(skel_ik_motion *v) {
    skel__repair *r = &v->repair;
    skel__strand *s = &r->strand[r->current];
    if (s->last < r->last && lengthen(v, s, 1, middle(v))) return;
    r->is_walking = 0;
    v->phase      = SKEL__IK_LEADS_BACK;
}

static void lead_back(skel_ik_motion *v) {
    skel__repair *r = &v->repair;
    skel__strand *s = &r->strand[r->current];
    if (s->first > r->first && lengthen(v, s, -1, middle(v))) return;
    r->is_walking = 0;
    v->phase      = SKEL__IK_LEADS_ON;

    /* Only strands that hold at the lost sample help. */
    if (s->first <= r->lost && s->last >= r->lost) {
        s->off = skel__motion_step(v->probe.ik, beside(v), at(v, s, r->lost), NULL);
        ++r->current;
    } else {
        const skel__strand useless = *s;
        *s                         = r->strand[--r->count];
        r->strand[r->count]        = useless;
    }
    if (r->current == r->count) v->phase = SKEL__IK_ORDERS;
}

/* ---- glides ---- */

static int is_longer(const skel__repair *r, const skel__strand *a, const skel__strand *b) {
    const int32_t more = way(r, end_of(r, b), end_of(r, a));
    return more > 0 || (more == 0 && a->off < b->off);
}

static void order(skel_ik_motion *v) {
    skel__repair *r = &v->repair;
    for (int32_t k = r->fresh; k < r->count; ++k) {
        int32_t i = k;
        for (; i > r->fresh && is_longer(r, &r->strand[k], &r->strand[r->order[i - 1]]); --i)
            r->order[i] = r->order[i - 1];
        r->order[i] = k;
    }
    r->current    = r->fresh;
    r->back       = GLIDE_SHORTEST;
    r->is_walking = 0;
    v->phase      = SKEL__IK_GLIDES;
    if (way(r, r->floor, r->lost) <= 0 || r->fresh == r->count) v->phase = SKEL__IK_DECIDES;
}

/* The next strand that gets farther than the best glide so far. */
static void next_strand(skel_ik_motion *v) {
    skel__repair *r = &v->repair;
    r->is_walking   = 0;
    r->back         = GLIDE_SHORTEST;
    v->phase        = SKEL__IK_GLIDES;
    if (++r->current == r->count ||
        way(r, end_of(r, &r->best), end_of(r, &r->strand[r->order[r->current]])) <= 0)
        v->phase = SKEL__IK_DECIDES;
}

static void keep_glide(skel_ik_motion *v) {
    skel__repair *r   = &v->repair;
    const int32_t end = end_of(r, &r->glide);
    if (way(r, r->lost, end) >= 0 && way(r, end_of(r, &r->best), end) > 0)
        copy_strand(v, &r->best, &r->glide);
}

static void glide(skel_ik_motion *v) {
    skel__repair *r     = &v->repair;
    skel__strand *s     = &r->strand[r->order[r->current]];
    int32_t       begin = r->lost - r->direction * r->back;
    if (way(r, r->floor, begin) < 0) begin = r->floor;
    if (!r->is_walking) {
        r->glide.origin = r->first;
        r->glide.first = r->glide.last = begin;
        copy_pose(v, at(v, &r->glide, begin), at(v, r->motion, begin));
    }
    if (lengthen(v, &r->glide, r->direction, s)) {
        if (way(r, end_of(r, &r->glide), end_of(r, s)) > 0) return;
        keep_glide(v);
        v->phase = SKEL__IK_DECIDES; /* all others are shorter */
        return;
    }
    keep_glide(v);
    r->is_walking = 0;
    r->back *= 2;
    if (begin == r->floor) v->phase = SKEL__IK_RETURNS;
}

/* The motion as far as it is good, to be come near to from the other side. */
static skel__strand good_motion(const skel__repair *r) {
    skel__strand s = *r->motion;
    s.first        = r->direction > 0 ? r->floor : r->lost + 1;
    s.last         = r->direction > 0 ? r->lost - 1 : r->floor;
    return s;
}

static void return_back(skel_ik_motion *v) {
    skel__repair      *r      = &v->repair;
    skel__strand      *s      = &r->strand[r->order[r->current]];
    const skel__strand motion = good_motion(r);
    const int32_t      end    = end_of(r, s);
    int32_t            from   = r->lost + r->direction * RETURN_FROM;
    if (way(r, end, from) > 0) from = end;
    if (v->has_bounds || way(r, end_of(r, &r->best), end) <= 0) {
        next_strand(v);
        return;
    }
    if (!r->is_walking) {
        r->glide.first = r->glide.last = from;
        copy_pose(v, at(v, &r->glide, from), at(v, s, from));
    }
    const int32_t near = r->direction > 0 ? r->glide.first : r->glide.last;
    if (way(r, r->floor, near) <= 1 || !lengthen(v, &r->glide, -r->direction, &motion)) {
        next_strand(v);
        return;
    }
    const int32_t k = near - r->direction;
    if (way(r, r->lost, k) > 0 || step_onto(v, &r->glide, k) > r->pull) return;
    copy_samples(v, &r->glide, s, r->direction > 0 ? from + 1 : end,
                 r->direction > 0 ? end : from - 1);
    set_end(r, &r->glide, end);
    keep_glide(v);
    v->phase = SKEL__IK_DECIDES;
}

/* ---- doors ---- */

/* Without freedom to spare a sample has a handful of poses: one attempt finds them all. */
static int has_freedom(const skel_ik_motion *v) {
    return v->probe.ik->n > v->probe.ik->rows;
}

void skel__repair_rest(skel_ik_motion *v) {
    v->repair.gap        = 0;
    v->repair.next_probe = 0;
}

int skel__repair_begin(skel_ik_motion *v, int32_t lost) {
    skel__repair *r = &v->repair;
    v->is_troubled  = 1;
    if (lost < r->next_probe || share_of_work(v) > 2) return 0;

    if (r->gap == 0) r->run = lost;
    r->lost   = lost;
    r->seeded = lost;
    r->first  = lost - r->width / 2;
    if (r->first + r->width > v->n) r->first = v->n - r->width;
    if (r->first < 0) r->first = 0;
    r->last  = r->first + r->width - 1;
    r->floor = v->last_jump > r->last_lost ? v->last_jump : r->last_lost;
    if (r->floor < r->first) r->floor = r->first;

    /* Where samples before could not be reached, this one probably cannot either. */
    const int is_short = r->gap > 0 || share_of_work(v) > 1;
    r->patience        = is_short ? STRANDS_BATCH : STRANDS_MAX;
    r->attempts        = ATTEMPTS_MAX;
    if (!has_freedom(v)) r->attempts = ATTEMPTS_MIN;
    if (is_short) r->attempts = 1;
    r->slack   = is_short ? SLACK : 1;
    r->attempt = r->tries = r->count = r->fresh = 0;
    r->most                                     = STRANDS_BATCH;
    r->pull                                     = PULL;
    r->work                                     = 0;
    r->best.last                                = lost - 1;
    r->jump.last                                = lost - 1;
    r->begin.last                               = lost - 1;
    r->is_walking                               = 0;
    r->turns                                    = 0;
    r->direction                                = 1;
    r->motion                                   = &v->path;
    v->phase                                    = SKEL__IK_SEARCHES;
    return 1;
}

/* Whether less is wrong: samples that are lost, then jumps, then their size and a moved start. */
static double badness(skel_ik_motion *v) {
    double bad = skel__motion_list_jumps(v) + 1e3 * v->jump_count;
    for (int32_t k = 0; k < v->n; ++k) bad += v->reached[k] ? 0 : 1e6;
    return bad + skel__motion_step(v->probe.ik, v->x_first, v->path.x, NULL);
}

static void keep_motion(skel_ik_motion *v, double *x, int32_t *reached, const double *from_x,
                        const int32_t *from_reached) {
    const size_t n = (size_t)v->n, nx = (size_t)v->track.ik->nx;
    memcpy(x, from_x, n * nx * sizeof *x);
    memcpy(reached, from_reached, n * sizeof *reached);
}

int skel__repair_again(skel_ik_motion *v) {
    skel__kept  *kept = &v->kept;
    const double bad  = badness(v);
    if ((v->jump_count == 0 && kept->passes == 0) || !has_freedom(v)) return 0;

    /* Other glides early on may lead past what this one could not pass. */
    if (kept->passes++ == 0 || bad < kept->badness) {
        keep_motion(v, kept->x, kept->reached, v->path.x, v->reached);
        kept->badness = bad;
    }
    const int is_over = v->jump_count == 0 || kept->passes == PASSES_MAX || share_of_work(v) > 1;
    if (is_over) {
        keep_motion(v, v->path.x, v->reached, kept->x, kept->reached);
        v->changed = 0;
        return 0;
    }
    skel__ik_forget(v->track.ik);
    skel__repair_rest(v);
    v->repair.last_lost = -1;
    v->last_jump        = 0;
    v->done             = 0;
    v->phase            = SKEL__IK_TRACKS;
    return 1;
}

void skel__repair_unit(skel_ik_motion *v) {
    switch (v->phase) {
    case SKEL__IK_SEARCHES: search(v); break;
    case SKEL__IK_LEADS_ON: lead_on(v); break;
    case SKEL__IK_LEADS_BACK: lead_back(v); break;
    case SKEL__IK_ORDERS: order(v); break;
    case SKEL__IK_GLIDES: glide(v); break;
    case SKEL__IK_DECIDES: decide(v); break;
    default: return_back(v);
    }
}
