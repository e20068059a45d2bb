/* SPDX-License-Identifier: BSD-3-Clause */
/* What acts in a joint of skel-scene/1: motor, springs, what happens at the limits, muscle. */
#include "scene/scene.h"

#include <string.h>

static bool has_one_axis(const skel_joint_desc *j) {
    return j->type == SKEL_JOINT_HINGE || j->type == SKEL_JOINT_SLIDE;
}

static bool refused_by_fixed(skel__doc *doc, const skel__at *at, const skel_joint_desc *j) {
    if (j->type != SKEL_JOINT_FIXED) return false;
    skel__doc_error(doc, at, "is not a field of a fixed joint");
    return true;
}

/* True where the field is there and the joint can have it. */
static bool wants_one_axis(skel__doc *doc, const skel__at *at, const skel_joint_desc *j,
                           const char *what) {
    if (!at->node) return false;
    if (has_one_axis(j)) return true;
    skel__doc_error(doc, at, "must be left out: only a hinge or a slide has %s", what);
    return false;
}

bool skel__read_ratio(skel__doc *doc, const skel__at *at, double *out) {
    double x = 0.0;
    if (!skel__doc_number(doc, at, SKEL__ANY, &x)) return false;
    if (x >= 0.0 && x <= 1.0)
        *out = x;
    else
        skel__doc_wrong(doc, at, "a number from 0 to 1");
    return x >= 0.0 && x <= 1.0;
}

static void read_motor(skel__doc *doc, skel__at at, skel_joint_desc *j) {
    bool smooth = false;
    if (!at.node) return;
    if (!has_one_axis(j)) {
        if (skel__json_is_number(at.node) && at.node->number == 0.0) return;
        skel__doc_wrong(doc, &at, "left out: only a hinge or a slide has a motor");
    } else if (skel__json_is_object(at.node)) {
        skel__read_smooth_curve(doc, &at, 1, &j->motor_curve, &smooth);
        if (smooth) j->flags |= SKEL_FLAG_SMOOTH;
    } else if (skel__json_is_number(at.node)) {
        skel__doc_number(doc, &at, SKEL__ANY, &j->motor);
    } else {
        skel__doc_wrong(doc, &at, "a number or {\"time\", \"value\"}");
    }
}

/* ---- follow -------------------------------------------------------------------------------- */

static const skel__field k_follow[] = {{"stiffness"}, {"damping"}, {"max_torque"},
                                       {"curve"},     {"weight"},  {NULL}};

/* Numbers per sample of q, in the order of SKEL_JOINT_*. */
static const uint32_t k_q_width[] = {0, 1, 1, 2, 4};

static void read_target(skel__reader *r, const skel__at *at, skel_joint_desc *j) {
    const bool   angles = j->type == SKEL_JOINT_HINGE || j->type == SKEL_JOINT_UNIVERSAL;
    const double unit   = angles ? r->angle : 1.0;
    skel_curve   curve  = {0};
    if (!at->node || !skel__read_curve(&r->doc, at, k_q_width[j->type], &curve)) return;
    const size_t n     = (size_t)curve.count * curve.width;
    double      *value = skel__doc_alloc(&r->doc, n, sizeof *value);
    if (!value) return;
    for (size_t k = 0; k < n; ++k) value[k] = curve.value[k] * unit;
    curve.value      = value;
    j->follow.target = curve;
}

/* A number is a curve of one sample. */
static void read_weight(skel__doc *doc, const skel__at *at, skel_joint_desc *j) {
    static const double start  = 0.0;
    skel_curve          weight = {&start, NULL, 1, 1};
    if (!at->node) return;
    if (skel__json_is_object(at->node)) {
        if (!skel__read_curve(doc, at, 1, &weight)) return;
    } else if (skel__json_is_number(at->node)) {
        double *value = skel__doc_alloc(doc, 1, sizeof *value);
        if (!value || !skel__doc_number(doc, at, SKEL__ANY, value)) return;
        weight.value = value;
    } else {
        skel__doc_wrong(doc, at, "a number from 0 to 1 or {\"time\", \"value\"}");
        return;
    }
    for (uint32_t k = 0; k < weight.count; ++k) {
        if (weight.value[k] >= 0.0 && weight.value[k] <= 1.0) continue;
        const skel__json *list = skel__json_member(at->node, "value");
        const skel__at    all  = {at, "value", -1, list};
        const skel__at one = skel__doc_element(&all, (int32_t)k, skel__json_element(list, (int)k));
        skel__doc_wrong(doc, list ? &one : at, "a number from 0 to 1");
        return;
    }
    j->follow.weight = weight;
}

static void read_follow(skel__reader *r, skel__at at, skel_joint_desc *j) {
    enum { F_STIFFNESS, F_DAMPING, F_MAX, F_CURVE, F_WEIGHT };
    skel__doc   *doc = &r->doc;
    skel__fields f;
    if (!at.node || refused_by_fixed(doc, &at, j)) return;
    if (!skel__doc_fields(doc, &at, k_follow, "follow", &f)) return;
    const skel__at stiffness = skel__doc_member(&f, F_STIFFNESS);
    const skel__at damping = skel__doc_member(&f, F_DAMPING), max = skel__doc_member(&f, F_MAX);
    const skel__at curve = skel__doc_member(&f, F_CURVE), weight = skel__doc_member(&f, F_WEIGHT);
    if (skel__doc_need(doc, &f, F_STIFFNESS, "a frequency > 0 in Hz"))
        skel__doc_number(doc, &stiffness, SKEL__POSITIVE, &j->follow.frequency);
    skel__doc_number(doc, &damping, SKEL__NOT_NEGATIVE, &j->follow.damping);
    skel__doc_number(doc, &max, SKEL__POSITIVE, &j->follow.max);
    read_target(r, &curve, j);
    read_weight(doc, &weight, j);
}

/* ---- limits, spring, muscle ----------------------------------------------------------------- */

bool skel__read_numbers(skel__doc *doc, const skel__at *at, const char *what,
                        const skel__constant *wanted) {
    skel__field  table[SKEL__DOC_MAX_FIELDS + 1] = {{NULL}};
    skel__fields f;
    int          n = 0;
    for (; wanted[n].name; ++n) table[n].name = wanted[n].name;
    if (!skel__doc_fields(doc, at, table, what, &f)) return false;
    bool good = true;
    for (int k = 0; k < n; ++k) {
        static const char *const must[] = {"a number", "a number > 0", "a number >= 0"};
        const skel__at           one    = skel__doc_member(&f, k);
        if (wanted[k].is_required) good = skel__doc_need(doc, &f, k, must[wanted[k].sign]) && good;
        if (one.node) good = skel__doc_number(doc, &one, wanted[k].sign, wanted[k].out) && good;
    }
    return good;
}

/* Only lengths of way are in the units of the document; the constants are SI. */
static double way_unit(const skel__reader *r, const skel_joint_desc *j) {
    return j->type == SKEL_JOINT_SLIDE ? 1.0 : r->angle;
}

static void read_limit_torque(skel__reader *r, skel__at at, skel_joint_desc *j, bool has_limits) {
    double               on       = 0.0;
    const skel__constant wanted[] = {
        {"a", true, SKEL__NOT_NEGATIVE, &j->limits.law_a},
        {"b", true, SKEL__POSITIVE, &j->limits.law_b},
        {"c", true, SKEL__POSITIVE, &j->limits.law_c},
        {"d", false, SKEL__NOT_NEGATIVE, &j->limits.law_d},
        {"on", true, SKEL__POSITIVE, &on},
        {NULL, false, SKEL__ANY, NULL},
    };
    if (!at.node || refused_by_fixed(&r->doc, &at, j)) return;
    if (!has_limits) skel__doc_error(&r->doc, &at, "must come with limits");
    if (skel__read_numbers(&r->doc, &at, "limit_torque", wanted))
        j->limits.law_range = on * way_unit(r, j);
}

static void read_limit_restitution(skel__doc *doc, skel__at at, const skel__at *torque,
                                   skel_joint_desc *j, bool has_limits) {
    if (!at.node || refused_by_fixed(doc, &at, j)) return;
    if (!has_limits) skel__doc_error(doc, &at, "must come with limits");
    skel__read_ratio(doc, &at, &j->limits.restitution);
    if (torque->node) skel__doc_warn(doc, &at, "has no effect beside limit_torque");
}

static void read_spring(skel__reader *r, skel__at at, skel_joint_desc *j) {
    const skel__constant wanted[] = {
        {"stiffness", true, SKEL__NOT_NEGATIVE, &j->spring.stiffness},
        {"damping", false, SKEL__NOT_NEGATIVE, &j->spring.damping},
        {"rest", false, SKEL__ANY, &j->spring.rest},
        {NULL, false, SKEL__ANY, NULL},
    };
    if (!wants_one_axis(&r->doc, &at, j, "a spring")) return;
    skel__read_numbers(&r->doc, &at, "a spring", wanted);
    j->spring.rest *= way_unit(r, j);
}

static void read_muscle(skel__doc *doc, skel__at at, skel_joint_desc *j) {
    double               side     = 1.0;
    const skel__constant wanted[] = {
        {"growth", true, SKEL__POSITIVE, &j->muscle.growth},
        {"max", true, SKEL__POSITIVE, &j->muscle.max},
        {"start", false, SKEL__NOT_NEGATIVE, &j->muscle.start},
        {"feedback", false, SKEL__ANY, &j->muscle.feedback},
        {"impact_speed", false, SKEL__ANY, &j->muscle.impact_speed},
        {"delay", false, SKEL__NOT_NEGATIVE, &j->muscle.delay},
        {"side", false, SKEL__ANY, &side},
        {NULL, false, SKEL__ANY, NULL},
    };
    if (!wants_one_axis(doc, &at, j, "a muscle")) return;
    if (!skel__read_numbers(doc, &at, "a muscle", wanted)) return;
    const skel__json *given = skel__json_member(at.node, "side");
    const skel__at    where = {&at, "side", -1, given};
    if (side != 1.0 && side != -1.0) skel__doc_wrong(doc, &where, "1 or -1");
    j->muscle.side       = side < 0.0 ? -1 : 1;
    const skel__at start = {&at, "start", -1, skel__json_member(at.node, "start")};
    if (j->muscle.start > j->muscle.max) skel__doc_wrong(doc, &start, "at most max");
}

void skel__read_actuators(skel__reader *r, const skel__joint_parts *at, skel_joint_desc *j) {
    const bool has_limits = at->limits.node != NULL;
    read_motor(&r->doc, at->motor, j);
    read_follow(r, at->follow, j);
    read_limit_torque(r, at->limit_torque, j, has_limits);
    read_limit_restitution(&r->doc, at->limit_restitution, &at->limit_torque, j, has_limits);
    read_spring(r, at->spring, j);
    read_muscle(&r->doc, at->muscle, j);
}
