/* SPDX-License-Identifier: BSD-3-Clause */
/* Some of the random scenes (shared/random_scenes.h) at default settings: none fails, joints stay
   closed, and energy never grows. bench/scenes.c takes all of them. */
#include "shared/near.h"
#include "shared/scene_receipt.h"

#define SECONDS 2.0
#define RANDOM_SCENE_COUNT 40

START_TEST(random_scenes) {
    random_scene s = scene_random((uint64_t)_i);
    const scene_receipt r = scene_receipt_of(&s, SECONDS);
    const char *fault = scene_fault(&s, &r);
    ck_assert_msg(!fault, "seed %d: %s; gap %.3g, gain %.3g, rise %.3g, CPU %.3g s", _i, fault,
                  r.gap, r.gain, r.rise, r.cpu);
    scene_free(&s.scene);
}
END_TEST

/* The numbers of a scene depend on its seed alone. */
START_TEST(same_seed_same_scene) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        random_scene a = scene_random(seed), b = scene_random(seed);
        const int32_t n = skel_model_body_count(a.scene.model);
        double x[7 * 64], y[7 * 64];
        ck_assert_int_eq(n, skel_model_body_count(b.scene.model));
        ck_assert_int_le(n, 64);
        ck_assert_int_eq(skel_state_get_poses(a.scene.state, x), SKEL_OK);
        ck_assert_int_eq(skel_state_get_poses(b.scene.state, y), SKEL_OK);
        for (int32_t k = 0; k < 7 * n; ++k) ck_assert(x[k] == y[k]);
        scene_free(&a.scene);
        scene_free(&b.scene);
    }
}
END_TEST

/* Together the scenes hold all that they are to try. */
START_TEST(nothing_is_missing) {
    int loops = 0, limits = 0, follows = 0, grounds = 0, wobbles = 0, drives = 0, passive = 0;
    for (uint64_t seed = 0; seed < RANDOM_SCENE_COUNT; ++seed) {
        random_scene s = scene_random(seed);
        loops += s.loops > 0;
        limits += s.limits > 0;
        follows += s.follows > 0;
        grounds += s.grounds;
        wobbles += s.wobbles > 0;
        drives += s.drives > 0;
        passive += s.is_passive;
        scene_free(&s.scene);
    }
    ck_assert_int_ge(loops, 2);
    ck_assert_int_ge(limits, RANDOM_SCENE_COUNT / 2);
    ck_assert_int_ge(follows, 4);
    ck_assert_int_ge(grounds, 8);
    ck_assert_int_ge(wobbles, 3);
    ck_assert_int_ge(drives, 8);
    ck_assert_int_ge(passive, 4);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("random scenes");
    TCase *one = tcase_create("all");
    tcase_set_timeout(one, 300);
    tcase_add_loop_test(one, random_scenes, 0, RANDOM_SCENE_COUNT);
    tcase_add_test(one, same_seed_same_scene);
    tcase_add_test(one, nothing_is_missing);
    suite_add_tcase(suite, one);
    return run_suite(suite);
}
