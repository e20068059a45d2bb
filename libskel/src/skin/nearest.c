/* SPDX-License-Identifier: BSD-3-Clause */
/* The nearest of many points, by a k-d tree in place: the tree is the order of the points. */
#include "skin/skin.h"

#define TREE_LEAF 8 /* points that are compared one by one */

static double coordinate(v3 p, int axis) {
    if (axis == 0) return p.x;
    return axis == 1 ? p.y : p.z;
}

static void swap_points(skel__tree *t, int32_t i, int32_t j) {
    const v3 point = t->points[i];
    const int32_t tag = t->tags[i];
    t->points[i] = t->points[j];
    t->tags[i] = t->tags[j];
    t->points[j] = point;
    t->tags[j] = tag;
}

/* The axis along which the points of a range extend most. */
static int widest_axis(const skel__tree *t, int32_t low, int32_t high) {
    v3 least = t->points[low], most = t->points[low];
    for (int32_t i = low + 1; i < high; ++i) {
        const v3 p = t->points[i];
        least = (v3){fmin(least.x, p.x), fmin(least.y, p.y), fmin(least.z, p.z)};
        most = (v3){fmax(most.x, p.x), fmax(most.y, p.y), fmax(most.z, p.z)};
    }
    const v3 edge = v3_sub(most, least);
    if (edge.x >= edge.y && edge.x >= edge.z) return 0;
    return edge.y >= edge.z ? 1 : 2;
}

/* Hoare's selection: orders low <= i <= high so that the entry at `rank` is where sorting along the
   axis would put it. */
static void select_point(skel__tree *t, int32_t low, int32_t high, int32_t rank, int axis) {
    while (low < high) {
        const double pivot = coordinate(t->points[low + (high - low) / 2], axis);
        int32_t i = low, j = high;
        while (i <= j) {
            while (coordinate(t->points[i], axis) < pivot) ++i;
            while (coordinate(t->points[j], axis) > pivot) --j;
            if (i <= j) swap_points(t, i++, j--);
        }
        if (rank <= j)
            high = j;
        else if (rank >= i)
            low = i;
        else
            return;
    }
}

/* Builds the part of the tree on low <= i < high. */
static void build_range(skel__tree *t, int32_t low, int32_t high) {
    if (high - low <= TREE_LEAF) return;
    const int32_t middle = low + (high - low) / 2;
    const int axis = widest_axis(t, low, high);
    select_point(t, low, high - 1, middle, axis);
    t->axis[middle] = (unsigned char)axis;
    build_range(t, low, middle);
    build_range(t, middle + 1, high);
}

void skel__tree_build(skel__tree *tree) {
    build_range(tree, 0, tree->count);
}

typedef struct search {
    const skel__tree *tree;
    v3 p;
    double best2; /* squared distance of the nearest point so far */
    int32_t best;
} search;

static void try_point(search *s, int32_t i) {
    const v3 apart = v3_sub(s->tree->points[i], s->p);
    const double distance2 = v3_dot(apart, apart);
    if (distance2 < s->best2) {
        s->best2 = distance2;
        s->best = i;
    }
}

static void search_range(search *s, int32_t low, int32_t high) {
    if (high - low <= TREE_LEAF) {
        for (int32_t i = low; i < high; ++i) try_point(s, i);
        return;
    }

    /* The side of the point first. The other side only if it may be nearer. */
    const int32_t middle = low + (high - low) / 2;
    const int axis = s->tree->axis[middle];
    const double side = coordinate(s->p, axis) - coordinate(s->tree->points[middle], axis);
    const int is_below = side < 0;
    search_range(s, is_below ? low : middle + 1, is_below ? middle : high);
    if (side * side >= s->best2) return;
    try_point(s, middle);
    search_range(s, is_below ? middle + 1 : low, is_below ? high : middle);
}

int32_t skel__tree_nearest(const skel__tree *tree, v3 p, int32_t guess) {
    const v3 apart = v3_sub(tree->points[guess], p);
    search s = {tree, p, v3_dot(apart, apart), guess};
    search_range(&s, 0, tree->count);
    return s.best;
}
