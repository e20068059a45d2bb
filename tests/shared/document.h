/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents in Check tests: legible in C, and as the library writes them. */
#ifndef SKEL_TESTS_DOCUMENT_H
#define SKEL_TESTS_DOCUMENT_H

#include <check.h>
#include <skel/skel.h>
#include <stdlib.h>
#include <string.h>

static inline char *quoted(const char *text) { /* ' for ", so that JSON stays legible in C */
    char *copy = malloc(strlen(text) + 1);
    strcpy(copy, text);
    for (char *c = copy; *c; ++c)
        if (*c == '\'') *c = '"';
    return copy;
}

static inline char *written(const skel_scene *scene) {
    size_t needed = 0;
    ck_assert_int_eq(skel_scene_write(scene, NULL, 0, &needed), SKEL_E_BUFFER);
    char *text = malloc(needed + 1);
    ck_assert_int_eq(skel_scene_write(scene, text, needed, NULL), SKEL_E_BUFFER);
    ck_assert_int_eq(skel_scene_write(scene, text, needed + 1, NULL), SKEL_OK);
    ck_assert_uint_eq(strlen(text), needed);
    return text;
}

#endif
