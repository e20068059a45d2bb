/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   The bake: a simulation over many steps, sampled at a constant rate. skel_bake_advance works for a
   given time, so a host can call it from a timer and remain responsive. The motion does not depend
   on the sample rate. */
#ifndef SKEL_BAKE_H
#define SKEL_BAKE_H

#include <skel/skel_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Arguments of skel_bake_start. */
typedef struct skel_bake_desc {
    uint32_t struct_size;  /**< sizeof this struct in the caller */
    int32_t integrator;    /**< SKEL_INTEGRATOR_*, default AUTO */
    int32_t solver;        /**< SKEL_SOLVER_*, default TREE */
    uint32_t sample_count; /**< >= 1, default 1; sample k is at k / sample_rate after the start */
    double sample_rate;    /**< [1/s], > 0, default 24 */
    /** length of the steps of integrators with fixed steps [s]; 0 (default): the default of the
        integrator, 1/240 s for CONSERVING. If it is given, AUTO does not choose ADAMS or BDF */
    double step;
    /** error per simulated second of ADAMS and BDF, in radians and relative to the skeleton's size;
        default 1e-8. Other integrators ignore it; a warning says so */
    double tolerance;
    const skel_model *model;         /**< must outlive the bake */
    const skel_state *state;         /**< initial state, copied; NULL: the model's initial state */
    const skel_allocator *allocator; /**< copied; NULL: the allocator of the model */
    double preroll; /**< time that is simulated before the first sample [s], >= 0 */
} skel_bake_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_bake_desc_init_sized(skel_bake_desc *desc, size_t size);
/** Calls skel_bake_desc_init_sized with the size of the caller's struct. */
#define skel_bake_desc_init(d) skel_bake_desc_init_sized((d), sizeof *(d))

/** A running or finished bake. Only one thread at a time may use it. To cancel it, destroy it. */
typedef struct skel_bake skel_bake;

/** Starts a bake and allocates all memory that it needs. skel_scene_bake_start does the same for a
    scene document. On success the caller owns *out; on failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_bake_start(const skel_bake_desc *desc, skel_bake **out, skel_error *err);
SKEL_API void skel_bake_destroy(skel_bake *bake); /**< does nothing if NULL */

/** Works for about max_ms milliseconds. 0: for one step, or one substep of a difficult step;
    negative: to the end. Returns SKEL_MORE if samples are missing, SKEL_OK if all samples are done,
    and a negative status if the bake failed. After a failure skel_bake_get_error tells the reason,
    and the samples that were done stay readable. */
SKEL_API skel_status skel_bake_advance(skel_bake *bake, double max_ms);
/** Share of the simulated time that is done, 0 to 1. */
SKEL_API double skel_bake_progress(const skel_bake *bake);
/** Number of samples that are done. */
SKEL_API int32_t skel_bake_samples_done(const skel_bake *bake);
/** Copies the error of a failed bake to *err. Set err->struct_size first. */
SKEL_API void skel_bake_get_error(const skel_bake *bake, skel_error *err);

/* Results: arrays that the bake owns. Their first skel_bake_samples_done samples are valid. */

/** Poses [sample][body][7]: x y z [m], w x y z. Consecutive quaternions of a body have a dot
    product >= 0. */
SKEL_API const double *skel_bake_poses(const skel_bake *bake);
/** Velocities [sample][body][6]: v in world axes [m/s], omega in body axes [rad/s]. */
SKEL_API const double *skel_bake_velocities(const skel_bake *bake);
/** Joint coordinates [sample][skel_model_q_count]. Angles of consecutive samples are continuous. */
SKEL_API const double *skel_bake_q(const skel_bake *bake);
/** Copies the report row of one sample. Set row->struct_size first. SKEL_E_ARGUMENT: the sample is
    not done. */
SKEL_API skel_status skel_bake_get_report(const skel_bake *bake, int32_t sample,
                                          skel_report_row *row);

/** Receipt of the bake so far: figures that tell how exact it is. Drifts and gain are relative to
    the largest kinetic energy or work, and to the largest momentum, that occurred. */
typedef struct skel_bake_summary {
    uint32_t struct_size;          /**< sizeof this struct in the caller */
    int32_t integrator;            /**< the integrator that runs, never AUTO */
    int32_t solver;                /**< SKEL_SOLVER_* */
    uint32_t warning_count;        /**< number of texts of skel_bake_warning */
    double steps;                  /**< number of accepted steps */
    double step;                   /**< length of the steps [s]; 0: variable */
    double wall_seconds;           /**< computing time so far [s] */
    double energy_drift;           /**< largest |E - E0 - works|, relative */
    double momentum_drift;         /**< largest |P - P0 - impulse|, relative */
    double angular_momentum_drift; /**< the same about the world's origin, relative */
    double joint_gap;              /**< largest joint gap [m] */
    double misalignment;           /**< largest misalignment of a joint [rad] */
    double limit_violation;        /**< largest excess over a joint limit [rad] or [m] */
    double rejected_steps;         /**< number of steps that were repeated; not part of steps */
    double evaluations;            /**< number of evaluations of the equations of motion */
    int32_t last_order;            /**< order of the last step; 0: no step yet */
    int32_t reserved;              /**< 0 */
    double peak_ground_force; /**< largest magnitude of the sum of all ground normal forces [N] */
    double peak_ground_time;  /**< time of peak_ground_force [s] */
    double contact_depth;     /**< largest penetration at a sample [m] */
    /** largest rise of the energy beyond the work of motors, loads and prescribed bodies, relative;
        0 if forces and contacts are passive */
    double energy_gain;
    double rest_time; /**< time since when all bodies sleep [s]; -1: some body moves */
} skel_bake_summary;
/** Copies the receipt of the bake so far. Set summary->struct_size first. */
SKEL_API skel_status skel_bake_get_summary(const skel_bake *bake, skel_bake_summary *summary);
/** Text of a warning, 0 <= index < warning_count, owned by the bake; NULL if there is none. */
SKEL_API const char *skel_bake_warning(const skel_bake *bake, int32_t index);

/** Name of an integrator, as "adams"; static. NULL if there is no such integrator. */
SKEL_API const char *skel_integrator_name(int32_t integrator);
/** Name of a solver: "tree", "pinv" or "kkt"; static. NULL if there is no such solver. */
SKEL_API const char *skel_solver_name(int32_t solver);

#ifdef __cplusplus
}
#endif
#endif
