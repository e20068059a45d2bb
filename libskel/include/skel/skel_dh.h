/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Denavit-Hartenberg tables [ERL], [SIE 8.2]: another way to write a chain of hinges and slides.
   Three ways, each to each: paired joint frames (a model), the table, and poses of all links
   (maximal coordinates).
     standard  A_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i)              frame i ends link i
     modified  A_i = Rx(alpha_i) Tx(a_i) Rz(theta_i) Tz(d_i)              frame i begins link i;
               row i holds what books call a_{i-1}, alpha_{i-1}           (Craig; ERRATA S11)
     pose of frame i in the world: base A_1 .. A_i, of the tool: base A_1 .. A_n tool.
   A pose is 7 numbers: x y z, quaternion w x y z. */
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

/** How the axis of a row lies to the axis of the next row. Only skew axes have one common normal;
   libskel/README.md says what is chosen where there are more. */
enum {
    SKEL_DH_SKEW = 0,         /**< neither parallel nor meeting */
    SKEL_DH_INTERSECTING = 1, /**< they meet in a point */
    SKEL_DH_PARALLEL = 2,     /**< same sense, a distance apart */
    SKEL_DH_ANTIPARALLEL = 3, /**< opposite sense, a distance apart */
    SKEL_DH_COINCIDENT = 4,   /**< one line, same sense */
    SKEL_DH_OPPOSED = 5,      /**< one line, opposite sense */
    SKEL_DH_LAST = 6          /**< there is no next axis */
};

/** theta of a hinge is theta + offset + sign q, d of a slide is d + offset + sign q. */
typedef struct skel_dh_row {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    int32_t type;         /**< SKEL_JOINT_HINGE or SKEL_JOINT_SLIDE */
    double a;             /**< length of the common normal [m] */
    double alpha;         /**< angle between the axes [rad] */
    double d;             /**< offset along the axis [m] */
    double theta;         /**< angle about the axis [rad] */
    double offset;        /**< [rad] or [m] */
    double sign;          /**< 1 or -1 */
    int32_t joint;        /**< of the model that the row was taken from; -1: none */
    int32_t part;         /**< which of its coordinates; a ball joint is three hinges, 0 1 2 */
    int32_t relation;     /**< to the next axis, SKEL_DH_*, where the table was extracted */
    int32_t reserved;     /**< 0 */
    /** Of a table that was extracted, both about this axis and the next one as they were given: */
    /** [rad] by which the next axis was turned to be parallel; 0: it was not */
    double turned;
    double normal_distance; /**< [m] from the axes' points to their common normal; 0 below 1e-9 */
} skel_dh_row;

/** A table to be made. */
typedef struct skel_dh_desc {
    uint32_t struct_size;    /**< sizeof of this struct as the caller saw it */
    int32_t convention;      /**< SKEL_DH_STANDARD or SKEL_DH_MODIFIED */
    const skel_dh_row *rows; /**< borrowed until the call returns */
    uint32_t row_count;      /**< number of rows */
    uint32_t row_stride;     /**< sizeof(skel_dh_row) as the caller saw it */
    /** pose of the first frame in the world: x y z [m], w x y z */
    double base[7];
    double tool[7];                  /**< pose of the tool in the last frame, likewise */
    const skel_allocator *allocator; /**< copied; NULL: malloc and free */
} skel_dh_desc;
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_dh_desc_init_sized(skel_dh_desc *desc, size_t size);
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_dh_row_init_sized(skel_dh_row *row, size_t size);
/** The same with the caller's own size. */
#define skel_dh_desc_init(d) skel_dh_desc_init_sized((d), sizeof *(d))
/** The same with the caller's own size. */
#define skel_dh_row_init(r) skel_dh_row_init_sized((r), sizeof *(r))

/** A table; immutable. */
typedef struct skel_dh skel_dh;

/** On success *out is owned by the caller; on failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_dh_create(const skel_dh_desc *desc, skel_dh **out, skel_error *err);
SKEL_API void skel_dh_destroy(skel_dh *dh); /**< NULL is fine */
/** Number of rows. */
SKEL_API int32_t skel_dh_row_count(const skel_dh *dh);
/** SKEL_DH_STANDARD or SKEL_DH_MODIFIED. */
SKEL_API int32_t skel_dh_convention(const skel_dh *dh);
/** Set struct_size first. */
SKEL_API skel_status skel_dh_get_row(const skel_dh *dh, int32_t row, skel_dh_row *out);
/** Base and tool of the table; each may be NULL. */
SKEL_API skel_status skel_dh_get_ends(const skel_dh *dh, double base[7], double tool[7]);

/** Number of poses that a receipt compares. */
enum { SKEL_DH_TEST_POSES = 64 };

/** What a table costs: how far its tool is from that of the chain it was extracted from. The chain
    is the product of the motions about its axes as they were given, so nothing is shared with the
    rows. Coordinates of the poses: s_0 = 1, s_k = 48271 s_(k-1) mod m with m = 2^31 - 1, pose by
    pose and row by row; q_k = (2 s_k / m - 1) times pi (hinge) or the reach (slide). */
typedef struct skel_dh_receipt {
    uint32_t struct_size;  /**< sizeof of this struct as the caller saw it */
    int32_t poses;         /**< that were compared; 0: the table was not extracted */
    double position_error; /**< [m], the largest of all poses */
    double angle_error;    /**< [rad], the largest of all poses */
    double reach;          /**< [m] from point to point of the axes, and to the tool */
    double longest;        /**< [m] the largest |a| or |d|; many reaches: numbers cancel */
    int32_t longest_row;   /**< row that has it */
    int32_t turned_count;  /**< rows whose next axis was turned to be parallel */
} skel_dh_receipt;
/** Set struct_size first. */
SKEL_API skel_status skel_dh_get_receipt(const skel_dh *dh, skel_dh_receipt *out);
/** The same of two tables with the same joints: the tool of `dh` against that of `other`. The reach
    is the sum of |a|, |d| and the tool's distance of `other`. Set struct_size first. */
SKEL_API skel_status skel_dh_compare(const skel_dh *dh, const skel_dh *other, skel_dh_receipt *out);

/** The same chain in the other convention, exactly: a and alpha move by one row, the ends go into
    base and tool (ERRATA S11). Here and below, SKEL_E_ARGUMENT where a result is not finite. */
SKEL_API skel_status skel_dh_convert(const skel_dh *dh, int32_t convention, skel_dh **out,
                                     skel_error *err);

/** Table to maximal coordinates: (row_count + 1) x 7, the frames of all links, then the tool. */
SKEL_API skel_status skel_dh_frames(const skel_dh *dh, const double *q, double *frames);
/** Maximal coordinates to q: the frames of all links (row_count x 7) as skel_dh_frames has them.
    Angles lie within half a turn of 0. Where the frames do not fit the table, the nearest q. */
SKEL_API skel_status skel_dh_coordinates(const skel_dh *dh, const double *frames, double *q);
/** Table to paired joint frames: row_count bodies and joints (descs that were initialised), which
    lie body_stride and joint_stride bytes apart, sizeof as the caller sees it. Body i is placed at
    frame i for q = 0, joint i leads to it from body i - 1, the first from the world. Sets type,
    parent, child and both frames of the joints; pose of the bodies; nothing else. */
SKEL_API skel_status skel_dh_get_descs(const skel_dh *dh, skel_body_desc *bodies,
                                       size_t body_stride, skel_joint_desc *joints,
                                       size_t joint_stride);

/** Axes in the world at q = 0. */
typedef struct skel_dh_axes_desc {
    uint32_t struct_size;     /**< sizeof of this struct as the caller saw it */
    int32_t convention;       /**< SKEL_DH_STANDARD or SKEL_DH_MODIFIED */
    uint32_t count;           /**< number of axes */
    uint32_t reserved;        /**< 0 */
    const double *points;     /**< count x 3: a point on each axis */
    const double *directions; /**< count x 3: any length but 0 */
    const int32_t *types;     /**< count: SKEL_JOINT_HINGE or SKEL_JOINT_SLIDE; NULL: hinges */
    double tip[7];            /**< pose of what the last axis moves: the tool */
    /** [rad], and of the reach: axes that are nearer to parallel or to meeting than this are
        taken to be it; default 1e-6 (float32) */
    double snap;
    const skel_allocator *allocator; /**< copied; NULL: malloc and free */
    /** [rad] Nearly parallel axes have a common normal far away, and a table with lengths of many
       reaches that cancel. Axes that are nearer to parallel than this are taken to be so if the
       normal is more than 5 reaches away and the tool moves by less than 2e-4 of the reach; the
       row says by how much the axis was `turned`. 0: never; default 1e-3. */
    double parallel_tolerance;
} skel_dh_axes_desc;
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_dh_axes_desc_init_sized(skel_dh_axes_desc *desc, size_t size);
/** The same with the caller's own size. */
#define skel_dh_axes_desc_init(d) skel_dh_axes_desc_init_sized((d), sizeof *(d))
/** The table of the axes. On failure *out is NULL. err may be NULL. */
SKEL_API skel_status skel_dh_from_axes(const skel_dh_axes_desc *desc, skel_dh **out,
                                       skel_error *err);

/** A chain of a model. */
typedef struct skel_dh_chain_desc {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    int32_t convention;   /**< SKEL_DH_STANDARD or SKEL_DH_MODIFIED */
    /** body that stays where the model has it; SKEL_WORLD: the world, or the fixed body or free
        root that the tip hangs from */
    int32_t root;
    int32_t tip; /**< body at the end */
    /** what the table leads to, in the tip's axes from its centre of mass; default the tip's own
        pose */
    double tool[7];
    double snap;                     /**< as of skel_dh_axes_desc */
    const skel_allocator *allocator; /**< copied; NULL: malloc and free */
    double parallel_tolerance;       /**< [rad] as of skel_dh_axes_desc */
} skel_dh_chain_desc;
/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_dh_chain_desc_init_sized(skel_dh_chain_desc *desc, size_t size);
/** The same with the caller's own size. */
#define skel_dh_chain_desc_init(d) skel_dh_chain_desc_init_sized((d), sizeof *(d))
/** Paired joint frames to the table: every hinge and slide from root to tip is a row with the
    joint's own q, a universal joint two, a ball joint three: turns about x, y, z of its outer
    frame, R = Rx Ry Rz; fixed joints none. A joint walked from child to parent has its axis turned
    round. Joints outside the chain stand as the model has them. */
SKEL_API skel_status skel_dh_extract(const skel_model *model, const skel_dh_chain_desc *desc,
                                     skel_dh **out, skel_error *err);

#ifdef __cplusplus
}
#endif
#endif
