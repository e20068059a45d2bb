/* SPDX-License-Identifier: BSD-3-Clause */
/* Principal axes of points: eigenvectors of their covariance, by Jacobi rotations. LAPACK is not
   used here: its last bits depend on the processor. */
#include "skin/skin.h"

#define JACOBI_SWEEPS 24

/* a, or -a if its coordinate with the largest magnitude is negative. */
static v3 upward(v3 a) {
    const double x = fabs(a.x), y = fabs(a.y), z = fabs(a.z);
    double largest = a.z;
    if (x >= y && x >= z)
        largest = a.x;
    else if (y >= z)
        largest = a.y;
    return largest < 0 ? v3_neg(a) : a;
}

/* Rotates rows and columns p and q of the symmetric c so that c[p][q] becomes 0. The columns of e
   turn with them. */
static void rotate(double c[3][3], double e[3][3], int p, int q) {
    if (c[p][q] == 0) return;

    /* t = tan of the angle, the smaller root of t^2 + 2 theta t - 1 = 0 */
    const double theta = 0.5 * (c[q][q] - c[p][p]) / c[p][q];
    const double root = fabs(theta) + sqrt(theta * theta + 1);
    const double t = theta < 0 ? -1 / root : 1 / root;
    const double cosine = 1 / sqrt(t * t + 1), sine = t * cosine;

    for (int k = 0; k < 3; ++k) {
        const double kp = c[k][p], kq = c[k][q];
        c[k][p] = cosine * kp - sine * kq;
        c[k][q] = sine * kp + cosine * kq;
    }
    for (int k = 0; k < 3; ++k) {
        const double pk = c[p][k], qk = c[q][k];
        c[p][k] = cosine * pk - sine * qk;
        c[q][k] = sine * pk + cosine * qk;
        const double ep = e[k][p], eq = e[k][q];
        e[k][p] = cosine * ep - sine * eq;
        e[k][q] = sine * ep + cosine * eq;
    }
    c[p][q] = c[q][p] = 0;
}

static void covariance(const v3 *points, int32_t n, v3 mean, double c[3][3]) {
    double xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;
    for (int32_t i = 0; i < n; ++i) {
        const v3 d = v3_sub(points[i], mean);
        xx += d.x * d.x;
        yy += d.y * d.y;
        zz += d.z * d.z;
        xy += d.x * d.y;
        xz += d.x * d.z;
        yz += d.y * d.z;
    }
    const double full[3][3] = {{xx, xy, xz}, {xy, yy, yz}, {xz, yz, zz}};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) c[i][j] = full[i][j] / n;
}

void skel__principal_axes(const v3 *points, int32_t n, v3 *mean, v3 axes[3]) {
    v3 sum = {0, 0, 0};
    for (int32_t i = 0; i < n; ++i) sum = v3_add(sum, points[i]);
    *mean = v3_scale(sum, 1.0 / n);

    double c[3][3], e[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    covariance(points, n, *mean, c);
    for (int k = 0; k < JACOBI_SWEEPS; ++k) {
        rotate(c, e, 0, 1);
        rotate(c, e, 0, 2);
        rotate(c, e, 1, 2);
    }

    /* Descending variance; equal ones keep their order. */
    int order[3] = {0, 1, 2};
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2 - i; ++j) {
            const int left = order[j], right = order[j + 1];
            if (!(c[right][right] > c[left][left])) continue;
            order[j] = right;
            order[j + 1] = left;
        }
    for (int k = 0; k < 3; ++k) {
        const v3 axis = {e[0][order[k]], e[1][order[k]], e[2][order[k]]};
        axes[k] = upward(v3_scale(axis, 1 / v3_norm(axis)));
    }
}
