/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates of the masses and inertias that dynamics needs and a robot's document does not give. A
   link is approximated by a solid capsule from its joint to the farthest joint that follows, or, at
   the end of a chain, to its farthest frame. All capsules of a robot have the same diameter, an
   eighth of its reach.
     no mass           density times volume of the capsule, centre of mass in its middle; the
                       density is that of the links with a mass, or 1000 kg/m^3 if none has one
     no inertia        inertia of the capsule with the given mass, about the given centre of mass
     inertia singular  a point mass: m k^2 is added about all axes, k = 1 % of the link's length,
                       or of the capsules' diameter if that is larger
     mass zero         1e-6 of the moving mass, too small to change any torque visibly; inertia
                       of the capsule with that mass
   A warning reports every estimate, and the scene marks the body. */
#include "robot/robot.h"

#include <skel/skel_robot.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CAPSULE_RADIUS 0.0625  /* relative to the reach, as for the arms of real robots */
#define CAPSULE_DENSITY 1000.0 /* [kg/m^3], for links as hollow as those of real robots */
#define POINT_GYRATION 0.01  /* radius of gyration of a point mass, relative to the link's length */
#define ZERO_MASS_SHARE 1e-6 /* mass of a link without mass, relative to the moving mass */
#define REACH_UNKNOWN_M 1.0  /* reach if no link has a length */
#define NAMES_SHOWN 6
#define NAME_BYTES_SHOWN 24
#define PLURAL(names) ((names).count > 1 ? "s" : "")

typedef struct estimator {
    skel_body_desc *bodies;
    skel_joint_desc *joints;
    robot_mass_note *notes;
    int32_t nb, nj;
    int32_t *joint_of;  /* (nb) joint whose child is the body; -1: none */
    double (*start)[3]; /* (nb) start of the link at that joint, in the body's frame [m] */
    double (*end)[3];   /* (nb) end of the link, in the body's frame [m] */
    double radius;      /* [m] of all capsules */
} estimator;

/* ---- warnings -------------------------------------------------------------------------------- */

void scene_warn(document *doc, skel_scene *s, const char *form, ...) {
    char text[480];
    va_list args;
    va_start(args, form);
    vsnprintf(text, sizeof text, form, args);
    va_end(args);
    robot_note(doc, SKEL_OK, "%s", text);

    if (!s->warnings)
        s->warnings = doc_blocks_alloc(&s->blocks, SCENE_WARNINGS, sizeof *s->warnings);
    char *copy = doc_blocks_alloc(&s->blocks, 1, strlen(text) + 1);
    if (!s->warnings || !copy) {
        doc->no_memory = true;
        return;
    }
    memcpy(copy, text, strlen(text) + 1);

    for (char *c = copy; *c; ++c)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    if (s->warning_count < SCENE_WARNINGS) s->warnings[s->warning_count++] = copy;
}

const char *skel_scene_warning(const skel_scene *scene, int32_t index) {
    return scene && index >= 0 && index < scene->warning_count ? scene->warnings[index] : NULL;
}

bool scene_is_estimated(const skel_scene *s, int32_t body, int32_t what) {
    return s->estimated && body >= 0 && s->estimated[body] >= what;
}

void robot_name_list_add(robot_name_list *list, const char *name) {
    size_t bytes = strlen(name);

    /* A long name is cut, but not within a UTF-8 character. */
    if (bytes > NAME_BYTES_SHOWN) {
        bytes = NAME_BYTES_SHOWN;
        while (bytes > 0 && ((unsigned char)name[bytes] & 0xc0) == 0x80) --bytes;
    }

    ++list->count;
    if (list->count <= NAMES_SHOWN) {
        const char *between = list->used > 0 ? ", " : "";
        const size_t room = sizeof list->text - list->used;
        list->used +=
            (size_t)snprintf(list->text + list->used, room, "%s'%.*s'", between, (int)bytes, name);
    }
    if (list->count > NAMES_SHOWN)
        snprintf(list->text + list->used, sizeof list->text - list->used, " and %d more",
                 (int)list->count - NAMES_SHOWN);
}

/* Names of the bodies with mark[i] == which. */
static robot_name_list list_bodies(const skel_body_desc *bodies, int32_t nb, const uint8_t *mark,
                                   uint8_t which) {
    robot_name_list list = {0};
    for (int32_t i = 0; i < nb; ++i)
        if (mark[i] == which) robot_name_list_add(&list, bodies[i].name);
    return list;
}

/* ---- lengths --------------------------------------------------------------------------------- */

static double distance(const double a[3], const double b[3]) {
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return sqrt(x * x + y * y + z * z);
}

static double length_of(const estimator *e, int32_t i) {
    return distance(e->end[i], e->start[i]);
}

/* Start and end of all links. */
static void find_links(estimator *e) {
    for (int32_t i = 0; i < e->nb; ++i) e->joint_of[i] = -1;
    for (int32_t k = 0; k < e->nj; ++k) {
        const skel_joint_desc *j = &e->joints[k];
        e->joint_of[j->child] = k;
        memcpy(e->start[j->child], j->child_position, sizeof e->start[0]);
    }

    /* The end of a chain: its farthest frame, or the body's own origin. */
    for (int32_t i = 0; i < e->nb; ++i) {
        const double origin[3] = {0, 0, 0};
        const robot_mass_note *n = &e->notes[i];
        const bool farther =
            n->has_end && distance(n->end, e->start[i]) > distance(origin, e->start[i]);
        if (farther) memcpy(e->end[i], n->end, sizeof e->end[0]);
    }

    /* Any other link: the farthest of the joints that follow. */
    for (int pass = 0; pass < 2; ++pass)
        for (int32_t k = 0; k < e->nj; ++k) {
            const skel_joint_desc *j = &e->joints[k];
            if (j->parent < 0) continue;
            const double far = distance(j->parent_position, e->start[j->parent]);
            if (pass == 0 || far > length_of(e, j->parent))
                memcpy(e->end[j->parent], j->parent_position, sizeof e->end[0]);
        }
}

/* The greatest length along the links from the first joint to an end [m]. Workspace: stack (nb),
   path (nb). */
static double reach_of(const estimator *e, int32_t *stack, double *path) {
    double reach = 0.0;
    for (int32_t i = 0; i < e->nb; ++i) path[i] = -1.0;

    for (int32_t i = 0; i < e->nb; ++i) {
        /* Up to a body whose path length is known, then down again. */
        int32_t depth = 0;
        for (int32_t at = i; at >= 0 && path[at] < 0.0;) {
            stack[depth++] = at;
            at = e->joint_of[at] >= 0 ? e->joints[e->joint_of[at]].parent : -1;
        }

        while (depth > 0) {
            const int32_t at = stack[--depth], k = e->joint_of[at];
            const skel_joint_desc *j = k >= 0 ? &e->joints[k] : NULL;
            path[at] = 0.0;
            if (j && j->parent >= 0)
                path[at] = path[j->parent] + distance(j->parent_position, e->start[j->parent]);
        }

        reach = fmax(reach, path[i] + length_of(e, i));
    }
    return reach > 0.0 ? reach : REACH_UNKNOWN_M;
}

/* ---- masses ---------------------------------------------------------------------------------- */

void robot_inertia_add_offset(double mass, const double r[3], double inertia[6]) {
    const double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    const double more[6] = {r2 - r[0] * r[0], r2 - r[1] * r[1], r2 - r[2] * r[2],
                            -r[0] * r[1],     -r[0] * r[2],     -r[1] * r[2]};
    for (int k = 0; k < 6; ++k) inertia[k] += mass * more[k];
}

static double volume_of(const estimator *e, int32_t i) {
    const double r = e->radius;
    return DOC_PI * r * r * (length_of(e, i) + 4.0 / 3.0 * r);
}

/* I = I_across (1 - u u^T) + I_along u u^T with the direction u of the link. A link without length
   is a sphere. */
static void capsule_inertia(const estimator *e, int32_t i, double mass, double out[6]) {
    const double length = length_of(e, i), size[3] = {length, e->radius, 0.0};
    double own[6] = {0};
    if (skel_shape_inertia(SKEL_SHAPE_CAPSULE, size, mass, own) != SKEL_OK) {
        const double ball[3] = {e->radius, 0.0, 0.0};
        skel_shape_inertia(SKEL_SHAPE_SPHERE, ball, mass, out);
        return;
    }

    double u[3];
    for (int k = 0; k < 3; ++k) u[k] = (e->end[i][k] - e->start[i][k]) / length;
    const double across = own[0], more = own[2] - own[0];
    const double all[6] = {across + more * u[0] * u[0], across + more * u[1] * u[1],
                           across + more * u[2] * u[2], more * u[0] * u[1],
                           more * u[0] * u[2],          more * u[1] * u[2]};
    memcpy(out, all, sizeof all);
}

/* Moves the body's origin to the middle of the link. move_joints() corrects the joint frames. */
static void move_to_middle(estimator *e, int32_t i) {
    double shift[3], world[3];
    for (int k = 0; k < 3; ++k) shift[k] = 0.5 * (e->start[i][k] + e->end[i][k]);
    scene_rotate(e->bodies[i].orientation, shift, world);
    for (int k = 0; k < 3; ++k) {
        e->bodies[i].position[k] += world[k];
        e->notes[i].shift[k] = shift[k];
        e->start[i][k] -= shift[k];
        e->end[i][k] -= shift[k];
    }
}

/* Moves the joint frames against the shifts of their bodies. */
static void move_joints(const estimator *e) {
    for (int32_t k = 0; k < e->nj; ++k) {
        skel_joint_desc *j = &e->joints[k];
        for (int i = 0; i < 3; ++i) {
            j->child_position[i] -= e->notes[j->child].shift[i];
            if (j->parent >= 0) j->parent_position[i] -= e->notes[j->parent].shift[i];
        }
    }
}

/* The length to which the radius of gyration of a link is compared [m]. */
static double size_of(const estimator *e, int32_t i) {
    const double origin[3] = {0, 0, 0};
    return fmax(fmax(length_of(e, i), distance(origin, e->start[i])), 2.0 * e->radius);
}

/* A point mass, or masses on a line, have no inertia about some axis: a small inertia is added
   about all axes. Returns false if the sum is still not positive definite. */
static bool thicken(const estimator *e, int32_t i) {
    skel_body_desc *b = &e->bodies[i];
    const double k = POINT_GYRATION * size_of(e, i);
    const double more = b->mass * k * k;
    for (int n = 0; n < 3; ++n) b->inertia[n] += more;
    return robot_inertia_definite(b->inertia);
}

typedef struct totals {
    double moving;  /* given masses of the dynamic bodies [kg] */
    double density; /* of the links with a mass, or CAPSULE_DENSITY [kg/m^3] */
} totals;

static totals sum_up(const estimator *e) {
    totals t = {0};
    double volume = 0.0;
    for (int32_t i = 0; i < e->nb; ++i) {
        if (e->bodies[i].motion != SKEL_MOTION_DYNAMIC || !(e->bodies[i].mass > 0.0)) continue;
        t.moving += e->bodies[i].mass;
        volume += volume_of(e, i);
    }
    t.density = volume > 0.0 ? t.moving / volume : CAPSULE_DENSITY;
    return t;
}

/* Fills mass and inertia of body i. Returns the rule that was applied, ROBOT_MASS_*. */
static int32_t estimate(estimator *e, int32_t i, const totals *t) {
    skel_body_desc *b = &e->bodies[i];
    robot_mass_note *n = &e->notes[i];
    int32_t done = n->known;

    /* Which rule applies. Without any moving mass, a zero mass is estimated like an unknown one. */
    if (done == ROBOT_MASS_ZERO && !(t->moving > 0.0)) done = ROBOT_MASS_UNKNOWN;
    if (done == ROBOT_MASS_KNOWN && !robot_inertia_solid(b->mass, b->inertia, size_of(e, i)))
        done = ROBOT_MASS_POINT;
    if (done == ROBOT_MASS_POINT && !thicken(e, i)) done = ROBOT_MASS_NO_INERTIA;
    if (done == ROBOT_MASS_KNOWN || done == ROBOT_MASS_POINT) return done;

    if (done == ROBOT_MASS_UNKNOWN) b->mass = t->density * volume_of(e, i);
    if (done == ROBOT_MASS_ZERO) b->mass = ZERO_MASS_SHARE * t->moving;
    if (done != ROBOT_MASS_ZERO && !n->has_com) move_to_middle(e, i);
    capsule_inertia(e, i, b->mass, b->inertia);
    return done;
}

/* ---- all links ------------------------------------------------------------------------------- */

/* Range and sum of positive numbers. */
typedef struct range {
    double least, most, sum;
} range;

static void add_to_range(range *s, double x) {
    s->least = s->sum > 0.0 ? fmin(s->least, x) : x;
    s->most = fmax(s->most, x);
    s->sum += x;
}

static void warn_of_estimates(document *doc, skel_scene *s, const estimator *e, const uint8_t *done,
                              const totals *t) {
    const double width = 2.0 * e->radius;
    range mass[ROBOT_MASS_UNKNOWN + 1] = {0}, inertia = {0};
    for (int32_t i = 0; i < e->nb; ++i) {
        add_to_range(&mass[done[i]], e->bodies[i].mass);
        if (done[i] == ROBOT_MASS_POINT)
            for (int k = 0; k < 3; ++k) add_to_range(&inertia, e->bodies[i].inertia[k]);
    }

    robot_name_list names = list_bodies(e->bodies, e->nb, done, ROBOT_MASS_UNKNOWN);
    if (names.count > 0)
        scene_warn(doc, s,
                   "link%s %s: mass: is not given and was estimated: capsules of %.3g m "
                   "diameter and %.4g kg/m^3, %.3g kg in all. Give mass, com and inertia for "
                   "realistic dynamics",
                   PLURAL(names), names.text, width, t->density, mass[ROBOT_MASS_UNKNOWN].sum);

    names = list_bodies(e->bodies, e->nb, done, ROBOT_MASS_NO_INERTIA);
    if (names.count > 0)
        scene_warn(doc, s,
                   "link%s %s: inertia: is not given, or impossible for a solid, and was estimated "
                   "from mass and length, as for capsules of %.3g m diameter",
                   PLURAL(names), names.text, width);

    names = list_bodies(e->bodies, e->nb, done, ROBOT_MASS_POINT);
    if (names.count > 0)
        scene_warn(doc, s,
                   "link%s %s: inertia: is not positive definite: the mass counts as a point "
                   "with a radius of gyration of 1 %% of the link's length (moments of %.3g "
                   "to %.3g kg m^2)",
                   PLURAL(names), names.text, inertia.least, inertia.most);

    names = list_bodies(e->bodies, e->nb, done, ROBOT_MASS_ZERO);
    if (names.count > 0)
        scene_warn(doc, s,
                   "link%s %s: mass: is 0, must be > 0 for dynamics: set to %.3g kg, 1e-6 of the "
                   "moving mass",
                   PLURAL(names), names.text, mass[ROBOT_MASS_ZERO].most);
}

void robot_estimate_masses(document *doc, skel_scene *s, skel_body_desc *bodies, int32_t nb,
                           skel_joint_desc *joints, int32_t nj, robot_mass_note *notes) {
    const size_t n = (size_t)nb + 1;
    estimator e = {.bodies = bodies, .joints = joints, .notes = notes, .nb = nb, .nj = nj};
    int32_t *stack = doc_alloc(doc, n, sizeof *stack);
    double *path = doc_alloc(doc, n, sizeof *path);
    uint8_t *done = doc_alloc(doc, n, sizeof *done);
    e.joint_of = doc_alloc(doc, n, sizeof *e.joint_of);
    e.start = doc_alloc(doc, n, sizeof *e.start);
    e.end = doc_alloc(doc, n, sizeof *e.end);
    s->estimated = doc_blocks_alloc(&s->blocks, n, sizeof *s->estimated);
    if (!s->estimated) doc->no_memory = true;
    if (doc->no_memory) return;

    find_links(&e);
    e.radius = CAPSULE_RADIUS * reach_of(&e, stack, path);
    const totals t = sum_up(&e);

    /* Fixed and driven bodies need no mass. */
    for (int32_t i = 0; i < nb; ++i) {
        if (bodies[i].motion != SKEL_MOTION_DYNAMIC) continue;
        done[i] = (uint8_t)estimate(&e, i, &t);
        if (done[i] == ROBOT_MASS_POINT || done[i] == ROBOT_MASS_NO_INERTIA)
            s->estimated[i] = SCENE_ESTIMATED_INERTIA;
        else if (done[i] != ROBOT_MASS_KNOWN)
            s->estimated[i] = SCENE_ESTIMATED_MASS;
    }

    move_joints(&e);
    warn_of_estimates(doc, s, &e, done, &t);
}

void scene_keep_estimated(scene_reader *r, skel_scene *s) {
    uint8_t *marks = scene_keep(r, s, (size_t)r->body_count + 1, sizeof *marks);
    if (!marks) return;
    for (int32_t i = 0; i < r->body_count; ++i) marks[i] = (uint8_t)r->body_notes[i].estimated;
    s->estimated = marks;

    robot_name_list names = list_bodies(r->bodies, r->body_count, marks, SCENE_ESTIMATED_MASS);
    if (names.count > 0)
        scene_warn(&r->doc, s, "bod%s %s: mass and inertia are estimates, not data of the robot",
                   names.count > 1 ? "ies" : "y", names.text);

    names = list_bodies(r->bodies, r->body_count, marks, SCENE_ESTIMATED_INERTIA);
    if (names.count > 0)
        scene_warn(&r->doc, s, "bod%s %s: inertia is an estimate, not data of the robot",
                   names.count > 1 ? "ies" : "y", names.text);
}
