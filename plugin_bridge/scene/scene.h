/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: the scene, and the reader that the files of `skel-scene/1` share. */
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
#define SCENE_ALWAYS 1e300 /* [s]: a pin from -SCENE_ALWAYS to SCENE_ALWAYS holds at all times */
#define SCENE_WARNINGS 16
#define SCENE_POSE_SLACK 1e-6 /* [m], [1], [rad]: between two descriptions of one pose */

/* A wobbling mass as the document has it, in the world. The model has it in the axes of the host,
   from which the same bits could not be recovered. */
typedef struct scene_wobble_note {
    double position[3];
    double axis[3];
    double displacement[3];
} scene_wobble_note;

typedef struct robot_data robot_data;
/* Which values of a body are estimates of this program and not numbers of the document. */
enum { SCENE_ESTIMATED_NOTHING, SCENE_ESTIMATED_INERTIA, SCENE_ESTIMATED_MASS /* with inertia */ };
/* Origin of joint coordinates: missing, a word of the document, or numbers. */
enum { SCENE_Q_NONE, SCENE_Q_CURRENT, SCENE_Q_MIDDLE, SCENE_Q_GIVEN };

/* Goals and settings of inverse kinematics. A bake does not use them. */
typedef struct scene_ik_note {
    skel_ik_desc desc;
    skel_ik_motion_desc motion; /* points to desc */
    skel_goal_desc *goals;
    skel_goal_track *tracks;
    const char **names; /* (goals) NULL: no name */
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
    robot_data *robot;     /* frames, poses, drives of a robot; NULL: none */
    uint8_t *estimated;    /* (bodies) SCENE_ESTIMATED_*, in `blocks`; NULL: no estimates */
    const char **warnings; /* of every dynamics command, in `blocks` */
    int32_t warning_count;
};

/** Hash table from names to indices, with open addressing. */
typedef struct name_table {
    const char **name;
    int32_t *index;
    uint32_t mask;
} name_table;

typedef struct scene_body_note {
    const json_value *node;
    bool placed;       /* the body or its curve has a position */
    bool framed;       /* a joint with frames can place it */
    int32_t estimated; /* SCENE_ESTIMATED_* */
} scene_body_note;

typedef struct scene_joint_note {
    const json_value *node;
    bool anchored; /* given by anchor and axis in the world */
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
    int32_t frame_count; /* of the lists of goals; 0: there is no list */
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
/** Index of the name if it exists already; otherwise the name is entered and the result is -2. */
int32_t names_put(name_table *names, const char *name, int32_t index);

/** `time`: 1 to DOC_MAX_SAMPLES numbers, strictly increasing. */
bool scene_read_times(document *doc, const doc_at *at, skel_curve *curve);
/** As many samples of `width` numbers (1 to 4) as curve has times; width 4: unit quaternions.
    `must`: a sample of width 2 or 3 in words, as "[x, y, z]". */
bool scene_read_samples(document *doc, const doc_at *at, uint32_t width, const char *must,
                        skel_curve *curve);
/** {"time", "value"}. */
bool scene_read_curve(document *doc, const doc_at *at, uint32_t width, const char *must,
                      skel_curve *curve);
/** {"time", "value", "interpolation"}; *smooth: the interpolation is cubic. */
bool scene_read_smooth_curve(document *doc, const doc_at *at, uint32_t width, const char *must,
                             skel_curve *curve, bool *smooth);
/** [x, y, z] or a curve. *smooth: the interpolation is cubic; NULL: the curve has no such field. */
void scene_read_load(document *doc, const doc_at *at, double constant[3], skel_curve *curve,
                     bool *smooth);
/** Mass, shape and inertia, each of which may be missing. A given inertia precedes the shape's. */
void scene_read_mass(document *doc, const doc_at *mass, const doc_at *shape, const doc_at *inertia,
                     skel_body_desc *b);
/** A direction of any length but 0, normalised. */
bool scene_read_axis(document *doc, const doc_at *at, double out[3]);
/** Properties of a joint type, which must exist. */
skel_joint_kind scene_joint_kind(int32_t type);
/** NULL: there is no such type. */
const char *scene_joint_type_name(int32_t type);
/** The coordinates of a joint in words, as "[angle, angle]". */
void scene_describe_q(const skel_joint_kind *kind, char *out, size_t size);
/** Factor from the document's unit of a coordinate (SKEL_COORDINATE_*) to rad or m. */
double scene_q_unit(const scene_reader *r, int32_t coordinate);
/** The same for limits, which are angles if the coordinates are a quaternion. */
double scene_limit_unit(const scene_reader *r, int32_t type);
/** One of name(0), name(1), ..., which NULL ends; *out is its index. */
bool scene_read_listed_name(document *doc, const doc_at *at, const char *(*name)(int32_t),
                            int32_t *out);

/** The name of a body or "world": its index. */
bool scene_read_body_name(scene_reader *r, const doc_at *at, int32_t *out);
/** The name of one of `bodies`, which a wobbling mass is not. */
bool scene_read_bone_name(scene_reader *r, const doc_at *at, int32_t *out);
/** A number from 0 to 1. */
bool scene_read_ratio(document *doc, const doc_at *at, double *out);

/** A member of an object that holds only numbers. */
typedef struct scene_constant {
    const char *name; /* NULL ends the list */
    bool is_required;
    doc_sign sign;
    double *out;
} scene_constant;
/** `what` names the object in messages. False: something is missing or wrong. */
bool scene_read_numbers(document *doc, const doc_at *at, const char *what,
                        const scene_constant *wanted);

void scene_cross(const double a[3], const double b[3], double out[3]);
/** World to body axes, and body to world axes. */
void scene_unrotate(const double q[4], const double v[3], double out[3]);
void scene_rotate(const double q[4], const double v[3], double out[3]);

/** The members of a joint that describe forces. */
typedef struct scene_joint_parts {
    doc_at motor, limits, follow, limit_torque, limit_restitution, spring, muscle;
} scene_joint_parts;
void scene_read_actuators(scene_reader *r, const scene_joint_parts *at, skel_joint_desc *j);

/** A mimic joint: q = factor q' + offset, where q' belongs to the source joint `of`, in the units
    of the document. */
typedef struct scene_mimic {
    const char *of;
    double factor, offset;
} scene_mimic;
/** The object `mimic` of a joint. False: it is missing or wrong. */
bool scene_read_mimic(document *doc, const doc_at *at, scene_mimic *out);
/** Factor that converts a multiplier to rad and m: the unit of a joint of `type` divided by that of
    a joint of type `of`. `angle` and `length` are the document's units in rad and m. */
double scene_mimic_unit(int32_t type, int32_t of, double angle, double length);
/** `mimic` of all joints, and of the robot's list. Called after all joints are read. */
void scene_read_mimics(scene_reader *r);
/** Warns if the given pose, with the coordinates q, violates a `mimic`. */
void scene_check_mimics(scene_reader *r, const skel_model *model, const double *q);
void scene_put_mimic(text_buffer *t, const char *of, double factor, double offset);

void scene_read_bodies(scene_reader *r, const doc_at *at);
void scene_read_joints(scene_reader *r, const doc_at *at);
void scene_read_grounds(scene_reader *r, const doc_at *at);
void scene_read_forces(scene_reader *r, const doc_at *at);
void scene_read_frame_of_reference(scene_reader *r, const doc_at *at);
/** Upper bound of the bodies and joints that wobbling masses append. */
int32_t scene_wobble_room(const scene_reader *r);
/** Appends to bodies and joints, after these are read. *s keeps data that the model does not have.
    */
void scene_read_wobbles(scene_reader *r, skel_scene *s);
/** Zeroed memory that the scene owns. NULL: no_memory is set. */
void *scene_keep(scene_reader *r, skel_scene *s, size_t count, size_t size);
/** Called after bodies and joints are read. */
void scene_read_goals(scene_reader *r, const doc_at *at, skel_scene *s);
/** Called after the goals are read. */
void scene_read_ik(scene_reader *r, const doc_at *at, skel_scene *s);
void scene_ik_init(scene_ik_note *note);
/** Called after the model is created. */
void scene_ik_finish(scene_reader *r, skel_scene *s);
/** Connects model, settings and goals for the given number of frames. */
void scene_ik_bind(skel_scene *s, int32_t frames);
void scene_put_goals(text_buffer *t, const skel_scene *s);
/** A warning of `skel check` that every dynamics command repeats (skel_scene_warning). */
DOC_PRINTF(3, 4)
void scene_warn(document *doc, skel_scene *s, const char *form, ...);
/** Whether mass or inertia of a body (SCENE_ESTIMATED_*) is an estimate. */
bool scene_is_estimated(const skel_scene *s, int32_t body, int32_t what);
/** Copies `estimated` of the bodies to s and warns of it. Called after the model is created. */
void scene_keep_estimated(scene_reader *r, skel_scene *s);
/** Copies a converted document to the caller (text_give) if it can be read again. Otherwise returns
    SKEL_E_DOCUMENT, because a conversion may produce numbers that are too large or too small.
    `what` names the document in the message. */
skel_status scene_give_readable(const text_buffer *t, const char *what, char *text, size_t capacity,
                                size_t *needed, skel_error *err);
/** Checks that every body has a position: its own, that of its curve or that of a joint with
    frames. */
void scene_check_placing(scene_reader *r);

#endif
