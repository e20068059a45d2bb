/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduced coordinates as one vector, for general integrators:
     y = q of all joints | free roots: c, quaternion | qd of all joints | free roots: c', omega |
         internal variables of contacts and muscles | works of motor, friction, load, drive |
         impulse, angular impulse | work of contacts.
   q and qd are those of the joints, in whichever direction the tree runs; omega is in body axes. c
   is the centre of mass of the root's whole skeleton. Joint forces do not move it, so the total
   momentum of a free skeleton is conserved to rounding, whatever the tolerance is.
   The model must be a forest: the coordinates of a loop joint are not independent. */
#ifndef SKEL_INTEGRATE_REDUCED_H
#define SKEL_INTEGRATE_REDUCED_H

#include "dynamics/dynamics.h"

#define SKEL__REDUCED_SUMS 11 /* works and impulses */

typedef struct skel__reduced {
    const skel_model *m;
    int32_t nr;    /* free roots */
    int32_t *root; /* (nr) their bodies; memory of the caller, at most nd numbers */
    size_t at_pose, at_qd, at_velocity, at_internal, at_sum; /* offsets in y */
    size_t n;                                                /* length of y */
} skel__reduced;

/* The layout of y. root: memory for m->nd numbers. */
skel__reduced skel__reduced_of(const skel_model *m, int32_t *root);
/* The length of y, which is n of skel__reduced_of. */
size_t skel__reduced_length(const skel_model *m);

/* Writes s->x, whose joints must be closed, s->internal and s->sum to y. Uses the workspace of s.
   */
void skel__reduced_pack(const skel__reduced *r, skel_state *s, double *y);
/* Sets s->x, s->internal and s->sum from y. Quaternions are normalised. Prescribed bodies get their
   poses and velocities on the given side of t. */
void skel__reduced_unpack(const skel__reduced *r, const double *y, double t, skel__side side,
                          skel_state *s);
/* dy/dt. s is workspace and holds the state of y afterwards. Returns SKEL_E_SINGULAR or
   SKEL_E_DIVERGED if the derivative does not exist or is not finite. */
skel_status skel__reduced_rate(const skel__reduced *r, const double *y, double t, skel__side side,
                               int32_t solver, skel_state *s, double *rate);

#endif
