/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in many small pieces that is freed at once. */
#ifndef BRIDGE_DOCUMENT_ARENA_H
#define BRIDGE_DOCUMENT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Start with all zero. After a failed allocation `failed` stays set. */
typedef struct skel__arena {
    void *blocks;
    bool  failed;
} skel__arena;

/** Zeroed, aligned for any number; NULL sets `failed`. */
void *skel__arena_alloc(skel__arena *arena, size_t count, size_t size);
/** A copy of the string; NULL sets `failed`. */
char *skel__arena_string(skel__arena *arena, const char *string);
void  skel__arena_free(skel__arena *arena);

/** Room for one element more in a list that doubles; false sets `failed`. */
bool skel__arena_grow(skel__arena *arena, void *list, int32_t count, int32_t *room, size_t size);

#endif
