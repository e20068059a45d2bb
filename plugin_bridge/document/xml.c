/* SPDX-License-Identifier: BSD-3-Clause */
/* XML by expat. Entities, which can make a small file large or slow, are disabled. */
#include "document/xml.h"

#include <expat.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XML_CHUNK_BYTES ((size_t)1 << 20)

/* expat calls this function for the salt of its hash tables. glibc has it only since 2.36, and
   hosts may have an older one. new_parser sets the salt itself, so these bytes are not used. */
void arc4random_buf(void *bytes, size_t count);
void arc4random_buf(void *bytes, size_t count) {
    memset(bytes, 0x5a, count);
}

typedef struct state {
    const xml_reader *reader;
    XML_Parser parser;
    const char *refused; /* reason why the text was rejected */
    bool stopped;
    int32_t depth;
    int32_t elements;
    int32_t skipped; /* lines before the first parsed line */
} state;

static void stop(state *s, const char *refused) {
    s->stopped = true;
    if (refused && !s->refused) s->refused = refused;
    XML_StopParser(s->parser, XML_FALSE);
}

static void XMLCALL on_open(void *user, const XML_Char *name, const XML_Char **attributes) {
    state *s = user;
    if (s->stopped) return;
    if (++s->depth > XML_DEPTH)
        stop(s, "is nested too deep, must be at most 64 elements deep");
    else if (++s->elements > XML_ELEMENTS)
        stop(s, "has too many elements, must have at most 2000000");
    else if (!s->reader->open(s->reader->user,
                              (int32_t)XML_GetCurrentLineNumber(s->parser) + s->skipped, name,
                              attributes))
        stop(s, NULL);
}

static void XMLCALL on_close(void *user, const XML_Char *name) {
    state *s = user;
    if (s->stopped) return;
    --s->depth;
    if (!s->reader->close(s->reader->user, name)) stop(s, NULL);
}

static void XMLCALL on_text(void *user, const XML_Char *text, int length) {
    state *s = user;
    if (!s->stopped) s->reader->text(s->reader->user, text, length);
}

static void XMLCALL on_entity(void *user, const XML_Char *name, int is_parameter,
                              const XML_Char *value, int length, const XML_Char *base,
                              const XML_Char *system, const XML_Char *public_id,
                              const XML_Char *notation) {
    (void)name;
    (void)is_parameter;
    (void)value;
    (void)length;
    (void)base;
    (void)system;
    (void)public_id;
    (void)notation;
    stop(user, "declares an entity, must not: entities are off");
}

static void XMLCALL on_skipped(void *user, const XML_Char *name, int is_parameter) {
    (void)name;
    (void)is_parameter;
    stop(user, "uses an entity, must not: entities are off");
}

static bool find_end(const char *text, size_t length) {
    for (size_t i = 0; i + 3 <= length; ++i)
        if (memcmp(text + i, "-->", 3) == 0) return true;
    return false;
}

/* Replaces comments by blanks and keeps the lines. People write -- in comments, which XML forbids
   and other URDF readers accept. Comments in CDATA are text. */
static void blank_comments(char *text, size_t length) {
    bool inside = false, is_text = false;
    for (size_t i = 0; i < length; ++i) {
        const size_t left = length - i;
        if (!inside && !is_text && left >= 9 && memcmp(text + i, "<![CDATA[", 9) == 0) {
            is_text = true;
        } else if (is_text && left >= 3 && memcmp(text + i, "]]>", 3) == 0) {
            is_text = false;
        } else if (!inside && !is_text && left >= 4 && memcmp(text + i, "<!--", 4) == 0) {
            if (!find_end(text + i + 4, left - 4))
                return; /* the parser reports that it does not end */
            memset(text + i, ' ', 4);
            inside = true;
            i += 3;
        } else if (inside && left >= 3 && memcmp(text + i, "-->", 3) == 0) {
            memset(text + i, ' ', 3);
            inside = false;
            i += 2;
        } else if (inside && text[i] != '\n') {
            text[i] = ' ';
        }
    }
}

static XML_Parser new_parser(state *s, const char *encoding) {
    XML_Parser p = XML_ParserCreate(encoding);
    if (!p) return NULL;
    s->parser = p;
    XML_SetHashSalt(p, (unsigned long)((uintptr_t)s >> 4) | 1u); /* differs between runs */
    XML_SetUserData(p, s);
    XML_SetElementHandler(p, on_open, on_close);
    XML_SetCharacterDataHandler(p, on_text);
    XML_SetEntityDeclHandler(p, on_entity);
    XML_SetSkippedEntityHandler(p, on_skipped);
    return p;
}

static bool feed(XML_Parser p, const char *text, size_t length) {
    bool good = true;
    size_t at = 0;
    do {
        const size_t n = length - at < XML_CHUNK_BYTES ? length - at : XML_CHUNK_BYTES;
        good = XML_Parse(p, text + at, (int)n, at + n >= length) == XML_STATUS_OK;
        at += n;
    } while (good && at < length);
    return good;
}

static void say_why(const state *s, char *why, size_t size) {
    const unsigned long line = (unsigned long)XML_GetCurrentLineNumber(s->parser);
    if (s->refused)
        snprintf(why, size, "line %lu: %s", line + (unsigned long)s->skipped, s->refused);
    else
        snprintf(why, size, "line %lu, column %lu: is no XML (%s), must be a URDF document",
                 line + (unsigned long)s->skipped,
                 (unsigned long)XML_GetCurrentColumnNumber(s->parser) + 1,
                 XML_ErrorString(XML_GetErrorCode(s->parser)));
}

/* An encoding that expat does not know, such as "utf8", is read as UTF-8 in a second attempt. The
   encoding comes first in the text, so nothing was read in the first attempt. */
static skel_status parse(state *s, const char *text, size_t length, char *why, size_t size) {
    bool good = false;
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (!new_parser(s, attempt ? "UTF-8" : NULL)) return SKEL_E_MEMORY;
        good = feed(s->parser, text, length);
        if (good || attempt || XML_GetErrorCode(s->parser) != XML_ERROR_UNKNOWN_ENCODING) break;
        XML_ParserFree(s->parser);
    }

    skel_status status = SKEL_OK;
    if (s->refused || (!good && !s->stopped)) {
        const bool none = XML_GetErrorCode(s->parser) == XML_ERROR_NO_MEMORY;
        status = none ? SKEL_E_MEMORY : SKEL_E_SYNTAX;
        say_why(s, why, size);
    }
    XML_ParserFree(s->parser);
    return status;
}

skel_status xml_parse(const char *text, size_t length, const xml_reader *reader, char *why,
                      size_t size) {
    state s = {.reader = reader};
    if (length > XML_BYTES) {
        snprintf(why, size, "document: is larger than %zu bytes, must be smaller", XML_BYTES);
        return SKEL_E_TOO_LARGE;
    }
    char *copy = malloc(length + 1);
    if (!copy) return SKEL_E_MEMORY;
    memcpy(copy, text, length);

    /* Blanks before the declaration are accepted, too. */
    size_t start = 0;
    for (; start < length && strchr(" \t\r\n", copy[start]) && copy[start]; ++start)
        s.skipped += copy[start] == '\n';
    blank_comments(copy, length);
    const skel_status status = parse(&s, copy + start, length - start, why, size);
    free(copy);
    return status;
}
