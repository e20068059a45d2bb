/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of joint kinds. An algorithm reads a property here instead of comparing types; it
   distinguishes types only where the kinematics of the kinds differ. */
#ifndef SKEL_MODEL_JOINT_KIND_H
#define SKEL_MODEL_JOINT_KIND_H

#include <skel/skel_model.h>

extern const skel_joint_kind skel__joint_kinds[];
extern const int32_t skel__joint_kind_count;

/* The motion that a joint type leaves free, and the one it locks. Axes are 0 x, 1 y, 2 z. */
typedef struct skel__joint_motion {
    struct {
        int is_inner; /* 0: an axis of the outer frame, 1: of the inner frame */
        int axis;
    } freedom[3];   /* axis of each velocity; they are perpendicular to each other */
    int lock_count; /* axes of the outer frame along which the joint points stay together; 0 for
                        joints through a point, whose points stay together in all directions */
    int lock[2];    /* those axes */
    int pair_count; /* pairs of axes that stay perpendicular; with two or more of them, the z axes
                        of both frames stay parallel */
    struct {
        int outer, inner;
    } pair[3];
} skel__joint_motion;
extern const skel__joint_motion skel__joint_motions[];

static inline int skel__is_joint_type(int32_t type) {
    return type >= 0 && type < skel__joint_kind_count;
}

/* Whether coordinate or velocity k of the type is a length [m]; otherwise it is an angle [rad]. */
static inline int skel__is_length(int32_t type, int k) {
    return skel__joint_kinds[type].dof_kind[k] == SKEL_COORDINATE_LENGTH;
}

/* Number of velocities of the type that are displacements. They come before the rotations. */
static inline int skel__length_count(int32_t type) {
    int count = 0;
    while (count < skel__joint_kinds[type].dof && skel__is_length(type, count)) ++count;
    return count;
}

/* Whether the type has rotations. Those of a fixed joint are what rounding causes. */
static inline int skel__has_rotations(int32_t type) {
    const int lengths = skel__length_count(type);
    return lengths == 0 || lengths < skel__joint_kinds[type].dof;
}

#endif
