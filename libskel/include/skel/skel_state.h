/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   The state: where the bodies of a model are and how they move, at one time.
   A pose is 7 numbers (x y z of the centre of mass, quaternion w x y z, body to world); a velocity
   is 6 (v in the world, omega in body axes) [HAK]. A state belongs to one thread at a time. */
#ifndef SKEL_STATE_H
#define SKEL_STATE_H

#include <skel/skel_model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How accelerations are computed. All agree; see libskel/README.md. */
enum {
    SKEL_SOLVER_TREE = 0, /**< articulated bodies, O(n) */
    SKEL_SOLVER_PINV = 1, /**< the printed dense system [HAK (6)], O(n^3): the judge */
    SKEL_SOLVER_KKT = 2   /**< tree elimination of the constraint rows, O(n): the second judge */
};

/** How a state is moved on in time. */
enum {
    /** a bake: ADAMS (BDF where friction is stiff), CONSERVING where there are loops or friction
        is too stiff; given a step: RK4, or CONSERVING */
    SKEL_INTEGRATOR_AUTO = 0,
    SKEL_INTEGRATOR_EULER = 1,     /**< as printed [HAK]: first order, drifts, for comparison */
    SKEL_INTEGRATOR_RK4 = 2,       /**< fourth order, projected onto the joints after every step */
    SKEL_INTEGRATOR_ADAMS = 3,     /**< CVODE, variable order and step, on joint coordinates */
    SKEL_INTEGRATOR_BDF = 4,       /**< the same for stiff scenes */
    SKEL_INTEGRATOR_CONSERVING = 5 /**< implicit energy-momentum step: robust at any step */
};

/** The model must outlive the state. */
typedef struct skel_state skel_state;

/** A state at time 0 in the model's initial pose. On failure *out is NULL. err may be NULL.
    Driven bodies stand where their curve says; nothing is projected yet. */
SKEL_API skel_status skel_state_create(const skel_model *model, skel_state **out, skel_error *err);
SKEL_API void skel_state_destroy(skel_state *state); /**< does nothing if NULL */
/** dst and src must be states of the same model. */
SKEL_API skel_status skel_state_copy(skel_state *dst, const skel_state *src);

/** The model that the state was made for. */
SKEL_API const skel_model *skel_state_model(const skel_state *state);
/** [s]. */
SKEL_API double skel_state_time(const skel_state *state);
/** moves driven bodies */
SKEL_API void skel_state_set_time(skel_state *state, double time);

/** Arrays of the caller: poses body_count x 7, velocities body_count x 6, q skel_model_q_count,
   qd skel_model_dof. Setters normalise quaternions. They refuse (SKEL_E_ARGUMENT) numbers that are
   not finite or whose poses or velocities overflow, and then leave the state as it was. */
SKEL_API skel_status skel_state_get_poses(const skel_state *state, double *poses);
/** See skel_state_get_poses. */
SKEL_API skel_status skel_state_set_poses(skel_state *state, const double *poses);
/** See skel_state_get_poses. */
SKEL_API skel_status skel_state_get_velocities(const skel_state *state, double *velocities);
/** See skel_state_get_poses. */
SKEL_API skel_status skel_state_set_velocities(skel_state *state, const double *velocities);
/** Joint coordinates of the poses. */
SKEL_API skel_status skel_state_get_q(const skel_state *state, double *q);
/** Moves every body below its root; roots stay. Joints that go with others do (`mimic`). */
SKEL_API skel_status skel_state_set_q(skel_state *state, const double *q);
/** Joint velocities of the body velocities. */
SKEL_API skel_status skel_state_get_qd(const skel_state *state, double *qd);
/** Body velocities of the joint velocities; those of the roots stay. */
SKEL_API skel_status skel_state_set_qd(skel_state *state, const double *qd);

/** Closes the joints and makes the velocities agree with them [HAK (1), (2)], moving as little mass
    as possible. *gap and *speed (each may be NULL) say how far the joints were off before. On
    failure the state is as it was before; SKEL_E_DIVERGED: velocities overflow. */
SKEL_API skel_status skel_state_project(skel_state *state, double *gap, double *speed,
                                        skel_error *err);

/** Poses (body_count x 7) of joint coordinates q; roots at the model's initial pose. Joints that go
    with others do (`mimic`), whatever their own q says. SKEL_E_ARGUMENT: a pose overflows. */
SKEL_API skel_status skel_fk(const skel_model *model, const double *q, double *poses);

/** Accelerations: linear body_count x 3 (world), angular body_count x 3 (body axes).
    SKEL_E_DIVERGED: one is not finite, as velocities, forces, masses or lengths are extreme. */
SKEL_API skel_status skel_accelerations(skel_state *state, int32_t solver, double *linear,
                                        double *angular, skel_error *err);

/** One step. */
typedef struct skel_step_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t integrator;   /**< SKEL_INTEGRATOR_* */
    int32_t solver;       /**< SKEL_SOLVER_* */
    uint32_t flags;       /**< 0 */
    double h;             /**< length of the step [s], > 0 */
} skel_step_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_step_desc_init_sized(skel_step_desc *desc, size_t size);
/** Calls skel_step_desc_init_sized with the size of the caller's struct. */
#define skel_step_desc_init(d) skel_step_desc_init_sized((d), sizeof *(d))

/** One step of length h. Allocates nothing. On failure the state is as it was before. */
SKEL_API skel_status skel_step(skel_state *state, const skel_step_desc *desc, skel_error *err);

/** The receipt of one state. Sums run over dynamic bodies; works and impulses count from creation
    (or the last skel_state_set_time) and are added up by skel_step. */
typedef struct skel_report_row {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    uint32_t reserved;    /**< 0 */
    double time;          /**< [s] */
    double kinetic;       /**< kinetic energy [J] */
    /** -sum m g.p, zero at the world's origin, and what springs store */
    double potential;
    double work_motor;          /**< of motors and muscles [J] */
    double work_friction;       /**< of joints, stops and wobbling masses; <= 0 */
    double work_load;           /**< of force and torque, fields and the moving frame */
    double work_drive;          /**< of driven bodies on what hangs from them */
    double momentum[3];         /**< [kg m/s] */
    double angular_momentum[3]; /**< about the world's origin */
    /** of gravity, loads and the world's reactions since the start */
    double impulse[3];
    double angular_impulse[3]; /**< likewise, about the world's origin */
    double joint_gap;          /**< largest distance of two joint points that should meet [m] */
    double misalignment;       /**< largest angle between two axes that should agree [rad] */
    double limit_violation;    /**< largest, [rad] or [m] */
    double work_contact;       /**< of grounds and of bodies that touch: what they take for good */
    double elastic;            /**< the part of potential that springs store, grounds among them */
    double ground_force[3];    /**< of all grounds and fixed bodies on what touches them [N] */
    double contact_depth;      /**< deepest contact [m] */
    double contacts;           /**< points that touch */
} skel_report_row;
/** Set row->struct_size first. */
SKEL_API skel_status skel_report(const skel_state *state, skel_report_row *row);

#ifdef __cplusplus
}
#endif
#endif
