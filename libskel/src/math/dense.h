/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense linear algebra, row-major: Cholesky, elimination, pseudoinverse, eigenvalues, and the least
   norm solution of the reference solver. */
#ifndef SKEL_MATH_DENSE_H
#define SKEL_MATH_DENSE_H

#include <stddef.h>
#include <stdint.h>

/* Factorises a = L L^T in place, in the lower triangle. The diagonal holds reciprocals. Returns 0
   if a is not positive definite. */
int skel__cholesky(double *a, int n);
/* Solves L L^T x = b in place. The entries of b are `stride` doubles apart. */
void skel__cholesky_solve(const double *l, int n, double *b, int stride);

/* Solves the n x n system a x = b by elimination with row pivoting. a is destroyed, b becomes x. */
void skel__solve(double *a, double *b, int32_t n);

/* Doubles of workspace that skel__least_norm needs for n unknowns, without the matrix. */
size_t skel__least_norm_work(int32_t n);
/* Minimum-norm least-squares solution of the n x n system a x = b by SVD (LAPACK dgelsd); singular
   values below cut times the largest count as zero. a is destroyed, b becomes x. Returns the rank,
   or -1 if the SVD failed. */
int32_t skel__least_norm(double *a, double *b, int32_t n, double cut, double *work);

/* Moore-Penrose inverse (n x m) of the m x n matrix a by SVD; singular values below cut times the
   largest count as zero. a is destroyed. Returns the rank, or -1 if the SVD failed. */
size_t skel__pseudoinverse_work(int32_t m, int32_t n);
int32_t skel__pseudoinverse(double *a, int32_t m, int32_t n, double cut, double *out, double *work);

/* Eigenvalues, in ascending order, of the symmetric n x n matrix a (lower triangle). The rows of a
   become the eigenvectors. Returns 0 if the iteration failed. */
size_t skel__eigen_work(int32_t n);
int skel__eigen(double *a, int32_t n, double *values, double *work);

/* Smallest of the min(m, n) singular values of a matrix of n columns. Each column has m numbers.
   Columns are `stride` doubles apart. Inverse iteration finds it to three digits. If it is small
   compared with the largest one, one-sided Jacobi rotations find it to full relative accuracy.
   work: m n + (min(m, n) + 1)^2 doubles. */
double skel__smallest_singular(const double *columns, int32_t m, int32_t n, size_t stride,
                               double *work);

#endif
