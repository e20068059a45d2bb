/* SPDX-License-Identifier: BSD-3-Clause */
/* The model as the algorithms see it: bodies and joints in the caller's order, and the forest that
   was found in them. Every joint but a loop's hangs one dynamic body on a tree parent; the tree may
   run against the joint's own direction (`reversed`), q and motors keep the joint's. */
#ifndef SKEL_MODEL_MODEL_H
#define SKEL_MODEL_MODEL_H

#include "math/quat.h"
#include "model/curve.h"
#include "model/joint_kind.h"

#include <skel/skel_model.h>

#define SKEL__MAX_BODIES 10000000u
#define SKEL__MAX_ROWS 6 /* constraint rows of a joint */

typedef struct skel__body {
    int32_t       motion; /* SKEL_MOTION_* */
    int32_t       parent; /* tree parent; -1: the world, or a root without a joint */
    int32_t       joint;  /* the joint to the tree parent; -1: a free or prescribed root */
    int32_t       shape;
    int32_t       is_inner; /* the tree parent is a dynamic body */
    int32_t       is_held;  /* hidden body of a pin without a curve: stays where the state has it */
    int32_t       root;     /* the free root it hangs from; -1: an anchor */
    double        mass;     /* 0: not given */
    m3            inertia, inertia_inverse; /* body axes */
    pose          x0;
    v3            v0, w0;
    v3            force, torque;
    skel_curve    force_curve, torque_curve, position_curve, orientation_curve;
    double       *position_slopes, *orientation_slopes;
    double        size[3];
    const double *pinned; /* (2 pinned_count) */
    uint32_t      pinned_count;
    uint32_t      contact_count;
    const double *contacts; /* (3 contact_count) body axes */
    int32_t       collide;
    double        bounding_radius; /* of its shape and contact points, from the centre */
    int32_t       is_smooth;       /* curves of force and torque are cubic */
    int32_t       host;            /* it is a wobbling mass on this body; -1: it is none */
    int32_t       skeleton; /* number of the skeleton it belongs to; prescribed ones belong to what
                                hangs from them */
    const char   *name;
} skel__body;

typedef struct skel__joint {
    int32_t           type;
    int32_t           a, b;     /* parent and child as the caller gave them; -1: the world */
    int32_t           reversed; /* the tree child is a, not b */
    int32_t           is_loop;  /* beyond the tree: both bodies hang elsewhere already */
    int32_t           q_offset, v_offset;
    pose              fa, fb; /* outer frame in a, inner frame in b */
    m3                ea, eb; /* rows: x, y, z axes of those frames in body axes */
    double            friction, motor;
    skel_curve        motor_curve;
    int32_t           is_smooth; /* motor_curve is cubic */
    skel_joint_limits limits;
    v3                limit_axis;                /* limits.axis */
    double            stop_low[2], stop_high[2]; /* the limits, widened to hold the given pose */
    skel_joint_follow follow;                    /* with curves of the model's own */
    skel_joint_spring spring;
    skel_joint_muscle muscle;
    int32_t           muscle_index; /* place of its torque in the state's memory; -1: no muscle */
    skel_joint_mimic  mimic;
    int32_t           mimic_root; /* the joint at the end of the chain of mimics; -1: it is none */
    double            mimic_factor, mimic_shift; /* q = factor q_root + shift */
    const char       *name;
} skel__joint;

/* A plane; point and normal in the axes of its body (the world's: -1). */
#define SKEL__SOFT_LEVELS 10
typedef struct skel__ground {
    int32_t body, is_rigid;
    v3      point, normal;
    double  friction, a, b, d, stick_k, stick_d; /* defaults filled in */
    double  restitution, tangential_restitution;
    int32_t is_default, is_stick_default; /* the constants were not the caller's */
    v3      given_point, given_normal;    /* in the world at the given pose, as the caller said */
} skel__ground;

typedef struct skel__wobble {
    int32_t body, host;
    v3      rest, axis; /* host axes */
    double  along_c, along_d, across_c, across_d, turn_a, turn_b;
} skel__wobble;

struct skel__candidate; /* contact/contact.h */

struct skel_model {
    skel_allocator   allocator;
    int32_t          nb, nj, nq, nv;
    v3               gravity;
    double           length_scale; /* largest lever or distance: the unit of "small" [m] */
    skel__body      *body;         /* (nb) */
    skel__joint     *joint;        /* (nj) */
    int32_t          nd;           /* dynamic bodies */
    int32_t         *order;        /* (nd) dynamic bodies, tree parents first */
    int32_t          np;           /* fixed and driven bodies */
    int32_t         *prescribed;   /* (np) */
    int32_t          nl;           /* loop joints */
    int32_t         *loop;         /* (nl) */
    int32_t          nmimic;       /* joints that go with another */
    int32_t         *mimic_joint;  /* (nmimic) */
    int32_t          has_follow;   /* some joint has a spring toward an animation */
    int32_t          npin;         /* bodies that are pinned at times */
    int32_t         *pin;          /* (npin) */
    int32_t          ng, nw, nf;   /* grounds, wobbling masses, fields */
    skel__ground    *ground; /* (ng + 1) the last one has the constants of bodies that touch; then
                                the same for lighter and lighter bodies, SKEL__SOFT_LEVELS in all */
    skel__wobble    *wobble; /* (nw) */
    skel_field_desc *field;  /* (nf) as the caller gave them */
    v3               frame_spin,
        frame_acceleration; /* of the frame: angular velocity, acceleration of the origin */
    skel_curve              frame_spin_curve, frame_acceleration_curve;
    int32_t                 has_frame;
    int32_t                 ncand;     /* contact candidates */
    struct skel__candidate *candidate; /* (ns) a block of its own (contact/candidates.c) */
    int32_t ninternal;      /* numbers of the state's memory: stick displacements, muscle torques */
    int32_t nmuscle, nstop; /* muscles; joints with hard stops */
    int32_t nbounce;        /* those of them that throw back */
    int32_t has_joint_forces; /* some joint has limits, a spring or a muscle */
    int32_t pairs_left_out;   /* too many bodies that nobody asked to touch each other */
    int32_t has_rigid;        /* some ground has impacts */
    int32_t overlap_count;    /* pairs of different skeletons that overlap at the start, and
                                        therefore never touch each other */
    int32_t overlap_first[2]; /* the first such pair */
    double  weight;           /* of all dynamic bodies [N] */
    double  gravity_norm;     /* size of gravity; where there is none, the one on earth */
    double  contact_length;   /* length that contacts go by: of the skeleton or its shapes */
    int32_t na;               /* nb + npin: behind the caller's bodies, one hidden prescribed body
                                  per pin; behind the joints, its weld to the pinned body */
};

static inline int skel__is_dynamic(const skel_model *m, int32_t body) {
    return body >= 0 && m->body[body].motion == SKEL_MOTION_DYNAMIC;
}

static inline pose skel__initial_pose(const skel_model *m, int32_t body) {
    return body < 0 ? (pose){{0, 0, 0}, q_identity()} : m->body[body].x0;
}

/* Everything but the contact candidates (contact/model_create.c adds them). */
skel_status skel__model_build(const skel_model_desc *desc, skel_model **out, skel_error *err);
/* Once the candidates are counted: stops, and the places of the muscles' torques behind them. */
void skel__model_count_joint_forces(skel_model *m);

/* Whether limits, a spring or a muscle act along the joint's coordinates. */
static inline int skel__joint_has_forces(const skel__joint *j) {
    return j->limits.is_set || j->spring.stiffness > 0 || j->spring.damping > 0 ||
           j->muscle_index >= 0;
}

/* A joint has a hard stop where its limits are not a law. */
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

/* The motion from the outer to the inner frame at q (skel__joint_nq numbers). */
pose skel__joint_pose(const skel__joint *j, const double *q);
/* The joint's frames in the world, and the joint coordinates and misfit of two placed frames. */
typedef struct skel__misfit {
    double gap;   /* [m] */
    double angle; /* [rad] */
} skel__misfit;
skel__misfit skel__joint_measure(const skel__joint *j, pose outer, pose inner, double *q);

/* The coordinate of a joint that goes with another. */
static inline double skel__mimic_q(const skel_model *m, const skel__joint *j, const double *q) {
    return j->mimic_factor * q[m->joint[j->mimic_root].q_offset] + j->mimic_shift;
}
/* Gives it to all of them. */
static inline void skel__mimic_apply(const skel_model *m, double *q) {
    for (int32_t k = 0; k < m->nmimic; ++k) {
        const skel__joint *j = &m->joint[m->mimic_joint[k]];
        q[j->q_offset]       = skel__mimic_q(m, j, q);
    }
}

/* What limits, springs and muscles go by, from q: hinge and slide their q; universal both; ball
   the angle from limit_axis and the twist about it. Angles are taken in the turn around the middle
   of their limits. Returns how many there are. */
int32_t skel__joint_coordinates(const skel__joint *j, const double *q, double c[2]);

/* Where a prescribed body is at time t. */
skel__motion skel__prescribed_motion(const skel__body *b, double t, skel__side side);

#endif
