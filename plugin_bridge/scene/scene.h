/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: what a scene is, and the reader that the parts of `skel-scene/1` share. */
#ifndef BRIDGE_SCENE_SCENE_H
#define BRIDGE_SCENE_SCENE_H

#include "document/doc.h"

#include <skel/skel_scene.h>

#define SKEL__SCENE_BODIES 100000
#define SKEL__SCENE_JOINTS 100000
#define SKEL__SCENE_GROUNDS 100000
#define SKEL__SCENE_CONTACTS 100000
#define SKEL__SCENE_GOALS 100000
#define SKEL__SCENE_FRAMES 10000000
#define SKEL__SCENE_POSES 200000000.0
#define SKEL__ALWAYS 1e300 /* [s]: pinned from -this to this is pinned from start to end */
#define SKEL__SCENE_WARNINGS 16
#define SKEL__POSE_SLACK 1e-6 /* how far two ways to say one pose may differ: [m], [1], [rad] */

/* A wobbling mass as the document has it: the model keeps its place in the axes of the host, from
   which the same bits would not come back. */
typedef struct skel__wobble_note {
    double position[3];
    double axis[3];
    double displacement[3];
} skel__wobble_note;

typedef struct skel__robot skel__robot;
/* What of a body is an estimate of this program and not a number of the document. */
enum { SKEL__ESTIMATED_NOTHING, SKEL__ESTIMATED_INERTIA, SKEL__ESTIMATED_MASS /* and inertia */ };
/* Joint coordinates that a word of the document may stand for. */
enum { SKEL__Q_NONE, SKEL__Q_CURRENT, SKEL__Q_MIDDLE, SKEL__Q_GIVEN };

/* What the document says of inverse kinematics; a bake uses nothing of it. */
typedef struct skel__ik_note {
    skel_ik_desc        desc;
    skel_ik_motion_desc motion; /* points to desc */
    skel_goal_desc     *goals;
    skel_goal_track    *tracks;
    const char        **names; /* (goals) NULL where there is none */
    double             *seed, *posture;
    int32_t             seed_kind, posture_kind; /* SKEL__Q_* */
    double             *joint_speed;             /* (joints) [rad/s], [m/s]; 0: no bound */
    double             *joint_stiffness;         /* (joints) */
    bool                given;                   /* the document has `ik` */
} skel__ik_note;

/* The bake desc comes first: a pointer to a scene is a pointer to a skel_bake_desc. */
struct skel_scene {
    skel_bake_desc     bake;
    skel_model        *model;
    int32_t            frame_start;
    int32_t            frame_end;
    char               name[256];
    skel__wobble_note *wobbles; /* (skel_model_wobble_count) */
    skel__ik_note      ik;
    void              *blocks;    /* memory of skel__scene_keep */
    skel__robot       *robot;     /* frames, poses and the like of a robot; NULL: none */
    uint8_t           *estimated; /* (bodies) SKEL__ESTIMATED_*, in `blocks`; NULL: nothing is */
    const char       **warnings;  /* what commands of dynamics have to say, in `blocks` */
    int32_t            warning_count;
};

/** Names to indices, open addressing. */
typedef struct skel__names {
    const char **name;
    int32_t     *index;
    uint32_t     mask;
} skel__names;

typedef struct skel__body_note {
    const skel__json *node;
    bool              placed;    /* has a position of its own or of its curve */
    bool              framed;    /* a joint with frames could place it */
    int32_t           estimated; /* SKEL__ESTIMATED_* */
} skel__body_note;

typedef struct skel__joint_note {
    const skel__json *node;
    bool              anchored; /* no frames: stands in the world at the given pose */
    bool              has_q;
} skel__joint_note;

typedef struct skel__reader {
    skel__doc         doc;
    skel__at          root;
    double            angle; /* rad per unit of the document's angles */
    double            gravity[3];
    int32_t           body_count;
    int32_t           joint_count;
    skel_body_desc   *bodies;
    skel_joint_desc  *joints;
    skel__body_note  *body_notes;
    skel__joint_note *joint_notes;
    skel__names       body_names;
    skel__names       joint_names;
    skel_ground_desc *grounds;
    skel_wobble_desc *wobbles; /* those that are not locked */
    skel_field_desc  *fields;
    int32_t           ground_count;
    int32_t           wobble_count;
    int32_t           field_count;
    int32_t           frame_count; /* of the goals' lists, 0: none has one */
    double            frame_spin[3];
    double            frame_acceleration[3];
    skel_curve        frame_spin_curve;
    skel_curve        frame_acceleration_curve;
    skel__at          wobbles_at;
    skel__at          bodies_at;
    skel__at          joints_at;
} skel__reader;

/** Index of the name, or -2. */
int32_t skel__names_find(const skel__names *names, const char *name);
bool    skel__names_open(skel__doc *doc, skel__names *names, int32_t count);
/** Index that the name already has, or -2 and the name is entered. */
int32_t skel__names_put(skel__names *names, const char *name, int32_t index);

/** `time`: 1 to SKEL__DOC_MAX_SAMPLES numbers, strictly increasing. */
bool skel__read_times(skel__doc *doc, const skel__at *at, skel_curve *curve);
/** As many samples of `width` numbers (1 to 4) as curve has times; width 4: unit quaternions. */
bool skel__read_samples(skel__doc *doc, const skel__at *at, uint32_t width, skel_curve *curve);
/** {"time", "value"}. */
bool skel__read_curve(skel__doc *doc, const skel__at *at, uint32_t width, skel_curve *curve);
/** {"time", "value", "interpolation"}; *smooth where that is cubic. */
bool skel__read_smooth_curve(skel__doc *doc, const skel__at *at, uint32_t width, skel_curve *curve,
                             bool *smooth);
/** [x, y, z] or a curve of it. smooth: where `interpolation` goes; NULL: it is no field here. */
void skel__read_load(skel__doc *doc, const skel__at *at, double constant[3], skel_curve *curve,
                     bool *smooth);
/** Mass, shape and inertia, any of which may be absent; a given inertia wins over the shape's. */
void skel__read_mass(skel__doc *doc, const skel__at *mass, const skel__at *shape,
                     const skel__at *inertia, skel_body_desc *b);
/** A direction of any length but 0, normalised. */
bool skel__read_axis(skel__doc *doc, const skel__at *at, double out[3]);
/** The name of a body or "world": its index. */
bool skel__read_body_name(skel__reader *r, const skel__at *at, int32_t *out);
bool skel__read_bone_name(skel__reader *r, const skel__at *at, int32_t *out); /* no soft mass */
/** A number from 0 to 1. */
bool skel__read_ratio(skel__doc *doc, const skel__at *at, double *out);

/** One number of an object that has only numbers. */
typedef struct skel__constant {
    const char *name; /* NULL ends the list */
    bool        is_required;
    skel__sign  sign;
    double     *out;
} skel__constant;
bool skel__read_numbers(skel__doc *doc, const skel__at *at, const char *what,
                        const skel__constant *wanted);

void skel__cross(const double a[3], const double b[3], double out[3]);
/** World to body axes, and back. */
void skel__unrotate(const double q[4], const double v[3], double out[3]);
void skel__rotate(const double q[4], const double v[3], double out[3]);

/** The members of a joint that act. */
typedef struct skel__joint_parts {
    skel__at motor, limits, follow, limit_torque, limit_restitution, spring, muscle;
} skel__joint_parts;
void skel__read_actuators(skel__reader *r, const skel__joint_parts *at, skel_joint_desc *j);

/** Goes with the joint of that name: q = factor q' + offset, in the document's units. */
typedef struct skel__mimic {
    const char *of;
    double      factor, offset;
} skel__mimic;
/** The object `mimic` of a joint; false where there is none or it is wrong. */
bool skel__read_mimic(skel__doc *doc, const skel__at *at, skel__mimic *out);
/** What a multiplier has to be taken by: units of a joint of `type` per unit of one of type `of`,
    `angle` and `length` in rad and m. */
double skel__mimic_unit(int32_t type, int32_t of, double angle, double length);
/** Of all joints, and of the robot's list; after the joints. */
void skel__read_mimics(skel__reader *r);
/** Warns where the given pose, of coordinates q, does not obey. */
void skel__check_mimics(skel__reader *r, const skel_model *model, const double *q);
void skel__put_mimic(skel__text *t, const char *of, double factor, double offset);

void skel__read_bodies(skel__reader *r, const skel__at *at);
void skel__read_joints(skel__reader *r, const skel__at *at);
void skel__read_grounds(skel__reader *r, const skel__at *at);
void skel__read_forces(skel__reader *r, const skel__at *at);
void skel__read_frame_of_reference(skel__reader *r, const skel__at *at);
/** How many bodies (and joints, where locked) the wobbling masses may need. */
int32_t skel__wobble_room(const skel__reader *r);
/** After bodies and joints: appends to them. Notes what the model does not keep in *s. */
void skel__read_wobbles(skel__reader *r, skel_scene *s);
/** Zeroed memory that lives as long as the scene; NULL: noted as no_memory. */
void *skel__scene_keep(skel__reader *r, skel_scene *s, size_t count, size_t size);
/** After bodies and joints. */
void skel__read_goals(skel__reader *r, const skel__at *at, skel_scene *s);
/** After the goals. */
void skel__read_ik(skel__reader *r, const skel__at *at, skel_scene *s);
void skel__ik_init(skel__ik_note *note);
/** Once there is a model. */
void skel__ik_finish(skel__reader *r, skel_scene *s);
/** The model of the scene, and how many frames. */
void skel__ik_bind(skel_scene *s, int32_t frames);
void skel__put_goals(skel__text *t, const skel_scene *s);
/** A warning of `check` that every command of dynamics repeats (skel_scene_warning). */
SKEL__DOC_PRINTF(3, 4)
void skel__scene_warn(skel__doc *doc, skel_scene *s, const char *form, ...);
/** Whether the scene's mass or inertia of a body (SKEL__ESTIMATED_*) is an estimate. */
bool skel__is_estimated(const skel_scene *s, int32_t body, int32_t what);
/** `estimated` of the bodies, which s keeps: warns of it. Once there is a model. */
void skel__keep_estimated(skel__reader *r, skel_scene *s);
/** Gives the caller a document in another notation (skel__text_give), if that can be read: numbers
    that the conversion made may be too large or too small for it. Else SKEL_E_DOCUMENT, or
    SKEL_E_MEMORY. `what` names the document in the message. */
skel_status skel__give_readable(const skel__text *t, const char *what, char *text, size_t capacity,
                                size_t *needed, skel_error *err);
/** Every body must be placed: by its position, its curve or a joint with frames. */
void skel__check_placing(skel__reader *r);

#endif
