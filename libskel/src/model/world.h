/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of building that makes grounds, wobbling masses, fields and the frame of reference. */
#ifndef SKEL_MODEL_WORLD_H
#define SKEL_MODEL_WORLD_H

#include "model/model.h"

/* Sizes of version 1: what every caller has. */
#define SKEL__DESC_GROUND_V1 sizeof(skel_ground_desc)
#define SKEL__DESC_WOBBLE_V1 sizeof(skel_wobble_desc)
#define SKEL__DESC_FIELD_V1 sizeof(skel_field_desc)

/* Checks everything that needs no other part of the model. */
skel_status skel__world_check(const skel_model_desc *desc, skel_error *err);
/* Copies into m->ground (ng + 1), m->wobble and m->field, which have room. Bodies and joints are in
   the model already: a wobbling mass is checked against them and gets its host. */
skel_status skel__world_take(skel_model *m, const skel_model_desc *desc, skel_error *err);
/* Grounds into the axes of their bodies, once those stand in their places. */
void skel__world_place(skel_model *m);

#endif
