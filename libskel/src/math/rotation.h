/* SPDX-License-Identifier: BSD-3-Clause */
/* The exponential map, continued from math/quat.h: the inverse of its right Jacobian, and the
   second derivative. With q(t) = q0 exp(phi(t)), t = |phi|, omega in body axes:
     omega  = J(phi) phi',                 J = 1 - b [phi] + c [phi]^2
     phi'   = J^-1 omega,                  J^-1 = 1 + [phi]/2 + e [phi]^2,
                                           e = (1 - (t/2) cot(t/2)) / t^2
     omega' = J phi'' + J' phi',           J' = -b [phi'] - b' [phi] + c ([phi'] [phi] +
                                                [phi] [phi']) + c' [phi]^2
   with b' = db (phi . phi'), c' = dc (phi . phi'), and [phi'] phi' = 0. Only
   at phi = 0 this is omega' = phi''. */
#ifndef SKEL_MATH_ROTATION_H
#define SKEL_MATH_ROTATION_H

#include "math/quat.h"

#define SKEL__NO_ROTATION_RAD 1e-12

/* J^-1 w; |phi| < 2 pi. */
static inline v3 q_jacobian_solve(v3 phi, v3 w) {
    const double t2 = v3_dot(phi, phi);
    double e;
    if (t2 < SKEL__SERIES_ANGLE2) { /* the series of x cot x */
        e = 1.0 / 12 +
            t2 * (1.0 / 720 + t2 * (1.0 / 30240 + t2 * (1.0 / 1209600 + t2 / 47900160.0)));
    } else {
        const double half = 0.5 * sqrt(t2);
        e = (1.0 - half * cos(half) / sin(half)) / t2;
    }
    const v3 p = v3_cross(phi, w);
    return v3_mad(v3_mad(w, 0.5, p), e, v3_cross(phi, p));
}

/* omega' of phi, phi' and phi''. */
static inline v3 q_exp_acceleration(v3 phi, v3 d, v3 dd) {
    const exp_coeffs k = exp_coefficients(phi);
    const double pd = v3_dot(phi, d);
    const v3 p = v3_cross(phi, d);
    v3 dw = q_jacobian_mul(phi, dd);
    dw = v3_mad(dw, -k.db * pd, p);
    dw = v3_mad(dw, k.dc * pd, v3_cross(phi, p));
    return v3_mad(dw, k.c, v3_cross(d, p));
}

/* The rotation vector of q that is nearest to `near`: log(q), extended by full turns. */
static inline v3 q_log_near(quat q, v3 near) {
    const v3 phi = q_log(q);
    const double t = v3_norm(phi);
    if (t < SKEL__NO_ROTATION_RAD) { /* the identity, or a full turn about the axis of `near` */
        const double n = v3_norm(near);
        return n < 0.5 * SKEL__TURN ? phi : v3_scale(near, SKEL__TURN / n);
    }
    const double along = v3_dot(near, phi) / t;
    return v3_scale(phi, 1.0 + nearbyint((along - t) / SKEL__TURN) * SKEL__TURN / t);
}

#endif
