/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a chain of a model: the way from root to tip, its axes at q = 0, then dh_axes.c. */
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

/* The joints from root to tip. Index 0 of `by` is the world. */
typedef struct way {
    int32_t *by;   /* joint that leads to the node; -1: not reached, -2: the root */
    int32_t *path; /* joints from root to tip */
    int32_t length;
} way;

static int32_t other_end(const skel__joint *j, int32_t body) {
    return j->a == body ? j->b : j->a;
}

/* Each round looks at every joint once: rounds as long as the way is, which is short. */
static int find_way(const skel_model *m, int32_t root, int32_t tip, way *w) {
    w->length = 0;
    for (int32_t i = 0; i <= m->nb; ++i) w->by[i] = -1;
    w->by[root + 1] = -2;
    for (int grown = 1; grown && w->by[tip + 1] == -1;) {
        grown = 0;
        for (int32_t k = 0; k < m->nj; ++k) {
            const skel__joint *j = &m->joint[k];
            const int a = w->by[j->a + 1] != -1, b = w->by[j->b + 1] != -1;
            if (a == b) continue;
            w->by[(a ? j->b : j->a) + 1] = k;
            grown = 1;
        }
    }
    if (w->by[tip + 1] == -1) return 0;
    for (int32_t at = tip; w->by[at + 1] >= 0; at = other_end(&m->joint[w->by[at + 1]], at))
        w->path[w->length++] = w->by[at + 1];
    for (int32_t i = 0; i < w->length / 2; ++i) {
        const int32_t k = w->path[i];
        w->path[i] = w->path[w->length - 1 - i];
        w->path[w->length - 1 - i] = k;
    }
    return 1;
}

/* A joint walked against its direction moves by the inverse: its axes come in reverse order, and
   turned round. */
static int32_t put_axes(const skel__joint *j, int32_t index, pose frame, int reversed,
                        skel__dh_axis *out) {
    const v3 x = q_rotate(frame.q, (v3){1, 0, 0}), y = q_rotate(frame.q, (v3){0, 1, 0});
    const v3 z = q_rotate(frame.q, (v3){0, 0, 1});
    const v3 all[] = {x, y, z};
    const v3 two[] = {z, x};
    const int is_ball = j->type == SKEL_JOINT_BALL;
    const int32_t n = skel__joint_nv(j->type);
    const v3 *axis = is_ball ? all : two;
    for (int32_t k = 0; k < n; ++k) {
        const int32_t part = reversed ? n - 1 - k : k;
        out[k] = (skel__dh_axis){frame.p, reversed ? v3_neg(axis[part]) : axis[part],
                                 j->type == SKEL_JOINT_SLIDE ? SKEL_JOINT_SLIDE : SKEL_JOINT_HINGE,
                                 index, part};
    }
    return n;
}

/* Poses along the chain with all its joints at zero. Returns the number of axes. */
static int32_t walk(const skel_model *m, const way *w, int32_t root, pose *x, skel__dh_axis *axes) {
    int32_t n = 0, at = root;
    for (int32_t i = 0; i < w->length; ++i) {
        const skel__joint *j = &m->joint[w->path[i]];
        const int reversed = j->b == at;
        const pose frame = pose_mul(*x, reversed ? j->fb : j->fa);
        n += put_axes(j, w->path[i], frame, reversed, axes + n);
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

/* What the tip hangs from where no joint leads to the world: a body that is fixed or driven, or the
   free root. */
static int32_t stand_of(const skel_model *m, int32_t tip, way *w) {
    for (int32_t i = 0; i < m->nb; ++i)
        if (m->body[i].motion != SKEL_MOTION_DYNAMIC && i != tip && find_way(m, i, tip, w))
            return i;
    const int32_t root = m->body[tip].root;
    return root >= 0 && root != tip && find_way(m, root, tip, w) ? root : SKEL_WORLD;
}

static skel_status extract(const skel_model *m, const skel_dh_chain_desc *d,
                           const skel_allocator *a, int32_t *ints, skel__dh_axis *axes,
                           skel_dh **out, skel_error *err) {
    way w = {.by = ints, .path = ints + m->nb + 1};
    int32_t root = d->root;
    int found = find_way(m, root, d->tip, &w);
    if (!found && root == SKEL_WORLD) {
        root = stand_of(m, d->tip, &w);
        found = root >= 0;
    }
    if (!found)
        return skel__fail(err, SKEL_E_TREE, d->tip, -1, "no joints lead from '%s' to '%s'",
                          root < 0 ? "world" : m->body[root].name, m->body[d->tip].name);
    pose x = root < 0 ? (pose){{0, 0, 0}, q_identity()} : m->body[root].x0;
    const int32_t n = walk(m, &w, root, &x, axes);
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
    skel_allocator a;
    if (out) *out = NULL;
    if (!model || !desc || !out)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model, desc or out: is NULL");
    if (skel__desc_import(&d, sizeof d, sizeof d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof d);
    skel_status status = check_desc(model, &d, err);
    if (status != SKEL_OK) return status;
    status = skel__allocator_import(&a, d.allocator);
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "allocator: is not valid");
    const size_t nodes = (size_t)model->nb + 1;
    int32_t *ints = skel__alloc(&a, (nodes + (size_t)model->nj + 1) * sizeof *ints);
    skel__dh_axis *axes = skel__alloc(&a, (3 * (size_t)model->nj + 1) * sizeof *axes);
    if (ints && axes)
        status = extract(model, &d, &a, ints, axes, out, err);
    else
        status = skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory");
    skel__free(&a, ints);
    skel__free(&a, axes);
    return status;
}
