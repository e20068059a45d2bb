/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: the part of a robot's document that the model does not hold: named frames, named poses,
   limits of the drives, and for URDF all elements that dynamics does not need. The scene owns
   it. */
#ifndef BRIDGE_ROBOT_ROBOT_H
#define BRIDGE_ROBOT_ROBOT_H

#include "document/arena.h"
#include "scene/scene.h"

/** A coordinate frame that is fixed in a body, or in the world if body is SKEL_WORLD. */
typedef struct robot_frame {
    const char *name;
    int32_t body;
    double pose[7]; /* relative to the body's frame, which lies in its centre of mass */
} robot_frame;

/** A named pose. */
typedef struct robot_named_q {
    const char *name;
    double *q; /* (skel_model_q_count) */
} robot_named_q;

/** Limits of the drive of a joint; 0: not given. */
typedef struct robot_drive {
    double velocity; /* [rad/s], [m/s] */
    double effort;   /* [N m], [N] */
} robot_drive;

typedef struct urdf_document urdf_document;

struct robot_data {
    memory_arena arena;
    robot_frame *frames;
    int32_t frame_count;
    int32_t tool; /* index of the frame of the tool; -1: none */
    robot_named_q *poses;
    int32_t pose_count;
    robot_drive *drives; /* (joint_count) or NULL */
    const char *source;  /* origin of the numbers, or NULL */
    const char **notes;
    int32_t note_count;
    urdf_document *urdf; /* the URDF document; NULL: the robot was read from another format */
};

/** Replaces the robot of the scene by an empty one; NULL: no memory. */
robot_data *robot_new(skel_scene *scene);
void robot_free(robot_data *robot);

/** Adds a problem (status SKEL_OK: a warning). The text begins with the position in the document.
 */
DOC_PRINTF(3, 4)
void robot_note(document *doc, skel_status status, const char *form, ...);

/** A list of names for messages: "'a', 'b' and 4 more". Initialise with zeros. */
typedef struct robot_name_list {
    int32_t count;
    size_t used;
    char text[256];
} robot_name_list;
void robot_name_list_add(robot_name_list *list, const char *name);

/** Copies the text to the caller's buffer, as skel_scene_write does. */
skel_status text_give(const text_buffer *t, char *text, size_t capacity, size_t *needed);
/** Whether the text is 1 to 255 bytes of UTF-8 without control characters. */
bool robot_is_name(const char *text);

/** The name of part k of a joint, which is its velocity k: that of the joint, with the axis if the
    joint has several parts, as "hip.x". */
void robot_part_name(const skel_joint_desc *joint, int32_t k, char *out, size_t size);
/** Whether low[k] and high[k] of the limits are the range of part k. Those of a ball joint are a
    cone and a twist. */
bool robot_has_range(const skel_joint_desc *joint, int32_t k);

/** Creates the model of the scene. Problems name the link or joint. */
void scene_build(document *doc, skel_scene *s, const skel_body_desc *bodies, int32_t nb,
                 const skel_joint_desc *joints, int32_t nj);

/** Information of a document about the mass of a body. */
enum {
    ROBOT_MASS_KNOWN,      /* mass and inertia are given */
    ROBOT_MASS_POINT,      /* the inertia is not positive definite, as that of a point mass */
    ROBOT_MASS_NO_INERTIA, /* only the mass is given */
    ROBOT_MASS_ZERO,       /* the mass is given as zero */
    ROBOT_MASS_UNKNOWN     /* nothing is given */
};
typedef struct robot_mass_note {
    int32_t known; /* ROBOT_MASS_* */
    bool has_com;  /* false: the centre of mass may be estimated as well */
    bool has_end;
    double end[3];   /* end of the link if no joint follows, in the body's frame [m] */
    double shift[3]; /* result: shift of the body's origin to its estimated centre of mass [m] */
} robot_mass_note;
/** Estimates the masses and inertias that dynamics needs and the document does not give, from the
    lengths of the links of a tree (robot_mass.c states the rules). The scene marks the estimated
    bodies and warns about them. notes: (nb). */
void robot_estimate_masses(document *doc, skel_scene *s, skel_body_desc *bodies, int32_t nb,
                           skel_joint_desc *joints, int32_t nj, robot_mass_note *notes);
/** Parallel axis theorem: adds m (r^2 - r r^T), the inertia of a mass at the offset r. */
void robot_inertia_add_offset(double mass, const double r[3], double inertia[6]);

/** Whether the inertia (xx yy zz xy xz yz) [kg m^2] is positive definite, whatever the axes. */
bool robot_inertia_definite(const double i[6]);
/** Whether it is larger than the rounding errors of a point mass: the radius of gyration about
    every axis exceeds a millionth of the length [m]. */
bool robot_inertia_solid(double mass, const double i[6], double length);
/** Whether a solid can have it: no principal moment exceeds the sum of the other two, up to 1e-9 of
    the trace. */
bool robot_inertia_real(const double i[6]);

/* Poses are 7 numbers: x y z, w x y z. `out` may be one of the arguments. */
void robot_pose_mul(const double a[7], const double b[7], double out[7]);
void robot_pose_inverse(const double a[7], double out[7]);
void robot_quat_mul(const double a[4], const double b[4], double out[4]);
/** R I R^T with the rotation R of q. */
void robot_inertia_rotate(const double q[4], const double i[6], double out[6]);

/** Read documents other than skel-scene/1 into the scene; problems go to doc. */
void robot_read_dh(document *doc, const json_value *root, skel_scene *s);
void robot_read_dh_csv(document *doc, const char *text, size_t length, skel_scene *s);
void robot_read_urdf(document *doc, const char *text, size_t length, skel_scene *s);

/** The field `robot` of skel-scene/1. The model must exist. */
void robot_read_robot(document *doc, const doc_at *at, skel_scene *s);
void robot_put_robot(text_buffer *t, const skel_scene *s);
/** The fields `source` and `notes` of a scene's robot and of a DH table. */
void robot_read_words(document *doc, const doc_at *source, const doc_at *notes, robot_data *r);
void robot_put_words(text_buffer *t, const char *indent, const robot_data *r);

#endif
