/* SPDX-License-Identifier: BSD-3-Clause */
/* tests/data/vectors.json, for Check tests: load and unload as a fixture. */
#ifndef SKEL_TESTS_VECTORS_H
#define SKEL_TESTS_VECTORS_H

#include <check.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

static cJSON *g_vectors;

static inline void load(void) {
    FILE *f = fopen(SKEL_TEST_DATA "/vectors.json", "rb");
    ck_assert_ptr_nonnull(f);
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    char *text = malloc((size_t)size + 1);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, f), (size_t)size);
    text[size] = 0;
    fclose(f);
    g_vectors = cJSON_Parse(text);
    free(text);
    ck_assert_ptr_nonnull(g_vectors);
}

static inline void unload(void) {
    cJSON_Delete(g_vectors);
}

static inline const cJSON *get(const cJSON *node, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(node, name);
    ck_assert_msg(item != NULL, "no %s", name);
    return item;
}

static inline double number(const cJSON *node, const char *name) {
    return get(node, name)->valuedouble;
}
static inline void numbers(const cJSON *node, const char *name, double *out, int count) {
    const cJSON *list = get(node, name);
    ck_assert_int_eq(cJSON_GetArraySize(list), count);
    for (int k = 0; k < count; ++k) out[k] = cJSON_GetArrayItem(list, k)->valuedouble;
}

#endif
