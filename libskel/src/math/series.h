/* SPDX-License-Identifier: BSD-3-Clause */
/* Equidistant samples: derivatives, a low-pass filter, and the share of noise. */
#ifndef SKEL_MATH_SERIES_H
#define SKEL_MATH_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define SKEL__STENCIL_ORDER 8
#define SKEL__STENCIL_NODES 10 /* largest number of nodes */

/* A finite difference formula at one sample. It uses samples first to first + count - 1. d1 and
   d2 are the weights of the first and second derivative for a spacing of 1. */
typedef struct skel__stencil {
    int32_t first, count, at; /* at: index within the stencil */
    double d1[SKEL__STENCIL_NODES], d2[SKEL__STENCIL_NODES];
} skel__stencil;

/* The formula of eighth order: four samples on either side, or near an end the ten samples at that
   end. If there are fewer than ten samples, it uses all of them. samples >= 3. */
skel__stencil skel__stencil_at(int32_t samples, int32_t sample);
/* The same with at most `most` nodes (3 or more) around the sample. */
skel__stencil skel__stencil_narrow(int32_t samples, int32_t sample, int32_t most);

/* Doubles of scratch memory that the filter needs for n samples. */
size_t skel__lowpass_room(size_t n);
/* Zero-lag Butterworth filter of x[0], x[stride], ... It runs forward and backward with second
   order. The result has fourth order, and the gain 1/sqrt(2) at the cut-off frequency.
   0 < cutoff < rate / 2 [Hz]. */
void skel__lowpass(double *x, size_t stride, size_t n, double cutoff, double rate, double *scratch);
/* Sum of squares of x about its mean, and of the part above a quarter of the rate. */
typedef struct skel__band {
    double all, high;
} skel__band;
skel__band skel__band_of(const double *x, size_t stride, size_t n);

#endif
