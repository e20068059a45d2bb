/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors for SUNDIALS (N_Vector) from a pool that is allocated once: cloning takes a vector from
   the pool, destroying returns it. Their content is that of SUNDIALS' serial vectors, which its
   dense solver and matrix require; the operations are implemented in cvode_vector.c. */
#ifndef SKEL_INTEGRATE_CVODE_VECTOR_H
#define SKEL_INTEGRATE_CVODE_VECTOR_H

#include "base/carve.h"

#include <nvector/nvector_serial.h>

typedef struct skel__vector_pool {
    struct _generic_N_Vector_Ops ops; /* shared by all vectors */
    struct skel__pool_vector *vectors;
    int32_t count;           /* vectors in the pool */
    int32_t used, most_used; /* in use now, and at most so far */
} skel__vector_pool;

/* Counts or carves the memory of a pool of `count` vectors of n numbers (carve.h). */
skel__vector_pool *skel__vector_pool_carve(skel__carver *c, int32_t count, size_t n);

/* A vector of zeros, or NULL if all are in use. Vectors that are cloned from it get `context`. */
N_Vector skel__vector_take(skel__vector_pool *pool, SUNContext context);

#endif
