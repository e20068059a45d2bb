/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces along joint coordinates: limits, springs, muscles, and springs toward an animation. */
#ifndef SKEL_DYNAMICS_JOINT_FORCES_H
#define SKEL_DYNAMICS_JOINT_FORCES_H

#include "dynamics/state.h"

/* ---- element.c: limits, springs and muscles of joints ---- */
int32_t skel__coordinates_of(const skel__joint *j, pose outer, pose inner, skel__coordinate out[2]);
/* How the gradient of coordinate k turns with the outer and with the inner body, in world axes. */
void skel__coordinate_gradient_turns(const skel__joint *j, pose outer, pose inner,
                                     const skel__coordinate *c, int k, m3 by[2]);
/* At c, c'. inertia: what a stop goes by; t: for the muscle's delay. */
skel__joint_force skel__joint_force_at(const skel_state *s, int32_t joint, int k, double c,
                                       double rate, double inertia, double t, double torque);
/* Whether a stop pushes over a step, as Newton's method supposes for its next correction. What it
   supposes goes on beyond where the spring sets in and lets go: a straight line. */
typedef struct skel__stop_prediction {
    int on;             /* 1 it does, 0 it does not, -1 not yet known, 2 by the law itself */
    int is_used;        /* it is a stop and near */
    int is_right;       /* the law itself says the same */
    double push, slope; /* of the straight line, and by how far the coordinate is beyond */
} skel__stop_prediction;
/* Over a step from c0 to c1 that lasts h and begins with the muscle's torque; guess: of the low
   stop and of the high one, NULL for the law itself. */
skel__joint_force skel__joint_force_over(const skel_state *s, int32_t joint, int k, double c0,
                                         double c1, double h, double inertia, double t,
                                         double torque, skel__stop_prediction *guess);
/* Inertia that coordinate k moves, as one lump: what hangs from the joint. */
double skel__joint_force_inertia(const skel_state *s, const m3 *r, int32_t joint, v3 gradient);
/* Event numbers of the joint's stops: coordinate k, low (0) or high (1). */
static inline int32_t skel__stop_event(const skel_model *m, int32_t joint, int k, int high) {
    return m->ncand + 4 * joint + 2 * k + high;
}
/* Where that stop is, with what it gave way to. */
static inline double skel__stop_edge(const skel_state *s, int32_t joint, int k, int high) {
    const skel__joint *j = &s->m->joint[joint];
    const double give = s->slack[skel__stop_event(s->m, joint, k, high)];
    return high ? j->stop_high[k] + give : j->stop_low[k] - give;
}

/* ---- muscle.c ---- */
/* The factor of [RUD 4.10] at t, from what was `delay` ago. */
double skel__muscle_gain(const skel_state *s, int32_t joint, double t);
/* Remembers the present speeds; for every step that is done. */
void skel__muscle_remember(skel_state *s);

/* ---- follow.c: springs toward an animation ---- */
/* Whether joints go by the inertia that hangs from them. */
static inline int skel__needs_composites(const skel_model *m) {
    return m->has_follow || m->nstop > 0;
}
skel_status skel__follow_prepare(skel_state *s);
/* Target coordinates at t: linear between samples; ball quaternions are made unit again. */
void skel__follow_target(const skel__joint *j, double t, double q[4]);
/* Turn (slide: shift) from the target to the pose, world axes. */
v3 skel__follow_error(const skel__joint *j, pose outer, pose inner, const double *want);
/* What that changes by from one time to the other, on the short way: never a jump; want: targets at
   both times, four places each. */
v3 skel__follow_change(const skel__joint *j, const pose outer[2], const pose inner[2],
                       const double *want);
/* How both grow with small turns (world axes) at the end, of the outer frame, [0], and of the inner
   one, [1]; the change as found. Not of slides. */
void skel__follow_error_slopes(const skel__joint *j, pose outer, pose inner, const double *want,
                               m3 out[2]);
void skel__follow_change_slopes(const skel__joint *j, pose outer, pose inner, v3 change, m3 out[2]);
double skel__follow_weight(const skel__joint *j, double t);
/* Factor that keeps the pull below follow_max. */
double skel__follow_torque_factor(const skel__joint *j, v3 pull);
/* The body that hangs from the joint: its child, or the parent where the child is an anchor. */
int32_t skel__follow_body(const skel_model *m, const skel__joint *j);
/* Inertia of what follows, world axes, turning with that body; r are the rotations of the pose. */
m3 skel__follow_inertia(const skel_state *s, const m3 *r, int32_t joint);
/* Torque (slide: force) on b at the prepared pose; a gets the opposite. */
v3 skel__follow_torque(const skel_state *s, const skel__kin *x, int32_t joint, double t,
                       skel__side side);

#endif
