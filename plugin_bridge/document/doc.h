/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a JSON document with care: every problem is kept with the path of what is wrong, what it
   is and what it must be. Readers return false where the value is absent or wrong (then the problem
   is noted) and leave *out as it was. */
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
#define DOC_PI 3.14159265358979323846

#if defined(__GNUC__)
#define DOC_PRINTF(form, first) __attribute__((format(printf, form, first)))
#else
#define DOC_PRINTF(form, first)
#endif

typedef struct doc_problem {
    skel_status status; /* SKEL_OK for a warning */
    int32_t     order;  /* place in the document */
    int32_t     turn;   /* of those at one place: when it was noted */
    int32_t     body;   /* -1 where it is about none */
    int32_t     joint;
    char        text[496];
} doc_problem;

typedef struct document {
    json_value  *root;     /* of the tree */
    doc_problem *problems; /* room for all that may be noted */
    int32_t      problem_count;
    int32_t      error_count;
    int32_t      warning_count;
    bool         no_memory;
    json_tree    tree;
    void        *blocks; /* memory freed by doc_close */
} document;

/** A value and the way to it. node is NULL where the document does not have it. */
typedef struct doc_at {
    const struct doc_at *up;
    const char          *name; /* NULL: an element, then index counts */
    int32_t              index;
    const json_value    *node;
} doc_at;

typedef struct doc_field {
    const char *name;
} doc_field;

/** The members of one object, in the order of its field table. */
typedef struct doc_field_list {
    const doc_at     *at;
    const doc_field  *table;
    const json_value *node[DOC_MAX_FIELDS];
} doc_field_list;

typedef enum doc_sign { DOC_ANY, DOC_POSITIVE, DOC_NOT_NEGATIVE } doc_sign;

/** Room for problems, for a text that is no JSON. False: no_memory. */
bool doc_start(document *doc);
/** Checks and parses the text. False: no root; the reason is noted (or no_memory is set). */
bool doc_open(document *doc, const char *json, size_t length);
void doc_close(document *doc);
/** Zeroed memory in a chain that starts at *blocks (NULL at first); NULL where there is none. */
void *doc_blocks_alloc(void **blocks, size_t count, size_t size);
void  doc_blocks_free(void **blocks);
/** Zeroed memory that lives until doc_close; NULL sets no_memory. */
void *doc_alloc(document *doc, size_t count, size_t size);
/** Brings the problems into the order of the document. */
void doc_sort(document *doc);
/** What skel_scene_parse and its like return: SKEL_OK, or the first error, copied to err. */
skel_status doc_result(const document *doc, skel_error *err);
/** Fills the caller's err, whatever size of it the caller knows. err may be NULL. */
void doc_error_fill(skel_error *err, skel_status status, int32_t body, int32_t joint,
                    const char *text);
/** The same by a form, about no body or joint; returns status. */
DOC_PRINTF(3, 4)
skel_status doc_error_say(skel_error *err, skel_status status, const char *form, ...);

DOC_PRINTF(3, 4)
void doc_error(document *doc, const doc_at *at, const char *form, ...);
DOC_PRINTF(3, 4)
void doc_warn(document *doc, const doc_at *at, const char *form, ...);
/** "is WHAT IT IS, must be MUST". */
void doc_wrong(document *doc, const doc_at *at, const char *must);
/** An error whose text already has its path. */
void doc_pass_on(document *doc, skel_status status, const skel_error *err);
/** The value in few characters, for messages. Sets no_memory where there is none for it. */
void doc_describe(document *doc, const json_value *node, char *out, size_t size);
/** ", did you mean 'axis'?" or "" into out; next(user, i) gives the known names, NULL ends them. */
void doc_suggest(const char *name, const char *(*next)(const void *user, int32_t i),
                 const void *user, char *out, size_t size);

/** Sorts the members of an object by the table (ended by a NULL name); `what` is "a joint". Notes
    unknown and double fields. False where the value is no object. */
bool   doc_fields(document *doc, const doc_at *at, const doc_field *table, const char *what,
                  doc_field_list *out);
doc_at doc_member(const doc_field_list *fields, int index);
doc_at doc_element(const doc_at *array, int32_t index, const json_value *node);
/** Notes "is missing, must be MUST" where the member is not there. */
bool doc_need(document *doc, const doc_field_list *fields, int index, const char *must);

bool doc_number(document *doc, const doc_at *at, doc_sign sign, double *out);
bool doc_integer(document *doc, const doc_at *at, int32_t *out);
/** A string of 1 to 255 bytes without control characters. */
bool doc_name(document *doc, const doc_at *at, const char **out);
/** count numbers; `must` as "[x, y, z]". */
bool doc_vector(document *doc, const doc_at *at, int32_t count, const char *must, double *out);
/** Notes where it is no array or has not min to max elements; *count is its length. */
bool doc_array(document *doc, const doc_at *at, int32_t min, int32_t max, const char *must,
               int32_t *count);
/** One of the names (ended by NULL); *out is its index. */
bool doc_choice(document *doc, const doc_at *at, const char *const *names, int32_t *out);
/** Unit quaternion; normalised where it is off by more than rounding. */
bool doc_quaternion(document *doc, const doc_at *at, double out[4]);

/** Leaves what is already unit to rounding, so that written numbers stay as they are. */
void doc_normalise(double *x, int32_t count);

/** Switches the thread to C numbers (decimal point); give the result to doc_locale_leave. */
typedef struct doc_locale {
    void *used;
    void *before;
} doc_locale;
doc_locale doc_locale_enter(void);
void       doc_locale_leave(doc_locale locale);

#endif
