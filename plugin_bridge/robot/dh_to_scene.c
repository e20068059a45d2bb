/* SPDX-License-Identifier: BSD-3-Clause */
/* From a table to a scene: names, what looks wrong with published tables, and the model. */
#include "robot/dh.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LONG_LINK 20.0    /* [m]: a link this long was meant in mm */
#define SHORT_LINK 0.005  /* [m]: a reach this short was meant in m */
#define MANY_TURNS 4.0    /* of pi: an angle this large was meant in degrees */
#define SMALL_DEGREES 6.3 /* all angles of a table below this were meant in radians */
#define FAR_COM 1.0       /* of the reach: a centre of mass this far off has another unit */
#define ON_ONE_LINE 1e-9

/* ---- names ----------------------------------------------------------------------------------- */

static const char *numbered(document *doc, const char *stem, int32_t i) {
    char *name = doc_alloc(doc, 1, 32);
    if (name) snprintf(name, 32, "%s%d", stem, (int)i + 1);
    return name;
}

/* Rows of the joints that others go with; SI units. */
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
        const int32_t one = names_put(&joints, j->name, i);
        const int32_t two = names_put(&links, j->link, i);
        if (one >= 0)
            robot_note(doc, SKEL_E_DOCUMENT, "%s.name: is \"%.60s\", must be another: %s has it",
                       j->place, j->name, d->joints[one].place);
        else if (two >= 0)
            robot_note(doc, SKEL_E_DOCUMENT, "%s.link: is \"%.60s\", must be another: %s has it",
                       j->place, j->link, d->joints[two].place);
        if (strcmp(j->link, "world") == 0)
            robot_note(doc, SKEL_E_DOCUMENT,
                       "%s.%s: is \"world\", must be another: that is the world's", j->place,
                       j->link == j->name ? "name" : "link");
    }
    find_mimics(doc, d, &joints);
    return doc->error_count == 0 && !doc->no_memory;
}

/* ---- what looks wrong ------------------------------------------------------------------------ */

/* Lengths and angles as large or small as if the units had been mixed up. */
static void suspect_units(document *doc, const dh_doc *d, double reach) {
    bool any = false, all_small = true;
    for (int32_t i = 0; i < d->count; ++i) {
        const dh_joint *j = &d->joints[i];
        const double row[] = {j->row.alpha, j->row.theta,
                              j->row.type == SKEL_JOINT_HINGE ? j->row.offset : 0.0};
        const double link = fmax(fabs(j->row.a), fabs(j->row.d));
        if (link > LONG_LINK)
            robot_note(doc, SKEL_OK, "%s: has a length of %g m: is it in mm?", j->place, link);
        for (int k = 0; k < 3; ++k) {
            if (row[k] != 0.0) any = true;
            if (fabs(row[k]) / d->angle > SMALL_DEGREES) all_small = false;
            if (fabs(row[k]) > MANY_TURNS * DOC_PI)
                robot_note(doc, SKEL_OK, "%s: has an angle of %g rad: is it in degrees?", j->place,
                           row[k]);
        }
        if (j->has_limits && j->row.type == SKEL_JOINT_HINGE &&
            fmax(fabs(j->low), fabs(j->high)) > 2.0 * MANY_TURNS * DOC_PI)
            robot_note(doc, SKEL_OK, "%s.limits: reach to %g rad: are they in degrees?", j->place,
                       fmax(fabs(j->low), fabs(j->high)));
    }
    if (d->is_deg && any && all_small)
        robot_note(doc, SKEL_OK,
                   "angle_unit: is \"deg\", but no angle is over %g: are they in radians?",
                   SMALL_DEGREES);
    if (d->is_mm && reach > 0.0 && reach < SHORT_LINK)
        robot_note(doc, SKEL_OK, "length_unit: is \"mm\", but the whole chain is %g m: is it in m?",
                   reach);
}

static void suspect_bodies(document *doc, const dh_doc *d, double reach) {
    int32_t half = 0;
    for (int32_t i = 0; i < d->count; ++i) {
        const dh_joint *j = &d->joints[i];
        const double far =
            sqrt(j->com[0] * j->com[0] + j->com[1] * j->com[1] + j->com[2] * j->com[2]);
        if (reach > 0.0 && far > FAR_COM * reach)
            robot_note(doc, SKEL_OK,
                       "%s.com: is %g m from its frame, the whole chain is %g m: another unit?",
                       j->place, far, reach);
        half += j->has_inertia && !j->has_mass;
    }
    if (half)
        robot_note(doc, SKEL_OK,
                   "joints: %d of %d links have an inertia and no mass: the inertia is not used",
                   (int)half, (int)d->count);
}

/* What is left over at the ends of a chain: a modified table begins with nothing (alpha_0 = a_0 =
   0) and ends in a twist, a standard one the other way round. */
static void suspect_convention(document *doc, const dh_doc *d) {
    const skel_dh_row *first = &d->joints[0].row, *last = &d->joints[d->count - 1].row;
    const bool nothing_first = first->a == 0.0 && first->alpha == 0.0;
    const bool nothing_last = last->a == 0.0 && last->alpha == 0.0;
    if (d->count < 3 || nothing_first == nothing_last) return;
    if (d->convention == SKEL_DH_STANDARD && nothing_first && fabs(last->alpha) > 0.1 &&
        fabs(fabs(last->alpha) - DOC_PI) > 0.1)
        robot_note(doc, SKEL_OK,
                   "convention: is \"standard\", but the first row has no a and alpha and the last "
                   "has: is it \"modified\"?");
    if (d->convention == SKEL_DH_MODIFIED && nothing_last)
        robot_note(doc, SKEL_OK,
                   "convention: is \"modified\", but the last row has no a and alpha and the first "
                   "has: is it \"standard\"?");
}

/* Two hinges that follow each other on one line move the same thing twice: a twist is missing. */
static void suspect_axes(document *doc, const dh_doc *d, double reach) {
    const int32_t shift = d->convention == SKEL_DH_STANDARD ? 0 : 1;
    for (int32_t i = 0; i + 1 < d->count; ++i) {
        const skel_dh_row *between = &d->joints[i + shift].row;
        const bool hinges = d->joints[i].row.type == SKEL_JOINT_HINGE &&
                            d->joints[i + 1].row.type == SKEL_JOINT_HINGE;
        if (hinges && fabs(between->a) <= ON_ONE_LINE * reach &&
            fabs(sin(between->alpha)) <= ON_ONE_LINE)
            robot_note(doc, SKEL_OK,
                       "%s: turns about the same line as %s: is alpha of the row between them "
                       "right?",
                       d->joints[i + 1].place, d->joints[i].place);
    }
}

void dh_suspect(document *doc, const dh_doc *d) {
    double reach = fabs(d->tool[0]) + fabs(d->tool[1]) + fabs(d->tool[2]);
    for (int32_t i = 0; i < d->count; ++i) {
        const dh_joint *j = &d->joints[i];
        reach += fabs(j->row.a) + fabs(j->row.d);
        if (j->row.type == SKEL_JOINT_SLIDE && j->has_limits)
            reach += fmax(fabs(j->low), fabs(j->high));
        if (j->has_limits && (j->low > 0.0 || j->high < 0.0))
            robot_note(doc, SKEL_OK,
                       "%s.limits: are [%g, %g]%s, which leaves out q = 0: the zero pose cannot be "
                       "reached",
                       j->place, j->low, j->high, j->row.type == SKEL_JOINT_HINGE ? " rad" : " m");
    }
    suspect_units(doc, d, reach);
    suspect_bodies(doc, d, reach);
    suspect_convention(doc, d);
    suspect_axes(doc, d, reach);
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

/* A body stands at its centre of mass: its joints' frames move the other way. */
static void move_to_com(const double com[3], skel_body_desc *b, skel_joint_desc *before,
                        skel_joint_desc *behind) {
    double world[3];
    scene_rotate(b->orientation, com, world);
    for (int k = 0; k < 3; ++k) {
        b->position[k] += world[k];
        before->child_position[k] -= com[k];
        if (behind) behind->parent_position[k] -= com[k];
    }
}

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

/* What the table says of masses; the last link ends at the tool. */
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

/* Frames of all links, then the tool; named poses; drives. */
static void fill_robot(const dh_doc *d, const robot_mass_note *notes, robot_data *r) {
    const size_t n = (size_t)d->count;
    r->frames = arena_alloc(&r->arena, n + 1, sizeof *r->frames);
    r->drives = arena_alloc(&r->arena, n, sizeof *r->drives);
    r->poses = arena_alloc(&r->arena, (size_t)d->pose_count + 1, sizeof *r->poses);
    if (r->arena.failed) return;
    for (int32_t i = 0; i <= d->count; ++i) {
        const dh_joint *j = &d->joints[i < d->count ? i : d->count - 1];
        robot_frame *f = &r->frames[i];
        f->name = arena_string(&r->arena, i < d->count ? j->link : "tool");
        f->body = i < d->count ? i : d->count - 1;
        if (i < d->count) r->drives[i] = j->drive;
        memcpy(f->pose, i < d->count ? (const double[7]){0, 0, 0, 1} : d->tool, sizeof f->pose);
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
    for (int32_t i = 0; i < d->count; ++i) {
        skel_body_desc_init(&bodies[i]);
        skel_joint_desc_init(&joints[i]);
    }
    const skel_status filled =
        skel_dh_get_descs(dh, bodies, sizeof *bodies, joints, sizeof *joints);
    skel_dh_destroy(dh);
    if (filled != SKEL_OK) {
        robot_note(doc, SKEL_E_DOCUMENT,
                   "joints: the links lie beyond the range of numbers; a, d and the base must be "
                   "smaller lengths");
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
