/* SPDX-License-Identifier: BSD-3-Clause */
/* Skeletons for tests, bench and samples: random trees and chains, through the public interface. */
#ifndef SKEL_TESTS_SCENES_H
#define SKEL_TESTS_SCENES_H

#include "shared/rng.h"

#include <skel/skel.h>

enum { SCENE_ROOT_FREE, SCENE_ROOT_WORLD, SCENE_ROOT_FIXED, SCENE_ROOT_DRIVEN };

typedef struct scene_options {
    int bodies;
    int root;       /* SCENE_ROOT_* */
    int joint_mask; /* bit of every SKEL_JOINT_* allowed; 0: all */
    int loads;      /* forces, torques, friction, motors, curves */
    int no_gravity;
    double spin; /* size of joint velocities, default 1 */
} scene_options;

typedef struct scene {
    skel_model *model;
    skel_state *state; /* random pose and velocities that fit the joints */
} scene;

/* Aborts the test program on failure: builders do not fail. */
scene scene_random_tree(rng *r, scene_options options);
/* n equal links of length `link` hanging from the world along -z; joint types alternate between the
   two given. The state is tilted and bent a little. */
scene scene_chain(int n, int first_type, int second_type, double link,
                  const skel_allocator *allocator);
void scene_free(scene *s);
/* Aborts with the text where the status is an error. */
void scene_demand(skel_status status, const skel_error *err);
/* A document of the samples, by its name without the ending. */
skel_scene *scene_sample(const char *name);

#endif
