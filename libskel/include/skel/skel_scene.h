/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   The scene document `skel-scene/1`: a model, how it starts and how to bake it, as JSON.
   Implemented by plugin_bridge; the engine itself knows no JSON. */
#ifndef SKEL_SCENE_H
#define SKEL_SCENE_H

#include <skel/skel_bake.h>
#include <skel/skel_ik.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A document that was read; immutable. */
typedef struct skel_scene skel_scene;

/** json may also be a DH table (skel-dh/1, CSV) or a URDF, see skel_robot.h: they become scenes.
    json need not end in a zero byte. On failure *out is NULL and err->text begins with the path of
    what is wrong ("joints[3].axis: is [0, 0, 0], must not be zero"). err may be NULL. */
SKEL_API skel_status skel_scene_parse(const char *json, size_t length, skel_scene **out,
                                      skel_error *err);
SKEL_API void skel_scene_destroy(skel_scene *scene); /**< NULL is fine */

/** Everything wrong with the text, one line each ("error: PATH: ..." or "warning: PATH: ..."), into
    the caller's buffer, zero-terminated, cut at capacity. *needed (may be NULL) is the whole length
    without the zero. SKEL_OK where there is no error (warnings may be there). */
SKEL_API skel_status skel_scene_check(const char *json, size_t length, char *text, size_t capacity,
                                      size_t *needed);

/** What dynamics has to say of the document, beside what it says of itself: masses or inertias that
    are estimates because the document has none, friction that is left out. Commands of dynamics
    show it. Zero-terminated, owned by the scene; NULL where there is no such index. */
SKEL_API const char *skel_scene_warning(const skel_scene *scene, int32_t index);

/** The scene as text, parsed again it gives the same bits. SKEL_E_BUFFER where capacity is less
    than *needed + 1 (needed may be NULL). */
SKEL_API skel_status skel_scene_write(const skel_scene *scene, char *text, size_t capacity,
                                      size_t *needed);

/** Owned by the scene. */
SKEL_API const skel_model *skel_scene_model(const skel_scene *scene);
/** The name in the document. Owned by the scene. */
SKEL_API const char *skel_scene_name(const skel_scene *scene);
/** Starts the bake that the document describes. The scene must outlive it. See skel_bake_start. */
SKEL_API skel_status skel_scene_bake_start(const skel_scene *scene, skel_bake **out,
                                           skel_error *err);
/** Copies the document's bake settings to *desc; what its pointers point to stays the scene's. Set
    struct_size first. */
SKEL_API skel_status skel_scene_get_bake_desc(const skel_scene *scene, skel_bake_desc *desc);
/** Frames per second. */
SKEL_API double skel_scene_fps(const skel_scene *scene);
/** Number of the first frame. */
SKEL_API int32_t skel_scene_frame_start(const skel_scene *scene);
/** Number of the last frame. */
SKEL_API int32_t skel_scene_frame_end(const skel_scene *scene);

/* Inverse kinematics: what `goals` and `ik` of the document say. */
/** What skel_ik_motion_start takes, as the document has it; pointers stay the scene's, goals are
    desc->ik->goals. Sample k is frame skel_scene_frame_start + k. Set struct_size first. */
SKEL_API skel_status skel_scene_get_ik_desc(const skel_scene *scene, skel_ik_motion_desc *desc);
/** Owned by the scene; "" where the goal has no name, NULL where there is no such goal. */
SKEL_API const char *skel_scene_goal_name(const skel_scene *scene, int32_t goal);
/** Joint coordinates (q_count) in the middle of the limits; zero (ball: no turn) where there are
    none. */
SKEL_API skel_status skel_scene_get_middle_q(const skel_scene *scene, double *q);

#ifdef __cplusplus
}
#endif
#endif
