/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways down. For one pose: steps damped in proportion to the squared error, given up early, begun
   again from the next of a low-discrepancy sequence of seeds. For tracking and for what cannot be
   reached: Levenberg-Marquardt, downhill only, with the curvature of the goals where the error does
   not vanish, so that the closest point is reached with Newton's speed; and a way out of places
   where the gradient vanishes but a step either side leads down (a straight arm). */
#include "math/dense.h"
#include "ik/ik.h"

#include <string.h>

#define HOPELESS 20      /* restarts for what is farther away than the chain is long */
#define DAMPING 0.02     /* per squared error */
#define FLOOR 1e-10      /* of the damping */
#define LONGEST 3.0      /* step of one descent [rad], [length] */
#define PROGRESS 0.7     /* of the squared error, else patience goes */
#define PATIENCE 3       /* steps without it before the next seed */
#define LONG_PATIENCE 12 /* with freedom to spare there is a way, and it is worth waiting for */
#define SCREEN 4         /* seeds that are looked at for one that is used */
#define SLOW 0.7         /* of the squared error: three steps like that, and curvature is used */
#define COAST 0.5        /* of the motion that is not asked for goes on from frame to frame */
#define HOMEWARD 0.05    /* of the way back to the first frame, with the freedom that is left */
#define LEISURE 0.3      /* but not faster than this part of the motion */
#define IDLE 2e-3        /* gain not worth a step while tracking, of the squared error */
#define SHY 2.0          /* and away from its limits, at them: so many times the motion */
#define CALM 0.08        /* [rad] that a joint may move in a frame whatever the target does */
#define HASTE 10.0       /* and so many times the way of the target, in rad and lengths */
#define GAIT 2.0         /* or so many, for what was not met in the frame before */
#define SAME 1e-9        /* [rad], [length]: a pose that goes on from another one */
#define KICK 0.02        /* [rad], of every joint */
#define FLAT 1e-13       /* gradient that counts as none */
#define EXACT 5e-5       /* of the tolerance: a residual that needs no polish */
#define FAR_AWAY 10.0    /* lengths: from there a slide without limits is led up first */
#define APPROACH 20      /* steps of that */
#define POLISH 1e-2      /* longest step of it: the last digits must not cost a way */

static void take_trial(skel_ik *ik) {
    double *swap = ik->x;
    ik->x        = ik->trial;
    ik->trial    = swap;
}

static void keep(const skel_ik *ik, double *to, const double *from) {
    memcpy(to, from, (size_t)ik->nx * sizeof *to);
}

/* A few more steps from a place that is good enough, while they help: first with the Jacobian of
   the step that led there (chord), which costs little and is nearly as good. */
double skel__ik_polish(skel_ik *ik, int32_t m, double e2, int has_factor) {
    for (int k = 0; k < 4 && ik->residual > EXACT * ik->d.tolerance; ++k) {
        const double was = ik->residual;
        memcpy(ik->e_now, ik->e, (size_t)m * sizeof *ik->e);
        if (!(k == 0 && has_factor && skel__ik_chord(ik, ik->e_now, m))) {
            skel__ik_jacobian(ik, m);
            skel__ik_step(ik, ik->x, ik->e_now, m, 1e-13 + 1e-3 * e2, POLISH);
        }
        skel__ik_move(ik, ik->x, ik->y, ik->trial);
        const double now = skel__ik_errors(ik, ik->trial, m);
        ++ik->iterations;
        if (!(now < e2)) {
            skel__ik_errors(ik, ik->x, m);
            if (k == 0 && has_factor) continue;
            break;
        }
        take_trial(ik);
        e2 = now;
        if (k > 0 && ik->residual > 0.5 * was) break;
    }
    return e2;
}

/* One descent from x; the best place it saw is x at the end. Returns its squared error. */
static double descend(skel_ik *ik, int32_t m, int32_t most, int32_t patience) {
    double  least = INFINITY, mark = INFINITY;
    int32_t since = 0;
    for (int32_t it = 0; it < most; ++it) {
        const double e2 = skel__ik_errors(ik, ik->x, m);
        ++ik->iterations;
        if (e2 < least) least = e2, keep(ik, ik->best, ik->x);
        if (ik->residual <= ik->d.tolerance) return e2;
        if (e2 < PROGRESS * mark)
            mark = e2, since = 0;
        else if (++since > patience)
            break;
        skel__ik_jacobian(ik, m);
        skel__ik_step(ik, ik->x, ik->e, m, DAMPING * e2 + FLOOR, LONGEST);
        skel__ik_move(ik, ik->x, ik->y, ik->x);
    }
    keep(ik, ik->x, ik->best);
    return skel__ik_errors(ik, ik->x, m);
}

/* The generalised golden ratio: powers of the root of t^(n+1) = t + 1 (Roberts). */
void skel__ik_seeds(skel_ik *ik) {
    double t = 1.2, f = 1;
    for (int k = 0; k < 30; ++k) t = pow(1 + t, 1.0 / (ik->n + 1));
    for (int32_t c = 0; c < ik->n; ++c) ik->seed_step[c] = f /= t;
}

/* Slides without limits may have gone a long way to come near the target: seeds are drawn around
   where the best descent has left them. */
static void centre_seed(const skel_ik *ik, double *x) {
    for (int32_t c = 0; ik->has_wide && c < ik->n; ++c) {
        const skel__ik_node *n = &ik->node[ik->of_column[c]];
        if (n->kind != SKEL__NODE_SLIDE || !n->is_wide) continue;
        const double at = x[n->x] + (ik->memory[n->x] - ik->start[n->x]);
        x[n->x]         = fmin(fmax(at, ik->low[c]), ik->high[c]);
    }
    if (ik->has_wide) skel__mimic_apply(ik->m, x);
}

/* The nearest of the next few of the sequence. */
static void next_seed(skel_ik *ik, int32_t m) {
    double least = INFINITY;
    for (int k = 0; k < SCREEN; ++k) {
        for (int32_t c = 0; c < ik->n; ++c) {
            ik->seed[c] += ik->seed_step[c];
            ik->seed[c] -= ik->seed[c] >= 1 ? 1 : 0;
        }
        skel__ik_spread(ik, ik->seed, ik->start, ik->trial);
        centre_seed(ik, ik->trial);
        const double e2 = skel__ik_errors(ik, ik->trial, m);
        if (!(e2 < least)) continue;
        least = e2;
        take_trial(ik);
    }
}

/* ---- downhill ---- */

void skel__ik_hessian(skel_ik *ik, int32_t m) {
    const size_t n = (size_t)ik->n;
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j) {
            double s = 0;
            for (int32_t r = 0; r < m; ++r)
                s += ik->jt[i * (size_t)ik->rows + (size_t)r] *
                     ik->jt[j * (size_t)ik->rows + (size_t)r];
            ik->h[i * n + j] = s;
        }
    skel__ik_curvature(ik, m, ik->h);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j < i; ++j) ik->h[j * n + i] = ik->h[i * n + j];
}

/* What the model of the step says is gained of |e|^2: 2 e.Jy - |Jy|^2, or with y.Hy for |Jy|^2. */
static double promised(const skel_ik *ik, int32_t m, int curved) {
    const size_t n = (size_t)ik->n, stride = (size_t)ik->rows;
    double       gain = 0;
    for (size_t r = 0; r < (size_t)m; ++r) {
        double jy = 0;
        for (size_t c = 0; c < n; ++c) jy += ik->jt[c * stride + r] * ik->y[c];
        gain += 2 * ik->e_now[r] * jy - (curved ? 0.0 : jy * jy);
    }
    for (size_t i = 0; curved && i < n; ++i)
        for (size_t j = 0; j < n; ++j) gain -= ik->y[i] * ik->h[i * n + j] * ik->y[j];
    return gain;
}

/* Of a chain too long for its curvature: out of a plane or a line by a small motion of everything.
   It may lead up; the place before is kept in best. */
static int kick(skel_ik *ik, int32_t m, double *e2) {
    keep(ik, ik->best, ik->x);
    for (int32_t c = 0; c < ik->n; ++c) ik->y[c] = ik->col[c] ? KICK * sin(1 + 1.7 * c) : 0;
    skel__ik_move(ik, ik->x, ik->y, ik->trial);
    take_trial(ik);
    *e2 = skel__ik_errors(ik, ik->x, m);
    return 1;
}

/* Where the gradient vanishes: along the direction of most negative curvature, to the side that we
   came from. Returns 1 where that leads down. */
static int escape(skel_ik *ik, int32_t m, double *e2) {
    if (ik->n > SKEL__IK_DENSE) return kick(ik, m, e2);
    const size_t n = (size_t)ik->n;
    skel__ik_hessian(ik, m);
    memcpy(ik->hf, ik->h, n * n * sizeof *ik->h);
    for (size_t i = 0; i < n; ++i) /* held columns have no part in it */
        for (size_t j = 0; j < n; ++j)
            if (!ik->col[i] || !ik->col[j]) ik->hf[i * n + j] = i == j ? 1 : 0;
    if (!skel__eigen(ik->hf, ik->n, ik->u, ik->work)) return 0;
    if (ik->u[0] > -1e-7 * (1 + *e2)) return 0;
    double side = 0;
    for (int32_t c = 0; c < ik->n; ++c) {
        const skel__ik_node *k = &ik->node[ik->of_column[c]];
        if (k->kind <= SKEL__NODE_SLIDE && ik->has_memory)
            side += ik->hf[c] * (ik->memory[k->x] - ik->x[k->x]);
    }
    const double sign = side < 0 ? -1 : 1;
    for (double size = 0.3; size > 1e-5; size *= 0.3)
        for (int turn = 0; turn < 2; ++turn) {
            const double s = (turn ? -sign : sign) * size;
            for (int32_t c = 0; c < ik->n; ++c) ik->y[c] = s * ik->hf[c];
            skel__ik_move(ik, ik->x, ik->y, ik->trial);
            const double now = skel__ik_errors(ik, ik->trial, m);
            if (now < *e2 * (1 - 1e-9)) {
                take_trial(ik);
                *e2 = now;
                return 1;
            }
        }
    *e2 = skel__ik_errors(ik, ik->x, m);
    return 0;
}

typedef struct downhill {
    double e2, mu, nu, least; /* least: gain that is worth a step, of e2 */
    int    curved, slow, lag;
} downhill;

/* Tries steps from x, damping more and more, until one leads down. */
static int go_down(skel_ik *ik, int32_t m, downhill *d) {
    for (int tries = 0; tries < 30; ++tries) {
        int ok       = 1;
        ik->is_begun = tries == 0; /* the gradient was taken here */
        if (d->curved)
            ok = skel__ik_newton_step(ik, ik->x, ik->e_now, m, d->mu);
        else
            skel__ik_step(ik, ik->x, ik->e_now, m, d->mu, INFINITY);
        if (ok) {
            const double gain = promised(ik, m, d->curved);
            skel__ik_move(ik, ik->x, ik->y, ik->trial);
            const double now = skel__ik_errors(ik, ik->trial, m);
            if (now < d->e2 && gain > 0) {
                const double ratio = (d->e2 - now) / gain, t = 2 * ratio - 1;
                d->mu *= fmax(0.1, 1 - t * t * t);
                if (!d->curved && ratio > 0.75) d->mu = fmin(d->mu, 0.1 * now + 1e-12);
                if (d->curved) d->mu = fmax(d->mu, 1e-13);
                d->nu   = 2;
                d->slow = d->e2 - now < d->least * d->e2 ? d->slow + 1 : 0;
                d->lag  = now > SLOW * d->e2 ? d->lag + 1 : 0;
                if (d->lag > 2 && ik->n <= SKEL__IK_DENSE) d->curved = 1;
                take_trial(ik);
                d->e2 = now;
                return 1;
            }
        }
        d->mu = fmax(d->mu, 1e-8) * d->nu * 2;
        d->nu *= 2;
    }
    d->e2 = skel__ik_errors(ik, ik->x, m);
    return 0;
}

double skel__ik_downhill(skel_ik *ik, int32_t m, int32_t most) {
    downhill d = {.e2 = skel__ik_errors(ik, ik->x, m), .mu = -1, .nu = 2, .least = 1e-9};
    if (ik->is_following) d.least = IDLE;       /* the next frame goes on from here */
    if (ik->n > SKEL__IK_DENSE) d.least = IDLE; /* creeping: without curvature it never ends */
    int    escapes = 0;
    double least   = INFINITY; /* of the place that a kick left */
    for (int32_t it = 0; it < most && !skel__ik_is_late(ik); ++it) {
        ++ik->iterations;
        if (ik->residual <= ik->d.tolerance) return skel__ik_polish(ik, m, d.e2, 0);
        skel__ik_jacobian(ik, m);
        memcpy(ik->e_now, ik->e, (size_t)m * sizeof *ik->e);
        const double slope = skel__ik_gradient(ik, ik->x, ik->e_now, m, ik->g);
        if (slope > FLAT && d.slow < 3) {
            if (d.curved) skel__ik_hessian(ik, m);
            if (d.mu < 0) d.mu = 0.01 * d.e2 + FLOOR;
            if (go_down(ik, m, &d)) continue;
            skel__ik_jacobian(ik, m);
        }
        const double was = d.e2;
        if (was >= least || ++escapes > 3) break; /* the last one led nowhere */
        if (!escape(ik, m, &d.e2)) break;
        if (ik->n > SKEL__IK_DENSE) least = was;
        d.mu = 0.01 * d.e2 + FLOOR, d.slow = d.lag = 0;
    }
    const double now = skel__ik_errors(ik, ik->x, m);
    if (!(now > least)) return now;
    keep(ik, ik->x, ik->best);
    return skel__ik_errors(ik, ik->x, m);
}

/* Every coordinate that moves at zero, or as near as its limits let it. */
static void stretch(skel_ik *ik) {
    keep(ik, ik->x, ik->start);
    for (int32_t c = 0; c < ik->n; ++c) {
        const skel__ik_node *n = &ik->node[ik->of_column[c]];
        if (ik->scalar[c] >= 0) ik->x[n->x] = 0;
        if (n->kind == SKEL__NODE_BALL && n->joint >= 0) q_to(q_identity(), ik->x + n->x);
    }
    memset(ik->y, 0, (size_t)ik->n * sizeof *ik->y);
    skel__ik_move(ik, ik->x, ik->y, ik->x);
}

/* A point in the world, all of it, on a chain whose longest reach is known. */
static int is_fixed_point(const skel__ik_task *t) {
    return t->kind == SKEL__TASK_POINT && t->mask == SKEL_GOAL_POSITION && t->to.node < 0 &&
           t->weight > 0 && isfinite(t->most);
}

/* Some point is farther from the root than its whole chain is long. */
static int is_out_of_reach(const skel_ik *ik, int32_t m) {
    for (int32_t k = 0; k < ik->nt && ik->task[k].row < m; ++k) {
        const skel__ik_task *t = &ik->task[k];
        if (!is_fixed_point(t)) continue;
        int32_t first = t->at.node;
        while (first >= 0 && ik->node[first].parent >= 0) first = ik->node[first].parent;
        if (first < 0 || ik->node[first].kind > SKEL__NODE_BALL) continue;
        const v3 to = v3_add(t->to.p, m3_mulv(t->to.r, t->target));
        if (v3_norm(v3_sub(to, ik->node[first].p)) > t->most) return 1;
    }
    return 0;
}

/* x: the best of all descents; returns its squared error over the first m rows. */
double skel__ik_search(skel_ik *ik, int32_t m, int32_t restarts) {
    const int32_t most  = ik->d.max_iterations > 0 ? ik->d.max_iterations : 60;
    double        least = INFINITY;
    for (int32_t c = 0; c < ik->n; ++c) ik->seed[c] = 0.5;
    if (is_out_of_reach(ik, m) && restarts > HOPELESS) restarts = HOPELESS;
    if (ik->has_wide && skel__ik_errors(ik, ik->x, m) > FAR_AWAY * FAR_AWAY)
        skel__ik_downhill(ik, m, APPROACH);
    for (int32_t r = 0;; ++r) {
        const double e2 = descend(ik, m, most, ik->n > 3 * m ? LONG_PATIENCE : PATIENCE);
        if (ik->residual <= ik->d.tolerance) return skel__ik_polish(ik, m, e2, 1);
        if (e2 < least) least = e2, keep(ik, ik->memory, ik->x);
        if (r >= restarts || skel__ik_is_late(ik)) break;
        ++ik->restarts;
        if (r == 0 && ik->n > 3 * m)
            stretch(ik); /* freedom to spare: a long chain is solved best from straight */
        else
            next_seed(ik, m);
    }
    keep(ik, ik->x, ik->memory);
    return skel__ik_errors(ik, ik->x, m);
}

/* Where the motion so far would lead. A chain with freedom to spare would go on and on in it, into
   its limits: there it slows down and turns a little towards where it began and away from its
   limits, as long as it moves at all; so a target that goes round brings it back. */
static double predict(skel_ik *ik, int32_t m) {
    double most = 0;
    skel__ik_difference(ik, ik->before, ik->last, ik->y);
    for (int32_t c = 0; c < ik->n; ++c) most = fmax(most, fabs(ik->y[c]));
    for (int32_t c = 0; ik->n > m && c < ik->n; ++c) {
        const skel__ik_node *n = &ik->node[ik->of_column[c]];
        ik->y[c] *= COAST;
        if (ik->scalar[c] < 0) continue;
        const double back = HOMEWARD * (ik->x[n->x] - ik->home[n->x]) / ik->scale[c];
        const double half = 0.5 * (n->high - n->low), u = (ik->x[n->x] - n->low) / half - 1;
        ik->y[c] -= fmax(fmin(back, LEISURE * most), -LEISURE * most);
        if (isfinite(half) && half > 0) ik->y[c] -= SHY * most * u * u * u * u * u;
    }
    return most;
}

/* Where the caller sets no bound: no farther from start than `most`, in rad and lengths. */
static void bound_step(skel_ik *ik, double most) {
    for (int32_t c = 0; c < ik->n; ++c) {
        const skel__ik_node *n = &ik->node[ik->of_column[c]];
        if (ik->scalar[c] >= 0) {
            const double x = ik->start[n->x],
                         d = most * (n->kind == SKEL__NODE_HINGE ? 1 : ik->length);
            ik->low[c]     = fmax(n->low, x - d);
            ik->high[c]    = fmin(n->high, x + d);
        } else {
            ik->step_most[ik->of_column[c]] = most * (n->kind == SKEL__NODE_BALL ? 1 : ik->length);
        }
    }
}

/* Whether the solve begins at x, in what the goals move: the rest may be an animation's. */
static int begins_at(const skel_ik *ik, const double *x) {
    skel__ik_difference(ik, x, ik->start, ik->y);
    for (int32_t c = 0; c < ik->n; ++c)
        if (!(fabs(ik->y[c]) < SAME)) return 0;
    return 1;
}

/* How far the targets went since the last answer: what was off then and still is does not count. */
static double way_of_targets(const skel_ik *ik) {
    double sum = 0;
    for (int32_t r = 0; r < ik->rows; ++r) {
        const double d = ik->e[r] - ik->e_last[r];
        sum += d * d;
    }
    return sqrt(sum);
}

/* From frame to frame: begins where the motion so far would lead, where that is nearer. So it
   passes straight through places where the Jacobian loses rank, as the target does, and does not
   turn back there into another branch. */
void skel__ik_follow_begin(skel_ik *ik) {
    const size_t size = (size_t)ik->nx * sizeof *ik->x;
    ik->is_following  = ik->has_last && begins_at(ik, ik->last);
    if (!ik->is_following) {
        memcpy(ik->last, ik->start, size);
        memcpy(ik->home, ik->start, size);
        return;
    }
    const double e2 = skel__ik_errors(ik, ik->x, ik->rows);
    const int    ok = predict(ik, ik->rows) < 0.5;
    ik->way         = way_of_targets(ik);
    if (!skel__ik_is_bounded(ik)) bound_step(ik, CALM + HASTE * ik->way);
    skel__ik_move(ik, ik->x, ik->y, ik->trial);
    if (ok && skel__ik_errors(ik, ik->trial, ik->rows) < e2) take_trial(ik);
}

/* A later priority that limits kept from its goal comes free all at once when they let go: where
   it was not met it need not be in a hurry. Loops and the first goals always may be. */
void skel__ik_keep_met(skel_ik *ik) {
    const int32_t first = ik->m->nl > 0 ? 2 : 1, level = ik->met > first ? ik->met : first;
    if (skel__ik_is_bounded(ik) || level >= ik->levels) return;
    skel__ik_downhill(ik, skel__ik_rows_before(ik, level), 100);
    keep(ik, ik->start, ik->x);
    bound_step(ik, CALM + GAIT * ik->way);
}

/* Levels that are met one after the other, at the errors of all tasks. */
static int32_t levels_met(const skel_ik *ik) {
    for (int32_t k = 0; k < ik->nt; ++k)
        if (ik->task[k].off > ik->d.tolerance) return ik->task[k].level;
    return ik->levels;
}

void skel__ik_follow_end(skel_ik *ik) {
    const size_t size = (size_t)ik->nx * sizeof *ik->x;
    memcpy(ik->before, ik->last, size);
    memcpy(ik->last, ik->x, size);
    memcpy(ik->e_last, ik->e, (size_t)ik->rows * sizeof *ik->e);
    ik->met      = levels_met(ik);
    ik->has_last = 1;
    if (ik->residual > ik->d.tolerance) return;
    memcpy(ik->memory, ik->x, size);
    ik->has_memory = 1;
}

void skel__ik_resume(skel_ik *ik, const double *x) {
    const size_t size = (size_t)ik->nx * sizeof *x;
    memcpy(ik->x, x, size);
    skel__ik_errors(ik, ik->x, ik->rows);
    memcpy(ik->last, x, size);
    memcpy(ik->home, x, size);
    ik->has_memory = 0;
    skel__ik_follow_end(ik);
    memcpy(ik->before, x, size);

    for (int32_t k = 0; k < ik->nparts; ++k) skel__ik_resume(ik->part[k], x);
}

void skel__ik_forget(skel_ik *ik) {
    ik->has_last = ik->has_memory = 0;
    for (int32_t k = 0; k < ik->nparts; ++k) skel__ik_forget(ik->part[k]);
}

double skel__ik_way(const skel_ik *ik) {
    double most = 0;
    if (ik->nparts == 0) return ik->is_following ? ik->way : INFINITY;
    for (int32_t k = 0; k < ik->nparts; ++k) most = fmax(most, skel__ik_way(ik->part[k]));
    return most;
}
