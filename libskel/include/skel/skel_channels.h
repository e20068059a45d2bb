/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Conversion between poses of bodies and animation channels of a rig. A rig is a tree of bones in
   an object. Each bone has a rest pose. Its channels store its basis B, which is the location and
   rotation relative to the rest pose. With the rest pose A of the bone, and the pose P and the rest
   pose A_p of its parent, the pose of the bone in the rig is
     P A_p^-1 A B.
   Blender's armatures are such rigs, but nothing here depends on Blender. */
#ifndef SKEL_CHANNELS_H
#define SKEL_CHANNELS_H

#include <skel/skel_base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Representations of a bone's rotation. Of Euler angles, the axis that is named first turns first.
    Every representation is continuous: of all equivalent values, the one nearest to the sample
    before is taken. */
enum {
    SKEL_ROTATION_AXIS_ANGLE = -1, /**< 4 channels: angle [rad], x y z; it may exceed 2 pi */
    SKEL_ROTATION_QUATERNION = 0,  /**< 4 channels: w x y z */
    SKEL_ROTATION_XYZ = 1,         /**< 3 channels: angles about x, y, z [rad]; x turns first */
    SKEL_ROTATION_XZY = 2, /**< 3 channels: angles about x, y, z [rad]; x turns first, then z */
    SKEL_ROTATION_YXZ = 3, /**< 3 channels: angles about x, y, z [rad]; y turns first, then x */
    SKEL_ROTATION_YZX = 4, /**< 3 channels: angles about x, y, z [rad]; y turns first, then z */
    SKEL_ROTATION_ZXY = 5, /**< 3 channels: angles about x, y, z [rad]; z turns first, then x */
    SKEL_ROTATION_ZYX = 6  /**< 3 channels: angles about x, y, z [rad]; z turns first, then y */
};

/** Flags of a bone. */
enum {
    SKEL_BONE_KEEPS_ROTATION = 1, /**< the bone does not inherit the rotation of its parent */
    SKEL_BONE_KEEPS_SCALE = 2,    /**< the bone does not inherit the scale of its parent */
    /** its location is measured along the axes of its parent (of the rig if it has none), instead
        of its own axes at rest */
    SKEL_BONE_PARENT_AXES = 4,
    /** the matrices of the bone are poses in the rig, not its basis; for bones without channels */
    SKEL_BONE_POSED = 8
};

/** Channels of a bone. */
enum {
    SKEL_CHANNEL_LOCATION = 1, /**< x y z */
    SKEL_CHANNEL_ROTATION = 2  /**< 4 or 3 numbers, see SKEL_ROTATION_* */
};

/** A bone of a rig. Matrices have 4 x 4 numbers, column by column. */
typedef struct skel_bone_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t parent;       /**< index of an earlier bone; -1 (default): none */
    int32_t body;         /**< index in the poses; -1 (default): no body, see matrices */
    int32_t rotation;     /**< SKEL_ROTATION_*, default QUATERNION */
    uint32_t flags;       /**< SKEL_BONE_* */
    /** SKEL_CHANNEL_* that are computed; the others are taken from the matrices. Default 0; must be
        0 if body is -1 */
    uint32_t channels;
    /** scale of the basis, > 0, equal along all axes and constant; default 1 */
    double scale;
    /** rest pose in the rig, as a matrix without scale: axes and head. Small deviations of the axes
        from right angles are respected */
    double rest[16];
    double offset[7]; /**< pose of the bone in the body's frame: head x y z [m], w x y z */
    /** rotation channels before the first sample, which continues them; all zero (default): no
        rotation */
    double near[4];
} skel_bone_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_bone_desc_init_sized(skel_bone_desc *desc, size_t size);
/** Calls skel_bone_desc_init_sized with the size of the caller's struct. */
#define skel_bone_desc_init(d) skel_bone_desc_init_sized((d), sizeof *(d))

/** A rig with the poses and matrices of its samples. All arrays are borrowed until the call
    returns. */
typedef struct skel_rig_desc {
    uint32_t struct_size;        /**< sizeof this struct in the caller */
    uint32_t bone_count;         /**< number of bones */
    const skel_bone_desc *bones; /**< bone_count elements, parents first */
    uint32_t bone_stride;        /**< sizeof(skel_bone_desc) in the caller */
    uint32_t body_count;         /**< number of bodies in a sample of poses */
    uint32_t sample_count;       /**< >= 1 */
    uint32_t object_count;       /**< number of object matrices: 1 if constant, else sample_count */
    const double *poses;         /**< [sample][body][7] in the world: x y z [m], w x y z */
    /** [object_count][16]: matrix from rig to world in host units, with equal scale along all
        axes */
    const float *object;
    const float *matrices; /**< [matrix_count][bone][16]: basis of each bone, or its pose */
    uint32_t matrix_count; /**< 0: all bones at rest; 1: constant; or sample_count */
    uint32_t reserved;     /**< 0 */
    double unit;           /**< length of a host unit [m], > 0, default 1 */
    double first_frame;    /**< frame of the first key, default 1 */
    double frame_step;     /**< frames between two samples, > 0, default 1 */
    const skel_allocator *allocator; /**< for temporary memory; NULL: malloc and free */
} skel_rig_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_rig_desc_init_sized(skel_rig_desc *desc, size_t size);
/** Calls skel_rig_desc_init_sized with the size of the caller's struct. */
#define skel_rig_desc_init(d) skel_rig_desc_init_sized((d), sizeof *(d))

/** Computes keys for poses: keys[channel][sample][2] with frame and value. The channels are those
    of the bones in order; a bone has first its location (3 channels), then its rotation (4 or 3).
    Children compensate for the float rounding of their parents, so errors do not add up along a
    chain. If the rest axes of a bone are not at right angles, its y axis is exact. *needed (may be
    NULL) is set to the number of floats of keys. If keys is NULL, only *needed is computed.
    SKEL_E_BUFFER: capacity, counted in floats, is less. err may be NULL; err->body is the index of
    the bone. */
SKEL_API skel_status skel_bake_channels(const skel_rig_desc *desc, float *keys, size_t capacity,
                                        size_t *needed, skel_error *err);

/** Computes the poses [sample][body][7] of all bodies that have a bone, from the matrices of the
    bones. All matrices are taken as poses in the rig, and matrix_count must be sample_count. Rows
    of bodies without a bone are not written. Consecutive quaternions have a dot product >= 0. */
SKEL_API skel_status skel_rig_poses(const skel_rig_desc *desc, double *poses, skel_error *err);

/** Computes the pose of every bone relative to its parent, from the same matrices as
    skel_rig_poses: joints [sample][bone][7]. The first three numbers are the vector from the
    parent's head (without parent: from the rig's origin) to the bone's head in host units, along
    the bone's rest axes as the parent has turned them. The last four are the rotation from rest, w
    x y z. Consecutive quaternions have a dot product >= 0. */
SKEL_API skel_status skel_rig_joints(const skel_rig_desc *desc, double *joints, skel_error *err);

/** Representations of the channels of a group of keys: SKEL_ROTATION_*, or this. */
enum {
    SKEL_KEYS_VECTOR = -2 /**< 1 to 4 channels: a location, or any other vector */
};

/** Numbers of a reduced key: frame and value, then those of its left and of its right handle. */
#define SKEL_KEY_NUMBERS 6

/** Keys of one location or one rotation, at every sample. */
typedef struct skel_keys_desc {
    uint32_t struct_size;   /**< sizeof this struct in the caller */
    int32_t kind;           /**< SKEL_KEYS_VECTOR (default) or SKEL_ROTATION_* */
    uint32_t channel_count; /**< as the kind has it */
    uint32_t key_count;     /**< of each channel, >= 1 */
    /** [channel][key][2]: frame and value, as skel_bake_channels writes them. All channels have the
        same frames, in ascending order. Borrowed until the call returns */
    const float *keys;
    /** largest error at the frame of any key, >= 0, default 0. Of a vector: the distance, in its
        own unit. Of a rotation: the angle between both rotations [rad] */
    double tolerance;
    const skel_allocator *allocator; /**< for temporary memory; NULL: malloc and free */
} skel_keys_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_keys_desc_init_sized(skel_keys_desc *desc, size_t size);
/** Calls skel_keys_desc_init_sized with the size of the caller's struct. */
#define skel_keys_desc_init(d) skel_keys_desc_init_sized((d), sizeof *(d))

/** Replaces keys at every sample by few keys with Bezier handles. The result deviates from the
    given keys by no more than the tolerance at the frame of each of them; between frames it is
    smooth. Handles are at a third of the way to the next key, so that time is nearly linear in the
    Bezier parameter; the rounding of handles to float is part of the error that is bounded. The
    host may evaluate curves in float and must normalise quaternions and axes.

    The channels that move have their keys at the same frames, each of them at a given sample with
    its value; a channel that is constant within a small part of the tolerance has one key. If the
    tolerance is 0, every key stays, and the handles lie on straight lines.

    reduced [channel][key_count][SKEL_KEY_NUMBERS] gets counts[channel] keys of each channel, at its
    beginning; the rest is undefined. reduced has room for `capacity` floats; SKEL_E_BUFFER: that is
    too few. counts has room for channel_count numbers. err may be NULL. */
SKEL_API skel_status skel_keys_reduce(const skel_keys_desc *desc, float *reduced, size_t capacity,
                                      uint32_t *counts, skel_error *err);

#ifdef __cplusplus
}
#endif
#endif
