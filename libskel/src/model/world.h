/* SPDX-License-Identifier: BSD-3-Clause */
/* Grounds, wobbling masses, fields and the moving frame of a model, while it is built. */
#ifndef SKEL_MODEL_WORLD_H
#define SKEL_MODEL_WORLD_H

#include "model/model.h"

/* Checks all fields that need no other part of the model. */
skel_status skel__world_check(const skel_model_desc *desc, skel_error *err);
/* Fills m->ground (ng + 1), m->wobble and m->field, which are allocated. Bodies and joints must be
   in the model already: wobbling masses are checked against them, and their bodies get a host. */
skel_status skel__world_copy(skel_model *m, const skel_model_desc *desc, skel_error *err);
/* Transforms the grounds into the axes of the bodies that carry them, at the initial poses. */
void skel__world_place(skel_model *m);

#endif
