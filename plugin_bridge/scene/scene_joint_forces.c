/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces in a joint of skel-scene/1: motor, follow spring, limiting torque, spring and muscle. */
#include "scene/scene.h"

#include <string.h>

static bool has_axis(const skel_joint_desc *j) {
    return scene_joint_kind(j->type).has_axis;
}

/* True if the joint cannot move; then the problem is noted. */
static bool refused_by_fixed(document *doc, const doc_at *at, const skel_joint_desc *j) {
    const skel_joint_kind kind = scene_joint_kind(j->type);
    if (kind.dof > 0) return false;
    doc_error(doc, at, "is not a field of a %s joint", kind.name);
    return true;
}

/* True if the field is given and the joint can have it. */
static bool wants_one_axis(document *doc, const doc_at *at, const skel_joint_desc *j,
                           const char *what) {
    if (!at->node) return false;
    if (has_axis(j)) return true;
    doc_error(doc, at, "must be left out: only a joint with one degree of freedom has %s", what);
    return false;
}

bool scene_read_ratio(document *doc, const doc_at *at, double *out) {
    double x = 0.0;
    if (!doc_number(doc, at, DOC_ANY, &x)) return false;
    if (x >= 0.0 && x <= 1.0)
        *out = x;
    else
        doc_wrong(doc, at, "a number from 0 to 1");
    return x >= 0.0 && x <= 1.0;
}

static void read_motor(document *doc, doc_at at, skel_joint_desc *j) {
    bool smooth = false;
    if (!at.node) return;
    if (!has_axis(j)) {
        if (json_is_number(at.node) && at.node->number == 0.0) return;
        doc_wrong(doc, &at, "left out: only a joint with one degree of freedom has a motor");
    } else if (json_is_object(at.node)) {
        scene_read_smooth_curve(doc, &at, 1, NULL, &j->motor_curve, &smooth);
        if (smooth) j->flags |= SKEL_FLAG_SMOOTH;
    } else if (json_is_number(at.node)) {
        doc_number(doc, &at, DOC_ANY, &j->motor);
    } else {
        doc_wrong(doc, &at, "a number or {\"time\", \"value\"}");
    }
}

/* ---- follow -------------------------------------------------------------------------------- */

static const doc_field k_follow[] = {{"stiffness"}, {"damping"}, {"max_torque"},
                                     {"curve"},     {"weight"},  {NULL}};

/* The target of the follow spring, with angles in rad. */
static void read_target(scene_reader *r, const doc_at *at, skel_joint_desc *j) {
    const skel_joint_kind kind = scene_joint_kind(j->type);
    const uint32_t width = (uint32_t)kind.q_count;
    skel_curve curve = {0};
    char must[64];
    scene_describe_q(&kind, must, sizeof must);
    if (!at->node || !scene_read_curve(&r->doc, at, width, must, &curve)) return;

    const size_t n = (size_t)curve.count * width;
    double *value = doc_alloc(&r->doc, n, sizeof *value);
    if (!value) return;
    for (size_t k = 0; k < n; ++k)
        value[k] = curve.value[k] * scene_q_unit(r, kind.q_kind[k % width]);
    curve.value = value;
    j->follow.target = curve;
}

/* A number becomes a curve with one sample. */
static void read_weight(document *doc, const doc_at *at, skel_joint_desc *j) {
    static const double start = 0.0;
    skel_curve weight = {&start, NULL, 1, 1};
    if (!at->node) return;

    if (json_is_object(at->node)) {
        if (!scene_read_curve(doc, at, 1, NULL, &weight)) return;
    } else if (json_is_number(at->node)) {
        double *value = doc_alloc(doc, 1, sizeof *value);
        if (!value || !doc_number(doc, at, DOC_ANY, value)) return;
        weight.value = value;
    } else {
        doc_wrong(doc, at, "a number from 0 to 1 or {\"time\", \"value\"}");
        return;
    }

    /* The path of an error leads to the sample, if there is a list. */
    for (uint32_t k = 0; k < weight.count; ++k) {
        if (weight.value[k] >= 0.0 && weight.value[k] <= 1.0) continue;
        const json_value *list = json_member(at->node, "value");
        const doc_at all = {at, "value", -1, list};
        const doc_at one = doc_element(&all, (int32_t)k, json_element(list, (int)k));
        doc_wrong(doc, list ? &one : at, "a number from 0 to 1");
        return;
    }
    j->follow.weight = weight;
}

static void read_follow(scene_reader *r, doc_at at, skel_joint_desc *j) {
    enum { F_STIFFNESS, F_DAMPING, F_MAX, F_CURVE, F_WEIGHT };
    document *doc = &r->doc;
    doc_field_list f;
    if (!at.node || refused_by_fixed(doc, &at, j)) return;
    if (!doc_fields(doc, &at, k_follow, "follow", &f)) return;

    const doc_at stiffness = doc_member(&f, F_STIFFNESS);
    const doc_at damping = doc_member(&f, F_DAMPING);
    const doc_at max = doc_member(&f, F_MAX);
    const doc_at curve = doc_member(&f, F_CURVE);
    const doc_at weight = doc_member(&f, F_WEIGHT);

    if (doc_need(doc, &f, F_STIFFNESS, "a frequency > 0 in Hz"))
        doc_number(doc, &stiffness, DOC_POSITIVE, &j->follow.frequency);
    doc_number(doc, &damping, DOC_NOT_NEGATIVE, &j->follow.damping);
    doc_number(doc, &max, DOC_POSITIVE, &j->follow.max);
    read_target(r, &curve, j);
    read_weight(doc, &weight, j);
}

/* ---- limits, spring, muscle ----------------------------------------------------------------- */

bool scene_read_numbers(document *doc, const doc_at *at, const char *what,
                        const scene_constant *wanted) {
    doc_field table[DOC_MAX_FIELDS + 1] = {{NULL}};
    doc_field_list f;
    int n = 0;
    for (; wanted[n].name; ++n) table[n].name = wanted[n].name;
    if (!doc_fields(doc, at, table, what, &f)) return false;

    bool good = true;
    for (int k = 0; k < n; ++k) {
        static const char *const must[] = {"a number", "a number > 0", "a number >= 0"};
        const doc_at one = doc_member(&f, k);
        if (wanted[k].is_required) good = doc_need(doc, &f, k, must[wanted[k].sign]) && good;
        if (one.node) good = doc_number(doc, &one, wanted[k].sign, wanted[k].out) && good;
    }
    return good;
}

/* Only `on` is in the unit of the document; the constants are SI. */
static void read_limit_torque(scene_reader *r, doc_at at, skel_joint_desc *j, bool has_limits) {
    double on = 0.0;
    const scene_constant wanted[] = {
        {"a", true, DOC_NOT_NEGATIVE, &j->limits.law_a},
        {"b", true, DOC_POSITIVE, &j->limits.law_b},
        {"c", true, DOC_POSITIVE, &j->limits.law_c},
        {"d", false, DOC_NOT_NEGATIVE, &j->limits.law_d},
        {"on", true, DOC_POSITIVE, &on},
        {NULL, false, DOC_ANY, NULL},
    };
    if (!at.node || refused_by_fixed(&r->doc, &at, j)) return;
    if (!has_limits) doc_error(&r->doc, &at, "must come with limits");
    if (scene_read_numbers(&r->doc, &at, "limit_torque", wanted))
        j->limits.law_range = on * scene_limit_unit(r, j->type);
}

static void read_limit_restitution(document *doc, doc_at at, const doc_at *torque,
                                   skel_joint_desc *j, bool has_limits) {
    if (!at.node || refused_by_fixed(doc, &at, j)) return;
    if (!has_limits) doc_error(doc, &at, "must come with limits");
    scene_read_ratio(doc, &at, &j->limits.restitution);
    if (torque->node) doc_warn(doc, &at, "has no effect beside limit_torque");
}

/* Only `rest` is in the unit of the document. */
static void read_spring(scene_reader *r, doc_at at, skel_joint_desc *j) {
    const scene_constant wanted[] = {
        {"stiffness", true, DOC_NOT_NEGATIVE, &j->spring.stiffness},
        {"damping", false, DOC_NOT_NEGATIVE, &j->spring.damping},
        {"rest", false, DOC_ANY, &j->spring.rest},
        {NULL, false, DOC_ANY, NULL},
    };
    if (!wants_one_axis(&r->doc, &at, j, "a spring")) return;
    scene_read_numbers(&r->doc, &at, "a spring", wanted);
    j->spring.rest *= scene_limit_unit(r, j->type);
}

static void read_muscle(document *doc, doc_at at, skel_joint_desc *j) {
    double side = 1.0;
    const scene_constant wanted[] = {
        {"growth", true, DOC_POSITIVE, &j->muscle.growth},
        {"max", true, DOC_POSITIVE, &j->muscle.max},
        {"start", false, DOC_NOT_NEGATIVE, &j->muscle.start},
        {"feedback", false, DOC_ANY, &j->muscle.feedback},
        {"impact_speed", false, DOC_ANY, &j->muscle.impact_speed},
        {"delay", false, DOC_NOT_NEGATIVE, &j->muscle.delay},
        {"side", false, DOC_ANY, &side},
        {NULL, false, DOC_ANY, NULL},
    };
    if (!wants_one_axis(doc, &at, j, "a muscle")) return;
    if (!scene_read_numbers(doc, &at, "a muscle", wanted)) return;

    const doc_at where = {&at, "side", -1, json_member(at.node, "side")};
    if (side != 1.0 && side != -1.0) doc_wrong(doc, &where, "1 or -1");
    j->muscle.side = side < 0.0 ? -1 : 1;

    const doc_at start = {&at, "start", -1, json_member(at.node, "start")};
    if (j->muscle.start > j->muscle.max) doc_wrong(doc, &start, "at most max");
}

void scene_read_actuators(scene_reader *r, const scene_joint_parts *at, skel_joint_desc *j) {
    const bool has_limits = at->limits.node != NULL;
    read_motor(&r->doc, at->motor, j);
    read_follow(r, at->follow, j);
    read_limit_torque(r, at->limit_torque, j, has_limits);
    read_limit_restitution(&r->doc, at->limit_restitution, &at->limit_torque, j, has_limits);
    read_spring(r, at->spring, j);
    read_muscle(&r->doc, at->muscle, j);
}
