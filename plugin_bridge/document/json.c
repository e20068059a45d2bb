/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of a JSON text. json_scan.c checks the grammar and counts the values first, so building
   trusts the text, and all values fit into one block. */
#include "document/json.h"
#include "document/json_scan.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* A block begins with the address of the one before; 16 bytes keep what follows aligned. */
static void *take_block(skel__json_tree *tree, size_t count, size_t size) {
    void **block = NULL;
    if (count <= (SIZE_MAX - 16) / size) block = calloc(1, count * size + 16);
    if (!block) return NULL;
    *block       = tree->blocks;
    tree->blocks = block;
    return (char *)block + 16;
}

void skel__json_free(skel__json_tree *tree) {
    for (void **block = tree->blocks; block;) {
        void **next = *block;
        free(block);
        block = next;
    }
    *tree = (skel__json_tree){0};
}

/* ---- building -------------------------------------------------------------------------------- */

typedef struct builder {
    const char *at; /* in the text, which is known to be valid */
    const char *end;
    skel__json *node; /* the next value */
    char       *text; /* where the next string goes */
    int32_t     order;
} builder;

static void skip_space(builder *b) {
    while (b->at < b->end && (*b->at == ' ' || *b->at == '\t' || *b->at == '\n' || *b->at == '\r'))
        ++b->at;
}

static void build_number(builder *b, skel__json *node) {
    char   digits[SKEL__JSON_MAX_NUMBER + 1];
    size_t n = 0;
    while (b->at < b->end && n < SKEL__JSON_MAX_NUMBER && *b->at &&
           strchr("0123456789+-.eE", *b->at))
        digits[n++] = *b->at++;
    digits[n]    = 0;
    node->kind   = SKEL__JSON_NUMBER;
    node->number = strtod(digits, NULL);
}

static uint32_t hex4(const char *at) {
    char digits[5] = {0};
    memcpy(digits, at, 4);
    return (uint32_t)strtoul(digits, NULL, 16);
}

/* The character U+code as UTF-8; returns where the next one goes. */
static char *put_utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    int32_t tail = 1; /* bytes that follow the first, 6 bits each */
    if (code >= 0x800) tail = 2;
    if (code >= 0x10000) tail = 3;
    static const unsigned char k_first[] = {0, 0xc0, 0xe0, 0xf0};
    *out++                               = (char)(k_first[tail] | (code >> (6 * tail)));
    for (; tail > 0; --tail) *out++ = (char)(0x80 | ((code >> (6 * (tail - 1))) & 0x3f));
    return out;
}

/* `at` is behind the backslash. */
static char *put_escape(builder *b, char *out) {
    static const char k_from[] = "bfnrt", k_to[] = "\b\f\n\r\t";
    const char        kind = *b->at++;
    if (kind != 'u') {
        const char *plain = strchr(k_from, kind);
        *out++            = plain ? k_to[plain - k_from] : kind;
        return out;
    }
    uint32_t code = hex4(b->at);
    b->at += 4;
    if (code >= 0xd800 && code <= 0xdbff) { /* a surrogate pair: \uD83D\uDE00 */
        code = 0x10000 + ((code - 0xd800) << 10) + (hex4(b->at + 2) - 0xdc00);
        b->at += 6;
    }
    return put_utf8(out, code);
}

/* `at` is on the opening quote. No escape is shorter than the bytes that it stands for, so all
   strings with their zeros fit where the text, which has two quotes for each, would. */
static const char *build_string(builder *b) {
    const char *string = b->text;
    char       *out    = b->text;
    ++b->at;
    while (*b->at != '"') {
        if (*b->at == '\\') {
            ++b->at;
            out = put_escape(b, out);
        } else {
            *out++ = *b->at++;
        }
    }
    ++b->at;
    *out++  = 0;
    b->text = out;
    return string;
}

static void attach(skel__json *parent, skel__json *item) {
    if (parent->last)
        parent->last->next = item;
    else
        parent->child = item;
    parent->last = item;
    ++parent->count;
}

static void build_word(builder *b, skel__json *node) {
    static const struct {
        const char     *word;
        skel__json_kind kind;
    } k_words[] = {
        {"null", SKEL__JSON_NULL}, {"false", SKEL__JSON_FALSE}, {"true", SKEL__JSON_TRUE}};
    for (size_t i = 0; i < 3; ++i) {
        if (*b->at != k_words[i].word[0]) continue;
        node->kind = k_words[i].kind;
        b->at += strlen(k_words[i].word);
        return;
    }
}

/* As deep as json_scan.c allows. */
static skel__json *build_value(builder *b) {
    skel__json *node = b->node++;
    node->order      = ++b->order;
    skip_space(b);
    if (*b->at == '"') {
        node->kind = SKEL__JSON_STRING;
        node->text = build_string(b);
    } else if (*b->at == '-' || (*b->at >= '0' && *b->at <= '9')) {
        build_number(b, node);
    } else if (*b->at != '{' && *b->at != '[') {
        build_word(b, node);
    } else {
        node->kind       = *b->at == '{' ? SKEL__JSON_OBJECT : SKEL__JSON_ARRAY;
        const char close = *b->at == '{' ? '}' : ']';
        ++b->at;
        skip_space(b);
        while (*b->at != close) {
            const char *name = NULL;
            if (*b->at == ',') ++b->at;
            skip_space(b);
            if (node->kind == SKEL__JSON_OBJECT) {
                name = build_string(b);
                skip_space(b);
                ++b->at; /* the colon */
            }
            skel__json *item = build_value(b);
            item->name       = name;
            attach(node, item);
            skip_space(b);
        }
        ++b->at;
    }
    return node;
}

skel_status skel__json_parse(skel__json_tree *tree, const char *json, size_t length, char *message,
                             size_t size) {
    uint32_t          values = 0;
    const skel_status status = skel__json_scan(json, length, &values, message, size);
    *tree                    = (skel__json_tree){0};
    if (status != SKEL_OK) return status;

    builder b = {json, json + length, NULL, NULL, 0};
    b.node    = take_block(tree, values, sizeof *b.node);
    b.text    = b.node ? take_block(tree, length + 1, 1) : NULL;
    if (!b.text) {
        skel__json_free(tree);
        return SKEL_E_MEMORY;
    }
    if (length >= 3 && memcmp(json, "\xef\xbb\xbf", 3) == 0) b.at += 3; /* byte order mark */
    tree->root = build_value(&b);
    return SKEL_OK;
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool is_kind(const skel__json *node, skel__json_kind kind) {
    return node && node->kind == kind;
}

bool skel__json_is_null(const skel__json *node) {
    return is_kind(node, SKEL__JSON_NULL);
}

bool skel__json_is_bool(const skel__json *node) {
    return is_kind(node, SKEL__JSON_TRUE) || is_kind(node, SKEL__JSON_FALSE);
}

bool skel__json_is_false(const skel__json *node) {
    return is_kind(node, SKEL__JSON_FALSE);
}

bool skel__json_is_true(const skel__json *node) {
    return is_kind(node, SKEL__JSON_TRUE);
}

bool skel__json_is_number(const skel__json *node) {
    return is_kind(node, SKEL__JSON_NUMBER);
}

bool skel__json_is_string(const skel__json *node) {
    return is_kind(node, SKEL__JSON_STRING);
}

bool skel__json_is_array(const skel__json *node) {
    return is_kind(node, SKEL__JSON_ARRAY);
}

bool skel__json_is_object(const skel__json *node) {
    return is_kind(node, SKEL__JSON_OBJECT);
}

int32_t skel__json_size(const skel__json *node) {
    return node ? node->count : 0;
}

skel__json *skel__json_member(const skel__json *object, const char *name) {
    skel__json *item;
    if (!skel__json_is_object(object)) return NULL;
    SKEL__JSON_EACH(item, object) {
        if (strcmp(item->name, name) == 0) return item;
    }
    return NULL;
}

skel__json *skel__json_element(const skel__json *array, int32_t index) {
    skel__json *item;
    SKEL__JSON_EACH(item, array) {
        if (index-- == 0) return item;
    }
    return NULL;
}

/* ---- changes --------------------------------------------------------------------------------- */

skel__json *skel__json_new(skel__json_tree *tree, skel__json_kind kind) {
    skel__json *node = take_block(tree, 1, sizeof *node);
    if (node) node->kind = kind;
    return node;
}

skel__json *skel__json_new_number(skel__json_tree *tree, double x) {
    skel__json *node = skel__json_new(tree, SKEL__JSON_NUMBER);
    if (node) node->number = x;
    return node;
}

skel__json *skel__json_new_numbers(skel__json_tree *tree, const double *x, int32_t count) {
    skel__json *array = skel__json_new(tree, SKEL__JSON_ARRAY);
    if (!array) return NULL;
    for (int32_t i = 0; i < count; ++i)
        if (!skel__json_append(array, skel__json_new_number(tree, x[i]))) return NULL;
    return array;
}

skel__json *skel__json_new_string(skel__json_tree *tree, const char *text) {
    skel__json *node = skel__json_new(tree, SKEL__JSON_STRING);
    if (node) node->text = text;
    return node;
}

bool skel__json_append(skel__json *array, skel__json *item) {
    if (!array || !item) return false;
    attach(array, item);
    return true;
}

bool skel__json_set(skel__json *object, const char *name, skel__json *item) {
    if (!object || !item) return false;
    skel__json_remove(object, name);
    item->name = name;
    attach(object, item);
    return true;
}

void skel__json_remove(skel__json *object, const char *name) {
    skel__json *before = NULL;
    if (!skel__json_is_object(object)) return;
    for (skel__json *item = object->child; item; before = item, item = item->next) {
        if (strcmp(item->name, name) != 0) continue;
        if (before)
            before->next = item->next;
        else
            object->child = item->next;
        if (object->last == item) object->last = before;
        item->next = NULL;
        --object->count;
        return;
    }
}
