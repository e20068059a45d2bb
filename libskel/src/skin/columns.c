/* SPDX-License-Identifier: BSD-3-Clause */
/* The volume inside a skin, shared among bodies.

   Vertical columns cut the skin. The crossings of a column with the triangles are exact in z. From
   below, the winding number changes by -1 where the surface faces up and by +1 where it faces down;
   the pieces with a positive winding number are inside. They are cut where another sample becomes
   the nearest, and each belongs to the body of its sample.

   Whether a column passes a triangle is decided by its edges, in the plane z = 0: an edge from a to
   b counts if a.y <= y < b.y or b.y <= y < a.y, and if it lies at larger x. Its place x is computed
   from the vertex with the lower index, so that two triangles agree about their common edge. Then
   the crossings of a closed mesh add up to zero in every column, whatever rounding does. */
#include "base/alloc.h"
#include "base/carve.h"
#include "skin/skin.h"

#include <string.h>

#define COLUMNS 110 /* per side of the bounding box */
#define COLUMN_COUNT (COLUMNS * COLUMNS)
#define CROSSINGS_MAX 50000000 /* a skin of more than 4000 layers is refused */

/* Workspace of one call. */
typedef struct columns {
    skel_fit *f;
    v3 low;                 /* corner of the bounding box */
    double height;          /* of the bounding box */
    double dx, dy;          /* edges of a column */
    double orientation;     /* -1: the mesh is turned inside out */
    int32_t *first;         /* (COLUMN_COUNT + 1) first crossing of a column */
    skel__keyed *crossings; /* key: z, value: 1 if the surface faces up, -1 if down */
    skel__keyed *buffer;    /* for sorting */
    int32_t total, deepest; /* crossings of all columns, and of one column at most */
    v3 *points;             /* (2 x sample_count) of the next */
    int32_t *tags;          /* (2 x sample_count) of the next */
    skel__along along;      /* samples that have a body; the tags are leads */
    int32_t used, open;     /* columns with crossings; those that do not add up to zero */
} columns;

static double column_x(const columns *c, int32_t i) {
    return c->low.x + (i + 0.5) * c->dx;
}
static double column_y(const columns *c, int32_t j) {
    return c->low.y + (j + 0.5) * c->dy;
}

/* ---- crossings ---- */

/* A crossing is counted first, and stored in the second pass. */
static void add_crossing(columns *c, int32_t column, double z, double sign) {
    if (c->crossings) c->crossings[c->first[column]] = (skel__keyed){z, sign};
    ++c->first[column];
    ++c->total;
}

/* The crossings of a triangle with the row of columns at y. p: its corners, i: their indices. */
static void cross_row(columns *c, const v3 p[3], const int32_t i[3], v3 normal, int32_t row) {
    const double y = column_y(c, row);
    double x_up = 0, x_down = 0;
    int found = 0;
    for (int k = 0; k < 3; ++k) {
        const int l = (k + 1) % 3;
        if ((p[k].y <= y) == (p[l].y <= y)) continue;
        const v3 a = i[k] < i[l] ? p[k] : p[l], b = i[k] < i[l] ? p[l] : p[k];
        const double x = a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x);
        if (p[k].y <= y)
            x_up = x;
        else
            x_down = x;
        ++found;
    }
    if (found != 2 || x_up == x_down) return;

    /* Columns from the lower x on, up to but without the higher. */
    const double sign = x_up > x_down ? 1 : -1;
    const double from = fmin(x_up, x_down), to = fmax(x_up, x_down);
    const double z_low = fmin(p[0].z, fmin(p[1].z, p[2].z));
    const double z_high = fmax(p[0].z, fmax(p[1].z, p[2].z));
    int32_t k = (int32_t)fmax(0, floor((from - c->low.x) / c->dx - 1));
    while (k < COLUMNS && column_x(c, k) < from) ++k;
    for (; k < COLUMNS && column_x(c, k) < to; ++k) {
        const double rise = normal.x * (column_x(c, k) - p[0].x) + normal.y * (y - p[0].y);
        const double z = normal.z != 0 ? p[0].z - rise / normal.z : z_low;
        add_crossing(c, row * COLUMNS + k, fmin(z_high, fmax(z_low, z)), sign);
    }
}

/* All crossings of the mesh. Returns 0 if there are too many. */
static int cross_mesh(columns *c) {
    const skel_fit *f = c->f;
    c->total = 0;
    for (int32_t t = 0; t < f->triangle_count; ++t) {
        const int32_t *i = f->triangles + 3 * (size_t)t;
        const v3 p[3] = {f->vertices[i[0]], f->vertices[i[1]], f->vertices[i[2]]};
        const v3 normal = v3_cross(v3_sub(p[1], p[0]), v3_sub(p[2], p[0]));
        const double y_low = fmin(p[0].y, fmin(p[1].y, p[2].y));
        const double y_high = fmax(p[0].y, fmax(p[1].y, p[2].y));

        int32_t row = (int32_t)fmax(0, floor((y_low - c->low.y) / c->dy - 1));
        for (; row < COLUMNS && column_y(c, row) < y_high; ++row) cross_row(c, p, i, normal, row);
        if (c->total > CROSSINGS_MAX) return 0;
    }
    return 1;
}

/* ---- pieces ---- */

/* Adds a piece of the present column inside the skin. */
static void add_piece(columns *c, double x, double y, double from, double to) {
    const skel__along *a = &c->along;
    for (int32_t k = 0; k < a->used && a->parts[k].start < to; ++k) {
        const double low = fmax(from, a->parts[k].start);
        const double high = k + 1 < a->used ? fmin(to, a->parts[k + 1].start) : to;
        if (!(low < high)) continue;

        double *sums = c->f->bone_sums + 4 * (size_t)a->parts[k].tag;
        const double volume = (high - low) * c->dx * c->dy;
        sums[0] += volume;
        sums[1] += volume * x;
        sums[2] += volume * y;
        sums[3] += volume * 0.5 * (low + high);
    }
}

static void add_column(columns *c, int32_t column) {
    skel__keyed *crossing = c->crossings + c->first[column];
    const int32_t count = c->first[column + 1] - c->first[column];
    if (count == 0) return;
    skel__sort_keyed(crossing, c->buffer, (size_t)count);

    double sum = 0;
    for (int32_t k = 0; k < count; ++k) sum += crossing[k].value;
    ++c->used;
    c->open += sum != 0;

    /* The winding number from below. In an open column every second piece is taken instead. */
    const double x = column_x(c, column % COLUMNS), y = column_y(c, column / COLUMNS);
    skel__along_line(&c->along, x, y);
    double winding = 0;
    for (int32_t k = 0; k + 1 < count; ++k) {
        winding -= c->orientation * crossing[k].value;
        const int is_inside = sum != 0 ? k % 2 == 0 : winding > 0;
        if (is_inside) add_piece(c, x, y, crossing[k].key, crossing[k + 1].key);
    }
}

/* ---- memory ---- */

static size_t columns_layout(columns *c, void *base) {
    skel__carver carver = {base, 0};
    const size_t samples = (size_t)c->f->sample_count;
    c->crossings = skel__carve(&carver, (size_t)c->total, sizeof *c->crossings);
    c->buffer = skel__carve(&carver, (size_t)c->deepest, sizeof *c->buffer);
    c->points = skel__carve(&carver, 2 * samples, sizeof *c->points);
    c->tags = skel__carve(&carver, 2 * samples, sizeof *c->tags);
    c->along.layer = skel__carve(&carver, SKEL__ALONG_LAYERS + 1, sizeof *c->along.layer);
    c->along.parts = skel__carve(&carver, SKEL__ALONG_LAYERS, sizeof *c->along.parts);
    return carver.used;
}

static void sort_samples(columns *c) {
    const skel_fit *f = c->f;
    c->along.points = c->points;
    c->along.tags = c->tags;
    for (int32_t i = 0; i < f->sample_count; ++i) {
        if (f->lead[i] < 0) continue;
        c->points[c->along.count] = f->samples[i];
        c->tags[c->along.count++] = f->lead[i];
    }
    skel__along_sort(&c->along, c->low.z, c->height, c->points + f->sample_count,
                     c->tags + f->sample_count);
}

/* Turns counts into the first index of every column. */
static void add_up_counts(columns *c) {
    int32_t at = 0;
    for (int32_t k = 0; k < COLUMN_COUNT; ++k) {
        const int32_t count = c->first[k];
        if (count > c->deepest) c->deepest = count;
        c->first[k] = at;
        at += count;
    }
    c->first[COLUMN_COUNT] = at;
}

/* Counts, stores and adds up. f->bone_sums receives volume and moments of every lead. */
static skel_status measure(columns *c) {
    memset(c->first, 0, (COLUMN_COUNT + 1) * sizeof *c->first);
    if (!cross_mesh(c)) return SKEL_E_TOO_LARGE;
    add_up_counts(c);

    void *block = skel__alloc_unset(&c->f->allocator, columns_layout(c, NULL));
    if (!block) return SKEL_E_MEMORY;
    columns_layout(c, block);
    sort_samples(c);

    /* The second pass moves every first index to the end of its column, and then back. */
    cross_mesh(c);
    for (int32_t k = COLUMN_COUNT; k > 0; --k) c->first[k] = c->first[k - 1];
    c->first[0] = 0;
    if (c->along.count > 0)
        for (int32_t k = 0; k < COLUMN_COUNT; ++k) add_column(c, k);

    skel__free(&c->f->allocator, block);
    return SKEL_OK;
}

static void export_volumes(const skel_fit *f, double *volumes, double *centres) {
    memset(volumes, 0, (size_t)f->body_count * sizeof *volumes);
    memset(centres, 0, 3 * (size_t)f->body_count * sizeof *centres);
    for (int32_t i = 0; i < f->bone_count; ++i) {
        const double *sums = f->bone_sums + 4 * (size_t)i;
        if (f->lead_of_bone[i] != i || !(sums[0] > 0)) continue;
        const size_t body = (size_t)f->body_of_bone[i];
        volumes[body] = sums[0] * f->unit * f->unit * f->unit;
        v3_to(skel__skin_outside(f, v3_scale(v3_of(sums + 1), 1 / sums[0])), centres + 3 * body);
    }
}

skel_status skel_fit_get_volumes(skel_fit *fit, double *volumes, double *centres,
                                 double *open_share) {
    if (!fit || (fit->body_count > 0 && (!volumes || !centres))) return SKEL_E_ARGUMENT;

    columns c = {.f = fit, .orientation = fit->volume < 0 ? -1 : 1};
    const v3 edge = v3_scale(v3_sub(fit->high, fit->low), 1 / fit->unit);
    c.low = v3_scale(v3_sub(fit->low, fit->origin), 1 / fit->unit);
    c.dx = edge.x / COLUMNS;
    c.dy = edge.y / COLUMNS;
    c.height = edge.z;

    /* A flat skin has no volume. */
    memset(fit->bone_sums, 0, 4 * (size_t)fit->bone_count * sizeof *fit->bone_sums);
    skel_status status = SKEL_OK;
    if (edge.x > 0 && edge.y > 0 && edge.z > 0) {
        c.first = skel__alloc_unset(&fit->allocator, (COLUMN_COUNT + 1) * sizeof *c.first);
        if (!c.first) return SKEL_E_MEMORY;
        status = measure(&c);
        skel__free(&fit->allocator, c.first);
    }
    if (status != SKEL_OK) return status;

    export_volumes(fit, volumes, centres);
    if (open_share) *open_share = c.used > 0 ? (double)c.open / c.used : 0;
    return SKEL_OK;
}
