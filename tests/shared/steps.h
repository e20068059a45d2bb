/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps and receipts in one line, for Check tests. */
#ifndef SKEL_TESTS_STEPS_H
#define SKEL_TESTS_STEPS_H

#include <check.h>
#include <skel/skel.h>

static inline void run_by(skel_state *s, int32_t integrator, int32_t solver, double h, int steps) {
    skel_step_desc d;
    skel_error err;
    skel_error_init(&err);
    skel_step_desc_init(&d);
    d.integrator = integrator, d.solver = solver, d.h = h;
    for (int k = 0; k < steps; ++k)
        ck_assert_msg(skel_step(s, &d, &err) == SKEL_OK, "step %d: %s", k, err.text);
}

static inline void run(skel_state *s, int32_t integrator, double h, int steps) {
    run_by(s, integrator, SKEL_SOLVER_TREE, h, steps);
}

static inline skel_report_row report(const skel_state *s) {
    skel_report_row row = {.struct_size = sizeof row};
    ck_assert_int_eq(skel_report(s, &row), SKEL_OK);
    return row;
}

#endif
