/* SPDX-License-Identifier: BSD-3-Clause */
/* `goals` of skel-scene/1: the targets of inverse kinematics. The name of the target decides the
   kind of a goal, and the kind decides which other fields the goal has. */
#include "scene/scene.h"

#include <stdio.h>
#include <string.h>

#define GOAL_POSITION_MUST "[x, y, z] or one per frame"
#define GOAL_ORIENTATION_MUST "[w, x, y, z] or one per frame"

/* Fields of every kind. */
#define COMMON_FIELDS                                                                              \
    {"name"}, {"body"}, {"weight"}, {"priority"}, {"relative_to"}, {"joints"}, {                   \
        "chain"                                                                                    \
    }
enum { G_NAME, G_BODY, G_WEIGHT, G_PRIORITY, G_RELATIVE, G_JOINTS, G_CHAIN, G_TARGET, G_OWN };

/* After the common fields comes the target, then the fields of this kind only. */
enum { P_ORIENTATION = G_OWN, P_POINT, P_AXES, P_FRAME };
static const doc_field k_place[] = {COMMON_FIELDS, {"position"}, {"orientation"}, {"point"},
                                    {"axes"},      {"frame"},    {NULL}};
enum { A_POINT = G_OWN, A_AXIS };
static const doc_field k_aim[] = {COMMON_FIELDS, {"look_at"}, {"point"}, {"axis"}, {NULL}};
enum { L_POINT = G_OWN, L_FROM, L_TO, L_FROM_POINT, L_TO_POINT };
static const doc_field k_pole[] = {COMMON_FIELDS, {"pole"},       {"point"},    {"from"},
                                   {"to"},        {"from_point"}, {"to_point"}, {NULL}};
enum { C_AXES = G_OWN };
static const doc_field k_centre[] = {COMMON_FIELDS, {"centre_of_mass"}, {"axes"}, {NULL}};
static const doc_field k_any[] = {COMMON_FIELDS,  {"position"},       {"orientation"}, {"look_at"},
                                  {"pole"},       {"centre_of_mass"}, {"point"},       {"axes"},
                                  {"frame"},      {"axis"},           {"from"},        {"to"},
                                  {"from_point"}, {"to_point"},       {NULL}};

/* State of reading the list. */
typedef struct goals {
    scene_reader *r;
    skel_scene *s;
    scene_ik_note *note;
    int32_t frames; /* length of the lists with one value per frame; 0: none so far */
    char first[64]; /* path of the first such list */
} goals;

/* ---- targets -------------------------------------------------------------------------------- */

static bool read_value(document *doc, const doc_at *at, int32_t width, const char *must,
                       double *out) {
    if (width == 1) return doc_number(doc, at, DOC_NOT_NEGATIVE, out);
    if (width == 4) return doc_quaternion(doc, at, out);
    return doc_vector(doc, at, 3, must, out);
}

/* All lists with one value per frame have the same length, which is the number of frames. */
static bool same_length(goals *g, const doc_at *at, int32_t n) {
    if (g->frames == 0) {
        g->frames = n;
        snprintf(g->first, sizeof g->first, "goals[%d].%s", (int)at->up->index, at->name);
    }
    if (n == g->frames) return true;
    doc_error(&g->r->doc, at, "has %d frames, must have %d as %s has", (int)n, (int)g->frames,
              g->first);
    return false;
}

/* One value per frame. The scene owns the samples; *count stays 0 after an error. */
static void read_frames(goals *g, const doc_at *at, int32_t width, const double **samples,
                        uint32_t *count) {
    static const char *const must[] = {"", "", "", "[x, y, z]", ""};
    document *doc = &g->r->doc;
    int32_t n = 0, i = 0;
    bool good = true;
    if (!doc_array(doc, at, 1, SCENE_FRAMES, "a value per frame", &n)) return;
    if (!same_length(g, at, n)) return;
    double *x = scene_keep(g->r, g->s, (size_t)n * (size_t)width, sizeof *x);
    if (!x) return;

    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        good = read_value(doc, &item, width, must[width], x + (size_t)i * (size_t)width) && good;
        if (doc->error_count >= DOC_MAX_ERRORS) return;
        ++i;
    }
    if (!good) return;
    *samples = x;
    *count = (uint32_t)n;
}

static bool holds_arrays(const json_value *array) {
    for (const json_value *c = array->child; c; c = c->next)
        if (json_is_array(c)) return true;
    return false;
}

/* One value for all frames, or a list with one value per frame. An array of numbers is a list if
   width is 1; an array of arrays is a list if width is 3 or 4. */
static void read_target(goals *g, const doc_at *at, int32_t width, const char *must,
                        double *constant, const double **samples, uint32_t *count) {
    const json_value *node = at->node;
    if (!node) return;

    const bool is_array = json_is_array(node);
    const bool is_list = is_array && (width == 1 || holds_arrays(node));
    const bool is_number = width == 1 && json_is_number(node);
    const bool is_quaternion = width == 4 && is_array && json_size(node) == 4;
    if (is_list)
        read_frames(g, at, width, samples, count);
    else if (width == 3 || is_number || is_quaternion)
        read_value(&g->r->doc, at, width, must, constant);
    else
        doc_wrong(&g->r->doc, at, must);
}

static void read_place(goals *g, const doc_at *at, skel_goal_desc *d, skel_goal_track *t) {
    read_target(g, at, 3, GOAL_POSITION_MUST, d->position, &t->positions, &t->position_count);
}

/* ---- parts of a goal ------------------------------------------------------------------------ */

/* The components of the position that count, such as "xy". */
static void read_axes(document *doc, const doc_at *at, uint32_t *parts) {
    uint32_t seen = 0;
    if (!at->node) return;

    /* Stops at a letter that is unknown or repeated. */
    const char *c = json_is_string(at->node) ? at->node->text : "";
    for (; *c >= 'x' && *c <= 'z' && !(seen & 1u << (*c - 'x')); ++c) seen |= 1u << (*c - 'x');

    if (*c || seen == 0)
        doc_wrong(doc, at, "some letters of \"xyz\", each once");
    else
        *parts = (*parts & ~(uint32_t)SKEL_GOAL_POSITION) | seen;
}

static void read_own_place(goals *g, const doc_field_list *f, skel_goal_desc *d,
                           skel_goal_track *t) {
    document *doc = &g->r->doc;
    const doc_at position = doc_member(f, G_TARGET);
    const doc_at orientation = doc_member(f, P_ORIENTATION);
    d->parts = 0u;
    if (position.node) d->parts |= (uint32_t)SKEL_GOAL_POSITION;
    if (orientation.node) d->parts |= (uint32_t)SKEL_GOAL_ORIENTATION;
    read_place(g, &position, d, t);
    read_target(g, &orientation, 4, GOAL_ORIENTATION_MUST, d->orientation, &t->orientations,
                &t->orientation_count);

    const doc_at point = doc_member(f, P_POINT);
    const doc_at frame = doc_member(f, P_FRAME);
    doc_vector(doc, &point, 3, "[x, y, z]", d->point);
    doc_quaternion(doc, &frame, d->frame);
    if (frame.node && !orientation.node) doc_error(doc, &frame, "must come with orientation");

    const doc_at axes = doc_member(f, P_AXES);
    if (axes.node && !position.node)
        doc_error(doc, &axes, "must come with position");
    else
        read_axes(doc, &axes, &d->parts);
}

static void read_own_aim(goals *g, const doc_field_list *f, skel_goal_desc *d, skel_goal_track *t) {
    const doc_at target = doc_member(f, G_TARGET);
    const doc_at point = doc_member(f, A_POINT);
    const doc_at axis = doc_member(f, A_AXIS);
    read_place(g, &target, d, t);
    doc_vector(&g->r->doc, &point, 3, "[x, y, z]", d->point);
    scene_read_axis(&g->r->doc, &axis, d->axis);
}

static void read_own_pole(goals *g, const doc_field_list *f, skel_goal_desc *d,
                          skel_goal_track *t) {
    static const char must[] = "the name of a body or \"world\"";
    document *doc = &g->r->doc;
    const doc_at target = doc_member(f, G_TARGET);
    const doc_at point = doc_member(f, L_POINT);
    read_place(g, &target, d, t);
    doc_vector(doc, &point, 3, "[x, y, z]", d->point);

    /* The two ends of the line. */
    const doc_at from = doc_member(f, L_FROM);
    const doc_at from_point = doc_member(f, L_FROM_POINT);
    if (doc_need(doc, f, L_FROM, must)) scene_read_body_name(g->r, &from, &d->from);
    doc_vector(doc, &from_point, 3, "[x, y, z]", d->from_point);

    const doc_at to = doc_member(f, L_TO);
    const doc_at to_point = doc_member(f, L_TO_POINT);
    if (doc_need(doc, f, L_TO, must)) scene_read_body_name(g->r, &to, &d->to);
    doc_vector(doc, &to_point, 3, "[x, y, z]", d->to_point);
}

static void read_own_centre(goals *g, const doc_field_list *f, skel_goal_desc *d,
                            skel_goal_track *t) {
    const doc_at target = doc_member(f, G_TARGET);
    const doc_at axes = doc_member(f, C_AXES);
    d->parts = SKEL_GOAL_POSITION;
    read_place(g, &target, d, t);
    read_axes(&g->r->doc, &axes, &d->parts);
}

/* In the order of SKEL_GOAL_*. */
static const struct kind {
    const doc_field *table;
    const char *what;
    const char *target;
    void (*read)(goals *g, const doc_field_list *f, skel_goal_desc *d, skel_goal_track *t);
} k_kinds[] = {{k_place, "a goal with a position or orientation", "position", read_own_place},
               {k_aim, "a goal with look_at", "look_at", read_own_aim},
               {k_pole, "a goal with a pole", "pole", read_own_pole},
               {k_centre, "a goal with centre_of_mass", "centre_of_mass", read_own_centre}};

/* ---- a goal --------------------------------------------------------------------------------- */

/* The kind of the target that the goal has; -1 and an error if it has none or several. */
static int32_t kind_of(document *doc, const doc_at *at) {
    static const char must[] = "position, orientation or both, look_at, pole, or centre_of_mass";
    int32_t kind = -1, kinds = 0;
    for (int32_t i = 0; i <= SKEL_GOAL_CENTRE; ++i) {
        bool given = json_member(at->node, k_kinds[i].target) != NULL;
        if (i == SKEL_GOAL_PLACE) given = given || json_member(at->node, "orientation") != NULL;
        if (!given) continue;
        kind = i;
        ++kinds;
    }
    if (kinds == 1) return kind;

    /* A misspelt target is reported as an unknown field. */
    const int32_t errors_before = doc->error_count;
    doc_field_list f;
    doc_fields(doc, at, k_any, "a goal", &f);
    if (kinds > 1)
        doc_error(doc, at, "has targets of %d kinds, must have one of: %s", (int)kinds, must);
    else if (doc->error_count == errors_before)
        doc_error(doc, at, "has no target, must have one of: %s", must);
    return -1;
}

/* The joints that may move for the goal; "world" is a free root. */
static void read_joints(goals *g, const doc_at *at, skel_goal_desc *d) {
    static const char must[] = "[joint, ...], at least one";
    document *doc = &g->r->doc;
    int32_t n = 0, i = 0;
    const json_value *c;
    if (!doc_array(doc, at, 1, SCENE_JOINTS, must, &n)) return;
    if (!g->r->joint_names.name) return; /* the error of `joints` is noted already */

    int32_t *list = scene_keep(g->r, g->s, (size_t)n, sizeof *list);
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        const char *name = NULL;
        if (!list || !doc_name(doc, &item, &name)) return;
        list[i] = strcmp(name, "world") == 0 ? SKEL_WORLD : names_find(&g->r->joint_names, name);
        if (list[i++] < SKEL_WORLD) {
            doc_wrong(doc, &item, "the name of a joint or \"world\"");
            return;
        }
    }
    d->joints = list;
    d->joint_count = (uint32_t)n;
}

/* A body that carries the body of the goal, or a number of joints. */
static void read_chain(goals *g, const doc_at *at, skel_goal_desc *d) {
    static const char must[] =
        "the name of a body that carries the body of the goal, or a number >= 1";
    if (!at->node) return;
    if (d->kind == SKEL_GOAL_CENTRE) {
        doc_error(&g->r->doc, at, "is not a field of a goal with centre_of_mass");
    } else if (json_is_number(at->node)) {
        if (doc_integer(&g->r->doc, at, &d->chain_depth) && d->chain_depth < 1)
            doc_wrong(&g->r->doc, at, must);
    } else if (!json_is_string(at->node)) {
        doc_wrong(&g->r->doc, at, must);
    } else if (scene_read_bone_name(g->r, at, &d->chain_root) && d->chain_root == d->body) {
        doc_wrong(&g->r->doc, at, must);
    }
}

/* The scene outlives the document, so it owns a copy of the name. */
static void keep_name(goals *g, const doc_at *at, const char **kept) {
    const char *text = NULL;
    if (!doc_name(&g->r->doc, at, &text)) return;
    char *copy = scene_keep(g->r, g->s, strlen(text) + 1, 1);
    if (copy) *kept = memcpy(copy, text, strlen(text) + 1);
}

static void read_common(goals *g, const doc_field_list *f, skel_goal_desc *d, skel_goal_track *t,
                        const char **kept) {
    document *doc = &g->r->doc;
    const doc_at name = doc_member(f, G_NAME);
    const doc_at body = doc_member(f, G_BODY);
    keep_name(g, &name, kept);
    if (body.node)
        scene_read_bone_name(g->r, &body, &d->body);
    else if (d->kind != SKEL_GOAL_CENTRE)
        doc_need(doc, f, G_BODY, "the name of one of the bodies");

    const doc_at weight = doc_member(f, G_WEIGHT);
    read_target(g, &weight, 1, "a number >= 0 or one per frame", &d->weight, &t->weights,
                &t->weight_count);

    const doc_at priority = doc_member(f, G_PRIORITY);
    if (doc_integer(doc, &priority, &d->priority) &&
        (d->priority < 0 || d->priority > SKEL_IK_MAX_PRIORITY))
        doc_wrong(doc, &priority, "a whole number from 0 to 15");

    const doc_at joints = doc_member(f, G_JOINTS);
    const doc_at chain = doc_member(f, G_CHAIN);
    read_joints(g, &joints, d);
    read_chain(g, &chain, d);

    const doc_at relative = doc_member(f, G_RELATIVE);
    if (!relative.node || !scene_read_body_name(g->r, &relative, &d->relative_to)) return;
    if (d->relative_to >= 0 && d->relative_to == d->body)
        doc_error(doc, &relative, "is the body itself, must be another");
}

static void read_goal(goals *g, const doc_at *at, int32_t i) {
    doc_field_list f;
    if (!json_is_object(at->node)) {
        doc_wrong(&g->r->doc, at, "an object");
        return;
    }
    const int32_t kind = kind_of(&g->r->doc, at);
    if (kind < 0) return;
    skel_goal_desc *d = &g->note->goals[i];
    skel_goal_track *t = &g->note->tracks[i];
    d->kind = kind;
    doc_fields(&g->r->doc, at, k_kinds[kind].table, k_kinds[kind].what, &f);
    read_common(g, &f, d, t, &g->note->names[i]);
    k_kinds[kind].read(g, &f, d, t);
}

/* The engine computes one centre of mass, so all such goals must have the same body. */
static void check_centres(goals *g, const doc_at *at, int32_t count) {
    int32_t first = -1;
    for (int32_t i = 0; i < count; ++i) {
        if (g->note->goals[i].kind != SKEL_GOAL_CENTRE) continue;
        if (first < 0) first = i;
        if (g->note->goals[i].body == g->note->goals[first].body) continue;

        const doc_at item = doc_element(at, i, json_element(at->node, i));
        const doc_at body = {&item, "body", -1, json_member(item.node, "body")};
        doc_error(&g->r->doc, &body,
                  "must be that of goals[%d]: all goals with centre_of_mass have one body",
                  (int)first);
        return;
    }
}

void scene_read_goals(scene_reader *r, const doc_at *at, skel_scene *s) {
    int32_t n = 0, i = 0;
    goals g = {.r = r, .s = s, .note = &s->ik};
    if (!doc_array(&r->doc, at, 0, SCENE_GOALS, "[goal, ...]", &n)) return;
    s->ik.goals = scene_keep(r, s, (size_t)n, sizeof *s->ik.goals);
    s->ik.tracks = scene_keep(r, s, (size_t)n, sizeof *s->ik.tracks);
    s->ik.names = scene_keep(r, s, (size_t)n, sizeof *s->ik.names);
    if (!s->ik.goals || !s->ik.tracks || !s->ik.names) return;

    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        skel_goal_desc_init(&s->ik.goals[i]);
        read_goal(&g, &item, i++);
    }
    check_centres(&g, at, n);

    s->ik.desc.goals = s->ik.goals;
    s->ik.desc.goal_count = (uint32_t)n;
    if ((double)g.frames * r->body_count > SCENE_POSES)
        doc_error(&r->doc, at, "has %d frames of %d bodies, must have at most %.0f poses",
                  (int)g.frames, (int)r->body_count, SCENE_POSES);
    r->frame_count = g.frames;
}
