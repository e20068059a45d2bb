/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: what a scene is, and the reader that the parts of `skel-scene/1` share. */
#ifndef BRIDGE_SCENE_SCENE_H
#define BRIDGE_SCENE_SCENE_H

#include "document/doc.h"

#include <skel/skel_scene.h>

#define SCENE_BODIES 100000
#define SCENE_JOINTS 100000
#define SCENE_GROUNDS 100000
#define SCENE_CONTACTS 100000
#define SCENE_GOALS 100000
#define SCENE_FRAMES 10000000
#define SCENE_POSES 200000000.0
#define SCENE_ALWAYS 1e300 /* [s]: pinned from -this to this is pinned from start to end */
#define SCENE_WARNINGS 16
#define SCENE_POSE_SLACK 1e-6 /* how far two ways to say one pose may differ: [m], [1], [rad] */

/* A wobbling mass as the document has it: the model keeps its place in the axes of the host, from
   which the same bits would not come back. */
typedef struct scene_wobble_note {
    double position[3];
    double axis[3];
    double displacement[3];
} scene_wobble_note;

typedef struct robot_data robot_data;
/* What of a body is an estimate of this program and not a number of the document. */
enum { SCENE_ESTIMATED_NOTHING, SCENE_ESTIMATED_INERTIA, SCENE_ESTIMATED_MASS /* and inertia */ };
/* Joint coordinates that a word of the document may stand for. */
enum { SCENE_Q_NONE, SCENE_Q_CURRENT, SCENE_Q_MIDDLE, SCENE_Q_GIVEN };

/* What the document says of inverse kinematics; a bake uses nothing of it. */
typedef struct scene_ik_note {
    skel_ik_desc desc;
    skel_ik_motion_desc motion; /* points to desc */
    skel_goal_desc *goals;
    skel_goal_track *tracks;
    const char **names; /* (goals) NULL where there is none */
    double *seed, *posture;
    int32_t seed_kind, posture_kind; /* SCENE_Q_* */
    double *joint_speed;             /* (joints) [rad/s], [m/s]; 0: no bound */
    double *joint_stiffness;         /* (joints) */
    bool given;                      /* the document has `ik` */
} scene_ik_note;

struct skel_scene {
    skel_bake_desc bake;
    skel_model *model;
    int32_t frame_start;
    int32_t frame_end;
    char name[256];
    scene_wobble_note *wobbles; /* (skel_model_wobble_count) */
    scene_ik_note ik;
    void *blocks;          /* memory of scene_keep */
    robot_data *robot;     /* frames, poses and the like of a robot; NULL: none */
    uint8_t *estimated;    /* (bodies) SCENE_ESTIMATED_*, in `blocks`; NULL: nothing is */
    const char **warnings; /* what commands of dynamics have to say, in `blocks` */
    int32_t warning_count;
};

/** Names to indices, open addressing. */
typedef struct name_table {
    const char **name;
    int32_t *index;
    uint32_t mask;
} name_table;

typedef struct scene_body_note {
    const json_value *node;
    bool placed;       /* has a position of its own or of its curve */
    bool framed;       /* a joint with frames could place it */
    int32_t estimated; /* SCENE_ESTIMATED_* */
} scene_body_note;

typedef struct scene_joint_note {
    const json_value *node;
    bool anchored; /* no frames: stands in the world at the given pose */
    bool has_q;
} scene_joint_note;

typedef struct scene_reader {
    document doc;
    doc_at root;
    double angle; /* rad per unit of the document's angles */
    double gravity[3];
    int32_t body_count;
    int32_t joint_count;
    skel_body_desc *bodies;
    skel_joint_desc *joints;
    scene_body_note *body_notes;
    scene_joint_note *joint_notes;
    name_table body_names;
    name_table joint_names;
    skel_ground_desc *grounds;
    skel_wobble_desc *wobbles; /* those that are not locked */
    skel_field_desc *fields;
    int32_t ground_count;
    int32_t wobble_count;
    int32_t field_count;
    int32_t frame_count; /* of the goals' lists, 0: none has one */
    double frame_spin[3];
    double frame_acceleration[3];
    skel_curve frame_spin_curve;
    skel_curve frame_acceleration_curve;
    doc_at wobbles_at;
    doc_at bodies_at;
    doc_at joints_at;
} scene_reader;

/** Index of the name, or -2. */
int32_t names_find(const name_table *names, const char *name);
bool names_open(document *doc, name_table *names, int32_t count);
/** Index that the name already has, or -2 and the name is entered. */
int32_t names_put(name_table *names, const char *name, int32_t index);

/** `time`: 1 to DOC_MAX_SAMPLES numbers, strictly increasing. */
bool scene_read_times(document *doc, const doc_at *at, skel_curve *curve);
/** As many samples of `width` numbers (1 to 4) as curve has times; width 4: unit quaternions. */
bool scene_read_samples(document *doc, const doc_at *at, uint32_t width, skel_curve *curve);
/** {"time", "value"}. */
bool scene_read_curve(document *doc, const doc_at *at, uint32_t width, skel_curve *curve);
/** {"time", "value", "interpolation"}; *smooth where that is cubic. */
bool scene_read_smooth_curve(document *doc, const doc_at *at, uint32_t width, skel_curve *curve,
                             bool *smooth);
/** [x, y, z] or a curve of it. smooth: where `interpolation` goes; NULL: it is no field here. */
void scene_read_load(document *doc, const doc_at *at, double constant[3], skel_curve *curve,
                     bool *smooth);
/** Mass, shape and inertia, any of which may be absent; a given inertia wins over the shape's. */
void scene_read_mass(document *doc, const doc_at *mass, const doc_at *shape, const doc_at *inertia,
                     skel_body_desc *b);
/** A direction of any length but 0, normalised. */
bool scene_read_axis(document *doc, const doc_at *at, double out[3]);
/** The name of a body or "world": its index. */
bool scene_read_body_name(scene_reader *r, const doc_at *at, int32_t *out);
bool scene_read_bone_name(scene_reader *r, const doc_at *at, int32_t *out); /* no soft mass */
/** A number from 0 to 1. */
bool scene_read_ratio(document *doc, const doc_at *at, double *out);

/** One number of an object that has only numbers. */
typedef struct scene_constant {
    const char *name; /* NULL ends the list */
    bool is_required;
    doc_sign sign;
    double *out;
} scene_constant;
bool scene_read_numbers(document *doc, const doc_at *at, const char *what,
                        const scene_constant *wanted);

void scene_cross(const double a[3], const double b[3], double out[3]);
/** World to body axes, and back. */
void scene_unrotate(const double q[4], const double v[3], double out[3]);
void scene_rotate(const double q[4], const double v[3], double out[3]);

/** The members of a joint that act. */
typedef struct scene_joint_parts {
    doc_at motor, limits, follow, limit_torque, limit_restitution, spring, muscle;
} scene_joint_parts;
void scene_read_actuators(scene_reader *r, const scene_joint_parts *at, skel_joint_desc *j);

/** Goes with the joint of that name: q = factor q' + offset, in the document's units. */
typedef struct scene_mimic {
    const char *of;
    double factor, offset;
} scene_mimic;
/** The object `mimic` of a joint; false where there is none or it is wrong. */
bool scene_read_mimic(document *doc, const doc_at *at, scene_mimic *out);
/** What a multiplier has to be taken by: units of a joint of `type` per unit of one of type `of`,
    `angle` and `length` in rad and m. */
double scene_mimic_unit(int32_t type, int32_t of, double angle, double length);
/** Of all joints, and of the robot's list; after the joints. */
void scene_read_mimics(scene_reader *r);
/** Warns where the given pose, of coordinates q, does not obey. */
void scene_check_mimics(scene_reader *r, const skel_model *model, const double *q);
void scene_put_mimic(text_buffer *t, const char *of, double factor, double offset);

void scene_read_bodies(scene_reader *r, const doc_at *at);
void scene_read_joints(scene_reader *r, const doc_at *at);
void scene_read_grounds(scene_reader *r, const doc_at *at);
void scene_read_forces(scene_reader *r, const doc_at *at);
void scene_read_frame_of_reference(scene_reader *r, const doc_at *at);
/** How many bodies (and joints, where locked) the wobbling masses may need. */
int32_t scene_wobble_room(const scene_reader *r);
/** After bodies and joints: appends to them. Notes what the model does not keep in *s. */
void scene_read_wobbles(scene_reader *r, skel_scene *s);
/** Zeroed memory that lives as long as the scene; NULL: noted as no_memory. */
void *scene_keep(scene_reader *r, skel_scene *s, size_t count, size_t size);
/** After bodies and joints. */
void scene_read_goals(scene_reader *r, const doc_at *at, skel_scene *s);
/** After the goals. */
void scene_read_ik(scene_reader *r, const doc_at *at, skel_scene *s);
void scene_ik_init(scene_ik_note *note);
/** Once there is a model. */
void scene_ik_finish(scene_reader *r, skel_scene *s);
/** The model of the scene, and how many frames. */
void scene_ik_bind(skel_scene *s, int32_t frames);
void scene_put_goals(text_buffer *t, const skel_scene *s);
/** A warning of `check` that every command of dynamics repeats (skel_scene_warning). */
DOC_PRINTF(3, 4)
void scene_warn(document *doc, skel_scene *s, const char *form, ...);
/** Whether the scene's mass or inertia of a body (SCENE_ESTIMATED_*) is an estimate. */
bool scene_is_estimated(const skel_scene *s, int32_t body, int32_t what);
/** `estimated` of the bodies, which s keeps: warns of it. Once there is a model. */
void scene_keep_estimated(scene_reader *r, skel_scene *s);
/** Gives the caller a document in another notation (text_give), if that can be read: numbers
    that the conversion made may be too large or too small for it. Else SKEL_E_DOCUMENT, or
    SKEL_E_MEMORY. `what` names the document in the message. */
skel_status scene_give_readable(const text_buffer *t, const char *what, char *text, size_t capacity,
                                size_t *needed, skel_error *err);
/** Every body must be placed: by its position, its curve or a joint with frames. */
void scene_check_placing(scene_reader *r);

#endif
