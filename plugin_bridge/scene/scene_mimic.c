/* SPDX-License-Identifier: BSD-3-Clause */
/* Mimic joints: `mimic` of a joint, and the list of a robot, which old documents have. The model
   holds them. Kinematics and IK obey them; dynamics has no such constraint. */
#include "robot/robot.h"

#include <skel/skel_robot.h>

#include <math.h>

#define MIMIC_COUNT_MAX 100000
#define MIMIC_SLACK 1e-6 /* [rad], [m]: rounding of printed digits */

/* ---- reading --------------------------------------------------------------------------------- */

bool scene_read_mimic(document *doc, const doc_at *at, scene_mimic *out) {
    enum { M_JOINT, M_MULTIPLIER, M_OFFSET };
    static const doc_field k_mimic[] = {{"joint"}, {"multiplier"}, {"offset"}, {NULL}};
    doc_field_list f;
    if (!at->node || !doc_fields(doc, at, k_mimic, "a mimic", &f)) return false;
    const doc_at joint = doc_member(&f, M_JOINT);
    const doc_at factor = doc_member(&f, M_MULTIPLIER);
    const doc_at offset = doc_member(&f, M_OFFSET);

    const int32_t before = doc->error_count;
    *out = (scene_mimic){.factor = 1.0};
    if (doc_need(doc, &f, M_JOINT, "the name of another joint")) doc_name(doc, &joint, &out->of);
    doc_number(doc, &factor, DOC_ANY, &out->factor);
    doc_number(doc, &offset, DOC_ANY, &out->offset);
    return doc->error_count == before && out->of;
}

double scene_mimic_unit(int32_t type, int32_t of, double angle, double length) {
    const bool is_length = scene_joint_kind(type).q_kind[0] == SKEL_COORDINATE_LENGTH;
    const bool of_length = scene_joint_kind(of).q_kind[0] == SKEL_COORDINATE_LENGTH;
    return (is_length ? length : angle) / (of_length ? length : angle);
}

/* The joint of that name, which must not be `other`; otherwise an error and -2. */
static int32_t find_joint(scene_reader *r, const doc_at *at, const char *name, int32_t other) {
    const int32_t joint = names_find(&r->joint_names, name);
    if (joint >= 0 && joint != other) return joint;
    doc_wrong(&r->doc, at, "the name of another joint");
    return -2;
}

/* `mimic` of joint i, converted to rad and m. */
static void read_own(scene_reader *r, const doc_at *at, int32_t i) {
    skel_joint_desc *j = &r->joints[i];
    scene_mimic m;
    if (!scene_read_mimic(&r->doc, at, &m)) return;
    const doc_at name = {at, "joint", -1, json_member(at->node, "joint")};
    const int32_t of = find_joint(r, &name, m.of, i);
    if (of < 0) return;

    j->mimic.source = of;
    j->mimic.multiplier = m.factor * scene_mimic_unit(j->type, r->joints[of].type, r->angle, 1.0);
    j->mimic.offset = m.offset * scene_limit_unit(r, j->type);
}

/* One element of the robot's list. If the joint has a `mimic` as well, they must agree. */
static void read_listed(scene_reader *r, const doc_at *at) {
    enum { M_JOINT, M_OF, M_FACTOR, M_OFFSET };
    static const doc_field k_listed_mimic[] = {{"joint"}, {"of"}, {"factor"}, {"offset"}, {NULL}};
    document *doc = &r->doc;
    doc_field_list f;
    if (!doc_fields(doc, at, k_listed_mimic, "a mimic", &f)) return;

    const doc_at joint_at = doc_member(&f, M_JOINT);
    const doc_at source_at = doc_member(&f, M_OF);
    const char *name = NULL, *source_name = NULL;
    if (!doc_need(doc, &f, M_JOINT, "the name of a joint")) return;
    if (!doc_need(doc, &f, M_OF, "the name of another joint")) return;
    if (!doc_name(doc, &joint_at, &name) || !doc_name(doc, &source_at, &source_name)) return;

    const doc_at factor_at = doc_member(&f, M_FACTOR);
    const doc_at offset_at = doc_member(&f, M_OFFSET);
    double factor = 1.0, offset = 0.0;
    doc_number(doc, &factor_at, DOC_ANY, &factor);
    doc_number(doc, &offset_at, DOC_ANY, &offset);

    const int32_t joint = find_joint(r, &joint_at, name, -1);
    const int32_t source = joint >= 0 ? find_joint(r, &source_at, source_name, joint) : -2;
    if (source < 0) return;

    skel_joint_desc *j = &r->joints[joint];
    if (j->mimic.source < 0) {
        j->mimic.source = source;
        j->mimic.multiplier = factor;
        j->mimic.offset = offset;
        return;
    }
    if (j->mimic.source != source || fabs(j->mimic.multiplier - factor) > MIMIC_SLACK ||
        fabs(j->mimic.offset - offset) > MIMIC_SLACK)
        doc_error(doc, at, "differs from joints[%d].mimic, must agree with it (or be left out)",
                  (int)joint);
}

void scene_read_mimics(scene_reader *r) {
    int32_t n = 0, i = 0;
    const json_value *c;
    for (i = 0; i < r->joint_count; ++i) {
        const json_value *node = r->joint_notes[i].node;
        const doc_at joint = doc_element(&r->joints_at, i, node);
        const doc_at at = {&joint, "mimic", -1, json_member(node, "mimic")};
        if (at.node) read_own(r, &at, i);
    }

    const doc_at robot = {&r->root, "robot", -1, json_member(r->doc.root, "robot")};
    const doc_at list = {&robot, "mimic", -1, json_member(robot.node, "mimic")};
    if (!list.node || !doc_array(&r->doc, &list, 0, MIMIC_COUNT_MAX, "[mimic, ...]", &n)) return;
    i = 0;
    JSON_EACH(c, list.node) {
        const doc_at item = doc_element(&list, i++, c);
        read_listed(r, &item);
    }
}

void scene_check_mimics(scene_reader *r, const skel_model *model, const double *q) {
    for (int32_t i = 0; i < r->joint_count; ++i) {
        double factor, offset;
        const int32_t source = skel_model_mimic_source(model, i, &factor, &offset);
        if (source < 0) continue;

        const double is = q[skel_model_joint_q_offset(model, i)];
        const double must = factor * q[skel_model_joint_q_offset(model, source)] + offset;
        if (!(fabs(is - must) > MIMIC_SLACK)) continue;

        const skel_joint_kind kind = scene_joint_kind(r->joints[i].type);
        const char *unit = kind.q_kind[0] == SKEL_COORDINATE_LENGTH ? "m" : "rad";
        const doc_at joint = doc_element(&r->joints_at, i, r->joint_notes[i].node);
        const doc_at at = {&joint, "mimic", -1, NULL};
        doc_warn(&r->doc, &at, "the given pose violates it: q is %g %s, should be %g %s", is, unit,
                 must, unit);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

void scene_put_mimic(text_buffer *t, const char *of, double factor, double offset) {
    text_add(t, ",\n     \"mimic\": {\"joint\": ");
    text_string(t, of);
    text_add(t, ", \"multiplier\": ");
    text_number(t, factor);
    text_add(t, ", \"offset\": ");
    text_number(t, offset);
    text_add(t, "}");
}
