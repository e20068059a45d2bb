/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of a document that is given as values (skel_value) instead of a text. The limits are
   those of a text (json_scan.h). */
#include "document/json.h"
#include "document/json_scan.h"

#include <math.h>
#include <stdio.h>

typedef struct value_list {
    const char *bytes; /* (count) of `stride` bytes */
    uint32_t count;
    uint32_t stride;
    uint32_t next;    /* index of the next value */
    uint32_t current; /* index of the value that is built */
    json_tree *tree;
    const char *why; /* reason why the list is refused */
    skel_status status;
    int32_t order;
} value_list;

static json_value *stop(value_list *list, skel_status status, const char *why) {
    list->status = status;
    list->why = why;
    return NULL;
}

static const skel_value *value_at(const value_list *list, uint32_t index) {
    return (const skel_value *)(list->bytes + (size_t)index * list->stride);
}

/* A new value in the order of the document. NULL: there are too many, or no memory. */
static json_value *new_node(value_list *list, json_kind kind) {
    if ((uint32_t)list->order >= JSON_MAX_VALUES)
        return stop(list, SKEL_E_TOO_LARGE, "there are more than 10000000 values");
    json_value *node = json_new(list->tree, kind);
    if (!node) return stop(list, SKEL_E_MEMORY, "out of memory");
    node->order = ++list->order;
    return node;
}

/* A number. A document has no NaN; like an infinite number it is out of range. */
static json_value *build_number(value_list *list, double x) {
    json_value *node = new_node(list, JSON_NUMBER);
    if (node) node->number = isnan(x) ? INFINITY : x;
    return node;
}

static json_value *build_string(value_list *list, const char *text) {
    if (!text || !json_is_utf8(text))
        return stop(list, SKEL_E_ARGUMENT, "text is NULL or not valid UTF-8");
    json_value *node = new_node(list, JSON_STRING);
    if (node) node->text = text;
    return node;
}

static json_value *build_numbers(value_list *list, const skel_value *value) {
    if (value->count > 0 && !value->numbers) return stop(list, SKEL_E_ARGUMENT, "numbers is NULL");
    json_value *node = new_node(list, JSON_ARRAY);
    for (uint32_t i = 0; node && i < value->count; ++i)
        if (!json_append(node, build_number(list, value->numbers[i]))) return NULL;
    return node;
}

static json_value *build_value(value_list *list, bool is_member, int32_t depth);

/* The elements of an array or the members of an object. Duplicate names stay, because the reader
   reports them. */
static json_value *build_items(value_list *list, uint32_t count, json_kind kind, int32_t depth) {
    if (depth >= JSON_MAX_DEPTH)
        return stop(list, SKEL_E_TOO_LARGE, "nested deeper than 64 levels");
    json_value *node = new_node(list, kind);
    for (uint32_t i = 0; node && i < count; ++i)
        if (!json_append(node, build_value(list, kind == JSON_OBJECT, depth + 1))) return NULL;
    return node;
}

/* The next value with all that it contains. Recursive; build_items limits the depth. */
static json_value *build_value(value_list *list, bool is_member, int32_t depth) {
    list->current = list->next;
    if (list->next >= list->count)
        return stop(list, SKEL_E_ARGUMENT, "the list ends before the document does");
    const skel_value *value = value_at(list, list->next++);
    if (is_member != (value->name != NULL) || (is_member && !json_is_utf8(value->name)))
        return stop(list, SKEL_E_ARGUMENT,
                    "name must be UTF-8 in members of an object, otherwise NULL");

    json_value *node = NULL;
    switch (value->kind) {
    case SKEL_VALUE_NULL: node = new_node(list, JSON_NULL); break;
    case SKEL_VALUE_FALSE: node = new_node(list, JSON_FALSE); break;
    case SKEL_VALUE_TRUE: node = new_node(list, JSON_TRUE); break;
    case SKEL_VALUE_NUMBER: node = build_number(list, value->number); break;
    case SKEL_VALUE_STRING: node = build_string(list, value->text); break;
    case SKEL_VALUE_ARRAY: node = build_items(list, value->count, JSON_ARRAY, depth); break;
    case SKEL_VALUE_OBJECT: node = build_items(list, value->count, JSON_OBJECT, depth); break;
    case SKEL_VALUE_NUMBERS: node = build_numbers(list, value); break;
    default: return stop(list, SKEL_E_ARGUMENT, "kind must be one of SKEL_VALUE_*");
    }
    if (node) node->name = value->name;
    return node;
}

skel_status json_build(json_tree *tree, const skel_value *values, uint32_t count, uint32_t stride,
                       char *message, size_t size) {
    value_list list = {(const char *)values, count, stride, 0, 0, tree, NULL, SKEL_OK, 0};
    *tree = (json_tree){0};

    tree->root = build_value(&list, false, 0);
    if (tree->root && list.next < count) {
        list.current = list.next;
        stop(&list, SKEL_E_ARGUMENT, "nothing may follow the document");
    }
    if (list.status == SKEL_OK) return SKEL_OK;

    snprintf(message, size, "values[%lu]: %s", (unsigned long)list.current, list.why);
    json_free(tree);
    return list.status;
}
