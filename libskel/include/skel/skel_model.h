/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   The model: a forest of rigid bodies linked by joints, each joint two frames, the outer fixed in
   the parent and the inner fixed in the child (paired joint coordinates [ERL]).
   SI units, radians, right-handed, z up; quaternions w x y z, body to world. */
#ifndef SKEL_MODEL_H
#define SKEL_MODEL_H

#include <skel/skel_world.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Joint types, with their number of coordinates q and of velocities (dof). The z axis of the outer
   frame is the axis of motion. q is zero (ball: 1 0 0 0) where the two frames coincide. */
enum {
    SKEL_JOINT_FIXED = 0,     /**< 0, 0 */
    SKEL_JOINT_HINGE = 1,     /**< 1, 1: turn about z */
    SKEL_JOINT_SLIDE = 2,     /**< 1, 1: shift along z */
    SKEL_JOINT_UNIVERSAL = 3, /**< 2, 2: turn about the outer z, then about the inner x */
    /** 4, 3: unit quaternion inner to outer; rate: relative angular velocity in inner axes */
    SKEL_JOINT_BALL = 4
};

/** What a coordinate of a joint measures. */
enum {
    SKEL_COORDINATE_ANGLE = 0,     /**< an angle [rad] */
    SKEL_COORDINATE_LENGTH = 1,    /**< a length [m] */
    SKEL_COORDINATE_QUATERNION = 2 /**< a component of a unit quaternion */
};

/** Properties of a joint type. */
typedef struct skel_joint_kind {
    uint32_t struct_size;     /**< sizeof of this struct as the caller saw it */
    int32_t q_count;          /**< number of coordinates */
    int32_t dof;              /**< number of velocities */
    int32_t row_count;        /**< number of constraint rows, 6 - dof */
    int32_t q_kind[4];        /**< SKEL_COORDINATE_* of each coordinate */
    int32_t dof_kind[3];      /**< SKEL_COORDINATE_* that each velocity is a rate of */
    int32_t has_axis;         /**< 1: one coordinate; motor, spring, muscle and mimic act on it */
    int32_t is_through_point; /**< 1: the joint points of parent and child coincide */
    int32_t limit_count;      /**< number of coordinates that limits apply to, at most 2 */
    const char *name;         /**< name in documents; static */
} skel_joint_kind;

/** How a body moves. */
enum {
    SKEL_MOTION_DYNAMIC = 0, /**< moved by forces */
    SKEL_MOTION_FIXED = 1,   /**< stays where it is */
    SKEL_MOTION_DRIVEN = 2   /**< follows position_curve and orientation_curve */
};

/** Shapes: long axis z; size[] as noted. */
enum {
    SKEL_SHAPE_NONE = 0,     /**< no shape */
    SKEL_SHAPE_SPHERE = 1,   /**< radius */
    SKEL_SHAPE_BOX = 2,      /**< x, y, z (full edge lengths) */
    SKEL_SHAPE_CYLINDER = 3, /**< length, radius */
    SKEL_SHAPE_CAPSULE = 4,  /**< length between the centres of the two caps, radius */
    SKEL_SHAPE_ROD = 5       /**< length, radius; thin: m l^2 / 12 across, m r^2 / 2 along */
};

/** Which bodies a body may touch with its shape. Bodies that a joint links never touch, nor do
   pairs that overlap at the start. A positive number is a group: everything but its own group. */
enum {
    SKEL_COLLIDE_OTHERS = 0, /**< bodies of other skeletons, fixed and driven ones among them */
    SKEL_COLLIDE_ALL = -1,   /**< those of its own skeleton too */
    SKEL_COLLIDE_NONE = -2   /**< no body; grounds it touches all the same */
};

/** Flags of bodies and joints. */
enum {
    SKEL_FLAG_SMOOTH = 1 /**< the curves of loads and motors are smooth (cubic) between samples */
};

/** A rigid body. */
typedef struct skel_body_desc {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    int32_t motion;       /**< SKEL_MOTION_* */
    const char *name;     /**< copied; must be unique and not "world" */
    /** [kg]; 0: not given, the body is only good for kinematics */
    double mass;
    double inertia[6];          /**< xx yy zz xy xz yz, about the centre of mass, body axes */
    double position[3];         /**< centre of mass in the world */
    double orientation[4];      /**< w x y z, body to world */
    double velocity[3];         /**< world */
    double angular_velocity[3]; /**< body axes */
    double force[3];            /**< world, at the centre of mass */
    double torque[3];           /**< world axes, about the centre of mass */
    skel_curve force_curve;     /**< width 3; added to force */
    skel_curve torque_curve;    /**< width 3; added to torque */
    /** width 3; driven bodies, and dynamic ones that start on it */
    skel_curve position_curve;
    skel_curve orientation_curve; /**< width 4; likewise */
    double size[3];               /**< of the shape */
    /** SKEL_SHAPE_*: geometry only, inertia is not taken from it */
    int32_t shape;
    int32_t unplaced; /**< 1: position and orientation follow from the joint q */
    /** pinned_count x 2, from..to [s]: while it lasts, a dynamic body is held where it was, or
        along its curves if it has them */
    const double *pinned;
    uint32_t pinned_count; /**< number of rows of pinned */
    uint32_t flags;        /**< SKEL_FLAG_SMOOTH: force_curve and torque_curve */
    /** contact_count x 3, body axes from the centre: points that touch grounds, beside the shape
        (heel, toe) */
    const double *contacts;
    uint32_t contact_count; /**< number of rows of contacts */
    int32_t collide;        /**< SKEL_COLLIDE_* or a group > 0 */
} skel_body_desc;

/** Limits of a joint's coordinates. Hinge and slide: low[0] to high[0]. Universal: one pair per
    coordinate. Ball: the cone's half angle high[0], and the twist low[1] to high[1] about `axis`.
    At a limit the joint has a hard stop, or, if law_range > 0, the limiting torque of [RUD 4.2]
      (1 + law_d u) / (law_a s^law_b + law_c)
    within the distance s = law_range of the limit, u being the speed toward it. On a slide the law
    gives a force. */
typedef struct skel_joint_limits {
    int32_t is_set;     /**< 0: the joint has no limits */
    int32_t reserved;   /**< 0 */
    double low[2];      /**< [rad] or [m] */
    double high[2];     /**< [rad] or [m] */
    double axis[3];     /**< ball only: unit vector in the inner frame; default z */
    double restitution; /**< of the hard stop, 0 to 1; default 0 */
    double law_a;       /**< a of the limiting torque */
    double law_b;       /**< b of the limiting torque, an exponent */
    double law_c;       /**< c of the limiting torque */
    double law_d;       /**< d of the limiting torque [s/rad] or [s/m] */
    double law_range;   /**< distance at which the torque begins [rad] or [m]; 0: a hard stop */
} skel_joint_limits;

/** A spring toward an animation. Its stiffness follows from the inertia of everything that hangs
    from the joint, so that all joints swing with the given frequency. */
typedef struct skel_joint_follow {
    double frequency;  /**< [Hz]; 0: no spring */
    double damping;    /**< ratio, 1 is critical; default 1 */
    double max;        /**< largest torque [N m] or force [N]; 0: unlimited */
    skel_curve target; /**< q over time, as wide as the joint's q; none: the zero of the joint */
    skel_curve weight; /**< factor 0 to 1 over time, width 1; none: 1 */
} skel_joint_follow;

/** A spring and damper along q, hinge and slide only: -stiffness (q - rest) - damping q'. */
typedef struct skel_joint_spring {
    double stiffness; /**< [N m/rad] or [N/m] */
    double damping;   /**< [N m s/rad] or [N s/m] */
    double rest;      /**< q at rest [rad] or [m] */
} skel_joint_spring;

/** A muscle, hinge and slide only [RUD 4.8-4.10]: a torque Q >= 0 along q (side 1) or against it
    (side -1), which grows while the muscle is stretched and shrinks while it shortens:
      Q' = -growth p' (1 - Q / max) (1 + feedback (z' / impact_speed - 1)),   p = side q,
    z' being the speed of the centre of mass against gravity, `delay` seconds ago. */
typedef struct skel_joint_muscle {
    double growth;       /**< c [N m/rad]; 0: no muscle */
    double max;          /**< largest torque [N m], > 0 */
    double start;        /**< torque at time 0 [N m] */
    double feedback;     /**< weight of the centre of mass's speed; 0: none */
    double impact_speed; /**< z' at the impact [m/s]; 0: its value at the first ground contact */
    double delay;        /**< [s]; default 0.1 */
    int32_t side;        /**< 1 or -1; default 1 */
    int32_t reserved;    /**< 0 */
} skel_joint_muscle;

/** A mimic joint, hinge and slide only: q = multiplier q_source + offset. skel_fk,
    skel_state_set_q, skel_jacobian and IK compute q from the source joint, whatever q the caller
    gives. Dynamics has no such constraint: there the joint moves on its own. */
typedef struct skel_joint_mimic {
    int32_t source;    /**< index of the source joint; -1: not a mimic joint (default) */
    int32_t reserved;  /**< 0 */
    double multiplier; /**< default 1 */
    double offset;     /**< [rad] or [m]; default 0 */
} skel_joint_mimic;

/** A joint between two bodies, or between a body and the world. */
typedef struct skel_joint_desc {
    uint32_t struct_size;         /**< sizeof of this struct as the caller saw it */
    int32_t type;                 /**< SKEL_JOINT_* */
    const char *name;             /**< copied; must be unique */
    int32_t parent;               /**< body index or SKEL_WORLD */
    int32_t child;                /**< likewise; at most one of the two is the world */
    double parent_position[3];    /**< outer frame, parent's axes, from its centre of mass */
    double parent_orientation[4]; /**< outer frame to parent */
    double child_position[3];     /**< inner frame, child's axes, from its centre of mass */
    double child_orientation[4];  /**< inner frame to child */
    double q[4];              /**< places an unplaced body; all zero is the zero of every type */
    double friction;          /**< viscous, >= 0: [N m s/rad], on a slide [N s/m] */
    double motor;             /**< beta [N m] or [N]: acts on the parent about +z and on the child
                               about -z [HAK e_j]; hinge and slide only */
    skel_curve motor_curve;   /**< width 1; added to motor */
    int32_t flags;            /**< SKEL_FLAG_SMOOTH: motor_curve */
    int32_t reserved;         /**< 0 */
    skel_joint_limits limits; /**< limits of the coordinates */
    skel_joint_follow follow; /**< spring toward an animation */
    skel_joint_spring spring; /**< spring along q */
    skel_joint_muscle muscle; /**< muscle along q */
    skel_joint_mimic mimic;   /**< coupling to another joint, in kinematics only */
} skel_joint_desc;

/** All that a model is made of. */
typedef struct skel_model_desc {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    uint32_t body_count;  /**< number of bodies */
    /** borrowed until the call returns, like all it points to */
    const skel_body_desc *bodies;
    uint32_t body_stride;            /**< sizeof(skel_body_desc) as the caller saw it */
    uint32_t joint_count;            /**< number of joints */
    const skel_joint_desc *joints;   /**< borrowed, like bodies */
    uint32_t joint_stride;           /**< sizeof(skel_joint_desc) as the caller saw it */
    uint32_t flags;                  /**< 0 */
    double gravity[3];               /**< [m/s^2], default 0 0 -9.81 */
    const skel_allocator *allocator; /**< copied; NULL means malloc and free */
    const skel_ground_desc *grounds; /**< borrowed, like bodies */
    uint32_t ground_stride;          /**< sizeof(skel_ground_desc) as the caller saw it */
    uint32_t ground_count;           /**< number of grounds */
    const skel_wobble_desc *wobbles; /**< borrowed, like bodies */
    uint32_t wobble_stride;          /**< sizeof(skel_wobble_desc), likewise */
    uint32_t wobble_count;           /**< number of wobbling masses */
    const skel_field_desc *fields;   /**< borrowed, like bodies */
    uint32_t field_stride;           /**< sizeof(skel_field_desc), likewise */
    uint32_t field_count;            /**< number of fields */
    /** The world's axes are those of a frame that turns and accelerates [RUD 3.13]: constants, and
       curves of width 3 that are added to them; in the frame's own axes, about its origin. */
    double frame_spin[3];                /**< [rad/s] */
    double frame_acceleration[3];        /**< of the origin [m/s^2] */
    skel_curve frame_spin_curve;         /**< width 3; added to frame_spin */
    skel_curve frame_acceleration_curve; /**< width 3; added to frame_acceleration */
} skel_model_desc;

/** Defaults for a desc of the size the caller was compiled with. */
SKEL_API void skel_model_desc_init_sized(skel_model_desc *desc, size_t size);
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_body_desc_init_sized(skel_body_desc *desc, size_t size);
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_joint_desc_init_sized(skel_joint_desc *desc, size_t size);
/** The same with the caller's own size. */
#define skel_model_desc_init(d) skel_model_desc_init_sized((d), sizeof *(d))
/** The same with the caller's own size. */
#define skel_body_desc_init(d) skel_body_desc_init_sized((d), sizeof *(d))
/** The same with the caller's own size. */
#define skel_joint_desc_init(d) skel_joint_desc_init_sized((d), sizeof *(d))

/** Inertia (xx yy zz xy xz yz about the centre) of an even solid; size as at SKEL_SHAPE_*. */
SKEL_API skel_status skel_shape_inertia(int32_t shape, const double size[3], double mass,
                                        double inertia[6]);

/** Properties of the joint type SKEL_JOINT_*. Set struct_size. SKEL_E_ARGUMENT: no such type. */
SKEL_API skel_status skel_joint_kind_get(int32_t type, skel_joint_kind *out);

/** Immutable after creation; share it between threads without locks. */
typedef struct skel_model skel_model;

/** On success *out is owned by the caller; on failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_model_create(const skel_model_desc *desc, skel_model **out,
                                       skel_error *err);
SKEL_API void skel_model_destroy(skel_model *model); /**< NULL is fine */

/** Number of bodies. */
SKEL_API int32_t skel_model_body_count(const skel_model *model);
/** Number of joints. */
SKEL_API int32_t skel_model_joint_count(const skel_model *model);
/** Number of joint coordinates q, in the order of the joints (ball: 4 numbers). */
SKEL_API int32_t skel_model_q_count(const skel_model *model);
/** Number of joint velocities, in the order of the joints (ball: 3). Free roots add none. */
SKEL_API int32_t skel_model_dof(const skel_model *model);
/** Index of the body or joint of that name; SKEL_WORLD for "world"; -2 where there is none. */
SKEL_API int32_t skel_model_find_body(const skel_model *model, const char *name);
/** Index of the joint of that name; -2 where there is none. */
SKEL_API int32_t skel_model_find_joint(const skel_model *model, const char *name);
/** Owned by the model; NULL where the index is out of range. */
SKEL_API const char *skel_model_body_name(const skel_model *model, int32_t body);
/** Owned by the model; NULL where the index is out of range. */
SKEL_API const char *skel_model_joint_name(const skel_model *model, int32_t joint);
/** Place of the joint's first number in q and in the velocities; -1 where out of range. */
SKEL_API int32_t skel_model_joint_q_offset(const skel_model *model, int32_t joint);
/** Place of the joint's first number in the velocities; -1 where out of range. */
SKEL_API int32_t skel_model_joint_dof_offset(const skel_model *model, int32_t joint);
/** The joint that this one goes with in the end, where that one goes with none itself: q of the
    joint = *multiplier q of the leader + *offset (either may be NULL). -1: it goes with none. */
SKEL_API int32_t skel_model_mimic_source(const skel_model *model, int32_t joint, double *multiplier,
                                         double *offset);
/** Number of joints that go with another. */
SKEL_API int32_t skel_model_mimic_count(const skel_model *model);
/** Gives every joint of q that goes with another the coordinate it must have. */
SKEL_API skel_status skel_model_apply_mimic(const skel_model *model, double *q);
/** Gravity of the desc [m/s^2]. */
SKEL_API void skel_model_get_gravity(const skel_model *model, double gravity[3]);
/** What the model was made of, every body placed; pointers stay the model's. Set struct_size. */
SKEL_API skel_status skel_model_get_body(const skel_model *model, int32_t body,
                                         skel_body_desc *out);
/** As skel_model_get_body. */
SKEL_API skel_status skel_model_get_joint(const skel_model *model, int32_t joint,
                                          skel_joint_desc *out);
/** Number of grounds. */
SKEL_API int32_t skel_model_ground_count(const skel_model *model);
/** Number of wobbling masses. */
SKEL_API int32_t skel_model_wobble_count(const skel_model *model);
/** Number of fields. */
SKEL_API int32_t skel_model_field_count(const skel_model *model);
/** As skel_model_get_body. */
SKEL_API skel_status skel_model_get_ground(const skel_model *model, int32_t ground,
                                           skel_ground_desc *out);
/** As skel_model_get_body. */
SKEL_API skel_status skel_model_get_wobble(const skel_model *model, int32_t wobble,
                                           skel_wobble_desc *out);
/** As skel_model_get_body. */
SKEL_API skel_status skel_model_get_field(const skel_model *model, int32_t field,
                                          skel_field_desc *out);
/** The frame of reference of the model's desc; any of the four may be NULL. */
SKEL_API skel_status skel_model_get_frame(const skel_model *model, double spin[3],
                                          double acceleration[3], skel_curve *spin_curve,
                                          skel_curve *acceleration_curve);
/** SKEL_OK where every dynamic body has mass; else SKEL_E_MASS, and err names the body. */
SKEL_API skel_status skel_model_check_dynamics(const skel_model *model, skel_error *err);

#ifdef __cplusplus
}
#endif
#endif
