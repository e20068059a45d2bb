/* SPDX-License-Identifier: BSD-3-Clause */
/* Denavit-Hartenberg tables: the object, and how it is made from joint axes. */
#ifndef SKEL_MODEL_DH_H
#define SKEL_MODEL_DH_H

#include "math/quat.h"

#include <skel/skel_dh.h>

#define SKEL__DH_ROWS 100000 /* largest number of rows of a table */

struct skel_dh {
    skel_allocator allocator;
    int32_t convention, n;
    pose base, tool;
    skel_dh_receipt receipt;
    skel_dh_row row[]; /* (n) */
};

static inline pose pose_of(const double x[7]) {
    return (pose){v3_of(x), q_of(x + 3)};
}
static inline void pose_to(pose x, double out[7]) {
    v3_to(x.p, out);
    q_to(x.q, out + 3);
}
/* Tx(a) Rx(alpha) = Rx(alpha) Tx(a). */
static inline pose pose_about_x(double a, double alpha) {
    return (pose){{a, 0, 0}, q_exp((v3){alpha, 0, 0})};
}
/* Rz(theta) Tz(d) = Tz(d) Rz(theta). */
static inline pose pose_about_z(double d, double theta) {
    return (pose){{0, 0, d}, q_exp((v3){0, 0, theta})};
}

/* One joint axis of a chain, in the world at q = 0. */
typedef struct skel__dh_axis {
    v3 point, direction; /* the direction may have any length but 0 */
    int32_t type;        /* SKEL_JOINT_HINGE or SKEL_JOINT_SLIDE */
    int32_t joint, part; /* the joint of the model, and which of its axes this is */
} skel__dh_axis;

/* The options of a desc that decide how axes are read. */
typedef struct skel__dh_rules {
    int32_t convention;
    double snap, parallel_tolerance; /* [rad] */
} skel__dh_rules;

/* Makes the canonical table of `count` axes that move `tip`. */
skel_status skel__dh_of_axes(const skel__dh_axis *axes, int32_t count, pose tip,
                             skel__dh_rules rules, const skel_allocator *allocator, skel_dh **out,
                             skel_error *err);
/* Fills the receipt: the errors of the table against the axes that it was made from. */
skel_status skel__dh_measure(skel_dh *dh, const skel__dh_axis *axes, pose tip, double reach);
/* Checks the options of a desc. */
skel_status skel__dh_check_rules(const skel__dh_rules *rules, skel_error *err);
/* Checks a pose of 7 numbers: finite, and the quaternion of unit length to 1e-3. */
skel_status skel__dh_check_pose(const char *field, const double x[7], skel_error *err);

#endif
