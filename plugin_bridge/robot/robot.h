/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: what a robot's document holds beyond the model: named frames, named poses, mimic joints,
   limits of the drives, and for URDF all that the model does not need. It hangs from the scene. */
#ifndef BRIDGE_ROBOT_ROBOT_H
#define BRIDGE_ROBOT_ROBOT_H

#include "document/arena.h"
#include "scene/scene.h"

/** A frame fixed in a body; body SKEL_WORLD: in the world. pose from the body's centre of mass. */
typedef struct skel__frame {
    const char *name;
    int32_t     body;
    double      pose[7];
} skel__frame;

/** Joint coordinates (skel_model_q_count) with a name. */
typedef struct skel__named_q {
    const char *name;
    double     *q;
} skel__named_q;

/** What the drive of a joint can do; 0: not given. */
typedef struct skel__drive {
    double velocity; /* [rad/s], [m/s] */
    double effort;   /* [N m], [N] */
} skel__drive;

typedef struct skel__urdf skel__urdf;

struct skel__robot {
    skel__arena    arena;
    skel__frame   *frames;
    int32_t        frame_count;
    int32_t        tool; /* index of the frame; -1: none */
    skel__named_q *poses;
    int32_t        pose_count;
    skel__drive   *drives; /* (joint_count) or NULL */
    const char    *source; /* where the numbers are from, or NULL */
    const char   **notes;
    int32_t        note_count;
    skel__urdf    *urdf; /* the document, where it was one */
};

/** Takes the place of the scene's robot; NULL where there is no memory. */
skel__robot *skel__robot_new(skel_scene *scene);
void         skel__robot_free(skel__robot *robot);

/** A problem (status SKEL_OK: a warning) whose text begins with its place. */
SKEL__DOC_PRINTF(3, 4)
void skel__note(skel__doc *doc, skel_status status, const char *form, ...);

/** "'a', 'b' and 4 more", for messages; start with all zero. */
typedef struct skel__name_list {
    int32_t count;
    size_t  used;
    char    text[256];
} skel__name_list;
void skel__name_list_add(skel__name_list *list, const char *name);

/** The text into the caller's buffer, as skel_scene_write does. */
skel_status skel__text_give(const skel__text *t, char *text, size_t capacity, size_t *needed);
/** 1 to 255 bytes of UTF-8 without control characters. */
bool skel__is_name(const char *text);

/** Makes the model of bodies and joints; a problem names the body or joint. */
void skel__scene_build(skel__doc *doc, skel_scene *s, const skel_body_desc *bodies, int32_t nb,
                       const skel_joint_desc *joints, int32_t nj);

/** What a document says of the mass of a body. */
enum {
    SKEL__MASS_KNOWN,      /* mass and inertia */
    SKEL__MASS_POINT,      /* a mass, and an inertia that is not positive definite */
    SKEL__MASS_NO_INERTIA, /* a mass alone */
    SKEL__MASS_ZERO,       /* that there is none */
    SKEL__MASS_UNKNOWN     /* nothing */
};
typedef struct skel__mass_note {
    int32_t known;   /* SKEL__MASS_* */
    bool    has_com; /* false: the centre of mass may be estimated as well */
    bool    has_end;
    double  end[3];   /* where the link ends if no joint follows, in the body's axes */
    double  shift[3]; /* filled: how far the body's origin went to its estimated centre of mass */
} skel__mass_note;
/** Fills what dynamics needs and the document does not say of the bodies of a tree, from the
    lengths of the links (robot_mass.c has the rules); the scene keeps what was estimated and warns
    of it. notes: (nb). */
void skel__estimate_masses(skel__doc *doc, skel_scene *s, skel_body_desc *bodies, int32_t nb,
                           skel_joint_desc *joints, int32_t nj, skel__mass_note *notes);
/** Adds m (r^2 - r r^T), what a mass at r has beyond its own inertia (parallel axes). */
void skel__inertia_add_offset(double mass, const double r[3], double inertia[6]);

/** Whether inertia (xx yy zz xy xz yz) is positive definite, and of a real solid: no moment larger
    than the sum of the others, to 1e-9. */
bool skel__inertia_definite(const double i[6]);
/** Whether it is more than the rounding errors of a point mass: about every axis the radius of
    gyration is over a millionth of the length [m]. */
bool skel__inertia_solid(double mass, const double i[6], double length);
bool skel__inertia_real(const double i[6]);

/* Poses as 7 numbers. */
void skel__pose_mul(const double a[7], const double b[7], double out[7]);
void skel__pose_inverse(const double a[7], double out[7]);
void skel__quat_mul(const double a[4], const double b[4], double out[4]);
/** R inertia R^T. */
void skel__inertia_rotate(const double q[4], const double i[6], double out[6]);

/** Documents that are no JSON scene: each reads into s, problems into doc. */
void skel__read_dh(skel__doc *doc, const skel__json *root, skel_scene *s);
void skel__read_dh_csv(skel__doc *doc, const char *text, size_t length, skel_scene *s);
void skel__read_urdf(skel__doc *doc, const char *text, size_t length, skel_scene *s);

/** The field `robot` of skel-scene/1, after the model was made. */
void skel__read_robot(skel__doc *doc, const skel__at *at, skel_scene *s);
void skel__put_robot(skel__text *t, const skel_scene *s);
/** `source` and `notes`, of a scene's robot and of a table alike. */
void skel__read_words(skel__doc *doc, const skel__at *source, const skel__at *notes,
                      skel__robot *r);
void skel__put_words(skel__text *t, const char *indent, const skel__robot *r);

typedef enum skel__kind { SKEL__KIND_JSON, SKEL__KIND_URDF, SKEL__KIND_CSV } skel__kind;
/** What a text is that no reader here takes, with what to do ("is a USD file, ..."); NULL: not
    known. By its first bytes, or by the name of its root element. */
const char *skel__foreign_bytes(const char *text, size_t length);
const char *skel__foreign_root(const char *element);
/** By the first characters: '<' begins URDF, '#' or a line of column names a table. */
skel__kind skel__kind_of(const char *text, size_t length);

#endif
