/* SPDX-License-Identifier: BSD-3-Clause */
/* `joints` of skel-scene/1. Each joint becomes a pair of joint frames [ERL]. If a joint is given by
   anchor and axis in the world, its two frames coincide in the given pose, so that the constraint
   [HAK (1)] holds by construction. */
#include "scene/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define JOINT_AXES_COSINE_MAX 1e-6 /* of axis and axis2, which are perpendicular */

enum {
    J_NAME,
    J_TYPE,
    J_BODIES,
    J_ANCHOR,
    J_AXIS,
    J_AXIS2,
    J_PITCH,
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
    J_MIMIC /* read in scene_mimic.c, after all joints have names */
};
static const doc_field k_joint[] = {{"name"},     {"type"},         {"bodies"},
                                    {"anchor"},   {"axis"},         {"axis2"},
                                    {"pitch"},    {"frames"},       {"q"},
                                    {"friction"}, {"motor"},        {"limits"},
                                    {"follow"},   {"limit_torque"}, {"limit_restitution"},
                                    {"spring"},   {"muscle"},       {"mimic"},
                                    {NULL}};

typedef struct pose {
    double p[3];
    double q[4];
} pose;

/* ---- vectors and quaternions (w x y z) ------------------------------------------------------ */

static double dot3(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* conj(a) b: the rotation b relative to a. */
static void relative_rotation(const double a[4], const double b[4], double out[4]) {
    out[0] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    out[1] = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2];
    out[2] = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1];
    out[3] = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0];
}

/* Rotation matrix with columns x y z to quaternion. four[k] is 4 q_k^2, and row k of `products` is
   4 q_k q. The row of the largest component is the most accurate [Shepperd 1978]. */
static void from_columns(const double x[3], const double y[3], const double z[3], double q[4]) {
    const double four[4] = {1.0 + x[0] + y[1] + z[2], 1.0 + x[0] - y[1] - z[2],
                            1.0 - x[0] + y[1] - z[2], 1.0 - x[0] - y[1] + z[2]};
    const double products[4][4] = {
        {four[0], y[2] - z[1], z[0] - x[2], x[1] - y[0]},
        {y[2] - z[1], four[1], x[1] + y[0], z[0] + x[2]},
        {z[0] - x[2], x[1] + y[0], four[2], y[2] + z[1]},
        {x[1] - y[0], z[0] + x[2], y[2] + z[1], four[3]},
    };

    int k = 0;
    for (int i = 1; i < 4; ++i)
        if (four[i] > four[k]) k = i;

    memcpy(q, products[k], 4 * sizeof *q);
    doc_normalise(q, 4);
}

/* A frame with the given z. Its x lies in the plane of z and `toward`; if that is NULL, in the
   plane of z and the world axis that is farthest from z. */
static void frame_of_axis(const double z[3], const double *toward, double q[4]) {
    double x[3] = {0}, y[3];
    int farthest = 0;
    for (int i = 1; i < 3; ++i)
        if (fabs(z[i]) < fabs(z[farthest])) farthest = i;

    if (toward)
        memcpy(x, toward, sizeof x);
    else
        x[farthest] = 1.0;

    /* Gram-Schmidt: x <- (x - (x.z) z) / |...|, y = z x x. */
    const double along = dot3(x, z);
    for (int i = 0; i < 3; ++i) x[i] -= along * z[i];
    doc_normalise(x, 3);
    scene_cross(z, x, y);

    from_columns(x, y, z, q);
}

/* ---- parent and child ---------------------------------------------------------------------- */

static bool read_parent_and_child(scene_reader *r, const doc_field_list *f, skel_joint_desc *j) {
    const doc_at at = doc_member(f, J_BODIES);
    int32_t n;
    if (!doc_need(&r->doc, f, J_BODIES, "[parent, child]")) return false;
    if (!doc_array(&r->doc, &at, 2, 2, "[parent, child]", &n)) return false;

    /* Both names are read, so that both errors are reported. */
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

/* True if the field is given; then the problem is noted. */
static bool refuse(document *doc, const doc_field_list *f, int index, const skel_joint_kind *kind) {
    const doc_at at = doc_member(f, index);
    if (!at.node) return false;
    doc_error(doc, &at, "is not a field of a %s joint", kind->name);
    return true;
}

/* The axis of a joint is the direction of its coordinates. Fixed and ball joints have none. */
static bool has_direction(const skel_joint_kind *kind) {
    return kind->q_count > 0 && kind->q_kind[0] != SKEL_COORDINATE_QUATERNION;
}

/* The position of a joint matters only if the joint can rotate. */
static bool needs_anchor(const skel_joint_kind *kind) {
    for (int32_t k = 0; k < kind->q_count; ++k)
        if (kind->q_kind[k] != SKEL_COORDINATE_LENGTH) return true;
    return false;
}

/* The number of velocities across z. axis2 is the x axis of the joint frame. It decides the motion
   if the joint moves along or about one of x and y. With both of them it only decides which
   coordinate is which, so that it may be left out. */
static int32_t count_across(const skel_joint_kind *kind) {
    int32_t count = 0;
    for (int32_t k = 0; k < kind->dof; ++k) count += kind->dof_axis[k] != 2;
    return count;
}

/* The joint frame in the world: z is the axis, x the second axis if the joint uses one. */
static bool read_axes(document *doc, const doc_field_list *f, int32_t type, double q[4]) {
    const skel_joint_kind kind = scene_joint_kind(type);
    const doc_at first = doc_member(f, J_AXIS);
    const doc_at second = doc_member(f, J_AXIS2);
    double z[3], x[3];

    if (!has_direction(&kind)) {
        refuse(doc, f, J_AXIS2, &kind);
        refuse(doc, f, J_AXIS, &kind);
        return true;
    }
    const int32_t across = count_across(&kind);
    if (across == 0) refuse(doc, f, J_AXIS2, &kind);

    const bool has_z = doc_need(doc, f, J_AXIS, "[x, y, z]") && scene_read_axis(doc, &first, z);
    if (across == 0 || (across == 2 && !second.node)) {
        if (has_z) frame_of_axis(z, NULL, q);
        return has_z;
    }

    const bool has_x = doc_need(doc, f, J_AXIS2, "[x, y, z]") && scene_read_axis(doc, &second, x);
    if (!has_z || !has_x) return false;
    if (fabs(dot3(x, z)) > JOINT_AXES_COSINE_MAX) {
        doc_wrong(doc, &second, "perpendicular to axis");
        return false;
    }
    frame_of_axis(z, x, q);
    return true;
}

/* The joint frame of the world in body axes: position = R^T (anchor - p), orientation = conj(q)
   frame. */
static void frame_in_body(const pose *body, const double anchor[3], const double frame[4],
                          double position[3], double orientation[4]) {
    const double d[3] = {anchor[0] - body->p[0], anchor[1] - body->p[1], anchor[2] - body->p[2]};
    scene_unrotate(body->q, d, position);
    relative_rotation(body->q, frame, orientation);
    doc_normalise(orientation, 4);
}

static void read_anchor(scene_reader *r, const doc_field_list *f, skel_joint_desc *j,
                        bool has_bodies) {
    document *doc = &r->doc;
    const skel_joint_kind kind = scene_joint_kind(j->type);
    const pose parent = body_pose(r, has_bodies ? j->parent : -1);
    const pose child = body_pose(r, has_bodies ? j->child : -1);

    /* The default is the child's position, or the parent's if the child is the world. */
    const doc_at at = doc_member(f, J_ANCHOR);
    pose anchor = has_bodies && j->child < 0 ? parent : child;
    if (needs_anchor(&kind)) doc_need(doc, f, J_ANCHOR, "[x, y, z] in the world (or frames)");
    doc_vector(doc, &at, 3, "[x, y, z]", anchor.p);

    double q[4] = {1.0, 0.0, 0.0, 0.0};
    if (!read_axes(doc, f, j->type, q) || !has_bodies) return;
    frame_in_body(&parent, anchor.p, q, j->parent_position, j->parent_orientation);
    frame_in_body(&child, anchor.p, q, j->child_position, j->child_orientation);
}

/* ---- screws -------------------------------------------------------------------------------- */

/* Metres per angle; the angle has the unit of the document. */
static void read_pitch(scene_reader *r, const doc_field_list *f, skel_joint_desc *j) {
    const skel_joint_kind kind = scene_joint_kind(j->type);
    const doc_at at = doc_member(f, J_PITCH);
    if (j->type != SKEL_JOINT_SCREW) {
        refuse(&r->doc, f, J_PITCH, &kind);
        return;
    }
    if (!doc_need(&r->doc, f, J_PITCH, "a number other than 0: metres per angle")) return;
    if (!doc_number(&r->doc, &at, DOC_ANY, &j->pitch)) return;
    if (j->pitch == 0.0) doc_wrong(&r->doc, &at, "other than 0 (a hinge has no pitch)");
    j->pitch /= r->angle;
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

static void read_frames(scene_reader *r, const doc_field_list *f, skel_joint_desc *j,
                        bool has_bodies) {
    static const int world[] = {J_ANCHOR, J_AXIS, J_AXIS2};
    static const char must[] = "[frame in the parent, frame in the child]";
    const doc_at at = doc_member(f, J_FRAMES);
    int32_t n;

    for (size_t k = 0; k < sizeof world / sizeof *world; ++k) {
        const doc_at other = doc_member(f, world[k]);
        if (other.node) doc_error(&r->doc, &other, "must not be given together with frames");
    }

    /* The joint can place a body that has no position. */
    if (has_bodies && j->parent >= 0) r->body_notes[j->parent].framed = true;
    if (has_bodies && j->child >= 0) r->body_notes[j->child].framed = true;

    if (!doc_array(&r->doc, &at, 2, 2, must, &n)) return;
    const doc_at outer = doc_element(&at, 0, at.node->child);
    const doc_at inner = doc_element(&at, 1, at.node->child->next);
    read_frame(&r->doc, &outer, j->parent_position, j->parent_orientation);
    read_frame(&r->doc, &inner, j->child_position, j->child_orientation);
}

/* ---- coordinates and limits ---------------------------------------------------------------- */

static void read_q(scene_reader *r, const doc_field_list *f, skel_joint_desc *j,
                   scene_joint_note *note) {
    document *doc = &r->doc;
    const doc_at at = doc_member(f, J_Q);
    const skel_joint_kind kind = scene_joint_kind(j->type);
    if (!at.node) return;
    if (kind.q_count == 0) {
        refuse(doc, f, J_Q, &kind);
        return;
    }

    /* If the anchor is missing as well, that is the error to report. */
    if (!f->node[J_FRAMES]) {
        if (!f->node[J_ANCHOR] && needs_anchor(&kind)) return;
        doc_error(doc, &at, "must come with frames: a joint with an anchor has q = 0 as given");
        return;
    }

    if (kind.q_kind[0] == SKEL_COORDINATE_QUATERNION) {
        note->has_q = doc_quaternion(doc, &at, j->q);
        return;
    }
    if (kind.q_count == 1) {
        note->has_q = doc_number(doc, &at, DOC_ANY, &j->q[0]);
    } else {
        char must[64];
        scene_describe_q(&kind, must, sizeof must);
        note->has_q = doc_vector(doc, &at, kind.q_count, must, j->q);
    }
    for (int32_t k = 0; k < kind.q_count; ++k) j->q[k] *= scene_q_unit(r, kind.q_kind[k]);
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

/* The range of coordinate k of the joint. */
static bool read_range_of(scene_reader *r, const doc_at *at, skel_joint_desc *j, int32_t k) {
    const skel_joint_kind kind = scene_joint_kind(j->type);
    const double unit = scene_q_unit(r, kind.q_kind[k]);
    return read_range(&r->doc, at, unit, &j->limits.low[k], &j->limits.high[k]);
}

static bool read_two_ranges(scene_reader *r, const doc_at *at, skel_joint_desc *j) {
    int32_t n;
    if (!doc_array(&r->doc, at, 2, 2, "[[low, high], [low, high]]", &n)) return false;
    const doc_at first = doc_element(at, 0, at->node->child);
    const doc_at second = doc_element(at, 1, at->node->child->next);
    return read_range_of(r, &first, j, 0) & read_range_of(r, &second, j, 1);
}

/* Cone and twist of a ball joint. The child's joint frame of an anchored ball joint has world axes
   in the given pose, so `axis` is read in the same way for anchors and for frames. */
static bool read_cone(document *doc, const doc_at *at, double unit, skel_joint_desc *j) {
    enum { L_CONE, L_TWIST, L_AXIS };
    static const doc_field k_cone[] = {{"cone"}, {"twist"}, {"axis"}, {NULL}};
    static const char must[] = "an angle > 0 and <= pi";
    doc_field_list f;
    double cone = DOC_PI / unit;
    if (!doc_fields(doc, at, k_cone, "the limits of a ball joint", &f)) return false;

    const doc_at cone_at = doc_member(&f, L_CONE);
    if (!doc_need(doc, &f, L_CONE, must)) return false;
    const bool has_cone = doc_number(doc, &cone_at, DOC_POSITIVE, &cone);
    if (has_cone && cone * unit > DOC_PI * (1.0 + 1e-12)) {
        doc_wrong(doc, &cone_at, must);
        return false;
    }
    j->limits.high[0] = fmin(cone * unit, DOC_PI);

    /* Without a twist the rotation about the axis is free. */
    const doc_at twist_at = doc_member(&f, L_TWIST);
    j->limits.low[1] = -DOC_PI;
    j->limits.high[1] = DOC_PI;
    const bool twist =
        read_range(doc, &twist_at, unit, &j->limits.low[1], &j->limits.high[1]) || !twist_at.node;

    const doc_at axis_at = doc_member(&f, L_AXIS);
    memcpy(j->limits.axis, (const double[3]){0.0, 0.0, 1.0}, sizeof j->limits.axis);
    const bool axis = scene_read_axis(doc, &axis_at, j->limits.axis) || !axis_at.node;
    return has_cone && twist && axis;
}

/* Angles are only known up to full turns, but that of a screw by its displacement. */
static void warn_of_turns(document *doc, const doc_at *at, const skel_joint_desc *j) {
    const skel_joint_kind kind = scene_joint_kind(j->type);
    if (j->type == SKEL_JOINT_SCREW) return;
    for (int32_t k = 0; k < kind.limit_count; ++k) {
        const double range = j->limits.high[k] - j->limits.low[k];
        if (kind.q_kind[k] == SKEL_COORDINATE_LENGTH) continue;
        if (range <= 2.0 * DOC_PI * (1.0 + 1e-9)) continue;
        doc_warn(doc, at, "has no effect: the range is wider than a full turn");
        return;
    }
}

static void read_limits(scene_reader *r, const doc_field_list *f, skel_joint_desc *j) {
    const doc_at at = doc_member(f, J_LIMITS);
    const skel_joint_kind kind = scene_joint_kind(j->type);
    bool good = false;
    if (!at.node) return;
    if (kind.limit_count == 0) {
        refuse(&r->doc, f, J_LIMITS, &kind);
        return;
    }

    if (kind.q_kind[0] == SKEL_COORDINATE_QUATERNION)
        good = read_cone(&r->doc, &at, r->angle, j);
    else if (kind.limit_count == 1)
        good = read_range_of(r, &at, j, 0);
    else
        good = read_two_ranges(r, &at, j);

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
    if (other < 0) {
        r->joints[i].name = name;
        return;
    }
    char must[64];
    snprintf(must, sizeof must, "unique: joints[%d] has this name", (int)other);
    doc_wrong(&r->doc, &at, must);
}

/* Everything that depends on the type of the joint. */
static void read_joint_body(scene_reader *r, const doc_field_list *f, int32_t i, bool has_bodies) {
    document *doc = &r->doc;
    skel_joint_desc *j = &r->joints[i];
    scene_joint_note *note = &r->joint_notes[i];
    const skel_joint_kind kind = scene_joint_kind(j->type);

    note->anchored = has_bodies && !f->node[J_FRAMES];
    if (f->node[J_FRAMES])
        read_frames(r, f, j, has_bodies);
    else
        read_anchor(r, f, j, has_bodies);
    read_pitch(r, f, j);
    read_q(r, f, j, note);
    read_limits(r, f, j);

    const scene_joint_parts parts = {doc_member(f, J_MOTOR),
                                     doc_member(f, J_LIMITS),
                                     doc_member(f, J_FOLLOW),
                                     doc_member(f, J_LIMIT_TORQUE),
                                     doc_member(f, J_LIMIT_RESTITUTION),
                                     doc_member(f, J_SPRING),
                                     doc_member(f, J_MUSCLE)};
    scene_read_actuators(r, &parts, j);

    const doc_at friction = doc_member(f, J_FRICTION);
    const bool given = doc_number(doc, &friction, DOC_NOT_NEGATIVE, &j->friction);
    if (given && kind.dof == 0 && j->friction > 0.0)
        doc_warn(doc, &friction, "has no effect on a %s joint", kind.name);
}

static void read_joint(scene_reader *r, const doc_at *at, int32_t i) {
    doc_field_list f;
    r->joint_notes[i].node = at->node;
    if (!doc_fields(&r->doc, at, k_joint, "a joint", &f)) return;

    read_joint_name(r, &f, i);
    const bool has_bodies = read_parent_and_child(r, &f, &r->joints[i]);

    const doc_at type = doc_member(&f, J_TYPE);
    if (!doc_need(&r->doc, &f, J_TYPE, "the type of the joint, such as \"hinge\"")) return;
    if (!scene_read_listed_name(&r->doc, &type, scene_joint_type_name, &r->joints[i].type)) return;
    read_joint_body(r, &f, i, has_bodies);
}

static const char *body_name_of(const scene_reader *r, int32_t body) {
    return body < 0 ? "world" : r->bodies[body].name;
}

/* The default name is "parent-child". If it exists already, the index of the joint is appended; if
   it is too long, the index replaces it. */
static void name_joint(scene_reader *r, int32_t i) {
    enum { NAME_SIZE = 256, NAME_ROOM = 240 /* leaves room for the index */ };
    skel_joint_desc *j = &r->joints[i];
    char *name = doc_alloc(&r->doc, 1, NAME_SIZE);
    if (!name) return;

    const int n =
        snprintf(name, NAME_SIZE, "%s-%s", body_name_of(r, j->parent), body_name_of(r, j->child));
    if (n > NAME_ROOM) snprintf(name, NAME_SIZE, "joint %d", (int)i);
    if (names_find(&r->joint_names, name) >= 0) {
        const size_t used = strlen(name);
        snprintf(name + used, NAME_SIZE - used, " %d", (int)i);
    }

    for (int32_t k = 0; names_put(&r->joint_names, name, i) >= 0; ++k)
        snprintf(name, NAME_SIZE, "joint %d.%d", (int)i, (int)k);
    j->name = name;
}

void scene_read_joints(scene_reader *r, const doc_at *at) {
    int32_t n = 0;
    if (at->node && !doc_array(&r->doc, at, 0, SCENE_JOINTS, "[joint, ...]", &n)) return;

    /* Every locked wobbling mass appends one more joint. */
    const int32_t room = n + scene_wobble_room(r);
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

    /* Default names come after the given names, which they must not take. */
    for (i = 0; i < n && r->doc.error_count == 0; ++i)
        if (!r->joints[i].name) name_joint(r, i);
    scene_read_mimics(r);
}

/* An anchor in the world needs the poses of both bodies. */
static void check_anchor(scene_reader *r, const doc_at *joint, int32_t body) {
    const doc_at at = {joint, "anchor", -1, NULL};
    if (body < 0 || r->body_notes[body].placed || !r->body_notes[body].framed) return;
    doc_error(&r->doc, &at, "needs the position of bodies[%d], which is missing (or frames)",
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
