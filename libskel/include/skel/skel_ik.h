/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Inverse kinematics [SIE 8.1.3].

   A goal is a wish about one body: its hand should be at a point, its eyes should look at a target.
   The solver finds joint coordinates that fulfil all goals within the limits of the joints, or that
   come as close as possible. A receipt states the error that remains.

   Every goal has a priority and a weight. Goals with the same priority share the remaining error:
   the larger the weight of a goal, the smaller its error. A goal with a later priority never
   disturbs a goal with an earlier one. Closed loops of the model come before all goals.

   Lengths are in metres, angles in radians, quaternions in the order w x y z. */
#ifndef SKEL_IK_H
#define SKEL_IK_H

#include <skel/skel_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- goals ------------------------------------------------------------------------------------*/

/** Kinds of goals. */
enum {
    /** A point of the body moves to `position`; its frame turns to `orientation`. */
    SKEL_GOAL_PLACE = 0,
    /** An axis of the body, drawn from its point, aims at `position`. */
    SKEL_GOAL_AIM = 1,
    /** The body's point (an elbow or a knee) turns about a line until it lies on the side of
        `position`. The line leads from from_point of body `from` to to_point of body `to`. */
    SKEL_GOAL_POLE = 2,
    /** The centre of mass of the skeleton that the body belongs to moves to `position`. If the body
        is SKEL_WORLD, the goal concerns the centre of mass of all bodies that can move. */
    SKEL_GOAL_CENTRE = 3
};

/** Parts of a target. They are combined with "or". */
enum {
    SKEL_GOAL_X = 1,          /**< x of the position, in the axes of the world or of relative_to */
    SKEL_GOAL_Y = 2,          /**< y of the position */
    SKEL_GOAL_Z = 4,          /**< z of the position */
    SKEL_GOAL_POSITION = 7,   /**< x, y and z of the position */
    SKEL_GOAL_ORIENTATION = 8 /**< the orientation */
};

/** Describes a goal.

    The fields `joints`, `chain_depth` and `chain_root` restrict the joints that the goal may move.
    If more than one of them is set, a joint must satisfy all of them. Goals that have no joint in
    common are solved one after the other, starting at the root. A joint that a goal may not move
    therefore takes exactly the value that it would have without this goal. */
typedef struct skel_goal_desc {
    uint32_t struct_size; /**< sizeof this struct, as the caller was compiled */
    int32_t kind;         /**< one of SKEL_GOAL_PLACE ... SKEL_GOAL_CENTRE */
    int32_t body;         /**< index of the body; SKEL_WORLD is allowed for CENTRE only */
    /** Body in which the target is fixed. The target is then given in the axes of this body, from
        its centre of mass. SKEL_WORLD (default): the target is given in the world. */
    int32_t relative_to;
    /** PLACE: parts of the target that count; 0 means SKEL_GOAL_POSITION. CENTRE: axes that count;
        0 means all three. Other kinds ignore it. */
    uint32_t parts;
    int32_t priority;      /**< 0 is solved first; at most SKEL_IK_MAX_PRIORITY */
    double weight;         /**< weight among the goals of the same priority; 0 disables the goal */
    double point[3];       /**< point of the body, in its axes from its centre of mass [m] */
    double frame[4];       /**< PLACE: frame in the body that turns to `orientation` (w x y z) */
    double axis[3];        /**< AIM: direction in body axes, of any length */
    int32_t from;          /**< POLE: body at the start of the line, or SKEL_WORLD */
    int32_t to;            /**< POLE: body at the end of the line, or SKEL_WORLD */
    double from_point[3];  /**< POLE: start of the line, in the axes of `from` [m] */
    double to_point[3];    /**< POLE: end of the line, in the axes of `to` [m] */
    double position[3];    /**< target position [m] */
    double orientation[4]; /**< target orientation (w x y z) */
    /** Joints that the goal may move (joint_count indices); SKEL_WORLD stands for a free root.
        NULL: all joints. The array is read during skel_ik_create only. */
    const int32_t *joints;
    uint32_t joint_count; /**< number of entries of `joints`; 0 if `joints` is NULL */
    int32_t chain_depth;  /**< number of joints above the body that may move; 0: no bound */
    /** Only joints between this body and the goal's body may move. It must be an ancestor of the
        goal's body. SKEL_WORLD (default): no bound. */
    int32_t chain_root;
    int32_t reserved; /**< must be 0 */
} skel_goal_desc;
/** Sets every field to its default. `size` is sizeof the struct, as the caller was compiled. */
SKEL_API void skel_goal_desc_init_sized(skel_goal_desc *desc, size_t size);
/** Sets every field to its default. */
#define skel_goal_desc_init(d) skel_goal_desc_init_sized((d), sizeof *(d))
/** The largest value of skel_goal_desc.priority. */
#define SKEL_IK_MAX_PRIORITY 15

/* ---- a solver ---------------------------------------------------------------------------------*/

/** Modes of a solver. */
enum {
    /** Every solve is independent of the solves before it. If a descent ends in a local minimum,
        the solver restarts from other seeds, which are the same in every run. */
    SKEL_IK_POSE = 0,
    /** Every solve continues from the given pose and only descends. There are no restarts, so the
        joints move in small steps and do not jump. */
    SKEL_IK_TRACK = 1
};
/** Methods of a solver. */
enum {
    /** Damped least squares. The damping grows with the error; an active set holds the limits. */
    SKEL_IK_DAMPED = 0,
    /** Newton's method with the pseudoinverse by SVD [SIE 8.1.3], without limits and damping. It is
        the reference solver and allows one priority only. */
    SKEL_IK_NEWTON = 1
};
/** Freedom of a free root. */
enum {
    SKEL_IK_ROOT_HELD = 0,   /**< the root does not move */
    SKEL_IK_ROOT_SHIFTS = 1, /**< the root translates and does not rotate */
    SKEL_IK_ROOT_MOVES = 2   /**< the root translates and rotates */
};

/** Describes a solver. */
typedef struct skel_ik_desc {
    uint32_t struct_size;        /**< sizeof this struct, as the caller was compiled */
    int32_t mode;                /**< SKEL_IK_POSE or SKEL_IK_TRACK */
    const skel_model *model;     /**< must outlive the solver */
    const skel_goal_desc *goals; /**< array of goals, which is copied */
    uint32_t goal_stride;        /**< sizeof(skel_goal_desc), as the caller was compiled */
    uint32_t goal_count;         /**< number of goals */
    int32_t method;              /**< SKEL_IK_DAMPED or SKEL_IK_NEWTON */
    int32_t root;                /**< one of SKEL_IK_ROOT_* */
    double tolerance;       /**< error at which a goal is reached [m] and [rad]; default 1e-5 */
    double max_ms;          /**< longest time of a solve [ms]; 0: no bound */
    int32_t max_iterations; /**< largest number of iterations of one descent; 0: default */
    int32_t max_restarts;   /**< POSE: largest number of restarts; -1: default */
    /** How much every joint velocity resists the goals (dof entries): 0 is free, 1 does not move.
        NULL: all are free. */
    const double *stiffness;
    /** TRACK: largest change of every coordinate in one solve [rad] or [m] (dof entries); 0: no
        bound. A ball joint uses the first of its three entries. NULL: no bounds. */
    const double *max_step;
    /** Preferred joint coordinates (q_count entries). The solver approaches them as far as the
        goals leave freedom. NULL: none. */
    const double *posture;
    const skel_allocator *allocator; /**< copied; NULL: the allocator of the model */
} skel_ik_desc;
/** Sets every field to its default. `size` is sizeof the struct, as the caller was compiled. */
SKEL_API void skel_ik_desc_init_sized(skel_ik_desc *desc, size_t size);
/** Sets every field to its default. */
#define skel_ik_desc_init(d) skel_ik_desc_init_sized((d), sizeof *(d))

/** A solver for one set of goals. It allocates all memory when it is created, and none later. */
typedef struct skel_ik skel_ik;

/** Creates a solver. The caller destroys it. On failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_ik_create(const skel_ik_desc *desc, skel_ik **out, skel_error *err);
/** Destroys a solver. ik may be NULL. */
SKEL_API void skel_ik_destroy(skel_ik *ik);

/** Sets the target of goal number `goal`: position [m] and orientation (w x y z). If one of them is
    NULL, it keeps its value. */
SKEL_API skel_status skel_ik_set_target(skel_ik *ik, int32_t goal, const double position[3],
                                        const double orientation[4]);
/** Sets the weight of goal number `goal`; 0 disables the goal. */
SKEL_API skel_status skel_ik_set_weight(skel_ik *ik, int32_t goal, double weight);
/** Sets the poses of all bodies that do not hang on a joint: free roots, fixed bodies and driven
    bodies. They are read from `poses` (body_count x 7), which lists all bodies. NULL: the poses of
    the model. */
SKEL_API skel_status skel_ik_set_roots(skel_ik *ik, const double *poses);

/** The receipt of a solve. */
typedef struct skel_ik_receipt {
    uint32_t struct_size;  /**< sizeof this struct, as the caller was compiled */
    int32_t reached;       /**< 1 if residual <= tolerance, otherwise 0 */
    double residual;       /**< largest error of all goals and loops, [m] or [rad] */
    int32_t iterations;    /**< number of iterations of all descents */
    int32_t restarts;      /**< number of restarts from other seeds */
    int32_t active_limits; /**< number of joint limits that the result lies on */
    int32_t reserved;      /**< 0 */
    /** Smallest singular value of the Jacobian of all goals at the result. Its rows are in [m] and
        [rad] without weights, and all joints count as free. It is 0 if the Jacobian loses rank. */
    double smallest_singular_value;
    double us; /**< duration of the solve [1e-6 s] */
} skel_ik_receipt;

/** Solves for the joint coordinates. On entry q (q_count entries) is the seed, on return it is the
    result, which method DAMPED keeps within the limits. The function returns SKEL_OK even if the
    goals cannot be reached; the receipt shows whether they were. receipt and err may be NULL. */
SKEL_API skel_status skel_ik_solve(skel_ik *ik, double *q, skel_ik_receipt *receipt,
                                   skel_error *err);

/** Writes the poses of all bodies (body_count x 7) at the last result. */
SKEL_API skel_status skel_ik_get_poses(const skel_ik *ik, double *poses);
/** Writes the error of goal number `goal` at the last result: distance [m] and angle [rad]. Each of
    the two pointers may be NULL. */
SKEL_API skel_status skel_ik_get_residual(const skel_ik *ik, int32_t goal, double *distance,
                                          double *angle);
/** Writes one number for every joint velocity (dof entries): 1 if the last result lies on the limit
    of this joint, otherwise 0. A ball joint uses the first of its three entries. */
SKEL_API skel_status skel_ik_get_active(const skel_ik *ik, int32_t *active);

/* ---- Jacobian and closed solutions ------------------------------------------------------------*/

/** Writes the Jacobian (6 x dof, row-major) of a point of a body at the given poses
    (body_count x 7). It maps joint velocities to the velocity of the point (rows 0 to 2) and the
    angular velocity of the body (rows 3 to 5), both in world axes. The point is given in the axes
    of the body, from its centre of mass. The columns of loop joints are zero. The column of a mimic
    joint is zero too; its effect is added to the column of its source joint. Returns
    SKEL_E_ARGUMENT if an entry is not finite. */
SKEL_API skel_status skel_jacobian(const skel_model *model, const double *poses, int32_t body,
                                   const double point[3], double *jacobian);

/** Solves two bones in the plane [SIE 8.1.2]. `plus` and `minus` receive the two solutions, with
    the elbow on either side: the angle of the first bone from the x axis and the angle of the
    second bone from the first [rad]. Returns 1 if the tip reaches the target. Otherwise the bones
    are stretched or folded so that the tip comes as close as possible. */
SKEL_API int32_t skel_two_bone_plane(const double root[2], double length1, double length2,
                                     const double target[2], double plus[2], double minus[2]);

/** Describes two bones in space and their target. */
typedef struct skel_two_bone_desc {
    uint32_t struct_size; /**< sizeof this struct, as the caller was compiled */
    uint32_t flags;       /**< must be 0 */
    double root[3];       /**< start of the first bone [m] */
    double target[3];     /**< target of the tip [m] */
    double pole[3];       /**< the elbow bends towards this point [m] */
    double length1;       /**< length of the first bone [m] */
    double length2;       /**< length of the second bone [m] */
    /** Width of the zone below full extension in which the tip lags behind the target, from 0 to
        0.5, relative to length1 + length2. In this zone the bones stretch gradually, so the elbow
        does not snap. 0: no such zone. */
    double softness;
} skel_two_bone_desc;
/** The result for two bones. */
typedef struct skel_two_bone {
    uint32_t struct_size; /**< sizeof this struct, as the caller was compiled */
    int32_t reached;      /**< 1 if the tip is at the target; 0 inside the soft zone */
    double elbow[3];      /**< point at which the bones meet [m] */
    double tip[3];        /**< end of the second bone [m] */
    double bend;          /**< angle between the bones [rad]; 0 if they are straight */
} skel_two_bone;
/** Sets every field to its default. `size` is sizeof the struct, as the caller was compiled. */
SKEL_API void skel_two_bone_desc_init_sized(skel_two_bone_desc *desc, size_t size);
/** Sets every field to its default. */
#define skel_two_bone_desc_init(d) skel_two_bone_desc_init_sized((d), sizeof *(d))
/** Solves two bones in space. out->struct_size must be set before the call. */
SKEL_API skel_status skel_two_bone_solve(const skel_two_bone_desc *desc, skel_two_bone *out);

/** Creates the planar chain of [SIE 8.1.1] as a model. It has `count` links in the plane z = 0.
    Every link turns about z; the first is attached to the world at `root` [m]. The joint
    coordinates are the angles of the lecture. The frame of a body lies in the middle of its link,
    with x along the link. */
SKEL_API skel_status skel_model_create_planar(const double root[2], const double *lengths,
                                              uint32_t count, skel_model **out, skel_error *err);

/* ---- motions ----------------------------------------------------------------------------------*/

/* A motion is a sequence of samples that are solved together.

   In mode TRACK, every sample continues from the sample before. That fails if the targets can still
   be reached but the present branch of solutions ends, or if a joint would have to jump. The motion
   then searches for other solutions around this sample and changes to one of them gradually. If no
   gradual change exists, the joints jump once, and the jump is reported. If no pose reaches a
   target, the sample stays as close to it as possible. The same input gives the same motion.

   A single skel_ik_solve does not know the later targets and therefore cannot do this. */

/** The first sample of a motion in mode TRACK. */
enum {
    SKEL_IK_START_FREE = 0, /**< the first sample may change if this avoids a jump later */
    SKEL_IK_START_HELD = 1  /**< the first sample keeps the pose that the seed leads to */
};

/** Targets of one goal over time. Every count is 0 (the goal's own value is used), 1 (the value is
    constant) or the number of samples. The arrays must exist as long as the motion. */
typedef struct skel_goal_track {
    const double *positions;    /**< target positions (position_count x 3) [m] */
    const double *orientations; /**< target orientations (orientation_count x 4), w x y z */
    const double *weights;      /**< weights (weight_count) */
    uint32_t position_count;    /**< number of positions */
    uint32_t orientation_count; /**< number of orientations */
    uint32_t weight_count;      /**< number of weights */
    uint32_t reserved;          /**< must be 0 */
} skel_goal_track;

/** Describes a motion. */
typedef struct skel_ik_motion_desc {
    uint32_t struct_size;   /**< sizeof this struct, as the caller was compiled */
    uint32_t sample_count;  /**< number of samples */
    const skel_ik_desc *ik; /**< the solver; read during the call; its max_step is per sample */
    /** Targets over time, one track per goal. They must exist as long as the motion. NULL: all
        targets are constant. */
    const skel_goal_track *tracks;
    double sample_rate; /**< samples per second, default 24; sample k is at time k / sample_rate */
    const double *seed; /**< seed of the first sample (q_count); NULL: the pose of the model */
    /** The animation that the goals modify, as joint coordinates (sample_count x q_count). Blending
        starts and ends with it. In mode POSE it is the seed of every sample. In mode TRACK, a
        sample starts from the result of the sample before, to which the change of the animation is
        added. NULL: the seed at all samples. */
    const double *base;
    uint32_t blend_in;               /**< number of samples to blend from the base to the result */
    uint32_t blend_out;              /**< number of samples to blend back to the base at the end */
    const skel_allocator *allocator; /**< copied; NULL: the allocator of the model */
    /** Poses of all bodies in the animation (sample_count x body_count x 7). Only the poses of
        roots are used. NULL: the roots stay as in the model. */
    const double *base_poses;
    /** 1: the preferred posture of a sample is its base; 0: the posture of `ik`. */
    uint32_t base_posture;
    uint32_t start; /**< SKEL_IK_START_FREE (default) or SKEL_IK_START_HELD */
    /** 1: a sample does not depend on later samples, as with skel_ik_solve, and the motion does not
        search for other solutions. Default 0. */
    uint32_t causal;
    uint32_t reserved; /**< must be 0 */
} skel_ik_motion_desc;
/** Sets every field to its default. `size` is sizeof the struct, as the caller was compiled. */
SKEL_API void skel_ik_motion_desc_init_sized(skel_ik_motion_desc *desc, size_t size);
/** Sets every field to its default. */
#define skel_ik_motion_desc_init(d) skel_ik_motion_desc_init_sized((d), sizeof *(d))

/** A motion, which is solved step by step. */
typedef struct skel_ik_motion skel_ik_motion;

/** Prepares a motion. Driven bodies follow their curves. The caller destroys the motion. On failure
    *out is NULL. err may be NULL. */
SKEL_API skel_status skel_ik_motion_start(const skel_ik_motion_desc *desc, skel_ik_motion **out,
                                          skel_error *err);
/** Destroys a motion. motion may be NULL. */
SKEL_API void skel_ik_motion_destroy(skel_ik_motion *motion);
/** Continues to solve for about max_ms milliseconds. 0: a single solve. Negative: until the end.
    Returns SKEL_MORE if work remains, and SKEL_OK if the motion is complete. In mode TRACK, samples
    that are already solved may change until the motion is complete. */
SKEL_API skel_status skel_ik_motion_advance(skel_ik_motion *motion, double max_ms);
/** Returns the part of the work that is done, from 0 to 1. */
SKEL_API double skel_ik_motion_progress(const skel_ik_motion *motion);
/** Returns the number of samples that are solved. */
SKEL_API int32_t skel_ik_motion_samples_done(const skel_ik_motion *motion);
/** Returns the number of all samples. */
SKEL_API int32_t skel_ik_motion_sample_count(const skel_ik_motion *motion);
/** Returns the poses of all bodies (sample_count x body_count x 7), owned by the motion. */
SKEL_API const double *skel_ik_motion_poses(const skel_ik_motion *motion);
/** Returns the joint coordinates (sample_count x q_count), owned by the motion. */
SKEL_API const double *skel_ik_motion_q(const skel_ik_motion *motion);
/** Returns the receipts (sample_count), owned by the motion. They describe the poses after
    blending. */
SKEL_API const skel_ik_receipt *skel_ik_motion_receipts(const skel_ik_motion *motion);
/** Returns the errors of the goals (sample_count x goal_count x 2): distance [m] and angle [rad].
    The array is owned by the motion. */
SKEL_API const double *skel_ik_motion_residuals(const skel_ik_motion *motion);

/** A jump: a joint moves farther from one sample to the next than mode TRACK intends. The bound is
    0.15 rad, or 0.15 times the length of the chain for lengths; the angle of a screw may grow until
    its displacement has that length, at most 150 rad. If the targets move farther than that, the
    bound is their motion. */
typedef struct skel_ik_jump {
    uint32_t struct_size; /**< sizeof this struct, as the caller was compiled */
    int32_t sample;       /**< index of the sample after the jump */
    int32_t joint;        /**< joint that jumps farthest; SKEL_WORLD: a free root */
    int32_t is_length;    /**< 1 if `size` is a distance [m], 0 if it is an angle [rad] */
    double size;          /**< size of the jump, without the motion of the base */
} skel_ik_jump;
/** Returns the number of jumps. It is valid once the motion is complete. */
SKEL_API int32_t skel_ik_motion_jump_count(const skel_ik_motion *motion);
/** Writes jump number `index`, in the order of the samples. out->struct_size must be set before the
    call. */
SKEL_API skel_status skel_ik_motion_get_jump(const skel_ik_motion *motion, int32_t index,
                                             skel_ik_jump *out);
/** Writes how far the first sample was moved away from the pose that the seed leads to. The size is
    0 if it was not moved. out->struct_size must be set before the call. */
SKEL_API skel_status skel_ik_motion_get_start(const skel_ik_motion *motion, skel_ik_jump *out);
/** Returns the number of samples that were not solved from the sample before, but by a search for
    other solutions. */
SKEL_API int32_t skel_ik_motion_repaired_count(const skel_ik_motion *motion);

#ifdef __cplusplus
}
#endif
#endif
