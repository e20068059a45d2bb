/* SPDX-License-Identifier: BSD-3-Clause */
#include "robot/joint_graph.h"

/* ---- the graph ------------------------------------------------------------------------------- */

static void read_ends(robot_graph *g, const skel_model *model) {
    for (int32_t k = 0; k < g->joint_count; ++k) {
        skel_joint_desc j;
        skel_joint_desc_init(&j);
        skel_model_get_joint(model, k, &j);
        g->ends[k][0] = j.parent + 1;
        g->ends[k][1] = j.child + 1;
    }
}

/* Lists the joints of every node by counting. first[i + 1] is the start of the list of node i until
   the list is filled, then its end. */
static void list_joints(robot_graph *g, int32_t nodes) {
    for (int32_t k = 0; k < g->joint_count; ++k)
        for (int side = 0; side < 2; ++side) ++g->first[g->ends[k][side] + 2];
    for (int32_t i = 2; i <= nodes; ++i) g->first[i] += g->first[i - 1];

    for (int32_t k = 0; k < g->joint_count; ++k)
        for (int side = 0; side < 2; ++side) g->joints[g->first[g->ends[k][side] + 1]++] = k;
}

bool robot_graph_make(robot_graph *graph, const skel_model *model, memory_arena *arena) {
    const int32_t nodes = skel_model_body_count(model) + 1;
    const size_t nj = (size_t)skel_model_joint_count(model);
    *graph = (robot_graph){.joint_count = (int32_t)nj};
    graph->ends = arena_alloc(arena, nj + 1, sizeof *graph->ends);
    graph->first = arena_alloc(arena, (size_t)nodes + 2, sizeof *graph->first);
    graph->joints = arena_alloc(arena, 2 * nj + 1, sizeof *graph->joints);
    graph->stack = arena_alloc(arena, (size_t)nodes, sizeof *graph->stack);
    if (arena->failed) return false;

    read_ends(graph, model);
    list_joints(graph, nodes);
    return true;
}

void robot_graph_reach(const robot_graph *graph, int32_t node, bool *is_reached) {
    int32_t count = 0;
    is_reached[node] = true;
    graph->stack[count++] = node;
    while (count > 0) {
        const int32_t at = graph->stack[--count];
        for (int32_t k = graph->first[at]; k < graph->first[at + 1]; ++k) {
            const int32_t *ends = graph->ends[graph->joints[k]];
            const int32_t other = ends[0] == at ? ends[1] : ends[0];
            if (is_reached[other]) continue;
            is_reached[other] = true;
            graph->stack[count++] = other;
        }
    }
}

/* ---- the walk: a binary heap ----------------------------------------------------------------- */

bool robot_walk_start(robot_walk *walk, const robot_graph *graph, memory_arena *arena) {
    const size_t room = (size_t)graph->joint_count + 1;
    *walk = (robot_walk){.graph = graph, .now = -1};
    walk->heap = arena_alloc(arena, room, sizeof *walk->heap);
    walk->is_queued = arena_alloc(arena, room, sizeof *walk->is_queued);
    return !arena->failed;
}

static void push(robot_walk *walk, int64_t key) {
    int32_t at = walk->heap_count++;
    for (; at > 0 && walk->heap[(at - 1) / 2] > key; at = (at - 1) / 2)
        walk->heap[at] = walk->heap[(at - 1) / 2];
    walk->heap[at] = key;
}

static int64_t pop(robot_walk *walk) {
    const int64_t smallest = walk->heap[0];
    const int64_t last = walk->heap[--walk->heap_count];
    int32_t at = 0;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= walk->heap_count) break;
        if (child + 1 < walk->heap_count && walk->heap[child + 1] < walk->heap[child]) ++child;
        if (walk->heap[child] >= last) break;
        walk->heap[at] = walk->heap[child];
        at = child;
    }
    walk->heap[at] = last;
    return smallest;
}

/* A joint after the present one belongs to the present pass, others to the next pass. */
void robot_walk_enter(robot_walk *walk, int32_t node) {
    const robot_graph *g = walk->graph;
    for (int32_t k = g->first[node]; k < g->first[node + 1]; ++k) {
        const int32_t joint = g->joints[k];
        if (walk->is_queued[joint]) continue;
        walk->is_queued[joint] = true;

        const int64_t pass = walk->now < 0 ? 0 : walk->now / g->joint_count;
        int64_t key = pass * g->joint_count + joint;
        if (key <= walk->now) key += g->joint_count;
        push(walk, key);
    }
}

int32_t robot_walk_next(robot_walk *walk) {
    if (walk->heap_count == 0) return -1;
    walk->now = pop(walk);
    return (int32_t)(walk->now % walk->graph->joint_count);
}
