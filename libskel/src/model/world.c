/* SPDX-License-Identifier: BSD-3-Clause */
/* Grounds, wobbling masses, fields and the moving frame of a model: checks and copies. */
#include "model/world.h"

#include "base/desc.h"
#include "base/error.h"
#include "model/check.h"

_Static_assert(sizeof(skel_ground_desc) == offsetof(skel_ground_desc, tangential_restitution) + 8,
               "tail padding");
_Static_assert(sizeof(skel_wobble_desc) == offsetof(skel_wobble_desc, turn_b) + 8, "tail padding");
_Static_assert(sizeof(skel_field_desc) == offsetof(skel_field_desc, body) + 4, "tail padding");

static const skel_ground_desc k_ground = {
    .struct_size = sizeof k_ground, .body = SKEL_WORLD, .normal = {0, 0, 1}, .friction = 0.8};
static const skel_wobble_desc k_wobble = {.struct_size = sizeof k_wobble, .axis = {0, 0, 1}};
static const skel_field_desc k_field = {.struct_size = sizeof k_field,
                                        .axis = {0, 0, 1},
                                        .scale = 1,
                                        .density = 1.2,
                                        .coefficient = 1,
                                        .body = SKEL_WORLD};

void skel_ground_desc_init_sized(skel_ground_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_ground, sizeof k_ground);
}
void skel_wobble_desc_init_sized(skel_wobble_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_wobble, sizeof k_wobble);
}
void skel_field_desc_init_sized(skel_field_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_field, sizeof k_field);
}

/* ---- reading descs -------------------------------------------------------------------------- */

/* Reads entry i of a list of descs into *out, which holds the defaults. */
static skel_status import(void *out, size_t size, const void *list, uint32_t stride, int32_t i,
                          const char *name, skel_error *err) {
    const unsigned char *at = (const unsigned char *)list + (size_t)i * stride;
    if (skel__desc_import(out, size, size, at) == SKEL_OK) return SKEL_OK;
    return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1,
                      "%ss[%d].struct_size: must be set by skel_%s_desc_init", name, i, name);
}

static skel_status read_ground(const skel_model_desc *d, int32_t i, skel_ground_desc *out,
                               skel_error *err) {
    *out = k_ground;
    return import(out, sizeof *out, d->grounds, d->ground_stride, i, "ground", err);
}
static skel_status read_wobble(const skel_model_desc *d, int32_t i, skel_wobble_desc *out,
                               skel_error *err) {
    *out = k_wobble;
    return import(out, sizeof *out, d->wobbles, d->wobble_stride, i, "wobble", err);
}
static skel_status read_field(const skel_model_desc *d, int32_t i, skel_field_desc *out,
                              skel_error *err) {
    *out = k_field;
    return import(out, sizeof *out, d->fields, d->field_stride, i, "field", err);
}

/* ---- checks --------------------------------------------------------------------------------- */

static skel_status check_list(const char *name, const void *list, uint32_t count, uint32_t stride,
                              size_t least, skel_error *err) {
    if (count == 0) return SKEL_OK;
    if (!list || count > SKEL__MAX_BODIES)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "%ss: must be a list of at most %u entries, has %u", name,
                          SKEL__MAX_BODIES, count);
    if (stride < least)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "%s_stride: is %u, must be the size of the desc, %u", name, stride,
                          (unsigned)least);
    return SKEL_OK;
}

static skel_status check_frame(const skel_model_desc *d, skel_error *err) {
    const skel__owner o = {err, SKEL_E_ARGUMENT, NULL, -1};
    SKEL__CHECK(skel__check_finite(o, "frame_spin", d->frame_spin, 3));
    SKEL__CHECK(skel__check_finite(o, "frame_acceleration", d->frame_acceleration, 3));
    SKEL__CHECK(skel__check_curve(o, "frame_spin_curve", &d->frame_spin_curve, 3));
    return skel__check_curve(o, "frame_acceleration_curve", &d->frame_acceleration_curve, 3);
}

skel_status skel__world_check(const skel_model_desc *d, skel_error *err) {
    const int32_t nb = (int32_t)d->body_count;

    SKEL__CHECK(check_list("ground", d->grounds, d->ground_count, d->ground_stride,
                           sizeof(skel_ground_desc), err));
    SKEL__CHECK(check_list("wobble", d->wobbles, d->wobble_count, d->wobble_stride,
                           sizeof(skel_wobble_desc), err));
    SKEL__CHECK(check_list("field", d->fields, d->field_count, d->field_stride,
                           sizeof(skel_field_desc), err));

    for (int32_t i = 0; i < (int32_t)d->ground_count; ++i) {
        skel_ground_desc one;
        SKEL__CHECK(read_ground(d, i, &one, err));
        SKEL__CHECK(
            skel__check_ground((skel__owner){err, SKEL_E_ARGUMENT, "grounds", i}, nb, &one));
    }
    for (int32_t i = 0; i < (int32_t)d->wobble_count; ++i) {
        skel_wobble_desc one;
        SKEL__CHECK(read_wobble(d, i, &one, err));
        SKEL__CHECK(
            skel__check_wobble((skel__owner){err, SKEL_E_ARGUMENT, "wobbles", i}, nb, &one));
    }
    for (int32_t i = 0; i < (int32_t)d->field_count; ++i) {
        skel_field_desc one;
        SKEL__CHECK(read_field(d, i, &one, err));
        SKEL__CHECK(skel__check_field((skel__owner){err, SKEL_E_ARGUMENT, "fields", i}, nb, &one));
    }
    return check_frame(d, err);
}

/* ---- copying -------------------------------------------------------------------------------- */

static skel__ground ground_of(const skel_ground_desc *d) {
    return (skel__ground){
        .body = d->body,
        .is_rigid = d->is_rigid,
        .given_point = v3_of(d->point),
        .given_normal = v3_of(d->normal),
        .friction = d->friction,
        .a = d->a,
        .b = d->a > 0 ? d->b : 0,
        .d = d->a > 0 ? d->d : 0,
        .stick_k = d->stick_stiffness,
        .stick_d = d->stick_stiffness > 0 ? d->stick_damping : 0,
        .restitution = d->restitution,
        .tangential_restitution = d->tangential_restitution,
        .is_default = !(d->a > 0),
        .is_stick_default = !(d->stick_stiffness > 0),
    };
}

static skel__wobble wobble_of(const skel_wobble_desc *d) {
    return (skel__wobble){
        .body = d->body,
        .host = d->host,
        .rest = v3_of(d->rest),
        .axis = v3_of(d->axis),
        .along_c = d->along_c,
        .along_d = d->along_d,
        .across_c = d->across_c,
        .across_d = d->across_d,
        .turn_a = d->turn_a,
        .turn_b = d->turn_b,
    };
}

/* Index of the wobbling mass of a body that is one. */
static int32_t wobble_of_body(const skel_model *m, int32_t body) {
    int32_t i = 0;
    while (i < m->nw - 1 && m->wobble[i].body != body) ++i;
    return i;
}

/* A wobbling mass is connected by its springs only: it has no joint, and its host body does not
   wobble. */
static skel_status check_wobbles(const skel_model *m, skel_error *err) {
    for (int32_t i = 0; i < m->nw; ++i)
        if (m->body[m->wobble[i].host].host >= 0)
            return skel__fail(
                err, SKEL_E_ARGUMENT, -1, -1,
                "wobbles[%d].host: '%s' is a wobbling mass itself, must be a rigid body", i,
                m->body[m->wobble[i].host].name);

    for (int32_t j = 0; m->nw > 0 && j < m->nj; ++j) {
        const int32_t ends[2] = {m->joint[j].a, m->joint[j].b};
        for (int k = 0; k < 2; ++k)
            if (ends[k] >= 0 && m->body[ends[k]].host >= 0)
                return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                                  "wobbles[%d].body: '%s' has the joint '%s', must have none",
                                  wobble_of_body(m, ends[k]), m->body[ends[k]].name,
                                  m->joint[j].name);
    }
    return SKEL_OK;
}

static skel_status copy_wobbles(skel_model *m, const skel_model_desc *desc, skel_error *err) {
    for (int32_t i = 0; i < m->nw; ++i) {
        skel_wobble_desc d;
        SKEL__CHECK(read_wobble(desc, i, &d, err));

        skel__body *body = &m->body[d.body];
        if (body->motion != SKEL_MOTION_DYNAMIC)
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "wobbles[%d].body: '%s' is not dynamic, must be dynamic", i,
                              body->name);
        if (body->host >= 0)
            return skel__fail(
                err, SKEL_E_ARGUMENT, -1, -1,
                "wobbles[%d].body: '%s' is a wobbling mass already, must be named once", i,
                body->name);

        body->host = d.host;
        m->wobble[i] = wobble_of(&d);
    }
    return check_wobbles(m, err);
}

skel_status skel__world_copy(skel_model *m, const skel_model_desc *desc, skel_error *err) {
    m->ng = (int32_t)desc->ground_count;
    m->nw = (int32_t)desc->wobble_count;
    m->nf = (int32_t)desc->field_count;

    for (int32_t i = 0; i < m->ng; ++i) {
        skel_ground_desc d;
        SKEL__CHECK(read_ground(desc, i, &d, err));
        m->ground[i] = ground_of(&d);
    }

    /* contact/candidates.c fills in the constants of contacts between bodies. */
    m->ground[m->ng] = (skel__ground){
        .body = SKEL_WORLD, .given_normal = {0, 0, 1}, .is_default = 1, .is_stick_default = 1};
    SKEL__CHECK(copy_wobbles(m, desc, err));

    for (int32_t i = 0; i < m->nf; ++i) {
        SKEL__CHECK(read_field(desc, i, &m->field[i], err));
        m->field[i].struct_size = (uint32_t)sizeof m->field[i];
    }

    m->frame_spin = v3_of(desc->frame_spin);
    m->frame_acceleration = v3_of(desc->frame_acceleration);
    m->has_frame = v3_dot(m->frame_spin, m->frame_spin) > 0 ||
                   v3_dot(m->frame_acceleration, m->frame_acceleration) > 0 ||
                   desc->frame_spin_curve.count > 0 || desc->frame_acceleration_curve.count > 0;
    return SKEL_OK;
}

void skel__world_place(skel_model *m) {
    for (int32_t i = 0; i <= m->ng; ++i) {
        skel__ground *g = &m->ground[i];
        g->point = g->given_point;
        g->normal = g->given_normal;
        if (g->body < 0) continue;

        const pose x = m->body[g->body].x0;
        g->point = q_rotate(q_conj(x.q), v3_sub(g->given_point, x.p));
        g->normal = q_rotate(q_conj(x.q), g->given_normal);
    }
}
