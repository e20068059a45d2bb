/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways down. For one pose: steps damped in proportion to the squared error, given up early, begun
   again from the next of a low-discrepancy sequence of seeds. For tracking and for what cannot be
   reached: Levenberg-Marquardt, downhill only, with the curvature of the goals where the error does
   not vanish, so that the closest point is reached with Newton's speed; and a way out of places
   where the gradient vanishes but a step either side leads down (a straight arm). */
#include "math/dense.h"
#include "ik/ik.h"

#include <string.h>

#define IK_RESTARTS_OUT_OF_REACH 20 /* restarts for what is farther away than the chain is long */
#define IK_DAMPING_PER_ERROR2 0.02  /* per squared error */
#define IK_DAMPING_MIN 1e-10        /* of the damping */
#define IK_DESCENT_STEP_MAX 3.0     /* step of one descent [rad], [length] */
#define IK_PROGRESS_RATIO 0.7       /* of the squared error, else patience goes */
#define IK_PATIENCE 3               /* steps without it before the next seed */
#define IK_PATIENCE_REDUNDANT                                                                      \
    12                      /* with freedom to spare there is a way, and it is worth waiting for */
#define IK_SEEDS_SCREENED 4 /* seeds that are looked at for one that is used */
#define IK_SLOW_RATIO 0.7   /* of the squared error: three steps like that, and curvature is used */
#define IK_PREDICT_DECAY 0.5 /* of the motion that is not asked for goes on from frame to frame */
#define IK_PREDICT_RETURN                                                                          \
    0.05 /* of the way back to the first frame, with the freedom that is left */
#define IK_PREDICT_RETURN_MAX 0.3 /* but not faster than this part of the motion */
#define IK_GAIN_MIN_TRACK 2e-3    /* gain not worth a step while tracking, of the squared error */
#define IK_PREDICT_LIMIT_PUSH 2.0 /* and away from its limits, at them: so many times the motion */
#define IK_TRACK_STEP_BASE                                                                         \
    0.08 /* [rad] that a joint may move in a frame whatever the target does */
#define IK_TRACK_STEP_GAIN 10.0 /* and so many times the way of the target, in rad and lengths */
#define IK_TRACK_STEP_GAIN_UNMET 2.0 /* or so many, for what was not met in the frame before */
#define IK_SAME_POSE 1e-9            /* [rad], [length]: a pose that goes on from another one */
#define IK_KICK_RAD 0.02             /* [rad], of every joint */
#define IK_GRADIENT_TOL 1e-13        /* gradient that counts as none */
#define IK_POLISH_RATIO 5e-5         /* of the tolerance: a residual that needs no polish */
#define IK_FAR_LENGTHS 10.0       /* lengths: from there a slide without limits is led up first */
#define IK_APPROACH_ITERATIONS 20 /* steps of that */
#define IK_POLISH_STEP_MAX 1e-2   /* longest step of it: the last digits must not cost a way */

static void take_trial(skel_ik *ik) {
    double *swap = ik->iterate.x;
    ik->iterate.x = ik->iterate.trial;
    ik->iterate.trial = swap;
}

static void keep(const skel_ik *ik, double *to, const double *from) {
    memcpy(to, from, (size_t)ik->size.coordinates * sizeof *to);
}

/* A few more steps from a place that is good enough, while they help: first with the Jacobian of
   the step that led there (chord), which costs little and is nearly as good. */
double skel__ik_polish(skel_ik *ik, int32_t m, double e2, int has_factor) {
    for (int k = 0; k < 4 && ik->result.residual > IK_POLISH_RATIO * ik->options.tolerance; ++k) {
        const double was = ik->result.residual;
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
            if (k == 0 && has_factor) continue;
            break;
        }
        take_trial(ik);
        e2 = now;
        if (k > 0 && ik->result.residual > 0.5 * was) break;
    }
    return e2;
}

/* One descent from x; the best place it saw is x at the end. Returns its squared error. */
static double descend(skel_ik *ik, int32_t m, int32_t most, int32_t patience) {
    double least = INFINITY, mark = INFINITY;
    int32_t since = 0;
    for (int32_t it = 0; it < most; ++it) {
        const double e2 = skel__ik_errors(ik, ik->iterate.x, m);
        ++ik->result.iterations;
        if (e2 < least) least = e2, keep(ik, ik->iterate.best, ik->iterate.x);
        if (ik->result.residual <= ik->options.tolerance) return e2;
        if (e2 < IK_PROGRESS_RATIO * mark)
            mark = e2, since = 0;
        else if (++since > patience)
            break;
        skel__ik_jacobian(ik, m);
        skel__ik_step(ik, ik->iterate.x, ik->iterate.e, m,
                      IK_DAMPING_PER_ERROR2 * e2 + IK_DAMPING_MIN, IK_DESCENT_STEP_MAX);
        skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.x);
    }
    keep(ik, ik->iterate.x, ik->iterate.best);
    return skel__ik_errors(ik, ik->iterate.x, m);
}

/* The generalised golden ratio: powers of the root of t^(n+1) = t + 1 (Roberts). */
void skel__ik_seeds(skel_ik *ik) {
    double t = 1.2, f = 1;
    for (int k = 0; k < 30; ++k) t = pow(1 + t, 1.0 / (ik->size.columns + 1));
    for (int32_t c = 0; c < ik->size.columns; ++c) ik->iterate.seed_increment[c] = f /= t;
}

/* Slides without limits may have gone a long way to come near the target: seeds are drawn around
   where the best descent has left them. */
static void centre_seed(const skel_ik *ik, double *x) {
    for (int32_t c = 0; ik->problem.has_wide_slides && c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        if (n->kind != SKEL__NODE_SLIDE || !n->is_wide) continue;
        const double at =
            x[n->x_offset] + (ik->history.good[n->x_offset] - ik->iterate.start[n->x_offset]);
        x[n->x_offset] = fmin(fmax(at, ik->bounds.low[c]), ik->bounds.high[c]);
    }
    if (ik->problem.has_wide_slides) skel__mimic_apply(ik->model, x);
}

/* The nearest of the next few of the sequence. */
static void next_seed(skel_ik *ik, int32_t m) {
    double least = INFINITY;
    for (int k = 0; k < IK_SEEDS_SCREENED; ++k) {
        for (int32_t c = 0; c < ik->size.columns; ++c) {
            ik->iterate.seed[c] += ik->iterate.seed_increment[c];
            ik->iterate.seed[c] -= ik->iterate.seed[c] >= 1 ? 1 : 0;
        }
        skel__ik_place_seed(ik, ik->iterate.seed, ik->iterate.start, ik->iterate.trial);
        centre_seed(ik, ik->iterate.trial);
        const double e2 = skel__ik_errors(ik, ik->iterate.trial, m);
        if (!(e2 < least)) continue;
        least = e2;
        take_trial(ik);
    }
}

/* ---- downhill ---- */

void skel__ik_hessian(skel_ik *ik, int32_t m) {
    const size_t n = (size_t)ik->size.columns;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j) {
            double s = 0;
            for (int32_t r = 0; r < m; ++r)
                s += ik->iterate.jacobian_t[i * (size_t)ik->size.rows + (size_t)r] *
                     ik->iterate.jacobian_t[j * (size_t)ik->size.rows + (size_t)r];
            ik->step.hessian[i * n + j] = s;
        }
    skel__ik_curvature(ik, m, ik->step.hessian);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < i; ++j) ik->step.hessian[j * n + i] = ik->step.hessian[i * n + j];
}

/* What the model of the step says is gained of |e|^2: 2 e.Jy - |Jy|^2, or with y.Hy for |Jy|^2. */
static double promised(const skel_ik *ik, int32_t m, int curved) {
    const size_t n = (size_t)ik->size.columns, stride = (size_t)ik->size.rows;
    double gain = 0;
    for (size_t r = 0; r < (size_t)m; ++r) {
        double jy = 0;
        for (size_t c = 0; c < n; ++c) jy += ik->iterate.jacobian_t[c * stride + r] * ik->step.y[c];
        gain += 2 * ik->iterate.e_at_x[r] * jy - (curved ? 0.0 : jy * jy);
    }
    for (size_t i = 0; curved && i < n; ++i)
        for (size_t j = 0; j < n; ++j)
            gain -= ik->step.y[i] * ik->step.hessian[i * n + j] * ik->step.y[j];
    return gain;
}

/* Of a chain too long for its curvature: out of a plane or a line by a small motion of everything.
   It may lead up; the place before is kept in best. */
static int kick(skel_ik *ik, int32_t m, double *e2) {
    keep(ik, ik->iterate.best, ik->iterate.x);
    for (int32_t c = 0; c < ik->size.columns; ++c)
        ik->step.y[c] = ik->step.column[c] ? IK_KICK_RAD * sin(1 + 1.7 * c) : 0;
    skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.trial);
    take_trial(ik);
    *e2 = skel__ik_errors(ik, ik->iterate.x, m);
    return 1;
}

/* Where the gradient vanishes: along the direction of most negative curvature, to the side that we
   came from. Returns 1 where that leads down. */
static int escape(skel_ik *ik, int32_t m, double *e2) {
    if (ik->size.columns > SKEL__IK_HESSIAN_COLUMNS_MAX) return kick(ik, m, e2);
    const size_t n = (size_t)ik->size.columns;
    skel__ik_hessian(ik, m);
    memcpy(ik->step.hessian_work, ik->step.hessian, n * n * sizeof *ik->step.hessian);
    for (size_t i = 0; i < n; ++i) /* held columns have no part in it */
        for (size_t j = 0; j < n; ++j)
            if (!ik->step.column[i] || !ik->step.column[j])
                ik->step.hessian_work[i * n + j] = i == j ? 1 : 0;
    if (!skel__eigen(ik->step.hessian_work, ik->size.columns, ik->step.solution,
                     ik->step.dense_work))
        return 0;
    if (ik->step.solution[0] > -1e-7 * (1 + *e2)) return 0;
    double side = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *k = &ik->problem.node[ik->problem.column_node[c]];
        if (k->kind <= SKEL__NODE_SLIDE && ik->history.has_good)
            side += ik->step.hessian_work[c] *
                    (ik->history.good[k->x_offset] - ik->iterate.x[k->x_offset]);
    }
    const double sign = side < 0 ? -1 : 1;
    for (double size = 0.3; size > 1e-5; size *= 0.3)
        for (int turn = 0; turn < 2; ++turn) {
            const double s = (turn ? -sign : sign) * size;
            for (int32_t c = 0; c < ik->size.columns; ++c)
                ik->step.y[c] = s * ik->step.hessian_work[c];
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

typedef struct downhill {
    double e2, mu, nu, least; /* least: gain that is worth a step, of e2 */
    int curved, slow, lag;
} downhill;

/* Tries steps from x, damping more and more, until one leads down. */
static int go_down(skel_ik *ik, int32_t m, downhill *d) {
    for (int tries = 0; tries < 30; ++tries) {
        int ok = 1;
        ik->step.has_active_set = tries == 0; /* the gradient was taken here */
        if (d->curved)
            ok = skel__ik_newton_step(ik, ik->iterate.x, ik->iterate.e_at_x, m, d->mu);
        else
            skel__ik_step(ik, ik->iterate.x, ik->iterate.e_at_x, m, d->mu, INFINITY);
        if (ok) {
            const double gain = promised(ik, m, d->curved);
            skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.trial);
            const double now = skel__ik_errors(ik, ik->iterate.trial, m);
            if (now < d->e2 && gain > 0) {
                const double ratio = (d->e2 - now) / gain, t = 2 * ratio - 1;
                d->mu *= fmax(0.1, 1 - t * t * t);
                if (!d->curved && ratio > 0.75) d->mu = fmin(d->mu, 0.1 * now + 1e-12);
                if (d->curved) d->mu = fmax(d->mu, 1e-13);
                d->nu = 2;
                d->slow = d->e2 - now < d->least * d->e2 ? d->slow + 1 : 0;
                d->lag = now > IK_SLOW_RATIO * d->e2 ? d->lag + 1 : 0;
                if (d->lag > 2 && ik->size.columns <= SKEL__IK_HESSIAN_COLUMNS_MAX) d->curved = 1;
                take_trial(ik);
                d->e2 = now;
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
    downhill d = {.e2 = skel__ik_errors(ik, ik->iterate.x, m), .mu = -1, .nu = 2, .least = 1e-9};
    if (ik->history.is_following)
        d.least = IK_GAIN_MIN_TRACK; /* the next frame goes on from here */
    if (ik->size.columns > SKEL__IK_HESSIAN_COLUMNS_MAX)
        d.least = IK_GAIN_MIN_TRACK; /* creeping: without curvature it never ends */
    int escapes = 0;
    double least = INFINITY; /* of the place that a kick left */
    for (int32_t it = 0; it < most && !skel__ik_is_late(ik); ++it) {
        ++ik->result.iterations;
        if (ik->result.residual <= ik->options.tolerance) return skel__ik_polish(ik, m, d.e2, 0);
        skel__ik_jacobian(ik, m);
        memcpy(ik->iterate.e_at_x, ik->iterate.e, (size_t)m * sizeof *ik->iterate.e);
        const double slope =
            skel__ik_gradient(ik, ik->iterate.x, ik->iterate.e_at_x, m, ik->step.gradient);
        if (slope > IK_GRADIENT_TOL && d.slow < 3) {
            if (d.curved) skel__ik_hessian(ik, m);
            if (d.mu < 0) d.mu = 0.01 * d.e2 + IK_DAMPING_MIN;
            if (go_down(ik, m, &d)) continue;
            skel__ik_jacobian(ik, m);
        }
        const double was = d.e2;
        if (was >= least || ++escapes > 3) break; /* the last one led nowhere */
        if (!escape(ik, m, &d.e2)) break;
        if (ik->size.columns > SKEL__IK_HESSIAN_COLUMNS_MAX) least = was;
        d.mu = 0.01 * d.e2 + IK_DAMPING_MIN, d.slow = d.lag = 0;
    }
    const double now = skel__ik_errors(ik, ik->iterate.x, m);
    if (!(now > least)) return now;
    keep(ik, ik->iterate.x, ik->iterate.best);
    return skel__ik_errors(ik, ik->iterate.x, m);
}

/* Every coordinate that moves at zero, or as near as its limits let it. */
static void stretch(skel_ik *ik) {
    keep(ik, ik->iterate.x, ik->iterate.start);
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        if (ik->problem.column_x[c] >= 0) ik->iterate.x[n->x_offset] = 0;
        if (n->kind == SKEL__NODE_BALL && n->joint >= 0)
            q_to(q_identity(), ik->iterate.x + n->x_offset);
    }
    memset(ik->step.y, 0, (size_t)ik->size.columns * sizeof *ik->step.y);
    skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.x);
}

/* A point in the world, all of it, on a chain whose longest reach is known. */
static int is_fixed_point(const skel__ik_task *t) {
    return t->kind == SKEL__TASK_POINT && t->mask == SKEL_GOAL_POSITION && t->to.node < 0 &&
           t->weight > 0 && isfinite(t->reach);
}

/* Some point is farther from the root than its whole chain is long. */
static int is_out_of_reach(const skel_ik *ik, int32_t m) {
    for (int32_t k = 0; k < ik->size.tasks && ik->problem.task[k].row < m; ++k) {
        const skel__ik_task *t = &ik->problem.task[k];
        if (!is_fixed_point(t)) continue;
        int32_t first = t->at.node;
        while (first >= 0 && ik->problem.node[first].parent >= 0)
            first = ik->problem.node[first].parent;
        if (first < 0 || ik->problem.node[first].kind > SKEL__NODE_BALL) continue;
        const v3 to = v3_add(t->to.p, m3_mulv(t->to.r, t->target));
        if (v3_norm(v3_sub(to, ik->problem.node[first].p)) > t->reach) return 1;
    }
    return 0;
}

/* x: the best of all descents; returns its squared error over the first m rows. */
double skel__ik_search(skel_ik *ik, int32_t m, int32_t restarts) {
    const int32_t most = ik->options.max_iterations > 0 ? ik->options.max_iterations : 60;
    double least = INFINITY;
    for (int32_t c = 0; c < ik->size.columns; ++c) ik->iterate.seed[c] = 0.5;
    if (is_out_of_reach(ik, m) && restarts > IK_RESTARTS_OUT_OF_REACH)
        restarts = IK_RESTARTS_OUT_OF_REACH;
    if (ik->problem.has_wide_slides &&
        skel__ik_errors(ik, ik->iterate.x, m) > IK_FAR_LENGTHS * IK_FAR_LENGTHS)
        skel__ik_downhill(ik, m, IK_APPROACH_ITERATIONS);
    for (int32_t r = 0;; ++r) {
        const double e2 =
            descend(ik, m, most, ik->size.columns > 3 * m ? IK_PATIENCE_REDUNDANT : IK_PATIENCE);
        if (ik->result.residual <= ik->options.tolerance) return skel__ik_polish(ik, m, e2, 1);
        if (e2 < least) least = e2, keep(ik, ik->history.good, ik->iterate.x);
        if (r >= restarts || skel__ik_is_late(ik)) break;
        ++ik->result.restarts;
        if (r == 0 && ik->size.columns > 3 * m)
            stretch(ik); /* freedom to spare: a long chain is solved best from straight */
        else
            next_seed(ik, m);
    }
    keep(ik, ik->iterate.x, ik->history.good);
    return skel__ik_errors(ik, ik->iterate.x, m);
}

/* Where the motion so far would lead. A chain with freedom to spare would go on and on in it, into
   its limits: there it slows down and turns a little towards where it began and away from its
   limits, as long as it moves at all; so a target that goes round brings it back. */
static double predict(skel_ik *ik, int32_t m) {
    double most = 0;
    skel__ik_difference(ik, ik->history.before_last, ik->history.last, ik->step.y);
    for (int32_t c = 0; c < ik->size.columns; ++c) most = fmax(most, fabs(ik->step.y[c]));
    for (int32_t c = 0; ik->size.columns > m && c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        ik->step.y[c] *= IK_PREDICT_DECAY;
        if (ik->problem.column_x[c] < 0) continue;
        const double back = IK_PREDICT_RETURN *
                            (ik->iterate.x[n->x_offset] - ik->history.first[n->x_offset]) /
                            ik->problem.column_scale[c];
        const double half = 0.5 * (n->high - n->low),
                     u = (ik->iterate.x[n->x_offset] - n->low) / half - 1;
        ik->step.y[c] -=
            fmax(fmin(back, IK_PREDICT_RETURN_MAX * most), -IK_PREDICT_RETURN_MAX * most);
        if (isfinite(half) && half > 0)
            ik->step.y[c] -= IK_PREDICT_LIMIT_PUSH * most * u * u * u * u * u;
    }
    return most;
}

/* Where the caller sets no bound: no farther from start than `most`, in rad and lengths. */
static void bound_step(skel_ik *ik, double most) {
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        if (ik->problem.column_x[c] >= 0) {
            const double x = ik->iterate.start[n->x_offset],
                         d = most * (n->kind == SKEL__NODE_HINGE ? 1 : ik->problem.length);
            ik->bounds.low[c] = fmax(n->low, x - d);
            ik->bounds.high[c] = fmin(n->high, x + d);
        } else {
            ik->bounds.node_step[ik->problem.column_node[c]] =
                most * (n->kind == SKEL__NODE_BALL ? 1 : ik->problem.length);
        }
    }
}

/* Whether the solve begins at x, in what the goals move: the rest may be an animation's. */
static int begins_at(const skel_ik *ik, const double *x) {
    skel__ik_difference(ik, x, ik->iterate.start, ik->step.y);
    for (int32_t c = 0; c < ik->size.columns; ++c)
        if (!(fabs(ik->step.y[c]) < IK_SAME_POSE)) return 0;
    return 1;
}

/* How far the targets went since the last answer: what was off then and still is does not count. */
static double way_of_targets(const skel_ik *ik) {
    double sum = 0;
    for (int32_t r = 0; r < ik->size.rows; ++r) {
        const double d = ik->iterate.e[r] - ik->history.e_last[r];
        sum += d * d;
    }
    return sqrt(sum);
}

/* From frame to frame: begins where the motion so far would lead, where that is nearer. So it
   passes straight through places where the Jacobian loses rank, as the target does, and does not
   turn back there into another branch. */
void skel__ik_track_begin(skel_ik *ik) {
    const size_t size = (size_t)ik->size.coordinates * sizeof *ik->iterate.x;
    ik->history.is_following = ik->history.has_last && begins_at(ik, ik->history.last);
    if (!ik->history.is_following) {
        memcpy(ik->history.last, ik->iterate.start, size);
        memcpy(ik->history.first, ik->iterate.start, size);
        return;
    }
    const double e2 = skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
    const int ok = predict(ik, ik->size.rows) < 0.5;
    ik->history.target_motion = way_of_targets(ik);
    if (!skel__ik_is_bounded(ik))
        bound_step(ik, IK_TRACK_STEP_BASE + IK_TRACK_STEP_GAIN * ik->history.target_motion);
    skel__ik_step_within(ik, ik->iterate.x, ik->step.y, ik->iterate.trial);
    if (ok && skel__ik_errors(ik, ik->iterate.trial, ik->size.rows) < e2) take_trial(ik);
}

/* A later priority that limits kept from its goal comes free all at once when they let go: where
   it was not met it need not be in a hurry. Loops and the first goals always may be. */
void skel__ik_solve_met_levels(skel_ik *ik) {
    const int32_t first = ik->model->nl > 0 ? 2 : 1,
                  level = ik->history.levels_met > first ? ik->history.levels_met : first;
    if (skel__ik_is_bounded(ik) || level >= ik->size.levels) return;
    skel__ik_downhill(ik, skel__ik_rows_before(ik, level), 100);
    keep(ik, ik->iterate.start, ik->iterate.x);
    bound_step(ik, IK_TRACK_STEP_BASE + IK_TRACK_STEP_GAIN_UNMET * ik->history.target_motion);
}

/* Levels that are met one after the other, at the errors of all tasks. */
static int32_t levels_met(const skel_ik *ik) {
    for (int32_t k = 0; k < ik->size.tasks; ++k)
        if (ik->problem.task[k].error > ik->options.tolerance) return ik->problem.task[k].level;
    return ik->size.levels;
}

void skel__ik_track_end(skel_ik *ik) {
    const size_t size = (size_t)ik->size.coordinates * sizeof *ik->iterate.x;
    memcpy(ik->history.before_last, ik->history.last, size);
    memcpy(ik->history.last, ik->iterate.x, size);
    memcpy(ik->history.e_last, ik->iterate.e, (size_t)ik->size.rows * sizeof *ik->iterate.e);
    ik->history.levels_met = levels_met(ik);
    ik->history.has_last = 1;
    if (ik->result.residual > ik->options.tolerance) return;
    memcpy(ik->history.good, ik->iterate.x, size);
    ik->history.has_good = 1;
}

void skel__ik_resume(skel_ik *ik, const double *x) {
    const size_t size = (size_t)ik->size.coordinates * sizeof *x;
    memcpy(ik->iterate.x, x, size);
    skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
    memcpy(ik->history.last, x, size);
    memcpy(ik->history.first, x, size);
    ik->history.has_good = 0;
    skel__ik_track_end(ik);
    memcpy(ik->history.before_last, x, size);

    for (int32_t k = 0; k < ik->parts.count; ++k) skel__ik_resume(ik->parts.solver[k], x);
}

void skel__ik_forget(skel_ik *ik) {
    ik->history.has_last = ik->history.has_good = 0;
    for (int32_t k = 0; k < ik->parts.count; ++k) skel__ik_forget(ik->parts.solver[k]);
}

double skel__ik_target_motion(const skel_ik *ik) {
    double most = 0;
    if (ik->parts.count == 0)
        return ik->history.is_following ? ik->history.target_motion : INFINITY;
    for (int32_t k = 0; k < ik->parts.count; ++k)
        most = fmax(most, skel__ik_target_motion(ik->parts.solver[k]));
    return most;
}
