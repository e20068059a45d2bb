/* SPDX-License-Identifier: BSD-3-Clause */
/* The model as the algorithms see it: bodies and joints in the caller's order, and the forest that
   was found in them. Every joint but a loop's hangs one dynamic body on a tree parent; the tree may
   run against the joint's own direction (`reversed`), q and motors keep the joint's. */
#ifndef SKEL_MODEL_MODEL_H
#define SKEL_MODEL_MODEL_H

#include "math/quat.h"
#include "model/curve.h"

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
    const char   *name;
} skel__body;

typedef struct skel__joint {
    int32_t     type;
    int32_t     a, b;     /* parent and child as the caller gave them; -1: the world */
    int32_t     reversed; /* the tree child is a, not b */
    int32_t     is_loop;  /* beyond the tree: both bodies hang elsewhere already */
    int32_t     q_offset, v_offset;
    pose        fa, fb; /* outer frame in a, inner frame in b */
    m3          ea, eb; /* rows: x, y, z axes of those frames in body axes */
    double      friction, motor;
    skel_curve  motor_curve;
    int32_t     has_limits;
    double      limit_low[2], limit_high[2];
    v3          limit_axis;
    double      follow_frequency; /* [Hz]; 0: none */
    double      follow_damping, follow_max;
    skel_curve  follow_curve, follow_weight;
    const char *name;
} skel__joint;

struct skel_model {
    skel_allocator allocator;
    int32_t        nb, nj, nq, nv;
    v3             gravity;
    double         size;       /* largest lever or distance: the unit of "small" [m] */
    skel__body    *body;       /* (nb) */
    skel__joint   *joint;      /* (nj) */
    int32_t        nd;         /* dynamic bodies */
    int32_t       *order;      /* (nd) dynamic bodies, tree parents first */
    int32_t        np;         /* fixed and driven bodies */
    int32_t       *prescribed; /* (np) */
    int32_t        nl;         /* loop joints */
    int32_t       *loop;       /* (nl) */
    int32_t        has_follow; /* some joint has a spring toward an animation */
    int32_t        npin;       /* bodies that are pinned at times */
    int32_t       *pin;        /* (npin) */
    int32_t        na;         /* nb + npin: behind the caller's bodies, one hidden prescribed body
                                  per pin; behind the joints, its weld to the pinned body */
};

static inline int skel__is_dynamic(const skel_model *m, int32_t body) {
    return body >= 0 && m->body[body].motion == SKEL_MOTION_DYNAMIC;
}

/* Number of coordinates, velocities and constraint rows of a joint type. */
int32_t skel__joint_nq(int32_t type);
int32_t skel__joint_nv(int32_t type);
int32_t skel__joint_rows(int32_t type);

/* The motion from the outer to the inner frame at q (skel__joint_nq numbers). */
pose skel__joint_pose(const skel__joint *j, const double *q);
/* The joint's frames in the world, and the joint coordinates and misfit of two placed frames. */
typedef struct skel__misfit {
    double gap;   /* [m] */
    double angle; /* [rad] */
} skel__misfit;
skel__misfit skel__joint_measure(const skel__joint *j, pose outer, pose inner, double *q);

/* Where a prescribed body is at time t. */
skel__motion skel__prescribed_motion(const skel__body *b, double t, skel__side side);

#endif
