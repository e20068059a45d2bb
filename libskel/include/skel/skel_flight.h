/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   In-between by physics: the flight of one free skeleton from a pose to a pose in a given time
   [RUD ch. 5]. The joints go from one to the other on a smooth path (minimum jerk), the centre of
   mass on its parabola, and the turning follows from the angular momentum about the centre of mass,
   which nothing in the air can change: it is found by shooting. */
#ifndef SKEL_FLIGHT_H
#define SKEL_FLIGHT_H

#include <skel/skel_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A flight to be found. */
typedef struct skel_flight_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    /** 0: of the ways that are found, the one with the least momentum */
    int32_t has_turns;
    /** one free skeleton, no loops; fixed and driven bodies beside it count for nothing.
        Borrowed, like the poses */
    const skel_model *model;
    const double *take_off; /**< body_count x 7 */
    const double *landing;  /**< body_count x 7 */
    double duration;        /**< [s], > 0 */
    /** [1/s], > 0, default 24; sample k is at time k / sample_rate */
    double sample_rate;
    /** world: the sense of the turns, and their axis where take-off and landing give none; zero:
        the short way round */
    double about[3];
    double tolerance;                /**< [rad] of the landing, default 1e-10 */
    int32_t turns;                   /**< whole turns beyond that; negative: the other way round */
    int32_t reserved;                /**< 0 */
    const skel_allocator *allocator; /**< copied; NULL: the model's */
} skel_flight_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_flight_desc_init_sized(skel_flight_desc *desc, size_t size);
/** Calls skel_flight_desc_init_sized with the size of the caller's struct. */
#define skel_flight_desc_init(d) skel_flight_desc_init_sized((d), sizeof *(d))

/** A flight that was found; immutable. */
typedef struct skel_flight skel_flight;

/** On failure *out is NULL: SKEL_E_UNSUPPORTED where the model is not one free skeleton,
    SKEL_E_DIVERGED where no take-off was found that leads there, or the flight is not finite. err
    may be NULL. */
SKEL_API skel_status skel_flight_solve(const skel_flight_desc *desc, skel_flight **out,
                                       skel_error *err);
SKEL_API void skel_flight_destroy(skel_flight *flight); /**< does nothing if NULL */

/** The flight, owned by the handle; arrays as those of a bake. The last sample is the landing where
   the duration is a whole number of samples, else a little before it. */
SKEL_API int32_t skel_flight_sample_count(const skel_flight *flight);
/** [sample][body][7]; see skel_flight_sample_count. */
SKEL_API const double *skel_flight_poses(const skel_flight *flight);
/** [sample][body][6]; see skel_flight_sample_count. */
SKEL_API const double *skel_flight_velocities(const skel_flight *flight);
/** [sample][skel_model_q_count]; see skel_flight_sample_count. */
SKEL_API const double *skel_flight_q(const skel_flight *flight);

/** The receipt. */
typedef struct skel_flight_summary {
    uint32_t struct_size;       /**< sizeof this struct in the caller */
    int32_t turns;              /**< whole turns beyond the short way round */
    double angular_momentum[3]; /**< about the centre of mass, world [kg m^2/s] */
    double velocity[3];         /**< of the centre of mass at take-off [m/s] */
    double turned;              /**< by the root about the angular momentum [rad] */
    double residual_angle;      /**< from the landing given, largest of all bodies [rad] */
    double residual_distance;   /**< [m] */
    double integration_error;   /**< [rad]: what half the step changes */
    double joint_gap;           /**< how far the two poses were from fitting the joints [m] */
    double misalignment;        /**< [rad] */
    int32_t iterations;         /**< of Newton's method, in all */
    int32_t steps;              /**< of the integration, from take-off to landing */
    /** 1: the scene has forces beside gravity, which were left out */
    int32_t has_loads;
    int32_t reserved; /**< 0 */
} skel_flight_summary;
/** Set summary->struct_size first. */
SKEL_API skel_status skel_flight_get_summary(const skel_flight *flight,
                                             skel_flight_summary *summary);

#ifdef __cplusplus
}
#endif
#endif
