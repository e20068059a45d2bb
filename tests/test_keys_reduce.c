/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction of keys. The law: at the frame of every given key the Bezier curves give its value
   within the tolerance. The curves are evaluated here by bisection, as any host may do it, and
   rotations are compared as rotations. */
#include "math/euler.h"
#include "shared/near.h"
#include "shared/rng.h"

#include <skel/skel_channels.h>

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 4, COUNT = 250, BISECTIONS = 60 };

typedef struct key_case {
    skel_keys_desc d;
    float keys[WIDTH * COUNT * 2]; /* [channel][key][2] */
    float reduced[WIDTH * COUNT * SKEL_KEY_NUMBERS];
    uint32_t counts[WIDTH];
} key_case;

static float *value_of(key_case *k, uint32_t channel, uint32_t key) {
    return &k->keys[2 * (channel * k->d.key_count + key) + 1];
}

static key_case *make_case(int32_t kind, uint32_t channels, uint32_t keys, double tolerance) {
    key_case *k = calloc(1, sizeof *k);
    ck_assert_ptr_nonnull(k);
    skel_keys_desc_init(&k->d);
    k->d.kind = kind;
    k->d.channel_count = channels;
    k->d.key_count = keys;
    k->d.keys = k->keys;
    k->d.tolerance = tolerance;
    for (uint32_t c = 0; c < channels; ++c)
        for (uint32_t n = 0; n < keys; ++n) value_of(k, c, n)[-1] = (float)(n + 1);
    return k;
}

static void reduce(key_case *k) {
    skel_error err;
    skel_error_init(&err);
    const skel_status status =
        skel_keys_reduce(&k->d, k->reduced, sizeof k->reduced / sizeof(float), k->counts, &err);
    ck_assert_msg(status == SKEL_OK, "%s", err.text);
}

static double bezier(double a, double b, double c, double d, double t) {
    const double s = 1 - t;
    return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
}

/* The value of a reduced channel at a frame. */
static double evaluate(const key_case *k, uint32_t channel, double frame) {
    const float *row = k->reduced + SKEL_KEY_NUMBERS * (size_t)channel * k->d.key_count;
    const float *last = row + SKEL_KEY_NUMBERS * (k->counts[channel] - 1);
    if (frame <= row[0]) return row[1];
    if (frame >= last[0]) return last[1];
    while (frame >= row[SKEL_KEY_NUMBERS]) row += SKEL_KEY_NUMBERS;

    const float *next = row + SKEL_KEY_NUMBERS;
    double low = 0, high = 1;
    for (int n = 0; n < BISECTIONS; ++n) {
        const double t = 0.5 * (low + high);
        if (bezier(row[0], row[4], next[2], next[0], t) < frame)
            low = t;
        else
            high = t;
    }
    return bezier(row[1], row[5], next[3], next[1], 0.5 * (low + high));
}

static quat quat_of(int32_t kind, const double v[4]) {
    if (kind > 0) return q_of_euler(kind, v);
    if (kind == SKEL_ROTATION_QUATERNION) return q_unit(q_of(v));
    const v3 axis = v3_of(v + 1);
    return q_exp(v3_scale(axis, v[0] / v3_norm(axis)));
}

/* The error at a given key: a distance, or the angle between both rotations. */
static double error_at(key_case *k, uint32_t key) {
    double got[WIDTH] = {0}, want[WIDTH] = {0}, sum = 0;
    for (uint32_t c = 0; c < k->d.channel_count; ++c) {
        want[c] = *value_of(k, c, key);
        got[c] = evaluate(k, c, value_of(k, c, key)[-1]);
        sum += (got[c] - want[c]) * (got[c] - want[c]);
    }
    if (k->d.kind == SKEL_KEYS_VECTOR) return sqrt(sum);
    const quat between = q_mul(q_conj(quat_of(k->d.kind, want)), quat_of(k->d.kind, got));
    return 2 * atan2(sqrt(between.x * between.x + between.y * between.y + between.z * between.z),
                     fabs(between.w));
}

static void check_law(key_case *k) {
    for (uint32_t n = 0; n < k->d.key_count; ++n) {
        const double error = error_at(k, n);
        ck_assert_msg(error <= k->d.tolerance, "kind %d, key %u is off by %.3g, more than %.3g",
                      k->d.kind, n, error, k->d.tolerance);
    }
    for (uint32_t c = 0; c < k->d.channel_count; ++c) {
        const float *rows = k->reduced + SKEL_KEY_NUMBERS * (size_t)c * k->d.key_count;
        ck_assert_uint_ge(k->counts[c], 1);
        ck_assert_uint_le(k->counts[c], k->d.key_count);
        for (uint32_t n = 0; n + 1 < k->counts[c]; ++n) {
            const float *a = rows + SKEL_KEY_NUMBERS * n, *b = a + SKEL_KEY_NUMBERS;
            ck_assert(a[0] < a[4] && a[4] <= b[2] && b[2] < b[0]); /* handles do not cross */
        }
    }
}

/* ---- motions ---- */

/* A rotation about an axis that drifts, by an angle. */
static quat drifting(double t, double angle) {
    const v3 axis = {cos(0.7 * t), sin(0.4 * t), 0.3};
    return q_exp(v3_scale(axis, angle / v3_norm(axis)));
}

/* Fills the channels of a rotation; continuous from key to key. */
static void set_rotation(key_case *k, uint32_t key, quat q, double before[4]) {
    if (k->d.kind > 0)
        q_to_euler(q, k->d.kind, before);
    else if (k->d.kind == SKEL_ROTATION_AXIS_ANGLE)
        q_to_axis_angle(q, before);
    else
        q_to(q_dot(q, q_of(before)) < 0 ? q_neg(q) : q, before);
    for (uint32_t c = 0; c < k->d.channel_count; ++c) *value_of(k, c, key) = (float)before[c];
}

/* A fall that bounces: parabolas with corners between frames. */
static double bouncing(double t) {
    const double period = 1.3;
    const double n = floor(t / period), u = t - n * period;
    return 4 * u * (period - u) * pow(0.6, n);
}

START_TEST(vectors_within_the_tolerance) {
    rng r = rng_seed((uint64_t)_i + 1);
    const double tolerances[] = {1e-6, 1e-4, 1e-2};
    for (int round = 0; round < 12; ++round) {
        key_case *k =
            make_case(SKEL_KEYS_VECTOR, 1 + (uint32_t)round % 3, COUNT, tolerances[round % 3]);
        double walk[3] = {0};
        for (uint32_t n = 0; n < COUNT; ++n)
            for (uint32_t c = 0; c < k->d.channel_count; ++c) {
                const double t = n / 24.0;
                walk[c] += rng_range(&r, -0.01, 0.01);
                const double motions[] = {walk[c], sin(3 * t + c), bouncing(t + 0.1 * c),
                                          0.3 * t - 1, c + rng_range(&r, -1e-5, 1e-5)};
                *value_of(k, c, n) = (float)motions[_i];
            }
        reduce(k);
        check_law(k);
        free(k);
    }
}
END_TEST

START_TEST(rotations_within_the_tolerance) {
    const int32_t kind = _i - 1;
    rng r = rng_seed((uint64_t)_i + 1);
    for (int round = 0; round < 8; ++round) {
        key_case *k = make_case(kind, kind > 0 ? 3 : 4, COUNT, 2e-4);
        double before[4] = {kind == 0 ? 1 : 0, 0, kind < 0 ? 1 : 0, 0};
        for (uint32_t n = 0; n < COUNT; ++n) {
            const double t = n / 24.0, noise = round > 5 ? rng_range(&r, -1e-3, 1e-3) : 0;
            const double angle = (round % 2 ? 2.5 * sin(2 * t) : 1.5 * t + bouncing(t)) + noise;
            set_rotation(k, n, drifting(round * t, angle), before);
        }
        reduce(k);
        check_law(k);
        ck_assert_uint_lt(k->counts[0], COUNT);
        free(k);
    }
}
END_TEST

/* ---- how many ---- */

START_TEST(tolerance_zero_keeps_all) {
    key_case *k = make_case(SKEL_KEYS_VECTOR, 2, COUNT, 0);
    for (uint32_t n = 0; n < COUNT; ++n) *value_of(k, 1, n) = (float)sin(0.1 * n);
    reduce(k);
    for (uint32_t c = 0; c < 2; ++c) {
        ck_assert_uint_eq(k->counts[c], COUNT);
        for (uint32_t n = 0; n < COUNT; ++n) {
            const float *row = k->reduced + SKEL_KEY_NUMBERS * (c * COUNT + n);
            ck_assert_mem_eq(row, value_of(k, c, n) - 1, 2 * sizeof *row);
            if (n + 1 < COUNT)
                near1(row[5], row[1] + (row[SKEL_KEY_NUMBERS + 1] - row[1]) / 3.0, 1e-7);
        }
    }
    free(k);
}
END_TEST

/* A sine of 10 periods and 240 samples. The best cubic of a span h with exact ends is off by
   0.1716 (h / 2)^4 w^4 / 24 at a crest, so that spans of 7 samples fit there and longer ones
   elsewhere. */
START_TEST(few_keys_for_a_sine) {
    const double w = 2 * 3.14159265358979323846 / 24;
    key_case *k = make_case(SKEL_KEYS_VECTOR, 1, 241, 0.1716 * pow(3.5, 4) * pow(w, 4) / 24);
    for (uint32_t n = 0; n < 241; ++n) *value_of(k, 0, n) = (float)sin(w * n);
    reduce(k);
    check_law(k);
    ck_assert_uint_ge(k->counts[0], 20);
    ck_assert_uint_le(k->counts[0], 241 / 6);
    free(k);
}
END_TEST

START_TEST(cubics_need_two_keys) {
    key_case *k = make_case(SKEL_KEYS_VECTOR, 3, COUNT, 1e-5);
    for (uint32_t n = 0; n < COUNT; ++n) {
        const double t = n / (double)COUNT;
        *value_of(k, 0, n) = (float)(3 * t - 1);
        *value_of(k, 1, n) = (float)(1 - 4.905 * t * t);
        *value_of(k, 2, n) = (float)(t * t * t - t);
    }
    reduce(k);
    check_law(k);
    for (uint32_t c = 0; c < 3; ++c) ck_assert_uint_eq(k->counts[c], 2);
    free(k);
}
END_TEST

/* Any motion: a cubic passes through the two samples between its keys. */
START_TEST(a_third_at_most) {
    rng r = rng_seed(5);
    key_case *k = make_case(SKEL_KEYS_VECTOR, 3, 241, 1e-5);
    for (uint32_t n = 0; n < 3 * 241; ++n) k->keys[2 * n + 1] = (float)rng_range(&r, -1, 1);
    reduce(k);
    check_law(k);
    ck_assert_uint_le(k->counts[0], 81);
    free(k);
}
END_TEST

START_TEST(constants_need_one_key) {
    rng r = rng_seed(7);

    /* A hinge: two channels of a quaternion stay within rounding. */
    key_case *k = make_case(SKEL_ROTATION_QUATERNION, 4, COUNT, 1e-4);
    for (uint32_t n = 0; n < COUNT; ++n) {
        *value_of(k, 0, n) = (float)cos(0.01 * n);
        *value_of(k, 1, n) = (float)sin(0.01 * n);
        *value_of(k, 2, n) = (float)rng_range(&r, -1e-8, 1e-8);
    }
    reduce(k);
    check_law(k);
    ck_assert_uint_gt(k->counts[0], 1);
    ck_assert_uint_eq(k->counts[1], k->counts[0]);
    ck_assert_uint_eq(k->counts[2], 1);
    ck_assert_uint_eq(k->counts[3], 1);

    free(k);

    /* A single key, and a group that stays within the tolerance of its middle, not of its start. */
    k = make_case(SKEL_KEYS_VECTOR, 3, 1, 1e-3);
    reduce(k);
    for (int c = 0; c < 3; ++c) ck_assert_uint_eq(k->counts[c], 1);
    free(k);
    k = make_case(SKEL_KEYS_VECTOR, 3, COUNT, 1e-3);
    for (uint32_t n = 0; n < COUNT; ++n) *value_of(k, 1, n) = (float)(0.9e-3 * cos(0.1 * n));
    reduce(k);
    check_law(k);
    for (int c = 0; c < 3; ++c) ck_assert_uint_eq(k->counts[c], 1);
    free(k);
}
END_TEST

/* A ball that hits the ground between two frames: the keys beside the impact have two slopes, and
   between frames the curve does not leave the values of its neighbours by more than a quarter of
   the corner. */
START_TEST(impacts_have_corners) {
    key_case *k = make_case(SKEL_KEYS_VECTOR, 1, 40, 1e-4);
    for (uint32_t n = 0; n < 40; ++n) *value_of(k, 0, n) = (float)fabs(0.1 * (n - 20.0));
    reduce(k);
    check_law(k);
    ck_assert_uint_le(k->counts[0], 5);
    for (double frame = 1; frame < 40; frame += 0.125) {
        const double y = evaluate(k, 0, frame), line = fabs(0.1 * (frame - 21));
        near1(y, line, 0.25 * 0.2);
    }
    free(k);
}
END_TEST

/* ---- always the same ---- */

START_TEST(again_gives_no_more_keys) {
    key_case *k = make_case(SKEL_KEYS_VECTOR, 2, COUNT, 1e-3);
    for (uint32_t n = 0; n < COUNT; ++n) {
        *value_of(k, 0, n) = (float)bouncing(n / 24.0);
        *value_of(k, 1, n) = (float)sin(n / 9.0);
    }
    reduce(k);
    const uint32_t count = k->counts[0];
    key_case *again = make_case(SKEL_KEYS_VECTOR, 2, COUNT, 1e-3);
    for (uint32_t c = 0; c < 2; ++c)
        for (uint32_t n = 0; n < COUNT; ++n) *value_of(again, c, n) = (float)evaluate(k, c, n + 1);
    reduce(again);
    ck_assert_uint_le(again->counts[0], count);

    /* The same input gives the same bits. */
    memcpy(again, k, sizeof *k);
    again->d.keys = again->keys;
    memset(again->reduced, 0, sizeof again->reduced);
    reduce(again);
    for (uint32_t c = 0; c < 2; ++c)
        ck_assert_mem_eq(again->reduced + SKEL_KEY_NUMBERS * c * COUNT,
                         k->reduced + SKEL_KEY_NUMBERS * c * COUNT,
                         SKEL_KEY_NUMBERS * count * sizeof(float));
    free(again);
    free(k);
}
END_TEST

/* Far frames and coarse steps, where handles are rounded, and large values, where values are. */
START_TEST(rounding_counts) {
    for (int far = 0; far < 3; ++far) {
        key_case *k = make_case(SKEL_KEYS_VECTOR, 1, COUNT, far == 2 ? 1e-2 : 1e-3);
        for (uint32_t n = 0; n < COUNT; ++n) {
            value_of(k, 0, n)[-1] = (float)(n * (far == 1 ? 0.1 : 1) + (far == 0 ? 1e6 : 0));
            *value_of(k, 0, n) = (float)((far == 2 ? 1e4 : 0) + 10 * sin(0.2 * n));
        }
        reduce(k);
        check_law(k);
        ck_assert_uint_lt(k->counts[0], COUNT);
        free(k);
    }
}
END_TEST

/* ---- refusals ---- */

static void refused(key_case *k, skel_status wanted, const char *words) {
    skel_error err;
    skel_error_init(&err);
    const skel_status status =
        skel_keys_reduce(&k->d, k->reduced, sizeof k->reduced / sizeof(float), k->counts, &err);
    ck_assert_int_eq(status, wanted);
    ck_assert_msg(strstr(err.text, words) != NULL, "'%s' does not contain '%s'", err.text, words);
}

START_TEST(says_what_is_wrong) {
    key_case *k = make_case(SKEL_KEYS_VECTOR, 3, 10, 1e-3);
    const skel_keys_desc good = k->d;
    reduce(k);

    k->d.kind = 7;
    refused(k, SKEL_E_ARGUMENT, "kind: is 7");
    k->d = good;
    k->d.channel_count = 5;
    refused(k, SKEL_E_ARGUMENT, "channel_count: is 5, must be 1 to 4");
    k->d = good;
    k->d.kind = SKEL_ROTATION_QUATERNION;
    refused(k, SKEL_E_ARGUMENT, "channel_count: is 3, must be 4");
    k->d = good;
    k->d.keys = NULL;
    refused(k, SKEL_E_ARGUMENT, "keys: is NULL");
    k->d = good;
    k->d.key_count = 0;
    refused(k, SKEL_E_ARGUMENT, "key_count of 0");
    k->d = good;
    k->d.tolerance = -1;
    refused(k, SKEL_E_ARGUMENT, "tolerance: is -1");
    k->d.tolerance = NAN;
    refused(k, SKEL_E_ARGUMENT, "tolerance: is");
    k->d = good;
    k->d.struct_size = 3;
    refused(k, SKEL_E_STRUCT_SIZE, "struct_size is 3");
    k->d = good;

    /* Numbers. */
    *value_of(k, 1, 4) = NAN;
    refused(k, SKEL_E_ARGUMENT, "key 4 of channel 1");
    *value_of(k, 1, 4) = 0;
    value_of(k, 2, 5)[-1] = 5;
    refused(k, SKEL_E_ARGUMENT, "channel 2");
    for (uint32_t c = 0; c < 3; ++c) value_of(k, c, 5)[-1] = 5;
    refused(k, SKEL_E_ARGUMENT, "must be ascending");
    for (uint32_t c = 0; c < 3; ++c) value_of(k, c, 5)[-1] = 6;

    ck_assert_int_eq(skel_keys_reduce(&good, k->reduced, 179, k->counts, NULL), SKEL_E_BUFFER);
    ck_assert_int_eq(skel_keys_reduce(NULL, k->reduced, 180, k->counts, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_keys_reduce(&good, NULL, 180, k->counts, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_keys_reduce(&good, k->reduced, 180, NULL, NULL), SKEL_E_ARGUMENT);
    free(k);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("keys_reduce");
    TCase *cases = tcase_create("keys_reduce");
    tcase_add_loop_test(cases, vectors_within_the_tolerance, 0, 5);
    tcase_add_loop_test(cases, rotations_within_the_tolerance, 0, 8);
    tcase_add_test(cases, tolerance_zero_keeps_all);
    tcase_add_test(cases, few_keys_for_a_sine);
    tcase_add_test(cases, cubics_need_two_keys);
    tcase_add_test(cases, a_third_at_most);
    tcase_add_test(cases, constants_need_one_key);
    tcase_add_test(cases, impacts_have_corners);
    tcase_add_test(cases, again_gives_no_more_keys);
    tcase_add_test(cases, rounding_counts);
    tcase_add_test(cases, says_what_is_wrong);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
