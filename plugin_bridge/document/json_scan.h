/* SPDX-License-Identifier: BSD-3-Clause */
/* A strict check of a JSON text before memory is allocated for it. A text that passes conforms to
   RFC 8259, is UTF-8 and respects the limits below. json.c relies on this. */
#ifndef BRIDGE_DOCUMENT_JSON_SCAN_H
#define BRIDGE_DOCUMENT_JSON_SCAN_H

#include <skel/skel_base.h>

#include <stdbool.h>

#define JSON_MAX_BYTES ((size_t)64 << 20)
#define JSON_MAX_DEPTH 64
#define JSON_MAX_VALUES 10000000u
#define JSON_MAX_NUMBER 60 /* characters of one number */

/** SKEL_OK: *values is the number of values, nested values included. SKEL_E_SYNTAX or
    SKEL_E_TOO_LARGE: `message` has line, column and reason. */
skel_status json_scan(const char *json, size_t length, uint32_t *values, char *message,
                      size_t size);

/** Whether a zero-terminated string is valid UTF-8. */
bool json_is_utf8(const char *text);

#endif
