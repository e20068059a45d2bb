/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared/humanoid.h"
#include "model/model.h"
#include "dynamics/dynamics.h"

#include <stdio.h>
#include <stdlib.h>

static void scale_body(skel_body_desc *b, double s) {
    for (int k = 0; k < 3; ++k) b->position[k] *= s, b->velocity[k] *= s;
    for (int k = 0; k < 6; ++k) b->inertia[k] *= s * s;
}

static void scale_joint(skel_joint_desc *j, double s, double friction) {
    for (int k = 0; k < 3; ++k) j->parent_position[k] *= s, j->child_position[k] *= s;
    j->friction *= friction * s * s;
    j->limits.is_set = 0;
}

/* Takes the velocity of the common centre of mass away. */
static void stay_here(scene *s) {
    skel__kin *x    = s->state->x;
    v3         sum  = {0, 0, 0};
    double     mass = 0;
    for (int32_t i = 0; i < s->model->nb; ++i) {
        mass += s->model->body[i].mass;
        sum = v3_mad(sum, s->model->body[i].mass, x[i].v);
    }
    for (int32_t i = 0; i < s->model->nb; ++i) x[i].v = v3_mad(x[i].v, -1.0 / mass, sum);
}

static void stir(scene *s, double size) {
    rng    r = rng_seed(3);
    double qd[64];
    skel_state_get_qd(s->state, qd);
    for (int k = 0; k < skel_model_dof(s->model); ++k) qd[k] += rng_range(&r, -size, size);
    skel_state_set_qd(s->state, qd);
}

scene scene_humanoid(humanoid_options o) {
    skel_body_desc  b[HUMANOID_BODIES];
    skel_joint_desc j[HUMANOID_JOINTS];
    skel_model_desc d;
    skel_error      err;
    scene           s;
    const double    scale = o.scale > 0 ? o.scale : 1;
    skel_error_init(&err);
    skel_scene       *whole = scene_sample("humanoid");
    const skel_model *model = skel_scene_model(whole);
    for (int i = 0; i < HUMANOID_BODIES; ++i) {
        skel_body_desc_init(&b[i]);
        scene_demand(skel_model_get_body(model, i, &b[i]), &err);
        scale_body(&b[i], scale);
    }
    for (int i = 0; i < HUMANOID_JOINTS; ++i) {
        skel_joint_desc_init(&j[i]);
        scene_demand(skel_model_get_joint(model, i, &j[i]), &err);
        scale_joint(&j[i], scale, o.friction);
    }
    if (o.edit) o.edit(b, HUMANOID_BODIES, j, HUMANOID_JOINTS);
    skel_model_desc_init(&d);
    d.gravity[2] = -o.gravity * scale;
    d.bodies = b, d.body_count = HUMANOID_BODIES, d.joints = j, d.joint_count = HUMANOID_JOINTS;
    scene_demand(skel_model_create(&d, &s.model, &err), &err);
    scene_demand(skel_state_create(s.model, &s.state, &err), &err);
    scene_demand(skel_state_project(s.state, NULL, NULL, &err), &err);
    stir(&s, o.stir);
    if (o.gravity == 0) stay_here(&s);
    skel_scene_destroy(whole);
    return s;
}

void humanoid_limits(skel_body_desc *bodies, int nb, skel_joint_desc *joints, int nj) {
    (void)bodies, (void)nb;
    for (int k = 0; k < nj; ++k) {
        skel_joint_desc *j = &joints[k];
        j->limits.is_set   = 1;
        if (j->type == SKEL_JOINT_BALL)
            j->limits.high[0] = 0.9, j->limits.low[1] = -0.6, j->limits.high[1] = 0.6;
        else
            j->limits.low[0] = j->limits.low[1] = -1.5, j->limits.high[0] = j->limits.high[1] = 1.5;
    }
}

double limits_broken(const skel_model *m, const double *q) {
    double worst = -INFINITY;
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        double             c[2];
        const int32_t      n = skel__joint_coordinates(j, q + j->q_offset, c);
        for (int32_t i = 0; j->limits.is_set && i < n; ++i) {
            const double x = j->type == SKEL_JOINT_BALL ? c[i] : q[j->q_offset + i];
            worst          = fmax(worst, x - j->limits.high[i]);
            if (!(j->type == SKEL_JOINT_BALL && i == 0)) worst = fmax(worst, j->limits.low[i] - x);
        }
    }
    return worst;
}
