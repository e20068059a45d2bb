/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that several lists of skel-scene/1 share: names, curves, directions, mass and shape. */
#include "scene/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define INERTIA_SLACK 1e-9         /* of the trace: flat and thin solids lie on the limit */
#define ROD_RADIUS_PER_LENGTH 0.01 /* default */

/* Types in the order of SKEL_SHAPE_*; their fields follow `type`. */
static const char *const k_shapes[] = {"sphere", "box", "cylinder", "capsule", "rod", NULL};
static const doc_field k_shape_any[] = {{"type"}, {"radius"}, {"size"}, {"length"}, {NULL}};
static const doc_field k_shape_ball[] = {{"type"}, {"radius"}, {NULL}};
static const doc_field k_shape_box[] = {{"type"}, {"size"}, {NULL}};
static const doc_field k_shape_round[] = {{"type"}, {"length"}, {"radius"}, {NULL}};

/* ---- names --------------------------------------------------------------------------------- */

static uint32_t hash(const char *name) { /* FNV-1a */
    uint32_t h = 2166136261u;
    for (const char *c = name; *c; ++c) h = (h ^ (unsigned char)*c) * 16777619u;
    return h;
}

bool names_open(document *doc, name_table *names, int32_t count) {
    uint32_t size = 16;
    while (size < 2 * (uint32_t)count) size *= 2;
    names->mask = size - 1;
    names->name = doc_alloc(doc, size, sizeof *names->name);
    names->index = doc_alloc(doc, size, sizeof *names->index);
    return names->name && names->index;
}

/* The slot of the name, or the free slot for it: linear probing. */
static uint32_t names_slot(const name_table *names, const char *name) {
    uint32_t slot = hash(name) & names->mask;
    while (names->name[slot] && strcmp(names->name[slot], name) != 0)
        slot = (slot + 1) & names->mask;
    return slot;
}

int32_t names_find(const name_table *names, const char *name) {
    const uint32_t slot = names_slot(names, name);
    return names->name[slot] ? names->index[slot] : -2;
}

int32_t names_put(name_table *names, const char *name, int32_t index) {
    const uint32_t slot = names_slot(names, name);
    if (names->name[slot]) return names->index[slot];
    names->name[slot] = name;
    names->index[slot] = index;
    return -2;
}

static const char *known_body(const void *user, int32_t i) {
    const scene_reader *r = user;
    return i < r->body_count ? r->bodies[i].name : NULL;
}

static bool refuse_name(scene_reader *r, const doc_at *at, const char *name, const char *what) {
    char must[160], hint[96];
    doc_suggest(name, known_body, r, hint, sizeof hint);
    snprintf(must, sizeof must, "%s%s", what, hint);
    doc_wrong(&r->doc, at, must);
    return false;
}

bool scene_read_body_name(scene_reader *r, const doc_at *at, int32_t *out) {
    const char *name;
    if (!doc_name(&r->doc, at, &name)) return false;
    *out = strcmp(name, "world") == 0 ? SKEL_WORLD : names_find(&r->body_names, name);
    if (*out >= SKEL_WORLD) return true;
    return refuse_name(r, at, name, "the name of a body or \"world\"");
}

bool scene_read_bone_name(scene_reader *r, const doc_at *at, int32_t *out) {
    const char *name;
    if (!doc_name(&r->doc, at, &name)) return false;
    *out = names_find(&r->body_names, name);
    if (*out >= 0 && *out < json_size(r->bodies_at.node)) return true;
    return refuse_name(r, at, name, "the name of one of the bodies");
}

bool scene_read_listed_name(document *doc, const doc_at *at, const char *(*name)(int32_t),
                            int32_t *out) {
    enum { NAMES_MAX = 31 };
    const char *names[NAMES_MAX + 1] = {NULL};
    for (int32_t i = 0; i < NAMES_MAX; ++i) names[i] = name(i);
    return doc_choice(doc, at, names, out);
}

/* ---- joint types ----------------------------------------------------------------------------- */

skel_joint_kind scene_joint_kind(int32_t type) {
    skel_joint_kind kind = {.struct_size = sizeof kind};
    skel_joint_kind_get(type, &kind);
    return kind;
}

const char *scene_joint_type_name(int32_t type) {
    return scene_joint_kind(type).name;
}

void scene_describe_q(const skel_joint_kind *kind, char *out, size_t size) {
    size_t used = 0;
    for (int32_t k = 0; k < kind->q_count && used < size; ++k) {
        const bool is_length = kind->q_kind[k] == SKEL_COORDINATE_LENGTH;
        used += (size_t)snprintf(out + used, size - used, "%s%s", k ? ", " : "[",
                                 is_length ? "length" : "angle");
    }
    if (used < size) snprintf(out + used, size - used, "]");
}

double scene_q_unit(const scene_reader *r, int32_t coordinate) {
    return coordinate == SKEL_COORDINATE_ANGLE ? r->angle : 1.0;
}

double scene_limit_unit(const scene_reader *r, int32_t type) {
    return scene_joint_kind(type).q_kind[0] == SKEL_COORDINATE_LENGTH ? 1.0 : r->angle;
}

/* ---- directions ------------------------------------------------------------------------------ */

void scene_cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* R(q)^T v = v - 2 w (u x v) + 2 u x (u x v), with q = (w, u). */
void scene_unrotate(const double q[4], const double v[3], double out[3]) {
    double uv[3], uuv[3];
    scene_cross(q + 1, v, uv);
    scene_cross(q + 1, uv, uuv);
    for (int k = 0; k < 3; ++k) out[k] = v[k] + 2.0 * (uuv[k] - q[0] * uv[k]);
}

/* R(q) v, likewise. */
void scene_rotate(const double q[4], const double v[3], double out[3]) {
    const double back[4] = {-q[0], q[1], q[2], q[3]};
    scene_unrotate(back, v, out);
}

bool scene_read_axis(document *doc, const doc_at *at, double out[3]) {
    if (!doc_vector(doc, at, 3, "[x, y, z]", out)) return false;
    if (out[0] == 0.0 && out[1] == 0.0 && out[2] == 0.0) {
        char is[64];
        doc_describe(doc, at->node, is, sizeof is);
        doc_error(doc, at, "is %s, must not be zero", is);
        return false;
    }
    doc_normalise(out, 3);
    return true;
}

/* ---- curves -------------------------------------------------------------------------------- */

bool scene_read_times(document *doc, const doc_at *at, skel_curve *curve) {
    int32_t n;
    if (!doc_array(doc, at, 1, DOC_MAX_SAMPLES, "[seconds, ...]", &n)) return false;
    double *time = doc_alloc(doc, (size_t)n, sizeof *time);
    if (!time) return false;

    int32_t i = 0;
    bool good = true;
    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        good = doc_number(doc, &item, DOC_ANY, &time[i]) && good;
        if (good && i > 0 && !(time[i] > time[i - 1])) {
            doc_wrong(doc, &item, "greater than the time before it");
            good = false;
        }
        ++i;
    }
    curve->time = time;
    curve->count = good ? (uint32_t)n : 0;
    return good;
}

static bool read_sample(document *doc, const doc_at *at, uint32_t width, const char *must,
                        double *out) {
    if (width == 1) return doc_number(doc, at, DOC_ANY, out);
    if (width == 4) return doc_quaternion(doc, at, out);
    return doc_vector(doc, at, (int32_t)width, must, out);
}

bool scene_read_samples(document *doc, const doc_at *at, uint32_t width, const char *must,
                        skel_curve *curve) {
    int32_t n;
    if (!doc_array(doc, at, 0, DOC_MAX_SAMPLES, "an array, a value per time", &n)) return false;
    if ((uint32_t)n != curve->count) {
        doc_error(doc, at, "has %d values, must have %u, one per time", (int)n,
                  (unsigned)curve->count);
        return false;
    }
    double *value = doc_alloc(doc, (size_t)n * width, sizeof *value);
    if (!value) return false;

    int32_t i = 0;
    bool good = true;
    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        good = read_sample(doc, &item, width, must, value + (size_t)i * width) && good;
        ++i;
    }
    curve->value = value;
    curve->width = width;
    if (!good) curve->count = 0;
    return good;
}

/* A curve. It may have `interpolation` only if smooth is not NULL. */
static bool read_curve(document *doc, const doc_at *at, uint32_t width, const char *must,
                       skel_curve *curve, bool *smooth) {
    enum { C_TIME, C_VALUE, C_INTERPOLATION };
    static const char *const names[] = {"linear", "cubic", NULL};
    static const doc_field k_linear_curve[] = {{"time"}, {"value"}, {NULL}};
    static const doc_field k_curve[] = {{"time"}, {"value"}, {"interpolation"}, {NULL}};
    doc_field_list f;
    skel_curve read = {0};
    int32_t which = 0;
    if (!doc_fields(doc, at, smooth ? k_curve : k_linear_curve, "a curve", &f)) return false;

    if (smooth) {
        const doc_at kind = doc_member(&f, C_INTERPOLATION);
        doc_choice(doc, &kind, names, &which);
        *smooth = which == 1;
    }

    /* Both fields are checked, so that both errors are reported. */
    const bool is_complete = doc_need(doc, &f, C_TIME, "[seconds, ...]") &
                             doc_need(doc, &f, C_VALUE, "an array, a value per time");
    const doc_at time = doc_member(&f, C_TIME);
    const doc_at value = doc_member(&f, C_VALUE);
    if (!is_complete || !scene_read_times(doc, &time, &read)) return false;
    if (!scene_read_samples(doc, &value, width, must, &read)) return false;
    *curve = read;
    return true;
}

bool scene_read_curve(document *doc, const doc_at *at, uint32_t width, const char *must,
                      skel_curve *curve) {
    return read_curve(doc, at, width, must, curve, NULL);
}

bool scene_read_smooth_curve(document *doc, const doc_at *at, uint32_t width, const char *must,
                             skel_curve *curve, bool *smooth) {
    return read_curve(doc, at, width, must, curve, smooth);
}

void scene_read_load(document *doc, const doc_at *at, double constant[3], skel_curve *curve,
                     bool *smooth) {
    if (!at->node) return;
    if (json_is_object(at->node))
        read_curve(doc, at, 3, "[x, y, z]", curve, smooth);
    else
        doc_vector(doc, at, 3, "[x, y, z] or {\"time\", \"value\"}", constant);
}

/* ---- mass and shape ------------------------------------------------------------------------ */

/* Sylvester's criterion: all leading minors of [xx yy zz xy xz yz] are positive. */
static bool positive_definite(const double m[6]) {
    const double xx = m[0], yy = m[1], zz = m[2], xy = m[3], xz = m[4], yz = m[5];
    const double minor = xx * yy - xy * xy;
    const double det =
        xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    return xx > 0.0 && minor > 0.0 && det > 0.0;
}

/* No principal moment of a solid exceeds the sum of the other two: the matrix of its second
   moments, tr(I)/2 E - I, has no negative eigenvalue. */
static bool moments_of_a_solid(const double m[6]) {
    const double half = 0.5 * (m[0] + m[1] + m[2]), slack = 2.0 * half * INERTIA_SLACK;
    const double second[6] = {
        half - m[0] + slack, half - m[1] + slack, half - m[2] + slack, -m[3], -m[4], -m[5]};
    return positive_definite(second);
}

static bool read_inertia(document *doc, const doc_at *at, double out[6]) {
    static const char must[] = "[xx, yy, zz] or [xx, yy, zz, xy, xz, yz]";
    int32_t n = 0;
    double m[6] = {0}, unit[6];
    if (!doc_array(doc, at, 3, 6, must, &n)) return false;
    if (!doc_vector(doc, at, n <= 3 ? 3 : 6, must, m)) return false;

    /* Scaled, so that the determinant of a small body does not underflow. */
    double largest = 0.0;
    for (int k = 0; k < 6; ++k) largest = fmax(largest, fabs(m[k]));
    for (int k = 0; k < 6; ++k) unit[k] = largest > 0.0 ? m[k] / largest : 0.0;

    if (!positive_definite(unit)) {
        doc_wrong(doc, at, "positive definite");
        return false;
    }
    if (!moments_of_a_solid(unit))
        doc_warn(doc, at,
                 "one principal moment exceeds the sum of the other two: no solid body has such an "
                 "inertia");
    memcpy(out, m, sizeof m);
    return true;
}

/* Size in the order of SKEL_SHAPE_*: radius; x, y, z; length, radius. */
static bool read_size(document *doc, const doc_field_list *f, int32_t shape, double size[3]) {
    doc_at first = doc_member(f, 1);
    if (shape == SKEL_SHAPE_BOX) {
        if (!doc_need(doc, f, 1, "[x, y, z]")) return false;
        if (!doc_vector(doc, &first, 3, "[x, y, z]", size)) return false;
        if (size[0] > 0.0 && size[1] > 0.0 && size[2] > 0.0) return true;
        doc_wrong(doc, &first, "[x, y, z], all > 0");
        return false;
    }

    if (!doc_need(doc, f, 1, "a number > 0")) return false;
    bool good = doc_number(doc, &first, DOC_POSITIVE, &size[0]);
    if (shape == SKEL_SHAPE_SPHERE) return good;

    doc_at second = doc_member(f, 2);
    if (shape == SKEL_SHAPE_ROD && !second.node) {
        size[1] = ROD_RADIUS_PER_LENGTH * size[0];
        return good;
    }
    if (!doc_need(doc, f, 2, "a number > 0")) return false;
    return doc_number(doc, &second, DOC_POSITIVE, &size[1]) && good;
}

/* The type, which decides the other fields. SKEL_SHAPE_NONE: it is missing or unknown. */
static int32_t shape_of(const json_value *object) {
    const json_value *type = json_member(object, "type");
    for (int32_t i = 0; json_is_string(type) && k_shapes[i]; ++i)
        if (strcmp(k_shapes[i], type->text) == 0) return SKEL_SHAPE_SPHERE + i;
    return SKEL_SHAPE_NONE;
}

static bool read_shape(document *doc, const doc_at *at, skel_body_desc *b) {
    static const doc_field *const tables[] = {k_shape_any,   k_shape_ball,  k_shape_box,
                                              k_shape_round, k_shape_round, k_shape_round};
    const int32_t shape = shape_of(at->node);
    const char *name = shape == SKEL_SHAPE_NONE ? "shape" : k_shapes[shape - SKEL_SHAPE_SPHERE];
    char what[32];
    doc_field_list f;
    snprintf(what, sizeof what, "a %s", name);
    if (!doc_fields(doc, at, tables[shape], what, &f)) return false;

    /* Without a known type, only unknown fields and the type itself are reported. */
    if (shape == SKEL_SHAPE_NONE) {
        int32_t unused;
        const doc_at type = doc_member(&f, 0);
        if (doc_need(doc, &f, 0, "a string like \"capsule\""))
            doc_choice(doc, &type, k_shapes, &unused);
        return false;
    }

    double size[3] = {0};
    if (!read_size(doc, &f, shape, size)) return false;
    b->shape = shape;
    memcpy(b->size, size, sizeof size);
    return true;
}

void scene_read_mass(document *doc, const doc_at *mass, const doc_at *shape, const doc_at *inertia,
                     skel_body_desc *b) {
    const bool has_mass = doc_number(doc, mass, DOC_POSITIVE, &b->mass);
    const bool has_shape = read_shape(doc, shape, b);

    if (inertia->node) {
        read_inertia(doc, inertia, b->inertia);
    } else if (has_mass && has_shape) {
        if (skel_shape_inertia(b->shape, b->size, b->mass, b->inertia) != SKEL_OK)
            doc_error(doc, shape, "gives an inertia outside the range of a double");
    } else if (has_mass && !shape->node && b->motion == SKEL_MOTION_DYNAMIC) {
        doc_error(doc, inertia, "is missing, must be given (or a shape)");
    }
}
