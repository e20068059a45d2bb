/* SPDX-License-Identifier: BSD-3-Clause */
/* A scene of a desc, and its bake to the end, for Check tests. */
#ifndef SKEL_TESTS_BUILD_H
#define SKEL_TESTS_BUILD_H

#include "shared/near.h"
#include "shared/scenes.h"
#include "shared/steps.h"

static inline scene build(const skel_model_desc *d) {
    scene s;
    skel_error err;
    skel_error_init(&err);
    ck_assert_msg(skel_model_create(d, &s.model, &err) == SKEL_OK, "%s", err.text);
    ck_assert_msg(skel_state_create(s.model, &s.state, &err) == SKEL_OK, "%s", err.text);
    return s;
}

/* step: of the conserving integrator; adams and bdf take the tolerance. */
static inline skel_bake *bake_all(const scene *s, int32_t integrator, double tolerance, double step,
                                  double rate, uint32_t samples) {
    skel_bake_desc d;
    skel_bake *b;
    skel_error err;
    skel_error_init(&err);
    skel_bake_desc_init(&d);
    d.model = s->model, d.state = s->state, d.integrator = integrator, d.tolerance = tolerance;
    d.step = integrator == SKEL_INTEGRATOR_CONSERVING ? step : 0;
    d.sample_rate = rate, d.sample_count = samples;
    ck_assert_msg(skel_bake_start(&d, &b, &err) == SKEL_OK, "%s", err.text);
    const skel_status status = skel_bake_advance(b, -1);
    skel_bake_get_error(b, &err);
    ck_assert_msg(status == SKEL_OK, "%s", err.text);
    return b;
}

static inline skel_report_row bake_report(const skel_bake *b, int32_t sample) {
    skel_report_row row = {.struct_size = sizeof row};
    ck_assert_int_eq(skel_bake_get_report(b, sample, &row), SKEL_OK);
    return row;
}

/* A body of an even shape. */
static inline skel_body_desc body_of(int32_t shape, double x, double y, double z, double mass) {
    skel_body_desc b;
    skel_body_desc_init(&b);
    b.shape = shape, b.mass = mass;
    b.size[0] = x, b.size[1] = y, b.size[2] = z;
    ck_assert_int_eq(skel_shape_inertia(shape, b.size, mass, b.inertia), SKEL_OK);
    return b;
}

static inline double total(const skel_report_row *r) {
    return r->kinetic + r->potential;
}
/* What the works do not explain. */
static inline double balance(const skel_report_row *now, const skel_report_row *start) {
    const double works = now->work_motor + now->work_friction + now->work_load + now->work_drive +
                         now->work_contact - start->work_motor - start->work_friction -
                         start->work_load - start->work_drive - start->work_contact;
    return total(now) - total(start) - works;
}

#endif
