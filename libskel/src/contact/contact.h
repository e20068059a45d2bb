/* SPDX-License-Identifier: BSD-3-Clause */
/* Contact geometry and the contact law, without time and without a state.

   Contact is treated in three steps. When a model is created, candidates.c lists all pairs of
   features that may touch: the contact candidates. At given poses of the bodies, distance.c
   computes the closest points of a candidate, their common normal and the gap. If the gap is
   negative, the bodies overlap, and law.c gives the elastic normal force. Friction and damping,
   which depend on the velocities, follow in dynamics/contact_loads.c. */
#ifndef SKEL_CONTACT_CONTACT_H
#define SKEL_CONTACT_CONTACT_H

#include "model/model.h"

#define BRISTLE_RELAXATION_MIN_S 1e-6 /* least ratio of a bristle's damping to its stiffness */

/* A pair of features that may touch. The feature of body i is a point with a radius, or a segment
   with a radius. The other feature is the plane of a ground, or the shape of body j. */
typedef struct skel__candidate {
    int32_t i, j;      /* bodies; j is -1 if the other feature is a plane */
    int32_t ground;    /* the ground whose constants apply, and whose plane it is if j is -1 */
    int32_t kind;      /* SKEL__CANDIDATE_* */
    v3 at, to;         /* ends of the segment in body axes of i [m]; equal for a point */
    int32_t is_second; /* kind EDGE: the segment is traversed from its other end */
    double radius;     /* of the feature of i [m] */
    int32_t internal;  /* index of its tangential displacement (3) in the internal variables */
} skel__candidate;

enum {
    SKEL__CANDIDATE_PLANE = 0,  /* point against a plane */
    SKEL__CANDIDATE_BOX = 1,    /* point against the box j */
    SKEL__CANDIDATE_EDGE = 2,   /* interior of a segment against the edges of the box j */
    SKEL__CANDIDATE_SEGMENT = 3 /* segment against the segment of j; a sphere has length 0 */
};

/* Closest points of a candidate, in the world. Each body touches with a sphere: radius_i about
   point_i, radius_j about point_j. */
typedef struct skel__contact_point {
    v3 normal;                 /* unit vector from j to i */
    v3 point_i, point_j;       /* [m] */
    double radius_i, radius_j; /* [m] */
    double gap;                /* distance of the spheres [m]; INFINITY if they cannot touch */
} skel__contact_point;

/* i and other: poses of body i and of the other body (skel__candidate_other). */
skel__contact_point skel__contact_point_of(const skel_model *m, const skel__candidate *c, pose i,
                                           pose other);

/* Lower bound of the distance between the shapes of i and j [m], from their bounding spheres. */
double skel__pair_distance(const skel_model *m, int32_t i, int32_t j, pose at_i, pose at_j);

/* The axis of a body's shape as a segment in body axes. Returns the radius around it [m]. The
   segment of a sphere has length 0. */
double skel__segment_of(const skel__body *b, v3 *from, v3 *to);

/* The other body of a candidate: j, or the body that carries the ground; -1 is the world. */
static inline int32_t skel__candidate_other(const skel_model *m, const skel__candidate *c) {
    return c->kind == SKEL__CANDIDATE_PLANE ? m->ground[c->ground].body : c->j;
}

/* Elastic part of the normal force [N] at the penetration `depth` [m], and the energy [J] that the
   contact stores there (law.c). Both are 0 if depth <= 0. */
double skel__contact_force(const skel__ground *g, double depth);
double skel__contact_energy(const skel__ground *g, double depth);

/* Damping of the bristle that holds a sticking contact [N s/m]. It is never 0, because the slip
   velocity of the bristle is a force divided by it. */
static inline double skel__bristle_damping(const skel__ground *g) {
    return fmax(g->stick_d, BRISTLE_RELAXATION_MIN_S * g->stick_k);
}

/* Fills in the default constants of the grounds and lists the contact candidates of a model that is
   otherwise complete. */
skel_status skel__contact_candidates_build(skel_model *m, skel_error *err);

#endif
