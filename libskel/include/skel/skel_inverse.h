/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Inverse dynamics: joint torques and contact forces of a known motion [RUD 4.4.1], for one state
   or for a motion that is sampled at a constant rate. Only trees are supported: the forces inside
   closed loops are indeterminate.

   Contact forces are unknowns. The motion of a skeleton with a free root gives six equations for
   them. Of all forces within the friction cones that leave the smallest residual (torques divided
   by the size of the scene), those nearest to the forces of the contact law are taken. The law is
   evaluated at the penetration and speed of the motion. The distribution of a load over several
   contacts, and the torques of the joints between them, therefore depend on the law.

   Skeletons that hang from the world or from a driven body, and skeletons that a pin holds, have no
   such equations: their contacts have the forces of the law. Forces of pins are not modelled and
   appear in the residual. */
#ifndef SKEL_INVERSE_H
#define SKEL_INVERSE_H

#include <skel/skel_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Computes the forces for the accelerations `linear` and `angular` of a state, which have the form
    of skel_accelerations. torque (skel_model_dof): generalised force that each joint needs in
    addition to all forces of the model (gravity, fields, loads, friction, motors, springs, follow
    springs, limiting torques, wobbling masses, muscles at their present torque, and the contact
    forces above). It is positive if it makes q grow: hinge [N m], slide [N]; universal: about the
    outer z and the inner x [N m]; ball: on the child in inner axes [N m]. Its power is torque . qd.
    A motor has the opposite sign. The forces of hard stops are part of torque, unless a step has
    found the stop in contact. wrench (joint_count x 6, may be NULL): total force [N] and torque [N
    m] of the joint on its child at the joint point, world axes. residual (body_count x 6, may be
    NULL): force [N] and torque [N m] about the centre of mass that a free root needs in addition to
    its contacts, world axes; zero for all other bodies. The tangential displacements of contacts
    are those of the state. The first call for a state of a model with contacts allocates their
    workspace; other calls allocate nothing. err may be NULL. SKEL_E_UNSUPPORTED: joints close
    loops. SKEL_E_DIVERGED: a force is not finite. */
SKEL_API skel_status skel_inverse_dynamics(skel_state *state, const double *linear,
                                           const double *angular, double *torque, double *wrench,
                                           double *residual, skel_error *err);

/** Arguments of skel_inverse_create: a motion. */
typedef struct skel_inverse_desc {
    uint32_t struct_size;    /**< sizeof this struct in the caller */
    uint32_t sample_count;   /**< >= 3; with less than 10 the derivatives have a lower order */
    const skel_model *model; /**< must outlive the result */
    /** [sample][body][7]: x y z [m], w x y z; borrowed until the call returns. Between two samples
        a body must turn by less than half a turn */
    const double *poses;
    double sample_rate; /**< [1/s], > 0; sample k is at time start + k / sample_rate */
    double start;       /**< time of the first sample, for the curves of the model [s]; default 0 */
    /** cut-off frequency of the low-pass filter that is applied to all coordinates before they are
        differentiated [Hz], below sample_rate / 2; 0 (default): no filter */
    double cutoff;
    const skel_allocator *allocator; /**< copied; NULL: the allocator of the model */
} skel_inverse_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_inverse_desc_init_sized(skel_inverse_desc *desc, size_t size);
/** Calls skel_inverse_desc_init_sized with the size of the caller's struct. */
#define skel_inverse_desc_init(d) skel_inverse_desc_init_sized((d), sizeof *(d))

/** A motion with its forces. It never changes. */
typedef struct skel_inverse skel_inverse;

/** Computes the forces of a motion at every sample. The coordinates of joints and roots are taken
    from the poses, made continuous, filtered, and differentiated twice (eighth order). Without a
    filter, derivatives do not use samples from both sides of a contact event (touch-down, lift-off,
    or hit of a stop), if ten samples lie between two events. Muscle torques count as unknown: they
    are part of `torque`. The tangential displacements of contacts are integrated from sample to
    sample. On success the caller owns *out; on failure *out is NULL. err may be NULL.
    SKEL_E_DIVERGED: a result is not finite. */
SKEL_API skel_status skel_inverse_create(const skel_inverse_desc *desc, skel_inverse **out,
                                         skel_error *err);
SKEL_API void skel_inverse_destroy(skel_inverse *inverse); /**< does nothing if NULL */

/** Number of samples. */
SKEL_API int32_t skel_inverse_sample_count(const skel_inverse *inverse);
/** Body index of the k-th free root, which may have a residual; -1 if there are not so many. */
SKEL_API int32_t skel_inverse_free_root(const skel_inverse *inverse, int32_t k);
/** Joint coordinates [sample][skel_model_q_count], filtered. Angles are continuous and may exceed
    pi. This array and those below are owned by the object. */
SKEL_API const double *skel_inverse_q(const skel_inverse *inverse);
/** Joint velocities [sample][skel_model_dof], [rad/s] or [m/s]. */
SKEL_API const double *skel_inverse_qd(const skel_inverse *inverse);
/** Joint accelerations [sample][skel_model_dof], [rad/s^2] or [m/s^2]. */
SKEL_API const double *skel_inverse_qdd(const skel_inverse *inverse);
/** Torques [sample][skel_model_dof], [N m] or [N]; see skel_inverse_dynamics. */
SKEL_API const double *skel_inverse_torque(const skel_inverse *inverse);
/** Wrenches [sample][joint][6]; see skel_inverse_dynamics. */
SKEL_API const double *skel_inverse_wrench(const skel_inverse *inverse);
/** Residuals [sample][body][6]; see skel_inverse_dynamics. */
SKEL_API const double *skel_inverse_residual(const skel_inverse *inverse);
/** Power [sample][joint]: torque . qd [W]. */
SKEL_API const double *skel_inverse_power(const skel_inverse *inverse);
/** Uncertainty [sample] of the forces of joints and residuals because of the derivatives [N]: 110
    times the largest change of a force, in nearby samples, if the accelerations use two samples
    less. It is close to zero for a smooth motion, and large if there is noise or if a force jumps
    or has a kink. */
SKEL_API const double *skel_inverse_uncertainty(const skel_inverse *inverse);
/** Flag of a sample: two contact events are so near that the derivatives use samples from both
    sides of one. The forces are smoothed. */
#define SKEL_INVERSE_ACROSS_EVENT 1
/** Flag of a sample: some contact force is that of the contact law, because no equation determines
    it. The skeleton is held by a pin, the world or a driven body, or it touches itself. */
#define SKEL_INVERSE_LAW 2
/** Flag of a sample: the solver for the contact forces did not converge. */
#define SKEL_INVERSE_UNSOLVED 4
/** Flags [sample]: bits SKEL_INVERSE_*. */
SKEL_API const int32_t *skel_inverse_flags(const skel_inverse *inverse);

/** A contact at a sample, with its force. Vectors are in world axes. */
typedef struct skel_inverse_contact {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t body;         /**< body that the force acts on */
    int32_t other;        /**< body that the opposite force acts on, or SKEL_WORLD */
    int32_t ground;       /**< index of the ground; -1: contact of two shapes */
    double point[3];      /**< contact point [m] */
    double normal[3];     /**< unit vector toward `body` */
    double force[3];      /**< force on `body` [N] */
    double depth;         /**< penetration [m] */
    double law;           /**< normal force of the contact law at this depth and speed [N] */
} skel_inverse_contact;
/** Number of contacts at a sample; 0 if there is no such sample. */
SKEL_API int32_t skel_inverse_contact_count(const skel_inverse *inverse, int32_t sample);
/** Copies the k-th contact of a sample. Set contact->struct_size first. SKEL_E_ARGUMENT: there is
    none. */
SKEL_API skel_status skel_inverse_get_contact(const skel_inverse *inverse, int32_t sample,
                                              int32_t k, skel_inverse_contact *contact);
/** Sets poses, velocities and time of a state of the same model to the filtered motion at a sample.
    linear and angular (body_count x 3 each, may be NULL) are its accelerations in the form of
    skel_accelerations. */
SKEL_API skel_status skel_inverse_get_state(const skel_inverse *inverse, int32_t sample,
                                            skel_state *state, double *linear, double *angular);

/** Receipt: figures that tell how exact the forces are. */
typedef struct skel_inverse_summary {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t order;        /**< order of the second derivatives */
    double cutoff;        /**< cut-off frequency of the filter [Hz]; 0: no filter */
    double joint_gap;     /**< largest joint gap of the given poses [m] */
    double misalignment;  /**< largest misalignment of the given poses [rad] */
    double filter_shift;  /**< largest change of an angle by the filter [rad] */
    double filter_move;   /**< largest change of a length by the filter [m] */
    /** share of the torque's energy above a quarter of the sample rate, 0 to 1, of the joint with
        the largest share; 0 if all torques are negligible. A second derivative amplifies noise by
        the square of its frequency. */
    double noise;
    double suggested_cutoff; /**< frequency above which noise prevails [Hz]; 0: no filter needed */
    int32_t noise_joint;     /**< joint that `noise` refers to; -1: none */
    int32_t reserved;        /**< 0 */
    /** largest residual force of a free root [N], at samples without SKEL_INVERSE_ACROSS_EVENT */
    double residual_force;
    double residual_torque;  /**< largest residual torque [N m], likewise */
    int32_t residual_sample; /**< sample of residual_force; -1: there is none */
    int32_t contact_samples; /**< number of samples with contacts */
    int32_t event_samples;   /**< number of samples with SKEL_INVERSE_ACROSS_EVENT */
    int32_t law_samples;     /**< number of samples with SKEL_INVERSE_LAW or _UNSOLVED */
} skel_inverse_summary;
/** Copies the receipt. Set summary->struct_size first. */
SKEL_API skel_status skel_inverse_get_summary(const skel_inverse *inverse,
                                              skel_inverse_summary *summary);

#ifdef __cplusplus
}
#endif
#endif
