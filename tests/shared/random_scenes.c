/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared/random_scenes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_BODIES_MAX 60
#define WOBBLES_MAX 3
#define SKELETONS_MAX 3
#define LOOPS_MAX 3
#define ALL_MAX (RANDOM_BODIES_MAX + WOBBLES_MAX)
#define JOINTS_MAX (RANDOM_BODIES_MAX + LOOPS_MAX)
#define KNOTS 12 /* samples of a curve */
#define GRAVITY 9.81

/* What the descs are drawn into, and what was drawn. */
typedef struct draft {
    rng r;
    random_scene out;
    skel_body_desc body[ALL_MAX];
    skel_joint_desc joint[JOINTS_MAX];
    skel_ground_desc ground;
    skel_wobble_desc wobble[WOBBLES_MAX];
    skel_field_desc field;
    int skeleton[RANDOM_BODIES_MAX];           /* of each body */
    int root[SKELETONS_MAX];                   /* its root */
    int freedom[SKELETONS_MAX];                /* degrees of freedom, less those of loops */
    double reach[ALL_MAX];                     /* of the shapes [m] */
    double mass;                               /* middle of the masses [kg] */
    double number[JOINTS_MAX * 2 * KNOTS * 5]; /* of the curves */
    size_t used;
    skel_model_desc desc;
} draft;

/* ---- random numbers ---- */

static int chance(draft *d, double probability) {
    return rng_unit(&d->r) < probability;
}

static double log_range(draft *d, double low, double high) {
    return low * pow(high / low, rng_unit(&d->r));
}

static void random_vector(draft *d, double size, double *out) {
    for (int k = 0; k < 3; ++k) out[k] = rng_range(&d->r, -size, size);
}

static void normalise(double *v, int n) {
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += v[k] * v[k];
    for (int k = 0; k < n; ++k) v[k] /= sqrt(sum);
}

static void random_unit(draft *d, double *v, int n) {
    double sum;
    do {
        sum = 0;
        for (int k = 0; k < n; ++k) {
            v[k] = rng_range(&d->r, -1, 1);
            sum += v[k] * v[k];
        }
    } while (sum < 0.1);
    normalise(v, n);
}

/* v turned by the quaternion q, or back. */
static void turn(const double *q, const double *v, int back, double *out) {
    const double u[3] = {back ? -q[1] : q[1], back ? -q[2] : q[2], back ? -q[3] : q[3]};
    double t[3];
    for (int k = 0; k < 3; ++k) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        t[k] = 2 * (u[a] * v[b] - u[b] * v[a]);
    }
    for (int k = 0; k < 3; ++k) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        out[k] = v[k] + q[0] * t[k] + u[a] * t[b] - u[b] * t[a];
    }
}

/* conj(a) b */
static void relative(const double *a, const double *b, double *out) {
    out[0] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    for (int k = 0; k < 3; ++k) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        out[k + 1] =
            a[0] * b[k + 1] - b[0] * a[k + 1] - (a[i + 1] * b[j + 1] - a[j + 1] * b[i + 1]);
    }
}

/* ---- curves ---- */

/* A time in which a body falls by about its own size; curves change no faster. */
static double slow_time(const draft *d) {
    return fmax(sqrt(d->out.size / GRAVITY), 0.1);
}

/* Samples that wander about the start by at most `size` from one to the next. */
static skel_curve wandering(draft *d, const double *start, uint32_t width, double size) {
    double *time = d->number + d->used, *value = time + KNOTS;
    d->used += KNOTS * (1 + width);

    for (uint32_t k = 0; k < KNOTS; ++k) {
        time[k] = k * 2 * slow_time(d);
        for (uint32_t c = 0; c < width; ++c) {
            const double way = k > 0 ? rng_range(&d->r, -size, size) : 0;
            value[k * width + c] = start[c] + way;
        }
        if (width == 4) normalise(value + 4 * k, 4);
    }
    return (skel_curve){time, value, KNOTS, width};
}

/* ---- bodies ---- */

static void random_shape(draft *d, int i) {
    static const int32_t shapes[] = {SKEL_SHAPE_SPHERE,  SKEL_SHAPE_BOX, SKEL_SHAPE_CYLINDER,
                                     SKEL_SHAPE_CAPSULE, SKEL_SHAPE_ROD, SKEL_SHAPE_BOX};
    skel_body_desc *b = &d->body[i];
    const double l = d->out.size;

    skel_body_desc_init(b);
    b->shape = shapes[rng_int(&d->r, 6)];
    b->mass = d->mass * pow(d->out.mass_ratio, rng_range(&d->r, -0.5, 0.5));
    for (int k = 0; k < 3; ++k) b->size[k] = l * rng_range(&d->r, 0.1, 1);
    if (b->shape == SKEL_SHAPE_SPHERE) b->size[0] *= 0.5;
    if (b->shape > SKEL_SHAPE_BOX) b->size[1] *= 0.3; /* a radius */

    scene_demand(skel_shape_inertia(b->shape, b->size, b->mass, b->inertia), NULL);
    const double half[3] = {b->size[0], b->size[1], b->size[2]};
    d->reach[i] = sqrt(half[0] * half[0] + half[1] * half[1] + half[2] * half[2]);
}

/* The root of skeleton k: on a joint to the world, free, fixed or driven. */
static void random_root(draft *d, int k) {
    const double l = d->out.size, speed = sqrt(GRAVITY * l);
    const int i = d->root[k], kind = rng_int(&d->r, 4);
    skel_body_desc *b = &d->body[i];

    b->position[0] = 12 * l * k;
    b->position[2] = 4 * l;
    random_unit(d, b->orientation, 4);
    if (kind == 0) {
        d->freedom[k] = 6;
        random_vector(d, 0.5 * speed, b->velocity);
        random_vector(d, 0.5 * speed / l, b->angular_velocity);
    } else if (kind == 1) {
        b->motion = SKEL_MOTION_FIXED;
    } else if (kind == 2) {
        b->motion = SKEL_MOTION_DRIVEN;
        b->position_curve = wandering(d, b->position, 3, 0.5 * l);
        b->orientation_curve = wandering(d, b->orientation, 4, 0.3);
        d->out.drives++;
    } else {
        b->unplaced = 1;
    }
}

/* ---- joints ---- */

static int dof_of(int32_t type) {
    static const int dof[] = {0, 1, 1, 2, 3};
    return dof[type];
}

/* Limits about the coordinates of the start, at times with one of them at its limit. */
static void random_limits(draft *d, skel_joint_desc *j) {
    static const double restitution[] = {0, 0, 0, 0.3, 0.8, 1};
    const double unit = j->type == SKEL_JOINT_SLIDE ? d->out.size : 1;

    j->limits.is_set = 1;
    j->limits.restitution = restitution[rng_int(&d->r, 6)];
    for (int k = 0; k < 2; ++k) {
        j->limits.low[k] = j->q[k] - unit * (chance(d, 0.1) ? 0 : rng_range(&d->r, 0.05, 1.2));
        j->limits.high[k] = j->q[k] + unit * rng_range(&d->r, 0.05, 1.2);
    }
    if (j->type == SKEL_JOINT_BALL) { /* the cone is about its zero, where the ball starts */
        memset(j->q, 0, sizeof j->q);
        j->limits.low[0] = 0;
        j->limits.high[0] = rng_range(&d->r, 0.1, 1.5);
        j->limits.low[1] = -rng_range(&d->r, 0.1, 1.2);
        j->limits.high[1] = rng_range(&d->r, 0.1, 1.2);
        random_unit(d, j->limits.axis, 3);
    }
    d->out.limits++;
}

/* Torques are measured by the lighter of the two bodies: none of them is thrown away by them. */
static void random_forces(draft *d, skel_joint_desc *j, double mass) {
    const double l = d->out.size, weight = mass * GRAVITY;
    const int slides = j->type == SKEL_JOINT_SLIDE, one = dof_of(j->type) == 1;
    const double torque = slides ? weight : weight * l;
    const double unit = slides ? l : 1, rate = sqrt(GRAVITY / l);

    if (chance(d, 0.4)) j->friction = rng_range(&d->r, 0, 0.5) * torque / (unit * rate);
    if (one && j->limits.is_set && chance(d, 0.3)) {
        j->spring.stiffness = rng_range(&d->r, 0, 5) * torque / unit;
        j->spring.damping = rng_range(&d->r, 0, 0.3) * torque / (unit * rate);
        j->spring.rest = j->q[0];
    }
    if (one && chance(d, 0.1)) {
        const double none = 0;
        j->motor = rng_range(&d->r, -0.5, 0.5) * torque;
        if (chance(d, 0.5)) j->motor_curve = wandering(d, &none, 1, 0.5 * torque);
        d->out.motors++;
    }
}

static void random_follow(draft *d, skel_joint_desc *j) {
    static const uint32_t width[] = {0, 1, 1, 2, 4};
    if (j->type == SKEL_JOINT_FIXED) return;

    const double unit = j->type == SKEL_JOINT_SLIDE ? d->out.size : 1;
    const double zero[4] = {1, 0, 0, 0};
    j->follow.frequency = log_range(d, 0.2, 8);
    j->follow.damping = rng_range(&d->r, 0, 2);
    if (chance(d, 0.5))
        j->follow.target =
            wandering(d, j->type == SKEL_JOINT_BALL ? zero : j->q, width[j->type], 0.5 * unit);
    d->out.follows++;
}

/* A joint between `known` (a body, or the world) and the body `added`. */
static void random_joint(draft *d, int known, int added) {
    skel_joint_desc *j = &d->joint[d->desc.joint_count++];
    const int flip = chance(d, 0.3); /* the tree may run against the joint */
    const double l = d->out.size;
    double mass = d->body[added].mass;

    skel_joint_desc_init(j);
    j->type = rng_int(&d->r, 5);
    j->parent = flip ? added : known;
    j->child = flip ? known : added;
    random_vector(d, 0.5 * l, j->parent_position);
    random_vector(d, 0.5 * l, j->child_position);
    random_unit(d, j->parent_orientation, 4);
    random_unit(d, j->child_orientation, 4);
    if (known < 0)
        memcpy(flip ? j->child_position : j->parent_position, d->body[added].position, 24);

    for (int k = 0; k < 2; ++k) j->q[k] = rng_range(&d->r, -1, 1);
    if (j->type == SKEL_JOINT_SLIDE) j->q[0] *= 0.3 * l;
    if (j->type == SKEL_JOINT_BALL) random_unit(d, j->q, 4);
    d->freedom[d->skeleton[added]] += dof_of(j->type);

    if (known >= 0 && d->body[known].motion == SKEL_MOTION_DYNAMIC)
        mass = fmin(mass, d->body[known].mass);
    if (j->type == SKEL_JOINT_SLIDE || (dof_of(j->type) > 0 && chance(d, 0.4))) random_limits(d, j);
    random_forces(d, j, mass);
}

static void random_trees(draft *d) {
    for (int i = 0; i < d->out.bodies; ++i) random_shape(d, i);

    for (int i = 0; i < d->out.bodies; ++i) {
        const int k = i * d->out.skeletons / d->out.bodies;
        d->skeleton[i] = k;
        if (i == 0 || d->skeleton[i - 1] != k) {
            d->root[k] = i;
            random_root(d, k);
            if (d->body[i].unplaced) random_joint(d, SKEL_WORLD, i);
            continue;
        }
        const int before = i - 1 - d->root[k];
        d->body[i].unplaced = 1;
        random_joint(d, chance(d, 0.6) ? i - 1 : d->root[k] + rng_int(&d->r, before + 1), i);
    }
}

/* ---- what needs the poses of the trees ---- */

static scene create(draft *d) {
    scene s;
    skel_error err;
    skel_error_init(&err);
    scene_demand(skel_model_create(&d->desc, &s.model, &err), &err);
    scene_demand(skel_state_create(s.model, &s.state, &err), &err);
    return s;
}

/* A joint that closes a loop, where both bodies are: at the middle of the two. */
static void close_loop(draft *d, int a, int b, const double *pose) {
    static const int32_t types[] = {SKEL_JOINT_BALL, SKEL_JOINT_BALL, SKEL_JOINT_UNIVERSAL,
                                    SKEL_JOINT_HINGE};
    skel_joint_desc *j = &d->joint[d->desc.joint_count];
    const double *xa = pose + 7 * a, *xb = pose + 7 * b;
    double to_a[3], to_b[3], axes[4];
    int *freedom = &d->freedom[d->skeleton[a]];
    const int32_t type = types[rng_int(&d->r, 4)];

    if (*freedom - (6 - dof_of(type)) < 2) return;
    *freedom -= 6 - dof_of(type);
    skel_joint_desc_init(j);
    j->type = type;
    j->parent = a;
    j->child = b;
    for (int k = 0; k < 3; ++k) {
        to_a[k] = 0.5 * (xb[k] - xa[k]) + rng_range(&d->r, -0.3, 0.3) * d->out.size;
        to_b[k] = xa[k] + to_a[k] - xb[k];
    }
    turn(xa + 3, to_a, 1, j->parent_position);
    turn(xb + 3, to_b, 1, j->child_position);

    /* both frames have the same axes of the world */
    random_unit(d, axes, 4);
    relative(xa + 3, axes, j->parent_orientation);
    relative(xb + 3, axes, j->child_orientation);
    d->desc.joint_count++;
    d->out.loops++;
}

static void random_loops(draft *d, const double *pose) {
    const int tries = 1 + rng_int(&d->r, LOOPS_MAX);
    for (int n = 0; n < tries; ++n) {
        const int a = rng_int(&d->r, d->out.bodies), b = rng_int(&d->r, d->out.bodies);
        if (a != b && d->skeleton[a] == d->skeleton[b]) close_loop(d, a, b, pose);
    }
}

/* A plane below everything. */
static void random_ground(draft *d, const double *pose) {
    skel_ground_desc *g = &d->ground;
    double lowest = INFINITY;

    skel_ground_desc_init(g);
    g->normal[0] = chance(d, 0.3) ? rng_range(&d->r, -0.3, 0.3) : 0;
    g->normal[2] = 1;
    normalise(g->normal, 3);
    for (int i = 0; i < d->out.bodies; ++i) {
        const double *p = pose + 7 * i;
        lowest = fmin(lowest, g->normal[0] * p[0] + g->normal[2] * p[2] - d->reach[i]);
    }
    const double at = lowest - d->out.size * rng_range(&d->r, 0.01, 3);
    for (int k = 0; k < 3; ++k) g->point[k] = at * g->normal[k];

    g->friction = chance(d, 0.2) ? 0 : rng_range(&d->r, 0.1, 1);
    g->is_rigid = chance(d, 0.4);
    if (g->is_rigid) g->restitution = rng_range(&d->r, 0, 0.9);
    d->desc.grounds = g;
    d->desc.ground_count = 1;
    d->out.grounds = 1;
}

/* A soft mass of a tenth of its host, whose spring carries it at a twentieth of the size. */
static void random_wobble(draft *d, const double *pose) {
    const int host = rng_int(&d->r, d->out.bodies), at = (int)d->desc.body_count;
    skel_body_desc *b = &d->body[at];
    skel_wobble_desc *w = &d->wobble[d->out.wobbles];
    const double l = d->out.size, rate = 20 * sqrt(GRAVITY / l);
    double off[3];

    random_shape(d, at);
    b->shape = SKEL_SHAPE_SPHERE;
    b->size[0] = 0.1 * l;
    b->mass = 0.1 * d->body[host].mass;
    scene_demand(skel_shape_inertia(b->shape, b->size, b->mass, b->inertia), NULL);
    skel_wobble_desc_init(w);
    w->body = at;
    w->host = host;
    random_vector(d, 0.3 * l, w->rest);
    turn(pose + 7 * host + 3, w->rest, 0, off);
    for (int k = 0; k < 3; ++k) b->position[k] = pose[7 * host + k] + off[k];
    memcpy(b->orientation, pose + 7 * host + 3, sizeof b->orientation);

    w->along_c = b->mass * GRAVITY / pow(0.05 * l, 3);
    w->along_d = rng_range(&d->r, 0, 0.3) * b->mass * rate;
    w->across_c = w->along_c;
    w->across_d = w->along_d;
    w->turn_a = b->inertia[0] * rate * rate;
    w->turn_b = rng_range(&d->r, 0, 0.3) * b->inertia[0] * rate;
    d->desc.body_count++;
    d->out.wobbles++;
}

static void random_drag(draft *d) {
    skel_field_desc_init(&d->field);
    d->field.type = SKEL_FIELD_DRAG;
    d->desc.fields = &d->field;
    d->desc.field_count = 1;
}

/* Many bodies that touch one another are another matter: then only few of them may. */
static void rule_out_piles(draft *d) {
    if (d->out.skeletons > 1 && d->out.bodies <= 12) return;
    for (int i = 0; i < ALL_MAX; ++i) d->body[i].collide = SKEL_COLLIDE_NONE;
}

static void add_surroundings(draft *d) {
    scene trees = create(d);
    double *pose = calloc((size_t)d->out.bodies, 7 * sizeof *pose);
    if (!pose) abort();
    scene_demand(skel_state_get_poses(trees.state, pose), NULL);

    if (chance(d, 0.2)) random_loops(d, pose);
    if (chance(d, 0.4)) random_ground(d, pose);
    if (chance(d, 0.15))
        for (int n = 1 + rng_int(&d->r, WOBBLES_MAX); n > 0; --n) random_wobble(d, pose);
    if (chance(d, 0.1)) random_drag(d);
    rule_out_piles(d);
    d->desc.wobbles = d->wobble;
    d->desc.wobble_count = (uint32_t)d->out.wobbles;

    free(pose);
    scene_free(&trees);
}

static void random_speeds(draft *d, const scene *s) {
    const int32_t n = skel_model_dof(s->model);
    const double l = d->out.size, rate = rng_range(&d->r, 0, 1.5) * sqrt(GRAVITY / l);
    double *qd = calloc((size_t)n + 1, sizeof *qd);
    if (!qd) abort();

    for (uint32_t e = 0; e < d->desc.joint_count; ++e) {
        const double unit = d->joint[e].type == SKEL_JOINT_SLIDE ? 0.3 * l : 1;
        double *to = qd + skel_model_joint_dof_offset(s->model, (int32_t)e);
        for (int k = 0; k < dof_of(d->joint[e].type); ++k)
            to[k] = unit * rng_range(&d->r, -rate, rate);
    }
    scene_demand(skel_state_set_qd(s->state, qd), NULL);
    free(qd);
}

random_scene scene_random(uint64_t seed) {
    draft *d = calloc(1, sizeof *d);
    if (!d) abort();
    d->r = rng_seed(seed + 1);
    d->out.bodies = (int)log_range(d, 2, RANDOM_BODIES_MAX + 1);
    d->out.size = log_range(d, 0.01, 100);
    d->out.mass_ratio = chance(d, 0.3) ? 10 : log_range(d, 1, 1e6);
    d->out.skeletons = chance(d, 0.5) ? 1 : 1 + rng_int(&d->r, SKELETONS_MAX);
    if (d->out.skeletons > d->out.bodies) d->out.skeletons = d->out.bodies;
    d->mass = 300 * pow(d->out.size, 3) * log_range(d, 0.1, 10);

    skel_model_desc_init(&d->desc);
    d->desc.bodies = d->body;
    d->desc.body_count = (uint32_t)d->out.bodies;
    d->desc.joints = d->joint;
    random_trees(d);
    if (chance(d, 0.25))
        for (uint32_t e = 0; e < d->desc.joint_count; ++e)
            if (chance(d, 0.5)) random_follow(d, &d->joint[e]);
    add_surroundings(d);

    /* With loops only a state at rest is known to fit the joints. */
    if (d->out.loops > 0)
        for (int k = 0; k < d->out.skeletons; ++k) {
            skel_body_desc *b = &d->body[d->root[k]];
            memset(b->velocity, 0, sizeof b->velocity);
            memset(b->angular_velocity, 0, sizeof b->angular_velocity);
        }
    d->out.scene = create(d);
    d->out.is_passive = d->out.motors + d->out.drives + d->out.follows == 0;
    if (d->out.loops == 0) random_speeds(d, &d->out.scene);

    const random_scene out = d->out;
    free(d);
    return out;
}
