/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense linear algebra. Small Cholesky factorisations are written out, because a call of LAPACK
   would cost more than the work itself. The rest is LAPACK, but for the smallest singular value. */
#include "math/dense.h"
#include "math/vec.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#define CHOLESKY_LAPACK_ROWS_MIN 65 /* fewer rows are faster without LAPACK (measured) */
#define LAPACK_BLOCK_ROWS 64        /* for the blocked algorithms, which large matrices need */
#define EIGEN_WORK_ROWS 40          /* workspace of dsyev in rows of the matrix */
#define JACOBI_ORTHOGONAL 1e-11     /* cosine of two rows that need no rotation */
#define JACOBI_SWEEPS_MAX 30
#define JACOBI_TOL 1e-4 /* cosine: the error of a singular value is its square */
#define INVERSE_ITERATIONS_MAX 40
#define INVERSE_ITERATION_TOL 1e-4 /* relative change of the eigenvalue */
#define INVERSE_CONDITION_MIN 1e-9 /* least eigenvalue relative to the trace */

/* Column by column. If n is a constant, the compiler unrolls the loops; the result is the same. */
static inline int factor(double *restrict a, int n) {
    for (int j = 0; j < n; ++j) {
        double d = a[j * n + j];
        for (int k = 0; k < j; ++k) d -= a[j * n + k] * a[j * n + k];
        if (!(d > 0)) return 0;

        /* The reciprocal is kept, because a multiplication is faster than a division. */
        const double over = 1.0 / sqrt(d);
        a[j * n + j] = over;

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
    if (n < CHOLESKY_LAPACK_ROWS_MIN) return factor(a, n);

    /* The lower triangle by rows is the upper triangle by columns. */
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, a, n) != 0) return 0;
    for (int k = 0; k < n; ++k) a[k * n + k] = 1.0 / a[k * n + k];
    return 1;
}

/* Forward substitution with L, then backward substitution with L^T. */
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

/* Workspace of dgelsd for an n x n matrix and one right-hand side, from its documentation with
   leaves of 25 rows: 12 n + 50 n + 8 n nlvl + n + 676 doubles and 3 n nlvl + 11 n integers, where
   nlvl is the result of this function. */
static int32_t levels(int32_t n) {
    int32_t count = 1;
    for (int32_t m = n / 26; m > 0; m /= 2) ++count;
    return count;
}

static size_t real_work(int32_t n) {
    return (size_t)n * (size_t)(63 + 8 * levels(n) + 2 * LAPACK_BLOCK_ROWS) + 676 + 4096;
}

static size_t integer_work(int32_t n) {
    return (size_t)n * (size_t)(3 * levels(n) + 11) + 64;
}

static void swap(double *x, double *y) {
    const double t = *x;
    *x = *y;
    *y = t;
}

void skel__solve(double *a, double *b, int32_t n) {
    for (int32_t k = 0; k < n; ++k) {
        /* The row with the largest entry in column k becomes row k. */
        int32_t pivot = k;
        for (int32_t r = k + 1; r < n; ++r)
            if (fabs(a[r * n + k]) > fabs(a[pivot * n + k])) pivot = r;
        for (int32_t c = 0; pivot != k && c < n; ++c) swap(&a[k * n + c], &a[pivot * n + c]);
        swap(&b[k], &b[pivot]);

        for (int32_t r = k + 1; r < n; ++r) {
            const double f = a[r * n + k] / a[k * n + k];
            for (int32_t c = k; c < n; ++c) a[r * n + c] -= f * a[k * n + c];
            b[r] -= f * b[k];
        }
    }

    /* Back substitution. */
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

    /* The iterations of LAPACK for singular values and eigenvalues do not end on NaN. */
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
    const int32_t room = 8 * (m + n) + 64;
    double *s = work;
    double *u = s + k;
    double *vt = u + (size_t)n * (size_t)k;
    double *w = vt + (size_t)k * (size_t)m;

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
    return EIGEN_WORK_ROWS * (size_t)n + 64;
}

int skel__eigen(double *a, int32_t n, double *values, double *work) {
    for (size_t i = 0; i < (size_t)n; ++i)
        if (!all_finite(a + i * (size_t)n, i + 1)) return 0;

    /* The lower triangle by rows is the upper one by columns. LAPACK's columns are our rows. */
    return LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', n, a, n, values, work,
                              EIGEN_WORK_ROWS * n + 64) == 0;
}

/* ---- smallest singular value ---- */

/* Jacobi rotation of two rows of length n that makes them perpendicular. Returns the cosine of the
   angle that they had. */
static inline double orthogonalise(double *restrict a, double *restrict b, int32_t n) {
    const double aa = dot_of(a, a, n), bb = dot_of(b, b, n), ab = dot_of(a, b, n);
    const double off = aa > 0 && bb > 0 ? fabs(ab) / sqrt(aa * bb) : 0;
    if (off < JACOBI_ORTHOGONAL) return off;

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
    for (int32_t i = 0; a != b && i < n; ++i) swap(&a[i], &b[i]);
}

/* Gram-Schmidt: the k rows of length n >= k are R^T Q with orthonormal rows of Q, and R (k x k) has
   the same singular values. The longest remaining row comes next. R is then nearly sorted and needs
   few rotations. */
static void reduce_rows(double *rows, int32_t k, int32_t n, double *r) {
    memset(r, 0, (size_t)k * (size_t)k * sizeof *r);
    for (int32_t i = 0; i < k; ++i) {
        double *a = rows + (size_t)i * (size_t)n;

        /* The longest remaining row. */
        double longest2 = -1;
        int32_t next = i;
        for (int32_t j = i; j < k; ++j) {
            const double *b = rows + (size_t)j * (size_t)n;
            const double length2 = dot_of(b, b, n);
            if (length2 > longest2) {
                longest2 = length2;
                next = j;
            }
        }
        swap_rows(a, rows + (size_t)next * (size_t)n, n);
        for (int32_t j = 0; j < i; ++j) swap_rows(r + j * k + i, r + j * k + next, 1);

        const double length = sqrt(longest2);
        r[i * k + i] = length;
        if (!(length > 0)) break;
        for (int32_t c = 0; c < n; ++c) a[c] /= length;

        /* Subtract the part along this row from all that follow. */
        for (int32_t j = i + 1; j < k; ++j) {
            double *b = rows + (size_t)j * (size_t)n;
            const double d = dot_of(a, b, n);
            r[i * k + j] = d;
            for (int32_t c = 0; c < n; ++c) b[c] -= d * a[c];
        }
    }
}

/* One Jacobi sweep over all pairs of the k rows. Returns the largest cosine that it found. */
static inline double sweep(double *r, int32_t k) {
    double off = 0;
    for (int32_t i = 0; i < k; ++i)
        for (int32_t j = i + 1; j < k; ++j) {
            const double cosine = orthogonalise(r + i * k, r + j * k, k);
            if (cosine > off) off = cosine;
        }
    return off;
}

/* The square of the smallest singular value, by inverse iteration on the k x k Gram matrix of the
   rows. Returns 0 if it is too small compared with the largest one to be found from squares, or if
   the iteration does not converge. */
static inline double smallest_square(const double *rows, int32_t k, int32_t n, double *a,
                                     double *x) {
    double trace = 0;
    double last = 0;

    for (int32_t i = 0; i < k; ++i) {
        for (int32_t j = 0; j <= i; ++j)
            a[i * k + j] = dot_of(rows + (size_t)i * (size_t)n, rows + (size_t)j * (size_t)n, n);
        trace += a[i * k + i];
        x[i] = 1.0 / (1.0 + (double)i);
    }
    if (!skel__cholesky(a, k)) return 0;

    for (int round = 0; round < INVERSE_ITERATIONS_MAX; ++round) {
        double size = 0;
        skel__cholesky_solve(a, k, x, 1);
        for (int32_t i = 0; i < k; ++i) size += x[i] * x[i];
        size = sqrt(size);
        const double now = 1 / size;
        for (int32_t i = 0; i < k; ++i) x[i] *= now;

        if (round > 1 && fabs(now - last) < INVERSE_ITERATION_TOL * now)
            return now > INVERSE_CONDITION_MIN * trace ? now : 0;
        last = now;
    }
    return 0;
}

double skel__smallest_singular(const double *columns, int32_t m, int32_t n, size_t stride,
                               double *work) {
    const int32_t k = m < n ? m : n, l = m < n ? n : m;
    if (k == 0) return 0;

    /* Rows of the matrix or of its transpose, whichever are fewer. */
    double *rows = work;
    double *r = work + (size_t)m * (size_t)n;
    for (int32_t c = 0; c < n; ++c)
        for (int32_t i = 0; i < m; ++i)
            rows[m <= n ? i * n + c : c * m + i] = columns[(size_t)c * stride + (size_t)i];

    /* The usual size 6 is a constant, so that the loops are unrolled. */
    const double square =
        k == 6 ? smallest_square(rows, 6, l, r, r + 36) : smallest_square(rows, k, l, r, r + k * k);
    if (square > 0) return sqrt(square);

    reduce_rows(rows, k, l, r);
    for (int round = 0; round < JACOBI_SWEEPS_MAX; ++round)
        if ((k == 6 ? sweep(r, 6) : sweep(r, k)) < JACOBI_TOL) break;

    /* Perpendicular rows: their lengths are the singular values. */
    double least = INFINITY;
    for (int32_t i = 0; i < k; ++i) {
        const double *a = r + (size_t)i * (size_t)k;
        least = fmin(least, sqrt(dot_of(a, a, k)));
    }
    return least;
}
