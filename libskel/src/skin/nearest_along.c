/* SPDX-License-Identifier: BSD-3-Clause */
/* The nearest of many points, for all points of a vertical line at once.

   On the line at x, y the squared distance from point s is (z - z_s)^2 + d_s^2. All these parabolas
   have the same shape: without z^2 they are lines, c_s - 2 z_s z with c_s = z_s^2 + d_s^2. The
   nearest point as a function of z is the lower envelope of the lines, and z_s grows along it. Two
   of them meet at z = (c_t - c_s) / (2 (z_t - z_s)).

   The points are sorted into horizontal layers. Of every layer only the point that is nearest to
   the line takes part, so the envelope has few lines. */
#include "skin/skin.h"

#include <string.h>

static int32_t layer_of(const skel__along *a, double low, double height, int32_t i) {
    const double layer = (a->points[i].z - low) / height * SKEL__ALONG_LAYERS;
    if (!(layer > 0)) return 0;
    return layer < SKEL__ALONG_LAYERS ? (int32_t)layer : SKEL__ALONG_LAYERS - 1;
}

void skel__along_sort(skel__along *a, double low, double height, v3 *points, int32_t *tags) {
    /* How many points a layer has, and where it begins. */
    memset(a->layer, 0, (SKEL__ALONG_LAYERS + 1) * sizeof *a->layer);
    for (int32_t i = 0; i < a->count; ++i) ++a->layer[layer_of(a, low, height, i) + 1];
    for (int32_t k = 0; k < SKEL__ALONG_LAYERS; ++k) a->layer[k + 1] += a->layer[k];

    /* Moves the beginnings while the points are placed, and then back. */
    for (int32_t i = 0; i < a->count; ++i) {
        const int32_t at = a->layer[layer_of(a, low, height, i)]++;
        points[at] = a->points[i];
        tags[at] = a->tags[i];
    }
    for (int32_t k = SKEL__ALONG_LAYERS; k > 0; --k) a->layer[k] = a->layer[k - 1];
    a->layer[0] = 0;
    a->points = points;
    a->tags = tags;
}

/* The point of a layer that is nearest to the line at x, y; -1: the layer is empty. */
static int32_t nearest_of_layer(const skel__along *a, int32_t layer, double x, double y,
                                double *distance2) {
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t i = a->layer[layer]; i < a->layer[layer + 1]; ++i) {
        const double dx = a->points[i].x - x, dy = a->points[i].y - y;
        const double d2 = dx * dx + dy * dy;
        if (d2 < least) {
            least = d2;
            best = i;
        }
    }
    *distance2 = least;
    return best;
}

/* Adds a line above all others of the envelope: z_s is larger than theirs, or equal. */
static void add_line(skel__along *a, int32_t point, double z, double c) {
    double start = -INFINITY;
    while (a->used > 0) {
        const skel__along_part *last = &a->parts[a->used - 1];
        if (z > last->z) {
            start = (c - last->c) / (2 * (z - last->z));
            if (start > last->start) break;
        } else if (c >= last->c) {
            return;
        }
        --a->used; /* the last line is nowhere below both of its neighbours */
        start = -INFINITY;
    }
    a->parts[a->used++] = (skel__along_part){start, z, c, a->tags[point]};
}

void skel__along_line(skel__along *a, double x, double y) {
    a->used = 0;
    for (int32_t k = 0; k < SKEL__ALONG_LAYERS; ++k) {
        double distance2;
        const int32_t i = nearest_of_layer(a, k, x, y, &distance2);
        if (i < 0) continue;
        const double z = a->points[i].z;
        add_line(a, i, z, z * z + distance2);
    }
}
