/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Robots. skel_scene_parse reads Denavit-Hartenberg tables (`skel-dh/1`, CSV) and URDF like scene
   documents. This header gives access to the contents of such documents beyond the model, and
   writes tables and URDF. Implemented by plugin_bridge. */
#ifndef SKEL_ROBOT_H
#define SKEL_ROBOT_H

#include <skel/skel_scene.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Number of named coordinate frames: the links of a URDF, also links without mass, which are not
    bodies; the frames of a table and its tool. */
SKEL_API int32_t skel_scene_frame_count(const skel_scene *scene);
/** Name of a coordinate frame, owned by the scene; NULL if the index is out of range. */
SKEL_API const char *skel_scene_frame_name(const skel_scene *scene, int32_t frame);
/** Gives the body that carries the coordinate frame (or SKEL_WORLD), and the pose x y z [m], w x y
    z of the frame in the body's frame. */
SKEL_API skel_status skel_scene_get_frame(const skel_scene *scene, int32_t frame, int32_t *body,
                                          double pose[7]);
/** Index of the coordinate frame of the tool; -1: none. */
SKEL_API int32_t skel_scene_tool(const skel_scene *scene);

/** Number of named poses, which are sets of joint coordinates. */
SKEL_API int32_t skel_scene_pose_count(const skel_scene *scene);
/** Name of a pose, owned by the scene; NULL if the index is out of range. */
SKEL_API const char *skel_scene_pose_name(const skel_scene *scene, int32_t pose);
/** Joint coordinates of a pose (skel_model_q_count), owned by the scene; NULL if the index is out
    of range. */
SKEL_API const double *skel_scene_pose_q(const skel_scene *scene, int32_t pose);

/** A chain that is written as a table. */
typedef struct skel_scene_dh_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t convention;   /**< SKEL_DH_STANDARD (default) or SKEL_DH_MODIFIED */
    /** name of a body or coordinate frame; NULL: the world, or the body that the tip hangs from */
    const char *root;
    /** name of a body or coordinate frame; NULL: the tool, or the only end of the skeleton */
    const char *tip;
    double snap;               /**< see skel_dh_axes_desc */
    int32_t is_csv;            /**< 1: CSV; 0 (default): skel-dh/1 */
    int32_t reserved;          /**< 0 */
    double parallel_tolerance; /**< see skel_dh_axes_desc */
} skel_scene_dh_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_scene_dh_desc_init_sized(skel_scene_dh_desc *desc, size_t size);
/** Calls skel_scene_dh_desc_init_sized with the size of the caller's struct. */
#define skel_scene_dh_desc_init(d) skel_scene_dh_desc_init_sized((d), sizeof *(d))

/* These functions write text to the caller's buffer like skel_scene_write. err may be NULL. Tables
   and URDF are written only if they can be read again. SKEL_E_DOCUMENT: a number overflows in the
   other form. */

/** Writes the table of a chain. Its `notes` name the choices that were made if the parameters are
    not unique, and its `receipt` has the error (skel_dh_receipt). */
SKEL_API skel_status skel_scene_write_dh(const skel_scene *scene, const skel_scene_dh_desc *desc,
                                         char *text, size_t capacity, size_t *needed,
                                         skel_error *err);
/** Writes a report about the same table: a line "warning: ..." for each pair of nearly parallel
    axes, and a last line "receipt: ..." with the largest errors. */
SKEL_API skel_status skel_scene_dh_report(const skel_scene *scene, const skel_scene_dh_desc *desc,
                                          char *text, size_t capacity, size_t *needed,
                                          skel_error *err);
/** Writes the scene as URDF. The contents of a scene that was read from URDF are kept. A joint with
    several velocities becomes hinges and slides if URDF has no type for it. SKEL_E_UNSUPPORTED: the
    scene has loops, driven bodies, or a joint with one coordinate that URDF has no type for. */
SKEL_API skel_status skel_scene_write_urdf(const skel_scene *scene, char *text, size_t capacity,
                                           size_t *needed, skel_error *err);
/** Reads a table (skel-dh/1 or CSV, `length` bytes) and writes it in the given convention. */
SKEL_API skel_status skel_dh_rewrite(const char *table, size_t length, int32_t convention,
                                     int32_t is_csv, char *text, size_t capacity, size_t *needed,
                                     skel_error *err);
/** Writes the line "receipt: ..." of such a conversion: the difference of the new table from the
    given one, plus the error that the given one states. */
SKEL_API skel_status skel_dh_rewrite_report(const char *table, size_t length, int32_t convention,
                                            char *text, size_t capacity, size_t *needed,
                                            skel_error *err);

#ifdef __cplusplus
}
#endif
#endif
