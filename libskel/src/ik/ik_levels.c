/* SPDX-License-Identifier: BSD-3-Clause */
/* Strict priorities.

   If all goals can be met together, they are solved at once. Otherwise the levels are solved one
   after the other. A level descends in the directions that the levels before it leave free (their
   null space). After every step the earlier levels are restored to exactly the errors that they
   had, so a later level never disturbs an earlier one.

   If an earlier level cannot be met, its error is stationary: a direction may change it in second
   order only (bending a leg that is stretched towards its goal). The null space is then that of the
   Hessian instead of the Jacobian.

   Limits also remove directions. The posture is a last level; its step is the difference to it. */
#include "math/dense.h"
#include "ik/ik.h"

#include <string.h>

#define IK_LEVEL_ROUNDS_MAX 80      /* steps of one level */
#define IK_LEVEL_STEP_MAX 0.5       /* [rad], [length] */
#define IK_LEVEL_RANK_TOL 1e-6      /* a direction counts if this part of it is new */
#define IK_LEVEL_CURVATURE_TOL 1e-7 /* eigenvalues that count, relative to the largest */
#define IK_LEVEL_RESTORE_TOL 1e-12  /* scaled error up to which an earlier level is restored */
#define IK_LEVEL_RESTORE_ROUNDS 30  /* steps to restore the earlier levels */
#define IK_LEVEL_SHORTENINGS 12     /* attempts of one step, each shorter than the last */
#define IK_LEVEL_SHORTENING 0.3
#define IK_LEVEL_COST_TOL 1e-28        /* |e|^2 that counts as zero */
#define IK_LEVEL_GAIN_MIN 1e-6         /* relative gain: three smaller ones end the level */
#define IK_LEVEL_LIMIT_TOL_RAD 1e-9    /* a ball this near its limit lies on it */
#define IK_LEVEL_SCALAR_STEP_MIN 1e-15 /* a smaller step does not leave a limit */
#define IK_LEVEL_BALL_STEP_MIN 1e-12   /* likewise for balls, and for the whole step */
#define IK_LEVEL_ITERATIONS 200        /* of the first level */
#define IK_TOGETHER_ITERATIONS 100     /* of all levels at once */
#define IK_TOGETHER_RESTART_SHARE 10   /* only this part of the restarts, if levels follow */

int32_t skel__ik_rows_before(const skel_ik *ik, int32_t level) {
    const skel__ik_task *task = ik->problem.task;
    int32_t rows = 0;
    for (int32_t k = 0; k < ik->size.tasks && task[k].level < level; ++k) rows += task[k].rows;
    return rows;
}

static double largest(const double *x, int32_t n) {
    double most = 0;
    for (int32_t k = 0; k < n; ++k) most = fmax(most, fabs(x[k]));
    return most;
}

/* ---- directions that must not change ---- */

/* Removes the kept directions from v. The second pass removes the rounding errors of the first. */
static void project(const skel_ik *ik, double *v) {
    const int32_t n = ik->size.columns;
    for (int pass = 0; pass < 2; ++pass)
        for (int32_t k = 0; k < ik->level.rank; ++k) {
            const double *b = ik->level.basis + (size_t)k * (size_t)n;
            const double d = dot_of(b, v, n);
            for (int32_t c = 0; c < n; ++c) v[c] -= d * b[c];
        }
}

/* Adds v to the kept directions, and overwrites v. Returns 0 if they already span it. */
static int keep_direction(skel_ik *ik, double *v) {
    const int32_t n = ik->size.columns;
    const double before = sqrt(dot_of(v, v, n));
    if (!(before > 0) || ik->level.rank >= n) return 0;

    project(ik, v);
    const double now = sqrt(dot_of(v, v, n));
    if (now < IK_LEVEL_RANK_TOL * before) return 0;

    double *b = ik->level.basis + (size_t)ik->level.rank++ * (size_t)n;
    for (int32_t c = 0; c < n; ++c) b[c] = v[c] / now;
    return 1;
}

/* Keeps the eigenvectors of the Hessian with large eigenvalues. Returns 0 if there are none. */
static int keep_curvature(skel_ik *ik, int32_t m) {
    const size_t n = (size_t)ik->size.columns;
    double *vectors = ik->step.hessian_work, *values = ik->step.solution;
    skel__ik_hessian(ik, m);
    memcpy(vectors, ik->step.hessian, n * n * sizeof *vectors);
    if (!skel__eigen(vectors, ik->size.columns, values, ik->step.dense_work)) return 0;

    const double most = values[ik->size.columns - 1];
    for (int32_t k = ik->size.columns - 1; k >= 0 && values[k] > IK_LEVEL_CURVATURE_TOL * most; --k)
        keep_direction(ik, vectors + (size_t)k * n);
    return 1;
}

/* Keeps the directions in which the first m rows change. */
static void keep_rows(skel_ik *ik, int32_t m, int is_met) {
    const size_t n = (size_t)ik->size.columns, stride = (size_t)ik->size.rows;
    ik->level.rank = 0;
    if (!is_met && ik->size.columns <= SKEL__IK_HESSIAN_COLUMNS_MAX && keep_curvature(ik, m))
        return;

    double *row = ik->step.gradient;
    for (int32_t r = 0; r < m; ++r) {
        for (size_t c = 0; c < n; ++c) row[c] = ik->iterate.jacobian_t[c * stride + (size_t)r];
        keep_direction(ik, row);
    }
}

/* Keeps the column of an axis that lies on a limit and would leave it. */
static int32_t keep_scalar_limit(skel_ik *ik, int32_t c) {
    const double q = ik->iterate.x[ik->problem.column_x[c]], y = ik->step.y[c];
    const int passes_low = q <= ik->bounds.low[c] && y < -IK_LEVEL_SCALAR_STEP_MIN;
    const int passes_high = q >= ik->bounds.high[c] && y > IK_LEVEL_SCALAR_STEP_MIN;
    if (!passes_low && !passes_high) return 0;

    double *direction = ik->step.gradient;
    memset(direction, 0, (size_t)ik->size.columns * sizeof *direction);
    direction[c] = 1;
    return keep_direction(ik, direction);
}

/* Keeps the normals of the limits that a ball lies on and would leave. */
static int32_t keep_ball_limits(skel_ik *ik, int32_t i) {
    const skel__ik_node *n = &ik->problem.node[i];
    const int32_t c = n->column;
    double *direction = ik->step.gradient;
    skel__ik_ball_limit bound[4];
    const int limits = skel__ik_ball_limits(ik, n, ik->bounds.node_step[i], ik->iterate.x, bound);

    int32_t count = 0;
    for (int k = 0; k < limits; ++k) {
        if (bound[k].margin > IK_LEVEL_LIMIT_TOL_RAD ||
            v3_dot(bound[k].normal, v3_of(ik->step.y + c)) < IK_LEVEL_BALL_STEP_MIN)
            continue;
        memset(direction, 0, (size_t)ik->size.columns * sizeof *direction);
        v3_to(bound[k].normal, direction + c);
        count += keep_direction(ik, direction);
    }
    return count;
}

/* Keeps the limits that x lies on and that the step y would pass. Returns their number. */
static int32_t keep_limits(skel_ik *ik) {
    int32_t count = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const int32_t i = ik->problem.column_node[c];
        const skel__ik_node *n = &ik->problem.node[i];
        if (ik->problem.column_x[c] >= 0)
            count += keep_scalar_limit(ik, c);
        else if (n->kind == SKEL__NODE_BALL && n->column == c && ik->problem.has_limited_balls)
            count += keep_ball_limits(ik, i);
    }
    return count;
}

/* ---- steps of a level ---- */

/* y = step of the rows from..to in the free directions. With P the projection onto them and
   V = J P it is V^T (V V^T + damping)^-1 e. Returns 0 if the matrix is not positive definite. */
static int step_of_rows(skel_ik *ik, int32_t from, int32_t to, double damping) {
    const int32_t m = to - from, n = ik->size.columns;
    double *v = ik->step.flat_columns; /* (m x n) */
    double *gram = ik->step.gram, *u = ik->step.solution, *y = ik->step.y;

    for (int32_t r = 0; r < m; ++r) {
        const double *row = ik->iterate.jacobian_t + (size_t)(from + r);
        for (int32_t c = 0; c < n; ++c) v[r * n + c] = row[(size_t)c * (size_t)ik->size.rows];
        project(ik, v + (size_t)r * (size_t)n);
    }

    for (int32_t r = 0; r < m; ++r) {
        for (int32_t s = 0; s <= r; ++s)
            gram[r * m + s] = dot_of(v + (size_t)r * (size_t)n, v + (size_t)s * (size_t)n, n);
        gram[r * m + r] += damping;
        u[r] = ik->iterate.e_at_x[from + r];
    }
    if (!skel__cholesky(gram, m)) return 0;
    skel__cholesky_solve(gram, m, u, 1);

    for (int32_t c = 0; c < n; ++c) {
        y[c] = 0;
        for (int32_t r = 0; r < m; ++r) y[c] += v[r * n + c] * u[r];
    }
    return 1;
}

/* y = difference to the posture in the free directions. */
static void step_to_posture(skel_ik *ik) {
    skel__ik_difference(ik, ik->iterate.x, ik->options.posture, ik->step.y);
    project(ik, ik->step.y);
}

/* Fraction of y that keeps axes within their bounds. */
static double fraction_within_bounds(const skel_ik *ik) {
    const double longest = largest(ik->step.y, ik->size.columns);
    double part = longest > IK_LEVEL_STEP_MAX ? IK_LEVEL_STEP_MAX / longest : 1;

    for (int32_t c = 0; c < ik->size.columns; ++c) {
        if (ik->problem.column_x[c] < 0) continue;
        const double d = ik->problem.column_scale[c] * ik->step.y[c];
        const double q = ik->iterate.x[ik->problem.column_x[c]];
        const double low = ik->bounds.low[c], high = ik->bounds.high[c];
        if (d > 0 && q + part * d > high) part = (high - q) / d;
        if (d < 0 && q + part * d < low) part = (low - q) / d;
    }
    return part > 0 ? part : 0;
}

/* Restores the first m rows at the trial pose to the errors e_kept. Returns 1 on success. */
static int restore(skel_ik *ik, int32_t m) {
    double *e = ik->iterate.e, *trial = ik->iterate.trial;
    for (int round = 0; round < IK_LEVEL_RESTORE_ROUNDS; ++round) {
        double most = 0;
        skel__ik_errors(ik, trial, m);
        for (int32_t r = 0; r < m; ++r) {
            e[r] -= ik->level.e_kept[r];
            most = fmax(most, fabs(e[r]));
        }
        if (most < IK_LEVEL_RESTORE_TOL) return 1;
        if (round == IK_LEVEL_RESTORE_ROUNDS - 1 || most > 1) return 0;

        skel__ik_jacobian(ik, m);
        memcpy(ik->level.e_off, e, (size_t)m * sizeof *e);
        skel__ik_step(ik, trial, ik->level.e_off, m, 1e-12, IK_LEVEL_STEP_MAX);
        skel__ik_step_within(ik, trial, ik->step.y, trial);
    }
    return 0;
}

/* |e|^2 of the rows from..to at x. If there are none: |y|^2 of the difference to the posture. */
static double cost_of(skel_ik *ik, const double *x, int32_t from, int32_t to) {
    if (to == from) {
        skel__ik_difference(ik, x, ik->options.posture, ik->step.y);
        return dot_of(ik->step.y, ik->step.y, ik->size.columns);
    }
    skel__ik_errors(ik, x, to);
    return dot_of(ik->iterate.e + from, ik->iterate.e + from, to - from);
}

/* Shortens the step y until the cost decreases and the rows before `from` can be restored. */
static int advance(skel_ik *ik, int32_t from, int32_t to, double *cost) {
    double part = fraction_within_bounds(ik);
    memcpy(ik->level.y, ik->step.y, (size_t)ik->size.columns * sizeof *ik->step.y);

    for (int tries = 0; tries < IK_LEVEL_SHORTENINGS && part > 0; ++tries) {
        for (int32_t c = 0; c < ik->size.columns; ++c) ik->step.y[c] = part * ik->level.y[c];
        part *= IK_LEVEL_SHORTENING;
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

/* y = step of the level in the directions that the earlier levels and the limits leave free.
   Returns 0 if the system cannot be solved. */
static int find_step(skel_ik *ik, int32_t from, int32_t to, double cost) {
    for (int32_t k = 0; k <= ik->size.columns; ++k) {
        if (to == from)
            step_to_posture(ik);
        else if (!step_of_rows(ik, from, to, 1e-3 * cost + 1e-12))
            return 0;
        if (keep_limits(ik) == 0) break;
    }
    return 1;
}

/* Minimises the rows from..to without disturbing the rows before them. If from equals to, it
   approaches the posture. */
static void refine(skel_ik *ik, int32_t from, int32_t to) {
    skel__ik_errors(ik, ik->iterate.x, from);
    const int is_met = ik->result.residual <= ik->options.tolerance;
    memcpy(ik->level.e_kept, ik->iterate.e, (size_t)from * sizeof *ik->iterate.e);
    double cost = cost_of(ik, ik->iterate.x, from, to);

    int slow = 0;
    for (int round = 0; round < IK_LEVEL_ROUNDS_MAX; ++round) {
        if (slow >= 3 || !(cost > IK_LEVEL_COST_TOL)) break;

        skel__ik_errors(ik, ik->iterate.x, to);
        skel__ik_jacobian(ik, to);
        memcpy(ik->iterate.e_at_x, ik->iterate.e, (size_t)to * sizeof *ik->iterate.e);
        keep_rows(ik, from, is_met);
        if (!find_step(ik, from, to, cost)) return;

        const double before = cost;
        if (largest(ik->step.y, ik->size.columns) < IK_LEVEL_BALL_STEP_MIN) break;
        if (!advance(ik, from, to, &cost)) break;
        slow = before - cost < IK_LEVEL_GAIN_MIN * before ? slow + 1 : 0;
        if (skel__ik_is_late(ik)) break;
    }
}

/* Solves the first level alone, then every other level in the freedom that remains. */
static void solve_in_order(skel_ik *ik, int32_t restarts) {
    const double tolerance = ik->options.tolerance;
    int32_t m = skel__ik_rows_before(ik, 1);
    const double e2 = skel__ik_downhill(ik, m, IK_LEVEL_ITERATIONS);
    if (ik->result.residual > tolerance && restarts > 0) {
        skel__ik_search(ik, m, restarts);
        if (ik->result.residual > tolerance) skel__ik_downhill(ik, m, IK_LEVEL_ITERATIONS);
    } else if (ik->result.residual > tolerance && skel__ik_errors(ik, ik->iterate.start, m) < e2) {
        /* Solving all levels together has led to a worse local minimum of the first level. */
        memcpy(ik->iterate.x, ik->iterate.start,
               (size_t)ik->size.coordinates * sizeof *ik->iterate.x);
    }

    for (int32_t level = 1; level < ik->size.levels; ++level) {
        const int32_t to = skel__ik_rows_before(ik, level + 1);
        refine(ik, m, to);
        m = to;
    }
}

void skel__ik_levels(skel_ik *ik, int32_t restarts) {
    const int32_t rows = ik->size.rows;
    if (ik->history.is_following) skel__ik_solve_met_levels(ik);

    /* All levels together: if that succeeds, no level has to give way. */
    const int32_t share = ik->size.levels > 1 ? restarts / IK_TOGETHER_RESTART_SHARE : restarts;
    if (restarts > 0)
        skel__ik_search(ik, rows, share);
    else
        skel__ik_downhill(ik, rows, IK_TOGETHER_ITERATIONS);
    if (ik->result.residual > ik->options.tolerance) solve_in_order(ik, restarts);

    if (ik->options.has_posture) refine(ik, rows, rows);
    skel__ik_errors(ik, ik->iterate.x, rows);
}
