/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: a DH table with all data of its document, in m and rad whatever the units of the
   document. */
#ifndef BRIDGE_ROBOT_DH_H
#define BRIDGE_ROBOT_DH_H

#include "robot/robot.h"

#include <skel/skel_dh.h>

#define DH_JOINTS 10000

typedef struct dh_joint {
    char place[24];   /* position in the document for messages: "joints[3]" or "line 7" */
    const char *name; /* of the joint; NULL: not given */
    const char *link; /* name of the link behind the joint; NULL: not given */
    skel_dh_row row;
    bool has_limits, has_mass, has_com, has_inertia;
    double low, high;                /* limits of the coordinate [rad], [m] */
    double friction;                 /* [N m s], [N s/m] */
    double mass, com[3], inertia[6]; /* in the link's frame [kg], [m], [kg m^2] */
    robot_drive drive;
    scene_mimic mimic; /* of: name of the source joint, or NULL; in rad and m */
    int32_t mimic_of;  /* row of the source joint */
} dh_joint;

typedef struct dh_pose {
    const char *name;
    double *q;
} dh_pose;

typedef struct dh_doc {
    const char *name;
    int32_t convention;
    double base[7], tool[7];
    int32_t count;
    dh_joint *joints;
    int32_t pose_count;
    dh_pose *poses;
    double angle, length; /* rad and m per unit of the document */
    bool is_deg, is_mm;
    skel_dh_receipt receipt; /* if the table was read from a document: only the two errors */
} dh_doc;

/** Reads a skel-dh/1 document; false if it has errors. Source and notes go to s->robot. */
bool dh_parse(document *doc, const json_value *root, dh_doc *d, skel_scene *s);
/** Reads a CSV table. */
bool dh_parse_csv(document *doc, const char *text, size_t length, dh_doc *d);
/** Fills missing names and finds the source joints of mimic joints; false if names are not unique.
 */
bool dh_names(document *doc, dh_doc *d);
/** Warns about common mistakes of published tables: units, conventions, limits. */
void dh_warn_of_mistakes(document *doc, const dh_doc *d);
/** Creates the model of the scene, with one body per row. */
void dh_build(document *doc, const dh_doc *d, skel_scene *s);
/** The rows as an object of the engine; NULL: no memory. */
skel_dh *dh_table(const dh_doc *d);
/** Whether the next axis was turned to be parallel. */
bool dh_is_turned(const dh_doc *d, int32_t row);
/** Whether the next axis is nearly parallel and was not turned, so that the common normal is far
    away and the table is sensitive to rounding. */
bool dh_is_ill_conditioned(const dh_doc *d, int32_t row);
/** A sentence about such a pair of axes, and one about the accuracy of the table. */
void dh_put_pair(text_buffer *t, const dh_doc *d, int32_t row);
void dh_put_accuracy(text_buffer *t, const skel_dh_receipt *r);
/** The receipt as a member of skel-dh/1, or as comment lines of a CSV table; nothing if there is
    none. */
void dh_put_receipt(text_buffer *t, const dh_doc *d);
void dh_put_receipt_csv(text_buffer *t, const dh_doc *d);
/** Write the table as skel-dh/1 or as CSV, in m and rad. r: source and notes; may be NULL. */
void dh_put(text_buffer *t, const dh_doc *d, const robot_data *r);
void dh_put_csv(text_buffer *t, const dh_doc *d, const robot_data *r);

#endif
