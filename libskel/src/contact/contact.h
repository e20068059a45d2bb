/* SPDX-License-Identifier: BSD-3-Clause */
/* Which features of bodies may touch which, and how far apart they are at given poses. */
#ifndef SKEL_CONTACT_CONTACT_H
#define SKEL_CONTACT_CONTACT_H

#include "model/model.h"

#define BRISTLE_RELAXATION_MIN_S 1e-6 /* least ratio of a bristle's damping to its stiffness */

/* A place that may touch something: a point of body i (with a radius around it), or the segment
   between two points; against ground `ground`, or against the shape of body j. */
typedef struct skel__candidate {
    int32_t i, j;      /* j: -1 where it is a ground's */
    int32_t ground;    /* whose plane; for bodies, the ground whose constants count */
    int32_t kind;      /* SKEL__SPOT_* */
    v3 at, to;         /* body axes of i; `to` is the other end of a segment */
    int32_t is_second; /* of an edge: the segment is seen from its other end */
    double radius;
    int32_t internal; /* place of its stick displacement (3) in the state's memory */
} skel__candidate;
enum {
    SKEL__CANDIDATE_PLANE = 0,  /* point against plane */
    SKEL__CANDIDATE_BOX = 1,    /* point against the box j */
    SKEL__CANDIDATE_EDGE = 2,   /* inside of a segment against the box j */
    SKEL__CANDIDATE_SEGMENT = 3 /* segment against the segment of j (spheres: of no length) */
};

/* Where a candidate touches, or nearly does: i's place is the sphere of radius_i about point_i, j's the
   one about point_j; along the unit normal, from j to i, they are `gap` apart. */
typedef struct skel__contact_point {
    v3 normal, point_i, point_j;
    double radius_i, radius_j, gap; /* gap: INFINITY where it cannot touch */
} skel__contact_point;
/* At the poses of i and of the other body (the ground's or j's). */
skel__contact_point skel__contact_point_of(const skel_model *m, const skel__candidate *s, pose i,
                                           pose other);
/* No place of i's shape is nearer to j's than this. */
double skel__pair_distance(const skel_model *m, int32_t i, int32_t j, pose at_i, pose at_j);
/* The segment of a body's shape, in its axes: a sphere's has no length. Returns its radius. */
double skel__segment_of(const skel__body *b, v3 *from, v3 *to);
/* The other body of a candidate: j, or the one its ground is fixed in; -1: the world. */
static inline int32_t skel__candidate_other(const skel_model *m, const skel__candidate *s) {
    return s->kind == SKEL__CANDIDATE_PLANE ? m->ground[s->ground].body : s->j;
}

/* Elastic part of the normal force [N] at a penetration `depth` [m], and the energy [J] that the
   contact stores there (law.c). Both are 0 if depth <= 0. */
double skel__contact_force(const skel__ground *g, double depth);
double skel__contact_energy(const skel__ground *g, double depth);
/* Damping of the bristle that holds a sticking contact [N s/m]. It is never 0, because the slip
   velocity of the bristle is a force divided by it. */
static inline double skel__bristle_damping(const skel__ground *g) {
    return fmax(g->stick_d, BRISTLE_RELAXATION_MIN_S * g->stick_k);
}

/* Finds the candidates of a model that is otherwise complete, and fills in the grounds' constants. */
skel_status skel__contact_candidates_build(skel_model *m, skel_error *err);

#endif
