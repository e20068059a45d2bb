/* SPDX-License-Identifier: BSD-3-Clause */
/* Error messages for the caller, and the import and export of sized structs (desc.h). */
#include "base/error.h"
#include "base/desc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

skel_status skel__fail(skel_error *err, skel_status status, int32_t body, int32_t joint,
                       const char *format, ...) {
    if (!err || err->struct_size < sizeof *err) return status;

    err->status = status;
    err->body = body;
    err->joint = joint;

    va_list list;
    va_start(list, format);
    vsnprintf(err->text, sizeof err->text, format, list);
    va_end(list);
    return status;
}

/* struct_size is the first member of every sized struct. */
static uint32_t size_of(const void *desc) {
    uint32_t size;
    memcpy(&size, desc, sizeof size);
    return size;
}

skel_status skel__desc_import(void *out, size_t ours, size_t least, const void *in) {
    const size_t theirs = size_of(in);
    const unsigned char *bytes = in;
    if (theirs < least) return SKEL_E_STRUCT_SIZE;

    /* A field that we do not know must not ask for anything. */
    for (size_t i = ours; i < theirs; ++i)
        if (bytes[i] != 0) return SKEL_E_STRUCT_SIZE;

    memcpy(out, in, theirs < ours ? theirs : ours);
    return SKEL_OK;
}

void skel__desc_init(void *desc, size_t size, const void *defaults, size_t ours) {
    if (!desc || size < sizeof(uint32_t)) return;

    const uint32_t theirs = (uint32_t)size;
    memset(desc, 0, size);
    memcpy(desc, defaults, size < ours ? size : ours);
    memcpy(desc, &theirs, sizeof theirs);
}

skel_status skel__desc_export(void *out, const void *filled, size_t ours, size_t least) {
    const uint32_t theirs = size_of(out);
    if (theirs < least) return SKEL_E_STRUCT_SIZE;

    memcpy(out, filled, theirs < ours ? theirs : ours);
    memcpy(out, &theirs, sizeof theirs);
    return SKEL_OK;
}

void skel_error_init_sized(skel_error *err, size_t size) {
    const skel_error none = {.struct_size = (uint32_t)sizeof none, .body = -1, .joint = -1};
    skel__desc_init(err, size, &none, sizeof none);
}
