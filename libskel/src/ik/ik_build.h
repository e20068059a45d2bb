/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a solver while it is made: room for everything that could be needed. */
#ifndef SKEL_IK_IK_BUILD_H
#define SKEL_IK_IK_BUILD_H

#include "ik/ik.h"

struct skel__ik_plan {
    const skel_model *m;
    skel_goal_desc   *goal;
    const double     *stiffness; /* (nv) or NULL */
    int32_t           root_moves, has_posture, has_room;
    int32_t           nn, nt, rows, levels, nroot, links;
    int32_t           kept, columns;                   /* nodes and columns that remain */
    int32_t           followers;                       /* columns of nodes that go with others */
    skel__ik_node    *node;                            /* (2 nd) */
    skel__ik_task    *task;                            /* (2 goals + 2 loops) */
    skel__ik_anchor  *anchor;                          /* (na + world) */
    int32_t          *root;                            /* (nd) */
    int32_t          *mark, *needed, *moves, *renamed; /* (2 nd) */
    const int32_t    *held;                            /* (2 nd) nodes that stay, or NULL */
    int32_t          *allowed;                         /* (2 nd) nodes that a goal may move */
    skel__ik_link    *path;                            /* (links) or NULL: only count */
};

void skel__ik_plan_nodes(skel__ik_plan *p);
void skel__ik_plan_tasks(skel__ik_plan *p, uint32_t goals);
void skel__ik_plan_links(skel__ik_plan *p);

#endif
