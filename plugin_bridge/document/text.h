/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing text, and numbers and strings written as JSON. A number has as few digits as it takes
   to read back the same double. The numeric locale must be C (see doc.h). */
#ifndef BRIDGE_DOCUMENT_TEXT_H
#define BRIDGE_DOCUMENT_TEXT_H

#include <stddef.h>

/** Initialise with zeros. After a failed allocation, `failed` is set and nothing more is added. */
typedef struct text_buffer {
    char *data; /* zero-terminated; NULL: nothing was added */
    size_t length;
    size_t capacity;
    int failed;
} text_buffer;

#define DOC_NUMBER_SIZE 32 /* enough for any number and its zero byte */

/** Writes x as JSON ("null" if x is not finite); returns the length. */
size_t doc_number_format(char out[DOC_NUMBER_SIZE], double x);

void text_free(text_buffer *text);
/** Removes the content and keeps the memory. */
void text_clear(text_buffer *text);
/** Never NULL. */
const char *text_get(const text_buffer *text);

void text_bytes(text_buffer *text, const char *bytes, size_t count);
void text_add(text_buffer *text, const char *string);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void text_addf(text_buffer *text, const char *format, ...);
void text_number(text_buffer *text, double x);
/** "[1, 2, 3]". */
void text_numbers(text_buffer *text, const double *x, size_t count);
/** The string in quotes, escaped. */
void text_string(text_buffer *text, const char *string);

/* CSV (RFC 4180) that a spreadsheet does not evaluate. A spreadsheet takes a cell that begins with
   = + - @ for a formula, even in quotes. Such a name gets an apostrophe before it, which marks
   text. A name that begins with apostrophes and one of these signs gets one apostrophe more, so
   that removing one always restores the name. */

/** `name` and `suffix` as one cell; in quotes if it needs them, or always. */
void text_csv_name(text_buffer *text, const char *name, const char *suffix, int quoted);
/** A line that starts with "# "; in quotes if a part after a comma would be a formula. */
void text_csv_comment(text_buffer *text, const char *line);
/** The name in a cell, without the apostrophe of text_csv_name. */
const char *doc_csv_name(const char *cell);

#endif
