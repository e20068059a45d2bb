/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the documents skel-track/1 and skel-pose/1 for a model: bodies are found by name, poses are
   stored in the order of the model. Velocities and joint coordinates follow from the poses, so only
   their form is checked. */
#include "scene/scene.h"

#include <skel/skel_track.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACK_FORMAT "skel-track/1"
#define POSE_FORMAT "skel-pose/1"

struct skel_track {
    int32_t frame_count, frame_start;
    double fps;
    double *poses;
};

enum { T_FORMAT, T_FPS, T_START, T_BODIES, T_POSITION, T_ORIENTATION, T_VELOCITY, T_ANGULAR, T_Q };
static const doc_field k_track[] = {
    {"format"},   {"fps"},         {"frame_start"}, {"bodies"},
    {"position"}, {"orientation"}, {"velocity"},    {"angular_velocity"},
    {"q"},        {"report"},      {"receipts"},    {"ik"},
    {NULL}};

enum { P_FORMAT, P_NAMES, P_POSITION, P_ORIENTATION };
static const doc_field k_pose[] = {{"format"}, {"names"},  {"position"}, {"orientation"},
                                   {"tool"},   {"frames"}, {NULL}};

typedef struct reader {
    document doc;
    doc_at root;
    const skel_model *model;
    int32_t body_count;
    name_table names; /* bodies of the model */
    int32_t *column;  /* (body_count) index in the model of each body of the document */
    skel_track *track;
} reader;

/* ---- bodies ---- */

static const char *body_name(const void *user, int32_t i) {
    const reader *r = user;
    return i < r->body_count ? skel_model_body_name(r->model, i) : NULL;
}

static void read_name(reader *r, const doc_at *at, int32_t i, bool *seen) {
    const char *name;
    char hint[96];
    if (!doc_name(&r->doc, at, &name)) return;

    const int32_t body = names_find(&r->names, name);
    if (body < 0) {
        doc_suggest(name, body_name, r, hint, sizeof hint);
        doc_error(&r->doc, at, "is '%.64s', which is not a body of the scene%s", name, hint);
    } else if (seen[body]) {
        doc_error(&r->doc, at, "is '%.64s', which is given twice", name);
    } else {
        seen[body] = true;
        r->column[i] = body;
    }
}

/* Reads the names of the bodies, which must be those of the model in any order. */
static bool read_names(reader *r, const doc_at *at) {
    int32_t n, i = 0;
    const json_value *c;
    const int32_t before = r->doc.error_count;
    bool *seen = doc_alloc(&r->doc, (size_t)r->body_count, sizeof *seen);
    r->column = doc_alloc(&r->doc, (size_t)r->body_count, sizeof *r->column);
    if (!seen || !r->column || !names_open(&r->doc, &r->names, r->body_count)) return false;
    for (int32_t b = 0; b < r->body_count; ++b)
        names_put(&r->names, skel_model_body_name(r->model, b), b);

    if (!doc_array(&r->doc, at, 1, SCENE_BODIES, "[name, ...]", &n)) return false;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        if (i < r->body_count)
            read_name(r, &item, i, seen);
        else if (i == r->body_count && r->doc.error_count == before)
            doc_error(&r->doc, at, "has %d names, must have the %d bodies of the scene", (int)n,
                      (int)r->body_count);
        ++i;
    }

    for (int32_t b = 0; b < r->body_count && r->doc.error_count == before; ++b)
        if (!seen[b])
            doc_error(&r->doc, at, "lacks '%.64s', must have all bodies of the scene",
                      skel_model_body_name(r->model, b));
    return r->doc.error_count == before;
}

/* ---- numbers ---- */

/* Reads one frame [body][width] into rows of 7 numbers; out NULL: only checks it. */
static bool read_frame(reader *r, const doc_at *at, int32_t width, double *out) {
    static const char *const must[] = {"", "", "", "[x, y, z]", "[w, x, y, z]"};
    int32_t n, i = 0;
    const json_value *c;
    bool good = true;
    char count[64];
    snprintf(count, sizeof count, "one %s for each of the %d bodies", must[width],
             (int)r->body_count);

    if (!doc_array(&r->doc, at, 0, SCENE_BODIES, count, &n)) return false;
    if (n != r->body_count) {
        doc_error(&r->doc, at, "has %d elements, must have %s", (int)n, count);
        return false;
    }

    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        double x[4];
        if (width == 4)
            good = doc_quaternion(&r->doc, &item, x) && good;
        else
            good = doc_vector(&r->doc, &item, width, must[width], x) && good;
        if (good && out) memcpy(out + 7 * (size_t)r->column[i], x, (size_t)width * sizeof *x);
        ++i;
    }
    return good;
}

/* Reads [frame][body][width]. *frames is the required number, or 0 for the first field, which sets
   it. */
static bool read_frames(reader *r, const doc_at *at, int32_t width, int32_t *frames, double *out) {
    int32_t n, i = 0;
    const json_value *c;
    bool good = true;
    if (!doc_array(&r->doc, at, 1, SCENE_FRAMES, "[frame, ...], at least one", &n)) return false;
    if (*frames && n != *frames) {
        doc_error(&r->doc, at, "has %d frames, must have %d as position has", (int)n, (int)*frames);
        return false;
    }
    *frames = n;

    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        double *row = out ? out + 7 * (size_t)i * (size_t)r->body_count : NULL;
        good = read_frame(r, &item, width, row) && good;
        if (r->doc.error_count >= DOC_MAX_ERRORS) break;
        ++i;
    }
    return good;
}

/* Checks [frame][n] with the same n in all frames. */
static void check_q(reader *r, const doc_at *at, int32_t frames) {
    int32_t n, i = 0, width = -1;
    const json_value *c, *x;
    if (!doc_array(&r->doc, at, 1, SCENE_FRAMES, "[frame, ...], at least one", &n)) return;
    if (n != frames)
        doc_error(&r->doc, at, "has %d frames, must have %d as position has", (int)n, (int)frames);

    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i++, c);
        int32_t k = 0, count;
        double unused;
        if (!doc_array(&r->doc, &item, 0, DOC_MAX_SAMPLES, "[number, ...]", &count)) return;
        if (width >= 0 && count != width) {
            doc_error(&r->doc, &item, "has %d numbers, must have %d as the frames before it",
                      (int)count, (int)width);
            return;
        }
        width = count;

        JSON_EACH(x, c) {
            const doc_at number = doc_element(&item, k++, x);
            if (!doc_number(&r->doc, &number, DOC_ANY, &unused)) return;
        }
    }
}

static bool create_poses(reader *r, int32_t frames) {
    const size_t count = 7 * (size_t)frames * (size_t)r->body_count;
    r->track->poses = calloc(count, sizeof *r->track->poses);
    r->track->frame_count = frames;
    if (!r->track->poses) r->doc.no_memory = true;
    return r->track->poses != NULL;
}

/* ---- documents ---- */

static void read_track(reader *r) {
    doc_field_list f;
    if (!doc_fields(&r->doc, &r->root, k_track, "a track", &f)) return;
    const doc_at fps = doc_member(&f, T_FPS), start = doc_member(&f, T_START);
    const doc_at bodies = doc_member(&f, T_BODIES), p = doc_member(&f, T_POSITION);
    const doc_at o = doc_member(&f, T_ORIENTATION), v = doc_member(&f, T_VELOCITY);
    const doc_at w = doc_member(&f, T_ANGULAR), q = doc_member(&f, T_Q);

    if (doc_need(&r->doc, &f, T_FPS, "a number > 0"))
        doc_number(&r->doc, &fps, DOC_POSITIVE, &r->track->fps);
    doc_integer(&r->doc, &start, &r->track->frame_start);
    const bool named = doc_need(&r->doc, &f, T_BODIES, "[name, ...]") && read_names(r, &bodies);
    const bool has_p = doc_need(&r->doc, &f, T_POSITION, "[frame][body][x, y, z]");
    const bool has_o = doc_need(&r->doc, &f, T_ORIENTATION, "[frame][body][w, x, y, z]");
    if (!named || !has_p || !has_o) return;

    /* The number of frames is that of `position`. */
    const int n = json_is_array(p.node) ? json_size(p.node) : 0;
    int32_t frames = 0;
    if ((double)n * r->body_count > SCENE_POSES) {
        doc_error(&r->doc, &p, "has %d frames of %d bodies, must have at most %.0f poses", n,
                  (int)r->body_count, SCENE_POSES);
        return;
    }

    if (n > 0 && !create_poses(r, n)) return;
    if (!read_frames(r, &p, 3, &frames, r->track->poses)) return;
    read_frames(r, &o, 4, &frames, r->track->poses + 3);
    read_frames(r, &v, 3, &frames, NULL);
    read_frames(r, &w, 3, &frames, NULL);
    check_q(r, &q, frames);
}

static void read_pose(reader *r) {
    doc_field_list f;
    if (!doc_fields(&r->doc, &r->root, k_pose, "a pose", &f)) return;
    const doc_at names = doc_member(&f, P_NAMES), p = doc_member(&f, P_POSITION);
    const doc_at o = doc_member(&f, P_ORIENTATION);
    const bool named = doc_need(&r->doc, &f, P_NAMES, "[name, ...]") && read_names(r, &names);
    const bool has_p = doc_need(&r->doc, &f, P_POSITION, "[body][x, y, z]");
    const bool has_o = doc_need(&r->doc, &f, P_ORIENTATION, "[body][w, x, y, z]");
    if (!named || !has_p || !has_o || !create_poses(r, 1)) return;
    read_frame(r, &p, 3, r->track->poses);
    read_frame(r, &o, 4, r->track->poses + 3);
}

/* The format decides which fields are allowed, so it is read before all other fields. */
static void read_document(reader *r) {
    const char *must = "\"" TRACK_FORMAT "\" or \"" POSE_FORMAT "\"";
    r->root = (doc_at){NULL, NULL, -1, r->doc.root};
    if (!json_is_object(r->doc.root)) {
        doc_wrong(&r->doc, &r->root, "an object");
        return;
    }

    const json_value *node = json_member(r->doc.root, "format");
    const doc_at at = {&r->root, "format", -1, node};
    const char *text = json_is_string(node) ? node->text : "";
    if (!node)
        doc_error(&r->doc, &at, "is missing, must be %s", must);
    else if (strcmp(text, TRACK_FORMAT) == 0)
        read_track(r);
    else if (strcmp(text, POSE_FORMAT) == 0)
        read_pose(r);
    else
        doc_wrong(&r->doc, &at, must);
}

/* ---- public ---- */

skel_status skel_track_parse(const char *json, size_t length, const skel_model *model,
                             skel_track **out, skel_error *err) {
    if (out) *out = NULL;
    if (!json || !model || !out) {
        doc_error_fill(err, SKEL_E_ARGUMENT, -1, -1, "skel_track_parse: an argument is NULL");
        return SKEL_E_ARGUMENT;
    }

    const doc_locale locale = doc_locale_enter();
    reader r = {.model = model, .body_count = skel_model_body_count(model)};
    r.track = calloc(1, sizeof *r.track);
    if (doc_open(&r.doc, json, length) && r.track) read_document(&r);
    if (!r.track) r.doc.no_memory = true;

    doc_sort(&r.doc);
    const skel_status status = doc_result(&r.doc, err);
    if (status == SKEL_OK)
        *out = r.track;
    else
        skel_track_destroy(r.track);

    doc_close(&r.doc);
    doc_locale_leave(locale);
    return status;
}

void skel_track_destroy(skel_track *track) {
    if (!track) return;
    free(track->poses);
    free(track);
}

int32_t skel_track_frame_count(const skel_track *track) {
    return track ? track->frame_count : 0;
}
int32_t skel_track_frame_start(const skel_track *track) {
    return track ? track->frame_start : 0;
}
double skel_track_fps(const skel_track *track) {
    return track ? track->fps : 0.0;
}
const double *skel_track_poses(const skel_track *track) {
    return track ? track->poses : NULL;
}
