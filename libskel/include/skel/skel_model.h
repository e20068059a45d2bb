/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   The model: rigid bodies linked by joints. A joint has two frames: the outer frame is fixed in the
   parent and the inner frame in the child (paired joint coordinates [ERL]). A body's frame lies
   in its centre of mass. SI units, radians, right-handed, z up; quaternions are w x y z. */
#ifndef SKEL_MODEL_H
#define SKEL_MODEL_H

#include <skel/skel_world.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Joint types. The z axis of the outer frame is the axis of motion. If the two frames coincide, q
    is zero (ball: 1 0 0 0). skel_joint_kind_get lists the properties of a type. */
enum {
    SKEL_JOINT_FIXED = 0,     /**< no coordinate: the two frames coincide */
    SKEL_JOINT_HINGE = 1,     /**< 1 coordinate: angle about z [rad] */
    SKEL_JOINT_SLIDE = 2,     /**< 1 coordinate: displacement along z [m] */
    SKEL_JOINT_UNIVERSAL = 3, /**< 2 coordinates: angles about the outer z and the inner x [rad] */
    /** 4 coordinates: unit quaternion from inner to outer; 3 velocities: angular velocity of the
        inner relative to the outer frame, in inner axes [rad/s] */
    SKEL_JOINT_BALL = 4,
    /** 3 coordinates: displacements along the outer x and y [m], and the angle about z [rad]. The
        friction coefficient counts for all three, [N s/m] and [N m s/rad]; limits are those of the
        displacements */
    SKEL_JOINT_PLANAR = 5,
    /** 1 coordinate: angle about z [rad], over any number of turns. The child also moves along z,
        by `pitch` times the angle */
    SKEL_JOINT_SCREW = 6
};

/** Kinds of joint coordinates. */
enum {
    SKEL_COORDINATE_ANGLE = 0,     /**< an angle [rad] */
    SKEL_COORDINATE_LENGTH = 1,    /**< a length [m] */
    SKEL_COORDINATE_QUATERNION = 2 /**< a component of a unit quaternion */
};

/** Properties of a joint type. */
typedef struct skel_joint_kind {
    uint32_t struct_size;     /**< sizeof this struct in the caller */
    int32_t q_count;          /**< number of coordinates */
    int32_t dof;              /**< number of velocities */
    int32_t row_count;        /**< number of constraint rows, 6 - dof */
    int32_t q_kind[4];        /**< SKEL_COORDINATE_* of each coordinate */
    int32_t dof_kind[3];      /**< SKEL_COORDINATE_ANGLE (rate in rad/s) or _LENGTH (m/s) */
    int32_t dof_axis[3];      /**< axis of each velocity: 0 x, 1 y, 2 z ... */
    int32_t dof_is_inner[3];  /**< ... of the outer (0) or the inner (1) frame */
    int32_t has_axis;         /**< 1: it has one coordinate; motor, spring, muscle and mimic
                                   are possible */
    int32_t is_through_point; /**< 1: the origins of outer and inner frame coincide */
    int32_t limit_count;      /**< number of pairs in skel_joint_limits that are used, at most 2 */
    const char *name;         /**< name in documents, as "hinge"; static */
} skel_joint_kind;

/** How a body moves. */
enum {
    SKEL_MOTION_DYNAMIC = 0, /**< forces move the body */
    SKEL_MOTION_FIXED = 1,   /**< the body does not move */
    SKEL_MOTION_DRIVEN = 2   /**< the body follows position_curve and orientation_curve */
};

/** Shapes, centred at the centre of mass, with the long axis along z of the body. The numbers of
    size[] are listed in order [m]. */
enum {
    SKEL_SHAPE_NONE = 0,     /**< no shape */
    SKEL_SHAPE_SPHERE = 1,   /**< radius */
    SKEL_SHAPE_BOX = 2,      /**< x, y, z (full edge lengths) */
    SKEL_SHAPE_CYLINDER = 3, /**< length along z, radius */
    SKEL_SHAPE_CAPSULE = 4,  /**< length between the centres of the two caps, radius */
    SKEL_SHAPE_ROD = 5       /**< length, radius; inertia of a thin rod: m l^2 / 12 about x
                                  and y, m r^2 / 2 about z */
};

/** Bodies that a body collides with. A positive number is a group: the body collides like
    SKEL_COLLIDE_ALL, but not with bodies of the same group. Two bodies of one skeleton collide only
    if neither has SKEL_COLLIDE_OTHERS. Bodies that a joint or a wobbling mass links never collide,
    nor do shapes that overlap at the initial pose. */
enum {
    SKEL_COLLIDE_OTHERS = 0, /**< bodies of other skeletons, also fixed and driven ones */
    SKEL_COLLIDE_ALL = -1,   /**< also bodies of its own skeleton */
    SKEL_COLLIDE_NONE = -2   /**< no bodies; it still touches grounds */
};

/** Flags of bodies and joints. */
enum {
    SKEL_FLAG_SMOOTH = 1 /**< force, torque or motor curves are cubic between samples, not linear */
};

/** A rigid body. Its frame lies in the centre of mass. */
typedef struct skel_body_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t motion;       /**< SKEL_MOTION_*, default DYNAMIC */
    const char *name;     /**< copied; unique and not "world"; NULL: "body " and its index */
    double mass;          /**< [kg]; 0 (default): unknown, the body serves for kinematics only */
    /** xx yy zz xy xz yz about the centre of mass, in body axes [kg m^2] */
    double inertia[6];
    double position[3];         /**< centre of mass in the world [m] */
    double orientation[4];      /**< w x y z from body to world; default 1 0 0 0 */
    double velocity[3];         /**< of the centre of mass, world axes [m/s] */
    double angular_velocity[3]; /**< body axes [rad/s] */
    double force[3];            /**< constant load at the centre of mass, world axes [N] */
    double torque[3];           /**< constant load, world axes [N m] */
    skel_curve force_curve;     /**< width 3 [N], added to force */
    skel_curve torque_curve;    /**< width 3 [N m], added to torque */
    /** width 3 [m]: path of a driven body, or of a dynamic body while it is pinned. A dynamic body
        with curves starts with their pose and velocity at time 0 */
    skel_curve position_curve;
    skel_curve orientation_curve; /**< width 4, unit quaternions; see position_curve */
    double size[3];               /**< size of the shape [m], see SKEL_SHAPE_* */
    /** SKEL_SHAPE_* for contact and drag; mass and inertia do not follow from it */
    int32_t shape;
    int32_t unplaced; /**< 1: position and orientation are computed from q of the joints */
    /** pinned_count x 2 times, from and to [s], increasing. A dynamic body is held in these
        intervals: on its curves, or, without curves, at the pose it has when the pin closes */
    const double *pinned;
    uint32_t pinned_count; /**< number of intervals; 0: pinned may be NULL */
    uint32_t flags;        /**< SKEL_FLAG_SMOOTH: force_curve and torque_curve are cubic */
    /** contact_count x 3, body frame [m]: contact points beside the shape, as heel and toe. They
        touch grounds and boxes */
    const double *contacts;
    uint32_t contact_count; /**< number of contact points; 0: contacts may be NULL */
    int32_t collide;        /**< SKEL_COLLIDE_* or a group > 0; default OTHERS */
} skel_body_desc;

/** Limits of a joint's coordinates. Hinge, slide, screw: low[0] to high[0]. Universal: one pair per
    coordinate. Planar: one pair for x and one for y. Ball: the cone's half angle high[0], and the
    twist low[1] to high[1] about `axis`.
    At a limit the joint has a hard stop, or, if law_range > 0, the limiting torque of [RUD 4.2]
      (1 + law_d u) / (law_a s^law_b + law_c)
    if the distance s to the limit is below law_range, where u is the speed toward the limit. On a
    slide the law gives a force. */
typedef struct skel_joint_limits {
    int32_t is_set;     /**< 1: the limits act; 0 (default): there are none */
    int32_t reserved;   /**< 0 */
    double low[2];      /**< [rad] or [m] */
    double high[2];     /**< [rad] or [m] */
    double axis[3];     /**< ball only: unit vector in the inner frame; default 0 0 1 */
    double restitution; /**< restitution of the hard stop, 0 to 1; default 0 */
    double law_a;       /**< a of the limiting torque */
    double law_b;       /**< b of the limiting torque, an exponent */
    double law_c;       /**< c of the limiting torque */
    double law_d;       /**< d of the limiting torque [s/rad] or [s/m] */
    double law_range;   /**< distance at which the torque begins [rad] or [m]; 0: hard stop */
} skel_joint_limits;

/** A spring toward an animation. Its stiffness follows from the inertia of everything that hangs
    from the joint, so that all joints swing with the given frequency. */
typedef struct skel_joint_follow {
    double frequency;  /**< natural frequency [Hz]; 0 (default): no spring */
    double damping;    /**< damping ratio; 1 (default) is critical */
    double max;        /**< largest torque [N m] or force [N]; 0 (default): no bound */
    skel_curve target; /**< q over time, with the joint's number of coordinates; none: q = 0
                            (ball: 1 0 0 0) */
    skel_curve weight; /**< factor 0 to 1 of the spring over time, width 1; none: 1 */
} skel_joint_follow;

/** A spring and damper along q, joints with one coordinate only: the torque (slide: force) is
    -stiffness (q - rest) - damping q'. */
typedef struct skel_joint_spring {
    double stiffness; /**< [N m/rad] or [N/m] */
    double damping;   /**< [N m s/rad] or [N s/m] */
    double rest;      /**< q at which the spring is relaxed [rad] or [m] */
} skel_joint_spring;

/** A muscle, joints with one coordinate only [RUD 4.8-4.10]: a torque Q >= 0 along q (side 1) or
    against it (side -1), which grows while the muscle is stretched and shrinks while it shortens:
      Q' = -growth p' (1 - Q / max) (1 + feedback (z' / impact_speed - 1)),   p = side q,
    where z' is the velocity of the skeleton's centre of mass against gravity `delay` seconds ago.
    On a slide Q is a force, with [N] and [m] instead of [N m] and [rad]. */
typedef struct skel_joint_muscle {
    double growth;       /**< [N m/rad]; 0 (default): no muscle */
    double max;          /**< largest torque [N m], > 0 */
    double start;        /**< torque at time 0 [N m] */
    double feedback;     /**< weight of z'; 0 (default): no feedback */
    double impact_speed; /**< reference of z' [m/s]; 0 (default): z' at the first ground contact */
    double delay;        /**< reaction time [s]; default 0.1 */
    int32_t side;        /**< 1 or -1; default 1 */
    int32_t reserved;    /**< 0 */
} skel_joint_muscle;

/** A mimic joint, joints with one coordinate only: q = multiplier q_source + offset. skel_fk,
    skel_state_set_q, skel_jacobian and inverse kinematics compute q of the joint from its source
    joint and ignore the value that the caller gives. Dynamics does not have this constraint: there
    the joint moves freely. */
typedef struct skel_joint_mimic {
    int32_t source;    /**< index of the source joint; -1: not a mimic joint (default) */
    int32_t reserved;  /**< 0 */
    double multiplier; /**< default 1 */
    double offset;     /**< [rad] or [m]; default 0 */
} skel_joint_mimic;

/** A joint between two bodies, or between a body and the world. */
typedef struct skel_joint_desc {
    uint32_t struct_size;         /**< sizeof this struct in the caller */
    int32_t type;                 /**< SKEL_JOINT_* */
    const char *name;             /**< copied; unique; NULL: "joint " and its index */
    int32_t parent;               /**< body index, or SKEL_WORLD (default) */
    int32_t child;                /**< body index; SKEL_WORLD if parent is a body */
    double parent_position[3];    /**< origin of the outer frame, in the parent's frame [m] */
    double parent_orientation[4]; /**< w x y z from outer frame to parent; default 1 0 0 0 */
    double child_position[3];     /**< origin of the inner frame, in the child's frame [m] */
    double child_orientation[4];  /**< w x y z from inner frame to child; default 1 0 0 0 */
    /** Joint coordinates at the initial pose, used if a body is `unplaced`. Four zeros (default)
        mean no displacement for every type, also for a ball */
    double q[4];
    double pitch;    /**< screw only: displacement along z per angle [m/rad], not 0 */
    double friction; /**< viscous, >= 0 [N m s/rad], on a slide [N s/m] */
    /** beta [N m] or [N], joints with one coordinate only: the torque acts on the parent about +z
        and on the child about -z [HAK e_j] */
    double motor;
    skel_curve motor_curve;   /**< width 1 [N m] or [N], added to motor */
    int32_t flags;            /**< SKEL_FLAG_SMOOTH: motor_curve is cubic */
    int32_t reserved;         /**< 0 */
    skel_joint_limits limits; /**< limits of the coordinates */
    skel_joint_follow follow; /**< spring toward an animation */
    skel_joint_spring spring; /**< spring along q */
    skel_joint_muscle muscle; /**< muscle along q */
    skel_joint_mimic mimic;   /**< coupling to another joint, in kinematics only */
} skel_joint_desc;

/** Contents of a model. All arrays are borrowed until skel_model_create returns; an array may be
    NULL if its count is 0. */
typedef struct skel_model_desc {
    uint32_t struct_size;            /**< sizeof this struct in the caller */
    uint32_t body_count;             /**< number of bodies */
    const skel_body_desc *bodies;    /**< body_count elements */
    uint32_t body_stride;            /**< sizeof(skel_body_desc) in the caller */
    uint32_t joint_count;            /**< number of joints */
    const skel_joint_desc *joints;   /**< joint_count elements */
    uint32_t joint_stride;           /**< sizeof(skel_joint_desc) in the caller */
    uint32_t flags;                  /**< 0 */
    double gravity[3];               /**< [m/s^2], default 0 0 -9.81 */
    const skel_allocator *allocator; /**< copied; NULL: malloc and free */
    const skel_ground_desc *grounds; /**< ground_count elements */
    uint32_t ground_stride;          /**< sizeof(skel_ground_desc) in the caller */
    uint32_t ground_count;           /**< number of grounds */
    const skel_wobble_desc *wobbles; /**< wobble_count elements */
    uint32_t wobble_stride;          /**< sizeof(skel_wobble_desc) in the caller */
    uint32_t wobble_count;           /**< number of wobbling masses */
    const skel_field_desc *fields;   /**< field_count elements */
    uint32_t field_stride;           /**< sizeof(skel_field_desc) in the caller */
    uint32_t field_count;            /**< number of fields */
    /** Angular velocity of the world's frame of reference, in its own axes [rad/s]. If it is not
        zero, or frame_acceleration is not, the apparent forces of a moving frame act [RUD 3.13]. */
    double frame_spin[3];
    double frame_acceleration[3];        /**< acceleration of its origin, own axes [m/s^2] */
    skel_curve frame_spin_curve;         /**< width 3 [rad/s], added to frame_spin */
    skel_curve frame_acceleration_curve; /**< width 3 [m/s^2], added to frame_acceleration */
} skel_model_desc;

/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_model_desc_init_sized(skel_model_desc *desc, size_t size);
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_body_desc_init_sized(skel_body_desc *desc, size_t size);
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_joint_desc_init_sized(skel_joint_desc *desc, size_t size);
/** Calls skel_model_desc_init_sized with the size of the caller's struct. */
#define skel_model_desc_init(d) skel_model_desc_init_sized((d), sizeof *(d))
/** Calls skel_body_desc_init_sized with the size of the caller's struct. */
#define skel_body_desc_init(d) skel_body_desc_init_sized((d), sizeof *(d))
/** Calls skel_joint_desc_init_sized with the size of the caller's struct. */
#define skel_joint_desc_init(d) skel_joint_desc_init_sized((d), sizeof *(d))

/** Computes the inertia xx yy zz xy xz yz [kg m^2] of a homogeneous solid about its centre. shape
    and size [m] are as at SKEL_SHAPE_*, mass is in kg. */
SKEL_API skel_status skel_shape_inertia(int32_t shape, const double size[3], double mass,
                                        double inertia[6]);

/** Fills *out with the properties of the joint type SKEL_JOINT_*. Set out->struct_size first.
    SKEL_E_ARGUMENT: there is no such type. */
SKEL_API skel_status skel_joint_kind_get(int32_t type, skel_joint_kind *out);

/** A model. It never changes after its creation, so threads may share it without locks. */
typedef struct skel_model skel_model;

/** Creates a model. On success the caller owns *out; on failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_model_create(const skel_model_desc *desc, skel_model **out,
                                       skel_error *err);
SKEL_API void skel_model_destroy(skel_model *model); /**< does nothing if NULL */

/** Number of bodies. */
SKEL_API int32_t skel_model_body_count(const skel_model *model);
/** Number of joints. */
SKEL_API int32_t skel_model_joint_count(const skel_model *model);
/** Number of joint coordinates q of all joints, in the order of the joints (ball: 4). */
SKEL_API int32_t skel_model_q_count(const skel_model *model);
/** Number of joint velocities of all joints, in the order of the joints (ball: 3). The motion of
    free roots is not among them. */
SKEL_API int32_t skel_model_dof(const skel_model *model);
/** Index of the body with this name; SKEL_WORLD for "world"; -2 if there is none. */
SKEL_API int32_t skel_model_find_body(const skel_model *model, const char *name);
/** Index of the joint with this name; -2 if there is none. */
SKEL_API int32_t skel_model_find_joint(const skel_model *model, const char *name);
/** Name of a body, owned by the model; NULL if the index is out of range. */
SKEL_API const char *skel_model_body_name(const skel_model *model, int32_t body);
/** Name of a joint, owned by the model; NULL if the index is out of range. */
SKEL_API const char *skel_model_joint_name(const skel_model *model, int32_t joint);
/** Index of the joint's first coordinate in q; -1 if the joint does not exist. */
SKEL_API int32_t skel_model_joint_q_offset(const skel_model *model, int32_t joint);
/** Index of the joint's first velocity in qd; -1 if the joint does not exist. */
SKEL_API int32_t skel_model_joint_dof_offset(const skel_model *model, int32_t joint);
/** Index of the joint at the end of the mimic chain, which is not a mimic joint itself; -1 if
    `joint` is not a mimic joint. q_joint = *multiplier q_source + *offset; both may be NULL. */
SKEL_API int32_t skel_model_mimic_source(const skel_model *model, int32_t joint, double *multiplier,
                                         double *offset);
/** Number of mimic joints. */
SKEL_API int32_t skel_model_mimic_count(const skel_model *model);
/** Overwrites the coordinates of all mimic joints in q (skel_model_q_count numbers). */
SKEL_API skel_status skel_model_apply_mimic(const skel_model *model, double *q);
/** Writes the gravity of the model [m/s^2]. */
SKEL_API void skel_model_get_gravity(const skel_model *model, double gravity[3]);
/** Copies the desc of a body, with its initial pose, to *out. Arrays and names remain owned by the
    model. Set out->struct_size first. SKEL_E_ARGUMENT: the index is out of range. */
SKEL_API skel_status skel_model_get_body(const skel_model *model, int32_t body,
                                         skel_body_desc *out);
/** Copies the desc of a joint; see skel_model_get_body. */
SKEL_API skel_status skel_model_get_joint(const skel_model *model, int32_t joint,
                                          skel_joint_desc *out);
/** Number of grounds. */
SKEL_API int32_t skel_model_ground_count(const skel_model *model);
/** Number of wobbling masses. */
SKEL_API int32_t skel_model_wobble_count(const skel_model *model);
/** Number of fields. */
SKEL_API int32_t skel_model_field_count(const skel_model *model);
/** Copies the desc of a ground; see skel_model_get_body. */
SKEL_API skel_status skel_model_get_ground(const skel_model *model, int32_t ground,
                                           skel_ground_desc *out);
/** Copies the desc of a wobbling mass; see skel_model_get_body. */
SKEL_API skel_status skel_model_get_wobble(const skel_model *model, int32_t wobble,
                                           skel_wobble_desc *out);
/** Copies the desc of a field; see skel_model_get_body. */
SKEL_API skel_status skel_model_get_field(const skel_model *model, int32_t field,
                                          skel_field_desc *out);
/** Copies frame_spin, frame_acceleration and their curves of the desc. Each argument may be NULL.
    The samples of the curves remain owned by the model. */
SKEL_API skel_status skel_model_get_frame(const skel_model *model, double spin[3],
                                          double acceleration[3], skel_curve *spin_curve,
                                          skel_curve *acceleration_curve);
/** SKEL_OK if every dynamic body has a mass; otherwise SKEL_E_MASS, and err names the body. err may
    be NULL. */
SKEL_API skel_status skel_model_check_dynamics(const skel_model *model, skel_error *err);

#ifdef __cplusplus
}
#endif
#endif
