/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Inverse dynamics: which forces make a known motion [RUD 4.4.1]. For one state, or for a whole
   motion that is sampled at an even rate. Trees only: forces inside closed loops are indeterminate.

   Contact forces are solved for. The motion of a skeleton with a free root gives six equations for
   them; of all forces within the friction cones that leave the smallest residual (torques divided
   by the size of the scene), those nearest to the contact law are taken, the law evaluated at the
   depth and speed of the motion. How several contacts share their load follows from the law alone,
   and the torques of joints between them with it. Skeletons that hang from the world or from a
   driven body have no such equations: their contacts have the law's forces. So have those of a
   skeleton while a pin holds it: forces of pins are not modelled and appear in the residual. */
#ifndef SKEL_INVERSE_H
#define SKEL_INVERSE_H

#include <skel/skel_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The state moves with the accelerations `linear` and `angular`, as skel_accelerations has them.
    torque (skel_model_dof): generalised force that must act at each joint beyond all that the scene
    has itself (gravity, fields, loads, friction, motors, springs, followed animation, limiting
    torques, wobbling masses, and contact forces as above), positive where it makes q grow:
    hinge [N m], slide [N], universal: about the outer z and the inner x, ball: on the child, in
    inner axes. torque . qd is its power. A motor of minus this number does it. Hard stops count as
    unknown: what they do is part of it, unless a step of the state has found them pushing. Muscles
    are counted with the torque that the state has for them.
    wrench (joint_count x 6, may be NULL): all that passes through the joint onto its child, force
    and torque at the joint point, world axes.
    residual (body_count x 6, may be NULL): force and torque about its centre of mass, world axes,
    that a free root would need from outside beyond its contacts; zero for all other bodies.
    Bristles of contacts are bent as the state has them. Allocates nothing but, at the first call
    for a state of a model with contacts, the workspace of those. err may be NULL.
    SKEL_E_UNSUPPORTED where joints close loops, SKEL_E_DIVERGED where a force is not finite. */
SKEL_API skel_status skel_inverse_dynamics(skel_state *state, const double *linear,
                                           const double *angular, double *torque, double *wrench,
                                           double *residual, skel_error *err);

/** A motion to be analysed. */
typedef struct skel_inverse_desc {
    uint32_t struct_size;    /**< sizeof this struct in the caller */
    uint32_t sample_count;   /**< >= 3; below 10 the derivatives are of lower order */
    const skel_model *model; /**< must outlive the result */
    /** [sample][body][7]: x y z, w x y z; borrowed until the call returns. A body turns by less
        than half a turn per sample */
    const double *poses;
    /** [1/s], > 0; sample k is at time start + k / sample_rate */
    double sample_rate;
    /** [s]: when curves of the scene are to be read; default 0 */
    double start;
    /** [Hz]: low-pass filter of all coordinates before they are differentiated, below
        sample_rate / 2; 0: none */
    double cutoff;
    const skel_allocator *allocator; /**< copied; NULL: the model's */
} skel_inverse_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_inverse_desc_init_sized(skel_inverse_desc *desc, size_t size);
/** Calls skel_inverse_desc_init_sized with the size of the caller's struct. */
#define skel_inverse_desc_init(d) skel_inverse_desc_init_sized((d), sizeof *(d))

/** A motion and its forces; immutable. */
typedef struct skel_inverse skel_inverse;

/** Joint coordinates and those of the roots are taken from the poses, made continuous, filtered,
    differentiated twice (eighth order), and the forces found at every sample. Without a cut-off,
    derivatives do not reach across touch-downs, lift-offs and hits of stops where ten samples lie
    between two such events. Torques of muscles count as unknown: they are part of `torque`. The
    bristles of contacts are followed from sample to sample. On failure *out is NULL. err may be
    NULL. SKEL_E_DIVERGED: a result is not finite. */
SKEL_API skel_status skel_inverse_create(const skel_inverse_desc *desc, skel_inverse **out,
                                         skel_error *err);
SKEL_API void skel_inverse_destroy(skel_inverse *inverse); /**< does nothing if NULL */

/** Number of samples. */
SKEL_API int32_t skel_inverse_sample_count(const skel_inverse *inverse);
/** Body that may have a residual, the k-th free root; -1 where there are no more. */
SKEL_API int32_t skel_inverse_free_root(const skel_inverse *inverse, int32_t k);
/** [sample][...] as at skel_inverse_dynamics, owned by the handle. Angles go on beyond pi. */
SKEL_API const double *skel_inverse_q(const skel_inverse *inverse);
/** [sample][dof]; see skel_inverse_q. */
SKEL_API const double *skel_inverse_qd(const skel_inverse *inverse);
/** [sample][dof]; see skel_inverse_q. */
SKEL_API const double *skel_inverse_qdd(const skel_inverse *inverse);
/** [sample][dof]; see skel_inverse_q. */
SKEL_API const double *skel_inverse_torque(const skel_inverse *inverse);
/** [sample][joint][6]; see skel_inverse_q. */
SKEL_API const double *skel_inverse_wrench(const skel_inverse *inverse);
/** [sample][body][6]; see skel_inverse_q. */
SKEL_API const double *skel_inverse_residual(const skel_inverse *inverse);
/** [sample][joint]: torque . qd [W]. */
SKEL_API const double *skel_inverse_power(const skel_inverse *inverse);
/** [sample]: how far the forces through joints and onto free roots may be wrong [N] because of the
    derivatives: 110 times the largest change, nearby, where accelerations are taken from two
    samples fewer. Next to nothing where the motion is smooth; large where there is noise, or where
    a force jumps or kinks. */
SKEL_API const double *skel_inverse_uncertainty(const skel_inverse *inverse);
/** Of a sample: a touch-down, a lift-off or a stop is near, and the next one too: derivatives reach
    across, forces are blurred. */
#define SKEL_INVERSE_ACROSS_EVENT 1
/** Of a sample: no equation tells some contact's force, it is the law's: the skeleton is held by a
    pin, by the world or a driven body, or it touches itself. */
#define SKEL_INVERSE_LAW 2
/** Of a sample: the contact forces found are not the best ones. */
#define SKEL_INVERSE_UNSOLVED 4
/** [sample]: what is special about it, bits SKEL_INVERSE_*. */
SKEL_API const int32_t *skel_inverse_flags(const skel_inverse *inverse);

/** A contact that touches at a sample, and the force that was found for it. */
typedef struct skel_inverse_contact {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t body;         /**< the force acts on this body, */
    int32_t other;        /**< and its opposite on this one; SKEL_WORLD: on the world */
    int32_t ground;       /**< the ground that is touched; -1: two shapes touch */
    double point[3];      /**< [m] world axes, like all here */
    double normal[3];     /**< unit vector toward `body` */
    double force[3];      /**< [N] */
    double depth;         /**< [m] */
    double law;           /**< [N] normal force of the contact law at this depth and speed */
} skel_inverse_contact;
/** Contacts that touch at a sample; 0 where the sample does not exist. */
SKEL_API int32_t skel_inverse_contact_count(const skel_inverse *inverse, int32_t sample);
/** The k-th of them. contact->struct_size must be set. */
SKEL_API skel_status skel_inverse_get_contact(const skel_inverse *inverse, int32_t sample,
                                              int32_t k, skel_inverse_contact *contact);
/** The filtered motion at a sample: sets poses, velocities and time of a state of the same model.
    linear and angular (body_count x 3 each, as skel_accelerations) may be NULL. */
SKEL_API skel_status skel_inverse_get_state(const skel_inverse *inverse, int32_t sample,
                                            skel_state *state, double *linear, double *angular);

/** How far to trust it. */
typedef struct skel_inverse_summary {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t order;        /**< of the second derivatives */
    double cutoff;        /**< [Hz] as it was used; 0: none */
    double joint_gap;     /**< how far the poses were from fitting the joints: largest [m] */
    double misalignment;  /**< [rad] */
    double filter_shift;  /**< largest change that the filter made: of an angle [rad] */
    double filter_move;   /**< of a distance [m] */
    /** Differentiating twice lifts noise by the square of its frequency. Of the joint where that is
       worst: the share of the torque's energy above a quarter of the sample rate. */
    double noise;            /**< 0..1; 0 where all torques are too small to matter */
    double suggested_cutoff; /**< [Hz]: where noise begins to win; 0: none is needed */
    int32_t noise_joint;     /**< -1: none */
    int32_t reserved;        /**< 0 */
    /** Of the samples without SKEL_INVERSE_ACROSS_EVENT: what no contact explains. */
    double residual_force;   /**< [N] largest of all free roots */
    double residual_torque;  /**< [N m], likewise */
    int32_t residual_sample; /**< where the force is largest; -1: there is none */
    int32_t contact_samples; /**< samples at which something touches */
    int32_t event_samples;   /**< samples with SKEL_INVERSE_ACROSS_EVENT */
    int32_t law_samples;     /**< samples with SKEL_INVERSE_LAW or _UNSOLVED */
} skel_inverse_summary;
/** Set summary->struct_size first. */
SKEL_API skel_status skel_inverse_get_summary(const skel_inverse *inverse,
                                              skel_inverse_summary *summary);

#ifdef __cplusplus
}
#endif
#endif
