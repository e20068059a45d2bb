/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation of a skin: checks of the desc, the block of memory, the tables of bones and samples.

   A scratch block holds what is needed during the creation only. The number of weights of all
   samples and the number of pairs of bones are counted in it, so that the object has one block of
   the exact size. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "skin/skin.h"

#include <string.h>

#define FIT_WEIGHT_MAX 1e100 /* a sum of weights is still finite */

_Static_assert(SKEL_FIT_COUNT_MAX < 1 << 24, "base of keys");
_Static_assert(sizeof(skel_fit_desc) == offsetof(skel_fit_desc, allocator) + sizeof(void *),
               "tail padding");
_Static_assert(sizeof(skel_fit_info) == offsetof(skel_fit_info, volume) + sizeof(double),
               "tail padding");
static const skel_fit_desc k_desc = {.struct_size = sizeof k_desc};

void skel_fit_desc_init_sized(skel_fit_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

/* ---- checks ---- */

static skel_status check_count(const char *name, uint32_t count, skel_error *err) {
    if (count > 0 && count <= SKEL_FIT_COUNT_MAX) return SKEL_OK;
    return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "%s: is %u, must be 1 to %d", name, count,
                      SKEL_FIT_COUNT_MAX);
}

static skel_status check_counts(const skel_fit_desc *d, skel_error *err) {
    SKEL__CHECK(check_count("vertex_count", d->vertex_count, err));
    SKEL__CHECK(check_count("triangle_count", d->triangle_count, err));
    SKEL__CHECK(check_count("bone_count", d->bone_count, err));
    if (d->sample_count > SKEL_FIT_SAMPLES_MAX)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "sample_count: is %u, must be 0 to %d",
                          d->sample_count, SKEL_FIT_SAMPLES_MAX);
    if (d->reserved != 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "reserved: is %u, must be 0", d->reserved);
    if (!d->vertices || !d->triangles || !d->offsets)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "vertices, triangles and offsets: one is NULL, must be given");
    return SKEL_OK;
}

static skel_status check_mesh(const skel_fit_desc *d, skel_error *err) {
    for (size_t k = 0; k < 3 * (size_t)d->vertex_count; ++k)
        if (!(fabs(d->vertices[k]) <= SKEL__SKIN_COORDINATE_MAX))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "vertices[%zu]: is %g, must be finite and at most %g", k,
                              d->vertices[k], SKEL__SKIN_COORDINATE_MAX);
    for (size_t k = 0; k < 3 * (size_t)d->triangle_count; ++k)
        if (d->triangles[k] < 0 || d->triangles[k] >= (int32_t)d->vertex_count)
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "triangles[%zu]: is %d, must be the index of a vertex (0 to %u)", k,
                              d->triangles[k], d->vertex_count - 1);
    return SKEL_OK;
}

static skel_status check_weights(const skel_fit_desc *d, skel_error *err) {
    if (d->offsets[0] != 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "offsets[0]: is %d, must be 0",
                          d->offsets[0]);
    for (uint32_t i = 0; i < d->vertex_count; ++i)
        if (d->offsets[i + 1] < d->offsets[i])
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "offsets[%u]: is %d, must be at least %d, the one before", i + 1,
                              d->offsets[i + 1], d->offsets[i]);

    const int32_t count = d->offsets[d->vertex_count];
    if (count > 0 && (!d->bones || !d->weights))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "bones and weights: one is NULL, must have %d entries", count);
    for (int32_t k = 0; k < count; ++k) {
        if (d->bones[k] < 0 || d->bones[k] >= (int32_t)d->bone_count)
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "bones[%d]: is %d, must be the index of a bone (0 to %u)", k,
                              d->bones[k], d->bone_count - 1);
        if (!(d->weights[k] >= 0 && d->weights[k] <= FIT_WEIGHT_MAX))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "weights[%d]: is %g, must be 0 to %g",
                              k, d->weights[k], FIT_WEIGHT_MAX);
    }
    return SKEL_OK;
}

static skel_status check_desc(const skel_fit_desc *d, skel_error *err) {
    SKEL__CHECK(check_counts(d, err));
    SKEL__CHECK(check_mesh(d, err));
    return check_weights(d, err);
}

/* ---- memory ---- */

static size_t build_layout(skel__skin_build *b, void *base) {
    const size_t vertices = b->d->vertex_count, triangles = b->d->triangle_count;
    const size_t weights = (size_t)b->d->offsets[vertices];
    skel__carver c = {base, 0};
    b->vertices = skel__carve(&c, vertices, sizeof *b->vertices);
    b->weld = skel__carve(&c, vertices, sizeof *b->weld);
    b->next = skel__carve(&c, vertices, sizeof *b->next);
    b->heads = skel__carve(&c, b->table_size, sizeof *b->heads);
    b->kept = skel__carve(&c, triangles, sizeof *b->kept);
    b->cumulative = skel__carve(&c, triangles, sizeof *b->cumulative);
    b->first = skel__carve(&c, vertices + 1, sizeof *b->first);
    b->bones = skel__carve(&c, weights, sizeof *b->bones);
    b->weights = skel__carve(&c, weights, sizeof *b->weights);
    return c.used;
}

static size_t fit_layout(skel_fit *f, size_t row_entries, void *base) {
    const size_t samples = (size_t)f->sample_count, bones = (size_t)f->bone_count;
    const size_t pairs = (size_t)f->pair_count;
    skel__carver c = {base, 0};
    skel__carve(&c, 1, sizeof *f);
    f->vertices = skel__carve(&c, (size_t)f->vertex_count, sizeof *f->vertices);
    f->triangles = skel__carve(&c, 3 * (size_t)f->triangle_count, sizeof *f->triangles);
    f->shares = skel__carve(&c, bones, sizeof *f->shares);
    f->pairs = skel__carve(&c, 2 * pairs, sizeof *f->pairs);
    f->pair_shares = skel__carve(&c, pairs, sizeof *f->pair_shares);
    f->samples = skel__carve(&c, samples, sizeof *f->samples);
    f->row = skel__carve(&c, samples + 1, sizeof *f->row);
    f->row_bones = skel__carve(&c, row_entries, sizeof *f->row_bones);
    f->row_weights = skel__carve(&c, row_entries, sizeof *f->row_weights);
    f->strongest = skel__carve(&c, samples, sizeof *f->strongest);
    f->body_of_bone = skel__carve(&c, bones, sizeof *f->body_of_bone);
    f->lead_of_bone = skel__carve(&c, bones, sizeof *f->lead_of_bone);
    f->lead = skel__carve(&c, samples, sizeof *f->lead);
    f->bone_sums = skel__carve(&c, 4 * bones, sizeof *f->bone_sums);
    f->bone_keys = skel__carve(&c, 2 * bones, sizeof *f->bone_keys);
    f->points = skel__carve(&c, samples, sizeof *f->points);
    f->numbers = skel__carve(&c, 2 * samples, sizeof *f->numbers);
    return c.used;
}

/* ---- tables ---- */

/* Numbers of entries of the rows of all samples, and of pairs of entries of the same row. */
static void count_rows(const skel__skin_build *b, int32_t sample_count, size_t *entries,
                       size_t *pairs) {
    skel__skin_sample sample;
    int32_t at = 0;
    *entries = 0;
    *pairs = 0;
    for (int32_t i = 0; i < sample_count; ++i) {
        skel__skin_sample_at(b, i, sample_count, &at, &sample);
        *entries += (size_t)sample.count;
        *pairs += (size_t)sample.count * (size_t)(sample.count > 0 ? sample.count - 1 : 0) / 2;
    }
}

/* min(w_a, w_b) of all samples and pairs of bones a < b, sorted by pairs and added up. Returns the
   number of pairs. */
static int32_t collect_pairs(const skel__skin_build *b, int32_t sample_count, skel__keyed *keys,
                             skel__keyed *buffer) {
    skel__skin_sample sample;
    int32_t at = 0;
    size_t count = 0;
    for (int32_t i = 0; i < sample_count; ++i) {
        skel__skin_sample_at(b, i, sample_count, &at, &sample);
        for (int32_t k = 0; k < sample.count; ++k)
            for (int32_t l = k + 1; l < sample.count; ++l)
                keys[count++] =
                    (skel__keyed){sample.bones[k] * SKEL__SKIN_KEY_BASE + sample.bones[l],
                                  fmin(sample.weights[k], sample.weights[l]) / sample_count};
    }
    skel__sort_keyed(keys, buffer, count);

    /* Weights that vanish by interpolation are no shared skin. */
    int32_t used = 0;
    for (size_t k = 0; k < count; ++k) {
        if (!(keys[k].value > 0)) continue;
        if (used > 0 && keys[used - 1].key == keys[k].key)
            keys[used - 1].value += keys[k].value;
        else
            keys[used++] = keys[k];
    }
    return used;
}

static void fill_pairs(skel_fit *f, const skel__keyed *keys) {
    for (int32_t k = 0; k < f->pair_count; ++k) {
        const double a = floor(keys[k].key / SKEL__SKIN_KEY_BASE);
        f->pairs[2 * k] = (int32_t)a;
        f->pairs[2 * k + 1] = (int32_t)(keys[k].key - a * SKEL__SKIN_KEY_BASE);
        f->pair_shares[k] = keys[k].value;
    }
}

/* A weight that is linear on a triangle has the mean of its corners. */
static void fill_mesh(skel_fit *f, const skel__skin_build *b) {
    double before = 0;
    for (int32_t t = 0; t < b->kept_count; ++t) {
        const double area = b->cumulative[t] - before;
        before = b->cumulative[t];
        for (int c = 0; c < 3; ++c) {
            const int32_t i = b->d->triangles[3 * (size_t)b->kept[t] + (size_t)c];
            f->triangles[3 * t + c] = b->weld[i];
            for (int32_t k = b->first[i]; k < b->first[i + 1]; ++k)
                f->shares[b->bones[k]] += area / 3.0 / b->area * b->weights[k];
        }
    }
    for (int32_t i = 0; i < f->vertex_count; ++i)
        if (b->weld[i] == i) f->vertices[i] = b->vertices[i];
}

static void fill_samples(skel_fit *f, const skel__skin_build *b) {
    skel__skin_sample sample;
    int32_t at = 0, used = 0;
    for (int32_t i = 0; i < f->sample_count; ++i) {
        skel__skin_sample_at(b, i, f->sample_count, &at, &sample);
        f->samples[i] = sample.point;
        f->row[i] = used;

        double largest = 0;
        f->strongest[i] = -1;
        for (int32_t k = 0; k < sample.count; ++k) {
            f->row_bones[used] = sample.bones[k];
            f->row_weights[used++] = sample.weights[k];
            if (!(sample.weights[k] > largest)) continue;
            largest = sample.weights[k];
            f->strongest[i] = sample.bones[k];
        }
    }
    f->row[f->sample_count] = used;
}

/* ---- creation ---- */

/* Makes the object from the finished scratch block. */
static skel_status make_fit(const skel__skin_build *b, const skel_allocator *a, skel_fit **out) {
    skel_fit shape = {.allocator = *a,
                      .vertex_count = (int32_t)b->d->vertex_count,
                      .triangle_count = b->kept_count,
                      .bone_count = (int32_t)b->d->bone_count,
                      .sample_count = (int32_t)b->d->sample_count,
                      .is_closed = b->is_closed,
                      .unit = b->unit,
                      .origin = b->origin,
                      .low = b->low,
                      .high = b->high,
                      .area = b->area,
                      .volume = b->volume};

    /* The pairs, in a block of their own that is given back. */
    size_t entries, events;
    count_rows(b, shape.sample_count, &entries, &events);
    skel__keyed *keys = skel__alloc_unset(a, (2 * events + 1) * sizeof *keys);
    if (!keys) return SKEL_E_MEMORY;
    shape.pair_count = collect_pairs(b, shape.sample_count, keys, keys + events);

    /* The object. */
    unsigned char *block = skel__alloc(a, fit_layout(&shape, entries, NULL));
    if (block) {
        fit_layout(&shape, entries, block);
        skel_fit *f = (skel_fit *)(void *)block;
        *f = shape;
        fill_mesh(f, b);
        fill_pairs(f, keys);
        fill_samples(f, b);
        for (int32_t i = 0; i < f->bone_count; ++i) f->body_of_bone[i] = f->lead_of_bone[i] = -1;
        for (int32_t i = 0; i < f->sample_count; ++i) f->lead[i] = -1;
        *out = f;
    }
    skel__free(a, keys);
    return block ? SKEL_OK : SKEL_E_MEMORY;
}

static skel_status build_fit(const skel_fit_desc *d, const skel_allocator *a, skel_fit **out,
                             skel_error *err) {
    skel__skin_build b = {.d = d, .table_size = 1};
    while (b.table_size < d->vertex_count) b.table_size *= 2;

    void *scratch = skel__alloc_unset(a, build_layout(&b, NULL));
    if (!scratch)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for a skin of %u triangles",
                          d->triangle_count);
    build_layout(&b, scratch);

    skel_status status = SKEL_OK;
    if (!skel__skin_geometry(&b)) {
        status = skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                            "triangles: %u without area, at least one must have an area",
                            d->triangle_count);
    } else {
        skel__skin_weights(&b);
        status = make_fit(&b, a, out);
        if (status != SKEL_OK)
            skel__fail(err, status, -1, -1, "no memory for a skin of %u triangles",
                       d->triangle_count);
    }
    skel__free(a, scratch);
    return status;
}

skel_status skel_fit_create(const skel_fit_desc *desc, skel_fit **out, skel_error *err) {
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;
    if (!desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");

    skel_fit_desc d = k_desc;
    skel_status status = skel__desc_import(&d, sizeof d, sizeof d, desc);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1,
                          "struct_size: is %u, must be set by skel_fit_desc_init",
                          desc->struct_size);

    skel_allocator a;
    status = skel__allocator_import(&a, d.allocator);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1,
                          "allocator: lacks a function, must have all of them");

    SKEL__CHECK(check_desc(&d, err));
    if (d.sample_count == 0) d.sample_count = SKEL_FIT_SAMPLES;
    return build_fit(&d, &a, out, err);
}

void skel_fit_destroy(skel_fit *fit) {
    if (!fit) return;
    const skel_allocator a = fit->allocator;
    skel__free(&a, fit);
}

skel_status skel_fit_get_info(const skel_fit *fit, skel_fit_info *out) {
    if (!fit || !out) return SKEL_E_ARGUMENT;
    const v3 edge = v3_sub(fit->high, fit->low);
    skel_fit_info info = {.struct_size = sizeof info,
                          .is_closed = fit->is_closed,
                          .sample_count = (uint32_t)fit->sample_count,
                          .pair_count = (uint32_t)fit->pair_count,
                          .size = fmax(edge.x, fmax(edge.y, edge.z)),
                          .area = fit->area * fit->unit * fit->unit,
                          .volume = fit->volume * fit->unit * fit->unit * fit->unit};
    v3_to(fit->low, info.low);
    v3_to(fit->high, info.high);
    return skel__desc_export(out, &info, sizeof info, sizeof info);
}
