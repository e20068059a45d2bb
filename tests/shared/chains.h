/* SPDX-License-Identifier: BSD-3-Clause */
/* The chains of tests/data/ik_chains.json (numbers of published robots, sources in the file) as
   models, their goals, and random targets, for tests and bench. */
#ifndef SKEL_TESTS_CHAINS_H
#define SKEL_TESTS_CHAINS_H

#include "shared/rng.h"

#include <skel/skel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CHAIN_MAX 16

typedef struct chain {
    char name[64];
    int n;
    double origin[CHAIN_MAX][7]; /* of the joint in the link before: place, quaternion */
    double axis[CHAIN_MAX][3];
    double tip[7]; /* in the last link */
    double low[CHAIN_MAX], high[CHAIN_MAX];
    int continuous[CHAIN_MAX];
    int slides[CHAIN_MAX];
    double reach;
    skel_model *model; /* a body per link, in its joint frame */
} chain;

/* Aborts where the file is not there. Returns how many; free with chains_free. */
int chains_load(chain **out);
void chains_free(chain *c, int count);
/* The chain `of` on a mobile base: a hinge about z if `turns`, then `slides` slides along x and y,
   all with the limits +-`limit`. Free its model. */
void chain_on_base(const chain *of, int turns, int slides, double limit, chain *out);
/* The goal of the tip, position and orientation. */
skel_goal_desc chain_goal(const chain *c);
/* Between the limits; continuous joints in a turn. */
void chain_random(const chain *c, rng *r, double *q);
void chain_middle(const chain *c, double *q);
/* A joint path (frames x n) between the limits that no joint follows by more than 0.043 rad (or
   reach) per frame. */
void chain_path(const chain *c, rng *r, int frames, double *q);
/* Poses of the tip (frames x 3, frames x 4) between `keys` poses that the chain has at random,
   eased; they need not be reachable in between. */
void chain_keys(const chain *c, rng *r, int keys, int frames, double *position,
                double *orientation);
/* Pose of the tip. */
void chain_tip(const chain *c, const double *q, double *pose7);

#ifdef __cplusplus
}
#endif
#endif
