/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: a DH table as a document holds it, in m and rad, however it was written. */
#ifndef BRIDGE_ROBOT_DH_H
#define BRIDGE_ROBOT_DH_H

#include "robot/robot.h"

#include <skel/skel_dh.h>

#define DH_JOINTS 10000

typedef struct dh_joint {
    char        place[24]; /* "joints[3]" or "line 7", for messages */
    const char *name;      /* of the joint; NULL: not given */
    const char *link;      /* of what it moves; NULL: the joint's name, or "link4" */
    skel_dh_row row;
    bool        has_limits, has_mass, has_com, has_inertia;
    double      low, high, friction;
    double      mass, com[3], inertia[6]; /* in axes of the link's frame, com from its origin */
    robot_drive drive;
    scene_mimic mimic;    /* of: NULL where it goes with none; in rad and m */
    int32_t     mimic_of; /* its row */
} dh_joint;

typedef struct dh_pose {
    const char *name;
    double     *q;
} dh_pose;

typedef struct dh_doc {
    const char     *name;
    int32_t         convention;
    double          base[7], tool[7];
    int32_t         count;
    dh_joint       *joints;
    int32_t         pose_count;
    dh_pose        *poses;
    double          angle, length; /* rad and m per unit of the document */
    bool            is_deg, is_mm;
    skel_dh_receipt receipt; /* of a document that was read: only the two errors */
} dh_doc;

/** The table of skel-dh/1; false where there are errors. Words (source, notes) go into s->robot. */
bool dh_parse(document *doc, const json_value *root, dh_doc *d, skel_scene *s);
/** The same of a CSV table. */
bool dh_parse_csv(document *doc, const char *text, size_t length, dh_doc *d);
/** Names that are not given, and whether all are different; false where not. */
bool dh_names(document *doc, dh_doc *d);
/** Warnings about what published tables get wrong: units, conventions, limits. */
void dh_suspect(document *doc, const dh_doc *d);
/** The model: a body per row. */
void dh_build(document *doc, const dh_doc *d, skel_scene *s);
/** The table of rows; NULL where there is no memory. */
skel_dh *dh_table(const dh_doc *d);
/** Whether the next axis was turned to be parallel, or was not although it should be. */
bool dh_is_turned(const dh_doc *d, int32_t row);
bool dh_is_spoilt(const dh_doc *d, int32_t row);
/** That in words, and what the whole table costs. */
void dh_put_pair(text_buffer *t, const dh_doc *d, int32_t row);
void dh_put_cost(text_buffer *t, const skel_dh_receipt *r);
/** The receipt as a member of skel-dh/1, or as lines of a CSV; nothing where there is none. */
void dh_put_receipt(text_buffer *t, const dh_doc *d);
void dh_put_receipt_csv(text_buffer *t, const dh_doc *d);
/** As skel-dh/1, in m and rad, or as CSV. r: source and notes; may be NULL. */
void dh_put(text_buffer *t, const dh_doc *d, const robot_data *r);
void dh_put_csv(text_buffer *t, const dh_doc *d, const robot_data *r);

#endif
