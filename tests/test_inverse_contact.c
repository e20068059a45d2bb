/* SPDX-License-Identifier: BSD-3-Clause */
/* Contact forces of a known motion: blocks of which the forces are known by hand. Skeletons follow
   in tests/python/test_inverse.py. */
#include "dynamics/inverse.h"
#include "shared/counter.h"
#include "shared/near.h"
#include "shared/scenes.h"

#include <skel/skel_bake.h>
#include <skel/skel_inverse.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define G 9.81

/* ---- blocks on a plane ---- */

typedef struct blocks {
    int count;       /* boxes of 0.4 x 0.3 x 0.2 m, one upon the other, 0 gap */
    double slope;    /* [rad] of the plane, about y */
    double friction; /* of the plane */
    double mass[2];
    int is_rigid;
    const double *pinned; /* from..to of the first one, or NULL */
    const skel_allocator *allocator;
} blocks;

static skel_model *blocks_of(blocks b) {
    skel_body_desc bodies[2];
    skel_ground_desc ground;
    skel_model_desc d;
    skel_model *m = NULL;
    skel_error err;
    const v3 up = {sin(b.slope), 0, cos(b.slope)};
    skel_error_init(&err);
    skel_ground_desc_init(&ground);
    skel_model_desc_init(&d);
    v3_to(up, ground.normal);
    ground.friction = b.friction;
    ground.is_rigid = b.is_rigid;
    for (int k = 0; k < b.count; ++k) {
        const double size[3] = {.4, .3, .2};
        skel_body_desc_init(&bodies[k]);
        bodies[k].mass = b.mass[k];
        bodies[k].shape = SKEL_SHAPE_BOX;
        memcpy(bodies[k].size, size, sizeof size);
        skel_shape_inertia(SKEL_SHAPE_BOX, size, b.mass[k], bodies[k].inertia);
        v3_to(v3_scale(up, .1 + .2 * k + 1e-6), bodies[k].position);
        q_to(q_exp((v3){0, b.slope, 0}), bodies[k].orientation);
    }
    if (b.pinned) {
        bodies[0].pinned = b.pinned;
        bodies[0].pinned_count = 1;
    }
    d.bodies = bodies;
    d.body_count = (uint32_t)b.count;
    d.grounds = &ground;
    d.ground_count = 1;
    d.allocator = b.allocator;
    d.gravity[2] = -G;
    ck_assert_msg(skel_model_create(&d, &m, &err) == SKEL_OK, "%s", err.text);
    return m;
}

typedef struct run {
    skel_bake *bake;
    skel_inverse *inverse;
} run;

static skel_inverse *inverse_of(const skel_model *m, const double *poses, uint32_t n, double rate) {
    skel_inverse_desc d;
    skel_inverse *v = NULL;
    skel_error err;
    skel_error_init(&err);
    skel_inverse_desc_init(&d);
    d.model = m;
    d.poses = poses;
    d.sample_count = n;
    d.sample_rate = rate;
    ck_assert_msg(skel_inverse_create(&d, &v, &err) == SKEL_OK, "%s", err.text);
    return v;
}

/* A bake of the model and the forces of its motion. */
static run run_of(const skel_model *m, skel_bake_desc d) {
    run r = {0};
    skel_error err;
    skel_error_init(&err);
    d.model = m;
    ck_assert_msg(skel_bake_start(&d, &r.bake, &err) == SKEL_OK, "%s", err.text);
    const skel_status status = skel_bake_advance(r.bake, -1);
    skel_bake_get_error(r.bake, &err);
    ck_assert_msg(status == SKEL_OK, "%s", err.text);
    r.inverse = inverse_of(m, skel_bake_poses(r.bake), d.sample_count, d.sample_rate);
    return r;
}

static void run_free(run *r) {
    skel_inverse_destroy(r->inverse);
    skel_bake_destroy(r->bake);
}

static skel_inverse_summary summary_of(const skel_inverse *v) {
    skel_inverse_summary sum = {.struct_size = sizeof sum};
    ck_assert_int_eq(skel_inverse_get_summary(v, &sum), SKEL_OK);
    return sum;
}

static skel_inverse_contact contact_of(const skel_inverse *v, int32_t sample, int32_t k) {
    skel_inverse_contact c = {.struct_size = sizeof c};
    ck_assert_int_eq(skel_inverse_get_contact(v, sample, k, &c), SKEL_OK);
    return c;
}

/* Sum of the contact forces on a body at a sample; all of them are within their cones. */
static v3 push_on(const skel_inverse *v, int32_t sample, int32_t body, double friction) {
    v3 sum = {0, 0, 0};
    for (int32_t k = 0; k < skel_inverse_contact_count(v, sample); ++k) {
        const skel_inverse_contact c = contact_of(v, sample, k);
        const v3 f = v3_of(c.force), n = v3_of(c.normal);
        const double normal = v3_dot(f, n);
        ck_assert_double_ge(normal, 0);
        ck_assert_double_le(v3_norm(v3_mad(f, -normal, n)),
                            friction * normal * (1 + 1e-12) + 1e-12);
        if (c.body == body) sum = v3_add(sum, f);
        if (c.other == body) sum = v3_sub(sum, f);
    }
    return sum;
}

START_TEST(a_block_at_rest_on_a_slope_needs_nothing) {
    static const int32_t integrator[3] = {SKEL_INTEGRATOR_CONSERVING, SKEL_INTEGRATOR_RK4,
                                          SKEL_INTEGRATOR_ADAMS};
    const double slope = 20 * SKEL__TURN / 360, weight = 2 * G;
    skel_model *m = blocks_of((blocks){1, slope, .8, {2, 0}, 0, NULL, NULL});
    skel_bake_desc d;
    skel_bake_desc_init(&d);
    d.integrator = integrator[_i];
    d.sample_count = 241;
    d.sample_rate = 240;
    d.preroll = 2; /* it settles */
    if (_i == 1) d.step = 1.0 / 4800;
    run r = run_of(m, d);
    const skel_inverse_summary sum = summary_of(r.inverse);
    printf("block on a slope, %s: residual %.2g of the weight, %.2g of weight times metre\n",
           skel_integrator_name(integrator[_i]), sum.residual_force / weight,
           sum.residual_torque / weight);
    ck_assert_int_eq(sum.event_samples, 0);
    ck_assert_int_eq(sum.law_samples, 0);
    ck_assert_int_eq(sum.contact_samples, 241);
    ck_assert_double_le(sum.residual_force, 1e-6 * weight);
    ck_assert_double_le(sum.residual_torque, 1e-6 * weight);

    /* By hand: the ground carries the weight, m g sin of it by friction. */
    for (int32_t k = 0; k < 241; k += 40) {
        const v3 f = push_on(r.inverse, k, 0, .8);
        ck_assert_double_le(v3_norm(v3_sub(f, (v3){0, 0, weight})), 2e-6 * weight);
    }
    run_free(&r);
    skel_model_destroy(m);
}
END_TEST

START_TEST(what_leaves_the_cone_stays) { /* somebody pulls the block along faster than it slips */
    const double mu = .3, mass = 2, pull = 6;
    skel_model *m = blocks_of((blocks){1, 0, mu, {mass, 0}, 0, NULL, NULL});
    double x[41 * 7];
    for (int k = 0; k < 41; ++k) {
        const double at[7] = {.5 * pull * (k / 120.) * (k / 120.), 0, .0999, 1, 0, 0, 0};
        memcpy(x + 7 * k, at, sizeof at);
    }
    skel_inverse *v = inverse_of(m, x, 41, 120);

    /* m (pull, g) is projected onto the edge (mu, 1) of the cone; the force that is left is along
       (1, -mu). All act through the middle of the bottom, so there is torque left as well. */
    const double *residual = skel_inverse_residual(v) + 6 * 20;
    const v3 f = push_on(v, 20, 0, mu);
    ck_assert_double_gt(residual[0], 0);
    near1(f.x, mu * f.z, 1e-9 * mass * G);
    near1(f.x + residual[0], mass * pull, 1e-6);
    near1(f.z + residual[2], mass * G, 1e-6);
    ck_assert_double_gt(summary_of(v).residual_force, .1 * mass * G);
    skel_inverse_destroy(v);
    skel_model_destroy(m);
}
END_TEST

START_TEST(contacts_act_on_both) { /* two blocks, one upon the other, are two skeletons */
    const double mass[2] = {3, 1}, weight = (mass[0] + mass[1]) * G;
    skel_model *m = blocks_of((blocks){2, .2, .8, {mass[0], mass[1]}, 0, NULL, NULL});
    skel_bake_desc d;
    skel_bake_desc_init(&d);
    d.sample_count = 121;
    d.sample_rate = 240;
    d.preroll = 3;
    run r = run_of(m, d);
    const skel_inverse_summary sum = summary_of(r.inverse);
    printf("two blocks on a slope: residual %.2g of the weight\n", sum.residual_force / weight);
    ck_assert_double_le(sum.residual_force, 1e-6 * weight);
    ck_assert_double_le(sum.residual_torque, 1e-6 * weight);
    for (int body = 0; body < 2; ++body) {
        const v3 f = push_on(r.inverse, 60, body, .8);
        ck_assert_double_le(v3_norm(v3_sub(f, (v3){0, 0, mass[body] * G})), 2e-6 * weight);
    }
    run_free(&r);
    skel_model_destroy(m);
}
END_TEST

START_TEST(a_state_alone_too) { /* skel_inverse_dynamics: a block that stands still in the ground */
    skel_model *m = blocks_of((blocks){1, .3, .8, {2, 0}, 0, NULL, NULL});
    skel_state *s = NULL;
    const v3 up = {sin(.3), 0, cos(.3)};
    double x[7] = {0}, still[3] = {0}, torque[1], residual[6];
    ck_assert_int_eq(skel_state_create(m, &s, NULL), SKEL_OK);
    v3_to(v3_scale(up, .099), x);
    q_to(q_exp((v3){0, .3, 0}), x + 3);
    ck_assert_int_eq(skel_state_set_poses(s, x), SKEL_OK);
    ck_assert_int_eq(skel_inverse_dynamics(s, still, still, torque, NULL, residual, NULL), SKEL_OK);
    ck_assert_double_le(max_abs(residual, 6), 1e-8);

    /* out of touch it is the weight */
    v3_to(v3_scale(up, .101), x);
    ck_assert_int_eq(skel_state_set_poses(s, x), SKEL_OK);
    ck_assert_int_eq(skel_inverse_dynamics(s, still, still, torque, NULL, residual, NULL), SKEL_OK);
    const double want[6] = {0, 0, 2 * G, 0, 0, 0};
    near(residual, want, 6, 1e-12);
    skel_state_destroy(s);
    skel_model_destroy(m);
}
END_TEST

/* ---- events ---- */

START_TEST(derivatives_stop_at_a_bounce) { /* on a rigid ground, between two samples */
    const double rate = 100, fall = .4437, speed = .5 * G * fall;
    skel_model *m = blocks_of((blocks){1, 0, .8, {2, 0}, 1, NULL, NULL});
    double x[81 * 7], worst = 0;
    for (int k = 0; k < 81; ++k) {
        const double t = k / rate, u = t - fall; /* half the speed is left */
        const double z = u < 0 ? .5 * G * (fall * fall - t * t) : speed * u - .5 * G * u * u;
        const double at[7] = {.3 * t, 0, .1 + z, 1, 0, 0, 0};
        memcpy(x + 7 * k, at, sizeof at);
    }
    skel_inverse *v = inverse_of(m, x, 81, rate);
    for (int k = 0; k < 81; ++k) worst = fmax(worst, max_abs(skel_inverse_residual(v) + 6 * k, 6));
    printf("bounce between two samples: residual %.2g N of %.3g\n", worst, 2 * G);
    ck_assert_double_le(worst, 1e-6 * 2 * G);
    ck_assert_int_eq(summary_of(v).event_samples, 0);
    skel_inverse_destroy(v);

    /* With eight samples on the far side the derivatives reach across, and that is said. */
    v = inverse_of(m, x, 45 + 8, rate);
    ck_assert_int_gt(summary_of(v).event_samples, 0);
    ck_assert_int_eq(skel_inverse_flags(v)[45], SKEL_INVERSE_ACROSS_EVENT);
    ck_assert_int_eq(skel_inverse_flags(v)[20], 0);
    skel_inverse_destroy(v);
    skel_model_destroy(m);
}
END_TEST

START_TEST(uncertainty_covers_jumps_and_kinks) { /* of a force that no contact explains */
    for (int order = 2; order < 4; ++order)
        for (int share = 0; share < 10; ++share) {
            skel_model *m = blocks_of((blocks){1, 0, .8, {2, 0}, 0, NULL, NULL});
            double x[41 * 7];
            const double rate = 100, jump = 7;
            for (int k = 0; k < 41; ++k) {
                const double u = fmax(0, k - 20 - .1 * share) / rate;
                const double at[7] = {
                    jump * (order == 2 ? .5 * u * u : u * u * u / 6), 0, 5, 1, 0, 0, 0};
                memcpy(x + 7 * k, at, sizeof at);
            }
            skel_inverse *v = inverse_of(m, x, 41, rate);
            for (int k = 0; k < 41; ++k) {
                const double u = fmax(0, k - 20 - .1 * share) / rate;
                const double want = u > 0 ? 2 * jump * (order == 2 ? 1 : u) : 0;
                const double found = skel_inverse_residual(v)[6 * k];
                const double bound = skel_inverse_uncertainty(v)[k];
                ck_assert_msg(share == 0 || fabs(found - want) <= bound + 1e-9,
                              "order %d, share %d, sample %d: off by %.3g, uncertainty %.3g", order,
                              share, k, fabs(found - want), bound);
                if (k < 8 || k > 32) ck_assert_double_le(bound, 1e-6 * 2 * G);
            }
            skel_inverse_destroy(v);
            skel_model_destroy(m);
        }
}
END_TEST

/* ---- what cannot be solved for ---- */

START_TEST(pins_leave_the_law) { /* their forces are not known, and no contact may explain them */
    const double pinned[2] = {0, .2};
    skel_model *m = blocks_of((blocks){1, 0, .8, {2, 0}, 0, pinned, NULL});
    double x[61 * 7];
    for (int k = 0; k < 61; ++k) {
        const double at[7] = {0, 0, .0995, 1, 0, 0, 0};
        memcpy(x + 7 * k, at, sizeof at);
    }
    skel_inverse *v = inverse_of(m, x, 61, 120);
    const double *early = skel_inverse_residual(v) + 6 * 10, *late = skel_inverse_residual(v) + 360;
    double law = 0;
    for (int k = 0; k < 4; ++k) law += contact_of(v, 10, k).law;
    ck_assert_int_eq(skel_inverse_flags(v)[10], SKEL_INVERSE_LAW);
    near1(early[2], 2 * G - law, 1e-9 * law);
    ck_assert_int_eq(skel_inverse_flags(v)[60], 0);
    ck_assert_double_le(max_abs(late, 6), 1e-6 * 2 * G);
    ck_assert_int_eq(summary_of(v).law_samples, 24);
    skel_inverse_destroy(v);
    skel_model_destroy(m);
}
END_TEST

/* ---- memory ---- */

START_TEST(whatever_fails_nothing_is_lost) {
    counter c = {0};
    const skel_allocator a = {sizeof a, 0, count_alloc, count_free, &c};
    skel_model *m = blocks_of((blocks){1, 0, .8, {2, 0}, 0, NULL, &a});
    double x[20 * 7];
    skel_inverse_desc d;
    skel_inverse *v = NULL;
    const long live = c.live;
    for (int k = 0; k < 20; ++k) {
        const double at[7] = {0, 0, .0995, 1, 0, 0, 0};
        memcpy(x + 7 * k, at, sizeof at);
    }
    skel_inverse_desc_init(&d);
    d.model = m;
    d.poses = x;
    d.sample_count = 20;
    int failed = 0;
    for (c.fail_at = 1;; ++c.fail_at, ++failed) {
        c.calls = 0;
        const skel_status status = skel_inverse_create(&d, &v, NULL);
        if (status == SKEL_OK) break;
        ck_assert_int_eq(status, SKEL_E_MEMORY);
        ck_assert_ptr_null(v);
        ck_assert_int_eq(c.live, live);
    }
    ck_assert_int_eq(failed, 4); /* itself, a state, the contacts kept, those being solved */
    skel_inverse_destroy(v);
    skel_model_destroy(m);
    ck_assert_int_eq(c.live, 0);
}
END_TEST

START_TEST(wrong_calls_are_refused) {
    skel_model *m = blocks_of((blocks){1, 0, .8, {2, 0}, 0, NULL, NULL});
    skel_inverse_contact c = {.struct_size = sizeof c};
    double x[5 * 7];
    for (int k = 0; k < 5; ++k) {
        const double at[7] = {0, 0, .0995, 1, 0, 0, 0};
        memcpy(x + 7 * k, at, sizeof at);
    }
    skel_inverse *v = inverse_of(m, x, 5, 24);
    ck_assert_int_eq(skel_inverse_contact_count(v, 2), 4);
    ck_assert_int_eq(skel_inverse_contact_count(v, 5), 0);
    ck_assert_int_eq(skel_inverse_contact_count(NULL, 0), 0);
    ck_assert_int_eq(skel_inverse_get_contact(v, 2, 4, &c), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_inverse_get_contact(v, 2, -1, &c), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_inverse_get_contact(v, 2, 0, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_inverse_get_contact(v, 2, 0, &c), SKEL_OK);
    ck_assert_int_eq(c.body, 0);
    ck_assert_int_eq(c.other, SKEL_WORLD);
    ck_assert_int_eq(c.ground, 0);
    near1(c.depth, 5e-4, 1e-12);
    c.struct_size = 8;
    ck_assert_int_eq(skel_inverse_get_contact(v, 2, 0, &c), SKEL_E_STRUCT_SIZE);
    ck_assert_ptr_null(skel_inverse_flags(NULL));
    ck_assert_ptr_null(skel_inverse_uncertainty(NULL));
    skel_inverse_destroy(v);
    skel_model_destroy(m);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("inverse_contact");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, a_block_at_rest_on_a_slope_needs_nothing, 0, 3);
    tcase_add_test(t, what_leaves_the_cone_stays);
    tcase_add_test(t, contacts_act_on_both);
    tcase_add_test(t, a_state_alone_too);
    tcase_add_test(t, derivatives_stop_at_a_bounce);
    tcase_add_test(t, uncertainty_covers_jumps_and_kinks);
    tcase_add_test(t, pins_leave_the_law);
    tcase_add_test(t, whatever_fails_nothing_is_lost);
    tcase_add_test(t, wrong_calls_are_refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
