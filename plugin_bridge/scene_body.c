/* SPDX-License-Identifier: BSD-3-Clause */
/* `bodies` of skel-scene/1: mass, shape, pose, loads, driven motion and pins. */
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TRIANGLE_SLACK 1e-9 /* of the trace; a flat or thin solid sits on the border */
#define ROD_RADIUS 0.01     /* of its length, where none is given */

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
    B_RELEASE
};
static const skel__field k_body[] = {
    {"name", false},     {"mass", false},        {"shape", false},    {"inertia", false},
    {"position", false}, {"orientation", false}, {"velocity", false}, {"angular_velocity", false},
    {"force", false},    {"torque", false},      {"motion", false},   {"curve", false},
    {"pinned", false},   {"release", false},     {"contacts", true},  {"collide", true},
    {NULL, false}};

static const char *const k_motions[] = {"dynamic", "fixed", "driven", NULL}; /* SKEL_MOTION_* */

/* Shapes in the order of SKEL_SHAPE_*, each with its fields after the type. */
static const char *const k_shapes[]    = {"sphere", "box", "cylinder", "capsule", "rod", NULL};
static const skel__field k_shape_any[] = {
    {"type", false}, {"radius", false}, {"size", false}, {"length", false}, {NULL, false}};
static const skel__field k_shape_ball[]  = {{"type", false}, {"radius", false}, {NULL, false}};
static const skel__field k_shape_box[]   = {{"type", false}, {"size", false}, {NULL, false}};
static const skel__field k_shape_round[] = {
    {"type", false}, {"length", false}, {"radius", false}, {NULL, false}};

/* ---- names --------------------------------------------------------------------------------- */

static uint32_t hash(const char *name) { /* FNV-1a */
    uint32_t h = 2166136261u;
    for (const char *c = name; *c; ++c) h = (h ^ (unsigned char)*c) * 16777619u;
    return h;
}

bool skel__names_open(skel__doc *doc, skel__names *names, int32_t count) {
    uint32_t size = 16;
    while (size < 2 * (uint32_t)count) size *= 2;
    names->mask  = size - 1;
    names->name  = skel__doc_alloc(doc, size, sizeof *names->name);
    names->index = skel__doc_alloc(doc, size, sizeof *names->index);
    return names->name && names->index;
}

/* The slot that holds the name, or the free one where it belongs. */
static uint32_t names_slot(const skel__names *names, const char *name) {
    uint32_t slot = hash(name) & names->mask;
    while (names->name[slot] && strcmp(names->name[slot], name) != 0)
        slot = (slot + 1) & names->mask;
    return slot;
}

int32_t skel__names_find(const skel__names *names, const char *name) {
    const uint32_t slot = names_slot(names, name);
    return names->name[slot] ? names->index[slot] : -2;
}

int32_t skel__names_put(skel__names *names, const char *name, int32_t index) {
    const uint32_t slot = names_slot(names, name);
    if (names->name[slot]) return names->index[slot];
    names->name[slot]  = name;
    names->index[slot] = index;
    return -2;
}

/* ---- curves -------------------------------------------------------------------------------- */

bool skel__read_times(skel__doc *doc, const skel__at *at, skel_curve *curve) {
    int32_t n;
    if (!skel__doc_array(doc, at, 1, SKEL__DOC_MAX_SAMPLES, "[seconds, ...]", &n)) return false;
    double *time = skel__doc_alloc(doc, (size_t)n, sizeof *time);
    if (!time) return false;
    int32_t      i    = 0;
    bool         good = true;
    const cJSON *c;
    cJSON_ArrayForEach(c, at->node) {
        const skel__at item = skel__doc_element(at, i, c);
        good                = skel__doc_number(doc, &item, SKEL__ANY, &time[i]) && good;
        if (good && i > 0 && !(time[i] > time[i - 1])) {
            skel__doc_wrong(doc, &item, "greater than the time before it");
            good = false;
        }
        ++i;
    }
    curve->time  = time;
    curve->count = good ? (uint32_t)n : 0;
    return good;
}

static bool read_sample(skel__doc *doc, const skel__at *at, uint32_t width, double *out) {
    if (width == 1) return skel__doc_number(doc, at, SKEL__ANY, out);
    if (width == 2) return skel__doc_vector(doc, at, 2, "[angle, angle]", out);
    if (width == 4) return skel__doc_quaternion(doc, at, out);
    return skel__doc_vector(doc, at, 3, "[x, y, z]", out);
}

bool skel__read_samples(skel__doc *doc, const skel__at *at, uint32_t width, skel_curve *curve) {
    int32_t n;
    if (!skel__doc_array(doc, at, 0, SKEL__DOC_MAX_SAMPLES, "an array, a value per time", &n))
        return false;
    if ((uint32_t)n != curve->count) {
        skel__doc_error(doc, at, "has %d values, must have %u, one per time", (int)n,
                        (unsigned)curve->count);
        return false;
    }
    double *value = skel__doc_alloc(doc, (size_t)n * width, sizeof *value);
    if (!value) return false;
    int32_t      i    = 0;
    bool         good = true;
    const cJSON *c;
    cJSON_ArrayForEach(c, at->node) {
        const skel__at item = skel__doc_element(at, i, c);
        good                = read_sample(doc, &item, width, value + (size_t)i * width) && good;
        ++i;
    }
    curve->value = value;
    curve->width = width;
    if (!good) curve->count = 0;
    return good;
}

bool skel__read_curve(skel__doc *doc, const skel__at *at, uint32_t width, skel_curve *curve) {
    enum { C_TIME, C_VALUE };
    static const skel__field table[] = {{"time", false}, {"value", false}, {NULL, false}};
    skel__fields             f;
    skel_curve               read = {0};
    if (!skel__doc_fields(doc, at, table, "a curve", &f)) return false;
    const bool whole = skel__doc_need(doc, &f, C_TIME, "[seconds, ...]") &
                       skel__doc_need(doc, &f, C_VALUE, "an array, a value per time");
    const skel__at time = skel__doc_member(&f, C_TIME), value = skel__doc_member(&f, C_VALUE);
    if (!whole || !skel__read_times(doc, &time, &read)) return false;
    if (!skel__read_samples(doc, &value, width, &read)) return false;
    *curve = read;
    return true;
}

/* ---- mass and shape ------------------------------------------------------------------------ */

/* Sylvester: all leading minors of [xx yy zz xy xz yz] > 0. */
static bool positive_definite(const double m[6]) {
    const double xx = m[0], yy = m[1], zz = m[2], xy = m[3], xz = m[4], yz = m[5];
    const double minor = xx * yy - xy * xy;
    const double det =
        xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    return xx > 0.0 && minor > 0.0 && det > 0.0;
}

/* No principal moment of a solid exceeds the sum of the other two: tr/2 - I is the second moment of
   its mass, which is never negative. */
static bool moments_of_a_solid(const double m[6]) {
    const double half = 0.5 * (m[0] + m[1] + m[2]), slack = 2.0 * half * TRIANGLE_SLACK;
    const double second[6] = {
        half - m[0] + slack, half - m[1] + slack, half - m[2] + slack, -m[3], -m[4], -m[5]};
    return positive_definite(second);
}

static bool read_inertia(skel__doc *doc, const skel__at *at, double out[6]) {
    static const char must[] = "[xx, yy, zz] or [xx, yy, zz, xy, xz, yz]";
    int32_t           n      = 0;
    double            m[6]   = {0}, unit[6];
    if (!skel__doc_array(doc, at, 3, 6, must, &n)) return false;
    if (!skel__doc_vector(doc, at, n <= 3 ? 3 : 6, must, m)) return false;
    double largest = 0.0; /* scaled, so that small bodies do not underflow */
    for (int k = 0; k < 6; ++k) largest = fmax(largest, fabs(m[k]));
    for (int k = 0; k < 6; ++k) unit[k] = largest > 0.0 ? m[k] / largest : 0.0;
    if (!positive_definite(unit)) {
        skel__doc_wrong(doc, at, "positive definite");
        return false;
    }
    if (!moments_of_a_solid(unit))
        skel__doc_warn(doc, at,
                       "one principal moment is over the sum of the other two: no solid "
                       "has such an inertia");
    memcpy(out, m, sizeof m);
    return true;
}

static bool read_size(skel__doc *doc, const skel__fields *f, int32_t shape, double size[3]) {
    skel__at first = skel__doc_member(f, 1);
    if (shape == SKEL_SHAPE_BOX) {
        if (!skel__doc_need(doc, f, 1, "[x, y, z]")) return false;
        if (!skel__doc_vector(doc, &first, 3, "[x, y, z]", size)) return false;
        if (size[0] > 0.0 && size[1] > 0.0 && size[2] > 0.0) return true;
        skel__doc_wrong(doc, &first, "[x, y, z], all > 0");
        return false;
    }
    if (!skel__doc_need(doc, f, 1, "a number > 0")) return false;
    bool good = skel__doc_number(doc, &first, SKEL__POSITIVE, &size[0]);
    if (shape == SKEL_SHAPE_SPHERE) return good;
    skel__at second = skel__doc_member(f, 2);
    if (shape == SKEL_SHAPE_ROD && !second.node) {
        size[1] = ROD_RADIUS * size[0];
        return good;
    }
    if (!skel__doc_need(doc, f, 2, "a number > 0")) return false;
    return skel__doc_number(doc, &second, SKEL__POSITIVE, &size[1]) && good;
}

/* The type alone, on which the other fields depend. SKEL_SHAPE_NONE where it is not right. */
static int32_t shape_of(const cJSON *object) {
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(object, "type");
    for (int32_t i = 0; cJSON_IsString(type) && k_shapes[i]; ++i)
        if (strcmp(k_shapes[i], type->valuestring) == 0) return SKEL_SHAPE_SPHERE + i;
    return SKEL_SHAPE_NONE;
}

static bool read_shape(skel__doc *doc, const skel__at *at, skel_body_desc *b) {
    static const skel__field *const tables[] = {k_shape_any,   k_shape_ball,  k_shape_box,
                                                k_shape_round, k_shape_round, k_shape_round};
    const int32_t                   shape    = shape_of(at->node);
    const char  *name    = shape == SKEL_SHAPE_NONE ? "shape" : k_shapes[shape - SKEL_SHAPE_SPHERE];
    double       size[3] = {0};
    int32_t      unused;
    char         what[32];
    skel__fields f;
    snprintf(what, sizeof what, "a %s", name);
    if (!skel__doc_fields(doc, at, tables[shape], what, &f)) return false;
    if (shape == SKEL_SHAPE_NONE) {
        const skel__at type = skel__doc_member(&f, 0);
        if (skel__doc_need(doc, &f, 0, "a string like \"capsule\""))
            skel__doc_choice(doc, &type, k_shapes, &unused);
        return false;
    }
    if (!read_size(doc, &f, shape, size)) return false;
    b->shape = shape;
    memcpy(b->size, size, sizeof size);
    return true;
}

/* A given inertia wins over the shape's. */
static void read_mass(skel__doc *doc, const skel__fields *f, skel_body_desc *b) {
    const skel__at mass = skel__doc_member(f, B_MASS), shape = skel__doc_member(f, B_SHAPE);
    const skel__at inertia   = skel__doc_member(f, B_INERTIA);
    const bool     has_mass  = skel__doc_number(doc, &mass, SKEL__POSITIVE, &b->mass);
    const bool     has_shape = read_shape(doc, &shape, b);
    if (inertia.node) {
        read_inertia(doc, &inertia, b->inertia);
    } else if (has_mass && has_shape) {
        if (skel_shape_inertia(b->shape, b->size, b->mass, b->inertia) != SKEL_OK)
            skel__doc_error(doc, &shape, "gives no inertia that a double can hold");
    } else if (has_mass && !shape.node && b->motion == SKEL_MOTION_DYNAMIC) {
        skel__doc_error(doc, &inertia, "is missing, must be given (or a shape)");
    }
    if (!mass.node && b->motion == SKEL_MOTION_DYNAMIC)
        skel__doc_warn(doc, &mass, "is missing: the body is good for kinematics, not for a bake");
}

/* ---- loads and motion ---------------------------------------------------------------------- */

static void read_load(skel__doc *doc, const skel__at *at, double constant[3], skel_curve *curve) {
    if (!at->node) return;
    if (cJSON_IsObject(at->node))
        skel__read_curve(doc, at, 3, curve);
    else
        skel__doc_vector(doc, at, 3, "[x, y, z] or {\"time\", \"value\"}", constant);
}

/* Time 0 of the curve, as the engine itself reads it. */
static bool pose_of_curve(skel__doc *doc, const skel_body_desc *b, double pose[7]) {
    skel_model_desc desc;
    skel_body_desc  body;
    skel_model     *model = NULL;
    skel_state     *state = NULL;
    skel_error      err;
    skel_model_desc_init(&desc);
    skel_body_desc_init(&body);
    skel_error_init(&err);
    body.motion            = SKEL_MOTION_DRIVEN;
    body.position_curve    = b->position_curve;
    body.orientation_curve = b->orientation_curve;
    memcpy(body.position, b->position, sizeof body.position);
    memcpy(body.orientation, b->orientation, sizeof body.orientation);
    desc.bodies        = &body;
    desc.body_count    = 1;
    desc.body_stride   = sizeof body;
    skel_status status = skel_model_create(&desc, &model, &err);
    if (status == SKEL_OK) status = skel_state_create(model, &state, &err);
    if (status == SKEL_OK) status = skel_state_get_poses(state, pose);
    if (status != SKEL_OK) skel__doc_pass_on(doc, status, &err);
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

static void agree(skel__doc *doc, const skel__at *at, double *own, const double *curve, int n) {
    double off = pose_distance(own, curve, n, 1.0);
    if (n == 4) off = fmin(off, pose_distance(own, curve, n, -1.0));
    if (at->node && off > SKEL__POSE_SLACK)
        skel__doc_wrong(doc, at, "what the curve has at time 0 (or left out)");
    memcpy(own, curve, (size_t)n * sizeof *own);
}

static bool read_curve_fields(skel__doc *doc, const skel__at *at, skel_body_desc *b) {
    enum { C_TIME, C_POSITION, C_ORIENTATION };
    static const skel__field table[] = {
        {"time", false}, {"position", false}, {"orientation", false}, {NULL, false}};
    skel__fields f;
    skel_curve   time = {0};
    if (!skel__doc_fields(doc, at, table, "the curve of a driven body", &f)) return false;
    const skel__at times = skel__doc_member(&f, C_TIME);
    const skel__at p = skel__doc_member(&f, C_POSITION), o = skel__doc_member(&f, C_ORIENTATION);
    if (!skel__doc_need(doc, &f, C_TIME, "[seconds, ...]")) return false;
    if (!p.node && !o.node) skel__doc_error(doc, &p, "is missing, must be given (or orientation)");
    if (!skel__read_times(doc, &times, &time)) return false;
    b->position_curve = b->orientation_curve = time;
    const bool has_p                         = skel__read_samples(doc, &p, 3, &b->position_curve);
    const bool has_o = skel__read_samples(doc, &o, 4, &b->orientation_curve);
    if (!has_p) b->position_curve = (skel_curve){0};
    if (!has_o) b->orientation_curve = (skel_curve){0};
    return (has_p || !p.node) && (has_o || !o.node) && (has_p || has_o);
}

/* What the pose of a body with a curve says must be what the curve says at time 0, where the joints
   stand. */
static void read_driven(skel__reader *r, const skel__fields *f, skel_body_desc *b,
                        skel__body_note *note) {
    skel__doc     *doc = &r->doc;
    const skel__at at  = skel__doc_member(f, B_CURVE);
    double         pose[7];
    if (!skel__doc_need(doc, f, B_CURVE, "given for a driven body")) return;
    const bool good = read_curve_fields(doc, &at, b);
    if (cJSON_GetObjectItemCaseSensitive(at.node, "position")) note->placed = true;
    if (!good || !pose_of_curve(doc, b, pose)) return;
    const skel__at p = skel__doc_member(f, B_POSITION), o = skel__doc_member(f, B_ORIENTATION);
    if (b->position_curve.count) agree(doc, &p, b->position, pose, 3);
    if (b->orientation_curve.count) agree(doc, &o, b->orientation, pose + 3, 4);
}

/* Intervals in order, none touching the next; true: always. */
static void read_pinned(skel__doc *doc, const skel__at *at, skel_body_desc *b) {
    static const double always[2] = {-SKEL__ALWAYS, SKEL__ALWAYS};
    int32_t             n = 1, i = 0;
    const cJSON        *c;
    bool                good = true;
    if (cJSON_IsTrue(at->node)) {
        b->pinned       = always;
        b->pinned_count = 1;
        return;
    }
    if (!skel__doc_array(doc, at, 1, SKEL__DOC_MAX_SAMPLES, "true or [[from, to], ...]", &n))
        return;
    double *time = skel__doc_alloc(doc, (size_t)n, 2 * sizeof *time);
    if (!time) return;
    cJSON_ArrayForEach(c, at->node) {
        const skel__at item = skel__doc_element(at, i, c);
        double        *pair = time + 2 * (size_t)i++;
        if (!skel__doc_vector(doc, &item, 2, "[from, to]", pair)) {
            good = false;
        } else if (!(pair[0] < pair[1])) {
            skel__doc_wrong(doc, &item, "[from, to] with from < to");
            good = false;
        } else if (good && i > 1 && !(pair[0] > pair[-1])) {
            skel__doc_wrong(doc, &item, "later than the interval before it");
            good = false;
        }
    }
    b->pinned       = time;
    b->pinned_count = good ? (uint32_t)n : 0;
}

/* Driven until then, dynamic afterwards: for the engine a dynamic body, pinned to its curve until
   then. Released at the start or before it is not pinned at all, but starts with the curve. */
static void read_release(skel__doc *doc, const skel__at *at, skel_body_desc *b) {
    double release;
    if (!at->node) return;
    if (b->motion != SKEL_MOTION_DRIVEN) {
        skel__doc_error(doc, at, "is only for motion \"driven\"");
        return;
    }
    b->motion = SKEL_MOTION_DYNAMIC;
    if (!skel__doc_number(doc, at, SKEL__ANY, &release) || !(release > 0.0)) return;
    double *time = skel__doc_alloc(doc, 2, sizeof *time);
    if (!time) return;
    time[0]         = -SKEL__ALWAYS;
    time[1]         = release;
    b->pinned       = time;
    b->pinned_count = 1;
}

/* The curve and the pins; `driven` is what the document says, before a release. */
static void read_ways(skel__reader *r, const skel__fields *f, skel_body_desc *b,
                      skel__body_note *note, bool driven) {
    const skel__at pinned = skel__doc_member(f, B_PINNED), curve = skel__doc_member(f, B_CURVE);
    const bool     held = pinned.node && !driven && b->motion == SKEL_MOTION_DYNAMIC;
    if (held)
        read_pinned(&r->doc, &pinned, b);
    else if (pinned.node)
        skel__doc_error(&r->doc, &pinned, "is only for motion \"dynamic\"");
    if (driven || (held && curve.node))
        read_driven(r, f, b, note);
    else if (curve.node)
        skel__doc_error(&r->doc, &curve, "is only for motion \"driven\", or with pinned");
}

/* A body starts as its curve does. */
static void drop_start(skel__doc *doc, const skel__fields *f, skel_body_desc *b) {
    const skel__at v = skel__doc_member(f, B_VELOCITY), w = skel__doc_member(f, B_ANGULAR);
    if (!f->node[B_CURVE]) return;
    if (v.node) skel__doc_warn(doc, &v, "has no effect: the body starts with its curve");
    if (w.node) skel__doc_warn(doc, &w, "has no effect: the body starts with its curve");
    memset(b->velocity, 0, sizeof b->velocity);
    memset(b->angular_velocity, 0, sizeof b->angular_velocity);
}

/* Only forces move a body that is neither fixed nor driven. */
static void drop_motion(skel__doc *doc, const skel__fields *f, skel_body_desc *b) {
    static const int idle[] = {B_VELOCITY, B_ANGULAR, B_FORCE, B_TORQUE};
    for (size_t k = 0; k < sizeof idle / sizeof *idle; ++k) {
        const skel__at at = skel__doc_member(f, idle[k]);
        if (at.node) skel__doc_warn(doc, &at, "has no effect on a %s body", k_motions[b->motion]);
    }
    memset(b->velocity, 0, sizeof b->velocity);
    memset(b->angular_velocity, 0, sizeof b->angular_velocity);
    memset(b->force, 0, sizeof b->force);
    memset(b->torque, 0, sizeof b->torque);
    b->force_curve = b->torque_curve = (skel_curve){0};
}

/* ---- bodies -------------------------------------------------------------------------------- */

static void read_pose(skel__doc *doc, const skel__fields *f, skel_body_desc *b,
                      skel__body_note *note) {
    const skel__at p = skel__doc_member(f, B_POSITION), o = skel__doc_member(f, B_ORIENTATION);
    const skel__at v = skel__doc_member(f, B_VELOCITY), w = skel__doc_member(f, B_ANGULAR);
    skel__doc_vector(doc, &p, 3, "[x, y, z]", b->position);
    skel__doc_quaternion(doc, &o, b->orientation);
    skel__doc_vector(doc, &v, 3, "[x, y, z]", b->velocity);
    skel__doc_vector(doc, &w, 3, "[x, y, z]", b->angular_velocity);
    note->placed = p.node != NULL;
}

static void read_body_name(skel__reader *r, const skel__fields *f, int32_t i) {
    skel_body_desc *b  = &r->bodies[i];
    const skel__at  at = skel__doc_member(f, B_NAME);
    b->name            = "";
    if (!skel__doc_need(&r->doc, f, B_NAME, "a string that is not empty")) return;
    if (!skel__doc_name(&r->doc, &at, &b->name)) return;
    if (strcmp(b->name, "world") == 0) {
        skel__doc_wrong(&r->doc, &at, "another name: the world has this one");
        return;
    }
    const int32_t other = skel__names_put(&r->body_names, b->name, i);
    char          must[64];
    snprintf(must, sizeof must, "another name: bodies[%d] has this one", (int)other);
    if (other >= 0) skel__doc_wrong(&r->doc, &at, must);
}

static void read_body(skel__reader *r, const skel__at *at, int32_t i) {
    skel__doc       *doc  = &r->doc;
    skel_body_desc  *b    = &r->bodies[i];
    skel__body_note *note = &r->body_notes[i];
    skel__fields     f;
    note->node = at->node;
    b->name    = "";
    if (!skel__doc_fields(doc, at, k_body, "a body", &f)) {
        note->placed = true; /* one complaint is enough */
        return;
    }
    const skel__at motion  = skel__doc_member(&f, B_MOTION);
    const skel__at release = skel__doc_member(&f, B_RELEASE);
    const skel__at force = skel__doc_member(&f, B_FORCE), torque = skel__doc_member(&f, B_TORQUE);
    read_body_name(r, &f, i);
    const bool known  = skel__doc_choice(doc, &motion, k_motions, &b->motion) || !motion.node;
    const bool driven = b->motion == SKEL_MOTION_DRIVEN;
    if (known) read_release(doc, &release, b);
    read_mass(doc, &f, b);
    read_pose(doc, &f, b, note);
    read_load(doc, &force, b->force, &b->force_curve);
    read_load(doc, &torque, b->torque, &b->torque_curve);
    if (known) read_ways(r, &f, b, note, driven);
    if (b->motion != SKEL_MOTION_DYNAMIC)
        drop_motion(doc, &f, b);
    else
        drop_start(doc, &f, b);
    if (f.node[B_ORIENTATION] && !note->placed) {
        const skel__at position = skel__doc_member(&f, B_POSITION);
        skel__doc_error(doc, &position, "is missing, must be given where orientation is");
        note->placed = true;
    }
}

void skel__read_bodies(skel__reader *r, const skel__at *at) {
    int32_t n;
    if (!skel__doc_array(&r->doc, at, 1, SKEL__SCENE_BODIES, "[body, ...], at least one", &n))
        return;
    r->bodies     = skel__doc_alloc(&r->doc, (size_t)n, sizeof *r->bodies);
    r->body_notes = skel__doc_alloc(&r->doc, (size_t)n, sizeof *r->body_notes);
    if (!skel__names_open(&r->doc, &r->body_names, n) || !r->bodies || !r->body_notes) return;
    r->body_count  = n;
    int32_t      i = 0;
    const cJSON *c;
    cJSON_ArrayForEach(c, at->node) {
        const skel__at item = skel__doc_element(at, i, c);
        skel_body_desc_init(&r->bodies[i]);
        read_body(r, &item, i++);
    }
}
