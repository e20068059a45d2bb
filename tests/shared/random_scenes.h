/* SPDX-License-Identifier: BSD-3-Clause */
/* Random scenes of everything that the engine knows: 2 to 60 bodies in up to three skeletons, all
   joint types, loops, mass ratios up to 1e6, limits with and without restitution, springs, motors,
   springs toward an animation, driven roots, soft and rigid grounds, wobbling masses and drag, of
   0.01 to 100 m. The same seed gives the same scene.

   Every scene is well posed, by construction:
   - bodies are placed by the coordinates of their joints, and loop joints get their frames from the
     poses that result, so all joints are closed at the start;
   - joint velocities are set through the tree; scenes with loops start at rest;
   - a loop joint is added only while its skeleton keeps at least two degrees of freedom more than
     the loops take away, and never between two prescribed bodies;
   - a skeleton has at most one prescribed body, its root, so drives cannot contradict each other;
   - limits hold the coordinates of the start; every slide has them, so that no skeleton is pulled
     out to many times its size;
   - springs of joints are on those with limits: the angle of a hinge jumps by a turn at half a
     turn, and so would the energy of its spring;
   - grounds are placed below everything, so nothing starts inside one. */
#ifndef SKEL_TESTS_RANDOM_SCENES_H
#define SKEL_TESTS_RANDOM_SCENES_H

#include "shared/scenes.h"

/* What a random scene is made of. */
typedef struct random_scene {
    scene scene;
    int bodies, skeletons, loops, limits, follows, grounds, wobbles, drives, motors;
    int is_passive;    /* nothing but gravity does work on it */
    double size;       /* typical length of a body [m] */
    double mass_ratio; /* at most */
} random_scene;

/* Aborts the program on failure: builders do not fail. */
random_scene scene_random(uint64_t seed);

#endif
