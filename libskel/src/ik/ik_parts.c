/* SPDX-License-Identifier: BSD-3-Clause */
/* Goals that may move some joints only.

   A joint that a goal may not move has no column in the rows of this goal. The goals then fall into
   parts that have no column in common. Every part has a solver of its own; the parts are solved in
   the order of their distance from the root. A joint therefore takes exactly the value that it
   would have without the goals that may not move it.

   A later part sees the result of the earlier ones. It may also disturb them, if it moves the frame
   in which their target is given. All parts are then solved again until none is disturbed. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/error.h"
#include "ik/ik_build.h"

#include <string.h>

#define IK_PART_ROUNDS_MAX 100    /* of parts that disturb each other */
#define IK_PART_RESTARTS_AGAIN 10 /* of a part that was already solved in an earlier round */
#define IK_PART_ERROR_TOL 1e-9 /* [m], [rad]: a change of a part's error that is no disturbance */

/* Workspace while the parts are found. Columns are grouped by a disjoint-set forest. */
typedef struct split {
    int32_t *group;       /* (columns) parent in the disjoint-set forest */
    int32_t *is_used;     /* (columns) some task moves the column */
    int32_t *part;        /* (columns) part of a group, at its representative; -1: none yet */
    int32_t *goal_part;   /* (goals) first a column of the goal, then its part */
    int32_t *goal_index;  /* (goals) index of the goal in its part */
    int32_t *held;        /* (nodes of the plan) nodes of other parts */
    skel_goal_desc *goal; /* (goals) goals of one part */
} split;

static size_t layout(split *s, const skel_ik *ik, const skel__ik_plan *p, void *base) {
    const size_t columns = (size_t)ik->size.columns, goals = (size_t)ik->size.goals;
    skel__carver c = {base, 0};
    s->group = skel__carve(&c, columns, sizeof *s->group);
    s->is_used = skel__carve(&c, columns, sizeof *s->is_used);
    s->part = skel__carve(&c, columns, sizeof *s->part);
    s->goal_part = skel__carve(&c, goals, sizeof *s->goal_part);
    s->goal_index = skel__carve(&c, goals, sizeof *s->goal_index);
    s->held = skel__carve(&c, (size_t)p->nn + 1, sizeof *s->held);
    s->goal = skel__carve(&c, goals, sizeof *s->goal);
    return c.used;
}

static size_t layout_parts(skel_ik *ik, int32_t count, void *base) {
    const size_t goals = (size_t)ik->size.goals;
    skel__carver c = {base, 0};
    ik->parts.solver = skel__carve(&c, (size_t)count, sizeof(skel_ik *));
    ik->parts.of_goal = skel__carve(&c, goals, sizeof *ik->parts.of_goal);
    ik->parts.goal_index = skel__carve(&c, goals, sizeof *ik->parts.goal_index);
    ik->parts.error = skel__carve(&c, (size_t)count, sizeof *ik->parts.error);
    return c.used;
}

/* ---- groups of columns ---- */

/* Representative of a column's group. The path to it is halved on the way. */
static int32_t group_of(int32_t *group, int32_t c) {
    while (group[c] != c) {
        group[c] = group[group[c]];
        c = group[c];
    }
    return c;
}

static void join(split *s, int32_t c, int32_t with) {
    s->group[group_of(s->group, c)] = group_of(s->group, with);
}

/* First column that moves a node: its own, or that of its source. */
static int32_t column_of(const skel__ik_node *nodes, const skel__ik_node *n) {
    return n->source >= 0 ? nodes[n->source].column : n->column;
}

/* All columns that move a goal or a loop belong to one group. */
static void join_tasks(const skel_ik *ik, split *s) {
    for (int32_t k = 0; k < ik->size.tasks; ++k) {
        const skel__ik_task *t = &ik->problem.task[k];
        int32_t first = t->goal >= 0 ? s->goal_part[t->goal] : -1;

        for (int32_t l = 0; l < t->link_count; ++l) {
            const int32_t node = ik->problem.link[t->first_link + l].node;
            const int32_t c = column_of(ik->problem.node, &ik->problem.node[node]);
            if (first < 0) first = c;
            join(s, c, first);
            s->is_used[c] = 1;
        }
        if (t->goal >= 0) s->goal_part[t->goal] = first;
    }
}

/* The three columns of a ball or shift belong to one group. */
static void join_nodes(const skel_ik *ik, split *s) {
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        for (int k = 1; n->column >= 0 && n->source < 0 && k < skel__ik_columns(n); ++k) {
            join(s, n->column + k, n->column);
            s->is_used[n->column + k] = s->is_used[n->column];
        }
    }
}

static void group_columns(const skel_ik *ik, split *s) {
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        s->group[c] = c;
        s->is_used[c] = 0;
    }
    for (int32_t k = 0; k < ik->size.goals; ++k) s->goal_part[k] = -1;

    join_tasks(ik, s);
    join_nodes(ik, s);

    /* Columns that only the posture moves join the group of the first column of a task. */
    int32_t used = 0;
    while (used < ik->size.columns && !s->is_used[used]) ++used;
    for (int32_t c = 0; used < ik->size.columns && c < ik->size.columns; ++c)
        if (!s->is_used[c]) join(s, c, used);
}

/* Numbers the parts. Columns are in the order of the nodes, so the part nearest to the root comes
   first. Returns the number of parts. */
static int32_t number_parts(const skel_ik *ik, split *s) {
    int32_t count = 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) s->part[c] = -1;
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        int32_t *part = &s->part[group_of(s->group, c)];
        if (*part < 0) *part = count++;
    }

    /* A goal that no column moves goes to the first part. */
    for (int32_t k = 0; k < ik->size.goals; ++k) {
        const int32_t c = s->goal_part[k];
        s->goal_part[k] = c < 0 ? 0 : s->part[group_of(s->group, c)];
    }
    return count;
}

/* ---- creation ---- */

/* A part has its own goals only, and the nodes of all other parts are held. */
static skel_status make_part(skel_ik *ik, const skel__ik_plan *p, const skel_ik_desc *d, split *s,
                             int32_t part, skel_error *err) {
    skel_ik_desc of = *d;
    of.goal_count = 0;
    of.goals = s->goal;
    of.goal_stride = sizeof *s->goal;
    for (uint32_t k = 0; k < d->goal_count; ++k) {
        if (s->goal_part[k] != part) continue;
        s->goal_index[k] = (int32_t)of.goal_count;
        s->goal[of.goal_count++] = p->goal[k];
    }

    for (int32_t i = 0; i < p->nn; ++i) {
        const int32_t c = column_of(p->node, &p->node[i]);
        s->held[i] = c >= 0 && s->part[group_of(s->group, c)] != part;
    }
    return skel__ik_make(&of, &ik->allocator, s->held, ik->options.has_posture_room,
                         &ik->parts.solver[part], err);
}

static skel_status make_solvers(skel_ik *ik, const skel__ik_plan *p, const skel_ik_desc *d,
                                split *s, int32_t count, skel_error *err) {
    void *block = skel__alloc(&ik->allocator, layout_parts(ik, count, NULL));
    if (!block) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the solver");
    layout_parts(ik, count, block);

    for (; ik->parts.count < count; ++ik->parts.count) {
        const skel_status status = make_part(ik, p, d, s, ik->parts.count, err);
        if (status == SKEL_OK) continue;
        skel__ik_free_parts(ik);
        return status;
    }

    const size_t goals = (size_t)ik->size.goals;
    memcpy(ik->parts.of_goal, s->goal_part, goals * sizeof *s->goal_part);
    memcpy(ik->parts.goal_index, s->goal_index, goals * sizeof *s->goal_index);
    return SKEL_OK;
}

/* Whether some goal restricts the joints that it may move. */
static int has_restrictions(const skel_ik *ik, const skel__ik_plan *p) {
    for (int32_t k = 0; k < ik->size.goals; ++k) {
        const skel_goal_desc *g = &p->goal[k];
        if (g->joints || g->chain_depth > 0 || g->chain_root >= 0) return 1;
    }
    return 0;
}

skel_status skel__ik_make_parts(skel_ik *ik, const skel__ik_plan *p, const skel_ik_desc *d,
                                skel_error *err) {
    if (!has_restrictions(ik, p) || ik->size.columns == 0) return SKEL_OK;

    split s;
    void *work = skel__alloc(&ik->allocator, layout(&s, ik, p, NULL));
    if (!work) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the solver");
    layout(&s, ik, p, work);

    group_columns(ik, &s);
    const int32_t count = number_parts(ik, &s);
    skel_status status = SKEL_OK;
    if (count > 1) status = make_solvers(ik, p, d, &s, count, err);

    skel__free(&ik->allocator, work);
    return status;
}

void skel__ik_free_parts(skel_ik *ik) {
    for (int32_t k = 0; k < ik->parts.count; ++k) skel_ik_destroy(ik->parts.solver[k]);
    skel__free(&ik->allocator, ik->parts.solver);
    ik->parts.count = 0;
    ik->parts.solver = NULL;
}

/* ---- solving ---- */

/* Largest error of a part's goals, as it was when the part was solved. */
static double error_when_solved(const skel_ik *part) {
    double error = 0;
    for (int32_t i = 0; i < part->size.tasks; ++i)
        if (part->problem.task[i].goal >= 0) error = fmax(error, part->problem.task[i].error);
    return error;
}

/* Whether a later part has changed the error of an earlier one, for better or worse. */
static int is_disturbed(const skel_ik *ik) {
    memset(ik->parts.error, 0, (size_t)ik->parts.count * sizeof *ik->parts.error);
    for (int32_t k = 0; k < ik->size.tasks; ++k) {
        const skel__ik_task *t = &ik->problem.task[k];
        if (t->goal < 0) continue;
        double *error = &ik->parts.error[ik->parts.of_goal[t->goal]];
        *error = fmax(*error, t->error);
    }

    for (int32_t k = 0; k + 1 < ik->parts.count; ++k) {
        const double then = error_when_solved(ik->parts.solver[k]);
        if (fabs(ik->parts.error[k] - then) > IK_PART_ERROR_TOL) return 1;
    }
    return 0;
}

static void solve_part(skel_ik *ik, skel_ik *part, int32_t restarts) {
    const size_t size = (size_t)ik->size.coordinates * sizeof *ik->iterate.x;
    const int32_t max_restarts = part->options.max_restarts;
    part->options.deadline_ns = ik->options.deadline_ns;
    part->options.max_restarts = restarts;
    part->result.iterations = 0;
    part->result.restarts = 0;
    part->history.is_following = 0;

    memcpy(part->iterate.x, ik->iterate.x, size);
    skel__ik_run(part);
    memcpy(ik->iterate.x, part->iterate.x, size);

    part->options.max_restarts = max_restarts;
    ik->result.iterations += part->result.iterations;
    ik->result.restarts += part->result.restarts;
}

void skel__ik_solve_parts(skel_ik *ik) {
    for (int round = 0; round < IK_PART_ROUNDS_MAX; ++round) {
        for (int32_t k = 0; k < ik->parts.count; ++k) {
            skel_ik *part = ik->parts.solver[k];
            int32_t restarts = part->options.max_restarts;
            if (round > 0 && (restarts < 0 || restarts > IK_PART_RESTARTS_AGAIN))
                restarts = IK_PART_RESTARTS_AGAIN;
            solve_part(ik, part, restarts);
        }

        skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
        if (!is_disturbed(ik) || skel__ik_is_late(ik)) return;
    }
}
