/* SPDX-License-Identifier: BSD-3-Clause */
/* Import of sized structs: an old caller's missing fields keep our defaults, a new caller's unknown
   fields must be zero. */
#ifndef SKEL_BASE_DESC_H
#define SKEL_BASE_DESC_H

#include <skel/skel_base.h>

/* out holds our defaults (ours bytes) and receives what the caller set. v1: the smallest size. */
skel_status skel__desc_import(void *out, size_t ours, size_t v1, const void *in);
/* Our defaults cut to the caller's size, struct_size set to it. */
void skel__desc_init(void *desc, size_t size, const void *defaults, size_t ours);
/* Answers to the caller: fills the part of *out that it knows. */
skel_status skel__desc_export(void *out, const void *filled, size_t ours, size_t v1);

#endif
