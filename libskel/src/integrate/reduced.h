/* SPDX-License-Identifier: BSD-3-Clause */
/* Joint coordinates as one vector, for integrators that know nothing of bodies:
     y = q of all joints | free roots: c, quaternion | qd of all joints | free roots: c', omega |
         memory of contacts and muscles | works of motor, friction, load, drive | impulse,
         angular impulse | work of contacts.
   q and qd are the joints' own, whichever way the tree runs; omega is in body axes. c is the centre
   of mass of all that hangs from the root, not the root's own: no joint force moves it, so the
   total momentum of a free skeleton is kept to rounding, whatever the tolerance.
   Forests only: a loop's joint has no coordinates that are free. */
#ifndef SKEL_INTEGRATE_REDUCED_H
#define SKEL_INTEGRATE_REDUCED_H

#include "dynamics/dynamics.h"

#define SKEL__REDUCED_SUMS 11 /* works and impulses */

typedef struct skel__reduced {
    const skel_model *m;
    int32_t           nr;   /* free roots */
    int32_t          *root; /* (nr), memory of the caller: at most nd */
    size_t            at_pose, at_qd, at_speed, at_internal, at_sum, n;
} skel__reduced;

/* root: room for m->nd numbers. */
skel__reduced skel__reduced_of(const skel_model *m, int32_t *root);
/* The length of y: n of skel__reduced_of. */
size_t skel__reduced_room(const skel_model *m);

/* y of s->x and s->sum, whose joints are closed. Uses the workspace of s. */
void skel__reduced_pack(const skel__reduced *r, skel_state *s, double *y);
/* s->x, s->sum of y; quaternions of any length count as unit; prescribed bodies stand where that
   side of t says. */
void skel__reduced_unpack(const skel__reduced *r, const double *y, double t, skel__side side,
                          skel_state *s);
/* dy/dt. s is workspace and holds the state of y afterwards. SKEL_E_SINGULAR or SKEL_E_DIVERGED
   where there is none. */
skel_status skel__reduced_rate(const skel__reduced *r, const double *y, double t, skel__side side,
                               int32_t solver, skel_state *s, double *rate);

#endif
