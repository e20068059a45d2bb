/* SPDX-License-Identifier: BSD-3-Clause */
/* `bodies` of skel-scene/1: mass, pose, loads, driven motion, pins and contacts. */
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

/* In the order of SCENE_ESTIMATED_* and of SKEL_MOTION_*. */
static const char *const k_estimated[] = {"nothing", "inertia", "mass", NULL};
static const char *const k_motions[] = {"dynamic", "fixed", "driven", NULL};

/* ---- mass, loads and motion ----------------------------------------------------------------- */

static void read_mass(document *doc, const doc_field_list *f, skel_body_desc *b) {
    const doc_at mass = doc_member(f, B_MASS);
    const doc_at shape = doc_member(f, B_SHAPE);
    const doc_at inertia = doc_member(f, B_INERTIA);
    scene_read_mass(doc, &mass, &shape, &inertia, b);

    /* A document with goals is likely to be solved and not baked. */
    if (!mass.node && b->motion == SKEL_MOTION_DYNAMIC && !json_member(doc->root, "goals"))
        doc_warn(doc, &mass, "is missing: kinematics does not need it, but a bake does");
}

/* The engine has one flag for both curves of a body, so their interpolation must be the same. */
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

/* Which bodies the body may touch: true, false or the number of its group. */
static void read_collide(document *doc, const doc_at *at, skel_body_desc *b) {
    if (!at->node) return;
    if (json_is_bool(at->node)) {
        b->collide = json_is_true(at->node) ? SKEL_COLLIDE_ALL : SKEL_COLLIDE_NONE;
        return;
    }
    const double x = json_is_number(at->node) ? at->node->number : 0.0;
    if (x >= 1.0 && x <= 1e9 && x == floor(x))
        b->collide = (int32_t)x;
    else
        doc_wrong(doc, at, "true, false or the number of a group, 1 or more");
}

/* Contact points beside the shape. */
static void read_contacts(document *doc, const doc_at *at, skel_body_desc *b) {
    int32_t n = 0, i = 0;
    if (!doc_array(doc, at, 0, SCENE_CONTACTS, "[[x, y, z], ...]", &n)) return;
    double *points = doc_alloc(doc, (size_t)n, 3 * sizeof *points);
    if (!points) return;

    bool good = true;
    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        good = doc_vector(doc, &item, 3, "[x, y, z]", points + 3 * (size_t)i) && good;
        ++i;
    }
    b->contacts = points;
    b->contact_count = good ? (uint32_t)n : 0;
}

/* The pose of a curve at time 0. A model of this body alone evaluates it, so that the result has
   the same bits as in the engine. */
static bool pose_of_curve(document *doc, const skel_body_desc *b, double pose[7]) {
    skel_body_desc body;
    skel_body_desc_init(&body);
    body.motion = SKEL_MOTION_DRIVEN;
    body.position_curve = b->position_curve;
    body.orientation_curve = b->orientation_curve;
    memcpy(body.position, b->position, sizeof body.position);
    memcpy(body.orientation, b->orientation, sizeof body.orientation);

    skel_model_desc desc;
    skel_model_desc_init(&desc);
    desc.bodies = &body;
    desc.body_count = 1;
    desc.body_stride = sizeof body;

    skel_model *model = NULL;
    skel_state *state = NULL;
    skel_error err;
    skel_error_init(&err);
    skel_status status = skel_model_create(&desc, &model, &err);
    if (status == SKEL_OK) status = skel_state_create(model, &state, &err);
    if (status == SKEL_OK) status = skel_state_get_poses(state, pose);
    if (status != SKEL_OK) doc_pass_on(doc, status, &err);

    skel_state_destroy(state);
    skel_model_destroy(model);
    return status == SKEL_OK;
}

/* Largest difference between a and sign b. */
static double largest_difference(const double *a, const double *b, int n, double sign) {
    double largest = 0.0;
    for (int k = 0; k < n; ++k) largest = fmax(largest, fabs(a[k] - sign * b[k]));
    return largest;
}

/* Replaces a given position (n = 3) or orientation (n = 4) by that of the curve at time 0, with
   which it must agree. */
static void take_from_curve(document *doc, const doc_at *at, double *own, const double *curve,
                            int n) {
    double difference = largest_difference(own, curve, n, 1.0);
    if (n == 4) /* q and -q are the same orientation */
        difference = fmin(difference, largest_difference(own, curve, n, -1.0));

    if (at->node && difference > SCENE_POSE_SLACK)
        doc_wrong(doc, at, "that of the curve at time 0 (or left out)");
    memcpy(own, curve, (size_t)n * sizeof *own);
}

static bool read_curve_fields(document *doc, const doc_at *at, skel_body_desc *b) {
    enum { C_TIME, C_POSITION, C_ORIENTATION };
    static const doc_field k_body_curve[] = {{"time"}, {"position"}, {"orientation"}, {NULL}};
    doc_field_list f;
    skel_curve time = {0};
    if (!doc_fields(doc, at, k_body_curve, "the curve of a driven body", &f)) return false;
    const doc_at times = doc_member(&f, C_TIME);
    const doc_at p = doc_member(&f, C_POSITION);
    const doc_at o = doc_member(&f, C_ORIENTATION);
    if (!doc_need(doc, &f, C_TIME, "[seconds, ...]")) return false;
    if (!p.node && !o.node) doc_error(doc, &p, "is missing, must be given (or orientation)");
    if (!scene_read_times(doc, &times, &time)) return false;

    /* Both curves share their times. A curve that is missing or wrong is emptied again. */
    b->position_curve = time;
    b->orientation_curve = time;
    const bool has_p = scene_read_samples(doc, &p, 3, "[x, y, z]", &b->position_curve);
    const bool has_o = scene_read_samples(doc, &o, 4, NULL, &b->orientation_curve);
    if (!has_p) b->position_curve = (skel_curve){0};
    if (!has_o) b->orientation_curve = (skel_curve){0};
    return (has_p || !p.node) && (has_o || !o.node) && (has_p || has_o);
}

/* The curve of a body. The pose of the body is that of the curve at time 0. */
static void read_driven(scene_reader *r, const doc_field_list *f, skel_body_desc *b,
                        scene_body_note *note) {
    document *doc = &r->doc;
    const doc_at at = doc_member(f, B_CURVE);
    double pose[7];
    if (!doc_need(doc, f, B_CURVE, "given for a driven body")) return;
    const bool good = read_curve_fields(doc, &at, b);
    if (json_member(at.node, "position")) note->placed = true;
    if (!good || !pose_of_curve(doc, b, pose)) return;

    const doc_at p = doc_member(f, B_POSITION);
    const doc_at o = doc_member(f, B_ORIENTATION);
    if (b->position_curve.count) take_from_curve(doc, &p, b->position, pose, 3);
    if (b->orientation_curve.count) take_from_curve(doc, &o, b->orientation, pose + 3, 4);
}

/* One time span [from, to] of `pinned`. before: the end of the span before it; NULL: there is none.
   */
static bool read_span(document *doc, const doc_at *at, const double *before, double span[2]) {
    if (!doc_vector(doc, at, 2, "[from, to]", span)) return false;
    if (!(span[0] < span[1])) {
        doc_wrong(doc, at, "[from, to] with from < to");
        return false;
    }
    if (before && !(span[0] > *before)) {
        doc_wrong(doc, at, "later than the interval before it");
        return false;
    }
    return true;
}

/* Time spans in ascending order that do not meet; `true` means all times. */
static void read_pinned(document *doc, const doc_at *at, skel_body_desc *b) {
    static const double always[2] = {-SCENE_ALWAYS, SCENE_ALWAYS};
    int32_t n = 1, i = 0;
    if (json_is_true(at->node)) {
        b->pinned = always;
        b->pinned_count = 1;
        return;
    }
    if (!doc_array(doc, at, 1, DOC_MAX_SAMPLES, "true or [[from, to], ...]", &n)) return;
    double *time = doc_alloc(doc, (size_t)n, 2 * sizeof *time);
    if (!time) return;

    /* After an error the order is no longer checked. */
    bool good = true;
    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        double *span = time + 2 * (size_t)i;
        good = read_span(doc, &item, good && i > 0 ? span - 1 : NULL, span) && good;
        ++i;
    }
    b->pinned = time;
    b->pinned_count = good ? (uint32_t)n : 0;
}

/* For the engine a released body is a dynamic body that is pinned to its curve until the release.
   If the release is at time 0 or before, the body is not pinned at all, but starts with its curve.
   */
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

/* The curve and the pins. `driven`: the document says "driven", released or not. */
static void read_prescribed(scene_reader *r, const doc_field_list *f, skel_body_desc *b,
                            scene_body_note *note, bool driven) {
    const doc_at pinned = doc_member(f, B_PINNED);
    const doc_at curve = doc_member(f, B_CURVE);
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

/* A body with a curve starts with the velocity of the curve. */
static void drop_start(document *doc, const doc_field_list *f, skel_body_desc *b) {
    const doc_at v = doc_member(f, B_VELOCITY);
    const doc_at w = doc_member(f, B_ANGULAR);
    if (!f->node[B_CURVE]) return;

    if (v.node) doc_warn(doc, &v, "has no effect: the body starts with its curve");
    if (w.node) doc_warn(doc, &w, "has no effect: the body starts with its curve");
    memset(b->velocity, 0, sizeof b->velocity);
    memset(b->angular_velocity, 0, sizeof b->angular_velocity);
}

/* Velocities and loads have no effect on fixed and driven bodies. */
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
    b->force_curve = (skel_curve){0};
    b->torque_curve = (skel_curve){0};
    b->flags &= ~(uint32_t)SKEL_FLAG_SMOOTH;
}

/* ---- bodies -------------------------------------------------------------------------------- */

static void read_pose(document *doc, const doc_field_list *f, skel_body_desc *b,
                      scene_body_note *note) {
    const doc_at p = doc_member(f, B_POSITION);
    const doc_at o = doc_member(f, B_ORIENTATION);
    const doc_at v = doc_member(f, B_VELOCITY);
    const doc_at w = doc_member(f, B_ANGULAR);
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
        doc_wrong(&r->doc, &at, "another name: this one is reserved for the world");
        return;
    }

    const int32_t other = names_put(&r->body_names, b->name, i);
    if (other < 0) return;
    char must[64];
    snprintf(must, sizeof must, "unique: bodies[%d] has this name", (int)other);
    doc_wrong(&r->doc, &at, must);
}

/* An orientation without a position would be lost. */
static void check_position(document *doc, const doc_field_list *f, scene_body_note *note) {
    const doc_at position = doc_member(f, B_POSITION);
    if (!f->node[B_ORIENTATION] || note->placed) return;
    doc_error(doc, &position, "is missing, must be given if orientation is given");
    note->placed = true;
}

static void read_body(scene_reader *r, const doc_at *at, int32_t i) {
    document *doc = &r->doc;
    skel_body_desc *b = &r->bodies[i];
    scene_body_note *note = &r->body_notes[i];
    doc_field_list f;
    note->node = at->node;
    b->name = "";
    if (!doc_fields(doc, at, k_body, "a body", &f)) {
        note->placed = true; /* so that no second error follows from this one */
        return;
    }

    const doc_at estimated = doc_member(&f, B_ESTIMATED);
    doc_choice(doc, &estimated, k_estimated, &note->estimated);
    read_body_name(r, &f, i);

    /* A release makes a driven body dynamic, so `driven` is kept. */
    const doc_at motion = doc_member(&f, B_MOTION);
    const doc_at release = doc_member(&f, B_RELEASE);
    const bool known = doc_choice(doc, &motion, k_motions, &b->motion) || !motion.node;
    const bool driven = b->motion == SKEL_MOTION_DRIVEN;
    if (known) read_release(doc, &release, b);

    const doc_at collide = doc_member(&f, B_COLLIDE);
    const doc_at contacts = doc_member(&f, B_CONTACTS);
    read_mass(doc, &f, b);
    read_collide(doc, &collide, b);
    read_contacts(doc, &contacts, b);

    const doc_at force = doc_member(&f, B_FORCE);
    const doc_at torque = doc_member(&f, B_TORQUE);
    read_pose(doc, &f, b, note);
    read_loads(doc, &force, &torque, b);

    /* The curve replaces the pose. */
    if (known) read_prescribed(r, &f, b, note, driven);
    if (b->motion != SKEL_MOTION_DYNAMIC)
        drop_motion(doc, &f, b);
    else
        drop_start(doc, &f, b);
    check_position(doc, &f, note);
}

void scene_read_bodies(scene_reader *r, const doc_at *at) {
    int32_t n;
    if (!doc_array(&r->doc, at, 1, SCENE_BODIES, "[body, ...], at least one", &n)) return;

    /* Wobbling masses are appended to the bodies. */
    const int32_t room = n + scene_wobble_room(r);
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
