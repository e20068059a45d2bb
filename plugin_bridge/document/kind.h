/* SPDX-License-Identifier: BSD-3-Clause */
/* Which kind of document a text is, by its first characters, before any reader sees it. */
#ifndef BRIDGE_DOCUMENT_KIND_H
#define BRIDGE_DOCUMENT_KIND_H

#include <stddef.h>

typedef enum doc_kind { DOC_KIND_JSON, DOC_KIND_URDF, DOC_KIND_CSV } doc_kind;

/** '<' begins a URDF; '#' or a line of column names begins a table; all else is taken for JSON. */
doc_kind doc_kind_of(const char *text, size_t length);
/** If the text begins like a format that no reader here accepts: the end of a message that names
    the format and a remedy ("is a USD scene ..."). NULL: not known. */
const char *doc_foreign_bytes(const char *text, size_t length);
/** The same by the name of the root element of an XML document. */
const char *doc_foreign_root(const char *element);

#endif
