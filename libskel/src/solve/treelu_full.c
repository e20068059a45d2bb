/* SPDX-License-Identifier: BSD-3-Clause */
/* Block elimination of any joint, by its columns and rows; see treelu.h for the system. With
   b the child, a the parent and N = G_b A_b^-1 W_b:
     lambda = N^-1 (gamma - G_b A^-1 rho_b - Gh y_a),   Gh = G_a - G_b A^-1 K_ba
     A_a += Wh N^-1 Gh - K_ab A^-1 K_ba,                Wh = W_a - K_ab A^-1 W_b
     rho_a += Wh N^-1 (gamma - G_b A^-1 rho_b) - K_ab A^-1 rho_b */
#include "solve/treelu.h"

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
        for (int r = 0; pivot[c] != c && r < n; ++r) {
            const double t      = a[r * n + c];
            a[r * n + c]        = a[r * n + pivot[c]];
            a[r * n + pivot[c]] = t;
        }
    return 1;
}

static ALWAYS_INLINE int eliminate(skel__lu_full *b, double *parent, int r) {
    double t[36], u[36], kab[36], kba[36];
    multiply(b->a, b->wb, b->aw, 6, 6, r);
    multiply(b->gb, b->a, b->gai, r, 6, 6);
    multiply(b->gb, b->aw, b->n, r, 6, r);
    if (!invert(b->n, r)) return 0;
    if (!parent) return 1;
    memcpy(b->gh, b->ga, sizeof b->gh);
    memcpy(b->wh, b->wa, sizeof b->wh);
    if (b->is_coupled) {
        spell(b->kab, kab), spell(b->kba, kba);
        multiply(b->a, kba, b->aik, 6, 6, 6);
        multiply(kab, b->a, b->kai, 6, 6, 6);
        multiply(b->gb, b->aik, t, r, 6, 6);
        for (int k = 0; k < 6 * r; ++k) b->gh[k] -= t[k];
        multiply(kab, b->aw, t, 6, 6, r);
        for (int k = 0; k < 6 * r; ++k) b->wh[k] -= t[k];
        multiply(kab, b->aik, t, 6, 6, 6);
        add_spelled(parent, -1.0, t);
    }
    multiply(b->n, b->gh, t, r, r, 6);
    multiply(b->wh, t, u, 6, r, 6);
    add_spelled(parent, 1.0, u);
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
    if (!invert(b->a, 6)) return 0;
    switch (b->r) { /* constants, so that the loops unroll */
    case 3: return eliminate(b, parent, 3);
    case 4: return eliminate(b, parent, 4);
    case 5: return eliminate(b, parent, 5);
    case 6: return eliminate(b, parent, 6);
    default: eliminate_loose(b, parent); return 1;
    }
}

static ALWAYS_INLINE void inward(skel__lu_full *b, const double *rho, const double *gamma,
                                 double *rho_parent, int r) {
    double t[6], z[6];
    multiply(b->gai, rho, t, r, 6, 1);
    for (int k = 0; k < r; ++k) b->rest[k] = gamma[k] - t[k];
    if (!rho_parent) return;
    multiply(b->n, b->rest, z, r, r, 1);
    multiply(b->wh, z, t, 6, r, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] += t[k];
    if (!b->is_coupled) return;
    multiply(b->kai, rho, t, 6, 6, 1);
    for (int k = 0; k < 6; ++k) rho_parent[k] -= t[k];
}

static ALWAYS_INLINE void outward(const skel__lu_full *b, const double *rho, const double *y_parent,
                                  double *y, double *lambda, int r) {
    double t[6], u[6];
    memcpy(u, b->rest, sizeof u);
    if (y_parent) {
        multiply(b->gh, y_parent, t, r, 6, 1);
        for (int k = 0; k < r; ++k) u[k] -= t[k];
    }
    multiply(b->n, u, lambda, r, r, 1);
    multiply(b->a, rho, y, 6, 6, 1);
    multiply(b->aw, lambda, t, 6, r, 1);
    for (int k = 0; k < 6; ++k) y[k] += t[k];
    if (!y_parent || !b->is_coupled) return;
    multiply(b->aik, y_parent, t, 6, 6, 1);
    for (int k = 0; k < 6; ++k) y[k] -= t[k];
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
    switch (b->r) {
    case 3: inward(b, rho, gamma, rho_parent, 3); break;
    case 4: inward(b, rho, gamma, rho_parent, 4); break;
    case 5: inward(b, rho, gamma, rho_parent, 5); break;
    case 6: inward(b, rho, gamma, rho_parent, 6); break;
    default: inward_loose(b, rho, rho_parent); break;
    }
}

void skel__lu_full_outward(const skel__lu_full *b, const double *rho, const double *y_parent,
                           double *y, double *lambda) {
    switch (b->r) {
    case 3: outward(b, rho, y_parent, y, lambda, 3); break;
    case 4: outward(b, rho, y_parent, y, lambda, 4); break;
    case 5: outward(b, rho, y_parent, y, lambda, 5); break;
    case 6: outward(b, rho, y_parent, y, lambda, 6); break;
    default: outward_loose(b, rho, y_parent, y); break;
    }
}
