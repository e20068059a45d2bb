/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics on many random targets:
     skel_reach [COUNT]    targets per chain, default 10000
   reach    poses that can be reached, from the middle of the limits, all chains: how many fail
   honest   ten times as many in all, reachable and not, on six robots and two characters: limits
            broken, numbers that are not finite, receipts that do not say what is measured again
   Exit 1 where anything failed. */
#include "math/quat.h"
#include "model/model.h"
#include "shared/chains.h"
#include "shared/humanoid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 256

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static skel_ik *make(const skel_ik_desc *d) {
    skel_ik *ik = NULL;
    skel_error err;
    skel_error_init(&err);
    scene_demand(skel_ik_create(d, &ik, &err), &err);
    return ik;
}

static int reach(const chain *c, uint64_t seed, int count) {
    skel_goal_desc g = chain_goal(c);
    skel_ik_desc d;
    skel_ik_desc_init(&d);
    d.model = c->model, d.goals = &g, d.goal_count = 1;
    skel_ik *ik = make(&d);
    rng r = rng_seed(seed);
    int failed = 0, most = 0;
    double time = 0, its = 0, worst = 0;
    for (int k = 0; k < count; ++k) {
        double q[CHAIN_MAX], target[7];
        skel_ik_receipt receipt = {.struct_size = sizeof receipt};
        chain_random(c, &r, q);
        chain_tip(c, q, target);
        skel_ik_set_target(ik, 0, target, target + 3);
        chain_middle(c, q);
        const double begun = cpu();
        skel_ik_solve(ik, q, &receipt, NULL);
        time += cpu() - begun;
        failed += !receipt.reached;
        its += receipt.iterations;
        if (receipt.restarts > most) most = receipt.restarts;
        if (receipt.reached && receipt.residual > worst) worst = receipt.residual;
    }
    printf("%-16s failed %d of %d; %.1f us, %.1f iterations, at most %d restarts, off by %.1e\n",
           c->name, failed, count, 1e6 * time / count, its / count, most, worst);
    skel_ik_destroy(ik);
    return failed;
}

typedef struct faults {
    int limits, numbers, receipts, reached, targets;
    double time;
} faults;

/* One solve, judged from its poses. */
static void judge(skel_ik *ik, const skel_model *m, const skel_goal_desc *g, const double target[7],
                  double *q, faults *f) {
    double poses[7 * MOST];
    skel_ik_receipt receipt = {.struct_size = sizeof receipt};
    skel_ik_set_target(ik, 0, target, target + 3);
    const double begun = cpu();
    skel_ik_solve(ik, q, &receipt, NULL);
    f->time += cpu() - begun;
    ++f->targets;
    skel_ik_get_poses(ik, poses);
    for (int32_t k = 0; k < m->nq; ++k) f->numbers += !isfinite(q[k]);
    f->limits += !(limits_broken(m, q) <= 0);
    const double *x = poses + 7 * g->body;
    const v3 p = v3_add(v3_of(x), q_rotate(q_of(x + 3), v3_of(g->point)));
    const quat t = q_mul(q_of(x + 3), q_of(g->frame));
    const v3 w = q_log(q_mul(q_unit(q_of(target + 3)), q_conj(t)));
    const double off = fmax(v3_norm(v3_sub(p, v3_of(target))), v3_norm(w));
    f->reached += receipt.reached;
    f->receipts += receipt.reached != (off <= 1e-5) || !(fabs(off - receipt.residual) < 1e-9);
}

static void say(const char *name, const faults *f) {
    printf("%-16s %d targets, %d reached; limits broken %d, not finite %d, wrong receipts %d; "
           "%.0f us\n",
           name, f->targets, f->reached, f->limits, f->numbers, f->receipts,
           1e6 * f->time / f->targets);
    fflush(stdout);
}

static int robot(const chain *c, uint64_t seed, int count) {
    skel_goal_desc g = chain_goal(c);
    skel_ik_desc d;
    faults f = {0};
    rng r = rng_seed(seed);
    skel_ik_desc_init(&d);
    d.model = c->model, d.goals = &g, d.goal_count = 1;
    skel_ik *ik[2];
    for (int mode = 0; mode < 2; ++mode) d.mode = mode, ik[mode] = make(&d);
    for (int k = 0; k < count; ++k) {
        double q[CHAIN_MAX], target[7];
        chain_random(c, &r, q);
        chain_tip(c, q, target);
        for (int a = 0; k % 2 && a < 3; ++a) target[a] += c->reach * rng_range(&r, -1, 1);
        chain_middle(c, q);
        judge(ik[k % 4 < 3 ? 0 : 1], c->model, &g, target, q, &f);
    }
    say(c->name, &f);
    skel_ik_destroy(ik[0]), skel_ik_destroy(ik[1]);
    return f.limits + f.numbers + f.receipts;
}

static int character(const char *name, const char *body, int root, int count) {
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    faults f = {0};
    rng r = rng_seed((uint64_t)root + 3);
    double start[MOST], q[MOST], poses[7 * MOST];
    skel_goal_desc g;
    skel_ik_desc d;
    skel_goal_desc_init(&g);
    g.body = skel_model_find_body(s.model, body);
    g.parts = SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION;
    skel_ik_desc_init(&d);
    d.model = s.model, d.goals = &g, d.goal_count = 1, d.root = root, d.max_restarts = 5;
    skel_ik *ik = make(&d);
    skel_state_get_q(s.state, start);
    for (int k = 0; k < count; ++k) {
        double target[7];
        for (int32_t c = 0; c < s.model->nq; ++c) q[c] = start[c] + rng_range(&r, -0.3, 0.3);
        skel_fk(s.model, q, poses);
        memcpy(target, poses + 7 * g.body, sizeof target);
        for (int a = 0; k % 2 && a < 3; ++a) target[a] += rng_range(&r, -1, 1);
        memcpy(q, start, sizeof q);
        skel_ik_set_roots(ik, NULL);
        judge(ik, s.model, &g, target, q, &f);
    }
    say(name, &f);
    skel_ik_destroy(ik);
    scene_free(&s);
    return f.limits + f.numbers + f.receipts;
}

int main(int argc, char **argv) {
    static const int six[] = {0, 1, 2, 3, 5, 6};
    const int count = argc > 1 ? atoi(argv[1]) : 10000, share = count * 10 / 8;
    chain *c;
    const int chains = chains_load(&c);
    int failed = 0;
    printf("reach\n");
    for (int i = 0; i < chains; ++i) failed += reach(&c[i], (uint64_t)i + 1, count);
    printf("honest\n");
    for (int i = 0; i < 6; ++i) failed += robot(&c[six[i]], (uint64_t)i + 77, share);
    failed += character("humanoid, held", "hand.L", SKEL_IK_ROOT_HELD, share);
    failed += character("humanoid, free", "foot.R", SKEL_IK_ROOT_MOVES, share);
    chains_free(c, chains);
    return failed > 0;
}
