/* SPDX-License-Identifier: BSD-3-Clause */
/* Time since an arbitrary start. It never runs backward. */
#ifndef SKEL_BASE_CLOCK_H
#define SKEL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t skel__now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double skel__now_ms(void) {
    return 1e-6 * (double)skel__now_ns();
}

#endif
