/* SPDX-License-Identifier: BSD-3-Clause */
/* Read access to a model: counts, names, and the descs of its parts. */
#include "base/desc.h"
#include "base/error.h"
#include "model/world.h"

#include <string.h>

#define NAME_NOT_FOUND (-2) /* -1 is the world */

int32_t skel_model_body_count(const skel_model *model) {
    return model ? model->nb : 0;
}

int32_t skel_model_joint_count(const skel_model *model) {
    return model ? model->nj : 0;
}

int32_t skel_model_q_count(const skel_model *model) {
    return model ? model->nq : 0;
}

int32_t skel_model_dof(const skel_model *model) {
    return model ? model->nv : 0;
}

int32_t skel_model_find_body(const skel_model *model, const char *name) {
    if (!model || !name) return NAME_NOT_FOUND;
    if (strcmp(name, "world") == 0) return SKEL_WORLD;
    for (int32_t i = 0; i < model->nb; ++i)
        if (strcmp(model->body[i].name, name) == 0) return i;
    return NAME_NOT_FOUND;
}

int32_t skel_model_find_joint(const skel_model *model, const char *name) {
    if (!model || !name) return NAME_NOT_FOUND;
    for (int32_t i = 0; i < model->nj; ++i)
        if (strcmp(model->joint[i].name, name) == 0) return i;
    return NAME_NOT_FOUND;
}

static int has_body(const skel_model *m, int32_t i) {
    return m && i >= 0 && i < m->nb;
}

static int has_joint(const skel_model *m, int32_t i) {
    return m && i >= 0 && i < m->nj;
}

const char *skel_model_body_name(const skel_model *model, int32_t body) {
    return has_body(model, body) ? model->body[body].name : NULL;
}

const char *skel_model_joint_name(const skel_model *model, int32_t joint) {
    return has_joint(model, joint) ? model->joint[joint].name : NULL;
}

int32_t skel_model_joint_q_offset(const skel_model *model, int32_t joint) {
    return has_joint(model, joint) ? model->joint[joint].q_offset : -1;
}

int32_t skel_model_joint_dof_offset(const skel_model *model, int32_t joint) {
    return has_joint(model, joint) ? model->joint[joint].v_offset : -1;
}

int32_t skel_model_mimic_source(const skel_model *model, int32_t joint, double *multiplier,
                                double *offset) {
    if (!has_joint(model, joint) || model->joint[joint].mimic_root < 0) return -1;
    if (multiplier) *multiplier = model->joint[joint].mimic_factor;
    if (offset) *offset = model->joint[joint].mimic_shift;
    return model->joint[joint].mimic_root;
}

int32_t skel_model_mimic_count(const skel_model *model) {
    return model ? model->nmimic : 0;
}

skel_status skel_model_apply_mimic(const skel_model *model, double *q) {
    if (!model || !q) return SKEL_E_ARGUMENT;
    skel__mimic_apply(model, q);
    return SKEL_OK;
}

void skel_model_get_gravity(const skel_model *model, double gravity[3]) {
    if (model && gravity) v3_to(model->gravity, gravity);
}

/* xx yy zz xy xz yz */
static void fill_inertia(const skel__body *b, double out[6]) {
    const m3 *j = &b->inertia;
    const double values[6] = {j->r[0].x, j->r[1].y, j->r[2].z, j->r[0].y, j->r[0].z, j->r[1].z};
    memcpy(out, values, sizeof values);
}

skel_status skel_model_get_body(const skel_model *model, int32_t body, skel_body_desc *out) {
    if (!has_body(model, body) || !out) return SKEL_E_ARGUMENT;

    const skel__body *b = &model->body[body];
    skel_body_desc d;
    skel_body_desc_init(&d);

    d.motion = b->motion;
    d.name = b->name;

    d.mass = b->mass;
    fill_inertia(b, d.inertia);

    v3_to(b->x0.p, d.position);
    q_to(b->x0.q, d.orientation);
    v3_to(b->v0, d.velocity);
    v3_to(b->w0, d.angular_velocity);

    v3_to(b->force, d.force);
    v3_to(b->torque, d.torque);
    d.force_curve = b->force_curve;
    d.torque_curve = b->torque_curve;
    d.position_curve = b->position_curve;
    d.orientation_curve = b->orientation_curve;

    memcpy(d.size, b->size, sizeof d.size);
    d.shape = b->shape;

    d.pinned = b->pinned;
    d.pinned_count = b->pinned_count;
    d.flags = b->is_smooth ? SKEL_FLAG_SMOOTH : 0;
    d.contacts = b->contacts;
    d.contact_count = b->contact_count;
    d.collide = b->collide;

    return skel__desc_export(out, &d, sizeof d, sizeof d);
}

skel_status skel_model_get_joint(const skel_model *model, int32_t joint, skel_joint_desc *out) {
    if (!has_joint(model, joint) || !out) return SKEL_E_ARGUMENT;

    const skel__joint *j = &model->joint[joint];
    skel_joint_desc d;
    skel_joint_desc_init(&d);

    d.type = j->type;
    d.name = j->name;
    d.parent = j->a;
    d.child = j->b;

    v3_to(j->fa.p, d.parent_position);
    q_to(j->fa.q, d.parent_orientation);
    v3_to(j->fb.p, d.child_position);
    q_to(j->fb.q, d.child_orientation);

    d.pitch = j->pitch;
    d.friction = j->friction;
    d.motor = j->motor;
    d.motor_curve = j->motor_curve;
    d.flags = j->is_smooth ? SKEL_FLAG_SMOOTH : 0;

    d.limits = j->limits;
    d.follow = j->follow;
    d.spring = j->spring;
    d.muscle = j->muscle;
    d.mimic = j->mimic;

    return skel__desc_export(out, &d, sizeof d, sizeof d);
}

int32_t skel_model_ground_count(const skel_model *model) {
    return model ? model->ng : 0;
}

int32_t skel_model_wobble_count(const skel_model *model) {
    return model ? model->nw : 0;
}

int32_t skel_model_field_count(const skel_model *model) {
    return model ? model->nf : 0;
}

skel_status skel_model_get_ground(const skel_model *model, int32_t ground, skel_ground_desc *out) {
    if (!model || ground < 0 || ground >= model->ng || !out) return SKEL_E_ARGUMENT;

    const skel__ground *g = &model->ground[ground];
    skel_ground_desc d;
    skel_ground_desc_init(&d);

    d.body = g->body;
    v3_to(g->given_point, d.point);
    v3_to(g->given_normal, d.normal);

    d.friction = g->friction;

    /* Defaults are reported as 0, as the caller gave them. */
    d.a = g->is_default ? 0 : g->a;
    d.b = g->is_default ? 0 : g->b;
    d.d = g->is_default ? 0 : g->d;
    d.stick_stiffness = g->is_stick_default ? 0 : g->stick_k;
    d.stick_damping = g->is_stick_default ? 0 : g->stick_d;

    d.is_rigid = g->is_rigid;
    d.restitution = g->restitution;
    d.tangential_restitution = g->tangential_restitution;

    return skel__desc_export(out, &d, sizeof d, sizeof d);
}

skel_status skel_model_get_wobble(const skel_model *model, int32_t wobble, skel_wobble_desc *out) {
    if (!model || wobble < 0 || wobble >= model->nw || !out) return SKEL_E_ARGUMENT;

    const skel__wobble *w = &model->wobble[wobble];
    skel_wobble_desc d;
    skel_wobble_desc_init(&d);

    d.body = w->body;
    d.host = w->host;
    v3_to(w->rest, d.rest);
    v3_to(w->axis, d.axis);

    d.along_c = w->along_c;
    d.along_d = w->along_d;
    d.across_c = w->across_c;
    d.across_d = w->across_d;
    d.turn_a = w->turn_a;
    d.turn_b = w->turn_b;

    return skel__desc_export(out, &d, sizeof d, sizeof d);
}

skel_status skel_model_get_field(const skel_model *model, int32_t field, skel_field_desc *out) {
    if (!model || field < 0 || field >= model->nf || !out) return SKEL_E_ARGUMENT;
    return skel__desc_export(out, &model->field[field], sizeof *out, sizeof *out);
}

skel_status skel_model_get_frame(const skel_model *model, double spin[3], double acceleration[3],
                                 skel_curve *spin_curve, skel_curve *acceleration_curve) {
    if (!model) return SKEL_E_ARGUMENT;
    if (spin) v3_to(model->frame_spin, spin);
    if (acceleration) v3_to(model->frame_acceleration, acceleration);
    if (spin_curve) *spin_curve = model->frame_spin_curve;
    if (acceleration_curve) *acceleration_curve = model->frame_acceleration_curve;
    return SKEL_OK;
}

skel_status skel_model_check_dynamics(const skel_model *model, skel_error *err) {
    if (!model) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model: is NULL");

    for (int32_t k = 0; k < model->nd; ++k) {
        const int32_t i = model->order[k];
        if (!(model->body[i].mass > 0))
            return skel__fail(err, SKEL_E_MASS, i, -1,
                              "bodies[%d].mass: is missing, dynamics needs the mass of '%s' in kg",
                              i, model->body[i].name);
    }
    return SKEL_OK;
}
