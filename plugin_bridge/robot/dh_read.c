/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the document skel-dh/1: Denavit-Hartenberg rows with names, limits, masses and poses. */
#include "robot/dh.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DH_MATRIX_TOL 1e-6 /* allowed error of the elements of a rigid 4x4 matrix */
#define DH_POSES_MAX 10000

enum {
    D_FORMAT,
    D_NAME,
    D_CONVENTION,
    D_ANGLE,
    D_LENGTH,
    D_BASE,
    D_TOOL,
    D_JOINTS,
    D_POSES,
    D_SOURCE,
    D_NOTES,
    D_RECEIPT
};
static const doc_field k_dh[] = {
    {"format"}, {"name"},  {"convention"}, {"angle_unit"}, {"length_unit"}, {"base"}, {"tool"},
    {"joints"}, {"poses"}, {"source"},     {"notes"},      {"receipt"},     {NULL}};

enum { R_POSES, R_POSITION, R_ANGLE, R_REACH, R_LONGEST, R_PARALLEL };
static const doc_field k_receipt[] = {{"poses"},   {"position_error"}, {"angle_error"}, {"reach"},
                                      {"longest"}, {"parallel"},       {NULL}};

enum {
    J_NAME,
    J_LINK,
    J_TYPE,
    J_A,
    J_ALPHA,
    J_D,
    J_THETA,
    J_OFFSET,
    J_SIGN,
    J_LIMITS,
    J_MASS,
    J_COM,
    J_INERTIA,
    J_FRICTION,
    J_VELOCITY,
    J_TORQUE,
    J_MIMIC
};
static const doc_field k_joint[] = {{"name"},    {"link"},     {"type"},           {"a"},
                                    {"alpha"},   {"d"},        {"theta"},          {"offset"},
                                    {"sign"},    {"limits"},   {"mass"},           {"com"},
                                    {"inertia"}, {"friction"}, {"velocity_limit"}, {"torque_limit"},
                                    {"mimic"},   {NULL}};

static const char *const k_conventions[] = {"standard", "modified", NULL};
static const char *const k_types[] = {"revolute", "prismatic", NULL};

/* ---- base and tool --------------------------------------------------------------------------- */

/* Quaternion of the rotation in a 4x4 matrix (row by row), by Shepperd's method: the formulas
   divide by the largest component. */
static void quaternion_of(const double m[16], double q[4]) {
    const double xx = m[0], yy = m[5], zz = m[10], tr = xx + yy + zz;
    double x[4] = {1 + tr, m[9] - m[6], m[2] - m[8], m[4] - m[1]};

    if (!(tr >= xx && tr >= yy && tr >= zz)) {
        const double by_x[4] = {m[9] - m[6], 1 + 2 * xx - tr, m[1] + m[4], m[2] + m[8]};
        const double by_y[4] = {m[2] - m[8], m[1] + m[4], 1 + 2 * yy - tr, m[6] + m[9]};
        const double by_z[4] = {m[4] - m[1], m[2] + m[8], m[6] + m[9], 1 + 2 * zz - tr};
        if (xx >= yy && xx >= zz)
            memcpy(x, by_x, sizeof x);
        else if (yy >= zz)
            memcpy(x, by_y, sizeof x);
        else
            memcpy(x, by_z, sizeof x);
    }
    doc_normalise(x, 4);
    memcpy(q, x, sizeof x);
}

/* Whether the rows are orthonormal and right-handed to DH_MATRIX_TOL, and the last row is 0 0 0 1.
   */
static bool is_rigid(const double m[16]) {
    double worst = fabs(m[12]) + fabs(m[13]) + fabs(m[14]) + fabs(m[15] - 1.0), c[3];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            double dot = i == j ? -1.0 : 0.0;
            for (int k = 0; k < 3; ++k) dot += m[4 * i + k] * m[4 * j + k];
            worst = fmax(worst, fabs(dot));
        }
    scene_cross(m, m + 4, c);
    for (int k = 0; k < 3; ++k) worst = fmax(worst, fabs(c[k] - m[8 + k]));
    return worst <= DH_MATRIX_TOL;
}

static bool read_matrix(document *doc, const doc_at *at, double length, double out[7]) {
    static const char must[] = "{\"position\", \"orientation\"} or a 4x4 matrix";
    double m[16] = {0};
    int32_t n = 0, i = 0;
    if (!doc_array(doc, at, 4, 4, must, &n)) return false;
    for (const json_value *c = at->node->child; c; c = c->next, ++i) {
        const doc_at row = doc_element(at, i, c);
        if (!doc_vector(doc, &row, 4, "[x, y, z, w], four rows", m + 4 * i)) return false;
    }

    if (!is_rigid(m)) {
        doc_error(doc, at,
                  "is not a rigid transform, must be a rotation, a position and [0, 0, 0, 1]");
        return false;
    }

    for (int k = 0; k < 3; ++k) out[k] = m[4 * k + 3] * length;
    quaternion_of(m, out + 3);
    return true;
}

/* Base or tool: a pose, or a 4x4 matrix. */
static void read_end(document *doc, const doc_at *at, double length, double out[7]) {
    enum { F_POSITION, F_ORIENTATION };
    static const doc_field table[] = {{"position"}, {"orientation"}, {NULL}};
    doc_field_list f;
    out[3] = 1.0;
    if (!at->node) return;
    if (json_is_array(at->node)) {
        read_matrix(doc, at, length, out);
        return;
    }

    if (!doc_fields(doc, at, table, "a frame", &f)) return;
    const doc_at p = doc_member(&f, F_POSITION), o = doc_member(&f, F_ORIENTATION);
    if (doc_vector(doc, &p, 3, "[x, y, z]", out))
        for (int k = 0; k < 3; ++k) out[k] *= length;
    doc_quaternion(doc, &o, out + 3);
}

/* ---- joints ---------------------------------------------------------------------------------- */

static void read_masses(document *doc, const doc_field_list *f, const dh_doc *d, dh_joint *j) {
    const doc_at mass = doc_member(f, J_MASS), com = doc_member(f, J_COM);
    const doc_at inertia = doc_member(f, J_INERTIA);
    int32_t n = 0;
    j->has_mass = doc_number(doc, &mass, DOC_POSITIVE, &j->mass);
    j->has_com = doc_vector(doc, &com, 3, "[x, y, z]", j->com);
    for (int k = 0; k < 3; ++k) j->com[k] *= d->length;

    if (!doc_array(doc, &inertia, 3, 6, "[xx, yy, zz] or [xx, yy, zz, xy, xz, yz]", &n)) return;
    if (!doc_vector(doc, &inertia, n <= 3 ? 3 : 6, "[xx, yy, zz] or [xx, yy, zz, xy, xz, yz]",
                    j->inertia))
        return;

    j->has_inertia = robot_inertia_definite(j->inertia);
    if (!j->has_inertia)
        doc_wrong(doc, &inertia, "positive definite, with moments of like size");
    else if (!robot_inertia_real(j->inertia))
        doc_warn(doc, &inertia,
                 "one principal moment exceeds the sum of the other two: no solid has such an "
                 "inertia");
}

static void read_limits(document *doc, const doc_at *at, double unit, dh_joint *j) {
    double pair[2];
    if (!doc_vector(doc, at, 2, "[low, high]", pair)) return;
    if (pair[0] > pair[1]) {
        doc_wrong(doc, at, "[low, high] with low <= high");
        return;
    }
    j->has_limits = true;
    j->low = pair[0] * unit;
    j->high = pair[1] * unit;
}

static void read_row(document *doc, const doc_field_list *f, const dh_doc *d, dh_joint *j) {
    static const int needed[] = {J_A, J_ALPHA, J_D, J_THETA};
    const doc_at a = doc_member(f, J_A), alpha = doc_member(f, J_ALPHA);
    const doc_at dd = doc_member(f, J_D), theta = doc_member(f, J_THETA);
    const doc_at offset = doc_member(f, J_OFFSET), sign = doc_member(f, J_SIGN);
    const bool is_hinge = j->row.type == SKEL_JOINT_HINGE;
    const double unit = is_hinge ? d->angle : d->length;

    /* theta of a hinge and d of a slide may be left out: they are the joint coordinate. */
    const int variable = is_hinge ? J_THETA : J_D;
    for (size_t k = 0; k < sizeof needed / sizeof *needed; ++k)
        if (needed[k] != variable) doc_need(doc, f, needed[k], "a number");

    doc_number(doc, &a, DOC_ANY, &j->row.a);
    doc_number(doc, &alpha, DOC_ANY, &j->row.alpha);
    doc_number(doc, &dd, DOC_ANY, &j->row.d);
    doc_number(doc, &theta, DOC_ANY, &j->row.theta);
    doc_number(doc, &offset, DOC_ANY, &j->row.offset);
    if (doc_number(doc, &sign, DOC_ANY, &j->row.sign) && fabs(j->row.sign) != 1.0)
        doc_wrong(doc, &sign, "1 or -1");

    j->row.a *= d->length;
    j->row.d *= d->length;
    j->row.alpha *= d->angle;
    j->row.theta *= d->angle;
    j->row.offset *= unit;
}

static void read_joint(document *doc, const doc_at *at, const dh_doc *d, dh_joint *j) {
    doc_field_list f;
    int32_t type = 0;
    skel_dh_row_init(&j->row);
    if (!doc_fields(doc, at, k_joint, "a joint of a table", &f)) return;
    const doc_at name = doc_member(&f, J_NAME), link = doc_member(&f, J_LINK);
    const doc_at kind = doc_member(&f, J_TYPE), limits = doc_member(&f, J_LIMITS);
    const doc_at friction = doc_member(&f, J_FRICTION);
    const doc_at velocity = doc_member(&f, J_VELOCITY);
    const doc_at torque = doc_member(&f, J_TORQUE);
    const doc_at mimic = doc_member(&f, J_MIMIC);

    doc_name(doc, &name, &j->name);
    doc_name(doc, &link, &j->link);
    if (!doc_need(doc, &f, J_TYPE, "\"revolute\" or \"prismatic\"")) return;
    if (!doc_choice(doc, &kind, k_types, &type)) return;
    j->row.type = type == 0 ? SKEL_JOINT_HINGE : SKEL_JOINT_SLIDE;
    const double unit = type == 0 ? d->angle : d->length;

    read_row(doc, &f, d, j);
    read_limits(doc, &limits, unit, j);
    read_masses(doc, &f, d, j);
    doc_number(doc, &friction, DOC_NOT_NEGATIVE, &j->friction);
    if (doc_number(doc, &velocity, DOC_POSITIVE, &j->drive.velocity)) j->drive.velocity *= unit;
    doc_number(doc, &torque, DOC_POSITIVE, &j->drive.effort);
    scene_read_mimic(doc, &mimic, &j->mimic);
}

static void read_joints(document *doc, const doc_at *at, dh_doc *d) {
    int32_t n = 0, i = 0;
    const json_value *c;
    if (!doc_array(doc, at, 1, DH_JOINTS, "[joint, ...], at least one", &n)) return;
    d->joints = doc_alloc(doc, (size_t)n, sizeof *d->joints);
    if (!d->joints) return;
    d->count = n;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        snprintf(d->joints[i].place, sizeof d->joints[i].place, "joints[%d]", (int)i);
        read_joint(doc, &item, d, &d->joints[i]);
        ++i;
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

static bool read_pose(document *doc, const doc_at *at, const dh_doc *d, dh_pose *p) {
    int32_t n = 0, i = 0;
    p->q = doc_alloc(doc, (size_t)d->count + 1, sizeof *p->q);
    if (!p->q || !doc_array(doc, at, 0, 1000000, "[q, ...]", &n)) return false;
    if (n != d->count) {
        doc_error(doc, at, "has %d numbers, must have %d, one per joint", (int)n, (int)d->count);
        return false;
    }

    for (const json_value *e = at->node->child; e; e = e->next, ++i) {
        const doc_at number = doc_element(at, i, e);
        const bool is_hinge = d->joints[i].row.type == SKEL_JOINT_HINGE;
        if (doc_number(doc, &number, DOC_ANY, &p->q[i])) p->q[i] *= is_hinge ? d->angle : d->length;
    }
    return true;
}

static void read_poses(document *doc, const doc_at *at, dh_doc *d) {
    if (!at->node) return;
    const int count = json_size(at->node);
    if (!json_is_object(at->node) || count > DH_POSES_MAX) {
        doc_wrong(doc, at, "{\"name\": [q, ...], ...}");
        return;
    }

    d->poses = doc_alloc(doc, (size_t)count + 1, sizeof *d->poses);
    for (const json_value *c = at->node->child; c && d->poses; c = c->next) {
        const doc_at item = {at, c->name, -1, c};
        dh_pose *p = &d->poses[d->pose_count];
        for (int32_t k = 0; k < d->pose_count; ++k)
            if (strcmp(d->poses[k].name, c->name) == 0) doc_error(doc, &item, "is given twice");
        p->name = c->name;
        if (read_pose(doc, &item, d, p)) ++d->pose_count;
    }
}

/* The receipt of an extracted table. Only its errors are used again, by skel_dh_rewrite. */
static void read_receipt(document *doc, const doc_at *at, skel_dh_receipt *r) {
    doc_field_list f;
    if (!at->node || !doc_fields(doc, at, k_receipt, "a receipt", &f)) return;
    const doc_at position = doc_member(&f, R_POSITION), angle = doc_member(&f, R_ANGLE);
    doc_number(doc, &position, DOC_NOT_NEGATIVE, &r->position_error);
    doc_number(doc, &angle, DOC_NOT_NEGATIVE, &r->angle_error);
}

static void read_head(document *doc, const doc_field_list *f, dh_doc *d) {
    static const char *const angles[] = {"rad", "deg", NULL}, *const lengths[] = {"m", "mm", NULL};
    const doc_at name = doc_member(f, D_NAME), angle = doc_member(f, D_ANGLE);
    const doc_at convention = doc_member(f, D_CONVENTION);
    const doc_at length = doc_member(f, D_LENGTH);
    int32_t deg = 0, mm = 0;

    doc_name(doc, &name, &d->name);
    if (doc_need(doc, f, D_CONVENTION, "\"standard\" or \"modified\""))
        doc_choice(doc, &convention, k_conventions, &d->convention);
    doc_choice(doc, &angle, angles, &deg);
    doc_choice(doc, &length, lengths, &mm);

    d->is_deg = deg == 1;
    d->is_mm = mm == 1;
    d->angle = deg ? DOC_PI / 180.0 : 1.0;
    d->length = mm ? 1e-3 : 1.0;
}

bool dh_parse(document *doc, const json_value *root, dh_doc *d, skel_scene *s) {
    doc_field_list f;
    const doc_at at = {NULL, NULL, -1, root};
    *d = (dh_doc){0};
    if (!doc_fields(doc, &at, k_dh, "a table", &f)) return false;
    const doc_at base = doc_member(&f, D_BASE), tool = doc_member(&f, D_TOOL);
    const doc_at joints = doc_member(&f, D_JOINTS), poses = doc_member(&f, D_POSES);
    const doc_at source = doc_member(&f, D_SOURCE), notes = doc_member(&f, D_NOTES);
    const doc_at receipt = doc_member(&f, D_RECEIPT);

    read_head(doc, &f, d);
    read_receipt(doc, &receipt, &d->receipt);
    read_end(doc, &base, d->length, d->base);
    read_end(doc, &tool, d->length, d->tool);
    if (doc_need(doc, &f, D_JOINTS, "[joint, ...], at least one")) {
        read_joints(doc, &joints, d);
        if (d->count > 0) read_poses(doc, &poses, d);
    }

    if (robot_new(s))
        robot_read_words(doc, &source, &notes, s->robot);
    else
        doc->no_memory = true;
    return doc->error_count == 0 && !doc->no_memory && dh_names(doc, d);
}

void robot_read_dh(document *doc, const json_value *root, skel_scene *s) {
    dh_doc d;
    if (!dh_parse(doc, root, &d, s)) return;
    dh_warn_of_mistakes(doc, &d);
    dh_build(doc, &d, s);
}
