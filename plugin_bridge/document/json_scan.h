/* SPDX-License-Identifier: BSD-3-Clause */
/* A strict look over JSON text before any memory is taken for it: a text that passes is JSON as
   RFC 8259 has it, in UTF-8 and within the limits below, so that json.c may trust it. */
#ifndef BRIDGE_DOCUMENT_JSON_SCAN_H
#define BRIDGE_DOCUMENT_JSON_SCAN_H

#include <skel/skel_base.h>

#define JSON_MAX_BYTES ((size_t)64 << 20)
#define JSON_MAX_DEPTH 64
#define JSON_MAX_VALUES 10000000u
#define JSON_MAX_NUMBER 60 /* characters of one number */

/** SKEL_OK: *values is how many values there are, the inner ones among them. SKEL_E_SYNTAX or
    SKEL_E_TOO_LARGE: `message` says where and why. */
skel_status json_scan(const char *json, size_t length, uint32_t *values, char *message,
                      size_t size);

#endif
