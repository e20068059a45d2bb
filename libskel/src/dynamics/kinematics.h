/* SPDX-License-Identifier: BSD-3-Clause */
/* Poses and velocities: maximal and joint coordinates, prescribed bodies, frames of joints. */
#ifndef SKEL_DYNAMICS_KINEMATICS_H
#define SKEL_DYNAMICS_KINEMATICS_H

#include "dynamics/state.h"

/* Rotation matrices and world angular velocities of x, into the workspace s->r and s->ww. Functions
   that ask for a prepared state read them. */
void skel__prepare(const skel_state *s, const skel__kin *x);
/* Poses and velocities of the prescribed bodies at time t, into x, and their accelerations on that
   side of t, into s->acc. */
void skel__prescribe(skel_state *s, skel__kin *x, double t, skel__side side);

/* Geometry of a joint between its bodies a and b, world axes. */
typedef struct skel__joint_world {
    v3 ra, rb; /* [m] from the centres of mass to the joint points */
    v3 ea[3];  /* axes of the outer frame */
    v3 eb[3];  /* axes of the inner frame */
    v3 gap;    /* [m] outer point minus inner point */
} skel__joint_world;
/* Of a prepared state. */
skel__joint_world skel__joint_at(const skel_state *s, const skel__kin *x, const skel__joint *j);
/* Velocity of b's joint point relative to the point of a at the same place. */
v3 skel__joint_slip(const skel_state *s, const skel__kin *x, const skel__joint *j,
                    const skel__joint_world *g);

/* ---- fk.c: joint coordinates and maximal coordinates ---- */

/* Poses from joint coordinates. */
void skel__fk(const skel_model *m, const double *q, skel__kin *x);
/* The same, with mimic joints recomputed from their source joints. Only for kinematics: dynamics
   moves every joint by itself. */
void skel__fk_with_mimics(const skel_model *m, const double *q, skel__kin *x);
/* Joint coordinates from poses. */
void skel__q_of(const skel_model *m, const skel__kin *x, double *q);
/* Velocities of s->x from joint velocities; s is prepared for s->x afterwards. */
void skel__fk_velocity(skel_state *s, const double *qd);
/* Joint velocities from maximal coordinates. */
void skel__qd_of(const skel_model *m, const skel__kin *x, double *qd);

#endif
