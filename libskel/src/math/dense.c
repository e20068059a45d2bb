/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense algebra: Cholesky for blocks of at most 6 rows, where a library call would cost more than
   the work, and the minimum-norm solve by SVD of the reference solver. */
#include "math/dense.h"

#include <lapacke.h>
#include <math.h>

int skel__cholesky(double *a, int n) {
    for (int j = 0; j < n; ++j) {
        double d = a[j * n + j];
        for (int k = 0; k < j; ++k) d -= a[j * n + k] * a[j * n + k];
        if (!(d > 0)) return 0;
        d                 = sqrt(d);
        a[j * n + j]      = d;
        const double over = 1.0 / d;
        for (int i = j + 1; i < n; ++i) {
            double t = a[i * n + j];
            for (int k = 0; k < j; ++k) t -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = t * over;
        }
    }
    return 1;
}

void skel__cholesky_solve(const double *l, int n, double *b, int stride) {
    for (int i = 0; i < n; ++i) {
        double t = b[i * stride];
        for (int k = 0; k < i; ++k) t -= l[i * n + k] * b[k * stride];
        b[i * stride] = t / l[i * n + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        double t = b[i * stride];
        for (int k = i + 1; k < n; ++k) t -= l[k * n + i] * b[k * stride];
        b[i * stride] = t / l[i * n + i];
    }
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
    double     *singular = work;
    double     *real     = singular + n;
    lapack_int *integer  = (lapack_int *)(void *)(real + real_work(n));
    lapack_int  rank     = 0;
    if (n == 0) return 0;
    const lapack_int info =
        LAPACKE_dgelsd_work(LAPACK_COL_MAJOR, n, n, 1, a, n, b, n, singular, cut, &rank, real,
                            (lapack_int)real_work(n), integer);
    return info == 0 ? (int32_t)rank : -1;
}
