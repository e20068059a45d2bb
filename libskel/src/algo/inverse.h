/* SPDX-License-Identifier: BSD-3-Clause */
/* Newton-Euler on a state: accelerations outward from joint coordinates, forces inward. */
#ifndef SKEL_ALGO_INVERSE_H
#define SKEL_ALGO_INVERSE_H

#include "algo/algo.h"

/* s->acc of all bodies that hang from joints, from s->acc of the roots and the joint accelerations
   qdd; s is prepared and its velocities fit the joints. */
void skel__fk_acceleration(skel_state *s, const double *qdd);
/* SKEL_E_UNSUPPORTED or SKEL_E_MASS where the model has no inverse dynamics. */
skel_status skel__inverse_check(const skel_model *m, skel_error *err);
/* As skel_inverse_dynamics, from s->x, s->acc and s->t. wrench and residual may be NULL. */
skel_status skel__inverse(skel_state *s, double *torque, double *wrench, double *residual);

#endif
