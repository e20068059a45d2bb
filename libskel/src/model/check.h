/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of descs, field by field. Every message names the field, its value and the rule. */
#ifndef SKEL_MODEL_CHECK_H
#define SKEL_MODEL_CHECK_H

#include <skel/skel_model.h>

/* The desc whose field is checked, for the message: list is "bodies", "joints", "grounds", ... or
   NULL for a field of the model. */
typedef struct skel__owner {
    skel_error *err;
    skel_status status;
    const char *list;
    int32_t index;
} skel__owner;

skel_status skel__check_curve(skel__owner o, const char *field, const skel_curve *c,
                              uint32_t width);
skel_status skel__check_finite(skel__owner o, const char *field, const double *v, int count);

skel_status skel__check_body(skel__owner o, const skel_body_desc *d);
/* body_count: number of bodies of the model, for the range of body indices. */
skel_status skel__check_joint(skel__owner o, int32_t body_count, const skel_joint_desc *d);
skel_status skel__check_ground(skel__owner o, int32_t body_count, const skel_ground_desc *d);
skel_status skel__check_wobble(skel__owner o, int32_t body_count, const skel_wobble_desc *d);
skel_status skel__check_field(skel__owner o, int32_t body_count, const skel_field_desc *d);

#endif
