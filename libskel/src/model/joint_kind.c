/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of joint kinds: coordinates, velocities, constraint rows and limits of each, and the
   axes of its motion. */
#include "model/joint_kind.h"
#include "base/desc.h"

#define ANGLE SKEL_COORDINATE_ANGLE
#define LENGTH SKEL_COORDINATE_LENGTH
#define QUATERNION SKEL_COORDINATE_QUATERNION

const skel_joint_kind skel__joint_kinds[] = {
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

    [SKEL_JOINT_PLANAR] = {.struct_size = sizeof(skel_joint_kind),
                           .name = "planar",
                           .q_count = 3,
                           .dof = 3,
                           .row_count = 3,
                           .q_kind = {LENGTH, LENGTH, ANGLE},
                           .dof_kind = {LENGTH, LENGTH, ANGLE},
                           .limit_count = 2},

    [SKEL_JOINT_SCREW] = {.struct_size = sizeof(skel_joint_kind),
                          .name = "screw",
                          .q_count = 1,
                          .dof = 1,
                          .row_count = 5,
                          .q_kind = {ANGLE},
                          .dof_kind = {ANGLE},
                          .has_axis = 1,
                          .limit_count = 1},
};

const int32_t skel__joint_kind_count =
    (int32_t)(sizeof skel__joint_kinds / sizeof *skel__joint_kinds);

const skel__joint_motion skel__joint_motions[] = {
    [SKEL_JOINT_FIXED] = {.pair_count = 3, .pair = {{0, 2}, {1, 2}, {0, 1}}},

    [SKEL_JOINT_HINGE] = {.freedom = {{0, 2}}, .pair_count = 2, .pair = {{0, 2}, {1, 2}}},

    [SKEL_JOINT_SLIDE] = {.freedom = {{0, 2}},
                          .lock_count = 2,
                          .lock = {0, 1},
                          .pair_count = 3,
                          .pair = {{0, 2}, {1, 2}, {0, 1}}},

    [SKEL_JOINT_UNIVERSAL] = {.freedom = {{0, 2}, {1, 0}}, .pair_count = 1, .pair = {{2, 0}}},

    [SKEL_JOINT_BALL] = {.freedom = {{1, 0}, {1, 1}, {1, 2}}},

    [SKEL_JOINT_PLANAR] = {.freedom = {{0, 0}, {0, 1}, {0, 2}},
                           .lock_count = 1,
                           .lock = {2},
                           .pair_count = 2,
                           .pair = {{0, 2}, {1, 2}}},

    [SKEL_JOINT_SCREW] = {.freedom = {{0, 2}},
                          .lock_count = 2,
                          .lock = {0, 1},
                          .pair_count = 2,
                          .pair = {{0, 2}, {1, 2}}},
};

_Static_assert(sizeof skel__joint_motions / sizeof *skel__joint_motions ==
                   sizeof skel__joint_kinds / sizeof *skel__joint_kinds,
               "both tables have a row for every kind");

skel_status skel_joint_kind_get(int32_t type, skel_joint_kind *out) {
    if (!out || !skel__is_joint_type(type)) return SKEL_E_ARGUMENT;

    /* The axes of the velocities stand in the table of motions only. */
    skel_joint_kind kind = skel__joint_kinds[type];
    for (int32_t k = 0; k < kind.dof; ++k) {
        kind.dof_axis[k] = skel__joint_motions[type].freedom[k].axis;
        kind.dof_is_inner[k] = skel__joint_motions[type].freedom[k].is_inner;
    }
    return skel__desc_export(out, &kind, sizeof *out, sizeof *out);
}
