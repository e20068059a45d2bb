/* SPDX-License-Identifier: BSD-3-Clause */
/* Import and export of sized structs. Every public struct begins with its size, struct_size, so
   that it can grow at its end without breaking compiled programs:
   - a caller with older headers has fewer fields: the missing ones keep their defaults;
   - a caller with newer headers has more fields: those that we do not know must be zero.
   `ours` is the size of the struct in this library, `least` its size in the first release. They are
   equal until a struct grows. */
#ifndef SKEL_BASE_DESC_H
#define SKEL_BASE_DESC_H

#include <skel/skel_base.h>

/* Copies the caller's struct over the defaults in *out. Returns SKEL_E_STRUCT_SIZE if it is smaller
   than `least`, or if it has a field that is unknown and not zero. */
skel_status skel__desc_import(void *out, size_t ours, size_t least, const void *in);

/* Fills a caller's struct of `size` bytes with the defaults and sets its struct_size. */
void skel__desc_init(void *desc, size_t size, const void *defaults, size_t ours);

/* Copies a result to the caller, up to its struct_size, which stays. Returns SKEL_E_STRUCT_SIZE if
   that is smaller than `least`. */
skel_status skel__desc_export(void *out, const void *filled, size_t ours, size_t least);

#endif
