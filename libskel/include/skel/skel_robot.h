/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Robots. skel_scene_parse takes tables (`skel-dh/1` and CSV) and URDF wherever it takes a scene;
   this is what such documents hold beyond the model, and the way back to them. Implemented by
   plugin_bridge. */
#ifndef SKEL_ROBOT_H
#define SKEL_ROBOT_H

#include <skel/skel_scene.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Named frames: the links of a URDF (also those without mass, which are no bodies), the frames of
    a table and its tool. */
SKEL_API int32_t skel_scene_frame_count(const skel_scene *scene);
/** Owned by the scene; NULL where the index is out of range. */
SKEL_API const char *skel_scene_frame_name(const skel_scene *scene, int32_t frame);
/** *body may be SKEL_WORLD; pose (x y z, w x y z) in its axes from its centre of mass. */
SKEL_API skel_status skel_scene_get_frame(const skel_scene *scene, int32_t frame, int32_t *body,
                                          double pose[7]);
/** Index of the frame that is the tool; -1: none. */
SKEL_API int32_t skel_scene_tool(const skel_scene *scene);

/** Named joint coordinates. */
SKEL_API int32_t skel_scene_pose_count(const skel_scene *scene);
/** Owned by the scene; NULL where the index is out of range. */
SKEL_API const char *skel_scene_pose_name(const skel_scene *scene, int32_t pose);
/** skel_model_q_count numbers, owned by the scene; NULL where the index is out of range. */
SKEL_API const double *skel_scene_pose_q(const skel_scene *scene, int32_t pose);

/** Joints of the model that go with another: q of *joint = *factor * q of *of + *offset. The same
    as `mimic` of skel_joint_desc; skel_scene_apply_mimic is skel_model_apply_mimic. */
SKEL_API int32_t skel_scene_mimic_count(const skel_scene *scene);
/** See skel_scene_mimic_count. */
SKEL_API skel_status skel_scene_get_mimic(const skel_scene *scene, int32_t mimic, int32_t *joint,
                                          int32_t *of, double *factor, double *offset);
/** See skel_scene_mimic_count. */
SKEL_API skel_status skel_scene_apply_mimic(const skel_scene *scene, double *q);

/** Which chain to write as a table. */
typedef struct skel_scene_dh_desc {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t convention;   /**< SKEL_DH_* */
    /** body or frame; NULL: the world, or what the tip hangs from */
    const char *root;
    /** body or frame; NULL: the tool, or the only end of the skeleton */
    const char *tip;
    double snap;               /**< as of skel_dh_chain_desc */
    int32_t is_csv;            /**< 1: a CSV table instead of skel-dh/1 */
    int32_t reserved;          /**< 0 */
    double parallel_tolerance; /**< as of skel_dh_chain_desc */
} skel_scene_dh_desc;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_scene_dh_desc_init_sized(skel_scene_dh_desc *desc, size_t size);
/** Calls skel_scene_dh_desc_init_sized with the size of the caller's struct. */
#define skel_scene_dh_desc_init(d) skel_scene_dh_desc_init_sized((d), sizeof *(d))

/* Texts into the caller's buffer, as skel_scene_write. err may be NULL. Tables and URDF are written
   only if they can be read again: SKEL_E_DOCUMENT where numbers overflow in the other notation. */

/** The canonical table of a chain; its `notes` say what was chosen where there was a choice, its
    `receipt` what that cost (skel_dh_receipt). */
SKEL_API skel_status skel_scene_write_dh(const skel_scene *scene, const skel_scene_dh_desc *desc,
                                         char *text, size_t capacity, size_t *needed,
                                         skel_error *err);
/** The same in words: a line "warning: ..." for axes that are nearly parallel, and a last line
    "receipt: ..." with the largest errors. */
SKEL_API skel_status skel_scene_dh_report(const skel_scene *scene, const skel_scene_dh_desc *desc,
                                          char *text, size_t capacity, size_t *needed,
                                          skel_error *err);
/** The whole tree. What came from a URDF goes back as it was. SKEL_E_UNSUPPORTED where URDF cannot
    hold it (ball and universal joints become hinges; loops and driven bodies cannot). */
SKEL_API skel_status skel_scene_write_urdf(const skel_scene *scene, char *text, size_t capacity,
                                           size_t *needed, skel_error *err);
/** A table (skel-dh/1 or CSV, `length` bytes) in the given convention, its rows otherwise kept. */
SKEL_API skel_status skel_dh_rewrite(const char *table, size_t length, int32_t convention,
                                     int32_t is_csv, char *text, size_t capacity, size_t *needed,
                                     skel_error *err);
/** Its "receipt: ...": the new table against the given one, on top of what that one says. */
SKEL_API skel_status skel_dh_rewrite_report(const char *table, size_t length, int32_t convention,
                                            char *text, size_t capacity, size_t *needed,
                                            skel_error *err);

#ifdef __cplusplus
}
#endif
#endif
