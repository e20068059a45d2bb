/* SPDX-License-Identifier: BSD-3-Clause */
/* The joint types of URDF, and the joints of the model that they become. */
#include "robot/urdf.h"

const urdf_type urdf_types[URDF_TYPE_COUNT] = {
    [URDF_REVOLUTE] = {.name = "revolute",
                       .joint = SKEL_JOINT_HINGE,
                       .dof = 1,
                       .has_axis = true,
                       .has_range = true,
                       .is_standard = true},

    [URDF_CONTINUOUS] = {.name = "continuous",
                         .joint = SKEL_JOINT_HINGE,
                         .dof = 1,
                         .has_axis = true,
                         .is_standard = true},

    [URDF_PRISMATIC] = {.name = "prismatic",
                        .joint = SKEL_JOINT_SLIDE,
                        .dof = 1,
                        .has_axis = true,
                        .has_range = true,
                        .is_standard = true},

    [URDF_FIXED] = {.name = "fixed", .joint = SKEL_JOINT_FIXED, .is_standard = true},

    [URDF_FLOATING] = {.name = "floating",
                       .joint = SKEL_JOINT_FIXED,
                       .dof = 6,
                       .is_standard = true},

    [URDF_SPHERICAL] = {.name = "spherical", .joint = SKEL_JOINT_BALL, .dof = 3},

    [URDF_PLANAR] = {.name = "planar",
                     .joint = SKEL_JOINT_PLANAR,
                     .dof = 3,
                     .has_axis = true,
                     .is_standard = true},
};
