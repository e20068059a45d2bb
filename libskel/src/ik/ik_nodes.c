/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of inverse kinematics: where they are, how they move, and what limits them.
   A ball moves in the exponential map of its inner axes, q <- q exp(delta): no Euler angles, no
   place where it is singular. Its limits are the angle of an axis from where it was (cone), the
   twist about it, and, from frame to frame, the angle moved. */
#include "ik/ik.h"

#include <string.h>

#define IK_LIMIT_MARGIN_RAD                                                                        \
    1e-12 /* [rad]: so far inside do balls stop, for those who measure again */

/* The node's frame before it moves: its constants, carried by the parent. */
static inline void carry(const skel_ik *ik, const skel__ik_node *n, m3 *f, v3 *o) {
    if (n->parent < 0) {
        *f = n->r, *o = n->p;
        return;
    }
    const skel__ik_node_pose *up = &ik->iterate.node_pose[n->parent];
    *f = m3_mul(up->r, n->r);
    *o = v3_add(up->o, m3_mulv(up->r, n->p));
}

void skel__ik_fk(skel_ik *ik, const double *x) {
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        skel__ik_node_pose *at = &ik->iterate.node_pose[i];
        const double *q = x + n->x_offset;
        m3 f;
        carry(ik, n, &f, &at->o);
        switch (n->kind) {
        case SKEL__NODE_HINGE: { /* f Rz(q): the first two columns turn */
            const double angle = n->sign * q[0], c = cos(angle), s = sin(angle);
            for (int k = 0; k < 3; ++k) {
                at->r.r[k].x = c * f.r[k].x + s * f.r[k].y;
                at->r.r[k].y = c * f.r[k].y - s * f.r[k].x;
                at->r.r[k].z = f.r[k].z;
            }
            at->axis[0] = v3_scale(m3_column(f, 2), n->sign);
            break;
        }
        case SKEL__NODE_SLIDE:
            at->r = f;
            at->axis[0] = v3_scale(m3_column(f, 2), n->sign);
            at->o = v3_mad(at->o, q[0], at->axis[0]);
            break;
        case SKEL__NODE_BALL: {
            const quat r = n->sign < 0 ? q_conj(q_of(q)) : q_of(q);
            at->r = m3_mul(f, q_matrix(r));
            for (int k = 0; k < 3; ++k) /* inner axes: behind the motion, or before its inverse */
                at->axis[k] = n->sign < 0 ? v3_neg(m3_column(f, k)) : m3_column(at->r, k);
            break;
        }
        default: /* a free root's shift, in the world */
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
        n->r = q_matrix(f.q), n->p = f.p;
    }
}

void skel__ik_rebase_anchor(const skel_ik *ik, skel__ik_anchor *a) {
    const pose f = a->node < 0 ? pose_mul(ik->problem.base[a->base], a->given) : a->given;
    a->r = q_matrix(f.q), a->p = f.p;
}

/* ---- limits ---- */

int32_t skel__ik_columns(const skel__ik_node *n) {
    return n->kind == SKEL__NODE_HINGE || n->kind == SKEL__NODE_SLIDE ? 1 : 3;
}

int32_t skel__ik_coordinates(const skel__ik_node *n) {
    switch (n->kind) {
    case SKEL__NODE_BALL: return 4;
    case SKEL__NODE_SHIFT: return 3;
    default: return 1;
    }
}

/* Swing and twist about a unit axis: r = swing twist. */
static void split(quat r, v3 axis, quat *swing, double *twist) {
    const double sign = r.w < 0 ? -1.0 : 1.0;
    *twist = 2.0 * atan2(sign * v3_dot(q_vec(r), axis), sign * r.w);
    *swing = q_mul(r, q_conj(q_exp(v3_scale(axis, *twist))));
}

/* The nearest whole turns bring the twist into the turn around the middle of its limits. */
static double twist_near(const skel__joint *j, double twist) {
    const double middle = 0.5 * (j->limits.low[1] + j->limits.high[1]);
    return twist - SKEL__TURN * nearbyint((twist - middle) / SKEL__TURN);
}

static quat into_cone(const skel__joint *j, quat r) {
    quat swing;
    double twist;
    split(r, j->limit_axis, &swing, &twist);
    v3 lean = q_log(swing);
    const double most = fmax(j->limits.high[0] - IK_LIMIT_MARGIN_RAD, 0.0), angle = v3_norm(lean);
    const double near = twist_near(j, twist);
    const double low = j->limits.low[1] + IK_LIMIT_MARGIN_RAD,
                 high = j->limits.high[1] - IK_LIMIT_MARGIN_RAD;
    const double held = low > high ? 0.5 * (low + high) : fmin(fmax(near, low), high);
    if (angle <= most && held == near) return r;
    if (angle > most) lean = v3_scale(lean, most / angle);
    return q_mul(q_exp(lean), q_exp(v3_scale(j->limit_axis, held)));
}

static int within_step(quat from, quat to, double most) {
    return v3_norm(q_log(q_mul(q_conj(from), to))) <= most;
}

static void place_ball(const skel_ik *ik, const skel__ik_node *n, quat r, double *x) {
    r = q_unit(r);
    if (n->has_cone) r = q_unit(into_cone(&ik->model->joint[n->joint], r));
    const double most = ik->bounds.node_step[n - ik->problem.node];
    const quat from = q_of(ik->iterate.start + n->x_offset);
    if (most > 0 && !within_step(from, r, most)) { /* back along the way, still in the cone */
        const v3 way = q_log(q_mul(q_conj(from), r));
        double part = most / v3_norm(way);
        r = q_unit(q_mul(from, q_exp(v3_scale(way, part))));
        for (int k = 0; n->has_cone && k < 8; ++k) {
            const quat c = q_unit(into_cone(&ik->model->joint[n->joint], r));
            if (within_step(from, c, most)) {
                r = c;
                break;
            }
            part *= k < 6 ? 0.7 : 0.0; /* the start itself is allowed */
            r = q_unit(q_mul(from, q_exp(v3_scale(way, part))));
        }
    }
    if (q_dot(r, q_of(x)) < 0) r = q_neg(r);
    q_to(r, x);
}

void skel__ik_place_ball(const skel_ik *ik, const skel__ik_node *n, double *q) {
    place_ball(ik, n, q_of(q), q);
}

void skel__ik_step_within(const skel_ik *ik, const double *x, const double *y, double *out) {
    if (out != x) memcpy(out, x, (size_t)ik->size.coordinates * sizeof *out);
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        if (ik->problem.column_x[c] >= 0) {
            const double to = out[ik->problem.column_x[c]] + ik->problem.column_scale[c] * y[c];
            out[ik->problem.column_x[c]] = to < ik->bounds.low[c]    ? ik->bounds.low[c]
                                           : to > ik->bounds.high[c] ? ik->bounds.high[c]
                                                                     : to;
            continue;
        }
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        if (c != n->column) continue;
        double *q = out + n->x_offset;
        if (n->kind == SKEL__NODE_BALL) {
            const v3 turn = v3_scale(v3_of(y + c), ik->problem.column_scale[c]);
            place_ball(ik, n, q_mul(q_of(q), q_exp(turn)), q);
        } else {
            for (int k = 0; k < 3; ++k) q[k] += ik->problem.column_scale[c] * y[c + k];
            if (ik->bounds.node_step[ik->problem.column_node[c]] > 0) {
                const v3 from = v3_of(ik->iterate.start + n->x_offset),
                         way = v3_sub(v3_of(q), from);
                const double most = ik->bounds.node_step[ik->problem.column_node[c]],
                             far = v3_norm(way);
                if (far > most) v3_to(v3_mad(from, most / far, way), q);
            }
        }
    }
    skel__mimic_apply(ik->model, out);
}

/* y such that from moved by y is to. */
void skel__ik_difference(const skel_ik *ik, const double *from, const double *to, double *y) {
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        const double *a = from + n->x_offset, *b = to + n->x_offset;
        if (n->column != c) continue;
        if (ik->problem.column_x[c] >= 0) {
            y[c] = (b[0] - a[0]) / ik->problem.column_scale[c];
        } else {
            const v3 d = n->kind == SKEL__NODE_BALL ? q_log(q_mul(q_conj(q_of(a)), q_of(b)))
                                                    : v3_sub(v3_of(b), v3_of(a));
            v3_to(v3_scale(d, 1 / ik->problem.column_scale[c]), y + c);
        }
    }
}

void skel__ik_step_beyond(const skel_ik *ik, const double *x, const double *y, double *out) {
    if (out != x) memcpy(out, x, (size_t)ik->size.coordinates * sizeof *out);
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        double *q = out + n->x_offset;
        if (n->column != c) continue;
        if (ik->problem.column_x[c] >= 0) {
            q[0] += ik->problem.column_scale[c] * y[c];
        } else if (n->kind == SKEL__NODE_BALL) {
            q_to(q_unit(q_mul(q_of(q), q_exp(v3_scale(v3_of(y + c), ik->problem.column_scale[c])))),
                 q);
        } else {
            for (int k = 0; k < 3; ++k) q[k] += ik->problem.column_scale[c] * y[c + k];
        }
    }
    skel__mimic_apply(ik->model, out);
}

void skel__ik_blend(const skel_ik *ik, const double *a, const double *b, double w, double *out) {
    memcpy(out, a, (size_t)ik->size.coordinates * sizeof *out);
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        const double *p = a + n->x_offset, *q = b + n->x_offset;
        double *o = out + n->x_offset;
        if (n->kind == SKEL__NODE_BALL) {
            const v3 way = q_log(q_mul(q_conj(q_of(p)), q_of(q)));
            q_to(q_unit(q_mul(q_of(p), q_exp(v3_scale(way, w)))), o);
        } else {
            for (int k = 0; k < (n->kind == SKEL__NODE_SHIFT ? 3 : 1); ++k)
                o[k] = p[k] + w * (q[k] - p[k]);
        }
    }
    skel__mimic_apply(ik->model, out);
}

/* What a ball is limited by: values, what they may be at most, and how they grow with a turn in
   inner axes. Returns how many there are. */
int skel__ik_ball_limits(const skel_ik *ik, const skel__ik_node *n, double node_step,
                         const double *x, skel__ik_ball_limit bound[4]) {
    const quat r = q_of(x + n->x_offset);
    int count = 0;
    if (n->has_cone) {
        const skel__joint *j = &ik->model->joint[n->joint];
        const v3 axis = j->limit_axis, was = q_rotate(q_conj(r), axis);
        const v3 away = v3_cross(was, axis);
        const double s = v3_norm(away), angle = atan2(s, v3_dot(was, axis));
        if (s > 1e-9)
            bound[count++] = (skel__ik_ball_limit){j->limits.high[0] - IK_LIMIT_MARGIN_RAD - angle,
                                                   v3_scale(away, 1 / s)};
        const v3 v = q_vec(r);
        const double t = v3_dot(v, axis), n2 = r.w * r.w + t * t;
        const double now = twist_near(j, 2.0 * atan2(r.w < 0 ? -t : t, fabs(r.w)));
        if (n2 > 1e-12) {
            const v3 g = v3_scale(
                v3_mad(v3_mad(v3_scale(axis, r.w * r.w), r.w, v3_cross(axis, v)), t, v), 1 / n2);
            bound[count++] =
                (skel__ik_ball_limit){j->limits.high[1] - IK_LIMIT_MARGIN_RAD - now, g};
            bound[count++] =
                (skel__ik_ball_limit){now - j->limits.low[1] - IK_LIMIT_MARGIN_RAD, v3_neg(g)};
        }
    }
    if (node_step > 0) {
        const v3 way = q_log(q_mul(q_conj(q_of(ik->iterate.start + n->x_offset)), r));
        const double far = v3_norm(way);
        if (far > 1e-9)
            bound[count++] = (skel__ik_ball_limit){node_step - far, v3_scale(way, 1 / far)};
    }
    return count;
}

/* ---- seeds ---- */

/* A rotation from three numbers in 0..1, even over all rotations (Shoemake's map). */
static quat even_rotation(double a, double b, double c) {
    const double s = sqrt(1 - a), t = sqrt(a), u = SKEL__TURN * b, v = SKEL__TURN * c;
    return (quat){t * cos(v), s * sin(u), s * cos(u), t * sin(v)};
}

static quat even_in_cone(const skel__joint *j, double a, double b, double c) {
    const v3 x = v3_perpendicular(j->limit_axis), y = v3_cross(j->limit_axis, x);
    const double most = fmin(j->limits.high[0], 0.5 * SKEL__TURN);
    const double angle = acos(1 - a * (1 - cos(most))), way = SKEL__TURN * b;
    const v3 lean = v3_mad(v3_scale(x, angle * cos(way)), angle * sin(way), y);
    const double low = j->limits.low[1], high = j->limits.high[1];
    return q_mul(q_exp(lean), q_exp(v3_scale(j->limit_axis, low + c * (high - low))));
}

/* The range that seeds of a hinge or slide are drawn from: its limits; if one is missing, or they
   are farther apart than the chain is long, around where it is. */
static void seed_range(const skel_ik *ik, const skel__ik_node *n, double q, double range[2]) {
    const double low = ik->bounds.low[n->column], high = ik->bounds.high[n->column];
    const double wide = n->kind == SKEL__NODE_HINGE ? 0.5 * SKEL__TURN : ik->problem.length;

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

/* Where the numbers u (one per column, 0..1) put the nodes that move. */
void skel__ik_place_seed(const skel_ik *ik, const double *u, const double *from, double *out) {
    memcpy(out, from, (size_t)ik->size.coordinates * sizeof *out);
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        if (c != n->column) continue;
        double *q = out + n->x_offset;
        switch (n->kind) {
        case SKEL__NODE_HINGE:
        case SKEL__NODE_SLIDE: {
            double range[2];
            seed_range(ik, n, q[0], range);
            q[0] = range[0] + u[c] * (range[1] - range[0]);
            break;
        }
        case SKEL__NODE_BALL:
            place_ball(ik, n,
                       n->has_cone
                           ? even_in_cone(&ik->model->joint[n->joint], u[c], u[c + 1], u[c + 2])
                           : even_rotation(u[c], u[c + 1], u[c + 2]),
                       q);
            break;
        default:
            for (int k = 0; k < 3; ++k) q[k] += ik->problem.length * (2 * u[c + k] - 1);
        }
    }
    skel__mimic_apply(ik->model, out);
}
