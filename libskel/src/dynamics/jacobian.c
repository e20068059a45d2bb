/* SPDX-License-Identifier: BSD-3-Clause */
/* Geometric Jacobian of a point: every joint between the body and its root contributes a rotation
   about its axis, or a translation along it. */
#include "dynamics/dynamics.h"

#include <skel/skel_ik.h>

#include <string.h>

static pose pose_at(const double *poses, int32_t body) {
    if (body < 0) return (pose){{0, 0, 0}, q_identity()};
    const double *x = poses + 7 * (size_t)body;
    return (pose){v3_of(x), q_of(x + 3)};
}

/* Column c of the Jacobian. */
static void set_column(double *j, int32_t nv, int32_t c, v3 linear, v3 angular) {
    const double column[6] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
    for (int32_t r = 0; r < 6; ++r) j[r * nv + c] = column[r];
}

/* Columns of one joint. */
static void add_joint(const skel_model *m, const skel__joint *joint, const double *poses, v3 point,
                      double *j) {
    const pose outer = pose_mul(pose_at(poses, joint->a), joint->fa);
    const pose inner = pose_mul(pose_at(poses, joint->b), joint->fb);
    const double sign = joint->reversed ? -1.0 : 1.0;
    const m3 a = q_matrix(outer.q), b = q_matrix(inner.q);
    const v3 ea[3] = {m3_column(a, 0), m3_column(a, 1), m3_column(a, 2)};
    const v3 eb[3] = {m3_column(b, 0), m3_column(b, 1), m3_column(b, 2)};
    const v3 lever = v3_sub(point, inner.p), none = {0, 0, 0};

    for (int k = 0; k < skel__joint_nv(joint->type); ++k) {
        const skel__joint_column column = skel__joint_column_of(joint, ea, eb, k);
        const v3 axis = v3_scale(column.axis, sign);
        v3 linear = v3_scale(axis, column.shift);
        if (column.turn != 0) linear = v3_cross(axis, lever);
        if (column.turn != 0 && column.shift != 0) linear = v3_mad(linear, column.shift, axis);
        set_column(j, m->nv, joint->v_offset + k, linear, column.turn != 0 ? axis : none);
    }
}

/* The velocity of a mimic joint is factor times the velocity of its source joint: chain rule. */
static void apply_mimic(const skel_model *m, const skel__joint *joint, double *j) {
    for (int32_t r = 0; r < 6; ++r) {
        double *row = j + (size_t)r * (size_t)m->nv;
        row[m->joint[joint->mimic_root].v_offset] += joint->mimic_factor * row[joint->v_offset];
        row[joint->v_offset] = 0;
    }
}

skel_status skel_jacobian(const skel_model *model, const double *poses, int32_t body,
                          const double point[3], double *jacobian) {
    if (!model || !poses || !point || !jacobian || body < 0 || body >= model->nb)
        return SKEL_E_ARGUMENT;
    for (int32_t i = 0; i < 7 * model->nb; ++i)
        if (!isfinite(poses[i])) return SKEL_E_ARGUMENT;

    /* The point in the world. */
    const pose at = pose_at(poses, body);
    const v3 p = v3_add(at.p, q_rotate(at.q, v3_of(point)));

    /* Joints on the path to the root, then mimic joints. */
    memset(jacobian, 0, 6 * (size_t)model->nv * sizeof *jacobian);
    for (int32_t i = body; skel__is_dynamic(model, i); i = model->body[i].parent)
        if (model->body[i].joint >= 0)
            add_joint(model, &model->joint[model->body[i].joint], poses, p, jacobian);
    for (int32_t k = 0; k < model->nmimic; ++k)
        apply_mimic(model, &model->joint[model->mimic_joint[k]], jacobian);

    /* A lever, or a chain of mimic factors, may overflow. */
    return all_finite(jacobian, 6 * (size_t)model->nv) ? SKEL_OK : SKEL_E_ARGUMENT;
}
