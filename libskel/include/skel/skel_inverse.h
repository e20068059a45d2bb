/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse dynamics: which forces make a known motion [RUD 4.4.1]. For one state, or for a whole
   motion that is sampled at an even rate. Trees only: how a closed loop shares its forces no motion
   tells. Pins are no forces of the scene: what they do counts as missing. */
#ifndef SKEL_INVERSE_H
#define SKEL_INVERSE_H

#include <skel/skel_state.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The state moves with the accelerations `linear` and `angular`, as skel_accelerations has them.
    torque (skel_model_dof): generalised force that must act at each joint beyond all that the scene
    has itself (gravity, loads, friction, motors, springs, ...), positive where it makes q grow:
    hinge [N m], slide [N], universal: about the outer z and the inner x, ball: on the child, in
    inner axes. torque . qd is its power. A motor of minus this number does it.
    wrench (joint_count x 6, may be NULL): all that passes through the joint onto its child, force
    and torque at the joint point, world axes.
    residual (body_count x 6, may be NULL): force and torque about its centre of mass, world axes,
    that a free root would need from outside; zero for all other bodies.
    Allocates nothing. err may be NULL. SKEL_E_UNSUPPORTED where joints close loops. */
SKEL_API skel_status skel_inverse_dynamics(skel_state *state, const double *linear,
                                           const double *angular, double *torque, double *wrench,
                                           double *residual, skel_error *err);

typedef struct skel_inverse_desc {
    uint32_t              struct_size;
    uint32_t              sample_count; /* >= 3; below 10 the derivatives are of lower order */
    const skel_model     *model;        /* must outlive the result */
    const double         *poses;       /* [sample][body][7]: x y z, w x y z; borrowed until the call
                                       returns. A body turns by less than half a turn per sample */
    double                sample_rate; /* [1/s], > 0; sample k is at time start + k / sample_rate */
    double                start;       /* [s]: when curves of the scene are to be read; default 0 */
    double                cutoff;      /* [Hz]: low-pass filter of all coordinates before they are
                                     differentiated, below sample_rate / 2; 0: none */
    const skel_allocator *allocator;   /* copied; NULL: the model's */
} skel_inverse_desc;
SKEL_API void skel_inverse_desc_init_sized(skel_inverse_desc *desc, size_t size);
#define skel_inverse_desc_init(d) skel_inverse_desc_init_sized((d), sizeof *(d))

/** A motion and its forces; immutable. */
typedef struct skel_inverse skel_inverse;

/** Joint coordinates and those of the roots are taken from the poses, made continuous, filtered,
    differentiated twice (eighth order), and the forces found at every sample. On failure *out is
    NULL. err may be NULL. */
SKEL_API skel_status skel_inverse_create(const skel_inverse_desc *desc, skel_inverse **out,
                                         skel_error *err);
SKEL_API void        skel_inverse_destroy(skel_inverse *inverse); /* NULL is fine */

SKEL_API int32_t skel_inverse_sample_count(const skel_inverse *inverse);
/** Body that may have a residual, the k-th free root; -1 where there are no more. */
SKEL_API int32_t skel_inverse_free_root(const skel_inverse *inverse, int32_t k);
/* [sample][...] as at skel_inverse_dynamics, owned by the handle. Angles go on beyond pi. */
SKEL_API const double *skel_inverse_q(const skel_inverse *inverse);
SKEL_API const double *skel_inverse_qd(const skel_inverse *inverse);
SKEL_API const double *skel_inverse_qdd(const skel_inverse *inverse);
SKEL_API const double *skel_inverse_torque(const skel_inverse *inverse);
SKEL_API const double *skel_inverse_wrench(const skel_inverse *inverse);
SKEL_API const double *skel_inverse_residual(const skel_inverse *inverse);
/** [sample][joint]: torque . qd [W]. */
SKEL_API const double *skel_inverse_power(const skel_inverse *inverse);
/** The filtered motion at a sample: sets poses, velocities and time of a state of the same model.
    linear and angular (body_count x 3 each, as skel_accelerations) may be NULL. */
SKEL_API skel_status skel_inverse_get_state(const skel_inverse *inverse, int32_t sample,
                                            skel_state *state, double *linear, double *angular);

/** How far to trust it. */
typedef struct skel_inverse_summary {
    uint32_t struct_size;
    int32_t  order;        /* of the second derivatives */
    double   cutoff;       /* [Hz] as it was used; 0: none */
    double   joint_gap;    /* how far the poses were from fitting the joints: largest [m] */
    double   misalignment; /* [rad] */
    double   filter_shift; /* largest change that the filter made: of an angle [rad] */
    double   filter_move;  /* of a distance [m] */
    /* Differentiating twice lifts noise by the square of its frequency. Of the joint where that is
       worst: the share of the torque's energy above a quarter of the sample rate. */
    double  noise;            /* 0..1; 0 where all torques are too small to matter */
    double  suggested_cutoff; /* [Hz]: where noise begins to win; 0: none is needed */
    int32_t noise_joint;      /* -1: none */
    int32_t reserved;
} skel_inverse_summary;
SKEL_API skel_status skel_inverse_get_summary(const skel_inverse   *inverse,
                                              skel_inverse_summary *summary);

#ifdef __cplusplus
}
#endif
#endif
