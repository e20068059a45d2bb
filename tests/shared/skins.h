/* SPDX-License-Identifier: BSD-3-Clause */
/* Skins for tests: boxes, capsules, cylinders, placed anywhere. Every vertex follows two bones. */
#ifndef SKEL_TESTS_SKINS_H
#define SKEL_TESTS_SKINS_H

#include "math/quat.h"
#include "shared/rng.h"

#include <skel/skel.h>

typedef struct skin {
    uint32_t vertex_count, triangle_count;
    double *vertices;   /* 3 per vertex */
    int32_t *triangles; /* 3 per triangle */
    int32_t *offsets;   /* 0 2 4 ... */
    int32_t *bones;     /* 0 1 per vertex */
    double *weights;    /* 1 - w, w per vertex */
} skin;

/* The skin without vertices. */
skin skin_empty(void);
void skin_free(skin *s);
/* Adds a vertex with the weights 1 - w of bone 0 and w of bone 1. Returns its index. */
int32_t skin_vertex(skin *s, v3 p, double w);
void skin_triangle(skin *s, int32_t a, int32_t b, int32_t c);

/* Adds a box about `centre`. Every face has n x n squares and its own vertices: seams
   everywhere. */
void skin_box(skin *s, v3 centre, v3 edges, int n);
/* Adds a capsule along z about 0 0 0, with the given number of sides. */
void skin_capsule(skin *s, double length, double radius, int sides);
/* Adds a cylinder along z about 0 0 0; open ends if is_open. */
void skin_cylinder(skin *s, double length, double radius, int sides, int is_open);

/* Rotates, scales and shifts all vertices: p becomes shift + scale q(p). */
void skin_place(skin *s, quat q, double scale, v3 shift);
/* Bone 1 takes the vertices above z. */
void skin_split(skin *s, double z);
/* Another skin with the same surface: vertices and triangles in random order. */
skin skin_shuffled(const skin *s, rng *r);
/* Another skin with the same surface: every triangle has its own vertices, moved by `noise`. */
skin skin_unwelded(const skin *s, rng *r, double noise);

/* The desc of a skin, with two bones. */
skel_fit_desc skin_desc(const skin *s);

#endif
