/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the energy-momentum step (integrator `conserving`). Its workspace is called `em`
   everywhere, for energy-momentum. A trailing 0 means the start of the step, 1 its end, `bar` the
   mean of both; h is the length of the step [s]. */
#ifndef SKEL_INTEGRATE_CONSERVING_H
#define SKEL_INTEGRATE_CONSERVING_H

#include "integrate/integrate.h"
#include "integrate/integrator.h"
#include "integrate/tree_lu.h"
#include "model/joint_kind.h"

/* ---- joints ---- */

/* The parts of Newton's matrix that a joint writes its derivatives to. A NULL pointer means that
   the part is not wanted. The derivatives are by (dp, theta) of the end poses of bodies a and b. */
typedef struct skel__conserving_blocks {
    double *aa, *ab, *ba, *bb;     /* 6 x 6 blocks, to which the joint adds */
    m3 *rotation_ab, *rotation_ba; /* the rotational corners of ab and ba alone */
    double *wa, *wb;               /* 6 x rows: wrenches of unit multipliers on a and b */
    double *ga, *gb;               /* rows x 6: constraint rows at the end of the step */
    skel__lu_point *point;         /* arms and axes, if the joint passes through a point */
    int is_coupled;                /* output: ab and ba are not zero */
} skel__conserving_blocks;

/* Friction of a joint's rotations or displacements over the step. */
typedef struct skel__conserving_friction_start {
    double coefficient;   /* bounded for this step [N m s] or [N s/m] */
    int has_end_weight;   /* end_weight is not zero */
    m3 end_weight;        /* K of conserving_friction.c, world axes */
    int needs_refinement; /* rounding is visible in the impulse of the friction */
} skel__conserving_friction_start;

/* Quantities of a joint that are fixed by the start of the step. A "plain ball" is a ball joint of
   the spanning tree without friction, motor, limits, springs, muscle or follow spring. */
typedef struct skel__conserving_joint_start {
    int is_plain_ball;
    int is_inner_ball;     /* a plain ball between two dynamic bodies; nothing below is set */
    v3 r[2], e[2][3];      /* levers [m] and frame axes on a and b, world axes */
    pose outer, inner;     /* joint frames in the world */
    skel__coordinate c[2]; /* coordinates that limits, spring and muscle act along */
    int32_t coordinate_count;
    double inertia[2];        /* inertia [kg m^2, kg] that each coordinate moves */
    double free_rotation;     /* [rad] smaller rotations reach no stop; -1: forces act always */
    double target[8];         /* follow spring: targets at the start (4) and at the end (4) */
    skel__twist follow_error; /* at the start [m], [rad] */
    double follow_weight;     /* at the middle of the step */
    m3 follow_inertia;
    skel__conserving_friction_start turn_friction, shift_friction; /* of rotations, displacements */
} skel__conserving_joint_start;

/* Relative velocity of a and b that a joint's friction causes per unit of torque and of force. */
typedef struct skel__conserving_friction {
    m3 mobility[2];     /* rotations of a and b, body axes [1/(kg m^2)] */
    double turn_bound;  /* upper bound of their sum */
    double shift_bound; /* the same for displacements [1/kg] */
} skel__conserving_friction;

/* A joint over the step: its impulse on a, which acts at `point` (b gets the opposite), and its
   constraint violation. */
typedef struct skel__conserving_joint {
    int rows;
    v3 force, torque;         /* impulses [N s, N m s]; the torque without the force's moment */
    v3 point;                 /* mean common point [m] */
    double g[SKEL__MAX_ROWS]; /* constraints at the end of the step [m, 1] */
    double violation;         /* largest of them, lengths relative to the length scale */
    double motor, friction;   /* work done [J] */
    double stored;            /* energy that limits and springs have taken up [J] */
    int is_near_stop;
    int stops_reached; /* one bit for each stop event of the joint */
} skel__conserving_joint;

/* Derivatives of a loop joint. It is like a tree joint, but solved by a Schur complement. */
typedef struct skel__conserving_loop {
    double wa[36], wb[36], ga[36], gb[36]; /* as in skel__conserving_blocks */
    double gamma[6];                       /* minus the constraints at the end of the step */
} skel__conserving_loop;

/* ---- contacts ---- */

/* A contact over the step, at the present iterate of Newton's method. */
typedef struct skel__conserving_contact_force {
    v3 force;               /* mean force on body i [N] */
    v3 normal_force;        /* its normal part [N] */
    double normal_slope;    /* derivative of the normal force by the gap at the end [N/m] */
    m3 derivative;          /* d force / d D [N/m] */
    v3 point;               /* common point at which both bodies get the force [m] */
    v3 xi1;                 /* tangential displacement at the end [m] */
    v3 trial;               /* tangential force if the contact sticks [N] */
    double trial_stiffness; /* its derivative by the tangential motion [N/m] */
    double friction_bound;  /* mu N [N] */
    double cone_excess;     /* |trial| - mu N: the contact slips if it is positive [N] */
    double stored_end;      /* energy in the normal spring at the end [J] */
    double stored;          /* change of the stored energy [J] */
    double dissipated;      /* work of dampers and slipping, at most 0 [J] */
} skel__conserving_contact_force;

/* A contact that touches or may do so within the step (conserving_contact.c). */
typedef struct skel__conserving_contact {
    int32_t candidate, i, other;
    v3 normal, lever_i, lever_j;       /* world axes; body axes [m] */
    v3 xi;                             /* tangential displacement at the start [m] */
    double radius_i, radius_j, radius; /* [m] */
    double gap, gap_rate;              /* at the start [m, m/s] */
    double mobility, mobility_t;       /* of the free bodies, normal and tangential [1/kg] */
    /* Extra weights (0 to 1) of the end of the step in three forces. */
    double end_weight;         /* normal spring */
    double end_weight_t;       /* tangential spring */
    double end_weight_damping; /* normal damper */
    int slips;                 /* part of the active set: 1 slips, 0 sticks */
    int change_count;          /* how often `slips` was changed at a solution */
    v3 predicted_trial;        /* direction of slip in the present correction */
    int has_prediction;
    skel__conserving_contact_force now;
} skel__conserving_contact;

/* Contact of two dynamic bodies (conserving_pairs.c):
   dD = (dp + by_rotation theta) of the first body, minus the same of the second. */
#define SKEL__CONSERVING_PAIRS_MAX 48 /* further pairs are not coupled in Newton's matrix */
typedef struct skel__conserving_pair {
    int32_t body[2];
    v3 arm[2];
    m3 by_rotation[2];
    m3 stiffness; /* d force / d D */
} skel__conserving_pair;

/* ---- substeps and sleep ---- */

/* A step that is under way in substeps. */
typedef struct skel__conserving_substep {
    int is_active;
    double step, end, length; /* length of the whole step [s], its end time, next substep [s] */
    int impact_count;
} skel__conserving_substep;

/* Observation of a scene that may come to rest (conserving_sleep.c). */
typedef struct skel__conserving_sleep {
    skel__kin *x;      /* (na) state at the start of the window, or of the sleep */
    double window_end; /* [s] */
    double drift;      /* motion in the window before, relative to the length scale */
    double since;      /* start of the sleep [s]; -1: awake */
    int is_asleep;     /* valid as long as the state equals x */
    int can_sleep;     /* 0 not yet known, 1 yes, -1 never */
} skel__conserving_sleep;

/* ---- loops over all bodies ---- */

/* Functions that every evaluation of the equations runs over all bodies (sweep.c, tree_lu.c). They
   exist with wide vectors and without. Both versions give the same bits. */
typedef struct skel__sweeps {
    void (*start_levers)(const skel_state *s);
    void (*end_poses)(const skel_state *s, double h);
    /* Sets every diagonal block to the derivatives of the body's own equations. */
    void (*begin_blocks)(const skel_state *s, double h);
    /* Plain balls, which most joints of ropes are: adds their impulses, writes minus their
       constraints to gamma, and adds derivatives on request. Returns the largest violation relative
       to the length scale. */
    double (*add_plain_balls)(skel_state *s, int with_derivatives);
    /* Writes minus the residuals of the bodies to rho. */
    void (*set_residuals)(const skel_state *s);
    /* Applies y and dlambda. Returns the size of the correction: radians, and lengths relative to
       the sum of the length scale and the distance from the origin. */
    double (*apply_correction)(skel_state *s, double h);
    int (*factor)(const skel_model *m, skel__lu *blocks);
    void (*solve)(const skel_model *m, skel__lu *blocks, const double *rho, const double *gamma,
                  double *y, double *lambda);
    int (*factor_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                        const double *gamma, double *y, double *lambda);
} skel__sweeps;
extern const skel__sweeps skel__sweeps_plain, skel__sweeps_wide;
const skel__sweeps *skel__sweeps_best(void);

/* ---- workspace ---- */

#define SKEL__CONSERVING_HISTORY 3 /* previous steps that the prediction uses */

struct skel__conserving {
    const skel__sweeps *sweeps;

    /* unknowns */
    v3 *vbar, *w;   /* (nb + world) mean velocities, world axes; mean angular ones, body axes */
    double *lambda; /* (6 (nj + npin)) multipliers: impulses of the constraints */

    /* previous steps, newest first, all of length h */
    v3 *w_past[SKEL__CONSERVING_HISTORY], *v_past[SKEL__CONSERVING_HISTORY]; /* (nb) */
    double *lambda_past[SKEL__CONSERVING_HISTORY]; /* (6 (nj + npin)) divided by h */
    v3 *half_change;                               /* (nb) half the change of v in the last step */
    int history_count;
    double h;

    /* start of the step */
    v3 *lever0;                          /* (2 nb) levers of tree joints on parent and child */
    v3 *pi0;                             /* (nb) angular momentum, world axes */
    skel__wrench *load;                  /* (nb) external loads at the middle of the step */
    skel__conserving_joint_start *start; /* (nj + npin) */
    skel__conserving_friction *friction; /* (nj + npin) set once */

    /* end of the step, at the present iterate */
    v3 *p1;                                 /* (nb + world) */
    quat *q1;                               /* (nb + world) */
    m3 *r1;                                 /* (nb + world) */
    v3 *j_lin, *j_ang;                      /* (nb + world) sums of impulses [N s, N m s] */
    skel__conserving_joint *joint;          /* (nj + npin) without plain balls */
    skel__stop_prediction *stop_prediction; /* (4 nj) by stop event */
    v3 *gradient;                           /* (2 nj) of the coordinates that stops act along */
    double *internal_end;                   /* (ninternal) internal variables */
    double *stored_energy_end;              /* (ncand) energy in the contact springs [J] */

    /* Newton's matrix and its right-hand sides */
    skel__lu *lu;                 /* (nb) */
    skel__lu_full *full;          /* of the bodies that need it */
    double *rho, *gamma;          /* (6 nb) minus residuals of bodies and of tree joints */
    double *y, *dlambda;          /* (6 nb) correction of poses and multipliers */
    v3 *w_correction;             /* (nb) change of w by the last whole correction */
    int is_near_solution;         /* the last correction was small */
    int32_t worst_joint;          /* the one with the largest violation */
    double rejected, evaluations; /* counts: substeps that were halved, Newton iterations */

    /* loops (conserving_loops.c) */
    skel__conserving_loop *loop;  /* (nl + npin) */
    double *loop_y, *loop_lambda; /* (nr x 6 nb) response of the tree to unit multipliers */
    double *schur, *mu, *scale;   /* (nr x nr), (nr), (nr) */
    double loop_regularisation;   /* added to the scaled diagonal of the Schur complement */

    /* contacts */
    skel__conserving_contact *contact; /* (ncand) */
    int32_t contact_count;
    double contacts_found_for; /* [s] step length of the last search from this state; 0: none */
    int32_t *slip_history;     /* (ncand) one bit for each of the last three steps, newest lowest */
    skel__conserving_pair *pair; /* (pair_capacity) */
    int32_t pair_count, pair_capacity;
    double *pair_y, *pair_lambda; /* (3 pair_capacity x 6 na) response of the tree to unit forces */
    double *pair_matrix, *pair_z; /* (3 pair_capacity)^2, (3 pair_capacity) */

    skel__conserving_substep substep;
    skel__conserving_sleep sleep;
};
typedef struct skel__conserving skel__conserving;

/* ---- equations (conserving_equations.c) ---- */

/* Evaluates external loads at the middle of the step. They do not depend on its end. */
void skel__conserving_loads_begin(skel_state *s, double h);
/* Evaluates the residuals at the present iterate, and Newton's matrix on request. Returns the
   largest constraint violation, lengths relative to the length scale. */
double skel__conserving_equations(skel_state *s, double h, int with_derivatives);

/* ---- loop joints and pins (conserving_loops.c) ---- */

/* Computes the responses of the factored tree to unit multipliers. */
void skel__conserving_loops_respond(skel_state *s, double h);
/* Turns the correction y, dlambda of the tree alone into that with loops. */
void skel__conserving_loops_solve(skel_state *s);
/* Adds `share` of their correction to the multipliers of the loops. */
void skel__conserving_loops_correct(skel_state *s, double share);

/* ---- Newton's method (conserving_newton.c) ---- */

/* Solves the equations of a step of length h. s->x is only read. Returns 0 without convergence. */
int skel__conserving_newton(skel_state *s, double h);
/* Whether forces act that may set in or end within the step: contacts, limits. */
int skel__conserving_has_unilateral(const skel_state *s);

/* ---- joints (conserving_joint.c, conserving_friction.c) ---- */

/* Fills `start` for a step of length h from s->x. */
void skel__conserving_joints_begin(skel_state *s, double h);
/* Impulses, constraints and derivatives (blocks may be NULL) of a joint over a step of length h
   from s->x to em->p1, q1; t is the middle of the step. */
void skel__conserving_joint_terms(const skel_state *s, const skel__conserving *em, int32_t joint,
                                  double h, double t, skel__conserving_joint *out,
                                  skel__conserving_blocks *blocks);

/* Sets the mobilities, once per state. */
void skel__conserving_friction_reserve(const skel_model *m, skel__conserving_friction *friction);
/* Fills the friction's part of `start` for a step of length h. */
void skel__conserving_friction_begin(const skel_state *s, int32_t joint, double h);
/* Computes the impulses of stiff friction to full precision, after Newton's method has
   converged. */
void skel__conserving_friction_refine(skel_state *s);

/* ---- fields and the moving frame (conserving_field.c) ---- */

static inline int skel__conserving_has_fields(const skel_model *m) {
    return m->nf > 0 || m->has_frame;
}
/* Adds the impulses on body i at its mean state to *force and *torque. */
void skel__conserving_field(const skel_state *s, const skel__conserving *em, int32_t i, double h,
                            v3 *force, v3 *torque);
/* Subtracts their derivatives from the 6 x 6 block of body i. */
void skel__conserving_field_derivative(const skel_state *s, const skel__conserving *em, int32_t i,
                                       double h, double *block);

/* ---- contacts (conserving_contact.c, conserving_pairs.c) ---- */

/* Finds the contacts of a step of length h from s->x. Returns the longest step [s] that follows
   them closely enough, at most h. */
double skel__conserving_contacts_find(skel_state *s, double h);
/* Sets their weights and the first active set. */
void skel__conserving_contacts_begin(skel_state *s, double h);
/* Adds impulses, and derivatives on request. */
void skel__conserving_contacts_add(skel_state *s, double h, int with_derivatives);
/* Predicts which contacts stick and which slip after the correction y. Returns the number of
   changes of the active set. */
int skel__conserving_contacts_predict(skel_state *s, double h);
/* Ends the use of predicted slip directions, after a correction was applied. */
void skel__conserving_contacts_clear_prediction(skel_state *s);
/* At a solution: sets the active set to the one that the force law gives. Returns the number of
   changes. */
int skel__conserving_contacts_update_active_set(skel_state *s);
/* Adds work and impulses to *sum and sets the internal variables at the end of the step. */
void skel__conserving_contacts_account(skel_state *s, double h, skel__power *sum);
/* Updates stored energies; s->x is the end of the step already. */
void skel__conserving_contacts_end(skel_state *s);

/* Number of pairs of dynamic bodies to reserve. */
int32_t skel__conserving_pair_capacity(const skel_model *m);
/* Computes the responses of the factored tree to unit forces between the bodies of each pair. */
void skel__conserving_pairs_respond(skel_state *s, double h);
/* Turns the correction y, dlambda of the tree alone into that with pairs. */
void skel__conserving_pairs_solve(skel_state *s);

/* ---- sleep (conserving_sleep.c) ---- */

/* Called after every whole step: puts the scene to sleep if it has come to rest. */
void skel__conserving_sleep_watch(skel_state *s);
/* Whether the scene sleeps and its state was not changed since. */
int skel__conserving_is_asleep(const skel_state *s);

/* ---- wobbling masses (conserving_wobble.c) ---- */

/* Adds impulses, and derivatives on request. */
void skel__conserving_wobbles_add(skel_state *s, double h, int with_derivatives);
/* Adds work and impulses to *sum. */
void skel__conserving_wobbles_account(const skel_state *s, double h, skel__power *sum);

/* ---- shared formulas ---- */

/* Number of constraint rows of a joint type that are lengths [m]. They come before the rows that
   are angles. Each free displacement removes one of three. */
static inline int skel__joint_length_rows(int32_t type) {
    int rows = 3;
    for (int k = 0; k < skel__joint_kinds[type].dof; ++k) rows -= skel__is_length(type, k);
    return rows;
}

/* Mean position of the centre of mass of body i over the step. */
static inline v3 skel__mean_centre(const skel_state *s, const skel__conserving *em, int32_t i) {
    return v3_scale(v3_add(s->x[i].p, em->p1[i]), 0.5);
}

/* Adds m to a 6 x 6 block in the layout of math/wide.h at the given row and column. block may be
   NULL. */
static inline void skel__conserving_add3(double *block, int row, int col, m3 m) {
    if (!block) return;

    double *at = block + wide6_at(row, col);
    for (int r = 0; r < 3; ++r) {
        at[r] += m.r[r].x;
        at[r + 4] += m.r[r].y;
        at[r + 8] += m.r[r].z;
    }
}

/* E^-1 of dW = E^-1 theta, theta a small rotation of the end pose R0 cay(h W) in body axes. */
static inline m3 skel__cayley_inverse_derivative(v3 w, double h) {
    const v3 x = v3_scale(w, h);
    const m3 e = m3_sub_outer(m3_identity(), -0.25, x, x);
    return m3_scale(m3_add(e, m3_skew(v3_scale(x, 0.5))), 1.0 / h);
}

/* Derivative of the mean angular velocity in world axes by a rotation theta of the end pose:
   d (R0 W) = R0 E^-1 R1^T theta. */
static inline m3 skel__spin_derivative(const skel_state *s, const skel__conserving *em, int32_t i,
                                       double h) {
    const m3 e = skel__cayley_inverse_derivative(em->w[i], h);
    return m3_mul(s->r[i], m3_mult(e, em->r1[i]));
}

#endif
