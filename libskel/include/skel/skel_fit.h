/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   From a weighted skin to rigid bodies.

   A skin is a mesh of triangles in the rest pose. Every vertex follows some bones with weights. The
   functions measure which part of the skin follows which bone, fit capsules and boxes to the skin
   of a body, and share the volume of the skin among the bodies.

   The area of the skin is represented by samples: points that are spread evenly over it, each with
   the interpolated weights of its triangle. They are the same in every run.

   Lengths have the unit of the vertices, whatever it is. Areas and volumes have its square and its
   cube. Columns of volume are parallel to z. Quaternions have the order w x y z. */
#ifndef SKEL_FIT_H
#define SKEL_FIT_H

#include <skel/skel_model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a skin -----------------------------------------------------------------------------------*/

/** The number of samples if skel_fit_desc.sample_count is 0. */
#define SKEL_FIT_SAMPLES 8000
/** The largest number of samples. */
#define SKEL_FIT_SAMPLES_MAX 100000
/** The largest number of vertices, of triangles and of bones. */
#define SKEL_FIT_COUNT_MAX 10000000
/** The number of weights of a vertex or of a sample that count: the largest ones. */
#define SKEL_FIT_WEIGHTS 16

/** Describes a skin. All arrays belong to the caller and are read during skel_fit_create only. */
typedef struct skel_fit_desc {
    uint32_t struct_size;    /**< sizeof this struct, as the caller was compiled */
    uint32_t vertex_count;   /**< number of vertices, at most SKEL_FIT_COUNT_MAX */
    uint32_t triangle_count; /**< number of triangles, at most SKEL_FIT_COUNT_MAX */
    uint32_t bone_count;     /**< number of bones, at most SKEL_FIT_COUNT_MAX */
    uint32_t sample_count;   /**< number of samples; 0: SKEL_FIT_SAMPLES */
    uint32_t reserved;       /**< must be 0 */
    /** vertex_count x 3 coordinates in the rest pose, in any unit of length */
    const double *vertices;
    /** triangle_count x 3 indices of vertices, counter-clockwise if seen from outside */
    const int32_t *triangles;
    /** vertex_count + 1 indices, from 0 and not decreasing. The entries offsets[i] to
        offsets[i + 1] - 1 of `bones` and `weights` belong to vertex i. */
    const int32_t *offsets;
    const int32_t *bones;  /**< indices of bones, offsets[vertex_count] entries */
    const double *weights; /**< weights >= 0, as many; the sum of a vertex need not be 1 */
    const skel_allocator *allocator; /**< copied; NULL: malloc and free */
} skel_fit_desc;
/** Sets every field to its default. `size` is sizeof the struct, as the caller was compiled. */
SKEL_API void skel_fit_desc_init_sized(skel_fit_desc *desc, size_t size);
/** Sets every field to its default. */
#define skel_fit_desc_init(d) skel_fit_desc_init_sized((d), sizeof *(d))

/** A skin with its samples. It belongs to one thread at a time. */
typedef struct skel_fit skel_fit;

/** Creates a skin: welds vertices that are closer than 1e-5 of its size, drops triangles without
    area, normalises the weights of every vertex and places the samples. A vertex without weights
    follows no bone. The caller destroys it. On failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_fit_create(const skel_fit_desc *desc, skel_fit **out, skel_error *err);
/** Destroys a skin. fit may be NULL. */
SKEL_API void skel_fit_destroy(skel_fit *fit);

/** Measures of a skin. Only vertices of triangles count. */
typedef struct skel_fit_info {
    uint32_t struct_size; /**< sizeof this struct, as the caller was compiled */
    /** 1 if every edge of the welded mesh is used as often in one direction as in the other */
    int32_t is_closed;
    uint32_t sample_count; /**< number of samples */
    uint32_t pair_count;   /**< number of pairs of bones that share skin */
    double low[3];         /**< lower corner of the bounding box [length] */
    double high[3];        /**< upper corner of the bounding box [length] */
    double size;           /**< longest edge of the bounding box [length] */
    double area;           /**< area of all triangles [length^2] */
    /** volume by the divergence theorem [length^3]: overlapping shells count twice, and a mesh that
        is turned inside out has a negative volume */
    double volume;
} skel_fit_info;
/** Writes the measures of a skin. out->struct_size must be set before the call. */
SKEL_API skel_status skel_fit_get_info(const skel_fit *fit, skel_fit_info *out);

/* ---- bones ------------------------------------------------------------------------------------*/

/** Writes the share of every bone (bone_count entries): the integral of its weight over the skin,
    relative to the area of the skin. The sum is 1 if every vertex has weights. */
SKEL_API skel_status skel_fit_get_shares(const skel_fit *fit, double *shares);

/** Writes all pairs of bones a < b that share skin, in ascending order: `pairs` (pair_count x 2
    indices) and `shares` (pair_count entries), the integral of min(w_a, w_b) over the skin,
    relative to the area of the skin. */
SKEL_API skel_status skel_fit_get_shared(const skel_fit *fit, int32_t *pairs, double *shares);

/** Writes the shared skin of two bones: its share as in skel_fit_get_shared and its middle
    [length]. If the share is 0, the middle is not written. */
SKEL_API skel_status skel_fit_get_shared_middle(const skel_fit *fit, int32_t a, int32_t b,
                                                double *share, double middle[3]);

/** Writes the reach of a set of bones (`count` indices) from a point: the distance [length] within
    which the given fraction (0 to 1) of the samples lies that follow one of these bones most. It is
    0 if there are none. */
SKEL_API skel_status skel_fit_get_reach(skel_fit *fit, const int32_t *bones, uint32_t count,
                                        const double point[3], double fraction, double *reach);

/* ---- bodies -----------------------------------------------------------------------------------*/

/** Assigns bones to bodies. body_of_bone has bone_count entries, each -1 (none) or less than
    body_count. A sample belongs to the body with the largest sum of weights; of equal bodies, to
    the one whose first bone has the lowest index. err may be NULL. */
SKEL_API skel_status skel_fit_set_bodies(skel_fit *fit, const int32_t *body_of_bone,
                                         uint32_t body_count, skel_error *err);

/** Describes a body whose shape is wanted. */
typedef struct skel_fit_shape_desc {
    uint32_t struct_size; /**< sizeof this struct, as the caller was compiled */
    int32_t body;         /**< index of the body, see skel_fit_set_bodies */
    int32_t has_target;   /**< 1: `target` counts; 0: the body has no child and no known end */
    int32_t is_end;       /**< 1: nothing hangs on the body (hand, foot, head); it may be a box */
    double joint[3];      /**< joint to the parent, or the head of the root [length] */
    double target[3];     /**< mean of the joints of the children, or another point on the line */
    /** radii of neighbouring bodies (radius_count entries > 0) [length]. They are used if the skin
        of the body is too small to tell its own. NULL: none. Read during the call only. */
    const double *radii;
    uint32_t radius_count; /**< number of entries of `radii`; 0 if `radii` is NULL */
    uint32_t reserved;     /**< must be 0 */
} skel_fit_shape_desc;
/** Sets every field to its default. `size` is sizeof the struct, as the caller was compiled. */
SKEL_API void skel_fit_shape_desc_init_sized(skel_fit_shape_desc *desc, size_t size);
/** Sets every field to its default. */
#define skel_fit_shape_desc_init(d) skel_fit_shape_desc_init_sized((d), sizeof *(d))

/** A fitted shape.

    Orientation: z is the long axis and points away from the joint (if the joint is the centre, the
    largest coordinate of z is positive). Capsule: x depends on z only. Box: x is the wider and y
    the narrower of the other two edges, and the largest coordinate of x is positive. */
typedef struct skel_fit_shape {
    uint32_t struct_size; /**< sizeof this struct, as the caller was compiled */
    /** SKEL_SHAPE_CAPSULE, SKEL_SHAPE_BOX, or SKEL_SHAPE_NONE if no sample follows the body; all
        other fields are 0 then */
    int32_t shape;
    uint32_t sample_count; /**< number of samples of the body */
    uint32_t reserved;     /**< 0 */
    double position[3];    /**< centre of the shape [length] */
    double orientation[4]; /**< shape to skin (w x y z) */
    /** capsule: length between the centres of the caps (0: a sphere), radius, 0; box: edges along
        x, y and z [length], as size[] of skel_body_desc */
    double size[3];
    /** mean distance of the samples from the surface, relative to the radius; box: relative to half
        of the mean of the edges x and y */
    double residual;
    /** area of the body's skin relative to the surface of the shape; below 0.5 the skin is a
        strip */
    double cover;
    /** fraction of the body's samples within 1.5 radii of the capsule's axis; box: within the box
        with edges that are 1.5 times as long */
    double inside;
    double volume; /**< volume of the shape [length^3] */
} skel_fit_shape;

/** Fits a shape to the samples of a body. out->struct_size must be set before the call. err may be
    NULL. */
SKEL_API skel_status skel_fit_solve_shape(skel_fit *fit, const skel_fit_shape_desc *desc,
                                          skel_fit_shape *out, skel_error *err);

/** Shares the volume inside the skin among the bodies. A point is inside if its winding number is
    positive (negative, if the whole mesh is turned inside out), so overlapping shells count once.
    It belongs to the body of the nearest sample that has one.

    Writes the volume (body_count entries) [length^3] and the centre of mass (body_count x 3)
    [length] of every body; the centre of a body without volume is 0 0 0. `open_share` (NULL is
    allowed) is the share of the vertical columns whose surfaces do not pair up: 0 if the mesh is
    closed. If it is large, the volumes mean little, and the volumes of the shapes are better. */
SKEL_API skel_status skel_fit_get_volumes(skel_fit *fit, double *volumes, double *centres,
                                          double *open_share);

#ifdef __cplusplus
}
#endif
#endif
