/* SPDX-License-Identifier: BSD-3-Clause */
/* Rotations as a rig's channels have them: Euler angles of any order, axis and angle, quaternion;
   each the one nearest to what came before. Order ijk: R = R_k(c) R_j(b) R_i(a), with the sign e of
   the permutation ijk:
     R_ki = -e sin b,   R_kj = e sin a cos b,   R_kk = cos a cos b,
     R_ji = e sin c cos b,   R_ii = cos c cos b. */
#ifndef SKEL_MATH_EULER_H
#define SKEL_MATH_EULER_H

#include "math/rotation.h"

#define SKEL__GIMBAL 1e-7 /* cos b below which a and c turn about one axis */

typedef struct euler_order {
    int i, j, k;
    double e;
} euler_order;

/* 1..6: xyz xzy yxz yzx zxy zyx */
static inline euler_order euler_order_of(int number) {
    static const euler_order k_orders[6] = {{0, 1, 2, 1}, {0, 2, 1, -1}, {1, 0, 2, -1},
                                            {1, 2, 0, 1}, {2, 0, 1, 1},  {2, 1, 0, -1}};
    return k_orders[number - 1];
}
static inline quat q_about(int axis, double angle) {
    const double s = sin(0.5 * angle);
    return (quat){cos(0.5 * angle), axis == 0 ? s : 0, axis == 1 ? s : 0, axis == 2 ? s : 0};
}
static inline double m3_at(m3 a, int row, int column) {
    const v3 r = a.r[row];
    return column == 0 ? r.x : column == 1 ? r.y : r.z;
}
/* angle + whole turns, nearest to `near` */
static inline double angle_near(double angle, double near) {
    return angle + SKEL__TURN * nearbyint((near - angle) / SKEL__TURN);
}
static inline quat q_of_euler(int number, const double angle[3]) {
    const euler_order o = euler_order_of(number);
    return q_mul(q_about(o.k, angle[o.k]),
                 q_mul(q_about(o.j, angle[o.j]), q_about(o.i, angle[o.i])));
}
/* angle[3] about x, y and z: in, what came before; out, the nearest set that makes q. */
static inline void q_to_euler(quat q, int number, double angle[3]) {
    const euler_order o = euler_order_of(number);
    const m3 r = q_matrix(q);
    const double ii = m3_at(r, o.i, o.i), ji = m3_at(r, o.j, o.i);
    const double cos_b = sqrt(ii * ii + ji * ji);
    const double b = atan2(-o.e * m3_at(r, o.k, o.i), cos_b);
    double best = HUGE_VAL;
    double was[3], found[3];
    for (int n = 0; n < 3; ++n) was[n] = found[n] = angle[n];
    for (int way = 0; way < 2; ++way) { /* (a, b, c) and (a + pi, pi - b, c + pi) are one */
        const double half = way * 0.5 * SKEL__TURN;
        double t[3];
        t[o.j] = angle_near(way ? half - b : b, was[o.j]);
        if (cos_b > SKEL__GIMBAL) {
            t[o.i] = atan2(o.e * m3_at(r, o.k, o.j), m3_at(r, o.k, o.k)) + half;
            t[o.k] = atan2(o.e * m3_at(r, o.j, o.i), m3_at(r, o.i, o.i)) + half;
        } else { /* what is left of q when a stays as it was is a turn about k */
            const quat before = q_mul(q_about(o.j, t[o.j]), q_about(o.i, was[o.i]));
            const m3 left = q_matrix(q_mul(q, q_conj(before)));
            t[o.i] = was[o.i];
            t[o.k] = atan2(o.e * m3_at(left, o.j, o.i), m3_at(left, o.i, o.i));
        }
        t[o.i] = angle_near(t[o.i], was[o.i]), t[o.k] = angle_near(t[o.k], was[o.k]);
        double far = 0;
        for (int n = 0; n < 3; ++n) far += (t[n] - was[n]) * (t[n] - was[n]);
        if (far < best) best = far, found[0] = t[0], found[1] = t[1], found[2] = t[2];
    }
    for (int n = 0; n < 3; ++n) angle[n] = found[n];
}
/* turn[4]: angle, axis x y z; in, what came before; out, the nearest that makes q. What the axis
   does counts by how much is turned about it: at a whole turn it may go anywhere. */
static inline void q_to_axis_angle(quat q, double turn[4]) {
    const v3 phi = q_log(q), was = v3_of(turn + 1);
    const double t = v3_norm(phi), start = turn[0];
    const double weight = 4 * fmax(sin(0.5 * t), fabs(sin(0.5 * start)));
    double best = HUGE_VAL;
    if (t < 1e-9) { /* no axis of its own: it keeps the one it had */
        turn[0] = angle_near(v3_dot(phi, was), start);
        return;
    }
    for (double side = 1; side > -2; side -= 2) {
        const double angle = angle_near(side * t, start), step = angle - start;
        const v3 axis = v3_scale(phi, side / t), move = v3_sub(axis, was);
        const double far = step * step + weight * weight * v3_dot(move, move);
        if (far < best) best = far, turn[0] = angle, v3_to(axis, turn + 1);
    }
}

#endif
