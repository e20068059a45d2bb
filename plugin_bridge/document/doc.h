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

#define SKEL__DOC_MAX_ERRORS 100
#define SKEL__DOC_MAX_WARNINGS 100
#define SKEL__DOC_MAX_FIELDS 24
#define SKEL__DOC_MAX_SAMPLES 1000000
#define SKEL__DOC_PI 3.14159265358979323846

#if defined(__GNUC__)
#define SKEL__DOC_PRINTF(form, first) __attribute__((format(printf, form, first)))
#else
#define SKEL__DOC_PRINTF(form, first)
#endif

typedef struct skel__problem {
    skel_status status; /* SKEL_OK for a warning */
    int32_t     order;  /* place in the document */
    int32_t     turn;   /* of those at one place: when it was noted */
    int32_t     body;   /* -1 where it is about none */
    int32_t     joint;
    char        text[496];
} skel__problem;

typedef struct skel__doc {
    skel__json     *root;     /* of the tree */
    skel__problem  *problems; /* room for all that may be noted */
    int32_t         problem_count;
    int32_t         error_count;
    int32_t         warning_count;
    bool            no_memory;
    skel__json_tree tree;
    void           *blocks; /* memory freed by skel__doc_close */
} skel__doc;

/** A value and the way to it. node is NULL where the document does not have it. */
typedef struct skel__at {
    const struct skel__at *up;
    const char            *name; /* NULL: an element, then index counts */
    int32_t                index;
    const skel__json      *node;
} skel__at;

typedef struct skel__field {
    const char *name;
} skel__field;

/** The members of one object, in the order of its field table. */
typedef struct skel__fields {
    const skel__at    *at;
    const skel__field *table;
    const skel__json  *node[SKEL__DOC_MAX_FIELDS];
} skel__fields;

typedef enum skel__sign { SKEL__ANY, SKEL__POSITIVE, SKEL__NOT_NEGATIVE } skel__sign;

/** Room for problems, for a text that is no JSON. False: no_memory. */
bool skel__doc_start(skel__doc *doc);
/** Checks and parses the text. False: no root; the reason is noted (or no_memory is set). */
bool skel__doc_open(skel__doc *doc, const char *json, size_t length);
void skel__doc_close(skel__doc *doc);
/** Zeroed memory in a chain that starts at *blocks (NULL at first); NULL where there is none. */
void *skel__blocks_alloc(void **blocks, size_t count, size_t size);
void  skel__blocks_free(void **blocks);
/** Zeroed memory that lives until skel__doc_close; NULL sets no_memory. */
void *skel__doc_alloc(skel__doc *doc, size_t count, size_t size);
/** Brings the problems into the order of the document. */
void skel__doc_sort(skel__doc *doc);
/** What skel_scene_parse and its like return: SKEL_OK, or the first error, copied to err. */
skel_status skel__doc_result(const skel__doc *doc, skel_error *err);
/** Fills the caller's err, whatever size of it the caller knows. err may be NULL. */
void skel__error_fill(skel_error *err, skel_status status, int32_t body, int32_t joint,
                      const char *text);
/** The same by a form, about no body or joint; returns status. */
SKEL__DOC_PRINTF(3, 4)
skel_status skel__error_say(skel_error *err, skel_status status, const char *form, ...);

SKEL__DOC_PRINTF(3, 4)
void skel__doc_error(skel__doc *doc, const skel__at *at, const char *form, ...);
SKEL__DOC_PRINTF(3, 4)
void skel__doc_warn(skel__doc *doc, const skel__at *at, const char *form, ...);
/** "is WHAT IT IS, must be MUST". */
void skel__doc_wrong(skel__doc *doc, const skel__at *at, const char *must);
/** An error whose text already has its path. */
void skel__doc_pass_on(skel__doc *doc, skel_status status, const skel_error *err);
/** The value in few characters, for messages. Sets no_memory where there is none for it. */
void skel__describe(skel__doc *doc, const skel__json *node, char *out, size_t size);
/** ", did you mean 'axis'?" or "" into out; next(user, i) gives the known names, NULL ends them. */
void skel__suggest(const char *name, const char *(*next)(const void *user, int32_t i),
                   const void *user, char *out, size_t size);

/** Sorts the members of an object by the table (ended by a NULL name); `what` is "a joint". Notes
    unknown and double fields. False where the value is no object. */
bool     skel__doc_fields(skel__doc *doc, const skel__at *at, const skel__field *table,
                          const char *what, skel__fields *out);
skel__at skel__doc_member(const skel__fields *fields, int index);
skel__at skel__doc_element(const skel__at *array, int32_t index, const skel__json *node);
/** Notes "is missing, must be MUST" where the member is not there. */
bool skel__doc_need(skel__doc *doc, const skel__fields *fields, int index, const char *must);

bool skel__doc_number(skel__doc *doc, const skel__at *at, skel__sign sign, double *out);
bool skel__doc_integer(skel__doc *doc, const skel__at *at, int32_t *out);
/** A string of 1 to 255 bytes without control characters. */
bool skel__doc_name(skel__doc *doc, const skel__at *at, const char **out);
/** count numbers; `must` as "[x, y, z]". */
bool skel__doc_vector(skel__doc *doc, const skel__at *at, int32_t count, const char *must,
                      double *out);
/** Notes where it is no array or has not min to max elements; *count is its length. */
bool skel__doc_array(skel__doc *doc, const skel__at *at, int32_t min, int32_t max, const char *must,
                     int32_t *count);
/** One of the names (ended by NULL); *out is its index. */
bool skel__doc_choice(skel__doc *doc, const skel__at *at, const char *const *names, int32_t *out);
/** Unit quaternion; normalised where it is off by more than rounding. */
bool skel__doc_quaternion(skel__doc *doc, const skel__at *at, double out[4]);

/** Leaves what is already unit to rounding, so that written numbers stay as they are. */
void skel__normalise(double *x, int32_t count);

/** Switches the thread to C numbers (decimal point); give the result to skel__locale_leave. */
typedef struct skel__locale {
    void *used;
    void *before;
} skel__locale;
skel__locale skel__locale_enter(void);
void         skel__locale_leave(skel__locale locale);

#endif
