/* SPDX-License-Identifier: BSD-3-Clause */
/* From the tree of a URDF to a scene. A body stands at the centre of mass of its link, turned as
   the link's frame; the root is fixed where it stands. */
#include "robot/urdf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct builder {
    document        *doc;
    urdf_document   *u;
    skel_body_desc  *bodies;
    skel_joint_desc *joints;
    robot_mass_note *notes; /* of the bodies */
    double (*poses)[7];     /* of the bodies, in the world at zero */
    int32_t nb, nj;
} builder;

/* ---- bodies ---------------------------------------------------------------------------------- */

static void add_body(builder *b, int32_t i) {
    urdf_link      *l = &b->u->links[i];
    skel_body_desc *d = &b->bodies[b->nb];
    double          x[7], com[7];
    const double    none[3] = {0};
    skel_body_desc_init(d);
    d->name = l->name;
    memcpy(x, l->world, sizeof x);
    if (l->is_heavy) {
        urdf_pose(l->xyz, none, com);
        robot_pose_mul(x, com, x);
        urdf_pose(l->xyz, l->rpy, com);
        d->mass = l->mass;
        robot_inertia_rotate(com + 3, l->inertia, d->inertia);
    }
    memcpy(d->position, x, sizeof d->position);
    memcpy(d->orientation, x + 3, sizeof d->orientation);
    memcpy(b->poses[b->nb], x, sizeof x);
    l->body = b->nb++;
}

/* Bodies in the order of the document: links with mass, and the heads of groups without. */
static void add_bodies(builder *b) {
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        urdf_link *l = &b->u->links[i];
        l->body      = SKEL_WORLD;
        if (l->is_heavy || b->u->links[l->group].head == i) add_body(b, i);
    }
    const int32_t root = b->u->links[b->u->root].head;
    if (root >= 0) b->bodies[b->u->links[root].body].motion = SKEL_MOTION_FIXED;
    for (int32_t at = 0; at < b->u->link_count; ++at) { /* the others go with the one above */
        urdf_link    *l    = &b->u->links[b->u->order[at]];
        const int32_t head = b->u->links[l->group].head;
        if (l->body >= 0) continue;
        l->body = head >= 0 ? b->u->links[head].body : SKEL_WORLD;
        if (l->joint >= 0 && urdf_is_rigid(&b->u->joints[l->joint]))
            l->body = b->u->links[b->u->joints[l->joint].parent].body;
    }
}

/* ---- masses of what fixed joints hold together ----------------------------------------------- */

/* Whether link l is part of another body than its own: its mass is added to that body's. */
static bool is_welded_mass(const urdf_link *l) {
    return l->has_inertial && l->mass > 0.0 && !l->is_heavy && l->body >= 0;
}

/* The centre of mass of a link in the world, and how its inertia is turned. */
static void inertial_pose(const urdf_link *l, double out[7]) {
    double local[7];
    urdf_pose(l->xyz, l->rpy, local);
    robot_pose_mul(l->world, local, out);
}

/* M = sum m, c = sum m c_i / M over the links of each body that has welded masses. is_sum: (nb). */
static void sum_centres(builder *b, const bool *is_sum, double (*centre)[3]) {
    for (int32_t k = 0; k < b->nb; ++k)
        if (is_sum[k]) b->bodies[k].mass = 0.0;
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        double           x[7];
        if (l->body < 0 || !is_sum[l->body] || !(l->is_heavy || is_welded_mass(l))) continue;
        inertial_pose(l, x);
        b->bodies[l->body].mass += l->mass;
        for (int k = 0; k < 3; ++k) centre[l->body][k] += l->mass * x[k];
    }
    for (int32_t k = 0; k < b->nb; ++k)
        for (int i = 0; is_sum[k] && i < 3; ++i) centre[k][i] /= b->bodies[k].mass;
}

/* I = sum R I_i R^T + m (r^2 - r r^T), r = c_i - c: in the axes of the world, then of the body. */
static void sum_inertias(builder *b, const bool *is_sum, double (*centre)[3]) {
    for (int32_t k = 0; k < b->nb; ++k) {
        if (!is_sum[k]) continue;
        memset(b->bodies[k].inertia, 0, sizeof b->bodies[k].inertia);
        memcpy(b->bodies[k].position, centre[k], sizeof centre[k]);
        memcpy(b->poses[k], centre[k], sizeof centre[k]);
    }
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        double           x[7], r[3], turned[6];
        if (l->body < 0 || !is_sum[l->body] || !(l->is_heavy || is_welded_mass(l))) continue;
        double *sum = b->bodies[l->body].inertia;
        inertial_pose(l, x);
        robot_inertia_rotate(x + 3, l->inertia, turned);
        for (int k = 0; k < 6; ++k) sum[k] += turned[k];
        for (int k = 0; k < 3; ++k) r[k] = x[k] - centre[l->body][k];
        robot_inertia_add_offset(l->mass, r, sum);
    }
    for (int32_t k = 0; k < b->nb; ++k) {
        const double *q       = b->bodies[k].orientation;
        const double  back[4] = {q[0], -q[1], -q[2], -q[3]};
        if (is_sum[k]) robot_inertia_rotate(back, b->bodies[k].inertia, b->bodies[k].inertia);
    }
}

/* Masses of links that are no bodies of their own join the body that fixed joints hold them to:
   only the sum must have a positive definite inertia. */
static void weld(builder *b) {
    bool any = false, *is_sum = doc_alloc(b->doc, (size_t)b->nb + 1, sizeof *is_sum);
    double(*centre)[3] = doc_alloc(b->doc, (size_t)b->nb + 1, sizeof *centre);
    if (!is_sum || !centre) return;
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        if (is_welded_mass(l)) any = is_sum[l->body] = true;
    }
    if (!any) return;
    sum_centres(b, is_sum, centre);
    sum_inertias(b, is_sum, centre);
}

/* What the document says of the bodies' masses. */
static void note_masses(const builder *b) {
    for (int32_t k = 0; k < b->nb; ++k) {
        robot_mass_note *n = &b->notes[k];
        n->has_com         = b->bodies[k].mass > 0.0;
        n->known           = ROBOT_MASS_ZERO;
        if (n->has_com) n->known = ROBOT_MASS_NO_INERTIA;
        if (n->has_com && robot_inertia_definite(b->bodies[k].inertia)) n->known = ROBOT_MASS_KNOWN;
    }
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        if (l->body >= 0 && l->has_inertia && b->notes[l->body].known == ROBOT_MASS_NO_INERTIA)
            b->notes[l->body].known = ROBOT_MASS_POINT;
    }
}

/* A thing that only stands there is one fixed body. */
static void add_stand(builder *b) {
    for (int32_t i = 0; i < b->u->link_count && b->nb == 0; ++i) {
        if (strcmp(b->u->links[i].name, "world") == 0) continue;
        add_body(b, i);
        b->bodies[0].motion = SKEL_MOTION_FIXED;
        for (int32_t k = 0; k < b->u->link_count; ++k) b->u->links[k].body = 0;
    }
}

/* ---- joints ---------------------------------------------------------------------------------- */

/* The turn that takes z to the axis. */
static void frame_of_axis(const double axis[3], double q[4]) {
    double z[3] = {axis[0], axis[1], axis[2]};
    doc_normalise(z, 3);
    if (z[2] < -0.5) { /* by way of x: q = (turn of -z to the axis) (half turn about x) */
        const double to[4] = {1.0 - z[2], z[1], -z[0], 0.0}, over[4] = {0, 1, 0, 0};
        double       unit[4];
        memcpy(unit, to, sizeof to);
        doc_normalise(unit, 4);
        robot_quat_mul(unit, over, q);
    } else {
        q[0] = 1.0 + z[2], q[1] = -z[1], q[2] = z[0], q[3] = 0.0;
    }
    doc_normalise(q, 4);
}

static void put_frame(const builder *b, int32_t body, const double x[7], double position[3],
                      double orientation[4]) {
    double local[7];
    memcpy(local, x, sizeof local);
    if (body >= 0) {
        robot_pose_inverse(b->poses[body], local);
        robot_pose_mul(local, x, local);
    }
    memcpy(position, local, 3 * sizeof *local);
    memcpy(orientation, local + 3, 4 * sizeof *local);
}

static void limit(builder *b, const urdf_joint *j, skel_joint_desc *d) {
    if (j->type == URDF_CONTINUOUS || j->type >= URDF_FIXED || j->stands) return;
    if (j->lower > j->upper) {
        robot_note(b->doc, SKEL_OK,
                   "line %d: joint '%.60s': limit: lower: is %g, must be at most upper, which is "
                   "%g: it moves freely",
                   (int)j->line, j->name, j->lower, j->upper);
        return;
    }
    if (!j->has_lower && !j->has_upper) {
        robot_note(b->doc, SKEL_OK,
                   "line %d: joint '%.60s': limit: has no lower and upper: it moves freely",
                   (int)j->line, j->name);
        return;
    }
    d->limits.is_set  = 1;
    d->limits.low[0]  = j->lower;
    d->limits.high[0] = j->upper;
    if (j->lower == j->upper)
        robot_note(b->doc, SKEL_OK,
                   "line %d: joint '%.60s': limit: lower and upper are both %g: it is locked",
                   (int)j->line, j->name, j->lower);
    else if (j->lower > 0.0 || j->upper < 0.0)
        robot_note(b->doc, SKEL_OK,
                   "line %d: joint '%.60s': limit: is %g to %g, which leaves out 0: the zero pose "
                   "cannot be reached",
                   (int)j->line, j->name, j->lower, j->upper);
}

/* A joint of the model where two bodies meet; fixed joints within one body are none. */
static void add_joint(builder *b, int32_t k) {
    static const int32_t types[] = {SKEL_JOINT_HINGE, SKEL_JOINT_HINGE, SKEL_JOINT_SLIDE,
                                    SKEL_JOINT_FIXED, SKEL_JOINT_FIXED, SKEL_JOINT_BALL};
    urdf_joint          *j       = &b->u->joints[k];
    const int32_t        parent = b->u->links[j->parent].body, child = b->u->links[j->child].body;
    skel_joint_desc     *d = &b->joints[b->nj];
    double               x[7], turn[7] = {0, 0, 0, 1};
    if (parent == child || j->type == URDF_FLOATING) return;
    skel_joint_desc_init(d);
    const bool is_rigid = urdf_is_rigid(j);
    if (j->type < URDF_FIXED) frame_of_axis(j->axis, turn + 3);
    robot_pose_mul(b->u->links[j->child].world, turn, x);
    d->name   = j->name;
    d->type   = is_rigid ? SKEL_JOINT_FIXED : types[j->type];
    d->parent = parent;
    d->child  = child;
    put_frame(b, parent, x, d->parent_position, d->parent_orientation);
    put_frame(b, child, x, d->child_position, d->child_orientation);
    if (!is_rigid) d->friction = j->damping;
    limit(b, j, d);
    j->index = b->nj++;
}

/* `friction` of <dynamics> is Coulomb's: a torque against the motion, whatever its speed. */
static void warn_of_friction(const builder *b, skel_scene *s) {
    robot_name_list names   = {0};
    double          largest = 0.0;
    for (int32_t k = 0; k < b->u->joint_count; ++k) {
        const urdf_joint *j = &b->u->joints[k];
        if (j->index < 0 || urdf_is_rigid(j) || j->friction == 0.0) continue;
        largest = fmax(largest, fabs(j->friction));
        robot_name_list_add(&names, j->name);
    }
    if (names.count > 0)
        scene_warn(b->doc, s,
                   "joint%s %s: dynamics: friction: is Coulomb friction of up to %g (N m, "
                   "N), which dynamics leaves out; damping counts",
                   names.count > 1 ? "s" : "", names.text, largest);
}

/* ---- the robot ------------------------------------------------------------------------------- */

/* 0: not known. */
static double drive_of(double limit) {
    return limit > 0.0 && limit < URDF_NO_LIMIT ? limit : 0.0;
}

/* The farthest frame of each body from its joint, where it may end. */
static void find_ends(builder *b) {
    double *far       = doc_alloc(b->doc, (size_t)b->nb + 1, sizeof *far);
    double(*start)[3] = doc_alloc(b->doc, (size_t)b->nb + 1, sizeof *start);
    if (!far || !start) return;
    for (int32_t k = 0; k < b->nj; ++k)
        memcpy(start[b->joints[k].child], b->joints[k].child_position, sizeof start[0]);
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        double           x[3], turn[4], d2 = 0.0;
        if (l->body < 0) continue;
        put_frame(b, l->body, l->world, x, turn);
        for (int k = 0; k < 3; ++k) d2 += (x[k] - start[l->body][k]) * (x[k] - start[l->body][k]);
        if (!(d2 > far[l->body])) continue;
        far[l->body]              = d2;
        b->notes[l->body].has_end = true;
        memcpy(b->notes[l->body].end, x, sizeof x);
    }
}

/* Bodies that went to an estimated centre of mass took their joints along; frames follow. */
static void estimate(builder *b, skel_scene *s) {
    find_ends(b);
    robot_estimate_masses(b->doc, s, b->bodies, b->nb, b->joints, b->nj, b->notes);
    for (int32_t k = 0; k < b->nb; ++k)
        memcpy(b->poses[k], b->bodies[k].position, sizeof b->bodies[k].position);
}

static void fill_robot(const builder *b, robot_data *r) {
    const urdf_document *u = b->u;
    r->frames              = arena_alloc(&r->arena, (size_t)u->link_count, sizeof *r->frames);
    r->drives              = arena_alloc(&r->arena, (size_t)b->nj + 1, sizeof *r->drives);
    if (r->arena.failed) return;
    for (int32_t i = 0; i < u->link_count; ++i) {
        const urdf_link *l = &u->links[i];
        robot_frame     *f = &r->frames[r->frame_count++];
        f->name = l->name, f->body = l->body;
        put_frame(b, l->body, l->world, f->pose, f->pose + 3);
    }
    for (int32_t k = 0; k < u->joint_count; ++k) {
        const urdf_joint *j = &u->joints[k];
        if (j->index < 0) continue;
        r->drives[j->index] = (robot_drive){drive_of(j->velocity), drive_of(j->effort)};
    }
}

/* Once all joints have numbers. */
static void add_mimics(const builder *b) {
    for (int32_t k = 0; k < b->u->joint_count; ++k) {
        const urdf_joint *j = &b->u->joints[k];
        if (j->index < 0 || j->mimic < 0) continue;
        skel_joint_desc *d  = &b->joints[j->index];
        d->mimic.source     = b->u->joints[j->mimic].index;
        d->mimic.multiplier = j->factor, d->mimic.offset = j->offset;
        robot_note(b->doc, SKEL_OK,
                   "line %d: joint '%.60s': mimic: fk and IK obey, dynamics moves the joint on its "
                   "own",
                   (int)j->line, j->name);
    }
}

void urdf_build(document *doc, urdf_document *u, skel_scene *s) {
    builder b = {.doc = doc, .u = u};
    b.bodies  = doc_alloc(doc, (size_t)u->link_count + 1, sizeof *b.bodies);
    b.poses   = doc_alloc(doc, (size_t)u->link_count + 1, sizeof *b.poses);
    b.joints  = doc_alloc(doc, (size_t)u->joint_count + 1, sizeof *b.joints);
    b.notes   = doc_alloc(doc, (size_t)u->link_count + 1, sizeof *b.notes);
    if (!b.bodies || !b.poses || !b.joints || !b.notes) return;
    add_bodies(&b);
    weld(&b);
    add_stand(&b);
    note_masses(&b);
    for (int32_t k = 0; k < u->joint_count; ++k) add_joint(&b, k);
    add_mimics(&b);
    warn_of_friction(&b, s);
    estimate(&b, s);
    if (b.nb == 0) {
        robot_note(doc, SKEL_E_DOCUMENT, "document: has no link but the world, must have one");
        return;
    }
    snprintf(s->name, sizeof s->name, "%s", u->name);
    scene_build(doc, s, b.bodies, b.nb, b.joints, b.nj);
    if (s->model) fill_robot(&b, s->robot);
}
