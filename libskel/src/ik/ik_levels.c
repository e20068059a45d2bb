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

#define IK_LEVEL_ROUNDS_MAX 80      /* of one level */
#define IK_LEVEL_RESTORE_TOL 1e-12  /* scaled error by which an earlier level may be off again */
#define IK_LEVEL_RANK_TOL 1e-6      /* part of a direction that must be new for it to count */
#define IK_LEVEL_STEP_MAX 0.5       /* longest step [rad], [length] */
#define IK_LEVEL_CURVATURE_TOL 1e-7 /* curvature that counts, of the largest */

/* Rows of the levels before `level`. */
int32_t skel__ik_rows_before(const skel_ik *ik, int32_t level) {
    int32_t rows = 0;
    for (int32_t k = 0; k < ik->size.tasks && ik->problem.task[k].level < level; ++k)
        rows += ik->problem.task[k].rows;
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
            const double *b = ik->level.basis + (size_t)k * (size_t)ik->size.columns;
            const double d = dot_of(b, v, ik->size.columns);
            for (int32_t c = 0; c < ik->size.columns; ++c) v[c] -= d * b[c];
        }
}

/* Adds a direction to those that are kept; 0 where they span it already. v is used up. */
static int keep_direction(skel_ik *ik, double *v) {
    const double was = sqrt(dot_of(v, v, ik->size.columns));
    if (!(was > 0) || ik->level.rank >= ik->size.columns) return 0;
    project(ik, v);
    const double now = sqrt(dot_of(v, v, ik->size.columns));
    if (now < IK_LEVEL_RANK_TOL * was) return 0;
    double *b = ik->level.basis + (size_t)ik->level.rank++ * (size_t)ik->size.columns;
    for (int32_t c = 0; c < ik->size.columns; ++c) b[c] = v[c] / now;
    return 1;
}

/* What the first m rows, at errors e, want kept. */
static void keep_rows(skel_ik *ik, int32_t m, int is_met) {
    const size_t n = (size_t)ik->size.columns;
    ik->level.rank = 0;
    if (!is_met && ik->size.columns <= SKEL__IK_HESSIAN_COLUMNS_MAX) {
        skel__ik_hessian(ik, m);
        memcpy(ik->step.hessian_work, ik->step.hessian, n * n * sizeof *ik->step.hessian);
        if (skel__eigen(ik->step.hessian_work, ik->size.columns, ik->step.solution,
                        ik->step.dense_work)) {
            const double most = ik->step.solution[ik->size.columns - 1];
            for (int32_t k = ik->size.columns - 1;
                 k >= 0 && ik->step.solution[k] > IK_LEVEL_CURVATURE_TOL * most; --k)
                keep_direction(ik, ik->step.hessian_work + (size_t)k * n);
            return;
        }
    }
    for (int32_t r = 0; r < m; ++r) {
        for (size_t c = 0; c < n; ++c)
            ik->step.gradient[c] = ik->iterate.jacobian_t[c * (size_t)ik->size.rows + (size_t)r];
        keep_direction(ik, ik->step.gradient);
    }
}

/* Limits that y would go beyond: those at which x stands already are kept from now on. */
static int32_t keep_limits(skel_ik *ik) {
    int32_t count = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const int32_t i = ik->problem.column_node[c];
        const skel__ik_node *n = &ik->problem.node[i];
        if (ik->problem.column_x[c] >= 0) {
            const double q = ik->iterate.x[n->x_offset];
            const int out = (q <= ik->bounds.low[c] && ik->step.y[c] < -1e-15) ||
                            (q >= ik->bounds.high[c] && ik->step.y[c] > 1e-15);
            if (!out) continue;
            memset(ik->step.gradient, 0, (size_t)ik->size.columns * sizeof *ik->step.gradient);
            ik->step.gradient[c] = 1;
            count += keep_direction(ik, ik->step.gradient);
        } else if (n->kind == SKEL__NODE_BALL && n->column == c && ik->problem.has_limited_balls) {
            skel__ik_ball_limit bound[4];
            const int limits =
                skel__ik_ball_limits(ik, n, ik->bounds.node_step[i], ik->iterate.x, bound);
            for (int k = 0; k < limits; ++k) {
                if (bound[k].margin > 1e-9 ||
                    v3_dot(bound[k].normal, v3_of(ik->step.y + c)) < 1e-12)
                    continue;
                memset(ik->step.gradient, 0, (size_t)ik->size.columns * sizeof *ik->step.gradient);
                v3_to(bound[k].normal, ik->step.gradient + c);
                count += keep_direction(ik, ik->step.gradient);
            }
        }
    }
    return count;
}

/* y: the step of rows from..to in the directions that are free. */
static int step_of_rows(skel_ik *ik, int32_t from, int32_t to, double damping) {
    const int32_t m = to - from, n = ik->size.columns;
    double *v = ik->step.flat_columns; /* (m x n) */
    for (int32_t r = 0; r < m; ++r) {
        for (int32_t c = 0; c < n; ++c)
            v[r * n + c] =
                ik->iterate.jacobian_t[(size_t)c * (size_t)ik->size.rows + (size_t)(from + r)];
        project(ik, v + (size_t)r * (size_t)n);
    }
    for (int32_t r = 0; r < m; ++r) {
        for (int32_t s = 0; s <= r; ++s)
            ik->step.gram[r * m + s] =
                dot_of(v + (size_t)r * (size_t)n, v + (size_t)s * (size_t)n, n);
        ik->step.gram[r * m + r] += damping;
        ik->step.solution[r] = ik->iterate.e_at_x[from + r];
    }
    if (!skel__cholesky(ik->step.gram, m)) return 0;
    skel__cholesky_solve(ik->step.gram, m, ik->step.solution, 1);
    for (int32_t c = 0; c < n; ++c) {
        ik->step.y[c] = 0;
        for (int32_t r = 0; r < m; ++r) ik->step.y[c] += v[r * n + c] * ik->step.solution[r];
    }
    return 1;
}

/* y: the way to the posture in the directions that are free. */
static int step_to_posture(skel_ik *ik) {
    skel__ik_difference(ik, ik->iterate.x, ik->options.posture, ik->step.y);
    project(ik, ik->step.y);
    return 1;
}

static double posture_off(skel_ik *ik, const double *x) {
    skel__ik_difference(ik, x, ik->options.posture, ik->step.y);
    return dot_of(ik->step.y, ik->step.y, ik->size.columns);
}

/* How much of y fits between the bounds. */
static double room_for(const skel_ik *ik) {
    double part = largest(ik->step.y, ik->size.columns);
    part = part > IK_LEVEL_STEP_MAX ? IK_LEVEL_STEP_MAX / part : 1;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        if (ik->problem.column_x[c] < 0) continue;
        const double d = ik->problem.column_scale[c] * ik->step.y[c],
                     q = ik->iterate.x[ik->problem.column_x[c]];
        if (d > 0 && q + part * d > ik->bounds.high[c]) part = (ik->bounds.high[c] - q) / d;
        if (d < 0 && q + part * d < ik->bounds.low[c]) part = (ik->bounds.low[c] - q) / d;
    }
    return part > 0 ? part : 0;
}

/* Brings the first m rows at trial back to the errors they had. Returns 1 where that worked. */
static int restore(skel_ik *ik, int32_t m) {
    for (int round = 0; round < 30; ++round) {
        double most = 0;
        skel__ik_errors(ik, ik->iterate.trial, m);
        for (int32_t r = 0; r < m; ++r) {
            ik->iterate.e[r] -= ik->level.e_kept[r];
            most = fmax(most, fabs(ik->iterate.e[r]));
        }
        if (most < IK_LEVEL_RESTORE_TOL) return 1;
        if (round == 29 || most > 1) return 0;
        skel__ik_jacobian(ik, m);
        memcpy(ik->level.e_off, ik->iterate.e, (size_t)m * sizeof *ik->iterate.e);
        skel__ik_step(ik, ik->iterate.trial, ik->level.e_off, m, 1e-12, IK_LEVEL_STEP_MAX);
        skel__ik_step_within(ik, ik->iterate.trial, ik->step.y, ik->iterate.trial);
    }
    return 0;
}

/* |e|^2 of rows from..to (posture: of the way to it) at trial; the errors are left in e. */
static double cost_of(skel_ik *ik, const double *x, int32_t from, int32_t to) {
    if (to == from) return posture_off(ik, x);
    skel__ik_errors(ik, x, to);
    return dot_of(ik->iterate.e + from, ik->iterate.e + from, to - from);
}

/* Tries the step y, shorter and shorter, until the level gains and those before it lose nothing. */
static int advance(skel_ik *ik, int32_t from, int32_t to, double *cost) {
    double part = room_for(ik);
    memcpy(ik->level.y, ik->step.y, (size_t)ik->size.columns * sizeof *ik->step.y);
    for (int tries = 0; tries < 12 && part > 0; ++tries, part *= 0.3) {
        for (int32_t c = 0; c < ik->size.columns; ++c) ik->step.y[c] = part * ik->level.y[c];
        skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.trial);
        ++ik->result.iterations;
        if (from > 0 && !restore(ik, from)) continue;
        const double now = cost_of(ik, ik->iterate.trial, from, to);
        if (!(now < *cost)) continue;
        double *swap = ik->iterate.x;
        ik->iterate.x = ik->iterate.trial;
        ik->iterate.trial = swap;
        *cost = now;
        return 1;
    }
    return 0;
}

/* Rows from..to go downhill, those before them stay; from == to: towards the posture. */
static void refine(skel_ik *ik, int32_t from, int32_t to) {
    skel__ik_errors(ik, ik->iterate.x, from);
    const int is_met = ik->result.residual <= ik->options.tolerance;
    memcpy(ik->level.e_kept, ik->iterate.e, (size_t)from * sizeof *ik->iterate.e);
    double cost = cost_of(ik, ik->iterate.x, from, to);
    for (int round = 0, slow = 0; round < IK_LEVEL_ROUNDS_MAX && slow < 3 && cost > 1e-28;
         ++round) {
        skel__ik_errors(ik, ik->iterate.x, to);
        skel__ik_jacobian(ik, to);
        memcpy(ik->iterate.e_at_x, ik->iterate.e, (size_t)to * sizeof *ik->iterate.e);
        keep_rows(ik, from, is_met);
        for (int32_t k = 0; k <= ik->size.columns; ++k) {
            const int ok =
                to > from ? step_of_rows(ik, from, to, 1e-3 * cost + 1e-12) : step_to_posture(ik);
            if (!ok) return;
            if (keep_limits(ik) == 0) break;
        }
        const double was = cost;
        if (largest(ik->step.y, ik->size.columns) < 1e-12 || !advance(ik, from, to, &cost)) break;
        slow = was - cost < 1e-6 * was ? slow + 1 : 0;
        if (skel__ik_is_late(ik)) break;
    }
}

/* The first level by all means, the others in what it leaves. */
static void one_after_the_other(skel_ik *ik, int32_t restarts) {
    int32_t m = skel__ik_rows_before(ik, 1);
    const double e2 = skel__ik_downhill(ik, m, 200);
    if (ik->result.residual > ik->options.tolerance && restarts > 0) {
        skel__ik_search(ik, m, restarts);
        if (ik->result.residual > ik->options.tolerance) skel__ik_downhill(ik, m, 200);
    } else if (ik->result.residual > ik->options.tolerance &&
               skel__ik_errors(ik, ik->iterate.start, m) < e2) {
        memcpy(ik->iterate.x, ik->iterate.start,
               (size_t)ik->size.coordinates * sizeof *ik->iterate.x); /* all together led astray */
    }
    for (int32_t level = 1; level < ik->size.levels; ++level) {
        const int32_t to = skel__ik_rows_before(ik, level + 1);
        refine(ik, m, to);
        m = to;
    }
}

void skel__ik_levels(skel_ik *ik, int32_t restarts) {
    if (ik->history.is_following) skel__ik_solve_met_levels(ik);
    if (restarts > 0)
        skel__ik_search(ik, ik->size.rows, ik->size.levels > 1 ? restarts / 10 : restarts);
    else
        skel__ik_downhill(ik, ik->size.rows, 100);
    if (ik->result.residual > ik->options.tolerance)
        one_after_the_other(ik, restarts); /* from there */
    if (ik->options.has_posture) refine(ik, ik->size.rows, ik->size.rows);
    skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
}
