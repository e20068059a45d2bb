/* SPDX-License-Identifier: BSD-3-Clause */
/* `robot` of skel-scene/1: named frames, tool, named poses, drives, where it is from. Joints that
   mimic others are written with the joints.
   Angles are in rad whatever angle_unit says: only built and converted scenes have it. */
#include "robot/robot.h"

#include <skel/skel_robot.h>

#include <string.h>

#define MAX_FRAMES 100000
#define MAX_POSES 10000
#define MAX_NOTES 1000

/* `mimic` is read with the joints (scene_mimic.c). */
enum { R_FRAMES, R_TOOL, R_POSES, R_MIMIC, R_DRIVES, R_SOURCE, R_NOTES };
static const skel__field k_robot[] = {{"frames"}, {"tool"},   {"poses"}, {"mimic"},
                                      {"drives"}, {"source"}, {"notes"}, {NULL}};

/* ---- reading --------------------------------------------------------------------------------- */

/* A name that the model knows, or the index -2 and a problem. */
static int32_t read_joint_name(skel__doc *doc, const skel__fields *f, int index,
                               const skel_model *model) {
    const skel__at at   = skel__doc_member(f, index);
    const char    *name = NULL;
    if (!skel__doc_need(doc, f, index, "the name of a joint")) return -2;
    if (!skel__doc_name(doc, &at, &name)) return -2;
    const int32_t joint = skel_model_find_joint(model, name);
    if (joint < 0) skel__doc_wrong(doc, &at, "the name of a joint");
    return joint;
}

static void read_frame(skel__doc *doc, const skel__at *at, const skel_scene *s, skel__frame *out) {
    enum { F_NAME, F_BODY, F_POSITION, F_ORIENTATION };
    static const skel__field table[] = {{"name"}, {"body"}, {"position"}, {"orientation"}, {NULL}};
    skel__fields             f;
    const char              *name = NULL, *body = NULL;
    out->pose[3] = 1.0;
    if (!skel__doc_fields(doc, at, table, "a frame", &f)) return;
    const skel__at n = skel__doc_member(&f, F_NAME), b = skel__doc_member(&f, F_BODY);
    const skel__at p = skel__doc_member(&f, F_POSITION), o = skel__doc_member(&f, F_ORIENTATION);
    if (skel__doc_need(doc, &f, F_NAME, "a name") && skel__doc_name(doc, &n, &name))
        out->name = skel__arena_string(&s->robot->arena, name);
    if (skel__doc_need(doc, &f, F_BODY, "the name of a body or \"world\"") &&
        skel__doc_name(doc, &b, &body)) {
        out->body = skel_model_find_body(s->model, body);
        if (out->body < SKEL_WORLD) skel__doc_wrong(doc, &b, "the name of a body or \"world\"");
    }
    skel__doc_vector(doc, &p, 3, "[x, y, z]", out->pose);
    skel__doc_quaternion(doc, &o, out->pose + 3);
}

static void read_frames(skel__doc *doc, const skel__at *at, skel_scene *s) {
    skel__robot      *r = s->robot;
    int32_t           n = 0, i = 0;
    const skel__json *c;
    if (!skel__doc_array(doc, at, 0, MAX_FRAMES, "[frame, ...]", &n)) return;
    r->frames = skel__arena_alloc(&r->arena, (size_t)n + 1, sizeof *r->frames);
    if (!r->frames) return;
    SKEL__JSON_EACH(c, at->node) {
        const skel__at item = skel__doc_element(at, i, c);
        read_frame(doc, &item, s, &r->frames[i++]);
    }
    r->frame_count = n;
}

static void read_tool(skel__doc *doc, const skel__at *at, skel__robot *r) {
    const char *name = NULL;
    if (!skel__doc_name(doc, at, &name)) return;
    for (int32_t i = 0; i < r->frame_count && r->tool < 0; ++i)
        if (r->frames[i].name && strcmp(r->frames[i].name, name) == 0) r->tool = i;
    if (r->tool < 0) skel__doc_wrong(doc, at, "the name of one of the frames");
}

static void read_poses(skel__doc *doc, const skel__at *at, skel_scene *s) {
    skel__robot  *r  = s->robot;
    const int32_t nq = skel_model_q_count(s->model);
    if (!at->node) return;
    if (!skel__json_is_object(at->node) || skel__json_size(at->node) > MAX_POSES) {
        skel__doc_wrong(doc, at, "an object of poses");
        return;
    }
    r->poses =
        skel__arena_alloc(&r->arena, (size_t)skel__json_size(at->node) + 1, sizeof *r->poses);
    for (const skel__json *c = at->node->child; c && r->poses; c = c->next) {
        const skel__at item = {at, c->name, -1, c};
        skel__named_q *p    = &r->poses[r->pose_count++];
        int32_t        n = 0, i = 0;
        p->name = skel__arena_string(&r->arena, c->name);
        p->q    = skel__arena_alloc(&r->arena, (size_t)nq + 1, sizeof *p->q);
        if (!p->q || !skel__doc_array(doc, &item, 0, 1000000, "[number, ...]", &n)) continue;
        if (n != nq) skel__doc_error(doc, &item, "has %d numbers, must have %d", (int)n, (int)nq);
        for (const skel__json *e = c->child; e && n == nq; e = e->next, ++i) {
            const skel__at number = skel__doc_element(&item, i, e);
            skel__doc_number(doc, &number, SKEL__ANY, &p->q[i]);
        }
    }
}

static void read_drives(skel__doc *doc, const skel__at *at, skel_scene *s) {
    enum { D_JOINT, D_VELOCITY, D_EFFORT };
    static const skel__field table[] = {{"joint"}, {"velocity"}, {"effort"}, {NULL}};
    skel__robot             *r       = s->robot;
    int32_t                  n = 0, i = 0;
    const skel__json        *c;
    if (!skel__doc_array(doc, at, 0, MAX_FRAMES, "[drive, ...]", &n)) return;
    r->drives = skel__arena_alloc(&r->arena, (size_t)skel_model_joint_count(s->model) + 1,
                                  sizeof *r->drives);
    SKEL__JSON_EACH(c, at->node) {
        const skel__at item = skel__doc_element(at, i++, c);
        skel__fields   f;
        if (!r->drives || !skel__doc_fields(doc, &item, table, "a drive", &f)) return;
        const int32_t  joint    = read_joint_name(doc, &f, D_JOINT, s->model);
        const skel__at velocity = skel__doc_member(&f, D_VELOCITY);
        const skel__at effort   = skel__doc_member(&f, D_EFFORT);
        if (joint < 0) continue;
        skel__doc_number(doc, &velocity, SKEL__NOT_NEGATIVE, &r->drives[joint].velocity);
        skel__doc_number(doc, &effort, SKEL__NOT_NEGATIVE, &r->drives[joint].effort);
    }
}

void skel__read_words(skel__doc *doc, const skel__at *source, const skel__at *notes,
                      skel__robot *r) {
    int32_t           n = 0, i = 0;
    const skel__json *c;
    if (source->node && skel__json_is_string(source->node))
        r->source = skel__arena_string(&r->arena, source->node->text);
    else if (source->node)
        skel__doc_wrong(doc, source, "a string");
    if (!skel__doc_array(doc, notes, 0, MAX_NOTES, "[string, ...]", &n)) return;
    r->notes = skel__arena_alloc(&r->arena, (size_t)n + 1, sizeof *r->notes);
    SKEL__JSON_EACH(c, notes->node) {
        const skel__at item = skel__doc_element(notes, i++, c);
        if (!skel__json_is_string(c))
            skel__doc_wrong(doc, &item, "a string");
        else if (r->notes)
            r->notes[r->note_count++] = skel__arena_string(&r->arena, c->text);
    }
}

void skel__read_robot(skel__doc *doc, const skel__at *at, skel_scene *s) {
    skel__fields f;
    if (!at->node || !skel__doc_fields(doc, at, k_robot, "a robot", &f)) return;
    if (!skel__robot_new(s)) {
        doc->no_memory = true;
        return;
    }
    const skel__at frames = skel__doc_member(&f, R_FRAMES), tool = skel__doc_member(&f, R_TOOL);
    const skel__at poses  = skel__doc_member(&f, R_POSES);
    const skel__at drives = skel__doc_member(&f, R_DRIVES);
    const skel__at source = skel__doc_member(&f, R_SOURCE), notes = skel__doc_member(&f, R_NOTES);
    read_frames(doc, &frames, s);
    read_tool(doc, &tool, s->robot);
    read_poses(doc, &poses, s);
    read_drives(doc, &drives, s);
    skel__read_words(doc, &source, &notes, s->robot);
    if (s->robot->arena.failed) doc->no_memory = true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_frames(skel__text *t, const skel_scene *s) {
    const skel__robot *r = s->robot;
    for (int32_t i = 0; i < r->frame_count; ++i) {
        const skel__frame *f = &r->frames[i];
        skel__text_add(t, i ? ",\n      {\"name\": " : "\n    \"frames\": [\n      {\"name\": ");
        skel__text_string(t, f->name);
        skel__text_add(t, ", \"body\": ");
        skel__text_string(t, f->body < 0 ? "world" : skel_model_body_name(s->model, f->body));
        skel__text_add(t, ", \"position\": ");
        skel__text_numbers(t, f->pose, 3);
        skel__text_add(t, ", \"orientation\": ");
        skel__text_numbers(t, f->pose + 3, 4);
        skel__text_add(t, "}");
    }
    skel__text_add(t, r->frame_count ? "]" : "\n    \"frames\": []");
    if (r->tool < 0) return;
    skel__text_add(t, ",\n    \"tool\": ");
    skel__text_string(t, r->frames[r->tool].name);
}

static void put_poses(skel__text *t, const skel_scene *s) {
    const skel__robot *r  = s->robot;
    const size_t       nq = (size_t)skel_model_q_count(s->model);
    for (int32_t i = 0; i < r->pose_count; ++i) {
        skel__text_add(t, i ? ",\n      " : ",\n    \"poses\": {\n      ");
        skel__text_string(t, r->poses[i].name);
        skel__text_add(t, ": ");
        skel__text_numbers(t, r->poses[i].q, nq);
    }
    if (r->pose_count) skel__text_add(t, "}");
}

static void put_drives(skel__text *t, const skel_scene *s) {
    const skel__robot *r    = s->robot;
    int32_t            some = 0;
    for (int32_t j = 0; r->drives && j < skel_model_joint_count(s->model); ++j) {
        const skel__drive *d = &r->drives[j];
        if (!(d->velocity > 0.0) && !(d->effort > 0.0)) continue;
        skel__text_add(t, some++ ? ",\n      {\"joint\": "
                                 : ",\n    \"drives\": [\n      {\"joint\": ");
        skel__text_string(t, skel_model_joint_name(s->model, j));
        skel__text_add(t, ", \"velocity\": ");
        skel__text_number(t, d->velocity);
        skel__text_add(t, ", \"effort\": ");
        skel__text_number(t, d->effort);
        skel__text_add(t, "}");
    }
    if (some) skel__text_add(t, "]");
}

void skel__put_words(skel__text *t, const char *indent, const skel__robot *r) {
    if (r->source) {
        skel__text_addf(t, ",\n%s\"source\": ", indent);
        skel__text_string(t, r->source);
    }
    for (int32_t i = 0; i < r->note_count; ++i) {
        if (i)
            skel__text_addf(t, ",\n%s  ", indent);
        else
            skel__text_addf(t, ",\n%s\"notes\": [\n%s  ", indent, indent);
        skel__text_string(t, r->notes[i]);
    }
    if (r->note_count) skel__text_add(t, "]");
}

void skel__put_robot(skel__text *t, const skel_scene *s) {
    if (!s->robot) return;
    skel__text_add(t, "  \"robot\": {");
    put_frames(t, s);
    put_poses(t, s);
    put_drives(t, s);
    skel__put_words(t, "    ", s->robot);
    skel__text_add(t, "},\n");
}
