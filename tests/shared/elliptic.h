/* SPDX-License-Identifier: BSD-3-Clause */
/* Jacobi's elliptic functions by descending Landen transformations (Abramowitz, Stegun 16.4). */
#ifndef SKEL_TESTS_ELLIPTIC_H
#define SKEL_TESTS_ELLIPTIC_H

#include <math.h>

typedef struct jacobi {
    double sn, cn, dn;
} jacobi;

/* k: modulus, 0 <= k < 1 */
static inline jacobi jacobi_at(double u, double k) {
    double a[16] = {1}, c[16] = {k}, b = sqrt(1 - k * k), phi;
    int n = 0;
    for (; n < 15 && fabs(c[n]) > 1e-16; ++n) {
        a[n + 1] = .5 * (a[n] + b);
        c[n + 1] = .5 * (a[n] - b);
        b = sqrt(a[n] * b);
    }
    phi = ldexp(a[n] * u, n);
    for (; n > 0; --n) phi = .5 * (phi + asin(c[n] / a[n] * sin(phi)));
    const double sn = sin(phi);
    return (jacobi){sn, cos(phi), sqrt(1 - k * k * sn * sn)};
}

/* Integral of f over 0..t by Gauss-Legendre with 5 points in n pieces. */
static inline double integral(double (*f)(double, const void *), const void *data, double t,
                              int n) {
    static const double x[3] = {0, .53846931010568309104, .90617984593866399280};
    static const double w[3] = {.56888888888888888889, .47862867049936646804,
                                .23692688505618908751};
    const double h = .5 * t / n;
    double sum = 0;
    for (int k = 0; k < n; ++k) {
        const double mid = (2 * k + 1) * h;
        sum += w[0] * f(mid, data);
        for (int e = 1; e < 3; ++e)
            sum += w[e] * (f(mid - x[e] * h, data) + f(mid + x[e] * h, data));
    }
    return sum * h;
}

#endif
