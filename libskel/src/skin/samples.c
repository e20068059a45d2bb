/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights of vertices, and samples spread evenly over a skin.

   The triangles stand one after the other on a line, each as long as its area. Sample i of n lies
   at (i + 1/2) / n of the line, which gives its triangle. Its place within the triangle is point i
   of the sequence (i / g, i / g^2) mod 1 with g^3 = g + 1, which fills the unit square evenly. It
   is computed with integers, so that it is the same everywhere. */
#include "skin/skin.h"

#define SAMPLE_STEP_U 0xc13fa9a902a6328fu /* 2^64 / g */
#define SAMPLE_STEP_V 0x91e10da5c79e7b1cu /* 2^64 / g^2 */
#define SAMPLE_UNIT 0x1p-53

/* ---- weights of vertices ---- */

/* Keeps the SKEL_FIT_WEIGHTS largest of the weights of a row, in their order. Returns how many. */
static int32_t keep_largest(int32_t *bones, double *weights, int32_t count) {
    while (count > SKEL_FIT_WEIGHTS) {
        int32_t least = 0;
        for (int32_t k = 1; k < count; ++k)
            if (weights[k] <= weights[least]) least = k;
        --count;
        for (int32_t k = least; k < count; ++k) {
            bones[k] = bones[k + 1];
            weights[k] = weights[k + 1];
        }
    }
    return count;
}

/* Adds a weight to a row. Returns the new number of entries. */
static int32_t add_weight(int32_t *bones, double *weights, int32_t count, int32_t bone,
                          double weight) {
    for (int32_t k = 0; k < count; ++k) {
        if (bones[k] != bone) continue;
        weights[k] += weight;
        return count;
    }
    bones[count] = bone;
    weights[count] = weight;
    return count + 1;
}

/* Reads the weights of vertex i into a row with room for one more than SKEL_FIT_WEIGHTS. */
static int32_t read_row(const skel_fit_desc *d, uint32_t i, int32_t *bones, double *weights) {
    int32_t count = 0;
    for (int32_t k = d->offsets[i]; k < d->offsets[i + 1]; ++k) {
        if (!(d->weights[k] > 0)) continue;
        count = add_weight(bones, weights, count, d->bones[k], d->weights[k]);
        count = keep_largest(bones, weights, count);
    }
    return count;
}

void skel__skin_weights(skel__skin_build *b) {
    int32_t used = 0;
    for (uint32_t i = 0; i < b->d->vertex_count; ++i) {
        int32_t bones[SKEL_FIT_WEIGHTS + 1];
        double weights[SKEL_FIT_WEIGHTS + 1];
        const int32_t count = read_row(b->d, i, bones, weights);

        /* Divided by the largest first: the sum of huge weights would overflow. */
        double largest = 0, sum = 0;
        for (int32_t k = 0; k < count; ++k) largest = fmax(largest, weights[k]);
        for (int32_t k = 0; k < count; ++k) sum += weights[k] / largest;

        b->first[i] = used;
        for (int32_t k = 0; k < count; ++k) {
            b->bones[used] = bones[k];
            b->weights[used++] = weights[k] / largest / sum;
        }
    }
    b->first[b->d->vertex_count] = used;
}

/* ---- samples ---- */

/* Sorts a row by bones. */
static void sort_row(int32_t *bones, double *weights, int32_t count) {
    for (int32_t i = 1; i < count; ++i) {
        const int32_t bone = bones[i];
        const double weight = weights[i];
        int32_t k = i;
        for (; k > 0 && bones[k - 1] > bone; --k) {
            bones[k] = bones[k - 1];
            weights[k] = weights[k - 1];
        }
        bones[k] = bone;
        weights[k] = weight;
    }
}

void skel__skin_sample_at(const skel__skin_build *b, int32_t index, int32_t count, int32_t *at,
                          skel__skin_sample *out) {
    /* The triangle. */
    const double place = (index + 0.5) / count * b->area;
    while (*at < b->kept_count - 1 && b->cumulative[*at] <= place) ++*at;
    const int32_t *corner = b->d->triangles + 3 * (size_t)b->kept[*at];

    /* A point of the unit square, folded into the half that the triangle is. */
    const uint64_t number = (uint64_t)index + 1;
    double u = (double)(number * SAMPLE_STEP_U >> 11) * SAMPLE_UNIT;
    double v = (double)(number * SAMPLE_STEP_V >> 11) * SAMPLE_UNIT;
    if (u + v > 1) {
        u = 1 - u;
        v = 1 - v;
    }
    const double part[3] = {1 - u - v, u, v};

    /* Point and weights between the corners. */
    out->point = (v3){0, 0, 0};
    out->count = 0;
    for (int c = 0; c < 3; ++c) {
        out->point = v3_mad(out->point, part[c], b->vertices[b->weld[corner[c]]]);
        for (int32_t k = b->first[corner[c]]; k < b->first[corner[c] + 1]; ++k)
            out->count = add_weight(out->bones, out->weights, out->count, b->bones[k],
                                    part[c] * b->weights[k]);
    }
    out->count = keep_largest(out->bones, out->weights, out->count);
    sort_row(out->bones, out->weights, out->count);
}
