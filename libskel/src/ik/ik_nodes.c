/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of inverse kinematics: forward kinematics, motion by a step, limits and seeds.

   A ball moves by the exponential map in its inner axes, q <- q exp(delta). It has no Euler angles
   and therefore no singularity. Its limits are the angle of an axis from its zero position (cone),
   the twist about this axis and, while tracking, the rotation since the start of the solve. */
#include "ik/ik.h"

#include <string.h>

#define IK_LIMIT_MARGIN_RAD 1e-12 /* balls stop this far inside, so that rounding is not beyond */
#define IK_BALL_ANGLE_MIN 1e-9    /* [rad]: below it an angle has no gradient */
#define IK_TWIST_NORM2_MIN 1e-12  /* below it (half a turn of swing) the twist is undefined */
#define IK_BALL_CONE_TRIES 8      /* attempts to satisfy cone and step bound together */

/* ---- forward kinematics ---- */

/* Frame of a node before its own motion: *f is its orientation, *o its origin. */
static inline void carry(const skel_ik *ik, const skel__ik_node *n, m3 *f, v3 *o) {
    if (n->parent < 0) {
        *f = n->r;
        *o = n->p;
        return;
    }
    const skel__ik_node_pose *parent = &ik->iterate.node_pose[n->parent];
    *f = m3_mul(parent->r, n->r);
    *o = v3_add(parent->o, m3_mulv(parent->r, n->p));
}

/* r = f Rz(angle): the first two columns of f turn. */
static inline m3 turned(m3 f, double angle) {
    const double c = cos(angle), s = sin(angle);
    m3 r;
    for (int k = 0; k < 3; ++k) {
        r.r[k].x = c * f.r[k].x + s * f.r[k].y;
        r.r[k].y = c * f.r[k].y - s * f.r[k].x;
        r.r[k].z = f.r[k].z;
    }
    return r;
}

static inline void pose_axis(const skel__ik_node *n, const double *q, m3 f,
                             skel__ik_node_pose *at) {
    at->r = n->turn != 0 ? turned(f, n->sign * q[0]) : f;
    at->axis[0] = v3_scale(m3_column(f, 2), n->sign);
    if (n->shift != 0) at->o = v3_mad(at->o, n->shift * q[0], at->axis[0]);
}

/* The axes are those of the inner frame. It is the frame after the motion, or, if the tree passes
   the joint backwards, the frame before it. */
static inline void pose_ball(const skel__ik_node *n, const double *q, m3 f,
                             skel__ik_node_pose *at) {
    const quat r = n->sign < 0 ? q_conj(q_of(q)) : q_of(q);
    at->r = m3_mul(f, q_matrix(r));
    for (int k = 0; k < 3; ++k)
        at->axis[k] = n->sign < 0 ? v3_neg(m3_column(f, k)) : m3_column(at->r, k);
}

void skel__ik_fk(skel_ik *ik, const double *x) {
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        skel__ik_node_pose *at = &ik->iterate.node_pose[i];
        const double *q = x + n->x_offset;
        m3 f;
        carry(ik, n, &f, &at->o);

        switch (n->kind) {
        case SKEL__NODE_AXIS: pose_axis(n, q, f, at); break;
        case SKEL__NODE_BALL: pose_ball(n, q, f, at); break;
        default: /* the position of a free root, in the world */
            at->r = f;
            at->o = v3_of(q);
            for (int k = 0; k < 3; ++k) at->axis[k] = m3_column(f, k);
        }
    }
}

skel__ik_frame skel__ik_anchor_frame(const skel_ik *ik, const skel__ik_anchor *a) {
    if (a->node < 0) return (skel__ik_frame){a->r, a->p};
    const skel__ik_node_pose *at = &ik->iterate.node_pose[a->node];
    return (skel__ik_frame){m3_mul(at->r, a->r), v3_add(at->o, m3_mulv(at->r, a->p))};
}

v3 skel__ik_anchor_point(const skel_ik *ik, const skel__ik_anchor *a) {
    if (a->node < 0) return a->p;
    const skel__ik_node_pose *at = &ik->iterate.node_pose[a->node];
    return v3_add(at->o, m3_mulv(at->r, a->p));
}

void skel__ik_rebase(skel_ik *ik) {
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        skel__ik_node *n = &ik->problem.node[i];
        const pose f = n->parent < 0 ? pose_mul(ik->problem.base[n->base], n->frame) : n->frame;
        n->r = q_matrix(f.q);
        n->p = f.p;
    }
}

void skel__ik_rebase_anchor(const skel_ik *ik, skel__ik_anchor *a) {
    const pose f = a->node < 0 ? pose_mul(ik->problem.base[a->base], a->given) : a->given;
    a->r = q_matrix(f.q);
    a->p = f.p;
}

/* ---- limits ---- */

int32_t skel__ik_columns(const skel__ik_node *n) {
    return n->kind == SKEL__NODE_AXIS ? 1 : 3;
}

int32_t skel__ik_coordinates(const skel__ik_node *n) {
    switch (n->kind) {
    case SKEL__NODE_BALL: return 4;
    case SKEL__NODE_SHIFT: return 3;
    default: return 1;
    }
}

/* Swing and twist about a unit axis: r = swing exp(twist axis). */
static void split(quat r, v3 axis, quat *swing, double *twist) {
    const double sign = r.w < 0 ? -1.0 : 1.0;
    *twist = 2.0 * atan2(sign * v3_dot(q_vec(r), axis), sign * r.w);
    *swing = q_mul(r, q_conj(q_exp(v3_scale(axis, *twist))));
}

/* The twist modulo whole turns, nearest to the middle of its limits. */
static double twist_near(const skel__joint *j, double twist) {
    const double middle = 0.5 * (j->limits.low[1] + j->limits.high[1]);
    return twist - SKEL__TURN * nearbyint((twist - middle) / SKEL__TURN);
}

/* Clamps swing and twist of a ball to their limits. */
static quat into_cone(const skel__joint *j, quat r) {
    quat swing;
    double twist;
    split(r, j->limit_axis, &swing, &twist);

    v3 lean = q_log(swing);
    const double angle = v3_norm(lean);
    const double most = fmax(j->limits.high[0] - IK_LIMIT_MARGIN_RAD, 0.0);

    const double near = twist_near(j, twist);
    const double low = j->limits.low[1] + IK_LIMIT_MARGIN_RAD;
    const double high = j->limits.high[1] - IK_LIMIT_MARGIN_RAD;
    const double clamped = low > high ? 0.5 * (low + high) : fmin(fmax(near, low), high);

    if (angle <= most && clamped == near) return r;
    if (angle > most) lean = v3_scale(lean, most / angle);
    return q_mul(q_exp(lean), q_exp(v3_scale(j->limit_axis, clamped)));
}

/* Rotation vector from one orientation to another, in inner axes. */
static inline v3 rotation_between(quat from, quat to) {
    return q_log(q_mul(q_conj(from), to));
}

static int is_within_step(quat from, quat to, double most) {
    return v3_norm(rotation_between(from, to)) <= most;
}

/* Shortens the rotation from `from` to r to the angle `most`. If the result is outside the cone, it
   is clamped; if clamping makes the rotation too long again, a shorter one is tried. The start
   itself satisfies both. */
static quat shorten(const skel_ik *ik, const skel__ik_node *n, quat from, quat r, double most) {
    const v3 rotation = rotation_between(from, r);
    double part = most / v3_norm(rotation);
    r = q_unit(q_mul(from, q_exp(v3_scale(rotation, part))));

    for (int k = 0; n->has_cone && k < IK_BALL_CONE_TRIES; ++k) {
        const quat clamped = q_unit(into_cone(&ik->model->joint[n->joint], r));
        if (is_within_step(from, clamped, most)) return clamped;
        part *= k < IK_BALL_CONE_TRIES - 2 ? 0.7 : 0.0;
        r = q_unit(q_mul(from, q_exp(v3_scale(rotation, part))));
    }
    return r;
}

/* x (4) = r within the limits of the ball, with the sign nearest to the old x. */
static void place_ball(const skel_ik *ik, const skel__ik_node *n, quat r, double *x) {
    r = q_unit(r);
    if (n->has_cone) r = q_unit(into_cone(&ik->model->joint[n->joint], r));

    const double most = ik->bounds.node_step[n - ik->problem.node];
    const quat from = q_of(ik->iterate.start + n->x_offset);
    if (most > 0 && !is_within_step(from, r, most)) r = shorten(ik, n, from, r, most);

    if (q_dot(r, q_of(x)) < 0) r = q_neg(r);
    q_to(r, x);
}

void skel__ik_place_ball(const skel_ik *ik, const skel__ik_node *n, double *q) {
    place_ball(ik, n, q_of(q), q);
}

/* Adds the limits of cone and twist.
     cone   angle of the axis a from its zero position b = R^T a; it grows with b x a
     twist  2 atan2(v.a, w) of the quaternion (w, v); its gradient is
            (w^2 a + w (a x v) + (v.a) v) / (w^2 + (v.a)^2) */
static int add_cone_limits(const skel__joint *j, quat r, skel__ik_ball_limit *bound) {
    int count = 0;
    const v3 axis = j->limit_axis, zero = q_rotate(q_conj(r), axis);
    const v3 away = v3_cross(zero, axis);
    const double s = v3_norm(away), angle = atan2(s, v3_dot(zero, axis));
    if (s > IK_BALL_ANGLE_MIN)
        bound[count++] = (skel__ik_ball_limit){j->limits.high[0] - IK_LIMIT_MARGIN_RAD - angle,
                                               v3_scale(away, 1 / s)};

    const v3 v = q_vec(r);
    const double t = v3_dot(v, axis), norm2 = r.w * r.w + t * t;
    const double twist = twist_near(j, 2.0 * atan2(r.w < 0 ? -t : t, fabs(r.w)));
    if (norm2 > IK_TWIST_NORM2_MIN) {
        const v3 sum = v3_mad(v3_scale(axis, r.w * r.w), r.w, v3_cross(axis, v));
        const v3 gradient = v3_scale(v3_mad(sum, t, v), 1 / norm2);
        bound[count++] =
            (skel__ik_ball_limit){j->limits.high[1] - IK_LIMIT_MARGIN_RAD - twist, gradient};
        bound[count++] =
            (skel__ik_ball_limit){twist - j->limits.low[1] - IK_LIMIT_MARGIN_RAD, v3_neg(gradient)};
    }
    return count;
}

int skel__ik_ball_limits(const skel_ik *ik, const skel__ik_node *n, double node_step,
                         const double *x, skel__ik_ball_limit bound[4]) {
    const quat r = q_of(x + n->x_offset);
    int count = 0;
    if (n->has_cone) count = add_cone_limits(&ik->model->joint[n->joint], r, bound);

    if (node_step > 0) {
        const v3 rotation = rotation_between(q_of(ik->iterate.start + n->x_offset), r);
        const double angle = v3_norm(rotation);
        if (angle > IK_BALL_ANGLE_MIN)
            bound[count++] =
                (skel__ik_ball_limit){node_step - angle, v3_scale(rotation, 1 / angle)};
    }
    return count;
}

/* ---- motion ---- */

static inline double clamp(double x, double low, double high) {
    if (x < low) return low;
    return x > high ? high : x;
}

/* Moves a shift by y, at most node_step away from the start of the solve. */
static void move_shift(const skel_ik *ik, const skel__ik_node *n, const double *y, double *q) {
    const double scale = ik->problem.column_scale[n->column];
    for (int k = 0; k < 3; ++k) q[k] += scale * y[k];

    const double most = ik->bounds.node_step[n - ik->problem.node];
    if (!(most > 0)) return;
    const v3 from = v3_of(ik->iterate.start + n->x_offset), shift = v3_sub(v3_of(q), from);
    const double far = v3_norm(shift);
    if (far > most) v3_to(v3_mad(from, most / far, shift), q);
}

void skel__ik_step_within(const skel_ik *ik, const double *x, const double *y, double *out) {
    if (out != x) memcpy(out, x, (size_t)ik->size.coordinates * sizeof *out);

    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const double scale = ik->problem.column_scale[c];
        if (ik->problem.column_x[c] >= 0) {
            double *q = out + ik->problem.column_x[c];
            *q = clamp(*q + scale * y[c], ik->bounds.low[c], ik->bounds.high[c]);
            continue;
        }

        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        if (c != n->column) continue;
        double *q = out + n->x_offset;
        if (n->kind == SKEL__NODE_BALL)
            place_ball(ik, n, q_mul(q_of(q), q_exp(v3_scale(v3_of(y + c), scale))), q);
        else
            move_shift(ik, n, y + c, q);
    }
    skel__mimic_apply(ik->model, out);
}

void skel__ik_step_beyond(const skel_ik *ik, const double *x, const double *y, double *out) {
    if (out != x) memcpy(out, x, (size_t)ik->size.coordinates * sizeof *out);

    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        const double scale = ik->problem.column_scale[c];
        double *q = out + n->x_offset;
        if (n->column != c) continue;

        if (ik->problem.column_x[c] >= 0) {
            q[0] += scale * y[c];
        } else if (n->kind == SKEL__NODE_BALL) {
            q_to(q_unit(q_mul(q_of(q), q_exp(v3_scale(v3_of(y + c), scale)))), q);
        } else {
            for (int k = 0; k < 3; ++k) q[k] += scale * y[c + k];
        }
    }
    skel__mimic_apply(ik->model, out);
}

void skel__ik_difference(const skel_ik *ik, const double *from, const double *to, double *y) {
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        const double scale = ik->problem.column_scale[c];
        const double *a = from + n->x_offset, *b = to + n->x_offset;
        if (n->column != c) continue;

        if (ik->problem.column_x[c] >= 0) {
            y[c] = (b[0] - a[0]) / scale;
        } else {
            const v3 d = n->kind == SKEL__NODE_BALL ? rotation_between(q_of(a), q_of(b))
                                                    : v3_sub(v3_of(b), v3_of(a));
            v3_to(v3_scale(d, 1 / scale), y + c);
        }
    }
}

void skel__ik_blend(const skel_ik *ik, const double *a, const double *b, double w, double *out) {
    memcpy(out, a, (size_t)ik->size.coordinates * sizeof *out);

    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        const double *from = a + n->x_offset, *to = b + n->x_offset;
        double *q = out + n->x_offset;
        if (n->kind == SKEL__NODE_BALL) {
            const v3 rotation = rotation_between(q_of(from), q_of(to));
            q_to(q_unit(q_mul(q_of(from), q_exp(v3_scale(rotation, w)))), q);
        } else {
            const int32_t count = skel__ik_coordinates(n);
            for (int32_t k = 0; k < count; ++k) q[k] = from[k] + w * (to[k] - from[k]);
        }
    }
    skel__mimic_apply(ik->model, out);
}

/* ---- seeds ---- */

/* Maps three numbers in 0..1 to rotations, evenly distributed over all of them (Shoemake). */
static quat even_rotation(double a, double b, double c) {
    const double s = sqrt(1 - a), t = sqrt(a), u = SKEL__TURN * b, v = SKEL__TURN * c;
    return (quat){t * cos(v), s * sin(u), s * cos(u), t * sin(v)};
}

/* The same within the limits of a ball: swing evenly over the cone's area, twist evenly. */
static quat even_in_cone(const skel__joint *j, double a, double b, double c) {
    const v3 x = v3_perpendicular(j->limit_axis), y = v3_cross(j->limit_axis, x);
    const double most = fmin(j->limits.high[0], 0.5 * SKEL__TURN);
    const double angle = acos(1 - a * (1 - cos(most))), direction = SKEL__TURN * b;
    const v3 lean = v3_mad(v3_scale(x, angle * cos(direction)), angle * sin(direction), y);

    const double low = j->limits.low[1], high = j->limits.high[1];
    return q_mul(q_exp(lean), q_exp(v3_scale(j->limit_axis, low + c * (high - low))));
}

/* Range from which seeds of an axis are drawn. It is the range of its limits. If a limit is
   missing, or the limits are very far apart, it is a range around the present coordinate q. If an
   axis rotates and displaces, a local minimum may lie one turn from the solution, on either
   side. */
static void seed_range(const skel_ik *ik, const skel__ik_node *n, double q, double range[2]) {
    const double low = ik->bounds.low[n->column], high = ik->bounds.high[n->column];
    const double turn = skel__ik_is_periodic(n) ? 0.5 * SKEL__TURN : SKEL__TURN * n->turn;
    const double wide = fmax(turn, skel__ik_unit(ik, n));

    if (n->is_wide) {
        range[0] = fmax(low, q - wide);
        range[1] = fmin(high, q + wide);
        return;
    }

    range[0] = q - wide;
    if (isfinite(high)) range[0] = high - 2 * wide;
    if (isfinite(low)) range[0] = low;
    range[1] = isfinite(high) ? high : range[0] + 2 * wide;
}

static quat seed_rotation(const skel_ik *ik, const skel__ik_node *n, const double *u) {
    if (n->has_cone) return even_in_cone(&ik->model->joint[n->joint], u[0], u[1], u[2]);
    return even_rotation(u[0], u[1], u[2]);
}

void skel__ik_place_seed(const skel_ik *ik, const double *u, const double *from, double *out) {
    memcpy(out, from, (size_t)ik->size.coordinates * sizeof *out);

    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        if (c != n->column) continue;
        double *q = out + n->x_offset;

        switch (n->kind) {
        case SKEL__NODE_AXIS: {
            double range[2];
            seed_range(ik, n, q[0], range);
            q[0] = range[0] + u[c] * (range[1] - range[0]);
            break;
        }
        case SKEL__NODE_BALL: place_ball(ik, n, seed_rotation(ik, n, u + c), q); break;
        default:
            for (int k = 0; k < 3; ++k) q[k] += ik->problem.length * (2 * u[c + k] - 1);
        }
    }
    skel__mimic_apply(ik->model, out);
}
