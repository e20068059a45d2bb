/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense algebra: Cholesky by hand where a library call would cost more than the work, the minimum-
   norm solve by SVD of the reference solver, pseudoinverses and singular values. */
#include "math/dense.h"
#include "math/vec.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#define BY_HAND 64 /* rows up to which a call of LAPACK costs more than it saves (measured) */

/* Inlined with n known, the compiler unrolls the small ones; the bits are the same. */
static inline int factor(double *restrict a, int n) {
    for (int j = 0; j < n; ++j) {
        double d = a[j * n + j];
        for (int k = 0; k < j; ++k) d -= a[j * n + k] * a[j * n + k];
        if (!(d > 0)) return 0;
        const double over = 1.0 / sqrt(d);
        a[j * n + j] = over; /* a multiplication is faster than a division */
        for (int i = j + 1; i < n; ++i) {
            double t = a[i * n + j];
            for (int k = 0; k < j; ++k) t -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = t * over;
        }
    }
    return 1;
}

int skel__cholesky(double *a, int n) {
    switch (n) {
    case 3: return factor(a, 3);
    case 6: return factor(a, 6);
    default: break;
    }
    if (n <= BY_HAND) return factor(a, n);
    /* the lower triangle by rows is the upper one by columns */
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, a, n) != 0) return 0;
    for (int k = 0; k < n; ++k) a[k * n + k] = 1.0 / a[k * n + k];
    return 1;
}

static inline void substitute(const double *restrict l, int n, double *restrict b, int stride) {
    for (int i = 0; i < n; ++i) {
        double t = b[i * stride];
        for (int k = 0; k < i; ++k) t -= l[i * n + k] * b[k * stride];
        b[i * stride] = t * l[i * n + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        double t = b[i * stride];
        for (int k = i + 1; k < n; ++k) t -= l[k * n + i] * b[k * stride];
        b[i * stride] = t * l[i * n + i];
    }
}

void skel__cholesky_solve(const double *l, int n, double *b, int stride) {
    if (n == 6 && stride == 1)
        substitute(l, 6, b, 1);
    else if (n == 3 && stride == 1)
        substitute(l, 3, b, 1);
    else
        substitute(l, n, b, stride);
}

/* dgelsd's own demand for n x n and one right side (its documentation, with a smallest leaf of 25
   and n 2^nlvl <= 32 n levels): work 12 n + 50 n + 8 n nlvl + n + 676, iwork 3 n nlvl + 11 n. */
static int32_t levels(int32_t n) {
    int32_t count = 1;
    for (int32_t m = n / 26; m > 0; m /= 2) ++count;
    return count;
}

static size_t real_work(int32_t n) {
    /* 64: room for the blocked path, which is what makes the large n bearable */
    return (size_t)n * (size_t)(63 + 8 * levels(n) + 2 * 64) + 676 + 4096;
}

static size_t integer_work(int32_t n) {
    return (size_t)n * (size_t)(3 * levels(n) + 11) + 64;
}

void skel__solve(double *a, double *b, int32_t n) {
    for (int32_t k = 0; k < n; ++k) {
        int32_t p = k;
        for (int32_t r = k + 1; r < n; ++r)
            if (fabs(a[r * n + k]) > fabs(a[p * n + k])) p = r;
        for (int32_t c = 0; p != k && c < n; ++c) {
            const double t = a[k * n + c];
            a[k * n + c] = a[p * n + c], a[p * n + c] = t;
        }
        const double t = b[k];
        b[k] = b[p], b[p] = t;
        for (int32_t r = k + 1; r < n; ++r) {
            const double f = a[r * n + k] / a[k * n + k];
            for (int32_t c = k; c < n; ++c) a[r * n + c] -= f * a[k * n + c];
            b[r] -= f * b[k];
        }
    }
    for (int32_t r = n - 1; r >= 0; --r) {
        for (int32_t c = r + 1; c < n; ++c) b[r] -= a[r * n + c] * b[c];
        b[r] /= a[r * n + r];
    }
}

size_t skel__least_norm_work(int32_t n) {
    return (size_t)n + real_work(n) + integer_work(n) * sizeof(lapack_int) / sizeof(double) + 1;
}

int32_t skel__least_norm(double *a, double *b, int32_t n, double cut, double *work) {
    double *singular = work;
    double *real = singular + n;
    lapack_int *integer = (lapack_int *)(void *)(real + real_work(n));
    lapack_int rank = 0;
    if (n == 0) return 0;

    /* LAPACK's iterations for singular values and eigenvalues never end on NaN. */
    if (!all_finite(a, (size_t)n * (size_t)n) || !all_finite(b, (size_t)n)) return -1;
    const lapack_int info =
        LAPACKE_dgelsd_work(LAPACK_COL_MAJOR, n, n, 1, a, n, b, n, singular, cut, &rank, real,
                            (lapack_int)real_work(n), integer);
    return info == 0 ? (int32_t)rank : -1;
}

size_t skel__pseudoinverse_work(int32_t m, int32_t n) {
    const size_t a = (size_t)m, b = (size_t)n, k = a < b ? a : b, l = a > b ? a : b;
    return k + k * (a + b) + 8 * (k + l) + 64;
}

/* Row-major a is column-major a^T = U S V^T (n x m), so that a^+ = U S^-1 V^T. */
int32_t skel__pseudoinverse(double *a, int32_t m, int32_t n, double cut, double *out,
                            double *work) {
    const int32_t k = m < n ? m : n;
    double *s = work, *u = s + k, *vt = u + (size_t)n * (size_t)k, *w = vt + (size_t)k * (size_t)m;
    const int32_t room = 8 * (m + n) + 64;
    if (!all_finite(a, (size_t)m * (size_t)n)) return -1;
    if (LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'S', 'S', n, m, a, n, s, u, n, vt, k, w, room) != 0)
        return -1;
    int32_t rank = 0;
    while (rank < k && s[rank] > cut * s[0]) ++rank;
    for (int32_t i = 0; i < n; ++i)
        for (int32_t j = 0; j < m; ++j) {
            double sum = 0;
            for (int32_t r = 0; r < rank; ++r) sum += u[r * n + i] * vt[j * k + r] / s[r];
            out[i * m + j] = sum;
        }
    return rank;
}

size_t skel__eigen_work(int32_t n) {
    return 40 * (size_t)n + 64;
}
int skel__eigen(double *a, int32_t n, double *values, double *work) {
    /* the lower triangle by rows is the upper by columns; eigenvectors are columns there */
    for (size_t i = 0; i < (size_t)n; ++i)
        if (!all_finite(a + i * (size_t)n, i + 1)) return 0;
    return LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', n, a, n, values, work, 40 * n + 64) == 0;
}

/* Turns rows a and b of length n so that they become perpendicular; how far they were from it. */
static inline double turn_apart(double *restrict a, double *restrict b, int32_t n) {
    const double aa = dot_of(a, a, n), bb = dot_of(b, b, n), ab = dot_of(a, b, n);
    const double off = aa > 0 && bb > 0 ? fabs(ab) / sqrt(aa * bb) : 0;
    if (off < 1e-11) return off;
    const double z = (bb - aa) / (2 * ab);
    const double t = (z < 0 ? -1.0 : 1.0) / (fabs(z) + sqrt(1 + z * z));
    const double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int32_t i = 0; i < n; ++i) {
        const double x = a[i], y = b[i];
        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
    return off;
}

static void swap_rows(double *a, double *b, int32_t n) {
    for (int32_t i = 0; a != b && i < n; ++i) {
        const double x = a[i];
        a[i] = b[i];
        b[i] = x;
    }
}

/* The k rows (of length n >= k) as R^T Q, Q orthonormal: R (k x k) has the same singular values.
   The longest row that is left comes next, so that R is nearly sorted and few rotations remain. */
static void reduce_rows(double *rows, int32_t k, int32_t n, double *r) {
    memset(r, 0, (size_t)k * (size_t)k * sizeof *r);
    for (int32_t i = 0; i < k; ++i) {
        double *a = rows + (size_t)i * (size_t)n, most = -1;
        int32_t next = i;
        for (int32_t j = i; j < k; ++j) {
            const double *b = rows + (size_t)j * (size_t)n, size2 = dot_of(b, b, n);
            if (size2 > most) most = size2, next = j;
        }
        swap_rows(a, rows + (size_t)next * (size_t)n, n);
        for (int32_t j = 0; j < i; ++j) swap_rows(r + j * k + i, r + j * k + next, 1);
        const double size = sqrt(most);
        r[i * k + i] = size;
        if (!(size > 0)) break;
        for (int32_t c = 0; c < n; ++c) a[c] /= size;
        for (int32_t j = i + 1; j < k; ++j) {
            double *b = rows + (size_t)j * (size_t)n;
            const double d = dot_of(a, b, n);
            r[i * k + j] = d;
            for (int32_t c = 0; c < n; ++c) b[c] -= d * a[c];
        }
    }
}

/* Turns every two of the k rows apart; how far the worst two were from it. */
static inline double sweep(double *r, int32_t k) {
    double off = 0;
    for (int32_t i = 0; i < k; ++i)
        for (int32_t j = i + 1; j < k; ++j) {
            const double now = turn_apart(r + i * k, r + j * k, k);
            if (now > off) off = now;
        }
    return off;
}

/* The square of the smallest singular value, by inverse iteration on the k x k products of the
   rows; 0 where it is too small beside the largest for squares, or does not settle. */
static inline double least_square(const double *rows, int32_t k, int32_t n, double *a, double *x) {
    double trace = 0, was = 0;
    for (int32_t i = 0; i < k; ++i) {
        for (int32_t j = 0; j <= i; ++j)
            a[i * k + j] = dot_of(rows + (size_t)i * (size_t)n, rows + (size_t)j * (size_t)n, n);
        trace += a[i * k + i];
        x[i] = 1.0 / (1.0 + (double)i);
    }
    if (!skel__cholesky(a, k)) return 0;
    for (int round = 0; round < 40; ++round) {
        double size = 0;
        skel__cholesky_solve(a, k, x, 1);
        for (int32_t i = 0; i < k; ++i) size += x[i] * x[i];
        size = sqrt(size);
        const double now = 1 / size;
        for (int32_t i = 0; i < k; ++i) x[i] *= now;
        if (round > 1 && fabs(now - was) < 1e-4 * now) return now > 1e-9 * trace ? now : 0;
        was = now;
    }
    return 0;
}

double skel__smallest_singular(const double *columns, int32_t m, int32_t n, size_t stride,
                               double *work) {
    const int32_t k = m < n ? m : n, l = m < n ? n : m;
    if (k == 0) return 0;
    double *rows = work, *r = work + (size_t)m * (size_t)n;
    for (int32_t c = 0; c < n; ++c)
        for (int32_t i = 0; i < m; ++i)
            rows[m <= n ? i * n + c : c * m + i] = columns[(size_t)c * stride + (size_t)i];
    const double square =
        k == 6 ? least_square(rows, 6, l, r, r + 36) : least_square(rows, k, l, r, r + k * k);
    if (square > 0) return sqrt(square);
    reduce_rows(rows, k, l, r);
    for (int round = 0; round < 30; ++round)
        if ((k == 6 ? sweep(r, 6) : sweep(r, k)) < 1e-4) break; /* squared, that is little */
    double least = INFINITY;
    for (int32_t i = 0; i < k; ++i) {
        const double *a = r + (size_t)i * (size_t)k;
        least = fmin(least, sqrt(dot_of(a, a, k)));
    }
    return least;
}
