/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of inverse kinematics within the limits.

   Damped least squares over the free columns, through the smaller of two equivalent systems:
     y = J^T (J J^T + damping)^-1 e     rows x rows
     y = (J^T J + damping)^-1 J^T e     columns x columns
   Limits are treated by an active set. If a column would leave its bounds, it is put on the bound;
   its effect J d is subtracted from the errors, and the other columns are solved again for the
   rest. A limit of a ball removes one direction (its normal) from the three columns of the ball. */
#include "math/dense.h"
#include "ik/ik.h"

#include <string.h>

#define IK_LIMIT_TOL 1e-10    /* [rad]: a ball this near its limit lies on it */
#define IK_NORMAL_MIN 1e-6    /* a normal with a shorter new part is already held */
#define IK_STEP_SUM_RATIO 1.0 /* largest sum of all |y|, relative to the longest step */
#define IK_LIMIT_SPRING 1e8   /* stiffness that holds a ball in a Newton step */

static const double *column(const skel_ik *ik, int32_t c) {
    return ik->iterate.jacobian_t + (size_t)c * (size_t)ik->size.rows;
}

/* Whether node i is a ball that moves and has limits in this solve. */
static int is_limited_ball(const skel_ik *ik, int32_t i) {
    const skel__ik_node *n = &ik->problem.node[i];
    return n->column >= 0 && n->kind == SKEL__NODE_BALL &&
           (n->has_cone || ik->bounds.node_step[i] > 0);
}

/* ---- active set ---- */

/* Removes the direction `normal` from the three columns of a ball. */
static void flatten(skel_ik *ik, const skel__ik_node *n, v3 normal, int32_t m) {
    const int32_t c = n->column;
    const size_t stride = (size_t)ik->size.rows;
    const double **col = ik->step.column + c;
    double *flat = ik->step.flat_columns + (size_t)c * stride;
    double part[3];
    v3_to(normal, part);

    for (int32_t r = 0; r < m; ++r) {
        const double along = col[0][r] * part[0] + col[1][r] * part[1] + col[2][r] * part[2];
        for (int k = 0; k < 3; ++k)
            flat[(size_t)k * stride + (size_t)r] = col[k][r] - along * part[k];
    }
    for (int k = 0; k < 3; ++k) col[k] = flat + (size_t)k * stride;
}

/* Adds a normal to those that hold the ball. *out is its part across the known ones, of unit
   length. Returns 0 if nothing new remains. */
static int add_normal(skel_ik *ik, int32_t node, v3 normal, v3 *out) {
    v3 *known = ik->step.normal + 3 * (size_t)node;
    int32_t *count = &ik->step.normal_count[node];
    if (*count >= 3) return 0;

    for (int k = 0; k < *count; ++k) normal = v3_mad(normal, -v3_dot(normal, known[k]), known[k]);
    const double size = v3_norm(normal);
    if (size < IK_NORMAL_MIN) return 0;

    *out = v3_scale(normal, 1 / size);
    known[(*count)++] = *out;
    return 1;
}

/* Number of limits in the active set that skel__ik_gradient has left. */
static int32_t count_held(const skel_ik *ik) {
    int32_t held = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) held += !ik->step.column[c];
    for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i)
        held += ik->step.normal_count[i];
    return held;
}

/* Holds axes that lie on a limit and that the gradient would push beyond it. */
static int32_t begin_scalars(skel_ik *ik, const double *x, const double *e, int32_t m) {
    int32_t held = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        ik->step.y_held[c] = 0;
        ik->step.column[c] = column(ik, c);
        if (ik->problem.column_x[c] < 0) continue;

        const double q = x[ik->problem.column_x[c]];
        const double low = ik->bounds.low[c], high = ik->bounds.high[c];
        if (q > low && q < high) continue;

        const double g = dot_of(ik->step.column[c], e, m);
        if ((q <= low && g < 0) || (q >= high && g > 0)) {
            ik->step.column[c] = NULL;
            ++held;
        }
    }
    return held;
}

/* Holds balls that lie on a limit and that the gradient would push beyond it. */
static int32_t begin_balls(skel_ik *ik, const double *x, const double *e, int32_t m) {
    int32_t held = 0;
    for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        ik->step.normal_count[i] = 0;
        if (!is_limited_ball(ik, i)) continue;

        skel__ik_ball_limit bound[4];
        const int count = skel__ik_ball_limits(ik, n, ik->bounds.node_step[i], x, bound);
        for (int k = 0; k < count; ++k) {
            double g[3];
            v3 out;
            for (int r = 0; r < 3; ++r) g[r] = dot_of(ik->step.column[n->column + r], e, m);
            if (bound[k].margin > IK_LIMIT_TOL || v3_dot(v3_of(g), bound[k].normal) <= 0) continue;
            if (!add_normal(ik, i, bound[k].normal, &out)) continue;
            flatten(ik, n, out, m);
            ++held;
        }
    }
    return held;
}

/* Starts the active set at x. Returns the number of limits that it holds. */
static int32_t begin(skel_ik *ik, const double *x, const double *e, int32_t m) {
    if (ik->step.has_active_set) {
        ik->step.has_active_set = 0; /* the step will change it */
        return count_held(ik);
    }
    const int32_t held = begin_scalars(ik, x, e, m);
    return held + begin_balls(ik, x, e, m);
}

/* Lists the free columns. Returns their number. */
static int32_t free_columns(skel_ik *ik) {
    int32_t n = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c)
        if (ik->step.column[c]) ik->step.free[n++] = c;
    return n;
}

/* ---- linear systems ---- */

/* gram = J J^T + damping over the n free columns, lower triangle. The function is inlined with a
   constant m, so that the compiler unrolls it: a library call would take longer than the work. */
static inline void fill_gram(const skel_ik *ik, int32_t n, int32_t m, double damping,
                             double *restrict gram) {
    for (int32_t i = 0; i < m; ++i) {
        for (int32_t j = 0; j < i; ++j) gram[i * m + j] = 0;
        gram[i * m + i] = damping;
    }

    for (int32_t l = 0; l < n; ++l) {
        const double *restrict c = ik->step.column[ik->step.free[l]];
        for (int32_t i = 0; i < m; ++i)
            for (int32_t j = 0; j <= i; ++j) gram[i * m + j] += c[i] * c[j];
    }
}

/* y = J^T gram^-1 e_rest, with the Cholesky factor of gram. */
static void solve_factored_rows(skel_ik *ik, int32_t n, int32_t m) {
    skel__ik_step_work *step = &ik->step;
    memcpy(step->solution, step->e_rest, (size_t)m * sizeof *step->solution);
    skel__cholesky_solve(step->gram, m, step->solution, 1);
    for (int32_t i = 0; i < n; ++i) {
        const int32_t c = step->free[i];
        step->y[c] = dot_of(step->column[c], step->solution, m);
    }
}

/* y = J^T (J J^T + damping)^-1 e_rest. */
static int solve_rows(skel_ik *ik, int32_t n, int32_t m, double damping) {
    switch (m) {
    case 3: fill_gram(ik, n, 3, damping, ik->step.gram); break;
    case 6: fill_gram(ik, n, 6, damping, ik->step.gram); break;
    default: fill_gram(ik, n, m, damping, ik->step.gram);
    }
    if (!skel__cholesky(ik->step.gram, m)) return 0;
    solve_factored_rows(ik, n, m);
    return 1;
}

/* y = (J^T J + damping)^-1 J^T e_rest. */
static int solve_columns(skel_ik *ik, int32_t n, int32_t m, double damping) {
    skel__ik_step_work *step = &ik->step;
    for (int32_t i = 0; i < n; ++i) {
        const double *ci = step->column[step->free[i]];
        for (int32_t j = 0; j <= i; ++j)
            step->gram[i * n + j] = dot_of(ci, step->column[step->free[j]], m);
        step->gram[i * n + i] += damping;
        step->solution[i] = dot_of(ci, step->e_rest, m);
    }

    if (!skel__cholesky(step->gram, n)) return 0;
    skel__cholesky_solve(step->gram, n, step->solution, 1);
    for (int32_t i = 0; i < n; ++i) step->y[step->free[i]] = step->solution[i];
    return 1;
}

/* Both systems have the same solution; the smaller one is solved. */
static int solve_free(skel_ik *ik, int32_t m, double damping) {
    const int32_t n = free_columns(ik);
    if (n == 0) return 0;
    return m <= n ? solve_rows(ik, n, m, damping) : solve_columns(ik, n, m, damping);
}

/* ---- damped least squares ---- */

/* e_rest -= J_c d: the errors that remain after a held column has moved by d. */
static void subtract_column(double *e_rest, const double *col, double d, int32_t m) {
    for (int32_t r = 0; r < m; ++r) e_rest[r] -= col[r] * d;
}

/* A hinge whose range is a whole turn continues at the other end of its range. While tracking it
   must not, because that would be a jump; nor must a source joint, because its mimics would
   move. */
static double wrapped(const skel_ik *ik, int32_t c, double to) {
    const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
    const double low = ik->bounds.low[c], high = ik->bounds.high[c];
    if (ik->options.mode == SKEL_IK_TRACK || !skel__ik_is_periodic(n) || n->has_mimics) return to;
    if (to > high && to - SKEL__TURN >= low) return to - SKEL__TURN;
    if (to < low && to + SKEL__TURN <= high) return to + SKEL__TURN;
    return to;
}

/* Puts the free axes that would leave their bounds onto them, for the fraction `part`
   of the step. Returns their number. */
static int32_t hold_scalars(skel_ik *ik, const double *x, int32_t m, double part) {
    int32_t count = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        if (!ik->step.column[c] || ik->problem.column_x[c] < 0) continue;

        const double scale = ik->problem.column_scale[c];
        const double low = ik->bounds.low[c], high = ik->bounds.high[c];
        const double q = x[ik->problem.column_x[c]];
        const double to = q + part * scale * ik->step.y[c];
        if (to >= low && to <= high) continue;
        if (wrapped(ik, c, to) != to) continue;

        const double d = ((to > high ? high : low) - q) / scale;
        subtract_column(ik->step.e_rest, ik->step.column[c], d, m);
        ik->step.y_held[c] = d;
        ik->step.column[c] = NULL;
        ++count;
    }
    return count;
}

/* Holds ball i on one limit if the step would pass it. Returns 1 if so. */
static int hold_ball(skel_ik *ik, int32_t i, const skel__ik_ball_limit *bound, int32_t m,
                     double part) {
    const skel__ik_node *n = &ik->problem.node[i];
    const int32_t c = n->column;
    const double scale = ik->problem.column_scale[c];
    const double margin = fmax(bound->margin, 0.0);

    /* Rotation towards the limit: by the free step, and by the part that other limits prescribe. */
    const v3 fixed = v3_of(ik->step.y_held + c);
    const double taken = scale * v3_dot(fixed, bound->normal);
    const double used = part * scale * v3_dot(v3_of(ik->step.y + c), bound->normal) + taken;
    v3 out;
    if (used <= margin + IK_LIMIT_TOL || !add_normal(ik, i, bound->normal, &out)) return 0;

    /* Move to the limit along the new direction; the other columns solve for the rest. */
    const double along = v3_dot(out, bound->normal);
    const double d = (margin - taken) / (along * scale);
    double shift[3];
    v3_to(v3_scale(out, d), shift);
    for (int r = 0; r < 3; ++r) {
        subtract_column(ik->step.e_rest, ik->step.column[c + r], shift[r], m);
        ik->step.y_held[c + r] += shift[r];
    }
    flatten(ik, n, out, m);
    return 1;
}

static int32_t hold_balls(skel_ik *ik, const double *x, int32_t m, double part) {
    int32_t count = 0;
    for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i) {
        if (!is_limited_ball(ik, i)) continue;
        const skel__ik_node *n = &ik->problem.node[i];
        skel__ik_ball_limit bound[4];
        const int limits = skel__ik_ball_limits(ik, n, ik->bounds.node_step[i], x, bound);
        for (int k = 0; k < limits; ++k) count += hold_ball(ik, i, &bound[k], m, part);
    }
    return count;
}

/* Fraction of y that is at most `longest`, in its largest entry and in the sum of all entries. */
static double fraction_within(const skel_ik *ik, double longest) {
    double most = 0, sum = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        most = fmax(most, fabs(ik->step.y[c]));
        sum += fabs(ik->step.y[c]);
    }
    most = fmax(most, sum / IK_STEP_SUM_RATIO);
    return most > longest ? longest / most : 1;
}

/* y = part y + y_held, and hinges that turn beyond their range continue at its other end. */
static void finish(skel_ik *ik, const double *x, double part) {
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        ik->step.y[c] = part * ik->step.y[c] + ik->step.y_held[c];
        if (ik->problem.column_x[c] < 0 || !ik->step.column[c]) continue;

        const double scale = ik->problem.column_scale[c];
        const double q = x[ik->problem.column_x[c]], to = q + scale * ik->step.y[c];
        if (to >= ik->bounds.low[c] && to <= ik->bounds.high[c]) continue;
        const double other = wrapped(ik, c, to);
        if (other != to) ik->step.y[c] = (other - q) / scale;
    }
}

int32_t skel__ik_step(skel_ik *ik, const double *x, const double *e, int32_t m, double damping,
                      double longest) {
    int32_t held = begin(ik, x, e, m);
    double part = 1;
    ik->step.has_factor = 0;
    memcpy(ik->step.e_rest, e, (size_t)m * sizeof *e);

    /* Every round holds at least one more limit, so this ends. */
    for (int32_t round = 0; round <= ik->size.columns; ++round) {
        memset(ik->step.y, 0, (size_t)ik->size.columns * sizeof *ik->step.y);
        if (!solve_free(ik, m, damping)) break;

        part = fraction_within(ik, longest);
        const int32_t scalars = hold_scalars(ik, x, m, part);
        const int32_t now = scalars + hold_balls(ik, x, m, part);
        held += now;
        if (now > 0) continue;

        ik->step.has_factor = round == 0 && held == 0 && m <= ik->size.columns;
        break;
    }

    finish(ik, x, part);
    return held;
}

int skel__ik_chord(skel_ik *ik, const double *e, int32_t m) {
    if (!ik->step.has_factor) return 0;
    memcpy(ik->step.e_rest, e, (size_t)m * sizeof *e);
    solve_factored_rows(ik, ik->size.columns, m);
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

/* ---- Newton's method ---- */

/* Adds a stiff spring that moves a ball by d along the normal and no farther. */
static void add_limit_spring(skel_ik *ik, int32_t c, v3 normal, double d) {
    const size_t n = (size_t)ik->size.columns;
    double part[3];
    v3_to(normal, part);

    for (int i = 0; i < 3; ++i) {
        ik->step.rhs[c + i] += IK_LIMIT_SPRING * part[i] * d;
        double *row = ik->step.hessian_work + (size_t)(c + i) * n;
        for (int j = 0; j < 3; ++j) row[c + j] += IK_LIMIT_SPRING * part[i] * part[j];
    }
}

/* (H + damping) y = rhs over the free columns; the others are y_held. */
static int solve_newton(skel_ik *ik, double damping) {
    const int32_t n = free_columns(ik), all = ik->size.columns;
    skel__ik_step_work *step = &ik->step;
    double *factor = step->newton_factor;

    for (int32_t i = 0; i < n; ++i) {
        const double *row = step->hessian_work + (size_t)step->free[i] * (size_t)all;
        for (int32_t j = 0; j <= i; ++j) factor[i * n + j] = row[step->free[j]];
        factor[i * n + i] += damping;

        double b = step->rhs[step->free[i]];
        for (int32_t c = 0; c < all; ++c)
            if (!step->column[c]) b -= row[c] * step->y_held[c];
        step->solution[i] = b;
    }

    if (n > 0 && !skel__cholesky(factor, n)) return 0;
    skel__cholesky_solve(factor, n, step->solution, 1);
    for (int32_t c = 0; c < all; ++c) step->y[c] = step->y_held[c];
    for (int32_t i = 0; i < n; ++i) step->y[step->free[i]] = step->solution[i];
    return 1;
}

static int32_t hold_newton_balls(skel_ik *ik, const double *x) {
    int32_t count = 0;
    for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i) {
        if (!is_limited_ball(ik, i)) continue;
        const skel__ik_node *n = &ik->problem.node[i];
        const double scale = ik->problem.column_scale[n->column];
        skel__ik_ball_limit bound[4];
        const int limits = skel__ik_ball_limits(ik, n, ik->bounds.node_step[i], x, bound);

        for (int k = 0; k < limits; ++k) {
            const double margin = fmax(bound[k].margin, 0.0);
            const double used = scale * v3_dot(v3_of(ik->step.y + n->column), bound[k].normal);
            v3 out;
            if (used <= margin + IK_LIMIT_TOL || !add_normal(ik, i, bound[k].normal, &out))
                continue;
            add_limit_spring(ik, n->column, bound[k].normal, margin / scale);
            ++count;
        }
    }
    return count;
}

static int32_t hold_newton_scalars(skel_ik *ik, const double *x) {
    int32_t count = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        if (!ik->step.column[c] || ik->problem.column_x[c] < 0) continue;

        const double scale = ik->problem.column_scale[c];
        const double low = ik->bounds.low[c], high = ik->bounds.high[c];
        const double q = x[ik->problem.column_x[c]], to = q + scale * ik->step.y[c];
        if (to >= low && to <= high) continue;

        ik->step.y_held[c] = ((to > high ? high : low) - q) / scale;
        ik->step.column[c] = NULL;
        ++count;
    }
    return count;
}

int skel__ik_newton_step(skel_ik *ik, const double *x, const double *e, int32_t m, double damping) {
    const size_t n = (size_t)ik->size.columns;
    begin(ik, x, e, m);
    memcpy(ik->step.hessian_work, ik->step.hessian, n * n * sizeof *ik->step.hessian);
    for (int32_t c = 0; c < ik->size.columns; ++c) ik->step.rhs[c] = dot_of(column(ik, c), e, m);

    /* Limits that already hold a ball become springs. */
    for (int32_t i = 0; ik->problem.has_limited_balls && i < ik->size.nodes; ++i) {
        const int32_t c = ik->problem.node[i].column;
        for (int k = 0; c >= 0 && k < ik->step.normal_count[i]; ++k)
            add_limit_spring(ik, c, ik->step.normal[3 * (size_t)i + (size_t)k], 0);
    }

    for (int32_t round = 0; round <= ik->size.columns; ++round) {
        if (!solve_newton(ik, damping)) return 0;
        const int32_t balls = hold_newton_balls(ik, x);
        if (balls + hold_newton_scalars(ik, x) == 0) break;
    }
    return 1;
}
