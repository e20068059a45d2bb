/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of a JSON text. json_scan.c checks the grammar and counts the values first. The builder
   therefore needs no checks, and all values fit into one block. */
#include "document/json.h"
#include "document/json_scan.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* A block starts with the address of the block before it. Its 16 bytes keep the memory after it
   aligned. */
static void *take_block(json_tree *tree, size_t count, size_t size) {
    void **block = NULL;
    if (count <= (SIZE_MAX - 16) / size) block = calloc(1, count * size + 16);
    if (!block) return NULL;
    *block = tree->blocks;
    tree->blocks = block;
    return (char *)block + 16;
}

void json_free(json_tree *tree) {
    for (void **block = tree->blocks; block;) {
        void **next = *block;
        free(block);
        block = next;
    }
    *tree = (json_tree){0};
}

/* ---- building -------------------------------------------------------------------------------- */

typedef struct builder {
    const char *at; /* in the text, which is valid */
    const char *end;
    json_value *node; /* the next value */
    char *text;       /* memory for the next string */
    int32_t order;
} builder;

static void skip_space(builder *b) {
    while (b->at < b->end && (*b->at == ' ' || *b->at == '\t' || *b->at == '\n' || *b->at == '\r'))
        ++b->at;
}

static void build_number(builder *b, json_value *node) {
    char digits[JSON_MAX_NUMBER + 1];
    size_t n = 0;
    while (b->at < b->end && n < JSON_MAX_NUMBER && *b->at && strchr("0123456789+-.eE", *b->at))
        digits[n++] = *b->at++;
    digits[n] = 0;
    node->kind = JSON_NUMBER;
    node->number = strtod(digits, NULL);
}

static uint32_t hex4(const char *at) {
    char digits[5] = {0};
    memcpy(digits, at, 4);
    return (uint32_t)strtoul(digits, NULL, 16);
}

/* The character U+code as UTF-8; returns the end of the output. */
static char *put_utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }

    /* The first byte is followed by `tail` bytes of 6 bits each. */
    int32_t tail = 1;
    if (code >= 0x800) tail = 2;
    if (code >= 0x10000) tail = 3;
    static const unsigned char k_first[] = {0, 0xc0, 0xe0, 0xf0};
    *out++ = (char)(k_first[tail] | (code >> (6 * tail)));
    for (; tail > 0; --tail) *out++ = (char)(0x80 | ((code >> (6 * (tail - 1))) & 0x3f));
    return out;
}

/* `at` is after the backslash. */
static char *put_escape(builder *b, char *out) {
    static const char k_from[] = "bfnrt", k_to[] = "\b\f\n\r\t";
    const char kind = *b->at++;
    if (kind != 'u') {
        const char *plain = strchr(k_from, kind);
        *out++ = plain ? k_to[plain - k_from] : kind;
        return out;
    }

    /* Characters above U+FFFF are surrogate pairs: \uD83D\uDE00. */
    uint32_t code = hex4(b->at);
    b->at += 4;
    if (code >= 0xd800 && code <= 0xdbff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (hex4(b->at + 2) - 0xdc00);
        b->at += 6;
    }
    return put_utf8(out, code);
}

/* `at` is on the opening quote. No escape is shorter than its UTF-8 bytes, and the zero byte of a
   string is shorter than its two quotes. All strings therefore fit into as many bytes as the text
   has. */
static const char *build_string(builder *b) {
    const char *string = b->text;
    char *out = b->text;

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
    *out++ = 0;
    b->text = out;
    return string;
}

static void attach(json_value *parent, json_value *item) {
    if (parent->last)
        parent->last->next = item;
    else
        parent->child = item;
    parent->last = item;
    ++parent->count;
}

static void build_word(builder *b, json_value *node) {
    static const struct {
        const char *word;
        json_kind kind;
    } k_words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    for (size_t i = 0; i < 3; ++i) {
        if (*b->at != k_words[i].word[0]) continue;
        node->kind = k_words[i].kind;
        b->at += strlen(k_words[i].word);
        return;
    }
}

static json_value *build_value(builder *b);

/* The members of an object or the elements of an array. `at` is on the opening bracket. */
static void build_items(builder *b, json_value *node) {
    const char close = *b->at == '{' ? '}' : ']';
    node->kind = *b->at == '{' ? JSON_OBJECT : JSON_ARRAY;
    ++b->at;
    skip_space(b);
    while (*b->at != close) {
        if (*b->at == ',') ++b->at;
        skip_space(b);

        const char *name = NULL;
        if (node->kind == JSON_OBJECT) {
            name = build_string(b);
            skip_space(b);
            ++b->at; /* the colon */
        }
        json_value *item = build_value(b);
        item->name = name;
        attach(node, item);
        skip_space(b);
    }
    ++b->at;
}

/* Recursive; json_scan.c limits the depth. */
static json_value *build_value(builder *b) {
    json_value *node = b->node++;
    node->order = ++b->order;
    skip_space(b);
    if (*b->at == '"') {
        node->kind = JSON_STRING;
        node->text = build_string(b);
    } else if (*b->at == '-' || (*b->at >= '0' && *b->at <= '9')) {
        build_number(b, node);
    } else if (*b->at == '{' || *b->at == '[') {
        build_items(b, node);
    } else {
        build_word(b, node);
    }
    return node;
}

skel_status json_parse(json_tree *tree, const char *json, size_t length, char *message,
                       size_t size) {
    uint32_t values = 0;
    const skel_status status = json_scan(json, length, &values, message, size);
    *tree = (json_tree){0};
    if (status != SKEL_OK) return status;

    builder b = {json, json + length, NULL, NULL, 0};
    b.node = take_block(tree, values, sizeof *b.node);
    b.text = b.node ? take_block(tree, length + 1, 1) : NULL;
    if (!b.text) {
        json_free(tree);
        return SKEL_E_MEMORY;
    }

    /* A byte order mark is skipped. */
    if (length >= 3 && memcmp(json, "\xef\xbb\xbf", 3) == 0) b.at += 3;
    tree->root = build_value(&b);
    return SKEL_OK;
}

/* ---- queries --------------------------------------------------------------------------------- */

static bool is_kind(const json_value *node, json_kind kind) {
    return node && node->kind == kind;
}

bool json_is_null(const json_value *node) {
    return is_kind(node, JSON_NULL);
}

bool json_is_bool(const json_value *node) {
    return is_kind(node, JSON_TRUE) || is_kind(node, JSON_FALSE);
}

bool json_is_false(const json_value *node) {
    return is_kind(node, JSON_FALSE);
}

bool json_is_true(const json_value *node) {
    return is_kind(node, JSON_TRUE);
}

bool json_is_number(const json_value *node) {
    return is_kind(node, JSON_NUMBER);
}

bool json_is_string(const json_value *node) {
    return is_kind(node, JSON_STRING);
}

bool json_is_array(const json_value *node) {
    return is_kind(node, JSON_ARRAY);
}

bool json_is_object(const json_value *node) {
    return is_kind(node, JSON_OBJECT);
}

int32_t json_size(const json_value *node) {
    return node ? node->count : 0;
}

json_value *json_member(const json_value *object, const char *name) {
    json_value *item;
    if (!json_is_object(object)) return NULL;
    JSON_EACH(item, object) {
        if (strcmp(item->name, name) == 0) return item;
    }
    return NULL;
}

json_value *json_element(const json_value *array, int32_t index) {
    json_value *item;
    JSON_EACH(item, array) {
        if (index-- == 0) return item;
    }
    return NULL;
}

/* ---- changes --------------------------------------------------------------------------------- */

json_value *json_new(json_tree *tree, json_kind kind) {
    json_value *node = take_block(tree, 1, sizeof *node);
    if (node) node->kind = kind;
    return node;
}

json_value *json_new_number(json_tree *tree, double x) {
    json_value *node = json_new(tree, JSON_NUMBER);
    if (node) node->number = x;
    return node;
}

json_value *json_new_numbers(json_tree *tree, const double *x, int32_t count) {
    json_value *array = json_new(tree, JSON_ARRAY);
    if (!array) return NULL;
    for (int32_t i = 0; i < count; ++i)
        if (!json_append(array, json_new_number(tree, x[i]))) return NULL;
    return array;
}

json_value *json_new_string(json_tree *tree, const char *text) {
    json_value *node = json_new(tree, JSON_STRING);
    if (node) node->text = text;
    return node;
}

bool json_append(json_value *array, json_value *item) {
    if (!array || !item) return false;
    attach(array, item);
    return true;
}

bool json_set(json_value *object, const char *name, json_value *item) {
    if (!object || !item) return false;
    json_remove(object, name);
    item->name = name;
    attach(object, item);
    return true;
}

void json_remove(json_value *object, const char *name) {
    json_value *before = NULL;
    if (!json_is_object(object)) return;
    for (json_value *item = object->child; item; before = item, item = item->next) {
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
