/* SPDX-License-Identifier: BSD-3-Clause */
/* The receipt of a table: the largest differences of its tool pose over test coordinates, from the
   chain that it was extracted from, or from another table. The chain is computed as a product of
   exponentials of the given axes,
     T(q) = M_1(q_1) .. M_n(q_n) tip,   M_i(q): rotation by q about axis i, or translation along it,
   which uses neither the rows nor the common normals. */
#include "model/dh.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "model/joint_kind.h"

/* Lehmer's generator: x_k+1 = 48271 x_k mod (2^31 - 1) */
#define LEHMER_FACTOR 48271u
#define LEHMER_MODULUS 2147483647u

/* The next test number in (-1, 1), as skel_dh.h documents. */
static double next_number(uint32_t *state) {
    *state = (uint32_t)((uint64_t)*state * LEHMER_FACTOR % LEHMER_MODULUS);
    return 2.0 * (double)*state / LEHMER_MODULUS - 1.0;
}

static void next_pose(const skel_dh *dh, double reach, uint32_t *state, double *q) {
    for (int32_t i = 0; i < dh->n; ++i) {
        const double range = skel__is_length(dh->row[i].type, 0) ? reach : 0.5 * SKEL__TURN;
        q[i] = range * next_number(state);
    }
}

/* Rotation about the line through p along u: x -> p + R (x - p). A slide: x -> x + q u. */
static pose motion_about(const skel__dh_axis *axis, double q) {
    const v3 u = v3_scale(axis->direction, 1.0 / v3_norm(axis->direction));
    if (skel__is_length(axis->type, 0)) return (pose){v3_scale(u, q), q_identity()};

    const quat turn = q_exp(v3_scale(u, q));
    return (pose){v3_sub(axis->point, q_rotate(turn, axis->point)), turn};
}

static pose chain_tool(const skel__dh_axis *axes, int32_t count, pose tip, const double *q) {
    pose x = {{0, 0, 0}, q_identity()};
    for (int32_t i = 0; i < count; ++i) {
        x = pose_mul(x, motion_about(&axes[i], q[i]));
        x.q = q_unit(x.q);
    }
    return pose_mul(x, tip);
}

/* frames: memory for (n + 1) x 7 numbers. Returns SKEL_E_ARGUMENT if the pose is not finite. */
static skel_status table_tool(const skel_dh *dh, const double *q, double *frames, pose *tool) {
    const skel_status status = skel_dh_frames(dh, q, frames);
    if (status == SKEL_OK) *tool = pose_of(frames + 7 * (size_t)dh->n);
    return status;
}

/* Compares two poses of the tool. Returns SKEL_E_ARGUMENT if their distance is not finite. */
static skel_status add_comparison(skel_dh_receipt *r, pose tool, pose expected) {
    const double distance = v3_norm(v3_sub(tool.p, expected.p));
    const double angle = v3_norm(q_log(q_mul(q_conj(expected.q), tool.q)));
    if (!isfinite(distance) || !isfinite(angle)) return SKEL_E_ARGUMENT;

    r->position_error = fmax(r->position_error, distance);
    r->angle_error = fmax(r->angle_error, angle);
    ++r->poses;
    return SKEL_OK;
}

/* Memory for n coordinates, followed by n + 1 frames of 7 numbers. */
static double *allocate_pose(const skel_dh *dh) {
    return skel__alloc(&dh->allocator, (8 * (size_t)dh->n + 7) * sizeof(double));
}

skel_status skel__dh_measure(skel_dh *dh, const skel__dh_axis *axes, pose tip, double reach) {
    uint32_t state = 1;
    skel_status status = SKEL_OK;
    double *q = allocate_pose(dh);
    if (!q) return SKEL_E_MEMORY;

    for (int k = 0; k < SKEL_DH_TEST_POSES && status == SKEL_OK; ++k) {
        pose tool;
        next_pose(dh, reach, &state, q);
        status = table_tool(dh, q, q + dh->n, &tool);
        if (status == SKEL_OK)
            status = add_comparison(&dh->receipt, tool, chain_tool(axes, dh->n, tip, q));
    }
    dh->receipt.reach = reach;
    for (int32_t i = 0; i < dh->n; ++i) dh->receipt.turned_count += dh->row[i].turned > 0.0;

    skel__free(&dh->allocator, q);
    return status;
}

static int have_same_joints(const skel_dh *a, const skel_dh *b) {
    if (a->n != b->n) return 0;
    for (int32_t i = 0; i < a->n; ++i)
        if (a->row[i].type != b->row[i].type) return 0;
    return 1;
}

skel_status skel_dh_compare(const skel_dh *dh, const skel_dh *other, skel_dh_receipt *out) {
    if (!dh || !other || !out || !have_same_joints(dh, other)) return SKEL_E_ARGUMENT;

    skel_dh_receipt r = dh->receipt;
    uint32_t state = 1;
    skel_status status = SKEL_OK;
    double *q = allocate_pose(dh);
    if (!q) return SKEL_E_MEMORY;

    r.poses = 0;
    r.turned_count = 0;
    r.position_error = 0.0;
    r.angle_error = 0.0;

    /* The reach: all lengths of the other table. */
    r.reach = v3_norm(other->tool.p);
    for (int32_t i = 0; i < other->n; ++i) r.reach += fabs(other->row[i].a) + fabs(other->row[i].d);

    for (int k = 0; k < SKEL_DH_TEST_POSES && status == SKEL_OK; ++k) {
        pose tool, expected;
        next_pose(dh, r.reach, &state, q);
        status = table_tool(other, q, q + dh->n, &expected);
        if (status == SKEL_OK) status = table_tool(dh, q, q + dh->n, &tool);
        if (status == SKEL_OK) status = add_comparison(&r, tool, expected);
    }
    skel__free(&dh->allocator, q);
    if (status != SKEL_OK) return status;
    return skel__desc_export(out, &r, sizeof r, sizeof r);
}
