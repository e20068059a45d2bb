/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces on the bodies at a moment: loads, motors, friction, fields, wobbling masses. */
#ifndef SKEL_DYNAMICS_LOADS_H
#define SKEL_DYNAMICS_LOADS_H

#include "dynamics/state.h"

/* ---- loads.c: s->f, s->load, s->pair at time t ---- */
v3 skel__vector_at(v3 constant, const skel_curve *curve, int is_smooth, double t);
skel__wrench skel__load_at(const skel__body *b, double t);
double skel__motor_at(const skel__joint *j, double t);
void skel__loads(skel_state *s, const skel__kin *x, double t, skel__side side);
/* The same without the forces of contacts. */
void skel__loads_without_contacts(skel_state *s, const skel__kin *x, double t, skel__side side);
/* Newton-Euler, inward, into s->reaction: the wrench that the joint to the tree parent exerts on a
   body, about its centre: what the applied forces do not explain of the motion of all below. */
void skel__reactions(skel_state *s, const skel__kin *x);
/* Rates of work, from s->f, s->pair and s->acc. */
skel__power skel__power_of(skel_state *s, const skel__kin *x);

/* ---- field.c: force fields and the moving frame ---- */
/* Adds what they do to body i, which moves as x says: world axes, about the centre of mass. */
void skel__field_add(const skel_model *m, int32_t i, const skel__kin *x, double t, skel__side side,
                     skel__wrench *out);
/* Its derivatives by velocity and angular velocity (world axes), added: 6 x 6, row-major. */
void skel__field_rate_derivative(const skel_model *m, int32_t i, const skel__kin *x, double t,
                                 skel__side side, double *d);
/* The same by position and a small turn of the pose (world axes), both velocities kept. */
void skel__field_pose_derivative(const skel_model *m, int32_t i, const skel__kin *x, double t,
                                 skel__side side, double *d);

/* ---- wobble.c: soft parts on bones ---- */
void skel__wobble_loads(skel_state *s, const skel__kin *x);
double skel__wobble_energy(const skel_state *s, const skel__kin *x);

/* *sum += h p */
static inline void skel__power_add(skel__power *sum, double h, const skel__power *p) {
    sum->motor += h * p->motor;
    sum->friction += h * p->friction;
    sum->load += h * p->load;
    sum->drive += h * p->drive;
    sum->contact += h * p->contact;
    sum->force = v3_mad(sum->force, h, p->force);
    sum->torque = v3_mad(sum->torque, h, p->torque);
}

#endif
