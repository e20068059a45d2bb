/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Surroundings of the bodies: grounds, wobbling masses, force fields, and curves over time.
   Methods of [RUD] with the corrections of libskel/ERRATA.md. SI units, radians. */
#ifndef SKEL_WORLD_H
#define SKEL_WORLD_H

#include <skel/skel_base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEL_WORLD (-1) /**< body index of the world */

/** Samples over time. A curve is constant before its first and after its last sample. In between,
    curves of driven and pinned bodies are cubic with continuous velocity; curves of forces and
    motors are linear, or cubic if SKEL_FLAG_SMOOTH is set. The library copies the samples. */
typedef struct skel_curve {
    const double *time;  /**< count numbers, strictly increasing [s] */
    const double *value; /**< count x width numbers, row by row; the unit is that of the field */
    uint32_t count;      /**< number of samples; 0: no curve */
    uint32_t width;      /**< numbers per sample, as the field requires */
} skel_curve;

/** A plane that bodies touch with their shapes and contact points. At the penetration s > 0 with
    the rate s', the normal force is  N = a s^b + d s',  or 0 if that is negative [RUD 4.7]. Along
    the plane, a spring and damper hold a contact where it first touched, up to the force mu N. */
typedef struct skel_ground_desc {
    uint32_t struct_size;   /**< sizeof this struct in the caller */
    int32_t body;           /**< body that carries the plane; SKEL_WORLD (default): it is fixed */
    double point[3];        /**< a point of the plane, in the world at the initial pose [m] */
    double normal[3];       /**< unit vector out of the ground, likewise; default 0 0 1 */
    double friction;        /**< coefficient mu >= 0; default 0.8 */
    double a;               /**< [N/m^b]; 0 (default): a, b and d follow from the total weight */
    double b;               /**< exponent of the normal force; not used if a is 0 */
    double d;               /**< damping of the normal force [N s/m]; not used if a is 0 */
    double stick_stiffness; /**< along the plane [N/m]; 0 (default): from the total weight */
    double stick_damping;   /**< along the plane [N s/m]; not used if stick_stiffness is 0 */
    /** 1: impacts are instantaneous impulses with restitution, and resting contacts have a stiff
        force law; 0 (default): only the force law acts */
    int32_t is_rigid;
    int32_t reserved;   /**< 0 */
    double restitution; /**< of the normal velocity, 0 to 1, default 0; rigid [RUD 3.28-3.31] */
    /** restitution of the velocity along the plane, 0 to 1, default 0, within the friction cone;
        rigid grounds only */
    double tangential_restitution;
} skel_ground_desc;

/** A wobbling mass: soft tissue as a dynamic body without joints that springs and dampers hold to a
    host body [RUD 4.3]. With the displacement x along the axis, the force is  c x^3 + d x';  across
    the axis it is the same with constants of its own. With the angle phi the torque is
    a phi + b phi'.  The opposite force and torque act on the host. */
typedef struct skel_wobble_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t body;         /**< index of the soft mass; at rest its axes are those of the host */
    int32_t host;         /**< index of the host, which must not be a wobbling mass itself */
    int32_t reserved;     /**< 0 */
    double rest[3];       /**< centre of mass at rest, in the host's frame [m] */
    double axis[3];       /**< unit vector in the host's axes; default 0 0 1 */
    double along_c;       /**< c along the axis [N/m^3] */
    double along_d;       /**< d along the axis [N s/m] */
    double across_c;      /**< c across the axis [N/m^3] */
    double across_d;      /**< d across the axis [N s/m] */
    double turn_a;        /**< a of the torque [N m/rad] */
    double turn_b;        /**< b of the torque [N m s/rad] */
} skel_wobble_desc;

/** Types of force fields. */
enum {
    SKEL_FIELD_UNIFORM = 0, /**< the acceleration `vector` [m/s^2] everywhere */
    /** Air drag  -density / 2 coefficient A |u| u,  where u is the body's velocity minus the wind
        `vector` [m/s] and A the area of its shape seen along u. It also slows rotations. */
    SKEL_FIELD_DRAG = 1,
    /** An acceleration around an axis, at the distance r:  strength 2 x / (1 + x^2),
        x = r / scale. */
    SKEL_FIELD_VORTEX = 2,
    /** A random acceleration, smooth in space and time, with the root mean square `strength`. */
    SKEL_FIELD_TURBULENCE = 3
};

/** A force field. Accelerations act at the centre of mass and do not turn a body. */
typedef struct skel_field_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t type;         /**< SKEL_FIELD_* */
    double vector[3];     /**< uniform: acceleration [m/s^2]; drag: velocity of the air [m/s] */
    double point[3];      /**< vortex: a point of the axis [m] */
    double axis[3];       /**< vortex: unit vector along the axis; default 0 0 1 */
    double strength;      /**< vortex: largest, turbulence: root mean square [m/s^2] */
    double scale;         /**< vortex: radius of the largest acceleration; turbulence: wavelength;
                               [m], default 1 */
    double period;        /**< turbulence: time of one change [s]; 0: constant in time */
    double density;       /**< drag: density of the air [kg/m^3]; default 1.2 */
    double coefficient;   /**< drag: drag coefficient; default 1 */
    uint32_t seed;        /**< turbulence: number that selects one random field */
    int32_t body;         /**< the only body that it acts on; SKEL_WORLD (default): all bodies */
} skel_field_desc;

/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_ground_desc_init_sized(skel_ground_desc *desc, size_t size);
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_wobble_desc_init_sized(skel_wobble_desc *desc, size_t size);
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_field_desc_init_sized(skel_field_desc *desc, size_t size);
/** Calls skel_ground_desc_init_sized with the size of the caller's struct. */
#define skel_ground_desc_init(d) skel_ground_desc_init_sized((d), sizeof *(d))
/** Calls skel_wobble_desc_init_sized with the size of the caller's struct. */
#define skel_wobble_desc_init(d) skel_wobble_desc_init_sized((d), sizeof *(d))
/** Calls skel_field_desc_init_sized with the size of the caller's struct. */
#define skel_field_desc_init(d) skel_field_desc_init_sized((d), sizeof *(d))

#ifdef __cplusplus
}
#endif
#endif
