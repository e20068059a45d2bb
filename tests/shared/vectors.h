/* SPDX-License-Identifier: BSD-3-Clause */
/* tests/data/vectors.json, for Check tests: load and unload as a fixture. */
#ifndef SKEL_TESTS_VECTORS_H
#define SKEL_TESTS_VECTORS_H

#include "document/json.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static json_tree   g_tree;
static json_value *g_vectors;

static inline void load(void) {
    FILE *f = fopen(SKEL_TEST_DATA "/vectors.json", "rb");
    ck_assert_ptr_nonnull(f);
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    char *text = malloc((size_t)size + 1);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    char message[200];
    ck_assert_msg(json_parse(&g_tree, text, (size_t)size, message, sizeof message) == SKEL_OK, "%s",
                  message);
    g_vectors = g_tree.root;
    free(text);
}

static inline void unload(void) {
    json_free(&g_tree);
}

static inline const json_value *get(const json_value *node, const char *name) {
    const json_value *item = json_member(node, name);
    ck_assert_msg(item != NULL, "no %s", name);
    return item;
}

static inline double number(const json_value *node, const char *name) {
    return get(node, name)->number;
}
static inline void numbers(const json_value *node, const char *name, double *out, int count) {
    const json_value *list = get(node, name);
    ck_assert_int_eq(json_size(list), count);
    for (int k = 0; k < count; ++k) out[k] = json_element(list, k)->number;
}

#endif
