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

/* Column k of the joint's motion subspace S, world axes. At a unit velocity k, b rotates relative
   to a with the angular velocity `turn` axis, and its joint point moves with `shift` axis. */
typedef struct skel__joint_column {
    v3 axis;
    double shift, turn; /* [m/s] and [rad/s] per unit velocity */
    int is_inner;       /* the axis is fixed in b, otherwise in a */
} skel__joint_column;
/* outer, inner: the axes of both frames. */
static inline skel__joint_column skel__joint_column_of(const skel__joint *j, const v3 outer[3],
                                                       const v3 inner[3], int k) {
    const skel__joint_motion *motion = &skel__joint_motions[j->type];
    const int is_inner = motion->freedom[k].is_inner;
    return (skel__joint_column){.axis = (is_inner ? inner : outer)[motion->freedom[k].axis],
                                .shift = skel__joint_shift(j, k),
                                .turn = skel__joint_turn(j, k),
                                .is_inner = is_inner};
}

/* ---- fk.c: joint coordinates and maximal coordinates ---- */

/* Poses from joint coordinates. */
void skel__fk(const skel_model *m, const double *q, skel__kin *x);
/* The same, with mimic joints recomputed from their source joints. Only for kinematics: dynamics
   moves every joint by itself. */
void skel__fk_with_mimics(const skel_model *m, const double *q, skel__kin *x);
/* Coordinates q of one joint from poses. */
static inline void skel__joint_q(const skel__kin *x, const skel__joint *j, double *q) {
    skel__joint_measure(j, pose_mul(skel__pose_of(x, j->a), j->fa),
                        pose_mul(skel__pose_of(x, j->b), j->fb), q);
}
/* Joint coordinates from poses. */
void skel__q_of(const skel_model *m, const skel__kin *x, double *q);
/* Velocities of s->x from joint velocities; s is prepared for s->x afterwards. */
void skel__fk_velocity(skel_state *s, const double *qd);
/* Joint velocities from maximal coordinates. */
void skel__qd_of(const skel_model *m, const skel__kin *x, double *qd);

#endif
