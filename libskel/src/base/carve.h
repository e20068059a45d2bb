/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of an object in one block. A layout function calls skel__carve for every array. It is
   called twice: with base == NULL to count the bytes, then with the block to assign the pointers.
   The same code does both, so they cannot disagree. */
#ifndef SKEL_BASE_CARVE_H
#define SKEL_BASE_CARVE_H

#include <stddef.h>

#define SKEL__ALIGN 64u /* bytes of a cache line */

typedef struct skel__carver {
    unsigned char *base; /* NULL while counting */
    size_t used;         /* [bytes] */
} skel__carver;

/* The next array of the block, aligned to a cache line; NULL while counting. */
static inline void *skel__carve(skel__carver *c, size_t count, size_t size) {
    void *out = c->base ? c->base + c->used : NULL;
    c->used += (count * size + (SKEL__ALIGN - 1u)) / SKEL__ALIGN * SKEL__ALIGN;
    return out;
}

/* An array of `count` entries with one more at index -1, which is the world's. */
static inline void *skel__carve_with_world(skel__carver *c, size_t count, size_t size) {
    unsigned char *out = skel__carve(c, count + 1, size);
    return out ? out + size : NULL;
}

#endif
