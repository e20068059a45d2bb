/* SPDX-License-Identifier: BSD-3-Clause */
/* Loop joints and pins by a Schur complement. The tree alone has the acceleration a0 under the applied
   forces, and z_k under a unit multiplier of loop row k. The multipliers mu solve
     G a0 + (G Z) mu = target,   then   a = a0 + Z mu.
   G Z is symmetric and positive semidefinite. It is singular if other joints imply some rows (three
   rows of a planar four-bar linkage). Pivoted elimination finds such rows and omits them, which
   changes no acceleration. */
#include "dynamics/dynamics.h"

#include <string.h>

#define LOOP_PIVOT_MIN 1e-10 /* relative to the mobility of the free bodies: implied rows */

int32_t skel__loop_row_count(const skel_model *m) {
    int32_t n = 6 * m->npin;
    for (int32_t k = 0; k < m->nl; ++k) n += skel__joint_rows(m->joint[m->loop[k]].type);
    return n;
}

/* Whether the body is pinned at time t. */
static int holds(const skel__body *b, double t, double eps) {
    for (uint32_t k = 0; k < b->pinned_count; ++k)
        if (t >= b->pinned[2 * k] - eps && t < b->pinned[2 * k + 1] - eps) return 1;
    return 0;
}

/* The anchor of the pin takes the present pose of the body, at rest. */
static void place_anchor(skel_state *s, int32_t anchor, int32_t body) {
    s->x[anchor] = s->x[body];
    s->x[anchor].v = (v3){0, 0, 0};
    s->x[anchor].w = (v3){0, 0, 0};
}

int skel__loops_select(skel_state *s, double eps) {
    const skel_model *m = s->m;
    int changed = 0;
    s->nloop = 0;
    s->nr = 0;

    /* Loop joints always hold. */
    for (int32_t k = 0; k < m->nl; ++k) s->loop_joint[s->nloop++] = m->loop[k];

    /* Pins hold in their time spans. */
    for (int32_t k = 0; k < m->npin; ++k) {
        const int now = holds(&m->body[m->pin[k]], s->t, eps);
        if (now && !s->is_pinned[k] && m->body[m->nb + k].is_held)
            place_anchor(s, m->nb + k, m->pin[k]);
        changed |= now != s->is_pinned[k];
        s->is_pinned[k] = now;
        if (now) s->loop_joint[s->nloop++] = m->nj + k;
    }

    for (int32_t k = 0; k < s->nloop; ++k)
        s->nr += skel__joint_rows(m->joint[s->loop_joint[k]].type);
    return changed;
}

static skel__twist velocity(const skel_state *s, const skel__kin *x, int32_t i) {
    return (skel__twist){x[i].v, s->ww[i]};
}

/* z_k: acceleration of the tree under the wrench pair of a unit multiplier of row k alone. */
static void find_response(skel_state *s, int32_t row, const skel__joint *j, const double *ga,
                          const double *gb) {
    const skel_model *m = s->m;
    memset(s->f - 1, 0, ((size_t)m->na + 1) * sizeof *s->f);
    s->f[j->a] = (skel__wrench){v3_of(ga), v3_of(ga + 3)};
    s->f[j->b] = (skel__wrench){v3_of(gb), v3_of(gb + 3)};

    skel__aba_solve(s);
    memcpy(s->loop_response + (size_t)row * (size_t)m->na, s->acc, (size_t)m->na * sizeof *s->acc);
    s->loop_scale[row] = 1.0 / sqrt(skel__mobility(m, j->a, s->r[j->a], ga) +
                                    skel__mobility(m, j->b, s->r[j->b], gb));
}

/* All z_k, without bias and with prescribed bodies at rest. Overwrites s->f, s->bias and s->acc. */
static void find_responses(skel_state *s, const skel__kin *x) {
    const skel_model *m = s->m;
    int32_t row = 0;
    memset(s->bias, 0, (size_t)m->na * sizeof *s->bias);
    for (int32_t k = 0; k < m->np; ++k) memset(&s->acc[m->prescribed[k]], 0, sizeof *s->acc);

    for (int32_t k = 0; k < s->nloop; ++k) {
        skel__rows *rows = &s->loop_rows[k];
        skel__rows_of(s, x, s->loop_joint[k], rows);
        for (int r = 0; r < rows->count; ++r, ++row)
            find_response(s, row, &m->joint[s->loop_joint[k]], rows->ga + 6 * r, rows->gb + 6 * r);
    }
}

/* Right side of row r of joint j. */
static double target(const skel_state *s, const skel__kin *x, const skel__joint *j,
                     const skel__rows *rows, int r, skel__loop_goal goal) {
    switch (goal) {
    case SKEL__LOOP_CLOSE: return -rows->g[r];
    case SKEL__LOOP_FIT:
        return -skel__row_dot(rows->ga + 6 * r, velocity(s, x, j->a)) -
               skel__row_dot(rows->gb + 6 * r, velocity(s, x, j->b));
    default: return rows->gamma[r];
    }
}

/* G Z and target - G a0, scaled by the mobilities of the rows. Returns the largest |target|. */
static double assemble(skel_state *s, const skel__kin *x, const skel__twist *base,
                       skel__loop_goal goal) {
    const skel_model *m = s->m;
    const size_t nb = (size_t)m->na;
    double worst = 0;
    int32_t row = 0;
    for (int32_t k = 0; k < s->nloop; ++k) {
        const skel__joint *j = &m->joint[s->loop_joint[k]];
        const skel__rows *g = &s->loop_rows[k];
        for (int r = 0; r < g->count; ++r, ++row) {
            const double *ga = g->ga + 6 * r, *gb = g->gb + 6 * r;
            const double want = target(s, x, j, g, r, goal);
            double have = 0;
            if (j->a >= 0) have += skel__row_dot(ga, base[j->a]);
            if (j->b >= 0) have += skel__row_dot(gb, base[j->b]);

            /* Row of G Z. */
            for (int32_t c = 0; c < s->nr; ++c) {
                const skel__twist *z = s->loop_response + (size_t)c * nb;
                double sum = 0;
                if (skel__is_dynamic(m, j->a)) sum += skel__row_dot(ga, z[j->a]);
                if (skel__is_dynamic(m, j->b)) sum += skel__row_dot(gb, z[j->b]);
                s->loop_system[row * s->nr + c] = sum * s->loop_scale[row] * s->loop_scale[c];
            }

            s->loop_mu[row] = (want - have) * s->loop_scale[row];
            worst = fmax(worst, fabs(want));
        }
    }
    return worst;
}

/* Solves a x = b for the symmetric positive semidefinite a = loop_system and b = loop_mu, by
   elimination with symmetric pivoting. Rows whose pivot is below LOOP_PIVOT_MIN are omitted. The
   result replaces loop_mu, without the scaling. */
static void solve_semidefinite(skel_state *s) {
    const int32_t n = s->nr;
    double *a = s->loop_system, *b = s->loop_mu, *x = s->loop_x;
    int32_t *order = s->loop_order, rank = 0;
    memset(x, 0, (size_t)n * sizeof *x);
    for (int32_t k = 0; k < n; ++k) order[k] = k;

    for (; rank < n; ++rank) {
        /* The largest remaining diagonal element is the pivot. */
        int32_t best = rank;
        for (int32_t k = rank + 1; k < n; ++k)
            if (a[order[k] * n + order[k]] > a[order[best] * n + order[best]]) best = k;
        const int32_t p = order[best];
        order[best] = order[rank];
        order[rank] = p;
        const double d = a[p * n + p];
        if (!(d > LOOP_PIVOT_MIN)) break;

        /* Eliminate it from the remaining rows. */
        for (int32_t k = rank + 1; k < n; ++k) {
            const int32_t r = order[k];
            const double f = a[r * n + p] / d;
            for (int32_t e = rank + 1; e < n; ++e) a[r * n + order[e]] -= f * a[p * n + order[e]];
            b[r] -= f * b[p];
        }
    }
    s->loop_rank = rank;

    /* Back substitution. */
    for (int32_t k = rank - 1; k >= 0; --k) {
        const int32_t p = order[k];
        double sum = b[p];
        for (int32_t e = k + 1; e < rank; ++e) sum -= a[p * n + order[e]] * x[order[e]];
        x[p] = sum / a[p * n + p];
    }

    for (int32_t k = 0; k < n; ++k) b[k] = x[k] * s->loop_scale[k];
}

/* Adds the wrenches G^T mu of the loops to the applied forces. */
static void add_wrenches(skel_state *s) {
    const skel_model *m = s->m;
    int32_t row = 0;
    for (int32_t k = 0; k < s->nloop; ++k) {
        const skel__joint *j = &m->joint[s->loop_joint[k]];
        const skel__rows *g = &s->loop_rows[k];
        skel__wrench on[2] = {{{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};

        /* Sum over the rows, on the bodies a and b. */
        for (int r = 0; r < g->count; ++r, ++row) {
            const double *side[2] = {g->ga + 6 * r, g->gb + 6 * r};
            for (int e = 0; e < 2; ++e) {
                on[e].f = v3_mad(on[e].f, s->loop_mu[row], v3_of(side[e]));
                on[e].n = v3_mad(on[e].n, s->loop_mu[row], v3_of(side[e] + 3));
            }
        }

        const int32_t ends[2] = {j->a, j->b};
        for (int e = 0; e < 2; ++e) {
            skel__wrench *f = &s->f[ends[e]];
            s->loop_wrench[2 * k + e] = on[e];
            *f = (skel__wrench){v3_add(f->f, on[e].f), v3_add(f->n, on[e].n)};
        }
    }
}

int32_t skel__loop_implied(const skel_state *s, int32_t loop) {
    int32_t first = 0, count = 0;
    for (int32_t k = 0; k < loop; ++k) first += s->loop_rows[k].count;
    for (int32_t k = s->loop_rank; k < s->nr; ++k)
        count += s->loop_order[k] >= first && s->loop_order[k] < first + s->loop_rows[loop].count;
    return count;
}

double skel__loops_solve(skel_state *s, const skel__kin *x, skel__loop_goal goal) {
    const skel_model *m = s->m;
    const size_t nb = (size_t)m->na;
    skel__twist *base = s->loop_base;

    /* Keep a0 and the applied forces; s->reaction is free to hold the latter. */
    memcpy(base, s->acc, nb * sizeof *base);
    memcpy(s->reaction, s->f, nb * sizeof *s->f);

    find_responses(s, x);
    const double worst = assemble(s, x, base, goal);
    solve_semidefinite(s);

    /* a = a0 + Z mu. */
    memcpy(s->acc, base, nb * sizeof *base);
    memcpy(s->f, s->reaction, nb * sizeof *s->f);
    for (int32_t c = 0; c < s->nr; ++c)
        for (int32_t k = 0; k < m->nd; ++k) {
            const int32_t i = m->order[k];
            const skel__twist *z = s->loop_response + (size_t)c * nb + i;
            s->acc[i].v = v3_mad(s->acc[i].v, s->loop_mu[c], z->v);
            s->acc[i].w = v3_mad(s->acc[i].w, s->loop_mu[c], z->w);
        }

    add_wrenches(s);
    return goal == SKEL__LOOP_ACCELERATE ? 0 : worst;
}
