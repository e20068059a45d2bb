/* SPDX-License-Identifier: BSD-3-Clause */
/* Articulated-body algorithm [Featherstone]: accelerations of the whole forest in O(n), world axes.
   H_i = [a b; b^T d] is the articulated inertia of the subtree of body i: wrench = H (u; alpha).
   About the common point of the joint to the tree parent p, the child moves with
     (u; alpha)_i = (u; alpha)_p + S qdd + bias,
   and the joint transmits no force along S. With h = H S and D = S^T h, the subtree seen from p has
     the inertia P = H - h D^-1 h^T,  the force F - h D^-1 S^T F - P bias     (F: applied wrench).
   Inward pass, children before parents: P and forces. Outward pass:
     qdd = D^-1 (S^T F - h^T (U_p + bias)).
   Change of the reference point: u at the point r = a_centre + alpha x r = a_centre - [r] alpha.
   The articulated inertia is made symmetric once per body. Otherwise rounding errors grow along a
   chain, and reach 8e7 in a chain of 110 balls. */
#include "dynamics/dynamics.h"

/* D = S^T H S is positive for every positive definite inertia; otherwise D^-1 does not exist. */
static int is_singular(double d) {
    return !(d > 0) || !isfinite(d);
}

/* ---- geometry ---- */

/* Levers to the common point and axes of freedom of the joint of body i. */
static void set_geometry(const skel_state *s, const skel__kin *x, int32_t i, skel__aba *t) {
    const int32_t p = s->m->body[i].parent;
    const skel__joint *j = &s->m->joint[s->m->body[i].joint];
    const m3 *ep = j->reversed ? &j->eb : &j->ea; /* frame axes in the tree parent */
    const m3 *ec = j->reversed ? &j->ea : &j->eb; /* and in the child */
    t->rc = m3_mulv(s->r[i], j->reversed ? j->fa.p : j->fb.p);
    t->rp = m3_mulv(s->r[p], j->reversed ? j->fb.p : j->fa.p);

    switch (j->type) {
    case SKEL_JOINT_FIXED:
    case SKEL_JOINT_BALL: return;
    case SKEL_JOINT_HINGE: t->s[0] = m3_mulv(s->r[p], ep->r[2]); return;
    case SKEL_JOINT_UNIVERSAL: /* outer z is fixed in a, inner x in b; either may be the parent */
        t->s[0] = m3_mulv(s->r[p], ep->r[j->reversed ? 0 : 2]);
        t->s[1] = m3_mulv(s->r[i], ec->r[j->reversed ? 2 : 0]);
        return;
    default: break;
    }

    /* The axes are fixed in the parent. If the joint has displacements, the common point is the
       child's joint point. */
    const skel__joint_motion *motion = &skel__joint_motions[j->type];
    for (int k = 0; k < skel__joint_nv(j->type); ++k)
        t->s[k] = m3_mulv(s->r[p], ep->r[motion->freedom[k].axis]);
    if (!skel__joint_kinds[j->type].is_through_point) t->rp = v3_sub(v3_add(x[i].p, t->rc), x[p].p);
}

/* Inertia of the body alone. */
static void load_inertia(const skel_state *s, int32_t i, skel__aba *t) {
    t->a = m3_diagonal(s->m->body[i].mass);
    t->b = (m3){0};
    t->d = m3_conjugate(s->r[i], s->m->body[i].inertia);
}

/* Moves H from the centre of mass to the common point: u = a - [r] alpha, so a = u + [r] alpha. */
static void shift_to_joint(skel__aba *t) {
    const m3 x = m3_skew(t->rc), ax = m3_mul(t->a, x), xb = m3_tmul(x, t->b);
    t->b = m3_add(t->b, ax);
    t->d = m3_add(t->d, m3_add(m3_add(xb, m3_transpose(xb)), m3_tmul(x, ax)));
    t->d = m3_symmetric(t->d);
}

/* Adds P, which is about the common point, to the parent's H, which is about its centre of mass. */
static void add_to_parent(const skel__aba *t, skel__aba *parent) {
    const m3 y = m3_skew(t->rp), py = m3_mul(t->pa, y), yb = m3_tmul(y, t->pb);
    parent->a = m3_add(parent->a, t->pa);
    parent->b = m3_add(parent->b, m3_sub(t->pb, py));
    parent->d =
        m3_add(parent->d, m3_sub(m3_add(t->pd, m3_tmul(y, py)), m3_add(yb, m3_transpose(yb))));
}

/* ---- factors D^-1 and P; 0 if D is singular. The common kinds have a formula of their own ---- */

static int factor_one_axis(skel__aba *t, int slides) {
    const v3 z = t->s[0];
    t->hu[0] = m3_mulv(slides ? t->a : t->b, z);
    t->hw[0] = slides ? m3_tmulv(t->b, z) : m3_mulv(t->d, z);
    const double d = v3_dot(z, slides ? t->hu[0] : t->hw[0]);
    if (is_singular(d)) return 0;

    t->dinv[0] = 1.0 / d;
    t->pa = m3_sub_outer(t->a, t->dinv[0], t->hu[0], t->hu[0]);
    t->pb = m3_sub_outer(t->b, t->dinv[0], t->hu[0], t->hw[0]);
    t->pd = m3_sub_outer(t->d, t->dinv[0], t->hw[0], t->hw[0]);
    return 1;
}

/* The sum of h_l g_l over the n columns h_l, with up to three factors g. */
static v3 combine(const v3 *h, int n, v3 g) {
    v3 sum = v3_scale(h[0], g.x);
    if (n > 1) sum = v3_mad(sum, g.y, h[1]);
    if (n > 2) sum = v3_mad(sum, g.z, h[2]);
    return sum;
}

/* P = H - h (D^-1 h^T) for n columns; gu and gw are row k of D^-1 h^T. */
static void eliminate(skel__aba *t, int n, m3 inverse) {
    t->pa = t->a;
    t->pb = t->b;
    t->pd = t->d;
    for (int k = 0; k < n; ++k) {
        const v3 gu = combine(t->hu, n, inverse.r[k]), gw = combine(t->hw, n, inverse.r[k]);
        t->pa = m3_sub_outer(t->pa, 1.0, t->hu[k], gu);
        t->pb = m3_sub_outer(t->pb, 1.0, t->hu[k], gw);
        t->pd = m3_sub_outer(t->pd, 1.0, t->hw[k], gw);
    }
    t->pa = m3_symmetric(t->pa);
    t->pd = m3_symmetric(t->pd);
}

static int factor_universal(skel__aba *t) {
    for (int k = 0; k < 2; ++k) {
        t->hu[k] = m3_mulv(t->b, t->s[k]);
        t->hw[k] = m3_mulv(t->d, t->s[k]);
    }
    const double xx = v3_dot(t->s[0], t->hw[0]), yy = v3_dot(t->s[1], t->hw[1]);
    const double xy = v3_dot(t->s[0], t->hw[1]), det = xx * yy - xy * xy;
    if (is_singular(det)) return 0;

    t->dinv[0] = yy / det;
    t->dinv[1] = -xy / det;
    t->dinv[2] = xx / det;

    const double *d = t->dinv;
    eliminate(t, 2, (m3){{{d[0], d[1], 0}, {d[1], d[2], 0}, {0, 0, 0}}});
    return 1;
}

/* Column k of S at the common point. */
static skel__twist column_of(const skel__joint *j, const skel__aba *t, int k) {
    return (skel__twist){v3_scale(t->s[k], skel__joint_shift(j, k)),
                         v3_scale(t->s[k], skel__joint_turn(j, k))};
}

/* Up to three columns. Unused rows and columns of D are those of the identity. */
static int factor_columns(const skel__joint *j, skel__aba *t) {
    const int n = skel__joint_nv(j->type);
    double d[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int k = 0; k < n; ++k) {
        const skel__twist c = column_of(j, t, k);
        t->hu[k] = v3_add(m3_mulv(t->a, c.v), m3_mulv(t->b, c.w));
        t->hw[k] = v3_add(m3_tmulv(t->b, c.v), m3_mulv(t->d, c.w));
    }
    for (int k = 0; k < n; ++k) {
        const skel__twist c = column_of(j, t, k);
        for (int l = 0; l < n; ++l) d[k][l] = v3_dot(c.v, t->hu[l]) + v3_dot(c.w, t->hw[l]);
    }
    const m3 dd = {{v3_of(d[0]), v3_of(d[1]), v3_of(d[2])}};
    if (is_singular(m3_det(dd))) return 0;
    t->di = m3_symmetric(m3_inverse(m3_symmetric(dd)));

    eliminate(t, n, t->di);
    return 1;
}

/* S spans all rotations: D = d, and only the force passes through the joint. */
static int factor_ball(skel__aba *t) {
    if (is_singular(m3_det(t->d))) return 0;

    t->di = m3_symmetric(m3_inverse(t->d));
    t->bd = m3_mul(t->b, t->di);
    t->pa = m3_symmetric(m3_sub(t->a, m3_mult(t->bd, t->b)));
    t->pb = (m3){0};
    t->pd = (m3){0};
    return 1;
}

/* A free root: (a b; b^T d)^-1 by blocks. pa = a^-1, bd = b^T a^-1, and di is the inverse of the
   Schur complement of a. */
static int factor_root(skel__aba *t) {
    if (is_singular(m3_det(t->a))) return 0;

    t->pa = m3_symmetric(m3_inverse(t->a));
    t->bd = m3_tmul(t->b, t->pa);
    const m3 complement = m3_symmetric(m3_sub(t->d, m3_mul(t->bd, t->b)));
    if (is_singular(m3_det(complement))) return 0;

    t->di = m3_symmetric(m3_inverse(complement));
    return 1;
}

static int factor_body(const skel_state *s, int32_t i, skel__aba *t) {
    const skel__body *b = &s->m->body[i];
    t->a = m3_symmetric(t->a);
    t->d = m3_symmetric(t->d);
    if (b->joint < 0) return factor_root(t);

    shift_to_joint(t);
    switch (s->m->joint[b->joint].type) {
    case SKEL_JOINT_HINGE: return factor_one_axis(t, 0);
    case SKEL_JOINT_SLIDE: return factor_one_axis(t, 1);
    case SKEL_JOINT_UNIVERSAL: return factor_universal(t);
    case SKEL_JOINT_BALL: return factor_ball(t);
    case SKEL_JOINT_FIXED: break;
    default: return factor_columns(&s->m->joint[b->joint], t);
    }

    /* Fixed: no freedom, P = H. */
    t->pa = t->a;
    t->pb = t->b;
    t->pd = t->d;
    return 1;
}

skel_status skel__aba_factor(skel_state *s, const skel__kin *x) {
    const skel_model *m = s->m;

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        load_inertia(s, i, &s->aba[i]);
        if (m->body[i].joint >= 0) set_geometry(s, x, i, &s->aba[i]);
    }

    /* Children before parents. */
    for (int32_t k = m->nd - 1; k >= 0; --k) {
        const int32_t i = m->order[k];
        if (!factor_body(s, i, &s->aba[i])) return SKEL_E_SINGULAR;
        if (m->body[i].is_inner) add_to_parent(&s->aba[i], &s->aba[m->body[i].parent]);
    }
    return SKEL_OK;
}

/* ---- bias of accelerations ---- */

/* Adds the terms of axes that are fixed in the parent. */
static void add_axis_bias(const skel_state *s, const skel__kin *x, int32_t i, skel__twist *c) {
    const int32_t p = s->m->body[i].parent;
    const skel__joint *j = &s->m->joint[s->m->body[i].joint];
    const skel__aba *t = &s->aba[i];
    const v3 wp = s->ww[p], wc = s->ww[i];

    for (int k = 0; k < skel__joint_nv(j->type); ++k) {
        const v3 swept = v3_cross(wp, t->s[k]);
        if (skel__joint_shift(j, k) != 0) {
            const v3 slip =
                v3_sub(v3_add(x[i].v, v3_cross(wc, t->rc)), v3_add(x[p].v, v3_cross(wp, t->rp)));
            c->v = v3_mad(c->v, 2.0 * v3_dot(slip, t->s[k]), swept);
        }
        if (skel__joint_turn(j, k) != 0) c->w = v3_scale(swept, v3_dot(v3_sub(wc, wp), t->s[k]));
    }
}

/* Acceleration of the child if the parent and qd do not accelerate: centripetal terms of both
   levers, the Coriolis term of a slide, and the rotation of the axes, d/dt of s_k qd_k. */
void skel__aba_bias(skel_state *s, const skel__kin *x) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], p = m->body[i].parent;
        if (m->body[i].joint < 0) continue;

        const skel__aba *t = &s->aba[i];
        const v3 wp = s->ww[p], wc = s->ww[i];
        const v3 spin = v3_sub(wc, wp);
        skel__twist c = {v3_sub(v3_centripetal(wp, t->rp), v3_centripetal(wc, t->rc)), {0, 0, 0}};
        const skel__joint *j = &m->joint[m->body[i].joint];
        switch (j->type) {
        case SKEL_JOINT_FIXED:
        case SKEL_JOINT_BALL: break;
        case SKEL_JOINT_HINGE: c.w = v3_scale(v3_cross(wp, t->s[0]), v3_dot(spin, t->s[0])); break;
        case SKEL_JOINT_UNIVERSAL: /* s0 rotates with the parent, s1 with the child */
            c.w = v3_add(v3_scale(v3_cross(wp, t->s[0]), v3_dot(spin, t->s[0])),
                         v3_scale(v3_cross(wc, t->s[1]), v3_dot(spin, t->s[1])));
            break;
        default: add_axis_bias(s, x, i, &c);
        }
        s->bias[i] = c;
    }
}

/* ---- solve ---- */

/* qdd = D^-1 g with the generalised forces g along the axes. */
static inline void accelerate_axes(const skel__aba *t, int32_t type, const double g[3],
                                   double out[3]) {
    switch (type) {
    case SKEL_JOINT_SLIDE: out[0] = t->dinv[0] * g[0]; return;
    case SKEL_JOINT_UNIVERSAL:
        out[0] = t->dinv[0] * g[0] + t->dinv[1] * g[1];
        out[1] = t->dinv[1] * g[0] + t->dinv[2] * g[1];
        return;
    default: v3_to(m3_mulv(t->di, v3_of(g)), out);
    }
}

/* S^T F of the applied wrench. */
static inline void generalised(const skel__aba *t, const skel__joint *j, double out[3]) {
    out[1] = 0;
    out[2] = 0;
    switch (j->type) {
    case SKEL_JOINT_SLIDE: out[0] = v3_dot(t->s[0], t->f.f); return;
    case SKEL_JOINT_UNIVERSAL:
        out[0] = v3_dot(t->s[0], t->f.n);
        out[1] = v3_dot(t->s[1], t->f.n);
        return;
    default: break;
    }
    for (int k = 0; k < skel__joint_nv(j->type); ++k) {
        const skel__twist c = column_of(j, t, k);
        out[k] = v3_dot(c.v, t->f.f) + v3_dot(c.w, t->f.n);
    }
}

/* The wrench that passes through the joint to the parent: F - h D^-1 S^T F - P bias. */
static skel__wrench pass_inward(const skel__aba *t, const skel__joint *j, skel__twist c) {
    const int32_t type = j->type;
    skel__wrench w = {v3_sub(t->f.f, m3_mulv(t->pa, c.v)), {0, 0, 0}};
    if (type == SKEL_JOINT_BALL) {
        w.f = v3_sub(w.f, m3_mulv(t->bd, t->f.n));
        return w;
    }
    w.f = v3_sub(w.f, m3_mulv(t->pb, c.w));
    w.n = v3_sub(t->f.n, v3_add(m3_tmulv(t->pb, c.v), m3_mulv(t->pd, c.w)));
    if (type == SKEL_JOINT_FIXED) return w;

    /* - h D^-1 S^T F, for the most common kind without a loop */
    if (type == SKEL_JOINT_HINGE) {
        const double qdd = t->dinv[0] * v3_dot(t->s[0], t->f.n);
        w.f = v3_mad(w.f, -qdd, t->hu[0]);
        w.n = v3_mad(w.n, -qdd, t->hw[0]);
        return w;
    }
    double g[3], qdd[3];
    generalised(t, j, g);
    accelerate_axes(t, type, g, qdd);
    const int axes = skel__joint_nv(type);
    for (int k = 0; k < axes; ++k) {
        w.f = v3_mad(w.f, -qdd[k], t->hu[k]);
        w.n = v3_mad(w.n, -qdd[k], t->hw[k]);
    }
    return w;
}

/* Inward pass: applied wrenches of the subtrees, about the common points. */
static void inward(skel_state *s) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->nd; ++k) s->aba[m->order[k]].f = s->f[m->order[k]];

    for (int32_t k = m->nd - 1; k >= 0; --k) {
        const int32_t i = m->order[k];
        skel__aba *t = &s->aba[i];
        if (m->body[i].joint < 0) continue;

        t->f.n = v3_sub(t->f.n, v3_cross(t->rc, t->f.f));
        if (!m->body[i].is_inner) continue;

        const skel__wrench w = pass_inward(t, &m->joint[m->body[i].joint], s->bias[i]);
        skel__wrench *f = &s->aba[m->body[i].parent].f;
        f->f = v3_add(f->f, w.f);
        f->n = v3_add(f->n, v3_add(w.n, v3_cross(t->rp, w.f)));
    }
}

static skel__twist solve_root(const skel__aba *t) {
    const skel__wrench f = t->f; /* about the centre of mass: a root has no joint */
    skel__twist out;
    out.w = m3_mulv(t->di, v3_sub(f.n, m3_mulv(t->bd, f.f)));
    out.v = v3_sub(m3_mulv(t->pa, f.f), m3_tmulv(t->bd, out.w));
    return out;
}

/* (u; alpha) of the child at the common point; u holds U_p + bias. */
static skel__twist solve_joint(const skel__aba *t, const skel__joint *j, skel__twist u) {
    const int32_t type = j->type;
    if (type == SKEL_JOINT_BALL)
        return (skel__twist){u.v, m3_mulv(t->di, v3_sub(t->f.n, m3_tmulv(t->b, u.v)))};
    if (type == SKEL_JOINT_FIXED) return u;

    /* qdd = D^-1 (S^T F - h^T u), for the most common kind without a loop */
    if (type == SKEL_JOINT_HINGE) {
        double g = v3_dot(t->s[0], t->f.n);
        g -= v3_dot(t->hu[0], u.v) + v3_dot(t->hw[0], u.w);
        u.w = v3_mad(u.w, t->dinv[0] * g, t->s[0]);
        return u;
    }
    double g[3], qdd[3];
    const int axes = skel__joint_nv(type);
    generalised(t, j, g);
    for (int k = 0; k < axes; ++k) g[k] -= v3_dot(t->hu[k], u.v) + v3_dot(t->hw[k], u.w);
    accelerate_axes(t, type, g, qdd);

    /* u + S qdd */
    for (int k = 0; k < axes; ++k) {
        const double shift = skel__joint_shift(j, k);
        if (shift != 0) u.v = v3_mad(u.v, shift * qdd[k], t->s[k]);
        if (skel__joint_turn(j, k) != 0) u.w = v3_mad(u.w, qdd[k], t->s[k]);
    }
    return u;
}

void skel__aba_solve(skel_state *s) {
    const skel_model *m = s->m;
    inward(s);

    /* Outward pass, parents before children. */
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], p = m->body[i].parent;
        const skel__aba *t = &s->aba[i];
        if (m->body[i].joint < 0) {
            s->acc[i] = solve_root(t);
            continue;
        }

        const skel__twist u = {
            v3_add(v3_add(s->acc[p].v, v3_cross(s->acc[p].w, t->rp)), s->bias[i].v),
            v3_add(s->acc[p].w, s->bias[i].w)};
        const skel__twist at = solve_joint(t, &m->joint[m->body[i].joint], u);
        s->acc[i] = (skel__twist){v3_sub(at.v, v3_cross(at.w, t->rc)), at.w};
    }
}
