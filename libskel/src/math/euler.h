/* SPDX-License-Identifier: BSD-3-Clause */
/* Rotations in the representations of animation channels: Euler angles of any order, and axis with
   angle. Several sets of numbers give the same rotation; the set nearest to that of the previous
   frame is chosen. For the order ijk, R = R_k(c) R_j(b) R_i(a). With the sign e of the permutation
   ijk:
     R_ki = -e sin b,   R_kj = e sin a cos b,   R_kk = cos a cos b,
     R_ji = e sin c cos b,   R_ii = cos c cos b. */
#ifndef SKEL_MATH_EULER_H
#define SKEL_MATH_EULER_H

#include "math/rotation.h"

#define SKEL__GIMBAL 1e-7 /* cos b: below it, a and c rotate about the same axis (gimbal lock) */
#define SKEL__NO_AXIS_RAD 1e-9 /* smaller angles have no axis of their own */

typedef struct euler_order {
    int i, j, k;
    double e;
} euler_order;

/* number: 1 to 6 for xyz xzy yxz yzx zxy zyx */
static inline euler_order euler_order_of(int number) {
    static const euler_order k_orders[6] = {{0, 1, 2, 1}, {0, 2, 1, -1}, {1, 0, 2, -1},
                                            {1, 2, 0, 1}, {2, 0, 1, 1},  {2, 1, 0, -1}};
    return k_orders[number - 1];
}

/* Rotation about x (0), y (1) or z (2). */
static inline quat q_about(int axis, double angle) {
    const double s = sin(0.5 * angle);
    return (quat){cos(0.5 * angle), axis == 0 ? s : 0, axis == 1 ? s : 0, axis == 2 ? s : 0};
}

static inline double m3_at(m3 a, int row, int column) {
    const v3 r = a.r[row];
    if (column == 0) return r.x;
    return column == 1 ? r.y : r.z;
}

/* The angle, shifted by full turns, that is nearest to `near`. */
static inline double angle_near(double angle, double near) {
    return angle + SKEL__TURN * nearbyint((near - angle) / SKEL__TURN);
}

static inline quat q_of_euler(int number, const double angle[3]) {
    const euler_order o = euler_order_of(number);
    return q_mul(q_about(o.k, angle[o.k]),
                 q_mul(q_about(o.j, angle[o.j]), q_about(o.i, angle[o.i])));
}

/* One of the two sets of angles that give q. gimbal: cos b is 0, and a keeps its previous value.
   The second set is (a + pi, pi - b, c + pi). */
static inline void euler_angles(quat q, const m3 *r, euler_order o, int second, int gimbal,
                                const double last[3], double t[3]) {
    const double ii = m3_at(*r, o.i, o.i), ji = m3_at(*r, o.j, o.i);
    const double cos_b = sqrt(ii * ii + ji * ji);
    const double b = atan2(-o.e * m3_at(*r, o.k, o.i), cos_b);
    const double half = second * 0.5 * SKEL__TURN;
    t[o.j] = angle_near(second ? half - b : b, last[o.j]);

    if (!gimbal) {
        t[o.i] = atan2(o.e * m3_at(*r, o.k, o.j), m3_at(*r, o.k, o.k)) + half;
        t[o.k] = atan2(o.e * m3_at(*r, o.j, o.i), m3_at(*r, o.i, o.i)) + half;
    } else {
        /* q = R_k(c) R_j(b) R_i(a) with known a and b leaves the rotation R_k(c). */
        const quat known = q_mul(q_about(o.j, t[o.j]), q_about(o.i, last[o.i]));
        const m3 rest = q_matrix(q_mul(q, q_conj(known)));
        t[o.i] = last[o.i];
        t[o.k] = atan2(o.e * m3_at(rest, o.j, o.i), m3_at(rest, o.i, o.i));
    }
    t[o.i] = angle_near(t[o.i], last[o.i]);
    t[o.k] = angle_near(t[o.k], last[o.k]);
}

/* angle[3]: angles about x, y and z. In: those of the previous frame. Out: the nearest set that
   gives q. */
static inline void q_to_euler(quat q, int number, double angle[3]) {
    const euler_order o = euler_order_of(number);
    const m3 r = q_matrix(q);
    const double ii = m3_at(r, o.i, o.i), ji = m3_at(r, o.j, o.i);
    const int gimbal = !(sqrt(ii * ii + ji * ji) > SKEL__GIMBAL);
    const double last[3] = {angle[0], angle[1], angle[2]};
    double best = HUGE_VAL;

    for (int second = 0; second < 2; ++second) {
        double t[3];
        euler_angles(q, &r, o, second, gimbal, last, t);

        double distance2 = 0;
        for (int n = 0; n < 3; ++n) distance2 += (t[n] - last[n]) * (t[n] - last[n]);
        if (distance2 < best) {
            best = distance2;
            for (int n = 0; n < 3; ++n) angle[n] = t[n];
        }
    }
}

/* turn[4]: angle and axis x y z. In: those of the previous frame. Out: the nearest that give q. A
   change of the axis counts in proportion to the sine of the half angle, because the axis of a full
   turn is arbitrary. */
static inline void q_to_axis_angle(quat q, double turn[4]) {
    const v3 phi = q_log(q);
    const v3 last_axis = v3_of(turn + 1);
    const double t = v3_norm(phi);
    const double last_angle = turn[0];
    const double weight = 4 * fmax(sin(0.5 * t), fabs(sin(0.5 * last_angle)));

    /* A tiny rotation has no axis of its own: it keeps the previous one. */
    if (t < SKEL__NO_AXIS_RAD) {
        turn[0] = angle_near(v3_dot(phi, last_axis), last_angle);
        return;
    }

    /* Angle t about an axis, or -t about the opposite axis. */
    double best = HUGE_VAL;
    for (double side = 1; side > -2; side -= 2) {
        const double angle = angle_near(side * t, last_angle);
        const double step = angle - last_angle;
        const v3 axis = v3_scale(phi, side / t);
        const v3 move = v3_sub(axis, last_axis);
        const double distance2 = step * step + weight * weight * v3_dot(move, move);
        if (distance2 < best) {
            best = distance2;
            turn[0] = angle;
            v3_to(axis, turn + 1);
        }
    }
}

#endif
