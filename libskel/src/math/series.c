/* SPDX-License-Identifier: BSD-3-Clause */
/* Finite differences by Fornberg's recursion (Math. Comp. 51, 1988), and the Butterworth filter of
   movement science (Winter, Biomechanics and Motor Control, 2.2.4.4). */
#include "math/series.h"

#include <math.h>

#define PI 3.14159265358979323846
#define FILTER_PAD_PERIODS 3.0 /* of the cut-off: an impulse response has decayed to 1e-5 */
#define NOISE_TAPS 11          /* coefficients of the high-pass filter on either side */

/* Fornberg's recursion: w[n][m] is the weight of node n for derivative m at x = 0, for nodes at
   -at to count - 1 - at. It adds one node after the other. */
static void weights(skel__stencil *s) {
    double w[SKEL__STENCIL_NODES][3] = {{1.0}};
    double before = 1.0;
    double last = -s->at; /* position of node n - 1 */

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

    for (int32_t n = 0; n < s->count; ++n) {
        s->d1[n] = w[n][1];
        s->d2[n] = w[n][2];
    }
}

/* Inside, `central` nodes around the sample; near an end, at most `most` nodes at that end. */
static skel__stencil choose_nodes(int32_t samples, int32_t sample, int32_t central, int32_t most) {
    skel__stencil s = {0};
    const int32_t half = central / 2;

    if (sample >= half && sample + half < samples) {
        s.first = sample - half;
        s.count = central;
    } else {
        s.count = samples < most ? samples : most;
        s.first = sample < half ? 0 : samples - s.count;
    }

    s.at = sample - s.first;
    weights(&s);
    return s;
}

skel__stencil skel__stencil_at(int32_t samples, int32_t sample) {
    /* By symmetry a central second derivative gains an order: 9 nodes equal 10 at an end. */
    return choose_nodes(samples, sample, SKEL__STENCIL_ORDER + 1, SKEL__STENCIL_NODES);
}

skel__stencil skel__stencil_narrow(int32_t samples, int32_t sample, int32_t most) {
    const int32_t central = most % 2 ? most : most - 1;
    return choose_nodes(samples, sample, central, most);
}

/* ---- filter ---- */

/* y_k = a0 (x_k + 2 x_k-1 + x_k-2) + b1 y_k-1 + b2 y_k-2, from the bilinear transform with a
   prewarped cut-off. One pass has |H|^2 = 1 / (1 + (w / w0)^4). Two passes have the gain 1/sqrt(2)
   at wc if (wc / w0)^4 = sqrt(2) - 1, so w0 = wc / (sqrt(2) - 1)^(1/4). */
typedef struct coefficients {
    double a0, b1, b2;
} coefficients;

static coefficients butterworth(double cutoff, double rate) {
    const double w0 = tan(PI * cutoff / rate) / pow(sqrt(2.0) - 1.0, 0.25);
    const double k1 = sqrt(2.0) * w0;
    const double k2 = w0 * w0;
    const double a0 = k2 / (1.0 + k1 + k2);
    const double b1 = 2.0 * a0 * (1.0 / k2 - 1.0);
    return (coefficients){a0, b1, 1.0 - 4.0 * a0 - b1};
}

/* One pass in place. The samples before the first one are taken to be equal to it. */
static void filter(coefficients c, double *x, ptrdiff_t step, size_t n) {
    double x1 = *x, x2 = *x, y1 = *x, y2 = *x;

    for (size_t k = 0; k < n; ++k, x += step) {
        const double x0 = *x;
        const double y0 = c.a0 * (x0 + 2.0 * x1 + x2) + c.b1 * y1 + c.b2 * y2;
        x2 = x1;
        x1 = x0;
        y2 = y1;
        y1 = y0;
        *x = y0;
    }
}

size_t skel__lowpass_room(size_t n) {
    return 3 * n;
}

/* Before the first sample the series is continued by its point reflection 2 x_0 - x_k, and likewise
   after the last one. This continues the slopes, and the end points keep their values. */
void skel__lowpass(double *x, size_t stride, size_t n, double cutoff, double rate,
                   double *scratch) {
    const double wanted = ceil(FILTER_PAD_PERIODS * rate / cutoff);
    if (n < 2) return;

    const size_t pad = wanted < (double)(n - 1) ? (size_t)wanted : n - 1;
    const size_t total = n + 2 * pad;
    const double first = x[0];
    const double end = x[(n - 1) * stride];
    for (size_t k = 0; k < n; ++k) scratch[pad + k] = x[k * stride];
    for (size_t k = 1; k <= pad; ++k) {
        scratch[pad - k] = 2.0 * first - x[k * stride];
        scratch[pad + n - 1 + k] = 2.0 * end - x[(n - 1 - k) * stride];
    }

    const coefficients c = butterworth(cutoff, rate);
    filter(c, scratch, 1, total);
    filter(c, scratch + total - 1, -1, total);
    for (size_t k = 0; k < n; ++k) x[k * stride] = scratch[pad + k];
}

/* ---- noise ---- */

/* Sample k of the series, which is continued beyond its ends by point reflection. */
static double reflected(const double *x, size_t stride, ptrdiff_t n, ptrdiff_t k) {
    if (n == 1) return x[0];

    if (k < 0) return 2.0 * x[0] - x[(size_t)(-k < n ? -k : n - 1) * stride];
    if (k < n) return x[(size_t)k * stride];
    const ptrdiff_t back = 2 * (n - 1) - k;
    return 2.0 * x[(size_t)(n - 1) * stride] - x[(size_t)(back > 0 ? back : 0) * stride];
}

/* Half-band high-pass filter: 1 minus a sinc function with a Blackman window. */
skel__band skel__band_of(const double *x, size_t stride, size_t n) {
    double tap[NOISE_TAPS + 1] = {0.5};
    double mean = 0.0;
    skel__band band = {0};

    for (int k = 1; k <= NOISE_TAPS; ++k) {
        const double u = PI * k / (NOISE_TAPS + 1.0);
        tap[k] = -sin(0.5 * PI * k) / (PI * k) * (0.42 + 0.5 * cos(u) + 0.08 * cos(2.0 * u));
    }

    for (size_t k = 0; k < n; ++k) mean += x[k * stride] / (double)n;
    for (size_t k = 0; k < n; ++k) {
        const ptrdiff_t at = (ptrdiff_t)k, count = (ptrdiff_t)n;
        double y = tap[0] * x[k * stride];
        for (int j = 1; j <= NOISE_TAPS; ++j)
            y += tap[j] *
                 (reflected(x, stride, count, at - j) + reflected(x, stride, count, at + j));

        band.high += y * y;
        band.all += (x[k * stride] - mean) * (x[k * stride] - mean);
    }
    return band;
}
