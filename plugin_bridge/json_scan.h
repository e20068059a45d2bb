/* SPDX-License-Identifier: BSD-3-Clause */
/* A strict look over JSON text before any memory is taken for it. cJSON forgives more than the
   standard (control characters, 01, a lone surrogate) and does not say where it stopped. */
#ifndef SKEL_BRIDGE_JSON_SCAN_H
#define SKEL_BRIDGE_JSON_SCAN_H

#include <skel/skel_base.h>

#define SKEL__JSON_MAX_BYTES ((size_t)64 << 20)
#define SKEL__JSON_MAX_DEPTH 64
#define SKEL__JSON_MAX_VALUES 10000000u
#define SKEL__JSON_MAX_NUMBER 60 /* characters of one number; cJSON cuts at 63 */

/** SKEL_OK, SKEL_E_SYNTAX or SKEL_E_TOO_LARGE; then `message` says where and why. */
skel_status skel__json_scan(const char *json, size_t length, char *message, size_t size);

#endif
