/* SPDX-License-Identifier: BSD-3-Clause */
/* Finite differences by Fornberg's recursion (Math. Comp. 51, 1988) and the Butterworth filter of
   movement science (Winter, Biomechanics and Motor Control, 2.2.4.4). */
#include "math/series.h"

#include <math.h>

#define PI 3.14159265358979323846
#define HALF_CENTRAL (SKEL__STENCIL_ORDER / 2)
#define PAD_PERIODS 3.0 /* of the cut-off: what a filter remembers beyond is below 1e-5 */

/* Weights of the value and its first two derivatives at x = 0 for nodes at -at, .. count-1-at. */
static void weights(skel__stencil *s) {
    double w[SKEL__STENCIL_NODES][3] = {{1.0}};
    double before = 1.0;
    double last = -s->at; /* node n less the point */
    for (int32_t n = 1; n < s->count; ++n) {
        const int32_t top = n < 2 ? n : 2;
        const double here = n - s->at;
        double product = 1.0;
        for (int32_t v = 0; v < n; ++v) {
            const double apart = n - v;
            product *= apart;
            if (v == n - 1)
                for (int32_t m = top; m >= 0; --m)
                    w[n][m] = before / product *
                              ((m > 0 ? m * w[n - 1][m - 1] : 0.0) - last * w[n - 1][m]);
            for (int32_t m = top; m >= 0; --m)
                w[v][m] = (here * w[v][m] - (m > 0 ? m * w[v][m - 1] : 0.0)) / apart;
        }
        before = product;
        last = here;
    }
    for (int32_t n = 0; n < s->count; ++n) s->d1[n] = w[n][1], s->d2[n] = w[n][2];
}

static skel__stencil place(int32_t samples, int32_t sample, int32_t central, int32_t most) {
    skel__stencil s = {0};
    const int32_t half = central / 2;
    if (sample >= half && sample + half < samples) {
        s.first = sample - half, s.count = central;
    } else {
        s.count = samples < most ? samples : most;
        s.first = sample < half ? 0 : samples - s.count;
    }
    s.at = sample - s.first;
    weights(&s);
    return s;
}

skel__stencil skel__stencil_at(int32_t samples, int32_t sample) {
    /* a second derivative gains an order by symmetry: 9 nodes inside are worth 10 at an end */
    return place(samples, sample, SKEL__STENCIL_ORDER + 1, SKEL__STENCIL_NODES);
}

skel__stencil skel__stencil_narrow(int32_t samples, int32_t sample, int32_t most) {
    const int32_t central = most % 2 ? most : most - 1;
    return place(samples, sample, central, most);
}

/* ---- filter ---- */

/* y_k = a0 (x_k + 2 x_k-1 + x_k-2) + b1 y_k-1 + b2 y_k-2, bilinear, cut-off prewarped. One pass is
   |H|^2 = 1 / (1 + (w / w0)^4); two passes are 1/sqrt(2) at wc where (wc / w0)^4 = sqrt(2) - 1, so
   w0 = wc / (sqrt(2) - 1)^(1/4). */
typedef struct coefficients {
    double a0, b1, b2;
} coefficients;

static coefficients butterworth(double cutoff, double rate) {
    const double w0 = tan(PI * cutoff / rate) / pow(sqrt(2.0) - 1.0, 0.25);
    const double k1 = sqrt(2.0) * w0, k2 = w0 * w0, a0 = k2 / (1.0 + k1 + k2);
    const double b1 = 2.0 * a0 * (1.0 / k2 - 1.0);
    return (coefficients){a0, b1, 1.0 - 4.0 * a0 - b1};
}

/* From a steady start at the first number. */
static void pass(coefficients c, double *x, ptrdiff_t step, size_t n) {
    double x1 = *x, x2 = *x, y1 = *x, y2 = *x;
    for (size_t k = 0; k < n; ++k, x += step) {
        const double x0 = *x, y0 = c.a0 * (x0 + 2.0 * x1 + x2) + c.b1 * y1 + c.b2 * y2;
        x2 = x1, x1 = x0, y2 = y1, y1 = y0;
        *x = y0;
    }
}

size_t skel__lowpass_room(size_t n) {
    return 3 * n;
}

/* Beyond its ends x goes on turned about its end points, 2 x_0 - x_k: slopes go on, too, and the
   end points themselves stay where they are. */
void skel__lowpass(double *x, size_t stride, size_t n, double cutoff, double rate,
                   double *scratch) {
    const double wanted = ceil(PAD_PERIODS * rate / cutoff);
    const size_t pad = n < 2 ? 0 : wanted < (double)(n - 1) ? (size_t)wanted : n - 1;
    const size_t total = n + 2 * pad;
    const double first = x[0], end = x[(n - 1) * stride];
    if (n < 2) return;
    for (size_t k = 0; k < n; ++k) scratch[pad + k] = x[k * stride];
    for (size_t k = 1; k <= pad; ++k) {
        scratch[pad - k] = 2.0 * first - x[k * stride];
        scratch[pad + n - 1 + k] = 2.0 * end - x[(n - 1 - k) * stride];
    }
    const coefficients c = butterworth(cutoff, rate);
    pass(c, scratch, 1, total);
    pass(c, scratch + total - 1, -1, total);
    for (size_t k = 0; k < n; ++k) x[k * stride] = scratch[pad + k];
}

/* ---- noise ---- */

/* Half-band high-pass: 1 in the middle minus a windowed sinc (Blackman), TAPS to either side. What
   lies beyond the ends counts as the ends turned about. */
#define TAPS 11
static double turned(const double *x, size_t stride, ptrdiff_t n, ptrdiff_t k) {
    if (n == 1) return x[0];
    if (k < 0) return 2.0 * x[0] - x[(size_t)(-k < n ? -k : n - 1) * stride];
    if (k < n) return x[(size_t)k * stride];
    const ptrdiff_t back = 2 * (n - 1) - k;
    return 2.0 * x[(size_t)(n - 1) * stride] - x[(size_t)(back > 0 ? back : 0) * stride];
}

skel__band skel__band_of(const double *x, size_t stride, size_t n) {
    double tap[TAPS + 1] = {0.5};
    double mean = 0.0;
    skel__band band = {0};
    for (int k = 1; k <= TAPS; ++k) {
        const double u = PI * k / (TAPS + 1.0);
        tap[k] = -sin(0.5 * PI * k) / (PI * k) * (0.42 + 0.5 * cos(u) + 0.08 * cos(2.0 * u));
    }
    for (size_t k = 0; k < n; ++k) mean += x[k * stride] / (double)n;
    for (size_t k = 0; k < n; ++k) {
        const ptrdiff_t at = (ptrdiff_t)k, count = (ptrdiff_t)n;
        double y = tap[0] * x[k * stride];
        for (int j = 1; j <= TAPS; ++j)
            y += tap[j] * (turned(x, stride, count, at - j) + turned(x, stride, count, at + j));
        band.high += y * y;
        band.all += (x[k * stride] - mean) * (x[k * stride] - mean);
    }
    return band;
}
