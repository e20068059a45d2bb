/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces along joint coordinates: limits, springs, muscles, and follow springs. */
#ifndef SKEL_DYNAMICS_JOINT_FORCES_H
#define SKEL_DYNAMICS_JOINT_FORCES_H

#include "dynamics/state.h"

/* ---- joint_forces.c: limits, springs and muscles ---- */

/* Coordinates of the joint with their gradients. Returns their number. */
int32_t skel__coordinates_of(const skel__joint *j, pose outer, pose inner, skel__coordinate out[2]);
/* Derivatives of the gradient of coordinate k by a small rotation (world axes) of the outer frame,
   by[0], and of the inner frame, by[1]. */
void skel__coordinate_gradient_turns(const skel__joint *j, pose outer, pose inner,
                                     const skel__coordinate *c, int k, m3 by[2]);
/* Forces at the coordinate c and its rate. inertia: skel__joint_force_inertia, for stops; t [s]:
   for the muscle's delay; torque: of the muscle. */
skel__joint_force skel__joint_force_at(const skel_state *s, int32_t joint, int k, double c,
                                       double rate, double inertia, double t, double torque);

/* What Newton's method supposes about a stop for its next correction. */
typedef enum skel__stop_mode {
    SKEL__STOP_OPEN,   /* the stop does not push */
    SKEL__STOP_PUSHES, /* the stop pushes */
    SKEL__STOP_BY_LAW, /* no prediction: the law itself is used */
    SKEL__STOP_UNKNOWN /* not known yet: the law decides at the next evaluation */
} skel__stop_mode;

/* Prediction whether a stop pushes over a step. The predicted force is a straight line: it
   continues beyond the points where the law begins and ends. */
typedef struct skel__stop_prediction {
    skel__stop_mode mode;
    int is_used;        /* the joint has a stop, which is near */
    int is_right;       /* the law agrees with the prediction */
    double push, slope; /* the straight line's force, and its derivative by the penetration */
} skel__stop_prediction;
/* Forces over a step of length h [s] in which the coordinate goes from c0 to c1; torque: of the
   muscle at the start. guess: predictions for the low and the high stop, or NULL for the law. */
skel__joint_force skel__joint_force_over(const skel_state *s, int32_t joint, int k, double c0,
                                         double c1, double h, double inertia, double t,
                                         double torque, skel__stop_prediction *guess);

/* Inertia [kg m^2 or kg] of the composite body that a coordinate with this gradient moves. */
double skel__joint_force_inertia(const skel_state *s, const m3 *r, int32_t joint, v3 gradient);

/* Event number of the joint's stop at coordinate k, low (0) or high (1). */
static inline int32_t skel__stop_event(const skel_model *m, int32_t joint, int k, int high) {
    return m->ncand + 4 * joint + 2 * k + high;
}

/* Coordinate at which that stop begins: the limit with its slack. */
static inline double skel__stop_edge(const skel_state *s, int32_t joint, int k, int high) {
    const skel__joint *j = &s->m->joint[joint];
    const double slack = s->slack[skel__stop_event(s->m, joint, k, high)];
    return high ? j->stop_high[k] + slack : j->stop_low[k] - slack;
}

/* ---- muscle.c ---- */

/* Feedback factor of [RUD 4.10] at time t, from the speed `delay` seconds earlier. */
double skel__muscle_gain(const skel_state *s, int32_t joint, double t);
/* Adds the present speeds to the histories. Call it after every successful step. */
void skel__muscle_remember(skel_state *s);

/* ---- follow.c: springs toward an animation ---- */

/* Whether some joint needs the inertia of its composite body. */
static inline int skel__needs_composites(const skel_model *m) {
    return m->has_follow || m->nstop > 0;
}
/* Computes s->follow_inertia, s->follow_mass and s->stop_load from the present pose, once. */
skel_status skel__follow_prepare(skel_state *s);
/* Target coordinates at time t: linear between samples; ball quaternions are normalised. */
void skel__follow_target(const skel__joint *j, double t, double q[4]);
/* Displacement [m] and rotation vector [rad] from the target to the pose, world axes. */
skel__twist skel__follow_error(const skel__joint *j, pose outer, pose inner, const double *want);
/* Change of that error between two times, along the shorter rotation, hence without jumps. want:
   the targets at both times, 4 numbers each. */
skel__twist skel__follow_change(const skel__joint *j, const pose outer[2], const pose inner[2],
                                const double *want);
/* Derivatives of the rotation vector of the error, and of that of the change, by small rotations
   (world axes) at the end of the outer frame, out[0], and of the inner frame, out[1]. */
void skel__follow_error_slopes(const skel__joint *j, pose outer, pose inner, const double *want,
                               m3 out[2]);
void skel__follow_change_slopes(const skel__joint *j, pose outer, pose inner, v3 change, m3 out[2]);
/* Weight of the spring at time t. */
double skel__follow_weight(const skel__joint *j, double t);
/* Factor that keeps the force or torque `pull` below follow.max. */
double skel__follow_bound(const skel__joint *j, v3 pull);
/* The body that hangs from the joint: its child, or its parent if the child is prescribed. */
int32_t skel__follow_body(const skel_model *m, const skel__joint *j);
/* Inertia of the composite body about the joint, world axes. It rotates with that body; r:
   rotations of bodies. */
m3 skel__follow_inertia(const skel_state *s, const m3 *r, int32_t joint);
/* Wrench on b about its joint point at the prepared pose; a gets the opposite. */
skel__wrench skel__follow_load(const skel_state *s, const skel__kin *x, int32_t joint, double t,
                               skel__side side);

#endif
