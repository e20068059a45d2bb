/* SPDX-License-Identifier: BSD-3-Clause */
/* From desc to model: check every field, copy into one block, find the forest, place what is placed
   by q, and see that the joints are closed [HAK (1)]. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "model/check.h"
#include "model/model.h"
#include "model/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM 32u     /* for a name we make ourselves */
#define CLOSED_GAP 1e-6   /* of the model's size: what printed digits may leave open */
#define CLOSED_ANGLE 1e-6 /* [rad] */

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const skel_status status_ = (call);                                                        \
        if (status_ != SKEL_OK) return status_;                                                    \
    } while (0)

#define DESC_BODY_V1 offsetof(skel_body_desc, pinned)
#define DESC_JOINT_V1 sizeof(skel_joint_desc)
#define DESC_MODEL_V1 offsetof(skel_model_desc, grounds)
_Static_assert(sizeof(skel_body_desc) == offsetof(skel_body_desc, collide) + 4, "tail padding");
_Static_assert(sizeof(skel_joint_desc) ==
                   offsetof(skel_joint_desc, mimic) + sizeof(skel_joint_mimic),
               "tail padding");
_Static_assert(sizeof(skel_model_desc) ==
                   offsetof(skel_model_desc, frame_acceleration_curve) + sizeof(skel_curve),
               "tail padding");

static const skel_body_desc  k_body  = {.struct_size = sizeof k_body, .orientation = {1, 0, 0, 0}};
static const skel_joint_desc k_joint = {.struct_size        = sizeof k_joint,
                                        .parent             = SKEL_WORLD,
                                        .parent_orientation = {1, 0, 0, 0},
                                        .child_orientation  = {1, 0, 0, 0},
                                        .limits.axis        = {0, 0, 1},
                                        .follow.damping     = 1,
                                        .muscle.delay       = 0.1,
                                        .muscle.side        = 1,
                                        .mimic.source       = -1,
                                        .mimic.multiplier   = 1};
static const skel_model_desc k_model = {.struct_size   = sizeof k_model,
                                        .body_stride   = sizeof(skel_body_desc),
                                        .joint_stride  = sizeof(skel_joint_desc),
                                        .gravity       = {0, 0, -9.81},
                                        .ground_stride = sizeof(skel_ground_desc),
                                        .wobble_stride = sizeof(skel_wobble_desc),
                                        .field_stride  = sizeof(skel_field_desc)};

void skel_body_desc_init_sized(skel_body_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_body, sizeof k_body);
}
void skel_joint_desc_init_sized(skel_joint_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_joint, sizeof k_joint);
}
void skel_model_desc_init_sized(skel_model_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_model, sizeof k_model);
}

/* What is needed only while building. */
typedef struct build {
    skel_model_desc desc;
    skel_model     *m;
    skel_error     *err;
    int32_t        *first;   /* (nb + 1) start of each body's joints in `link` */
    int32_t        *link;    /* (2 nj) joints at a body */
    int32_t        *queue;   /* (nb) */
    int32_t        *placed;  /* (nb) */
    int32_t        *visited; /* (nb) */
    const char    **sorted;  /* (max(nb, nj)) names */
    int32_t         npin;    /* bodies with pins */
    char           *names;   /* next free byte of the model's name pool */
    double         *numbers; /* next free double of the model's curve pool */
} build;

/* ---- reading descs -------------------------------------------------------------------------- */

static skel_status body_at(const build *b, int32_t i, skel_body_desc *out) {
    const unsigned char *at =
        (const unsigned char *)b->desc.bodies + (size_t)i * b->desc.body_stride;
    *out = k_body;
    if (skel__desc_import(out, sizeof *out, DESC_BODY_V1, at) == SKEL_OK) return SKEL_OK;
    return skel__fail(b->err, SKEL_E_STRUCT_SIZE, i, -1,
                      "bodies[%d].struct_size: must be set by skel_body_desc_init", i);
}

static skel_status joint_at(const build *b, int32_t i, skel_joint_desc *out) {
    const unsigned char *at =
        (const unsigned char *)b->desc.joints + (size_t)i * b->desc.joint_stride;
    *out = k_joint;
    if (skel__desc_import(out, sizeof *out, DESC_JOINT_V1, at) == SKEL_OK) return SKEL_OK;
    return skel__fail(b->err, SKEL_E_STRUCT_SIZE, -1, i,
                      "joints[%d].struct_size: must be set by skel_joint_desc_init", i);
}

/* ---- memory --------------------------------------------------------------------------------- */

static size_t name_room(const char *name) {
    return name ? strlen(name) + 1 : NAME_ROOM;
}
static size_t curve_room(const skel_curve *c, size_t slopes) {
    return (size_t)c->count * (1 + c->width + slopes);
}

/* Checks everything field by field and counts the bytes of names and the doubles of curves. */
static skel_status check_and_measure(build *b, size_t *names, size_t *numbers) {
    *names = *numbers = 0;
    for (int32_t i = 0; i < (int32_t)b->desc.body_count; ++i) {
        skel_body_desc d;
        CHECK(body_at(b, i, &d));
        CHECK(skel__check_body((skel__owner){b->err, SKEL_E_BODY, "bodies", i}, &d));
        *names += name_room(d.name);
        b->npin += d.pinned_count > 0;
        *numbers += curve_room(&d.force_curve, 0) + curve_room(&d.torque_curve, 0) +
                    curve_room(&d.position_curve, 3) + curve_room(&d.orientation_curve, 3) +
                    2 * (size_t)d.pinned_count + 3 * (size_t)d.contact_count;
    }
    for (int32_t i = 0; i < (int32_t)b->desc.joint_count; ++i) {
        skel_joint_desc d;
        CHECK(joint_at(b, i, &d));
        CHECK(skel__check_joint((skel__owner){b->err, SKEL_E_JOINT, "joints", i},
                                (int32_t)b->desc.body_count, &d));
        *names += name_room(d.name);
        *numbers += curve_room(&d.motor_curve, 0) + curve_room(&d.follow.target, 0) +
                    curve_room(&d.follow.weight, 0);
    }
    *numbers +=
        curve_room(&b->desc.frame_spin_curve, 0) + curve_room(&b->desc.frame_acceleration_curve, 0);
    return skel__world_check(&b->desc, b->err);
}

static size_t layout(build *b, void *base, size_t names, size_t numbers) {
    const size_t nb = b->desc.body_count, nj = b->desc.joint_count, np = (size_t)b->npin;
    skel__carver c  = {base, 0};
    skel_model  *m  = skel__carve(&c, 1, sizeof *m);
    skel_model   at = {0};
    at.body         = skel__carve(&c, nb + np, sizeof *at.body);
    at.joint        = skel__carve(&c, nj + np, sizeof *at.joint);
    at.order        = skel__carve(&c, nb, sizeof *at.order);
    at.prescribed   = skel__carve(&c, nb + np, sizeof *at.prescribed);
    at.loop         = skel__carve(&c, nj, sizeof *at.loop);
    at.mimic_joint  = skel__carve(&c, nj, sizeof *at.mimic_joint);
    at.pin          = skel__carve(&c, nb, sizeof *at.pin);
    at.ground =
        skel__carve(&c, SKEL__SOFT_LEVELS * ((size_t)b->desc.ground_count + 1), sizeof *at.ground);
    at.wobble  = skel__carve(&c, b->desc.wobble_count, sizeof *at.wobble);
    at.field   = skel__carve(&c, b->desc.field_count, sizeof *at.field);
    b->names   = skel__carve(&c, names, 1);
    b->numbers = skel__carve(&c, numbers, sizeof(double));
    if (m) *m = at;
    b->m = m;
    return c.used;
}

static size_t layout_scratch(build *b, void *base) {
    const size_t nb = b->desc.body_count, nj = b->desc.joint_count;
    skel__carver c = {base, 0};
    b->first       = skel__carve(&c, nb + 2, sizeof *b->first);
    b->link        = skel__carve(&c, 2 * nj + 1, sizeof *b->link);
    b->queue       = skel__carve(&c, nb + 1, sizeof *b->queue);
    b->placed      = skel__carve(&c, nb + 1, sizeof *b->placed);
    b->visited     = skel__carve(&c, nb + 1, sizeof *b->visited);
    b->sorted      = skel__carve(&c, (nb > nj ? nb : nj) + 1, sizeof *b->sorted);
    return c.used;
}

/* ---- copying -------------------------------------------------------------------------------- */

static const char *take_name(build *b, const char *name, const char *kind, int32_t i) {
    char *at = b->names;
    if (name)
        memcpy(at, name, strlen(name) + 1);
    else
        snprintf(at, NAME_ROOM, "%s %d", kind, i);
    b->names += name_room(name);
    return at;
}

static skel_curve take_curve(build *b, const skel_curve *c) {
    if (c->count == 0) return (skel_curve){0};
    double *time = b->numbers, *value = time + c->count;
    memcpy(time, c->time, c->count * sizeof *time);
    memcpy(value, c->value, (size_t)c->count * c->width * sizeof *value);
    b->numbers = value + (size_t)c->count * c->width;
    return (skel_curve){time, value, c->count, c->width};
}

static double *take_slopes(build *b, uint32_t count) {
    double *at = b->numbers;
    b->numbers += 3 * (size_t)count;
    return at;
}

static void take_driven_curves(build *b, skel__body *to, const skel_body_desc *d) {
    to->position_curve    = take_curve(b, &d->position_curve);
    to->orientation_curve = take_curve(b, &d->orientation_curve);
    if (to->position_curve.count > 0) {
        to->position_slopes = take_slopes(b, to->position_curve.count);
        skel__curve_position_slopes(&to->position_curve, to->position_slopes);
    }
    if (to->orientation_curve.count > 0) {
        skel__curve_orient((double *)(uintptr_t)to->orientation_curve.value,
                           to->orientation_curve.count);
        to->orientation_slopes = take_slopes(b, to->orientation_curve.count);
        skel__curve_orientation_slopes(&to->orientation_curve, to->orientation_slopes);
    }
}

static void take_pinned(build *b, int32_t i, skel__body *to, const skel_body_desc *d) {
    if (d->pinned_count == 0) return;
    memcpy(b->numbers, d->pinned, 2 * (size_t)d->pinned_count * sizeof(double));
    to->pinned       = b->numbers;
    to->pinned_count = d->pinned_count;
    b->numbers += 2 * (size_t)d->pinned_count;
    b->m->pin[b->m->npin++] = i;
}

static void take_touch(build *b, skel__body *to, const skel_body_desc *d) {
    to->collide = d->collide;
    if (d->contact_count == 0) return;
    memcpy(b->numbers, d->contacts, 3 * (size_t)d->contact_count * sizeof(double));
    to->contacts      = b->numbers;
    to->contact_count = d->contact_count;
    b->numbers += 3 * (size_t)d->contact_count;
}

/* A keyed motion that ends at time 0, where physics takes over: its last velocity counts. */
static int starts_from_behind(const skel__body *b) {
    const skel_curve *c = b->position_curve.count > 0 ? &b->position_curve : &b->orientation_curve;
    return b->motion == SKEL_MOTION_DYNAMIC && c->count > 1 && fabs(c->time[c->count - 1]) < 1e-9;
}

static void take_body(build *b, int32_t i, const skel_body_desc *d) {
    skel__body   *to = &b->m->body[i];
    const double *j  = d->inertia;
    to->motion       = d->motion;
    to->parent = to->joint = -1;
    to->host               = -1;
    to->is_smooth          = (d->flags & SKEL_FLAG_SMOOTH) != 0;
    to->shape              = d->shape;
    to->mass               = d->mass;
    to->inertia            = (m3){{{j[0], j[3], j[4]}, {j[3], j[1], j[5]}, {j[4], j[5], j[2]}}};
    if (d->mass > 0) to->inertia_inverse = m3_symmetric(m3_inverse(to->inertia));
    to->x0     = (pose){v3_of(d->position), q_unit(q_of(d->orientation))};
    to->v0     = v3_of(d->velocity);
    to->w0     = v3_of(d->angular_velocity);
    to->force  = v3_of(d->force);
    to->torque = v3_of(d->torque);
    memcpy(to->size, d->size, sizeof to->size);
    to->name         = take_name(b, d->name, "body", i);
    to->force_curve  = take_curve(b, &d->force_curve);
    to->torque_curve = take_curve(b, &d->torque_curve);
    take_driven_curves(b, to, d);
    take_pinned(b, i, to, d);
    take_touch(b, to, d);
    const int on_curve = to->position_curve.count > 0 || to->orientation_curve.count > 0;
    b->placed[i]       = !d->unplaced || on_curve;
    if (d->motion != SKEL_MOTION_DYNAMIC || on_curve) { /* the curve says how it starts */
        const skel__side   side = starts_from_behind(to) ? SKEL__BEFORE : SKEL__AFTER;
        const skel__motion at   = skel__prescribed_motion(to, 0, side);
        to->x0 = at.x, to->v0 = at.v, to->w0 = at.w;
    }
}

static void take_joint(build *b, int32_t i, const skel_joint_desc *d) {
    skel__joint *to = &b->m->joint[i];
    to->type        = d->type;
    to->a           = d->parent;
    to->b           = d->child;
    to->fa          = (pose){v3_of(d->parent_position), q_unit(q_of(d->parent_orientation))};
    to->fb          = (pose){v3_of(d->child_position), q_unit(q_of(d->child_orientation))};
    to->ea          = m3_transpose(q_matrix(to->fa.q));
    to->eb          = m3_transpose(q_matrix(to->fb.q));
    to->friction    = d->friction;
    to->motor       = d->motor;
    to->motor_curve = take_curve(b, &d->motor_curve);
    to->is_smooth   = (d->flags & SKEL_FLAG_SMOOTH) != 0;

    to->limits        = d->limits;
    to->limits.is_set = d->limits.is_set != 0;
    to->limit_axis    = v3_of(d->limits.axis);

    to->follow        = d->follow;
    to->follow.target = take_curve(b, &d->follow.target);
    to->follow.weight = take_curve(b, &d->follow.weight);
    if (d->type == SKEL_JOINT_BALL && to->follow.target.count > 0)
        skel__curve_orient((double *)(uintptr_t)to->follow.target.value, to->follow.target.count);
    if (to->follow.frequency > 0) b->m->has_follow = 1;

    to->spring       = d->spring;
    to->muscle       = d->muscle;
    to->muscle_index = -1;
    to->mimic        = d->mimic;
    to->mimic_root   = -1;

    to->name     = take_name(b, d->name, "joint", i);
    to->q_offset = b->m->nq;
    to->v_offset = b->m->nv;
    b->m->nq += skel__joint_nq(d->type);
    b->m->nv += skel__joint_nv(d->type);
}

static skel_status copy_all(build *b) {
    b->m->nb      = (int32_t)b->desc.body_count;
    b->m->nj      = (int32_t)b->desc.joint_count;
    b->m->gravity = v3_of(b->desc.gravity);
    for (int32_t i = 0; i < b->m->nb; ++i) {
        skel_body_desc d;
        CHECK(body_at(b, i, &d));
        take_body(b, i, &d);
    }
    for (int32_t i = 0; i < b->m->nj; ++i) {
        skel_joint_desc d;
        CHECK(joint_at(b, i, &d));
        take_joint(b, i, &d);
    }
    b->m->frame_spin_curve         = take_curve(b, &b->desc.frame_spin_curve);
    b->m->frame_acceleration_curve = take_curve(b, &b->desc.frame_acceleration_curve);
    return skel__world_take(b->m, &b->desc, b->err);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static skel_status check_unique(const build *b, int32_t count, const char *list) {
    qsort(b->sorted, (size_t)count, sizeof *b->sorted, compare_names);
    for (int32_t i = 0; i < count; ++i) {
        if (b->sorted[i][0] == 0)
            return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1, "%s: a name is empty", list);
        if (i > 0 && strcmp(b->sorted[i], b->sorted[i - 1]) == 0)
            return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1,
                              "%s: the name \"%s\" stands twice, must be unique", list,
                              b->sorted[i]);
    }
    return SKEL_OK;
}

static skel_status check_names(const build *b) {
    for (int32_t i = 0; i < b->m->nb; ++i) b->sorted[i] = b->m->body[i].name;
    CHECK(check_unique(b, b->m->nb, "bodies"));
    for (int32_t i = 0; i < b->m->nj; ++i) b->sorted[i] = b->m->joint[i].name;
    return check_unique(b, b->m->nj, "joints");
}

/* ---- the forest ----------------------------------------------------------------------------- */

static int is_anchor(const skel_model *m, int32_t body) {
    return body < 0 || m->body[body].motion != SKEL_MOTION_DYNAMIC;
}

/* Joints at every body, in joint order (counting sort). */
static void link_joints(build *b) {
    const skel_model *m = b->m;
    for (int32_t j = 0; j < m->nj; ++j) {
        if (m->joint[j].a >= 0) ++b->first[m->joint[j].a + 1];
        if (m->joint[j].b >= 0) ++b->first[m->joint[j].b + 1];
    }
    for (int32_t i = 0; i < m->nb; ++i) b->first[i + 1] += b->first[i];
    for (int32_t i = 0; i < m->nb; ++i) b->visited[i] = b->first[i]; /* borrowed as cursors */
    for (int32_t j = 0; j < m->nj; ++j) {
        if (m->joint[j].a >= 0) b->link[b->visited[m->joint[j].a]++] = j;
        if (m->joint[j].b >= 0) b->link[b->visited[m->joint[j].b]++] = j;
    }
    memset(b->visited, 0, (size_t)m->nb * sizeof *b->visited);
}

static const char *name_of(const skel_model *m, int32_t body) {
    return body < 0 ? "world" : m->body[body].name;
}

static int32_t group_of(int32_t *group, int32_t i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
}

/* Joins groups of bodies in the order of the joints, all anchors being one group: the joint that
   joins what is joined already closes a loop. */
static skel_status find_loops(build *b) {
    skel_model *m     = b->m;
    int32_t    *group = b->queue;
    for (int32_t i = 0; i <= m->nb; ++i) group[i] = i;
    for (int32_t j = 0; j < m->nj; ++j) {
        const int32_t a = m->joint[j].a, c = m->joint[j].b;
        if (is_anchor(m, a) && is_anchor(m, c))
            return skel__fail(b->err, SKEL_E_TREE, -1, j,
                              "joints[%d].bodies: neither '%s' nor '%s' moves by forces, one must",
                              j, name_of(m, a), name_of(m, c));
        const int32_t ga = group_of(group, is_anchor(m, a) ? m->nb : a);
        const int32_t gc = group_of(group, is_anchor(m, c) ? m->nb : c);
        if (ga == gc) {
            m->joint[j].is_loop = 1;
            m->loop[m->nl++]    = j;
        }
        group[ga] = gc;
    }
    return SKEL_OK;
}

/* Hangs the dynamic body at the other end of joint j on `parent`. */
static void hang(build *b, int32_t j, int32_t parent) {
    skel_model   *m         = b->m;
    skel__joint  *joint     = &m->joint[j];
    const int32_t child     = joint->a == parent ? joint->b : joint->a;
    b->visited[child]       = 1;
    m->body[child].parent   = parent;
    m->body[child].joint    = j;
    m->body[child].is_inner = !is_anchor(m, parent);
    joint->reversed         = joint->b != child;
    m->order[m->nd++]       = child;
}

/* Breadth first from order[from]: everything that hangs below. */
static void grow(build *b, int32_t from) {
    skel_model *m = b->m;
    for (int32_t k = from; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        for (int32_t e = b->first[i]; e < b->first[i + 1]; ++e)
            if (b->link[e] != m->body[i].joint && !m->joint[b->link[e]].is_loop)
                hang(b, b->link[e], i);
    }
}

static void plant_root(build *b, int32_t i) {
    b->visited[i]           = 1;
    b->m->order[b->m->nd++] = i;
    grow(b, b->m->nd - 1);
}

/* Roots of free skeletons: bodies that are nobody's child first, then whatever is left; behind them
   the wobbling masses, each after its host. */
static void plant_free(build *b) {
    skel_model *m        = b->m;
    int32_t    *is_child = b->queue;
    memset(is_child, 0, (size_t)m->nb * sizeof *is_child);
    for (int32_t j = 0; j < m->nj; ++j)
        if (m->joint[j].b >= 0) is_child[m->joint[j].b] = 1;
    for (int pass = 0; pass < 3; ++pass)
        for (int32_t i = 0; i < m->nb; ++i) {
            const int turn = m->body[i].host >= 0 ? 2 : is_child[i] ? 1 : 0;
            if (!is_anchor(m, i) && !b->visited[i] && pass == turn) plant_root(b, i);
        }
}

/* What joints and springs hold together, numbered by the first body. The world ties nothing. */
static void find_skeletons(build *b) {
    skel_model *m     = b->m;
    int32_t    *group = b->queue, *number = b->visited, count = 0;
    for (int32_t i = 0; i < m->nb; ++i) group[i] = i, number[i] = -1;
    for (int32_t j = 0; j < m->nj; ++j)
        if (m->joint[j].a >= 0 && m->joint[j].b >= 0)
            group[group_of(group, m->joint[j].a)] = group_of(group, m->joint[j].b);
    for (int32_t i = 0; i < m->nw; ++i)
        group[group_of(group, m->wobble[i].body)] = group_of(group, m->wobble[i].host);
    for (int32_t i = 0; i < m->nb; ++i) {
        int32_t *n = &number[group_of(group, i)];
        if (*n < 0) *n = count++;
        m->body[i].skeleton = *n;
    }
}

static skel_status find_forest(build *b) {
    skel_model *m = b->m;
    CHECK(find_loops(b));
    link_joints(b);
    for (int32_t i = 0; i < m->nb; ++i)
        if (is_anchor(m, i)) m->prescribed[m->np++] = i;
    for (int32_t j = 0; j < m->nj; ++j) {
        const int32_t a = m->joint[j].a, c = m->joint[j].b;
        if (m->joint[j].is_loop) continue;
        if (is_anchor(m, a) || is_anchor(m, c)) hang(b, j, is_anchor(m, a) ? a : c);
    }
    grow(b, 0);
    plant_free(b);
    for (int32_t k = 0; k < m->nd; ++k) {
        skel__body *at = &m->body[m->order[k]];
        at->root       = at->joint < 0 ? m->order[k] : at->is_inner ? m->body[at->parent].root : -1;
    }
    find_skeletons(b);
    return SKEL_OK;
}

/* ---- joints that go with others ------------------------------------------------------------- */

/* Whether joint j may lead or follow; `role` is the one whose `mimic` says so. */
static skel_status check_pair(const build *b, int32_t j, int32_t role) {
    const skel__joint *joint = &b->m->joint[j];
    if (joint->type != SKEL_JOINT_HINGE && joint->type != SKEL_JOINT_SLIDE)
        return skel__fail(b->err, SKEL_E_JOINT, -1, role,
                          "joints[%d].mimic.source: '%s' is no hinge or slide, both joints must be",
                          role, joint->name);
    if (joint->is_loop)
        return skel__fail(b->err, SKEL_E_JOINT, -1, role,
                          "joints[%d].mimic.source: '%s' closes a loop, neither joint may", role,
                          joint->name);
    return SKEL_OK;
}

/* q_k = a (b q' + c) + d along the chain of joint j. */
static skel_status resolve_mimic(build *b, int32_t j) {
    skel__joint *joint = b->m->joint;
    int32_t      depth = 0, at = j;
    for (; joint[at].mimic.source >= 0 && joint[at].mimic_root == -1; at = joint[at].mimic.source) {
        joint[at].mimic_root = -2; /* on the way */
        b->queue[depth++]    = at;
    }
    if (joint[at].mimic_root == -2)
        return skel__fail(
            b->err, SKEL_E_JOINT, -1, j,
            "joints[%d].mimic.source: leads round in a ring by '%s', must end at a joint "
            "that goes with none",
            j, joint[at].name);
    while (depth > 0) {
        skel__joint       *k    = &joint[b->queue[--depth]];
        const skel__joint *next = &joint[k->mimic.source];
        const int          ends = next->mimic_root < 0;
        k->mimic_root           = ends ? k->mimic.source : next->mimic_root;
        k->mimic_factor         = k->mimic.multiplier * (ends ? 1 : next->mimic_factor);
        k->mimic_shift = k->mimic.multiplier * (ends ? 0 : next->mimic_shift) + k->mimic.offset;
        if (!isfinite(k->mimic_factor) || !isfinite(k->mimic_shift))
            return skel__fail(b->err, SKEL_E_JOINT, -1, j,
                              "joints[%d].mimic.source: its chain is out of the range of numbers",
                              j);
    }
    return SKEL_OK;
}

static skel_status resolve_mimics(build *b) {
    skel_model *m = b->m;
    for (int32_t j = 0; j < m->nj; ++j) {
        const int32_t of = m->joint[j].mimic.source;
        if (of == -1) continue;
        if (of < 0 || of >= m->nj || of == j)
            return skel__fail(b->err, SKEL_E_JOINT, -1, j,
                              "joints[%d].mimic.source: is %d, must be the index of another joint",
                              j, of);
        CHECK(check_pair(b, j, j));
        CHECK(check_pair(b, of, j));
        m->mimic_joint[m->nmimic++] = j;
    }
    for (int32_t k = 0; k < m->nmimic; ++k) CHECK(resolve_mimic(b, m->mimic_joint[k]));
    return SKEL_OK;
}

/* ---- placing -------------------------------------------------------------------------------- */

static pose pose_of(const skel_model *m, int32_t body) {
    return body < 0 ? (pose){{0, 0, 0}, q_identity()} : m->body[body].x0;
}

/* Both ways across a joint: known body -> its frame -> q -> the other frame -> its body. */
static skel_status place_across(build *b, int32_t j, int32_t known) {
    skel_model   *m     = b->m;
    skel__joint  *joint = &m->joint[j];
    const int32_t other = joint->a == known ? joint->b : joint->a;
    if (other < 0 || b->placed[other]) return SKEL_OK;
    skel_joint_desc d;
    CHECK(joint_at(b, j, &d));
    const pose move = skel__joint_pose(joint, d.q);
    if (joint->a == known)
        m->body[other].x0 = pose_mul(pose_mul(pose_mul(pose_of(m, known), joint->fa), move),
                                     pose_inverse(joint->fb));
    else
        m->body[other].x0 =
            pose_mul(pose_mul(pose_mul(pose_of(m, known), joint->fb), pose_inverse(move)),
                     pose_inverse(joint->fa));
    m->body[other].x0.q         = q_unit(m->body[other].x0.q);
    b->placed[other]            = 1;
    b->queue[++b->queue[m->nb]] = other;
    return SKEL_OK;
}

static skel_status place_all(build *b) {
    skel_model *m    = b->m;
    int32_t    *tail = &b->queue[m->nb]; /* index of the last entry of the queue */
    *tail            = -1;
    for (int32_t i = 0; i < m->nb; ++i)
        if (b->placed[i]) b->queue[++*tail] = i;
    for (int32_t j = 0; j < m->nj; ++j)
        if (m->joint[j].a < 0 || m->joint[j].b < 0) CHECK(place_across(b, j, -1));
    for (int32_t k = 0; k <= *tail; ++k) {
        const int32_t i = b->queue[k];
        for (int32_t e = b->first[i]; e < b->first[i + 1]; ++e)
            CHECK(place_across(b, b->link[e], i));
    }
    for (int32_t i = 0; i < m->nb; ++i)
        if (!b->placed[i])
            return skel__fail(b->err, SKEL_E_BODY, i, -1,
                              "bodies[%d].position: is missing, and no chain of joints places '%s'",
                              i, m->body[i].name);
    return SKEL_OK;
}

/* Levers of 1e308 place a body where no double is; squares of lengths must be finite too. */
static skel_status check_places(const build *b) {
    const skel_model *m = b->m;
    for (int32_t i = 0; i < m->nb; ++i) {
        const pose *x = &m->body[i].x0;
        if (!isfinite(v3_dot(x->p, x->p) + q_dot(x->q, x->q)))
            return skel__fail(b->err, SKEL_E_BODY, i, -1,
                              "bodies[%d].position: is out of the range of numbers", i);
    }
    return SKEL_OK;
}

static void measure_size(skel_model *m) {
    double size = 0;
    for (int32_t j = 0; j < m->nj; ++j)
        size = fmax(size, fmax(v3_norm(m->joint[j].fa.p), v3_norm(m->joint[j].fb.p)));
    for (int32_t i = 0; i < m->nb; ++i)
        if (m->body[i].joint >= 0)
            size = fmax(size, v3_norm(v3_sub(m->body[i].x0.p, pose_of(m, m->body[i].parent).p)));
    m->length_scale = size > 0 ? size : 1.0;
}

static skel_status check_closed(const build *b) {
    const skel_model *m = b->m;
    for (int32_t j = 0; j < m->nj; ++j) {
        const skel__joint *at = &m->joint[j];
        double             q[4];
        const skel__misfit e = skel__joint_measure(at, pose_mul(pose_of(m, at->a), at->fa),
                                                   pose_mul(pose_of(m, at->b), at->fb), q);
        if (!(e.gap <=
              CLOSED_GAP * m->length_scale)) /* a NaN of numbers too large fails here too */
            return skel__fail(b->err, SKEL_E_JOINT, -1, j,
                              "joints[%d].frames: stand %.3g m apart at the given pose, must meet",
                              j, e.gap);
        if (!(e.angle <= CLOSED_ANGLE))
            return skel__fail(b->err, SKEL_E_JOINT, -1, j,
                              "joints[%d].frames: their axes differ by %.3g rad at the given pose, "
                              "must agree",
                              j, e.angle);
    }
    return SKEL_OK;
}

/* ---- life cycle ----------------------------------------------------------------------------- */

static skel_status check_desc(build *b, const skel_model_desc *desc) {
    b->desc = k_model;
    if (!desc) return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    if (skel__desc_import(&b->desc, sizeof b->desc, DESC_MODEL_V1, desc) != SKEL_OK)
        return skel__fail(b->err, SKEL_E_STRUCT_SIZE, -1, -1,
                          "struct_size: must be set by skel_model_desc_init");
    if (b->desc.body_count == 0 || b->desc.body_count > SKEL__MAX_BODIES || !b->desc.bodies)
        return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1, "bodies: must hold 1 to %u bodies",
                          SKEL__MAX_BODIES);
    if (b->desc.joint_count > SKEL__MAX_BODIES || (b->desc.joint_count > 0 && !b->desc.joints))
        return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1, "joints: must hold at most %u joints",
                          SKEL__MAX_BODIES);
    if (b->desc.flags != 0) return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1, "flags: must be 0");
    if (b->desc.body_stride < DESC_BODY_V1 ||
        (b->desc.joint_count > 0 && b->desc.joint_stride < DESC_JOINT_V1))
        return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1,
                          "body_stride, joint_stride: must be the sizes of the descs");
    for (int k = 0; k < 3; ++k)
        if (!isfinite(b->desc.gravity[k]))
            return skel__fail(b->err, SKEL_E_ARGUMENT, -1, -1, "gravity: must be finite");
    return SKEL_OK;
}

/* A pin is a weld to a hidden prescribed body that stands where the body was, or on its curve. */
static void make_pins(skel_model *m) {
    m->na = m->nb + m->npin;
    for (int32_t k = 0; k < m->npin; ++k) {
        const skel__body *from = &m->body[m->pin[k]];
        skel__body       *to   = &m->body[m->nb + k];
        skel__joint      *weld = &m->joint[m->nj + k];
        *to                    = *from;
        to->motion             = SKEL_MOTION_DRIVEN;
        to->parent = to->joint = -1;
        to->is_inner           = 0;
        to->host               = -1;
        to->contact_count      = 0;
        to->is_held            = to->position_curve.count == 0 && to->orientation_curve.count == 0;
        weld->type             = SKEL_JOINT_FIXED;
        weld->a = m->nb + k, weld->b = m->pin[k];
        weld->fa = weld->fb = (pose){{0, 0, 0}, q_identity()};
        weld->ea = weld->eb = m3_identity();
        weld->is_loop       = 1;
        weld->muscle_index  = -1;
        weld->mimic.source = weld->mimic_root = -1;
        weld->name                            = from->name;
        m->prescribed[m->np++]                = m->nb + k;
    }
}

static skel_status fill(build *b) {
    CHECK(copy_all(b));
    CHECK(check_names(b));
    CHECK(find_forest(b));
    CHECK(resolve_mimics(b));
    CHECK(place_all(b));
    CHECK(check_places(b));
    measure_size(b->m);
    make_pins(b->m);
    skel__world_place(b->m);
    return check_closed(b);
}

static skel_status no_memory(const build *b) {
    return skel__fail(b->err, SKEL_E_MEMORY, -1, -1, "no memory for %u bodies", b->desc.body_count);
}

skel_status skel__model_build(const skel_model_desc *desc, skel_model **out, skel_error *err) {
    build          b = {.err = err};
    skel_allocator allocator;
    size_t         names, numbers;
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;
    CHECK(check_desc(&b, desc));
    if (skel__allocator_import(&allocator, b.desc.allocator) != SKEL_OK)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "allocator: is not complete");
    CHECK(check_and_measure(&b, &names, &numbers));
    void       *block   = skel__alloc(&allocator, layout(&b, NULL, names, numbers));
    void       *scratch = skel__alloc(&allocator, layout_scratch(&b, NULL));
    skel_status status;
    if (block && scratch) {
        layout(&b, block, names, numbers);
        layout_scratch(&b, scratch);
        b.m->allocator = allocator;
        status         = fill(&b);
    } else {
        status = no_memory(&b);
    }
    skel__free(&allocator, scratch);
    if (status == SKEL_OK)
        *out = b.m;
    else
        skel__free(&allocator, block);
    return status;
}
