/* SPDX-License-Identifier: BSD-3-Clause */
/* Joints in the energy-momentum step. Bars are means of start and end. The constraints are bilinear
   in vectors that are fixed in the bodies. So if the impulses act along the mean rows,
     g(end) - g(start) = h (mean row) . (mean velocities)
   holds exactly, and a closed joint does no work:
   - through a point:  impulse c, arms rbar
   - locked axes u:    impulse sum_k c_k ubar_k, acting at the joint point of b
   - axes e (in a) and z (in b) that stay perpendicular:  torque d ebar x zbar
   - thread of a screw:  impulse c zbar at the joint point of b, torque -c pitch G on a; G is the
     mean gradient of the angle, corrected so that G.(rotation) is its change
   Each wrench acts on both bodies at one common point, so angular momentum is conserved even before
   Newton's method has converged.
   Derivatives are by (dp, theta) of the end pose, theta a small rotation in world axes:
     d r1 = theta x r1. */
#include "integrate/conserving.h"

#include <string.h>

#define JOINT_SWING_MAX_RAD 2.0     /* bound of a ball's swing for the estimate of free rotations */
#define JOINT_CHANGE_ROUNDING 2e-15 /* relative rounding of a coordinate after a few operations */
#define JOINT_ROTATION_MIN_SQ 1e-24 /* [rad^2] smaller rotations over a step have no direction */

/* One side of a joint over the step. */
typedef struct joint_side {
    v3 r0, r1, r;          /* lever at the start, at the end, mean */
    v3 e0[3], e1[3], e[3]; /* frame axes likewise */
    v3 p;                  /* mean centre of mass */
} joint_side;

/* A displacement of the joint: the change over the step of x = z.(o_b - o_a), with o the joint
   points and z the axis, and its derivative
     d x1 = z1.(dp_b - dp_a) + (r_b1 x z1).theta_b - (arm1 x z1).theta_a. */
typedef struct displacement {
    int axis;      /* number of z in the outer frame */
    double change; /* [m] */
    v3 d[4];       /* by dp_a, theta_a, dp_b, theta_b */
} displacement;

/* A joint over the step, as the functions below read it and add to it. */
typedef struct joint_step {
    const skel_state *s;
    const skel__conserving *em;
    const skel__joint *j;
    const skel__conserving_joint_start *start;
    int32_t index;
    double h, t; /* length of the step, time of its middle [s] */
    joint_side a, b;
    int length_count;       /* velocities that are displacements */
    displacement length[2]; /* those displacements */
    skel__conserving_joint *out;
    skel__conserving_blocks *to; /* NULL: no derivatives */
} joint_step;

/* The swing of a ball is not negative. It has no low stop. */
static int is_swing(const skel__joint *j, int coordinate) {
    return j->type == SKEL_JOINT_BALL && coordinate == 0;
}

static v3 mean(v3 a, v3 b) {
    return v3_scale(v3_add(a, b), 0.5);
}

/* Side 0 (a) or 1 (b) of the joint. Axes are set on request. */
static void set_side(const joint_step *c, int side, int with_axes, joint_side *f) {
    const int32_t i = side == 0 ? c->j->a : c->j->b;
    const m3 *axes = side == 0 ? &c->j->ea : &c->j->eb;
    f->r0 = c->start->r[side];
    f->r1 = m3_mulv(c->em->r1[i], side == 0 ? c->j->fa.p : c->j->fb.p);
    f->r = mean(f->r0, f->r1);
    f->p = skel__mean_centre(c->s, c->em, i);

    for (int k = 0; with_axes && k < 3; ++k) {
        f->e0[k] = c->start->e[side][k];
        f->e1[k] = m3_mulv(c->em->r1[i], axes->r[k]);
        f->e[k] = mean(f->e0[k], f->e1[k]);
    }
}

/* ---- writing blocks ---- */

static void set_column(double *w, int rows, int k, v3 f, v3 n) {
    if (!w) return;
    const double v[6] = {f.x, f.y, f.z, n.x, n.y, n.z};
    for (int c = 0; c < 6; ++c) w[c * rows + k] = v[c];
}

static void set_row(double *g, int k, v3 l, v3 w) {
    if (!g) return;
    v3_to(l, g + 6 * k);
    v3_to(w, g + 6 * k + 3);
}

/* Adds the derivative of a torque T on a and -T on b, dT = ta theta_a + tb theta_b. The residuals
   contain minus the impulses, hence the signs. */
static void add_torque_derivative(skel__conserving_blocks *to, m3 ta, m3 tb) {
    to->is_coupled = 1;
    skel__conserving_add3(to->aa, 3, 3, m3_scale(ta, -1));
    skel__conserving_add3(to->ab, 3, 3, m3_scale(tb, -1));
    skel__conserving_add3(to->ba, 3, 3, ta);
    skel__conserving_add3(to->bb, 3, 3, tb);

    if (!to->rotation_ab) return;
    *to->rotation_ab = m3_sub(*to->rotation_ab, tb);
    *to->rotation_ba = m3_add(*to->rotation_ba, ta);
}

/* Adds the derivative of a force F on a, and -F on b, that acts at the mean joint point of b:
   dF = f[0] dp_a + f[1] theta_a + f[2] dp_b + f[3] theta_b. */
static void add_force_derivative(skel__conserving_blocks *to, v3 force, v3 arm_a,
                                 const joint_side *b, const m3 f[4]) {
    const m3 c = m3_skew(force);
    const m3 xa = m3_skew(arm_a), xb = m3_skew(b->r), half = m3_scale(m3_skew(b->r1), -0.5);

    /* d arm_a = (dp_b - dp_a)/2 - [r_b1] theta_b / 2,  d arm_b = -[r_b1] theta_b / 2 */
    const m3 arm[4] = {m3_diagonal(-0.5), m3_zero(), m3_diagonal(0.5), half};

    double *row_a[2] = {to->aa, to->ab}, *row_b[2] = {to->ba, to->bb};
    to->is_coupled = 1;
    for (int k = 0; k < 4; ++k) {
        const int col = k % 2 * 3;
        const m3 on_a = m3_sub(m3_mul(xa, f[k]), m3_mul(c, arm[k]));
        m3 on_b = m3_mul(xb, f[k]);
        if (k == 3) on_b = m3_sub(on_b, m3_mul(c, half));

        skel__conserving_add3(row_a[k / 2], 0, col, m3_scale(f[k], -1));
        skel__conserving_add3(row_a[k / 2], 3, col, m3_scale(on_a, -1));
        skel__conserving_add3(row_b[k / 2], 0, col, f[k]);
        skel__conserving_add3(row_b[k / 2], 3, col, on_b);
    }
}

/* ---- motion over the step ---- */

static pose outer_end(const joint_step *c) {
    return pose_mul((pose){c->em->p1[c->j->a], c->em->q1[c->j->a]}, c->j->fa);
}
static pose inner_end(const joint_step *c) {
    return pose_mul((pose){c->em->p1[c->j->b], c->em->q1[c->j->b]}, c->j->fb);
}

/* Mean angular velocity of a relative to b, world axes. */
static v3 relative_spin(const joint_step *c) {
    const skel_state *s = c->s;
    const v3 *w = c->em->w;
    return v3_sub(m3_mulv(s->r[c->j->a], w[c->j->a]), m3_mulv(s->r[c->j->b], w[c->j->b]));
}

/* ---- constraints ---- */

/* Rows e1.z1 = 0 of perpendicular axes, with the torques d ebar x zbar. Returns their number. */
static int add_axis_rows(const joint_step *c, const double *lambda) {
    skel__conserving_joint *out = c->out;
    skel__conserving_blocks *to = c->to;
    const skel__joint_motion *motion = &skel__joint_motions[c->j->type];
    const int count = motion->pair_count, first = out->rows - count;
    const v3 none = {0, 0, 0};

    for (int k = 0; k < count; ++k) {
        const int outer = motion->pair[k].outer, inner = motion->pair[k].inner;
        const v3 e = c->a.e[outer], z = c->b.e[inner];
        const v3 e1 = c->a.e1[outer], z1 = c->b.e1[inner];
        const v3 n = v3_cross(e, z), n1 = v3_cross(e1, z1);
        const double d = lambda[first + k];
        out->torque = v3_mad(out->torque, d, n);
        out->g[first + k] = v3_dot(e1, z1);
        if (!to) continue;

        if (to->point) {
            to->point->n[k] = n;
            to->point->n1[k] = n1;
        }
        set_column(to->wa, out->rows, first + k, none, n);
        set_column(to->wb, out->rows, first + k, none, v3_neg(n));
        set_row(to->ga, first + k, none, n1);
        set_row(to->gb, first + k, none, v3_neg(n1));
        add_torque_derivative(to, m3_scale(m3_skew_skew(z, e1), 0.5 * d),
                              m3_scale(m3_skew_skew(e, z1), -0.5 * d));
    }
    return count;
}

/* Rows of a joint through a point: both joint points coincide at the end, gap1 = 0. */
static void add_point_rows(const joint_step *c, const double *lambda, v3 gap1) {
    const joint_side *a = &c->a, *b = &c->b;
    skel__conserving_joint *out = c->out;
    skel__conserving_blocks *to = c->to;
    const v3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

    out->force = v3_of(lambda);
    out->point = mean(v3_add(a->p, a->r), v3_add(b->p, b->r));
    v3_to(gap1, out->g);
    if (!to) return;

    if (to->point) {
        to->point->arm[0] = a->r;
        to->point->arm1[0] = a->r1;
        to->point->arm[1] = b->r;
        to->point->arm1[1] = b->r1;
    }
    for (int k = 0; !to->point && k < 3; ++k) {
        set_column(to->wa, out->rows, k, axis[k], v3_cross(a->r, axis[k]));
        set_column(to->wb, out->rows, k, v3_neg(axis[k]), v3_neg(v3_cross(b->r, axis[k])));
        set_row(to->ga, k, axis[k], v3_cross(a->r1, axis[k]));
        set_row(to->gb, k, v3_neg(axis[k]), v3_neg(v3_cross(b->r1, axis[k])));
    }

    /* d (rbar x c) = [c][r1] theta / 2 */
    const v3 half = v3_scale(out->force, 0.5);
    skel__conserving_add3(to->aa, 3, 3, m3_skew_skew(v3_neg(half), a->r1));
    skel__conserving_add3(to->bb, 3, 3, m3_skew_skew(half, b->r1));
}

/* A difference of numbers of the size of x, faded out if it may be rounding alone. Otherwise the
   division by a tiny rotation would push bodies at rest about. */
static double beyond_rounding(double difference, double x) {
    const double ratio = difference / (JOINT_CHANGE_ROUNDING * fmax(fabs(x), 1.0));
    const double square = ratio * ratio;
    return difference * (1.0 - 1.0 / (1.0 + square * square));
}

/* The mean gradient g of an angle that changed from `start` to `end` while b rotated relative to a,
   corrected along the rotation so that g.rotation is exactly the change. */
static v3 corrected_gradient(v3 g, v3 rotation, double start, double end) {
    const double size = v3_dot(rotation, rotation);
    const double error = beyond_rounding(end - start - v3_dot(g, rotation), end);
    return size > JOINT_ROTATION_MIN_SQ ? v3_mad(g, error / size, rotation) : g;
}

/* The row z1.gap1 + pitch q1 = 0 of a screw's thread and its torque; the caller adds the force of
   the multiplier d. */
static void add_thread_row(const joint_step *c, double d, v3 gap1) {
    const joint_side *a = &c->a, *b = &c->b;
    const int k = skel__joint_motions[c->j->type].lock_count;
    const double pitch = c->j->pitch;
    skel__conserving_joint *out = c->out;
    skel__conserving_blocks *to = c->to;

    /* The angle changes by less than half a turn in a step. */
    double start[1], end[1];
    skel__joint_measure(c->j, c->start->outer, c->start->inner, start);
    skel__joint_measure(c->j, outer_end(c), inner_end(c), end);
    end[0] -= SKEL__TURN * nearbyint((end[0] - start[0]) / SKEL__TURN);
    const double change = end[0] - start[0];
    const v3 z = a->e[2], z1 = a->e1[2], rotation = v3_scale(relative_spin(c), -c->h);
    const v3 turn = v3_scale(corrected_gradient(z, rotation, start[0], end[0]), pitch);
    out->torque = v3_mad(out->torque, -d, turn);
    out->g[k] = v3_dot(z1, gap1) + pitch * end[0];
    if (!to) return;

    const v3 arm = v3_sub(out->point, a->p), arm1 = v3_sub(a->r1, gap1);
    const v3 turn1 = v3_scale(z1, pitch);
    set_column(to->wa, out->rows, k, z, v3_sub(v3_cross(arm, z), turn));
    set_column(to->wb, out->rows, k, v3_neg(z), v3_sub(turn, v3_cross(b->r, z)));
    set_row(to->ga, k, z1, v3_sub(v3_cross(arm1, z1), turn1));
    set_row(to->gb, k, v3_neg(z1), v3_sub(turn1, v3_cross(b->r1, z1)));

    /* d G = theta_a x z1 / 2 - change / 6 z1 (z1.(theta_b - theta_a)), the second term by the
       series of change / (2 tan(change / 2)). */
    const m3 stiff = m3_sub_outer(m3_zero(), -d * pitch * change / 6.0, z1, z1);
    add_torque_derivative(to, m3_sub(m3_scale(m3_skew(z1), 0.5 * d * pitch), stiff), stiff);
}

/* Rows of a joint that is not through a point: the gap of the joint points has no component along
   the locked axes of the outer frame. */
static void add_lock_rows(const joint_step *c, const double *lambda, v3 gap1) {
    const joint_side *a = &c->a, *b = &c->b;
    skel__conserving_joint *out = c->out;
    skel__conserving_blocks *to = c->to;
    v3 force = {0, 0, 0}, force1 = {0, 0, 0};
    out->point = v3_add(b->p, b->r);
    const v3 arm_a = v3_sub(out->point, a->p), arm1 = v3_sub(a->r1, gap1);

    const skel__joint_motion *motion = &skel__joint_motions[c->j->type];
    for (int k = 0; k < motion->lock_count; ++k) {
        const v3 u = a->e[motion->lock[k]], u1 = a->e1[motion->lock[k]];
        force = v3_mad(force, lambda[k], u);
        force1 = v3_mad(force1, lambda[k], u1);
        out->g[k] = v3_dot(u1, gap1);
        if (!to) continue;

        set_column(to->wa, out->rows, k, u, v3_cross(arm_a, u));
        set_column(to->wb, out->rows, k, v3_neg(u), v3_neg(v3_cross(b->r, u)));
        set_row(to->ga, k, u1, v3_cross(arm1, u1));
        set_row(to->gb, k, v3_neg(u1), v3_neg(v3_cross(b->r1, u1)));
    }
    if (c->j->pitch != 0) {
        const double d = lambda[motion->lock_count];
        add_thread_row(c, d, gap1);
        force = v3_mad(force, d, a->e[2]);
        force1 = v3_mad(force1, d, a->e1[2]);
    }
    out->force = force;
    if (!to) return;

    /* d ubar_k = theta_a x u1_k / 2 */
    const m3 f[4] = {m3_zero(), m3_scale(m3_skew(force1), -0.5), m3_zero(), m3_zero()};
    add_force_derivative(to, force, arm_a, b, f);
}

/* ---- friction and motor ---- */

/* Mean angular velocity minus that at the start, world axes; prescribed bodies count as steady. */
static v3 spin_change(const joint_step *c, int32_t i) {
    if (!skel__is_dynamic(c->s->m, i)) return (v3){0, 0, 0};
    return m3_mulv(c->s->r[i], v3_sub(c->em->w[i], c->s->x[i].w));
}

/* Friction against the relative angular velocity, and a motor torque beta about z of a. */
static void add_rotational_load(const joint_step *c, double beta) {
    const skel__conserving_friction_start *at = &c->start->turn_friction;
    skel__conserving_joint *out = c->out;
    const double d = c->h * at->coefficient;
    const v3 spin = relative_spin(c);

    /* The friction acts against w + K (w - w0), see conserving_friction.c. */
    v3 rate = spin;
    if (at->has_end_weight) {
        const v3 change = v3_sub(spin_change(c, c->j->a), spin_change(c, c->j->b));
        rate = v3_add(rate, m3_mulv(at->end_weight, change));
    }
    out->torque = v3_mad(out->torque, -d, rate);
    out->friction += -d * v3_dot(rate, spin);

    /* Without a motor the axes of a ball are not set. */
    if (beta != 0) {
        out->torque = v3_mad(out->torque, c->h * beta, c->a.e[2]);
        out->motor += c->h * beta * v3_dot(c->a.e[2], spin);
    }
    if (!c->to) return;

    m3 qa = skel__spin_derivative(c->s, c->em, c->j->a, c->h);
    m3 qb = skel__spin_derivative(c->s, c->em, c->j->b, c->h);
    if (at->has_end_weight) {
        qa = m3_add(qa, m3_mul(at->end_weight, qa));
        qb = m3_add(qb, m3_mul(at->end_weight, qb));
    }
    m3 ta = m3_scale(qa, -d);
    if (beta != 0) ta = m3_add(ta, m3_scale(m3_skew(c->a.e1[2]), -0.5 * c->h * beta));
    add_torque_derivative(c->to, ta, m3_scale(qb, d));
}

/* Along an axis of the outer frame; gap = o_a - o_b, at the start and at the end. */
static displacement displacement_of(const joint_side *a, const joint_side *b, int axis, v3 gap0,
                                    v3 gap1) {
    const v3 z1 = a->e1[axis], arm1 = v3_sub(a->r1, gap1);
    return (displacement){.axis = axis,
                          .change = v3_dot(a->e0[axis], gap0) - v3_dot(z1, gap1),
                          .d = {v3_neg(z1), v3_neg(v3_cross(arm1, z1)), z1, v3_cross(b->r1, z1)}};
}

/* Derivative of an impulse on a along the axis z of the displacement x. The impulse grows by
   `stiff` per unit of x. */
static void add_axial_derivative(const joint_step *c, const displacement *x, v3 impulse,
                                 double stiff) {
    const joint_side *a = &c->a, *b = &c->b;
    const v3 z = a->e[x->axis], z1 = a->e1[x->axis];
    m3 f[4];
    for (int k = 0; k < 4; ++k) f[k] = m3_sub_outer(m3_zero(), -stiff, z, x->d[k]);
    f[1] = m3_add(f[1], m3_scale(m3_skew(z1), -0.5 * v3_dot(impulse, z)));
    add_force_derivative(c->to, impulse, v3_sub(v3_add(b->p, b->r), a->p), b, f);
}

/* Velocity and angular velocity of a body at the start of the step, world axes; prescribed bodies
   count as steady. */
static void start_velocity(const joint_step *c, int32_t i, v3 *v, v3 *w) {
    const int is_dynamic = skel__is_dynamic(c->s->m, i);
    *v = is_dynamic ? c->s->x[i].v : c->em->vbar[i];
    *w = m3_mulv(c->s->r[i], is_dynamic ? c->s->x[i].w : c->em->w[i]);
}

/* Velocity of a displacement at the start of the step: d/dt of z.(o_b - o_a). */
static double start_displacement_rate(const joint_step *c, int axis) {
    v3 va, wa, vb, wb;
    start_velocity(c, c->j->a, &va, &wa);
    start_velocity(c, c->j->b, &vb, &wb);
    const v3 arm = v3_sub(v3_add(c->s->x[c->j->b].p, c->b.r0), c->s->x[c->j->a].p);
    const v3 ub = v3_add(vb, v3_cross(wb, c->b.r0)), ua = v3_add(va, v3_cross(wa, arm));
    return v3_dot(c->a.e0[axis], v3_sub(ub, ua));
}

/* Friction against the velocity of a displacement, and a motor force beta along its axis. */
static void add_axial_load(const joint_step *c, const displacement *x, double beta) {
    const skel__conserving_friction_start *at = &c->start->shift_friction;
    skel__conserving_joint *out = c->out;
    const double weight = at->has_end_weight ? at->end_weight.r[0].x : 0.0;

    /* The friction acts against w + K (w - w0), here multiplied by h. */
    double rate = x->change;
    if (at->has_end_weight)
        rate += weight * (x->change - c->h * start_displacement_rate(c, x->axis));
    const v3 impulse = v3_scale(c->a.e[x->axis], at->coefficient * rate + c->h * beta);
    out->friction += -at->coefficient * rate * x->change / c->h;
    out->motor += -beta * x->change;
    out->force = v3_add(out->force, impulse);
    if (c->to) add_axial_derivative(c, x, impulse, at->coefficient * (1.0 + weight));
}

/* ---- follow spring ---- */

/* Weight of the end of the step in a spring of angular frequency w: 1/2 for a slow spring (second
   order, conserves energy), 1 for a fast one (no oscillation at any step length). */
static double spring_end_share(double w, double h) {
    const double x = 0.5 * w * h;
    return 0.5 + 0.5 * x * x / (1.0 + x * x);
}

/* Derivative of A x by a small rotation of the axes of A. */
static m3 rotation_derivative(m3 a, v3 x) {
    return m3_sub(m3_mul(a, m3_skew(x)), m3_skew(m3_mulv(a, x)));
}

/* The follow spring over the step: impulse h weight bound D (w^2 e + 2 zeta w e'). */
typedef struct follow_step {
    pose outer[2], inner[2];  /* joint frames at the start and at the end */
    double stiff, damp;       /* w^2 share; 2 zeta w / h */
    skel__twist change;       /* change of the error over the step */
    skel__twist acceleration; /* w^2 e + 2 zeta w e' */
} follow_step;

static follow_step follow_over_step(const joint_step *c) {
    const skel__joint *j = c->j;
    const skel__conserving_joint_start *at = c->start;
    follow_step f = {.outer = {at->outer, outer_end(c)}, .inner = {at->inner, inner_end(c)}};

    const skel__twist e0 = at->follow_error;
    const skel__twist e1 = skel__follow_error(j, f.outer[1], f.inner[1], at->target + 4);
    const double w = SKEL__TURN * j->follow.frequency;
    const double share = spring_end_share(w, c->h);
    f.stiff = w * w * share;
    f.damp = 2.0 * j->follow.damping * w / c->h;

    f.change = skel__follow_change(j, f.outer, f.inner, at->target);
    const v3 shift = v3_mad(v3_scale(e0.v, 1.0 - share), share, e1.v);
    const v3 rotation = v3_mad(v3_scale(e0.w, 1.0 - share), share, e1.w);
    f.acceleration.v = v3_add(v3_scale(shift, w * w), v3_scale(f.change.v, f.damp));
    f.acceleration.w = v3_add(v3_scale(rotation, w * w), v3_scale(f.change.w, f.damp));
    return f;
}

/* An impulse of the spring with the bound of its force or torque. */
typedef struct bounded_impulse {
    v3 full, impulse;     /* without and with the bound */
    double bound, factor; /* bound; h weight bound */
} bounded_impulse;

static bounded_impulse bound_impulse(const joint_step *c, v3 inertia_times_acceleration) {
    const double weight = c->h * c->start->follow_weight;
    bounded_impulse p = {.full = v3_scale(inertia_times_acceleration, weight)};
    p.bound = skel__follow_bound(c->j, v3_scale(p.full, 1.0 / c->h));
    p.impulse = v3_scale(p.full, p.bound);
    p.factor = weight * p.bound;
    return p;
}

/* d (f / sqrt(1 + f^2/max^2)): smaller along f if f is near the bound. */
static m3 bound_derivative(const joint_step *c, const bounded_impulse *p) {
    const v3 u = v3_scale(p->full, p->bound / (c->h * c->j->follow.max));
    return m3_sub_outer(m3_identity(), 1.0, u, u);
}

/* The spring along the displacements of the joint. */
static void add_follow_force(const joint_step *c, const follow_step *f) {
    skel__conserving_joint *out = c->out;
    const double mass = c->s->follow_mass[c->index];
    const bounded_impulse p = bound_impulse(c, v3_scale(f->acceleration.v, mass));

    out->force = v3_add(out->force, p.impulse);
    for (int k = 0; k < c->length_count; ++k) {
        const displacement *x = &c->length[k];
        const v3 z = c->a.e[x->axis];
        out->motor -= v3_dot(p.impulse, z) * x->change / c->h;
        if (!c->to) continue;
        const v3 along = c->length_count == 1 ? p.impulse : v3_scale(z, v3_dot(p.impulse, z));
        add_axial_derivative(c, x, along, p.factor * (f->stiff + f->damp) * mass);
    }
}

/* The spring about the axes of the joint. The inertia rotates with the body within the step. Along
   a straight rope it is almost zero, across it that of everything that hangs there. An inertia
   with the axes of the start would mix the two and twist the rope. */
static void add_follow_torque(const joint_step *c, const follow_step *f) {
    const skel__joint *j = c->j;
    const m3 inertia1 = skel__follow_inertia(c->s, c->em->r1, c->index);
    const m3 inertia = m3_scale(m3_add(c->start->follow_inertia, inertia1), 0.5);
    const bounded_impulse p = bound_impulse(c, m3_mulv(inertia, f->acceleration.w));

    c->out->torque = v3_add(c->out->torque, p.impulse);
    c->out->motor += v3_dot(p.impulse, relative_spin(c));
    if (!c->to) return;

    m3 by_error[2], by_change[2], stiff[2];
    skel__follow_error_slopes(j, f->outer[1], f->inner[1], c->start->target + 4, by_error);
    skel__follow_change_slopes(j, f->outer[1], f->inner[1], f->change.w, by_change);
    for (int e = 0; e < 2; ++e) {
        const m3 all = m3_add(m3_scale(by_error[e], f->stiff), m3_scale(by_change[e], f->damp));
        stiff[e] = m3_scale(m3_mul(inertia, all), p.factor);

        /* The inertia rotates with the body that follows. */
        if (skel__follow_body(c->s->m, j) == (e ? j->b : j->a)) {
            const m3 by_axes = rotation_derivative(inertia1, f->acceleration.w);
            stiff[e] = m3_add(stiff[e], m3_scale(by_axes, 0.5 * p.factor));
        }
        if (p.bound != 1.0) stiff[e] = m3_mul(bound_derivative(c, &p), stiff[e]);
    }
    add_torque_derivative(c->to, stiff[0], stiff[1]);
}

/* Spring toward the animation, implicit in the error at the end of the step. */
static void add_follow_load(const joint_step *c) {
    const follow_step f = follow_over_step(c);
    if (c->length_count > 0) add_follow_force(c, &f);
    if (skel__has_rotations(c->j->type)) add_follow_torque(c, &f);
}

/* ---- limits, spring and muscle ---- */

/* Bits of the stops that a coordinate reached in the step: 1 low, 2 high. */
static int stops_reached(const skel_state *s, int32_t joint, int k, double start, double end) {
    const skel__joint *j = &s->m->joint[joint];
    if (!skel__has_stop(j)) return 0;

    const double low = skel__stop_edge(s, joint, k, 0);
    const double high = skel__stop_edge(s, joint, k, 1);
    const int is_low_reached = !is_swing(j, k) && start > low && end <= low;
    const int is_high_reached = start < high && end >= high;
    return is_low_reached | is_high_reached << 1;
}

/* Torque along the gradient of an angle, which went from c0 to c1 (`end`, without full turns) while
   the joint rotated by `rotation`. The mean gradient g is corrected along the rotation so that
   g.rotation is exactly the change of the coordinate. The work of the torque is then that of the
   joint force. */
static void add_angle_force(const joint_step *c, const skel__joint_force *e, int k, v3 rotation,
                            const skel__coordinate *c1, double end, const pose frames[2]) {
    const skel__coordinate *c0 = &c->start->c[k];
    if (e->force == 0 && e->slope == 0) return;

    const v3 g = corrected_gradient(mean(c0->gradient, c1->gradient), rotation, c0->c, end);
    c->out->torque = v3_mad(c->out->torque, -c->h * e->force, g);
    if (!c->to) return;

    /* The rotation of g is left out far from the solution: the forces of the first iterates at a
       stop are much too large, and with them this term would mislead Newton's method. */
    const m3 stiff = m3_sub_outer(m3_zero(), -c->h * e->slope, g, c1->gradient);
    m3 by[2] = {m3_zero(), m3_zero()};
    if (c->em->is_near_solution)
        skel__coordinate_gradient_turns(c->j, frames[0], frames[1], c1, k, by);
    const double half = 0.5 * c->h * e->force;
    add_torque_derivative(c->to, m3_sub(stiff, m3_scale(by[0], half)),
                          m3_sub(m3_scale(stiff, -1.0), m3_scale(by[1], half)));
}

static void add_joint_forces(const joint_step *c) {
    const skel_state *s = c->s;
    const skel__joint *j = c->j;
    const skel__conserving_joint_start *at = c->start;
    skel__conserving_joint *out = c->out;
    const v3 rotation = v3_scale(
        v3_sub(m3_mulv(s->r[j->b], c->em->w[j->b]), m3_mulv(s->r[j->a], c->em->w[j->a])), c->h);

    /* A small rotation reaches no stop, and nothing else acts. */
    skel__stop_prediction *stop = c->em->stop_prediction + 4 * (size_t)c->index;
    for (int k = 0; k < 4; ++k) stop[k].is_used = 0;
    if (v3_norm(rotation) < at->free_rotation) return;
    out->is_near_stop = 1;

    const pose frames[2] = {outer_end(c), inner_end(c)};
    const double muscle = j->muscle_index >= 0 ? s->internal[j->muscle_index] : 0;
    skel__coordinate c1[2];
    skel__coordinates_of(j, frames[0], frames[1], c1);

    for (int k = 0; k < at->coordinate_count; ++k) {
        /* Angles change by less than half a turn in a step. */
        const double start = at->c[k].c;
        double end = c1[k].c;
        const int is_length = skel__is_length(j->type, k);
        if (!is_length) end -= SKEL__TURN * nearbyint((end - start) / SKEL__TURN);

        const skel__joint_force e =
            skel__joint_force_over(s, c->index, k, start, end, c->h, at->inertia[k], c->t, muscle,
                                   is_length ? NULL : stop + 2 * k);
        c->em->gradient[2 * c->index + k] = c1[k].gradient;
        out->stops_reached |= stops_reached(s, c->index, k, start, end) << (2 * k);
        out->friction += e.friction;
        out->motor += e.motor;
        out->stored += e.stored;
        if (k == 0 && j->muscle_index >= 0) c->em->internal_end[j->muscle_index] = e.internal;

        if (is_length) {
            const v3 impulse = v3_scale(c->a.e[c->length[k].axis], -c->h * e.force);
            out->force = v3_add(out->force, impulse);
            if (c->to) add_axial_derivative(c, &c->length[k], impulse, -c->h * e.slope);
        } else
            add_angle_force(c, &e, k, rotation, &c1[k], end, frames);
    }
}

/* ---- start of the step ---- */

/* Largest rotation over the step [rad] that reaches no stop, or -1 if forces act in any case. A
   coordinate changes at most by the rotation times the norm of its gradient. That norm is at most
   2, for the twist of a ball as long as its swing stays below 2/3 of half a turn. */
static double free_rotation(const skel_state *s, int32_t joint,
                            const skel__conserving_joint_start *at) {
    const skel__joint *j = &s->m->joint[joint];
    const int acts_always =
        j->spring.stiffness > 0 || j->spring.damping > 0 || j->muscle_index >= 0;
    if (skel__is_length(j->type, 0) || !skel__has_stop(j) || acts_always) return -1;

    double nearest = INFINITY;
    for (int k = 0; k < at->coordinate_count; ++k) {
        const double c = at->c[k].c;
        if (!is_swing(j, k)) nearest = fmin(nearest, c - skel__stop_edge(s, joint, k, 0));
        nearest = fmin(nearest, skel__stop_edge(s, joint, k, 1) - c);
    }
    if (j->type == SKEL_JOINT_BALL) nearest = fmin(nearest, JOINT_SWING_MAX_RAD - at->c[0].c);
    return 0.5 * nearest;
}

static void begin_frames(const skel_state *s, const skel__joint *j,
                         skel__conserving_joint_start *at) {
    for (int side = 0; side < 2; ++side) {
        const int32_t i = side == 0 ? j->a : j->b;
        const m3 *axes = side == 0 ? &j->ea : &j->eb;
        at->r[side] = m3_mulv(s->r[i], side == 0 ? j->fa.p : j->fb.p);
        for (int k = 0; k < 3; ++k) at->e[side][k] = m3_mulv(s->r[i], axes->r[k]);
    }
    at->outer = pose_mul(skel__pose_of(s->x, j->a), j->fa);
    at->inner = pose_mul(skel__pose_of(s->x, j->b), j->fb);
}

static void begin_joint_forces(const skel_state *s, int32_t joint,
                               skel__conserving_joint_start *at) {
    const skel__joint *j = &s->m->joint[joint];
    at->coordinate_count = skel__coordinates_of(j, at->outer, at->inner, at->c);
    for (int k = 0; k < at->coordinate_count; ++k) {
        at->inertia[k] = 1;
        if (skel__has_stop(j))
            at->inertia[k] = skel__joint_force_inertia(s, s->r, joint, at->c[k].gradient);
    }
    at->free_rotation = free_rotation(s, joint, at);
}

static void begin_follow(const skel_state *s, int32_t joint, double h,
                         skel__conserving_joint_start *at) {
    const skel__joint *j = &s->m->joint[joint];
    for (int e = 0; e < 2; ++e) skel__follow_target(j, s->t + e * h, at->target + 4 * e);
    at->follow_error = skel__follow_error(j, at->outer, at->inner, at->target);
    at->follow_weight = skel__follow_weight(j, s->t + 0.5 * h);
    at->follow_inertia = skel__follow_inertia(s, s->r, joint);
}

/* A ball joint of the spanning tree on which nothing acts but its constraint. */
static int is_plain_ball(const skel_model *m, int32_t joint) {
    const skel__joint *j = &m->joint[joint];
    const int has_motor = j->motor != 0 || j->motor_curve.count != 0;
    const int has_load = j->friction != 0 || has_motor || j->follow.frequency > 0;
    if (j->type != SKEL_JOINT_BALL || has_load || skel__joint_has_forces(j)) return 0;
    return joint < m->nj && m->body[j->reversed ? j->a : j->b].joint == joint;
}

void skel__conserving_joints_begin(skel_state *s, double h) {
    const skel_model *m = s->m;

    for (int32_t k = 0; k < m->nj + m->npin; ++k) {
        const skel__joint *j = &m->joint[k];
        skel__conserving_joint_start *at = &s->integrator->conserving->start[k];
        at->is_plain_ball = is_plain_ball(m, k);
        at->is_inner_ball =
            at->is_plain_ball && skel__is_dynamic(m, j->a) && skel__is_dynamic(m, j->b);

        const int is_open_pin = k >= m->nj && !s->is_pinned[k - m->nj];
        if (at->is_inner_ball || is_open_pin) continue;

        begin_frames(s, j, at);
        skel__conserving_friction_begin(s, k, h);
        if (skel__joint_has_forces(j)) begin_joint_forces(s, k, at);
        if (j->follow.frequency > 0) begin_follow(s, k, h, at);
    }
}

/* ---- all terms ---- */

/* Largest constraint, lengths relative to `size` [m]. */
static double violation_of(const joint_step *c, int axis_row_count, double size) {
    const skel__conserving_joint *out = c->out;
    const int length_rows = out->rows - axis_row_count;
    double violation = 0;

    for (int k = 0; k < out->rows; ++k) {
        const double e = fabs(out->g[k]) / (k < length_rows ? size : 1.0);
        if (!(e <= violation)) violation = e;
    }

    /* e.z = 0 has a second root, with parallel axes of opposite directions. */
    if (axis_row_count >= 2 && v3_dot(c->a.e1[2], c->b.e1[2]) < 0) return INFINITY;
    return violation;
}

static void set_displacements(joint_step *c, v3 gap1) {
    const skel_state *s = c->s;
    const v3 on_a = v3_add(s->x[c->j->a].p, c->a.r0), on_b = v3_add(s->x[c->j->b].p, c->b.r0);
    const v3 gap0 = v3_sub(on_a, on_b);

    c->length_count = skel__length_count(c->j->type);
    for (int k = 0; k < c->length_count; ++k) {
        const int axis = skel__joint_motions[c->j->type].freedom[k].axis;
        c->length[k] = displacement_of(&c->a, &c->b, axis, gap0, gap1);
    }
}

void skel__conserving_joint_terms(const skel_state *s, const skel__conserving *em, int32_t joint,
                                  double h, double t, skel__conserving_joint *out,
                                  skel__conserving_blocks *blocks) {
    const skel__joint *j = &s->m->joint[joint];
    const double *lambda = em->lambda + 6 * (size_t)joint;
    const double beta = skel__motor_at(j, t);
    const int with_axes = j->type != SKEL_JOINT_BALL || beta != 0;

    memset(out, 0, sizeof *out);
    out->rows = skel__joint_rows(j->type);

    joint_step c;
    c.s = s;
    c.em = em;
    c.j = j;
    c.start = &em->start[joint];
    c.index = joint;
    c.h = h;
    c.t = t;
    c.out = out;
    c.to = blocks;
    c.length_count = 0;
    set_side(&c, 0, with_axes, &c.a);
    set_side(&c, 1, with_axes, &c.b);

    /* Constraints. */
    const v3 gap1 = v3_sub(v3_add(em->p1[j->a], c.a.r1), v3_add(em->p1[j->b], c.b.r1));
    if (skel__joint_kinds[j->type].is_through_point)
        add_point_rows(&c, lambda, gap1);
    else {
        set_displacements(&c, gap1);
        add_lock_rows(&c, lambda, gap1);
    }
    const int axis_row_count = add_axis_rows(&c, lambda);

    /* Forces along the free coordinates. */
    if (j->friction != 0 || beta != 0) {
        for (int k = 0; k < c.length_count; ++k) add_axial_load(&c, &c.length[k], beta);
        if (skel__has_rotations(j->type)) add_rotational_load(&c, beta);
    }
    if (j->follow.frequency > 0) add_follow_load(&c);
    if (skel__joint_has_forces(j)) add_joint_forces(&c);

    out->violation = violation_of(&c, axis_row_count, s->m->length_scale + v3_norm(out->point));
}
