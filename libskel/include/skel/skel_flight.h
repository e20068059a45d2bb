/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Free flight of one skeleton from a pose to a pose in a given time [RUD ch. 5]. The joint
   coordinates follow a given smooth path (minimum jerk), and the centre of mass a parabola. The
   rotation follows from the angular momentum L about the centre of mass, which is constant in the
   air. L is found by shooting: it must lead from the first to the last orientation. */
#ifndef SKEL_FLIGHT_H
#define SKEL_FLIGHT_H

#include <skel/skel_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Arguments of skel_flight_solve. Model and poses are borrowed until the call returns. */
typedef struct skel_flight_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    /** 1: `turns` is given; 0 (default): the rotation with the smaller angular momentum */
    int32_t has_turns;
    /** a model with one free skeleton and no loops; fixed and driven bodies are ignored */
    const skel_model *model;
    const double *take_off; /**< poses at the start, body_count x 7 */
    const double *landing;  /**< poses at the end, body_count x 7 */
    double duration;        /**< time of flight [s], > 0 */
    double sample_rate;     /**< [1/s], > 0, default 24; sample k is at time k / sample_rate */
    /** direction of rotation, world axes. It is also the axis if take-off and landing have the same
        orientation. Zero (default): the rotation by less than half a turn */
    double about[3];
    double tolerance; /**< angle by which the landing may differ [rad]; 1e-10 */
    int32_t turns;    /**< additional whole turns; negative: in the other direction */
    int32_t reserved; /**< 0 */
    const skel_allocator *allocator; /**< copied; NULL: the allocator of the model */
} skel_flight_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_flight_desc_init_sized(skel_flight_desc *desc, size_t size);
/** Calls skel_flight_desc_init_sized with the size of the caller's struct. */
#define skel_flight_desc_init(d) skel_flight_desc_init_sized((d), sizeof *(d))

/** A flight. It never changes. */
typedef struct skel_flight skel_flight;

/** Finds a flight. On success the caller owns *out; on failure *out is NULL. err may be NULL.
    SKEL_E_UNSUPPORTED: the model is not one free skeleton. SKEL_E_DIVERGED: no angular momentum was
    found that leads to the landing, or the flight is not finite. */
SKEL_API skel_status skel_flight_solve(const skel_flight_desc *desc, skel_flight **out,
                                       skel_error *err);
SKEL_API void skel_flight_destroy(skel_flight *flight); /**< does nothing if NULL */

/** Number of samples. The last sample is at the landing if duration times sample_rate is a whole
    number, otherwise less than one sample before it. The arrays below are owned by the flight. */
SKEL_API int32_t skel_flight_sample_count(const skel_flight *flight);
/** Poses [sample][body][7]: x y z [m], w x y z. */
SKEL_API const double *skel_flight_poses(const skel_flight *flight);
/** Velocities [sample][body][6]: v in world axes [m/s], omega in body axes [rad/s]. */
SKEL_API const double *skel_flight_velocities(const skel_flight *flight);
/** Joint coordinates [sample][skel_model_q_count]. */
SKEL_API const double *skel_flight_q(const skel_flight *flight);

/** Receipt of a flight. */
typedef struct skel_flight_summary {
    uint32_t struct_size;       /**< sizeof this struct in the caller */
    int32_t turns;              /**< additional whole turns; -1: the long way round */
    double angular_momentum[3]; /**< about the centre of mass, world axes [kg m^2/s] */
    double velocity[3];         /**< of the centre of mass at take-off, world axes [m/s] */
    double turned;              /**< rotation of the root about the angular momentum [rad] */
    double residual_angle;      /**< largest angle of a body from the given landing [rad] */
    double residual_distance;   /**< largest distance of a body from the given landing [m] */
    double integration_error;   /**< change of the landing if the step is halved [rad] */
    double joint_gap;           /**< largest joint gap of the two given poses [m] */
    double misalignment;        /**< largest misalignment of the two given poses [rad] */
    int32_t iterations;         /**< iterations of Newton's method in total */
    int32_t steps;              /**< integration steps from take-off to landing */
    int32_t has_loads;          /**< 1: the model has forces beside gravity; they are ignored */
    int32_t reserved;           /**< 0 */
} skel_flight_summary;
/** Copies the receipt. Set summary->struct_size first. */
SKEL_API skel_status skel_flight_get_summary(const skel_flight *flight,
                                             skel_flight_summary *summary);

#ifdef __cplusplus
}
#endif
#endif
