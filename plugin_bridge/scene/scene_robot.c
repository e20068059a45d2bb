/* SPDX-License-Identifier: BSD-3-Clause */
/* `robot` of skel-scene/1: named frames, tool, named poses, drives, source. Only converted
   documents have it, so its angles are in rad for every angle_unit. Mimic joints are written with
   the joints. */
#include "robot/robot.h"

#include <skel/skel_robot.h>

#include <string.h>

#define ROBOT_FRAMES_MAX 100000
#define ROBOT_DRIVES_MAX 100000
#define ROBOT_POSES_MAX 10000
#define ROBOT_NOTES_MAX 1000

/* `mimic` is read with the joints (scene_mimic.c). */
enum { R_FRAMES, R_TOOL, R_POSES, R_MIMIC, R_DRIVES, R_SOURCE, R_NOTES };
static const doc_field k_robot[] = {{"frames"}, {"tool"},   {"poses"}, {"mimic"},
                                    {"drives"}, {"source"}, {"notes"}, {NULL}};

/* ---- reading --------------------------------------------------------------------------------- */

/* Index of the joint that the field names, or -2 and an error. */
static int32_t read_joint_name(document *doc, const doc_field_list *f, int index,
                               const skel_model *model) {
    const doc_at at = doc_member(f, index);
    const char *name = NULL;
    if (!doc_need(doc, f, index, "the name of a joint")) return -2;
    if (!doc_name(doc, &at, &name)) return -2;
    const int32_t joint = skel_model_find_joint(model, name);
    if (joint < 0) doc_wrong(doc, &at, "the name of a joint");
    return joint;
}

static void read_frame(document *doc, const doc_at *at, const skel_scene *s, robot_frame *out) {
    enum { F_NAME, F_BODY, F_POSITION, F_ORIENTATION };
    static const doc_field k_named_frame[] = {
        {"name"}, {"body"}, {"position"}, {"orientation"}, {NULL}};
    doc_field_list f;
    const char *name = NULL, *body = NULL;
    out->pose[3] = 1.0;
    if (!doc_fields(doc, at, k_named_frame, "a frame", &f)) return;

    const doc_at n = doc_member(&f, F_NAME);
    const doc_at b = doc_member(&f, F_BODY);
    const doc_at p = doc_member(&f, F_POSITION);
    const doc_at o = doc_member(&f, F_ORIENTATION);
    if (doc_need(doc, &f, F_NAME, "a name") && doc_name(doc, &n, &name))
        out->name = arena_string(&s->robot->arena, name);
    if (doc_need(doc, &f, F_BODY, "the name of a body or \"world\"") && doc_name(doc, &b, &body)) {
        out->body = skel_model_find_body(s->model, body);
        if (out->body < SKEL_WORLD) doc_wrong(doc, &b, "the name of a body or \"world\"");
    }
    doc_vector(doc, &p, 3, "[x, y, z]", out->pose);
    doc_quaternion(doc, &o, out->pose + 3);
}

static void read_frames(document *doc, const doc_at *at, skel_scene *s) {
    robot_data *r = s->robot;
    int32_t n = 0, i = 0;
    const json_value *c;
    if (!doc_array(doc, at, 0, ROBOT_FRAMES_MAX, "[frame, ...]", &n)) return;
    r->frames = arena_alloc(&r->arena, (size_t)n + 1, sizeof *r->frames);
    if (!r->frames) return;

    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        read_frame(doc, &item, s, &r->frames[i++]);
    }
    r->frame_count = n;
}

static void read_tool(document *doc, const doc_at *at, robot_data *r) {
    const char *name = NULL;
    if (!doc_name(doc, at, &name)) return;
    for (int32_t i = 0; i < r->frame_count && r->tool < 0; ++i)
        if (r->frames[i].name && strcmp(r->frames[i].name, name) == 0) r->tool = i;
    if (r->tool < 0) doc_wrong(doc, at, "the name of one of the frames");
}

/* One named pose: all joint coordinates of the model. */
static void read_pose(document *doc, const doc_at *at, int32_t q_count, double *q) {
    int32_t n = 0, i = 0;
    if (!doc_array(doc, at, 0, DOC_MAX_SAMPLES, "[number, ...]", &n)) return;
    if (n != q_count) {
        doc_error(doc, at, "has %d numbers, must have %d", (int)n, (int)q_count);
        return;
    }
    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at number = doc_element(at, i, c);
        doc_number(doc, &number, DOC_ANY, &q[i]);
        ++i;
    }
}

static void read_poses(document *doc, const doc_at *at, skel_scene *s) {
    robot_data *r = s->robot;
    const int32_t q_count = skel_model_q_count(s->model);
    if (!at->node) return;
    if (!json_is_object(at->node) || json_size(at->node) > ROBOT_POSES_MAX) {
        doc_wrong(doc, at, "an object of poses");
        return;
    }

    r->poses = arena_alloc(&r->arena, (size_t)json_size(at->node) + 1, sizeof *r->poses);
    for (const json_value *c = at->node->child; c && r->poses; c = c->next) {
        const doc_at item = {at, c->name, -1, c};
        robot_named_q *p = &r->poses[r->pose_count++];
        p->name = arena_string(&r->arena, c->name);
        p->q = arena_alloc(&r->arena, (size_t)q_count + 1, sizeof *p->q);
        if (p->q) read_pose(doc, &item, q_count, p->q);
    }
}

/* One element of `drives`; out has one drive per joint. */
static void read_drive(document *doc, const doc_at *at, const skel_model *model, robot_drive *out) {
    enum { D_JOINT, D_VELOCITY, D_EFFORT };
    static const doc_field k_drive[] = {{"joint"}, {"velocity"}, {"effort"}, {NULL}};
    doc_field_list f;
    if (!doc_fields(doc, at, k_drive, "a drive", &f)) return;

    const int32_t joint = read_joint_name(doc, &f, D_JOINT, model);
    const doc_at velocity = doc_member(&f, D_VELOCITY);
    const doc_at effort = doc_member(&f, D_EFFORT);
    if (joint < 0) return;
    doc_number(doc, &velocity, DOC_NOT_NEGATIVE, &out[joint].velocity);
    doc_number(doc, &effort, DOC_NOT_NEGATIVE, &out[joint].effort);
}

static void read_drives(document *doc, const doc_at *at, skel_scene *s) {
    robot_data *r = s->robot;
    const size_t joints = (size_t)skel_model_joint_count(s->model);
    int32_t n = 0, i = 0;
    if (!doc_array(doc, at, 0, ROBOT_DRIVES_MAX, "[drive, ...]", &n)) return;
    r->drives = arena_alloc(&r->arena, joints + 1, sizeof *r->drives);
    if (!r->drives) return;

    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        read_drive(doc, &item, s->model, r->drives);
        ++i;
    }
}

void robot_read_words(document *doc, const doc_at *source, const doc_at *notes, robot_data *r) {
    int32_t n = 0, i = 0;
    const json_value *c;
    if (source->node && json_is_string(source->node))
        r->source = arena_string(&r->arena, source->node->text);
    else if (source->node)
        doc_wrong(doc, source, "a string");

    if (!doc_array(doc, notes, 0, ROBOT_NOTES_MAX, "[string, ...]", &n)) return;
    r->notes = arena_alloc(&r->arena, (size_t)n + 1, sizeof *r->notes);
    JSON_EACH(c, notes->node) {
        const doc_at item = doc_element(notes, i++, c);
        if (!json_is_string(c))
            doc_wrong(doc, &item, "a string");
        else if (r->notes)
            r->notes[r->note_count++] = arena_string(&r->arena, c->text);
    }
}

void robot_read_robot(document *doc, const doc_at *at, skel_scene *s) {
    doc_field_list f;
    if (!at->node || !doc_fields(doc, at, k_robot, "a robot", &f)) return;
    if (!robot_new(s)) {
        doc->no_memory = true;
        return;
    }

    const doc_at frames = doc_member(&f, R_FRAMES);
    const doc_at tool = doc_member(&f, R_TOOL);
    const doc_at poses = doc_member(&f, R_POSES);
    const doc_at drives = doc_member(&f, R_DRIVES);
    const doc_at source = doc_member(&f, R_SOURCE);
    const doc_at notes = doc_member(&f, R_NOTES);
    read_frames(doc, &frames, s);
    read_tool(doc, &tool, s->robot);
    read_poses(doc, &poses, s);
    read_drives(doc, &drives, s);
    robot_read_words(doc, &source, &notes, s->robot);
    if (s->robot->arena.failed) doc->no_memory = true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_frames(text_buffer *t, const skel_scene *s) {
    const robot_data *r = s->robot;
    for (int32_t i = 0; i < r->frame_count; ++i) {
        const robot_frame *f = &r->frames[i];
        text_add(t, i ? ",\n      {\"name\": " : "\n    \"frames\": [\n      {\"name\": ");
        text_string(t, f->name);
        text_add(t, ", \"body\": ");
        text_string(t, f->body < 0 ? "world" : skel_model_body_name(s->model, f->body));
        text_add(t, ", \"position\": ");
        text_numbers(t, f->pose, 3);
        text_add(t, ", \"orientation\": ");
        text_numbers(t, f->pose + 3, 4);
        text_add(t, "}");
    }
    text_add(t, r->frame_count ? "]" : "\n    \"frames\": []");

    if (r->tool < 0) return;
    text_add(t, ",\n    \"tool\": ");
    text_string(t, r->frames[r->tool].name);
}

static void put_poses(text_buffer *t, const skel_scene *s) {
    const robot_data *r = s->robot;
    const size_t nq = (size_t)skel_model_q_count(s->model);
    for (int32_t i = 0; i < r->pose_count; ++i) {
        text_add(t, i ? ",\n      " : ",\n    \"poses\": {\n      ");
        text_string(t, r->poses[i].name);
        text_add(t, ": ");
        text_numbers(t, r->poses[i].q, nq);
    }
    if (r->pose_count) text_add(t, "}");
}

static void put_drives(text_buffer *t, const skel_scene *s) {
    const robot_data *r = s->robot;
    int32_t some = 0;
    for (int32_t j = 0; r->drives && j < skel_model_joint_count(s->model); ++j) {
        const robot_drive *d = &r->drives[j];
        if (!(d->velocity > 0.0) && !(d->effort > 0.0)) continue;
        text_add(t, some++ ? ",\n      {\"joint\": " : ",\n    \"drives\": [\n      {\"joint\": ");
        text_string(t, skel_model_joint_name(s->model, j));
        text_add(t, ", \"velocity\": ");
        text_number(t, d->velocity);
        text_add(t, ", \"effort\": ");
        text_number(t, d->effort);
        text_add(t, "}");
    }
    if (some) text_add(t, "]");
}

void robot_put_words(text_buffer *t, const char *indent, const robot_data *r) {
    if (r->source) {
        text_addf(t, ",\n%s\"source\": ", indent);
        text_string(t, r->source);
    }
    for (int32_t i = 0; i < r->note_count; ++i) {
        if (i)
            text_addf(t, ",\n%s  ", indent);
        else
            text_addf(t, ",\n%s\"notes\": [\n%s  ", indent, indent);
        text_string(t, r->notes[i]);
    }
    if (r->note_count) text_add(t, "]");
}

void robot_put_robot(text_buffer *t, const skel_scene *s) {
    if (!s->robot) return;
    text_add(t, "  \"robot\": {");
    put_frames(t, s);
    put_poses(t, s);
    put_drives(t, s);
    robot_put_words(t, "    ", s->robot);
    text_add(t, "},\n");
}
