/* SPDX-License-Identifier: BSD-3-Clause */
/* Newton-Euler on a state: accelerations outward from joint coordinates, forces inward. */
#ifndef SKEL_DYNAMICS_INVERSE_H
#define SKEL_DYNAMICS_INVERSE_H

#include "dynamics/dynamics.h"

/* s->acc of all bodies that hang from joints, from s->acc of the roots and the joint accelerations
   qdd; s is prepared and its velocities fit the joints. */
void skel__fk_acceleration(skel_state *s, const double *qdd);
/* SKEL_E_UNSUPPORTED or SKEL_E_MASS where the model has no inverse dynamics. */
skel_status skel__inverse_check(const skel_model *m, skel_error *err);
/* As skel_inverse_dynamics, from s->x, s->acc and s->t. wrench and residual may be NULL. Contact
   forces stay in s->contacts where the model has contacts. */
skel_status skel__inverse(skel_state *s, double *torque, double *wrench, double *residual);
/* SKEL_E_DIVERGED if one of these forces is not finite. The message names the sample, or, if that
   is negative, the time t. wrench and residual may be NULL. */
skel_status skel__inverse_check_forces(const skel_model *m, int32_t sample, double t,
                                       const double *torque, const double *wrench,
                                       const double *residual, skel_error *err);

/* ---- inverse_contact.c: contact forces of a known motion ---- */

/* A contact that touches, and what was found for it. Components are in its axes. */
typedef struct skel__contact {
    int32_t candidate, i, other;  /* bodies; the force acts on i, its opposite on the other */
    int32_t block_i, block_other; /* equations of the free roots they hang from; -1: none */
    v3      point, velocity;      /* world; velocity of i against the other */
    v3      bristle;              /* its stick displacement, as far as that is known */
    v3      axis[3];              /* unit vectors: the normal toward i, two along the surface */
    v3      arm_i, arm_other;     /* from the roots' centres of mass to the point, in reaches */
    double  friction, depth;
    double  law[3], force[3]; /* by the contact law; as found */
    double  slope[9];         /* derivative of the projection onto the cone */
} skel__contact;

/* All contacts of a state: the problem, its workspace and its answer. */
typedef struct skel__contacts {
    int32_t        capacity, count;
    int32_t        blocks;      /* free roots that contacts act on: 6 equations each */
    int32_t        is_solved;   /* Newton's method converged */
    int32_t        is_left_out; /* some contact has the law's force: no equation tells another */
    double         weight;      /* eps of the residual */
    double         lapse;       /* [s] since the sample before; 0: a state alone */
    skel__contact *at;          /* (capacity) */
    int32_t       *block;       /* (nb) of free roots: their number here; -1: none */
    int32_t       *root;        /* (blocks) */
    double        *need;        /* (6 blocks) r: force, and torque over the reach */
    double        *multiplier, *trial, *centre, *gradient, *direction, *cg[4]; /* (6 blocks) */
    double        *factor;                                                     /* (36 blocks) */
} skel__contacts;

/* Takes s->contacts once, for so many that touch at a time; SKEL_E_MEMORY. */
skel_status skel__contacts_reserve(skel_state *s, int32_t capacity);
/* How many contacts touch at s->x. */
int32_t skel__contacts_touching(const skel_state *s);
/* Finds the forces of all that touches, from s->reaction, which holds what the motion takes without
   contacts, and adds them to s->f. */
void skel__contacts_solve(skel_state *s);
/* Bends the bristles in s->internal as the forces found say, for the next sample of a motion. */
void skel__contacts_remember(skel_state *s);
/* Force on body i, world axes. */
v3 skel__contact_force_on(const skel__contact *c);

#endif
