/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared/skins.h"

#include <stdlib.h>
#include <string.h>

skin skin_empty(void) {
    return (skin){0};
}

void skin_free(skin *s) {
    free(s->vertices);
    free(s->triangles);
    free(s->offsets);
    free(s->bones);
    free(s->weights);
    *s = skin_empty();
}

/* Makes room for one more row at the powers of two. */
static void *grown(void *rows, uint32_t count, size_t size) {
    if (rows && (count & (count - 1)) != 0) return rows;
    void *more = realloc(rows, (count ? 2 * (size_t)count : 1) * size);
    if (!more) abort();
    return more;
}

int32_t skin_vertex(skin *s, v3 p, double w) {
    const uint32_t i = s->vertex_count;
    s->vertices = grown(s->vertices, i, 3 * sizeof *s->vertices);
    s->offsets = grown(s->offsets, i, 2 * sizeof *s->offsets); /* room for one more */
    s->bones = grown(s->bones, i, 2 * sizeof *s->bones);
    s->weights = grown(s->weights, i, 2 * sizeof *s->weights);

    v3_to(p, s->vertices + 3 * (size_t)i);
    s->offsets[0] = 0;
    s->offsets[i + 1] = (int32_t)(2 * i + 2);
    s->bones[2 * i] = 0;
    s->bones[2 * i + 1] = 1;
    s->weights[2 * i] = 1 - w;
    s->weights[2 * i + 1] = w;
    return (int32_t)s->vertex_count++;
}

void skin_triangle(skin *s, int32_t a, int32_t b, int32_t c) {
    const int32_t corners[3] = {a, b, c};
    s->triangles = grown(s->triangles, s->triangle_count, sizeof corners);
    memcpy(s->triangles + 3 * (size_t)s->triangle_count++, corners, sizeof corners);
}

/* A parallelogram of n x n squares; u x v points outwards. */
static void add_face(skin *s, v3 corner, v3 u, v3 v, int n) {
    const int32_t first = (int32_t)s->vertex_count;
    for (int i = 0; i <= n; ++i)
        for (int j = 0; j <= n; ++j)
            skin_vertex(s, v3_mad(v3_mad(corner, (double)i / n, u), (double)j / n, v), 0);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const int32_t a = first + i * (n + 1) + j, b = a + n + 1;
            skin_triangle(s, a, b, b + 1);
            skin_triangle(s, a, b + 1, a + 1);
        }
}

void skin_box(skin *s, v3 centre, v3 edges, int n) {
    const v3 x = {edges.x, 0, 0}, y = {0, edges.y, 0}, z = {0, 0, edges.z};
    const v3 low = v3_mad(centre, -0.5, edges);
    add_face(s, low, y, x, n);
    add_face(s, v3_add(low, z), x, y, n);
    add_face(s, low, x, z, n);
    add_face(s, v3_add(low, y), z, x, n);
    add_face(s, low, z, y, n);
    add_face(s, v3_add(low, x), y, z, n);
}

/* Turns a profile (radius, z), upwards, about z. */
static void revolve(skin *s, double (*profile)[2], int count, int sides) {
    const int32_t first = (int32_t)s->vertex_count;
    for (int i = 0; i < count; ++i)
        for (int j = 0; j < sides; ++j) {
            const double angle = SKEL__TURN * j / sides, r = profile[i][0];
            skin_vertex(s, (v3){r * cos(angle), r * sin(angle), profile[i][1]}, 0);
        }
    for (int i = 0; i + 1 < count; ++i)
        for (int j = 0; j < sides; ++j) {
            const int32_t a = first + i * sides + j, b = first + i * sides + (j + 1) % sides;
            skin_triangle(s, a, b, b + sides);
            skin_triangle(s, a, b + sides, a + sides);
        }
}

void skin_capsule(skin *s, double length, double radius, int sides) {
    enum { CAP = 16, SIDE = 16 };
    double profile[2 * CAP + SIDE + 1][2];
    int count = 0;
    for (int i = 0; i <= CAP; ++i) {
        const double angle = 0.25 * SKEL__TURN * (i - CAP) / CAP;
        profile[count][0] = i == 0 ? 0 : radius * cos(angle);
        profile[count++][1] = -0.5 * length + radius * sin(angle);
    }
    for (int i = 1; i < SIDE && length > 0; ++i) {
        profile[count][0] = radius;
        profile[count++][1] = length * ((double)i / SIDE - 0.5);
    }
    for (int i = length > 0 ? 0 : 1; i <= CAP; ++i) {
        const double angle = 0.25 * SKEL__TURN * i / CAP;
        profile[count][0] = i == CAP ? 0 : radius * cos(angle);
        profile[count++][1] = 0.5 * length + radius * sin(angle);
    }
    revolve(s, profile, count, sides);
}

void skin_cylinder(skin *s, double length, double radius, int sides, int is_open) {
    const double h = 0.5 * length;
    double closed[4][2] = {{0, -h}, {radius, -h}, {radius, h}, {0, h}};
    if (is_open)
        revolve(s, closed + 1, 2, sides);
    else
        revolve(s, closed, 4, sides);
}

void skin_place(skin *s, quat q, double scale, v3 shift) {
    for (uint32_t i = 0; i < s->vertex_count; ++i) {
        double *p = s->vertices + 3 * (size_t)i;
        v3_to(v3_mad(shift, scale, q_rotate(q, v3_of(p))), p);
    }
}

void skin_split(skin *s, double z) {
    for (uint32_t i = 0; i < s->vertex_count; ++i) {
        const double w = s->vertices[3 * (size_t)i + 2] > z ? 1 : 0;
        s->weights[2 * (size_t)i] = 1 - w;
        s->weights[2 * (size_t)i + 1] = w;
    }
}

static int32_t *random_order(uint32_t count, rng *r) {
    int32_t *order = calloc(count + 1, sizeof *order);
    if (!order) abort();
    for (uint32_t i = 0; i < count; ++i) {
        const int32_t k = rng_int(r, (int)i + 1);
        order[i] = order[k];
        order[k] = (int32_t)i;
    }
    return order;
}

skin skin_shuffled(const skin *s, rng *r) {
    skin out = skin_empty();
    int32_t *vertices = random_order(s->vertex_count, r);
    int32_t *triangles = random_order(s->triangle_count, r);
    int32_t *place = calloc(s->vertex_count + 1, sizeof *place);
    if (!place) abort();
    for (uint32_t i = 0; i < s->vertex_count; ++i) {
        const int32_t old = vertices[i];
        place[old] =
            skin_vertex(&out, v3_of(s->vertices + 3 * (size_t)old), s->weights[2 * old + 1]);
    }
    for (uint32_t t = 0; t < s->triangle_count; ++t) {
        const int32_t *c = s->triangles + 3 * (size_t)triangles[t];
        const int turn = rng_int(r, 3);
        skin_triangle(&out, place[c[turn]], place[c[(turn + 1) % 3]], place[c[(turn + 2) % 3]]);
    }
    free(vertices);
    free(place);
    free(triangles);
    return out;
}

skin skin_unwelded(const skin *s, rng *r, double noise) {
    skin out = skin_empty();
    for (uint32_t t = 0; t < s->triangle_count; ++t) {
        int32_t corner[3];
        for (int c = 0; c < 3; ++c) {
            const size_t i = (size_t)s->triangles[3 * (size_t)t + (size_t)c];
            const v3 off = {rng_range(r, -noise, noise), rng_range(r, -noise, noise),
                            rng_range(r, -noise, noise)};
            corner[c] =
                skin_vertex(&out, v3_add(v3_of(s->vertices + 3 * i), off), s->weights[2 * i + 1]);
        }
        skin_triangle(&out, corner[0], corner[1], corner[2]);
    }
    return out;
}

skel_fit_desc skin_desc(const skin *s) {
    skel_fit_desc d;
    skel_fit_desc_init(&d);
    d.vertex_count = s->vertex_count;
    d.triangle_count = s->triangle_count;
    d.bone_count = 2;
    d.vertices = s->vertices;
    d.triangles = s->triangles;
    d.offsets = s->offsets;
    d.bones = s->bones;
    d.weights = s->weights;
    return d;
}
