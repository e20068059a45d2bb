/* SPDX-License-Identifier: BSD-3-Clause */
/* Strict priorities. Where all goals can be met together, nothing needs to give way and all are
   solved at once. Else one level after the other: each goes downhill in the directions that the
   levels before it leave free (null space), and after every step those are brought back to exactly
   the errors they had; so a later level never costs an earlier one anything. Where an earlier level
   cannot be met, its errors stand still to first order in directions that would spoil it to second
   order (bending a leg that is stretched towards its goal): there the null space is that of its
   curvature, not of its Jacobian. Limits join the directions that are not free. The posture is a
   last level whose wish is simply the way to it. */
#include "math/dense.h"
#include "ik/ik.h"

#include <string.h>

#define ROUNDS 80        /* of one level */
#define SAME 1e-12       /* scaled error by which an earlier level may be off again */
#define INDEPENDENT 1e-6 /* part of a direction that must be new for it to count */
#define STRIDE 0.5       /* longest step [rad], [length] */
#define STIFFEST 1e-7    /* curvature that counts, of the largest */

/* Rows of the levels before `level`. */
int32_t skel__ik_rows_before(const skel_ik *ik, int32_t level) {
    int32_t rows = 0;
    for (int32_t k = 0; k < ik->nt && ik->task[k].level < level; ++k) rows += ik->task[k].rows;
    return rows;
}

static double largest(const double *x, int32_t n) {
    double most = 0;
    for (int32_t k = 0; k < n; ++k) most = fmax(most, fabs(x[k]));
    return most;
}

/* Takes out of v what the kept directions span. */
static void project(const skel_ik *ik, double *v) {
    for (int turn = 0; turn < 2; ++turn) /* twice is enough */
        for (int32_t k = 0; k < ik->level.rank; ++k) {
            const double *b = ik->level.basis + (size_t)k * (size_t)ik->n;
            const double  d = dot_of(b, v, ik->n);
            for (int32_t c = 0; c < ik->n; ++c) v[c] -= d * b[c];
        }
}

/* Adds a direction to those that are kept; 0 where they span it already. v is used up. */
static int keep_direction(skel_ik *ik, double *v) {
    const double was = sqrt(dot_of(v, v, ik->n));
    if (!(was > 0) || ik->level.rank >= ik->n) return 0;
    project(ik, v);
    const double now = sqrt(dot_of(v, v, ik->n));
    if (now < INDEPENDENT * was) return 0;
    double *b = ik->level.basis + (size_t)ik->level.rank++ * (size_t)ik->n;
    for (int32_t c = 0; c < ik->n; ++c) b[c] = v[c] / now;
    return 1;
}

/* What the first m rows, at errors e, want kept. */
static void keep_rows(skel_ik *ik, int32_t m, int is_met) {
    const size_t n = (size_t)ik->n;
    ik->level.rank = 0;
    if (!is_met && ik->n <= SKEL__IK_DENSE) {
        skel__ik_hessian(ik, m);
        memcpy(ik->hf, ik->h, n * n * sizeof *ik->h);
        if (skel__eigen(ik->hf, ik->n, ik->u, ik->work)) {
            const double most = ik->u[ik->n - 1];
            for (int32_t k = ik->n - 1; k >= 0 && ik->u[k] > STIFFEST * most; --k)
                keep_direction(ik, ik->hf + (size_t)k * n);
            return;
        }
    }
    for (int32_t r = 0; r < m; ++r) {
        for (size_t c = 0; c < n; ++c) ik->g[c] = ik->jt[c * (size_t)ik->rows + (size_t)r];
        keep_direction(ik, ik->g);
    }
}

/* Limits that y would go beyond: those at which x stands already are kept from now on. */
static int32_t keep_limits(skel_ik *ik) {
    int32_t count = 0;
    for (int32_t c = 0; c < ik->n; ++c) {
        const int32_t        i = ik->of_column[c];
        const skel__ik_node *n = &ik->node[i];
        if (ik->scalar[c] >= 0) {
            const double q = ik->x[n->x];
            const int    out =
                (q <= ik->low[c] && ik->y[c] < -1e-15) || (q >= ik->high[c] && ik->y[c] > 1e-15);
            if (!out) continue;
            memset(ik->g, 0, (size_t)ik->n * sizeof *ik->g);
            ik->g[c] = 1;
            count += keep_direction(ik, ik->g);
        } else if (n->kind == SKEL__NODE_BALL && n->column == c && ik->has_balls) {
            skel__ik_bound bound[4];
            const int      limits = skel__ik_ball_limits(ik, n, ik->x, bound);
            for (int k = 0; k < limits; ++k) {
                if (bound[k].left > 1e-9 || v3_dot(bound[k].normal, v3_of(ik->y + c)) < 1e-12)
                    continue;
                memset(ik->g, 0, (size_t)ik->n * sizeof *ik->g);
                v3_to(bound[k].normal, ik->g + c);
                count += keep_direction(ik, ik->g);
            }
        }
    }
    return count;
}

/* y: the step of rows from..to in the directions that are free. */
static int step_of_rows(skel_ik *ik, int32_t from, int32_t to, double damping) {
    const int32_t m = to - from, n = ik->n;
    double       *v = ik->jp; /* (m x n) */
    for (int32_t r = 0; r < m; ++r) {
        for (int32_t c = 0; c < n; ++c)
            v[r * n + c] = ik->jt[(size_t)c * (size_t)ik->rows + (size_t)(from + r)];
        project(ik, v + (size_t)r * (size_t)n);
    }
    for (int32_t r = 0; r < m; ++r) {
        for (int32_t s = 0; s <= r; ++s)
            ik->k[r * m + s] = dot_of(v + (size_t)r * (size_t)n, v + (size_t)s * (size_t)n, n);
        ik->k[r * m + r] += damping;
        ik->u[r] = ik->e_now[from + r];
    }
    if (!skel__cholesky(ik->k, m)) return 0;
    skel__cholesky_solve(ik->k, m, ik->u, 1);
    for (int32_t c = 0; c < n; ++c) {
        ik->y[c] = 0;
        for (int32_t r = 0; r < m; ++r) ik->y[c] += v[r * n + c] * ik->u[r];
    }
    return 1;
}

/* y: the way to the posture in the directions that are free. */
static int step_to_posture(skel_ik *ik) {
    skel__ik_difference(ik, ik->x, ik->posture, ik->y);
    project(ik, ik->y);
    return 1;
}

static double posture_off(skel_ik *ik, const double *x) {
    skel__ik_difference(ik, x, ik->posture, ik->y);
    return dot_of(ik->y, ik->y, ik->n);
}

/* How much of y fits between the bounds. */
static double room_for(const skel_ik *ik) {
    double part = largest(ik->y, ik->n);
    part        = part > STRIDE ? STRIDE / part : 1;
    for (int32_t c = 0; c < ik->n; ++c) {
        if (ik->scalar[c] < 0) continue;
        const double d = ik->scale[c] * ik->y[c], q = ik->x[ik->scalar[c]];
        if (d > 0 && q + part * d > ik->high[c]) part = (ik->high[c] - q) / d;
        if (d < 0 && q + part * d < ik->low[c]) part = (ik->low[c] - q) / d;
    }
    return part > 0 ? part : 0;
}

/* Brings the first m rows at trial back to the errors they had. Returns 1 where that worked. */
static int restore(skel_ik *ik, int32_t m) {
    for (int round = 0; round < 30; ++round) {
        double most = 0;
        skel__ik_errors(ik, ik->trial, m);
        for (int32_t r = 0; r < m; ++r) {
            ik->e[r] -= ik->level.shift[r];
            most = fmax(most, fabs(ik->e[r]));
        }
        if (most < SAME) return 1;
        if (round == 29 || most > 1) return 0;
        skel__ik_jacobian(ik, m);
        memcpy(ik->level.off, ik->e, (size_t)m * sizeof *ik->e);
        skel__ik_step(ik, ik->trial, ik->level.off, m, 1e-12, STRIDE);
        skel__ik_move(ik, ik->trial, ik->y, ik->trial);
    }
    return 0;
}

/* |e|^2 of rows from..to (posture: of the way to it) at trial; the errors are left in e. */
static double cost_of(skel_ik *ik, const double *x, int32_t from, int32_t to) {
    if (to == from) return posture_off(ik, x);
    skel__ik_errors(ik, x, to);
    return dot_of(ik->e + from, ik->e + from, to - from);
}

/* Tries the step y, shorter and shorter, until the level gains and those before it lose nothing. */
static int advance(skel_ik *ik, int32_t from, int32_t to, double *cost) {
    double part = room_for(ik);
    memcpy(ik->level.y, ik->y, (size_t)ik->n * sizeof *ik->y);
    for (int tries = 0; tries < 12 && part > 0; ++tries, part *= 0.3) {
        for (int32_t c = 0; c < ik->n; ++c) ik->y[c] = part * ik->level.y[c];
        skel__ik_move(ik, ik->x, ik->y, ik->trial);
        ++ik->iterations;
        if (from > 0 && !restore(ik, from)) continue;
        const double now = cost_of(ik, ik->trial, from, to);
        if (!(now < *cost)) continue;
        double *swap = ik->x;
        ik->x        = ik->trial;
        ik->trial    = swap;
        *cost        = now;
        return 1;
    }
    return 0;
}

/* Rows from..to go downhill, those before them stay; from == to: towards the posture. */
static void refine(skel_ik *ik, int32_t from, int32_t to) {
    skel__ik_errors(ik, ik->x, from);
    const int is_met = ik->residual <= ik->d.tolerance;
    memcpy(ik->level.shift, ik->e, (size_t)from * sizeof *ik->e);
    double cost = cost_of(ik, ik->x, from, to);
    for (int round = 0, slow = 0; round < ROUNDS && slow < 3 && cost > 1e-28; ++round) {
        skel__ik_errors(ik, ik->x, to);
        skel__ik_jacobian(ik, to);
        memcpy(ik->e_now, ik->e, (size_t)to * sizeof *ik->e);
        keep_rows(ik, from, is_met);
        for (int32_t k = 0; k <= ik->n; ++k) {
            const int ok =
                to > from ? step_of_rows(ik, from, to, 1e-3 * cost + 1e-12) : step_to_posture(ik);
            if (!ok) return;
            if (keep_limits(ik) == 0) break;
        }
        const double was = cost;
        if (largest(ik->y, ik->n) < 1e-12 || !advance(ik, from, to, &cost)) break;
        slow = was - cost < 1e-6 * was ? slow + 1 : 0;
        if (skel__ik_is_late(ik)) break;
    }
}

/* The first level by all means, the others in what it leaves. */
static void one_after_the_other(skel_ik *ik, int32_t restarts) {
    int32_t      m  = skel__ik_rows_before(ik, 1);
    const double e2 = skel__ik_downhill(ik, m, 200);
    if (ik->residual > ik->d.tolerance && restarts > 0) {
        skel__ik_search(ik, m, restarts);
        if (ik->residual > ik->d.tolerance) skel__ik_downhill(ik, m, 200);
    } else if (ik->residual > ik->d.tolerance && skel__ik_errors(ik, ik->start, m) < e2) {
        memcpy(ik->x, ik->start, (size_t)ik->nx * sizeof *ik->x); /* all together led astray */
    }
    for (int32_t level = 1; level < ik->levels; ++level) {
        const int32_t to = skel__ik_rows_before(ik, level + 1);
        refine(ik, m, to);
        m = to;
    }
}

void skel__ik_levels(skel_ik *ik, int32_t restarts) {
    if (ik->is_following) skel__ik_keep_met(ik);
    if (restarts > 0)
        skel__ik_search(ik, ik->rows, ik->levels > 1 ? restarts / 10 : restarts);
    else
        skel__ik_downhill(ik, ik->rows, 100);
    if (ik->residual > ik->d.tolerance) one_after_the_other(ik, restarts); /* from there */
    if (ik->has_posture) refine(ik, ik->rows, ik->rows);
    skel__ik_errors(ik, ik->x, ik->rows);
}
