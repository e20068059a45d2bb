/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of inverse kinematics. Damped least squares through whichever of J J^T and J^T J is
   smaller; limits by an active set: a column that would leave its bounds is put on the bound, what
   it does there is taken off the errors, and the others solve again for the rest. */
#include "math/dense.h"
#include "ik/ik.h"

#include <string.h>

#define IK_LIMIT_TOL 1e-10    /* nearer than this a ball is at its limit */
#define IK_STEP_SUM_RATIO 1.0 /* so many times the longest may all columns move together */
#define IK_LIMIT_SPRING 1e8   /* of the springs that hold a ball in a step by curvature */

static const double *column(const skel_ik *ik, int32_t c) {
    return ik->iterate.jacobian_t + (size_t)c * (size_t)ik->size.rows;
}

static int is_ball(const skel_ik *ik, const skel__ik_node *n) {
    return n->kind == SKEL__NODE_BALL &&
           (n->has_cone || ik->bounds.node_step[n - ik->problem.node] > 0);
}

/* Takes the direction `normal` out of a ball's three columns. */
static void flatten(skel_ik *ik, const skel__ik_node *n, v3 normal, int32_t m) {
    double part[3];
    const int32_t c = n->column;
    const size_t stride = (size_t)ik->size.rows;
    const double **col = ik->step.column + c;
    v3_to(normal, part);
    for (int32_t r = 0; r < m; ++r) {
        const double along = col[0][r] * part[0] + col[1][r] * part[1] + col[2][r] * part[2];
        for (int k = 0; k < 3; ++k)
            ik->step.flat_columns[(size_t)(c + k) * stride + (size_t)r] =
                col[k][r] - along * part[k];
    }
    for (int k = 0; k < 3; ++k) col[k] = ik->step.flat_columns + (size_t)(c + k) * stride;
}

/* The part of a normal that those already taken out leave, unit; 0 where nothing is left. */
static int add_normal(skel_ik *ik, int32_t node, v3 normal, v3 *out) {
    v3 *known = ik->step.normal + 3 * (size_t)node;
    if (ik->step.normal_count[node] >= 3) return 0;
    for (int k = 0; k < ik->step.normal_count[node]; ++k)
        normal = v3_mad(normal, -v3_dot(normal, known[k]), known[k]);
    const double s = v3_norm(normal);
    if (s < 1e-6) return 0;
    *out = known[ik->step.normal_count[node]++] = v3_scale(normal, 1 / s);
    return 1;
}

/* Columns that stand at a limit and would go beyond are held from the start; returns how many. */
static int32_t begin(skel_ik *ik, const double *x, const double *e, int32_t m) {
    int32_t held = 0;
    if (ik->step.has_active_set) {
        for (int32_t c = 0; c < ik->size.columns; ++c) held += !ik->step.column[c];
        for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i)
            held += ik->step.normal_count[i];
        ik->step.has_active_set = 0; /* from here on they are the step's */
        return held;
    }
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        ik->step.y_held[c] = 0;
        ik->step.column[c] = column(ik, c);
        if (ik->problem.column_x[c] < 0) continue;
        const double q = x[ik->problem.column_x[c]];
        if (q > ik->bounds.low[c] && q < ik->bounds.high[c]) continue;
        const double g = dot_of(ik->step.column[c], e, m);
        if ((q <= ik->bounds.low[c] && g < 0) || (q >= ik->bounds.high[c] && g > 0))
            ik->step.column[c] = NULL, ++held;
    }
    for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        ik->step.normal_count[i] = 0;
        if (n->column < 0 || !is_ball(ik, n)) continue;
        skel__ik_ball_limit bound[4];
        const int count = skel__ik_ball_limits(ik, n, ik->bounds.node_step[i], x, bound);
        for (int k = 0; k < count; ++k) {
            double g[3];
            v3 out;
            for (int r = 0; r < 3; ++r) g[r] = dot_of(ik->step.column[n->column + r], e, m);
            if (bound[k].margin > IK_LIMIT_TOL || v3_dot(v3_of(g), bound[k].normal) <= 0) continue;
            if (add_normal(ik, i, bound[k].normal, &out)) flatten(ik, n, out, m), ++held;
        }
    }
    return held;
}

static int32_t free_columns(skel_ik *ik) {
    int32_t n = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c)
        if (ik->step.column[c]) ik->step.free[n++] = c;
    return n;
}

/* J J^T + damping over the free columns, lower triangle. With m a constant the compiler unrolls:
   calls of a library would take longer than the work. */
static inline void gram(const skel_ik *ik, int32_t n, int32_t m, double damping,
                        double *restrict k) {
    for (int32_t i = 0; i < m; ++i) {
        for (int32_t j = 0; j < i; ++j) k[i * m + j] = 0;
        k[i * m + i] = damping;
    }
    for (int32_t l = 0; l < n; ++l) {
        const double *restrict c = ik->step.column[ik->step.free[l]];
        for (int32_t i = 0; i < m; ++i)
            for (int32_t j = 0; j <= i; ++j) k[i * m + j] += c[i] * c[j];
    }
}

static void answer_rows(skel_ik *ik, int32_t n, int32_t m) {
    memcpy(ik->step.solution, ik->step.e_rest, (size_t)m * sizeof *ik->step.solution);
    skel__cholesky_solve(ik->step.gram, m, ik->step.solution, 1);
    for (int32_t i = 0; i < n; ++i)
        ik->step.y[ik->step.free[i]] =
            dot_of(ik->step.column[ik->step.free[i]], ik->step.solution, m);
}

/* y = J^T (J J^T + damping)^-1 rest. */
static int solve_rows(skel_ik *ik, int32_t n, int32_t m, double damping) {
    switch (m) {
    case 3: gram(ik, n, 3, damping, ik->step.gram); break;
    case 6: gram(ik, n, 6, damping, ik->step.gram); break;
    default: gram(ik, n, m, damping, ik->step.gram);
    }
    if (!skel__cholesky(ik->step.gram, m)) return 0;
    answer_rows(ik, n, m);
    return 1;
}

/* y = (J^T J + damping)^-1 J^T rest. */
static int solve_columns(skel_ik *ik, int32_t n, int32_t m, double damping) {
    for (int32_t i = 0; i < n; ++i) {
        const double *ci = ik->step.column[ik->step.free[i]];
        for (int32_t j = 0; j <= i; ++j)
            ik->step.gram[i * n + j] = dot_of(ci, ik->step.column[ik->step.free[j]], m);
        ik->step.gram[i * n + i] += damping;
        ik->step.solution[i] = dot_of(ci, ik->step.e_rest, m);
    }
    if (!skel__cholesky(ik->step.gram, n)) return 0;
    skel__cholesky_solve(ik->step.gram, n, ik->step.solution, 1);
    for (int32_t i = 0; i < n; ++i) ik->step.y[ik->step.free[i]] = ik->step.solution[i];
    return 1;
}

/* Of the free columns; the same answer either way. */
static int solve_free(skel_ik *ik, int32_t m, double damping) {
    const int32_t n = free_columns(ik);
    if (n == 0) return 0;
    return m <= n ? solve_rows(ik, n, m, damping) : solve_columns(ik, n, m, damping);
}

static void give(double *rest, const double *col, double d, int32_t m) {
    for (int32_t r = 0; r < m; ++r) rest[r] -= col[r] * d;
}

/* A hinge that may turn all the way round goes on at the other end of its range. */
static double wrapped(const skel_ik *ik, int32_t c, double to) {
    const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
    if (ik->options.mode == SKEL_IK_TRACK || n->kind != SKEL__NODE_HINGE || n->has_mimics)
        return to;
    if (to > ik->bounds.high[c] && to - SKEL__TURN >= ik->bounds.low[c]) return to - SKEL__TURN;
    if (to < ik->bounds.low[c] && to + SKEL__TURN <= ik->bounds.high[c]) return to + SKEL__TURN;
    return to;
}

/* Puts free scalars that would leave their bounds onto them; returns how many. */
static int32_t hold_scalars(skel_ik *ik, const double *x, int32_t m, double part) {
    int32_t count = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        if (!ik->step.column[c] || ik->problem.column_x[c] < 0) continue;
        const double q = x[ik->problem.column_x[c]],
                     to = q + part * ik->problem.column_scale[c] * ik->step.y[c];
        if (to >= ik->bounds.low[c] && to <= ik->bounds.high[c]) continue;
        if (wrapped(ik, c, to) != to) continue;
        const double d = ((to > ik->bounds.high[c] ? ik->bounds.high[c] : ik->bounds.low[c]) - q) /
                         ik->problem.column_scale[c];
        give(ik->step.e_rest, ik->step.column[c], d, m);
        ik->step.y_held[c] = d;
        ik->step.column[c] = NULL;
        ++count;
    }
    return count;
}

static int32_t hold_balls(skel_ik *ik, const double *x, int32_t m, double part) {
    int32_t count = 0;
    for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->column < 0 || !is_ball(ik, n)) continue;
        skel__ik_ball_limit bound[4];
        const int limits = skel__ik_ball_limits(ik, n, ik->bounds.node_step[i], x, bound);
        const int32_t c = n->column;
        for (int k = 0; k < limits; ++k) {
            const v3 fixed = v3_of(ik->step.y_held + c);
            const double used = part * ik->problem.column_scale[c] *
                                    v3_dot(v3_of(ik->step.y + c), bound[k].normal) +
                                ik->problem.column_scale[c] * v3_dot(fixed, bound[k].normal);
            v3 out;
            if (used <= fmax(bound[k].margin, 0.0) + IK_LIMIT_TOL ||
                !add_normal(ik, i, bound[k].normal, &out))
                continue;
            const double along = v3_dot(out, bound[k].normal);
            const double taken = ik->problem.column_scale[c] * v3_dot(fixed, bound[k].normal);
            const double d =
                (fmax(bound[k].margin, 0.0) - taken) / (along * ik->problem.column_scale[c]);
            double part3[3];
            v3_to(v3_scale(out, d), part3);
            for (int r = 0; r < 3; ++r) {
                give(ik->step.e_rest, ik->step.column[c + r], part3[r], m);
                ik->step.y_held[c + r] += part3[r];
            }
            flatten(ik, n, out, m);
            ++count;
        }
    }
    return count;
}

int32_t skel__ik_step(skel_ik *ik, const double *x, const double *e, int32_t m, double damping,
                      double longest) {
    int32_t held = begin(ik, x, e, m);
    double part = 1;
    ik->step.has_factor = 0;
    memcpy(ik->step.e_rest, e, (size_t)m * sizeof *e);
    for (int32_t round = 0; round <= ik->size.columns; ++round) {
        memset(ik->step.y, 0, (size_t)ik->size.columns * sizeof *ik->step.y);
        if (!solve_free(ik, m, damping)) break;
        double most = 0, sum = 0;
        for (int32_t c = 0; c < ik->size.columns; ++c) {
            most = fmax(most, fabs(ik->step.y[c]));
            sum += fabs(ik->step.y[c]);
        }
        most = fmax(most, sum / IK_STEP_SUM_RATIO);
        part = most > longest ? longest / most : 1;
        const int32_t now = hold_scalars(ik, x, m, part) + hold_balls(ik, x, m, part);
        held += now;
        if (now > 0) continue;
        ik->step.has_factor = round == 0 && held == 0 && m <= ik->size.columns;
        break;
    }
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        ik->step.y[c] = part * ik->step.y[c] + ik->step.y_held[c];
        if (ik->problem.column_x[c] < 0 || !ik->step.column[c]) continue;
        const double q = x[ik->problem.column_x[c]],
                     to = q + ik->problem.column_scale[c] * ik->step.y[c];
        if (to >= ik->bounds.low[c] && to <= ik->bounds.high[c]) continue;
        const double other = wrapped(ik, c, to);
        if (other != to) ik->step.y[c] = (other - q) / ik->problem.column_scale[c];
    }
    return held;
}

int skel__ik_chord(skel_ik *ik, const double *e, int32_t m) {
    if (!ik->step.has_factor) return 0;
    memcpy(ik->step.e_rest, e, (size_t)m * sizeof *e);
    answer_rows(ik, ik->size.columns, m);
    return 1;
}

double skel__ik_gradient(skel_ik *ik, const double *x, const double *e, int32_t m, double *g) {
    double most = 0;
    begin(ik, x, e, m);
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        g[c] = ik->step.column[c] ? dot_of(ik->step.column[c], e, m) : 0;
        most = fmax(most, fabs(g[c]));
    }
    return most;
}

/* Adds a spring so stiff that the ball goes `d` along the normal and no further. */
static void hold_normal(skel_ik *ik, int32_t c, v3 normal, double d) {
    const size_t n = (size_t)ik->size.columns;
    double part[3];
    v3_to(normal, part);
    for (int i = 0; i < 3; ++i) {
        ik->step.rhs[c + i] += IK_LIMIT_SPRING * part[i] * d;
        for (int j = 0; j < 3; ++j)
            ik->step.hessian_work[(size_t)(c + i) * n + (size_t)(c + j)] +=
                IK_LIMIT_SPRING * part[i] * part[j];
    }
}

/* Solves h y = rhs over the columns that are free; y of the others is `held`. */
static int solve_newton(skel_ik *ik, double damping) {
    const int32_t n = free_columns(ik), all = ik->size.columns;
    double *f = ik->step.newton_factor;
    for (int32_t i = 0; i < n; ++i) {
        const size_t row = (size_t)ik->step.free[i] * (size_t)all;
        for (int32_t j = 0; j <= i; ++j)
            f[i * n + j] = ik->step.hessian_work[row + (size_t)ik->step.free[j]];
        f[i * n + i] += damping;
        double b = ik->step.rhs[ik->step.free[i]];
        for (int32_t c = 0; c < all; ++c)
            if (!ik->step.column[c])
                b -= ik->step.hessian_work[row + (size_t)c] * ik->step.y_held[c];
        ik->step.solution[i] = b;
    }
    if (n > 0 && !skel__cholesky(f, n)) return 0;
    skel__cholesky_solve(f, n, ik->step.solution, 1);
    for (int32_t c = 0; c < all; ++c) ik->step.y[c] = ik->step.y_held[c];
    for (int32_t i = 0; i < n; ++i) ik->step.y[ik->step.free[i]] = ik->step.solution[i];
    return 1;
}

static int32_t hold_newton_balls(skel_ik *ik, const double *x) {
    int32_t count = 0;
    for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->column < 0 || !is_ball(ik, n)) continue;
        skel__ik_ball_limit bound[4];
        const int limits = skel__ik_ball_limits(ik, n, ik->bounds.node_step[i], x, bound);
        for (int k = 0; k < limits; ++k) {
            v3 out;
            const double s = ik->problem.column_scale[n->column];
            const double used = s * v3_dot(v3_of(ik->step.y + n->column), bound[k].normal);
            if (used <= fmax(bound[k].margin, 0.0) + IK_LIMIT_TOL ||
                !add_normal(ik, i, bound[k].normal, &out))
                continue;
            hold_normal(ik, n->column, bound[k].normal, fmax(bound[k].margin, 0.0) / s);
            ++count;
        }
    }
    return count;
}

int skel__ik_newton_step(skel_ik *ik, const double *x, const double *e, int32_t m, double damping) {
    const size_t n = (size_t)ik->size.columns;
    begin(ik, x, e, m);
    memcpy(ik->step.hessian_work, ik->step.hessian, n * n * sizeof *ik->step.hessian);
    for (int32_t c = 0; c < ik->size.columns; ++c) ik->step.rhs[c] = dot_of(column(ik, c), e, m);
    for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i)
        for (int k = 0; ik->problem.node[i].column >= 0 && k < ik->step.normal_count[i]; ++k)
            hold_normal(ik, ik->problem.node[i].column, ik->step.normal[3 * (size_t)i + (size_t)k],
                        0);
    for (int32_t round = 0; round <= ik->size.columns; ++round) {
        if (!solve_newton(ik, damping)) return 0;
        int32_t now = hold_newton_balls(ik, x);
        for (int32_t c = 0; c < ik->size.columns; ++c) {
            if (!ik->step.column[c] || ik->problem.column_x[c] < 0) continue;
            const double q = x[ik->problem.column_x[c]],
                         to = q + ik->problem.column_scale[c] * ik->step.y[c];
            if (to >= ik->bounds.low[c] && to <= ik->bounds.high[c]) continue;
            ik->step.y_held[c] =
                ((to > ik->bounds.high[c] ? ik->bounds.high[c] : ik->bounds.low[c]) - q) /
                ik->problem.column_scale[c];
            ik->step.column[c] = NULL;
            ++now;
        }
        if (now == 0) break;
    }
    return 1;
}
