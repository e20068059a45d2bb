/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   The state: poses and velocities of all bodies at one time, in maximal coordinates [HAK].
   A pose has 7 numbers: x y z of the centre of mass [m] and the unit quaternion w x y z from body
   to world. A velocity has 6 numbers: v in world axes [m/s] and omega in body axes [rad/s].
   Only one thread at a time may use a state. */
#ifndef SKEL_STATE_H
#define SKEL_STATE_H

#include <skel/skel_model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Solvers for the accelerations. Their results agree to rounding; see libskel/README.md. */
enum {
    SKEL_SOLVER_TREE = 0, /**< articulated-body algorithm, O(n) */
    SKEL_SOLVER_PINV =
        1,              /**< reference solver: dense system with pseudoinverse [HAK (6)], O(n^3) */
    SKEL_SOLVER_KKT = 2 /**< reference solver: elimination of the constraint rows along the tree,
                               O(n); it does not support closed loops */
};

/** Integrators. */
enum {
    /** Chooses by the model. CONSERVING: if it has closed loops, pins, follow springs, wobbling
        masses, possible contacts, or joints with limits, a spring or a muscle. Otherwise RK4 for
        skel_step, for a bake with a given step and for more than 5000 dynamic bodies, and ADAMS for
        all other bakes. A bake replaces ADAMS by BDF if joint friction is stiff, and ADAMS or RK4
        by CONSERVING if it is too stiff for them. */
    SKEL_INTEGRATOR_AUTO = 0,
    SKEL_INTEGRATOR_EULER = 1,     /**< Euler steps of [HAK], first order; for comparison */
    SKEL_INTEGRATOR_RK4 = 2,       /**< Runge-Kutta, fourth order; joints are closed every step */
    SKEL_INTEGRATOR_ADAMS = 3,     /**< CVODE, Adams, variable order and step; bakes only */
    SKEL_INTEGRATOR_BDF = 4,       /**< CVODE, BDF, for stiff scenes; bakes only */
    SKEL_INTEGRATOR_CONSERVING = 5 /**< implicit energy-momentum step, robust at long steps */
};

/** A state. Its model must outlive it. */
typedef struct skel_state skel_state;

/** Creates a state with the model's initial poses and velocities at time 0. Driven bodies are on
    their curves. Joints that are open in the model stay open until skel_state_project. On success
    the caller owns *out; on failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_state_create(const skel_model *model, skel_state **out, skel_error *err);
SKEL_API void skel_state_destroy(skel_state *state); /**< does nothing if NULL */
/** Copies src to dst. Both must be states of the same model. */
SKEL_API skel_status skel_state_copy(skel_state *dst, const skel_state *src);

/** Model of the state. */
SKEL_API const skel_model *skel_state_model(const skel_state *state);
/** Time of the state [s]. */
SKEL_API double skel_state_time(const skel_state *state);
/** Sets the time [s], moves driven bodies along their curves, and resets all works and impulses to
    zero. */
SKEL_API void skel_state_set_time(skel_state *state, double time);

/** Copies the poses (body_count x 7) to the caller's array. The functions below do the same for
    velocities (body_count x 6), joint coordinates q (skel_model_q_count) and joint velocities qd
    (skel_model_dof). The setters normalise quaternions. They return SKEL_E_ARGUMENT and leave the
    state unchanged if a number is not finite or a resulting pose or velocity overflows. */
SKEL_API skel_status skel_state_get_poses(const skel_state *state, double *poses);
/** Sets the poses of all bodies; see skel_state_get_poses. */
SKEL_API skel_status skel_state_set_poses(skel_state *state, const double *poses);
/** Copies the velocities; see skel_state_get_poses. */
SKEL_API skel_status skel_state_get_velocities(const skel_state *state, double *velocities);
/** Sets the velocities of all bodies; see skel_state_get_poses. */
SKEL_API skel_status skel_state_set_velocities(skel_state *state, const double *velocities);
/** Computes the joint coordinates of the poses. */
SKEL_API skel_status skel_state_get_q(const skel_state *state, double *q);
/** Sets the joint coordinates and updates the poses of all bodies; roots do not move. The
    coordinates of mimic joints are computed from their source joints. */
SKEL_API skel_status skel_state_set_q(skel_state *state, const double *q);
/** Computes the joint velocities of the body velocities. */
SKEL_API skel_status skel_state_get_qd(const skel_state *state, double *qd);
/** Sets the joint velocities and updates the velocities of all bodies; those of roots do not
    change. */
SKEL_API skel_status skel_state_set_qd(skel_state *state, const double *qd);

/** Projects the state onto the joints [HAK (1), (2)]: closes all joints and corrects the velocities
    with the smallest mass-weighted change. *gap [m] and *speed [m/s] are the largest errors before;
    both may be NULL, and so may err. On failure the state is unchanged. SKEL_E_DIVERGED: velocities
    overflow. */
SKEL_API skel_status skel_state_project(skel_state *state, double *gap, double *speed,
                                        skel_error *err);

/** Forward kinematics: computes the poses (body_count x 7) for the joint coordinates q, with roots
    at their initial pose. The coordinates of mimic joints are computed from their source joints.
    SKEL_E_ARGUMENT: a pose overflows. */
SKEL_API skel_status skel_fk(const skel_model *model, const double *q, double *poses);

/** Computes the accelerations at the state: linear, body_count x 3, world axes [m/s^2]; angular,
    body_count x 3, body axes [rad/s^2]. err may be NULL. SKEL_E_DIVERGED: an acceleration is not
    finite because velocities, forces, masses or lengths are extreme. */
SKEL_API skel_status skel_accelerations(skel_state *state, int32_t solver, double *linear,
                                        double *angular, skel_error *err);

/** Arguments of skel_step. */
typedef struct skel_step_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t integrator;   /**< SKEL_INTEGRATOR_*, default AUTO; not ADAMS or BDF */
    int32_t solver;       /**< SKEL_SOLVER_*, default TREE; not used by CONSERVING */
    uint32_t flags;       /**< 0 */
    double h;             /**< length of the step [s], > 0; default 1/480 */
} skel_step_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_step_desc_init_sized(skel_step_desc *desc, size_t size);
/** Calls skel_step_desc_init_sized with the size of the caller's struct. */
#define skel_step_desc_init(d) skel_step_desc_init_sized((d), sizeof *(d))

/** Advances the state by one step of h. The first step with an integrator or solver may allocate
    its workspace; later steps allocate nothing. On failure the state is unchanged. err may be NULL.
    */
SKEL_API skel_status skel_step(skel_state *state, const skel_step_desc *desc, skel_error *err);

/** Report row of one state: energies, works, momenta and errors. Sums include dynamic bodies only.
    skel_step adds up works and impulses from the creation of the state, or from the last
    skel_state_set_time. Momenta about a point refer to the world's origin. */
typedef struct skel_report_row {
    uint32_t struct_size;       /**< sizeof this struct in the caller */
    uint32_t reserved;          /**< 0 */
    double time;                /**< [s] */
    double kinetic;             /**< kinetic energy [J] */
    double potential;           /**< -sum m g.p, plus `elastic` [J] */
    double work_motor;          /**< work of motors, muscles and follow springs [J] */
    double work_friction;       /**< work of friction in joints, stops and wobbling masses [J] */
    double work_load;           /**< work of loads, fields and the moving frame [J] */
    double work_drive;          /**< work of prescribed bodies on dynamic ones [J] */
    double momentum[3];         /**< [kg m/s] */
    double angular_momentum[3]; /**< [kg m^2/s] */
    double impulse[3];          /**< of gravity, loads and reactions of the world [N s] */
    double angular_impulse[3];  /**< likewise [N m s] */
    double joint_gap;       /**< largest distance of two joint points that should coincide [m] */
    double misalignment;    /**< largest angle of two axes that should be parallel [rad] */
    double limit_violation; /**< largest excess over a joint limit [rad] or [m] */
    double work_contact;    /**< work of contacts, without the energy that they store [J] */
    double elastic;         /**< energy stored in springs, stops and contacts [J] */
    double ground_force[3]; /**< of all grounds and fixed bodies on the dynamic bodies [N] */
    double contact_depth;   /**< largest penetration [m] */
    double contacts;        /**< number of contacts */
} skel_report_row;
/** Computes the report row of a state. Set row->struct_size first. */
SKEL_API skel_status skel_report(const skel_state *state, skel_report_row *row);

#ifdef __cplusplus
}
#endif
#endif
