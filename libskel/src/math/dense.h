/* SPDX-License-Identifier: BSD-3-Clause */
/* Small Cholesky and elimination by hand (row-major) and the one LAPACK solve of the judge. */
#ifndef SKEL_MATH_DENSE_H
#define SKEL_MATH_DENSE_H

#include <stddef.h>
#include <stdint.h>

/* In place, lower triangle; the diagonal holds reciprocals. Returns 0 where a is not positive. */
int skel__cholesky(double *a, int n);
/* Solves L L^T x = b in place; b has `stride` doubles from entry to entry. */
void skel__cholesky_solve(const double *l, int n, double *b, int stride);

/* Solves the n x n system a x = b by elimination with row pivoting; a is used up, b becomes x. */
void skel__solve(double *a, double *b, int32_t n);

/* Doubles of work that skel__least_norm needs for n unknowns (matrix not included). */
size_t skel__least_norm_work(int32_t n);
/* Minimum-norm least-squares solution of the n x n system a x = b by SVD (LAPACK dgelsd); singular
   values below cut times the largest count as zero. a is destroyed, b becomes x. Returns the rank,
   or -1 where the SVD failed. */
int32_t skel__least_norm(double *a, double *b, int32_t n, double cut, double *work);

/* Moore-Penrose inverse (n x m) of the m x n matrix a by SVD; singular values below cut times the
   largest count as zero. a is destroyed. Returns the rank, or -1 where the SVD failed. */
size_t skel__pseudoinverse_work(int32_t m, int32_t n);
int32_t skel__pseudoinverse(double *a, int32_t m, int32_t n, double cut, double *out, double *work);

/* Eigenvalues, smallest first, of the symmetric n x n matrix a (lower triangle), whose rows become
   the eigenvectors. Returns 0 where it failed. */
size_t skel__eigen_work(int32_t n);
int skel__eigen(double *a, int32_t n, double *values, double *work);

/* Smallest of the min(m, n) singular values of the matrix with n columns of m numbers, `stride`
   from one to the next: by inverse iteration, and where it is small beside the largest by rotations
   (one-sided Jacobi), which find it to full relative accuracy; else to three digits. work: m * n +
   (min(m, n) + 1)^2. */
double skel__smallest_singular(const double *columns, int32_t m, int32_t n, size_t stride,
                               double *work);

#endif
