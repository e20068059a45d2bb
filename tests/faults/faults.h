/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of the failing allocator (faults.c): each does one thing from its beginning to its end,
   frees all of it and adds up what came out. */
#ifndef SKEL_TESTS_FAULTS_H
#define SKEL_TESTS_FAULTS_H

#include <skel/skel.h>

#include <stdbool.h>

/** A fingerprint of all that came out. */
typedef struct fault_output {
    uint64_t hash;
    size_t bytes;
} fault_output;

void output_add(fault_output *out, const void *bytes, size_t count);

typedef struct fault_case {
    const char *name;
    skel_status (*run)(const struct fault_case *c, fault_output *out);
    const char *document; /* key of a text (cases.c) */
    int32_t option;       /* integrator, convention, ... */
} fault_case;

extern const fault_case fault_cases[];
extern const int32_t fault_case_count;

/** Reads the documents; aborts where one is missing. */
void faults_prepare(void);
void faults_release(void);

#endif
