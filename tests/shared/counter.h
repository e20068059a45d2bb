/* SPDX-License-Identifier: BSD-3-Clause */
/* An allocator that counts its calls and fails at one of them. */
#ifndef SKEL_TESTS_COUNTER_H
#define SKEL_TESTS_COUNTER_H

#include <stdlib.h>

typedef struct counter {
    long calls, live, fail_at;
} counter;

static inline void *count_alloc(size_t size, void *user) {
    counter *c = user;
    if (++c->calls == c->fail_at) return NULL;
    ++c->live;
    return malloc(size);
}

static inline void count_free(void *memory, void *user) {
    counter *c = user;
    if (memory) --c->live;
    free(memory);
}

#endif
