/* SPDX-License-Identifier: BSD-3-Clause */
/* The model as the algorithms see it: bodies and joints in the caller's order, and their spanning
   forest. Every tree joint attaches one dynamic body to its tree parent. The tree may run against
   the direction of a joint (`reversed`); coordinates and motors keep the direction of the joint. */
#ifndef SKEL_MODEL_MODEL_H
#define SKEL_MODEL_MODEL_H

#include "math/quat.h"
#include "model/curve.h"
#include "model/joint_kind.h"

#include <skel/skel_model.h>

#define SKEL__MAX_BODIES 10000000u
#define SKEL__MAX_ROWS 6 /* constraint rows of a joint */

typedef struct skel__body {
    int32_t motion;   /* SKEL_MOTION_* */
    int32_t parent;   /* tree parent; -1: the world, or a root without a joint */
    int32_t joint;    /* the joint to the tree parent; -1: a free root or a prescribed body */
    int32_t shape;    /* SKEL_SHAPE_* */
    int32_t is_inner; /* the tree parent is a dynamic body */
    int32_t is_held;  /* hidden body of a pin without a curve: it keeps the pose of the state */
    int32_t root;     /* the free root of its tree; -1: the tree hangs from a prescribed body */
    double mass;      /* [kg]; 0: not given */
    m3 inertia, inertia_inverse; /* [kg m^2] and its inverse, body axes */
    pose x0;                     /* initial pose */
    v3 v0, w0;                   /* initial velocity: world [m/s], body axes [rad/s] */
    v3 force, torque;            /* constant load [N], [N m] */
    skel_curve force_curve, torque_curve, position_curve, orientation_curve;
    double *position_slopes;    /* (3 count) velocities at the samples [m/s] */
    double *orientation_slopes; /* (3 count) angular velocities at the samples [rad/s] */
    double size[3];             /* of the shape [m], as in skel_body_desc */
    const double *pinned;       /* (2 pinned_count) start and end of each interval [s] */
    uint32_t pinned_count;
    uint32_t contact_count;
    const double *contacts; /* (3 contact_count) contact points, body axes [m] */
    int32_t collide;        /* SKEL_COLLIDE_* or a group > 0 */
    double bounding_radius; /* of the shape and the contact points, about the centre [m] */
    int32_t is_smooth;      /* the curves of force and torque are cubic */
    int32_t host;           /* host body of a wobbling mass; -1: the body is rigid */
    int32_t skeleton;       /* number of the skeleton that the body belongs to */
    const char *name;
} skel__body;

typedef struct skel__joint {
    int32_t type;               /* SKEL_JOINT_*: row of skel__joint_kinds */
    int32_t a, b;               /* parent and child as the caller gave them; -1: the world */
    int32_t reversed;           /* the child in the tree is a, not b */
    int32_t is_loop;            /* the joint is not part of the tree */
    int32_t q_offset, v_offset; /* index of its first coordinate and velocity */
    pose fa, fb;                /* outer frame in body axes of a, inner frame in those of b */
    m3 ea, eb;                  /* rows: x, y, z axes of those frames in body axes */
    double pitch;               /* [m/rad] of a screw, otherwise 0 */
    double friction, motor;     /* [N m s] and [N m]; slide: [N s/m] and [N] */
    skel_curve motor_curve;
    int32_t is_smooth; /* motor_curve is cubic */
    skel_joint_limits limits;
    v3 limit_axis;                    /* limits.axis */
    double stop_low[2], stop_high[2]; /* the limits, extended to include the initial pose */
    skel_joint_follow follow;         /* its curves are copies that the model owns */
    skel_joint_spring spring;
    skel_joint_muscle muscle;
    int32_t muscle_index; /* index of its torque in the internal variables; -1: no muscle */
    skel_joint_mimic mimic;
    int32_t mimic_root;               /* joint at the end of the mimic chain; -1: not a mimic */
    double mimic_factor, mimic_shift; /* q = mimic_factor q_root + mimic_shift */
    const char *name;
} skel__joint;

#define SKEL__SOFT_LEVELS 10 /* levels of contact stiffness, for light bodies (candidates.c) */

/* A plane that is fixed in a body or in the world (-1), and the constants of contacts with it. */
typedef struct skel__ground {
    int32_t body, is_rigid;
    v3 point, normal;         /* in the axes of the body */
    double friction, a, b, d; /* mu, and N = a depth^b + d depth' */
    double stick_k, stick_d;  /* stiffness [N/m] and damping [N s/m] of the bristle */
    double restitution, tangential_restitution;
    int32_t is_default, is_stick_default; /* a, b, d and stick_* are defaults */
    v3 given_point, given_normal;         /* as the caller gave them: world, initial pose */
} skel__ground;

typedef struct skel__wobble {
    int32_t body, host;
    v3 rest, axis; /* in the axes of the host */
    double along_c, along_d, across_c, across_d, turn_a, turn_b;
} skel__wobble;

struct skel__candidate; /* contact/contact.h */

struct skel_model {
    skel_allocator allocator;
    int32_t nb, nj, nq, nv; /* bodies, joints, joint coordinates, joint velocities */
    v3 gravity;             /* [m/s^2] */
    double length_scale;    /* largest lever or distance [m]; small lengths are relative to it */

    skel__body *body;   /* (nb + npin) */
    skel__joint *joint; /* (nj + npin) */
    int32_t na;         /* nb + npin. Every pin has a hidden prescribed body behind the bodies, and
                           behind the joints a fixed joint from it to the pinned body. */

    int32_t nd;           /* dynamic bodies */
    int32_t *order;       /* (nd) dynamic bodies, tree parents first */
    int32_t np;           /* prescribed bodies */
    int32_t *prescribed;  /* (np) */
    int32_t nl;           /* loop joints */
    int32_t *loop;        /* (nl) */
    int32_t nmimic;       /* mimic joints */
    int32_t *mimic_joint; /* (nmimic) */
    int32_t npin;         /* bodies with pins */
    int32_t *pin;         /* (npin) */

    int32_t ng, nw, nf;   /* grounds, wobbling masses, fields */
    skel__ground *ground; /* (ng + 1) x SKEL__SOFT_LEVELS. Entry ng holds the constants of contacts
                               between bodies. Every further level is softer, for light bodies. */
    skel__wobble *wobble; /* (nw) */
    skel_field_desc *field; /* (nf) as the caller gave them */

    v3 frame_spin;         /* angular velocity of the moving frame [rad/s] */
    v3 frame_acceleration; /* acceleration of its origin [m/s^2] */
    skel_curve frame_spin_curve, frame_acceleration_curve;
    int32_t has_frame;

    int32_t ncand;                     /* contact candidates */
    struct skel__candidate *candidate; /* (ncand) a block of its own (contact/candidates.c) */
    int32_t pairs_left_out;   /* pairs of bodies do not collide, because there are too many */
    int32_t has_rigid;        /* some ground is rigid */
    int32_t overlap_count;    /* pairs of different skeletons that overlap in the initial pose and
                                 therefore never collide */
    int32_t overlap_first[2]; /* the first such pair */
    double weight;            /* of all dynamic bodies [N] */
    double gravity_norm;      /* |gravity|, or that of the earth if it is 0 [m/s^2] */
    double contact_length;    /* length scale of contacts [m] */

    int32_t ninternal; /* internal variables: 3 per candidate, then 1 per muscle */
    int32_t nmuscle;
    int32_t nstop;            /* joints with hard stops */
    int32_t nbounce;          /* joints with hard stops that have a restitution > 0 */
    int32_t has_joint_forces; /* some joint has limits, a spring or a muscle */
    int32_t has_follow;       /* some joint has a follow spring */
};

static inline int skel__is_dynamic(const skel_model *m, int32_t body) {
    return body >= 0 && m->body[body].motion == SKEL_MOTION_DYNAMIC;
}

static inline pose skel__initial_pose(const skel_model *m, int32_t body) {
    return body < 0 ? (pose){{0, 0, 0}, q_identity()} : m->body[body].x0;
}

/* Builds a model without contact candidates, which contact/model_create.c adds. */
skel_status skel__model_build(const skel_model_desc *desc, skel_model **out, skel_error *err);
/* Finds stops and muscles. The candidates are counted already: the torques of the muscles follow
   them in the internal variables. */
void skel__model_count_joint_forces(skel_model *m);

/* Whether limits, a spring or a muscle act along the coordinates of the joint. */
static inline int skel__joint_has_forces(const skel__joint *j) {
    return j->limits.is_set || j->spring.stiffness > 0 || j->spring.damping > 0 ||
           j->muscle_index >= 0;
}

/* Whether the limits are hard stops. Otherwise a limiting torque acts [RUD 4.2]. */
static inline int skel__has_stop(const skel__joint *j) {
    return j->limits.is_set && !(j->limits.law_range > 0);
}

/* Number of coordinates, velocities and constraint rows of a joint type. */
static inline int32_t skel__joint_nq(int32_t type) {
    return skel__joint_kinds[type].q_count;
}
static inline int32_t skel__joint_nv(int32_t type) {
    return skel__joint_kinds[type].dof;
}
static inline int32_t skel__joint_rows(int32_t type) {
    return skel__joint_kinds[type].row_count;
}

/* Every freedom of a joint is a screw motion: at a unit velocity k, b moves along its axis by
   skel__joint_shift [m/s] and rotates about it by skel__joint_turn [rad/s]. */
static inline double skel__joint_shift(const skel__joint *j, int k) {
    return skel__is_length(j->type, k) ? 1.0 : j->pitch;
}
static inline double skel__joint_turn(const skel__joint *j, int k) {
    return skel__is_length(j->type, k) ? 0.0 : 1.0;
}
/* Whether coordinate k is an angle that returns to the same pose after a full turn. */
static inline int skel__is_periodic(const skel__joint *j, int k) {
    return skel__joint_kinds[j->type].q_kind[k] == SKEL_COORDINATE_ANGLE &&
           skel__joint_shift(j, k) == 0;
}

/* Axis of velocity k, in the axes that the orientations of the two frames lead to. */
static inline v3 skel__freedom_axis(int32_t type, quat outer, quat inner, int k) {
    static const v3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const skel__joint_motion *motion = &skel__joint_motions[type];
    return q_rotate(motion->freedom[k].is_inner ? inner : outer, unit[motion->freedom[k].axis]);
}

/* Pose of the inner frame in the outer frame at the coordinates q. */
pose skel__joint_pose(const skel__joint *j, const double *q);

/* Violation of a joint's constraint. */
typedef struct skel__misfit {
    double gap;   /* distance of the joint points [m] */
    double angle; /* misalignment [rad] */
} skel__misfit;
/* The coordinates q of the joint that fit its frames in the world best, and their misfit. */
skel__misfit skel__joint_measure(const skel__joint *j, pose outer, pose inner, double *q);

/* The coordinate of mimic joint j. */
static inline double skel__mimic_q(const skel_model *m, const skel__joint *j, const double *q) {
    return j->mimic_factor * q[m->joint[j->mimic_root].q_offset] + j->mimic_shift;
}
/* Sets the coordinates of all mimic joints in q. */
static inline void skel__mimic_apply(const skel_model *m, double *q) {
    for (int32_t k = 0; k < m->nmimic; ++k) {
        const skel__joint *j = &m->joint[m->mimic_joint[k]];
        q[j->q_offset] = skel__mimic_q(m, j, q);
    }
}

/* The coordinates c that limits, springs and muscles act along: q of a hinge, slide or universal
   joint; of a ball joint the angle between limit_axis and its rotated image, and the twist about
   it. Angles are shifted by full turns to lie near the middle of their limits. Returns their
   number. */
int32_t skel__joint_coordinates(const skel__joint *j, const double *q, double c[2]);

/* Pose, velocity and acceleration of a prescribed body at time t [s]. */
skel__motion skel__prescribed_motion(const skel__body *b, double t, skel__side side);

#endif
