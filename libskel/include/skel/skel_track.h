/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Documents of motions: reading `skel-track/1` and `skel-pose/1` for a model, and writing a scene
   with another initial state and additional forces. Implemented by plugin_bridge; the engine itself
   does not depend on JSON. */
#ifndef SKEL_TRACK_H
#define SKEL_TRACK_H

#include <skel/skel_scene.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Poses of all bodies of a model at every frame. It never changes. */
typedef struct skel_track skel_track;

/** Reads a skel-track/1, or a skel-pose/1 as a track of one frame. json has `length` bytes. It must
    have exactly the bodies of the model, by name, in any order. On success the caller owns *out. On
    failure *out is NULL, and err->text begins with the path of the wrong field. err may be NULL. */
SKEL_API skel_status skel_track_parse(const char *json, size_t length, const skel_model *model,
                                      skel_track **out, skel_error *err);
SKEL_API void skel_track_destroy(skel_track *track); /**< does nothing if NULL */

/** Number of frames. */
SKEL_API int32_t skel_track_frame_count(const skel_track *track);
/** Number of the first frame; 0 for a pose. */
SKEL_API int32_t skel_track_frame_start(const skel_track *track);
/** Frames per second; 0 for a pose. */
SKEL_API double skel_track_fps(const skel_track *track);
/** Poses [frame][body][7] in the order of the model: x y z [m], w x y z; owned by the track. */
SKEL_API const double *skel_track_poses(const skel_track *track);

/** Changes that skel_scene_write_edited makes to a scene. A pointer that is NULL (default) changes
    nothing. */
typedef struct skel_scene_edit {
    uint32_t struct_size;     /**< sizeof this struct in the caller */
    uint32_t sample_count;    /**< number of samples of motor, force and torque */
    const double *poses;      /**< body_count x 7: initial poses of dynamic bodies */
    const double *velocities; /**< body_count x 6: initial velocities of dynamic bodies */
    const double *motor;  /**< [sample][joint]: added to hinge motors [N m] and slide motors [N] */
    const double *force;  /**< [sample][body][3]: added to the loads of dynamic bodies [N] */
    const double *torque; /**< [sample][body][3]: likewise [N m] */
    double sample_rate;   /**< [1/s]; sample k is at time k / sample_rate */
    /** 1: frame_start, frame_end and fps replace those of the scene, and the preroll becomes 0 */
    int32_t has_bake;
    int32_t frame_start; /**< number of the first frame, if has_bake is 1 */
    int32_t frame_end;   /**< number of the last frame, if has_bake is 1 */
    int32_t reserved;    /**< 0 */
    double fps;          /**< frames per second, if has_bake is 1 */
} skel_scene_edit;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_scene_edit_init_sized(skel_scene_edit *edit, size_t size);
/** Calls skel_scene_edit_init_sized with the size of the caller's struct. */
#define skel_scene_edit_init(e) skel_scene_edit_init_sized((e), sizeof *(e))

/** Writes the scene with the changes of *edit, like skel_scene_write. Added curves are cubic
    ("interpolation": "cubic"); curves that are zero at all samples are omitted. */
SKEL_API skel_status skel_scene_write_edited(const skel_scene *scene, const skel_scene_edit *edit,
                                             char *text, size_t capacity, size_t *needed);

#ifdef __cplusplus
}
#endif
#endif
