/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared/ragdoll.h"
#include "dynamics/dynamics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURE = 20, JOINTS = 19, STEPS_MAX = 16 };

static void limit(skel_joint_desc *j) {
    j->limits.is_set = 1;
    if (j->type == SKEL_JOINT_BALL) {
        j->limits.high[0] = 1.0;
        j->limits.low[1] = -0.7, j->limits.high[1] = 0.7;
    } else {
        j->limits.low[0] = j->limits.low[1] = -1.2;
        j->limits.high[0] = j->limits.high[1] = 1.2;
    }
}

/* Steps 0.28 m deep and 0.18 m high that go down along x, the first one at x = 0. */
static void step_desc(skel_body_desc *b, int k, int count) {
    const double top = 0.18 * (count - k), size[3] = {0.28, 3.0, top};
    skel_body_desc_init(b);
    b->motion = SKEL_MOTION_FIXED, b->shape = SKEL_SHAPE_BOX;
    memcpy(b->size, size, sizeof size);
    b->position[0] = 0.28 * (k + 0.5), b->position[2] = 0.5 * top;
}

/* The whole figure turned by q about the origin and moved; moving and turning as one. */
static void throw_body(skel_body_desc *b, quat q, v3 to, v3 v, v3 w) {
    const v3   p = q_rotate(q, v3_of(b->position));
    const quat o = q_mul(q, q_of(b->orientation));
    v3_to(v3_add(p, to), b->position);
    q_to(o, b->orientation);
    v3_to(v3_add(v, v3_cross(w, p)), b->velocity);
    v3_to(q_rotate(q_conj(o), w), b->angular_velocity);
}

static v3 random_vector(rng *r, double size) {
    const double x = rng_range(r, -size, size), y = rng_range(r, -size, size);
    return (v3){x, y, rng_range(r, -size, size)};
}

scene scene_ragdoll(rng *r, ragdoll_options o) {
    static skel_body_desc  body[FIGURE + STEPS_MAX];
    static skel_joint_desc joint[JOINTS];
    skel_ground_desc       ground;
    skel_model_desc        d;
    skel_error             err;
    scene                  s;
    skel_error_init(&err);
    skel_scene       *sample = scene_sample("humanoid");
    const skel_model *from   = skel_scene_model(sample);
    const quat        turn   = q_exp(random_vector(r, 2.0));
    const v3          to     = {rng_range(r, 0, 0.8), rng_range(r, -0.3, 0.3),
                                0.18 * o.stairs + rng_range(r, 1.3, 2.0)};
    const v3          v = random_vector(r, 2.0), w = random_vector(r, 3.0);
    for (int i = 0; i < FIGURE; ++i) {
        body[i].struct_size = sizeof body[i];
        skel_model_get_body(from, i, &body[i]);
        body[i].position[2] -= 1.0; /* about its middle */
        throw_body(&body[i], turn, to, v, w);
        body[i].collide = o.self ? SKEL_COLLIDE_ALL : SKEL_COLLIDE_OTHERS;
    }
    for (int i = 0; i < JOINTS; ++i) {
        joint[i].struct_size = sizeof joint[i];
        skel_model_get_joint(from, i, &joint[i]);
        joint[i].friction *= o.friction;
        limit(&joint[i]);
    }
    for (int k = 0; k < o.stairs; ++k) step_desc(&body[FIGURE + k], k, o.stairs);
    skel_ground_desc_init(&ground);
    ground.is_rigid = o.is_rigid, ground.restitution = o.restitution;
    skel_model_desc_init(&d);
    d.bodies = body, d.body_count = (uint32_t)(FIGURE + o.stairs);
    d.joints = joint, d.joint_count = JOINTS;
    d.grounds = &ground, d.ground_count = 1;
    d.allocator = o.allocator;
    scene_demand(skel_model_create(&d, &s.model, &err), &err);
    scene_demand(skel_state_create(s.model, &s.state, &err), &err);
    double qd[64];
    skel_state_get_qd(s.state, qd);
    for (int k = 0; k < skel_model_dof(s.model); ++k) qd[k] += rng_range(r, -3, 3);
    skel_state_set_qd(s.state, qd);
    skel_scene_destroy(sample);
    return s;
}
