/* SPDX-License-Identifier: BSD-3-Clause */
/* A model from bytes and goals for it: the answer is finite, and the receipt fits its goals. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>

#define GOALS_MAX 3
#define Q_MAX (9 * 4)
#define SOLVES 3

static void make_goal(fuzz_bytes *b, int32_t nb, int32_t nj, const int32_t *joint,
                      skel_goal_desc *g) {
    skel_goal_desc_init(g);
    g->kind = fuzz_choose(b, 4);
    g->body = fuzz_choose(b, nb);
    g->parts = (uint32_t)fuzz_choose(b, 16);
    g->priority = fuzz_choose(b, 3);
    g->weight = fuzz_unit(b);
    fuzz_vector(b, g->point);
    fuzz_vector(b, g->position);
    fuzz_rotation(b, g->orientation);
    fuzz_vector(b, g->axis);
    g->from = fuzz_choose(b, nb + 1) - 1;
    g->to = fuzz_choose(b, nb + 1) - 1;
    fuzz_vector(b, g->to_point);
    const int32_t extra = fuzz_choose(b, 8);
    if (extra == 1) g->relative_to = fuzz_choose(b, nb);
    if (extra == 2) g->chain_depth = 1 + fuzz_choose(b, 3);
    if (extra == 3) g->chain_root = fuzz_choose(b, nb);
    if (extra == 4 && nj > 0) {
        g->joints = joint;
        g->joint_count = 1;
    }
}

static void solve(fuzz_bytes *b, skel_ik *ik, const skel_model *model, uint32_t goals,
                  double tolerance) {
    double q[Q_MAX] = {0}, poses[8 * 7];
    skel_ik_receipt receipt = {.struct_size = sizeof receipt};
    skel_error err;
    const size_t nq = (size_t)skel_model_q_count(model);
    skel_error_init(&err);
    for (size_t k = 0; k < nq; ++k) q[k] = fuzz_number(b);
    if (skel_ik_solve(ik, q, &receipt, &err) != SKEL_OK) {
        FUZZ_REQUIRE(err.text[0], "a failed solve says why");
        return;
    }
    FUZZ_REQUIRE(fuzz_finite(q, nq), "answer");
    FUZZ_REQUIRE(skel_ik_get_poses(ik, poses) == SKEL_OK, "poses");
    FUZZ_REQUIRE(fuzz_finite(poses, (size_t)skel_model_body_count(model) * 7), "poses");
    FUZZ_REQUIRE(receipt.residual >= 0 && isfinite(receipt.residual), "residual");
    FUZZ_REQUIRE(receipt.reached == (receipt.residual <= tolerance), "reached");
    FUZZ_REQUIRE(receipt.smallest_singular_value >= 0, "singular value");
    FUZZ_REQUIRE(receipt.iterations >= 0 && receipt.restarts >= 0 && receipt.active_limits >= 0,
                 "counts");
    for (uint32_t k = 0; k < goals; ++k) {
        double distance = -1, angle = -1;
        FUZZ_REQUIRE(skel_ik_get_residual(ik, (int32_t)k, &distance, &angle) == SKEL_OK, "goal");
        FUZZ_REQUIRE(distance >= 0 && angle >= 0, "residual of a goal");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes b = {data, size, 0};
    skel_model *model = fuzz_model(&b);
    skel_goal_desc goals[GOALS_MAX];
    skel_ik_desc desc;
    skel_ik *ik = NULL;
    if (!model) return 0;

    const int32_t nb = skel_model_body_count(model), nj = skel_model_joint_count(model);
    const int32_t joint = nj > 0 ? fuzz_choose(&b, nj) : 0;
    skel_ik_desc_init(&desc);
    desc.model = model;
    desc.goals = goals;
    desc.goal_stride = sizeof *goals;
    desc.goal_count = 1 + (uint32_t)fuzz_choose(&b, GOALS_MAX);
    desc.mode = fuzz_choose(&b, 2);
    desc.method = fuzz_choose(&b, 5) == 1 ? SKEL_IK_NEWTON : SKEL_IK_DAMPED;
    desc.root = fuzz_choose(&b, 3);
    desc.max_iterations = 50;
    desc.max_restarts = fuzz_choose(&b, 3);
    for (uint32_t k = 0; k < desc.goal_count; ++k) make_goal(&b, nb, nj, &joint, &goals[k]);

    if (skel_ik_create(&desc, &ik, NULL) == SKEL_OK)
        for (int32_t k = 0; k < SOLVES; ++k) solve(&b, ik, model, desc.goal_count, desc.tolerance);
    skel_ik_destroy(ik);
    skel_model_destroy(model);
    return 0;
}
