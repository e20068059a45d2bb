/* SPDX-License-Identifier: BSD-3-Clause */
/* A joint in the energy-momentum step. Bars are means of start and end. The closing conditions are
   bilinear in vectors fixed in the bodies, so with the mean rows as directions of the impulses
     g(end) - g(start) = h (mean row) . (mean velocities)
   holds exactly and a closed joint does no work:
   - point:  impulse c, arms rbar;             slide: c_k ubar_k, acting at b's point
   - axes e (in a), z (in b):  torque d ebar x zbar
   Each wrench acts at one common point, so angular momentum is kept even before convergence.
   Derivatives are by (dp, theta) of the end pose, theta a turn in world axes: d r1 = theta x r1. */
#include "integrate/conserving.h"

#include <string.h>

#define LEANS 2.0      /* [rad] */
#define ROUNDING 2e-15 /* of numbers, after a few operations */

typedef struct frame_ends {
    v3 r0, r1, r;          /* lever at start, end, mean */
    v3 e0[3], e1[3], e[3]; /* frame axes */
    v3 p;                  /* mean centre */
} frame_ends;

static v3 mean(v3 a, v3 b) {
    return v3_scale(v3_add(a, b), 0.5);
}

/* Of side 0 or 1 of the joint; no axes wanted: those are not set. */
static frame_ends ends_of(const skel_state *s, const skel__conserving *em, int32_t joint, int side,
                          int axes) {
    const skel__joint                  *j  = &s->m->joint[joint];
    const skel__conserving_joint_start *at = &em->start[joint];
    const int32_t                       i  = side == 0 ? j->a : j->b;
    const m3                           *in = side == 0 ? &j->ea : &j->eb;
    frame_ends                          f;
    f.r0 = at->r[side];
    f.r1 = m3_mulv(em->r1[i], side == 0 ? j->fa.p : j->fb.p);
    f.r  = mean(f.r0, f.r1);
    f.p  = mean(s->x[i].p, em->p1[i]);
    for (int k = 0; axes && k < 3; ++k) {
        f.e0[k] = at->e[side][k];
        f.e1[k] = m3_mulv(em->r1[i], in->r[k]);
        f.e[k]  = mean(f.e0[k], f.e1[k]);
    }
    return f;
}

/* ---- writing blocks ---- */

static void set_column(double *w, int rows, int k, v3 f, v3 n) {
    if (!w) return;
    const double v[6] = {f.x, f.y, f.z, n.x, n.y, n.z};
    for (int c = 0; c < 6; ++c) w[c * rows + k] = v[c];
}

static void set_row(double *g, int k, v3 l, v3 w) {
    if (!g) return;
    v3_to(l, g + 6 * k), v3_to(w, g + 6 * k + 3);
}

/* Torque T on a and -T on b, with dT = ta theta_a + tb theta_b: the equations hold minus the
   impulses. */
static void add_torque_derivative(skel__conserving_blocks *to, m3 ta, m3 tb) {
    to->is_coupled = 1;
    skel__conserving_add3(to->aa, 3, 3, m3_scale(ta, -1));
    skel__conserving_add3(to->ab, 3, 3, m3_scale(tb, -1));
    skel__conserving_add3(to->ba, 3, 3, ta);
    skel__conserving_add3(to->bb, 3, 3, tb);
    if (!to->turn_ab) return;
    *to->turn_ab = m3_sub(*to->turn_ab, tb);
    *to->turn_ba = m3_add(*to->turn_ba, ta);
}

/* ---- rows ---- */

typedef struct axis_pair {
    int a, b; /* axis of the outer frame that stays perpendicular to an axis of the inner one */
} axis_pair;

static int axis_pairs(int32_t type, axis_pair out[3]) {
    switch (type) {
    case SKEL_JOINT_UNIVERSAL: out[0] = (axis_pair){2, 0}; return 1;
    case SKEL_JOINT_BALL: return 0;
    default: break;
    }
    out[0] = (axis_pair){0, 2}, out[1] = (axis_pair){1, 2}, out[2] = (axis_pair){0, 1};
    return type == SKEL_JOINT_HINGE ? 2 : 3;
}

static void axis_rows(const skel__joint *j, const frame_ends *a, const frame_ends *b,
                      const double *lambda, skel__conserving_joint *out,
                      skel__conserving_blocks *to) {
    axis_pair pairs[3];
    const int count = axis_pairs(j->type, pairs), first = skel__joint_rows(j->type) - count;
    const v3  none = {0, 0, 0};
    for (int k = 0; k < count; ++k) {
        const v3     e = a->e[pairs[k].a], z = b->e[pairs[k].b];
        const v3     e1 = a->e1[pairs[k].a], z1 = b->e1[pairs[k].b];
        const v3     n = v3_cross(e, z), n1 = v3_cross(e1, z1);
        const double d    = lambda[first + k];
        out->torque       = v3_mad(out->torque, d, n);
        out->g[first + k] = v3_dot(e1, z1);
        if (!to) continue;
        if (to->point) to->point->n[k] = n, to->point->n1[k] = n1;
        set_column(to->wa, out->rows, first + k, none, n);
        set_column(to->wb, out->rows, first + k, none, v3_neg(n));
        set_row(to->ga, first + k, none, n1);
        set_row(to->gb, first + k, none, v3_neg(n1));
        add_torque_derivative(to, m3_scale(m3_skew_skew(z, e1), 0.5 * d),
                              m3_scale(m3_skew_skew(e, z1), -0.5 * d));
    }
}

static void point_rows(const frame_ends *a, const frame_ends *b, const double *lambda, v3 gap1,
                       skel__conserving_joint *out, skel__conserving_blocks *to) {
    const v3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    out->force       = v3_of(lambda);
    out->point       = mean(v3_add(a->p, a->r), v3_add(b->p, b->r));
    v3_to(gap1, out->g);
    if (!to) return;
    if (to->point) {
        to->point->arm[0] = a->r, to->point->arm1[0] = a->r1;
        to->point->arm[1] = b->r, to->point->arm1[1] = b->r1;
    }
    for (int k = 0; !to->point && k < 3; ++k) {
        set_column(to->wa, out->rows, k, axis[k], v3_cross(a->r, axis[k]));
        set_column(to->wb, out->rows, k, v3_neg(axis[k]), v3_neg(v3_cross(b->r, axis[k])));
        set_row(to->ga, k, axis[k], v3_cross(a->r1, axis[k]));
        set_row(to->gb, k, v3_neg(axis[k]), v3_neg(v3_cross(b->r1, axis[k])));
    }
    const v3 half = v3_scale(out->force, 0.5); /* d (rbar x c) = [c][r1] theta / 2 */
    skel__conserving_add3(to->aa, 3, 3, m3_skew_skew(v3_neg(half), a->r1));
    skel__conserving_add3(to->bb, 3, 3, m3_skew_skew(half, b->r1));
}

/* Force F on a at b's mean point; dF = f[0] dp_a + f[1] theta_a + f[2] dp_b + f[3] theta_b. */
static void add_force_derivative(skel__conserving_blocks *to, v3 force, v3 arm_a,
                                 const frame_ends *b, const m3 f[4]) {
    const m3 c  = m3_skew(force);
    const m3 xa = m3_skew(arm_a), xb = m3_skew(b->r), half = m3_scale(m3_skew(b->r1), -0.5);
    /* d arm_a = (dp_b - dp_a)/2 - [r_b1] theta_b / 2,  d arm_b = -[r_b1] theta_b / 2 */
    const m3 arm[4]   = {m3_diagonal(-0.5), m3_zero(), m3_diagonal(0.5), half};
    double  *row_a[2] = {to->aa, to->ab}, *row_b[2] = {to->ba, to->bb};
    to->is_coupled = 1;
    for (int k = 0; k < 4; ++k) {
        const int col  = k % 2 * 3;
        const m3  on_a = m3_sub(m3_mul(xa, f[k]), m3_mul(c, arm[k]));
        m3        on_b = m3_mul(xb, f[k]);
        if (k == 3) on_b = m3_sub(on_b, m3_mul(c, half));
        skel__conserving_add3(row_a[k / 2], 0, col, m3_scale(f[k], -1));
        skel__conserving_add3(row_a[k / 2], 3, col, m3_scale(on_a, -1));
        skel__conserving_add3(row_b[k / 2], 0, col, f[k]);
        skel__conserving_add3(row_b[k / 2], 3, col, on_b);
    }
}

static void slide_rows(const frame_ends *a, const frame_ends *b, const double *lambda, v3 gap1,
                       skel__conserving_joint *out, skel__conserving_blocks *to) {
    v3 force = {0, 0, 0}, force1 = {0, 0, 0};
    out->point     = v3_add(b->p, b->r);
    const v3 arm_a = v3_sub(out->point, a->p), arm1 = v3_sub(a->r1, gap1);
    for (int k = 0; k < 2; ++k) {
        const v3 u = a->e[k], u1 = a->e1[k];
        force     = v3_mad(force, lambda[k], u);
        force1    = v3_mad(force1, lambda[k], u1);
        out->g[k] = v3_dot(u1, gap1);
        if (!to) continue;
        set_column(to->wa, out->rows, k, u, v3_cross(arm_a, u));
        set_column(to->wb, out->rows, k, v3_neg(u), v3_neg(v3_cross(b->r, u)));
        set_row(to->ga, k, u1, v3_cross(arm1, u1));
        set_row(to->gb, k, v3_neg(u1), v3_neg(v3_cross(b->r1, u1)));
    }
    out->force = force;
    if (!to) return;
    const m3 f[4] = {m3_zero(), m3_scale(m3_skew(force1), -0.5), m3_zero(), m3_zero()};
    add_force_derivative(to, force, arm_a, b, f);
}

/* ---- friction and motor ---- */

/* From the start of the step to its mean, world axes; prescribed bodies count as steady. */
static v3 spin_change(const skel_state *s, const skel__conserving *em, int32_t i) {
    if (!skel__is_dynamic(s->m, i)) return (v3){0, 0, 0};
    return m3_mulv(s->r[i], v3_sub(em->w[i], s->x[i].w));
}

static void turning_load(const skel_state *s, const skel__conserving *em, int32_t joint, double h,
                         double beta, const frame_ends *a, skel__conserving_joint *out,
                         skel__conserving_blocks *to) {
    const skel__joint                  *j  = &s->m->joint[joint];
    const skel__conserving_joint_start *at = &em->start[joint];
    const double                        d  = h * at->rub;
    const v3 spin = v3_sub(m3_mulv(s->r[j->a], em->w[j->a]), m3_mulv(s->r[j->b], em->w[j->b]));
    v3       rate = spin; /* that friction acts against */
    if (at->is_late) {
        const v3 change = v3_sub(spin_change(s, em, j->a), spin_change(s, em, j->b));
        rate            = v3_add(rate, m3_mulv(at->late, change));
    }
    out->torque   = v3_mad(out->torque, -d, rate);
    out->friction = -d * v3_dot(rate, spin);
    out->motor    = 0;

    /* The axes of a ball without a motor are not set. */
    if (beta != 0) {
        out->torque = v3_mad(out->torque, h * beta, a->e[2]);
        out->motor  = h * beta * v3_dot(a->e[2], spin);
    }
    if (!to) return;

    m3 qa = skel__spin_derivative(s, em, j->a, h), qb = skel__spin_derivative(s, em, j->b, h);
    if (at->is_late) {
        qa = m3_add(qa, m3_mul(at->late, qa));
        qb = m3_add(qb, m3_mul(at->late, qb));
    }
    m3 ta = m3_scale(qa, -d);
    if (beta != 0) ta = m3_add(ta, m3_scale(m3_skew(a->e1[2]), -0.5 * h * beta));
    add_torque_derivative(to, ta, m3_scale(qb, d));
}

/* How far a slide goes over the step: the change of x = z.(o_b - o_a), gap being o_a - o_b, and its
   derivative d x1 = z1.(dp_b - dp_a) + (r_b1 x z1).theta_b - (arm1 x z1).theta_a. */
typedef struct slide_way {
    double change;
    v3     d[4]; /* by dp_a, theta_a, dp_b, theta_b */
} slide_way;
static slide_way way_of(const frame_ends *a, const frame_ends *b, v3 gap0, v3 gap1) {
    const v3 z1 = a->e1[2], arm1 = v3_sub(a->r1, gap1);
    return (slide_way){v3_dot(a->e0[2], gap0) - v3_dot(z1, gap1),
                       {v3_neg(z1), v3_neg(v3_cross(arm1, z1)), z1, v3_cross(b->r1, z1)}};
}

/* Derivative of a force `push` on a along z that grows by `stiff` with the way. */
static void add_push_derivative(skel__conserving_blocks *to, v3 push, double stiff,
                                const slide_way *way, const frame_ends *a, const frame_ends *b) {
    m3 f[4];
    for (int k = 0; k < 4; ++k) f[k] = m3_sub_outer(m3_zero(), -stiff, a->e[2], way->d[k]);
    f[1] = m3_add(f[1], m3_scale(m3_skew(a->e1[2]), -0.5 * v3_dot(push, a->e[2])));
    add_force_derivative(to, push, v3_sub(v3_add(b->p, b->r), a->p), b, f);
}

/* Velocity and spin of a body at the start of the step, world axes; prescribed ones are steady. */
static void start_velocity(const skel_state *s, const skel__conserving *em, int32_t i, v3 *v,
                           v3 *w) {
    const int is_free = skel__is_dynamic(s->m, i);
    *v                = is_free ? s->x[i].v : em->vbar[i];
    *w                = m3_mulv(s->r[i], is_free ? s->x[i].w : em->w[i]);
}

/* Velocity of a slide at the start of the step: d/dt of z.(o_b - o_a). */
static double start_rate(const skel_state *s, const skel__conserving *em, const skel__joint *j,
                         const frame_ends *a, const frame_ends *b) {
    v3 va, wa, vb, wb;
    start_velocity(s, em, j->a, &va, &wa);
    start_velocity(s, em, j->b, &vb, &wb);
    const v3 arm = v3_sub(v3_add(s->x[j->b].p, b->r0), s->x[j->a].p);
    const v3 ub = v3_add(vb, v3_cross(wb, b->r0)), ua = v3_add(va, v3_cross(wa, arm));
    return v3_dot(a->e0[2], v3_sub(ub, ua));
}

/* The change of the way is the rate that rubs. */
static void sliding_load(const skel_state *s, const skel__conserving *em, int32_t joint, double h,
                         double beta, const frame_ends *a, const frame_ends *b,
                         const slide_way *way, skel__conserving_joint *out,
                         skel__conserving_blocks *to) {
    const skel__joint                  *j     = &s->m->joint[joint];
    const skel__conserving_joint_start *at    = &em->start[joint];
    const double                        share = at->is_late ? at->late.r[0].x : 0.0;
    double rate = way->change; /* that friction acts against, times h */
    if (at->is_late) rate += share * (way->change - h * start_rate(s, em, j, a, b));
    const v3 push = v3_scale(a->e[2], at->rub * rate + h * beta);
    out->friction = -at->rub * rate * way->change / h;
    out->motor    = -beta * way->change;
    out->force    = v3_add(out->force, push);
    if (to) add_push_derivative(to, push, at->rub * (1.0 + share), way, a, b);
}

/* The joint's frames at the end of the step. */
static pose outer_end(const skel__conserving *em, const skel__joint *j) {
    return pose_mul((pose){em->p1[j->a], em->q1[j->a]}, j->fa);
}
static pose inner_end(const skel__conserving *em, const skel__joint *j) {
    return pose_mul((pose){em->p1[j->b], em->q1[j->b]}, j->fb);
}

/* How far the joint may turn without anything that acts. Coordinates grow with the turn at most by
   their gradient's size, which for a ball's twist is at most 2 while it leans by less than 2/3 of
   half a turn, start and turn together. */
static double clear_of(const skel_state *s, int32_t joint, const skel__conserving_joint_start *at) {
    const skel__joint *j    = &s->m->joint[joint];
    double             near = INFINITY;
    if (j->type == SKEL_JOINT_SLIDE || !skel__has_stop(j) || j->spring.stiffness > 0 ||
        j->spring.damping > 0 || j->muscle_index >= 0)
        return -1;
    for (int k = 0; k < at->n; ++k) {
        const int cone = j->type == SKEL_JOINT_BALL && k == 0;
        if (!cone) near = fmin(near, at->c[k].c - skel__stop_edge(s, joint, k, 0));
        near = fmin(near, skel__stop_edge(s, joint, k, 1) - at->c[k].c);
    }
    if (j->type == SKEL_JOINT_BALL) near = fmin(near, LEANS - at->c[0].c);
    return 0.5 * near;
}

static void start_frames(const skel_state *s, const skel__joint *j,
                         skel__conserving_joint_start *at) {
    for (int side = 0; side < 2; ++side) {
        const int32_t i  = side == 0 ? j->a : j->b;
        const m3     *in = side == 0 ? &j->ea : &j->eb;
        at->r[side]      = m3_mulv(s->r[i], side == 0 ? j->fa.p : j->fb.p);
        for (int k = 0; k < 3; ++k) at->e[side][k] = m3_mulv(s->r[i], in->r[k]);
    }
    at->outer = pose_mul(skel__pose_of(s->x, j->a), j->fa);
    at->inner = pose_mul(skel__pose_of(s->x, j->b), j->fb);
}

/* A ball of the tree with nothing else. */
static int is_bare(const skel_model *m, int32_t joint) {
    const skel__joint *j = &m->joint[joint];
    return j->type == SKEL_JOINT_BALL && j->friction == 0 && j->motor == 0 &&
           j->motor_curve.count == 0 && !(j->follow.frequency > 0) && !skel__joint_has_forces(j) &&
           joint < m->nj && m->body[j->reversed ? j->a : j->b].joint == joint;
}

void skel__conserving_joints_begin(skel_state *s, double h) {
    for (int32_t k = 0; k < s->m->nj + s->m->npin; ++k) {
        const skel__joint            *j  = &s->m->joint[k];
        skel__conserving_joint_start *at = &s->em->start[k];
        const int free = skel__is_dynamic(s->m, j->a) && skel__is_dynamic(s->m, j->b);
        at->is_bare    = is_bare(s->m, k);
        at->is_rope    = at->is_bare && free;
        if (k < s->m->nj ? at->is_rope : !s->is_pinned[k - s->m->nj]) continue;
        start_frames(s, j, at);
        skel__conserving_friction_begin(s, k, h);
        if (skel__joint_has_forces(j)) {
            at->n = skel__coordinates_of(j, at->outer, at->inner, at->c);
            for (int c = 0; c < at->n; ++c)
                at->inertia[c] = skel__has_stop(j)
                                     ? skel__joint_force_inertia(s, s->r, k, at->c[c].gradient)
                                     : 1;
            at->clear = clear_of(s, k, at);
        }
        if (!(j->follow.frequency > 0)) continue;
        for (int e = 0; e < 2; ++e) skel__follow_target(j, s->t + e * h, at->want + 4 * e);
        at->error  = skel__follow_error(j, at->outer, at->inner, at->want);
        at->weight = skel__follow_weight(j, s->t + 0.5 * h);
        at->d      = skel__follow_inertia(s, s->r, k);
    }
}

/* The share of the end of the step in the spring: a half where the spring is slow against the step
   (second order, keeps energy), all of it where it is fast (no ringing, whatever the step). */
static double end_share(double w, double h) {
    const double x = 0.5 * w * h;
    return 0.5 + 0.5 * x * x / (1.0 + x * x);
}

/* d (A x) by a small turn of the axes of A. */
static m3 turned_by(m3 a, v3 x) {
    return m3_sub(m3_mul(a, m3_skew(x)), m3_skew(m3_mulv(a, x)));
}

/* Spring toward the animation, implicit in the error e at the end of the step. The inertia d that
   it goes by turns with the bone within the step: along a straight rope it is next to nothing,
   across it that of all that hangs there, and what the one lends to the other by standing a little
   askew would twist the rope up. */
static void follow_load(const skel_state *s, const skel__conserving *em, int32_t joint, double h,
                        const frame_ends *a, const frame_ends *b, const slide_way *way,
                        skel__conserving_joint *out, skel__conserving_blocks *to) {
    const skel__joint                  *j        = &s->m->joint[joint];
    const skel__conserving_joint_start *at       = &em->start[joint];
    const pose                          outer[2] = {at->outer, outer_end(em, j)};
    const pose                          inner[2] = {at->inner, inner_end(em, j)};
    const v3     e1    = skel__follow_error(j, outer[1], inner[1], at->want + 4);
    const double w     = SKEL__TURN * j->follow.frequency;
    const double share = end_share(w, h), rub = 2.0 * j->follow.damping * w / h;
    const m3     d1     = skel__follow_inertia(s, em->r1, joint);
    const m3     d      = m3_scale(m3_add(at->d, d1), 0.5);
    const v3     change = skel__follow_change(j, outer, inner, at->want);
    const v3 swing = v3_add(v3_scale(v3_mad(v3_scale(at->error, 1.0 - share), share, e1), w * w),
                            v3_scale(change, rub));
    const v3 full  = v3_scale(m3_mulv(d, swing), h * at->weight);
    const double bound = skel__follow_torque_factor(j, v3_scale(full, 1.0 / h));
    const v3     push  = v3_scale(full, bound); /* impulse on a */
    const double k     = h * at->weight * bound;
    if (j->type == SKEL_JOINT_SLIDE) {
        out->force = v3_add(out->force, push);
        out->motor -= v3_dot(push, a->e[2]) * way->change / h;
        if (to) add_push_derivative(to, push, k * (w * w * share + rub) * d.r[0].x, way, a, b);
        return;
    }
    const v3 spin = v3_sub(m3_mulv(s->r[j->a], em->w[j->a]), m3_mulv(s->r[j->b], em->w[j->b]));
    out->torque   = v3_add(out->torque, push);
    out->motor += v3_dot(push, spin);
    if (!to) return;
    m3 by_error[2], by_change[2], stiff[2];
    skel__follow_error_slopes(j, outer[1], inner[1], at->want + 4, by_error);
    skel__follow_change_slopes(j, outer[1], inner[1], change, by_change);
    for (int e = 0; e < 2; ++e) {
        const m3 all = m3_add(m3_scale(by_error[e], w * w * share), m3_scale(by_change[e], rub));
        stiff[e]     = m3_scale(m3_mul(d, all), k);
        if (skel__follow_body(s->m, j) == (e ? j->b : j->a))
            stiff[e] = m3_add(stiff[e], m3_scale(turned_by(d1, swing), 0.5 * k));
        if (bound == 1.0) continue;
        /* d (f / sqrt(1 + f^2/max^2)): less along f the nearer it is to the bound */
        const v3 f = v3_scale(full, bound / (h * j->follow.max));
        stiff[e]   = m3_mul(m3_sub_outer(m3_identity(), 1.0, f, f), stiff[e]);
    }
    add_torque_derivative(to, stiff[0], stiff[1]);
}

/* Which stops, 1 low and 2 high, a coordinate went beyond. */
static int caught_by(const skel_state *s, int32_t joint, int k, double start, double end) {
    const skel__joint *j    = &s->m->joint[joint];
    const double       from = skel__stop_edge(s, joint, k, 0);
    const double       to   = skel__stop_edge(s, joint, k, 1);
    const int          cone = j->type == SKEL_JOINT_BALL && k == 0;
    if (!skel__has_stop(j)) return 0;
    return (!cone && start > from && end <= from) | (start < to && end >= to) << 1;
}

/* A difference of numbers like x, faded out where rounding may be all of it: divided by the
   shortest ways, that alone would push bodies at rest about. */
static double beyond_rounding(double difference, double x) {
    const double share = difference / (ROUNDING * fmax(fabs(x), 1.0)), square = share * share;
    return difference * (1.0 - 1.0 / (1.0 + square * square));
}

/* Limits, spring and muscle. Their gradient, mean of start and end, is corrected along the turn so
   that it gives exactly the change of the coordinate: the forces then work along that. */
static void element_load(const skel_state *s, const skel__conserving *em, int32_t joint, double h,
                         double t, const frame_ends *a, const frame_ends *b, const slide_way *way,
                         skel__conserving_joint *out, skel__conserving_blocks *to) {
    const skel__joint                  *j  = &s->m->joint[joint];
    const skel__conserving_joint_start *at = &em->start[joint];
    const skel__coordinate             *c0 = at->c;
    skel__coordinate                    c1[2];
    const v3                            turn =
        v3_scale(v3_sub(m3_mulv(s->r[j->b], em->w[j->b]), m3_mulv(s->r[j->a], em->w[j->a])), h);
    skel__stop_prediction *guess = em->guess + 4 * (size_t)joint;
    for (int k = 0; k < 4; ++k) guess[k].is_used = 0;
    if (v3_norm(turn) < at->clear) return;
    out->is_near     = 1;
    const pose outer = outer_end(em, j), inner = inner_end(em, j);
    skel__coordinates_of(j, outer, inner, c1);
    const double size   = v3_dot(turn, turn),
                 torque = j->muscle_index >= 0 ? s->internal[j->muscle_index] : 0;
    for (int k = 0; k < at->n; ++k) {
        const int    slides  = j->type == SKEL_JOINT_SLIDE;
        const double inertia = at->inertia[k];
        double       end     = c1[k].c;
        if (!slides) end -= SKEL__TURN * nearbyint((end - c0[k].c) / SKEL__TURN);
        const skel__joint_force e = skel__joint_force_over(s, joint, k, c0[k].c, end, h, inertia, t,
                                                           torque, slides ? NULL : guess + 2 * k);
        em->gradient[2 * joint + k] = c1[k].gradient;
        out->caught |= caught_by(s, joint, k, c0[k].c, end) << (2 * k);
        out->friction += e.friction;
        out->motor += e.motor;
        out->stored += e.stored;
        if (k == 0 && j->muscle_index >= 0) em->internal_end[j->muscle_index] = e.internal;
        if (slides) {
            const v3 push = v3_scale(a->e[2], -h * e.force);
            out->force    = v3_add(out->force, push);
            if (to) add_push_derivative(to, push, -h * e.slope, way, a, b);
            continue;
        }
        if (e.force == 0 && e.slope == 0) continue;
        v3           g   = mean(c0[k].gradient, c1[k].gradient);
        const double off = beyond_rounding(end - c0[k].c - v3_dot(g, turn), end);
        if (size > 1e-24) g = v3_mad(g, off / size, turn);
        out->torque = v3_mad(out->torque, -h * e.force, g);
        if (!to) continue;
        const m3 stiff = m3_sub_outer(m3_zero(), -h * e.slope, g, c1[k].gradient);
        m3       by[2] = {m3_zero(), m3_zero()};
        /* how g turns is left out at first: with forces far too large, as in the first corrections
           against a stop, it would lead astray */
        if (em->is_close) skel__coordinate_gradient_turns(j, outer, inner, &c1[k], k, by);
        add_torque_derivative(to, m3_sub(stiff, m3_scale(by[0], 0.5 * h * e.force)),
                              m3_sub(m3_scale(stiff, -1.0), m3_scale(by[1], 0.5 * h * e.force)));
    }
}

static void measure_open(double size, const skel__joint *j, const frame_ends *a,
                         const frame_ends *b, skel__conserving_joint *out) {
    const int lengths = j->type == SKEL_JOINT_SLIDE ? 2 : 3;
    out->open         = 0;
    for (int k = 0; k < out->rows; ++k) {
        const double e = fabs(out->g[k]) / (k < lengths ? size : 1.0);
        if (!(e <= out->open)) out->open = e;
    }
    /* e.z = 0 has a second root with the axes turned over */
    const int flips =
        j->type == SKEL_JOINT_HINGE || j->type == SKEL_JOINT_SLIDE || j->type == SKEL_JOINT_FIXED;
    if (flips && v3_dot(a->e1[2], b->e1[2]) < 0) out->open = INFINITY;
}

void skel__conserving_joint_terms(const skel_state *s, const skel__conserving *em, int32_t joint,
                                  double h, double t, skel__conserving_joint *out,
                                  skel__conserving_blocks *blocks) {
    const skel__joint *j      = &s->m->joint[joint];
    const double      *lambda = em->lambda + 6 * (size_t)joint;
    const double       beta   = skel__motor_at(j, t);
    const int          axes   = j->type != SKEL_JOINT_BALL || beta != 0;
    const frame_ends   a = ends_of(s, em, joint, 0, axes), b = ends_of(s, em, joint, 1, axes);
    const v3           gap1 = v3_sub(v3_add(em->p1[j->a], a.r1), v3_add(em->p1[j->b], b.r1));
    slide_way          way;
    memset(out, 0, sizeof *out);
    out->rows = skel__joint_rows(j->type);
    if (j->type == SKEL_JOINT_SLIDE) {
        const v3 gap0 = v3_sub(v3_add(s->x[j->a].p, a.r0), v3_add(s->x[j->b].p, b.r0));
        way           = way_of(&a, &b, gap0, gap1);
        slide_rows(&a, &b, lambda, gap1, out, blocks);
    } else
        point_rows(&a, &b, lambda, gap1, out, blocks);
    axis_rows(j, &a, &b, lambda, out, blocks);
    if (j->type == SKEL_JOINT_SLIDE && (j->friction != 0 || beta != 0))
        sliding_load(s, em, joint, h, beta, &a, &b, &way, out, blocks);
    else if (j->friction != 0 || beta != 0)
        turning_load(s, em, joint, h, beta, &a, out, blocks);
    if (j->follow.frequency > 0) follow_load(s, em, joint, h, &a, &b, &way, out, blocks);
    if (skel__joint_has_forces(j)) element_load(s, em, joint, h, t, &a, &b, &way, out, blocks);
    measure_open(s->m->length_scale + v3_norm(out->point), j, &a, &b, out);
}
