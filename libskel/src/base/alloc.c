/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory through the caller's allocator. Blocks are aligned to a cache line. The pointer that the
   allocator returned is stored in front of the block, for skel__free. */
#include "base/alloc.h"
#include "base/carve.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *default_alloc(size_t size, void *user) {
    (void)user;
    return malloc(size);
}

static void default_free(void *memory, void *user) {
    (void)user;
    free(memory);
}

skel_allocator skel__allocator_default(void) {
    return (skel_allocator){sizeof(skel_allocator), 0, default_alloc, default_free, NULL};
}

skel_status skel__allocator_import(skel_allocator *out, const skel_allocator *given) {
    *out = skel__allocator_default();
    if (!given) return SKEL_OK;

    if (given->struct_size < sizeof *given) return SKEL_E_STRUCT_SIZE;
    if (!given->alloc || !given->free) return SKEL_E_ARGUMENT;

    *out = *given;
    out->struct_size = (uint32_t)sizeof *out;
    return SKEL_OK;
}

void *skel__alloc_unset(const skel_allocator *a, size_t size) {
    const size_t extra = SKEL__ALIGN + sizeof(void *);
    if (size > SIZE_MAX - extra) return NULL;
    void *start = a->alloc(size + extra, a->user);
    if (!start) return NULL;

    /* The first aligned address that leaves room for a pointer. */
    const uintptr_t first = (uintptr_t)start + sizeof(void *);
    const size_t padding = (SKEL__ALIGN - first % SKEL__ALIGN) % SKEL__ALIGN;
    unsigned char *block = (unsigned char *)start + sizeof(void *) + padding;
    memcpy(block - sizeof(void *), &start, sizeof start);
    return block;
}

void *skel__alloc(const skel_allocator *a, size_t size) {
    void *block = skel__alloc_unset(a, size);
    if (block) memset(block, 0, size);
    return block;
}

void skel__free(const skel_allocator *a, void *memory) {
    if (!memory) return;

    void *start;
    memcpy(&start, (unsigned char *)memory - sizeof(void *), sizeof start);
    a->free(start, a->user);
}
