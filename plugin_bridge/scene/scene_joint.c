/* SPDX-License-Identifier: BSD-3-Clause */
/* `joints` of skel-scene/1: each becomes a pair of frames [ERL]. A joint given by anchor and axis
   in the world gets frames that coincide at the given pose: [HAK (1)] holds by construction. */
#include "scene/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PERPENDICULAR 1e-6 /* cosine of axis and axis2 */

enum {
    J_NAME,
    J_TYPE,
    J_BODIES,
    J_ANCHOR,
    J_AXIS,
    J_AXIS2,
    J_FRAMES,
    J_Q,
    J_FRICTION,
    J_MOTOR,
    J_LIMITS,
    J_FOLLOW,
    J_LIMIT_TORQUE,
    J_LIMIT_RESTITUTION,
    J_SPRING,
    J_MUSCLE,
    J_MIMIC /* once all have names */
};
static const doc_field k_joint[] = {{"name"},         {"type"},
                                    {"bodies"},       {"anchor"},
                                    {"axis"},         {"axis2"},
                                    {"frames"},       {"q"},
                                    {"friction"},     {"motor"},
                                    {"limits"},       {"follow"},
                                    {"limit_torque"}, {"limit_restitution"},
                                    {"spring"},       {"muscle"},
                                    {"mimic"},        {NULL}};

/* In the order of SKEL_JOINT_*. */
static const char *const k_types[] = {"fixed", "hinge", "slide", "universal", "ball", NULL};

typedef struct pose {
    double p[3];
    double q[4];
} pose;

/* ---- vectors and quaternions (w x y z) ------------------------------------------------------ */

static double dot3(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* conj(a) b: what b is, seen from a. */
static void turn_into(const double a[4], const double b[4], double out[4]) {
    out[0] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    out[1] = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2];
    out[2] = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1];
    out[3] = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0];
}

/* Rotation matrix with columns x y z to quaternion, from its largest component [Shepperd 1978]. */
static void from_columns(const double x[3], const double y[3], const double z[3], double q[4]) {
    const double four[4] = {1.0 + x[0] + y[1] + z[2], 1.0 + x[0] - y[1] - z[2],
                            1.0 - x[0] + y[1] - z[2], 1.0 - x[0] - y[1] + z[2]};
    int k = 0;
    for (int i = 1; i < 4; ++i)
        if (four[i] > four[k]) k = i;
    const double products[4][4] = {
        {four[0], y[2] - z[1], z[0] - x[2], x[1] - y[0]},
        {y[2] - z[1], four[1], x[1] + y[0], z[0] + x[2]},
        {z[0] - x[2], x[1] + y[0], four[2], y[2] + z[1]},
        {x[1] - y[0], z[0] + x[2], y[2] + z[1], four[3]},
    };
    memcpy(q, products[k], 4 * sizeof *q);
    doc_normalise(q, 4);
}

/* A frame with the given z; x is the direction asked for, or the world axis farthest from z. */
static void frame_of_axis(const double z[3], const double *toward, double q[4]) {
    double x[3] = {0}, y[3];
    int k = 0;
    for (int i = 1; i < 3; ++i)
        if (fabs(z[i]) < fabs(z[k])) k = i;
    if (toward)
        memcpy(x, toward, sizeof x);
    else
        x[k] = 1.0;
    const double along = dot3(x, z);
    for (int i = 0; i < 3; ++i) x[i] -= along * z[i];
    doc_normalise(x, 3);
    scene_cross(z, x, y);
    from_columns(x, y, z, q);
}

/* ---- which bodies -------------------------------------------------------------------------- */

static bool read_ends(scene_reader *r, const doc_field_list *f, skel_joint_desc *j) {
    const doc_at at = doc_member(f, J_BODIES);
    int32_t n;
    if (!doc_need(&r->doc, f, J_BODIES, "[parent, child]")) return false;
    if (!doc_array(&r->doc, &at, 2, 2, "[parent, child]", &n)) return false;
    const doc_at parent = doc_element(&at, 0, at.node->child);
    const doc_at child = doc_element(&at, 1, at.node->child->next);
    const bool good =
        scene_read_body_name(r, &parent, &j->parent) & scene_read_body_name(r, &child, &j->child);
    if (good && j->parent == j->child) {
        doc_wrong(&r->doc, &at, "two different bodies");
        return false;
    }
    return good;
}

static pose body_pose(const scene_reader *r, int32_t body) {
    pose p = {{0.0, 0.0, 0.0}, {1.0, 0.0, 0.0, 0.0}};
    if (body < 0) return p;
    memcpy(p.p, r->bodies[body].position, sizeof p.p);
    memcpy(p.q, r->bodies[body].orientation, sizeof p.q);
    return p;
}

/* ---- by anchor and axis -------------------------------------------------------------------- */

static bool refuse(document *doc, const doc_field_list *f, int index, int32_t type) {
    const doc_at at = doc_member(f, index);
    if (!at.node) return false;
    doc_error(doc, &at, "is not a field of a %s joint", k_types[type]);
    return true;
}

/* The joint frame in the world: z the axis, x the second axis of a universal joint. */
static bool read_axes(document *doc, const doc_field_list *f, int32_t type, double q[4]) {
    const doc_at first = doc_member(f, J_AXIS), second = doc_member(f, J_AXIS2);
    double z[3], x[3];
    if (type != SKEL_JOINT_UNIVERSAL) refuse(doc, f, J_AXIS2, type);
    if (type == SKEL_JOINT_FIXED || type == SKEL_JOINT_BALL) {
        refuse(doc, f, J_AXIS, type);
        return true;
    }
    const bool has_z = doc_need(doc, f, J_AXIS, "[x, y, z]") && scene_read_axis(doc, &first, z);
    if (type != SKEL_JOINT_UNIVERSAL) {
        if (has_z) frame_of_axis(z, NULL, q);
        return has_z;
    }
    const bool has_x = doc_need(doc, f, J_AXIS2, "[x, y, z]") && scene_read_axis(doc, &second, x);
    if (!has_z || !has_x) return false;
    if (fabs(dot3(x, z)) > PERPENDICULAR) {
        doc_wrong(doc, &second, "perpendicular to axis");
        return false;
    }
    frame_of_axis(z, x, q);
    return true;
}

/* parent_position = R_a^T (anchor - p_a), and so on: the world frame seen from each body. */
static void frame_in_body(const pose *body, const double anchor[3], const double frame[4],
                          double position[3], double orientation[4]) {
    const double d[3] = {anchor[0] - body->p[0], anchor[1] - body->p[1], anchor[2] - body->p[2]};
    scene_unrotate(body->q, d, position);
    turn_into(body->q, frame, orientation);
    doc_normalise(orientation, 4);
}

static void read_anchor(scene_reader *r, const doc_field_list *f, skel_joint_desc *j, bool ends) {
    document *doc = &r->doc;
    const doc_at at = doc_member(f, J_ANCHOR);
    const bool free = j->type == SKEL_JOINT_FIXED || j->type == SKEL_JOINT_SLIDE;
    double q[4] = {1.0, 0.0, 0.0, 0.0};
    const pose a = body_pose(r, ends ? j->parent : -1), b = body_pose(r, ends ? j->child : -1);
    pose middle = ends && j->child < 0 ? a : b; /* where no anchor is needed */
    if (!free) doc_need(doc, f, J_ANCHOR, "[x, y, z] in the world (or frames)");
    doc_vector(doc, &at, 3, "[x, y, z]", middle.p);
    if (!read_axes(doc, f, j->type, q) || !ends) return;
    frame_in_body(&a, middle.p, q, j->parent_position, j->parent_orientation);
    frame_in_body(&b, middle.p, q, j->child_position, j->child_orientation);
}

/* ---- by frames ----------------------------------------------------------------------------- */

static void read_frame(document *doc, const doc_at *at, double position[3], double orientation[4]) {
    enum { F_POSITION, F_ORIENTATION };
    static const doc_field k_frame[] = {{"position"}, {"orientation"}, {NULL}};
    doc_field_list f;
    if (!doc_fields(doc, at, k_frame, "a frame", &f)) return;
    const doc_at p = doc_member(&f, F_POSITION), o = doc_member(&f, F_ORIENTATION);
    doc_vector(doc, &p, 3, "[x, y, z]", position);
    doc_quaternion(doc, &o, orientation);
}

static void read_frames(scene_reader *r, const doc_field_list *f, skel_joint_desc *j, bool ends) {
    static const int world[] = {J_ANCHOR, J_AXIS, J_AXIS2};
    static const char must[] = "[frame in the parent, frame in the child]";
    const doc_at at = doc_member(f, J_FRAMES);
    int32_t n;
    for (size_t k = 0; k < sizeof world / sizeof *world; ++k) {
        const doc_at other = doc_member(f, world[k]);
        if (other.node) doc_error(&r->doc, &other, "must not be given together with frames");
    }
    if (ends && j->parent >= 0) r->body_notes[j->parent].framed = true;
    if (ends && j->child >= 0) r->body_notes[j->child].framed = true;
    if (!doc_array(&r->doc, &at, 2, 2, must, &n)) return;
    const doc_at outer = doc_element(&at, 0, at.node->child);
    const doc_at inner = doc_element(&at, 1, at.node->child->next);
    read_frame(&r->doc, &outer, j->parent_position, j->parent_orientation);
    read_frame(&r->doc, &inner, j->child_position, j->child_orientation);
}

/* ---- coordinates, motor, limits ------------------------------------------------------------ */

static void read_q(scene_reader *r, const doc_field_list *f, skel_joint_desc *j,
                   scene_joint_note *note) {
    document *doc = &r->doc;
    const doc_at at = doc_member(f, J_Q);
    const double angle = j->type == SKEL_JOINT_SLIDE ? 1.0 : r->angle;
    if (!at.node) return;
    if (j->type == SKEL_JOINT_FIXED) {
        refuse(doc, f, J_Q, j->type);
        return;
    }
    if (!f->node[J_FRAMES]) {
        if (!f->node[J_ANCHOR] && j->type != SKEL_JOINT_SLIDE) return; /* that is missing first */
        doc_error(doc, &at, "must come with frames: with an anchor it is 0 as given");
        return;
    }
    if (j->type == SKEL_JOINT_BALL) {
        note->has_q = doc_quaternion(doc, &at, j->q);
    } else if (j->type == SKEL_JOINT_UNIVERSAL) {
        note->has_q = doc_vector(doc, &at, 2, "[angle, angle]", j->q);
        j->q[1] *= angle;
        j->q[0] *= angle;
    } else {
        note->has_q = doc_number(doc, &at, DOC_ANY, &j->q[0]);
        j->q[0] *= angle;
    }
}

static bool read_range(document *doc, const doc_at *at, double unit, double *low, double *high) {
    double pair[2];
    if (!doc_vector(doc, at, 2, "[low, high]", pair)) return false;
    if (pair[0] > pair[1]) {
        doc_wrong(doc, at, "[low, high] with low <= high");
        return false;
    }
    *low = pair[0] * unit;
    *high = pair[1] * unit;
    return true;
}

static bool read_two_ranges(document *doc, const doc_at *at, double unit, skel_joint_desc *j) {
    int32_t n;
    if (!doc_array(doc, at, 2, 2, "[[low, high], [low, high]]", &n)) return false;
    const doc_at first = doc_element(at, 0, at->node->child);
    const doc_at second = doc_element(at, 1, at->node->child->next);
    return read_range(doc, &first, unit, &j->limits.low[0], &j->limits.high[0]) &
           read_range(doc, &second, unit, &j->limits.low[1], &j->limits.high[1]);
}

/* The inner frame of an anchored ball joint has world axes at the given pose: one reading of `axis`
   serves both ways to give the joint. */
static bool read_cone(document *doc, const doc_at *at, double unit, skel_joint_desc *j) {
    enum { L_CONE, L_TWIST, L_AXIS };
    static const doc_field k_cone[] = {{"cone"}, {"twist"}, {"axis"}, {NULL}};
    doc_field_list f;
    double cone = DOC_PI / unit;
    if (!doc_fields(doc, at, k_cone, "the limits of a ball joint", &f)) return false;
    const doc_at c = doc_member(&f, L_CONE), t = doc_member(&f, L_TWIST);
    const doc_at a = doc_member(&f, L_AXIS);
    if (!doc_need(doc, &f, L_CONE, "an angle > 0 and <= pi")) return false;
    const bool number = doc_number(doc, &c, DOC_POSITIVE, &cone);
    if (number && cone * unit > DOC_PI * (1.0 + 1e-12)) {
        doc_wrong(doc, &c, "an angle > 0 and <= pi");
        return false;
    }
    j->limits.high[0] = fmin(cone * unit, DOC_PI);
    j->limits.low[1] = -DOC_PI;
    j->limits.high[1] = DOC_PI;
    memcpy(j->limits.axis, (const double[3]){0.0, 0.0, 1.0}, sizeof j->limits.axis);
    const bool twist = read_range(doc, &t, unit, &j->limits.low[1], &j->limits.high[1]) || !t.node;
    const bool axis = scene_read_axis(doc, &a, j->limits.axis) || !a.node;
    return number && twist && axis;
}

/* Angles are known up to whole turns only. */
static void warn_of_turns(document *doc, const doc_at *at, const skel_joint_desc *j) {
    if (j->type == SKEL_JOINT_SLIDE) return;
    for (int k = 0; k < 2; ++k)
        if (j->limits.high[k] - j->limits.low[k] > 2.0 * DOC_PI * (1.0 + 1e-9)) {
            doc_warn(doc, at, "has no effect where it is wider than a turn");
            return;
        }
}

static void read_limits(scene_reader *r, const doc_field_list *f, skel_joint_desc *j) {
    const doc_at at = doc_member(f, J_LIMITS);
    bool good = false;
    if (!at.node || (j->type == SKEL_JOINT_FIXED && refuse(&r->doc, f, J_LIMITS, j->type))) return;
    switch (j->type) {
    case SKEL_JOINT_UNIVERSAL: good = read_two_ranges(&r->doc, &at, r->angle, j); break;
    case SKEL_JOINT_BALL: good = read_cone(&r->doc, &at, r->angle, j); break;
    case SKEL_JOINT_SLIDE:
        good = read_range(&r->doc, &at, 1.0, &j->limits.low[0], &j->limits.high[0]);
        break;
    default:
        good = read_range(&r->doc, &at, r->angle, &j->limits.low[0], &j->limits.high[0]);
        break;
    }
    if (!good) return;
    j->limits.is_set = 1;
    warn_of_turns(&r->doc, &at, j);
}

/* ---- joints -------------------------------------------------------------------------------- */

static void read_joint_name(scene_reader *r, const doc_field_list *f, int32_t i) {
    const doc_at at = doc_member(f, J_NAME);
    const char *name = NULL;
    if (!doc_name(&r->doc, &at, &name)) return;
    const int32_t other = names_put(&r->joint_names, name, i);
    char must[64];
    snprintf(must, sizeof must, "another name: joints[%d] has this one", (int)other);
    if (other >= 0)
        doc_wrong(&r->doc, &at, must);
    else
        r->joints[i].name = name;
}

static void read_joint_body(scene_reader *r, const doc_field_list *f, int32_t i, bool ends) {
    document *doc = &r->doc;
    skel_joint_desc *j = &r->joints[i];
    scene_joint_note *note = &r->joint_notes[i];
    const doc_at friction = doc_member(f, J_FRICTION);
    note->anchored = ends && !f->node[J_FRAMES];
    if (f->node[J_FRAMES])
        read_frames(r, f, j, ends);
    else
        read_anchor(r, f, j, ends);
    read_q(r, f, j, note);
    read_limits(r, f, j);
    scene_read_actuators(r,
                         &(scene_joint_parts){doc_member(f, J_MOTOR), doc_member(f, J_LIMITS),
                                              doc_member(f, J_FOLLOW),
                                              doc_member(f, J_LIMIT_TORQUE),
                                              doc_member(f, J_LIMIT_RESTITUTION),
                                              doc_member(f, J_SPRING), doc_member(f, J_MUSCLE)},
                         j);
    if (doc_number(doc, &friction, DOC_NOT_NEGATIVE, &j->friction) && j->type == SKEL_JOINT_FIXED &&
        j->friction > 0.0) {
        doc_warn(doc, &friction, "has no effect on a fixed joint");
    }
}

static void read_joint(scene_reader *r, const doc_at *at, int32_t i) {
    doc_field_list f;
    r->joint_notes[i].node = at->node;
    if (!doc_fields(&r->doc, at, k_joint, "a joint", &f)) return;
    read_joint_name(r, &f, i);
    const doc_at type = doc_member(&f, J_TYPE);
    const bool ends = read_ends(r, &f, &r->joints[i]);
    const bool typed = doc_need(&r->doc, &f, J_TYPE,
                                "\"hinge\", \"slide\", \"universal\", \"ball\" or "
                                "\"fixed\"") &&
                       doc_choice(&r->doc, &type, k_types, &r->joints[i].type);
    if (typed) read_joint_body(r, &f, i, ends);
}

static const char *end_name(const scene_reader *r, int32_t body) {
    return body < 0 ? "world" : r->bodies[body].name;
}

/* "parent-child"; where that is taken, the joint's number behind it; where too long, that alone. */
static void name_joint(scene_reader *r, int32_t i) {
    skel_joint_desc *j = &r->joints[i];
    char *name = doc_alloc(&r->doc, 1, 256);
    if (!name) return;
    const int n = snprintf(name, 256, "%s-%s", end_name(r, j->parent), end_name(r, j->child));
    if (n > 240) snprintf(name, 256, "joint %d", (int)i);
    if (names_find(&r->joint_names, name) >= 0) {
        const size_t used = strlen(name);
        snprintf(name + used, 256 - used, " %d", (int)i);
    }
    for (int32_t k = 0; names_put(&r->joint_names, name, i) >= 0; ++k)
        snprintf(name, 256, "joint %d.%d", (int)i, (int)k);
    j->name = name;
}

void scene_read_joints(scene_reader *r, const doc_at *at) {
    int32_t n = 0;
    if (at->node && !doc_array(&r->doc, at, 0, SCENE_JOINTS, "[joint, ...]", &n)) return;
    const int32_t room = n + scene_wobble_room(r); /* a locked mass has a joint behind these */
    r->joints = doc_alloc(&r->doc, (size_t)room, sizeof *r->joints);
    r->joint_notes = doc_alloc(&r->doc, (size_t)room, sizeof *r->joint_notes);
    if (!names_open(&r->doc, &r->joint_names, room) || !r->joints || !r->joint_notes) return;
    r->joint_count = n;
    int32_t i = 0;
    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        skel_joint_desc_init(&r->joints[i]);
        read_joint(r, &item, i++);
    }
    for (i = 0; i < n && r->doc.error_count == 0; ++i)
        if (!r->joints[i].name) name_joint(r, i);
    scene_read_mimics(r);
}

static void check_anchor(scene_reader *r, const doc_at *joint, int32_t body) {
    const doc_at at = {joint, "anchor", -1, NULL};
    if (body < 0 || r->body_notes[body].placed || !r->body_notes[body].framed) return;
    doc_error(&r->doc, &at, "needs a position of bodies[%d], which has none (or frames)",
              (int)body);
}

void scene_check_placing(scene_reader *r) {
    for (int32_t i = 0; i < r->body_count; ++i) {
        const scene_body_note *note = &r->body_notes[i];
        const doc_at body = doc_element(&r->bodies_at, i, note->node);
        const doc_at at = {&body, "position", -1, NULL};
        r->bodies[i].unplaced = !note->placed;
        if (!note->placed && !note->framed)
            doc_error(&r->doc, &at,
                      "is missing, must be [x, y, z] (or a joint of the body has frames)");
    }
    for (int32_t i = 0; i < r->joint_count; ++i) {
        const scene_joint_note *note = &r->joint_notes[i];
        const doc_at at = doc_element(&r->joints_at, i, note->node);
        if (!note->anchored) continue;
        check_anchor(r, &at, r->joints[i].parent);
        check_anchor(r, &at, r->joints[i].child);
    }
}
