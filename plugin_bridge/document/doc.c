/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading a JSON document: problems with their paths, typed values, field tables. This file knows
   no particular format. */
#include "document/doc.h"

#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOC_UNIT_ROUNDING 2e-15 /* of a squared length: such a vector counts as a unit vector */
#define DOC_NAME_BYTES_MAX 255
#define DOC_VALUE_BYTES_MAX 48 /* of a value in a message */

doc_locale doc_locale_enter(void) {
    doc_locale pair = {NULL, NULL};
    const locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c == (locale_t)0) return pair;
    pair.used = c;
    pair.before = uselocale(c);
    return pair;
}

void doc_locale_leave(doc_locale locale) {
    if (!locale.used) return;
    uselocale(locale.before);
    freelocale(locale.used);
}

/* ---- problems ------------------------------------------------------------------------------ */

void doc_error_fill(skel_error *err, skel_status status, int32_t body, int32_t joint,
                    const char *text) {
    const size_t head = offsetof(skel_error, text);
    if (!err || err->struct_size <= head) return;

    /* The caller may know a shorter text. */
    const size_t size = err->struct_size < sizeof *err ? err->struct_size : sizeof *err;
    err->status = status;
    err->body = body;
    err->joint = joint;
    snprintf(err->text, size - head, "%s", text);
}

skel_status doc_error_say(skel_error *err, skel_status status, const char *form, ...) {
    char text[400];
    va_list args;
    va_start(args, form);
    vsnprintf(text, sizeof text, form, args);
    va_end(args);
    doc_error_fill(err, status, -1, -1, text);
    return status;
}

/* NULL: there are too many problems already. */
static doc_problem *problem_new(document *doc, skel_status status) {
    const bool is_error = status != SKEL_OK;
    int32_t *count = is_error ? &doc->error_count : &doc->warning_count;
    const int32_t max = is_error ? DOC_MAX_ERRORS : DOC_MAX_WARNINGS;
    if (!doc->problems || *count >= max) return NULL;

    ++*count;
    doc_problem *p = &doc->problems[doc->problem_count++];
    *p = (doc_problem){status, 0, doc->problem_count, -1, -1, ""};
    return p;
}

/* Length of the string, or of its first whole UTF-8 characters within max bytes. */
static size_t cut_length(const char *string, size_t max) {
    size_t n = strlen(string);
    if (n <= max) return n;
    n = max;
    while (n > 0 && ((unsigned char)string[n] & 0xc0) == 0x80) --n;
    return n;
}

/* "joints[3].axis"; returns the length. A part that does not fit is left out. */
static size_t add_path(const doc_at *at, char *out, size_t size) {
    if (!at || (!at->name && at->index < 0)) return 0; /* the root has no name */

    const size_t used = add_path(at->up, out, size);
    int n = 0;
    if (used < size && at->name) {
        n = snprintf(out + used, size - used, "%s%.*s", used ? "." : "",
                     (int)cut_length(at->name, DOC_VALUE_BYTES_MAX), at->name);
    } else if (used < size) {
        n = snprintf(out + used, size - used, "[%d]", (int)at->index);
    }
    return n > 0 && used + (size_t)n < size ? used + (size_t)n : used;
}

/* Order of the last value inside the node. */
static int last_order(const json_value *node) {
    while (node->child) {
        node = node->child;
        while (node->next) node = node->next;
    }
    return node->order;
}

/* The body or joint that the path leads through, and the order of the problem in the document. A
   missing value is ordered after the last value of the object that lacks it. */
static void problem_place(doc_problem *p, const doc_at *at) {
    for (const doc_at *a = at; a; a = a->up) {
        if (p->order == 0 && a->node) p->order = a == at ? a->node->order : last_order(a->node);
        if (a->name || !a->up || !a->up->name) continue;
        if (strcmp(a->up->name, "bodies") == 0 && !a->up->up->up) p->body = a->index;
        if (strcmp(a->up->name, "joints") == 0 && !a->up->up->up) p->joint = a->index;
    }
}

/* "path: message", in one line even if the name of an unknown field has control characters. */
static void problem_text(doc_problem *p, const doc_at *at, const char *form, va_list args) {
    size_t used = add_path(at, p->text, sizeof p->text / 2);
    if (used == 0) used = (size_t)snprintf(p->text, sizeof p->text, "document");
    used += (size_t)snprintf(p->text + used, sizeof p->text - used, ": ");
    vsnprintf(p->text + used, sizeof p->text - used, form, args);

    for (char *c = p->text; *c; ++c)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    problem_place(p, at);
}

void doc_error(document *doc, const doc_at *at, const char *form, ...) {
    doc_problem *p = problem_new(doc, SKEL_E_DOCUMENT);
    va_list args;
    if (!p) return;
    va_start(args, form);
    problem_text(p, at, form, args);
    va_end(args);
}

void doc_warn(document *doc, const doc_at *at, const char *form, ...) {
    doc_problem *p = problem_new(doc, SKEL_OK);
    va_list args;
    if (!p) return;
    va_start(args, form);
    problem_text(p, at, form, args);
    va_end(args);
}

void doc_pass_on(document *doc, skel_status status, const skel_error *err) {
    if (status == SKEL_E_MEMORY) doc->no_memory = true;
    doc_problem *p = problem_new(doc, status);
    if (!p) return;
    p->body = err->body;
    p->joint = err->joint;
    p->order = INT_MAX; /* after the problems of the document itself */
    snprintf(p->text, sizeof p->text, "%s", err->text[0] ? err->text : skel_status_text(status));
}

static int problem_compare(const void *a, const void *b) {
    const doc_problem *x = a, *y = b;
    if (x->order != y->order) return (x->order > y->order) - (x->order < y->order);
    return x->turn - y->turn;
}

void doc_sort(document *doc) {
    if (doc->problem_count > 1)
        qsort(doc->problems, (size_t)doc->problem_count, sizeof *doc->problems, problem_compare);
}

skel_status doc_result(const document *doc, skel_error *err) {
    if (doc->no_memory) {
        doc_error_fill(err, SKEL_E_MEMORY, -1, -1, skel_status_text(SKEL_E_MEMORY));
        return SKEL_E_MEMORY;
    }
    for (int32_t i = 0; i < doc->problem_count; ++i) {
        const doc_problem *p = &doc->problems[i];
        if (p->status == SKEL_OK) continue;
        doc_error_fill(err, p->status, p->body, p->joint, p->text);
        return p->status;
    }
    return SKEL_OK;
}

/* ---- values in messages -------------------------------------------------------------------- */

/* A long string is cut after a whole character and ends in "...". */
static void add_short_string(text_buffer *t, const char *string) {
    const size_t n = cut_length(string, DOC_VALUE_BYTES_MAX);
    char cut[DOC_VALUE_BYTES_MAX + 4];
    snprintf(cut, sizeof cut, "%.*s%s", (int)n, string, string[n] ? "..." : "");
    text_string(t, cut);
}

static const char *word_of(const json_value *node) {
    if (json_is_null(node)) return "null";
    return json_is_true(node) ? "true" : "false";
}

/* A value in about DOC_VALUE_BYTES_MAX characters. */
static void add_short(text_buffer *t, const json_value *node) {
    if (json_is_number(node)) {
        if (isfinite(node->number))
            text_number(t, node->number);
        else
            text_add(t, "too large for a double");
    } else if (json_is_string(node)) {
        add_short_string(t, node->text);
    } else if (json_is_array(node)) {
        const char *between = "[";
        for (const json_value *c = node->child; c && t->length < DOC_VALUE_BYTES_MAX; c = c->next) {
            text_add(t, between);
            add_short(t, c);
            if (c->next && t->length >= DOC_VALUE_BYTES_MAX) text_add(t, ", ...");
            between = ", ";
        }
        text_add(t, node->child ? "]" : "[]");
    } else if (json_is_object(node)) {
        text_add(t, node->child ? "{...}" : "{}");
    } else {
        text_add(t, word_of(node));
    }
}

void doc_describe(document *doc, const json_value *node, char *out, size_t size) {
    text_buffer t = {0};
    add_short(&t, node);
    if (t.failed) doc->no_memory = true;
    snprintf(out, size, "%s", text_get(&t));
    text_free(&t);
}

void doc_wrong(document *doc, const doc_at *at, const char *must) {
    char is[160];
    if (doc->error_count >= DOC_MAX_ERRORS) return;
    doc_describe(doc, at->node, is, sizeof is);
    doc_error(doc, at, "is %s, must be %s", is, must);
}

/* Levenshtein distance: the number of letters to insert, delete or replace to get from a to b. Row
   i of the table is computed in place from row i - 1 [Wagner, Fischer 1974]. Names that are too
   long for a typing error of a field name get the distance 99. */
static int32_t edit_distance(const char *a, const char *b) {
    enum { LENGTH_MAX = 64, FAR = 99 };
    const size_t na = strlen(a), nb = strlen(b);
    int32_t row[LENGTH_MAX + 1];
    if (na > LENGTH_MAX || nb > LENGTH_MAX) return FAR;

    for (size_t j = 0; j <= nb; ++j) row[j] = (int32_t)j;
    for (size_t i = 1; i <= na; ++i) {
        int32_t diagonal = row[0];
        row[0] = (int32_t)i;
        for (size_t j = 1; j <= nb; ++j) {
            int32_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

void doc_suggest(const char *name, const char *(*next)(const void *user, int32_t i),
                 const void *user, char *out, size_t size) {
    const char *best = NULL;
    int32_t nearest = 3; /* at most two letters differ, and fewer than were typed */
    const char *known;
    for (int32_t i = 0; (known = next(user, i)) != NULL; ++i) {
        /* Typing errors are rare in the first letter, so it counts twice. */
        const int32_t distance = edit_distance(name, known) + (name[0] != known[0]);
        if (distance < nearest && (size_t)distance < strlen(name)) {
            nearest = distance;
            best = known;
        }
    }

    out[0] = 0;
    if (best) snprintf(out, size, ", did you mean '%s'?", best);
}

/* ---- opening and closing ------------------------------------------------------------------- */

/* A block starts with the address of the block before it. Its 16 bytes keep the memory after it
   aligned. */
void *doc_blocks_alloc(void **blocks, size_t count, size_t size) {
    void **block = NULL;
    if (size == 0 || count <= (SIZE_MAX - 16) / size) block = calloc(1, count * size + 16);
    if (!block) return NULL;
    *block = *blocks;
    *blocks = block;
    return (char *)block + 16;
}

void doc_blocks_free(void **blocks) {
    for (void **block = *blocks; block;) {
        void **next = *block;
        free(block);
        block = next;
    }
    *blocks = NULL;
}

bool doc_start(document *doc) {
    *doc = (document){0};
    doc->problems = calloc(DOC_MAX_ERRORS + DOC_MAX_WARNINGS, sizeof *doc->problems);
    doc->no_memory = !doc->problems;
    return !doc->no_memory;
}

/* Notes the error of the tree, if there is one. */
static bool take_tree(document *doc, skel_status status, const skel_error *err) {
    if (status != SKEL_OK) {
        doc_pass_on(doc, status, err);
        return false;
    }
    doc->root = doc->tree.root;
    return true;
}

bool doc_open(document *doc, const char *json, size_t length) {
    if (!doc_start(doc)) return false;
    skel_error err;
    skel_error_init(&err);
    const skel_status status = json_parse(&doc->tree, json, length, err.text, sizeof err.text);
    return take_tree(doc, status, &err);
}

bool doc_open_values(document *doc, const skel_value *values, uint32_t count, uint32_t stride) {
    if (!doc_start(doc)) return false;
    skel_error err;
    skel_error_init(&err);
    const skel_status status =
        json_build(&doc->tree, values, count, stride, err.text, sizeof err.text);
    return take_tree(doc, status, &err);
}

void doc_close(document *doc) {
    json_free(&doc->tree);
    doc_blocks_free(&doc->blocks);
    free(doc->problems);
    *doc = (document){0};
}

void *doc_alloc(document *doc, size_t count, size_t size) {
    void *memory = doc_blocks_alloc(&doc->blocks, count, size);
    if (!memory) doc->no_memory = true;
    return memory;
}

/* ---- objects and arrays -------------------------------------------------------------------- */

static const char *known_field(const void *user, int32_t i) {
    return ((const doc_field *)user)[i].name;
}

/* Enters one member of the object in the list. */
static void take_field(document *doc, const doc_at *at, const char *what, doc_field_list *out) {
    int i = 0;
    while (out->table[i].name && strcmp(out->table[i].name, at->node->name) != 0) ++i;
    if (!out->table[i].name) {
        char hint[96];
        doc_suggest(at->node->name, known_field, out->table, hint, sizeof hint);
        doc_error(doc, at, "is not a field of %s%s", what, hint);
    } else if (out->node[i]) {
        doc_error(doc, at, "is given twice, must be given once");
    } else {
        out->node[i] = at->node;
    }
}

bool doc_fields(document *doc, const doc_at *at, const doc_field *table, const char *what,
                doc_field_list *out) {
    *out = (doc_field_list){at, table, {NULL}};
    if (!at->node) return false;
    if (!json_is_object(at->node)) {
        doc_wrong(doc, at, "an object");
        return false;
    }
    for (const json_value *c = at->node->child; c; c = c->next) {
        if (doc->error_count >= DOC_MAX_ERRORS) break;
        take_field(doc, &(doc_at){at, c->name, -1, c}, what, out);
    }
    return true;
}

doc_at doc_member(const doc_field_list *fields, int index) {
    return (doc_at){fields->at, fields->table[index].name, -1, fields->node[index]};
}

doc_at doc_element(const doc_at *array, int32_t index, const json_value *node) {
    return (doc_at){array, NULL, index, node};
}

bool doc_need(document *doc, const doc_field_list *fields, int index, const char *must) {
    if (fields->node[index]) return true;
    const doc_at at = doc_member(fields, index);
    doc_error(doc, &at, "is missing, must be %s", must);
    return false;
}

bool doc_array(document *doc, const doc_at *at, int32_t min, int32_t max, const char *must,
               int32_t *count) {
    if (!at->node) return false;
    if (!json_is_array(at->node)) {
        doc_wrong(doc, at, must);
        return false;
    }

    /* A long array is not repeated in the message. */
    const int n = json_size(at->node);
    if (n > max && max >= 1000) {
        doc_error(doc, at, "has %d elements, must have at most %d", n, (int)max);
        return false;
    }
    if (n < min || n > max) {
        doc_wrong(doc, at, must);
        return false;
    }
    *count = n;
    return true;
}

/* ---- values -------------------------------------------------------------------------------- */

bool doc_number(document *doc, const doc_at *at, doc_sign sign, double *out) {
    static const char *const must[] = {"a number", "a number > 0", "a number >= 0"};
    if (!at->node) return false;
    const double x = at->node->number;
    bool good = json_is_number(at->node) && isfinite(x);
    if (good && sign == DOC_POSITIVE) good = x > 0.0;
    if (good && sign == DOC_NOT_NEGATIVE) good = x >= 0.0;
    if (good)
        *out = x;
    else
        doc_wrong(doc, at, must[sign]);
    return good;
}

bool doc_integer(document *doc, const doc_at *at, int32_t *out) {
    if (!at->node) return false;
    const double x = at->node->number;
    const bool good = json_is_number(at->node) && fabs(x) <= 1e9 && x == floor(x);
    if (good)
        *out = (int32_t)x;
    else
        doc_wrong(doc, at, "a whole number from -1000000000 to 1000000000");
    return good;
}

/* C0 and C1 control characters and DEL. The text is valid UTF-8. */
static bool has_control(const char *s) {
    for (const unsigned char *c = (const unsigned char *)s; *c; ++c)
        if (*c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0)) return true;
    return false;
}

bool doc_name(document *doc, const doc_at *at, const char **out) {
    if (!at->node) return false;
    if (!json_is_string(at->node) || !at->node->text[0]) {
        doc_wrong(doc, at, "a string that is not empty");
        return false;
    }

    const char *name = at->node->text;
    const size_t n = strlen(name);
    if (n > DOC_NAME_BYTES_MAX) {
        doc_error(doc, at, "is %zu bytes long, must be at most %d", n, DOC_NAME_BYTES_MAX);
    } else if (has_control(name)) {
        doc_wrong(doc, at, "without control characters");
    } else {
        *out = name;
        return true;
    }
    return false;
}

bool doc_vector(document *doc, const doc_at *at, int32_t count, const char *must, double *out) {
    int32_t n;
    if (!doc_array(doc, at, count, count, must, &n)) return false;

    double x[8] = {0};
    int32_t i = 0;
    bool good = true;
    const json_value *c;
    JSON_EACH(c, at->node) {
        const doc_at item = doc_element(at, i, c);
        good = doc_number(doc, &item, DOC_ANY, &x[i]) && good;
        ++i;
    }
    if (good) memcpy(out, x, (size_t)count * sizeof *x);
    return good;
}

bool doc_choice(document *doc, const doc_at *at, const char *const *names, int32_t *out) {
    if (!at->node) return false;

    /* The list of the message grows until the name is found. */
    text_buffer must = {0};
    text_add(&must, "one of");
    for (int32_t i = 0; names[i]; ++i) {
        if (json_is_string(at->node) && strcmp(names[i], at->node->text) == 0) {
            *out = i;
            text_free(&must);
            return true;
        }
        text_addf(&must, "%s \"%s\"", i ? "," : "", names[i]);
    }

    if (must.failed) doc->no_memory = true;
    doc_wrong(doc, at, text_get(&must));
    text_free(&must);
    return false;
}

void doc_normalise(double *x, int32_t count) {
    double largest = 0.0, sum = 0.0;
    for (int32_t i = 0; i < count; ++i) largest = fmax(largest, fabs(x[i]));
    if (largest == 0.0) return;

    for (int32_t i = 0; i < count; ++i) sum += x[i] * x[i];
    if (fabs(sum - 1.0) <= DOC_UNIT_ROUNDING) return;

    /* Squares of very large or very small numbers would overflow or underflow. */
    sum = 0.0;
    for (int32_t i = 0; i < count; ++i) sum += (x[i] / largest) * (x[i] / largest);
    const double length = sqrt(sum);
    for (int32_t i = 0; i < count; ++i) x[i] = x[i] / largest / length;
}

bool doc_quaternion(document *doc, const doc_at *at, double out[4]) {
    double q[4];
    if (!doc_vector(doc, at, 4, "[w, x, y, z]", q)) return false;
    const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(fabs(length - 1.0) <= DOC_QUATERNION_SLACK)) {
        doc_wrong(doc, at, "a unit quaternion [w, x, y, z]");
        return false;
    }
    doc_normalise(q, 4);
    memcpy(out, q, 4 * sizeof *q);
    return true;
}
