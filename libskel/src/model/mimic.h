/* SPDX-License-Identifier: BSD-3-Clause */
/* Mimic joints: joints whose coordinate is a multiple of another one's plus an offset. */
#ifndef SKEL_MODEL_MIMIC_H
#define SKEL_MODEL_MIMIC_H

#include "model/model.h"

/* Checks `mimic` of all joints and fills mimic_root, mimic_factor, mimic_shift and m->mimic_joint.
   The forest is known. stack: (nb) indices. */
skel_status skel__mimic_resolve(skel_model *m, int32_t *stack, skel_error *err);

#endif
