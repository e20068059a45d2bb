/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: what a scene is, and the reader that the parts of `skel-scene/1` share. */
#ifndef SKEL_BRIDGE_SCENE_H
#define SKEL_BRIDGE_SCENE_H

#include "doc.h"

#include <skel/skel_scene.h>

#define SKEL__SCENE_BODIES 100000
#define SKEL__SCENE_JOINTS 100000
#define SKEL__SCENE_FRAMES 10000000
#define SKEL__SCENE_POSES 200000000.0
#define SKEL__ALWAYS 1e300    /* [s]: pinned from -this to this is pinned from start to end */
#define SKEL__POSE_SLACK 1e-6 /* how far two ways to say one pose may differ: [m], [1], [rad] */

/* The bake desc comes first: a pointer to a scene is a pointer to a skel_bake_desc. */
struct skel_scene {
    skel_bake_desc bake;
    skel_model    *model;
    int32_t        frame_start;
    int32_t        frame_end;
    char           name[256];
};

/** Names to indices, open addressing. */
typedef struct skel__names {
    const char **name;
    int32_t     *index;
    uint32_t     mask;
} skel__names;

typedef struct skel__body_note {
    const cJSON *node;
    bool         placed; /* has a position of its own or of its curve */
    bool         framed; /* a joint with frames could place it */
} skel__body_note;

typedef struct skel__joint_note {
    const cJSON *node;
    bool         anchored; /* no frames: stands in the world at the given pose */
    bool         has_q;
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

void skel__read_bodies(skel__reader *r, const skel__at *at);
void skel__read_joints(skel__reader *r, const skel__at *at);
/** Every body must be placed: by its position, its curve or a joint with frames. */
void skel__check_placing(skel__reader *r);

#endif
