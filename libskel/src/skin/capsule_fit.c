/* SPDX-License-Identifier: BSD-3-Clause */
/* A capsule on a given line, and boxes, for points of a skin.

   The surface of a capsule (and of a sphere) has the same area between any two planes of the same
   distance across its axis. So the projections of its points on the axis are distributed evenly,
   and the quantiles 0.02 and 0.98 give its ends: they lie 2 % of the length inside. Outliers beyond
   the quantiles have no effect. The radius is the median distance from the axis. The centres of the
   caps lie one radius inside the ends, or half a radius if that fits clearly better: skin of a limb
   ends as an open tube. */
#include "skin/skin.h"

#define FIT_QUANTILE 0.02 /* of the projections, at both ends */
#define FIT_ITERATIONS 10 /* of radius and length; the error of a ball halves each time */
#define FIT_TUBE_GAIN 0.9 /* misfit of the longer capsule by that of the shorter */
#define FIT_EDGE_MIN 0.02 /* least edge of a box, relative to its longest */
#define FIT_PI (0.5 * SKEL__TURN)

double skel__capsule_distance(const skel__capsule *c, v3 point) {
    const v3 from = v3_sub(point, c->centre);
    const double along = v3_dot(from, c->axis);
    const double beyond = fmax(0, fabs(along) - 0.5 * c->length);
    const v3 across = v3_mad(from, -along, c->axis);
    return sqrt(v3_dot(across, across) + beyond * beyond);
}

void skel__capsule_judge(skel__capsule *c, const v3 *points, int32_t n, double area_per_point) {
    double sum = 0;
    for (int32_t i = 0; i < n; ++i) sum += fabs(skel__capsule_distance(c, points[i]) - c->radius);
    c->misfit = sum / n;
    c->cover = n * area_per_point / (2 * FIT_PI * c->radius * (c->length + 2 * c->radius));
}

/* Quantiles of the projections of the points on an axis. */
static void project(const v3 *points, int32_t n, v3 origin, v3 axis, double *numbers, double *low,
                    double *high) {
    for (int32_t i = 0; i < n; ++i) numbers[i] = v3_dot(v3_sub(points[i], origin), axis);
    *low = skel__quantile(numbers, n, FIT_QUANTILE);
    *high = skel__quantile(numbers, n, 1 - FIT_QUANTILE);
}

static double median_distance(const skel__capsule *c, const v3 *points, int32_t n,
                              double *numbers) {
    for (int32_t i = 0; i < n; ++i) numbers[i] = skel__capsule_distance(c, points[i]);
    return fmax(SKEL__SKIN_RADIUS_MIN, skel__quantile(numbers, n, 0.5));
}

skel__capsule skel__capsule_on_line(const v3 *points, int32_t n, double area_per_point, v3 origin,
                                    v3 axis, double *numbers) {
    /* The ends. */
    double low, high;
    project(points, n, origin, axis, numbers, &low, &high);
    const double ends = (high - low) / (1 - 2 * FIT_QUANTILE);
    const v3 centre = v3_mad(origin, 0.5 * (low + high), axis);

    skel__capsule best = {.radius = 0};
    for (int k = 0; k < 2; ++k) {
        const double inset = k == 0 ? 1.0 : 0.5;
        skel__capsule c = {.centre = centre, .axis = axis, .length = ends};
        c.radius = median_distance(&c, points, n, numbers);
        for (int i = 0; i < FIT_ITERATIONS; ++i) {
            c.length = fmax(0, ends - 2 * inset * c.radius);
            c.radius = median_distance(&c, points, n, numbers);
        }
        skel__capsule_judge(&c, points, n, area_per_point);
        if (k == 0 || c.misfit < FIT_TUBE_GAIN * best.misfit) best = c;
    }
    return best;
}

/* ---- boxes ---- */

/* Distance of a point from the surface of a box. */
static double box_distance(const skel__box *b, v3 point) {
    const v3 from = v3_sub(point, b->centre);
    double outside = 0, depth = -INFINITY;
    for (int k = 0; k < 3; ++k) {
        const double over = fabs(v3_dot(from, b->axes[k])) - 0.5 * b->edges[k];
        outside += over > 0 ? over * over : 0;
        depth = fmax(depth, over);
    }
    return depth > 0 ? sqrt(outside) : -depth;
}

/* Orders the axes: the longest edge is the last, then the first. */
static void order_edges(skel__box *b) {
    static const int k_swaps[3][2] = {{0, 2}, {1, 2}, {1, 0}}; /* the second gets the longer edge */
    for (int k = 0; k < 3; ++k) {
        const int i = k_swaps[k][0], j = k_swaps[k][1];
        if (!(b->edges[i] > b->edges[j])) continue;
        const double edge = b->edges[i];
        const v3 axis = b->axes[i];
        b->edges[i] = b->edges[j];
        b->edges[j] = edge;
        b->axes[i] = b->axes[j];
        b->axes[j] = axis;
    }
}

/* The box with edges along three orthonormal axes. A face that holds more than 2 % of the points is
   where the quantile is. */
static skel__box box_along(const v3 *points, int32_t n, double area_per_point, const v3 axes[3],
                           double *numbers) {
    skel__box b = {.centre = {0, 0, 0}};
    for (int k = 0; k < 3; ++k) {
        double low, high;
        project(points, n, (v3){0, 0, 0}, axes[k], numbers, &low, &high);
        b.axes[k] = axes[k];
        b.edges[k] = high - low;
        b.centre = v3_mad(b.centre, 0.5 * (low + high), axes[k]);
    }
    order_edges(&b);
    b.edges[2] = fmax(b.edges[2], 2 * SKEL__SKIN_RADIUS_MIN);
    for (int k = 0; k < 2; ++k) b.edges[k] = fmax(b.edges[k], FIT_EDGE_MIN * b.edges[2]);

    double sum = 0;
    for (int32_t i = 0; i < n; ++i) sum += box_distance(&b, points[i]);
    b.misfit = sum / n;
    const double surface =
        2 * (b.edges[0] * b.edges[1] + b.edges[1] * b.edges[2] + b.edges[2] * b.edges[0]);
    b.cover = n * area_per_point / surface;
    return b;
}

skel__box skel__box_around(const v3 *points, int32_t n, double area_per_point, v3 axis,
                           double *numbers) {
    /* The principal axes of all points. */
    v3 mean, axes[3];
    skel__principal_axes(points, n, &mean, axes);
    skel__box best = box_along(points, n, area_per_point, axes, numbers);

    /* The axis, and the principal axis that is most perpendicular to it, made perpendicular. */
    v3 side = v3_perpendicular(axis);
    double least = 1;
    for (int k = 0; k < 3; ++k) {
        const double along = v3_dot(axes[k], axis);
        if (!(fabs(along) < least)) continue;
        least = fabs(along);
        const v3 across = v3_mad(axes[k], -along, axis);
        side = v3_scale(across, 1 / v3_norm(across));
    }
    const v3 frame[3] = {side, v3_cross(axis, side), axis};
    const skel__box other = box_along(points, n, area_per_point, frame, numbers);
    if (other.misfit < best.misfit) best = other;
    return best;
}
