/* SPDX-License-Identifier: BSD-3-Clause */
/* What surrounds the bodies of skel-scene/1: `ground`, `forces` and `frame`. */
#include "scene/scene.h"

#include <math.h>
#include <string.h>

enum { G_POINT, G_NORMAL, G_FRICTION, G_LAW, G_STICK, G_RESTITUTION, G_TANGENTIAL, G_BODY };
static const skel__field k_ground[] = {{"point"},
                                       {"normal"},
                                       {"friction"},
                                       {"law"},
                                       {"stick"},
                                       {"restitution"},
                                       {"tangential_restitution"},
                                       {"body"},
                                       {NULL}};

/* In the order of SKEL_FIELD_*. */
static const char *const k_forces[] = {"uniform", "drag", "vortex", "turbulence", NULL};
enum { F_TYPE, F_BODY, F_FIRST };
static const skel__field k_any[] = {
    {"type"}, {"body"},     {"acceleration"}, {"density"}, {"coefficient"}, {"wind"}, {"point"},
    {"axis"}, {"strength"}, {"radius"},       {"scale"},   {"period"},      {"seed"}, {NULL}};
static const skel__field k_uniform[]    = {{"type"}, {"body"}, {"acceleration"}, {NULL}};
static const skel__field k_drag[]       = {{"type"},        {"body"}, {"density"},
                                           {"coefficient"}, {"wind"}, {NULL}};
static const skel__field k_vortex[]     = {{"type"},     {"body"},   {"point"}, {"axis"},
                                           {"strength"}, {"radius"}, {NULL}};
static const skel__field k_turbulence[] = {{"type"},   {"body"}, {"strength"}, {"scale"},
                                           {"period"}, {"seed"}, {NULL}};

/* ---- ground -------------------------------------------------------------------------------- */

static void read_law(skel__doc *doc, const skel__at *at, skel_ground_desc *g) {
    double               b        = 1.0;
    const skel__constant wanted[] = {
        {"a", true, SKEL__POSITIVE, &g->a},
        {"b", true, SKEL__ANY, &b},
        {"d", false, SKEL__NOT_NEGATIVE, &g->d},
        {NULL, false, SKEL__ANY, NULL},
    };
    if (!at->node || !skel__read_numbers(doc, at, "a law", wanted)) return;
    const skel__at where = {at, "b", -1, skel__json_member(at->node, "b")};
    if (b < 1.0) skel__doc_wrong(doc, &where, "a number >= 1");
    g->b = b;
}

static void read_stick(skel__doc *doc, const skel__at *at, skel_ground_desc *g) {
    const skel__constant wanted[] = {
        {"stiffness", true, SKEL__POSITIVE, &g->stick_stiffness},
        {"damping", false, SKEL__NOT_NEGATIVE, &g->stick_damping},
        {NULL, false, SKEL__ANY, NULL},
    };
    if (at->node) skel__read_numbers(doc, at, "stick", wanted);
}

static void read_ground(skel__reader *r, const skel__at *at, skel_ground_desc *g) {
    skel__doc   *doc = &r->doc;
    skel__fields f;
    if (!skel__doc_fields(doc, at, k_ground, "a ground", &f)) return;
    const skel__at point = skel__doc_member(&f, G_POINT), normal = skel__doc_member(&f, G_NORMAL);
    const skel__at friction = skel__doc_member(&f, G_FRICTION), law = skel__doc_member(&f, G_LAW);
    const skel__at stick = skel__doc_member(&f, G_STICK), body = skel__doc_member(&f, G_BODY);
    const skel__at bounce = skel__doc_member(&f, G_RESTITUTION);
    const skel__at slip   = skel__doc_member(&f, G_TANGENTIAL);
    skel__doc_vector(doc, &point, 3, "[x, y, z]", g->point);
    skel__read_axis(doc, &normal, g->normal);
    skel__doc_number(doc, &friction, SKEL__NOT_NEGATIVE, &g->friction);
    read_law(doc, &law, g);
    read_stick(doc, &stick, g);
    skel__read_ratio(doc, &bounce, &g->restitution);
    skel__read_ratio(doc, &slip, &g->tangential_restitution);
    g->is_rigid = bounce.node != NULL;
    if (slip.node && !bounce.node) skel__doc_error(doc, &slip, "must come with restitution");
    if (body.node) skel__read_body_name(r, &body, &g->body);
}

/* Bodies without a shape fall through every ground: most likely it was forgotten. */
static bool can_land(const skel__reader *r) {
    for (int32_t i = 0; i < r->body_count; ++i) {
        const skel_body_desc *b = &r->bodies[i];
        if (b->shape != SKEL_SHAPE_NONE || b->contact_count > 0) return true;
    }
    return false;
}

void skel__read_grounds(skel__reader *r, const skel__at *at) {
    int32_t n = 0, i = 0;
    if (!skel__doc_array(&r->doc, at, 0, SKEL__SCENE_GROUNDS, "[ground, ...]", &n)) return;
    r->grounds = skel__doc_alloc(&r->doc, (size_t)n, sizeof *r->grounds);
    if (!r->grounds) return;
    const skel__json *c;
    SKEL__JSON_EACH(c, at->node) {
        const skel__at item = skel__doc_element(at, i, c);
        skel_ground_desc_init(&r->grounds[i]);
        read_ground(r, &item, &r->grounds[i++]);
    }
    r->ground_count = n;
    if (n > 0 && !can_land(r))
        skel__doc_warn(&r->doc, at, "has no effect: no body has a shape or contacts");
}

/* ---- forces -------------------------------------------------------------------------------- */

static void read_uniform(skel__doc *doc, const skel__fields *f, skel_field_desc *d) {
    const skel__at at = skel__doc_member(f, F_FIRST);
    if (skel__doc_need(doc, f, F_FIRST, "[x, y, z]"))
        skel__doc_vector(doc, &at, 3, "[x, y, z]", d->vector);
}

static void read_drag(skel__doc *doc, const skel__fields *f, skel_field_desc *d) {
    const skel__at density     = skel__doc_member(f, F_FIRST);
    const skel__at coefficient = skel__doc_member(f, F_FIRST + 1);
    const skel__at wind        = skel__doc_member(f, F_FIRST + 2);
    skel__doc_number(doc, &density, SKEL__NOT_NEGATIVE, &d->density);
    skel__doc_number(doc, &coefficient, SKEL__NOT_NEGATIVE, &d->coefficient);
    skel__doc_vector(doc, &wind, 3, "[x, y, z]", d->vector);
}

static void read_vortex(skel__doc *doc, const skel__fields *f, skel_field_desc *d) {
    const skel__at point    = skel__doc_member(f, F_FIRST);
    const skel__at axis     = skel__doc_member(f, F_FIRST + 1);
    const skel__at strength = skel__doc_member(f, F_FIRST + 2);
    const skel__at radius   = skel__doc_member(f, F_FIRST + 3);
    skel__doc_vector(doc, &point, 3, "[x, y, z]", d->point);
    skel__read_axis(doc, &axis, d->axis);
    if (skel__doc_need(doc, f, F_FIRST + 2, "a number"))
        skel__doc_number(doc, &strength, SKEL__ANY, &d->strength);
    skel__doc_number(doc, &radius, SKEL__POSITIVE, &d->scale);
}

static void read_turbulence(skel__doc *doc, const skel__fields *f, skel_field_desc *d) {
    const skel__at strength = skel__doc_member(f, F_FIRST);
    const skel__at scale    = skel__doc_member(f, F_FIRST + 1);
    const skel__at period   = skel__doc_member(f, F_FIRST + 2);
    const skel__at seed     = skel__doc_member(f, F_FIRST + 3);
    double         number   = 0;
    if (skel__doc_need(doc, f, F_FIRST, "a number"))
        skel__doc_number(doc, &strength, SKEL__ANY, &d->strength);
    skel__doc_number(doc, &scale, SKEL__POSITIVE, &d->scale);
    skel__doc_number(doc, &period, SKEL__NOT_NEGATIVE, &d->period);
    if (!skel__doc_number(doc, &seed, SKEL__ANY, &number)) return;
    if (number >= 0 && number <= 1e9 && number == floor(number))
        d->seed = (uint32_t)number;
    else
        skel__doc_wrong(doc, &seed, "a whole number from 0 to 1000000000");
}

/* The type alone, on which the other fields depend; -1 where it is not right. */
static int32_t type_of(const skel__json *object) {
    const skel__json *type = skel__json_member(object, "type");
    for (int32_t i = 0; skel__json_is_string(type) && k_forces[i]; ++i)
        if (strcmp(k_forces[i], type->text) == 0) return i;
    return -1;
}

static void read_force(skel__reader *r, const skel__at *at, skel_field_desc *d) {
    static const struct {
        const skel__field *table;
        const char        *what;
        void (*read)(skel__doc *doc, const skel__fields *f, skel_field_desc *d);
    } kinds[]          = {{k_any, "a force", NULL},
                          {k_uniform, "a uniform force", read_uniform},
                          {k_drag, "a drag", read_drag},
                          {k_vortex, "a vortex", read_vortex},
                          {k_turbulence, "a turbulence", read_turbulence}};
    const int32_t type = type_of(at->node);
    int32_t       unused;
    skel__fields  f;
    if (!skel__doc_fields(&r->doc, at, kinds[type + 1].table, kinds[type + 1].what, &f)) return;
    const skel__at name = skel__doc_member(&f, F_TYPE), body = skel__doc_member(&f, F_BODY);
    if (type < 0) {
        if (skel__doc_need(&r->doc, &f, F_TYPE, "a string like \"uniform\""))
            skel__doc_choice(&r->doc, &name, k_forces, &unused);
        return;
    }
    d->type = type;
    kinds[type + 1].read(&r->doc, &f, d);
    if (body.node) skel__read_body_name(r, &body, &d->body);
}

void skel__read_forces(skel__reader *r, const skel__at *at) {
    int32_t n = 0, i = 0;
    if (!skel__doc_array(&r->doc, at, 0, SKEL__SCENE_GROUNDS, "[force, ...]", &n)) return;
    r->fields = skel__doc_alloc(&r->doc, (size_t)n, sizeof *r->fields);
    if (!r->fields) return;
    const skel__json *c;
    SKEL__JSON_EACH(c, at->node) {
        const skel__at item = skel__doc_element(at, i, c);
        skel_field_desc_init(&r->fields[i]);
        read_force(r, &item, &r->fields[i++]);
    }
    r->field_count = n;
}

/* ---- frame --------------------------------------------------------------------------------- */

void skel__read_frame_of_reference(skel__reader *r, const skel__at *at) {
    enum { A_SPIN, A_ACCELERATION };
    static const skel__field table[] = {{"angular_velocity"}, {"acceleration"}, {NULL}};
    skel__fields             f;
    if (!at->node || !skel__doc_fields(&r->doc, at, table, "a frame", &f)) return;
    const skel__at spin = skel__doc_member(&f, A_SPIN), push = skel__doc_member(&f, A_ACCELERATION);
    skel__read_load(&r->doc, &spin, r->frame_spin, &r->frame_spin_curve, NULL);
    skel__read_load(&r->doc, &push, r->frame_acceleration, &r->frame_acceleration_curve, NULL);
}
