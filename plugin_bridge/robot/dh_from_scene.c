/* SPDX-License-Identifier: BSD-3-Clause */
/* The DH table of a chain of a scene: finds the chain, extracts its rows by skel_dh_extract, and
   adds names, limits, masses, poses and notes on the choices that were made. */
#include "robot/dh.h"

#include <skel/skel_robot.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct chain {
    const skel_scene *s;
    const skel_model *model;
    memory_arena arena;
    skel_dh *dh;
    dh_doc doc;
    robot_data words; /* holds only source and notes */
    int32_t *island;  /* (body_count + 1) group of bodies that fixed joints connect; index 0 is
                         the world */
    int32_t root, tip;
    double tool[7]; /* pose of the tool in the body `tip` */
    double snap;
} chain;

void skel_scene_dh_desc_init_sized(skel_scene_dh_desc *desc, size_t size) {
    const skel_scene_dh_desc defaults = {
        .struct_size = (uint32_t)size, .snap = 1e-6, .parallel_tolerance = 1e-3};
    if (!desc || size < sizeof(uint32_t)) return;
    memset(desc, 0, size);
    memcpy(desc, &defaults, size < sizeof defaults ? size : sizeof defaults);
}

static skel_joint_desc joint_of(const chain *c, int32_t joint) {
    skel_joint_desc j;
    skel_joint_desc_init(&j);
    skel_model_get_joint(c->model, joint, &j);
    return j;
}

static bool has_quaternion(const skel_joint_desc *joint) {
    return scene_joint_kind(joint->type).q_kind[0] == SKEL_COORDINATE_QUATERNION;
}

static void body_pose(const chain *c, int32_t body, double out[7]) {
    skel_body_desc b;
    skel_body_desc_init(&b);
    if (body >= 0) skel_model_get_body(c->model, body, &b);
    memcpy(out, b.position, sizeof b.position);
    memcpy(out + 3, b.orientation, sizeof b.orientation);
}

/* ---- the chain ------------------------------------------------------------------------------- */

/* Finds a frame or a body by its name, as a body and a pose in it. */
static bool find_frame(const skel_scene *s, const char *name, int32_t *body, double pose[7]) {
    const double identity[7] = {0, 0, 0, 1};
    memcpy(pose, identity, sizeof identity);

    for (int32_t i = 0; s->robot && i < s->robot->frame_count; ++i) {
        if (strcmp(s->robot->frames[i].name, name) != 0) continue;
        *body = s->robot->frames[i].body;
        memcpy(pose, s->robot->frames[i].pose, sizeof identity);
        return true;
    }
    *body = skel_model_find_body(s->model, name);
    return *body >= SKEL_WORLD;
}

/* Finds the tip if it is not given: the only body that has one joint, as its child. */
static skel_status find_only_end(chain *c, skel_error *err) {
    const int32_t nb = skel_model_body_count(c->model);
    int32_t *joints = arena_alloc(&c->arena, (size_t)nb + 1, sizeof *joints);
    bool *is_child = arena_alloc(&c->arena, (size_t)nb + 1, sizeof *is_child);
    int32_t ends = 0;
    char list[256] = "";
    size_t used = 0;
    if (!joints || !is_child) return SKEL_E_MEMORY;

    for (int32_t k = 0; k < skel_model_joint_count(c->model); ++k) {
        const skel_joint_desc j = joint_of(c, k);
        ++joints[j.parent + 1];
        ++joints[j.child + 1];
        if (j.child >= 0 && j.child != c->root) is_child[j.child + 1] = true;
    }

    /* List the ends for the message. */
    for (int32_t i = 0; i < nb; ++i) {
        if (!is_child[i + 1] || joints[i + 1] != 1) continue;
        c->tip = i;
        const int n = snprintf(list + used, sizeof list - used, "%s'%s'", ends ? ", " : "",
                               skel_model_body_name(c->model, i));
        if (n > 0 && used + (size_t)n < sizeof list) used += (size_t)n;
        ++ends;
    }
    if (ends == 1) return SKEL_OK;
    return doc_error_say(err, SKEL_E_ARGUMENT,
                         "tip: is missing, must be named: the skeleton has %d ends%s%s", (int)ends,
                         ends ? ": " : "", list);
}

static skel_status find_ends(chain *c, const skel_scene_dh_desc *d, skel_error *err) {
    double unused[7];
    const char *tip = d->tip;
    c->root = SKEL_WORLD;

    if (d->root && !find_frame(c->s, d->root, &c->root, unused))
        return doc_error_say(err, SKEL_E_ARGUMENT,
                             "root: is '%.100s', must be a body, a frame or world", d->root);

    /* The default is the tool of the robot, or the only end. */
    if (!tip && c->s->robot && c->s->robot->tool >= 0)
        tip = c->s->robot->frames[c->s->robot->tool].name;
    if (!tip) {
        const double identity[7] = {0, 0, 0, 1};
        memcpy(c->tool, identity, sizeof identity);
        return find_only_end(c, err);
    }
    if (!find_frame(c->s, tip, &c->tip, c->tool))
        return doc_error_say(err, SKEL_E_ARGUMENT, "tip: is '%.100s', must be a body or a frame",
                             tip);
    if (c->tip == c->root)
        return doc_error_say(err, SKEL_E_ARGUMENT,
                             "tip: is '%.100s', must not be fixed to the root", tip);
    return SKEL_OK;
}

/* ---- rigid islands --------------------------------------------------------------------------- */

/* Islands get the smallest index of their bodies, until nothing changes. */
static bool find_islands(chain *c) {
    const int32_t nb = skel_model_body_count(c->model), nj = skel_model_joint_count(c->model);
    c->island = arena_alloc(&c->arena, (size_t)nb + 1, sizeof *c->island);
    if (!c->island) return false;
    for (int32_t i = 0; i <= nb; ++i) c->island[i] = i;

    for (bool grown = true; grown;) {
        grown = false;
        for (int32_t k = 0; k < nj; ++k) {
            const skel_joint_desc j = joint_of(c, k);
            int32_t *a = &c->island[j.parent + 1], *b = &c->island[j.child + 1];
            if (scene_joint_kind(j.type).dof > 0 || *a == *b) continue;
            const int32_t least = *a < *b ? *a : *b;
            *a = least;
            *b = least;
            grown = true;
        }
    }
    return true;
}

/* The bodies of an island as seen from the frame of a link, if the body `ref` has the pose `at`:
   X_i = to_link at from_ref X_i0, with the given pose X_i0 of body i. */
typedef struct view {
    double from_ref[7], at[7], to_link[7];
} view;

static view view_of(const chain *c, int32_t ref, const double at[7], const double link[7]) {
    view v;
    double ref0[7];
    body_pose(c, ref, ref0);
    robot_pose_inverse(ref0, v.from_ref);
    robot_pose_inverse(link, v.to_link);
    memcpy(v.at, at, sizeof v.at);
    return v;
}

/* A body and its pose x in the frame of the link. */
static skel_body_desc body_in_link(const chain *c, const view *v, int32_t i, double x[7]) {
    skel_body_desc b;
    skel_body_desc_init(&b);
    skel_model_get_body(c->model, i, &b);

    /* A table must not present estimates as data of the robot. */
    if (scene_is_estimated(c->s, i, SCENE_ESTIMATED_INERTIA))
        memset(b.inertia, 0, sizeof b.inertia);
    if (scene_is_estimated(c->s, i, SCENE_ESTIMATED_MASS)) b.mass = 0.0;

    body_pose(c, i, x);
    robot_pose_mul(v->from_ref, x, x);
    robot_pose_mul(v->at, x, x);
    robot_pose_mul(v->to_link, x, x);
    return b;
}

/* Mass, centre of mass and inertia of an island in the frame of its link. */
static void sum_masses(const chain *c, int32_t island, const view *v, dh_joint *out) {
    const int32_t nb = skel_model_body_count(c->model);
    double x[7], turned[6];

    /* M = sum m_i, c = sum m_i c_i / M */
    for (int32_t i = 0; i < nb; ++i) {
        if (c->island[i + 1] != island) continue;
        const skel_body_desc b = body_in_link(c, v, i, x);
        for (int k = 0; k < 3; ++k) out->com[k] += b.mass * x[k];
        out->mass += b.mass;
    }
    if (!(out->mass > 0.0)) return;
    for (int k = 0; k < 3; ++k) out->com[k] /= out->mass;

    /* I = sum R_i I_i R_i^T + m_i (r^2 - r r^T), r = c_i - c (parallel axis theorem) */
    for (int32_t i = 0; i < nb; ++i) {
        if (c->island[i + 1] != island) continue;
        const skel_body_desc b = body_in_link(c, v, i, x);
        const double r[3] = {x[0] - out->com[0], x[1] - out->com[1], x[2] - out->com[2]};
        const double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
        const double steiner[6] = {r2 - r[0] * r[0], r2 - r[1] * r[1], r2 - r[2] * r[2],
                                   -r[0] * r[1],     -r[0] * r[2],     -r[1] * r[2]};
        robot_inertia_rotate(x + 3, b.inertia, turned);
        for (int k = 0; k < 6; ++k) out->inertia[k] += turned[k] + b.mass * steiner[k];
    }
}

static bool has_estimate(const chain *c, int32_t island) {
    for (int32_t i = 0; i < skel_model_body_count(c->model); ++i)
        if (c->island[i + 1] == island && scene_is_estimated(c->s, i, SCENE_ESTIMATED_INERTIA))
            return true;
    return false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The name of a row: that of the joint, with the axis if the joint gives several rows. */
static const char *row_name(chain *c, const skel_joint_desc *j, int32_t part) {
    const size_t n = strlen(j->name) + sizeof ".x";
    char *name = arena_alloc(&c->arena, n, 1);
    if (name) robot_part_name(j, part, name, n);
    return name;
}

static void fill_row(chain *c, int32_t i) {
    dh_joint *j = &c->doc.joints[i];
    skel_dh_row_init(&j->row);
    skel_dh_get_row(c->dh, i, &j->row);
    const skel_joint_desc joint = joint_of(c, j->row.joint);
    const int32_t part = j->row.part;

    j->name = row_name(c, &joint, part);
    j->link = j->name;
    j->friction = has_quaternion(&joint) ? 0.0 : joint.friction;

    if (robot_has_range(&joint, part)) {
        j->has_limits = true;
        j->low = joint.limits.low[part];
        j->high = joint.limits.high[part];
    }
    if (c->s->robot && c->s->robot->drives) j->drive = c->s->robot->drives[j->row.joint];
}

/* Whether the joint of row i mimics a joint that is not part of the chain. */
static bool mimics_outside(const chain *c, int32_t i) {
    const int32_t of = skel_model_mimic_source(c->model, c->doc.joints[i].row.joint, NULL, NULL);
    return of >= 0 && !c->doc.joints[i].mimic.of;
}

/* Mimic joints whose source, at the end of the mimic chain, is a row of the table. */
static void fill_mimics(chain *c) {
    for (int32_t i = 0; i < c->doc.count; ++i) {
        scene_mimic *m = &c->doc.joints[i].mimic;
        const int32_t of =
            skel_model_mimic_source(c->model, c->doc.joints[i].row.joint, &m->factor, &m->offset);
        for (int32_t k = 0; of >= 0 && k < c->doc.count; ++k)
            if (c->doc.joints[k].row.joint == of) m->of = c->doc.joints[k].name;
    }
}

/* The pose of the body behind a joint with all coordinates at zero: X_far = X_near outer inner^-1,
   or X_near inner outer^-1 if the chain passes the joint from child to parent. */
static void pose_behind(const chain *c, int32_t joint, int32_t near, const double at[7],
                        double out[7]) {
    const skel_joint_desc j = joint_of(c, joint);
    double outer[7], inner[7], back[7];
    memcpy(outer, j.parent_position, sizeof j.parent_position);
    memcpy(outer + 3, j.parent_orientation, sizeof j.parent_orientation);
    memcpy(inner, j.child_position, sizeof j.child_position);
    memcpy(inner + 3, j.child_orientation, sizeof j.child_orientation);

    const bool forward = j.parent == near;
    robot_pose_inverse(forward ? inner : outer, back);
    robot_pose_mul(at, forward ? outer : inner, out);
    robot_pose_mul(out, back, out);
}

/* For each row the body of its joint that is nearer to the root, found backwards from the tip. */
static int32_t *find_near(chain *c) {
    int32_t *near = arena_alloc(&c->arena, (size_t)c->doc.count + 1, sizeof *near);
    int32_t island = c->island[c->tip + 1];
    for (int32_t i = c->doc.count - 1; near && i >= 0; --i) {
        const int32_t joint = c->doc.joints[i].row.joint;
        if (i + 1 < c->doc.count && c->doc.joints[i + 1].row.joint == joint) {
            near[i] = near[i + 1];
            continue;
        }

        const skel_joint_desc j = joint_of(c, joint);
        near[i] = c->island[j.child + 1] == island ? j.parent : j.child;
        island = c->island[near[i] + 1];
    }
    return near;
}

/* Names and masses of the links, along the chain. The first body has its given pose, the others
   follow with all coordinates at zero. */
static bool fill_links(chain *c) {
    const int32_t n = c->doc.count;
    double *frames = arena_alloc(&c->arena, 7 * ((size_t)n + 1), sizeof *frames);
    double *zero = arena_alloc(&c->arena, (size_t)n + 1, sizeof *zero);
    int32_t *near = find_near(c);
    double at[7], x[7], back[7];
    int32_t ref = SKEL_WORLD;
    if (!frames || !zero || !near) return false;

    skel_dh_frames(c->dh, zero, frames);
    for (int32_t i = 0; i < n; ++i) {
        dh_joint *j = &c->doc.joints[i];
        if (i + 1 < n && c->doc.joints[i + 1].row.joint == j->row.joint) continue;
        const skel_joint_desc joint = joint_of(c, j->row.joint);

        /* The near body, moved with the body `ref` of its island. */
        body_pose(c, near[i], x);
        if (ref != SKEL_WORLD) {
            double ref0[7];
            body_pose(c, ref, ref0);
            robot_pose_inverse(ref0, back);
            robot_pose_mul(back, x, x);
            robot_pose_mul(at, x, x);
        }
        pose_behind(c, j->row.joint, near[i], x, at);
        ref = joint.parent == near[i] ? joint.child : joint.parent;
        if (ref < 0) continue; /* the chain ends in the world */

        j->link = arena_string(&c->arena, skel_model_body_name(c->model, ref));
        const view v = view_of(c, ref, at, frames + 7 * (size_t)i);
        sum_masses(c, c->island[ref + 1], &v, j);
        j->has_mass = j->mass > 0.0;
        j->has_com = j->has_mass;
        j->has_inertia = j->has_mass && !has_estimate(c, c->island[ref + 1]);
    }
    return !c->arena.failed;
}

/* Named poses. A ball joint has a quaternion in the model and three angles in the table, so a chain
   with one has none. */
static void fill_poses(chain *c) {
    const robot_data *r = c->s->robot;
    if (!r || r->pose_count == 0) return;
    for (int32_t i = 0; i < c->doc.count; ++i) {
        const skel_joint_desc j = joint_of(c, c->doc.joints[i].row.joint);
        if (has_quaternion(&j)) return;
    }

    c->doc.poses = arena_alloc(&c->arena, (size_t)r->pose_count, sizeof *c->doc.poses);
    for (int32_t k = 0; c->doc.poses && k < r->pose_count; ++k) {
        dh_pose *p = &c->doc.poses[k];
        p->name = r->poses[k].name;
        p->q = arena_alloc(&c->arena, (size_t)c->doc.count + 1, sizeof *p->q);
        for (int32_t i = 0; p->q && i < c->doc.count; ++i) {
            const skel_dh_row *row = &c->doc.joints[i].row;
            p->q[i] = r->poses[k].q[skel_model_joint_q_offset(c->model, row->joint) + row->part];
        }
        c->doc.pose_count = k + 1;
    }
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* Adds the note "TEXT: one, two, ..." with the rows to which it applies, if there are any. */
static void note_rows(chain *c, const char *text, bool (*applies)(const chain *, int32_t)) {
    text_buffer t = {0};
    int32_t count = 0;
    for (int32_t i = 0; i < c->doc.count; ++i) {
        if (!applies(c, i)) continue;
        text_addf(&t, "%s%s", count ? ", " : text, c->doc.joints[i].name);
        ++count;
    }

    if (count && !t.failed) c->words.notes[c->words.note_count++] = arena_string(&c->arena, t.data);
    if (t.failed) c->arena.failed = true;
    text_free(&t);
}

/* Adds a note for every pair of nearly parallel axes. */
static void note_pairs(chain *c) {
    for (int32_t i = 0; i + 1 < c->doc.count; ++i) {
        text_buffer t = {0};
        if (!dh_is_ill_conditioned(&c->doc, i) && !dh_is_turned(&c->doc, i)) continue;

        dh_put_pair(&t, &c->doc, i);
        if (t.failed)
            c->arena.failed = true;
        else
            c->words.notes[c->words.note_count++] = arena_string(&c->arena, t.data);
        text_free(&t);
    }
}

static int32_t relation(const chain *c, int32_t i) {
    return c->doc.joints[i].row.relation;
}
static bool meets(const chain *c, int32_t i) {
    return relation(c, i) == SKEL_DH_INTERSECTING;
}
static bool parallel(const chain *c, int32_t i) {
    return relation(c, i) == SKEL_DH_PARALLEL || relation(c, i) == SKEL_DH_ANTIPARALLEL;
}
static bool on_line(const chain *c, int32_t i) {
    return relation(c, i) == SKEL_DH_COINCIDENT || relation(c, i) == SKEL_DH_OPPOSED;
}
static bool slides(const chain *c, int32_t i) {
    return c->doc.joints[i].row.type == SKEL_JOINT_SLIDE;
}
static bool of_ball(const chain *c, int32_t i) {
    const skel_joint_desc j = joint_of(c, c->doc.joints[i].row.joint);
    return has_quaternion(&j);
}
static bool of_several(const chain *c, int32_t i) {
    const skel_joint_desc j = joint_of(c, c->doc.joints[i].row.joint);
    return !has_quaternion(&j) && scene_joint_kind(j.type).dof > 1;
}
static bool is_last(const chain *c, int32_t i) {
    return i == c->doc.count - 1;
}
static bool is_first(const chain *c, int32_t i) {
    (void)c;
    return i == 0;
}

static bool write_notes(chain *c) {
    char text[160];
    c->words.tool = -1;
    c->words.notes = arena_alloc(&c->arena, 16 + (size_t)c->doc.count, sizeof *c->words.notes);
    if (!c->words.notes) return false;
    if (c->s->robot) c->words.source = c->s->robot->source;

    note_rows(c,
              "the base frame is the frame of the first link, so d and theta are 0 and base holds "
              "the remaining transform: ",
              is_first);
    note_rows(
        c,
        "the last frame keeps the direction of x and the origin, and tool holds the remaining "
        "transform: ",
        is_last);
    note_rows(c, "intersects the next axis: x is along z x z', so alpha is in (0, pi): ", meets);
    note_rows(c,
              "parallel to the next axis: the common normal passes through the end of the previous "
              "one, so d of the row is 0: ",
              parallel);
    note_rows(
        c, "coincides with the next axis: there is no common normal and x is kept, so theta is 0: ",
        on_line);
    note_rows(c, "the axis of a slide has only a direction: it is put through the joint's point: ",
              slides);
    note_rows(c,
              "a ball joint as three hinges about x, y, z of its outer frame, R = Rx Ry Rz; its "
              "limits are left out: ",
              of_ball);
    note_rows(c, "a joint with several coordinates has a row for each of them: ", of_several);
    note_rows(c, "mimics a joint outside of this chain, so it is free here: ", mimics_outside);
    note_pairs(c);

    snprintf(
        text, sizeof text,
        "axes that are parallel within %g rad, or intersect within %g of the reach, count as such",
        c->snap, c->snap);
    c->words.notes[c->words.note_count++] = arena_string(&c->arena, text);
    return !c->arena.failed;
}

/* ---- extraction ------------------------------------------------------------------------------ */

static skel_status extract(chain *c, const skel_scene_dh_desc *d, skel_error *err) {
    skel_dh_chain_desc e;
    skel_status status = find_ends(c, d, err);
    if (status != SKEL_OK) return status;

    skel_dh_chain_desc_init(&e);
    e.convention = d->convention;
    e.root = c->root;
    e.tip = c->tip;
    e.snap = d->snap;
    e.parallel_tolerance = d->parallel_tolerance;
    memcpy(e.tool, c->tool, sizeof e.tool);
    c->snap = d->snap;
    status = skel_dh_extract(c->model, &e, &c->dh, err);
    if (status != SKEL_OK) return status;

    c->doc.convention = d->convention;
    c->doc.count = skel_dh_row_count(c->dh);
    c->doc.name = c->s->name;
    if (c->doc.count == 0)
        return doc_error_say(
            err, SKEL_E_ARGUMENT,
            "tip: no hinge or slide leads to it, must be a body or frame that moves");
    c->doc.joints = arena_alloc(&c->arena, (size_t)c->doc.count, sizeof *c->doc.joints);
    if (!c->doc.joints || !find_islands(c)) return SKEL_E_MEMORY;

    skel_dh_get_ends(c->dh, c->doc.base, c->doc.tool);
    c->doc.receipt.struct_size = sizeof c->doc.receipt;
    skel_dh_get_receipt(c->dh, &c->doc.receipt);

    for (int32_t i = 0; i < c->doc.count; ++i) fill_row(c, i);
    if (!fill_links(c)) return SKEL_E_MEMORY;
    fill_poses(c);
    if (skel_model_mimic_count(c->model) > 0) fill_mimics(c);
    return write_notes(c) ? SKEL_OK : SKEL_E_MEMORY;
}

static void put_table(text_buffer *t, const chain *c, const skel_scene_dh_desc *d) {
    if (d->is_csv)
        dh_put_csv(t, &c->doc, &c->words);
    else
        dh_put(t, &c->doc, &c->words);
}

static void put_report(text_buffer *t, const chain *c, const skel_scene_dh_desc *d) {
    for (int32_t i = 0; i + 1 < c->doc.count; ++i) {
        const bool ill_conditioned = dh_is_ill_conditioned(&c->doc, i);
        if (!ill_conditioned && !(c->doc.joints[i].row.turned >= d->snap)) continue;
        text_add(t, "warning: ");
        dh_put_pair(t, &c->doc, i);
        if (!ill_conditioned) text_addf(t, " (--snap %g keeps them as they are)", d->snap);
        text_add(t, "\n");
    }
    text_add(t, "receipt: ");
    dh_put_accuracy(t, &c->doc.receipt);
    text_add(t, "\n");
}

/* Extracts the chain and copies the text that `put` writes about it to the caller's buffer. */
static skel_status give(const skel_scene *scene, const skel_scene_dh_desc *desc,
                        void (*put)(text_buffer *, const chain *, const skel_scene_dh_desc *),
                        char *text, size_t capacity, size_t *needed, skel_error *err) {
    skel_scene_dh_desc d;
    if (!scene || !desc || (!text && capacity > 0)) return SKEL_E_ARGUMENT;
    if (desc->struct_size < sizeof d)
        return doc_error_say(err, SKEL_E_STRUCT_SIZE, "struct_size: is %u, must be %u",
                             desc->struct_size, (unsigned)sizeof d);

    d = *desc;

    const doc_locale locale = doc_locale_enter();
    chain c = {.s = scene, .model = scene->model};
    text_buffer t = {0};
    skel_status status = extract(&c, &d, err);
    if (status == SKEL_OK) {
        put(&t, &c, &d);
        status = put == put_table
                     ? scene_give_readable(&t, "the table", text, capacity, needed, err)
                     : text_give(&t, text, capacity, needed);
    }
    if (status == SKEL_E_MEMORY) doc_error_say(err, status, "%s", skel_status_text(status));
    text_free(&t);
    skel_dh_destroy(c.dh);
    arena_free(&c.arena);
    doc_locale_leave(locale);
    return status;
}

skel_status skel_scene_write_dh(const skel_scene *scene, const skel_scene_dh_desc *desc, char *text,
                                size_t capacity, size_t *needed, skel_error *err) {
    return give(scene, desc, put_table, text, capacity, needed, err);
}

skel_status skel_scene_dh_report(const skel_scene *scene, const skel_scene_dh_desc *desc,
                                 char *text, size_t capacity, size_t *needed, skel_error *err) {
    return give(scene, desc, put_report, text, capacity, needed, err);
}
