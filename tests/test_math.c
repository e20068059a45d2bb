/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors, quaternions, curves and small dense algebra: laws, and finite differences for rates. */
#include "math/dense.h"
#include "math/quat.h"
#include "model/curve.h"
#include "shared/near.h"
#include "shared/rng.h"

#include <stdlib.h>
#include <string.h>

static v3 random_v3(rng *r, double size) {
    return (v3){rng_range(r, -size, size), rng_range(r, -size, size), rng_range(r, -size, size)};
}
static double distance(v3 a, v3 b) {
    return v3_norm(v3_sub(a, b));
}

START_TEST(matrix_laws) {
    rng r = rng_seed(1);
    for (int k = 0; k < 100; ++k) {
        const m3 a = {{random_v3(&r, 1), random_v3(&r, 1), random_v3(&r, 1)}};
        const m3 b = {{random_v3(&r, 1), random_v3(&r, 1), random_v3(&r, 1)}};
        const v3 x = random_v3(&r, 1), y = random_v3(&r, 1);
        if (fabs(m3_det(a)) < .05) continue;
        const m3 one = m3_mul(a, m3_inverse(a)), id = m3_identity();
        near(&one.r[0].x, &id.r[0].x, 9, 1e-13 / fabs(m3_det(a)));
        ck_assert_double_le(distance(m3_mulv(m3_mul(a, b), x), m3_mulv(a, m3_mulv(b, x))), 1e-14);
        ck_assert_double_le(distance(m3_tmulv(a, x), m3_mulv(m3_transpose(a), x)), 1e-15);
        const m3 c = m3_mult(a, b), d = m3_mul(a, m3_transpose(b));
        near(&c.r[0].x, &d.r[0].x, 9, 1e-15);
        ck_assert_double_le(distance(m3_mulv(m3_skew(x), y), v3_cross(x, y)), 1e-15);
        const v3 p = v3_perpendicular(v3_scale(x, 1 / v3_norm(x)));
        ck_assert_double_le(fabs(v3_dot(p, x)), 1e-15);
        ck_assert_double_le(fabs(v3_norm(p) - 1), 1e-15);
    }
}
END_TEST

START_TEST(quaternion_laws) {
    rng r = rng_seed(2);
    for (int k = 0; k < 200; ++k) {
        const v3 phi = random_v3(&r, k < 100 ? 1.7 : 1e-3), x = random_v3(&r, 1);
        const quat q = q_exp(phi), p = q_exp(random_v3(&r, 1.7));
        ck_assert_double_le(fabs(q_dot(q, q) - 1), 1e-15);
        ck_assert_double_le(distance(q_log(q), phi), 1e-14);
        ck_assert_double_le(distance(q_rotate(q, x), m3_mulv(q_matrix(q), x)), 1e-15);
        ck_assert_double_le(distance(q_rotate(q_mul(q, p), x), q_rotate(q, q_rotate(p, x))), 2e-15);
        ck_assert_double_ge(fabs(q_dot(q_from_matrix(q_matrix(q)), q)), 1 - 1e-15);
    }
}
END_TEST

START_TEST(quaternion_edges) {
    const v3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int k = 0; k < 3; ++k) { /* half turns: every branch of the matrix conversion */
        const quat q = q_exp(v3_scale(axis[k], acos(-1.0)));
        ck_assert_double_ge(fabs(q_dot(q_from_matrix(q_matrix(q)), q)), 1 - 1e-15);
        ck_assert_double_le(fabs(v3_norm(q_log(q)) - acos(-1.0)), 1e-14);
    }
    ck_assert_double_eq(v3_norm(q_log(q_identity())), 0);
    ck_assert_double_eq(v3_norm(q_log((quat){-1, 0, 0, 0})), 0);
    const double a = SKEL__SMALL_ANGLE * (1 - 1e-9), b = SKEL__SMALL_ANGLE * (1 + 1e-9);
    ck_assert_double_le(fabs(q_exp((v3){a, 0, 0}).x - sin(a / 2)), 1e-17);
    ck_assert_double_le(fabs(q_exp((v3){b, 0, 0}).x - sin(b / 2)), 1e-17);
    const quat unit = q_unit((quat){.1, .2, .3, .4});
    const quat same = q_unit(unit); /* writing and reading again changes no bit */
    ck_assert_int_eq(memcmp(&unit, &same, sizeof unit), 0);
}
END_TEST

/* omega = J(phi) phi' against a central difference of the quaternion, small and large angles. */
START_TEST(exponential_jacobian) {
    rng r = rng_seed(3);
    const double h = 1e-5;
    for (int k = 0; k < 100; ++k) {
        const v3 phi = random_v3(&r, k % 2 ? 1.5 : .08), rate = random_v3(&r, 1);
        const quat a = q_exp(v3_mad(phi, -h, rate)), b = q_exp(v3_mad(phi, h, rate));
        const v3 w = v3_scale(q_log(q_mul(q_conj(a), b)), 1 / (2 * h));
        ck_assert_double_le(distance(w, q_jacobian_mul(phi, rate)), 1e-9);
    }
}
END_TEST

/* ---- curves ---- */

typedef struct driven {
    double time[6], position[18], orientation[24], slope[18], spin[18];
    skel_curve p, q;
} driven;

static void make_driven(rng *r, driven *d) {
    double t = .1;
    for (int k = 0; k < 6; ++k) {
        d->time[k] = t += rng_range(r, .1, .6);
        v3_to(random_v3(r, 1), d->position + 3 * k);
        q_to(q_exp(random_v3(r, 1.5)), d->orientation + 4 * k);
    }
    d->p = (skel_curve){d->time, d->position, 6, 3};
    d->q = (skel_curve){d->time, d->orientation, 6, 4};
    skel__curve_orient(d->orientation, 6);
    skel__curve_position_slopes(&d->p, d->slope);
    skel__curve_orientation_slopes(&d->q, d->spin);
}

static skel__motion at(const driven *d, double t) {
    skel__motion m;
    memset(&m, 0, sizeof m);
    skel__curve_position(&d->p, d->slope, t, SKEL__AFTER, &m);
    skel__curve_orientation(&d->q, d->spin, t, SKEL__AFTER, &m);
    return m;
}

START_TEST(driven_curve_rates) { /* v, a, omega, d omega are the derivatives of the pose */
    rng r = rng_seed(4);
    const double h = 1e-5;
    for (int k = 0; k < 50; ++k) {
        driven d;
        make_driven(&r, &d);
        const double t = rng_range(&r, d.time[0] + .01, d.time[5] - .01);
        const skel__motion m = at(&d, t), a = at(&d, t - h), b = at(&d, t + h);
        int crosses = 0; /* the acceleration jumps at the samples */
        for (int e = 0; e < 6; ++e) crosses |= fabs(t - d.time[e]) < 2 * h;
        if (crosses) continue;
        ck_assert_double_le(distance(m.v, v3_scale(v3_sub(b.x.p, a.x.p), .5 / h)), 1e-7);
        ck_assert_double_le(distance(m.a, v3_scale(v3_sub(b.v, a.v), .5 / h)), 1e-5);
        const v3 w = v3_scale(q_log(q_mul(q_conj(a.x.q), b.x.q)), .5 / h);
        ck_assert_double_le(distance(m.w, w), 1e-6 * (1 + v3_norm(m.w)));
        const v3 dw = v3_scale(v3_sub(b.w, a.w), .5 / h);
        ck_assert_double_le(distance(m.dw, dw), 1e-5 * (1 + v3_norm(m.dw)));
    }
}
END_TEST

START_TEST(driven_curve_is_c1) { /* through the samples, with one velocity from both sides */
    rng r = rng_seed(5);
    const double eps = 1e-9;
    for (int k = 0; k < 20; ++k) {
        driven d;
        make_driven(&r, &d);
        for (int e = 0; e < 6; ++e) {
            const skel__motion m = at(&d, d.time[e]);
            ck_assert_double_le(distance(m.x.p, v3_of(d.position + 3 * e)), 1e-14);
            ck_assert_double_ge(fabs(q_dot(m.x.q, q_of(d.orientation + 4 * e))), 1 - 1e-14);
            if (e == 0 || e == 5) continue;
            const skel__motion a = at(&d, d.time[e] - eps), b = at(&d, d.time[e] + eps);
            ck_assert_double_le(distance(a.v, b.v), 1e-6);
            ck_assert_double_le(distance(a.w, b.w), 1e-6);
        }
        const skel__motion before = at(&d, 0), after = at(&d, 99);
        ck_assert_double_eq(distance(before.x.p, v3_of(d.position)), 0);
        ck_assert_double_eq(distance(after.x.p, v3_of(d.position + 15)), 0);
        ck_assert_double_eq(v3_norm(before.v) + v3_norm(after.w), 0);
    }
}
END_TEST

START_TEST(constant_spin_is_reproduced) { /* samples of a steady turn give that turn back */
    driven d;
    rng r = rng_seed(6);
    make_driven(&r, &d);
    const v3 w = {.3, -.8, .5};
    for (int k = 0; k < 6; ++k) {
        d.time[k] = .25 * k;
        q_to(q_exp(v3_scale(w, d.time[k])), d.orientation + 4 * k);
    }
    skel__curve_orient(d.orientation, 6);
    skel__curve_orientation_slopes(&d.q, d.spin);
    for (double t = 0; t < 1.2; t += .07) {
        const skel__motion m = at(&d, t);
        ck_assert_double_le(distance(m.w, w), 1e-13);
        ck_assert_double_le(v3_norm(m.dw), 1e-12);
        ck_assert_double_ge(fabs(q_dot(m.x.q, q_exp(v3_scale(w, t)))), 1 - 1e-14);
    }
}
END_TEST

START_TEST(load_curve_is_linear_and_held) {
    const double time[3] = {1, 2, 4}, value[3] = {10, 20, 0};
    const skel_curve c = {time, value, 3, 1};
    const double t[7] = {0, 1, 1.5, 2, 3, 4, 9}, want[7] = {10, 10, 15, 20, 10, 0, 0};
    for (int k = 0; k < 7; ++k) {
        double out = 1;
        skel__curve_add(&c, t[k], &out);
        ck_assert_double_eq_tol(out, 1 + want[k], 1e-14);
    }
    const skel_curve single = {time, value, 1, 1};
    double out = 0;
    skel__curve_add(&single, 7, &out);
    ck_assert_double_eq(out, 10);
}
END_TEST

/* ---- dense ---- */

START_TEST(cholesky_solves) {
    rng r = rng_seed(8);
    for (int n = 1; n <= 6; ++n) {
        double g[36], a[36], l[36], x[6], b[6];
        for (int k = 0; k < n * n; ++k) g[k] = rng_range(&r, -1, 1);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                a[i * n + j] = i == j ? .5 : 0;
                for (int k = 0; k < n; ++k) a[i * n + j] += g[i * n + k] * g[j * n + k];
            }
        for (int i = 0; i < n; ++i) x[i] = rng_range(&r, -1, 1), b[i] = 0;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) b[i] += a[i * n + j] * x[j];
        memcpy(l, a, sizeof l);
        ck_assert_int_eq(skel__cholesky(l, n), 1);
        skel__cholesky_solve(l, n, b, 1);
        near(b, x, (size_t)n, 1e-13);
    }
    double bad[4] = {1, 2, 2, 1};
    ck_assert_int_eq(skel__cholesky(bad, 2), 0);
}
END_TEST

START_TEST(least_norm) { /* rank 1 of 2: the shortest solution of x + y = 2 */
    double a[4] = {1, 1, 1, 1}, b[2] = {2, 2};
    double *work = malloc(skel__least_norm_work(2) * sizeof *work);
    ck_assert_int_eq(skel__least_norm(a, b, 2, 1e-14, work), 1);
    const double want[2] = {1, 1};
    near(b, want, 2, 1e-14);
    free(work);
}
END_TEST

START_TEST(least_norm_of_many) { /* sizes across the leaf and block sizes of the SVD */
    rng r = rng_seed((uint64_t)_i);
    const int n = (int[]){1, 5, 25, 26, 27, 60, 130, 300}[_i];
    const size_t m = (size_t)n;
    double *a = malloc(m * m * 8), *x = malloc(m * 8), *b = calloc(m, 8);
    double *work = malloc(skel__least_norm_work(n) * sizeof *work);
    for (size_t k = 0; k < m * m; ++k) a[k] = rng_range(&r, -1, 1);
    for (size_t k = 0; k < m; ++k) a[k * m + k] += 4 * sqrt(n), x[k] = rng_range(&r, -1, 1);
    for (size_t c = 0; c < m; ++c)
        for (size_t k = 0; k < m; ++k) b[k] += a[c * m + k] * x[c];
    ck_assert_int_eq(skel__least_norm(a, b, n, 1e-15, work), n);
    near(b, x, m, 1e-11);
    free(a), free(x), free(b), free(work);
}
END_TEST

/* LAPACK's iterations never ended on them: found by fuzzing. */
START_TEST(numbers_that_are_not_finite_are_refused) {
    const double bad[3] = {NAN, INFINITY, -INFINITY};
    double a[16], b[4] = {1, 2, 3, 4}, out[16], work[8192];
    ck_assert_uint_le(skel__least_norm_work(4), 8192);
    ck_assert_uint_le(skel__pseudoinverse_work(4, 4), 8192);
    ck_assert_uint_le(skel__eigen_work(4), 8192);
    for (int k = 0; k < 16; ++k) a[k] = k % 5 == 0;
    a[4] = bad[_i];
    ck_assert_int_eq(skel__least_norm(a, b, 4, 1e-15, work), -1);
    ck_assert_int_eq(skel__pseudoinverse(a, 4, 4, 1e-15, out, work), -1);
    ck_assert_int_eq(skel__eigen(a, 4, out, work), 0);
}
END_TEST

START_TEST(a_zero_quaternion_is_no_turn) {
    const quat q = q_unit((quat){0, 0, 0, 0});
    ck_assert(q.w == 1 && q.x == 0 && q.y == 0 && q.z == 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("math");
    TCase *t = tcase_create("all");
    tcase_add_test(t, matrix_laws);
    tcase_add_test(t, quaternion_laws);
    tcase_add_test(t, quaternion_edges);
    tcase_add_test(t, exponential_jacobian);
    tcase_add_test(t, driven_curve_rates);
    tcase_add_test(t, driven_curve_is_c1);
    tcase_add_test(t, constant_spin_is_reproduced);
    tcase_add_test(t, load_curve_is_linear_and_held);
    tcase_add_test(t, cholesky_solves);
    tcase_add_test(t, least_norm);
    tcase_add_loop_test(t, least_norm_of_many, 0, 8);
    tcase_add_loop_test(t, numbers_that_are_not_finite_are_refused, 0, 3);
    tcase_add_test(t, a_zero_quaternion_is_no_turn);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
