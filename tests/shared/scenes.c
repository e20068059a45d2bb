/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared/scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SAMPLES 6

void scene_demand(skel_status status, const skel_error *err) {
    if (status >= 0) return;
    fprintf(stderr, "scene builder: %s: %s\n", skel_status_text(status), err ? err->text : "");
    abort();
}

skel_scene *scene_sample(const char *name) {
    static char text[1 << 20];
    char path[512];
    skel_scene *whole = NULL;
    skel_error err;
    skel_error_init(&err);
    snprintf(path, sizeof path, "%s/%s.json", SKEL_SAMPLES, name);
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(text, 1, sizeof text, file) : 0;
    if (file) fclose(file);
    scene_demand(skel_scene_parse(text, size, &whole, &err), &err);
    return whole;
}

static void *zeroed(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size);
    if (!p) abort();
    return p;
}

static void random_vector(rng *r, double size, double *out) {
    for (int k = 0; k < 3; ++k) out[k] = rng_range(r, -size, size);
}

static void random_quaternion(rng *r, double *q) {
    double n;
    do {
        n = 0;
        for (int k = 0; k < 4; ++k) q[k] = rng_range(r, -1, 1), n += q[k] * q[k];
    } while (n < 0.1);
    for (int k = 0; k < 4; ++k) q[k] /= sqrt(n);
}

/* A box turned by a random rotation: R diag R^T. */
static void random_inertia(rng *r, double mass, double *out) {
    const double size[3] = {rng_range(r, .1, .4), rng_range(r, .1, .4), rng_range(r, .2, .6)};
    double box[6], q[4], m[3][3] = {{0}};
    scene_demand(skel_shape_inertia(SKEL_SHAPE_BOX, size, mass, box), NULL);
    random_quaternion(r, q);
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double R[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                            {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                            {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
            for (int k = 0; k < 3; ++k) m[a][b] += R[a][k] * box[k] * R[b][k];
    out[0] = m[0][0], out[1] = m[1][1], out[2] = m[2][2];
    out[3] = m[0][1], out[4] = m[0][2], out[5] = m[1][2];
}

/* Samples at random times; they live until the model is made. */
typedef struct pool {
    double *numbers;
    size_t used;
} pool;

/* From 0 s or a little later on; MAX_SAMPLES samples reach at least to 1 s. */
static skel_curve random_curve(rng *r, pool *p, uint32_t width, uint32_t count, double size) {
    double *time = p->numbers + p->used, *value = time + count;
    int t = -4; /* on a grid of 0.05 s, so that steps can end at the samples */
    for (uint32_t k = 0; k < count; ++k) time[k] = .05 * (t += 4 + rng_int(r, 4) * (k > 0));
    for (uint32_t k = 0; k < count * width; ++k) value[k] = rng_range(r, -size, size);
    if (width == 4)
        for (uint32_t k = 0; k < count; ++k) random_quaternion(r, value + 4 * k);
    p->used += count * (1 + width);
    return (skel_curve){time, value, count, width};
}

static void random_body(rng *r, skel_body_desc *b, const scene_options *o, pool *p) {
    skel_body_desc_init(b);
    b->mass = rng_range(r, .5, 1.5);
    random_inertia(r, b->mass, b->inertia);
    b->unplaced = 1;
    if (!o->loads) return;
    random_vector(r, 3, b->force);
    random_vector(r, 1, b->torque);
    if (rng_unit(r) < .2) b->force_curve = random_curve(r, p, 3, 3, 2);
    if (rng_unit(r) < .2) b->torque_curve = random_curve(r, p, 3, 2, .5);
}

static void random_root(rng *r, skel_body_desc *b, const scene_options *o, pool *p) {
    if (o->root == SCENE_ROOT_WORLD) return;
    b->unplaced = 0;
    random_vector(r, .5, b->position);
    random_quaternion(r, b->orientation);
    if (o->root == SCENE_ROOT_FREE) {
        random_vector(r, .5, b->velocity);
        random_vector(r, 2, b->angular_velocity);
    } else if (o->root == SCENE_ROOT_FIXED) {
        b->motion = SKEL_MOTION_FIXED;
        b->mass = 0;
    } else {
        b->motion = SKEL_MOTION_DRIVEN;
        b->position_curve = random_curve(r, p, 3, MAX_SAMPLES, .5);
        b->orientation_curve = random_curve(r, p, 4, MAX_SAMPLES, 1);
    }
}

static int random_type(rng *r, int mask) {
    const int kinds = mask >> 5 ? 7 : 5; /* a mask of old kinds gives the same trees as ever */
    int type;
    do type = rng_int(r, kinds);
    while (mask && !(mask & (1 << type)));
    return type;
}

static void random_joint(rng *r, skel_joint_desc *j, int known, int added, const scene_options *o,
                         pool *p) {
    const int flip = rng_unit(r) < .5; /* the tree may run against the joint */
    skel_joint_desc_init(j);
    j->type = random_type(r, o->joint_mask);
    j->parent = flip ? added : known;
    j->child = flip ? known : added;
    random_vector(r, .25, j->parent_position);
    random_vector(r, .25, j->child_position);
    random_quaternion(r, j->parent_orientation);
    random_quaternion(r, j->child_orientation);
    for (int k = 0; k < 2; ++k) j->q[k] = rng_range(r, -1, 1);
    if (j->type == SKEL_JOINT_SLIDE) j->q[0] *= .2;
    if (j->type == SKEL_JOINT_PLANAR) j->q[2] = rng_range(r, -2, 2);
    if (j->type == SKEL_JOINT_SCREW) {
        j->q[0] *= 7; /* more than a turn */
        j->pitch = rng_range(r, .02, .2) * (rng_unit(r) < .5 ? -1 : 1);
    }
    if (j->type == SKEL_JOINT_BALL) random_quaternion(r, j->q);
    if (!o->loads) return;
    j->friction = rng_range(r, 0, .3);
    if (j->type != SKEL_JOINT_HINGE && j->type != SKEL_JOINT_SLIDE) return;
    j->motor = rng_range(r, -1, 1);
    if (rng_unit(r) < .3) j->motor_curve = random_curve(r, p, 1, 3, 1);
}

static scene make(skel_model_desc *d) {
    scene s;
    skel_error err;
    skel_error_init(&err);
    scene_demand(skel_model_create(d, &s.model, &err), &err);
    scene_demand(skel_state_create(s.model, &s.state, &err), &err);
    return s;
}

static void random_speeds(rng *r, scene *s, double spin) {
    const int32_t n = skel_model_dof(s->model);
    double *qd = zeroed((size_t)n, sizeof *qd);
    for (int32_t k = 0; k < n; ++k) qd[k] = rng_range(r, -spin, spin);
    scene_demand(skel_state_set_qd(s->state, qd), NULL);
    free(qd);
}

/* Random numbering: body 0 of the builder is not body 0 of the model. */
static void shuffle(rng *r, int *order, int n) {
    for (int k = 0; k < n; ++k) order[k] = k;
    for (int k = n - 1; k > 0; --k) {
        const int e = rng_int(r, k + 1), t = order[k];
        order[k] = order[e], order[e] = t;
    }
}

scene scene_random_tree(rng *r, scene_options o) {
    const size_t n = (size_t)o.bodies;
    skel_body_desc *bodies = zeroed(n, sizeof *bodies);
    skel_joint_desc *joints = zeroed(n, sizeof *joints);
    int *id = zeroed(n, sizeof *id);
    pool p = {zeroed(n * 4 * MAX_SAMPLES * 5, sizeof(double)), 0};
    skel_model_desc d;
    shuffle(r, id, o.bodies);
    skel_model_desc_init(&d);
    if (o.no_gravity) memset(d.gravity, 0, sizeof d.gravity);
    for (int k = 0; k < o.bodies; ++k) random_body(r, &bodies[id[k]], &o, &p);
    random_root(r, &bodies[id[0]], &o, &p);
    if (o.root == SCENE_ROOT_WORLD)
        random_joint(r, &joints[d.joint_count++], SKEL_WORLD, id[0], &o, &p);
    for (int k = 1; k < o.bodies; ++k) {
        const int parent = rng_unit(r) < .5 ? k - 1 : rng_int(r, k);
        random_joint(r, &joints[d.joint_count++], id[parent], id[k], &o, &p);
    }
    d.bodies = bodies, d.body_count = (uint32_t)n, d.joints = joints;
    scene s = make(&d);
    if (o.root == SCENE_ROOT_DRIVEN) {
        double *q = zeroed((size_t)skel_model_q_count(s.model), sizeof *q);
        scene_demand(skel_state_get_q(s.state, q), NULL);
        skel_state_set_time(s.state, .35);
        scene_demand(skel_state_set_q(s.state, q), NULL);
        free(q);
    }
    random_speeds(r, &s, o.spin > 0 ? o.spin : 1);
    free(bodies), free(joints), free(id), free(p.numbers);
    return s;
}

scene scene_chain(int n, int first_type, int second_type, double link,
                  const skel_allocator *allocator) {
    skel_body_desc *bodies = zeroed((size_t)n, sizeof *bodies);
    skel_joint_desc *joints = zeroed((size_t)n, sizeof *joints);
    const double size[3] = {.2 * link, .3 * link, link};
    skel_model_desc d;
    skel_model_desc_init(&d);
    for (int k = 0; k < n; ++k) {
        skel_body_desc *b = &bodies[k];
        skel_joint_desc *j = &joints[k];
        skel_body_desc_init(b), skel_joint_desc_init(j);
        b->mass = 1;
        b->unplaced = 1;
        scene_demand(skel_shape_inertia(SKEL_SHAPE_BOX, size, b->mass, b->inertia), NULL);
        j->type = k % 2 ? second_type : first_type;
        j->child = k, j->parent = k - 1;
        j->parent_position[2] = k ? -.5 * link : 0;
        j->child_position[2] = .5 * link;
        /* hinge axes (frame z) alternate between x and y of the world */
        const double h = sqrt(.5);
        const double turn[2][4] = {{h, 0, h, 0}, {h, -h, 0, 0}};
        memcpy(j->parent_orientation, turn[k / 2 % 2], sizeof turn[0]);
        memcpy(j->child_orientation, turn[k / 2 % 2], sizeof turn[0]);
        j->q[0] = k ? .02 : .6;
        if (j->type == SKEL_JOINT_BALL) j->q[0] = 1, j->q[1] = k ? .01 : .3, j->q[2] = .005;
    }
    d.bodies = bodies, d.joints = joints;
    d.body_count = d.joint_count = (uint32_t)n;
    d.allocator = allocator;
    scene s = make(&d);
    rng r = rng_seed(1);
    random_speeds(&r, &s, .5);
    free(bodies), free(joints);
    return s;
}

void scene_free(scene *s) {
    skel_state_destroy(s->state);
    skel_model_destroy(s->model);
}
