/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SKEL_BASE_ALLOC_H
#define SKEL_BASE_ALLOC_H

#include <skel/skel_base.h>

/* malloc and free. */
skel_allocator skel__allocator_default(void);
/* The caller's, or the default where `given` is NULL. SKEL_E_STRUCT_SIZE or SKEL_E_ARGUMENT. */
skel_status skel__allocator_import(skel_allocator *out, const skel_allocator *given);
/* Zeroed and aligned to SKEL__ALIGN; NULL where there is no memory. */
void *skel__alloc(const skel_allocator *a, size_t size);
/* The same, not zeroed: what is never written costs nothing where the system maps pages late. */
void *skel__alloc_unset(const skel_allocator *a, size_t size);
void skel__free(const skel_allocator *a, void *memory);

#endif
