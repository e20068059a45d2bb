/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc has no argument for the block to allocate from, so a thread-local pointer holds it. It is
   set only while this thread is inside a call to SUNDIALS; bakes in other threads have their own.
   */
#include "integrate/cvode_memory.h"
#include "base/carve.h"

#include <stdint.h>
#include <string.h>

/* initial-exec: the C library would otherwise allocate the pointer's memory at the first access in
   each thread, and end the process if there is none. */
#if defined(__ELF__)
#define STATIC_TLS __attribute__((tls_model("initial-exec")))
#else
#define STATIC_TLS
#endif
static _Thread_local skel__sundials_memory *in_use STATIC_TLS;

skel__sundials_memory *skel__sundials_memory_use(skel__sundials_memory *memory) {
    skel__sundials_memory *before = in_use;
    in_use = memory;
    return before;
}

void *skel__sundials_malloc(size_t size) {
    skel__sundials_memory *m = in_use;
    if (!m || size > m->size - m->used) return NULL;

    /* The remaining size is a multiple of the alignment: rounding up cannot exceed it. */
    void *memory = m->base + m->used;
    m->used += (size + (SKEL__ALIGN - 1u)) / SKEL__ALIGN * SKEL__ALIGN;
    return memory;
}

void *skel__sundials_calloc(size_t count, size_t size) {
    if (size > 0 && count > SIZE_MAX / size) return NULL;

    void *memory = skel__sundials_malloc(count * size);
    if (memory) memset(memory, 0, count * size);
    return memory;
}

/* Only SUNDIALS' sparse matrices call realloc, and none is created here. */
void *skel__sundials_realloc(void *memory, size_t size) {
    (void)memory;
    (void)size;
    return NULL;
}

/* The block is freed as a whole. */
void skel__sundials_free(void *memory) {
    (void)memory;
}
