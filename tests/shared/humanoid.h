/* SPDX-License-Identifier: BSD-3-Clause */
/* The humanoid of the samples, varied. */
#ifndef SKEL_TESTS_HUMANOID_H
#define SKEL_TESTS_HUMANOID_H

#include "shared/scenes.h"

typedef struct humanoid_options {
    double friction; /* factor on the sample's joint friction */
    double gravity;  /* [m/s^2] along -z */
    double scale;    /* of lengths and gravity; 0 means 1 */
    double stir;     /* size of random joint speeds added [rad/s] */
    void (*edit)(skel_body_desc *bodies, int nb, skel_joint_desc *joints, int nj);
} humanoid_options;

#define HUMANOID_BODIES 20
#define HUMANOID_JOINTS 19

/* Without gravity its centre of mass stays where it is. */
scene scene_humanoid(humanoid_options options);

/* For `edit`: cones and ranges on all joints. */
void humanoid_limits(skel_body_desc *bodies, int nb, skel_joint_desc *joints, int nj);
/* How far q is beyond the worst limit of any joint [rad], [m]; <= 0: none is broken. */
double limits_broken(const skel_model *m, const double *q);

#endif
