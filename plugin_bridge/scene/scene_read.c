/* SPDX-License-Identifier: BSD-3-Clause */
/* The document skel-scene/1, a text or values: it is read, checked and converted into a model and
   bake settings. Its lists are read in scene_body.c, scene_joint.c, scene_wobble.c, scene_world.c
   and scene_goals.c. DH tables (dh_read.c, dh_csv.c) and URDF (urdf_read.c) are recognised here and
   become scenes, too. */
#include "robot/robot.h"
#include "document/kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCENE_FORMAT "skel-scene/1"

enum {
    S_FORMAT,
    S_NAME,
    S_GRAVITY,
    S_ANGLE_UNIT,
    S_BODIES,
    S_JOINTS,
    S_BAKE,
    S_GROUND,
    S_WOBBLE,
    S_FORCES,
    S_FRAME,
    S_GOALS,
    S_IK,
    S_ROBOT
};
static const doc_field k_scene[] = {{"format"}, {"name"},  {"gravity"}, {"angle_unit"}, {"bodies"},
                                    {"joints"}, {"bake"},  {"ground"},  {"wobble"},     {"forces"},
                                    {"frame"},  {"goals"}, {"ik"},      {"robot"},      {NULL}};

enum { K_FPS, K_START, K_END, K_INTEGRATOR, K_TOLERANCE, K_STEP, K_SOLVER, K_PREROLL };
static const doc_field k_bake[] = {{"fps"},        {"frame_start"}, {"frame_end"},
                                   {"integrator"}, {"tolerance"},   {"step"},
                                   {"solver"},     {"preroll"},     {NULL}};

static const char *const k_other_formats[] = {"skel-track/1", "skel-pose/1", "skel-report/1", NULL};

/* ---- bake ---------------------------------------------------------------------------------- */

static void read_frame_range(scene_reader *r, const doc_field_list *f, skel_scene *s) {
    document *doc = &r->doc;
    const doc_at start = doc_member(f, K_START);
    const doc_at end = doc_member(f, K_END);
    const bool has_start = doc_integer(doc, &start, &s->frame_start) || !start.node;
    const bool has_end = doc_integer(doc, &end, &s->frame_end) || !end.node;
    if (!has_start || !has_end) return;

    const int64_t frames = (int64_t)s->frame_end - s->frame_start + 1;
    if (frames < 1) {
        doc_error(doc, &end, "is %d, must be at least frame_start, which is %d", (int)s->frame_end,
                  (int)s->frame_start);
    } else if (frames > SCENE_FRAMES) {
        doc_error(doc, &end, "makes %lld frames, must make at most %d", (long long)frames,
                  SCENE_FRAMES);
    } else if ((double)frames * r->body_count > SCENE_POSES) {
        doc_error(doc, &end, "makes %lld frames of %d bodies, must make at most %.0f poses in all",
                  (long long)frames, (int)r->body_count, SCENE_POSES);
    } else {
        s->bake.sample_count = (uint32_t)frames;
    }
}

static void read_bake(scene_reader *r, const doc_at *at, skel_scene *s) {
    document *doc = &r->doc;
    doc_field_list f = {at, k_bake, {NULL}};
    if (at->node && !doc_fields(doc, at, k_bake, "a bake", &f)) return;

    const doc_at fps = doc_member(&f, K_FPS);
    const doc_at step = doc_member(&f, K_STEP);
    const doc_at tolerance = doc_member(&f, K_TOLERANCE);
    const doc_at integrator = doc_member(&f, K_INTEGRATOR);
    const doc_at solver = doc_member(&f, K_SOLVER);
    const doc_at preroll = doc_member(&f, K_PREROLL);

    doc_number(doc, &fps, DOC_POSITIVE, &s->bake.sample_rate);
    read_frame_range(r, &f, s);
    scene_read_listed_name(doc, &integrator, skel_integrator_name, &s->bake.integrator);
    doc_number(doc, &tolerance, DOC_POSITIVE, &s->bake.tolerance);
    doc_number(doc, &step, DOC_POSITIVE, &s->bake.step);
    scene_read_listed_name(doc, &solver, skel_solver_name, &s->bake.solver);
    doc_number(doc, &preroll, DOC_NOT_NEGATIVE, &s->bake.preroll);
}

/* ---- the document -------------------------------------------------------------------------- */

static bool read_format(document *doc, const doc_field_list *f) {
    const doc_at at = doc_member(f, S_FORMAT);
    if (!doc_need(doc, f, S_FORMAT, "\"" SCENE_FORMAT "\"")) return false;
    const char *format = json_is_string(at.node) ? at.node->text : "";
    if (strcmp(format, SCENE_FORMAT) == 0) return true;

    for (int32_t i = 0; k_other_formats[i]; ++i) {
        if (strcmp(format, k_other_formats[i]) != 0) continue;
        doc_error(doc, &at, "is a %s, which this version does not read; must be \"%s\"", format,
                  SCENE_FORMAT);
        return false;
    }
    doc_wrong(doc, &at, "\"" SCENE_FORMAT "\"");
    return false;
}

static void read_head(scene_reader *r, const doc_field_list *f, skel_scene *s) {
    static const char *const units[] = {"rad", "deg", NULL};
    const doc_at name = doc_member(f, S_NAME);
    const doc_at unit = doc_member(f, S_ANGLE_UNIT);
    const doc_at gravity = doc_member(f, S_GRAVITY);

    /* The name may be empty. */
    const char *text = "";
    if (name.node && !(json_is_string(name.node) && !name.node->text[0]))
        doc_name(&r->doc, &name, &text);
    snprintf(s->name, sizeof s->name, "%s", text);

    doc_vector(&r->doc, &gravity, 3, "[x, y, z]", r->gravity);

    int32_t which = 0;
    doc_choice(&r->doc, &unit, units, &which);
    r->angle = which == 1 ? DOC_PI / 180.0 : 1.0;
}

/* The goals, and then their settings, which refer to the goals. */
static void read_goals(scene_reader *r, const doc_field_list *f, skel_scene *s) {
    const doc_at goals = doc_member(f, S_GOALS);
    const doc_at ik = doc_member(f, S_IK);
    scene_read_goals(r, &goals, s);
    scene_read_ik(r, &ik, s);
}

/* Lists that refer to bodies and joints. */
static void read_surroundings(scene_reader *r, const doc_field_list *f, skel_scene *s) {
    const doc_at ground = doc_member(f, S_GROUND);
    const doc_at forces = doc_member(f, S_FORCES);
    scene_read_wobbles(r, s);
    scene_read_grounds(r, &ground);
    scene_read_forces(r, &forces);
    read_goals(r, f, s);
}

static void read_scene(scene_reader *r, skel_scene *s) {
    document *doc = &r->doc;
    doc_field_list f;
    r->root = (doc_at){NULL, NULL, -1, doc->root};

    /* In a document of another format every field is unknown. One error is enough then. */
    if (json_is_object(doc->root)) {
        const json_value *format = json_member(doc->root, "format");
        doc_field_list only = {&r->root, k_scene, {format}};
        if (!read_format(doc, &only)) return;
    }
    if (!doc_fields(doc, &r->root, k_scene, "a scene", &f)) return;
    const int32_t errors_of_fields = doc->error_count;
    read_head(r, &f, s);

    /* Bodies, then the joints between them. */
    r->bodies_at = doc_member(&f, S_BODIES);
    r->joints_at = doc_member(&f, S_JOINTS);
    r->wobbles_at = doc_member(&f, S_WOBBLE);
    if (doc_need(doc, &f, S_BODIES, "[body, ...], at least one"))
        scene_read_bodies(r, &r->bodies_at);
    const int32_t errors_of_bodies = doc->error_count;
    if (r->body_count > 0) scene_read_joints(r, &r->joints_at);

    /* After other errors, a missing position may be a consequence and is not reported. */
    if (errors_of_fields == 0 && doc->error_count == errors_of_bodies) scene_check_placing(r);

    if (r->body_count > 0) read_surroundings(r, &f, s);
    const doc_at frame = doc_member(&f, S_FRAME);
    const doc_at bake = doc_member(&f, S_BAKE);
    scene_read_frame_of_reference(r, &frame);
    read_bake(r, &bake, s);
}

/* ---- the model ----------------------------------------------------------------------------- */

/* q and -q are the same rotation. */
static double quaternion_distance(const double a[4], const double b[4]) {
    double same = 0.0, opposite = 0.0;
    for (int k = 0; k < 4; ++k) {
        same = fmax(same, fabs(a[k] - b[k]));
        opposite = fmax(opposite, fabs(a[k] + b[k]));
    }
    return fmin(same, opposite);
}

/* Largest difference of the coordinates of one joint; angles differ up to full turns. */
static double q_distance(const skel_joint_desc *j, const double *now) {
    const skel_joint_kind kind = scene_joint_kind(j->type);
    if (kind.q_kind[0] == SKEL_COORDINATE_QUATERNION) return quaternion_distance(j->q, now);

    double largest = 0.0;
    for (int32_t k = 0; k < kind.q_count; ++k) {
        const double difference = j->q[k] - now[k];
        const bool is_length = kind.q_kind[k] == SKEL_COORDINATE_LENGTH;
        largest = fmax(largest, fabs(is_length ? difference : remainder(difference, 2.0 * DOC_PI)));
    }
    return largest;
}

/* If a joint has q and its bodies have positions, these must agree. */
static void check_q(scene_reader *r, const skel_model *model) {
    skel_state *state = NULL;
    double *q = doc_alloc(&r->doc, (size_t)skel_model_q_count(model) + 1, sizeof *q);
    if (!q || skel_state_create(model, &state, NULL) != SKEL_OK) {
        r->doc.no_memory = true;
        return;
    }
    skel_state_get_q(state, q);
    skel_state_destroy(state);
    scene_check_mimics(r, model, q);

    for (int32_t i = 0; i < r->joint_count; ++i) {
        if (!r->joint_notes[i].has_q) continue;
        const double *now = q + skel_model_joint_q_offset(model, i);
        const doc_at joint = doc_element(&r->joints_at, i, r->joint_notes[i].node);
        const doc_at at = {&joint, "q", -1, json_member(joint.node, "q")};
        if (q_distance(&r->joints[i], now) > SCENE_POSE_SLACK)
            doc_wrong(&r->doc, &at, "that of the positions of the bodies (or left out)");
    }
}

static void make_model(scene_reader *r, skel_scene *s) {
    skel_model_desc desc;
    skel_error err;
    skel_model_desc_init(&desc);
    skel_error_init(&err);

    desc.bodies = r->bodies;
    desc.body_count = (uint32_t)r->body_count;
    desc.body_stride = sizeof *r->bodies;
    desc.joints = r->joints;
    desc.joint_count = (uint32_t)r->joint_count;
    desc.joint_stride = sizeof *r->joints;
    desc.grounds = r->grounds;
    desc.ground_count = (uint32_t)r->ground_count;
    desc.wobbles = r->wobbles;
    desc.wobble_count = (uint32_t)r->wobble_count;
    desc.fields = r->fields;
    desc.field_count = (uint32_t)r->field_count;
    memcpy(desc.gravity, r->gravity, sizeof desc.gravity);

    /* The frame of reference. */
    memcpy(desc.frame_spin, r->frame_spin, sizeof desc.frame_spin);
    memcpy(desc.frame_acceleration, r->frame_acceleration, sizeof desc.frame_acceleration);
    desc.frame_spin_curve = r->frame_spin_curve;
    desc.frame_acceleration_curve = r->frame_acceleration_curve;

    const skel_status status = skel_model_create(&desc, &s->model, &err);
    s->bake.model = s->model;
    if (status != SKEL_OK) {
        doc_pass_on(&r->doc, status, &err);
        return;
    }

    check_q(r, s->model);
    scene_keep_estimated(r, s);
    scene_ik_finish(r, s);
}

static skel_scene *scene_new(void) {
    skel_scene *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    skel_bake_desc_init(&s->bake);

    /* Defaults of the document. */
    s->bake.sample_rate = 24.0;
    s->bake.tolerance = 1e-8;
    s->frame_start = 1;
    s->frame_end = 250;
    s->bake.sample_count = 250;
    scene_ik_init(&s->ik);
    return s;
}

void *scene_keep(scene_reader *r, skel_scene *s, size_t count, size_t size) {
    void *memory = doc_blocks_alloc(&s->blocks, count, size);
    if (!memory) r->doc.no_memory = true;
    return memory;
}

static void read_json(scene_reader *r, skel_scene *s) {
    const json_value *format = json_member(r->doc.root, "format");
    if (json_is_string(format) && strcmp(format->text, "skel-dh/1") == 0) {
        robot_read_dh(&r->doc, r->doc.root, s);
        return;
    }

    read_scene(r, s);
    if (r->doc.error_count > 0 || r->doc.no_memory) return;
    make_model(r, s);
    if (r->doc.error_count > 0 || r->doc.no_memory) return;

    /* Names of joints and bodies are found in the model. */
    const doc_at at = {&r->root, "robot", -1, json_member(r->doc.root, "robot")};
    robot_read_robot(&r->doc, &at, s);
}

/* A document as the caller gives it: a text, or values. */
typedef struct scene_source {
    const char *text;
    size_t length;
    const skel_value *values; /* NULL: it is a text */
    uint32_t count;
    uint32_t stride;
} scene_source;

/* A text of any kind, which its first bytes tell. */
static void read_text(scene_reader *r, const char *text, size_t length, skel_scene *s) {
    document *doc = &r->doc;
    const char *foreign = doc_foreign_bytes(text, length);
    if (foreign) {
        if (doc_start(doc)) robot_note(doc, SKEL_E_DOCUMENT, "document: %s", foreign);
        return;
    }

    const doc_kind kind = doc_kind_of(text, length);
    if (kind == DOC_KIND_JSON) {
        if (doc_open(doc, text, length) && s) read_json(r, s);
        return;
    }
    if (!doc_start(doc) || !s) return;
    if (kind == DOC_KIND_URDF)
        robot_read_urdf(doc, text, length, s);
    else
        robot_read_dh_csv(doc, text, length, s);
}

/* NULL: the document has errors. The problems are in r->doc, sorted; the caller closes it. */
static skel_scene *read_document(scene_reader *r, const scene_source *from) {
    *r = (scene_reader){0};
    r->gravity[2] = -9.81;
    skel_scene *s = scene_new();
    if (!from->values)
        read_text(r, from->text, from->length, s);
    else if (doc_open_values(&r->doc, from->values, from->count, from->stride) && s)
        read_json(r, s);

    if (r->doc.problems) doc_sort(&r->doc);
    if (!s) r->doc.no_memory = true;
    if (s && r->doc.error_count == 0 && !r->doc.no_memory) return s;
    skel_scene_destroy(s);
    return NULL;
}

/* ---- public -------------------------------------------------------------------------------- */

static skel_status create_scene(const scene_source *from, skel_scene **out, skel_error *err) {
    const doc_locale locale = doc_locale_enter();
    scene_reader r;
    *out = read_document(&r, from);
    const skel_status status = doc_result(&r.doc, err);
    doc_close(&r.doc);
    doc_locale_leave(locale);
    return status;
}

skel_status skel_scene_parse(const char *json, size_t length, skel_scene **out, skel_error *err) {
    if (out) *out = NULL;
    if (!json || !out) {
        doc_error_fill(err, SKEL_E_ARGUMENT, -1, -1, "skel_scene_parse: json or out is NULL");
        return SKEL_E_ARGUMENT;
    }
    return create_scene(&(scene_source){.text = json, .length = length}, out, err);
}

skel_status skel_scene_create(const skel_value *values, uint32_t count, uint32_t stride,
                              skel_scene **out, skel_error *err) {
    if (out) *out = NULL;
    if (!values || !out || stride < sizeof *values) {
        doc_error_fill(err, SKEL_E_ARGUMENT, -1, -1,
                       "skel_scene_create: values or out is NULL, or stride is too small");
        return SKEL_E_ARGUMENT;
    }
    return create_scene(&(scene_source){.values = values, .count = count, .stride = stride}, out,
                        err);
}

skel_status scene_give_readable(const text_buffer *t, const char *what, char *text, size_t capacity,
                                size_t *needed, skel_error *err) {
    skel_error why;
    skel_scene *scene = NULL;
    skel_error_init(&why);
    if (t->failed) return SKEL_E_MEMORY;

    const skel_status status = skel_scene_parse(text_get(t), t->length, &scene, &why);
    skel_scene_destroy(scene);
    if (status == SKEL_OK) return text_give(t, text, capacity, needed);
    if (status == SKEL_E_MEMORY) return status;
    return doc_error_say(err, SKEL_E_DOCUMENT,
                         "%s is not written, because it could not be read again: %s; change the "
                         "numbers that cause this",
                         what, why.text);
}

void skel_scene_destroy(skel_scene *scene) {
    if (!scene) return;
    skel_model_destroy(scene->model);
    doc_blocks_free(&scene->blocks);
    robot_free(scene->robot);
    free(scene->wobbles);
    free(scene);
}

static void list_problems(const document *doc, text_buffer *text) {
    for (int32_t i = 0; i < doc->problem_count; ++i) {
        const doc_problem *p = &doc->problems[i];
        text_addf(text, "%s: %s\n", p->status == SKEL_OK ? "warning" : "error", p->text);
    }
    if (doc->error_count >= DOC_MAX_ERRORS)
        text_addf(text, "error: document: only the first %d errors are shown\n", DOC_MAX_ERRORS);
    if (doc->no_memory) text_add(text, "error: document: out of memory\n");
}

skel_status skel_scene_check(const char *json, size_t length, char *text, size_t capacity,
                             size_t *needed) {
    if (!json || (!text && capacity > 0)) return SKEL_E_ARGUMENT;
    const doc_locale locale = doc_locale_enter();
    scene_reader r;
    text_buffer lines = {0};
    skel_scene *scene = read_document(&r, &(scene_source){.text = json, .length = length});
    skel_status status = doc_result(&r.doc, NULL);

    list_problems(&r.doc, &lines);
    if (lines.failed) status = SKEL_E_MEMORY;
    if (capacity > 0) snprintf(text, capacity, "%s", text_get(&lines));
    if (needed) *needed = lines.length;

    text_free(&lines);
    skel_scene_destroy(scene);
    doc_close(&r.doc);
    doc_locale_leave(locale);
    return status;
}

const skel_model *skel_scene_model(const skel_scene *scene) {
    return scene ? scene->model : NULL;
}

const char *skel_scene_name(const skel_scene *scene) {
    return scene ? scene->name : "";
}

skel_status skel_scene_bake_start(const skel_scene *scene, skel_bake **out, skel_error *err) {
    return skel_bake_start(scene ? &scene->bake : NULL, out, err);
}

skel_status skel_scene_get_bake_desc(const skel_scene *scene, skel_bake_desc *desc) {
    if (!scene || !desc) return SKEL_E_ARGUMENT;
    const uint32_t size = desc->struct_size;
    if (size < sizeof *desc) return SKEL_E_STRUCT_SIZE;
    *desc = scene->bake;
    desc->struct_size = size;
    return SKEL_OK;
}

double skel_scene_fps(const skel_scene *scene) {
    return scene ? scene->bake.sample_rate : 0.0;
}

int32_t skel_scene_frame_start(const skel_scene *scene) {
    return scene ? scene->frame_start : 0;
}

int32_t skel_scene_frame_end(const skel_scene *scene) {
    return scene ? scene->frame_end : 0;
}
