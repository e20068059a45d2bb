/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a chain of a model: find the joints from root to tip, compute their axes at q = 0,
   and make the table of these axes (dh_axes.c). */
#include "model/dh.h"
#include "model/model.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "base/error.h"

#include <string.h>

_Static_assert(sizeof(skel_dh_chain_desc) == offsetof(skel_dh_chain_desc, parallel_tolerance) + 8,
               "tail padding");

static const skel_dh_chain_desc k_desc = {.struct_size = sizeof k_desc,
                                          .root = SKEL_WORLD,
                                          .tool = {0, 0, 0, 1},
                                          .snap = 1e-6,
                                          .parallel_tolerance = 1e-3};

void skel_dh_chain_desc_init_sized(skel_dh_chain_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

#define CHAIN_NOT_REACHED (-1)
#define CHAIN_ROOT (-2)

/* The joints from root to tip. */
typedef struct chain {
    int32_t *by;    /* (nb + 1) joint through which body i - 1 was reached, CHAIN_NOT_REACHED or
                       CHAIN_ROOT; entry 0 is the world's */
    int32_t *joint; /* (length) joints from root to tip */
    int32_t length;
} chain;

static int32_t other_end(const skel__joint *j, int32_t body) {
    return j->a == body ? j->b : j->a;
}

/* Marks the bodies that joints connect to the root, until the tip is marked. Each pass over all
   joints extends the marked part by at least one joint, so short chains need few passes. */
static void mark_reached(const skel_model *m, int32_t root, int32_t tip, int32_t *by) {
    for (int32_t i = 0; i <= m->nb; ++i) by[i] = CHAIN_NOT_REACHED;
    by[root + 1] = CHAIN_ROOT;

    for (int has_grown = 1; has_grown && by[tip + 1] == CHAIN_NOT_REACHED;) {
        has_grown = 0;
        for (int32_t k = 0; k < m->nj; ++k) {
            const skel__joint *j = &m->joint[k];
            const int is_reached_a = by[j->a + 1] != CHAIN_NOT_REACHED;
            const int is_reached_b = by[j->b + 1] != CHAIN_NOT_REACHED;
            if (is_reached_a == is_reached_b) continue;

            by[(is_reached_a ? j->b : j->a) + 1] = k;
            has_grown = 1;
        }
    }
}

/* Returns 0 if no joints lead from root to tip. */
static int find_chain(const skel_model *m, int32_t root, int32_t tip, chain *c) {
    c->length = 0;
    mark_reached(m, root, tip, c->by);
    if (c->by[tip + 1] == CHAIN_NOT_REACHED) return 0;

    /* Collect the joints from the tip back to the root, then reverse their order. */
    for (int32_t at = tip; c->by[at + 1] >= 0; at = other_end(&m->joint[c->by[at + 1]], at))
        c->joint[c->length++] = c->by[at + 1];

    for (int32_t i = 0; i < c->length / 2; ++i) {
        const int32_t k = c->joint[i];
        c->joint[i] = c->joint[c->length - 1 - i];
        c->joint[c->length - 1 - i] = k;
    }
    return 1;
}

/* The axes of a joint, at coordinates 0, where the outer and the inner frame coincide. If the chain
   runs against the direction of the joint, its motion is the inverse: the axes come in reverse
   order and with reversed directions. Returns their number. */
static int32_t add_axes(const skel__joint *j, int32_t index, pose frame, int reversed,
                        skel__dh_axis *out) {
    const int32_t n = skel__joint_nv(j->type);

    for (int32_t k = 0; k < n; ++k) {
        const int32_t part = reversed ? n - 1 - k : k;
        out[k].point = frame.p;
        const v3 axis = skel__freedom_axis(j->type, frame.q, frame.q, part);
        out[k].direction = reversed ? v3_neg(axis) : axis;
        out[k].type = skel__is_length(j->type, part) ? SKEL_JOINT_SLIDE : SKEL_JOINT_HINGE;
        out[k].joint = index;
        out[k].part = part;
    }
    return n;
}

/* Whether rows can represent the joint. A row turns about its axis or slides along it, so that a
   joint that turns by 1 rad must not move its point. */
static int is_representable(const skel__joint *j) {
    static const double test[4] = {1, 0, 0, 0};
    const skel_joint_kind *kind = &skel__joint_kinds[j->type];
    if (!kind->has_axis || kind->dof_kind[0] == SKEL_COORDINATE_LENGTH) return 1;

    const pose x = skel__joint_pose(j, test);
    return v3_dot(x.p, x.p) == 0;
}

/* Returns the first joint of the chain that rows cannot represent, or -1. */
static int32_t find_unrepresentable(const skel_model *m, const chain *c) {
    for (int32_t i = 0; i < c->length; ++i)
        if (!is_representable(&m->joint[c->joint[i]])) return c->joint[i];
    return -1;
}

/* Goes along the chain with all joint coordinates at 0. x is the pose of the root and becomes that
   of the tip. Returns the number of axes. */
static int32_t find_axes(const skel_model *m, const chain *c, int32_t root, pose *x,
                         skel__dh_axis *axes) {
    int32_t n = 0;
    int32_t at = root;

    for (int32_t i = 0; i < c->length; ++i) {
        const skel__joint *j = &m->joint[c->joint[i]];
        const int reversed = j->b == at;
        const pose frame = pose_mul(*x, reversed ? j->fb : j->fa);
        n += add_axes(j, c->joint[i], frame, reversed, axes + n);

        *x = pose_mul(frame, pose_inverse(reversed ? j->fa : j->fb));
        x->q = q_unit(x->q);
        at = other_end(j, at);
    }
    return n;
}

static skel_status check_desc(const skel_model *m, const skel_dh_chain_desc *d, skel_error *err) {
    if (d->root < SKEL_WORLD || d->root >= m->nb)
        return skel__fail(err, SKEL_E_ARGUMENT, d->root, -1, "root: is %d, must be -1 to %d",
                          d->root, m->nb - 1);
    if (d->tip < 0 || d->tip >= m->nb || d->tip == d->root)
        return skel__fail(err, SKEL_E_ARGUMENT, d->tip, -1,
                          "tip: is %d, must be 0 to %d and not the root", d->tip, m->nb - 1);
    const skel__dh_rules rules = {d->convention, d->snap, d->parallel_tolerance};
    const skel_status status = skel__dh_check_rules(&rules, err);
    return status != SKEL_OK ? status : skel__dh_check_pose("tool", d->tool, err);
}

/* The root of the chain if no joint leads to the world: a prescribed body, or the free root of the
   tip. Returns SKEL_WORLD if there is none. */
static int32_t find_root(const skel_model *m, int32_t tip, chain *c) {
    for (int32_t i = 0; i < m->nb; ++i)
        if (!skel__is_dynamic(m, i) && i != tip && find_chain(m, i, tip, c)) return i;

    const int32_t root = m->body[tip].root;
    if (root >= 0 && root != tip && find_chain(m, root, tip, c)) return root;
    return SKEL_WORLD;
}

static skel_status extract(const skel_model *m, const skel_dh_chain_desc *d,
                           const skel_allocator *a, int32_t *ints, skel__dh_axis *axes,
                           skel_dh **out, skel_error *err) {
    chain c = {.by = ints, .joint = ints + m->nb + 1};
    int32_t root = d->root;
    int found = find_chain(m, root, d->tip, &c);
    if (!found && root == SKEL_WORLD) {
        root = find_root(m, d->tip, &c);
        found = root >= 0;
    }
    if (!found)
        return skel__fail(err, SKEL_E_TREE, d->tip, -1,
                          "tip: no chain of joints connects '%s' to '%s'",
                          root < 0 ? "world" : m->body[root].name, m->body[d->tip].name);

    const int32_t wrong = find_unrepresentable(m, &c);
    if (wrong >= 0)
        return skel__fail(err, SKEL_E_UNSUPPORTED, -1, wrong,
                          "joints[%d]: '%s' is a %s joint, which a DH table cannot represent",
                          wrong, m->joint[wrong].name,
                          skel__joint_kinds[m->joint[wrong].type].name);

    pose x = skel__initial_pose(m, root);
    const int32_t n = find_axes(m, &c, root, &x, axes);

    pose tool = pose_of(d->tool);
    tool.q = q_unit(tool.q);
    x = pose_mul(x, tool);
    x.q = q_unit(x.q);
    const skel__dh_rules rules = {d->convention, d->snap, d->parallel_tolerance};
    return skel__dh_of_axes(axes, n, x, rules, a, out, err);
}

skel_status skel_dh_extract(const skel_model *model, const skel_dh_chain_desc *desc, skel_dh **out,
                            skel_error *err) {
    skel_dh_chain_desc d = k_desc;
    if (out) *out = NULL;
    if (!model || !desc || !out)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model, desc and out: must not be NULL");
    if (skel__desc_import(&d, sizeof d, sizeof d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof d);

    skel_allocator a;
    SKEL__CHECK(check_desc(model, &d, err));
    skel_status status = skel__allocator_import(&a, d.allocator);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1, "allocator: must have struct_size, alloc and free");

    const size_t nodes = (size_t)model->nb + 1;
    int32_t *ints = skel__alloc(&a, (nodes + (size_t)model->nj + 1) * sizeof *ints);
    skel__dh_axis *axes = skel__alloc(&a, (3 * (size_t)model->nj + 1) * sizeof *axes);
    if (ints && axes)
        status = extract(model, &d, &a, ints, axes, out, err);
    else
        status = skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory for %d joints", model->nj);

    skel__free(&a, ints);
    skel__free(&a, axes);
    return status;
}
