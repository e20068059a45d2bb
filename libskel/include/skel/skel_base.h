/* SPDX-License-Identifier: BSD-3-Clause */
/** @file
   Basics of all other headers: export macro, versions, status codes, errors, allocator.
   The interface uses only int32_t, uint32_t, size_t, float, double, char, pointers and structs of
   these, so that other languages can call it.

   Structs that the caller fills ("descs") or has filled begin with struct_size, the size that the
   caller was compiled with. The functions *_init set it, together with the default of every field.
   Later versions append fields: the fields that an older caller does not know keep their defaults,
   and the fields that an older library does not know must be zero. Array arguments that the library
   writes to belong to the caller and have the stated number of elements. */
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

#define SKEL_VERSION_MAJOR 0 /**< changes with every incompatible release */
#define SKEL_VERSION_MINOR 1 /**< changes with every release that adds functions */
#define SKEL_VERSION_PATCH 0 /**< changes with every other release */
/** Version of the binary interface. The upper 16 bits change with incompatible changes, the lower
    16 bits with additions. */
#define SKEL_ABI_VERSION 0x00010001u

/** Status codes: name, value, text. The values never change. 0: success. Positive: a usable, but
    incomplete result. Negative: failure, there is no result. */
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

/** Status of a call: one of SKEL_STATUS_LIST. */
typedef int32_t skel_status;

/** Details of a failure. The library writes it only if a call fails. The caller sets struct_size
    before the call, for example with skel_error_init. */
typedef struct skel_error {
    uint32_t struct_size; /**< sizeof this struct in the caller */
    int32_t status;       /**< the status that the call returned */
    int32_t body;         /**< index of the body at fault; -1: none */
    int32_t joint;        /**< index of the joint at fault; -1: none */
    /** zero-terminated message: the path of the field, its value and the rule that it breaks, as in
        "bodies[7].mass: is -0.2, must be > 0" */
    char text[496];
} skel_error;

/** Memory functions of the caller. alloc must return memory that is aligned for any type. The
    library copies the struct. `user` must stay valid as long as objects of this allocator exist. */
typedef struct skel_allocator {
    uint32_t struct_size;                    /**< sizeof this struct in the caller */
    uint32_t reserved;                       /**< 0 */
    void *(*alloc)(size_t size, void *user); /**< returns `size` bytes, or NULL */
    void (*free)(void *memory, void *user);  /**< frees memory of alloc, never NULL */
    void *user;                              /**< passed to both functions; may be NULL */
} skel_allocator;

/** Version of the loaded library, as "0.1.0". The text is static, never NULL. */
SKEL_API const char *skel_version(void);
/** SKEL_ABI_VERSION of the loaded library. */
SKEL_API uint32_t skel_abi_version(void);
/** English text for a status. The text is static and never NULL, also for unknown numbers. */
SKEL_API const char *skel_status_text(int32_t status);

/** Sets struct_size to `size` and every other field to its default. */
SKEL_API void skel_error_init_sized(skel_error *err, size_t size);
/** Calls skel_error_init_sized with the size of the caller's struct. */
#define skel_error_init(e) skel_error_init_sized((e), sizeof *(e))

#ifdef __cplusplus
}
#endif
#endif
