/* SPDX-License-Identifier: BSD-3-Clause */
/* The tasks of inverse kinematics: the errors e that are left, the geometric Jacobian, and for
   goals in the world the curvature. With J the Jacobian of what is asked for, a step y leaves
   e - J y.
     point  e = target - p              dp = a x (p - o), or a for what shifts
     turn   e = log(T C^T)              dw = a
   The gradient of |log|^2 / 2 is exact with J: e is an eigenvector of the map between the rates of
   a rotation vector and angular velocity. */
#include "ik/ik.h"

#include <string.h>

#define IK_PARALLEL_SIN 1e-9 /* sine of an angle below which it has no plane */

/* Rotation vector of a rotation matrix. */
static v3 log_of(m3 m) {
    const v3 v = {m.r[2].y - m.r[1].z, m.r[0].z - m.r[2].x, m.r[1].x - m.r[0].y};
    const double s = v3_norm(v), c = m3_trace(m) - 1;
    if (s < 1e-5) return q_log(q_from_matrix(m)); /* none, or half a turn */
    return v3_scale(v, atan2(s, c) / s);
}

static void put(skel_ik *ik, const skel__ik_task *t, v3 e) {
    double part[3];
    double *out = ik->iterate.e + t->row;
    v3_to(v3_scale(e, t->scale), part);
    for (int k = 0, row = 0; k < 3; ++k)
        if (t->mask >> k & 1) out[row++] = part[k];
}

static double masked_norm(const skel__ik_task *t, v3 e) {
    return v3_norm((v3){t->mask & 1 ? e.x : 0.0, t->mask & 2 ? e.y : 0.0, t->mask & 4 ? e.z : 0.0});
}

/* The turn that brings the unit vector d to the unit vector u, and its angle. */
static v3 turn_between(v3 d, v3 u, double *angle) {
    const v3 c = v3_cross(d, u);
    const double s = v3_norm(c);
    *angle = atan2(s, v3_dot(d, u));
    if (s > IK_PARALLEL_SIN) return v3_scale(c, *angle / s);
    return *angle > 1 ? v3_scale(v3_perpendicular(d), *angle) : c;
}

static v3 direction(v3 from, v3 to, double *length) {
    const v3 d = v3_sub(to, from);
    *length = v3_norm(d);
    return *length > 0 ? v3_scale(d, 1 / *length) : (v3){0, 0, 1};
}

/* How an elbow M bends about the line from A to B, against a pole P: phi is the angle about the
   line's direction a from w (M seen from A) to s (P seen from A), both taken across the line;
   r = |w across| phi. Turning A, B, M, P together changes nothing, so that what a tilt of the line
   does follows from what the opposite turns of w and s would do. */
typedef struct bend {
    double r;
    v3 by_elbow, by_from, by_end, by_pole; /* gradients of r */
} bend;

static bend bend_of(v3 a_point, v3 b_point, v3 m_point, v3 p_point) {
    double length;
    const v3 a = direction(a_point, b_point, &length);
    const v3 w = v3_sub(m_point, a_point), s = v3_sub(p_point, a_point);
    const v3 wx = v3_mad(w, -v3_dot(a, w), a), sx = v3_mad(s, -v3_dot(a, s), a);
    const double w2 = v3_dot(wx, wx), s2 = v3_dot(sx, sx), far = sqrt(w2);
    bend k = {0};
    if (!(length > 0 && w2 > 1e-24 && s2 > 1e-24)) return k; /* no plane: nothing to ask for */
    const double phi = atan2(v3_dot(a, v3_cross(wx, sx)), v3_dot(wx, sx));
    const v3 gw = v3_mad(v3_scale(v3_cross(a, wx), -1 / far), phi / far, wx); /* dr/dw */
    const v3 gs = v3_scale(v3_cross(a, sx), far / s2);                        /* dr/ds */
    /* tilt of a by da = omega x a, omega = a x da: dr = -(w x gw + s x gs) . omega */
    const v3 turn = v3_add(v3_cross(w, gw), v3_cross(s, gs));
    const v3 tilt = v3_scale(v3_cross(a, turn), 1 / length); /* . d(B - A) */
    k.r = far * phi;
    k.by_elbow = gw;
    k.by_pole = gs;
    k.by_end = tilt;
    k.by_from = v3_neg(v3_add(v3_add(gw, gs), tilt));
    return k;
}

static bend bend_at(const skel_ik *ik, const skel__ik_task *t) {
    const skel__ik_frame to = skel__ik_anchor_frame(ik, &t->to);
    return bend_of(skel__ik_anchor_frame(ik, &t->from).p, skel__ik_anchor_frame(ik, &t->end).p,
                   skel__ik_anchor_frame(ik, &t->at).p, v3_add(to.p, m3_mulv(to.r, t->target)));
}

/* Masses and their places below every node, itself included. */
static v3 centre_of(skel_ik *ik) {
    double *sum = ik->iterate.mass_sums,
           *still = ik->iterate.mass_sums + 4 * (size_t)ik->size.nodes;
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        const skel__ik_node_pose *at = &ik->iterate.node_pose[i];
        sum[4 * i] = n->mass;
        v3_to(v3_mad(m3_mulv(at->r, n->mass_moment), n->mass, at->o), sum + 4 * i + 1);
    }
    v3 all = v3_of(still);
    for (int32_t i = ik->size.nodes - 1; i >= 0; --i) {
        const int32_t p = ik->problem.node[i].parent;
        if (p < 0)
            all = v3_add(all, v3_of(sum + 4 * i + 1));
        else
            for (int k = 0; k < 4; ++k) sum[4 * p + k] += sum[4 * i + k];
    }
    ik->iterate.centre = v3_scale(all, 1 / ik->problem.mass);
    return ik->iterate.centre;
}

static void plain_error(skel_ik *ik, skel__ik_task *t) {
    const v3 e = t->kind == SKEL__TASK_POINT
                     ? v3_sub(t->target, skel__ik_anchor_point(ik, &t->at))
                     : log_of(m3_mult(t->orientation, skel__ik_anchor_frame(ik, &t->at).r));
    v3_to(v3_scale(e, t->scale), ik->iterate.e + t->row);
    t->error = v3_norm(e);
}

static void error_of(skel_ik *ik, skel__ik_task *t) {
    if (t->is_plain && t->kind <= SKEL__TASK_TURN) {
        plain_error(ik, t);
        return;
    }
    const skel__ik_frame at = skel__ik_anchor_frame(ik, &t->at),
                         to = skel__ik_anchor_frame(ik, &t->to);
    double angle, length;
    v3 e;
    switch (t->kind) {
    case SKEL__TASK_POINT: e = v3_sub(t->target, m3_tmulv(to.r, v3_sub(at.p, to.p))); break;
    case SKEL__TASK_CENTRE:
        e = v3_sub(t->target, m3_tmulv(to.r, v3_sub(centre_of(ik), to.p)));
        break;
    case SKEL__TASK_TURN: e = log_of(m3_mult(t->orientation, m3_tmul(to.r, at.r))); break;
    case SKEL__TASK_AIM:
    case SKEL__TASK_ALIGN: {
        const v3 d = m3_mulv(at.r, t->axis);
        const v3 u = t->kind == SKEL__TASK_ALIGN
                         ? m3_mulv(to.r, t->to_axis)
                         : direction(at.p, v3_add(to.p, m3_mulv(to.r, t->target)), &length);
        const v3 turn = turn_between(d, u, &angle), x = v3_perpendicular(d), y = v3_cross(d, x);
        ik->iterate.e[t->row] = t->scale * v3_dot(turn, x);
        ik->iterate.e[t->row + 1] = t->scale * v3_dot(turn, y);
        t->error = angle;
        return;
    }
    case SKEL__TASK_SQUARE: {
        const double s = v3_dot(m3_mulv(at.r, t->axis), m3_mulv(to.r, t->to_axis));
        ik->iterate.e[t->row] = -t->scale * s;
        t->error = fabs(s);
        return;
    }
    default: {
        const double r = bend_at(ik, t).r;
        ik->iterate.e[t->row] = -t->scale * r;
        t->error = fabs(r);
        return;
    }
    }
    put(ik, t, e);
    t->error = masked_norm(t, e);
}

double skel__ik_errors(skel_ik *ik, const double *x, int32_t m) {
    skel__ik_fk(ik, x);
    ik->result.residual = 0;
    for (int32_t k = 0; k < ik->size.tasks && ik->problem.task[k].row < m; ++k) {
        error_of(ik, &ik->problem.task[k]);
        ik->result.residual = fmax(ik->result.residual, ik->problem.task[k].error);
    }
    double sum = 0;
    for (int32_t r = 0; r < m; ++r) sum += ik->iterate.e[r] * ik->iterate.e[r];
    return sum;
}

/* ---- Jacobian ---- */

static int shifts(const skel__ik_node *n) {
    return n->kind == SKEL__NODE_SLIDE || n->kind == SKEL__NODE_SHIFT;
}

/* Velocity of a point, of column k of a node. */
static v3 sweep(const skel__ik_node *n, const skel__ik_node_pose *at, int k, v3 point) {
    return shifts(n) ? at->axis[k] : v3_cross(at->axis[k], v3_sub(point, at->o));
}
static v3 spin(const skel__ik_node *n, const skel__ik_node_pose *at, int k) {
    return shifts(n) ? (v3){0, 0, 0} : at->axis[k];
}

static void column_put(const skel__ik_task *t, double *out, v3 d, double scale) {
    double part[3];
    v3_to(v3_scale(d, scale), part);
    for (int k = 0, row = 0; k < 3; ++k)
        if (t->mask >> k & 1) out[row++] = part[k];
}

/* What the column does to the task, in the axes of the target. */
typedef struct view {
    skel__ik_frame at, to;
    v3 d, u, x, y; /* aim and align */
    double length;
    bend pole;
    v3 target; /* in the world */
} view;

static view view_of(const skel_ik *ik, const skel__ik_task *t) {
    view v = {.at = skel__ik_anchor_frame(ik, &t->at),
              .to = skel__ik_anchor_frame(ik, &t->to),
              .length = 1};
    v.d = m3_mulv(v.at.r, t->axis);
    v.target = v3_add(v.to.p, m3_mulv(v.to.r, t->target));
    if (t->kind == SKEL__TASK_AIM || t->kind == SKEL__TASK_ALIGN) {
        v.u = t->kind == SKEL__TASK_ALIGN ? m3_mulv(v.to.r, t->to_axis)
                                          : direction(v.at.p, v.target, &v.length);
        v.x = v3_perpendicular(v.d);
        v.y = v3_cross(v.d, v.x);
    } else if (t->kind == SKEL__TASK_SQUARE) {
        v.u = v3_cross(v.d, m3_mulv(v.to.r, t->to_axis));
    } else if (t->kind == SKEL__TASK_POLE) {
        v.pole = bend_at(ik, t);
    }
    return v;
}

static double pole_rate(const skel_ik *ik, const skel__ik_task *t, const view *v,
                        const skel__ik_node *n, const skel__ik_node_pose *at, int k, int bits) {
    double rate = 0;
    if (bits & 1) rate += v3_dot(v->pole.by_elbow, sweep(n, at, k, v->at.p));
    if (bits & 2)
        rate += v3_dot(v->pole.by_from, sweep(n, at, k, skel__ik_anchor_frame(ik, &t->from).p));
    if (bits & 4)
        rate += v3_dot(v->pole.by_end, sweep(n, at, k, skel__ik_anchor_frame(ik, &t->end).p));
    if (bits & 8) rate += v3_dot(v->pole.by_pole, sweep(n, at, k, v->target));
    return rate;
}

static void column_of(const skel_ik *ik, const skel__ik_task *t, const view *v,
                      const skel__ik_link *link, int k, double *out) {
    const skel__ik_node *n = &ik->problem.node[link->node];
    const skel__ik_node_pose *at = &ik->iterate.node_pose[link->node];
    const double s = ik->problem.column_scale[n->column + k] * t->scale * link->sign;
    switch (t->kind) {
    case SKEL__TASK_POINT:
        column_put(t, out, m3_tmulv(v->to.r, sweep(n, at, k, v->at.p)), s);
        break;
    case SKEL__TASK_CENTRE: { /* bit 2: the node moves what the target is in as well */
        const double *sum = ik->iterate.mass_sums + 4 * (size_t)link->node;
        const v3 lever = v3_mad(v3_of(sum + 1), -sum[0], at->o);
        v3 d = shifts(n) ? v3_scale(at->axis[k], sum[0]) : v3_cross(at->axis[k], lever);
        d = v3_scale(d, 1 / ik->problem.mass);
        if (link->sign & 2) d = v3_sub(d, sweep(n, at, k, ik->iterate.centre));
        column_put(t, out, m3_tmulv(v->to.r, d),
                   ik->problem.column_scale[n->column + k] * t->scale);
        break;
    }
    case SKEL__TASK_TURN: column_put(t, out, m3_tmulv(v->to.r, spin(n, at, k)), s); break;
    case SKEL__TASK_ALIGN:
    case SKEL__TASK_AIM: {
        v3 w = spin(n, at, k);
        if (t->kind == SKEL__TASK_AIM) { /* the direction turns as the point moves */
            const v3 moved = sweep(n, at, k, link->sign > 0 ? v->at.p : v->target);
            if (link->sign < 0) w = (v3){0, 0, 0};
            const v3 du = v3_scale(moved, -1 / v->length);
            w = link->sign > 0 ? v3_sub(w, v3_cross(v->u, du)) : v3_cross(v->u, v3_neg(du));
        }
        out[0] = s * v3_dot(w, v->x);
        out[1] = s * v3_dot(w, v->y);
        break;
    }
    case SKEL__TASK_SQUARE: out[0] = s * v3_dot(spin(n, at, k), v->u); break;
    default:
        out[0] = ik->problem.column_scale[n->column + k] * t->scale *
                 pole_rate(ik, t, v, n, at, k, link->sign);
    }
}

/* Point or turn in the world, with all axes: what most goals are. Both at once where both are
   asked of one body. */
static void plain_columns(skel_ik *ik, const skel__ik_task *point, const skel__ik_task *turn) {
    const skel__ik_task *t = point ? point : turn;
    const size_t stride = (size_t)ik->size.rows;
    const v3 p = point ? skel__ik_anchor_point(ik, &point->at) : (v3){0, 0, 0};
    for (int32_t l = 0; l < t->link_count; ++l) {
        const int32_t i = ik->problem.link[t->first_link + l].node;
        const skel__ik_node *n = &ik->problem.node[i];
        const skel__ik_node_pose *at = &ik->iterate.node_pose[i];
        const int32_t nc = skel__ik_columns(n);
        double *to = ik->iterate.jacobian_t + (size_t)n->column * stride;
        for (int k = 0; k < nc; ++k, to += stride) {
            const double s = ik->problem.column_scale[n->column + k];
            if (point) v3_to(v3_scale(sweep(n, at, k, p), s * point->scale), to + point->row);
            if (turn) v3_to(v3_scale(spin(n, at, k), s * turn->scale), to + turn->row);
        }
    }
}

static int is_plain(const skel__ik_task *t, int32_t kind) {
    return t->is_plain && t->kind == kind;
}

/* Chain rule: what a node does that goes with another, the other one does. */
static void add_followers(skel_ik *ik, int32_t m) {
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->source < 0 || n->column < 0) continue;
        const double *from = ik->iterate.jacobian_t + (size_t)n->column * (size_t)ik->size.rows;
        double *to = ik->iterate.jacobian_t +
                     (size_t)ik->problem.node[n->source].column * (size_t)ik->size.rows;
        for (int32_t r = 0; r < m; ++r) to[r] += from[r];
    }
}

void skel__ik_jacobian(skel_ik *ik, int32_t m) {
    if (!ik->problem.is_jacobian_full)
        memset(ik->iterate.jacobian_t, 0,
               (size_t)ik->size.all_columns * (size_t)ik->size.rows *
                   sizeof *ik->iterate.jacobian_t);
    for (int32_t i = 0; i < ik->size.tasks && ik->problem.task[i].row < m; ++i) {
        const skel__ik_task *t = &ik->problem.task[i];
        if (is_plain(t, SKEL__TASK_POINT) || is_plain(t, SKEL__TASK_TURN)) {
            const int pair = t->kind == SKEL__TASK_POINT && i + 1 < ik->size.tasks &&
                             t[1].row < m && is_plain(t + 1, SKEL__TASK_TURN) &&
                             t[1].goal == t->goal && t[1].link_count == t->link_count;
            plain_columns(ik, t->kind == SKEL__TASK_POINT ? t : NULL,
                          pair                         ? t + 1
                          : t->kind == SKEL__TASK_TURN ? t
                                                       : NULL);
            i += pair;
            continue;
        }
        const view v = view_of(ik, t);
        for (int32_t l = 0; l < t->link_count; ++l) {
            const skel__ik_link *link = &ik->problem.link[t->first_link + l];
            const skel__ik_node *n = &ik->problem.node[link->node];
            const int32_t nc = skel__ik_columns(n);
            for (int k = 0; k < nc; ++k)
                column_of(ik, t, &v, link, k,
                          ik->iterate.jacobian_t + (size_t)(n->column + k) * (size_t)ik->size.rows +
                              t->row);
        }
    }
    if (ik->size.all_columns > ik->size.columns) add_followers(ik, m);
}

/* ---- curvature ---- */

/* Of |e|^2 / 2, what J^T J leaves out, subtracted from h (n x n, lower triangle). For columns i
   before j on the way to the point: p_ij = a_i x p_j; within a ball, whose map is exponential, the
   mean of both orders. For the turn, with H the Hessian of theta^2 / 2 on the rotations,
     H = u u^T + (theta / 2) cot(theta / 2) (1 - u u^T),   h_ij = a_i H a_j - e . (a_i x a_j) / 2.
   Only for tasks whose target stands still. */
static double bent(const skel__ik_task *t, v3 e, const skel__ik_node *ni,
                   const skel__ik_node_pose *pi, int ki, const skel__ik_node *nj,
                   const skel__ik_node_pose *pj, int kj, v3 p) {
    const v3 ai = pi->axis[ki], aj = pj->axis[kj];
    if (t->kind == SKEL__TASK_POINT) {
        if (shifts(ni)) return 0;
        const v3 d = v3_cross(ai, sweep(nj, pj, kj, p));
        if (ni != nj || ki == kj) return v3_dot(e, d);
        return 0.5 * v3_dot(e, v3_add(d, v3_cross(aj, sweep(ni, pi, ki, p))));
    }
    if (shifts(ni) || shifts(nj)) return 0;
    const double theta = v3_norm(e), half = 0.5 * theta;
    const double k = theta < 1e-4 ? theta * theta / 12 : 1 - half * cos(half) / sin(half);
    const v3 u = theta > 0 ? v3_scale(e, 1 / theta) : e;
    const double flat = k * (v3_dot(ai, aj) - v3_dot(u, ai) * v3_dot(u, aj));
    return flat + (ni == nj ? 0.0 : 0.5 * v3_dot(e, v3_cross(ai, aj)));
}

/* Column that a node moves by: its own, or its leader's. */
static size_t column_at(const skel_ik *ik, const skel__ik_node *n, int k) {
    return (size_t)(n->source < 0 ? n->column + k : ik->problem.node[n->source].column);
}

static void curve_task(const skel_ik *ik, const skel__ik_task *t, double *h) {
    double part[3] = {0, 0, 0};
    const view v = view_of(ik, t);
    for (int k = 0, row = 0; k < 3; ++k)
        if (t->mask >> k & 1) part[k] = ik->iterate.e[t->row + row++] / t->scale;
    const v3 e = m3_mulv(v.to.r, v3_of(part));
    const size_t n = (size_t)ik->size.columns;
    for (int32_t a = 0; a < t->link_count; ++a)
        for (int32_t b = a; b < t->link_count; ++b) {
            const int32_t ia = ik->problem.link[t->first_link + a].node,
                          ib = ik->problem.link[t->first_link + b].node;
            const skel__ik_node *na = &ik->problem.node[ia], *nb = &ik->problem.node[ib];
            for (int i = 0; i < skel__ik_columns(na); ++i)
                for (int j = a == b ? i : 0; j < skel__ik_columns(nb); ++j) {
                    const size_t ci = column_at(ik, na, i), cj = column_at(ik, nb, j);
                    const double c = bent(t, e, na, &ik->iterate.node_pose[ia], i, nb,
                                          &ik->iterate.node_pose[ib], j, v.at.p);
                    const double both = a != b && ci == cj ? 2 : 1; /* ij and ji fall together */
                    h[(ci > cj ? ci * n + cj : cj * n + ci)] -=
                        both * t->scale * t->scale * ik->problem.column_scale[na->column + i] *
                        ik->problem.column_scale[nb->column + j] * c;
                }
        }
}

void skel__ik_curvature(const skel_ik *ik, int32_t m, double *h) {
    for (int32_t i = 0; i < ik->size.tasks && ik->problem.task[i].row < m; ++i) {
        const skel__ik_task *t = &ik->problem.task[i];
        if ((t->kind == SKEL__TASK_POINT || t->kind == SKEL__TASK_TURN) && t->to.node < 0)
            curve_task(ik, t, h);
    }
}
