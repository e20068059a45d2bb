/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmarks. `skel_bench` times every scenario and prints CSV; `skel_bench NAME N` does N calls of
   one, which tests/bench/instructions.py counts under callgrind (two runs, the difference by N). */
#include "shared/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct scenario {
    const char *name;
    int bodies, first, second; /* a chain of these joints; first < 0: random tree */
    int integrator, solver;    /* integrator < 0: accelerations only; IK: one iteration */
    int calls;
} scenario;

enum { IK = -2 };

#define H SKEL_JOINT_HINGE
#define B SKEL_JOINT_BALL
static const scenario k_scenarios[] = {
    {"accel_tree_hinge_100", 100, H, H, -1, SKEL_SOLVER_TREE, 2000},
    {"accel_tree_hinge_1000", 1000, H, H, -1, SKEL_SOLVER_TREE, 200},
    {"accel_tree_ball_100", 100, B, B, -1, SKEL_SOLVER_TREE, 2000},
    {"accel_tree_ball_1000", 1000, B, B, -1, SKEL_SOLVER_TREE, 200},
    {"accel_tree_mixed_100", 100, H, B, -1, SKEL_SOLVER_TREE, 2000},
    {"accel_tree_mixed_1000", 1000, H, B, -1, SKEL_SOLVER_TREE, 200},
    {"accel_kkt_mixed_100", 100, H, B, -1, SKEL_SOLVER_KKT, 500},
    {"accel_kkt_mixed_1000", 1000, H, B, -1, SKEL_SOLVER_KKT, 50},
    {"accel_pinv_mixed_30", 30, H, B, -1, SKEL_SOLVER_PINV, 20},
    {"accel_tree_20", 20, -1, -1, -1, SKEL_SOLVER_TREE, 5000},
    {"step_rk4_20", 20, -1, -1, SKEL_INTEGRATOR_RK4, SKEL_SOLVER_TREE, 1000},
    {"step_rk4_mixed_100", 100, H, B, SKEL_INTEGRATOR_RK4, SKEL_SOLVER_TREE, 200},
    {"step_rk4_mixed_1000", 1000, H, B, SKEL_INTEGRATOR_RK4, SKEL_SOLVER_TREE, 20},
    {"step_conserving_20", 20, -1, -1, SKEL_INTEGRATOR_CONSERVING, SKEL_SOLVER_TREE, 200},
    {"step_conserving_mixed_100", 100, H, B, SKEL_INTEGRATOR_CONSERVING, SKEL_SOLVER_TREE, 50},
    {"step_conserving_mixed_1000", 1000, H, B, SKEL_INTEGRATOR_CONSERVING, SKEL_SOLVER_TREE, 10},
    {"ik_ball_30", 30, B, B, IK, 0, 2000},
    {"ik_ball_300", 300, B, B, IK, 0, 200},
};
#undef H
#undef B

typedef struct job {
    const scenario *k;
    scene s;
    skel_state *saved;
    double *linear, *angular;
    skel_ik *ik; /* position goal of the last body */
    double *q;
} job;

/* A chain of 1000 with random joint speeds whips: Newton's work would be compared, not the cost. */
static void rest(scene *s) {
    double *qd = calloc((size_t)skel_model_dof(s->model), sizeof *qd);
    if (!qd || skel_state_set_qd(s->state, qd) != SKEL_OK) abort();
    free(qd);
}

static skel_ik *prepare_ik(const skel_model *m) {
    skel_goal_desc g;
    skel_ik_desc d;
    skel_ik *ik;
    skel_goal_desc_init(&g);
    skel_ik_desc_init(&d);
    g.body = skel_model_body_count(m) - 1, g.position[0] = 1, g.position[1] = 0.5;
    d.model = m, d.goals = &g, d.goal_count = 1, d.mode = SKEL_IK_TRACK, d.max_iterations = 1;
    if (skel_ik_create(&d, &ik, NULL) != SKEL_OK) abort();
    return ik;
}

static job prepare(const scenario *k) {
    job j = {.k = k};
    rng r = rng_seed(3);
    j.s = k->first < 0 ? scene_random_tree(&r, (scene_options){.bodies = k->bodies})
                       : scene_chain(k->bodies, k->first, k->second, .1, NULL);
    j.linear = calloc(3 * (size_t)k->bodies, sizeof(double));
    j.angular = calloc(3 * (size_t)k->bodies, sizeof(double));
    if (!j.linear || !j.angular || skel_state_create(j.s.model, &j.saved, NULL) != SKEL_OK) abort();
    if (k->integrator == SKEL_INTEGRATOR_CONSERVING && k->first >= 0) rest(&j.s);
    skel_state_copy(j.saved, j.s.state);
    j.q = calloc((size_t)skel_model_q_count(j.s.model), sizeof(double));
    if (!j.q) abort();
    if (k->integrator == IK) j.ik = prepare_ik(j.s.model);
    return j;
}

static void finish(job *j) {
    skel_ik_destroy(j->ik);
    skel_state_destroy(j->saved);
    scene_free(&j->s);
    free(j->linear), free(j->angular), free(j->q);
}

static void call(job *j) {
    skel_status status;
    if (j->k->integrator == IK) {
        skel_state_get_q(j->s.state, j->q);
        status = skel_ik_solve(j->ik, j->q, NULL, NULL);
    } else if (j->k->integrator < 0) {
        status = skel_accelerations(j->s.state, j->k->solver, j->linear, j->angular, NULL);
    } else {
        skel_step_desc d;
        skel_step_desc_init(&d);
        d.integrator = j->k->integrator, d.solver = j->k->solver;
        d.h = d.integrator == SKEL_INTEGRATOR_CONSERVING ? 1e-3 : 1e-5;
        status = skel_step(j->s.state, &d, NULL);
    }
    if (status != SKEL_OK) {
        fprintf(stderr, "%s: %s\n", j->k->name, skel_status_text(status));
        exit(1);
    }
}

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* Warm up, restore, take the smallest of five. */
static double best_ns(job *j) {
    double best = 1e300;
    for (int repeat = 0; repeat < 6; ++repeat) {
        skel_state_copy(j->s.state, j->saved);
        const double start = cpu_ns();
        for (int n = 0; n < j->k->calls; ++n) call(j);
        const double one = (cpu_ns() - start) / j->k->calls;
        if (repeat > 0 && one < best) best = one;
    }
    return best;
}

static int run_one(const char *name, int calls) {
    for (size_t k = 0; k < sizeof k_scenarios / sizeof *k_scenarios; ++k) {
        if (strcmp(k_scenarios[k].name, name) != 0) continue;
        job j = prepare(&k_scenarios[k]);
        for (int n = 0; n < calls; ++n) call(&j);
        finish(&j);
        return 0;
    }
    fprintf(stderr, "skel_bench: no scenario '%s'\n", name);
    return 2;
}

int main(int argc, char **argv) {
    if (argc == 3) return run_one(argv[1], atoi(argv[2]));
    printf("scenario,bodies,ns_per_call,ns_per_body\n");
    for (size_t k = 0; k < sizeof k_scenarios / sizeof *k_scenarios; ++k) {
        job j = prepare(&k_scenarios[k]);
        const double ns = best_ns(&j);
        printf("%s,%d,%.0f,%.1f\n", j.k->name, j.k->bodies, ns, ns / j.k->bodies);
        fflush(stdout);
        finish(&j);
    }
    return 0;
}
