/* SPDX-License-Identifier: BSD-3-Clause */
/* From a DH table to a scene: names, warnings about likely mistakes of the table, and the model. */
#include "robot/dh.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Beyond these bounds a number is likely to have another unit than the table states. */
#define DH_LINK_MAX_M 20.0     /* a longer link is probably given in mm */
#define DH_REACH_MIN_M 0.005   /* a shorter reach in mm is probably given in m */
#define DH_ANGLE_MAX_PI 4.0    /* a larger angle, in multiples of pi, is probably in degrees */
#define DH_ANGLES_MIN_DEG 6.3  /* if no angle is larger, they are probably in radians */
#define DH_COM_MAX_REACHES 1.0 /* a centre of mass farther away has probably another unit */
#define DH_COINCIDENT_TOL 1e-9 /* [1] of the reach, [rad]: two axes are one line */
#define DH_TWIST_MIN_RAD 0.1   /* a smaller twist does not tell the convention */

/* ---- names ----------------------------------------------------------------------------------- */

static const char *numbered(document *doc, const char *stem, int32_t i) {
    char *name = doc_alloc(doc, 1, 32);
    if (name) snprintf(name, 32, "%s%d", stem, (int)i + 1);
    return name;
}

/* Finds the rows of the source joints of mimic joints, and converts factors and offsets to SI. */
static void find_mimics(document *doc, dh_doc *d, const name_table *joints) {
    for (int32_t i = 0; i < d->count; ++i) {
        dh_joint *j = &d->joints[i];
        if (!j->mimic.of) continue;
        const int32_t of = names_find(joints, j->mimic.of);
        if (of < 0 || of == i) {
            robot_note(doc, SKEL_E_DOCUMENT,
                       "%s.mimic.joint: is \"%.60s\", must be the name of another joint", j->place,
                       j->mimic.of);
            continue;
        }

        j->mimic_of = of;
        j->mimic.factor *=
            scene_mimic_unit(j->row.type, d->joints[of].row.type, d->angle, d->length);
        j->mimic.offset *= j->row.type == SKEL_JOINT_SLIDE ? d->length : d->angle;
    }
}

bool dh_names(document *doc, dh_doc *d) {
    name_table joints = {0}, links = {0};
    if (!names_open(doc, &joints, d->count) || !names_open(doc, &links, d->count)) return false;

    for (int32_t i = 0; i < d->count; ++i) {
        dh_joint *j = &d->joints[i];
        if (!j->link) j->link = j->name ? j->name : numbered(doc, "link", i);
        if (!j->name) j->name = numbered(doc, "joint", i);
        if (!j->name || !j->link) return false;

        const int32_t same_name = names_put(&joints, j->name, i);
        const int32_t same_link = names_put(&links, j->link, i);
        if (same_name >= 0)
            robot_note(doc, SKEL_E_DOCUMENT,
                       "%s.name: is \"%.60s\", must be unique: %s has the same", j->place, j->name,
                       d->joints[same_name].place);
        else if (same_link >= 0)
            robot_note(doc, SKEL_E_DOCUMENT,
                       "%s.link: is \"%.60s\", must be unique: %s has the same", j->place, j->link,
                       d->joints[same_link].place);
        if (strcmp(j->link, "world") == 0)
            robot_note(doc, SKEL_E_DOCUMENT,
                       "%s.%s: is \"world\", must be another name: this one is reserved", j->place,
                       j->link == j->name ? "name" : "link");
    }

    find_mimics(doc, d, &joints);
    return doc->error_count == 0 && !doc->no_memory;
}

/* ---- likely mistakes ------------------------------------------------------------------------- */

/* Warns about lengths and angles that suggest another unit. */
static void check_units(document *doc, const dh_doc *d, double reach) {
    bool any = false, all_small = true;
    for (int32_t i = 0; i < d->count; ++i) {
        const dh_joint *j = &d->joints[i];
        const double row[] = {j->row.alpha, j->row.theta,
                              j->row.type == SKEL_JOINT_HINGE ? j->row.offset : 0.0};
        const double link = fmax(fabs(j->row.a), fabs(j->row.d));

        if (link > DH_LINK_MAX_M)
            robot_note(doc, SKEL_OK, "%s: has a length of %g m: is it in mm?", j->place, link);
        for (int k = 0; k < 3; ++k) {
            if (row[k] != 0.0) any = true;
            if (fabs(row[k]) / d->angle > DH_ANGLES_MIN_DEG) all_small = false;
            if (fabs(row[k]) > DH_ANGLE_MAX_PI * DOC_PI)
                robot_note(doc, SKEL_OK, "%s: has an angle of %g rad: is it in degrees?", j->place,
                           row[k]);
        }
        if (j->has_limits && j->row.type == SKEL_JOINT_HINGE &&
            fmax(fabs(j->low), fabs(j->high)) > 2.0 * DH_ANGLE_MAX_PI * DOC_PI)
            robot_note(doc, SKEL_OK, "%s.limits: extend to %g rad: are they in degrees?", j->place,
                       fmax(fabs(j->low), fabs(j->high)));
    }

    if (d->is_deg && any && all_small)
        robot_note(doc, SKEL_OK,
                   "angle_unit: is \"deg\", but no angle exceeds %g: are they in radians?",
                   DH_ANGLES_MIN_DEG);
    if (d->is_mm && reach > 0.0 && reach < DH_REACH_MIN_M)
        robot_note(doc, SKEL_OK, "length_unit: is \"mm\", but the whole chain is %g m: is it in m?",
                   reach);
}

static void check_masses(document *doc, const dh_doc *d, double reach) {
    int32_t without_mass = 0;
    for (int32_t i = 0; i < d->count; ++i) {
        const dh_joint *j = &d->joints[i];
        const double far =
            sqrt(j->com[0] * j->com[0] + j->com[1] * j->com[1] + j->com[2] * j->com[2]);
        if (reach > 0.0 && far > DH_COM_MAX_REACHES * reach)
            robot_note(
                doc, SKEL_OK,
                "%s.com: is %g m from its frame, the whole chain is %g m: is it in another unit?",
                j->place, far, reach);
        without_mass += j->has_inertia && !j->has_mass;
    }

    if (without_mass)
        robot_note(doc, SKEL_OK,
                   "joints: %d of %d links have an inertia but no mass: the inertia is ignored",
                   (int)without_mass, (int)d->count);
}

/* The free parameters at the ends of a chain tell the convention: a modified table usually begins
   with alpha_0 = a_0 = 0 and ends with a twist, a standard table ends with alpha_n = a_n = 0. */
static void check_convention(document *doc, const dh_doc *d) {
    const skel_dh_row *first = &d->joints[0].row, *last = &d->joints[d->count - 1].row;
    const bool first_is_zero = first->a == 0.0 && first->alpha == 0.0;
    const bool last_is_zero = last->a == 0.0 && last->alpha == 0.0;

    if (d->count < 3 || first_is_zero == last_is_zero) return;

    if (d->convention == SKEL_DH_STANDARD && first_is_zero &&
        fabs(last->alpha) > DH_TWIST_MIN_RAD && fabs(fabs(last->alpha) - DOC_PI) > DH_TWIST_MIN_RAD)
        robot_note(doc, SKEL_OK,
                   "convention: is \"standard\", but a and alpha are zero in the first row and not "
                   "in the last: is it \"modified\"?");
    if (d->convention == SKEL_DH_MODIFIED && last_is_zero)
        robot_note(doc, SKEL_OK,
                   "convention: is \"modified\", but a and alpha are zero in the last row and not "
                   "in the first: is it \"standard\"?");
}

/* Two consecutive hinges about one line are redundant: probably a twist is missing. */
static void check_axes(document *doc, const dh_doc *d, double reach) {
    const int32_t shift = d->convention == SKEL_DH_STANDARD ? 0 : 1;
    for (int32_t i = 0; i + 1 < d->count; ++i) {
        const skel_dh_row *between = &d->joints[i + shift].row;
        const bool hinges = d->joints[i].row.type == SKEL_JOINT_HINGE &&
                            d->joints[i + 1].row.type == SKEL_JOINT_HINGE;
        if (hinges && fabs(between->a) <= DH_COINCIDENT_TOL * reach &&
            fabs(sin(between->alpha)) <= DH_COINCIDENT_TOL)
            robot_note(doc, SKEL_OK,
                       "%s: rotates about the same line as %s: is alpha of the row between them "
                       "correct?",
                       d->joints[i + 1].place, d->joints[i].place);
    }
}

void dh_warn_of_mistakes(document *doc, const dh_doc *d) {
    double reach = fabs(d->tool[0]) + fabs(d->tool[1]) + fabs(d->tool[2]);
    for (int32_t i = 0; i < d->count; ++i) {
        const dh_joint *j = &d->joints[i];
        reach += fabs(j->row.a) + fabs(j->row.d);
        if (j->row.type == SKEL_JOINT_SLIDE && j->has_limits)
            reach += fmax(fabs(j->low), fabs(j->high));
        if (j->has_limits && (j->low > 0.0 || j->high < 0.0))
            robot_note(doc, SKEL_OK,
                       "%s.limits: are [%g, %g]%s, which exclude q = 0: the zero pose cannot be "
                       "reached",
                       j->place, j->low, j->high, j->row.type == SKEL_JOINT_HINGE ? " rad" : " m");
    }

    check_units(doc, d, reach);
    check_masses(doc, d, reach);
    check_convention(doc, d);
    check_axes(doc, d, reach);
}

/* ---- the model ------------------------------------------------------------------------------- */

skel_dh *dh_table(const dh_doc *d) {
    skel_dh_desc desc;
    skel_dh *dh = NULL;
    skel_dh_desc_init(&desc);
    desc.convention = d->convention;
    desc.rows = d->count ? &d->joints[0].row : NULL;
    desc.row_count = (uint32_t)d->count;
    desc.row_stride = sizeof *d->joints;
    memcpy(desc.base, d->base, sizeof desc.base);
    memcpy(desc.tool, d->tool, sizeof desc.tool);
    skel_dh_create(&desc, &dh, NULL);
    return dh;
}

/* Moves the origin of a body to its centre of mass, and the frames of its joints the other way. */
static void move_to_com(const double com[3], skel_body_desc *b, skel_joint_desc *parent_joint,
                        skel_joint_desc *child_joint) {
    double world[3];
    scene_rotate(b->orientation, com, world);
    for (int k = 0; k < 3; ++k) {
        b->position[k] += world[k];
        parent_joint->child_position[k] -= com[k];
        if (child_joint) child_joint->parent_position[k] -= com[k];
    }
}

/* Names, limits, friction, mimics and masses: all that skel_dh_get_descs does not set. */
static void describe(const dh_doc *d, skel_body_desc *bodies, skel_joint_desc *joints) {
    for (int32_t i = 0; i < d->count; ++i) {
        const dh_joint *j = &d->joints[i];
        bodies[i].name = j->link;
        joints[i].name = j->name;
        joints[i].limits.is_set = j->has_limits;
        joints[i].limits.low[0] = j->low;
        joints[i].limits.high[0] = j->high;
        joints[i].friction = j->friction;
        if (j->mimic.of) {
            joints[i].mimic.source = j->mimic_of;
            joints[i].mimic.multiplier = j->mimic.factor;
            joints[i].mimic.offset = j->mimic.offset;
        }

        move_to_com(j->com, &bodies[i], &joints[i], i + 1 < d->count ? &joints[i + 1] : NULL);

        if (!j->has_mass) continue;
        bodies[i].mass = j->mass;
        if (j->has_inertia) memcpy(bodies[i].inertia, j->inertia, sizeof j->inertia);
    }
}

/* Which masses the table gives. The last link ends at the tool. */
static void note_masses(const dh_doc *d, robot_mass_note *notes) {
    for (int32_t i = 0; i < d->count; ++i) {
        const dh_joint *j = &d->joints[i];
        notes[i].has_com = j->has_com;
        notes[i].known = ROBOT_MASS_UNKNOWN;
        if (j->has_mass) notes[i].known = j->has_inertia ? ROBOT_MASS_KNOWN : ROBOT_MASS_NO_INERTIA;
        notes[i].has_end = true;
        for (int k = 0; k < 3; ++k)
            notes[i].end[k] = (i + 1 == d->count ? d->tool[k] : 0.0) - j->com[k];
    }
}

/* The frames of all links, then the tool; the limits of the drives; named poses. */
static void fill_robot(const dh_doc *d, const robot_mass_note *notes, robot_data *r) {
    static const double identity[7] = {0, 0, 0, 1};
    const size_t n = (size_t)d->count;
    r->frames = arena_alloc(&r->arena, n + 1, sizeof *r->frames);
    r->drives = arena_alloc(&r->arena, n, sizeof *r->drives);
    r->poses = arena_alloc(&r->arena, (size_t)d->pose_count + 1, sizeof *r->poses);
    if (r->arena.failed) return;

    /* Poses are relative to the centre of mass, which may have been estimated. */
    for (int32_t i = 0; i <= d->count; ++i) {
        const dh_joint *j = &d->joints[i < d->count ? i : d->count - 1];
        robot_frame *f = &r->frames[i];
        f->name = arena_string(&r->arena, i < d->count ? j->link : "tool");
        f->body = i < d->count ? i : d->count - 1;
        if (i < d->count) r->drives[i] = j->drive;
        memcpy(f->pose, i < d->count ? identity : d->tool, sizeof f->pose);
        for (int k = 0; k < 3; ++k) f->pose[k] -= j->com[k] + notes[f->body].shift[k];
    }
    r->frame_count = d->count + 1;
    r->tool = d->count;

    for (int32_t i = 0; i < d->pose_count; ++i) {
        robot_named_q *p = &r->poses[i];
        p->name = arena_string(&r->arena, d->poses[i].name);
        p->q = arena_alloc(&r->arena, n, sizeof *p->q);
        if (p->q) memcpy(p->q, d->poses[i].q, n * sizeof *p->q);
    }
    r->pose_count = d->pose_count;
}

void dh_build(document *doc, const dh_doc *d, skel_scene *s) {
    skel_body_desc *bodies = doc_alloc(doc, (size_t)d->count, sizeof *bodies);
    skel_joint_desc *joints = doc_alloc(doc, (size_t)d->count, sizeof *joints);
    robot_mass_note *notes = doc_alloc(doc, (size_t)d->count, sizeof *notes);
    skel_dh *dh = dh_table(d);
    if (!s->robot) robot_new(s);
    if (!bodies || !joints || !notes || !dh || !s->robot) {
        doc->no_memory = true;
        skel_dh_destroy(dh);
        return;
    }

    /* The engine computes poses and joint frames from the rows. */
    for (int32_t i = 0; i < d->count; ++i) {
        skel_body_desc_init(&bodies[i]);
        skel_joint_desc_init(&joints[i]);
    }
    const skel_status filled =
        skel_dh_get_descs(dh, bodies, sizeof *bodies, joints, sizeof *joints);
    skel_dh_destroy(dh);
    if (filled != SKEL_OK) {
        robot_note(doc, SKEL_E_DOCUMENT,
                   "joints: the positions of the links overflow; a, d and the base must be smaller "
                   "lengths");
        return;
    }

    describe(d, bodies, joints);
    note_masses(d, notes);
    robot_estimate_masses(doc, s, bodies, d->count, joints, d->count, notes);
    snprintf(s->name, sizeof s->name, "%s", d->name ? d->name : "");
    scene_build(doc, s, bodies, d->count, joints, d->count);

    fill_robot(d, notes, s->robot);
    if (s->robot->arena.failed) doc->no_memory = true;
}
