/* SPDX-License-Identifier: BSD-3-Clause */
/* Reference solver pinv: the dense system of [HAK (6)], solved for its minimum norm by SVD, O(n^3).
   As in [HAK], A = -(J M^-1 J^T), and b is the residual of (3) without multipliers (c = d = 0).
   Different from [HAK], the rows have full rank (constraint_rows.c [ERRATA H6, H7]), loads are
   included [ERRATA H10], and prescribed bodies have M^-1 = 0 and a given acceleration
   [ERRATA H11]. */
#include "dynamics/dynamics.h"
#include "base/alloc.h"
#include "math/dense.h"

#include <string.h>

static int32_t row_count(const skel_model *m) {
    int32_t n = 0;
    for (int32_t k = 0; k < m->nj; ++k) n += skel__joint_rows(m->joint[k].type);
    return n;
}

#define PINV_CUT_TREE 1e-15  /* relative singular value: all rows of a tree are independent */
#define PINV_CUT_LOOPS 1e-11 /* loops may have rows that others imply [ERRATA H5] */

/* Workspace: rows of all joints, then matrix, right side, workspace of the SVD. */
typedef struct work {
    skel__rows *rows; /* (nj) */
    double *a, *b;    /* (n x n), (n) */
    double *svd;
    int32_t n;
} work;

static size_t work_layout(const skel_model *m, double *base, work *w) {
    const size_t n = (size_t)row_count(m);
    const size_t rows = ((size_t)m->nj * sizeof(skel__rows) + sizeof(double) - 1) / sizeof(double);
    const size_t total = rows + n * n + n + skel__least_norm_work((int32_t)n);
    if (!base) return total;

    *w = (work){(skel__rows *)(void *)base, base + rows, base + rows + n * n,
                base + rows + n * n + n, (int32_t)n};
    return total;
}

skel_status skel__reference_reserve(skel_state *s, int32_t solver) {
    if (solver == SKEL_SOLVER_KKT && s->m->nl > 0) return SKEL_E_UNSUPPORTED;
    if (solver == SKEL_SOLVER_TREE || s->reference) return SKEL_OK;

    work w = {0};
    const size_t pinv = work_layout(s->m, NULL, &w), kkt = skel__kkt_doubles(s->m);
    s->reference = skel__alloc(&s->m->allocator, (pinv > kkt ? pinv : kkt) * sizeof(double));
    return s->reference ? SKEL_OK : SKEL_E_MEMORY;
}

/* M^-1 w of body i. */
static skel__twist free_response(const skel_state *s, int32_t i, skel__wrench w) {
    const skel__body *b = &s->m->body[i];
    return (skel__twist){v3_scale(w.f, 1.0 / b->mass),
                         m3_mulv(s->r[i], m3_mulv(b->inertia_inverse, m3_tmulv(s->r[i], w.n)))};
}

static skel__wrench row_wrench(const double *g) {
    return (skel__wrench){v3_of(g), v3_of(g + 3)};
}

/* A -= G_j M^-1 G_k^T for the rows of the joints j and k on the body i that they share. */
static void add_block(const skel_state *s, work *w, int32_t i, const double *gj, int rj,
                      int32_t at_j, const double *gk, int rk, int32_t at_k) {
    for (int c = 0; c < rk; ++c) {
        const skel__twist response = free_response(s, i, row_wrench(gk + 6 * c));
        for (int r = 0; r < rj; ++r)
            w->a[(size_t)(at_k + c) * (size_t)w->n + (size_t)(at_j + r)] -=
                skel__row_dot(gj + 6 * r, response);
    }
}

/* Rows of joint j on the body, or NULL if the joint does not belong to it. */
static const double *side_of(const work *w, const skel_model *m, int32_t j, int32_t body) {
    if (m->joint[j].a == body) return w->rows[j].ga;
    return m->joint[j].b == body ? w->rows[j].gb : NULL;
}

/* A and b, from the accelerations s->acc without multipliers. */
static void assemble(const skel_state *s, work *w) {
    const skel_model *m = s->m;
    int32_t at_j = 0;
    memset(w->a, 0, (size_t)w->n * (size_t)w->n * sizeof *w->a);
    for (int32_t j = 0; j < m->nj; at_j += w->rows[j].count, ++j) {
        const int32_t ends[2] = {m->joint[j].a, m->joint[j].b};

        /* Blocks of A: all joints k that share a dynamic body with joint j. */
        int32_t at_k = 0;
        for (int32_t k = 0; k < m->nj; at_k += w->rows[k].count, ++k)
            for (int e = 0; e < 2; ++e) {
                const double *gk = skel__is_dynamic(m, ends[e]) ? side_of(w, m, k, ends[e]) : NULL;
                if (gk)
                    add_block(s, w, ends[e], e ? w->rows[j].gb : w->rows[j].ga, w->rows[j].count,
                              at_j, gk, w->rows[k].count, at_k);
            }

        for (int r = 0; r < w->rows[j].count; ++r)
            w->b[at_j + r] = skel__row_dot(w->rows[j].ga + 6 * r, s->acc[ends[0]]) +
                             skel__row_dot(w->rows[j].gb + 6 * r, s->acc[ends[1]]) -
                             w->rows[j].gamma[r];
    }
}

/* Adds M^-1 G^T b, the accelerations by the multipliers b, to s->acc. */
static void apply_multipliers(skel_state *s, const work *w) {
    const skel_model *m = s->m;
    const double *at = w->b;
    for (int32_t j = 0; j < m->nj; at += w->rows[j].count, ++j) {
        const int32_t ends[2] = {m->joint[j].a, m->joint[j].b};
        for (int e = 0; e < 2; ++e) {
            if (!skel__is_dynamic(m, ends[e])) continue;

            /* G^T b on this body. */
            const double *g = e ? w->rows[j].gb : w->rows[j].ga;
            skel__wrench total = {{0, 0, 0}, {0, 0, 0}};
            for (int r = 0; r < w->rows[j].count; ++r) {
                const skel__wrench one = row_wrench(g + 6 * r);
                total =
                    (skel__wrench){v3_mad(total.f, at[r], one.f), v3_mad(total.n, at[r], one.n)};
            }

            const skel__twist more = free_response(s, ends[e], total);
            skel__twist *acc = &s->acc[ends[e]];
            *acc = (skel__twist){v3_add(acc->v, more.v), v3_add(acc->w, more.w)};
        }
    }
}

skel_status skel__pinv(skel_state *s, const skel__kin *x) {
    work w = {0};
    work_layout(s->m, s->reference, &w);

    /* Accelerations without joints, then the multipliers. */
    for (int32_t k = 0; k < s->m->nd; ++k)
        s->acc[s->m->order[k]] = free_response(s, s->m->order[k], s->f[s->m->order[k]]);
    for (int32_t j = 0; j < s->m->nj; ++j) skel__rows_of(s, x, j, &w.rows[j]);
    assemble(s, &w);
    const double cut = s->m->nl > 0 ? PINV_CUT_LOOPS : PINV_CUT_TREE;
    if (skel__least_norm(w.a, w.b, w.n, cut, w.svd) < 0) return SKEL_E_SINGULAR;
    apply_multipliers(s, &w);
    return SKEL_OK;
}
