/* SPDX-License-Identifier: BSD-3-Clause */
/* Newton-Euler on a state: accelerations outward from joint coordinates, forces inward. */
#ifndef SKEL_DYNAMICS_INVERSE_H
#define SKEL_DYNAMICS_INVERSE_H

#include "dynamics/dynamics.h"

/* Accelerations s->acc of all bodies that hang from joints, from s->acc of the roots and the joint
   accelerations qdd. s is prepared, and its velocities satisfy the joints. */
void skel__fk_acceleration(skel_state *s, const double *qdd);
/* SKEL_E_UNSUPPORTED or SKEL_E_MASS if the model has no inverse dynamics. */
skel_status skel__inverse_check(const skel_model *m, skel_error *err);
/* As skel_inverse_dynamics, from s->x, s->acc and s->t. wrench and residual may be NULL. If the model
   has contact candidates, s->contacts holds the contact forces afterwards. */
skel_status skel__inverse(skel_state *s, double *torque, double *wrench, double *residual);
/* SKEL_E_DIVERGED if one of these forces is not finite. The message names the sample, or, if that
   is negative, the time t. wrench and residual may be NULL. */
skel_status skel__inverse_check_forces(const skel_model *m, int32_t sample, double t,
                                       const double *torque, const double *wrench,
                                       const double *residual, skel_error *err);

/* ---- inverse_contact.c: contact forces of a known motion ---- */

/* A contact and its solution. Components are in the axes of the contact. */
typedef struct skel__contact {
    int32_t candidate, i, other;  /* bodies; the force acts on i, its opposite on the other */
    int32_t block_i, block_other; /* block of equations of their free roots; -1: none */
    v3 point, velocity;           /* world; velocity of i relative to the other */
    v3 bristle;                   /* tangential displacement [m], as far as it is known */
    v3 axis[3];                   /* unit vectors: the normal toward i, two along the surface */
    v3 arm_i, arm_other;     /* from the roots' centres of mass to the point / contact_length */
    double friction, depth;  /* coefficient; penetration [m] */
    double law[3], force[3]; /* [N] by the contact law; solution */
    double slope[9];         /* derivative of the projection onto the cone */
} skel__contact;

/* All contacts of a state: the problem, its workspace and its solution. */
typedef struct skel__contacts {
    int32_t capacity, count;
    int32_t blocks;      /* free roots that contacts act on: 6 equations each */
    int32_t is_solved;   /* Newton's method converged */
    int32_t is_left_out; /* some contact has the force of the law: it is in no equation */
    double weight;       /* present eps */
    double lapse;        /* [s] since the previous sample; 0: a single state */
    skel__contact *at;   /* (capacity) */
    int32_t *block;      /* (nb) block of a free root; -1: none */
    int32_t *root;       /* (blocks) free root of a block */
    double *need;        /* (6 blocks) r: force [N], and torque / contact_length [N] */
    double *multiplier, *trial, *centre, *gradient, *direction, *cg[4]; /* (6 blocks) */
    double *factor;                                                     /* (36 blocks) */
} skel__contacts;

/* Allocates s->contacts once, for at most `capacity` contacts at a time. SKEL_E_MEMORY. */
skel_status skel__contacts_reserve(skel_state *s, int32_t capacity);
/* Number of contacts at s->x. */
int32_t skel__contacts_touching(const skel_state *s);
/* Finds the forces of all contacts and adds them to s->f. s->reaction holds the wrenches that the
   motion requires beyond all other forces. */
void skel__contacts_solve(skel_state *s);
/* Sets the tangential displacements in s->internal by these forces, for the next sample. */
void skel__contacts_remember(skel_state *s);
/* Force on body i, world axes. */
v3 skel__contact_force_on(const skel__contact *c);

#endif
