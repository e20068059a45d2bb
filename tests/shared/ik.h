/* SPDX-License-Identifier: BSD-3-Clause */
/* Solvers of inverse kinematics for tests. */
#ifndef SKEL_TESTS_IK_H
#define SKEL_TESTS_IK_H

#include <check.h>
#include <skel/skel_ik.h>

static inline skel_goal_desc goal_of(int32_t body) {
    skel_goal_desc g;
    skel_goal_desc_init(&g);
    g.body = body;
    return g;
}

static inline skel_ik_desc desc_of(const skel_model *m, const skel_goal_desc *g, uint32_t count) {
    skel_ik_desc d;
    skel_ik_desc_init(&d);
    d.model = m, d.goals = g, d.goal_count = count;
    return d;
}

static inline skel_ik *make(const skel_ik_desc *d) {
    skel_ik *ik;
    skel_error err;
    skel_error_init(&err);
    ck_assert_msg(skel_ik_create(d, &ik, &err) == SKEL_OK, "%s", err.text);
    return ik;
}

static inline skel_ik_receipt solve(skel_ik *ik, double *q) {
    skel_ik_receipt r = {.struct_size = sizeof r};
    ck_assert_int_eq(skel_ik_solve(ik, q, &r, NULL), SKEL_OK);
    return r;
}

#endif
