/* SPDX-License-Identifier: BSD-3-Clause */
/* Measure-then-carve: one layout function, called with base == NULL to count and with the block to
   place. The same code does both, so they cannot disagree. */
#ifndef SKEL_BASE_CARVE_H
#define SKEL_BASE_CARVE_H

#include <stddef.h>

#define SKEL__ALIGN 64u

typedef struct skel__carver {
    unsigned char *base; /* NULL while counting */
    size_t used;
} skel__carver;

static inline void *skel__carve(skel__carver *c, size_t count, size_t size) {
    void *place = c->base ? c->base + c->used : NULL;
    c->used += (count * size + (SKEL__ALIGN - 1u)) / SKEL__ALIGN * SKEL__ALIGN;
    return place;
}

/* count entries and one more at index -1 */
static inline void *skel__carve_with_world(skel__carver *c, size_t count, size_t size) {
    unsigned char *place = skel__carve(c, count + 1, size);
    return place ? place + size : NULL;
}

#endif
