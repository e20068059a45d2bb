/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a solver. It exists during creation only and has room for every node and task that
   the model and the goals could need. */
#ifndef SKEL_IK_IK_BUILD_H
#define SKEL_IK_IK_BUILD_H

#include "ik/ik.h"

#define SKEL__IK_JOINT_NODES_MAX 3 /* nodes of one joint or free root */
#define SKEL__IK_LOOP_TASKS_MAX 3  /* tasks of one loop joint */

struct skel__ik_plan {
    const skel_model *m;
    skel_goal_desc *goal;
    const double *stiffness;  /* (nv) or NULL */
    int32_t root_moves;       /* SKEL_IK_ROOT_* */
    int32_t has_posture;      /* a posture is given */
    int32_t has_posture_room; /* a posture may be set later */
    int32_t has_max_step;     /* bounds of the steps are given */
    int32_t nn;               /* nodes */
    int32_t nt;               /* tasks */
    int32_t rows, levels;     /* of all tasks */
    int32_t nroot;            /* free roots that may move */
    int32_t links;            /* links of all tasks */
    int32_t kept;             /* nodes that enter the solver */
    int32_t columns;          /* columns of the Jacobian */
    int32_t mimic_columns;    /* columns of mimic nodes, behind the others */
    skel__ik_node *node;      /* (nodes) */
    skel__ik_task *task;      /* (2 goals, SKEL__IK_LOOP_TASKS_MAX per loop, 1) */
    skel__ik_anchor *anchor;  /* (na + world) frame of every body */
    int32_t *root;            /* (nodes) bodies that are free roots */
    int32_t *mark;            /* (nodes) bits: ends of the present task that the node moves */
    int32_t *needed;          /* (nodes) the solver needs the node */
    int32_t *moves;           /* (nodes) the node moves some task */
    int32_t *renamed;         /* (nodes) number of the node in the solver; -1: none */
    int32_t *allowed;         /* (nodes) ALLOWED_* of the present goal */
    const int32_t *held;      /* (nodes) nodes that must not move, or NULL */
    skel__ik_link *link;      /* (links) or NULL: the links are only counted */
};

void skel__ik_plan_nodes(skel__ik_plan *p);
void skel__ik_plan_tasks(skel__ik_plan *p, uint32_t goals);
void skel__ik_plan_links(skel__ik_plan *p);

#endif
