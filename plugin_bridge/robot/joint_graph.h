/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies and joints as a graph, in which index 0 is the world and index i + 1 is body i. A walk
   through n joints takes O(n log n) time. */
#ifndef BRIDGE_ROBOT_JOINT_GRAPH_H
#define BRIDGE_ROBOT_JOINT_GRAPH_H

#include "document/arena.h"

#include <skel/skel_model.h>

typedef struct robot_graph {
    int32_t joint_count;
    int32_t (*ends)[2]; /* (joints) nodes of parent and child */
    int32_t *first;     /* (nodes + 1) index in `joints` of the first joint of a node */
    int32_t *joints;    /* (2 joints) joints of node 0, of node 1, ... */
    int32_t *stack;     /* (nodes) workspace of robot_graph_reach */
} robot_graph;

/** False: out of memory. The arena owns the arrays. */
bool robot_graph_make(robot_graph *graph, const skel_model *model, memory_arena *arena);
/** Marks the node and all nodes that joints connect to it. Marked nodes are not entered. */
void robot_graph_reach(const robot_graph *graph, int32_t node, bool *is_reached);

/** Joints in the order in which repeated passes through their list would find them: a pass takes
    every joint, in the order of the list, that has an end at a node that was entered before. */
typedef struct robot_walk {
    const robot_graph *graph;
    int64_t *heap; /* (joints) pass * joints + joint; the smallest is first */
    int32_t heap_count;
    bool *is_queued; /* (joints) */
    int64_t now;     /* of the joint that was taken last; -1: none */
} robot_walk;

/** False: out of memory. */
bool robot_walk_start(robot_walk *walk, const robot_graph *graph, memory_arena *arena);
/** Enters a node: its joints can be found from now on. */
void robot_walk_enter(robot_walk *walk, int32_t node);
/** The next joint; -1: there is none. */
int32_t robot_walk_next(robot_walk *walk);

#endif
