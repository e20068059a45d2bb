/* SPDX-License-Identifier: BSD-3-Clause */
/* The surroundings of the bodies in skel-scene/1: `ground`, `forces` and `frame`. */
#include "scene/scene.h"

#include <math.h>
#include <string.h>

enum { G_POINT, G_NORMAL, G_FRICTION, G_LAW, G_STICK, G_RESTITUTION, G_TANGENTIAL, G_BODY };
static const doc_field k_ground[] = {{"point"},
                                     {"normal"},
                                     {"friction"},
                                     {"law"},
                                     {"stick"},
                                     {"restitution"},
                                     {"tangential_restitution"},
                                     {"body"},
                                     {NULL}};

/* Types in the order of SKEL_FIELD_*; their fields follow `type` and `body`. */
static const char *const k_forces[] = {"uniform", "drag", "vortex", "turbulence", NULL};
enum { F_TYPE, F_BODY, F_FIRST };
static const doc_field k_any[] = {
    {"type"}, {"body"},     {"acceleration"}, {"density"}, {"coefficient"}, {"wind"}, {"point"},
    {"axis"}, {"strength"}, {"radius"},       {"scale"},   {"period"},      {"seed"}, {NULL}};
static const doc_field k_uniform[] = {{"type"}, {"body"}, {"acceleration"}, {NULL}};
static const doc_field k_drag[] = {{"type"},        {"body"}, {"density"},
                                   {"coefficient"}, {"wind"}, {NULL}};
static const doc_field k_vortex[] = {{"type"},     {"body"},   {"point"}, {"axis"},
                                     {"strength"}, {"radius"}, {NULL}};
static const doc_field k_turbulence[] = {{"type"},   {"body"}, {"strength"}, {"scale"},
                                         {"period"}, {"seed"}, {NULL}};

/* ---- ground -------------------------------------------------------------------------------- */

/* Normal force a p^b + d p' at the penetration p. */
static void read_law(document *doc, const doc_at *at, skel_ground_desc *g) {
    double b = 1.0;
    const scene_constant wanted[] = {
        {"a", true, DOC_POSITIVE, &g->a},
        {"b", true, DOC_ANY, &b},
        {"d", false, DOC_NOT_NEGATIVE, &g->d},
        {NULL, false, DOC_ANY, NULL},
    };
    if (!at->node || !scene_read_numbers(doc, at, "a law", wanted)) return;
    const doc_at where = {at, "b", -1, json_member(at->node, "b")};
    if (b < 1.0) doc_wrong(doc, &where, "a number >= 1");
    g->b = b;
}

/* Spring of a sticking contact. */
static void read_stick(document *doc, const doc_at *at, skel_ground_desc *g) {
    const scene_constant wanted[] = {
        {"stiffness", true, DOC_POSITIVE, &g->stick_stiffness},
        {"damping", false, DOC_NOT_NEGATIVE, &g->stick_damping},
        {NULL, false, DOC_ANY, NULL},
    };
    if (at->node) scene_read_numbers(doc, at, "stick", wanted);
}

static void read_ground(scene_reader *r, const doc_at *at, skel_ground_desc *g) {
    document *doc = &r->doc;
    doc_field_list f;
    if (!doc_fields(doc, at, k_ground, "a ground", &f)) return;

    /* The plane. */
    const doc_at point = doc_member(&f, G_POINT);
    const doc_at normal = doc_member(&f, G_NORMAL);
    const doc_at body = doc_member(&f, G_BODY);
    doc_vector(doc, &point, 3, "[x, y, z]", g->point);
    scene_read_axis(doc, &normal, g->normal);
    if (body.node) scene_read_body_name(r, &body, &g->body);

    /* Contact forces. */
    const doc_at friction = doc_member(&f, G_FRICTION);
    const doc_at law = doc_member(&f, G_LAW);
    const doc_at stick = doc_member(&f, G_STICK);
    doc_number(doc, &friction, DOC_NOT_NEGATIVE, &g->friction);
    read_law(doc, &law, g);
    read_stick(doc, &stick, g);

    /* Impacts, which are instantaneous if a restitution is given. */
    const doc_at restitution = doc_member(&f, G_RESTITUTION);
    const doc_at tangential = doc_member(&f, G_TANGENTIAL);
    scene_read_ratio(doc, &restitution, &g->restitution);
    scene_read_ratio(doc, &tangential, &g->tangential_restitution);
    g->is_rigid = restitution.node != NULL;
    if (tangential.node && !restitution.node)
        doc_error(doc, &tangential, "must come with restitution");
}

/* Bodies without shape and contact points fall through every ground. Most likely the shape was
   forgotten. */
static bool can_touch(const scene_reader *r) {
    for (int32_t i = 0; i < r->body_count; ++i) {
        const skel_body_desc *b = &r->bodies[i];
        if (b->shape != SKEL_SHAPE_NONE || b->contact_count > 0) return true;
    }
    return false;
}

void scene_read_grounds(scene_reader *r, const doc_at *at) {
    int32_t n = 0, i = 0;
    if (!doc_array(&r->doc, at, 0, SCENE_GROUNDS, "[ground, ...]", &n)) return;
    r->grounds = doc_alloc(&r->doc, (size_t)n, sizeof *r->grounds);
    if (!r->grounds) return;

    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        skel_ground_desc_init(&r->grounds[i]);
        read_ground(r, &item, &r->grounds[i++]);
    }
    r->ground_count = n;

    if (n > 0 && !can_touch(r))
        doc_warn(&r->doc, at, "has no effect: no body has a shape or contacts");
}

/* ---- forces -------------------------------------------------------------------------------- */

static void read_uniform(document *doc, const doc_field_list *f, skel_field_desc *d) {
    const doc_at at = doc_member(f, F_FIRST);
    if (doc_need(doc, f, F_FIRST, "[x, y, z]")) doc_vector(doc, &at, 3, "[x, y, z]", d->vector);
}

static void read_drag(document *doc, const doc_field_list *f, skel_field_desc *d) {
    const doc_at density = doc_member(f, F_FIRST);
    const doc_at coefficient = doc_member(f, F_FIRST + 1);
    const doc_at wind = doc_member(f, F_FIRST + 2);
    doc_number(doc, &density, DOC_NOT_NEGATIVE, &d->density);
    doc_number(doc, &coefficient, DOC_NOT_NEGATIVE, &d->coefficient);
    doc_vector(doc, &wind, 3, "[x, y, z]", d->vector);
}

static void read_vortex(document *doc, const doc_field_list *f, skel_field_desc *d) {
    const doc_at point = doc_member(f, F_FIRST);
    const doc_at axis = doc_member(f, F_FIRST + 1);
    const doc_at strength = doc_member(f, F_FIRST + 2);
    const doc_at radius = doc_member(f, F_FIRST + 3);

    doc_vector(doc, &point, 3, "[x, y, z]", d->point);
    scene_read_axis(doc, &axis, d->axis);
    if (doc_need(doc, f, F_FIRST + 2, "a number"))
        doc_number(doc, &strength, DOC_ANY, &d->strength);
    doc_number(doc, &radius, DOC_POSITIVE, &d->scale);
}

static void read_turbulence(document *doc, const doc_field_list *f, skel_field_desc *d) {
    const doc_at strength = doc_member(f, F_FIRST);
    const doc_at scale = doc_member(f, F_FIRST + 1);
    const doc_at period = doc_member(f, F_FIRST + 2);
    const doc_at seed = doc_member(f, F_FIRST + 3);

    if (doc_need(doc, f, F_FIRST, "a number")) doc_number(doc, &strength, DOC_ANY, &d->strength);
    doc_number(doc, &scale, DOC_POSITIVE, &d->scale);
    doc_number(doc, &period, DOC_NOT_NEGATIVE, &d->period);

    double number = 0;
    if (!doc_number(doc, &seed, DOC_ANY, &number)) return;
    if (number >= 0 && number <= 1e9 && number == floor(number))
        d->seed = (uint32_t)number;
    else
        doc_wrong(doc, &seed, "a whole number from 0 to 1000000000");
}

/* The type, which decides the other fields; -1: it is missing or unknown. */
static int32_t type_of(const json_value *object) {
    const json_value *type = json_member(object, "type");
    for (int32_t i = 0; json_is_string(type) && k_forces[i]; ++i)
        if (strcmp(k_forces[i], type->text) == 0) return i;
    return -1;
}

static void read_force(scene_reader *r, const doc_at *at, skel_field_desc *d) {
    static const struct {
        const doc_field *table;
        const char *what;
        void (*read)(document *doc, const doc_field_list *f, skel_field_desc *d);
    } kinds[] = {{k_any, "a force", NULL},
                 {k_uniform, "a uniform force", read_uniform},
                 {k_drag, "a drag", read_drag},
                 {k_vortex, "a vortex", read_vortex},
                 {k_turbulence, "a turbulence", read_turbulence}};
    const int32_t type = type_of(at->node);
    doc_field_list f;
    if (!doc_fields(&r->doc, at, kinds[type + 1].table, kinds[type + 1].what, &f)) return;

    /* Without a known type, only unknown fields and the type itself are reported. */
    const doc_at name = doc_member(&f, F_TYPE);
    const doc_at body = doc_member(&f, F_BODY);
    if (type < 0) {
        int32_t unused;
        if (doc_need(&r->doc, &f, F_TYPE, "a string like \"uniform\""))
            doc_choice(&r->doc, &name, k_forces, &unused);
        return;
    }

    d->type = type;
    kinds[type + 1].read(&r->doc, &f, d);
    if (body.node) scene_read_body_name(r, &body, &d->body);
}

void scene_read_forces(scene_reader *r, const doc_at *at) {
    int32_t n = 0, i = 0;
    if (!doc_array(&r->doc, at, 0, SCENE_GROUNDS, "[force, ...]", &n)) return;
    r->fields = doc_alloc(&r->doc, (size_t)n, sizeof *r->fields);
    if (!r->fields) return;

    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        skel_field_desc_init(&r->fields[i]);
        read_force(r, &item, &r->fields[i++]);
    }
    r->field_count = n;
}

/* ---- frame --------------------------------------------------------------------------------- */

void scene_read_frame_of_reference(scene_reader *r, const doc_at *at) {
    enum { A_SPIN, A_ACCELERATION };
    static const doc_field k_frame[] = {{"angular_velocity"}, {"acceleration"}, {NULL}};
    doc_field_list f;
    if (!at->node || !doc_fields(&r->doc, at, k_frame, "a frame", &f)) return;
    const doc_at spin = doc_member(&f, A_SPIN);
    const doc_at acceleration = doc_member(&f, A_ACCELERATION);
    scene_read_load(&r->doc, &spin, r->frame_spin, &r->frame_spin_curve, NULL);
    scene_read_load(&r->doc, &acceleration, r->frame_acceleration, &r->frame_acceleration_curve,
                    NULL);
}
