/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of texts that keep their grammar, so that more than one input in four is read to its
   end: another number for a number, a copy of one quoted string or bracketed part over another. The
   other half of the changes are libFuzzer's own, with its dictionary. */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

#define PART_MAX 2048 /* bytes of a part that is copied */

typedef struct span {
    size_t from, to;
} span;

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static bool is_number(uint8_t c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e';
}

/* The number at or after a random place; empty where there is none. */
static span find_number(const uint8_t *data, size_t size, uint32_t *state) {
    size_t from = next_random(state) % size;
    while (from < size && !(data[from] >= '0' && data[from] <= '9')) ++from;
    while (from > 0 && is_number(data[from - 1])) --from;
    size_t to = from;
    while (to < size && is_number(data[to])) ++to;
    return (span){from, to};
}

/* A quoted string, an array, an object or an XML element's tag at or after a random place. */
static span find_part(const uint8_t *data, size_t size, uint8_t open, uint8_t close,
                      uint32_t *state) {
    size_t from = next_random(state) % size;
    int32_t depth = 0;
    while (from < size && data[from] != open) ++from;
    for (size_t to = from; to < size; ++to) {
        if (data[to] == open && (open != close || to == from))
            ++depth;
        else if (data[to] == close)
            --depth;
        if (depth == 0) return (span){from, to + 1};
    }
    return (span){size, size};
}

static size_t replace(uint8_t *data, size_t size, size_t max_size, span old, const void *with,
                      size_t length) {
    const size_t now = size - (old.to - old.from) + length;
    if (now > max_size || now == 0) return size;
    memmove(data + old.from + length, data + old.to, size - old.to);
    memcpy(data + old.from, with, length);
    return now;
}

static size_t change_number(uint8_t *data, size_t size, size_t max_size, uint32_t *state) {
    static const char *const k_numbers[] = {"0",
                                            "1",
                                            "-1",
                                            "2",
                                            "0.5",
                                            "-0.5",
                                            "1e-9",
                                            "1e-300",
                                            "1e9",
                                            "1e300",
                                            "1e400",
                                            "255",
                                            "3.14159265358979",
                                            "1.5707963267949",
                                            "100000",
                                            "-0"};
    const span old = find_number(data, size, state);
    char number[32];
    snprintf(number, sizeof number, "%s", k_numbers[next_random(state) % 16]);
    if (next_random(state) % 2)
        snprintf(number, sizeof number, "%.3g",
                 (int32_t)(next_random(state) % 4001 - 2000) / 500.0);
    return replace(data, size, max_size, old, number, strlen(number));
}

/* Copies a part over another one of its kind, or beside it, or takes it away. */
static size_t change_part(uint8_t *data, size_t size, size_t max_size, uint32_t *state) {
    static const char k_pairs[][2] = {{'"', '"'}, {'[', ']'}, {'{', '}'}, {'<', '>'}, {'\n', '\n'}};
    const char *pair = k_pairs[next_random(state) % 5];
    const uint8_t open = (uint8_t)pair[0], close = (uint8_t)pair[1];
    const span from = find_part(data, size, open, close, state);
    span to = find_part(data, size, open, close, state);
    uint8_t part[PART_MAX + 1];
    size_t length = from.to - from.from;
    if (length > PART_MAX) return size;
    memcpy(part, data + from.from, length);
    switch (next_random(state) % 4) {
    case 0: length = 0; break; /* takes away */
    case 1:                    /* puts another one before it */
        to.to = to.from;
        part[length++] = open == '<' ? '\n' : ',';
        break;
    default: break;
    }
    return replace(data, size, max_size, to, part, length);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    uint32_t state = seed;
    if (size == 0 || next_random(&state) % 2) return LLVMFuzzerMutate(data, size, max_size);
    const uint32_t changes = 1 + next_random(&state) % 3;
    for (uint32_t k = 0; k < changes && size > 0; ++k)
        size = next_random(&state) % 2 ? change_number(data, size, max_size, &state)
                                       : change_part(data, size, max_size, &state);
    return size;
}
