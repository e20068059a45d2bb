/* SPDX-License-Identifier: BSD-3-Clause */
/* Joints that go with others: `mimic` of a joint, and the list of a robot, which older documents
   have. The model holds them; kinematics and IK obey, dynamics has no such constraint. */
#include "robot/robot.h"

#include <skel/skel_robot.h>

#include <math.h>

#define MAX_MIMICS 100000
#define OBEYS 1e-6 /* [rad], [m] that printed digits may be off by */

/* ---- reading --------------------------------------------------------------------------------- */

bool scene_read_mimic(document *doc, const doc_at *at, scene_mimic *out) {
    enum { M_JOINT, M_MULTIPLIER, M_OFFSET };
    static const doc_field table[] = {{"joint"}, {"multiplier"}, {"offset"}, {NULL}};
    doc_field_list f;
    if (!at->node || !doc_fields(doc, at, table, "a mimic", &f)) return false;
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
    return (type == SKEL_JOINT_SLIDE ? length : angle) / (of == SKEL_JOINT_SLIDE ? length : angle);
}

/* A name of a joint but `not`, or a problem and -2. */
static int32_t find_joint(scene_reader *r, const doc_at *at, const char *name, int32_t not ) {
    const int32_t joint = names_find(&r->joint_names, name);
    if (joint >= 0 && joint != not ) return joint;
    doc_wrong(&r->doc, at, "the name of another joint");
    return -2;
}

static void read_own(scene_reader *r, const doc_at *at, int32_t i) {
    skel_joint_desc *j = &r->joints[i];
    scene_mimic m;
    if (!scene_read_mimic(&r->doc, at, &m)) return;
    const doc_at name = {at, "joint", -1, json_member(at->node, "joint")};
    const int32_t of = find_joint(r, &name, m.of, i);
    if (of < 0) return;
    j->mimic.source = of;
    j->mimic.multiplier = m.factor * scene_mimic_unit(j->type, r->joints[of].type, r->angle, 1.0);
    j->mimic.offset = m.offset * (j->type == SKEL_JOINT_SLIDE ? 1.0 : r->angle);
}

/* One of the robot's list: it may repeat what the joint says, not gainsay it. */
static void read_listed(scene_reader *r, const doc_at *at) {
    enum { M_JOINT, M_OF, M_FACTOR, M_OFFSET };
    static const doc_field table[] = {{"joint"}, {"of"}, {"factor"}, {"offset"}, {NULL}};
    doc_field_list f;
    const char *name = NULL, *of = NULL;
    double factor = 1.0, offset = 0.0;
    if (!doc_fields(&r->doc, at, table, "a mimic", &f)) return;
    const doc_at one = doc_member(&f, M_JOINT), two = doc_member(&f, M_OF);
    const doc_at a = doc_member(&f, M_FACTOR), b = doc_member(&f, M_OFFSET);
    if (!doc_need(&r->doc, &f, M_JOINT, "the name of a joint") ||
        !doc_need(&r->doc, &f, M_OF, "the name of another joint") ||
        !doc_name(&r->doc, &one, &name) || !doc_name(&r->doc, &two, &of))
        return;
    doc_number(&r->doc, &a, DOC_ANY, &factor);
    doc_number(&r->doc, &b, DOC_ANY, &offset);
    const int32_t joint = find_joint(r, &one, name, -1);
    const int32_t lead = joint >= 0 ? find_joint(r, &two, of, joint) : -2;
    if (lead < 0) return;
    skel_joint_desc *j = &r->joints[joint];
    if (j->mimic.source < 0) {
        j->mimic.source = lead;
        j->mimic.multiplier = factor;
        j->mimic.offset = offset;
        return;
    }
    if (j->mimic.source != lead || fabs(j->mimic.multiplier - factor) > OBEYS ||
        fabs(j->mimic.offset - offset) > OBEYS)
        doc_error(&r->doc, at, "is not what joints[%d].mimic says (leave one out)", (int)joint);
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
    if (!list.node || !doc_array(&r->doc, &list, 0, MAX_MIMICS, "[mimic, ...]", &n)) return;
    i = 0;
    JSON_EACH(c, list.node) {
        const doc_at item = doc_element(&list, i++, c);
        read_listed(r, &item);
    }
}

void scene_check_mimics(scene_reader *r, const skel_model *model, const double *q) {
    for (int32_t i = 0; i < r->joint_count; ++i) {
        double factor, offset;
        const int32_t of = skel_model_mimic_source(model, i, &factor, &offset);
        if (of < 0) continue;
        const double now = q[skel_model_joint_q_offset(model, i)];
        const double must = factor * q[skel_model_joint_q_offset(model, of)] + offset;
        const doc_at joint = doc_element(&r->joints_at, i, r->joint_notes[i].node);
        const doc_at at = {&joint, "mimic", -1, NULL};
        if (fabs(now - must) > OBEYS)
            doc_warn(&r->doc, &at, "the given pose does not obey: q is %g, should be %g", now,
                     must);
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

/* ---- public ---------------------------------------------------------------------------------- */

int32_t skel_scene_mimic_count(const skel_scene *scene) {
    return scene ? skel_model_mimic_count(scene->model) : 0;
}

skel_status skel_scene_get_mimic(const skel_scene *scene, int32_t mimic, int32_t *joint,
                                 int32_t *of, double *factor, double *offset) {
    if (mimic < 0 || mimic >= skel_scene_mimic_count(scene)) return SKEL_E_ARGUMENT;
    skel_joint_desc j;
    skel_joint_desc_init(&j);
    int32_t i = -1;
    for (int32_t left = mimic; left >= 0;) {
        skel_model_get_joint(scene->model, ++i, &j);
        left -= j.mimic.source >= 0;
    }
    if (joint) *joint = i;
    if (of) *of = j.mimic.source;
    if (factor) *factor = j.mimic.multiplier;
    if (offset) *offset = j.mimic.offset;
    return SKEL_OK;
}

skel_status skel_scene_apply_mimic(const skel_scene *scene, double *q) {
    return scene ? skel_model_apply_mimic(scene->model, q) : SKEL_E_ARGUMENT;
}
