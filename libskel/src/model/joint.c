/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinematics of a joint between its outer and its inner frame: the pose that follows from
   coordinates, and the coordinates that follow from two frames. */
#include "model/model.h"

#include <string.h>

pose skel__joint_pose(const skel__joint *j, const double *q) {
    const v3 none = {0, 0, 0};
    const quat one = q_identity();

    switch (j->type) {
    case SKEL_JOINT_HINGE: return (pose){none, q_exp((v3){0, 0, q[0]})};
    case SKEL_JOINT_SLIDE: return (pose){{0, 0, q[0]}, one};
    case SKEL_JOINT_UNIVERSAL:
        return (pose){none, q_mul(q_exp((v3){0, 0, q[0]}), q_exp((v3){q[1], 0, 0}))};
    case SKEL_JOINT_BALL: {
        const quat r = q_of(q);
        return (pose){none, q_dot(r, r) > 0 ? q_unit(r) : one};
    }
    case SKEL_JOINT_SCREW: return (pose){{0, 0, j->pitch * q[0]}, q_exp((v3){0, 0, q[0]})};
    case SKEL_JOINT_PLANAR: return (pose){{q[0], q[1], 0}, q_exp((v3){0, 0, q[2]})};
    default: return (pose){none, one};
    }
}

/* hypot would need a newer glibc than the oldest host of Blender has. */
static double length2(double x, double y) {
    return sqrt(x * x + y * y);
}

static double angle_between(v3 a, v3 b) {
    return atan2(v3_norm(v3_cross(a, b)), v3_dot(a, b));
}

skel__misfit skel__joint_measure(const skel__joint *j, pose outer, pose inner, double *q) {
    const pose rel = pose_mul(pose_inverse(outer), inner);
    const quat r = rel.q.w < 0 ? q_neg(rel.q) : rel.q;
    const m3 m = q_matrix(r);
    skel__misfit e = {v3_norm(rel.p), 0};

    switch (j->type) {
    case SKEL_JOINT_HINGE:
        q[0] = 2.0 * atan2(r.z, r.w);
        e.angle = angle_between((v3){0, 0, 1}, m3_column(m, 2));
        break;
    case SKEL_JOINT_SLIDE:
        q[0] = rel.p.z;
        e.gap = length2(rel.p.x, rel.p.y);
        e.angle = v3_norm(q_log(r));
        break;
    case SKEL_JOINT_UNIVERSAL: /* R = Rz(q0) Rx(q1) keeps the inner x axis in the outer xy plane */
        q[0] = atan2(m.r[1].x, m.r[0].x);
        q[1] = atan2(m.r[2].y, m.r[2].z);
        e.angle = fabs(atan2(m.r[2].x, length2(m.r[0].x, m.r[1].x)));
        break;
    case SKEL_JOINT_BALL: q_to(r, q); break;
    case SKEL_JOINT_SCREW: { /* the displacement tells the number of turns */
        const double angle = 2.0 * atan2(r.z, r.w);
        q[0] = angle + SKEL__TURN * nearbyint((rel.p.z / j->pitch - angle) / SKEL__TURN);
        e.gap = v3_norm((v3){rel.p.x, rel.p.y, rel.p.z - j->pitch * q[0]});
        e.angle = angle_between((v3){0, 0, 1}, m3_column(m, 2));
        break;
    }
    case SKEL_JOINT_PLANAR:
        q[0] = rel.p.x;
        q[1] = rel.p.y;
        q[2] = 2.0 * atan2(r.z, r.w);
        e.gap = fabs(rel.p.z);
        e.angle = angle_between((v3){0, 0, 1}, m3_column(m, 2));
        break;
    default: e.angle = v3_norm(q_log(r)); break;
    }
    return e;
}

/* The angle, shifted by full turns, that is nearest to the middle of limit k. */
static double near_middle(const skel__joint *j, int k, double angle) {
    if (!j->limits.is_set) return angle;

    const double middle = 0.5 * (j->limits.low[k] + j->limits.high[k]);
    return angle - SKEL__TURN * nearbyint((angle - middle) / SKEL__TURN);
}

int32_t skel__joint_coordinates(const skel__joint *j, const double *q, double c[2]) {
    c[0] = 0;
    c[1] = 0;

    switch (j->type) {
    case SKEL_JOINT_HINGE: c[0] = near_middle(j, 0, q[0]); return 1;
    case SKEL_JOINT_SCREW:
    case SKEL_JOINT_SLIDE: c[0] = q[0]; return 1;
    case SKEL_JOINT_PLANAR:
        c[0] = q[0];
        c[1] = q[1];
        return 2;
    case SKEL_JOINT_UNIVERSAL:
        c[0] = near_middle(j, 0, q[0]);
        c[1] = near_middle(j, 1, q[1]);
        return 2;
    case SKEL_JOINT_BALL: {
        const quat r = q_of(q);
        const v3 axis = j->limit_axis;
        const v3 image = q_rotate(r, axis);
        const double sign = r.w < 0 ? -1.0 : 1.0;

        /* Swing and twist: the twist is the part of the rotation about the axis. */
        c[0] = angle_between(axis, image);
        c[1] = near_middle(j, 1, 2.0 * atan2(sign * v3_dot(q_vec(r), axis), sign * r.w));
        return 2;
    }
    default: return 0;
    }
}

skel__motion skel__prescribed_motion(const skel__body *b, double t, skel__side side) {
    const v3 none = {0, 0, 0};
    skel__motion m = {b->x0, none, none, none, none};
    if (b->motion == SKEL_MOTION_FIXED) return m;

    skel__curve_position(&b->position_curve, b->position_slopes, t, side, &m);
    skel__curve_orientation(&b->orientation_curve, b->orientation_slopes, t, side, &m);
    return m;
}

/* Sets the stops to the limits. If the initial pose lies beyond a limit, the stop is moved there,
   so that it does not throw the joint back. */
static void place_stops(const skel_model *m, skel__joint *j) {
    double q[4] = {0};
    memcpy(j->stop_low, j->limits.low, sizeof j->stop_low);
    memcpy(j->stop_high, j->limits.high, sizeof j->stop_high);
    if (!j->limits.is_set) return;

    const pose outer = pose_mul(skel__initial_pose(m, j->a), j->fa);
    const pose inner = pose_mul(skel__initial_pose(m, j->b), j->fb);
    double c[2];
    skel__joint_measure(j, outer, inner, q);
    skel__joint_coordinates(j, q, c);

    for (int k = 0; k < 2; ++k) {
        j->stop_low[k] = fmin(j->stop_low[k], c[k]);
        j->stop_high[k] = fmax(j->stop_high[k], c[k]);
    }
}

void skel__model_count_joint_forces(skel_model *m) {
    m->nmuscle = 0;
    m->nstop = 0;
    m->nbounce = 0;

    for (int32_t k = 0; k < m->nj; ++k) {
        skel__joint *j = &m->joint[k];
        place_stops(m, j);
        j->muscle_index = j->muscle.growth > 0 ? m->ninternal + m->nmuscle++ : -1;
        m->nstop += skel__has_stop(j);
        m->nbounce += skel__has_stop(j) && j->limits.restitution > 0;
        m->has_joint_forces |= skel__joint_has_forces(j);
    }

    m->ninternal += m->nmuscle;
}
