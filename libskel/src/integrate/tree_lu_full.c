/* SPDX-License-Identifier: BSD-3-Clause */
/* Block elimination of slides and of wobbling masses, which hang on springs alone; see tree_lu.h
   for the system. b is the child, a the parent. A slide is eliminated in terms of its free motion,
   as joints through a point are, so that its rows hold to rounding however far apart the bodies
   are. With G_b R = 1, G_b z = 0, L W_b = 1, t^T W_b = 0 and s = t^T A_b z:
     y_b = y_0 + Y y_a,           y_0 = Q gamma + z (t.rho_b) / s,   Q = R - z (t^T A_b R) / s
     lambda = lambda_0 + Lambda y_a,   Y = -Q G_a - z (t^T K_ba) / s,   Lambda = L (A_b Y + K_ba)
     A_a += K_ab Y - W_a Lambda,       rho_a += W_a lambda_0 - K_ab y_0.
   A wobbling mass:  A_a -= K_ab A_b^-1 K_ba,   rho_a -= K_ab A_b^-1 rho_b. */
#include "integrate/tree_lu.h"

#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Conversion between the layout of math/wide.h and plain 6 x 6 matrices, row by row. */
static void to_rows(const double *wide, double *out) {
    for (int k = 0; k < 36; ++k) out[k] = wide[wide6_at(k / 6, k % 6)];
}
static void add_rows(double *wide, double sign, const double *a) {
    for (int k = 0; k < 36; ++k) wide[wide6_at(k / 6, k % 6)] += sign * a[k];
}

/* c = a b, of sizes m x k and k x n, which are constants after inlining. */
static ALWAYS_INLINE void multiply(const double *a, const double *b, double *c, int m, int k,
                                   int n) {
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
            c[i * n + j] = sum;
        }
}

/* In-place inverse by Gauss-Jordan elimination with row pivoting. Returns 0 for a singular
   matrix. */
static ALWAYS_INLINE int invert(double *a, int n) {
    int pivot[6];
    for (int c = 0; c < n; ++c) {
        /* The largest entry of the column becomes the pivot. */
        int p = c;
        for (int r = c + 1; r < n; ++r)
            if (fabs(a[r * n + c]) > fabs(a[p * n + c])) p = r;
        pivot[c] = p;
        if (!(fabs(a[p * n + c]) > 0)) return 0;
        for (int k = 0; p != c && k < n; ++k) {
            const double t = a[c * n + k];
            a[c * n + k] = a[p * n + k];
            a[p * n + k] = t;
        }

        /* Scale its row and subtract that from all others. */
        const double over = 1.0 / a[c * n + c];
        a[c * n + c] = 1.0;
        for (int k = 0; k < n; ++k) a[c * n + k] *= over;
        for (int r = 0; r < n; ++r) {
            if (r == c) continue;
            const double f = a[r * n + c];
            a[r * n + c] = 0;
            for (int k = 0; k < n; ++k) a[r * n + k] -= f * a[c * n + k];
        }
    }

    /* Swapped rows of the matrix are swapped columns of its inverse. */
    for (int c = n - 1; c >= 0; --c)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): n <= 6 */
        for (int r = 0; pivot[c] != c && r < n; ++r) {
            const double t = a[r * n + c];
            a[r * n + c] = a[r * n + pivot[c]];
            a[r * n + pivot[c]] = t;
        }
    return 1;
}

/* ---- slides ---- */

/* The five rows or columns of a slide are two forces u at a lever, with the moments m, and three
   torques n. This holds the vectors dual to (u_0, u_1, z), with the axis z = u_0 x u_1, and those
   dual to n. */
typedef struct slide_duals {
    v3 u[3], n[3]; /* u[2] is dual to z */
    v3 m[2];
    v3 z;
} slide_duals;

static void duals_of_three(const v3 v[3], v3 out[3]) {
    for (int k = 0; k < 3; ++k) out[k] = v3_cross(v[(k + 1) % 3], v[(k + 2) % 3]);
    const double over = 1.0 / v3_dot(v[0], out[0]);
    for (int k = 0; k < 3; ++k) out[k] = v3_scale(out[k], over);
}

/* Duals of five 6-vectors. Entry c of vector k is at[k * by + c * step]. */
static slide_duals duals_of(const double *at, int by, int step) {
    v3 force[5], torque[5];
    for (int k = 0; k < 5; ++k) {
        const double *v = at + k * by;
        force[k] = (v3){v[0], v[step], v[2 * step]};
        torque[k] = (v3){v[3 * step], v[4 * step], v[5 * step]};
    }

    slide_duals d;
    d.z = v3_cross(force[0], force[1]);
    d.m[0] = torque[0];
    d.m[1] = torque[1];
    const v3 u[3] = {force[0], force[1], d.z};
    duals_of_three(u, d.u);
    duals_of_three(torque + 2, d.n);
    return d;
}

/* R: motions without a part along z that satisfy unit gammas, G_b R = 1. */
static void set_r(const slide_duals *d, double *r) {
    for (int k = 0; k < 5; ++k) {
        v3 shift = {0, 0, 0}, rotation = {0, 0, 0};
        if (k < 2)
            shift = d->u[k];
        else {
            rotation = d->n[k - 2];
            for (int e = 0; e < 2; ++e) shift = v3_mad(shift, -v3_dot(d->m[e], rotation), d->u[e]);
        }

        const double v[6] = {shift.x, shift.y, shift.z, rotation.x, rotation.y, rotation.z};
        for (int c = 0; c < 6; ++c) r[5 * c + k] = v[c];
    }
}

/* L: multipliers of a wrench, L W_b = 1. */
static void set_l(const slide_duals *d, double *l) {
    for (int k = 0; k < 5; ++k) {
        v3 force = {0, 0, 0}, torque = {0, 0, 0};
        if (k < 2)
            force = d->u[k];
        else {
            torque = d->n[k - 2];
            for (int e = 0; e < 2; ++e) force = v3_mad(force, -v3_dot(d->m[e], torque), d->u[e]);
        }
        v3_to(force, l + 6 * k);
        v3_to(torque, l + 6 * k + 3);
    }
}

static int factor_slide(skel__lu_full *b, double *parent) {
    const slide_duals rows = duals_of(b->gb, 6, 1), columns = duals_of(b->wb, 1, 5);
    const double z[6] = {rows.z.x, rows.z.y, rows.z.z, 0, 0, 0};
    double r[36], ta[6], product[36], sum[36], kab[36], kba[36];

    /* L and t of the columns; R and z of the rows; s = t^T A z */
    set_r(&rows, r);
    set_l(&columns, b->l);
    memset(b->t, 0, sizeof b->t);
    v3_to(columns.z, b->t);
    multiply(b->t, b->a, ta, 1, 6, 6);
    double s = 0;
    for (int k = 0; k < 6; ++k) s += ta[k] * z[k];
    if (!(fabs(s) > 0)) return 0;

    /* Q = R - z (t^T A R) / s */
    for (int k = 0; k < 6; ++k) b->z_over_s[k] = z[k] / s;
    multiply(ta, r, product, 1, 6, 5);
    for (int c = 0; c < 6; ++c)
        for (int k = 0; k < 5; ++k) b->q[5 * c + k] = r[5 * c + k] - b->z_over_s[c] * product[k];
    if (!parent) return 1;

    /* Y = -Q G_a - z (t^T K_ba) / s */
    double *y = b->y_by_parent;
    to_rows(b->kab, kab);
    to_rows(b->kba, kba);
    multiply(b->q, b->ga, y, 6, 5, 6);
    multiply(b->t, kba, product, 1, 6, 6);
    for (int c = 0; c < 6; ++c)
        for (int k = 0; k < 6; ++k) y[6 * c + k] = -y[6 * c + k] - b->z_over_s[c] * product[k];

    /* Lambda = L (A Y + K_ba) */
    multiply(b->a, y, sum, 6, 6, 6);
    for (int k = 0; k < 36; ++k) sum[k] += kba[k];
    multiply(b->l, sum, b->l_by_parent, 5, 6, 6);

    /* A_a += K_ab Y - W_a Lambda */
    multiply(b->wa, b->l_by_parent, product, 6, 5, 6);
    add_rows(parent, -1.0, product);
    if (!b->is_coupled) return 1;
    multiply(kab, y, product, 6, 6, 6);
    add_rows(parent, 1.0, product);
    return 1;
}

/* y_0 = Q gamma + z (t.rho_b) / s,  lambda_0 = L (A y_0 - rho_b) */
static void inward_slide(skel__lu_full *b, const double *rho, const double *gamma,
                         double *rho_parent) {
    double left[6], product[6], kab[36], t_rho = 0;
    multiply(b->q, gamma, b->y0, 6, 5, 1);
    for (int k = 0; k < 3; ++k) t_rho += b->t[k] * rho[k];
    for (int k = 0; k < 6; ++k) b->y0[k] += b->z_over_s[k] * t_rho;
    multiply(b->a, b->y0, left, 6, 6, 1);
    for (int k = 0; k < 6; ++k) left[k] -= rho[k];
    multiply(b->l, left, b->l0, 5, 6, 1);
    if (!rho_parent) return;

    /* rho_a += W_a lambda_0 - K_ab y_0 */
    multiply(b->wa, b->l0, product, 6, 5, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] += product[k];
    if (!b->is_coupled) return;
    to_rows(b->kab, kab);
    multiply(kab, b->y0, product, 6, 6, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] -= product[k];
}

/* y_b = y_0 + Y y_a,  lambda = lambda_0 + Lambda y_a */
static void outward_slide(const skel__lu_full *b, const double *y_parent, double *y,
                          double *lambda) {
    double product[6];
    memcpy(y, b->y0, sizeof b->y0);
    memcpy(lambda, b->l0, 5 * sizeof *lambda);
    if (!y_parent) return;

    multiply(b->y_by_parent, y_parent, product, 6, 6, 1);
    for (int k = 0; k < 6; ++k) y[k] += product[k];
    multiply(b->l_by_parent, y_parent, product, 5, 6, 1);
    for (int k = 0; k < 5; ++k) lambda[k] += product[k];
}

/* ---- wobbling masses ---- */

/* A_a -= K_ab A_b^-1 K_ba */
static int factor_wobble(skel__lu_full *b, double *parent) {
    double product[36], kab[36], kba[36];
    if (!invert(b->a, 6)) return 0;
    if (!parent || !b->is_coupled) return 1;

    to_rows(b->kab, kab);
    to_rows(b->kba, kba);
    multiply(b->a, kba, b->inverse_a_kba, 6, 6, 6);
    multiply(kab, b->a, b->kab_inverse_a, 6, 6, 6);
    multiply(kab, b->inverse_a_kba, product, 6, 6, 6);
    add_rows(parent, -1.0, product);
    return 1;
}

/* rho_a -= K_ab A_b^-1 rho_b */
static void inward_wobble(const skel__lu_full *b, const double *rho, double *rho_parent) {
    double product[6];
    if (!rho_parent || !b->is_coupled) return;
    multiply(b->kab_inverse_a, rho, product, 6, 6, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] -= product[k];
}

/* y_b = A_b^-1 (rho_b - K_ba y_a) */
static void outward_wobble(const skel__lu_full *b, const double *rho, const double *y_parent,
                           double *y) {
    double product[6];
    multiply(b->a, rho, y, 6, 6, 1);
    if (!y_parent || !b->is_coupled) return;
    multiply(b->inverse_a_kba, y_parent, product, 6, 6, 1);
    for (int k = 0; k < 6; ++k) y[k] -= product[k];
}

/* ---- functions of tree_lu.h ---- */

int skel__lu_invert(double *a) {
    double rows[36];
    to_rows(a, rows);
    if (!invert(rows, 6)) return 0;

    memset(a, 0, SKEL__WIDE6 * sizeof *a);
    add_rows(a, 1.0, rows);
    return 1;
}

int skel__lu_full_factor(const double *a, skel__lu_full *b, double *parent) {
    to_rows(a, b->a);
    return b->rows > 0 ? factor_slide(b, parent) : factor_wobble(b, parent);
}

void skel__lu_full_inward(skel__lu_full *b, const double *rho, const double *gamma,
                          double *rho_parent) {
    if (b->rows > 0)
        inward_slide(b, rho, gamma, rho_parent);
    else
        inward_wobble(b, rho, rho_parent);
}

void skel__lu_full_outward(const skel__lu_full *b, const double *rho, const double *y_parent,
                           double *y, double *lambda) {
    if (b->rows > 0)
        outward_slide(b, y_parent, y, lambda);
    else
        outward_wobble(b, rho, y_parent, y);
}
