/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparisons for Check tests: the largest difference against a bound scaled to the values. */
#ifndef SKEL_TESTS_NEAR_H
#define SKEL_TESTS_NEAR_H

#include <check.h>
#include <math.h>
#include <stddef.h>

static inline double max_abs(const double *a, size_t n) {
    double m = 0;
    for (size_t k = 0; k < n; ++k)
        if (!(fabs(a[k]) <= m)) m = fabs(a[k]);
    return m;
}
static inline double max_difference(const double *a, const double *b, size_t n) {
    double m = 0;
    for (size_t k = 0; k < n; ++k)
        if (!(fabs(a[k] - b[k]) <= m)) m = fabs(a[k] - b[k]);
    return m;
}
/* Fails when |a - b| > bound anywhere, or when a number is not finite. */
#define near(a, b, n, bound)                                                                       \
    do {                                                                                           \
        const double difference_ = max_difference((a), (b), (n));                                  \
        const double bound_ = (bound);                                                             \
        ck_assert_msg(difference_ <= bound_, "%s and %s differ by %.3g, more than %.3g", #a, #b,   \
                      difference_, bound_);                                                        \
    } while (0)
#define near1(a, b, bound)                                                                         \
    do {                                                                                           \
        const double one_[1] = {(a)}, two_[1] = {(b)};                                             \
        near(one_, two_, 1, bound);                                                                \
    } while (0)

/* main() of a test program: one suite, the exit code says whether all passed. */
static inline int run_suite(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

#endif
