/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets share. A target is one function, LLVMFuzzerTestOneInput: libFuzzer calls it
   with inputs of its own making (README.md), replay.c with the files of the corpus. Beyond crashes
   and sanitizer reports, a broken promise of the public headers is a finding: FUZZ_REQUIRE. */
#ifndef SKEL_TESTS_FUZZ_H
#define SKEL_TESTS_FUZZ_H

#include <skel/skel.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Prints the promise that was broken and aborts. */
void fuzz_fail(const char *file, int line, const char *promise, const char *detail);
#define FUZZ_REQUIRE(condition, detail)                                                            \
    do {                                                                                           \
        if (!(condition)) fuzz_fail(__FILE__, __LINE__, #condition, detail);                       \
    } while (0)

bool fuzz_finite(const double *x, size_t count);

/* ---- documents (document.c) ------------------------------------------------------------------ */

/** Parses the text and holds the parser to its word: skel_scene_check agrees, an error is one line
    that says something, and what skel_scene_write writes parses to the same. NULL: refused. */
skel_scene *fuzz_parse(const char *text, size_t length);
/** The texts that a scene can be written as (scene with edits, URDF, table): all parse again. */
void fuzz_write_all(const skel_scene *scene);
/** State, accelerations, some steps of a bake and some samples of the IK of a scene. */
void fuzz_use_scene(const skel_scene *scene);
/** A table in both conventions and both notations: what is written parses, and leads back. */
void fuzz_rewrite_table(const char *text, size_t length);

/* ---- models from bytes (model.c) ------------------------------------------------------------- */

/** Reads numbers from the input; past its end all are 0. */
typedef struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
    size_t at;
} fuzz_bytes;

/** 0 <= k < count. */
int32_t fuzz_choose(fuzz_bytes *b, int32_t count);
/** Of moderate size mostly; now and then tiny or large, never infinite. */
double fuzz_number(fuzz_bytes *b);
/** 0 <= x <= 1. */
double fuzz_unit(fuzz_bytes *b);
void fuzz_vector(fuzz_bytes *b, double x[3]);
void fuzz_rotation(fuzz_bytes *b, double q[4]);
/** A model of at most 8 bodies with every kind of joint, limit, spring, contact and field, or NULL
    if the numbers make none. */
skel_model *fuzz_model(fuzz_bytes *b);

#endif
