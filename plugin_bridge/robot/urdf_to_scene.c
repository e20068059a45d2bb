/* SPDX-License-Identifier: BSD-3-Clause */
/* From the tree of a URDF to a scene. The frame of a body lies in the centre of mass of its link
   and has the axes of the link's frame. The root is fixed. */
#include "robot/urdf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct builder {
    document *doc;
    urdf_document *u;
    skel_body_desc *bodies;
    skel_joint_desc *joints;
    robot_mass_note *notes; /* (nb) */
    double (*poses)[7];     /* (nb) of the bodies in the world with all coordinates at zero */
    int32_t nb, nj;
} builder;

/* ---- bodies ---------------------------------------------------------------------------------- */

static void add_body(builder *b, int32_t i) {
    urdf_link *l = &b->u->links[i];
    skel_body_desc *d = &b->bodies[b->nb];
    double x[7], com[7];
    const double none[3] = {0};
    skel_body_desc_init(d);
    d->name = l->name;
    memcpy(x, l->world, sizeof x);

    /* The body keeps the axes of the link; the inertia is rotated into them. */
    if (l->has_body) {
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

/* Bodies in the order of the document: links with a body of their own, and heads of groups. */
static void add_bodies(builder *b) {
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        urdf_link *l = &b->u->links[i];
        l->body = SKEL_WORLD;
        if (l->has_body || b->u->links[l->group].head == i) add_body(b, i);
    }
    const int32_t root = b->u->links[b->u->root].head;
    if (root >= 0) b->bodies[b->u->links[root].body].motion = SKEL_MOTION_FIXED;

    /* The other links belong to the body of their parent, or of their group. */
    for (int32_t at = 0; at < b->u->link_count; ++at) {
        urdf_link *l = &b->u->links[b->u->order[at]];
        const int32_t head = b->u->links[l->group].head;
        if (l->body >= 0) continue;
        l->body = head >= 0 ? b->u->links[head].body : SKEL_WORLD;
        if (l->joint >= 0 && urdf_is_rigid(&b->u->joints[l->joint]))
            l->body = b->u->links[b->u->joints[l->joint].parent].body;
    }
}

/* ---- masses of rigid groups ------------------------------------------------------------------ */

/* Whether the mass of the link is added to the body of another link. */
static bool adds_mass(const urdf_link *l) {
    return l->has_inertial && l->mass > 0.0 && !l->has_body && l->body >= 0;
}

/* The pose of the inertia of a link in the world: centre of mass and axes. */
static void inertial_pose(const urdf_link *l, double out[7]) {
    double local[7];
    urdf_pose(l->xyz, l->rpy, local);
    robot_pose_mul(l->world, local, out);
}

/* M = sum m_i, c = sum m_i c_i / M over the links of each body with is_sum (nb). */
static void sum_centres(builder *b, const bool *is_sum, double (*centre)[3]) {
    for (int32_t k = 0; k < b->nb; ++k)
        if (is_sum[k]) b->bodies[k].mass = 0.0;

    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        double x[7];
        if (l->body < 0 || !is_sum[l->body] || !(l->has_body || adds_mass(l))) continue;
        inertial_pose(l, x);
        b->bodies[l->body].mass += l->mass;
        for (int k = 0; k < 3; ++k) centre[l->body][k] += l->mass * x[k];
    }

    for (int32_t k = 0; k < b->nb; ++k)
        for (int i = 0; is_sum[k] && i < 3; ++i) centre[k][i] /= b->bodies[k].mass;
}

/* I = sum R_i I_i R_i^T + m_i (r^2 - r r^T), r = c_i - c: in world axes, then in body axes. */
static void sum_inertias(builder *b, const bool *is_sum, double (*centre)[3]) {
    for (int32_t k = 0; k < b->nb; ++k) {
        if (!is_sum[k]) continue;
        memset(b->bodies[k].inertia, 0, sizeof b->bodies[k].inertia);
        memcpy(b->bodies[k].position, centre[k], sizeof centre[k]);
        memcpy(b->poses[k], centre[k], sizeof centre[k]);
    }

    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        double x[7], r[3], turned[6];
        if (l->body < 0 || !is_sum[l->body] || !(l->has_body || adds_mass(l))) continue;
        double *sum = b->bodies[l->body].inertia;
        inertial_pose(l, x);
        robot_inertia_rotate(x + 3, l->inertia, turned);
        for (int k = 0; k < 6; ++k) sum[k] += turned[k];
        for (int k = 0; k < 3; ++k) r[k] = x[k] - centre[l->body][k];
        robot_inertia_add_offset(l->mass, r, sum);
    }

    for (int32_t k = 0; k < b->nb; ++k) {
        const double *q = b->bodies[k].orientation;
        const double back[4] = {q[0], -q[1], -q[2], -q[3]};
        if (is_sum[k]) robot_inertia_rotate(back, b->bodies[k].inertia, b->bodies[k].inertia);
    }
}

/* Adds the masses of links without a body of their own to the body of their rigid group. Only the
   sum must have a positive definite inertia. */
static void add_masses(builder *b) {
    bool any = false;
    bool *is_sum = doc_alloc(b->doc, (size_t)b->nb + 1, sizeof *is_sum);
    double(*centre)[3] = doc_alloc(b->doc, (size_t)b->nb + 1, sizeof *centre);
    if (!is_sum || !centre) return;
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        if (!adds_mass(l)) continue;
        is_sum[l->body] = true;
        any = true;
    }
    if (!any) return;

    sum_centres(b, is_sum, centre);
    sum_inertias(b, is_sum, centre);
}

/* Which masses the document gives. An inertia that dynamics cannot use is that of a point mass. */
static void note_masses(const builder *b) {
    for (int32_t k = 0; k < b->nb; ++k) {
        robot_mass_note *n = &b->notes[k];
        n->has_com = b->bodies[k].mass > 0.0;
        n->known = ROBOT_MASS_ZERO;
        if (n->has_com) n->known = ROBOT_MASS_NO_INERTIA;
        if (n->has_com && robot_inertia_definite(b->bodies[k].inertia)) n->known = ROBOT_MASS_KNOWN;
    }
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        if (l->body >= 0 && l->has_inertia && b->notes[l->body].known == ROBOT_MASS_NO_INERTIA)
            b->notes[l->body].known = ROBOT_MASS_POINT;
    }
}

/* A document without bodies, but with a link other than the world, becomes one fixed body. */
static void add_fixed_body(builder *b) {
    for (int32_t i = 0; i < b->u->link_count && b->nb == 0; ++i) {
        if (strcmp(b->u->links[i].name, "world") == 0) continue;
        add_body(b, i);
        b->bodies[0].motion = SKEL_MOTION_FIXED;
        for (int32_t k = 0; k < b->u->link_count; ++k) b->u->links[k].body = 0;
    }
}

/* ---- joints ---------------------------------------------------------------------------------- */

/* A rotation that turns z to the axis. */
static void rotation_to_axis(const double axis[3], double q[4]) {
    double z[3] = {axis[0], axis[1], axis[2]};
    doc_normalise(z, 3);

    /* q = (1 + z.a, z x a), normalised. Near a = -z it would cancel, so half a turn about x comes
       first: q = (rotation of -z to the axis) (half turn about x). */
    if (z[2] < -0.5) {
        const double half_turn[4] = {0, 1, 0, 0};
        double from_minus_z[4] = {1.0 - z[2], z[1], -z[0], 0.0};
        doc_normalise(from_minus_z, 4);
        robot_quat_mul(from_minus_z, half_turn, q);
    } else {
        q[0] = 1.0 + z[2];
        q[1] = -z[1];
        q[2] = z[0];
        q[3] = 0.0;
    }
    doc_normalise(q, 4);
}

/* The world pose x in the frame of a body. */
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

static void set_limits(builder *b, const urdf_joint *j, skel_joint_desc *d) {
    if (!urdf_types[j->type].has_range || j->is_locked) return;
    if (j->lower > j->upper) {
        robot_note(b->doc, SKEL_OK,
                   "line %d: joint '%.60s': limit: lower: is %g, must be at most upper, which is "
                   "%g: the limits are ignored",
                   (int)j->line, j->name, j->lower, j->upper);
        return;
    }
    if (!j->has_lower && !j->has_upper) {
        robot_note(
            b->doc, SKEL_OK,
            "line %d: joint '%.60s': limit: lower and upper are missing: the joint has no limits",
            (int)j->line, j->name);
        return;
    }

    d->limits.is_set = 1;
    d->limits.low[0] = j->lower;
    d->limits.high[0] = j->upper;

    if (j->lower == j->upper)
        robot_note(
            b->doc, SKEL_OK,
            "line %d: joint '%.60s': limit: lower and upper are both %g: the joint is locked",
            (int)j->line, j->name, j->lower);
    else if (j->lower > 0.0 || j->upper < 0.0)
        robot_note(
            b->doc, SKEL_OK,
            "line %d: joint '%.60s': limit: is %g to %g, which excludes 0: the zero pose cannot "
            "be reached",
            (int)j->line, j->name, j->lower, j->upper);
}

/* A joint of the model, unless it connects links of the same body or leaves the child free. */
static void add_joint(builder *b, int32_t k) {
    urdf_joint *j = &b->u->joints[k];
    const int32_t parent = b->u->links[j->parent].body, child = b->u->links[j->child].body;
    skel_joint_desc *d = &b->joints[b->nj];
    double x[7], turn[7] = {0, 0, 0, 1};
    if (parent == child || j->type == URDF_FLOATING) return;

    /* The joint frame: z along the axis, at the frame of the child. */
    skel_joint_desc_init(d);
    const bool is_rigid = urdf_is_rigid(j);
    if (urdf_types[j->type].has_axis) rotation_to_axis(j->axis, turn + 3);
    robot_pose_mul(b->u->links[j->child].world, turn, x);

    d->name = j->name;
    d->type = is_rigid ? SKEL_JOINT_FIXED : urdf_types[j->type].joint;
    d->parent = parent;
    d->child = child;
    put_frame(b, parent, x, d->parent_position, d->parent_orientation);
    put_frame(b, child, x, d->child_position, d->child_orientation);
    if (!is_rigid) d->friction = j->damping;
    set_limits(b, j, d);
    j->index = b->nj++;
}

/* `friction` of <dynamics> is Coulomb friction: a constant torque against the motion. */
static void warn_of_friction(const builder *b, skel_scene *s) {
    robot_name_list names = {0};
    double largest = 0.0;
    for (int32_t k = 0; k < b->u->joint_count; ++k) {
        const urdf_joint *j = &b->u->joints[k];
        if (j->index < 0 || urdf_is_rigid(j) || j->friction == 0.0) continue;
        largest = fmax(largest, fabs(j->friction));
        robot_name_list_add(&names, j->name);
    }

    if (names.count > 0)
        scene_warn(b->doc, s,
                   "joint%s %s: dynamics: friction: is Coulomb friction of up to %g N m (N), "
                   "which dynamics ignores; damping is used",
                   names.count > 1 ? "s" : "", names.text, largest);
}

/* ---- the robot ------------------------------------------------------------------------------- */

/* The limit of a drive; 0: not known. */
static double drive_limit(double limit) {
    return limit > 0.0 && limit < URDF_NO_LIMIT ? limit : 0.0;
}

/* The end of each body: its link frame that is farthest from its joint. */
static void find_ends(builder *b) {
    double *far = doc_alloc(b->doc, (size_t)b->nb + 1, sizeof *far);
    double(*start)[3] = doc_alloc(b->doc, (size_t)b->nb + 1, sizeof *start);
    if (!far || !start) return;

    for (int32_t k = 0; k < b->nj; ++k)
        memcpy(start[b->joints[k].child], b->joints[k].child_position, sizeof start[0]);
    for (int32_t i = 0; i < b->u->link_count; ++i) {
        const urdf_link *l = &b->u->links[i];
        double x[3], turn[4], d2 = 0.0;
        if (l->body < 0) continue;
        put_frame(b, l->body, l->world, x, turn);
        for (int k = 0; k < 3; ++k) d2 += (x[k] - start[l->body][k]) * (x[k] - start[l->body][k]);
        if (!(d2 > far[l->body])) continue;
        far[l->body] = d2;
        b->notes[l->body].has_end = true;
        memcpy(b->notes[l->body].end, x, sizeof x);
    }
}

/* Estimates missing masses. Bodies may move to an estimated centre of mass, and their poses with
   them. */
static void estimate(builder *b, skel_scene *s) {
    find_ends(b);
    robot_estimate_masses(b->doc, s, b->bodies, b->nb, b->joints, b->nj, b->notes);
    for (int32_t k = 0; k < b->nb; ++k)
        memcpy(b->poses[k], b->bodies[k].position, sizeof b->bodies[k].position);
}

static void fill_robot(const builder *b, robot_data *r) {
    const urdf_document *u = b->u;
    r->frames = arena_alloc(&r->arena, (size_t)u->link_count, sizeof *r->frames);
    r->drives = arena_alloc(&r->arena, (size_t)b->nj + 1, sizeof *r->drives);
    if (r->arena.failed) return;

    for (int32_t i = 0; i < u->link_count; ++i) {
        const urdf_link *l = &u->links[i];
        robot_frame *f = &r->frames[r->frame_count++];
        f->name = l->name;
        f->body = l->body;
        put_frame(b, l->body, l->world, f->pose, f->pose + 3);
    }
    for (int32_t k = 0; k < u->joint_count; ++k) {
        const urdf_joint *j = &u->joints[k];
        if (j->index < 0) continue;
        r->drives[j->index] = (robot_drive){drive_limit(j->velocity), drive_limit(j->effort)};
    }
}

/* Mimic joints, after all joints have an index in the model. */
static void add_mimics(const builder *b) {
    for (int32_t k = 0; k < b->u->joint_count; ++k) {
        const urdf_joint *j = &b->u->joints[k];
        if (j->index < 0 || j->mimic < 0) continue;

        skel_joint_desc *d = &b->joints[j->index];
        d->mimic.source = b->u->joints[j->mimic].index;
        d->mimic.multiplier = j->factor;
        d->mimic.offset = j->offset;
        robot_note(
            b->doc, SKEL_OK,
            "line %d: joint '%.60s': mimic: forward and inverse kinematics obey it, dynamics moves "
            "the joint independently",
            (int)j->line, j->name);
    }
}

void urdf_build(document *doc, urdf_document *u, skel_scene *s) {
    builder b = {.doc = doc, .u = u};
    b.bodies = doc_alloc(doc, (size_t)u->link_count + 1, sizeof *b.bodies);
    b.poses = doc_alloc(doc, (size_t)u->link_count + 1, sizeof *b.poses);
    b.joints = doc_alloc(doc, (size_t)u->joint_count + 1, sizeof *b.joints);
    b.notes = doc_alloc(doc, (size_t)u->link_count + 1, sizeof *b.notes);
    if (!b.bodies || !b.poses || !b.joints || !b.notes) return;

    add_bodies(&b);
    add_masses(&b);
    add_fixed_body(&b);
    note_masses(&b);

    for (int32_t k = 0; k < u->joint_count; ++k) add_joint(&b, k);
    add_mimics(&b);
    warn_of_friction(&b, s);
    estimate(&b, s);
    if (b.nb == 0) {
        robot_note(doc, SKEL_E_DOCUMENT, "document: has no link except the world, must have one");
        return;
    }

    snprintf(s->name, sizeof s->name, "%s", u->name);
    scene_build(doc, s, b.bodies, b.nb, b.joints, b.nj);
    if (s->model) fill_robot(&b, s->robot);
}
