/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a JSON document, or one that is given as values. Every problem is kept as "path: is X,
   must be Y". A reader returns false and leaves *out unchanged if the value is missing or wrong. A
   wrong value is noted as a problem, a missing value is not (see doc_need). */
#ifndef BRIDGE_DOCUMENT_DOC_H
#define BRIDGE_DOCUMENT_DOC_H

#include "document/json.h"
#include "document/text.h"

#include <skel/skel_base.h>

#include <stdbool.h>

#define DOC_MAX_ERRORS 100
#define DOC_MAX_WARNINGS 100
#define DOC_MAX_FIELDS 24
#define DOC_MAX_SAMPLES 1000000
#define DOC_QUATERNION_SLACK 1e-3 /* how far the length of a given quaternion may be from 1 */
#define DOC_PI 3.14159265358979323846

#if defined(__GNUC__)
#define DOC_PRINTF(form, first) __attribute__((format(printf, form, first)))
#else
#define DOC_PRINTF(form, first)
#endif

typedef struct doc_problem {
    skel_status status; /* SKEL_OK for a warning */
    int32_t order;      /* of the value in the document */
    int32_t turn;       /* order in which problems of one value were noted */
    int32_t body;       /* index of the body, -1: none */
    int32_t joint;      /* index of the joint, -1: none */
    char text[496];
} doc_problem;

typedef struct document {
    json_value *root;      /* of the tree */
    doc_problem *problems; /* (DOC_MAX_ERRORS + DOC_MAX_WARNINGS) */
    int32_t problem_count;
    int32_t error_count;
    int32_t warning_count;
    bool no_memory;
    json_tree tree;
    void *blocks; /* memory freed by doc_close */
} document;

/** A value and its path. node is NULL if the document does not have it. */
typedef struct doc_at {
    const struct doc_at *up; /* the object or array around it; NULL: the root */
    const char *name;        /* of a member; NULL: an element */
    int32_t index;           /* of an element */
    const json_value *node;
} doc_at;

typedef struct doc_field {
    const char *name;
} doc_field;

/** The members of one object, in the order of its field table. */
typedef struct doc_field_list {
    const doc_at *at;
    const doc_field *table;
    const json_value *node[DOC_MAX_FIELDS];
} doc_field_list;

typedef enum doc_sign { DOC_ANY, DOC_POSITIVE, DOC_NOT_NEGATIVE } doc_sign;

/** Memory for problems, for a text that is not JSON. False: no_memory is set. */
bool doc_start(document *doc);
/** Checks and parses JSON. False: there is no root; the reason is noted, or no_memory is set. */
bool doc_open(document *doc, const char *json, size_t length);
/** The same of a document that is given as values (json_build). */
bool doc_open_values(document *doc, const skel_value *values, uint32_t count, uint32_t stride);
void doc_close(document *doc);
/** Zeroed memory in a chain that starts at *blocks (NULL at first). NULL: out of memory. */
void *doc_blocks_alloc(void **blocks, size_t count, size_t size);
void doc_blocks_free(void **blocks);
/** Zeroed memory that lives until doc_close; NULL sets no_memory. */
void *doc_alloc(document *doc, size_t count, size_t size);
/** Sorts the problems in the order of the document. */
void doc_sort(document *doc);
/** Result of a public function: SKEL_OK, or the first error, which is copied to err. */
skel_status doc_result(const document *doc, skel_error *err);
/** Fills err up to the size that the caller knows. err may be NULL. */
void doc_error_fill(skel_error *err, skel_status status, int32_t body, int32_t joint,
                    const char *text);
/** The same with a printf format, without body and joint; returns status. */
DOC_PRINTF(3, 4)
skel_status doc_error_say(skel_error *err, skel_status status, const char *form, ...);

DOC_PRINTF(3, 4)
void doc_error(document *doc, const doc_at *at, const char *form, ...);
DOC_PRINTF(3, 4)
void doc_warn(document *doc, const doc_at *at, const char *form, ...);
/** Notes "is VALUE, must be MUST". */
void doc_wrong(document *doc, const doc_at *at, const char *must);
/** Notes an error of the engine, whose text has a path already. */
void doc_pass_on(document *doc, skel_status status, const skel_error *err);
/** A short form of the value, for messages. May set no_memory. */
void doc_describe(document *doc, const json_value *node, char *out, size_t size);
/** Writes ", did you mean 'axis'?" or "" to out. next(user, i) returns the known names, NULL at the
    end. */
void doc_suggest(const char *name, const char *(*next)(const void *user, int32_t i),
                 const void *user, char *out, size_t size);

/** Finds the members of an object that the table names (a NULL name ends it). Notes unknown and
    duplicate fields; `what` names the object in messages, as "a joint". False: it is not an object.
    */
bool doc_fields(document *doc, const doc_at *at, const doc_field *table, const char *what,
                doc_field_list *out);
doc_at doc_member(const doc_field_list *fields, int index);
doc_at doc_element(const doc_at *array, int32_t index, const json_value *node);
/** Notes "is missing, must be MUST" and returns false if the object lacks the member. */
bool doc_need(document *doc, const doc_field_list *fields, int index, const char *must);

bool doc_number(document *doc, const doc_at *at, doc_sign sign, double *out);
bool doc_integer(document *doc, const doc_at *at, int32_t *out);
/** A string of 1 to 255 bytes without control characters. */
bool doc_name(document *doc, const doc_at *at, const char **out);
/** An array of `count` numbers; `must` describes it, as "[x, y, z]". */
bool doc_vector(document *doc, const doc_at *at, int32_t count, const char *must, double *out);
/** Checks that the value is an array of min to max elements; *count is its length. */
bool doc_array(document *doc, const doc_at *at, int32_t min, int32_t max, const char *must,
               int32_t *count);
/** One of the names, which NULL ends; *out is its index. */
bool doc_choice(document *doc, const doc_at *at, const char *const *names, int32_t *out);
/** Unit quaternion to DOC_QUATERNION_SLACK, normalised. */
bool doc_quaternion(document *doc, const doc_at *at, double out[4]);

/** A vector of length 1 to rounding does not change, so that a written document reads back to the
    same bits. A zero vector does not change either. */
void doc_normalise(double *x, int32_t count);

/** Switches the thread to the numeric locale C (decimal point) until doc_locale_leave. */
typedef struct doc_locale {
    void *used;
    void *before;
} doc_locale;
doc_locale doc_locale_enter(void);
void doc_locale_leave(doc_locale locale);

#endif
