/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Documents of motions: `skel-track/1` and `skel-pose/1` read for a model, and a scene written with
   another start and other forces. Implemented by plugin_bridge; the engine itself knows no JSON. */
#ifndef SKEL_TRACK_H
#define SKEL_TRACK_H

#include <skel/skel_scene.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Poses of all bodies of a model, frame by frame. */
typedef struct skel_track skel_track;

/** json: a skel-track/1, or a skel-pose/1, which is a track of one frame. It must have all bodies
    of the model by name, in any order, and no others. On failure *out is NULL and err->text begins
    with the path of what is wrong. err may be NULL. */
SKEL_API skel_status skel_track_parse(const char *json, size_t length, const skel_model *model,
                                      skel_track **out, skel_error *err);
SKEL_API void skel_track_destroy(skel_track *track); /**< does nothing if NULL */

/** Number of frames. */
SKEL_API int32_t skel_track_frame_count(const skel_track *track);
/** Number of the first frame; 0 for a pose. */
SKEL_API int32_t skel_track_frame_start(const skel_track *track);
/** Frames per second; 0 for a pose. */
SKEL_API double skel_track_fps(const skel_track *track);
/** [frame][body][7] in the model's order: x y z, w x y z; owned by the track. */
SKEL_API const double *skel_track_poses(const skel_track *track);

/** What to write otherwise than the scene has it. Pointers that are NULL leave it as it is. */
typedef struct skel_scene_edit {
    uint32_t struct_size;     /**< sizeof this struct in the caller */
    uint32_t sample_count;    /**< of the curves below, at time k / sample_rate */
    const double *poses;      /**< body_count x 7: where dynamic bodies start */
    const double *velocities; /**< body_count x 6 */
    const double *motor;      /**< [sample][joint]: added to the motors of hinges and slides */
    const double *force;      /**< [sample][body][3]: added to the loads of dynamic bodies */
    const double *torque;     /**< [sample][body][3] */
    double sample_rate;       /**< [1/s] */
    /** 1: fps, frame_start and frame_end replace those of the scene, and it starts without
        preroll */
    int32_t has_bake;
    int32_t frame_start; /**< with has_bake */
    int32_t frame_end;   /**< with has_bake */
    int32_t reserved;    /**< 0 */
    double fps;          /**< with has_bake; frames per second */
} skel_scene_edit;
/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_scene_edit_init_sized(skel_scene_edit *edit, size_t size);
/** Calls skel_scene_edit_init_sized with the size of the caller's struct. */
#define skel_scene_edit_init(e) skel_scene_edit_init_sized((e), sizeof *(e))

/** As skel_scene_write, edited. Added curves are smooth ("interpolation": "cubic"); those that are
    zero throughout are left out. */
SKEL_API skel_status skel_scene_write_edited(const skel_scene *scene, const skel_scene_edit *edit,
                                             char *text, size_t capacity, size_t *needed);

#ifdef __cplusplus
}
#endif
#endif
