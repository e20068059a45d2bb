/* SPDX-License-Identifier: BSD-3-Clause */
/* Contact forces of a known motion. The motion of a skeleton with a free root gives six equations:
   the contacts must exert the wrench r on it that its motion requires beyond all other forces. With
     f    the forces of all contacts,
     G    the map to their wrenches on the free roots (torques divided by a length L),
     K    the friction cones |f_t| <= mu f_n,
     f0   the forces of the contact law (contact_loads.c) for the penetrations, the velocities and
          the tangential displacements as far as they are known,
   the forces solve
     minimise  |f - f0|^2 / 2 + |r - G f|^2 / (2 eps)   over  f in K,   eps -> 0:
   of all forces with the smallest residual they are the nearest to the law. The dual problem is
   convex, once differentiable and unconstrained, with six unknowns l per free root:
     minimise  |P(f0 + G^T l)|^2 / 2 - r.l + eps |l - c|^2 / 2,   f = P(f0 + G^T l),
   where P is the projection onto K. It is solved by Newton's method with the generalised derivative
   of P. The linear systems are solved by conjugate gradients, with the 6 x 6 blocks of the roots as
   preconditioner, which is exact for one skeleton alone. The proximal iteration starts with c = 0
   and continues with c = l; afterwards eps has no influence where a solution without residual
   exists. */
#include "dynamics/inverse.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "math/dense.h"

#include <float.h>
#include <string.h>

#define INVERSE_EPS 1e-6
#define INVERSE_PROXIMAL_STEPS 3
#define INVERSE_NEWTON_STEPS_MAX 60
#define INVERSE_NEWTON_TOL 1e-13 /* relative to the forces */
#define INVERSE_SOLVED_TOL 1e-9  /* relative to the forces: a larger gradient gives a warning */
#define INVERSE_SEARCH_STEPS_MAX 40
#define INVERSE_SEARCH_SLOPE 0.5 /* relative to the slope at the start */
#define INVERSE_CG_TOL 1e-12
#define INVERSE_ROUNDING (64 * DBL_EPSILON)
#define INVERSE_RIGID_GAP 1e-6   /* relative to contact_length: still rests on a rigid ground */
#define INVERSE_STICK_RATIO 0.99 /* tangential force / friction cone: below, the contact sticks */

/* ---- memory ---- */

static size_t layout(const skel_model *m, int32_t capacity, void *base, skel__contacts **out) {
    const size_t nd = (size_t)m->nd, n = 6 * nd;
    skel__carver c = {base, 0};
    skel__contacts at = {.capacity = capacity};

    *out = skel__carve(&c, 1, sizeof **out);
    at.at = skel__carve(&c, (size_t)capacity, sizeof *at.at);
    at.block = skel__carve(&c, (size_t)m->nb, sizeof *at.block);
    at.root = skel__carve(&c, nd, sizeof *at.root);
    at.need = skel__carve(&c, n, sizeof(double));
    at.multiplier = skel__carve(&c, n, sizeof(double));
    at.trial = skel__carve(&c, n, sizeof(double));
    at.centre = skel__carve(&c, n, sizeof(double));
    at.gradient = skel__carve(&c, n, sizeof(double));
    at.direction = skel__carve(&c, n, sizeof(double));
    for (int k = 0; k < 4; ++k) at.cg[k] = skel__carve(&c, n, sizeof(double));
    at.factor = skel__carve(&c, 6 * n, sizeof(double));

    if (*out) **out = at;
    return c.used;
}

skel_status skel__contacts_reserve(skel_state *s, int32_t capacity) {
    if (s->contacts) return SKEL_OK;

    skel__contacts *c = NULL;
    void *block = skel__alloc(&s->m->allocator, layout(s->m, capacity, NULL, &c));
    if (!block) return SKEL_E_MEMORY;
    layout(s->m, capacity, block, &s->contacts);
    return SKEL_OK;
}

/* ---- contacts of a pose ---- */

static int touches(const skel_model *m, int32_t candidate, double gap) {
    const int is_rigid = m->ground[m->candidate[candidate].ground].is_rigid;
    return gap < (is_rigid ? INVERSE_RIGID_GAP * m->contact_length : 0);
}

int32_t skel__contacts_touching(const skel_state *s) {
    const skel_model *m = s->m;
    skel__pair_filter scan = {0};
    int32_t count = 0;
    for (int32_t k = 0; k < m->ncand; ++k) {
        if (skel__pair_is_far(&scan, m, &m->candidate[k], s->x, 0)) continue;
        count += touches(m, k, skel__contact_point_at(s, s->x, k).gap);
    }
    return count;
}

/* Whether a pin holds a body that hangs from this free root. The forces of the pin are not known, and
   contact forces must not replace them. */
static int is_pinned(const skel_state *s, int32_t root) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->npin; ++k) {
        const skel__body *b = &m->body[m->pin[k]];
        if (b->root != root) continue;
        for (uint32_t e = 0; e < b->pinned_count; ++e)
            if (s->t >= b->pinned[2 * e] && s->t < b->pinned[2 * e + 1]) return 1;
    }
    return 0;
}

/* Block of equations of the free root that a body hangs from; -1 if there is none. */
static int32_t block_of(const skel_state *s, int32_t body) {
    skel__contacts *c = s->contacts;
    if (!skel__is_dynamic(s->m, body) || s->m->body[body].root < 0) return -1;

    const int32_t root = s->m->body[body].root;
    if (c->block[root] >= 0) return c->block[root];
    if (is_pinned(s, root)) return -1;

    c->root[c->blocks] = root;
    c->block[root] = c->blocks++;
    return c->block[root];
}

/* From the centre of mass of the block's root to the point, in units of contact_length. */
static v3 arm_of(const skel_state *s, int32_t block, v3 point) {
    if (block < 0) return (v3){0, 0, 0};
    const v3 centre = s->x[s->contacts->root[block]].p;
    return v3_scale(v3_sub(point, centre), 1.0 / s->m->contact_length);
}

/* Present tangential displacement, from the one after the previous sample: the second half of the
   trapezoidal rule (skel__contacts_remember has done the first half). For a new contact, the
   displacement since it touched down. */
static v3 bristle_at(const skel_state *s, const skel__candidate *p, const skel__contact_point *t,
                     v3 velocity) {
    const v3 before = v3_of(s->internal + p->internal);
    const double h = s->contacts->lapse, in = -v3_dot(velocity, t->normal);
    const int is_new = before.x == 0 && before.y == 0 && before.z == 0;
    const double since = in > 0 ? fmin(h, -t->gap / in) : 0;
    return v3_mad(before, is_new ? fmax(since, 0) : 0.5 * h, velocity);
}

static void gather_one(skel_state *s, int32_t candidate, const skel__contact_point *t) {
    const skel_model *m = s->m;
    const skel__candidate *p = &m->candidate[candidate];
    skel__contact *c = &s->contacts->at[s->contacts->count++];
    *c = (skel__contact){.candidate = candidate, .i = p->i, .other = skel__candidate_other(m, p)};
    c->friction = m->ground[p->ground].friction;
    c->depth = -t->gap;
    c->axis[0] = t->normal;
    c->axis[1] = v3_perpendicular(t->normal);
    c->axis[2] = v3_cross(c->axis[0], c->axis[1]);

    /* The law without displacement gives the contact point, and so the velocity there. */
    (void)skel__contact_law(s, s->x, candidate, t, (v3){0, 0, 0}, &c->point);
    c->velocity = v3_sub(skel__velocity_at(s, s->x, c->i, c->point),
                         skel__velocity_at(s, s->x, c->other, c->point));
    c->bristle = bristle_at(s, p, t, c->velocity);
    const v3 force = skel__contact_law(s, s->x, candidate, t, c->bristle, &c->point);
    for (int k = 0; k < 3; ++k) c->law[k] = v3_dot(c->axis[k], force);

    /* A force between two bodies of one skeleton does not appear in the equations of its root. */
    c->block_i = block_of(s, c->i);
    c->block_other = block_of(s, c->other);
    if (c->block_i == c->block_other) {
        c->block_i = -1;
        c->block_other = -1;
        s->contacts->is_left_out = 1;
    }
    c->arm_i = arm_of(s, c->block_i, c->point);
    c->arm_other = arm_of(s, c->block_other, c->point);
}

static void gather(skel_state *s) {
    const skel_model *m = s->m;
    skel__contacts *c = s->contacts;
    skel__pair_filter scan = {0};
    c->count = 0;
    c->blocks = 0;
    c->is_left_out = 0;
    for (int32_t i = 0; i < m->nb; ++i) c->block[i] = -1;
    for (int32_t k = 0; k < m->ncand && c->count < c->capacity; ++k) {
        if (skel__pair_is_far(&scan, m, &m->candidate[k], s->x, 0)) continue;
        const skel__contact_point t = skel__contact_point_at(s, s->x, k);
        if (touches(m, k, t.gap)) gather_one(s, k, &t);
    }
}

/* ---- friction cone ---- */

/* Projection of z onto |t| <= mu n, and its derivative unless slope is NULL. */
static void project(double mu, const double z[3], double f[3], double *slope) {
    const double t = sqrt(z[1] * z[1] + z[2] * z[2]);
    if (slope) memset(slope, 0, 9 * sizeof *slope);

    /* Inside the cone: stick. */
    if (t <= mu * z[0]) {
        memcpy(f, z, 3 * sizeof *f);
        if (slope) slope[0] = slope[4] = slope[8] = 1;
        return;
    }

    /* In the polar cone: no force. */
    for (int k = 0; k < 3; ++k) f[k] = 0;
    if (mu * t <= -z[0]) return;

    /* f = n (1, mu e), with e the tangential direction and n the projection onto (1, mu e). */
    const double share = 1.0 / (1.0 + mu * mu);
    const double e[2] = {t > 0 ? z[1] / t : 0, t > 0 ? z[2] / t : 0};
    const double along[3] = {1, mu * e[0], mu * e[1]};
    const double n = share * (z[0] + mu * t);
    for (int k = 0; k < 3; ++k) f[k] = n * along[k];
    if (!slope) return;

    /* df = along (along . dz) share + mu n / t across (across . dz), across perpendicular to e. */
    const double turn = t > 0 ? mu * n / t : 0;
    const double across[3] = {0, -e[1], e[0]};
    for (int k = 0; k < 3; ++k)
        for (int l = 0; l < 3; ++l)
            slope[3 * k + l] = share * along[k] * along[l] + turn * across[k] * across[l];
}

/* ---- products with G ---- */

/* G^T l of one contact, in its axes: l_f + l_n x arm of i, minus the same of the other body. */
static void multiply_transposed(const skel__contact *c, const double *l, double out[3]) {
    v3 u = {0, 0, 0};
    if (c->block_i >= 0) {
        const double *b = l + 6 * c->block_i;
        u = v3_add(v3_of(b), v3_cross(v3_of(b + 3), c->arm_i));
    }
    if (c->block_other >= 0) {
        const double *b = l + 6 * c->block_other;
        u = v3_sub(u, v3_add(v3_of(b), v3_cross(v3_of(b + 3), c->arm_other)));
    }
    for (int k = 0; k < 3; ++k) out[k] = v3_dot(c->axis[k], u);
}

static v3 in_world(const skel__contact *c, const double f[3]) {
    return v3_mad(v3_mad(v3_scale(c->axis[0], f[0]), f[1], c->axis[1]), f[2], c->axis[2]);
}

static void add_wrench(double *to, v3 arm, double sign, v3 f) {
    const v3 n = v3_cross(arm, f);
    v3_to(v3_mad(v3_of(to), sign, f), to);
    v3_to(v3_mad(v3_of(to + 3), sign, n), to + 3);
}

/* out += G f of one contact. */
static void add_product(const skel__contact *c, const double f[3], double *out) {
    const v3 world = in_world(c, f);
    if (c->block_i >= 0) add_wrench(out + 6 * c->block_i, c->arm_i, 1, world);
    if (c->block_other >= 0) add_wrench(out + 6 * c->block_other, c->arm_other, -1, world);
}

static double dot(const double *a, const double *b, int32_t n) {
    double sum = 0;
    for (int32_t k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

static double largest(const double *a, int32_t n) {
    double most = 0;
    for (int32_t k = 0; k < n; ++k) most = fmax(most, fabs(a[k]));
    return most;
}

/* ---- Newton's method on the dual ---- */

/* Forces and gradient eps (l - c) + G f - r at l; with_slopes: also the derivatives of P. */
static void evaluate(skel__contacts *c, const double *l, int with_slopes) {
    const int32_t n = 6 * c->blocks;
    for (int32_t k = 0; k < n; ++k) c->gradient[k] = c->weight * (l[k] - c->centre[k]) - c->need[k];
    for (int32_t k = 0; k < c->count; ++k) {
        skel__contact *at = &c->at[k];
        double z[3];
        multiply_transposed(at, l, z);
        for (int e = 0; e < 3; ++e) z[e] += at->law[e];
        project(at->friction, z, at->force, with_slopes ? at->slope : NULL);
        add_product(at, at->force, c->gradient);
    }
}

/* out = (eps + G P' G^T) x */
static void multiply(const skel__contacts *c, const double *x, double *out) {
    for (int32_t k = 0; k < 6 * c->blocks; ++k) out[k] = c->weight * x[k];
    for (int32_t k = 0; k < c->count; ++k) {
        const skel__contact *at = &c->at[k];
        double u[3], f[3];
        multiply_transposed(at, x, u);
        for (int e = 0; e < 3; ++e)
            f[e] =
                at->slope[3 * e] * u[0] + at->slope[3 * e + 1] * u[1] + at->slope[3 * e + 2] * u[2];
        add_product(at, f, out);
    }
}

/* Adds the part of a contact to the diagonal block G P' G^T of one of its roots. */
static void add_block(double *a, const skel__contact *c, v3 arm) {
    double g[3][6]; /* wrenches of unit forces along the axes */
    for (int k = 0; k < 3; ++k) {
        v3_to(c->axis[k], g[k]);
        v3_to(v3_cross(arm, c->axis[k]), g[k] + 3);
    }
    for (int row = 0; row < 6; ++row)
        for (int col = 0; col <= row; ++col)
            for (int k = 0; k < 3; ++k)
                for (int l = 0; l < 3; ++l)
                    a[6 * row + col] += g[k][row] * c->slope[3 * k + l] * g[l][col];
}

static void factor_blocks(skel__contacts *c) {
    memset(c->factor, 0, 36 * (size_t)c->blocks * sizeof *c->factor);
    for (int32_t k = 0; k < c->count; ++k) {
        const skel__contact *at = &c->at[k];
        if (at->block_i >= 0) add_block(c->factor + 36 * at->block_i, at, at->arm_i);
        if (at->block_other >= 0) add_block(c->factor + 36 * at->block_other, at, at->arm_other);
    }
    for (int32_t b = 0; b < c->blocks; ++b) {
        double *a = c->factor + 36 * b;
        for (int k = 0; k < 6; ++k) a[7 * k] += c->weight;
        skel__cholesky(a, 6); /* positive definite: eps is far above rounding errors */
    }
}

static void precondition(const skel__contacts *c, const double *x, double *out) {
    memcpy(out, x, 6 * (size_t)c->blocks * sizeof *out);
    for (int32_t b = 0; b < c->blocks; ++b)
        skel__cholesky_solve(c->factor + 36 * b, 6, out + 6 * b, 1);
}

/* direction = -H^-1 gradient by preconditioned conjugate gradients. */
static void find_direction(skel__contacts *c) {
    const int32_t n = 6 * c->blocks;
    double *x = c->direction, *r = c->cg[0], *z = c->cg[1], *p = c->cg[2], *hp = c->cg[3];

    memset(x, 0, (size_t)n * sizeof *x);
    for (int32_t k = 0; k < n; ++k) r[k] = -c->gradient[k];
    precondition(c, r, z);
    memcpy(p, z, (size_t)n * sizeof *p);
    double rz = dot(r, z, n);
    const double enough = INVERSE_CG_TOL * INVERSE_CG_TOL * rz;

    for (int32_t step = 0; step < 2 * n && rz > enough; ++step) {
        multiply(c, p, hp);
        const double curvature = dot(p, hp, n);
        if (!(curvature > 0)) break;

        const double length = rz / curvature;
        for (int32_t k = 0; k < n; ++k) x[k] += length * p[k];
        for (int32_t k = 0; k < n; ++k) r[k] -= length * hp[k];

        precondition(c, r, z);
        const double before = rz;
        rz = dot(r, z, n);
        for (int32_t k = 0; k < n; ++k) p[k] = z[k] + rz / before * p[k];
    }
}

/* Slope of the dual function along the direction after the fraction `share` of it. Forces and
   gradient are those at that point. */
static double slope_at(skel__contacts *c, double share) {
    const int32_t n = 6 * c->blocks;
    for (int32_t k = 0; k < n; ++k) c->trial[k] = c->multiplier[k] + share * c->direction[k];
    evaluate(c, c->trial, 0);
    return dot(c->gradient, c->direction, n);
}

/* Line search: along a direction the slope of a convex function grows. The full step is taken if the
   slope there is small or still negative; otherwise bisection finds a point with a small slope. */
static void search(skel__contacts *c) {
    const double enough = -INVERSE_SEARCH_SLOPE * dot(c->gradient, c->direction, 6 * c->blocks);
    double low = 0, high = 1, slope = slope_at(c, 1);

    for (int step = 0; step < INVERSE_SEARCH_STEPS_MAX && fabs(slope) > enough; ++step) {
        if (slope < 0 && high == 1 && low == 0) break;

        const double share = 0.5 * (low + high);
        slope = slope_at(c, share);
        if (slope > 0)
            high = share;
        else
            low = share;
    }
    memcpy(c->multiplier, c->trial, 6 * (size_t)c->blocks * sizeof *c->multiplier);
}

/* Returns the largest component of the gradient beyond rounding. If a residual remains, multipliers
   are large, and so are their rounding errors. */
static double newton(skel__contacts *c, double scale) {
    const int32_t n = 6 * c->blocks;
    double left = INFINITY;
    for (int step = 0; step < INVERSE_NEWTON_STEPS_MAX; ++step) {
        evaluate(c, c->multiplier, 1);
        left = largest(c->gradient, n) - INVERSE_ROUNDING * largest(c->multiplier, n);
        if (left <= INVERSE_NEWTON_TOL * scale) break;

        factor_blocks(c);
        find_direction(c);
        search(c);
    }
    return left;
}

/* Continuation: from the easy problem with eps = 1 to INVERSE_EPS, by factors of 10. Multipliers of
   equations with a residual grow as 1 / eps, the others hardly change: the start is the better one
   of the old multipliers and ten times them. Then the proximal iteration. */
static double continue_to_eps(skel__contacts *c, double scale) {
    const int32_t n = 6 * c->blocks;
    double left = 0;
    for (c->weight = 1; c->weight > 0.5 * INVERSE_EPS; c->weight *= 0.1) {
        evaluate(c, c->multiplier, 0);
        const double as_is = dot(c->gradient, c->gradient, n);
        for (int32_t k = 0; k < n; ++k) c->trial[k] = 10 * c->multiplier[k];
        evaluate(c, c->trial, 0);
        if (dot(c->gradient, c->gradient, n) < as_is)
            memcpy(c->multiplier, c->trial, (size_t)n * sizeof *c->multiplier);
        left = newton(c, scale);
    }

    c->weight = INVERSE_EPS;
    for (int k = 1; k < INVERSE_PROXIMAL_STEPS; ++k) {
        memcpy(c->centre, c->multiplier, (size_t)n * sizeof *c->centre);
        left = newton(c, scale);
    }
    return left;
}

/* ---- solution ---- */

/* r, from the reactions of the free roots. Returns the size of the forces [N]. */
static double read_needs(const skel_state *s) {
    skel__contacts *c = s->contacts;
    double scale = 0;
    for (int32_t b = 0; b < c->blocks; ++b) {
        const skel__wrench w = s->reaction[c->root[b]];
        v3_to(w.f, c->need + 6 * b);
        v3_to(v3_scale(w.n, 1.0 / s->m->contact_length), c->need + 6 * b + 3);
    }
    for (int32_t k = 0; k < c->count; ++k) scale = fmax(scale, largest(c->at[k].law, 3));
    return fmax(fmax(scale, s->m->weight), largest(c->need, 6 * c->blocks));
}

/* Adds the force to body i and its opposite to the other body, in s->f. */
static void apply(skel_state *s, const skel__contact *c) {
    const v3 f = in_world(c, c->force);
    const int32_t body[2] = {c->i, c->other};
    for (int k = 0; k < 2; ++k) {
        const int32_t i = body[k];
        if (!skel__is_dynamic(s->m, i)) continue;
        const v3 on = v3_scale(f, k ? -1 : 1);
        s->f[i].f = v3_add(s->f[i].f, on);
        s->f[i].n = v3_add(s->f[i].n, v3_cross(v3_sub(c->point, s->x[i].p), on));
    }
}

void skel__contacts_solve(skel_state *s) {
    skel__contacts *c = s->contacts;

    gather(s);
    const int32_t n = 6 * c->blocks;
    const double scale = read_needs(s);
    memset(c->multiplier, 0, (size_t)n * sizeof *c->multiplier);
    memset(c->centre, 0, (size_t)n * sizeof *c->centre);

    /* Without equations the forces are those of the law. */
    evaluate(c, c->multiplier, 0);
    double left = 0;
    if (n > 0) left = continue_to_eps(c, scale);
    c->is_solved = left <= INVERSE_SOLVED_TOL * scale;
    for (int32_t k = 0; k < c->count; ++k) apply(s, &c->at[k]);
}

v3 skel__contact_force_on(const skel__contact *c) {
    return in_world(c, c->force);
}

/* Tangential displacement xi for the next sample, without the half interval that bristle_at adds.
   k xi + e xi' = f holds for stick and slip. If the contact surely sticks, xi' is the velocity u, the
   force gives xi, and the first half of the trapezoidal rule is added. Otherwise the present xi
   relaxes toward f / k, in closed form. */
static v3 next_bristle(const skel_state *s, const skel__contact *c) {
    const skel__ground *g = &s->m->ground[s->m->candidate[c->candidate].ground];
    const double k = g->stick_k, e = skel__bristle_damping(g), h = s->contacts->lapse;
    const v3 u = v3_mad(c->velocity, -v3_dot(c->velocity, c->axis[0]), c->axis[0]);
    const v3 pull = v3_mad(in_world(c, c->force), -c->force[0], c->axis[0]);
    const v3 end = v3_scale(pull, -1.0 / k); /* the force on i is directed against xi */
    if (v3_norm(pull) < INVERSE_STICK_RATIO * c->friction * c->force[0])
        return v3_mad(v3_mad(end, -e / k, u), 0.5 * h, u);

    const v3 xi = v3_mad(end, exp(-h * k / e), v3_sub(c->bristle, end));
    return v3_mad(xi, -0.5 * h, u);
}

void skel__contacts_remember(skel_state *s) {
    const skel__contacts *c = s->contacts;
    memset(s->internal, 0, 3 * (size_t)s->m->ncand * sizeof *s->internal);
    for (int32_t k = 0; k < c->count; ++k) {
        const skel__contact *at = &c->at[k];
        if (!(s->m->ground[s->m->candidate[at->candidate].ground].stick_k > 0)) continue;
        v3_to(next_bristle(s, at), s->internal + s->m->candidate[at->candidate].internal);
    }
}
