/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves over time.

   The pose of a driven body is a cubic Hermite curve. The slope of the position at a sample is that
   of the parabola through it and its two neighbours. Orientations between samples k and k + 1 are
     q(s) = q_k exp(phi(s)),   phi(0) = 0,   phi(h) = log(q_k^-1 q_k+1),
   with a cubic phi. Its slopes at both ends follow from the angular velocities there through the
   right Jacobian, omega = J(phi) phi' (math/quat.h). So pose and velocity are continuous, and the
   acceleration is the exact derivative between the samples. */
#include "model/curve.h"

#include <string.h>

#define CURVE_TIME_TOL 1e-9     /* relative to an interval: t counts as equal to a sample's time */
#define CURVE_SMOOTH_SAMPLES 6u /* samples of the polynomial of a smooth curve */

/* Index k of the interval with time[k] <= t < time[k+1], clamped to 0..count-2. */
static uint32_t interval(const skel_curve *c, double t) {
    uint32_t low = 0, high = c->count - 1;
    while (high - low > 1) {
        const uint32_t mid = (low + high) / 2;
        if (c->time[mid] <= t)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* The same, but if t is the time of a sample, the interval on the given side of it. */
static uint32_t interval_at(const skel_curve *c, double t, skel__side side) {
    const uint32_t k = interval(c, t);
    const double tol = CURVE_TIME_TOL * (c->time[k + 1] - c->time[k]);

    if (side == SKEL__BEFORE && k > 0 && t - c->time[k] < tol) return k - 1;
    if (side == SKEL__AFTER && k + 2 < c->count && c->time[k + 1] - t < tol) return k + 1;
    return k;
}

/* Whether t lies before the first or after the last sample. *k is then that sample. */
static int is_outside(const skel_curve *c, double t, uint32_t *k) {
    if (c->count > 1 && t >= c->time[0] && t <= c->time[c->count - 1]) return 0;
    *k = t <= c->time[0] ? 0 : c->count - 1;
    return 1;
}

void skel__curve_add(const skel_curve *c, double t, double *out) {
    if (c->count == 0) return;

    uint32_t k = 0;
    if (is_outside(c, t, &k)) {
        for (uint32_t i = 0; i < c->width; ++i) out[i] += c->value[k * c->width + i];
        return;
    }

    k = interval(c, t);
    const double s = (t - c->time[k]) / (c->time[k + 1] - c->time[k]);
    const double *from = c->value + k * c->width;
    const double *to = from + c->width;
    for (uint32_t i = 0; i < c->width; ++i) out[i] += from[i] + s * (to[i] - from[i]);
}

/* First of the n samples around interval k: half of them on either side, fewer at the ends. */
static uint32_t first_of_window(const skel_curve *c, uint32_t k, uint32_t n) {
    const uint32_t before = CURVE_SMOOTH_SAMPLES / 2 - 1;
    if (k < before) return 0;
    if (k - before + n > c->count) return c->count - n;
    return k - before;
}

/* Weights w_i = 1 / ((t - t_i) prod_e (t_i - t_e)) of the n samples at t. Returns their sum. Times
   are divided by the interval h, so that no product underflows. */
static double barycentric_weights(const double *time, uint32_t n, double h, double t, double *w) {
    double sum = 0;

    for (uint32_t i = 0; i < n; ++i) {
        /* At a sample its own value is the result. */
        if (t == time[i]) {
            for (uint32_t e = 0; e < n; ++e) w[e] = e == i;
            return 1;
        }

        w[i] = 1;
        for (uint32_t e = 0; e < n; ++e)
            if (e != i) w[i] *= h / (time[i] - time[e]);
        w[i] *= h / (t - time[i]);
        sum += w[i];
    }
    return sum;
}

/* Lagrange's polynomial in barycentric form [Berrut, Trefethen 2004 (4.2)]: sum w_i y_i / sum w_i.
   It passes through the samples, so the polynomials of neighbouring intervals join continuously.
   The error is of sixth order for smooth data. */
void skel__curve_add_smooth(const skel_curve *c, double t, double *out) {
    uint32_t k = 0;
    if (c->count < 3 || is_outside(c, t, &k)) {
        skel__curve_add(c, t, out);
        return;
    }

    k = interval(c, t);
    const uint32_t n = c->count < CURVE_SMOOTH_SAMPLES ? c->count : CURVE_SMOOTH_SAMPLES;
    const uint32_t first = first_of_window(c, k, n);
    double w[CURVE_SMOOTH_SAMPLES];
    const double sum = barycentric_weights(c->time + first, n, c->time[k + 1] - c->time[k], t, w);

    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t e = 0; e < c->width; ++e)
            out[e] += w[i] / sum * c->value[(size_t)(first + i) * c->width + e];
}

/* Slope of the parabola through three samples at the middle one, from the difference quotients and
   the lengths of the two intervals. */
static v3 middle_slope(v3 left, double h_left, v3 right, double h_right) {
    const double s = 1.0 / (h_left + h_right);
    return v3_add(v3_scale(left, h_right * s), v3_scale(right, h_left * s));
}

/* The same at an end. `near` is the interval at the end, `far` the other one. */
static v3 end_slope(v3 near, double h_near, v3 far, double h_far) {
    const double s = h_near / (h_near + h_far);
    return v3_mad(near, s, v3_sub(near, far));
}

/* Slopes at all samples from the difference quotients of the intervals. Two samples give a line. */
static void slopes_from_quotients(const skel_curve *c, v3 (*quotient)(const skel_curve *, uint32_t),
                                  double *slopes) {
    const uint32_t n = c->count;

    for (uint32_t k = 0; k < n; ++k) {
        v3 slope = {0, 0, 0};
        if (n == 2) slope = quotient(c, 0);

        if (n > 2) {
            /* The parabola through samples i, i + 1 and i + 2. */
            uint32_t i = k - 1;
            if (k == 0) i = 0;
            if (k == n - 1) i = n - 3;
            const v3 a = quotient(c, i);
            const v3 b = quotient(c, i + 1);
            const double h_a = c->time[i + 1] - c->time[i];
            const double h_b = c->time[i + 2] - c->time[i + 1];

            if (k == 0)
                slope = end_slope(a, h_a, b, h_b);
            else if (k == n - 1)
                slope = end_slope(b, h_b, a, h_a);
            else
                slope = middle_slope(a, h_a, b, h_b);
        }
        v3_to(slope, slopes + 3 * (size_t)k);
    }
}

static v3 position_quotient(const skel_curve *c, uint32_t k) {
    const v3 d = v3_sub(v3_of(c->value + 3 * (size_t)(k + 1)), v3_of(c->value + 3 * (size_t)k));
    return v3_scale(d, 1.0 / (c->time[k + 1] - c->time[k]));
}

/* Rotation vector from sample k to sample k + 1, in body axes of sample k. */
static v3 rotation_between(const skel_curve *c, uint32_t k) {
    const quat from = q_of(c->value + 4 * (size_t)k);
    const quat to = q_of(c->value + 4 * (size_t)(k + 1));
    return q_log(q_mul(q_conj(from), to));
}

static v3 orientation_quotient(const skel_curve *c, uint32_t k) {
    return v3_scale(rotation_between(c, k), 1.0 / (c->time[k + 1] - c->time[k]));
}

void skel__curve_position_slopes(const skel_curve *c, double *slopes) {
    slopes_from_quotients(c, position_quotient, slopes);
}

void skel__curve_orient(double *value, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) {
        quat q = q_unit(q_of(value + 4 * (size_t)k));
        if (k > 0 && q_dot(q, q_of(value + 4 * (size_t)(k - 1))) < 0) q = q_neg(q);
        q_to(q, value + 4 * (size_t)k);
    }
}

void skel__curve_orientation_slopes(const skel_curve *c, double *slopes) {
    slopes_from_quotients(c, orientation_quotient, slopes);
}

/* A cubic on 0 <= s <= h with given values and slopes at both ends: its value, first and second
   derivative at s [s]. */
typedef struct hermite {
    v3 f, d, dd;
} hermite;

static hermite hermite_at(v3 f0, v3 d0, v3 f1, v3 d1, double h, double s) {
    const double u = s / h;
    const v3 df = v3_sub(f1, f0);

    /* f = f0 + d0 s + c2 s^2 + c3 s^3 */
    const v3 c2 = v3_scale(v3_sub(v3_scale(df, 3.0 / h), v3_add(v3_scale(d0, 2.0), d1)), 1.0 / h);
    const v3 c3 = v3_scale(v3_sub(v3_add(d0, d1), v3_scale(df, 2.0 / h)), 1.0 / (h * h));
    return (hermite){
        v3_add(f0, v3_scale(v3_mad(d0, s, v3_mad(c2, s, c3)), u * h)),
        v3_add(d0, v3_scale(v3_mad(v3_scale(c2, 2.0), 3.0 * s, c3), s)),
        v3_mad(v3_scale(c2, 2.0), 6.0 * s, c3),
    };
}

/* Whether the curve is constant on the given side of t, because t lies outside the samples. *k is
   then the first or the last sample. Unlike is_outside, this tells the two sides of the first and
   of the last sample apart, where velocities and slopes jump. */
static int is_constant(const skel_curve *c, double t, skel__side side, uint32_t *k) {
    const uint32_t last = c->count - 1;
    *k = 0;
    if (last == 0) return 1;

    const double tol = side == SKEL__BEFORE ? CURVE_TIME_TOL : -CURVE_TIME_TOL;
    const double from = c->time[0] + tol * (c->time[1] - c->time[0]);
    const double to = c->time[last] + tol * (c->time[last] - c->time[last - 1]);
    if (t >= from && t <= to) return 0;

    *k = t < from ? 0 : last;
    return 1;
}

void skel__curve_add_slope(const skel_curve *c, double t, skel__side side, double *out) {
    uint32_t k = 0;
    if (c->count == 0 || is_constant(c, t, side, &k)) return;

    k = interval_at(c, t, side);
    const double h = c->time[k + 1] - c->time[k];
    const double *from = c->value + k * c->width;
    const double *to = from + c->width;
    for (uint32_t i = 0; i < c->width; ++i) out[i] += (to[i] - from[i]) / h;
}

void skel__curve_position(const skel_curve *c, const double *slopes, double t, skel__side side,
                          skel__motion *m) {
    if (c->count == 0) return;

    uint32_t k = 0;
    m->v = (v3){0, 0, 0};
    m->a = (v3){0, 0, 0};
    if (is_constant(c, t, side, &k)) {
        m->x.p = v3_of(c->value + 3 * (size_t)k);
        return;
    }

    k = interval_at(c, t, side);
    const size_t i = 3 * (size_t)k;
    const hermite f =
        hermite_at(v3_of(c->value + i), v3_of(slopes + i), v3_of(c->value + i + 3),
                   v3_of(slopes + i + 3), c->time[k + 1] - c->time[k], t - c->time[k]);
    m->x.p = f.f;
    m->v = f.d;
    m->a = f.dd;
}

/* phi' with J(phi) phi' = w. J is regular for |phi| < 2 pi. */
static v3 rate_for(v3 phi, v3 w) {
    const exp_coeffs k = exp_coefficients(phi);
    const m3 x = m3_skew(phi), x2 = m3_mul(x, x);

    /* J = 1 - b [phi] + c [phi]^2 */
    m3 j = m3_identity();
    for (int r = 0; r < 3; ++r) j.r[r] = v3_mad(v3_mad(j.r[r], -k.b, x.r[r]), k.c, x2.r[r]);
    return m3_mulv(m3_inverse(j), w);
}

/* d/dt (J(phi) phi') = J phi'' + J' phi', with J' from b' = db (phi.phi'), c' = dc (phi.phi'). */
static v3 angular_acceleration(hermite f) {
    const exp_coeffs k = exp_coefficients(f.f);
    const double pd = v3_dot(f.f, f.d);
    const v3 pxd = v3_cross(f.f, f.d);

    v3 dw = q_jacobian_mul(f.f, f.dd);
    dw = v3_mad(dw, -k.db * pd, pxd); /* phi' x phi' = 0 */
    dw = v3_mad(dw, k.dc * pd, v3_cross(f.f, pxd));
    return v3_mad(dw, k.c, v3_cross(f.d, pxd));
}

void skel__curve_orientation(const skel_curve *c, const double *slopes, double t, skel__side side,
                             skel__motion *m) {
    if (c->count == 0) return;

    uint32_t k = 0;
    m->w = (v3){0, 0, 0};
    m->dw = (v3){0, 0, 0};
    if (is_constant(c, t, side, &k)) {
        m->x.q = q_of(c->value + 4 * (size_t)k);
        return;
    }

    k = interval_at(c, t, side);
    const v3 phi = rotation_between(c, k);
    const double *w = slopes + 3 * (size_t)k;
    const hermite f = hermite_at((v3){0, 0, 0}, v3_of(w), phi, rate_for(phi, v3_of(w + 3)),
                                 c->time[k + 1] - c->time[k], t - c->time[k]);

    m->x.q = q_unit(q_mul(q_of(c->value + 4 * (size_t)k), q_exp(f.f)));
    m->w = q_jacobian_mul(f.f, f.d);
    m->dw = angular_acceleration(f);
}
