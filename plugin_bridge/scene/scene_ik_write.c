/* SPDX-License-Identifier: BSD-3-Clause */
/* `goals` and `ik` as canonical text. Defaults are left out. It reads back to the same bits. */
#include "scene/scene.h"

#include <string.h>

static void put_body(text_buffer *t, const char *before, const skel_model *model, int32_t body) {
    text_add(t, before);
    text_string(t, body < 0 ? "world" : skel_model_body_name(model, body));
}

static void put_number(text_buffer *t, const char *before, double x) {
    text_add(t, before);
    text_number(t, x);
}

/* A field that differs from its default. The bits are compared, so that -0 is not lost. */
static void put_unless(text_buffer *t, const char *name, const double *x, const double *usual,
                       size_t count) {
    if (memcmp(x, usual, count * sizeof *x) == 0) return;
    text_addf(t, ", \"%s\": ", name);
    text_numbers(t, x, count);
}

/* The value for all frames, or a list with one value per frame. */
static void put_target(text_buffer *t, const char *name, const double *constant,
                       const double *samples, uint32_t count, size_t width) {
    text_addf(t, ", \"%s\": ", name);
    if (width == 1) {
        if (count == 0)
            text_number(t, *constant);
        else
            text_numbers(t, samples, count);
        return;
    }
    if (count == 0) {
        text_numbers(t, constant, width);
        return;
    }
    for (uint32_t k = 0; k < count; ++k) {
        text_add(t, k ? ", " : "[");
        text_numbers(t, samples + k * width, width);
    }
    text_add(t, "]");
}

static void put_axes(text_buffer *t, uint32_t parts) {
    const uint32_t axes = parts & SKEL_GOAL_POSITION;
    if (axes == 0 || axes == SKEL_GOAL_POSITION) return;
    text_addf(t, ", \"axes\": \"%s%s%s\"", axes & SKEL_GOAL_X ? "x" : "",
              axes & SKEL_GOAL_Y ? "y" : "", axes & SKEL_GOAL_Z ? "z" : "");
}

/* Target and fields that depend on the kind of the goal. */
static void put_own(text_buffer *t, const skel_model *model, const skel_goal_desc *g,
                    const skel_goal_desc *usual, const skel_goal_track *track) {
    static const char *const target[] = {"position", "look_at", "pole", "centre_of_mass"};
    put_unless(t, "point", g->point, usual->point, 3);
    if (g->kind != SKEL_GOAL_PLACE || g->parts & SKEL_GOAL_POSITION)
        put_target(t, target[g->kind], g->position, track->positions, track->position_count, 3);
    if (g->kind == SKEL_GOAL_PLACE || g->kind == SKEL_GOAL_CENTRE) put_axes(t, g->parts);
    if (g->kind == SKEL_GOAL_PLACE && g->parts & SKEL_GOAL_ORIENTATION) {
        put_target(t, "orientation", g->orientation, track->orientations, track->orientation_count,
                   4);
        put_unless(t, "frame", g->frame, usual->frame, 4);
    }
    if (g->kind == SKEL_GOAL_AIM) put_unless(t, "axis", g->axis, usual->axis, 3);

    if (g->kind != SKEL_GOAL_POLE) return;
    put_body(t, ", \"from\": ", model, g->from);
    put_body(t, ", \"to\": ", model, g->to);
    put_unless(t, "from_point", g->from_point, usual->from_point, 3);
    put_unless(t, "to_point", g->to_point, usual->to_point, 3);
}

/* The joints that may move for the goal. */
static void put_mask(text_buffer *t, const skel_model *model, const skel_goal_desc *g) {
    for (uint32_t k = 0; k < g->joint_count; ++k) {
        const int32_t joint = g->joints[k];
        text_add(t, k ? ", " : ", \"joints\": [");
        text_string(t, joint < 0 ? "world" : skel_model_joint_name(model, joint));
    }
    if (g->joint_count) text_add(t, "]");
    if (g->chain_depth > 0) text_addf(t, ", \"chain\": %d", (int)g->chain_depth);
    if (g->chain_root >= 0) put_body(t, ", \"chain\": ", model, g->chain_root);
}

static void put_goal(text_buffer *t, const skel_scene *s, uint32_t i) {
    const skel_goal_desc *g = &s->ik.goals[i];
    const skel_goal_track *track = &s->ik.tracks[i];
    skel_goal_desc usual;
    text_buffer fields = {0};
    skel_goal_desc_init(&usual);

    if (s->ik.names[i]) {
        text_add(&fields, ", \"name\": ");
        text_string(&fields, s->ik.names[i]);
    }
    if (g->body >= 0) put_body(&fields, ", \"body\": ", s->model, g->body);
    put_own(&fields, s->model, g, &usual, track);
    if (g->relative_to >= 0) put_body(&fields, ", \"relative_to\": ", s->model, g->relative_to);
    if (track->weight_count || memcmp(&g->weight, &usual.weight, sizeof g->weight) != 0)
        put_target(&fields, "weight", &g->weight, track->weights, track->weight_count, 1);
    if (g->priority) text_addf(&fields, ", \"priority\": %d", (int)g->priority);
    put_mask(&fields, s->model, g);

    /* Every field starts with ", ", and the first comma is left out. */
    text_add(t, i ? ",\n    {" : "\n    {");
    if (fields.failed)
        t->failed = 1;
    else
        text_add(t, text_get(&fields) + 2);
    text_add(t, "}");
    text_free(&fields);
}

static void put_q(text_buffer *t, const skel_scene *s, const char *name, int32_t kind,
                  const double *q) {
    if (kind == SCENE_Q_NONE) return;
    text_addf(t, ",\n    \"%s\": ", name);
    if (kind == SCENE_Q_GIVEN)
        text_numbers(t, q, (size_t)skel_model_q_count(s->model));
    else
        text_add(t, kind == SCENE_Q_MIDDLE ? "\"mid\"" : "\"current\"");
}

static void put_joints(text_buffer *t, const skel_scene *s, const char *name, const double *x) {
    const char *between = "{";
    if (!x) return;
    text_addf(t, ",\n    \"%s\": ", name);
    for (int32_t i = 0; i < skel_model_joint_count(s->model); ++i) {
        if (!(x[i] > 0.0)) continue;
        text_add(t, between);
        text_string(t, skel_model_joint_name(s->model, i));
        put_number(t, ": ", x[i]);
        between = ", ";
    }
    text_add(t, between[0] == '{' ? "{}" : "}");
}

void scene_put_goals(text_buffer *t, const skel_scene *s) {
    static const char *const roots[] = {"held", "shifts", "moves"};
    const scene_ik_note *n = &s->ik;
    const skel_ik_desc *d = &n->desc;
    if (d->goal_count) text_add(t, "  \"goals\": [");
    for (uint32_t i = 0; i < d->goal_count; ++i) put_goal(t, s, i);
    if (d->goal_count) text_add(t, "\n  ],\n");
    if (!n->given) return;

    text_addf(t, "  \"ik\": {\"mode\": \"%s\"", d->mode == SKEL_IK_TRACK ? "track" : "pose");
    put_number(t, ", \"tolerance\": ", d->tolerance);
    if (d->max_ms > 0.0) put_number(t, ", \"max_ms\": ", d->max_ms);
    text_addf(t, ", \"root\": \"%s\"", roots[d->root]);
    if (d->method == SKEL_IK_NEWTON) text_add(t, ", \"method\": \"newton\"");
    if (d->max_restarts >= 0) text_addf(t, ", \"max_restarts\": %d", (int)d->max_restarts);
    if (d->max_iterations > 0) text_addf(t, ", \"max_iterations\": %d", (int)d->max_iterations);
    if (n->motion.blend_in || n->motion.blend_out)
        text_addf(t, ", \"blend\": [%u, %u]", (unsigned)n->motion.blend_in,
                  (unsigned)n->motion.blend_out);
    if (n->motion.start == SKEL_IK_START_HELD) text_add(t, ", \"start\": \"held\"");

    put_q(t, s, "seed", n->seed_kind, n->seed);
    put_joints(t, s, "max_speed", n->joint_speed);
    put_joints(t, s, "stiffness", n->joint_stiffness);
    put_q(t, s, "posture", n->posture_kind, n->posture);
    text_add(t, "},\n");
}
