/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Inverse kinematics: joint coordinates that bring bodies where goals want them, within the joints'
   limits, and a receipt that says how well [SIE 8.1.3].
   Goals of one priority share what is off by their weights; a later priority only gets what the
   earlier ones leave. Loops of the model are kept closed before everything else. */
#ifndef SKEL_IK_H
#define SKEL_IK_H

#include <skel/skel_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Kinds of goals. */
enum {
    SKEL_GOAL_PLACE = 0, /**< a point of the body to `position`, its axes to `orientation` */
    SKEL_GOAL_AIM   = 1, /**< an axis of the body, from its point, aims at `position` */
    /** the body's point (an elbow) bends towards `position`, seen about the line between
        from_point of `from` and to_point of `to` */
    SKEL_GOAL_POLE = 2,
    /** the centre of mass of the body's skeleton (SKEL_WORLD: of everything that can move) to
        `position` */
    SKEL_GOAL_CENTRE = 3
};

/** What counts of a goal; parts = 0 means all that is there. */
enum {
    SKEL_GOAL_X           = 1, /**< axes of the position: the world's, or those of relative_to */
    SKEL_GOAL_Y           = 2, /**< likewise */
    SKEL_GOAL_Z           = 4, /**< likewise */
    SKEL_GOAL_POSITION    = 7, /**< all three axes */
    SKEL_GOAL_ORIENTATION = 8  /**< the orientation */
};

/** A goal. */
typedef struct skel_goal_desc {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    int32_t  kind;        /**< SKEL_GOAL_* */
    int32_t  body;        /**< index; SKEL_WORLD only where the kind says so */
    /** the target is fixed in this body's axes, from its centre of mass */
    int32_t relative_to;
    /** PLACE: which of the target counts, default POSITION; CENTRE: axes */
    uint32_t parts;
    int32_t  priority;       /**< 0 is first, at most SKEL_IK_MAX_PRIORITY */
    double   weight;         /**< > 0, among goals of one priority; 0: the goal is off */
    double   point[3];       /**< of the body, in its axes from its centre of mass */
    double   frame[4];       /**< PLACE: axes fixed in the body that are to take the orientation */
    double   axis[3];        /**< AIM: in body axes */
    int32_t  from;           /**< POLE: a body or SKEL_WORLD */
    int32_t  to;             /**< POLE: a body or SKEL_WORLD */
    double   from_point[3];  /**< POLE: in the axes of `from`, from its centre of mass */
    double   to_point[3];    /**< POLE: in the axes of `to`, likewise */
    double   position[3];    /**< the target [m] */
    double   orientation[4]; /**< the target, w x y z */
    /** Which joints may move for it; where several say so, all must. Goals that share no joint are
       solved one after the other, nearest to the root first: what one may not move is where it
       would be without that goal. */
    /** (joint_count) borrowed while the solver is made; SKEL_WORLD stands for a free root. NULL:
        all */
    const int32_t *joints;
    uint32_t       joint_count; /**< > 0 where there are joints */
    int32_t        chain_depth; /**< > 0: only so many joints above the body; 0: no bound */
    /** only joints between this body and the goal's, which hangs from it; SKEL_WORLD (default):
        no bound */
    int32_t chain_root;
    int32_t reserved; /**< 0 */
} skel_goal_desc;
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_goal_desc_init_sized(skel_goal_desc *desc, size_t size);
/** The same with the caller's own size. */
#define skel_goal_desc_init(d) skel_goal_desc_init_sized((d), sizeof *(d))
/** The last priority. */
#define SKEL_IK_MAX_PRIORITY 15

/** Modes of a solver. */
enum {
    /** every solve on its own; restarts from other seeds, always the same ones */
    SKEL_IK_POSE  = 0,
    SKEL_IK_TRACK = 1 /**< from where it is, downhill only, no restarts: small steps, no jumps */
};
/** Methods of a solver. */
enum {
    SKEL_IK_DAMPED = 0, /**< damped by the error, limits by active set */
    /** Newton with the pseudoinverse by SVD [SIE 8.1.3], no limits, no damping: the reference;
        one priority only */
    SKEL_IK_NEWTON = 1
};
/** What a free root may do. */
enum {
    SKEL_IK_ROOT_HELD   = 0, /**< nothing */
    SKEL_IK_ROOT_SHIFTS = 1, /**< move, not turn */
    SKEL_IK_ROOT_MOVES  = 2  /**< move and turn */
};

/** A solver to be made. */
typedef struct skel_ik_desc {
    uint32_t              struct_size;    /**< sizeof of this struct as the caller saw it */
    int32_t               mode;           /**< SKEL_IK_POSE, SKEL_IK_TRACK */
    const skel_model     *model;          /**< must outlive the solver */
    const skel_goal_desc *goals;          /**< copied */
    uint32_t              goal_stride;    /**< sizeof(skel_goal_desc) as the caller saw it */
    uint32_t              goal_count;     /**< number of goals */
    int32_t               method;         /**< SKEL_IK_DAMPED, SKEL_IK_NEWTON */
    int32_t               root;           /**< SKEL_IK_ROOT_* */
    double                tolerance;      /**< [m] and [rad]; default 1e-5 */
    double                max_ms;         /**< time that a solve may take; 0: no bound */
    int32_t               max_iterations; /**< of one descent; 0: default */
    int32_t               max_restarts;   /**< POSE; -1: default */
    /** Arrays of the model's dof, or NULL. */
    const double *stiffness; /**< 0 free .. 1 held */
    /** TRACK: most that a joint may move per solve [rad], [m]; 0: no bound. A ball joint goes by
        the first of its three */
    const double *max_step;
    /** q (q_count) to come near to with the freedom that is left; NULL: none */
    const double         *posture;
    const skel_allocator *allocator; /**< copied; NULL: the model's */
} skel_ik_desc;
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_ik_desc_init_sized(skel_ik_desc *desc, size_t size);
/** The same with the caller's own size. */
#define skel_ik_desc_init(d) skel_ik_desc_init_sized((d), sizeof *(d))

/** A solver for one set of goals. All memory is taken here: solving allocates nothing. */
typedef struct skel_ik skel_ik;

/** On failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_ik_create(const skel_ik_desc *desc, skel_ik **out, skel_error *err);
SKEL_API void        skel_ik_destroy(skel_ik *ik); /**< NULL is fine */

/** Another target for goal `goal`; either may be NULL: it stays. */
SKEL_API skel_status skel_ik_set_target(skel_ik *ik, int32_t goal, const double position[3],
                                        const double orientation[4]);
/** Another weight for goal `goal`; 0: the goal is off. */
SKEL_API skel_status skel_ik_set_weight(skel_ik *ik, int32_t goal, double weight);
/** Where the roots are, free, fixed and driven: from poses (body_count x 7) of all bodies; NULL: as
    the model has them. */
SKEL_API skel_status skel_ik_set_roots(skel_ik *ik, const double *poses);

/** The receipt of a solve. */
typedef struct skel_ik_receipt {
    uint32_t struct_size;   /**< sizeof of this struct as the caller saw it */
    int32_t  reached;       /**< 1: residual <= tolerance */
    double   residual;      /**< largest of all goals and loops: distance [m] or angle [rad] */
    int32_t  iterations;    /**< of all descents */
    int32_t  restarts;      /**< from other seeds */
    int32_t  active_limits; /**< limits that the answer stands at, and that hold it back */
    int32_t  reserved;      /**< 0 */
    /** of the goals' Jacobian there: rows [m] and [rad] without weights, every joint free; 0
        where it loses rank */
    double smallest_singular_value;
    double us; /**< time it took [1e-6 s] */
} skel_ik_receipt;

/** q (q_count): in, the seed; out, the answer, always within the limits. SKEL_OK whether it was
    reached or not: the receipt says. receipt may be NULL. */
SKEL_API skel_status skel_ik_solve(skel_ik *ik, double *q, skel_ik_receipt *receipt,
                                   skel_error *err);

/* Of the last answer. */
/** Poses (body_count x 7) of all bodies, free roots where the solve moved them. */
SKEL_API skel_status skel_ik_get_poses(const skel_ik *ik, double *poses);
/** How far goal `goal` is off: distance [m] and angle [rad] (each may be NULL). */
SKEL_API skel_status skel_ik_get_residual(const skel_ik *ik, int32_t goal, double *distance,
                                          double *angle);
/** 1 for every dof whose limit holds it back (dof entries). */
SKEL_API skel_status skel_ik_get_active(const skel_ik *ik, int32_t *active);

/** Jacobian (6 x dof, row-major) of a point of a body, given in its axes from its centre of mass,
    at poses (body_count x 7): velocity of the point and angular velocity, both in the world, of the
    joint velocities. Joints of loops have no column (zero), nor have joints that go with another:
    theirs is added to the leader's. SKEL_E_ARGUMENT: a number of it is not finite. */
SKEL_API skel_status skel_jacobian(const skel_model *model, const double *poses, int32_t body,
                                   const double point[3], double *jacobian);

/** The two bones of [SIE 8.1.2] in the plane: angles (first bone from the x axis, second from the
    first) that put the tip at `target`, elbow to one and to the other side. Where it is out of
    reach the arm points at it. Returns 1 where it is reached. */
SKEL_API int32_t skel_two_bone_plane(const double root[2], double length1, double length2,
                                     const double target[2], double plus[2], double minus[2]);

/** Two bones in space, and their target. */
typedef struct skel_two_bone_desc {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    uint32_t flags;       /**< 0 */
    double   root[3];     /**< where the first bone begins [m] */
    double   target[3];   /**< for the tip [m] */
    double   pole[3];     /**< the elbow lies on the side of this point */
    double   length1;     /**< of the bone at the root [m] */
    double   length2;     /**< of the bone at the tip [m] */
    /** from where on full extension is only approached, as a part of the length of both, 0..0.5;
        0: it is reached, with a snap */
    double softness;
} skel_two_bone_desc;
/** The answer for two bones. */
typedef struct skel_two_bone {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    int32_t  reached;     /**< within rounding; never beyond where the softness begins */
    double   elbow[3];    /**< where the bones meet [m] */
    double   tip[3];      /**< end of the second bone [m] */
    double   bend;        /**< angle between the bones, 0 where they are straight [rad] */
} skel_two_bone;
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_two_bone_desc_init_sized(skel_two_bone_desc *desc, size_t size);
/** The same with the caller's own size. */
#define skel_two_bone_desc_init(d) skel_two_bone_desc_init_sized((d), sizeof *(d))
/** out->struct_size must be set. */
SKEL_API skel_status skel_two_bone_solve(const skel_two_bone_desc *desc, skel_two_bone *out);

/** The chain of [SIE 8.1.1] as a model: `count` links in the plane z = 0 that turn about z, the
    first from the world at `root`; q are the lecture's angles. The body frame is in the middle of
    the link, x along it. */
SKEL_API skel_status skel_model_create_planar(const double root[2], const double *lengths,
                                              uint32_t count, skel_model **out, skel_error *err);

/* ---- over time --------------------------------------------------------------------------------*/

/* A motion in mode TRACK knows all its samples. Where following the targets from one sample to the
   next loses one that can be reached, or a joint would jump, it looks for other ways through the
   samples around it and glides over to one that goes on. Where there is none the joints jump, once,
   and the jump is told. What no pose reaches is left as near as it comes. Same input, same motion.
   A single skel_ik_solve does not know what comes and stays as it is. */

/** The first sample of a motion in mode TRACK. */
enum {
    SKEL_IK_START_FREE = 0, /**< may take another pose, where else there would be a jump */
    SKEL_IK_START_HELD = 1  /**< keeps the pose that the seed leads to */
};

/** Targets of one goal, a sample each; count 0: those of the goal. Borrowed while solving. */
typedef struct skel_goal_track {
    const double *positions;         /**< (position_count x 3) */
    const double *orientations;      /**< (orientation_count x 4) */
    const double *weights;           /**< (weight_count) */
    uint32_t      position_count;    /**< number of positions */
    uint32_t      orientation_count; /**< number of orientations */
    uint32_t      weight_count;      /**< number of weights */
    uint32_t      reserved;          /**< 0 */
} skel_goal_track;

/** A motion to be solved. */
typedef struct skel_ik_motion_desc {
    uint32_t            struct_size;  /**< sizeof of this struct as the caller saw it */
    uint32_t            sample_count; /**< every track has one sample or this many */
    const skel_ik_desc *ik;           /**< borrowed during the call; max_step is per sample */
    /** (goal_count), borrowed while it lives; NULL: constant goals */
    const skel_goal_track *tracks;
    double                 sample_rate; /**< [1/s], default 24; sample k is at time k / rate */
    const double          *seed;        /**< q; NULL: the model's pose */
    /** sample_count x q_count: the animation that goals change, and blends begin and end with.
        POSE: the seed of every sample; TRACK: a sample starts from the answer before it, moved on
        as the base moves. NULL: the seed, all the time. */
    const double         *base;
    uint32_t              blend_in;  /**< samples from the base to the answer */
    uint32_t              blend_out; /**< samples from the answer back to the base */
    const skel_allocator *allocator; /**< copied; NULL: the model's */
    /** sample_count x body_count x 7: free roots of the base; NULL: as the model has them */
    const double *base_poses;
    /** 1: the posture of a sample is its base, instead of that of `ik` */
    uint32_t base_posture;
    uint32_t start; /**< SKEL_IK_START_*, default FREE */
    /** 1: no sample knows those after it, as with skel_ik_solve: what is lost stays lost.
        Default 0 */
    uint32_t causal;
    uint32_t reserved; /**< 0 */
} skel_ik_motion_desc;
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_ik_motion_desc_init_sized(skel_ik_motion_desc *desc, size_t size);
/** The same with the caller's own size. */
#define skel_ik_motion_desc_init(d) skel_ik_motion_desc_init_sized((d), sizeof *(d))

/** A motion that is being solved. */
typedef struct skel_ik_motion skel_ik_motion;

/** On failure *out is NULL. Driven bodies follow their curves. */
SKEL_API skel_status skel_ik_motion_start(const skel_ik_motion_desc *desc, skel_ik_motion **out,
                                          skel_error *err);
SKEL_API void        skel_ik_motion_destroy(skel_ik_motion *motion); /**< NULL is fine */
/** Works for about max_ms milliseconds (0: one solve; negative: to the end). SKEL_MORE while there
    is more to do, SKEL_OK when all samples are there. Until then those that are there may still
    change in mode TRACK. */
SKEL_API skel_status skel_ik_motion_advance(skel_ik_motion *motion, double max_ms);
/** 0 to 1. */
SKEL_API double skel_ik_motion_progress(const skel_ik_motion *motion);
/** Number of samples that are there. */
SKEL_API int32_t skel_ik_motion_samples_done(const skel_ik_motion *motion);
/** Owned by the motion. */
SKEL_API int32_t       skel_ik_motion_sample_count(const skel_ik_motion *motion);
SKEL_API const double *skel_ik_motion_poses(const skel_ik_motion *motion); /**< sample x body x 7 */
SKEL_API const double *skel_ik_motion_q(const skel_ik_motion *motion);     /**< sample x q_count */
/** Receipts are of what is written: the blended pose where it is blended. */
SKEL_API const skel_ik_receipt *skel_ik_motion_receipts(const skel_ik_motion *motion);
/** sample x goal x 2: distance [m] and angle [rad]. */
SKEL_API const double *skel_ik_motion_residuals(const skel_ik_motion *motion);

/** A joint that moves farther from one sample to the next than TRACK should: 0.15 rad (or as a part
    of the chain's length), or three times the way of the targets where that is more. */
typedef struct skel_ik_jump {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    int32_t  sample;      /**< the one that it jumps to */
    int32_t  joint;       /**< the farthest; SKEL_WORLD: a free root */
    int32_t  is_length;   /**< 0: size is an angle [rad]; 1: a distance [m] */
    double   size;        /**< beyond what the base itself moves */
} skel_ik_jump;
/** There when all samples are. */
SKEL_API int32_t skel_ik_motion_jump_count(const skel_ik_motion *motion);
/** Jump `index` in the order of the samples; out->struct_size must be set. */
SKEL_API skel_status skel_ik_motion_get_jump(const skel_ik_motion *motion, int32_t index,
                                             skel_ik_jump *out);
/** How far the first sample is from the pose that the seed leads to; size 0 where it was kept. */
SKEL_API skel_status skel_ik_motion_get_start(const skel_ik_motion *motion, skel_ik_jump *out);
/** Samples that were found another way than by following the sample before. */
SKEL_API int32_t skel_ik_motion_repaired_count(const skel_ik_motion *motion);

#ifdef __cplusplus
}
#endif
#endif
