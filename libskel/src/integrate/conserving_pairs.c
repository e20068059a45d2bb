/* SPDX-License-Identifier: BSD-3-Clause */
/* Contacts of two dynamic bodies in Newton's matrix. Such bodies are not neighbours in the tree.
   With A the matrix of the tree, W (6n x 3) the wrenches of a unit force at the common point of a
   pair, E (3 x 6n) the displacement D there and B = d force / d D, the whole system is
     (A - h sum W B E) y = rho,    so with z = B E y:    y = A^-1 rho + sum Z z,   Z = h A^-1 W,
     (1 - B E Z) z = B E A^-1 rho.
   This takes three responses of the tree for every pair, once per factorisation, and a small dense
   system. */
#include "integrate/conserving.h"
#include "math/dense.h"

#include <string.h>

int32_t skel__conserving_pair_capacity(const skel_model *m) {
    int32_t count = 0;

    for (int32_t k = 0; k < m->ncand && count < SKEL__CONSERVING_PAIRS_MAX; ++k) {
        const skel__candidate *c = &m->candidate[k];
        count += c->kind != SKEL__CANDIDATE_PLANE && skel__is_dynamic(m, c->i) &&
                 skel__is_dynamic(m, c->j);
    }

    /* A plane on a dynamic body may touch many bodies. */
    for (int32_t k = 0; k < m->ng && count < SKEL__CONSERVING_PAIRS_MAX; ++k)
        if (skel__is_dynamic(m, m->ground[k].body)) count = SKEL__CONSERVING_PAIRS_MAX;
    return count;
}

/* E y of the pair. */
static v3 displacement(const skel__conserving_pair *p, const double *y) {
    v3 d = {0, 0, 0};
    for (int e = 0; e < 2; ++e) {
        const double *at = y + 6 * (size_t)p->body[e];
        const v3 move = v3_add(v3_of(at), m3_mulv(p->by_rotation[e], v3_of(at + 3)));
        d = v3_mad(d, e == 0 ? 1.0 : -1.0, move);
    }
    return d;
}

void skel__conserving_pairs_respond(skel_state *s, double h) {
    skel__conserving *em = s->integrator->conserving;
    const size_t n = 6 * (size_t)s->m->na;

    /* dlambda is free at this time and serves as the zero right-hand side of the tree joints. */
    double *zero = em->dlambda;
    memset(zero, 0, n * sizeof *zero);

    for (int32_t k = 0; k < em->pair_count; ++k) {
        const skel__conserving_pair *p = &em->pair[k];
        for (int c = 0; c < 3; ++c) {
            const v3 unit = {c == 0, c == 1, c == 2};
            const size_t at = (size_t)(3 * k + c) * n;

            /* Z = A^-1 (h W): the force on the first body, its opposite on the second. */
            memset(em->y, 0, n * sizeof *em->y);
            for (int e = 0; e < 2; ++e) {
                const double sign = e == 0 ? h : -h;
                double *to = em->y + 6 * (size_t)p->body[e];
                v3_to(v3_scale(unit, sign), to);
                v3_to(v3_scale(v3_cross(p->arm[e], unit), sign), to + 3);
            }
            em->sweeps->solve(s->m, em->lu, em->y, zero, em->pair_y + at, em->pair_lambda + at);
        }
    }
}

void skel__conserving_pairs_solve(skel_state *s) {
    skel__conserving *em = s->integrator->conserving;
    const size_t n = 6 * (size_t)s->m->na;
    const int32_t nz = 3 * em->pair_count;

    /* (1 - B E Z) z = B E y0 */
    for (int32_t k = 0; k < em->pair_count; ++k) {
        const skel__conserving_pair *p = &em->pair[k];
        v3_to(m3_mulv(p->stiffness, displacement(p, em->y)), em->pair_z + 3 * k);
        for (int32_t c = 0; c < nz; ++c) {
            const v3 d = m3_mulv(p->stiffness, displacement(p, em->pair_y + (size_t)c * n));
            double *a = em->pair_matrix + (size_t)(3 * k * nz + c);
            a[0] = -d.x;
            a[nz] = -d.y;
            a[2 * nz] = -d.z;
        }
        for (int c = 0; c < 3; ++c) em->pair_matrix[(3 * k + c) * nz + 3 * k + c] += 1.0;
    }
    skel__solve(em->pair_matrix, em->pair_z, nz);

    /* y = y0 + Z z, and likewise the multipliers. */
    for (int32_t c = 0; c < nz; ++c)
        for (size_t k = 0; k < n; ++k) {
            em->y[k] += em->pair_z[c] * em->pair_y[(size_t)c * n + k];
            em->dlambda[k] += em->pair_z[c] * em->pair_lambda[(size_t)c * n + k];
        }
}
