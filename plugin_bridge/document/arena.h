/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in many small pieces that is freed at once. */
#ifndef BRIDGE_DOCUMENT_ARENA_H
#define BRIDGE_DOCUMENT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Start with all zero. After a failed allocation `failed` stays set. */
typedef struct memory_arena {
    void *blocks;
    bool  failed;
} memory_arena;

/** Zeroed, aligned for any number; NULL sets `failed`. */
void *arena_alloc(memory_arena *arena, size_t count, size_t size);
/** A copy of the string; NULL sets `failed`. */
char *arena_string(memory_arena *arena, const char *string);
void  arena_free(memory_arena *arena);

/** Room for one element more in a list that doubles; false sets `failed`. */
bool arena_grow(memory_arena *arena, void *list, int32_t count, int32_t *room, size_t size);

#endif
