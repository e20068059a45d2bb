/* SPDX-License-Identifier: BSD-3-Clause */
/* `wobble` of skel-scene/1: wobbling masses [RUD 4.3]. Each becomes a body after those of `bodies`.
   Springs hold it, or a fixed joint if it is locked. */
#include "scene/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    W_NAME,
    W_BODY,
    W_MASS,
    W_INERTIA,
    W_SHAPE,
    W_POSITION,
    W_AXIS,
    W_LONGITUDINAL,
    W_TRANSVERSAL,
    W_ANGULAR,
    W_DISPLACEMENT,
    W_VELOCITY,
    W_ANGULAR_VELOCITY,
    W_LOCKED
};
static const doc_field k_wobble[] = {{"name"},
                                     {"body"},
                                     {"mass"},
                                     {"inertia"},
                                     {"shape"},
                                     {"position"},
                                     {"axis"},
                                     {"longitudinal"},
                                     {"transversal"},
                                     {"angular"},
                                     {"displacement"},
                                     {"velocity"},
                                     {"angular_velocity"},
                                     {"locked"},
                                     {NULL}};

int32_t scene_wobble_room(const scene_reader *r) {
    const int n = json_is_array(r->wobbles_at.node) ? json_size(r->wobbles_at.node) : 0;
    return n <= SCENE_BODIES ? n : 0; /* scene_read_wobbles rejects more */
}

static void read_name(scene_reader *r, const doc_field_list *f, int32_t i) {
    const doc_at at = doc_member(f, W_NAME);
    const char *name = NULL;
    char must[80];
    if (!doc_need(&r->doc, f, W_NAME, "a string that is not empty")) return;
    if (!doc_name(&r->doc, &at, &name)) return;
    r->bodies[i].name = name;
    if (strcmp(name, "world") == 0) {
        doc_wrong(&r->doc, &at, "another name: this one is reserved for the world");
        return;
    }

    const int32_t other = names_put(&r->body_names, name, i);
    if (other < 0) return;
    if (json_size(r->bodies_at.node) > other)
        snprintf(must, sizeof must, "unique: bodies[%d] has this name", (int)other);
    else
        snprintf(must, sizeof must, "unique: an earlier wobble has this name");
    doc_wrong(&r->doc, &at, must);
}

/* The host body, which must have a position. */
static bool read_host(scene_reader *r, const doc_field_list *f, int32_t *host) {
    const doc_at at = doc_member(f, W_BODY);
    if (!doc_need(&r->doc, f, W_BODY, "the name of a body")) return false;
    if (!scene_read_bone_name(r, &at, host)) return false;
    if (r->body_notes[*host].placed) return true;
    doc_error(&r->doc, &at, "needs the position of bodies[%d], which is missing", (int)*host);
    return false;
}

/* Pose and velocity of the host at time 0. The engine evaluates the curve of the host, if any. */
static void host_motion(scene_reader *r, int32_t host, skel_body_desc *out) {
    *out = r->bodies[host];
    if (out->position_curve.count == 0 && out->orientation_curve.count == 0) return;

    skel_model_desc desc;
    skel_model *model = NULL;
    skel_error err;
    skel_model_desc_init(&desc);
    skel_error_init(&err);
    desc.bodies = out;
    desc.body_count = 1;
    const skel_status status = skel_model_create(&desc, &model, &err);
    if (status == SKEL_OK)
        skel_model_get_body(model, 0, out);
    else if (status == SKEL_E_MEMORY)
        r->doc.no_memory = true; /* other errors of the host are noted where it is read */
    skel_model_destroy(model);
}

/* A vector that has no effect on a locked mass. */
static void read_unlocked(document *doc, const doc_at *at, bool locked, double out[3]) {
    if (locked && at->node)
        doc_warn(doc, at, "has no effect: the mass is locked");
    else
        doc_vector(doc, at, 3, "[x, y, z]", out);
}

/* Pose and velocity at time 0. The defaults are those of a point that is fixed in the host h:
     p = rest + displacement,  v = v_h + w_h x (p - p_h),  w = w_h. */
static void read_start(scene_reader *r, const doc_field_list *f, int32_t host, bool locked,
                       skel_body_desc *b, scene_wobble_note *note) {
    document *doc = &r->doc;
    skel_body_desc h;
    double arm[3], spin[3], along[3];
    host_motion(r, host, &h);
    memcpy(note->position, h.position, sizeof note->position);
    memcpy(b->orientation, h.orientation, sizeof b->orientation);
    memcpy(b->angular_velocity, h.angular_velocity, sizeof b->angular_velocity);

    const doc_at position = doc_member(f, W_POSITION);
    const doc_at displacement = doc_member(f, W_DISPLACEMENT);
    doc_vector(doc, &position, 3, "[x, y, z]", note->position);
    read_unlocked(doc, &displacement, locked, note->displacement);

    for (int k = 0; k < 3; ++k) {
        b->position[k] = note->position[k] + note->displacement[k];
        arm[k] = b->position[k] - h.position[k];
    }
    scene_rotate(h.orientation, h.angular_velocity, spin);
    scene_cross(spin, arm, along);
    for (int k = 0; k < 3; ++k) b->velocity[k] = h.velocity[k] + along[k];

    const doc_at velocity = doc_member(f, W_VELOCITY);
    const doc_at angular_velocity = doc_member(f, W_ANGULAR_VELOCITY);
    read_unlocked(doc, &velocity, locked, b->velocity);
    read_unlocked(doc, &angular_velocity, locked, b->angular_velocity);
}

/* One spring and damper of the mass; every constant is required. */
static void read_spring(document *doc, const doc_field_list *f, int field, const char *must,
                        const scene_constant *wanted) {
    const doc_at at = doc_member(f, field);
    if (doc_need(doc, f, field, must)) scene_read_numbers(doc, &at, at.name, wanted);
}

static void read_springs(document *doc, const doc_field_list *f, skel_wobble_desc *w) {
    const scene_constant along[] = {
        {"c", true, DOC_NOT_NEGATIVE, &w->along_c},
        {"d", true, DOC_NOT_NEGATIVE, &w->along_d},
        {NULL, false, DOC_ANY, NULL},
    };
    const scene_constant across[] = {
        {"c", true, DOC_NOT_NEGATIVE, &w->across_c},
        {"d", true, DOC_NOT_NEGATIVE, &w->across_d},
        {NULL, false, DOC_ANY, NULL},
    };
    const scene_constant angular[] = {
        {"a", true, DOC_NOT_NEGATIVE, &w->turn_a},
        {"b", true, DOC_NOT_NEGATIVE, &w->turn_b},
        {NULL, false, DOC_ANY, NULL},
    };
    read_spring(doc, f, W_LONGITUDINAL, "{\"c\", \"d\"}", along);
    read_spring(doc, f, W_TRANSVERSAL, "{\"c\", \"d\"}", across);
    read_spring(doc, f, W_ANGULAR, "{\"a\", \"b\"}", angular);
}

/* Rest position and axis in the axes of the host. */
static void read_place(scene_reader *r, const doc_field_list *f, int32_t host, skel_wobble_desc *w,
                       scene_wobble_note *note) {
    const skel_body_desc *h = &r->bodies[host];
    const doc_at axis = doc_member(f, W_AXIS);
    double arm[3];
    for (int k = 0; k < 3; ++k) arm[k] = note->position[k] - h->position[k];
    scene_unrotate(h->orientation, arm, w->rest);

    /* The default axis is z of the host. */
    scene_rotate(h->orientation, w->axis, note->axis);
    if (scene_read_axis(&r->doc, &axis, note->axis))
        scene_unrotate(h->orientation, note->axis, w->axis);
    else
        doc_normalise(note->axis, 3);
    w->host = host;
}

/* A fixed joint "NAME.lock" instead of the springs. */
static void lock(scene_reader *r, const doc_field_list *f, int32_t body,
                 const skel_wobble_desc *w) {
    const doc_at at = doc_member(f, W_NAME);
    skel_joint_desc *j = &r->joints[r->joint_count];
    char *name = doc_alloc(&r->doc, 1, 272);
    if (!name || !r->bodies[body].name) return;
    snprintf(name, 272, "%s.lock", r->bodies[body].name);
    if (names_put(&r->joint_names, name, r->joint_count) >= 0) {
        doc_error(&r->doc, &at, "must be another name: a joint '%s' exists", name);
        return;
    }

    skel_joint_desc_init(j);
    j->name = name;
    j->type = SKEL_JOINT_FIXED;
    j->parent = w->host;
    j->child = body;
    memcpy(j->parent_position, w->rest, sizeof j->parent_position);
    ++r->joint_count;
}

static void read_wobble(scene_reader *r, const doc_at *at, bool locked, skel_scene *s) {
    doc_field_list f;
    scene_wobble_note note = {{0}, {0}, {0}};
    skel_wobble_desc w;
    const int32_t i = r->body_count;
    skel_body_desc *b = &r->bodies[i];
    int32_t host = 0;
    skel_body_desc_init(b);
    skel_wobble_desc_init(&w);
    b->name = "";
    if (!doc_fields(&r->doc, at, k_wobble, "a wobble", &f)) return;

    const doc_at lock_at = doc_member(&f, W_LOCKED);
    if (lock_at.node && !json_is_bool(lock_at.node)) doc_wrong(&r->doc, &lock_at, "true or false");
    read_name(r, &f, i);

    const doc_at mass = doc_member(&f, W_MASS);
    const doc_at shape = doc_member(&f, W_SHAPE);
    const doc_at inertia = doc_member(&f, W_INERTIA);
    doc_need(&r->doc, &f, W_MASS, "a number > 0");
    scene_read_mass(&r->doc, &mass, &shape, &inertia, b);

    /* A locked mass needs no springs, but they are checked if they are given. */
    if (!locked || f.node[W_LONGITUDINAL] || f.node[W_TRANSVERSAL] || f.node[W_ANGULAR])
        read_springs(&r->doc, &f, &w);

    if (!read_host(r, &f, &host)) return;
    read_start(r, &f, host, locked, b, &note);
    read_place(r, &f, host, &w, &note);

    w.body = i;
    r->body_notes[i].node = at->node;
    r->body_notes[i].placed = true;
    r->body_count = i + 1;
    if (locked) {
        lock(r, &f, i, &w);
        return;
    }
    s->wobbles[r->wobble_count] = note;
    r->wobbles[r->wobble_count++] = w;
}

/* Locked masses come first. The canonical text has them as bodies and joints, so that reading it
   again gives the same order. */
void scene_read_wobbles(scene_reader *r, skel_scene *s) {
    const doc_at *at = &r->wobbles_at;
    int32_t n = 0;
    if (!doc_array(&r->doc, at, 0, SCENE_BODIES, "[wobble, ...]", &n)) return;
    if (n == 0 || !r->bodies || !r->joints || !r->joint_notes) return;
    r->wobbles = doc_alloc(&r->doc, (size_t)n, sizeof *r->wobbles);
    s->wobbles = calloc((size_t)n, sizeof *s->wobbles);
    if (!r->wobbles || !s->wobbles) {
        r->doc.no_memory = true;
        return;
    }

    for (int locked = 1; locked >= 0; --locked) {
        int32_t i = 0;
        const json_value *c;
        JSON_EACH(c, at->node) {
            const doc_at item = doc_element(at, i++, c);
            const bool is_locked = json_is_true(json_member(c, "locked"));
            if (is_locked == (locked == 1)) read_wobble(r, &item, is_locked, s);
        }
    }
}
