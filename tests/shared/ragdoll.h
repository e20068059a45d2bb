/* SPDX-License-Identifier: BSD-3-Clause */
/* The humanoid of the samples with limits on its joints, falling on stairs or on a plane from a
   random pose, place and motion. */
#ifndef SKEL_TESTS_RAGDOLL_H
#define SKEL_TESTS_RAGDOLL_H

#include "shared/scenes.h"

typedef struct ragdoll_options {
    int stairs;   /* number of steps (boxes); 0: a plane alone */
    int is_rigid; /* the plane has impacts with this restitution */
    double restitution;
    int self;                        /* bodies of the figure touch each other */
    double friction;                 /* of the joints, factor on the sample's */
    const skel_allocator *allocator; /* NULL: malloc */
} ragdoll_options;

scene scene_ragdoll(rng *r, ragdoll_options options);

#endif
