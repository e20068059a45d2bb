/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces on the bodies at a moment: loads, motors, friction, fields, wobbling masses. */
#ifndef SKEL_DYNAMICS_LOADS_H
#define SKEL_DYNAMICS_LOADS_H

#include "dynamics/state.h"

/* ---- loads.c ---- */

/* Constant plus curve at time t. */
v3 skel__vector_at(v3 constant, const skel_curve *curve, int is_smooth, double t);
/* Load on the body at time t, world axes. */
skel__wrench skel__load_at(const skel__body *b, double t);
/* Torque [N m] (slide: force [N]) of the joint's motor at time t. */
double skel__motor_at(const skel__joint *j, double t);
/* All applied forces at x and time t, into s->f, s->load and s->pair. s is prepared for x. */
void skel__loads(skel_state *s, const skel__kin *x, double t, skel__side side);
/* The same without the forces of contacts. */
void skel__loads_without_contacts(skel_state *s, const skel__kin *x, double t, skel__side side);
/* Newton-Euler recursion from the leaves inward, into s->reaction: the wrench that the joint to the
   tree parent exerts on a body, about its centre of mass. It is the part of the motion of the whole
   subtree that the applied forces do not explain. */
void skel__reactions(skel_state *s, const skel__kin *x);
/* Powers of all forces, from s->f, s->pair and s->acc. */
skel__power skel__power_of(skel_state *s, const skel__kin *x);

/* *sum += h p, without `stored`. */
static inline void skel__power_add(skel__power *sum, double h, const skel__power *p) {
    sum->motor += h * p->motor;
    sum->friction += h * p->friction;
    sum->load += h * p->load;
    sum->drive += h * p->drive;
    sum->contact += h * p->contact;
    sum->force = v3_mad(sum->force, h, p->force);
    sum->torque = v3_mad(sum->torque, h, p->torque);
}

/* ---- fields.c: force fields, and apparent forces of a moving frame of reference ---- */

/* Adds their wrench on body i, whose coordinates are *x: world axes, about the centre of mass. */
void skel__field_add(const skel_model *m, int32_t i, const skel__kin *x, double t, skel__side side,
                     skel__wrench *out);
/* Adds the derivatives of that wrench by velocity and angular velocity (world axes) to d, a 6 x 6
   matrix in row-major order. */
void skel__field_rate_derivative(const skel_model *m, int32_t i, const skel__kin *x, double t,
                                 skel__side side, double *d);
/* The same by position and by a small rotation of the pose (world axes); velocities are fixed. */
void skel__field_pose_derivative(const skel_model *m, int32_t i, const skel__kin *x, double t,
                                 skel__side side, double *d);

/* ---- wobbling_mass.c ---- */

/* Adds the springs and dampers of all wobbling masses to s->contact_wrench and s->contact_power. */
void skel__wobble_loads(skel_state *s, const skel__kin *x);
/* Energy of their springs [J]. */
double skel__wobble_energy(const skel_state *s, const skel__kin *x);

#endif
