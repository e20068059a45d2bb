/* SPDX-License-Identifier: BSD-3-Clause */
/* A model from bytes and ten steps of it, or the beginning of a bake: what is returned as a success
   is finite, and a step that fails leaves the state as it was. */
#include "fuzz/fuzz.h"

#include <string.h>

#define STEPS 10
#define FUZZ_STEPS_MAX 20
#define POSES_MAX (8 * 7)
#define VELOCITIES_MAX (8 * 6)

typedef struct snapshot {
    double poses[POSES_MAX];
    double velocities[VELOCITIES_MAX];
} snapshot;

static snapshot snapshot_of(const skel_state *state) {
    snapshot s = {{0}, {0}};
    FUZZ_REQUIRE(skel_state_get_poses(state, s.poses) == SKEL_OK, "poses");
    FUZZ_REQUIRE(skel_state_get_velocities(state, s.velocities) == SKEL_OK, "velocities");
    FUZZ_REQUIRE(fuzz_finite(s.poses, POSES_MAX), "poses");
    FUZZ_REQUIRE(fuzz_finite(s.velocities, VELOCITIES_MAX), "velocities");
    return s;
}

static void step_it(fuzz_bytes *b, const skel_model *model) {
    static const double k_steps[] = {1e-6, 1e-3, 1.0 / 240, 1.0 / 24, 1};
    skel_state *state = NULL;
    skel_step_desc desc;
    skel_error err;
    skel_error_init(&err);
    if (skel_state_create(model, &state, &err) != SKEL_OK) return;
    skel_step_desc_init(&desc);
    desc.h = k_steps[fuzz_choose(b, 5)];
    skel_state_project(state, NULL, NULL, NULL);

    for (int32_t k = 0; k < STEPS; ++k) {
        static const int32_t k_integrators[] = {SKEL_INTEGRATOR_CONSERVING, SKEL_INTEGRATOR_AUTO,
                                                SKEL_INTEGRATOR_RK4, SKEL_INTEGRATOR_EULER};
        const snapshot before = snapshot_of(state);
        desc.integrator = k_integrators[fuzz_choose(b, 4)];
        desc.solver = fuzz_choose(b, 3);
        const skel_status status = skel_step(state, &desc, &err);
        const snapshot after = snapshot_of(state);
        FUZZ_REQUIRE(status <= 0, "status of a step");
        if (status == SKEL_OK) continue;
        FUZZ_REQUIRE(memcmp(&before, &after, sizeof before) == 0, "a failed step moved the state");
        FUZZ_REQUIRE(err.text[0], "a failed step says why");
        break;
    }
    skel_state_destroy(state);
}

static void bake_it(fuzz_bytes *b, const skel_model *model) {
    skel_bake_desc desc;
    skel_bake *bake = NULL;
    skel_bake_desc_init(&desc);
    desc.model = model;
    desc.integrator = fuzz_choose(b, 6);
    desc.solver = fuzz_choose(b, 3);
    desc.sample_count = 3;
    desc.step = fuzz_choose(b, 2) ? 1.0 / 240 : 0;
    if (skel_bake_start(&desc, &bake, NULL) != SKEL_OK) return;

    skel_status status = SKEL_MORE;
    for (int32_t k = 0; k < FUZZ_STEPS_MAX && status == SKEL_MORE; ++k)
        status = skel_bake_advance(bake, 0);
    const size_t nb = (size_t)skel_model_body_count(model);
    const size_t done = (size_t)skel_bake_samples_done(bake);
    FUZZ_REQUIRE(done <= 3, "samples");
    FUZZ_REQUIRE(fuzz_finite(skel_bake_poses(bake), done * nb * 7), "poses");
    FUZZ_REQUIRE(fuzz_finite(skel_bake_velocities(bake), done * nb * 6), "velocities");

    skel_bake_summary sum = {.struct_size = sizeof sum};
    FUZZ_REQUIRE(skel_bake_get_summary(bake, &sum) == SKEL_OK, "summary");
    FUZZ_REQUIRE(sum.steps >= 0 && sum.joint_gap >= 0 && sum.contact_depth >= 0, "receipt");
    skel_bake_destroy(bake);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, size, 0};
    const int32_t bakes = fuzz_choose(&b, 4) == 0;
    skel_model *model = fuzz_model(&b);
    if (!model) return 0;
    if (bakes)
        bake_it(&b, model);
    else
        step_it(&b, model);
    skel_model_destroy(model);
    return 0;
}
