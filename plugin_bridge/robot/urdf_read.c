/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads URDF text into a urdf_document: the elements that the model uses are read, the others are
   kept as text. */
#include "robot/urdf.h"
#include "document/xml.h"
#include "document/kind.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The element that the reader is in. KEPT: an element that is kept as text. */
typedef enum place { TOP, ROBOT, LINK, INERTIAL, JOINT, KEPT } place;

typedef struct reader {
    document *doc;
    urdf_document *u;
    place at, before; /* before: the element that contains the kept one */
    int32_t line, depth, kept_depth;
    bool is_shape;    /* the kept element is <visual> or <collision>: its numbers are checked */
    bool open_tag;    /* "<name ..." was written without its '>' or "/>" */
    text_buffer kept; /* kept elements of the link or joint */
    text_buffer top;  /* kept elements of the robot */
    text_buffer namespaces;
    bool seen[16]; /* SEEN_*: elements that this link or joint may have once */
} reader;

enum {
    SEEN_ORIGIN,
    SEEN_PARENT,
    SEEN_CHILD,
    SEEN_AXIS,
    SEEN_LIMIT,
    SEEN_DYNAMICS,
    SEEN_MIMIC,
    SEEN_INERTIAL,
    SEEN_MASS,
    SEEN_INERTIA,
    SEEN_COM
};

/* ---- messages -------------------------------------------------------------------------------- */

static urdf_link *this_link(reader *r) {
    return &r->u->links[r->u->link_count - 1];
}
static urdf_joint *this_joint(reader *r) {
    return &r->u->joints[r->u->joint_count - 1];
}

/* Adds the problem "line 7: joint 'elbow': ...". */
static void add_problem(reader *r, skel_status status, const char *form, va_list args) {
    char text[400];
    vsnprintf(text, sizeof text, form, args);
    const place at = r->at == KEPT ? r->before : r->at;
    if (at == LINK || at == INERTIAL)
        robot_note(r->doc, status, "line %d: link '%.60s': %s", (int)r->line, this_link(r)->name,
                   text);
    else if (at == JOINT)
        robot_note(r->doc, status, "line %d: joint '%.60s': %s", (int)r->line, this_joint(r)->name,
                   text);
    else
        robot_note(r->doc, status, "line %d: %s", (int)r->line, text);
}

DOC_PRINTF(2, 3)
static void wrong(reader *r, const char *form, ...) {
    va_list args;
    va_start(args, form);
    add_problem(r, SKEL_E_DOCUMENT, form, args);
    va_end(args);
}

DOC_PRINTF(2, 3)
static void warn(reader *r, const char *form, ...) {
    va_list args;
    va_start(args, form);
    add_problem(r, SKEL_OK, form, args);
    va_end(args);
}

/* Whether an element is the first of its name. A second parent or child is an error; any other
   second element is ignored. */
static bool is_first(reader *r, int which, const char *name) {
    const bool first = !r->seen[which];
    r->seen[which] = true;
    if (!first && (which == SEEN_PARENT || which == SEEN_CHILD))
        wrong(r, "%s: is given twice", name);
    else if (!first)
        robot_note(r->doc, SKEL_OK, "line %d: %s: is given twice: the first one is used",
                   (int)r->line, name);
    return first;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const char *value_of(const char **attributes, const char *name) {
    for (; attributes[0]; attributes += 2)
        if (strcmp(attributes[0], name) == 0) return attributes[1];
    return NULL;
}

int32_t urdf_numbers(const char *text, double *out, int32_t max) {
    int32_t n = 0;
    for (const char *at = text;;) {
        at += strspn(at, " \t\r\n");
        const size_t length = strcspn(at, " \t\r\n");
        if (length == 0) return n;
        char *end;
        for (size_t i = 0; i < length; ++i)
            if (strchr("xXnNiIpP", at[i])) return -1; /* no hex, nan, inf */

        const double x = strtod(at, &end);
        if (end != at + length || !isfinite(x)) return -1;
        if (n == max) return max + 1;
        out[n++] = x;
        at = end;
    }
}

/* Reads the numbers of an attribute; false if it is absent or wrong. */
static bool read_numbers(reader *r, const char **attributes, const char *element, const char *name,
                         int32_t count, double *out) {
    const char *text = value_of(attributes, name);
    double x[6];
    if (!text) return false;

    if (urdf_numbers(text, x, count) != count) {
        wrong(r, "%s: %s: is '%.48s', must be %s", element, name, text,
              count == 1 ? "a number" : "three numbers");
        return false;
    }
    memcpy(out, x, (size_t)count * sizeof *x);
    return true;
}

static const char *read_name(reader *r, const char **attributes, const char *element,
                             const char *name) {
    const char *text = value_of(attributes, name);
    if (!text) {
        wrong(r, "%s: %s: is missing, must be a name", element, name);
        return NULL;
    }
    if (!robot_is_name(text)) {
        wrong(r, "%s: %s: is '%.48s', must be 1 to 255 bytes without control characters", element,
              name, text);
        return NULL;
    }
    return arena_string(r->u->arena, text);
}

/* ---- elements that are kept as text ---------------------------------------------------------- */

static void put_escaped(text_buffer *t, const char *text, size_t length) {
    for (size_t i = 0; i < length; ++i) {
        switch (text[i]) {
        case '&': text_add(t, "&amp;"); break;
        case '<': text_add(t, "&lt;"); break;
        case '>': text_add(t, "&gt;"); break;
        case '"': text_add(t, "&quot;"); break;
        case '\n': text_add(t, "&#10;"); break;
        case '\t': text_add(t, "&#9;"); break;
        case '\r': text_add(t, "&#13;"); break;
        default: text_bytes(t, text + i, 1);
        }
    }
}

/* The buffer of the kept element that is open. */
static text_buffer *kept_text(reader *r) {
    return r->before == ROBOT ? &r->top : &r->kept;
}

static void end_tag(reader *r) {
    if (r->open_tag) text_add(kept_text(r), ">");
    r->open_tag = false;
}

/* The numbers of a shape are not used here, but other programs will fail on them. */
static void check_shape(reader *r, const char *name, const char **attributes) {
    enum { SCALE = 3 };
    static const char *const numbers[] = {"xyz", "rpy", "size", "scale", "radius", "length"};
    for (const char **a = attributes; a[0]; a += 2)
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; ++k) {
            double x[4];
            if (strcmp(a[0], numbers[k]) != 0) continue;
            const int32_t n = urdf_numbers(a[1], x, 4);
            if (k == SCALE && n > 3)
                warn(r, "%s: scale: is '%.48s', must be three numbers: the first three are used",
                     name, a[1]);
            else if (n < 1 || n > 3 || (k < 2 && n != 3))
                wrong(r, "%s: %s: is '%.48s', must be %s", name, a[0], a[1],
                      k <= SCALE ? "three numbers" : "numbers");
        }

    if (strcmp(name, "mesh") == 0) {
        const char *file = value_of(attributes, "filename");
        if (!file || !file[0]) wrong(r, "mesh: filename: is missing, must be a path or URL");
    }
}

static void open_kept(reader *r, const char *name, const char **attributes) {
    text_buffer *t = kept_text(r);
    end_tag(r);
    if (r->is_shape) check_shape(r, name, attributes);
    text_addf(t, "%s<%s", r->depth == r->kept_depth ? "\n" : "", name);
    for (const char **a = attributes; a[0]; a += 2) {
        text_addf(t, " %s=\"", a[0]);
        put_escaped(t, a[1], strlen(a[1]));
        text_add(t, "\"");
    }
    r->open_tag = true;
}

static void begin_kept(reader *r, const char *name, const char **attributes) {
    r->before = r->at;
    r->at = KEPT;
    r->kept_depth = r->depth;
    r->is_shape = strcmp(name, "visual") == 0 || strcmp(name, "collision") == 0;
    open_kept(r, name, attributes);
}

/* ---- links ----------------------------------------------------------------------------------- */

static void read_inertial(reader *r, const char *name, const char **attributes) {
    static const char *const moment[] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    urdf_link *l = this_link(r);

    if (strcmp(name, "origin") == 0) {
        if (!is_first(r, SEEN_COM, "inertial: origin")) return;
        read_numbers(r, attributes, "inertial: origin", "xyz", 3, l->xyz);
        read_numbers(r, attributes, "inertial: origin", "rpy", 3, l->rpy);
    } else if (strcmp(name, "mass") == 0) {
        if (!is_first(r, SEEN_MASS, "inertial: mass")) return;
        if (!value_of(attributes, "value"))
            wrong(r, "inertial: mass: value: is missing, must be a number");
        else if (read_numbers(r, attributes, "inertial: mass", "value", 1, &l->mass) &&
                 l->mass < 0.0)
            wrong(r, "inertial: mass: value: is %g, must be >= 0", l->mass);
    } else if (strcmp(name, "inertia") == 0) {
        if (!is_first(r, SEEN_INERTIA, "inertial: inertia")) return;
        l->has_inertia = true;
        for (int k = 0; k < 6; ++k)
            read_numbers(r, attributes, "inertial: inertia", moment[k], 1, &l->inertia[k]);
    }
}

static bool new_link(reader *r, const char **attributes) {
    urdf_document *u = r->u;
    const char *name = read_name(r, attributes, "link", "name");
    if (u->link_count == URDF_LINKS) {
        wrong(r, "link: there are too many, must be at most %d", URDF_LINKS);
        return false;
    }
    if (!arena_grow(u->arena, &u->links, u->link_count, &u->link_room, sizeof *u->links))
        return false;
    u->links[u->link_count++] = (urdf_link){.name = name ? name : "?", .line = r->line};
    r->at = LINK;
    memset(r->seen, 0, sizeof r->seen);
    return true;
}

static void open_in_link(reader *r, const char *name, const char **attributes) {
    if (strcmp(name, "inertial") == 0) {
        if (!is_first(r, SEEN_INERTIAL, name)) return;
        this_link(r)->has_inertial = true;
        r->at = INERTIAL;
    } else {
        begin_kept(r, name, attributes);
    }
}

/* ---- joints ---------------------------------------------------------------------------------- */

/* "revolute, continuous, ... or floating": the types that ROS reads. */
static void list_types(char *out, size_t size) {
    int32_t last = URDF_TYPE_COUNT - 1;
    while (!urdf_types[last].is_standard) --last;

    size_t used = 0;
    for (int32_t k = 0; k <= last && used < size; ++k) {
        const char *before = k == last ? " or " : ", ";
        if (!urdf_types[k].is_standard) continue;
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", k ? before : "", urdf_types[k].name);
    }
}

static void check_type(reader *r, const char *type) {
    const int32_t known = this_joint(r)->type;
    char must[128];
    list_types(must, sizeof must);

    if (known == URDF_SPHERICAL)
        warn(
            r,
            "type: is 'spherical', a dialect of PyBullet that ROS does not read: it becomes a ball "
            "joint");
    if (!type)
        wrong(r, "type: is missing, must be %s", must);
    else if (known < 0)
        wrong(r, "type: is '%.40s', must be %s", type, must);
}

static bool new_joint(reader *r, const char **attributes) {
    urdf_document *u = r->u;
    const char *name = read_name(r, attributes, "joint", "name");
    const char *type = value_of(attributes, "type");
    if (u->joint_count == URDF_LINKS) {
        wrong(r, "joint: there are too many, must be at most %d", URDF_LINKS);
        return false;
    }
    if (!arena_grow(u->arena, &u->joints, u->joint_count, &u->joint_room, sizeof *u->joints))
        return false;

    u->joints[u->joint_count++] = (urdf_joint){
        .name = name ? name : "?", .line = r->line, .type = -1, .axis = {1, 0, 0}, .factor = 1.0};
    r->at = JOINT;
    memset(r->seen, 0, sizeof r->seen);

    for (int32_t k = 0; type && k < URDF_TYPE_COUNT; ++k)
        if (strcmp(type, urdf_types[k].name) == 0) this_joint(r)->type = k;
    check_type(r, type);
    return true;
}

static void read_axis(reader *r, const char **attributes) {
    urdf_joint *j = this_joint(r);
    const char *text = value_of(attributes, "xyz");
    double x[3];
    const bool needs_axis = j->type < 0 || urdf_types[j->type].has_axis;

    /* A joint without an axis does not need this element, so a wrong one is only a warning. */
    if (!needs_axis && (!text || urdf_numbers(text, x, 3) != 3)) {
        warn(r,
             "axis: xyz: is %s%.48s%s, must be three numbers: ignored, since this joint has no "
             "axis",
             text ? "'" : "", text ? text : "missing", text ? "'" : "");
        return;
    }

    j->has_axis = read_numbers(r, attributes, "axis", "xyz", 3, j->axis);
    if (!text) wrong(r, "axis: xyz: is missing, must be three numbers");
    const bool is_zero = j->axis[0] == 0.0 && j->axis[1] == 0.0 && j->axis[2] == 0.0;
    if (is_zero && needs_axis) wrong(r, "axis: xyz: is 0 0 0, must not be zero");
}

static void read_limit(reader *r, const char **attributes) {
    urdf_joint *j = this_joint(r);
    j->has_limit = true;
    j->has_lower = read_numbers(r, attributes, "limit", "lower", 1, &j->lower);
    j->has_upper = read_numbers(r, attributes, "limit", "upper", 1, &j->upper);
    read_numbers(r, attributes, "limit", "effort", 1, &j->effort);
    read_numbers(r, attributes, "limit", "velocity", 1, &j->velocity);
}

/* Whether the model uses an element of a joint; a second one of these is ignored, not kept. */
static bool is_used(const char *name) {
    static const char *const known[] = {"origin", "parent",   "child", "axis",
                                        "limit",  "dynamics", "mimic"};
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
        if (strcmp(known[k], name) == 0) return true;
    return false;
}

static void open_in_joint(reader *r, const char *name, const char **attributes) {
    urdf_joint *j = this_joint(r);

    if (strcmp(name, "origin") == 0 && is_first(r, SEEN_ORIGIN, name)) {
        read_numbers(r, attributes, name, "xyz", 3, j->xyz);
        read_numbers(r, attributes, name, "rpy", 3, j->rpy);
    } else if (strcmp(name, "parent") == 0 && is_first(r, SEEN_PARENT, name)) {
        j->parent_name = read_name(r, attributes, name, "link");
    } else if (strcmp(name, "child") == 0 && is_first(r, SEEN_CHILD, name)) {
        j->child_name = read_name(r, attributes, name, "link");
    } else if (strcmp(name, "axis") == 0 && is_first(r, SEEN_AXIS, name)) {
        read_axis(r, attributes);
    } else if (strcmp(name, "limit") == 0 && is_first(r, SEEN_LIMIT, name)) {
        read_limit(r, attributes);
    } else if (strcmp(name, "dynamics") == 0 && is_first(r, SEEN_DYNAMICS, name)) {
        j->has_dynamics = true;
        read_numbers(r, attributes, name, "damping", 1, &j->damping);
        read_numbers(r, attributes, name, "friction", 1, &j->friction);
        if (j->damping < 0.0) wrong(r, "dynamics: damping: is %g, must be >= 0", j->damping);
    } else if (strcmp(name, "mimic") == 0 && is_first(r, SEEN_MIMIC, name)) {
        j->mimic_name = read_name(r, attributes, name, "joint");
        read_numbers(r, attributes, name, "multiplier", 1, &j->factor);
        read_numbers(r, attributes, name, "offset", 1, &j->offset);
    } else if (!is_used(name)) {
        begin_kept(r, name, attributes);
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

static bool open_robot(reader *r, const char *name, const char **attributes) {
    if (strcmp(name, "robot") != 0) {
        const char *foreign = doc_foreign_root(name);
        if (foreign)
            wrong(r, "document: %s", foreign);
        else
            wrong(r, "document: is <%.40s>, must be <robot>", name);
        return false;
    }

    const char *text = value_of(attributes, "name");
    r->u->name = arena_string(r->u->arena, text && robot_is_name(text) ? text : "robot");
    for (const char **a = attributes; a[0]; a += 2) {
        if (strncmp(a[0], "xmlns", 5) != 0) continue;
        text_addf(&r->namespaces, " %s=\"", a[0]);
        put_escaped(&r->namespaces, a[1], strlen(a[1]));
        text_add(&r->namespaces, "\"");
    }

    r->at = ROBOT;
    return true;
}

/* Whether the text contains an expression of xacro, "${...}" or "$(...)". */
static bool has_expression(const char *text) {
    const char *brace = strstr(text, "${"), *parenthesis = strstr(text, "$(");
    return (brace && strchr(brace, '}')) || (parenthesis && strchr(parenthesis, ')'));
}

/* A file with macros or expressions of xacro does not describe the robot until xacro has expanded
   it. In elements that are only kept (for simulators and controllers) expressions do no harm. */
static bool check_expanded(reader *r, const char *name, const char **attributes) {
    static const char remedy[] = "run xacro first (xacro FILE > robot.urdf)";
    if (strncmp(name, "xacro:", 6) == 0) {
        wrong(r, "%.40s: is a macro, the file is an unexpanded xacro: %s", name, remedy);
        return false;
    }

    for (const char **a = attributes; a[0]; a += 2) {
        if (strncmp(a[0], "xacro:", 6) != 0 && !has_expression(a[1])) continue;
        if (r->at == KEPT && !r->is_shape && strncmp(a[0], "xacro:", 6) != 0) {
            warn(r, "%.40s: %.40s: is '%.60s', which xacro should have replaced", name, a[0], a[1]);
            continue;
        }
        wrong(r, "%.40s: %.40s: is '%.60s', the file is an unexpanded xacro: %s", name, a[0], a[1],
              remedy);
        return false;
    }
    return true;
}

/* Links and joints are at depth 2, their elements at depth 3, those of <inertial> at depth 4. */
static bool on_open(void *user, int32_t line, const char *name, const char **attributes) {
    reader *r = user;
    r->line = line;
    ++r->depth;
    if (!check_expanded(r, name, attributes)) return false;

    switch (r->at) {
    case TOP: return open_robot(r, name, attributes);
    case ROBOT:
        if (strcmp(name, "link") == 0) return new_link(r, attributes);
        if (strcmp(name, "joint") == 0) return new_joint(r, attributes);
        begin_kept(r, name, attributes);
        break;
    case LINK:
        if (r->depth == 3) open_in_link(r, name, attributes);
        break;
    case INERTIAL:
        if (r->depth == 4) read_inertial(r, name, attributes);
        break;
    case JOINT:
        if (r->depth == 3) open_in_joint(r, name, attributes);
        break;
    case KEPT: open_kept(r, name, attributes); break;
    }
    return r->doc->error_count < DOC_MAX_ERRORS && !r->u->arena->failed;
}

static void close_kept(reader *r, const char *name) {
    if (r->open_tag)
        text_add(kept_text(r), "/>");
    else
        text_addf(kept_text(r), "</%s>", name);
    r->open_tag = false;
    if (r->depth == r->kept_depth) r->at = r->before;
}

/* The kept elements of the link or joint that ends; NULL: it has none. */
static const char *take_kept(reader *r) {
    const char *text = NULL;
    if (r->kept.length > 0) text = arena_string(r->u->arena, text_get(&r->kept));
    text_clear(&r->kept);
    return text;
}

static void close_joint(reader *r) {
    urdf_joint *j = this_joint(r);
    r->line = j->line;
    if (!r->seen[SEEN_PARENT]) wrong(r, "parent: is missing, must be the name of a link");
    if (!r->seen[SEEN_CHILD]) wrong(r, "child: is missing, must be the name of a link");
    j->extra = take_kept(r);
}

static bool on_close(void *user, const char *name) {
    reader *r = user;
    if (r->at == KEPT) {
        close_kept(r, name);
    } else if (r->at == INERTIAL && r->depth == 3) {
        if (!r->seen[SEEN_MASS]) wrong(r, "inertial: mass: is missing, must be given");
        r->at = LINK;
    } else if (r->at == LINK && r->depth == 2) {
        this_link(r)->extra = take_kept(r);
        r->at = ROBOT;
    } else if (r->at == JOINT && r->depth == 2) {
        close_joint(r);
        r->at = ROBOT;
    }
    --r->depth;
    return true;
}

static void on_text(void *user, const char *text, int32_t length) {
    reader *r = user;
    int32_t space = 0;

    /* White space between elements is not kept. */
    while (space < length && strchr(" \t\r\n", text[space])) ++space;
    if (r->at != KEPT || space == length) return;
    end_tag(r);
    put_escaped(kept_text(r), text, (size_t)length);
}

bool urdf_parse(document *doc, const char *text, size_t length, urdf_document *u) {
    reader r = {.doc = doc, .u = u};
    const xml_reader x = {on_open, on_close, on_text, &r};
    char why[400] = "";

    const skel_status status = xml_parse(text, length, &x, why, sizeof why);
    if (status == SKEL_E_MEMORY || u->arena->failed || r.kept.failed || r.top.failed ||
        r.namespaces.failed)
        doc->no_memory = true;
    else if (status != SKEL_OK)
        robot_note(doc, status, "%s", why);

    if (r.top.length > 0) u->extra = arena_string(u->arena, text_get(&r.top));
    if (r.namespaces.length > 0) u->namespaces = arena_string(u->arena, text_get(&r.namespaces));

    text_free(&r.kept);
    text_free(&r.top);
    text_free(&r.namespaces);
    return doc->error_count == 0 && !doc->no_memory;
}

void robot_read_urdf(document *doc, const char *text, size_t length, skel_scene *s) {
    robot_data *robot = robot_new(s);
    if (robot) robot->urdf = arena_alloc(&robot->arena, 1, sizeof *robot->urdf);
    if (!robot || !robot->urdf) {
        doc->no_memory = true;
        return;
    }

    robot->urdf->arena = &robot->arena;
    if (urdf_parse(doc, text, length, robot->urdf) && urdf_find_tree(doc, robot->urdf))
        urdf_build(doc, robot->urdf, s);
    if (robot->arena.failed) doc->no_memory = true;
}
