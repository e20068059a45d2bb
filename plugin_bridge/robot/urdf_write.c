/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes URDF. A robot that was read from URDF is written from its own document; for any other
   scene a document is made first (urdf_from_scene.c). */
#include "robot/urdf.h"

#include <skel/skel_robot.h>

#include <stdio.h>
#include <string.h>

static void put_escaped(text_buffer *t, const char *text) {
    for (const char *c = text; *c; ++c) {
        if (*c == '&')
            text_add(t, "&amp;");
        else if (*c == '<')
            text_add(t, "&lt;");
        else if (*c == '>')
            text_add(t, "&gt;");
        else if (*c == '"')
            text_add(t, "&quot;");
        else
            text_bytes(t, c, 1);
    }
}

/* name="1 2 3" */
static void put_numbers(text_buffer *t, const char *name, const double *x, int32_t count) {
    text_addf(t, " %s=\"", name);
    for (int32_t k = 0; k < count; ++k) {
        if (k) text_add(t, " ");
        text_number(t, x[k]);
    }
    text_add(t, "\"");
}

static void put_named(text_buffer *t, const char *before, const char *name, const char *after) {
    text_add(t, before);
    put_escaped(t, name);
    text_add(t, after);
}

static void put_origin(text_buffer *t, const char *indent, const double xyz[3],
                       const double rpy[3]) {
    text_addf(t, "%s<origin", indent);
    put_numbers(t, "xyz", xyz, 3);
    put_numbers(t, "rpy", rpy, 3);
    text_add(t, "/>\n");
}

static void put_link(text_buffer *t, const urdf_link *l) {
    static const char *const moment[] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    put_named(t, "  <link name=\"", l->name, "\"");
    if (!l->has_inertial && !l->extra) {
        text_add(t, "/>\n");
        return;
    }

    text_add(t, ">\n");
    if (l->has_inertial) {
        text_add(t, "    <inertial>\n");
        put_origin(t, "      ", l->xyz, l->rpy);
        text_add(t, "      <mass");
        put_numbers(t, "value", &l->mass, 1);
        text_add(t, "/>\n      <inertia");
        for (int k = 0; k < 6; ++k) put_numbers(t, moment[k], &l->inertia[k], 1);
        text_add(t, "/>\n    </inertial>\n");
    }
    if (l->extra) text_addf(t, "%s\n", l->extra + (l->extra[0] == '\n'));
    text_add(t, "  </link>\n");
}

static void put_limit(text_buffer *t, const urdf_joint *j) {
    text_add(t, "    <limit");
    if (j->has_lower) put_numbers(t, "lower", &j->lower, 1);
    if (j->has_upper) put_numbers(t, "upper", &j->upper, 1);
    put_numbers(t, "effort", &j->effort, 1);
    put_numbers(t, "velocity", &j->velocity, 1);
    text_add(t, "/>\n");
}

static void put_joint(text_buffer *t, const urdf_joint *j) {
    put_named(t, "  <joint name=\"", j->name, "\"");
    text_addf(t, " type=\"%s\">\n", urdf_types[j->type].name);
    put_origin(t, "    ", j->xyz, j->rpy);

    put_named(t, "    <parent link=\"", j->parent_name, "\"/>\n");
    put_named(t, "    <child link=\"", j->child_name, "\"/>\n");
    if (j->has_axis) {
        text_add(t, "    <axis");
        put_numbers(t, "xyz", j->axis, 3);
        text_add(t, "/>\n");
    }

    if (j->has_limit) put_limit(t, j);
    if (j->has_dynamics) {
        text_add(t, "    <dynamics");
        put_numbers(t, "damping", &j->damping, 1);
        put_numbers(t, "friction", &j->friction, 1);
        text_add(t, "/>\n");
    }

    if (j->mimic_name) {
        put_named(t, "    <mimic joint=\"", j->mimic_name, "\"");
        put_numbers(t, "multiplier", &j->factor, 1);
        put_numbers(t, "offset", &j->offset, 1);
        text_add(t, "/>\n");
    }
    if (j->extra) text_addf(t, "%s\n", j->extra + (j->extra[0] == '\n'));
    text_add(t, "  </joint>\n");
}

void urdf_put(text_buffer *t, const urdf_document *u) {
    text_add(t, "<?xml version=\"1.0\"?>\n");
    put_named(t, "<robot name=\"", u->name, "\"");
    text_addf(t, "%s>\n", u->namespaces ? u->namespaces : "");
    for (int32_t i = 0; i < u->link_count; ++i) put_link(t, &u->links[i]);
    for (int32_t k = 0; k < u->joint_count; ++k) put_joint(t, &u->joints[k]);
    if (u->extra) text_addf(t, "%s\n", u->extra + (u->extra[0] == '\n'));
    text_add(t, "</robot>\n");
}

skel_status skel_scene_write_urdf(const skel_scene *scene, char *text, size_t capacity,
                                  size_t *needed, skel_error *err) {
    if (!scene || (!text && capacity > 0)) return SKEL_E_ARGUMENT;
    const doc_locale locale = doc_locale_enter();
    text_buffer t = {0};
    memory_arena arena = {0};
    urdf_document made = {.arena = &arena};
    const urdf_document *u = scene->robot ? scene->robot->urdf : NULL;

    skel_status status = u ? SKEL_OK : urdf_make(scene, &made, err);
    if (status == SKEL_OK) {
        urdf_put(&t, u ? u : &made);
        status = scene_give_readable(&t, "the URDF", text, capacity, needed, err);
    }

    if (status == SKEL_E_MEMORY) doc_error_fill(err, status, -1, -1, skel_status_text(status));
    text_free(&t);
    arena_free(&arena);
    doc_locale_leave(locale);
    return status;
}
