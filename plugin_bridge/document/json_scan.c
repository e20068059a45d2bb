/* SPDX-License-Identifier: BSD-3-Clause */
/* The grammar of JSON (RFC 8259) by recursive descent, with a fixed depth and without allocation.
   */
#include "document/json_scan.h"

#include <stdio.h>
#include <string.h>

typedef struct scanner {
    const unsigned char *at;
    const unsigned char *end;
    const char *why; /* reason why the scan stopped */
    skel_status status;
    uint32_t values;
    int32_t depth;
} scanner;

static bool stop(scanner *s, skel_status status, const char *why) {
    s->status = status;
    s->why = why;
    return false;
}

static bool wrong(scanner *s, const char *why) {
    return stop(s, SKEL_E_SYNTAX, s->at < s->end ? why : "the text ends too early");
}

static bool next_is(const scanner *s, char c) {
    return s->at < s->end && *s->at == (unsigned char)c;
}

static bool digit(const scanner *s) {
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static void skip_space(scanner *s) {
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        ++s->at;
}

static bool skip_digits(scanner *s) {
    if (!digit(s)) return wrong(s, "a number must have a digit here");
    while (digit(s)) ++s->at;
    return true;
}

static bool scan_number(scanner *s) {
    const unsigned char *start = s->at;
    if (next_is(s, '-')) ++s->at;
    if (next_is(s, '0')) {
        ++s->at;
        if (digit(s)) return wrong(s, "a number must not begin with 0");
    } else if (!skip_digits(s)) {
        return false;
    }
    if (next_is(s, '.')) {
        ++s->at;
        if (!skip_digits(s)) return false;
    }
    if (next_is(s, 'e') || next_is(s, 'E')) {
        ++s->at;
        if (next_is(s, '+') || next_is(s, '-')) ++s->at;
        if (!skip_digits(s)) return false;
    }
    if (s->at - start <= JSON_MAX_NUMBER) return true;
    s->at = start;
    return stop(s, SKEL_E_TOO_LARGE, "a number is longer than 60 characters");
}

static int hex_digit(unsigned char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static int hex4(const scanner *s, const unsigned char *at) {
    int value = 0;
    for (int k = 0; k < 4; ++k) {
        const int d = s->end - at > k ? hex_digit(at[k]) : -1;
        if (d < 0) return -1;
        value = value * 16 + d;
    }
    return value;
}

/* `at` is on the backslash. */
static bool scan_escape(scanner *s) {
    if (s->at + 1 >= s->end) {
        s->at = s->end;
        return wrong(s, "");
    }
    if (s->at[1] != 'u') {
        if (!strchr("\"\\/bfnrt", s->at[1]) || s->at[1] == 0)
            return wrong(s, "an unknown escape in a string");
        s->at += 2;
        return true;
    }

    /* \uD83D\uDE00: a high surrogate must be followed by a low one. */
    const int high = hex4(s, s->at + 2);
    if (high < 0) return wrong(s, "\\u must be followed by four hexadecimal digits");
    if (high == 0) return wrong(s, "a string must not hold \\u0000");
    if (high >= 0xdc00 && high <= 0xdfff) return wrong(s, "half of a surrogate pair");
    if (high >= 0xd800 && high <= 0xdbff) {
        const bool pair = s->end - s->at >= 12 && s->at[6] == '\\' && s->at[7] == 'u';
        const int low = pair ? hex4(s, s->at + 8) : -1;
        if (low < 0xdc00 || low > 0xdfff) return wrong(s, "half of a surrogate pair");
        s->at += 6;
    }
    s->at += 6;
    return true;
}

/* One character outside ASCII. Overlong forms, surrogates and characters above U+10FFFF are errors.
   */
static bool scan_utf8(scanner *s) {
    const unsigned char *c = s->at;
    const ptrdiff_t left = s->end - c;
    int count = 0;
    if (c[0] >= 0xc2 && c[0] <= 0xdf) count = 2;
    if ((c[0] & 0xf0) == 0xe0) count = 3;
    if (c[0] >= 0xf0 && c[0] <= 0xf4) count = 4;

    bool good = count > 0 && left >= count;
    for (int k = 1; good && k < count; ++k) good = (c[k] & 0xc0) == 0x80;

    /* The second byte excludes overlong forms, surrogates and too large codes. */
    if (good && c[0] == 0xe0) good = c[1] >= 0xa0;
    if (good && c[0] == 0xed) good = c[1] <= 0x9f;
    if (good && c[0] == 0xf0) good = c[1] >= 0x90;
    if (good && c[0] == 0xf4) good = c[1] <= 0x8f;

    if (!good) return wrong(s, "a string is not valid UTF-8");
    s->at += count;
    return true;
}

static bool scan_string(scanner *s) {
    if (!next_is(s, '"')) return wrong(s, "a name in quotes is expected");
    ++s->at;
    while (s->at < s->end && *s->at != '"') {
        if (*s->at < 0x20) return wrong(s, "a string must not hold a raw control character");
        if (*s->at == '\\') {
            if (!scan_escape(s)) return false;
        } else if (*s->at >= 0x80) {
            if (!scan_utf8(s)) return false;
        } else {
            ++s->at;
        }
    }
    if (s->at >= s->end) return wrong(s, "");
    ++s->at;
    return true;
}

static bool scan_word(scanner *s, const char *word) {
    const size_t n = strlen(word);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return wrong(s, "a value is expected");
    s->at += n;
    return true;
}

static bool scan_plain(scanner *s) {
    if (s->at >= s->end) return wrong(s, "");
    switch (*s->at) {
    case '"': return scan_string(s);
    case 't': return scan_word(s, "true");
    case 'f': return scan_word(s, "false");
    case 'n': return scan_word(s, "null");
    default: break;
    }
    if (next_is(s, '-') || digit(s)) return scan_number(s);
    return wrong(s, "a value is expected");
}

static bool scan_key(scanner *s) {
    skip_space(s);
    if (!scan_string(s)) return false;
    skip_space(s);
    if (!next_is(s, ':')) return wrong(s, "':' is expected");
    ++s->at;
    return true;
}

static bool scan_value(scanner *s) {
    skip_space(s);
    if (++s->values > JSON_MAX_VALUES)
        return stop(s, SKEL_E_TOO_LARGE, "there are more than 10000000 values");

    const bool object = next_is(s, '{');
    if (!object && !next_is(s, '[')) return scan_plain(s);
    if (++s->depth > JSON_MAX_DEPTH)
        return stop(s, SKEL_E_TOO_LARGE, "nested deeper than 64 levels");

    const char close = object ? '}' : ']';
    ++s->at;
    skip_space(s);
    bool more = !next_is(s, close);
    while (more) {
        if (object && !scan_key(s)) return false;
        if (!scan_value(s)) return false;
        skip_space(s);
        more = next_is(s, ',');
        if (!more && !next_is(s, close))
            return wrong(s, object ? "',' or '}' is expected" : "',' or ']' is expected");
        if (more) ++s->at;
    }
    ++s->at;
    --s->depth;
    return true;
}

/* Lines and columns start at 1. A column is a character, not a byte. */
static void locate(const scanner *s, const unsigned char *start, char *message, size_t size) {
    unsigned long line = 1, column = 1;
    for (const unsigned char *c = start; c < s->at; ++c) {
        if (*c == '\n') {
            ++line;
            column = 1;
        } else if ((*c & 0xc0) != 0x80) {
            ++column;
        }
    }
    snprintf(message, size, "line %lu column %lu: %s", line, column, s->why);
}

skel_status json_scan(const char *json, size_t length, uint32_t *values, char *message,
                      size_t size) {
    if (length > JSON_MAX_BYTES) {
        snprintf(message, size, "document: is %zu bytes, must be at most %zu", length,
                 JSON_MAX_BYTES);
        return SKEL_E_TOO_LARGE;
    }

    const unsigned char *start = (const unsigned char *)json;
    scanner s = {start, start + length, NULL, SKEL_OK, 0, 0};

    /* A byte order mark is skipped. */
    if (length >= 3 && memcmp(json, "\xef\xbb\xbf", 3) == 0) s.at += 3;
    if (scan_value(&s)) {
        skip_space(&s);
        if (s.at < s.end) wrong(&s, "nothing may follow the document");
    }

    *values = s.values;
    if (s.status != SKEL_OK) locate(&s, start, message, size);
    return s.status;
}

bool json_is_utf8(const char *text) {
    const unsigned char *start = (const unsigned char *)text;
    scanner s = {start, start + strlen(text), NULL, SKEL_OK, 0, 0};
    while (s.at < s.end) {
        if (*s.at < 0x80)
            ++s.at;
        else if (!scan_utf8(&s))
            return false;
    }
    return true;
}
