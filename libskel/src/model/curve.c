/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves. A driven pose is a cubic Hermite curve: positions with the slope of the parabola through
   three neighbours; orientations as q_k exp(phi(s)) with a cubic phi from 0 to log(q_k^-1 q_k+1)
   whose end rates give the wanted angular velocity through the right Jacobian (math/quat.h). So the
   pose and its velocity are continuous, and the acceleration is the exact derivative in between. */
#include "model/curve.h"

#include <string.h>

/* Samples nearer than this (relative to the interval) count as met: steps end there by rounding. */
#define MET 1e-9
#define WINDOW 6u /* samples that a smooth curve goes through at a time */

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

/* The same, but a sample that is met belongs to the interval on the wanted side. */
static uint32_t interval_at(const skel_curve *c, double t, skel__side side) {
    const uint32_t k = interval(c, t);
    const double close = MET * (c->time[k + 1] - c->time[k]);
    if (side == SKEL__BEFORE && k > 0 && t - c->time[k] < close) return k - 1;
    if (side == SKEL__AFTER && k + 2 < c->count && c->time[k + 1] - t < close) return k + 1;
    return k;
}

/* Before the first or after the last sample: *k is that sample. */
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
    const double *one = c->value + k * c->width, *two = one + c->width;
    for (uint32_t i = 0; i < c->width; ++i) out[i] += one[i] + s * (two[i] - one[i]);
}

/* Lagrange's polynomial in barycentric form [Berrut, Trefethen 2004 (4.2)]. It meets the samples,
   so neighbours with other windows join without a jump; smooth data is met to the sixth order. */
void skel__curve_add_smooth(const skel_curve *c, double t, double *out) {
    uint32_t k = 0;
    if (c->count < 3 || is_outside(c, t, &k)) {
        skel__curve_add(c, t, out);
        return;
    }
    k = interval(c, t);
    const uint32_t n = c->count < WINDOW ? c->count : WINDOW;
    const uint32_t start = k < WINDOW / 2 - 1                    ? 0
                           : k - (WINDOW / 2 - 1) + n > c->count ? c->count - n
                                                                 : k - (WINDOW / 2 - 1);
    const double *time = c->time + start, h = c->time[k + 1] - c->time[k];
    double share[WINDOW], sum = 0;
    for (uint32_t i = 0; i < n; ++i) {
        share[i] = 1;
        if (t == time[i]) {
            for (uint32_t e = 0; e < n; ++e) share[e] = e == i;
            sum = 1;
            break;
        }
        for (uint32_t e = 0; e < n; ++e) /* in units of the interval: no power of it underflows */
            if (e != i) share[i] *= h / (time[i] - time[e]);
        share[i] *= h / (t - time[i]);
        sum += share[i];
    }
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t e = 0; e < c->width; ++e)
            out[e] += share[i] / sum * c->value[(size_t)(start + i) * c->width + e];
}

/* Slope at the middle of three points from the two difference quotients beside it (parabola);
   at an end, the parabola through the first three; with two points, the line. */
static v3 middle_slope(v3 left, double h_left, v3 right, double h_right) {
    const double s = 1.0 / (h_left + h_right);
    return v3_add(v3_scale(left, h_right * s), v3_scale(right, h_left * s));
}
static v3 end_slope(v3 near_it, double h_near, v3 next, double h_next) {
    const double s = h_near / (h_near + h_next);
    return v3_mad(near_it, s, v3_sub(near_it, next));
}

static void slopes_from_quotients(const skel_curve *c, v3 (*quotient)(const skel_curve *, uint32_t),
                                  double *slopes) {
    const uint32_t n = c->count;
    for (uint32_t k = 0; k < n; ++k) {
        v3 s = {0, 0, 0};
        if (n == 2) {
            s = quotient(c, 0);
        } else if (n > 2) {
            const uint32_t i = k == 0 ? 0 : k == n - 1 ? n - 3 : k - 1;
            const v3 a = quotient(c, i), b = quotient(c, i + 1);
            const double h = c->time[i + 1] - c->time[i], g = c->time[i + 2] - c->time[i + 1];
            s = k == 0       ? end_slope(a, h, b, g)
                : k == n - 1 ? end_slope(b, g, a, h)
                             : middle_slope(a, h, b, g);
        }
        v3_to(s, slopes + 3 * (size_t)k);
    }
}

static v3 position_quotient(const skel_curve *c, uint32_t k) {
    const v3 d = v3_sub(v3_of(c->value + 3 * (size_t)(k + 1)), v3_of(c->value + 3 * (size_t)k));
    return v3_scale(d, 1.0 / (c->time[k + 1] - c->time[k]));
}

static v3 turn(const skel_curve *c, uint32_t k) {
    return q_log(
        q_mul(q_conj(q_of(c->value + 4 * (size_t)k)), q_of(c->value + 4 * (size_t)(k + 1))));
}

static v3 orientation_quotient(const skel_curve *c, uint32_t k) {
    return v3_scale(turn(c, k), 1.0 / (c->time[k + 1] - c->time[k]));
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

/* Cubic Hermite on 0..h: value, first and second derivative at s (seconds from the start). */
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

/* is_outside for what jumps at the ends of a curve, a velocity or a slope: a sample that is met
   there, from inside or by rounding from outside, belongs to the side that was asked for. */
static int is_resting(const skel_curve *c, double t, skel__side side, uint32_t *k) {
    const uint32_t last = c->count - 1;
    if (last == 0) return *k = 0, 1;
    const double late = side == SKEL__BEFORE ? MET : -MET;
    const double from = c->time[0] + late * (c->time[1] - c->time[0]);
    const double to = c->time[last] + late * (c->time[last] - c->time[last - 1]);
    if (t >= from && t <= to) return 0;
    return *k = t < from ? 0 : last, 1;
}

void skel__curve_add_slope(const skel_curve *c, double t, skel__side side, double *out) {
    uint32_t k = 0;
    if (c->count == 0 || is_resting(c, t, side, &k)) return;
    k = interval_at(c, t, side);
    const double h = c->time[k + 1] - c->time[k];
    const double *one = c->value + k * c->width, *two = one + c->width;
    for (uint32_t i = 0; i < c->width; ++i) out[i] += (two[i] - one[i]) / h;
}

void skel__curve_position(const skel_curve *c, const double *slopes, double t, skel__side side,
                          skel__motion *m) {
    if (c->count == 0) return;
    uint32_t k = 0;
    m->v = m->a = (v3){0, 0, 0};
    if (is_resting(c, t, side, &k)) {
        m->x.p = v3_of(c->value + 3 * (size_t)k);
        return;
    }
    k = interval_at(c, t, side);
    const size_t i = 3 * (size_t)k;
    const hermite f =
        hermite_at(v3_of(c->value + i), v3_of(slopes + i), v3_of(c->value + i + 3),
                   v3_of(slopes + i + 3), c->time[k + 1] - c->time[k], t - c->time[k]);
    m->x.p = f.f, m->v = f.d, m->a = f.dd;
}

/* phi' with J(phi) phi' = w: J is 3x3 and regular for |phi| < 2 pi. */
static v3 rate_for(v3 phi, v3 w) {
    const exp_coeffs k = exp_coefficients(phi);
    const m3 x = m3_skew(phi), x2 = m3_mul(x, x);
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
    m->w = m->dw = (v3){0, 0, 0};
    if (is_resting(c, t, side, &k)) {
        m->x.q = q_of(c->value + 4 * (size_t)k);
        return;
    }
    k = interval_at(c, t, side);
    const v3 phi = turn(c, k);
    const double *w = slopes + 3 * (size_t)k;
    const hermite f = hermite_at((v3){0, 0, 0}, v3_of(w), phi, rate_for(phi, v3_of(w + 3)),
                                 c->time[k + 1] - c->time[k], t - c->time[k]);
    m->x.q = q_unit(q_mul(q_of(c->value + 4 * (size_t)k), q_exp(f.f)));
    m->w = q_jacobian_mul(f.f, f.d);
    m->dw = angular_acceleration(f);
}
