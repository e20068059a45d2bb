/* SPDX-License-Identifier: BSD-3-Clause */
/* A scene written with another start and other forces. It works on the canonical text, where joints
   stand by their frames, so bodies may be moved and whatever else a scene holds stays as it is. */
#include "scene.h"

#include <skel/skel_track.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(skel_scene_edit) == offsetof(skel_scene_edit, fps) + 8, "tail padding");

void skel_scene_edit_init_sized(skel_scene_edit *edit, size_t size) {
    if (!edit || size < sizeof(uint32_t)) return;
    memset(edit, 0, size);
    edit->struct_size = (uint32_t)size;
}

/* ---- text ---- */

static void put_value(skel__text *t, const cJSON *node) {
    const int   object  = cJSON_IsObject(node);
    const char *between = object ? "{" : "[";
    if (cJSON_IsNumber(node)) {
        skel__text_number(t, node->valuedouble);
    } else if (cJSON_IsString(node)) {
        skel__text_string(t, node->valuestring);
    } else if (object || cJSON_IsArray(node)) {
        if (!node->child) skel__text_add(t, between);
        for (const cJSON *c = node->child; c; c = c->next, between = ", ") {
            skel__text_add(t, between);
            if (object) skel__text_string(t, c->string);
            if (object) skel__text_add(t, ": ");
            put_value(t, c);
        }
        skel__text_add(t, object ? "}" : "]");
    } else {
        skel__text_add(t, cJSON_IsNull(node) ? "null" : cJSON_IsTrue(node) ? "true" : "false");
    }
}

/* A field to a line, and in arrays of objects an element to a line. */
static void put_document(skel__text *t, const cJSON *root) {
    const char *between = "{\n  ";
    for (const cJSON *c = root->child; c; c = c->next, between = ",\n  ") {
        skel__text_add(t, between);
        skel__text_string(t, c->string);
        skel__text_add(t, ": ");
        if (!cJSON_IsArray(c) || !cJSON_IsObject(c->child)) {
            put_value(t, c);
            continue;
        }
        for (const cJSON *e = c->child; e; e = e->next) {
            skel__text_add(t, e == c->child ? "[\n    " : ",\n    ");
            put_value(t, e);
        }
        skel__text_add(t, "\n  ]");
    }
    skel__text_add(t, "\n}\n");
}

/* ---- edits: each returns false where memory ran out ---- */

static bool replace(cJSON *object, const char *name, cJSON *value) {
    cJSON_DeleteItemFromObjectCaseSensitive(object, name);
    if (value && cJSON_AddItemToObject(object, name, value)) return true;
    cJSON_Delete(value);
    return false;
}

static bool replace_numbers(cJSON *object, const char *name, const double *x, int count) {
    return replace(object, name, cJSON_CreateDoubleArray(x, count));
}

static bool replace_number(cJSON *object, const char *name, double x) {
    return replace(object, name, cJSON_CreateNumber(x));
}

/* Linear between samples, held outside. */
static void curve_add(const skel_curve *c, double t, double *out) {
    if (c->count == 0) return;
    uint32_t k = 0;
    for (uint32_t high = c->count; high - k > 1;) { /* the last sample that is not after t */
        const uint32_t mid = k + (high - k) / 2;
        if (c->time[mid] <= t)
            k = mid;
        else
            high = mid;
    }
    const double *one = c->value + (size_t)k * c->width;
    const double *two = k + 1 < c->count && t > c->time[k] ? one + c->width : one;
    const double  s   = two == one ? 0.0 : (t - c->time[k]) / (c->time[k + 1] - c->time[k]);
    for (uint32_t i = 0; i < c->width; ++i) out[i] += one[i] + s * (two[i] - one[i]);
}

/* A load that is there already: constant and curve, `width` numbers. */
typedef struct load {
    const double     *constant;
    const skel_curve *curve;
} load;

static cJSON *value_at(const skel_scene_edit *e, load old, const double *row, int width,
                       uint32_t k) {
    double x[3] = {0};
    curve_add(old.curve, k / e->sample_rate, x);
    for (int i = 0; i < width; ++i) x[i] += old.constant[i] + row[i];
    return width == 1 ? cJSON_CreateNumber(x[0]) : cJSON_CreateDoubleArray(x, width);
}

/* added: [sample] of `width` numbers, `stride` apart. */
static bool add_curve(cJSON *object, const char *name, const skel_scene_edit *e, load old,
                      const double *added, size_t stride, int width) {
    bool any = false;
    for (uint32_t k = 0; added && k < e->sample_count && !any; ++k)
        for (int i = 0; i < width; ++i) any = any || added[k * stride + (size_t)i] != 0.0;
    if (!any) return true;
    cJSON *curve = cJSON_CreateObject(), *time = cJSON_CreateArray(), *value = cJSON_CreateArray();
    cJSON *kind = cJSON_CreateString("cubic");
    bool   good = curve && replace(curve, "time", time) && replace(curve, "value", value) &&
                replace(curve, "interpolation", kind);
    for (uint32_t k = 0; good && k < e->sample_count; ++k) {
        cJSON *t = cJSON_CreateNumber(k / e->sample_rate);
        cJSON *x = value_at(e, old, added + k * stride, width, k);
        good     = t && x && cJSON_AddItemToArray(time, t) && cJSON_AddItemToArray(value, x);
    }
    if (good) return replace(object, name, curve);
    cJSON_Delete(curve);
    return false;
}

/* A dynamic body starts where it is told to and is moved by forces alone. */
static bool edit_body(cJSON *body, const skel_model *model, int32_t i, const skel_scene_edit *e) {
    static const char *const leading[] = {"motion", "curve", "pinned", "release"};
    const size_t             nb = (size_t)skel_model_body_count(model), at = (size_t)i;
    skel_body_desc           b;
    skel_body_desc_init(&b);
    if (skel_model_get_body(model, i, &b) != SKEL_OK || b.motion != SKEL_MOTION_DYNAMIC)
        return true;
    bool good = true;
    if (e->poses) {
        for (int k = 0; k < 4; ++k) cJSON_DeleteItemFromObjectCaseSensitive(body, leading[k]);
        good = replace_numbers(body, "position", e->poses + 7 * at, 3) &&
               replace_numbers(body, "orientation", e->poses + 7 * at + 3, 4);
    }
    if (e->velocities)
        good = good && replace_numbers(body, "velocity", e->velocities + 6 * at, 3) &&
               replace_numbers(body, "angular_velocity", e->velocities + 6 * at + 3, 3);
    const load force = {b.force, &b.force_curve}, torque = {b.torque, &b.torque_curve};
    return good &&
           add_curve(body, "force", e, force, e->force ? e->force + 3 * at : NULL, 3 * nb, 3) &&
           add_curve(body, "torque", e, torque, e->torque ? e->torque + 3 * at : NULL, 3 * nb, 3);
}

static bool edit_joint(cJSON *joint, const skel_model *model, int32_t i, const skel_scene_edit *e) {
    skel_joint_desc j;
    skel_joint_desc_init(&j);
    if (skel_model_get_joint(model, i, &j) != SKEL_OK || !e->motor) return true;
    if (j.type != SKEL_JOINT_HINGE && j.type != SKEL_JOINT_SLIDE) return true;
    const load old = {&j.motor, &j.motor_curve};
    return add_curve(joint, "motor", e, old, e->motor + i, (size_t)skel_model_joint_count(model),
                     1);
}

static bool edit_bake(cJSON *root, const skel_scene_edit *e) {
    cJSON *bake = cJSON_GetObjectItemCaseSensitive(root, "bake");
    if (!e->has_bake) return true;
    if (!bake) bake = cJSON_AddObjectToObject(root, "bake");
    cJSON_DeleteItemFromObjectCaseSensitive(bake, "preroll");
    return bake && replace_number(bake, "fps", e->fps) &&
           replace_number(bake, "frame_start", e->frame_start) &&
           replace_number(bake, "frame_end", e->frame_end);
}

static bool edit_document(cJSON *root, const skel_model *model, const skel_scene_edit *e) {
    cJSON  *c;
    int32_t i    = 0;
    bool    good = edit_bake(root, e);
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(root, "bodies")) good =
        good && edit_body(c, model, i++, e);
    i = 0;
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(root, "joints")) good =
        good && edit_joint(c, model, i++, e);
    return good;
}

/* ---- public ---- */

static char *canonical(const skel_scene *scene, size_t *length) {
    skel_scene_write(scene, NULL, 0, length);
    char *text = malloc(*length + 1);
    if (text && skel_scene_write(scene, text, *length + 1, length) == SKEL_OK) return text;
    free(text);
    return NULL;
}

static skel_status write_edited(const skel_scene *scene, const skel_scene_edit *edit,
                                skel__text *t) {
    size_t      length = 0;
    char       *before = canonical(scene, &length);
    cJSON      *root   = before ? cJSON_ParseWithLength(before, length) : NULL;
    skel_status status = SKEL_E_MEMORY;
    if (root && edit_document(root, skel_scene_model(scene), edit)) {
        put_document(t, root);
        if (!t->failed) status = SKEL_OK;
    }
    cJSON_Delete(root);
    free(before);
    return status;
}

skel_status skel_scene_write_edited(const skel_scene *scene, const skel_scene_edit *edit,
                                    char *text, size_t capacity, size_t *needed) {
    skel_scene_edit e = {0};
    if (!scene || !edit || (!text && capacity > 0)) return SKEL_E_ARGUMENT;
    if (edit->struct_size < sizeof e) return SKEL_E_STRUCT_SIZE;
    e = *edit;
    if (e.sample_count > 0 && !(e.sample_rate > 0.0 && isfinite(e.sample_rate)))
        return SKEL_E_ARGUMENT;
    const skel__locale locale = skel__locale_enter();
    skel__text         t      = {0};
    skel_status        status = write_edited(scene, &e, &t);
    skel__locale_leave(locale);
    if (status == SKEL_OK && needed) *needed = t.length;
    if (status == SKEL_OK && capacity <= t.length) status = SKEL_E_BUFFER;
    if (status == SKEL_OK) memcpy(text, t.data, t.length + 1);
    skel__text_free(&t);
    return status;
}
