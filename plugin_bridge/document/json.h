/* SPDX-License-Identifier: BSD-3-Clause */
/* A document as a tree of JSON values. Parsing allocates one block for all values and one for all
   strings. It has no state outside the tree, so several threads may parse at the same time. */
#ifndef BRIDGE_DOCUMENT_JSON_H
#define BRIDGE_DOCUMENT_JSON_H

#include <skel/skel_scene.h>

#include <stdbool.h>

typedef enum json_kind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} json_kind;

/** One value. Strings are UTF-8 and hold no zero byte. */
typedef struct json_value {
    struct json_value *next;  /* next element or member; NULL: none */
    struct json_value *child; /* first element or member */
    struct json_value *last;  /* last element or member */
    const char *name;         /* of a member of an object, else NULL */
    const char *text;         /* of a string, else NULL */
    double number;            /* infinite if the number is too large for a double */
    int32_t count;            /* of elements or members */
    int32_t order;            /* of the value in the document, from 1 */
    json_kind kind;
} json_value;

/** Owns all values in it and all values created for it. Initialise with zeros. */
typedef struct json_tree {
    json_value *root;
    void *blocks;
} json_tree;

/** Checks the grammar (json_scan.h) and builds the tree. After SKEL_E_SYNTAX or SKEL_E_TOO_LARGE,
    `message` has line, column and reason. After an error the tree is empty. The numeric locale must
    be C. */
skel_status json_parse(json_tree *tree, const char *json, size_t length, char *message,
                       size_t size);
/** Builds the tree of a document that is given as values (skel_scene_create). Names and texts stay
    those of the caller. After SKEL_E_ARGUMENT or SKEL_E_TOO_LARGE, `message` has the index of the
    value and the reason. After an error the tree is empty. */
skel_status json_build(json_tree *tree, const skel_value *values, uint32_t count, uint32_t stride,
                       char *message, size_t size);
void json_free(json_tree *tree);

/* Queries. node may be NULL, which has no kind. */
bool json_is_null(const json_value *node);
bool json_is_bool(const json_value *node);
bool json_is_false(const json_value *node);
bool json_is_true(const json_value *node);
bool json_is_number(const json_value *node);
bool json_is_string(const json_value *node);
bool json_is_array(const json_value *node);
bool json_is_object(const json_value *node);

/** Number of elements or members; 0 for NULL and for other values. */
int32_t json_size(const json_value *node);
/** The first member of that name; NULL: there is none, or the value is not an object. */
json_value *json_member(const json_value *object, const char *name);
/** NULL: the index is out of range. */
json_value *json_element(const json_value *array, int32_t index);
/** Iterates over elements or members; parent may be NULL. */
#define JSON_EACH(item, parent)                                                                    \
    for ((item) = (parent) ? (parent)->child : NULL; (item); (item) = (item)->next)

/* New values, owned by the tree. NULL: no memory. */
json_value *json_new(json_tree *tree, json_kind kind);
json_value *json_new_number(json_tree *tree, double x);
json_value *json_new_numbers(json_tree *tree, const double *x, int32_t count);
/** text must outlive the tree. */
json_value *json_new_string(json_tree *tree, const char *text);
/** Append an element, set a member. If an argument is NULL (no memory), they return false. A name
    must outlive the tree; a member of the same name is replaced. */
bool json_append(json_value *array, json_value *item);
bool json_set(json_value *object, const char *name, json_value *item);
void json_remove(json_value *object, const char *name);

#endif
