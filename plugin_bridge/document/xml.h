/* SPDX-License-Identifier: BSD-3-Clause */
/* XML as a stream of elements, by expat. Entities are disabled; depth and number of elements are
   limited. */
#ifndef BRIDGE_DOCUMENT_XML_H
#define BRIDGE_DOCUMENT_XML_H

#include <skel/skel_base.h>

#include <stdbool.h>
#include <stddef.h>

#define XML_BYTES ((size_t)32 << 20)
#define XML_DEPTH 64
#define XML_ELEMENTS 2000000

/** open and close return false to stop; attributes: name, value, ..., NULL. */
typedef struct xml_reader {
    bool (*open)(void *user, int32_t line, const char *name, const char **attributes);
    bool (*close)(void *user, const char *name);
    void (*text)(void *user, const char *text, int32_t length);
    void *user;
} xml_reader;

/** SKEL_OK, also if the reader stopped. Otherwise `why` has line, column and reason. */
skel_status xml_parse(const char *text, size_t length, const xml_reader *reader, char *why,
                      size_t size);

#endif
