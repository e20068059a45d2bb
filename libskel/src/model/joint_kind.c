/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of joint kinds: coordinates, velocities, constraint rows and limits of each. */
#include "model/joint_kind.h"
#include "base/desc.h"

#define ANGLE SKEL_COORDINATE_ANGLE
#define LENGTH SKEL_COORDINATE_LENGTH
#define QUATERNION SKEL_COORDINATE_QUATERNION

const skel_joint_kind skel__joint_kinds[SKEL__JOINT_KIND_COUNT] = {
    [SKEL_JOINT_FIXED] = {.struct_size = sizeof(skel_joint_kind),
                          .name = "fixed",
                          .row_count = 6,
                          .is_through_point = 1},

    [SKEL_JOINT_HINGE] = {.struct_size = sizeof(skel_joint_kind),
                          .name = "hinge",
                          .q_count = 1,
                          .dof = 1,
                          .row_count = 5,
                          .q_kind = {ANGLE},
                          .dof_kind = {ANGLE},
                          .has_axis = 1,
                          .is_through_point = 1,
                          .limit_count = 1},

    [SKEL_JOINT_SLIDE] = {.struct_size = sizeof(skel_joint_kind),
                          .name = "slide",
                          .q_count = 1,
                          .dof = 1,
                          .row_count = 5,
                          .q_kind = {LENGTH},
                          .dof_kind = {LENGTH},
                          .has_axis = 1,
                          .limit_count = 1},

    [SKEL_JOINT_UNIVERSAL] = {.struct_size = sizeof(skel_joint_kind),
                              .name = "universal",
                              .q_count = 2,
                              .dof = 2,
                              .row_count = 4,
                              .q_kind = {ANGLE, ANGLE},
                              .dof_kind = {ANGLE, ANGLE},
                              .is_through_point = 1,
                              .limit_count = 2},

    [SKEL_JOINT_BALL] = {.struct_size = sizeof(skel_joint_kind),
                         .name = "ball",
                         .q_count = 4,
                         .dof = 3,
                         .row_count = 3,
                         .q_kind = {QUATERNION, QUATERNION, QUATERNION, QUATERNION},
                         .dof_kind = {ANGLE, ANGLE, ANGLE},
                         .is_through_point = 1,
                         .limit_count = 2},
};

skel_status skel_joint_kind_get(int32_t type, skel_joint_kind *out) {
    if (!out || !skel__is_joint_type(type)) return SKEL_E_ARGUMENT;
    return skel__desc_export(out, &skel__joint_kinds[type], sizeof *out, sizeof *out);
}
