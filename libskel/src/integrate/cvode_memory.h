/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of SUNDIALS, which calls malloc and crashes if it returns NULL. In the archive that is
   linked, malloc, calloc, realloc and free are renamed (libskel/CMakeLists.txt) to the functions
   here. They carve from a block that the caller's allocator provided before, so that running out of
   memory is detected before SUNDIALS is called. */
#ifndef SKEL_INTEGRATE_CVODE_MEMORY_H
#define SKEL_INTEGRATE_CVODE_MEMORY_H

#include <stddef.h>

/* A block from which memory is carved in order; its size is a multiple of SKEL__ALIGN. Nothing is
   released until the block is freed. */
typedef struct skel__sundials_memory {
    unsigned char *base;
    size_t size, used;
} skel__sundials_memory;

/* Until the next call in this thread, allocations of SUNDIALS come from `memory`; NULL: they fail.
   Returns the block in use before, which the caller sets again afterwards. */
skel__sundials_memory *skel__sundials_memory_use(skel__sundials_memory *memory);

/* Called by SUNDIALS instead of malloc, calloc, realloc and free. */
void *skel__sundials_malloc(size_t size);
void *skel__sundials_calloc(size_t count, size_t size);
void *skel__sundials_realloc(void *memory, size_t size);
void skel__sundials_free(void *memory);

#endif
