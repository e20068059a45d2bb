/* SPDX-License-Identifier: BSD-3-Clause */
/* A weighted skin and its samples (skel_fit.h).

   Inside, lengths are scaled by a power of two and measured from the middle of the bounding box, so
   that the size of the skin is between 0.5 and 1 and no tolerance depends on the caller's unit. */
#ifndef SKEL_SKIN_SKIN_H
#define SKEL_SKIN_SKIN_H

#include "math/vec.h"

#include <skel/skel_fit.h>

#define SKEL__SKIN_COORDINATE_MAX 1e100 /* [length]; its cube is still finite */
#define SKEL__SKIN_KEY_BASE 16777216.0  /* above SKEL_FIT_COUNT_MAX: base a + b is exact */

/* ---- order ---- */

typedef struct skel__keyed {
    double key, value;
} skel__keyed;

/* Sorts by key, stable. The buffer has n entries, too. */
void skel__sort_keyed(skel__keyed *items, skel__keyed *buffer, size_t n);
/* The number of rank floor(fraction (n - 1) + 1/2) among n > 0 numbers, whose order is lost. */
double skel__quantile(double *numbers, int32_t n, double fraction);

/* ---- the object ---- */

struct skel_fit {
    skel_allocator allocator;
    int32_t vertex_count, triangle_count, bone_count, sample_count, pair_count, body_count;
    int32_t is_closed;
    double unit;         /* caller's length of 1 inside; a power of two */
    v3 origin;           /* caller's coordinates of 0 0 0 inside */
    v3 low, high;        /* bounding box, caller's coordinates */
    double area, volume; /* inside */

    v3 *vertices;        /* (vertex_count), only those of triangles are set */
    int32_t *triangles;  /* (triangle_count x 3), welded */
    double *shares;      /* (bone_count) */
    int32_t *pairs;      /* (pair_count x 2), a < b, ascending */
    double *pair_shares; /* (pair_count) */

    v3 *samples;         /* (sample_count) */
    int32_t *row;        /* (sample_count + 1) first entry of a sample in row_bones, row_weights */
    int32_t *row_bones;  /* ascending within a sample */
    double *row_weights; /* */
    int32_t *strongest;  /* (sample_count) bone with the largest weight; -1: none */

    /* A body is represented by its first bone, its "lead", so that nothing depends on
       body_count. */
    int32_t *body_of_bone; /* (bone_count) */
    int32_t *lead_of_bone; /* (bone_count) first bone of the same body; -1: no body */
    int32_t *lead;         /* (sample_count) lead of the sample's body; -1: none */

    /* workspace */
    double *bone_sums;      /* (bone_count x 4) */
    skel__keyed *bone_keys; /* (2 x bone_count) */
    v3 *points;             /* (sample_count) samples of one body */
    double *numbers;        /* (2 x sample_count) */
};

static inline int skel__skin_is_point(const double p[3]) {
    return fabs(p[0]) <= SKEL__SKIN_COORDINATE_MAX && fabs(p[1]) <= SKEL__SKIN_COORDINATE_MAX &&
           fabs(p[2]) <= SKEL__SKIN_COORDINATE_MAX;
}
static inline v3 skel__skin_inside(const skel_fit *f, const double p[3]) {
    return v3_scale(v3_sub(v3_of(p), f->origin), 1 / f->unit);
}
static inline v3 skel__skin_outside(const skel_fit *f, v3 p) {
    return v3_mad(f->origin, f->unit, p);
}

/* ---- creation ---- */

typedef struct skel__skin_build {
    const skel_fit_desc *d;
    double unit;
    v3 origin, low, high;
    v3 *vertices;        /* (vertex_count) inside, those of triangles */
    int32_t *weld;       /* (vertex_count) first vertex at the same place; -1: of no triangle */
    int32_t *heads;      /* (table_size) first vertex of a cell of the hash table; -1: none */
    int32_t *next;       /* (vertex_count) next vertex of the same cell */
    uint32_t table_size; /* a power of two */
    int32_t kept_count;  /* triangles with three different vertices */
    int32_t *kept;       /* (triangle_count) their indices */
    double *cumulative;  /* (triangle_count) area of the kept triangles up to and with this one */
    double area, volume;
    int32_t is_closed;
    int32_t *first;  /* (vertex_count + 1) as offsets, of the next two */
    int32_t *bones;  /* (offsets[vertex_count]) at most SKEL_FIT_WEIGHTS per vertex */
    double *weights; /* the same, with the sum 1 per vertex */
} skel__skin_build;

/* One sample: its point, and the bones that it follows in ascending order. */
typedef struct skel__skin_sample {
    v3 point;
    int32_t count;
    int32_t bones[3 * SKEL_FIT_WEIGHTS];
    double weights[3 * SKEL_FIT_WEIGHTS];
} skel__skin_sample;

/* Bounding box, scale, welding, areas, volume. Returns 0 if the skin has no area. */
int skel__skin_geometry(skel__skin_build *b);
/* Normalises the weights of all vertices. */
void skel__skin_weights(skel__skin_build *b);
/* Sample number `index` of `count`. *at is the triangle of the sample before, 0 for the first. */
void skel__skin_sample_at(const skel__skin_build *b, int32_t index, int32_t count, int32_t *at,
                          skel__skin_sample *out);

/* ---- points ---- */

/* Mean and principal axes of n > 0 points. axes[0] has the largest variance. The axes are unit
   vectors; the coordinate of each with the largest magnitude is positive. */
void skel__principal_axes(const v3 *points, int32_t n, v3 *mean, v3 axes[3]);

/* Radius below which a skin is a line or a point, inside. */
#define SKEL__SKIN_RADIUS_MIN 1e-3

/* A capsule on a line, inside. */
typedef struct skel__capsule {
    v3 centre, axis;
    double length; /* between the centres of the caps */
    double radius;
    double misfit; /* mean distance of the points from the surface */
    double cover;  /* area of the points relative to the surface */
} skel__capsule;

/* A box, inside. axes[2] has the longest edge, axes[0] the next. */
typedef struct skel__box {
    v3 centre, axes[3];
    double edges[3];
    double misfit, cover;
} skel__box;

/* The capsule on the line through `origin` with the unit direction `axis`, for n > 0 points.
   `numbers` has room for n. */
skel__capsule skel__capsule_on_line(const v3 *points, int32_t n, double area_per_point, v3 origin,
                                    v3 axis, double *numbers);
/* Fills misfit and cover of a capsule. */
void skel__capsule_judge(skel__capsule *c, const v3 *points, int32_t n, double area_per_point);
/* Distance of a point from the segment between the centres of the caps. */
double skel__capsule_distance(const skel__capsule *c, v3 point);

/* The better of two boxes: with an edge along `axis`, and with edges along the principal axes. */
skel__box skel__box_around(const v3 *points, int32_t n, double area_per_point, v3 axis,
                           double *numbers);

/* ---- the nearest of many points, along vertical lines ---- */

#define SKEL__ALONG_LAYERS 256

/* A part of a line: from `start` on, the point with this tag is the nearest. */
typedef struct skel__along_part {
    double start;
    double z, c; /* of the point: see nearest_along.c */
    int32_t tag;
} skel__along_part;

typedef struct skel__along {
    int32_t count;
    v3 *points;              /* (count) sorted into layers */
    int32_t *tags;           /* (count) number that the caller gives to a point */
    int32_t *layer;          /* (SKEL__ALONG_LAYERS + 1) first point of a layer */
    skel__along_part *parts; /* (SKEL__ALONG_LAYERS) of the present line, upwards */
    int32_t used;            /* number of parts; 0 if there are no points */
} skel__along;

/* Sorts the points between z = low and low + height into layers, into the given new arrays. */
void skel__along_sort(skel__along *a, double low, double height, v3 *points, int32_t *tags);
/* Finds the parts of the line at x, y. */
void skel__along_line(skel__along *a, double x, double y);

#endif
