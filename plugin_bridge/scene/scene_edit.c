/* SPDX-License-Identifier: BSD-3-Clause */
/* A scene written with another start and other forces. The edits are made in the canonical text.
   There joints have frames, so bodies can be moved; all other data of the scene stay as they are.
   */
#include "scene/scene.h"

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

static const char *word_of(const json_value *node) {
    if (json_is_null(node)) return "null";
    return json_is_true(node) ? "true" : "false";
}

static void put_value(text_buffer *t, const json_value *node) {
    const int object = json_is_object(node);
    const char *between = object ? "{" : "[";
    if (json_is_number(node)) {
        text_number(t, node->number);
    } else if (json_is_string(node)) {
        text_string(t, node->text);
    } else if (object || json_is_array(node)) {
        if (!node->child) text_add(t, between);
        for (const json_value *c = node->child; c; c = c->next, between = ", ") {
            text_add(t, between);
            if (object) text_string(t, c->name);
            if (object) text_add(t, ": ");
            put_value(t, c);
        }
        text_add(t, object ? "}" : "]");
    } else {
        text_add(t, word_of(node));
    }
}

/* One line per field, and in arrays of objects one line per element. */
static void put_document(text_buffer *t, const json_value *root) {
    const char *between = "{\n  ";
    for (const json_value *c = root->child; c; c = c->next, between = ",\n  ") {
        text_add(t, between);
        text_string(t, c->name);
        text_add(t, ": ");
        if (!json_is_array(c) || !json_is_object(c->child)) {
            put_value(t, c);
            continue;
        }
        for (const json_value *e = c->child; e; e = e->next) {
            text_add(t, e == c->child ? "[\n    " : ",\n    ");
            put_value(t, e);
        }
        text_add(t, "\n  ]");
    }
    text_add(t, "\n}\n");
}

/* ---- edits: each returns false if there is no memory ---- */

static bool replace_numbers(json_tree *tree, json_value *object, const char *name, const double *x,
                            int count) {
    return json_set(object, name, json_new_numbers(tree, x, count));
}

static bool replace_number(json_tree *tree, json_value *object, const char *name, double x) {
    return json_set(object, name, json_new_number(tree, x));
}

/* Adds the value of the curve at time t: linear between samples, constant outside. */
static void curve_add(const skel_curve *c, double t, double *out) {
    if (c->count == 0) return;

    /* Bisection: the last sample that is not after t. */
    uint32_t k = 0;
    for (uint32_t high = c->count; high - k > 1;) {
        const uint32_t mid = k + (high - k) / 2;
        if (c->time[mid] <= t)
            k = mid;
        else
            high = mid;
    }

    const double *one = c->value + (size_t)k * c->width;
    const double *two = k + 1 < c->count && t > c->time[k] ? one + c->width : one;
    const double s = two == one ? 0.0 : (t - c->time[k]) / (c->time[k + 1] - c->time[k]);
    for (uint32_t i = 0; i < c->width; ++i) out[i] += one[i] + s * (two[i] - one[i]);
}

/* The load of the scene, to which the edit is added. */
typedef struct load {
    const double *constant;
    const skel_curve *curve;
} load;

/* Sample k of the new curve. */
static json_value *value_at(json_tree *tree, const skel_scene_edit *e, load old, const double *row,
                            int width, uint32_t k) {
    double x[3] = {0};
    curve_add(old.curve, k / e->sample_rate, x);
    for (int i = 0; i < width; ++i) x[i] += old.constant[i] + row[i];
    if (width == 1) return json_new_number(tree, x[0]);
    return json_new_numbers(tree, x, width);
}

/* Replaces a load by a curve. added: [sample] of `width` numbers, `stride` apart. */
static bool add_curve(json_tree *tree, json_value *object, const char *name,
                      const skel_scene_edit *e, load old, const double *added, size_t stride,
                      int width) {
    bool any = false;
    for (uint32_t k = 0; added && k < e->sample_count && !any; ++k)
        for (int i = 0; i < width; ++i) any = any || added[k * stride + (size_t)i] != 0.0;
    if (!any) return true;

    json_value *curve = json_new(tree, JSON_OBJECT);
    json_value *time = json_new(tree, JSON_ARRAY);
    json_value *value = json_new(tree, JSON_ARRAY);
    bool good = json_set(curve, "time", time) && json_set(curve, "value", value) &&
                json_set(curve, "interpolation", json_new_string(tree, "cubic"));
    for (uint32_t k = 0; good && k < e->sample_count; ++k) {
        good = json_append(time, json_new_number(tree, k / e->sample_rate)) &&
               json_append(value, value_at(tree, e, old, added + k * stride, width, k));
    }
    return good && json_set(object, name, curve);
}

/* A dynamic body starts at the given pose, and only forces move it. */
static bool edit_body(json_tree *tree, json_value *body, const skel_model *model, int32_t i,
                      const skel_scene_edit *e) {
    static const char *const prescribed[] = {"motion", "curve", "pinned", "release"};
    const size_t nb = (size_t)skel_model_body_count(model);
    const size_t at = (size_t)i;
    skel_body_desc b;
    skel_body_desc_init(&b);
    if (skel_model_get_body(model, i, &b) != SKEL_OK || b.motion != SKEL_MOTION_DYNAMIC)
        return true;

    bool good = true;
    if (e->poses) {
        for (int k = 0; k < 4; ++k) json_remove(body, prescribed[k]);
        good = replace_numbers(tree, body, "position", e->poses + 7 * at, 3) &&
               replace_numbers(tree, body, "orientation", e->poses + 7 * at + 3, 4);
    }
    if (e->velocities)
        good = good && replace_numbers(tree, body, "velocity", e->velocities + 6 * at, 3) &&
               replace_numbers(tree, body, "angular_velocity", e->velocities + 6 * at + 3, 3);

    const load force = {b.force, &b.force_curve};
    const load torque = {b.torque, &b.torque_curve};
    const double *more_force = e->force ? e->force + 3 * at : NULL;
    const double *more_torque = e->torque ? e->torque + 3 * at : NULL;
    return good && add_curve(tree, body, "force", e, force, more_force, 3 * nb, 3) &&
           add_curve(tree, body, "torque", e, torque, more_torque, 3 * nb, 3);
}

static bool edit_joint(json_tree *tree, json_value *joint, const skel_model *model, int32_t i,
                       const skel_scene_edit *e) {
    skel_joint_desc j;
    skel_joint_desc_init(&j);
    if (skel_model_get_joint(model, i, &j) != SKEL_OK || !e->motor) return true;
    if (!scene_joint_kind(j.type).has_axis) return true;

    const load old = {&j.motor, &j.motor_curve};
    return add_curve(tree, joint, "motor", e, old, e->motor + i,
                     (size_t)skel_model_joint_count(model), 1);
}

static bool edit_bake(json_tree *tree, const skel_scene_edit *e) {
    json_value *bake = json_member(tree->root, "bake");
    if (!e->has_bake) return true;
    if (!bake) {
        bake = json_new(tree, JSON_OBJECT);
        if (!json_set(tree->root, "bake", bake)) return false;
    }
    json_remove(bake, "preroll");
    return replace_number(tree, bake, "fps", e->fps) &&
           replace_number(tree, bake, "frame_start", e->frame_start) &&
           replace_number(tree, bake, "frame_end", e->frame_end);
}

static bool edit_document(json_tree *tree, const skel_model *model, const skel_scene_edit *e) {
    json_value *c;
    int32_t i = 0;
    bool good = edit_bake(tree, e);
    const json_value *bodies = json_member(tree->root, "bodies");
    const json_value *joints = json_member(tree->root, "joints");
    JSON_EACH(c, bodies) {
        good = good && edit_body(tree, c, model, i++, e);
    }
    i = 0;
    JSON_EACH(c, joints) {
        good = good && edit_joint(tree, c, model, i++, e);
    }
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
                                text_buffer *t) {
    size_t length = 0;
    char message[100];
    char *before = canonical(scene, &length);
    json_tree tree = {0};

    skel_status status = SKEL_E_MEMORY;
    if (before) status = json_parse(&tree, before, length, message, sizeof message);
    if (status == SKEL_OK && !edit_document(&tree, skel_scene_model(scene), edit))
        status = SKEL_E_MEMORY;
    if (status == SKEL_OK) put_document(t, tree.root);
    if (t->failed) status = SKEL_E_MEMORY;

    json_free(&tree);
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

    const doc_locale locale = doc_locale_enter();
    text_buffer t = {0};
    skel_status status = write_edited(scene, &e, &t);
    doc_locale_leave(locale);

    if (status == SKEL_OK && needed) *needed = t.length;
    if (status == SKEL_OK && capacity <= t.length) status = SKEL_E_BUFFER;
    if (status == SKEL_OK) memcpy(text, t.data, t.length + 1);
    text_free(&t);
    return status;
}
