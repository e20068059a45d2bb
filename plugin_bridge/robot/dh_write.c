/* SPDX-License-Identifier: BSD-3-Clause */
/* A table as skel-dh/1 or CSV, in m and rad. */
#include "robot/dh.h"
#include "document/kind.h"

#include <skel/skel_robot.h>

#include <math.h>
#include <string.h>

static bool any_nonzero(const double *x, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (x[i] != 0.0) return true;
    return false;
}

static bool is_not_identity(const double x[7]) {
    return any_nonzero(x, 3) || any_nonzero(x + 4, 3);
}

static void put_number(text_buffer *t, const char *before, double x) {
    text_add(t, before);
    text_number(t, x);
}

static void put_numbers(text_buffer *t, const char *before, const double *x, size_t count) {
    text_add(t, before);
    text_numbers(t, x, count);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_body(text_buffer *t, const dh_joint *j) {
    if (j->has_mass) put_number(t, ",\n     \"mass\": ", j->mass);
    if (j->has_com) put_numbers(t, j->has_mass ? ", \"com\": " : ",\n     \"com\": ", j->com, 3);
    if (j->has_inertia) put_numbers(t, ", \"inertia\": ", j->inertia, 6);
    if (j->friction > 0.0) put_number(t, ",\n     \"friction\": ", j->friction);
    if (j->drive.velocity > 0.0) put_number(t, ",\n     \"velocity_limit\": ", j->drive.velocity);
    if (j->drive.effort > 0.0) put_number(t, ",\n     \"torque_limit\": ", j->drive.effort);
}

static void put_joint(text_buffer *t, const dh_joint *j, bool first) {
    const double limits[2] = {j->low, j->high};
    text_add(t, first ? "\n    {\"name\": " : ",\n    {\"name\": ");
    text_string(t, j->name);
    if (strcmp(j->name, j->link) != 0) {
        text_add(t, ", \"link\": ");
        text_string(t, j->link);
    }

    text_addf(t, ", \"type\": \"%s\",\n     ",
              j->row.type == SKEL_JOINT_HINGE ? "revolute" : "prismatic");
    put_number(t, "\"a\": ", j->row.a);
    put_number(t, ", \"alpha\": ", j->row.alpha);
    put_number(t, ", \"d\": ", j->row.d);
    put_number(t, ", \"theta\": ", j->row.theta);
    if (j->row.offset != 0.0) put_number(t, ", \"offset\": ", j->row.offset);
    if (j->row.sign < 0.0) text_add(t, ", \"sign\": -1");
    if (j->has_limits) put_numbers(t, ", \"limits\": ", limits, 2);

    put_body(t, j);
    if (j->mimic.of) scene_put_mimic(t, j->mimic.of, j->mimic.factor, j->mimic.offset);
    text_add(t, "}");
}

static void put_end(text_buffer *t, const char *name, const double x[7]) {
    if (!is_not_identity(x)) return;
    text_addf(t, "  \"%s\": {\"position\": ", name);
    text_numbers(t, x, 3);
    text_add(t, ", \"orientation\": ");
    text_numbers(t, x + 3, 4);
    text_add(t, "},\n");
}

void dh_put(text_buffer *t, const dh_doc *d, const robot_data *r) {
    text_add(t, "{\n  \"format\": \"skel-dh/1\",\n");
    if (d->name && d->name[0]) {
        text_add(t, "  \"name\": ");
        text_string(t, d->name);
        text_add(t, ",\n");
    }
    text_addf(t, "  \"convention\": \"%s\", \"angle_unit\": \"rad\", \"length_unit\": \"m\",\n",
              d->convention == SKEL_DH_STANDARD ? "standard" : "modified");

    put_end(t, "base", d->base);
    put_end(t, "tool", d->tool);
    text_add(t, "  \"joints\": [");
    for (int32_t i = 0; i < d->count; ++i) put_joint(t, &d->joints[i], i == 0);
    text_add(t, "\n  ]");

    for (int32_t i = 0; i < d->pose_count; ++i) {
        text_add(t, i ? ",\n    " : ",\n  \"poses\": {\n    ");
        text_string(t, d->poses[i].name);
        put_numbers(t, ": ", d->poses[i].q, (size_t)d->count);
    }
    if (d->pose_count) text_add(t, "}");

    dh_put_receipt(t, d);
    if (r) robot_put_words(t, "  ", r);
    text_add(t, "\n}\n");
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_cell(text_buffer *t, bool given, double x) {
    text_add(t, ",");
    if (given) text_number(t, x);
}

static void put_pose_line(text_buffer *t, const char *key, const double x[7]) {
    if (!is_not_identity(x)) return;
    text_addf(t, "# %s:", key);
    for (int k = 0; k < 7; ++k) put_number(t, " ", x[k]);
    text_add(t, "\n");
}

/* The line "# HEAD TEXT" as one cell. */
static void put_comment(text_buffer *t, const char *head, const char *text) {
    text_buffer line = {0};
    text_addf(&line, "%s%s", head, text);
    if (line.failed)
        t->failed = 1;
    else
        text_csv_comment(t, line.data);
    text_free(&line);
}

static void put_line(text_buffer *t, const dh_joint *j) {
    const double row[] = {j->row.a,     j->row.alpha,  j->row.d,
                          j->row.theta, j->row.offset, j->row.sign};
    text_csv_name(t, j->name, "", 1);
    text_add(t, ",");
    text_csv_name(t, j->link, "", 1);
    text_add(t, j->row.type == SKEL_JOINT_HINGE ? ",revolute" : ",prismatic");

    for (size_t k = 0; k < sizeof row / sizeof *row; ++k) put_cell(t, true, row[k]);
    put_cell(t, j->has_limits, j->low);
    put_cell(t, j->has_limits, j->high);
    put_cell(t, j->has_mass, j->mass);
    for (int k = 0; k < 3; ++k) put_cell(t, j->has_com, j->com[k]);
    for (int k = 0; k < 6; ++k) put_cell(t, j->has_inertia, j->inertia[k]);
    put_cell(t, j->friction > 0.0, j->friction);
    put_cell(t, j->drive.velocity > 0.0, j->drive.velocity);
    put_cell(t, j->drive.effort > 0.0, j->drive.effort);
    text_add(t, "\n");
}

void dh_put_csv(text_buffer *t, const dh_doc *d, const robot_data *r) {
    if (d->name && d->name[0]) put_comment(t, "name: ", d->name);
    text_addf(t, "# convention: %s\n# angle_unit: rad\n# length_unit: m\n",
              d->convention == SKEL_DH_STANDARD ? "standard" : "modified");
    put_pose_line(t, "base", d->base);
    put_pose_line(t, "tool", d->tool);
    dh_put_receipt_csv(t, d);

    for (int32_t i = 0; r && i < r->note_count; ++i) put_comment(t, "- ", r->notes[i]);
    for (int32_t i = 0; i < d->count; ++i)
        if (d->joints[i].mimic.of)
            put_comment(
                t, "- mimic joint; CSV tables cannot hold its source joint: ", d->joints[i].name);

    text_add(t, "name,link,type,a,alpha,d,theta,offset,sign,limit_low,limit_high,mass,com_x,"
                "com_y,com_z,ixx,iyy,izz,ixy,ixz,iyz,friction,velocity_limit,torque_limit\n");
    for (int32_t i = 0; i < d->count; ++i) put_line(t, &d->joints[i]);
}

/* ---- the other convention -------------------------------------------------------------------- */

/* Frame i of a standard table is frame i of the modified table, moved by Tx(a) Rx(alpha) of the
   standard row i. Centres of mass and inertias are given in these frames. */
static void transform_masses(dh_doc *d, const skel_dh *standard, bool to_modified) {
    for (int32_t i = 0; i < d->count; ++i) {
        dh_joint *j = &d->joints[i];
        skel_dh_row r;
        skel_dh_row_init(&r);
        skel_dh_get_row(standard, i, &r);
        double x[7] = {r.a, 0, 0, cos(0.5 * r.alpha), sin(0.5 * r.alpha), 0, 0}, com[3];
        if (!to_modified) robot_pose_inverse(x, x);
        if (!j->has_com && !j->has_mass && !j->has_inertia) continue;

        scene_rotate(x + 3, j->com, com);
        for (int k = 0; k < 3; ++k) j->com[k] = com[k] + x[k];
        j->has_com = true;
        robot_inertia_rotate(x + 3, j->inertia, j->inertia);
    }
}

/* The errors of the new table relative to the old one, plus the errors of the old one. */
static skel_status add_receipt(const skel_dh *made, const skel_dh *from, skel_dh_receipt *r) {
    const skel_dh_receipt old = *r;
    skel_dh_receipt found = {.struct_size = sizeof found};
    const skel_status status = skel_dh_compare(made, from, &found);
    *r = found;
    r->position_error += old.position_error;
    r->angle_error += old.angle_error;
    return status;
}

static skel_status rewrite(dh_doc *d, int32_t convention, skel_error *err) {
    skel_dh *dh = dh_table(d), *to = NULL;
    skel_status status = dh ? skel_dh_convert(dh, convention, &to, err) : SKEL_E_MEMORY;
    if (status == SKEL_OK) {
        status = add_receipt(to, dh, &d->receipt);
        if (status == SKEL_E_ARGUMENT)
            doc_error_say(err, status,
                          "the position of the tool overflows; a, d and the positions of base and "
                          "tool must be smaller lengths");
    }

    if (status == SKEL_OK && convention != d->convention) {
        transform_masses(d, d->convention == SKEL_DH_STANDARD ? dh : to,
                         d->convention == SKEL_DH_STANDARD);
        for (int32_t i = 0; i < d->count; ++i) skel_dh_get_row(to, i, &d->joints[i].row);
        skel_dh_get_ends(to, d->base, d->tool);
        d->convention = convention;
    }
    skel_dh_destroy(dh);
    skel_dh_destroy(to);
    return status;
}

/* Reads a table without creating its model. */
static bool parse(document *doc, const char *table, size_t length, dh_doc *d, skel_scene *s) {
    if (doc_kind_of(table, length) == DOC_KIND_CSV)
        return doc_start(doc) && dh_parse_csv(doc, table, length, d);

    if (!doc_open(doc, table, length)) return false;
    const json_value *format = json_member(doc->root, "format");
    if (!json_is_string(format) || strcmp(format->text, "skel-dh/1") != 0) {
        robot_note(doc, SKEL_E_DOCUMENT, "format: must be \"skel-dh/1\", the format of a DH table");
        return false;
    }
    return dh_parse(doc, doc->root, d, s);
}

typedef struct rewriting {
    dh_doc d;
    skel_scene s; /* holds only the source and the notes of the table */
} rewriting;

/* Reads the table and converts it to the convention. */
static skel_status rewrite_text(const char *table, size_t length, int32_t convention, document *doc,
                                rewriting *w, skel_error *err) {
    if (!parse(doc, table, length, &w->d, &w->s)) {
        doc_sort(doc);
        return doc_result(doc, err);
    }
    if (w->s.robot && w->s.robot->arena.failed) return SKEL_E_MEMORY; /* a note could not be kept */
    return rewrite(&w->d, convention, err);
}

/* What is written of a table. */
typedef enum output { OUTPUT_JSON, OUTPUT_CSV, OUTPUT_REPORT } output;

static void put_output(text_buffer *t, const rewriting *w, output kind) {
    switch (kind) {
    case OUTPUT_JSON: dh_put(t, &w->d, w->s.robot); break;
    case OUTPUT_CSV: dh_put_csv(t, &w->d, w->s.robot); break;
    case OUTPUT_REPORT:
        text_add(t, "receipt: ");
        dh_put_accuracy(t, &w->d.receipt);
        text_add(t, "\n");
        break;
    }
}

static skel_status write_table(const char *table, size_t length, int32_t convention, output kind,
                               char *text, size_t capacity, size_t *needed, skel_error *err) {
    if (!table || (!text && capacity > 0) ||
        (convention != SKEL_DH_STANDARD && convention != SKEL_DH_MODIFIED))
        return SKEL_E_ARGUMENT;

    const doc_locale locale = doc_locale_enter();
    rewriting w = {0};
    document doc;
    text_buffer t = {0};
    skel_status status = rewrite_text(table, length, convention, &doc, &w, err);
    if (status == SKEL_OK) {
        put_output(&t, &w, kind);
        status = kind == OUTPUT_REPORT
                     ? text_give(&t, text, capacity, needed)
                     : scene_give_readable(&t, "the table", text, capacity, needed, err);
    }

    text_free(&t);
    doc_close(&doc);
    robot_free(w.s.robot);
    doc_locale_leave(locale);
    return status;
}

skel_status skel_dh_rewrite(const char *table, size_t length, int32_t convention, int32_t is_csv,
                            char *text, size_t capacity, size_t *needed, skel_error *err) {
    return write_table(table, length, convention, is_csv ? OUTPUT_CSV : OUTPUT_JSON, text, capacity,
                       needed, err);
}

skel_status skel_dh_rewrite_report(const char *table, size_t length, int32_t convention, char *text,
                                   size_t capacity, size_t *needed, skel_error *err) {
    return write_table(table, length, convention, OUTPUT_REPORT, text, capacity, needed, err);
}
