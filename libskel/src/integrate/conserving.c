/* SPDX-License-Identifier: BSD-3-Clause */
/* The energy-momentum step: implicit, second order, in maximal coordinates. Unknowns are
   the mean velocities v, W and the joint impulses; bars are means of start and end:
     p1 = p0 + h v,   R1 = R0 cay(h W),   g(end) = 0,
     2 m (v - v0) = J,   2 I W = R0^T pi0 + R1^T (pi0 + J_ang),   v1 = v0 + J/m,  pi1 = pi0 + J_ang.
   Linear and angular momentum change by the impulses alone, the kinetic energy by w.J_ang + v.J,
   and closed joints do no work (conserving_joint.c): energy is kept to rounding at any step.
   Newton on the tree (treelu.h); the factors are kept while they serve; a step that does not
   converge is halved. Angular equation in world axes: 2 R1 I W - R1 R0^T pi0 - pi0 - J_ang = 0. */
#include "integrate/conserving.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "base/clock.h"
#include "math/dense.h"
#include "integrate/impact.h"
#include "integrate/integrator.h"

#include <string.h>

#define NEWTON_MAX 16
#define NEWTON_WARY_MAX 40 /* with contacts and stops */
#define LEAST_SHARE 0.05   /* of a correction; a smaller one gets nowhere */
#define HALVINGS_MAX 12
#define HITS_MAX 2000      /* in one step; beyond, it goes on through what it hits */
#define CLOSED 1e-14       /* of size and of a radian: good enough at once */
#define CLOSED_STILL 2e-12 /* good enough when it no longer improves */
#define STIFF 1e-9         /* likewise where contacts are so stiff that rounding moves them */
#define CLOSE 1e-3         /* of size and of a radian: a last correction so small */
#define ENOUGH 4e-14       /* of the energy of a fall: an error that no receipt shows */
#define STILL_ENOUGH 3e-12 /* likewise when it no longer improves */
#define ROUNDED 1e-16      /* of positions, by which their rounding may move bodies */
#define BLURS 30.0         /* times that: good enough when it no longer improves */
#define GUESSES_MAX 6      /* of which stops push and places slip, for one correction */
#define NOISE 1e-9         /* of what gravity does in the step: imbalances not worth a search */
#define LEFT 1e-11         /* a next correction beyond that calls for new factors */
#define REBUILD 1e-4       /* a first correction beyond that, likewise */
#define FAST 1e-3          /* a rate that is sure to be squared */
#define HOPELESS 1e4
#define BALANCED 1e-5  /* of the energies of a step: a wrong root misses by all of them */
#define ELSEWHERE 1e-2 /* of size and of a radian: farther a pin does not reach */
#define SOFT 1e-9      /* added to the loops' system, in units of free bodies' mobility */
#define SOFTER 1e-12   /* second try: near a singular pose rows are weak without being implied */

/* ---- memory ---- */

/* Bodies whose joint is not through a point, or that hang by springs. */
static int needs_full(const skel_model *m, int32_t i) {
    const skel__body *b = &m->body[i];
    return b->host >= 0 || (b->joint >= 0 && m->joint[b->joint].type == SKEL_JOINT_SLIDE);
}

static size_t full_count(const skel_model *m) {
    size_t count = 0;
    for (int32_t k = 0; k < m->nd; ++k) count += (size_t)needs_full(m, m->order[k]);
    return count;
}

static size_t layout(const skel_model *m, void *base, skel__conserving **out) {
    const size_t nb = (size_t)m->na, nj = (size_t)(m->nj + m->npin);
    const size_t nl = (size_t)(m->nl + m->npin);
    const size_t nr = (size_t)skel__loop_row_count(m);
    skel__carver c = {base, 0};
    skel__conserving *em = skel__carve(&c, 1, sizeof *em);
    skel__conserving at = {0};
    at.vbar = skel__carve_with_world(&c, nb, sizeof *at.vbar);
    at.w = skel__carve_with_world(&c, nb, sizeof *at.w);
    for (int k = 0; k < SKEL__CONSERVING_HISTORY; ++k) {
        at.w_past[k] = skel__carve(&c, nb, sizeof(v3));
        at.v_past[k] = skel__carve(&c, nb, sizeof(v3));
        at.l_past[k] = skel__carve(&c, 6 * nj, sizeof(double));
    }
    at.w_step = skel__carve(&c, nb, sizeof *at.w_step);
    at.half_before = skel__carve(&c, nb, sizeof *at.half_before);
    at.lever0 = skel__carve(&c, 2 * nb, sizeof *at.lever0);
    at.p1 = skel__carve_with_world(&c, nb, sizeof *at.p1);
    at.q1 = skel__carve_with_world(&c, nb, sizeof *at.q1);
    at.r1 = skel__carve_with_world(&c, nb, sizeof *at.r1);
    at.pi0 = skel__carve(&c, nb, sizeof *at.pi0);
    at.jl = skel__carve_with_world(&c, nb, sizeof *at.jl);
    at.ja = skel__carve_with_world(&c, nb, sizeof *at.ja);
    at.lambda = skel__carve(&c, 6 * nj, sizeof(double));
    at.guess = skel__carve(&c, 4 * (size_t)m->nj, sizeof *at.guess);
    at.gradient = skel__carve(&c, 2 * (size_t)m->nj, sizeof *at.gradient);
    at.joint = skel__carve(&c, nj, sizeof *at.joint);
    at.load = skel__carve(&c, nb, sizeof *at.load);
    at.start = skel__carve(&c, nj, sizeof *at.start);
    at.friction = skel__carve(&c, nj, sizeof *at.friction);
    at.lu = skel__carve(&c, nb, sizeof *at.lu);
    at.full = skel__carve(&c, full_count(m), sizeof *at.full);
    at.rho = skel__carve(&c, 6 * nb, sizeof(double));
    at.gamma = skel__carve(&c, 6 * nb, sizeof(double));
    at.y = skel__carve(&c, 6 * nb, sizeof(double));
    at.dl = skel__carve(&c, 6 * nb, sizeof(double));
    at.loop = skel__carve(&c, nl, sizeof *at.loop);
    at.zy = skel__carve(&c, nr * 6 * nb, sizeof(double));
    at.zl = skel__carve(&c, nr * 6 * nb, sizeof(double));
    at.schur = skel__carve(&c, nr * nr, sizeof(double));
    at.mu = skel__carve(&c, nr, sizeof(double));
    at.scale = skel__carve(&c, nr, sizeof(double));
    at.contact = skel__carve(&c, (size_t)m->ncand, sizeof *at.contact);
    at.slipped = skel__carve(&c, (size_t)m->ncand, sizeof *at.slipped);
    at.stored_energy_end = skel__carve(&c, (size_t)m->ncand, sizeof(double));
    at.internal_end = skel__carve(&c, (size_t)m->ninternal, sizeof(double));
    const size_t pairs = 3 * (size_t)skel__conserving_pair_capacity(m);
    at.pair_capacity = (int32_t)pairs / 3;
    at.pair = skel__carve(&c, pairs / 3, sizeof *at.pair);
    at.pair_y = skel__carve(&c, pairs * 6 * nb, sizeof(double));
    at.pair_l = skel__carve(&c, pairs * 6 * nb, sizeof(double));
    at.pair_a = skel__carve(&c, pairs * pairs, sizeof(double));
    at.pair_z = skel__carve(&c, pairs, sizeof(double));
    at.sleep.x = skel__carve(&c, nb, sizeof *at.sleep.x);
    at.sleep.since = -1;
    if (em) *em = at, *out = em;
    return c.used;
}

skel_status skel__conserving_reserve(skel_state *s) {
    if (s->em) return SKEL_OK;
    if (skel__integrator_attach(s) != SKEL_OK) return SKEL_E_MEMORY;
    void *block = skel__alloc(&s->m->allocator, layout(s->m, NULL, NULL));
    if (!block) return SKEL_E_MEMORY;
    layout(s->m, block, &s->em);
    skel__lu_full *full = s->em->full;
    memset(s->em->joint, 0, (size_t)(s->m->nj + s->m->npin) * sizeof *s->em->joint);
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        memset(&s->em->lu[i], 0, sizeof s->em->lu[i]);
        if (needs_full(s->m, i)) s->em->lu[i].full = full++;
    }
    skel__conserving_friction_reserve(s->m, s->em->friction);
    s->em->by = skel__sweeps_best();
    s->em->q1[-1] = q_identity();
    s->em->r1[-1] = m3_identity();
    return SKEL_OK;
}

/* ---- start of a step ---- */

/* Prescribed bodies: their end pose is known, and the mean turn that leads there. */
static void prescribe(const skel_state *s, double h) {
    skel__conserving *em = s->em;
    for (int32_t k = 0; k < s->m->np; ++k) {
        const int32_t i = s->m->prescribed[k];
        skel__motion m = {.x = {s->x[i].p, s->x[i].q}};
        if (!s->m->body[i].is_held)
            m = skel__prescribed_motion(&s->m->body[i], s->t + h, SKEL__BEFORE);
        const quat d = q_mul(q_conj(s->x[i].q), m.x.q); /* ~ (1, h W / 2) */
        em->p1[i] = m.x.p;
        em->q1[i] = m.x.q;
        em->r1[i] = q_matrix(m.x.q);
        em->vbar[i] = v3_scale(v3_sub(m.x.p, s->x[i].p), 1.0 / h);
        em->w[i] = v3_scale(q_vec(d), 2.0 / (d.w * h));
    }
}

/* From the last values a, b, c, newest first, with equal steps between: n of them are known. Mean
   velocities and impulses run straight but for a part that changes sign with every step, which
   steps of this kind carry along: three of them give both. */
static double next_of(int n, double a, double b, double c) {
    return n >= 3 ? a + b - c : n == 2 ? 2.0 * a - b : a;
}
static v3 next_vector(int n, v3 a, v3 b, v3 c) {
    return (v3){next_of(n, a.x, b.x, c.x), next_of(n, a.y, b.y, c.y), next_of(n, a.z, b.z, c.z)};
}

/* Mean velocities and impulses go on as before where the last steps had this length. */
static void predict(const skel_state *s, double h, int warm) {
    const skel_model *m = s->m;
    skel__conserving *em = s->em;
    if (!warm || em->h != h) em->history = 0;
    const int n = em->history;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        em->pi0[i] = m3_mulv(s->r[i], m3_mulv(m->body[i].inertia, s->x[i].w));
        em->w[i] = s->x[i].w;
        em->vbar[i] = s->x[i].v;
        if (n > 0) em->w[i] = next_vector(n, em->w_past[0][i], em->w_past[1][i], em->w_past[2][i]);
        if (n > 2)
            em->vbar[i] = next_vector(n, em->v_past[0][i], em->v_past[1][i], em->v_past[2][i]);
        else if (n > 0)
            em->vbar[i] = v3_add(s->x[i].v, em->half_before[i]);
    }
    /* loops: never extrapolated, a part that does nothing would grow */
    const int known = s->nloop > 0 ? 1 : n;
    for (size_t k = 0; k < 6 * (size_t)(m->nj + m->npin); ++k) {
        const double next = next_of(known, em->l_past[0][k], em->l_past[1][k], em->l_past[2][k]);
        em->lambda[k] = warm ? next * h : 0.0;
    }
    em->h = h;
}

static void remember(skel_state *s, double h) {
    const skel_model *m = s->m;
    skel__conserving *em = s->em;
    v3 *w = em->w_past[SKEL__CONSERVING_HISTORY - 1], *v = em->v_past[SKEL__CONSERVING_HISTORY - 1];
    double *l = em->l_past[SKEL__CONSERVING_HISTORY - 1];
    for (int k = SKEL__CONSERVING_HISTORY - 1; k > 0; --k) {
        em->w_past[k] = em->w_past[k - 1];
        em->v_past[k] = em->v_past[k - 1];
        em->l_past[k] = em->l_past[k - 1];
    }
    em->w_past[0] = w, em->v_past[0] = v, em->l_past[0] = l;
    memcpy(w, em->w, (size_t)m->na * sizeof *w);
    memcpy(v, em->vbar, (size_t)m->na * sizeof *v);
    for (size_t k = 0; k < 6 * (size_t)(m->nj + m->npin); ++k) l[k] = em->lambda[k] / h;
}

/* ---- equations ---- */

/* External loads are taken at the middle of the step, whatever its end. */
static void find_loads(skel_state *s, double h) {
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        s->em->load[i] = skel__load_at(&s->m->body[i], s->t + 0.5 * h);
    }
}

/* Impulses of gravity, external loads and fields. */
static void apply_loads(const skel_state *s, double h) {
    const int has_fields = skel__conserving_has_fields(s->m);
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const skel__wrench w = s->em->load[i];
        s->em->jl[i] = v3_scale(v3_mad(w.f, s->m->body[i].mass, s->m->gravity), h);
        s->em->ja[i] = v3_scale(w.n, h);
        if (has_fields) skel__conserving_field(s, s->em, i, h, &s->em->jl[i], &s->em->ja[i]);
    }
}

static void apply_wrench(skel__conserving *em, const skel_state *s, int32_t i, double sign,
                         const skel__conserving_joint *e) {
    const v3 centre = v3_scale(v3_add(s->x[i].p, em->p1[i]), 0.5);
    const v3 n = v3_add(e->torque, v3_cross(v3_sub(e->point, centre), e->force));
    em->jl[i] = v3_mad(em->jl[i], sign, e->force);
    em->ja[i] = v3_mad(em->ja[i], sign, n);
}

/* Blocks of a tree joint lie in its child's record; those of a loop in its own. */
static skel__conserving_blocks blocks_of(const skel_model *m, skel__conserving *em, int32_t joint,
                                         int32_t child) {
    const skel__joint *j = &m->joint[joint];
    skel__conserving_blocks b = {0};
    if (skel__is_dynamic(m, j->a)) b.aa = em->lu[j->a].a;
    if (skel__is_dynamic(m, j->b)) b.bb = em->lu[j->b].a;
    if (child < 0) { /* a loop: its coupling of a and b is left out of the Newton matrix */
        skel__conserving_loop *l = &em->loop[-child - 1];
        b.wa = l->wa, b.wb = l->wb, b.ga = l->ga, b.gb = l->gb;
        return b;
    }
    const int both = skel__is_dynamic(m, j->a) && skel__is_dynamic(m, j->b);
    if (!em->lu[child].full) {
        skel__lu *t = &em->lu[child];
        b.point = &t->point;
        if (both) b.turn_ab = j->reversed ? &t->kcp : &t->kpc;
        if (both) b.turn_ba = j->reversed ? &t->kpc : &t->kcp;
        return b;
    }
    skel__lu_full *t = em->lu[child].full;
    b.wa = j->reversed ? t->wb : t->wa, b.wb = j->reversed ? t->wa : t->wb;
    b.ga = j->reversed ? t->gb : t->ga, b.gb = j->reversed ? t->ga : t->gb;
    if (both) b.ab = j->reversed ? t->kba : t->kab, b.ba = j->reversed ? t->kab : t->kba;
    return b;
}

/* One joint: impulses on its bodies, what is open, and its derivatives where wanted. */
static double add_joint(skel_state *s, int32_t joint, int32_t child, double h, int build,
                        double *g) {
    const skel__joint *j = &s->m->joint[joint];
    skel__conserving *em = s->em;
    skel__conserving_joint *e = &em->joint[joint];
    skel__conserving_blocks b;
    if (build) b = blocks_of(s->m, em, joint, child);
    skel__conserving_joint_terms(s, em, joint, h, s->t + 0.5 * h, e, build ? &b : NULL);
    if (build && child >= 0) {
        skel__lu *t = &em->lu[child];
        t->r = e->rows;
        t->child = !j->reversed;
        t->is_coupled = b.is_coupled && b.turn_ab != NULL;
        if (t->full) t->full->r = e->rows, t->full->is_coupled = b.is_coupled && b.ab != NULL;
    }
    apply_wrench(em, s, j->a, 1.0, e);
    apply_wrench(em, s, j->b, -1.0, e);
    for (int k = 0; k < e->rows; ++k) g[k] = -e->g[k];
    return e->open;
}

static double add_joints(skel_state *s, double h, int build) {
    const skel_model *m = s->m;
    double open = s->em->by->add_bare_balls(s, build);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], joint = m->body[i].joint;
        if (joint < 0 || s->em->start[joint].is_bare) continue;
        const double e = add_joint(s, joint, i, h, build, s->em->gamma + 6 * (size_t)i);
        if (!(e <= open)) open = e, s->em->worst = joint;
    }
    for (int32_t k = 0; k < s->nloop; ++k) {
        const double e = add_joint(s, s->loop_joint[k], -1 - k, h, build, s->em->loop[k].g);
        if (!(e <= open)) open = e, s->em->worst = s->loop_joint[k];
    }
    return open;
}

static double equations(skel_state *s, double h, int build) {
    s->em->by->end_poses(s, h);
    apply_loads(s, h);
    if (build) s->em->by->begin_blocks(s, h);
    skel__conserving_wobbles_add(s, h, build);
    skel__conserving_contacts_add(s, h, build);
    const double open = add_joints(s, h, build);
    s->em->by->add_bodies(s);
    return open;
}

/* ---- loops: Schur complement on the tree ---- */

/* Solves (a + soft) x = b in place, in units of `scale`: rows that others imply (the out-of-plane
   ones of a planar four-bar) leave a singular; there the small diagonal keeps x near zero,
   elsewhere Newton makes good for it. */
static void solve_softly(double *a, double *b, const double *scale, double soft, int32_t n) {
    for (int32_t r = 0; r < n; ++r) {
        for (int32_t c = 0; c < n; ++c) a[r * n + c] *= scale[r] * scale[c];
        a[r * n + r] += soft;
        b[r] *= scale[r];
    }
    skel__solve(a, b, n);
    for (int32_t k = 0; k < n; ++k) b[k] *= scale[k];
}

static void add_column(const skel_model *m, double *rho, int32_t i, const double *w, int rows,
                       int k) {
    if (!skel__is_dynamic(m, i)) return;
    for (int c = 0; c < 6; ++c) rho[6 * (size_t)i + (size_t)c] += w[c * rows + k];
}

static double row_times(const skel_model *m, int32_t i, const double *g, const double *y) {
    double sum = 0;
    if (!skel__is_dynamic(m, i)) return 0;
    for (int c = 0; c < 6; ++c) sum += g[c] * y[6 * (size_t)i + (size_t)c];
    return sum;
}

/* Answers of the tree to every unit multiplier of the loops, once per factoring. */
static void answer_loops(skel_state *s, double h) {
    const skel_model *m = s->m;
    skel__conserving *em = s->em;
    const size_t n = 6 * (size_t)m->na;
    size_t at = 0;
    double *zero = em->dl; /* borrowed: no right side of the tree's own joints */
    memset(zero, 0, n * sizeof *zero);
    for (int32_t l = 0; l < s->nloop; ++l) {
        const skel__joint *j = &m->joint[s->loop_joint[l]];
        const int r = skel__joint_rows(j->type);
        for (int k = 0; k < r; ++k, ++at) {
            memset(em->y, 0, n * sizeof *em->y);
            add_column(m, em->y, j->a, em->loop[l].wa, r, k);
            add_column(m, em->y, j->b, em->loop[l].wb, r, k);
            const double speed = skel__mobility(m, j->a, em->r1[j->a], em->loop[l].ga + 6 * k) +
                                 skel__mobility(m, j->b, em->r1[j->b], em->loop[l].gb + 6 * k);
            em->scale[at] = 1.0 / sqrt(0.5 * h * speed);
            em->by->solve(m, em->lu, em->y, zero, em->zy + at * n, em->zl + at * n);
        }
    }
}

/* Multipliers of the loops from G y0 + (G Z) mu = -g, then y and lambda of the tree. */
static void close_loops(skel_state *s) {
    const skel_model *m = s->m;
    skel__conserving *em = s->em;
    const size_t n = 6 * (size_t)m->na;
    int32_t at = 0;
    for (int32_t l = 0; l < s->nloop; ++l) {
        const skel__joint *j = &m->joint[s->loop_joint[l]];
        const skel__conserving_loop *e = &em->loop[l];
        const int r = skel__joint_rows(j->type);
        for (int k = 0; k < r; ++k, ++at) {
            const double *ga = e->ga + 6 * k, *gb = e->gb + 6 * k;
            em->mu[at] = e->g[k] - row_times(m, j->a, ga, em->y) - row_times(m, j->b, gb, em->y);
            for (int32_t c = 0; c < s->nr; ++c)
                em->schur[at * s->nr + c] = row_times(m, j->a, ga, em->zy + (size_t)c * n) +
                                            row_times(m, j->b, gb, em->zy + (size_t)c * n);
        }
    }
    solve_softly(em->schur, em->mu, em->scale, em->loop_regularisation, s->nr);
    for (int32_t c = 0; c < s->nr; ++c)
        for (size_t k = 0; k < n; ++k) {
            em->y[k] += em->mu[c] * em->zy[(size_t)c * n + k];
            em->dl[k] += em->mu[c] * em->zl[(size_t)c * n + k];
        }
}

/* ---- Newton ---- */

/* Adds `share` of the multipliers of the loops. */
static void correct_loops(skel_state *s, double share) {
    const skel__conserving *em = s->em;
    int32_t at = 0;

    for (int32_t l = 0; l < s->nloop; ++l) {
        double *lambda = em->lambda + 6 * (size_t)s->loop_joint[l];
        for (int c = 0; c < skel__joint_rows(s->m->joint[s->loop_joint[l]].type); ++c)
            lambda[c] += share * em->mu[at++];
    }
}

/* Applies the correction; returns its size, lengths in units of size and distance. */
static double correct(skel_state *s, double h) {
    correct_loops(s, 1.0);
    return s->em->by->correct(s, h);
}

/* Takes `share` of the last correction back. The unknowns were changed along a straight line, so
   this is linear: the turns' own change w_step is kept, because the derivative of the Cayley map at
   the corrected point is another one, and far away it differs beyond all bounds. */
static void take_back(skel_state *s, double h, double share) {
    const skel_model *m = s->m;
    skel__conserving *em = s->em;

    correct_loops(s, -share);
    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t i = (size_t)m->order[k];
        const int32_t joint = m->body[i].joint;

        em->vbar[i] = v3_mad(em->vbar[i], -share / h, v3_of(em->y + 6 * i));
        em->w[i] = v3_mad(em->w[i], -share, em->w_step[i]);
        for (int c = 0; joint >= 0 && c < em->lu[i].r; ++c)
            em->lambda[6 * joint + c] -= share * em->dl[6 * i + (size_t)c];
    }
}

/* Whether forces set in and let go: contacts, stops, limits. */
static int is_wary(const skel_state *s) {
    return s->em->contact_count > 0 || s->m->has_joint_forces;
}

/* How far the equations are from being met. */
typedef struct unmet {
    double open;    /* joints, in units of size */
    double balance; /* momenta out of balance, and gaps as the momenta that closing them takes, both
                       weighed by the bodies' masses: an energy */
    double leak;    /* energy that the step would win or lose for it */
} unmet;

static unmet measure(const skel_state *s, double h, double open) {
    const skel_model *m = s->m;
    const skel__conserving *em = s->em;
    unmet u = {open, 0, 0};
    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t i = (size_t)m->order[k];
        const skel__body *b = &m->body[i];
        const v3 spin = m3_mulv(s->r[i], em->w[i]);
        const double *rho = em->rho + 6 * i;
        u.balance += skel__mobility(m, (int32_t)i, em->r1[i], rho);
        u.leak += v3_dot(v3_of(rho), em->vbar[i]) + v3_dot(v3_of(rho + 3), spin);
        if (b->joint < 0) continue;
        const int32_t type = m->joint[b->joint].type;
        const int first = type == SKEL_JOINT_SLIDE ? 2 : 3, rows = skel__joint_rows(type);
        const double mean = m3_trace(b->inertia) / 3.0;
        for (int r = 0; r < rows; ++r) {
            const double rate = em->gamma[6 * i + (size_t)r] / h;
            u.balance += (r < first ? b->mass : mean) * rate * rate;
        }
    }
    u.leak = fabs(u.leak) + u.balance;
    return u;
}

/* ---- stops ---- */

/* What a correction does to coordinate k of a joint. */
static double correction_of(const skel_state *s, int32_t joint, int k) {
    const skel__joint *j = &s->m->joint[joint];
    v3 turn = {0, 0, 0};
    if (skel__is_dynamic(s->m, j->b)) turn = v3_of(s->em->y + 6 * (size_t)j->b + 3);
    if (skel__is_dynamic(s->m, j->a)) turn = v3_sub(turn, v3_of(s->em->y + 6 * (size_t)j->a + 3));
    return v3_dot(turn, s->em->gradient[2 * joint + k]);
}

/* Stops are to push where they do after the correction: how many were supposed to do otherwise. */
static int guess_stops(skel_state *s) {
    int count = 0;
    for (int32_t e = 0; s->m->nstop > 0 && e < 4 * s->m->nj; ++e) {
        skel__stop_prediction *g = &s->em->guess[e];
        if (!g->is_used || g->on == 2) continue;
        const double way = correction_of(s, e / 4, e % 4 / 2) * (e % 2 ? 1.0 : -1.0);
        const int on = g->push + g->slope * way > 0;
        count += on != g->on;
        g->on = on;
    }
    return count;
}

/* Stops of which the law itself says something else than was supposed go by it from now on. */
static int settle_stops(skel_state *s) {
    int count = 0;
    for (int32_t e = 0; s->m->nstop > 0 && e < 4 * s->m->nj; ++e) {
        skel__stop_prediction *g = &s->em->guess[e];
        if (!g->is_used || g->is_right) continue;
        g->on = 2, ++count;
    }
    return count;
}

static void forget_stops(skel_state *s) {
    for (int32_t e = 0; s->m->nstop > 0 && e < 4 * s->m->nj; ++e)
        s->em->guess[e] = (skel__stop_prediction){.on = -1};
}

/* ---- Newton's course ---- */

typedef struct course {
    int it, have;              /* corrections so far; factors of the tree */
    int is_exact;              /* the last correction was by the derivatives of its equations */
    double size, rate, before; /* of the last correction, of it to the one before; last `now` */
    double share, balance;     /* of the correction that was taken; imbalance before it */
    double unit;               /* an energy of the scene */
    double blur;               /* turns that the rounding of positions makes */
    int guesses;               /* of stops and places, for the correction at hand */
} course;

/* Whether the equations are met: the joints closed, and the next correction would be rounding, or
   no longer gets better. Where forces set in and let go, it is enough that no receipt shows it. */
static int is_met(const course *c, int wary, unmet u) {
    const double now = fmax(u.open, c->size);
    if (c->it == 0 || c->share != 1.0) return 0;
    /* by the very derivatives the rate is squared with every correction */
    const double sure = c->size * c->rate * (c->is_exact && c->rate < FAST ? c->rate : 1.0);
    if (u.open <= CLOSED && sure <= fmax((c->rate < 1.0 ? 0.1 : 1.0) * CLOSED, c->blur)) return 1;
    /* corrections shrink as the imbalance does */
    const double next = c->size * fmin(c->rate, sqrt(u.balance / c->balance));
    const double near = u.leak <= ENOUGH * c->unit ? CLOSED_STILL : 2.0 * CLOSED;
    if (wary && u.open <= CLOSED && next <= fmax(near, c->blur)) return 1;
    const double most = c->it < 10   ? (u.leak <= STILL_ENOUGH * c->unit ? 0.02 * STIFF : 0)
                        : c->it < 14 ? 0.1 * STIFF
                                     : STIFF;
    const double still = fmax(CLOSED_STILL, BLURS * c->blur);
    const int fine = (u.open <= CLOSED_STILL && c->size <= still) ||
                     (wary && u.open <= CLOSED_STILL && c->size <= most);
    return c->it > 1 && fine && now > 0.3 * c->before;
}

/* Positions far from the origin are rounded: what that may turn a body by, of levers of the model's
   size. Nothing within some ten sizes of the origin, where CLOSED is more. */
static double blur_of(const skel_state *s) {
    double far = 0;
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const v3 p = s->x[s->m->order[k]].p;
        far = fmax(far, fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))));
    }
    const double blur = ROUNDED * far / s->m->length_scale;
    return blur > 0.1 * CLOSED ? blur : 0;
}

/* The correction, by new factors where wanted. */
static int solve(skel_state *s, double h, int fresh) {
    skel__conserving *em = s->em;
    const int plain = s->nloop == 0 && em->pair_count == 0;
    if (fresh && plain)
        return em->by->factor_solve(s->m, em->lu, em->rho, em->gamma, em->y, em->dl);
    if (fresh && !em->by->factor(s->m, em->lu)) return 0;
    if (fresh && s->nloop > 0) answer_loops(s, h);
    if (fresh && em->pair_count > 0) skel__conserving_pairs_answer(s, h);
    em->by->solve(s->m, em->lu, em->rho, em->gamma, em->y, em->dl);
    if (s->nloop > 0) close_loops(s);
    if (em->pair_count > 0) skel__conserving_pairs_close(s);
    return 1;
}

/* Fills em for the step of length h; nothing of s->x is touched. Returns 0 without convergence.
   Where contacts and stops set in or let go, a correction may overshoot: then it is taken back by
   halves until the balance is better than before. */
static int newton(skel_state *s, double h) {
    skel__conserving *em = s->em;
    const int wary = is_wary(s), most = wary ? NEWTON_WARY_MAX : NEWTON_MAX;
    course c = {.size = INFINITY, .rate = 1, .before = INFINITY, .share = 1};
    const int plain = !wary && s->nloop == 0 && s->m->nw == 0 && s->m->nf == 0;
    forget_stops(s);
    c.blur = blur_of(s);
    c.balance = INFINITY;
    c.unit = s->m->weight * s->m->contact_length;
    /* Imbalances: those of gravity, and of velocities that are all rounding of positions. */
    const double shaken = c.blur * s->m->length_scale / h;
    const double noise =
        s->m->weight * (NOISE * s->m->gravity_norm * h * h + shaken * shaken / s->m->gravity_norm);
    for (; c.it <= most; ++c.it) {
        em->is_close = c.size < CLOSE;
        const double open = equations(s, h, !c.have);
        em->evaluations += 1;
        const unmet u = wary ? measure(s, h, open) : (unmet){open, 0, 0};
        if (is_met(&c, wary, u)) {
            if (settle_stops(s) + skel__conserving_contacts_update_active_set(s) == 0) return 1;
            c.have = 0, c.balance = c.size = INFINITY;
            continue;
        }
        if (c.it == most || !(open < HOPELESS)) return 0;
        if (wary && u.balance > fmax(c.balance, noise) && c.share > LEAST_SHARE &&
            c.size > fmax(1e-11, c.blur)) {
            c.share *= 0.5;
            take_back(s, h, c.share);
            c.have = 0;
            continue;
        }
        c.balance = u.balance;
        c.before = fmax(open, c.size);
        if (!solve(s, h, !c.have)) return 0;
        c.is_exact = plain && !c.have;
        c.have = 1;
        if (guess_stops(s) + skel__conserving_contacts_predict(s, h) > 0 &&
            ++c.guesses < GUESSES_MAX) {
            c.have = 0, c.share = 1, c.balance = c.size = INFINITY;
            continue;
        }
        c.guesses = 0;
        const double last = c.size;
        c.share = 1;
        c.size = correct(s, h);
        skel__conserving_contacts_clear_prediction(s);
        c.rate = isfinite(last) ? fmin(c.size / last, 1.0) : 1.0;
        if (!(c.size < HOPELESS)) return 0;
        if (c.size * c.rate > LEFT && (c.it > 0 || c.size > REBUILD)) c.have = 0;
    }
    return 0;
}

/* ---- end of a step ---- */

/* Work and impulse of what the joint does to an anchor (world, fixed or driven). */
static void account_anchor(const skel_state *s, int32_t i, double sign,
                           const skel__conserving_joint *e, skel__power *sum) {
    const skel__conserving *em = s->em;
    if (skel__is_dynamic(s->m, i)) return;
    const v3 centre = v3_scale(v3_add(s->x[i].p, em->p1[i]), 0.5);
    const v3 w = m3_mulv(s->r[i], em->w[i]);
    const v3 v = v3_add(em->vbar[i], v3_cross(w, v3_sub(e->point, centre)));
    sum->drive -= sign * (v3_dot(e->force, v) + v3_dot(e->torque, w));
    sum->force = v3_mad(sum->force, -sign, e->force);
    sum->torque = v3_mad(sum->torque, -sign, v3_add(e->torque, v3_cross(e->point, e->force)));
}

/* By the terms of the last look at the equations, which is the one that met them. */
static skel__power account(skel_state *s, double h) {
    const skel_model *m = s->m;
    skel__conserving *em = s->em;
    skel__power sum = {0};
    for (int32_t k = 0; k < m->nj + m->npin; ++k) {
        const skel__conserving_joint *e = &em->joint[k];
        if (k >= m->nj && !s->is_pinned[k - m->nj]) continue;
        if (em->start[k].is_rope) continue; /* does nothing that is accounted for */
        if (em->start[k].is_bare)
            skel__conserving_joint_terms(s, em, k, h, s->t + 0.5 * h, &em->joint[k], NULL);
        sum.motor += e->motor;
        sum.friction += e->friction;
        sum.stored += e->stored;
        account_anchor(s, m->joint[k].a, 1.0, e, &sum);
        account_anchor(s, m->joint[k].b, -1.0, e, &sum);
    }
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__body *b = &m->body[i];
        const v3 centre = v3_scale(v3_add(s->x[i].p, em->p1[i]), 0.5);
        const skel__wrench w = em->load[i];
        v3 f = v3_scale(w.f, h), n = v3_scale(w.n, h);
        if (skel__conserving_has_fields(m)) skel__conserving_field(s, em, i, h, &f, &n);
        const v3 all = v3_mad(f, h * b->mass, m->gravity);
        sum.load += v3_dot(f, em->vbar[i]) + v3_dot(n, m3_mulv(s->r[i], em->w[i]));
        sum.force = v3_add(sum.force, all);
        sum.torque = v3_add(sum.torque, v3_add(n, v3_cross(centre, all)));
    }
    skel__conserving_wobbles_account(s, h, &sum);
    skel__conserving_contacts_account(s, h, &sum);
    return sum;
}

/* Whether the change of energy is the work done, as it is for every solution of the equations.
   Where not, Newton stopped at a turn of nearly half a circle: W is lost in rounding there. */
static int is_balanced(const skel_state *s, const skel__power *work) {
    const skel_model *m = s->m;
    const skel__conserving *em = s->em;
    const double done =
        work->motor + work->friction + work->load + work->drive + work->contact - work->stored;
    const double rest =
        1e-6 * m->length_scale * (v3_norm(m->gravity) + m->length_scale); /* per mass */
    double gain = 0, size = fabs(work->motor) + fabs(work->friction) + fabs(work->load) +
                            fabs(work->drive) + fabs(work->contact) + fabs(work->stored);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__body *b = &m->body[i];
        const skel__kin *x = &s->x[i];
        const v3 v1 = v3_mad(x->v, 1.0 / b->mass, em->jl[i]);
        const v3 l1 = m3_tmulv(em->r1[i], v3_add(em->pi0[i], em->ja[i]));
        const double k0 = b->mass * v3_dot(x->v, x->v) + v3_dot(x->w, m3_mulv(b->inertia, x->w));
        const double k1 = b->mass * v3_dot(v1, v1) + v3_dot(l1, m3_mulv(b->inertia_inverse, l1));
        const v3 move = v3_mad(x->v, 0.5 / b->mass, em->jl[i]); /* mean velocity */
        const double fall = em->h * b->mass * v3_dot(m->gravity, move);
        gain += 0.5 * (k1 - k0) - fall;
        size += k0 + k1 + fabs(fall) + b->mass * rest;
    }
    return fabs(gain - done) <= BALANCED * size;
}

static void note_stops(skel_state *s) {
    s->stops_near_count = 0;
    for (int32_t k = 0; s->m->nstop > 0 && k < s->m->nj; ++k) {
        const skel__conserving_joint *j = &s->em->joint[k];
        if (s->em->start[k].is_bare) continue;
        s->stops_near_count += j->is_near;
        for (int e = 0; e < 4; ++e)
            if (j->caught >> e & 1)
                skel__stop_note_caught(s, skel__stop_event(s->m, k, e / 2, e % 2));
    }
}

/* Momenta change by the impulses as they stand: their sums are exact whatever Newton left over. */
static void commit(skel_state *s, double h, const skel__power *work) {
    const skel_model *m = s->m;
    skel__conserving *em = s->em;
    skel__power_add(&s->sum, 1.0, work);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__body *b = &m->body[i];
        const v3 half = v3_scale(em->jl[i], 0.5 / b->mass);
        skel__kin *x = &s->x[i];
        const v3 pi = v3_add(em->pi0[i], em->ja[i]);
        em->half_before[i] = half;
        /* Joints close by the poses. What hangs on no point of another body goes by its impulses,
           unless stiff contacts leave rounding in those. */
        const int hangs = b->joint >= 0 && !em->lu[i].full;
        x->p = hangs || is_wary(s) ? em->p1[i] : v3_mad(x->p, h, v3_add(x->v, half));
        x->v = v3_mad(x->v, 2.0, half);
        x->q = em->q1[i];
        x->w = m3_mulv(b->inertia_inverse, m3_tmulv(em->r1[i], pi));
    }
    remember(s, h);
    for (int32_t k = 0; k < m->ninternal; ++k) s->internal[k] = em->internal_end[k];
    ++em->history;
    s->t += h;
    note_stops(s);
    s->is_factored = 0;
    skel__prescribe(s, s->x, s->t, SKEL__BEFORE); /* a jolt here is the next step's */
    if (m->ncand > 0) skel__conserving_contacts_end(s);
    if (s->ground_force > s->ground_force_peak) {
        s->ground_force_peak = s->ground_force;
        s->ground_force_peak_time = s->t - 0.5 * h;
    }
}

/* One try; a failure is tried again from a cold start (and, with loops, with a harder diagonal)
   before the step is called too long. */
static int try_step(skel_state *s, double h) {
    skel__conserving *em = s->em;
    const int tries = s->nloop > 0 ? 3 : 2;
    skel__prepare(s, s->x);
    if (em->found != h) skel__conserving_contacts_find(s, h);
    em->found = 0;
    find_loads(s, h);
    s->em->by->start_levers(s);
    skel__conserving_joints_begin(s, h);
    for (int k = em->history > 0 ? 0 : 1; k < tries; ++k) {
        em->loop_regularisation = k < 2 ? SOFT : SOFTER;
        prescribe(s, h);
        predict(s, h, k == 0);
        skel__conserving_contacts_begin(s, h);
        if (newton(s, h)) {
            skel__conserving_friction_refine(s);
            const skel__power work = account(s, h);
            if (is_balanced(s, &work)) {
                commit(s, h, &work);
                return 1;
            }
        }
        em->history = 0;
    }
    return 0;
}

/* ---- pins ---- */

/* A pin to a curve that runs elsewhere: the body cannot be there at once. Its index, or -1. */
static int32_t pinned_elsewhere(const skel_state *s) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->npin; ++k) {
        const skel__kin *at = &s->x[m->nb + k], *x = &s->x[m->pin[k]];
        if (!s->is_pinned[k]) continue;
        const double turn = v3_norm(q_log(q_mul(q_conj(at->q), x->q)));
        if (v3_norm(v3_sub(at->p, x->p)) > ELSEWHERE * m->length_scale || turn > ELSEWHERE)
            return m->pin[k];
    }
    return -1;
}

/* Contacts are followed closely while they hit. Powers of two of the whole, as far as can be: steps
   of one length go by what the last one found. */
static double shortened(skel_state *s, double way, double whole) {
    if (s->m->ncand == 0) return way;
    skel__prepare(s, s->x);
    const double limit = skel__conserving_contacts_find(s, way);
    double next = whole;
    if (way <= 1.0001 * limit) return way;
    while (next > limit && next > whole / (1 << HALVINGS_MAX)) next *= 0.5;
    return next;
}

static int step_fn(skel_state *s, double h, void *data) {
    (void)data;
    return try_step(s, h);
}

/* A substep of length `way`, or less where it hits something; impulses follow in both cases. */
static int step_on(skel_state *s, double way, double *done) {
    *done = way;
    if (s->em->substep.hits > HITS_MAX) return try_step(s, way);
    return skel__step_until_impact(s, way, step_fn, NULL, done);
}

/* On to the end of what is under way: shorter where a contact is followed, halved where Newton
   fails. Where there is a deadline, at least one part is done. */
static skel_status step_within(skel_state *s) {
    skel__conserving_substep *on = &s->em->substep;
    const double h = on->whole, shortest = h / (1 << HALVINGS_MAX), end = on->end;
    for (int n = 0; s->t < end - 1e-3 * shortest; ++n) {
        if (n > 0 && s->run->deadline < INFINITY && skel__now_ms() >= s->run->deadline)
            return SKEL_MORE;
        const double left = end - s->t;
        double way = fmin(shortened(s, fmin(on->length, left), h), left), done;
        if (left < 1.5 * way) way = left; /* no crumbs */
        if (step_on(s, way, &done)) {
            skel__muscle_remember(s);
            if (skel__impacts(s) > 0) s->em->history = 0;
            on->hits += done < way;
            on->length = fmin(2.0 * fmax(on->length, way), h);
        } else {
            on->length = 0.5 * way;
            s->em->rejected += 1;
            if (on->length < shortest) return SKEL_E_DIVERGED;
        }
    }
    s->t = end;
    return SKEL_OK;
}

void skel__conserving_forget(skel_state *s) {
    if (s->em) s->em->history = 0;
}

int32_t skel__conserving_switch(skel_state *s) {
    s->em->history = 0;
    return pinned_elsewhere(s);
}

skel_status skel__step_conserving(skel_state *s, double h, int32_t *body) {
    *body = -1;
    if (!s->em->substep.is_on && skel__conserving_is_asleep(s)) {
        s->t += h;
        return SKEL_OK;
    }
    s->em->sleep.since = -1;
    skel_status status = skel__follow_prepare(s);
    if (!s->em->substep.is_on) {
        s->em->substep = (skel__conserving_substep){1, h, s->t + h, h, 0};
        skel__stops_make_inelastic(s);
        if (skel__impacts(s) > 0) s->em->history = 0;
    }
    if (status == SKEL_OK) status = step_within(s);
    s->em->substep.is_on = status == SKEL_MORE;
    if (status != SKEL_OK) return status;
    *body = skel__first_not_finite(s);
    if (*body >= 0) return SKEL_E_DIVERGED;
    skel__conserving_sleep_watch(s);
    return SKEL_OK;
}

const char *skel__conserving_worst(const skel_state *s) {
    return s->m->nj + s->m->npin > 0 ? s->m->joint[s->em->worst].name : s->m->body[0].name;
}

void skel__conserving_counts(const skel_state *s, double *rejected, double *evaluations) {
    if (!s->em || s->em->evaluations == 0) return;
    *rejected = s->em->rejected;
    *evaluations = s->em->evaluations;
}
