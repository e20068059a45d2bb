/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory through the caller's allocator. */
#ifndef SKEL_BASE_ALLOC_H
#define SKEL_BASE_ALLOC_H

#include <skel/skel_base.h>

/* The allocator of malloc and free. */
skel_allocator skel__allocator_default(void);

/* Copies the caller's allocator, or the default if `given` is NULL. Returns SKEL_E_STRUCT_SIZE, or
   SKEL_E_ARGUMENT if a function is missing. */
skel_status skel__allocator_import(skel_allocator *out, const skel_allocator *given);

/* A block of zeros, aligned to SKEL__ALIGN bytes, or NULL if there is not enough memory. */
void *skel__alloc(const skel_allocator *a, size_t size);

/* The same without zeros. Pages that are never written then cost no memory. */
void *skel__alloc_unset(const skel_allocator *a, size_t size);
void skel__free(const skel_allocator *a, void *memory);

#endif
