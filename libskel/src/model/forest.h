/* SPDX-License-Identifier: BSD-3-Clause */
/* The spanning forest of a model. */
#ifndef SKEL_MODEL_FOREST_H
#define SKEL_MODEL_FOREST_H

#include "model/model.h"

/* Joints of every body, and memory that the search needs. All arrays begin with zeros. */
typedef struct skel__forest_work {
    int32_t *first;   /* (nb + 1) joints of body i are link[first[i]] to link[first[i + 1] - 1] */
    int32_t *link;    /* (2 nj) joint indices */
    int32_t *visited; /* (nb) */
    int32_t *group;   /* (nb + 1) */
} skel__forest_work;

/* Finds tree parents, loop joints, the order of the bodies and the skeletons. Fills first and link.
   Returns SKEL_E_TREE if a joint connects two bodies that both are prescribed. */
skel_status skel__forest_find(skel_model *m, skel__forest_work *work, skel_error *err);

#endif
