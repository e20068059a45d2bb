/* SPDX-License-Identifier: BSD-3-Clause */
/* Minimisation of |e|^2.

   skel__ik_search finds one pose. Its steps are damped in proportion to |e|^2. A descent that makes
   little progress ends early; the next one starts from another seed of a low-discrepancy sequence.

   skel__ik_downhill is for tracking, and for targets that cannot be reached. It is the method of
   Levenberg and Marquardt: |e|^2 never grows. If the error does not vanish, it uses the curvature
   of the goals, so that the closest pose is reached with the speed of Newton's method. At a saddle
   (a straight arm) the gradient vanishes although there is a way down; it is left along the
   direction of negative curvature.

   In mode TRACK the history predicts the start of a solve and bounds its steps. */
#include "math/dense.h"
#include "ik/ik.h"

#include <string.h>

/* Search. */
#define IK_SEARCH_ITERATIONS_MAX 60 /* default of one descent */
#define IK_RESTARTS_OUT_OF_REACH 20 /* if a target is farther away than its chain is long */
#define IK_DAMPING_PER_ERROR2 0.02  /* damping of a step per |e|^2 */
#define IK_DAMPING_MIN 1e-10
#define IK_DESCENT_STEP_MAX 3.0   /* [rad], [length] */
#define IK_PROGRESS_RATIO 0.7     /* |e|^2 must shrink by this factor to count as progress */
#define IK_PATIENCE 3             /* steps without progress before the next seed */
#define IK_PATIENCE_REDUNDANT 12  /* likewise for chains with many more columns than rows */
#define IK_REDUNDANT_RATIO 3      /* columns per row of such chains */
#define IK_SEEDS_SCREENED 4       /* seeds that are evaluated for one that is used */
#define IK_FAR_LENGTHS 10.0       /* scaled error beyond which unlimited travel comes first */
#define IK_APPROACH_ITERATIONS 20 /* of this approach */
/* Last digits. */
#define IK_POLISH_RATIO 5e-5    /* of the tolerance: a residual that needs no polishing */
#define IK_POLISH_STEP_MAX 1e-2 /* [rad], [length] */
#define IK_POLISH_STEPS_MAX 4
/* Downhill. */
#define IK_DAMPING_FIRST 0.01 /* damping of the first step per |e|^2 */
#define IK_DAMPING_TRIES_MAX 30
#define IK_SLOW_RATIO 0.7      /* three steps that shrink |e|^2 less: curvature is used */
#define IK_GAIN_MIN 1e-9       /* relative gain of |e|^2: three smaller ones end the descent */
#define IK_GAIN_MIN_TRACK 2e-3 /* likewise while tracking, or without curvature */
#define IK_GRADIENT_TOL 1e-13  /* a smaller gradient counts as zero */
#define IK_ESCAPES_MAX 3
#define IK_ESCAPE_STEP_MAX 0.3  /* [rad], [length] along negative curvature */
#define IK_ESCAPE_STEP_MIN 1e-5 /* [rad], [length] */
#define IK_CURVATURE_TOL 1e-7   /* curvature above minus this counts as not negative */
#define IK_KICK_RAD 0.02        /* motion of every joint out of a plane or line */
/* Tracking. */
#define IK_PREDICT_DECAY 0.5         /* part of the last motion that continues */
#define IK_PREDICT_RETURN 0.05       /* part of the way back to the first pose */
#define IK_PREDICT_RETURN_MAX 0.3    /* relative to the last motion */
#define IK_PREDICT_LIMIT_PUSH 2.0    /* push away from limits, relative to the last motion */
#define IK_PREDICT_MAX 0.5           /* [rad], [length]: a longer prediction is not used */
#define IK_TRACK_STEP_BASE 0.08      /* [rad], [length]: step that every joint may take */
#define IK_TRACK_STEP_GAIN 10.0      /* further step per motion of the targets */
#define IK_TRACK_STEP_GAIN_UNMET 2.0 /* likewise for levels that the last result did not meet */
#define IK_SAME_POSE 1e-9            /* [rad], [length]: nearer poses are the same */
#define IK_MET_LEVELS_ITERATIONS 100

static void take_trial(skel_ik *ik) {
    double *swap = ik->iterate.x;
    ik->iterate.x = ik->iterate.trial;
    ik->iterate.trial = swap;
}

static void copy_pose(const skel_ik *ik, double *to, const double *from) {
    memcpy(to, from, (size_t)ik->size.coordinates * sizeof *to);
}

static const skel__ik_node *node_of_column(const skel_ik *ik, int32_t c) {
    return &ik->problem.node[ik->problem.column_node[c]];
}

static int is_reached(const skel_ik *ik) {
    return ik->result.residual <= ik->options.tolerance;
}

/* ---- search for one pose ---- */

/* A few more steps from a pose that is good enough, as long as they help. The first one reuses the
   Jacobian of the last step (chord method): it costs little and is nearly as good. */
double skel__ik_polish(skel_ik *ik, int32_t m, double e2, int has_factor) {
    const double enough = IK_POLISH_RATIO * ik->options.tolerance;
    for (int k = 0; k < IK_POLISH_STEPS_MAX && ik->result.residual > enough; ++k) {
        const double before = ik->result.residual;
        memcpy(ik->iterate.e_at_x, ik->iterate.e, (size_t)m * sizeof *ik->iterate.e);
        if (!(k == 0 && has_factor && skel__ik_chord(ik, ik->iterate.e_at_x, m))) {
            skel__ik_jacobian(ik, m);
            skel__ik_step(ik, ik->iterate.x, ik->iterate.e_at_x, m, 1e-13 + 1e-3 * e2,
                          IK_POLISH_STEP_MAX);
        }

        skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.trial);
        const double now = skel__ik_errors(ik, ik->iterate.trial, m);
        ++ik->result.iterations;
        if (!(now < e2)) {
            skel__ik_errors(ik, ik->iterate.x, m);
            if (k == 0 && has_factor) continue; /* only the chord failed */
            break;
        }

        take_trial(ik);
        e2 = now;
        if (k > 0 && ik->result.residual > 0.5 * before) break;
    }
    return e2;
}

/* One descent from x. On return x is the best pose that it found. Returns its |e|^2. */
static double descend(skel_ik *ik, int32_t m, int32_t most, int32_t patience) {
    double least = INFINITY; /* |e|^2 of the best pose */
    double mark = INFINITY;  /* |e|^2 at the last progress */
    int32_t since = 0;       /* iterations since then */

    for (int32_t it = 0; it < most; ++it) {
        const double e2 = skel__ik_errors(ik, ik->iterate.x, m);
        ++ik->result.iterations;
        if (e2 < least) {
            least = e2;
            copy_pose(ik, ik->iterate.best, ik->iterate.x);
        }
        if (is_reached(ik)) return e2;

        if (e2 < IK_PROGRESS_RATIO * mark) {
            mark = e2;
            since = 0;
        } else if (++since > patience) {
            break;
        }

        skel__ik_jacobian(ik, m);
        skel__ik_step(ik, ik->iterate.x, ik->iterate.e, m,
                      IK_DAMPING_PER_ERROR2 * e2 + IK_DAMPING_MIN, IK_DESCENT_STEP_MAX);
        skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.x);
    }

    copy_pose(ik, ik->iterate.x, ik->iterate.best);
    return skel__ik_errors(ik, ik->iterate.x, m);
}

/* Increments of Roberts' sequence: powers of 1 / t with t^(n + 1) = t + 1, the generalised golden
   ratio. */
void skel__ik_seeds(skel_ik *ik) {
    double t = 1.2;
    for (int k = 0; k < 30; ++k) t = pow(1 + t, 1.0 / (ik->size.columns + 1));

    double power = 1;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        power /= t;
        ik->iterate.seed_increment[c] = power;
    }
}

/* Joints with unlimited travel may have moved far towards the target. Seeds are drawn around the
   position to which the best descent has moved them. */
static void centre_seed(const skel_ik *ik, double *x) {
    if (!ik->problem.has_wide_travel) return;

    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = node_of_column(ik, c);
        if (skel__ik_is_periodic(n) || !n->is_wide) continue;
        const int32_t i = n->x_offset;
        const double at = x[i] + (ik->history.good[i] - ik->iterate.start[i]);
        x[i] = fmin(fmax(at, ik->bounds.low[c]), ik->bounds.high[c]);
    }
    skel__mimic_apply(ik->model, x);
}

/* x = the pose with the smallest error among the next few seeds. */
static void next_seed(skel_ik *ik, int32_t m) {
    double least = INFINITY;
    for (int k = 0; k < IK_SEEDS_SCREENED; ++k) {
        double *seed = ik->iterate.seed;
        for (int32_t c = 0; c < ik->size.columns; ++c) {
            seed[c] += ik->iterate.seed_increment[c];
            seed[c] -= seed[c] >= 1 ? 1 : 0;
        }

        skel__ik_place_seed(ik, seed, ik->iterate.start, ik->iterate.trial);
        centre_seed(ik, ik->iterate.trial);
        const double e2 = skel__ik_errors(ik, ik->iterate.trial, m);
        if (!(e2 < least)) continue;
        least = e2;
        take_trial(ik);
    }
}

/* ---- downhill ---- */

void skel__ik_hessian(skel_ik *ik, int32_t m) {
    const size_t n = (size_t)ik->size.columns, stride = (size_t)ik->size.rows;
    const double *jt = ik->iterate.jacobian_t;
    double *h = ik->step.hessian;

    /* J^T J */
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (size_t r = 0; r < (size_t)m; ++r) sum += jt[i * stride + r] * jt[j * stride + r];
            h[i * n + j] = sum;
        }

    skel__ik_curvature(ik, m, h);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < i; ++j) h[j * n + i] = h[i * n + j];
}

/* Gain of |e|^2 that the quadratic model predicts for the step y: 2 e.Jy - |Jy|^2, or with
   curvature 2 e.Jy - y.Hy. */
static double predicted_gain(const skel_ik *ik, int32_t m, int has_curvature) {
    const size_t n = (size_t)ik->size.columns, stride = (size_t)ik->size.rows;
    const double *y = ik->step.y;
    double gain = 0;

    for (size_t r = 0; r < (size_t)m; ++r) {
        double jy = 0;
        for (size_t c = 0; c < n; ++c) jy += ik->iterate.jacobian_t[c * stride + r] * y[c];
        gain += 2 * ik->iterate.e_at_x[r] * jy - (has_curvature ? 0.0 : jy * jy);
    }
    for (size_t i = 0; has_curvature && i < n; ++i)
        for (size_t j = 0; j < n; ++j) gain -= y[i] * ik->step.hessian[i * n + j] * y[j];
    return gain;
}

/* Leaves a saddle of a chain that is too long for its Hessian: a small motion of all joints leads
   out of the plane or line. |e|^2 may grow, so the present pose is kept in iterate.best. */
static int kick(skel_ik *ik, int32_t m, double *e2) {
    copy_pose(ik, ik->iterate.best, ik->iterate.x);
    for (int32_t c = 0; c < ik->size.columns; ++c)
        ik->step.y[c] = ik->step.column[c] ? IK_KICK_RAD * sin(1 + 1.7 * c) : 0;

    skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.trial);
    take_trial(ik);
    *e2 = skel__ik_errors(ik, ik->iterate.x, m);
    return 1;
}

/* Finds the direction of most negative curvature among the free columns; it is the first row of
   hessian_work then. Returns 0 if no curvature is negative. */
static int find_negative_curvature(skel_ik *ik, int32_t m, double e2) {
    const size_t n = (size_t)ik->size.columns;
    double *h = ik->step.hessian_work;
    skel__ik_hessian(ik, m);
    memcpy(h, ik->step.hessian, n * n * sizeof *h);

    /* Held columns are decoupled and get a positive curvature. */
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < n; ++j)
            if (!ik->step.column[i] || !ik->step.column[j]) h[i * n + j] = i == j ? 1 : 0;

    if (!skel__eigen(h, ik->size.columns, ik->step.solution, ik->step.dense_work)) return 0;
    return !(ik->step.solution[0] > -IK_CURVATURE_TOL * (1 + e2));
}

/* Leaves a saddle along the direction of most negative curvature. The side of the last good pose is
   tried first, so that an elbow keeps its side. Returns 1 if |e|^2 decreases. */
static int escape(skel_ik *ik, int32_t m, double *e2) {
    if (ik->size.columns > SKEL__IK_HESSIAN_COLUMNS_MAX) return kick(ik, m, e2);
    if (!find_negative_curvature(ik, m, *e2)) return 0;
    const double *direction = ik->step.hessian_work;

    double side = 0;
    for (int32_t c = 0; ik->history.has_good && c < ik->size.columns; ++c) {
        const skel__ik_node *n = node_of_column(ik, c);
        if (n->kind != SKEL__NODE_AXIS) continue;
        side += direction[c] * (ik->history.good[n->x_offset] - ik->iterate.x[n->x_offset]);
    }
    const double sign = side < 0 ? -1 : 1;

    for (double size = IK_ESCAPE_STEP_MAX; size > IK_ESCAPE_STEP_MIN; size *= 0.3)
        for (int turn = 0; turn < 2; ++turn) {
            const double s = (turn ? -sign : sign) * size;
            for (int32_t c = 0; c < ik->size.columns; ++c) ik->step.y[c] = s * direction[c];
            skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.trial);

            const double now = skel__ik_errors(ik, ik->iterate.trial, m);
            if (now < *e2 * (1 - 1e-9)) {
                take_trial(ik);
                *e2 = now;
                return 1;
            }
        }

    *e2 = skel__ik_errors(ik, ik->iterate.x, m);
    return 0;
}

/* State of the method of Levenberg and Marquardt. */
typedef struct downhill {
    double e2;         /* |e|^2 at x */
    double mu;         /* damping; negative: not yet chosen */
    double nu;         /* growth of the damping after a failed step */
    double least;      /* relative gain that is worth a step */
    int has_curvature; /* the step uses the Hessian */
    int slow;          /* consecutive steps with less gain than `least` */
    int lag;           /* consecutive steps with slow convergence */
} downhill;

/* Takes the trial pose, whose |e|^2 is `now`. The damping follows from the ratio of the actual and
   the predicted gain (Nielsen's rule). */
static void accept(skel_ik *ik, downhill *d, double now, double predicted) {
    const double ratio = (d->e2 - now) / predicted, t = 2 * ratio - 1;
    d->mu *= fmax(0.1, 1 - t * t * t);
    if (!d->has_curvature && ratio > 0.75) d->mu = fmin(d->mu, 0.1 * now + 1e-12);
    if (d->has_curvature) d->mu = fmax(d->mu, 1e-13);
    d->nu = 2;

    d->slow = d->e2 - now < d->least * d->e2 ? d->slow + 1 : 0;
    d->lag = now > IK_SLOW_RATIO * d->e2 ? d->lag + 1 : 0;
    if (d->lag > 2 && ik->size.columns <= SKEL__IK_HESSIAN_COLUMNS_MAX) d->has_curvature = 1;

    take_trial(ik);
    d->e2 = now;
}

/* Tries steps from x with growing damping until one decreases |e|^2. Returns 0 if none does. */
static int go_down(skel_ik *ik, int32_t m, downhill *d) {
    for (int tries = 0; tries < IK_DAMPING_TRIES_MAX; ++tries) {
        int is_solved = 1;
        ik->step.has_active_set = tries == 0; /* left by skel__ik_gradient */
        if (d->has_curvature)
            is_solved = skel__ik_newton_step(ik, ik->iterate.x, ik->iterate.e_at_x, m, d->mu);
        else
            skel__ik_step(ik, ik->iterate.x, ik->iterate.e_at_x, m, d->mu, INFINITY);

        if (is_solved) {
            const double predicted = predicted_gain(ik, m, d->has_curvature);
            skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.trial);
            const double now = skel__ik_errors(ik, ik->iterate.trial, m);
            if (now < d->e2 && predicted > 0) {
                accept(ik, d, now, predicted);
                return 1;
            }
        }
        d->mu = fmax(d->mu, 1e-8) * d->nu * 2;
        d->nu *= 2;
    }

    d->e2 = skel__ik_errors(ik, ik->iterate.x, m);
    return 0;
}

double skel__ik_downhill(skel_ik *ik, int32_t m, int32_t most) {
    const int has_hessian = ik->size.columns <= SKEL__IK_HESSIAN_COLUMNS_MAX;
    const double e2 = skel__ik_errors(ik, ik->iterate.x, m);
    downhill d = {.e2 = e2, .mu = -1, .nu = 2, .least = IK_GAIN_MIN};

    /* While tracking, the next sample continues from here. Without curvature, convergence is so
       slow that the last part of it is not worth its time. */
    if (ik->history.is_following || !has_hessian) d.least = IK_GAIN_MIN_TRACK;

    int escapes = 0;
    double before_kick = INFINITY; /* |e|^2 of the pose in iterate.best */
    for (int32_t it = 0; it < most && !skel__ik_is_late(ik); ++it) {
        ++ik->result.iterations;
        if (is_reached(ik)) return skel__ik_polish(ik, m, d.e2, 0);

        skel__ik_jacobian(ik, m);
        memcpy(ik->iterate.e_at_x, ik->iterate.e, (size_t)m * sizeof *ik->iterate.e);
        const double slope =
            skel__ik_gradient(ik, ik->iterate.x, ik->iterate.e_at_x, m, ik->step.gradient);
        if (slope > IK_GRADIENT_TOL && d.slow < 3) {
            if (d.has_curvature) skel__ik_hessian(ik, m);
            if (d.mu < 0) d.mu = IK_DAMPING_FIRST * d.e2 + IK_DAMPING_MIN;
            if (go_down(ik, m, &d)) continue;
            skel__ik_jacobian(ik, m);
        }

        /* A minimum or a saddle. The search ends if the last kick led to nothing better. */
        const double before = d.e2;
        if (before >= before_kick || ++escapes > IK_ESCAPES_MAX) break;
        if (!escape(ik, m, &d.e2)) break;
        if (!has_hessian) before_kick = before;
        d.mu = IK_DAMPING_FIRST * d.e2 + IK_DAMPING_MIN;
        d.slow = 0;
        d.lag = 0;
    }

    const double now = skel__ik_errors(ik, ik->iterate.x, m);
    if (!(now > before_kick)) return now;
    copy_pose(ik, ik->iterate.x, ik->iterate.best);
    return skel__ik_errors(ik, ik->iterate.x, m);
}

/* ---- restarts ---- */

/* x = every moving coordinate at zero, or as near to zero as its limits allow. */
static void stretch(skel_ik *ik) {
    double *x = ik->iterate.x;
    copy_pose(ik, x, ik->iterate.start);
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = node_of_column(ik, c);
        if (ik->problem.column_x[c] >= 0) x[n->x_offset] = 0;
        if (n->kind == SKEL__NODE_BALL && n->joint >= 0) q_to(q_identity(), x + n->x_offset);
    }

    memset(ik->step.y, 0, (size_t)ik->size.columns * sizeof *ik->step.y);
    skel__ik_step_within(ik, x, ik->step.y, x);
}

/* A point task in the world with all three axes, on a chain whose reach is known. */
static int is_fixed_point(const skel__ik_task *t) {
    return t->kind == SKEL__TASK_POINT && t->mask == SKEL_GOAL_POSITION && t->to.node < 0 &&
           t->weight > 0 && isfinite(t->reach);
}

/* Whether some target is farther from the root of its chain than the chain is long. */
static int is_out_of_reach(const skel_ik *ik, int32_t m) {
    const skel__ik_node *node = ik->problem.node;
    for (int32_t k = 0; k < ik->size.tasks && ik->problem.task[k].row < m; ++k) {
        const skel__ik_task *t = &ik->problem.task[k];
        if (!is_fixed_point(t)) continue;

        int32_t first = t->at.node;
        while (first >= 0 && node[first].parent >= 0) first = node[first].parent;
        if (first < 0 || node[first].kind == SKEL__NODE_SHIFT) continue;

        const v3 to = v3_add(t->to.p, m3_mulv(t->to.r, t->target));
        if (v3_norm(v3_sub(to, node[first].p)) > t->reach) return 1;
    }
    return 0;
}

double skel__ik_search(skel_ik *ik, int32_t m, int32_t restarts) {
    const int32_t most =
        ik->options.max_iterations > 0 ? ik->options.max_iterations : IK_SEARCH_ITERATIONS_MAX;
    const int is_redundant = ik->size.columns > IK_REDUNDANT_RATIO * m;
    const int32_t patience = is_redundant ? IK_PATIENCE_REDUNDANT : IK_PATIENCE;

    for (int32_t c = 0; c < ik->size.columns; ++c) ik->iterate.seed[c] = 0.5;
    if (is_out_of_reach(ik, m) && restarts > IK_RESTARTS_OUT_OF_REACH)
        restarts = IK_RESTARTS_OUT_OF_REACH;
    if (ik->problem.has_wide_travel &&
        skel__ik_errors(ik, ik->iterate.x, m) > IK_FAR_LENGTHS * IK_FAR_LENGTHS)
        skel__ik_downhill(ik, m, IK_APPROACH_ITERATIONS);

    double least = INFINITY;
    for (int32_t r = 0;; ++r) {
        const double e2 = descend(ik, m, most, patience);
        if (is_reached(ik)) return skel__ik_polish(ik, m, e2, 1);
        if (e2 < least) {
            least = e2;
            copy_pose(ik, ik->history.good, ik->iterate.x);
        }
        if (r >= restarts || skel__ik_is_late(ik)) break;

        /* A long chain is most easily solved from its straight pose. */
        ++ik->result.restarts;
        if (r == 0 && is_redundant)
            stretch(ik);
        else
            next_seed(ik, m);
    }

    copy_pose(ik, ik->iterate.x, ik->history.good);
    return skel__ik_errors(ik, ik->iterate.x, m);
}

/* ---- tracking ---- */

/* y = continuation of the last motion. Returns the largest entry of the last motion.
   A redundant chain would drift until it meets its limits. Its motion therefore decays, turns back
   a little towards the first pose, and is pushed away from the limits by the fifth power of the
   position u = -1..1 within them. All of this is proportional to the last motion, so a target that
   moves on a closed path brings the chain back. */
static double predict(skel_ik *ik, int32_t m) {
    double *y = ik->step.y;
    double most = 0;
    skel__ik_difference(ik, ik->history.before_last, ik->history.last, y);
    for (int32_t c = 0; c < ik->size.columns; ++c) most = fmax(most, fabs(y[c]));
    if (ik->size.columns <= m) return most;

    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = node_of_column(ik, c);
        y[c] *= IK_PREDICT_DECAY;
        if (ik->problem.column_x[c] < 0) continue;

        const double q = ik->iterate.x[n->x_offset];
        const double back =
            IK_PREDICT_RETURN * (q - ik->history.first[n->x_offset]) / ik->problem.column_scale[c];
        const double back_max = IK_PREDICT_RETURN_MAX * most;
        y[c] -= fmax(fmin(back, back_max), -back_max);

        const double half = 0.5 * (n->high - n->low), u = (q - n->low) / half - 1;
        if (isfinite(half) && half > 0) y[c] -= IK_PREDICT_LIMIT_PUSH * most * u * u * u * u * u;
    }
    return most;
}

/* Bounds every step from the start of the solve by `most` [rad], [length]. */
static void bound_step(skel_ik *ik, double most) {
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = node_of_column(ik, c);
        const double d = most * skel__ik_unit(ik, n);
        if (ik->problem.column_x[c] >= 0) {
            const double q = ik->iterate.start[n->x_offset];
            ik->bounds.low[c] = fmax(n->low, q - d);
            ik->bounds.high[c] = fmin(n->high, q + d);
        } else {
            ik->bounds.node_step[ik->problem.column_node[c]] = d;
        }
    }
}

/* Whether the solve starts at x. Only nodes that the goals move are compared; an animation may have
   moved the others. */
static int starts_at(const skel_ik *ik, const double *x) {
    skel__ik_difference(ik, x, ik->iterate.start, ik->step.y);
    for (int32_t c = 0; c < ik->size.columns; ++c)
        if (!(fabs(ik->step.y[c]) < IK_SAME_POSE)) return 0;
    return 1;
}

/* Motion of the targets since the last result, as change of the errors. Errors that remained then
   and still remain do not count. */
static double change_of_errors(const skel_ik *ik) {
    double sum = 0;
    for (int32_t r = 0; r < ik->size.rows; ++r) {
        const double d = ik->iterate.e[r] - ik->history.e_last[r];
        sum += d * d;
    }
    return sqrt(sum);
}

/* A solve that continues from the last result starts where the last motion would lead, if that is
   nearer to the targets. It then passes straight through singular poses, as the target does, and
   does not turn back there into another branch. */
void skel__ik_track_begin(skel_ik *ik) {
    ik->history.is_following = ik->history.has_last && starts_at(ik, ik->history.last);
    if (!ik->history.is_following) {
        copy_pose(ik, ik->history.last, ik->iterate.start);
        copy_pose(ik, ik->history.first, ik->iterate.start);
        return;
    }

    const double e2 = skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
    const int is_short = predict(ik, ik->size.rows) < IK_PREDICT_MAX;
    ik->history.target_motion = change_of_errors(ik);
    if (!skel__ik_is_bounded(ik))
        bound_step(ik, IK_TRACK_STEP_BASE + IK_TRACK_STEP_GAIN * ik->history.target_motion);

    skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.trial);
    if (is_short && skel__ik_errors(ik, ik->iterate.trial, ik->size.rows) < e2) take_trial(ik);
}

/* If limits have kept a later level from its goals, they may release it suddenly. Levels that the
   last result did not meet may therefore move slowly only. Loops and the first goals always count
   as met. */
void skel__ik_solve_met_levels(skel_ik *ik) {
    const int32_t first = ik->model->nl > 0 ? 2 : 1;
    const int32_t level = ik->history.levels_met > first ? ik->history.levels_met : first;
    if (skel__ik_is_bounded(ik) || level >= ik->size.levels) return;

    skel__ik_downhill(ik, skel__ik_rows_before(ik, level), IK_MET_LEVELS_ITERATIONS);
    copy_pose(ik, ik->iterate.start, ik->iterate.x);
    bound_step(ik, IK_TRACK_STEP_BASE + IK_TRACK_STEP_GAIN_UNMET * ik->history.target_motion);
}

/* Number of levels before the first one that is not met. */
static int32_t count_levels_met(const skel_ik *ik) {
    for (int32_t k = 0; k < ik->size.tasks; ++k)
        if (ik->problem.task[k].error > ik->options.tolerance) return ik->problem.task[k].level;
    return ik->size.levels;
}

void skel__ik_track_end(skel_ik *ik) {
    skel__ik_history *history = &ik->history;
    copy_pose(ik, history->before_last, history->last);
    copy_pose(ik, history->last, ik->iterate.x);
    memcpy(history->e_last, ik->iterate.e, (size_t)ik->size.rows * sizeof *ik->iterate.e);
    history->levels_met = count_levels_met(ik);
    history->has_last = 1;

    if (!is_reached(ik)) return;
    copy_pose(ik, history->good, ik->iterate.x);
    history->has_good = 1;
}

void skel__ik_resume(skel_ik *ik, const double *x) {
    copy_pose(ik, ik->iterate.x, x);
    skel__ik_errors(ik, ik->iterate.x, ik->size.rows);

    /* The motion before x is unknown and counts as zero. */
    copy_pose(ik, ik->history.last, x);
    copy_pose(ik, ik->history.first, x);
    ik->history.has_good = 0;
    skel__ik_track_end(ik);
    copy_pose(ik, ik->history.before_last, x);

    for (int32_t k = 0; k < ik->parts.count; ++k) skel__ik_resume(ik->parts.solver[k], x);
}

void skel__ik_forget(skel_ik *ik) {
    ik->history.has_last = 0;
    ik->history.has_good = 0;
    for (int32_t k = 0; k < ik->parts.count; ++k) skel__ik_forget(ik->parts.solver[k]);
}

double skel__ik_target_motion(const skel_ik *ik) {
    if (ik->parts.count == 0)
        return ik->history.is_following ? ik->history.target_motion : INFINITY;

    double most = 0;
    for (int32_t k = 0; k < ik->parts.count; ++k)
        most = fmax(most, skel__ik_target_motion(ik->parts.solver[k]));
    return most;
}
