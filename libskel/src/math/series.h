/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers sampled at an even rate: derivatives and a low-pass filter. */
#ifndef SKEL_MATH_SERIES_H
#define SKEL_MATH_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define SKEL__STENCIL_ORDER 8
#define SKEL__STENCIL_NODES 10 /* the most */

/* The samples first..first+count-1 that the derivatives at one of them are taken from, and the
   weights (spacing 1) of the first and the second. */
typedef struct skel__stencil {
    int32_t first, count, at; /* at: index within the stencil */
    double d1[SKEL__STENCIL_NODES], d2[SKEL__STENCIL_NODES];
} skel__stencil;

/* Eighth order wherever there are ten samples: central with four on either side, near the ends the
   ten next to the end. Fewer samples: all of them. samples >= 3. */
skel__stencil skel__stencil_at(int32_t samples, int32_t sample);
/* The same with at most `most` nodes (3 or more) around the sample. */
skel__stencil skel__stencil_narrow(int32_t samples, int32_t sample, int32_t most);

/* Numbers of scratch that a filter of n samples needs. */
size_t skel__lowpass_room(size_t n);
/* Zero-lag Butterworth filter of x[0], x[stride], ...: second order forward and backward, so of
   fourth order in all and 1/sqrt(2) at the cut-off; 0 < cutoff < rate / 2. */
void skel__lowpass(double *x, size_t stride, size_t n, double cutoff, double rate, double *scratch);
/* Sum of squares of x about its mean, and of the part above a quarter of the rate. */
typedef struct skel__band {
    double all, high;
} skel__band;
skel__band skel__band_of(const double *x, size_t stride, size_t n);

#endif
