/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the energy-momentum step: its workspace and what a joint adds to the equations. */
#ifndef SKEL_INTEGRATE_CONSERVING_H
#define SKEL_INTEGRATE_CONSERVING_H

#include "integrate/integrate.h"
#include "integrate/tree_lu.h"

/* Where a joint writes its derivatives: 6 x 6 blocks of the bodies a and b, added to, and the
   couplings of their turns alone; 6 x r columns of the wrench of a unit multiplier and r x 6 rows
   of the closing condition, or arms and axes of a joint through a point. NULL: not wanted. */
typedef struct skel__conserving_blocks {
    double         *aa, *ab, *ba, *bb;
    m3             *turn_ab, *turn_ba;
    double         *wa, *wb, *ga, *gb;
    skel__lu_point *point;
    int             is_coupled; /* out: ab, ba are not zero */
} skel__conserving_blocks;

/* What a joint's forces know at the start of a step, whatever its end. */
typedef struct skel__conserving_joint_start {
    int              is_bare;       /* a ball of the tree with nothing else: it keeps no terms */
    int              is_rope;       /* such a one between bodies that move: nothing below is set */
    v3               r[2], e[2][3]; /* levers and axes of a and b, world */
    pose             outer, inner;
    skel__coordinate c[2]; /* limits, springs, muscles */
    int32_t          n;
    double           inertia[2];
    double           clear;   /* a turn below that meets no stop, and nothing else acts */
    double           want[8]; /* follow: targets at start and end */
    v3               error;
    double           weight;
    m3               d;
    double           rub;        /* friction coefficient over the step */
    int              is_late;    /* `late` is set: K of conserving_friction.c, world axes */
    int              is_rounded; /* rounding shows in the friction's impulse */
    m3               late;
} skel__conserving_joint_start;

/* What the friction of a joint turns (slide: moves), per unit of torque (force). */
typedef struct skel__conserving_friction {
    m3     mobility[2]; /* of a and b, body axes */
    double most;        /* bound of their sum */
} skel__conserving_friction;

/* A loop joint: like a tree joint, but solved for by Schur complement. */
typedef struct skel__conserving_loop {
    double wa[36], wb[36], ga[36], gb[36];
    double g[6];
} skel__conserving_loop;

/* One joint over the step: impulse on a at `point` (b gets the opposite), and what is open. */
typedef struct skel__conserving_joint {
    int    rows;
    v3     force, torque, point; /* all means over the step; the torque beside the force's arm */
    double g[SKEL__MAX_ROWS];    /* closing conditions at the end of the step */
    double open;                 /* largest of them, lengths in units of the model's size */
    double motor, friction;      /* work done */
    double stored;               /* energy that limits and springs took up */
    int    is_near, caught; /* a stop; those that were met, a bit for each event of the joint */
} skel__conserving_joint;

/* What a place does over the step, as last looked at. */
typedef struct skel__conserving_contact_force {
    v3     force;       /* mean, on i */
    v3     normal_part; /* of it */
    m3     by_shift;    /* d force / d D */
    v3     point, xi1;
    v3     trial;        /* the bristle's pull if it held, and how that grows */
    double stiff, slope; /* slope: of the normal force, by the gap */
    double most;         /* that friction holds */
    double over;         /* by which it would be more than friction holds */
    double left;
    double stored, lost; /* change of energy; what went for good */
} skel__conserving_contact_force;

/* A place that touches or may do so within the step (conserving_contact.c). */
typedef struct skel__conserving_contact {
    int32_t candidate, i, other;
    v3      normal, lever_i, lever_j; /* world; body axes */
    v3      xi;                       /* bend of the bristle at the start, along the ground */
    double  radius_i, radius_j, radius, gap, rate;
    double  mobility, mobility_t; /* of free bodies, along the normal and across it */
    double  late, late_t, late_d; /* share of the end of the step in the forces */
    int     slips, changes;       /* while Newton is under way */
    v3      led;                  /* a pull that it slips along in this correction, if is_led */
    int     is_led;
    skel__conserving_contact_force now;
} skel__conserving_contact;

/* Two dynamic bodies that touch (conserving_pair.c): dD = dp + turn theta of the first, less the
   same of the second. */
#define SKEL__CONSERVING_PAIRS_MAX 48 /* beyond, each body is on its own in the Newton matrix */
typedef struct skel__conserving_pair {
    int32_t body[2];
    v3      arm[2];
    m3      turn[2], stiff;
} skel__conserving_pair;

/* A step that is done in parts. */
typedef struct skel__conserving_substep {
    int    is_on;
    double whole, end, length; /* of it, of the next part */
    int    hits;
} skel__conserving_substep;

/* What is known of a coming rest (conserving_rest.c). */
typedef struct skel__conserving_sleep {
    skel__kin *x;         /* (na) at the start of the window, or of the rest */
    double     next;      /* end of the window */
    double     drift;     /* in the window before */
    double     since;     /* of the rest */
    int        is_on;     /* it rests, unless the state was changed */
    int        has_begun; /* 1 it is watched, -1 it never rests */
} skel__conserving_sleep;

/* What every look at the equations does with every body (sweep.c, treelu.c): with wide vectors
   where the processor has them, or plain. Both give the same bits. */
typedef struct skel__sweeps {
    void (*start_levers)(const skel_state *s);
    void (*end_poses)(const skel_state *s, double h);
    void (*begin_blocks)(const skel_state *s, double h); /* the bodies' own derivatives */
    /* Balls of the tree with nothing else, as most joints of ropes are: impulses, minus what is
       open into gamma, and derivatives where wanted. Returns what is open in units of size. */
    double (*add_bare_balls)(skel_state *s, int build);
    void (*add_bodies)(const skel_state *s); /* minus their residuals into rho */
    /* Applies y and dl; returns the size of the correction, lengths in units of size and
       distance. */
    double (*correct)(skel_state *s, double h);
    int (*factor)(const skel_model *m, skel__lu *blocks);
    void (*solve)(const skel_model *m, skel__lu *blocks, const double *rho, const double *gamma,
                  double *y, double *lambda);
    int (*factor_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                        const double *gamma, double *y, double *lambda);
} skel__sweeps;
extern const skel__sweeps skel__sweeps_plain, skel__sweeps_wide;
const skel__sweeps       *skel__sweeps_best(void);

#define SKEL__CONSERVING_HISTORY 3

struct skel__conserving {
    const skel__sweeps *by;
    v3                 *vbar, *w; /* (nb + world) mean velocities: world; body axes */
    v3                 *w_past[SKEL__CONSERVING_HISTORY],
        *v_past[SKEL__CONSERVING_HISTORY]; /* (nb) w, vbar of the last steps */
    v3 *w_step;                            /* (nb) change of w by the last whole correction */
    double
         *l_past[SKEL__CONSERVING_HISTORY]; /* (6 (nj + npin)) and their multipliers, per second */
    v3   *half_before;                      /* (nb) half the change of v in the last step */
    v3   *lever0;                           /* (2 nb) at the start of the step: end_place */
    v3   *p1;                               /* (nb + world) end of the step */
    quat *q1;                               /* (nb + world) */
    m3   *r1;                               /* (nb + world) */
    v3   *pi0;                              /* (nb) angular momentum at the start, world */
    v3   *jl, *ja;                          /* (nb + world) impulses so far */
    double                       *lambda;   /* (6 (nj + npin)) multipliers */
    skel__conserving_joint       *joint;    /* (nj + npin) as last looked at, but for bare balls */
    skel__wrench                 *load;     /* (nb) from outside, at the middle of the step */
    skel__conserving_joint_start *start;    /* (nj + npin) */
    skel__conserving_friction    *friction; /* (nj + npin) */
    skel__stop_prediction        *guess;    /* (4 nj) by event */
    v3                           *gradient; /* (2 nj) of coordinates, at the end of the step */
    skel__lu                     *lu;       /* (nb) */
    skel__lu_full                *full;     /* of those that need it */
    double                       *rho, *gamma, *y, *dl; /* (6 nb) */
    int                           history;              /* steps of length h behind us */
    int                           is_close; /* to the solution: forces are about right */
    double                        h;
    int32_t                       worst; /* the joint that was farthest open when last looked at */
    double rejected, evaluations;        /* steps that had to be halved, Newton iterations */
    /* loops */
    skel__conserving_loop    *loop;    /* (nl + npin) */
    double                   *zy, *zl; /* (nr x 6 nb) answers of the tree to unit multipliers */
    double                   *schur, *mu, *scale; /* (nr x nr), (nr), (nr) */
    skel__conserving_contact *contact;            /* (ns) */
    int32_t                   contact_count;
    double found; /* the step they were looked for, from the state at hand; 0: none */
    skel__conserving_pair *pair; /* (pair_capacity) */
    int32_t                pair_count, pair_capacity;
    double *pair_y, *pair_l; /* (3 pair_capacity x 6 na) answers of the tree to their unit forces */
    double *pair_a, *pair_z; /* (3 pair_capacity)^2, (3 pair_capacity) */
    int32_t *slipped;        /* (ns) in the steps before, a bit each */
    double  *internal_end;   /* (nm) the state's memory at the end of the step */
    double  *stored_energy_end;   /* (ns) what the step leaves in the springs of candidates */
    double   loop_regularisation; /* what keeps implied rows from a singular system */
    skel__conserving_substep substep;
    skel__conserving_sleep   sleep;
};
typedef struct skel__conserving skel__conserving;

/* Joint friction (conserving_friction.c): mobilities, once; the joint's `start` for a step of
   length h; once Newton has converged, the impulses to all digits. */
void skel__conserving_friction_reserve(const skel_model *m, skel__conserving_friction *friction);
void skel__conserving_friction_begin(const skel_state *s, int32_t joint, double h);
void skel__conserving_friction_refine(skel_state *s);

/* Fills `start` for a step of length h from s->x. */
void skel__conserving_joints_begin(skel_state *s, double h);
/* The joint's terms over the step of length h from s->x to em->p1, q1; t is the middle. */
void skel__conserving_joint_terms(const skel_state *s, const skel__conserving *em, int32_t joint,
                                  double h, double t, skel__conserving_joint *out,
                                  skel__conserving_blocks *blocks);

static inline int skel__conserving_has_fields(const skel_model *m) {
    return m->nf > 0 || m->has_frame;
}
/* Fields and the moving frame over the step, at its mean state (conserving_field.c): impulses on
   body i are added to *force and *torque, minus their derivatives to its 6 x 6 block. */
void skel__conserving_field(const skel_state *s, const skel__conserving *em, int32_t i, double h,
                            v3 *force, v3 *torque);
void skel__conserving_field_derivative(const skel_state *s, const skel__conserving *em, int32_t i,
                                       double h, double *block);

/* Contacts of a step of length h from s->x: finds them and says how long the step may be for them;
   sets their shares; adds impulses and blocks; what they did, and the memory at the end. */
double skel__conserving_contacts_find(skel_state *s, double h);
void   skel__conserving_contacts_begin(skel_state *s, double h);
void   skel__conserving_contacts_add(skel_state *s, double h, int build);
/* Sticking and slipping: as the correction at hand leads to; no longer by that; as the law says.
   How many changed. */
int  skel__conserving_contacts_predict(skel_state *s, double h);
void skel__conserving_contacts_clear_prediction(skel_state *s);
int  skel__conserving_contacts_update_active_set(skel_state *s);
void skel__conserving_contacts_account(skel_state *s, double h, skel__power *sum);
void skel__conserving_contacts_end(skel_state *s); /* s->x is the end of the step */

/* Pairs of dynamic bodies: room for so many; answers of the factored tree; y and dl with them. */
int32_t skel__conserving_pair_capacity(const skel_model *m);
void    skel__conserving_pairs_answer(skel_state *s, double h);
void    skel__conserving_pairs_close(skel_state *s);

/* After a whole step: whether all has come to rest. Before one: whether it still lies. */
void skel__conserving_sleep_watch(skel_state *s);
int  skel__conserving_is_asleep(const skel_state *s);

/* Wobbling masses likewise. */
void skel__conserving_wobbles_add(skel_state *s, double h, int build);
void skel__conserving_wobbles_account(const skel_state *s, double h, skel__power *sum);

/* Adds m to the (wide) 6 x 6 block, from that row and column on; NULL: not wanted. */
static inline void skel__conserving_add3(double *block, int row, int col, m3 m) {
    if (!block) return;
    double *at = block + wide6_at(row, col);
    for (int r = 0; r < 3; ++r) {
        at[r] += m.r[r].x, at[r + 4] += m.r[r].y, at[r + 8] += m.r[r].z;
    }
}

/* (d/dW of the turn)^-1: dW = E^-1 theta, theta the turn of the end pose in body axes [Cayley]. */
static inline m3 skel__cayley_inverse_derivative(v3 w, double h) {
    const v3 x = v3_scale(w, h);
    const m3 e = m3_sub_outer(m3_identity(), -0.25, x, x);
    return m3_scale(m3_add(e, m3_skew(v3_scale(x, 0.5))), 1.0 / h);
}

/* Of the mean spin in world axes by the turn of the end pose: d (R0 W) = R0 E^-1 R1^T theta. */
static inline m3 skel__spin_derivative(const skel_state *s, const skel__conserving *em, int32_t i,
                                       double h) {
    const m3 e = skel__cayley_inverse_derivative(em->w[i], h);
    return m3_mul(s->r[i], m3_mult(e, em->r1[i]));
}

#endif
