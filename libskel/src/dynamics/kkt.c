/* SPDX-License-Identifier: BSD-3-Clause */
/* Reference solver kkt: the constrained system M a = f + G^T lambda, G a = gamma, eliminated along
   the tree, children before parents, in O(n). Joint between tree parent a and child b:
     inward   S = G_b H_b^-1 G_b^T,  H_a += G_a^T S^-1 G_a,
              f_a += G_a^T S^-1 (gamma - G_b H_b^-1 f_b)
     outward  lambda = S^-1 (gamma - G_b H_b^-1 f_b - G_a a_a),  a_b = H_b^-1 (f_b + G_b^T lambda)
   All blocks are symmetric and positive definite: Cholesky factorisation without pivoting. */
#include "dynamics/dynamics.h"
#include "math/dense.h"

#include <string.h>

typedef struct block {
    skel__rows rows;              /* swapped if need be, so that ga belongs to the tree parent */
    double h[36];                 /* Cholesky factor of H */
    double y[6 * SKEL__MAX_ROWS]; /* H^-1 G_b^T, one column of 6 per row of G */
    double s[SKEL__MAX_ROWS * SKEL__MAX_ROWS];
    double free[6];              /* H^-1 f */
    double left[SKEL__MAX_ROWS]; /* gamma - G_b H^-1 f */
} block;

size_t skel__kkt_doubles(const skel_model *m) {
    return (size_t)m->nb * (sizeof(block) / sizeof(double) + 1 + 6);
}

static double dot6(const double *a, const double *b) {
    double sum = 0;
    for (int k = 0; k < 6; ++k) sum += a[k] * b[k];
    return sum;
}

/* H = M of body i, its applied wrench f, and the rows of its joint. */
static void load_block(const skel_state *s, const skel__kin *x, int32_t i, block *t, double *f) {
    const skel__body *b = &s->m->body[i];
    const m3 d = m3_conjugate(s->r[i], b->inertia);
    memset(t->h, 0, sizeof t->h);
    for (int k = 0; k < 3; ++k) {
        t->h[7 * k] = b->mass;
        v3_to(d.r[k], t->h + 6 * (3 + k) + 3);
    }
    v3_to(s->f[i].f, f);
    v3_to(s->f[i].n, f + 3);
    if (b->joint < 0) return;

    skel__rows_of(s, x, b->joint, &t->rows);
    if (!s->m->joint[b->joint].reversed) return;

    double other[sizeof t->rows.ga / sizeof(double)];
    memcpy(other, t->rows.ga, sizeof other);
    memcpy(t->rows.ga, t->rows.gb, sizeof other);
    memcpy(t->rows.gb, other, sizeof other);
}

/* H_a += G_a^T S^-1 G_a and f_a += G_a^T S^-1 left. */
static void add_to_parent(const block *t, double *h, double *f) {
    const int n = t->rows.count;

    /* z = S^-1 G_a, u = S^-1 left */
    double z[SKEL__MAX_ROWS * 6], u[SKEL__MAX_ROWS];
    memcpy(z, t->rows.ga, sizeof z);
    memcpy(u, t->left, sizeof u);
    for (int c = 0; c < 6; ++c) skel__cholesky_solve(t->s, n, z + c, 6);
    skel__cholesky_solve(t->s, n, u, 1);

    /* The mean of both triangles keeps H symmetric despite rounding. */
    for (int r = 0; r < 6; ++r) {
        for (int c = 0; c <= r; ++c) {
            double sum = 0;
            for (int k = 0; k < n; ++k)
                sum += t->rows.ga[6 * k + r] * z[6 * k + c] + t->rows.ga[6 * k + c] * z[6 * k + r];
            h[6 * r + c] += 0.5 * sum;
        }
        for (int k = 0; k < n; ++k) f[r] += t->rows.ga[6 * k + r] * u[k];
    }
}

/* y, S and left of a joint; returns 0 if S is singular. */
static int eliminate(block *t, const double *f) {
    const int n = t->rows.count;

    for (int k = 0; k < n; ++k) {
        memcpy(t->y + 6 * k, t->rows.gb + 6 * k, 6 * sizeof(double));
        skel__cholesky_solve(t->h, 6, t->y + 6 * k, 1);
    }
    for (int r = 0; r < n; ++r)
        for (int c = 0; c <= r; ++c) t->s[r * n + c] = dot6(t->rows.gb + 6 * r, t->y + 6 * c);
    for (int k = 0; k < n; ++k) t->left[k] = t->rows.gamma[k] - dot6(t->y + 6 * k, f);
    return skel__cholesky(t->s, n);
}

/* lambda, and the acceleration a of the child. */
static void outward(const block *t, const double *parent, double *a) {
    const int n = t->rows.count;
    double lambda[SKEL__MAX_ROWS];
    for (int k = 0; k < n; ++k) lambda[k] = t->left[k] - dot6(t->rows.ga + 6 * k, parent);
    skel__cholesky_solve(t->s, n, lambda, 1);

    memcpy(a, t->free, sizeof t->free);
    for (int k = 0; k < n; ++k)
        for (int c = 0; c < 6; ++c) a[c] += t->y[6 * k + c] * lambda[k];
}

skel_status skel__kkt(skel_state *s, const skel__kin *x) {
    const skel_model *m = s->m;
    double *force = s->reference;
    block *blocks = (block *)(void *)(force + 6 * (size_t)m->nb);
    for (int32_t k = 0; k < m->nd; ++k)
        load_block(s, x, m->order[k], &blocks[m->order[k]], force + 6 * (size_t)m->order[k]);

    /* Inward pass. */
    for (int32_t k = m->nd - 1; k >= 0; --k) {
        const int32_t i = m->order[k], p = m->body[i].parent;
        block *t = &blocks[i];
        const double *f = force + 6 * (size_t)i;
        if (!skel__cholesky(t->h, 6)) return SKEL_E_SINGULAR;

        memcpy(t->free, f, sizeof t->free);
        skel__cholesky_solve(t->h, 6, t->free, 1);
        if (m->body[i].joint < 0) continue;

        if (!eliminate(t, f)) return SKEL_E_SINGULAR;
        if (m->body[i].is_inner) add_to_parent(t, blocks[p].h, force + 6 * (size_t)p);
    }

    /* Outward pass. */
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__twist u = s->acc[m->body[i].parent];
        double a[6], parent[6];
        v3_to(u.v, parent);
        v3_to(u.w, parent + 3);
        if (m->body[i].joint < 0)
            memcpy(a, blocks[i].free, sizeof a);
        else
            outward(&blocks[i], parent, a);
        s->acc[i] = (skel__twist){v3_of(a), v3_of(a + 3)};
    }
    return SKEL_OK;
}
