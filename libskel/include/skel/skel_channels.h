/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Poses of bodies and the channels of an animated rig, both ways. A rig is a tree of bones that
   hangs in an object; each bone has a place at rest, and what is animated is how far it is from
   there (its basis: location and rotation), seen from its parent. Blender's armatures are such
   rigs; nothing here knows Blender. */
#ifndef SKEL_CHANNELS_H
#define SKEL_CHANNELS_H

#include <skel/skel_base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a bone's rotation is written. Euler angles: the axis named first turns first. */
enum {
    SKEL_ROTATION_AXIS_ANGLE = -1, /**< 4 channels: angle, x y z; the angle goes on beyond a turn */
    SKEL_ROTATION_QUATERNION = 0,  /**< 4 channels: w x y z; consecutive ones have a positive dot */
    /** 3 channels: the angles about x, y and z, in this order; of all sets of angles, the one
        nearest to the sample before */
    SKEL_ROTATION_XYZ = 1,
    SKEL_ROTATION_XZY = 2, /**< likewise */
    SKEL_ROTATION_YXZ = 3, /**< likewise */
    SKEL_ROTATION_YZX = 4, /**< likewise */
    SKEL_ROTATION_ZXY = 5, /**< likewise */
    SKEL_ROTATION_ZYX = 6  /**< likewise */
};

/** Flags of a bone. */
enum {
    SKEL_BONE_KEEPS_ROTATION = 1, /**< its parent's rotation does not turn it */
    SKEL_BONE_KEEPS_SCALE = 2,    /**< its parent's scale does not scale it */
    /** its location is along the axes of its parent, or of the rig where it has none; else along
        its own at rest */
    SKEL_BONE_PARENT_AXES = 4,
    /** of a bone without channels: its matrices are poses in the rig, not its basis */
    SKEL_BONE_POSED = 8
};

/** Channels of a bone. */
enum {
    SKEL_CHANNEL_LOCATION = 1, /**< x y z */
    SKEL_CHANNEL_ROTATION = 2  /**< as SKEL_ROTATION_* says */
};

/** Matrices are 4 x 4, column after column. */
typedef struct skel_bone_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t parent;       /**< a bone before this one; -1: none */
    int32_t body;         /**< its place in the poses; -1: none, the bone goes by its matrices */
    int32_t rotation;     /**< SKEL_ROTATION_*, default QUATERNION */
    uint32_t flags;       /**< SKEL_BONE_* */
    /** SKEL_CHANNEL_*: what to write; what is not written goes by the matrices. Must be 0 where
        body is -1. Default 0 */
    uint32_t channels;
    /** of the basis, > 0, the same along all axes and at all times; default 1 */
    double scale;
    /** in the rig, a matrix: head, and axes without scale; that they are not quite at right
        angles counts */
    double rest[16];
    double offset[7]; /**< in the body, from its centre of mass: head x y z [m], axes w x y z */
    /** channels of the rotation to go on from at the first sample; all zero: no rotation */
    double near[4];
} skel_bone_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_bone_desc_init_sized(skel_bone_desc *desc, size_t size);
/** Calls skel_bone_desc_init_sized with the size of the caller's struct. */
#define skel_bone_desc_init(d) skel_bone_desc_init_sized((d), sizeof *(d))

/** A rig, and the poses or matrices of its samples. */
typedef struct skel_rig_desc {
    uint32_t struct_size;        /**< sizeof this struct in the caller */
    uint32_t bone_count;         /**< number of bones */
    const skel_bone_desc *bones; /**< borrowed until the call returns, as all that follows */
    uint32_t bone_stride;        /**< sizeof(skel_bone_desc) in the caller */
    uint32_t body_count;         /**< of a sample of poses */
    uint32_t sample_count;       /**< >= 1 */
    uint32_t object_count;       /**< 1: it stands still; or sample_count */
    const double *poses;         /**< [sample][body][7]: x y z [m], w x y z, world */
    /** [object_count][16]: rig to world, in host units: turned, moved and scaled alike along all
        axes */
    const float *object;
    const float *matrices;           /**< [matrix_count][bone][16] */
    uint32_t matrix_count;           /**< 0: all at rest; 1: they stand still; or sample_count */
    uint32_t reserved;               /**< 0 */
    double unit;                     /**< [m] of a host unit, > 0, default 1 */
    double first_frame;              /**< of the keys, default 1 */
    double frame_step;               /**< from sample to sample, > 0, default 1 */
    const skel_allocator *allocator; /**< of scratch memory; NULL: malloc and free */
} skel_rig_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_rig_desc_init_sized(skel_rig_desc *desc, size_t size);
/** Calls skel_rig_desc_init_sized with the size of the caller's struct. */
#define skel_rig_desc_init(d) skel_rig_desc_init_sized((d), sizeof *(d))

/** Keys for the poses of a bake, or any others: keys[channel][sample][2] of (frame, value). The
    channels are those of the bones in order, of a bone first its location (3), then its rotation (4
    or 3). What rounding to float does to a bone is made good by its children; where the axes of a
    bone at rest are not quite at right angles, its y axis comes out right. needed (may be NULL)
    is set to how many floats it takes; keys may be NULL, else SKEL_E_BUFFER where capacity is less.
    err->body is the bone. */
SKEL_API skel_status skel_bake_channels(const skel_rig_desc *desc, float *keys, size_t capacity,
                                        size_t *needed, skel_error *err);

/** The other way: the poses of all bodies that have a bone, from the bones' matrices, which are all
    taken as poses in the rig; matrix_count must be sample_count. poses [sample][body][7]; rows of
    other bodies are left alone. Consecutive quaternions have a positive dot. */
SKEL_API skel_status skel_rig_poses(const skel_rig_desc *desc, double *poses, skel_error *err);

/** How every bone stands in its parent, from the same matrices: joints [sample][bone][7], first
    where its head is from its parent's (from the rig's origin where it has none), in host units
    along its own axes at rest as the parent has turned them, then w x y z, how far it is turned
    from rest. Consecutive quaternions have a positive dot. */
SKEL_API skel_status skel_rig_joints(const skel_rig_desc *desc, double *joints, skel_error *err);

#ifdef __cplusplus
}
#endif
#endif
