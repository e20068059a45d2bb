/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing text, and numbers and strings written as JSON. Numbers are as short as they can be and
   still read back to the same double. The numeric locale must be C (see doc.h). */
#ifndef BRIDGE_DOCUMENT_TEXT_H
#define BRIDGE_DOCUMENT_TEXT_H

#include <stddef.h>

/** Start with all zero. After a failed allocation `failed` stays set and nothing more is added. */
typedef struct text_buffer {
    char  *data; /* zero-terminated once something was added */
    size_t length;
    size_t capacity;
    int    failed;
} text_buffer;

#define DOC_NUMBER_SIZE 32 /* enough for any number and its zero byte */

/** Writes x as JSON ("null" where x is not finite); returns the length. */
size_t doc_number_format(char out[DOC_NUMBER_SIZE], double x);

void text_free(text_buffer *text);
/** Forgets the content, keeps the memory. */
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

/* CSV (RFC 4180) that a spreadsheet shows and does not evaluate. A cell that begins with = + - @ is
   a formula to it, in quotes too; such a name gets an apostrophe before it, which spreadsheets take
   for "this is text". A name that begins with apostrophes and one of these signs gets one more, so
   that taking one away always gives the name back. */

/** `name` and `suffix` as one cell; in quotes where it needs them, or always. */
void text_csv_name(text_buffer *text, const char *name, const char *suffix, int quoted);
/** A whole line, "# " before it; in quotes where a part after a comma would be a formula. */
void text_csv_comment(text_buffer *text, const char *line);
/** The name that a cell holds: without the apostrophe of text_csv_name. */
const char *doc_csv_name(const char *cell);

#endif
