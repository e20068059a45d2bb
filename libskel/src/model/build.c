/* SPDX-License-Identifier: BSD-3-Clause */
/* From desc to model, in one block of memory:
   1. check every field of the desc and count the memory that it needs;
   2. copy bodies, joints, grounds, wobbling masses and fields;
   3. find the spanning forest (forest.c) and the mimic joints (mimic.c);
   4. compute the poses that are not given from the joint coordinates q;
   5. check that the frames of every joint coincide [HAK (1)]. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "model/check.h"
#include "model/forest.h"
#include "model/mimic.h"
#include "model/model.h"
#include "model/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_NAME_BYTES 32u     /* for a name like "body 12" */
#define JOINT_GAP_MAX 1e-6         /* relative to the length scale: error of printed decimals */
#define JOINT_ANGLE_MAX_RAD 1e-6   /* misalignment, for the same reason */
#define CURVE_END_TOLERANCE_S 1e-9 /* a curve that ends this close to t = 0 ends there */

_Static_assert(sizeof(skel_body_desc) == offsetof(skel_body_desc, collide) + 4, "tail padding");
_Static_assert(sizeof(skel_joint_desc) ==
                   offsetof(skel_joint_desc, mimic) + sizeof(skel_joint_mimic),
               "tail padding");
_Static_assert(sizeof(skel_model_desc) ==
                   offsetof(skel_model_desc, frame_acceleration_curve) + sizeof(skel_curve),
               "tail padding");

static const skel_body_desc k_body = {.struct_size = sizeof k_body, .orientation = {1, 0, 0, 0}};
static const skel_joint_desc k_joint = {.struct_size = sizeof k_joint,
                                        .parent = SKEL_WORLD,
                                        .parent_orientation = {1, 0, 0, 0},
                                        .child_orientation = {1, 0, 0, 0},
                                        .limits.axis = {0, 0, 1},
                                        .follow.damping = 1,
                                        .muscle.delay = 0.1,
                                        .muscle.side = 1,
                                        .mimic.source = -1,
                                        .mimic.multiplier = 1};
static const skel_model_desc k_model = {.struct_size = sizeof k_model,
                                        .body_stride = sizeof(skel_body_desc),
                                        .joint_stride = sizeof(skel_joint_desc),
                                        .gravity = {0, 0, -9.81},
                                        .ground_stride = sizeof(skel_ground_desc),
                                        .wobble_stride = sizeof(skel_wobble_desc),
                                        .field_stride = sizeof(skel_field_desc)};

void skel_body_desc_init_sized(skel_body_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_body, sizeof k_body);
}
void skel_joint_desc_init_sized(skel_joint_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_joint, sizeof k_joint);
}
void skel_model_desc_init_sized(skel_model_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_model, sizeof k_model);
}

/* Data that is needed only while a model is built. */
typedef struct build {
    skel_model_desc desc;
    skel_model *m;
    skel_error *err;
    skel__forest_work forest;
    int32_t *queue;      /* (nb) bodies with a known pose; shares its memory with forest.group */
    int32_t queue_count; /* entries of queue */
    int32_t *has_pose;   /* (nb) */
    const char **sorted; /* (max(nb, nj)) names */
    int32_t npin;        /* bodies with pins */
    char *names;         /* next free byte of the model's names */
    double *numbers;     /* next free double of the model's curves and lists */
} build;

/* ---- reading descs -------------------------------------------------------------------------- */

static skel_status read_body(const build *b, int32_t i, skel_body_desc *out) {
    const unsigned char *list = (const unsigned char *)b->desc.bodies;
    const unsigned char *at = list + (size_t)i * b->desc.body_stride;

    *out = k_body;
    if (skel__desc_import(out, sizeof *out, sizeof *out, at) == SKEL_OK) return SKEL_OK;
    return skel__fail(b->err, SKEL_E_STRUCT_SIZE, i, -1,
                      "bodies[%d].struct_size: must be set by skel_body_desc_init", i);
}

static skel_status read_joint(const build *b, int32_t j, skel_joint_desc *out) {
    const unsigned char *list = (const unsigned char *)b->desc.joints;
    const unsigned char *at = list + (size_t)j * b->desc.joint_stride;

    *out = k_joint;
    if (skel__desc_import(out, sizeof *out, sizeof *out, at) == SKEL_OK) return SKEL_OK;
    return skel__fail(b->err, SKEL_E_STRUCT_SIZE, -1, j,
                      "joints[%d].struct_size: must be set by skel_joint_desc_init", j);
}

/* ---- memory --------------------------------------------------------------------------------- */

static size_t name_bytes(const char *name) {
    return name ? strlen(name) + 1 : DEFAULT_NAME_BYTES;
}

/* Doubles of a curve with `slopes` further numbers per sample. */
static size_t curve_doubles(const skel_curve *c, size_t slopes) {
    return (size_t)c->count * (1 + c->width + slopes);
}

/* Checks all fields and counts the bytes of all names and the doubles of all curves and lists. */
static skel_status check_and_measure(build *b, size_t *names, size_t *numbers) {
    *names = 0;
    *numbers = 0;

    for (int32_t i = 0; i < (int32_t)b->desc.body_count; ++i) {
        skel_body_desc d;
        SKEL__CHECK(read_body(b, i, &d));
        SKEL__CHECK(skel__check_body((skel__owner){b->err, SKEL_E_BODY, "bodies", i}, &d));

        *names += name_bytes(d.name);
        b->npin += d.pinned_count > 0;
        *numbers += curve_doubles(&d.force_curve, 0) + curve_doubles(&d.torque_curve, 0) +
                    curve_doubles(&d.position_curve, 3) + curve_doubles(&d.orientation_curve, 3) +
                    2 * (size_t)d.pinned_count + 3 * (size_t)d.contact_count;
    }

    for (int32_t j = 0; j < (int32_t)b->desc.joint_count; ++j) {
        skel_joint_desc d;
        SKEL__CHECK(read_joint(b, j, &d));
        SKEL__CHECK(skel__check_joint((skel__owner){b->err, SKEL_E_JOINT, "joints", j},
                                      (int32_t)b->desc.body_count, &d));

        *names += name_bytes(d.name);
        *numbers += curve_doubles(&d.motor_curve, 0) + curve_doubles(&d.follow.target, 0) +
                    curve_doubles(&d.follow.weight, 0);
    }

    *numbers += curve_doubles(&b->desc.frame_spin_curve, 0) +
                curve_doubles(&b->desc.frame_acceleration_curve, 0);
    return skel__world_check(&b->desc, b->err);
}

/* The model in one block. Bodies and joints have room for the hidden ones of the pins. */
static size_t layout(build *b, void *base, size_t names, size_t numbers) {
    const size_t nb = b->desc.body_count, nj = b->desc.joint_count, np = (size_t)b->npin;
    const size_t grounds = SKEL__SOFT_LEVELS * ((size_t)b->desc.ground_count + 1);
    skel__carver c = {base, 0};
    skel_model *m = skel__carve(&c, 1, sizeof *m);
    skel_model at = {0};

    at.body = skel__carve(&c, nb + np, sizeof *at.body);
    at.joint = skel__carve(&c, nj + np, sizeof *at.joint);
    at.order = skel__carve(&c, nb, sizeof *at.order);
    at.prescribed = skel__carve(&c, nb + np, sizeof *at.prescribed);
    at.loop = skel__carve(&c, nj, sizeof *at.loop);
    at.mimic_joint = skel__carve(&c, nj, sizeof *at.mimic_joint);
    at.pin = skel__carve(&c, nb, sizeof *at.pin);
    at.ground = skel__carve(&c, grounds, sizeof *at.ground);
    at.wobble = skel__carve(&c, b->desc.wobble_count, sizeof *at.wobble);
    at.field = skel__carve(&c, b->desc.field_count, sizeof *at.field);
    b->names = skel__carve(&c, names, 1);
    b->numbers = skel__carve(&c, numbers, sizeof(double));

    if (m) *m = at;
    b->m = m;
    return c.used;
}

static size_t layout_scratch(build *b, void *base) {
    const size_t nb = b->desc.body_count, nj = b->desc.joint_count;
    skel__carver c = {base, 0};

    b->forest.first = skel__carve(&c, nb + 2, sizeof *b->forest.first);
    b->forest.link = skel__carve(&c, 2 * nj + 1, sizeof *b->forest.link);
    b->forest.group = skel__carve(&c, nb + 1, sizeof *b->forest.group);
    b->has_pose = skel__carve(&c, nb + 1, sizeof *b->has_pose);
    b->forest.visited = skel__carve(&c, nb + 1, sizeof *b->forest.visited);
    b->sorted = skel__carve(&c, (nb > nj ? nb : nj) + 1, sizeof *b->sorted);

    b->queue = b->forest.group;
    return c.used;
}

/* ---- copying -------------------------------------------------------------------------------- */

static const char *copy_name(build *b, const char *name, const char *kind, int32_t i) {
    char *out = b->names;
    if (name)
        memcpy(out, name, strlen(name) + 1);
    else
        snprintf(out, DEFAULT_NAME_BYTES, "%s %d", kind, i);

    b->names += name_bytes(name);
    return out;
}

static double *take_doubles(build *b, size_t count) {
    double *out = b->numbers;
    b->numbers += count;
    return out;
}

static double *copy_doubles(build *b, const double *from, size_t count) {
    double *out = take_doubles(b, count);
    memcpy(out, from, count * sizeof *out);
    return out;
}

static skel_curve copy_curve(build *b, const skel_curve *c) {
    if (c->count == 0) return (skel_curve){0};

    const double *time = copy_doubles(b, c->time, c->count);
    const double *value = copy_doubles(b, c->value, (size_t)c->count * c->width);
    return (skel_curve){time, value, c->count, c->width};
}

/* A curve of quaternions. The copies are unit quaternions without changes of sign. */
static skel_curve copy_orientation_curve(build *b, const skel_curve *c) {
    if (c->count == 0) return (skel_curve){0};

    const double *time = copy_doubles(b, c->time, c->count);
    double *value = copy_doubles(b, c->value, (size_t)c->count * c->width);
    skel__curve_orient(value, c->count);
    return (skel_curve){time, value, c->count, c->width};
}

static void copy_pose_curves(build *b, skel__body *to, const skel_body_desc *d) {
    to->position_curve = copy_curve(b, &d->position_curve);
    to->orientation_curve = copy_orientation_curve(b, &d->orientation_curve);

    if (to->position_curve.count > 0) {
        to->position_slopes = take_doubles(b, 3 * (size_t)to->position_curve.count);
        skel__curve_position_slopes(&to->position_curve, to->position_slopes);
    }
    if (to->orientation_curve.count > 0) {
        to->orientation_slopes = take_doubles(b, 3 * (size_t)to->orientation_curve.count);
        skel__curve_orientation_slopes(&to->orientation_curve, to->orientation_slopes);
    }
}

static void copy_pinned(build *b, int32_t i, skel__body *to, const skel_body_desc *d) {
    if (d->pinned_count == 0) return;
    to->pinned = copy_doubles(b, d->pinned, 2 * (size_t)d->pinned_count);
    to->pinned_count = d->pinned_count;
    b->m->pin[b->m->npin++] = i;
}

static void copy_contacts(build *b, skel__body *to, const skel_body_desc *d) {
    to->collide = d->collide;
    if (d->contact_count == 0) return;
    to->contacts = copy_doubles(b, d->contacts, 3 * (size_t)d->contact_count);
    to->contact_count = d->contact_count;
}

/* Whether the body is animated until t = 0 and dynamic from there on. Its initial velocity is then
   that of the animation before t = 0. */
static int is_released_at_start(const skel__body *b) {
    const skel_curve *c = b->position_curve.count > 0 ? &b->position_curve : &b->orientation_curve;
    return b->motion == SKEL_MOTION_DYNAMIC && c->count > 1 &&
           fabs(c->time[c->count - 1]) < CURVE_END_TOLERANCE_S;
}

/* The initial state of a fixed or animated body is that of its curves at t = 0. */
static void start_on_curves(skel__body *to) {
    const skel__side side = is_released_at_start(to) ? SKEL__BEFORE : SKEL__AFTER;
    const skel__motion at = skel__prescribed_motion(to, 0, side);
    to->x0 = at.x;
    to->v0 = at.v;
    to->w0 = at.w;
}

static void copy_body(build *b, int32_t i, const skel_body_desc *d) {
    skel__body *to = &b->m->body[i];
    const double *j = d->inertia; /* xx yy zz xy xz yz */

    to->motion = d->motion;
    to->parent = -1;
    to->joint = -1;
    to->host = -1;
    to->is_smooth = (d->flags & SKEL_FLAG_SMOOTH) != 0;
    to->shape = d->shape;
    memcpy(to->size, d->size, sizeof to->size);
    to->name = copy_name(b, d->name, "body", i);

    to->mass = d->mass;
    to->inertia = (m3){{{j[0], j[3], j[4]}, {j[3], j[1], j[5]}, {j[4], j[5], j[2]}}};
    if (d->mass > 0) to->inertia_inverse = m3_symmetric(m3_inverse(to->inertia));

    to->x0 = (pose){v3_of(d->position), q_unit(q_of(d->orientation))};
    to->v0 = v3_of(d->velocity);
    to->w0 = v3_of(d->angular_velocity);

    to->force = v3_of(d->force);
    to->torque = v3_of(d->torque);
    to->force_curve = copy_curve(b, &d->force_curve);
    to->torque_curve = copy_curve(b, &d->torque_curve);
    copy_pose_curves(b, to, d);
    copy_pinned(b, i, to, d);
    copy_contacts(b, to, d);

    const int has_curve = to->position_curve.count > 0 || to->orientation_curve.count > 0;
    b->has_pose[i] = !d->unplaced || has_curve;
    if (d->motion != SKEL_MOTION_DYNAMIC || has_curve) start_on_curves(to);
}

static void copy_joint(build *b, int32_t i, const skel_joint_desc *d) {
    skel__joint *to = &b->m->joint[i];

    to->type = d->type;
    to->name = copy_name(b, d->name, "joint", i);
    to->a = d->parent;
    to->b = d->child;
    to->fa = (pose){v3_of(d->parent_position), q_unit(q_of(d->parent_orientation))};
    to->fb = (pose){v3_of(d->child_position), q_unit(q_of(d->child_orientation))};
    to->ea = m3_transpose(q_matrix(to->fa.q));
    to->eb = m3_transpose(q_matrix(to->fb.q));

    to->pitch = d->pitch;
    to->friction = d->friction;
    to->motor = d->motor;
    to->motor_curve = copy_curve(b, &d->motor_curve);
    to->is_smooth = (d->flags & SKEL_FLAG_SMOOTH) != 0;

    to->limits = d->limits;
    to->limits.is_set = d->limits.is_set != 0;
    to->limit_axis = v3_of(d->limits.axis);

    to->follow = d->follow;
    if (skel__joint_kinds[d->type].q_kind[0] == SKEL_COORDINATE_QUATERNION)
        to->follow.target = copy_orientation_curve(b, &d->follow.target);
    else
        to->follow.target = copy_curve(b, &d->follow.target);
    to->follow.weight = copy_curve(b, &d->follow.weight);
    if (to->follow.frequency > 0) b->m->has_follow = 1;

    to->spring = d->spring;
    to->muscle = d->muscle;
    to->muscle_index = -1;
    to->mimic = d->mimic;
    to->mimic_root = -1;

    to->q_offset = b->m->nq;
    to->v_offset = b->m->nv;
    b->m->nq += skel__joint_nq(d->type);
    b->m->nv += skel__joint_nv(d->type);
}

static skel_status copy_all(build *b) {
    b->m->nb = (int32_t)b->desc.body_count;
    b->m->nj = (int32_t)b->desc.joint_count;
    b->m->gravity = v3_of(b->desc.gravity);

    for (int32_t i = 0; i < b->m->nb; ++i) {
        skel_body_desc d;
        SKEL__CHECK(read_body(b, i, &d));
        copy_body(b, i, &d);
    }
    for (int32_t j = 0; j < b->m->nj; ++j) {
        skel_joint_desc d;
        SKEL__CHECK(read_joint(b, j, &d));
        copy_joint(b, j, &d);
    }

    b->m->frame_spin_curve = copy_curve(b, &b->desc.frame_spin_curve);
    b->m->frame_acceleration_curve = copy_curve(b, &b->desc.frame_acceleration_curve);
    return skel__world_copy(b->m, &b->desc, b->err);
}

/* ---- names ---------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static skel_status check_unique(const build *b, int32_t count, const char *list) {
    qsort(b->sorted, (size_t)count, sizeof *b->sorted, compare_names);

    for (int32_t i = 0; i < count; ++i) {
        if (b->sorted[i][0] == 0)
            return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1,
                              "%s: one name is empty, must have at least one character", list);
        if (i > 0 && strcmp(b->sorted[i], b->sorted[i - 1]) == 0)
            return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1,
                              "%s: duplicate name \"%s\", names must be unique", list,
                              b->sorted[i]);
    }
    return SKEL_OK;
}

static skel_status check_names(const build *b) {
    for (int32_t i = 0; i < b->m->nb; ++i) b->sorted[i] = b->m->body[i].name;
    SKEL__CHECK(check_unique(b, b->m->nb, "bodies"));

    for (int32_t j = 0; j < b->m->nj; ++j) b->sorted[j] = b->m->joint[j].name;
    return check_unique(b, b->m->nj, "joints");
}

/* ---- initial poses -------------------------------------------------------------------------- */

/* The pose of the other body of joint j, if it is not known yet. With the frames F_a, F_b of the
   joint and its motion M(q):  X_b = X_a F_a M F_b^-1,  X_a = X_b F_b M^-1 F_a^-1. */
static skel_status find_pose_across(build *b, int32_t j, int32_t known) {
    skel_model *m = b->m;
    const skel__joint *joint = &m->joint[j];
    const int32_t other = joint->a == known ? joint->b : joint->a;
    if (other < 0 || b->has_pose[other]) return SKEL_OK;

    skel_joint_desc d;
    SKEL__CHECK(read_joint(b, j, &d));
    const pose x = skel__initial_pose(m, known);
    const pose motion = skel__joint_pose(joint, d.q);

    pose result;
    if (joint->a == known)
        result = pose_mul(pose_mul(pose_mul(x, joint->fa), motion), pose_inverse(joint->fb));
    else
        result = pose_mul(pose_mul(pose_mul(x, joint->fb), pose_inverse(motion)),
                          pose_inverse(joint->fa));
    result.q = q_unit(result.q);

    m->body[other].x0 = result;
    b->has_pose[other] = 1;
    b->queue[b->queue_count++] = other;
    return SKEL_OK;
}

/* Breadth first from the bodies with a given pose, and from the world. */
static skel_status find_poses(build *b) {
    skel_model *m = b->m;

    b->queue_count = 0;
    for (int32_t i = 0; i < m->nb; ++i)
        if (b->has_pose[i]) b->queue[b->queue_count++] = i;

    for (int32_t j = 0; j < m->nj; ++j)
        if (m->joint[j].a < 0 || m->joint[j].b < 0) SKEL__CHECK(find_pose_across(b, j, SKEL_WORLD));

    for (int32_t k = 0; k < b->queue_count; ++k) {
        const int32_t i = b->queue[k];
        for (int32_t e = b->forest.first[i]; e < b->forest.first[i + 1]; ++e)
            SKEL__CHECK(find_pose_across(b, b->forest.link[e], i));
    }

    for (int32_t i = 0; i < m->nb; ++i)
        if (!b->has_pose[i])
            return skel__fail(b->err, SKEL_E_BODY, i, -1,
                              "bodies[%d].position: is missing, and no chain of joints determines "
                              "the pose of '%s'",
                              i, m->body[i].name);
    return SKEL_OK;
}

/* Large levers can move a body beyond the range of double. Squares of lengths must be finite, too,
   because norms are computed from them. */
static skel_status check_poses(const build *b) {
    const skel_model *m = b->m;

    for (int32_t i = 0; i < m->nb; ++i) {
        const pose *x = &m->body[i].x0;
        if (!isfinite(v3_dot(x->p, x->p) + q_dot(x->q, x->q)))
            return skel__fail(b->err, SKEL_E_BODY, i, -1,
                              "bodies[%d].position: is [%g, %g, %g] m, must be below 1e154 m", i,
                              x->p.x, x->p.y, x->p.z);
    }
    return SKEL_OK;
}

/* The length scale: the largest lever of a joint, or distance of a body from its tree parent. */
static void measure_length_scale(skel_model *m) {
    double length = 0;

    for (int32_t j = 0; j < m->nj; ++j) {
        const skel__joint *joint = &m->joint[j];
        length = fmax(length, fmax(v3_norm(joint->fa.p), v3_norm(joint->fb.p)));
    }
    for (int32_t i = 0; i < m->nb; ++i) {
        if (m->body[i].joint < 0) continue;
        const v3 parent = skel__initial_pose(m, m->body[i].parent).p;
        length = fmax(length, v3_norm(v3_sub(m->body[i].x0.p, parent)));
    }
    m->length_scale = length > 0 ? length : 1.0;
}

static skel_status check_joint_gaps(const build *b) {
    const skel_model *m = b->m;

    for (int32_t j = 0; j < m->nj; ++j) {
        const skel__joint *joint = &m->joint[j];
        const pose outer = pose_mul(skel__initial_pose(m, joint->a), joint->fa);
        const pose inner = pose_mul(skel__initial_pose(m, joint->b), joint->fb);
        double q[4];
        const skel__misfit misfit = skel__joint_measure(joint, outer, inner, q);

        /* The comparisons are negated so that a NaN fails as well. */
        if (!(misfit.gap <= JOINT_GAP_MAX * m->length_scale))
            return skel__fail(b->err, SKEL_E_JOINT, -1, j,
                              "joints[%d].frames: their origins are %.3g m apart at the given "
                              "pose, must coincide",
                              j, misfit.gap);
        if (!(misfit.angle <= JOINT_ANGLE_MAX_RAD))
            return skel__fail(b->err, SKEL_E_JOINT, -1, j,
                              "joints[%d].frames: their axes differ by %.3g rad at the given pose, "
                              "must agree",
                              j, misfit.angle);
    }
    return SKEL_OK;
}

/* ---- pins ----------------------------------------------------------------------------------- */

/* A pin is a fixed joint to a hidden prescribed body. That body has the pose in which the pinned
   body was caught, or moves on its curves. */
static void add_pins(skel_model *m) {
    m->na = m->nb + m->npin;

    for (int32_t k = 0; k < m->npin; ++k) {
        const skel__body *pinned = &m->body[m->pin[k]];
        skel__body *hidden = &m->body[m->nb + k];
        skel__joint *joint = &m->joint[m->nj + k];

        *hidden = *pinned;
        hidden->motion = SKEL_MOTION_DRIVEN;
        hidden->parent = -1;
        hidden->joint = -1;
        hidden->is_inner = 0;
        hidden->host = -1;
        hidden->contact_count = 0;
        hidden->is_held = pinned->position_curve.count == 0 && pinned->orientation_curve.count == 0;

        joint->type = SKEL_JOINT_FIXED;
        joint->name = pinned->name;
        joint->a = m->nb + k;
        joint->b = m->pin[k];
        joint->fa = (pose){{0, 0, 0}, q_identity()};
        joint->fb = joint->fa;
        joint->ea = m3_identity();
        joint->eb = m3_identity();
        joint->is_loop = 1;
        joint->muscle_index = -1;
        joint->mimic.source = -1;
        joint->mimic_root = -1;

        m->prescribed[m->np++] = m->nb + k;
    }
}

/* ---- all steps ------------------------------------------------------------------------------ */

static skel_status check_desc(build *b, const skel_model_desc *desc) {
    skel_model_desc *d = &b->desc;

    *d = k_model;
    if (!desc) return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    if (skel__desc_import(d, sizeof *d, sizeof *d, desc) != SKEL_OK)
        return skel__fail(b->err, SKEL_E_STRUCT_SIZE, -1, -1,
                          "struct_size: must be set by skel_model_desc_init");

    if (d->body_count == 0 || d->body_count > SKEL__MAX_BODIES || !d->bodies)
        return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1,
                          "bodies: has %u bodies, must have 1 to %u", d->body_count,
                          SKEL__MAX_BODIES);
    if (d->joint_count > SKEL__MAX_BODIES || (d->joint_count > 0 && !d->joints))
        return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1,
                          "joints: has %u joints, must have at most %u", d->joint_count,
                          SKEL__MAX_BODIES);
    if (d->flags != 0)
        return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1, "flags: is %d, must be 0",
                          (int)d->flags);

    if (d->body_stride < sizeof(skel_body_desc) ||
        (d->joint_count > 0 && d->joint_stride < sizeof(skel_joint_desc)))
        return skel__fail(
            b->err, SKEL_E_ARGUMENT, -1, -1,
            "body_stride, joint_stride: are %u and %u, must be the sizes of the descs",
            d->body_stride, d->joint_stride);

    for (int k = 0; k < 3; ++k)
        if (!isfinite(d->gravity[k]))
            return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1,
                              "gravity[%d]: is %g m/s^2, must be finite", k, d->gravity[k]);
    return SKEL_OK;
}

static skel_status fill(build *b) {
    SKEL__CHECK(copy_all(b));
    SKEL__CHECK(check_names(b));

    SKEL__CHECK(skel__forest_find(b->m, &b->forest, b->err));
    SKEL__CHECK(skel__mimic_resolve(b->m, b->queue, b->err));

    SKEL__CHECK(find_poses(b));
    SKEL__CHECK(check_poses(b));
    measure_length_scale(b->m);
    add_pins(b->m);
    skel__world_place(b->m);
    return check_joint_gaps(b);
}

skel_status skel__model_build(const skel_model_desc *desc, skel_model **out, skel_error *err) {
    build b = {.err = err};
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;

    /* Check the desc and measure. */
    size_t names, numbers;
    skel_allocator allocator;
    SKEL__CHECK(check_desc(&b, desc));
    if (skel__allocator_import(&allocator, b.desc.allocator) != SKEL_OK)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "allocator: must have struct_size, alloc and free");
    SKEL__CHECK(check_and_measure(&b, &names, &numbers));

    /* Allocate and fill. */
    void *block = skel__alloc(&allocator, layout(&b, NULL, names, numbers));
    void *scratch = skel__alloc(&allocator, layout_scratch(&b, NULL));
    skel_status status;
    if (block && scratch) {
        layout(&b, block, names, numbers);
        layout_scratch(&b, scratch);
        b.m->allocator = allocator;
        status = fill(&b);
    } else {
        status = skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory for %u bodies",
                            b.desc.body_count);
    }

    /* The block is the model, or it is freed. */
    skel__free(&allocator, scratch);
    if (status == SKEL_OK)
        *out = b.m;
    else
        skel__free(&allocator, block);
    return status;
}
