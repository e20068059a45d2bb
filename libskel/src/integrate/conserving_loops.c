/* SPDX-License-Identifier: BSD-3-Clause */
/* Loop joints and pins in the energy-momentum step. With A the matrix of the tree, W the wrenches
   of unit multipliers of the loops and G their rows, a correction solves
     A y - W mu = rho,   G y = -g.
   With y0 = A^-1 rho and the responses Z = A^-1 W, computed once per factorisation,
     (G Z) mu = -g - G y0,   y = y0 + Z mu.
   The multipliers of the tree joints follow in the same way. */
#include "integrate/conserving.h"
#include "math/dense.h"

#include <string.h>

/* Solves (a + diagonal) x = b in place, in units of `scale`. Rows that are implied by others (those
   out of the plane of a four-bar linkage) make a singular. The small diagonal then keeps x near
   zero; elsewhere the next Newton iterations remove its effect. */
static void solve_regularised(double *a, double *b, const double *scale, double diagonal,
                              int32_t n) {
    for (int32_t r = 0; r < n; ++r) {
        for (int32_t c = 0; c < n; ++c) a[r * n + c] *= scale[r] * scale[c];
        a[r * n + r] += diagonal;
        b[r] *= scale[r];
    }
    skel__solve(a, b, n);
    for (int32_t k = 0; k < n; ++k) b[k] *= scale[k];
}

/* Adds column k of the 6 x rows matrix w to the right-hand side of body i. */
static void add_column(const skel_model *m, double *rho, int32_t i, const double *w, int rows,
                       int k) {
    if (!skel__is_dynamic(m, i)) return;
    for (int c = 0; c < 6; ++c) rho[6 * (size_t)i + (size_t)c] += w[c * rows + k];
}

/* The row g times the motion of body i. */
static double row_times(const skel_model *m, int32_t i, const double *g, const double *y) {
    double sum = 0;
    if (!skel__is_dynamic(m, i)) return 0;
    for (int c = 0; c < 6; ++c) sum += g[c] * y[6 * (size_t)i + (size_t)c];
    return sum;
}

void skel__conserving_loops_respond(skel_state *s, double h) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;
    const size_t n = 6 * (size_t)m->na;
    size_t at = 0;

    /* dlambda is free at this time and serves as the zero right-hand side of the tree joints. */
    double *zero = em->dlambda;
    memset(zero, 0, n * sizeof *zero);

    for (int32_t l = 0; l < s->nloop; ++l) {
        const skel__joint *j = &m->joint[s->loop_joint[l]];
        const skel__conserving_loop *loop = &em->loop[l];
        const int rows = skel__joint_rows(j->type);

        for (int k = 0; k < rows; ++k, ++at) {
            memset(em->y, 0, n * sizeof *em->y);
            add_column(m, em->y, j->a, loop->wa, rows, k);
            add_column(m, em->y, j->b, loop->wb, rows, k);

            /* Unit of the multiplier: the one that moves the two bodies, if free, by a unit. */
            const double mobility = skel__mobility(m, j->a, em->r1[j->a], loop->ga + 6 * k) +
                                    skel__mobility(m, j->b, em->r1[j->b], loop->gb + 6 * k);
            em->scale[at] = 1.0 / sqrt(0.5 * h * mobility);
            em->sweeps->solve(m, em->lu, em->y, zero, em->loop_y + at * n,
                              em->loop_lambda + at * n);
        }
    }
}

void skel__conserving_loops_solve(skel_state *s) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;
    const size_t n = 6 * (size_t)m->na;
    int32_t at = 0;

    /* (G Z) mu = -g - G y0 */
    for (int32_t l = 0; l < s->nloop; ++l) {
        const skel__joint *j = &m->joint[s->loop_joint[l]];
        const skel__conserving_loop *e = &em->loop[l];
        const int rows = skel__joint_rows(j->type);

        for (int k = 0; k < rows; ++k, ++at) {
            const double *ga = e->ga + 6 * k, *gb = e->gb + 6 * k;
            em->mu[at] =
                e->gamma[k] - row_times(m, j->a, ga, em->y) - row_times(m, j->b, gb, em->y);
            for (int32_t c = 0; c < s->nr; ++c) {
                const double *z = em->loop_y + (size_t)c * n;
                em->schur[at * s->nr + c] = row_times(m, j->a, ga, z) + row_times(m, j->b, gb, z);
            }
        }
    }
    solve_regularised(em->schur, em->mu, em->scale, em->loop_regularisation, s->nr);

    /* y = y0 + Z mu, and likewise the multipliers of the tree. */
    for (int32_t c = 0; c < s->nr; ++c)
        for (size_t k = 0; k < n; ++k) {
            em->y[k] += em->mu[c] * em->loop_y[(size_t)c * n + k];
            em->dlambda[k] += em->mu[c] * em->loop_lambda[(size_t)c * n + k];
        }
}

void skel__conserving_loops_correct(skel_state *s, double share) {
    const skel__conserving *em = s->integrator->conserving;
    int32_t at = 0;

    for (int32_t l = 0; l < s->nloop; ++l) {
        const int32_t joint = s->loop_joint[l];
        double *lambda = em->lambda + 6 * (size_t)joint;
        for (int c = 0; c < skel__joint_rows(s->m->joint[joint].type); ++c)
            lambda[c] += share * em->mu[at++];
    }
}
