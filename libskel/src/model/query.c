/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions to a model. */
#include "base/desc.h"
#include "base/error.h"
#include "model/model.h"

#include <string.h>

#define NOT_FOUND (-2)

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
    if (!model || !name) return NOT_FOUND;
    if (strcmp(name, "world") == 0) return SKEL_WORLD;
    for (int32_t i = 0; i < model->nb; ++i)
        if (strcmp(model->body[i].name, name) == 0) return i;
    return NOT_FOUND;
}

int32_t skel_model_find_joint(const skel_model *model, const char *name) {
    if (!model || !name) return NOT_FOUND;
    for (int32_t i = 0; i < model->nj; ++i)
        if (strcmp(model->joint[i].name, name) == 0) return i;
    return NOT_FOUND;
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
void skel_model_gravity(const skel_model *model, double gravity[3]) {
    if (model && gravity) v3_to(model->gravity, gravity);
}

static void fill_inertia(const skel__body *b, double out[6]) {
    const m3 *j = &b->inertia;
    out[0] = j->r[0].x, out[1] = j->r[1].y, out[2] = j->r[2].z;
    out[3] = j->r[0].y, out[4] = j->r[0].z, out[5] = j->r[1].z;
}

skel_status skel_model_get_body(const skel_model *model, int32_t body, skel_body_desc *out) {
    if (!has_body(model, body) || !out) return SKEL_E_ARGUMENT;
    const skel__body *b = &model->body[body];
    skel_body_desc    d;
    skel_body_desc_init(&d);
    d.motion = b->motion;
    d.name   = b->name;
    d.mass   = b->mass;
    fill_inertia(b, d.inertia);
    v3_to(b->x0.p, d.position);
    q_to(b->x0.q, d.orientation);
    v3_to(b->v0, d.velocity);
    v3_to(b->w0, d.angular_velocity);
    v3_to(b->force, d.force);
    v3_to(b->torque, d.torque);
    d.force_curve       = b->force_curve;
    d.torque_curve      = b->torque_curve;
    d.position_curve    = b->position_curve;
    d.orientation_curve = b->orientation_curve;
    memcpy(d.size, b->size, sizeof d.size);
    d.shape        = b->shape;
    d.pinned       = b->pinned;
    d.pinned_count = b->pinned_count;
    return skel__desc_export(out, &d, sizeof d, offsetof(skel_body_desc, pinned));
}

skel_status skel_model_get_joint(const skel_model *model, int32_t joint, skel_joint_desc *out) {
    if (!has_joint(model, joint) || !out) return SKEL_E_ARGUMENT;
    const skel__joint *j = &model->joint[joint];
    skel_joint_desc    d;
    skel_joint_desc_init(&d);
    d.type   = j->type;
    d.name   = j->name;
    d.parent = j->a;
    d.child  = j->b;
    v3_to(j->fa.p, d.parent_position);
    q_to(j->fa.q, d.parent_orientation);
    v3_to(j->fb.p, d.child_position);
    q_to(j->fb.q, d.child_orientation);
    d.friction    = j->friction;
    d.motor       = j->motor;
    d.motor_curve = j->motor_curve;
    d.has_limits  = j->has_limits;
    memcpy(d.limit_low, j->limit_low, sizeof d.limit_low);
    memcpy(d.limit_high, j->limit_high, sizeof d.limit_high);
    v3_to(j->limit_axis, d.limit_axis);
    d.follow_frequency = j->follow_frequency;
    d.follow_damping   = j->follow_damping;
    d.follow_max       = j->follow_max;
    d.follow_curve     = j->follow_curve;
    d.follow_weight    = j->follow_weight;
    return skel__desc_export(out, &d, sizeof d, offsetof(skel_joint_desc, follow_frequency));
}

skel_status skel_model_check_dynamics(const skel_model *model, skel_error *err) {
    if (!model) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model: is NULL");
    for (int32_t k = 0; k < model->nd; ++k) {
        const int32_t i = model->order[k];
        if (!(model->body[i].mass > 0))
            return skel__fail(err, SKEL_E_MASS, i, -1,
                              "bodies[%d].mass: is missing, dynamics needs the mass of '%s'", i,
                              model->body[i].name);
    }
    return SKEL_OK;
}
