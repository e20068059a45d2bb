/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: all of it through the caller's allocator, none in a step, none lost when it runs out. */
#include "shared/near.h"
#include "shared/ragdoll.h"
#include "shared/scenes.h"

#include <stdlib.h>
#include <string.h>

typedef struct counter {
    long calls, live, fail_at; /* fail_at: the call that gets NULL, 0 for none */
    size_t bytes;
} counter;

static void *count_alloc(size_t size, void *user) {
    counter *c = user;
    if (++c->calls == c->fail_at) return NULL;
    c->bytes += size;
    void *p = malloc(size);
    if (p) ++c->live;
    return p;
}

static void count_free(void *memory, void *user) {
    counter *c = user;
    if (memory) --c->live;
    free(memory);
}

static skel_allocator counting(counter *c) {
    return (skel_allocator){sizeof(skel_allocator), 0, count_alloc, count_free, c};
}

START_TEST(a_step_allocates_nothing) {
    const int32_t integrators[3] = {SKEL_INTEGRATOR_CONSERVING, SKEL_INTEGRATOR_RK4,
                                    SKEL_INTEGRATOR_EULER};
    counter c = {0};
    skel_allocator a = counting(&c);
    scene s = scene_chain(12, SKEL_JOINT_HINGE, SKEL_JOINT_BALL, .2, &a);
    skel_step_desc d;
    double out[36], turn[36], q[64];
    skel_step_desc_init(&d);
    d.integrator = SKEL_INTEGRATOR_CONSERVING; /* takes its workspace at the first step */
    ck_assert_int_eq(skel_step(s.state, &d, NULL), SKEL_OK);
    const long before = c.calls;
    ck_assert_int_gt(before, 0);
    for (int k = 0; k < 200; ++k) {
        d.integrator = integrators[k % 3];
        ck_assert_int_eq(skel_step(s.state, &d, NULL), SKEL_OK);
        ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_TREE, out, turn, NULL), SKEL_OK);
        ck_assert_int_eq(skel_state_get_q(s.state, q), SKEL_OK);
        ck_assert_int_eq(skel_state_project(s.state, NULL, NULL, NULL), SKEL_OK);
    }
    ck_assert_int_eq(c.calls, before);
    scene_free(&s);
    ck_assert_int_eq(c.live, 0);
}
END_TEST

START_TEST(a_fall_allocates_nothing) { /* contacts, stops and impacts */
    for (int rigid = 0; rigid < 2; ++rigid) {
        counter c = {0};
        skel_allocator a = counting(&c);
        rng r = rng_seed(5);
        ragdoll_options o = {.stairs = 2, .is_rigid = rigid, .friction = 1, .allocator = &a};
        scene s = scene_ragdoll(&r, o);
        skel_step_desc d;
        skel_step_desc_init(&d);
        d.integrator = SKEL_INTEGRATOR_CONSERVING, d.h = 1.0 / 240;
        ck_assert_int_eq(skel_step(s.state, &d, NULL), SKEL_OK);
        const long before = c.calls;
        for (int k = 0; k < 240; ++k) ck_assert_int_eq(skel_step(s.state, &d, NULL), SKEL_OK);
        skel_report_row row = {.struct_size = sizeof row};
        ck_assert_int_eq(skel_report(s.state, &row), SKEL_OK);
        ck_assert_double_gt(row.contacts, 0);
        ck_assert_int_eq(c.calls, before);
        scene_free(&s);
        ck_assert_int_eq(c.live, 0);
    }
}
END_TEST

START_TEST(judges_allocate_once) { /* pinv and kkt take their workspace at the first call */
    counter c = {0};
    skel_allocator a = counting(&c);
    scene s = scene_chain(6, SKEL_JOINT_HINGE, SKEL_JOINT_BALL, .2, &a);
    double out[18], turn[18];
    const long before = c.calls;
    for (int k = 0; k < 5; ++k)
        for (int solver = 0; solver <= SKEL_SOLVER_KKT; ++solver)
            ck_assert_int_eq(skel_accelerations(s.state, solver, out, turn, NULL), SKEL_OK);
    ck_assert_int_eq(c.calls, before + 1);
    scene_free(&s);
    ck_assert_int_eq(c.live, 0);
}
END_TEST

START_TEST(a_bake_allocates_at_its_start) {
    counter c = {0};
    skel_allocator a = counting(&c);
    scene s = scene_chain(8, SKEL_JOINT_UNIVERSAL, SKEL_JOINT_SLIDE, .2, &a);
    for (int k = 0; k < 9; ++k) {
        const int32_t integrators[3] = {SKEL_INTEGRATOR_RK4, SKEL_INTEGRATOR_ADAMS,
                                        SKEL_INTEGRATOR_BDF};
        skel_bake_desc d;
        skel_bake *b;
        skel_bake_desc_init(&d);
        d.model = s.model, d.state = s.state, d.sample_count = 5, d.step = .004;
        d.solver = k % 3, d.integrator = integrators[k / 3], d.tolerance = 1e-6;
        ck_assert_int_eq(skel_bake_start(&d, &b, NULL), SKEL_OK);
        const long before = c.calls;
        ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
        ck_assert_int_eq(c.calls, before);
        skel_bake_destroy(b);
    }
    scene_free(&s);
    ck_assert_int_eq(c.live, 0);
}
END_TEST

/* A character's goals with priorities and posture, and chains in both modes; at last goals that
   share no joint. */
START_TEST(solving_allocates_nothing) {
    for (int k = 0; k < 5; ++k) {
        counter c = {0};
        skel_allocator a = counting(&c);
        scene s = scene_chain(9, SKEL_JOINT_HINGE, SKEL_JOINT_BALL, .2, &a);
        skel_goal_desc g[2];
        skel_ik_desc d;
        skel_ik *ik;
        double q[64], posture[64], poses[63];
        skel_state_get_q(s.state, posture);
        for (int i = 0; i < 2; ++i) {
            skel_goal_desc_init(&g[i]);
            g[i].body = 8 - 3 * i, g[i].priority = i, g[i].parts = SKEL_GOAL_POSITION;
        }
        skel_ik_desc_init(&d);
        if (k == 4) g[0].chain_depth = 3;
        d.model = s.model, d.goals = g, d.goal_count = k == 3 ? 1 : 2, d.mode = k % 2;
        d.posture = k < 2 ? posture : NULL, d.max_restarts = 3;
        d.method = k == 3 ? SKEL_IK_NEWTON : SKEL_IK_DAMPED;
        ck_assert_int_eq(skel_ik_create(&d, &ik, NULL), SKEL_OK);
        const long before = c.calls;
        for (int t = 0; t < 30; ++t) {
            const double target[3] = {0.1 * t, 0.3, -0.5};
            skel_ik_receipt r = {.struct_size = sizeof r};
            memcpy(q, posture, sizeof q);
            skel_ik_set_target(ik, 0, target, NULL);
            ck_assert_int_eq(skel_ik_solve(ik, q, &r, NULL), SKEL_OK);
            ck_assert_int_eq(skel_ik_get_poses(ik, poses), SKEL_OK);
        }
        ck_assert_int_eq(c.calls, before);
        skel_ik_destroy(ik);
        scene_free(&s);
        ck_assert_int_eq(c.live, 0);
    }
}
END_TEST

/* Everything once, with the n-th allocation failing: an error, and nothing left behind. */
static skel_status all_of_it(const skel_allocator *a) {
    skel_body_desc body[2];
    skel_joint_desc joint;
    skel_model_desc d;
    skel_model *model = NULL;
    skel_state *state = NULL;
    skel_bake *bake = NULL;
    skel_bake_desc b;
    double out[6], turn[6];
    skel_body_desc_init(&body[0]), skel_body_desc_init(&body[1]), skel_joint_desc_init(&joint);
    skel_model_desc_init(&d), skel_bake_desc_init(&b);
    for (int k = 0; k < 2; ++k) {
        body[k].mass = 1;
        body[k].inertia[0] = body[k].inertia[1] = body[k].inertia[2] = 1;
    }
    joint.type = SKEL_JOINT_BALL, joint.parent = 0, joint.child = 1;
    d.bodies = body, d.body_count = 2, d.joints = &joint, d.joint_count = 1, d.allocator = a;
    skel_status status = skel_model_create(&d, &model, NULL);
    if (status == SKEL_OK) status = skel_state_create(model, &state, NULL);
    if (status == SKEL_OK) status = skel_accelerations(state, SKEL_SOLVER_PINV, out, turn, NULL);
    b.model = model, b.solver = SKEL_SOLVER_PINV, b.sample_count = 2;
    if (status == SKEL_OK) status = skel_bake_start(&b, &bake, NULL);
    if (status == SKEL_OK) status = skel_bake_advance(bake, -1);
    const int32_t root = SKEL_WORLD, ball = 0;
    skel_goal_desc g[2]; /* they share no joint: a solver each */
    skel_ik_desc i;
    skel_ik_motion_desc k;
    skel_ik_motion *motion = NULL;
    skel_goal_desc_init(&g[0]), skel_goal_desc_init(&g[1]);
    skel_ik_desc_init(&i), skel_ik_motion_desc_init(&k);
    g[0].body = 1, g[0].joints = &ball, g[0].joint_count = 1;
    g[1].body = 0, g[1].joints = &root, g[1].joint_count = 1, i.root = SKEL_IK_ROOT_MOVES;
    i.model = model, i.goals = g, i.goal_count = 2, k.ik = &i, k.sample_count = 2;
    if (status == SKEL_OK) status = skel_ik_motion_start(&k, &motion, NULL);
    if (status == SKEL_OK) status = skel_ik_motion_advance(motion, -1);
    skel_ik_motion_destroy(motion);
    skel_bake_destroy(bake);
    skel_state_destroy(state);
    skel_model_destroy(model);
    return status;
}

START_TEST(running_out_of_memory) {
    counter c = {0};
    skel_allocator a = counting(&c);
    ck_assert_int_eq(all_of_it(&a), SKEL_OK);
    const long calls = c.calls;
    ck_assert_int_gt(calls, 5);
    for (long k = 1; k <= calls; ++k) {
        c = (counter){.fail_at = k};
        ck_assert_int_eq(all_of_it(&a), SKEL_E_MEMORY);
        ck_assert_int_eq(c.live, 0);
    }
}
END_TEST

/* A bake by tolerance with the memory of `a`. Without bodies: of a ragdoll. */
static skel_status bake_by_tolerance(int32_t integrator, int32_t bodies, const skel_allocator *a) {
    rng r = rng_seed(5);
    ragdoll_options o = {.friction = 1, .allocator = a};
    scene s = bodies > 0 ? scene_chain(bodies, SKEL_JOINT_BALL, SKEL_JOINT_HINGE, .05, a)
                         : scene_ragdoll(&r, o);
    skel_bake *b = NULL;
    skel_bake_desc d;
    skel_error err;
    skel_bake_desc_init(&d), skel_error_init(&err);
    d.model = s.model, d.state = s.state, d.integrator = integrator, d.tolerance = 1e-4;
    d.sample_count = 2, d.sample_rate = 1000;

    /* Only the bake may run out of memory, not the scene before it. */
    counter *c = a->user;
    c->calls = 0;
    c->bytes = 0;
    c->fail_at = -c->fail_at;

    skel_status status = skel_bake_start(&d, &b, &err);
    if (status == SKEL_OK) status = skel_bake_advance(b, -1);
    c->fail_at = 0;
    skel_bake_destroy(b);
    scene_free(&s);
    return status;
}

START_TEST(integrators_by_tolerance_run_out_of_memory) {
    const struct {
        int32_t integrator, bodies; /* a ragdoll's contacts are events */
    } cases[5] = {{SKEL_INTEGRATOR_ADAMS, 3},
                  {SKEL_INTEGRATOR_ADAMS, 0},
                  {SKEL_INTEGRATOR_BDF, 3},   /* a dense Jacobian */
                  {SKEL_INTEGRATOR_BDF, 140}, /* Krylov */
                  {SKEL_INTEGRATOR_BDF, 0}};
    for (int e = 0; e < 5; ++e) {
        counter c = {0};
        skel_allocator a = counting(&c);
        ck_assert_int_eq(bake_by_tolerance(cases[e].integrator, cases[e].bodies, &a), SKEL_OK);
        const long calls = c.calls;
        ck_assert_int_eq(c.live, 0);

        /* CVODE's vectors are of this memory: 19 of them at least, 9 numbers for each body. */
        ck_assert_uint_ge(c.bytes, 19u * 9u * sizeof(double) * (size_t)cases[e].bodies);
        for (long k = 1; k <= calls; ++k) {
            c = (counter){.fail_at = -k};
            ck_assert_int_eq(bake_by_tolerance(cases[e].integrator, cases[e].bodies, &a),
                             SKEL_E_MEMORY);
            ck_assert_int_eq(c.live, 0);
        }
    }
}
END_TEST

START_TEST(incomplete_allocators_are_refused) {
    counter c = {0};
    skel_allocator a = counting(&c);
    skel_model_desc d;
    skel_body_desc body;
    skel_model *m;
    skel_model_desc_init(&d), skel_body_desc_init(&body);
    d.bodies = &body, d.body_count = 1, d.allocator = &a;
    a.alloc = NULL;
    ck_assert_int_eq(skel_model_create(&d, &m, NULL), SKEL_E_ARGUMENT);
    a = counting(&c);
    a.struct_size = 4;
    ck_assert_int_eq(skel_model_create(&d, &m, NULL), SKEL_E_ARGUMENT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("memory");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_step_allocates_nothing);
    tcase_add_test(t, a_fall_allocates_nothing);
    tcase_add_test(t, judges_allocate_once);
    tcase_add_test(t, a_bake_allocates_at_its_start);
    tcase_add_test(t, solving_allocates_nothing);
    tcase_add_test(t, running_out_of_memory);
    tcase_add_test(t, integrators_by_tolerance_run_out_of_memory);
    tcase_add_test(t, incomplete_allocators_are_refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
