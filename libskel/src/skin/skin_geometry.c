/* SPDX-License-Identifier: BSD-3-Clause */
/* Geometry of a skin: bounding box, welding, areas, volume, and whether the mesh is closed.

   Vertices that are closer than a tolerance are welded: exporters split them at seams of textures
   and normals. A hash table of cells holds the vertices that stay; every other vertex takes the
   lowest index within the tolerance. Weights are not welded: every corner of a triangle keeps its
   own.

   The mesh is closed if its boundary is zero: each edge is used as often from a to b as from b to
   a. The sum of s h(a, b) over all directed edges tells it, with a hash h of the edge without
   direction and s = 1 or -1 for its direction. It vanishes for a closed mesh. Otherwise it does
   not, except by a coincidence of two hashes of 64 bits. */
#include "skin/skin.h"

#define SIZE_MIN 1e-100 /* [length]; its inverse and the cube of it are finite */
#define WELD_TOL 1e-5   /* relative to the size */
#define WELD_CELL 4.0   /* edge of a cell, relative to the tolerance */

/* ---- box and scale ---- */

static void extend_box(skel__skin_build *b, v3 p) {
    b->low = (v3){fmin(b->low.x, p.x), fmin(b->low.y, p.y), fmin(b->low.z, p.z)};
    b->high = (v3){fmax(b->high.x, p.x), fmax(b->high.y, p.y), fmax(b->high.z, p.z)};
}

/* Bounding box of all corners, and the scale that makes its longest edge 0.5 to 1. Returns 0 if the
   box is a point. */
static int find_scale(skel__skin_build *b) {
    const size_t corners = 3 * (size_t)b->d->triangle_count;
    b->low = b->high = v3_of(b->d->vertices + 3 * (size_t)b->d->triangles[0]);
    for (size_t k = 1; k < corners; ++k)
        extend_box(b, v3_of(b->d->vertices + 3 * (size_t)b->d->triangles[k]));

    const v3 edge = v3_sub(b->high, b->low);
    const double size = fmax(edge.x, fmax(edge.y, edge.z));
    if (!(size >= SIZE_MIN)) return 0;

    int exponent;
    frexp(size, &exponent);
    b->unit = ldexp(1.0, exponent);
    b->origin = v3_mad(b->low, 0.5, edge);
    return 1;
}

static void scale_vertices(skel__skin_build *b) {
    for (uint32_t i = 0; i < b->d->vertex_count; ++i) b->weld[i] = -1;

    const size_t corners = 3 * (size_t)b->d->triangle_count;
    for (size_t k = 0; k < corners; ++k) {
        const int32_t i = b->d->triangles[k];
        if (b->weld[i] >= 0) continue;
        b->weld[i] = i;
        b->vertices[i] =
            v3_scale(v3_sub(v3_of(b->d->vertices + 3 * (size_t)i), b->origin), 1 / b->unit);
    }
}

/* ---- welding ---- */

static uint64_t scramble(uint64_t x) {
    x ^= x >> 31;
    x *= 0x7fb5d329728ea185u;
    x ^= x >> 27;
    x *= 0x81dadef4bc2dd44du;
    return x ^ (x >> 33);
}

static uint32_t cell_hash(const skel__skin_build *b, int64_t x, int64_t y, int64_t z) {
    const uint64_t key = ((uint64_t)x << 42) ^ ((uint64_t)y << 21) ^ (uint64_t)z;
    return (uint32_t)scramble(key) & (b->table_size - 1);
}

static int64_t cell_of(double x, double cell) {
    return (int64_t)floor((x + 1.0) / cell); /* -1 < x: never negative */
}

/* The lowest welded vertex within the tolerance of p among those in one cell, or `best`. */
static int32_t nearest_in_cell(const skel__skin_build *b, uint32_t cell, v3 p, double tolerance,
                               int32_t best) {
    for (int32_t k = b->heads[cell]; k >= 0; k = b->next[k]) {
        const v3 apart = v3_sub(b->vertices[k], p);
        if (k < best && v3_dot(apart, apart) <= tolerance * tolerance) best = k;
    }
    return best;
}

/* The vertex that vertex i is welded to; i itself if there is none. */
static int32_t find_weld(const skel__skin_build *b, int32_t i, double tolerance) {
    const double cell = WELD_CELL * tolerance;
    const v3 p = b->vertices[i];
    int32_t best = i;

    for (int64_t x = cell_of(p.x - tolerance, cell); x <= cell_of(p.x + tolerance, cell); ++x)
        for (int64_t y = cell_of(p.y - tolerance, cell); y <= cell_of(p.y + tolerance, cell); ++y)
            for (int64_t z = cell_of(p.z - tolerance, cell); z <= cell_of(p.z + tolerance, cell);
                 ++z)
                best = nearest_in_cell(b, cell_hash(b, x, y, z), p, tolerance, best);
    return best;
}

static void weld_vertices(skel__skin_build *b) {
    const v3 edge = v3_sub(b->high, b->low);
    const double tolerance = WELD_TOL * fmax(edge.x, fmax(edge.y, edge.z)) / b->unit;
    const double cell = WELD_CELL * tolerance;
    for (uint32_t k = 0; k < b->table_size; ++k) b->heads[k] = -1;

    for (int32_t i = 0; i < (int32_t)b->d->vertex_count; ++i) {
        if (b->weld[i] < 0) continue;
        b->weld[i] = find_weld(b, i, tolerance);
        if (b->weld[i] != i) continue;

        const v3 p = b->vertices[i];
        const uint32_t at =
            cell_hash(b, cell_of(p.x, cell), cell_of(p.y, cell), cell_of(p.z, cell));
        b->next[i] = b->heads[at];
        b->heads[at] = i;
    }
}

/* ---- triangles ---- */

static uint64_t edge_sign_hash(int32_t a, int32_t b) {
    const uint64_t hash = a < b ? scramble(((uint64_t)(uint32_t)a << 32) | (uint32_t)b)
                                : scramble(((uint64_t)(uint32_t)b << 32) | (uint32_t)a);
    return a < b ? hash : 0u - hash;
}

static void measure_triangles(skel__skin_build *b) {
    uint64_t boundary = 0;

    for (uint32_t t = 0; t < b->d->triangle_count; ++t) {
        const int32_t *corner = b->d->triangles + 3 * (size_t)t;
        const int32_t i = b->weld[corner[0]], j = b->weld[corner[1]], k = b->weld[corner[2]];
        if (i == j || j == k || k == i) continue; /* its edges cancel each other */

        const v3 p = b->vertices[i], q = b->vertices[j], r = b->vertices[k];
        b->area += 0.5 * v3_norm(v3_cross(v3_sub(q, p), v3_sub(r, p)));
        b->volume += v3_dot(p, v3_cross(q, r)) / 6.0;
        boundary += edge_sign_hash(i, j) + edge_sign_hash(j, k) + edge_sign_hash(k, i);

        b->cumulative[b->kept_count] = b->area;
        b->kept[b->kept_count++] = (int32_t)t;
    }
    b->is_closed = boundary == 0 && b->kept_count > 0;
}

int skel__skin_geometry(skel__skin_build *b) {
    if (!find_scale(b)) return 0;
    scale_vertices(b);
    weld_vertices(b);
    measure_triangles(b);
    return b->area > 0;
}
