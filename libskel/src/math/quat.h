/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit quaternions w x y z (Hamilton), the exponential map and its right Jacobian.
     q(t) = q0 exp(phi(t))  =>  omega (body axes) = J(phi) phi',
     J(phi) = 1 - b [phi] + c [phi]^2,  b = (1 - cos t)/t^2,  c = (t - sin t)/t^3,  t = |phi|. */
#ifndef SKEL_MATH_QUAT_H
#define SKEL_MATH_QUAT_H

#include "math/vec.h"

/* Angle [rad] below which series of sin and cos are used: their error is t^6 / 5040 < 1e-19. */
#define SKEL__SMALL_ANGLE 1e-2
/* Squared angle [rad^2] below which the coefficients of J and its inverse are series, because their
   closed forms cancel. */
#define SKEL__SERIES_ANGLE2 0.04

typedef struct quat {
    double w, x, y, z;
} quat;

typedef struct pose {
    v3 p;
    quat q;
} pose;

static inline quat q_identity(void) {
    return (quat){1, 0, 0, 0};
}
static inline quat q_of(const double a[4]) {
    return (quat){a[0], a[1], a[2], a[3]};
}
static inline void q_to(quat a, double out[4]) {
    out[0] = a.w;
    out[1] = a.x;
    out[2] = a.y;
    out[3] = a.z;
}
static inline v3 q_vec(quat a) {
    return (v3){a.x, a.y, a.z};
}
static inline double q_dot(quat a, quat b) {
    return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline quat q_neg(quat a) {
    return (quat){-a.w, -a.x, -a.y, -a.z};
}
static inline quat q_conj(quat a) {
    return (quat){a.w, -a.x, -a.y, -a.z};
}
static inline quat q_mul(quat a, quat b) {
    return (quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                  a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                  a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                  a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
/* Whether a can be normalised: its squared length neither underflows nor overflows. */
static inline int q_has_direction(quat a) {
    const double n2 = q_dot(a, a);
    return n2 > 1e-200 && isfinite(n2);
}
/* a divided by its length. If the length is 1 to rounding, a stays as it is, so that a value that
   is written and read again keeps its bits. Zero becomes the identity, as q of skel_joint_desc. */
static inline quat q_unit(quat a) {
    const double n2 = q_dot(a, a);
    if (fabs(n2 - 1.0) < 1e-15) return a;
    if (n2 == 0.0) return (quat){1.0, 0.0, 0.0, 0.0};
    const double s = 1.0 / sqrt(n2);
    return (quat){a.w * s, a.x * s, a.y * s, a.z * s};
}
static inline m3 q_matrix(quat a) {
    const double w = a.w, x = a.x, y = a.y, z = a.z;
    return (m3){{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                 {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                 {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
}
static inline v3 q_rotate(quat a, v3 b) {
    const v3 u = q_vec(a);
    const v3 t = v3_scale(v3_cross(u, b), 2.0);
    return v3_add(v3_mad(b, a.w, t), v3_cross(u, t));
}
/* Rotation vector (axis times angle) to quaternion. */
static inline quat q_exp(v3 phi) {
    const double t2 = v3_dot(phi, phi);
    double s, c;
    if (t2 < SKEL__SMALL_ANGLE * SKEL__SMALL_ANGLE) {
        s = 0.5 - t2 / 48.0 + t2 * t2 / 3840.0;
        c = 1.0 - t2 / 8.0 + t2 * t2 / 384.0;
    } else {
        const double t = sqrt(t2);
        s = sin(0.5 * t) / t;
        c = cos(0.5 * t);
    }
    return (quat){c, s * phi.x, s * phi.y, s * phi.z};
}
/* Quaternion to the shortest rotation vector, |phi| <= pi. */
static inline v3 q_log(quat a) {
    const double sign = a.w < 0 ? -1.0 : 1.0;
    const v3 u = v3_scale(q_vec(a), sign);
    const double n = v3_norm(u);
    const double w = sign * a.w;
    if (n < 1e-8) return v3_scale(u, 2.0 / w);
    return v3_scale(u, 2.0 * atan2(n, w) / n);
}
/* Rotation matrix to quaternion by Shepperd's method: the largest component is computed first. */
static inline quat q_from_matrix(m3 m) {
    const double xx = m.r[0].x, yy = m.r[1].y, zz = m.r[2].z, tr = xx + yy + zz;
    quat q;
    if (tr >= xx && tr >= yy && tr >= zz)
        q = (quat){1 + tr, m.r[2].y - m.r[1].z, m.r[0].z - m.r[2].x, m.r[1].x - m.r[0].y};
    else if (xx >= yy && xx >= zz)
        q = (quat){m.r[2].y - m.r[1].z, 1 + 2 * xx - tr, m.r[0].y + m.r[1].x, m.r[0].z + m.r[2].x};
    else if (yy >= zz)
        q = (quat){m.r[0].z - m.r[2].x, m.r[0].y + m.r[1].x, 1 + 2 * yy - tr, m.r[1].z + m.r[2].y};
    else
        q = (quat){m.r[1].x - m.r[0].y, m.r[0].z + m.r[2].x, m.r[1].z + m.r[2].y, 1 + 2 * zz - tr};
    const double s = 1.0 / sqrt(q_dot(q, q));
    return (quat){q.w * s, q.x * s, q.y * s, q.z * s};
}
/* b and c of the right Jacobian, and their derivatives by t, divided by t, for J'. */
typedef struct exp_coeffs {
    double b, c, db, dc;
} exp_coeffs;
static inline exp_coeffs exp_coefficients(v3 phi) {
    const double t2 = v3_dot(phi, phi);
    if (t2 < SKEL__SERIES_ANGLE2)
        return (exp_coeffs){
            0.5 - t2 * (1.0 / 24 - t2 * (1.0 / 720 - t2 * (1.0 / 40320 - t2 / 3628800.0))),
            1.0 / 6 - t2 * (1.0 / 120 - t2 * (1.0 / 5040 - t2 * (1.0 / 362880 - t2 / 39916800.0))),
            -1.0 / 12 + t2 * (1.0 / 180 - t2 * (1.0 / 6720 - t2 * (1.0 / 453600))),
            -1.0 / 60 + t2 * (1.0 / 1260 - t2 * (1.0 / 60480 - t2 * (1.0 / 4989600)))};

    const double t = sqrt(t2), s = sin(t), k = cos(t);
    const double b = (1 - k) / t2, c = (t - s) / (t2 * t);
    return (exp_coeffs){b, c, (s / t - 2 * b) / t2, ((1 - k) / t2 - 3 * c) / t2};
}
/* J(phi) rate */
static inline v3 q_jacobian_mul(v3 phi, v3 rate) {
    const exp_coeffs k = exp_coefficients(phi);
    const v3 p = v3_cross(phi, rate);
    return v3_mad(v3_mad(rate, -k.b, p), k.c, v3_cross(phi, p));
}

static inline pose pose_mul(pose a, pose b) {
    return (pose){v3_add(a.p, q_rotate(a.q, b.p)), q_mul(a.q, b.q)};
}
static inline pose pose_inverse(pose a) {
    const quat c = q_conj(a.q);
    return (pose){v3_neg(q_rotate(c, a.p)), c};
}

#endif
