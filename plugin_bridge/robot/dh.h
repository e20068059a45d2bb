/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: a DH table as a document holds it, in m and rad, however it was written. */
#ifndef BRIDGE_ROBOT_DH_H
#define BRIDGE_ROBOT_DH_H

#include "robot/robot.h"

#include <skel/skel_dh.h>

#define SKEL__DH_JOINTS 10000

typedef struct skel__dh_joint {
    char        place[24]; /* "joints[3]" or "line 7", for messages */
    const char *name;      /* of the joint; NULL: not given */
    const char *link;      /* of what it moves; NULL: the joint's name, or "link4" */
    skel_dh_row row;
    bool        has_limits, has_mass, has_com, has_inertia;
    double      low, high, friction;
    double      mass, com[3], inertia[6]; /* in axes of the link's frame, com from its origin */
    skel__drive drive;
    skel__mimic mimic;    /* of: NULL where it goes with none; in rad and m */
    int32_t     mimic_of; /* its row */
} skel__dh_joint;

typedef struct skel__dh_pose {
    const char *name;
    double     *q;
} skel__dh_pose;

typedef struct skel__dh_doc {
    const char     *name;
    int32_t         convention;
    double          base[7], tool[7];
    int32_t         count;
    skel__dh_joint *joints;
    int32_t         pose_count;
    skel__dh_pose  *poses;
    double          angle, length; /* rad and m per unit of the document */
    bool            is_deg, is_mm;
    skel_dh_receipt receipt; /* of a document that was read: only the two errors */
} skel__dh_doc;

/** The table of skel-dh/1; false where there are errors. Words (source, notes) go into s->robot. */
bool skel__dh_parse(skel__doc *doc, const skel__json *root, skel__dh_doc *d, skel_scene *s);
/** The same of a CSV table. */
bool skel__dh_parse_csv(skel__doc *doc, const char *text, size_t length, skel__dh_doc *d);
/** Names that are not given, and whether all are different; false where not. */
bool skel__dh_names(skel__doc *doc, skel__dh_doc *d);
/** Warnings about what published tables get wrong: units, conventions, limits. */
void skel__dh_suspect(skel__doc *doc, const skel__dh_doc *d);
/** The model: a body per row. */
void skel__dh_build(skel__doc *doc, const skel__dh_doc *d, skel_scene *s);
/** The table of rows; NULL where there is no memory. */
skel_dh *skel__dh_table(const skel__dh_doc *d);
/** Whether the next axis was turned to be parallel, or was not although it should be. */
bool skel__dh_is_turned(const skel__dh_doc *d, int32_t row);
bool skel__dh_is_spoilt(const skel__dh_doc *d, int32_t row);
/** That in words, and what the whole table costs. */
void skel__dh_put_pair(skel__text *t, const skel__dh_doc *d, int32_t row);
void skel__dh_put_cost(skel__text *t, const skel_dh_receipt *r);
/** The receipt as a member of skel-dh/1, or as lines of a CSV; nothing where there is none. */
void skel__dh_put_receipt(skel__text *t, const skel__dh_doc *d);
void skel__dh_put_receipt_csv(skel__text *t, const skel__dh_doc *d);
/** As skel-dh/1, in m and rad, or as CSV. r: source and notes; may be NULL. */
void skel__dh_put(skel__text *t, const skel__dh_doc *d, const skel__robot *r);
void skel__dh_put_csv(skel__text *t, const skel__dh_doc *d, const skel__robot *r);

#endif
