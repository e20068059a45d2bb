/* SPDX-License-Identifier: BSD-3-Clause */
/* expat, with what can make a small file large or slow switched off. */
#include "xml.h"

#include <expat.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CHUNK ((size_t)1 << 20)

/* expat draws a salt for its hash tables with this function, which glibc has from 2.36 on only;
   hosts are older. The salt is set below, so nothing else asks for random bytes. */
void arc4random_buf(void *bytes, size_t count);
void arc4random_buf(void *bytes, size_t count) {
    memset(bytes, 0x5a, count);
}

typedef struct state {
    const skel__xml_reader *reader;
    XML_Parser              parser;
    const char             *refused; /* why the text itself was refused */
    bool                    stopped;
    int32_t                 depth, elements;
} state;

static void stop(state *s, const char *refused) {
    s->stopped = true;
    if (refused && !s->refused) s->refused = refused;
    XML_StopParser(s->parser, XML_FALSE);
}

static void XMLCALL on_open(void *user, const XML_Char *name, const XML_Char **attributes) {
    state *s = user;
    if (s->stopped) return;
    if (++s->depth > SKEL__XML_DEPTH)
        stop(s, "is nested too deep, must be at most 64 elements deep");
    else if (++s->elements > SKEL__XML_ELEMENTS)
        stop(s, "has too many elements, must have at most 2000000");
    else if (!s->reader->open(s->reader->user, (int32_t)XML_GetCurrentLineNumber(s->parser), name,
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
    (void)name, (void)is_parameter, (void)value, (void)length, (void)base, (void)system;
    (void)public_id, (void)notation;
    stop(user, "declares an entity, must not: entities are off");
}

static void XMLCALL on_skipped(void *user, const XML_Char *name, int is_parameter) {
    (void)name, (void)is_parameter;
    stop(user, "uses an entity, must not: entities are off");
}

skel_status skel__xml_parse(const char *text, size_t length, const skel__xml_reader *reader,
                            char *why, size_t size) {
    state       s      = {.reader = reader};
    skel_status status = SKEL_OK;
    if (length > SKEL__XML_BYTES) {
        snprintf(why, size, "document: is larger than %zu bytes, must be smaller", SKEL__XML_BYTES);
        return SKEL_E_TOO_LARGE;
    }
    s.parser = XML_ParserCreate(NULL);
    if (!s.parser) return SKEL_E_MEMORY;
    XML_SetHashSalt(s.parser, (unsigned long)((uintptr_t)&s >> 4) | 1u); /* another every run */
    XML_SetUserData(s.parser, &s);
    XML_SetElementHandler(s.parser, on_open, on_close);
    XML_SetCharacterDataHandler(s.parser, on_text);
    XML_SetEntityDeclHandler(s.parser, on_entity);
    XML_SetSkippedEntityHandler(s.parser, on_skipped);
    bool good = true;
    for (size_t at = 0; good && (at < length || at == 0);) {
        const size_t n = length - at < CHUNK ? length - at : CHUNK;
        good           = XML_Parse(s.parser, text + at, (int)n, at + n >= length) == XML_STATUS_OK;
        at += n;
        if (n == 0) break;
    }
    if (s.refused || (!good && !s.stopped)) {
        const enum XML_Error error = XML_GetErrorCode(s.parser);
        status                     = error == XML_ERROR_NO_MEMORY ? SKEL_E_MEMORY : SKEL_E_SYNTAX;
        if (s.refused)
            snprintf(why, size, "line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(s.parser),
                     s.refused);
        else
            snprintf(why, size, "line %lu, column %lu: is no XML (%s), must be a URDF document",
                     (unsigned long)XML_GetCurrentLineNumber(s.parser),
                     (unsigned long)XML_GetCurrentColumnNumber(s.parser) + 1,
                     XML_ErrorString(error));
    }
    XML_ParserFree(s.parser);
    return status;
}
