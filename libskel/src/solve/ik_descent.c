/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways down. For one pose: steps damped in proportion to the squared error, given up early, begun
   again from the next of a low-discrepancy sequence of seeds. For tracking and for what cannot be
   reached: Levenberg-Marquardt, downhill only, with the curvature of the goals where the error does
   not vanish, so that the closest point is reached with Newton's speed; and a way out of places
   where the gradient vanishes but a step either side leads down (a straight arm). */
#include "math/dense.h"
#include "solve/ik.h"

#include <string.h>
#include <time.h>

#define DAMPING 0.02   /* per squared error */
#define FLOOR 1e-10    /* of the damping */
#define LONGEST 1.0    /* step of one descent [rad], [length] */
#define PROGRESS 0.7   /* of the squared error, else patience goes */
#define FLAT 1e-13     /* gradient that counts as none */
#define EXACT 1e-11    /* a residual that needs no polish */

int64_t skel__ik_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int is_late(const skel_ik *ik) {
    return ik->deadline && skel__ik_now() > ik->deadline;
}

static void take_trial(skel_ik *ik) {
    double *swap = ik->x;
    ik->x        = ik->trial;
    ik->trial    = swap;
}

static void keep(const skel_ik *ik, double *to, const double *from) {
    memcpy(to, from, (size_t)ik->nx * sizeof *to);
}

/* A few undamped steps from a place that is good enough, while they help. */
double skel__ik_polish(skel_ik *ik, int32_t m, double e2) {
    for (int k = 0; k < 4 && ik->residual > EXACT; ++k) {
        const double was = ik->residual;
        skel__ik_jacobian(ik, m);
        memcpy(ik->e_now, ik->e, (size_t)m * sizeof *ik->e);
        skel__ik_step(ik, ik->x, ik->e_now, m, 1e-13 + 1e-3 * e2, LONGEST);
        skel__ik_move(ik, ik->x, ik->y, ik->trial);
        const double now = skel__ik_errors(ik, ik->trial, m);
        ++ik->iterations;
        if (!(now < e2)) return skel__ik_errors(ik, ik->x, m);
        take_trial(ik);
        e2 = now;
        if (ik->residual > 0.5 * was) break;
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
static void begin_seeds(skel_ik *ik) {
    double t = 1.2, f = 1;
    for (int k = 0; k < 30; ++k) t = pow(1 + t, 1.0 / (ik->n + 1));
    for (int32_t c = 0; c < ik->n; ++c) {
        f /= t;
        ik->seed_step[c] = f;
        ik->seed[c]      = 0.5;
    }
}

static void next_seed(skel_ik *ik) {
    for (int32_t c = 0; c < ik->n; ++c) {
        ik->seed[c] += ik->seed_step[c];
        ik->seed[c] -= floor(ik->seed[c]);
    }
    skel__ik_spread(ik, ik->seed, ik->start, ik->x);
}

/* x: the best of all descents; returns its squared error over the first m rows. */
double skel__ik_search(skel_ik *ik, int32_t m, int32_t restarts) {
    const int32_t most = ik->d.max_iterations > 0 ? ik->d.max_iterations : 60;
    double        least = INFINITY;
    begin_seeds(ik);
    for (int32_t r = 0;; ++r) {
        const double e2 = descend(ik, m, most, 6);
        if (ik->residual <= ik->d.tolerance) return skel__ik_polish(ik, m, e2);
        if (e2 < least) least = e2, keep(ik, ik->memory, ik->x);
        if (r >= restarts || is_late(ik)) break;
        ++ik->restarts;
        next_seed(ik);
    }
    keep(ik, ik->x, ik->memory);
    return skel__ik_errors(ik, ik->x, m);
}

/* ---- downhill ---- */

/* h = J^T J + curvature, full. */
static void hessian(skel_ik *ik, int32_t m) {
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
    const size_t n    = (size_t)ik->n, stride = (size_t)ik->rows;
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

/* Where the gradient vanishes: along the direction of most negative curvature, to the side that we
   came from. Returns 1 where that leads down. */
static int escape(skel_ik *ik, int32_t m, double *e2) {
    if (ik->n > SKEL__IK_DENSE) return 0;
    const size_t n = (size_t)ik->n;
    hessian(ik, m);
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
    double e2, mu, nu;
    int    curved, slow;
} downhill;

/* Tries steps from x, damping more and more, until one leads down. */
static int go_down(skel_ik *ik, int32_t m, downhill *d) {
    for (int tries = 0; tries < 30; ++tries) {
        int ok = 1;
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
                if (d->curved && ratio > 0.75 && d->mu < 1e-9) d->mu = 0;
                d->nu   = 2;
                d->slow = d->e2 - now < 1e-9 * d->e2 ? d->slow + 1 : 0;
                if (!d->curved && ik->n <= SKEL__IK_DENSE && now > 0.3 * d->e2 && now > 1e-16)
                    d->curved = 1;
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
    downhill d = {.e2 = skel__ik_errors(ik, ik->x, m), .mu = -1, .nu = 2};
    for (int32_t it = 0; it < most; ++it) {
        ++ik->iterations;
        if (ik->residual <= ik->d.tolerance) return skel__ik_polish(ik, m, d.e2);
        skel__ik_jacobian(ik, m);
        memcpy(ik->e_now, ik->e, (size_t)m * sizeof *ik->e);
        const double slope = skel__ik_gradient(ik, ik->x, ik->e_now, m, ik->g);
        if (slope < FLAT) {
            if (!escape(ik, m, &d.e2)) break;
            continue;
        }
        if (d.curved) hessian(ik, m);
        if (d.mu < 0) d.mu = 0.01 * d.e2 + FLOOR;
        if (!go_down(ik, m, &d)) {
            if (slope > 1e-9 || !escape(ik, m, &d.e2)) break;
        }
        if (d.slow > 2 || is_late(ik)) break;
    }
    return skel__ik_errors(ik, ik->x, m);
}
