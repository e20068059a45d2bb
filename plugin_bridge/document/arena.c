/* SPDX-License-Identifier: BSD-3-Clause */
#include "document/arena.h"

#include <stdlib.h>
#include <string.h>

/* A block starts with the address of the block before it. Its 16 bytes keep the memory after it
   aligned. */
void *arena_alloc(memory_arena *arena, size_t count, size_t size) {
    void **block = NULL;
    if (size == 0 || count <= (SIZE_MAX - 16) / size) block = calloc(1, count * size + 16);
    if (!block) {
        arena->failed = true;
        return NULL;
    }
    *block = arena->blocks;
    arena->blocks = block;
    return (char *)block + 16;
}

char *arena_string(memory_arena *arena, const char *string) {
    const size_t n = strlen(string) + 1;
    char *copy = arena_alloc(arena, n, 1);
    if (copy) memcpy(copy, string, n);
    return copy;
}

bool arena_grow(memory_arena *arena, void *list, int32_t count, int32_t *room, size_t size) {
    if (count < *room) return true;

    /* `list` is the address of a pointer of any type. */
    void *old;
    memcpy(&old, list, sizeof old);
    const int32_t more = *room ? 2 * *room : 16;
    void *now = more > *room ? arena_alloc(arena, (size_t)more, size) : NULL;
    if (!now) {
        arena->failed = true;
        return false;
    }
    if (old) memcpy(now, old, (size_t)count * size);
    memcpy(list, &now, sizeof now);
    *room = more;
    return true;
}

void arena_free(memory_arena *arena) {
    for (void **block = arena->blocks; block;) {
        void **next = *block;
        free(block);
        block = next;
    }
    *arena = (memory_arena){0};
}
