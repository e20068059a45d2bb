/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of SUNDIALS, which allocates with malloc and does not survive a NULL. In the archive
   that we link, its malloc, calloc and free are renamed (libskel/CMakeLists.txt) to the functions
   here: they carve from a block that was allocated before, through the caller's allocator. So
   memory runs out in one place of ours, before SUNDIALS is called. */
#ifndef SKEL_INTEGRATE_CVODE_MEMORY_H
#define SKEL_INTEGRATE_CVODE_MEMORY_H

#include <stddef.h>

/* A block from which memory is taken in order; its size is a multiple of SKEL__ALIGN. Nothing is
   given back until the block is freed. */
typedef struct skel__sundials_memory {
    unsigned char *base;
    size_t         size, used;
} skel__sundials_memory;

/* Until the next call in this thread, allocations of SUNDIALS come from `memory`; NULL: there are
   none. Returns what was in use before, to be set again afterwards. */
skel__sundials_memory *skel__sundials_memory_use(skel__sundials_memory *memory);

/* What SUNDIALS calls instead of malloc, calloc, realloc and free. */
void *skel__sundials_malloc(size_t size);
void *skel__sundials_calloc(size_t count, size_t size);
void *skel__sundials_realloc(void *memory, size_t size);
void  skel__sundials_free(void *memory);

#endif
