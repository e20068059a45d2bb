/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   The scene document `skel-scene/1`: a model, its initial state and its bake settings as JSON. The
   document may also have goals of inverse kinematics. Implemented by plugin_bridge; the engine
   itself does not depend on JSON. */
#ifndef SKEL_SCENE_H
#define SKEL_SCENE_H

#include <skel/skel_bake.h>
#include <skel/skel_ik.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A document that was read. It never changes. */
typedef struct skel_scene skel_scene;

/** Kinds of a value of a document, as in JSON. */
enum {
    SKEL_VALUE_NULL = 0,   /**< null */
    SKEL_VALUE_FALSE = 1,  /**< false */
    SKEL_VALUE_TRUE = 2,   /**< true */
    SKEL_VALUE_NUMBER = 3, /**< `number` */
    SKEL_VALUE_STRING = 4, /**< `text` */
    SKEL_VALUE_ARRAY = 5,  /**< the next values, with all that they contain, are its elements */
    SKEL_VALUE_OBJECT = 6, /**< the next values, with all that they contain, are its members */
    SKEL_VALUE_NUMBERS = 7 /**< an array whose elements are all numbers: `numbers` */
};

/** A value of a document without its text, for skel_scene_create. */
typedef struct skel_value {
    int32_t kind;          /**< SKEL_VALUE_* */
    uint32_t count;        /**< number of elements or members of an array or object, else 0 */
    const char *name;      /**< name of a member of an object, UTF-8; otherwise NULL */
    const char *text;      /**< SKEL_VALUE_STRING: UTF-8, zero-terminated */
    const double *numbers; /**< SKEL_VALUE_NUMBERS: count numbers; NULL if count is 0 */
    double number;         /**< SKEL_VALUE_NUMBER */
} skel_value;

/** Reads a scene document. json may also be a Denavit-Hartenberg table (skel-dh/1, CSV) or a URDF,
    see skel_robot.h. It has `length` bytes and need not be zero-terminated. On success the caller
    owns *out. On failure *out is NULL, and err->text begins with the path of the wrong field, as in
    "joints[3].axis: is [0, 0, 0], must not be zero". err may be NULL. */
SKEL_API skel_status skel_scene_parse(const char *json, size_t length, skel_scene **out,
                                      skel_error *err);
/** Reads a scene document that is given as values instead of JSON: the object of the document, then
    its members, each of them before all that it contains. The result and the errors are those of
    skel_scene_parse for the same document in JSON. The values are borrowed until the call returns;
    stride is sizeof(skel_value) in the caller. SKEL_E_ARGUMENT: the values are no such list. err
    may be NULL. */
SKEL_API skel_status skel_scene_create(const skel_value *values, uint32_t count, uint32_t stride,
                                       skel_scene **out, skel_error *err);
SKEL_API void skel_scene_destroy(skel_scene *scene); /**< does nothing if NULL */

/** Writes all errors and warnings of a document to the caller's buffer, one per line, as "error:
    PATH: ..." or "warning: PATH: ...". The text is zero-terminated and truncated at capacity bytes.
    *needed (may be NULL) is its whole length without the zero. SKEL_OK: there is no error; there
    may be warnings. */
SKEL_API skel_status skel_scene_check(const char *json, size_t length, char *text, size_t capacity,
                                      size_t *needed);

/** Text of a warning about the dynamics of the scene: masses and inertias that were estimated
    because the document lacks them, or friction that is ignored. index counts from 0. The text is
    owned by the scene; NULL if there is no such warning. */
SKEL_API const char *skel_scene_warning(const skel_scene *scene, int32_t index);

/** Writes the scene as zero-terminated JSON to the caller's buffer. Reading it again gives exactly
    the same numbers. *needed (may be NULL) is the length without the zero. SKEL_E_BUFFER: capacity
    is less than *needed + 1 bytes. */
SKEL_API skel_status skel_scene_write(const skel_scene *scene, char *text, size_t capacity,
                                      size_t *needed);

/** Model of the scene, owned by the scene. */
SKEL_API const skel_model *skel_scene_model(const skel_scene *scene);
/** Name in the document, owned by the scene. */
SKEL_API const char *skel_scene_name(const skel_scene *scene);
/** Starts the bake that the document describes, like skel_bake_start. The scene must outlive it. */
SKEL_API skel_status skel_scene_bake_start(const skel_scene *scene, skel_bake **out,
                                           skel_error *err);
/** Copies the bake settings of the document to *desc. Its pointers remain owned by the scene. Set
    desc->struct_size first. */
SKEL_API skel_status skel_scene_get_bake_desc(const skel_scene *scene, skel_bake_desc *desc);
/** Frames per second. */
SKEL_API double skel_scene_fps(const skel_scene *scene);
/** Number of the first frame. */
SKEL_API int32_t skel_scene_frame_start(const skel_scene *scene);
/** Number of the last frame. */
SKEL_API int32_t skel_scene_frame_end(const skel_scene *scene);

/* Inverse kinematics: `goals` and `ik` of the document. */

/** Copies the arguments of skel_ik_motion_start to *desc; the goals are desc->ik->goals. Its
    pointers remain owned by the scene. Sample k is the frame skel_scene_frame_start + k. Set
    desc->struct_size first. */
SKEL_API skel_status skel_scene_get_ik_desc(const skel_scene *scene, skel_ik_motion_desc *desc);
/** Name of a goal, owned by the scene; "" if it has no name, NULL if there is no such goal. */
SKEL_API const char *skel_scene_goal_name(const skel_scene *scene, int32_t goal);
/** Writes the joint coordinates (skel_model_q_count) in the middle of the limits. Joints without
    limits get zero (ball: 1 0 0 0). */
SKEL_API skel_status skel_scene_get_middle_q(const skel_scene *scene, double *q);

#ifdef __cplusplus
}
#endif
#endif
