/* SPDX-License-Identifier: BSD-3-Clause */
/* Many small blocks of memory that are freed together. */
#ifndef BRIDGE_DOCUMENT_ARENA_H
#define BRIDGE_DOCUMENT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Initialise with zeros. After a failed allocation, `failed` is set. */
typedef struct memory_arena {
    void *blocks;
    bool failed;
} memory_arena;

/** Zeroed memory, aligned for any number. NULL: `failed` is set. */
void *arena_alloc(memory_arena *arena, size_t count, size_t size);
/** A copy of the string. NULL: `failed` is set. */
char *arena_string(memory_arena *arena, const char *string);
void arena_free(memory_arena *arena);

/** Makes room for element `count` of *list, which has *room elements of `size` bytes; the room
    doubles. False: `failed` is set. */
bool arena_grow(memory_arena *arena, void *list, int32_t count, int32_t *room, size_t size);

#endif
