/* SPDX-License-Identifier: BSD-3-Clause */
/* struct skel_state and the algorithms on it. Arrays marked (world) have one more entry at index -1
   for the world, at rest at the origin, so that no loop asks whether a parent is there. */
#ifndef SKEL_DYNAMICS_DYNAMICS_H
#define SKEL_DYNAMICS_DYNAMICS_H

#include "contact/contact.h"

#include <skel/skel_state.h>

/* Maximal coordinates of a body [HAK]. */
typedef struct skel__kin {
    v3 p;
    quat q;
    v3 v; /* world */
    v3 w; /* body axes */
} skel__kin;

/* Linear and angular part, world axes: acceleration, velocity or small displacement of a body. */
typedef struct skel__twist {
    v3 v, w;
} skel__twist;

/* Force and torque, world axes; about the centre of mass unless said. */
typedef struct skel__wrench {
    v3 f, n;
} skel__wrench;

/* Articulated inertia of a body and what its elimination leaves behind (aba.c). */
typedef struct skel__aba {
    m3 a, b, d;    /* force = a u + b alpha, torque = b^T u + d alpha */
    m3 pa, pb, pd; /* the same seen through the joint */
    m3 di, bd;     /* ball and free root: inverse blocks */
    v3 rc, rp;     /* from the centres of child and tree parent to the common point */
    v3 s[2];       /* axes of freedom, world */
    v3 hu[2], hw[2];
    double dinv[3]; /* inverse of S^T H S: 1 number, or xx xy yy */
    skel__wrench f; /* applied, about the common point */
} skel__aba;

/* What hangs from a body, the body included, as one rigid piece (follow.c). */
typedef struct skel__composite {
    double mass;
    v3 centre;
    m3 inertia;      /* about the centre, world axes */
    int32_t waiting; /* joints below whose lump is still to come */
} skel__composite;

/* Constraint rows of one joint on its bodies a and b: ga a_a + gb a_b = gamma (rows.c). */
typedef struct skel__rows {
    int count;
    double ga[SKEL__MAX_ROWS * 6], gb[SKEL__MAX_ROWS * 6];
    double gamma[SKEL__MAX_ROWS];
    double g[SKEL__MAX_ROWS]; /* what is open now */
} skel__rows;

/* Rates of work and of momentum from outside; `stored` is what springs took up meanwhile, which
   only the conserving step needs. */
typedef struct skel__power {
    double motor, friction, load, drive, contact, stored;
    v3 force, torque; /* torque about the world's origin */
} skel__power;

/* One coordinate of a joint (skel__joint_coordinates): c' = gradient . (w_b - w_a), for a slide
   gradient . (velocity of b's joint point seen from a). World axes. */
typedef struct skel__coordinate {
    double c;
    v3 gradient;
} skel__coordinate;

/* What limits, spring and muscle do along one coordinate: force on b (a gets the opposite), and the
   work they do. Either at a moment (powers; memory is a rate) or over a step (mean force, works;
   slope is the derivative of the force by the coordinate at the end, memory the muscle's torque
   there). `stored` is energy, or its change over the step. */
typedef struct skel__joint_force {
    double force, slope, stored, friction, motor, internal;
} skel__joint_force;

/* Of events: candidates, and both sides of both coordinates of joints. A rigid ground or hard stop only
   pushes where an impact has left it touching. */
enum {
    SKEL__EVENT_OPEN = 0,
    SKEL__EVENT_RESTING = 1,
    SKEL__EVENT_PINNED = 2
}; /* held: by a pin, nothing hits it */

/* What the speed of the centre of mass was, for muscles that react late (muscle.c). */
#define SKEL__HISTORY 256
typedef struct skel__history {
    double time[SKEL__HISTORY], speed[SKEL__HISTORY];
    int32_t count, next;
    double impact;      /* speed when a ground was first touched; 0: not yet */
    double impact_time; /* and when that was */
} skel__history;

typedef struct skel__rate {
    v3 p;
    quat q;
    v3 v, w;
} skel__rate;

struct skel_state {
    const skel_model *m;
    double t;
    skel__kin *x;       /* (na + world) the state itself; behind nb, where pins hold */
    int32_t *is_pinned; /* (npin) the pin held in the last step */
    skel__power sum;    /* works and impulses so far */
    double
        *internal; /* (ninternal) stick displacements of candidates, world axes; muscle torques */
    double *stored_energy;   /* (ncand) energy in the spring of a candidate after the last step */
    double *surface_offset;  /* (ncand) [m] that adds to its gap (conserving_contact.c) */
    int32_t *event_state;    /* (ne) SKEL__EVENT_OPEN or _RESTS, of rigid candidates and stops */
    double *slack;           /* (ne) how far a stop gave way to a pose that was set beyond it */
    int has_event_states;    /* set at the first step */
    int has_stored_energy;   /* stored_energy was set by a step */
    int is_event_driven;     /* modes say what touches, not depths */
    int has_inelastic_stops; /* stops that do not throw back catch within a step (impact.c) */
    int stops_near_count;    /* joints that came near one in the last such step */
    int has_deadline;        /* a step may be left under way when it passes, to be gone on with */
    double deadline;         /* [ms] of skel__now_ms */
    int is_step_in_progress; /* there is such a step, from then on: */
    double step_start, step_end;
    skel__power step_start_sums;
    skel__history *history; /* (nmuscle) */
    /* workspace, meaningless between calls unless said */
    skel__kin *saved;                                   /* (nb + world) the state before a step */
    double *internal_saved, *internal_stage;            /* (ninternal) */
    double *stored_energy_saved, *surface_offset_saved; /* (ncand) */
    double *internal_rate[4];                           /* (ninternal) */
    double *internal_now, *internal_rate_now; /* the ones that skel__loads reads and writes */
    v3 *pair_joint_force;         /* (nj) the part of pair that limits, spring and muscle are */
    int32_t *event_state_saved;   /* (ne) */
    double *event_value;          /* (4 ne) */
    skel__wrench *contact_wrench; /* (nb + world) of contacts and wobbling masses, part of f */
    skel__power contact_power;    /* and what it does */
    double ground_force;          /* sum of the grounds' normal forces, as a vector's length */
    double ground_force_peak, ground_force_peak_time; /* largest such in the last step, and when */
    skel__kin *stage;                                 /* (nb + world) */
    skel__rate *rate[4];                              /* (nb) */
    m3 *r;                                            /* (nb + world) rotation matrices */
    v3 *ww;                                           /* (nb + world) angular velocities, world */
    skel__wrench *f;                                  /* (nb + world) applied forces */
    skel__wrench *load; /* (nb + world) the part of f that comes from outside, no gravity */
    skel__wrench *pair; /* (nj) friction and motor: on b about the common point, minus it on a */
    skel__twist *bias;  /* (nb) */
    skel__twist *acc;   /* (nb + world) accelerations */
    skel__wrench *reaction;     /* (nb) */
    skel__aba *aba;             /* (nb) */
    int32_t nloop, nr;          /* loop joints and pins that hold now, and their rows */
    int32_t *loop_joint;        /* (nl + npin) which */
    skel__rows *loop_rows;      /* (nl + npin) */
    skel__twist *loop_response; /* (nr x nb) motion of the tree for a unit multiplier */
    skel__twist *loop_base;     /* (nb) */
    skel__wrench *loop_wrench;  /* (2 (nl + npin)) on a and b of each, about their centres */
    double *loop_system, *loop_mu, *loop_scale, *loop_x; /* (nr x nr), (nr) each */
    int32_t *loop_order;                                 /* (nr) */
    int32_t loop_rank;          /* of the last solve: the rows behind it in the order are implied */
    m3 *follow_inertia;         /* (nj) of what follows, child's axes; see follow.c */
    skel__composite *composite; /* (nb) */
    double *stop_load;          /* (nj) torque or force that may lean on a stop */
    int has_follow_inertia;     /* taken at the first step */
    int is_factored;            /* aba holds the factors of x: nothing moved since */
    double *reference;          /* workspace of pinv and kkt, taken when first asked for */
    struct skel__conserving *em;     /* workspace of the conserving step, likewise */
    struct skel__impact *impact;     /* workspace of impacts, likewise */
    struct skel__contacts *contacts; /* workspace of inverse dynamics, likewise (inverse.h) */
};

static inline pose skel__pose_of(const skel__kin *x, int32_t i) {
    return (pose){x[i].p, x[i].q};
}

/* Rotation matrices and world angular velocities of x. Everything below reads them. */
void skel__prepare(skel_state *s, const skel__kin *x);
/* Prescribed bodies of x at time t, and their accelerations on that side of t. */
void skel__prescribe(skel_state *s, skel__kin *x, double t, skel__side side);

/* ---- geometry of joint j between its own bodies a and b, at the prepared pose ---- */
typedef struct skel__joint_world {
    v3 ra, rb; /* from the centres to the joint points */
    v3 ea[3];  /* axes of the outer frame */
    v3 eb[3];  /* axes of the inner frame */
    v3 gap;    /* outer point minus inner point */
} skel__joint_world;
skel__joint_world skel__joint_at(const skel_state *s, const skel__kin *x, const skel__joint *j);
/* Speed of b's joint point seen from a (a taken as rigid through that point). */
v3 skel__joint_slip(const skel_state *s, const skel__kin *x, const skel__joint *j,
                    const skel__joint_world *g);

/* ---- fk.c ---- */
void skel__fk(const skel_model *m, const double *q, skel__kin *x);
/* Joints that go with others do, whatever q says. Only for kinematics: dynamics moves each one. */
void skel__fk_with_mimics(const skel_model *m, const double *q, skel__kin *x);
void skel__q_of(const skel_model *m, const skel__kin *x, double *q);
void skel__fk_velocity(skel_state *s, const double *qd);
void skel__qd_of(skel_state *s, double *qd);

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

/* ---- push.c: forces where bodies touch grounds and each other ---- */
/* Whether the candidate's force law is at work: where it is deep; on rigid grounds only at rest. Between
   events (cvode.c) what touches goes on touching, so that forces do not jump within a step. */
static inline int skel__contact_is_active(const skel_state *s, int32_t candidate, double gap) {
    if (s->is_event_driven) return s->event_state[candidate] == SKEL__EVENT_RESTING;
    return gap < 0 && (!s->m->ground[s->m->candidate[candidate].ground].is_rigid ||
                       s->event_state[candidate] == SKEL__EVENT_RESTING);
}
/* Goes over the candidates and leaves out pairs of bodies that are farther apart than `margin`: start
   with {0}, then ask for every candidate in turn. */
typedef struct skel__pair_filter {
    int32_t i, j;
    int begun, is_far;
} skel__pair_filter;
int skel__pair_is_far(skel__pair_filter *scan, const skel_model *m, const skel__candidate *p,
                      const skel__kin *x, double margin);
/* Whether what i touches there is a ground: any plane, or a body that does not move by forces. */
static inline int skel__is_ground(const skel_model *m, const skel__candidate *p) {
    return p->kind == SKEL__CANDIDATE_PLANE || !skel__is_dynamic(m, p->j);
}
/* Velocity of body i's material at a point; prescribed bodies and the world move too. */
static inline v3 skel__velocity_at(const skel_state *s, const skel__kin *x, int32_t i, v3 point) {
    return v3_add(x[i].v, v3_cross(s->ww[i], v3_sub(point, x[i].p)));
}
/* Where the candidate touches at x, the surface being where it gave way to at the start. */
static inline skel__contact_point skel__contact_point_at(const skel_state *s, const skel__kin *x,
                                                         int32_t candidate) {
    const skel__candidate *p = &s->m->candidate[candidate];
    skel__contact_point t = skel__contact_point_of(
        s->m, p, skel__pose_of(x, p->i), skel__pose_of(x, skel__candidate_other(s->m, p)));
    t.gap += s->slack[candidate];
    return t;
}
/* Force on body i of a candidate that touches as t says, by the law; xi: its stick displacement. point:
   where it acts. */
v3 skel__contact_law(const skel_state *s, const skel__kin *x, int32_t candidate,
                     const skel__contact_point *t, v3 xi, v3 *point);
/* Adds to s->contact_wrench, s->contact_power; rate: of the memory. s is prepared for x. */
void skel__contact_loads(skel_state *s, const skel__kin *x, const double *memory, double *rate);
/* Energy, forces and depth of the contacts of s->x, into the row. */
void skel__contact_measure(const skel_state *s, skel_report_row *row);

/* ---- wobble.c: soft parts on bones ---- */
void skel__wobble_loads(skel_state *s, const skel__kin *x);
double skel__wobble_energy(const skel_state *s, const skel__kin *x);

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
static inline int32_t skel__event_count(const skel_model *m) {
    return m->ncand + (m->has_joint_forces ? 4 * m->nj : 0);
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

/* ---- aba.c ---- */
skel_status skel__aba_factor(skel_state *s, const skel__kin *x);
/* Solves for s->acc with applied forces s->f and joint bias s->bias. */
void skel__aba_solve(skel_state *s);
/* The bias that belongs to accelerations. */
void skel__aba_bias(skel_state *s, const skel__kin *x);

/* ---- loops.c: joints beyond the tree, by Schur complement on the factored tree ---- */
/* The most rows there can be. */
int32_t skel__loop_row_count(const skel_model *m);
/* Chooses the loops and pins that hold from s->t on. A pin that closes takes the body where it is.
   Returns 1 where a pin opened or closed. */
int skel__loops_select(skel_state *s, double eps);
/* What the loop rows must give: accelerations that fit, or displacements and velocities that
   mend what is open. */
typedef enum skel__loop_goal {
    SKEL__LOOP_ACCELERATE,
    SKEL__LOOP_CLOSE,
    SKEL__LOOP_FIT
} skel__loop_goal;
/* s->acc holds the tree's own answer and is changed; s->f gains the loops' wrenches. Returns the
   largest misfit that a goal other than ACCELERATE found. */
double skel__loops_solve(skel_state *s, const skel__kin *x, skel__loop_goal goal);
/* Rows of that loop (0 to s->nloop - 1) which other joints imply, as the last solve found them. */
int32_t skel__loop_implied(const skel_state *s, int32_t loop);

/* ---- rows.c, kkt.c, pinv.c ---- */
void skel__rows_of(const skel_state *s, const skel__kin *x, int32_t joint, skel__rows *rows);
skel_status skel__kkt(skel_state *s, const skel__kin *x);
size_t skel__kkt_doubles(const skel_model *m);
skel_status skel__pinv(skel_state *s, const skel__kin *x);
/* The workspace for a judge, taken once; SKEL_E_MEMORY. */
skel_status skel__reference_reserve(skel_state *s, int32_t solver);

/* Accelerations s->acc (world) of x at time t by any solver; s is prepared for x afterwards. */
skel_status skel__accelerate(skel_state *s, skel__kin *x, double t, skel__side side,
                             int32_t solver);

/* ---- energy.c ---- */
/* Kinetic energy and momenta (about the world's origin) of what moves by forces. */
typedef struct skel__momenta {
    double kinetic;
    v3 p, l;
} skel__momenta;
skel__momenta skel__momenta_of(const skel_state *s);
void skel__measure(const skel_state *s, skel_report_row *row);

/* A constraint row times the motion of the body it stands on. */
static inline double skel__row_dot(const double *g, skel__twist a) {
    return v3_dot(v3_of(g), a.v) + v3_dot(v3_of(g + 3), a.w);
}
/* How fast a unit impulse along row g would move body i, turned by r, if it were alone. */
static inline double skel__mobility(const skel_model *m, int32_t i, m3 r, const double *g) {
    if (!skel__is_dynamic(m, i)) return 0;
    const v3 l = v3_of(g), n = m3_tmulv(r, v3_of(g + 3));
    return v3_dot(l, l) / m->body[i].mass + v3_dot(n, m3_mulv(m->body[i].inertia_inverse, n));
}
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

static inline v3 skel__body_axes(const skel_state *s, int32_t i, v3 world) {
    return m3_tmulv(s->r[i], world);
}

#endif
