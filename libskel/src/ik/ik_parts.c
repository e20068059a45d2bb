/* SPDX-License-Identifier: BSD-3-Clause */
/* Goals that may only move some joints. A joint that a goal may not move has no column in its rows.
   So goals fall into parts that share no joint, and each part is solved for itself, those nearest
   to the root first: what a goal may not move is where it would be without it, to the last bit. A
   later part sees where the earlier ones have led; where it moves them in turn (a target in an axis
   system that it moves), they go round until all stay where they are. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/error.h"
#include "ik/ik_build.h"

#include <string.h>

#define ROUNDS 100       /* of parts that move each other */
#define AGAIN 10         /* restarts of a part that has been solved before */
#define UNDISTURBED 1e-9 /* [m], [rad] that a part may be off by more or less than it was */

/* While the parts are found. */
typedef struct split {
    int32_t        *group;   /* (n) of columns */
    int32_t        *number;  /* (n) part of a group; -1: none yet */
    int32_t        *of_goal; /* (goals) */
    int32_t        *place;   /* (goals) */
    int32_t        *held;    /* (nodes of the plan) */
    skel_goal_desc *goal;    /* (goals) of one part */
} split;

static size_t layout(split *s, const skel_ik *ik, const skel__ik_plan *p, void *base) {
    const size_t n = (size_t)ik->n, goals = ik->d.goal_count;
    skel__carver c = {base, 0};
    s->group       = skel__carve(&c, n, sizeof *s->group);
    s->number      = skel__carve(&c, n, sizeof *s->number);
    s->of_goal     = skel__carve(&c, goals, sizeof *s->of_goal);
    s->place       = skel__carve(&c, goals, sizeof *s->place);
    s->held        = skel__carve(&c, (size_t)p->nn + 1, sizeof *s->held);
    s->goal        = skel__carve(&c, goals, sizeof *s->goal);
    return c.used;
}

static size_t layout_parts(skel_ik *ik, int32_t count, void *base) {
    skel__carver c = {base, 0};
    ik->part       = skel__carve(&c, (size_t)count, sizeof(skel_ik *));
    ik->part_of    = skel__carve(&c, ik->d.goal_count, sizeof *ik->part_of);
    ik->place_in   = skel__carve(&c, ik->d.goal_count, sizeof *ik->place_in);
    ik->part_off   = skel__carve(&c, (size_t)count, sizeof *ik->part_off);
    return c.used;
}

static int32_t group_of(int32_t *group, int32_t c) {
    while (group[c] != c) c = group[c] = group[group[c]];
    return c;
}

/* The first column that moves a node. */
static int32_t column_of(const skel__ik_node *nodes, const skel__ik_node *n) {
    return n->leader >= 0 ? nodes[n->leader].column : n->column;
}

/* Columns that a goal (or a loop) may move fall together; so do all that only a posture moves, with
   the first. of_goal: a column of the goal, whose number it becomes. */
static void join_columns(const skel_ik *ik, split *s) {
    for (int32_t c = 0; c < ik->n; ++c) s->group[c] = c, s->number[c] = 0;
    for (uint32_t k = 0; k < ik->d.goal_count; ++k) s->of_goal[k] = -1;
    for (int32_t k = 0; k < ik->nt; ++k) {
        const skel__ik_task *t     = &ik->task[k];
        int32_t              first = t->goal >= 0 ? s->of_goal[t->goal] : -1;
        for (int32_t l = 0; l < t->path_count; ++l) {
            const skel__ik_node *n = &ik->node[ik->path[t->path + l].node];
            const int32_t        c = column_of(ik->node, n);
            if (first < 0) first = c;
            s->group[group_of(s->group, c)] = group_of(s->group, first);
            s->number[c]                    = 1; /* somebody's */
        }
        if (t->goal >= 0) s->of_goal[t->goal] = first;
    }
    for (int32_t i = 0; i < ik->nn; ++i) { /* a ball's, a shift's */
        const skel__ik_node *n = &ik->node[i];
        for (int k = 1; n->column >= 0 && n->leader < 0 && k < skel__ik_columns(n); ++k) {
            s->group[group_of(s->group, n->column + k)] = group_of(s->group, n->column);
            s->number[n->column + k]                    = s->number[n->column];
        }
    }
    int32_t owned = 0;
    while (owned < ik->n && !s->number[owned]) ++owned;
    for (int32_t c = 0; owned < ik->n && c < ik->n; ++c)
        if (!s->number[c]) s->group[group_of(s->group, c)] = group_of(s->group, owned);
}

/* Numbers of the parts, in the order of the nodes: parents first. Returns how many there are. */
static int32_t number_parts(const skel_ik *ik, split *s) {
    int32_t count = 0;
    for (int32_t c = 0; c < ik->n; ++c) s->number[c] = -1;
    for (int32_t c = 0; c < ik->n; ++c) { /* columns are in the order of the nodes */
        int32_t *number = &s->number[group_of(s->group, c)];
        if (*number < 0) *number = count++;
    }
    for (uint32_t k = 0; k < ik->d.goal_count; ++k)
        s->of_goal[k] = s->of_goal[k] < 0 ? 0 : s->number[group_of(s->group, s->of_goal[k])];
    return count;
}

static skel_status make_part(skel_ik *ik, const skel__ik_plan *p, const skel_ik_desc *d, split *s,
                             int32_t part, skel_error *err) {
    skel_ik_desc of = *d;
    of.goal_count   = 0;
    of.goals        = s->goal;
    of.goal_stride  = sizeof *s->goal;
    for (uint32_t k = 0; k < d->goal_count; ++k) {
        if (s->of_goal[k] != part) continue;
        s->place[k]              = (int32_t)of.goal_count;
        s->goal[of.goal_count++] = p->goal[k];
    }
    for (int32_t i = 0; i < p->nn; ++i) {
        const int32_t c = column_of(p->node, &p->node[i]);
        s->held[i]      = c >= 0 && s->number[group_of(s->group, c)] != part;
    }
    return skel__ik_make(&of, &ik->allocator, s->held, ik->has_room, &ik->part[part], err);
}

static int has_masks(const skel_ik *ik, const skel__ik_plan *p) {
    for (uint32_t k = 0; k < ik->d.goal_count; ++k)
        if (p->goal[k].joints || p->goal[k].chain_depth > 0 || p->goal[k].chain_root >= 0) return 1;
    return 0;
}

skel_status skel__ik_split(skel_ik *ik, const skel__ik_plan *p, const skel_ik_desc *d,
                           skel_error *err) {
    if (!has_masks(ik, p) || ik->n == 0) return SKEL_OK;
    split s;
    void *work = skel__alloc(&ik->allocator, layout(&s, ik, p, NULL));
    if (!work) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the solver");
    layout(&s, ik, p, work);
    join_columns(ik, &s);
    const int32_t count  = number_parts(ik, &s);
    skel_status   status = SKEL_OK;
    if (count > 1) {
        void *block = skel__alloc(&ik->allocator, layout_parts(ik, count, NULL));
        if (!block) status = skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the solver");
        layout_parts(ik, count, block);
        for (; status == SKEL_OK && ik->nparts < count; ++ik->nparts)
            if ((status = make_part(ik, p, d, &s, ik->nparts, err)) != SKEL_OK) break;
        if (status == SKEL_OK) {
            memcpy(ik->part_of, s.of_goal, ik->d.goal_count * sizeof *s.of_goal);
            memcpy(ik->place_in, s.place, ik->d.goal_count * sizeof *s.place);
        } else {
            skel__ik_unsplit(ik);
        }
    }
    skel__free(&ik->allocator, work);
    return status;
}

void skel__ik_unsplit(skel_ik *ik) {
    for (int32_t k = 0; k < ik->nparts; ++k) skel_ik_destroy(ik->part[k]);
    skel__free(&ik->allocator, ik->part);
    ik->nparts = 0, ik->part = NULL;
}

/* How far the worst goal of every part is off, at the errors of all: for better or for worse, a
   later part may have moved it since it was solved. */
static int is_disturbed(const skel_ik *ik) {
    memset(ik->part_off, 0, (size_t)ik->nparts * sizeof *ik->part_off);
    for (int32_t k = 0; k < ik->nt; ++k) {
        const skel__ik_task *t = &ik->task[k];
        if (t->goal < 0) continue;
        double *off = &ik->part_off[ik->part_of[t->goal]];
        *off        = fmax(*off, t->off);
    }
    for (int32_t k = 0; k + 1 < ik->nparts; ++k) {
        const skel_ik *part = ik->part[k];
        double         then = 0;
        for (int32_t i = 0; i < part->nt; ++i)
            if (part->task[i].goal >= 0) then = fmax(then, part->task[i].off);
        if (fabs(ik->part_off[k] - then) > UNDISTURBED) return 1;
    }
    return 0;
}

void skel__ik_solve_parts(skel_ik *ik) {
    const size_t size = (size_t)ik->nx * sizeof *ik->x;
    for (int round = 0; round < ROUNDS; ++round) {
        for (int32_t k = 0; k < ik->nparts; ++k) {
            skel_ik *part    = ik->part[k];
            part->deadline   = ik->deadline;
            part->iterations = part->restarts = part->is_following = 0;
            const int32_t restarts                                 = part->d.max_restarts;
            if (round > 0 && (restarts < 0 || restarts > AGAIN)) part->d.max_restarts = AGAIN;
            memcpy(part->x, ik->x, size);
            skel__ik_run(part);
            part->d.max_restarts = restarts;
            memcpy(ik->x, part->x, size);
            ik->iterations += part->iterations;
            ik->restarts += part->restarts;
        }
        skel__ik_errors(ik, ik->x, ik->rows);
        if (!is_disturbed(ik) || skel__ik_is_late(ik)) return;
    }
}
