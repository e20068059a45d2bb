/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   What surrounds the bodies: grounds to land on, wobbling masses, force fields, a moving frame of
   reference. [RUD] with the corrections of libskel/ERRATA.md. */
#ifndef SKEL_WORLD_H
#define SKEL_WORLD_H

#include <skel/skel_base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEL_WORLD (-1) /**< the body index of the world */

/** Samples over time. Loads and motors: linear between samples, or cubic where a flag says so.
    Driven bodies: C1 (cubic). Held constant before the first and after the last. */
typedef struct skel_curve {
    const double *time;  /**< count numbers, strictly increasing [s] */
    const double *value; /**< count x width, row-major */
    uint32_t      count; /**< 0 means: no curve */
    uint32_t      width; /**< numbers per sample; skel_model_create checks it */
} skel_curve;

/** A plane that bodies touch with their shapes and contact points. The normal force of a point that
    is `depth` deep is  a depth^b + d depth'  and never pulls [RUD 4.7]; along the plane a spring
    and damper hold the point where it touched down, within the cone of friction. */
typedef struct skel_ground_desc {
    uint32_t struct_size;     /**< sizeof of this struct as the caller saw it */
    int32_t  body;            /**< the plane is fixed in it; SKEL_WORLD: it stands still */
    double   point[3];        /**< in the world, at the given pose */
    double   normal[3];       /**< unit, out of the ground; in the world, at the given pose */
    double   friction;        /**< mu >= 0; default 0.8 */
    double   a;               /**< of the force law; 0: a, b and d come from the total weight */
    double   b;               /**< exponent of the force law */
    double   d;               /**< damping of the force law [N s/m] */
    double   stick_stiffness; /**< [N/m] along the plane; 0: from the total weight */
    double   stick_damping;   /**< [N s/m], with it */
    /** 1: impacts in no time, with the restitutions; what rests, rests stiffly */
    int32_t is_rigid;
    int32_t reserved;               /**< 0 */
    double  restitution;            /**< 0..1 [RUD 3.28-3.31] */
    double  tangential_restitution; /**< 0..1: of the speed along the plane, within the cone */
} skel_ground_desc;

/** Soft parts on a bone [RUD 4.3]: a dynamic body without joints that springs and dampers hold near
    its place in the host. Force along the axis  c x^3 + d x', across it the same with its own
    constants, torque  a angle + b angle'. Equal and opposite on the host. */
typedef struct skel_wobble_desc {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    int32_t  body;        /**< the soft mass; at rest its axes are those of the host */
    int32_t  host;        /**< the bone: any body */
    int32_t  reserved;    /**< 0 */
    /** place of its centre of mass at rest, host axes from the host's centre */
    double rest[3];
    double axis[3];  /**< unit, in host axes; default z */
    double along_c;  /**< [N/m^3] */
    double along_d;  /**< [N s/m] */
    double across_c; /**< [N/m^3] */
    double across_d; /**< [N s/m] */
    double turn_a;   /**< [N m/rad] */
    double turn_b;   /**< [N m s/rad] */
} skel_wobble_desc;

/** Types of force fields. */
enum {
    /** acceleration `vector` [m/s^2] on all bodies, or on `body` alone */
    SKEL_FIELD_UNIFORM    = 0,
    SKEL_FIELD_DRAG       = 1, /**< air: density rho/2 C A |u| u against u = v - wind `vector` */
    SKEL_FIELD_VORTEX     = 2, /**< acceleration `strength` around `axis` through `point` */
    SKEL_FIELD_TURBULENCE = 3  /**< acceleration of about `strength`, smooth over `scale` */
};

/** A force field. */
typedef struct skel_field_desc {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    int32_t  type;        /**< SKEL_FIELD_* */
    double   vector[3];   /**< uniform: acceleration; drag: velocity of the air */
    double   point[3];    /**< vortex: a point of its axis */
    double   axis[3];     /**< vortex: unit; default z */
    double   strength;    /**< vortex, turbulence [m/s^2] */
    /** vortex: radius of the largest speed; turbulence: size of a swirl [m] */
    double   scale;
    double   period;      /**< turbulence: how fast it changes [s]; 0: it stands */
    double   density;     /**< drag: of the air [kg/m^3]; default 1.2 */
    double   coefficient; /**< drag: C; default 1 */
    uint32_t seed;        /**< turbulence */
    int32_t  body;        /**< SKEL_WORLD: all; else this body alone */
} skel_field_desc;

/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_ground_desc_init_sized(skel_ground_desc *desc, size_t size);
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_wobble_desc_init_sized(skel_wobble_desc *desc, size_t size);
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_field_desc_init_sized(skel_field_desc *desc, size_t size);
/** The same with the caller's own size. */
#define skel_ground_desc_init(d) skel_ground_desc_init_sized((d), sizeof *(d))
/** The same with the caller's own size. */
#define skel_wobble_desc_init(d) skel_wobble_desc_init_sized((d), sizeof *(d))
/** The same with the caller's own size. */
#define skel_field_desc_init(d) skel_field_desc_init_sized((d), sizeof *(d))

#ifdef __cplusplus
}
#endif
#endif
