/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel inverse`: inverse dynamics, the joint forces of a track [RUD 4.4.1], as CSV or JSON. With
   --motors also the scene with these forces as motors and loads, so that a bake repeats the
   motion. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLI_RESIDUAL_WARN 0.01 /* relative to the weight: a larger residual force is reported */

typedef struct call {
    const char *words[2]; /* scene, track */
    const char *out, *to, *cutoff, *motors;
    int as_json;
} call;

/* The input and the result, as the writers read them. */
typedef struct motion {
    const skel_model *model;
    const skel_track *track;
    const skel_inverse *inverse;
    skel_inverse_summary sum;
    int32_t frames, nb, nj, nv;
    unsigned char *touched; /* (nb) whether contact forces act on the body in some frame */
} motion;

/* ---- columns --------------------------------------------------------------------------------- */

static skel_joint_desc joint_of(const skel_model *model, int32_t joint) {
    skel_joint_desc j;
    skel_joint_desc_init(&j);
    skel_model_get_joint(model, joint, &j);
    return j;
}

static skel_joint_kind kind_of(const skel_model *model, int32_t joint) {
    skel_joint_kind kind = {.struct_size = sizeof kind};
    skel_joint_kind_get(joint_of(model, joint).type, &kind);
    return kind;
}

/* The name of generalised force k of a joint: "torque" or "force" if the joint has one velocity,
   otherwise with the axis of velocity k, as "tz" or "fx". */
static const char *column_name(const skel_joint_kind *kind, int32_t k) {
    static const char *const torques[] = {"tx", "ty", "tz"};
    static const char *const forces[] = {"fx", "fy", "fz"};
    const int is_length = kind->dof_kind[k] == SKEL_COORDINATE_LENGTH;
    if (kind->dof == 1) return is_length ? "force" : "torque";
    return (is_length ? forces : torques)[kind->dof_axis[k]];
}

/* The k-th free root, or -1. */
static int32_t free_root(const motion *m, int32_t k) {
    return skel_inverse_free_root(m->inverse, k);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* ",NAME.QUANTITY" */
static void put_head(text_buffer *t, const char *name, const char *quantity) {
    char suffix[32];
    snprintf(suffix, sizeof suffix, ".%s", quantity);
    text_add(t, ",");
    text_csv_name(t, name, suffix, 0);
}

static void put_cells(text_buffer *t, const double *x, int32_t count) {
    for (int32_t k = 0; k < count; ++k) {
        text_bytes(t, ",", 1);
        text_number(t, x[k]);
    }
}

/* Whether a contact force acts on the body in some frame. */
static int is_touched(const motion *m, int32_t body) {
    skel_inverse_contact c = {.struct_size = sizeof c};
    for (int32_t f = 0; f < m->frames; ++f)
        for (int32_t k = 0; k < skel_inverse_contact_count(m->inverse, f); ++k) {
            skel_inverse_get_contact(m->inverse, f, k, &c);
            if (c.body == body || c.other == body) return 1;
        }
    return 0;
}

/* Sum of the contact forces on a body [N]. */
static void sum_contacts(const motion *m, int32_t frame, int32_t body, double sum[3]) {
    skel_inverse_contact c = {.struct_size = sizeof c};
    for (int e = 0; e < 3; ++e) sum[e] = 0;

    for (int32_t k = 0; k < skel_inverse_contact_count(m->inverse, frame); ++k) {
        skel_inverse_get_contact(m->inverse, frame, k, &c);
        for (int e = 0; e < 3; ++e) {
            if (c.body == body) sum[e] += c.force[e];
            if (c.other == body) sum[e] -= c.force[e];
        }
    }
}

static void put_csv_head(text_buffer *t, const motion *m) {
    static const char *const residual[] = {"residual.fx", "residual.fy", "residual.fz",
                                           "residual.tx", "residual.ty", "residual.tz"};
    static const char *const contact[] = {"contact.fx", "contact.fy", "contact.fz"};

    text_add(t, "frame,time");
    for (int32_t j = 0; j < m->nj; ++j) {
        const skel_joint_kind kind = kind_of(m->model, j);
        for (int32_t k = 0; k < kind.dof; ++k)
            put_head(t, skel_model_joint_name(m->model, j), column_name(&kind, k));
    }
    for (int32_t j = 0; j < m->nj; ++j)
        if (kind_of(m->model, j).dof > 0) put_head(t, skel_model_joint_name(m->model, j), "power");
    for (int32_t k = 0; free_root(m, k) >= 0; ++k)
        for (int c = 0; c < 6; ++c)
            put_head(t, skel_model_body_name(m->model, free_root(m, k)), residual[c]);
    for (int32_t i = 0; i < m->nb; ++i)
        for (int c = 0; m->touched[i] && c < 3; ++c)
            put_head(t, skel_model_body_name(m->model, i), contact[c]);
    text_add(t, "\n");
}

static void put_csv(text_buffer *t, const motion *m) {
    const double *torque = skel_inverse_torque(m->inverse), *power = skel_inverse_power(m->inverse);
    const double *residual = skel_inverse_residual(m->inverse);
    put_csv_head(t, m);

    for (int32_t f = 0; f < m->frames; ++f) {
        const double time = f / skel_track_fps(m->track);
        text_addf(t, "%d", (int)(skel_track_frame_start(m->track) + f));
        put_cells(t, &time, 1);

        put_cells(t, torque + (size_t)f * (size_t)m->nv, m->nv);
        for (int32_t j = 0; j < m->nj; ++j)
            if (kind_of(m->model, j).dof > 0)
                put_cells(t, power + (size_t)f * (size_t)m->nj + (size_t)j, 1);
        for (int32_t k = 0; free_root(m, k) >= 0; ++k)
            put_cells(t, residual + 6 * ((size_t)f * (size_t)m->nb + (size_t)free_root(m, k)), 6);
        for (int32_t i = 0; i < m->nb; ++i) {
            double force[3];
            if (!m->touched[i]) continue;
            sum_contacts(m, f, i, force);
            put_cells(t, force, 3);
        }
        text_add(t, "\n");
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* "name": [[...], ...], one line per frame. */
static void put_rows(text_buffer *t, const char *name, const double *x, int32_t frames,
                     int32_t width) {
    text_addf(t, ",\n  \"%s\": [\n", name);
    for (int32_t f = 0; f < frames; ++f) {
        text_add(t, f ? ",\n    " : "    ");
        text_numbers(t, width ? x + (size_t)f * (size_t)width : NULL, (size_t)width);
    }
    text_add(t, "\n  ]");
}

static void put_wrench(text_buffer *t, const motion *m) {
    const double *x = skel_inverse_wrench(m->inverse);
    text_add(t, ",\n  \"wrench\": [\n");
    for (int32_t f = 0; f < m->frames; ++f) {
        text_add(t, f ? ",\n    [" : "    [");
        for (int32_t j = 0; j < m->nj; ++j, x += 6) {
            if (j) text_add(t, ", ");
            text_numbers(t, x, 6);
        }
        text_add(t, "]");
    }
    text_add(t, "\n  ]");
}

static void put_residuals(text_buffer *t, const motion *m) {
    const double *x = skel_inverse_residual(m->inverse);
    text_add(t, ",\n  \"residual\": {");
    for (int32_t k = 0; free_root(m, k) >= 0; ++k) {
        const int32_t body = free_root(m, k);
        text_add(t, k ? ",\n    " : "\n    ");
        text_string(t, skel_model_body_name(m->model, body));

        text_add(t, ": [\n");
        for (int32_t f = 0; f < m->frames; ++f) {
            text_add(t, f ? ",\n      " : "      ");
            text_numbers(t, x + 6 * ((size_t)f * (size_t)m->nb + (size_t)body), 6);
        }
        text_add(t, "\n    ]");
    }
    text_add(t, "\n  }");
}

/* The name of a body, or null for the world. */
static void put_body(text_buffer *t, const motion *m, int32_t body) {
    if (body < 0)
        text_add(t, "null");
    else
        text_string(t, skel_model_body_name(m->model, body));
}

static void put_contact(text_buffer *t, const motion *m, const skel_inverse_contact *c) {
    text_add(t, "{\"body\": ");
    put_body(t, m, c->body);
    text_add(t, ", \"other\": ");
    put_body(t, m, c->other);
    if (c->ground >= 0) text_addf(t, ", \"ground\": %d", (int)c->ground);

    text_add(t, ", \"point\": ");
    text_numbers(t, c->point, 3);
    text_add(t, ", \"normal\": ");
    text_numbers(t, c->normal, 3);
    text_add(t, ", \"force\": ");
    text_numbers(t, c->force, 3);
    text_add(t, ", \"depth\": ");
    text_number(t, c->depth);
    text_add(t, ", \"law\": ");
    text_number(t, c->law);
    text_add(t, "}");
}

static void put_contacts(text_buffer *t, const motion *m) {
    skel_inverse_contact c = {.struct_size = sizeof c};
    text_add(t, ",\n  \"contacts\": [\n");
    for (int32_t f = 0; f < m->frames; ++f) {
        text_add(t, f ? ",\n    [" : "    [");
        for (int32_t k = 0; k < skel_inverse_contact_count(m->inverse, f); ++k) {
            skel_inverse_get_contact(m->inverse, f, k, &c);
            text_add(t, k ? ",\n      " : "");
            put_contact(t, m, &c);
        }
        text_add(t, "]");
    }
    text_add(t, "\n  ]");
}

/* "name": the numbers of the frames that have one of these flags. */
static void put_flagged(text_buffer *t, const char *name, const motion *m, int32_t bits) {
    const char *between = "";
    text_addf(t, ",\n  \"%s\": [", name);
    for (int32_t f = 0; f < m->frames; ++f) {
        if (!(skel_inverse_flags(m->inverse)[f] & bits)) continue;
        text_addf(t, "%s%d", between, (int)(skel_track_frame_start(m->track) + f));
        between = ", ";
    }
    text_add(t, "]");
}

static void put_joints(text_buffer *t, const motion *m) {
    text_add(t, ",\n  \"joints\": [");
    for (int32_t j = 0; j < m->nj; ++j) {
        const skel_joint_kind kind = kind_of(m->model, j);
        text_add(t, j ? ",\n    {\"name\": " : "\n    {\"name\": ");
        text_string(t, skel_model_joint_name(m->model, j));

        const int first = (int)skel_model_joint_dof_offset(m->model, j);
        text_addf(t, ", \"dof\": %d, \"first\": %d, \"count\": %d, \"columns\": [", first, first,
                  (int)kind.dof);
        for (int32_t k = 0; k < kind.dof; ++k)
            text_addf(t, "%s\"%s\"", k ? ", " : "", column_name(&kind, k));
        text_add(t, "]}");
    }
    text_add(t, m->nj ? "\n  ]" : "]");
}

static void put_named(text_buffer *t, const char *name, double x) {
    text_addf(t, "\"%s\": ", name);
    text_number(t, x);
}

static void put_summary(text_buffer *t, const motion *m) {
    text_add(t, "{\n  \"format\": \"skel-inverse/1\",\n  ");
    put_named(t, "fps", skel_track_fps(m->track));
    text_addf(t, ", \"frame_start\": %d, ", (int)skel_track_frame_start(m->track));
    put_named(t, "cutoff", m->sum.cutoff);
    text_addf(t, ", \"order\": %d,\n  ", (int)m->sum.order);

    put_named(t, "joint_gap", m->sum.joint_gap);
    text_add(t, ", ");
    put_named(t, "misalignment", m->sum.misalignment);
    text_add(t, ", ");
    put_named(t, "noise", m->sum.noise);
    text_add(t, ", ");
    put_named(t, "suggested_cutoff", m->sum.suggested_cutoff);
    text_add(t, ",\n  ");
    put_named(t, "residual_force", m->sum.residual_force);
    text_add(t, ", ");
    put_named(t, "residual_torque", m->sum.residual_torque);
}

static void put_json(text_buffer *t, const motion *m) {
    const skel_inverse *v = m->inverse;
    put_summary(t, m);
    put_flagged(t, "across_event", m, SKEL_INVERSE_ACROSS_EVENT);
    put_flagged(t, "contact_law", m, SKEL_INVERSE_LAW | SKEL_INVERSE_UNSOLVED);
    put_joints(t, m);

    put_rows(t, "q", skel_inverse_q(v), m->frames, skel_model_q_count(m->model));
    put_rows(t, "qd", skel_inverse_qd(v), m->frames, m->nv);
    put_rows(t, "qdd", skel_inverse_qdd(v), m->frames, m->nv);
    put_rows(t, "torque", skel_inverse_torque(v), m->frames, m->nv);
    put_rows(t, "power", skel_inverse_power(v), m->frames, m->nj);

    put_wrench(t, m);
    put_residuals(t, m);
    text_add(t, ",\n  \"uncertainty\": ");
    text_numbers(t, skel_inverse_uncertainty(v), (size_t)m->frames);
    put_contacts(t, m);
    text_add(t, "\n}\n");
}

/* ---- motors ---------------------------------------------------------------------------------- */

/* u (0, v) u^-1 with u = a b: a vector of a frame with orientation b in a body with orientation a,
   in world axes. */
static void rotate(const double *a, const double *b, const double v[3], double out[3]) {
    const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];

    const double s = 2.0 * (x * v[0] + y * v[1] + z * v[2]);
    const double c = 2.0 * w * w - 1.0;
    out[0] = c * v[0] + s * x + 2.0 * w * (y * v[2] - z * v[1]);
    out[1] = c * v[1] + s * y + 2.0 * w * (z * v[0] - x * v[2]);
    out[2] = c * v[2] + s * z + 2.0 * w * (x * v[1] - y * v[0]);
}

/* The force (SKEL_COORDINATE_LENGTH) or torque (SKEL_COORDINATE_ANGLE) of a joint on its child in
   world axes: the sum of e_k x_k over its velocities of that kind, where e_k is the axis of
   velocity k and x_k its generalised force. */
static void world_vector(const skel_joint_desc *j, const skel_joint_kind *kind, int32_t coordinate,
                         const double *poses, const double *x, double out[3]) {
    static const double world[4] = {1, 0, 0, 0};
    const double *a = j->parent >= 0 ? poses + 7 * (size_t)j->parent + 3 : world;
    const double *b = j->child >= 0 ? poses + 7 * (size_t)j->child + 3 : world;
    double outer[3] = {0}, inner[3] = {0}, second[3];

    for (int32_t k = 0; k < kind->dof; ++k) {
        double *of = kind->dof_is_inner[k] ? inner : outer;
        if (kind->dof_kind[k] == coordinate) of[kind->dof_axis[k]] = x[k];
    }

    rotate(a, j->parent_orientation, outer, out);
    rotate(b, j->child_orientation, inner, second);
    for (int e = 0; e < 3; ++e) out[e] += second[e];
}

/* From the centre of mass of a body to the origin of the joint's inner frame, in world axes [m]. */
static void lever_arm(const skel_joint_desc *j, const double *poses, int32_t body, double out[3]) {
    static const double identity[7] = {0, 0, 0, 1, 0, 0, 0};
    const double *child = j->child >= 0 ? poses + 7 * (size_t)j->child : identity;
    const double *from = poses + 7 * (size_t)body;
    rotate(child + 3, identity + 3, j->child_position, out);
    for (int e = 0; e < 3; ++e) out[e] += child[e] - from[e];
}

typedef struct curves {
    double *motor;              /* (frames, nj) [N m], [N] */
    double *force, *torque;     /* (frames, nb, 3) loads in world axes [N], [N m] */
    double *poses, *velocities; /* of the first frame */
    double *now;                /* poses of the present frame */
} curves;

static void free_curves(curves *c) {
    free(c->motor);
    free(c->force);
    free(c->torque);
    free(c->poses);
    free(c->velocities);
    free(c->now);
}

static int create_curves(const motion *m, curves *c) {
    const size_t n = (size_t)m->frames, nb = (size_t)m->nb;
    c->motor = calloc(n * (size_t)m->nj + 1, sizeof(double));
    c->force = calloc(n * nb * 3, sizeof(double));
    c->torque = calloc(n * nb * 3, sizeof(double));
    c->poses = calloc(nb * 7, sizeof(double));
    c->now = calloc(nb * 7, sizeof(double));
    c->velocities = calloc(nb * 6, sizeof(double));
    return c->motor && c->force && c->torque && c->poses && c->now && c->velocities;
}

/* Adds a force at the inner frame of a joint, and a torque, to the loads of a body. A load acts at
   the centre of mass, about which the force has the torque r x F. */
static void add_load(const motion *m, curves *c, size_t frame, const skel_joint_desc *j,
                     int32_t body, double sign, const double force[3], const double torque[3]) {
    if (body < 0) return;
    const size_t at = (frame * (size_t)m->nb + (size_t)body) * 3;
    double r[3];
    lever_arm(j, c->now, body, r);
    for (size_t e = 0; e < 3; ++e) {
        const size_t f = (e + 1) % 3, g = (e + 2) % 3;
        c->force[at + e] += sign * force[e];
        c->torque[at + e] += sign * (torque[e] + r[f] * force[g] - r[g] * force[f]);
    }
}

/* The force of a joint: a motor if the joint has one velocity, otherwise a pair of forces and
   torques on both bodies. */
static void add_joint(const motion *m, curves *c, int32_t f, int32_t joint) {
    const size_t at = (size_t)f;
    const skel_joint_desc j = joint_of(m->model, joint);
    const skel_joint_kind kind = kind_of(m->model, joint);
    const double *x = skel_inverse_torque(m->inverse) + at * (size_t)m->nv +
                      skel_model_joint_dof_offset(m->model, joint);
    double force[3], torque[3];

    /* The torque of a motor acts on the parent, hence the sign. */
    if (kind.has_axis) c->motor[at * (size_t)m->nj + (size_t)joint] = -x[0];
    if (kind.has_axis || kind.dof == 0) return;

    world_vector(&j, &kind, SKEL_COORDINATE_LENGTH, c->now, x, force);
    world_vector(&j, &kind, SKEL_COORDINATE_ANGLE, c->now, x, torque);
    add_load(m, c, at, &j, j.parent, -1.0, force, torque);
    add_load(m, c, at, &j, j.child, 1.0, force, torque);
}

static skel_status fill_curves(const motion *m, curves *c) {
    skel_state *state = NULL;
    skel_status status = skel_state_create(m->model, &state, NULL);
    for (int32_t f = 0; status == SKEL_OK && f < m->frames; ++f) {
        status = skel_inverse_get_state(m->inverse, f, state, NULL, NULL);
        if (status == SKEL_OK) status = skel_state_get_poses(state, c->now);
        if (f == 0 && status == SKEL_OK) {
            skel_state_get_poses(state, c->poses);
            skel_state_get_velocities(state, c->velocities);
        }

        for (int32_t j = 0; j < m->nj; ++j) add_joint(m, c, f, j);

        /* The residual acts on the free roots as a load. */
        for (int32_t k = 0; free_root(m, k) >= 0; ++k) {
            const size_t at = (size_t)f * (size_t)m->nb + (size_t)free_root(m, k);
            const double *r = skel_inverse_residual(m->inverse) + 6 * at;
            for (size_t i = 0; i < 3; ++i) {
                c->force[3 * at + i] += r[i];
                c->torque[3 * at + i] += r[3 + i];
            }
        }
    }
    skel_state_destroy(state);
    return status;
}

static int write_motors(const call *c, const skel_scene *scene, const motion *m) {
    curves x = {0};
    skel_status status = create_curves(m, &x) ? fill_curves(m, &x) : SKEL_E_MEMORY;
    skel_scene_edit e;
    skel_scene_edit_init(&e);
    e.sample_count = (uint32_t)m->frames;
    e.sample_rate = skel_track_fps(m->track);
    e.poses = x.poses;
    e.velocities = x.velocities;
    e.motor = x.motor;
    e.force = x.force;
    e.torque = x.torque;
    e.has_bake = 1;
    e.fps = e.sample_rate;
    e.frame_start = skel_track_frame_start(m->track);
    e.frame_end = e.frame_start + m->frames - 1;

    const int code = status == SKEL_OK ? cli_write_edited(c->motors, scene, &e)
                                       : cli_error(cli_exit_code(status), c->words[0], "%s",
                                                   skel_status_text(status));
    free_curves(&x);
    return code;
}

/* ---- warnings -------------------------------------------------------------------------------- */

static int count_flagged(const motion *m, int32_t bits) {
    int count = 0;
    for (int32_t f = 0; f < m->frames; ++f)
        count += (skel_inverse_flags(m->inverse)[f] & bits) != 0;
    return count;
}

/* Weight of all dynamic bodies [N], with the gravity of the earth if the scene has none. */
static double weight_of(const motion *m) {
    double mass = 0, g[3];
    skel_body_desc b;
    skel_model_get_gravity(m->model, g);

    for (int32_t i = 0; i < m->nb; ++i) {
        skel_body_desc_init(&b);
        skel_model_get_body(m->model, i, &b);
        if (b.motion == SKEL_MOTION_DYNAMIC) mass += b.mass;
    }

    const double gravity = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    return mass * (gravity > 0 ? gravity : 9.81);
}

typedef struct residual {
    int32_t frame, body;
    double force; /* [N] */
} residual;

/* The residual force that exceeds the uncertainty of its frame by the most; frame -1: none does. */
static residual find_residual(const motion *m) {
    residual out = {.frame = -1, .body = -1};
    double largest = 0;
    for (int32_t f = 0; f < m->frames; ++f) {
        if (skel_inverse_flags(m->inverse)[f] & SKEL_INVERSE_ACROSS_EVENT) continue;
        for (int32_t k = 0; free_root(m, k) >= 0; ++k) {
            const size_t at = (size_t)f * (size_t)m->nb + (size_t)free_root(m, k);
            const double *r = skel_inverse_residual(m->inverse) + 6 * at;
            const double force = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);

            const double excess = force - skel_inverse_uncertainty(m->inverse)[f];
            if (!(excess > largest)) continue;
            largest = excess;
            out = (residual){f, free_root(m, k), force};
        }
    }
    return out;
}

/* Number of frames with an uncertainty above the limit [N], and the most uncertain frame. */
static int count_uncertain(const motion *m, double limit, int32_t *worst) {
    const double *x = skel_inverse_uncertainty(m->inverse);
    int count = 0;
    *worst = 0;
    for (int32_t f = 0; f < m->frames; ++f) {
        count += x[f] > limit;
        if (x[f] > x[*worst]) *worst = f;
    }
    return count;
}

/* Reports forces that contacts cannot provide, and frames in which that is uncertain. */
static void warn_residual(const call *c, const motion *m) {
    const int32_t start = skel_track_frame_start(m->track);
    const double limit = CLI_RESIDUAL_WARN * weight_of(m);
    const residual r = find_residual(m);
    int32_t worst = 0;
    const int uncertain = count_uncertain(m, limit, &worst);
    char text[400];

    if (uncertain > 0) {
        snprintf(
            text, sizeof text,
            "in %d of %d frames the forces have an error of more than a hundredth of the weight, "
            "in frame %d of up to %.3g N: the motion jumps or is noisy there; use a track with "
            "more frames per second, or --cutoff",
            uncertain, (int)m->frames, (int)(start + worst),
            skel_inverse_uncertainty(m->inverse)[worst]);
        cli_warn(c->words[1], text);
    }

    if (r.frame >= 0 && r.force > limit) {
        snprintf(
            text, sizeof text,
            "frame %d: '%.64s' needs an external force of %.3g N that contacts cannot provide: "
            "they only push, within their friction cones, where bodies touch; see its "
            "residual",
            (int)(start + r.frame), skel_model_body_name(m->model, r.body), r.force);
        cli_warn(c->words[1], text);
    }
}

static void warn_contacts(const call *c, const motion *m) {
    const skel_inverse_summary *sum = &m->sum;
    const int law = count_flagged(m, SKEL_INVERSE_LAW);
    const int unsolved = count_flagged(m, SKEL_INVERSE_UNSOLVED);
    char text[400];

    if (sum->event_samples > 0) {
        snprintf(
            text, sizeof text,
            "in %d of %d frames the derivatives span a touch-down, a lift-off or the impact on a "
            "joint stop: the forces there are smoothed; use a track with more frames per second",
            (int)sum->event_samples, (int)m->frames);
        cli_warn(c->words[1], text);
    }
    if (law > 0) {
        snprintf(text, sizeof text,
                 "in %d of %d frames the equations do not determine the force of some contact (its "
                 "skeleton is pinned, hangs from the world, or touches itself): those forces are "
                 "computed by the contact law from the penetration",
                 law, (int)m->frames);
        cli_warn(c->words[1], text);
    }
    if (unsolved > 0) {
        snprintf(text, sizeof text,
                 "in %d of %d frames the search for contact forces did not converge", unsolved,
                 (int)m->frames);
        cli_warn(c->words[1], text);
    }
    if (sum->contact_samples > 0) warn_residual(c, m);
}

static void warn(const call *c, const motion *m) {
    const skel_inverse_summary *sum = &m->sum;
    char text[320];

    if (sum->joint_gap > CLI_GAP_WARN || sum->misalignment > CLI_GAP_WARN) {
        snprintf(text, sizeof text,
                 "its poses violate the joints by up to %.3g m and %.3g rad; the closest joint "
                 "coordinates were used",
                 sum->joint_gap, sum->misalignment);
        cli_warn(c->words[1], text);
    }
    if (sum->suggested_cutoff > 0.0) {
        snprintf(text, sizeof text,
                 "%.0f %% of the torque of '%.64s' is noise above %.3g Hz, a quarter of the frame "
                 "rate: differentiating twice amplifies it; use --cutoff %.2g",
                 100.0 * sum->noise, skel_model_joint_name(m->model, sum->noise_joint),
                 0.25 * skel_track_fps(m->track), sum->suggested_cutoff);
        cli_warn(c->words[1], text);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static int write_forces(const call *c, const motion *m) {
    text_buffer t = {0};
    if (c->as_json)
        put_json(&t, m);
    else
        put_csv(&t, m);
    const int code = cli_write(c->out, &t);
    text_free(&t);
    return code;
}

/* Prints the warnings and writes all outputs. */
static int write_outputs(const call *c, const skel_scene *scene, motion *m) {
    m->touched = calloc((size_t)m->nb + 1, 1);
    if (!m->touched)
        return cli_error(cli_exit_code(SKEL_E_MEMORY), c->words[0], "%s",
                         skel_status_text(SKEL_E_MEMORY));
    for (int32_t i = 0; i < m->nb && m->sum.contact_samples > 0; ++i)
        m->touched[i] = (unsigned char)is_touched(m, i);

    warn(c, m);
    warn_contacts(c, m);
    int code = write_forces(c, m);
    if (code == CLI_DONE && c->motors) code = write_motors(c, scene, m);
    free(m->touched);
    return code;
}

static int solve(const call *c, const skel_scene *scene, const skel_track *track) {
    skel_inverse *inverse = NULL;
    skel_inverse_desc d;
    skel_error err;
    skel_error_init(&err);
    skel_inverse_desc_init(&d);
    d.model = skel_scene_model(scene);
    d.poses = skel_track_poses(track);
    d.sample_count = (uint32_t)skel_track_frame_count(track);
    d.sample_rate = skel_track_fps(track);

    int code = cli_read_number("--cutoff", c->cutoff, 1, &d.cutoff);
    if (code != CLI_DONE) return code;
    if (!(d.cutoff < 0.5 * d.sample_rate))
        return cli_error(CLI_WRONG, NULL,
                         "--cutoff: is %g Hz, must be below half the frame rate of the track, %g "
                         "Hz",
                         d.cutoff, 0.5 * d.sample_rate);

    const skel_status status = skel_inverse_create(&d, &inverse, &err);
    if (status < 0) return cli_error(cli_exit_code(status), c->words[0], "%s", err.text);

    motion m = {.model = d.model, .track = track, .inverse = inverse};
    m.frames = (int32_t)d.sample_count;
    m.nb = skel_model_body_count(m.model);
    m.nj = skel_model_joint_count(m.model);
    m.nv = skel_model_dof(m.model);
    m.sum.struct_size = sizeof m.sum;
    skel_inverse_get_summary(inverse, &m.sum);

    code = write_outputs(c, scene, &m);
    skel_inverse_destroy(inverse);
    return code;
}

/* Whether the name of a format, as in --to or behind the dot of a file, is `format`. */
static int is_format(const char *name, const char *format) {
    return name && strcmp(name, format) == 0;
}

/* The format by --to, or by the name of the file; CSV for standard output. */
static int pick_format(call *c) {
    const int is_file = c->out && strcmp(c->out, "-") != 0;
    const char *dot = is_file ? strrchr(c->out, '.') : NULL;
    const char *name = c->to;
    if (!name && dot) name = dot + 1;

    c->as_json = is_format(name, "json");
    if (c->as_json || is_format(name, "csv") || (!c->to && !is_file)) return CLI_DONE;
    if (c->to) return cli_error(CLI_WRONG, NULL, "--to: is '%s', must be csv or json", c->to);
    return cli_error(CLI_WRONG, c->out, "must end in .csv or .json, or --to must be given");
}

static int check_files(const call *c) {
    const char *standard = c->out && strcmp(c->out, "-") != 0 ? "" : "-";
    for (int k = 0; k < 2; ++k) {
        if (cli_is_same_file(c->words[k], c->out) || cli_is_same_file(c->words[k], c->motors))
            return cli_error(CLI_WRONG, c->words[k],
                             "is an input, must not be overwritten by an output");
    }
    if (strcmp(c->words[0], "-") == 0 && strcmp(c->words[1], "-") == 0)
        return cli_error(CLI_WRONG, NULL, "only one of SCENE and TRACK can be standard input");
    if (cli_is_same_file(c->out, c->motors) || (c->motors && strcmp(c->motors, standard) == 0))
        return cli_error(CLI_WRONG, c->motors, "forces and scene must be different files");
    return CLI_DONE;
}

int cli_inverse(int argc, char **argv) {
    call c = {0};
    const cli_option options[] = {{"-o", &c.out, NULL},
                                  {"--to", &c.to, NULL},
                                  {"--cutoff", &c.cutoff, NULL},
                                  {"--motors", &c.motors, NULL},
                                  {NULL, NULL, NULL}};
    skel_scene *scene = NULL;
    skel_track *track = NULL;

    int code = cli_read_options(argc, argv, options, "skel inverse SCENE TRACK", c.words, 2);
    if (code == CLI_DONE) code = pick_format(&c);
    if (code == CLI_DONE) code = check_files(&c);
    if (code == CLI_DONE) code = cli_read_scene(c.words[0], &scene);
    if (code == CLI_DONE) code = cli_read_track(c.words[1], skel_scene_model(scene), &track);
    if (code == CLI_DONE && !(skel_track_fps(track) > 0.0))
        code = cli_error(CLI_WRONG, c.words[1], "is a pose, must be a skel-track/1");
    if (code == CLI_DONE && skel_track_frame_count(track) < 3)
        code = cli_error(CLI_WRONG, c.words[1],
                         "position: has %d frames, must have at least 3: an acceleration needs "
                         "three poses",
                         (int)skel_track_frame_count(track));
    if (code == CLI_DONE) cli_warn_scene(c.words[0], scene);
    if (code == CLI_DONE) code = solve(&c, scene, track);

    skel_track_destroy(track);
    skel_scene_destroy(scene);
    return code;
}
