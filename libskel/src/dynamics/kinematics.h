/* SPDX-License-Identifier: BSD-3-Clause */
/* Poses and velocities: maximal and joint coordinates, prescribed bodies, frames of joints. */
#ifndef SKEL_DYNAMICS_KINEMATICS_H
#define SKEL_DYNAMICS_KINEMATICS_H

#include "dynamics/state.h"

/* Rotation matrices and world angular velocities of x, into the workspace s->r and s->ww. The
   functions of this layer read them. */
void skel__prepare(const skel_state *s, const skel__kin *x);
/* Prescribed bodies of x at time t, and their accelerations on that side of t. */
void skel__prescribe(skel_state *s, skel__kin *x, double t, skel__side side);

/* ---- geometry of joint j between its own bodies a and b, at the prepared pose ---- */
typedef struct skel__joint_world {
    v3 ra, rb; /* from the centres to the joint points */
    v3 ea[3];  /* axes of the outer frame */
    v3 eb[3];  /* axes of the inner frame */
    v3 gap;    /* outer point minus inner point */
} skel__joint_world;
skel__joint_world skel__joint_at(const skel_state *s, const skel__kin *x, const skel__joint *j);
/* Speed of b's joint point seen from a (a taken as rigid through that point). */
v3 skel__joint_slip(const skel_state *s, const skel__kin *x, const skel__joint *j,
                    const skel__joint_world *g);

/* ---- fk.c ---- */
void skel__fk(const skel_model *m, const double *q, skel__kin *x);
/* Joints that go with others do, whatever q says. Only for kinematics: dynamics moves each one. */
void skel__fk_with_mimics(const skel_model *m, const double *q, skel__kin *x);
void skel__q_of(const skel_model *m, const skel__kin *x, double *q);
void skel__fk_velocity(skel_state *s, const double *qd);
void skel__qd_of(const skel_model *m, const skel__kin *x, double *qd);

#endif
