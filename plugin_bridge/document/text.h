/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing text, and numbers and strings written as JSON. Numbers are as short as they can be and
   still read back to the same double. The numeric locale must be C (see doc.h). */
#ifndef BRIDGE_DOCUMENT_TEXT_H
#define BRIDGE_DOCUMENT_TEXT_H

#include <stddef.h>

/** Start with all zero. After a failed allocation `failed` stays set and nothing more is added. */
typedef struct skel__text {
    char  *data; /* zero-terminated once something was added */
    size_t length;
    size_t capacity;
    int    failed;
} skel__text;

#define SKEL__NUMBER_SIZE 32 /* enough for any number and its zero byte */

/** Writes x as JSON ("null" where x is not finite); returns the length. */
size_t skel__number_format(char out[SKEL__NUMBER_SIZE], double x);

void skel__text_free(skel__text *text);
/** Forgets the content, keeps the memory. */
void skel__text_clear(skel__text *text);
/** Never NULL. */
const char *skel__text_get(const skel__text *text);

void skel__text_bytes(skel__text *text, const char *bytes, size_t count);
void skel__text_add(skel__text *text, const char *string);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void skel__text_addf(skel__text *text, const char *format, ...);
void skel__text_number(skel__text *text, double x);
/** "[1, 2, 3]". */
void skel__text_numbers(skel__text *text, const double *x, size_t count);
/** The string in quotes, escaped. */
void skel__text_string(skel__text *text, const char *string);

/* CSV (RFC 4180) that a spreadsheet shows and does not evaluate. A cell that begins with = + - @ is
   a formula to it, in quotes too; such a name gets an apostrophe before it, which spreadsheets take
   for "this is text". A name that begins with apostrophes and one of these signs gets one more, so
   that taking one away always gives the name back. */

/** `name` and `suffix` as one cell; in quotes where it needs them, or always. */
void skel__text_csv_name(skel__text *text, const char *name, const char *suffix, int quoted);
/** A whole line, "# " before it; in quotes where a part after a comma would be a formula. */
void skel__text_csv_comment(skel__text *text, const char *line);
/** The name that a cell holds: without the apostrophe of skel__text_csv_name. */
const char *skel__csv_name(const char *cell);

#endif
