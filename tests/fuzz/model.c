/* SPDX-License-Identifier: BSD-3-Clause */
/* Models from bytes. Each byte decides something, so that libFuzzer's small changes are small
   changes of the model, and nearly every input makes one. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>

#define PI 3.14159265358979323846
#define FUZZ_MODEL_BODIES_MAX 8

/* ---- numbers --------------------------------------------------------------------------------- */

static uint8_t next_byte(fuzz_bytes *b) {
    return b->at < b->size ? b->data[b->at++] : 0;
}

int32_t fuzz_choose(fuzz_bytes *b, int32_t count) {
    return next_byte(b) % count;
}

double fuzz_number(fuzz_bytes *b) {
    static const double k_special[] = {0,    1e-9, -1e-9, 1e-5, 1e-3, -1e-3, 100,
                                       -100, 1e4,  1e6,   -1e6, 1e9,  PI,    -PI / 2};
    const int32_t special = (int32_t)(sizeof k_special / sizeof *k_special);
    const int32_t k = next_byte(b);
    if (k < special) return k_special[k];
    return (k - 135) / 32.0; /* about -4 to 4, 0 among them */
}

double fuzz_unit(fuzz_bytes *b) {
    return next_byte(b) / 255.0;
}

void fuzz_vector(fuzz_bytes *b, double x[3]) {
    for (int k = 0; k < 3; ++k) x[k] = fuzz_number(b);
}

void fuzz_rotation(fuzz_bytes *b, double q[4]) {
    double sum = 0;
    for (int k = 0; k < 4; ++k) {
        q[k] = fuzz_unit(b) - (k > 0 ? 0.5 : 0);
        sum += q[k] * q[k];
    }
    for (int k = 0; k < 4; ++k) q[k] = sum > 1e-6 ? q[k] / sqrt(sum) : k == 0;
}

/* ---- bodies and joints ----------------------------------------------------------------------- */

/* Times and values of curves, which the descs point into. */
typedef struct curves {
    double time[4];
    double value[FUZZ_MODEL_BODIES_MAX][16];
    char name[FUZZ_MODEL_BODIES_MAX][8];
    double contact[3];
    double pinned[2];
} curves;

static void make_body(fuzz_bytes *b, int32_t i, curves *c, skel_body_desc *d) {
    skel_body_desc_init(d);
    snprintf(c->name[i], sizeof c->name[i], "b%d", (int)i);
    d->name = c->name[i];
    d->motion = fuzz_choose(b, 8) == 1 ? SKEL_MOTION_FIXED : SKEL_MOTION_DYNAMIC;
    d->mass = fabs(fuzz_number(b)) + 1e-3;
    d->shape = 1 + fuzz_choose(b, 5);
    d->collide = fuzz_choose(b, 4) - 2;
    for (int k = 0; k < 3; ++k) d->size[k] = 0.05 + fuzz_unit(b);
    skel_shape_inertia(d->shape, d->size, d->mass, d->inertia);
    fuzz_vector(b, d->position);
    fuzz_rotation(b, d->orientation);
    fuzz_vector(b, d->velocity);
    fuzz_vector(b, d->angular_velocity);

    const int32_t extra = fuzz_choose(b, 8);
    if (extra == 1) fuzz_vector(b, d->force);
    if (extra == 2) {
        d->contacts = c->contact;
        d->contact_count = 1;
    }
    if (extra == 3 && d->motion == SKEL_MOTION_DYNAMIC) {
        d->pinned = c->pinned;
        d->pinned_count = 1;
    }
    if (extra == 4) {
        for (int k = 0; k < 12; ++k) c->value[i][k] = fuzz_number(b);
        d->force_curve = (skel_curve){c->time, c->value[i], 4, 3};
        d->flags = (uint32_t)fuzz_choose(b, 2);
    }
    if (extra == 5 && d->motion == SKEL_MOTION_FIXED) {
        for (int k = 0; k < 12; ++k) c->value[i][k] = fuzz_number(b);
        d->motion = SKEL_MOTION_DRIVEN;
        d->position_curve = (skel_curve){c->time, c->value[i], 4, 3};
    }
}

static bool slides_or_turns(const skel_joint_desc *d) {
    return d->type == SKEL_JOINT_HINGE || d->type == SKEL_JOINT_SLIDE;
}

/* Springs, stops and muscles; what the type does not allow is refused by the model. */
static void add_forces(fuzz_bytes *b, skel_joint_desc *d) {
    const int32_t extra = fuzz_choose(b, 16);
    if (extra & 1) d->friction = fabs(fuzz_number(b));
    if (extra & 2) {
        d->limits.is_set = 1;
        d->limits.high[0] = fuzz_unit(b) * 3;
        d->limits.low[0] = d->type == SKEL_JOINT_BALL ? 0 : -fuzz_unit(b) * 3;
        d->limits.high[1] = fuzz_unit(b) * 3;
        d->limits.low[1] = -fuzz_unit(b) * 3;
        d->limits.restitution = fuzz_unit(b);
    }
    if (extra & 4) {
        d->follow.frequency = fuzz_unit(b) * 20;
        d->follow.damping = fuzz_unit(b) * 2;
        d->follow.max = fuzz_choose(b, 2) ? fabs(fuzz_number(b)) : 0;
    }
    if ((extra & 8) && slides_or_turns(d)) {
        d->motor = fuzz_number(b);
        d->spring.stiffness = fabs(fuzz_number(b));
        d->spring.damping = fabs(fuzz_number(b));
        d->spring.rest = fuzz_unit(b);
    }
}

/* The kinds that came later are reached from those with as many coordinates, so that the older
   inputs of the corpus keep their meaning. */
static void choose_later_kind(fuzz_bytes *b, skel_joint_desc *d) {
    if (d->type == SKEL_JOINT_UNIVERSAL) {
        d->type = SKEL_JOINT_PLANAR;
        d->q[2] = fuzz_number(b);
    } else if (d->type == SKEL_JOINT_HINGE) {
        d->type = SKEL_JOINT_SCREW;
        d->pitch = fuzz_number(b);
    }
}

/* Joint i leads to its child from a body before it or from the world. */
static void make_joint(fuzz_bytes *b, int32_t i, int32_t child, skel_joint_desc *joints) {
    skel_joint_desc *d = &joints[i];
    skel_joint_desc_init(d);
    d->type = fuzz_choose(b, 5);
    d->child = child;
    d->parent = fuzz_choose(b, child + 1) - 1;
    fuzz_vector(b, d->parent_position);
    fuzz_rotation(b, d->parent_orientation);
    fuzz_vector(b, d->child_position);
    fuzz_rotation(b, d->child_orientation);
    if (d->type == SKEL_JOINT_BALL)
        fuzz_rotation(b, d->q);
    else
        for (int k = 0; k < 2; ++k) d->q[k] = fuzz_number(b);
    if (d->type == SKEL_JOINT_FIXED) d->q[0] = d->q[1] = 0;
    if (d->type != SKEL_JOINT_UNIVERSAL && d->type != SKEL_JOINT_BALL) d->q[1] = 0;
    if (d->type != SKEL_JOINT_FIXED) add_forces(b, d);
    const int32_t source = fuzz_choose(b, 2 * FUZZ_MODEL_BODIES_MAX);
    if (source == 2 * FUZZ_MODEL_BODIES_MAX - 1) choose_later_kind(b, d);
    if (source < i && slides_or_turns(d) && slides_or_turns(&joints[source])) {
        d->mimic.source = source;
        d->mimic.multiplier = fuzz_number(b);
        d->mimic.offset = fuzz_number(b);
    }
}

/* ---- the world ------------------------------------------------------------------------------- */

static void make_ground(fuzz_bytes *b, skel_ground_desc *g) {
    skel_ground_desc_init(g);
    g->body = SKEL_WORLD;
    g->point[2] = fuzz_number(b);
    g->normal[2] = 1;
    g->is_rigid = fuzz_choose(b, 2);
    g->restitution = g->is_rigid ? fuzz_unit(b) : 0;
    g->friction = fuzz_unit(b) * 2;
}

static void make_field(fuzz_bytes *b, skel_field_desc *f) {
    skel_field_desc_init(f);
    f->type = fuzz_choose(b, 4);
    f->body = SKEL_WORLD;
    fuzz_vector(b, f->vector);
    f->strength = fuzz_number(b);
    f->scale = 0.1 + fuzz_unit(b);
    f->period = fuzz_unit(b);
    f->seed = (uint32_t)fuzz_choose(b, 256);
}

skel_model *fuzz_model(fuzz_bytes *b) {
    curves c = {.time = {0, 0.01, 0.02, 0.5}, .pinned = {0.01, 0.03}};
    skel_body_desc bodies[FUZZ_MODEL_BODIES_MAX];
    skel_joint_desc joints[FUZZ_MODEL_BODIES_MAX + 1];
    skel_ground_desc ground;
    skel_field_desc field;
    skel_model_desc desc;
    skel_model *model = NULL;
    skel_model_desc_init(&desc);

    const int32_t nb = 1 + fuzz_choose(b, FUZZ_MODEL_BODIES_MAX);
    int32_t nj = 0;
    for (int32_t i = 0; i < nb; ++i) {
        make_body(b, i, &c, &bodies[i]);
        bodies[i].unplaced = bodies[i].motion == SKEL_MOTION_DYNAMIC && fuzz_choose(b, 5) != 1;
        if (bodies[i].unplaced) make_joint(b, nj++, i, joints);
    }
    if (nj > 0 && fuzz_choose(b, 8) == 1) { /* the last joint a second time closes a loop */
        joints[nj] = joints[nj - 1];
        joints[nj].mimic.source = -1;
        ++nj;
    }
    make_ground(b, &ground);
    make_field(b, &field);
    fuzz_vector(b, desc.gravity);
    if (fuzz_choose(b, 8) == 1) fuzz_vector(b, desc.frame_spin);

    desc.bodies = bodies;
    desc.body_count = (uint32_t)nb;
    desc.body_stride = sizeof *bodies;
    desc.joints = joints;
    desc.joint_count = (uint32_t)nj;
    desc.joint_stride = sizeof *joints;
    desc.grounds = &ground;
    desc.ground_count = (uint32_t)fuzz_choose(b, 2);
    desc.fields = &field;
    desc.field_count = (uint32_t)fuzz_choose(b, 2);

    const skel_status status = skel_model_create(&desc, &model, NULL);
    FUZZ_REQUIRE((model != NULL) == (status == SKEL_OK), skel_status_text(status));
    return model;
}
