/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction of keys at every sample to few keys with Bezier handles.

   Handles at a third of the way between two keys make a Bezier segment a cubic in time. With
   u from 0 to 1 and the chord d = v1 - v0,
     p(u) = v0 + d u + e0 u (1 - u)^2 - e1 u^2 (1 - u),
   where d + e0 and d + e1 are the slopes at its ends. Key values are samples; e0 and e1 are fitted
   to the samples between by least squares, each channel by itself. Segments do not depend on each
   other, so taking the longest segment from key to key gives the fewest keys. Its length is found
   by doubling and bisection, O(n log n) in all. A segment with two samples between its keys always
   fits, because the cubic passes through both.

   Afterwards keys whose two slopes can be made equal within the tolerance get one slope. At impacts
   they keep two: a corner. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"

#include <skel/skel_channels.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define KEYS_CHANNELS_MAX 4
#define KEYS_SHARE 0.99          /* of the tolerance; the rest is left to the host's arithmetic */
#define KEYS_ROUNDING 4.0        /* float epsilons of the largest value: the host's arithmetic */
#define KEYS_CONSTANT_SHARE 0.25 /* of the tolerance: a channel that moves less has one key */
#define KEYS_FIRST_PROBE 3u      /* samples: the cubic passes through those between */
#define KEYS_TURN_MIN 1e-6       /* length of a quaternion or axis that has a direction */
#define KEYS_ASIN_CUBIC 0.5708   /* asin s <= s + (pi/2 - 1) s^3 for 0 <= s <= 1 */
#define KEYS_FLOATS_MAX (SIZE_MAX / sizeof(float))

_Static_assert(sizeof(skel_keys_desc) ==
                   offsetof(skel_keys_desc, allocator) + sizeof(const skel_allocator *),
               "tail padding");
static const skel_keys_desc k_keys = {.struct_size = sizeof k_keys, .kind = SKEL_KEYS_VECTOR};

void skel_keys_desc_init_sized(skel_keys_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_keys, sizeof k_keys);
}

/* The middle axis of Euler angles by SKEL_ROTATION_*: XYZ, XZY, YXZ, YZX, ZXY, ZYX. */
static const int k_middle[] = {-1, 1, 2, 0, 2, 0, 1};

typedef struct reduction {
    skel_keys_desc d;
    double limit;                       /* largest error, without what is left to the host */
    double constant[KEYS_CHANNELS_MAX]; /* value of a channel that is constant */
    int is_constant[KEYS_CHANNELS_MAX];
    float *out;         /* [channel][key_count][SKEL_KEY_NUMBERS] */
    uint32_t *samples;  /* [key] sample of each key that stays */
    uint32_t key_count; /* keys that stay */
} reduction;

/* A Bezier segment as the host has it: control points rounded to float. */
typedef struct segment {
    uint32_t first, last; /* samples */
    double frames[4];
    double values[KEYS_CHANNELS_MAX][4];
} segment;

static double frame_at(const reduction *r, uint32_t sample) {
    return r->d.keys[2 * (size_t)sample];
}
static double value_at(const reduction *r, uint32_t channel, uint32_t sample) {
    return r->d.keys[2 * ((size_t)channel * r->d.key_count + sample) + 1];
}
static float *row_at(const reduction *r, uint32_t channel, uint32_t key) {
    return r->out + SKEL_KEY_NUMBERS * ((size_t)channel * r->d.key_count + key);
}

/* ---- errors ---- */

/* An upper bound of asin that needs no library function. */
static double asin_bound(double s) {
    return s < 1 ? s * (1 + KEYS_ASIN_CUBIC * s * s) : HUGE_VAL;
}

/* The angle between two vectors of n numbers that are nearly equal: the part of their difference
   across `want` gives its sine. Lengths do not matter. */
static double angle_between(const double *got, const double *want, int n) {
    double length2 = 0, along = 0, got2 = 0, across2 = 0;
    for (int k = 0; k < n; ++k) {
        length2 += want[k] * want[k];
        got2 += got[k] * got[k];
        along += (got[k] - want[k]) * want[k];
    }
    if (!(length2 > KEYS_TURN_MIN * KEYS_TURN_MIN) || !(length2 + along > 0)) return HUGE_VAL;

    for (int k = 0; k < n; ++k) {
        const double across = got[k] - want[k] - along / length2 * want[k];
        across2 += across * across;
    }
    return asin_bound(sqrt(across2 / got2));
}

/* An upper bound of the error of channels: a distance, or an angle between two rotations.
   Quaternion: twice the angle between the two as vectors of four numbers.
   Euler angles: the middle axis is at right angles to the outer and to the inner axis. On the
   straight path from one triple to the other the angular velocity is therefore at most
   sqrt(d_middle^2 + (|d_outer| + |d_inner|)^2), and so is the angle.
   Axis and angle: if the axis turns by x, a rotation by a turns by 2 |sin(a/2)| x, which is at most
   min(2, |a|) x. */
static double error_of(int32_t kind, uint32_t count, const double *got, const double *want) {
    double d[KEYS_CHANNELS_MAX] = {0};
    for (uint32_t c = 0; c < count; ++c) d[c] = fabs(got[c] - want[c]);

    if (kind == SKEL_ROTATION_QUATERNION) return 2 * angle_between(got, want, 4);
    if (kind == SKEL_ROTATION_AXIS_ANGLE)
        return d[0] +
               fmin(2, fmax(fabs(got[0]), fabs(want[0]))) * angle_between(got + 1, want + 1, 3);
    if (kind == SKEL_KEYS_VECTOR)
        return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3]);

    const int middle = k_middle[kind];
    const double others = d[0] + d[1] + d[2] - d[middle];
    return sqrt(d[middle] * d[middle] + others * others);
}

static int is_near(const reduction *r, uint32_t sample, const double *got) {
    double want[KEYS_CHANNELS_MAX];
    for (uint32_t c = 0; c < r->d.channel_count; ++c) want[c] = value_at(r, c, sample);
    return error_of(r->d.kind, r->d.channel_count, got, want) <= r->limit;
}

/* ---- segments ---- */

/* The Bezier parameter of a frame. Time is linear in it but for the rounding of the handles, which
   is a few 1e-3 at most: Newton's method from the linear guess converges in two steps. */
static double parameter_at(const double x[4], double frame) {
    const double c1 = 3 * (x[1] - x[0]), c2 = 3 * (x[0] - 2 * x[1] + x[2]);
    const double c3 = x[3] - x[0] + 3 * (x[1] - x[2]);
    double t = (frame - x[0]) / (x[3] - x[0]);

    for (int k = 0; k < 2; ++k) {
        const double off = x[0] - frame + t * (c1 + t * (c2 + t * c3));
        t -= off / (c1 + t * (2 * c2 + t * 3 * c3));
    }
    return t;
}

static double bezier(const double y[4], double t) {
    const double s = 1 - t;
    return s * s * (s * y[0] + 3 * t * y[1]) + t * t * (3 * s * y[2] + t * y[3]);
}

/* Whether a segment is near all samples between its keys, as the host evaluates it. */
static int segment_fits(const reduction *r, const segment *s) {
    for (uint32_t k = s->first + 1; k < s->last; ++k) {
        const double t = parameter_at(s->frames, frame_at(r, k));
        double got[KEYS_CHANNELS_MAX];
        for (uint32_t c = 0; c < r->d.channel_count; ++c) got[c] = bezier(s->values[c], t);
        if (!is_near(r, k, got)) return 0;
    }
    return 1;
}

/* e0 and e1 of all channels for the samples between a and b, see the head comment. */
static void fit_slopes(const reduction *r, uint32_t a, uint32_t b,
                       double extra[KEYS_CHANNELS_MAX][2]) {
    const double start = frame_at(r, a), span = frame_at(r, b) - start;
    double h00 = 0, h01 = 0, h11 = 0;
    double right[KEYS_CHANNELS_MAX][2] = {{0}};

    /* The normal equations. */
    for (uint32_t k = a + 1; k < b; ++k) {
        const double u = (frame_at(r, k) - start) / span;
        const double h0 = u * (1 - u) * (1 - u), h1 = -u * u * (1 - u);
        h00 += h0 * h0;
        h01 += h0 * h1;
        h11 += h1 * h1;
        for (uint32_t c = 0; c < r->d.channel_count; ++c) {
            const double v0 = value_at(r, c, a), d = value_at(r, c, b) - v0;
            const double off = value_at(r, c, k) - (v0 + d * u);
            right[c][0] += h0 * off;
            right[c][1] += h1 * off;
        }
    }

    /* One sample between: the parabola. None: the straight line. */
    const double det = h00 * h11 - h01 * h01, sum = h00 + h11;
    for (uint32_t c = 0; c < r->d.channel_count; ++c) {
        const double *p = right[c];
        if (b - a > 2) {
            extra[c][0] = (h11 * p[0] - h01 * p[1]) / det;
            extra[c][1] = (h00 * p[1] - h01 * p[0]) / det;
        } else {
            extra[c][0] = sum > 0 ? p[0] / sum : 0;
            extra[c][1] = sum > 0 ? p[1] / sum : 0;
        }
    }
}

/* The segment between two samples. */
static void fit_segment(const reduction *r, uint32_t a, uint32_t b, segment *s) {
    const double start = frame_at(r, a), end = frame_at(r, b), third = (end - start) / 3;
    double extra[KEYS_CHANNELS_MAX][2];
    fit_slopes(r, a, b, extra);

    s->first = a;
    s->last = b;
    s->frames[0] = start;
    s->frames[1] = (float)(start + third);
    s->frames[2] = (float)(end - third);
    s->frames[3] = end;
    for (uint32_t c = 0; c < r->d.channel_count; ++c) {
        const double v0 = value_at(r, c, a), v1 = value_at(r, c, b), d = v1 - v0;
        double *y = s->values[c];
        y[0] = r->is_constant[c] ? r->constant[c] : v0;
        y[1] = r->is_constant[c] ? y[0] : (float)(v0 + (d + extra[c][0]) / 3);
        y[2] = r->is_constant[c] ? y[0] : (float)(v1 - (d + extra[c][1]) / 3);
        y[3] = r->is_constant[c] ? y[0] : v1;
    }
}

static int fits(const reduction *r, uint32_t a, uint32_t b, segment *s) {
    fit_segment(r, a, b, s);
    return segment_fits(r, s);
}

/* The sample at which the longest segment from sample a ends. */
static uint32_t longest_from(const reduction *r, uint32_t a) {
    const uint32_t most = r->d.key_count - 1 - a;
    uint32_t good = 1, probe = most < KEYS_FIRST_PROBE ? most : KEYS_FIRST_PROBE;
    segment s;

    while (good < most && fits(r, a, a + probe, &s)) {
        good = probe;
        probe = most / 2 < probe ? most : 2 * probe;
    }

    uint32_t bad = good < most ? probe : good + 1;
    while (bad - good > 1) {
        const uint32_t middle = good + (bad - good) / 2;
        if (fits(r, a, a + middle, &s))
            good = middle;
        else
            bad = middle;
    }
    return a + good;
}

/* ---- keys ---- */

/* Writes a segment as the right half of a key and the left half of the next. */
static void write_segment(const reduction *r, uint32_t key, const segment *s) {
    for (uint32_t c = 0; c < r->d.channel_count; ++c) {
        float *from = row_at(r, c, key), *to = row_at(r, c, key + 1);
        from[0] = (float)s->frames[0];
        from[1] = (float)s->values[c][0];
        from[4] = (float)s->frames[1];
        from[5] = (float)s->values[c][1];
        to[0] = (float)s->frames[3];
        to[1] = (float)s->values[c][3];
        to[2] = (float)s->frames[2];
        to[3] = (float)s->values[c][2];
    }
}

static void read_segment(const reduction *r, uint32_t key, segment *s) {
    s->first = r->samples[key];
    s->last = r->samples[key + 1];
    for (uint32_t c = 0; c < r->d.channel_count; ++c) {
        const float *from = row_at(r, c, key), *to = row_at(r, c, key + 1);
        const double frames[4] = {from[0], from[4], to[2], to[0]};
        const double values[4] = {from[1], from[5], to[3], to[1]};
        memcpy(s->frames, frames, sizeof frames);
        memcpy(s->values[c], values, sizeof values);
    }
}

/* The outer handles of the first and of the last key continue the curve. A single key gets level
   handles. */
static void write_ends(const reduction *r) {
    const uint32_t last = r->key_count - 1;
    for (uint32_t c = 0; c < r->d.channel_count; ++c) {
        float *first = row_at(r, c, 0), *end = row_at(r, c, last);
        if (last == 0) {
            const float frame = (float)frame_at(r, 0), value = (float)value_at(r, c, 0);
            const float row[SKEL_KEY_NUMBERS] = {
                frame, value, frame - 1 / 3.0f, value, frame + 1 / 3.0f, value};
            memcpy(first, row, sizeof row);
            continue;
        }
        for (int k = 0; k < 2; ++k) {
            first[2 + k] = 2 * first[k] - first[4 + k];
            end[4 + k] = 2 * end[k] - end[2 + k];
        }
    }
}

/* Gives both handles of a key in one channel the slope `s`. */
static void set_slope(float *row, double s) {
    row[3] = (float)(row[1] - s * ((double)row[0] - row[2]));
    row[5] = (float)(row[1] + s * ((double)row[4] - row[0]));
}

/* Makes the slopes of a key equal in one channel if both segments stay within the tolerance. The
   mean is weighted so that both change by the same error: slope times span. */
static void smooth_key(const reduction *r, uint32_t channel, uint32_t key) {
    float *row = row_at(r, channel, key);
    const double before = (double)row[0] - row[2], after = (double)row[4] - row[0];
    const double left = ((double)row[1] - row[3]) / before;
    const double right = ((double)row[5] - row[1]) / after;
    const float kept[2] = {row[3], row[5]};
    segment a, b;

    set_slope(row, (left * before + right * after) / (before + after));
    read_segment(r, key - 1, &a);
    read_segment(r, key, &b);
    if (segment_fits(r, &a) && segment_fits(r, &b)) return;
    row[3] = kept[0];
    row[5] = kept[1];
}

/* Finds the channels that need one key only: all of them if the group is near one value, else those
   that move by a small part of the tolerance. The value is that of the first sample if it serves,
   else the middle of the range. */
static int find_constants(reduction *r) {
    const double scale = r->d.kind == SKEL_ROTATION_QUATERNION ? 0.5 : 1;
    int all = 1;
    double first[KEYS_CHANNELS_MAX], middle[KEYS_CHANNELS_MAX];

    for (uint32_t c = 0; c < r->d.channel_count; ++c) {
        double low = value_at(r, c, 0), high = low;
        first[c] = low;
        for (uint32_t k = 1; k < r->d.key_count; ++k) {
            low = fmin(low, value_at(r, c, k));
            high = fmax(high, value_at(r, c, k));
        }
        middle[c] = (float)(0.5 * (low + high));

        /* An axis has no scale of its own: its channels are constant only if they do not change. */
        const int is_axis = r->d.kind == SKEL_ROTATION_AXIS_ANGLE && c > 0;
        const double room = is_axis ? 0 : KEYS_CONSTANT_SHARE * scale * r->limit;
        const double off = fmax(high - first[c], first[c] - low);
        r->constant[c] = off <= room ? first[c] : middle[c];
        r->is_constant[c] = high - low <= 2 * room;
    }

    /* The whole group. */
    int first_serves = 1, middle_serves = 1;
    for (uint32_t k = 0; k < r->d.key_count; ++k) {
        first_serves = first_serves && is_near(r, k, first);
        middle_serves = middle_serves && is_near(r, k, middle);
    }
    all = first_serves || middle_serves;
    for (uint32_t c = 0; all && c < r->d.channel_count; ++c) {
        r->is_constant[c] = 1;
        r->constant[c] = first_serves ? first[c] : middle[c];
    }
    return all;
}

/* Writes the single keys of constant channels, and counts the keys of all. */
static void write_counts(const reduction *r, uint32_t *counts) {
    for (uint32_t c = 0; c < r->d.channel_count; ++c) {
        counts[c] = r->is_constant[c] ? 1 : r->key_count;
        if (!r->is_constant[c]) continue;
        float *row = row_at(r, c, 0);
        const float third = (float)(frame_at(r, 1 % r->d.key_count) - frame_at(r, 0)) / 3;
        row[0] = (float)frame_at(r, 0);
        row[1] = row[3] = row[5] = (float)r->constant[c];
        row[2] = row[0] - third;
        row[4] = row[0] + third;
    }
}

static void reduce(reduction *r) {
    const uint32_t n = r->d.key_count;
    segment s;
    r->samples[0] = 0;
    r->key_count = 1;
    if (r->limit > 0 && find_constants(r)) return;

    /* The longest segment, again and again. */
    for (uint32_t at = 0; at < n - 1; ++r->key_count) {
        const uint32_t next = r->limit > 0 ? longest_from(r, at) : at + 1;
        fit_segment(r, at, next, &s);
        write_segment(r, r->key_count - 1, &s);
        r->samples[r->key_count] = next;
        at = next;
    }

    /* One slope instead of two where the tolerance allows it. */
    for (uint32_t key = 1; r->limit > 0 && key + 1 < r->key_count; ++key)
        for (uint32_t c = 0; c < r->d.channel_count; ++c)
            if (!r->is_constant[c]) smooth_key(r, c, key);
    write_ends(r);
}

/* ---- checks ---- */

static skel_status check_desc(const skel_keys_desc *d, skel_error *err) {
    if (d->kind < SKEL_KEYS_VECTOR || d->kind > SKEL_ROTATION_ZYX)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "kind: is %d, must be SKEL_KEYS_VECTOR or one of SKEL_ROTATION_*",
                          d->kind);

    const int is_vector = d->kind == SKEL_KEYS_VECTOR;
    const uint32_t wanted = d->kind > 0 ? 3 : KEYS_CHANNELS_MAX;
    if (d->channel_count < 1 || d->channel_count > wanted ||
        (!is_vector && d->channel_count != wanted))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "channel_count: is %u, must be %s%u",
                          d->channel_count, is_vector ? "1 to " : "", wanted);
    if (!d->keys || d->key_count < 1)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "keys: is %s with a key_count of %u, must have one key or more",
                          d->keys ? "given" : "NULL", d->key_count);
    if (!(d->tolerance >= 0) || !isfinite(d->tolerance))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "tolerance: is %g, must be finite and >= 0",
                          d->tolerance);
    if (d->channel_count > KEYS_FLOATS_MAX / SKEL_KEY_NUMBERS / d->key_count)
        return skel__fail(err, SKEL_E_TOO_LARGE, -1, -1,
                          "key_count: is %u, which results in more keys than memory can hold",
                          d->key_count);
    return SKEL_OK;
}

/* Checks all numbers. *largest is the largest value. */
static skel_status check_keys(const skel_keys_desc *d, double *largest, skel_error *err) {
    *largest = 0;
    for (uint32_t c = 0; c < d->channel_count; ++c)
        for (uint32_t k = 0; k < d->key_count; ++k) {
            const float *key = d->keys + 2 * ((size_t)c * d->key_count + k);
            const float first = d->keys[2 * (size_t)k];
            if (!isfinite(key[0]) || !isfinite(key[1]))
                return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                                  "keys: key %u of channel %u is (%g, %g), must be finite", k, c,
                                  (double)key[0], (double)key[1]);
            if (key[0] != first || (k > 0 && !(key[0] > key[-2])))
                return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                                  "keys: the frames of channel %u must be ascending and those of "
                                  "all channels; key %u is at %g",
                                  c, k, (double)key[0]);
            *largest = fmax(*largest, fabs((double)key[1]));
        }
    return SKEL_OK;
}

skel_status skel_keys_reduce(const skel_keys_desc *desc, float *reduced, size_t capacity,
                             uint32_t *counts, skel_error *err) {
    reduction r = {.d = k_keys, .out = reduced};
    if (!desc || !reduced || !counts)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc, reduced and counts: must be given");
    skel_status status = skel__desc_import(&r.d, sizeof r.d, sizeof r.d, desc);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1,
                          "keys: struct_size is %u, must be set by skel_keys_desc_init",
                          desc->struct_size);

    double largest;
    SKEL__CHECK(check_desc(&r.d, err));
    SKEL__CHECK(check_keys(&r.d, &largest, err));
    const size_t needed = SKEL_KEY_NUMBERS * (size_t)r.d.channel_count * r.d.key_count;
    if (capacity < needed)
        return skel__fail(err, SKEL_E_BUFFER, -1, -1,
                          "reduced: has a capacity of %zu floats, needs %zu", capacity, needed);

    skel_allocator allocator;
    status = skel__allocator_import(&allocator, r.d.allocator);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1,
                          "allocator: lacks a function, must have all of them");
    r.samples = skel__alloc_unset(&allocator, (size_t)r.d.key_count * sizeof *r.samples);
    if (!r.samples)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for %u keys", r.d.key_count);

    /* What the host loses to rounding is not available here. Angles do not depend on a length. */
    r.limit = KEYS_SHARE * r.d.tolerance - KEYS_ROUNDING * (double)FLT_EPSILON * largest;
    reduce(&r);
    write_counts(&r, counts);
    skel__free(&allocator, r.samples);
    return SKEL_OK;
}
