/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   The bake: many steps, sampled at an even rate. It runs for as long as you allow at a time, so a
   host drives it from a timer and stays alive. The motion does not depend on the rate. */
#ifndef SKEL_BAKE_H
#define SKEL_BAKE_H

#include <skel/skel_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A bake to be started. */
typedef struct skel_bake_desc {
    uint32_t struct_size;  /**< sizeof of this struct as the caller saw it */
    int32_t integrator;    /**< SKEL_INTEGRATOR_*, default AUTO */
    int32_t solver;        /**< SKEL_SOLVER_*, default TREE */
    uint32_t sample_count; /**< >= 1; sample k is at time k / sample_rate */
    double sample_rate;    /**< [1/s], > 0, default 24 */
    /** [s]; 0: the integrator's own choice. AUTO with a step is an integrator of fixed steps */
    double step;
    /** of adams and bdf, which choose their step: about what a second of motion may be wrong by,
        in rad and in parts of the skeleton's size; default 1e-8. Another value under an
        integrator of fixed steps gets a warning */
    double tolerance;
    const skel_model *model;         /**< must outlive the bake */
    const skel_state *state;         /**< where to start; NULL: the model's initial state */
    const skel_allocator *allocator; /**< copied; NULL: the model's */
    double preroll;                  /**< [s], >= 0: simulated before the first sample */
} skel_bake_desc;
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_bake_desc_init_sized(skel_bake_desc *desc, size_t size);
/** The same with the caller's own size. */
#define skel_bake_desc_init(d) skel_bake_desc_init_sized((d), sizeof *(d))

/** A bake belongs to one thread at a time. Destroying it early is how to cancel. */
typedef struct skel_bake skel_bake;

/** Starts a bake and takes all the memory that it will need. A scene starts its own bake by
    skel_scene_bake_start. On failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_bake_start(const skel_bake_desc *desc, skel_bake **out, skel_error *err);
SKEL_API void skel_bake_destroy(skel_bake *bake); /**< NULL is fine */

/** Works for about max_ms milliseconds (0: one step, or one part of a step that must be done in
    parts; negative: to the end). SKEL_MORE while there
    is more to do, SKEL_OK when all samples are there, < 0 when the bake failed; then
    skel_bake_get_error says why and the samples done so far stay readable. */
SKEL_API skel_status skel_bake_advance(skel_bake *bake, double max_ms);
/** 0 to 1. */
SKEL_API double skel_bake_progress(const skel_bake *bake);
/** Number of samples that are there. */
SKEL_API int32_t skel_bake_samples_done(const skel_bake *bake);
/** Why the bake failed. Set err->struct_size first. */
SKEL_API void skel_bake_get_error(const skel_bake *bake, skel_error *err);

/* Results, owned by the bake; the first skel_bake_samples_done samples are filled, and finite. */
/** [sample][body][7]: x y z, w x y z. Consecutive quaternions of a body have a positive dot. */
SKEL_API const double *skel_bake_poses(const skel_bake *bake);
/** [sample][body][6]: v (world), omega (body axes). */
SKEL_API const double *skel_bake_velocities(const skel_bake *bake);
/** [sample][skel_model_q_count]. */
SKEL_API const double *skel_bake_q(const skel_bake *bake);
/** The receipt of one sample. Set row->struct_size first. */
SKEL_API skel_status skel_bake_get_report(const skel_bake *bake, int32_t sample,
                                          skel_report_row *row);

/** The receipt of the whole bake so far. Drifts are relative where the name does not say a unit. */
typedef struct skel_bake_summary {
    uint32_t struct_size;          /**< sizeof of this struct as the caller saw it */
    int32_t integrator;            /**< the one that ran, never AUTO */
    int32_t solver;                /**< SKEL_SOLVER_* */
    uint32_t warning_count;        /**< see skel_bake_warning */
    double steps;                  /**< steps that were taken */
    double step;                   /**< [s]; 0 where it varies */
    double wall_seconds;           /**< time that the bake took [s] */
    double energy_drift;           /**< |E - E0 - works| / largest kinetic energy or work */
    double momentum_drift;         /**< |P - P0 - impulse| / largest sum of m |v| seen */
    double angular_momentum_drift; /**< likewise, about the origin */
    double joint_gap;              /**< largest [m] */
    double misalignment;           /**< largest [rad] */
    double limit_violation;        /**< largest [rad] or [m] */
    double rejected_steps;         /**< tried and found wanting; not among steps */
    double evaluations;            /**< of the accelerations; 0 where not counted */
    int32_t last_order;            /**< of the last step; 0: no step yet */
    int32_t reserved;              /**< 0 */
    double peak_ground_force;      /**< largest in any step, along the normals [N] */
    double peak_ground_time;       /**< when [s] */
    double contact_depth;          /**< largest [m] */
    /** largest rise of kinetic + potential - work of motors, loads and drives over its lowest
        value before, relative: 0 where passive */
    double energy_gain;
    double rest_time; /**< since when all lies at rest and is left there [s]; -1: it moves */
} skel_bake_summary;
/** Set summary->struct_size first. */
SKEL_API skel_status skel_bake_get_summary(const skel_bake *bake, skel_bake_summary *summary);
/** NULL where there is no such warning. */
SKEL_API const char *skel_bake_warning(const skel_bake *bake, int32_t index);

/** "adams", "tree", ...; NULL for a number that names none. */
SKEL_API const char *skel_integrator_name(int32_t integrator);
/** "tree", "pinv", "kkt"; NULL for a number that names none. */
SKEL_API const char *skel_solver_name(int32_t solver);

#ifdef __cplusplus
}
#endif
#endif
