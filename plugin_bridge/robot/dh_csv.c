/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a DH table from CSV: lines "# key: value" (convention, units, name, base, tool), a line of
   column names, one line per joint. Convention and units are never guessed: they are required. */
#include "robot/dh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DH_COLUMNS_MAX 32
#define DH_CSV_BYTES_MAX ((size_t)10 << 20)
#define DH_UNIT_TOL 1e-3 /* allowed error of the length of a quaternion */

/* The unit of a column. COORDINATE: that of the joint coordinate, an angle or a length. */
typedef enum unit { NONE, ANGLE, LENGTH, COORDINATE } unit;

enum {
    C_NAME,
    C_LINK,
    C_TYPE,
    C_A,
    C_ALPHA,
    C_D,
    C_THETA,
    C_OFFSET,
    C_SIGN,
    C_LOW,
    C_HIGH,
    C_MASS,
    C_COM,
    C_INERTIA = C_COM + 3,
    C_FRICTION = C_INERTIA + 6,
    C_VELOCITY,
    C_TORQUE,
    C_COUNT
};

static const struct column {
    const char *name;
    unit unit;
} k_columns[C_COUNT] = {{"name", NONE},
                        {"link", NONE},
                        {"type", NONE},
                        {"a", LENGTH},
                        {"alpha", ANGLE},
                        {"d", LENGTH},
                        {"theta", ANGLE},
                        {"offset", COORDINATE},
                        {"sign", NONE},
                        {"limit_low", COORDINATE},
                        {"limit_high", COORDINATE},
                        {"mass", NONE},
                        {"com_x", LENGTH},
                        {"com_y", LENGTH},
                        {"com_z", LENGTH},
                        {"ixx", NONE},
                        {"iyy", NONE},
                        {"izz", NONE},
                        {"ixy", NONE},
                        {"ixz", NONE},
                        {"iyz", NONE},
                        {"friction", NONE},
                        {"velocity_limit", COORDINATE},
                        {"torque_limit", NONE}};

typedef struct reader {
    document *doc;
    dh_doc *d;
    int32_t line;
    bool has_convention, has_angle, has_length;
    int32_t column_count;           /* 0: the heading was not read yet */
    int32_t column[DH_COLUMNS_MAX]; /* C_* */
    double angle[DH_COLUMNS_MAX];   /* rad per unit, from the column's name; 0: unit of the file */
    double length[DH_COLUMNS_MAX];  /* m per unit, likewise */
    dh_joint *rows;
} reader;

static void wrong(reader *r, const char *what, const char *is, const char *must) {
    robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: %s: is '%.48s', must be %s", (int)r->line, what,
               is, must);
}

/* Reads the whole text as a finite number. */
static bool number_of(const char *text, double *out) {
    char *end;
    if (!text[0] || strpbrk(text, "xXnNiI")) return false; /* no hex, nan, inf */
    const double x = strtod(text, &end);
    if (*end || !isfinite(x)) return false;
    *out = x;
    return true;
}

static char *trim(char *text) {
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r'))
        text[--n] = 0;
    while (*text == ' ' || *text == '\t') ++text;
    return text;
}

/* Copies a name to memory of the document; NULL if it is not valid. */
static const char *copy_name(reader *r, const char *text) {
    if (!robot_is_name(text)) {
        wrong(r, "name", "not a name", "1 to 255 bytes of UTF-8 without control characters");
        return NULL;
    }
    const size_t size = strlen(text) + 1;
    char *copy = doc_alloc(r->doc, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* ---- lines "# key: value" -------------------------------------------------------------------- */

static void read_choice(reader *r, const char *key, const char *value, const char *one,
                        const char *two, bool *has, bool *second) {
    char must[64];
    snprintf(must, sizeof must, "%s or %s", one, two);
    if (*has) {
        robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: %s: is given twice", (int)r->line, key);
        return;
    }
    *has = true;
    *second = strcmp(value, two) == 0;
    if (!*second && strcmp(value, one) != 0) wrong(r, key, value, must);
}

/* Seven numbers x y z w x y z. The length unit is applied at the end of the file. */
static void read_pose(reader *r, const char *key, char *value, double out[7]) {
    char *rest = value;
    double x[7], norm = 0.0;
    for (int k = 0; k < 7; ++k) {
        char *word = strtok_r(k ? NULL : value, " \t", &rest);
        if (!word || !number_of(word, &x[k])) {
            wrong(r, key, word ? word : "too short", "7 numbers: x y z w x y z");
            return;
        }
    }
    if (strtok_r(NULL, " \t", &rest)) {
        wrong(r, key, "too long", "7 numbers: x y z w x y z");
        return;
    }

    for (int k = 3; k < 7; ++k) norm += x[k] * x[k];
    if (!(fabs(sqrt(norm) - 1.0) <= DH_UNIT_TOL)) {
        wrong(r, key, "not a unit quaternion",
              "7 numbers: x y z w x y z, the last four of length 1");
        return;
    }
    doc_normalise(x + 3, 4);
    memcpy(out, x, sizeof x);
}

/* An error of the receipt, in m or rad whatever the units of the file. */
static void read_error(reader *r, const char *key, const char *value, double *out) {
    if (!number_of(value, out) || *out < 0.0) wrong(r, key, value, "a number >= 0");
}

static void read_key(reader *r, char *line) {
    bool second = false;
    char *colon = strchr(line, ':');
    if (!colon) return; /* a comment without a key */

    *colon = 0;
    const char *key = trim(line);
    char *value = trim(colon + 1);

    if (strcmp(key, "convention") == 0) {
        read_choice(r, key, value, "standard", "modified", &r->has_convention, &second);
        r->d->convention = second ? SKEL_DH_MODIFIED : SKEL_DH_STANDARD;
    } else if (strcmp(key, "angle_unit") == 0) {
        read_choice(r, key, value, "rad", "deg", &r->has_angle, &r->d->is_deg);
    } else if (strcmp(key, "length_unit") == 0) {
        read_choice(r, key, value, "m", "mm", &r->has_length, &r->d->is_mm);
    } else if (strcmp(key, "name") == 0) {
        r->d->name = copy_name(r, value);
    } else if (strcmp(key, "base") == 0) {
        read_pose(r, key, value, r->d->base);
    } else if (strcmp(key, "tool") == 0) {
        read_pose(r, key, value, r->d->tool);
    } else if (strcmp(key, "position_error") == 0) {
        read_error(r, key, value, &r->d->receipt.position_error);
    } else if (strcmp(key, "angle_error") == 0) {
        read_error(r, key, value, &r->d->receipt.angle_error);
    }
}

/* ---- heading --------------------------------------------------------------------------------- */

/* Removes the unit from a column name: "alpha_deg", "alpha [deg]" or "alpha (deg)". */
static void take_unit(char *name, double *angle, double *length) {
    static const struct {
        const char *tail;
        double angle, length;
    } tails[] = {
        {"deg", DOC_PI / 180.0, 0.0}, {"rad", 1.0, 0.0}, {"mm", 0.0, 1e-3}, {"m", 0.0, 1.0}};
    char *cut = strpbrk(name, "[(");
    if (!cut) cut = strrchr(name, '_');
    if (!cut) return;

    const char *inside = cut + 1;
    for (size_t k = 0; k < sizeof tails / sizeof *tails; ++k) {
        const size_t n = strlen(tails[k].tail);
        if (strncmp(inside, tails[k].tail, n) != 0) continue;
        if (inside[n] && !strchr("])", inside[n])) continue;

        *angle = tails[k].angle;
        *length = tails[k].length;
        *cut = 0;
        trim(name);
        return;
    }
}

static void read_heading(reader *r, char **cell, int32_t count) {
    bool seen[C_COUNT] = {false};
    for (int32_t i = 0; i < count; ++i) {
        int32_t k = 0;
        take_unit(cell[i], &r->angle[i], &r->length[i]);
        while (k < C_COUNT && strcmp(k_columns[k].name, cell[i]) != 0) ++k;
        const unit u = k < C_COUNT ? k_columns[k].unit : NONE;

        if (k == C_COUNT) {
            wrong(r, "column", cell[i], "a column of a table: name, type, a, alpha, d, theta, ...");
            return;
        }
        if (seen[k]) {
            robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: column %s: is given twice", (int)r->line,
                       cell[i]);
            return;
        }
        if ((r->angle[i] > 0.0 && u != ANGLE && u != COORDINATE) ||
            (r->length[i] > 0.0 && u != LENGTH && u != COORDINATE)) {
            wrong(r, "column", cell[i], "a column without this unit");
            return;
        }
        seen[k] = true;
        r->column[i] = k;
    }

    static const int needed[] = {C_TYPE, C_A, C_ALPHA, C_D, C_THETA};
    for (size_t k = 0; k < sizeof needed / sizeof *needed; ++k)
        if (!seen[needed[k]])
            robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: column %s: is missing, must be given",
                       (int)r->line, k_columns[needed[k]].name);
    r->column_count = count;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool read_type(reader *r, const char *text, int32_t *type) {
    const bool is_revolute = strcmp(text, "revolute") == 0 || strcmp(text, "R") == 0;
    const bool is_prismatic = strcmp(text, "prismatic") == 0 || strcmp(text, "P") == 0;
    *type = is_prismatic ? SKEL_JOINT_SLIDE : SKEL_JOINT_HINGE;
    if (!is_revolute && !is_prismatic) wrong(r, "type", text, "revolute or prismatic");
    return is_revolute || is_prismatic;
}

/* SI units per unit of column i: from the column's name, or else from the file. */
static double unit_of(const reader *r, int32_t i, int32_t type) {
    const unit u = k_columns[r->column[i]].unit;
    const bool is_angle = u == ANGLE || (u == COORDINATE && type == SKEL_JOINT_HINGE);
    if (u == NONE) return 1.0;

    if (is_angle && r->angle[i] > 0.0) return r->angle[i];
    if (is_angle) return r->d->is_deg ? DOC_PI / 180.0 : 1.0;
    if (r->length[i] > 0.0) return r->length[i];
    return r->d->is_mm ? 1e-3 : 1.0;
}

static void set_number(reader *r, dh_joint *j, int32_t column, double x) {
    switch (column) {
    case C_A: j->row.a = x; break;
    case C_ALPHA: j->row.alpha = x; break;
    case C_D: j->row.d = x; break;
    case C_THETA: j->row.theta = x; break;
    case C_OFFSET: j->row.offset = x; break;
    case C_SIGN:
        j->row.sign = x;
        if (fabs(x) != 1.0) wrong(r, "sign", "another number", "1 or -1");
        break;
    case C_LOW: j->low = x; break;
    case C_HIGH: j->high = x; break;
    case C_MASS:
        j->mass = x;
        j->has_mass = true;
        if (!(x > 0.0)) wrong(r, "mass", "not positive", "> 0");
        break;
    case C_FRICTION:
        j->friction = x;
        if (x < 0.0) wrong(r, "friction", "negative", ">= 0");
        break;
    case C_VELOCITY: j->drive.velocity = x; break;
    case C_TORQUE: j->drive.effort = x; break;
    default:
        if (column >= C_INERTIA) {
            j->inertia[column - C_INERTIA] = x;
            j->has_inertia = true;
        } else {
            j->com[column - C_COM] = x;
            j->has_com = true;
        }
    }
}

static void check_row(reader *r, dh_joint *j, const bool has[C_COUNT]) {
    if (has[C_LOW] != has[C_HIGH])
        robot_note(r->doc, SKEL_E_DOCUMENT,
                   "line %d: limit_%s: is missing, must be given with the other limit",
                   (int)r->line, has[C_LOW] ? "high" : "low");

    j->has_limits = has[C_LOW] && has[C_HIGH];
    if (j->has_limits && j->low > j->high)
        robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: limit_low: is %g, must be at most limit_high",
                   (int)r->line, j->low);

    if (j->has_inertia && !robot_inertia_definite(j->inertia))
        robot_note(r->doc, SKEL_E_DOCUMENT,
                   "line %d: ixx: is %g, must be positive definite with the other moments",
                   (int)r->line, j->inertia[0]);
    if (j->drive.velocity < 0.0 || j->drive.effort < 0.0)
        robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: velocity_limit: is negative, must be > 0",
                   (int)r->line);
}

static void read_row(reader *r, char **cell, int32_t count) {
    bool has[C_COUNT] = {false};
    dh_joint *j = &r->rows[r->d->count];
    int32_t type = -1;
    *j = (dh_joint){0};
    skel_dh_row_init(&j->row);
    snprintf(j->place, sizeof j->place, "line %d", (int)r->line);

    if (count != r->column_count) {
        robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: has %d cells, must have %d as the heading",
                   (int)r->line, (int)count, (int)r->column_count);
        return;
    }

    /* The type comes first, since the units of other cells depend on it. */
    for (int32_t i = 0; i < count; ++i)
        if (r->column[i] == C_TYPE && !read_type(r, cell[i], &type)) return;
    j->row.type = type;

    for (int32_t i = 0; i < count; ++i) {
        const int32_t c = r->column[i];
        double x = 0.0;
        if (c == C_TYPE || !cell[i][0]) continue;
        has[c] = true;
        if (c == C_NAME)
            j->name = copy_name(r, doc_csv_name(cell[i]));
        else if (c == C_LINK)
            j->link = copy_name(r, doc_csv_name(cell[i]));
        else if (!number_of(cell[i], &x))
            wrong(r, k_columns[c].name, cell[i], "a number");
        else
            set_number(r, j, c, x * unit_of(r, i, type));
    }

    /* theta of a hinge and d of a slide may be empty: they are the joint coordinate. */
    static const int needed[] = {C_A, C_ALPHA, C_D, C_THETA};
    const int variable = type == SKEL_JOINT_HINGE ? C_THETA : C_D;
    for (size_t k = 0; k < 4; ++k)
        if (!has[needed[k]] && needed[k] != variable)
            robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: %s: is empty, must be a number",
                       (int)r->line, k_columns[needed[k]].name);
    check_row(r, j, has);
    ++r->d->count;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Terminates a quoted cell in place and turns double quotes into single ones. `cell` points behind
   the opening quote. Returns the text behind the closing quote, or NULL if there is none. */
static char *unquote(char *cell) {
    char *to = cell;
    for (char *from = cell; *from; ++from) {
        if (*from == '"' && from[1] != '"') {
            *to = 0;
            return from + 1;
        }
        if (*from == '"') ++from;
        *to++ = *from;
    }
    return NULL;
}

/* Splits a line at commas outside of quotes. Returns the number of cells, or -1. */
static int32_t split_cells(char *line, char **cell) {
    int32_t n = 0;
    for (char *at = line; at;) {
        if (n == DH_COLUMNS_MAX) return -1;
        while (*at == ' ' || *at == '\t') ++at;

        char *end;
        if (*at == '"') {
            end = unquote(at + 1);
            if (!end) return -1;
            cell[n++] = at + 1;
            end = strchr(end, ',');
        } else {
            end = strchr(at, ',');
            cell[n++] = at;
        }

        if (end) *end = 0;
        if (cell[n - 1] == at) cell[n - 1] = trim(at);
        at = end ? end + 1 : NULL;
    }
    return n;
}

/* Convention and units must be known before the first row. */
static bool check_units(reader *r) {
    bool needs_angle = false, needs_length = false;
    for (int32_t i = 0; i < r->column_count; ++i) {
        const unit u = k_columns[r->column[i]].unit;
        needs_angle = needs_angle || ((u == ANGLE || u == COORDINATE) && !(r->angle[i] > 0.0));
        needs_length = needs_length || (u == LENGTH && !(r->length[i] > 0.0));
    }

    if (!r->has_convention)
        robot_note(r->doc, SKEL_E_DOCUMENT,
                   "convention: is missing, must be a line '# convention: standard' or '# "
                   "convention: modified' before the rows");
    if (needs_angle && !r->has_angle)
        robot_note(r->doc, SKEL_E_DOCUMENT,
                   "angle_unit: is missing, must be a line '# angle_unit: deg' or '# angle_unit: "
                   "rad' before the rows (or columns like alpha_deg)");
    if (needs_length && !r->has_length)
        robot_note(r->doc, SKEL_E_DOCUMENT,
                   "length_unit: is missing, must be a line '# length_unit: mm' or '# length_unit: "
                   "m' before the rows (or columns like a_mm)");
    return r->doc->error_count == 0;
}

/* Whether a line can be the heading; if not, the message explains the format. */
static bool is_heading(reader *r, const char *line) {
    static const char k_must[] = "must be column names separated by commas: name,type,a,alpha,"
                                 "d,theta";
    const char *separator = strchr(line, ';') ? "semicolons" : "tabs";

    if (strchr("+-.0123456789", line[0]))
        robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: begins with a number, but is the heading: %s",
                   (int)r->line, k_must);
    else if (!strchr(line, ',') && strpbrk(line, ";\t"))
        robot_note(r->doc, SKEL_E_DOCUMENT, "line %d: has %s between its cells, %s", (int)r->line,
                   separator, k_must);
    else if (!strchr(line, ','))
        robot_note(
            r->doc, SKEL_E_SYNTAX,
            "line %d: begins neither JSON nor URDF nor a DH table. A table has lines like '# "
            "convention: standard', then a heading, then a line per joint; the heading %s",
            (int)r->line, k_must);
    else
        return true;
    return false;
}

/* Returns false if the lines after this one cannot be read. */
static bool read_line(reader *r, char *line) {
    char *cell[DH_COLUMNS_MAX];
    line = trim(line);
    if (!*line) return true;

    /* Spreadsheets quote a comment that contains a comma. */
    if (strncmp(line, "\"#", 2) == 0 && unquote(line + 1)) ++line;
    if (*line == '#') {
        if (r->column_count == 0) read_key(r, line + 1);
        return true;
    }
    if (r->column_count == 0 && !is_heading(r, line)) return false;

    const int32_t n = split_cells(line, cell);
    if (n < 0) {
        robot_note(r->doc, SKEL_E_DOCUMENT,
                   "line %d: cannot be split, must have closed quotes and at most %d cells",
                   (int)r->line, DH_COLUMNS_MAX);
        return false;
    }

    if (r->column_count == 0) {
        read_heading(r, cell, n);
        return r->column_count > 0 && r->doc->error_count == 0 && check_units(r);
    }
    if (r->d->count == DH_JOINTS) {
        robot_note(r->doc, SKEL_E_TOO_LARGE, "line %d: is joint %d, must be at most joint %d",
                   (int)r->line, DH_JOINTS + 1, DH_JOINTS);
        return false;
    }
    read_row(r, cell, n);
    return true;
}

bool dh_parse_csv(document *doc, const char *text, size_t length, dh_doc *d) {
    *d = (dh_doc){.base = {0, 0, 0, 1}, .tool = {0, 0, 0, 1}, .angle = 1, .length = 1};
    reader r = {.doc = doc, .d = d};
    if (length > DH_CSV_BYTES_MAX || memchr(text, 0, length)) {
        robot_note(
            doc, length > DH_CSV_BYTES_MAX ? SKEL_E_TOO_LARGE : SKEL_E_SYNTAX,
            "document: is too large or contains zero bytes, must be UTF-8 text: JSON, a URDF or "
            "a DH table");
        return false;
    }

    /* The lines are terminated in a copy, without a byte order mark. */
    const size_t skip = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    char *copy = doc_alloc(doc, length - skip + 1, 1);
    r.rows = doc_alloc(doc, DH_JOINTS, sizeof *r.rows);
    if (!copy || !r.rows) return false;
    memcpy(copy, text + skip, length - skip);

    bool more = true;
    for (char *line = copy; line && more;) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        ++r.line;
        more = read_line(&r, line);
        line = end ? end + 1 : NULL;
    }

    /* The keys may stand in any order, so the length unit is known only now. */
    d->joints = r.rows;
    d->angle = d->is_deg ? DOC_PI / 180.0 : 1.0;
    d->length = d->is_mm ? 1e-3 : 1.0;
    for (int k = 0; k < 3; ++k) {
        d->base[k] *= d->length;
        d->tool[k] *= d->length;
    }

    if (doc->error_count == 0 && r.column_count == 0)
        robot_note(doc, SKEL_E_DOCUMENT,
                   "document: has no heading, must have a line of column names");
    else if (doc->error_count == 0 && d->count == 0)
        robot_note(doc, SKEL_E_DOCUMENT, "document: has no joints, must have at least one line");
    return doc->error_count == 0 && !doc->no_memory && dh_names(doc, d);
}

void robot_read_dh_csv(document *doc, const char *text, size_t length, skel_scene *s) {
    dh_doc d;
    if (!dh_parse_csv(doc, text, length, &d)) return;
    dh_warn_of_mistakes(doc, &d);
    dh_build(doc, &d, s);
}
