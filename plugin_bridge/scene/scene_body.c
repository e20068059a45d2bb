/* SPDX-License-Identifier: BSD-3-Clause */
/* `bodies` of skel-scene/1: mass, pose, loads, driven motion, pins and what touches. */
#include "scene/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    B_NAME,
    B_MASS,
    B_SHAPE,
    B_INERTIA,
    B_POSITION,
    B_ORIENTATION,
    B_VELOCITY,
    B_ANGULAR,
    B_FORCE,
    B_TORQUE,
    B_MOTION,
    B_CURVE,
    B_PINNED,
    B_RELEASE,
    B_CONTACTS,
    B_COLLIDE,
    B_ESTIMATED
};
static const doc_field k_body[] = {
    {"name"},      {"mass"},        {"shape"},    {"inertia"},
    {"position"},  {"orientation"}, {"velocity"}, {"angular_velocity"},
    {"force"},     {"torque"},      {"motion"},   {"curve"},
    {"pinned"},    {"release"},     {"contacts"}, {"collide"},
    {"estimated"}, {NULL}};

static const char *const k_estimated[] = {"nothing", "inertia", "mass",
                                          NULL};                             /* SCENE_ESTIMATED_* */
static const char *const k_motions[] = {"dynamic", "fixed", "driven", NULL}; /* SKEL_MOTION_* */

/* ---- mass, loads and motion ----------------------------------------------------------------- */

static void read_mass(document *doc, const doc_field_list *f, skel_body_desc *b) {
    const doc_at mass = doc_member(f, B_MASS), shape = doc_member(f, B_SHAPE);
    const doc_at inertia = doc_member(f, B_INERTIA);
    scene_read_mass(doc, &mass, &shape, &inertia, b);
    if (!mass.node && b->motion == SKEL_MOTION_DYNAMIC && !json_member(doc->root, "goals"))
        doc_warn(doc, &mass, "is missing: the body is good for kinematics, not for a bake");
}

/* One flag of the engine holds for both curves of a body. */
static void read_loads(document *doc, const doc_at *force, const doc_at *torque,
                       skel_body_desc *b) {
    static const char *const names[] = {"linear", "cubic"};
    bool smooth[2] = {false, false};
    scene_read_load(doc, force, b->force, &b->force_curve, &smooth[0]);
    scene_read_load(doc, torque, b->torque, &b->torque_curve, &smooth[1]);
    if (smooth[0] || smooth[1]) b->flags |= SKEL_FLAG_SMOOTH;
    if (smooth[0] == smooth[1] || !b->force_curve.count || !b->torque_curve.count) return;
    const doc_at at = {torque, "interpolation", -1, NULL};
    doc_error(doc, &at, "is \"%s\", must be that of force, which is \"%s\"", names[smooth[1]],
              names[smooth[0]]);
}

/* Points that touch, and whom the body may touch. */
static void read_touch(document *doc, const doc_field_list *f, skel_body_desc *b) {
    const doc_at at = doc_member(f, B_CONTACTS), collide = doc_member(f, B_COLLIDE);
    int32_t n = 0, i = 0;
    const json_value *c;
    if (json_is_true(collide.node)) {
        b->collide = SKEL_COLLIDE_ALL;
    } else if (json_is_false(collide.node)) {
        b->collide = SKEL_COLLIDE_NONE;
    } else if (collide.node) {
        const double x = json_is_number(collide.node) ? collide.node->number : 0.0;
        if (x >= 1.0 && x <= 1e9 && x == floor(x))
            b->collide = (int32_t)x;
        else
            doc_wrong(doc, &collide, "true, false or the number of a group, 1 or more");
    }
    if (!doc_array(doc, &at, 0, SCENE_CONTACTS, "[[x, y, z], ...]", &n)) return;
    double *points = doc_alloc(doc, (size_t)n, 3 * sizeof *points);
    if (!points) return;
    bool good = true;
    JSON_EACH(c, at.node) {
        const doc_at item = doc_element(&at, i, c);
        good = doc_vector(doc, &item, 3, "[x, y, z]", points + 3 * (size_t)i++) && good;
    }
    b->contacts = points;
    b->contact_count = good ? (uint32_t)n : 0;
}

/* Time 0 of the curve, as the engine itself reads it. */
static bool pose_of_curve(document *doc, const skel_body_desc *b, double pose[7]) {
    skel_model_desc desc;
    skel_body_desc body;
    skel_model *model = NULL;
    skel_state *state = NULL;
    skel_error err;
    skel_model_desc_init(&desc);
    skel_body_desc_init(&body);
    skel_error_init(&err);
    body.motion = SKEL_MOTION_DRIVEN;
    body.position_curve = b->position_curve;
    body.orientation_curve = b->orientation_curve;
    memcpy(body.position, b->position, sizeof body.position);
    memcpy(body.orientation, b->orientation, sizeof body.orientation);
    desc.bodies = &body;
    desc.body_count = 1;
    desc.body_stride = sizeof body;
    skel_status status = skel_model_create(&desc, &model, &err);
    if (status == SKEL_OK) status = skel_state_create(model, &state, &err);
    if (status == SKEL_OK) status = skel_state_get_poses(state, pose);
    if (status != SKEL_OK) doc_pass_on(doc, status, &err);
    skel_state_destroy(state);
    skel_model_destroy(model);
    return status == SKEL_OK;
}

/* q and -q are one orientation; sign picks the nearer. */
static double pose_distance(const double *a, const double *b, int n, double sign) {
    double largest = 0.0;
    for (int k = 0; k < n; ++k) largest = fmax(largest, fabs(a[k] - sign * b[k]));
    return largest;
}

static void agree(document *doc, const doc_at *at, double *own, const double *curve, int n) {
    double off = pose_distance(own, curve, n, 1.0);
    if (n == 4) off = fmin(off, pose_distance(own, curve, n, -1.0));
    if (at->node && off > SCENE_POSE_SLACK)
        doc_wrong(doc, at, "what the curve has at time 0 (or left out)");
    memcpy(own, curve, (size_t)n * sizeof *own);
}

static bool read_curve_fields(document *doc, const doc_at *at, skel_body_desc *b) {
    enum { C_TIME, C_POSITION, C_ORIENTATION };
    static const doc_field k_body_curve[] = {{"time"}, {"position"}, {"orientation"}, {NULL}};
    doc_field_list f;
    skel_curve time = {0};
    if (!doc_fields(doc, at, k_body_curve, "the curve of a driven body", &f)) return false;
    const doc_at times = doc_member(&f, C_TIME);
    const doc_at p = doc_member(&f, C_POSITION), o = doc_member(&f, C_ORIENTATION);
    if (!doc_need(doc, &f, C_TIME, "[seconds, ...]")) return false;
    if (!p.node && !o.node) doc_error(doc, &p, "is missing, must be given (or orientation)");
    if (!scene_read_times(doc, &times, &time)) return false;
    b->position_curve = b->orientation_curve = time;
    const bool has_p = scene_read_samples(doc, &p, 3, &b->position_curve);
    const bool has_o = scene_read_samples(doc, &o, 4, &b->orientation_curve);
    if (!has_p) b->position_curve = (skel_curve){0};
    if (!has_o) b->orientation_curve = (skel_curve){0};
    return (has_p || !p.node) && (has_o || !o.node) && (has_p || has_o);
}

/* What the pose of a body with a curve says must be what the curve says at time 0, where the joints
   stand. */
static void read_driven(scene_reader *r, const doc_field_list *f, skel_body_desc *b,
                        scene_body_note *note) {
    document *doc = &r->doc;
    const doc_at at = doc_member(f, B_CURVE);
    double pose[7];
    if (!doc_need(doc, f, B_CURVE, "given for a driven body")) return;
    const bool good = read_curve_fields(doc, &at, b);
    if (json_member(at.node, "position")) note->placed = true;
    if (!good || !pose_of_curve(doc, b, pose)) return;
    const doc_at p = doc_member(f, B_POSITION), o = doc_member(f, B_ORIENTATION);
    if (b->position_curve.count) agree(doc, &p, b->position, pose, 3);
    if (b->orientation_curve.count) agree(doc, &o, b->orientation, pose + 3, 4);
}

/* Intervals in order, none touching the next; true: always. */
static void read_pinned(document *doc, const doc_at *at, skel_body_desc *b) {
    static const double always[2] = {-SCENE_ALWAYS, SCENE_ALWAYS};
    int32_t n = 1, i = 0;
    const json_value *c;
    bool good = true;
    if (json_is_true(at->node)) {
        b->pinned = always;
        b->pinned_count = 1;
        return;
    }
    if (!doc_array(doc, at, 1, DOC_MAX_SAMPLES, "true or [[from, to], ...]", &n)) return;
    double *time = doc_alloc(doc, (size_t)n, 2 * sizeof *time);
    if (!time) return;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        double *pair = time + 2 * (size_t)i++;
        if (!doc_vector(doc, &item, 2, "[from, to]", pair)) {
            good = false;
        } else if (!(pair[0] < pair[1])) {
            doc_wrong(doc, &item, "[from, to] with from < to");
            good = false;
        } else if (good && i > 1 && !(pair[0] > pair[-1])) {
            doc_wrong(doc, &item, "later than the interval before it");
            good = false;
        }
    }
    b->pinned = time;
    b->pinned_count = good ? (uint32_t)n : 0;
}

/* Driven until then, dynamic afterwards: for the engine a dynamic body, pinned to its curve until
   then. Released at the start or before it is not pinned at all, but starts with the curve. */
static void read_release(document *doc, const doc_at *at, skel_body_desc *b) {
    double release;
    if (!at->node) return;
    if (b->motion != SKEL_MOTION_DRIVEN) {
        doc_error(doc, at, "is only for motion \"driven\"");
        return;
    }
    b->motion = SKEL_MOTION_DYNAMIC;
    if (!doc_number(doc, at, DOC_ANY, &release) || !(release > 0.0)) return;
    double *time = doc_alloc(doc, 2, sizeof *time);
    if (!time) return;
    time[0] = -SCENE_ALWAYS;
    time[1] = release;
    b->pinned = time;
    b->pinned_count = 1;
}

/* The curve and the pins; `driven` is what the document says, before a release. */
static void read_ways(scene_reader *r, const doc_field_list *f, skel_body_desc *b,
                      scene_body_note *note, bool driven) {
    const doc_at pinned = doc_member(f, B_PINNED), curve = doc_member(f, B_CURVE);
    const bool held = pinned.node && !driven && b->motion == SKEL_MOTION_DYNAMIC;
    if (held)
        read_pinned(&r->doc, &pinned, b);
    else if (pinned.node)
        doc_error(&r->doc, &pinned, "is only for motion \"dynamic\"");
    if (driven || (held && curve.node))
        read_driven(r, f, b, note);
    else if (curve.node)
        doc_error(&r->doc, &curve, "is only for motion \"driven\", or with pinned");
}

/* A body starts as its curve does. */
static void drop_start(document *doc, const doc_field_list *f, skel_body_desc *b) {
    const doc_at v = doc_member(f, B_VELOCITY), w = doc_member(f, B_ANGULAR);
    if (!f->node[B_CURVE]) return;
    if (v.node) doc_warn(doc, &v, "has no effect: the body starts with its curve");
    if (w.node) doc_warn(doc, &w, "has no effect: the body starts with its curve");
    memset(b->velocity, 0, sizeof b->velocity);
    memset(b->angular_velocity, 0, sizeof b->angular_velocity);
}

/* Only forces move a body that is neither fixed nor driven. */
static void drop_motion(document *doc, const doc_field_list *f, skel_body_desc *b) {
    static const int idle[] = {B_VELOCITY, B_ANGULAR, B_FORCE, B_TORQUE};
    for (size_t k = 0; k < sizeof idle / sizeof *idle; ++k) {
        const doc_at at = doc_member(f, idle[k]);
        if (at.node) doc_warn(doc, &at, "has no effect on a %s body", k_motions[b->motion]);
    }
    memset(b->velocity, 0, sizeof b->velocity);
    memset(b->angular_velocity, 0, sizeof b->angular_velocity);
    memset(b->force, 0, sizeof b->force);
    memset(b->torque, 0, sizeof b->torque);
    b->force_curve = b->torque_curve = (skel_curve){0};
    b->flags &= ~(uint32_t)SKEL_FLAG_SMOOTH;
}

/* ---- bodies -------------------------------------------------------------------------------- */

static void read_pose(document *doc, const doc_field_list *f, skel_body_desc *b,
                      scene_body_note *note) {
    const doc_at p = doc_member(f, B_POSITION), o = doc_member(f, B_ORIENTATION);
    const doc_at v = doc_member(f, B_VELOCITY), w = doc_member(f, B_ANGULAR);
    doc_vector(doc, &p, 3, "[x, y, z]", b->position);
    doc_quaternion(doc, &o, b->orientation);
    doc_vector(doc, &v, 3, "[x, y, z]", b->velocity);
    doc_vector(doc, &w, 3, "[x, y, z]", b->angular_velocity);
    note->placed = p.node != NULL;
}

static void read_body_name(scene_reader *r, const doc_field_list *f, int32_t i) {
    skel_body_desc *b = &r->bodies[i];
    const doc_at at = doc_member(f, B_NAME);
    b->name = "";
    if (!doc_need(&r->doc, f, B_NAME, "a string that is not empty")) return;
    if (!doc_name(&r->doc, &at, &b->name)) return;
    if (strcmp(b->name, "world") == 0) {
        doc_wrong(&r->doc, &at, "another name: the world has this one");
        return;
    }
    const int32_t other = names_put(&r->body_names, b->name, i);
    char must[64];
    snprintf(must, sizeof must, "another name: bodies[%d] has this one", (int)other);
    if (other >= 0) doc_wrong(&r->doc, &at, must);
}

static void read_body(scene_reader *r, const doc_at *at, int32_t i) {
    document *doc = &r->doc;
    skel_body_desc *b = &r->bodies[i];
    scene_body_note *note = &r->body_notes[i];
    doc_field_list f;
    note->node = at->node;
    b->name = "";
    if (!doc_fields(doc, at, k_body, "a body", &f)) {
        note->placed = true; /* one complaint is enough */
        return;
    }
    const doc_at motion = doc_member(&f, B_MOTION);
    const doc_at release = doc_member(&f, B_RELEASE);
    const doc_at force = doc_member(&f, B_FORCE), torque = doc_member(&f, B_TORQUE);
    const doc_at estimated = doc_member(&f, B_ESTIMATED);
    doc_choice(doc, &estimated, k_estimated, &note->estimated);
    read_body_name(r, &f, i);
    const bool known = doc_choice(doc, &motion, k_motions, &b->motion) || !motion.node;
    const bool driven = b->motion == SKEL_MOTION_DRIVEN;
    if (known) read_release(doc, &release, b);
    read_mass(doc, &f, b);
    read_touch(doc, &f, b);
    read_pose(doc, &f, b, note);
    read_loads(doc, &force, &torque, b);
    if (known) read_ways(r, &f, b, note, driven);
    if (b->motion != SKEL_MOTION_DYNAMIC)
        drop_motion(doc, &f, b);
    else
        drop_start(doc, &f, b);
    if (f.node[B_ORIENTATION] && !note->placed) {
        const doc_at position = doc_member(&f, B_POSITION);
        doc_error(doc, &position, "is missing, must be given where orientation is");
        note->placed = true;
    }
}

void scene_read_bodies(scene_reader *r, const doc_at *at) {
    int32_t n;
    if (!doc_array(&r->doc, at, 1, SCENE_BODIES, "[body, ...], at least one", &n)) return;
    const int32_t room = n + scene_wobble_room(r); /* wobbling masses are bodies behind these */
    r->bodies = doc_alloc(&r->doc, (size_t)room, sizeof *r->bodies);
    r->body_notes = doc_alloc(&r->doc, (size_t)room, sizeof *r->body_notes);
    if (!names_open(&r->doc, &r->body_names, room) || !r->bodies || !r->body_notes) return;
    r->body_count = n;
    int32_t i = 0;
    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        skel_body_desc_init(&r->bodies[i]);
        read_body(r, &item, i++);
    }
}
