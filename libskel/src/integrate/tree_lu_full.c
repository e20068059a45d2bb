/* SPDX-License-Identifier: BSD-3-Clause */
/* Block elimination of slides and of masses on springs; see treelu.h for the system.
   b is the child, a the parent. A slide goes by what it leaves free, as joints through a point do:
   its rows hold to rounding however far the bodies are apart. With G_b R = 1, G_b z = 0, L W_b = 1,
   t^T W_b = 0 and s = t^T A_b z:
     y_b = y_0 + Y y_a,           y_0 = Q gamma + z (t.rho_b) / s,   Q = R - z (t^T A_b R) / s
     lambda = lambda_0 + Lambda y_a,   Y = -Q G_a - z (t^T K_ba) / s,   Lambda = L (A_b Y + K_ba)
     A_a += K_ab Y - W_a Lambda,       rho_a += W_a lambda_0 - K_ab y_0.
   A mass on springs:  A_a -= K_ab A_b^-1 K_ba,   rho_a -= K_ab A_b^-1 rho_b. */
#include "integrate/tree_lu.h"

#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Between wide matrices and such row by row. */
static void spell(const double *wide, double *out) {
    for (int k = 0; k < 36; ++k) out[k] = wide[wide6_at(k / 6, k % 6)];
}
static void add_spelled(double *wide, double sign, const double *a) {
    for (int k = 0; k < 36; ++k) wide[wide6_at(k / 6, k % 6)] += sign * a[k];
}

/* c = a b, sizes m x k and k x n; constants after inlining. */
static ALWAYS_INLINE void multiply(const double *a, const double *b, double *c, int m, int k,
                                   int n) {
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
            c[i * n + j] = sum;
        }
}

/* In-place inverse with row pivoting. */
static ALWAYS_INLINE int invert(double *a, int n) {
    int pivot[6];
    for (int c = 0; c < n; ++c) {
        int p = c;
        for (int r = c + 1; r < n; ++r)
            if (fabs(a[r * n + c]) > fabs(a[p * n + c])) p = r;
        pivot[c] = p;
        if (!(fabs(a[p * n + c]) > 0)) return 0;
        for (int k = 0; p != c && k < n; ++k) {
            const double t = a[c * n + k];
            a[c * n + k]   = a[p * n + k];
            a[p * n + k]   = t;
        }
        const double over = 1.0 / a[c * n + c];
        a[c * n + c]      = 1.0;
        for (int k = 0; k < n; ++k) a[c * n + k] *= over;
        for (int r = 0; r < n; ++r) {
            if (r == c) continue;
            const double f = a[r * n + c];
            a[r * n + c]   = 0;
            for (int k = 0; k < n; ++k) a[r * n + k] -= f * a[c * n + k];
        }
    }
    for (int c = n - 1; c >= 0; --c)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): n <= 6 */
        for (int r = 0; pivot[c] != c && r < n; ++r) {
            const double t      = a[r * n + c];
            a[r * n + c]        = a[r * n + pivot[c]];
            a[r * n + pivot[c]] = t;
        }
    return 1;
}

/* ---- slides ---- */

/* Rows or columns of a slide: forces u (two of them) at a lever, with their torques m; then torques
   n (three). Their duals: of u and the axis z = u_0 x u_1, and of n. */
typedef struct slide_duals {
    v3 u[3], n[3]; /* u[2] is that of z */
    v3 m[2];
    v3 z;
} slide_duals;

static void dual_of(const v3 v[3], v3 out[3]) {
    for (int k = 0; k < 3; ++k) out[k] = v3_cross(v[(k + 1) % 3], v[(k + 2) % 3]);
    const double over = 1.0 / v3_dot(v[0], out[0]);
    for (int k = 0; k < 3; ++k) out[k] = v3_scale(out[k], over);
}

/* Of 5 six-vectors; entry c of vector k is at[k * by + c * step]. */
static slide_duals duals_of(const double *at, int by, int step) {
    v3 force[5], torque[5];
    for (int k = 0; k < 5; ++k) {
        const double *v = at + k * by;
        force[k]        = (v3){v[0], v[step], v[2 * step]};
        torque[k]       = (v3){v[3 * step], v[4 * step], v[5 * step]};
    }
    slide_duals d;
    d.z           = v3_cross(force[0], force[1]);
    d.m[0]        = torque[0];
    d.m[1]        = torque[1];
    const v3 u[3] = {force[0], force[1], d.z};
    dual_of(u, d.u);
    dual_of(torque + 2, d.n);
    return d;
}

/* R: the motion without any along z that meets unit gammas, G_b R = 1. */
static void shut_of(const slide_duals *d, double *r) {
    for (int k = 0; k < 5; ++k) {
        v3 shift = {0, 0, 0}, turn = {0, 0, 0};
        if (k < 2)
            shift = d->u[k];
        else {
            turn = d->n[k - 2];
            for (int e = 0; e < 2; ++e) shift = v3_mad(shift, -v3_dot(d->m[e], turn), d->u[e]);
        }
        const double v[6] = {shift.x, shift.y, shift.z, turn.x, turn.y, turn.z};
        for (int c = 0; c < 6; ++c) r[5 * c + k] = v[c];
    }
}

/* L: the multipliers of a wrench, L W_b = 1. */
static void hold_of(const slide_duals *d, double *l) {
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

static int eliminate(skel__lu_full *b, double *parent) {
    const slide_duals rows = duals_of(b->gb, 6, 1), columns = duals_of(b->wb, 1, 5);
    const double      z[6] = {rows.z.x, rows.z.y, rows.z.z, 0, 0, 0};
    double            r[36], t[36], u[36], ta[6], kpc[36], kcp[36];

    /* Q = R - z (t^T A R) / s,  s = t^T A z */
    v3_to(columns.z, b->across);
    b->across[3] = b->across[4] = b->across[5] = 0;
    shut_of(&rows, r);
    hold_of(&columns, b->hold);
    multiply(b->across, b->a, ta, 1, 6, 6);
    double s = 0;
    for (int k = 0; k < 6; ++k) s += ta[k] * z[k];
    if (!(fabs(s) > 0)) return 0;
    for (int k = 0; k < 6; ++k) b->along[k] = z[k] / s;
    multiply(ta, r, t, 1, 6, 5);
    for (int c = 0; c < 6; ++c)
        for (int k = 0; k < 5; ++k) b->q[5 * c + k] = r[5 * c + k] - b->along[c] * t[k];
    if (!parent) return 1;

    /* Y = -Q G_a - z (t^T K_ba) / s,  Lambda = L (A Y + K_ba) */
    spell(b->kab, kpc);
    spell(b->kba, kcp);
    multiply(b->q, b->ga, b->by_parent, 6, 5, 6);
    multiply(b->across, kcp, t, 1, 6, 6);
    for (int c = 0; c < 6; ++c)
        for (int k = 0; k < 6; ++k)
            b->by_parent[6 * c + k] = -b->by_parent[6 * c + k] - b->along[c] * t[k];
    multiply(b->a, b->by_parent, u, 6, 6, 6);
    for (int k = 0; k < 36; ++k) u[k] += kcp[k];
    multiply(b->hold, u, b->pull, 5, 6, 6);

    /* A_a += K_ab Y - W_a Lambda */
    multiply(b->wa, b->pull, t, 6, 5, 6);
    add_spelled(parent, -1.0, t);
    if (!b->is_coupled) return 1;
    multiply(kpc, b->by_parent, t, 6, 6, 6);
    add_spelled(parent, 1.0, t);
    return 1;
}

static void eliminate_loose(skel__lu_full *b, double *parent) {
    double t[36], kab[36], kba[36];
    if (!parent || !b->is_coupled) return;
    spell(b->kab, kab), spell(b->kba, kba);
    multiply(b->a, kba, b->aik, 6, 6, 6);
    multiply(kab, b->a, b->kai, 6, 6, 6);
    multiply(kab, b->aik, t, 6, 6, 6);
    add_spelled(parent, -1.0, t);
}

int skel__lu_invert(double *a) {
    double t[36];
    spell(a, t);
    if (!invert(t, 6)) return 0;
    memset(a, 0, SKEL__WIDE6 * sizeof *a);
    add_spelled(a, 1.0, t);
    return 1;
}

int skel__lu_full_factor(const double *a, skel__lu_full *b, double *parent) {
    spell(a, b->a);
    if (b->r > 0) return eliminate(b, parent);
    if (!invert(b->a, 6)) return 0;
    eliminate_loose(b, parent);
    return 1;
}

/* y_0 = Q gamma + z (t.rho_b) / s,  lambda_0 = L (A y_0 - rho_b) */
static void inward(skel__lu_full *b, const double *rho, const double *gamma, double *rho_parent) {
    double t[6], u[6], kpc[36], free = 0;
    multiply(b->q, gamma, b->y0, 6, 5, 1);
    for (int k = 0; k < 3; ++k) free += b->across[k] * rho[k];
    for (int k = 0; k < 6; ++k) b->y0[k] += b->along[k] * free;
    multiply(b->a, b->y0, t, 6, 6, 1);
    for (int k = 0; k < 6; ++k) t[k] -= rho[k];
    multiply(b->hold, t, b->l0, 5, 6, 1);
    if (!rho_parent) return;

    multiply(b->wa, b->l0, u, 6, 5, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] += u[k];
    if (!b->is_coupled) return;
    spell(b->kab, kpc);
    multiply(kpc, b->y0, u, 6, 6, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] -= u[k];
}

static void outward(const skel__lu_full *b, const double *y_parent, double *y, double *lambda) {
    double t[6];
    memcpy(y, b->y0, sizeof b->y0);
    memcpy(lambda, b->l0, 5 * sizeof *lambda);
    if (!y_parent) return;
    multiply(b->by_parent, y_parent, t, 6, 6, 1);
    for (int k = 0; k < 6; ++k) y[k] += t[k];
    multiply(b->pull, y_parent, t, 5, 6, 1);
    for (int k = 0; k < 5; ++k) lambda[k] += t[k];
}

static void inward_loose(const skel__lu_full *b, const double *rho, double *rho_parent) {
    double t[6];
    if (!rho_parent || !b->is_coupled) return;
    multiply(b->kai, rho, t, 6, 6, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] -= t[k];
}

static void outward_loose(const skel__lu_full *b, const double *rho, const double *y_parent,
                          double *y) {
    double t[6];
    multiply(b->a, rho, y, 6, 6, 1);
    if (!y_parent || !b->is_coupled) return;
    multiply(b->aik, y_parent, t, 6, 6, 1);
    for (int k = 0; k < 6; ++k) y[k] -= t[k];
}

void skel__lu_full_inward(skel__lu_full *b, const double *rho, const double *gamma,
                          double *rho_parent) {
    if (b->r > 0)
        inward(b, rho, gamma, rho_parent);
    else
        inward_loose(b, rho, rho_parent);
}

void skel__lu_full_outward(const skel__lu_full *b, const double *rho, const double *y_parent,
                           double *y, double *lambda) {
    if (b->r > 0)
        outward(b, y_parent, y, lambda);
    else
        outward_loose(b, rho, y_parent, y);
}
