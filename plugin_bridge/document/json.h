/* SPDX-License-Identifier: BSD-3-Clause */
/* A JSON document as a tree. Parsing takes one block for all values and one for all strings, and
   keeps no state outside the tree: any number of threads may parse at the same time. */
#ifndef BRIDGE_DOCUMENT_JSON_H
#define BRIDGE_DOCUMENT_JSON_H

#include <skel/skel_base.h>

#include <stdbool.h>

typedef enum skel__json_kind {
    SKEL__JSON_NULL,
    SKEL__JSON_FALSE,
    SKEL__JSON_TRUE,
    SKEL__JSON_NUMBER,
    SKEL__JSON_STRING,
    SKEL__JSON_ARRAY,
    SKEL__JSON_OBJECT
} skel__json_kind;

/** One value. Strings are UTF-8 and hold no zero byte. */
typedef struct skel__json {
    struct skel__json *next;   /* the element or member that follows; NULL: none */
    struct skel__json *child;  /* first element or member */
    struct skel__json *last;   /* last element or member */
    const char        *name;   /* of a member of an object, else NULL */
    const char        *text;   /* of a string, else NULL */
    double             number; /* infinite where a number is too large for a double */
    int32_t            count;  /* of elements or members */
    int32_t            order;  /* of the value in the text, from 1 */
    skel__json_kind    kind;
} skel__json;

/** Owns every value that is in it or was made for it. Start with all zero. */
typedef struct skel__json_tree {
    skel__json *root;
    void       *blocks;
} skel__json_tree;

/** Checks the grammar (json_scan.h) and builds the tree. SKEL_E_SYNTAX or SKEL_E_TOO_LARGE: then
    `message` says where and why. SKEL_E_MEMORY: the tree is empty. The numeric locale must be C. */
skel_status skel__json_parse(skel__json_tree *tree, const char *json, size_t length, char *message,
                             size_t size);
void        skel__json_free(skel__json_tree *tree);

/* Questions; node may be NULL, which is a value of no kind. */
bool skel__json_is_null(const skel__json *node);
bool skel__json_is_bool(const skel__json *node);
bool skel__json_is_false(const skel__json *node);
bool skel__json_is_true(const skel__json *node);
bool skel__json_is_number(const skel__json *node);
bool skel__json_is_string(const skel__json *node);
bool skel__json_is_array(const skel__json *node);
bool skel__json_is_object(const skel__json *node);

/** Number of elements or members; 0 for NULL and for plain values. */
int32_t skel__json_size(const skel__json *node);
/** The first member of that name; NULL where there is none, or no object. */
skel__json *skel__json_member(const skel__json *object, const char *name);
/** NULL where the index is out of range. */
skel__json *skel__json_element(const skel__json *array, int32_t index);
/** Runs over elements or members; parent may be NULL. */
#define SKEL__JSON_EACH(item, parent)                                                              \
    for ((item) = (parent) ? (parent)->child : NULL; (item); (item) = (item)->next)

/* New values, owned by the tree. NULL: no memory. */
skel__json *skel__json_new(skel__json_tree *tree, skel__json_kind kind);
skel__json *skel__json_new_number(skel__json_tree *tree, double x);
skel__json *skel__json_new_numbers(skel__json_tree *tree, const double *x, int32_t count);
/** text must outlive the tree. */
skel__json *skel__json_new_string(skel__json_tree *tree, const char *text);
/** Both take NULL for "no memory" and then return false. A name must outlive the tree; a member of
    the same name is replaced. */
bool skel__json_append(skel__json *array, skel__json *item);
bool skel__json_set(skel__json *object, const char *name, skel__json *item);
void skel__json_remove(skel__json *object, const char *name);

#endif
