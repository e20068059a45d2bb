/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   What every other header stands on: export macro, versions, status codes, error, allocator.
   Only int32_t, uint32_t, size_t, double, pointers and char arrays cross the border. */
#ifndef SKEL_BASE_H
#define SKEL_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/** Marks a function that the library exports. */
#define SKEL_API __attribute__((visibility("default")))
#else
/** Marks a function that the library exports. */
#define SKEL_API
#endif

#define SKEL_VERSION_MAJOR 0 /**< Incompatible releases differ in it. */
#define SKEL_VERSION_MINOR 1 /**< Releases with additions differ in it. */
#define SKEL_VERSION_PATCH 0 /**< Releases with corrections differ in it. */
/** High half: incompatible changes. Low half: additions. */
#define SKEL_ABI_VERSION 0x00010000u

/** name, pinned value, text. 0 = fine, > 0 = usable but look, < 0 = no result. */
#define SKEL_STATUS_LIST(X)                                                                        \
    X(SKEL_OK, 0, "success")                                                                       \
    X(SKEL_MORE, 1, "not finished yet: call again")                                                \
    X(SKEL_E_ARGUMENT, -1, "an argument is null, not finite or out of range")                      \
    X(SKEL_E_MEMORY, -2, "out of memory")                                                          \
    X(SKEL_E_STRUCT_SIZE, -3, "struct_size is not one this library knows")                         \
    X(SKEL_E_BUFFER, -4, "the buffer is too small")                                                \
    X(SKEL_E_UNSUPPORTED, -5, "not supported by this version")                                     \
    X(SKEL_E_BODY, -10, "a body is not valid")                                                     \
    X(SKEL_E_JOINT, -11, "a joint is not valid")                                                   \
    X(SKEL_E_TREE, -12, "the joints do not form a forest")                                         \
    X(SKEL_E_MASS, -13, "a body lacks the mass that dynamics needs")                               \
    X(SKEL_E_CURVE, -14, "a curve is not valid")                                                   \
    X(SKEL_E_DOCUMENT, -20, "the document is not valid")                                           \
    X(SKEL_E_SYNTAX, -21, "the text is not JSON")                                                  \
    X(SKEL_E_TOO_LARGE, -22, "the document is over a limit")                                       \
    X(SKEL_E_SINGULAR, -30, "the equations of motion are singular")                                \
    X(SKEL_E_DIVERGED, -31, "the motion diverged")

/** @cond the enumerators of SKEL_STATUS_LIST */
#define SKEL_STATUS_ENUM_(name, value, text) name = (value),
enum { SKEL_STATUS_LIST(SKEL_STATUS_ENUM_) SKEL_STATUS_LAST_ = -9999 };
#undef SKEL_STATUS_ENUM_
/** @endcond */

/** One of SKEL_STATUS_LIST. */
typedef int32_t skel_status;

/** Filled only on failure; set struct_size before the call (skel_error_init does). */
typedef struct skel_error {
    uint32_t struct_size; /**< sizeof of this struct as the caller saw it */
    int32_t  status;      /**< one of SKEL_STATUS_LIST */
    int32_t  body;        /**< the body it is about, -1 where none */
    int32_t  joint;       /**< the joint it is about, -1 where none */
    /** "bodies[7].mass: is -0.2, must be > 0": where, what it is, what it must be */
    char text[496];
} skel_error;

/** Both functions get `user`. alloc returns memory aligned for any type, or NULL. */
typedef struct skel_allocator {
    uint32_t struct_size;                    /**< sizeof of this struct as the caller saw it */
    uint32_t reserved;                       /**< 0 */
    void *(*alloc)(size_t size, void *user); /**< memory of `size` bytes, or NULL */
    void (*free)(void *memory, void *user);  /**< of memory that alloc returned, or NULL */
    void *user;                              /**< of the caller; handed to both */
} skel_allocator;

/** "0.1.0"; static, never NULL. */
SKEL_API const char *skel_version(void);
/** SKEL_ABI_VERSION of the library that is loaded. */
SKEL_API uint32_t skel_abi_version(void);
/** English text for any number; static, never NULL. */
SKEL_API const char *skel_status_text(int32_t status);

/** Sets every field to its default; size is sizeof of the struct as the caller saw it. */
SKEL_API void skel_error_init_sized(skel_error *err, size_t size);
/** The same with the caller's own size. */
#define skel_error_init(e) skel_error_init_sized((e), sizeof *(e))

#ifdef __cplusplus
}
#endif
#endif
