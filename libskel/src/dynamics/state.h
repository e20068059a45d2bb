/* SPDX-License-Identifier: BSD-3-Clause */
/* struct skel_state: the state variables, and the workspace of the algorithms on them.
   Arrays marked (world) have one more entry at index -1 for the world, which rests at the origin:
   no loop has to ask whether a parent exists. */
#ifndef SKEL_DYNAMICS_STATE_H
#define SKEL_DYNAMICS_STATE_H

#include "contact/contact.h"

#include <skel/skel_state.h>

/* Maximal coordinates of a body [HAK]. */
typedef struct skel__kin {
    v3 p;   /* [m] centre of mass, world axes */
    quat q; /* from body axes to world axes */
    v3 v;   /* [m/s] world axes */
    v3 w;   /* [rad/s] body axes */
} skel__kin;

/* Time derivative of skel__kin. */
typedef struct skel__rate {
    v3 p;
    quat q;
    v3 v, w;
} skel__rate;

/* Linear and angular part, world axes: acceleration, velocity or small displacement of a body. */
typedef struct skel__twist {
    v3 v, w;
} skel__twist;

/* Force [N] and torque [N m], world axes; about the centre of mass unless stated otherwise. */
typedef struct skel__wrench {
    v3 f, n;
} skel__wrench;

/* Articulated inertia of a body, and the factors that its elimination leaves (aba.c). */
typedef struct skel__aba {
    m3 a, b, d;    /* force = a u + b alpha, torque = b^T u + d alpha */
    m3 pa, pb, pd; /* the same blocks as the tree parent sees them through the joint */
    m3 di, bd;     /* ball and free root: inverse blocks; other kinds: di = (S^T H S)^-1 */
    v3 rc, rp;     /* from the centres of mass of child and tree parent to the common point */
    v3 s[3];       /* axes of freedom, world axes */
    v3 hu[3], hw[3];
    double dinv[3]; /* hinge, slide, universal: inverse of S^T H S, 1 number, or xx xy yy */
    skel__wrench f; /* applied, about the common point */
} skel__aba;

/* Composite body: a body and everything that hangs from it, as one rigid body (follow.c). */
typedef struct skel__composite {
    double mass; /* [kg] */
    v3 centre;
    m3 inertia;      /* [kg m^2] about the centre, world axes */
    int32_t waiting; /* joints below whose composite bodies have not been added yet */
} skel__composite;

/* Constraint rows of one joint on its bodies a and b: ga a_a + gb a_b = gamma
   (constraint_rows.c). */
typedef struct skel__rows {
    int count;
    double ga[SKEL__MAX_ROWS * 6], gb[SKEL__MAX_ROWS * 6];
    double gamma[SKEL__MAX_ROWS];
    double g[SKEL__MAX_ROWS]; /* present violation of the constraint [m or rad] */
} skel__rows;

/* Either powers [W], force [N] and torque [N m] at a moment, or their time integrals: works [J] and
   impulses. `stored` is the energy that springs took up meanwhile; only the energy-momentum step
   fills it in. */
typedef struct skel__power {
    double motor, friction, load, drive, contact, stored;
    v3 force, torque; /* from outside; torque about the origin of the world */
} skel__power;

/* One coordinate of a joint (skel__joint_coordinates). Its rate is gradient . (w_b - w_a); for a
   slide, gradient . (velocity of b's joint point relative to a). World axes. */
typedef struct skel__coordinate {
    double c; /* [rad or m] */
    v3 gradient;
} skel__coordinate;

/* Limits, spring and muscle along one coordinate: their force on b (a gets the opposite) and their
   work. At a moment: force, powers, stored energy, and in `internal` the rate of the muscle's
   torque. Over a step: mean force, works, change of the stored energy, in `slope` the derivative of
   the force by the coordinate at the end, and in `internal` the muscle's torque at the end. */
typedef struct skel__joint_force {
    double force, slope, stored, friction, motor, internal;
} skel__joint_force;

/* State of an event. Events are contact candidates, and the low and high limit of both coordinates
   of every joint. A rigid ground or a hard stop pushes only while it is resting. */
enum {
    SKEL__EVENT_OPEN = 0,
    SKEL__EVENT_RESTING = 1,
    SKEL__EVENT_PINNED = 2 /* a pin holds the body: no impact is possible */
};

/* Past speeds of the centre of mass, for muscles that react with a delay (muscle.c). */
#define SKEL__HISTORY 256
typedef struct skel__history {
    double time[SKEL__HISTORY], speed[SKEL__HISTORY]; /* ring buffer [s], [m/s] */
    int32_t count, next;
    double impact;      /* [m/s] speed when a ground was first touched; 0: not yet */
    double impact_time; /* [s] */
} skel__history;

/* Options of a run. The driver of the run (a bake, CVODE) owns them; states point to them. */
typedef struct skel__run {
    double deadline;     /* [ms] of skel__now_ms: a step may be left unfinished after it; INFINITY:
                            no deadline */
    int is_event_driven; /* event states, not penetrations, tell which contacts and limits act */
} skel__run;

/* Members that form a struct of their own and still are members of the outer struct: one list for
   both. (The same as struct_group_tagged of the Linux kernel.) */
#define SKEL__STRUCT_GROUP(tag, name, ...)                                                         \
    union {                                                                                        \
        struct {                                                                                   \
            __VA_ARGS__                                                                            \
        };                                                                                         \
        struct tag {                                                                               \
            __VA_ARGS__                                                                            \
        } name;                                                                                    \
    }

struct skel_state {
    const skel_model *m;

    /* State variables: everything that the present hands on to the future. skel__variables_copy is
       the only function that copies them. */
    /* clang-format off */
    SKEL__STRUCT_GROUP(skel__variables, variables,
        double t;                /* [s] */
        skel__power sum;         /* works and impulses since the start */
        int32_t nloop, nr;       /* loop joints and pins that hold now, and their rows */
        int has_event_states;    /* event_state and slack are set (at the first step) */
        int has_stored_energy;   /* stored_energy is set (by an energy-momentum step) */
        int has_inelastic_stops; /* stops without restitution act within a step (impact.c) */
        int has_follow_inertia;  /* follow_inertia, follow_mass, stop_load are set (first step) */
        void *arrays;            /* one block that holds the arrays below */
        size_t array_bytes;
    );
    /* clang-format on */

    /* Arrays of the state variables, in variables.arrays. */
    struct {
        skel__kin *x;           /* (na + world) behind nb: the anchors of pins */
        int32_t *is_pinned;     /* (npin) the pin held in the last step */
        int32_t *loop_joint;    /* (nl + npin) joints of the nloop loops */
        double *internal;       /* (ninternal) tangential displacements of candidates [m], world
                                   axes; muscle torques [N m] */
        double *stored_energy;  /* (ncand) [J] in the spring of a candidate after the last step */
        double *surface_offset; /* (ncand) [m] added to its gap (conserving_contact.c) */
        int32_t *event_state;   /* (ne) of rigid candidates, stops and limiting torques */
        double *slack;          /* (ne) [m or rad] */
        skel__history *history; /* (nmuscle) */
        m3 *follow_inertia;     /* (nj) [kg m^2] of the composite body about the joint, in its axes
                                   (follow.c) */
        double *follow_mass;    /* (nj) [kg] of the composite body */
        double *stop_load;      /* (nj) [N m or N] that may press on a stop */
    };

    const skel__run *run; /* borrowed from the driver; never NULL */

    /* Workspace of this layer. Its content has no meaning between calls unless stated. */
    struct {
        struct skel__variables saved; /* before the present step, projection or setter */
        skel__kin *stage;             /* (na + world) */
        skel__rate *rate[4];          /* (na) */
        double *internal_stage;       /* (ninternal) */
        double *internal_rate[4];     /* (ninternal) */
        double *internal_now, *internal_rate_now; /* skel__loads reads and writes these */
        double *event_value;                      /* (4 ne) */

        m3 *r;           /* (na + world) rotation matrices */
        v3 *ww;          /* (na + world) angular velocities, world axes */
        int is_factored; /* aba holds the factors of x: no body has moved since */

        skel__wrench *f;      /* (na + world) applied forces */
        skel__wrench *load;   /* (na + world) the part of f that comes from outside, no gravity */
        skel__wrench *pair;   /* (nj) friction, motor and joint forces: on b about the common point;
                               a gets the opposite */
        v3 *pair_joint_force; /* (nj) the part of pair that limits, spring and muscle make */
        skel__wrench *contact_wrench; /* (na + world) the part of f of contacts, wobbling masses */
        skel__power contact_power;    /* and its power */

        skel__twist *bias;      /* (na) */
        skel__twist *acc;       /* (na + world) accelerations */
        skel__wrench *reaction; /* (na) */
        skel__aba *aba;         /* (na) */

        skel__rows *loop_rows;      /* (nl + npin) */
        skel__twist *loop_response; /* (nr x na) motion of the tree for a unit multiplier */
        skel__twist *loop_base;     /* (na) */
        skel__wrench *loop_wrench;  /* (2 (nl + npin)) on a and b of each, about their centres */
        double *loop_system, *loop_mu, *loop_scale, *loop_x; /* (nr x nr), (nr) each */
        int32_t *loop_order;                                 /* (nr) */
        int32_t loop_rank; /* of the last solve: later rows in the order are implied by others */

        skel__composite *composite;      /* (na) */
        double *reference;               /* of pinv.c and kkt.c; allocated on first use */
        struct skel__contacts *contacts; /* of inverse_contact.c; allocated on first use */
    };

    /* Results of the last step. */
    struct {
        double ground_force;           /* [N] length of the sum of the grounds' normal forces */
        double ground_force_peak;      /* [N] largest such length in the step, */
        double ground_force_peak_time; /* [s] and its time */
        int stops_near_count;          /* joints that came near an inelastic stop; 1 if not known */
    };

    /* Workspaces of the integrators (integrate/integrator.h). The layer integrate allocates and
       frees them; this layer only calls integrator_destroy before the state is freed. */
    struct skel__integrator *integrator;
    void (*integrator_destroy)(skel_state *s);
};

typedef struct skel__variables skel__variables;

/* Bytes of variables.arrays. */
size_t skel__variables_bytes(const skel_model *m);
/* Copies scalars and arrays; `to` keeps its own block of arrays. Both belong to the same model. */
void skel__variables_copy(skel__variables *to, const skel__variables *from);
/* Copies the state variables to s->saved, and back. */
void skel__state_save(skel_state *s);
void skel__state_restore(skel_state *s);

static inline pose skel__pose_of(const skel__kin *x, int32_t i) {
    return (pose){x[i].p, x[i].q};
}

/* Velocity of the point of body i at `point`; prescribed bodies and the world move too. */
static inline v3 skel__velocity_at(const skel_state *s, const skel__kin *x, int32_t i, v3 point) {
    return v3_add(x[i].v, v3_cross(s->ww[i], v3_sub(point, x[i].p)));
}

static inline v3 skel__body_axes(const skel_state *s, int32_t i, v3 world) {
    return m3_tmulv(s->r[i], world);
}

static inline int32_t skel__event_count(const skel_model *m) {
    return m->ncand + (m->has_joint_forces ? 4 * m->nj : 0);
}

#endif
