/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion between poses of bodies and channels of a rig. For a bone with rest pose A in the rig,
   basis B, parent pose P and parent rest pose A_p, the pose in the rig is
     rotation  P A_p^-1 A B              (A B with KEEPS_ROTATION)
     head      P A_p^-1 A (location)     (P A_p^-1 (head of A) + P (location) with PARENT_AXES)
   Down the tree, B follows from the wanted pose and that of the parent. The parent's pose is the
   one that its channels give after rounding to float, so errors do not accumulate. Poses in the rig
   are matrices, not quaternions, because the rest poses of the host application are orthogonal to a
   few 1e-6 only. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "math/euler.h"

#include <skel/skel_channels.h>

#include <stdint.h>
#include <string.h>

#define CHANNELS_UNEVEN_MAX 1e-4  /* relative differences of the scales of a float matrix */
#define CHANNELS_SKEW_MAX 1e-3    /* deviation of a rest pose from orthonormal axes */
#define CHANNELS_VOLUME_MIN 1e-12 /* relative: a flatter matrix has no orientation */
#define CHANNELS_AXIS_MIN 1e-6    /* length of an axis below which it is replaced */
#define CHANNELS_FLOATS_MAX (SIZE_MAX / sizeof(float))

_Static_assert(sizeof(skel_bone_desc) == offsetof(skel_bone_desc, near) + 32, "tail padding");
_Static_assert(sizeof(skel_rig_desc) == offsetof(skel_rig_desc, allocator) + sizeof(void *),
               "tail padding");
static const skel_bone_desc k_bone = {.struct_size = sizeof k_bone,
                                      .parent = -1,
                                      .body = -1,
                                      .scale = 1,
                                      .rest = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
                                      .offset = {0, 0, 0, 1, 0, 0, 0}};
static const skel_rig_desc k_rig = {
    .struct_size = sizeof k_rig, .unit = 1, .first_frame = 1, .frame_step = 1};

void skel_bone_desc_init_sized(skel_bone_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_bone, sizeof k_bone);
}
void skel_rig_desc_init_sized(skel_rig_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_rig, sizeof k_rig);
}

/* Rotation, translation and uniform scale. */
typedef struct similarity {
    pose x;
    double s;
} similarity;

/* Axes that need not be orthonormal, and a position: rest poses, and poses in the rig. */
typedef struct affine {
    m3 m;
    v3 p;
} affine;

typedef struct bone {
    int32_t parent, body, rotation;
    uint32_t flags, channels;
    double scale;
    pose offset;
    affine rest;      /* in the rig */
    affine from;      /* rest pose relative to that of the parent */
    affine now;       /* in the rig, at the present sample, with its scale */
    double scale_now; /* that scale */
    double turn[4];   /* rotation channels of the last sample, for continuity */
    size_t first;     /* index of its first channel */
} bone;

typedef struct rig {
    skel_allocator allocator;
    skel_rig_desc d;
    bone *bones;
    similarity object; /* of the rig in the world, at the present sample; [m] */
    size_t channels;   /* of all bones */
} rig;

/* ---- reading ---- */

static int is_pose(const double p[7]) {
    double sum = 0;
    for (int k = 0; k < 7; ++k) sum += fabs(p[k]);
    return isfinite(sum) && q_has_direction(q_of(p + 3));
}

static pose pose_of(const double p[7]) {
    return (pose){v3_of(p), q_unit(q_of(p + 3))};
}

static affine affine_of(const double a[16]) {
    return (affine){{{{a[0], a[4], a[8]}, {a[1], a[5], a[9]}, {a[2], a[6], a[10]}}},
                    {a[12], a[13], a[14]}};
}
static v3 affine_point(affine a, v3 p) {
    return v3_add(a.p, m3_mulv(a.m, p));
}
/* from^-1 a */
static affine affine_seen_from(affine a, affine from) {
    const m3 back = m3_inverse(from.m);
    return (affine){m3_mul(back, a.m), m3_mulv(back, v3_sub(a.p, from.p))};
}
/* Whether the axes of a rest pose are nearly orthonormal and right-handed. */
static int is_orthonormal(affine a) {
    const m3 square = m3_tmul(a.m, a.m);
    const double size = fabs(a.p.x) + fabs(a.p.y) + fabs(a.p.z);
    double off = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            off = fmax(off, fabs(m3_at(square, i, j) - (i == j ? 1.0 : 0.0)));
    return isfinite(size) && off < CHANNELS_SKEW_MAX && m3_det(a.m) > 0;
}

/* The quaternion of three orthonormal columns. Shepperd: the largest component first. */
static quat q_of_columns(v3 x, v3 y, v3 z) {
    const double t = x.x + y.y + z.z;
    quat q;
    if (t >= x.x && t >= y.y && t >= z.z)
        q = (quat){1 + t, y.z - z.y, z.x - x.z, x.y - y.x};
    else if (x.x >= y.y && x.x >= z.z)
        q = (quat){y.z - z.y, 1 + x.x - y.y - z.z, y.x + x.y, z.x + x.z};
    else if (y.y >= z.z)
        q = (quat){z.x - x.z, y.x + x.y, 1 + y.y - x.x - z.z, z.y + y.z};
    else
        q = (quat){x.y - y.x, z.x + x.z, z.y + y.z, 1 + z.z - x.x - y.y};
    return q_unit(q);
}

/* The rotation with the given y axis and with z in the plane of y and the given z. */
static quat q_of_axes(v3 y, v3 z) {
    const v3 v = v3_scale(y, 1 / v3_norm(y));
    const v3 side = v3_mad(z, -v3_dot(z, v), v);
    const v3 u = v3_scale(side, 1 / v3_norm(side));
    return q_of_columns(v3_cross(v, u), v, u);
}

/* The similarity of a column-major matrix. Returns 0 if the matrix is mirrored, flat or not finite.
   *uneven is the deviation from a uniform scale without shear. */
static int similarity_of(const float m[16], similarity *out, double *uneven) {
    const v3 x = {m[0], m[1], m[2]}, y = {m[4], m[5], m[6]}, z = {m[8], m[9], m[10]};
    const v3 p = {m[12], m[13], m[14]};
    const double nx = v3_norm(x), ny = v3_norm(y), nz = v3_norm(z);
    const double volume = v3_dot(v3_cross(x, y), z);
    if (!isfinite(nx + ny + nz + fabs(p.x) + fabs(p.y) + fabs(p.z))) return 0;
    if (!(volume > CHANNELS_VOLUME_MIN * nx * ny * nz)) return 0;

    const double shear = fabs(v3_dot(x, y)) / (nx * ny) + fabs(v3_dot(y, z)) / (ny * nz) +
                         fabs(v3_dot(x, z)) / (nx * nz);
    out->s = cbrt(volume);
    out->x = (pose){p, q_of_axes(y, z)};
    *uneven = fmax(fmax(fabs(nx / out->s - 1), fabs(ny / out->s - 1)),
                   fmax(fabs(nz / out->s - 1), shear));
    return 1;
}

/* Reads the pose of the rig at a sample. */
static skel_status read_object(rig *r, uint32_t sample, skel_error *err) {
    const uint32_t k = r->d.object_count > 1 ? sample : 0;
    double uneven;

    if (!similarity_of(r->d.object + 16 * (size_t)k, &r->object, &uneven))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "object: sample %u is mirrored, flat or not finite", k);
    if (uneven > CHANNELS_UNEVEN_MAX)
        return skel__fail(
            err, SKEL_E_ARGUMENT, -1, -1,
            "object: sample %u is not scaled alike along all axes (off by %.3g, must be below %g)",
            k, uneven, CHANNELS_UNEVEN_MAX);

    r->object.x.p = v3_scale(r->object.x.p, r->d.unit);
    r->object.s *= r->d.unit;
    return SKEL_OK;
}

static skel_status read_bone(rig *r, uint32_t i, skel_error *err) {
    const unsigned char *at = (const unsigned char *)r->d.bones + (size_t)i * r->d.bone_stride;
    skel_bone_desc d = k_bone;
    const skel_status status = skel__desc_import(&d, sizeof d, sizeof d, at);
    const int32_t n = (int32_t)i;

    /* The fields. */
    if (status != SKEL_OK)
        return skel__fail(err, status, n, -1,
                          "bones[%d].struct_size: is %u, must be set by skel_bone_desc_init", n,
                          d.struct_size);
    if (d.parent < -1 || d.parent >= n)
        return skel__fail(err, SKEL_E_ARGUMENT, n, -1,
                          "bones[%d].parent: is %d, must be the index of an earlier bone, or -1", n,
                          d.parent);
    if (d.body < -1 || d.body >= (int32_t)r->d.body_count)
        return skel__fail(err, SKEL_E_ARGUMENT, n, -1,
                          "bones[%d].body: is %d, must be -1 or below %u", n, d.body,
                          r->d.body_count);
    if (d.rotation < SKEL_ROTATION_AXIS_ANGLE || d.rotation > SKEL_ROTATION_ZYX)
        return skel__fail(err, SKEL_E_ARGUMENT, n, -1, "bones[%d].rotation: is %d, must be -1..6",
                          n, d.rotation);
    if (!(d.scale > 0) || !isfinite(d.scale) || !is_orthonormal(affine_of(d.rest)) ||
        !is_pose(d.offset))
        return skel__fail(
            err, SKEL_E_ARGUMENT, n, -1,
            "bones[%d]: scale must be > 0, rest must be orthonormal, and offset a pose", n);
    if ((d.channels & ~3u) || (d.flags & ~15u) || (d.body < 0 && d.channels))
        return skel__fail(
            err, SKEL_E_ARGUMENT, n, -1,
            "bones[%d]: channels and flags must have known bits only, and a bone with channels "
            "must have a body",
            n);

    bone *b = &r->bones[i];
    *b = (bone){.parent = d.parent,
                .body = d.body,
                .rotation = d.rotation,
                .flags = d.flags,
                .channels = d.channels,
                .scale = d.scale,
                .rest = affine_of(d.rest),
                .offset = pose_of(d.offset),
                .first = r->channels};
    b->from = d.parent < 0 ? b->rest : affine_seen_from(b->rest, r->bones[d.parent].rest);

    /* The rotation before the first sample; a zero axis is replaced by any other. */
    memcpy(b->turn, d.near, sizeof b->turn);
    if (d.rotation == SKEL_ROTATION_AXIS_ANGLE && v3_norm(v3_of(d.near + 1)) < CHANNELS_AXIS_MIN)
        b->turn[2] = 1;

    if (d.channels & SKEL_CHANNEL_LOCATION) r->channels += 3;
    if (d.channels & SKEL_CHANNEL_ROTATION) r->channels += d.rotation > 0 ? 3 : 4;
    return SKEL_OK;
}

/* Checks the desc and reads its bones. The caller frees r->bones. */
static skel_status open_rig(rig *r, const skel_rig_desc *desc, skel_error *err) {
    if (!desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    r->d = k_rig;
    skel_status status = skel__desc_import(&r->d, sizeof r->d, sizeof r->d, desc);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1,
                          "rig: struct_size is %u, must be set by skel_rig_desc_init",
                          r->d.struct_size);

    /* The counts and scales. */
    const skel_rig_desc *d = &r->d;
    if (!d->bones || !d->object || !d->sample_count || !d->bone_count || !d->bone_stride)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "rig: bones, bone_stride, object and sample_count must be given");
    if (d->object_count != 1 && d->object_count != d->sample_count)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "object_count: is %u, must be 1 or sample_count (%u)", d->object_count,
                          d->sample_count);
    if (d->matrix_count > (d->matrices ? 1u : 0u) && d->matrix_count != d->sample_count)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "matrix_count: is %u, must be 0, 1 or sample_count (%u)", d->matrix_count,
                          d->sample_count);
    if (!(d->unit > 0) || !isfinite(d->unit) || !(d->frame_step > 0) ||
        !isfinite(d->frame_step + d->first_frame))
        return skel__fail(
            err, SKEL_E_ARGUMENT, -1, -1,
            "rig: unit (%g m) and frame_step (%g) must be > 0, first_frame (%g) finite", d->unit,
            d->frame_step, d->first_frame);

    status = skel__allocator_import(&r->allocator, d->allocator);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1,
                          "allocator: lacks a function, must have all of them");

    /* Bones in the order of the desc: parents come first. */
    r->bones = skel__alloc(&r->allocator, (size_t)d->bone_count * sizeof *r->bones);
    if (!r->bones)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for %u bones", d->bone_count);
    for (uint32_t i = 0; status == SKEL_OK && i < d->bone_count; ++i) status = read_bone(r, i, err);
    if (status != SKEL_OK) skel__free(&r->allocator, r->bones);
    return status;
}

/* ---- poses to channels ---- */

/* The quaternion of rotation channels. */
static quat quat_of_rotation(const bone *b, const double turn[4]) {
    if (b->rotation > 0) return q_of_euler(b->rotation, turn);
    if (b->rotation == SKEL_ROTATION_AXIS_ANGLE) {
        const v3 axis = v3_of(turn + 1);
        const double n = v3_norm(axis);
        return q_exp(v3_scale(axis, n > 0 ? turn[0] / n : 0));
    }
    return q_unit(q_of(turn));
}

/* Sets the rotation channels to q, continuous with those of the last sample. */
static void set_rotation(bone *b, quat q) {
    if (b->rotation > 0)
        q_to_euler(q, b->rotation, b->turn);
    else if (b->rotation == SKEL_ROTATION_AXIS_ANGLE)
        q_to_axis_angle(q, b->turn);
    else
        q_to(q_dot(q, q_of(b->turn)) < 0 ? q_neg(q) : q, b->turn);
}

static void write_key(rig *r, float *keys, size_t channel, uint32_t sample, double value) {
    float *key = keys + 2 * (channel * r->d.sample_count + sample);
    key[0] = (float)(r->d.first_frame + sample * r->d.frame_step);
    key[1] = (float)value;
}

/* The pose of a bone by the caller's matrices; the identity if there are none. */
static skel_status given_pose(const rig *r, uint32_t i, uint32_t sample, similarity *out,
                              skel_error *err) {
    *out = (similarity){{{0, 0, 0}, q_identity()}, 1};
    if (r->d.matrix_count == 0) return SKEL_OK;
    const size_t k = r->d.matrix_count > 1 ? sample : 0;
    double uneven;
    if (similarity_of(r->d.matrices + 16 * (k * r->d.bone_count + i), out, &uneven)) return SKEL_OK;
    return skel__fail(err, SKEL_E_ARGUMENT, (int32_t)i, -1,
                      "matrices: sample %u of bone %u is mirrored, flat or not finite", sample, i);
}

/* Writes the keys of location and rotation for the wanted pose. *basis gets the values after
   rounding to float. The host multiplies location by `along` and adds `start`; it multiplies the
   rotation by `turns`. */
static void write_bone(rig *r, bone *b, uint32_t sample, float *keys, v3 start, m3 along, m3 turns,
                       pose *basis) {
    const size_t row = (size_t)sample * r->d.body_count + (size_t)b->body;
    const pose target = pose_mul(pose_of(r->d.poses + 7 * row), b->offset);
    const quat back = q_conj(r->object.x.q);
    size_t c = b->first;

    /* location = along^-1 (head - start) */
    if (b->channels & SKEL_CHANNEL_LOCATION) {
        const v3 head = v3_scale(q_rotate(back, v3_sub(target.p, r->object.x.p)), 1 / r->object.s);
        double l[3];
        v3_to(m3_mulv(m3_inverse(along), v3_sub(head, start)), l);
        for (int k = 0; k < 3; ++k) {
            write_key(r, keys, c++, sample, l[k]);
            l[k] = (float)l[k];
        }
        basis->p = v3_of(l);
    }

    /* rotation = turns^-1 R */
    if (b->channels & SKEL_CHANNEL_ROTATION) {
        const m3 want = q_matrix(q_mul(back, target.q)), undo = m3_inverse(turns);
        double rounded[4];
        set_rotation(
            b, q_of_axes(m3_mulv(undo, m3_column(want, 1)), m3_mulv(undo, m3_column(want, 2))));

        for (int k = 0; k < (b->rotation > 0 ? 3 : 4); ++k) {
            write_key(r, keys, c++, sample, b->turn[k]);
            rounded[k] = (float)b->turn[k];
        }
        basis->q = quat_of_rotation(b, rounded);
    }
}

/* Writes the keys of one bone at one sample, and computes its pose in the rig for its children. */
static skel_status write_sample(rig *r, uint32_t i, uint32_t sample, float *keys, skel_error *err) {
    static const affine k_world = {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, {0, 0, 0}};
    bone *b = &r->bones[i];
    similarity given;
    const skel_status status = given_pose(r, i, sample, &given, err);
    if (status != SKEL_OK) return status;

    /* A bone without channels whose pose in the rig is given. */
    if (!b->channels && b->flags & SKEL_BONE_POSED && r->d.matrix_count) {
        b->now = (affine){m3_scale(q_matrix(given.x.q), given.s), given.x.p};
        b->scale_now = given.s;
        return SKEL_OK;
    }

    /* The transforms that the host applies, see the head comment. */
    const affine up = b->parent < 0 ? k_world : r->bones[b->parent].now;
    const double s = b->parent < 0 ? 1 : r->bones[b->parent].scale_now;
    const v3 start = affine_point(up, b->from.p);
    const m3 full = m3_mul(up.m, b->from.m);
    const m3 along = b->flags & SKEL_BONE_PARENT_AXES ? up.m : full;
    const m3 turns = b->flags & SKEL_BONE_KEEPS_ROTATION ? b->rest.m : m3_scale(full, 1 / s);

    pose basis = given.x;
    if (b->channels) write_bone(r, b, sample, keys, start, along, turns, &basis);
    b->scale_now = b->scale * (b->flags & SKEL_BONE_KEEPS_SCALE ? 1 : s);
    b->now = (affine){m3_scale(m3_mul(turns, q_matrix(basis.q)), b->scale_now),
                      v3_add(start, m3_mulv(along, basis.p))};
    return SKEL_OK;
}

static skel_status check_poses(const rig *r, skel_error *err) {
    if (!r->d.poses) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "poses: is NULL");
    for (uint32_t k = 0; k < r->d.sample_count; ++k)
        for (uint32_t i = 0; i < r->d.bone_count; ++i)
            if (r->bones[i].channels &&
                !is_pose(r->d.poses + 7 * ((size_t)k * r->d.body_count + (size_t)r->bones[i].body)))
                return skel__fail(
                    err, SKEL_E_ARGUMENT, (int32_t)i, -1,
                    "poses: sample %u of bone %u is not a pose; its numbers must be finite and "
                    "its quaternion not zero",
                    k, i);
    return SKEL_OK;
}

/* The number of floats of all keys, and whether `keys` can hold them. */
static skel_status check_buffer(rig *r, float *keys, size_t capacity, size_t *needed,
                                skel_error *err) {
    if (r->channels > CHANNELS_FLOATS_MAX / 2 / r->d.sample_count)
        return skel__fail(err, SKEL_E_TOO_LARGE, -1, -1,
                          "sample_count: is %u, which results in more keys than memory can hold",
                          r->d.sample_count);

    const size_t count = 2 * r->channels * r->d.sample_count;
    if (needed) *needed = count;
    if (!keys) return SKEL_OK;
    if (capacity < count)
        return skel__fail(err, SKEL_E_BUFFER, -1, -1,
                          "keys: has a capacity of %zu floats, needs %zu", capacity, count);
    return r->channels ? check_poses(r, err) : SKEL_OK;
}

skel_status skel_bake_channels(const skel_rig_desc *desc, float *keys, size_t capacity,
                               size_t *needed, skel_error *err) {
    rig r = {0};
    skel_status status = open_rig(&r, desc, err);
    if (status != SKEL_OK) return status;
    status = check_buffer(&r, keys, capacity, needed, err);

    for (uint32_t k = 0; keys && status == SKEL_OK && k < r.d.sample_count; ++k) {
        status = read_object(&r, k, err);
        for (uint32_t i = 0; status == SKEL_OK && i < r.d.bone_count; ++i)
            status = write_sample(&r, i, k, keys, err);
    }

    skel__free(&r.allocator, r.bones);
    return status;
}

/* ---- matrices to poses ---- */

/* Poses of the bodies at a sample, from the matrices of the bones. */
static skel_status read_poses(rig *r, uint32_t sample, double *poses, skel_error *err) {
    skel_status status = read_object(r, sample, err);
    for (uint32_t i = 0; status == SKEL_OK && i < r->d.bone_count; ++i) {
        const bone *b = &r->bones[i];
        similarity in_rig;
        if (b->body < 0) continue;

        status = given_pose(r, i, sample, &in_rig, err);
        if (status != SKEL_OK) break;

        const quat to = r->object.x.q;
        const v3 head = v3_mad(r->object.x.p, r->object.s, q_rotate(to, in_rig.x.p));
        quat q = q_unit(q_mul(to, q_mul(in_rig.x.q, q_conj(b->offset.q))));
        double *row = poses + 7 * ((size_t)sample * r->d.body_count + (size_t)b->body);

        /* The sign of the quaternion is continuous. */
        const double *before = sample > 0 ? row - 7 * (size_t)r->d.body_count : row;
        if (sample > 0 && q_dot(q, q_of(before + 3)) < 0) q = q_neg(q);
        v3_to(v3_sub(head, q_rotate(q, b->offset.p)), row);
        q_to(q, row + 3);
    }
    return status;
}

/* Reads all bones of a sample into `out`. */
typedef skel_status (*reader)(rig *r, uint32_t sample, double *out, skel_error *err);

static skel_status read_all(const skel_rig_desc *desc, reader read, const char *name, double *out,
                            skel_error *err) {
    rig r = {0};
    skel_status status = open_rig(&r, desc, err);
    if (status != SKEL_OK) return status;

    if (!out || !r.d.matrices || r.d.matrix_count != r.d.sample_count)
        status = skel__fail(
            err, SKEL_E_ARGUMENT, -1, -1,
            "%s and matrices: must not be NULL, with one matrix per sample and bone", name);

    for (uint32_t k = 0; status == SKEL_OK && k < r.d.sample_count; ++k)
        status = read(&r, k, out, err);
    skel__free(&r.allocator, r.bones);
    return status;
}

skel_status skel_rig_poses(const skel_rig_desc *desc, double *poses, skel_error *err) {
    return read_all(desc, read_poses, "poses", poses, err);
}

/* Pose of every bone relative to its parent at a sample: the head in the axes of the parent at
   rest, without its scale, and the rotation from rest as in write_bone. */
static skel_status read_joints(rig *r, uint32_t sample, double *joints, skel_error *err) {
    static const affine k_world = {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, {0, 0, 0}};
    for (uint32_t i = 0; i < r->d.bone_count; ++i) {
        bone *b = &r->bones[i];
        similarity given;
        const skel_status status = given_pose(r, i, sample, &given, err);
        if (status != SKEL_OK) return status;

        b->now = (affine){q_matrix(given.x.q), given.x.p};
        const affine up = b->parent < 0 ? k_world : r->bones[b->parent].now;
        const m3 along = m3_mul(up.m, b->from.m);
        const m3 undo = m3_inverse(b->flags & SKEL_BONE_KEEPS_ROTATION ? b->rest.m : along);

        double *row = joints + 7 * ((size_t)sample * r->d.bone_count + i);
        const quat turn =
            q_of_axes(m3_mulv(undo, m3_column(b->now.m, 1)), m3_mulv(undo, m3_column(b->now.m, 2)));
        const double *before = sample > 0 ? row - 7 * (size_t)r->d.bone_count : row;
        const int is_flipped = sample > 0 && q_dot(turn, q_of(before + 3)) < 0;
        v3_to(m3_mulv(m3_inverse(along), v3_sub(given.x.p, up.p)), row);
        q_to(is_flipped ? q_neg(turn) : turn, row + 3);
    }
    return SKEL_OK;
}

skel_status skel_rig_joints(const skel_rig_desc *desc, double *joints, skel_error *err) {
    return read_all(desc, read_joints, "joints", joints, err);
}
