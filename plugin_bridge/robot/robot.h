/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: what a robot's document holds beyond the model: named frames, named poses, mimic joints,
   limits of the drives, and for URDF all that the model does not need. It hangs from the scene. */
#ifndef BRIDGE_ROBOT_ROBOT_H
#define BRIDGE_ROBOT_ROBOT_H

#include "document/arena.h"
#include "scene/scene.h"

/** A frame fixed in a body; body SKEL_WORLD: in the world. pose from the body's centre of mass. */
typedef struct robot_frame {
    const char *name;
    int32_t body;
    double pose[7];
} robot_frame;

/** Joint coordinates (skel_model_q_count) with a name. */
typedef struct robot_named_q {
    const char *name;
    double *q;
} robot_named_q;

/** What the drive of a joint can do; 0: not given. */
typedef struct robot_drive {
    double velocity; /* [rad/s], [m/s] */
    double effort;   /* [N m], [N] */
} robot_drive;

typedef struct urdf_document urdf_document;

struct robot_data {
    memory_arena arena;
    robot_frame *frames;
    int32_t frame_count;
    int32_t tool; /* index of the frame; -1: none */
    robot_named_q *poses;
    int32_t pose_count;
    robot_drive *drives; /* (joint_count) or NULL */
    const char *source;  /* where the numbers are from, or NULL */
    const char **notes;
    int32_t note_count;
    urdf_document *urdf; /* the document, where it was one */
};

/** Takes the place of the scene's robot; NULL where there is no memory. */
robot_data *robot_new(skel_scene *scene);
void robot_free(robot_data *robot);

/** A problem (status SKEL_OK: a warning) whose text begins with its place. */
DOC_PRINTF(3, 4)
void robot_note(document *doc, skel_status status, const char *form, ...);

/** "'a', 'b' and 4 more", for messages; start with all zero. */
typedef struct robot_name_list {
    int32_t count;
    size_t used;
    char text[256];
} robot_name_list;
void robot_name_list_add(robot_name_list *list, const char *name);

/** The text into the caller's buffer, as skel_scene_write does. */
skel_status text_give(const text_buffer *t, char *text, size_t capacity, size_t *needed);
/** 1 to 255 bytes of UTF-8 without control characters. */
bool robot_is_name(const char *text);

/** Makes the model of bodies and joints; a problem names the body or joint. */
void scene_build(document *doc, skel_scene *s, const skel_body_desc *bodies, int32_t nb,
                 const skel_joint_desc *joints, int32_t nj);

/** What a document says of the mass of a body. */
enum {
    ROBOT_MASS_KNOWN,      /* mass and inertia */
    ROBOT_MASS_POINT,      /* a mass, and an inertia that is not positive definite */
    ROBOT_MASS_NO_INERTIA, /* a mass alone */
    ROBOT_MASS_ZERO,       /* that there is none */
    ROBOT_MASS_UNKNOWN     /* nothing */
};
typedef struct robot_mass_note {
    int32_t known; /* ROBOT_MASS_* */
    bool has_com;  /* false: the centre of mass may be estimated as well */
    bool has_end;
    double end[3];   /* where the link ends if no joint follows, in the body's axes */
    double shift[3]; /* filled: how far the body's origin went to its estimated centre of mass */
} robot_mass_note;
/** Fills what dynamics needs and the document does not say of the bodies of a tree, from the
    lengths of the links (robot_mass.c has the rules); the scene keeps what was estimated and warns
    of it. notes: (nb). */
void robot_estimate_masses(document *doc, skel_scene *s, skel_body_desc *bodies, int32_t nb,
                           skel_joint_desc *joints, int32_t nj, robot_mass_note *notes);
/** Adds m (r^2 - r r^T), what a mass at r has beyond its own inertia (parallel axes). */
void robot_inertia_add_offset(double mass, const double r[3], double inertia[6]);

/** Whether inertia (xx yy zz xy xz yz) is positive definite, and of a real solid: no moment larger
    than the sum of the others, to 1e-9. */
bool robot_inertia_definite(const double i[6]);
/** Whether it is more than the rounding errors of a point mass: about every axis the radius of
    gyration is over a millionth of the length [m]. */
bool robot_inertia_solid(double mass, const double i[6], double length);
bool robot_inertia_real(const double i[6]);

/* Poses as 7 numbers. */
void robot_pose_mul(const double a[7], const double b[7], double out[7]);
void robot_pose_inverse(const double a[7], double out[7]);
void robot_quat_mul(const double a[4], const double b[4], double out[4]);
/** R inertia R^T. */
void robot_inertia_rotate(const double q[4], const double i[6], double out[6]);

/** Documents that are no JSON scene: each reads into s, problems into doc. */
void robot_read_dh(document *doc, const json_value *root, skel_scene *s);
void robot_read_dh_csv(document *doc, const char *text, size_t length, skel_scene *s);
void robot_read_urdf(document *doc, const char *text, size_t length, skel_scene *s);

/** The field `robot` of skel-scene/1, after the model was made. */
void robot_read_robot(document *doc, const doc_at *at, skel_scene *s);
void robot_put_robot(text_buffer *t, const skel_scene *s);
/** `source` and `notes`, of a scene's robot and of a table alike. */
void robot_read_words(document *doc, const doc_at *source, const doc_at *notes, robot_data *r);
void robot_put_words(text_buffer *t, const char *indent, const robot_data *r);

#endif
