/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Denavit-Hartenberg tables [ERL], [SIE 8.2]: another description of a chain of hinges and slides.
   The functions convert between three descriptions: paired joint frames (a model), the table, and
   the poses of all links (maximal coordinates). A row is the transform
     standard  A_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i)     frame i is at the end of link i
     modified  A_i = Rx(alpha_i) Tx(a_i) Rz(theta_i) Tz(d_i)     frame i is at the start of link i;
               row i holds the numbers that books call a_{i-1} and alpha_{i-1} (Craig; ERRATA S11).
   The pose of frame i in the world is  base A_1 .. A_i,  that of the tool  base A_1 .. A_n tool.
   A pose has 7 numbers: x y z [m] and the unit quaternion w x y z. */
#ifndef SKEL_DH_H
#define SKEL_DH_H

#include <skel/skel_model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Conventions of a table. */
enum {
    SKEL_DH_STANDARD = 0, /**< Rz(theta) Tz(d) Tx(a) Rx(alpha) */
    SKEL_DH_MODIFIED = 1  /**< Rx(alpha) Tx(a) Rz(theta) Tz(d) */
};

/** Position of the axis of a row relative to the axis of the next row. Only skew and intersecting
    axes have a unique common normal; libskel/README.md lists the choice for the others. */
enum {
    SKEL_DH_SKEW = 0,         /**< neither parallel nor intersecting */
    SKEL_DH_INTERSECTING = 1, /**< the axes have one point in common */
    SKEL_DH_PARALLEL = 2,     /**< parallel with the same sense, at a distance */
    SKEL_DH_ANTIPARALLEL = 3, /**< parallel with opposite sense, at a distance */
    SKEL_DH_COINCIDENT = 4,   /**< on one line, with the same sense */
    SKEL_DH_OPPOSED = 5,      /**< on one line, with opposite sense */
    SKEL_DH_LAST = 6          /**< there is no next axis */
};

/** A row. At the joint coordinate q, a hinge has the angle theta + offset + sign q, and a slide has
    the length d + offset + sign q. */
typedef struct skel_dh_row {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t type;         /**< SKEL_JOINT_HINGE or SKEL_JOINT_SLIDE */
    double a;             /**< length of the common normal [m] */
    double alpha;         /**< angle between the axes [rad] */
    double d;             /**< distance along the axis [m] */
    double theta;         /**< angle about the axis [rad] */
    double offset;        /**< added to theta [rad] or d [m] */
    double sign;          /**< 1 (default) or -1 */
    int32_t joint;        /**< joint of the model that the row was extracted from; -1: none */
    int32_t part;         /**< index of the joint's coordinate; a ball has three hinges 0 1 2 */
    int32_t relation;     /**< SKEL_DH_SKEW to _LAST in extracted tables */
    int32_t reserved;     /**< 0 */
    /** extracted tables: angle by which the next axis was turned to make it parallel [rad]; 0: it
        was not turned */
    double turned;
    /** extracted tables: distance of the given points of the axes from their common normal [m];
        distances below 1e-9 m are given as 0 */
    double normal_distance;
} skel_dh_row;

/** Arguments of skel_dh_create. */
typedef struct skel_dh_desc {
    uint32_t struct_size;    /**< sizeof this struct in the caller */
    int32_t convention;      /**< SKEL_DH_STANDARD or SKEL_DH_MODIFIED */
    const skel_dh_row *rows; /**< borrowed until the call returns */
    uint32_t row_count;      /**< number of rows */
    uint32_t row_stride;     /**< sizeof(skel_dh_row) in the caller */
    /** pose before the first row in the world: x y z [m], w x y z; default: at the origin */
    double base[7];
    double tool[7];                  /**< pose of the tool in the last frame */
    const skel_allocator *allocator; /**< copied; NULL: malloc and free */
} skel_dh_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_dh_desc_init_sized(skel_dh_desc *desc, size_t size);
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_dh_row_init_sized(skel_dh_row *row, size_t size);
/** Calls skel_dh_desc_init_sized with the size of the caller's struct. */
#define skel_dh_desc_init(d) skel_dh_desc_init_sized((d), sizeof *(d))
/** Calls skel_dh_row_init_sized with the size of the caller's struct. */
#define skel_dh_row_init(r) skel_dh_row_init_sized((r), sizeof *(r))

/** A table. It never changes after its creation. */
typedef struct skel_dh skel_dh;

/** Creates a table. On success the caller owns *out; on failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_dh_create(const skel_dh_desc *desc, skel_dh **out, skel_error *err);
SKEL_API void skel_dh_destroy(skel_dh *dh); /**< does nothing if NULL */
/** Number of rows. */
SKEL_API int32_t skel_dh_row_count(const skel_dh *dh);
/** Convention of the table: SKEL_DH_STANDARD or SKEL_DH_MODIFIED. */
SKEL_API int32_t skel_dh_convention(const skel_dh *dh);
/** Copies a row. Set out->struct_size first. SKEL_E_ARGUMENT: there is no such row. */
SKEL_API skel_status skel_dh_get_row(const skel_dh *dh, int32_t row, skel_dh_row *out);
/** Copies base and tool of the table; each may be NULL. */
SKEL_API skel_status skel_dh_get_ends(const skel_dh *dh, double base[7], double tool[7]);

/** Number of poses at which a receipt compares. */
enum { SKEL_DH_TEST_POSES = 64 };

/** Error of a table: the largest deviation of its tool from the tool of the chain that it was
    extracted from. The chain is evaluated as the product of the motions about its given axes, which
    does not use the rows. The joint coordinates of the compared poses are pseudo-random, pose by
    pose and row by row:
      s_0 = 1,  s_k = 48271 s_(k-1) mod m,  m = 2^31 - 1,
      q_k = (2 s_k / m - 1) c,  c = pi (hinge) or the reach (slide). */
typedef struct skel_dh_receipt {
    uint32_t struct_size;  /**< sizeof this struct in the caller */
    int32_t poses;         /**< number of compared poses; 0: the table was not extracted */
    double position_error; /**< largest error of the tool's position [m] */
    double angle_error;    /**< largest error of the tool's orientation [rad] */
    double reach;          /**< length from point to point of the axes and to the tool [m] */
    double longest;        /**< largest |a| or |d| [m]; if it is many reaches, numbers cancel */
    int32_t longest_row;   /**< index of the row with `longest` */
    int32_t turned_count;  /**< number of rows whose next axis was turned */
} skel_dh_receipt;
/** Copies the error of an extracted table. Set out->struct_size first. */
SKEL_API skel_status skel_dh_get_receipt(const skel_dh *dh, skel_dh_receipt *out);
/** Compares the tools of two tables with the same joints in the same way. The reach is the sum of
    |a|, |d| and the tool's distance of `other`. Set out->struct_size first. */
SKEL_API skel_status skel_dh_compare(const skel_dh *dh, const skel_dh *other, skel_dh_receipt *out);

/** Converts a table to a convention without error: a and alpha move by one row, and those of the
    ends become part of base and tool (ERRATA S11). This function and those below return
    SKEL_E_ARGUMENT if a result is not finite. */
SKEL_API skel_status skel_dh_convert(const skel_dh *dh, int32_t convention, skel_dh **out,
                                     skel_error *err);

/** Computes the poses of the frames of all links and of the tool: (row_count + 1) x 7. */
SKEL_API skel_status skel_dh_frames(const skel_dh *dh, const double *q, double *frames);
/** Computes q (row_count) from the poses of the frames (row_count x 7), as skel_dh_frames has them.
    Angles lie between -pi and pi. If the frames do not fit the table, the nearest q is taken. */
SKEL_API skel_status skel_dh_coordinates(const skel_dh *dh, const double *frames, double *q);
/** Converts a table to paired joint frames: fills row_count bodies and joints. The caller has
    initialised them; body_stride and joint_stride are their sizes in the caller [byte]. Body i lies
    at frame i for q = 0. Joint i links body i - 1 to body i, the first joint the world to body 0.
    Only the type, parent, child and frames of joints and the pose of bodies are set. */
SKEL_API skel_status skel_dh_get_descs(const skel_dh *dh, skel_body_desc *bodies,
                                       size_t body_stride, skel_joint_desc *joints,
                                       size_t joint_stride);

/** Arguments of skel_dh_from_axes: joint axes in the world at q = 0. Arrays are borrowed until the
    call returns. */
typedef struct skel_dh_axes_desc {
    uint32_t struct_size;     /**< sizeof this struct in the caller */
    int32_t convention;       /**< SKEL_DH_STANDARD or SKEL_DH_MODIFIED */
    uint32_t count;           /**< number of axes */
    uint32_t reserved;        /**< 0 */
    const double *points;     /**< count x 3: a point on each axis [m] */
    const double *directions; /**< count x 3: direction of each axis, any length > 0 */
    const int32_t *types;     /**< count: SKEL_JOINT_HINGE or SKEL_JOINT_SLIDE; NULL: hinges */
    double tip[7];            /**< pose of the tool, which the last axis moves */
    /** axes are taken as parallel if their angle is below snap [rad], and as intersecting if their
        distance is below snap times the reach; default 1e-6, for float32 input */
    double snap;
    const skel_allocator *allocator; /**< copied; NULL: malloc and free */
    /** Nearly parallel axes have a distant common normal, and their table has very large lengths
        that cancel. If their angle is below parallel_tolerance [rad], the normal is more than 5
        reaches away, and the tool moves by less than 2e-4 of the reach, the axes are taken as
        parallel, and `turned` of the row tells the angle. Default 1e-3; 0: never. */
    double parallel_tolerance;
} skel_dh_axes_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_dh_axes_desc_init_sized(skel_dh_axes_desc *desc, size_t size);
/** Calls skel_dh_axes_desc_init_sized with the size of the caller's struct. */
#define skel_dh_axes_desc_init(d) skel_dh_axes_desc_init_sized((d), sizeof *(d))
/** Computes the table of given axes. On success the caller owns *out; on failure *out is NULL. err
    may be NULL. */
SKEL_API skel_status skel_dh_from_axes(const skel_dh_axes_desc *desc, skel_dh **out,
                                       skel_error *err);

/** Arguments of skel_dh_extract: a chain of a model. */
typedef struct skel_dh_chain_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t convention;   /**< SKEL_DH_STANDARD or SKEL_DH_MODIFIED */
    /** body at the start of the chain, at its initial pose; SKEL_WORLD: the world, or the fixed
        body or free root that the tip hangs from */
    int32_t root;
    int32_t tip; /**< body at the end of the chain */
    /** pose of the tool in the tip's frame; default: the frame of the tip itself */
    double tool[7];
    double snap;                     /**< see skel_dh_axes_desc */
    const skel_allocator *allocator; /**< copied; NULL: malloc and free */
    double parallel_tolerance;       /**< [rad], see skel_dh_axes_desc */
} skel_dh_chain_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_dh_chain_desc_init_sized(skel_dh_chain_desc *desc, size_t size);
/** Calls skel_dh_chain_desc_init_sized with the size of the caller's struct. */
#define skel_dh_chain_desc_init(d) skel_dh_chain_desc_init_sized((d), sizeof *(d))
/** Extracts the table of a chain from root to tip. Every velocity of a joint becomes a row: that of
    a hinge or slide one row with the same q, those of a ball joint three rotations about x, y, z of
    its outer frame, R = Rx Ry Rz. A fixed joint has no row. The axis of a joint that is passed from
    child to parent is reversed. Joints outside the chain keep their initial q. On success the
    caller owns *out; on failure *out is NULL. err may be NULL. SKEL_E_UNSUPPORTED: a joint of the
    chain turns about its axis and moves along it at once. */
SKEL_API skel_status skel_dh_extract(const skel_model *model, const skel_dh_chain_desc *desc,
                                     skel_dh **out, skel_error *err);

#ifdef __cplusplus
}
#endif
#endif
