/* SPDX-License-Identifier: BSD-3-Clause */
/* The `goals` of skel-scene/1: where inverse kinematics is to bring the bodies. What a goal has
   beside its target depends on its kind, and the kind is the name of the target. */
#include "scene/scene.h"

#include <stdio.h>
#include <string.h>

#define PLACE_MUST "[x, y, z] or one per frame"
#define TURN_MUST "[w, x, y, z] or one per frame"

/* What every kind has. */
#define COMMON_FIELDS                                                                              \
    {"name"}, {"body"}, {"weight"}, {"priority"}, {"relative_to"}, {"joints"}, {                   \
        "chain"                                                                                    \
    }
enum { G_NAME, G_BODY, G_WEIGHT, G_PRIORITY, G_RELATIVE, G_JOINTS, G_CHAIN, G_TARGET, G_OWN };

/* The target is the first field behind those, then what only this kind has. */
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

/* The list while it is read. */
typedef struct goals {
    scene_reader  *r;
    skel_scene    *s;
    scene_ik_note *note;
    int32_t        frames;    /* of the first list that has one value per frame; 0: none yet */
    char           first[64]; /* its path */
} goals;

/* ---- targets -------------------------------------------------------------------------------- */

static bool read_value(document *doc, const doc_at *at, int32_t width, const char *must,
                       double *out) {
    if (width == 1) return doc_number(doc, at, DOC_NOT_NEGATIVE, out);
    if (width == 4) return doc_quaternion(doc, at, out);
    return doc_vector(doc, at, 3, must, out);
}

/* All lists of values per frame are of one length, which is the number of frames. */
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

/* One value per frame, kept with the scene; *count stays 0 where something is wrong. */
static void read_frames(goals *g, const doc_at *at, int32_t width, const double **samples,
                        uint32_t *count) {
    static const char *const must[] = {"", "", "", "[x, y, z]", ""};
    document                *doc    = &g->r->doc;
    int32_t                  n = 0, i = 0;
    bool                     good = true;
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
    if (good) *samples = x, *count = (uint32_t)n;
}

static bool holds_arrays(const json_value *array) {
    for (const json_value *c = array->child; c; c = c->next)
        if (json_is_array(c)) return true;
    return false;
}

/* A value for all frames, or a list. */
static void read_target(goals *g, const doc_at *at, int32_t width, const char *must,
                        double *constant, const double **samples, uint32_t *count) {
    const json_value *node = at->node;
    if (!node) return;
    const bool array = json_is_array(node);
    if (array && (width == 1 || holds_arrays(node)))
        read_frames(g, at, width, samples, count);
    else if (width == 1 && !array && !json_is_number(node))
        doc_wrong(&g->r->doc, at, must);
    else if (width == 4 && (!array || json_size(node) != 4))
        doc_wrong(&g->r->doc, at, must);
    else
        read_value(&g->r->doc, at, width, must, constant);
}

static void read_place(goals *g, const doc_at *at, skel_goal_desc *d, skel_goal_track *t) {
    read_target(g, at, 3, PLACE_MUST, d->position, &t->positions, &t->position_count);
}

/* ---- parts of a goal ------------------------------------------------------------------------ */

/* "xy": the components that count. */
static void read_axes(document *doc, const doc_at *at, uint32_t *parts) {
    uint32_t seen = 0;
    if (!at->node) return;
    const char *c = json_is_string(at->node) ? at->node->text : "";
    for (; *c >= 'x' && *c <= 'z' && !(seen & 1u << (*c - 'x')); ++c) seen |= 1u << (*c - 'x');
    if (*c || seen == 0)
        doc_wrong(doc, at, "some letters of \"xyz\", each once");
    else
        *parts = (*parts & ~(uint32_t)SKEL_GOAL_POSITION) | seen;
}

static void read_own_place(goals *g, const doc_field_list *f, skel_goal_desc *d,
                           skel_goal_track *t) {
    document    *doc      = &g->r->doc;
    const doc_at position = doc_member(f, G_TARGET);
    const doc_at turn = doc_member(f, P_ORIENTATION), point = doc_member(f, P_POINT);
    const doc_at axes = doc_member(f, P_AXES), frame = doc_member(f, P_FRAME);
    d->parts = (position.node ? (uint32_t)SKEL_GOAL_POSITION : 0u) |
               (turn.node ? (uint32_t)SKEL_GOAL_ORIENTATION : 0u);
    read_place(g, &position, d, t);
    read_target(g, &turn, 4, TURN_MUST, d->orientation, &t->orientations, &t->orientation_count);
    doc_vector(doc, &point, 3, "[x, y, z]", d->point);
    doc_quaternion(doc, &frame, d->frame);
    if (axes.node && !position.node)
        doc_error(doc, &axes, "must come with position");
    else
        read_axes(doc, &axes, &d->parts);
    if (frame.node && !turn.node) doc_error(doc, &frame, "must come with orientation");
}

static void read_own_aim(goals *g, const doc_field_list *f, skel_goal_desc *d, skel_goal_track *t) {
    const doc_at target = doc_member(f, G_TARGET), point = doc_member(f, A_POINT);
    const doc_at axis = doc_member(f, A_AXIS);
    read_place(g, &target, d, t);
    doc_vector(&g->r->doc, &point, 3, "[x, y, z]", d->point);
    scene_read_axis(&g->r->doc, &axis, d->axis);
}

static void read_own_pole(goals *g, const doc_field_list *f, skel_goal_desc *d,
                          skel_goal_track *t) {
    document    *doc    = &g->r->doc;
    const doc_at target = doc_member(f, G_TARGET), point = doc_member(f, L_POINT);
    const doc_at from = doc_member(f, L_FROM), to = doc_member(f, L_TO);
    const doc_at from_point = doc_member(f, L_FROM_POINT);
    const doc_at to_point   = doc_member(f, L_TO_POINT);
    read_place(g, &target, d, t);
    doc_vector(doc, &point, 3, "[x, y, z]", d->point);
    if (doc_need(doc, f, L_FROM, "the name of a body or \"world\""))
        scene_read_body_name(g->r, &from, &d->from);
    if (doc_need(doc, f, L_TO, "the name of a body or \"world\""))
        scene_read_body_name(g->r, &to, &d->to);
    doc_vector(doc, &from_point, 3, "[x, y, z]", d->from_point);
    doc_vector(doc, &to_point, 3, "[x, y, z]", d->to_point);
}

static void read_own_centre(goals *g, const doc_field_list *f, skel_goal_desc *d,
                            skel_goal_track *t) {
    const doc_at target = doc_member(f, G_TARGET), axes = doc_member(f, C_AXES);
    d->parts = SKEL_GOAL_POSITION;
    read_place(g, &target, d, t);
    read_axes(&g->r->doc, &axes, &d->parts);
}

/* In the order of SKEL_GOAL_*. */
static const struct kind {
    const doc_field *table;
    const char      *what;
    const char      *target;
    void (*read)(goals *g, const doc_field_list *f, skel_goal_desc *d, skel_goal_track *t);
} k_kinds[] = {{k_place, "a goal with a position or orientation", "position", read_own_place},
               {k_aim, "a goal with look_at", "look_at", read_own_aim},
               {k_pole, "a goal with a pole", "pole", read_own_pole},
               {k_centre, "a goal with centre_of_mass", "centre_of_mass", read_own_centre}};

/* ---- a goal --------------------------------------------------------------------------------- */

/* The kind whose target is there; -1 and a message where it is not one. */
static int32_t kind_of(document *doc, const doc_at *at) {
    static const char must[] = "position, orientation or both, look_at, pole, or centre_of_mass";
    const int32_t     before = doc->error_count;
    int32_t           kind = -1, kinds = 0;
    doc_field_list    f;
    for (int32_t i = 0; i <= SKEL_GOAL_CENTRE; ++i) {
        bool there = json_member(at->node, k_kinds[i].target) != NULL;
        if (i == SKEL_GOAL_PLACE) there = there || json_member(at->node, "orientation") != NULL;
        if (there) kind = i, ++kinds;
    }
    if (kinds == 1) return kind;
    doc_fields(doc, at, k_any, "a goal", &f); /* a misspelt one is the reason, then */
    if (kinds > 1)
        doc_error(doc, at, "is of %d kinds, must have one of: %s", (int)kinds, must);
    else if (doc->error_count == before)
        doc_error(doc, at, "has no target, must have one of: %s", must);
    return -1;
}

/* The joints that may move for the goal; "world": a free root. */
static void read_joints(goals *g, const doc_at *at, skel_goal_desc *d) {
    static const char must[] = "[joint, ...], at least one";
    document         *doc    = &g->r->doc;
    int32_t           n = 0, i = 0;
    const json_value *c;
    if (!doc_array(doc, at, 1, SCENE_JOINTS, must, &n)) return;
    if (!g->r->joint_names.name) return; /* there are no joints, which is noted already */
    int32_t *list = scene_keep(g->r, g->s, (size_t)n, sizeof *list);
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        const char  *name = NULL;
        if (!list || !doc_name(doc, &item, &name)) return;
        list[i] = strcmp(name, "world") == 0 ? SKEL_WORLD : names_find(&g->r->joint_names, name);
        if (list[i++] < SKEL_WORLD) {
            doc_wrong(doc, &item, "the name of a joint or \"world\"");
            return;
        }
    }
    d->joints = list, d->joint_count = (uint32_t)n;
}

/* A body that the goal's hangs from, or how many joints above it. */
static void read_chain(goals *g, const doc_at *at, skel_goal_desc *d) {
    static const char must[] = "the name of a body that the goal's hangs from, or a number >= 1";
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

static void read_common(goals *g, const doc_field_list *f, skel_goal_desc *d, skel_goal_track *t,
                        const char **kept) {
    document    *doc  = &g->r->doc;
    const doc_at name = doc_member(f, G_NAME), body = doc_member(f, G_BODY);
    const doc_at weight = doc_member(f, G_WEIGHT), rank = doc_member(f, G_PRIORITY);
    const doc_at relative = doc_member(f, G_RELATIVE);
    const doc_at joints = doc_member(f, G_JOINTS), chain = doc_member(f, G_CHAIN);
    const char  *text = NULL;
    if (doc_name(doc, &name, &text)) {
        char *copy = scene_keep(g->r, g->s, strlen(text) + 1, 1);
        if (copy) *kept = memcpy(copy, text, strlen(text) + 1);
    }
    if (body.node)
        scene_read_bone_name(g->r, &body, &d->body);
    else if (d->kind != SKEL_GOAL_CENTRE)
        doc_need(doc, f, G_BODY, "the name of one of the bodies");
    read_target(g, &weight, 1, "a number >= 0 or one per frame", &d->weight, &t->weights,
                &t->weight_count);
    if (doc_integer(doc, &rank, &d->priority) &&
        (d->priority < 0 || d->priority > SKEL_IK_MAX_PRIORITY))
        doc_wrong(doc, &rank, "a whole number from 0 to 15");
    read_joints(g, &joints, d);
    read_chain(g, &chain, d);
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
    skel_goal_desc  *d = &g->note->goals[i];
    skel_goal_track *t = &g->note->tracks[i];
    d->kind            = kind;
    doc_fields(&g->r->doc, at, k_kinds[kind].table, k_kinds[kind].what, &f);
    read_common(g, &f, d, t, &g->note->names[i]);
    k_kinds[kind].read(g, &f, d, t);
}

/* The engine follows one centre of mass. */
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
    goals   g = {.r = r, .s = s, .note = &s->ik};
    if (!doc_array(&r->doc, at, 0, SCENE_GOALS, "[goal, ...]", &n)) return;
    s->ik.goals  = scene_keep(r, s, (size_t)n, sizeof *s->ik.goals);
    s->ik.tracks = scene_keep(r, s, (size_t)n, sizeof *s->ik.tracks);
    s->ik.names  = scene_keep(r, s, (size_t)n, sizeof *s->ik.names);
    if (!s->ik.goals || !s->ik.tracks || !s->ik.names) return;
    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        skel_goal_desc_init(&s->ik.goals[i]);
        read_goal(&g, &item, i++);
    }
    check_centres(&g, at, n);
    s->ik.desc.goals      = s->ik.goals;
    s->ik.desc.goal_count = (uint32_t)n;
    if ((double)g.frames * r->body_count > SCENE_POSES)
        doc_error(&r->doc, at, "has %d frames of %d bodies, must have at most %.0f poses",
                  (int)g.frames, (int)r->body_count, SCENE_POSES);
    r->frame_count = g.frames;
}
