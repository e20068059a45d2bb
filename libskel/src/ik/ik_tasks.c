/* SPDX-License-Identifier: BSD-3-Clause */
/* The tasks of inverse kinematics: errors e, geometric Jacobian J and, for goals in the world, the
   curvature. A step y leaves the errors e - J y. With a the axis of a column, o the origin of its
   node, p the point and R the orientation of the body, T the target orientation:
     point  e = target - p     dp = a x (p - o) for a rotation, dp = a for a translation,
                               dp = a x (p - o) + shift a for both together
     turn   e = log(T R^T)     dw = a for a rotation
   The gradient of |log|^2 / 2 is exact with this J: e is an eigenvector of the map between angular
   velocities and the rates of a rotation vector. */
#include "ik/ik.h"

#include <string.h>

#define IK_PARALLEL_SIN 1e-9        /* sine below which two directions span no plane */
#define IK_LOG_SIN_MIN 1e-5         /* below it the logarithm goes through a quaternion */
#define IK_POLE_DISTANCE2_MIN 1e-24 /* [m^2]: an elbow or pole this near the line has no side */
#define IK_THREAD_NORM2_MIN 1e-12   /* below it (half a turn of swing) a twist has no gradient */
#define IK_TURN_SERIES_RAD 1e-4     /* below it 1 - (x/2) cot(x/2) is its series x^2 / 12 */

/* ---- errors ---- */

/* Rotation vector of a rotation matrix. */
static v3 log_of(m3 m) {
    const v3 v = {m.r[2].y - m.r[1].z, m.r[0].z - m.r[2].x, m.r[1].x - m.r[0].y};
    const double s = v3_norm(v), c = m3_trace(m) - 1;
    if (s < IK_LOG_SIN_MIN) return q_log(q_from_matrix(m)); /* no rotation, or half a turn */
    return v3_scale(v, atan2(s, c) / s);
}

/* Writes the components of d that the mask of the task selects. */
static void put_masked(const skel__ik_task *t, double *out, v3 d) {
    double part[3];
    v3_to(d, part);
    for (int k = 0, row = 0; k < 3; ++k)
        if (t->mask >> k & 1) out[row++] = part[k];
}

static double masked_norm(const skel__ik_task *t, v3 e) {
    return v3_norm((v3){t->mask & 1 ? e.x : 0.0, t->mask & 2 ? e.y : 0.0, t->mask & 4 ? e.z : 0.0});
}

/* Rotation vector that turns the unit vector d to the unit vector u, and its angle. */
static v3 turn_between(v3 d, v3 u, double *angle) {
    const v3 c = v3_cross(d, u);
    const double s = v3_norm(c);
    *angle = atan2(s, v3_dot(d, u));
    if (s > IK_PARALLEL_SIN) return v3_scale(c, *angle / s);
    return *angle > 1 ? v3_scale(v3_perpendicular(d), *angle) : c;
}

/* Unit vector from one point to another, and their distance. */
static v3 direction(v3 from, v3 to, double *length) {
    const v3 d = v3_sub(to, from);
    *length = v3_norm(d);
    return *length > 0 ? v3_scale(d, 1 / *length) : (v3){0, 0, 1};
}

/* An elbow M on the line from A to B, and a pole P. With a the direction of the line, w = M - A,
   s = P - A, and wx, sx their parts across the line: phi is the angle about a from wx to sx, and
   r = |wx| phi is the error. */
typedef struct bend {
    double r;                              /* [m] */
    v3 by_elbow, by_from, by_end, by_pole; /* gradients of r */
} bend;

static bend bend_of(v3 a_point, v3 b_point, v3 m_point, v3 p_point) {
    double length;
    const v3 a = direction(a_point, b_point, &length);
    const v3 w = v3_sub(m_point, a_point), s = v3_sub(p_point, a_point);
    const v3 wx = v3_mad(w, -v3_dot(a, w), a), sx = v3_mad(s, -v3_dot(a, s), a);
    const double w2 = v3_dot(wx, wx), s2 = v3_dot(sx, sx), far = sqrt(w2);

    /* If elbow or pole lie on the line, there is no plane and no error. */
    if (!(length > 0 && w2 > IK_POLE_DISTANCE2_MIN && s2 > IK_POLE_DISTANCE2_MIN)) return (bend){0};

    const double phi = atan2(v3_dot(a, v3_cross(wx, sx)), v3_dot(wx, sx));
    const v3 by_w = v3_mad(v3_scale(v3_cross(a, wx), -1 / far), phi / far, wx);
    const v3 by_s = v3_scale(v3_cross(a, sx), far / s2);

    /* Turning A, B, M and P together changes nothing. A tilt of the line da = omega x a, with
       omega = a x da, therefore acts like the opposite turn of w and s:
         dr = -(w x dr/dw + s x dr/ds) . omega */
    const v3 turn = v3_add(v3_cross(w, by_w), v3_cross(s, by_s));
    const v3 tilt = v3_scale(v3_cross(a, turn), 1 / length); /* gradient by B - A */

    return (bend){.r = far * phi,
                  .by_elbow = by_w,
                  .by_pole = by_s,
                  .by_end = tilt,
                  .by_from = v3_neg(v3_add(v3_add(by_w, by_s), tilt))};
}

/* The thread of a screw between the frames `to` and `at`. With d the distance of their origins and
   R the rotation from `at` to `to`, in the axes of `to`, the error is
     r = d.z - pitch angle, angle = atan2(N, D), N = R10 - R01, D = R00 + R11
   An angular velocity w of `at` changes the angle at the rate
     w . g, g = (N R21 - D R20, -D R21 - N R20, N^2 + D^2) / (N^2 + D^2)
   The two frames do not tell the number of turns: the turn that is nearest to d.z counts. */
typedef struct thread {
    double r;        /* [m] */
    v3 along, about; /* gradients of r by displacement and rotation of `at`, in the world */
} thread;

static thread thread_of(const skel__ik_task *t, skel__ik_frame at, skel__ik_frame to) {
    const m3 rotation = m3_tmul(to.r, at.r);
    const v3 x = rotation.r[0], y = rotation.r[1], z = rotation.r[2];
    const double n = y.x - x.y, d = x.x + y.y, norm2 = n * n + d * d;

    const v3 distance = m3_tmulv(to.r, v3_sub(at.p, to.p));
    const double off = distance.z / t->pitch - atan2(n, d);

    v3 g = {0, 0, 1};
    if (norm2 > IK_THREAD_NORM2_MIN) {
        g.x = (n * z.y - d * z.x) / norm2;
        g.y = -(d * z.y + n * z.x) / norm2;
    }
    return (thread){.r = t->pitch * (off - SKEL__TURN * nearbyint(off / SKEL__TURN)),
                    .along = m3_column(to.r, 2),
                    .about = v3_scale(m3_mulv(to.r, g), -t->pitch)};
}

static bend bend_at(const skel_ik *ik, const skel__ik_task *t) {
    const skel__ik_frame to = skel__ik_anchor_frame(ik, &t->to);
    return bend_of(skel__ik_anchor_frame(ik, &t->from).p, skel__ik_anchor_frame(ik, &t->end).p,
                   skel__ik_anchor_frame(ik, &t->at).p, v3_add(to.p, m3_mulv(to.r, t->target)));
}

/* Centre of mass. mass_sums receives the mass and the moment of the subtree of every node. */
static v3 centre_of(skel_ik *ik) {
    double *sum = ik->iterate.mass_sums;
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        const skel__ik_node_pose *at = &ik->iterate.node_pose[i];
        sum[4 * i] = n->mass;
        v3_to(v3_mad(m3_mulv(at->r, n->mass_moment), n->mass, at->o), sum + 4 * i + 1);
    }

    /* Children come after their parents, so the sums run backwards. */
    v3 all = v3_of(sum + 4 * (size_t)ik->size.nodes); /* moment of the bases */
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

/* Error of a point or turn in the world with all axes. Most goals are of this form. */
static void plain_error(skel_ik *ik, skel__ik_task *t) {
    const v3 e = t->kind == SKEL__TASK_POINT
                     ? v3_sub(t->target, skel__ik_anchor_point(ik, &t->at))
                     : log_of(m3_mult(t->orientation, skel__ik_anchor_frame(ik, &t->at).r));
    v3_to(v3_scale(e, t->scale), ik->iterate.e + t->row);
    t->error = v3_norm(e);
}

/* Two rows: the rotation from the axis d to u, in two directions across d. */
static void put_axis_error(const skel__ik_task *t, v3 d, v3 u, double *e, double *angle) {
    const v3 turn = turn_between(d, u, angle), x = v3_perpendicular(d), y = v3_cross(d, x);
    e[0] = t->scale * v3_dot(turn, x);
    e[1] = t->scale * v3_dot(turn, y);
}

/* One row: the value r must become zero. */
static void put_scalar_error(skel__ik_task *t, double r, double *e) {
    e[0] = -t->scale * r;
    t->error = fabs(r);
}

/* Three rows, or those of the mask. */
static void put_vector_error(skel__ik_task *t, v3 r, double *e) {
    put_masked(t, e, v3_scale(r, t->scale));
    t->error = masked_norm(t, r);
}

static void error_of(skel_ik *ik, skel__ik_task *t) {
    if (t->is_plain && t->kind <= SKEL__TASK_TURN) {
        plain_error(ik, t);
        return;
    }

    const skel__ik_frame at = skel__ik_anchor_frame(ik, &t->at);
    const skel__ik_frame to = skel__ik_anchor_frame(ik, &t->to);
    const v3 axis = m3_mulv(at.r, t->axis);
    double *e = ik->iterate.e + t->row, length;
    switch (t->kind) {
    case SKEL__TASK_POINT:
        put_vector_error(t, v3_sub(t->target, m3_tmulv(to.r, v3_sub(at.p, to.p))), e);
        break;
    case SKEL__TASK_CENTRE:
        put_vector_error(t, v3_sub(t->target, m3_tmulv(to.r, v3_sub(centre_of(ik), to.p))), e);
        break;
    case SKEL__TASK_TURN:
        put_vector_error(t, log_of(m3_mult(t->orientation, m3_tmul(to.r, at.r))), e);
        break;
    case SKEL__TASK_AIM: {
        const v3 target = v3_add(to.p, m3_mulv(to.r, t->target));
        put_axis_error(t, axis, direction(at.p, target, &length), e, &t->error);
        break;
    }
    case SKEL__TASK_ALIGN: put_axis_error(t, axis, m3_mulv(to.r, t->to_axis), e, &t->error); break;
    case SKEL__TASK_SQUARE: put_scalar_error(t, v3_dot(axis, m3_mulv(to.r, t->to_axis)), e); break;
    case SKEL__TASK_THREAD: put_scalar_error(t, thread_of(t, at, to).r, e); break;
    default: put_scalar_error(t, bend_at(ik, t).r, e);
    }
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

/* Velocity of a point by column k of a node. */
static v3 velocity_of(const skel__ik_node *n, const skel__ik_node_pose *at, int k, v3 point) {
    if (skel__ik_is_length(n)) return at->axis[k];
    const v3 d = v3_cross(at->axis[k], v3_sub(point, at->o));
    return n->shift == 0 ? d : v3_mad(d, n->shift, at->axis[k]);
}

/* Angular velocity by column k of a node. */
static v3 rotation_of(const skel__ik_node *n, const skel__ik_node_pose *at, int k) {
    return skel__ik_is_length(n) ? (v3){0, 0, 0} : at->axis[k];
}

/* Geometry of a task that all of its columns need. */
typedef struct view {
    skel__ik_frame at, to;
    v3 d;          /* axis of the task, in the world */
    v3 u;          /* AIM, ALIGN: direction that d should have; SQUARE: normal of both axes */
    v3 x, y;       /* AIM, ALIGN: directions across d */
    double length; /* AIM: distance of the target [m] */
    bend pole;     /* POLE */
    thread screw;  /* THREAD */
    v3 target;     /* in the world [m] */
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
    } else if (t->kind == SKEL__TASK_THREAD) {
        v.screw = thread_of(t, v.at, v.to);
    }
    return v;
}

/* Rate of r by column k of the link's node, which moves the points that the bits name. */
static double pole_rate(const skel_ik *ik, const skel__ik_task *t, const view *v,
                        const skel__ik_link *link, int k) {
    const skel__ik_node *n = &ik->problem.node[link->node];
    const skel__ik_node_pose *at = &ik->iterate.node_pose[link->node];
    const v3 from = skel__ik_anchor_frame(ik, &t->from).p;
    const v3 end = skel__ik_anchor_frame(ik, &t->end).p;
    const int bits = link->sign;

    double rate = 0;
    if (bits & 1) rate += v3_dot(v->pole.by_elbow, velocity_of(n, at, k, v->at.p));
    if (bits & 2) rate += v3_dot(v->pole.by_from, velocity_of(n, at, k, from));
    if (bits & 4) rate += v3_dot(v->pole.by_end, velocity_of(n, at, k, end));
    if (bits & 8) rate += v3_dot(v->pole.by_pole, velocity_of(n, at, k, v->target));
    return rate;
}

/* Velocity of the centre of mass relative to the frame of the target, by column k of a node. */
static v3 centre_velocity(const skel_ik *ik, const skel__ik_link *link, int k) {
    const skel__ik_node *n = &ik->problem.node[link->node];
    const skel__ik_node_pose *at = &ik->iterate.node_pose[link->node];
    const double *sum = ik->iterate.mass_sums + 4 * (size_t)link->node;

    /* The node moves the mass of its subtree: sum m (a x (p - o)), and sum m a. */
    const v3 a = at->axis[k], lever = v3_mad(v3_of(sum + 1), -sum[0], at->o);
    v3 d = skel__ik_is_length(n) ? v3_scale(a, sum[0]) : v3_cross(a, lever);
    if (!skel__ik_is_length(n) && n->shift != 0) d = v3_mad(d, n->shift * sum[0], a);
    d = v3_scale(d, 1 / ik->problem.mass);
    if (link->sign & 2) d = v3_sub(d, velocity_of(n, at, k, ik->iterate.centre));
    return d;
}

/* Rotation of the axis relative to the direction of the target point u, by column k of a node. The
   direction turns if the node moves the body's point or the target. */
static v3 aim_rotation(const view *v, const skel__ik_node *n, const skel__ik_node_pose *at,
                       int32_t sign, int k) {
    const v3 moved = velocity_of(n, at, k, sign > 0 ? v->at.p : v->target);
    const v3 du = v3_scale(moved, -1 / v->length);
    if (sign < 0) return v3_cross(v->u, v3_neg(du));
    return v3_sub(rotation_of(n, at, k), v3_cross(v->u, du));
}

/* Writes the rows of a task in column k of the link's node. */
static void column_of(const skel_ik *ik, const skel__ik_task *t, const view *v,
                      const skel__ik_link *link, int k, double *out) {
    const skel__ik_node *n = &ik->problem.node[link->node];
    const skel__ik_node_pose *at = &ik->iterate.node_pose[link->node];
    const double scale = ik->problem.column_scale[n->column + k] * t->scale;
    const double s = scale * link->sign;

    switch (t->kind) {
    case SKEL__TASK_POINT:
        put_masked(t, out, v3_scale(m3_tmulv(v->to.r, velocity_of(n, at, k, v->at.p)), s));
        break;
    case SKEL__TASK_CENTRE:
        put_masked(t, out, v3_scale(m3_tmulv(v->to.r, centre_velocity(ik, link, k)), scale));
        break;
    case SKEL__TASK_TURN:
        put_masked(t, out, v3_scale(m3_tmulv(v->to.r, rotation_of(n, at, k)), s));
        break;
    case SKEL__TASK_ALIGN:
    case SKEL__TASK_AIM: {
        const v3 w = t->kind == SKEL__TASK_AIM ? aim_rotation(v, n, at, link->sign, k)
                                               : rotation_of(n, at, k);
        out[0] = s * v3_dot(w, v->x);
        out[1] = s * v3_dot(w, v->y);
        break;
    }
    case SKEL__TASK_SQUARE: out[0] = s * v3_dot(rotation_of(n, at, k), v->u); break;
    case SKEL__TASK_THREAD:
        out[0] = s * (v3_dot(velocity_of(n, at, k, v->at.p), v->screw.along) +
                      v3_dot(rotation_of(n, at, k), v->screw.about));
        break;
    default: out[0] = scale * pole_rate(ik, t, v, link, k);
    }
}

/* Columns of a plain point and a plain turn, of which one may be NULL. If both belong to one goal,
   they have the same links and are filled in one pass. */
static void plain_columns(skel_ik *ik, const skel__ik_task *point, const skel__ik_task *turn) {
    const skel__ik_task *t = point ? point : turn;
    const size_t stride = (size_t)ik->size.rows;
    const v3 p = point ? skel__ik_anchor_point(ik, &point->at) : (v3){0, 0, 0};

    for (int32_t l = 0; l < t->link_count; ++l) {
        const int32_t i = ik->problem.link[t->first_link + l].node;
        const skel__ik_node *n = &ik->problem.node[i];
        const skel__ik_node_pose *at = &ik->iterate.node_pose[i];
        const int32_t columns = skel__ik_columns(n);
        double *to = ik->iterate.jacobian_t + (size_t)n->column * stride;

        for (int k = 0; k < columns; ++k, to += stride) {
            const double s = ik->problem.column_scale[n->column + k];
            if (point) v3_to(v3_scale(velocity_of(n, at, k, p), s * point->scale), to + point->row);
            if (turn) v3_to(v3_scale(rotation_of(n, at, k), s * turn->scale), to + turn->row);
        }
    }
}

static int is_plain(const skel__ik_task *t, int32_t kind) {
    return t->is_plain && t->kind == kind;
}

/* Whether the task after t is the plain turn of the same goal with the same links. */
static int has_turn_next(const skel_ik *ik, const skel__ik_task *t, int32_t m) {
    const skel__ik_task *next = t + 1;
    return next < ik->problem.task + ik->size.tasks && next->row < m &&
           is_plain(next, SKEL__TASK_TURN) && next->goal == t->goal &&
           next->link_count == t->link_count;
}

/* Columns of any other task. */
static void general_columns(skel_ik *ik, const skel__ik_task *t) {
    const size_t stride = (size_t)ik->size.rows;
    const view v = view_of(ik, t);
    for (int32_t l = 0; l < t->link_count; ++l) {
        const skel__ik_link *link = &ik->problem.link[t->first_link + l];
        const skel__ik_node *n = &ik->problem.node[link->node];
        const int32_t columns = skel__ik_columns(n);
        for (int k = 0; k < columns; ++k) {
            double *column = ik->iterate.jacobian_t + (size_t)(n->column + k) * stride;
            column_of(ik, t, &v, link, k, column + t->row);
        }
    }
}

/* Chain rule: the columns of mimic nodes are added to those of their sources. */
static void add_mimics(skel_ik *ik, int32_t m) {
    const size_t stride = (size_t)ik->size.rows;
    double *jt = ik->iterate.jacobian_t;
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->source < 0 || n->column < 0) continue;
        const double *from = jt + (size_t)n->column * stride;
        double *to = jt + (size_t)ik->problem.node[n->source].column * stride;
        for (int32_t r = 0; r < m; ++r) to[r] += from[r];
    }
}

void skel__ik_jacobian(skel_ik *ik, int32_t m) {
    const size_t size = (size_t)ik->size.all_columns * (size_t)ik->size.rows;
    double *jt = ik->iterate.jacobian_t;
    if (!ik->problem.is_jacobian_full) memset(jt, 0, size * sizeof *jt);

    for (int32_t i = 0; i < ik->size.tasks && ik->problem.task[i].row < m; ++i) {
        const skel__ik_task *t = &ik->problem.task[i];
        if (is_plain(t, SKEL__TASK_TURN)) {
            plain_columns(ik, NULL, t);
        } else if (!is_plain(t, SKEL__TASK_POINT)) {
            general_columns(ik, t);
        } else if (has_turn_next(ik, t, m)) {
            plain_columns(ik, t, t + 1);
            ++i;
        } else {
            plain_columns(ik, t, NULL);
        }
    }
    if (ik->size.all_columns > ik->size.columns) add_mimics(ik, m);
}

/* ---- curvature ---- */

/* A column of a node, for second derivatives. */
typedef struct column_ref {
    const skel__ik_node *n;
    const skel__ik_node_pose *at;
    int k;
} column_ref;

/* e . d2p of a point p by two columns. The first is nearer to the root, or in the same node:
     d2p = a_i x dp_j
   Within a ball, whose map is exponential, it is the mean of both orders. */
static double point_curvature(v3 e, v3 p, column_ref i, column_ref j) {
    if (skel__ik_is_length(i.n)) return 0;
    const v3 ai = i.at->axis[i.k], aj = j.at->axis[j.k];
    const v3 d = v3_cross(ai, velocity_of(j.n, j.at, j.k, p));
    if (i.n != j.n || i.k == j.k) return v3_dot(e, d);
    return 0.5 * v3_dot(e, v3_add(d, v3_cross(aj, velocity_of(i.n, i.at, i.k, p))));
}

/* The same for the rotation vector e = theta u. With H the Hessian of theta^2 / 2 on the rotations,
     H = u u^T + (theta / 2) cot(theta / 2) (1 - u u^T)
   the second derivative is a_i H a_j - e . (a_i x a_j) / 2. Returned is a_i . a_j minus it. */
static double turn_curvature(v3 e, column_ref i, column_ref j) {
    if (skel__ik_is_length(i.n) || skel__ik_is_length(j.n)) return 0;
    const v3 ai = i.at->axis[i.k], aj = j.at->axis[j.k];
    const double theta = v3_norm(e), half = 0.5 * theta;
    const double k =
        theta < IK_TURN_SERIES_RAD ? theta * theta / 12 : 1 - half * cos(half) / sin(half);
    const v3 u = theta > 0 ? v3_scale(e, 1 / theta) : e;
    const double flat = k * (v3_dot(ai, aj) - v3_dot(u, ai) * v3_dot(u, aj));
    return flat + (i.n == j.n ? 0.0 : 0.5 * v3_dot(e, v3_cross(ai, aj)));
}

/* Column of y that moves a node: its own, or that of its source. */
static size_t column_at(const skel_ik *ik, const skel__ik_node *n, int k) {
    return (size_t)(n->source < 0 ? n->column + k : ik->problem.node[n->source].column);
}

/* Subtracts the curvature of two columns from the lower triangle of h. */
static void add_pair(const skel_ik *ik, const skel__ik_task *t, double curvature, column_ref i,
                     column_ref j, double *h) {
    const double *scale = ik->problem.column_scale;
    const size_t n = (size_t)ik->size.columns;
    const size_t ci = column_at(ik, i.n, i.k), cj = column_at(ik, j.n, j.k);

    /* Two mimics of one source meet on the diagonal, where ij and ji coincide. */
    const double both = i.n != j.n && ci == cj ? 2 : 1;
    h[(ci > cj ? ci * n + cj : cj * n + ci)] -= both * t->scale * t->scale *
                                                scale[i.n->column + i.k] *
                                                scale[j.n->column + j.k] * curvature;
}

static void curve_task(const skel_ik *ik, const skel__ik_task *t, double *h) {
    /* Error without weight, in the world. */
    const view v = view_of(ik, t);
    double part[3] = {0, 0, 0};
    for (int k = 0, row = 0; k < 3; ++k)
        if (t->mask >> k & 1) part[k] = ik->iterate.e[t->row + row++] / t->scale;
    const v3 e = m3_mulv(v.to.r, v3_of(part));

    /* All pairs of columns. The links are sorted from the root outwards. */
    const skel__ik_link *link = ik->problem.link + t->first_link;
    for (int32_t a = 0; a < t->link_count; ++a)
        for (int32_t b = a; b < t->link_count; ++b) {
            column_ref i = {&ik->problem.node[link[a].node], &ik->iterate.node_pose[link[a].node],
                            0};
            column_ref j = {&ik->problem.node[link[b].node], &ik->iterate.node_pose[link[b].node],
                            0};
            for (i.k = 0; i.k < skel__ik_columns(i.n); ++i.k)
                for (j.k = a == b ? i.k : 0; j.k < skel__ik_columns(j.n); ++j.k) {
                    const double c = t->kind == SKEL__TASK_POINT ? point_curvature(e, v.at.p, i, j)
                                                                 : turn_curvature(e, i, j);
                    add_pair(ik, t, c, i, j, h);
                }
        }
}

void skel__ik_curvature(const skel_ik *ik, int32_t m, double *h) {
    for (int32_t i = 0; i < ik->size.tasks && ik->problem.task[i].row < m; ++i) {
        const skel__ik_task *t = &ik->problem.task[i];
        const int has_curvature = t->kind == SKEL__TASK_POINT || t->kind == SKEL__TASK_TURN;
        if (has_curvature && t->to.node < 0) curve_task(ik, t, h);
    }
}
