/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads share one model, each with states, bakes and solvers of its own; they parse, check
   and write documents meanwhile. Built with -fsanitize=thread (preset `tsan`) it finds every pair
   of accesses that nothing orders; in the other builds it compares what the threads computed. */
#include "shared/document.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 3, SAMPLES = 3, BODIES_MAX = 40 };

typedef struct worker {
    pthread_t thread;
    const skel_scene *scene; /* shared */
    const char *text;        /* shared */
    size_t length;
    double poses[SAMPLES * BODIES_MAX * 7];
    double linear[BODIES_MAX * 3], angular[BODIES_MAX * 3];
    size_t written;
    int32_t failures;
} worker;

static void count(worker *w, skel_status status) {
    w->failures += status != SKEL_OK;
}

static void documents(worker *w) {
    skel_scene *copy = NULL, *none = NULL;
    char lines[64];
    count(w, skel_scene_check(w->text, w->length, lines, sizeof lines, NULL));
    count(w, skel_scene_parse(w->text, w->length, &copy, NULL));
    w->failures += skel_scene_parse("{\"format\": ]", 12, &none, NULL) != SKEL_E_SYNTAX;
    w->failures += skel_scene_write(w->scene, NULL, 0, &w->written) != SKEL_E_BUFFER;
    skel_scene_destroy(copy);
}

static void motions(worker *w) {
    const skel_model *model = skel_scene_model(w->scene);
    const size_t nb = (size_t)skel_model_body_count(model);
    for (int32_t k = SKEL_INTEGRATOR_RK4; k <= SKEL_INTEGRATOR_CONSERVING; ++k) {
        skel_bake_desc desc = {.struct_size = sizeof desc};
        skel_bake *bake = NULL;
        count(w, skel_scene_get_bake_desc(w->scene, &desc));
        desc.integrator = k;
        desc.sample_count = SAMPLES;
        count(w, skel_bake_start(&desc, &bake, NULL));
        count(w, skel_bake_advance(bake, -1));
        if (w->failures) return;
        memcpy(w->poses, skel_bake_poses(bake), SAMPLES * nb * 7 * sizeof(double));
        skel_bake_destroy(bake);
    }
    skel_state *state = NULL;
    count(w, skel_state_create(model, &state, NULL));
    for (int32_t solver = 0; solver <= SKEL_SOLVER_KKT; ++solver)
        count(w, skel_accelerations(state, solver, w->linear, w->angular, NULL));
    skel_state_destroy(state);
}

static void solves(worker *w) {
    const skel_model *model = skel_scene_model(w->scene);
    double q[BODIES_MAX * 4];
    skel_goal_desc goal;
    skel_ik_desc desc;
    skel_ik *ik = NULL;
    skel_goal_desc_init(&goal);
    skel_ik_desc_init(&desc);
    goal.body = skel_model_body_count(model) - 1;
    desc.model = model;
    desc.goals = &goal;
    desc.goal_count = 1;
    desc.goal_stride = sizeof goal;
    desc.max_restarts = 1;
    count(w, skel_ik_create(&desc, &ik, NULL));
    count(w, skel_scene_get_middle_q(w->scene, q));
    count(w, skel_ik_solve(ik, q, NULL, NULL));
    skel_ik_destroy(ik);
}

static void *work(void *user) {
    worker *w = user;
    for (int k = 0; k < ROUNDS; ++k) {
        documents(w);
        motions(w);
        solves(w);
    }
    return NULL;
}

START_TEST(threads_share_a_model) {
    static const char *const k_files[] = {SKEL_SAMPLES "/free_tree.json",
                                          SKEL_SAMPLES "/humanoid.json"};
    static worker workers[THREADS];
    static char text[65536];
    FILE *file = fopen(k_files[_i], "rb");
    ck_assert_ptr_nonnull(file);
    const size_t length = fread(text, 1, sizeof text, file);
    skel_scene *scene = NULL;
    fclose(file);
    ck_assert_int_eq(skel_scene_parse(text, length, &scene, NULL), SKEL_OK);

    for (int i = 0; i < THREADS; ++i) {
        memset(&workers[i], 0, sizeof workers[i]);
        workers[i].scene = scene;
        workers[i].text = text;
        workers[i].length = length;
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);

    for (int i = 0; i < THREADS; ++i) {
        ck_assert_int_eq(workers[i].failures, 0);
        ck_assert_uint_eq(workers[i].written, workers[0].written);
        ck_assert_mem_eq(workers[i].poses, workers[0].poses, sizeof workers[0].poses);
        ck_assert_mem_eq(workers[i].linear, workers[0].linear, sizeof workers[0].linear);
    }
    skel_scene_destroy(scene);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("threads");
    TCase *cases = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    tcase_set_timeout(cases, 0);
    tcase_add_loop_test(cases, threads_share_a_model, 0, 2);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
