/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels of a rig. The law: keys -> basis matrices -> poses in the rig -> poses of the bodies
   gives the poses that went in. The way back is written here with plain 4 x 4 matrices. */
#include "math/euler.h"
#include "shared/near.h"
#include "shared/rng.h"

#include <skel/skel_channels.h>

#include <stdlib.h>
#include <string.h>

enum { BONES = 12, SAMPLES = 40 };

typedef struct m4 {
    double m[4][4]; /* row, column */
} m4;

static m4 m4_mul(m4 a, m4 b) {
    m4 c = {{{0}}};
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            for (int k = 0; k < 4; ++k) c.m[i][j] += a.m[i][k] * b.m[k][j];
    return c;
}
static m4 m4_of(v3 p, quat q, double s) {
    const m3 r = q_matrix(q);
    return (m4){{{s * r.r[0].x, s * r.r[0].y, s * r.r[0].z, p.x},
                 {s * r.r[1].x, s * r.r[1].y, s * r.r[1].z, p.y},
                 {s * r.r[2].x, s * r.r[2].y, s * r.r[2].z, p.z},
                 {0, 0, 0, 1}}};
}
static m4 m4_of_pose(const double p[7]) {
    return m4_of(v3_of(p), q_unit(q_of(p + 3)), 1);
}
static m4 m4_inverse(m4 a) {
    m3 r;
    for (int i = 0; i < 3; ++i) r.r[i] = (v3){a.m[i][0], a.m[i][1], a.m[i][2]};
    const m3 b = m3_inverse(r);
    const v3 p = m3_mulv(b, (v3){-a.m[0][3], -a.m[1][3], -a.m[2][3]});
    m4 c = {{{0, 0, 0, p.x}, {0, 0, 0, p.y}, {0, 0, 0, p.z}, {0, 0, 0, 1}}};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) c.m[i][j] = m3_at(b, i, j);
    return c;
}
static double m4_scale(m4 a) {
    return sqrt(a.m[0][0] * a.m[0][0] + a.m[1][0] * a.m[1][0] + a.m[2][0] * a.m[2][0]);
}
/* without its place, divided by s */
static m4 m4_turn(m4 a, double s) {
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) a.m[i][j] /= s;
        a.m[i][3] = 0;
    }
    return a;
}
static void m4_to_floats(m4 a, float out[16]) {
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) out[4 * j + i] = (float)a.m[i][j];
}
static m4 m4_of_floats(const float in[16]) {
    m4 a;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) a.m[i][j] = in[4 * j + i];
    return a;
}

typedef struct rig_case {
    skel_bone_desc bones[BONES];
    skel_rig_desc d;
    double poses[SAMPLES][BONES][7];
    float object[SAMPLES][16];
    float matrices[SAMPLES][BONES][16];
    float *keys;
    size_t count;
} rig_case;

static quat random_quat(rng *r) {
    return q_unit(
        (quat){rng_range(r, -1, 1), rng_range(r, -1, 1), rng_range(r, -1, 1), rng_range(r, -1, 1)});
}
static v3 random_vector(rng *r, double size) {
    return (v3){rng_range(r, -size, size), rng_range(r, -size, size), rng_range(r, -size, size)};
}
/* A rest pose whose axes are off by `off`, as those of a host that computes in float. */
static void random_rest(rng *r, double off, double out[16]) {
    const m4 m = m4_of(random_vector(r, 1), random_quat(r), 1);
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            out[4 * j + i] = m.m[i][j] + (i < 3 && j < 3 ? rng_range(r, -off, off) : 0);
}
static m4 m4_of_rest(const double rest[16]) {
    m4 a;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) a.m[i][j] = rest[4 * j + i];
    return a;
}
static void random_pose(rng *r, double size, double out[7]) {
    v3_to(random_vector(r, size), out);
    q_to(random_quat(r), out + 3);
}

/* Every body floats and turns as it likes: harder than any skeleton. */
static void random_motion(rng *r, rig_case *c) {
    for (int i = 0; i < BONES; ++i) {
        double at[7];
        random_pose(r, 2, at);
        const v3 spin = random_vector(r, 0.4), go = random_vector(r, 0.05);
        for (int k = 0; k < SAMPLES; ++k) {
            memcpy(c->poses[k][i], at, sizeof at);
            v3_to(v3_add(v3_of(at), go), at);
            q_to(q_unit(q_mul(q_of(at + 3), q_exp(spin))), at + 3);
        }
    }
}

static rig_case *askew_case(rng *r, int moving_object, double askew) {
    rig_case *c = calloc(1, sizeof *c);
    skel_rig_desc_init(&c->d);
    for (int i = 0; i < BONES; ++i) {
        skel_bone_desc *b = &c->bones[i];
        skel_bone_desc_init(b);
        b->parent = i == 0 || i == 7 ? -1 : rng_int(r, i);
        b->body = i;
        b->rotation = rng_int(r, 8) - 1;
        b->flags = (uint32_t)rng_int(r, 8);
        b->channels = SKEL_CHANNEL_LOCATION | SKEL_CHANNEL_ROTATION;
        b->scale = i % 3 == 1 ? rng_range(r, 0.5, 2) : 1;
        random_rest(r, askew, b->rest);
        random_pose(r, 0.3, b->offset);
    }
    random_motion(r, c);
    c->d.bones = c->bones, c->d.bone_count = BONES, c->d.bone_stride = sizeof c->bones[0];
    c->d.poses = &c->poses[0][0][0], c->d.body_count = BONES, c->d.sample_count = SAMPLES;
    c->d.object = &c->object[0][0], c->d.object_count = moving_object ? SAMPLES : 1;
    c->d.unit = rng_range(r, 0.01, 2), c->d.first_frame = 10, c->d.frame_step = 2;
    const double size = rng_range(r, 0.2, 5);
    for (int k = 0; k < SAMPLES; ++k)
        m4_to_floats(m4_of(random_vector(r, 3), random_quat(r), size), c->object[k]);
    return c;
}

static rig_case *random_case(rng *r, int moving_object) {
    return askew_case(r, moving_object, 0);
}

static void bake_case(rig_case *c) {
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_eq(skel_bake_channels(&c->d, NULL, 0, &c->count, NULL), SKEL_OK);
    c->keys = calloc(c->count + 1, sizeof *c->keys);
    const skel_status s = skel_bake_channels(&c->d, c->keys, c->count, NULL, &err);
    ck_assert_msg(s == SKEL_OK, "%s", err.text);
}
static void free_case(rig_case *c) {
    free(c->keys);
    free(c);
}

static double key_value(const rig_case *c, size_t channel, int sample) {
    return c->keys[2 * (channel * SAMPLES + (size_t)sample) + 1];
}

/* The basis of a bone from its keys: location and rotation channels, or its matrix. */
static m4 basis_of(const rig_case *c, int i, int sample, size_t *channel) {
    const skel_bone_desc *b = &c->bones[i];
    m4 given = m4_of((v3){0, 0, 0}, q_identity(), 1);
    double l[3], t[4] = {0};
    if (c->d.matrix_count) given = m4_of_floats(c->matrices[c->d.matrix_count > 1 ? sample : 0][i]);
    m4 basis = m4_turn(given, m4_scale(given));
    for (int k = 0; k < 3; ++k) l[k] = given.m[k][3];
    if (b->channels & SKEL_CHANNEL_LOCATION)
        for (int k = 0; k < 3; ++k) l[k] = key_value(c, (*channel)++, sample);
    if (b->channels & SKEL_CHANNEL_ROTATION) {
        quat q;
        for (int k = 0; k < (b->rotation > 0 ? 3 : 4); ++k)
            t[k] = key_value(c, (*channel)++, sample);
        if (b->rotation > 0)
            q = q_of_euler(b->rotation, t);
        else if (b->rotation == 0)
            q = q_unit(q_of(t));
        else
            q = q_exp(v3_scale(v3_of(t + 1), t[0] / v3_norm(v3_of(t + 1))));
        basis = m4_of((v3){0, 0, 0}, q, 1);
    }
    for (int k = 0; k < 3; ++k) basis.m[k][3] = l[k];
    return basis;
}

/* Poses in the rig, 4 x 4: the rule for inherited rotation, scale and axes of the location. */
static void pose_rig(const rig_case *c, int sample, m4 out[BONES]) {
    size_t channel = 0;
    for (int i = 0; i < BONES; ++i) {
        const skel_bone_desc *b = &c->bones[i];
        const m4 rest = m4_of_rest(b->rest), basis = basis_of(c, i, sample, &channel);
        m4 place = rest, turn = rest, local = basis;
        if (b->parent >= 0) {
            const m4 p = out[b->parent];
            const double s = m4_scale(p);
            const m4 pr = m4_of_rest(c->bones[b->parent].rest);
            place = m4_mul(p, m4_mul(m4_inverse(pr), rest));
            turn = b->flags & SKEL_BONE_KEEPS_ROTATION ? rest : m4_turn(place, s);
            if (!(b->flags & SKEL_BONE_KEEPS_SCALE)) turn = m4_turn(turn, 1 / s);
            if (b->flags & SKEL_BONE_PARENT_AXES) {
                m4 axes = p;
                for (int k = 0; k < 3; ++k) axes.m[k][3] = place.m[k][3];
                place = axes;
            }
        } else if (b->flags & SKEL_BONE_PARENT_AXES) {
            place = m4_of(v3_of(b->rest + 12), q_identity(), 1);
        }
        for (int k = 0; k < 3; ++k) local.m[k][3] = 0;
        out[i] = m4_mul(m4_turn(turn, 1 / b->scale), local);
        for (int k = 0; k < 3; ++k)
            out[i].m[k][3] = place.m[k][0] * basis.m[0][3] + place.m[k][1] * basis.m[1][3] +
                             place.m[k][2] * basis.m[2][3] + place.m[k][3];
    }
}

/* Largest distance of the bones' heads [of 1 m], and of their axes, from where they should be. */
static void check_axes(const rig_case *c, double bound, int first_axis, int axes) {
    double worst_place = 0, worst_turn = 0;
    for (int k = 0; k < SAMPLES; ++k) {
        m4 rig[BONES], object = m4_of_floats(c->object[c->d.object_count > 1 ? k : 0]);
        pose_rig(c, k, rig);
        for (int i = 0; i < BONES; ++i) {
            if (!c->bones[i].channels) continue;
            const m4 got = m4_mul(object, rig[i]);
            const m4 want = m4_mul(m4_of_pose(c->poses[k][i]), m4_of_pose(c->bones[i].offset));
            for (int row = 0; row < 3; ++row) {
                const double d = fabs(c->d.unit * got.m[row][3] - want.m[row][3]);
                if (c->bones[i].channels & SKEL_CHANNEL_LOCATION)
                    worst_place = fmax(worst_place, d);
                for (int col = first_axis; col < first_axis + axes; ++col) {
                    const v3 axis = {got.m[0][col], got.m[1][col], got.m[2][col]};
                    worst_turn =
                        fmax(worst_turn, fabs(got.m[row][col] / v3_norm(axis) - want.m[row][col]));
                }
            }
        }
    }
    ck_assert_msg(worst_place < bound, "heads are off by %.3g m", worst_place);
    ck_assert_msg(worst_turn < bound, "axes are off by %.3g", worst_turn);
}

static void check_case(const rig_case *c, double bound) {
    check_axes(c, bound, 0, 3);
}

START_TEST(keys_give_the_poses_back) {
    rng r = rng_seed((uint64_t)_i + 71);
    for (int n = 0; n < 40; ++n) {
        rig_case *c = random_case(&r, n % 2);
        bake_case(c);
        check_case(c, 3e-6); /* float keys of numbers up to 20 */
        free_case(c);
    }
}
END_TEST

/* Rest poses that are not quite right-angled: heads and y axes are right all the same. */
START_TEST(askew_at_rest) {
    rng r = rng_seed(8);
    for (int n = 0; n < 40; ++n) {
        rig_case *c = askew_case(&r, n % 2, 2e-5);
        for (int i = 0; i < BONES; ++i) c->bones[i].flags = 0, c->bones[i].scale = 1;
        bake_case(c);
        check_axes(c, 3e-6, 1, 1);
        free_case(c);
    }
}
END_TEST

/* Bones without keys of their own go by their matrices: their children make up for it. */
START_TEST(keys_beside_bones_that_go_their_own_way) {
    rng r = rng_seed(5);
    for (int n = 0; n < 40; ++n) {
        rig_case *c = random_case(&r, n % 2);
        for (int i = 0; i < BONES; ++i) {
            const int role = rng_int(&r, 4);
            if (role == 0) c->bones[i].body = -1, c->bones[i].channels = 0;
            if (role == 1) c->bones[i].channels = SKEL_CHANNEL_ROTATION;
            if (c->bones[i].channels == 0) c->bones[i].flags &= ~8u;
        }
        for (int k = 0; k < SAMPLES; ++k)
            for (int i = 0; i < BONES; ++i)
                m4_to_floats(m4_of(random_vector(&r, 0.5), random_quat(&r), 1), c->matrices[k][i]);
        c->d.matrices = &c->matrices[0][0][0], c->d.matrix_count = n % 3 ? SAMPLES : 1;
        bake_case(c);
        check_case(c, 3e-6);
        free_case(c);
    }
}
END_TEST

/* A parent whose pose in the rig is given counts as it is, whatever its rest pose says. */
START_TEST(posed_parents) { /* with a body, which only others look at, and without */
    rng r = rng_seed(6);
    rig_case *c = random_case(&r, 0);
    c->bones[0].body = -_i, c->bones[0].channels = 0, c->bones[0].flags = SKEL_BONE_POSED;
    c->bones[1].parent = 0, c->bones[1].flags = 0, c->bones[1].scale = 1;
    m4_to_floats(m4_of((v3){1, 2, 3}, random_quat(&r), 1), c->matrices[0][0]);
    for (int i = 1; i < BONES; ++i)
        m4_to_floats(m4_of((v3){0, 0, 0}, q_identity(), 1), c->matrices[0][i]);
    c->d.matrices = &c->matrices[0][0][0], c->d.matrix_count = 1;
    bake_case(c);
    size_t channel = 0;
    const m4 basis = basis_of(c, 1, 7, &channel);
    const m4 from = m4_mul(m4_inverse(m4_of_rest(c->bones[0].rest)), m4_of_rest(c->bones[1].rest));
    const m4 got = m4_mul(m4_mul(m4_of_floats(c->object[0]), m4_of_floats(c->matrices[0][0])),
                          m4_mul(from, basis));
    const m4 want = m4_mul(m4_of_pose(c->poses[7][1]), m4_of_pose(c->bones[1].offset));
    for (int k = 0; k < 3; ++k) near1(c->d.unit * got.m[k][3], want.m[k][3], 3e-6);
    free_case(c);
}
END_TEST

START_TEST(matrices_give_poses) { /* keys -> matrices in the rig -> poses, by the library itself */
    rng r = rng_seed(9);
    for (int n = 0; n < 20; ++n) {
        rig_case *c = random_case(&r, n % 2);
        bake_case(c);
        for (int k = 0; k < SAMPLES; ++k) {
            m4 rig[BONES];
            pose_rig(c, k, rig);
            for (int i = 0; i < BONES; ++i) m4_to_floats(rig[i], c->matrices[k][i]);
        }
        double back[SAMPLES][BONES][7];
        c->d.matrices = &c->matrices[0][0][0], c->d.matrix_count = SAMPLES;
        ck_assert_int_eq(skel_rig_poses(&c->d, &back[0][0][0], NULL), SKEL_OK);
        for (int k = 0; k < SAMPLES; ++k)
            for (int i = 0; i < BONES; ++i) {
                const quat a = q_of(back[k][i] + 3), b = q_of(c->poses[k][i] + 3);
                near(back[k][i], c->poses[k][i], 3, 1e-5);
                ck_assert_double_ge(fabs(q_dot(a, b)), 1 - 1e-11);
                if (k) ck_assert_double_gt(q_dot(a, q_of(back[k - 1][i] + 3)), 0);
            }
        free_case(c);
    }
}
END_TEST

/* Pose in the rig = parent's turned by the joint's; heads likewise; turns never jump. */
START_TEST(matrices_give_joints) {
    rng r = rng_seed(10);
    for (int n = 0; n < 20; ++n) {
        rig_case *c = random_case(&r, n % 2);
        double got[SAMPLES][BONES][7];
        m4 rig[BONES];
        for (int k = 0; k < SAMPLES; ++k)
            for (int i = 0; i < BONES; ++i)
                m4_to_floats(m4_of(random_vector(&r, 2), random_quat(&r), 0.5 + 0.1 * i),
                             c->matrices[k][i]);
        c->d.matrices = &c->matrices[0][0][0], c->d.matrix_count = SAMPLES;
        ck_assert_int_eq(skel_rig_joints(&c->d, &got[0][0][0], NULL), SKEL_OK);
        for (int k = 0; k < SAMPLES; ++k)
            for (int i = 0; i < BONES; ++i) {
                const skel_bone_desc *b = &c->bones[i];
                const m4 rest = m4_of_rest(b->rest);
                const quat turn = q_of(got[k][i] + 3);
                m4 from = rest, up = m4_of((v3){0, 0, 0}, q_identity(), 1);
                rig[i] = m4_of_floats(c->matrices[k][i]);
                for (int e = 0; e < 9; ++e) rig[i].m[e / 3][e % 3] /= 0.5 + 0.1 * i;
                if (b->parent >= 0) {
                    from = m4_mul(m4_inverse(m4_of_rest(c->bones[b->parent].rest)), rest);
                    up = rig[b->parent];
                }
                for (int e = 0; e < 3; ++e) from.m[e][3] = 0;
                const m4 at = m4_mul(up, m4_mul(from, m4_of(v3_of(got[k][i]), turn, 1)));
                const m4 kept = m4_mul(rest, m4_of((v3){0, 0, 0}, turn, 1));
                const m4 way = b->flags & SKEL_BONE_KEEPS_ROTATION ? kept : at;
                for (int e = 0; e < 9; ++e)
                    near1(way.m[e / 3][e % 3], rig[i].m[e / 3][e % 3], 3e-6);
                for (int e = 0; e < 3; ++e) near1(at.m[e][3], rig[i].m[e][3], 3e-6);
                if (k) ck_assert_double_gt(q_dot(turn, q_of(got[k - 1][i] + 3)), 0);
            }
        free_case(c);
    }
}
END_TEST

/* A bone that spins through every gimbal lock: no channel ever jumps. */
START_TEST(channels_are_continuous) {
    for (int mode = -1; mode <= 6; ++mode)
        for (int axis = 0; axis < 3; ++axis) {
            rng r = rng_seed((uint64_t)(mode + 8 * axis + 1));
            rig_case *c = random_case(&r, 0);
            for (int i = 0; i < BONES; ++i) {
                double at[7] = {0, 0, 0, 1, 0, 0, 0};
                c->bones[i] =
                    (skel_bone_desc){.struct_size = sizeof c->bones[i],
                                     .parent = -1,
                                     .body = i,
                                     .rotation = mode,
                                     .channels = SKEL_CHANNEL_ROTATION,
                                     .scale = 1,
                                     .rest = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
                                     .offset = {0, 0, 0, 1, 0, 0, 0}};
                for (int k = 0; k < SAMPLES;
                     ++k) { /* three turns in all; the first through locks */
                    const double turn = 3 * SKEL__TURN * k / SAMPLES;
                    const quat q = q_mul(q_about(axis, turn), q_about((axis + 1) % 3, 0.05 * i));
                    q_to(q_neg(q), at + 3);
                    memcpy(c->poses[k][i], at, sizeof at);
                }
            }
            m4_to_floats(m4_of((v3){0, 0, 0}, q_identity(), 1), c->object[0]);
            bake_case(c);
            check_case(c, 3e-6);
            const size_t width = mode > 0 ? 3 : 4;
            double jump = 0;
            for (size_t ch = 0; ch < width * BONES; ++ch)
                for (int k = 1; k < SAMPLES; ++k)
                    jump = fmax(jump, fabs(key_value(c, ch, k) - key_value(c, ch, k - 1)));
            /* near a lock both outer angles may turn by half a turn, never by more */
            ck_assert_msg(jump < 3.3, "mode %d, axis %d: a channel jumps by %g", mode, axis, jump);
            if (mode == 0)
                for (int i = 0; i < BONES; ++i)
                    for (int k = 1; k < SAMPLES; ++k) {
                        double dot = 0;
                        for (size_t w = 0; w < 4; ++w)
                            dot += key_value(c, 4 * (size_t)i + w, k) *
                                   key_value(c, 4 * (size_t)i + w, k - 1);
                        ck_assert_double_gt(dot, 0);
                    }
            free_case(c);
        }
}
END_TEST

/* A spin about one axis of the order is that one angle, growing beyond any turn. */
START_TEST(angles_go_on) {
    for (int mode = -1; mode <= 6; ++mode) {
        if (mode == 0) continue;
        double t[4] = {0, 0, 0, 1}, most = 0;
        for (int k = 0; k <= 100; ++k) {
            const quat q = q_about(2, 0.3 * k);
            if (mode > 0)
                q_to_euler(q, mode, t);
            else
                q_to_axis_angle(q, t);
            near1(mode > 0 ? t[2] : t[0] * t[3], 0.3 * k, 1e-9);
            most = fmax(most, fabs(t[mode > 0 ? 2 : 0]));
        }
        near1(most, 30, 1e-9);
    }
}
END_TEST

START_TEST(goes_on_from_near) { /* the first key joins what was there before */
    rng r = rng_seed(12);
    rig_case *c = random_case(&r, 0);
    for (int i = 0; i < BONES; ++i) {
        skel_bone_desc *b = &c->bones[i];
        b->rotation = i % 2 ? SKEL_ROTATION_XYZ : SKEL_ROTATION_QUATERNION;
        b->channels = SKEL_CHANNEL_ROTATION;
    }
    bake_case(c);
    rig_case *d = malloc(sizeof *d);
    memcpy(d, c, sizeof *d);
    d->d.bones = d->bones, d->d.poses = &d->poses[0][0][0], d->d.object = &d->object[0][0];
    size_t channel = 0;
    for (int i = 0; i < BONES; ++i) {
        skel_bone_desc *b = &d->bones[i];
        for (int k = 0; k < (i % 2 ? 3 : 4); ++k)
            b->near[k] =
                i % 2 ? key_value(c, channel++, 0) + SKEL__TURN : -key_value(c, channel++, 0);
    }
    bake_case(d);
    for (channel = 0; channel < d->count / 2 / SAMPLES; ++channel) {
        const double was = key_value(c, channel, 9), is = key_value(d, channel, 9);
        const int euler = channel % 7 > 3; /* 4 of a quaternion, then 3 angles */
        near1(is, euler ? was + SKEL__TURN : -was, 2e-6);
    }
    free_case(c);
    free_case(d);
}
END_TEST

START_TEST(frames_and_counts) {
    rng r = rng_seed(3);
    rig_case *c = random_case(&r, 0);
    size_t channels = 0;
    for (int i = 0; i < BONES; ++i) channels += c->bones[i].rotation > 0 ? 6 : 7;
    bake_case(c);
    ck_assert_uint_eq(c->count, 2 * channels * SAMPLES);
    for (size_t ch = 0; ch < channels; ++ch)
        for (size_t k = 0; k < SAMPLES; ++k)
            ck_assert_double_eq((double)c->keys[2 * (ch * SAMPLES + k)], 10 + 2 * (double)k);
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_eq(skel_bake_channels(&c->d, c->keys, c->count - 1, NULL, &err), SKEL_E_BUFFER);
    free_case(c);
}
END_TEST

static void refused(rig_case *c, const char *text) {
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_lt(skel_bake_channels(&c->d, c->keys, c->count, NULL, &err), 0);
    ck_assert_msg(strstr(err.text, text) != NULL, "'%s' does not say '%s'", err.text, text);
}

START_TEST(says_what_is_wrong) {
    rng r = rng_seed(4);
    rig_case *c = random_case(&r, 0);
    bake_case(c);
    const skel_bone_desc bone = c->bones[3];
    c->bones[3].parent = 3, refused(c, "bones[3].parent");
    c->bones[3] = bone, c->bones[3].body = BONES, refused(c, "bones[3].body");
    c->bones[3] = bone, c->bones[3].rotation = 7, refused(c, "bones[3].rotation");
    c->bones[3] = bone, c->bones[3].scale = 0, refused(c, "bones[3]");
    c->bones[3] = bone, c->bones[3].body = -1, refused(c, "must have a body");
    c->bones[3] = bone, c->poses[2][3][0] = NAN, refused(c, "sample 2 of bone 3");
    c->poses[2][3][0] = 0;
    for (int k = 0; k < 3; ++k) c->object[0][4 + k] += 0.01f * c->object[0][k]; /* a shear */
    refused(c, "not scaled alike");
    for (int k = 0; k < 3; ++k) c->object[0][4 + k] -= 0.01f * c->object[0][k];
    for (int k = 0; k < 3; ++k) c->object[0][k] *= 1.01f;
    refused(c, "not scaled alike");
    for (int k = 0; k < 3; ++k) c->object[0][k] *= -1;
    refused(c, "mirrored");
    c->d.object_count = 2, refused(c, "object_count");
    ck_assert_int_eq(skel_bake_channels(NULL, NULL, 0, NULL, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_rig_poses(NULL, NULL, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_rig_joints(NULL, NULL, NULL), SKEL_E_ARGUMENT);
    free_case(c);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("channels");
    TCase *cases = tcase_create("channels");
    tcase_add_loop_test(cases, keys_give_the_poses_back, 0, 3);
    tcase_add_test(cases, askew_at_rest);
    tcase_add_test(cases, keys_beside_bones_that_go_their_own_way);
    tcase_add_loop_test(cases, posed_parents, 0, 2);
    tcase_add_test(cases, matrices_give_poses);
    tcase_add_test(cases, matrices_give_joints);
    tcase_add_test(cases, channels_are_continuous);
    tcase_add_test(cases, angles_go_on);
    tcase_add_test(cases, goes_on_from_near);
    tcase_add_test(cases, frames_and_counts);
    tcase_add_test(cases, says_what_is_wrong);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
