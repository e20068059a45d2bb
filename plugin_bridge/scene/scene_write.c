/* SPDX-License-Identifier: BSD-3-Clause */
/* A scene as canonical text: joints have frames, bodies have positions, the inertia has six
   numbers, angles are in rad. It reads back to a scene with the same bits, which is written as the
   same text. */
#include "robot/robot.h"

#include <math.h>
#include <string.h>

/* In the order of SKEL_MOTION_*, SKEL_SHAPE_* and SKEL_FIELD_*. */
static const char *const k_motions[] = {"dynamic", "fixed", "driven"};
static const char *const k_shapes[] = {"", "sphere", "box", "cylinder", "capsule", "rod"};
static const char *const k_fields[] = {"uniform", "drag", "vortex", "turbulence"};

/* Whether a number is not +0. -0 counts, because its bits differ. */
static bool any(const double *x, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (x[i] != 0.0 || signbit(x[i])) return true;
    return false;
}

static void put_numbers(text_buffer *t, const char *before, const double *x, size_t count) {
    text_add(t, before);
    text_numbers(t, x, count);
}

static void put_number(text_buffer *t, const char *before, double x) {
    text_add(t, before);
    text_number(t, x);
}

/* [1, 2] if the width is 1, otherwise [[x, y, z], ...]. */
static void put_samples(text_buffer *t, const char *before, const skel_curve *c) {
    text_add(t, before);
    if (c->width == 1) {
        text_numbers(t, c->value, c->count);
        return;
    }
    for (uint32_t i = 0; i < c->count; ++i)
        put_numbers(t, i ? ", " : "[", c->value + (size_t)i * c->width, c->width);
    text_add(t, "]");
}

static void put_curve(text_buffer *t, const char *before, const skel_curve *c, bool is_smooth) {
    text_add(t, before);
    put_numbers(t, "{\"time\": ", c->time, c->count);
    put_samples(t, ",\n       \"value\": ", c);
    text_add(t, is_smooth ? ", \"interpolation\": \"cubic\"}" : "}");
}

/* A member of an object that holds only numbers. */
typedef struct constant {
    const char *name;
    double value;
} constant;

static void put_constants(text_buffer *t, const char *before, const constant *c, size_t count) {
    text_add(t, before);
    for (size_t i = 0; i < count; ++i) {
        text_addf(t, "%s\"%s\": ", i ? ", " : "{", c[i].name);
        text_number(t, c[i].value);
    }
    text_add(t, "}");
}
#define PUT_CONSTANTS(t, before, ...)                                                              \
    put_constants(t, before, (const constant[]){__VA_ARGS__},                                      \
                  sizeof((const constant[]){__VA_ARGS__}) / sizeof(constant))

static void put_shape(text_buffer *t, const skel_body_desc *b) {
    text_addf(t, ",\n     \"shape\": {\"type\": \"%s\"", k_shapes[b->shape]);
    if (b->shape == SKEL_SHAPE_BOX) {
        put_numbers(t, ", \"size\": ", b->size, 3);
    } else if (b->shape == SKEL_SHAPE_SPHERE) {
        put_number(t, ", \"radius\": ", b->size[0]);
    } else {
        put_number(t, ", \"length\": ", b->size[0]);
        put_number(t, ", \"radius\": ", b->size[1]);
    }
    text_add(t, "}");
}

static void put_load(text_buffer *t, const char *before, const double x[3], const skel_curve *c,
                     bool is_smooth) {
    if (c->count)
        put_curve(t, before, c, is_smooth);
    else if (any(x, 3))
        put_numbers(t, before, x, 3);
}

static bool has_curve(const skel_body_desc *b) {
    return b->position_curve.count > 0 || b->orientation_curve.count > 0;
}

/* Whether the document calls the body driven with a release. Such a body is dynamic for the engine
   and pinned to its curve until the release, or not at all if the release is at time 0. */
static bool is_released(const skel_body_desc *b) {
    if (b->motion != SKEL_MOTION_DYNAMIC || !has_curve(b)) return false;
    if (b->pinned_count == 0) return true;
    return b->pinned_count == 1 && b->pinned[0] == -SCENE_ALWAYS && b->pinned[1] > 0.0;
}

/* Start velocities and loads of a dynamic body. */
static void put_motion(text_buffer *t, const skel_body_desc *b) {
    if (!has_curve(b) && any(b->velocity, 3))
        put_numbers(t, ",\n     \"velocity\": ", b->velocity, 3);
    if (!has_curve(b) && any(b->angular_velocity, 3))
        put_numbers(t, ",\n     \"angular_velocity\": ", b->angular_velocity, 3);

    const bool is_smooth = (b->flags & SKEL_FLAG_SMOOTH) != 0;
    put_load(t, ",\n     \"force\": ", b->force, &b->force_curve, is_smooth);
    put_load(t, ",\n     \"torque\": ", b->torque, &b->torque_curve, is_smooth);
}

/* Both curves have the same times. */
static void put_body_curve(text_buffer *t, const skel_body_desc *b) {
    const skel_curve *any_curve =
        b->position_curve.count ? &b->position_curve : &b->orientation_curve;
    put_numbers(t, ",\n     \"curve\": {\"time\": ", any_curve->time, any_curve->count);
    if (b->position_curve.count) put_samples(t, ",\n       \"position\": ", &b->position_curve);
    if (b->orientation_curve.count)
        put_samples(t, ",\n       \"orientation\": ", &b->orientation_curve);
    text_add(t, "}");
}

static void put_pinned(text_buffer *t, const skel_body_desc *b) {
    text_add(t, ",\n     \"pinned\": ");
    if (b->pinned_count == 1 && b->pinned[0] == -SCENE_ALWAYS && b->pinned[1] == SCENE_ALWAYS) {
        text_add(t, "true");
        return;
    }
    for (uint32_t i = 0; i < b->pinned_count; ++i)
        put_numbers(t, i ? ", " : "[", b->pinned + 2 * (size_t)i, 2);
    text_add(t, "]");
}

static void put_contacts(text_buffer *t, const skel_body_desc *b) {
    for (uint32_t i = 0; i < b->contact_count; ++i)
        put_numbers(t, i ? ", " : ",\n     \"contacts\": [", b->contacts + 3 * (size_t)i, 3);
    if (b->contact_count) text_add(t, "]");

    if (b->collide > 0)
        text_addf(t, ",\n     \"collide\": %d", (int)b->collide);
    else if (b->collide != SKEL_COLLIDE_OTHERS)
        text_addf(t, ",\n     \"collide\": %s", b->collide == SKEL_COLLIDE_ALL ? "true" : "false");
}

static void put_mass(text_buffer *t, const skel_scene *s, int32_t i, const skel_body_desc *b) {
    if (b->mass > 0.0) put_number(t, ", \"mass\": ", b->mass);
    if (b->shape != SKEL_SHAPE_NONE) put_shape(t, b);
    if (any(b->inertia, 6)) put_numbers(t, ",\n     \"inertia\": ", b->inertia, 6);
    if (scene_is_estimated(s, i, SCENE_ESTIMATED_MASS))
        text_add(t, ", \"estimated\": \"mass\"");
    else if (scene_is_estimated(s, i, SCENE_ESTIMATED_INERTIA))
        text_add(t, ", \"estimated\": \"inertia\"");
}

static void put_body(text_buffer *t, const skel_scene *s, int32_t i) {
    skel_body_desc b;
    skel_body_desc_init(&b);
    skel_model_get_body(s->model, i, &b);
    const bool released = is_released(&b);
    const int32_t motion = released ? SKEL_MOTION_DRIVEN : b.motion;

    text_add(t, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
    text_string(t, b.name);
    if (motion != SKEL_MOTION_DYNAMIC) text_addf(t, ", \"motion\": \"%s\"", k_motions[motion]);
    put_mass(t, s, i, &b);
    put_numbers(t, ",\n     \"position\": ", b.position, 3);
    put_numbers(t, ", \"orientation\": ", b.orientation, 4);

    /* What moves it. */
    if (b.motion == SKEL_MOTION_DYNAMIC) put_motion(t, &b);
    if (has_curve(&b)) put_body_curve(t, &b);
    if (released)
        put_number(t, ",\n     \"release\": ", b.pinned_count ? b.pinned[1] : 0.0);
    else if (b.pinned_count)
        put_pinned(t, &b);

    put_contacts(t, &b);
    text_add(t, "}");
}

static void put_limits(text_buffer *t, const skel_joint_desc *j) {
    const skel_joint_kind kind = scene_joint_kind(j->type);
    const double first[2] = {j->limits.low[0], j->limits.high[0]};
    const double second[2] = {j->limits.low[1], j->limits.high[1]};
    text_add(t, ",\n     \"limits\": ");
    if (kind.q_kind[0] == SKEL_COORDINATE_QUATERNION) {
        put_number(t, "{\"cone\": ", j->limits.high[0]);
        put_numbers(t, ", \"twist\": ", second, 2);
        put_numbers(t, ", \"axis\": ", j->limits.axis, 3);
        text_add(t, "}");
    } else if (kind.limit_count == 2) {
        put_numbers(t, "[", first, 2);
        put_numbers(t, ", ", second, 2);
        text_add(t, "]");
    } else {
        text_numbers(t, first, 2);
    }
}

/* A weight with one sample at time 0 was a number. */
static void put_follow(text_buffer *t, const skel_joint_desc *j) {
    const skel_curve *weight = &j->follow.weight;
    put_number(t, ",\n     \"follow\": {\"stiffness\": ", j->follow.frequency);
    put_number(t, ", \"damping\": ", j->follow.damping);
    if (j->follow.max > 0.0) put_number(t, ", \"max_torque\": ", j->follow.max);
    if (j->follow.target.count) put_curve(t, ",\n       \"curve\": ", &j->follow.target, false);
    if (weight->count == 1 && !any(weight->time, 1))
        put_number(t, ",\n       \"weight\": ", weight->value[0]);
    else if (weight->count)
        put_curve(t, ",\n       \"weight\": ", weight, false);
    text_add(t, "}");
}

/* Limiting torque, restitution of the stops, spring and muscle. */
static void put_actuators(text_buffer *t, const skel_joint_desc *j) {
    if (j->limits.law_range > 0.0)
        PUT_CONSTANTS(t, ",\n     \"limit_torque\": ", {"a", j->limits.law_a},
                      {"b", j->limits.law_b}, {"c", j->limits.law_c}, {"d", j->limits.law_d},
                      {"on", j->limits.law_range});
    if (any(&j->limits.restitution, 1))
        put_number(t, ",\n     \"limit_restitution\": ", j->limits.restitution);
    if (any(&j->spring.stiffness, 1) || any(&j->spring.damping, 1) || any(&j->spring.rest, 1))
        PUT_CONSTANTS(t, ",\n     \"spring\": ", {"stiffness", j->spring.stiffness},
                      {"damping", j->spring.damping}, {"rest", j->spring.rest});
    if (j->muscle.growth > 0.0)
        PUT_CONSTANTS(t, ",\n     \"muscle\": ", {"growth", j->muscle.growth},
                      {"max", j->muscle.max}, {"start", j->muscle.start},
                      {"feedback", j->muscle.feedback}, {"impact_speed", j->muscle.impact_speed},
                      {"delay", j->muscle.delay}, {"side", j->muscle.side});
}

static void put_body_name(text_buffer *t, const skel_model *model, int32_t body) {
    text_string(t, body < 0 ? "world" : skel_model_body_name(model, body));
}

static void put_joint_frames(text_buffer *t, const skel_joint_desc *j) {
    put_numbers(t, ",\n     \"frames\": [{\"position\": ", j->parent_position, 3);
    put_numbers(t, ", \"orientation\": ", j->parent_orientation, 4);
    put_numbers(t, "},\n                {\"position\": ", j->child_position, 3);
    put_numbers(t, ", \"orientation\": ", j->child_orientation, 4);
    text_add(t, "}]");
}

static void put_joint(text_buffer *t, const skel_model *model, int32_t i) {
    skel_joint_desc j;
    skel_joint_desc_init(&j);
    skel_model_get_joint(model, i, &j);

    text_add(t, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
    text_string(t, j.name);
    text_addf(t, ", \"type\": \"%s\", \"bodies\": [", scene_joint_kind(j.type).name);
    put_body_name(t, model, j.parent);
    text_add(t, ", ");
    put_body_name(t, model, j.child);
    text_add(t, "]");
    put_joint_frames(t, &j);
    if (any(&j.pitch, 1)) put_number(t, ",\n     \"pitch\": ", j.pitch);

    /* Forces along the coordinates. */
    if (any(&j.friction, 1)) put_number(t, ",\n     \"friction\": ", j.friction);
    if (j.motor_curve.count)
        put_curve(t, ",\n     \"motor\": ", &j.motor_curve, (j.flags & SKEL_FLAG_SMOOTH) != 0);
    else if (any(&j.motor, 1))
        put_number(t, ",\n     \"motor\": ", j.motor);
    if (j.limits.is_set) put_limits(t, &j);
    if (j.follow.frequency > 0.0) put_follow(t, &j);
    put_actuators(t, &j);

    if (j.mimic.source >= 0)
        scene_put_mimic(t, skel_model_joint_name(model, j.mimic.source), j.mimic.multiplier,
                        j.mimic.offset);
    text_add(t, "}");
}

/* ---- the world ------------------------------------------------------------------------------ */

static void put_wobble(text_buffer *t, const skel_scene *s, int32_t i) {
    const scene_wobble_note *note = &s->wobbles[i];
    skel_wobble_desc w;
    skel_body_desc b;
    skel_wobble_desc_init(&w);
    skel_body_desc_init(&b);
    skel_model_get_wobble(s->model, i, &w);
    skel_model_get_body(s->model, w.body, &b);

    text_add(t, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
    text_string(t, b.name);
    text_add(t, ", \"body\": ");
    put_body_name(t, s->model, w.host);
    put_number(t, ", \"mass\": ", b.mass);
    if (b.shape != SKEL_SHAPE_NONE) put_shape(t, &b);
    put_numbers(t, ",\n     \"inertia\": ", b.inertia, 6);

    /* Position and axis as the document had them: the model keeps them in the axes of the host. */
    put_numbers(t, ",\n     \"position\": ", note->position, 3);
    put_numbers(t, ", \"axis\": ", note->axis, 3);
    PUT_CONSTANTS(t, ",\n     \"longitudinal\": ", {"c", w.along_c}, {"d", w.along_d});
    PUT_CONSTANTS(t, ", \"transversal\": ", {"c", w.across_c}, {"d", w.across_d});
    PUT_CONSTANTS(t, ", \"angular\": ", {"a", w.turn_a}, {"b", w.turn_b});

    if (any(note->displacement, 3))
        put_numbers(t, ",\n     \"displacement\": ", note->displacement, 3);
    put_numbers(t, ",\n     \"velocity\": ", b.velocity, 3);
    put_numbers(t, ", \"angular_velocity\": ", b.angular_velocity, 3);
    text_add(t, "}");
}

static void put_ground(text_buffer *t, const skel_model *model, int32_t i) {
    skel_ground_desc g;
    skel_ground_desc_init(&g);
    skel_model_get_ground(model, i, &g);

    text_add(t, i ? ",\n    {" : "\n    {");
    if (g.body >= 0) {
        text_add(t, "\"body\": ");
        put_body_name(t, model, g.body);
        text_add(t, ", ");
    }
    put_numbers(t, "\"point\": ", g.point, 3);
    put_numbers(t, ", \"normal\": ", g.normal, 3);
    put_number(t, ", \"friction\": ", g.friction);

    /* Laws that the engine chooses are not written. */
    if (g.a > 0.0) PUT_CONSTANTS(t, ",\n     \"law\": ", {"a", g.a}, {"b", g.b}, {"d", g.d});
    if (g.stick_stiffness > 0.0)
        PUT_CONSTANTS(t, ",\n     \"stick\": ", {"stiffness", g.stick_stiffness},
                      {"damping", g.stick_damping});
    if (g.is_rigid) put_number(t, ",\n     \"restitution\": ", g.restitution);
    if (g.is_rigid && any(&g.tangential_restitution, 1))
        put_number(t, ", \"tangential_restitution\": ", g.tangential_restitution);
    text_add(t, "}");
}

static void put_force(text_buffer *t, const skel_model *model, int32_t i) {
    skel_field_desc d;
    skel_field_desc_init(&d);
    skel_model_get_field(model, i, &d);
    text_addf(t, "%s\n    {\"type\": \"%s\"", i ? "," : "", k_fields[d.type]);
    if (d.body >= 0) {
        text_add(t, ", \"body\": ");
        put_body_name(t, model, d.body);
    }

    if (d.type == SKEL_FIELD_UNIFORM) {
        put_numbers(t, ", \"acceleration\": ", d.vector, 3);
    } else if (d.type == SKEL_FIELD_DRAG) {
        put_number(t, ", \"density\": ", d.density);
        put_number(t, ", \"coefficient\": ", d.coefficient);
        put_numbers(t, ", \"wind\": ", d.vector, 3);
    } else if (d.type == SKEL_FIELD_VORTEX) {
        put_numbers(t, ", \"point\": ", d.point, 3);
        put_numbers(t, ", \"axis\": ", d.axis, 3);
        put_number(t, ", \"strength\": ", d.strength);
        put_number(t, ", \"radius\": ", d.scale);
    } else {
        put_number(t, ", \"strength\": ", d.strength);
        put_number(t, ", \"scale\": ", d.scale);
        put_number(t, ", \"period\": ", d.period);
        text_addf(t, ", \"seed\": %u", (unsigned)d.seed);
    }
    text_add(t, "}");
}

static void put_frame_of_reference(text_buffer *t, const skel_model *model) {
    double spin[3], acceleration[3];
    skel_curve spin_curve, acceleration_curve;
    skel_model_get_frame(model, spin, acceleration, &spin_curve, &acceleration_curve);
    const bool has_spin = any(spin, 3) || spin_curve.count;
    const bool has_acceleration = any(acceleration, 3) || acceleration_curve.count;
    if (!has_spin && !has_acceleration) return;

    text_add(t, "  \"frame\": {");
    put_load(t, "\"angular_velocity\": ", spin, &spin_curve, false);
    put_load(t, has_spin ? ", \"acceleration\": " : "\"acceleration\": ", acceleration,
             &acceleration_curve, false);
    text_add(t, "},\n");
}

/* Empty lists are left out. */
static void put_world(text_buffer *t, const skel_scene *s) {
    const int32_t nw = skel_model_wobble_count(s->model);
    const int32_t ng = skel_model_ground_count(s->model);
    const int32_t nf = skel_model_field_count(s->model);

    if (nw) text_add(t, "  \"wobble\": [");
    for (int32_t i = 0; i < nw; ++i) put_wobble(t, s, i);
    if (nw) text_add(t, "\n  ],\n");

    if (ng) text_add(t, "  \"ground\": [");
    for (int32_t i = 0; i < ng; ++i) put_ground(t, s->model, i);
    if (ng) text_add(t, "\n  ],\n");

    if (nf) text_add(t, "  \"forces\": [");
    for (int32_t i = 0; i < nf; ++i) put_force(t, s->model, i);
    if (nf) text_add(t, "\n  ],\n");

    put_frame_of_reference(t, s->model);
}

static void put_bake(text_buffer *t, const skel_scene *s) {
    put_number(t, "  \"bake\": {\"fps\": ", s->bake.sample_rate);
    text_addf(t, ", \"frame_start\": %d, \"frame_end\": %d, \"integrator\": \"%s\"",
              (int)s->frame_start, (int)s->frame_end, skel_integrator_name(s->bake.integrator));
    put_number(t, ", \"tolerance\": ", s->bake.tolerance);
    if (s->bake.step > 0.0) put_number(t, ", \"step\": ", s->bake.step);
    if (any(&s->bake.preroll, 1)) put_number(t, ", \"preroll\": ", s->bake.preroll);
    text_addf(t, ", \"solver\": \"%s\"}\n", skel_solver_name(s->bake.solver));
}

static void put_scene(text_buffer *t, const skel_scene *s) {
    /* Wobbling masses are the last bodies and have a list of their own. */
    const int32_t nb = skel_model_body_count(s->model) - skel_model_wobble_count(s->model);
    double gravity[3] = {0};
    skel_model_get_gravity(s->model, gravity);

    text_add(t, "{\n  \"format\": \"skel-scene/1\",\n");
    if (s->name[0]) {
        text_add(t, "  \"name\": ");
        text_string(t, s->name);
        text_add(t, ",\n");
    }
    put_numbers(t, "  \"gravity\": ", gravity, 3);

    text_add(t, ",\n  \"bodies\": [");
    for (int32_t i = 0; i < nb; ++i) put_body(t, s, i);
    text_add(t, "\n  ],\n  \"joints\": [");
    for (int32_t i = 0; i < skel_model_joint_count(s->model); ++i) put_joint(t, s->model, i);
    text_add(t, skel_model_joint_count(s->model) ? "\n  ],\n" : "],\n");

    put_world(t, s);
    scene_put_goals(t, s);
    robot_put_robot(t, s);
    put_bake(t, s);
    text_add(t, "}\n");
}

skel_status skel_scene_write(const skel_scene *scene, char *text, size_t capacity, size_t *needed) {
    if (!scene || (!text && capacity > 0)) return SKEL_E_ARGUMENT;
    const doc_locale locale = doc_locale_enter();
    text_buffer t = {0};
    put_scene(&t, scene);
    doc_locale_leave(locale);

    skel_status status = t.failed ? SKEL_E_MEMORY : SKEL_OK;
    if (status == SKEL_OK && capacity <= t.length) status = SKEL_E_BUFFER;
    if (needed) *needed = t.length;
    if (status == SKEL_OK) memcpy(text, t.data, t.length + 1);
    text_free(&t);
    return status;
}
