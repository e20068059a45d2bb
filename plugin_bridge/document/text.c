/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing text buffer, numbers and strings as JSON, and CSV cells. */
#include "document/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most numbers that people type read back with 15 digits; every double does with 17. */
size_t doc_number_format(char out[DOC_NUMBER_SIZE], double x) {
    if (!isfinite(x)) {
        memcpy(out, "null", 5);
        return 4;
    }
    int n = 0;
    for (int digits = 15; digits <= 17; ++digits) {
        n = snprintf(out, DOC_NUMBER_SIZE, "%.*g", digits, x);
        if (strtod(out, NULL) == x) break;
    }
    return (size_t)n;
}

void text_free(text_buffer *text) {
    free(text->data);
    *text = (text_buffer){0};
}

void text_clear(text_buffer *text) {
    text->length = 0;
    if (text->data) text->data[0] = 0;
}

const char *text_get(const text_buffer *text) {
    return text->data ? text->data : "";
}

/* Makes room for `more` bytes and the zero byte. */
static int text_reserve(text_buffer *text, size_t more) {
    if (text->failed) return 0;
    if (more < text->capacity - text->length) return 1;
    if (more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4) {
        text->failed = 1;
        return 0;
    }

    const size_t wanted = 2 * (text->length + more) + 64;
    char *data = realloc(text->data, wanted);
    if (!data) {
        text->failed = 1;
        return 0;
    }
    text->data = data;
    text->capacity = wanted;
    return 1;
}

void text_bytes(text_buffer *text, const char *bytes, size_t count) {
    if (!text_reserve(text, count)) return;
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = 0;
}

void text_add(text_buffer *text, const char *string) {
    text_bytes(text, string, strlen(string));
}

void text_addf(text_buffer *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && text_reserve(text, (size_t)n)) {
        vsnprintf(text->data + text->length, (size_t)n + 1, format, again);
        text->length += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void text_number(text_buffer *text, double x) {
    char number[DOC_NUMBER_SIZE];
    const size_t n = doc_number_format(number, x);
    text_bytes(text, number, n);
}

void text_numbers(text_buffer *text, const double *x, size_t count) {
    text_bytes(text, "[", 1);
    for (size_t i = 0; i < count; ++i) {
        if (i > 0) text_bytes(text, ", ", 2);
        text_number(text, x[i]);
    }
    text_bytes(text, "]", 1);
}

static void text_escaped(text_buffer *text, unsigned char c) {
    if (c == '"' || c == '\\') {
        text_addf(text, "\\%c", c);
    } else if (c == '\n') {
        text_add(text, "\\n");
    } else if (c == '\t') {
        text_add(text, "\\t");
    } else if (c < 0x20 || c == 0x7f) {
        text_addf(text, "\\u%04x", c);
    } else {
        text_bytes(text, (const char *)&c, 1);
    }
}

void text_string(text_buffer *text, const char *string) {
    text_bytes(text, "\"", 1);
    for (const char *c = string; *c; ++c) text_escaped(text, (unsigned char)*c);
    text_bytes(text, "\"", 1);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* = + - @, and their full-width forms U+FF1D, FF0B, FF0D, FF20, which some spreadsheets accept. */
static int begins_formula(const char *text) {
    static const char *const wide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
                                       "\xef\xbc\xa0"};
    if (*text && strchr("=+-@", *text)) return 1;
    for (size_t k = 0; k < sizeof wide / sizeof *wide; ++k)
        if (strncmp(text, wide[k], 3) == 0) return 1;
    return 0;
}

/* Whether the name is written with an apostrophe before it. */
static int is_guarded(const char *cell) {
    return begins_formula(cell + strspn(cell, "'"));
}

/* Quotes are doubled. Control characters, which no name may have, are left out. */
static void csv_bytes(text_buffer *text, const char *string) {
    for (const char *c = string; *c; ++c) {
        if (*c == '"') text_bytes(text, c, 1);
        if ((unsigned char)*c >= 0x20) text_bytes(text, c, 1);
    }
}

void text_csv_name(text_buffer *text, const char *name, const char *suffix, int quoted) {
    const int in_quotes = quoted || strpbrk(name, ",\"") != NULL;
    if (in_quotes) text_add(text, "\"");
    if (is_guarded(name)) text_add(text, "'");
    csv_bytes(text, name);
    csv_bytes(text, suffix);
    if (in_quotes) text_add(text, "\"");
}

const char *doc_csv_name(const char *cell) {
    return *cell == '\'' && is_guarded(cell) ? cell + 1 : cell;
}

void text_csv_comment(text_buffer *text, const char *line) {
    int quoted = 0;
    for (const char *at = strchr(line, ','); at && !quoted; at = strchr(at + 1, ','))
        quoted = begins_formula(at + 1 + strspn(at + 1, " "));

    if (!quoted) {
        text_addf(text, "# %s\n", line);
        return;
    }
    text_add(text, "\"# ");
    csv_bytes(text, line);
    text_add(text, "\"\n");
}
