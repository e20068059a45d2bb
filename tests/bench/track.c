/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics over time, judged by forward kinematics:
     skel_track [PATHS] [free|held|causal] [joints|keys|all] [CHAIN]
   joints   paths of 200 frames made from joint paths within the limits, from their first pose:
            none may be lost, no step be longer than 0.15 rad
   keys     4 poses of the tip, eased, 120 frames, those whose every frame a single solve reaches:
            none may be lost; steps longer than 0.15 rad are jumps and must be told
   Exit 1 where a frame is lost, or a jump is not told. */
#include "math/quat.h"
#include "shared/chains.h"
#include "shared/humanoid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BENCH_FRAMES_MAX 200
#define STEP_MAX 0.15
#define REACHED 1.8e-5 /* [m], [rad] */

typedef struct result {
    int paths, frames, lost, jumps, untold, troubled, moved, broken;
    double step, time, repaired_time, worst_time, start, size;
} result;

typedef struct targets {
    int frames;
    double position[3 * BENCH_FRAMES_MAX], orientation[4 * BENCH_FRAMES_MAX], seed[CHAIN_MAX];
} targets;

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double step_of(const chain *c, const double *a, const double *b) {
    double most = 0;
    for (int k = 0; k < c->n; ++k)
        most = fmax(most, fabs(b[k] - a[k]) / (c->slides[k] ? c->reach : 1));
    return most;
}

static int is_reached(const chain *c, const double *q, const targets *t, int f) {
    double tip[7];
    chain_tip(c, q, tip);
    const v3 way = v3_sub(v3_of(tip), v3_of(t->position + 3 * f));
    const v3 turn = q_log(q_mul(q_of(t->orientation + 4 * f), q_conj(q_of(tip + 3))));
    return v3_norm(way) <= REACHED && v3_norm(turn) <= REACHED;
}

/* Whether the motion told of a jump to this frame. */
static int is_told(const skel_ik_motion *v, int frame) {
    for (int32_t k = 0; k < skel_ik_motion_jump_count(v); ++k) {
        skel_ik_jump jump = {.struct_size = sizeof jump};
        skel_ik_motion_get_jump(v, k, &jump);
        if (jump.sample == frame) return 1;
    }
    return 0;
}

static void judge(const chain *c, const targets *t, const skel_ik_motion *v, result *r) {
    const double *q = skel_ik_motion_q(v);
    skel_ik_jump start = {.struct_size = sizeof start};
    for (int f = 0; f < t->frames; ++f, q += c->n) {
        r->lost += !is_reached(c, q, t, f);
        r->broken += limits_broken(c->model, q) > 0;
        if (f == 0) continue;
        const double step = step_of(c, q - c->n, q);
        r->step = fmax(r->step, step);
        if (step <= STEP_MAX * (1 + 1e-9)) continue;
        ++r->jumps;
        r->size += step;
        r->untold += !is_told(v, f);
    }
    skel_ik_motion_get_start(v, &start);
    r->start = fmax(r->start, start.size);
    r->moved += start.size > 0.1;
    ++r->paths;
    r->frames += t->frames;
}

static void run(const chain *c, const targets *t, const char *how, result *r) {
    skel_goal_desc g = chain_goal(c);
    skel_goal_track track = {.positions = t->position,
                             .orientations = t->orientation,
                             .position_count = (uint32_t)t->frames,
                             .orientation_count = (uint32_t)t->frames};
    skel_ik_desc d;
    skel_ik_motion_desc md;
    skel_ik_motion *v;
    skel_error err;
    skel_error_init(&err);
    skel_ik_desc_init(&d);
    d.model = c->model, d.goals = &g, d.goal_count = 1, d.mode = SKEL_IK_TRACK;
    skel_ik_motion_desc_init(&md);
    md.ik = &d, md.tracks = &track, md.sample_count = (uint32_t)t->frames, md.seed = t->seed;
    md.start = strcmp(how, "held") == 0 ? SKEL_IK_START_HELD : SKEL_IK_START_FREE;
    md.causal = strcmp(how, "causal") == 0;

    const double begun = cpu();
    scene_demand(skel_ik_motion_start(&md, &v, &err), &err);
    skel_ik_motion_advance(v, -1);
    const double time = cpu() - begun;
    r->time += time;
    r->worst_time = fmax(r->worst_time, time / t->frames);
    if (skel_ik_motion_repaired_count(v) > 0) {
        ++r->troubled;
        r->repaired_time += time / t->frames;
    }
    judge(c, t, v, r);
    skel_ik_motion_destroy(v);
}

static void joint_path(const chain *c, rng *r, targets *t) {
    static double q[BENCH_FRAMES_MAX * CHAIN_MAX];
    t->frames = 200;
    chain_path(c, r, t->frames, q);
    memcpy(t->seed, q, sizeof t->seed);
    for (int f = 0; f < t->frames; ++f) {
        double tip[7];
        chain_tip(c, q + f * c->n, tip);
        memcpy(t->position + 3 * f, tip, 3 * sizeof(double));
        memcpy(t->orientation + 4 * f, tip + 3, 4 * sizeof(double));
    }
}

/* 1 where single solves reach every frame; the first answer is the seed. */
static int key_path(const chain *c, rng *r, targets *t) {
    skel_goal_desc g = chain_goal(c);
    skel_ik_desc d;
    skel_ik *ik;
    skel_error err;
    int good = 1;
    skel_error_init(&err);
    skel_ik_desc_init(&d);
    d.model = c->model, d.goals = &g, d.goal_count = 1;
    scene_demand(skel_ik_create(&d, &ik, &err), &err);
    t->frames = 120;
    chain_keys(c, r, 4, t->frames, t->position, t->orientation);
    double q[CHAIN_MAX];
    chain_middle(c, q);
    for (int f = 0; f < t->frames && good; ++f) {
        skel_ik_receipt receipt = {.struct_size = sizeof receipt};
        skel_ik_set_target(ik, 0, t->position + 3 * f, t->orientation + 4 * f);
        skel_ik_solve(ik, q, &receipt, NULL);
        good = receipt.reached;
        if (f == 0) memcpy(t->seed, q, sizeof t->seed);
    }
    skel_ik_destroy(ik);
    return good;
}

static int bench(const chain *c, int i, int count, int with_keys, const char *how) {
    static targets t;
    result r = {0};
    rng random = rng_seed((uint64_t)i + 777);
    for (int k = 0; k < count; ++k) {
        if (!with_keys) {
            joint_path(c, &random, &t);
        } else {
            int tries = 0;
            while (!key_path(c, &random, &t) && tries < 200) ++tries;
            if (tries == 200) continue;
        }
        run(c, &t, how, &r);
    }
    printf("%-16s %s %-6s paths %d, frames %d, lost %d, jumps %d (mean %.2f), untold %d, longest "
           "step %.3f, limits %d; repaired %d, start moved %d (most %.2f); us per frame: %.1f, "
           "repaired %.0f, worst %.0f\n",
           c->name, with_keys ? "keys  " : "joints", how, r.paths, r.frames, r.lost, r.jumps,
           r.size / fmax(r.jumps, 1), r.untold, r.step, r.broken, r.troubled, r.moved, r.start,
           1e6 * r.time / fmax(r.frames, 1), 1e6 * r.repaired_time / fmax(r.troubled, 1),
           1e6 * r.worst_time);
    fflush(stdout);
    return r.lost + r.untold + r.broken + (with_keys ? 0 : r.jumps);
}

int main(int argc, char **argv) {
    const int count = argc > 1 ? atoi(argv[1]) : 100;
    const char *how = argc > 2 ? argv[2] : "free", *what = argc > 3 ? argv[3] : "all";
    const char *only = argc > 4 ? argv[4] : NULL;
    int failed = 0;
    chain *c;
    const int chains = chains_load(&c);
    for (int i = 0; i < chains; ++i) {
        if (only && strcmp(only, c[i].name) != 0) continue;
        if (strcmp(what, "keys") != 0) failed += bench(&c[i], i, count, 0, how);
        if (strcmp(what, "joints") != 0) failed += bench(&c[i], i, count, 1, how);
    }
    chains_free(c, chains);
    return failed > 0;
}
