/* SPDX-License-Identifier: BSD-3-Clause */
/* A small seeded generator (xorshift64*), the same numbers on every machine. */
#ifndef SKEL_TESTS_RNG_H
#define SKEL_TESTS_RNG_H

#include <stdint.h>

typedef struct rng {
    uint64_t s;
} rng;

static inline rng rng_seed(uint64_t seed) {
    rng r = {seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du};
    return r;
}
static inline uint64_t rng_next(rng *r) {
    r->s ^= r->s >> 12, r->s ^= r->s << 25, r->s ^= r->s >> 27;
    return r->s * 0x2545F4914F6CDD1Du;
}
/* 0 <= x < 1 */
static inline double rng_unit(rng *r) {
    return (double)(rng_next(r) >> 11) * (1.0 / 9007199254740992.0);
}
static inline double rng_range(rng *r, double low, double high) {
    return low + (high - low) * rng_unit(r);
}
/* 0 <= k < count */
static inline int rng_int(rng *r, int count) {
    return (int)(rng_unit(r) * count);
}

#endif
