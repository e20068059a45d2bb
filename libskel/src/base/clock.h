/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SKEL_BASE_CLOCK_H
#define SKEL_BASE_CLOCK_H

#include <time.h>

/* Milliseconds of a clock that only goes forward. */
static inline double skel__now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

#endif
