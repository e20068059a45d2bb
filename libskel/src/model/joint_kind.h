/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of joint kinds. An algorithm reads a property here instead of comparing types; it
   distinguishes types only where the kinematics of the kinds differ. */
#ifndef SKEL_MODEL_JOINT_KIND_H
#define SKEL_MODEL_JOINT_KIND_H

#include <skel/skel_model.h>

#define SKEL__JOINT_KIND_COUNT 5
extern const skel_joint_kind skel__joint_kinds[SKEL__JOINT_KIND_COUNT];

static inline int skel__is_joint_type(int32_t type) {
    return type >= 0 && type < SKEL__JOINT_KIND_COUNT;
}

/* Whether coordinate or velocity k of the type is a length [m]; otherwise it is an angle [rad]. */
static inline int skel__is_length(int32_t type, int k) {
    return skel__joint_kinds[type].dof_kind[k] == SKEL_COORDINATE_LENGTH;
}

#endif
