/* SPDX-License-Identifier: BSD-3-Clause */
/* Block elimination of joints that are not through a point, and of wobbling masses, which hang on
   springs alone; see tree_lu.h for the system. b is the child, a the parent. A joint is eliminated
   in terms of its free motion, as joints through a point are, so that its rows hold to rounding
   however far apart the bodies are. With G_b R = 1, G_b Z = 0, L W_b = 1, T^T W_b = 0 and
   S = T^T A_b Z:
     y_b = y_0 + Y y_a,           y_0 = Q gamma + Z S^-1 T^T rho_b,  Q = R - Z S^-1 (T^T A_b R)
     lambda = lambda_0 + Lambda y_a,   Y = -Q G_a - Z S^-1 (T^T K_ba),  Lambda = L (A_b Y + K_ba)
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

/* X = B S^-1 for B of size m x n, in place, by Gaussian elimination with pivoting of the columns of
   S. S is overwritten. Returns 0 if S is singular. */
static ALWAYS_INLINE int divide_right(double *b, double *s, int m, int n) {
    for (int k = 0; k < n; ++k) {
        /* The largest entry of row k becomes the pivot. */
        int p = k;
        for (int c = k + 1; c < n; ++c)
            if (fabs(s[k * n + c]) > fabs(s[k * n + p])) p = c;
        if (!(fabs(s[k * n + p]) > 0)) return 0;
        for (int r = 0; p != k && r < n; ++r) {
            const double t = s[r * n + k];
            s[r * n + k] = s[r * n + p];
            s[r * n + p] = t;
        }
        for (int r = 0; p != k && r < m; ++r) {
            const double t = b[r * n + k];
            b[r * n + k] = b[r * n + p];
            b[r * n + p] = t;
        }

        /* Eliminate the rest of row k by operations on columns. */
        for (int c = k + 1; c < n; ++c) {
            const double f = s[k * n + c] / s[k * n + k];
            for (int r = k; r < n; ++r) s[r * n + c] -= f * s[r * n + k];
            for (int r = 0; r < m; ++r) b[r * n + c] -= f * b[r * n + k];
        }
    }

    /* S is lower triangular now: X_k = (B_k - sum of X_c S_ck over c > k) / S_kk. */
    for (int k = n - 1; k >= 0; --k)
        for (int r = 0; r < m; ++r) {
            double x = b[r * n + k];
            for (int c = k + 1; c < n; ++c) x -= b[r * n + c] * s[c * n + k];
            b[r * n + k] = x / s[k * n + k];
        }
    return 1;
}

/* ---- joints ---- */

/* A motion or a wrench: (shift; rotation) or (force; torque). */
typedef struct six {
    v3 force, torque;
} six;

/* The rows (or columns) of a joint are forces u at a lever, with the moments m, and torques n. Both
   are completed to three directions: those added, at the end, are the free ones, perpendicular to
   all others. */
typedef struct joint_basis {
    int forces, torques; /* number of rows of each */
    v3 u[3], n[3];       /* directions, the free ones last */
    v3 m[3];             /* moments of the forces */
    v3 dual_u[3], dual_n[3];
} joint_basis;

static void complete(v3 v[3], int count) {
    if (count == 1) v[1] = v3_perpendicular(v[0]);
    if (count < 3) v[2] = v3_cross(v[0], v[1]);
}

static void duals_of_three(const v3 v[3], v3 out[3]) {
    for (int k = 0; k < 3; ++k) out[k] = v3_cross(v[(k + 1) % 3], v[(k + 2) % 3]);
    const double over = 1.0 / v3_dot(v[0], out[0]);
    for (int k = 0; k < 3; ++k) out[k] = v3_scale(out[k], over);
}

/* Of 6-vectors: entry c of vector k is at[k * by + c * step]. */
static ALWAYS_INLINE joint_basis basis_of(const double *at, int by, int step, int rows,
                                          int forces) {
    joint_basis d = {.forces = forces, .torques = rows - forces};
    for (int k = 0; k < rows; ++k) {
        const double *v = at + k * by;
        const v3 torque = {v[3 * step], v[4 * step], v[5 * step]};
        if (k < forces) {
            d.u[k] = (v3){v[0], v[step], v[2 * step]};
            d.m[k] = torque;
        } else
            d.n[k - forces] = torque;
    }

    complete(d.u, d.forces);
    complete(d.n, d.torques);
    duals_of_three(d.u, d.dual_u);
    duals_of_three(d.n, d.dual_n);
    return d;
}

/* The 6-vector with the given torque part that the forces do not see. */
static six with_torque(const joint_basis *d, v3 torque) {
    six v = {{0, 0, 0}, torque};
    for (int e = 0; e < d->forces; ++e)
        v.force = v3_mad(v.force, -v3_dot(d->m[e], torque), d->dual_u[e]);
    return v;
}

/* The vector that is dual to row k. */
static six dual_of(const joint_basis *d, int k) {
    if (k < d->forces) return (six){d->dual_u[k], {0, 0, 0}};
    return with_torque(d, d->dual_n[k - d->forces]);
}

/* The k-th vector that is perpendicular to all rows: displacements, then rotations. */
static six free_of(const joint_basis *d, int k) {
    const int displacements = 3 - d->forces;
    if (k < displacements) return (six){d->u[d->forces + k], {0, 0, 0}};
    return with_torque(d, d->n[d->torques + k - displacements]);
}

/* Writes v to column k of a matrix with `columns` columns, or to row k of one with 6. */
static ALWAYS_INLINE void to_column(six v, int k, int columns, double *out) {
    const double x[6] = {v.force.x, v.force.y, v.force.z, v.torque.x, v.torque.y, v.torque.z};
    for (int c = 0; c < 6; ++c) out[columns * c + k] = x[c];
}
static void to_row(six v, int k, double *out) {
    v3_to(v.force, out + 6 * k);
    v3_to(v.torque, out + 6 * k + 3);
}

static ALWAYS_INLINE int factor_joint(skel__lu_full *b, double *parent, int rows) {
    const int n = 6 - rows;
    const joint_basis row = basis_of(b->gb, 6, 1, rows, b->length_rows);
    const joint_basis column = basis_of(b->wb, 1, rows, rows, b->length_rows);
    double r[36], s[36], ta[36], product[36], sum[36], kab[36], kba[36];

    /* R and Z of the rows; L and T of the columns; S = T^T A Z; Z S^-1 */
    for (int k = 0; k < rows; ++k) {
        to_column(dual_of(&row, k), k, rows, r);
        to_row(dual_of(&column, k), k, b->l);
    }
    for (int k = 0; k < n; ++k) {
        to_column(free_of(&row, k), k, n, b->z_over_s);
        to_row(free_of(&column, k), k, b->t);
    }
    multiply(b->t, b->a, ta, n, 6, 6);
    multiply(ta, b->z_over_s, s, n, 6, n);
    if (!divide_right(b->z_over_s, s, 6, n)) return 0;

    /* Q = R - Z S^-1 (T^T A R) */
    multiply(ta, r, product, n, 6, rows);
    multiply(b->z_over_s, product, b->q, 6, n, rows);
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all columns are set */
    for (int k = 0; k < 6 * rows; ++k) b->q[k] = r[k] - b->q[k];
    if (!parent) return 1;

    /* Y = -Q G_a - Z S^-1 (T^T K_ba) */
    double *y = b->y_by_parent;
    to_rows(b->kab, kab);
    to_rows(b->kba, kba);
    multiply(b->q, b->ga, y, 6, rows, 6);
    multiply(b->t, kba, product, n, 6, 6);
    multiply(b->z_over_s, product, sum, 6, n, 6);
    for (int k = 0; k < 36; ++k) y[k] = -y[k] - sum[k];

    /* Lambda = L (A Y + K_ba) */
    multiply(b->a, y, sum, 6, 6, 6);
    for (int k = 0; k < 36; ++k) sum[k] += kba[k];
    multiply(b->l, sum, b->l_by_parent, rows, 6, 6);

    /* A_a += K_ab Y - W_a Lambda */
    multiply(b->wa, b->l_by_parent, product, 6, rows, 6);
    add_rows(parent, -1.0, product);
    if (!b->is_coupled) return 1;
    multiply(kab, y, product, 6, 6, 6);
    add_rows(parent, 1.0, product);
    return 1;
}

/* y_0 = Q gamma + Z S^-1 (T^T rho_b),  lambda_0 = L (A y_0 - rho_b) */
static ALWAYS_INLINE void inward_joint(skel__lu_full *b, const double *rho, const double *gamma,
                                       double *rho_parent, int rows) {
    const int n = 6 - rows;
    double left[6], product[6], kab[36], t_rho[6];
    multiply(b->q, gamma, b->y0, 6, rows, 1);
    multiply(b->t, rho, t_rho, n, 6, 1);
    multiply(b->z_over_s, t_rho, product, 6, n, 1);
    for (int k = 0; k < 6; ++k) b->y0[k] += product[k];
    multiply(b->a, b->y0, left, 6, 6, 1);
    for (int k = 0; k < 6; ++k) left[k] -= rho[k];
    multiply(b->l, left, b->l0, rows, 6, 1);
    if (!rho_parent) return;

    /* rho_a += W_a lambda_0 - K_ab y_0 */
    multiply(b->wa, b->l0, product, 6, rows, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] += product[k];
    if (!b->is_coupled) return;
    to_rows(b->kab, kab);
    multiply(kab, b->y0, product, 6, 6, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] -= product[k];
}

/* y_b = y_0 + Y y_a,  lambda = lambda_0 + Lambda y_a */
static ALWAYS_INLINE void outward_joint(const skel__lu_full *b, const double *y_parent, double *y,
                                        double *lambda, int rows) {
    double product[6];
    memcpy(y, b->y0, sizeof b->y0);
    memcpy(lambda, b->l0, (size_t)rows * sizeof *lambda);
    if (!y_parent) return;

    multiply(b->y_by_parent, y_parent, product, 6, 6, 1);
    for (int k = 0; k < 6; ++k) y[k] += product[k];
    multiply(b->l_by_parent, y_parent, product, rows, 6, 1);
    for (int k = 0; k < rows; ++k) lambda[k] += product[k];
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

/* Joints with one freedom have a copy of each function with a constant number of rows. */
#define ROWS_OF_ONE_FREEDOM 5

int skel__lu_full_factor(const double *a, skel__lu_full *b, double *parent) {
    to_rows(a, b->a);
    if (b->rows == ROWS_OF_ONE_FREEDOM) return factor_joint(b, parent, ROWS_OF_ONE_FREEDOM);
    return b->rows > 0 ? factor_joint(b, parent, b->rows) : factor_wobble(b, parent);
}

void skel__lu_full_inward(skel__lu_full *b, const double *rho, const double *gamma,
                          double *rho_parent) {
    if (b->rows == ROWS_OF_ONE_FREEDOM)
        inward_joint(b, rho, gamma, rho_parent, ROWS_OF_ONE_FREEDOM);
    else if (b->rows > 0)
        inward_joint(b, rho, gamma, rho_parent, b->rows);
    else
        inward_wobble(b, rho, rho_parent);
}

void skel__lu_full_outward(const skel__lu_full *b, const double *rho, const double *y_parent,
                           double *y, double *lambda) {
    if (b->rows == ROWS_OF_ONE_FREEDOM)
        outward_joint(b, y_parent, y, lambda, ROWS_OF_ONE_FREEDOM);
    else if (b->rows > 0)
        outward_joint(b, y_parent, y, lambda, b->rows);
    else
        outward_wobble(b, rho, y_parent, y);
}
