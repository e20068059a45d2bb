/* SPDX-License-Identifier: BSD-3-Clause */
/* The spanning forest of a model.

   Bodies are the nodes of a graph and joints are its edges. The solvers need a spanning forest of
   it: every dynamic body hangs on at most one tree parent, and parents precede their children in
   m->order. The search has three steps.
   1. The joints are taken in the caller's order. A joint whose two bodies are connected already
      closes a loop and becomes a loop joint (Kruskal's algorithm with union-find). All prescribed
      bodies and the world count as one node, because forces do not move them.
   2. The trees are traversed breadth first, from the bodies that hang on prescribed ones.
   3. Bodies that are not reached are free: each remaining tree gets a free root. */
#include "model/forest.h"

#include "base/error.h"

#include <string.h>

/* Whether forces do not move the body: it is fixed, driven or the world. */
static int is_prescribed(const skel_model *m, int32_t body) {
    return !skel__is_dynamic(m, body);
}

static const char *name_of(const skel_model *m, int32_t body) {
    return body < 0 ? "world" : m->body[body].name;
}

/* ---- union-find ------------------------------------------------------------------------------ */

/* Representative of the group of i. The path to it is halved on the way. */
static int32_t find_group(int32_t *group, int32_t i) {
    while (group[i] != i) {
        group[i] = group[group[i]];
        i = group[i];
    }
    return i;
}

static skel_status find_loops(skel_model *m, int32_t *group, skel_error *err) {
    const int32_t prescribed = m->nb; /* the node of all prescribed bodies */
    for (int32_t i = 0; i <= m->nb; ++i) group[i] = i;

    for (int32_t j = 0; j < m->nj; ++j) {
        const int32_t a = m->joint[j].a;
        const int32_t b = m->joint[j].b;
        if (is_prescribed(m, a) && is_prescribed(m, b))
            return skel__fail(err, SKEL_E_TREE, -1, j,
                              "joints[%d].bodies: neither '%s' nor '%s' is dynamic, one of them "
                              "must be",
                              j, name_of(m, a), name_of(m, b));

        const int32_t group_a = find_group(group, is_prescribed(m, a) ? prescribed : a);
        const int32_t group_b = find_group(group, is_prescribed(m, b) ? prescribed : b);
        if (group_a == group_b) {
            m->joint[j].is_loop = 1;
            m->loop[m->nl++] = j;
        }
        group[group_a] = group_b;
    }
    return SKEL_OK;
}

/* Numbers the skeletons in the order of their first bodies. A skeleton consists of all bodies that
   joints and the springs of wobbling masses connect. The world connects nothing. */
static void find_skeletons(skel_model *m, int32_t *group, int32_t *number) {
    int32_t count = 0;
    for (int32_t i = 0; i < m->nb; ++i) {
        group[i] = i;
        number[i] = -1;
    }

    for (int32_t j = 0; j < m->nj; ++j) {
        const int32_t a = m->joint[j].a;
        const int32_t b = m->joint[j].b;
        if (a >= 0 && b >= 0) group[find_group(group, a)] = find_group(group, b);
    }
    for (int32_t i = 0; i < m->nw; ++i) {
        const skel__wobble *w = &m->wobble[i];
        group[find_group(group, w->body)] = find_group(group, w->host);
    }

    for (int32_t i = 0; i < m->nb; ++i) {
        int32_t *n = &number[find_group(group, i)];
        if (*n < 0) *n = count++;
        m->body[i].skeleton = *n;
    }
}

/* ---- traversal ------------------------------------------------------------------------------- */

/* Joints of every body, in the order of the joints, by counting sort. */
static void list_joints(const skel_model *m, skel__forest_work *work) {
    int32_t *next = work->visited; /* borrowed: index of the next free entry of a body */

    for (int32_t j = 0; j < m->nj; ++j) {
        if (m->joint[j].a >= 0) ++work->first[m->joint[j].a + 1];
        if (m->joint[j].b >= 0) ++work->first[m->joint[j].b + 1];
    }
    for (int32_t i = 0; i < m->nb; ++i) work->first[i + 1] += work->first[i];

    for (int32_t i = 0; i < m->nb; ++i) next[i] = work->first[i];
    for (int32_t j = 0; j < m->nj; ++j) {
        if (m->joint[j].a >= 0) work->link[next[m->joint[j].a]++] = j;
        if (m->joint[j].b >= 0) work->link[next[m->joint[j].b]++] = j;
    }

    memset(work->visited, 0, (size_t)m->nb * sizeof *work->visited);
}

/* Makes the dynamic body at the other end of joint j a child of `parent`. */
static void attach(skel_model *m, skel__forest_work *work, int32_t j, int32_t parent) {
    skel__joint *joint = &m->joint[j];
    const int32_t child = joint->a == parent ? joint->b : joint->a;

    work->visited[child] = 1;
    m->body[child].parent = parent;
    m->body[child].joint = j;
    m->body[child].is_inner = !is_prescribed(m, parent);
    joint->reversed = joint->b != child;
    m->order[m->nd++] = child;
}

/* Attaches all descendants of order[from] and of the bodies behind it, breadth first. */
static void attach_descendants(skel_model *m, skel__forest_work *work, int32_t from) {
    for (int32_t k = from; k < m->nd; ++k) {
        const int32_t i = m->order[k];

        for (int32_t e = work->first[i]; e < work->first[i + 1]; ++e) {
            const int32_t j = work->link[e];
            if (j != m->body[i].joint && !m->joint[j].is_loop) attach(m, work, j, i);
        }
    }
}

static void add_free_root(skel_model *m, skel__forest_work *work, int32_t i) {
    work->visited[i] = 1;
    m->order[m->nd++] = i;
    attach_descendants(m, work, m->nd - 1);
}

/* The bodies that are not reached yet, in three passes: bodies that are the child of no joint, then
   all other bodies, then the wobbling masses, which must follow their host bodies. */
static void add_free_roots(skel_model *m, skel__forest_work *work) {
    int32_t *is_child = work->group;
    memset(is_child, 0, (size_t)m->nb * sizeof *is_child);
    for (int32_t j = 0; j < m->nj; ++j)
        if (m->joint[j].b >= 0) is_child[m->joint[j].b] = 1;

    for (int pass = 0; pass < 3; ++pass)
        for (int32_t i = 0; i < m->nb; ++i) {
            int own_pass = is_child[i] ? 1 : 0;
            if (m->body[i].host >= 0) own_pass = 2;

            if (pass == own_pass && !is_prescribed(m, i) && !work->visited[i])
                add_free_root(m, work, i);
        }
}

/* The free root of every dynamic body, or -1 if it hangs from a prescribed one. */
static void find_roots(skel_model *m) {
    for (int32_t k = 0; k < m->nd; ++k) {
        skel__body *body = &m->body[m->order[k]];

        if (body->joint < 0)
            body->root = m->order[k];
        else if (body->is_inner)
            body->root = m->body[body->parent].root;
        else
            body->root = -1;
    }
}

skel_status skel__forest_find(skel_model *m, skel__forest_work *work, skel_error *err) {
    const skel_status status = find_loops(m, work->group, err);
    if (status != SKEL_OK) return status;

    list_joints(m, work);
    for (int32_t i = 0; i < m->nb; ++i)
        if (is_prescribed(m, i)) m->prescribed[m->np++] = i;

    /* The children of prescribed bodies come first, in the order of their joints. */
    for (int32_t j = 0; j < m->nj; ++j) {
        const int32_t a = m->joint[j].a;
        const int32_t b = m->joint[j].b;
        if (m->joint[j].is_loop) continue;

        if (is_prescribed(m, a))
            attach(m, work, j, a);
        else if (is_prescribed(m, b))
            attach(m, work, j, b);
    }
    attach_descendants(m, work, 0);

    add_free_roots(m, work);
    find_roots(m);
    find_skeletons(m, work->group, work->visited);
    return SKEL_OK;
}
